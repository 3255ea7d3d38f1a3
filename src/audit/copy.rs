//! The files of a trail as a backup copies them and a restore puts them back: byte for byte, so that the chain goes on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::disk::{TrailFileName, index_path};
use super::head::removed;
use super::header::{HEADER_BYTES, Header};
use super::limits::AUDIT_FILE_BYTES_MAX;
use super::seal::{self, SEAL_BYTES, Seal};
use super::timeline::StoreTimeline;
use super::trail::TrailFiles;
use super::{AuditAction, ChainHead, Hash, Number, encoding};
use base::regular_file;
use journal::disk::sync_folder;
use journal::record::{FilePiece, RecordWalk, sha256, written};

/// One file of a trail.
#[derive(Clone, Debug)]
pub struct CopiedTrailFile {
    name: TrailFileName,
    folder: PathBuf,
    /// How many bytes of a plain file count.
    length: Option<u64>,
}

impl CopiedTrailFile {
    /// Those of a trail that count, the oldest first.
    pub(super) fn all(trail: TrailFiles) -> Vec<CopiedTrailFile> {
        let TrailFiles { folder, parts, .. } = trail;
        let file = |part: super::TrailFile| {
            let length = part.length.filter(|_| matches!(part.name, TrailFileName::Plain(_)));
            CopiedTrailFile { name: part.name, folder: folder.clone(), length }
        };
        parts.into_iter().map(file).collect()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.name.file()
    }

    /// Whether it never changes any more.
    pub fn is_sealed(&self) -> bool {
        matches!(self.name, TrailFileName::Sealed(_))
    }

