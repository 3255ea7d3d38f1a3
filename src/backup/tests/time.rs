//! A store whose time began again, copied and restored: it is healed there too.

use super::script::content;
use super::*;
use certificate::transition::Trigger;
use certificate::{Id, Stamp, State, Version};
use engine::{
    AcknowledgedChange, ClockDecision, Imported, ImportedVersion, PatientFacts, PatientWrite, PatientWrites,
    RefusedChange, VersionContent, Write,
};

const YEARS: i64 = 10 * 365 * 86_400_000;

fn create(engine: &Engine) -> Result<AcknowledgedChange, RefusedChange> {
    let content = content(Trigger::Create, State::Draft, 1, 0, NOON);
    engine.append(Write::Create { content, if_none_exist: None, rows: None }).blocking_recv().unwrap()
}

fn update(engine: &Engine) -> Result<AcknowledgedChange, RefusedChange> {
    let content = content(Trigger::Update, State::Draft, 1, 0, NOON);
    let update = Write::Update { id: Id::FIRST, content, if_match: None, base: None, rows: None };
    engine.append(update).blocking_recv().unwrap()
}

fn patient(engine: &Engine, name: &str) {
    let facts =
        PatientFacts { is_active: true, is_deceased: false, born: None, identifiers: Vec::new(), links: Vec::new() };
    let tail = format!("}},\"active\":true,\"name\":[{{\"text\":\"{name}\"}}]}}").into_bytes();
    let write = PatientWrite { id: Some(Id::FIRST), unless: None, alone: None, facts, tail };
    engine.append(PatientWrites { writes: vec![write], waits: true }).blocking_recv().unwrap().unwrap();
}

fn import(engine: &Engine, id: u64, milliseconds: i64) {
    let VersionContent { tail, row, .. } = content(Trigger::Create, State::Draft, 1, 0, NOON);
    let (id, stamp) = (Id::new(id).unwrap(), Stamp::at(milliseconds));
    let version =
        ImportedVersion { id, version: Version::FIRST, stamp, state: State::Draft, content: Some((tail, row)) };
    let imported = engine.append(engine.prepare_import(vec![version])).blocking_recv().unwrap().unwrap();
    assert_eq!(imported, [Imported::Stored]);
}

fn problems(engine: &Engine) -> Vec<String> {
    let verified = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
    let of_time = |text: &String| text.contains("older") || text.contains("stamp") || text.contains("time");
    verified.problems.into_iter().map(|problem| problem.text).filter(of_time).collect()
}

#[test]
fn a_restored_store_whose_time_began_again_is_healed_too() {
    let place = Place::new();
    let engine = &place.engine;
    // As after a start with a clock that is wrong by ten years.
    place.now.fetch_add(YEARS, Ordering::SeqCst);
    assert_eq!(create(engine).unwrap().stamp.milliseconds, NOON + YEARS);
    patient(engine, "Mari");
    place.now.fetch_sub(YEARS, Ordering::SeqCst);
    assert!(matches!(create(engine), Err(RefusedChange::Clock(_))));
    engine.append(ClockDecision::Reset).blocking_recv().unwrap().unwrap();
    assert_eq!(create(engine).unwrap().stamp.milliseconds, NOON);
    assert_eq!(update(engine).unwrap().stamp.milliseconds, NOON);
    patient(engine, "Mari Õun");
    place.now.fetch_add(1_000, Ordering::SeqCst);

    let archive = place.full("whole.tar");
    let (_, restored) = place.restored(&[archive], "restored", None);
    assert_eq!(problems(engine), problems(&restored));
    assert_eq!(problems(&restored), [""; 0]);
    assert_eq!(restored.clock().problem, None);
    assert_eq!(restored.clock().reset.map(|reset| reset.change), Some(1));
    assert_eq!(create(&restored).unwrap().stamp.milliseconds, NOON + 1_000);
}

/// What an engine knows of its time, whenever it was started.
fn clock(engine: &Engine) -> engine::ClockState {
    engine::ClockState { settled: 0, ..engine.clock() }
}

/// A backup of now, restored: its engine.
fn copied(place: &Place) -> Engine {
    let archive = place.full("whole.tar");
    let (_, restored) = place.restored(&[archive], "restored", None);
    assert_eq!(clock(&restored), clock(&place.engine));
    assert_eq!(problems(&restored), [""; 0]);
    restored
}

