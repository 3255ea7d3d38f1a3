//! Defaults of settings, and fixed bounds that settings are held against: what each bounds, its unit, and why it is so large.

/// Bytes of a request body (default of `server.body_bytes_max`). A certificate has about 4 KB. Contract 5.4.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes of memory that each byte of a body takes at most while it is processed. Arrays within arrays take most, 23; a narrative of empty
/// elements takes 20; a certificate takes about 5.
pub const BODY_EXPANSION: usize = 32;

/// Large bodies that are processed at once. One may wait for the registry or the disk while another is checked. Their memory is this many
/// times `server.body_bytes_max` times [`BODY_EXPANSION`].
pub const LARGE_BODIES: usize = 4;

/// Bytes of a query string or a search form (default of `server.query_bytes_max`). Contract 5.4.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;

/// Minutes between two scheduled backups (default of `backup.every_minutes`): a day, which nobody has to type in again.
pub const BACKUP_EVERY_MINUTES: u64 = 1_440;

/// Scheduled backups from one full one to the next (default of `backup.full_every`): with one a day, a full one each week.
pub const BACKUP_FULL_EVERY: u64 = 7;

/// Days that scheduled backups are kept (default of `backup.keep_days`).
pub const BACKUP_KEEP_DAYS: u64 = 30;

/// Ids that a restore leaves out (default of `backup.id_gap`). Contract 9.2: what was created behind the last archive had ids too.
pub const RESTORE_ID_GAP: u64 = 1_000_000;

/// Connections at once (default of `server.connections_max`). For one more, the connection that has been idle longest makes room.
pub const CONNECTIONS_MAX: usize = 1_024;

/// Connections at once from one address (default of `server.connections_per_address_max`): a quarter of all, so that it takes several
/// to fill the service. A hospital behind one address has fewer people at work at once.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;

/// Requests worked on at once, reads and writes each (default of `server.requests_max`). A request takes a worker for a fraction of a millisecond, so hundreds at
/// once are waiting for the disk, the registry or a turn; each holds some 100 KB at most on the way.
pub const REQUESTS_MAX: usize = 512;

/// Requests under way of one client (default of `server.requests_per_address_max`). An eighth of all; one HTTP/2 connection has no more.
pub const REQUESTS_PER_ADDRESS_MAX: usize = 64;

/// Seconds that a request which only reads may take in all (default of `server.request_timeout_s`). Every wait on its way is shorter.
pub const REQUEST_TIMEOUT_S: u64 = 60;

/// Bytes a second that a request's body must come at on average (default of `server.body_bytes_per_second_min`). The slowest mobile line
/// is ten times as fast.
pub const BODY_BYTES_PER_SECOND_MIN: u64 = 500;

/// Bytes of bodies that an HTTP/2 client may send on a connection before they are read.
pub const HTTP2_WINDOW_BYTES: u32 = 256 * 1024;

/// Requests at once on one HTTP/2 connection. Clients open a second connection long before they need more.
pub const STREAMS_MAX: u32 = 64;

/// Bytes that the head of one request takes in memory at most, with what it was read from: 192 entries of a map, the bytes themselves,
/// and the buffer that its target lies in. Each connection has one.
pub const HEAD_MEMORY_BYTES: usize = 96 * 1024;

/// Bytes of the heads of all requests that are under way over HTTP/2, but for one of each connection. Contract 10.3.
pub const HEADS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of memory of the program by itself: its code and tables, threads, and mapped files of the index that are in use.
pub const PROCESS_MEMORY_BYTES: usize = 128 * 1024 * 1024;

/// Bytes of memory of a connection that has not said anything: its task, its timers, what it reads into.
pub const CONNECTION_MEMORY_BYTES: usize = 16 * 1024;

/// Bytes of memory of a request that is worked on, beside its head, body and answer.
pub const REQUEST_MEMORY_BYTES: usize = 100 * 1024;

/// Bytes of memory of a row of the overlay.
pub const OVERLAY_ROW_MEMORY_BYTES: usize = 1_024;

