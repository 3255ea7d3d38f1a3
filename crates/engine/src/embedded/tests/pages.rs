//! Every page of a store damaged in every way: nothing panics, what can be read is read, what is lost is named, and nothing is invented.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::*;
use crate::{EntryLog, STORE_FILE, Salvage, StoreHealth};
use certificate::Names as Namespaces;

const PAGE_BYTES: usize = 4096;

/// What is done to a page.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A bit of its head, which says what kind of page it is.
    Kind,
    /// A bit of the number of its entries.
    Count,
    /// A bit somewhere in it.
    Bit(usize),
    Zeros,
    /// Every bit is set.
    Ones,
    /// Every bit of 512 bytes from a place on is set.
    OnesFrom(usize),
    Random,
    /// The file ends in the middle of it.
    Cut,
}

const DAMAGES: [Damage; 11] = [
    Damage::Kind,
    Damage::Count,
    Damage::Bit(9),
    Damage::Bit(700),
    Damage::Zeros,
    Damage::Ones,
    Damage::Random,
    Damage::OnesFrom(0),
    Damage::OnesFrom(2048),
    Damage::OnesFrom(512),
    Damage::Cut,
];

fn damaged(whole: &[u8], page: usize, damage: Damage) -> Vec<u8> {
    let (mut bytes, at) = (whole.to_vec(), page * PAGE_BYTES);
    match damage {
        Damage::Kind => bytes[at] ^= 3,
        Damage::Count => bytes[at + 2] ^= 0x10,
        Damage::Bit(place) => bytes[at + place] ^= 1,
        Damage::Zeros => bytes[at..at + PAGE_BYTES].fill(0),
        Damage::Ones => bytes[at..at + PAGE_BYTES].fill(0xFF),
        Damage::OnesFrom(place) => bytes[at + place..][..512].fill(0xFF),
        Damage::Random => {
            let mut state = page as u64 + 1;
            for byte in &mut bytes[at..at + PAGE_BYTES] {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *byte = (state >> 56) as u8;
            }
        }
        Damage::Cut => bytes.truncate(at + PAGE_BYTES / 2),
    }
    bytes
}

/// Certificates with histories, deletions and consents, patients, and enough of them that tables have branches.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    for number in 0..150_u64 {
        let written = fixture.create(State::Draft, &format!("Patient/{number}"));
        for _ in 0..number % 3 {
            fixture.update(written.id, Trigger::Update, State::Draft, &format!("Patient/{number}")).unwrap();
        }
        if number % 7 == 0 {
            fixture.delete(written.id).unwrap();
        }
    }
    let closed = Consent { doctor: certificate::Openness::Closed, ..Consent::default() };
    for id in 2..6 {
        fixture.set_consent(Id::new(id).unwrap(), closed).unwrap();
    }
    let writes: Vec<_> = (1..40_u64).map(|number| super::patients::patient(number, &[("urn:x", "A")])).collect();
    fixture.patients(writes);
    fixture.engine.close();
    // Its journal has most of it too; here it is about the file.
    for name in ["store.journal-0", "store.journal-1"] {
        drop(fs::remove_file(fixture.folder.path().join("data").join(name)));
    }
    fixture
}

/// What was acknowledged is in the file after a stop in order, also after one that wrote nothing behind a kill.
#[test]
fn a_store_that_was_closed_needs_no_journal() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    // The commit was a checkpoint, so no record follows; a kill leaves the journal open all the same.
    let killed = tempfile::tempdir().unwrap();
    let data = killed.path().join("data");
    fs::create_dir(&data).unwrap();
    for name in [STORE_FILE, "store.journal-0"] {
        fs::copy(fixture.folder.path().join("data").join(name), data.join(name)).unwrap();
    }
    Engine::open(options(&killed, &fixture.now)).unwrap().close();
    fs::remove_file(data.join("store.journal-0")).unwrap();
    let engine = Engine::open(options(&killed, &fixture.now)).unwrap();
    assert_eq!(engine.seq(), Seq(1));
    engine.close();
}

