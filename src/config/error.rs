//! Settings that cannot be used.

use std::fmt;

/// Settings that cannot be used; the text is for the person at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The name of some that a misspelt one most likely means.
pub fn suggestion<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), known));
    let best = near.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 >= 0.85).then_some(best.1)
}
