//! Opening a trail: where it ends, and what a crash left.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::disk::{TrailFileName, mark, remove_unfinished};
use super::head::Hash;
use super::header::{HEADER_BYTES, Header};
use super::limits::AUDIT_FILE_BYTES_MAX;
use super::trail::{TrailFile, TrailFiles};
use super::writer::{CurrentFile, ReadyFile};
use super::{ChainHead, Number, encoding};
use base::regular_file;
use certificate::Seq;
use journal::disk::{Disk, DiskFile, sync_folder};
use journal::record::{FilePiece, RecordWalk};

/// Free bytes of the newest file below which the next one is made before the trail is used.
const ROOM_BYTES: u64 = 16 * 1024;

/// A trail ready to be written.
pub(super) struct OpenedTrail {
    pub current: CurrentFile,
    pub ready: Option<ReadyFile>,
    pub head: ChainHead,
    pub last_change: Seq,
    /// What was mended or found damaged, in words, for the trail itself.
    pub repaired: Vec<TrailRepair>,
}

/// What was mended or found damaged.
pub(super) struct TrailRepair {
    pub note: String,
    /// Events that were written cannot be read.
    pub is_damage: bool,
}

/// Where a trail ends.
struct TrailEnd {
    before: (Number, Hash),
    last_change: Seq,
    /// File and byte.
    place: (u64, u64),
}

pub(super) fn open(folder: &Path, file_bytes: u64, disk: &dyn Disk) -> Result<OpenedTrail, String> {
    if !folder.is_dir() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => format!("{} is no folder; move it away", folder.display()),
            _ => text(error),
        })?;
        sync_folder(folder).map_err(text)?;
    }
    remove_unfinished(folder).map_err(text)?;
    let mark = mark(folder);
    if mark.try_exists().map_err(|error| format!("{}: {error}", mark.display()))? {
        TrailFiles::list(folder).and_then(|trail| write_again(&trail, disk)).map_err(text)?;
        // One that stays is a reason to do it again.
        drop(fs::remove_file(mark));
    }
    let mut repaired = Vec::new();
    let (trail, end, current) = loop {
        let trail = TrailFiles::list(folder).map_err(text)?;
        for replaced in &trail.replaced {
            fs::remove_file(replaced.within(folder)).map_err(text)?;
        }
        let Some(part) = trail.parts.last() else {
            let nothing = TrailEnd { before: (Number(0), [0; 32]), last_change: Seq(0), place: (0, 0) };
            break (trail, nothing, None);
        };
        let found = match part.name {
            TrailFileName::Sealed(file) => Some((after_sealed(&trail, part, file)?, None)),
            TrailFileName::Plain(file) => plain(folder, file, disk, &mut repaired)?,
        };
        match found {
            Some((end, current)) => break (trail, end, current),
            None => {
                // Kept for whoever wants to look; the trail goes on from the file before.
                let path = part.name.within(folder);
                fs::rename(&path, path.with_extension("damaged")).map_err(text)?;
                let note = format!("{} held nothing that can be read and was renamed", part.name);
                repaired.push(TrailRepair { note, is_damage: true });
            }
        }
    };
    let mut end = end;
    if current.is_none() && trail.parts.last().is_some_and(|part| matches!(part.name, TrailFileName::Plain(_))) {
        // Its header would have said up to which change the files before it go.
        end.last_change = end.last_change.max(last_change_before(&trail).map_err(text)?);
    }
    let newest = end.place.0.max(trail.spare.iter().copied().max().unwrap_or(0));
    let mut ready = spare(&trail, end.place.0, file_bytes, disk).map_err(text)?;
    let current = match current {
        Some(current) => current,
        None => {
            let begun = ready.take().map_or_else(|| make(folder, newest + 1, file_bytes, disk), Ok);
            begin(begun.map_err(text)?, &end).map_err(text)?
        }
    };
    if current.bytes - current.position < ROOM_BYTES && ready.is_none() {
        // A full disk is no reason not to open; the trail tells it when its room is used up.
        ready = make(folder, newest.max(current.file) + 1, file_bytes, disk).ok();
    }
    let (number, hash) = end.before;
    Ok(OpenedTrail { current, ready, head: ChainHead { number, hash }, last_change: end.last_change, repaired })
}

/// Writes again what the files hold that may be on the disk or not: the system takes it for written.
fn write_again(trail: &TrailFiles, disk: &dyn Disk) -> io::Result<()> {
    for part in trail.parts.iter().filter(|part| matches!(part.name, TrailFileName::Plain(_))) {
        let Some(content) = part.content(&trail.folder)? else { continue };
        let target = disk.open(&part.name.within(&trail.folder))?;
        target.write_all_at(&content, 0)?;
        target.sync()?;
    }
    Ok(())
}

