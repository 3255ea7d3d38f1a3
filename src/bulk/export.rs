//! Out of the store: every version in the order it was made, read in short steps while the server goes on.

use std::io::Write;

use super::{Event, Progress, entry};
use crate::certificate::Seq;
use crate::engine::Engine;

/// Versions read in one go.
const CHUNK_ROWS: usize = 512;

/// Writes every version made after `after` and up to the last change at the start.
///
/// # Errors
/// What went wrong with the store or with `out`, in words.
pub fn export(
    engine: &Engine,
    after: Seq,
    out: &mut dyn Write,
    report: &mut dyn FnMut(Event),
) -> Result<Progress, String> {
    let until = engine.seq();
    let mut progress = Progress { lines_total: Some(until.0.saturating_sub(after.0)), ..Progress::default() };
    let mut at = after;
    let mut buffer = Vec::new();
    while at < until {
        let rows = engine.export(at, CHUNK_ROWS).map_err(|error| error.to_string())?;
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
        report(Event::Progress(progress));
    }
    out.flush().map_err(|error| format!("writing failed: {error}"))?;
    Ok(progress)
}
