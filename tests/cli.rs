//! The commands as people use them: the real binary, its flags, files, pipes and exit codes.

#[path = "cli/audit.rs"]
mod audit;
#[path = "cli/backup.rs"]
mod backup;
#[path = "cli/catalogue.rs"]
mod catalogue;
#[path = "cli/clock.rs"]
mod clock;
#[path = "cli/colours.rs"]
mod colours;
#[path = "cli/core_files.rs"]
mod core_files;
#[path = "cli/cut.rs"]
mod cut;
#[path = "cli/damaged.rs"]
mod damaged;
#[path = "cli/damaged_store.rs"]
mod damaged_store;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/effective.rs"]
mod effective;
#[path = "cli/erase.rs"]
mod erase;
#[path = "cli/exits.rs"]
mod exits;
#[path = "cli/health.rs"]
mod health;
#[path = "cli/lines.rs"]
mod lines;
#[path = "cli/log_reader.rs"]
mod log_reader;
#[path = "cli/open_metrics.rs"]
mod open_metrics;
#[path = "cli/openapi.rs"]
mod openapi;
#[path = "cli/other_users.rs"]
mod other_users;
#[path = "cli/packaging.rs"]
mod packaging;
#[path = "cli/patients.rs"]
mod patients;
#[path = "cli/permissions.rs"]
mod permissions;
mod process;
#[path = "cli/regular_files.rs"]
mod regular_files;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/silence.rs"]
mod silence;
#[path = "cli/stats.rs"]
mod stats;
#[path = "cli/terminology.rs"]
mod terminology;
#[path = "cli/threads.rs"]
mod threads;
#[path = "cli/token.rs"]
mod token;
#[path = "cli/two_commands.rs"]
mod two_commands;
#[path = "cli/verify.rs"]
mod verify;
#[path = "cli/volumes.rs"]
mod volumes;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use process::{Process, eventually, hcert, wait};

/// A temporary folder that commands run in.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = hcert(arguments);
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Runs with a text on standard input.
    fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that stops early closes its end.
        let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = Ran::from(child.wait_with_output().unwrap());
        feeding.join().unwrap();
        ran
    }

    /// Generated lines.
    fn corpus(&self, count: u32, seed: u32) -> Vec<u8> {
        let ran = self.run(&["generate", "--count", &count.to_string(), "--seed", &seed.to_string()]);
        ran.expect(0);
        ran.out
    }

    fn export(&self) -> Vec<u8> {
        let ran = self.run(&["export", "--data", "data"]);
        ran.expect(0);
        ran.out
    }
}

struct Ran {
    code: Option<i32>,
    out: Vec<u8>,
    said: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let said = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code(), out: output.stdout, said }
    }
}

impl Ran {
    #[track_caller]
    fn expect(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{}", self.said);
        self
    }

