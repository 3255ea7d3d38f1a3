//! Store, index and audit trail checked together, for the command and for the running server alike.

use crate::audit;
use crate::certificate::Names;
use crate::engine::{Engine, Verified, Verifying};

/// Changes whose events a crash can keep out of the trail: those of the last moments.
const LOST_MAX: u64 = 1_000;

/// What the store says of the end of the trail, a note where there is one: changes are durable before their events are.
///
/// # Errors
/// More is missing than a crash can take.
pub fn beside_store(stored: u64, known: u64) -> Result<Option<String>, String> {
    match stored.saturating_sub(known) {
        0 => Ok(None),
        missing if missing <= LOST_MAX && known > 0 => Ok(Some(format!(
            "{missing} changes of the store have no event yet; the next start of the server writes them"
        ))),
        missing => {
            Err(format!("{missing} changes of the store have no event, more than a crash can take: the trail was cut"))
        }
    }
}

/// Checks the trail, where there is one, then everything the engine keeps. The end of the trail is compared with the store unless a server writes both
/// meanwhile.
///
/// # Errors
/// Something cannot be checked at all, in words.
pub fn verify(
    engine: &Engine,
    trail: impl FnOnce() -> Result<Option<audit::Verified>, String>,
    is_at_rest: bool,
    names: &Names,
    report: &mut dyn FnMut(&Verifying),
) -> Result<Verified, String> {
    report(&Verifying { part: "audit", at: 0, of: 1 });
    let events = trail()?;
    let mut verified = engine.verify(names, report).map_err(|error| error.to_string())?;
    let (mut known, mut has_events) = (0, false);
    match events {
        Some(events) => {
            let notes = events.remarks.into_iter().map(|remark| format!("audit trail: {remark}")).collect();
            verified.add("audit", events.problems, events.problems_untold as u64, notes);
            (known, has_events) = (events.last_change.0, events.events > 0);
        }
        None => verified.add("audit", Vec::new(), 0, vec!["there is no audit trail".to_owned()]),
    }
    if is_at_rest {
        match beside_store(engine.seq().0, known) {
            Ok(note) => verified.add("audit", Vec::new(), 0, note.into_iter().collect()),
            // An import without a server that was killed leaves as much to the next start; `hcert audit verify` judges the end.
            Err(problem) if has_events => verified.add("audit", Vec::new(), 0, vec![problem]),
            Err(problem) => verified.add("audit", vec![problem], 0, Vec::new()),
        }
    }
    Ok(verified)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_missing_events_than_a_crash_loses_are_a_cut_trail() {
        for (stored, known, is_possible) in [
            (0, 0, true),
            (10, 10, true),
            (5_000, 4_200, true),
            (5_000, 3_000, false),
            // A trail without any change beside a store that has some was taken away.
            (3, 0, false),
        ] {
            assert_eq!(beside_store(stored, known).is_ok(), is_possible, "{stored} {known}");
        }
    }
}
