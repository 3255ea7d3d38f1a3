//! The contained resources: the author's role, the decision, restrictions, risk factors, employment and additional conditions.
//!
//! Codes are those the public guide shows; each Observation follows its profile.

use super::body::CorpusBody;
use super::composition::{Category, FitnessDecision, decision_text};
use super::digits::{number, padded};
use super::phrases::Topic;

/// A restriction's code and what it is called.
#[derive(Clone, Copy)]
struct Restriction {
    display: &'static str,
    /// The coding, up to and with its closing brace.
    coding: &'static str,
    detail: Detail,
}

/// What a restriction's code leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Nothing,
    Kilograms,
    RiskFactor,
}

macro_rules! restriction {
    ($system:literal, $code:literal, $display:literal, $detail:ident) => {
        Restriction {
            display: $display,
            coding: concat!(
                r#"{"system":"https://fhir.ee/CodeSystem/"#,
                $system,
                r#"","code":""#,
                $code,
                r#"","display":""#,
                $display,
                r#""}"#
            ),
            detail: Detail::$detail,
        }
    };
}

// Contract 8.4: either system is right for drivers.
const DRIVER: [Restriction; 10] = [
    restriction!("tervisetoendi-piirangud", "01.06", "prillid või kontaktläätsed", Nothing),
    restriction!("tervisetoendi-piirangud", "02", "kuuldeaparaat", Nothing),
    restriction!("tervisetoendi-piirangud", "00.98", "isik võib vajada juhtimiseks sõiduki kohandamist", Nothing),
    restriction!("tervisetoendi-piirangud", "03.01", "käeprotees/-ortoos", Nothing),
    restriction!("tervisetoendi-piirangud", "03.02", "jalaprotees/-ortoos", Nothing),
    restriction!("mootorsoidukijuhi-medits-piirang", "01.06", "prillid või kontaktläätsed", Nothing),
    restriction!("mootorsoidukijuhi-medits-piirang", "02", "kuuldeaparaat", Nothing),
    restriction!(
        "mootorsoidukijuhi-medits-piirang",
        "00.98",
        "isik võib vajada juhtimiseks sõiduki kohandamist",
        Nothing
    ),
    restriction!("mootorsoidukijuhi-medits-piirang", "03.01", "käeprotees/-ortoos", Nothing),
    restriction!("mootorsoidukijuhi-medits-piirang", "03.02", "jalaprotees/-ortoos", Nothing),
];

const OCCUPATIONAL: [Restriction; 3] = [
    restriction!("tervisetoendi-piirangud", "586", "Vältida käsitsi raskuste teisaldamist üle", Kilograms),
    restriction!("tervisetoendi-piirangud", "750", "Ei sobi töö järgmiste töökeskkonna ohuteguritega", RiskFactor),
    restriction!("tervisetoendi-piirangud", "891", "Ei sobi töötama üksinda", Nothing),
];

const RISK_FACTORS: [&str; 2] = [
    r#"{"system":"https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid","code":"558","display":"Raskuste käsitsi teisaldamine"}"#,
    r#"{"system":"https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid","code":"114","display":"Kantserogeenid"}"#,
];

const CONDITIONS: [&str; 2] = [
    r#"{"system":"https://fhir.ee/CodeSystem/tootamiseks-vajalikud-lisatingimused","code":"personal-protective-equipment","display":"Provision of personal protective equipment"}"#,
    r#"{"system":"https://fhir.ee/CodeSystem/tootamiseks-vajalikud-lisatingimused","code":"work-environment"}"#,
];

const JOBS: [&str; 2] = [
    r#"{"system":"https://fhir.ee/CodeSystem/ametite-klassifikaator","code":"22122501","display":"Pediaater"}"#,
    r#"{"system":"https://fhir.ee/CodeSystem/ametite-klassifikaator","code":"22220101"}"#,
];

fn decision_coding(category: Category, decision: FitnessDecision) -> &'static str {
    match (category == Category::Occupational, decision) {
        (true, FitnessDecision::Fit) => r#"{"system":"http://snomed.info/sct","code":"160926000"}"#,
        (true, FitnessDecision::FitWithLimits) => {
            r#"{"system":"http://snomed.info/sct","code":"225891002","display":"Fit for work with certain limitations"}"#
        }
        (true, FitnessDecision::Unfit) => {
            r#"{"system":"http://snomed.info/sct","code":"160910001","display":"Ei sobi töötama"}"#
        }
        (false, FitnessDecision::FitWithLimits) => r#"{"system":"http://snomed.info/sct","code":"156861000181108"}"#,
        (false, _) => {
            r#"{"system":"http://snomed.info/sct","code":"171353001","display":"Sobib mootorsõidukit juhtima"}"#
        }
    }
}

