//! Which closed certificates are hidden from a caller, as far as consent and the author decide it.

use super::term::Term;
use crate::Consent;

/// Closed certificates that a caller does not see, by the consent that holds and by the author of the newest row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenCertificates {
    /// Consents under which the certificates of other authors are hidden.
    pub of_others: Vec<Consent>,
    /// Consents under which the caller's own certificates are hidden.
    pub own: Vec<Consent>,
    /// The term that rows of the caller's own certificates carry.
    pub hand: Term,
}

impl HiddenCertificates {
    /// Whether the caller sees every certificate, whatever its consent.
    pub fn is_none(&self) -> bool {
        self.of_others.is_empty() && self.own.is_empty()
    }
}
