//! Changes on their way to the writer: one call for all of them, each with an answer of its own.

use std::sync::atomic::Ordering;
use std::sync::mpsc::TrySendError;

use tokio::sync::oneshot;

use super::store::record::{EntryDraft, FieldTag};
use super::writer::{AnswerSender, Job, Prepared};
use super::{Engine, EngineShared, actor, subject};
use crate::limits::{BIRTH_DATE_DAYS_MAX, IMPORT_ID_MAX, OVERLAY_ROWS_MAX};
use crate::{
    AcknowledgedChange, ClockDecision, Imported, ImportedVersion, ListChange, PatientWrite, PatientWritten,
    RefusedChange, Write,
};
use certificate::State;
use sealed::{Drafted, Drafter};

/// What can be appended: a [`Write`] of a certificate, an [`ImportBatch`], [`PatientWrites`], changes of the code lists (all of them or
/// none), a [`ClockDecision`], an [`AuditHead`], or [`IdsLeftOut`].
pub trait Change: sealed::IntoJob<Self::Answer> {
    /// What the caller is told once the change is durable and every search sees it.
    type Answer;
}

impl Change for Write {
    type Answer = AcknowledgedChange;
}

/// Versions of an import, ready for the writer. They are stored in one batch; each is told what became of it.
pub struct ImportBatch(Vec<(EntryDraft, ImportedVersion)>);

impl Change for ImportBatch {
    type Answer = Vec<Imported>;
}

/// Versions of patients: all of them are stored, in their order, or none.
pub struct PatientWrites {
    /// What is written.
    pub writes: Vec<PatientWrite>,
    /// They wait where too much is waiting, instead of being refused: for commands of an operator.
    pub waits: bool,
}

impl Change for PatientWrites {
    type Answer = Vec<PatientWritten>;
}

impl Change for Vec<ListChange> {
    type Answer = ();
}

impl Change for ClockDecision {
    type Answer = ();
}

/// The newest durable event of the audit trail, as text, so that a trail that is shorter than it was can be told. Contract 7.8.
pub struct AuditHead(pub String);

impl Change for AuditHead {
    type Answer = ();
}

/// How many of the next ids no create gives, since changes that were lost may have given them.
pub struct IdsLeftOut(pub u64);

impl Change for IdsLeftOut {
    type Answer = ();
}

impl Engine {
    /// Hands a change over. The answer comes when it is durable, and every search sees it.
    pub fn append<C: Change>(&self, change: C) -> oneshot::Receiver<Result<C::Answer, RefusedChange>> {
        let (answer, receiver) = oneshot::channel();
        self.enqueue(change.into_job(Drafter(&self.shared), answer).0);
        receiver
    }

    /// Compresses versions of an import on the caller's thread, so that several threads can share the work.
    pub fn prepare_import(&self, versions: Vec<ImportedVersion>) -> ImportBatch {
        let draft = |import: &ImportedVersion| {
            let content = import.content.as_ref().map(|(tail, row)| (tail.as_slice(), row));
            let mut draft = self.shared.draft(import.state, content);
            draft.push(FieldTag::Imported, b"");
            draft
        };
        ImportBatch(versions.into_iter().map(|import| (draft(&import), import)).collect())
    }

    fn enqueue(&self, job: Job) {
        let queue = self.queue.lock().expect("no holder of this lock can panic").clone();
        let Some(queue) = queue else { return job.refuse(RefusedChange::Closed) };
        if self.shared.overlay_rows.load(Ordering::Acquire) > OVERLAY_ROWS_MAX && job.may_be_refused() {
            return job.refuse(RefusedChange::Busy);
        }
        // Counted first, or the writer might take it off before it is on.
        self.shared.queued.fetch_add(1, Ordering::AcqRel);
        let refused = if job.may_be_refused() {
            queue.try_send(job).map_err(|error| match error {
                TrySendError::Full(job) => (job, RefusedChange::Busy),
                TrySendError::Disconnected(job) => (job, RefusedChange::Closed),
            })
        } else {
            queue.send(job).map_err(|failed| (failed.0, RefusedChange::Closed))
        };
        if let Err((job, why)) = refused {
            self.shared.queued.fetch_sub(1, Ordering::AcqRel);
            job.refuse(why);
        }
    }
}

mod sealed {
    use super::{AnswerSender, EngineShared, Job};

    /// What drafts are made with.
    #[derive(Clone, Copy)]
    pub struct Drafter<'e>(pub(super) &'e EngineShared);

    /// A change as the writer gets it.
    pub struct Drafted(pub(super) Job);

    /// Drafts a change, on the caller's thread.
    pub trait IntoJob<A> {
        fn into_job(self, drafter: Drafter<'_>, answer: AnswerSender<A>) -> Drafted;
    }
}

impl sealed::IntoJob<AcknowledgedChange> for Write {
    fn into_job(self, Drafter(shared): Drafter<'_>, answer: AnswerSender<AcknowledgedChange>) -> Drafted {
        let draft = match &self {
            Write::Create { content, .. } | Write::Update { content, .. } => {
                let mut draft = shared.draft(content.row.class.state, Some((&content.tail, &content.row)));
                actor::encode(&content.who, &mut draft.fields);
                if let Some(subject) = &content.subject {
                    draft.push(FieldTag::Subject, &subject::encode(subject));
                }
                draft
            }
            Write::Delete { who, .. } | Write::Consent { who, .. } => {
                let mut draft = shared.draft(State::Deleted, None);
                actor::encode(who, &mut draft.fields);
                draft
            }
        };
        Drafted(Job::Write(Box::new(Prepared { write: self, draft, answer, has_waited: false })))
    }
}

impl sealed::IntoJob<Vec<Imported>> for ImportBatch {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<Vec<Imported>>) -> Drafted {
        Drafted(Job::Import { versions: self.0, answer })
    }
}

impl sealed::IntoJob<Vec<PatientWritten>> for PatientWrites {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<Vec<PatientWritten>>) -> Drafted {
        let PatientWrites { writes, waits } = self;
        for write in &writes {
            assert!(write.id.is_none_or(|id| id.get() <= IMPORT_ID_MAX), "ids are bounded where they are read");
            let born = write.facts.born.unwrap_or_default();
            let is_possible = born.0 <= born.1 && born.0 > i32::MIN && born.1 - born.0 <= BIRTH_DATE_DAYS_MAX;
            assert!(is_possible, "a birth date means the days of a year at most");
        }
        Drafted(Job::Patients { writes, waits, answer })
    }
}

impl sealed::IntoJob<()> for Vec<ListChange> {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<()>) -> Drafted {
        Drafted(Job::Lists { changes: self, answer })
    }
}

impl sealed::IntoJob<()> for ClockDecision {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<()>) -> Drafted {
        Drafted(Job::Clock { decision: self, answer })
    }
}

impl sealed::IntoJob<()> for AuditHead {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<()>) -> Drafted {
        Drafted(Job::AuditHead { head: self.0, answer })
    }
}

impl sealed::IntoJob<()> for IdsLeftOut {
    fn into_job(self, _: Drafter<'_>, answer: AnswerSender<()>) -> Drafted {
        Drafted(Job::IdsLeftOut { ids: self.0, answer })
    }
}
