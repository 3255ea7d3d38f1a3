//! `$get-consent` and `$set-consent`: GET or POST, and POST, of /Composition/{id}/…. Contract 7.6.

pub mod body;

use uuid::Uuid;

use super::context::RequestContext;
use super::operation_parameters::{OperationParameters, parameters, told};
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance};
use crate::access::rights::PermittedAction;
use body::{ConsentBody, DOCTOR, REPRESENTATIVE};
use certificate::{Consent, Id, Openness, State};
use engine::{EffectiveRow, Write};
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue, Outcome, Severity};

impl Service {
    pub(super) fn get_consent(
        &self,
        context: &RequestContext,
        instance: &Instance,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let (id, effective_row) = self.effective_row(instance)?;
        context.check_effective_row(PermittedAction::GetConsent, id, &effective_row)?;
        OperationParameters::read(context, body, &[])?;
        let Consent { doctor, representative } = effective_row.consent();
        let told = |name, access: Openness| told(name, "valueString", Json::string(access.code()));
        let body = parameters(vec![told(DOCTOR, doctor), told(REPRESENTATIVE, representative)]);
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    pub(super) async fn set_consent(
        &self,
        context: &RequestContext,
        instance: &Instance,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let (id, effective_row) = self.effective_row(instance)?;
        context.check_effective_row(PermittedAction::SetConsent, id, &effective_row)?;
        let ConsentBody { doctor, representative } = body::read(context, body)?;
        let write = Write::Consent {
            id,
            doctor,
            representative,
            if_match: context.if_match.clone(),
            who: context.who.clone(),
            rows: context.rows(PermittedAction::SetConsent),
        };
        let written = self.write(context, write).await?;
        let written = written.ok_or_else(|| Outcome::internal("a consent is made from no version"))?;
        let changed = written.changed;
        let Consent { doctor, representative } = written.consent;
        let issue = Issue::new(Hcert::ConsentSet).with(DOCTOR, doctor.code());
        let issue = issue.with(REPRESENTATIVE, representative.code()).severity(Severity::Information);
        let outcome = Outcome::telling(vec![issue], Vec::new());
        let body = outcome.to_json(context.language, &self.settings.issue_system, || Uuid::new_v4().to_string());
        Ok(Answer { status: 200, body, changed, ..Answer::default() })
    }

    /// The certificate of a path, which must be there and not be deleted.
    fn effective_row(&self, instance: &Instance) -> Result<(Id, EffectiveRow), Outcome> {
        let never_assigned = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(never_assigned)?;
        let effective_row = self
            .engine
            .read(id, None, |entry| entry.effective_row())
            .map_err(unreadable)?
            .ok_or_else(never_assigned)?;
        if effective_row.state == State::Deleted {
            return Err(deleted(id));
        }
        Ok((id, effective_row))
    }
}
