//! The body of `$set-consent`: what is to hold for doctors, for representatives, or for both. Contract 7.6.

use super::super::context::RequestContext;
use super::super::operation_parameters::{members_of, missing, of_another_type, repeated};
use certificate::Openness;
use fhir::json::{self, Json};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::shape;

/// The names of both parameters, of question and answer alike.
pub const DOCTOR: &str = "doctor";
pub const REPRESENTATIVE: &str = "representative";

/// What a body says; at least one of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConsentBody {
    pub doctor: Option<Openness>,
    pub representative: Option<Openness>,
}

/// Reads one or both parameters, each once and as `valueString`. They stand in the body only: an address is no place for a consent.
pub fn read(context: &RequestContext, body: &[u8]) -> Result<ConsentBody, Outcome> {
    // What begins so shapes the answer.
    let in_address = context.parameters.iter().filter(|(name, _)| !name.starts_with('_'));
    let mut issues: Vec<Issue> = in_address.map(|(name, _)| unknown(name).at(format!("http.{name}"))).collect();
    let mut consent = ConsentBody::default();
    let mut json = json::parse(body)?;
    shape::expect(&mut json, "Parameters")?;
    for (at, parameter) in json.items("parameter").iter().enumerate() {
        let at = format!("Parameters.parameter[{at}]");
        let name = parameter.text("name").unwrap_or_default();
        let (name, place) = match name {
            DOCTOR => (DOCTOR, &mut consent.doctor),
            REPRESENTATIVE => (REPRESENTATIVE, &mut consent.representative),
            other => {
                issues.push(unknown(other).at(at));
                continue;
            }
        };
        match access(name, parameter) {
            Ok(_) if place.is_some() => issues.push(repeated(name).at(at)),
            Ok(access) => *place = Some(access),
            Err(issue) => issues.push(issue.at(at)),
        }
    }
    issues.truncate(BODY_ISSUES_MAX);
    match issues.is_empty() {
        false => Err(issues.into()),
        true if consent == ConsentBody::default() => {
            Err(missing("doctor, representative or both, each open or closed"))
        }
        true => Ok(consent),
    }
}

/// The value of a parameter, which has a `valueString` and nothing else beside its name.
fn access(name: &'static str, parameter: &Json) -> Result<Openness, Issue> {
    const EXPECTED: &str = "open or closed, as valueString";
    let members = members_of(parameter);
    match parameter.text("valueString").filter(|_| members == "valueString") {
        Some(text) => Openness::parse(text).ok_or_else(|| {
            let issue = Issue::new(Hcert::OperationParameterWrong).with("name", name).with("value", text.to_owned());
            issue.with("expected", EXPECTED)
        }),
        None => Err(of_another_type(name, members, EXPECTED)),
    }
}

fn unknown(name: &str) -> Issue {
    Issue::new(Hcert::OperationParameterUnknown).with("name", name.to_owned()).with("known", "doctor, representative")
}
