//! Runs the README, the tutorials, the how-to pages and the guide in Estonian as a stranger would, in an empty folder, and
//! compares the output with the one that they show. The pages for operators are run in [`handbook`]. Of every other command
//! in a document, the program must know the subcommand and each flag.
//!
//! A block `sh` holds commands, and the block `text` or `json` right behind it their output. A block such as
//! `js step1.mjs` is a file that the reader creates; the line above it names the file, because a rendered page does not
//! show the first line of a block. A block `console`, `ini` or `toml` without a name is not run here: it needs root,
//! systemd, a container or an issuer of tokens.
//!
//! Three things differ from a stranger's run: the program is the one under test, it takes free ports, and `cargo test`
//! is left out, because it is running already. A command that starts a server stops the one before. Variables that a block
//! sets are there in those behind it. In an output that a document shows, `…` stands for anything in a line, and alone for any lines. Moments and uuids are masked.

mod handbook;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ADDRESS: &str = "http://127.0.0.1:8080";
const MANAGEMENT: &str = "127.0.0.1:8081";

/// Pages of `docs/how-to`, each with the number of outputs that are compared at least.
const HOW_TO: &[(&str, usize)] = &[
    ("call-with-curl", 14),
    ("console", 0),
    ("print-certificates", 5),
    ("install", 3),
    ("secure-with-keycloak", 0),
    ("back-up-and-restore", 6),
    ("upgrade", 3),
    ("monitor", 5),
    ("move-data-in", 6),
    ("change-rights", 4),
];

/// A part of a document that its reader acts on.
#[derive(Debug, PartialEq)]
enum Block {
    /// Commands, and the output that the document shows behind them.
    Commands { text: String, shown: Option<String> },
    /// A file that the reader creates.
    File { name: String, text: String },
}

/// What a document made its reader do.
#[derive(Debug, Default)]
struct DocumentRun {
    /// All commands, one after another.
    commands: String,
    files: usize,
    /// How many outputs were compared.
    outputs: usize,
    /// Variables that were set, as assignments of the shell.
    variables: String,
}

#[test]
fn every_line_of_the_readme_does_what_it_says() {
    let ran = follow("README.md");
    let curls = ran.commands.matches("curl ").count();
    assert!(curls >= 6 && ran.outputs >= 6, "the README walks through a certificate's life: {ran:?}");
}

#[test]
fn every_step_of_the_tutorial_for_node_does_what_it_says() {
    if is_installed("node") {
        let ran = follow("docs/tutorial/node.md");
        assert!(ran.files >= 14 && ran.outputs >= 10, "the tutorial has nine steps: {ran:?}");
    }
}

#[test]
fn every_step_of_the_tutorial_for_python_does_what_it_says() {
    if is_installed("python3") {
        let ran = follow("docs/tutorial/python.md");
        assert!(ran.files >= 14 && ran.outputs >= 10, "the tutorial has nine steps: {ran:?}");
    }
}

#[test]
fn every_how_to_page_does_what_it_says() {
    for (page, outputs) in HOW_TO {
        let ran = follow(&format!("docs/how-to/{page}.md"));
        assert!(ran.outputs >= *outputs, "{page}: {ran:?}");
    }
}

#[test]
fn every_step_of_the_guide_for_integrators_in_estonian_does_what_it_says() {
    let ran = follow("docs/et/liidestujale.md");
    assert!(ran.outputs >= 14, "the guide leads through the whole service: {ran:?}");
}

#[test]
fn every_example_of_the_page_on_access_does_what_it_says() {
    let ran = follow("docs/ACCESS.md");
    assert!(ran.commands.matches("curl ").count() >= 5, "it shows tokens and calls: {ran:?}");
}

/// Also of commands that need root, systemd, a container or an issuer of tokens, and so cannot be run here.
#[test]
fn every_command_of_a_document_is_one_that_the_program_has() {
    let mut help: BTreeMap<String, String> = BTreeMap::new();
    let (mut count, mut unknown) = (0, Vec::new());
    for file in
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "crates", "packaging"].into_iter().flat_map(documents)
    {
        let page = fs::read_to_string(&file).expect("it is text");
        // Those are tested as a whole, and the changelog names what is gone.
        if ["docs/reference/commands.md", "docs/CHANGELOG.md", "docs/DECISIONS.md"]
            .iter()
            .any(|name| file.ends_with(name))
        {
            continue;
        }
        for words in commands(&page) {
            let flags =
                words.iter().filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word));
            let subcommands: Vec<&str> = words.iter().copied().take_while(|word| is_word(word)).take(2).collect();
            let Some(help) = help_of(&subcommands, &mut help) else {
                unknown.push(format!("{}: hcert {}", file.display(), words.join(" ")));
                continue;
            };
            count += 1;
            for flag in flags.filter(|flag| *flag != "--help" && *flag != "--version") {
                let is_there = help.split([' ', ',', '\n']).any(|word| word == flag);
                if !is_there {
                    unknown.push(format!("{}: hcert {}: {flag}", file.display(), words.join(" ")));
                }
            }
        }
    }
    assert!(count > 90, "{count} commands");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// Every document at a path or below it.
