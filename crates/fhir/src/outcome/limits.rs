//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Problems of one request that an answer lists. A caller mends a hundred at a time; more would only make the answer large.
pub const BODY_ISSUES_MAX: usize = 100;
