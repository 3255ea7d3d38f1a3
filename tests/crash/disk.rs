//! The disk fills up, or takes no more files, while the server runs: reads and searches go on, writes are refused in clear words and come
//! back by themselves, and nothing that was acknowledged is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{Client, Process, eventually};
use crate::small_disk::SmallDisk;
use crate::unread::draft_of;

/// What was acknowledged, by its path; and how many requests have an answer that leaves open whether they were done.
#[derive(Default)]
struct Known {
    certificates: BTreeMap<String, Vec<u8>>,
    doubts: u64,
}

impl Known {
    /// Tries to create a certificate; the answer's status.
    fn create(&mut self, client: &mut Client) -> u16 {
        // More than a page of the store's file, so that it has to grow.
        let body = draft_of(20 * 1024);
        let headers = ["prefer: return=representation"];
        let answer = client.send("POST", "/Composition", &headers, body.as_bytes()).expect("the server runs");
        match answer.status {
            201 => {
                let location = answer.header("location").expect("a create tells where");
                let id = location.rsplit('/').nth(2).expect("an address ends with /_history/1");
                let path = format!("/Composition/{id}");
                assert!(self.certificates.insert(path, answer.body).is_none(), "no id is used again");
            }
            // The batch that met the fault: it may be in the store or not.
            500 => self.doubts += 1,
            503 => {
                assert_eq!(answer.header("retry-after"), Some("2"), "{answer:?}");
                assert_eq!(answer.json()["resourceType"], "OperationOutcome");
            }
            other => panic!("{other} is no answer to a create: {}", answer.text()),
        }
        answer.status
    }

    /// Creates until it is refused, as it is on a disk without room.
    fn create_until_refused(&mut self, client: &mut Client) {
        eventually("a create is refused", || self.create(client) == 503);
    }

    /// Every certificate is read as it was acknowledged, at once, and all are found.
    fn check(&mut self, client: &mut Client) {
        for (path, bytes) in &self.certificates {
            let answer = client.send("GET", path, &[], b"").expect("the server runs");
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert!(answer.body == *bytes, "{path} is as it was acknowledged");
        }
        let answer = client.send("GET", "/Composition?status=preliminary&_count=1", &[], b"").expect("the server runs");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (total, known) = (answer.json()["total"].as_u64().expect("a total"), self.certificates.len() as u64);
        assert!((known..=known + self.doubts).contains(&total), "{total} are found, {known} are known");
    }
}

fn health(server: &Process) -> (u16, Value) {
    let at = server.watched_at.expect("it can be watched");
    let answer = Client::new(at).send_to("GET", "/health", &[], b"").expect("an answer");
    (answer.status, answer.json())
}

/// Waits until every part is well, but for the one that says that nothing of `hcert dev` is real, and the index holds all changes.
fn is_well(server: &Process) {
    eventually("all is well again", || {
        let (status, health) = health(server);
        let parts = health["parts"].as_object().expect("parts");
        let is_ok = parts.iter().all(|(name, part)| name == "mode" || part["status"] == "ok");
        status == 200 && is_ok && parts["index"]["facts"]["lag_changes"] == 0
    });
}

#[test]
fn a_disk_that_fills_up_refuses_writes_until_there_is_room_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    fs::create_dir(&place).unwrap();
    let Some(disk) = SmallDisk::mount(&place) else { return };
    let mut known = Known::default();
    let server = disk.serve();
    let mut client = server.client();
    for _ in 0..10 {
        assert_eq!(known.create(&mut client), 201);
    }
    is_well(&server);
    known.check(&mut client);

    // What the index has still to write, also where the store itself has no page left.
    assert_eq!(known.create(&mut client), 201);
    disk.fill();
    known.create_until_refused(&mut client);
    known.check(&mut client);
    eventually("the index waits as well", || server.log().contains("the index cannot be written"));
    for _ in 0..5 {
        assert_eq!(known.create(&mut client), 503);
        known.check(&mut client);
    }
    let (status, told) = health(&server);
    let storage = &told["parts"]["storage"];
    assert_eq!((status, &told["ready"], &storage["status"]), (503, &false.into(), &"down".into()), "{told}");
    assert!(storage["words"].as_str().is_some_and(|words| words.contains("No space left on device")), "{told}");
    // The store's journal has room for more changes than the trail for their events and the next file.
    assert_ne!(told["parts"]["audit"]["status"], "down", "events have their room: {told}");
    let ready = Client::new(server.watched_at.unwrap()).send_to("GET", "/ready", &[], b"").expect("an answer");
    let why_not = ready.json()["why_not"].to_string();
    assert!(ready.status == 503 && why_not.contains("storage: The store failed"), "{why_not}");

    disk.make_room();
    eventually("writes are taken again", || known.create(&mut client) == 201);
    is_well(&server);
    known.check(&mut client);

    disk.fill();
    known.create_until_refused(&mut client);
    drop(client);
    server.kill_now();
    disk.make_room();
    let server = disk.serve();
    let mut client = server.client();
    eventually("it is ready", || health(&server).1["ready"] == true);
    known.check(&mut client);
    assert_eq!(known.create(&mut client), 201);
    is_well(&server);
    known.check(&mut client);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_folder_that_takes_no_more_files_keeps_the_index_waiting_and_no_search() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    fs::create_dir(&place).unwrap();
    let Some(disk) = SmallDisk::mount(&place) else { return };
    let mut known = Known::default();
    let server = disk.serve();
    let mut client = server.client();
    for _ in 0..10 {
        assert_eq!(known.create(&mut client), 201);
    }
    is_well(&server);

    disk.make_read_only();
    for _ in 0..3 {
        known.create(&mut client);
        known.check(&mut client);
    }
    eventually("health reports it", || health(&server).1["parts"]["index"]["status"] == "degraded");
    for _ in 0..3 {
        known.create(&mut client);
        known.check(&mut client);
    }
    let (status, told) = health(&server);
    let index = &told["parts"]["index"];
    assert_eq!((status, &told["ready"], &index["facts"]["percent"]), (200, &true.into(), &100.into()), "{told}");
    assert!(index["words"].as_str().is_some_and(|words| words.contains("waits")), "{told}");
    assert!(!server.log().contains("is given up"), "the index is no worse than before: {}", server.log());

    disk.make_writable();
    is_well(&server);
    assert_eq!(known.create(&mut client), 201);
    known.check(&mut client);
    drop(client);
    server.kill_now();
    let server = disk.serve();
    known.check(&mut server.client());
    is_well(&server);
    assert_eq!(server.stop().code(), Some(0));
}

