//! What can still be read of a damaged store: versions of certificates out of the pages of its file, without opening it. Nothing is written.
//!
//! Versions below the commits that the header names are taken as they are: their pages have the right checksums. Where those do not hold
//! all versions, every page of the file is looked at, in use or not. A version found there is taken when its frame has its checksum and
//! the log of changes does not say otherwise.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Serialize;

use super::store::body::{self, Dictionary};
use super::store::change::{CHANGE_BYTES, LOGGED_BYTES};
use super::store::pages::{Leaf, PageWidths, Pages, UnreadablePage, WalkEvent};
use super::store::record::{EntryKind, VersionRecord};
use super::store::row::read_row;
use super::store::{ChangeKind, ChangeRow, StoreError, format_2};
use super::{compressed_version, store};
use crate::{STORE_FILE, StoredVersion};
use certificate::{Consent, Id, Openness, Stamp, State, Version};
use fhir::json;

/// Leaves of `version`: id and number to a record.
const VERSIONS: PageWidths = PageWidths { key: Some(12), value: None };
/// Leaves of the log of changes: number to a row. The second are those of the format before, without hashes.
const CHANGES: [PageWidths; 2] =
    [PageWidths { key: Some(8), value: Some(LOGGED_BYTES) }, PageWidths { key: Some(8), value: Some(CHANGE_BYTES) }];

/// The versions that can be read, and what is lost.
pub struct Salvage {
    pages: Pages,
    dictionaries: HashMap<u8, Dictionary>,
    found: Vec<SalvagedVersion>,
    /// Records of versions that the journal has.
    journaled: Vec<Vec<u8>>,
    changes: HashMap<u64, ChangeRow>,
    /// Every change is in `changes`.
    knows_changes: bool,
    /// The last change of which something is known.
    last_known: u64,
    /// Where the store says that its journal goes on.
    journal_start: Option<Vec<u8>>,
    lost: Vec<UnreadablePage>,
    report: Salvaged,
}

/// A version, and where it lies.
#[derive(Clone, Copy)]
struct SalvagedVersion {
    seq: u64,
    id: Id,
    version: Version,
    milliseconds: i64,
    place: SalvagePlace,
    /// The page has the checksum that its commit says, or the journal has it.
    is_proven: bool,
}

/// Where a version lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SalvagePlace {
    /// The number in `journaled`.
    Journal(usize),
    /// Offset of the page, and the place in it.
    Page(u64, usize),
}

/// What a salvage found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Salvaged {
    /// Versions that can be read.
    pub versions: u64,
    /// Certificates of which every version can be read.
    pub certificates: u64,
    /// Certificates of which versions are lost: id, then first and last number of each run of lost versions. None where only the newest
    /// may be missing, or where only versions are [unconfirmed](Self::unconfirmed).
    pub incomplete: BTreeMap<u64, Vec<(u32, u32)>>,
    /// First and last number of changes of which nothing is known: each is a version or a change of consent of some certificate.
    pub changes_unknown: Vec<(u64, u64)>,
    /// Versions that no row of the log of changes confirms: the checksum of their body holds, and none covers their numbers. They make
    /// their certificate incomplete.
    pub unconfirmed: Vec<(u64, u32)>,
    /// Versions of which the file holds several that differ, none of them confirmed: all are left out.
    pub ambiguous: Vec<(u64, u32)>,
    /// The log of changes could be read to its end, and the audit trail says that it is the end, so that every version that is lost is named.
    /// Otherwise the newest may be missing too.
    pub knows_all: bool,
    /// Consents that hold, by certificate: closed to `doctor`, to `representative`. An export has no consents; set them again.
    pub closed: BTreeMap<u64, Vec<&'static str>>,
    /// What of the file cannot be read.
    pub problems: Vec<String>,
}

impl Salvaged {
    /// Whether every version was read.
    pub fn is_whole(&self) -> bool {
        self.knows_all && self.incomplete.is_empty() && self.changes_unknown.is_empty() && self.ambiguous.is_empty()
    }
}