/// A store that was killed: the file has nothing of what was acknowledged last, and the journal has it all.
#[test]
fn a_salvage_finds_what_only_the_journal_has() {
    let fixture = Fixture::new();
    let first = fixture.create(State::Draft, "Patient/1");
    fixture.update(first.id, Trigger::Update, State::Completed, "Patient/1").unwrap();
    let closed = Consent { doctor: certificate::Openness::Closed, ..Consent::default() };
    fixture.set_consent(first.id, closed).unwrap();
    fixture.create(State::Draft, "Patient/2");
    let whole = versions(&fixture.engine);
    let killed = tempfile::tempdir().unwrap();
    for name in [STORE_FILE, "store.journal-0", "store.journal-1"] {
        drop(fs::copy(fixture.folder.path().join("data").join(name), killed.path().join(name)));
    }
    for is_damaged in [false, true] {
        if is_damaged {
            let path = killed.path().join(STORE_FILE);
            let mut bytes = fs::read(&path).unwrap();
            bytes[64..].fill(0xFF);
            fs::write(&path, bytes).unwrap();
        }
        let salvage = Salvage::open(killed.path()).unwrap();
        let mut found = BTreeMap::new();
        let each = |stored: StoredVersion, _| {
            found.insert((stored.id.get(), stored.version.get()), (stored.state, stored.resource));
            Ok(())
        };
        salvage.each(each).unwrap();
        // The first commit of all is a checkpoint.
        let left = whole.iter().filter(|(key, _)| !is_damaged || **key != (1, 1));
        assert_eq!(found, left.map(|(key, content)| (*key, content.clone())).collect());
        assert_eq!(salvage.report().closed, BTreeMap::from([(1, vec!["doctor"])]));
    }
    fs::copy(fixture.folder.path().join("data").join(STORE_FILE), killed.path().join(STORE_FILE)).unwrap();
    fs::remove_file(killed.path().join("store.journal-0")).unwrap();
    let salvage = Salvage::open(killed.path()).unwrap();
    let report = salvage.report();
    assert!(!report.is_whole() && report.problems.iter().any(|problem| problem.contains("store.journal-0 is missing")));
}

/// What was seen: a salvage left out a version of 18 MB, compressed, of which no byte was wrong.
#[test]
fn a_salvage_finds_the_largest_versions() {
    let fixture = Fixture::new();
    let mut content = content(Trigger::Create, State::Draft, "Patient/1");
    let mut state = 1_u64;
    let text = (0..24 << 20).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    });
    let text = text.collect::<String>().replace('\\', "/");
    content.tail = format!("}},\"subject\":\"Patient/1\",\"text\":\"{text}\"}}").into_bytes();
    fixture.write(Write::Create { content, if_none_exist: None, rows: None }).unwrap();
    fixture.create(State::Draft, "Patient/2");
    let whole = versions(&fixture.engine);
    fixture.engine.close();
    let folder = fixture.folder.path().join("data");
    for name in ["store.journal-0", "store.journal-1"] {
        drop(fs::remove_file(folder.join(name)));
    }
    let path = folder.join(STORE_FILE);
    assert!(fs::metadata(&path).unwrap().len() > 16 << 20);
    salvaged(&folder, &whole, "a whole file", false);
    assert_eq!(Salvage::open(&folder).unwrap().report().versions, 2);
    // No commit can be read, so that each page is looked at.
    let mut bytes = fs::read(&path).unwrap();
    bytes[64..320].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    salvaged(&folder, &whole, "a file without commits", false);
    assert_eq!(Salvage::open(&folder).unwrap().report().versions, 2);
}

/// All versions, by id and number, and the seq that made each.
fn versions(engine: &Engine) -> BTreeMap<(u64, u32), (State, Vec<u8>)> {
    let stored = engine.ledger().versions_after(Seq(0), usize::MAX).unwrap().into_iter().map(|(_, stored)| stored);
    stored.map(|stored| ((stored.id.get(), stored.version.get()), (stored.state, stored.resource))).collect()
}

