//! What the engine must be: the same requests, applied to maps.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::*;
use super::request::{Answer, Foreign, Request, identifier, list, list_key, patient_tail, subject};
use crate::decide::{VersionDecision, judge};
use crate::embedded::store::{ChangeKind, StoreReader};
use crate::{ClockDecision, EffectiveRow, PatientWritten};
use certificate::{Stamp, head};

/// A version of a patient: its time, the number in its identifier, and the id it links to.
type MadePatient = (i64, u64, Option<u64>);

/// All that was committed.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    certificates: BTreeMap<u64, Vec<Made>>,
    /// What holds, and how often it was changed.
    consents: BTreeMap<u64, (Consent, u32)>,
    /// Id, what, milliseconds and versions so far.
    changes: Vec<(u64, ChangeKind, i64, u64)>,
    /// No change gets an earlier time.
    newest: i64,
    running: u64,
    /// The last change before time began again.
    reset: u64,
    /// The newest time that was accepted to be ahead of the clock; and what it becomes when the batch is through.
    accepted: i64,
    accepting: i64,
    lists: BTreeMap<String, StoredList>,
    /// Milliseconds, identifier and link of each version.
    patients: BTreeMap<u64, Vec<MadePatient>>,
    next_patient: u64,
}

/// A version.
#[derive(Clone, Debug)]
struct Made {
    state: State,
    milliseconds: i64,
    seq: u64,
    tail: Vec<u8>,
    /// With an open consent; none for a tombstone.
    row: Option<Row>,
}

/// What a request is to be answered with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    /// None: refused by the rules.
    Written(Option<AcknowledgedChange>),
    Imported(Vec<Option<Imported>>),
    Listed,
    Patients(Vec<PatientWritten>),
    Decided,
    /// The clock is behind.
    NotNow,
    /// In the next batch.
    Later,
}

/// What is known of the moment of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Batching {
    pub now: i64,
    /// Whether the writer can ask the index.
    pub is_searched: bool,
    /// The last change before the batch.
    pub seq: u64,
}

/// The newest versions at one moment, for searches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    pub seq: u64,
    pub rows: BTreeMap<u64, (u32, Row)>,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            certificates: BTreeMap::new(),
            consents: BTreeMap::new(),
            changes: Vec::new(),
            newest: i64::MIN,
            running: 0,
            reset: 0,
            accepted: i64::MIN,
            accepting: i64::MIN,
            lists: BTreeMap::new(),
            patients: BTreeMap::new(),
            next_patient: 1,
        }
    }
}

impl Model {
    pub(crate) fn ids(&self) -> u64 {
        self.certificates.keys().next_back().copied().unwrap_or(0)
    }

    pub(crate) fn patient_ids(&self) -> u64 {
        self.patients.keys().next_back().copied().unwrap_or(0)
    }

    pub(crate) fn seq(&self) -> u64 {
        self.changes.len() as u64
    }

    fn consent(&self, id: u64) -> Consent {
        self.consents.get(&id).map_or(Consent::default(), |(consent, _)| *consent)
    }

    fn with_consent(&self, id: u64, row: &Row) -> Row {
        let mut row = row.clone();
        Arc::make_mut(&mut row.class).consent = self.consent(id);
        row
    }

    fn effective_row(&self, id: u64) -> Option<EffectiveRow> {
        let made = self.certificates.get(&id)?;
        let newest = made.last()?;
        let row = newest.row.as_ref().or_else(|| made.iter().rev().nth(1).and_then(|before| before.row.as_ref()));
        let row = row.map(|row| self.with_consent(id, row));
        Some(EffectiveRow { version: Version::new(made.len() as u32).unwrap(), state: newest.state, row })
    }

    pub(crate) fn moment(&self) -> Moment {
        let newest = self.certificates.iter().filter_map(|(id, made)| {
            let row = made.last()?.row.as_ref()?;
            Some((*id, (made.len() as u32, self.with_consent(*id, row))))
        });
        Moment { seq: self.seq(), rows: newest.collect() }
    }

    /// The time of a change; none while the clock is too far behind.
    fn time(&self, now: i64) -> Option<i64> {
        let is_behind = |at: i64| self.newest.saturating_sub(at) > 60_000;
        (!is_behind(now) || !is_behind(self.accepted)).then(|| now.max(self.newest))
    }

    /// The batch is through.
    pub(crate) fn batched(&mut self) {
        self.accepted = self.accepting;
    }

