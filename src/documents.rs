//! The documents of the project inside the program, for `hcert docs` and for consoles: whoever has the program has the
//! pages that describe it, without the sources and without a network.
//!
//! `docs/SUMMARY.md` gives order, titles and groups, here as for the static site. The table `TEXTS` gives the texts,
//! because `include_str!` takes one file by its name; a test compares it with the summary, and `tests/tidy` the summary
//! with the folder. The last group is for those who change the code. They have the sources, and its pages speak of
//! them, so they are not in the program.

const SUMMARY: &str = include_str!("../docs/SUMMARY.md");

/// The group whose pages are not in the program.
const SOURCES_ONLY: &str = "The project: for those who change the code";

/// Pairs of a file, named as the summary names it, and its text.
macro_rules! texts {
    ($($file:literal,)*) => { &[$(($file, include_str!(concat!("../docs/", $file)))),*] };
}

#[rustfmt::skip]
const TEXTS: &[(&str, &str)] = texts![
    "../README.md",
    "tutorial/README.md",
    "tutorial/node.md",
    "tutorial/python.md",
    "how-to/README.md",
    "how-to/call-with-curl.md",
    "how-to/install.md",
    "how-to/secure-with-keycloak.md",
    "how-to/back-up-and-restore.md",
    "how-to/upgrade.md",
    "how-to/monitor.md",
    "how-to/move-data-in.md",
    "how-to/change-rights.md",
    "reference/api.md",
    "reference/driver-certificate.md",
    "reference/occupational-certificate.md",
    "ERRORS.md",
    "CONTRACT.md",
    "CHANGELOG.md",
    "reference/settings.md",
    "reference/commands.md",
    "reference/metrics.md",
    "OPERATIONS.md",
    "BACKUP.md",
    "MONITORING.md",
    "LOGGING.md",
    "AUDIT.md",
    "TRANSPORT.md",
    "LIMITS.md",
    "explanation/README.md",
    "explanation/architecture.md",
    "explanation/storage.md",
    "explanation/search.md",
    "explanation/decisions.md",
    "ACCESS.md",
    "VALIDATION.md",
    "SECURITY.md",
    "THREATS.md",
    "CRYPTOGRAPHY.md",
    "BENCHMARKS.md",
    "et/README.md",
    "et/liidestujale.md",
    "et/kaitajale.md",
];

/// Pictures of the pages, in SVG.
#[rustfmt::skip]
const PICTURES: &[(&str, &str)] = texts![
    "explanation/states.svg",
    "explanation/write.svg",
    "latency.svg",
];

/// How alike a name and a path must be, from 0 to 1, to be suggested; as for settings.
const LIKENESS: f64 = 0.85;

/// How many pages are suggested in place of an unknown one.
const SUGGESTIONS: usize = 3;

/// A document, as it is in the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentPage {
    /// Heading of its group in the summary; empty before the first group.
    pub group: &'static str,
    /// Its file below `docs/` without `.md`, such as `how-to/install`. `README` is the project's own.
    pub path: &'static str,
    /// What the summary calls it.
    pub title: &'static str,
    /// Markdown. Its links are those of the sources, relative to the page's file.
    pub text: &'static str,
}

/// A line of the summary.
#[derive(Debug, Clone, Copy)]
struct SummaryEntry {
    group: &'static str,
    /// Relative to `docs/`.
    file: &'static str,
    title: &'static str,
}

impl SummaryEntry {
    /// The path of its page. The files beside `docs/` have none in it.
    fn path(self) -> &'static str {
        let below = self.file.trim_start_matches("../");
        below.strip_suffix(".md").unwrap_or(below)
    }

    fn is_in_program(self) -> bool {
        self.group != SOURCES_ONLY
    }
}

/// Every page that is in the program, in the order of the summary.
pub fn pages() -> impl Iterator<Item = DocumentPage> {
    entries().filter(|entry| entry.is_in_program()).filter_map(|entry| {
        let text = text_of(TEXTS, entry.file)?;
        Some(DocumentPage { group: entry.group, path: entry.path(), title: entry.title, text })
    })
}

