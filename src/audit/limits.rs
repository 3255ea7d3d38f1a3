//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

use crate::config::limits::AUDIT_FILE_MB_MAX;

/// Bytes of a search's parameters that its audit event keeps: the longest query and the longest form that a setting allows, and the
/// sign between them. What is longer is refused, and its event has the SHA-256 of all of it.
pub const AUDIT_QUERY_BYTES_MAX: usize = 2 * 24_576 + 1;

/// Bytes that are read of any file of the audit trail, plain, sealed or expanded, and of its index: the largest one, and what frames the
/// blocks of one that cannot be compressed. Whatever is larger was not written by this service, and is reported as damaged.
pub const AUDIT_FILE_BYTES_MAX: u64 = (AUDIT_FILE_MB_MAX + 1) * 1024 * 1024;

/// Bytes of any other text of an audit event: a name, a code.
pub const AUDIT_TEXT_BYTES_MAX: usize = 512;

/// Bytes of the events that are written at once, with all that frames them: a thousand changes of one commit have half a megabyte.
pub const AUDIT_WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;
