//! Conditions on a version, as `If-Match` and `If-None-Match` carry them.

use super::Version;

/// Contract 2.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// `*`
    Any,
    /// At least one.
    Tags(Vec<EntityTag>),
}

/// The text inside an entity tag: `3` of `W/"3"`, `"3"` or `3`.
pub type EntityTag = String;

impl Precondition {
    /// Whether the version's tag is named.
    pub fn names(&self, version: Version) -> bool {
        match self {
            Precondition::Any => true,
            Precondition::Tags(tags) => {
                let version = version.to_string();
                tags.contains(&version)
            }
        }
    }
}