    /// Applies a request.
    pub(crate) fn apply(&mut self, request: &Request, has_waited: bool, batching: Batching) -> Expected {
        let now = batching.now;
        match request {
            Request::Clock(decision) => {
                match decision {
                    ClockDecision::Accept if self.newest.saturating_sub(now) > 60_000 => self.accepting = self.newest,
                    ClockDecision::Accept => {}
                    ClockDecision::Reset => {
                        (self.newest, self.reset, self.accepting) = (now, self.seq(), i64::MIN);
                    }
                }
                Expected::Decided
            }
            Request::Import { .. } | Request::List { .. } | Request::Patients { .. } if self.time(now).is_none() => {
                Expected::NotNow
            }
            Request::Import { versions } => {
                Expected::Imported(versions.iter().map(|version| self.import(version, now)).collect())
            }
            Request::List { at, url, puts } => {
                let list = list(*at, *url);
                match puts {
                    true => drop(self.lists.insert(list.key.url.clone(), list)),
                    false => drop(self.lists.remove(&list_key(*url).url)),
                }
                Expected::Listed
            }
            Request::Patients { writes } => {
                let now = self.time(now).expect("it was asked above");
                let written: Vec<_> = writes.iter().map(|write| self.patient(*write, now)).collect();
                if written.iter().any(|written| written.is_new()) {
                    self.newest = now;
                }
                Expected::Patients(written)
            }
            _ => self.write(request, has_waited, batching).unwrap_or(Expected::Written(None)),
        }
    }

    /// None: refused by the rules.
    fn write(&mut self, request: &Request, has_waited: bool, batching: Batching) -> Option<Expected> {
        let write = request.write()?;
        let id = match &write {
            Write::Create { .. } => self.ids() + 1,
            Write::Update { id, .. } | Write::Delete { id, .. } | Write::Consent { id, .. } => id.get(),
        };
        let current = self.effective_row(id);
        let time = self.time(batching.now);
        let written = |written| Some(Expected::Written(Some(written)));
        match judge(&write, current.as_ref()).ok()? {
            VersionDecision::Nothing => written(self.unchanged(id)),
            VersionDecision::Consent(consent) => {
                let Some(milliseconds) = time else { return Some(Expected::NotNow) };
                let number = self.consents.get(&id).map_or(1, |(_, number)| number + 1);
                self.consents.insert(id, (consent, number));
                self.changes.push((id, ChangeKind::Consent(number), milliseconds, self.running));
                self.newest = milliseconds;
                let current = current.expect("only what is there has a consent");
                let (version, state, stamp) = (current.version, current.state, Stamp::at(milliseconds));
                written(AcknowledgedChange { id: Id::new(id).unwrap(), version, stamp, state, changed: true, consent })
            }
            VersionDecision::Store(state) => {
                if let Write::Create { if_none_exist: Some(term), .. } = &write {
                    if !batching.is_searched {
                        return None;
                    }
                    let moment = self.moment();
                    let mut found = moment.rows.iter().filter(|(_, (_, row))| row.has(term));
                    match (found.next(), found.next()) {
                        (None, _) => {}
                        (Some((id, _)), None) => return written(self.unchanged(*id)),
                        _ => return None,
                    }
                }
                let Some(mut milliseconds) = time else { return Some(Expected::NotNow) };
                if let Some(before) = self.certificates.get(&id).and_then(|made| made.last())
                    && before.seq > self.reset
                    && before.milliseconds >= milliseconds
                {
                    if before.milliseconds > milliseconds {
                        return None;
                    }
                    if !has_waited || before.seq > batching.seq {
                        return Some(Expected::Later);
                    }
                    milliseconds += 1;
                }
                let (tail, row) = match write {
                    Write::Create { content, .. } | Write::Update { content, .. } => (content.tail, Some(content.row)),
                    Write::Delete { .. } | Write::Consent { .. } => (Vec::new(), None),
                };
                self.store(id, state, milliseconds, tail, row);
                self.newest = milliseconds;
                written(AcknowledgedChange { changed: true, ..self.unchanged(id) })
            }
        }
    }

    /// The time of the last change.
    fn unchanged(&self, id: u64) -> AcknowledgedChange {
        let made = &self.certificates[&id];
        let newest = made.last().expect("a certificate has a version");
        AcknowledgedChange {
            id: Id::new(id).unwrap(),
            version: Version::new(made.len() as u32).unwrap(),
            stamp: Stamp::at(newest.milliseconds),
            state: newest.state,
            changed: false,
            consent: self.consent(id),
        }
    }

    fn store(&mut self, id: u64, state: State, milliseconds: i64, tail: Vec<u8>, mut row: Option<Row>) {
        if let Some(row) = &mut row {
            row.last_updated = milliseconds;
        }
        let seq = self.seq() + 1;
        let made = self.certificates.entry(id).or_default();
        made.push(Made { state, milliseconds, seq, tail, row });
        let version = Version::new(made.len() as u32).unwrap();
        self.running += 1;
        self.changes.push((id, ChangeKind::Version(version), milliseconds, self.running));
    }

