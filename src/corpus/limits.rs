//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Certificates of a generated corpus. Five years of working time leave each some hundred milliseconds then, and every patient still
/// gets a personal code of their own.
pub const CORPUS_CERTIFICATES_MAX: u64 = 100_000_000;
