//! FHIR `read` and `vread`: GET /Composition/{id} and /Composition/{id}/_history/{version}. Specification 4.3, 4.4.

use super::context::{RequestContext, Subset};
use super::grants::CallerGrants;
use super::rights::outside;
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance, ShownVersions};
use crate::access::rights::{CertificateView, PermittedAction};
use certificate::search::Hit;
use certificate::{Openness, State, Version};
use engine::{CompressedVersion, StoreError, StoredVersion};
use fhir::json;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::subset;

impl Service {
    /// The current version. A deleted certificate is 410, an id never assigned 404.
    pub(super) fn read(&self, context: &RequestContext, instance: &Instance) -> Result<Answer, Outcome> {
        let stored = match context.grants.as_deref() {
            None => self.current(instance)?,
            Some(grants) => return self.read_within(context, grants, instance),
        };
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        self.shown(context, stored, CertificateView::Full)
    }

    /// As [`read`](Self::read), for a caller whose rights have bounds. Version and consent are of one moment.
    fn read_within(
        &self,
        context: &RequestContext,
        grants: &CallerGrants,
        instance: &Instance,
    ) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(missing)?;
        let found = self.engine.read(id, None, |entry| {
            if grants.rights.is_bound_by_consent_only(PermittedAction::Read)
                && entry.consent()?.doctor == Openness::Open
            {
                return Ok((entry.stored()?, Some(CertificateView::Full)));
            }
            let (stored, row) = entry.stored_with_row()?;
            Ok((stored, row.and_then(|row| grants.visible(PermittedAction::Read, id, &row))))
        });
        let (stored, view) = found.map_err(unreadable)?.ok_or_else(missing)?;
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        self.shown(context, stored, view.ok_or_else(|| outside(format!("Composition/{id}")))?)
    }

    /// One version, readable also when the certificate is deleted; the tombstone itself is 410.
    pub(super) fn vread(
        &self,
        context: &RequestContext,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<Answer, Outcome> {
        if let Some(grants) = context.grants.as_deref() {
            return self.vread_within(context, grants, instance, version);
        }
        let found = match (instance.known(), version) {
            (Some(id), Some(version)) => {
                self.engine.read(id, Some(version), |entry| entry.stored()).map_err(unreadable)?
            }
            _ => None,
        };
        let Some(stored) = found else {
            // An id that was never assigned is told before a version that is not there.
            self.current(instance)?;
            return Err(no_version(instance, version));
        };
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        self.shown(context, stored, CertificateView::Full)
    }

    /// As [`vread`](Self::vread), for a caller whose rights have bounds: both the version asked for and the current one must lie within
    /// them, and one that is deleted is for those alone who may see certificates in every state. Contract 7.4.
    fn vread_within(
        &self,
        context: &RequestContext,
        grants: &CallerGrants,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(missing)?;
        let hidden = || outside(format!("Composition/{id}"));
        // How many versions a certificate has is not for those who may not see it.
        let found = self.engine.read(id, None, |newest| {
            let version = version.map(|version| newest.read(Some(version), |entry| entry.stored_with_row()));
            Ok((newest.effective_row()?, version.transpose()?.flatten()))
        });
        let (effective_row, found) = found.map_err(unreadable)?.ok_or_else(missing)?;
        let now = effective_row
            .row
            .as_ref()
            .and_then(|row| grants.visible(PermittedAction::Read, id, row))
            .ok_or_else(hidden)?;
        if effective_row.state == State::Deleted && !grants.rights.is_bound_by_consent_only(PermittedAction::Read) {
            return Err(hidden());
        }
        let Some((stored, row)) = found else { return Err(no_version(instance, version)) };
        if stored.state == State::Deleted {
            return Err(deleted(id));
        }
        // Who wrote an old version does not open a certificate that is closed now, nor close one that is open: only the newest counts.
        let then = match (row, effective_row.row) {
            (_, None) => None,
            (row, Some(current)) => grants.visible(PermittedAction::Read, id, &current).and(row),
        };
        let then = then.and_then(|row| match grants.rights.is_bound_by_consent_only(PermittedAction::Read) {
            true => Some(CertificateView::Full),
            false => grants.visible(PermittedAction::Read, id, &row),
        });
        self.shown(context, stored, then.ok_or_else(hidden)?.min(now))
    }

    fn shown(&self, context: &RequestContext, stored: StoredVersion, view: CertificateView) -> Result<Answer, Outcome> {
        let version = Some((stored.version, stored.stamp.milliseconds));
        let shown = ShownVersions::One(Hit { id: stored.id, version: stored.version });
        if context.has(stored.version, stored.stamp.milliseconds) {
            return Ok(Answer { status: 304, version, shown, ..Answer::default() });
        }
        if context.subset == Subset::Count {
            let issue = Issue::new(Hcert::SearchValueWrong).with("name", "_summary").with("value", "count");
            return Err(issue.with("expected", "true, text, data or false on a read").at("http._summary").into());
        }
        let resource = match view {
            CertificateView::Full => stored.resource,
            CertificateView::Employer => self.renderer().employer(&stored).map_err(unreadable)?,
        };
        Ok(Answer { status: 200, body: reduced(resource, &context.subset), version, shown, ..Answer::default() })
    }
}

fn no_version(instance: &Instance, version: Option<Version>) -> Outcome {
    let shown = version.map_or("of this number".into(), |version| version.to_string());
    let missing = Issue::new(Hcert::VersionNotFound).with("id", instance.to_string());
    missing.with("version", shown).into()
}

/// Appends the part of a version that `_elements` or `_summary` asks for.
pub(super) fn write_reduced(version: &CompressedVersion, wanted: &Subset, out: &mut Vec<u8>) -> Result<(), StoreError> {
    match wanted {
        Subset::All => version.write(out),
        _ => {
            let resource = version.expand()?.resource;
            out.extend_from_slice(&reduced(resource, wanted));
            Ok(())
        }
    }
}

/// The part of a resource that `_elements` or `_summary` asks for.
pub(super) fn reduced(resource: Vec<u8>, wanted: &Subset) -> Vec<u8> {
    match wanted {
        Subset::All => resource,
        _ => {
            let mut json = json::parse_stored(&resource);
            subset::reduce(&mut json, wanted);
            json.to_vec()
        }
    }
}
