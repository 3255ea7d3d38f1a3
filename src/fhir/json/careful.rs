//! The reader that tells what is wrong: serde_json scans, and this file finds what it does not look at: duplicate keys, empty arrays
//! and objects, `null` where there is nothing beside it, and depth.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Json, Object};
use crate::fhir::element;
use crate::fhir::path::is_name;
use crate::limits::JSON_DEPTH_MAX;
use crate::outcome::{Hcert, Issue, Outcome, Problems};

/// Reads any text: a value with all that FHIR forbids in it, or what makes it no JSON.
pub fn read(text: &str, depth_max: usize) -> Result<(Json<'_>, Problems), Outcome> {
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
fn placed(problems: Problems, value: &Json) -> Problems {
    match value.text("resourceType").filter(|name| element::of_resource(name).is_some()) {
        Some(name) => problems.within(name),
        None => problems,
    }
}

/// serde_json hands a number that is not a plain whole one over as an object with this member.
pub const NUMBER_TOKEN: &str = "$serde_json::private::Number";
const TOO_DEEP: &str = "too deep";

struct Walk<'de> {
    path: RefCell<Vec<Step<'de>>>,
    problems: RefCell<Problems>,
    depth_max: usize,
}

enum Step<'de> {
    Member(Cow<'de, str>),
    Item(usize),
}

impl<'de> Walk<'de> {
    fn problem(&self, code: Hcert) {
        self.problems.borrow_mut().add(|| Issue::new(code).at(self.expression()));
    }

    /// FHIRPath of the element, or of the innermost one around it whose name FHIRPath has: others may be as long as the body, and each
    /// problem below them would repeat them.
    fn expression(&self) -> String {
        let mut text = String::new();
        for step in self.path.borrow().iter() {
            match step {
                Step::Member(name) if !is_name(name) => break,
                Step::Member(name) if text.is_empty() => text.push_str(name),
                Step::Member(name) => text.push_str(&format!(".{name}")),
                Step::Item(_) if text.is_empty() => break,
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
