//! Every command, whatever is closed, full or missing: the exit code of Contract 9.4, one clear message, and never a panic.
//!
//! The commands come from the command line itself: one without rows here fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use clap::CommandFactory;
use hcert::cli::Cli;
use serde_json::{Deserializer, Value};

use super::process::{Process, eventually, hcert, wait};
use super::{Place, lines};

/// What a command is given so that it works in the prepared folder.
struct Row {
    command: &'static str,
    /// `NEW` stands for a name that is not there yet, `AT` for the address of a running server's management.
    arguments: &'static str,
    /// Whether its result goes to standard output.
    writes: bool,
    /// Whether it writes files, so that it cannot do its work where they may not grow.
    stores: bool,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    //  command              arguments                                              writes  stores
    row("dev",                "--listen 127.0.0.1:0 --data NEW",                      false,  true),
    row("serve",              "--listen 127.0.0.1:0 --config serve.toml --data NEW",  false,  true),
    row("demo",               "--count 100 --data NEW",                               true,   true),
    row("doctor",             "--for dev --config doctor.toml",                       true,   false),
    row("generate",           "--count 1k",                                           true,   false),
    row("import",             "corpus.ndjson --data NEW",                             false,  true),
    row("export",             "--data data",                                          true,   false),
    row("export",             "--salvage --out NEW --data data",                      true,   true),
    row("reindex",            "--data data",                                          false,  false),
    row("reindex",            "--derived --data data",                                false,  false),
    row("verify",             "--data data",                                          true,   false),
    row("compact",            "--data data",                                          true,   false),
    row("erase",              "1 --reason why --yes --data data",                     false,  false),
    row("stats",              "--data data",                                          true,   false),
    row("clock",              "--data data",                                          true,   false),
    row("clock accept",       "--data data",                                          true,   false),
    row("clock reset",        "--data data",                                          true,   false),
    row("log level",          "--data served",                                        true,   false),
    row("backup",             "NEW --data data",                                      true,   true),
    row("restore",            "full.tar --data NEW",                                  true,   true),
    row("restore",            "--onto full.tar --data restored",                      true,   false),
    row("drill",              "full.tar --scratch NEW",                               true,   true),
    row("patients import",    "patients.ndjson --data NEW",                           false,  true),
    row("patients list",      "--data data",                                          true,   false),
    row("terminology load",   "lists.json --data data",                               true,   false),
    row("terminology list",   "--data data",                                          true,   false),
    row("terminology remove", "https://example.ee/CodeSystem/one --data data",        false,  false),
    row("audit verify",       "--data data",                                          true,   false),
    row("audit head",         "--data data",                                          true,   false),
    row("audit export",       "--data data",                                          true,   false),
    row("audit who",          "--patient 200 --data data",                            true,   false),
    row("audit accept",       "--data data",                                          true,   false),
    row("health",             "--at AT",                                              true,   false),
    row("config print",       "",                                                     true,   false),
    row("config check",       "--config serve.toml",                                  true,   false),
    row("config explain",     "server.listen",                                        true,   false),
    row("permissions print",  "",                                                     true,   false),
    row("permissions check",  "",                                                     true,   false),
    row("permissions explain", "--role doctor --action read",                         true,   false),
    row("completions",        "bash",                                                 true,   false),
    row("man",                "",                                                     true,   false),
    row("token",              "--role doctor --person 37605030299 --data NEW",        true,   true),
    row("openapi",            "",                                                     true,   false),
    row("openapi",            "--as bruno --dir NEW",                                 false,  false),
    row("catalogue",          "",                                                     true,   false),
    row("catalogue",          "--page driver-certificate",                            true,   false),
    row("docs",               "",                                                     true,   false),
    row("docs",               "how-to/install",                                       true,   false),
    row("bench",              "--count 100 --only read --seconds 0.05 --data NEW --out NEW", true, true),
];

const fn row(command: &'static str, arguments: &'static str, writes: bool, stores: bool) -> Row {
    Row { command, arguments, writes, stores }
}

/// Commands whose result is the exit code, a file, or a text in a form of its own; every other one has `--json`.
const WITHOUT_JSON: [&str; 19] = [
    "dev",
    "serve",
    "generate",
    "export",
    "patients list",
    "audit export",
    "audit who",
    "audit accept",
    "clock accept",
    "clock reset",
    "config check",
    "permissions check",
    "permissions print",
    "completions",
    "man",
    "token",
    "docs",
    "openapi",
    "bench",
];

