use std::io::{PipeReader, Read, pipe};
use std::os::fd::OwnedFd;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// An output into a pipe, and the pipe's reader.
fn piped() -> (QueuedOutput, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    (QueuedOutput::start(writer).unwrap(), reader)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// One whole line of so many bytes.
fn line(bytes: usize) -> Vec<u8> {
    [vec![b'x'; bytes - 1], b"\n".to_vec()].concat()
}

#[test]
fn lines_arrive_in_their_order_and_none_is_dropped_while_somebody_reads() {
    let (output, mut reader) = piped();
    let lines: Vec<String> = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let expected = lines.concat();
    let mut read = vec![0; expected.len()];
    let reading = thread::spawn(move || reader.read_exact(&mut read).map(|()| read));
    for line in &lines {
        output.push(line.as_bytes(), Importance::Routine);
    }
    assert!(output.flush(PATIENCE));
    assert_eq!(output.state(), OutputState::default());
    assert!(reading.join().unwrap().unwrap() == expected.as_bytes());
}

#[test]
fn a_reader_that_stops_costs_lines_and_holds_up_nobody() {
    let (output, mut reader) = piped();
    let pushed = 10_000;
    for _ in 0..pushed {
        output.push(&line(1_000), Importance::Routine);
    }
    let state = output.state();
    assert!(state.dropped.queue > 0 && state.dropped == DroppedLines { queue: state.dropped.queue, ..state.dropped });
    assert!(state.last_drop.is_some() && state.writes_for.is_some() && state.last_problem.is_none(), "{state:?}");
    assert!(state.queued_bytes <= 2 * LOG_QUEUE_ROUTINE_BYTES_MAX && !output.flush(Duration::from_millis(10)));
    // What is urgent finds room that the others may not fill.
    output.push(b"urgent\n", Importance::Urgent);
    assert_eq!(output.state().dropped, state.dropped);
    let mut read = Vec::new();
    let mut piece = vec![0; 1024 * 1024];
    while !read.ends_with(b"urgent\n") {
        let count = reader.read(&mut piece).unwrap();
        read.extend_from_slice(&piece[..count]);
    }
    assert_eq!(count_lines(&read) + output.state().dropped.total(), pushed + 1, "each line was written or counted");
    assert!(output.flush(PATIENCE));
}

#[test]
fn lines_beyond_the_bounds_are_dropped_and_those_at_them_are_not() {
    let (_reader, mut writer) = pipe().unwrap();
    writer.write_all(b"taken").unwrap();
    let output = QueuedOutput::start(writer).unwrap();
    // Now the pipe has no room for all of this line, so the thread hangs in its write and the queue keeps what it gets from here on.
    output.push(&line(LOG_QUEUE_LINE_BYTES_MAX), Importance::Urgent);
    until("the thread writes", || output.state().writes_for.is_some());
    let taken = output.state().queued_bytes;
    let mut room = LOG_QUEUE_ROUTINE_BYTES_MAX;
    while room > 0 {
        let bytes = room.min(LOG_QUEUE_LINE_BYTES_MAX);
        output.push(&line(bytes), Importance::Routine);
        room -= bytes;
    }
    assert_eq!((output.state().dropped.total(), output.state().queued_bytes), (0, taken + LOG_QUEUE_ROUTINE_BYTES_MAX));
    output.push(b"\n", Importance::Routine);
    assert_eq!(output.state().dropped, DroppedLines { queue: 1, ..DroppedLines::default() });
    while output.state().queued_bytes < taken + LOG_QUEUE_BYTES_MAX {
        output.push(&line(LOG_QUEUE_LINE_BYTES_MAX), Importance::Urgent);
    }
    output.push(b"\n", Importance::Urgent);
    output.push(&line(LOG_QUEUE_LINE_BYTES_MAX + 1), Importance::Urgent);
    assert_eq!(output.state().dropped, DroppedLines { queue: 2, write: 0, long: 1 });
    assert_eq!(output.state().queued_bytes, taken + LOG_QUEUE_BYTES_MAX);
}

#[test]
fn a_closed_pipe_and_a_full_disk_are_counted_with_their_reason() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for (file, problem) in [(OwnedFd::from(writer), "Broken pipe"), (full.into(), "No space left")] {
        let output = QueuedOutput::start(file).unwrap();
        output.push(b"one\ntwo\n", Importance::Routine);
        assert!(output.flush(PATIENCE));
        let state = output.state();
        assert_eq!(state.dropped, DroppedLines { write: 2, ..DroppedLines::default() });
        assert!(state.last_problem.as_ref().is_some_and(|told| told.contains(problem)), "{state:?}");
    }
}

