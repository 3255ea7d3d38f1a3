//! An [`Outcome`] as FHIR resource, in the shape of specification 7.

use serde::Serialize;

use super::reflected::ReflectedCoding;
use super::{Issue, Language, Outcome, Reflected, entry};

impl Outcome {
    /// The OperationOutcome, minified JSON. `system` is `{hcert_issue_system}`; `id` makes the id (a uuid) of each issue that came
    /// without one.
    ///
    /// Source: specification 7; Contract 5.1.
    pub fn to_json(&self, language: Language, system: &str, mut id: impl FnMut() -> String) -> Vec<u8> {
        let texts: Vec<String> = self.issues.iter().map(|issue| issue.text(language)).collect();
        let own = self.issues.iter().zip(&texts);
        let mut issue: Vec<ResourceIssue> =
            own.clone().map(|(issue, text)| resource_issue(issue, text, system, id())).collect();
        issue.extend(self.reflected.iter().enumerate().map(|(at, reflected)| {
            // Ids are unique within a resource, also where another system repeats one.
            let is_new = |own: &&String| self.reflected[..at].iter().all(|earlier| earlier.id.as_ref() != Some(*own));
            reflected_issue(reflected, reflected.id.as_ref().filter(is_new).cloned().unwrap_or_else(&mut id))
        }));
        let told = own.map(|(issue, text)| (issue.code().code(), text.as_str()));
        let told = told.chain(self.reflected.iter().map(|reflected| (reflected.code(), reflected.text.as_str())));
        let text = Narrative { status: "generated", div: narrative(told) };
        let resource = OperationOutcome { resource_type: "OperationOutcome", text, issue };
        serde_json::to_vec(&resource).expect("strings and lists always have a text")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationOutcome<'a> {
    resource_type: &'static str,
    text: Narrative,
    issue: Vec<ResourceIssue<'a>>,
}

#[derive(Serialize)]
struct Narrative {
    status: &'static str,
    div: String,
}

#[derive(Serialize)]
struct ResourceIssue<'a> {
    id: String,
    severity: &'a str,
    code: &'a str,
    details: Details<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    expression: &'a [String],
}

#[derive(Serialize)]
struct Details<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    coding: Vec<ResourceCoding<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
}

#[derive(Serialize)]
struct ResourceCoding<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'a str>,
}

fn resource_issue<'a>(issue: &'a Issue, text: &'a str, system: &'a str, id: String) -> ResourceIssue<'a> {
    ResourceIssue {
        id,
        severity: issue.severity_code(),
        code: &entry(issue.code()).issue_type,
        details: Details {
            coding: vec![ResourceCoding { system: Some(system), code: Some(issue.code().code()), display: None }],
            text,
        },
        diagnostics: None,
        expression: issue.expression(),
    }
}

fn reflected_issue(reflected: &Reflected, id: String) -> ResourceIssue<'_> {
    ResourceIssue {
        id,
        severity: &reflected.severity,
        code: &reflected.issue_type,
        details: Details { coding: reflected.codings.iter().map(resource_coding).collect(), text: &reflected.text },
        diagnostics: reflected.diagnostics.as_deref(),
        expression: &reflected.expression,
    }
}

/// A definition list of code and text.
fn narrative<'a>(told: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut div = String::from("<div xmlns=\"http://www.w3.org/1999/xhtml\"><dl>");
    for (code, text) in told {
        div.push_str("<dt>");
        push_escaped(&mut div, code);
        div.push_str("</dt><dd>");
        push_escaped(&mut div, text);
        div.push_str("</dd>");
    }
    div.push_str("</dl></div>");
    div
}

fn resource_coding(coding: &ReflectedCoding) -> ResourceCoding<'_> {
    ResourceCoding {
        system: coding.system.as_deref(),
        code: coding.code.as_deref(),
        display: coding.display.as_deref(),
    }
}

