//! `hcert backup` and `hcert restore`: of a folder at rest and of a running server that is written to meanwhile.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::process::Process;
use super::{Place, lines};

const DATA: [&str; 2] = ["--data", "data"];

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// What a client sees, without the port, which is another at each start.
fn seen(server: &Process) -> Vec<String> {
    let mut client = server.client();
    let port = format!(":{}/", server.address.port());
    let paths = [
        "/Composition?_count=40",
        "/Composition?_count=40&_sort=title&status=final",
        "/Composition/_history?_count=40&_page=2",
        "/Composition/7",
        "/Composition/7/_history",
        "/Composition/7/_history/1",
        "/Patient/200",
        "/Patient/201/_history",
    ];
    let mut shown = |path: &str| {
        let response = client.get(path);
        format!("{} {}", response.status, response.text().replace(&port, "/"))
    };
    paths.into_iter().map(&mut shown).collect()
}

#[test]
fn a_backup_taken_while_the_server_is_written_to_is_a_server_again_elsewhere() {
    let place = Place::new();
    let corpus = place.corpus(500, 3);
    let all = lines(&corpus);
    let (first, rest) = all.split_at(all.len() / 3);
    place.run_with(&["import", "-", "--data", "data"], &first.concat()).expect(0);
    let server = Process::start(&place.path("data"));
    fs::create_dir(place.path("archives")).unwrap();
    let mut importing = place.command(&["import", "-", "--data", "data"]);
    let mut importing = importing.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines_to_it = importing.stdin.take().unwrap();
    let mut told = Vec::new();
    for (number, part) in rest.chunks(rest.len() / 4 + 1).enumerate() {
        lines_to_it.write_all(&part.concat()).unwrap();
        let kind: &[&str] = if number == 0 { &[] } else { &["--incremental"] };
        let taken = place.run(&[&["backup", "archives", "--json"], &DATA[..], kind].concat());
        told.push(json(taken.expect(0).text()));
    }
    drop(lines_to_it);
    assert!(importing.wait().unwrap().success());
    let last = place.run(&[&["backup", "archives", "--incremental"], &DATA[..]].concat());
    last.expect(0);
    assert!(last.text().contains(&format!("up to change {},", all.len())), "{}", last.text());
    assert_eq!((&told[0]["full"], &told[1]["full"]), (&true.into(), &false.into()));
    assert!(told.windows(2).all(|two| two[0]["until"] == two[1]["after"]), "{told:?}");
    let before = seen(&server);
    let exported = place.export();
    server.kill();

    place.run(&["restore", "archives", "--data", "restored", "--verify"]).expect(0);
    let restored = Process::start(&place.path("restored"));
    for (number, (after, before)) in seen(&restored).iter().zip(&before).enumerate() {
        assert!(before.starts_with("200 "), "answer {number} is none: {}", &before[..60]);
        assert!(after == before, "answer {number} is another");
    }
    assert_eq!(restored.stop().code(), Some(0));
    let export = |data: &str| place.run(&["export", "--data", data]).out;
    assert!(export("restored") == exported);
    place.run(&["audit", "verify", "--data", "restored"]).expect(0);
    let again = place.run(&["restore", "archives", "--data", "restored"]);
    again.expect(1).says("not empty");

    // Up to a change in the middle of an archive.
    let middle = told[1]["until"].as_u64().unwrap() as usize + 3;
    let to = middle.to_string();
    place.run(&["restore", "archives", "--data", "earlier", "--to", &to, "--verify"]).expect(0);
    assert!(export("earlier") == lines(&exported)[..middle].concat());
    // The trail knows changes that this store does not have, and goes on all the same.
    let server = Process::start(&place.path("earlier"));
    let created = place.run_with(&["import", "-", "--data", "earlier"], lines(&exported)[middle]);
    created.expect(0).says("1 stored");
    server.kill();
    place.run(&["audit", "verify", "--data", "earlier"]).expect(0);
    let events = place.run(&["audit", "export", "--data", "earlier"]);
    assert!(events.text().contains(r#""code":"restore""#), "{}", events.text());
}

#[test]
fn a_standby_follows_by_the_archives_that_came_since_and_answers_as_the_first_server() {
    let place = Place::new();
    let corpus = place.corpus(300, 6);
    let all = lines(&corpus);
    let server = Process::start(&place.path("data"));
    fs::create_dir(place.path("archives")).unwrap();
    let onto = |flags: &[&str]| place.run(&[&["restore", "--onto", "archives", "--data", "standby"], flags].concat());
    let parts: Vec<Vec<u8>> = all.chunks(all.len() / 4 + 1).map(<[&[u8]]>::concat).collect();
    for (number, part) in parts[..3].iter().enumerate() {
        place.run_with(&["import", "-", "--data", "data"], part).expect(0);
        let kind: &[&str] = if number == 0 { &[] } else { &["--incremental"] };
        let taken = json(place.run(&[&["backup", "archives", "--json"], &DATA[..], kind].concat()).expect(0).text());
        match number {
            0 => drop(place.run(&["restore", "archives", "--data", "standby"]).expect(0)),
            _ => {
                let told = onto(&["--json"]);
                let told = json(told.expect(0).text());
                assert_eq!((&told["archives"], &told["until"]), (&1.into(), &taken["until"]));
            }
        }
        place.run(&["verify", "--data", "standby"]).expect(0);
        place.run(&["audit", "verify", "--data", "standby"]).expect(0);
    }
    let again = onto(&[]);
    assert!(again.expect(0).text().contains("nothing was changed"), "{}", again.text());
    // One that is missing in the middle is told each time, however far the standby has come.
    let archives = fs::read_dir(place.path("archives")).unwrap().map(|entry| entry.unwrap().path());
    let mut archives: Vec<_> = archives.filter(|path| path.extension().is_some_and(|ending| ending == "tar")).collect();
    archives.sort();
    fs::rename(&archives[1], place.path("middle")).unwrap();
    for _ in 0..2 {
        onto(&[]).expect(1).says("archives between them are missing");
    }
    fs::rename(place.path("middle"), &archives[1]).unwrap();
    onto(&["--to", "3"]).expect(1).says("it has come further");
    onto(&["--check"]).expect(2);
    place.run(&["restore", "--onto", "archives", "--data", "data"]).expect(1).says("in use");
    let (before, exported) = (seen(&server), place.export());
    assert_eq!(server.stop().code(), Some(0));
    let last =
        json(place.run(&[&["backup", "archives", "--incremental", "--json"], &DATA[..]].concat()).expect(0).text());
    assert_eq!(last["after"], last["until"]);
    let standby = Process::start(&place.path("standby"));
    assert!(seen(&standby) == before);
    assert_eq!(standby.stop().code(), Some(0));
    assert!(place.run(&["export", "--data", "standby"]).out == exported);
    place.run(&["audit", "verify", "--data", "standby"]).expect(0);
    // What it says about its callers is in no archive.
    place.run_with(&["import", "-", "--data", "data"], &parts[3]).expect(0);
    place.run(&[&["backup", "archives", "--incremental"], &DATA[..]].concat()).expect(0);
    onto(&[]).expect(1).says("it was used since it was restored");
    assert!(place.run(&["export", "--data", "standby"]).out == exported);
}

#[test]
fn an_archive_of_a_folder_at_rest_is_a_tar_file_with_its_digest() {
    let place = Place::new();
    let corpus = place.corpus(60, 4);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    let told = json(place.run(&[&["backup", "a.tar", "--json"], &DATA[..]].concat()).expect(0).text());
    assert_eq!(told["until"].as_u64(), Some(lines(&corpus).len() as u64));
    let run = |program: &str, arguments: &[&str]| {
        let ran = Command::new(program).args(arguments).current_dir(place.path(".")).output().unwrap();
        assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(run("sha256sum", &["-c", "a.tar.sha256"]), "a.tar: OK\n");
    let members = run("tar", &["-tf", "a.tar"]);
    let members: Vec<&str> = members.lines().collect();
    assert_eq!((members[0], *members.last().unwrap()), ("hcert-backup.json", "manifest.json"));
    assert!(members.contains(&"changes/00000001") && members.contains(&"audit/00000001.log"), "{members:?}");

    place.run(&[&["backup", "a.tar"], &DATA[..]].concat()).expect(1).says("is there already");
    place.run(&[&["backup", "b.tar", "--incremental"], &DATA[..]].concat()).expect(2).says("needs a folder");
    let more =
        json(place.run(&[&["backup", "b.tar", "--after", "a.tar", "--json"], &DATA[..]].concat()).expect(0).text());
    assert_eq!((&more["after"], &more["until"]), (&told["until"], &told["until"]));
    let checked = place.run(&["restore", "--check", "b.tar", "a.tar", "--json"]);
    assert_eq!(json(checked.expect(0).text())["archives"], 2);
    place.run(&["restore", "b.tar", "--data", "restored"]).expect(1).says("no full archive");
    let until = |time: &str, to: &str| place.run(&["restore", "a.tar", "--data", to, "--to", time, "--json"]);
    assert_eq!(json(until("2999-01-01", "by-time").expect(0).text())["until"], told["until"]);
    // The first start after it finds an index that has everything.
    let stats = json(place.run(&["stats", "--data", "by-time", "--json"]).expect(0).text());
    assert_eq!(stats["index"]["change"], told["until"], "{stats}");
    until("yesterday", "none").expect(2).says("this is no change and no time");
    let mut bytes = fs::read(place.path("a.tar")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(place.path("a.tar"), bytes).unwrap();
    place.run(&["restore", "--check", "a.tar"]).expect(3).says("a.tar");
    place.run(&["restore", "--check", "b.tar"]).expect(3).says("no full archive");
    place.run(&["restore", "--check", "none.tar"]).expect(1).says("there is no such file");
    place.run(&["restore", "a.tar", "--data", "restored"]).expect(1).says("a.tar");
    assert!(!place.path("restored").exists());
    place.run(&["backup", "c.tar", "--data", "nowhere"]).expect(1).says("there is no data folder");
    assert!(fs::read_dir(place.path(".")).unwrap().all(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        !name.ends_with(".part") && !name.starts_with("c.tar")
    }));
}

#[test]
fn a_folder_whose_restore_was_cut_off_is_refused_by_every_command() {
    let place = Place::new();
    let corpus = place.corpus(20, 5);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    place.run(&[&["backup", "a.tar"], &DATA[..]].concat()).expect(0);
    place.run(&["restore", "a.tar", "--data", "cut"]).expect(0);
    fs::write(place.path("cut/restoring"), "").unwrap();
    for command in [&["dev", "--listen", "127.0.0.1:0"][..], &["export"], &["backup", "b.tar"], &["restore", "a.tar"]] {
        place.run(&[command, &["--data", "cut"]].concat()).expect(1).says("was not finished");
    }
}

/// What was seen: the mark went before the trail told of the restore, and a kill in between left a folder that every command took for
/// whole, and whose trail knew of no restore.
#[test]
fn a_restore_that_is_killed_when_its_mark_goes_is_in_the_trail() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(300, 5)).expect(0);
    place.run(&[&["backup", "a.tar"], &DATA[..]].concat()).expect(0);
    let mark = place.path("cut/restoring");
    let mut restore = place.command(&["restore", "a.tar", "--data", "cut"]);
    let mut restore = restore.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    super::eventually("the folder is marked", || mark.exists() || restore.try_wait().unwrap().is_some());
    while mark.exists() && restore.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    restore.kill().unwrap();
    restore.wait().unwrap();
    let events = place.run(&["audit", "export", "--data", "cut"]);
    assert!(events.expect(0).text().contains(r#""code":"restore""#), "{}", events.text());
    place.run(&["audit", "verify", "--data", "cut"]).expect(0);
    assert!(place.run(&["export", "--data", "cut"]).expect(0).out == place.export());
}

#[test]
fn a_drill_says_how_long_a_restore_takes_and_leaves_nothing() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(200, 3)).expect(0);
    fs::create_dir(place.path("archives")).unwrap();
    place.run(&["backup", "archives", "--data", "data"]).expect(0);
    place.run(&["generate", "--patients", "--count", "50", "--out", "patients.ndjson"]).expect(0);
    place.run(&["patients", "import", "patients.ndjson", "--data", "data"]).expect(0);
    place.run(&["backup", "archives", "--incremental", "--data", "data"]).expect(0);
    let drill = |flags: &[&str]| place.run(&[&["drill", "--data", "data"], flags].concat());
    let names = |folder: &str| fs::read_dir(place.path(folder)).unwrap().count();

    let told = drill(&["archives", "--rto", "3600", "--rpo", "3600"]);
    for line in ["restored  ", "searches  answered after ", "verified  whole, in ", "RTO       ", "RPO       "] {
        assert!(told.expect(0).text().lines().any(|told| told.starts_with(line)), "{line}: {}", told.text());
    }
    assert!(!place.path("hcert-drill-data").exists());

    fs::write(place.path("hcert.toml"), "[backup]\nfolder = \"archives\"\n").unwrap();
    let result = json(drill(&["--json", "--scratch", "elsewhere"]).expect(0).text());
    assert_eq!(result["archives"], 2);
    let (restored, searchable) = (&result["restored_s"], &result["searchable_s"]);
    let parts = restored.as_f64().unwrap() + searchable.as_f64().unwrap();
    assert!((result["rto_s"].as_f64().unwrap() - parts).abs() < 0.001 && result["rpo_s"].as_f64().unwrap() > 0.0);
    assert!(!place.path("elsewhere").exists());

    drill(&["--rto", "0"]).expect(1).says("RTO is ").says("more than the 0 s that are allowed");
    drill(&["--rpo", "0"]).expect(1).says("RPO is ");
    fs::create_dir(place.path("mine")).unwrap();
    fs::write(place.path("mine/note"), "keep").unwrap();
    drill(&["--scratch", "mine"]).expect(1).says("mine: it is not empty");
    assert_eq!((names("mine"), names("archives")), (1, 4));
    drill(&["--scratch", "data/new"]).expect(2).says("does not touch the data folder");
    fs::remove_file(place.path("hcert.toml")).unwrap();
    drill(&[]).expect(2).says("backup.folder is not set");
    drill(&["nowhere"]).expect(1).says("nowhere");
    assert!(!place.path("hcert-drill-data").exists());
}

#[test]
fn backups_by_the_clock_are_taken_by_the_server() {
    let place = Place::new();
    fs::create_dir(place.path("archives")).unwrap();
    let folder = place.path("archives");
    let server = Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__BACKUP__FOLDER", &folder);
    });
    super::eventually("an archive and its digest are there", || {
        let count = fs::read_dir(&folder).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
            name.ends_with(".tar") || name.ends_with(".tar.sha256")
        });
        count.count() == 2
    });
    assert_eq!(server.stop().code(), Some(0));
    place.run(&["restore", "--check", "archives"]).expect(0);
    std::os::unix::fs::symlink("data", place.path("way")).unwrap();
    for inside in ["data", "data/archives", "way/archives", "archives/../data/archives"] {
        let mut inside_data = place.command(&["dev", "--data", "data", "--listen", "127.0.0.1:0"]);
        let refused = inside_data.env("HCERT__BACKUP__FOLDER", place.path(inside)).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{inside}");
    }
}

