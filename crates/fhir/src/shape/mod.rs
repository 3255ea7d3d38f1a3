//! Whether a body is FHIR R5 at all: one walk over it finds unknown elements, wrong kinds of values and wrong formats, and on
//! the way brings every dateTime and instant into Estonian local time. Contract 2.8, 5.2, 8.2.
//!
//! Cardinalities from below and value sets are not looked at here: they depend on the profile.

use std::borrow::Cow;

use crate::element::{self, Element, ElementContent, ElementLookup, ElementType, TypeDefinition};
use crate::json::{Json, Object};
use crate::limits::STRING_CHARACTERS_MAX;
use crate::outcome::{Hcert, Issue, Outcome, Problems};
use crate::path::Path;
use crate::primitive::{Primitive, PrimitiveError};

/// What a walk over a body found.
#[derive(Debug)]
pub struct BodyShape {
    /// Every problem, in the order of the body. Each names its element in FHIRPath with indexes: `Composition.section[2].entry[0]`; a
    /// choice element goes by FHIRPath's name whatever its type (`Observation.value`), and an index stands wherever R5 lets an element
    /// repeat.
    pub problems: Problems,
    /// A time was changed, or may have been.
    pub rewrote: bool,
}

/// Checks a body that should be a resource of type `expected`, and normalises its times in place.
///
/// Source: Contract 2.8, 5.2; FHIR R5 `json.html`.
pub fn check(resource: &mut Json, expected: &'static str) -> BodyShape {
    let mut walk = ShapeWalk::default();
    walk.path.open(expected);
    walk.resource(resource, Some(expected));
    BodyShape { problems: walk.problems, rewrote: walk.rewrote }
}

/// As [`check`], for a body that is used only when nothing is wrong with it.
///
/// # Errors
/// Every problem found.
pub fn expect(resource: &mut Json, expected: &'static str) -> Result<(), Outcome> {
    let BodyShape { problems, .. } = check(resource, expected);
    if problems.is_empty() { Ok(()) } else { Err(problems.into_issues().into()) }
}

#[derive(Default)]
struct ShapeWalk {
    path: Path,
    problems: Problems,
    /// Choice elements met in the objects that are open, each with the type it had: two types of one are one too many.
    choices: Vec<(&'static Element, &'static ElementType)>,
    in_contained: bool,
    rewrote: bool,
}

type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

impl ShapeWalk {
    fn resource(&mut self, value: &mut Json, expected: Option<&'static str>) {
        let Json::Object(Object(members)) = value else {
            return self.wrong_kind("an object", value.kind());
        };
        let name = members.iter().find(|(key, _)| key == "resourceType").map(|(_, name)| name);
        let definition = match name.and_then(Json::as_str) {
            Some(name) if expected.is_none_or(|expected| expected == name) => element::of_resource(name),
            _ => None,
        };
        let Some(definition) = definition else {
            let found = name.map_or("none", |name| name.as_str().unwrap_or(name.kind())).to_owned();
            let expected = expected.unwrap_or("of a FHIR R5 resource");
            return self.issue(|| Issue::new(Hcert::ResourceTypeWrong).with("expected", expected).with("found", found));
        };
        self.members(members, definition, true);
    }

    fn members(&mut self, members: &mut Members, definition: &'static TypeDefinition, is_resource: bool) {
        let outside = self.choices.len();
        for at in 0..members.len() {
            let name = members[at].0.as_ref();
            if is_resource && name == "resourceType" {
                continue;
            }
            match definition.find(name) {
                Some(found) if self.in_contained && found.element.name == "contained" => {
                    // dom-2: a contained resource holds no further ones.
                    self.unknown(name, "a contained resource");
                }
                Some(found) => {
                    if found.element.is_choice {
                        self.choice(found, outside);
                    }
                    self.path.enter(found.element.name);
                    self.member(members, at, found);
                    self.path.leave();
                }
                None => self.unknown(name, definition.name),
            }
        }
        self.choices.truncate(outside);
    }

    fn choice(&mut self, found: ElementLookup, outside: usize) {
        let (element, kind) = (found.element, found.kind);
        match self.choices[outside..].iter().find(|(other, _)| std::ptr::eq(*other, element)) {
            Some((_, other)) if std::ptr::eq(*other, kind) => {}
            Some((_, other)) => {
                let found = format!("{} and {}", other.name, kind.name);
                let expected = format!("one type of {}[x]", element.name);
                self.path.enter(element.name);
                self.issue(|| Issue::new(Hcert::ElementTypeWrong).with("expected", expected).with("found", found));
                self.path.leave();
            }
            None => self.choices.push((element, kind)),
        }
    }

