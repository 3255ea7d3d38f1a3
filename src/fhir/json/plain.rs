//! The reader of what has nothing wrong with it: one pass, texts borrowed, one allocation for each object and array. It gives up where
//! anything may be wrong or is rare, and the careful reader, which has the words for it, reads the text again.

use std::borrow::Cow;

use super::{Json, Object, Source};
use crate::fhir::scan::special;

/// Members of an object that are compared with each other; larger objects are left to the careful reader, which has a set for them.
const MEMBERS_MAX: usize = 64;

/// Reads a text without problems; nothing when it has any, or may have.
///
/// What is read is what the careful reader reads. Left to it, though allowed: `null`, exponents, a whole `-0`, surrogates written as
/// escapes, member names that begin with `$` (serde_json reserves one), objects of more than [`MEMBERS_MAX`] members.
pub fn read(text: &str, depth_max: usize) -> Option<(Json<'_>, Option<Source<'_>>)> {
    let (members, items) = (Vec::with_capacity(64), Vec::with_capacity(32));
    let mut reader = Reader { text, at: 0, depth_max, members, items, unescaped: String::new(), as_written: true };
    let value = reader.value(0)?;
    let source = reader.as_written.then(|| Source::new(&text[..reader.at]));
    reader.skip_space();
    (reader.at == text.len()).then_some((value, source))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth_max: usize,
    /// Members of the objects that are open. One that is closed takes its own off the end, in one piece of the right size.
    members: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The same for arrays.
    items: Vec<Json<'a>>,
    /// Where a string with escapes is put together.
    unescaped: String,
    /// So far the text is as we would write it.
    as_written: bool,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        if depth > self.depth_max {
            return None;
        }
        match self.sign()? {
            b'"' => self.string().map(Json::String),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        let start = self.members.len();
        // A bit for each name seen, so that most are known to be new without a comparison.
        let mut seen: u64 = 0;
        loop {
            if self.sign()? != b'"' || self.members.len() - start == MEMBERS_MAX {
                return None;
            }
            let name = self.string()?;
            // The names tell where members stand in the source.
            self.as_written &= matches!(name, Cow::Borrowed(_));
            let bit = 1 << bit_of(name.as_bytes());
            let is_known = seen & bit != 0 && self.members[start..].iter().any(|(known, _)| *known == name);
            if is_known || name.starts_with('$') || self.sign()? != b':' {
                return None;
            }
            seen |= bit;
            let value = self.value(depth + 1)?;
            self.members.push((name, value));
            match self.sign()? {
                b',' => {}
                b'}' => return Some(Json::Object(Object(self.members.split_off(start)))),
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        let start = self.items.len();
        loop {
            let item = self.value(depth + 1)?;
            self.items.push(item);
            match self.sign()? {
                b',' => {}
                b']' => return Some(Json::Array(self.items.split_off(start))),
                _ => return None,
            }
        }
    }

    /// The rest of a string whose quotation mark was read.
    #[inline(always)]
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        let end = special(self.text.as_bytes(), start)?;
        match self.text.as_bytes()[end] {
            b'"' => {
                self.at = end + 1;
                Some(Cow::Borrowed(&self.text[start..end]))
            }
            b'\\' => self.escaped(start, end),
            _ => None,
        }
    }

    /// A string with an escape at `end`.
    #[inline(never)]
    fn escaped(&mut self, mut start: usize, mut end: usize) -> Option<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        self.unescaped.clear();
        loop {
            self.unescaped.push_str(&self.text[start..end]);
            start = end + 1;
            match bytes[end] {
                b'"' => {
                    self.at = start;
                    return Some(Cow::Owned(self.unescaped.as_str().to_owned()));
                }
                b'\\' => {}
                _ => return None,
            }
            let character = match *bytes.get(start)? {
                sign @ (b'"' | b'\\') => char::from(sign),
                b'/' => {
                    self.as_written = false;
                    '/'
                }
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.as_written = false;
                    start += 4;
                    let digits = self.text.get(start - 3..=start).filter(|digits| digits.bytes().all(is_hex))?;
                    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?
                }
                _ => return None,
            };
            self.unescaped.push(character);
            start += 1;
            end = special(bytes, start)?;
        }
    }

    /// The rest of a number whose first sign was read.
    fn number(&mut self) -> Option<Json<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at - 1;
        let whole = start + usize::from(bytes[start] == b'-');
        let mut end = digits_end(bytes, whole);
        let begins_with_zero = bytes.get(whole) == Some(&b'0');
        if end == whole || begins_with_zero && end > whole + 1 {
            return None;
        }
        if bytes.get(end) == Some(&b'.') {
            let fraction = end + 1;
            end = digits_end(bytes, fraction);
            if end == fraction {
                return None;
            }
        } else if begins_with_zero && whole > start {
            return None;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            return None;
        }
        self.at = end;
        Some(Json::Number(Cow::Borrowed(&self.text[start..end])))
    }

    /// The rest of a word whose first letter was read.
    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        let start = self.at - 1;
        self.at = start + word.len();
        (self.text.as_bytes().get(start..self.at)? == word.as_bytes()).then_some(value)
    }

    /// The next sign that is not white space.
    #[inline(always)]
    fn sign(&mut self) -> Option<u8> {
        let mut sign = *self.text.as_bytes().get(self.at)?;
        if sign <= b' ' {
            self.as_written = false;
            self.skip_space();
            sign = *self.text.as_bytes().get(self.at)?;
        }
        self.at += 1;
        Some(sign)
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }
}

