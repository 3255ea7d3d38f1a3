//! Changes that leave a certificate right, beside those that do not. A warning is told with its code.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("a driver's certificate", &DRIVER, Nothing, &[]),
    row("a driver's draft", &DRIVER_DRAFT, Nothing, &[]),
    row("a changed certificate", &DRIVER_CHANGED, Nothing, &[]),
    row("a certificate with a declaration on paper", &DRIVER_PAPER, Nothing, &[]),
    row("an occupational certificate", &OCCUPATIONAL, Nothing, &[]),
    row("an occupational draft", &OCCUPATIONAL_DRAFT, Nothing, &[]),
    row("a rejection", &OCCUPATIONAL_REJECTED, Nothing, &[]),
    row("fit for work without restrictions", &OCCUPATIONAL_FIT, Nothing, &[]),
    row("what an employer gets", &EMPLOYER, Nothing, &[]).under("ee-health-certificate-occupational-employer"),
    row("a suspended certificate", &SUSPENDED, Nothing, &[]).under("ee-health-certificate-driver"),
    row("a cancelled certificate", &CANCELLED, Nothing, &[]).under("ee-health-certificate-driver"),

    // Contract 8.4: both systems of a driver's restrictions are right.
    row("a driver's restriction of drivers' own list", &DRIVER, Set("/contained/2/component/0/code/coding/0",
            r#"{"system":"https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang","code":"01.06"}"#), &[]),
    row("a driver's restriction of the common list", &DRIVER, Set("/contained/2/component/0/code/coding/0",
            r#"{"system":"https://fhir.ee/CodeSystem/tervisetoendi-piirangud","code":"00.98"}"#), &[]),
    row("a driver's restriction by both lists", &DRIVER, Push("/contained/2/component/0/code/coding",
            r#"{"system":"https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang","code":"01.06"}"#), &[]),
    row("a driver's restriction that the known part of the common list has not", &DRIVER, Set("/contained/2/component/0/code/coding/0",
            r#"{"system":"https://fhir.ee/CodeSystem/tervisetoendi-piirangud","code":"99.99"}"#),
        &["warning HCERT-196 code-invalid Composition.contained[2].component[0].code"]),
    // Contract 8.3: what a list known in part does not have may be in the rest of it.
    row("a risk factor that the known part of the list has not", &OCCUPATIONAL, Set("/contained/4/valueCodeableConcept/coding/0/code", r#""999""#),
        &["warning HCERT-196 code-invalid Composition.contained[4].value"]),
    row("a decision that the known part of the list has not", &DRIVER, Set("/contained/1/valueCodeableConcept/coding/0/code", r#""160926000""#),
        &["warning HCERT-196 code-invalid Composition.contained[1].value"]),
    row("a driver's decision in an occupational certificate", &OCCUPATIONAL, Set("/contained/1/valueCodeableConcept/coding/0/code", r#""171353001""#),
        &["warning HCERT-196 code-invalid Composition.contained[1].value"]),

    // Contract 8.2: a component whose code lacks the display of a slice's pattern is in no slice, and the slicing is open.
    row("a rate of work without the display of its code", &OCCUPATIONAL, Remove("/contained/6/component/0/code/coding/0/display"), &[]),
    row("a rate of work with another display of its code", &OCCUPATIONAL, Set("/contained/6/component/0/code/coding/0/display", r#""Rate""#), &[]),
    row("a rate of work in no slice, which may have any value", &OCCUPATIONAL, Set("/contained/6/component/0",
            r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"224374003"}]},"valueString":"x"}"#), &[]),
    row("two rates of work, one of them in no slice", &OCCUPATIONAL, Push("/contained/6/component",
            r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"224374003"}]},"valueQuantity":{"value":1,"unit":"1"}}"#), &[]),
    row("a job without the display of its code", &OCCUPATIONAL, Push("/contained/6/component", r#"
            {"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003"}]},
             "valueCodeableConcept":{"coding":[{"system":"https://fhir.ee/CodeSystem/ametite-klassifikaator","code":"22122501"}]}}"#), &[]),
    row("a rate of work with a further code", &OCCUPATIONAL, Push("/contained/6/component/0/code/coding", r#"{"system":"http://a.ee/x","code":"x"}"#), &[]),

    row("a profile with its version", &DRIVER_PAPER, Set("/meta/profile/0", r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0""#), &[]),
    row("a decision known by its code alone", &DRIVER_PAPER, Remove("/contained/1/meta"), &[]),
    row("a decision that names another profile as well", &DRIVER_PAPER, Push("/contained/1/meta/profile", r#""http://a.ee/x""#), &[]),
    row("no narrative", &DRIVER_PAPER, Remove("/text"), &[]),
    row("a section without a code", &DRIVER_PAPER, Push("/section", r#"{"title":"x","entry":[{"reference":"Basic/1"}]}"#), &[]),
    row("a section with a code of another system", &DRIVER_PAPER, Push("/section", r#"{"code":{"coding":[{"system":"http://a.ee/x","code":"decision"}]},"entry":[{"reference":"Basic/1"}]}"#), &[]),
    row("sections in sections", &DRIVER_PAPER, Push("/section", r#"{"title":"x","section":[{"title":"y","section":[{"entry":[{"reference":"Basic/1"}]}]}]}"#), &[]),
    row("a section with a code and another beside it", &DRIVER_PAPER, Push("/section/1/code/coding", r#"{"system":"http://a.ee/x","code":"x"}"#), &[]),
    row("sections in another order", &DRIVER_PAPER, Set("/section", r##"[
            {"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"health-declaration"}]},"entry":[{"reference":"QuestionnaireResponse/300"}]},
            {"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"decision"}]},"entry":[{"reference":"#decision"}]}]"##), &[]),
    row("a type without any coding", &DRIVER_PAPER, Set("/type", r#"{"text":"x"}"#), &[]),
    row("an extension with a value", &DRIVER_PAPER, Push("/extension", r#"{"url":"http://a.ee/x","valueString":"x"}"#), &[]),
    row("an extension with extensions", &DRIVER_PAPER, Push("/extension", r#"{"url":"http://a.ee/x","extension":[{"url":"y","valueBoolean":true}]}"#), &[]),
    row("a value with an extension beside it", &DRIVER_PAPER, Set("/_title", r#"{"extension":[{"url":"http://a.ee/x","valueString":"x"}]}"#), &[]),
    row("a date that is a day", &DRIVER_PAPER, Set("/date", r#""2025-06-18""#), &[]),
    row("a period of days, both the same", &DRIVER_PAPER, Set("/event/0/period", r#"{"start":"2025-06-18","end":"2025-06-18"}"#), &[]),
    row("a language", &DRIVER_PAPER, Set("/language", r#""et""#), &[]),
    row("a language with script and region", &DRIVER_PAPER, Set("/language", r#""zh-Hant-TW""#), &[]),
    row("a private language", &DRIVER_PAPER, Set("/language", r#""x-private""#), &[]),
    row("a language registered before the grammar", &DRIVER_PAPER, Set("/language", r#""i-klingon""#), &[]),
    row("an id of an element with any signs but blanks", &DRIVER_PAPER, Set("/subject/0/id", r#""a_b/õ""#), &[]),
    row("a number with an exponent", &OCCUPATIONAL, Set("/contained/6/component/0/valueQuantity/value", "7.5e-1"), &[]),
    row("fit without restrictions, but with a certificate that has an event", &DRIVER_FIT, Remove("/section/1/text"), &[]),
    row("a rejection without a period", &OCCUPATIONAL_REJECTED, Set("/title", r#""x""#), &[]),

    // References.
    row("a patient by version", &DRIVER_PAPER, Set("/subject/0/reference", r#""Patient/200/_history/3""#), &[]),
    row("a patient by identifier", &DRIVER_PAPER, Set("/subject/0", r#"{"identifier":{"system":"https://fhir.ee/sid/pid/est/ni","value":"37601010101"}}"#), &[]),
    row("a health declaration that is contained", &DRIVER_DRAFT, Set("/contained/0/practitioner/display", r#""x""#), &[]),
    row("a contained resource that refers to the certificate", &DRIVER_PAPER, Push("/contained", r##"{"resourceType":"Basic","id":"x","code":{"text":"x"},"subject":{"reference":"#"}}"##), &[]),
    row("a contained resource that refers to itself", &DRIVER_PAPER, Contain(r##"{"resourceType":"Observation","id":"x","status":"final","code":{"text":"x"},"hasMember":[{"reference":"#x"}]}"##), &[]),
    row("a contained resource of any other type", &DRIVER_PAPER, Contain(r#"{"resourceType":"Organization","id":"x","name":"x"}"#), &[]),
    row("a contained observation of no profile", &DRIVER_PAPER, Contain(r#"{"resourceType":"Observation","id":"x","status":"preliminary","code":{"text":"x"},"valueString":"x"}"#), &[]),

    // Narratives.
    row("a narrative with a table, a list, a link and an image", &DRIVER_PAPER, Set("/text/div",
            r##""<div xmlns=\"http://www.w3.org/1999/xhtml\"><table><tr><td>x</td></tr></table><ul><li><a href=\"http://a.ee/\">x</a></li></ul><img src=\"data:image/png;base64,AAAA\" alt=\"x\"/></div>""##), &[]),
    row("a narrative with a style that only shows", &DRIVER_PAPER, Set("/text/div", r#""<div xmlns=\"http://www.w3.org/1999/xhtml\"><p style=\"color: red\">x</p></div>""#), &[]),
    row("a restriction with a quantity", &OCCUPATIONAL, Set("/contained/2/component/0/valueQuantity", r#"{"value":12.5,"unit":"kg","system":"http://unitsofmeasure.org","code":"kg"}"#), &[]),
];

/// Right because of what only this service does.
#[rustfmt::skip]
pub(super) const OWN: &[Row] = &[
    // Contract 8.7: content that the profiles allow and no user can use gets warnings.
    row("a final certificate without a decision", &DRIVER_DRAFT, Set("/status", r#""final""#), &["warning HCERT-204 business-rule Composition.section"]),
    row("a rejection without a reason", &OCCUPATIONAL_REJECTED, Remove("/section/1"), &["warning HCERT-205 business-rule Composition.contained[1].value"]),
    row("an employer in words", &OCCUPATIONAL, Set("/section/5/text/div", r#""<div xmlns=\"http://www.w3.org/1999/xhtml\">Äriregistri kood: 16978044</div>""#),
        &["warning HCERT-206 business-rule Composition.section[5].text.div"]),
    row("an employer other than the employment's", &OCCUPATIONAL, Set("/contained/6/performer/0/identifier/value", r#""99999999""#),
        &["warning HCERT-206 business-rule Composition.section[5].text.div"]),
    row("an author who is no personal code", &DRIVER_DRAFT, Set("/contained/0/practitioner/reference", r#""Practitioner/abc""#),
        &["warning HCERT-207 value Composition.contained[0].practitioner.reference"]),
    row("an institution that is no registry code", &DRIVER_DRAFT, Set("/contained/0/organization/reference", r#""Organization/foo""#),
        &["warning HCERT-207 value Composition.contained[0].organization.reference"]),
    row("an author with an identifier alone", &DRIVER_DRAFT, Set("/contained/0/practitioner", r#"{"identifier":{"value":"49403136515"}}"#),
        &["warning HCERT-208 required Composition.contained[0].practitioner"]),
    row("narratives with links that lead nowhere", &DRIVER_PAPER, Set("/text/div",
            r##""<div xmlns=\"http://www.w3.org/1999/xhtml\"><a href=\"#nothing\">x</a> <a href=\"#author\">y</a> <img src=\"#photo\" alt=\"\"/></div>""##),
        &["warning HCERT-203 not-found Composition.text.div", "warning HCERT-203 not-found Composition.text.div"]),
    // Contract 3.5: they are dropped before anything is asked of them.
    row("a section of a suspension, however wrong", &DRIVER_PAPER,
        Push("/section", r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"suspend-reason"}]},"foo":1}"#), &[]),
    row("a section of a cancellation without text", &DRIVER_PAPER,
        Push("/section", r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"cancel-reason"}]}}"#), &[]),
    // Contract 2.8.
    row("a local time", &DRIVER_PAPER, Set("/date", r#""2025-06-18T14:40:00""#), &[]),
    row("a title of a thousand characters", &DRIVER_PAPER, Long("/title", 1_000), &[]),
];