/// Bytes of all request bodies up to `LARGE_BODY_BYTES` held at once, with what they become ([`BODY_EXPANSION`]) while they are
/// processed. Beyond it a request is answered with 503 before memory runs out.
pub const SMALL_BODIES_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Larger request bodies held at once, while they arrive and while they wait to be processed: memory for so many times
/// `server.body_bytes_max`. It is apart from that of small bodies, so that those that wait for seconds keep no certificate out.
pub const LARGE_BODIES_HELD: usize = 32;

/// Bytes of all answers that were made and are not read yet, but for small and for large ones. Beyond it a request is answered with 503
/// before memory runs out.
pub const ANSWERS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Bytes up to which an answer is a small one: a page as most are. Each connection has one at a time.
pub const SMALL_ANSWER_BYTES: usize = 128 * 1024;

/// The same on HTTP/2, where a connection has [`STREAMS_MAX`] at a time: a certificate.
pub const HTTP2_SMALL_ANSWER_BYTES: usize = 4 * 1024;

/// Seconds a connection may stay silent before, inside and after the head of a request (default of `server.header_timeout_s`).
pub const HEADER_TIMEOUT_S: u64 = 30;

/// Seconds a body may take to arrive (default of `server.body_timeout_s`): 2 MiB over a slow line.
pub const BODY_TIMEOUT_S: u64 = 30;

/// Seconds a client may leave an answer unread before it is cut off (default of `server.write_timeout_s`).
pub const WRITE_TIMEOUT_S: u64 = 30;

/// Seconds that requests under way may take to finish at a stop (default of `server.drain_timeout_s`). Service managers wait longer.
pub const DRAIN_TIMEOUT_S: u64 = 10;

/// Threads that serve requests (default of `server.workers`). Two, so that a long answer never stalls the reads beside it.
pub const WORKERS: usize = 2;

/// Megabytes of redb's page cache (default of `storage.cache_mb`): a million certificates are read out of it.
pub const CACHE_MB: usize = 192;

/// Minutes that a sealed `_query` link of a search stays valid (default of `search.link_minutes`). A working session.
pub const LINK_MINUTES: u32 = 60;

/// Large answers at once. A turn ends when the answer is sent, so that this bounds their memory too: with the next bound and the
/// copies that compression makes, some 200 MB.
pub const LARGE_ANSWERS: usize = 2;

/// Of these, those of one client: one that reads slowly leaves a turn to others.
pub const LARGE_ANSWERS_OF_ONE: usize = 1;

/// Bytes of a Bundle. A page of the default count fits, whatever its certificates hold; whoever asks for more of the largest ones is
/// told to ask for fewer.
pub const BUNDLE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a page of audit events: half of what one connection may hold of the memory for answers while all of it is free, so that no page is
/// refused for want of memory for ever. An event that names three thousand has half a megabyte.
pub const AUDIT_PAGE_BYTES_MAX: usize = ANSWERS_BYTES_MAX / 16;

/// Rules for faults, those of the settings and those that are armed while `hcert dev` runs. Each call of the registry is compared with all of them.
pub const FAULT_RULES_MAX: usize = 256;

/// Characters of a namespace. A system is a namespace with the name of a list behind it, and has 256 at most (`CODING_CHARACTERS_MAX`).
pub const NAMESPACE_CHARACTERS_MAX: usize = 160;

/// Recipients of an archive. Its header has some 100 bytes for each, and a restore reads 16 KiB of it.
pub const RECIPIENTS_MAX: usize = 64;

/// Characters of a rule's pattern. The longest identifier with its system is shorter; a pattern costs its length times what it is compared with.
pub const FAULT_PATTERN_CHARACTERS_MAX: usize = 512;

/// Seconds that the clocks of issuer and service may differ (default of `access.token.leeway_s`).
pub const TOKEN_LEEWAY_S: u32 = 30;

/// Seconds that a token may live (default of `access.token.max_lifetime_s`): a long working day. It cannot be called back before.
pub const TOKEN_LIFETIME_S_MAX: u32 = 86_400;

