//! One folder, one process: who comes second is told who was first.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Folder;
use super::process::{Process, eventually, hcert};

#[test]
fn a_second_server_is_told_which_process_has_the_folder() {
    let folder = Folder::newest();
    let data = folder.data();
    let first = Process::start_with(&data, |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    // With an address that is in use as well, the folder is what is told.
    for listen in ["127.0.0.1:0", &first.address.to_string()] {
        let mut second = hcert(&["dev", "--listen", listen, "--data", data.to_str().unwrap()]);
        let second = second.current_dir(folder.path("")).output().unwrap();
        let told = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(1), "{told}");
        assert!(told.contains(&format!("in use by process {} (hcert dev)", first.id())), "{told}");
    }
    assert!(data.join("hcert.pid").is_file());
    assert!(first.stop().success());
    assert!(!data.join("hcert.pid").exists());
}

#[test]
fn a_second_server_is_refused_though_the_store_was_replaced() {
    let folder = Folder::newest();
    let data = folder.data();
    let first = Process::start(&data);
    fs::copy(folder.store(), data.join("copy")).unwrap();
    fs::rename(data.join("copy"), folder.store()).unwrap();
    let mut second = hcert(&["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let second = second.current_dir(folder.path("")).output().unwrap();
    let told = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("in use by process {} (hcert dev)", first.id())), "{told}");
}

/// Commands reach the server by its socket; its end does not depend on what lies there.
#[test]
fn a_server_ends_though_its_socket_was_removed_or_replaced() {
    let takes: [fn(&Path); 2] = [|_| (), |path| fs::write(path, "").unwrap()];
    for take in takes {
        let folder = Folder::newest();
        let server = Process::start(&folder.data());
        let socket = folder.data().join("hcert.sock");
        fs::remove_file(&socket).unwrap();
        take(&socket);
        assert!(server.stop().success());
    }
}

#[test]
fn what_a_killed_server_left_says_nothing_of_the_next() {
    let folder = Folder::newest();
    let data = folder.data();
    let start = || {
        Process::start_with(&data, |command| {
            command.env("HCERT__AUDIT__FILE_MB", "1");
        })
    };
    start().kill();
    assert!(data.join("hcert.pid").is_file());
    let next = start();
    let text = fs::read_to_string(data.join("hcert.pid")).unwrap();
    assert!(text.starts_with(&format!("{} ", next.id())), "{text}");
    assert!(next.stop().success());
}

/// The lock decides, not what lies in the folder: without its socket a server can be asked nothing, and still has the folder.
#[test]
fn a_folder_is_in_use_whatever_was_removed_from_it() {
    let folder = Folder::newest();
    let data = folder.data();
    let server = Process::start(&data);
    let refused = |commands: &[&str]| {
        for command in commands {
            let arguments: Vec<&str> = command.split(' ').chain(["--data", data.to_str().unwrap()]).collect();
            let ran = hcert(&arguments).current_dir(folder.path("")).output().unwrap();
            let told = String::from_utf8_lossy(&ran.stderr);
            assert!(told.contains("the data folder is in use by "), "{command}: {told}");
            assert_eq!(ran.status.code(), Some(1), "{command}: {told}");
        }
    };
    let cold = ["dev --listen 127.0.0.1:0", "export --salvage --out salvaged.ndjson"];
    fs::remove_file(folder.store()).unwrap();
    refused(&cold);
    fs::remove_file(data.join("hcert.pid")).unwrap();
    fs::remove_file(data.join("hcert.sock")).unwrap();
    refused(&cold);
    refused(&[
        "stats",
        "verify",
        "clock",
        "clock accept",
        "log level",
        "export",
        "backup saved.tar",
        "compact",
        "reindex",
    ]);
    refused(&["patients list", "terminology list", "import -", "audit verify"]);
    assert!(!folder.store().exists() && !folder.path("saved.tar").exists());
    drop(server);
}

#[test]
fn what_a_killed_export_left_goes_with_the_next_one() {
    let folder = Folder::newest();
    let data = folder.data();
    let export = || {
        let mut command = hcert(&["export", "--out", "out/kept", "--force", "--data", data.to_str().unwrap()]);
        command.current_dir(folder.path(""));
        command
    };
    let out = folder.path("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("kept"), "old").unwrap();
    let files = || fs::read_dir(&out).unwrap().count();
    let server = Process::start(&data);
    let signal =
        |name: &str| assert!(Command::new("kill").args([name, &server.id().to_string()]).status().unwrap().success());
    // It waits for the server, with its file open.
    signal("-STOP");
    let mut killed = export().spawn().unwrap();
    eventually("the export has begun", || files() == 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    signal("-CONT");
    assert_eq!((fs::read_to_string(out.join("kept")).unwrap().as_str(), files()), ("old", 2));
    assert!(export().status().unwrap().success());
    assert_eq!(fs::read_to_string(out.join("kept")).unwrap(), folder.text("versions.ndjson"));
    assert_eq!(files(), 1);
    assert!(server.stop().success());
}
