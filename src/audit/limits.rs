//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Bytes of a search's parameters that its audit event keeps: the longest query and the longest form that a setting allows, and the
/// sign between them. What is longer is refused, and its event has the SHA-256 of all of it.
pub const AUDIT_QUERY_BYTES_MAX: usize = 2 * 24_576 + 1;

/// Bytes of any other text of an audit event: a name, a code.
pub const AUDIT_TEXT_BYTES_MAX: usize = 512;

/// Bytes of the events that are written at once, with all that frames them: a thousand changes of one commit have half a megabyte.
pub const AUDIT_WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;
