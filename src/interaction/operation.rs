//! `$suspend` and `$cancel`: POST /Composition/{id}/$suspend. Specification 3, 4.7; Contract 3.4.

use super::context::Context;
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance, update};
use crate::access::rights::May;
use crate::certificate::transition::{Need, Trigger};
use crate::certificate::{State, head, narrative, section};
use crate::engine::{Content, Write};
use crate::fhir::json::{self, Json};
use crate::fhir::shape;
use crate::limits::REASON_CHARACTERS_MAX;
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::extract::extract;

impl Service {
    /// Writes the reason into the certificate and moves it to the operation's state. Always answers the Composition.
    pub(super) async fn operate(
        &self,
        context: &Context,
        instance: &Instance,
        trigger: Trigger,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let (to, code, may) = match trigger {
            Trigger::Suspend => (State::Suspended, section::SUSPEND_REASON, May::Suspend),
            _ => (State::Revoked, section::CANCEL_REASON, May::Cancel),
        };
        loop {
            let stored = self.current(instance)?;
            if stored.state == State::Deleted {
                return Err(deleted(stored.id));
            }
            self.check_rows(context, may, stored.id)?;
            let reason = reason(body)?;
            let names = &self.settings.names;
            let Json::Object(mut certificate) = json::parse_stored(&stored.resource) else {
                return Err(Outcome::internal("a stored certificate is no object"));
            };
            let narrated = narrative::is_generated(&certificate, names);
            certificate.set("status", Json::string(to.status().code()));
            section::push_reason_section(&mut certificate, code, &reason, names);
            if narrated {
                // Contract 8.5.
                narrative::set(&mut certificate, names);
            }
            let row = extract(&certificate, 0, names)
                .map_err(|_| Outcome::internal("a stored certificate has no index row"))?;
            let who = context.who.clone();
            let subject = self.engine.subject(stored.id, stored.version).map_err(unreadable)?;
            let tail = head::tail(&certificate);
            let content = Content { trigger, brings: Need::Reason, tail, row, who, subject };
            let if_match = context.if_match.clone();
            let rows = context.rows(may);
            let write = Write::Update { id: stored.id, content, if_match, base: Some(stored.version), rows };
            if let Some(written) = self.write(write).await? {
                let resource = self.stored(&written)?.resource;
                return Ok(update::changed(context, &written, resource));
            }
        }
    }
}

/// The one parameter `reason`.
fn reason(body: &[u8]) -> Result<String, Outcome> {
    let mut json = json::parse(body)?;
    shape::expect(&mut json, "Parameters")?;
    let wrong = || Outcome::from(Issue::new(Hcert::ParametersWrong).at("Parameters.parameter"));
    let [parameter] = json.items("parameter") else { return Err(wrong()) };
    let reason = match (parameter.text("name"), parameter.text("valueString")) {
        (Some("reason"), Some(reason)) => reason,
        _ => return Err(wrong()),
    };
    let at = "Parameters.parameter[0].value";
    if reason.trim().is_empty() {
        return Err(Issue::new(Hcert::ReasonBlank).at(at).into());
    }
    if reason.chars().count() > REASON_CHARACTERS_MAX || !reason.chars().all(is_xml) {
        return Err(Issue::new(Hcert::ReasonWrong).with("max", REASON_CHARACTERS_MAX.to_string()).at(at).into());
    }
    Ok(reason.to_owned())
}

/// XML 1.0, production `Char`.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}
