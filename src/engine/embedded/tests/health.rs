//! How the engine tells how it is.

use super::*;
use crate::engine::{Health, IndexHealth, StoreHealth};

fn lag(health: &Health) -> Option<u64> {
    match health.index {
        IndexHealth::Live { lag } => Some(lag),
        IndexHealth::Building { .. } => None,
    }
}

#[test]
fn an_engine_that_works_says_so_and_what_it_has_still_to_index() {
    let fixture = Fixture::new();
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), health.seq, health.queue), (StoreHealth::Good, Seq(0), 0));
    assert!(health.disk.is_some_and(|disk| disk.total_bytes > 0), "{health:?}");
    fixture.create(State::Draft, "a");
    fixture.create(State::Draft, "b");
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), health.seq, health.queue), (StoreHealth::Good, Seq(2), 0));
    assert!(lag(&health).is_some_and(|lag| lag <= 2), "{health:?}");
    fixture.indexed();
    let health = fixture.engine.health();
    assert_eq!((lag(&health), health.overlay_rows), (Some(0), 0));
}

#[test]
fn an_engine_that_is_closed_says_so_and_answers_still() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "a");
    fixture.engine.close();
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), lag(&health)), (StoreHealth::Closed, None));
}

#[test]
fn what_is_handed_over_and_refused_leaves_nothing_in_the_queue() {
    let fixture = Fixture::new();
    fixture.engine.close();
    let content = content(Trigger::Create, State::Draft, "a");
    let refused = fixture.write(Write::Create { content, if_none_exist: None, rows: None });
    assert!(matches!(refused, Err(Refused::Closed)));
    assert_eq!(fixture.engine.health().queue, 0);
}

#[test]
fn batches_and_commits_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_736_676_000_000));
    let metrics = crate::metrics::Metrics::new();
    let engine = Embedded::open(Options { metrics: metrics.clone(), ..options(&folder, &now) }).unwrap();
    let fixture = Fixture { folder, now, engine };
    fixture.create(State::Draft, "a");
    fixture.create(State::Draft, "b");
    fixture.indexed();
    fixture.engine.close();
    let text = metrics.text(&crate::metrics::Readings::default());
    for line in
        ["hcert_write_batch_jobs_count 2", "hcert_commit_duration_seconds_count 2", "hcert_commits_failed_total 0"]
    {
        assert!(text.lines().any(|told| told == line), "{line}\n{text}");
    }
    assert!(!text.contains("hcert_index_round_duration_seconds_count 0"), "{text}");
}
