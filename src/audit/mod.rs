//! The audit trail: who saw and did what, in files of its own that are only ever appended to. Contract 7.8.
//!
//! Every event is chained to the one before by a hash, so that nothing can be changed or taken out without [`verify`] telling.
//! `docs/AUDIT.md` describes the files byte by byte.

mod copy;
mod disk;
pub mod encoding;
mod event;
mod event_filter;
mod follow;
mod head;
pub mod header;
mod index;
mod keeper;
mod key;
pub mod limits;
mod log;
mod opening;
mod operator;
mod read;
pub mod resource;
mod seal;
mod search;
mod source;
#[cfg(test)]
mod tests;
mod timeline;
mod trail;
mod verify;
pub mod words;
mod writer;

pub use copy::{
    ComparedEvent, CopiedTrail, CopiedTrailFile, TRAIL_DAMAGED, clear_from, events_from, files_at_rest, is_file_name,
    put_back, sealed_until,
};
pub use disk::folder;
pub use event::{
    AuditAction, AuditEvent, AuthenticationMethod, ChangeFacts, Entity, EventAgent, RequestSource, with_its_end_told,
};
pub use event_filter::{Agent, AuditedEntity, EventFilter, EventResult, PatientOf};
pub use head::{ChainHead, Hash, Number};
pub use index::Subjects;
pub use journal::record;
pub use key::{EventKey, NamedCollector, NamedKeys, identifier, of_personal_code};
pub use log::{AuditTrail, TrailHealth};
pub use operator::SystemUser;
pub use read::{EventOrder, Events};
pub use resource::{RESTFUL, SEVERITY, action_system, resource};
pub use search::{EventPage, EventSearch};
pub use source::{EventBatch, EventSource, FollowPosition};
pub use timeline::SET_BACK;
pub use trail::{TRAIL_FORMAT, TrailFile, TrailFiles};
pub use verify::{StoreBeside, TrailVerifyReport, verify, verify_with};
pub use writer::{AuditClock, RetentionLimit, TrailOptions, TrailState, TrailWriteError};
