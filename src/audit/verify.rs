//! Verifying a trail: whether it is as it was written, from its first event to its last.

use std::fmt::Write;
use std::fs;
use std::io;

use super::disk::TrailFileName;
use super::disk::index_path;
use super::head::{Hash, removed};
use super::header::{HEADER_BYTES, Header};
use super::index::{self, Subjects};
use super::limits::AUDIT_FILE_BYTES_MAX;
use super::seal::{self, SEAL_BYTES, Seal};
use super::timeline::StoreTimeline;
use super::trail::{TrailFile, TrailFiles};
use super::{AuditAction, AuditEvent, ChainHead, Number, encoding};
use base::number::counted;
use base::regular_file;
use certificate::Seq;
use engine::EntryHash;
use journal::record::{FilePiece, RecordWalk, sha256, written};

/// Problems of an audit trail that are told one by one. What is more is counted.
const AUDIT_PROBLEMS_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailVerifyReport {
    /// Events that hold together.
    pub events: u64,
    pub files: usize,
    /// Number of the first event at hand; more than 1 where older ones were removed.
    pub first: Number,
    /// The newest event. Whoever keeps it elsewhere can ask later whether it is still part of the trail.
    pub head: ChainHead,
    /// The last change of the store that the trail reports.
    pub last_change: Seq,
    /// The last import that the trail reports has begun, and has no end there.
    pub has_open_import: bool,
    /// What is wrong, in words: file, number, what. Empty: the trail is as it was written.
    pub problems: Vec<String>,
    /// How many more there are.
    pub problems_untold: usize,
    /// What is worth knowing and no problem.
    pub remarks: Vec<String>,
}

/// Walks over the whole trail. `known` are heads of earlier, which must be part of it.
///
/// # Errors
/// The folder cannot be read.
pub fn verify(trail: &TrailFiles, known: &[ChainHead]) -> Result<TrailVerifyReport, String> {
    verify_with(trail, known, StoreBeside::default())
}

/// The store beside a trail, as far as it can be asked.
#[derive(Clone, Copy, Default)]
pub struct StoreBeside<'a> {
    /// Indexes are compared with whom certificates are about.
    pub subjects: Option<&'a Subjects>,
    /// Events of changes are compared with the hashes that the store has of them; none of a change that it does not have.
    pub hashes: Option<&'a dyn Fn(Seq) -> Option<EntryHash>>,
}

/// As [`verify`], with the store beside the trail.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(trail: &TrailFiles, known: &[ChainHead], beside: StoreBeside) -> Result<TrailVerifyReport, String> {
    let mut walk = TrailVerifier::new(trail, known, beside);
    for (at, part) in trail.parts.iter().enumerate() {
        let follower = trail.parts.get(at + 1).and_then(|part| part.header);
        walk.part(part, follower)?;
    }
    walk.around();
    Ok(walk.found)
}

/// What is wrong with one file of a trail, as its walk tells it: before it is removed for what its header says of its events.
///
/// # Errors
/// It cannot be read.
pub(super) fn problems_of(trail: &TrailFiles, at: usize) -> Result<Vec<String>, String> {
    // Its index is made again where it is wrong.
    let mut walk = TrailVerifier { looks_at_indexes: false, ..TrailVerifier::new(trail, &[], StoreBeside::default()) };
    let follower = trail.parts.get(at + 1).and_then(|part| part.header);
    walk.part(&trail.parts[at], follower)?;
    // It ends with the event that the next file goes on from.
    if let (Some(follower), Some(last)) = (follower, walk.before)
        && follower.before != last
    {
        walk.problem(format!("{}: the file behind it goes on from another event", trail.parts[at].name));
    }
    Ok(walk.found.problems)
}

struct TrailVerifier<'a> {
    trail: &'a TrailFiles,
    beside: StoreBeside<'a>,
    /// Events whose change is another one in the store, with their change: a restore that comes behind says why.
    others: Vec<(Seq, String)>,
    looks_at_indexes: bool,
    /// Heads of earlier, and whether their numbers were met.
    known: Vec<(ChainHead, bool)>,
    /// Number and hash of the event before.
    before: Option<(Number, Hash)>,
    /// The file before and how many bytes of it there are.
    file_before: Option<(u64, u64)>,
    /// What retentions tell.
    removals: Vec<String>,
    /// Whether the store was set back.
    timeline: StoreTimeline,
    found: TrailVerifyReport,
}