impl Salvage {
    /// Looks through the file of a store.
    ///
    /// # Errors
    /// `InUse` while a server runs, or the file cannot be read.
    pub fn open(folder: &Path) -> Result<Salvage, StoreError> {
        let pages = Pages::open(&folder.join(STORE_FILE))?;
        let mut salvage = Salvage {
            pages,
            dictionaries: HashMap::new(),
            found: Vec::new(),
            journaled: Vec::new(),
            changes: HashMap::new(),
            knows_changes: false,
            last_known: 0,
            journal_start: None,
            lost: Vec::new(),
            report: Salvaged::default(),
        };
        salvage
            .report
            .problems
            .extend(salvage.pages.header_problems().iter().map(|problem| format!("file: {problem}")));
        let is_whole = salvage.commits()?;
        salvage.journal(folder);
        if !is_whole {
            salvage.scan()?;
        }
        salvage.conclude()?;
        Ok(salvage)
    }

    /// What was found.
    pub fn report(&self) -> &Salvaged {
        &self.report
    }

    /// Hands every version out in the order in which they were made, with whether all versions of its certificate are there.
    ///
    /// # Errors
    /// What `each` says, or the file cannot be read any more.
    pub fn each(&self, mut each: impl FnMut(StoredVersion, bool) -> Result<(), String>) -> Result<(), String> {
        for found in &self.found {
            if let Some(stored) = self.stored(found).map_err(|error| error.to_string())? {
                each(stored, !self.report.incomplete.contains_key(&found.id.get()))?;
            }
        }
        Ok(())
    }

