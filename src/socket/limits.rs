//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Commands at once to a running server. One more is refused.
pub const COMMANDS_MAX: usize = 64;