/// What is salvaged is a part of what was stored, and everything else is named.
fn salvaged(folder: &Path, whole: &BTreeMap<(u64, u32), (State, Vec<u8>)>, what: &str, is_cut: bool) {
    let salvage = Salvage::open(folder).unwrap();
    let mut found = BTreeMap::new();
    salvage
        .each(|stored, _| {
            let before = found.insert((stored.id.get(), stored.version.get()), (stored.state, stored.resource));
            assert!(before.is_none(), "{what}: a version came twice");
            Ok(())
        })
        .unwrap();
    let report = salvage.report();
    for (key, content) in &found {
        assert_eq!(whole.get(key), Some(content), "{what}: {key:?} is invented");
    }
    assert!(!report.is_whole() || found.len() == whole.len(), "{what}: versions are lost, and it is called whole");
    if is_cut && !report.knows_all {
        return;
    }
    let unknown: u64 = report.changes_unknown.iter().map(|(first, last)| last - first + 1).sum();
    let unnamed = whole.keys().filter(|key| !found.contains_key(key)).filter(|(id, version)| {
        !report
            .incomplete
            .get(id)
            .is_some_and(|lost| lost.iter().any(|(first, last)| (first..=last).contains(&version)))
            && !report.ambiguous.contains(&(*id, *version))
    });
    let unnamed = unnamed.count() as u64;
    assert!(unnamed <= unknown, "{what}: {unnamed} versions are missing and not named; {unknown} changes are unknown");
    // A page that is lost with its parents known takes its own rows and no others.
    assert!(found.len() + 200 > whole.len(), "{what}: only {} of {} are found", found.len(), whole.len());
}

#[test]
fn every_page_damaged_in_every_way_is_reported_and_the_rest_is_read() {
    let fixture = filled();
    let folder = fixture.folder.path().join("data");
    let path = folder.join(STORE_FILE);
    let bytes = fs::read(&path).unwrap();
    let opened = || Engine::open_read_only(options(&fixture.folder, &fixture.now));
    let engine = opened().unwrap();
    let whole = versions(&engine);
    let findings = engine.verify(&Namespaces::default(), &mut |_| ()).unwrap();
    engine.close();
    assert!(whole.len() > 250, "there are {} versions", whole.len());
    let used: Vec<usize> = (0..bytes.len() / PAGE_BYTES)
        .filter(|page| bytes[page * PAGE_BYTES..][..PAGE_BYTES].iter().any(|b| *b != 0))
        .collect();
    assert!(used.len() > 30, "only {} pages are used", used.len());
    let (mut refused, mut reported, mut harmless) = (0, 0, 0);
    for page in used {
        // Each page meets half of the damages, so that every kind meets many pages in bounded time.
        for damage in DAMAGES.iter().skip(page % 2).step_by(2) {
            let what = format!("page {page}, {damage:?}");
            let after = damaged(&bytes, page, *damage);
            fs::write(&path, &after).unwrap();
            salvaged(&folder, &whole, &what, matches!(damage, Damage::Cut));
            match opened() {
                Ok(engine) => {
                    let found = engine.verify(&Namespaces::default(), &mut |_| ()).unwrap();
                    // Rows of this test are made by hand; the check names them each time.
                    let is_reported = found.problems.len() as u64 + found.problems_untold
                        > findings.problems.len() as u64 + findings.problems_untold
                        || found.problems != findings.problems;
                    for id in 1..=150 {
                        if let Err(error) = engine.read(Id::new(id).unwrap(), None, |entry| entry.stored()) {
                            assert!(matches!(error, StoreError::Damaged(_)), "{what}: {error}");
                            assert!(is_reported, "{what}: a read fails, and the check found nothing");
                        }
                    }
                    drop(engine.stats());
                    engine.close();
                    *if is_reported { &mut reported } else { &mut harmless } += 1;
                }
                Err(error) => {
                    assert!(
                        matches!(error, StoreError::Damaged(_) | StoreError::Newer(_) | StoreError::OtherNames { .. }),
                        "{what}: {error}"
                    );
                    let found = Engine::verify_unopened(&folder).unwrap();
                    // Nothing may use the pages of an end that was cut off; that it is cut redb says.
                    let is_cut = error.to_string().contains("truncated");
                    assert!(
                        !found.is_whole() || is_cut,
                        "{what}: it cannot be opened ({error}), and its pages are whole"
                    );
                    refused += 1;
                }
            }
            assert!(fs::read(&path).unwrap() == after, "{what}: looking changed the file");
        }
    }
    assert!(
        refused > 10 && reported > 10 && harmless > 10,
        "{refused} refused, {reported} reported, {harmless} harmless"
    );
}