    /// Takes what the commits of the header hold, the newest first. Whether that is everything.
    fn commits(&mut self) -> Result<bool, StoreError> {
        let commits: Vec<_> = self.pages.commits().collect();
        for (at, commit) in commits.into_iter().enumerate() {
            let mut lost = Vec::new();
            let tables: BTreeMap<_, _> =
                self.pages.tables(commit, &mut |damage| lost.push(damage)).into_iter().collect();
            let is_listed = lost.is_empty();
            for damage in &lost {
                self.report.problems.push(format!("table of tables: {}", damage.problem));
            }
            let mut walk = |name: &str, each: &mut dyn FnMut(u64, Leaf)| -> bool {
                let Some(tree) = tables.get(name).copied() else { return is_listed };
                let (mut rows, mut is_whole) = (0, true);
                self.pages.walk(tree, &mut |met| match met {
                    WalkEvent::Leaf(page, leaf) => {
                        rows += leaf.rows().count() as u64;
                        each(page, leaf);
                    }
                    WalkEvent::Damaged(damage) => {
                        is_whole = false;
                        if at == 0 {
                            self.report.problems.push(format!("{name}: {}", damage.problem));
                        }
                        if at == 0 && name == "version" {
                            self.lost.push(damage);
                        }
                    }
                });
                is_whole && rows == tree.rows
            };
            let dictionaries = &mut self.dictionaries;
            walk("dictionary", &mut |_, leaf| {
                for (number, content) in leaf.rows() {
                    if let (Some(number), Ok(dictionary)) = (number.first(), body::dictionary(content)) {
                        dictionaries.entry(*number).or_insert(dictionary);
                    }
                }
            });
            let journal_start = &mut self.journal_start;
            walk("meta", &mut |_, leaf| {
                let start = leaf.rows().find(|(name, _)| *name == b"journal");
                *journal_start = journal_start.take().or(start.map(|(_, start)| start.to_vec()));
            });
            let changes = &mut self.changes;
            // A store of the format before had them under another name, without their hashes.
            let name = if tables.contains_key("log") { "log" } else { "change" };
            let knows_changes = walk(name, &mut |_, leaf| take_changes(changes, &leaf));
            let closed = &mut self.report.closed;
            walk("consent_closed", &mut |_, leaf| {
                for (id, bits) in leaf.rows() {
                    if let (Ok(id), Some(consent)) = (id.try_into(), Consent::from_bits(bits[0])) {
                        closed.entry(u64::from_le_bytes(id)).or_insert_with(|| to_whom(consent));
                    }
                }
            });
            let found = &mut self.found;
            let has_all = walk("version", &mut |page, leaf| found.extend(versions(page, &leaf, true)));
            self.knows_changes |= at == 0 && knows_changes;
            if at == 0 && has_all && knows_changes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what the journal has, which may be newer than all of the file.
    fn journal(&mut self, folder: &Path) {
        store::journal_rows(folder, |table, key, value| match (table, value) {
            ("version", Some(record)) => {
                let place = SalvagePlace::Journal(self.journaled.len());
                self.found.extend(version_at(place, key, record, true));
                self.journaled.push(record.to_vec());
            }
            ("log", Some(row)) => take_change(&mut self.changes, key, row),
            ("consent_closed", bits) => {
                let Ok(id) = key.try_into().map(u64::from_le_bytes) else { return };
                let consent = bits.and_then(|bits| Consent::from_bits(*bits.first()?));
                match consent {
                    Some(consent) => drop(self.report.closed.insert(id, to_whom(consent))),
                    None => drop(self.report.closed.remove(&id)),
                }
            }
            _ => {}
        });
        if let Some(problem) = self.journal_start.as_ref().and_then(|start| store::journal_problem(folder, start)) {
            self.report.problems.push(format!("journal: {problem}"));
            self.knows_changes = false;
        }
    }

    /// Looks at every page, in use or not.
    fn scan(&mut self) -> Result<(), StoreError> {
        if !self.knows_changes {
            self.scan_changes();
        }
        let proven: BTreeSet<(Id, Version)> = self.found.iter().map(|found| (found.id, found.version)).collect();
        let mut seen = Vec::new();
        self.pages.scan(VERSIONS, &mut |page, leaf| {
            seen.extend(versions(page, leaf, false).filter(|found| !proven.contains(&(found.id, found.version))));
        });
        self.found.extend(seen);
        Ok(())
    }

    /// Takes rows of the log of changes out of pages whose table is not known. Other tables have leaves of the same shape, so a leaf is
    /// taken only when every row of it is a change that this store can have made.
    fn scan_changes(&mut self) {
        let mut runs: Vec<Vec<ChangeRow>> = Vec::new();
        for widths in CHANGES {
            self.pages.scan(widths, &mut |_, leaf| runs.extend(run_of_changes(leaf)));
        }
        runs.sort_unstable_by_key(|run| run[0].seq);
        let known = self.changes.keys().copied().chain(self.found.iter().map(|found| found.seq));
        let mut newest = known.max().unwrap_or(0);
        for run in runs {
            // What lies between two runs was on pages that are lost. More than the file could hold was never there.
            if run[0].seq.0.saturating_sub(newest) > self.pages.rows_max(CHANGES[1]) {
                break;
            }
            newest = run.last().map_or(newest, |last| newest.max(last.seq.0));
            for change in run {
                self.changes.entry(change.seq.0).or_insert(change);
            }
        }
    }

    /// Keeps one of each version, and says what is missing.
    fn conclude(&mut self) -> Result<(), StoreError> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable_by_key(|found| (found.id, found.version, !found.is_proven, found.place));
        let mut lost: BTreeMap<u64, Runs> = BTreeMap::new();
        for same in found.chunk_by(|one, two| (one.id, one.version) == (two.id, two.version)) {
            let mut kept: Option<(SalvagedVersion, Vec<u8>)> = None;
            let mut is_ambiguous = false;
            for candidate in same.iter().filter(|candidate| self.may_be(candidate)) {
                let Ok(bytes) = self.bytes(candidate) else { continue };
                match &kept {
                    None if self.stored(candidate).is_ok() => kept = Some((*candidate, bytes)),
                    Some((first, before)) if !first.is_proven && *before != bytes => {
                        is_ambiguous |= self.stored(candidate).is_ok();
                    }
                    _ => {}
                }
            }
            let SalvagedVersion { id, version, .. } = same[0];
            match kept.filter(|_| !is_ambiguous) {
                Some((kept, _)) => self.found.push(kept),
                None if is_ambiguous => {
                    self.report.ambiguous.push((id.get(), version.get()));
                    lost.entry(id.get()).or_default();
                }
                None if same[0].is_proven => lost.entry(id.get()).or_default().push((version.get(), version.get())),
                // Bytes of an unused page that were no version.
                None => {}
            }
        }
        self.missing(lost);
        self.found.sort_unstable_by_key(|found| found.seq);
        Ok(())
    }

    /// Names what is lost: versions that the log of changes has, or that others of their certificate ask for.
    fn missing(&mut self, mut lost: BTreeMap<u64, Runs>) {
        let mut numbers: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for SalvagedVersion { id, version, .. } in &self.found {
            numbers.entry(id.get()).or_default().insert(version.get());
        }
        for change in self.changes.values() {
            if let ChangeKind::Version(version) = change.what
                && !numbers.get(&change.id.get()).is_some_and(|numbers| numbers.contains(&version.get()))
            {
                lost.entry(change.id.get()).or_default().push((version.get(), version.get()));
            }
        }
        let is_confirmed = |found: &&SalvagedVersion| found.is_proven || self.changes.contains_key(&found.seq);
        let confirmed = self.found.iter().filter(is_confirmed).map(|found| found.seq);
        let newest = self.changes.keys().copied().chain(confirmed).max().unwrap_or(0);
        // A number that nothing confirms may be damaged: more than the file has room for was never there.
        let room = self.pages.rows_max(CHANGES[1]);
        for (id, numbers) in &numbers {
            let gaps = gaps(numbers.iter().map(|number| u64::from(*number)).take_while(|number| *number <= room));
            for (first, last) in gaps {
                // Both lie between two numbers of versions.
                lost.entry(*id).or_default().push((first as u32, last as u32));
            }
        }
        let found = self.found.iter().map(|found| found.seq).filter(|seq| *seq <= newest.saturating_add(room));
        let known: BTreeSet<u64> = self.changes.keys().copied().chain(found).collect();
        self.last_known = known.last().copied().unwrap_or(0);
        self.report.changes_unknown = gaps(known.into_iter()).collect();
        if !self.report.changes_unknown.is_empty() {
            // What is not known may be the newest version of a certificate that stood beside a page that is lost.
            let edge = |key: &Option<Vec<u8>>| key.as_deref().and_then(key_of).map(|(id, _)| id);
            for damage in &self.lost {
                let (from, to) = (edge(&damage.above).unwrap_or(0), edge(&damage.up_to).unwrap_or(u64::MAX));
                // The first and the last certificate of the page reach out of it.
                for id in [from, to] {
                    if numbers.contains_key(&id) {
                        lost.entry(id).or_default();
                    }
                }
            }
        }
        let report = &mut self.report;
        for found in self.found.iter().filter(|found| !is_confirmed(found)) {
            report.unconfirmed.push((found.id.get(), found.version.get()));
            lost.entry(found.id.get()).or_default();
        }
        report.knows_all = self.knows_changes;
        report.versions = self.found.len() as u64;
        report.certificates = numbers.keys().filter(|id| !lost.contains_key(*id)).count() as u64;
        report.incomplete = lost.into_iter().map(|(id, lost)| (id, joined(lost))).collect();
    }

    /// Takes in that changes up to this one were acknowledged, as the audit trail knows: an end of the journal that was damaged looks as one
    /// that never was.
    pub fn expect_until(&mut self, change: u64) {
        if change > self.last_known {
            self.report.changes_unknown.push((self.last_known + 1, change));
        }
    }

    /// Takes in that nobody knows up to which change they were acknowledged.
    pub fn doubt_end(&mut self, problem: String) {
        self.report.knows_all = false;
        self.report.problems.push(problem);
    }

    /// Whether the log of changes does not say that this version was never committed.
    fn may_be(&self, found: &SalvagedVersion) -> bool {
        match self.changes.get(&found.seq) {
            Some(change) => {
                let same = (change.id, change.what) == (found.id, ChangeKind::Version(found.version));
                same && change.milliseconds == found.milliseconds
            }
            None => found.is_proven || !self.knows_changes,
        }
    }

    fn bytes(&self, found: &SalvagedVersion) -> Result<Vec<u8>, StoreError> {
        let gone =
            || StoreError::Damaged(format!("version {} of Composition/{} is not readable", found.version, found.id));
        let (page, row) = match found.place {
            SalvagePlace::Journal(at) => return Ok(self.journaled[at].clone()),
            SalvagePlace::Page(page, row) => (page, row),
        };
        let memory = self.pages.leaf_at(page, VERSIONS).ok_or_else(gone)?;
        let row = Leaf::read(&memory, VERSIONS).and_then(|leaf| leaf.row(row));
        row.map(|(_, record)| record.to_vec()).ok_or_else(gone)
    }

    /// A version, with everything looked at that says whether it is one; nothing is left of one that was erased.
    fn stored(&self, found: &SalvagedVersion) -> Result<Option<StoredVersion>, StoreError> {
        // Every release has shipped the same dictionary so far; with another one the frame does not have its checksum.
        let dictionary = |number| match self.dictionaries.get(&number) {
            Some(dictionary) => Ok(*dictionary),
            None => body::dictionary(body::SHIPPED),
        };
        let bytes = self.bytes(found)?;
        let bytes = format_2::entry(EntryKind::Version, found.seq, &bytes, dictionary)?;
        let record = VersionRecord::read(&bytes)?;
        let wrong =
            |what: &str| StoreError::Damaged(format!("version {} of Composition/{}: {what}", found.version, found.id));
        record.fields.check()?;
        if record.stamp != Stamp::at(record.stamp.milliseconds) {
            return Err(wrong("its time has another offset than Estonia had"));
        }
        if record.state == State::Deleted && !record.is_bare() {
            return Err(wrong("a deletion has a body"));
        }
        let stored = compressed_version::stored(&record, found.id, found.version, dictionary)?;
        if record.state == State::Deleted {
            return Ok(record.erased()?.is_none().then_some(stored));
        }
        let row = read_row(&record, dictionary(record.dictionary)?)?;
        match row.class.state == record.state && json::parse(&stored.resource).is_ok() {
            true => Ok(Some(stored)),
            false => Err(wrong("its row and its body do not belong to its record")),
        }
    }
}

/// First and last of runs of version numbers.
type Runs = Vec<(u32, u32)>;

/// First and last of each run of numbers from 1 that is not among those that ascend.
fn gaps(ascending: impl Iterator<Item = u64>) -> impl Iterator<Item = (u64, u64)> {
    let before = ascending.scan(0, |last, number| Some((std::mem::replace(last, number), number)));
    before.filter(|(last, number)| number - last > 1).map(|(last, number)| (last + 1, number - 1))
}

/// Runs in their order, those that touch or overlap as one.
fn joined(mut runs: Runs) -> Runs {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let touches = next.0 <= run.1.saturating_add(1);
        if touches {
            run.1 = run.1.max(next.1);
        }
        touches
    });
    runs
}

