//! Whatever is changed in the files is found.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::*;
use crate::audit::disk::index_path;
use crate::audit::header::HEADER_BYTES;
use crate::audit::limits::AUDIT_FILE_BYTES_MAX;
use crate::audit::seal::{self, SEAL_BYTES, Seal};
use journal::record::{FilePiece, RecordWalk, sha256};

/// The files of a trail and their bytes.
fn files(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder(data)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

fn short_trail(data: &Path) {
    let log = open(data);
    fill(&log, 0..5);
}

#[test]
fn every_changed_byte_of_every_file_is_found() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let files = files(data.path());
    assert!(files.iter().any(|(path, _)| path.extension().unwrap() == "zst"));
    for (path, bytes) in files {
        // One sealed file is as good as the other.
        if path.ends_with("00000002.zst") {
            continue;
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, &changed).unwrap();
            let verified = verified(data.path());
            assert!(!verified.is_whole(), "{} byte {at}", path.display());
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(verified(data.path()).is_whole());
}

#[test]
fn every_removed_doubled_or_swapped_record_is_found() {
    let data = tempfile::tempdir().unwrap();
    short_trail(data.path());
    let path = folder(data.path()).join("00000001.log");
    let bytes = fs::read(&path).unwrap();
    let before = Some((Number(0), [0; 32]));
    let records: Vec<&[u8]> = RecordWalk::open_ended(&bytes, HEADER_BYTES, before)
        .map(|piece| match piece {
            FilePiece::Record(record) => &bytes[record.at..record.end()],
            FilePiece::Damaged(range) => panic!("{range:?}"),
        })
        .collect();
    let is_found = |records: &[&[u8]]| {
        let mut changed = bytes[..HEADER_BYTES].to_vec();
        records.iter().for_each(|record| changed.extend_from_slice(record));
        changed.resize(bytes.len(), 0);
        fs::write(&path, changed).unwrap();
        let verified = verified(data.path());
        (!verified.is_whole(), verified.report())
    };
    for at in 0..records.len() {
        let mut removed = records.clone();
        removed.remove(at);
        let (found, report) = is_found(&removed);
        // The end alone can be cut unseen; a head that was kept elsewhere tells.
        assert_eq!(found, at + 1 < records.len(), "removed {at}: {report}");
        let mut doubled = records.clone();
        doubled.insert(at, records[at]);
        assert!(is_found(&doubled).0, "doubled {at}");
        for other in at + 1..records.len() {
            let mut swapped = records.clone();
            swapped.swap(at, other);
            assert!(is_found(&swapped).0, "swapped {at} and {other}");
        }
    }
}

#[test]
fn every_removed_or_swapped_file_is_found() {
    let data = tempfile::tempdir().unwrap();
    let head = long_trail(data.path());
    let files = files(data.path());
    let newest_begun = files.len() - 2;
    for (at, (path, bytes)) in files.iter().enumerate() {
        fs::remove_file(path).unwrap();
        let found = verify(&listed(data.path()), &[head]).unwrap();
        assert_eq!(found.is_whole(), at > newest_begun, "{}: {}", path.display(), found.report());
        fs::write(path, bytes).unwrap();
        if at > 0 {
            let (other, others) = &files[at - 1];
            fs::write(path, others).unwrap();
            fs::write(other, bytes).unwrap();
            assert!(!verified(data.path()).is_whole(), "{} swapped", path.display());
            fs::write(path, bytes).unwrap();
            fs::write(other, others).unwrap();
        }
    }
    assert!(verified(data.path()).is_whole());
}

#[test]
fn a_cut_end_is_found_by_a_head_that_was_kept() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    fill(&log, 0..3);
    let kept = log.head();
    let end = log.trail().unwrap().bound.unwrap().1 as usize;
    fill(&log, 3..6);
    let later = log.head();
    drop(log);
    assert!(verify(&listed(data.path()), &[kept]).unwrap().is_whole(), "it is still part of the trail");
    assert_eq!(ChainHead::parse(&kept.to_string()), Some(kept));
    let path = folder(data.path()).join("00000001.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[end..].fill(0);
    fs::write(&path, bytes).unwrap();
    assert!(verified(data.path()).is_whole(), "nothing else can tell");
    let found = verify(&listed(data.path()), &[later]).unwrap();
    assert_eq!(found.problems, ["the trail ends with number 3; it once reached 6"]);
    let other = ChainHead { hash: [7; 32], ..kept };
    let found = verify(&listed(data.path()), &[other]).unwrap();
    assert_eq!(found.problems, ["00000001.log: number 3 is another event than the head says"]);
}

#[test]
fn a_damaged_middle_does_not_stop_the_trail_and_is_not_hidden() {
    let data = tempfile::tempdir().unwrap();
    short_trail(data.path());
    let path = folder(data.path()).join("00000001.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADER_BYTES + 150] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let log = open(data.path());
    assert_eq!(append(&log, &event(9)).0, 7, "an event tells what was found");
    assert!(log.damage().is_some_and(|problem| problem.contains("are damaged")), "and so does the health");
    assert_eq!(times(log.trail().unwrap(), EventOrder::NewestFirst).first(), Some(&9));
    drop(log);
    let verified = verified(data.path());
    assert!(!verified.is_whole());
    assert!(verified.report().contains("behind number 1 are damaged"), "{}", verified.report());
}

#[test]
fn the_last_change_is_known_also_when_the_newest_header_is_damaged() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let change = AuditEvent { change: Some(Seq(4_711)), ..event(0) };
    eventually("there is room", || log.append(&change).ok());
    // Only reads come behind it, far into other files.
    fill(&log, 1..60);
    drop(log);
    let newest = listed(data.path()).parts.last().unwrap().name.within(&folder(data.path()));
    assert!(!newest.ends_with("00000001.log"), "{}", newest.display());
    let mut bytes = fs::read(&newest).unwrap();
    bytes[20] ^= 1;
    fs::write(&newest, &bytes).unwrap();
    assert_eq!(open(data.path()).last_change(), Some(Seq(4_711)));
}

#[test]
fn a_newest_file_of_which_nothing_is_left_is_put_aside() {
    let data = tempfile::tempdir().unwrap();
    short_trail(data.path());
    let path = folder(data.path()).join("00000001.log");
    fs::write(&path, vec![7; FILE_BYTES as usize]).unwrap();
    let log = open(data.path());
    append(&log, &event(9));
    drop(log);
    assert!(path.with_extension("damaged").is_file());
    assert!(verified(data.path()).remarks.iter().any(|remark| remark.contains("was renamed")));
}

#[test]
fn a_sealed_file_under_another_number_is_told_by_both_numbers() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let folder = folder(data.path());
    for part in listed(data.path()).parts.iter().filter(|part| part.seal.is_none()) {
        fs::remove_file(part.name.within(&folder)).unwrap();
    }
    let newest = listed(data.path()).parts.last().expect("some were sealed").name;
    fs::rename(newest.within(&folder), folder.join("00000044.zst")).unwrap();
    let refused = AuditTrail::open(options(data.path())).map(drop).expect_err("it goes on from no such file");
    assert!(refused.contains("00000044.zst") && refused.contains(&format!("file {}", newest.file())), "{refused}");
    assert!(refused.contains("renamed"), "{refused}");
}

