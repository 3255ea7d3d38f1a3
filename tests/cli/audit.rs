//! `hcert audit`: the trail verified and written out, of a folder at rest and of a running server.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::process::{Process, eventually};
use super::{Place, lines};

const VERIFY: [&str; 4] = ["audit", "verify", "--data", "data"];
const EXPORT: [&str; 4] = ["audit", "export", "--data", "data"];

#[test]
fn a_trail_is_verified_and_written_out_by_server_and_folder_alike() {
    let place = Place::new();
    place.run(&VERIFY).expect(1).says("there is no data folder");
    let server = Process::start(&place.path("data"));
    place.run(&VERIFY).expect(0);
    let exported = place.run(&EXPORT);
    assert!(exported.expect(0).text().contains(r#""code":"audit.verify""#), "{}", exported.text());
    drop(server);
    let first = place.run(&VERIFY);
    let head = first.expect(0).text().lines().find_map(|line| line.strip_prefix("head ").map(str::to_owned)).unwrap();
    // The head is still part of the trail, though there are more events now.
    place.run(&[&VERIFY[..], &["--head", &head]].concat()).expect(0);
    place.run(&[&VERIFY[..], &["--head", "7"]].concat()).expect(2);
    let events = place.run(&EXPORT);
    for line in lines(&events.expect(0).out) {
        let event: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(
            (&event["resourceType"], &event["agent"][0]["authorization"][0]["text"]),
            (&"AuditEvent".into(), &"socket".into())
        );
    }
    let none = place.run(&[&EXPORT[..], &["--certificate", "17", "--until", "2020"]].concat());
    assert_eq!(none.expect(0).text(), "");
    place.run(&[&EXPORT[..], &["--since", "yesterday"]].concat()).expect(2);
    // Whom nobody could be called is asked for by mistake: an empty answer would say that nobody looked.
    for nobody in ["NONSENSE", "", "Patient/17", "3790403 6829", "-17"] {
        let asked = format!("--patient={nobody}");
        place.run(&[&EXPORT[..], &[&asked]].concat()).expect(2).says("--patient takes the number of a patient");
    }
    // Of somebody who could be called so, the question itself is what is found.
    let asked = place.run(&[&EXPORT[..], &["--patient", "4711"]].concat());
    assert_eq!(lines(&asked.expect(0).out).len(), 1, "{}", asked.text());
}

/// What was seen: a trail from which the newest events were cut was whole for every check, as long as no change was among them.
#[test]
fn a_trail_that_lacks_what_the_store_knows_of_it_is_told_until_that_is_accepted() {
    let takes: [fn(&Path, &Path); 2] = [
        |audit, before| {
            fs::copy(before, audit.join("00000001.log")).unwrap();
        },
        |audit, _| fs::remove_dir_all(audit).unwrap(),
    ];
    for take in takes {
        let place = Place::new();
        let (data, audit, before) = (place.path("data"), place.path("data/audit"), place.path("before.log"));
        Process::start(&data).stop();
        fs::copy(audit.join("00000001.log"), &before).unwrap();
        let server = Process::start(&data);
        place.run(&VERIFY).expect(0);
        assert!(server.stop().success());
        place.run(&VERIFY).expect(0);
        take(&audit, &before);
        let files = || fs::read(audit.join("00000001.log")).ok();
        let was = files();
        place.run(&VERIFY).expect(3).says("the audit trail is not as it was written");
        place.run(&["verify", "--data", "data"]).expect(3);
        assert!(files() == was, "a check changed the trail");
        for _ in 0..2 {
            let mut server = Process::start(&data);
            assert!(server.log().contains("\"audit.cut\""), "{}", server.log());
            place.run(&VERIFY).expect(3);
            server.terminate();
            assert!(server.ends_by_itself().success());
        }
        let mut server = Process::start(&data);
        assert!(place.run(&["audit", "accept", "--data", "data"]).expect(0).text().contains("taken as it is"));
        place.run(&VERIFY).expect(0);
        server.terminate();
        assert!(server.ends_by_itself().success());
        place.run(&VERIFY).expect(0);
        let server = Process::start(&data);
        assert!(!server.log().contains("\"audit.cut\""), "{}", server.log());
    }
    let place = Place::new();
    place.run(&["audit", "accept", "--data", "data"]).expect(1);
    drop(Process::start(&place.path("data")));
    place.run(&["audit", "accept", "--data", "data"]).expect(0);
}

/// What was seen: whoever put the folder `audit` back as it was before hid what an operator had done with a stopped folder.
#[test]
fn what_a_command_on_a_stopped_folder_wrote_down_is_missed_when_it_is_taken_away() {
    let commands: [&[&str]; 4] = [
        &EXPORT,
        &["audit", "who", "--data", "data", "--patient", "200"],
        &["clock", "accept", "--data", "data"],
        &["reindex", "--data", "data"],
    ];
    let place = Place::new();
    for command in commands {
        let (audit, kept) = (place.path("data/audit"), place.path("kept"));
        Process::start(&place.path("data")).stop();
        place.run(&VERIFY).expect(0);
        fs::create_dir(&kept).unwrap();
        for file in fs::read_dir(&audit).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), kept.join(file.file_name())).unwrap();
        }
        place.run(command).expect(0);
        fs::remove_dir_all(&audit).unwrap();
        fs::rename(&kept, &audit).unwrap();
        assert!(place.run(&VERIFY).expect(3).text().contains("it once reached"), "{command:?}");
        // The next command says so as well, and takes it for no reason to stop.
        assert!(place.run(&EXPORT).expect(3).said.contains("cut, replaced or removed"), "{command:?}");
        place.run(&VERIFY).expect(3);
        place.run(&["audit", "accept", "--data", "data"]).expect(0);
        place.run(&VERIFY).expect(0);
    }
}

