//! The text that values were read from, where writing them would give the same text again: then it is copied instead.

use std::borrow::Cow;

use super::{Json, Object};

/// The text of one value, written as [`Json::write`] writes it. Values know where they stand in it by the member names they borrow, so
/// it serves a value only as it was read.
#[derive(Clone, Copy, Debug)]
pub struct JsonSource<'a>(&'a str);

impl<'a> JsonSource<'a> {
    /// `text` has no white space between its values, and its escapes are those that [`write_string`](super::write_string) makes.
    pub(super) fn new(text: &'a str) -> JsonSource<'a> {
        JsonSource(text)
    }

    /// Bytes of the text.
    pub fn bytes(self) -> usize {
        self.0.len()
    }

    /// `"name":value` of a member of the object that was read from this; nothing when the object was not.
    pub fn member(self, object: &Object, at: usize) -> Option<&'a str> {
        let start = self.start_of_name(object, at)?.checked_sub(1)?;
        let end = match object.0.get(at + 1) {
            // A comma and a quotation mark stand between.
            Some(_) => self.start_of_name(object, at + 1)?.checked_sub(2)?,
            None => self.0.len() - 1,
        };
        self.0.get(start..end)
    }

    /// The part that a member's value was read from.
    pub fn value(self, object: &Object, name: &str) -> Option<JsonSource<'a>> {
        let at = object.0.iter().position(|(known, _)| known == name)?;
        self.member(object, at)?.get(name.len() + 3..).map(JsonSource)
    }

    /// As [`value`](Self::value), of a value that may be no object.
    pub fn value_in(self, value: &Json, name: &str) -> Option<JsonSource<'a>> {
        self.value(value.as_object()?, name)
    }

    fn start_of_name(self, object: &Object, at: usize) -> Option<usize> {
        match &object.0.get(at)?.0 {
            // A name that lies elsewhere, be it just behind, was not read from here.
            Cow::Borrowed(name) => {
                let start = (name.as_ptr() as usize).checked_sub(self.0.as_ptr() as usize)?;
                (start + name.len() < self.0.len()).then_some(start)
            }
            Cow::Owned(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_entry;
    use super::*;

    #[test]
    fn each_member_is_found_in_the_text() {
        let text = br#"{"a":{"b":[1.10,{"c":"\"\n"}],"d":true},"":"x","e":"f"}"#;
        let (value, source) = parse_entry(text).unwrap();
        let (Json::Object(object), Some(source)) = (&value, source) else { panic!("{value:?}") };
        let members: Vec<_> = (0..4).map(|at| source.member(object, at)).collect();
        let expected = [r#""a":{"b":[1.10,{"c":"\"\n"}],"d":true}"#, r#""":"x""#, r#""e":"f""#];
        assert_eq!(members, [Some(expected[0]), Some(expected[1]), Some(expected[2]), None]);
        let inner = source.value(object, "a").unwrap();
        let Some(Json::Object(a)) = object.get("a") else { unreachable!() };
        assert_eq!((inner.member(a, 0), inner.member(a, 1)), (Some(r#""b":[1.10,{"c":"\"\n"}]"#), Some(r#""d":true"#)));
        assert!(source.value(object, "x").is_none());
        // A member that came from elsewhere is in no text.
        let mut changed = object.clone();
        changed.set("g", Json::Bool(true));
        assert_eq!((source.member(&changed, 3), source.member(&changed, 2)), (None, None));
    }

    #[test]
    fn a_name_that_lies_just_behind_the_text_is_none_of_its_names() {
        let memory = r#"{"n":1.10}section"#;
        let (text, name) = memory.split_at(10);
        let (value, source) = parse_entry(text.as_bytes()).unwrap();
        let mut changed = value.as_object().unwrap().clone();
        changed.set(name, Json::Bool(true));
        assert_eq!(source.unwrap().member(&changed, 0), None);
    }

    #[test]
    fn a_text_that_would_be_written_otherwise_is_no_source() {
        let has_source = |text: &str| parse_entry(text.as_bytes()).unwrap().1.is_some();
        for text in [
            r#"{"a":1}"#,
            "{\"a\":1}\n",
            "{\"a\":1} \r\n",
            r#"{"a":"\t\r\n\b\f\\\""}"#,
            r#"{"a":"õ/"}"#,
            r#"{"a":1E+5}"#,
        ] {
            assert!(has_source(text), "{text}");
        }
        for text in [r#" {"a":1}"#, r#"{"a": 1}"#, r#"{"a":1 }"#, r#"{"a":"\/"}"#, r#"{"a":"\u00f5"}"#, r#"{"\n":1}"#] {
            assert!(!has_source(text), "{text}");
        }
    }
}
