//! Out of a damaged store: every version that can still be read.

use std::io::Write;

use super::entry;
use engine::Salvage;

/// Writes the versions of certificates that are whole to `whole`, in the order in which they were made, so that an import takes them; and
/// what is left of the others to `incomplete`.
///
/// # Errors
/// What went wrong with the store or with the files, in words.
pub fn salvage(salvage: &Salvage, whole: &mut impl Write, incomplete: &mut impl Write) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("writing failed: {error}");
    let mut line = Vec::new();
    salvage.each(|stored, is_whole| {
        line.clear();
        entry::write(&mut line, &stored);
        let written = if is_whole { whole.write_all(&line) } else { incomplete.write_all(&line) };
        written.map_err(failed)
    })?;
    whole.flush().and_then(|()| incomplete.flush()).map_err(failed)
}
