//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Open files kept for store, index and sockets beside connections. A segment of the index has up to eight; there are some twenty.
/// Connections that are only refused take `REFUSALS_MAX` of them, those of the management listener `MANAGEMENT_CONNECTIONS_MAX`,
/// commands `COMMANDS_MAX`.
pub const OPEN_FILES_RESERVED: usize = 432;

/// Milliseconds that the end of the process waits for the reader of the log.
pub const LOG_FLUSH_MS: u64 = 1_000;

/// Bytes of the line that a request writes to the log, so that a hundred requests a second are 3 GB a day and no more.
pub const LOG_LINE_BYTES_MAX: usize = 350;

/// Bytes that the cause of a failure may take beside that.
pub const LOG_CAUSE_BYTES_MAX: usize = 300;

/// Lines of one call site and code that are written within [`LOG_REPEAT_WINDOW_S`]; more are counted and told in one line.
pub const LOG_REPEATS_MAX: u32 = 100;

/// Seconds after which lines that repeat are written one by one again.
pub const LOG_REPEAT_WINDOW_S: u64 = 10;
