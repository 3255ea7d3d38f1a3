//! The reader of values: one pass, texts borrowed, one allocation for each object and array. What FHIR forbids in well-formed JSON is
//! found on the way: duplicate keys, empty arrays and objects, `null` where there is nothing beside it.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::IgnoredAny;

use super::lexer::Lexer;
use super::source::JsonSource;
use super::value::{Json, Object};
use crate::element;
use crate::limits::JSON_DEPTH_MAX;
use crate::outcome::{Hcert, Issue, Outcome, Problems};
use crate::path::is_name;

/// Up to so many members of an object are compared with each other; a larger object has a set of its names.
const MEMBERS_MAX: usize = 64;

/// Items of an array that are copied when it is closed, so that the next array finds the room of this one.
const ITEMS_COPIED_MAX: usize = 4_096;

/// Reads a text: its value and everything in it that FHIR forbids, or why it is not JSON.
///
/// # Errors
/// It is not JSON (with line and column), or deeper than `depth_max`.
pub(super) fn read(text: &str, depth_max: usize) -> Result<ReadJson<'_>, Outcome> {
    let (members, items) = (Vec::with_capacity(64), Vec::with_capacity(32));
    let (path, problems) = (Vec::with_capacity(16), Problems::default());
    let mut reader = JsonReader { lexer: Lexer::new(text), depth_max, members, items, path, problems };
    match reader.whole() {
        Ok((value, source)) => {
            let problems = placed(reader.problems, &value);
            // Of a duplicate key only the first value was read.
            Ok(ReadJson { value, source: source.filter(|_| problems.is_empty()), problems })
        }
        Err(UnreadableJson::TooDeep) => {
            Err(Issue::new(Hcert::JsonTooDeep).with("max", JSON_DEPTH_MAX.to_string()).into())
        }
        Err(UnreadableJson::NoJson) => Err(match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => not_json(syntax_problem(&error), error.line(), error.column()),
            // serde_json does not check surrogate pairs in escapes. The reader stopped where that string begins.
            Ok(_) => {
                let read = reader.lexer.read();
                let line_start = read.rfind('\n').map_or(0, |at| at + 1);
                not_json(LONE_SURROGATE.to_owned(), read.matches('\n').count() + 1, read.len() - line_start)
            }
        }
        .into()),
    }
}

const LONE_SURROGATE: &str = "a string has only one half of a surrogate pair";

/// What serde_json says of a text that is not JSON, and our words for it. Those that are not here stay as they are.
const SYNTAX_PROBLEMS: &[(&str, &str)] = &[
    ("EOF while parsing a list", "it ends inside an array"),
    ("EOF while parsing an object", "it ends inside an object"),
    ("EOF while parsing a string", "it ends inside a string"),
    ("EOF while parsing a value", "it ends where a value is expected"),
    ("expected `:`", "':' is expected here"),
    ("expected `,` or `]`", "',' or ']' is expected here"),
    ("expected `,` or `}`", "',' or '}' is expected here"),
    ("expected ident", "true, false or null is expected here"),
    ("expected value", "a value is expected here"),
    ("invalid escape", "a string has an invalid escape sequence"),
    ("unexpected end of hex escape", "a string has an invalid escape sequence"),
    ("invalid unicode code point", "a string has an invalid escape sequence"),
    ("lone leading surrogate in hex escape", LONE_SURROGATE),
    ("invalid number", "a number is not written as JSON requires"),
    ("number out of range", "a number is not written as JSON requires"),
    (
        "control character (\\u0000-\\u001F) found while parsing a string",
        "a string has a control character that is not escaped",
    ),
    ("key must be a string", "the name of a member in double quotes is expected here"),
    ("trailing comma", "a comma stands before the closing bracket"),
    ("trailing characters", "there is text after the end of the JSON"),
];

/// Why a text is not JSON, without its line and column.
pub fn syntax_problem(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let theirs = told.split(" at line ").next().unwrap_or_default();
    let known = SYNTAX_PROBLEMS.iter().find(|(known, _)| *known == theirs);
    known.map_or(theirs, |(_, ours)| *ours).to_owned()
}

/// Line and column count from 1, as serde_json does it.
fn not_json(problem: String, line: usize, column: usize) -> Issue {
    let issue = Issue::new(Hcert::JsonSyntax).with("problem", problem);
    issue.with("line", line.to_string()).with("column", column.to_string())
}

/// Problems with their whole FHIRPath, which begins with the type of resource where it is known.
fn placed(problems: Problems, value: &Json) -> Problems {
    match value.text("resourceType").filter(|name| element::of_resource(name).is_some()) {
        Some(name) => problems.within(name),
        None => problems,
    }
}

