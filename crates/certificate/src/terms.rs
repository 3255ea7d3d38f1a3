//! The words that code lists have for codes.

/// Finds the words for a code. All look-ups are by hash; a `|version` at the end of an address is ignored.
///
/// The current code lists (`terminology`) implement it, so that the domain needs no list of its own. Contract 8.5.
pub trait DisplayTerms: Sync {
    /// The Estonian term of a code. Decision 142.
    fn term(&self, system: &str, code: &str) -> Option<&str>;

    /// Other words for a code without an Estonian term: its display in another language, else its property `meaning`.
    fn other_words(&self, system: &str, code: &str) -> Option<&str>;

    /// The UCUM code of the unit in which the amount beside a code is given.
    fn unit(&self, system: &str, code: &str) -> Option<&str>;

    /// The title of a code system.
    fn title(&self, system: &str) -> Option<&str>;
}
