//! Why a search has no answer.

/// Why a search has no answer.
#[derive(Debug)]
pub enum SearchError {
    /// The index is being built.
    Building {
        /// How much of the store's changes the index holds so far, in percent from 0 to 100.
        percent: u64,
    },
    /// The index is damaged; it is being replaced.
    Failed(String),
}