impl CorpusBody<'_> {
    /// The list of contained resources, with a comma behind it.
    pub(super) fn contained(&mut self) {
        self.push(r#""contained":[{"resourceType":"PractitionerRole","id":"author","practitioner":{"reference":"Practitioner/"#);
        let author = self.certificate.author();
        self.push(author.code.as_str());
        self.push(r#""},"organization":{"reference":"Organization/"#);
        padded(self.out, self.certificate.institution().code.into(), 8);
        self.push(r#""}}"#);
        if self.contents.decided {
            self.decision();
        }
        for place in 0..self.contents.restrictions {
            self.medical_restriction(place);
        }
        for place in 0..self.contents.risk_factors {
            self.risk_factor(place);
        }
        self.employment();
        for place in 0..self.contents.conditions {
            self.additional_condition(place);
        }
        self.push("],");
    }

    /// A restriction as the narrative tells it, by its place among those of the certificate.
    pub(super) fn restriction_words(&mut self, place: u8) {
        let restriction = self.restriction(place);
        self.push(restriction.display);
        if restriction.detail == Detail::Kilograms {
            self.push(" ");
            number(self.out, self.kilograms());
            self.push(" kg");
        }
    }

    fn kilograms(&self) -> u64 {
        5 * (1 + self.certificate.number % 5)
    }

    fn restriction(&self, place: u8) -> Restriction {
        let first = self.contents.restriction_first;
        match self.certificate.category {
            Category::Occupational => OCCUPATIONAL[(first + usize::from(place)) % 3],
            // The five of one system stand together, so that none comes twice.
            _ => DRIVER[first % 2 * 5 + (first / 2 + usize::from(place)) % 5],
        }
    }

    /// Everything up to the elements that differ. `place` is the number in the id, if there is one.
    fn observation(&mut self, name: &str, place: Option<u8>, profile: &str, code: &str, display: &str) {
        self.push(r#",{"resourceType":"Observation","id":""#);
        self.push(name);
        if let Some(place) = place {
            number(self.out, u64::from(place) + 1);
        }
        self.push(r#"","meta":{"profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-"#);
        self.push(profile);
        self.push(r#""]},"status":"final","code":{"coding":[{"system":"http://snomed.info/sct","code":""#);
        self.push(code);
        self.push(r#"","display":""#);
        self.push(display);
        self.push(r#""}]}"#);
    }

    fn decision(&mut self) {
        self.observation("decision", None, "decision", "419183001", "Practitioner decision status");
        let (category, decision) = (self.certificate.category, self.certificate.decision);
        self.push(r#","valueCodeableConcept":{"coding":["#);
        self.push(decision_coding(category, decision));
        self.push(r#"],"text":""#);
        self.push(decision_text(category, decision));
        self.push(r#""}}"#);
    }

    fn medical_restriction(&mut self, place: u8) {
        let restriction = self.restriction(place);
        self.observation("restriction-", Some(place), "medical-restriction", "146861000181105", "Restriction");
        self.push(r#","note":[{"text":""#);
        self.text(Topic::RestrictionNote, place, self.certificate.changes(self.at));
        self.push(r#""}],"component":[{"code":{"coding":["#);
        self.push(restriction.coding);
        self.push("]}");
        match restriction.detail {
            Detail::Nothing => {}
            Detail::Kilograms => {
                self.push(r#","valueQuantity":{"value":"#);
                number(self.out, self.kilograms());
                self.push(r#","unit":"kg","system":"http://unitsofmeasure.org","code":"kg"}"#);
            }
            Detail::RiskFactor => {
                self.push(r#","valueCodeableConcept":{"coding":["#);
                self.push(RISK_FACTORS[self.certificate.number as usize % 2]);
                self.push("]}");
            }
        }
        self.push("}]}");
    }

    fn risk_factor(&mut self, place: u8) {
        self.observation("risk-", Some(place), "work-related-risk-factor", "80943009", "Risk factor");
        self.push(r#","valueCodeableConcept":{"coding":["#);
        self.push(RISK_FACTORS[(self.certificate.number as usize / 2 + usize::from(place)) % 2]);
        self.push(r#"],"text":""#);
        self.text(Topic::RiskFactor, place, 0);
        self.push(r#""}}"#);
    }

    fn employment(&mut self) {
        let Some(employer) = self.certificate.employer() else { return };
        self.observation("employment", None, "occupational-employment", "184104002", "Patient occupation");
        self.push(
            r#","performer":[{"type":"Organization","identifier":{"system":"https://fhir.ee/sid/org/est/br","value":""#,
        );
        number(self.out, employer.code.into());
        self.push(r#""},"display":""#);
        employer.write_name(self.out);
        self.push(r#""}],"note":[{"text":""#);
        self.text(Topic::Job, 0, 0);
        self.push(r#""}],"component":["#);
        let number = self.certificate.number as usize;
        // Only two codes of the occupation classifier are public, so most jobs are told in words alone.
        if number.is_multiple_of(7) {
            self.push(
                r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"Job details"}]},"valueCodeableConcept":{"coding":["#,
            );
            self.push(JOBS[number / 7 % 2]);
            self.push("]}},");
        }
        self.push(
            r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"224374003","display":"Regularity of work"}]},"valueQuantity":{"value":"#,
        );
        self.push(["1", "0.5", "1", "0.75", "1.00", "0.8", "1", "0.25", "1"][number % 9]);
        self.push(r#","unit":"1","system":"http://unitsofmeasure.org","code":"1"}}]}"#);
    }

    fn additional_condition(&mut self, place: u8) {
        self.observation(
            "condition-",
            Some(place),
            "work-additional-condition",
            "225891002",
            "Fit for work with certain limitations",
        );
        self.push(r#","valueCodeableConcept":{"coding":["#);
        self.push(CONDITIONS[(self.certificate.number as usize + usize::from(place)) % 2]);
        self.push(r#"],"text":""#);
        self.text(Topic::AdditionalCondition, place, 0);
        self.push(r#""}}"#);
    }
}
