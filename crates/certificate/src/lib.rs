//! The domain, pure: what a certificate is, which state it is in, and which move is allowed.

#![deny(missing_docs)]
// Both panic when nobody reads any more.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod condition;
pub mod consent;
pub mod definitions;
pub mod employer;
pub mod head;
pub mod names;
pub mod narrative;
pub mod personal_code;
pub mod profile;
pub mod renaming;
pub mod search;
pub mod section;
pub mod state;
pub mod terminology;
pub mod terms;
pub mod transition;
pub mod usable;
pub mod validation;

use std::fmt;
use std::num::NonZeroU64;

pub use condition::{EntityTag, Precondition};
pub use consent::{Consent, Openness};
pub use head::Stamp;
pub use names::{IdentifierSystems, Names};
pub use personal_code::{PersonalCode, PersonalCodeError, Sex};
pub use profile::Profile;
pub use renaming::Renaming;
pub use state::{State, Status};
pub use terms::DisplayTerms;

/// A certificate's id: a decimal number, counted up by the store and never used again. Contract 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZeroU64);

impl Id {
    /// The smallest id, 1.
    pub const FIRST: Id = Id(NonZeroU64::MIN);

    /// Reads the canonical form only: `7`, but not `007`, `+7` or `7.0`.
    pub fn parse(text: &str) -> Option<Id> {
        canonical(text).and_then(NonZeroU64::new).map(Id)
    }

    /// The id with this number; nothing for 0.
    pub fn new(number: u64) -> Option<Id> {
        NonZeroU64::new(number).map(Id)
    }

    /// The id as a number, 1 or more.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The id counted up by one. Ids that are given are bounded far below the largest number, behind which there is none.
    pub fn next(self) -> Id {
        Id(self.0.saturating_add(1))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Number of one certificate's version, from 1 without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The version that a `create` makes, 1.
    pub const FIRST: Version = Version(1);

    /// Reads the canonical form only, as [`Id::parse`].
    pub fn parse(text: &str) -> Option<Version> {
        canonical(text).and_then(|number| u32::try_from(number).ok()).and_then(Version::new)
    }

    /// The version with this number; nothing for 0.
    pub fn new(number: u32) -> Option<Version> {
        (number > 0).then_some(Version(number))
    }

    /// The version as a number, 1 or more.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The version after this one.
    ///
    /// # Panics
    /// After version 4,294,967,295.
    pub fn next(self) -> Version {
        Version(self.0.checked_add(1).expect("four thousand million versions of one certificate are never reached"))
    }

    /// The version before; nothing before the first.
    pub fn before(self) -> Option<Version> {
        Version::new(self.0 - 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Number of a change in the store, over all certificates, from 1 without gaps; 0 is the empty store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// The number of the change after this one.
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

fn canonical(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_an_id() {
        assert_eq!(Id::parse("20695").map(Id::get), Some(20695));
        for text in ["", "0", "007", "+7", "-7", " 7", "7.0", "1e3", "18446744073709551616", "abc"] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
        assert_eq!(Version::parse("99999999999"), None);
        assert_eq!(Version::parse("01"), None);
    }
}
