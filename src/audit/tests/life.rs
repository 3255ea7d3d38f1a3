//! Appending, filling files, sealing, retention, opening again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn what_was_appended_is_read_in_both_orders_after_opening_again() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    assert_eq!(log.append(&event(0)), Ok(Number(1)));
    assert_eq!(log.append_all(&[event(1), event(2)]), Ok(Number(3)));
    let head = log.head();
    drop(log);
    let log = open(data.path());
    assert_eq!(log.head(), head);
    assert_eq!(log.append(&event(3)), Ok(Number(4)));
    assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), [0, 1, 2, 3]);
    assert_eq!(times(log.trail().unwrap(), EventOrder::NewestFirst), [3, 2, 1, 0]);
    drop(log);
    let verified = verified(data.path());
    assert!(verified.is_whole(), "{}", verified.report());
    assert_eq!((verified.events, verified.first, verified.head.number), (4, Number(1), Number(4)));
}

#[test]
fn files_are_for_their_owner_only() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = folder(data.path());
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn full_files_are_sealed_and_read_as_before() {
    let data = tempfile::tempdir().unwrap();
    let head = long_trail(data.path());
    let expected: Vec<i64> = (0..150).collect();
    assert_eq!(times(listed(data.path()), EventOrder::OldestFirst), expected);
    let verified = verified(data.path());
    assert!(verified.is_whole(), "{}", verified.report());
    assert_eq!((verified.events, verified.head), (150, head));
    let within = listed(data.path()).events(EventOrder::NewestFirst, NOON + 20..=NOON + 22);
    let within: Vec<i64> = within.map(|event| event.unwrap().1.at - NOON).collect();
    assert_eq!(within, [22, 21, 20]);
}

#[test]
fn the_highest_change_is_known_however_long_ago_it_was() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    assert_eq!(log.last_change(), None);
    append(&log, &AuditEvent { change: Some(Seq(41)), ..event(0) });
    drop(log);
    let log = open(data.path());
    assert_eq!(log.last_change(), Some(Seq(41)));
    fill(&log, 1..150);
    drop(log);
    let log = open(data.path());
    assert_eq!(log.last_change(), Some(Seq(41)));
}

#[test]
fn a_kill_while_a_file_is_sealed_costs_nothing() {
    let data = tempfile::tempdir().unwrap();
    let head = long_trail(data.path());
    let folder = folder(data.path());
    let sealed_file = folder.join("00000002.zst");
    let bytes = fs::read(&sealed_file).unwrap();
    let part = listed(data.path()).parts[1].clone();
    let content = part.content(&folder).unwrap().unwrap();
    let plain = || {
        let mut plain = content.clone();
        plain.resize(FILE_BYTES as usize, 0);
        fs::write(folder.join("00000002.log"), plain).unwrap();
    };
    let stages: [(&str, &dyn Fn()); 4] = [
        ("nothing was written yet", &|| {
            fs::remove_file(&sealed_file).unwrap();
            plain();
        }),
        ("half of it was written", &|| {
            fs::rename(&sealed_file, folder.join("00000002.part")).unwrap();
            fs::write(folder.join("00000002.part"), &bytes[..bytes.len() / 2]).unwrap();
            plain();
        }),
        ("it was written, not renamed", &|| {
            fs::rename(&sealed_file, folder.join("00000002.part")).unwrap();
            plain();
        }),
        ("the plain file was not removed yet", &plain),
    ];
    for (stage, leave) in stages {
        leave();
        let verified = verified(data.path());
        assert!(verified.is_whole() && verified.head == head, "{stage}: {}", verified.report());
        let log = open(data.path());
        eventually(stage, || {
            let trail = listed(data.path());
            let is_clean = trail.doubles.is_empty() && trail.strangers.is_empty() && trail.parts[1].seal.is_some();
            is_clean.then_some(())
        });
        assert_eq!((log.head(), fs::read(&sealed_file).unwrap() == bytes), (head, true), "{stage}");
    }
}

