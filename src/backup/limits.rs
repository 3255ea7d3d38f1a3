//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Bytes of the manifest of an archive. Each piece takes some 130; this is enough for one of two terabytes.
pub const BACKUP_MANIFEST_BYTES_MAX: u64 = 64 * 1024 * 1024;
