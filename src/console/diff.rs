//! What differs between two versions, by meaning: sections by their code, contained resources by their id, everything else by its place.

use std::collections::BTreeMap;

use serde_json::Value;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Where: `section[decision].text`.
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// All differences of two resources, in the order of their places. What the service writes by itself (id, meta, narrative) is left out.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let (before, after) = (leaves(before), leaves(after));
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let differs = |path: &&String| before.get(*path) != after.get(*path);
    let told = |path: &String| Difference {
        path: path.clone(),
        before: before.get(path).cloned(),
        after: after.get(path).cloned(),
    };
    paths.into_iter().filter(differs).map(told).collect()
}

/// Every value of a resource, by where it stands.
fn leaves(resource: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, value) in resource.as_object().into_iter().flatten() {
        if !["id", "meta", "resourceType", "text"].contains(&name.as_str()) {
            walk(name.clone(), value, &mut found);
        }
    }
    found
}

fn walk(path: String, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                walk(format!("{path}.{name}"), value, found);
            }
        }
        Value::Array(items) if items.len() == 1 && key(&items[0]).is_none() => walk(path, &items[0], found),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let key = key(item).map_or_else(|| at.to_string(), str::to_owned);
                walk(format!("{path}[{key}]"), item, found);
            }
        }
        Value::String(text) => {
            let is_narrative = path.ends_with(".div");
            let text =
                if is_narrative { fhir::narrative::plain_text(text) } else { None }.unwrap_or_else(|| text.clone());
            found.insert(path, text.trim().to_owned());
        }
        other => {
            found.insert(path, other.to_string());
        }
    }
}

/// What tells an item from its neighbours.
fn key(item: &Value) -> Option<&str> {
    let of_section = item.pointer("/code/coding/0/code").filter(|_| item.get("resourceType").is_none());
    item.get("id").or(of_section)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_section_is_the_same_wherever_it_stands() {
        let section = |code: &str, text: &str| json!({"code": {"coding": [{"code": code}]}, "text": {"div": text}});
        let before = json!({"id": "1", "status": "preliminary", "section": [section("a", "<div>x</div>"), section("b", "<div>y</div>")]});
        let after = json!({"id": "1", "status": "final", "section": [section("b", "<div>y</div>"), section("c", "<div>z</div>"), section("a", "<div>x</div>")]});
        let told: Vec<_> = differences(&before, &after)
            .into_iter()
            .map(|found| (found.path, found.before.unwrap_or_default(), found.after.unwrap_or_default()))
            .collect();
        assert!(told.contains(&("status".to_owned(), "preliminary".to_owned(), "final".to_owned())));
        assert!(told.contains(&("section[c].text.div".to_owned(), String::new(), "z".to_owned())));
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(differences(&after, &after), []);
    }
}
