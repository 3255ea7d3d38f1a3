use super::*;
use crate::fhir::json;
use crate::outcome::Language;

fn validator() -> Validator {
    Validator::new(&Names::default()).unwrap()
}

fn told(validator: &Validator, json: &Json) -> Vec<String> {
    let terminology = Terminology::new(&Names::default(), false, &[]).unwrap();
    let profile = json.get("meta").and_then(|meta| validator.profile(meta.items("profile")[0].as_str()?));
    let findings = validator.check(json, profile, &terminology);
    let issues = findings.problems.into_issues();
    let told = issues.iter().filter(|issue| issue.is_error());
    told.map(|issue| {
        format!("{} {} {}", issue.code().code(), issue.expression().join(" "), issue.text(Language::English))
    })
    .collect()
}

#[test]
fn examples_are_right() {
    let validator = validator();
    for file in std::fs::read_dir("examples").unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        let json = json::parse(&text).unwrap();
        if json.text("resourceType") == Some("Composition") {
            assert_eq!(told(&validator, &json), Vec::<String>::new());
        }
    }
}