/// What was seen: a backup and a restore made of a trail that was cut one that was whole.
#[test]
fn a_restore_makes_no_whole_trail_of_one_that_was_cut() {
    for is_running in [false, true] {
        let place = Place::new();
        let (data, audit, before) = (place.path("data"), place.path("data/audit"), place.path("before.log"));
        Process::start(&data).stop();
        fs::copy(audit.join("00000001.log"), &before).unwrap();
        place.run(&EXPORT).expect(0);
        fs::copy(&before, audit.join("00000001.log")).unwrap();
        let server = is_running.then(|| Process::start(&data));
        place
            .run(&["backup", "archive.tar", "--data", "data"])
            .expect(3)
            .says("the archive is whole, but the audit trail");
        drop(server);
        place.run(&["restore", "archive.tar", "--check"]).expect(3).says("the audit trail in the archives");
        place.run(&["restore", "archive.tar", "--data", "copy"]).expect(3).says("the audit trail that was restored");
        let verify = ["audit", "verify", "--data", "copy"];
        place.run(&verify).expect(3);
        place.run(&["audit", "accept", "--data", "copy"]).expect(0);
        place.run(&verify).expect(0);
    }
}

/// What was seen: one file too many ended every backup with 1 and made no archive.
#[test]
fn a_file_that_nothing_can_be_written_behind_keeps_nobody_from_a_backup() {
    let place = Place::new();
    Process::start(&place.path("data")).stop();
    fs::write(place.path("data/audit/00000099.zst"), [0; 1_000]).unwrap();
    place.run(&["backup", "archive.tar", "--data", "data"]).expect(3).says("cannot tell that hcert backup was run");
    place.run(&["restore", "archive.tar", "--check"]).expect(3).says("00000099.zst");
    place.run(&["restore", "archive.tar", "--data", "copy"]).expect(3);
    place.run(&["export", "--data", "copy", "--out", "all.ndjson"]).expect(0);
}

/// What was seen: `--force --out` replaced the store, or a file of the trail, of the very folder that was exported.
#[test]
fn no_output_replaces_a_file_of_a_data_folder() {
    let place = Place::new();
    Process::start(&place.path("data")).stop();
    for file in ["data/store.redb", "data/audit/00000001.log", "data/index/new.ndjson", "data/new.ndjson"] {
        // A command writes to the trail what it did; nothing takes the place of what was there.
        let before = fs::read(place.path(file)).ok();
        for command in [&["export"][..], &["export", "--salvage"], &EXPORT[..2]] {
            let asked = [command, &["--force", "--out", file, "--data", "data"]].concat();
            place.run(&asked).expect(2).says("this lies in a data folder");
        }
        let after = fs::read(place.path(file)).ok();
        let is_kept = match (&before, &after) {
            (Some(before), Some(after)) if file.contains("audit") => {
                before[..64] == after[..64] && before.len() <= after.len()
            }
            _ => before == after,
        };
        assert!(is_kept, "{file}");
    }
}

