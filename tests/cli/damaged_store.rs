//! A store damaged in many ways: every command says so in a sentence, with exit code 3 and what is next, and what can be read is salvaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{Place, lines};

/// What no command may ever say.
const NEVER: [&str; 4] = ["panicked", "RUST_BACKTRACE", "internal error", "unreachable"];

type Damage<'d> = (&'d str, fn(&mut Vec<u8>), Expected);

/// What is expected of the check.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Damaged,
    Any,
}

#[rustfmt::skip]
const DAMAGES: &[Damage] = &[
    ("the whole header",       |bytes| bytes[..4096].fill(0),                             Expected::Damaged),
    ("the magic number",       |bytes| bytes[0] ^= 1,                                     Expected::Damaged),
    ("both commit slots",      |bytes| { bytes[100] ^= 1; bytes[228] ^= 1; },             Expected::Damaged),
    ("one commit slot",        |bytes| bytes[100] ^= 1,                                   Expected::Any),
    ("the byte of the commit", |bytes| bytes[9] ^= 1,                                     Expected::Any),
    ("sizes of pages",         |bytes| bytes[12..24].fill(0xFF),                          Expected::Damaged),
    ("20 KB at 5000",          |bytes| bytes[5000..25_480].fill(0),                       Expected::Damaged),
    ("512 bytes of 0xFF",      |bytes| bytes[4608..5120].fill(0xFF),                      Expected::Damaged),
    ("a page of 0xFF",         |bytes| { let at = (bytes.len() / 2) & !4095; bytes[at..at + 4096].fill(0xFF); }, Expected::Any),
    ("40 random bytes",        |bytes| (0..40).for_each(|at| { let at = 4096 + at * (bytes.len() - 4096) / 40; bytes[at] = !bytes[at]; }), Expected::Damaged),
    ("cut to half",            |bytes| bytes.truncate(bytes.len() / 2),                   Expected::Damaged),
    ("cut by 100 bytes",       |bytes| bytes.truncate(bytes.len() - 100),                 Expected::Any),
    ("cut to 100 bytes",       |bytes| bytes.truncate(100),                               Expected::Damaged),
    ("empty",                  |bytes| bytes.clear(),                                     Expected::Damaged),
    ("something else",         |bytes| *bytes = b"not a database\n".repeat(1000),         Expected::Damaged),
];

/// Id of a certificate to its lines.
fn by_certificate(export: &[u8]) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut found: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for line in lines(export) {
        let entry: serde_json::Value = serde_json::from_slice(line).unwrap();
        let id = entry["fullUrl"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
        found.entry(id).or_default().push(line.to_vec());
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            // A killed server leaves its socket, which cannot be copied.
            false if path.extension().is_some_and(|kind| kind == "sock") => {}
            false => drop(fs::copy(&path, target).unwrap()),
        }
    }
}

#[test]
fn every_command_says_that_the_store_is_damaged_and_the_rest_is_salvaged() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "whole"], &place.corpus(150, 5)).expect(0);
    let whole = by_certificate(&place.run(&["export", "--data", "whole"]).out);
    for (number, (what, damage, expected)) in DAMAGES.iter().enumerate() {
        let data = format!("data-{number}");
        copy(&place.path("whole"), &place.path(&data));
        let store = place.path(&data).join("store.redb");
        let mut bytes = fs::read(&store).unwrap();
        damage(&mut bytes);
        fs::write(&store, &bytes).unwrap();
        let trail = fs::read(place.path(&data).join("audit/00000001.log")).unwrap();
        let commands: &[&[&str]] =
            &[&["verify"], &["stats"], &["export"], &["audit", "verify"], &["backup", "kept.tar"]];
        for command in commands {
            let ran = place.run(&[command, &["--data", data.as_str()][..]].concat());
            let context = format!("{what}: {command:?} ended with {:?}: {}{}", ran.code, ran.text(), ran.said);
            assert!(NEVER.iter().all(|word| !ran.said.contains(word)), "{context}");
            // The trail is whole, so its own check may say so.
            assert!(matches!(ran.code, Some(0 | 3)), "{context}");
            assert!(ran.code == Some(0) || ran.said.contains("next: "), "{context}");
            if *expected == Expected::Damaged && *command == ["verify"] {
                assert_eq!(ran.code, Some(3), "{context}");
                let trail_after = fs::read(place.path(&data).join("audit/00000001.log")).unwrap();
                assert!(trail_after == trail, "{what}: a check that found damage wrote to the trail");
            }
            drop(fs::remove_file(place.path("kept.tar")));
            drop(fs::remove_file(place.path("kept.tar.sha256")));
        }
        assert!(fs::read(&store).unwrap() == bytes, "{what}: a command that looks changed the store");
        salvaged(&place, &data, what, &whole);
        let listen = ["--listen", "127.0.0.1:0", "--data", data.as_str()];
        let mut serve = place.command(&[&["dev"], &listen[..]].concat());
        serve.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        // A start that succeeds is ended; damage may lie where a start does not read.
        let ran = super::Ran::from(stopped(serve));
        let context = format!("{what}: serve ended with {:?}: {}", ran.code, ran.said);
        assert!(NEVER.iter().all(|word| !ran.said.contains(word)), "{context}");
        assert!(matches!(ran.code, Some(0 | 3)), "{context}");
        assert!(ran.code == Some(0) || ran.said.contains("next: "), "{context}");
        fs::remove_dir_all(place.path(&data)).unwrap();
    }
}