/// What was seen: with a full data disk a backup sent the operator to the disk that it was to be written to, which had room.
#[test]
fn a_backup_of_a_full_disk_to_another_one_names_the_full_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    fs::create_dir(&place).unwrap();
    let Some(disk) = SmallDisk::mount(&place) else { return };
    let server = disk.serve();
    is_well(&server);
    disk.fill();
    let mut client = server.client();
    let is_refused = |_| client.send("GET", "/Composition?_count=0", &[], b"").expect("the server runs").status == 503;
    assert!((0..50_000).any(is_refused), "the trail is full");
    let (archive, data) = (folder.path().join("one.tar"), disk.data());
    let ended = disk.run_hcert(&["backup", archive.to_str().unwrap(), "--data", data.to_str().unwrap()]);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the audit trail cannot be written"), "{said}");
    assert!(said.contains(&format!("make room on the disk of {}", data.display())) && said.contains("tmpfs"), "{said}");
    assert!(!archive.exists());
}

/// Every file and folder below one, by its path.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { names(&path) } else { BTreeSet::new() }.into_iter().chain([path]))
        .collect()
}

#[test]
fn a_command_on_a_full_disk_names_it_and_what_it_wants_and_leaves_nothing_unnamed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    fs::create_dir(&place).unwrap();
    let Some(disk) = SmallDisk::mount(&place) else { return };
    let [big, patients, small, archive, source] =
        ["big.ndjson", "patients.ndjson", "small.ndjson", "small.tar", "source"].map(|name| folder.path().join(name));
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    let run = |line: &str| {
        let ended = disk.run_hcert(&line.split(' ').collect::<Vec<_>>());
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    let (data, outside) = (name(&disk.data()), name(&source));
    for line in [
        format!("generate --count 2000 --seed 5 --out {}", name(&big)),
        format!("generate --count 300 --seed 4 --out {}", name(&small)),
        format!("generate --patients --count 20k --out {}", name(&patients)),
        format!("import {} --data {data}", name(&small)),
        format!("import {} --data {outside}", name(&small)),
        format!("backup {} --data {outside}", name(&archive)),
    ] {
        let (code, said) = run(&line);
        assert_eq!(code, Some(0), "{line}: {said}");
    }
    let at = name(&place);
    #[rustfmt::skip]
    let rows = [
        //  command                                                  what is wanted                             what is left
        (format!("reindex --data {data}"),                              "a new index takes as much",               ""),
        (format!("compact --data {data}"),                              "to compact takes about",                  ""),
        (format!("import {} --data {data}", name(&big)),                "the file has",                            ""),
        (format!("patients import {} --data {data}", name(&patients)),  "the file has",                            ""),
        (format!("backup {at}/one.tar --data {outside}"),               "a full archive takes up to",              ""),
        (format!("backup {at}/ --data {outside}"),                      "a full archive takes up to",              ""),
        (format!("restore {} --data {at}/new", name(&archive)),         "what is restored takes more than",        "new"),
        (format!("export --out {at}/out --data {outside}"),             "add --force to replace it",               "out"),
        (format!("export --salvage --out {at}/saved --data {outside}"), "add --force to replace it",               "saved"),
    ];
    for room in [0, 128 * 1024] {
        for (line, wanted, left) in &rows {
            disk.fill();
            disk.leave(room);
            let before = names(&disk.root());
            let (code, said) = run(line);
            let is_small = code == Some(0) && room > 0;
            assert!(is_small || code == Some(1), "{line}: {code:?} {said}");
            if !is_small {
                assert!(said.contains("No space left on device"), "{line}: {said}");
                assert!(said.contains(&format!("the disk of {at}")) && said.contains("tmpfs"), "{line}: {said}");
                assert!(said.contains(wanted), "{line}: {said}");
            }
            let new: BTreeSet<PathBuf> = names(&disk.root()).difference(&before).cloned().collect();
            for path in new.iter().filter(|path| !path.starts_with(disk.root().join("data"))) {
                let path = path.strip_prefix(disk.root()).unwrap();
                let is_named = !left.is_empty()
                    && path.to_str().unwrap().starts_with(left)
                    && said.contains(&format!("{at}/{left}"));
                assert!(is_small || is_named, "{line} leaves {}: {said}", path.display());
            }
            let data_has: Vec<_> =
                fs::read_dir(disk.root().join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(!data_has.iter().any(|name| name == "index.new" || name == "store.room"), "{line}: {data_has:?}");
            disk.make_room();
            for path in new.iter().filter(|path| !path.starts_with(disk.root().join("data"))) {
                drop(fs::remove_dir_all(path));
                drop(fs::remove_file(path));
            }
            let (code, said) = run(&format!("verify --data {data}"));
            assert_eq!(code, Some(0), "after {line}: {said}");
        }
    }
}
