//! A store whose time began again, copied and restored: it is healed there too.

use super::script::content;
use super::*;
use crate::certificate::transition::Trigger;
use crate::certificate::{Id, State};
use crate::engine::{ClockDecision, PatientFacts, PatientWrite, Refused, Write, Written};

const YEARS: i64 = 10 * 365 * 86_400_000;

fn create(engine: &Engine) -> Result<Written, Refused> {
    let content = content(Trigger::Create, State::Draft, 1, 0, NOON);
    engine.write(Write::Create { content, if_none_exist: None, rows: None }).blocking_recv().unwrap()
}

fn update(engine: &Engine) -> Result<Written, Refused> {
    let content = content(Trigger::Update, State::Draft, 1, 0, NOON);
    let update = Write::Update { id: Id::FIRST, content, if_match: None, base: None, rows: None };
    engine.write(update).blocking_recv().unwrap()
}

fn patient(engine: &Engine, name: &str) {
    let facts =
        PatientFacts { is_active: true, is_deceased: false, born: None, identifiers: Vec::new(), links: Vec::new() };
    let tail = format!("}},\"active\":true,\"name\":[{{\"text\":\"{name}\"}}]}}").into_bytes();
    let write = PatientWrite { id: Some(Id::FIRST), unless: None, alone: None, facts, tail };
    engine.import_patients(vec![write]).blocking_recv().unwrap().unwrap();
}

fn problems(engine: &Engine) -> Vec<String> {
    let verified = engine.verify(&crate::certificate::Names::default(), &mut |_| ()).unwrap();
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
    assert!(matches!(create(engine), Err(Refused::Clock(_))));
    engine.decide_clock(ClockDecision::Reset).blocking_recv().unwrap().unwrap();
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