    /// None: a bad line.
    fn import(&mut self, foreign: &Foreign, now: i64) -> Option<Imported> {
        let Foreign { id, version, milliseconds, subject: whom } = *foreign;
        if milliseconds > now + 300_000 {
            return None;
        }
        let state = if whom.is_some() { State::Draft } else { State::Deleted };
        let content = whom.map(|whom| content(Trigger::Create, State::Draft, &subject(whom)));
        let tail = content.as_ref().map_or(Vec::new(), |content| content.tail.clone());
        let made = self.certificates.get(&id).map_or(&[][..], Vec::as_slice);
        if let Some(there) = made.get(version as usize - 1) {
            let is_same = there.state == state && there.milliseconds == milliseconds && there.tail == tail;
            return is_same.then_some(Imported::Identical);
        }
        let is_next = version as usize == made.len() + 1;
        if !is_next || made.last().is_some_and(|it| it.state == State::Deleted) {
            return None;
        }
        self.store(id, state, milliseconds, tail, content.map(|content| content.row));
        if milliseconds <= now {
            self.newest = self.newest.max(milliseconds);
        }
        Some(Imported::Stored)
    }

    fn patient(&mut self, (id, number, link): (Option<u64>, u64, Option<u64>), now: i64) -> PatientWritten {
        let version = |made: &[_]| Version::new(made.len() as u32).unwrap();
        let has = |made: &[(i64, u64, Option<u64>)]| made.last().is_some_and(|(_, has, _)| *has == number);
        if id.is_none()
            && let Some((id, made)) = self.patients.iter().find(|(_, made)| has(made))
        {
            return PatientWritten::ThereAlready(Id::new(*id).unwrap(), version(made));
        }
        let id = id.unwrap_or(self.next_patient);
        let made = self.patients.entry(id).or_default();
        if has(made) {
            return PatientWritten::Identical(Id::new(id).unwrap(), version(made));
        }
        made.push((now, number, link));
        self.next_patient = self.next_patient.max(id + 1);
        PatientWritten::Stored(Id::new(id).unwrap(), version(made))
    }

    /// In what the store of an engine is not this, in words; the first difference found.
    pub(crate) fn differs(&self, engine: &Engine) -> Option<String> {
        self.compare(engine).err()
    }

    fn compare(&self, engine: &Engine) -> Result<(), String> {
        let reader = engine.shared.store.reader().map_err(told)?;
        let changes = reader.changes_after(Seq(0), usize::MAX).map_err(told)?;
        let seqs = changes.iter().map(|change| change.seq.0);
        if !seqs.eq(1..=changes.len() as u64) {
            return Err(format!("changes have gaps: {changes:?}"));
        }
        let stored = changes.iter().map(|change| (change.id.get(), change.what, change.milliseconds, change.running));
        same("changes", &stored.collect::<Vec<_>>(), &self.changes)?;
        for id in 1..=self.ids() + 1 {
            let made = self.certificates.get(&id).map_or(&[][..], Vec::as_slice);
            let id = Id::new(id).unwrap();
            for number in 1..=made.len() as u32 + 1 {
                let version = Version::new(number).unwrap();
                let stored = engine.read(id, Some(version), |entry| entry.stored()).map_err(told)?;
                let stored = stored.map(|stored| (stored.state, stored.stamp.milliseconds, stored.resource));
                let expected = made.get(number as usize - 1).map(|made| {
                    let mut resource = Vec::new();
                    if made.row.is_some() {
                        head::write(&mut resource, "Composition", id, version, Stamp::at(made.milliseconds));
                        resource.extend_from_slice(&made.tail);
                    }
                    (made.state, made.milliseconds, resource)
                });
                same(&format!("version {number} of {id}"), &stored, &expected)?;
            }
            same("consent", &reader.consent(id).map_err(told)?, &self.consent(id.get()))?;
            same(
                "effective row",
                &engine.read(id, None, |entry| entry.effective_row()).map_err(told)?,
                &self.effective_row(id.get()),
            )?;
        }
        self.compare_time(&reader)?;
        let lists = engine.lists().map_err(told)?;
        same("lists", &lists, &self.lists.values().cloned().collect::<Vec<_>>())?;
        self.compare_patients(engine)?;
        self.compare_history(engine)
    }

    fn compare_time(&self, reader: &StoreReader) -> Result<(), String> {
        let position = reader.position().map_err(told)?;
        same("newest time stamp", &position.milliseconds, &self.newest)?;
        same("last reset", &position.reset.map_or(0, |reset| reset.change), &self.reset)?;
        same("accepted time stamp", &reader.clock_accepted().map_err(told)?, &self.accepting)
    }

