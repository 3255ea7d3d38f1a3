use super::*;
use fhir::json;
use fhir::outcome::Language;

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
    for file in std::fs::read_dir("../../examples").unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        let json = json::parse(&text).unwrap();
        if json.text("resourceType") == Some("Composition") {
            assert_eq!(told(&validator, &json), Vec::<String>::new());
        }
    }
}

/// What was seen: invariants of a contained ExampleScenario of 64 KB kept a serving thread for 225 ms, and one of 2 MB for minutes.
#[test]
fn a_body_whose_invariants_compare_too_much_is_refused_with_one_issue() {
    let text = std::fs::read_to_string("../../examples/driver-final.json").unwrap();
    let actors: Vec<String> =
        (0..1_000).map(|at| format!(r#"{{"key":"k{at}","type":"person","title":"t"}}"#)).collect();
    let scenario =
        format!(r#""contained":[{{"resourceType":"ExampleScenario","id":"s","actor":[{}]}},"#, actors.join(","));
    let text = text.replacen("\"contained\": [", &scenario, 1);
    assert!(text.contains("ExampleScenario"));
    let json = json::parse(text.as_bytes()).unwrap();
    let told = told(&validator(), &json);
    assert_eq!(told.iter().filter(|issue| issue.starts_with("HCERT-244 ")).count(), 1, "{told:?}");
}

/// A profile of Observation with one element in its differential.
fn profile_with(element: &str) -> Result<Validator, ProfileError> {
    let text = format!(
        r#"{{"resourceType":"StructureDefinition","id":"p","url":"http://a.ee/p","type":"Observation","derivation":"constraint",
        "baseDefinition":"http://hl7.org/fhir/StructureDefinition/Observation","differential":{{"element":[{element}]}}}}"#
    );
    Validator::of(&[json::parse(text.as_bytes()).unwrap().into_owned()])
}

#[test]
fn what_cannot_be_checked_stops_the_start_and_says_where() {
    assert!(profile_with(r#"{"id":"Observation.code","min":1,"max":"1"}"#).is_ok());
    for (element, problem) in [
        (r#"{"id":"Observation.colour","min":1}"#, "R5 has no element colour here"),
        (r#"{"id":"Patient.name","min":1}"#, "does not begin with the type"),
        (r#"{"id":"Observation.code","maxLength":5}"#, "maxLength cannot be checked"),
        (r#"{"id":"Observation.code","minValueInteger":5}"#, "minValueInteger cannot be checked"),
        (r#"{"id":"Observation.code","min":"1"}"#, "min is no number"),
        (r#"{"id":"Observation.code","max":"many"}"#, "max is no number"),
        (r#"{"id":"Observation.note:one","sliceName":"one"}"#, "a slice stands before its slicing"),
        (
            r#"{"id":"Observation.note","slicing":{"discriminator":[{"type":"exists","path":"text"}],"rules":"open"}}"#,
            "cannot be told apart",
        ),
        (
            r#"{"id":"Observation.note","slicing":{"discriminator":[{"type":"value","path":"extension('a').value"}],"rules":"open"}}"#,
            "cannot be told apart",
        ),
        (
            r#"{"id":"Observation.note","slicing":{"discriminator":[{"type":"value","path":"text"}],"rules":"openAtEnd"}}"#,
            "cannot be checked",
        ),
        (
            r#"{"id":"Observation.note","slicing":{"ordered":true,"discriminator":[{"type":"value","path":"text"}],"rules":"open"}}"#,
            "the order of slices cannot be checked",
        ),
        (r#"{"id":"Observation.subject","type":[{"code":"Reference","aggregation":["bundled"]}]}"#, "type.aggregation"),
        (
            r#"{"id":"Observation.subject","type":[{"code":"Reference","targetProfile":["http://a.ee/q"]}]}"#,
            "the target http://a.ee/q is missing",
        ),
        (
            r#"{"id":"Observation","constraint":[{"key":"k","severity":"error","human":"h","expression":"now() > issued"}]}"#,
            "k: the function now",
        ),
        (r#"{"id":"Observation","constraint":[{"key":"k","severity":"error","human":"h"}]}"#, "constraint.expression"),
    ] {
        let refused = profile_with(element).err().unwrap_or_else(|| panic!("{element} passed"));
        assert!(refused.problem.contains(problem), "{element}: {refused}");
        assert!(refused.to_string().contains("http://a.ee/p"), "{refused}");
    }
}

#[test]
fn a_profile_must_stand_on_one_that_is_there_and_loosen_nothing() {
    let of = |base: &str, element: &str| {
        let text = format!(
            r#"{{"resourceType":"StructureDefinition","id":"q","url":"http://a.ee/q","type":"Observation","derivation":"constraint",
            "baseDefinition":"{base}","differential":{{"element":[{element}]}}}}"#
        );
        json::parse(text.as_bytes()).unwrap().into_owned()
    };
    let r5 = "http://hl7.org/fhir/StructureDefinition/Observation";
    let problem = |definitions: &[Json<'static>]| Validator::of(definitions).err().map(|error| error.problem);
    let nothing = r#"{"id":"Observation.note","min":1,"max":"2"}"#;
    assert_eq!(problem(&[of(r5, nothing)]), None);
    assert_eq!(problem(&[of("http://a.ee/other", nothing)]).as_deref(), Some("it is missing"));
    assert_eq!(problem(&[of("http://a.ee/q", nothing)]).as_deref(), Some("it stands on itself"));
    let derived = |element: &str| {
        let Json::Object(mut object) = of("http://a.ee/q", element) else { unreachable!("an object was written") };
        object.set("url", Json::string("http://a.ee/derived"));
        [of(r5, nothing), Json::Object(object)]
    };
    assert_eq!(problem(&derived(r#"{"id":"Observation.note","min":2,"max":"2"}"#)), None);
    for loose in [r#"{"id":"Observation.note","min":0}"#, r#"{"id":"Observation.note","max":"*"}"#] {
        assert!(
            problem(&derived(loose)).is_some_and(|problem| problem.contains("the profile it stands on")),
            "{loose}"
        );
    }
}

#[test]
fn no_profile_of_ours_can_be_missing() {
    let ids: Vec<String> = validator().profiles().iter().map(|profile| profile.id.clone()).collect();
    assert_eq!(ids.len(), 10);
    for known in crate::Profile::ALL {
        assert!(ids.iter().any(|id| id == known.name()), "{}", known.name());
    }
}
