use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const PREFACE: &[u8; PREFACE_BYTES] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn head(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, block)
}

/// Reads all of it in pieces, from the preface on, as if no time passed; where header blocks end.
fn ends(bytes: &[u8], piece: usize) -> io::Result<Vec<usize>> {
    let bytes = [PREFACE, bytes].concat();
    let mut reader = FrameReader::new(0);
    let (mut at, mut ends) = (0, Vec::new());
    while at < bytes.len() {
        let read = &bytes[at..bytes.len().min(at + piece)];
        match reader.read(read, 0)? {
            Some(end) => {
                at += end;
                ends.push(at - PREFACE_BYTES);
            }
            None => at += read.len(),
        }
    }
    Ok(ends)
}

fn is_ended(bytes: &[u8]) -> bool {
    let outcomes = [1, 7, usize::MAX / 2].map(|piece| ends(bytes, piece).is_err());
    assert!(outcomes.iter().all(|ended| *ended == outcomes[0]), "it depends on the pieces: {outcomes:?}");
    outcomes[0]
}

#[test]
fn header_blocks_end_where_their_frames_do_in_whatever_pieces_they_come() {
    let long = [&[0x00, 0x7f, 0xc9, 0x01][..], &[b'n'; 328], &[0x81, 0xff]].concat();
    let first = [frame(SETTINGS, 0, 0, &[0; 6]), head(1, &[0x82, 0x86, 0x84])].concat();
    // With padding and a priority, in three frames, with a string across two of them.
    let block = [&[3, 0, 0, 0, 0, 16, 0x40, 1, b'a', 5, b'v'][..], &[0; 3]].concat();
    let second = [
        frame(HEADERS, PADDED | PRIORITY, 3, &block),
        frame(CONTINUATION, 0, 3, b"alu"),
        frame(CONTINUATION, END_HEADERS, 3, &[b'e', 0xff, 0x80, 0x01, 0x3f, 0x01]),
    ]
    .concat();
    let third = [frame(DATA, 0, 3, b"{}"), head(5, &long), head(7, &[])].concat();
    let all = [first.clone(), second.clone(), third.clone()].concat();
    let expected = [first.len(), first.len() + second.len(), all.len() - FRAME_HEADER, all.len()];
    for piece in [1, 2, 3, 10, 1_000] {
        assert_eq!(ends(&all, piece).unwrap(), expected, "pieces of {piece}");
    }
}

#[test]
fn a_header_block_has_so_many_fields_and_no_more_however_they_are_written() {
    let max = HTTP2_FIELDS_MAX as usize;
    let literal: &[u8] = &[0x00, 1, b'a', 1, b'b'];
    for field in [&[0x82][..], &[0xff, 0x00], &[0x40, 1, b'a', 0], &[0x0f, 0x01, 0], &[0x20], literal, &[0x00, 0, 0]] {
        assert!(!is_ended(&head(1, &field.repeat(max))), "{field:?}");
        assert!(is_ended(&head(1, &field.repeat(max + 1))), "{field:?}");
    }
    // In two frames as well, and in each block anew.
    let halves = [frame(HEADERS, 0, 1, &[0x82; 150]), frame(CONTINUATION, END_HEADERS, 1, &[0x82; 150])].concat();
    assert!(is_ended(&halves));
    let many = (0..50).flat_map(|number| head(2 * number + 1, &vec![0x82; max])).collect::<Vec<_>>();
    assert!(!is_ended(&many));
}

#[test]
fn a_header_block_has_so_many_bytes_and_no_more() {
    let block = |bytes: usize| {
        let frames = (1..bytes / 10_000).map(|_| frame(CONTINUATION, 0, 1, &[b'x'; 10_000]));
        // A string of which the rest never comes.
        let first = [&[0x00, 1, b'a', 0x7f, 0xff, 0xff, 0x7f][..], &[b'x'; 9_993]].concat();
        [frame(HEADERS, 0, 1, &first)].into_iter().chain(frames).collect::<Vec<_>>().concat()
    };
    assert!(!is_ended(&block(HTTP2_BLOCK_BYTES_MAX)));
    assert!(is_ended(&block(HTTP2_BLOCK_BYTES_MAX + 10_000)));
    assert!(is_ended(&head(1, &[0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])), "a length of five gigabytes");
}

