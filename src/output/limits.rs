//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Bytes of log lines that wait for the thread that writes them. As many again may be in its hands. At 350 bytes a line, 12 000 lines:
/// more than half a second of reads at full load.
pub const LOG_QUEUE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long lines of the log gather behind a write before the next one, unless one of them is urgent (Decision 167).
pub const LOG_GATHER_MS: u64 = 10;