/// Seconds that a token of the developer's token service lives (default of `access.token.developer_seconds`). Contract 7.1.
pub const DEVELOPER_TOKEN_S: u32 = 300;

/// Seconds after which keys are asked for again (default of `access.token.jwks_refresh_s`).
pub const JWKS_REFRESH_S: u64 = 300;

/// Seconds after which keys that could not be asked for again are not trusted any more (default of `access.token.jwks_age_max_s`): an
/// issuer that takes a key back is believed within a day, and one that is out of order has a night to be put right.
pub const JWKS_AGE_S_MAX: u64 = 86_400;

/// Milliseconds a patient registry may take for one answer, connecting included (default of `registry.remote.timeout_ms`). A caller of
/// this service waits as long.
pub const REGISTRY_TIMEOUT_MS: u64 = 5_000;

/// Milliseconds for a question to the registry as a whole, with all tries and pauses (default of `registry.remote.deadline_ms`).
pub const REGISTRY_DEADLINE_MS: u64 = 10_000;

/// Times a question is put to the registry at most (default of `registry.remote.tries`). What three do not mend is no hiccup.
pub const REGISTRY_TRIES: u32 = 3;

/// Requests to the registry at once (default of `registry.remote.connections`). One client may hold half of them; more wait, and their
/// waiting counts.
pub const REGISTRY_CONNECTIONS: usize = 64;

/// Failures in a row after which the registry is left alone (default of `registry.remote.breaker_failures`).
pub const REGISTRY_BREAKER_FAILURES: u32 = 5;

/// Seconds that a registry which failed is left alone before one request tries again (default of `registry.remote.breaker_open_s`).
pub const REGISTRY_BREAKER_OPEN_S: u64 = 10;

/// Seconds that a patient the service looked up is remembered (default of `registry.remote.cache_s`). A clinician at work asks for the
/// same one some times a minute.
pub const REGISTRY_CACHE_S: u64 = 30;

/// Bytes of the answers that are remembered at once. A patient has some 2 KB.
pub const REGISTRY_CACHE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of an answer of the registry. A page of a hundred patients has some 200 KB; reading stops here.
pub const REGISTRY_ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Large answers of the registry at once: read as JSON, each may take twenty times its bytes.
pub const REGISTRY_LARGE_ANSWERS: usize = 2;

/// Megabytes of free disk below which the service is degraded (default of `management.disk_free_mb_min`). A certificate takes some 2 KB
/// with its index: room for hundreds of thousands, and time to act.
pub const DISK_FREE_MB_MIN: u64 = 1_024;

/// Megabytes of a file of the audit trail (default of `audit.file_mb`). The next one lies ready, filled with zeros: some 50 000 events
/// that a full disk cannot keep out.
pub const AUDIT_FILE_MB: u64 = 16;

/// Megabytes of a file of the audit trail at most (largest `audit.file_mb`): it is read as a whole.
pub const AUDIT_FILE_MB_MAX: u64 = 64;

/// Bytes of events that are not durable yet. A disk that falls further behind refuses requests; memory holds them until then, for a
/// disk that turns out to have lost them.
pub const AUDIT_PENDING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of memory that the indexes of the two newest files of the audit trail take at most, and one that is made for a sealed file.
pub const AUDIT_INDEX_MEMORY_BYTES: usize = 3 * 64 * 1024 * 1024;

/// Bytes of a token. Those of the national issuers have some 2 KB; more is an attack, and a head holds 32 KiB.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Characters of a header of X-Road that the audit trail keeps, and of a name in a path of X-Road. Contract 1.4.
pub const X_ROAD_CHARACTERS_MAX: usize = 256;

/// Characters of the text that every page of the console shows. It is a line or two; more hides the page.
pub const ANNOUNCEMENT_CHARACTERS_MAX: usize = 500;

/// Further languages of the console. Each has a button on every page.
pub const CONSOLE_LANGUAGES_MAX: usize = 8;

/// Seconds before the end of a sign-in that the console warns (default of `console.expiry_warning_s`). Long enough to finish a form.
pub const EXPIRY_WARNING_S: u64 = 120;