#[test]
fn a_line_that_was_cut_by_a_failure_ends_before_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success(), "every system has mkfifo");
    let opening = thread::spawn({
        let path = path.clone();
        move || File::open(path).unwrap()
    });
    let output = QueuedOutput::start(File::options().write(true).open(&path).unwrap()).unwrap();
    let reader = opening.join().unwrap();
    // More than the pipe holds: the reader goes away in the middle of the second line.
    for _ in 0..4 {
        output.push(&line(40_000), Importance::Urgent);
    }
    until("a part of a line is written", || {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the call writes one number of our own, which lives through it.
        unsafe { libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        bytes > 40_000 && bytes % 40_000 != 0
    });
    drop(reader);
    until("the write fails", || output.state().dropped.write > 0);
    let mut reader = File::open(&path).unwrap();
    output.push(b"next\n", Importance::Urgent);
    let mut read = Vec::new();
    let mut piece = [0; 8 * 1024];
    while !read.ends_with(b"next\n") {
        let count = reader.read(&mut piece).unwrap();
        read.extend_from_slice(&piece[..count]);
    }
    assert!(read.ends_with(b"x\nnext\n"), "{:?}", String::from_utf8_lossy(&read[read.len().saturating_sub(16)..]));
}

#[test]
fn a_file_that_does_not_block_is_waited_for() {
    let (output, mut reader) = {
        let (reader, writer) = pipe().unwrap();
        // SAFETY: the call changes a flag of a descriptor of our own.
        assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
        (QueuedOutput::start(writer).unwrap(), reader)
    };
    for _ in 0..8 {
        output.push(&line(LOG_QUEUE_LINE_BYTES_MAX), Importance::Urgent);
    }
    let mut read = vec![0; 8 * LOG_QUEUE_LINE_BYTES_MAX];
    reader.read_exact(&mut read).unwrap();
    assert!(output.flush(PATIENCE));
    assert_eq!(output.state(), OutputState::default());
}

#[test]
fn lines_count_as_queued_until_they_are_written() {
    let (mut reader, mut writer) = pipe().unwrap();
    writer.write_all(b"taken").unwrap();
    let output = QueuedOutput::start(writer).unwrap();
    output.push(&line(LOG_QUEUE_LINE_BYTES_MAX), Importance::Urgent);
    until("the thread writes", || output.state().writes_for.is_some());
    assert_eq!(output.state().queued_bytes, LOG_QUEUE_LINE_BYTES_MAX);
    output.push(b"next\n", Importance::Urgent);
    assert_eq!(output.state().queued_bytes, LOG_QUEUE_LINE_BYTES_MAX + 5);
    let mut read = vec![0; "taken".len() + LOG_QUEUE_LINE_BYTES_MAX + 5];
    reader.read_exact(&mut read).unwrap();
    assert!(output.flush(PATIENCE));
    assert_eq!(output.state().queued_bytes, 0);
}

/// The end of the process does not wait for a reader for ever. What was seen: the last line that a slow one got was a piece of one.
#[test]
fn a_pipe_that_nobody_reads_holds_whole_lines() {
    let (output, mut reader) = piped();
    for _ in 0..1_000 {
        output.push(&line(301), Importance::Routine);
    }
    // A user with many pipes gets smaller ones.
    // SAFETY: the call only reads.
    let holds = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_GETPIPE_SZ) };
    let mut held = 0;
    until("the pipe is full", || {
        // SAFETY: the call writes one number of our own, which lives through it.
        unsafe { libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &raw mut held) };
        held > holds / 10 * 9 && output.state().writes_for.is_some()
    });
    let mut read = vec![0; usize::try_from(held).unwrap()];
    reader.read_exact(&mut read).unwrap();
    assert_eq!((read.last(), read.len() % 301), (Some(&b'\n'), 0), "{held} bytes");
}

#[test]
fn every_line_wakes_an_idle_thread_and_only_an_urgent_one_a_thread_that_has_just_written() {
    for (mut wakes, routine, urgent) in
        [(WakeCondition::None, false, false), (WakeCondition::Urgent, false, true), (WakeCondition::All, true, true)]
    {
        let mut of_urgent = wakes;
        assert_eq!((wakes.take_for(Importance::Routine), of_urgent.take_for(Importance::Urgent)), (routine, urgent));
        assert_eq!(of_urgent, WakeCondition::None, "it is woken once");
    }
    let (output, mut reader) = piped();
    for importance in [Importance::Routine, Importance::Routine, Importance::Urgent] {
        output.push(b"a\n", importance);
        let mut read = [0; 2];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"a\n");
    }
}