/// What was seen: "nothing is known of 790273975451 changes", by one number that was damaged.
#[test]
fn a_salvage_believes_no_number_that_nothing_confirms_and_the_file_has_no_room_for() {
    let fixture = filled();
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let mut whole = Vec::new();
    store::tampered::edit_version(&path, Id::new(3).unwrap(), Version::FIRST, |record| whole.clone_from(record));
    let mut bytes = fs::read(&path).unwrap();
    // In every copy of the page that the file holds, with the right checksum.
    let mut other = whole.clone();
    other[8] = 0xB8;
    with_checksum(&mut other);
    for at in (0..bytes.len() - whole.len()).filter(|at| bytes[*at..].starts_with(&whole)).collect::<Vec<_>>() {
        bytes[at..at + other.len()].copy_from_slice(&other);
    }
    // No commit is named, so that nothing is proven.
    bytes[64..320].fill(0);
    fs::write(&path, &bytes).unwrap();
    let salvage = Salvage::open(path.parent().unwrap()).unwrap();
    let report = salvage.report();
    assert!(report.unconfirmed.contains(&(3, 1)), "{report:?}");
    let unknown: u64 = report.changes_unknown.iter().map(|(first, last)| last - first + 1).sum();
    assert!(unknown < bytes.len() as u64, "{unknown}");
}

/// A running engine that meets a damaged page fails that request alone; a write to it stores nothing.
#[test]
fn a_page_damaged_under_a_server_fails_what_reads_it_and_nothing_else() {
    let fixture = filled();
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let bytes = fs::read(&path).unwrap();
    let pages = store::pages::Pages::open(&path).unwrap();
    let commit = pages.commits().next().unwrap();
    let (_, tree) = pages.tables(commit, &mut |_| ()).into_iter().find(|(name, _)| name == "version").unwrap();
    let mut leaves = Vec::new();
    pages.walk(tree, &mut |met| {
        if let store::pages::WalkEvent::Leaf(offset, _) = met {
            leaves.push(offset as usize);
        }
    });
    drop(pages);
    assert!(leaves.len() > 4, "{leaves:?}");
    let mut after = bytes;
    after[leaves[1]..leaves[1] + PAGE_BYTES].fill(0xAA);
    assert_eq!(after[9] & 2, 0, "it was closed in order");
    // redb built with debug assertions reads all pages when it opens a file; without a cache it reads them again.
    let without_cache = EngineOptions { cache_bytes: 0, ..options(&fixture.folder, &fixture.now) };
    let engine = Engine::open(without_cache).unwrap();
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(&after[leaves[1]..][..PAGE_BYTES], leaves[1] as u64)
        .unwrap();
    let read = |id: u64| engine.read(Id::new(id).unwrap(), None, |entry| entry.stored());
    let failed: Vec<u64> = (1..=150).filter(|id| matches!(read(*id), Err(StoreError::Damaged(_)))).collect();
    assert!(!failed.is_empty() && failed.len() < 100, "{failed:?}");
    let good = (1..=150).filter(|id| !failed.contains(id)).collect::<Vec<_>>();
    assert!(good.iter().all(|id| read(*id).unwrap().is_some()), "the others are read");
    let before = engine.seq();
    let update = |id: u64| {
        let content = content(Trigger::Update, State::Draft, "Patient/1");
        let id = Id::new(id).unwrap();
        engine.append(Write::Update { id, content, if_match: None, base: None, rows: None }).blocking_recv().unwrap()
    };
    assert!(matches!(update(failed[0]), Err(RefusedChange::Store(_))), "a write that meets the page is refused");
    assert_eq!(engine.seq(), before);
    let found = engine.verify(&Namespaces::default(), &mut |_| ()).unwrap();
    let told = found.problems.iter().find(|problem| problem.part == "version").map(|problem| problem.text.clone());
    assert!(!found.is_whole() && told.is_some(), "{found:?}");
    assert!(good.iter().all(|id| read(*id).unwrap().is_some()), "and they still are");
    engine.close();
}

