//! R5's primitive types: how JSON shows them and which texts are values of them.
//!
//! Source: FHIR R5 `datatypes.html`, `json.html#primitive`; the patterns are those of the types' StructureDefinitions.

use std::borrow::Cow;

use crate::date_time::{self, TimeError};
use crate::json::Json;
use crate::limits::{ID_CHARACTERS_MAX, STRING_CHARACTERS_MAX};
use crate::scan;

macro_rules! primitives {
    ($($name:ident = $code:literal,)*) => {
        /// A primitive type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Primitive {
            $(
                #[doc = concat!("FHIR type `", $code, "`.")]
                $name,
            )*
        }

        impl Primitive {
            /// The type of a name as FHIR spells it (`dateTime`).
            pub fn of(name: &str) -> Option<Self> {
                match name { $($code => Some(Primitive::$name),)* _ => None }
            }

            /// The name as FHIR spells it.
            pub fn name(self) -> &'static str {
                match self { $(Primitive::$name => $code,)* }
            }
        }
    };
}

primitives! {
    Base64Binary = "base64Binary",
    Boolean = "boolean",
    Canonical = "canonical",
    Code = "code",
    Date = "date",
    DateTime = "dateTime",
    Decimal = "decimal",
    Id = "id",
    Instant = "instant",
    Integer = "integer",
    Integer64 = "integer64",
    Markdown = "markdown",
    Oid = "oid",
    PositiveInt = "positiveInt",
    String = "string",
    Time = "time",
    UnsignedInt = "unsignedInt",
    Uri = "uri",
    Url = "url",
    Uuid = "uuid",
    Xhtml = "xhtml",
}

/// Why a JSON value is none of a primitive type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveError {
    /// Another kind of JSON value was expected, named in the words of [`Json::kind`].
    Kind(&'static str),
    /// The right kind of JSON value, but not a text or number that the type allows.
    Format,
    /// A local time that the clock was put forward over. Contract 2.8.
    LocalTimeMissing,
    /// Longer than [`STRING_CHARACTERS_MAX`].
    TooLong,
}

impl Primitive {
    /// Checks a value and brings a dateTime or an instant into Estonian local time (Contract 2.8).
    pub fn check(self, value: &mut Json) -> Result<(), PrimitiveError> {
        match (self, value) {
            (Primitive::Boolean, Json::Bool(_)) => Ok(()),
            (Primitive::Boolean, _) => Err(PrimitiveError::Kind("a boolean")),
            (Primitive::Decimal, Json::Number(digits)) => format(is_decimal(digits)),
            (Primitive::Integer, Json::Number(digits)) => whole(digits, i64::from(i32::MIN)),
            (Primitive::UnsignedInt, Json::Number(digits)) => whole(digits, 0),
            (Primitive::PositiveInt, Json::Number(digits)) => whole(digits, 1),
            (Primitive::Decimal | Primitive::Integer | Primitive::UnsignedInt | Primitive::PositiveInt, _) => {
                Err(PrimitiveError::Kind("a number"))
            }
            (_, Json::String(text)) => self.check_text(text),
            _ => Err(PrimitiveError::Kind("a string")),
        }
    }

    fn check_text(self, text: &mut Cow<str>) -> Result<(), PrimitiveError> {
        match self {
            Primitive::DateTime => in_local_time(text, date_time::normalise),
            Primitive::Instant => in_local_time(text, date_time::normalise_instant),
            Primitive::Date => format(date_time::is_date(text)),
            Primitive::Time => format(date_time::is_time(text)),
            Primitive::String | Primitive::Markdown => is_text(text),
            Primitive::Code => is_text(text).and_then(|()| format(is_code(text))),
            Primitive::Id => format(is_id(text)),
            Primitive::Uri | Primitive::Url | Primitive::Canonical => format(is_uri(text)),
            Primitive::Oid => format(is_oid(text)),
            Primitive::Uuid => format(is_uuid(text)),
            Primitive::Integer64 => format(is_whole(text) && text.parse::<i64>().is_ok()),
            Primitive::Base64Binary => format(is_base64(text)),
            // What the XHTML may hold is a rule of narratives, checked with the profiles.
            Primitive::Xhtml => format(!text.is_empty()),
            Primitive::Boolean
            | Primitive::Decimal
            | Primitive::Integer
            | Primitive::UnsignedInt
            | Primitive::PositiveInt => Err(PrimitiveError::Format),
        }
    }
}

fn format(right: bool) -> Result<(), PrimitiveError> {
    if right { Ok(()) } else { Err(PrimitiveError::Format) }
}

