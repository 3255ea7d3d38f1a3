//! What the ledger reports about changes, and the engine about the clock: who must know of both is the audit trail, which asks for them.

use super::{Actor, ClockProblem, EntryHash, VersionSubject};
use certificate::consent::Consent;
use certificate::{Id, Seq, State, Version};

/// The beginning or the end of a time in which the system clock is not believed and changes are refused. Contract 10.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEvent {
    /// Counted from 1 since the store was opened.
    pub number: u64,
    /// What the system clock said then, milliseconds since 1970 UTC.
    pub at: i64,
    /// Nothing at the end.
    pub problem: Option<ClockProblem>,
}

/// A change that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedChange {
    /// Number of the change, over all certificates.
    pub seq: Seq,
    /// Hash of the change and of all before it.
    pub hash: EntryHash,
    /// Id of the certificate that was changed.
    pub id: Id,
    /// The version that was made; for a consent the newest one then.
    pub version: Version,
    /// State of that version.
    pub state: State,
    /// Its time stamp, milliseconds since 1970 UTC.
    pub at: i64,
    /// The request that made the change.
    pub action: ChangeAction,
    /// What holds from now on, where consent was changed.
    pub consent: Option<Consent>,
    /// Who made the change.
    pub who: Actor,
    /// The registry's id of the patient, such as `200`, where the registry was asked.
    pub patient: Option<String>,
    /// The patient of the version before, where that was another one: the change took the certificate from them.
    pub moved_from: Option<VersionSubject>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAction {
    /// FHIR `create`.
    Create,
    /// FHIR `update`.
    Update,
    /// Operation `$suspend`.
    Suspend,
    /// Operation `$cancel`.
    Cancel,
    /// FHIR `delete`.
    Delete,
    /// A change of consent, which makes no version. Contract 7.6.
    Consent,
    /// A version that an import brought.
    Import,
}

impl ChangeAction {
    /// What led to a version, where it was no import: only `$suspend` leads to *Suspended*, only `$cancel` to *Revoked*.
    pub fn of(version: Version, state: State) -> ChangeAction {
        match state {
            State::Deleted => ChangeAction::Delete,
            State::Suspended => ChangeAction::Suspend,
            State::Revoked => ChangeAction::Cancel,
            State::Draft | State::Completed if version == Version::FIRST => ChangeAction::Create,
            State::Draft | State::Completed => ChangeAction::Update,
        }
    }
}