    #[track_caller]
    fn says(&self, words: &str) -> &Ran {
        assert!(self.said.contains(words), "{words:?} is not said: {}", self.said);
        self
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn what_is_generated_and_imported_is_exported_line_for_line() {
    let place = Place::new();
    let corpus = place.corpus(400, 21);
    assert_eq!(corpus, place.corpus(400, 21), "the same seed gives the same bytes");
    assert_ne!(corpus, place.corpus(400, 22));
    let count = lines(&corpus).len();
    place
        .run_with(&["import", "-", "--data", "data"], &corpus)
        .expect(0)
        .says(&format!("{count} lines: {count} stored"));
    assert!(place.export() == corpus);
    fs::write(place.path("corpus.ndjson"), &corpus).unwrap();
    let again = place.run(&["import", "corpus.ndjson", "--data", "data"]);
    again.expect(0).says(&format!("0 stored, {count} there already, 0 not taken"));
    assert!(place.export() == corpus, "importing again changes nothing");
}

#[test]
fn a_running_server_imports_and_exports_for_the_commands() {
    let place = Place::new();
    let corpus = place.corpus(300, 23);
    fs::write(place.path("corpus.ndjson"), &corpus).unwrap();
    let server = Process::start(&place.path("data"));
    let count = lines(&corpus).len();
    place.run(&["import", "corpus.ndjson", "--data", "data"]).expect(0).says(&format!("{count} stored"));
    let mut client = server.client();
    assert_eq!(client.get("/Composition/_history?_count=0").json()["total"], count);
    assert_eq!(client.get("/Composition/300").status / 100, 2, "there as soon as the command is done");
    assert!(place.export() == corpus);
    let created = client.send("POST", "/Composition", &[], include_bytes!("../examples/driver-draft.json")).unwrap();
    assert!(created.header("location").unwrap().ends_with("/Composition/301/_history/1"), "after the largest id");
    place.run_with(&["import", "-", "--data", "data"], b"{}\n").expect(1).says("line 1: ");
    assert_eq!(server.stop().code(), Some(0));
    assert!(place.export().starts_with(&corpus));
}

#[test]
fn bare_certificates_are_created_and_ids_kept_where_they_are_given() {
    let place = Place::new();
    let draft: serde_json::Value = serde_json::from_str(include_str!("../examples/driver-draft.json")).unwrap();
    let mut kept = draft.clone();
    kept["id"] = "40".into();
    kept["meta"]["versionId"] = "1".into();
    kept["meta"]["lastUpdated"] = "2025-01-12T10:00:00.123+02:00".into();
    let input = format!("{draft}\n{kept}\n{draft}");
    place.run_with(&["import", "-", "--data", "data"], input.as_bytes()).expect(0).says("3 lines: 3 stored");
    let exported = place.export();
    let ids: Vec<serde_json::Value> =
        lines(&exported).iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let ids: Vec<&str> = ids.iter().map(|entry| entry["resource"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "40", "41"]);
}

#[test]
fn a_bad_line_is_told_with_its_number_and_the_rest_goes_on() {
    let place = Place::new();
    let corpus = place.corpus(8, 24);
    let good = lines(&corpus);
    let changed = |from: &str, to: &str| std::str::from_utf8(good[0]).unwrap().replace(from, to).into_bytes();
    let deletion = r#"{"fullUrl":"Composition/1","request":{"method":"PUT"},"response":{"etag":"W/\"9\"","lastModified":"2025-01-12T10:00:00Z"}}"#;
    let bad: [(Vec<u8>, &str); 9] = [
        (b"{\"a\":\n".to_vec(), "JSON"),
        (b"\xff\xfe\n".to_vec(), "UTF-8"),
        (b"[1]\n".to_vec(), "a line must be a JSON object"),
        (b"{\"resource\":{\"resourceType\":\"Patient\"}}\n".to_vec(), "no id"),
        (format!("\"{}\"\n", "x".repeat(4_500_000)).into_bytes(), "longer than"),
        (changed("\"1\"", "\"007\""), "'007' is not an id"),
        (changed("\"versionId\":\"1\"", "\"versionId\":\"9\""), "must wait for version"),
        (changed("\"title\":\"", "\"title\":\"Teine "), "has another version 1 already"),
        (format!("{deletion}\n").into_bytes(), "no resource"),
    ];
    let mut input = Vec::new();
    for (at, (line, _)) in bad.iter().enumerate() {
        input.extend_from_slice(good.get(at).copied().unwrap_or(b"\n"));
        input.extend_from_slice(line);
    }
    good.iter().skip(bad.len()).for_each(|line| input.extend_from_slice(line));
    let ran = place.run_with(&["import", "-", "--data", "data"], &input);
    ran.expect(1).says("9 not taken").says("hcert: 9 of ");
    for (at, (_, words)) in bad.iter().enumerate() {
        let start = format!("line {}: ", 2 * (at + 1));
        let said =
            ran.said.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}{}", ran.said));
        assert!(said.contains(words), "{words:?} in {said:?}");
    }
    assert!(place.export() == corpus, "every good line was taken");
}

#[test]
fn stop_at_bad_stores_the_lines_before_and_no_line_after() {
    let place = Place::new();
    let corpus = place.corpus(600, 25);
    let good = lines(&corpus);
    let input = [&good[..500].concat()[..], b"{}\n", &good[500..].concat()].concat();
    let arguments = ["import", "-", "--stop-at-bad", "--data", "data"];
    let ran = place.run_with(&arguments, &input);
    ran.expect(1).says("line 501: ").says("hcert: stopped at line 501");
    assert!(place.export() == good[..500].concat());
    let server = Process::start(&place.path("data"));
    place.run_with(&arguments, &input).expect(1).says("hcert: stopped at line 501");
    assert_eq!(server.stop().code(), Some(0));
    assert!(place.export() == good[..500].concat(), "through a server it is the same");
    place.run_with(&arguments, &corpus).expect(0).says("500 there already");
    assert!(place.export() == corpus);
}

/// An export holds health data, so `--resume` appends to a file of the user who runs it and to nothing else.
#[test]
fn resume_refuses_a_link_and_a_file_of_another_user() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(20, 26)).expect(0);
    let resume = |name: &str| place.run(&["export", "--data", "data", "--out", name, "--resume"]);
    fs::write(place.path("other"), "half a line").unwrap();
    std::os::unix::fs::symlink("other", place.path("link")).unwrap();
    resume("link").expect(1).says("link");
    assert_eq!(fs::read_to_string(place.path("other")).unwrap(), "half a line");
    // Only root can give a file away.
    if std::os::unix::fs::chown(place.path("other"), Some(65_534), None).is_ok() {
        resume("other").expect(1).says("belongs to another user");
        assert_eq!(fs::read_to_string(place.path("other")).unwrap(), "half a line", "nothing of it was cut off");
    }
}