/// The records of a leaf.
fn versions(page: u64, leaf: &Leaf, is_proven: bool) -> impl Iterator<Item = SalvagedVersion> {
    let rows = leaf.rows().enumerate();
    rows.filter_map(move |(row, (key, record))| version_at(SalvagePlace::Page(page, row), key, record, is_proven))
}

fn version_at(place: SalvagePlace, key: &[u8], record: &[u8], is_proven: bool) -> Option<SalvagedVersion> {
    let (id, version) = key_of(key)?;
    let (seq, milliseconds) = format_2::place_of(record)?;
    Some(SalvagedVersion { seq, id: Id::new(id)?, version: Version::new(version)?, milliseconds, place, is_proven })
}

fn key_of(key: &[u8]) -> Option<(u64, u32)> {
    let (id, version) = key.split_first_chunk()?;
    Some((u64::from_le_bytes(*id), u32::from_le_bytes(version.try_into().ok()?)))
}

fn take_changes(changes: &mut HashMap<u64, ChangeRow>, leaf: &Leaf) {
    leaf.rows().for_each(|(seq, row)| take_change(changes, seq, row));
}

fn take_change(changes: &mut HashMap<u64, ChangeRow>, seq: &[u8], row: &[u8]) {
    if let (Ok(seq), Some(row)) = (seq.try_into().map(u64::from_le_bytes), row.first_chunk())
        && let Ok(change) = ChangeRow::read(seq, row)
    {
        changes.entry(seq).or_insert(change);
    }
}