#[test]
fn no_archive_is_written_into_the_folder_that_it_copies() {
    let place = Place::new();
    let corpus = place.corpus(20, 6);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    fs::create_dir(place.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../data", place.path("elsewhere/way")).unwrap();
    let targets = ["data", "data/x.tar", "data/index/", "elsewhere/../data", "elsewhere/way", "elsewhere/way/x.tar"];
    let refused = || {
        for target in targets {
            let ran = place.run(&[&["backup", target], &DATA[..]].concat());
            ran.expect(2).says("an archive must not lie in the data folder (data)");
        }
        let whole = place.path("data").canonicalize().unwrap();
        place.run(&[&["backup", whole.to_str().unwrap()], &DATA[..]].concat()).expect(2);
    };
    // A server makes the developer's key in the background, at a time of its own.
    let names = || {
        let entries = fs::read_dir(place.path("data")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.contains("developer-key")).collect();
        names.sort();
        names
    };
    let before = names();
    refused();
    assert_eq!(names(), before);
    let server = Process::start(&place.path("data"));
    let before = names();
    refused();
    assert_eq!(names(), before);
    place.run(&[&["backup", "elsewhere"], &DATA[..]].concat()).expect(0);
    assert_eq!(server.stop().code(), Some(0));
}

/// Two chains in a folder: a full archive with two that go on from it, then a full one with one more.
#[test]
fn a_check_of_a_folder_tells_of_every_archive_in_it() {
    let place = Place::new();
    let corpus = place.corpus(120, 8);
    let all = lines(&corpus);
    fs::create_dir(place.path("archives")).unwrap();
    let mut taken = Vec::new();
    for (number, part) in all.chunks(all.len() / 5 + 1).enumerate() {
        place.run_with(&["import", "-", "--data", "data"], &part.concat()).expect(0);
        let kind: &[&str] = if matches!(number, 0 | 3) { &[] } else { &["--incremental"] };
        let told = json(place.run(&[&["backup", "archives", "--json"], &DATA[..], kind].concat()).expect(0).text());
        let path = place.path(told["archive"].as_str().unwrap());
        taken.push((path, told["until"].as_u64().unwrap()));
    }
    let until = |number: usize| taken[number].1;
    let name = |number: usize| taken[number].0.file_name().unwrap().to_str().unwrap().to_owned();
    let check = || place.run(&["restore", "--check", "archives"]);
    let survey = || json(place.run(&["restore", "--check", "archives", "--json"]).text());
    let whole = check();
    let told = whole.expect(0).text().lines().collect::<Vec<_>>();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains(&format!("whole, restores up to change {},", until(2))), "{told:?}");
    assert!(told[1].contains(&format!("whole, restores up to change {},", until(4))), "{told:?}");
    assert!(told[2].starts_with("5 archives are whole"), "{told:?}");

    // The last of the older chain, which a restore does not need.
    let good = fs::read(&taken[2].0).unwrap();
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(&taken[2].0, &bad).unwrap();
    let ran = check();
    ran.expect(3).says("not every archive can be restored");
    let words = format!("damaged; the first 2 restore up to change {},", until(1));
    assert!(ran.text().contains(&words) && ran.text().contains(&name(2)), "{}", ran.text());
    assert_eq!((&survey()["chains"][0]["whole"], &survey()["chains"][1]["whole"]), (&2.into(), &2.into()));
    let restored = place.run(&["restore", "archives", "--data", "one"]);
    assert!(!restored.expect(0).said.contains("passed over"), "{}", restored.said);

    // The full one of the newer chain: what goes on from it belongs to no chain any more.
    fs::write(&taken[2].0, &good).unwrap();
    fs::rename(&taken[3].0, place.path("away.tar")).unwrap();
    let ran = check();
    ran.expect(3);
    let stray = format!("{}: it belongs to no chain: the archive that it goes on from is not there", name(4));
    assert!(ran.text().contains(&stray), "{}", ran.text());
    assert_eq!(survey()["apart"].as_array().unwrap().len(), 1);
    let restored = place.run(&["restore", "archives", "--data", "two"]);
    restored.expect(0).says(&stray).says("what is newer was passed over").says(&format!("change {}", until(2)));
    assert!(restored.text().contains(&format!("up to change {}", until(2))), "{}", restored.text());

    // The newest is cut, and the newest but one damaged: the restore takes what is whole before them.
    fs::rename(place.path("away.tar"), &taken[3].0).unwrap();
    fs::write(&taken[4].0, &fs::read(&taken[4].0).unwrap()[..700]).unwrap();
    let mut bad = fs::read(&taken[3].0).unwrap();
    bad[middle] ^= 1;
    fs::write(&taken[3].0, &bad).unwrap();
    let ran = check();
    ran.expect(3);
    assert!(ran.text().contains("damaged, restores nothing") && ran.text().contains("it is cut off"), "{}", ran.text());
    let restored = place.run(&["restore", "archives", "--data", "three", "--verify"]);
    restored
        .expect(0)
        .says(&name(3))
        .says(&name(4))
        .says("what is newer was passed over")
        .says(&format!("change {}", until(2)));
    let last = until(4).to_string();
    place.run(&["restore", "archives", "--data", "four", "--to", &last]).expect(1).says("no whole chain");
    assert!(!place.path("four").exists());
    fs::create_dir(place.path("empty")).unwrap();
    place.run(&["restore", "--check", "empty"]).expect(1).says("there is no archive");
}

