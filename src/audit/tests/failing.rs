//! Disks that are full, gone, or lie.

use std::fs;

use super::super::disk::TrailFileName;
use super::*;

fn faulty(data: &Path) -> (AuditTrail, Faulty) {
    let disk = Faulty::default();
    let log = AuditTrail::open_on(options(data), Arc::new(disk.clone())).expect("the trail opens");
    eventually("the next file is made", || (listed(data).spare.len() == 1).then_some(()));
    (log, disk)
}

fn is_failing(log: &AuditTrail) -> bool {
    matches!(log.state(), TrailState::Failing(_))
}

#[test]
fn a_full_disk_is_met_ahead_and_the_reserve_is_used_up_first() {
    let data = tempfile::tempdir().unwrap();
    let (log, disk) = faulty(data.path());
    disk.0.is_full.store(true, SeqCst);
    let mut taken = 0;
    let failing = loop {
        match log.append(&event(taken)) {
            Ok(_) => taken += 1,
            Err(failing) => break failing,
        }
    };
    assert!(taken as u64 * 100 > FILE_BYTES, "both files are filled first: {taken}");
    eventually("it says so", || is_failing(&log).then_some(()));
    assert!(failing.0.contains("the file is full"), "{failing}");
    disk.0.is_full.store(false, SeqCst);
    append(&log, &event(taken));
    assert_eq!(log.state(), TrailState::Good);
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), (0..=taken).collect::<Vec<_>>());
    drop(log);
    assert!(verified(data.path()).is_whole());
}

#[test]
fn a_trail_whose_next_file_cannot_be_made_says_so_while_it_is_still_written() {
    let data = tempfile::tempdir().unwrap();
    let (log, disk) = faulty(data.path());
    disk.0.is_full.store(true, SeqCst);
    fill(&log, 0..50);
    eventually("it is degraded", || matches!(log.state(), TrailState::Degraded(_)).then_some(()));
    assert!(log.append(&event(50)).is_ok());
}

#[test]
fn a_failed_write_moves_nothing_and_leaves_nothing() {
    for left in [0, 1, 20, 60] {
        let data = tempfile::tempdir().unwrap();
        let (log, disk) = faulty(data.path());
        fill(&log, 0..3);
        let head = log.head();
        disk.0.write_leaves.store(left, SeqCst);
        disk.0.write_fails.store(true, SeqCst);
        assert!(log.append(&event(3)).is_err());
        assert!(is_failing(&log));
        assert_eq!(log.head(), head);
        disk.0.write_fails.store(false, SeqCst);
        let small = AuditEvent::new(AuditAction::Unknown, NOON + 4);
        assert_eq!(log.append(&small), Ok(Number(4)));
        assert_eq!(log.state(), TrailState::Good);
        assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), [0, 1, 2, 4]);
        drop(log);
        let verified = verified(data.path());
        assert!(verified.is_whole(), "{left}: {}", verified.report());
    }
}

#[test]
fn a_trail_that_could_not_be_written_mends_itself() {
    let data = tempfile::tempdir().unwrap();
    let (log, disk) = faulty(data.path());
    disk.0.write_leaves.store(9, SeqCst);
    disk.0.write_fails.store(true, SeqCst);
    assert!(log.append(&event(0)).is_err());
    disk.0.write_fails.store(false, SeqCst);
    eventually("it is good again", || (log.state() == TrailState::Good).then_some(()));
}

#[test]
fn what_a_failed_sync_leaves_unknown_is_written_again_to_a_new_file() {
    for before in [3, 60] {
        let data = tempfile::tempdir().unwrap();
        let (log, disk) = faulty(data.path());
        fill(&log, 0..before);
        log.sync_now().unwrap();
        disk.0.sync_fails.store(true, SeqCst);
        let was_taken = log.append(&event(before)).is_ok();
        assert!(was_taken && log.sync_now().is_err());
        assert!(is_failing(&log));
        assert!(log.append(&event(99)).is_err(), "nothing is taken that may be lost");
        // The disk forgets what it did not promise.
        let old = log.trail().unwrap();
        let part = old.parts.last().unwrap();
        let path = part.name.within(&old.folder);
        let mut bytes = fs::read(&path).unwrap();
        let end = part.length.unwrap() as usize;
        bytes[end - 60..end].fill(0);
        fs::write(&path, &bytes).unwrap();
        disk.0.sync_fails.store(false, SeqCst);
        eventually("the trail recovers", || (log.state() == TrailState::Good).then_some(()));
        append(&log, &event(before + 1));
        log.sync_now().unwrap();
        let expected: Vec<i64> = (0..before + 2).collect();
        assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), expected);
        drop(log);
        let verified = verified(data.path());
        assert!(verified.is_whole(), "{before}: {}", verified.report());
        let log = open(data.path());
        assert_eq!(log.head(), verified.head);
    }
}

