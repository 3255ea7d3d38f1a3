//! `$get-consent` and `$set-consent`: GET or POST, and POST, of /Composition/{id}/…. Contract 7.6.

use uuid::Uuid;

use super::asked::{Asked, missing, parameters, told};
use super::context::Context;
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance};
use crate::access::rights::May;
use crate::certificate::{Access, Consent, Id, State};
use crate::engine::{Standing, Write};
use crate::fhir::json::{self, Json};
use crate::fhir::shape;
use crate::limits::BODY_ISSUES_MAX;
use crate::outcome::{Hcert, Issue, Outcome, Severity};

/// The names of both parameters, of question and answer alike.
const DOCTOR: &str = "doctor";
const REPRESENTATIVE: &str = "representative";

impl Service {
    pub(super) fn get_consent(&self, context: &Context, instance: &Instance, body: &[u8]) -> Result<Answer, Outcome> {
        let (id, standing) = self.standing(instance)?;
        context.check_standing(May::GetConsent, id, &standing)?;
        Asked::read(context, body, &[])?;
        let Consent { doctor, representative } = standing.consent();
        let told = |name, access: Access| told(name, "valueString", Json::string(access.code()));
        let body = parameters(vec![told(DOCTOR, doctor), told(REPRESENTATIVE, representative)]);
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    pub(super) async fn set_consent(
        &self,
        context: &Context,
        instance: &Instance,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let (id, standing) = self.standing(instance)?;
        context.check_standing(May::SetConsent, id, &standing)?;
        let Said { doctor, representative } = said(context, body)?;
        let write = Write::Consent {
            id,
            doctor,
            representative,
            who: context.who.clone(),
            rows: context.rows(May::SetConsent),
        };
        let written = self.write(write).await?;
        let written = written.ok_or_else(|| Outcome::internal("a consent is made from no version"))?;
        let Consent { doctor, representative } = written.consent;
        let issue = Issue::new(Hcert::ConsentSet).with(DOCTOR, doctor.code());
        let issue = issue.with(REPRESENTATIVE, representative.code()).severity(Severity::Information);
        let outcome = Outcome::telling(vec![issue], Vec::new());
        let body = outcome.to_json(context.language, &self.settings.issue_system, || Uuid::new_v4().to_string());
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    /// The certificate of a path, which must be there and not be deleted.
    fn standing(&self, instance: &Instance) -> Result<(Id, Standing), Outcome> {
        let never_assigned = || Outcome::not_found("Composition", instance);
        let id = instance.id().ok_or_else(never_assigned)?;
        let standing = self.engine.current_row(id).map_err(unreadable)?.ok_or_else(never_assigned)?;
        if standing.state == State::Deleted {
            return Err(deleted(id));
        }
        Ok((id, standing))
    }
}

/// What a body says; at least one of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    doctor: Option<Access>,
    representative: Option<Access>,
}

/// Reads one or both parameters, each once and as `valueString`. They stand in the body only: an address is no place for a consent.
fn said(context: &Context, body: &[u8]) -> Result<Said, Outcome> {
    // What begins so shapes the answer.
    let in_address = context.parameters.iter().filter(|(name, _)| !name.starts_with('_'));
    let mut issues: Vec<Issue> = in_address.map(|(name, _)| unknown(name).at(format!("http.{name}"))).collect();
    let mut said = Said::default();
    let mut json = json::parse(body)?;
    shape::expect(&mut json, "Parameters")?;
    for (at, parameter) in json.items("parameter").iter().enumerate() {
        let at = format!("Parameters.parameter[{at}]");
        let name = parameter.text("name").unwrap_or_default();
        let (name, place) = match name {
            DOCTOR => (DOCTOR, &mut said.doctor),
            REPRESENTATIVE => (REPRESENTATIVE, &mut said.representative),
            other => {
                issues.push(unknown(other).at(at));
                continue;
            }
        };
        match access(parameter) {
            Ok(_) if place.is_some() => issues.push(wrong(name, "", "one value").at(at)),
            Ok(access) => *place = Some(access),
            Err(value) => issues.push(wrong(name, &value, "open or closed, as valueString").at(at)),
        }
    }
    issues.truncate(BODY_ISSUES_MAX);
    match issues.is_empty() {
        false => Err(issues.into()),
        true if said == Said::default() => Err(missing("doctor, representative or both, each open or closed")),
        true => Ok(said),
    }
}

/// The value of a parameter that has one and nothing else; what it says instead, where that is a text.
fn access(parameter: &Json) -> Result<Access, String> {
    let text = parameter.text("valueString").unwrap_or_default();
    let alone = parameter.as_object().is_some_and(|members| members.iter().count() == 2);
    Access::parse(text).filter(|_| alone).ok_or_else(|| text.to_owned())
}

fn unknown(name: &str) -> Issue {
    Issue::new(Hcert::OperationParameterUnknown).with("name", name.to_owned()).with("known", "doctor, representative")
}

fn wrong(name: &'static str, value: &str, expected: &'static str) -> Issue {
    let issue = Issue::new(Hcert::OperationParameterWrong).with("name", name).with("value", value.to_owned());
    issue.with("expected", expected)
}
