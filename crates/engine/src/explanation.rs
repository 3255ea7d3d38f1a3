//! How a search is run, in words of no engine: for whoever asks why it takes as long as it does.

use certificate::search::parameter::Field;

/// How one search was run, with figures. No value that was searched for is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchExplanation {
    /// How the certificates of the page were found.
    pub way: SearchWay,
    /// Where the total is from.
    pub total: TotalSource,
    /// Rows of the index that the plan expects to look at, roughly.
    pub rows: u64,
    /// Changes that the index does not have yet and that were looked at.
    pub overlay_rows: u64,
    /// Parts of the index.
    pub segments: usize,
    /// Planning and running, microseconds.
    pub took_us: u64,
}

/// How the certificates of a page are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchWay {
    /// Not at all: only the total was needed.
    Nothing,
    /// What these bring is tested against the rest of the search; each stands once.
    Driven(Vec<SearchDriver>),
    /// All rows in the order of the page, until it is full.
    Merged {
        /// Rows before the page are counted by blocks.
        jumps: bool,
    },
}

/// What brings the certificates that are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDriver {
    /// Every certificate.
    Every,
    /// The certificates that carry a term of this field.
    Postings(Field),
    /// The certificates of these ids.
    Ids,
    /// The certificates of a few classes, such as those of a rare state.
    Classes,
}

/// Where the total of a search is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalSource {
    /// Counters by class.
    Counters,
    /// Counters, and a few rows that classes do not decide.
    CountersAndRows,
    /// A count that was remembered.
    Remembered,
    /// The rows were counted.
    Counted,
}
