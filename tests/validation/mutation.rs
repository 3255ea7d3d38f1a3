//! One change of a certificate, over JSON pointers (RFC 6901): `/contained/1/status`. Values are written as JSON text.

use std::borrow::Cow;

use fhir::json::{self, Json, Object};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Mutation<'m> {
    /// Nothing is changed.
    Nothing,
    /// Takes a member or an item out.
    Remove(&'m str),
    /// Puts a value in the place of another, or a member where none was.
    Set(&'m str, &'m str),
    /// Puts an item behind the last one of a list; makes the list when there is none.
    Push(&'m str, &'m str),
    /// Puts a member beside the one with its name, so that it stands twice.
    Twice(&'m str, &'m str),
    /// Gives a member another name.
    Rename(&'m str, &'m str),
    /// Puts an item of a list behind the last one once more.
    Repeat(&'m str),
    /// Puts a text of so many letters in a place.
    Long(&'m str, usize),
    /// Contains a further resource, and refers to it by its id from a section without code, so that nothing else is wrong.
    Contain(&'m str),
    /// Replaces the first such piece of the whole body, for what no JSON value can say.
    Text(&'m str, &'m str),
    /// Another body altogether.
    Body(&'m str),
}

use Mutation::*;

impl Mutation<'_> {
    /// The body with the change.
    ///
    /// # Panics
    /// The change does not fit: a pointer leads nowhere, a piece of text is not there.
    pub(crate) fn apply(self, json: &mut Json<'static>) -> Option<Vec<u8>> {
        match self {
            Nothing => {}
            Remove(pointer) => remove(json, pointer),
            Set(pointer, value) => set(json, pointer, read(value)),
            Push(pointer, value) => push(json, pointer, read(value)),
            Twice(pointer, value) => {
                let (parent, name) = parent(json, pointer);
                let Json::Object(Object(members)) = parent else { panic!("{pointer} is no member") };
                assert!(members.iter().any(|(known, _)| known == name), "{pointer} is not there");
                members.push((owned(name), read(value)));
            }
            Rename(pointer, to) => {
                let (parent, name) = parent(json, pointer);
                let Json::Object(Object(members)) = parent else { panic!("{pointer} is no member") };
                let member = members.iter_mut().find(|(known, _)| known == name);
                member.unwrap_or_else(|| panic!("{pointer} is not there")).0 = owned(to);
            }
            Repeat(pointer) => {
                let again = at(json, pointer).clone();
                let (parent, _) = parent(json, pointer);
                let Json::Array(items) = parent else { panic!("{pointer} is no item") };
                items.push(again);
            }
            Long(pointer, letters) => set(json, pointer, Json::string("x".repeat(letters))),
            Contain(resource) => {
                let resource = read(resource);
                let id = resource.text("id").expect("what is contained has an id").to_owned();
                push(json, "/contained", resource);
                push(json, "/section", read(&format!(r##"{{"entry":[{{"reference":"#{id}"}}]}}"##)));
            }
            Text(from, to) => {
                let text = String::from_utf8(json.to_vec()).expect("a Json value is written as UTF-8");
                assert!(text.contains(from), "the body has no {from}");
                return Some(text.replacen(from, to, 1).into_bytes());
            }
            Body(text) => return Some(text.as_bytes().to_vec()),
        }
        None
    }
}

/// A value; it may be one that FHIR does not allow, such as an empty list.
fn read(text: &str) -> Json<'static> {
    json::parse_with_problems(text.as_bytes()).unwrap_or_else(|_| panic!("{text}")).value.into_owned()
}

fn owned(name: &str) -> Cow<'static, str> {
    Cow::Owned(name.to_owned())
}

fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or_else(|| panic!("{pointer} is no pointer"))
}

fn parent<'j, 'p>(json: &'j mut Json<'static>, pointer: &'p str) -> (&'j mut Json<'static>, &'p str) {
    let (parent, name) = split(pointer);
    (at(json, parent), name)
}

fn at<'j>(json: &'j mut Json<'static>, pointer: &str) -> &'j mut Json<'static> {
    pointer.split('/').skip(1).fold(json, |json, step| {
        let found = match json {
            Json::Object(object) => object.get_mut(step),
            Json::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        found.unwrap_or_else(|| panic!("{pointer}: {step} is not there"))
    })
}

fn remove(json: &mut Json<'static>, pointer: &str) {
    let (parent, name) = parent(json, pointer);
    match parent {
        Json::Object(object) => {
            object.remove(name).unwrap_or_else(|| panic!("{pointer} is not there"));
        }
        Json::Array(items) => {
            items.remove(name.parse().unwrap_or_else(|_| panic!("{pointer} is no item")));
        }
        _ => panic!("{pointer} is not there"),
    }
}

fn set(json: &mut Json<'static>, pointer: &str, value: Json<'static>) {
    let (parent, name) = parent(json, pointer);
    match parent {
        Json::Object(Object(members)) => match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => members.push((owned(name), value)),
        },
        Json::Array(items) => items[name.parse::<usize>().unwrap_or_else(|_| panic!("{pointer} is no item"))] = value,
        _ => panic!("{pointer} is not there"),
    }
}

fn push(json: &mut Json<'static>, pointer: &str, value: Json<'static>) {
    let (parent, name) = parent(json, pointer);
    let list = match parent {
        Json::Object(object) => {
            if object.get(name).is_none() {
                object.0.push((owned(name), Json::Array(Vec::new())));
            }
            object.get_mut(name)
        }
        Json::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
        _ => None,
    };
    let Some(Json::Array(items)) = list else { panic!("{pointer} is no list") };
    items.push(value);
}
