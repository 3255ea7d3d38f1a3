//! Out of a damaged store: every version that can still be read.

use std::io::Write;

use super::entry;
use crate::engine::Salvage;

/// Writes the versions of certificates that are whole to `whole`, in the order in which they were made, so that an import takes them; and
/// what is left of the others to `incomplete`, which is opened by the first of them.
///
/// # Errors
/// What went wrong with the store or with the files, in words.
pub fn salvage<W: Write>(
    salvage: &Salvage,
    whole: &mut impl Write,
    incomplete: &mut dyn FnMut() -> Result<W, String>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("writing failed: {error}");
    let mut others: Option<W> = None;
    let mut line = Vec::new();
    salvage.each(|stored, is_whole| {
        line.clear();
        entry::write(&mut line, &stored);
        if is_whole {
            return whole.write_all(&line).map_err(failed);
        }
        let others = match &mut others {
            Some(others) => others,
            none => none.insert(incomplete()?),
        };
        others.write_all(&line).map_err(failed)
    })?;
    whole.flush().map_err(failed)?;
    others.map_or(Ok(()), |mut others| others.flush().map_err(failed))
}
