//! Links of narratives to targets in the same resource, and the targets that narratives define.

use std::collections::HashSet;

use roxmltree::Document;

use super::text::is_bounded;
use crate::json::Json;

/// Attributes that may hold a link.
const LINKS: [&str; 3] = ["href", "src", "usemap"];

/// The links `#id` of a div that lead to none of these ids, each once. A div that cannot be read has none.
pub fn dead_links(div: &str, ids: &HashSet<String>) -> Vec<String> {
    let mut dead: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    attributes(div, |_, name, value| {
        if let Some(id) = value.strip_prefix('#').filter(|id| !id.is_empty())
            && LINKS.contains(&name)
            && !ids.contains(id)
            && known.insert(value.to_owned())
        {
            dead.push(value.to_owned());
        }
    });
    dead
}

/// Every id in a resource and what it contains: of elements, of contained resources, and of places in narratives (`id`, and `name` of
/// `a` and `map`).
pub fn ids(resource: &Json) -> HashSet<String> {
    let mut found = HashSet::new();
    gather(resource, &mut found);
    found
}

/// The recursion is as deep as the JSON, which its reader has bounded.
fn gather(value: &Json, found: &mut HashSet<String>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Json::Object(object) => {
            for (name, value) in object.iter() {
                match value {
                    Json::String(id) if name == "id" => drop(found.insert(id.to_string())),
                    Json::String(div) if name == "div" => attributes(div, |element, name, value| {
                        if name == "id" || name == "name" && matches!(element, "a" | "map") {
                            found.insert(value.to_owned());
                        }
                    }),
                    value => gather(value, found),
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Calls back for every attribute of a div: element, name and value.
fn attributes(div: &str, mut tell: impl FnMut(&str, &str, &str)) {
    let document = Some(div).filter(|div| is_bounded(div)).and_then(|div| Document::parse(div).ok());
    for element in document.iter().flat_map(|document| document.descendants()).filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name();
        element.attributes().for_each(|attribute| tell(name, attribute.name(), attribute.value()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::narrative::section_text;

    #[test]
    fn a_link_is_alive_when_anything_of_the_resource_has_its_id() {
        let resource = r##"{"contained":[{"id":"c"}],"_title":{"id":"e"},"section":[{"text":{"div":
            "<div><p id='p'>a</p><a name='n'/><map name='m'/><b name='no'/></div>"}}]}"##;
        let ids = ids(&json::parse(resource.as_bytes()).unwrap());
        let dead = |inside: &str| dead_links(&format!("<div>{inside}</div>"), &ids);
        for alive in ["c", "e", "p", "n", "m"] {
            assert_eq!(
                dead(&format!("<a href='#{alive}'/><img src='#{alive}' usemap='#{alive}'/>")),
                [""; 0],
                "{alive}"
            );
        }
        assert_eq!(dead("<a href='#'/><a href='c'/><a href='http://a.ee/#x'/><p title='#x'/>"), [""; 0]);
        assert_eq!(dead("<a href='#x'/><img src='#y' usemap='#z'/><a href='#x'/>"), ["#x", "#y", "#z"]);
        assert_eq!(dead("<a href='#no'/>"), ["#no"]);
    }

    /// What was seen: each was compared with all before it, which took minutes.
    #[test]
    fn a_hundred_thousand_dead_links_are_found_at_once() {
        let links: String = (0..100_000).map(|at| format!("<a href='#{at:06}'/>")).collect();
        let dead = dead_links(&format!("<div>{links}{links}</div>"), &HashSet::new());
        assert_eq!(dead.len(), 100_000);
        assert!(dead.is_sorted());
    }

    #[test]
    fn what_cannot_be_read_has_no_links() {
        assert_eq!(dead_links("<div><a href='#x'></div>", &HashSet::new()), [""; 0]);
        assert_eq!(dead_links(&section_text("<a href='#x'/>"), &HashSet::new()), [""; 0]);
    }
}