/// Linux takes what it could not write for written: a sync of the next process says that all is well.
#[test]
fn what_a_process_could_not_make_durable_is_written_again_by_the_next() {
    for before in [3, 60] {
        let data = tempfile::tempdir().unwrap();
        let mark = data.path().join("audit.unsynced");
        let (log, disk) = faulty(data.path());
        fill(&log, 0..before);
        log.sync_now().unwrap();
        assert!(!mark.exists());
        disk.0.sync_fails.store(true, SeqCst);
        append(&log, &event(before));
        assert!(log.sync_now().is_err());
        drop(log);
        assert!(mark.exists(), "the next process is told");
        let part = listed(data.path()).parts.pop().unwrap();
        let bytes = fs::metadata(part.name.within(&folder(data.path()))).unwrap().len();
        let disk = Faulty::default();
        let log = AuditTrail::open_on(options(data.path()), Arc::new(disk.clone())).unwrap();
        assert!(disk.0.written.lock().unwrap().contains(&(0..bytes)), "the newest file is written again");
        assert!(!mark.exists());
        assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), (0..=before).collect::<Vec<_>>());
        drop(log);
        assert!(verified(data.path()).is_whole());
    }
}

#[test]
fn a_start_whose_first_sync_fails_writes_again_what_it_found() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    fill(&log, 0..3);
    drop(log);
    let path = folder(data.path()).join("00000001.log");
    let mut torn = fs::read(&path).unwrap();
    let end = torn.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    torn[end..end + 20].fill(7);
    fs::write(&path, torn).unwrap();
    let disk = Faulty::default();
    disk.0.syncs_fail.store(1, SeqCst);
    let log = AuditTrail::open_on(options(data.path()), Arc::new(disk.clone())).unwrap();
    let written = disk.0.written.lock().unwrap().clone();
    assert!(written.iter().any(|place| place.start == 0 && place.end >= end as u64 - 1), "{written:?}");
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), [0, 1, 2]);
    drop(log);
    assert!(verified(data.path()).is_whole());
}

#[test]
fn what_was_written_is_durable_within_a_tenth_of_a_second() {
    let data = tempfile::tempdir().unwrap();
    let (log, disk) = faulty(data.path());
    let syncs = disk.0.syncs.load(SeqCst);
    append(&log, &event(0));
    let started = Instant::now();
    eventually("it is synced by itself", || (disk.0.syncs.load(SeqCst) > syncs).then_some(()));
    // The bound is 100 ms; a machine busy with other tests may take longer to wake a thread.
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let syncs = disk.0.syncs.load(SeqCst);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(disk.0.syncs.load(SeqCst), syncs, "nothing was written, so nothing is synced");
}

/// Nobody finds again what is written into a file that is gone.
#[test]
fn a_trail_whose_file_was_removed_replaced_or_cut_takes_no_event_until_it_is_opened_again() {
    let takes: [fn(&Path); 4] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::rename(folder, folder.with_extension("moved")).unwrap(),
        |folder| {
            let path = TrailFileName::Plain(1).within(folder);
            fs::copy(&path, path.with_extension("copied")).unwrap();
            fs::rename(path.with_extension("copied"), path).unwrap();
        },
        |folder| {
            let file = fs::OpenOptions::new().write(true).open(TrailFileName::Plain(1).within(folder)).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        },
    ];
    for take in takes {
        let data = tempfile::tempdir().unwrap();
        let log = open(data.path());
        append(&log, &event(0));
        take(&folder(data.path()));
        eventually("it says so", || is_failing(&log).then_some(()));
        let failing = log.append(&event(1)).unwrap_err();
        assert!(failing.0.contains("audit/00000001.log"), "{failing}");
        drop(log);
        append(&open(data.path()), &event(2));
        assert!(verified(data.path()).is_whole());
    }
}