/// The page that a name means, in any case, with or without `docs/` and `.md`: by its path; by its folder, whose README
/// it is (`how-to`); or by the last part of its path, where no other page has the same (`install`).
pub fn page(name: &str) -> Option<DocumentPage> {
    let wanted = plain(name);
    let paths: Vec<&str> = pages().map(|page| page.path).collect();
    let path = meant(&wanted, &paths)?;
    pages().find(|page| page.path == path)
}

/// A picture of a page by its file below `docs/`: the text of the SVG.
pub fn picture(file: &str) -> Option<&'static str> {
    text_of(PICTURES, file)
}

/// The file of a page that is in the sources alone, such as `docs/DECISIONS.md`. A name means it as in [`page`].
pub fn in_sources(name: &str) -> Option<String> {
    let wanted = plain(name);
    let entries: Vec<SummaryEntry> = entries().filter(|entry| !entry.is_in_program()).collect();
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path()).collect();
    let path = meant(&wanted, &paths)?;
    let file = entries.iter().find(|entry| entry.path() == path)?.file;
    Some(file.strip_prefix("../").map_or_else(|| format!("docs/{file}"), str::to_owned))
}

/// Paths of the pages that an unknown name most likely means, the likeliest first.
pub fn nearest(name: &str) -> Vec<&'static str> {
    let wanted = plain(name);
    let likeness = |path: &str| {
        let path = plain(path);
        let is_part = wanted.len() > 2 && path.contains(&wanted);
        let alike = strsim::jaro_winkler(&wanted, &path).max(strsim::jaro_winkler(&wanted, last_part(&path)));
        if is_part { 1.0 } else { alike }
    };
    let mut near: Vec<(f64, &str)> = pages().map(|page| (likeness(page.path), page.path)).collect();
    near.retain(|(likeness, _)| *likeness >= LIKENESS);
    // Equals stay in the order of the summary.
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().take(SUGGESTIONS).map(|(_, path)| path).collect()
}

/// Headings are groups, and every other line that ends as a link is a page. The first heading is the summary's own.
fn entries() -> impl Iterator<Item = SummaryEntry> {
    let mut group = "";
    SUMMARY.lines().skip(1).filter_map(move |line| {
        if let Some(heading) = line.strip_prefix("# ") {
            group = heading;
            return None;
        }
        let (title, file) = line.trim_start_matches([' ', '-', '[']).strip_suffix(')')?.split_once("](")?;
        Some(SummaryEntry { group, file, title })
    })
}

fn text_of(table: &[(&'static str, &'static str)], file: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// The path that a plain name means.
fn meant<'p>(wanted: &str, paths: &[&'p str]) -> Option<&'p str> {
    let folder = format!("{wanted}/readme");
    let by_path = paths.iter().find(|path| plain(path) == wanted);
    let by_folder = || paths.iter().find(|path| plain(path) == folder);
    let by_last_part = || {
        let mut found = paths.iter().filter(|path| last_part(&plain(path)) == wanted);
        found.next().filter(|_| found.next().is_none())
    };
    by_path.or_else(by_folder).or_else(by_last_part).copied()
}

