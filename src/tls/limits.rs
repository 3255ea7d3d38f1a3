//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Bytes of a file of TLS. A chain of five certificates has 10 KB, the authorities of a whole country fewer than a megabyte.
pub(crate) const TLS_FILE_BYTES_MAX: u64 = 1024 * 1024;
