//! The settings file with the place of every value in it, so that each problem is shown with its line and a caret.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::secret::{holds_secret, without_credentials, without_value};
use super::words::{OF_TOML, plain};
use super::{Config, ConfigError, SettingSource};
use base::regular_file;

/// Settings of earlier releases, and what is in their place.
const REMOVED: &[(&str, &str)] = &[(
    "access.mode",
    "access.mode is no setting any more: `hcert dev` is for trying out, `hcert serve` for real data",
)];

/// A settings file as it was read.
pub(super) struct Document {
    path: PathBuf,
    text: String,
    /// By the path of a setting: `server.workers`, `registry.fault[0].path`.
    places: BTreeMap<String, SettingSpan>,
}

/// Bytes of a settings file. That of this project, which explains each setting, has some 20 KB.
const SETTINGS_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of a name and of its value. The span of a table with a header is the header alone.
struct SettingSpan {
    key: Range<usize>,
    value: Range<usize>,
}

/// What a settings file says, as far as it can be used.
#[derive(Default)]
pub(super) struct ReadDocument {
    pub config: Config,
    /// What could not be used, each with its place.
    pub problems: Vec<String>,
    /// Settings that could not be used, by path. They have their default in `config`.
    pub wrong: Vec<String>,
    /// The file is no TOML, so what it sets is not known.
    pub is_unreadable: bool,
}

impl Document {
    /// # Errors
    /// The file cannot be read.
    pub(super) fn open(path: &Path) -> Result<Document, ConfigError> {
        let read = match path == Path::new("/dev/null") {
            true => Ok(String::new()),
            false => regular_file::text(path, SETTINGS_FILE_BYTES_MAX),
        };
        let text =
            read.map_err(|error| ConfigError(format!("the settings file {} cannot be read: {error}", path.display())))?;
        Ok(Document { path: path.to_owned(), text, places: BTreeMap::new() })
    }

    /// The settings of the file, with every problem rather than the first. What is no TOML has one problem: what follows it
    /// cannot be told apart.
    pub(super) fn read(&mut self) -> ReadDocument {
        let mut read = ReadDocument::default();
        let text = self.text.clone();
        let mut root = match DeTable::parse(&text) {
            Ok(root) => root,
            Err(error) => {
                let problem = format!("this is not valid TOML: {}", error.message());
                read.problems.push(self.shown(error.span(), &problem));
                read.is_unreadable = true;
                return read;
            }
        };
        insert_all(root.get_ref(), "", &mut self.places);
        let mut errors = Vec::new();
        loop {
            let error = match Config::deserialize(toml::Deserializer::from(root.clone())) {
                Ok(config) => {
                    read.config = config;
                    break;
                }
                Err(error) => error,
            };
            let wrong = error.span().and_then(|span| self.enclosing(&span));
            errors.push((error, wrong.clone()));
            let Some(wrong) = wrong.filter(|path| remove(root.get_mut(), path)) else { break };
            read.wrong.push(wrong);
        }
        errors.sort_by_key(|(error, _)| error.span().map(|span| span.start));
        let told = |(error, setting): &(toml::de::Error, Option<String>)| {
            let gone = REMOVED.iter().find(|(gone, _)| setting.as_deref() == Some(gone));
            self.shown(
                error.span(),
                &gone.map_or_else(|| plain(error.message(), &OF_TOML), |(_, instead)| (*instead).to_owned()),
            )
        };
        read.problems = errors.iter().map(told).collect();
        read
    }

