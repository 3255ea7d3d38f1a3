//! Something is done to a folder, by redb or tantivy or byte by byte, and a check tells it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::VerifyReport;
use engine::embedded::store::crc::crc;
use redb::{Database, Key, ReadableDatabase, ReadableTable, TableDefinition, Value, WriteTransaction};

use super::Folder;
use super::process::hcert;

const VERSION: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("version");
const CHANGE: TableDefinition<u64, &[u8; 61]> = TableDefinition::new("log");
const TIME: TableDefinition<(i64, u64), ()> = TableDefinition::new("time");
const TIME_COUNT: TableDefinition<(u8, i64), u64> = TableDefinition::new("time_count");
const CLASS: TableDefinition<u32, &[u8]> = TableDefinition::new("class");
const COUNTER: TableDefinition<u32, u64> = TableDefinition::new("counter");
const CONSENT: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("consent");
const CLOSED: TableDefinition<u64, u8> = TableDefinition::new("consent_closed");
const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
const LIST: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("list");
const PATIENT: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("patient");
const FORMER: TableDefinition<(&str, &str, u64), ()> = TableDefinition::new("patient_former");
const IDENTIFIER: TableDefinition<(&str, &str, u64), ()> = TableDefinition::new("patient_identifier");
const BORN: TableDefinition<(i32, u64), (i32, u8, i64)> = TableDefinition::new("patient_born");
const LINK: TableDefinition<u64, &[u8]> = TableDefinition::new("patient_link");
const REGISTER: TableDefinition<u64, &[u8; 61]> = TableDefinition::new("register");

/// Does something to the store of a folder.
fn tamper(folder: &Folder, with: impl FnOnce(&WriteTransaction)) {
    let transaction = Database::open(folder.store()).unwrap().begin_write().unwrap();
    with(&transaction);
    transaction.commit().unwrap();
}

/// The value under a key changed.
fn change(
    write: &WriteTransaction,
    table: TableDefinition<(u64, u32), &[u8]>,
    key: (u64, u32),
    with: impl FnOnce(&mut Vec<u8>),
) {
    let mut table = write.open_table(table).unwrap();
    let mut value = table.get(key).unwrap().expect("the row is there").value().to_vec();
    with(&mut value);
    table.insert(key, value.as_slice()).unwrap();
}

/// A version changed by somebody who makes its checksum again.
fn edit(write: &WriteTransaction, key: (u64, u32), with: impl FnOnce(&mut Vec<u8>)) {
    change(write, VERSION, key, |record| {
        record.truncate(record.len() - 4);
        with(record);
        let checksum = crc(record);
        record.extend(checksum.to_le_bytes());
    });
}

fn remove<'k, K: Key + 'static, V: Value + 'static>(
    write: &'k WriteTransaction,
    table: TableDefinition<'k, K, V>,
    key: K::SelfType<'k>,
) {
    let mut table = write.open_table(table).unwrap();
    let removed = table.remove(&key).unwrap();
    assert!(removed.is_some(), "the row was there");
}

fn tells(verified: &VerifyReport, part: &str, text: &str) -> bool {
    verified.problems.iter().any(|problem| problem.part == part && problem.text.contains(text))
}

type Damage = (&'static str, &'static str, fn(&WriteTransaction));