/// Runs a server until it listens or ends, stops it, and gives what it said.
fn stopped(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Where it listens is its first line; one that does not start has none.
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    // SAFETY: the child was started above and is waited for below.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    child.wait_with_output().unwrap()
}

/// Salvages, imports what is complete into a new folder, and compares it with what was there.
fn salvaged(place: &Place, data: &str, what: &str, whole: &BTreeMap<String, Vec<Vec<u8>>>) {
    let (out, fresh) = (format!("{data}.ndjson"), format!("{data}-fresh"));
    let ran = place.run(&["export", "--salvage", "--out", &out, "--data", data]);
    assert!(matches!(ran.code, Some(0 | 3)), "{what}: {}", ran.said);
    assert!(NEVER.iter().all(|word| !ran.said.contains(word)), "{what}: {}", ran.said);
    let found = by_certificate(&fs::read(place.path(&out)).unwrap());
    for (id, versions) in &found {
        assert!(whole.get(id) == Some(versions), "{what}: Composition/{id} is not what it was");
    }
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path(&format!("{out}.report.json"))).unwrap()).unwrap();
    let named: BTreeSet<&str> = report["incomplete"].as_object().unwrap().keys().map(String::as_str).collect();
    let lost = whole.keys().filter(|id| !found.contains_key(*id) && !named.contains(id.as_str())).count();
    let unknown = report["changes_unknown"].as_array().unwrap().len();
    // Nothing tells how much a file held of which only the beginning, or nothing, is left.
    let is_cut = what.starts_with("cut") || what == "empty" || what == "something else";
    assert!(lost == 0 || unknown > 0 || is_cut, "{what}: {lost} certificates are lost and not named: {report}");
    assert!(ran.code == Some(3) || found.len() == whole.len(), "{what}: versions are lost, and it is called whole");
    place.run(&["import", &out, "--data", &fresh]).expect(0);
    let imported = by_certificate(&place.run(&["export", "--data", &fresh]).out);
    assert!(imported == found, "{what}: the import differs from the salvage");
    fs::remove_dir_all(place.path(&fresh)).unwrap();
}

#[test]
fn a_whole_store_is_salvaged_as_it_is_exported() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(60, 9)).expect(0);
    place.run(&["export", "--salvage", "--out", "all", "--data", "data"]).expect(0);
    assert!(fs::read(place.path("all")).unwrap() == place.export(), "all versions in their order");
    assert!(!place.path("all.incomplete").exists());
    place.run(&["export", "--salvage", "--out", "all", "--data", "data"]).expect(1).says("all");
    place.run(&["export", "--salvage", "--data", "data"]).expect(2).says("--out");
    place.run(&["export", "--salvage", "--out", "-", "--data", "data"]).expect(2).says("--out");
    fs::write(place.path("other.incomplete"), "").unwrap();
    place.run(&["export", "--salvage", "--out", "other", "--data", "data"]).expect(1).says("other.incomplete");
    assert!(!place.path("other").exists() && !place.path("other.report.json").exists());
    let forced = |out: &str| place.run(&["export", "--salvage", "--force", "--out", out, "--data", "data"]);
    for name in ["other", "other.report.json"] {
        fs::write(place.path(name), "old").unwrap();
    }
    forced("other").expect(0);
    for ending in ["", ".report.json"] {
        let [all, other] = ["all", "other"].map(|name| fs::read(place.path(&format!("{name}{ending}"))).unwrap());
        assert!(all == other, "{ending}");
    }
    assert!(!place.path("other.incomplete").exists(), "it would be taken for a part of this salvage");
    fs::create_dir(place.path("third.report.json")).unwrap();
    forced("third").expect(1).says("third.report.json: this is a folder");
    forced("/dev/full").expect(1).says("/dev/full: --salvage writes three regular files");
    assert!(!place.path("third").exists());
    copy(&place.path("data"), &place.path("damaged"));
    fs::write(place.path("damaged/store.redb"), "").unwrap();
    place.run(&["export", "--out", "next", "--data", "damaged"]).expect(3);
    assert!(!place.path("next").exists(), "the name is free for the salvage");
    let server = super::Process::start(&place.path("data"));
    place.run(&["export", "--salvage", "--out", "more", "--data", "data"]).expect(1).says("in use");
    drop(server);
}

