//! `_elements` and `_summary`: a resource cut down to the part that was asked for, and marked as such.
//!
//! Source: Contract 4.8; FHIR R5 `search.html#summary`, `search.html#elements`.

use crate::contained;
use crate::element::{self, Element, TypeDefinition};
use crate::json::{Json, Object};

/// Which part of a resource is wanted. Contract 4.8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subset {
    /// The whole resource; also `_summary=false`.
    #[default]
    All,
    /// `_elements`: names of top-level elements.
    Elements(Vec<String>),
    /// `_summary=true`
    Summary,
    /// `_summary=text`
    Text,
    /// `_summary=data`
    Data,
    /// `_summary=count`: a search answers its total only.
    Count,
}

const SUBSETTED_SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue";
const SUBSETTED_CODE: &str = "SUBSETTED";

/// Cuts a resource down in place. `id`, `meta` and mandatory elements stay in every part, contained resources as long as what
/// stays refers to them, and `meta.tag` says `SUBSETTED`. `All` and `Count` (which is about totals) change nothing, and so does
/// a value that is no R5 resource.
pub fn reduce(resource: &mut Json, subset: &Subset) {
    if matches!(subset, Subset::All | Subset::Count) {
        return;
    }
    let Some(definition) = resource.text("resourceType").and_then(element::of_resource) else { return };
    let Json::Object(object) = resource else { return };
    let asked_for_contained = matches!(subset, Subset::Elements(names) if names.iter().any(|name| name == "contained"));
    object.0.retain(|(name, _)| name == "contained" || stays(definition, name, subset));
    if !asked_for_contained {
        drop_unused(object);
    }
    mark(object);
}

fn stays(definition: &'static TypeDefinition, name: &str, subset: &Subset) -> bool {
    let Some(found) = definition.find(name) else {
        return name == "resourceType";
    };
    let element = found.element;
    if element.min > 0 || matches!(element.name, "id" | "meta") {
        return true;
    }
    match subset {
        Subset::All | Subset::Count => true,
        Subset::Elements(names) => names.iter().any(|asked| is_named(element, asked)),
        Subset::Summary => element.summary,
        Subset::Text => element.name == "text",
        Subset::Data => element.name != "text",
    }
}

/// `value` and `value[x]` both name the choice.
fn is_named(element: &Element, asked: &str) -> bool {
    asked.strip_suffix("[x]").filter(|_| element.is_choice).unwrap_or(asked) == element.name
}

/// Drops the contained resources that nothing refers to any more, directly or through another one that stays.
fn drop_unused(object: &mut Object) {
    let used = contained::in_use(object);
    let contained = object.get("contained").and_then(Json::as_array).unwrap_or_default();
    let keep: Vec<bool> =
        contained.iter().map(|resource| resource.text("id").is_some_and(|id| used.contains(id))).collect();
    if !keep.contains(&true) {
        object.remove("contained");
    } else if let Some(Json::Array(contained)) = object.get_mut("contained") {
        let mut keep = keep.into_iter();
        contained.retain(|_| keep.next().unwrap_or(true));
    }
}

fn mark(object: &mut Object) {
    let tag = Json::object([("system", Json::string(SUBSETTED_SYSTEM)), ("code", Json::string(SUBSETTED_CODE))]);
    let Some(Json::Object(meta)) = object.get_mut("meta") else {
        // R5's order has `meta` behind `id`.
        let at = object.0.iter().take_while(|(name, _)| matches!(name.as_ref(), "resourceType" | "id")).count();
        object.0.insert(at, ("meta".into(), Json::object([("tag", Json::Array(vec![tag]))])));
        return;
    };
    match meta.get_mut("tag") {
        Some(Json::Array(tags)) if tags.iter().any(is_mark) => {}
        Some(Json::Array(tags)) => tags.push(tag),
        _ => meta.set("tag", Json::Array(vec![tag])),
    }
}