/// A head that was kept elsewhere tells a history that was set back, and one that was exported and imported again.
#[test]
fn a_kept_head_tells_another_history_with_the_same_certificates() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let heads = place.run(&["audit", "head", "--data", "data"]);
    let heads: Vec<&str> = heads.expect(0).text().lines().collect();
    assert!(heads[0].starts_with("changes/") && heads[1].starts_with("register/0:"), "{heads:?}");
    let verify = |data: &str, head: &str| place.run(&["verify", "--data", data, "--head", head]);
    for head in &heads {
        verify("data", head).expect(0);
    }
    let exported = place.run(&["export", "--data", "data"]);
    place.run_with(&["import", "-", "--data", "other"], exported.expect(0).text().as_bytes()).expect(0);
    let other = place.run(&["audit", "head", "--data", "other"]);
    let (number, _) = heads[0].split_once(':').unwrap();
    assert!(other.expect(0).text().contains(number), "as many changes");
    let told = |data: &str, head: &str, words: &str| {
        let told = verify(data, head);
        assert!(told.expect(3).text().contains(words), "{}", told.text());
    };
    told("other", heads[0], "is another than the head says");
    told("data", &heads[0].replace("changes/", "changes/9"), "the history was cut");
    verify("data", "changes/1").expect(2).says("a head is changes/");
    // A running server tells the same.
    let server = Process::start(&place.path("data"));
    let told = place.run(&["audit", "head", "--data", "data", "--json"]);
    assert!(told.expect(0).text().contains(heads[0]), "{}", told.text());
    verify("data", heads[0]).expect(0);
    drop(server);
}

#[test]
fn a_person_is_told_in_words_who_looked() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let who = ["audit", "who", "--data", "data", "--patient", "200"];
    for language in ["et", "en"] {
        let told = place.run(&[&who[..], &["--language", language]].concat());
        let words = if language == "et" { "vaatas, kes on andmeid vaadanud" } else { "looked at who had looked" };
        assert!(told.expect(0).text().contains(words), "{}", told.text());
    }
    drop(server);
    // The newest comes first: this question, then the two before it.
    let told = place.run(&who);
    assert_eq!(told.expect(0).text().matches("teenuse käitaja").count(), 3, "{}", told.text());
    let written = place.run(&["audit", "export", "--data", "data"]);
    let asked = |command| written.text().matches(&format!(r#""display":"{command}""#)).count();
    assert_eq!((asked("hcert audit who"), asked("hcert audit export")), (3, 1), "{}", written.text());
    place.run(&["audit", "who", "--data", "data", "--patient", "nobody at all"]).expect(2).says("--patient takes");
}

#[test]
fn a_changed_trail_is_told_with_its_place() {
    let place = Place::new();
    drop(Process::start(&place.path("data")));
    for _ in 0..3 {
        place.run(&VERIFY).expect(0);
    }
    let file = place.path("data/audit/00000001.log");
    let mut bytes = fs::read(&file).unwrap();
    bytes[150] ^= 1;
    fs::write(&file, bytes).unwrap();
    place.run(&VERIFY).expect(3).says("the audit trail is not as it was written");
    place.run(&["audit", "head", "--data", "data"]).expect(3).says("hcert audit verify says what is wrong");
}

/// What was seen: a trail whose end was cut passed as whole, once a byte of the store was another too.
#[test]
fn a_trail_passes_beside_a_damaged_store_only_with_a_head_kept_elsewhere() {
    let place = Place::new();
    drop(Process::start(&place.path("data")));
    let head = place.run(&["audit", "head", "--data", "data"]);
    let head = head.expect(0).text().lines().find(|line| line.contains("audit/")).expect("a head").to_owned();
    let head = head.split_whitespace().find(|word| word.starts_with("audit/")).expect("a head").to_owned();
    fs::write(place.path("data/store.redb"), "").unwrap();
    let told = place.run(&VERIFY);
    assert!(told.expect(3).text().contains("give one with --head"), "{}", told.text());
    let told = place.run(&["audit", "verify", "--data", "data", "--head", &head]);
    assert!(told.expect(0).text().contains("was not compared with the store: "), "{}", told.text());
}

/// What was seen: the head of a trail whose end was cut off was printed as one to keep.
#[test]
fn no_head_is_printed_of_a_trail_that_was_cut() {
    let place = Place::new();
    drop(Process::start(&place.path("data")));
    let file = place.path("data/audit/00000001.log");
    let early = fs::read(&file).unwrap();
    assert!(Process::start(&place.path("data")).stop().success());
    place.run(&["audit", "head", "--data", "data"]).expect(0);
    fs::write(&file, early).unwrap();
    place.run(&VERIFY).expect(3).says("next: ");
    place.run(&["audit", "head", "--data", "data"]).expect(3).says("hcert audit verify says what is wrong");
}

/// Without a server an import is one event at its end. A kill before it left more changes without an event than a crash of a server
/// does, and the trail was called cut.
#[test]
fn a_trail_is_whole_wherever_an_import_was_killed() {
    let place = Place::new();
    let corpus = place.corpus(3_000, 5);
    // A file of the store says nothing of what was committed to it; the index does.
    let is_there = |data: &Path| data.join("store.redb").is_file();
    let is_written = |data: &Path| fs::metadata(data.join("store.redb")).is_ok_and(|file| file.len() > 0);
    let is_indexed = |data: &Path| {
        let meta = fs::read_to_string(data.join("index/meta.json")).unwrap_or_default();
        let seq = meta.split(r#"\"seq\":"#).nth(1).and_then(|rest| rest.split(',').next());
        seq.is_some_and(|seq| seq.parse::<u64>().unwrap() > 1_000)
    };
    let moments: [&dyn Fn(&Path) -> bool; 3] = [&is_there, &is_written, &is_indexed];
    let mut most = 0;
    for (number, has_come) in moments.into_iter().enumerate() {
        let data = format!("data-{number}");
        let mut import = place.command(&["import", "-", "--data", &data]);
        let mut import = import.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = import.stdin.take().unwrap();
        // Many pieces are read ahead of the one that is stored: the same lines follow, and then the import waits for more.
        let lines = corpus.repeat(4);
        let feeding = std::thread::spawn(move || stdin.write_all(&lines).map(|()| stdin));
        eventually("the import has come far enough", || has_come(&place.path(&data)));
        import.kill().unwrap();
        import.wait().unwrap();
        drop(feeding.join().unwrap());
        let has_trail = place.path(&data).join("audit").is_dir();
        let verified = place.run(&["verify", "--data", &data]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.text(), verified.said);
        let changes: u64 =
            verified.text().split("up to change ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        most = most.max(changes);
        for _ in 0..2 {
            let ran = place.run(&["audit", "verify", "--data", &data]);
            assert_eq!(ran.code, Some(if has_trail { 0 } else { 1 }), "{changes} changes: {}{}", ran.text(), ran.said);
        }
        // What was stored is there, and the rest follows.
        place.run_with(&["import", "-", "--data", &data], &corpus).expect(0);
        place.run(&["audit", "verify", "--data", &data]).expect(0);
    }
    assert!(most > 1_000, "no kill came behind more than {most} changes");
}

#[test]
fn a_trail_was_cut_that_tells_of_no_import_beside_what_was_imported() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], b"").expect(0);
    let trail = place.path("data/audit/00000001.log");
    let before = fs::read(&trail).unwrap();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(1_000, 5)).expect(0);
    fs::write(&trail, before).unwrap();
    place.run(&["audit", "verify", "--data", "data"]).expect(3);
    place.run(&["verify", "--data", "data"]).expect(3);
}