/// A name as people may write it, in the form in which names are compared. Links of other pages are names too.
fn plain(name: &str) -> String {
    let name = name.to_lowercase();
    let file = name.split('#').next().unwrap_or_default();
    let file = file.trim_start_matches("../").trim_start_matches("./").trim_start_matches("docs/");
    file.trim_end_matches('/').trim_end_matches(".md").to_owned()
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_table_has_the_pages_of_the_summary_and_no_others() {
        let of_summary = entries().filter(|entry| entry.is_in_program()).map(|entry| entry.file);
        let of_table = TEXTS.iter().map(|(file, _)| *file);
        assert_eq!(of_table.collect::<Vec<_>>(), of_summary.collect::<Vec<_>>(), "TEXTS of src/documents.rs");
        assert!(entries().any(|entry| !entry.is_in_program()), "the summary has no group '{SOURCES_ONLY}'");
        let files: BTreeSet<&str> = entries().map(|entry| entry.file).collect();
        assert_eq!(files.len(), entries().count(), "the summary names a page twice");
        let paths: BTreeSet<&str> = pages().map(|page| page.path).collect();
        assert_eq!(paths.len(), pages().count(), "two pages have the same path");
    }

    #[test]
    fn every_page_begins_with_a_heading_and_has_a_title_and_every_picture_is_one() {
        for page in pages() {
            let begins = page.text.trim_start();
            let behind_comment = begins.strip_prefix("<!--").and_then(|rest| rest.split_once("-->"));
            let begins = behind_comment.map_or(begins, |(_, rest)| rest.trim_start());
            assert!(begins.starts_with("# ") && !page.title.is_empty(), "{}", page.path);
        }
        for (file, text) in PICTURES {
            assert!(text.contains("<svg") && picture(file) == Some(*text), "{file}");
        }
        let mut there = pictures_below(Path::new("docs"));
        there.sort();
        assert_eq!(there, PICTURES.iter().map(|(file, _)| format!("docs/{file}")).collect::<Vec<_>>());
    }

    fn pictures_below(folder: &Path) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let of = |path: PathBuf| match path.is_dir() {
            true => pictures_below(&path),
            false => vec![path.to_string_lossy().into_owned()],
        };
        paths.flat_map(of).filter(|path| path.ends_with(".svg")).collect()
    }

    #[test]
    fn a_page_is_found_by_path_folder_or_last_part_in_any_case() {
        let path = |name: &str| page(name).map(|page| page.path);
        for name in ["how-to/install", "how-to/install.md", "docs/how-to/install.md", "Install", "install/"] {
            assert_eq!(path(name), Some("how-to/install"), "{name}");
        }
        for name in ["ACCESS", "access", "Access.md", "docs/ACCESS.md", "../ACCESS.md#rights"] {
            assert_eq!(path(name), Some("ACCESS"), "{name}");
        }
        assert_eq!(path("README.md"), Some("README"), "the project's own, not that of a folder");
        assert_eq!((path("how-to"), path("et/")), (Some("how-to/README"), Some("et/README")));
        assert_eq!(path("security"), Some("SECURITY"), "how to report a vulnerability is in the sources");
        for name in ["", "to/install", ".md", "latency", "latency.svg", "hot-paths", "contributing"] {
            assert_eq!(path(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_in_the_sources_alone_is_named_with_its_file() {
        assert_eq!(in_sources("docs/performance/hot-paths.md").as_deref(), Some("docs/performance/hot-paths.md"));
        assert_eq!(in_sources("Contributing").as_deref(), Some("CONTRIBUTING.md"));
        assert_eq!(in_sources("how-to/install"), None);
        for entry in entries().filter(|entry| !entry.is_in_program()) {
            let file = in_sources(entry.file).unwrap();
            assert!(Path::new(&file).is_file(), "{file}");
        }
    }

    #[test]
    fn a_misspelt_name_has_its_likely_pages() {
        assert_eq!(nearest("instal").first(), Some(&"how-to/install"));
        assert_eq!(nearest("OPERATION").first(), Some(&"OPERATIONS"));
        assert_eq!(nearest("keycloak"), ["how-to/secure-with-keycloak"]);
        assert_eq!(nearest("how-to/upgrad").first(), Some(&"how-to/upgrade"));
        assert_eq!(nearest("certificate"), ["reference/driver-certificate", "reference/occupational-certificate"]);
        for name in ["", "x", "qqqq"] {
            assert!(nearest(name).is_empty(), "{name}: {:?}", nearest(name));
        }
        assert!(nearest("e").len() <= SUGGESTIONS && nearest("how-to").len() == SUGGESTIONS);
    }
}