/// Whenever a salvage is killed, each of its files is the one before or complete, and the next one replaces them all.
#[test]
fn a_salvage_that_is_killed_leaves_no_part_of_a_file_in_the_place_of_another() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(400, 9)).expect(0);
    let store = place.path("data/store.redb");
    let mut bytes = fs::read(&store).unwrap();
    for page in bytes.chunks_mut(4096).skip(20).step_by(40) {
        page.fill(0xFF);
    }
    fs::write(&store, &bytes).unwrap();
    let arguments = |out| ["export", "--salvage", "--force", "--out", out, "--data", "data"];
    let files =
        |out: &str| ["", ".incomplete", ".report.json"].map(|ending| fs::read(place.path(&format!("{out}{ending}"))));
    place.run(&arguments("whole")).expect(3);
    let whole = files("whole").map(Result::unwrap);
    assert!(whole.iter().all(|content| !content.is_empty()));
    for ending in ["", ".incomplete", ".report.json"] {
        fs::write(place.path(&format!("out{ending}")), "old").unwrap();
    }
    let mut after = std::time::Duration::from_millis(1);
    let mut killed = 0;
    while files("out").into_iter().any(|content| content.unwrap() == b"old") {
        let mut child = place.command(&arguments("out")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(after);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        for (content, whole) in files("out").into_iter().map(Result::unwrap).zip(&whole) {
            assert!(content == b"old" || content == *whole, "a part of a file after {after:?}");
        }
        after = after * 3 / 2;
    }
    assert!(killed > 0);
    place.run(&arguments("out")).expect(3);
    assert!(files("out").map(Result::unwrap) == whole);
}

/// The end of a damaged trail is evidence: a check that finds damage leaves it as it is.
#[test]
fn a_check_of_a_damaged_trail_changes_no_byte_of_it() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let path = place.path("data/audit/00000001.log");
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    // A whole record that was changed, with others behind it, and the last one cut.
    bytes[used / 2] ^= 1;
    bytes[used - 10..=used].fill(0);
    fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        for command in [&["audit", "verify"][..], &["verify"]] {
            place.run(&[command, &["--data", "data"]].concat()).expect(3);
            assert!(fs::read(&path).unwrap() == bytes, "{command:?} changed the trail");
        }
    }
}

/// What is done to a file, with its name.
type Harm = (&'static str, fn(&Path));

#[rustfmt::skip]
const HARMS: &[Harm] = &[
    ("emptied",              |path| fs::write(path, "").unwrap()),
    ("cut to half",          |path| { let bytes = fs::read(path).unwrap(); fs::write(path, &bytes[..bytes.len() / 2]).unwrap(); }),
    ("changed",              |path| { let mut bytes = fs::read(path).unwrap(); let at = bytes.len() / 3; if let Some(byte) = bytes.get_mut(at) { *byte ^= 0x55; } fs::write(path, bytes).unwrap(); }),
    ("removed",              |path| fs::remove_file(path).unwrap()),
    ("replaced by a folder", |path| { fs::remove_file(path).unwrap(); fs::create_dir(path).unwrap(); }),
];

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
    found.sort();
}