/// What was seen: a store that was copied back was called whole, although the trail beside it knew what had become of a certificate.
#[test]
fn a_store_that_was_set_back_by_copying_is_told_until_it_is_accepted() {
    let place = Place::new();
    let (data, kept) = (place.path("data"), place.path("kept.redb"));
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(5, 3)).expect(0);
    fs::copy(data.join("store.redb"), &kept).unwrap();
    // Some of them are there in other words.
    assert!(
        place.run_with(&["import", "-", "--data", "data"], &place.corpus(7, 3)).expect(1).said.contains("4 stored")
    );
    place.run(&VERIFY).expect(0);
    fs::copy(&kept, data.join("store.redb")).unwrap();
    fs::remove_dir_all(data.join("index")).unwrap();
    // Without the journal of that time nothing opens it.
    place
        .run(&["dev", "--listen", "127.0.0.1:0", "--data", "data"])
        .expect(3)
        .says("store.redb is older than store.journal-");
    place.run(&["verify", "--data", "data"]).expect(3);
    for journal in ["store.journal-0", "store.journal-1"] {
        drop(fs::remove_file(data.join(journal)));
    }
    place.run(&VERIFY).expect(3);
    place.run(&["verify", "--data", "data"]).expect(3);
    for _ in 0..2 {
        let start = ["dev", "--listen", "127.0.0.1:0", "--data", "data"];
        place.run(&start).expect(3).says("what was acknowledged is missing");
        place.run_with(&["import", "-", "--data", "data"], &place.corpus(5, 3)).expect(3).says("audit accept");
        assert!(place.run(&VERIFY).expect(3).text().contains("it was set back"));
    }
    place.run(&["audit", "accept", "--data", "data"]).expect(0);
    place.run(&VERIFY).expect(0);
}

