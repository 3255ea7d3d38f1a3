//! The timeline of the store as the trail tells it: a store that was set back by hand lacks changes that the trail has told of.

use super::{AuditAction, AuditEvent, Number};

/// How a start ends its note about a store that knows less than the trail.
pub const SET_BACK: &str = "it was set back, and by no restore";

/// Whether an event tells that the store was set back by hand.
pub(super) fn is_set_back(event: &AuditEvent) -> bool {
    event.action == AuditAction::Restore && event.note.as_ref().is_some_and(|note| note.ends_with(SET_BACK))
}

/// What a walk over events, in their order, finds.
#[derive(Debug, Default)]
pub(super) struct StoreTimeline {
    set_back: Option<(Number, String)>,
}

impl StoreTimeline {
    /// The actions of all events that it looks at.
    pub(super) const ACTIONS: [AuditAction; 2] = [AuditAction::Restore, AuditAction::AuditAccept];

    /// Takes the next event.
    pub(super) fn event(&mut self, number: Number, event: AuditEvent) {
        match event.action {
            AuditAction::AuditAccept => self.set_back = None,
            _ if is_set_back(&event) => self.set_back = event.note.map(|note| (number, note)),
            _ => {}
        }
    }

    /// That the store was set back by hand and nobody has accepted it since, in words.
    pub(super) fn problem(&self) -> Option<String> {
        self.set_back.as_ref().map(|(number, note)| format!("number {} tells that {note}", number.0))
    }
}