impl<'a> TrailVerifier<'a> {
    fn new(trail: &'a TrailFiles, known: &[ChainHead], beside: StoreBeside<'a>) -> TrailVerifier<'a> {
        TrailVerifier {
            trail,
            beside,
            others: Vec::new(),
            looks_at_indexes: true,
            known: known.iter().map(|head| (*head, false)).collect(),
            before: None,
            file_before: None,
            removals: Vec::new(),
            timeline: StoreTimeline::default(),
            found: TrailVerifyReport {
                events: 0,
                files: trail.parts.len(),
                first: Number(0),
                head: ChainHead { number: Number(0), hash: [0; 32] },
                last_change: Seq(0),
                has_open_import: false,
                problems: Vec::new(),
                problems_untold: 0,
                remarks: Vec::new(),
            },
        }
    }

    fn part(&mut self, part: &TrailFile, follower: Option<Header>) -> Result<(), String> {
        let name = part.name;
        let content = part.content(&self.trail.folder).map_err(|error| format!("{name}: {error}"))?;
        let Some(content) = content else {
            self.remark(format!("{name} was removed while the trail was read"));
            self.before = None;
            self.file_before = None;
            return Ok(());
        };
        match part.header {
            Some(header) => {
                self.found.last_change = self.found.last_change.max(header.last_change);
                self.header(name, header);
            }
            None => self.problem(format!("{name}: its header is damaged")),
        }
        let length = fs::metadata(name.within(&self.trail.folder)).map_or(0, |file| file.len());
        if length > AUDIT_FILE_BYTES_MAX {
            self.problem(format!("{name}: it has {length} bytes, more than a file of the trail can have"));
        }
        let before = part.header.map(|header| header.before).or(self.before);
        if let Some(length) = part.length.filter(|length| *length > content.len() as u64) {
            self.problem(format!("{name}: it has {} bytes; {length} were written", content.len()));
        }
        let is_open = part.length.is_none() && matches!(name, TrailFileName::Plain(_));
        let walk = match is_open {
            true => RecordWalk::open_ended(&content, HEADER_BYTES, before),
            false => RecordWalk::whole(&content, HEADER_BYTES, before),
        };
        let mut end = HEADER_BYTES;
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let mut last = before;
        for piece in walk {
            let record = match piece {
                FilePiece::Damaged(range) => {
                    let behind = last.map_or(0, |(number, _)| number.0);
                    end = range.end;
                    match range.is_empty() {
                        true => self.problem(format!("{name}: events behind number {behind} are missing")),
                        false => self.problem(format!(
                            "{name}: bytes {} to {} behind number {behind} are damaged",
                            range.start, range.end
                        )),
                    }
                    continue;
                }
                FilePiece::Record(record) => record,
            };
            if let Some((number, _)) = last.filter(|(number, _)| number.0 + 1 != record.number.0) {
                let (number, next) = (number.0, record.number.0);
                self.problem(format!("{name}: number {next} stands behind number {number}; those between are missing"));
            }
            end = record.end();
            last = Some((record.number, *record.hash));
            self.record(name, record.number, record.hash, record.payload, (&mut earliest, &mut latest));
        }
        if let Some(seal) = part.seal {
            self.seal(name, &content, &seal, last, (earliest, latest));
            if self.looks_at_indexes {
                self.index(name, &content, &seal)?;
            }
        } else if let TrailFileName::Sealed(_) = name {
            self.problem(format!("{name}: what it should hold is not known"));
        }
        self.rest(part, follower, is_open);
        self.before = last;
        self.file_before = Some((name.file(), end as u64));
        Ok(())
    }

    fn header(&mut self, name: TrailFileName, header: Header) {
        let continues = header.continues;
        let (Number(number), _) = header.before;
        match self.file_before {
            Some(before) if before == continues => {}
            Some((file, _)) if file != continues.0 => {
                self.problem(format!("{name}: the file before it, number {}, is missing", continues.0));
            }
            Some((_, bytes)) => {
                self.problem(format!("{name}: the file before it had {} bytes and has {bytes}", continues.1));
            }
            None => {}
        }
        if let Some(before) = self.before.filter(|before| *before != header.before) {
            let behind = before.0.0;
            self.problem(format!("{name}: it goes on from number {number}, but the file before ends with {behind}"));
        }
    }

    fn record(
        &mut self,
        name: TrailFileName,
        number: Number,
        hash: &Hash,
        payload: &[u8],
        times: (&mut i64, &mut i64),
    ) {
        if self.found.events == 0 {
            self.found.first = number;
        }
        self.found.events += 1;
        self.found.head = ChainHead { number, hash: *hash };
        let mut is_another = false;
        for (known, is_met) in self.known.iter_mut().filter(|(known, _)| known.number == number) {
            *is_met = true;
            is_another |= known.hash != *hash;
        }
        if is_another {
            self.problem(format!("{name}: number {} is another event than the head says", number.0));
        }
        match encoding::read(payload) {
            Ok(event) => {
                *times.0 = event.at.min(*times.0);
                *times.1 = event.at.max(*times.1);
                self.found.last_change = event.last_change(self.found.last_change);
                self.history(name, number, &event);
                if event.action == AuditAction::BulkImport {
                    self.found.has_open_import = event.change.is_none();
                }
                if event.action == AuditAction::AuditRetention {
                    self.removals.extend(event.note);
                } else if event.action == AuditAction::AuditRepaired {
                    let note = event.note.unwrap_or_default();
                    self.remark(format!("{name}: number {} reports a repair: {note}", number.0));
                } else {
                    self.timeline.event(number, event);
                }
            }
            Err(_) => self.problem(format!("{name}: number {} is no event", number.0)),
        }
    }

    /// Compares the change that an event reports with what the store has under its number.
    fn history(&mut self, name: TrailFileName, number: Number, event: &AuditEvent) {
        if event.action == AuditAction::Restore {
            let kept = event.change.unwrap_or_default();
            self.others.retain(|(change, _)| *change <= kept);
        }
        let Some(((change, told), hashes)) = event.change.zip(event.entry).zip(self.beside.hashes) else { return };
        if self.others.len() < AUDIT_PROBLEMS_MAX && hashes(change).is_some_and(|stored| stored != told) {
            let problem = format!("{name}: number {} reports another change {change} than the store has", number.0);
            self.others.push((change, problem));
        }
    }

    fn seal(
        &mut self,
        name: TrailFileName,
        content: &[u8],
        seal: &Seal,
        last: Option<(Number, Hash)>,
        times: (i64, i64),
    ) {
        let stored =
            regular_file::read_itself(&name.within(&self.trail.folder), AUDIT_FILE_BYTES_MAX).unwrap_or_default();
        if sha256(stored.get(SEAL_BYTES..).unwrap_or_default()) != seal.stored {
            self.problem(format!("{name}: what is stored is not what its header says"));
        }
        if !seal::is_filled(&stored, seal.content.0) {
            self.problem(format!("{name}: there is something behind its last event"));
        }
        if (content.len() as u64, sha256(content)) != seal.content {
            self.problem(format!("{name}: it does not hold what its header says"));
        }
        if Header::read(content) != Some(seal.header) {
            self.problem(format!("{name}: it holds another file than its header says"));
        }
        if last != Some(seal.last) {
            let number = seal.last.0.0;
            self.problem(format!("{name}: it does not end with number {number}, as its header says"));
        }
        if times != (seal.earliest, seal.latest) {
            self.problem(format!("{name}: its events have other times than its header says"));
        }
    }

    /// An index that lacks events hides them from searches. One that names too many hides none: an event is looked at before it is shown.
    fn index(&mut self, name: TrailFileName, content: &[u8], seal: &Seal) -> Result<(), String> {
        let path = index_path(&self.trail.folder, name.file());
        let sealed =
            regular_file::read_itself(&name.within(&self.trail.folder), AUDIT_FILE_BYTES_MAX).unwrap_or_default();
        match index::omits(&path, (content, &sealed), seal, self.beside.subjects)
            .map_err(|error| format!("{}: {error}", path.display()))?
        {
            None => {}
            Some(problem) => {
                let file = path.file_name().unwrap_or_default().display();
                self.problem(format!("{file}: {problem}; delete it, the service makes it again"));
            }
        }
        Ok(())
    }

    /// What lies behind the last record must be empty, unless a failure left something there.
    fn rest(&mut self, part: &TrailFile, follower: Option<Header>, is_open: bool) {
        let (Some(length), TrailFileName::Plain(_)) = (part.length, part.name) else { return };
        let is_bound = self.trail.bound.is_some_and(|(file, _)| file == part.name.file());
        if is_open || is_bound || follower.is_some_and(|follower| follower.after_failure) {
            return;
        }
        // A file that was sealed meanwhile had been looked at by then.
        let Ok(bytes) = regular_file::read_itself(&part.name.within(&self.trail.folder), AUDIT_FILE_BYTES_MAX) else {
            return;
        };
        let behind = bytes.get(length as usize..).unwrap_or_default();
        if written(behind) > 0 {
            self.problem(format!("{}: there is something behind its last event", part.name));
        }
    }

    /// What is to be said of the trail as a whole.
    fn around(&mut self) {
        let trail = self.trail;
        for file in &trail.spare {
            let bytes =
                regular_file::read_itself(&TrailFileName::Plain(*file).within(&trail.folder), AUDIT_FILE_BYTES_MAX)
                    .unwrap_or_default();
            if written(&bytes) > 0 {
                self.problem(format!("{}: it should be empty", TrailFileName::Plain(*file)));
            }
        }
        for double in &trail.doubles {
            let bytes = match regular_file::read_itself(&double.within(&trail.folder), AUDIT_FILE_BYTES_MAX) {
                // It was sealed while the trail was read, and goes away once its sealed form is durable.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                bytes => bytes.unwrap_or_default(),
            };
            let sealed = trail.parts.iter().find(|part| part.name.file() == double.file());
            let content = sealed.and_then(|part| part.content(&trail.folder).ok().flatten()).unwrap_or_default();
            match bytes.starts_with(&content) && written(&bytes[content.len()..]) == 0 {
                true => self.remark(format!("{double} is there beside its sealed form; the next start removes it")),
                false => self.problem(format!("{double} differs from its sealed form")),
            }
        }
        trail.replaced.iter().for_each(|name| self.remark(format!("{name} was given up after a failure")));
        trail.strangers.iter().for_each(|name| self.remark(format!("{name} is no file of a trail")));
        self.beginning();
        if let Some(problem) = self.timeline.problem() {
            self.problem(problem);
        }
        std::mem::take(&mut self.others).into_iter().for_each(|(_, problem)| self.problem(problem));
        for (known, _) in std::mem::take(&mut self.known).into_iter().filter(|(_, is_met)| !is_met) {
            let (number, first, last) = (known.number.0, self.found.first.0, self.found.head.number.0);
            match number > last {
                true => self.problem(format!("the trail ends with number {last}; it once reached {number}")),
                false if number < first => {
                    self.problem(format!("number {number} is not kept any more; the trail begins with {first}"));
                }
                false => self.problem(format!("number {number} is missing")),
            }
        }
    }

    /// A trail begins with number 1, or behind what a retention removed.
    fn beginning(&mut self) {
        let Some(ChainHead { number, hash }) = self.trail.removed_up_to() else { return };
        let told = removed((number, hash));
        if self.removals.iter().any(|note| note.contains(&told)) {
            self.remark(format!("events up to number {} were removed because of their age", number.0));
        } else {
            self.problem(format!("the trail begins behind number {}, and no retention removed it", number.0));
        }
    }

    fn problem(&mut self, problem: String) {
        match self.found.problems.len() < AUDIT_PROBLEMS_MAX {
            true => self.found.problems.push(problem),
            false => self.found.problems_untold += 1,
        }
    }

    fn remark(&mut self, remark: String) {
        if self.found.remarks.len() < AUDIT_PROBLEMS_MAX {
            self.found.remarks.push(remark);
        }
    }
}

impl TrailVerifyReport {
    /// Whether the trail is as it was written.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    /// For the person at the terminal.
    pub fn report(&self) -> String {
        let mut out = String::new();
        let mut line = |text: std::fmt::Arguments| writeln!(out, "{text}").expect("writing to memory does not fail");
        self.problems.iter().for_each(|problem| line(format_args!("wrong: {problem}")));
        if self.problems_untold > 0 {
            line(format_args!("wrong: {} more", self.problems_untold));
        }
        self.remarks.iter().for_each(|remark| line(format_args!("note:  {remark}")));
        let (first, last) = (self.first.0, self.head.number.0);
        let events = counted(self.events, "event", "events");
        let files = counted(self.files as u64, "file", "files");
        line(format_args!("{events}, numbers {first} to {last}, in {files}"));
        line(format_args!("head {}", self.head));
        out
    }
}
