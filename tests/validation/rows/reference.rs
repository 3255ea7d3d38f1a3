//! What references lead to.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const SUBJECT: &[&str] = &["HCERT-190 value Composition.subject[0]"];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("a practitioner for a patient", &DRIVER, Set("/subject/0/reference", r#""Practitioner/1""#), SUBJECT),
    row("a practitioner for a patient, by a version", &DRIVER, Set("/subject/0/reference", r#""Practitioner/1/_history/2""#), SUBJECT),
    row("a practitioner for a patient, elsewhere", &DRIVER, Set("/subject/0/reference", r#""https://a.ee/fhir/Practitioner/1""#), SUBJECT),
    row("a patient that says it is a practitioner", &DRIVER, Set("/subject/0/type", r#""Practitioner""#), SUBJECT),
    row("a patient by identifier who says they are a practitioner", &DRIVER, Set("/subject/0", r#"{"type":"Practitioner","identifier":{"value":"1"}}"#), SUBJECT),
    row("a type without an id", &DRIVER, Set("/subject/0/reference", r#""Patient""#), SUBJECT),
    row("a type with an empty id", &DRIVER, Set("/subject/0/reference", r#""Patient/""#), SUBJECT),
    row("a type that R5 does not know", &DRIVER, Set("/subject/0/reference", r#""Person2/1""#), SUBJECT),
    row("an id without a type", &DRIVER, Set("/subject/0/reference", r#""200""#), SUBJECT),
    row("a path before the type", &DRIVER, Set("/subject/0/reference", r#""fhir/Patient/200""#), SUBJECT),
    row("a contained role for a patient", &DRIVER, Set("/subject/0/reference", r##""#author""##), SUBJECT),
    row("an author who is no role", &DRIVER, Set("/author/0/reference", r#""Practitioner/1""#),
        &["HCERT-190 value Composition.author[0]", "HCERT-191 invariant Composition.contained[0]"]),
    row("an author who is a decision", &DRIVER, Set("/author/0/reference", r##""#decision""##),
        &["HCERT-190 value Composition.author[0]", "HCERT-191 invariant Composition.contained[0]"]),
    row("a role whose person is an organization", &DRIVER, Set("/contained/0/practitioner/reference", r#""Organization/1""#), &["HCERT-190 value Composition.contained[0].practitioner"]),
    row("a role whose institution is a person", &DRIVER, Set("/contained/0/organization/reference", r#""Practitioner/1""#), &["HCERT-190 value Composition.contained[0].organization"]),
    row("a role whose person is the role itself", &DRIVER, Set("/contained/0/practitioner/reference", r##""#author""##), &["HCERT-190 value Composition.contained[0].practitioner"]),
    row("a section's author who is a medicine", &DRIVER, Set("/section/1/author", r#"[{"reference":"Medication/1"}]"#), &["HCERT-190 value Composition.section[1].author[0]"]),
    row("a section's focus that is no resource", &DRIVER, Set("/section/1/focus", r#"{"reference":"foo/bar"}"#), &["HCERT-190 value Composition.section[1].focus"]),
    row("an entry that is no resource", &DRIVER, Push("/section", r#"{"entry":[{"reference":"x"}]}"#), &["HCERT-190 value Composition.section[3].entry[0]"]),
    row("a concept's reference to nothing", &DRIVER_DRAFT, Contain(r##"{"resourceType":"Device","id":"x","definition":{"reference":{"reference":"#nobody"}}}"##),
        &["HCERT-191 invariant Composition.contained[1].definition.reference"]),
    row("a concept's reference to another type", &DRIVER_DRAFT, Contain(r#"{"resourceType":"Device","id":"x","definition":{"reference":{"reference":"Patient/1"}}}"#),
        &["HCERT-190 value Composition.contained[1].definition.reference"]),
    row("references in a circle, one of them to a type that is not allowed", &DRIVER_DRAFT,
        Contain(r##"{"resourceType":"Observation","id":"x","status":"final","code":{"text":"x"},"hasMember":[{"reference":"#x"},{"reference":"#author"}]}"##),
        &["HCERT-190 value Composition.contained[1].hasMember[1]"]),
];
