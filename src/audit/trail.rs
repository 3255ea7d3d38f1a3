//! The files of a trail, in their order: which of them count, and how far.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::disk::{TrailFileName, is_index};
use super::header::{HEADER_BYTES, Header};
use super::limits::AUDIT_FILE_BYTES_MAX;
use super::seal::{self, SEAL_BYTES, Seal};
use super::timeline::is_set_back;
use super::{ChainHead, Number, encoding};
use base::regular_file;
use journal::record::{FilePiece, RecordWalk};

/// The files of a folder at one moment, the oldest first.
#[derive(Clone, Debug)]
pub struct TrailFiles {
    pub folder: PathBuf,
    pub parts: Vec<TrailFile>,
    /// Plain files that nothing was written to yet.
    pub spare: Vec<u64>,
    /// Files that a later one, begun after a failure, replaces.
    pub replaced: Vec<TrailFileName>,
    /// Plain files whose sealed form is there too: a crash came between.
    pub doubles: Vec<TrailFileName>,
    /// Names that are none of a trail's.
    pub strangers: Vec<String>,
    /// The file and the byte in it up to which a trail that is being written is looked at.
    pub bound: Option<(u64, u64)>,
}

/// How often a folder is read in which a file is missing.
const LISTINGS: usize = 3;

/// One file of a trail.
#[derive(Clone, Debug)]
pub struct TrailFile {
    pub name: TrailFileName,
    /// Nothing when it is damaged.
    pub header: Option<Header>,
    /// Of a sealed one; nothing when it is damaged.
    pub seal: Option<Seal>,
    /// How many bytes of the plain file count, as the file after it says.
    pub length: Option<u64>,
}

impl TrailFiles {
    /// Looks at a folder. Only the beginning of each file is read.
    ///
    /// # Errors
    /// The folder, or a file in it, cannot be read.
    pub fn list(folder: &Path) -> io::Result<TrailFiles> {
        TrailFiles::list_to(folder, u64::MAX)
    }

    /// As [`list`](TrailFiles::list), up to a file: those behind it are not opened.
    fn list_to(folder: &Path, file: u64) -> io::Result<TrailFiles> {
        // A file that is sealed meanwhile changes its name, and a folder that is read then may show neither of the two.
        for _ in 0..LISTINGS - 1 {
            let trail = TrailFiles::list_once(folder, file)?;
            if !trail.has_gap() {
                return Ok(trail);
            }
        }
        TrailFiles::list_once(folder, file)
    }

    /// Whether a file goes on from one that is not there, although an older one is.
    pub fn has_gap(&self) -> bool {
        let file = |part: &TrailFile| part.name.file();
        self.parts.windows(2).any(|two| two[1].header.is_some_and(|header| header.continues.0 != file(&two[0])))
    }

    /// The event that the first file goes on from; none where it is the first of all.
    pub(super) fn removed_up_to(&self) -> Option<ChainHead> {
        let header = self.parts.first()?.header?;
        let (number, hash) = header.before;
        let is_first = number == Number(0) && hash == [0; 32] && header.continues.0 == 0;
        (!is_first).then_some(ChainHead { number, hash })
    }

    /// What is missing, as the beginnings of the files tell it.
    pub(super) fn gap(&self) -> Option<String> {
        if let Some(part) = self.parts.iter().find(|part| part.header.is_none()) {
            return Some(format!("{}: its header is damaged", part.name));
        }
        let is_gap = |two: &&[TrailFile]| two[1].header.is_some_and(|header| header.continues.0 != two[0].name.file());
        let two = self.parts.windows(2).find(is_gap)?;
        Some(format!("{}: the file before it, number {}, is missing", two[1].name, two[1].header?.continues.0))
    }