fn is_mark(tag: &Json) -> bool {
    tag.text("system") == Some(SUBSETTED_SYSTEM) && tag.text("code") == Some(SUBSETTED_CODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::samples::DRIVER;

    fn reduced(text: &'static str, subset: &Subset) -> Json<'static> {
        let mut resource = parse(text.as_bytes()).unwrap();
        reduce(&mut resource, subset);
        resource
    }

    fn driver(subset: &Subset) -> Json<'static> {
        reduced(DRIVER, subset)
    }

    fn elements(names: &[&str]) -> Subset {
        Subset::Elements(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn names<'j>(resource: &'j Json) -> Vec<&'j str> {
        resource.as_object().unwrap().iter().map(|(name, _)| name).collect()
    }

    fn contained<'j>(resource: &'j Json) -> Vec<&'j str> {
        resource.items("contained").iter().filter_map(|resource| resource.text("id")).collect()
    }

    fn marks(resource: &Json) -> usize {
        resource.get("meta").unwrap().items("tag").iter().filter(|tag| is_mark(tag)).count()
    }

    const MANDATORY: [&str; 9] =
        ["resourceType", "id", "meta", "contained", "status", "type", "date", "author", "title"];

    #[test]
    fn asked_elements_come_with_the_mandatory_ones_in_their_order() {
        let resource = driver(&elements(&["section", "nothing", "subject"]));
        assert_eq!(
            names(&resource),
            [
                "resourceType",
                "id",
                "meta",
                "contained",
                "status",
                "type",
                "subject",
                "date",
                "author",
                "title",
                "section"
            ]
        );
        assert_eq!(marks(&resource), 1);
        assert_eq!(names(&driver(&elements(&[]))), MANDATORY);
    }

    #[test]
    fn contained_resources_stay_with_the_reference_to_them() {
        assert_eq!(contained(&driver(&elements(&["section"]))), ["role", "decision", "glasses"]);
        assert_eq!(contained(&driver(&elements(&["category"]))), ["role"]);
        assert_eq!(contained(&driver(&elements(&["contained"]))), ["role", "decision", "glasses"]);
        assert_eq!(contained(&driver(&Subset::Summary)), ["role"]);
    }

    #[test]
    fn references_from_contained_resources_count_once_they_stay_themselves() {
        const CHAIN: &str = r##"{"resourceType":"Observation","contained":[
            {"resourceType":"Patient","id":"c"},{"resourceType":"Group","id":"b","managingEntity":{"reference":"#c"}},
            {"resourceType":"Device","id":"a","owner":{"reference":"#b"}},{"resourceType":"Device","id":"x","owner":{"reference":"#x"}}],
            "status":"final","code":{"text":"t"},"device":{"reference":"#a"},"specimen":{"reference":"#x"}}"##;
        assert_eq!(contained(&reduced(CHAIN, &elements(&["device"]))), ["c", "b", "a"]);
        assert_eq!(contained(&reduced(CHAIN, &elements(&["specimen"]))), ["x"]);
        assert_eq!(names(&reduced(CHAIN, &elements(&[]))), ["resourceType", "meta", "status", "code"]);
    }

    #[test]
    fn text_is_the_narrative_and_what_must_be_there() {
        let mut expected = MANDATORY.to_vec();
        expected.insert(3, "text");
        let resource = driver(&Subset::Text);
        assert_eq!(names(&resource), expected);
        assert_eq!((contained(&resource), marks(&resource)), (vec!["role"], 1));
    }

    #[test]
    fn data_is_everything_but_the_narrative() {
        let whole = parse(DRIVER.as_bytes()).unwrap();
        let resource = driver(&Subset::Data);
        let expected: Vec<&str> = names(&whole).into_iter().filter(|name| *name != "text").collect();
        assert_eq!(names(&resource), expected);
        assert_eq!(
            (resource.get("section"), resource.get("contained")),
            (whole.get("section"), whole.get("contained"))
        );
        assert_eq!(marks(&resource), 1);
    }

    #[test]
    fn the_summary_leaves_out_sections_and_narrative() {
        let resource = driver(&Subset::Summary);
        let left_out = ["text", "section"];
        let whole = parse(DRIVER.as_bytes()).unwrap();
        let expected: Vec<&str> = names(&whole).into_iter().filter(|name| !left_out.contains(name)).collect();
        assert_eq!(names(&resource), expected);
    }

    #[test]
    fn the_whole_resource_stays_untouched() {
        let whole = parse(DRIVER.as_bytes()).unwrap();
        assert_eq!(driver(&Subset::All), whole);
        assert_eq!(driver(&Subset::Count), whole);
    }

    #[test]
    fn the_mark_is_set_once_beside_other_tags() {
        let mut resource = driver(&Subset::Data);
        reduce(&mut resource, &Subset::Summary);
        assert_eq!(marks(&resource), 1);
        let tagged = reduced(r#"{"resourceType":"Patient","meta":{"tag":[{"code":"SUBSETTED"}]}}"#, &Subset::Data);
        assert_eq!((marks(&tagged), tagged.get("meta").unwrap().items("tag").len()), (1, 2));
        let without = reduced(r#"{"resourceType":"Patient","id":"1","active":true}"#, &Subset::Text);
        assert_eq!((names(&without), marks(&without)), (vec!["resourceType", "id", "meta"], 1));
    }

    #[test]
    fn a_choice_and_the_siblings_of_a_value_go_by_the_elements_name() {
        const OBSERVATION: &str = r#"{"resourceType":"Observation","status":"final","_status":{"id":"s"},"code":{"text":"t"},
            "issued":"2025-01-12T10:00:00+02:00","_issued":{"id":"i"},"valueString":"a","_valueString":{"id":"v"}}"#;
        let expected = ["resourceType", "meta", "status", "_status", "code", "valueString", "_valueString"];
        for asked in ["value", "value[x]"] {
            assert_eq!(names(&reduced(OBSERVATION, &elements(&[asked]))), expected);
        }
        for asked in ["valueString", "issued[x]", "_issued", ""] {
            assert_eq!(names(&reduced(OBSERVATION, &elements(&[asked]))), expected[..5], "{asked}");
        }
    }

    #[test]
    fn what_is_no_resource_stays_as_it_is() {
        for text in [r#"{"resourceType":"Nothing","a":1}"#, r#"{"a":1}"#, "[1]"] {
            assert_eq!(reduced(text, &Subset::Text), parse(text.as_bytes()).unwrap());
        }
    }
}