fn push_escaped(div: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => div.push_str("&amp;"),
            '<' => div.push_str("&lt;"),
            '>' => div.push_str("&gt;"),
            '\t' | '\n' | '\r' => div.push(character),
            // XML has no way to write these.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => div.push('\u{fffd}'),
            other => div.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Hcert, IssueChain};

    #[test]
    fn the_resource_has_the_shape_of_the_specification() {
        let patient =
            Issue::new(Hcert::PatientNotUnique).with("identifier", "a|<b>&\u{0}").at("Composition.subject[0]");
        let outcome = Outcome::from(vec![patient, Issue::new(Hcert::BodyEmpty)]);
        let mut number = 0;
        let json = outcome.to_json(Language::English, "https://hcert.tehik.ee/issue", || {
            number += 1;
            format!("id-{number}")
        });
        let expected = concat!(
            r#"{"resourceType":"OperationOutcome","text":{"status":"generated","div":"#,
            r#""<div xmlns=\"http://www.w3.org/1999/xhtml\"><dl>"#,
            r#"<dt>HCERT-008</dt><dd>Could not find unique patient by a|&lt;b&gt;&amp;"#,
            "U+0000",
            r#"</dd><dt>HCERT-100</dt><dd>The request has no body; a FHIR resource in JSON is expected</dd></dl></div>"},"#,
            r#""issue":[{"id":"id-1","severity":"error","code":"invalid","#,
            r#""details":{"coding":[{"system":"https://hcert.tehik.ee/issue","code":"HCERT-008"}],"#,
            r#""text":"Could not find unique patient by a|<b>&U+0000"},"expression":["Composition.subject[0]"]},"#,
            r#"{"id":"id-2","severity":"error","code":"structure","#,
            r#""details":{"coding":[{"system":"https://hcert.tehik.ee/issue","code":"HCERT-100"}],"#,
            r#""text":"The request has no body; a FHIR resource in JSON is expected"}}]}"#,
        );
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }

    #[test]
    fn the_narrative_is_well_formed_xml_whatever_the_text_holds() {
        let every: String = ('\0'..='\u{ff}').chain(['\u{fffe}', '\u{ffff}', '𝕏']).collect();
        for part in every.chars().collect::<Vec<_>>().chunks(100) {
            let issue = Issue::new(Hcert::JsonSyntax).with("problem", part.iter().collect::<String>());
            let text = issue.text(Language::Estonian);
            let div = narrative([(text.as_str(), text.as_str())].into_iter());
            roxmltree::Document::parse(&div).expect("well-formed");
        }
    }

    #[test]
    fn issues_of_other_systems_stand_behind_our_own_as_they_came() {
        let reflected = Reflected {
            id: Some("their-id".into()),
            severity: "error".into(),
            issue_type: "exception".into(),
            codings: vec![ReflectedCoding {
                system: Some("https://mpi.tehik.ee".into()),
                code: Some("MPI-001".into()),
                display: None,
            }],
            text: "Internal <error>".into(),
            diagnostics: Some("d".into()),
            expression: vec!["Patient.id".into()],
        };
        let outcome = Outcome::from(IssueChain { status: 503, issues: vec![reflected.clone()] });
        assert_eq!((outcome.status(), outcome.leading_code()), (503, "MPI-001"));
        let json = String::from_utf8(outcome.to_json(Language::Estonian, "s", || "i".into())).unwrap();
        let issue = concat!(
            r#""issue":[{"id":"their-id","severity":"error","code":"exception","details":{"coding":[{"system":"https://mpi.tehik.ee","#,
            r#""code":"MPI-001"}],"text":"Internal <error>"},"diagnostics":"d","expression":["Patient.id"]}]}"#,
        );
        assert!(json.ends_with(issue) && json.contains("<dt>MPI-001</dt><dd>Internal &lt;error&gt;</dd>"), "{json}");
        let both = Outcome::from(Hcert::BodyEmpty).reflecting(503, vec![reflected.clone(), reflected]);
        assert_eq!((both.status(), both.leading_code()), (400, "HCERT-100"));
        let json: serde_json::Value =
            serde_json::from_slice(&both.to_json(Language::English, "s", || "i".into())).unwrap();
        let ids = json["issue"].as_array().unwrap().iter().map(|issue| issue["id"].as_str().unwrap());
        assert_eq!(ids.collect::<Vec<_>>(), ["i", "their-id", "i"]);
    }

    #[test]
    fn estonian_is_spoken_when_asked_for() {
        let text = |language| Issue::new(Hcert::PathUnknown).text(language);
        let json = Outcome::from(Hcert::PathUnknown).to_json(Language::Estonian, "s", String::new);
        let json = String::from_utf8(json).unwrap();
        assert!(json.contains(&text(Language::Estonian)) && !json.contains(&text(Language::English)));
    }
}