    fn list_once(folder: &Path, file: u64) -> io::Result<TrailFiles> {
        let mut trail = TrailFiles {
            folder: folder.to_owned(),
            parts: Vec::new(),
            spare: Vec::new(),
            replaced: Vec::new(),
            doubles: Vec::new(),
            strangers: Vec::new(),
            bound: None,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            match name.to_str().map(|name| (name, TrailFileName::parse(name))) {
                Some((_, Some(name))) if name.file() > file => {}
                Some((_, Some(name))) => names.push(name),
                Some((name, None)) if is_index(name) => {}
                _ => trail.strangers.push(name.to_string_lossy().into_owned()),
            }
        }
        names.sort_by_key(|name| (name.file(), matches!(name, TrailFileName::Plain(_))));
        for name in names {
            let looked = match (TrailFile::look(folder, name), name) {
                // It was sealed meanwhile, or removed.
                (Err(error), TrailFileName::Plain(file)) if error.kind() == ErrorKind::NotFound => {
                    TrailFile::look(folder, TrailFileName::Sealed(file))
                }
                (looked, _) => looked,
            };
            match looked {
                Ok(Some(part)) => match trail.parts.last_mut() {
                    Some(before) if before.name.file() == name.file() && before.seal.is_some() => {
                        trail.doubles.push(name);
                    }
                    Some(before) if before.name.file() == name.file() => *before = part,
                    _ => trail.parts.push(part),
                },
                Ok(None) => trail.spare.push(name.file()),
                // It was removed meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        trail.order();
        Ok(trail)
    }

    /// As [`list`](TrailFiles::list), up to a byte of a file: what lies behind is being written.
    pub fn up_to(folder: &Path, (file, byte): (u64, u64)) -> io::Result<TrailFiles> {
        let mut trail = TrailFiles::list_to(folder, file)?;
        if let Some(last) = trail.parts.last_mut().filter(|last| last.name.file() == file) {
            last.length = Some(byte);
        }
        trail.bound = Some((file, byte));
        Ok(trail)
    }

    /// Whether an event is part of the trail with this number and hash. Only the file that would have it is read. One that retention removed
    /// is taken for a part of it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn holds(&self, head: ChainHead) -> io::Result<bool> {
        let before = |part: &TrailFile| part.header.map_or((Number(0), [0; 32]), |header| header.before);
        let Some(part) = self.parts.iter().rev().find(|part| before(part).0 <= head.number) else { return Ok(true) };
        if before(part) == (head.number, head.hash) {
            return Ok(true);
        }
        let Some(content) = part.content(&self.folder)? else { return Ok(true) };
        let mut walk = RecordWalk::open_ended(&content, HEADER_BYTES, part.header.map(|header| header.before));
        Ok(walk.any(
            |piece| matches!(piece, FilePiece::Record(record) if record.number == head.number && *record.hash == head.hash),
        ))
    }

    /// Whether what the trail told up to this event is what its store still holds: the event is part of it, and the store was not set
    /// back by hand since. Files behind it are read.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn goes_on_from(&self, head: ChainHead) -> io::Result<bool> {
        if !self.holds(head)? {
            return Ok(false);
        }
        let follows = |part: &&TrailFile| part.header.is_none_or(|header| header.before.0 > head.number);
        let first = self.parts.iter().position(|part| follows(&part)).unwrap_or(self.parts.len()).saturating_sub(1);
        for part in &self.parts[first..] {
            let Some(content) = part.content(&self.folder)? else { continue };
            for piece in RecordWalk::open_ended(&content, HEADER_BYTES, part.header.map(|header| header.before)) {
                let FilePiece::Record(record) = piece else { continue };
                if record.number > head.number && encoding::read(record.payload).is_ok_and(|event| is_set_back(&event))
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Where a file lies.
    pub fn path(&self, part: &TrailFile) -> PathBuf {
        part.name.within(&self.folder)
    }

    /// Takes out what does not count, from the newest file backwards, and tells each how long it is.
    fn order(&mut self) {
        let mut continued: Option<(u64, u64)> = None;
        let mut kept = Vec::new();
        for mut part in std::mem::take(&mut self.parts).into_iter().rev() {
            if continued.is_some_and(|(file, _)| part.name.file() > file) {
                self.replaced.push(part.name);
                continue;
            }
            part.length = continued.filter(|(file, _)| *file == part.name.file()).map(|(_, bytes)| bytes);
            continued = part.header.map(|header| header.continues);
            kept.push(part);
        }
        kept.reverse();
        self.parts = kept;
    }
}

impl TrailFile {
    /// Nothing for a plain file that is empty.
    pub fn look(folder: &Path, name: TrailFileName) -> io::Result<Option<TrailFile>> {
        let mut start = Vec::with_capacity(SEAL_BYTES);
        regular_file::open_itself(&name.within(folder))?.take(SEAL_BYTES as u64).read_to_end(&mut start)?;
        if let Some(format) = later_format(&start) {
            // It is no damage, and must not be treated as such.
            let told = format!(
                "the audit trail was written by a later release: {name} has format {format}, this release reads format {TRAIL_FORMAT}"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, told));
        }
        let (header, seal) = match name {
            TrailFileName::Plain(_) => {
                let header = &start[..start.len().min(HEADER_BYTES)];
                if header.iter().all(|byte| *byte == 0)
                    && regular_file::is_unwritten(&name.within(folder), AUDIT_FILE_BYTES_MAX)?
                {
                    return Ok(None);
                }
                (Header::read(header), None)
            }
            TrailFileName::Sealed(_) => {
                let seal = Seal::read(&start);
                (seal.map(|seal| seal.header), seal)
            }
        };
        let header = header.filter(|header| header.file == name.file());
        Ok(Some(TrailFile { name, header, seal, length: None }))
    }

    /// The bytes of the plain file, as far as they count. `None`: it was removed meanwhile, which only retention does.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn content(&self, folder: &Path) -> io::Result<Option<Vec<u8>>> {
        let file = self.name.file();
        let sealed = |name: TrailFileName| {
            regular_file::read_itself(&name.within(folder), AUDIT_FILE_BYTES_MAX).map(|bytes| {
                let content = expanded(&bytes);
                let whole = content.len() as u64;
                (content, whole)
            })
        };
        let read = match self.name {
            TrailFileName::Plain(_) => regular_file::read_written(&self.name.within(folder), AUDIT_FILE_BYTES_MAX),
            TrailFileName::Sealed(_) => sealed(self.name),
        };
        let (mut content, whole) = match read {
            Ok(read) => read,
            // It may have been sealed since the folder was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => match sealed(TrailFileName::Sealed(file)) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        if let Some(counts) = self.length {
            // What counts and is zero was overwritten.
            content.resize(usize::try_from(counts.min(whole)).unwrap_or(usize::MAX), 0);
        }
        Ok(Some(content))
    }
}

/// Number of the format of plain and sealed files: the last of their first eight bytes.
pub const TRAIL_FORMAT: u8 = 1;

/// The format of a later release, where a file begins as one of a trail, plain or sealed, with a higher number than ours.
fn later_format(start: &[u8]) -> Option<u8> {
    let kind = start.strip_prefix(b"hcertAT").or_else(|| start.strip_prefix(b"hcertAZ"))?;
    let format = kind.first()?.checked_sub(b'0').filter(|format| (TRAIL_FORMAT + 1..10).contains(format))?;
    // A header of ours in which this byte alone was changed is a damaged one.
    let mut ours = start.to_vec();
    ours[7] = b'0' + TRAIL_FORMAT;
    let is_ours = Header::read(&ours).is_some() || Seal::read(&ours).is_some();
    (!is_ours).then_some(format)
}

fn expanded(sealed: &[u8]) -> Vec<u8> {
    seal::expand(sealed, Seal::read(sealed).map_or(AUDIT_FILE_BYTES_MAX, |seal| seal.content.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::Seq;

    #[test]
    fn a_file_of_a_later_format_is_told_from_a_damaged_one() {
        let header = Header {
            file: 1,
            before: (Number(0), [0; 32]),
            continues: (0, 0),
            last_change: Seq(0),
            after_failure: false,
        };
        let mut bytes = header.write();
        assert_eq!(later_format(&bytes), None);
        bytes[7] = b'2';
        assert_eq!(later_format(&bytes), None, "one byte of ours was changed");
        bytes[30] ^= 1;
        assert_eq!(later_format(&bytes), Some(2));
        assert_eq!(
            (later_format(b"hcertAZ3"), later_format(b"hcertAZ1"), later_format(b"hcertAT0")),
            (Some(3), None, None)
        );
        assert_eq!((later_format(b"hcertAT"), later_format(b""), later_format(b"anything")), (None, None, None));
    }
}
