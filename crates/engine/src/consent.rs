//! Consent as it is kept: every change of it with who and when, counted for each certificate from 1.

use super::Actor;
use certificate::{Consent, Seq, Stamp, Version};

/// One change of a certificate's consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentRecord {
    /// Counts the changes of this certificate's consent, from 1.
    pub number: u32,
    /// Number of this change in the store, over all certificates.
    pub seq: Seq,
    /// The certificate's newest version then.
    pub version: Version,
    /// What holds from this change on.
    pub consent: Consent,
    /// When the consent was changed.
    pub stamp: Stamp,
    /// Who changed the consent.
    pub who: Actor,
}
