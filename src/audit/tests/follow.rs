//! Changes that the trail takes over from a store.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::audit::{EventBatch, EventSource, FollowPosition};

/// A store of which change `n` was made at `n` milliseconds past noon.
#[derive(Default)]
struct Changes {
    last: AtomicU64,
    cannot_be_read: AtomicBool,
}

impl EventSource for Changes {
    fn last_change(&self) -> Seq {
        Seq(self.last.load(SeqCst))
    }

    fn events_after(&self, place: FollowPosition) -> Result<Option<EventBatch>, String> {
        if self.cannot_be_read.load(SeqCst) {
            return Err("the disk is gone".to_owned());
        }
        let last = self.last_change().0;
        if place.change.0 >= last {
            return Ok(None);
        }
        let of_change = |seq: u64| AuditEvent { change: Some(Seq(seq)), ..event(seq.cast_signed()) };
        let events = (place.change.0 + 1..=last).map(of_change).collect();
        Ok(Some(EventBatch { events, until: FollowPosition { change: Seq(last), ..place } }))
    }
}

fn following(log: &AuditTrail) -> Arc<Changes> {
    let changes = Arc::new(Changes::default());
    log.follow_from_now_on(changes.clone());
    changes
}

#[test]
fn a_change_comes_before_whatever_is_written_after_it() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let changes = following(&log);
    for at in [3, 5, 5, 6] {
        changes.last.store(at, SeqCst);
        append(&log, &event(1_000));
    }
    changes.last.store(7, SeqCst);
    assert_eq!(log.follow(), Ok(()));
    let expected = [1, 2, 3, 1_000, 4, 5, 1_000, 1_000, 6, 1_000, 7];
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), expected);
    assert_eq!(log.last_change(), Some(Seq(7)));
}

#[test]
fn a_change_whose_caller_is_gone_comes_by_itself_and_at_the_latest_when_the_trail_is_closed() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let changes = following(&log);
    changes.last.store(1, SeqCst);
    eventually("the change is in the trail", || log.last_change());
    changes.last.store(2, SeqCst);
    drop(log);
    assert_eq!(open(data.path()).last_change(), Some(Seq(2)));
}

#[test]
fn changes_that_a_failing_trail_does_not_take_come_once_when_it_does() {
    let data = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let log = AuditTrail::open_on(options(data.path()), Arc::new(disk.clone())).unwrap();
    let changes = following(&log);
    changes.last.store(1, SeqCst);
    append(&log, &event(1_000));
    disk.0.write_fails.store(true, SeqCst);
    changes.last.store(3, SeqCst);
    assert!(log.follow().is_err() && log.append(&event(1_001)).is_err());
    disk.0.write_fails.store(false, SeqCst);
    append(&log, &event(1_002));
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), [1, 1_000, 2, 3, 1_002]);
}

#[test]
fn more_changes_than_a_file_holds_are_taken_over_in_parts_and_none_twice() {
    let data = tempfile::tempdir().unwrap();
    // A trail that may not write 32 events at once into one file takes none; these files hold some more.
    let options = TrailOptions { file_bytes: 4 * FILE_BYTES, ..options(data.path()) };
    let log = AuditTrail::open(options).unwrap();
    let changes = Changes::default();
    changes.last.store(500, SeqCst);
    assert_eq!(log.catch_up(&changes), Ok(500));
    assert_eq!(log.catch_up(&changes), Ok(0));
    let expected: Vec<i64> = (1..=500).collect();
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), expected);
}

#[test]
fn while_a_store_cannot_be_read_what_else_happens_is_written() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let changes = following(&log);
    changes.last.store(1, SeqCst);
    changes.cannot_be_read.store(true, SeqCst);
    assert_eq!((log.follow(), log.append(&event(1_000))), (Ok(()), Ok(Number(1))));
    assert_eq!(log.catch_up(&*changes), Err("the disk is gone".to_owned()));
    changes.cannot_be_read.store(false, SeqCst);
    append(&log, &event(1_001));
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), [1_000, 1, 1_001]);
}
