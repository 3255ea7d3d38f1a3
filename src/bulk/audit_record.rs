//! Commands leave their event in the audit trail, as requests do. Contract 7.8.

use super::BulkProgress;
use crate::audit::{AuditAction, AuditEvent, AuditTrail};
use base::number::counted;
use certificate::Seq;
use engine::system_clock;

/// Writes down that a command was run, and makes it durable. `change` is the last change of an import, whose versions have no events of
/// their own.
///
/// # Errors
/// The trail takes nothing; what the event is about must not happen.
pub fn write_down(
    log: &AuditTrail,
    action: AuditAction,
    command: &str,
    note: Option<String>,
    change: Option<Seq>,
) -> Result<(), String> {
    let mut event = AuditEvent::of_command(action, system_clock()(), command);
    event.note = note;
    event.change = change;
    write_event_down(log, &event)
}

/// As [`write_down`], with all that an event says.
///
/// # Errors
/// As there.
pub fn write_event_down(log: &AuditTrail, event: &AuditEvent) -> Result<(), String> {
    let written = log.append(event).and_then(|_| log.sync_now());
    written.map_err(|failing| format!("the audit trail cannot be written: {failing}"))
}

/// Writes down that a command made a token: for whom, in which role.
///
/// # Errors
/// As [`write_down`].
pub fn write_token_down(
    log: &AuditTrail,
    person: String,
    role: String,
    organization: Option<String>,
) -> Result<(), String> {
    let mut event = AuditEvent::of_command(AuditAction::TokenIssue, system_clock()(), "hcert token");
    event.who.person = Some(person);
    event.who.roles = vec![role];
    event.who.organization = organization;
    write_event_down(log, &event)
}

/// What an import did, for its event.
pub fn note(done: &Result<BulkProgress, String>) -> String {
    match done {
        Ok(BulkProgress { lines, stored, identical, bad, .. }) => {
            format!("{}: {stored} stored, {identical} there already, {bad} not taken", counted(*lines, "line", "lines"))
        }
        Err(_) => "ended early".to_owned(),
    }
}