/// An identity of age in a file of that name, and its recipient.
pub(super) fn identity(place: &Place, name: &str) -> String {
    use age::secrecy::ExposeSecret;
    use std::os::unix::fs::PermissionsExt;
    let identity = age::x25519::Identity::generate();
    fs::write(place.path(name), identity.to_string().expose_secret()).unwrap();
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    identity.to_public().to_string()
}

#[test]
fn archives_of_a_server_and_of_a_stopped_folder_are_encrypted_and_say_what_opens_them() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(40, 3)).expect(0);
    let recipient = identity(&place, "own.txt");
    identity(&place, "other.txt");
    let backup = |arguments: &[&str]| {
        let mut command = place.command(&[&["backup"], arguments, &DATA[..]].concat());
        command.env("HCERT__BACKUP__RECIPIENTS", format!("[\"{recipient}\"]"));
        super::Ran::from(command.output().unwrap())
    };
    fs::create_dir(place.path("archives")).unwrap();
    let server = Process::start(&place.path("data"));
    let first = backup(&["archives", "--json"]);
    let signer = json(first.expect(0).text())["signedBy"].as_str().unwrap().to_owned();
    server.stop();
    let second = backup(&["archives", "--incremental"]);
    assert!(second.expect(0).text().contains(&format!("encrypted, and signed by {signer}")), "{}", second.text());
    for entry in fs::read_dir(place.path("archives")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(11).any(|window| window == b"Composition"), "nothing of it can be read");
    }
    let with = |arguments: &[&str]| place.run(&[&["restore", "archives", "--data", "NEW"], arguments].concat());
    with(&[]).expect(2).says("--identity FILE");
    with(&["--check"]).expect(2).says("--identity FILE");
    with(&["--identity", "other.txt"]).expect(2).says("another recipient");
    with(&["--identity", "none.txt"]).expect(2).says("none.txt");
    with(&["--signed-by", &signer]).expect(2).says("--identity");
    with(&["--identity", "own.txt", "--signed-by", "12"]).expect(2).says("64 hexadecimal digits");
    with(&["--identity", "own.txt", "--signed-by", &"12".repeat(32)]).expect(1).says("and not by");
    assert!(!place.path("NEW").exists());
    with(&["--identity", "own.txt", "--check"]).expect(0);
    fs::set_permissions(place.path("own.txt"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    with(&["--identity", "other.txt", "--identity", "own.txt", "--signed-by", &signer])
        .expect(0)
        .says("the identity (own.txt) can be read by");
    let exported = |data: &str| place.run(&["export", "--data", data]).expect(0).out.clone();
    assert!(exported("NEW") == exported("data"));
    // A damaged one is no wrong identity.
    let archive = fs::read_dir(place.path("archives")).unwrap().map(|entry| entry.unwrap().path());
    let archive = archive.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "age")).unwrap();
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).unwrap();
    with(&["--check", "--identity", "own.txt"]).expect(3);
    let identity = fs::read_to_string(place.path("own.txt")).unwrap();
    let mut command = place.command(&["backup", "archives", "--data", "data"]);
    command.env("HCERT__BACKUP__RECIPIENTS", format!("[\"{identity}\"]"));
    let refused = super::Ran::from(command.output().unwrap());
    refused.expect(2).says("kept elsewhere");
    assert!(!refused.said.contains(&identity));
}

