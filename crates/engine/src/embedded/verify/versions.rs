//! Every version: its record, its body, its row, and its place in the chain of its certificate; then the counters, and the index.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::classes::Classes;
use super::super::panics::caught;
use super::super::store::record::VersionRecord;
use super::super::store::row::{lay, read_row};
use super::super::store::{ChangeKind, ChangeRow, Records, StoreError, StoreReader, body};
use super::super::view::numbered;
use super::StoreCheck;
use super::indexed::IndexComparison;
use crate::limits::ID_MAX;
use base::number::counted;
use certificate::search::extract::extract;
use certificate::search::row::Row;
use certificate::{Id, Seq, Stamp, State, Version, head};
use fhir::json::{self, Json};

/// The versions of one certificate so far.
struct VersionRun {
    id: Id,
    last: u32,
    seq: Seq,
    milliseconds: i64,
    is_deleted: bool,
    /// The newest version at the beginning of the check, and at the checkpoint of the index.
    at_start: Option<CurrentVersion>,
    at_index: Option<CurrentVersion>,
}

/// A version that is current at some moment.
#[derive(Clone)]
struct CurrentVersion {
    version: Version,
    row: KnownRow,
}

/// The row of a version.
#[derive(Clone)]
enum KnownRow {
    Row(Arc<Row>),
    /// A tombstone has none.
    None,
    /// It cannot be read, so that nothing can be compared with it.
    Unreadable,
}

/// Totals over all certificates.
#[derive(Default)]
struct Totals {
    by_class: BTreeMap<u32, u64>,
    /// Certificates whose class is not known.
    unreadable: u64,
    /// Versions up to the beginning of the check.
    versions: u64,
    /// Rows whose terms are not those that their bodies give today.
    other_terms: u64,
    /// Versions whose time is ahead of the clock.
    ahead: u64,
}

