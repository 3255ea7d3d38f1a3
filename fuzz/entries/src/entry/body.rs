//! Any bytes as the body of a create: read, checked against R5, two profiles and code lists, given a narrative, written.

use std::sync::LazyLock;

use super::is_one_in;
use certificate::terminology::Terminology;
use certificate::validation::Validator;
use certificate::{Id, Names, Version, head, narrative};
use fhir::json::{self, Json, Object, ReadJson};
use fhir::narrative::problems as narrative_problems;
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Issue, Problems};
use fhir::shape;

/// All that a certificate is judged by: each profile with code lists that warn of an unknown code, or refuse it.
struct Judge {
    names: Names,
    validator: Validator,
    held_against: [(&'static str, Terminology); 2],
}

static JUDGE: LazyLock<Judge> = LazyLock::new(|| {
    let names = Names::default();
    let lists = |strict| Terminology::new(&names, strict, &[]).expect("the lists that ship fit together");
    let held_against = [("driver", lists(false)), ("occupational-employer", lists(true))];
    let validator = Validator::new(&names).expect("the profiles that ship can be checked");
    Judge { names, validator, held_against }
});

/// Judges one body.
pub fn judge(bytes: &[u8]) {
    let judged_once = judged(bytes);
    if is_one_in(8, bytes) {
        assert_eq!(judged_once, judged(bytes), "judged twice, it is the same");
    }
}

/// The body as it would be stored, and everything wrong with it; nothing when it cannot be read.
fn judged(bytes: &[u8]) -> (Option<Vec<u8>>, Vec<Issue>) {
    let ReadJson { mut value, problems, source } = match json::parse_with_problems(bytes) {
        Ok(read) => read,
        Err(outcome) => return (None, told(Problems::from(outcome.issues().to_vec()))),
    };
    let is_json = problems.is_empty();
    if let (Json::Object(object), Some(source)) = (&value, source) {
        // Asserts by itself that what is copied is what would be written.
        head::tail_of_source(object, source, None).expect("a body that just was read stands in its text");
    }
    let sent = value.clone();
    let shape = shape::check(&mut value, "Composition");
    assert!(shape.rewrote || value == sent, "what was changed is told");
    let mut issues = told(problems);
    let is_shaped = is_json && shape.problems.is_empty();
    issues.extend(told(shape.problems));
    for (profile, terminology) in &JUDGE.held_against {
        let url = format!("{}/StructureDefinition/ee-health-certificate-{profile}", JUDGE.names.profile_base);
        let profile = JUDGE.validator.profile(&url);
        assert!(profile.is_some(), "the profile ships");
        issues.extend(told(JUDGE.validator.check(&value, profile, terminology).problems));
    }
    comes_back(&value);
    if let Json::Object(object) = &value {
        if is_shaped {
            is_stored(object);
        }
        narrated(object.clone());
    }
    (Some(value.to_vec()), issues)
}

/// The issues as an answer tells them.
fn told(problems: Problems) -> Vec<Issue> {
    let issues = problems.into_issues();
    // A hundred, and how many were left out.
    super::told(&issues, BODY_ISSUES_MAX + 1);
    for issue in &issues {
        assert!(issue.expression().iter().all(|place| is_place(place)), "{:?} is a place", issue.expression());
    }
    issues
}

/// Whether it is FHIRPath of names and indexes, as `Composition.section[2].entry[0]`, with names of bounded length.
fn is_place(expression: &str) -> bool {
    expression.split('.').all(|step| {
        let mut parts = step.split('[');
        let name = parts.next().unwrap_or_default();
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_index = |part: &str| part.strip_suffix(']').is_some_and(|index| index.parse::<usize>().is_ok());
        is_name && (1..=64).contains(&name.len()) && !name.as_bytes()[0].is_ascii_digit() && parts.all(is_index)
    })
}

/// What was read and normalised is read again as it is, and has nothing left to be normalised.
fn comes_back(value: &Json) {
    let written = value.to_vec();
    let mut again = json::parse_with_problems(&written).expect("what we write is JSON").value;
    assert_eq!(again, *value, "written and read, it is the same");
    let rewrote = shape::check(&mut again, "Composition").rewrote;
    assert!(!rewrote && again == *value, "normalised once, it is normal");
}

/// A body of R5's form can be read from the store.
fn is_stored(certificate: &Object) {
    let mut stored = Vec::new();
    let id = Id::new(1).expect("ids begin at 1");
    let version = Version::new(1).expect("versions begin at 1");
    head::write(&mut stored, "Composition", id, version, head::Stamp::at(0));
    stored.extend(head::tail(certificate));
    let mut stored = json::parse(&stored).expect("the store holds JSON");
    assert!(shape::expect(&mut stored, "Composition").is_ok(), "the store holds certificates");
}

/// Whatever a certificate holds, the narrative made of it is right, also with the state that an operation puts at the top of its own one.
fn narrated(mut certificate: Object) {
    let terms = &JUDGE.held_against[0].1;
    let div = |certificate: &Object| {
        let div = certificate.get("text").and_then(|text| text.text("div")).expect("it has a narrative now");
        assert_eq!(narrative_problems(div), [], "the narrative is right: {div}");
        (div.chars().count(), narrative::is_generated(div))
    };
    let mut operated = certificate.clone();
    narrative::set_state(&mut operated, &JUDGE.names, terms);
    div(&operated);
    narrative::set(&mut certificate, &JUDGE.names, terms);
    let (characters, is_generated) = div(&certificate);
    assert!(characters <= 10_000, "the narrative is short");
    assert!(is_generated, "the narrative is known as ours");
}
