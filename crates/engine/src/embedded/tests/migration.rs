//! Stores of earlier formats: brought to this one's, whatever comes between, and refused where that cannot be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::patients::patient;
use super::*;
use crate::embedded::store::FORMAT;
use crate::embedded::store::migration::tests as old;

const NI: &str = "https://fhir.ee/sid/pid/est/ni";

/// What must be the same before and behind a migration.
#[derive(Debug, PartialEq)]
struct Content {
    versions: Vec<(u64, u64, u32, Vec<u8>)>,
    patients: Vec<(u64, u64, u32)>,
    found: (u64, Vec<(u64, u32)>),
    /// Who had an identifier before.
    former: Vec<Vec<u64>>,
    /// By state: these are sums of counters.
    totals: Vec<u64>,
    consents: Vec<Option<Consent>>,
}

fn content_of(fixture: &Fixture) -> Content {
    let engine = &fixture.engine;
    let versions = engine.ledger().versions_after(Seq(0), 1_000).unwrap().into_iter();
    let by_state = |state| {
        let in_state = Filter::Class(ClassTest::State(state));
        fixture.find(in_state).0
    };
    Content {
        versions: versions
            .map(|(seq, stored)| (seq.0, stored.id.get(), stored.version.get(), stored.resource))
            .collect(),
        patients: (engine.patients().changes(0, 1_000).unwrap().into_iter())
            .map(|(number, id, version)| (number, id.get(), version.get()))
            .collect(),
        found: fixture.find(Filter::Term(about("Patient/3"))),
        former: (0..12)
            .map(|number| {
                engine.patients().known_by(NI, &format!("1{number}")).unwrap().iter().map(|id| id.get()).collect()
            })
            .collect(),
        totals: State::ALL.into_iter().map(by_state).collect(),
        consents: (1..=12)
            .map(|id| {
                engine
                    .read(Id::new(id).unwrap(), None, |entry| Ok((entry.stored()?, entry.consent()?)))
                    .unwrap()
                    .map(|(_, consent)| consent)
            })
            .collect(),
    }
}

/// Certificates of all states, changes of consent, and patients of several versions.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    for number in 0..12 {
        let id = fixture.create(State::ALL[number % 2], &format!("Patient/{}", number % 4)).id;
        match number {
            2 => drop(fixture.delete(id).unwrap()),
            3 => drop(fixture.update(id, Trigger::Suspend, State::Suspended, "Patient/3").unwrap()),
            5..8 => drop(fixture.set_consent(id, Consent::ALL[number - 4]).unwrap()),
            _ => {}
        }
        fixture.patients([patient(None, &[(NI, &number.to_string())]), patient(1, &[(NI, &format!("1{number}"))])]);
    }
    fixture
}

fn store(fixture: &Fixture) -> std::path::PathBuf {
    fixture.folder.path().join("data/store.redb")
}

fn without_index(fixture: &Fixture) {
    fs::remove_dir_all(fixture.folder.path().join("data/index")).unwrap();
}

#[test]
fn a_store_of_format_2_becomes_one_of_this_format_and_a_copy_of_it_is_kept() {
    let mut fixture = filled();
    let (before, head) = (content_of(&fixture), fixture.engine.ledger().heads().unwrap());
    assert_eq!(before.patients.len(), 24, "{before:?}");
    fixture.engine.close();
    let path = store(&fixture);
    old::set_back(&path);
    without_index(&fixture);
    fixture.reopen();
    assert_eq!(content_of(&fixture), before);
    // The same history has the same hashes, whenever they were made.
    assert_eq!(fixture.engine.ledger().heads().unwrap(), head);
    fixture.engine.close();
    assert_eq!(old::state(&path), (FORMAT, None, 24));
    let copy = path.with_extension("redb.format-2");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(old::state(&copy), (2, None, 0));
    assert!(!path.with_extension("redb.part").exists());
    // The next start has nothing to do, and leaves the copy alone.
    fs::remove_file(&copy).unwrap();
    fixture.reopen();
    assert_eq!(content_of(&fixture), before);
    assert!(!copy.exists());
}

