//! The sections of certificates: those of both kinds, and those of an occupational one. `section` is open: a section with another code,
//! or none, is nobody's, and is asked nothing but R5's rules.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const MODIFIER: &str = r#"[{"url":"http://a.ee/x","valueBoolean":true}]"#;
const ENTRY: &str = r#"[{"reference":"Basic/1"}]"#;
const GENERATED: &str = r#""generated""#;
const TWICE: &[&str] = &["HCERT-184 structure Composition.section"];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("no sections", &DRIVER_DRAFT, Remove("/section"), &["HCERT-180 required Composition.section", "HCERT-183 required Composition.section"]),

    // decision
    row("two sections of the decision", &DRIVER, Repeat("/section/0"), TWICE),
    row("a modifier extension of the section of the decision", &DRIVER, Set("/section/0/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[0].modifierExtension"]),
    row("a section of the decision without entry", &DRIVER, Remove("/section/0/entry"),
        &["HCERT-180 required Composition.section[0].entry", "HCERT-191 invariant Composition.section[0]", "HCERT-191 invariant Composition.contained[1]"]),
    row("two decisions in the section", &DRIVER, Repeat("/section/0/entry/0"), &["HCERT-181 structure Composition.section[0].entry"]),
    row("a restriction in the section of the decision", &DRIVER, Set("/section/0/entry/0/reference", r##""#restriction-1""##),
        &["HCERT-190 value Composition.section[0].entry[0]", "HCERT-191 invariant Composition.contained[1]"]),
    row("the author in the section of the decision", &DRIVER, Set("/section/0/entry/0/reference", r##""#author""##),
        &["HCERT-190 value Composition.section[0].entry[0]", "HCERT-191 invariant Composition.contained[1]"]),

    // health-declaration
    row("no section of the health declaration", &DRIVER, Remove("/section/2"), &["HCERT-183 required Composition.section"]),
    row("a section of the health declaration with another system", &DRIVER, Set("/section/2/code/coding/0/system", r#""http://a.ee/x""#), &["HCERT-183 required Composition.section"]),
    row("a section of the health declaration with a misspelt code", &DRIVER, Set("/section/2/code/coding/0/code", r#""health-declaraton""#), &["HCERT-183 required Composition.section"]),
    row("a section of the health declaration without code", &DRIVER, Remove("/section/2/code"), &["HCERT-183 required Composition.section"]),
    row("two sections of the health declaration", &DRIVER, Repeat("/section/2"), TWICE),
    row("a modifier extension of the section of the health declaration", &DRIVER, Set("/section/2/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[2].modifierExtension"]),
    row("a section of the health declaration without entry", &DRIVER, Remove("/section/2/entry"),
        &["HCERT-180 required Composition.section[2].entry", "HCERT-191 invariant Composition.section[2]"]),
    row("two health declarations", &DRIVER, Repeat("/section/2/entry/0"), &["HCERT-181 structure Composition.section[2].entry"]),
    row("a patient in place of the health declaration", &DRIVER, Set("/section/2/entry/0/reference", r#""Patient/200""#), &["HCERT-190 value Composition.section[2].entry[0]"]),
    row("a use of the number of the paper", &DRIVER_PAPER, Set("/section/1/entry/0/identifier/use", r#""official""#), &["HCERT-182 structure Composition.section[1].entry[0].identifier.use"]),
    row("a paper's number without its system", &DRIVER_PAPER, Remove("/section/1/entry/0/identifier/system"),
        &["HCERT-180 required Composition.section[1].entry[0].identifier.system"]),
    row("a paper's number of another system", &DRIVER_PAPER, Set("/section/1/entry/0/identifier/system", r#""http://a.ee/x""#),
        &["HCERT-186 value Composition.section[1].entry[0].identifier.system"]),
    row("a paper's number without a value", &DRIVER_PAPER, Remove("/section/1/entry/0/identifier/value"),
        &["HCERT-180 required Composition.section[1].entry[0].identifier.value"]),

    // medical-restrictions
    row("two sections of restrictions", &DRIVER, Repeat("/section/1"), TWICE),
    row("a modifier extension of the section of restrictions", &DRIVER, Set("/section/1/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[1].modifierExtension"]),
    row("a generated text of the section of restrictions", &DRIVER, Set("/section/1/text/status", GENERATED), &["HCERT-186 value Composition.section[1].text.status"]),
    row("the decision in the section of restrictions", &DRIVER_CHANGED, Push("/section/1/entry", r##"{"reference":"#decision"}"##), &["HCERT-190 value Composition.section[1].entry[2]"]),

    // shortened-reason
    row("two sections of the shortened validity", &DRIVER_CHANGED, Repeat("/section/3"), TWICE),
    row("a modifier extension of the section of the shortened validity", &DRIVER_CHANGED, Set("/section/3/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[3].modifierExtension"]),
    row("a section of the shortened validity without text", &DRIVER_CHANGED, Remove("/section/3/text"),
        &["HCERT-180 required Composition.section[3].text", "HCERT-191 invariant Composition.section[3]"]),
    row("a generated text of the shortened validity", &DRIVER_CHANGED, Set("/section/3/text/status", GENERATED), &["HCERT-186 value Composition.section[3].text.status"]),
    row("an entry in the section of the shortened validity", &DRIVER_CHANGED, Set("/section/3/entry", ENTRY), &["HCERT-182 structure Composition.section[3].entry"]),

    // change-reason
    row("two sections of the change", &DRIVER_CHANGED, Repeat("/section/4"), TWICE),
    row("a modifier extension of the section of the change", &DRIVER_CHANGED, Set("/section/4/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[4].modifierExtension"]),
    row("a section of the change without text", &DRIVER_CHANGED, Remove("/section/4/text"),
        &["HCERT-180 required Composition.section[4].text", "HCERT-191 invariant Composition.section[4]"]),
    row("a generated text of the change", &DRIVER_CHANGED, Set("/section/4/text/status", GENERATED), &["HCERT-186 value Composition.section[4].text.status"]),
    row("an entry in the section of the change", &DRIVER_CHANGED, Set("/section/4/entry", ENTRY), &["HCERT-182 structure Composition.section[4].entry"]),

    // reject-reason
    row("two sections of the rejection", &OCCUPATIONAL_REJECTED, Repeat("/section/1"), TWICE),
    row("a modifier extension of the section of the rejection", &OCCUPATIONAL_REJECTED, Set("/section/1/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[1].modifierExtension"]),
    row("a section of the rejection without text", &OCCUPATIONAL_REJECTED, Remove("/section/1/text"),
        &["HCERT-180 required Composition.section[1].text", "HCERT-191 invariant Composition.section[1]"]),
    row("a generated text of the rejection", &OCCUPATIONAL_REJECTED, Set("/section/1/text/status", GENERATED), &["HCERT-186 value Composition.section[1].text.status"]),
    row("an entry in the section of the rejection", &OCCUPATIONAL_REJECTED, Set("/section/1/entry", ENTRY), &["HCERT-182 structure Composition.section[1].entry"]),

    // risk-factors
    row("two sections of risk factors", &OCCUPATIONAL, Repeat("/section/4"), TWICE),
    row("a modifier extension of the section of risk factors", &OCCUPATIONAL, Set("/section/4/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[4].modifierExtension"]),
    row("a generated text of the section of risk factors", &OCCUPATIONAL, Set("/section/4/text/status", GENERATED), &["HCERT-186 value Composition.section[4].text.status"]),
    row("a section of risk factors without entry", &OCCUPATIONAL, Remove("/section/4/entry"),
        &["HCERT-180 required Composition.section[4].entry", "HCERT-191 invariant Composition.contained[4]", "HCERT-191 invariant Composition.contained[5]"]),
    row("a restriction among the risk factors", &OCCUPATIONAL, Push("/section/4/entry", r##"{"reference":"#restriction-1"}"##), &["HCERT-190 value Composition.section[4].entry[2]"]),

    // employer
    row("no section of the employer", &OCCUPATIONAL_DRAFT, Remove("/section/2"),
        &["HCERT-183 required Composition.section", "HCERT-191 invariant Composition.contained[2]"]),
    row("the section of the health declaration alone", &OCCUPATIONAL_DRAFT,
        Set("/section", r#"[{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"health-declaration"}]},"entry":[{"reference":"QuestionnaireResponse/300"}]}]"#),
        &["HCERT-180 required Composition.section", "HCERT-183 required Composition.section", "HCERT-191 invariant Composition.contained[1]", "HCERT-191 invariant Composition.contained[2]"]),
    row("two sections of the employer", &OCCUPATIONAL, Repeat("/section/5"), TWICE),
    row("a modifier extension of the section of the employer", &OCCUPATIONAL, Set("/section/5/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[5].modifierExtension"]),
    row("a section of the employer without text", &OCCUPATIONAL, Remove("/section/5/text"), &["HCERT-180 required Composition.section[5].text"]),
    row("a generated text of the section of the employer", &OCCUPATIONAL, Set("/section/5/text/status", GENERATED), &["HCERT-186 value Composition.section[5].text.status"]),
    row("a section of the employer without entry", &OCCUPATIONAL, Remove("/section/5/entry"),
        &["HCERT-180 required Composition.section[5].entry", "HCERT-191 invariant Composition.contained[6]"]),
    row("two employments in the section of the employer", &OCCUPATIONAL, Repeat("/section/5/entry/0"), &["HCERT-181 structure Composition.section[5].entry"]),
    row("a risk factor in the section of the employer", &OCCUPATIONAL, Set("/section/5/entry/0/reference", r##""#risk-1""##),
        &["HCERT-190 value Composition.section[5].entry[0]", "HCERT-191 invariant Composition.contained[6]"]),

    // work-additional-restrictions
    row("two sections of conditions of work", &OCCUPATIONAL, Repeat("/section/6"), TWICE),
    row("a modifier extension of the section of conditions of work", &OCCUPATIONAL, Set("/section/6/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[6].modifierExtension"]),
    row("a generated text of the section of conditions of work", &OCCUPATIONAL, Set("/section/6/text/status", GENERATED), &["HCERT-186 value Composition.section[6].text.status"]),
    row("a section of conditions of work without entry", &OCCUPATIONAL, Remove("/section/6/entry"),
        &["HCERT-180 required Composition.section[6].entry", "HCERT-191 invariant Composition.contained[7]", "HCERT-191 invariant Composition.contained[8]"]),
    row("a risk factor among the conditions of work", &OCCUPATIONAL, Push("/section/6/entry", r##"{"reference":"#risk-1"}"##), &["HCERT-190 value Composition.section[6].entry[2]"]),

    // employer-suggestions
    row("two sections of suggestions to the employer", &OCCUPATIONAL, Repeat("/section/7"), TWICE),
    row("a modifier extension of suggestions to the employer", &OCCUPATIONAL, Set("/section/7/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[7].modifierExtension"]),
    row("suggestions to the employer without text", &OCCUPATIONAL, Remove("/section/7/text"),
        &["HCERT-180 required Composition.section[7].text", "HCERT-191 invariant Composition.section[7]"]),
    row("a generated text of suggestions to the employer", &OCCUPATIONAL, Set("/section/7/text/status", GENERATED), &["HCERT-186 value Composition.section[7].text.status"]),
    row("an entry in the section of suggestions to the employer", &OCCUPATIONAL, Set("/section/7/entry", ENTRY), &["HCERT-182 structure Composition.section[7].entry"]),

    // employee-suggestions
    row("two sections of suggestions to the employee", &OCCUPATIONAL, Repeat("/section/8"), TWICE),
    row("a modifier extension of suggestions to the employee", &OCCUPATIONAL, Set("/section/8/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.section[8].modifierExtension"]),
    row("suggestions to the employee without text", &OCCUPATIONAL, Remove("/section/8/text"),
        &["HCERT-180 required Composition.section[8].text", "HCERT-191 invariant Composition.section[8]"]),
    row("a generated text of suggestions to the employee", &OCCUPATIONAL, Set("/section/8/text/status", GENERATED), &["HCERT-186 value Composition.section[8].text.status"]),
    row("an entry in the section of suggestions to the employee", &OCCUPATIONAL, Set("/section/8/entry", ENTRY), &["HCERT-182 structure Composition.section[8].entry"]),

    // suspend-reason and cancel-reason: a write drops those of a body (Contract 3.5), so the stored forms are held against the profile.
    row("two sections of the suspension", &SUSPENDED, Repeat("/section/3"), TWICE).under("ee-health-certificate-driver"),
    row("a modifier extension of the section of the suspension", &SUSPENDED, Set("/section/3/modifierExtension", MODIFIER),
        &["HCERT-182 structure Composition.section[3].modifierExtension"]).under("ee-health-certificate-driver"),
    row("a section of the suspension without text", &SUSPENDED, Remove("/section/3/text"),
        &["HCERT-180 required Composition.section[3].text", "HCERT-191 invariant Composition.section[3]"]).under("ee-health-certificate-driver"),
    row("a generated text of the suspension", &SUSPENDED, Set("/section/3/text/status", GENERATED),
        &["HCERT-186 value Composition.section[3].text.status"]).under("ee-health-certificate-driver"),
    row("an entry in the section of the suspension", &SUSPENDED, Set("/section/3/entry", ENTRY),
        &["HCERT-182 structure Composition.section[3].entry"]).under("ee-health-certificate-driver"),
    row("two sections of the cancellation", &CANCELLED, Repeat("/section/3"), TWICE).under("ee-health-certificate-driver"),
    row("a modifier extension of the section of the cancellation", &CANCELLED, Set("/section/3/modifierExtension", MODIFIER),
        &["HCERT-182 structure Composition.section[3].modifierExtension"]).under("ee-health-certificate-driver"),
    row("a section of the cancellation without text", &CANCELLED, Remove("/section/3/text"),
        &["HCERT-180 required Composition.section[3].text", "HCERT-191 invariant Composition.section[3]"]).under("ee-health-certificate-driver"),
    row("a generated text of the cancellation", &CANCELLED, Set("/section/3/text/status", GENERATED),
        &["HCERT-186 value Composition.section[3].text.status"]).under("ee-health-certificate-driver"),
    row("an entry in the section of the cancellation", &CANCELLED, Set("/section/3/entry", ENTRY),
        &["HCERT-182 structure Composition.section[3].entry"]).under("ee-health-certificate-driver"),

    // What an employer gets.
    row("suggestions to the employee in what the employer gets", &EMPLOYER,
        Push("/section", r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"employee-suggestions"}]},
            "text":{"status":"additional","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>"}}"#),
        &["HCERT-184 structure Composition.section"]).under("ee-health-certificate-occupational-employer"),
    row("a patient without personal code in what the employer gets", &EMPLOYER, Remove("/subject/0/identifier"),
        &["HCERT-180 required Composition.subject[0].identifier"]).under("ee-health-certificate-occupational-employer"),
    row("a use of the personal code in what the employer gets", &EMPLOYER, Set("/subject/0/identifier/use", r#""official""#),
        &["HCERT-182 structure Composition.subject[0].identifier.use"]).under("ee-health-certificate-occupational-employer"),
    row("a passport number in what the employer gets", &EMPLOYER, Set("/subject/0/identifier/system", r#""https://fhir.ee/sid/pid/est/ppn""#),
        &["HCERT-186 value Composition.subject[0].identifier.system"]).under("ee-health-certificate-occupational-employer"),
];