fn in_local_time(
    text: &mut Cow<str>,
    normalise: impl Fn(&str) -> Result<Cow<'_, str>, TimeError>,
) -> Result<(), PrimitiveError> {
    let changed = match normalise(text) {
        Ok(Cow::Borrowed(_)) => return Ok(()),
        Ok(Cow::Owned(changed)) => changed,
        Err(TimeError::Malformed) => return Err(PrimitiveError::Format),
        Err(TimeError::NotInLocalTime) => return Err(PrimitiveError::LocalTimeMissing),
    };
    *text = Cow::Owned(changed);
    Ok(())
}

/// Not empty, and without the control characters that R5 discourages and XML cannot hold. Blank space alone is a value in R5.
fn is_text(text: &str) -> Result<(), PrimitiveError> {
    if text.len() > STRING_CHARACTERS_MAX && text.chars().count() > STRING_CHARACTERS_MAX {
        return Err(PrimitiveError::TooLong);
    }
    let control = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    format(!text.is_empty() && (!scan::any_control(text.as_bytes()) || !text.bytes().any(control)))
}

/// Words with single spaces between them.
fn is_code(text: &str) -> bool {
    // Nearly every code is one word of ASCII.
    !text.is_empty() && scan::all_graphic(text.as_bytes())
        || text.split(' ').all(|word| !word.is_empty() && !word.chars().any(char::is_whitespace))
}