#[test]
fn every_command_that_reports_something_does_so_in_json() {
    let prepared = Prepared::new();
    for Row { command, arguments, .. } in ROWS.iter().filter(|row| !WITHOUT_JSON.contains(&row.command)) {
        if *command == "catalogue" && arguments.contains("--page") {
            continue;
        }
        let mut ran = prepared.command(command, &format!("{arguments} --json"));
        let output = ran.output().expect("the program was built before");
        let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let values: Result<Vec<Value>, _> = Deserializer::from_str(&out).into_iter().collect();
        assert!(values.is_ok_and(|values| !values.is_empty()), "hcert {command} {arguments} --json: {out}{said}");
        assert!(!out.contains('\x1b') && !said.contains('\x1b'), "hcert {command}: colours outside of a terminal");
    }
}

/// A folder with a data folder, an archive of it and files to read, beside a running server of another folder.
struct Prepared {
    place: Place,
    server: Process,
    made: std::cell::Cell<u32>,
}

impl Prepared {
    fn new() -> Prepared {
        let place = Place::new();
        fs::write(place.path("corpus.ndjson"), place.corpus(100, 3)).unwrap();
        place.run(&["generate", "--patients", "--count", "100", "--out", "patients.ndjson"]).expect(0);
        let list = r#"{"resourceType": "CodeSystem", "url": "https://example.ee/CodeSystem/one", "status": "active",
            "content": "complete", "concept": [{"code": "a", "display": "A"}]}"#;
        fs::write(place.path("lists.json"), list).unwrap();
        fs::write(place.path("file"), "").unwrap();
        let issuer = "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://127.0.0.1:1/jwks.json\"\n";
        fs::write(place.path("serve.toml"), issuer).unwrap();
        fs::write(place.path("doctor.toml"), "[server]\nlisten = \"127.0.0.1:0\"\n").unwrap();
        fs::create_dir(place.path("folder")).unwrap();
        place.run(&["import", "corpus.ndjson", "--data", "data"]).expect(0);
        place.run(&["patients", "import", "patients.ndjson", "--data", "data"]).expect(0);
        place.run(&["backup", "full.tar", "--data", "data"]).expect(0);
        place.run(&["restore", "full.tar", "--data", "restored"]).expect(0);
        let server = Process::start_with(&place.path("served"), |command| {
            command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        });
        Prepared { place, server, made: std::cell::Cell::new(0) }
    }

    fn new_name(&self) -> String {
        self.made.set(self.made.get() + 1);
        format!("new-{}", self.made.get())
    }

    fn command(&self, command: &str, arguments: &str) -> Command {
        let at = self.server.watched_at.expect("the server can be watched").to_string();
        let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        words.extend(arguments.split_whitespace().map(|word| match word {
            "NEW" => self.new_name(),
            "AT" => at.clone(),
            word => word.to_owned(),
        }));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = hcert(&words);
        // Nothing but problems goes to the log, which has tests of its own.
        command.current_dir(self.place.path(".")).env("HCERT__LOG__LEVEL", "error");
        command.env("HCERT__MANAGEMENT__LISTEN", "").env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs a command to its end; a server is asked to stop as soon as it runs.
    fn ended(&self, mut command: Command) -> (ExitStatus, String) {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take();
        let reading = std::thread::spawn(move || stderr.map(io::read_to_string).transpose().unwrap());
        if ["dev", "serve"].contains(&arguments[0].as_str()) {
            let socket = self.place.path(arguments.last().unwrap()).join("hcert.sock");
            eventually("the server runs, or has ended", || socket.exists() || child.try_wait().unwrap().is_some());
            // It fails where the server has ended.
            drop(Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status());
        }
        (wait(&mut child), reading.join().unwrap().unwrap_or_default())
    }
}

/// One sentence for the person at the terminal, without anything of the program's inside.
#[track_caller]
fn check(what: &str, ended: &(ExitStatus, String), expected: i32) {
    let (status, said) = ended;
    assert_eq!((status.code(), status.signal()), (Some(expected), None), "{what}: {said}");
    for inside in ["panicked", "RUST_BACKTRACE", "internal error", "src/", "Some(", "Err("] {
        assert!(!said.contains(inside), "{what}: {said}");
    }
}

/// A pipe that nobody reads from.
fn closed() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// Names of commands, `audit verify`, and of the flags they have.
fn commands() -> Vec<(String, BTreeSet<String>)> {
    fn walk(command: &clap::Command, above: &str, found: &mut Vec<(String, BTreeSet<String>)>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{above}{}", command.get_name());
            if !command.is_subcommand_required_set() {
                let flags = command.get_arguments().filter_map(|argument| argument.get_long());
                found.push((name.clone(), flags.map(str::to_owned).collect()));
            }
            walk(command, &format!("{name} "), found);
        }
    }
    let mut found = Vec::new();
    walk(&Cli::command(), "", &mut found);
    found
}

