use proptest::prelude::*;

use super::*;
use crate::json::parse;
use crate::outcome::Language;
use crate::outcome::limits::BODY_ISSUES_MAX;
use crate::samples::{DRIVER, OCCUPATIONAL};

/// The body after the check, minified.
fn taken(text: &str, expected: &'static str) -> String {
    let mut json = parse(text.as_bytes()).expect("JSON");
    let issues = check(&mut json, expected).problems.into_issues();
    assert!(issues.is_empty(), "{:?}", shown(&issues));
    String::from_utf8(json.to_vec()).unwrap()
}

/// Code and expression of every issue.
fn found(text: &str, expected: &'static str) -> Vec<(Hcert, String)> {
    let mut json = parse(text.as_bytes()).expect("JSON");
    shown(&check(&mut json, expected).problems.into_issues())
}

fn shown(issues: &[Issue]) -> Vec<(Hcert, String)> {
    issues.iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect()
}

/// The issues of a Composition that has only these members.
fn composition(members: &str) -> Vec<(Hcert, String)> {
    found(&format!(r#"{{"resourceType":"Composition",{members}}}"#), "Composition")
}

fn refused(members: &str, code: Hcert, expression: &str) {
    assert_eq!(composition(members), [(code, expression.to_owned())], "{members}");
}

fn minified(text: &str) -> String {
    String::from_utf8(parse(text.as_bytes()).unwrap().to_vec()).unwrap()
}

#[test]
fn a_certificate_in_local_time_passes_unchanged() {
    assert_eq!(taken(DRIVER, "Composition"), minified(DRIVER));
}

#[test]
fn every_time_of_a_certificate_becomes_local() {
    let expected = minified(OCCUPATIONAL)
        .replace("2025-07-12T07:00:00Z", "2025-07-12T10:00:00+03:00")
        .replace("\"2025-07-12T00:00:00\"", "\"2025-07-12T00:00:00+03:00\"");
    assert_ne!(expected, minified(OCCUPATIONAL));
    assert_eq!(taken(OCCUPATIONAL, "Composition"), expected);
}

#[test]
fn times_in_extensions_and_contained_resources_become_local_too() {
    let text = r#"{"resourceType":"Composition","contained":[{"resourceType":"Observation","effectiveDateTime":"2025-01-01T00:00:00Z"}],
        "_title":{"extension":[{"url":"http://a","valueInstant":"2025-01-01T00:00:00.000Z"},{"url":"http://b","valueString":"2025-01-01T00:00:00Z"}]}}"#;
    let out = taken(text, "Composition");
    assert!(out.contains(r#""effectiveDateTime":"2025-01-01T02:00:00+02:00""#), "{out}");
    assert!(out.contains(r#""valueInstant":"2025-01-01T02:00:00+02:00""#), "{out}");
    assert!(out.contains(r#""valueString":"2025-01-01T00:00:00Z""#), "{out}");
}

#[test]
fn the_resource_must_say_which_it_is() {
    for text in [
        r#"{"resourceType":"Patient"}"#,
        r#"{"status":"final"}"#,
        r#"{"resourceType":5}"#,
        r#"{"resourceType":"composition"}"#,
    ] {
        assert_eq!(found(text, "Composition"), [(Hcert::ResourceTypeWrong, "Composition".to_owned())], "{text}");
    }
    for text in ["[1]", "7", r#""Composition""#] {
        assert_eq!(found(text, "Composition"), [(Hcert::ElementTypeWrong, "Composition".to_owned())], "{text}");
    }
}

#[test]
fn unknown_elements_are_named() {
    refused(r#""foo":1"#, Hcert::ElementUnknown, "Composition.foo");
    refused(
        r#""section":[{"title":"a"},{"resourceType":"Composition"}]"#,
        Hcert::ElementUnknown,
        "Composition.section[1].resourceType",
    );
    refused(r#""_subject":[{"id":"a"}]"#, Hcert::ElementUnknown, "Composition._subject");
    refused(r#""_id":{"id":"a"}"#, Hcert::ElementUnknown, "Composition._id");
    refused(r#""fhir_comments":["a"]"#, Hcert::ElementUnknown, "Composition.fhir_comments");
    // What is no FHIRPath name stays out of the expression.
    refused(r#""a b":1"#, Hcert::ElementUnknown, "Composition");
    refused(&format!(r#""{}":1"#, "x".repeat(5000)), Hcert::ElementUnknown, "Composition");
    let mut json = parse(br#"{"resourceType":"Composition","section":[{"foo":1}]}"#).unwrap();
    let issues = check(&mut json, "Composition").problems.into_issues();
    assert_eq!(issues[0].text(Language::English), "Composition.section has no element foo");
}

#[test]
fn every_kind_of_json_value_has_its_place() {
    refused(r#""title":["a"]"#, Hcert::ElementTypeWrong, "Composition.title");
    refused(r#""author":{"reference":"Practitioner/1"}"#, Hcert::ElementTypeWrong, "Composition.author");
    refused(r#""author":["Practitioner/1"]"#, Hcert::ElementTypeWrong, "Composition.author[0]");
    refused(r#""type":"a""#, Hcert::ElementTypeWrong, "Composition.type");
    refused(r#""title":{"value":"a"}"#, Hcert::ElementTypeWrong, "Composition.title");
    refused(r#""title":1"#, Hcert::ElementTypeWrong, "Composition.title");
    refused(r#""author":[[{"reference":"a"}]]"#, Hcert::ElementTypeWrong, "Composition.author[0]");
    refused(r#""text":{"status":"generated","div":{"a":1}}"#, Hcert::ElementTypeWrong, "Composition.text.div");
    refused(r#""contained":["a"]"#, Hcert::ElementTypeWrong, "Composition.contained[0]");
}

#[test]
fn formats_are_checked_where_they_stand() {
    refused(r#""title":"""#, Hcert::FormatWrong, "Composition.title");
    refused(r#""status":" final""#, Hcert::FormatWrong, "Composition.status");
    refused(r#""date":"12.01.2025""#, Hcert::FormatWrong, "Composition.date");
    refused(r#""date":"2025-03-30T03:30:00""#, Hcert::LocalTimeMissing, "Composition.date");
    refused(r#""meta":{"lastUpdated":"2025-03-30"}"#, Hcert::FormatWrong, "Composition.meta.lastUpdated");
    refused(r#""meta":{"profile":["http://a","b c"]}"#, Hcert::FormatWrong, "Composition.meta.profile[1]");
    refused(r#""event":[{"period":{"start":"2025-02-30"}}]"#, Hcert::FormatWrong, "Composition.event[0].period.start");
    refused(
        &format!(r#""title":"{}""#, "x".repeat(STRING_CHARACTERS_MAX + 1)),
        Hcert::TextTooLong,
        "Composition.title",
    );
    refused(
        r#""extension":[{"url":"http://a","valueInteger":1.5}]"#,
        Hcert::FormatWrong,
        "Composition.extension[0].value",
    );
}

#[test]
fn a_choice_is_made_once() {
    let two = r#""contained":[{"resourceType":"Observation","valueString":"a","valueQuantity":{"value":1}}]"#;
    refused(two, Hcert::ElementTypeWrong, "Composition.contained[0].value");
    let sibling = r#""contained":[{"resourceType":"Observation","valueString":"a","_valueInteger":{"id":"x"}}]"#;
    refused(sibling, Hcert::ElementTypeWrong, "Composition.contained[0].value");
    let inner_and_outer = r#"{"resourceType":"Observation","valueString":"a","_valueString":{"id":"x"},"component":[{"valueInteger":1},{"valueQuantity":{"value":1}}]}"#;
    taken(inner_and_outer, "Observation");
    assert_eq!(
        found(r#"{"resourceType":"Observation","valueAddress":{"text":"a"}}"#, "Observation")[0].0,
        Hcert::ElementUnknown
    );
}

#[test]
fn siblings_of_primitive_values_are_objects_in_the_same_order() {
    let patient = |members: &str| format!(r#"{{"resourceType":"Patient","name":[{{{members}}}]}}"#);
    for good in [
        r#""given":["a",null],"_given":[null,{"id":"x"}]"#,
        r#""_given":[{"id":"x"}]"#,
        r#""given":["a","b"],"_given":[{"extension":[{"url":"http://a","valueBoolean":true}]}]"#,
        r#""_family":{"id":"x"}"#,
    ] {
        taken(&patient(good), "Patient");
    }
    for (bad, code, expression) in [
        (r#""given":["a",null]"#, Hcert::JsonEmptyValue, "Patient.name[0].given[1]"),
        (r#""given":["a",null],"_given":[{"id":"x"},null]"#, Hcert::JsonEmptyValue, "Patient.name[0].given[1]"),
        (r#""_given":[null,{"id":"x"}]"#, Hcert::JsonEmptyValue, "Patient.name[0].given[0]"),
        (r#""_family":"x""#, Hcert::ElementTypeWrong, "Patient.name[0].family"),
        (r#""_given":{"id":"x"}"#, Hcert::ElementTypeWrong, "Patient.name[0].given"),
        (r#""_family":{"value":"x"}"#, Hcert::ElementUnknown, "Patient.name[0].family.value"),
    ] {
        assert!(found(&patient(bad), "Patient").contains(&(code, expression.to_owned())), "{bad}");
    }
    refused(r#""author":[{"reference":"a"},null]"#, Hcert::JsonEmptyValue, "Composition.author[1]");
}

#[test]
fn contained_resources_are_known_and_hold_none_themselves() {
    refused(r#""contained":[{"id":"a"}]"#, Hcert::ResourceTypeWrong, "Composition.contained[0]");
    for name in ["Nothing", "DomainResource", "Quantity", "Composition.section"] {
        let members = format!(r#""contained":[{{"resourceType":"{name}"}}]"#);
        refused(&members, Hcert::ResourceTypeWrong, "Composition.contained[0]");
    }
    refused(
        r#""contained":[{"resourceType":"Patient","contained":[{"resourceType":"Patient"}]}]"#,
        Hcert::ElementUnknown,
        "Composition.contained[0].contained",
    );
    refused(
        r#""contained":[{"resourceType":"Patient","id":"a"},{"resourceType":"Patient","gender":1}]"#,
        Hcert::ElementTypeWrong,
        "Composition.contained[1].gender",
    );
}

#[test]
fn resources_inside_bundles_and_parameters_are_walked() {
    let bundle = r#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Patient","contained":[{"resourceType":"Patient"}],"foo":1}}]}"#;
    assert_eq!(found(bundle, "Bundle"), [(Hcert::ElementUnknown, "Bundle.entry[0].resource.foo".to_owned())]);
    let parameters = r#"{"resourceType":"Parameters","parameter":[{"name":"reason","valueString":"a"},{"part":[{"resource":{"resourceType":"X"}}]}]}"#;
    assert_eq!(
        found(parameters, "Parameters"),
        [(Hcert::ResourceTypeWrong, "Parameters.parameter[1].part[0].resource".to_owned())]
    );
}

#[test]
fn all_problems_are_told_together_in_the_order_of_the_body() {
    assert_eq!(
        composition(r#""foo":1,"date":"x","section":[{"bar":1,"section":[{"title":1}]}]"#),
        [
            (Hcert::ElementUnknown, "Composition.foo".to_owned()),
            (Hcert::FormatWrong, "Composition.date".to_owned()),
            (Hcert::ElementUnknown, "Composition.section[0].bar".to_owned()),
            (Hcert::ElementTypeWrong, "Composition.section[0].section[0].title".to_owned()),
        ]
    );
}

#[test]
fn a_hundred_problems_are_told_and_the_rest_counted() {
    let told = |count: usize| count.min(BODY_ISSUES_MAX) + usize::from(count > BODY_ISSUES_MAX);
    for count in [BODY_ISSUES_MAX - 1, BODY_ISSUES_MAX, BODY_ISSUES_MAX + 1, 20_000] {
        let unknown: Vec<String> = (0..count).map(|n| format!(r#""x{n}":1"#)).collect();
        assert_eq!(composition(&unknown.join(",")).len(), told(count));
        let items = vec!["1"; count].join(",");
        assert_eq!(composition(&format!(r#""author":[{items}]"#)).len(), told(count));
        let nulls = vec!["null"; count].join(",");
        let names = format!(r#"{{"resourceType":"Patient","name":[{{"given":["a",{nulls}]}}]}}"#);
        assert_eq!(found(&names, "Patient").len(), told(count));
    }
}

/// A certificate with one place in it changed for something else.
fn spoiled(place: prop::sample::Index, value: Json<'static>) -> Json<'static> {
    fn places<'j>(json: &'j mut Json<'static>, all: &mut Vec<&'j mut Json<'static>>) {
        match json {
            Json::Object(Object(members)) => members.iter_mut().for_each(|(_, value)| places(value, all)),
            Json::Array(items) => items.iter_mut().for_each(|item| places(item, all)),
            leaf => all.push(leaf),
        }
    }
    let mut json = parse(DRIVER.as_bytes()).unwrap().into_owned();
    let mut all = Vec::new();
    places(&mut json, &mut all);
    let at = place.index(all.len());
    *all[at] = value;
    json
}

proptest! {
    #[test]
    fn a_leaf_that_became_a_list_is_always_found(place: prop::sample::Index) {
        let mut json = spoiled(place, Json::Array(vec![Json::Array(vec![Json::Bool(true)])]));
        prop_assert_eq!(check(&mut json, "Composition").problems.into_issues().len(), 1);
    }

    #[test]
    fn what_was_taken_is_taken_again_unchanged(place: prop::sample::Index, text in "\\PC{0,8}|20[0-9]{2}-0[1-9]-[12][0-9]T10:00:00(Z|\\+0[0-9]:00)?") {
        let mut once = spoiled(place, Json::string(text));
        if check(&mut once, "Composition").problems.is_empty() {
            let mut again = once.clone();
            prop_assert!(check(&mut again, "Composition").problems.is_empty());
            prop_assert_eq!(again, once);
        }
    }
}