/// What was seen: a command that did not find the settings of the server, such as one of cron with `--data` alone, wrote a plain archive of
/// a server whose archives are encrypted.
#[test]
fn a_command_that_does_not_know_whom_archives_are_encrypted_to_takes_none() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    let [own, other] = ["own.txt", "other.txt"].map(|name| format!("[\"{}\"]", identity(&place, name)));
    let backup = |to: &str, recipients: Option<&str>| {
        let mut command = place.command(&[&["backup", to], &DATA[..]].concat());
        recipients.map(|named| command.env("HCERT__BACKUP__RECIPIENTS", named));
        super::Ran::from(command.output().unwrap())
    };
    let refused = |recipients: Option<&str>| {
        let ran = backup("refused.tar", recipients);
        ran.expect(1).says("no archive is taken").says("backup.recipients").says("--config");
        for entry in fs::read_dir(place.path(".")).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(!name.to_string_lossy().starts_with("refused"), "{name:?}");
        }
        ran
    };
    let server = Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__BACKUP__RECIPIENTS", &own);
    });
    refused(None).says("would not be encrypted");
    refused(Some(&other)).says("others, who could read it");
    backup("own.tar", Some(&own)).expect(0);
    server.stop();
    refused(None).says("data/backup-signing-key");
    backup("stopped.tar", Some(&own)).expect(0);

    // The settings of the server count, and more than they ask for is given to it.
    let server = Process::start(&place.path("data"));
    backup("plain.tar", None).expect(0);
    backup("more.tar", Some(&other)).expect(0);
    server.stop();
    fs::rename(place.path("data/backup-signing-key"), place.path("away")).unwrap();
    backup("plain-again.tar", None).expect(0);
}

