//! What the libraries that read TOML and JSON say of a wrong value, in plain words.

use super::suggestion;

/// The words for what a format is made of.
#[derive(Clone, Copy, Debug)]
pub struct FormatWords {
    /// What has a name and a value.
    entry: &'static str,
    /// What holds such entries.
    map: &'static str,
    /// What the library takes for a map.
    found_map: &'static str,
}

/// Of a settings file. The library takes a date for a map too.
pub(super) const OF_TOML: FormatWords =
    FormatWords { entry: "setting", map: "a section", found_map: "a section or a date" };

/// Of a file that is JSON.
pub const OF_JSON: FormatWords = FormatWords { entry: "member", map: "an object", found_map: "an object" };

/// The words of the library for what a value must be, and ours.
const EXPECTED: &[(&str, &str)] = &[
    ("usize", "a whole number from 0"),
    ("u64", "a whole number from 0"),
    ("u32", "a whole number from 0"),
    ("u16", "a whole number from 0"),
    ("u8", "a whole number from 0"),
    ("i64", "a whole number"),
    ("i32", "a whole number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text"),
    ("path string", "a text"),
    ("a sequence", "a list"),
];

/// The words of the library for what a value is, and ours. Each begins what was found.
const FOUND: &[(&str, &str)] = &[
    ("string ", "text "),
    ("integer ", "number "),
    ("floating point ", "number "),
    ("boolean ", ""),
    ("sequence", "a list"),
];

/// A message of the library in plain words: what was there and what is allowed, with a suggestion where a name is misspelt.
pub fn plain(message: &str, words: &FormatWords) -> String {
    let message = message.trim_end();
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the {} {name} is missing", words.entry);
    }
    // A list or a number in the place of one of several words.
    if message == "wanted string or table" || message.starts_with("wanted exactly 1 element") {
        return "found a value of another kind, expected a text".to_owned();
    }
    let Some((before, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    if let Some(name) = before.strip_prefix("unknown field ") {
        return unknown(&format!("there is no {} {name}", words.entry), name, "There are", expected);
    }
    if let Some(name) = before.strip_prefix("unknown variant ") {
        return unknown(&format!("{name} is not allowed here"), name, "Allowed are", expected);
    }
    let ours = EXPECTED.iter().find(|(theirs, _)| *theirs == expected).map(|(_, ours)| *ours);
    let is_map = expected == "a map" || expected.starts_with("struct ");
    let expected = if is_map { words.map } else { ours.unwrap_or(expected) };
    let found = before.strip_prefix("invalid type: ").or_else(|| before.strip_prefix("invalid value: "));
    let Some(found) = found else { return format!("{before}, expected {expected}") };
    let found = found.strip_suffix(" as i128").unwrap_or(found);
    let mut found_words = FOUND.iter().copied().chain([("map", words.found_map)]);
    let ours = found_words.find_map(|(theirs, ours)| Some(format!("{ours}{}", found.strip_prefix(theirs)?)));
    format!("found {}, expected {expected}", ours.unwrap_or_else(|| found.to_owned()))
}

/// `name` and the names in `expected` stand in backticks.
fn unknown(problem: &str, name: &str, known: &str, expected: &str) -> String {
    let names = expected.split('`').skip(1).step_by(2);
    let all = expected.strip_prefix("one of ").unwrap_or(expected);
    match suggestion(name.trim_matches('`'), names) {
        Some(meant) => format!("{problem}; did you mean `{meant}`? {known} {all}"),
        None => format!("{problem}. {known} {all}"),
    }
}