/// Part and words of the problem, and what is done.
#[rustfmt::skip]
const DAMAGES: &[Damage] = &[
    // A version.
    ("version", "is not readable",            |write| change(write, VERSION, (5, 1), |record| *record.last_mut().unwrap() ^= 1)),
    ("version", "is not readable",            |write| change(write, VERSION, (5, 1), |record| record.truncate(20))),
    ("version", "a record has format 9",      |write| change(write, VERSION, (5, 1), |record| record[0] = 9)),
    ("version", "is not readable",            |write| edit(write, (5, 1), |record| record[1] = 2)),
    ("version", "does not expand",            |write| edit(write, (5, 1), |record| *record.last_mut().unwrap() ^= 1)),
    ("version", "its record says suspended",  |write| edit(write, (5, 1), |record| record[2] = 3)),
    ("version", "dictionary 7 is missing",    |write| edit(write, (5, 1), |record| record[3] = 7)),
    ("version", "which is not its own",       |write| edit(write, (5, 1), |record| record[4] ^= 1)),
    ("version", "which is not its own",       |write| edit(write, (5, 1), |record| record[12] ^= 1)),
    ("version", "another offset",             |write| edit(write, (5, 1), |record| record[20] ^= 1)),
    ("version", "a field of a record is cut", |write| edit(write, (5, 1), |record| record[37] = 200)),
    ("version", "Composition/30 stands where version 2", |write| remove(write, VERSION, (30, 2))),
    ("log",     "which is missing",           |write| remove(write, VERSION, (30, 2))),
    ("version", "stands behind the deletion", |write| {
        let record = write.open_table(VERSION).unwrap().get((5, 1)).unwrap().unwrap().value().to_vec();
        write.open_table(VERSION).unwrap().insert((11, 3), record.as_slice()).unwrap();
    }),
    // The record of one certificate under the id of another: everything in it is right but where it lies.
    ("version", "which is not its own",       |write| {
        let record = write.open_table(VERSION).unwrap().get((6, 1)).unwrap().unwrap().value().to_vec();
        write.open_table(VERSION).unwrap().insert((5, 1), record.as_slice()).unwrap();
    }),
    ("index",   "Composition/5 stands in it with another", |write| {
        let record = write.open_table(VERSION).unwrap().get((6, 1)).unwrap().unwrap().value().to_vec();
        write.open_table(VERSION).unwrap().insert((5, 1), record.as_slice()).unwrap();
    }),
    // The log of changes.
    ("log",     "change 8 stands where change 7 belongs", |write| remove(write, CHANGE, 7)),
    ("version", "which is not its own",       |write| remove(write, CHANGE, 7)),
    // Times.
    ("time_count", "by the hour",             |write| {
        let mut counts = write.open_table(TIME_COUNT).unwrap();
        let (key, versions) = counts.first().unwrap().map(|(key, versions)| (key.value(), versions.value())).unwrap();
        counts.insert(key, versions + 1).unwrap();
    }),
    ("time",    "is missing",                 |write| {
        let mut times = write.open_table(TIME).unwrap();
        let first = times.first().unwrap().unwrap().0.value();
        times.remove(first).unwrap();
    }),
    ("time",    "rows instead of",            |write| drop(write.open_table(TIME).unwrap().insert((1, 99_999), ()).unwrap())),
    // Counters and classes.
    ("counter", "the counter says",           |write| {
        let mut counters = write.open_table(COUNTER).unwrap();
        let (class, number) = counters.first().unwrap().map(|(class, number)| (class.value(), number.value())).unwrap();
        counters.insert(class, number + 1).unwrap();
    }),
    ("class",   "is not known",               |write| {
        let mut classes = write.open_table(CLASS).unwrap();
        let first = classes.get(0).unwrap().unwrap().value().to_vec();
        let other = String::from_utf8(first[2..].to_vec()).unwrap().replace("http", "hhtp");
        classes.insert(0, [&first[..2], other.as_bytes()].concat().as_slice()).unwrap();
    }),
    ("class",   "two numbers stand for the same class", |write| {
        let mut classes = write.open_table(CLASS).unwrap();
        let first = classes.get(0).unwrap().unwrap().value().to_vec();
        let last = classes.last().unwrap().unwrap().0.value();
        classes.insert(last + 1, first.as_slice()).unwrap();
    }),
    // Consent.
    ("consent", "is not readable",            |write| change(write, CONSENT, (2, 1), |record| record[10] ^= 1)),
    ("consent", "stands where change 1 belongs", |write| remove(write, CONSENT, (2, 1))),
    ("log",     "of the consent of Composition/2", |write| remove(write, CONSENT, (2, 1))),
    ("consent_closed", "another consent",     |write| drop(write.open_table(CLOSED).unwrap().insert(2, 1).unwrap())),
    ("consent_closed", "another consent",     |write| remove(write, CLOSED, 2)),
    ("consent_closed", "nobody said so",      |write| drop(write.open_table(CLOSED).unwrap().insert(5, 1).unwrap())),
    // Patients.
    ("patient", "is not readable",            |write| change(write, PATIENT, (1000, 1), |record| record[40] ^= 1)),
    ("patient", "stands where version 1",     |write| remove(write, PATIENT, (1000, 1))),
    ("register", "which is missing",          |write| remove(write, PATIENT, (1000, 1))),
    ("register", "stands where change 3 belongs", |write| remove(write, REGISTER, 3)),
    ("patient", "which is not its own",       |write| remove(write, REGISTER, 3)),
    ("register", "which has change 3",        |write| {
        let mut register = write.open_table(REGISTER).unwrap();
        let row = *register.get(3).unwrap().unwrap().value();
        let last = register.last().unwrap().unwrap().0.value();
        register.insert(last + 1, &row).unwrap();
    }),
    ("patient_identifier", "is missing",      |write| {
        let mut identifiers = write.open_table(IDENTIFIER).unwrap();
        identifiers.pop_first().unwrap().unwrap();
    }),
    ("patient_identifier", "has not",         |write| {
        drop(write.open_table(IDENTIFIER).unwrap().insert(("1", "2", 1000), ()).unwrap());
    }),
    ("patient_former", "no earlier version has", |write| {
        drop(write.open_table(FORMER).unwrap().insert(("1", "2", 1000), ()).unwrap());
    }),
    ("patient_born", "is missing or says something else", |write| drop(write.open_table(BORN).unwrap().pop_first().unwrap())),
    ("patient_born", "not of its newest version", |write| drop(write.open_table(BORN).unwrap().insert((5, 1000), (6, 1, 7)).unwrap())),
    ("patient_link", "its newest version has not", |write| {
        drop(write.open_table(LINK).unwrap().insert(1000, 1001u64.to_le_bytes().as_slice()).unwrap());
    }),
    // What the store says of itself.
    ("meta", "'next-patient-id'",             |write| {
        drop(write.open_table(META).unwrap().insert("next-patient-id", 5u64.to_le_bytes().as_slice()).unwrap());
    }),
    ("meta", "'next-id' is missing",          |write| remove(write, META, "next-id")),
    ("list", "is not readable",               |write| change(write, LIST, (1, 1), |record| *record.last_mut().unwrap() ^= 1)),
    ("register", "which is missing",          |write| remove(write, LIST, (1, 1))),
];

