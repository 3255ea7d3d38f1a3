//! Mutations nobody thought of: whatever is done to a right certificate, it passes or there are issues.

use certificate::head::{self, Stamp};
use certificate::{Id, Version};
use fhir::json::{Json, Object};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::base;
use crate::judge;

/// A change of one place. `Index` is a number that finds its place in a list of any length.
#[derive(Clone, Debug)]
enum Change {
    Remove,
    Replace(Json<'static>),
    /// The same value once more: an item beside itself, or a member a second time.
    Repeat,
    Insert(String, Json<'static>),
}

/// Member names that make sense somewhere, and some that never do.
const NAMES: [&str; 16] = [
    "resourceType",
    "id",
    "extension",
    "url",
    "valueString",
    "_valueString",
    "contained",
    "reference",
    "section",
    "entry",
    "code",
    "text",
    "div",
    "meta",
    "_title",
    "$serde_json::private::Number",
];

/// Texts that mean something somewhere.
const TEXTS: [&str; 13] = [
    "",
    "#",
    "#author",
    "#decision",
    "final",
    "Patient/200",
    "Observation",
    "Composition",
    "Bundle",
    "2025-02-30",
    "<div xmlns=\"http://www.w3.org/1999/xhtml\"><script/></div>",
    "http://snomed.info/sct",
    "\u{0}",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![8 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

fn text() -> impl Strategy<Value = Json<'static>> {
    prop_oneof![3 => prop::sample::select(&TEXTS[..]).prop_map(Json::string), 1 => "\\PC{0,40}".prop_map(Json::string)]
}

fn value() -> impl Strategy<Value = Json<'static>> {
    let number = prop::sample::select(&["0", "-1", "1.50", "1e400", "-0", "123456789012345678901234567890"][..]);
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::Bool),
        2 => number.prop_map(|digits| Json::Number(digits.into())),
        4 => text(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((name().prop_map(Into::into), inner), 0..4)
                .prop_map(|members| Json::Object(Object(members))),
        ]
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Remove),
        value().prop_map(Change::Replace),
        Just(Change::Repeat),
        (name(), value()).prop_map(|(name, value)| Change::Insert(name, value)),
    ]
}

/// How many values are inside a value, itself not counted.
fn count(json: &Json) -> usize {
    match json {
        Json::Object(object) => object.iter().map(|(_, value)| 1 + count(value)).sum(),
        Json::Array(items) => items.iter().map(|value| 1 + count(value)).sum(),
        _ => 0,
    }
}

/// Changes the value that comes after `place` others, counted from outside inwards in their order.
fn apply(json: &mut Json<'static>, place: &mut usize, change: &Change) -> bool {
    match json {
        Json::Object(Object(members)) => {
            for at in 0..members.len() {
                if *place == 0 {
                    match change {
                        Change::Remove => drop(members.remove(at)),
                        Change::Replace(value) => members[at].1 = value.clone(),
                        Change::Repeat => members.insert(at, members[at].clone()),
                        Change::Insert(name, value) => members.insert(at, (name.clone().into(), value.clone())),
                    }
                    return true;
                }
                *place -= 1;
                if apply(&mut members[at].1, place, change) {
                    return true;
                }
            }
        }
        Json::Array(items) => {
            for at in 0..items.len() {
                if *place == 0 {
                    match change {
                        Change::Remove => drop(items.remove(at)),
                        Change::Replace(value) => items[at] = value.clone(),
                        Change::Repeat => items.insert(at, items[at].clone()),
                        Change::Insert(_, value) => items.insert(at, value.clone()),
                    }
                    return true;
                }
                *place -= 1;
                if apply(&mut items[at], place, change) {
                    return true;
                }
            }
        }
        _ => {}
    }
    false
}

/// A certificate as it is served: the head that the writer makes, and what the store keeps.
fn stored(tail: &[u8]) -> Vec<u8> {
    let mut served = Vec::new();
    head::write(&mut served, "Composition", Id::new(17).unwrap(), Version::FIRST, Stamp::at(1_736_676_000_000));
    served.extend_from_slice(tail);
    served
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_certificate_passes_or_there_are_issues(
        base in prop::sample::select(base::ALL),
        changes in prop::collection::vec((any::<Index>(), change()), 1..4),
    ) {
        let mut json = base.json();
        for (place, change) in &changes {
            let places = count(&json);
            if places > 0 {
                prop_assert!(apply(&mut json, &mut place.index(places), change));
            }
        }
        let body = json.to_vec();
        match judge::create(&body) {
            Err(issues) => {
                prop_assert!(issues.iter().any(|issue| issue.is_error()));
                prop_assert!(issues.len() <= BODY_ISSUES_MAX + 1);
                let again = judge::create(&body).err();
                prop_assert_eq!(again.as_deref().map(judge::told), Some(judge::told(&issues)));
            }
            Ok((certificate, warnings)) => {
                prop_assert!(warnings.iter().all(|issue| !issue.is_error()));
                let stored = stored(&certificate.tail);
                let again = judge::create(&stored);
                let (again, warnings_again) = again.map_err(|issues| TestCaseError::fail(judge::told(&issues).join("\n")))?;
                prop_assert_eq!(String::from_utf8_lossy(&again.tail), String::from_utf8_lossy(&certificate.tail));
                prop_assert_eq!(again.row, certificate.row);
                prop_assert_eq!(judge::told(&warnings_again), judge::told(&warnings));
            }
        }
    }
}
