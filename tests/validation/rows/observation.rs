//! The contained observations: what all have in common, then each kind.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const MODIFIER: &str = r#"[{"url":"http://a.ee/x","valueBoolean":true}]"#;
const CONCEPT: &str = r#"{"text":"x"}"#;
const CONCEPTS: &str = r#"[{"text":"x"}]"#;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Elements that no contained observation has.
    row("implicit rules of an observation", &DRIVER, Set("/contained/1/implicitRules", r#""http://a.ee/x""#), &["HCERT-182 structure Composition.contained[1].implicitRules"]),
    row("a modifier extension of an observation", &DRIVER, Set("/contained/1/modifierExtension", MODIFIER), &["HCERT-182 structure Composition.contained[1].modifierExtension"]),
    row("an identifier of an observation", &DRIVER, Set("/contained/1/identifier", r#"[{"value":"x"}]"#), &["HCERT-182 structure Composition.contained[1].identifier"]),
    row("a definition that an observation follows", &DRIVER, Set("/contained/1/instantiatesCanonical", r#""http://a.ee/x""#), &["HCERT-182 structure Composition.contained[1].instantiates"]),
    row("an order that an observation answers", &DRIVER, Set("/contained/1/basedOn", r#"[{"reference":"ServiceRequest/1"}]"#), &["HCERT-182 structure Composition.contained[1].basedOn"]),
    row("what triggered an observation", &DRIVER, Set("/contained/1/triggeredBy", r#"[{"observation":{"reference":"Observation/1"},"type":"reflex"}]"#),
        &["HCERT-182 structure Composition.contained[1].triggeredBy"]),
    row("what an observation is part of", &DRIVER, Set("/contained/1/partOf", r#"[{"reference":"Procedure/1"}]"#), &["HCERT-182 structure Composition.contained[1].partOf"]),
    row("an observation that is not final", &DRIVER, Set("/contained/1/status", r#""preliminary""#), &["HCERT-186 value Composition.contained[1].status"]),
    row("a category of an observation", &DRIVER, Set("/contained/1/category", CONCEPTS), &["HCERT-182 structure Composition.contained[1].category"]),
    row("a subject of an observation", &DRIVER, Set("/contained/1/subject", r#"{"reference":"Patient/200"}"#), &["HCERT-182 structure Composition.contained[1].subject"]),
    row("a focus of an observation", &DRIVER, Set("/contained/1/focus", r#"[{"reference":"Patient/200"}]"#), &["HCERT-182 structure Composition.contained[1].focus"]),
    row("an encounter of an observation", &DRIVER, Set("/contained/1/encounter", r#"{"reference":"Encounter/1"}"#), &["HCERT-182 structure Composition.contained[1].encounter"]),
    row("a time of an observation", &DRIVER, Set("/contained/1/effectiveDateTime", r#""2025-01-12""#), &["HCERT-182 structure Composition.contained[1].effective"]),
    row("an issue of an observation", &DRIVER, Set("/contained/1/issued", r#""2025-01-12T10:00:00+02:00""#), &["HCERT-182 structure Composition.contained[1].issued"]),
    row("a reason why a value is missing, beside it", &DRIVER, Set("/contained/1/dataAbsentReason", CONCEPT),
        &["HCERT-182 structure Composition.contained[1].dataAbsentReason", "HCERT-191 invariant Composition.contained[1]"]),
    row("an interpretation", &DRIVER, Set("/contained/1/interpretation", CONCEPTS), &["HCERT-182 structure Composition.contained[1].interpretation"]),
    row("a body site", &DRIVER, Set("/contained/1/bodySite", CONCEPT), &["HCERT-182 structure Composition.contained[1].bodySite"]),
    row("a body structure", &DRIVER, Set("/contained/1/bodyStructure", r#"{"reference":"BodyStructure/1"}"#), &["HCERT-182 structure Composition.contained[1].bodyStructure"]),
    row("a method", &DRIVER, Set("/contained/1/method", CONCEPT), &["HCERT-182 structure Composition.contained[1].method"]),
    row("a specimen", &DRIVER, Set("/contained/1/specimen", r#"{"reference":"Specimen/1"}"#), &["HCERT-182 structure Composition.contained[1].specimen"]),
    row("a device", &DRIVER, Set("/contained/1/device", r#"{"reference":"Device/1"}"#), &["HCERT-182 structure Composition.contained[1].device"]),
    row("a reference range", &DRIVER, Set("/contained/1/referenceRange", r#"[{"text":"x"}]"#), &["HCERT-182 structure Composition.contained[1].referenceRange"]),
    row("a modifier extension of a component", &DRIVER, Set("/contained/2/component/0/modifierExtension", MODIFIER),
        &["HCERT-182 structure Composition.contained[2].component[0].modifierExtension"]),

    // The decision.
    row("two decisions", &DRIVER, Contain(r#"{"resourceType":"Observation","id":"x","status":"final",
            "code":{"coding":[{"system":"http://snomed.info/sct","code":"419183001","display":"Practitioner decision status"}]},
            "valueCodeableConcept":{"coding":[{"system":"http://snomed.info/sct","code":"171353001"}]}}"#),
        &["HCERT-184 structure Composition.contained"]),
    row("a decision with another display of its code", &DRIVER, Set("/contained/1/code/coding/0/display", r#""Decision""#), &["HCERT-186 value Composition.contained[1].code"]),
    row("a decision with the code of a risk factor", &DRIVER_PAPER, Set("/contained/1/code", r#"{"coding":[{"system":"http://snomed.info/sct","code":"80943009"}]}"#),
        &["HCERT-186 value Composition.contained[1].code"]),
    row("a decision with a text for a code", &DRIVER, Set("/contained/1/code", CONCEPT), &["HCERT-186 value Composition.contained[1].code"]),
    row("a decision without a value", &DRIVER, Remove("/contained/1/valueCodeableConcept"), &["HCERT-180 required Composition.contained[1].value"]),
    row("a decision that is a text", &DRIVER, Set("/contained/1", r#"{"resourceType":"Observation","id":"decision","status":"final",
            "code":{"coding":[{"system":"http://snomed.info/sct","code":"419183001","display":"Practitioner decision status"}]},"valueBoolean":true}"#),
        &["HCERT-187 structure Composition.contained[1].value", "HCERT-189 code-invalid Composition.contained[1].value"]),
    row("a note of the decision", &DRIVER, Set("/contained/1/note", r#"[{"text":"x"}]"#), &["HCERT-182 structure Composition.contained[1].note"]),
    row("a decision that says it is a restriction", &DRIVER, Set("/contained/1/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-medical-restriction""#),
        &["HCERT-180 required Composition.contained[1].component", "HCERT-182 structure Composition.contained[1].value",
          "HCERT-186 value Composition.contained[1].code", "HCERT-190 value Composition.section[0].entry[0]"]),
    row("a decision that says it is a certificate", &DRIVER, Set("/contained/1/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver""#),
        &["HCERT-190 value Composition.section[0].entry[0]", "HCERT-194 structure Composition.contained[1]"]),

    // A restriction.
    row("a restriction with another display of its code", &DRIVER, Set("/contained/2/code/coding/0/display", r#""Limit""#), &["HCERT-186 value Composition.contained[2].code"]),
    row("a restriction with a value of its own", &DRIVER, Set("/contained/2/valueCodeableConcept", CONCEPT), &["HCERT-182 structure Composition.contained[2].value"]),
    row("a restriction with two notes", &DRIVER, Repeat("/contained/2/note/0"), &["HCERT-181 structure Composition.contained[2].note"]),
    row("a restriction without a component", &DRIVER, Remove("/contained/2/component"), &["HCERT-180 required Composition.contained[2].component"]),
    row("a restriction with two components", &DRIVER, Repeat("/contained/2/component/0"), &["HCERT-181 structure Composition.contained[2].component"]),
    row("a restriction with a text for a value", &DRIVER, Set("/contained/2/component/0/valueString", r#""x""#),
        &["HCERT-185 structure Composition.contained[2].component[0].value", "HCERT-187 structure Composition.contained[2].component[0].value"]),

    // Employment.
    row("no employment", &OCCUPATIONAL_DRAFT, Remove("/contained/2"),
        &["HCERT-183 required Composition.contained", "HCERT-191 invariant Composition.section[2].entry[0]"]),
    row("the author alone in an occupational certificate", &OCCUPATIONAL_DRAFT,
        Set("/contained", r#"[{"resourceType":"PractitionerRole","id":"author","practitioner":{"reference":"Practitioner/1"},"organization":{"reference":"Organization/1"}}]"#),
        &["HCERT-180 required Composition.contained", "HCERT-183 required Composition.contained",
          "HCERT-191 invariant Composition.section[1].entry[0]", "HCERT-191 invariant Composition.section[2].entry[0]"]),
    row("two employments", &OCCUPATIONAL, Contain(r#"{"resourceType":"Observation","id":"x","status":"final",
            "code":{"coding":[{"system":"http://snomed.info/sct","code":"184104002","display":"Patient occupation"}]},
            "performer":[{"identifier":{"system":"https://fhir.ee/sid/org/est/br","value":"16978044"},"display":"x"}]}"#),
        &["HCERT-184 structure Composition.contained"]),
    row("an employment with a text for a code", &OCCUPATIONAL, Set("/contained/6/code", CONCEPT), &["HCERT-180 required Composition.contained[6].code.coding"]),
    row("an employment with its code twice", &OCCUPATIONAL, Repeat("/contained/6/code/coding/0"), &["HCERT-181 structure Composition.contained[6].code.coding"]),
    row("an employment with another display of its code", &OCCUPATIONAL, Set("/contained/6/code/coding/0/display", r#""Work""#),
        &["HCERT-186 value Composition.contained[6].code.coding[0]"]),
    row("an employment without an employer", &OCCUPATIONAL, Remove("/contained/6/performer"), &["HCERT-180 required Composition.contained[6].performer"]),
    row("an employment with two employers", &OCCUPATIONAL, Repeat("/contained/6/performer/0"), &["HCERT-181 structure Composition.contained[6].performer"]),
    row("an employer that is a person", &OCCUPATIONAL, Set("/contained/6/performer/0", r#"{"reference":"Practitioner/1","identifier":{"value":"x"},"display":"x"}"#),
        &["HCERT-190 value Composition.contained[6].performer[0]"]),
    row("an employer that says it is a person", &OCCUPATIONAL, Set("/contained/6/performer/0/type", r#""Practitioner""#),
        &["HCERT-190 value Composition.contained[6].performer[0]"]),
    row("an employer without identifier", &OCCUPATIONAL, Remove("/contained/6/performer/0/identifier"), &["HCERT-180 required Composition.contained[6].performer[0].identifier"]),
    row("an employer without name", &OCCUPATIONAL, Remove("/contained/6/performer/0/display"), &["HCERT-180 required Composition.contained[6].performer[0].display"]),
    row("an employment with three components", &OCCUPATIONAL, Set("/contained/6/component", r#"[{"code":{"text":"a"}},{"code":{"text":"b"}},{"code":{"text":"c"}}]"#),
        &["HCERT-181 structure Composition.contained[6].component"]),
    row("an employment with two jobs", &OCCUPATIONAL, Set("/contained/6/component", r#"[
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]},
             "valueCodeableConcept":{"coding":[{"system":"https://fhir.ee/CodeSystem/ametite-klassifikaator","code":"22122501"}]}},
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]},
             "valueCodeableConcept":{"coding":[{"system":"https://fhir.ee/CodeSystem/ametite-klassifikaator","code":"22122501"}]}}]"#),
        &["HCERT-184 structure Composition.contained[6].component"]),
    row("a job without a value", &OCCUPATIONAL, Push("/contained/6/component", r#"
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]}}"#),
        &["HCERT-180 required Composition.contained[6].component[1].value"]),
    row("a job that is a text", &OCCUPATIONAL, Push("/contained/6/component", r#"
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]},"valueBoolean":true}"#),
        &["HCERT-187 structure Composition.contained[6].component[1].value", "HCERT-189 code-invalid Composition.contained[6].component[1].value"]),
    row("two rates of work", &OCCUPATIONAL, Repeat("/contained/6/component/0"), &["HCERT-184 structure Composition.contained[6].component"]),
    row("a rate of work without a value", &OCCUPATIONAL, Remove("/contained/6/component/0/valueQuantity"), &["HCERT-180 required Composition.contained[6].component[0].value"]),
    row("a rate of work that is a text", &OCCUPATIONAL, Set("/contained/6/component/0", r#"
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"224374003","display":"Regularity of work"}]},"valueString":"0.75"}"#),
        &["HCERT-187 structure Composition.contained[6].component[0].value"]),
    row("a rate of work above a value", &OCCUPATIONAL, Set("/contained/6/component/0/valueQuantity/comparator", r#"">""#),
        &["HCERT-182 structure Composition.contained[6].component[0].value.comparator"]),
    row("a rate of work in hours", &OCCUPATIONAL, Set("/contained/6/component/0/valueQuantity/unit", r#""h""#),
        &["HCERT-186 value Composition.contained[6].component[0].value.unit"]),

    // Without meta.profile, only the whole pattern of the code puts an observation into a slice. Contract 8.2.
    row("a decision known by nothing, as its code lacks its display", &DRIVER_PAPER, Set("/contained/1", r#"{"resourceType":"Observation","id":"decision","status":"final",
            "code":{"coding":[{"system":"http://snomed.info/sct","code":"419183001"}]},
            "valueCodeableConcept":{"coding":[{"system":"http://snomed.info/sct","code":"171353001"}]}}"#),
        &["HCERT-190 value Composition.section[0].entry[0]"]),
    row("an employment known by nothing, as its code has another display", &OCCUPATIONAL_DRAFT, Set("/contained/2", r#"{"resourceType":"Observation","id":"employment","status":"final",
            "code":{"coding":[{"system":"http://snomed.info/sct","code":"184104002","display":"Work"}]},
            "performer":[{"identifier":{"system":"https://fhir.ee/sid/org/est/br","value":"16978044"},"display":"x"}]}"#),
        &["HCERT-183 required Composition.contained", "HCERT-190 value Composition.section[2].entry[0]"]),

    // Risk factors and conditions of work.
    row("a risk factor with another display of its code", &OCCUPATIONAL, Set("/contained/4/code/coding/0/display", r#""Risk""#), &["HCERT-186 value Composition.contained[4].code"]),
    row("a risk factor without a value", &OCCUPATIONAL, Remove("/contained/4/valueCodeableConcept"), &["HCERT-180 required Composition.contained[4].value"]),
    row("a note of a risk factor", &OCCUPATIONAL, Set("/contained/4/note", r#"[{"text":"x"}]"#), &["HCERT-182 structure Composition.contained[4].note"]),
    row("a condition of work with another display of its code", &OCCUPATIONAL, Set("/contained/7/code/coding/0/display", r#""Fit""#), &["HCERT-186 value Composition.contained[7].code"]),
    row("a condition of work without a value", &OCCUPATIONAL, Remove("/contained/7/valueCodeableConcept"), &["HCERT-180 required Composition.contained[7].value"]),
    row("a note of a condition of work", &OCCUPATIONAL, Set("/contained/7/note", r#"[{"text":"x"}]"#), &["HCERT-182 structure Composition.contained[7].note"]),
];
