//! Reading JSON that should have a shape: what has it is given, what has not becomes an issue with its place.

use std::fmt;

use fhir::json::{Json, Object};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue};

/// The issues found so far, up to [`BODY_ISSUES_MAX`]. Every reader gives nothing for what is missing, and nothing with an issue for what is wrong.
#[derive(Default)]
pub struct BodyIssues {
    /// In the order in which they were found.
    pub issues: Vec<Issue>,
}

impl BodyIssues {
    /// The one item of a list that may hold one in a certificate, although R5 allows several.
    pub fn once<'j>(&mut self, object: &'j Object<'j>, name: &str, place: &ElementPath) -> Option<&'j Object<'j>> {
        match self.list(object, name, place) {
            [] => None,
            [only] => self.object(only, &place.item(name, 0)),
            _ => {
                self.repeated(&place.member(name));
                None
            }
        }
    }

    /// The items of a list member; empty where it is missing or no array.
    pub fn list<'j>(&mut self, object: &'j Object<'j>, name: &str, place: &ElementPath) -> &'j [Json<'j>] {
        match object.get(name) {
            None => &[],
            Some(Json::Array(items)) => items,
            Some(other) => {
                self.wrong_type("an array", other, &place.member(name));
                &[]
            }
        }
    }

    /// The object that a value is; `place` is where it stands.
    pub fn object<'j>(&mut self, value: &'j Json<'j>, place: &ElementPath) -> Option<&'j Object<'j>> {
        if let Json::Object(object) = value {
            return Some(object);
        }
        self.single("an object", value, place);
        None
    }

    /// The text of a string member. `place` is where the object stands.
    pub fn text<'j>(&mut self, object: &'j Object<'j>, name: &str, place: &ElementPath) -> Option<&'j str> {
        object.get(name).and_then(|value| self.string(value, &place.member(name)))
    }

    /// The text of a string; `place` is where it stands.
    pub fn string<'j>(&mut self, value: &'j Json<'j>, place: &ElementPath) -> Option<&'j str> {
        if let Json::String(text) = value {
            return Some(text);
        }
        self.single("a string", value, place);
        None
    }

    /// Several where there is one by nature is a repetition; anything else is a wrong type.
    fn single(&mut self, expected: &'static str, found: &Json, place: &ElementPath) {
        match found {
            Json::Array(items) if items.len() > 1 => self.repeated(place),
            _ => self.wrong_type(expected, found, place),
        }
    }

    fn repeated(&mut self, place: &ElementPath) {
        self.tell(place, || Issue::new(Hcert::ElementRepeated).with("element", place.to_string()));
    }

    fn wrong_type(&mut self, expected: &'static str, found: &Json, place: &ElementPath) {
        self.tell(place, || Issue::new(Hcert::ElementTypeWrong).with("expected", expected).with("found", found.kind()));
    }

    /// Adds an issue about an element, while there is room for one.
    pub fn tell(&mut self, place: &ElementPath, issue: impl FnOnce() -> Issue) {
        if self.issues.len() < BODY_ISSUES_MAX {
            self.issues.push(issue().at(place.to_string()));
        }
    }
}

/// Where the reading stands, not written down until somebody asks: an element and its parents, as FHIRPath: `Composition.section[2].entry[0]`.
#[derive(Clone, Copy)]
pub struct ElementPath<'p> {
    parent: Option<&'p ElementPath<'p>>,
    name: &'p str,
    index: Option<usize>,
}

impl<'p> ElementPath<'p> {
    /// The resource itself.
    pub fn root(name: &'p str) -> ElementPath<'p> {
        ElementPath { parent: None, name, index: None }
    }

    /// A member.
    pub fn member(&'p self, name: &'p str) -> ElementPath<'p> {
        ElementPath { parent: Some(self), name, index: None }
    }

    /// One item of a member that is a list.
    pub fn item(&'p self, name: &'p str, index: usize) -> ElementPath<'p> {
        ElementPath { parent: Some(self), name, index: Some(index) }
    }
}

impl fmt::Display for ElementPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(formatter, "{parent}.")?;
        }
        formatter.write_str(self.name)?;
        match self.index {
            Some(index) => write!(formatter, "[{index}]"),
            None => Ok(()),
        }
    }
}