#[test]
fn a_trail_of_a_later_release_is_refused_and_left_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    short_trail(data.path());
    let path = folder(data.path()).join("00000001.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] = b'2';
    bytes[20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let refused = AuditTrail::open(options(data.path())).map(drop).expect_err("its format is not known");
    assert!(
        refused.contains("later release") && refused.contains("format 2") && refused.contains("format 1"),
        "{refused}"
    );
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// As a check of archives reads them.
#[test]
fn copied_files_go_on_from_each_other_and_no_byte_of_them_may_be_another() {
    let data = tempfile::tempdir().unwrap();
    let head = long_trail(data.path());
    let files: Vec<(String, Vec<u8>)> = files_at_rest(data.path())
        .unwrap()
        .iter()
        .map(|file| {
            let (name, _, mut content) = file.open().unwrap().unwrap();
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut content, &mut bytes).unwrap();
            (name, bytes)
        })
        .collect();
    let told = |files: &[(String, Vec<u8>)], after: u64, known: Option<ChainHead>| {
        let mut copied = CopiedTrail::with_known(known);
        copied.begin(after);
        files.iter().for_each(|(name, bytes)| copied.file(name, bytes));
        copied.finish()
    };
    assert_eq!(told(&files, 0, Some(head)), Vec::<String>::new());
    assert_eq!(told(&files[1..], 1, Some(head)), Vec::<String>::new(), "the first one is in the copy before");
    let first_file = seal::expand(&files[0].1, u64::from(u32::MAX));
    let middle = RecordWalk::whole(&first_file, HEADER_BYTES, None).find_map(|piece| match piece {
        FilePiece::Record(record) => Some(ChainHead { number: record.number, hash: *record.hash }),
        FilePiece::Damaged(_) => None,
    });
    let mut chain = CopiedTrail::with_known([middle.unwrap(), head, middle.unwrap()]);
    for (after, files) in [(0, &files[..1]), (1, &files[1..])] {
        chain.begin(after);
        files.iter().for_each(|(name, bytes)| chain.file(name, bytes));
    }
    assert_eq!(chain.finish(), Vec::<String>::new(), "the head of the second copy is in the first");
    let (first, last) = (&files[0], files.last().unwrap());
    for missing in 0..files.len() - 1 {
        let mut some = files.clone();
        some.remove(missing);
        assert_eq!(told(&some, 0, None).len(), 1, "file {missing} is missing");
    }
    let cut = &files[..files.len() - 1];
    assert_eq!(told(cut, 0, None), Vec::<String>::new(), "the end alone cannot tell that it was cut");
    assert_eq!(told(cut, 0, Some(head)).len(), 1, "the store can");
    assert_eq!(told(&[], 0, Some(head)).len(), 1);
    assert_eq!(told(&files, 0, Some(ChainHead { hash: [7; 32], ..head })).len(), 1);
    let two = |name: &str, bytes: &[u8]| told(&[(name.to_owned(), bytes.to_vec())], 0, None).len();
    assert_eq!((two(&last.0, &first.1), two("evil", &first.1)), (1, 1));
    for (file, name, bytes) in [(0, &first.0, &first.1), (files.len() - 1, &last.0, &last.1)] {
        for at in (0..bytes.len()).step_by(3) {
            let mut changed = files.clone();
            changed[file].1[at] ^= 1;
            assert!(!told(&changed, 0, Some(head)).is_empty(), "byte {at} of {name}");
        }
        assert_eq!(two(name, &bytes[..10]), 1);
    }
}

/// What was seen: a trail whose first files had been taken away was searched as if it were whole.
#[test]
fn a_search_tells_that_the_beginning_is_missing_unless_a_retention_removed_it() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let log = open(data.path());
    drop(log.search(&EventFilter::default(), EventOrder::OldestFirst).unwrap());
    assert_eq!(log.damage(), None);
    drop(log);
    fs::remove_file(folder(data.path()).join("00000001.zst")).unwrap();
    let log = open(data.path());
    drop(log.search(&EventFilter::default(), EventOrder::OldestFirst).unwrap());
    assert!(log.damage().is_some_and(|problem| problem.contains("no retention removed it")), "{:?}", log.damage());
}

