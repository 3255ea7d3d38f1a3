//! Folders of every format there ever was, opened by this release.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::process::{Process, hcert};
use super::{ARCHIVES, FORMAT, Folder};

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    let data = folder.data();
    let mut command = hcert(arguments);
    command.args(["--data", data.to_str().expect("temporary folders have names in ASCII")]);
    // Far from any hcert.toml.
    command.current_dir(folder.path("")).env("HCERT__AUDIT__FILE_MB", "1").output().unwrap()
}

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// As `make` keeps an answer: addresses relative to the base address of the server.
fn kept(answer: Value) -> Value {
    if answer["resourceType"] != "Bundle" {
        return answer;
    }
    let entries = answer["entry"].as_array().cloned().unwrap_or_default();
    let name = |entry: &Value| match &entry["fullUrl"] {
        Value::Null => entry["response"]["location"].clone(),
        name => name.as_str().and_then(|name| Some(json!(name.split_once("/fhir/")?.1))).unwrap_or(name.clone()),
    };
    json!({"total": answer["total"], "found": entries.iter().map(name).collect::<Vec<_>>()})
}

fn compare_answers(folder: &Folder) {
    let process = Process::start_with(&folder.data(), |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    let mut client = process.client();
    let mut compared = 0;
    for line in folder.text("answers.ndjson").lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let path = expected["path"].as_str().unwrap();
        let answer = client.get(&format!("/{path}"));
        assert_eq!(kept(answer.json()), expected["answer"], "{path}");
        compared += 1;
    }
    assert!(compared > 10, "{compared} answers were kept");
    // A running server is checked as well, all but the pages of its file.
    let verified = run(folder, &["verify", "--json"]);
    let verified: Value = serde_json::from_str(&told(&verified)).unwrap();
    assert_eq!((&verified["problems"], &verified["problems_untold"]), (&json!([]), &json!(0)));
    assert!(process.stop().success());
}

#[test]
fn a_folder_of_every_format_says_what_it_said_and_is_whole() {
    for name in ARCHIVES {
        let folder = Folder::unpack(name);
        // By commands that only look first: they read it as it will be, and leave it as it is.
        let before = fs::read(folder.store()).unwrap();
        assert_eq!(told(&run(&folder, &["export"])), folder.text("versions.ndjson"), "{name}");
        let verified = told(&run(&folder, &["verify"]));
        assert!(verified.contains("everything is as it was written"), "{name}: {verified}");
        assert!(verified.contains("as the next start will bring it to format"), "{name}: {verified}");
        let copy = folder.path("data").join(format!("store.redb.{name}"));
        assert!(fs::read(folder.store()).unwrap() == before && !copy.exists(), "{name}");
        // Then by one that may write: it migrates as the server does.
        assert_eq!(told(&run(&folder, &["patients", "list"])), folder.text("patients.ndjson"), "{name}");
        assert!(copy.is_file(), "{name}");
        compare_answers(&folder);
        let verified = run(&folder, &["verify"]);
        assert!(told(&verified).contains("everything is as it was written"), "{verified:?}");
        let stats: Value = serde_json::from_str(&told(&run(&folder, &["stats", "--json"]))).unwrap();
        assert_eq!(stats["formats"]["store"], FORMAT, "{stats}");
        assert_eq!((&stats["certificates"], &stats["versions"]), (&json!(37), &json!(54)));
    }
}

#[test]
fn a_folder_of_every_format_is_migrated_by_the_server_too() {
    for name in ARCHIVES {
        let folder = Folder::unpack(name);
        compare_answers(&folder);
        assert_eq!(told(&run(&folder, &["export"])), folder.text("versions.ndjson"), "{name}");
    }
}

/// Its pieces have records of format 2, and its code list is a member of its own.
#[test]
fn a_backup_of_an_earlier_form_is_restored_as_its_folder_is_migrated() {
    let folder = Folder::unpack("format-2");
    let lists = told(&run(&folder, &["terminology", "list"]));
    fs::rename(folder.data(), folder.path("migrated")).unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders/backup-3.tar.zst");
    let archive = folder.path("backup.tar");
    fs::write(&archive, zstd::decode_all(fs::File::open(packed).unwrap()).unwrap()).unwrap();
    let archive = archive.to_str().unwrap();
    told(&run(&folder, &["restore", "--check", archive]));
    told(&run(&folder, &["restore", archive, "--verify"]));
    assert_eq!(told(&run(&folder, &["export"])), folder.text("versions.ndjson"));
    assert_eq!(told(&run(&folder, &["patients", "list"])), folder.text("patients.ndjson"));
    assert_eq!(told(&run(&folder, &["terminology", "list"])), lists);
    compare_answers(&folder);
}

#[test]
fn a_folder_that_is_missing_cannot_be_checked_and_none_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("data");
    for command in ["verify", "compact", "stats"] {
        let data = missing.to_str().unwrap();
        let ran = hcert(&[command, "--data", data]).current_dir(folder.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("there is no data folder"), "{ran:?}");
        assert!(!Path::new(&missing).exists());
    }
}