/// Offsets of the leaves of a table, and the keys of each.
fn leaves(path: &Path, table: &str) -> Vec<(usize, Vec<Vec<u8>>)> {
    let pages = store::pages::Pages::open(path).unwrap();
    let commit = pages.commits().next().unwrap();
    let (_, tree) = pages.tables(commit, &mut |_| ()).into_iter().find(|(name, _)| name == table).unwrap();
    let mut leaves = Vec::new();
    pages.walk(tree, &mut |met| {
        if let store::pages::WalkEvent::Leaf(offset, leaf) = met {
            leaves.push((offset as usize, leaf.rows().map(|(key, _)| key.to_vec()).collect()));
        }
    });
    leaves
}

/// Where the last key of a leaf lies in the file, and the key.
fn last_key(path: &Path, (leaf, keys): (usize, Vec<Vec<u8>>)) -> (usize, Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    // Keys lie one behind the other.
    let (all, key) = (keys.concat(), keys.last().unwrap());
    let found = bytes[leaf..].windows(all.len()).position(|bytes| bytes == all).unwrap();
    (leaf + found + all.len() - key.len(), key.clone())
}

fn write_at(path: &Path, bytes: &[u8], at: usize) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at as u64).unwrap();
}

/// The newest keys say which numbers are given next: a damaged one gave numbers away again, and what was stored under them was lost.
#[test]
fn a_store_whose_newest_key_is_damaged_is_not_opened() {
    for table in ["version", "log", "patient", "register", "consent"] {
        for bit in [0, 2, 12] {
            let fixture = filled();
            let path = fixture.folder.path().join("data").join(STORE_FILE);
            let (at, key) = last_key(&path, leaves(&path, table).pop().unwrap());
            write_at(&path, &[key[bit / 8] ^ 1 << (bit % 8)], at + bit / 8);
            let opened = Engine::open(options(&fixture.folder, &fixture.now));
            let told = opened.err().unwrap_or_else(|| panic!("{table}, bit {bit}: it was opened")).to_string();
            assert!(told.contains("damaged") && told.contains(table), "{told}");
        }
    }
}

/// What was seen: with a bit of its newest version's key flipped a certificate was changed on from the version before.
#[test]
fn no_change_is_made_of_the_version_before_one_whose_key_is_damaged() {
    for byte in [2, 4, 6] {
        let fixture = filled();
        let path = fixture.folder.path().join("data").join(STORE_FILE);
        let without_cache = EngineOptions { cache_bytes: 0, ..options(&fixture.folder, &fixture.now) };
        let (leaf, mut keys) = leaves(&path, "version").remove(0);
        let number = |key: &[u8]| u64::from_le_bytes(key[..8].try_into().unwrap());
        // The newest of several, with others behind it, that was not deleted.
        let is_newest = |at: usize| {
            at > 0 && number(&keys[at]) == number(&keys[at - 1]) && number(&keys[at]) != number(&keys[at + 1])
        };
        let at = (0..keys.len() - 2).find(|at| is_newest(*at) && (number(&keys[*at]) - 1) % 7 != 0).unwrap();
        keys.truncate(at + 1);
        let (at, key) = last_key(&path, (leaf, keys));
        let engine = Engine::open(without_cache).unwrap();
        write_at(&path, &[key[byte] ^ 1], at + byte);
        let content = content(Trigger::Update, State::Draft, "Patient/1");
        let id = Id::new(number(&key)).unwrap();
        let told = engine.append(Write::Update { id, content, if_match: None, base: None, rows: None });
        let told = format!("{:?}", told.blocking_recv().unwrap().unwrap_err());
        assert!(told.contains("keys of version are out of order"), "byte {byte}: {told}");
        engine.close();
    }
}

