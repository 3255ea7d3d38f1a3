//! The fields of a certificate that have few values, taken together as one class.
//!
//! A whole country has some dozens of classes. A condition on status, category, type or profile, whatever its OR, `:not` or
//! `:missing`, is decided once per class instead of once per certificate, and the exact number of certificates that meet it is a
//! sum over classes.

use crate::{Consent, Profile, State};

/// One coding of `category` or `type`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassCoding {
    /// `Coding.system`, where the coding has one.
    pub system: Option<Box<str>>,
    /// `Coding.code`, where the coding has one.
    pub code: Option<Box<str>>,
}

/// Status, profile, category and type of one version, and the consent that holds for its certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// Never `Deleted`: a deleted certificate is found by no search.
    pub state: State,
    /// The profile that the version follows.
    pub profile: Profile,
    /// Open in a row as it was stored; the engine lays over it what holds.
    pub consent: Consent,
    /// Codings of `Composition.category`, in their order.
    pub category: Vec<ClassCoding>,
    /// Codings of `Composition.type`, in their order.
    pub kind: Vec<ClassCoding>,
}