#[test]
fn whatever_is_done_to_a_row_is_told_with_its_table() {
    let whole = Folder::newest();
    let verified = whole.verified();
    assert!(verified.is_whole(), "{}", verified.told());
    assert_eq!((verified.versions, verified.certificates, verified.indexed), (54, 37, 37));
    assert_eq!((verified.consents, verified.patients), (7, 8));
    let mut silent = Vec::new();
    for (at, (part, text, with)) in DAMAGES.iter().enumerate() {
        let folder = Folder::newest();
        tamper(&folder, with);
        let verified = folder.verified();
        if !tells(&verified, part, text) {
            silent.push(format!("{at}: {part}: {text}: {}", verified.told()));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn every_changed_byte_of_a_change_is_told() {
    for at in 0..61 {
        let folder = Folder::newest();
        tamper(&folder, |write| {
            let mut changes = write.open_table(CHANGE).unwrap();
            let mut row = *changes.get(9).unwrap().unwrap().value();
            row[at] ^= 1;
            changes.insert(9, &row).unwrap();
        });
        // A kind that is not known keeps the index from being built and the history from being read, but not the store from opening.
        let verified = folder.verified();
        assert!(!verified.is_whole(), "byte {at}");
    }
}

#[test]
fn every_changed_byte_of_a_frame_is_told() {
    let folder = Folder::newest();
    let database = Database::open(folder.store()).unwrap();
    let reading = database.begin_read().unwrap();
    let record = reading.open_table(VERSION).unwrap().get((12, 1)).unwrap().unwrap().value().to_vec();
    drop((reading, database));
    let fields = u32::from_le_bytes(record[24..28].try_into().unwrap()) as usize;
    for at in (36 + fields..record.len() - 4).step_by(37) {
        let folder = Folder::newest();
        tamper(&folder, |write| edit(write, (12, 1), |record| record[at] ^= 16));
        assert!(tells(&folder.verified(), "version", "version 1 of Composition/12"), "byte {at} of {}", record.len());
    }
}

/// A certificate taken out of the index as tantivy does it, the number of rows in its commit set right.
#[test]
fn a_certificate_that_the_index_lost_is_told_and_so_is_one_too_many() {
    let folder = Folder::newest();
    let index = tantivy::Index::open_in_dir(folder.path("data/index")).unwrap();
    let payload = index.load_metas().unwrap().payload.unwrap();
    let mut payload: serde_json::Value = serde_json::from_str(&payload).unwrap();
    payload["rows"] = (payload["rows"].as_u64().unwrap() - 1).into();
    let id = index.schema().get_field("id").unwrap();
    let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 32 << 20).unwrap();
    writer.delete_term(tantivy::Term::from_field_u64(id, 12));
    let mut commit = writer.prepare_commit().unwrap();
    commit.set_payload(&payload.to_string());
    commit.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let verified = folder.verified();
    assert_eq!(verified.indexed, 36);
    assert!(tells(&verified, "index", "Composition/12 is not in it"), "{}", verified.told());
    assert_eq!(verified.problems.len(), 1, "{}", verified.told());

    // A certificate that the store lost is one that the index has too many.
    let folder = Folder::newest();
    tamper(&folder, |write| remove(write, VERSION, (12, 1)));
    let verified = folder.verified();
    assert!(tells(&verified, "index", "Composition/12 is in it, and not in the store"), "{}", verified.told());
}

/// Bytes of the file itself: redb's own pass tells those that matter; the others lie where nothing is stored.
#[test]
fn a_changed_byte_of_the_file_is_told_or_changes_nothing() {
    let untouched = Folder::newest().text("versions.ndjson");
    let length = Folder::newest().store().metadata().unwrap().len() as usize;
    let mut told = 0;
    for step in 0..48 {
        let folder = Folder::newest();
        let mut bytes = fs::read(folder.store()).unwrap();
        let at = 8_192 + step * (length - 8_192) / 48 + step * 37 % 4_096;
        let at = at.min(length - 1);
        bytes[at] ^= 1;
        fs::write(folder.store(), bytes).unwrap();
        let verify = || {
            let data = folder.data();
            let mut command = hcert(&["verify", "--data", data.to_str().unwrap()]);
            command.current_dir(folder.path("")).env("HCERT__AUDIT__FILE_MB", "1").output().unwrap()
        };
        let ran = catch_unwind(AssertUnwindSafe(verify)).unwrap();
        match ran.status.code() {
            Some(0) => {
                let data = folder.data();
                let mut export = hcert(&["export", "--data", data.to_str().unwrap()]);
                let exported = export.current_dir(folder.path("")).output().unwrap();
                assert_eq!(String::from_utf8(exported.stdout).unwrap(), untouched, "byte {at}");
            }
            Some(1 | 3) => told += 1,
            code => panic!("byte {at}: {code:?} {ran:?}"),
        }
    }
    assert!(told > 5, "{told} of 48 were told");
}

#[test]
fn a_script_learns_by_the_exit_code_and_reads_json() {
    let folder = Folder::newest();
    let run = || {
        let data = folder.data();
        let mut command = hcert(&["verify", "--json", "--data", data.to_str().unwrap()]);
        command.current_dir(folder.path("")).env("HCERT__AUDIT__FILE_MB", "1").output().unwrap()
    };
    assert_eq!(run().status.code(), Some(0));
    tamper(&folder, |write| change(write, VERSION, (5, 1), |record| *record.last_mut().unwrap() ^= 1));
    let ran = run();
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(told["problems"][0]["part"], "version", "{told}");
    // The audit trail is part of it.
    let folder = Folder::newest();
    let log = folder.path("data/audit/00000001.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[200] ^= 1;
    fs::write(&log, bytes).unwrap();
    let data = folder.data();
    let ran = hcert(&["verify", "--data", data.to_str().unwrap()]).current_dir(folder.path("")).output().unwrap();
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("audit: 00000001.log"), "{ran:?}");
    assert_eq!(hcert(&["verify", "--nonsense"]).output().unwrap().status.code(), Some(2));
}
