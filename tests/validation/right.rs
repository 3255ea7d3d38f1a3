//! What must pass: synthetic certificates, and the guide's own resources.

use std::path::PathBuf;
use std::{env, fs};

use fhir::outcome::{Hcert, Issue};
use fhir::{json, shape};
use hcert::corpus;

use crate::judge;

#[test]
fn every_synthetic_certificate_can_be_created() {
    for number in 1..=500 {
        let body = corpus::certificate(7, number);
        let (_, warnings) = judge::create(body.as_bytes()).unwrap_or_else(|issues| panic!("{issues:?}\n{body}"));
        assert!(warnings.len() < 10, "{warnings:?}");
    }
}

/// The guide is not part of this project. `HCERT_GUIDE_EXAMPLES` names the folder with its example resources; without it there is
/// nothing to check.
#[test]
fn the_resources_of_the_guide_follow_r5() {
    let Some(folder) = env::var_os("HCERT_GUIDE_EXAMPLES").map(PathBuf::from) else { return };
    let mut seen = 0;
    for file in
        fs::read_dir(&folder).expect("HCERT_GUIDE_EXAMPLES is a folder").map(|file| file.expect("a file").path())
    {
        let text = fs::read(&file).expect("a file that can be read");
        let mut resource = json::parse(&text).expect("FHIR JSON");
        let types = ["Organization", "Patient", "Practitioner", "PractitionerRole", "QuestionnaireResponse"];
        let known = types.into_iter().find(|name| resource.text("resourceType") == Some(name));
        let expected = known.unwrap_or_else(|| panic!("{}: a type that was not there before", file.display()));
        let shape = shape::check(&mut resource, expected);
        let rules = judge::rules();
        let findings = rules.validator.check(&resource, None, &rules.terminology);
        // The narrative of the questionnaire's answers was drawn by a tool, with images and styles from beside its page.
        let is_drawn = |issue: &&Issue| issue.code() == Hcert::NarrativeWrong && expected == "QuestionnaireResponse";
        let issues = shape.problems.issues().iter().chain(findings.problems.issues());
        let errors: Vec<&Issue> = issues.filter(|issue| issue.is_error()).filter(|issue| !is_drawn(issue)).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        seen += 1;
    }
    assert_eq!(seen, 5);
}
