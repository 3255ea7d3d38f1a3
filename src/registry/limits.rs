//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Characters of one identifier of a patient, system and value together. It is a key of a table; the longest systems have some eighty.
pub const IDENTIFIER_CHARACTERS_MAX: usize = 1_000;