fn documents(path: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("the tests run in the project's folder");
        let below = entries.map(|entry| entry.expect("a folder can be listed").path());
        return below.flat_map(|path| documents(path.to_str().expect("UTF-8"))).collect();
    }
    if path.extension().is_some_and(|ending| ending == "md") { vec![path.to_owned()] } else { Vec::new() }
}

/// The words behind `hcert` of every command in the blocks of a page.
fn commands(page: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    let blocks = page.split("```").skip(1).step_by(2).filter(|block| {
        let info = block.split(['\n', ' ']).next().unwrap_or_default();
        ["", "sh", "console", "ini"].contains(&info)
    });
    for line in blocks.flat_map(|block| block.lines().skip(1)) {
        let line = line.split(" # ").next().unwrap_or_default().trim_end_matches('\\');
        for part in line.split(['|', ';', '(', ')', '>', '<', '&']) {
            let words: Vec<&str> = part.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
            let is_program =
                |word: &&str| *word == "hcert" || word.ends_with("/bin/hcert") || word.ends_with("release/hcert");
            // `cargo run --release -- dev`; else the program's name in front, or behind sudo, runuser or docker exec.
            let at = match words.first() {
                Some(&"cargo") => words.iter().position(|word| *word == "--").filter(|_| words.contains(&"run")),
                Some(first)
                    if is_program(first)
                        || ["$", "#", "sudo", "runuser", "docker", "podman", "exec"].contains(first) =>
                {
                    words.iter().rposition(is_program)
                }
                _ => None,
            };
            if let Some(at) = at.filter(|at| words.get(at + 1).is_some_and(|word| is_word(word))) {
                found.push(words[at + 1..].to_vec());
            }
        }
    }
    found
}

/// Whether a word can be a subcommand.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-')
}

/// What `--help` says of a command: of the longest that the words name.
fn help_of<'h>(words: &[&str], known: &'h mut BTreeMap<String, String>) -> Option<&'h str> {
    for length in (1..=words.len()).rev() {
        let name = words[..length].join(" ");
        if !known.contains_key(&name) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_hcert"));
            let asked = command.args(&words[..length]).arg("--help").output().expect("the program runs");
            // A word that is no subcommand is an argument of the one before, whose help comes then.
            if !asked.status.success() {
                continue;
            }
            known.insert(name.clone(), String::from_utf8_lossy(&asked.stdout).into_owned());
        }
        return known.get(&name).map(String::as_str);
    }
    None
}

#[test]
fn every_how_to_page_is_run_and_in_the_index() {
    let index = fs::read_to_string("docs/how-to/README.md").expect("the index is there");
    let files = fs::read_dir("docs/how-to").expect("the pages are there");
    let mut names: Vec<String> =
        files.map(|file| file.expect("a folder can be listed").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "README.md");
    names.sort();
    let mut run: Vec<String> = HOW_TO.iter().map(|(page, _)| format!("{page}.md")).collect();
    run.sort();
    assert_eq!(names, run);
    for name in names {
        assert!(index.contains(&format!("({name})")), "the index does not name {name}");
    }
}

#[test]
fn the_realm_for_keycloak_has_roles_that_the_file_of_rights_knows() {
    let realm = fs::read_to_string("packaging/hcert-realm.json").expect("the realm is there");
    let rights = fs::read_to_string("data/permissions.json").expect("the file of rights is there");
    let roles: Vec<&str> =
        realm.split("{\"name\": \"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect();
    assert_eq!(roles.len(), 10, "{roles:?}");
    for role in roles {
        let name = format!("\"{role}\"");
        assert!(rights.contains(&name), "{role} is in no group");
        assert_eq!(realm.matches(&name).count(), 3, "{role} is a role of the realm and in the scopes of both clients");
    }
}

/// Whether a program is here that a document needs. `.ci/run` sets `HCERT_TEST_TOOLS=required`: there it has to be.
fn is_installed(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        return true;
    }
    match env::var("HCERT_TEST_TOOLS").as_deref() {
        Ok("required") => panic!("{program} is not installed, and HCERT_TEST_TOOLS=required"),
        Ok(other) => panic!("HCERT_TEST_TOOLS is 'required' or not set, not '{other}'"),
        Err(_) => {
            // Past the capture of outputs, so that everybody sees it.
            let _ = writeln!(io::stderr(), "skipped: the tutorial that needs {program}, which is not installed");
            false
        }
    }
}

