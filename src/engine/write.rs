//! What can be asked of the writer, and what it answers.

use super::embedded::Error;
use crate::certificate::transition::{Need, Trigger};
use crate::certificate::{Condition, Id, Stamp, State, Version};
use crate::outcome::Outcome;
use crate::search::row::Row;
use crate::search::term::Term;

/// A change of one certificate, prepared before the queue: read, checked and compressed.
#[derive(Debug)]
pub enum Write {
    Create {
        content: Content,
        /// `If-None-Exist`: a current certificate with this term makes the create a no-op. Contract 2.5.
        if_none_exist: Option<Term>,
    },
    Update {
        id: Id,
        content: Content,
        if_match: Option<Condition>,
        /// The version that `content` was made from, when it was: another one now bounces the request.
        base: Option<Version>,
    },
    Delete {
        id: Id,
        if_match: Option<Condition>,
        who: Who,
    },
}

/// A certificate's new content.
#[derive(Clone, Debug)]
pub struct Content {
    /// Update, `$suspend` and `$cancel` differ in what they need.
    pub trigger: Trigger,
    pub brings: Need,
    /// The bytes behind the head ([`crate::certificate::head::tail`]).
    pub tail: Vec<u8>,
    pub row: Row,
    pub who: Who,
    /// Nothing where the registry was not asked.
    pub subject: Option<Subject>,
}

/// The patient a version is about, as the registry knew them when it was written. Kept with the version, not in the resource.
///
/// Source: Contract 6.1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `200`
    pub id: String,
    /// The registry's version of the patient.
    pub version: String,
    /// System and value of each.
    pub identifiers: Vec<(String, String)>,
}

/// Who acts, as the version's header keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Personal code.
    pub person: Option<String>,
    pub role: Option<String>,
    /// Registry code.
    pub organization: Option<String>,
    /// As claimed by `x-road-id`.
    pub x_road_id: Option<String>,
    /// The request's id.
    pub trace: Option<String>,
}

/// An acknowledged change: durable, and seen by every search from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub id: Id,
    pub version: Version,
    pub stamp: Stamp,
    pub state: State,
    /// False when nothing had to change: the certificate was there already, or is deleted already.
    pub changed: bool,
}

/// Why a change was not made.
#[derive(Debug)]
pub enum Refused {
    /// By the rules; nothing changed.
    Rules(Outcome),
    /// The certificate moved on since `base`; prepare again.
    Moved,
    /// The store failed.
    Store(std::sync::Arc<Error>),
    /// Too much is waiting.
    Busy,
    /// The engine is closed or closing.
    Closed,
}

impl From<Outcome> for Refused {
    fn from(outcome: Outcome) -> Self {
        Refused::Rules(outcome)
    }
}

/// A version of an import: it keeps id, version and time.
#[derive(Debug)]
pub struct Import {
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
