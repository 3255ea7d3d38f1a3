//! What lies in the way of a command: FIFOs and devices that would hold it up, long paths, full disks, a start that hangs.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use super::process::{Process, eventually, wait};
use super::{Place, Ran};

fn make_fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero and lives through the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", io::Error::last_os_error());
}

fn with_store() -> Place {
    let place = Place::new();
    let lines = place.corpus(100, 3);
    place.run_with(&["import", "-", "--data", "data"], &lines).expect(0);
    place
}

#[test]
fn a_fifo_or_a_device_in_the_data_folder_is_named_and_not_waited_for() {
    let place = with_store();
    let audit = fs::read_dir(place.path("data/audit")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(audit).unwrap();
    for (name, code) in [
        ("store.unsynced", 1),
        ("developer-key.pem", 1),
        ("hcert.pid", 1),
        ("hcert.sock", 1),
        ("audit.unsynced", 1),
        ("audit/00000001.log", 3),
    ] {
        let path = place.path("data").join(name);
        make_fifo(&path);
        let token = "token --role doctor --person 37605030299";
        for command in ["dev", "stats", "verify", "clock", "import -", "audit verify", "audit export", token] {
            let mut arguments: Vec<&str> = command.split(' ').collect();
            arguments.extend(["--data", "data"]);
            place.run_with(&arguments, b"").expect(code).says(name).says("is a FIFO and no regular file; remove it");
        }
        fs::remove_file(&path).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", place.path("data/store.unsynced")).unwrap();
    place.run(&["stats", "--data", "data"]).expect(1).says("store.unsynced is a device");
}

#[test]
fn a_fifo_or_a_device_in_the_index_is_damage_that_the_next_start_mends() {
    let place = with_store();
    let make: [fn(&Path); 2] = [make_fifo, |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()];
    for (make, name) in make.into_iter().flat_map(|make| ["meta.json", "strange"].map(|name| (make, name))) {
        let path = place.path("data/index").join(name);
        drop(fs::remove_file(&path));
        make(&path);
        let verified = place.run(&["verify", "--data", "data"]);
        let verified = verified.expect(3).says("`hcert reindex`").text();
        assert!(verified.contains(name) && verified.contains("and no regular file"), "{verified}");
        place.run(&["stats", "--data", "data"]).expect(0);
        let server = Process::start(&place.path("data"));
        assert_eq!(server.client().get("/Composition?_count=0").status, 200);
        assert!(server.stop().success());
        place.run(&["verify", "--data", "data"]).expect(0);
    }
}

/// Seen were a trail that was "the store is damaged", files that nobody opens in the way of the start, and a salvage that was refused.
#[test]
fn what_is_none_of_the_trails_files_is_in_nobodys_way_and_what_replaces_one_keeps_nobody_from_the_store() {
    let place = with_store();
    make_fifo(&place.path("data/audit/strange"));
    make_fifo(&place.path("data/audit/00000001.idx"));
    fs::create_dir(place.path("data/audit/folder")).unwrap();
    for command in ["stats", "verify", "audit verify", "audit export", "clock", "backup a.tar"] {
        let arguments: Vec<&str> = command.split(' ').chain(["--data", "data"]).collect();
        place.run(&arguments).expect(0);
    }
    let server = Process::start(&place.path("data"));
    place.run(&["audit", "export", "--patient", "200", "--data", "data"]).expect(0);
    assert!(server.stop().success());
    let file = place.path("data/audit/00000001.log");
    fs::rename(&file, place.path("kept")).unwrap();
    fs::create_dir(&file).unwrap();
    let refused = place.run(&["stats", "--data", "data"]);
    refused.expect(3).says("the audit trail is damaged").says("put the file back");
    assert!(!refused.said.contains("the store is damaged"), "{}", refused.said);
    // The trail names the last change.
    let saved = place.run(&["export", "--salvage", "--out", "saved.ndjson", "--data", "data"]);
    saved.expect(3).says("versions are lost, or may be");
    fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink(place.path("kept"), &file).unwrap();
    for command in ["audit verify", "stats"] {
        let arguments: Vec<&str> = command.split(' ').chain(["--data", "data"]).collect();
        place.run(&arguments).expect(3).says("00000001.log is a link").says("put the file back");
    }
    fs::remove_file(&file).unwrap();
    fs::rename(place.path("kept"), &file).unwrap();
    assert!(fs::read(place.path("saved.ndjson")).unwrap() == place.export());
}

#[test]
fn a_folder_in_place_of_a_file_is_named() {
    let place = with_store();
    let made_again = [
        "hcert.pid",
        "hcert.lock",
        "store.room",
        "store.unsynced",
        "audit.unsynced",
        "developer-key.pem",
        "backup-signing-key",
    ];
    let made_again = made_again.map(|name| (name, 1));
    for (name, code) in made_again.into_iter().chain([("hcert.sock", 1), ("audit/00000001.log", 3), ("store.redb", 3)])
    {
        let path = place.path("data").join(name);
        drop(fs::remove_file(&path));
        fs::create_dir(&path).unwrap();
        for command in ["dev", "stats", "verify", "audit verify"] {
            let arguments: Vec<&str> = command.split(' ').chain(["--data", "data"]).collect();
            place.run(&arguments).expect(code).says(name).says("is a folder and no regular file; remove it");
        }
        fs::remove_dir(&path).unwrap();
    }
}

#[test]
fn a_server_whose_socket_was_removed_is_no_riddle() {
    let place = with_store();
    let server = Process::start(&place.path("data"));
    fs::remove_file(place.path("data/hcert.sock")).unwrap();
    for command in [&["stats"][..], &["backup", "a.tar"], &["reindex"]] {
        let ran = place.run(&[command, &["--data", "data"]].concat());
        ran.expect(1).says("the data folder is in use by").says("a restart makes it again");
    }
    assert!(server.stop().success());
}

#[test]
fn what_lies_in_the_place_of_the_index_gives_way_to_one() {
    let place = with_store();
    let make: [fn(&Path); 3] =
        [|path| fs::write(path, "").unwrap(), make_fifo, |path| std::os::unix::fs::symlink("nowhere", path).unwrap()];
    let index = place.path("data/index");
    for (make, command) in
        make.into_iter().flat_map(|make| ["reindex", "compact", "import -", "dev"].map(|it| (make, it)))
    {
        fs::remove_dir_all(&index).unwrap();
        make(&index);
        for left in ["data/index.new", "data/index.old"] {
            make(&place.path(left));
        }
        place.run(&["stats", "--data", "data"]).expect(0);
        place.run(&["verify", "--data", "data"]).expect(0);
        assert!(!index.is_dir(), "a look changes nothing");
        match command {
            "dev" => {
                let server = Process::start(&place.path("data"));
                assert_eq!(server.client().get("/Composition?_count=0").status, 200);
                assert!(server.stop().success());
            }
            command => {
                let arguments: Vec<&str> = command.split(' ').chain(["--data", "data"]).collect();
                place.run_with(&arguments, b"").expect(0);
            }
        }
        assert!(index.is_dir(), "{command}");
        let left: Vec<_> = fs::read_dir(place.path("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name == "index.new" || name == "index.old"), "{command}: {left:?}");
        assert!(place.run(&["verify", "--data", "data"]).expect(0).text().contains("certificates in the index"));
    }
}

#[test]
fn a_fifo_is_no_settings_file_and_no_archive() {
    let place = with_store();
    make_fifo(&place.path("fifo"));
    let refused = "fifo cannot be read: it is no regular file";
    place.run(&["stats", "--data", "data", "--config", "fifo"]).expect(2).says(refused);
    place.run(&["stats", "--data", "data", "--config", "/dev/null"]).expect(0);
    place.run(&["restore", "fifo", "--data", "new"]).expect(1).says("fifo: it is a FIFO");
    place.run(&["backup", "one.tar", "--data", "data"]).expect(0);
    fs::remove_file(place.path("one.tar.sha256")).unwrap();
    make_fifo(&place.path("one.tar.sha256"));
    place.run(&["restore", "one.tar", "--data", "new"]).expect(1).says("one.tar.sha256: it is a FIFO");
}

#[test]
fn a_data_folder_may_have_a_long_path_and_must_have_one() {
    let place = with_store();
    place.run(&["backup", "one.tar", "--data", "data"]).expect(0);
    let long = place.path(&"long".repeat(40));
    let data = long.to_str().unwrap();
    place.run(&["restore", "one.tar", "--data", data]).expect(0);
    place.run(&["stats", "--data", data]).expect(0);
    let server = Process::start(&long);
    // Its lock would refuse a command that does not find its socket.
    place.run(&["clock", "accept", "--data", data]).expect(0);
    place.run(&["export", "--data", data]).expect(0);
    assert!(server.stop().success());
    let mut unnamed = place.command(&["stats"]);
    Ran::from(unnamed.env("HCERT__STORAGE__DATA", "").output().unwrap()).expect(2).says("storage.data is empty");
}

#[test]
fn a_file_in_the_place_of_the_trail_is_named() {
    let place = with_store();
    fs::remove_dir_all(place.path("data/audit")).unwrap();
    fs::write(place.path("data/audit"), "").unwrap();
    place.run(&["dev", "--data", "data", "--listen", "127.0.0.1:0"]).expect(1).says("audit is no folder; move it");
}

#[test]
fn a_store_that_cannot_be_compacted_is_a_failure() {
    let place = with_store();
    let mut limited = place.command(&["compact", "--data", "data"]);
    let limit = libc::rlimit { rlim_cur: 1024, rlim_max: 1024 };
    // SAFETY: the call is among those that are allowed between fork and exec, and reads a value of our own.
    unsafe {
        limited.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    Ran::from(limited.output().unwrap()).expect(1).says("File too large");
    place.run(&["verify", "--data", "data"]).expect(0);
    place.run(&["compact", "--data", "data"]).expect(0);
}

/// The start hangs on a file that another process has leased: the system lets it wait for the end of the lease, most of a minute.
#[test]
fn sigterm_ends_a_start_that_hangs() {
    let place = with_store();
    let file = fs::OpenOptions::new().write(true).open(place.path("data/index/meta.json")).unwrap();
    /// Which signal tells the end of a lease: libc has no name for it.
    const F_SETSIG: libc::c_int = 10;
    // SAFETY: both calls only change what the system knows of a file of ours. The signal is one that is ignored.
    let is_leased = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0
    };
    if !is_leased {
        println!("skipped: files of this disk cannot be leased: {}", io::Error::last_os_error());
        return;
    }
    let mut serve = place.command(&["dev", "--data", "data", "--listen", "127.0.0.1:0"]);
    serve.env("HCERT__SERVER__DRAIN_TIMEOUT_S", "1").env("HCERT__MANAGEMENT__LISTEN", "");
    let mut child = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The socket that is not there yet would be the end of the opening.
    eventually("the folder is held", || place.path("data/hcert.pid").exists());
    // SAFETY: it sends a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert!(wait(&mut child).success());
    drop(file);
}

#[test]
fn a_start_with_few_open_files_says_so_and_takes_fewer_connections() {
    let place = with_store();
    let limit = |command: &mut std::process::Command, files: u64| {
        let limit = libc::rlimit { rlim_cur: files, rlim_max: files };
        // SAFETY: the call is among those that are allowed between fork and exec, and reads a value of our own.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
    };
    let reserved = hcert::cli::limits::OPEN_FILES_RESERVED as u64;
    for files in [20, 100, reserved] {
        let mut serve = place.command(&["dev", "--data", "data", "--listen", "127.0.0.1:0"]);
        limit(&mut serve, files);
        let ran = Ran::from(serve.env("HCERT__MANAGEMENT__LISTEN", "").output().unwrap());
        ran.expect(1).says("the limit of open files allows 0 of 1024 connections").says("ulimit -n");
    }
    let server = Process::start_with(&place.path("data"), |command| limit(command, reserved + 50));
    assert_eq!(server.client().get("/Composition?_count=0").status, 200);
    assert!(
        server.log().contains("connections.limited") && server.log().contains("\"hcert.connections_max\":50"),
        "the log says how many fit: {}",
        server.log()
    );
    assert!(server.stop().success());
}

/// The files of the index are overwritten under a running server: the search that meets it says that searches do not work, reads go on, and
/// the index is built again.
#[test]
fn a_search_in_an_index_that_was_overwritten_is_503_until_it_is_built_again() {
    let place = with_store();
    let mut server = Process::start(&place.path("data"));
    let mut client = server.client();
    let search = "/Composition?status=final&_sort=_id&_count=50";
    let before = client.get(search).json()["total"].clone();
    let mut codes: Vec<String> = Vec::new();
    // The server may look through its files before a search meets them; then it is tried once more.
    while codes.len() < 20 && !codes.iter().any(|code| code == "HCERT-229") {
        eventually("searches work", || client.send("GET", search, &[], b"").unwrap().status == 200);
        for entry in fs::read_dir(place.path("data/index")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|kind| kind != "json" && kind != "lock") {
                // In place: the server has it mapped. One that a merge removed meanwhile is none.
                let Ok(mut file) = fs::OpenOptions::new().write(true).open(&path) else { continue };
                let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
                io::Write::write_all(&mut file, &vec![0xFF; length]).unwrap();
            }
        }
        let told = client.send("GET", &format!("/Composition?title:contains=e{}", codes.len()), &[], b"").unwrap();
        assert!(matches!(told.status, 200 | 503), "{}", told.text());
        codes.push(match told.status {
            200 => String::new(),
            _ => told.json()["issue"][0]["details"]["coding"][0]["code"].as_str().unwrap().to_owned(),
        });
        assert_eq!(client.send("GET", "/Composition/1", &[], b"").unwrap().status / 100, 2, "reads go on");
    }
    assert_eq!(codes.pop().as_deref(), Some("HCERT-229"), "{codes:?}");
    assert!(codes.iter().all(|code| code.is_empty() || code == "HCERT-150"), "{codes:?}");
    eventually("searches work again", || {
        let told = client.send("GET", search, &[], b"").unwrap();
        told.status == 200 && told.json()["total"] == before
    });
    assert!(server.log().contains("index.discarded"), "{}", server.log());
    drop(client);
    // Its log has the error that the index was.
    server.terminate();
    assert!(server.ends_by_itself().success());
}
