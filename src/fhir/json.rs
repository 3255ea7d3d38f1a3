//! JSON as FHIR uses it: element order and the digits of decimals are kept, and what FHIR forbids is found while reading.
//!
//! `Json` borrows from the text it was read from. serde_json does the scanning; this file adds what it does not look at:
//! duplicate keys, empty arrays and objects, `null` where there is nothing beside it, and depth.

mod text;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::fhir::element;
use crate::limits::{BODY_ISSUES_MAX, JSON_DEPTH_MAX};
use crate::outcome::{Hcert, Issue, Outcome};
pub use text::{write_member, write_string};

/// One JSON value. `Number` keeps its digits as written (`1.10` stays `1.10`).
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
    let (value, problems) = read(bytes, JSON_DEPTH_MAX)?;
    if problems.is_empty() { Ok(value) } else { Err(problems.into()) }
}

/// As [`parse`], for a resource inside an entry: one level more.
pub fn parse_entry(bytes: &[u8]) -> Result<Json<'_>, Outcome> {
    let (value, problems) = read(bytes, JSON_DEPTH_MAX + 1)?;
    if problems.is_empty() { Ok(value) } else { Err(problems.into()) }
}

/// As [`parse`], but what FHIR forbids in well-formed JSON is given beside the value, so that the other problems of a body can be
/// told with it (Contract 5.1). Of a duplicate key the first value counts.
pub fn parse_with_problems(bytes: &[u8]) -> Result<(Json<'_>, Vec<Issue>), Outcome> {
    read(bytes, JSON_DEPTH_MAX)
}

fn read(bytes: &[u8], depth_max: usize) -> Result<(Json<'_>, Vec<Issue>), Outcome> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Issue::new(Hcert::BodyEmpty).into());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Issue::new(Hcert::BodyNotUtf8).with("position", error.valid_up_to().to_string()))?;
    let walk = Walk { path: RefCell::default(), problems: RefCell::default(), depth_max };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Seed { walk: &walk }.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) => {
            let problems = placed(walk.problems.into_inner(), &value);
            Ok((value, problems))
        }
        Err(error) if error.to_string().starts_with(TOO_DEEP) || error.to_string().starts_with("recursion limit") => {
            Err(Issue::new(Hcert::JsonTooDeep).with("max", JSON_DEPTH_MAX.to_string()).into())
        }
        Err(error) => Err(Issue::new(Hcert::JsonSyntax).with("problem", error.to_string()).into()),
    }
}

/// Problems with their whole FHIRPath, which begins with the type of resource where it is known.
fn placed(problems: Vec<Issue>, value: &Json) -> Vec<Issue> {
    match value.text("resourceType").filter(|name| element::of_resource(name).is_some()) {
        Some(name) => problems.into_iter().map(|problem| problem.within(name)).collect(),
        None => problems,
    }
}

/// Reads text this service wrote itself.
pub fn parse_stored(bytes: &[u8]) -> Json<'_> {
    parse(bytes).expect("the store holds only JSON that was read and checked before it was written")
}

/// serde_json hands a number that is not a plain whole one over as an object with this member.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";
const TOO_DEEP: &str = "too deep";

struct Walk<'de> {
    path: RefCell<Vec<Step<'de>>>,
    problems: RefCell<Vec<Issue>>,
    depth_max: usize,
}

enum Step<'de> {
    Member(Cow<'de, str>),
    Item(usize),
}

impl<'de> Walk<'de> {
    fn problem(&self, code: Hcert) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < BODY_ISSUES_MAX {
            problems.push(Issue::new(code).at(self.expression()));
        }
    }

    fn expression(&self) -> String {
        let mut text = String::new();
        for step in self.path.borrow().iter() {
            match step {
                Step::Member(name) if text.is_empty() => text.push_str(name),
                Step::Member(name) => text.push_str(&format!(".{name}")),
                Step::Item(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }

    fn within<T>(&self, step: Step<'de>, read: impl FnOnce() -> T) -> T {
        self.path.borrow_mut().push(step);
        let value = read();
        self.path.borrow_mut().pop();
        value
    }
}

#[derive(Clone, Copy)]
struct Seed<'w, 'de> {
    walk: &'w Walk<'de>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, 'de> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        if self.walk.path.borrow().len() > self.walk.depth_max {
            return Err(D::Error::custom(TOO_DEEP));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, 'de> {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        // Whether a null may stand here is known one level up: only inside an array of primitives.
        if !matches!(self.walk.path.borrow().last(), Some(Step::Item(_))) {
            self.walk.problem(Hcert::JsonEmptyValue);
        }
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    // Whole numbers come as such, since their digits survive it; every other number comes as text.
    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(Cow::Owned(number.to_string())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        loop {
            let step = Step::Item(items.len());
            match self.walk.within(step, || access.next_element_seed(self))? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        let nothing = items.iter().all(|item| *item == Json::Null);
        let mixed = items.contains(&Json::Null) && items.iter().any(|item| matches!(item, Json::Array(_)));
        if nothing || mixed {
            self.walk.problem(Hcert::JsonEmptyValue);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(Key(key)) = access.next_key()? {
            if key == NUMBER_TOKEN {
                return number(access.next_value::<String>()?);
            }
            let step = Step::Member(key.clone());
            let value = self.walk.within(step, || access.next_value_seed(self))?;
            // Small objects are compared one by one; a set takes over where that would become quadratic.
            if members.len() == 32 {
                seen.extend(members.iter().map(|(key, _)| key.to_string()));
            }
            let known = if members.len() < 32 {
                members.iter().any(|(old, _)| *old == key)
            } else {
                !seen.insert(key.to_string())
            };
            if known {
                self.walk.within(Step::Member(key), || self.walk.problem(Hcert::JsonDuplicateKey));
            } else {
                members.push((key, value));
            }
        }
        if members.is_empty() {
            self.walk.problem(Hcert::JsonEmptyValue);
        }
        Ok(Json::Object(Object(members)))
    }
}

/// The number behind [`NUMBER_TOKEN`]. A client may send an object that looks the same; its text must not pass for digits.
fn number<'de, E: serde::de::Error>(digits: String) -> Result<Json<'de>, E> {
    let known = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    // What is made of these signs and yet no number is refused as no FHIR decimal.
    if !digits.is_empty() && digits.bytes().all(known) {
        return Ok(Json::Number(Cow::Owned(digits)));
    }
    Err(E::custom("a member name is reserved"))
}

/// A member name, borrowed when it holds no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a member name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
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

    /// What was seen: the name under which serde_json hands numbers over was refused as text anywhere in a body, and written with
    /// an escape it came in, so that the stored certificate could not be read again.
    #[test]
    fn the_name_serde_json_reserves_is_a_text_like_any_other_but_no_member() {
        for text in [r#"{"a":"$serde_json::private::Number"}"#, r#"{"a":"\u0024serde_json::private::Number"}"#] {
            let stored = parse(text.as_bytes()).unwrap().to_vec();
            assert_eq!(parse(&stored).unwrap().text("a"), Some(NUMBER_TOKEN));
        }
        for value in [r#""x""#, r#""""#, r#""1,2""#, "1", "{}", r#""1","b":1"#] {
            for name in [NUMBER_TOKEN, r"\u0024serde_json::private::Number"] {
                assert_eq!(codes(&format!(r#"{{"a":{{"{name}":{value}}}}}"#)), [Hcert::JsonSyntax], "{value}");
            }
        }
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
