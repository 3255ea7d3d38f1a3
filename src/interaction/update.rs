//! FHIR `update`: PUT /Composition/{id}. Specification 4.2; Contract 2.6, 3.2 to 3.6.

use std::iter;

use uuid::Uuid;

use super::context::{RequestContext, Return};
use super::prepare::{PreparedCertificate, UpdateBase, check_certificate};
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance, ServiceSettings, ShownVersions};
use crate::access::rights::PermittedAction;
use crate::registry::LookupPurpose;
use certificate::search::Hit;
use certificate::transition::Trigger;
use certificate::{State, section};
use engine::{AcknowledgedChange, StoredVersion, VersionContent, Write};
use fhir::json::{self, Json, ReadJson};
use fhir::outcome::{Hcert, Issue, Outcome, Reflected, Severity};

impl Service {
    pub(super) async fn update(
        &self,
        context: &RequestContext,
        instance: &Instance,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        loop {
            let stored = match instance.known() {
                Some(id) => self.engine.read(id, None, |entry| entry.stored()).map_err(unreadable)?,
                None => None,
            };
            let never_assigned = || Issue::new(Hcert::IdNotAssigned).with("id", instance.to_string());
            let stored = stored.ok_or_else(|| Outcome::from(never_assigned()))?;
            if stored.state == State::Deleted {
                return Err(deleted(stored.id));
            }
            self.check_rows(context, PermittedAction::Update, stored.id)?;
            let kept = service_sections(&stored, &self.settings);
            let base = (!kept.is_empty()).then_some(stored.version);
            let before =
                UpdateBase { id: Some(stored.id), state: Some(stored.state), resource: &stored.resource, kept };
            let rules = self.rulebook().now();
            let ReadJson { mut value, problems, source } = json::parse_with_problems(body)?;
            let checked = check_certificate(&mut value, source, problems, before, &rules, &context.base_url);
            let mut checked = match checked {
                Ok(checked) => checked,
                Err(refused) => {
                    return Err(self.with_problems_of_patient(context, &value, Some(&stored), refused).await);
                }
            };
            let warnings = std::mem::take(&mut checked.warnings);
            self.check_author(context, &value)?;
            let resolved = self.resolve(context, &value, Some(&stored), LookupPurpose::Write).await?;
            let PreparedCertificate { tail, row, brings } = checked.about(&mut value, &resolved, &rules)?;
            context.check_sent(PermittedAction::Update, &row)?;
            let (who, subject) = (context.who.clone(), resolved.patient);
            let shown = (context.prefer.answer == Return::Representation).then(|| tail.clone());
            let content = VersionContent { trigger: Trigger::Update, brings, tail, row, who, subject };
            let (if_match, rows) = (context.if_match.clone(), context.rows(PermittedAction::Update));
            let write = Write::Update { id: stored.id, content, if_match, base, rows };
            if let Some(written) = self.write(context, write).await? {
                let body = match context.prefer.answer {
                    Return::Minimal => Vec::new(),
                    Return::Representation => self.shown_change(context, PermittedAction::Update, &written, shown)?,
                    Return::OperationOutcome => {
                        stored_outcome(context, &written, warnings, resolved.warning, &self.settings)
                    }
                };
                return Ok(changed(context, &written, body));
            }
        }
    }
}

/// The answer to an update or operation. Contract 2.2, 2.4.
pub(super) fn changed(context: &RequestContext, written: &AcknowledgedChange, body: Vec<u8>) -> Answer {
    let address = Service::version_address(context, written);
    Answer {
        status: 200,
        body,
        version: Some((written.version, written.stamp.milliseconds)),
        location: Some(address.clone()),
        content_location: Some(address),
        shown: ShownVersions::One(Hit { id: written.id, version: written.version }),
        changed: written.changed,
        ..Answer::default()
    }
}

/// What `Prefer: return=OperationOutcome` answers: that it was stored, and what was worth a warning.
pub(super) fn stored_outcome(
    context: &RequestContext,
    written: &AcknowledgedChange,
    warnings: Vec<Issue>,
    reflected: Option<Reflected>,
    settings: &ServiceSettings,
) -> Vec<u8> {
    let version = written.version.to_string();
    let issue = match written.changed {
        true => Issue::new(Hcert::Stored).with("version", version),
        false => Issue::new(Hcert::ThereAlready).with("id", written.id.to_string()).with("version", version),
    };
    let stored = issue.severity(Severity::Information);
    let issues: Vec<Issue> = iter::once(stored).chain(warnings).collect();
    let outcome = Outcome::from(issues).reflecting(200, Vec::from_iter(reflected));
    outcome.to_json(context.language, &settings.issue_system, || Uuid::new_v4().to_string())
}

/// Sections of the stored version that only the service writes. Contract 3.5.
pub(super) fn service_sections(stored: &StoredVersion, settings: &ServiceSettings) -> Vec<Json<'static>> {
    // Hardly any certificate that can be updated has one, so the bytes are looked through before they are read.
    let text = std::str::from_utf8(&stored.resource).unwrap_or_default();
    if !text.contains(section::SUSPEND_REASON) && !text.contains(section::CANCEL_REASON) {
        return Vec::new();
    }
    let Json::Object(mut certificate) = json::parse_stored(&stored.resource) else { return Vec::new() };
    let sections = section::take_service_sections(&mut certificate, &settings.names);
    sections.into_iter().map(Json::into_owned).collect()
}
