//! Patients: versions, and the tables and links that follow the newest of them.

use super::*;
use crate::limits::LINKED_PATIENTS_MAX;
use crate::{PatientFacts, PatientWrite, PatientWritten};

const NI: &str = "https://fhir.ee/sid/pid/est/ni";
const PASSPORT: &str = "https://fhir.ee/sid/pid/lva/ppn";

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn version(number: u32) -> Version {
    Version::new(number).unwrap()
}

/// A patient whose tail says what is in the facts, so that another content is another tail.
pub(super) fn patient(number: impl Into<Option<u64>>, identifiers: &[(&str, &str)]) -> PatientWrite {
    let identifiers = identifiers.iter().map(|(system, value)| ((*system).into(), (*value).into())).collect();
    let facts = PatientFacts { is_active: true, is_deceased: false, born: None, identifiers, links: vec![] };
    as_said(PatientWrite { id: number.into().map(id), unless: None, alone: None, facts, tail: vec![] })
}

fn as_said(mut write: PatientWrite) -> PatientWrite {
    write.tail = format!("}},\"facts\":{:?}}}", format!("{:?}", write.facts)).into_bytes();
    write
}

fn linked(number: u64, links: &[u64]) -> PatientWrite {
    let mut write = patient(number, &[]);
    write.facts.links = links.iter().map(|link| id(*link)).collect();
    as_said(write)
}

fn born(number: u64, first: i32, last: i32) -> PatientWrite {
    let mut write = patient(number, &[]);
    write.facts.born = Some((first, last));
    as_said(write)
}

impl Fixture {
    pub(super) fn patients(&self, writes: impl Into<Vec<PatientWrite>>) -> Vec<PatientWritten> {
        self.engine.append(PatientWrites { writes: writes.into(), waits: false }).blocking_recv().unwrap().unwrap()
    }

    fn with(&self, value: &str) -> Vec<(String, u64)> {
        let found = self.engine.patients().with(value).unwrap();
        found.into_iter().map(|(system, id)| (system, id.get())).collect()
    }

    fn tied(&self, number: u64) -> Vec<u64> {
        self.engine.patients().linked(id(number)).iter().map(|id| id.get()).collect()
    }

    fn born(&self, from: i32, to: i32) -> Vec<u64> {
        let lines = self.engine.patients().born(from, to, 100).unwrap().unwrap();
        lines.into_iter().map(|line| line.id.get()).collect()
    }
}

#[test]
fn a_folder_without_patients_finds_nobody() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    assert_eq!(engine.patients().newest(id(1)).unwrap(), None);
    assert_eq!(engine.patients().facts(id(1)).unwrap(), None);
    assert_eq!(engine.patients().version(id(1), Version::FIRST).unwrap(), None);
    assert_eq!(engine.patients().versions(id(1)).unwrap(), []);
    assert_eq!(engine.patients().all(0).unwrap(), Some(vec![]));
    assert_eq!(engine.patients().count().unwrap(), 0);
    assert_eq!((fixture.with("1"), fixture.tied(1), fixture.born(i32::MIN, i32::MAX)), (vec![], vec![], vec![]));
    assert_eq!(fixture.patients([]), []);
}

#[test]
fn every_version_of_a_patient_is_one_change_and_refused_or_identical_ones_are_none() {
    let mut fixture = Fixture::new();
    assert_eq!(
        (fixture.engine.patients().last_change().unwrap(), fixture.engine.patients().changes(0, 9).unwrap()),
        (0, vec![])
    );
    let (first, second) = (patient(200, &[(NI, "1")]), patient(200, &[(NI, "2")]));
    let mut unless = patient(None, &[(NI, "2")]);
    unless.unless = Some((NI.into(), "2".into()));
    fixture.patients([first, patient(7, &[]), second.clone()]);
    fixture.patients([second, unless, patient(7, &[(NI, "3")]), patient(None, &[])]);
    let all = [(1, 200, 1), (2, 7, 1), (3, 200, 2), (4, 7, 2), (5, 201, 1)];
    for _ in 0..2 {
        let changes = |after, max| -> Vec<(u64, u64, u32)> {
            let found = fixture.engine.patients().changes(after, max).unwrap();
            found.into_iter().map(|(number, id, version)| (number, id.get(), version.get())).collect()
        };
        assert_eq!(changes(0, 9), all);
        assert_eq!((changes(1, 2), changes(5, 9), changes(u64::MAX, 9)), (all[1..3].to_vec(), vec![], vec![]));
        assert_eq!(fixture.engine.patients().last_change().unwrap(), 5);
        fixture.reopen();
    }
}

