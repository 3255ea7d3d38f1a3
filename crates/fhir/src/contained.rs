//! Contained resources by their ids. A body may hold some ten thousand of them, so that nothing looks through all of them for each reference.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::json::{Json, Object};

/// So few are looked through, which takes less time than a map.
const LOOKED_THROUGH_MAX: usize = 16;

/// The contained resources of a resource.
pub struct ContainedResources<'o, 'a> {
    resources: &'o [Json<'a>],
    places: OnceCell<HashMap<&'o str, usize>>,
}

impl<'o, 'a> ContainedResources<'o, 'a> {
    /// Those of `resource`; none where it has no list of them.
    pub fn of(resource: &'o Object<'a>) -> Self {
        let resources = resource.get("contained").and_then(Json::as_array).unwrap_or_default();
        ContainedResources { resources, places: OnceCell::new() }
    }

    /// The first one to which a Reference leads, and its place; none where it leads elsewhere.
    pub fn find(&self, reference: &Json) -> Option<(usize, &'o Json<'a>)> {
        let id = reference.text("reference")?.strip_prefix('#')?;
        let place = match self.resources.len() {
            ..=LOOKED_THROUGH_MAX => self.resources.iter().position(|resource| resource.text("id") == Some(id)),
            _ => self.places.get_or_init(|| self.by_id()).get(id).copied(),
        };
        place.map(|place| (place, &self.resources[place]))
    }

    fn by_id(&self) -> HashMap<&'o str, usize> {
        let ids = self.resources.iter().enumerate().filter_map(|(place, resource)| Some((resource.text("id")?, place)));
        // The last one put in stays.
        ids.rev().collect()
    }
}

/// Ids of the contained resources that a resource leads to, also by way of each other.
pub fn in_use<'o>(resource: &'o Object) -> HashSet<&'o str> {
    let mut unread: HashMap<&str, Vec<&Json>> = HashMap::new();
    for contained in resource.get("contained").and_then(Json::as_array).unwrap_or_default() {
        unread.entry(contained.text("id").unwrap_or_default()).or_default().push(contained);
    }
    let (mut open, mut used) = (Vec::new(), HashSet::new());
    let outside = resource.iter().filter(|(name, _)| *name != "contained");
    outside.for_each(|(_, value)| local_references(value, &mut open));
    while let Some(id) = open.pop() {
        if used.insert(id) {
            unread.remove(id).iter().flatten().for_each(|contained| local_references(contained, &mut open));
        }
    }
    used
}

/// The ids behind every `#id`. R5's dom-3 takes any uri, url or canonical for a reference, and so does this.
fn local_references<'j>(value: &'j Json, ids: &mut Vec<&'j str>) {
    match value {
        Json::String(text) => ids.extend(text.strip_prefix('#')),
        Json::Array(items) => items.iter().for_each(|item| local_references(item, ids)),
        Json::Object(object) => object.iter().for_each(|(_, value)| local_references(value, ids)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn object(text: &str) -> Json<'_> {
        json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_first_of_an_id_is_found_among_few_and_among_many() {
        let few = r#"{"resourceType":"Basic"},{"id":"a","n":1},{"id":"a","n":2},{"id":"b"}"#.to_owned();
        let many = few.clone() + &r#",{"id":"c"}"#.repeat(LOOKED_THROUGH_MAX);
        for contained in [few, many] {
            let text = format!(r#"{{"contained":[{contained}]}}"#);
            let resource = object(&text);
            let found = ContainedResources::of(resource.as_object().unwrap());
            let place = |reference: &str| {
                let reference = Json::object([("reference", Json::string(reference))]);
                found.find(&reference).map(|(place, _)| place)
            };
            assert_eq!(["#a", "#b", "#x", "a", "#"].map(place), [Some(1), Some(3), None, None, None]);
        }
        let none = object(r#"{"contained":{"id":"a"}}"#);
        let found = ContainedResources::of(none.as_object().unwrap());
        assert!(found.find(&object(r##"{"reference":"#a"}"##)).is_none());
    }

    /// What was seen: each of them was looked for among all of them, and a page of 40 such certificates kept a processor for a minute.
    #[test]
    fn a_chain_of_very_many_is_followed_to_its_end() {
        let member = |at: usize| {
            let reference = Json::object([("reference", Json::string(format!("#x{}", at + 1)))]);
            Json::object([("id", Json::string(format!("x{at}"))), ("hasMember", reference)])
        };
        let contained = Json::Array((0..30_000).map(member).collect());
        let resource = Json::object([("author", Json::string("#x0")), ("contained", contained)]);
        assert_eq!(in_use(resource.as_object().unwrap()).len(), 30_001);
    }
}
