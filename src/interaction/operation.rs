//! `$suspend` and `$cancel`: POST /Composition/{id}/$suspend. Specification 3, 4.7; Contract 3.4.

pub mod reason;

use super::context::RequestContext;
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance, update};
use crate::access::rights::PermittedAction;
use certificate::search::extract::extract;
use certificate::transition::{Need, Trigger};
use certificate::{State, head, narrative, section};
use engine::{VersionContent, Write};
use fhir::json::{self, Json};
use fhir::outcome::Outcome;
use reason::reason;

impl Service {
    /// Writes the reason into the certificate and moves it to the operation's state. Always answers the Composition.
    pub(super) async fn operate(
        &self,
        context: &RequestContext,
        instance: &Instance,
        trigger: Trigger,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let (to, code, may) = match trigger {
            Trigger::Suspend => (State::Suspended, section::SUSPEND_REASON, PermittedAction::Suspend),
            _ => (State::Revoked, section::CANCEL_REASON, PermittedAction::Cancel),
        };
        loop {
            let stored = self.current(instance)?;
            if stored.state == State::Deleted {
                return Err(deleted(stored.id));
            }
            self.check_rows(context, may, stored.id)?;
            let renderer = self.employer_renderer(context, may, stored.id)?;
            let reason = reason(body)?;
            let names = &self.settings.names;
            let Json::Object(mut certificate) = json::parse_stored(&stored.resource) else {
                return Err(Outcome::internal("a stored certificate is no object"));
            };
            certificate.set("status", Json::string(to.status().code()));
            section::push_reason_section(&mut certificate, code, &reason, names);
            // Contract 8.5.
            narrative::set_state(&mut certificate, names, &*self.terminology());
            let row = extract(&certificate, 0, names)
                .map_err(|_| Outcome::internal("a stored certificate has no index row"))?;
            let who = context.who.clone();
            let subject = self.engine.read(stored.id, Some(stored.version), |entry| entry.subject());
            let subject = subject.map_err(unreadable)?.flatten();
            let tail = head::tail(&certificate);
            let shown = Some(tail.clone());
            let content = VersionContent { trigger, brings: Need::Reason, tail, row, who, subject };
            let if_match = context.if_match.clone();
            let rows = context.rows(may);
            let write = Write::Update { id: stored.id, content, if_match, base: Some(stored.version), rows };
            if let Some(written) = self.write(context, write).await? {
                let mut resource = self.representation(&written, shown)?;
                if let Some(renderer) = renderer {
                    resource = renderer.of_change(&written, resource)?;
                }
                return Ok(update::changed(context, &written, resource));
            }
        }
    }
}
