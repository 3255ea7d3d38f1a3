//! Who must know of every change: the audit trail. It is told behind the commit and before anyone is answered, and can ask again for
//! what it missed.

use super::{Actor, ClockProblem, EntryHash, VersionSubject};
use certificate::consent::Consent;
use certificate::{Id, Seq, State, Version};

/// Is told of changes, on the writer's thread: the next commit waits until it returns.
pub trait Witness: Send + Sync {
    /// Changes of one commit, in the order of their numbers. They are durable, and nobody was answered yet.
    fn committed(&self, changes: &[CommittedChange]);

    /// The system clock is not believed any more, or is again.
    fn clock(&self, event: &ClockEvent);
}

/// The beginning or the end of a time in which the system clock is not believed and changes are refused. Contract 10.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEvent {
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
    /// What the system clock said when the change was made, milliseconds since 1970 UTC. Told again after a crash: its time stamp.
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
