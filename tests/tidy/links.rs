//! Links between documents: each leads to a file that exists and, behind `#`, to a heading of it. `docs/SUMMARY.md`
//! names every document, so that the static site and `hcert docs` have each of them.
//!
//! `.ci/site` checks the same in the pages that the site is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders that may hold documents, and files beside them.
const FOLDERS: &[&str] = &["docs", "crates", "fuzz", "packaging", "examples", "data", "tests", "benches"];

const TABLE_OF_CONTENTS: &str = "docs/SUMMARY.md";

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let documents = documents();
    let ids: BTreeMap<&Path, BTreeSet<String>> =
        documents.iter().map(|(path, text)| (path.as_path(), ids(text))).collect();
    let (mut checked, mut dead) = (0, Vec::new());
    for (path, text) in &documents {
        for link in links(text).into_iter().filter(|link| !is_elsewhere(link)) {
            checked += 1;
            let (file, fragment) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() { path.clone() } else { resolved(&folder.join(file)) };
            let told = format!("{}: {link}", path.display());
            if !target.exists() {
                dead.push(format!("{told}: there is no such file"));
            } else if !fragment.is_empty() && !ids.get(target.as_path()).is_some_and(|ids| ids.contains(fragment)) {
                dead.push(format!("{told}: {} has no such heading", target.display()));
            }
        }
    }
    assert!(documents.len() > 40 && checked > 150, "{} documents, {checked} links", documents.len());
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_table_of_contents_names_every_document_once() {
    let text = fs::read_to_string(TABLE_OF_CONTENTS).expect("the table of contents is there");
    let mut named: Vec<PathBuf> = links(&text).iter().map(|link| resolved(&Path::new("docs").join(link))).collect();
    named.sort();
    let is_page = |path: &PathBuf| path.starts_with("docs") || path.parent() == Some(Path::new(""));
    let pages: Vec<PathBuf> = documents().into_keys().filter(is_page).collect();
    let pages: Vec<PathBuf> = pages.into_iter().filter(|path| path != Path::new(TABLE_OF_CONTENTS)).collect();
    assert_eq!(named, pages);
}