/// The end of the newest file. It goes on from there, unless its header is damaged; nothing when it holds no event either.
fn plain(
    folder: &Path,
    file: u64,
    disk: &dyn Disk,
    repaired: &mut Vec<TrailRepair>,
) -> Result<Option<(TrailEnd, Option<CurrentFile>)>, String> {
    let path = TrailFileName::Plain(file).within(folder);
    let (bytes, length) = regular_file::read_written(&path, AUDIT_FILE_BYTES_MAX).map_err(text)?;
    let header = Header::read(&bytes).filter(|header| header.file == file);
    let mut end = TrailEnd {
        before: header.map_or((Number(0), [0; 32]), |header| header.before),
        last_change: header.map_or(Seq(0), |header| header.last_change),
        place: (file, HEADER_BYTES as u64),
    };
    let mut damaged = Vec::new();
    let mut events = 0;
    for piece in RecordWalk::open_ended(&bytes, HEADER_BYTES, header.map(|header| header.before)) {
        match piece {
            FilePiece::Damaged(range) => damaged.push(range),
            FilePiece::Record(record) => {
                let summary = encoding::summary(record.payload).unwrap_or_default();
                end.before = (record.number, *record.hash);
                end.last_change = summary.last_change(end.last_change);
                end.place.1 = record.end() as u64;
                events += 1;
            }
        }
    }
    if header.is_none() && events == 0 {
        return Ok(None);
    }
    let target = disk.open(&path).map_err(text)?;
    let torn = damaged.pop_if(|range| range.start as u64 >= end.place.1);
    if let Some(torn) = &torn {
        clear(&*target, end.place.1, torn.end as u64).map_err(text)?;
        let (number, name) = (end.before.0.0, TrailFileName::Plain(file));
        let note = format!("{} bytes behind number {number} were no event and were cut off {name}", torn.len());
        repaired.push(TrailRepair { note, is_damage: false });
    }
    for range in &damaged {
        let name = TrailFileName::Plain(file);
        let note = format!("bytes {} to {} of {name} are damaged and were left", range.start, range.end);
        repaired.push(TrailRepair { note, is_damage: true });
    }
    // Nobody knows whether what was found is on the disk or only on its way. A sync that fails may report what a process before has
    // written and the system has given up.
    let again = |_| {
        target.write_all_at(&bytes[..end.place.1 as usize], 0)?;
        clear(&*target, end.place.1, torn.as_ref().map_or(0, |torn| torn.end as u64))?;
        target.sync()
    };
    target.sync().or_else(again).map_err(text)?;
    let current = CurrentFile { file, target, bytes: length, position: end.place.1, soiled_to: end.place.1 };
    Ok(Some((end, header.map(|_| current))))
}

/// The highest change in the files before the newest. It stands in the last of them, as changes are told in their order.
fn last_change_before(trail: &TrailFiles) -> io::Result<Seq> {
    for part in trail.parts.iter().rev().skip(1) {
        let Some(content) = part.content(&trail.folder)? else { continue };
        let mut last = part.header.map_or(Seq(0), |header| header.last_change);
        for piece in RecordWalk::open_ended(&content, HEADER_BYTES, part.header.map(|header| header.before)) {
            if let FilePiece::Record(record) = piece
                && let Ok(summary) = encoding::summary(record.payload)
            {
                last = summary.last_change(last);
            }
        }
        if last > Seq(0) {
            return Ok(last);
        }
    }
    Ok(Seq(0))
}

/// The newest file is a sealed one: whatever came behind it is gone.
fn after_sealed(trail: &TrailFiles, part: &TrailFile, file: u64) -> Result<TrailEnd, String> {
    let content = part.content(&trail.folder).map_err(text)?.ok_or("its newest file vanished")?;
    let header = part.header.ok_or_else(|| match part.seal {
        Some(seal) => {
            format!("{} holds file {}: it was renamed; give it its own name back", part.name, seal.header.file)
        }
        None => format!("the header of {} is damaged", part.name),
    })?;
    let before = part.seal.map_or(header.before, |seal| seal.last);
    let mut last_change = header.last_change;
    for piece in RecordWalk::whole(&content, HEADER_BYTES, Some(header.before)) {
        if let FilePiece::Record(record) = piece
            && let Ok(summary) = encoding::summary(record.payload)
        {
            last_change = summary.last_change(last_change);
        }
    }
    Ok(TrailEnd { before, last_change, place: (file, content.len() as u64) })
}

/// The file made ahead, when it is of use. Others like it are removed.
fn spare(trail: &TrailFiles, current: u64, file_bytes: u64, disk: &dyn Disk) -> io::Result<Option<ReadyFile>> {
    let mut ready = None;
    for file in trail.spare.iter().copied() {
        let path = TrailFileName::Plain(file).within(&trail.folder);
        let is_whole = fs::metadata(&path)?.len() == file_bytes;
        if is_whole && file > current && ready.is_none() {
            ready = Some(ReadyFile { file, target: disk.open(&path)?, bytes: file_bytes });
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(ready)
}

/// Makes an empty file.
pub(super) fn make(folder: &Path, file: u64, file_bytes: u64, disk: &dyn Disk) -> io::Result<ReadyFile> {
    let target = disk.make(&TrailFileName::Plain(file).within(folder), file_bytes)?;
    Ok(ReadyFile { file, target, bytes: file_bytes })
}

fn begin(ready: ReadyFile, end: &TrailEnd) -> io::Result<CurrentFile> {
    let header = Header {
        file: ready.file,
        before: end.before,
        continues: end.place,
        last_change: end.last_change,
        after_failure: false,
    };
    ready.target.write_all_at(&header.write(), 0)?;
    ready.target.sync()?;
    let position = HEADER_BYTES as u64;
    Ok(CurrentFile { file: ready.file, target: ready.target, bytes: ready.bytes, position, soiled_to: position })
}

fn clear(target: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    target.write_all_at(&vec![0; to.saturating_sub(from) as usize], from)
}

fn text(error: io::Error) -> String {
    error.to_string()
}
