//! A random history that can be played again, as far as one likes: the same steps make the same store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::NOON;
use certificate::search::class::{Class, ClassCoding};
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::transition::{Need, Trigger};
use certificate::{Consent, Id, Profile, Stamp, State, Version};
use engine::{
    Actor, Engine, ImportedVersion, ListChange, ListKey, PatientFacts, PatientWrite, PatientWrites, StoredList,
    VersionContent, Write,
};

/// Chance that can be thrown again: SplitMix64.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// One step; a store refuses those that its state does not allow, and does so each time.
#[derive(Clone, Debug)]
enum Step {
    Create {
        state: State,
        subject: u64,
        category: u64,
    },
    Update {
        id: u64,
        trigger: Trigger,
        state: State,
        category: u64,
    },
    Delete {
        id: u64,
    },
    Consent {
        id: u64,
        consent: Consent,
    },
    /// One version, some time ago.
    Import {
        id: u64,
        version: u32,
        ago: i64,
        state: State,
    },
    Patient {
        id: u64,
        said: u64,
    },
    List {
        url: u64,
        text: Option<u64>,
    },
}

/// Ids of imports: far from those that creates give, and rare enough to become histories.
const IMPORTED: u64 = 500;

#[derive(Clone, Debug)]
pub(super) struct Script(Vec<Step>);

impl Script {
    pub(super) fn new(seed: u64, steps: usize) -> Script {
        let mut dice = Dice::new(seed);
        Script((0..steps).map(|_| step(&mut dice)).collect())
    }
}

fn step(dice: &mut Dice) -> Step {
    let id = 1 + dice.below(15);
    let category = dice.below(4);
    match dice.below(20) {
        0..=6 => {
            let state = if dice.below(2) == 0 { State::Draft } else { State::Completed };
            Step::Create { state, subject: dice.below(5), category }
        }
        7..=9 => Step::Update { id, trigger: Trigger::Update, state: State::Draft, category },
        10 => Step::Update { id, trigger: Trigger::Update, state: State::Completed, category: 0 },
        11 => Step::Update { id, trigger: Trigger::Suspend, state: State::Suspended, category: 0 },
        12 => Step::Update { id, trigger: Trigger::Cancel, state: State::Revoked, category: 0 },
        13 => Step::Delete { id },
        14 | 15 => Step::Consent { id, consent: Consent::ALL[dice.below(4) as usize] },
        16 => {
            let state = if dice.below(6) == 0 { State::Deleted } else { State::Draft };
            let version = 1 + dice.below(2) as u32;
            Step::Import { id: IMPORTED + dice.below(6), version, ago: dice.below(100_000) as i64, state }
        }
        17 | 18 => Step::Patient { id: 200 + dice.below(8), said: dice.below(1_000) },
        _ => Step::List { url: dice.below(3), text: (dice.below(4) > 0).then(|| dice.below(1_000)) },
    }
}

/// Plays a script up to a change of certificates and one of patients, whichever steps make them; each step has its own time.
pub(super) fn play(engine: &Engine, now: &Arc<AtomicI64>, script: &Script, to: u64, patients_to: u64) {
    for (at, step) in script.0.iter().enumerate() {
        now.store(NOON + at as i64 * 1_000, Ordering::SeqCst);
        let is_registered = matches!(step, Step::Patient { .. } | Step::List { .. });
        let is_over = match is_registered {
            true => engine.patients().last_change().unwrap() >= patients_to,
            false => engine.seq().0 >= to,
        };
        if !is_over {
            take(engine, step, NOON + at as i64 * 1_000);
        }
    }
}