/// All rows of a leaf as changes: numbered without gaps, with the counts of versions that follow from each other. None where a row is not.
fn run_of_changes(leaf: &Leaf) -> Option<Vec<ChangeRow>> {
    let read =
        |(seq, row): (&[u8], &[u8])| ChangeRow::read(u64::from_le_bytes(seq.try_into().ok()?), row.first_chunk()?).ok();
    let run: Vec<ChangeRow> = leaf.rows().map(read).collect::<Option<_>>()?;
    let follows = run.windows(2).all(|two| {
        two[0].seq.0.checked_add(1) == Some(two[1].seq.0)
            && two[0].running.checked_add(u64::from(two[1].version().is_some())) == Some(two[1].running)
    });
    let is_own = |change: &ChangeRow| {
        change.running <= change.seq.0
            && change.version().is_none_or(|version| u64::from(version.get()) <= change.running)
    };
    (follows && run.iter().all(is_own)).then_some(run)
}

fn to_whom(consent: Consent) -> Vec<&'static str> {
    let parts = [(consent.doctor, "doctor"), (consent.representative, "representative")];
    parts.into_iter().filter(|(access, _)| *access == Openness::Closed).map(|(_, who)| who).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::Seq;

    fn leaf(changes: &[ChangeRow]) -> Option<Vec<ChangeRow>> {
        let mut bytes = vec![1, 0, changes.len() as u8, 0];
        changes.iter().for_each(|change| bytes.extend(change.seq.0.to_le_bytes()));
        changes.iter().for_each(|change| bytes.extend(change.write()));
        run_of_changes(&Leaf::read(&bytes, CHANGES[1]).unwrap())
    }

    #[test]
    fn a_leaf_is_of_changes_only_when_every_row_follows_from_the_one_before() {
        let change = |seq: u64, running| {
            let what = ChangeKind::Version(Version::FIRST);
            ChangeRow { seq: Seq(seq), id: Id::FIRST, what, milliseconds: 0, running }
        };
        let good = [change(7, 5), change(8, 6)];
        assert_eq!(leaf(&good), Some(good.to_vec()));
        for bad in [[change(7, 5), change(9, 6)], [change(7, 5), change(8, 5)], [change(7, 8), change(8, 9)]] {
            assert_eq!(leaf(&bad), None, "{bad:?}");
        }
        assert_eq!(leaf(&[change(u64::MAX, 1), change(0, 2)]), None);
    }

    #[test]
    fn lost_numbers_are_runs_however_many_they_are() {
        assert_eq!(gaps([1, 2, 5, u64::MAX].into_iter()).collect::<Vec<_>>(), [(3, 4), (6, u64::MAX - 1)]);
        assert_eq!(joined(vec![(5, 9), (1, 2), (3, 3), (6, 7), (11, u32::MAX)]), [(1, 3), (5, 9), (11, u32::MAX)]);
    }
}