/// What was seen: an export passed over the changes between two numbers and said that it was whole.
#[test]
fn a_walk_of_the_log_takes_a_gap_for_damage() {
    let fixture = filled();
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let [(one, _), (other, _)]: [_; 2] =
        leaves(&path, "log").into_iter().take(2).collect::<Vec<_>>().try_into().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.copy_within(other..other + PAGE_BYTES, one);
    let engine = Engine::open(options(&fixture.folder, &fixture.now)).unwrap();
    write_at(&path, &bytes[one..one + PAGE_BYTES], one);
    let told = engine.ledger().versions_after(Seq(0), 1_000).unwrap_err().to_string();
    assert!(told.contains("of changes stands behind number 0"), "{told}");
    engine.close();
}

/// A search passes by a key that is damaged: its certificate seemed never to have been.
#[test]
fn what_is_not_found_because_of_a_damaged_key_is_damage() {
    for table in ["version", "patient"] {
        let fixture = filled();
        let path = fixture.folder.path().join("data").join(STORE_FILE);
        let without_cache = EngineOptions { cache_bytes: 0, ..options(&fixture.folder, &fixture.now) };
        let (leaf, mut keys) = leaves(&path, table).remove(0);
        let id = |key: &[u8]| u64::from_le_bytes(key[..8].try_into().unwrap());
        // Of one that has a single version.
        keys.truncate(keys.iter().rposition(|key| id(key) % 3 == 1).unwrap() + 1);
        let (at, key) = last_key(&path, (leaf, keys));
        let id = Id::new(id(&key)).unwrap();
        let absent = Id::new(9_999).unwrap();
        let engine = Engine::open(without_cache).unwrap();
        let read = |id: Id| match table {
            "version" => engine.read(id, None, |entry| entry.stored()).map(|found| found.is_some()),
            _ => engine.patients().newest(id).map(|found| found.is_some()),
        };
        write_at(&path, &[key[2] ^ 1], at + 2);
        let told = read(id).expect_err(table).to_string();
        assert!(told.contains("damaged") && told.contains(table), "{told}");
        assert!(!read(absent).unwrap(), "what was never there is not damaged");
        engine.close();
    }
}

/// A check reads tables in pieces and goes on behind the last key of each. A last key that was zeroed sends it back to the beginning.
#[test]
fn a_key_out_of_order_is_damage_and_no_check_reads_a_piece_twice() {
    for table in ["version", "log", "patient", "register", "patient_identifier", "patient_born"] {
        let fixture = filled();
        let path = fixture.folder.path().join("data").join(STORE_FILE);
        let (at, key) = last_key(&path, leaves(&path, table).pop().unwrap());
        let mut lowest = vec![0; key.len()];
        if table == "patient_born" {
            // Days before 1970 are below zero.
            lowest[..4].copy_from_slice(&i32::MIN.to_le_bytes());
        }
        let without_cache = EngineOptions { cache_bytes: 0, ..options(&fixture.folder, &fixture.now) };
        let engine = Engine::open(without_cache).unwrap();
        write_at(&path, &lowest, at);
        let reader = engine.shared.store.reader().unwrap();
        let all = usize::MAX;
        let bare = |log| reader.entries_after(log, 0, all).and_then(|_| reader.bare_entries(log, 0, all)).map(drop);
        let read = match table {
            "version" => reader.bare_records(store::Records::Version, (0, 0), all, |_, _| Ok(())).map(drop),
            "patient" => reader.bare_records(store::Records::Patient, (0, 0), all, |_, _| Ok(())).map(drop),
            "log" => bare(EntryLog::Changes),
            "register" => bare(EntryLog::Register),
            "patient_identifier" => {
                reader.bare_identifiers(store::PatientIdentifiers::Current, &Default::default(), all).map(drop)
            }
            _ => reader.bare_born((i32::MIN, 0), all).map(drop),
        };
        let told = read.expect_err(table).to_string();
        // The lengths of the parts of an identifier are in its key.
        let is_named = told.contains(&format!("keys of {table} are out of order"));
        assert!(is_named || (table == "patient_identifier" && told.contains(table)), "{told}");
        drop(reader);
        let found = engine.verify(&Namespaces::default(), &mut |_| ()).unwrap();
        assert!(!found.is_whole(), "{table}: {found:?}");
        engine.close();
    }
}

