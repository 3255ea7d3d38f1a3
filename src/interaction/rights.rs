//! What the caller of one request may do: asked before anything else, and again of each certificate that is touched or shown.
//!
//! Source: Contract 2.9, 7.3 to 7.7.

use std::sync::Arc;

use super::Interaction;
use super::context::RequestContext;
use super::grants::{CallerGrants, also};
use super::service::{Service, unreadable};
use super::subject::unanswered;
use crate::access::rights::{OwnPatient, PermittedAction};
use crate::registry::LookupPurpose;
use certificate::search::filter::Filter;
use certificate::search::row::Row;
use certificate::{Id, Openness};
use engine::EffectiveRow;
use fhir::outcome::{Hcert, Issue, Outcome};

impl RequestContext {
    /// The rows a write may touch; nothing where all.
    pub(super) fn rows(&self, may: PermittedAction) -> Option<Arc<Filter>> {
        match also(may) {
            Some(also) => self.rows_of_both(may, also),
            None => Some(Arc::new(self.grants.as_ref()?.scope(may).filter())),
        }
    }

    /// The rows that both reach.
    pub(super) fn rows_of_both(&self, one: PermittedAction, other: PermittedAction) -> Option<Arc<Filter>> {
        let grants = self.grants.as_ref()?;
        Some(Arc::new(grants.scope(one).narrow(grants.scope(other).filter(), None)))
    }

    /// A certificate as it is sent, for which rows of a permission hold as well as for what is stored.
    ///
    /// # Errors
    /// 403 for one that would lie outside of the caller's rights.
    pub(super) fn check_sent(&self, may: PermittedAction, row: &Row) -> Result<(), Outcome> {
        match &self.grants {
            Some(grants) if !grants.rights.may_lead_to(may, &grants.own, row) => {
                Err(outside("the certificate as it was sent"))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 403 for a certificate outside of the caller's rights.
    pub(super) fn check_effective_row(
        &self,
        may: PermittedAction,
        id: Id,
        effective_row: &EffectiveRow,
    ) -> Result<(), Outcome> {
        let Some(grants) = &self.grants else { return Ok(()) };
        let visible = effective_row.row.as_ref().and_then(|row| grants.visible(may, id, row));
        visible.map(drop).ok_or_else(|| outside(format!("Composition/{id}")))
    }
}

/// How a refusal names what was asked for.
fn name(may: PermittedAction) -> &'static str {
    match may {
        PermittedAction::Create => "create",
        PermittedAction::Update => "update",
        PermittedAction::Delete => "delete",
        PermittedAction::Suspend => "$suspend",
        PermittedAction::Cancel => "$cancel",
        PermittedAction::Validate => "$validate",
        PermittedAction::Read => "read",
        PermittedAction::History => "history",
        PermittedAction::Search | PermittedAction::Count => "search-type",
        PermittedAction::GetConsent => "$get-consent",
        PermittedAction::SetConsent => "$set-consent",
        PermittedAction::PatientRead => "read of Patient",
        PermittedAction::PatientSearch => "search-type of Patient",
        PermittedAction::AuditRead => "AuditEvent",
    }
}

pub(super) fn not_permitted(may: PermittedAction) -> Outcome {
    Issue::new(Hcert::NotPermitted).with("request", name(may)).into()
}

/// As [`not_permitted`], in a role that was asked for.
pub(super) fn not_permitted_in(role: &str, may: PermittedAction) -> Outcome {
    Issue::new(Hcert::NotPermitted).with("request", format!("{} in the role {role}", name(may))).into()
}

pub(super) fn outside(what: impl Into<String>) -> Outcome {
    Issue::new(Hcert::OutsideRights).with("what", what.into()).into()
}

impl Service {
    /// Finds what the caller may do, and whether this is part of it. Without an identity everything is permitted: that is developer mode.
    ///
    /// # Errors
    /// 403; and what the registry says where the token is about a patient who has to be found.
    pub(super) async fn admit(&self, interaction: &Interaction, context: &mut RequestContext) -> Result<(), Outcome> {
        let Some(identity) = &context.identity else { return Ok(()) };
        let rights = self.policy.permissions.rights(identity.clone());
        let mut grants = CallerGrants { rights, own: OwnPatient::default() };
        if let Some(may) = interaction.row.permission {
            if !grants.rights.may(may) {
                return Err(not_permitted(may));
            }
            // A search is judged by what it names first.
            if may != PermittedAction::Count {
                self.know_own_patient(context, &mut grants, may).await?;
            }
            // A conditional create meets what its caller may read.
            if context.if_none_exist.is_some() {
                self.know_own_patient(context, &mut grants, PermittedAction::Read).await?;
            }
            if may == PermittedAction::PatientRead
                && !grants.rights.reaches_all_patients()
                && let Some(id) = interaction.id.as_ref().map(ToString::to_string)
                && !grants.own.ids.contains(&id)
            {
                return Err(outside(format!("Patient/{id}")));
            }
        }
        context.grants = Some(Arc::new(grants));
        Ok(())
    }

    /// Asks the registry for the patient the token is about, where the permission reaches only their certificates.
    pub(super) async fn know_own_patient(
        &self,
        context: &RequestContext,
        grants: &mut CallerGrants,
        may: PermittedAction,
    ) -> Result<(), Outcome> {
        if ![Some(may), also(may)].into_iter().flatten().any(|may| grants.rights.asks_for_own_patient(may)) {
            return Ok(());
        }
        let Some(code) = grants.rights.identity().patient.clone() else { return Ok(()) };
        let caller = context.caller(LookupPurpose::Look);
        let found = match Box::pin(self.registry.by_identifier(None, &code, &caller)).await {
            Err(failed) if failed.is_nobody() => Vec::new(),
            found => found.map_err(unanswered)?,
        };
        let (mut own, mut ids) = (OwnPatient::default(), Vec::new());
        for (at, patient) in found.into_iter().enumerate() {
            // Records of one code that no link ties together may be those of two persons, and the token says only the code.
            if at > 0 && !own.ids.contains(&patient.id) {
                return Ok(());
            }
            let linked = match self.registry.may_be_linked(&patient.id) {
                true => Box::pin(self.registry.linked(&patient.id, &caller)).await.map_err(unanswered)?,
                false => Vec::new(),
            };
            let identifiers = patient.identifiers.into_iter().map(|known| (known.system, known.value));
            own.identifiers.extend(identifiers);
            ids.push(patient.id);
            own.ids.extend(linked);
        }
        own.ids.extend(ids);
        grants.own = own;
        Ok(())
    }

    /// Whether the certificate lies within the caller's rights now. A write is judged again in its transaction.
    ///
    /// # Errors
    /// 403. An id never assigned is nobody's business here.
    pub(super) fn check_rows(&self, context: &RequestContext, may: PermittedAction, id: Id) -> Result<(), Outcome> {
        let Some(grants) = &context.grants else { return Ok(()) };
        let effective_row = self.engine.read(id, None, |entry| {
            // Where consent alone binds, it is asked first: it costs less.
            match grants.rights.is_bound_by_consent_only(may) && entry.consent()?.doctor == Openness::Open {
                true => Ok(None),
                false => entry.effective_row().map(Some),
            }
        });
        match effective_row.map_err(unreadable)?.flatten() {
            Some(effective_row) => context.check_effective_row(may, id, &effective_row),
            None => Ok(()),
        }
    }
}
