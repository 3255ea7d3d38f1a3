//! JSON as FHIR uses it: element order and the digits of decimals are kept, and what FHIR forbids is found while reading.
//!
//! `Json` borrows from the text it was read from.

mod lexer;
mod reader;
mod source;
mod text;

use std::borrow::Cow;

use crate::limits::JSON_DEPTH_MAX;
use crate::outcome::{Hcert, Issue, Outcome, Problems};
pub use source::Source;
pub use text::{write_member, write_string};

/// One JSON value. `Number` keeps its text as written (`1.10` stays `1.10`, `1E2` stays `1E2`). Contract 2.7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Object<'a>),
}

/// Members in the order they were written. FHIR objects are small, so a look-up walks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a>(pub Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Object<'a> {
    /// The value of a member, if there is one.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// As [`get`](Self::get), to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        self.0.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Sets a member where it stands, or at the end.
    pub fn set(&mut self, name: &'a str, value: Json<'a>) {
        match self.get_mut(name) {
            Some(old) => *old = value,
            None => self.0.push((Cow::Borrowed(name), value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }
}

impl<'a> Json<'a> {
    /// A string value.
    pub fn string(text: impl Into<Cow<'a, str>>) -> Self {
        Json::String(text.into())
    }

    /// An object out of name and value pairs.
    pub fn object<const N: usize>(members: [(&'a str, Json<'a>); N]) -> Self {
        Json::Object(Object(members.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect()))
    }

    pub fn as_object(&self) -> Option<&Object<'a>> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// Member of an object; nothing for any other kind of value.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.as_object()?.get(name)
    }

    /// Items of an array member; empty when it is missing or no array.
    pub fn items(&self, name: &str) -> &[Json<'a>] {
        self.get(name).and_then(Json::as_array).unwrap_or(&[])
    }

    /// Text of a string member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Whether it is the same value: the order of members does not count.
    pub fn equals(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(left), Json::Object(right)) => {
                let same = |(name, value): (&str, &Json)| right.get(name).is_some_and(|other| value.equals(other));
                left.0.len() == right.0.len() && left.iter().all(same)
            }
            (Json::Array(left), Json::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            (left, right) => left == right,
        }
    }

    /// What kind of value this is, in the words of JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// The same value, borrowing from nothing.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(digits) => Json::Number(Cow::Owned(digits.into_owned())),
            Json::String(text) => Json::String(Cow::Owned(text.into_owned())),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(Object(members)) => Json::Object(Object(
                members.into_iter().map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned())).collect(),
            )),
        }
    }
}

/// Reads a request body.
///
/// # Errors
/// One `Outcome` with every problem found: not UTF-8, not JSON (with line and column), deeper than
/// [`JSON_DEPTH_MAX`], duplicate keys, empty arrays or objects, `null` outside a primitive array.
///
/// Source: Contract 2.1, 2.7, 5.4; FHIR R5 `json.html`.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, Outcome> {
    let Read { value, problems, .. } = read(bytes, JSON_DEPTH_MAX)?;
    if problems.is_empty() { Ok(value) } else { Err(problems.into_issues().into()) }
}

/// As [`parse`], for a resource inside an entry: one level more. The text comes along where it is as we would write it.
pub fn parse_entry(bytes: &[u8]) -> Result<(Json<'_>, Option<Source<'_>>), Outcome> {
    let Read { value, problems, source } = read(bytes, JSON_DEPTH_MAX + 1)?;
    if problems.is_empty() { Ok((value, source)) } else { Err(problems.into_issues().into()) }
}

/// What was read of a text.
#[derive(Debug)]
pub struct Read<'a> {
    pub value: Json<'a>,
    /// What FHIR forbids in well-formed JSON.
    pub problems: Problems,
    /// The text, where it is as we would write it.
    pub source: Option<Source<'a>>,
}

/// As [`parse`], but what FHIR forbids in well-formed JSON is given beside the value, so that the other problems of a body can be
/// told with it (Contract 5.1). Of a duplicate key the first value counts.
pub fn parse_with_problems(bytes: &[u8]) -> Result<Read<'_>, Outcome> {
    read(bytes, JSON_DEPTH_MAX)
}

fn read(bytes: &[u8], depth_max: usize) -> Result<Read<'_>, Outcome> {
    let text = text_of(bytes)?;
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return Err(Issue::new(Hcert::BodyEmpty).into());
    }
    reader::read(text, depth_max)
}

