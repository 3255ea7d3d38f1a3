//! What can be asked of the writer, and what it answers.

use std::sync::Arc;

use super::embedded::StoreError;
use certificate::search::filter::Filter;
use certificate::search::row::Row;
use certificate::search::term::Term;
use certificate::transition::{Need, Trigger};
use certificate::{Consent, Id, Openness, Precondition, Stamp, State, Version};
use fhir::outcome::Outcome;

/// A change of one certificate, prepared before the queue: read, checked and compressed.
///
/// `rows` are the rights of who asks: the certificate's current row, with the consent of that very moment, must meet them. None:
/// whatever it is.
#[derive(Debug)]
pub enum Write {
    Create {
        content: VersionContent,
        /// `If-None-Exist`: a current certificate with this term makes the create a no-op. Contract 2.5.
        /// One outside of `rows` does not count.
        if_none_exist: Option<Term>,
        rows: Option<Arc<Filter>>,
    },
    Update {
        id: Id,
        content: VersionContent,
        if_match: Option<Precondition>,
        /// The version that `content` was made from, when it was: another one now bounces the request.
        base: Option<Version>,
        rows: Option<Arc<Filter>>,
    },
    Delete {
        id: Id,
        if_match: Option<Precondition>,
        who: Actor,
        rows: Option<Arc<Filter>>,
    },
    /// Contract 7.6: no new version. What is None stays.
    Consent {
        id: Id,
        doctor: Option<Openness>,
        representative: Option<Openness>,
        who: Actor,
        rows: Option<Arc<Filter>>,
    },
}

/// A certificate's new content.
#[derive(Clone, Debug)]
pub struct VersionContent {
    /// Update, `$suspend` and `$cancel` differ in what they need.
    pub trigger: Trigger,
    pub brings: Need,
    /// The bytes behind the head ([`certificate::head::tail`]).
    pub tail: Vec<u8>,
    pub row: Row,
    pub who: Actor,
    /// Nothing where the registry was not asked.
    pub subject: Option<VersionSubject>,
}

/// The patient a version is about, as the registry knew them when it was written. Kept with the version, not in the resource.
///
/// Source: Contract 6.1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionSubject {
    /// `200`
    pub id: String,
    /// The registry's version of the patient.
    pub version: String,
    /// System and value of each.
    pub identifiers: Vec<(String, String)>,
}

/// Who acts, as the version's header keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// Personal code.
    pub person: Option<String>,
    pub role: Option<String>,
    /// Registry code.
    pub organization: Option<String>,
    /// As claimed by `x-road-id`.
    pub x_road_id: Option<String>,
    /// The request's id.
    pub trace: Option<String>,
    /// Apart, since many changes have nothing of it.
    pub particulars: Option<Box<Particulars>>,
}

/// What else is known of who acts, for the audit trail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Particulars {
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    /// Registry code of whom the person stands for.
    pub represented_party: Option<String>,
    /// Of the token: first digits of its hash.
    pub session: Option<String>,
    /// IP address, as text.
    pub address: Option<String>,
    /// As claimed by `x-road-client`, `x-road-issue`, `x-road-userid`.
    pub x_road_client: Option<String>,
    pub x_road_issue: Option<String>,
    pub x_road_userid: Option<String>,
    /// Names of the headers of X-Road that were dropped.
    pub x_road_dropped: Option<String>,
    pub application: Option<String>,
}

/// An acknowledged change: durable, and seen by every search from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgedChange {
    pub id: Id,
    pub version: Version,
    /// Of the change; of the version where nothing changed.
    pub stamp: Stamp,
    pub state: State,
    /// False when nothing had to change: the certificate was there already, is deleted already, or the consent was so already.
    pub changed: bool,
    /// What holds for the certificate now.
    pub consent: Consent,
}

/// Why a change was not made.
#[derive(Debug)]
pub enum RefusedChange {
    /// By the rules; nothing changed.
    Rules(Outcome),
    /// Another certificate has the number: this one, in this version. Contract 3.9.
    NumberInUse(Id, Version),
    /// The certificate moved on since `base`; prepare again.
    Moved,
    /// The store failed.
    Store(std::sync::Arc<StoreError>),
    /// The system clock is not believed.
    Clock(super::ClockProblem),
    /// Too much is waiting.
    Busy,
    /// The engine is closed or closing.
    Closed,
}

impl From<Outcome> for RefusedChange {
    fn from(outcome: Outcome) -> Self {
        RefusedChange::Rules(outcome)
    }
}

/// A version of an import: it keeps id, version and time.
#[derive(Debug)]
pub struct ImportedVersion {
    pub id: Id,
    pub version: Version,
    pub stamp: Stamp,
    /// `Deleted` for a tombstone, which has no content.
    pub state: State,
    /// Bytes behind the head and index row.
    pub content: Option<(Vec<u8>, Row)>,
}

/// What became of one imported version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    Stored,
    /// The same version was there already.
    Identical,
    /// Not taken, and why.
    Bad(String),
}
