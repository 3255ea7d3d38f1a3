//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Characters of a suspend or cancel reason. Contract 3.4.
pub const REASON_CHARACTERS_MAX: usize = 10_000;

/// Bytes from which an answer is a large one: a hundred times a page as most are. Large ones are made in turns.
pub const LARGE_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// The same of an answer whose certificates are read through, for a part of each or for the employer's view: a hundred as most are. To read
/// more takes a serving thread from other requests for longer than 15 ms.
pub const READ_THROUGH_BYTES: usize = 512 * 1024;

/// Bytes of a certificate up to which it is read on the thread that serves the request. To expand 2 MB takes a millisecond, and a client that
/// asks for such a one all the time would keep others waiting for ten times as long as their own requests take.
pub const READ_HERE_BYTES: usize = 128 * 1024;

/// Bytes of a file of code lists. A list of ten thousand codes with two displays each has some 3 MB.
pub const TERMINOLOGY_FILE_BYTES_MAX: usize = 32 * 1024 * 1024;