/// Does what a document says, from its first block to its last.
fn follow(document: &str) -> DocumentRun {
    let page = fs::read_to_string(document).expect("the tests run in the project's folder");
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("examples")).expect("an empty folder");
    for file in fs::read_dir("examples").expect("the examples are there") {
        let file = file.expect("a folder can be listed");
        fs::copy(file.path(), folder.path().join("examples").join(file.file_name())).expect("a copy");
    }
    fs::create_dir(folder.path().join("data")).expect("an empty folder");
    for file in ["hcert.toml", "data/permissions.json"] {
        fs::copy(file, folder.path().join(file)).expect("a copy");
    }
    let programs = tempfile::tempdir().expect("a folder");
    symlink(env!("CARGO_BIN_EXE_hcert"), programs.path().join("hcert")).expect("a link");

    let mut server: Option<Server> = None;
    let mut ran = DocumentRun::default();
    for block in blocks(&page) {
        let (commands, shown) = match block {
            Block::Commands { text, shown } => (text, shown),
            Block::File { name, text } => {
                let text = server.as_ref().map_or(text.clone(), |server| text.replace(ADDRESS, &server.address));
                fs::write(folder.path().join(&name), text).expect("a file");
                ran.files += 1;
                continue;
            }
        };
        let output = match server_start(&commands) {
            _ if commands.trim() == "cargo test" => continue,
            Some(line) => {
                // It holds the data folder, which the next one may want.
                drop(server.take());
                let (started, introduction) = Server::start(folder.path(), line);
                server = Some(started);
                introduction
            }
            None => run(&commands, &mut ran.variables, folder.path(), programs.path(), server.as_ref()),
        };
        ran.commands.push_str(&commands);
        if let Some(shown) = shown {
            ran.outputs += 1;
            let (shown, output) = (masked(&shown), masked(&output));
            let lines = |text: &'_ str| text.trim().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
            assert!(
                is_like(&lines(&shown), &lines(&output)),
                "{commands}\n--- {document} shows\n{shown}\n--- what came\n{output}"
            );
        }
    }
    ran
}

/// The words behind the program's name, where a block is one command that starts `hcert dev`.
fn server_start(commands: &str) -> Option<&str> {
    let command = commands.trim();
    let line = command.strip_prefix("cargo run --release -- ").or(command.strip_prefix("hcert "))?;
    let is_start = line.split(' ').next() == Some("dev") && !line.ends_with("--help") && !line.contains('\n');
    is_start.then_some(line)
}

/// Every block of a page, in its order.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut lines = page.lines();
    let mut behind_commands = false;
    let mut above = "";
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            behind_commands &= line.is_empty();
            if !line.is_empty() {
                above = line;
            }
            continue;
        };
        let text: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match (info.split_once(' '), info, found.last_mut()) {
            (None, "sh", _) => found.push(Block::Commands { text, shown: None }),
            (None, "json" | "text", Some(Block::Commands { shown, .. })) if behind_commands => *shown = Some(text),
            (None, "console" | "ini" | "toml", _) => {}
            (Some(("js" | "python" | "toml", name)), ..) => {
                assert!(above.contains(&format!("`{name}`")), "the line above the file {name} does not name it");
                found.push(Block::File { name: name.to_owned(), text });
            }
            _ => panic!("a block of '{info}' that nothing is known about:\n{text}"),
        }
        behind_commands = info == "sh";
        above = "";
    }
    found
}

/// A running server, stopped when it is dropped.
struct Server {
    process: Child,
    /// `http://127.0.0.1:<port>`
    address: String,
    /// Address and port of the management listener.
    management: String,
}