    fn compare_patients(&self, engine: &Engine) -> Result<(), String> {
        same("patients", &engine.patients().count().map_err(told)?, &(self.patients.len() as u64))?;
        for (id, made) in &self.patients {
            let id = Id::new(*id).unwrap();
            let stored = engine.patients().versions(id).map_err(told)?;
            let stored = stored.iter().rev().map(|stored| (stored.stamp.milliseconds, &stored.facts, &stored.resource));
            let stored: Vec<_> = stored
                .map(|(at, facts, resource)| {
                    let number: u64 = facts.identifiers[0].1.parse().unwrap();
                    assert!(resource.ends_with(&patient_tail(number)), "a resource says what its facts say");
                    (at, number, facts.links.first().map(|id| id.get()))
                })
                .collect();
            same(&format!("patient {id}"), &stored, made)?;
        }
        for number in 0..5 {
            let (system, value) = identifier(number);
            let found = engine.patients().with(&value).map_err(told)?;
            let has = |(id, made): (&u64, &Vec<MadePatient>)| {
                (made.last()?.1 == number).then(|| (system.clone(), Id::new(*id).unwrap()))
            };
            same("who has an identifier", &found, &self.patients.iter().filter_map(has).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn tied(&self, id: u64) -> BTreeSet<u64> {
        let links: Vec<(u64, u64)> =
            self.patients.iter().filter_map(|(id, made)| Some((*id, made.last()?.2?))).collect();
        let mut tied = BTreeSet::from([id]);
        while let Some(next) = links
            .iter()
            .flat_map(|(from, to)| [(*from, *to), (*to, *from)])
            .find(|(from, to)| tied.contains(from) && !tied.contains(to))
        {
            tied.insert(next.1);
        }
        tied.remove(&id);
        tied
    }

    fn compare_history(&self, engine: &Engine) -> Result<(), String> {
        let query = HistoryQuery { id: None, since: None, at: None, page: 1, count: 1000, hidden: None };
        let page = engine.history(&query).map_err(told)?.expect("the history of all is there");
        let mut versions: Vec<(i64, usize, u64, u32)> = Vec::new();
        for (seq, (id, what, milliseconds, _)) in self.changes.iter().enumerate() {
            if let ChangeKind::Version(version) = what {
                versions.push((*milliseconds, seq, *id, version.get()));
            }
        }
        versions.sort_unstable();
        let expected: Vec<(u64, u32)> = versions.iter().rev().map(|(_, _, id, version)| (*id, *version)).collect();
        let found: Vec<(u64, u32)> = page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect();
        same("the history", &(page.total, found), &(expected.len() as u64, expected))
    }

    /// In what the counters and links in memory are not those of a recount.
    pub(crate) fn miscounted(&self, engine: &Engine) -> Option<String> {
        for id in self.patients.keys() {
            let tied = engine.patients().linked(Id::new(*id).unwrap());
            let tied: BTreeSet<u64> = tied.iter().map(|id| id.get()).collect();
            if tied != self.tied(*id) {
                return Some(format!("{tied:?} are tied to patient {id}, not {:?}", self.tied(*id)));
            }
        }
        let published = engine.shared.publishing();
        let mut recount: HashMap<u32, u64> = HashMap::new();
        for (_, row) in self.moment().rows.values() {
            let Some((class, _)) = published.classes.find(&row.class) else {
                return Some(format!("the class of {row:?} is unknown"));
            };
            *recount.entry(class).or_default() += 1;
        }
        let classes = published.classes.iter().count();
        let of = |class: usize| -> Vec<bool> { (0..classes).map(|number| number == class).collect() };
        let counted = |class: usize| published.counters.sum(&of(class));
        let wrong = (0..classes).find(|class| counted(*class) != recount.get(&(*class as u32)).copied().unwrap_or(0));
        wrong.map(|class| format!("{} are counted in class {class}, not {recount:?}", counted(class)))
    }
}

impl Expected {
    /// Whether an answer is this.
    pub(crate) fn is(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Expected::Written(expected), Answer::Written(Ok(written))) => expected.as_ref() == Some(written),
            (Expected::Written(expected), Answer::Written(Err(RefusedChange::Rules(_)))) => expected.is_none(),
            (Expected::Imported(expected), Answer::Imported(Ok(imported))) => {
                let good = |imported: &Imported| Some(imported.clone()).filter(|it| !matches!(it, Imported::Bad(_)));
                imported.iter().map(good).eq(expected.iter().cloned())
            }
            (Expected::Listed, Answer::Listed(Ok(()))) => true,
            (Expected::Decided, Answer::Decided(Ok(()))) => true,
            (Expected::NotNow, answer) => answer.is_not_now(),
            (Expected::Patients(expected), Answer::Patients(Ok(written))) => expected == written,
            _ => false,
        }
    }
}

fn told(error: StoreError) -> String {
    error.to_string()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?} where {expected:?} is expected")),
    }
}