/// Why a text cannot be read.
#[derive(Debug)]
enum UnreadableJson {
    NoJson,
    TooDeep,
}

struct JsonReader<'a> {
    lexer: Lexer<'a>,
    depth_max: usize,
    /// Members of all open objects. An object that is closed takes its own off the end, in one allocation of the right
    /// size.
    members: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The same for arrays.
    items: Vec<Json<'a>>,
    /// The path to the value that is being read.
    path: Vec<ReaderStep<'a>>,
    problems: Problems,
}

enum ReaderStep<'a> {
    Member(Cow<'a, str>),
    Item(usize),
}

impl<'a> JsonReader<'a> {
    /// The value of the whole text, and the text where it is as we would write it.
    fn whole(&mut self) -> Result<(Json<'a>, Option<JsonSource<'a>>), UnreadableJson> {
        let sign = self.sign()?;
        let value = self.value(sign)?;
        let source = self.lexer.as_written.then(|| JsonSource::new(self.lexer.read()));
        if self.lexer.is_at_end() { Ok((value, source)) } else { Err(UnreadableJson::NoJson) }
    }

    /// The value that begins with `sign`.
    fn value(&mut self, sign: u8) -> Result<Json<'a>, UnreadableJson> {
        if self.path.len() > self.depth_max {
            return Err(UnreadableJson::TooDeep);
        }
        let lexer = &mut self.lexer;
        let read = match sign {
            b'"' => lexer.string().map(Json::String),
            b'{' => return self.object(),
            b'[' => return self.array(),
            b't' => lexer.word("true").map(|()| Json::Bool(true)),
            b'f' => lexer.word("false").map(|()| Json::Bool(false)),
            b'n' => {
                // Whether a null may stand here is known one level up: only inside an array of primitives.
                if !matches!(self.path.last(), Some(ReaderStep::Item(_))) {
                    self.problem(Hcert::JsonEmptyValue);
                }
                self.lexer.word("null").map(|()| Json::Null)
            }
            b'-' | b'0'..=b'9' => lexer.number().map(Json::Number),
            _ => None,
        };
        read.ok_or(UnreadableJson::NoJson)
    }

    fn object(&mut self) -> Result<Json<'a>, UnreadableJson> {
        let start = self.members.len();
        // A bit for each name seen, so that most are known to be new without a comparison.
        let mut seen: u64 = 0;
        let mut names: HashSet<Cow<'a, str>> = HashSet::new();
        let mut sign = self.sign()?;
        if sign == b'}' {
            self.problem(Hcert::JsonEmptyValue);
            return Ok(Json::Object(Object::default()));
        }
        loop {
            let name = if sign == b'"' { self.lexer.string() } else { None }.ok_or(UnreadableJson::NoJson)?;
            // The names tell where members stand in the source.
            self.lexer.as_written &= matches!(name, Cow::Borrowed(_));
            if self.sign()? != b':' {
                return Err(UnreadableJson::NoJson);
            }
            let bit = 1 << bit_of(name.as_bytes());
            let others = &self.members[start..];
            if others.len() == MEMBERS_MAX && names.is_empty() {
                names.extend(others.iter().map(|(name, _)| name.clone()));
            }
            let is_known = match others.len() < MEMBERS_MAX {
                true => seen & bit != 0 && others.iter().any(|(known, _)| *known == name),
                false => !names.insert(name.clone()),
            };
            seen |= bit;
            self.path.push(ReaderStep::Member(name));
            let first = self.sign()?;
            let value = self.value(first)?;
            if is_known {
                self.problem(Hcert::JsonDuplicateKey);
            }
            if let Some(ReaderStep::Member(name)) = self.path.pop()
                && !is_known
            {
                self.members.push((name, value));
            }
            match self.sign()? {
                b',' => sign = self.sign()?,
                b'}' => return Ok(Json::Object(Object(self.members.split_off(start)))),
                _ => return Err(UnreadableJson::NoJson),
            }
        }
    }

    fn array(&mut self) -> Result<Json<'a>, UnreadableJson> {
        let start = self.items.len();
        let mut sign = self.sign()?;
        while sign != b']' || self.items.len() > start {
            self.path.push(ReaderStep::Item(self.items.len() - start));
            let item = self.value(sign)?;
            self.path.pop();
            self.items.push(item);
            match self.sign()? {
                b',' => sign = self.sign()?,
                b']' => break,
                _ => return Err(UnreadableJson::NoJson),
            }
        }
        let items = &self.items[start..];
        let nulls = items.iter().filter(|item| matches!(item, Json::Null)).count();
        let is_mixed = nulls > 0 && items.iter().any(|item| matches!(item, Json::Array(_)));
        if nulls == items.len() || is_mixed {
            self.problem(Hcert::JsonEmptyValue);
        }
        Ok(Json::Array(match start {
            // Most of a large body is one array. It is not copied, so that memory holds it once.
            0 if self.items.len() > ITEMS_COPIED_MAX => {
                let mut items = std::mem::take(&mut self.items);
                items.shrink_to_fit();
                items
            }
            start => self.items.split_off(start),
        }))
    }

    #[inline(always)]
    fn sign(&mut self) -> Result<u8, UnreadableJson> {
        self.lexer.sign().ok_or(UnreadableJson::NoJson)
    }

    #[cold]
    fn problem(&mut self, code: Hcert) {
        let path = &self.path;
        self.problems.add(|| Issue::new(code).at(expression(path)));
    }
}