/// One of 64 numbers. FHIR's names differ in their length or their ends.
fn bit_of(name: &[u8]) -> u32 {
    match name {
        [first, .., last] => (name.len() as u32 * 7 + u32::from(*first) * 5 + u32::from(*last)) % 64,
        _ => 0,
    }
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn digits_end(bytes: &[u8], start: usize) -> usize {
    start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::careful;
    use super::*;
    use crate::fhir::samples;

    /// Whether the text was read; if so it must be what the careful reader makes of it, without a problem.
    fn is_read(text: &str) -> bool {
        let Some((value, source)) = read(text, 6) else { return false };
        let (careful, problems) = careful::read(text, 6).expect(text);
        assert!(problems.is_empty() && careful == value, "{text}");
        assert!(source.is_none() || value.to_vec() == text.trim_ascii_end().as_bytes(), "{text}");
        true
    }

    #[test]
    fn a_text_without_problems_is_read() {
        for text in [
            r#"{"a":"b","c":[1,-2.50,0,0.1,true,false],"d":{"e":"f"}}"#,
            " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : true } \n",
            r#""""#,
            "7",
            r#"["\"\\\/\b\f\n\r\t\u00f5\u20AC õ"]"#,
            "[18446744073709551616, -9223372036854775809, -0.0]",
            "[[[[[[1]]]]]]",
            r#"{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}"#,
        ] {
            assert!(is_read(text), "{text}");
        }
        let members = |count: usize| -> Vec<String> { (0..count).map(|at| format!("\"{at}\":1")).collect() };
        assert!(is_read(&format!("{{{}}}", members(MEMBERS_MAX).join(","))));
        assert!(!is_read(&format!("{{{}}}", members(MEMBERS_MAX + 1).join(","))));
    }

    #[test]
    fn whatever_may_be_wrong_is_left_to_the_careful_reader() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "\"",
            "{}",
            "[]",
            "null",
            "[null,1]",
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":1,}"#,
            "[1,]",
            "[1 2]",
            r#"{"a" 1}"#,
            r#"{a:1}"#,
            "{1:1}",
            "01",
            "-",
            "-0",
            "1.",
            ".1",
            "1e5",
            "1E5",
            "1.5e5",
            "+1",
            "- 1",
            "truth",
            "tru",
            "fals",
            "[[[[[[[1]]]]]]]",
            "7 7",
            r#""\x""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\ud83d\ude00""#,
            r#""\ud800""#,
            "\"\u{1}\"",
            "\"a\nb\"",
            "\"a\\\"",
            "\u{a0}1",
            r#"{"$a":1}"#,
            r#"{"\u0024a":1}"#,
            "\u{c}1",
        ] {
            assert!(!is_read(text), "{text}");
        }
    }

    #[test]
    fn a_certificate_is_read_in_the_plain_pass() {
        for text in [samples::DRIVER, samples::OCCUPATIONAL] {
            let (value, _) = read(text, 64).expect("nothing is wrong with it");
            assert_eq!(value, careful::read(text, 64).unwrap().0);
        }
    }

    proptest! {
        #[test]
        fn both_readers_agree(parts in proptest::collection::vec(
            proptest::sample::select(&[
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "\"a\":", "\"b\":1", "1", "-0", "0.5", "-", "e1", "true", "null", " ",
                "\\", "\\u00e4", "\\ud83d", "\\n", "õ", "\u{1}", "[1]", "{\"c\":1}", "\"\\\"\"",
            ][..]), 0..12))
        {
            is_read(&parts.concat());
        }

        #[test]
        fn strings_come_back(text in "(\\PC|[\\x00-\\x1f\"\\\\]){0,40}") {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert!(is_read(&written));
            prop_assert_eq!(read(&written, 0).map(|(value, _)| value), Some(Json::string(text)));
        }
    }
}
