//! Checks the map of the modules where the compiler cannot: which module of the service may use which, and where the big
//! libraries may be named. Between crates the compiler sees to it.

mod circles;
mod diagrams;
mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and the modules it may use. Dependencies never point backwards; a module that is not listed is a failure.
const MAP: &[(&str, &[&str])] = &[
    ("tls", &[]),
    ("output", &[]),
    ("turns", &[]),
    ("config", &["output"]),
    ("audit", &["config"]),
    ("backup", &["audit", "config"]),
    ("access", &["config", "tls"]),
    ("registry", &["config", "tls", "turns"]),
    ("interaction", &["access", "audit", "config", "registry", "turns"]),
    ("http", &["access", "config", "interaction", "tls", "turns"]),
    ("bulk", &["audit", "config", "interaction", "registry"]),
    ("socket", &["audit", "backup", "bulk", "interaction"]),
    ("management", &["access", "audit", "backup", "config", "http", "interaction", "output", "registry", "tls"]),
    ("corpus", &["registry"]),
    ("documents", &[]),
    ("console", &["access", "audit", "config", "documents", "http", "interaction", "registry"]),
    ("bench", &["config", "corpus", "http", "interaction", "registry"]),
    (
        "cli",
        &[
            "access",
            "audit",
            "backup",
            "bench",
            "bulk",
            "config",
            "console",
            "corpus",
            "documents",
            "http",
            "interaction",
            "management",
            "output",
            "registry",
            "socket",
            "tls",
        ],
    ),
    ("texts", &["documents"]),
    ("main", &["cli", "config", "texts"]),
    ("lib", &[]),
];

/// A library and the only folders that may name it.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("hyper", &["src/http/", "src/management/", "src/cli/", "src/registry/remote/", "src/access/token/"]),
    ("hyper_util", &["src/http/", "src/management/", "src/cli/", "src/registry/remote/", "src/access/token/"]),
    ("hyper_rustls", &["src/registry/remote/", "src/access/token/"]),
    // The name stands in that of tokio_rustls as well.
    (
        "rustls",
        &[
            "src/registry/remote/",
            "src/access/token/",
            "src/tls.rs",
            "src/tls/",
            "src/http/tls.rs",
            "src/management/listener.rs",
            "src/cli/health.rs",
        ],
    ),
    ("tokio_rustls", &["src/http/tls.rs", "src/management/listener.rs", "src/registry/remote/tests/"]),
    ("rustls_native_certs", &["src/tls.rs"]),
    ("prometheus_client", &["crates/base/src/metrics/"]),
    ("quick_cache", &["src/registry/remote/", "src/access/token/"]),
    ("redb", &["crates/engine/src/embedded/store/"]),
    ("tantivy", &["crates/engine/src/embedded/index/"]),
    ("zstd", &["crates/engine/src/embedded/store/", "src/audit/", "src/corpus/tests.rs"]),
    (
        "xxhash_rust",
        &["src/audit/index/file.rs", "src/audit/tests/index.rs", "crates/engine/src/embedded/store/pages.rs"],
    ),
    ("clap", &["src/cli/", "src/main.rs"]),
    ("maud", &["src/console/"]),
    ("pulldown_cmark", &["src/console/screen/documents.rs"]),
    ("indicatif", &["src/cli/"]),
    ("tar", &["src/backup/block.rs"]),
    ("age", &["src/backup/"]),
    ("roxmltree", &["crates/fhir/src/", "src/bench/svg.rs"]),
    ("krilla", &["crates/pdf/src/draw.rs", "crates/pdf/src/font.rs"]),
    ("skrifa", &["crates/pdf/src/font.rs"]),
    ("qrcodegen", &["crates/pdf/src/strip.rs"]),
];