/// What was seen: files that had been taken away while the service was stopped were told by whoever met the hole, and forgotten by the next
/// start.
#[test]
fn a_file_that_is_missing_is_told_by_every_start_until_it_is_back() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    for (name, words) in
        [("00000001.zst", "no retention removed it"), ("00000002.zst", "the file before it, number 2, is missing")]
    {
        let (path, away) = (folder(data.path()).join(name), data.path().join("away"));
        fs::rename(&path, &away).unwrap();
        for _ in 0..2 {
            let log = started(data.path());
            assert!(eventually("it is told", || log.damage()).contains(words), "{name}: {:?}", log.damage());
        }
        fs::rename(&away, &path).unwrap();
        assert_eq!(after_its_look(data.path()), None, "{name} is back");
    }
    let old = TrailOptions { keep_from: Arc::new(|| Some(NOON + 100)), ..options(data.path()) };
    let log = AuditTrail::open(old).unwrap();
    eventually("old files are removed", || log.trail().unwrap().removed_up_to());
    drop(log);
    assert_eq!(after_its_look(data.path()), None, "a retention removed it");
}

/// What was seen: on a busy machine the look at the start met an event that was being written, and told it as damage.
#[test]
fn an_event_that_is_being_written_is_no_damage() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let index = index_path(&folder(data.path()), listed(data.path()).parts[0].name.file());
    drop(fs::remove_file(&index));
    let mut log = open(data.path());
    append(&log, &event(NOON));
    let trail = log.trail().unwrap();
    let newest = trail.parts.last().unwrap();
    let file = fs::OpenOptions::new().write(true).open(trail.path(newest)).unwrap();
    // The beginning of a record, as the system shows it before the write has ended.
    FileExt::write_all_at(&file, &[40, 0, 0, 0, 9, 9, 9], newest.length.unwrap()).unwrap();
    log.index(Arc::new(|_, _| None)).unwrap();
    eventually("an index is made", || index.exists().then_some(()));
    assert_eq!(log.damage(), None);
}