#[test]
fn a_migration_that_is_killed_behind_any_of_its_commits_goes_on_there() {
    let fixture = filled();
    let (before, head) = (content_of(&fixture), fixture.engine.ledger().heads().unwrap());
    fixture.engine.close();
    let path = store(&fixture);
    old::set_back(&path);
    let images = tempfile::tempdir().unwrap();
    let killed = old::images(&path, 5, images.path());
    // It begins; three commits of identifiers that patients had, the origin, five commits of each log (the last finds nothing) and one that
    // takes the old logs away; the end.
    assert!(killed.len() > 12, "{}", killed.len());
    let last = killed.len() - 1;
    for (at, folder) in killed.into_iter().enumerate() {
        let file = folder.join("store.redb");
        let (format, unfinished, _) = old::state(&file);
        assert_eq!((format, unfinished), (FORMAT, (at < last).then_some(2)), "{at}");
        if at < last {
            // Killed once more behind the next commit.
            old::one_commit(&file, 3);
        }
        let again = opened_at(&folder);
        assert_eq!(content_of(&again), before, "{at}");
        assert_eq!(again.engine.ledger().heads().unwrap(), head, "{at}");
        again.engine.close();
        assert_eq!(old::state(&file), (FORMAT, None, 24), "{at}");
        assert!(!file.with_extension("redb.format-2").exists(), "it was made before the first commit");
    }
}

/// An engine on a folder that holds a store alone.
fn opened_at(from: &Path) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(from.join("store.redb"), data.join("store.redb")).unwrap();
    let now = Arc::new(AtomicI64::new(1_836_676_000_000));
    let engine = Engine::open(options(&folder, &now)).unwrap();
    Fixture { folder, now, engine }
}

#[test]
fn a_store_of_a_later_format_is_refused_and_both_numbers_are_named() {
    let fixture = filled();
    fixture.engine.close();
    let path = store(&fixture);
    old::set_format(&path, FORMAT + 1);
    let refused = Engine::open(options(&fixture.folder, &fixture.now)).err().unwrap();
    assert!(matches!(refused, StoreError::Newer(_)));
    let told = refused.to_string();
    let both = [format!("format {}", FORMAT + 1), format!("up to {FORMAT}"), "later release".to_owned()];
    assert!(both.iter().all(|part| told.contains(part)), "{told}");
    // No release had the first format.
    old::set_format(&path, 1);
    assert!(matches!(Engine::open(options(&fixture.folder, &fixture.now)), Err(StoreError::Migration(_))));
    old::set_format(&path, 0);
    assert!(matches!(Engine::open(options(&fixture.folder, &fixture.now)), Err(StoreError::Damaged(_))));
}

/// The number says no more than that an earlier release does not read it.
#[test]
fn a_store_of_this_format_that_holds_records_of_the_one_before_is_refused_as_that() {
    let fixture = filled();
    fixture.engine.close();
    let path = store(&fixture);
    old::set_back(&path);
    old::set_format(&path, FORMAT);
    let refused = Engine::open(options(&fixture.folder, &fixture.now)).err().unwrap();
    assert!(matches!(&refused, StoreError::Migration(why) if why.contains("between two releases")), "{refused}");
}

#[test]
fn without_a_copy_nothing_is_migrated() {
    let mut fixture = filled();
    let before = content_of(&fixture);
    fixture.engine.close();
    let path = store(&fixture);
    old::set_back(&path);
    // A folder under the name of the copy cannot be replaced by a file.
    let copy = path.with_extension("redb.format-2");
    fs::create_dir_all(copy.join("not-empty")).unwrap();
    let refused = Engine::open(options(&fixture.folder, &fixture.now)).err().unwrap();
    assert!(matches!(refused, StoreError::Migration(_)), "{refused}");
    assert!(refused.to_string().contains("store.redb.format-2"), "{refused}");
    assert_eq!(old::state(&path), (2, None, 0));
    assert!(!path.with_extension("redb.part").exists());
    fs::remove_dir_all(&copy).unwrap();
    fixture.reopen();
    assert_eq!(content_of(&fixture), before);
}
