//! What is asked of the writer, small enough to be printed and asked again.

use tokio::sync::oneshot;

use super::super::*;
use super::dice::Dice;
use crate::{ClockDecision, ListKey, PatientFacts, PatientWrite, PatientWritten};
use certificate::Stamp;

/// One request.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Create { state: State, subject: u64, unless: Option<u64> },
    Update { id: u64, trigger: Trigger, state: State, subject: u64 },
    Delete { id: u64 },
    Consent { id: u64, consent: Consent },
    Import { versions: Vec<Foreign> },
    List { at: i64, url: u64, puts: bool },
    Patients { writes: Vec<(Option<u64>, u64, Option<u64>)> },
    Clock(ClockDecision),
}

/// A version from elsewhere, to be imported: id, number, time and subject; without a subject it is a tombstone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreign {
    pub id: u64,
    pub version: u32,
    pub milliseconds: i64,
    pub subject: Option<u64>,
}

/// What a request is answered with.
#[derive(Debug)]
pub(crate) enum Answer {
    Written(Result<AcknowledgedChange, RefusedChange>),
    Imported(Result<Vec<Imported>, RefusedChange>),
    Listed(Result<(), RefusedChange>),
    Patients(Result<Vec<PatientWritten>, RefusedChange>),
    Decided(Result<(), RefusedChange>),
}

/// A request's way back.
pub(crate) enum Waiting {
    Written(oneshot::Receiver<Result<AcknowledgedChange, RefusedChange>>),
    Imported(oneshot::Receiver<Result<Vec<Imported>, RefusedChange>>),
    Listed(oneshot::Receiver<Result<(), RefusedChange>>),
    Patients(oneshot::Receiver<Result<Vec<PatientWritten>, RefusedChange>>),
    Decided(oneshot::Receiver<Result<(), RefusedChange>>),
}

impl Waiting {
    /// The answer, if it has come. Nothing may be dropped without one.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        use oneshot::error::TryRecvError::Empty;
        fn came<T>(receiver: &mut oneshot::Receiver<T>) -> Option<T> {
            match receiver.try_recv() {
                Ok(answer) => Some(answer),
                Err(Empty) => None,
                Err(_) => panic!("a request was dropped without an answer"),
            }
        }
        match self {
            Waiting::Written(receiver) => came(receiver).map(Answer::Written),
            Waiting::Imported(receiver) => came(receiver).map(Answer::Imported),
            Waiting::Listed(receiver) => came(receiver).map(Answer::Listed),
            Waiting::Patients(receiver) => came(receiver).map(Answer::Patients),
            Waiting::Decided(receiver) => came(receiver).map(Answer::Decided),
        }
    }
}

impl Answer {
    fn refused(&self) -> Option<&RefusedChange> {
        match self {
            Answer::Written(result) => result.as_ref().err(),
            Answer::Imported(result) => result.as_ref().err(),
            Answer::Listed(result) | Answer::Decided(result) => result.as_ref().err(),
            Answer::Patients(result) => result.as_ref().err(),
        }
    }