#[test]
fn dependencies_between_modules_never_point_backwards() {
    let mut wrong = Vec::new();
    for file in sources().into_iter().filter(|file| file.starts_with("src")) {
        let module = module(&file);
        let allowed = MAP.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed);
        let Some(allowed) = allowed else {
            wrong.push(format!("{}: the module '{module}' is not on the map", file.display()));
            continue;
        };
        for used in used_modules(&code(&file)) {
            if used != module && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: {module} must not use {used}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_map_itself_has_no_circle() {
    for (at, (_, allowed)) in MAP.iter().enumerate() {
        let earlier: BTreeSet<&str> = MAP[..at].iter().map(|(name, _)| *name).collect();
        let later = allowed.iter().filter(|used| !earlier.contains(*used)).collect::<Vec<_>>();
        assert!(later.is_empty(), "{} uses modules that come after it: {later:?}", MAP[at].0);
    }
}

/// What was seen: a row of the page had lost its columns, and a module was missing.
#[test]
fn the_page_on_the_architecture_shows_the_map() {
    let page = fs::read_to_string("docs/explanation/architecture.md").expect("it is text");
    let section = page.split_once("| Module | What it is | May use |").expect("the table is there").1;
    let mut shown = BTreeMap::new();
    for row in section.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [module, _, used] = cells[..] else { panic!("not three columns: {row}") };
        let names = used.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
        shown.insert(module.trim_matches('`').to_owned(), (used.to_owned(), names));
    }
    // The roots are no modules.
    for (module, allowed) in MAP.iter().filter(|(name, _)| !["texts", "main", "lib"].contains(name)) {
        let (text, names) = shown.get(*module).unwrap_or_else(|| panic!("the page does not show {module}"));
        let is_as_told =
            text == "everything below" || allowed.iter().map(|name| (*name).to_owned()).eq(names.iter().cloned());
        assert!(is_as_told, "{module}: the page says {text}, the map {allowed:?}");
    }
}

/// The roots of the crates.
const CRATES: &[&str] = &[
    "src/lib.rs",
    "crates/base/src/lib.rs",
    "crates/certificate/src/lib.rs",
    "crates/engine/src/lib.rs",
    "crates/fhir/src/lib.rs",
    "crates/journal/src/lib.rs",
    "crates/pdf/src/lib.rs",
];

#[test]
fn no_file_is_in_a_circle_with_others() {
    let circles = |root: &&str| circles::circles(&circles::Crate::read(Path::new(root)).arrows());
    let told: Vec<String> = CRATES.iter().flat_map(circles).map(|circle| circle.join("\n  ")).collect();
    assert!(told.is_empty(), "{} circles:\n\n{}", told.len(), told.join("\n\n"));
}

/// A reader who meets a name knows which type it is, in every crate. Types that only tests have do not count.
#[test]
fn each_type_has_a_name_of_its_own() {
    let mut places = BTreeMap::<String, Vec<PathBuf>>::new();
    for root in CRATES {
        for (name, file) in circles::Crate::read(Path::new(root)).types() {
            places.entry(name).or_default().push(file);
        }
    }
    assert!(places.len() > 700, "{} types are found", places.len());
    let shared: Vec<String> = places
        .into_iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, files)| {
            format!("{name}: {}", files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert!(shared.is_empty(), "{} names stand for several types:\n{}", shared.len(), shared.join("\n"));
}

/// The last column of the glossary says where a word is in the code; a rename has to rename it there too.
#[test]
fn the_glossary_names_types_and_files_that_exist() {
    let types: BTreeSet<String> =
        CRATES.iter().flat_map(|root| circles::Crate::read(Path::new(root)).types()).map(|(name, _)| name).collect();
    let page = fs::read_to_string("docs/GLOSSARY.md").expect("the glossary is there");
    let is_there = |name: &&str| if name.contains('/') { Path::new(name).exists() } else { types.contains(*name) };
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let columns = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | ").map(|(_, last)| last));
    let names: Vec<&str> = columns.flat_map(|column| column.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 100, "{} names are found", names.len());
    let gone: Vec<&str> = names.into_iter().filter(|name| !is_there(name)).collect();
    assert!(gone.is_empty(), "docs/GLOSSARY.md names what is not there: {gone:?}");
}

#[test]
fn big_libraries_stay_in_their_modules() {
    let mut wrong = Vec::new();
    for file in sources() {
        let path = file.to_string_lossy().replace('\\', "/");
        let text = code(&file);
        for (library, modules) in LIBRARIES {
            let name = format!("{library}::");
            // Behind another letter it is the end of a longer name.
            let is_whole = |at: usize| !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let named =
                text.match_indices(&name).any(|(at, _)| is_whole(at)) || text.contains(&format!("use {library};"));
            if named && !modules.iter().any(|module| path.starts_with(module)) {
                wrong.push(format!("{path} names {library}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_behind_the_front_end_is_synchronous() {
    let behind = |file: &PathBuf| {
        let modules =
            ["crates/fhir/", "crates/certificate/", "crates/engine/", "crates/pdf/", "src/audit/", "src/backup/"];
        modules.iter().any(|module| file.starts_with(module))
    };
    for file in sources().iter().filter(|file| behind(file)) {
        let text = code(file);
        // A name may begin with the word.
        let mut awaits = text.match_indices(".await").map(|(at, word)| &text[at + word.len()..]);
        let awaits = awaits.any(|behind| !behind.starts_with('_'));
        assert!(!text.contains("async fn") && !awaits, "{} awaits", file.display());
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // Written in parts, so that this file does not find itself.
    let words =
        [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["unimple", "mented!"].concat(), ["to", "do!("].concat()];
    for file in sources().into_iter().chain(files(Path::new("tests"))) {
        let text = fs::read_to_string(&file).expect("a source file is text");
        for word in &words {
            assert!(!text.contains(word), "{} holds {word}", file.display());
        }
    }
}

/// Phrases that readers did not understand, in lower case, and what to write instead. Source: STYLE, "Plain words".
#[rustfmt::skip]
const NOT_PLAIN: &[(&str, &str)] = &[
    ("the certificate is over", "the TLS certificate has expired"),
    ("may not see it is told nothing", "callers without access get 404"),
    ("nobody can watch the service", "metrics and health are off"),
    ("takes the one away takes the other", "one disk failure would lose both"),
    ("mends nothing", "repairs nothing"),
    ("the door", "the HTTP front end"),
    ("this room", "this module"),
    ("rooms of the", "modules of the"),
    ("map of the house", "map of the modules"),
    ("did not say within", "timed out after"),
    ("worth being woken", "suggested alerts"),
    ("needs to be looked after", "names the problem"),
    ("by a fault of its own", "internal error (bug)"),
    ("is no address of this machine", "is not an address of this machine"),
    ("stands here is all there is", "who the document is for"),
    ("the way of commands", "the control socket"),
    ("nobody will go back", "once you will not downgrade"),
    ("as it likes |", "either"),
    ("is told by", "is reported by, or an active verb"),
    ("are told by", "are reported by, or an active verb"),
    ("tells of", "reports, describes or names"),
    ("tell of", "report, describe or name"),
    ("none is given twice", "none is used again"),
    ("is known by restoring", "restore backups as a test"),
    ("neither address is there", "both endpoints are off"),
    ("not told of again", "reported once"),
    ("a member twice", "a duplicate key"),
    ("whoever speaks", "a client that speaks"),
    ("whoever comes", "every caller, or the next request"),
    ("sends and hears", "is full duplex"),
    ("had told of them", "had answered"),
    ("be made to happen", "be triggered on demand"),
    ("kept and mended", "operate, recover"),
    ("what is refused has changed", "a refused request changes nothing"),
    ("for the words of whoever", "shown in the error of the second process"),
    ("narrowed without a word", "silently restricted"),
    ("while it is silent these", "when the registry does not answer"),
    ("makes nobody up", "makes up no people"),
];

/// Documents, messages and comments are for engineers whose mother tongue is not English. The changelog stays as it was
/// published.
#[test]
fn no_document_message_or_comment_has_a_phrase_that_is_not_plain() {
    let documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "hcert.toml"].map(PathBuf::from).to_vec();
    let folders = ["docs", "docs/explanation", "docs/how-to", "docs/performance", "docs/reliability"]
        .map(|folder| markdown(Path::new(folder)))
        .concat();
    let readmes = ["base", "certificate", "engine", "fhir", "journal", "pdf"]
        .map(|name| format!("crates/{name}/README.md").into());
    let tests = files(Path::new("tests")).into_iter().filter(|file| !file.starts_with("tests/tidy"));
    let texts: Vec<PathBuf> =
        [documents, folders, readmes.to_vec(), sources()].concat().into_iter().chain(tests).collect();
    let mut found = Vec::new();
    for file in texts.iter().filter(|file| !file.ends_with("CHANGELOG.md")) {
        let text = words(&fs::read_to_string(file).expect("a document is text"));
        for (phrase, plain) in NOT_PLAIN {
            let is_whole = |at: usize| {
                let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
                !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
            };
            if text.match_indices(phrase).any(|(at, _)| is_whole(at)) {
                found.push(format!("{}: \"{phrase}\"; rather: {plain}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A text in lower case and on one line, without the marks of comments: a phrase may go over the end of a line.
fn words(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !["///", "//!", "//", "#"].contains(word));
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the tests run in the project's folder");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// So the page about the log names every line that can be in it. Decision 175.
#[test]
fn every_line_of_the_log_is_an_event_of_the_table_and_every_event_has_its_line() {
    let calls = ["error", "warn", "info", "debug", "trace", "event"].map(|name| format!("tracing::{name}!("));
    let table = fs::read_to_string("crates/base/src/log/events.rs").expect("the table of events is there");
    let mut written = String::new();
    for file in sources() {
        let (path, text) = (file.to_string_lossy().into_owned(), code(&file));
        let writes_lines = path.starts_with("crates/base/src/log/") || path.starts_with("src/cli/log/");
        for call in calls.iter().filter(|_| !writes_lines) {
            assert!(!text.contains(call.as_str()), "{path}: {call}…) is no event of crates/base/src/log/events.rs");
        }
        if path != "crates/base/src/log/events.rs" {
            written.extend(text.split_whitespace());
        }
    }
    let names = table.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, level) = (words.next()?, words.next()?);
        ["ERROR", "WARN", "INFO", "DEBUG"].contains(&level).then_some(name)
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let calls = [format!("event!({name},"), format!("event!({name})"), format!("events::{name};")];
        assert!(calls.iter().any(|call| written.contains(call)), "{name} is never written");
    }
}

/// So the page about metrics names none that nobody tells.
#[test]
fn every_metric_of_the_table_is_told() {
    let own = "crates/base/src/metrics/names.rs";
    let table = fs::read_to_string(own).expect("the table of metrics is there");
    let told: String = sources().iter().filter(|file| *file != Path::new(own)).map(|file| code(file)).collect();
    let words: BTreeSet<&str> =
        told.split(|character: char| !(character.is_ascii_uppercase() || character == '_')).collect();
    let names = table.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, kind) = (words.next()?, words.next()?);
        (["Counter", "Gauge", "Histogram"].contains(&kind) && words.next()?.starts_with('"')).then_some(name)
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 40, "{names:?}");
    let silent: Vec<&&str> = names.iter().filter(|name| !words.contains(**name)).collect();
    assert!(silent.is_empty(), "told by nothing: {silent:?}");
}

/// The first folder or file below `src`.
fn module(file: &Path) -> String {
    let below = file.strip_prefix("src").expect("sources lie below src");
    let first = below.components().next().expect("a file has a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// A file without its comments: a doc link is no arrow.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file is text");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn used_modules(text: &str) -> BTreeSet<String> {
    let crates = text.match_indices("crate::").chain(text.match_indices("hcert::"));
    let names = crates.filter_map(|(at, prefix)| {
        let rest = &text[at + prefix.len()..];
        let name: String =
            rest.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
        let known = MAP.iter().any(|(module, _)| *module == name);
        known.then_some(name)
    });
    names.collect()
}

fn sources() -> Vec<PathBuf> {
    let found: Vec<PathBuf> = ["src", "crates"].map(|folder| files(Path::new(folder))).concat();
    assert!(found.len() > 400, "the sources are where this test looks for them");
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the tests run in the project's folder") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The list of all bounds is made of the constants themselves: `HCERT_WRITE=1 cargo test --test tidy bounds` writes it.
#[test]
fn the_list_of_bounds_is_that_of_the_code() {
    let mut list = String::from(
        "# Bounds\n\nEvery bound of the program, made of the source by a test (`tests/tidy`). Those that a setting moves say so; \
         `hcert.toml`\ndescribes the settings. The others are fixed.\n",
    );
    let mut count = 0;
    for file in sources().iter().filter(|file| !file.to_string_lossy().contains("tests")) {
        let text = fs::read_to_string(file).expect("a source file is text");
        let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let bounds = bounds(production, file.ends_with("limits.rs"));
        if !bounds.is_empty() {
            list.push_str(&format!("\n## `{}`\n\n| Bound | Value | What |\n|---|---|---|\n", file.display()));
        }
        for [name, value, what] in bounds {
            count += 1;
            list.push_str(&format!("| `{name}` | {value} | {what} |\n"));
        }
    }
    assert!(count > 250, "{count} bounds are found");
    let page = Path::new("docs/LIMITS.md");
    if std::env::var_os("HCERT_WRITE").is_some() {
        fs::write(page, &list).expect("the page can be written");
    }
    let written = fs::read_to_string(page).unwrap_or_default();
    assert!(written == list, "docs/LIMITS.md is not what the code says: HCERT_WRITE=1 cargo test --test tidy bounds");
}

/// Name, value and documentation of each bound in a file: the constants that are numbers and whose names say of what.
fn bounds(text: &str, is_list: bool) -> Vec<[String; 3]> {
    const UNITS: [&str; 12] =
        ["_MAX", "_MIN", "_BYTES", "_MS", "_S", "_SECONDS", "_MINUTES", "_DAYS", "_ROWS", "_MB", "_HOURS", "_TERMS"];
    const NUMBERS: [&str; 7] = ["usize", "u64", "u32", "u16", "i64", "i32", "f32"];
    let (mut found, mut what) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(documentation) = line.strip_prefix("/// ") {
            what.push_str(if what.is_empty() { "" } else { " " });
            what.push_str(documentation);
            continue;
        }
        let declared =
            line.trim_start_matches("pub(super) ").trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let declared = declared.strip_prefix("const ").and_then(|rest| rest.split_once(": "));
        if let Some((name, rest)) = declared
            && let Some((number, value)) = rest.split_once(" =")
            && NUMBERS.contains(&number)
            // What nobody explains is a part of a format, not a bound.
            && !what.is_empty()
            && (is_list || UNITS.iter().any(|unit| name.ends_with(unit)))
        {
            let mut value = value.trim().to_owned();
            while !value.ends_with(';') {
                let Some(more) = lines.next() else { break };
                value = format!("{value} {}", more.trim()).trim().to_owned();
            }
            let value = value.trim_end_matches(';').replace('|', "\\|");
            found.push([name.to_owned(), value, what.replace('|', "\\|")]);
        }
        what.clear();
    }
    found
}