/// What was seen: the service removed a whole trail because headers of its files, which no hash of an event covers, said that it was old.
#[test]
fn a_file_whose_header_makes_its_events_old_is_kept() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let path = folder(data.path()).join("00000001.zst");
    let mut bytes = fs::read(&path).unwrap();
    let seal = Seal::read(&bytes).unwrap();
    bytes[..SEAL_BYTES].copy_from_slice(&Seal { earliest: 1_000, latest: 2_000, ..seal }.write());
    fs::write(&path, &bytes).unwrap();
    let old = || TrailOptions { keep_from: Arc::new(|| Some(NOON - 1)), ..options(data.path()) };
    let log = AuditTrail::open(old()).unwrap();
    let told = eventually("it is told", || log.damage());
    assert!(told.contains("other times than its header says"), "{told}");
    assert!(path.exists());
    drop(log);
    let mut copied = CopiedTrail::default();
    copied.file("00000001.zst", &bytes);
    assert!(copied.finish()[0].contains("other times"), "a copy tells it too");
}

/// What was seen: what stood in the last block of a sealed file, or behind a length that was changed, was left out without a word.
#[test]
fn whatever_is_damaged_or_cut_in_a_sealed_file_is_told_by_who_reads_it() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let path = folder(data.path()).join("00000002.zst");
    let bytes = fs::read(&path).unwrap();
    let told = || {
        let log = open(data.path());
        let all = EventFilter::default();
        let search = log.search(&all, EventOrder::OldestFirst).unwrap();
        let mut count = 0;
        let each = |_, _| {
            count += 1;
            Ok(())
        };
        search.each(&mut |_, _| None, each).unwrap();
        (count, log.damage())
    };
    let whole = told();
    assert_eq!(whole.1, None);
    let last = bytes.len() - 20;
    for (what, damaged) in [
        ("the last block", {
            let mut bytes = bytes.clone();
            bytes[last] ^= 0x55;
            bytes
        }),
        ("a length", {
            let mut bytes = bytes.clone();
            bytes[SEAL_BYTES + 5] ^= 0x55;
            bytes
        }),
        ("a cut", bytes[..bytes.len() - 30].to_vec()),
        ("all blocks", bytes[..SEAL_BYTES].to_vec()),
    ] {
        fs::write(&path, damaged).unwrap();
        let (count, damage) = told();
        let damage = damage.unwrap_or_else(|| panic!("{what}: {count} events, and nothing is told"));
        assert!(damage.contains("00000002.zst") && count < whole.0, "{what}: {damage}");
    }
}

/// What was seen: events that nothing shows lay behind those of a sealed file whose header was made to fit.
#[test]
fn nothing_hides_behind_the_last_event_of_a_sealed_file() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let path = folder(data.path()).join("00000001.zst");
    let bytes = fs::read(&path).unwrap();
    let first_block = bytes[SEAL_BYTES..].to_vec();
    for behind in [vec![0; 8], b"junk that is no block".to_vec(), first_block] {
        let stored = [&bytes[SEAL_BYTES..], &behind].concat();
        let seal = Seal { stored: sha256(&stored), ..Seal::read(&bytes).unwrap() };
        fs::write(&path, [seal.write(), stored].concat()).unwrap();
        let problems = verified(data.path()).problems;
        assert_eq!(problems, ["00000001.zst: there is something behind its last event"]);
    }
}