/// FHIRPath of the element, or of the innermost one around it whose name FHIRPath has: others may be as long as the body, and each
/// problem below them would repeat them.
fn expression(path: &[ReaderStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            ReaderStep::Member(name) if !is_name(name) => break,
            ReaderStep::Member(name) if text.is_empty() => text.push_str(name),
            ReaderStep::Member(name) => text.push_str(&format!(".{name}")),
            ReaderStep::Item(_) if text.is_empty() => break,
            ReaderStep::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// One of 64 numbers. FHIR's names differ in their length or their ends.
fn bit_of(name: &[u8]) -> u32 {
    match name {
        [first, .., last] => (name.len() as u32 * 7 + u32::from(*first) * 5 + u32::from(*last)) % 64,
        _ => 0,
    }
}

/// What was read of a text.
#[derive(Debug)]
pub struct ReadJson<'a> {
    /// The value that the text holds.
    pub value: Json<'a>,
    /// What FHIR forbids in well-formed JSON.
    pub problems: Problems,
    /// The text, where it is as we would write it.
    pub source: Option<JsonSource<'a>>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DEPTH: usize = 6;

    /// Whether the text is JSON that holds nothing FHIR forbids. serde_json is the reference for what is JSON and what
    /// it means.
    fn is_read(text: &str) -> bool {
        let meant = serde_json::from_str::<serde_json::Value>(text);
        let read = match read(text, DEPTH) {
            Ok(read) => read,
            Err(outcome) => {
                assert!(meant.is_err() || outcome.leading() == Hcert::JsonTooDeep, "{text}");
                return false;
            }
        };
        let written = read.value.to_vec();
        if read.problems.issues().iter().all(|issue| issue.own_code() != Some(Hcert::JsonDuplicateKey)) {
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&written).unwrap(), meant.expect(text), "{text}");
        }
        assert!(read.source.is_none() || written == text.trim_ascii_end().as_bytes(), "{text}");
        let again = super::read(std::str::from_utf8(&written).unwrap(), DEPTH).expect(text);
        assert_eq!(again.value, read.value, "{text}");
        read.problems.is_empty()
    }

    #[test]
    fn a_text_without_problems_is_read() {
        for text in [
            r#"{"a":"b","c":[1,-2.50,0,-0,0.1,1e5,-1.50E+05,true,false],"d":{"e":"f"}}"#,
            " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : true } \n",
            r#""""#,
            "7",
            r#"["\"\\\/\b\f\n\r\t\u00f5\u20AC\ud83D\ude00 õ😀"]"#,
            "[18446744073709551616, -9223372036854775809, -0.0]",
            "[null,1]",
            "[[[[[[1]]]]]]",
            r#"{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}"#,
            r#"{"$a":1,"\u0024b":2,"$serde_json::private":"1"}"#,
        ] {
            assert!(is_read(text), "{text}");
        }
        for count in [MEMBERS_MAX, MEMBERS_MAX + 1, 3 * MEMBERS_MAX] {
            let members: Vec<String> = (0..count).map(|at| format!("\"{at}\":1")).collect();
            assert!(is_read(&format!("{{{}}}", members.join(","))));
            assert!(!is_read(&format!("{{{},\"7\":1}}", members.join(","))));
            assert!(!is_read(&format!("{{{},\"{}\":1}}", members.join(","), count - 1)));
        }
    }

    /// What was seen: each duplicate hashed all names again while an object had exactly so many, which took minutes.
    #[test]
    fn duplicates_in_an_object_of_the_bound_are_read_at_once() {
        let names: Vec<String> = (1..MEMBERS_MAX).map(|at| format!("\"{at}\":1")).collect();
        let duplicates = vec![r#""7":1"#; 150_000].join(",");
        let text = format!("{{\"{}\":1,{},{duplicates}}}", "x".repeat(1_000_000), names.join(","));
        let read = read(&text, DEPTH).unwrap();
        assert_eq!(read.value.as_object().map(|object| object.iter().count()), Some(MEMBERS_MAX));
        assert_eq!(read.problems.into_issues().len(), crate::outcome::limits::BODY_ISSUES_MAX + 1);
    }

    #[test]
    fn a_text_with_problems_is_not() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "\"",
            "{}",
            "[]",
            "null",
            "[null]",
            "[null,[1]]",
            r#"{"a":null}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":1,}"#,
            "[1,]",
            "[,1]",
            "[1 2]",
            r#"{"a" 1}"#,
            r#"{a:1}"#,
            "{1:1}",
            "01",
            "-01",
            "-",
            "1.",
            ".1",
            "1.e5",
            "1e",
            "1e+",
            "1E 5",
            "+1",
            "- 1",
            "truth",
            "tru",
            "fals",
            "nul",
            "[[[[[[[1]]]]]]]",
            "7 7",
            r#""\x""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\ud800""#,
            r#""\ud800\n""#,
            r#""\ud800\u0041""#,
            r#""\ude00\ud83d""#,
            "\"\u{1}\"",
            "\"a\nb\"",
            "\"a\\\"",
            "\u{a0}1",
            "\u{c}1",
        ] {
            assert!(!is_read(text), "{text}");
        }
        let lone = read(r#"{"a":"\ud800"}"#, DEPTH).map(drop).unwrap_err();
        assert_eq!(lone.leading(), Hcert::JsonSyntax);
        let text = lone.issues()[0].text(crate::outcome::Language::English);
        assert_eq!(text, format!("The body is not valid JSON: {LONE_SURROGATE} (line 1, column 6)"));
    }

    /// Texts that spell the same characters in the ways JSON has.
    fn spelled() -> impl Strategy<Value = (String, String)> {
        let spell = |(character, way): (char, u8)| {
            let units = |digits: fn(u16) -> String| -> String {
                character.encode_utf16(&mut [0; 2]).iter().map(|unit| digits(*unit)).collect()
            };
            let spelled = match way {
                0 => units(|unit| format!("\\u{unit:04x}")),
                1 => units(|unit| format!("\\u{unit:04X}")),
                _ if character == '/' => r"\/".to_owned(),
                _ => serde_json::to_string(&character)
                    .unwrap()
                    .trim_start_matches('"')
                    .strip_suffix('"')
                    .unwrap()
                    .to_owned(),
            };
            (character, spelled)
        };
        let character = prop_oneof![any::<char>(), prop::char::range('\0', '~'), Just('õ'), Just('/'), Just('\\')];
        proptest::collection::vec((character, 0..5_u8).prop_map(spell), 0..20)
            .prop_map(|spelled| spelled.into_iter().unzip::<char, String, String, Vec<String>>())
            .prop_map(|(characters, spelled)| (characters, format!("\"{}\"", spelled.concat())))
    }

    proptest! {
        #[test]
        fn what_is_json_and_what_it_means_is_what_serde_json_says(parts in proptest::collection::vec(
            proptest::sample::select(&[
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "\"a\":", "\"b\":1", "1", "-0", "0.5", "-", "e1", "E+", ".", "0",
                "true", "null", " ", "\\", "\\u00e4", "\\ud83d", "\\ude00", "\\n", "õ", "\u{1}", "[1]", "{\"c\":1}", "\"\\\"\"",
            ][..]), 0..12))
        {
            is_read(&parts.concat());
        }

        /// Contract 2.7: numbers of every form R5 and JSON have come back byte by byte, whatever stands beside them.
        #[test]
        fn numbers_come_back_byte_by_byte(
            number in "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?([eE][+-]?[0-9]{1,9})?",
            beside in proptest::sample::select(&["1", "null", "\"\\ud83d\\ude00\"", "{\"$a\":-0}"][..]),
        ) {
            let text = format!("{{\"a\":[{beside},{number}],\"b\":{number}}}");
            let written = super::super::parse(text.as_bytes()).unwrap().to_vec();
            prop_assert_eq!(String::from_utf8(written).unwrap(), text.replace("\\ud83d\\ude00", "😀"));
        }

        /// Decision 132: the characters of a string come back, byte by byte in UTF-8, however its escapes were spelled.
        #[test]
        fn strings_come_back_character_by_character((characters, text) in spelled()) {
            let read = super::super::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(read.as_str(), Some(characters.as_str()));
            let written = read.to_vec();
            prop_assert_eq!(super::super::parse(&written).unwrap(), Json::string(&*characters));
        }
    }
}
