//! What the trail tells of the course of its store: whether it was set back by hand, which leaves changes that were told in no store.

use super::disk::Name;
use super::{AuditAction, AuditEvent, Number};

/// How a start ends its note about a store that knows less than the trail.
pub const SET_BACK: &str = "it was set back, and by no restore";

/// What a walk over events finds.
#[derive(Debug, Default)]
pub(super) struct StoreCourse {
    /// A store that nobody restored was found to be set back, and nobody has accepted that since: in words.
    pub set_back: Option<String>,
}

impl StoreCourse {
    /// Takes the next event.
    pub(super) fn event(&mut self, file: Name, number: Number, event: AuditEvent) {
        match event.action {
            AuditAction::AuditAccept => self.set_back = None,
            AuditAction::Restore => {
                if let Some(note) = event.note.filter(|note| note.ends_with(SET_BACK)) {
                    self.set_back = Some(format!("{file}: number {} tells that {note}", number.0));
                }
            }
            _ => {}
        }
    }
}

/// What a search for it asks.
pub(super) const TELLING: [AuditAction; 2] = [AuditAction::Restore, AuditAction::AuditAccept];
