//! Values as they were read.

use std::borrow::Cow;

/// One JSON value. `Number` keeps its text as written (`1.10` stays `1.10`, `1E2` stays `1E2`). Contract 2.7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as the text it was written as.
    Number(Cow<'a, str>),
    /// A string, without quotation marks and escapes.
    String(Cow<'a, str>),
    /// Items in the order they were written.
    Array(Vec<Json<'a>>),
    /// Members by name.
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

    /// The members of an object; nothing for any other kind of value.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    /// The items of an array; nothing for any other kind of value.
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// The text of a string; nothing for any other kind of value, a number included.
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