/// What was seen: a sealed file of a megabyte, whose blocks held zeros, took three gigabytes of memory at each start.
#[test]
fn a_file_takes_no_more_memory_than_the_largest_one_of_a_trail() {
    let data = tempfile::tempdir().unwrap();
    long_trail(data.path());
    let path = folder(data.path()).join("00000001.zst");
    let bytes = fs::read(&path).unwrap();
    let frame = zstd::bulk::compress(&[0; 1_000_000], 1).unwrap();
    let block = [&1_000_000_u32.to_le_bytes(), &(frame.len() as u32).to_le_bytes(), frame.as_slice()].concat();
    let stored = [&bytes[SEAL_BYTES..], &block.repeat(200)].concat();
    let seal = Seal::read(&bytes).unwrap();
    let claimed = (seal.content.0 + 200 * 1_000_000, seal.content.1);
    let seal = Seal { stored: sha256(&stored), content: claimed, ..seal };
    let bomb = [seal.write(), stored].concat();
    assert!(seal::expand(&bomb, claimed.0).len() as u64 <= AUDIT_FILE_BYTES_MAX);
    fs::write(&path, &bomb).unwrap();
    let part = &listed(data.path()).parts[0];
    assert!(part.content(&folder(data.path())).unwrap().unwrap().len() as u64 <= AUDIT_FILE_BYTES_MAX);
    assert!(
        verified(data.path()).problems.iter().any(|problem| problem.contains("does not hold what its header says"))
    );

    // So does one that is larger than any, and one in an archive.
    fs::write(&path, bytes).unwrap();
    let newest = listed(data.path()).parts.last().unwrap().name.within(&folder(data.path()));
    fs::OpenOptions::new().write(true).open(&newest).unwrap().set_len(1 << 40).unwrap();
    assert!(
        verified(data.path()).problems.iter().any(|problem| problem.contains("more than a file of the trail can have"))
    );
    let mut copied = CopiedTrail::default();
    copied.file("00000001.log", &vec![0; AUDIT_FILE_BYTES_MAX as usize + 1]);
    assert_eq!(copied.finish(), ["00000001.log: it is larger than a file of an audit trail can be"]);
}

/// What was seen: incremental archives went on from those of before the store was set back, and health forgot it at the second start.
#[test]
fn a_store_that_was_set_back_is_told_until_it_is_accepted_and_no_archive_of_before_is_gone_on_from() {
    let data = tempfile::tempdir().unwrap();
    let before = long_trail(data.path());
    assert!(listed(data.path()).goes_on_from(before).unwrap());
    assert!(!listed(data.path()).goes_on_from(ChainHead { hash: [7; 32], ..before }).unwrap());
    let later = ChainHead { number: Number(before.number.0 + 1), ..before };
    assert!(!listed(data.path()).goes_on_from(later).unwrap(), "the trail was set back with the store");
    let note = format!("the trail knows 3 changes, the store has 2: {SET_BACK}");
    append(&open(data.path()), &AuditEvent { note: Some(note), ..AuditEvent::new(AuditAction::Restore, NOON) });
    for _ in 0..2 {
        let log = started(data.path());
        assert!(eventually("it is told", || log.damage()).contains(SET_BACK));
    }
    let head = open(data.path()).head();
    append(&open(data.path()), &AuditEvent::new(AuditAction::AuditAccept, NOON));
    assert!(!listed(data.path()).goes_on_from(before).unwrap(), "whoever accepts it does not bring the changes back");
    assert!(listed(data.path()).goes_on_from(head).unwrap());
    assert!(verified(data.path()).is_whole());
    assert_eq!(after_its_look(data.path()), None);
}

/// As the service opens a trail.
fn started(data: &Path) -> AuditTrail {
    let mut log = open(data);
    log.index(Arc::new(|_, _| None)).unwrap();
    log
}

/// What a start finds damaged. The thread that makes indexes looks through the trail first.
fn after_its_look(data: &Path) -> Option<String> {
    let index = index_path(&folder(data), listed(data).parts[0].name.file());
    drop(fs::remove_file(&index));
    let log = started(data);
    eventually("an index is made", || index.exists().then_some(()));
    log.damage()
}
