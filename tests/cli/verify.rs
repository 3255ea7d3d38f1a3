//! `hcert verify` tells a damaged search index like any other damage, and changes nothing of what it looks at.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::Process;
use super::{Place, Ran, lines};

const VERIFY: [&str; 3] = ["verify", "--data", "data"];

/// A folder of 200 certificates whose server was stopped.
fn place() -> Place {
    let place = Place::new();
    let corpus = place.corpus(200, 7);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    place
}

/// All files below a folder but those of the audit trail, which tells that it was looked at.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("audit") => {}
            true => found.extend(files(&path)),
            // A killed server leaves its socket, which nobody can read.
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
    found
}

/// The file of a segment with an ending; the first of several.
fn of_segment(place: &Place, ending: &str) -> PathBuf {
    let entries = fs::read_dir(place.path("data/index")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths.into_iter().next().unwrap_or_else(|| panic!("every segment has a file {ending}"))
}

/// Verifies, and compares what lies in the folder with what lay there.
fn verified(place: &Place) -> Ran {
    let before = files(&place.path("data"));
    let ran = place.run(&VERIFY);
    assert!(files(&place.path("data")) == before, "the check changed the folder: {}", ran.text());
    ran
}

fn change_a_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn swap(one: &Path, other: &Path) {
    let (first, second) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    fs::write(one, second).unwrap();
    fs::write(other, first).unwrap();
}

#[test]
fn a_damaged_index_is_a_finding_and_the_check_mends_nothing() {
    let place = place();
    let whole = verified(&place).expect(0).text().to_owned();
    let kept = files(&place.path("data/index"));
    let segment = |ending: &str| of_segment(&place, ending);
    type Damage<'d> = (&'d str, &'d dyn Fn(), &'d str);
    let damages: [Damage; 9] = [
        ("a byte of the columns", &|| change_a_byte(&segment("fast")), ".fast is not what was written"),
        ("a byte of the terms", &|| change_a_byte(&segment("term")), ".term is not what was written"),
        ("a byte of the list", &|| fs::write(place.path("data/index/meta.json"), "{").unwrap(), "list of files"),
        ("no postings", &|| fs::remove_file(segment("idx")).unwrap(), ".idx is missing"),
        ("no list", &|| fs::remove_file(place.path("data/index/meta.json")).unwrap(), "meta.json is missing"),
        (
            "no list of all",
            &|| fs::remove_file(place.path("data/index/.managed.json")).unwrap(),
            ".managed.json is missing",
        ),
        ("cut", &|| fs::write(segment("store"), "").unwrap(), ".store cannot be read"),
        ("columns and terms", &|| swap(&segment("fast"), &segment("term")), "do not belong together"),
        ("norms and positions", &|| swap(&segment("fieldnorm"), &segment("pos")), "do not belong together"),
    ];
    for (what, damage, words) in damages {
        damage();
        let ran = verified(&place);
        ran.expect(3).says("the search index is not as it was written; certificates are");
        let told = ran.text();
        assert!(
            told.lines().next().unwrap_or_default().starts_with("index: ") && told.contains(words),
            "{what}: {told}"
        );
        assert!(told.contains("certificates are not affected: the next start builds it again"), "{what}: {told}");
        assert!(told.contains("hcert reindex"), "{what}: {told}");
        // What is said holds: the next start builds it again.
        place.run(&["reindex", "--data", "data"]).expect(0);
        verified(&place).expect(0);
        fs::remove_dir_all(place.path("data/index")).unwrap();
        fs::create_dir(place.path("data/index")).unwrap();
        kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    }
    // A start alone does it as well.
    change_a_byte(&segment("fast"));
    assert_eq!(Process::start(&place.path("data")).stop().code(), Some(0));
    let again = verified(&place);
    let of_index = |text: &str| text.lines().next().and_then(|line| line.rsplit(", ").next().map(str::to_owned));
    assert_eq!(of_index(again.expect(0).text()), of_index(&whole));
}

/// A swap that every checksum survives: the same file of two segments.
#[test]
fn segments_that_took_each_others_files_are_told() {
    let place = Place::new();
    let corpus = place.corpus(200, 7);
    let all = lines(&corpus);
    for part in all.chunks(all.len() / 2 + 1) {
        place.run_with(&["import", "-", "--data", "data"], &part.concat()).expect(0);
    }
    verified(&place).expect(0);
    let entries = fs::read_dir(place.path("data/index")).unwrap();
    let mut columns: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    columns.retain(|path| path.extension().is_some_and(|ending| ending == "fast"));
    let [one, other, ..] = columns.as_slice() else { panic!("there are two segments: {columns:?}") };
    swap(one, other);
    let ran = verified(&place);
    assert!(ran.expect(3).text().contains("certificates are not affected"), "{}", ran.text());
}

#[test]
fn what_is_missing_or_behind_is_a_note() {
    let place = Place::new();
    let corpus = place.corpus(200, 7);
    let all = lines(&corpus);
    let (first, rest) = all.split_at(all.len() / 2);
    place.run_with(&["import", "-", "--data", "data"], &first.concat()).expect(0);
    // The index of before beside a store that went on.
    let behind = files(&place.path("data/index"));
    place.run_with(&["import", "-", "--data", "data"], &rest.concat()).expect(0);
    fs::remove_dir_all(place.path("data/index")).unwrap();
    fs::create_dir(place.path("data/index")).unwrap();
    behind.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let ran = verified(&place);
    let told = format!("note: the search index has come to change {} and was compared up to there", first.len());
    assert!(ran.expect(0).text().contains(&told), "{}", ran.text());
    // A kill leaves it as it leaves it.
    let server = Process::start(&place.path("data"));
    server.kill();
    verified(&place).expect(0);
    fs::remove_dir_all(place.path("data/index")).unwrap();
    let ran = verified(&place);
    assert!(ran.expect(0).text().contains("note: the search index was not compared: there is none"), "{}", ran.text());
    assert!(!place.path("data/index").exists(), "a check builds none");
    fs::create_dir(place.path("data/index")).unwrap();
    assert!(verified(&place).expect(0).text().contains("the next start builds it"));
}

