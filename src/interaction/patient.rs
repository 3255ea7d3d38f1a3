//! `/Patient`: what the registry tells of patients, handed on as it is. Specification 5; Contract 6.2.

use super::context::{Context, Subset};
use super::read::reduced;
use super::service::Service;
use super::subject::silent;
use super::{Answer, Instead, Shown};
use crate::certificate::Version;
use crate::fhir::json::{self, Json};
use crate::fhir::subset;
use crate::outcome::{Hcert, Issue, Outcome};
use crate::registry::{Answered, Ask, Failed, Misbehaviour, Told};

impl Service {
    /// Asks the registry in the caller's name. Its refusals keep its own status here, since here it is what is asked.
    pub(super) async fn patient(&self, context: &Context, ask: Ask) -> Result<Answer, Outcome> {
        let ask = match ask {
            Ask::Search(_) => Ask::Search(context.parameters.clone()),
            Ask::History(id, _) => Ask::History(id, context.parameters.clone()),
            single => single,
        };
        // Ids of R5 that mean another place in an address.
        if matches!(ask.id(), Some("." | "..")) {
            return Err(nobody(&ask));
        }
        let caller = context.caller_of_patients();
        let told = match self.registry.answer(&ask, &caller).await {
            Ok(Answered::Told(told)) => told,
            Ok(Answered::Misbehaves(Misbehaviour::HangUp)) => {
                return Ok(Answer { status: 200, instead: Some(Instead::HangUp), ..Answer::default() });
            }
            Ok(Answered::Misbehaves(Misbehaviour::Garbage)) => {
                return Ok(Answer { status: 200, instead: Some(Instead::Garbage), ..Answer::default() });
            }
            // A registry may say no more than that nothing is there.
            Err(Failed::NotFound) if ask.id().is_some() => return Err(nobody(&ask)),
            Err(Failed::Refused(chain))
                if chain.status == 404 && chain.issues.iter().all(|issue| issue.codings.is_empty()) =>
            {
                return Err(nobody(&ask));
            }
            Err(Failed::Refused(chain)) => return Err(chain.into()),
            Err(failed) => return Err(silent(failed)),
        };
        let Told { body, version, last_modified } = told;
        let number = version.as_deref().and_then(Version::parse);
        let version = number.zip(last_modified);
        let is_single = matches!(ask, Ask::Read(_) | Ask::Vread(..));
        if let Some((version, modified)) = version
            && is_single
            && context.has(version, modified)
        {
            return Ok(Answer { status: 304, version: Some((version, modified)), ..Answer::default() });
        }
        if is_single && context.subset == Subset::Count {
            let issue = Issue::new(Hcert::SearchValueWrong).with("name", "_summary").with("value", "count");
            return Err(issue.with("expected", "true, text, data or false on a read").at("http._summary").into());
        }
        let body = if is_single { reduced(body, &context.subset) } else { reduced_entries(body, &context.subset) };
        Ok(Answer { status: 200, body, version, shown: Shown::Patients, ..Answer::default() })
    }
}

fn nobody(ask: &Ask) -> Outcome {
    Outcome::not_found("Patient", ask.id().unwrap_or_default())
}

/// The resources of a Bundle, each reduced as asked.
fn reduced_entries(body: Vec<u8>, wanted: &Subset) -> Vec<u8> {
    if matches!(wanted, Subset::All | Subset::Count) {
        return body;
    }
    let mut bundle = json::parse_stored(&body);
    if let Json::Object(object) = &mut bundle
        && let Some(Json::Array(entries)) = object.get_mut("entry")
    {
        for entry in entries {
            if let Json::Object(entry) = entry
                && let Some(resource) = entry.get_mut("resource")
            {
                subset::reduce(resource, wanted);
            }
        }
    }
    bundle.to_vec()
}
