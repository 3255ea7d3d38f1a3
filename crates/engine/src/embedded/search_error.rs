//! Why a search has no answer.

/// Why a search has no answer.
#[derive(Debug)]
pub enum SearchError {
    /// The index is being built.
    Building { percent: u64 },
    /// The index is damaged; it is being replaced.
    Failed(String),
}