fn is_id(text: &str) -> bool {
    (1..=ID_CHARACTERS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

fn is_uri(text: &str) -> bool {
    if scan::all_graphic(text.as_bytes()) {
        return !text.is_empty();
    }
    !text.is_ascii() && !text.chars().any(|character| character.is_whitespace() || character.is_control())
}

fn is_oid(text: &str) -> bool {
    let Some((root, arcs)) = text.strip_prefix("urn:oid:").and_then(|oid| oid.split_once('.')) else { return false };
    matches!(root, "0" | "1" | "2")
        && arcs.split('.').all(|arc| is_digits(arc) && (arc == "0" || !arc.starts_with('0')))
}

fn is_uuid(text: &str) -> bool {
    let Some(uuid) = text.strip_prefix("urn:uuid:") else { return false };
    uuid.len() == 36
        && uuid.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// Groups of four characters; white space between them is not looked at, as R5 asks of readers.
fn is_base64(text: &str) -> bool {
    let (mut count, mut padding) = (0_usize, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        match byte {
            b'=' => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => {}
            _ => return false,
        }
        count += 1;
    }
    count > 0 && count.is_multiple_of(4) && padding <= 2
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `0`, or digits that do not begin with 0, with or without sign.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    text == "0" || is_digits(digits) && !digits.starts_with('0')
}

/// A whole number of 32 bits, not below `low`.
fn whole(text: &str, low: i64) -> Result<(), PrimitiveError> {
    let number = text.parse::<i64>().ok().filter(|_| is_whole(text));
    format(number.is_some_and(|number| (low..=i64::from(i32::MAX)).contains(&number)))
}

/// At most 18 digits before the point and 17 behind it, and a whole exponent of at most 10.
fn is_decimal(text: &str) -> bool {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let number = number.strip_prefix('-').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let part = |digits: &str, most: usize| is_digits(digits) && digits.len() <= most;
    let has_form = part(whole, 18)
        && (whole == "0" || !whole.starts_with('0'))
        && part(fraction, 17)
        && is_whole(exponent)
        && exponent.trim_start_matches(['-', '+']).len() <= 10;
    // One that no program's number holds (1e400) would be read by each in its own way.
    has_form && text.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Primitive, value: &str) -> Result<(), PrimitiveError> {
        kind.check(&mut Json::string(value))
    }

    fn number(kind: Primitive, digits: &str) -> Result<(), PrimitiveError> {
        kind.check(&mut Json::Number(digits.into()))
    }

    fn takes(kind: Primitive, good: &[&str], bad: &[&str]) {
        for value in good {
            assert_eq!(text(kind, value), Ok(()), "{kind:?} {value:?}");
        }
        for value in bad {
            assert_eq!(text(kind, value), Err(PrimitiveError::Format), "{kind:?} {value:?}");
        }
    }

    #[test]
    fn each_text_type_has_its_own_form() {
        takes(Primitive::String, &["a", " ", "õ\t\r\n", "\u{a0}"], &["", "\u{0}", "a\u{b}", "\u{1f}"]);
        takes(Primitive::Markdown, &["# a\n"], &["", "\u{1b}"]);
        takes(Primitive::Code, &["a", "a b", "a-b/õ"], &["", " a", "a ", "a  b", "a\tb", "a\u{a0}b", "a\nb"]);
        takes(Primitive::Id, &["a", "A-1.b", &"x".repeat(64)], &["", "a_b", "õ", "a b", "#a", &"x".repeat(65)]);
        takes(Primitive::Uri, &["urn:x", "http://a/b?c#d", "Õ"], &["", " ", "a b", "a\n", "\u{1}"]);
        takes(Primitive::Canonical, &["http://a/b|1.0"], &["http://a/b |1"]);
        takes(
            Primitive::Oid,
            &["urn:oid:1.3.0.10", "urn:oid:2.16"],
            &["1.3.6", "urn:oid:3.1", "urn:oid:1", "urn:oid:1.", "urn:oid:1.03"],
        );
        takes(
            Primitive::Uuid,
            &["urn:uuid:c757873d-ec9a-4326-a141-556f43239520"],
            &[
                "c757873d-ec9a-4326-a141-556f43239520",
                "urn:uuid:C757873D-ec9a-4326-a141-556f43239520",
                "urn:uuid:c757873dec9a4326a141556f43239520",
            ],
        );
        takes(Primitive::Date, &["2025", "2025-02", "2025-02-28"], &["", "2025-02-30", "2025-02-28T10:00:00Z"]);
        takes(Primitive::Time, &["10:00:00"], &["10:00", "10:00:00Z"]);
        takes(
            Primitive::Base64Binary,
            &["AAAA", "AAA=", "AA==\n", "AA AA"],
            &["", " ", "AAA", "A===", "AA=A", "AA-_", "AAAõ"],
        );
        takes(
            Primitive::Integer64,
            &["0", "-9223372036854775808", "+7"],
            &["", "00", "-0", "9223372036854775808", "1.0", "+"],
        );
        takes(Primitive::Xhtml, &["<div/>"], &[""]);
    }

    #[test]
    fn numbers_keep_to_their_range_and_form() {
        for (kind, good, bad) in [
            (
                Primitive::Integer,
                vec!["0", "-2147483648", "2147483647"],
                vec!["2147483648", "-2147483649", "1.0", "1e2", "-0"],
            ),
            (Primitive::UnsignedInt, vec!["0", "2147483647"], vec!["-1", "2147483648"]),
            (Primitive::PositiveInt, vec!["1"], vec!["0", "-1"]),
            (
                Primitive::Decimal,
                vec![
                    "0",
                    "-0.0",
                    "1.10",
                    "1e-7",
                    "2E+9",
                    "0E0",
                    "1.5e0",
                    "1e-10",
                    "0e1234567890",
                    "999999999999999999",
                    "0.00000000000000001",
                ],
                vec![
                    "1000000000000000000",
                    "0.000000000000000001",
                    "1e1234567890",
                    "0e12345678901",
                    "1.5e-0007",
                    "0.0e-0",
                    "1e+0",
                    "1e00",
                    "1E01",
                    "1e",
                    "1e+",
                    "1e--1",
                ],
            ),
        ] {
            good.iter().for_each(|digits| assert_eq!(number(kind, digits), Ok(()), "{kind:?} {digits}"));
            bad.iter()
                .for_each(|digits| assert_eq!(number(kind, digits), Err(PrimitiveError::Format), "{kind:?} {digits}"));
        }
    }

    #[test]
    fn json_shows_each_type_in_one_kind_of_value() {
        assert_eq!(text(Primitive::Boolean, "true"), Err(PrimitiveError::Kind("a boolean")));
        assert_eq!(Primitive::Boolean.check(&mut Json::Bool(true)), Ok(()));
        for kind in [Primitive::Decimal, Primitive::Integer, Primitive::UnsignedInt, Primitive::PositiveInt] {
            assert_eq!(text(kind, "1"), Err(PrimitiveError::Kind("a number")));
        }
        for kind in [Primitive::String, Primitive::Integer64, Primitive::DateTime, Primitive::Xhtml, Primitive::Code] {
            assert_eq!(number(kind, "1"), Err(PrimitiveError::Kind("a string")));
            assert_eq!(kind.check(&mut Json::Null), Err(PrimitiveError::Kind("a string")));
        }
    }

    #[test]
    fn a_string_ends_after_its_last_allowed_character() {
        let longest = "õ".repeat(STRING_CHARACTERS_MAX);
        assert_eq!(text(Primitive::String, &longest), Ok(()));
        assert_eq!(text(Primitive::String, &(longest + "õ")), Err(PrimitiveError::TooLong));
    }

    #[test]
    fn date_times_and_instants_become_local() {
        let mut value = Json::string("2025-01-12T10:00:00Z");
        assert_eq!(Primitive::DateTime.check(&mut value), Ok(()));
        assert_eq!(value.as_str(), Some("2025-01-12T12:00:00+02:00"));
        assert_eq!(text(Primitive::DateTime, "2025-03-30T03:30:00"), Err(PrimitiveError::LocalTimeMissing));
        takes(Primitive::Instant, &["2025-01-12T10:00:00Z"], &["2025-01-12", "2025-01-12T10:00:00", "x"]);
    }
}