#[test]
fn every_file_of_a_data_folder_can_be_damaged_and_no_command_panics() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "whole"], &place.corpus(30, 5)).expect(0);
    drop(super::Process::start(&place.path("whole")));
    let mut all = Vec::new();
    files(&place.path("whole"), &mut all);
    // One file of each kind. A killed server leaves its socket, which is no file.
    all.retain(|path| fs::metadata(path).unwrap().is_file());
    let mut kinds = BTreeSet::new();
    all.retain(|path| kinds.insert((path.parent().unwrap().to_owned(), path.extension().map(ToOwned::to_owned))));
    assert!(all.len() >= 5, "{all:?}");
    for path in all {
        let name = path.strip_prefix(place.path("whole")).unwrap().to_owned();
        for (harm, run) in HARMS {
            copy(&place.path("whole"), &place.path("data"));
            run(&place.path("data").join(&name));
            for command in [&["verify"][..], &["audit", "verify"], &["stats"], &["export"]] {
                let ran = place.run(&[command, &["--data", "data"]].concat());
                let context = format!(
                    "{} {harm}: {command:?} ended with {:?}: {}{}",
                    name.display(),
                    ran.code,
                    ran.text(),
                    ran.said
                );
                assert!(NEVER.iter().all(|word| !ran.said.contains(word)), "{context}");
                assert!(matches!(ran.code, Some(0 | 1 | 3)), "{context}");
                assert!(ran.code == Some(0) || !ran.said.trim().is_empty(), "{context}");
            }
            fs::remove_dir_all(place.path("data")).unwrap();
        }
    }
}

/// A new store beside the trail or the index of another one would give the same ids again.
#[test]
fn no_new_store_is_made_beside_what_is_left_of_another() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let (store, gone) = (place.path("data/store.redb"), place.path("gone.redb"));
    fs::rename(&store, &gone).unwrap();
    let serve = ["dev", "--listen", "127.0.0.1:0", "--data", "data"];
    let ran = place.run(&serve);
    ran.expect(3).says("store.redb is gone, and audit/ holds events up to change ").says("next: ");
    place.run_with(&["import", "-", "--data", "data"], b"").expect(3);
    assert!(!store.exists());
    fs::rename(place.path("data/audit"), place.path("audit")).unwrap();
    place.run(&serve).expect(3).says("index/ is there");
    fs::write(&store, "").unwrap();
    place.run(&serve).expect(3).says("the store is damaged: its file is empty");
    assert_eq!(fs::read(&store).unwrap(), b"");
    fs::remove_file(&store).unwrap();
    fs::remove_dir_all(place.path("data/index")).unwrap();
    place.run(&serve).expect(3).says("store.journal-0 is there");
    let without_journal = || {
        for journal in ["data/store.journal-0", "data/store.journal-1"] {
            drop(fs::remove_file(place.path(journal)));
        }
    };
    without_journal();
    assert!(super::Process::start(&place.path("data")).stop().success());
    // The index alone may be removed, and events of a server without changes keep nobody from a new store.
    fs::remove_file(&store).unwrap();
    fs::remove_dir_all(place.path("data/index")).unwrap();
    without_journal();
    assert!(super::Process::start(&place.path("data")).stop().success());
}

#[test]
fn a_store_with_changes_whose_trail_is_gone_is_not_whole_and_a_check_makes_no_trail() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    place.run(&["verify", "--data", "data"]).expect(0);
    fs::remove_dir_all(place.path("data/audit")).unwrap();
    for _ in 0..2 {
        let ran = place.run(&["verify", "--data", "data"]);
        assert!(ran.expect(3).text().contains("the audit trail is missing"), "{}", ran.text());
        assert!(!place.path("data/audit").exists());
    }
}

