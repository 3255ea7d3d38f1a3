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
    /// FHIR `create`: the first version of a new certificate.
    Create {
        /// The content of the first version.
        content: VersionContent,
        /// `If-None-Exist`: a current certificate with this term makes the create a no-op. Contract 2.5.
        /// One outside of `rows` does not count.
        if_none_exist: Option<Term>,
        /// Rights of who asks. Only certificates within them count for `if_none_exist`.
        rows: Option<Arc<Filter>>,
    },
    /// FHIR `update`, `$suspend` or `$cancel`: a new version of a certificate that is there.
    Update {
        /// Id of the certificate to change.
        id: Id,
        /// The content of the new version.
        content: VersionContent,
        /// `If-Match`: the newest version must meet it. Contract 2.5.
        if_match: Option<Precondition>,
        /// The version that `content` was made from, when it was: another one now bounces the request.
        base: Option<Version>,
        /// Rights of who asks, which the current row must meet.
        rows: Option<Arc<Filter>>,
    },
    /// FHIR `delete`: a tombstone becomes the newest version.
    Delete {
        /// Id of the certificate to delete.
        id: Id,
        /// `If-Match`: the newest version must meet it. Contract 2.5.
        if_match: Option<Precondition>,
        /// Who deletes the certificate.
        who: Actor,
        /// Rights of who asks, which the current row must meet.
        rows: Option<Arc<Filter>>,
    },
    /// Contract 7.6: no new version. What is None stays.
    Consent {
        /// Id of the certificate whose consent changes.
        id: Id,
        /// The new consent for those who treat, as [`certificate::Consent::doctor`].
        doctor: Option<Openness>,
        /// The new consent for representatives, as [`certificate::Consent::representative`].
        representative: Option<Openness>,
        /// `If-Match`: the newest version must meet it. Contract 2.5.
        if_match: Option<Precondition>,
        /// Who changes the consent.
        who: Actor,
        /// Rights of who asks, which the current row must meet.
        rows: Option<Arc<Filter>>,
    },
}

/// A certificate's new content.
#[derive(Clone, Debug)]
pub struct VersionContent {
    /// Update, `$suspend` and `$cancel` differ in what they need.
    pub trigger: Trigger,
    /// What the request brings, by which the table of transitions decides.
    pub brings: Need,
    /// The bytes behind the head ([`certificate::head::tail`]).
    pub tail: Vec<u8>,
    /// The index row of this content.
    pub row: Row,
    /// Who makes the version.
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
    /// Roles as the token spells them, separated by spaces.
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
    /// Given name of the person, as the token has it.
    pub given_name: Option<String>,
    /// Family name of the person, as the token has it.
    pub family_name: Option<String>,
    /// Registry code of whom the person stands for.
    pub represented_party: Option<String>,
    /// Of the token: first digits of its hash.
    pub session: Option<String>,
    /// IP address, as text.
    pub address: Option<String>,
    /// As claimed by `x-road-client`, `x-road-issue`, `x-road-userid`.
    pub x_road_client: Option<String>,
    /// As claimed by the header `x-road-issue`.
    pub x_road_issue: Option<String>,
    /// As claimed by the header `x-road-userid`.
    pub x_road_userid: Option<String>,
    /// Names of the headers of X-Road that were dropped.
    pub x_road_dropped: Option<String>,
    /// The caller's software, as the token names it.
    pub application: Option<String>,
    /// `If-None-Exist`, as it was sent.
    pub condition: Option<String>,
    /// What that asks for, decoded: `system|value`.
    pub condition_identifier: Option<String>,
    /// Certificates that had it, id and version each (`3/1`), separated by spaces; also those that were hidden from who acts.
    pub condition_certificates: Option<String>,
}

/// An acknowledged change: durable, and seen by every search from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgedChange {
    /// Id of the certificate.
    pub id: Id,
    /// The version that was made; the newest one where none was made.
    pub version: Version,
    /// Of the change; of the version where nothing changed.
    pub stamp: Stamp,
    /// State after that version.
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
    /// Id of the certificate, which stays.
    pub id: Id,
    /// Version of the certificate, which stays.
    pub version: Version,
    /// When the version was made, in the store that it comes from.
    pub stamp: Stamp,
    /// `Deleted` for a tombstone, which has no content.
    pub state: State,
    /// Bytes behind the head and index row.
    pub content: Option<(Vec<u8>, Row)>,
}

/// What became of one imported version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The version was new here and was stored.
    Stored,
    /// The same version was there already.
    Identical,
    /// Not taken, and why.
    Bad(String),
}
