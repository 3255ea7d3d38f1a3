//! What a request brings besides its path and body, read once by `http`.

use std::sync::Arc;

pub use crate::certificate::{Condition, Tag};
pub use crate::engine::Who;
pub use crate::fhir::subset::Subset;
pub use crate::outcome::Language;

/// Headers and query of one request, understood.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// `{base_url}` as this caller sees it, without a slash at the end.
    pub base_url: Arc<str>,
    pub language: Language,
    pub prefer: Prefer,
    /// `If-Match`. `None`: no condition.
    pub if_match: Option<Condition>,
    pub if_none_match: Option<Condition>,
    /// `If-Modified-Since`, seconds since 1970 UTC.
    pub if_modified_since: Option<i64>,
    /// `If-None-Exist`, decoded.
    pub if_none_exist: Option<Vec<(String, String)>>,
    /// `_elements` and `_summary`.
    pub subset: Subset,
    /// Name and value pairs of the query string and, for `_search`, of the form, in order, decoded, as sent.
    /// `_format`, `_pretty` are left in: they belong to links.
    pub parameters: Vec<(String, String)>,
    /// The parameters came in the body of a POST to `_search`.
    pub by_form: bool,
    /// Who acts, for the version's header: empty where none is made.
    pub who: Who,
}

/// `Prefer`. Contract 2.3, 4.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    pub answer: Return,
    /// `handling=lenient`: unknown search parameters are dropped with a warning.
    pub lenient: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Return {
    #[default]
    Minimal,
    Representation,
    OperationOutcome,
}
