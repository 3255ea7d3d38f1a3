//! What waits for the writer, and who waits for it.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::embedded::store::StoreError;
use crate::embedded::store::record::EntryDraft;
use crate::{
    AcknowledgedChange, ClockDecision, Imported, ImportedVersion, ListChange, PatientWrite, PatientWritten,
    RefusedChange, Write,
};

pub(crate) type AnswerSender<T> = oneshot::Sender<Result<T, RefusedChange>>;

/// A write with its compressed body.
pub(crate) struct Prepared {
    pub write: Write,
    /// Of a change of consent only the fields count.
    pub draft: EntryDraft,
    pub answer: AnswerSender<AcknowledgedChange>,
    /// It was put off once, since the certificate had a version of the same millisecond.
    pub has_waited: bool,
}

/// What waits for the writer.
pub(crate) enum Job {
    Write(Box<Prepared>),
    Import {
        versions: Vec<(EntryDraft, ImportedVersion)>,
        answer: AnswerSender<Vec<Imported>>,
    },
    Lists {
        changes: Vec<ListChange>,
        answer: AnswerSender<()>,
    },
    Patients {
        writes: Vec<PatientWrite>,
        /// For a place in the queue, instead of being refused.
        waits: bool,
        answer: AnswerSender<Vec<PatientWritten>>,
    },
    Clock {
        decision: ClockDecision,
        answer: AnswerSender<()>,
    },
    /// The head of the audit trail, as text.
    AuditHead {
        head: String,
        answer: AnswerSender<()>,
    },
    IdsLeftOut {
        ids: u64,
        answer: AnswerSender<()>,
    },
}

impl Job {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Job::Write(prepared) => prepared.draft.bytes(),
            Job::Import { versions, .. } => versions.iter().map(|(draft, _)| draft.bytes()).sum(),
            Job::Lists { changes, .. } => changes.iter().map(ListChange::bytes).sum(),
            Job::Patients { writes, .. } => writes.iter().map(PatientWrite::bytes).sum(),
            Job::Clock { .. } | Job::AuditHead { .. } | Job::IdsLeftOut { .. } => 0,
        }
    }

    /// An operator's command waits its turn; a caller of the service is told to come again.
    pub(crate) fn may_be_refused(&self) -> bool {
        matches!(self, Job::Write(_) | Job::Patients { waits: false, .. })
    }

    pub(crate) fn refuse(self, refused: RefusedChange) {
        // A caller who went away needs no answer.
        match self {
            Job::Write(prepared) => drop(prepared.answer.send(Err(refused))),
            Job::Import { answer, .. } => drop(answer.send(Err(refused))),
            Job::Lists { answer, .. } => drop(answer.send(Err(refused))),
            Job::Patients { answer, .. } => drop(answer.send(Err(refused))),
            Job::Clock { answer, .. } | Job::AuditHead { answer, .. } | Job::IdsLeftOut { answer, .. } => {
                drop(answer.send(Err(refused)));
            }
        }
    }
}

/// Who waits for a job, and what it is told once it is stored.
pub(super) enum Reply {
    Write(AnswerSender<AcknowledgedChange>, Result<AcknowledgedChange, RefusedChange>),
    Import(AnswerSender<Vec<Imported>>, Vec<Imported>),
    /// Code lists, the clock, the head of the audit trail, or ids that are left out.
    Done(AnswerSender<()>),
    Patients(AnswerSender<Vec<PatientWritten>>, Vec<PatientWritten>),
}

/// Notes who waits for a job that is done, or that the store failed: then `nothing` stands where its result would.
pub(super) fn keep<T>(
    replies: &mut Vec<Reply>,
    done: Result<T, StoreError>,
    reply: impl FnOnce(T) -> Reply,
    nothing: T,
) -> Result<(), StoreError> {
    let (value, result) = match done {
        Ok(value) => (value, Ok(())),
        Err(error) => (nothing, Err(error)),
    };
    replies.push(reply(value));
    result
}

impl Reply {
    pub(super) fn send(self) {
        // A caller who went away needs no answer.
        match self {
            Reply::Write(answer, result) => drop(answer.send(result)),
            Reply::Import(answer, imported) => drop(answer.send(Ok(imported))),
            Reply::Done(answer) => drop(answer.send(Ok(()))),
            Reply::Patients(answer, written) => drop(answer.send(Ok(written))),
        }
    }

    pub(super) fn fail(self, error: &Arc<StoreError>) {
        match self {
            Reply::Write(answer, _) => drop(answer.send(Err(RefusedChange::Store(error.clone())))),
            Reply::Import(answer, _) => drop(answer.send(Err(RefusedChange::Store(error.clone())))),
            Reply::Done(answer) => drop(answer.send(Err(RefusedChange::Store(error.clone())))),
            Reply::Patients(answer, _) => drop(answer.send(Err(RefusedChange::Store(error.clone())))),
        }
    }
}
