//! The words of the pages: a file per language, a text per key.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use base::regular_file;

/// A language and its texts.
#[derive(Debug)]
pub struct Texts {
    /// Such as `et`.
    pub(super) language: String,
    texts: BTreeMap<String, String>,
}

/// The languages that the program has, in the order of preference: code and file.
const BUILT_IN: [(&str, &str); 2] =
    [("et", include_str!("../../data/console/et.json")), ("en", include_str!("../../data/console/en.json"))];

/// Bytes of a file of texts. Those of the program have some 20 KB.
const TEXTS_BYTES_MAX: u64 = 1024 * 1024;

/// Keys that a message names.
const KEYS_NAMED_MAX: usize = 5;

impl Texts {
    /// The texts of a file in a further language.
    ///
    /// # Errors
    /// Everything that is wrong with it, in words: it cannot be read, keys are missing or unknown, or places differ.
    pub fn open(language: &str, file: &Path) -> Result<Texts, Vec<String>> {
        let read = || {
            let mut json = Vec::new();
            regular_file::open(file)?.take(TEXTS_BYTES_MAX + 1).read_to_end(&mut json)?;
            io::Result::Ok(json)
        };
        let json = read().map_err(|error| vec![format!("it cannot be read: {error}")])?;
        if json.len() as u64 > TEXTS_BYTES_MAX {
            return Err(vec![format!("it is larger than {TEXTS_BYTES_MAX} bytes")]);
        }
        let texts: BTreeMap<String, String> =
            serde_json::from_slice(&json).map_err(|error| vec![format!("it is no object of texts: {error}")])?;
        let [known, ..] = &Texts::built_in()[..] else { unreachable!("there are languages") };
        let differs = |key: &String, text: &String| texts.get(key).is_some_and(|own| places(own) != places(text));
        let problems = [
            ("lacks", known.texts.keys().filter(|key| !texts.contains_key(*key)).collect::<Vec<_>>()),
            ("has the unknown", texts.keys().filter(|key| !known.texts.contains_key(*key)).collect()),
            (
                "has other {places} in",
                known.texts.iter().filter(|(key, text)| differs(key, text)).map(|(key, _)| key).collect(),
            ),
        ];
        let told = |(problem, keys): &(&str, Vec<&String>)| {
            let named: Vec<&str> = keys.iter().take(KEYS_NAMED_MAX).map(|key| key.as_str()).collect();
            let more = keys.len().saturating_sub(KEYS_NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("it {problem} {}{more}", named.join(", "))
        };
        let problems: Vec<String> = problems.iter().filter(|(_, keys)| !keys.is_empty()).map(told).collect();
        if problems.is_empty() { Ok(Texts { language: language.to_owned(), texts }) } else { Err(problems) }
    }

    /// The languages that come with the program.
    pub(super) fn built_in() -> Vec<Texts> {
        let read = |(language, json): (&str, &str)| Texts {
            language: language.to_owned(),
            texts: serde_json::from_str(json).expect("a test reads both files"),
        };
        BUILT_IN.map(read).into()
    }

    /// The text of a key; the key itself where there is none.
    pub(super) fn get<'t>(&'t self, key: &'t str) -> &'t str {
        self.texts.get(key).map_or(key, String::as_str)
    }

    /// The text of a key that is made at run time, where there is one.
    pub(super) fn find(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// The text of a key with values in the places `{name}`.
    pub(super) fn with(&self, key: &str, values: &[(&str, &str)]) -> String {
        let text = self.get(key);
        // In one pass, so that a value with braces stays what it is.
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            made.push_str(before);
            let named = behind.split_once('}').and_then(|(name, rest)| {
                values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, rest))
            });
            match named {
                Some((value, behind)) => {
                    made.push_str(value);
                    rest = behind;
                }
                None => {
                    made.push('{');
                    rest = behind;
                }
            }
        }
        made.push_str(rest);
        made
    }
}

/// The places of a text, sorted.
fn places(text: &str) -> Vec<&str> {
    let mut places: Vec<&str> = text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn all_languages_have_the_same_keys_and_places() {
        let all = Texts::built_in();
        for (key, text) in &all[0].texts {
            let other = all[1].texts.get(key).unwrap_or_else(|| panic!("{key} is missing in English"));
            assert_eq!(places(text), places(other), "{key}");
        }
        let alone: Vec<&String> = all[1].texts.keys().filter(|key| !all[0].texts.contains_key(*key)).collect();
        assert!(alone.is_empty(), "missing in Estonian: {alone:?}");
    }

    /// A key is used where its text stands in the sources, or the part of it before the last dot with a dot behind.
    #[test]
    fn every_text_is_used_and_every_key_has_one() {
        let mut sources = String::new();
        for folder in ["src/console", "src/console/screen"] {
            for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("texts.rs") {
                    sources += &fs::read_to_string(path).unwrap();
                }
            }
        }
        let texts = &Texts::built_in()[0];
        let is_used = |key: &str| {
            let group = key.rsplit_once('.').map_or(key, |(group, _)| group);
            sources.contains(&format!("\"{key}\"")) || sources.contains(&format!("\"{group}.{{"))
        };
        let unused: Vec<&String> = texts.texts.keys().filter(|key| !is_used(key)).collect();
        assert!(unused.is_empty(), "{unused:?}");
        for start in ["t(\"", "say(\""] {
            for (at, _) in sources.match_indices(start) {
                let key = sources[at + start.len()..].split('"').next().unwrap();
                let is_whole = sources[..at].ends_with(|before: char| !before.is_alphanumeric() && before != '_');
                assert!(!is_whole || key.contains('{') || texts.texts.contains_key(key), "{key} has no text");
            }
        }
    }

    #[test]
    fn a_file_of_a_further_language_is_told_all_that_is_wrong_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fi.json");
        let told = |text: &str| {
            fs::write(&file, text).unwrap();
            Texts::open("fi", &file).map_or_else(|problems| problems.join("; "), |texts| texts.language)
        };
        let (_, english) = BUILT_IN[1];
        assert_eq!(told(english), "fi");
        let wrong = english.replace("You act as {role}", "You act as {part}").replace("\"nav.start\"", "\"nav.begin\"");
        assert_eq!(
            told(&wrong),
            "it lacks nav.start; it has the unknown nav.begin; it has other {places} in page.part"
        );
        assert!(told("{}").contains(" more"));
        assert!(told("{\"a\": 1}").contains("no object of texts"));
        assert!(Texts::open("fi", &folder.path().join("gone")).unwrap_err()[0].contains("cannot be read"));
    }

    #[test]
    fn values_stand_in_their_places_and_nowhere_else() {
        let texts = Texts {
            language: "en".to_owned(),
            texts: [("a".to_owned(), "{n} of {all}, {n}; {other} {".to_owned())].into(),
        };
        assert_eq!(texts.with("a", &[("n", "{all}"), ("all", "7")]), "{all} of 7, {all}; {other} {");
        assert_eq!(texts.get("b"), "b");
    }
}