impl Server {
    /// Starts it with the words of a command line behind `hcert`, and reads its introduction.
    fn start(folder: &Path, line: &str) -> (Server, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hcert"));
        command.args(line.split(' ')).current_dir(folder).env("HCERT__SERVER__LISTEN", "127.0.0.1:0");
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("it was piped")).lines();
        let said: Vec<String> = lines.by_ref().take(6).map(|line| line.expect("text")).collect();
        let address =
            said.first().and_then(|line| line.split_once(" listens on ")).expect("it says where it listens").1;
        let address = address.trim_end_matches("/fhir").to_owned();
        let management = said.iter().find_map(|line| line.strip_prefix("health http://")?.strip_suffix("/health"));
        let management = management.expect("it says where its management listener is").to_owned();
        let said = said.join("\n").replace(&address, ADDRESS).replace(&management, MANAGEMENT);
        (Server { process, address, management }, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs commands in a shell, with the variables of those before: both outputs, as a terminal shows them.
fn run(commands: &str, variables: &mut String, folder: &Path, programs: &Path, server: Option<&Server>) -> String {
    let names = commands.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    let is_name = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    // What a shell gives to the next block; the values of documents have no quotes.
    let kept: String =
        names.filter(is_name).map(|name| format!("printf \"{name}='%s'\\n\" \"${name}\" >>.variables\n")).collect();
    let mut commands = commands.replace("cargo run --release -- ", "hcert ");
    if let Some(server) = server {
        commands = commands.replace(ADDRESS, &server.address).replace(MANAGEMENT, &server.management);
    }
    let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap_or_default());
    assert!(!commands.contains("cargo"), "only cargo run can be stood in for: {commands}");
    let mut shell = Command::new("sh");
    shell
        .args(["-eu", "-c", &format!("exec 2>&1\n{variables}\n{commands}\n{kept}")])
        .current_dir(folder)
        .stdin(Stdio::null());
    shell.env("PATH", path);
    if let Some(server) = server {
        shell.env("HCERT__MANAGEMENT__LISTEN", &server.management);
    }
    let mut shell = shell.stdout(Stdio::piped()).spawn().expect("a shell");
    let mut said = String::new();
    shell.stdout.take().expect("it was piped").read_to_string(&mut said).expect("text");
    let status = shell.wait().expect("it ends");
    assert!(status.success(), "{status} (is curl installed?):\n{commands}\n{said}");
    *variables = fs::read_to_string(folder.join(".variables")).unwrap_or_default();
    server.map_or(said.clone(), |server| said.replace(&server.address, ADDRESS).replace(&server.management, MANAGEMENT))
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

/// Whether lines are as a document shows them.
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
    let Some((before, behind)) = shown.split_once('…') else {
        return shown == line;
    };
    let Some(rest) = line.strip_prefix(before) else {
        return false;
    };
    let (between, end) = behind.rsplit_once('…').unwrap_or(("", behind));
    let Some(mut rest) = rest.strip_suffix(end) else {
        return false;
    };
    between.split('…').all(|part| match rest.split_once(part) {
        _ if part.is_empty() => true,
        None => false,
        Some((_, behind)) => {
            rest = behind;
            true
        }
    })
}

#[test]
fn what_is_shown_is_compared_line_by_line() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is_like = |shown: &str, came: &str| is_like(&lines(shown), &lines(came));
    assert!(is_like("a\n…\nd", "a\nb\nc\nd") && is_like("a\n…\nb", "a\nb") && is_like("data …/x", "data /somewhere/x"));
    assert!(
        !is_like("a\nb", "a\nb\nc") && !is_like("a\n…\ne", "a\nb\nd") && !is_like("a", "b") && !is_like("a\n…", "b")
    );
    assert!(is_like("a …, b … c", "a 1, b 2 c") && is_like("… b …", "a b c") && !is_like("a … c … d", "a b d"));
    assert_eq!(masked("\"lastUpdated\": \"2026-01-01T10:00:00.123+02:00\","), "\"lastUpdated\": \"[moment]\",");
    assert_eq!(masked("\"start\": \"2026-01-01T10:00:00+02:00\","), "\"start\": \"2026-01-01T10:00:00+02:00\",");
    assert_eq!(masked("x-request-id: 0b7c1f3e-5d0a-4a52-9f38-6d3f5f0f6a01"), "x-request-id: [uuid]");
}

#[test]
fn blocks_are_commands_with_their_output_and_files() {
    let commands =
        |text: &str, shown: Option<&str>| Block::Commands { text: text.to_owned(), shown: shown.map(str::to_owned) };
    let page = "```sh\na\n```\n\n```text\nb\n```\n\nCreate `c.mjs`:\n\n```js c.mjs\nd\n```\n\n```sh\ne\n```\n";
    let file = Block::File { name: "c.mjs".to_owned(), text: "d\n".to_owned() };
    assert_eq!(blocks(page), [commands("a\n", Some("b\n")), file, commands("e\n", None)]);
}

#[test]
#[should_panic(expected = "does not name it")]
fn a_file_has_to_be_named_above_its_block() {
    blocks("Create `c.mjs`:\n\n```js d.mjs\ne\n```\n");
}

#[test]
#[should_panic(expected = "nothing is known about")]
fn an_output_has_to_stand_behind_its_commands() {
    blocks("```sh\na\n```\n\nbetween\n\n```text\nb\n```\n");
}