    /// The store's failure, where that is the answer.
    pub(crate) fn failure(&self) -> Option<&StoreError> {
        match self.refused() {
            Some(RefusedChange::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Whether it was refused, since the clock is not believed.
    pub(crate) fn is_not_now(&self) -> bool {
        matches!(self.refused(), Some(RefusedChange::Clock(_)))
    }
}

pub(crate) fn subject(number: u64) -> String {
    format!("Patient/{number}")
}

/// Who is told to have said so.
pub(crate) fn identifier(number: u64) -> (String, String) {
    ("https://fhir.ee/sid/pid/est/ni".into(), number.to_string())
}

pub(crate) fn list_key(url: u64) -> ListKey {
    ListKey { resource_type: "ValueSet".into(), url: format!("https://example.ee/{url}") }
}

pub(crate) fn list(at: i64, url: u64) -> StoredList {
    StoredList { key: list_key(url), at, text: format!("{{\"url\":{url}}}").into_bytes() }
}

pub(crate) fn patient_tail(number: u64) -> Vec<u8> {
    format!("}},\"identifier\":\"{number}\"}}").into_bytes()
}

impl Request {
    /// Any request, about one of so many certificates and patients.
    pub(crate) fn roll(dice: &mut Dice, now: i64, ids: u64, patients: u64) -> Request {
        let subject = dice.below(3) + 1;
        let id = dice.below(ids + 1) + 1;
        match dice.below(20) {
            0..5 => Request::Create {
                state: dice.pick(&[State::Draft, State::Completed]),
                subject,
                unless: dice.once_in(4).then_some(subject),
            },
            5..9 => {
                let (trigger, state) = dice.pick(&[
                    (Trigger::Update, State::Draft),
                    (Trigger::Update, State::Draft),
                    (Trigger::Update, State::Completed),
                    (Trigger::Suspend, State::Suspended),
                    (Trigger::Cancel, State::Revoked),
                ]);
                Request::Update { id, trigger, state, subject }
            }
            9..12 => Request::Delete { id },
            12..15 => Request::Consent { id, consent: dice.pick(&Consent::ALL) },
            15..17 => {
                let count = dice.below(3) + 1;
                let mut version = dice.below(3) as u32 + 1;
                let id = dice.below(ids + 3) + 1;
                let mut milliseconds = now - dice.pick(&[0, 0, 1, 5_000, 100_000_000, -120_000, -400_000]);
                let versions = (0..count).map(|_| {
                    let subject = (!dice.once_in(6)).then(|| dice.below(3) + 1);
                    let next = Foreign { id, version, milliseconds, subject };
                    version += 1;
                    milliseconds += 1;
                    next
                });
                Request::Import { versions: versions.collect() }
            }
            17 => Request::List { at: now, url: dice.below(3), puts: !dice.once_in(3) },
            _ => {
                let count = dice.below(3) + 1;
                let write = |_| {
                    let of = dice.once_in(2).then(|| dice.below(patients + 1) + 1);
                    (of, dice.below(5), dice.once_in(3).then(|| dice.below(patients + 1) + 1))
                };
                Request::Patients { writes: (0..count).map(write).collect() }
            }
        }
    }

    /// What the engine is asked where a certificate is to change.
    pub(crate) fn write(&self) -> Option<Write> {
        let of = |id: &u64| Id::new(*id).unwrap();
        Some(match self {
            Request::Create { state, subject: about_whom, unless } => Write::Create {
                content: content(Trigger::Create, *state, &subject(*about_whom)),
                if_none_exist: unless.map(|whom| about(&subject(whom))),
                rows: None,
            },
            Request::Update { id, trigger, state, subject: about_whom } => Write::Update {
                id: of(id),
                content: content(*trigger, *state, &subject(*about_whom)),
                if_match: None,
                base: None,
                rows: None,
            },
            Request::Delete { id } => Write::Delete { id: of(id), if_match: None, who: Actor::default(), rows: None },
            Request::Consent { id, consent } => Write::Consent {
                id: of(id),
                doctor: Some(consent.doctor),
                representative: Some(consent.representative),
                if_match: None,
                who: Actor::default(),
                rows: None,
            },
            Request::Import { .. } | Request::List { .. } | Request::Patients { .. } | Request::Clock(_) => {
                return None;
            }
        })
    }

    pub(crate) fn patients(&self) -> Vec<PatientWrite> {
        let Request::Patients { writes } = self else { return Vec::new() };
        let write = |(id, number, link): &(Option<u64>, u64, Option<u64>)| PatientWrite {
            id: id.map(|id| Id::new(id).unwrap()),
            unless: id.is_none().then(|| identifier(*number)),
            alone: None,
            facts: PatientFacts {
                is_active: true,
                is_deceased: false,
                born: None,
                identifiers: vec![identifier(*number)],
                links: link.iter().filter_map(|id| Id::new(*id)).collect(),
            },
            tail: patient_tail(*number),
        };
        writes.iter().map(write).collect()
    }

    /// Asks.
    pub(crate) fn ask(&self, engine: &Engine) -> Waiting {
        match self {
            Request::Import { versions } => {
                let versions = versions.iter().map(Foreign::import).collect();
                Waiting::Imported(engine.append(engine.prepare_import(versions)))
            }
            Request::List { at, url, puts } => {
                let change = if *puts { ListChange::Put(list(*at, *url)) } else { ListChange::Remove(list_key(*url)) };
                Waiting::Listed(engine.append(vec![change]))
            }
            Request::Patients { .. } => {
                Waiting::Patients(engine.append(PatientWrites { writes: self.patients(), waits: false }))
            }
            Request::Clock(decision) => Waiting::Decided(engine.append(*decision)),
            _ => Waiting::Written(engine.append(self.write().expect("all others change a certificate"))),
        }
    }
}

impl Foreign {
    fn import(&self) -> ImportedVersion {
        let content = self.subject.map(|whom| content(Trigger::Create, State::Draft, &subject(whom)));
        ImportedVersion {
            id: Id::new(self.id).unwrap(),
            version: Version::new(self.version).unwrap(),
            stamp: Stamp::at(self.milliseconds),
            state: if content.is_some() { State::Draft } else { State::Deleted },
            content: content.map(|content| (content.tail, content.row)),
        }
    }
}