/// What was seen: an archive went to a folder of another user without a word, who could exchange it for another.
#[test]
fn no_archive_goes_where_others_could_exchange_it() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 3)).expect(0);
    fs::create_dir(place.path("archives")).unwrap();
    let backup = |to: &str| place.run(&[&["backup", to], &DATA[..]].concat());
    fs::set_permissions(place.path("archives"), fs::Permissions::from_mode(0o777)).unwrap();
    for to in ["archives", "archives/a.tar"] {
        backup(to).expect(1).says("archives").says("written to by other users");
    }
    // In a folder as /tmp others can put archives of theirs, and exchange no file of ours.
    fs::set_permissions(place.path("archives"), fs::Permissions::from_mode(0o1777)).unwrap();
    backup("archives").expect(1).says("written to by other users");
    backup("archives/a.tar").expect(0);
    fs::set_permissions(place.path("archives"), fs::Permissions::from_mode(0o755)).unwrap();
    // Only root can give a folder away.
    if chown(place.path("archives"), Some(65_534), None).is_ok() {
        for to in ["archives", "archives/b.tar"] {
            backup(to).expect(1).says("belongs to user 65534");
        }
        assert_eq!(fs::read_dir(place.path("archives")).unwrap().count(), 2, "a.tar and its digest");
        chown(place.path("archives"), Some(0), None).unwrap();
    }
    backup("archives").expect(0);
}
