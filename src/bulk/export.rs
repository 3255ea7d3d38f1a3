//! Out of the store: every version in the order it was made, read in short steps while the server goes on.

use std::io::Write;

use super::{BulkEvent, BulkProgress, entry};
use base::number::counted;
use certificate::Seq;
use engine::{DAMAGED, Engine, StoreError};

/// Versions read in one go.
const CHUNK_ROWS: usize = 512;

/// Writes every version made after `after` and up to the last change at the start. One that cannot be read is told and left out: what can
/// still be had of a damaged store is worth having.
///
/// # Errors
/// What went wrong with the store or with `out`, in words; or how many versions are left out.
pub fn export(
    engine: &Engine,
    after: Seq,
    out: &mut dyn Write,
    report: &mut dyn FnMut(BulkEvent),
) -> Result<BulkProgress, String> {
    let until = engine.seq();
    let mut progress = BulkProgress { lines_total: Some(until.0.saturating_sub(after.0)), ..BulkProgress::default() };
    let mut at = after;
    let mut buffer = Vec::new();
    while at < until {
        let rows = match engine.ledger().versions_after(at, CHUNK_ROWS) {
            Ok(rows) => rows,
            // One of them; alone it is told, and those beside it are read.
            Err(StoreError::Damaged(_)) => match engine.ledger().versions_after(at, 1) {
                Err(StoreError::Damaged(problem)) => {
                    at = at.next();
                    progress.bad += 1;
                    report(BulkEvent::Doubtful { problem: format!("change {at} is left out: {problem}") });
                    continue;
                }
                alone => alone.map_err(|error| error.to_string())?,
            },
            Err(error) => return Err(error.to_string()),
        };
        let Some((last, _)) = rows.last() else { break };
        at = *last;
        buffer.clear();
        for (seq, stored) in rows.iter().filter(|(seq, _)| *seq <= until) {
            debug_assert!(*seq > after, "the engine hands out what comes after");
            entry::write(&mut buffer, stored);
            progress.lines += 1;
            progress.stored += 1;
        }
        out.write_all(&buffer).map_err(|error| format!("writing failed: {error}"))?;
        progress.bytes += buffer.len() as u64;
        report(BulkEvent::Progress(progress));
    }
    out.flush().map_err(|error| format!("writing failed: {error}"))?;
    match progress.bad {
        0 => Ok(progress),
        bad => {
            let versions =
                counted(bad, "version cannot be read and is left out", "versions cannot be read and are left out");
            Err(format!("{DAMAGED}: {versions}"))
        }
    }
}