/// A document that moves is named in comments, messages and scripts too. The changelog names files as they were.
#[test]
fn every_document_that_is_named_by_its_path_exists() {
    let scripts = fs::read_dir(".ci").expect("the scripts are there").map(|file| file.expect("a file").path());
    let others = ["hcert.toml", "Cargo.toml", "packaging/hcert.toml", "packaging/Containerfile"].map(PathBuf::from);
    let tests = super::files(Path::new("tests"));
    let sources = super::sources().into_iter().chain(tests).chain(super::files(Path::new("benches")));
    let documents = documents().into_keys().filter(|path| !path.ends_with("CHANGELOG.md"));
    let (mut count, mut gone) = (0, Vec::new());
    for file in sources.chain(documents).chain(scripts).chain(others) {
        let text = fs::read_to_string(&file).expect("it is text");
        for path in named(&text) {
            count += 1;
            if !Path::new(path).exists() {
                gone.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(count > 150, "{count} names are found");
    assert!(gone.is_empty(), "there are no such documents:\n{}", gone.join("\n"));
}

/// Every document by its path, in the order of the paths.
fn documents() -> BTreeMap<PathBuf, String> {
    let top = fs::read_dir(".").expect("the tests run in the project's folder");
    let mut paths: Vec<PathBuf> =
        top.map(|file| PathBuf::from(file.expect("a folder can be listed").file_name())).collect();
    paths.retain(|path| path.is_file());
    paths.extend(FOLDERS.iter().flat_map(|folder| below(Path::new(folder))));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a document is text");
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let paths =
        fs::read_dir(folder).expect("a folder of the project").map(|file| file.expect("it can be listed").path());
    let is_made = |path: &PathBuf| path.ends_with("target") || path.ends_with("node_modules");
    paths.filter(|path| !is_made(path)).flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Whether a link leaves the project.
fn is_elsewhere(link: &str) -> bool {
    ["https:", "http:", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// A path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

/// Targets of the links and pictures in a text, those in code left out.
fn links(text: &str) -> Vec<String> {
    // A mark without its second one is of its paragraph alone.
    let paragraphs: Vec<String> = without_blocks(text).split("\n\n").map(without_spans).collect();
    let text = paragraphs.join("\n\n");
    let inline = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
    let defined = text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ").map(|(_, link)| link));
    inline.chain(defined).map(|link| link.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

/// Ids of the headings in a text, as GitHub and mdBook make them; one that is there already gets a number.
fn ids(text: &str) -> BTreeSet<String> {
    let text = without_blocks(text);
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = text.lines().filter_map(|line| {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        (1..=6).contains(&level).then(|| title.strip_prefix(' ')).flatten()
    });
    let id = |title: &str| {
        let count = counts.entry(slug(title)).or_default();
        *count += 1;
        if *count == 1 { slug(title) } else { format!("{}-{}", slug(title), *count - 1) }
    };
    headings.map(id).collect()
}

/// A heading in lower case, with hyphens for spaces and without punctuation.
fn slug(title: &str) -> String {
    // Of a link in a heading, its text counts.
    let mut shown = String::new();
    let mut rest = title.trim();
    while let Some((before, behind)) = rest.split_once("](") {
        shown.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let of = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then_some(letter),
    };
    shown.to_lowercase().chars().filter_map(of).collect()
}

/// A text without the lines between fences.
fn without_blocks(text: &str) -> String {
    let mut fence = None;
    let mut kept = String::new();
    for line in text.lines() {
        let found = ["```", "~~~"].into_iter().find(|fence| line.trim_start().starts_with(fence));
        match (fence, found) {
            (None, Some(begun)) => fence = Some(begun),
            (Some(begun), Some(ended)) if begun == ended => fence = None,
            (None, None) => kept.extend([line, "\n"]),
            (Some(_), _) => {}
        }
    }
    kept
}

/// A text without code between backticks: as many end it as begin it.
fn without_spans(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('`') {
        let (before, behind) = rest.split_at(at);
        kept.push_str(before);
        let code = behind.trim_start_matches('`');
        let marks = &behind[..behind.len() - code.len()];
        let ends = code.match_indices(marks).find(|(end, _)| {
            let is_longer = code[end + marks.len()..].starts_with('`') || code[..*end].ends_with('`');
            !is_longer
        });
        // Without an end it is text.
        rest = ends.map_or(code, |(end, _)| &code[end + marks.len()..]);
    }
    kept + rest
}

/// Paths of documents that a text names, such as `docs/how-to/install.md`.
fn named(text: &str) -> Vec<&str> {
    let begins = text.match_indices("docs/").map(|(at, _)| at);
    let path = |at: usize| {
        let is_part = text[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '/');
        let rest = &text[at..];
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "/_-.".contains(letter)));
        let path = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        // The page of redb's own sources is cited by its path in them.
        let is_ours = !is_part && path.ends_with(".md") && path != "docs/design.md";
        is_ours.then_some(path)
    };
    begins.filter_map(path).collect()
}

#[test]
fn links_headings_and_names_are_read_as_they_are_shown() {
    let text = "# A `b` c: d_e-f\n\n[x](y.md#z), `[no](no.md)`, ``a ` [no](no)``, ![p](q.svg)\n\n\
                ```sh\n# no\n[no](no)\n```\n\n## Two\n\n## Two\n\n### 1. [Käsk](k.md), \"nii\"?\n\n[r]: s.md\n";
    assert_eq!(links(text), ["y.md#z", "q.svg", "k.md", "s.md"]);
    let ids = ids(text);
    let expected = ["1-käsk-nii", "a-b-c-d_e-f", "two", "two-1"].map(str::to_owned);
    // The brackets of a link are no punctuation of the heading.
    assert_eq!(ids, BTreeSet::from(expected));
    assert_eq!(links("a ` lonely mark, [x](y)\n\n[z](z) ` more"), ["y", "z"]);
    assert_eq!(resolved(Path::new("docs/et/../../README.md")), Path::new("README.md"));
    let text = "see docs/SUMMARY.md, `docs/how-to/README.md`. ../docs/E.md docs/x docs/book.toml docs/et/README.md.";
    assert_eq!(named(text), ["docs/SUMMARY.md", "docs/how-to/README.md", "docs/et/README.md"]);
}
