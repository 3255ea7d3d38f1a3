//! Store, index and audit trail checked together, for the command and for the running server alike.

use crate::audit::{self, Trail};
use crate::certificate::Names;
use crate::engine::{Engine, Verified, Verifying};

/// Checks the trail, then everything the engine keeps.
///
/// # Errors
/// Something cannot be checked at all, in words.
pub fn verify(
    engine: &Engine,
    trail: Option<&Trail>,
    names: &Names,
    report: &mut dyn FnMut(&Verifying),
) -> Result<Verified, String> {
    report(&Verifying { part: "audit", at: 0, of: 1 });
    let events = trail.map(|trail| audit::verify(trail, None)).transpose()?;
    let mut verified = engine.verify(names, report).map_err(|error| error.to_string())?;
    match events {
        Some(events) => {
            let notes = events.remarks.into_iter().map(|remark| format!("audit trail: {remark}")).collect();
            verified.add("audit", events.problems, events.problems_untold as u64, notes);
        }
        None => verified.add("audit", Vec::new(), 0, vec!["there is no audit trail".to_owned()]),
    }
    Ok(verified)
}
