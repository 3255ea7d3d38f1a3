//! What an operator decides about the clock.

use super::import::refused_words;
use super::write_down;
use crate::audit::{AuditAction, AuditTrail};
use engine::{ClockDecision, ClockState, Engine};
use fhir::date_time;

/// Carries a decision out, and tells how the clock is then. The trail is told first.
///
/// # Errors
/// The trail or the store takes nothing, in words.
pub fn clock(engine: &Engine, trail: &AuditTrail, decision: Option<ClockDecision>) -> Result<ClockState, String> {
    if let Some(decision) = decision {
        let (action, command) = match decision {
            ClockDecision::Accept => (AuditAction::ClockAccept, "hcert clock accept"),
            ClockDecision::Reset => (AuditAction::ClockReset, "hcert clock reset"),
        };
        write_down(trail, action, command, Some(note(engine)), None)?;
        let decided = engine.append(decision).blocking_recv();
        decided.map_err(|_| "the engine was closed".to_owned())?.map_err(refused_words)?;
    }
    Ok(engine.clock())
}

/// Where in the order of changes it was decided, and what was known then.
fn note(engine: &Engine) -> String {
    let state = engine.clock();
    let newest = state.newest.map_or("none".to_owned(), date_time::instant);
    let problem = state.problem.map_or("the clock was trusted".to_owned(), |problem| problem.to_string());
    format!("behind change {}; newest time stamp {newest}; {problem}", engine.seq())
}
