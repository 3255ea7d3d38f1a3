//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Entries of a page when `_count` is absent. Specification 4.6 and 8.
pub const COUNT_DEFAULT: u32 = 20;

/// Entries of a page at most (default of `search.count_max`); a larger `_count` is cut. Contract 4.8.
pub const COUNT_MAX: u32 = 100;

/// Values in all search parameters of one request. A page of ids to look up stays far below; each value costs a posting list.
pub const SEARCH_VALUES_MAX: usize = 1_000;

/// Number of the last page that can be asked for. Times the largest count it still fits 64 bits; no store is that large.
pub const PAGE_MAX: u64 = u32::MAX as u64;
