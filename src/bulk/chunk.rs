//! Lines in pieces that are worth handing to another thread, bounded in number and bytes.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Lines an import stores in one transaction: enough to make the commit cheap, few enough to lose little time when it fails.
const IMPORT_BATCH_LINES: usize = 4096;

/// Bytes of lines an import reads before it hands them on, so that few large lines do not fill the memory.
const IMPORT_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that a line may have beyond twice the largest body: two reasons of 10 000 characters and the narrative that the service writes, each
/// character of six bytes at most, and the entry around the resource. Twice, because the times of a body are written with milliseconds and
/// their offset: no version that was made from a body is longer.
const LINE_ADDED_BYTES: usize = 256 * 1024;

/// Bytes of a line that an import takes, for a service whose bodies have `body_bytes_max`: every version that it stores.
pub(super) fn line_bytes_max(body_bytes_max: usize) -> usize {
    2 * body_bytes_max + LINE_ADDED_BYTES
}

/// Why a line was passed over.
pub(super) fn too_long(body_bytes_max: usize) -> String {
    let max = line_bytes_max(body_bytes_max);
    format!(
        "the line is longer than {max} bytes; raise server.body_bytes_max ({body_bytes_max}) to what it was where the line comes from"
    )
}

/// Some lines that follow each other.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    /// Number of each line, from 1, and where it lies; nothing for one that is too long and was not kept.
    lines: Vec<(u64, Option<Range<usize>>)>,
}

impl Chunk {
    /// Lines with their numbers; nothing for one that was too long. Empty lines are left out.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, Option<&[u8]>)> {
        let lines = self.lines.iter().map(|(number, range)| (*number, range.clone().map(|range| &self.bytes[range])));
        lines.filter(|(_, line)| line.is_none_or(|line| !line.iter().all(u8::is_ascii_whitespace)))
    }
}

/// Reads chunks and counts.
pub(super) struct Chunks<'r> {
    source: &'r mut dyn BufRead,
    line_bytes_max: usize,
    /// Lines read so far.
    pub lines: u64,
    /// Bytes read so far.
    pub bytes: u64,
}

impl<'r> Chunks<'r> {
    /// Passes lines over that are longer than a service with such bodies stores.
    pub(super) fn new(source: &'r mut dyn BufRead, body_bytes_max: usize) -> Chunks<'r> {
        Chunks { source, line_bytes_max: line_bytes_max(body_bytes_max), lines: 0, bytes: 0 }
    }

    /// The next lines; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk>> {
        // A buffer that grows would be copied again and again; what is not filled takes no memory.
        let mut chunk = Chunk { bytes: Vec::with_capacity(IMPORT_BATCH_BYTES), lines: Vec::new() };
        while chunk.lines.len() < IMPORT_BATCH_LINES
            && chunk.bytes.len() < IMPORT_BATCH_BYTES
            && self.line(&mut chunk)?
        {}
        Ok(if chunk.lines.is_empty() { None } else { Some(chunk) })
    }

    /// Reads one line; false at the end. A line that is too long is passed over without being held.
    fn line(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        let start = chunk.bytes.len();
        let most = self.line_bytes_max as u64 + 1;
        let read = self.source.take(most).read_until(b'\n', &mut chunk.bytes)?;
        if read == 0 {
            return Ok(false);
        }
        self.lines += 1;
        self.bytes += read as u64;
        let range = if chunk.bytes.ends_with(b"\n") {
            Some(start..chunk.bytes.len() - 1)
        } else if read as u64 == most {
            chunk.bytes.truncate(start);
            self.skip_line()?;
            None
        } else {
            Some(start..chunk.bytes.len())
        };
        chunk.lines.push((self.lines, range));
        Ok(true)
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let available = self.source.fill_buf()?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            self.source.consume(used);
            self.bytes += used as u64;
            if end.is_some() || used == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::limits::BODY_BYTES_MAX;

    const LINE_BYTES_MAX: usize = 2 * BODY_BYTES_MAX + LINE_ADDED_BYTES;

    type Read = Vec<(u64, Option<Vec<u8>>)>;

    fn read(text: &[u8]) -> (Vec<Read>, u64, u64) {
        let mut source = text;
        let mut chunks = Chunks::new(&mut source, BODY_BYTES_MAX);
        let mut read = Vec::new();
        while let Some(chunk) = chunks.next().unwrap() {
            read.push(chunk.lines().map(|(number, line)| (number, line.map(<[u8]>::to_vec))).collect());
        }
        (read, chunks.lines, chunks.bytes)
    }

    #[test]
    fn lines_keep_their_numbers_whether_empty_ones_stand_between_or_the_last_has_no_end() {
        let (read, lines, bytes) = read(b"a\n\n \r\nbc\r\nd");
        let line = |number, text: &str| (number, Some(text.as_bytes().to_vec()));
        assert_eq!(read, [[line(1, "a"), line(4, "bc\r"), line(5, "d")]]);
        assert_eq!((lines, bytes), (5, 11));
    }

    #[test]
    fn a_line_of_the_largest_size_is_kept_and_one_byte_more_is_passed_over() {
        for (more, end) in [(0, "\n"), (1, "\n"), (0, ""), (1, ""), (3_000_000, "\n")] {
            let long = "x".repeat(LINE_BYTES_MAX + more);
            let (read, lines, bytes) = read(format!("a\n{long}{end}").as_bytes());
            assert_eq!(read[0][1].1.is_some(), more == 0, "{more} {end:?}");
            assert_eq!((lines, bytes), (2, (2 + long.len() + end.len()) as u64));
        }
        let (read, ..) = read(format!("{}\nb\n", "x".repeat(LINE_BYTES_MAX + 1)).as_bytes());
        assert_eq!(read.concat()[1], (2, Some(b"b".to_vec())));
    }

    #[test]
    fn a_chunk_is_bounded_in_lines_and_in_bytes() {
        let (many, ..) = read("a\n".repeat(IMPORT_BATCH_LINES + 1).as_bytes());
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [IMPORT_BATCH_LINES, 1]);
        let line = format!("{}\n", "x".repeat(IMPORT_BATCH_BYTES / 4));
        let (large, ..) = read(line.repeat(5).as_bytes());
        assert_eq!(large.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1]);
        assert_eq!(read(b"").0, Vec::<Read>::new());
    }
}
