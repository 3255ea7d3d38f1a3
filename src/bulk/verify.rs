//! Store, index and audit trail checked together, for the command and for the running server alike.

use super::heads::{KnownHead, problems_of};
use crate::audit::{self, AuditAction, AuditEvent, AuditTrail, ChainHead};
use base::number::counted;
use certificate::{Names, Seq};
use engine::{Actor, ChangeAction, CommittedChange, Engine, StoreError, VerifyProgress, VerifyReport, system_clock};

/// Changes whose events a crash can keep out of the trail: those of the last moments.
const LOST_MAX: u64 = 1_000;

/// What the store says of the end of the trail, a note where there is one: changes are durable before their events are, and an import is
/// one event at its end.
///
/// # Errors
/// More is missing than a crash, or an import that was killed, can take.
pub fn beside_store(engine: &Engine, trail: &audit::TrailVerifyReport) -> Result<Option<String>, String> {
    let known = trail.last_change;
    if known > engine.seq() {
        return Err(format!(
            "the trail reports change {known}, and the store ends with {}: it was set back, and by no restore",
            engine.seq()
        ));
    }
    let missing = engine.seq().0.saturating_sub(known.0);
    if missing == 0 {
        return Ok(None);
    }
    let owed = match trail.has_open_import {
        true => owed(engine, known),
        false => Ok(missing),
    };
    match owed {
        // A trail without any event beside a store with changes was taken away.
        Ok(owed) if owed <= LOST_MAX && trail.events > 0 => {
            Ok(Some(format!("{} no event yet; the next start of the server writes them", changes_have(missing))))
        }
        Ok(_) => Err(format!("{} no event, more than a crash can take: the trail was cut", changes_have(missing))),
        Err(error) => Ok(Some(format!("the trail was not compared with the store: {error}"))),
    }
}

/// The problem of a data folder without an audit trail. None when its store has never had one.
pub fn missing_trail(engine: &Engine) -> Option<String> {
    match (engine.audit_head().ok().flatten(), engine.seq()) {
        (Some(head), _) => Some(format!("the audit trail is missing; the store knows that it reached {head}")),
        (None, Seq(0)) => None,
        (None, changes) => Some(format!("the audit trail is missing; {} no event", changes_have(changes.0))),
    }
}

fn changes_have(number: u64) -> String {
    counted(number, "change of the store has", "changes of the store have")
}

/// Changes behind one that have an event of their own, counted a little further than a crash can take them. What an import makes has
/// nobody who asked for it.
fn owed(engine: &Engine, mut after: Seq) -> Result<u64, StoreError> {
    let mut owed = 0;
    while owed <= LOST_MAX {
        let changes = engine.ledger().changes_after(after, LOST_MAX as usize)?;
        let Some(last) = changes.last() else { break };
        after = last.seq;
        let imported =
            |change: &&CommittedChange| change.action == ChangeAction::Import || change.who == Actor::default();
        owed += changes.iter().filter(|change| !imported(change)).count() as u64;
    }
    Ok(owed)
}

/// Checks the trail of a running server up to the event that says so. `head` must be part of it; `command` is who asks.
///
/// # Errors
/// The head is none, or the trail cannot be written or read.
pub fn verify_trail(
    engine: &Engine,
    trail: &AuditTrail,
    head: Option<&str>,
    command: &str,
) -> Result<audit::TrailVerifyReport, String> {
    let head = match head {
        Some(text) => Some(ChainHead::parse(text).ok_or("the head is not understood")?),
        None => None,
    };
    let event = AuditEvent::of_command(AuditAction::AuditVerify, system_clock()(), command);
    trail.append(&event).and_then(|_| trail.sync_now()).map_err(|failing| failing.to_string())?;
    trail.verify(head.as_slice(), &|change| super::hash_of_change(engine, change))
}

/// Checks the trail, where there is one, then everything the engine keeps, then what heads of earlier say of it. The end of the trail is
/// compared with the store unless a server writes both meanwhile; `trail` is told the heads of it.
///
/// # Errors
/// Something cannot be checked at all, in words.
pub fn verify(
    engine: &Engine,
    trail: impl FnOnce(&[ChainHead]) -> Result<Option<audit::TrailVerifyReport>, String>,
    (is_at_rest, heads): (bool, &[KnownHead]),
    names: &Names,
    report: &mut dyn FnMut(&VerifyProgress),
) -> Result<VerifyReport, String> {
    report(&VerifyProgress { part: "audit", at: 0, of: 1 });
    let (mut of_trail, mut of_logs) = (Vec::new(), Vec::new());
    for head in heads {
        match *head {
            KnownHead::Trail(head) => of_trail.push(head),
            KnownHead::Entry(head) => of_logs.push(head),
        }
    }
    let events = trail(&of_trail)?;
    let mut verified = engine.verify(names, report).map_err(|error| error.to_string())?;
    verified.add("log", problems_of(engine, &of_logs), 0, Vec::new());
    let beside = match events {
        Some(events) => {
            let beside = if is_at_rest { beside_store(engine, &events) } else { Ok(None) };
            let notes = events.remarks.into_iter().map(|remark| format!("audit trail: {remark}")).collect();
            verified.add("audit", events.problems, events.problems_untold as u64, notes);
            beside
        }
        None => match missing_trail(engine).filter(|_| is_at_rest) {
            Some(problem) => Err(problem),
            None => Ok(Some("there is no audit trail".to_owned())),
        },
    };
    match beside {
        Ok(note) => verified.add("audit", Vec::new(), 0, note.into_iter().collect()),
        Err(problem) => verified.add("audit", vec![problem], 0, Vec::new()),
    }
    Ok(verified)
}
