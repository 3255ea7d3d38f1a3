//! Runs every line of the README as a stranger would, in an empty folder, and compares what comes with what the README shows.
//!
//! Three things differ from a stranger's run: the program is the one under test, it takes free ports, and `cargo test` is what
//! runs here already. In what is shown, `…` stands for anything in a line, and alone for any lines; moments and uuids differ.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ADDRESS: &str = "http://127.0.0.1:8080";

/// Commands of the README and what it shows behind them.
#[derive(Debug)]
struct Block {
    commands: String,
    shown: Option<String>,
}

#[test]
fn every_line_of_the_readme_does_what_it_says() {
    let readme = fs::read_to_string("README.md").expect("the tests run in the project's folder");
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("examples")).expect("an empty folder");
    for file in fs::read_dir("examples").expect("the examples are there") {
        let file = file.expect("a folder can be listed");
        fs::copy(file.path(), folder.path().join("examples").join(file.file_name())).expect("a copy");
    }
    fs::copy("hcert.toml", folder.path().join("hcert.toml")).expect("a copy");

    let mut server = None;
    let (mut curls, mut told) = (0, 0);
    for block in blocks(&readme) {
        let answer = match block.commands.trim() {
            "cargo test" => continue,
            "cargo run --release -- dev" => {
                let (started, introduction) = Server::start(folder.path());
                server = Some(started);
                introduction
            }
            _ => run(&block.commands, folder.path(), server.as_ref().expect("the README starts the server first")),
        };
        curls += block.commands.matches("curl ").count();
        if let Some(shown) = block.shown {
            told += 1;
            let (shown, answer) = (masked(&shown), masked(&answer));
            let lines = |text: &'_ str| text.trim().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
            assert!(
                is_like(&lines(&shown), &lines(&answer)),
                "{}\n--- the README shows\n{shown}\n--- what came\n{answer}",
                block.commands
            );
        }
    }
    assert!(curls >= 15 && told >= 12, "the README walks through a certificate's life: {curls} calls, {told} answers");
}

/// Every `sh` block, each with the block of another language right behind it.
fn blocks(readme: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut lines = readme.lines();
    let mut behind_commands = false;
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            behind_commands &= line.is_empty();
            continue;
        };
        let text: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match (language, found.last_mut()) {
            ("sh", _) => found.push(Block { commands: text, shown: None }),
            ("json" | "text", Some(block)) if behind_commands => block.shown = Some(text),
            _ => panic!("a block of '{language}' that nothing is known about:\n{text}"),
        }
        behind_commands = language == "sh";
    }
    found
}

/// A running server, stopped when it is dropped.
struct Server {
    process: Child,
    /// `http://127.0.0.1:<port>`
    address: String,
}

impl Server {
    /// Starts it and reads what it says of itself.
    fn start(folder: &Path) -> (Server, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hcert"));
        command.arg("dev").current_dir(folder).env("HCERT__SERVER__LISTEN", "127.0.0.1:0");
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("it was piped")).lines();
        let said: Vec<String> = lines.by_ref().take(5).map(|line| line.expect("text")).collect();
        let address =
            said.first().and_then(|line| line.split_once(" listens on ")).expect("it says where it listens").1;
        let address = address.trim_end_matches("/fhir").to_owned();
        let watched_at = said.iter().find_map(|line| line.strip_prefix("health http://")?.strip_suffix("/health"));
        let watched_at = watched_at.expect("it says where it can be watched").to_owned();
        let said = said.join("\n").replace(&address, ADDRESS).replace(&watched_at, "127.0.0.1:8081");
        (Server { process, address }, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs commands in a shell: both outputs, as a terminal shows them.
fn run(commands: &str, folder: &Path, server: &Server) -> String {
    let program = format!("'{}' ", env!("CARGO_BIN_EXE_hcert"));
    let commands = commands.replace("cargo run --release -- ", &program).replace(ADDRESS, &server.address);
    assert!(!commands.contains("cargo"), "only cargo run can be stood in for: {commands}");
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &format!("exec 2>&1\n{commands}")]).current_dir(folder).stdin(Stdio::null());
    let mut shell = shell.stdout(Stdio::piped()).spawn().expect("a shell");
    let mut said = String::new();
    shell.stdout.take().expect("it was piped").read_to_string(&mut said).expect("text");
    let status = shell.wait().expect("it ends");
    assert!(status.success(), "{status} (is curl installed?):\n{commands}\n{said}");
    said.replace(&server.address, ADDRESS)
}

/// Hides what no two runs have in common: moments of this run and uuids.
fn masked(text: &str) -> String {
    let hide = |line: &str| {
        for header in ["date: ", "last-modified: "] {
            if line.starts_with(header) {
                return format!("{header}[moment]");
            }
        }
        let mut words: Vec<String> = line.split('"').map(str::to_owned).collect();
        words.iter_mut().filter(|word| is_stamp(word)).for_each(|word| *word = "[moment]".into());
        let mut line = words.join("\"");
        if let Some(word) = line.split([' ', '"']).find(|word| uuid::Uuid::parse_str(word).is_ok()) {
            line = line.replace(&word.to_owned(), "[uuid]");
        }
        line
    };
    text.lines().map(hide).collect::<Vec<_>>().join("\n")
}

/// Only `meta.lastUpdated` has milliseconds; the examples' own times have none.
fn is_stamp(word: &str) -> bool {
    let digits: String =
        word.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
    digits == "0000-00-00T00:00:00.000+00:00"
}

/// Whether lines are as the README shows them.
fn is_like(shown: &[String], lines: &[String]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any == "…" => (0..=lines.len()).any(|skipped| is_like(rest, &lines[skipped..])),
        Some((line, rest)) => {
            lines.split_first().is_some_and(|(first, others)| fits(line, first) && is_like(rest, others))
        }
    }
}

fn fits(shown: &str, line: &str) -> bool {
    match shown.split_once('…') {
        None => shown == line,
        Some((before, behind)) => {
            line.len() >= before.len() + behind.len() && line.starts_with(before) && line.ends_with(behind)
        }
    }
}

#[test]
fn what_is_shown_is_compared_line_by_line() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is_like = |shown: &str, came: &str| is_like(&lines(shown), &lines(came));
    assert!(is_like("a\n…\nd", "a\nb\nc\nd") && is_like("a\n…\nb", "a\nb") && is_like("data …/x", "data /somewhere/x"));
    assert!(
        !is_like("a\nb", "a\nb\nc") && !is_like("a\n…\ne", "a\nb\nd") && !is_like("a", "b") && !is_like("a\n…", "b")
    );
    assert_eq!(masked("\"lastUpdated\": \"2026-01-01T10:00:00.123+02:00\","), "\"lastUpdated\": \"[moment]\",");
    assert_eq!(masked("\"start\": \"2026-01-01T10:00:00+02:00\","), "\"start\": \"2026-01-01T10:00:00+02:00\",");
    assert_eq!(masked("x-request-id: 0b7c1f3e-5d0a-4a52-9f38-6d3f5f0f6a01"), "x-request-id: [uuid]");
    let page = "```sh\na\n```\n\n```text\nb\n```\n\ntext\n\n```sh\nc\n```\n";
    let found = blocks(page);
    assert_eq!((found.len(), found[0].shown.as_deref(), found[1].shown.as_deref()), (2, Some("b\n"), None));
}