    fn member(&mut self, members: &mut Members, at: usize, found: ElementLookup) {
        if !found.element.repeats() {
            let value = &mut members[at].1;
            return match value {
                Json::Array(_) => self.wrong_kind("a single value", "an array"),
                _ => self.value(value, found),
            };
        }
        if members[at].1.as_array().is_some_and(|items| items.contains(&Json::Null)) {
            self.nulls(members, at, found);
        }
        let value = &mut members[at].1;
        let Json::Array(items) = value else {
            return self.wrong_kind("an array", value.kind());
        };
        for (index, item) in items.iter_mut().enumerate() {
            self.path.at(index);
            if *item != Json::Null {
                self.value(item, found);
            }
        }
    }

    /// A null keeps a place in the list of primitive values, or in the one beside it, only where the other has something.
    fn nulls(&mut self, members: &Members, at: usize, found: ElementLookup) {
        let name = members[at].0.as_ref();
        let is_other = |key: &str| match name.strip_prefix('_') {
            Some(value) => key == value,
            None => key.strip_prefix('_') == Some(name),
        };
        let has_other = found.is_sibling || matches!(found.kind.content, ElementContent::Primitive(_));
        let other = members.iter().find(|(key, _)| has_other && is_other(key)).and_then(|(_, other)| other.as_array());
        let items = members[at].1.as_array().unwrap_or_default();
        for (index, _) in items.iter().enumerate().filter(|(_, item)| **item == Json::Null) {
            if other.and_then(|other| other.get(index)).is_none_or(|beside| *beside == Json::Null) {
                self.path.at(index);
                self.issue(|| Issue::new(Hcert::JsonEmptyValue));
            }
        }
    }

    fn value(&mut self, value: &mut Json, found: ElementLookup) {
        match found.kind.content {
            ElementContent::Primitive(primitive) if !found.is_sibling => self.primitive(value, primitive),
            ElementContent::Resource => {
                let outer = std::mem::replace(&mut self.in_contained, found.element.name == "contained");
                self.resource(value, None);
                self.in_contained = outer;
            }
            ElementContent::Primitive(_) | ElementContent::Complex => match (value, found.kind.definition()) {
                (Json::Object(Object(members)), Some(definition)) => self.members(members, definition, false),
                (value, _) => self.wrong_kind("an object", value.kind()),
            },
        }
    }

    fn primitive(&mut self, value: &mut Json, kind: Primitive) {
        let Err(wrong) = kind.check(value) else {
            // A time that was changed is a text of its own now.
            self.rewrote |=
                matches!((kind, value), (Primitive::DateTime | Primitive::Instant, Json::String(Cow::Owned(_))));
            return;
        };
        self.issue(|| {
            // An issue shows 200 characters of a value; a longer text is not copied first.
            let shown = match &*value {
                Json::String(text) | Json::Number(text) => text.chars().take(201).collect(),
                _ => String::new(),
            };
            match wrong {
                PrimitiveError::Kind(expected) => {
                    Issue::new(Hcert::ElementTypeWrong).with("expected", expected).with("found", value.kind())
                }
                PrimitiveError::Format => Issue::new(Hcert::FormatWrong).with("value", shown).with("type", kind.name()),
                PrimitiveError::LocalTimeMissing => Issue::new(Hcert::LocalTimeMissing).with("value", shown),
                PrimitiveError::TooLong => {
                    Issue::new(Hcert::TextTooLong).with("max", STRING_CHARACTERS_MAX.to_string())
                }
            }
        });
    }

    fn unknown(&mut self, name: &str, of: &'static str) {
        let path = &self.path;
        self.problems.add(|| {
            let issue = Issue::new(Hcert::ElementUnknown).with("type", of).with("element", name.to_owned());
            issue.at(path.with_unknown(name))
        });
    }

    fn wrong_kind(&mut self, expected: &'static str, found: &'static str) {
        self.issue(|| Issue::new(Hcert::ElementTypeWrong).with("expected", expected).with("found", found));
    }

    /// Adds an issue about the element where the walk stands.
    fn issue(&mut self, issue: impl FnOnce() -> Issue) {
        let path = &self.path;
        self.problems.add(|| issue().at(path.expression()));
    }
}

#[cfg(test)]
mod tests;
