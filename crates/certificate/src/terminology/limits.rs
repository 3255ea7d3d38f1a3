//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Bytes of all lists together, as they are served: twice the largest file. Memory holds them once more as codes.
pub const TERMINOLOGY_BYTES_MAX: usize = 64 * 1024 * 1024;