#[test]
fn trailers_are_few_and_short() {
    let trailers = |block: &[u8]| [head(3, &[0x82; 100]), frame(DATA, 0, 3, b"{}"), head(3, block)].concat();
    let max = HTTP2_TRAILER_FIELDS_MAX as usize;
    assert!(!is_ended(&trailers(&vec![0x82; max])));
    assert!(is_ended(&trailers(&vec![0x82; max + 1])));
    let long =
        |bytes: u8| [&[0x00, 1, b'a', 0x7f, bytes, 0x07][..], &vec![b'x'; 0x7f + 896 + usize::from(bytes)]].concat();
    assert!(is_ended(&trailers(&long(100))));
}

#[test]
fn control_frames_are_bounded_but_for_those_that_requests_and_answers_need() {
    let pings = |count: u64| frame(PING, 0, 0, &[0; 8]).repeat(count as usize);
    assert!(!is_ended(&pings(HTTP2_CONTROL_FRAMES_MAX)));
    assert!(is_ended(&pings(HTTP2_CONTROL_FRAMES_MAX + 1)));
    assert!(is_ended(&frame(DATA, 0, 1, b"").repeat(HTTP2_CONTROL_FRAMES_MAX as usize + 1)));
    assert!(!is_ended(&frame(DATA, 0, 1, b"x").repeat(HTTP2_CONTROL_FRAMES_MAX as usize * 2)));
    // A request, a window for its answer, and two pings.
    let request = |stream| [head(stream, &[0x82]), frame(WINDOW_UPDATE, 0, 0, &[0; 4]), pings(2)].concat();
    let many = (0..2_000).flat_map(|number| request(2 * number + 1)).collect::<Vec<_>>();
    assert!(!is_ended(&many));
    let taken_back = |number: u64| {
        let stream = 2 * number as u32 + 1;
        [head(stream, &[0x82]), frame(RST_STREAM, 0, stream, &[0; 4])].concat()
    };
    assert!(!is_ended(&(0..HTTP2_CANCELS_MAX).flat_map(taken_back).collect::<Vec<_>>()));
    assert!(is_ended(&(0..=HTTP2_CANCELS_MAX).flat_map(taken_back).collect::<Vec<_>>()));
    let mut reader = FrameReader::new(0);
    for second in 0..10 {
        let most = pings(HTTP2_CONTROL_FRAMES_MAX);
        let bytes = if second == 0 { [PREFACE, most.as_slice()].concat() } else { most };
        assert!(reader.read(&bytes, second * 1_000).is_ok(), "in second {second}");
    }
    assert!(reader.read(&pings(2), 9_001).is_err());
}

#[tokio::test]
async fn each_read_ends_behind_a_header_block_and_the_next_one_waits_for_its_reader() {
    let (mut client, server) = duplex(64 * 1024);
    let load: Arc<LoadCounters> = Arc::default();
    let mut frames = Frames::new(server, Arc::clone(&load));
    let first = [PREFACE.to_vec(), head(1, &[0x82; 5])].concat();
    let second = [frame(DATA, 0, 1, b"{}"), head(3, &[0x82; 6])].concat();
    let third = frame(DATA, 0, 3, b"{}");
    client.write_all(&[first.clone(), second.clone(), third.clone()].concat()).await.unwrap();
    let mut buffer = vec![0; 64 * 1024];
    for expected in [&first, &second] {
        let count = frames.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..count], &expected[..]);
        let mut pieces = ReadBuf::new(&mut buffer);
        let poll = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut frames).poll_read(context, &mut pieces).is_pending())
        });
        assert!(poll.await, "one read is pending");
    }
    let count = frames.read(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..count], &third[..]);
    // In pieces that are shorter than what is held.
    client.write_all(&[head(5, &[0x82; 7]), head(7, &[0x82; 7])].concat()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut read = Vec::new();
    frames.take(3).read_to_end(&mut read).await.unwrap();
    assert_eq!(read, &head(5, &[0x82; 7])[..3]);
    assert_eq!(load.connections_excessive.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_is_beyond_the_bounds_is_never_read_and_is_counted() {
    let (mut client, server) = duplex(64 * 1024);
    let load: Arc<LoadCounters> = Arc::default();
    let mut frames = Frames::new(server, Arc::clone(&load));
    client.write_all(&[PREFACE.to_vec(), head(1, &[0x82; 1_000])].concat()).await.unwrap();
    let mut buffer = vec![0; 64 * 1024];
    assert_eq!(frames.read(&mut buffer).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    let mut goaway = [0; 17];
    client.read_exact(&mut goaway).await.unwrap();
    assert_eq!(goaway, [0, 0, 8, GOAWAY, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 11]);
    assert_eq!(load.connections_excessive.load(Ordering::Relaxed), 1);
}