#[test]
fn every_command_has_a_row() {
    let known: BTreeSet<String> = commands().into_iter().map(|(name, _)| name).collect();
    let rows: BTreeSet<String> = ROWS.iter().map(|row| row.command.to_owned()).collect();
    assert_eq!(known, rows);
}

#[test]
fn a_reader_that_is_gone_changes_no_exit_code() {
    let prepared = Prepared::new();
    for Row { command, arguments, .. } in ROWS {
        let mut gone = prepared.command(command, arguments);
        gone.stdout(closed()).stderr(closed());
        check(&format!("{command} 2>&1 | (closed)"), &prepared.ended(gone), 0);
    }
    for Row { command, arguments, .. } in ROWS.iter().filter(|row| row.command != "bench") {
        let mut none = prepared.command(command, arguments);
        // SAFETY: the call is among those that are allowed between fork and exec.
        unsafe {
            none.pre_exec(|| {
                (0..=2).for_each(|number| {
                    libc::close(number);
                });
                Ok(())
            });
        }
        check(&format!("{command} <&- >&- 2>&-"), &prepared.ended(none), 0);
    }
    // A command that fails says so by its exit code all the same.
    for (command, arguments, code) in
        [("import", "none.ndjson --data NEW", 1), ("export", "--data NEW", 1), ("stats", "--config none.toml", 2)]
    {
        let mut failing = prepared.command(command, arguments);
        failing.stdout(closed()).stderr(closed());
        check(&format!("{command} {arguments} 2>&1 | (closed)"), &prepared.ended(failing), code);
    }
    assert!(prepared.server.stop().success());
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_a_message_that_cannot_is_none() {
    let prepared = Prepared::new();
    let rows = || ROWS.iter().filter(|row| row.command != "bench");
    for Row { command, arguments, writes, .. } in rows() {
        let mut out = prepared.command(command, arguments);
        out.stdout(full()).stderr(Stdio::piped());
        let ended = prepared.ended(out);
        // What a server says where it listens is a message, as what goes to standard error is.
        check(&format!("{command} >/dev/full"), &ended, i32::from(*writes));
        let told = "standard output cannot be written: No space left on device";
        assert_eq!(ended.1.contains(told), *writes, "{command}: {}", ended.1);
    }
    for Row { command, arguments, writes, .. } in rows() {
        let mut both = prepared.command(command, arguments);
        both.stdout(full()).stderr(full());
        check(&format!("{command} >/dev/full 2>/dev/full"), &prepared.ended(both), i32::from(*writes));
    }
    for help in ["--help", "--version", "serve --help"] {
        let mut command = hcert(&help.split(' ').collect::<Vec<_>>());
        command.stdout(full()).stderr(Stdio::piped());
        check(&format!("{help} >/dev/full"), &prepared.ended(command), 1);
        let mut command = hcert(&help.split(' ').collect::<Vec<_>>());
        command.stdout(closed()).stderr(closed());
        check(&format!("{help} | (closed)"), &prepared.ended(command), 0);
    }
    assert!(prepared.server.stop().success());
}

#[test]
fn a_file_that_may_not_grow_is_a_failure_and_no_signal() {
    let prepared = Prepared::new();
    // At the first write, in the middle of the store, in the middle of the trail.
    for (kib, is_enough) in [(1, false), (100, false), (1020, false), (20_000, true)] {
        for Row { command, arguments, .. } in ROWS.iter().filter(|row| row.stores && row.command != "bench") {
            let mut limited = prepared.command(command, arguments);
            limited.stdout(Stdio::null()).stderr(Stdio::piped());
            let limit = libc::rlimit { rlim_cur: kib * 1024, rlim_max: kib * 1024 };
            // SAFETY: the call is among those that are allowed between fork and exec, and reads a value of our own.
            unsafe {
                limited.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                });
            }
            let ended = prepared.ended(limited);
            // So few certificates may fit.
            let code =
                if ended.0.success() && matches!(*command, "backup" | "export") { 0 } else { i32::from(!is_enough) };
            check(&format!("ulimit -f {kib}; {command}"), &ended, code);
            assert!(code == 0 || ended.1.contains("hcert: "), "{command}: {}", ended.1);
        }
    }
    assert!(prepared.server.stop().success());
}

