//! FHIR `read` and `vread`: GET /Composition/{id} and /Composition/{id}/_history/{version}. Specification 4.3, 4.4.

use super::context::{RequestContext, Subset};
use super::grants::CallerGrants;
use super::rights::outside;
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance, ShownVersions};
use crate::access::rights::{CertificateView, PermittedAction};
use crate::interaction::limits::READ_HERE_BYTES;
use crate::turns::in_turn;
use certificate::search::Hit;
use certificate::{Openness, State, Version};
use engine::{CompressedVersion, Entry, StoreError, StoredVersion};
use fhir::json;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::subset;

/// A version that is to be shown.
pub(super) struct ReadVersion {
    /// Without its resource where that is left in the store.
    pub stored: StoredVersion,
    pub is_left: bool,
    pub view: CertificateView,
}

/// A version as far as a serving thread reads it: without its resource where that is large, or where the caller has it.
fn begin(context: &RequestContext, entry: &Entry) -> Result<(StoredVersion, bool), StoreError> {
    match entry.bytes_max() > READ_HERE_BYTES || context.has(entry.version(), entry.stamp().milliseconds) {
        true => Ok((entry.without_resource(), true)),
        false => Ok((entry.stored()?, false)),
    }
}

impl Service {
    /// The current version. A deleted certificate is 410, an id never assigned 404.
    pub(super) async fn read(&self, context: &RequestContext, instance: &Instance) -> Result<Answer, Outcome> {
        self.shown(context, self.read_current(context, instance)?).await
    }

    /// For a caller whose rights have bounds, version and consent are of one moment.
    pub(super) fn read_current(&self, context: &RequestContext, instance: &Instance) -> Result<ReadVersion, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(missing)?;
        let found = self.engine.read(id, None, |entry| {
            let view = match context.grants.as_deref() {
                None => Some(CertificateView::Full),
                Some(grants) => match grants.rights.view_of_all(PermittedAction::Read) {
                    // Consent is asked first: it costs less than the row.
                    Some(view) if entry.consent()?.doctor == Openness::Open => Some(view),
                    _ => entry.row()?.and_then(|row| grants.visible(PermittedAction::Read, id, &row)),
                },
            };
            Ok((begin(context, entry)?, view))
        });
        let ((stored, is_left), view) = found.map_err(unreadable)?.ok_or_else(missing)?;
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        let view = view.ok_or_else(|| outside(format!("Composition/{id}")))?;
        Ok(ReadVersion { stored, is_left, view })
    }

    /// One version, readable also when the certificate is deleted; the tombstone itself is 410.
    pub(super) async fn vread(
        &self,
        context: &RequestContext,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<Answer, Outcome> {
        self.shown(context, self.read_version(context, instance, version)?).await
    }

    pub(super) fn read_version(
        &self,
        context: &RequestContext,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<ReadVersion, Outcome> {
        if let Some(grants) = context.grants.as_deref() {
            return self.read_version_within(context, grants, instance, version);
        }
        let found = match (instance.known(), version) {
            (Some(id), Some(version)) => {
                self.engine.read(id, Some(version), |entry| begin(context, entry)).map_err(unreadable)?
            }
            _ => None,
        };
        let Some((stored, is_left)) = found else {
            // An id that was never assigned is told before a version that is not there.
            self.current(instance)?;
            return Err(no_version(instance, version));
        };
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        Ok(ReadVersion { stored, is_left, view: CertificateView::Full })
    }

    /// As [`read_version`](Self::read_version), for a caller whose rights have bounds: both the version asked for and the current one must lie
    /// within them, and one that is deleted is for those alone who may see certificates in every state. Contract 7.4.
    fn read_version_within(
        &self,
        context: &RequestContext,
        grants: &CallerGrants,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<ReadVersion, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(missing)?;
        let hidden = || outside(format!("Composition/{id}"));
        // How many versions a certificate has is not for those who may not see it.
        let found = self.engine.read(id, None, |newest| {
            let version =
                version.map(|version| newest.read(Some(version), |entry| Ok((begin(context, entry)?, entry.row()?))));
            Ok((newest.effective_row()?, version.transpose()?.flatten()))
        });
        let (effective_row, found) = found.map_err(unreadable)?.ok_or_else(missing)?;
        let current = effective_row.row.as_ref().filter(|row| grants.visible(PermittedAction::Read, id, row).is_some());
        let current = current.ok_or_else(hidden)?;
        if effective_row.state == State::Deleted && !grants.rights.is_bound_by_consent_only(PermittedAction::Read) {
            return Err(hidden());
        }
        let Some(((stored, is_left), row)) = found else { return Err(no_version(instance, version)) };
        if stored.state == State::Deleted {
            return Err(deleted(id));
        }
        let view = row.and_then(|row| grants.view_of_version(id, (current, effective_row.state), &row));
        Ok(ReadVersion { stored, is_left, view: view.ok_or_else(hidden)? })
    }

    async fn shown(&self, context: &RequestContext, read: ReadVersion) -> Result<Answer, Outcome> {
        let ReadVersion { mut stored, is_left, view } = read;
        let hit = Hit { id: stored.id, version: stored.version };
        let version = Some((stored.version, stored.stamp.milliseconds));
        let shown = ShownVersions::One(hit);
        if context.has(stored.version, stored.stamp.milliseconds) {
            return Ok(Answer { status: 304, version, shown, ..Answer::default() });
        }
        if context.subset == Subset::Count {
            let issue = Issue::new(Hcert::SearchValueWrong).with("name", "_summary").with("value", "count");
            return Err(issue.with("expected", "true, text, data or false on a read").at("http._summary").into());
        }
        if is_left {
            let engine = self.engine.clone();
            let expand = move || engine.compressed(hit).and_then(|version| version.expand());
            let expanded = Box::pin(in_turn(&self.large_reads, context.turn_client(), expand));
            stored = expanded.await?.map_err(unreadable)?;
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
