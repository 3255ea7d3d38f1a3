//! The right certificates that the rows of the table change.

use std::fs;

use fhir::json::{self, Json};

use crate::mutation::Mutation::{self, *};

/// A right certificate: an example, and what makes another right one of it.
#[derive(Debug)]
pub(crate) struct Base {
    pub example: &'static str,
    pub changes: &'static [Mutation<'static>],
}

macro_rules! bases {
    ($($(#[$doc:meta])* $name:ident = $example:literal $changes:expr;)*) => {
        $($(#[$doc])* pub(crate) static $name: Base = Base { example: $example, changes: &$changes };)*
        /// All of them.
        pub(crate) static ALL: &[&Base] = &[$(&$name),*];
    };
}

bases! {
    /// Contained: author, decision, restriction-1. Sections: decision, medical-restrictions, health-declaration.
    DRIVER = "driver-final" [];
    /// Contained: author. Sections: health-declaration.
    DRIVER_DRAFT = "driver-draft" [];
    /// Contained: author, decision, restriction-1, restriction-2. Sections: decision, medical-restrictions, health-declaration,
    /// shortened-reason, change-reason.
    DRIVER_CHANGED = "driver-final-changed" [];
    /// Contained: author, decision. Sections: decision, health-declaration, whose entry is the number of a paper.
    DRIVER_PAPER = "driver-external-declaration" [];
    /// Contained: author, decision, restriction-1, restriction-2, risk-1, risk-2, employment, condition-1, condition-2. Sections:
    /// decision, medical-restrictions, shortened-reason, health-declaration, risk-factors, employer, work-additional-restrictions,
    /// employer-suggestions, employee-suggestions.
    OCCUPATIONAL = "occupational-final" [];
    /// Contained: author, risk-1, employment. Sections: health-declaration, risk-factors, employer.
    OCCUPATIONAL_DRAFT = "occupational-draft" [];
    /// Contained: author, decision, risk-1, employment. Sections: decision, reject-reason, health-declaration, risk-factors, employer,
    /// employer-suggestions.
    OCCUPATIONAL_REJECTED = "occupational-rejected" [];
    /// As an employer gets it: the patient by personal code, and no suggestions to the employee.
    EMPLOYER = "occupational-final" [
        Set("/subject/0/identifier", r#"{"system":"https://fhir.ee/sid/pid/est/ni","value":"37601010101"}"#),
        Remove("/section/8"),
    ];
    /// A driver's certificate whose decision is that they are fit without restrictions.
    DRIVER_FIT = "driver-final" [Set("/contained/1/valueCodeableConcept/coding/0/code", r#""171353001""#)];
    /// An occupational certificate whose decision is that the person is fit without restrictions.
    OCCUPATIONAL_FIT = "occupational-final" [
        Set("/contained/1/valueCodeableConcept/coding/0", r#"{"system":"http://snomed.info/sct","code":"160926000"}"#)
    ];
    /// As stored after `$suspend`: its fourth section is the reason, which only the service writes.
    SUSPENDED = "driver-final" [
        Push("/section", r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"suspend-reason"}]},
            "text":{"status":"additional","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">Põhjus</div>"}}"#),
        Set("/status", r#""cancelled""#),
    ];
    /// As stored after `$cancel`: its fourth section is the reason, which only the service writes.
    CANCELLED = "driver-final" [
        Push("/section", r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"cancel-reason"}]},
            "text":{"status":"additional","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">Põhjus</div>"}}"#),
        Set("/status", r#""entered-in-error""#),
    ];
}

/// The examples that are certificates, as they are.
pub(crate) static EXAMPLES: &[&Base] = &[
    &DRIVER,
    &DRIVER_DRAFT,
    &DRIVER_CHANGED,
    &DRIVER_PAPER,
    &OCCUPATIONAL,
    &OCCUPATIONAL_DRAFT,
    &OCCUPATIONAL_REJECTED,
];

impl Base {
    pub(crate) fn json(&self) -> Json<'static> {
        let path = format!("{}/examples/{}.json", env!("CARGO_MANIFEST_DIR"), self.example);
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut json = json::parse(&text).unwrap_or_else(|_| panic!("{path}")).into_owned();
        for change in self.changes {
            assert!(change.apply(&mut json).is_none(), "a base is changed as a value");
        }
        json
    }

    /// The body after a mutation.
    pub(crate) fn with(&self, mutation: Mutation) -> Vec<u8> {
        let mut json = self.json();
        mutation.apply(&mut json).unwrap_or_else(|| json.to_vec())
    }
}