#[test]
fn a_server_tells_of_its_index_what_lies_in_the_folder() {
    let place = place();
    let server = Process::start(&place.path("data"));
    place.run(&VERIFY).expect(0);
    let path = of_segment(&place, "fast");
    fs::remove_file(&path).unwrap();
    let ran = place.run(&VERIFY);
    ran.expect(3).says("the search index is not as it was written; certificates are");
    assert!(
        ran.text().contains(".fast is missing") && ran.text().contains("while the server goes on"),
        "{}",
        ran.text()
    );
    place.run(&["reindex", "--data", "data"]).expect(0);
    place.run(&VERIFY).expect(0);
    assert_eq!(server.stop().code(), Some(0));
    verified(&place).expect(0);
}

#[test]
fn a_store_that_is_not_there_or_empty_is_no_whole_one() {
    let place = place();
    fs::write(place.path("data/store.redb"), "").unwrap();
    let checked = place.run(&VERIFY);
    assert!(checked.expect(3).text().contains("its file is empty"), "{}", checked.text());
    place.run(&["export", "--data", "data"]).expect(3).says("its file is empty").says("next: ");
    fs::remove_file(place.path("data/store.redb")).unwrap();
    place.run(&VERIFY).expect(1).says("there is no store");
    assert!(!place.path("data/store.redb").exists());
}

/// Whoever must not write to a folder can look at it all the same.
#[test]
fn a_folder_that_cannot_be_written_to_can_be_looked_at() {
    let place = place();
    fs::create_dir(place.path("archives")).unwrap();
    place.run(&["backup", "archives", "--data", "data"]).expect(0);
    let exported = place.run(&["export", "--data", "data"]).out;
    let Some(as_other) = Other::lock(&place, "data") else { return };
    let before = files(&place.path("data"));
    let run = |arguments: &[&str]| as_other.run(&place, arguments);
    run(&VERIFY).expect(0).says("does not tell that hcert verify was run");
    run(&["stats", "--data", "data"]).expect(0).says("nothing can be written here");
    let again = run(&["export", "--data", "data"]);
    again.expect(0).says("does not tell that hcert export was run");
    assert!(again.out == exported);
    run(&["restore", "--check", "archives", "--data", "data"]).expect(0);
    run(&["backup", "out/copy.tar", "--data", "data"]).expect(0).says("does not tell that hcert backup was run");
    for writes in [&["dev", "--listen", "127.0.0.1:0"][..], &["reindex"], &["compact"], &["restore", "archives"]] {
        let refused = run(&[writes, &["--data", "data"]].concat());
        refused.expect(1).says("nothing can be written here, since ").says("the folder has the mode 0500");
        assert!(!refused.said.contains("os error"), "{}", refused.said);
    }
    assert!(files(&place.path("data")) == before);
    // The copy is a whole one, trail and all.
    place.run(&["restore", "out/copy.tar", "--data", "restored", "--verify"]).expect(0);
    assert!(place.run(&["export", "--data", "restored"]).out == exported);
    place.run(&["audit", "verify", "--data", "restored"]).expect(0);
    // So that the temporary folder can be removed.
    let unlocked = Command::new("chmod").args(["-R", "u+w", "data"]).current_dir(place.path(".")).status();
    assert!(unlocked.unwrap().success());
}

/// A user whom permissions bind: whoever runs the tests, or nobody in the place of root.
struct Other(Option<u32>);

impl Other {
    const NOBODY: u32 = 65_534;

    /// Takes the right to write from a folder. None, with the reason printed, where that binds nobody.
    fn lock(place: &Place, name: &str) -> Option<Other> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let own = fs::metadata(place.path(".")).unwrap().uid();
        let other = Other((own == 0).then_some(Self::NOBODY));
        fs::create_dir(place.path("out")).unwrap();
        let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        if let Some(user) = other.0 {
            mode(&place.path("."), 0o755);
            let mut chown = Command::new("chown");
            chown.args(["-R", &user.to_string(), "data", "archives", "out"]);
            let owned = chown.current_dir(place.path(".")).status();
            let may_run = other.command(place, &["--version"]).output().is_ok_and(|ran| ran.status.success());
            if !owned.is_ok_and(|ran| ran.success()) || !may_run {
                println!("skipped: root cannot become another user here, or that one cannot run the program");
                return None;
            }
        }
        let locked = Command::new("chmod").args(["-R", "a-w", name]).current_dir(place.path(".")).status();
        assert!(locked.unwrap().success());
        Some(other)
    }

    fn command(&self, place: &Place, arguments: &[&str]) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = place.command(arguments);
        if let Some(user) = self.0 {
            command.uid(user).gid(user);
        }
        command
    }

    fn run(&self, place: &Place, arguments: &[&str]) -> Ran {
        Ran::from(self.command(place, arguments).output().unwrap())
    }
}