#[test]
fn a_patient_keeps_its_versions_and_the_same_content_makes_none() {
    let mut fixture = Fixture::new();
    let [first, second] = [patient(200, &[(NI, "1")]), patient(200, &[(NI, "1"), (PASSPORT, "LV1")])];
    let [one, two] = [version(1), version(2)];
    assert_eq!(fixture.patients([first.clone()]), [PatientWritten::Stored(id(200), one)]);
    assert_eq!(fixture.patients([first.clone()]), [PatientWritten::Identical(id(200), one)]);
    assert_eq!(
        fixture.patients([second.clone(), second.clone()]),
        [PatientWritten::Stored(id(200), two), PatientWritten::Identical(id(200), two)]
    );
    fixture.reopen();
    let engine = &fixture.engine;
    let versions = engine.patients().versions(id(200)).unwrap();
    assert_eq!(versions.iter().map(|patient| patient.version).collect::<Vec<_>>(), [two, one]);
    assert_eq!(versions.iter().map(|patient| &patient.facts).collect::<Vec<_>>(), [&second.facts, &first.facts]);
    assert!(versions[0].stamp.milliseconds > versions[1].stamp.milliseconds);
    assert_eq!(engine.patients().newest(id(200)).unwrap().as_ref(), Some(&versions[0]));
    assert_eq!(engine.patients().version(id(200), one).unwrap().as_ref(), Some(&versions[1]));
    assert_eq!(engine.patients().version(id(200), version(3)).unwrap(), None);
    assert_eq!(engine.patients().facts(id(200)).unwrap(), Some((two, second.facts.clone())));
    assert_eq!(engine.patients().newest(id(199)).unwrap(), None);
    let resource = String::from_utf8(versions[0].resource.clone()).unwrap();
    assert!(
        resource.starts_with(r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"2","lastUpdated":""#),
        "{resource}"
    );
    assert!(resource.as_bytes().ends_with(&second.tail), "{resource}");
}

#[test]
fn a_stamp_is_not_earlier_than_the_one_before_when_the_clock_goes_back() {
    let fixture = Fixture::new();
    fixture.patients([patient(1, &[(NI, "1")])]);
    let stamp = |version_number| {
        fixture.engine.patients().version(id(1), version(version_number)).unwrap().unwrap().stamp.milliseconds
    };
    fixture.now.fetch_sub(30_000, Ordering::Relaxed);
    fixture.patients([patient(1, &[(NI, "2")])]);
    assert_eq!(stamp(2), stamp(1));
    // Certificates follow the same clock.
    assert_eq!(fixture.create(State::Draft, "Patient/1").stamp.milliseconds, stamp(1));
}

#[test]
fn an_identifier_finds_whoever_has_it_now() {
    let fixture = Fixture::new();
    fixture.patients([patient(2, &[(PASSPORT, "7"), (NI, "8")]), patient(1, &[(NI, "7")]), patient(3, &[(NI, "7")])]);
    let seven = [(NI.to_owned(), 1), (NI.to_owned(), 3), (PASSPORT.to_owned(), 2)];
    assert_eq!(fixture.with("7"), seven);
    // The value of one begins as the other does.
    fixture.patients([patient(4, &[(NI, "77"), ("", "7")])]);
    assert_eq!(fixture.with("77"), [(NI.to_owned(), 4)]);
    // It moves from 1 to 2, and leaves 4.
    fixture.patients([patient(1, &[(NI, "9")]), patient(2, &[(NI, "7")]), patient(4, &[])]);
    assert_eq!(fixture.with("7"), [(NI.to_owned(), 2), (NI.to_owned(), 3)]);
    assert_eq!(fixture.with("9"), [(NI.to_owned(), 1)]);
    assert_eq!((fixture.with("8"), fixture.with("77"), fixture.with("")), (vec![], vec![], vec![]));
    assert_eq!(fixture.engine.patients().count().unwrap(), 4);
}

/// What was seen: once a personal code was corrected, the audit trail found by the old one nothing that named the patient, nor by the new
/// one what named the old.
#[test]
fn an_identifier_that_nobody_has_any_more_is_that_of_who_had_it() {
    let mut fixture = Fixture::new();
    fixture.patients([patient(1, &[(NI, "7"), (PASSPORT, "p")]), patient(2, &[(NI, "8")])]);
    fixture.patients([patient(1, &[(NI, "9")]), patient(2, &[])]);
    fixture.patients([patient(1, &[(NI, "9"), (PASSPORT, "p")]), patient(3, &[(NI, "8")])]);
    let seen = |fixture: &Fixture| {
        let patients = fixture.engine.patients();
        let known_by =
            |value: &str| patients.known_by(NI, value).unwrap().iter().map(|id| id.get()).collect::<Vec<_>>();
        let values = |number| {
            let identifiers = patients.identifiers(id(number)).unwrap();
            identifiers.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(" ")
        };
        (["7", "8", "9", "p"].map(known_by), [1, 2, 3, 4].map(values))
    };
    // 8 is another one's now.
    let expected = [vec![1], vec![3], vec![1], vec![]];
    assert_eq!(seen(&fixture), (expected.clone(), ["9 p 7", "", "8", ""].map(str::to_owned)));
    fixture.reopen();
    assert_eq!(seen(&fixture).0, expected);
    let told = fixture.engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
    assert!(told.is_whole(), "{told:?}");
}

#[test]
fn whoever_has_an_identifier_that_another_should_have_alone_is_told() {
    let fixture = Fixture::new();
    let alone = |number: u64| PatientWrite { alone: Some((NI.into(), "1".into())), ..patient(number, &[(NI, "1")]) };
    assert_eq!(fixture.patients([alone(3)]), [PatientWritten::Stored(id(3), version(1))]);
    assert_eq!(fixture.patients([alone(5)]), [PatientWritten::Shared(id(5), version(1), id(3))]);
    assert_eq!(fixture.patients([alone(2)]), [PatientWritten::Shared(id(2), version(1), id(3))]);
}

#[test]
fn unless_somebody_has_it_a_patient_gets_the_next_id() {
    let mut fixture = Fixture::new();
    let unless = |value: &str| {
        let mut write = patient(None, &[(NI, value)]);
        write.unless = Some((NI.into(), value.into()));
        write
    };
    let [first, second] = [PatientWritten::Stored(id(1), version(1)), PatientWritten::ThereAlready(id(1), version(1))];
    assert_eq!(fixture.patients([unless("1"), unless("1")]), [first, second]);
    assert_eq!(fixture.patients([unless("1")]), [second]);
    // Under another system it is another identifier.
    fixture.patients([patient(5, &[(PASSPORT, "2")])]);
    fixture.reopen();
    assert_eq!(fixture.patients([unless("2")]), [PatientWritten::Stored(id(6), version(1))]);
    // Two have it: the one with the smaller id is named, with its newest version.
    fixture.patients([patient(2, &[(NI, "2")]), patient(2, &[(NI, "2"), (NI, "3")])]);
    assert_eq!(fixture.patients([unless("2")]), [PatientWritten::ThereAlready(id(2), version(2))]);
    assert_eq!(fixture.patients([patient(None, &[])]), [PatientWritten::Stored(id(7), version(1))]);
}

#[test]
fn a_birth_date_is_found_by_every_day_it_can_mean() {
    let fixture = Fixture::new();
    fixture.patients([born(1, 100, 100), born(2, 0, 365), born(3, 90, 120), patient(4, &[]), born(5, -400, -400)]);
    assert_eq!(fixture.born(100, 100), [2, 3, 1]);
    assert_eq!(fixture.born(121, 365), [2]);
    assert_eq!(fixture.born(366, i32::MAX), [] as [u64; 0]);
    assert_eq!(fixture.born(i32::MIN, 89), [5, 2]);
    assert_eq!(fixture.born(9, 8), [] as [u64; 0]);
    assert_eq!(fixture.engine.patients().born(0, 365, 2).unwrap(), None);
    assert_eq!(fixture.engine.patients().all(4).unwrap(), None);
    let mut later = born(1, 500, 500);
    (later.facts.is_active, later.facts.is_deceased) = (false, true);
    fixture.patients([as_said(later)]);
    assert_eq!(fixture.born(100, 100), [2, 3]);
    let all = fixture.engine.patients().all(5).unwrap().unwrap();
    assert_eq!(all.iter().map(|line| line.id.get()).collect::<Vec<_>>(), [4, 5, 2, 3, 1]);
    assert_eq!((all[0].born, all[0].is_active, all[0].is_deceased), (None, true, false));
    let newest = fixture.engine.patients().newest(id(1)).unwrap().unwrap();
    assert_eq!((all[4].born, all[4].is_active, all[4].is_deceased), (Some((500, 500)), false, true));
    assert_eq!(all[4].milliseconds, newest.stamp.milliseconds);
}

#[test]
fn links_tie_both_ends_and_those_behind_them() {
    let mut fixture = Fixture::new();
    fixture.patients([linked(1, &[2]), linked(3, &[2]), linked(3, &[2, 4]), linked(9, &[9])]);
    for fixture_is_new in [true, false] {
        assert_eq!(fixture.tied(1), [2, 3, 4], "{fixture_is_new}");
        assert_eq!(fixture.tied(2), [1, 3, 4]);
        // Nobody of this id is known, and it is tied all the same.
        assert_eq!(fixture.tied(4), [3, 2, 1]);
        assert_eq!((fixture.tied(9), fixture.tied(5)), (vec![], vec![]));
        fixture.reopen();
    }
    fixture.patients([linked(3, &[])]);
    assert_eq!((fixture.tied(1), fixture.tied(3), fixture.tied(4)), (vec![2], vec![], vec![]));
    fixture.reopen();
    assert_eq!((fixture.tied(1), fixture.tied(3), fixture.tied(4)), (vec![2], vec![], vec![]));
    // Both say it; one takes it back.
    fixture.patients([linked(2, &[1]), linked(1, &[])]);
    assert_eq!((fixture.tied(1), fixture.tied(2)), (vec![2], vec![1]));
}

#[test]
fn not_more_are_tied_than_the_bound() {
    let fixture = Fixture::new();
    let bound = LINKED_PATIENTS_MAX as u64;
    let around: Vec<u64> = (2..=bound + 1).collect();
    fixture.patients([linked(1, &around)]);
    assert_eq!(fixture.tied(1), around);
    fixture.patients([linked(bound + 2, &[1])]);
    assert_eq!(fixture.tied(1).len(), LINKED_PATIENTS_MAX);
    assert_eq!(fixture.tied(bound + 2).len(), LINKED_PATIENTS_MAX);
}

/// Links are in memory only once a batch is published; after a commit that failed half-way they are read again.
#[test]
fn links_that_were_stored_after_all_are_taken_in() {
    let fixture = Fixture::new();
    fixture.patients([linked(1, &[2])]);
    let shared = &fixture.engine.shared;
    *shared.links.write().unwrap() = PatientLinks::default();
    shared.store.reopen().unwrap();
    shared.read_links().unwrap();
    assert_eq!(fixture.tied(2), [1]);
}

#[test]
fn patients_and_certificates_share_a_batch_and_a_folder_but_no_ids() {
    let mut fixture = Fixture::new();
    let certificate = fixture.create(State::Draft, "Patient/1");
    let answers: Vec<_> = (0..50)
        .map(|_| fixture.engine.append(PatientWrites { writes: vec![patient(None, &[(NI, "1")])], waits: false }))
        .collect();
    let second = fixture.create(State::Draft, "Patient/1");
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.blocking_recv().unwrap().unwrap()).collect();
    assert_eq!(ids.last().unwrap(), &[PatientWritten::Stored(id(50), version(1))]);
    assert_eq!((certificate.id, second.id), (id(1), id(2)));
    fixture.reopen();
    assert_eq!(fixture.engine.patients().count().unwrap(), 50);
    assert_eq!(fixture.find(Filter::All(vec![])).0, 2);
}

