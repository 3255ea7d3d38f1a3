//! What other users of the machine, and other folders at the same path, can do to a data folder: links, locks, open modes, exchanged folders.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Child, Stdio};

use super::process::{Client, Process, eventually};
use super::{Place, Ran};

const DATA: [&str; 2] = ["--data", "data"];

fn with_store() -> Place {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    place
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn with_data(place: &Place, command: &str) -> Ran {
    let arguments: Vec<&str> = command.split(' ').chain(DATA).collect();
    place.run_with(&arguments, b"")
}

/// What was seen: with a folder that others may list, any user of the machine kept the service from being started again, by a lock.
#[test]
fn a_lock_of_the_folder_that_anybody_can_take_keeps_nobody_out() {
    let place = with_store();
    assert_eq!(fs::metadata(place.path("data/hcert.lock")).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = File::open(place.path("data")).unwrap();
    for lock in [File::try_lock_shared, File::try_lock] {
        lock(&listed).unwrap();
        for command in ["stats", "import -", "audit verify"] {
            with_data(&place, command).expect(0);
        }
        let server = Process::start(&place.path("data"));
        with_data(&place, "stats").expect(0);
        // The service's own lock keeps others out, also where its socket is gone.
        fs::remove_file(place.path("data/hcert.sock")).unwrap();
        with_data(&place, "stats").expect(1).says("the data folder is in use by");
        assert!(server.stop().success());
        listed.unlock().unwrap();
    }
}

/// What was seen: another user laid links under the names of files that the trail makes, and the service wrote through them: events and
/// files of the service's user were lost, and health said `ok`.
#[test]
fn parts_of_the_data_folder_that_others_can_write_to_are_refused_as_the_folder_is() {
    let place = with_store();
    mode(&place.path("data"), 0o755);
    for (name, open, closed) in [
        ("audit", 0o777, 0o700),
        ("index", 0o777, 0o700),
        ("store.redb", 0o666, 0o600),
        ("store.journal-0", 0o602, 0o600),
    ] {
        let path = place.path("data").join(name);
        mode(&path, open);
        for command in ["import -", "dev --listen 127.0.0.1:0", "reindex"] {
            with_data(&place, command).expect(1).says(&format!("{name}: it can be written to by other users"));
        }
        // Nobody comes to it through a folder that is closed.
        mode(&place.path("data"), 0o700);
        with_data(&place, "import -").expect(0);
        mode(&place.path("data"), 0o755);
        mode(&path, closed);
    }
    with_data(&place, "import -").expect(0);
}

/// What was seen: a member of the service's own group read the store, signed archives with its key and exchanged archives, and every command
/// took the group for nobody else.
#[test]
fn the_own_group_counts_as_others_where_anybody_else_is_in_it_or_nobody_knows_it() {
    use std::os::unix::process::CommandExt;
    let place = with_store();
    fs::create_dir(place.path("archives")).unwrap();
    let identity = super::backup::identity(&place, "own.txt");
    // The one is the primary group of the user nobody, and no system has the other.
    for group in [65_534, 4_294_000_000] {
        let run = |command: &str| {
            let arguments: Vec<&str> = command.split(' ').chain(DATA).collect();
            let mut command = place.command(&arguments);
            command.gid(group).env("HCERT__BACKUP__RECIPIENTS", format!("[\"{identity}\"]"));
            Ran::from(command.output().unwrap())
        };
        // Only root can act for a group that it is not in.
        let backup = match place.command(&["--version"]).gid(group).output() {
            Ok(_) => run("backup archives"),
            Err(_) => return,
        };
        backup.expect(0);
        for (path, open, closed, command, words) in [
            ("data", 0o770, 0o700, "import -", "can be written to by other users"),
            ("archives", 0o770, 0o700, "backup archives", "can be written to by other users"),
            ("data/backup-signing-key", 0o640, 0o600, "backup archives", "can be read or changed by other users"),
        ] {
            chown(place.path(path), None, Some(group)).unwrap();
            mode(&place.path(path), open);
            run(command).expect(1).says(words);
            mode(&place.path(path), closed);
            run(command).expect(0);
        }
    }
}

/// What was seen: archives of the schedule went where `hcert backup` refuses to write, and health said `ok`.
#[test]
fn backups_by_the_clock_go_nowhere_that_a_backup_by_hand_would_not_go() {
    let place = with_store();
    let archives = place.path("archives");
    fs::create_dir(&archives).unwrap();
    mode(&archives, 0o777);
    let server = |words: &str| {
        let server = Process::start_with(&place.path("data"), |command| {
            command.env("HCERT__BACKUP__FOLDER", &archives).env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        });
        let at = server.watched_at.expect("it is watched");
        let health = || {
            let answer = Client::new(at).send_to("GET", "/health", &[], b"").unwrap();
            answer.json()["parts"]["backup"].clone()
        };
        eventually("the schedule says how it went", || !health().to_string().contains("on its way"));
        let told = (health().to_string(), server.log());
        for told in [&told.0, &told.1] {
            assert!(told.contains(words), "{words:?} in {told}");
        }
        assert!(told.0.contains("degraded"), "{}", told.0);
        drop(server);
        assert_eq!(fs::read_dir(&archives).unwrap().count(), 0, "no archive went there");
    };
    server("can be written to by other users");
    mode(&archives, 0o755);
    // Only root can give a folder away.
    if chown(&archives, Some(54_321), None).is_ok() {
        server("belongs to user 54321");
    }
}

/// An import that has the data folder and waits for lines.
fn waiting_import(place: &Place) -> Child {
    let mut command = place.command(&["import", "-", "--data", "data"]);
    let importing = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let trail = place.path("data/audit/00000001.log");
    let begun = |text: &[u8]| text.windows(6).filter(|piece| *piece == b"begins").count();
    let before = begun(&fs::read(&trail).unwrap());
    eventually("the import has begun", || begun(&fs::read(&trail).unwrap()) > before);
    importing
}

/// What was seen: the end of an import stood in the trail of the folder that lay at the path by then, in the place of the next event of the
/// server that ran on it.
#[test]
fn a_command_whose_folder_was_moved_away_writes_into_no_other_folder() {
    let place = with_store();
    let mut importing = waiting_import(&place);
    fs::rename(place.path("data"), place.path("data.before")).unwrap();
    let server = Process::start(&place.path("data"));
    let trail = || fs::read(place.path("data/audit/00000001.log")).unwrap();
    assert_eq!(server.client().get("/Composition?_count=0").status, 200);
    with_data(&place, "stats").expect(0);
    let before = trail();
    drop(importing.stdin.take());
    let ran = Ran::from(importing.wait_with_output().unwrap());
    // Whichever is looked at first: the store or the trail.
    assert!(
        ["it was moved away", "it was removed, moved"].iter().any(|words| ran.expect(1).said.contains(words)),
        "{}",
        ran.said
    );
    assert!(trail() == before, "nothing was written there");
    for left in ["hcert.pid", "hcert.sock", "hcert.lock"] {
        assert!(place.path("data").join(left).exists(), "{left} is the server's");
    }
    with_data(&place, "stats").expect(0);
    assert!(server.stop().success());
    with_data(&place, "audit verify").expect(0);
    // The folder that was moved away is whole, and its trail knows of the beginning.
    place.run(&["audit", "verify", "--data", "data.before"]).expect(0);
}

/// What was seen: a server whose folder was moved away removed the socket of the one that served another folder at the path.
#[test]
fn a_server_whose_folder_was_moved_away_takes_nothing_from_the_next_one() {
    let place = with_store();
    // Its log is full of what is missing.
    let mut before = Process::start_onto(&place.path("data"), Stdio::null(), |_| ());
    fs::rename(place.path("data"), place.path("data.before")).unwrap();
    let server = Process::start(&place.path("data"));
    before.terminate();
    before.ends_by_itself();
    for left in ["hcert.pid", "hcert.sock"] {
        assert!(place.path("data").join(left).exists(), "{left} is the other server's");
    }
    with_data(&place, "stats").expect(0);
    assert!(server.stop().success());
    with_data(&place, "audit verify").expect(0);
}

/// What was seen: root's backup of another user's folder held the bytes of a file of root's, and another service's certificates.
#[test]
fn links_in_another_users_folder_are_not_followed() {
    let place = with_store();
    let precious = place.path("precious");
    fs::write(&precious, "precious").unwrap();
    // Only root can give a folder away.
    if chown(place.path("data"), Some(54_321), None).is_err() {
        return;
    }
    for name in ["audit/00000001.log", "store.redb", "store.journal-0", "hcert.pid", "audit"] {
        let (path, kept) = (place.path("data").join(name), place.path("kept"));
        let is_there = fs::rename(&path, &kept).is_ok();
        symlink(&precious, &path).unwrap();
        for command in ["backup a.tar", "export", "stats", "verify"] {
            with_data(&place, command).expect(1).says(name).says("is a link, which is not followed");
        }
        assert!(!place.path("a.tar").exists());
        fs::remove_file(&path).unwrap();
        if is_there {
            fs::rename(&kept, &path).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    with_data(&place, "backup a.tar").expect(0);
}

/// In one's own folder, too, the files of the trail are files and no links.
#[test]
fn a_link_in_the_trail_is_no_file_of_it() {
    let place = with_store();
    let trail = place.path("data/audit/00000001.log");
    fs::rename(&trail, place.path("moved")).unwrap();
    symlink(place.path("moved"), &trail).unwrap();
    with_data(&place, "import -").expect(3).says("00000001.log is a link and no regular file");
    fs::remove_file(&trail).unwrap();
    fs::rename(place.path("moved"), &trail).unwrap();
    with_data(&place, "import -").expect(0);
}
