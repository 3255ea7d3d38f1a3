//! Reads another system's OperationOutcome, of R5 or R4, as far as it makes sense.

use uuid::Uuid;

use fhir::json::Json;
use fhir::outcome::reflected::ReflectedCoding;
use fhir::outcome::{IssueChain, Reflected};

/// Issues of another system's OperationOutcome that are told on. The longest chain of the specification has three.
const REFLECTED_ISSUES_MAX: usize = 100;

/// Codings, and expressions, of one issue of a registry that are told on.
const REFLECTED_VALUES_MAX: usize = 20;

/// Characters of a text that comes from another system's issue; what lies behind is cut off.
const REFLECTED_TEXT_CHARACTERS_MAX: usize = 8_000;

/// The issues in their order. What is missing or of a wrong type counts as absent. Nothing when it is another resource or has no issue.
///
/// Source: FHIR R5 `operationoutcome.html`; Contract 6.3.
pub(super) fn read(resource: &Json, status: u16) -> Option<IssueChain> {
    if resource.text("resourceType") != Some("OperationOutcome") {
        return None;
    }
    let issues = resource.items("issue").iter().filter(|issue| issue.as_object().is_some());
    let issues: Vec<Reflected> = issues.take(REFLECTED_ISSUES_MAX).map(reflected).collect();
    (!issues.is_empty()).then_some(IssueChain { status, issues })
}

/// Whether an issue says that something went wrong.
pub(super) fn is_error(issue: &Reflected) -> bool {
    matches!(issue.severity.as_str(), "error" | "fatal")
}

/// Whether a text of an issue holds these characters.
pub(super) fn repeats(chain: &IssueChain, secret: &str) -> bool {
    chain.issues.iter().any(|issue| {
        let of_coding = |coding: &ReflectedCoding| [&coding.system, &coding.code, &coding.display].map(Clone::clone);
        let codings = issue.codings.iter().flat_map(of_coding).flatten();
        let texts = [issue.issue_type.clone(), issue.text.clone()].into_iter().chain(issue.diagnostics.clone());
        codings.chain(texts).chain(issue.expression.iter().cloned()).any(|text| text.contains(secret))
    })
}

fn reflected(issue: &Json) -> Reflected {
    let details = issue.get("details");
    let codings = details.map_or(&[][..], |details| details.items("coding"));
    Reflected {
        // Specification 7: the id of an issue is a uuid. Decision 131.
        id: text(issue, "id").filter(|id| id.len() == 36 && Uuid::parse_str(id).is_ok()),
        severity: match issue.text("severity") {
            Some(known @ ("fatal" | "error" | "warning" | "information" | "success")) => known.to_owned(),
            // Contract 6.3. A severity that FHIR does not know could not be told on.
            _ => "error".to_owned(),
        },
        issue_type: text(issue, "code").unwrap_or_else(|| "processing".to_owned()),
        codings: codings.iter().filter_map(coding).take(REFLECTED_VALUES_MAX).collect(),
        text: details.and_then(|details| text(details, "text")).unwrap_or_default(),
        diagnostics: text(issue, "diagnostics"),
        expression: issue
            .items("expression")
            .iter()
            .filter_map(Json::as_str)
            .filter(|text| !text.is_empty())
            .take(REFLECTED_VALUES_MAX)
            .map(cut)
            .collect(),
    }
}

fn coding(coding: &Json) -> Option<ReflectedCoding> {
    let coding = ReflectedCoding {
        system: text(coding, "system"),
        code: text(coding, "code"),
        display: text(coding, "display"),
    };
    (coding != ReflectedCoding::default()).then_some(coding)
}