/// An engine whose commits met damage opened its store again and again, and said in between that it was good; and redb's own panics, a
/// second one while the first was handled, ended the process.
#[test]
fn a_commit_that_meets_damage_refuses_writes_until_the_page_is_whole_again() {
    let fixture = filled();
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let bytes = fs::read(&path).unwrap();
    let mut failed = 0;
    let used =
        (1..bytes.len() / PAGE_BYTES).filter(|page| bytes[page * PAGE_BYTES..][..PAGE_BYTES].iter().any(|b| *b != 0));
    let mut healed = false;
    for (page, place) in used.flat_map(|page| [(page, 0), (page, 512)]) {
        let what = format!("page {page} from {place} on");
        fs::write(&path, &bytes).unwrap();
        let engine = Engine::open(EngineOptions { cache_bytes: 0, ..options(&fixture.folder, &fixture.now) }).unwrap();
        let create = || {
            let content = content(Trigger::Create, State::Draft, "Patient/1");
            engine.append(Write::Create { content, if_none_exist: None, rows: None }).blocking_recv().unwrap()
        };
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0xFF; 512], (page * PAGE_BYTES + place) as u64).unwrap();
        if create().is_err() {
            failed += 1;
            // What is told of it comes behind the answer.
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while !matches!(engine.health().store, StoreHealth::Damaged { .. }) {
                assert!(std::time::Instant::now() < deadline, "{what}: {:?}", engine.health().store);
                std::thread::yield_now();
            }
            for _ in 0..20 {
                assert!(create().is_err(), "{what}");
                assert!(matches!(engine.health().store, StoreHealth::Damaged { .. }), "{what}: {:?}", engine.health());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            // Once is enough: it is waited for the next try.
            if !std::mem::replace(&mut healed, true) {
                let good = &bytes[page * PAGE_BYTES..][..PAGE_BYTES];
                file.write_all_at(good, (page * PAGE_BYTES) as u64).unwrap();
                while create().is_err() {
                    assert!(std::time::Instant::now() < deadline, "{what}: {:?}", engine.health().store);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                assert_eq!(engine.health().store, StoreHealth::Good);
            }
        }
        engine.close();
    }
    assert!(failed > 8, "{failed} pages are needed for a create");
}

/// Gives an entry that was changed the checksum that it should have.
fn with_checksum(entry: &mut [u8]) {
    let (content, checksum) = entry.split_at_mut(entry.len() - 4);
    checksum.copy_from_slice(&store::crc::crc(content).to_le_bytes());
}

/// A program that wrote through redb may have changed the time of an entry, and made its checksum again.
#[test]
fn an_export_meets_damage_where_a_version_has_another_time_than_its_change() {
    let fixture = Fixture::new();
    let written = fixture.create(State::Draft, "Patient/1");
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    fixture.engine.close();
    store::tampered::edit_version(&path, written.id, written.version, |record| {
        record[12] ^= 1;
        with_checksum(record);
    });
    let engine = Engine::open_read_only(options(&fixture.folder, &fixture.now)).unwrap();
    let exported = engine.ledger().versions_after(Seq(0), 10).map(|found| found.len());
    assert!(matches!(&exported, Err(StoreError::Damaged(problem)) if problem.contains("change 1")), "{exported:?}");
}
