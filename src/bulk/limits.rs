//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Lines that an import of patients tells why they were not taken. Whoever has more mends the file first; the rest are counted.
pub const BAD_PATIENTS_TOLD_MAX: u64 = 20;
