//! The query language, pure: which parameters there are, what a query asks, and how a page is linked.
//!
//! A search travels as text, `query::Search` (what was asked), [`filter::Filter`] (true or false of one row) and `Page`.

pub mod class;
pub mod collation;
pub mod condition;
pub mod extract;
pub mod filter;
pub mod hidden;
pub mod history;
pub mod issue;
pub mod limits;
pub mod link;
pub mod narrow;
pub mod paging;
pub mod parameter;
pub mod query;
pub mod reading;
pub mod reference;
pub mod request;
pub mod row;
pub mod row_bytes;
pub mod seal;
pub mod section_code_text;
mod subjects;
pub mod term;
pub mod time;
pub mod value;

use crate::{Id, Seq, Version};
use filter::Filter;
pub use parameter::SortKey;

/// A search as the engine runs it.
#[derive(Clone, Debug)]
pub struct EngineQuery {
    /// The condition that every hit meets.
    pub filter: Filter,
    /// Never empty; ties break by id, in the direction of the first key.
    pub sort: Vec<Sort>,
    /// From 1.
    pub page: u64,
    /// Entries of a page; 0 asks for the total only.
    pub count: u32,
}

/// One key of `_sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// What is compared.
    pub key: SortKey,
    /// The largest value comes first (`-` before the key).
    pub descending: bool,
}

/// What a search found: the exact total and one page, both of the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPage {
    /// Number of certificates that meet the filter, on all pages together.
    pub total: u64,
    /// The hits of this page, in the order asked for.
    pub hits: Vec<Hit>,
    /// The moment: every change up to this one is counted, none after it.
    pub at: Seq,
}

/// A hit names a version, so a page shows one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The certificate that was found.
    pub id: Id,
    /// The version that was current at the moment of the search.
    pub version: Version,
}
