//! Kills the server, or tells it to stop, while something large is under way: a backup, a new index, a migration, slow clients.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::book::Book;
use crate::process::{Process, hcert, wait};
use crate::{Random, corpus, export, import, is_same, random, said, writer};

/// A command that works on a data folder, silently.
fn command(arguments: &[&str], data: &Path) -> Child {
    let mut command = hcert(arguments);
    command.arg("--data").arg(data).current_dir(data.parent().unwrap());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Archives in a folder.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "tar")).collect()
}

#[test]
fn a_server_killed_under_a_backup_keeps_everything_and_leaves_no_archive_that_is_not_whole() {
    let mut random = random("killed under a backup");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = corpus(folder.path(), 4_000, 15);
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    let kept = folder.path().join("archives");
    fs::create_dir(&kept).unwrap();
    let kept_name = kept.to_str().unwrap();
    for _ in 0..4 {
        let server = Process::start(&data);
        let mut backup = command(&["backup", kept_name], &data);
        thread::sleep(random.milliseconds(1, 250));
        server.kill();
        // A fast machine may have been done.
        wait(&mut backup);
    }
    for archive in archives(&kept) {
        let mut check = command(&["restore", archive.to_str().unwrap(), "--check"], &data);
        assert_eq!(wait(&mut check).code(), Some(0), "{} is an archive", archive.display());
    }
    let server = Process::start(&data);
    assert!(is_same(&file, &export(&data)), "every line once and in its order");
    let whole = folder.path().join("whole.tar");
    assert_eq!(wait(&mut command(&["backup", whole.to_str().unwrap()], &data)).code(), Some(0));
    assert_eq!(server.stop().code(), Some(0));
    let other = folder.path().join("other");
    assert_eq!(wait(&mut command(&["restore", whole.to_str().unwrap()], &other)).code(), Some(0));
    assert!(is_same(&file, &export(&other)), "from the archive too");
}

#[test]
fn a_restore_onto_a_folder_that_is_killed_leaves_the_folder_as_it_was_or_is_gone_on_with() {
    let mut random = random("killed under a restore onto a folder");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let name = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ends = |arguments: &[&str], data: &Path| wait(&mut command(arguments, data)).code();
    let file = corpus(folder.path(), 4_000, 17);
    let lines = fs::read_to_string(&file).unwrap();
    let half = lines.match_indices('\n').nth(2_000).unwrap().0 + 1;
    let first = folder.path().join("first.ndjson");
    fs::write(&first, &lines[..half]).unwrap();
    assert_eq!(wait(&mut import(&data, &first)).code(), Some(0), "{}", said(&data));
    assert_eq!(ends(&["backup", &name("full.tar")], &data), Some(0));
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    assert_eq!(ends(&["backup", &name("more.tar"), "--after", &name("full.tar")], &data), Some(0));
    let onto = name("more.tar");
    let onto = ["restore", "--onto", &onto];
    let (mut as_before, mut marked) = (0, 0);
    for round in 0..4 {
        let standby = folder.path().join(format!("standby-{round}"));
        assert_eq!(ends(&["restore", &name("full.tar")], &standby), Some(0));
        for _ in 0..4 {
            let mark = standby.join("restoring");
            let mut restore = command(&onto, &standby);
            while !mark.exists() && restore.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(random.milliseconds(0, 300));
            restore.kill().unwrap();
            wait(&mut restore);
            let is_marked = mark.exists();
            // The index may still be behind, which is no damage.
            assert_eq!(ends(&["verify"], &standby), Some(i32::from(is_marked)), "in round {round}");
            *(if is_marked { &mut marked } else { &mut as_before }) += 1;
        }
        assert_eq!(ends(&onto, &standby), Some(0), "in round {round}");
        for check in [&["verify"][..], &["audit", "verify"]] {
            assert_eq!(ends(check, &standby), Some(0), "in round {round}");
        }
        assert!(is_same(&file, &export(&standby)), "in round {round}");
    }
    println!("{marked} kills left a mark, {as_before} none");
}

#[test]
fn a_server_killed_while_it_builds_a_new_index_beside_the_old_one_finds_everything() {
    let mut random = random("killed under a reindex");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = corpus(folder.path(), 8_000, 16);
    assert_eq!(wait(&mut import(&data, &file)).code(), Some(0), "{}", said(&data));
    let found = |server: &Process| {
        let answer = server.client().get("/Composition?status=final&_sort=_id&_count=50");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let bundle = answer.json();
        (bundle["total"].clone(), bundle["entry"].clone())
    };
    let server = Process::start(&data);
    let before = found(&server);
    assert_eq!(server.stop().code(), Some(0));
    for _ in 0..5 {
        let server = Process::start(&data);
        let mut reindex = command(&["reindex"], &data);
        thread::sleep(random.milliseconds(1, 400));
        server.kill();
        wait(&mut reindex);
    }
    let server = Process::start(&data);
    assert_eq!(found(&server), before);
    assert_eq!(wait(&mut command(&["reindex"], &data)).code(), Some(0));
    assert_eq!(found(&server), before, "by the new index too");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_server_killed_while_it_brings_a_folder_up_to_date_goes_on_at_the_next_start() {
    let mut random = random("killed under a migration");
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let place = folder.path().join(round.to_string());
        let archive = zstd::Decoder::new(File::open("tests/folders/format-2.tar.zst").unwrap()).unwrap();
        tar::Archive::new(archive).unpack(&place).unwrap();
        let place = place.join("format-2");
        let data = place.join("data");
        for _ in 0..round {
            Process::start_and_kill(&data, random.milliseconds(0, 80));
        }
        let server = Process::start(&data);
        assert!(is_same(&place.join("versions.ndjson"), &export(&data)), "all versions in round {round}");
        let patients = hcert(&["patients", "list", "--data", data.to_str().unwrap()]).output().unwrap();
        assert!(is_same(&place.join("patients.ndjson"), &patients.stdout), "all patients in round {round}");
        assert_eq!(server.stop().code(), Some(0));
    }
}

#[test]
fn clients_that_never_finish_hold_nobody_who_is_told_to_stop_and_nothing_acknowledged_is_lost() {
    const WRITERS: usize = 4;
    let mut random = random("stopped under slow clients");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    writer::make_patients_known(&data, 1, WRITERS);
    let mut book = Book::default();
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__SERVER__DRAIN_TIMEOUT_S", "1");
    });
    let mut slow = Vec::new();
    for head in [
        "GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nX-Half: ",
        "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/fhir+json\r\nContent-Length: 5000\r\n\r\n{",
        "GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "",
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        slow.push(stream);
    }
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (part, client, seed) = (book.take_part(number, WRITERS), server.client(), random.below(u64::MAX));
                scope.spawn(move || writer::run(client, part, 0, number, Random(seed), true))
            })
            .collect();
        thread::sleep(random.milliseconds(200, 400));
        assert_eq!(server.stop().code(), Some(0), "it ends by itself");
        writers.into_iter().for_each(|writer| book.put_back(writer.join().expect("a writer met a wrong answer")));
    });
    // The one whose request was whole was answered.
    let mut answer = [0; 12];
    BufReader::new(&slow[2]).read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let server = Process::start(&data);
    book.check(&mut server.client(), &mut random);
    book.check_all(&mut server.client());
}