/// A body as text, behind its byte order mark if it has one. Contract 2.1.
///
/// # Errors
/// 400: it is not UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str, Issue> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Issue::new(Hcert::BodyNotUtf8).with("position", error.valid_up_to().to_string()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Reads text this service wrote itself.
pub fn parse_stored(bytes: &[u8]) -> Json<'_> {
    parse(bytes).expect("the store holds only JSON that was read and checked before it was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<Hcert> {
        parse(text.as_bytes()).expect_err("refused").issues().iter().filter_map(Issue::own_code).collect()
    }

    #[test]
    fn digits_and_order_come_back_as_they_were() {
        let text = r#"{"z":1.10,"a":[1e-7,-0.0,12345678901234567890123],"s":"õ\n\"<","t":true}"#;
        assert_eq!(String::from_utf8(parse(text.as_bytes()).unwrap().to_vec()).unwrap(), text);
    }

    #[test]
    fn what_fhir_forbids_is_found_with_its_place() {
        assert_eq!(codes(r#"{"a":1,"a":2}"#), [Hcert::JsonDuplicateKey]);
        assert_eq!(codes(r#"{"a":[]}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes(r#"{"a":{}}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes(r#"{"a":null}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes("  "), [Hcert::BodyEmpty]);
        assert_eq!(codes("{\"a\":"), [Hcert::JsonSyntax]);
        assert_eq!(codes(&"[".repeat(1000)), [Hcert::JsonTooDeep]);
        let outcome = parse(br#"{"a":{"b":[{"c":[]}]}}"#).unwrap_err();
        assert_eq!(outcome.issues()[0].expression(), ["a.b[0].c"]);
        let outcome = parse(br#"{"a":{"b":[{"c":[]}]},"resourceType":"Basic"}"#).unwrap_err();
        assert_eq!(outcome.issues()[0].expression(), ["Basic.a.b[0].c"]);
    }

    /// What was seen: exponents came back in lower case and with a sign (`1E2` as `1e+2`), since serde_json handed numbers over. It
    /// reserves a name for that, which was refused as a member.
    #[test]
    fn numbers_and_names_are_read_without_serde_json() {
        let text = r#"{"a":[1E2,123e65,20E+1,20e1,-0,1.50e-07],"$serde_json::private::Number":"1,2"}"#;
        assert_eq!(String::from_utf8(parse(text.as_bytes()).unwrap().to_vec()).unwrap(), text);
    }

    /// What was seen: a member's name went into the place of every problem below it, however long and whatever it held, so that a body
    /// of the allowed size was answered with a hundred times as much, and with places that are no FHIRPath.
    #[test]
    fn a_name_that_is_none_of_fhirpath_stands_in_no_place() {
        let places = |text: &str| -> Vec<String> {
            let refused = parse(text.as_bytes()).expect_err(text);
            refused.issues().iter().map(|issue| issue.expression().join(" ")).collect()
        };
        let long = "a".repeat(65);
        for name in ["a b", "", "7", "õ", "a.b", "a[0]", "`a`", &long] {
            let text = format!(r#"{{"resourceType":"Basic","b":[{{"{name}":{{"c":[null],"d":{{}}}}}}]}}"#);
            assert_eq!(places(&text), ["Basic.b[0]", "Basic.b[0]"], "{name}");
            assert_eq!(places(&format!(r#"{{"{name}":[]}}"#)), [""], "{name}");
        }
        assert_eq!(places(r#"{"_a":{}}"#), ["_a"]);
        assert_eq!(places(r#"[{"a":[]},{}]"#), ["", ""]);
    }

    #[test]
    fn a_resource_of_the_largest_depth_fits_into_an_entry() {
        let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert!(parse(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(codes(&nested(JSON_DEPTH_MAX + 1)), [Hcert::JsonTooDeep]);
        assert!(parse_entry(nested(JSON_DEPTH_MAX + 1).as_bytes()).is_ok());
        assert!(parse_entry(nested(JSON_DEPTH_MAX + 2).as_bytes()).is_err());
    }

    #[test]
    fn null_may_stand_in_an_array_beside_a_value() {
        assert!(parse(br#"{"given":[null,"Mari"],"_given":[{"id":"a"},null]}"#).is_ok());
    }

    #[test]
    fn many_members_are_checked_for_duplicates_too() {
        let members: Vec<String> = (0..100).map(|n| format!("\"k{n}\":{n}")).collect();
        let text = format!("{{{},\"k77\":1}}", members.join(","));
        assert_eq!(codes(&text), [Hcert::JsonDuplicateKey]);
    }
}
