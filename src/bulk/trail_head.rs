//! The head of the audit trail, kept in the store: it shows a trail that is shorter than it was. Contract 7.8.

use super::import::refused_words;
use super::write_down;
use crate::audit::{AuditAction, AuditEvent, AuditTrail, ChainHead, SET_BACK};
use base::number::counted;
use certificate::Seq;
use engine::{AuditHead, Engine, IdsLeftOut};

/// Hands the newest durable event over to the store, unless it is `kept` there already or the trail is not what it should be. Returns what the
/// store has then.
///
/// # Errors
/// The store cannot be written.
pub async fn keep_trail_head(
    engine: &Engine,
    trail: &AuditTrail,
    kept: Option<ChainHead>,
) -> Result<Option<ChainHead>, String> {
    let Some(head) = trail.head_to_keep().filter(|head| Some(*head) != kept) else { return Ok(kept) };
    let done = engine.append(AuditHead(head.to_string())).await;
    done.map_err(|_| "the engine was closed".to_owned())?.map_err(refused_words)?;
    Ok(Some(head))
}

/// As [`keep_trail_head`], for a command that has opened the data folder to write.
///
/// # Errors
/// As there.
pub fn hand_head_over(engine: &Engine, trail: &AuditTrail) -> Result<(), String> {
    let Some(head) = trail.head_to_keep() else { return Ok(()) };
    let done = engine.append(AuditHead(head.to_string())).blocking_recv();
    done.map_err(|_| "the engine was closed".to_owned())?.map_err(refused_words)
}

/// Goes on with a store that lacks changes which its trail names, as an operator decides: the trail says so, and the ids that these changes
/// may have given are left out.
///
/// # Errors
/// The trail or the store cannot be written, in words.
pub fn accept_lost(engine: &Engine, trail: &AuditTrail, now: i64) -> Result<(), String> {
    let (known, stored) = (trail.last_change().unwrap_or(Seq(0)), engine.seq());
    if known <= stored {
        return Ok(());
    }
    let done = engine.append(IdsLeftOut(known.0 - stored.0)).blocking_recv();
    done.map_err(|_| "the engine was closed".to_owned())?.map_err(refused_words)?;
    let mut event = AuditEvent::new(AuditAction::Restore, now);
    let changes = counted(known.0, "change", "changes");
    event.note = Some(format!("the trail knows {changes}, the store has {stored}: {SET_BACK}"));
    event.change = Some(stored);
    trail.append(&event).map(drop).map_err(|failing| failing.to_string())
}

/// Takes the trail as it is, and tells so in it. Returns a line for the operator.
///
/// # Errors
/// The trail or the store cannot be written, in words.
pub fn accept_trail(engine: &Engine, trail: &AuditTrail) -> Result<String, String> {
    let known = engine.audit_head().map_err(|error| error.to_string())?;
    let lacks =
        known.map_or("the store knew no head of it".to_owned(), |known| format!("the store knew the head {known}"));
    write_down(trail, AuditAction::AuditAccept, "hcert audit accept", Some(lacks), None)?;
    trail.accept();
    hand_head_over(engine, trail)?;
    Ok(format!("the audit trail is taken as it is; head {}", trail.head()))
}