    /// Its name, its bytes and what they are; a plain file that was sealed since it was listed is told as the sealed one. None: retention
    /// removed it meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(&self) -> io::Result<Option<(String, u64, impl Read + use<>)>> {
        let found = match regular_file::open_itself(&self.name.within(&self.folder)) {
            Ok(file) => Some((self.name, self.length, file)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let name = TrailFileName::Sealed(self.name.file());
                match regular_file::open_itself(&name.within(&self.folder)) {
                    Ok(file) => Some((name, None, file)),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        let Some((name, length, file)) = found else { return Ok(None) };
        let bytes = file.metadata()?.len();
        let bytes = length.map_or(bytes, |length| length.min(bytes));
        Ok(Some((name.to_string(), bytes, file.take(bytes))))
    }
}

/// The files of the trail of a data folder that nobody writes, as they lie there; none where there is no trail.
///
/// # Errors
/// It cannot be read.
pub fn files_at_rest(data: &Path) -> Result<Vec<CopiedTrailFile>, String> {
    let told = |error: io::Error| format!("the audit trail cannot be read: {error}");
    let mut files = match TrailFiles::list(&super::folder(data)) {
        Ok(trail) => CopiedTrailFile::all(trail),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(told(error)),
    };
    if let Some(last) =
        files.last_mut().filter(|last| matches!(last.name, TrailFileName::Plain(_)) && last.length.is_none())
    {
        let content = regular_file::read_itself(&last.name.within(&last.folder), AUDIT_FILE_BYTES_MAX).map_err(told)?;
        last.length = Some((written(&content) + ZEROS_OF_EVENTS) as u64);
    }
    Ok(files)
}

/// The files of a trail as a copy holds them, shown one after the other: whether they are one whole trail. What is wrong with it keeps
/// nobody from the rest of the copy.
#[derive(Debug, Default)]
pub struct CopiedTrail {
    /// With which event each file ends that was shown; none where that cannot be read.
    ends: BTreeMap<u64, Option<ChainHead>>,
    /// The file that the first of this copy goes on from, which may be in another one.
    after: u64,
    /// Heads that the trail must hold, and whether it does.
    known: BTreeMap<(Number, Hash), bool>,
    /// Files that go on from one that was not shown, and from which event.
    gaps: Vec<(TrailFileName, ChainHead)>,
    /// What retentions tell.
    removals: Vec<String>,
    /// The first event that a file goes on from, and the newest.
    span: Option<(Number, Number)>,
    /// Whether the store was set back.
    timeline: StoreTimeline,
    problems: Vec<String>,
}

impl CopiedTrail {
    /// Of these heads, all of which the trail must hold: that of a later copy may lie in a file that only one before it has.
    pub fn with_known(heads: impl IntoIterator<Item = ChainHead>) -> CopiedTrail {
        let known = heads.into_iter().map(|head| ((head.number, head.hash), false)).collect();
        CopiedTrail { known, ..CopiedTrail::default() }
    }

    /// Begins a copy, or the next one of a chain: it holds the files behind the one of this number.
    pub fn begin(&mut self, after: u64) {
        self.after = after;
    }

    /// Reads one file.
    pub fn file(&mut self, name: &str, bytes: &[u8]) {
        let Some(parsed) = TrailFileName::parse(name) else {
            return self.problem(name, "it is no file of an audit trail");
        };
        let read = match bytes.len() as u64 > AUDIT_FILE_BYTES_MAX {
            true => Err("it is larger than a file of an audit trail can be".to_owned()),
            false => self.events(parsed, bytes),
        };
        let end = read.map_err(|problem| self.problem(name, &problem)).ok();
        self.ends.insert(parsed.file(), end);
    }

    /// What is wrong, each with the name of its file.
    pub fn finish(mut self) -> Vec<String> {
        let is_told = |gap: &ChainHead, removals: &[String]| {
            let told = removed((gap.number, gap.hash));
            removals.iter().any(|note| note.contains(&told))
        };
        for (name, gap) in std::mem::take(&mut self.gaps) {
            if !is_told(&gap, &self.removals) {
                let problem =
                    format!("it goes on from event {}, which is missing, and no retention removed it", gap.number.0);
                self.problem(&name.to_string(), &problem);
            }
        }
        if let Some(problem) = self.timeline.problem() {
            self.problem("audit", &problem);
        }
        // Where events cannot be read it is not known whether one of them is that of a head.
        let heads = if self.problems.is_empty() { std::mem::take(&mut self.known) } else { BTreeMap::new() };
        for ((Number(number), _), _) in heads.into_iter().filter(|(_, is_met)| !is_met) {
            match self.span {
                Some((Number(before), _)) if number <= before => {}
                Some((_, Number(last))) if number > last => {
                    self.problem(
                        "audit",
                        &format!("the trail ends with event {last}, and the store knows event {number}"),
                    );
                }
                Some(_) => self.problem("audit", &format!("event {number} is another one than the store knows")),
                None => self.problem("audit", &format!("the trail is missing, and the store knows its event {number}")),
            }
        }
        self.problems
    }

    fn problem(&mut self, name: &str, problem: &str) {
        if self.problems.len() < COPY_PROBLEMS_MAX {
            self.problems.push(format!("{name}: {problem}"));
        }
    }

    /// The last event of a file.
    fn events(&mut self, name: TrailFileName, bytes: &[u8]) -> Result<ChainHead, String> {
        let (header, seal, content) = match name {
            TrailFileName::Plain(_) => (Header::read(bytes), None, Cow::Borrowed(bytes)),
            TrailFileName::Sealed(_) => {
                let seal = Seal::read(bytes).filter(|seal| sha256(&bytes[SEAL_BYTES..]) == seal.stored);
                let seal = seal.ok_or("what is stored is not what its header says")?;
                (Some(seal.header), Some(seal), Cow::Owned(seal::expand(bytes, seal.content.0)))
            }
        };
        let header = header.filter(|header| header.file == name.file()).ok_or("its header is damaged")?;
        let before = ChainHead { number: header.before.0, hash: header.before.1 };
        match self.ends.get(&header.continues.0) {
            Some(Some(end)) if *end != before => {
                return Err(format!(
                    "it goes on from event {}, and the file before it ends with another",
                    before.number.0
                ));
            }
            Some(_) => {}
            // The first file of all goes on from nothing.
            None if header.continues.0 == self.after && (self.after > 0 || before.number.0 == 0) => {}
            None => self.gaps.push((name, before)),
        }
        let mut reached = header.before;
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let first = self.span.map_or(before.number, |(first, _)| first);
        self.meet(before);
        let walk = match name {
            TrailFileName::Plain(_) => RecordWalk::open_ended(&content, HEADER_BYTES, Some(header.before)),
            TrailFileName::Sealed(_) => RecordWalk::whole(&content, HEADER_BYTES, Some(header.before)),
        };
        for piece in walk {
            match piece {
                FilePiece::Record(record) if record.number.0 == reached.0.0 + 1 => {
                    reached = (record.number, *record.hash);
                    if let Ok(encoding::EventSummary { at, .. }) = encoding::summary(record.payload) {
                        (earliest, latest) = (earliest.min(at), latest.max(at));
                    }
                    self.meet(ChainHead { number: reached.0, hash: reached.1 });
                    match encoding::read(record.payload) {
                        Ok(event) if event.action == AuditAction::AuditRetention => self.removals.extend(event.note),
                        Ok(event) => self.timeline.event(record.number, event),
                        Err(_) => {}
                    }
                }
                _ => return Err(format!("what stands behind event {} is damaged", reached.0.0)),
            }
        }
        let newest = self.span.map_or(reached.0, |(_, newest)| newest.max(reached.0));
        self.span = Some((first, newest));
        match seal {
            Some(seal) if (seal.earliest, seal.latest) != (earliest, latest) => {
                Err("its events have other times than its header says".to_owned())
            }
            Some(seal) if Header::read(&content) != Some(seal.header) => {
                Err("it holds another file than its header says".to_owned())
            }
            Some(seal) if seal.content != (content.len() as u64, sha256(&content)) => {
                Err("it does not hold what its header says".to_owned())
            }
            seal if seal.is_none_or(|seal| seal.last == reached) => {
                Ok(ChainHead { number: reached.0, hash: reached.1 })
            }
            _ => Err(format!("it ends with event {}, and not as its header says", reached.0.0)),
        }
    }

    fn meet(&mut self, head: ChainHead) {
        self.known.entry((head.number, head.hash)).and_modify(|is_met| *is_met = true);
    }

    /// Whether a file had one of the heads that the trail must hold.
    pub fn has_met(&self, head: &ChainHead) -> bool {
        self.known.get(&(head.number, head.hash)).is_some_and(|is_met| *is_met)
    }
}

/// Problems of a copied trail that are told. A trail has a file for some fifty thousand events; what is more tells nothing new.
const COPY_PROBLEMS_MAX: usize = 20;

/// Zeros that may be the end of the last event of a file, which is made ahead and full of them; far more than a hash has.
const ZEROS_OF_EVENTS: usize = 4_096;

/// Whether a file of a trail can be called so.
pub fn is_file_name(name: &str) -> bool {
    TrailFileName::parse(name).is_some()
}

/// The number up to which all files are sealed; 0 where the first is not.
pub fn sealed_until(files: &[CopiedTrailFile]) -> u64 {
    files.iter().take_while(|file| file.is_sealed()).last().map_or(0, CopiedTrailFile::number)
}

/// An event of a trail that is compared with those of a copy.
#[derive(Clone, Copy, Debug)]
pub struct ComparedEvent {
    /// Number of its file.
    pub file: u64,
    pub head: ChainHead,
    pub action: AuditAction,
}

/// The events of a data folder's trail from a file on, in their order; none where there is no trail and `known`, the head that the store
/// knows of it, is none. What a killed process left of a last event is no event.
///
/// # Errors
/// It cannot be read; or it is not whole from there on, or ends before that head: what it lacks may be an event that matters.
pub fn events_from(data: &Path, file: u64, known: Option<ChainHead>) -> Result<Vec<ComparedEvent>, String> {
    let told = |error: io::Error| format!("the audit trail cannot be read: {error}");
    let damaged = |what: String| Err(format!("{TRAIL_DAMAGED}: {what}"));
    let lacks =
        |ChainHead { number: Number(number), .. }: ChainHead| format!("it lacks event {number}, which the store knows");
    let folder = super::folder(data);
    if !folder.is_dir() {
        return known.map_or(Ok(Vec::new()), |known| damaged(lacks(known)));
    }
    let trail = TrailFiles::list(&folder).map_err(told)?;
    if let Some(known) = known
        && !trail.holds(known).map_err(told)?
    {
        return damaged(lacks(known));
    }
    let mut events: Vec<ComparedEvent> = Vec::new();
    for part in trail.parts.iter().filter(|part| part.name.file() >= file) {
        let Some(header) = part.header else { return damaged(format!("the header of {} cannot be read", part.name)) };
        let before = ChainHead { number: header.before.0, hash: header.before.1 };
        if events.last().is_some_and(|last| last.head != before) {
            return damaged(format!("what is before {} is missing or damaged", part.name));
        }
        let content = part.content(&folder).map_err(told)?.unwrap_or_default();
        for piece in RecordWalk::open_ended(&content, HEADER_BYTES, Some(header.before)) {
            match piece {
                FilePiece::Record(record) => {
                    let head = ChainHead { number: record.number, hash: *record.hash };
                    let action = encoding::read(record.payload).map_or(AuditAction::Unknown, |event| event.action);
                    events.push(ComparedEvent { file: part.name.file(), head, action });
                }
                FilePiece::Damaged(range) if range.end < written(&content) || part.length.is_some() => {
                    let behind = events.last().map_or(before.number, |event| event.head.number);
                    return damaged(format!("{} cannot be read behind event {}", part.name, behind.0));
                }
                FilePiece::Damaged(_) => {}
            }
        }
    }
    Ok(events)
}

/// How a message about a damaged trail begins.
pub const TRAIL_DAMAGED: &str = "the audit trail is damaged";

/// Takes the files of a data folder's trail away, from the one of this name on, the newest first.
///
/// # Errors
/// One cannot be removed.
pub fn clear_from(data: &Path, name: &str) -> io::Result<()> {
    let folder = super::folder(data);
    let Some(first) = TrailFileName::parse(name).map(TrailFileName::file).filter(|_| folder.is_dir()) else {
        return Ok(());
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        names.extend(entry?.file_name().to_str().and_then(TrailFileName::parse).filter(|name| name.file() >= first));
    }
    // A cut leaves the beginning of a trail.
    names.sort_by_key(|name| std::cmp::Reverse(name.file()));
    for name in names {
        fs::remove_file(name.within(&folder))?;
        match fs::remove_file(index_path(&folder, name.file())) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Puts a file back into the trail of a data folder, in the place of an earlier state of it, and makes it durable. One that is not what
/// its name says, which no trail goes on from, is kept beside the trail for whoever wants to look: with `damaged` at the end of its name.
///
/// # Errors
/// The name is none of a trail's file, or the file cannot be written.
pub fn put_back(data: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let name = TrailFileName::parse(name)
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "no name of a trail's file"))?;
    let folder = super::folder(data);
    if !folder.is_dir() {
        DirBuilder::new().mode(0o700).create(&folder)?;
    }
    let content = &content[..content.len().min(AUDIT_FILE_BYTES_MAX as usize)];
    let header = match name {
        TrailFileName::Plain(_) => Header::read(content),
        TrailFileName::Sealed(_) => Seal::read(content).map(|seal| seal.header),
    };
    let is_its_own = header.is_some_and(|header| header.file == name.file());
    let path = name.within(&folder);
    let path = if is_its_own { path } else { path.with_extension("damaged") };
    let mut file = regular_file::make_anew(&path)?;
    file.write_all(content)?;
    file.sync_all()?;
    if let TrailFileName::Sealed(number) = name
        && is_its_own
    {
        match fs::remove_file(TrailFileName::Plain(number).within(&folder)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    sync_folder(&path)
}