fn text(value: &Json, name: &str) -> Option<String> {
    value.text(name).filter(|text| !text.is_empty()).map(cut)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(REFLECTED_TEXT_CHARACTERS_MAX) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    fn issues(text: &str) -> Option<Vec<Reflected>> {
        let json = json::parse_with_problems(text.as_bytes()).unwrap().value;
        read(&json, 400).map(|chain| chain.issues)
    }

    fn outcome(issue: &str) -> String {
        format!(r#"{{"resourceType":"OperationOutcome","issue":[{issue}]}}"#)
    }

    #[test]
    fn a_chain_is_read_whole_and_in_its_order() {
        let told = issues(&outcome(
            r#"{"id":"0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a01","severity":"error","code":"processing","details":{"coding":[{"system":"https://mpi.tehik.ee","code":"MPI-029"}],"text":"Ei õnnestu"}},
               {"id":"a b","severity":"warning","code":"not-found","details":{"coding":[{"system":"s","code":"c","display":"d"},{"code":"e"}]},
                "diagnostics":"why","expression":["Patient.identifier[0]"],"location":["f:Patient"]}"#,
        ))
        .unwrap();
        let coding = |system: Option<&str>, code: &str, display: Option<&str>| ReflectedCoding {
            system: system.map(str::to_owned),
            code: Some(code.to_owned()),
            display: display.map(str::to_owned),
        };
        assert_eq!(told[0].codings, [coding(Some("https://mpi.tehik.ee"), "MPI-029", None)]);
        assert_eq!((told[0].text.as_str(), told[0].diagnostics.as_deref()), ("Ei õnnestu", None));
        assert_eq!(
            (told[0].id.as_deref(), told[1].id.as_deref()),
            (Some("0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a01"), None)
        );
        assert_eq!((told[1].severity.as_str(), told[1].issue_type.as_str()), ("warning", "not-found"));
        assert_eq!(told[1].codings, [coding(Some("s"), "c", Some("d")), coding(None, "e", None)]);
        assert_eq!((told[1].text.as_str(), told[1].diagnostics.as_deref()), ("", Some("why")));
        assert_eq!(told[1].expression, ["Patient.identifier[0]"]);
    }

    #[test]
    fn a_severity_that_is_missing_or_unknown_is_error() {
        for severity in ["", r#""severity":"grave","#, r#""severity":1,"#, r#""severity":null,"#] {
            let told = issues(&outcome(&format!(r#"{{{severity}"code":"invalid"}}"#))).unwrap();
            assert_eq!(told[0].severity, "error", "{severity}");
            assert!(is_error(&told[0]));
        }
        let success = issues(&outcome(r#"{"severity":"success","code":"success"}"#)).unwrap();
        assert!(success[0].severity == "success" && !is_error(&success[0]));
    }

    #[test]
    fn what_is_of_a_wrong_type_counts_as_absent() {
        let told = issues(&outcome(
            r#"1,"x",null,{"severity":"error","code":[],"details":"x","diagnostics":{},"expression":"x"},
               {"severity":"error","code":"","details":{"coding":[1,{},{"code":2}],"text":3},"expression":[1,""]}"#,
        ))
        .unwrap();
        let nothing =
            Reflected { severity: "error".to_owned(), issue_type: "processing".to_owned(), ..Reflected::default() };
        assert_eq!(told, [nothing.clone(), nothing]);
        assert_eq!(issues(&outcome("1")), None);
        assert_eq!(issues(&outcome("")), None);
        assert_eq!(issues(r#"{"resourceType":"OperationOutcome","issue":{}}"#), None);
        assert_eq!(issues(r#"{"resourceType":"Patient","issue":[{"code":"x"}]}"#), None);
        assert_eq!(issues("[]"), None);
    }

    #[test]
    fn issues_values_and_texts_are_bounded() {
        let long = "õ".repeat(REFLECTED_TEXT_CHARACTERS_MAX + 1);
        let coding = r#"{"code":"a"}"#;
        let codings = vec![coding; REFLECTED_VALUES_MAX + 1].join(",");
        let issue = format!(r#"{{"code":"x","details":{{"coding":[{codings}],"text":"{long}"}}}}"#);
        let told = issues(&outcome(&vec![issue.as_str(); REFLECTED_ISSUES_MAX + 1].join(","))).unwrap();
        assert_eq!((told.len(), told[0].codings.len()), (REFLECTED_ISSUES_MAX, REFLECTED_VALUES_MAX));
        assert_eq!(told[0].text.chars().count(), REFLECTED_TEXT_CHARACTERS_MAX);
        let as_long = "õ".repeat(REFLECTED_TEXT_CHARACTERS_MAX);
        let told = issues(&outcome(&format!(r#"{{"code":"x","diagnostics":"{as_long}"}}"#))).unwrap();
        assert_eq!(told[0].diagnostics.as_ref(), Some(&as_long));
    }
}
