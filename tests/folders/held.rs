//! One folder, one process: who comes second is told who was first.

use super::Folder;
use super::process::{Process, hcert};

#[test]
fn a_second_server_is_told_which_process_has_the_folder() {
    let folder = Folder::newest();
    let data = folder.data();
    let first = Process::start_with(&data, |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    let mut second = hcert(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let second = second.current_dir(folder.path("")).output().unwrap();
    let told = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("in use by process {} (hcert serve)", first.id())), "{told}");
    assert!(data.join("hcert.pid").is_file());
    assert!(first.stop().success());
    assert!(!data.join("hcert.pid").exists());
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
    let text = std::fs::read_to_string(data.join("hcert.pid")).unwrap();
    assert!(text.starts_with(&format!("{} ", next.id())), "{text}");
    assert!(next.stop().success());
}