#[test]
fn a_torn_tail_of_any_length_is_cut_and_told() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    fill(&log, 0..3);
    let before = log.trail().unwrap().bound.unwrap().1 as usize;
    append(&log, &event(3));
    let end = log.trail().unwrap().bound.unwrap().1 as usize;
    drop(log);
    let file = folder(data.path()).join("00000001.log");
    let whole = fs::read(&file).unwrap();
    for length in before..=end {
        let mut torn = whole.clone();
        torn[length..].fill(0);
        let missing = whole[length..end].iter().any(|byte| *byte != 0);
        fs::write(&file, &torn).unwrap();
        let log = open(data.path());
        let expected: &[i64] = if missing { &[0, 1, 2] } else { &[0, 1, 2, 3] };
        assert_eq!(times(log.trail().unwrap(), EventOrder::OldestFirst), expected, "{length}");
        let is_told = torn[before..].iter().any(|byte| *byte != 0) && missing;
        assert_eq!(log.head().number.0, if is_told || !missing { 4 } else { 3 }, "{length}");
        drop(log);
        let verified = verified(data.path());
        assert!(verified.is_whole(), "{length}: {}", verified.report());
        assert_eq!(verified.remarks.len(), usize::from(is_told), "{length}: {}", verified.report());
    }
}

#[test]
fn retention_removes_what_is_older_and_leaves_a_chain_that_is_whole() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    // A clock that is not believed removes nothing.
    drop(AuditTrail::open(options(data.path())).unwrap());
    assert_eq!(listed(data.path()).parts.first().unwrap().header.unwrap().before.0.0, 0);
    let log =
        AuditTrail::open(TrailOptions { keep_from: Arc::new(|| Some(NOON + 100)), ..options(data.path()) }).unwrap();
    let first = eventually("old files are removed", || {
        let first = log.trail().unwrap().parts.first()?.header?.before.0.0 + 1;
        (first > 80).then_some(first)
    });
    drop(log.search(&EventFilter::default(), EventOrder::OldestFirst).unwrap());
    assert_eq!(log.damage(), None, "a retention removed it");
    drop(log);
    let verified = verified(data.path());
    assert!(verified.is_whole(), "{}", verified.report());
    assert_eq!(verified.first, Number(first));
    let kept = times(listed(data.path()), EventOrder::OldestFirst);
    assert!(kept.iter().all(|at| *at >= first as i64 - 1) && kept.contains(&149), "{kept:?}");
    let known = [ChainHead { number: Number(2), hash: [0; 32] }];
    assert!(
        !verify(&listed(data.path()), &known).unwrap().is_whole(),
        "an event that was removed cannot be vouched for"
    );
}

#[test]
fn many_append_while_others_read_and_verify() {
    let data = tempfile::tempdir().unwrap();
    let log = AuditTrail::open(TrailOptions { file_bytes: 64 * 1024, ..options(data.path()) }).unwrap();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..16)
            .map(|thread| {
                scope.spawn({
                    let log = &log;
                    move || (0..200).for_each(|at| assert!(append(log, &event(thread * 1_000 + at)).0 > 0))
                })
            })
            .collect();
        let mut seen = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            let verified = verify(&log.trail().unwrap(), &[]).unwrap();
            assert!(verified.is_whole(), "{}", verified.report());
            let now = times(log.trail().unwrap(), EventOrder::OldestFirst).len();
            assert!(now >= seen, "nothing that was there is gone");
            seen = now;
        }
    });
    assert_eq!(log.head().number, Number(16 * 200));
    let mut all = times(log.trail().unwrap(), EventOrder::NewestFirst);
    all.sort_unstable();
    let expected: Vec<i64> = (0..16).flat_map(|thread| (0..200).map(move |at| thread * 1_000 + at)).collect();
    assert_eq!(all, expected);
    drop(log);
    assert!(verified(data.path()).is_whole());
}

/// Files change their names while a folder is read.
#[test]
fn a_trail_that_is_listed_while_files_are_sealed_lacks_none() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| fill(&log, 0..400));
        while !writing.is_finished() {
            let trail = log.trail().unwrap();
            assert!(!trail.has_gap(), "{:?}", trail.parts.iter().map(|part| part.name).collect::<Vec<_>>());
        }
    });
}
