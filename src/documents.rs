//! The documents of the project inside the program, for `hcert docs` and for consoles. Their readers need neither the
//! sources nor a network.
//!
//! `docs/SUMMARY.md` gives order, titles and groups, here as for the static site; the program gives the texts
//! (`src/texts.rs`). The last group of the summary is for those who change the code. They have the sources, and its pages
//! speak of them, so they are not in the program.

/// The group whose pages are not in the program.
const SOURCES_ONLY: &str = "The project: for those who change the code";

/// How alike a name and a path must be, from 0 to 1, to be suggested; as for settings.
const LIKENESS: f64 = 0.85;

/// How many pages are suggested in place of an unknown one.
const SUGGESTIONS: usize = 3;

/// The documents that a program holds.
#[derive(Debug)]
pub struct Documents {
    /// `docs/SUMMARY.md`.
    pub summary: &'static str,
    /// Pairs of a file, named as the summary names it, and its text.
    pub texts: &'static [(&'static str, &'static str)],
    /// Pairs of a file below `docs/` and its text: SVG.
    pub pictures: &'static [(&'static str, &'static str)],
    /// Pairs of a file, relative to `docs/`, and its text: settings and the like, to be copied.
    pub files: &'static [(&'static str, &'static str)],
}

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
pub struct SummaryEntry {
    /// Heading above it.
    pub group: &'static str,
    /// Relative to `docs/`.
    pub file: &'static str,
    /// Text of its link.
    pub title: &'static str,
}

impl SummaryEntry {
    /// The path of its page. The files beside `docs/` have none in it.
    fn path(self) -> &'static str {
        let below = self.file.trim_start_matches("../");
        below.strip_suffix(".md").unwrap_or(below)
    }

    /// Whether its page is in the program.
    pub fn is_in_program(self) -> bool {
        self.group != SOURCES_ONLY
    }
}

impl Documents {
    /// Every page that is in the program, in the order of the summary.
    pub fn pages(&self) -> impl Iterator<Item = DocumentPage> {
        self.entries().filter(|entry| entry.is_in_program()).filter_map(|entry| {
            let text = text_of(self.texts, entry.file)?;
            Some(DocumentPage { group: entry.group, path: entry.path(), title: entry.title, text })
        })
    }

    /// The page that a name means, in any case, with or without `docs/` and `.md`: by its path; by its folder, whose README
    /// it is (`how-to`); or by the last part of its path, where no other page has the same (`install`).
    pub fn page(&self, name: &str) -> Option<DocumentPage> {
        let wanted = plain(name);
        let paths: Vec<&str> = self.pages().map(|page| page.path).collect();
        let path = meant(&wanted, &paths)?;
        // A whole path means its page and no other with the same last part.
        let is_another = plain(path) != wanted && self.entries().any(|entry| plain(entry.path()) == wanted);
        self.pages().find(|page| page.path == path && !is_another)
    }

    /// The SVG of a picture, by its file below `docs/`.
    pub fn picture(&self, file: &str) -> Option<&'static str> {
        text_of(self.pictures, file)
    }

    /// Paths of the files to copy, in the project.
    pub fn file_paths(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().map(|(file, _)| file.trim_start_matches("../"))
    }

    /// The text of a file to copy, by its path in the project, or by its name.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        let is_named = |path: &str| last_part(path) == name;
        let path =
            self.file_paths().find(|path| *path == name).or_else(|| self.file_paths().find(|path| is_named(path)))?;
        self.files.iter().find(|(file, _)| file.trim_start_matches("../") == path).map(|(_, text)| *text)
    }

    /// The file of a page that is in the sources alone, such as `docs/DECISIONS.md`. A name means it as in [`Documents::page`].
    pub fn in_sources(&self, name: &str) -> Option<String> {
        let wanted = plain(name);
        let entries: Vec<SummaryEntry> = self.entries().filter(|entry| !entry.is_in_program()).collect();
        let paths: Vec<&str> = entries.iter().map(|entry| entry.path()).collect();
        let path = meant(&wanted, &paths)?;
        let file = entries.iter().find(|entry| entry.path() == path)?.file;
        Some(file.strip_prefix("../").map_or_else(|| format!("docs/{file}"), str::to_owned))
    }

    /// Paths of the pages that an unknown name most likely means, the likeliest first.
    pub fn nearest(&self, name: &str) -> Vec<&'static str> {
        let wanted = plain(name);
        let likeness = |path: &str| {
            let path = plain(path);
            let is_part = wanted.len() > 2 && path.contains(&wanted);
            let alike = strsim::jaro_winkler(&wanted, &path).max(strsim::jaro_winkler(&wanted, last_part(&path)));
            if is_part { 1.0 } else { alike }
        };
        let mut near: Vec<(f64, &str)> = self.pages().map(|page| (likeness(page.path), page.path)).collect();
        near.retain(|(likeness, _)| *likeness >= LIKENESS);
        // Equals stay in the order of the summary.
        near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        near.into_iter().take(SUGGESTIONS).map(|(_, path)| path).collect()
    }

    /// Headings are groups, and every other line that ends as a link is a page. The first heading is the summary's own.
    pub fn entries(&self) -> impl Iterator<Item = SummaryEntry> {
        let mut group = "";
        self.summary.lines().skip(1).filter_map(move |line| {
            if let Some(heading) = line.strip_prefix("# ") {
                group = heading;
                return None;
            }
            let (title, file) = line.trim_start_matches([' ', '-', '[']).strip_suffix(')')?.split_once("](")?;
            Some(SummaryEntry { group, file, title })
        })
    }
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