fn take(engine: &Engine, step: &Step, now: i64) {
    let id = |number: u64| Id::new(number).unwrap();
    match step {
        Step::Create { state, subject, category } => {
            let content = content(Trigger::Create, *state, *subject, *category, now);
            drop(engine.append(Write::Create { content, if_none_exist: None, rows: None }).blocking_recv());
        }
        Step::Update { id: number, trigger, state, category } => {
            let content = content(*trigger, *state, *number % 5, *category, now);
            let update = Write::Update { id: id(*number), content, if_match: None, base: None, rows: None };
            drop(engine.append(update).blocking_recv());
        }
        Step::Delete { id: number } => {
            let delete = Write::Delete { id: id(*number), if_match: None, who: Actor::default(), rows: None };
            drop(engine.append(delete).blocking_recv());
        }
        Step::Consent { id: number, consent } => {
            let who = Actor { person: Some("47101010033".into()), ..Actor::default() };
            let (doctor, representative) = (Some(consent.doctor), Some(consent.representative));
            let write = Write::Consent { id: id(*number), doctor, representative, if_match: None, who, rows: None };
            drop(engine.append(write).blocking_recv());
        }
        Step::Import { id: number, version, ago, state } => {
            let content = (*state != State::Deleted).then(|| {
                let VersionContent { tail, row, .. } = content(Trigger::Create, *state, *number % 5, 0, now);
                (tail, row)
            });
            let (version, stamp) = (Version::new(*version).unwrap(), Stamp::at(now - ago));
            let import = ImportedVersion { id: id(*number), version, stamp, state: *state, content };
            drop(engine.append(engine.prepare_import(vec![import])).blocking_recv());
        }
        Step::Patient { id: number, said } => {
            let identifiers = vec![("https://fhir.ee/sid/pid/est/ni".to_owned(), (said % 7).to_string())];
            let born = (said % 3 > 0).then(|| (*said as i32, *said as i32 + 1));
            let links = if said % 4 == 0 { vec![id(200 + said % 8)] } else { vec![] };
            let facts = PatientFacts { is_active: said % 5 > 0, is_deceased: said % 11 == 0, born, identifiers, links };
            let tail = format!("}},\"said\":{:?}}}", format!("{facts:?}")).into_bytes();
            let write = PatientWrite { id: Some(id(*number)), unless: None, alone: None, facts, tail };
            drop(engine.append(PatientWrites { writes: vec![write], waits: false }).blocking_recv());
        }
        Step::List { url, text } => {
            let key = ListKey { resource_type: "CodeSystem".into(), url: format!("https://fhir.ee/{url}") };
            let change = match text {
                Some(text) => {
                    let text = format!(
                        r#"{{"resourceType":"CodeSystem","url":"{}","version":"{text}","status":"active","content":"fragment","concept":[{{"code":"a"}}]}}"#,
                        key.url
                    );
                    ListChange::Put(StoredList { key, at: now, text: text.into() })
                }
                None => ListChange::Remove(key),
            };
            drop(engine.append(vec![change]).blocking_recv());
        }
    }
}

pub(super) fn content(trigger: Trigger, state: State, subject: u64, category: u64, now: i64) -> VersionContent {
    let coding = ClassCoding { system: Some("s".into()), code: Some(category.to_string().into()) };
    let consent = Consent::default();
    let class = Class { state, profile: Profile::Driver, consent, category: vec![coding], kind: vec![] };
    let row = Row {
        class: Arc::new(class),
        last_updated: 0,
        date: None,
        period: None,
        title: Some(format!("Tõend {}", now % 13).into()),
        terms: vec![about(subject)],
    };
    let brings = match (trigger, state) {
        (Trigger::Suspend | Trigger::Cancel, _) => Need::Reason,
        (_, State::Draft) => Need::Preliminary,
        (Trigger::Create, _) => Need::Final,
        _ => Need::ChangeReason,
    };
    let tail = format!("}},\"subject\":\"Patient/{subject}\",\"at\":{now}}}").into_bytes();
    let who = Actor { role: Some("doctor".into()), ..Actor::default() };
    VersionContent { trigger, brings, tail, row, who, subject: None }
}

pub(super) fn about(subject: u64) -> Term {
    Term::new(Field::Subject, TermForm::Code, &format!("Patient/{subject}"))
}
