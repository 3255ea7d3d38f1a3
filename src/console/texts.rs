//! The words of the pages: a file per language, a text per key.

use std::collections::BTreeMap;

/// A language and its texts.
#[derive(Debug)]
pub(super) struct Texts {
    /// Such as `et`.
    pub language: String,
    texts: BTreeMap<String, String>,
}

/// The languages that the program has, in the order of preference: code and file.
const BUILT_IN: [(&str, &str); 2] =
    [("et", include_str!("../../data/console/et.json")), ("en", include_str!("../../data/console/en.json"))];

impl Texts {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn all_languages_have_the_same_keys_and_places() {
        let places = |text: &str| {
            let mut places: Vec<String> =
                text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect();
            places.sort();
            places
        };
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
    fn values_stand_in_their_places_and_nowhere_else() {
        let texts = Texts {
            language: "en".to_owned(),
            texts: [("a".to_owned(), "{n} of {all}, {n}; {other} {".to_owned())].into(),
        };
        assert_eq!(texts.with("a", &[("n", "{all}"), ("all", "7")]), "{all} of 7, {all}; {other} {");
        assert_eq!(texts.get("b"), "b");
    }
}
