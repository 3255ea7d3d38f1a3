//! How much of a certificate a caller is shown. Contract 7.4, 7.5.

use std::sync::Arc;

use super::context::{RequestContext, Subset};
use super::grants::CallerGrants;
use super::read::reduced;
use super::service::{Service, unreadable};
use crate::access::rights::{CertificateView, PermittedAction, Scope};
use certificate::search::Hit;
use certificate::search::class::Class;
use certificate::search::row::Row;
use certificate::terminology::Terminology;
use certificate::{Id, Names, employer};
use engine::{AcknowledgedChange, CompressedVersion, Engine, StoreError, StoredVersion};
use fhir::json::{self, Json};
use fhir::outcome::Outcome;

/// Renders certificates as a caller may see them, on any thread.
pub(super) struct CertificateRenderer {
    engine: Arc<Engine>,
    names: Names,
    terminology: Arc<Terminology>,
    /// None: the view of everything is the same.
    grants: Option<Arc<CallerGrants>>,
    /// Where all are shown in one way.
    only: Option<CertificateView>,
    /// What state and category decide, where they alone do.
    by_class: Option<Scope>,
}

impl Service {
    pub(super) fn renderer(&self) -> CertificateRenderer {
        CertificateRenderer {
            engine: self.engine.clone(),
            names: self.settings.names.clone(),
            terminology: self.terminology(),
            grants: None,
            only: None,
            by_class: None,
        }
    }

    /// For the hits of a search; nothing where they are shown as they are stored.
    pub(super) fn renderer_of(&self, grants: &Arc<CallerGrants>, may: PermittedAction) -> Option<CertificateRenderer> {
        let scope = grants.scope(may);
        let only = scope.only_view();
        if only == Some(CertificateView::Full) {
            return None;
        }
        let by_class = Some(scope).filter(Scope::is_of_classes);
        Some(CertificateRenderer { grants: Some(grants.clone()), only, by_class, ..self.renderer() })
    }
}

impl Service {
    /// For the answer to a change of a certificate of which the permission for the change shows an employer's view.
    pub(super) fn employer_renderer(
        &self,
        context: &RequestContext,
        may: PermittedAction,
        id: Id,
    ) -> Result<Option<Box<CertificateRenderer>>, Outcome> {
        let Some(grants) = &context.grants else { return Ok(None) };
        let Some(renderer) = self.renderer_of(grants, may) else { return Ok(None) };
        let effective_row = self.engine.read(id, None, |entry| entry.effective_row()).map_err(unreadable)?;
        let view = effective_row.and_then(|effective_row| grants.visible(may, id, effective_row.row.as_ref()?));
        Ok((view != Some(CertificateView::Full)).then(|| Box::new(renderer)))
    }
}

impl CertificateRenderer {
    /// Appends a version as the caller is shown it.
    ///
    /// # Errors
    /// What is wrong with the store.
    pub(super) fn write(
        &self,
        version: &CompressedVersion,
        wanted: &Subset,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let start = out.len();
        let class = version.write_with_class(out)?;
        let hit = Hit { id: version.id, version: version.version };
        let shown = match (self.view(hit, class)?, wanted) {
            (CertificateView::Full, Subset::All) => return Ok(()),
            (CertificateView::Full, _) => out[start..].to_vec(),
            (CertificateView::Employer, _) => {
                let resource = out[start..].to_vec();
                let (id, version, state, stamp) = (version.id, version.version, version.state, version.stamp);
                self.employer(&StoredVersion { id, version, state, stamp, resource })?
            }
        };
        out.truncate(start);
        out.extend_from_slice(&reduced(shown, wanted));
        Ok(())
    }

    fn view(&self, hit: Hit, class: Option<Class>) -> Result<CertificateView, StoreError> {
        Ok(match (self.only, &self.grants) {
            (Some(view), _) => view,
            (None, Some(_)) if let (Some(scope), Some(class)) = (&self.by_class, class) => {
                let row =
                    Row { class: class.into(), last_updated: 0, date: None, period: None, title: None, terms: vec![] };
                scope.view(hit.id, &row).unwrap_or(CertificateView::Employer)
            }
            (None, Some(grants)) => {
                let row = self.engine.read(hit.id, Some(hit.version), |entry| entry.row())?.flatten();
                // What was a hit a moment ago and is none now is shown as little as can be.
                row.and_then(|row| grants.visible(PermittedAction::Read, hit.id, &row))
                    .unwrap_or(CertificateView::Employer)
            }
            (None, None) => CertificateView::Full,
        })
    }

    /// What an employer is shown of the version that a change made or met.
    pub(super) fn of_change(&self, written: &AcknowledgedChange, resource: Vec<u8>) -> Result<Vec<u8>, Outcome> {
        let AcknowledgedChange { id, version, state, stamp, .. } = *written;
        self.employer(&StoredVersion { id, version, state, stamp, resource }).map_err(unreadable)
    }

    /// What an employer is shown of a version.
    pub(super) fn employer(&self, stored: &StoredVersion) -> Result<Vec<u8>, StoreError> {
        let subject = self.engine.read(stored.id, Some(stored.version), |entry| entry.subject())?.flatten();
        let known = subject.iter().flat_map(|subject| &subject.identifiers);
        let estonian = known.into_iter().find(|(system, _)| system == self.names.identifiers.estonian_code());
        let identifier = estonian.map(|(system, value)| (system.as_str(), value.as_str()));
        let mut json = json::parse_stored(&stored.resource);
        if let Json::Object(composition) = &mut json {
            employer::show(composition, identifier, &self.names, &*self.terminology);
        }
        Ok(json.to_vec())
    }
}