#[test]
fn a_damaged_patient_is_told_and_the_others_are_not_touched() {
    let fixture = Fixture::new();
    fixture.patients([patient(1, &[(NI, "1")]), patient(2, &[(NI, "2")])]);
    fixture.engine.shared.store.damage_patient(id(1));
    let engine = &fixture.engine;
    let told = |error: StoreError| {
        assert!(matches!(&error, StoreError::Damaged(what) if what.contains("Patient/1")), "{error}");
    };
    told(engine.patients().newest(id(1)).unwrap_err());
    told(engine.patients().facts(id(1)).unwrap_err());
    told(engine.patients().versions(id(1)).unwrap_err());
    assert_eq!(engine.patients().newest(id(2)).unwrap().unwrap().facts.identifiers[0].1, "2");
    // What cannot be read is not written over, and nothing of its batch is stored.
    let refused = engine
        .append(PatientWrites { writes: vec![patient(3, &[]), patient(1, &[])], waits: false })
        .blocking_recv()
        .unwrap();
    assert!(matches!(refused, Err(RefusedChange::Store(_))), "{refused:?}");
    assert_eq!(engine.patients().newest(id(3)).unwrap(), None);
    assert_eq!(fixture.patients([patient(None, &[])]), [PatientWritten::Stored(id(3), version(1))]);
}

#[test]
fn a_closed_engine_takes_no_patients() {
    let fixture = Fixture::new();
    fixture.engine.close();
    for answer in [
        fixture.engine.append(PatientWrites { writes: vec![], waits: false }),
        fixture.engine.append(PatientWrites { writes: vec![], waits: true }),
    ] {
        assert!(matches!(answer.blocking_recv().unwrap(), Err(RefusedChange::Closed)));
    }
}