/// What was seen: an export through a running server left out what it could not read, ended with 0, and replaced a good one; and a store
/// with damaged patients called its registry unreachable. Health and log told of neither.
#[test]
fn a_running_server_tells_the_damage_that_a_command_or_its_registry_meets() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "whole"], &place.corpus(60, 5)).expect(0);
    let people = place.run(&["generate", "--count", "60", "--seed", "5", "--patients"]);
    place.run_with(&["patients", "import", "-", "--data", "whole"], &people.out).expect(0);
    let bytes = fs::read(place.path("whole/store.redb")).unwrap();
    let used = (1..bytes.len() / 4096).filter(|page| bytes[page * 4096..][..4096].iter().any(|byte| *byte != 0));
    let (mut exports, mut registries) = (0, 0);
    for page in used {
        if exports >= 2 && registries >= 1 {
            break;
        }
        copy(&place.path("whole"), &place.path("data"));
        let mut damaged = bytes.clone();
        damaged[page * 4096..][..4096].fill(0);
        fs::write(place.path("data/store.redb"), damaged).unwrap();
        let is_met = |arguments: &[&str]| place.run(&[arguments, &["--data", "data"]].concat()).code == Some(3);
        let of = (is_met(&["export"]), is_met(&["patients", "list"]));
        if of.0 && exports < 2 || of.1 && registries < 1 {
            let log = fs::File::create(place.path("log")).unwrap();
            let mut serve = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
            let mut child = serve.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
            // A server that meets the damage while it starts refuses to, and prints no address.
            if let Some((_, at)) = first.split_once("://") {
                let address = at.split('/').next().unwrap().parse().expect("the first line tells the address");
                fs::write(place.path("kept"), "good").unwrap();
                let exported = place.run(&["export", "--out", "kept", "--force", "--data", "data"]);
                exported.expect(if of.0 { 3 } else { 0 });
                assert!(!of.0 || fs::read(place.path("kept")).unwrap() == b"good", "page {page}: a part replaced it");
                place.run(&["patients", "list", "--data", "data"]).expect(if of.1 { 3 } else { 0 });
                let mut client = super::process::Client::new(address);
                for id in (1..=60).filter(|_| of.1) {
                    let told = client.get(&format!("/Composition?subject=Patient/{id}"));
                    assert!(told.status != 503, "page {page}: {}", told.text());
                }
                // SAFETY: the child was started above and is waited for below.
                unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
                (exports, registries) = (exports + i32::from(of.0), registries + i32::from(of.1));
            }
            child.wait().unwrap();
            let said = fs::read_to_string(place.path("log")).unwrap();
            let tells = said.contains("\"store.damaged\"") || said.contains("the store is damaged");
            assert!(tells && !said.contains("panicked"), "page {page}: {said}");
        }
        fs::remove_dir_all(place.path("data")).unwrap();
    }
    assert!(exports >= 2 && registries >= 1, "{exports} {registries}");
}

/// What was seen: nothing could be saved from a server whose store was removed, though it still had all of it, and a second server called
/// the folder damaged.
#[test]
fn what_a_server_still_has_of_a_store_that_was_removed_can_be_saved() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let whole = place.run(&["export", "--data", "data"]).out;
    let server = super::Process::start(&place.path("data"));
    fs::remove_file(place.path("data/store.redb")).unwrap();
    assert!(place.run(&["export", "--data", "data"]).out == whole);
    for command in [&["backup", "kept.tar"][..], &["stats"], &["clock"], &["log", "level"]] {
        place.run(&[command, &["--data", "data"]].concat()).expect(0);
    }
    let verified = place.run(&["verify", "--data", "data"]);
    verified.expect(3).says("before that server is stopped, `hcert backup FILE`");
    assert!(verified.text().contains("removed, moved, replaced or cut"), "{}", verified.text());
    let second = place.run(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
    second.expect(1).says("the data folder is in use by process");
    drop(server);
    place.run(&["export", "--data", "data"]).expect(1).says("there is no store in this folder");
    place.run(&["restore", "kept.tar", "--data", "fresh"]).expect(0);
    assert!(place.run(&["export", "--data", "fresh"]).out == whole);
}

/// What a check finds stays in the health of a running server.
#[test]
fn a_running_server_remembers_what_a_check_of_its_trail_found() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let server = super::Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
    });
    let audit = || {
        let mut client = super::process::Client::new(server.watched_at.unwrap());
        let health = client.send_to("GET", "/health", &[], b"").unwrap().json();
        health["parts"]["audit"]["status"].as_str().map(ToOwned::to_owned)
    };
    assert_eq!(audit().as_deref(), Some("ok"));
    let path = place.path("data/audit/00000001.log");
    let bytes = fs::read(&path).unwrap();
    let at = bytes.iter().rposition(|byte| *byte != 0).unwrap() - 20;
    for (byte, code, status) in [(!bytes[at], 3, "degraded"), (bytes[at], 0, "ok")] {
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[byte], at as u64).unwrap();
        for command in [&["audit", "verify"][..], &["verify"]] {
            place.run(&[command, &["--data", "data"]].concat()).expect(code);
            super::eventually("the health follows", || audit().as_deref() == Some(status));
        }
    }
    assert!(server.log().contains("audit.damaged"));
}
