//! The rights that a caller holds.

use crate::access::rights::{CertificateView, OwnPatient, PermittedAction, Rights, Scope};
use certificate::search::row::Row;
use certificate::{Id, State};

/// Rights of the caller, with the patient the token is about where these matter.
#[derive(Clone, Debug)]
pub struct CallerGrants {
    pub rights: Rights,
    pub own: OwnPatient,
}

impl CallerGrants {
    pub fn scope(&self, may: PermittedAction) -> Scope {
        self.rights.scope(may, &self.own)
    }

    /// How an old version of a certificate is shown; nothing when it lies outside of the rights.
    pub fn view_of_version(&self, id: Id, current: (&Row, State), version: &Row) -> Option<CertificateView> {
        self.rights.view_of_version(&self.own, id, current, version)
    }
}

impl CallerGrants {
    /// How a certificate with this row is shown; nothing when it lies outside of the rights.
    pub fn visible(&self, may: PermittedAction, id: Id, row: &Row) -> Option<CertificateView> {
        match also(may) {
            Some(also) => self.scope(also).view(id, row).and_then(|_| self.scope(may).view(id, row)),
            None => self.scope(may).view(id, row),
        }
    }
}

/// What must be permitted too: consent may be asked and said of what may be read.
pub(super) fn also(may: PermittedAction) -> Option<PermittedAction> {
    matches!(may, PermittedAction::GetConsent | PermittedAction::SetConsent).then_some(PermittedAction::Read)
}
