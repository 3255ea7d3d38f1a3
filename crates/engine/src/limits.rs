//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Largest id of a certificate, 2^53 - 1: every JSON reader holds it exactly. A create beyond it is refused.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// Largest id an import may bring: it leaves 2^32 ids to creates. Only the id that the next create would take may be larger. Contract 9.3.
pub const IMPORT_ID_MAX: u64 = ID_MAX - (1 << 32);

/// Largest next id that an archive may tell. Behind it lie 2^31 ids, which no store has given; the largest `backup.id_gap` fits there
/// too, so that whatever is restored can go on. Decision 270.
pub const COPY_NEXT_ID_MAX: u64 = ID_MAX - (1 << 31);

/// How far the clock may be behind the newest time stamp before changes are refused, in milliseconds. Contract 10.4.
pub const CLOCK_BEHIND_MS_MAX: i64 = 60 * 1_000;

/// Days from the first to the last that a birth date can mean: those of a leap year, where only the year is known.
pub const BIRTH_DATE_DAYS_MAX: i32 = 365;

/// Patients that a search by one of them finds too, since links tie them to each other. A person has two or three records; more are a
/// mistake in the registry, and each makes the search wider.
pub const LINKED_PATIENTS_MAX: usize = 32;

/// Combinations of profile, category and type in the store, each with every state and consent. A whole country has some dozens; a search decides each of them.
pub const CLASSES_MAX: usize = 1_024;

/// Rows the overlay may hold before writes are slowed down, then refused with 503. About 128 MB; a row with many terms counts as
/// several, one for each `OVERLAY_ROW_TERMS`.
pub const OVERLAY_ROWS_MAX: usize = 131_072;

/// Bytes of the store that may be held in memory while the disk takes no writes: what redb changes to open a file that was not closed.
/// Beyond it reads wait for the disk as writes do.
pub const STORE_ASIDE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a piece of the store that a backup copies at once and a restore commits at once. The largest record may exceed it.
pub const COPY_PIECE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that a copied version may expand to: twice the largest `server.body_bytes_max` and its index row. What says more is damaged.
pub const COPY_RECORD_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Bytes that must find room beside the store before it is opened again after a failure: a batch of the writer and what redb writes with it.
pub const STORE_ROOM_BYTES: usize = 8 * 1024 * 1024;

/// Rows that a check of a running store reads in one go: some 30 ms where bodies are read, so that no read transaction grows old.
pub const VERIFY_CHUNK_ROWS: usize = 512;

/// Times that the system clock was not believed any more, or was again, which are remembered for the audit trail until it asks.
pub const CLOCK_EVENTS_MAX: usize = 64;
