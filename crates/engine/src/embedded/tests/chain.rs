//! The chain of entries against whoever changes the history of a store: by a byte, by a row, or by exporting and importing it.

use super::patients::patient;
use super::*;
use crate::embedded::store::tampered::{edit_change, edit_consent, edit_patient, edit_version, swap_changes};
use crate::{EntryHash, EntryHead, EntryLog, VerifyReport};

const NI: &str = "https://fhir.ee/sid/pid/est/ni";

/// Versions, a change of consent, a deletion, and two versions of a patient.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    let first = fixture.create(State::Draft, "Patient/1").id;
    let second = fixture.create(State::Completed, "Patient/2").id;
    fixture.update(first, Trigger::Update, State::Draft, "Patient/1").unwrap();
    fixture.set_consent(second, Consent::ALL[1]).unwrap();
    fixture.delete(first).unwrap();
    fixture.patients([patient(1, &[(NI, "38001085718")]), patient(1, &[(NI, "38001085729")])]);
    fixture
}

fn verified(fixture: &Fixture) -> VerifyReport {
    let engine = Engine::open_read_only(options(&fixture.folder, &fixture.now)).unwrap();
    let report = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
    engine.close();
    report
}

/// Whether a check tells that an entry of a log does not follow from those before it.
fn tells(report: &VerifyReport, log: &str, number: u64) -> bool {
    let begins = format!("change {number} does not follow from those before it");
    report.problems.iter().any(|problem| problem.part == log && problem.text.starts_with(&begins))
}

/// Rows that these tests make by hand lack what a profile asks for, which the check tells as well.
fn of_chain(report: &VerifyReport) -> usize {
    report.problems.iter().filter(|problem| problem.text.contains("does not follow")).count()
}

#[test]
fn every_entry_has_the_hash_of_the_one_before_and_both_logs_have_a_head() {
    let fixture = filled();
    let ledger = fixture.engine.ledger();
    let hash = |log, number| ledger.hash(log, number).unwrap();
    let origin = hash(EntryLog::Changes, 0).unwrap();
    assert_eq!(hash(EntryLog::Register, 0), Some(origin));
    let hashes: Vec<EntryHash> = (1..=5).map(|number| hash(EntryLog::Changes, number).unwrap()).collect();
    let told = ledger.changes_after(Seq(0), 10).unwrap();
    assert_eq!(told.iter().map(|change| change.hash).collect::<Vec<_>>(), hashes, "the trail is told the same");
    let [changes, patients] = ledger.heads().unwrap();
    assert_eq!(changes, EntryHead { log: EntryLog::Changes, number: 5, hash: hashes[4] });
    assert_eq!(Some(patients.hash), hash(EntryLog::Register, 2));
    assert_eq!((hash(EntryLog::Changes, 6), hash(EntryLog::Register, 3)), (None, None));
    fixture.engine.close();
    assert_eq!(of_chain(&verified(&fixture)), 0);
}

#[test]
fn no_byte_of_a_record_changes_unnoticed() {
    let fixture = filled();
    fixture.engine.close();
    let path = fixture.folder.path().join("data/store.redb");
    let whole = std::fs::read(&path).unwrap();
    let id = |id| Id::new(id).unwrap();
    let edits: [(&str, u64, RecordEdit); 3] = [
        ("log", 1, &|at| {
            let mut is_there = false;
            edit_version(&path, id(1), Version::FIRST, |record| is_there = flip(record, at));
            is_there
        }),
        ("log", 4, &|at| {
            let mut is_there = false;
            edit_consent(&path, id(2), 1, |record| is_there = flip(record, at));
            is_there
        }),
        ("register", 1, &|at| {
            let mut is_there = false;
            edit_patient(&path, id(1), Version::FIRST, |record| is_there = flip(record, at));
            is_there
        }),
    ];
    let before = verified(&fixture).problems;
    for (log, number, edit) in edits {
        let (mut at, mut hashed) = (0, 0);
        while edit(at) {
            let report = verified(&fixture);
            // Some bytes make a record unreadable, or that of another change, which is told as that.
            let is_told =
                tells(&report, log, number) || report.problems.iter().any(|problem| !before.contains(problem));
            assert!(is_told, "byte {at} of entry {number} of {log}: {report:?}");
            hashed += usize::from(tells(&report, log, number));
            std::fs::write(&path, &whole).unwrap();
            at += 1;
        }
        assert!(at > 20, "{log}: {at} bytes");
        assert!(hashed > 0, "{log}: the hash shows changed bytes");
        std::fs::write(&path, &whole).unwrap();
    }
}

/// Changes a byte of a record; false behind its end.
type RecordEdit<'e> = &'e dyn Fn(usize) -> bool;

/// The checksum is made again, as somebody would who hides a change.
fn flip(record: &mut [u8], at: usize) -> bool {
    let (content, checksum) = record.split_at_mut(record.len() - 4);
    let is_there = content.get_mut(at).map(|byte| *byte ^= 0x10).is_some();
    checksum.copy_from_slice(&store::crc::crc(content).to_le_bytes());
    is_there
}

#[test]
fn rows_that_are_edited_swapped_or_taken_out_are_told() {
    let fixture = filled();
    fixture.engine.close();
    let path = fixture.folder.path().join("data/store.redb");
    let whole = std::fs::read(&path).unwrap();
    // Its own hash: what comes behind goes on from another.
    edit_change(&path, Seq(2), |row| row[40] ^= 1);
    let report = verified(&fixture);
    assert!(tells(&report, "log", 2) && tells(&report, "log", 3), "{report:?}");
    std::fs::write(&path, &whole).unwrap();
    swap_changes(&path, Seq(1), Seq(2));
    assert!(!verified(&fixture).is_whole());
    std::fs::write(&path, &whole).unwrap();
    for taken in [1, 2, 4] {
        store::tampered::remove_change(&path, Seq(taken));
        assert!(!verified(&fixture).is_whole(), "without change {taken}");
        std::fs::write(&path, &whole).unwrap();
    }
    // Whoever also makes all hashes again comes to another head than the one that somebody has kept.
    let head = fixture_head(&fixture);
    let origin = EntryHash::origin("another", "epoch");
    store::tampered::set_meta(&path, "chain-origin", origin.bytes());
    assert!(tells(&verified(&fixture), "log", 1));
    assert_eq!(fixture_head(&fixture), head, "the rows keep what they were made with");
}

fn fixture_head(fixture: &Fixture) -> EntryHead {
    let engine = Engine::open_read_only(options(&fixture.folder, &fixture.now)).unwrap();
    let [changes, _] = engine.ledger().heads().unwrap();
    engine.close();
    changes
}

/// The same certificate made in two stores is two histories: who kept a head can tell.
#[test]
fn two_stores_with_the_same_content_have_different_heads() {
    let (one, other) = (Fixture::new(), Fixture::new());
    let heads = [&one, &other].map(|fixture| {
        fixture.create(State::Draft, "Patient/1");
        fixture.engine.ledger().heads().unwrap()[0]
    });
    assert_eq!(heads.map(|head| head.number), [1, 1]);
    assert_ne!(heads[0].hash, heads[1].hash);
}
