//! One folder, one process: who comes second is told who was first.

use std::fs;
use std::path::Path;

use super::Folder;
use super::process::{Process, hcert};

#[test]
fn a_second_server_is_told_which_process_has_the_folder() {
    let folder = Folder::newest();
    let data = folder.data();
    let first = Process::start_with(&data, |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    let mut second = hcert(&["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let second = second.current_dir(folder.path("")).output().unwrap();
    let told = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("in use by process {} (hcert serve)", first.id())), "{told}");
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
    assert!(told.contains(&format!("in use by process {} (hcert serve)", first.id())), "{told}");
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