impl StoreCheck<'_> {
    /// Walks over all versions.
    pub(super) fn versions(
        &mut self,
        classes: &Classes,
        indexed: &mut Option<IndexComparison>,
    ) -> Result<(), StoreError> {
        let of = self.start.versions;
        let mut chain: Option<VersionRun> = None;
        let mut totals = Totals::default();
        let mut last_id = 0;
        self.records(Records::Version, "version", of, |check, reader, key, bytes| {
            last_id = key.0;
            let Some(id) = Id::new(key.0).filter(|id| id.get() <= ID_MAX) else {
                check.found.tell("version", &format!("a certificate has id {}, which none can have", key.0));
                return Ok(());
            };
            if chain.as_ref().is_none_or(|chain| chain.id != id) {
                if let Some(chain) = chain.take() {
                    check.settle(reader, chain, classes, &mut totals, indexed);
                }
                let (seq, milliseconds) = (Seq(0), i64::MIN);
                chain = Some(VersionRun {
                    id,
                    last: 0,
                    seq,
                    milliseconds,
                    is_deleted: false,
                    at_start: None,
                    at_index: None,
                });
            }
            let chain = chain.as_mut().expect("it was made above");
            check.version(reader, chain, key.1, bytes, &mut totals, indexed.as_ref().map(IndexComparison::at))
        })?;
        if let Some(chain) = chain.take() {
            let reader = self.reader()?;
            self.settle(&reader, chain, classes, &mut totals, indexed);
        }
        self.totals(&totals, last_id)
    }

    /// One version, behind those before it.
    fn version(
        &mut self,
        reader: &StoreReader,
        chain: &mut VersionRun,
        number: u32,
        bytes: &[u8],
        totals: &mut Totals,
        index_at: Option<Seq>,
    ) -> Result<(), StoreError> {
        let id = chain.id;
        let what = format!("version {number} of Composition/{id}");
        let expected = chain.last + 1;
        if number != expected {
            self.found.tell("version", &format!("{what} stands where version {expected} belongs"));
        }
        chain.last = number;
        let Some(version) = Version::new(number) else { return Ok(()) };
        let record = match VersionRecord::read(bytes) {
            Ok(record) => record,
            Err(error) => {
                self.found.tell("version", &format!("{what}: {error}"));
                let current = CurrentVersion { version, row: KnownRow::Unreadable };
                (chain.at_start, chain.at_index) = (Some(current.clone()), Some(current));
                return Ok(());
            }
        };
        self.header(reader, chain, version, &record, &what, totals)?;
        let row = self.content(&record, id, version, &what, totals);
        let is_counted = record.seq <= self.start.seq;
        totals.versions += u64::from(is_counted);
        let current = CurrentVersion { version, row };
        if index_at.is_some_and(|at| record.seq <= at) {
            chain.at_index = Some(current.clone());
        }
        if is_counted {
            chain.at_start = Some(current);
        }
        Ok(())
    }

    /// What the record says of itself, beside the versions before it and its change.
    fn header(
        &mut self,
        reader: &StoreReader,
        chain: &mut VersionRun,
        version: Version,
        record: &VersionRecord,
        what: &str,
        totals: &mut Totals,
    ) -> Result<(), StoreError> {
        let Stamp { milliseconds, .. } = record.stamp;
        let (id, what_made) = (chain.id, ChangeKind::Version(version));
        let own =
            self.is_logged(reader, ChangeRow { seq: record.seq, id, what: what_made, milliseconds, running: 0 })?;
        // Imported versions keep the times that another store gave them.
        let is_later = milliseconds >= chain.milliseconds
            || self.start.has_reset(chain.seq, record.seq)
            || record.is_imported().unwrap_or(false);
        totals.ahead += u64::from(self.start.is_ahead(milliseconds));
        let erased = record.erased().ok().map(|erased| erased.is_some());
        let is_marked = self.start.erased.contains(&id);
        let rules = [
            (erased != Some(true) || is_marked, "has no content, and no mark says that it was erased".to_owned()),
            (erased != Some(false) || !is_marked, "has its content, and a mark says that it was erased".to_owned()),
            (!chain.is_deleted, "stands behind the deletion of its certificate".to_owned()),
            (record.seq > chain.seq, format!("has change {}, the version before it {}", record.seq, chain.seq)),
            (is_later, "is older than the version before it".to_owned()),
            (record.stamp == Stamp::at(milliseconds), "has a time with another offset than Estonia had".to_owned()),
            (own, format!("has change {}, which is not its own", record.seq)),
        ];
        for (holds, problem) in rules {
            if !holds {
                self.found.tell("version", &format!("{what} {problem}"));
            }
        }
        let made = record.fields.check().and_then(|()| record.made_state());
        if let Err(problem) = &made {
            self.found.tell("version", &format!("{what}: {problem}"));
        }
        (chain.seq, chain.milliseconds) = (record.seq, milliseconds);
        chain.is_deleted = made.unwrap_or(record.state) == State::Deleted;
        Ok(())
    }

    /// Body and row of a version.
    fn content(
        &mut self,
        record: &VersionRecord,
        id: Id,
        version: Version,
        what: &str,
        totals: &mut Totals,
    ) -> KnownRow {
        if record.state == State::Deleted {
            if !record.is_bare() {
                self.found.tell("version", &format!("{what} is a deletion and has a body"));
            }
            return KnownRow::None;
        }
        match self.read(record, id, version) {
            Ok((row, difference)) => {
                match difference {
                    None => {}
                    Some("terms") => totals.other_terms += 1,
                    Some(part) => {
                        self.found.tell("version", &format!("{what}: its row has another {part} than its body gives"));
                    }
                }
                KnownRow::Row(Arc::new(row))
            }
            Err(problem) => {
                self.found.tell("version", &format!("{what}: {problem}"));
                KnownRow::Unreadable
            }
        }
    }

    /// The row of a version, and in which part it is not what the body gives.
    fn read(&self, record: &VersionRecord, id: Id, version: Version) -> Result<(Row, Option<&'static str>), String> {
        let told = |error: StoreError| error.to_string();
        let dictionary = self.shared.store.dictionary(record.dictionary).map_err(told)?;
        let row = read_row(record, dictionary).map_err(told)?;
        let mut resource = Vec::with_capacity(head::HEAD_BYTES_MAX + record.raw_bytes);
        head::write(&mut resource, "Composition", id, version, record.stamp);
        body::expand(dictionary, record.body, record.raw_bytes, &mut resource).map_err(told)?;
        let json = json::parse(&resource).map_err(|_| "its body is not the JSON of a resource".to_owned())?;
        let Json::Object(composition) = &json else { return Err("its body is no object".to_owned()) };
        let is = |name: &str, value: &str| composition.get(name).and_then(Json::as_str) == Some(value);
        if !is("resourceType", "Composition") || !is("id", &id.to_string()) {
            return Err("its body says another type or id".to_owned());
        }
        if row.class.state != record.state {
            let (of_record, of_row) = (record.state.word(), row.class.state.word());
            return Err(format!("its record says {of_record}, its row {of_row}"));
        }
        let Ok(again) = extract(composition, row.last_updated, self.names) else {
            return Err("its body gives no row".to_owned());
        };
        Ok((row.clone(), difference(&row, &again)))
    }

    /// A certificate is complete: it is counted, and compared with the index.
    fn settle(
        &mut self,
        reader: &StoreReader,
        chain: VersionRun,
        classes: &Classes,
        totals: &mut Totals,
        indexed: &mut Option<IndexComparison>,
    ) {
        let id = chain.id;
        // A consent that is not readable is told where consents are looked at.
        let number = |current: &CurrentVersion, seq: Seq| {
            let KnownRow::Row(row) = &current.row else { return None };
            let mut row = Row::clone(row);
            lay(&mut row, reader.consent_at(id, seq).ok()?);
            numbered(classes, row)
        };
        if let Some(current) = &chain.at_start {
            match &current.row {
                KnownRow::None => {}
                KnownRow::Unreadable => totals.unreadable += 1,
                KnownRow::Row(_) => match number(current, self.start.seq) {
                    Some(numbered) => *totals.by_class.entry(numbered.class).or_default() += 1,
                    None => {
                        totals.unreadable += 1;
                        self.found.tell("class", &format!("the class of Composition/{id} is not known"));
                    }
                },
            }
        }
        let Some(compared) = indexed else { return };
        let expected = match &chain.at_index {
            None | Some(CurrentVersion { row: KnownRow::None, .. }) => Some(None),
            Some(CurrentVersion { row: KnownRow::Unreadable, .. }) => None,
            Some(current) => number(current, compared.at()).map(|numbered| Some((current.version, numbered))),
        };
        // A damaged file may show as a panic as well as an error.
        let done = caught(|| compared.compare(id, expected, &mut self.found));
        let problem = match done {
            Some(Ok(())) => return,
            Some(Err(error)) => error.0,
            None => "reading it panicked".to_owned(),
        };
        self.found.tell("index", &format!("it cannot be read further: {problem}"));
        *indexed = None;
    }

    /// What was counted, beside what the store says.
    fn totals(&mut self, totals: &Totals, last_id: u64) -> Result<(), StoreError> {
        let start = &self.start;
        let counts = self.found.counts();
        counts.versions = totals.versions;
        counts.certificates = totals.by_class.values().sum::<u64>() + totals.unreadable;
        if totals.versions != start.position.running {
            let problem = format!("{} are counted, the last change says {}", totals.versions, start.position.running);
            self.found.tell("version", &problem);
        }
        if start.position.next_id.get() <= last_id
            && self.reader()?.last_change()?.map(|last| last.seq) == Some(start.seq)
        {
            self.found
                .tell("meta", &format!("'next-id' is {}, and there is Composition/{last_id}", start.position.next_id));
        }
        if totals.other_terms > 0 {
            self.found.note(&format!(
                "{} not those that the body gives today: they were decided under another base address, or by an earlier release",
                counted(totals.other_terms, "row has terms that are", "rows have terms that are")
            ));
        }
        if totals.ahead > 0 {
            let versions = counted(totals.ahead, "version has", "versions have");
            self.found.note(&format!("{versions} a time that is ahead of the clock"));
        }
        if totals.unreadable > 0 {
            self.found.note("counters were not compared, since the class of some certificates is not known");
            return Ok(());
        }
        let stored: BTreeMap<u32, u64> =
            self.start.counters.iter().copied().filter(|(_, number)| *number > 0).collect();
        let all: std::collections::BTreeSet<u32> = stored.keys().chain(totals.by_class.keys()).copied().collect();
        for class in all {
            let (says, number) = (stored.get(&class).unwrap_or(&0), totals.by_class.get(&class).unwrap_or(&0));
            if says != number {
                let certificates = counted(*number, "certificate", "certificates");
                self.found.tell("counter", &format!("class {class} has {certificates}, the counter says {says}"));
            }
        }
        Ok(())
    }
}

/// The part in which a row is not another one. What only the store knows is left out: its time, and the consent.
fn difference(stored: &Row, again: &Row) -> Option<&'static str> {
    let (one, two) = (&stored.class, &again.class);
    let parts = [
        (one.state == two.state, "state"),
        (one.profile == two.profile, "profile"),
        (one.category == two.category, "category"),
        (one.kind == two.kind, "type"),
        (stored.date == again.date, "date"),
        (stored.period == again.period, "validity"),
        (stored.title == again.title, "title"),
        (stored.terms == again.terms, "terms"),
    ];
    parts.into_iter().find(|(is_same, _)| !is_same).map(|(_, part)| part)
}