#[test]
fn an_export_that_was_cut_is_resumed_where_it_stands() {
    let place = Place::new();
    let corpus = place.corpus(700, 26);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    let out = place.path("out.ndjson");
    place.run(&["export", "--data", "data", "--out", "out.ndjson"]).expect(0);
    assert!(fs::read(&out).unwrap() == corpus);
    place.run(&["export", "--data", "data", "--out", "out.ndjson"]).expect(1).says("out.ndjson: File exists");
    let resume = || place.run(&["export", "--data", "data", "--out", "out.ndjson", "--resume"]);
    let check = |how: &str| {
        // In the middle of a line, between two, before the first, after the last.
        let first = lines(&corpus)[0].len();
        for cut in [corpus.len() / 2, corpus.len() - 1, first, first - 1, 0, corpus.len()] {
            OpenOptions::new().write(true).open(&out).unwrap().set_len(cut as u64).unwrap();
            resume().expect(0);
            assert!(fs::read(&out).unwrap() == corpus, "cut at {cut}, {how}");
        }
    };
    check("from the folder");
    let server = Process::start(&place.path("data"));
    check("through the server");
    fs::write(&out, "something else\n").unwrap();
    resume().expect(1).says("its last line was not written by an export");
    let other = String::from_utf8(lines(&corpus)[0].to_vec()).unwrap().replace("\"1\"", "\"900\"");
    fs::write(&out, other).unwrap();
    resume().expect(1).says("which this data folder does not have");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(500, 27)).expect(0);
    let server = Process::start(&place.path("data"));
    for arguments in [&["generate", "--count", "20000"][..], &["export", "--data", "data"]] {
        let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        drop(stdout);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(wait(&mut child).code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(server.stop().code(), Some(0));
    let full = File::create("/dev/full").unwrap();
    let ran = place.command(&["export", "--data", "data"]).stdout(full).output().unwrap();
    Ran::from(ran).expect(1).says("standard output cannot be written: No space left on device");
}

#[test]
fn a_folder_in_use_without_a_server_is_refused_in_clear_words() {
    let place = Place::new();
    let mut holder =
        place.command(&["import", "-", "--data", "data"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Nobody else tries before: whoever came first would have it.
    eventually("the import holds the folder", || place.path("data/hcert.pid").is_file());
    for arguments in [&["export"][..], &["import", "-"], &["dev", "--listen", "127.0.0.1:0"]] {
        let ran = place.run(&[arguments, &["--data", "data"]].concat());
        ran.expect(1).says(&format!("data: the data folder is in use by process {} (hcert import)", holder.id()));
    }
    drop(holder.stdin.take());
    assert_eq!(wait(&mut holder).code(), Some(0));
    assert!(place.export().is_empty());
}

#[test]
fn everything_in_the_folder_is_for_its_owner_only() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(50, 28)).expect(0);
    place.run(&["export", "--data", "data", "--out", "out.ndjson"]).expect(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let check = |names: &[&str]| {
        let mut seen = Vec::new();
        let mut open = vec![place.path("data")];
        while let Some(folder) = open.pop() {
            assert_eq!(mode(&folder), 0o700, "{}", folder.display());
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                seen.push(path.file_name().unwrap().to_string_lossy().into_owned());
                if path.is_dir() {
                    open.push(path);
                } else {
                    assert_eq!(mode(&path), 0o600, "{}", path.display());
                }
            }
        }
        for name in names {
            assert!(seen.iter().any(|seen| seen == name), "{name} in {seen:?}");
        }
    };
    // The indexer may replace a file while the folder is listed, so it is looked at when all is quiet.
    assert_eq!(mode(&place.path("data/hcert.sock")), 0o600);
    assert_eq!(mode(&place.path("out.ndjson")), 0o600, "an export holds what the folder holds");
    assert_eq!(server.stop().code(), Some(0));
    check(&["store.redb", "index", "meta.json"]);
    fs::remove_dir_all(place.path("data/index")).unwrap();
    place.run(&["import", "-", "--data", "data"]).expect(0);
    check(&["index", "meta.json"]);
}

#[test]
fn exit_codes_tell_wrong_use_from_failed_work() {
    let place = Place::new();
    place.run(&[]).expect(2).says("Usage: hcert <COMMAND>");
    place.run(&["sevre"]).expect(2).says("unrecognized subcommand 'sevre'");
    place.run(&["import"]).expect(2).says("<FILE>");
    place.run(&["export", "--resume"]).expect(2).says("--out <FILE>");
    place.run(&["serve", "--prot", "1"]).expect(2).says("--prot");
    place.run(&["generate", "--count", "0"]).expect(2).says("at least one certificate");
    place.run(&["dev", "--listen", "here"]).expect(2).says("'here' is not an address with a port");
    place.run(&["serve", "--config", "none.toml"]).expect(2).says("none.toml");
    place.run(&["export", "--data", "none"]).expect(1).says("none: there is no data folder");
    assert!(!place.path("none").exists(), "an export makes no folder");
    place.run(&["import", "none.ndjson", "--data", "data"]).expect(1).says("none.ndjson: No such file");
    place.run(&["import", ".", "--data", "data"]).expect(1).says(".: is a directory");
    assert!(!place.path("data").exists(), "an import that cannot begin makes no folder");
    fs::write(place.path("file"), "").unwrap();
    place.run(&["dev", "--listen", "127.0.0.1:0", "--data", "file"]).expect(1).says("file: ");
}

#[test]
fn help_tells_a_stranger_what_each_command_does() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    help.expect(0);
    for word in ["serve", "generate", "import", "export", "bench", "Start it with `hcert serve`"] {
        assert!(help.text().contains(word), "{word}");
    }
    for (command, words) in [
        ("serve", &["--listen <ADDR>", "--data <DIR>", "--config <FILE>", "SIGTERM"][..]),
        ("generate", &["--count <N>", "--seed <S>", "--out <FILE>", "do not send these data"]),
        ("import", &["<FILE>", "- for standard input", "--stop-at-bad", "resumed by running it again"]),
        ("export", &["--out <FILE>", "--resume", "history"]),
        ("bench", &["--count <N,...>", "--against <URL>", "latency.svg"]),
    ] {
        let help = place.run(&[command, "--help"]);
        help.expect(0);
        assert!(help.said.is_empty(), "help goes to standard output");
        for word in words {
            assert!(help.text().contains(word), "{command}: {word}\n{}", help.text());
        }
    }
    let version = place.run(&["--version"]);
    let first = concat!("hcert ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(version.expect(0).text().starts_with(first) && version.text().contains("\nformats  store 3, "));
    assert_eq!(place.run(&["-V"]).expect(0).text(), first);
}

#[test]
fn an_unknown_setting_is_shown_with_its_line_and_a_caret() {
    let place = Place::new();
    fs::write(place.path("hcert.toml"), "[server]\nlisten = \"127.0.0.1:0\"\nlistenn = \"x\"\n").unwrap();
    for command in [&["dev"][..], &["export"], &["import", "-"]] {
        let ran = place.run(command);
        ran.expect(2)
            .says("hcert.toml")
            .says("line 3")
            .says("listenn = …\n  | ^^^^^^^")
            .says("there is no setting `listenn`");
    }
    assert!(!place.path("hcert-data").exists(), "nothing was begun");
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let place = Place::new();
    fs::write(place.path("hcert.toml"), "[storage]\ndata = \"from-file\"\n").unwrap();
    let run = |arguments: &[&str], data: Option<&str>| {
        let mut command = place.command(&[&["import", "-"], arguments].concat());
        data.map(|data| command.env("HCERT__STORAGE__DATA", data));
        Ran::from(command.output().unwrap()).expect(0);
    };
    run(&[], None);
    assert!(place.path("from-file/store.redb").exists());
    run(&[], Some("from-environment"));
    assert!(place.path("from-environment/store.redb").exists());
    run(&["--data", "from-flag"], Some("ignored"));
    assert!(place.path("from-flag/store.redb").exists() && !place.path("ignored").exists());
    let mut command = place.command(&["import", "-"]);
    let wrong = Ran::from(command.env("HCERT__SEARCH__COUNT_MAX", "many").output().unwrap());
    wrong.expect(2).says("environment variable HCERT__SEARCH__COUNT_MAX").says("many");
    let mut command = place.command(&["import", "-"]);
    let unknown = Ran::from(command.env("HCERT__SEARCH__COUNTS", "1").output().unwrap());
    unknown.expect(2).says("environment variable HCERT__SEARCH__COUNTS").says("there is no setting `counts`");
}

#[test]
fn the_progress_bar_shows_on_a_terminal_and_nowhere_else() {
    let place = Place::new();
    let corpus = place.corpus(3_000, 29);
    fs::write(place.path("corpus.ndjson"), &corpus).unwrap();
    let piped = place.run(&["import", "corpus.ndjson", "--data", "data"]);
    piped.expect(0);
    assert_eq!(piped.said.lines().count(), 1, "{:?}", piped.said);
    let (mut terminal, stderr) = terminal();
    let mut child = place.command(&["import", "corpus.ndjson", "--data", "other"]).stderr(stderr).spawn().unwrap();
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    // The last holder of the other side is gone when the command ends, which reading reports as an error.
    while let Ok(count @ 1..) = terminal.read(&mut piece) {
        said.extend_from_slice(&piece[..count]);
    }
    assert_eq!(wait(&mut child).code(), Some(0));
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains('\u{1b}') && said.contains("lines, ") && said.contains(" left"), "{said:?}");
}

/// Both sides of a terminal: what is written to the second is read from the first.
fn terminal() -> (File, Stdio) {
    let (mut master, mut slave) = (0, 0);
    let (no_name, no_settings) = (std::ptr::null_mut(), std::ptr::null());
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers lead to two numbers and a size that live through the call; null is allowed for the others.
    let made = unsafe { libc::openpty(&mut master, &mut slave, no_name, no_settings, &size) };
    assert_eq!(made, 0, "no terminal can be made");
    // SAFETY: both were opened just now and nobody else holds them.
    unsafe { (File::from_raw_fd(master), Stdio::from(File::from_raw_fd(slave))) }
}