    /// Whether the file has a value for a setting.
    pub(super) fn sets(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The line of every setting, by its path.
    pub(super) fn sources(&self) -> BTreeMap<String, SettingSource> {
        let line = |start: usize| self.text[..start].matches('\n').count() + 1;
        let source = |place: &SettingSpan| SettingSource::File(self.path.clone(), line(place.key.start));
        self.places.iter().map(|(path, place)| (path.clone(), source(place))).collect()
    }

    /// A problem with the place of a setting that this file has a value for.
    pub(super) fn shown_at(&self, setting: &str, problem: &str) -> String {
        self.shown(self.places.get(setting).map(|place| place.value.clone()), problem)
    }

    /// The innermost setting whose name or value encloses some bytes. A list is one setting.
    fn enclosing(&self, span: &Range<usize>) -> Option<String> {
        let encloses = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end;
        let found = self.places.iter().filter(|(_, place)| encloses(&place.key) || encloses(&place.value));
        let (path, _) = found.max_by_key(|(path, _)| path.len())?;
        path.split('[').next().map(str::to_owned)
    }

    /// Whether a line gives a secret, or goes on with one that a line before it gives: messages end up in the system's journal.
    fn is_secret(&self, line_start: usize, line: &str) -> bool {
        let is_named = |line: &&str| line.contains(['=', '[', ':']);
        let before = self.text[..line_start].lines().rev().find(is_named);
        let names = [Some(line), before.filter(|_| !is_named(&line))];
        names.into_iter().flatten().any(|line| !line.trim_start().starts_with('[') && holds_secret(line))
    }

    fn shown(&self, span: Option<Range<usize>>, problem: &str) -> String {
        let path = self.path.display();
        let problem = &*without_credentials(problem);
        let Some(Range { start, end }) = span else { return format!("{path}: {problem}") };
        let start = self.text.floor_char_boundary(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let number = self.text[..start].matches('\n').count() + 1;
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let is_secret = self.is_secret(line_start, line);
        // An unknown name may be that of a secret, misspelt; the value says nothing about the mistake.
        let name = line.find('=').map_or(0, |at| at + 1);
        let is_name_wrong = name > 0 && end <= line_start + name;
        // After the quotes of a multi-line string, a line may still be a part of the string, and so of a secret.
        let may_be_text = ["\"\"\"", "'''"].iter().any(|quotes| self.text[..line_start].contains(quotes));
        let (line, start, problem) = match is_secret || is_name_wrong {
            _ if may_be_text => (Cow::Borrowed("…"), line_start, without_value(problem)),
            false => (Cow::Borrowed(line), start, Cow::Borrowed(problem)),
            true => {
                let problem = if is_secret { without_value(problem) } else { problem.into() };
                (Cow::Owned(format!("{} …", &line[..name])), start.min(line_start + name + 1), problem)
            }
        };
        let (column, width) = (start - line_start, end.saturating_sub(start));
        let before = line.get(..column).unwrap_or(&line).chars().count();
        let marked = line.get(column..).unwrap_or_default();
        let marked = marked.get(..width).unwrap_or(marked).chars().count().max(1);
        let gutter = " ".repeat(number.to_string().len());
        let caret = format!("{}{}", " ".repeat(before), "^".repeat(marked));
        format!("{path}, line {number}: {problem}\n{gutter} |\n{number} | {line}\n{gutter} | {caret}")
    }
}

/// Every value below a table by the path of its setting.
fn insert_all(table: &DeTable, above: &str, places: &mut BTreeMap<String, SettingSpan>) {
    for (key, value) in table {
        insert(value, key.span(), format!("{above}{}", key.get_ref()), places);
    }
}

fn insert(value: &Spanned<DeValue>, key: Range<usize>, path: String, places: &mut BTreeMap<String, SettingSpan>) {
    match value.get_ref() {
        DeValue::Table(table) => insert_all(table, &format!("{path}."), places),
        DeValue::Array(items) => items.iter().enumerate().for_each(|(number, item)| {
            insert(item, item.span(), format!("{path}[{number}]"), places);
        }),
        _ => {}
    }
    places.insert(path, SettingSpan { key, value: value.span() });
}

/// Takes a setting out; whether it was there.
fn remove(table: &mut DeTable, path: &str) -> bool {
    match path.split_once('.') {
        None => table.remove(path).is_some(),
        Some((section, below)) => match table.get_mut(section).map(Spanned::get_mut) {
            Some(DeValue::Table(table)) => remove(table, below),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (ReadDocument, Document) {
        let mut document = Document { path: "hcert.toml".into(), text: text.to_owned(), places: BTreeMap::new() };
        (document.read(), document)
    }

    #[test]
    fn every_wrong_type_is_shown_at_once_with_its_line_and_a_caret() {
        let text = "[server]\nworkers = \"many\"\nlistenn = 1\n[search]\ncount_max = -1 # õ\n\
                    [[registry.fault]]\npath = 1\n[registry.remote]\ntries = true\n[log]\nlevel = \"õige\"\n";
        let (ReadDocument { config, problems, wrong, .. }, _) = read(text);
        assert_eq!(config, Config::default());
        let told = problems.join("\n");
        for expected in [
            "hcert.toml, line 2: found text \"many\", expected a whole number from 0\n  |\n2 | workers = \"many\"\n  |           ^^^^^^\n",
            "hcert.toml, line 3: there is no setting `listenn`; did you mean `listen`?",
            "3 | listenn = …\n  | ^^^^^^^\n",
            "line 5: found number `-1`, expected a whole number from 0",
            "line 7: ",
            "line 9: found `true`, expected a whole number from 0",
            "line 11: `õige` is not allowed here. Allowed are `",
            "11 | level = \"õige\"\n   |         ^^^^^^",
        ] {
            assert!(told.contains(expected), "{expected:?} in {told}");
        }
        let mut wrong = wrong;
        wrong.sort();
        let all = ["log.level", "registry.fault", "registry.remote.tries", "search.count_max", "server.listenn"];
        assert_eq!(wrong, [&all[..], &["server.workers"]].concat());
    }

    #[test]
    fn what_is_no_toml_is_shown_where_it_begins() {
        for (text, line) in [("[server\n", 1), ("a = 1\na = 2\n", 2), ("x", 1), ("\n\n= 1", 3)] {
            let problems = read(text).0.problems;
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(&format!("line {line}: ")) && problems[0].contains('^'), "{problems:?}");
        }
    }

    #[test]
    fn no_line_shows_a_secret() {
        for text in [
            "[registry.remote]\ntoken = [\"sekret\"]\n",
            "[registry.remote]\ntoken = [\n  \"sekret\",\n",
            "[registry.remote]\ntoken = \"sekret\n",
            "[registry.remotee]\ntoken = \"sekret\"\n",
            "[registry.remote]\n\"toeken\".token = 'sekret' x\n",
            "[registry.remote]\ntoken_ = \"sekret\"\n",
            "[registry.remote]\ntokn = \"sekret\"\n",
            "[registry.remote]\ntoken: \"sekret\"\n",
            "[registry.remote]\ntoken \"sekret\"\n",
            "[registry]\nremote = { token = \"sekret\", tris = 3 }\n",
            "[registry]\nremote = { token = \"sekret\", tries = \"3\" }\n",
            "[registry.remote]\n\"tok\\u0065n\" = [\"sekret\"]\n",
            "[registry.remote]\naddress = [\"https://u:sekret@host\"]\n",
            "[backup]\nrecipients = \"AGE-SECRET-KEY-1sekret\"\n",
            "[backup]\nrecipients = [\n  \"AGE-SECRET-KEY-1sekret\", 1 ]\n",
            "[registry.remote]\ntoken = \"\"\"\nfirst\nsekret\"\"\" x\n",
            "[registry.remote]\ntoken = \"\"\"\nsekret\\q = 2\n\"\"\"\n",
            "[registry.remote]\ntoken = '''\nfirst\n[sekret]''' x\n",
        ] {
            let problems = read(text).0.problems;
            assert!(!problems.is_empty() && !problems.concat().contains("sekret"), "{problems:?}");
        }
        let problems = read("[registry.remote]\ntoken = 1234567\n").0.problems.concat();
        assert!(!problems.contains("1234567") && problems.contains("expected a text"), "{problems}");
        let problems = read("[registry.remote]\ntoken = [\"sekret\"]\n").0.problems.concat();
        assert!(problems.ends_with("2 | token = …\n  |         ^"), "{problems}");
    }

    #[test]
    fn a_value_is_found_by_the_path_of_its_setting() {
        let (_, document) = read("[server]\nworkers = 100\n[[registry.fault]]\npath = \"*\"\nfault = \"x\"\n");
        assert!(document.shown_at("server.workers", "wrong").ends_with("2 | workers = 100\n  |           ^^^"));
        assert!(document.shown_at("registry.fault[0].fault", "wrong").contains("line 5: wrong"));
        assert!(document.sets("registry.fault[0].path") && !document.sets("registry.fault[1]"));
        assert_eq!(document.shown_at("tls.key", "wrong"), "hcert.toml: wrong");
    }
}
