//! The rules that the base profile and R5's required codes set for the certificate itself, without its sections.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const MODIFIER: &str = r#"[{"url":"http://a.ee/x","valueBoolean":true}]"#;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Elements that certificates do not have.
    row("implicit rules", &DRIVER, Set("/implicitRules", r#""http://a.ee/x""#), &["HCERT-182 structure Composition.implicitRules"]),
    row("a modifier extension", &DRIVER, Set("/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.modifierExtension"]),
    row("a url", &DRIVER, Set("/url", r#""http://a.ee/x""#), &["HCERT-182 structure Composition.url"]),
    row("a url that has an extension alone", &DRIVER, Set("/_url", r#"{"extension":[{"url":"http://a.ee/x","valueString":"x"}]}"#),
        &["HCERT-182 structure Composition.url"]),
    row("an encounter", &DRIVER, Set("/encounter", r#"{"reference":"Encounter/1"}"#), &["HCERT-182 structure Composition.encounter"]),
    row("an encounter that is a patient", &DRIVER, Set("/encounter", r#"{"reference":"Patient/1"}"#),
        &["HCERT-182 structure Composition.encounter", "HCERT-190 value Composition.encounter"]),
    row("a use context", &DRIVER, Push("/useContext", r#"{"code":{"code":"x"},"valueCodeableConcept":{"text":"x"}}"#), &["HCERT-182 structure Composition.useContext"]),
    row("a name", &DRIVER, Set("/name", r#""x""#), &["HCERT-182 structure Composition.name"]),
    row("a note", &DRIVER, Push("/note", r#"{"text":"x"}"#), &["HCERT-182 structure Composition.note"]),
    row("an attester", &DRIVER, Push("/attester", r#"{"mode":{"text":"x"}}"#), &["HCERT-182 structure Composition.attester"]),
    row("a custodian", &DRIVER, Set("/custodian", r#"{"reference":"Organization/1"}"#), &["HCERT-182 structure Composition.custodian"]),
    row("a relation to another document", &DRIVER, Push("/relatesTo", r#"{"type":"replaces","resourceReference":{"reference":"Composition/1"}}"#),
        &["HCERT-182 structure Composition.relatesTo"]),

    // Certificate number.
    row("no certificate number", &DRIVER, Remove("/identifier"), &["HCERT-180 required Composition.identifier"]),
    row("two certificate numbers", &DRIVER, Repeat("/identifier/0"), &["HCERT-181 structure Composition.identifier"]),
    row("a use of the certificate number", &DRIVER, Set("/identifier/0/use", r#""official""#), &["HCERT-182 structure Composition.identifier[0].use"]),
    row("a certificate number without its system", &DRIVER, Remove("/identifier/0/system"), &["HCERT-180 required Composition.identifier[0].system"]),
    row("a certificate number of another system", &DRIVER, Set("/identifier/0/system", r#""https://fhir.ee/hcert/other""#),
        &["HCERT-186 value Composition.identifier[0].system"]),
    row("a certificate number without a value", &DRIVER, Remove("/identifier/0/value"), &["HCERT-180 required Composition.identifier[0].value"]),

    // Status, type, category.
    row("a status that nobody knows", &DRIVER, Set("/status", r#""done""#), &["HCERT-145 code-invalid Composition.status"]),
    row("a status of R5 that certificates do not have", &DRIVER, Set("/status", r#""amended""#), &["HCERT-145 code-invalid Composition.status"]),
    row("a status that only $suspend sets", &DRIVER, Set("/status", r#""cancelled""#), &["HCERT-144 business-rule Composition.status"]),
    row("a status that only $cancel sets", &DRIVER, Set("/status", r#""entered-in-error""#), &["HCERT-144 business-rule Composition.status"]),
    row("a status of R5 that stored certificates do not have either", &DRIVER, Set("/status", r#""amended""#),
        &["HCERT-188 code-invalid Composition.status"]).under("ee-health-certificate-driver"),
    row("a type with another code", &DRIVER, Set("/type/coding/0/code", r#""184104002""#), &["HCERT-186 value Composition.type.coding[0]"]),
    row("a type with another display", &DRIVER, Set("/type/coding/0/display", r#""Certificate""#), &["HCERT-186 value Composition.type.coding[0]"]),
    row("a type without display", &DRIVER, Remove("/type/coding/0/display"), &["HCERT-186 value Composition.type.coding[0]"]),
    row("a second code of the type", &DRIVER, Push("/type/coding", r#"{"system":"http://loinc.org","code":"52460-3"}"#), &["HCERT-186 value Composition.type.coding[1]"]),
    row("no category", &DRIVER, Remove("/category"), &["HCERT-180 required Composition.category"]),
    row("two categories", &DRIVER, Repeat("/category/0"), &["HCERT-181 structure Composition.category"]),

    // Patient and author.
    row("no patient", &DRIVER, Remove("/subject"), &["HCERT-180 required Composition.subject"]),
    row("two patients", &DRIVER, Repeat("/subject/0"), &["HCERT-181 structure Composition.subject"]),
    row("two authors", &DRIVER, Repeat("/author/0"), &["HCERT-181 structure Composition.author"]),
    row("no contained resources", &DRIVER_DRAFT, Remove("/contained"),
        &["HCERT-180 required Composition.contained", "HCERT-183 required Composition.contained", "HCERT-191 invariant Composition.author[0]"]),
    row("no role of an author", &DRIVER_PAPER, Set("/contained/0", r#"{"resourceType":"Practitioner","id":"author"}"#),
        &["HCERT-183 required Composition.contained", "HCERT-190 value Composition.author[0]"]),
    row("two roles", &DRIVER, Contain(r#"{"resourceType":"PractitionerRole","id":"x","practitioner":{"reference":"Practitioner/1"},"organization":{"reference":"Organization/1"}}"#),
        &["HCERT-184 structure Composition.contained"]),
    row("implicit rules of the role", &DRIVER, Set("/contained/0/implicitRules", r#""http://a.ee/x""#), &["HCERT-182 structure Composition.contained[0].implicitRules"]),
    row("a modifier extension of the role", &DRIVER, Set("/contained/0/modifierExtension", MODIFIER),
        &["HCERT-182 structure Composition.contained[0].modifierExtension"]),
    row("a role without a person", &DRIVER, Remove("/contained/0/practitioner"), &["HCERT-180 required Composition.contained[0].practitioner"]),
    row("a role without an institution", &DRIVER, Remove("/contained/0/organization"), &["HCERT-180 required Composition.contained[0].organization"]),

    // Validity.
    row("two events", &DRIVER, Repeat("/event/0"), &["HCERT-181 structure Composition.event"]),
    row("a modifier extension of the event", &DRIVER, Set("/event/0/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.event[0].modifierExtension"]),
    row("details of the event", &DRIVER, Push("/event/0/detail", r#"{"concept":{"text":"x"}}"#), &["HCERT-182 structure Composition.event[0].detail"]),
    row("a period without a start", &DRIVER, Remove("/event/0/period/start"), &["HCERT-180 required Composition.event[0].period.start"]),
    row("a period without an end", &DRIVER, Remove("/event/0/period/end"), &["HCERT-180 required Composition.event[0].period.end"]),

    // The profile a certificate names (Contract 8.1).
    row("no meta, so no profile", &DRIVER, Remove("/meta"), &["HCERT-143 business-rule Composition.meta.profile"]),
    row("a meta without a profile", &DRIVER, Set("/meta", r#"{"language":"et"}"#), &["HCERT-107 structure Composition.meta.language", "HCERT-143 business-rule Composition.meta.profile"]),
    row("two profiles", &DRIVER, Push("/meta/profile", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational""#),
        &["HCERT-143 business-rule Composition.meta.profile"]),
    row("one profile twice", &DRIVER, Repeat("/meta/profile/0"), &["HCERT-143 business-rule Composition.meta.profile"]),
    row("a profile that nobody knows", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/other""#),
        &["HCERT-143 business-rule Composition.meta.profile"]),
    row("a version of the profile that is not served", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|9.9.9""#),
        &["HCERT-202 not-supported Composition.meta.profile[0]"]),
    row("a part of the version of the profile", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1""#),
        &["HCERT-202 not-supported Composition.meta.profile[0]"]),
    row("an empty version of the profile", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|""#),
        &["HCERT-202 not-supported Composition.meta.profile[0]"]),
    row("a version of a decision's profile that is not served", &DRIVER_PAPER, Set("/contained/1/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-decision|9.9.9""#),
        &["HCERT-202 not-supported Composition.contained[1].meta.profile[0]"]),
    row("the base profile, which is for no certificate by itself", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate""#),
        &["HCERT-143 business-rule Composition.meta.profile"]),
    row("the profile of what employers get", &EMPLOYER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer""#),
        &["HCERT-143 business-rule Composition.meta.profile"]),
    row("the profile of a decision", &DRIVER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-decision""#),
        &["HCERT-143 business-rule Composition.meta.profile"]),
];

/// What this service asks beyond the profiles: a subject whom a registry can know. Contract 6.1.
#[rustfmt::skip]
pub(super) const OWN: &[Row] = &[
    row("a patient elsewhere", &DRIVER_PAPER, Set("/subject/0/reference", r#""https://a.ee/fhir/Patient/200""#), &["HCERT-166 business-rule Composition.subject[0]"]),
    row("a patient by uuid", &DRIVER_PAPER, Set("/subject/0/reference", r#""urn:uuid:c757873d-ec9a-4326-a141-556f43239520""#), &["HCERT-166 business-rule Composition.subject[0]"]),
    row("a patient by name", &DRIVER_PAPER, Set("/subject/0", r#"{"display":"Mari Maasikas"}"#), &["HCERT-166 business-rule Composition.subject[0]"]),
];