#[test]
fn time_goes_on_behind_a_patient_that_was_written_last() {
    let place = Place::new();
    create(&place.engine).unwrap();
    place.now.fetch_add(50_000, Ordering::SeqCst);
    patient(&place.engine, "Mari");
    place.now.fetch_sub(20_000, Ordering::SeqCst);
    assert_eq!(create(&copied(&place)).unwrap().stamp.milliseconds, NOON + 50_000);
}

#[test]
fn an_import_that_is_ahead_of_the_clock_leads_no_change_there_after_a_restore() {
    let place = Place::new();
    create(&place.engine).unwrap();
    import(&place.engine, 9, NOON + 200_000);
    assert_eq!(create(&copied(&place)).unwrap().stamp.milliseconds, NOON);
}

#[test]
fn a_reset_behind_which_nothing_was_changed_stays_a_reset() {
    let place = Place::new();
    place.now.fetch_add(YEARS, Ordering::SeqCst);
    create(&place.engine).unwrap();
    patient(&place.engine, "Mari");
    place.now.fetch_sub(YEARS, Ordering::SeqCst);
    place.engine.append(ClockDecision::Reset).blocking_recv().unwrap().unwrap();
    let restored = copied(&place);
    assert_eq!(create(&restored).unwrap().stamp.milliseconds, NOON);
    assert_eq!(problems(&restored), [""; 0]);
}

#[test]
fn a_clock_that_was_accepted_stays_accepted() {
    let place = Place::new();
    create(&place.engine).unwrap();
    place.now.fetch_sub(YEARS, Ordering::SeqCst);
    place.engine.append(ClockDecision::Accept).blocking_recv().unwrap().unwrap();
    let restored = copied(&place);
    assert!(restored.clock().is_accepted);
    assert_eq!(create(&restored).unwrap().stamp.milliseconds, NOON);
}

/// The register comes whole, and with it resets behind the last change that is restored.
#[test]
fn a_store_that_is_set_back_before_a_reset_does_not_have_it() {
    let place = Place::new();
    create(&place.engine).unwrap();
    place.now.fetch_add(YEARS, Ordering::SeqCst);
    create(&place.engine).unwrap();
    place.now.fetch_sub(YEARS, Ordering::SeqCst);
    place.engine.append(ClockDecision::Reset).blocking_recv().unwrap().unwrap();
    let archive = place.full("whole.tar");
    let resets = |engine: &Engine| engine.ledger().moment().unwrap().time.resets.len();
    let (_, restored) = place.restored(std::slice::from_ref(&archive), "restored", Some(1));
    assert_eq!((resets(&place.engine), resets(&restored)), (1, 0));
    // Nor does it come back once the store has as many changes.
    for _ in 0..3 {
        create(&restored).unwrap();
    }
    assert_eq!(resets(&restored), 0);
    let (_, restored) = place.restored(&[archive], "whole", None);
    assert_eq!(resets(&restored), 1);
}

/// Set back to an earlier change, a store knows the times of what it holds, and no decision of later.
#[test]
fn a_store_that_is_set_back_has_the_time_of_what_it_holds() {
    let place = Place::new();
    create(&place.engine).unwrap();
    place.now.fetch_add(YEARS, Ordering::SeqCst);
    create(&place.engine).unwrap();
    place.now.fetch_sub(YEARS, Ordering::SeqCst);
    place.engine.append(ClockDecision::Accept).blocking_recv().unwrap().unwrap();
    let archive = place.full("whole.tar");
    let (_, restored) = place.restored(&[archive], "restored", Some(1));
    let clock = restored.clock();
    assert_eq!((clock.newest, clock.problem, clock.is_accepted), (Some(NOON), None, false));
}

#[test]
fn a_store_is_set_back_to_the_last_change_that_was_made_by_a_time() {
    let place = Place::new();
    let archives: Vec<Archive> = (0..3)
        .scan(None::<Archive>, |before, _| {
            for _ in 0..2 {
                place.now.fetch_add(60_000, Ordering::SeqCst);
                create(&place.engine).unwrap();
            }
            let name = format!("{}.tar", place.now.load(Ordering::SeqCst));
            let archive = match before {
                Some(before) => place.behind(&name, before),
                None => place.full(&name),
            };
            before.replace(archive.clone());
            Some(archive)
        })
        .collect();
    let minute = |number: i64| NOON + number * 60_000;
    assert!(change_by(&archives, minute(1) - 1).unwrap_err().contains("no change in the archives was made by"));
    for number in 1..=6 {
        assert_eq!(change_by(&archives, minute(number)), Ok(number as u64));
        assert_eq!(change_by(&archives, minute(number + 1) - 1), Ok(number as u64));
    }
    assert_eq!(change_by(&archives, minute(99)), Ok(6));
}