#[test]
fn missing_and_wrong_files_and_folders_are_named() {
    let prepared = Prepared::new();
    let unreadable = "[server]\nworkers = 100\nlistenn = 1\n";
    fs::write(prepared.place.path("wrong.toml"), unreadable).unwrap();
    let said = |command: &str, arguments: &str, expected: i32, words: &[&str]| {
        let mut failing = prepared.command(command, arguments);
        failing.stdout(Stdio::null()).stderr(Stdio::piped());
        let ended = prepared.ended(failing);
        check(&format!("{command} {arguments}"), &ended, expected);
        for word in words {
            assert!(ended.1.contains(word), "{word:?} is not said by {command} {arguments}: {}", ended.1);
        }
    };
    for (command, flags) in commands() {
        let row = ROWS.iter().find(|row| row.command == command).unwrap();
        let with = |flag: &str, value: &str| format!("{} {flag} {value}", without(row.arguments, flag));
        if flags.contains("config") {
            said(&command, &with("--config", "none.toml"), 2, &["none.toml", "No such file"]);
            said(&command, &with("--config", "folder"), 2, &["folder", "it is no regular file"]);
            let both = [
                "line 2: server.workers = 100 is out of range: 1 to 64 threads",
                "line 3: there is no setting `listenn`",
            ];
            said(&command, &with("--config", "wrong.toml"), 2, &both);
        }
        // They tell where the folder is or keep away from it, and open none.
        let names_data_only = command.starts_with("config ") || ["doctor", "drill"].contains(&&*command);
        // `bench` has a scratch folder instead, which is a matter of its flags.
        let code = if command == "bench" { 2 } else { 1 };
        if flags.contains("data") && command != "health" && !names_data_only {
            for file in ["file/below", "file"] {
                let words = if command == "bench" { file } else { "a file" };
                said(&command, &with("--data", file), code, &[file, words]);
            }
        }
        let makes_one = [
            "dev",
            "serve",
            "demo",
            "import",
            "restore",
            "patients import",
            "terminology load",
            "token",
            "bench",
            "health",
        ];
        if flags.contains("data") && !makes_one.contains(&command.as_str()) && !names_data_only {
            said(&command, &with("--data", "none"), 1, &["none: there is no data folder", "hcert serve"]);
            said(&command, &with("--data", "folder"), 1, &["folder: there is no store in this folder"]);
            assert!(!prepared.place.path("none").exists());
        }
        if flags.contains("out") && command != "bench" {
            said(&command, &with("--out", "file"), 1, &["file: File exists", "--force"]);
            said(&command, &with("--out", "folder"), 1, &["folder: this is a folder"]);
            said(&command, &with("--out", "none/out"), 1, &["the folder none does not exist; make it first"]);
            said(&command, &with("--out", "/dev/full"), 1, &["/dev/full cannot be written: No space left on device"]);
            assert_eq!(fs::read(prepared.place.path("file")).unwrap(), b"");
            said(&command, &(with("--out", "kept") + " --force"), 0, &[]);
            said(&command, &(with("--out", "kept") + " --force"), 0, &[]);
            let mut printed = prepared.command(&command, &with("--out", "-"));
            let kept = fs::read(prepared.place.path("kept")).unwrap();
            // The trail grows by each command.
            let output = printed.output().unwrap();
            // And what it tells first, and when, where the newest comes first.
            let is_newest_first = command == "audit who";
            assert!(is_newest_first || lines(&output.stdout).first() == lines(&kept).first(), "{command} --out -");
            assert!(!output.stdout.is_empty());
            assert!(!prepared.place.path("-").exists());
            fs::remove_file(prepared.place.path("kept")).unwrap();
        }
    }
    assert_eq!(fs::read_dir(prepared.place.path("folder")).unwrap().count(), 0, "nothing was made there");
    for (command, arguments, words) in [
        ("backup", "none/dir/ --data data", &["the folder none/dir/ does not exist; make it first"][..]),
        ("backup", "none/a.tar --data data", &["the folder none does not exist; make it first"]),
        ("backup", "file/a.tar --data data", &["the folder file does not exist"]),
        ("backup", "folder --after none.tar --data data", &["none.tar"]),
        ("import", "none.ndjson --data NEW", &["none.ndjson: No such file"]),
        ("import", "folder --data NEW", &["folder: is a directory"]),
        ("patients import", "none.ndjson --data NEW", &["none.ndjson: No such file"]),
        ("patients import", "folder --data NEW", &["folder: is a directory"]),
        ("terminology load", "none.json --data NEW", &["none.json: No such file"]),
        ("terminology load", "folder --data NEW", &["folder: Is a directory"]),
        ("restore", "none.tar --data NEW", &["none.tar"]),
        ("restore", "file --data NEW", &["file"]),
        ("restore", "full.tar --data data", &["data"]),
        ("restore", "folder --data NEW", &["folder"]),
        ("restore", "--onto full.tar --data NEW", &["there is no data folder"]),
        ("restore", "--onto none.tar --data restored", &["none.tar"]),
    ] {
        said(command, arguments, 1, words);
    }
    assert!(prepared.server.stop().success());
}

/// Arguments without a flag and its value.
fn without(arguments: &str, flag: &str) -> String {
    let mut words = arguments.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word == flag {
            true => drop(words.next()),
            false => kept.push(word),
        }
    }
    kept.join(" ")
}