/// What was seen: an acknowledged change whose record was damaged was taken for an end that was torn, and its id given again.
#[test]
fn a_damaged_end_of_the_journal_is_told_by_the_trail_and_no_id_is_given_twice() {
    let place = Place::new();
    let data = place.path("data");
    let create = |server: &Process| {
        let created = server.client().send("POST", "/Composition", &[], &draft()).unwrap();
        assert_eq!(created.status, 201, "{}", created.text());
        created.header("location").unwrap().to_owned()
    };
    let server = Process::start(&data);
    let given: Vec<String> = (0..3).map(|_| create(&server)).collect();
    server.kill();
    // The last byte that is no zero is of the last record's hash.
    for journal in ["store.journal-0", "store.journal-1"] {
        let Ok(mut bytes) = fs::read(data.join(journal)) else { continue };
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0).filter(|last| *last >= 512) {
            bytes[last] ^= 1;
            fs::write(data.join(journal), bytes).unwrap();
        }
    }
    let start = ["dev", "--listen", "127.0.0.1:0", "--data", "data"];
    place.run(&start).expect(3).says("the audit trail names change 3, and the store ends with change 2");
    place.run(&["verify", "--data", "data"]).expect(3);
    // An archive of it would be restored as one that has all, and a salvage named nothing as lost.
    place.run(&["backup", "lacking.tar", "--data", "data"]).expect(3).says("what was acknowledged is missing");
    assert!(!place.path("lacking.tar").exists());
    place.run(&["export", "--salvage", "--out", "left.ndjson", "--data", "data"]).expect(3);
    let report = fs::read_to_string(place.path("left.ndjson.report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["changes_unknown"], serde_json::json!([[3, 3]]), "{report}");
    // What was seen: without the trail it knew all and had lost nothing.
    fs::rename(place.path("data/audit"), place.path("audit")).unwrap();
    place.run(&["export", "--salvage", "--force", "--out", "left.ndjson", "--data", "data"]).expect(3);
    let report = fs::read_to_string(place.path("left.ndjson.report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["knows_all"], &report["problems"][0]), (&false.into(), &"the audit trail is missing".into()));
    fs::rename(place.path("audit"), place.path("data/audit")).unwrap();
    place.run(&["audit", "accept", "--data", "data"]).expect(0);
    place.run(&["backup", "accepted.tar", "--data", "data"]).expect(0);
    let server = Process::start(&data);
    assert!(!given.contains(&create(&server)), "{given:?}");
}

/// The journal of a server that was killed, whatever happened to it: the start is refused, and nothing is changed.
#[test]
fn a_journal_that_is_cut_damaged_or_gone_is_damage_for_every_command() {
    let place = Place::new();
    let data = place.path("data");
    let server = Process::start(&data);
    for _ in 0..3 {
        assert_eq!(server.client().send("POST", "/Composition", &[], &draft()).unwrap().status, 201);
    }
    server.kill();
    let in_use = |path: &Path| fs::read(path).is_ok_and(|bytes| bytes[512..].iter().any(|byte| *byte != 0));
    let journal =
        ["store.journal-0", "store.journal-1"].map(|name| data.join(name)).into_iter().find(|path| in_use(path));
    let journal = journal.expect("three creates are behind the checkpoint");
    let whole = fs::read(&journal).unwrap();
    let damages: [(&str, Damage); 4] = [
        ("is cut", &|bytes| bytes.truncate(700)),
        ("is cut", &|bytes| bytes.truncate(1_000_000)),
        ("is damaged at byte", &|bytes| bytes[600] ^= 1),
        ("the beginning of", &|bytes| bytes[20] ^= 1),
    ];
    for (words, damage) in damages {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&journal, &bytes).unwrap();
        for command in [&["dev", "--listen", "127.0.0.1:0"][..], &["verify"], &["stats"], &["backup", "archive.tar"]] {
            let ran = place.run(&[command, &["--data", "data"]].concat());
            let told = format!("{}{}", ran.expect(3).said, ran.text());
            assert!(told.contains(words), "{command:?}: {words:?} is not in {told}");
        }
        assert_eq!(fs::read(&journal).unwrap(), bytes, "{words}");
    }
    fs::remove_file(&journal).unwrap();
    place.run(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]).expect(3).says("is missing");
    fs::write(&journal, &whole).unwrap();
    place.run(&["verify", "--data", "data"]).expect(0);
}

type Damage<'d> = &'d dyn Fn(&mut Vec<u8>);

fn draft() -> Vec<u8> {
    fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).expect("an example")
}
