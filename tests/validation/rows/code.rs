//! Codes: the required bindings of R5 and of the profiles, and what decisions ask of the period.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

/// Bindings that R5 itself requires.
#[rustfmt::skip]
pub(super) const R5: &[Row] = &[
    row("a narrative's status that R5 does not know", &DRIVER, Set("/text/status", r#""final""#), &["HCERT-188 code-invalid Composition.text.status"]),
    row("a status of an observation that R5 does not know", &DRIVER_DRAFT,
        Contain(r#"{"resourceType":"Observation","id":"x","status":"finished","code":{"text":"x"}}"#), &["HCERT-188 code-invalid Composition.contained[1].status"]),
    row("a gender that R5 does not know", &DRIVER_DRAFT, Contain(r#"{"resourceType":"Patient","id":"x","gender":"M"}"#), &["HCERT-188 code-invalid Composition.contained[1].gender"]),
    row("a use of an identifier that R5 does not know", &DRIVER, Set("/contained/0/identifier", r#"[{"use":"x","value":"x"}]"#),
        &["HCERT-188 code-invalid Composition.contained[0].identifier[0].use"]),
    row("a use of a name that R5 does not know", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueHumanName":{"use":"x","text":"x"}}"#),
        &["HCERT-188 code-invalid Composition.extension[0].value.use"]),
    row("a kind of number that R5 does not know", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueContactPoint":{"system":"x","value":"x"}}"#),
        &["HCERT-188 code-invalid Composition.extension[0].value.system"]),
    row("a comparator that R5 does not know", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueQuantity":{"value":1,"comparator":"=="}}"#),
        &["HCERT-188 code-invalid Composition.extension[0].value.comparator"]),
    row("a unit of time that R5 does not know", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueTiming":{"repeat":{"duration":1,"durationUnit":"x"}}}"#),
        &["HCERT-188 code-invalid Composition.extension[0].value.repeat.durationUnit"]),
    row("a code in capitals", &DRIVER, Set("/text/status", r#""GENERATED""#), &["HCERT-188 code-invalid Composition.text.status"]),
];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Category.
    row("an occupational category of a driver's certificate", &DRIVER, Set("/category/0/coding/0/code", r#""occupational""#), &["HCERT-188 code-invalid Composition.category[0]"]),
    row("a category that nobody knows of a driver's certificate", &DRIVER, Set("/category/0/coding/0/code", r#""pilot""#), &["HCERT-188 code-invalid Composition.category[0]"]),
    row("a category of another system", &DRIVER, Set("/category/0/coding/0/system", r#""http://a.ee/x""#), &["HCERT-188 code-invalid Composition.category[0]"]),
    row("a category without system", &DRIVER, Remove("/category/0/coding/0/system"), &["HCERT-188 code-invalid Composition.category[0]"]),
    row("a category that is a text", &DRIVER, Set("/category/0", r#"{"text":"x"}"#), &["HCERT-189 code-invalid Composition.category[0]"]),
    row("a category without code", &DRIVER, Remove("/category/0/coding/0/code"), &["HCERT-189 code-invalid Composition.category[0]"]),
    row("a driver's category of an occupational certificate", &OCCUPATIONAL, Set("/category/0/coding/0/code", r#""driver-group-I""#), &["HCERT-186 value Composition.category[0]"]),
    row("a category of another system of an occupational certificate", &OCCUPATIONAL, Set("/category/0/coding/0/system", r#""http://a.ee/x""#),
        &["HCERT-186 value Composition.category[0]", "HCERT-188 code-invalid Composition.category[0]"]),

    // Decisions.
    row("a decision of another system", &DRIVER, Set("/contained/1/valueCodeableConcept/coding/0/system", r#""http://a.ee/x""#), &["HCERT-188 code-invalid Composition.contained[1].value"]),
    row("a decision without a code", &DRIVER, Set("/contained/1/valueCodeableConcept", r#"{"text":"x"}"#), &["HCERT-189 code-invalid Composition.contained[1].value"]),
    row("an occupational decision of another system", &OCCUPATIONAL, Set("/contained/1/valueCodeableConcept/coding/0/system", r#""http://a.ee/x""#),
        &["HCERT-188 code-invalid Composition.contained[1].value"]),

    // Restrictions.
    row("a restriction of another system", &DRIVER, Set("/contained/2/component/0/code/coding/0/system", r#""http://a.ee/x""#),
        &["HCERT-188 code-invalid Composition.contained[2].component[0].code"]),
    row("a restriction that the complete list of drivers' restrictions has not", &DRIVER, Set("/contained/2/component/0/code/coding/0",
            r#"{"system":"https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang","code":"99"}"#),
        &["HCERT-188 code-invalid Composition.contained[2].component[0].code"]),
    row("a restriction that is a text", &DRIVER, Set("/contained/2/component/0/code", r#"{"text":"x"}"#), &["HCERT-189 code-invalid Composition.contained[2].component[0].code"]),
    row("a driver's restriction of an occupational certificate", &OCCUPATIONAL, Set("/contained/2/component/0/code/coding/0",
            r#"{"system":"https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang","code":"02"}"#),
        &["HCERT-188 code-invalid Composition.contained[2].component[0].code"]),

    // Risk factors, conditions of work, jobs.
    row("a risk factor of another system", &OCCUPATIONAL, Set("/contained/4/valueCodeableConcept/coding/0/system", r#""http://a.ee/x""#),
        &["HCERT-188 code-invalid Composition.contained[4].value"]),
    row("a risk factor that is a text", &OCCUPATIONAL, Set("/contained/4/valueCodeableConcept", r#"{"text":"x"}"#), &["HCERT-189 code-invalid Composition.contained[4].value"]),
    row("a condition of work of another system", &OCCUPATIONAL, Set("/contained/7/valueCodeableConcept/coding/0/system", r#""http://a.ee/x""#),
        &["HCERT-188 code-invalid Composition.contained[7].value"]),
    row("a condition of work that is a text", &OCCUPATIONAL, Set("/contained/7/valueCodeableConcept", r#"{"text":"x"}"#), &["HCERT-189 code-invalid Composition.contained[7].value"]),
    row("a job of another system", &OCCUPATIONAL, Push("/contained/6/component", r#"
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]},
             "valueCodeableConcept":{"coding":[{"system":"http://a.ee/x","code":"22122501"}]}}"#),
        &["HCERT-188 code-invalid Composition.contained[6].component[1].value"]),

    // Codes of R5 where the profile wants one of them, or none.
    row("a status of a contained observation that neither R5 nor the profile knows", &DRIVER, Set("/contained/1/status", r#""done""#),
        &["HCERT-186 value Composition.contained[1].status", "HCERT-188 code-invalid Composition.contained[1].status"]),
    row("a section's narrative with a status that neither R5 nor the profile knows", &DRIVER, Set("/section/1/text/status", r#""done""#),
        &["HCERT-186 value Composition.section[1].text.status", "HCERT-188 code-invalid Composition.section[1].text.status"]),
    row("an unknown use of the certificate number", &DRIVER, Set("/identifier/0/use", r#""x""#),
        &["HCERT-182 structure Composition.identifier[0].use", "HCERT-188 code-invalid Composition.identifier[0].use"]),

    // A positive decision needs a period.
    row("fit to drive, without a period", &DRIVER_FIT, Remove("/event"), &["HCERT-191 invariant Composition"]),
    row("fit to drive with restrictions, without a period", &DRIVER, Remove("/event"), &["HCERT-191 invariant Composition"]),
    row("fit to drive, with an event that has an extension alone", &DRIVER_FIT, Set("/event/0", r#"{"extension":[{"url":"http://a.ee/x","valueString":"x"}]}"#),
        &["HCERT-191 invariant Composition"]),
    row("fit for work, without a period", &OCCUPATIONAL_FIT, Remove("/event"), &["HCERT-191 invariant Composition"]),
    row("fit for work with restrictions, without a period", &OCCUPATIONAL, Remove("/event"), &["HCERT-191 invariant Composition"]),
    row("a rejection turned into a decision that the person is fit", &OCCUPATIONAL_REJECTED, Set("/contained/1/valueCodeableConcept/coding/0/code", r#""160926000""#),
        &["HCERT-191 invariant Composition"]),
];
