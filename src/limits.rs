//! Every bound in one place: what it bounds, in which unit, and why it is so large.
//!
//! A bound an operator may want to move is a setting whose default stands here; the others are fixed.

/// Levels of objects and arrays in a body. FHIR resources stay below 20; a deeper one is an attack or a mistake. Contract 5.4.
pub const JSON_DEPTH_MAX: usize = 64;

/// Problems of one request that an answer lists. A caller mends a hundred at a time; more would only make the answer large.
pub const BODY_ISSUES_MAX: usize = 100;

/// Bytes of a request body (default of `server.body_bytes_max`). A certificate has about 4 KB. Contract 5.4.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes above which a body is a large one: read, checked and stored on threads of its own, beside those that serve requests. A certificate
/// has about 4 KB; one of this size takes a thread for some milliseconds at most. Contract 10.3.
pub const LARGE_BODY_BYTES: usize = 64 * 1024;

/// Bytes of memory that each byte of a body takes at most while it is processed. Arrays within arrays take most, 23; a narrative of empty
/// elements takes 20; a certificate takes about 5.
pub const BODY_EXPANSION: usize = 32;

/// Large bodies that are processed at once. One may wait for the registry or the disk while another is checked. Their memory is this many
/// times `server.body_bytes_max` times [`BODY_EXPANSION`].
pub const LARGE_BODIES: usize = 4;

/// Of these, bodies of one client. Others of it wait in its own line, so that its crowd keeps no other client waiting for long.
pub const LARGE_BODIES_PER_ADDRESS: usize = LARGE_BODIES / 2;

/// Seconds a large body waits for its turn before it is 503. Clients of large bodies are patient ones; some hundred worst cases pass in it.
pub const LARGE_BODY_WAIT_S: u64 = 10;

/// Bytes of a query string or a search form (default of `server.query_bytes_max`). Contract 5.4.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;

/// Entries of a page when `_count` is absent. Specification 4.6 and 8.
pub const COUNT_DEFAULT: u32 = 20;

/// Entries of a page at most (default of `search.count_max`); a larger `_count` is cut. Contract 4.8.
pub const COUNT_MAX: u32 = 100;

/// Characters of a suspend or cancel reason. Contract 3.4.
pub const REASON_CHARACTERS_MAX: usize = 10_000;

/// Characters of any FHIR string. R5 `datatypes.html#string`: 1024 * 1024.
pub const STRING_CHARACTERS_MAX: usize = 1024 * 1024;

/// Values that one evaluation of an invariant looks at, pairs that it compares among them. The largest certificates have some thousands; an
/// invariant that would look at more is answered as not met.
pub const FHIRPATH_STEPS_MAX: usize = 1_000_000;

/// Problems told of one narrative; who has more learns of them when these are gone. An answer tells of 100 in all.
pub const NARRATIVE_PROBLEMS_MAX: usize = 20;

/// Characters of a name or value that a problem of a narrative repeats; the whole may be as long as a body.
pub const NARRATIVE_DETAIL_CHARACTERS_MAX: usize = 60;

/// Lines of a narrative that is made from a certificate's fields. A certificate has about ten; one of a hundred restrictions is read
/// in its fields.
pub const GENERATED_LINES_MAX: usize = 50;

/// Characters of such a narrative with its markup.
pub const GENERATED_CHARACTERS_MAX: usize = 10_000;

/// Characters of one text in such a narrative.
pub const GENERATED_TEXT_CHARACTERS_MAX: usize = 1_000;

/// Attributes of one XHTML element; the XML reader compares each with each. HTML knows about 20 for an element.
pub const XHTML_ATTRIBUTES_MAX: usize = 64;

/// Namespace declarations of one XHTML div; the XML reader copies those in force for each new one. A div needs one.
pub const XHTML_NAMESPACES_MAX: usize = 128;

/// Largest id of a certificate, 2^53 - 1: every JSON reader holds it exactly. A create beyond it is refused.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// Largest id an import may bring: it leaves 2^32 ids to creates. Only the id that the next create would take may be larger. Contract 9.3.
pub const IMPORT_ID_MAX: u64 = ID_MAX - (1 << 32);

/// How far the time of an imported version may be ahead of the clock, in milliseconds. Clocks of two machines differ by less. Contract 9.3.
pub const IMPORT_AHEAD_MS_MAX: i64 = 5 * 60 * 1_000;

/// How far the clock may be behind the newest time stamp before changes are refused, in milliseconds. Contract 10.4.
pub const CLOCK_BEHIND_MS_MAX: i64 = 60 * 1_000;

/// How far the clock may jump forward before changes are refused, in milliseconds. Contract 10.4.
pub const CLOCK_JUMP_MS_MAX: i64 = 10 * 60 * 1_000;

/// Days from the first to the last that a birth date can mean: those of a leap year, where only the year is known.
pub const BIRTH_DATE_DAYS_MAX: i32 = 365;

/// Identifiers of one patient. A person has a personal code, a passport or two, and numbers of other registries; each is a row of a table.
pub const PATIENT_IDENTIFIERS_MAX: usize = 100;

/// Characters of one identifier of a patient, system and value together. It is a key of a table; the longest systems have some eighty.
pub const IDENTIFIER_CHARACTERS_MAX: usize = 1_000;

/// Links of one patient. One person has two or three records.
pub const PATIENT_LINKS_MAX: usize = 100;

/// Lines that an import of patients tells why they were not taken. Whoever has more mends the file first; the rest are counted.
pub const BAD_PATIENTS_TOLD_MAX: u64 = 20;

/// Patients that a search by one of them finds too, since links tie them to each other. A person has two or three records; more are a
/// mistake in the registry, and each makes the search wider.
pub const LINKED_PATIENTS_MAX: usize = 32;

/// Characters of `Composition.title`. Ten times the longest name of an examination; every search by title compares it, every sort
/// keeps it at hand.
pub const TITLE_CHARACTERS_MAX: usize = 1_000;

/// Codings of one concept that searches look at: category, type, the code of a section. A concept has one to three.
pub const CODINGS_MAX: usize = 8;

/// Characters of a system or code in category and type. Every view of the store holds each once; R5's longest address has 80.
pub const CODING_CHARACTERS_MAX: usize = 256;

/// Terms of one certificate: references, identifiers and section texts to be found by. One of the largest kind has about 60; 5 000
/// take half a megabyte until they are indexed.
pub const ROW_TERMS_MAX: usize = 5_000;

/// Terms of the sections that the service writes itself, the reasons of a suspension and a cancellation: two each.
pub const REASON_TERMS: usize = 4;

/// Combinations of profile, category and type in the store, each with every state and consent. A whole country has some dozens; a search decides each of them.
pub const CLASSES_MAX: usize = 1_024;

/// Characters of a FHIR id. R5 `datatypes.html#id`.
pub const ID_CHARACTERS_MAX: usize = 64;

/// Values in all search parameters of one request. A page of ids to look up stays far below; each value costs a posting list.
pub const SEARCH_VALUES_MAX: usize = 1_000;

/// Of these, values that no posting list finds: dates, titles, classes, what is negated or missing, and identifiers that the patient
/// registry is asked about one by one. Each is compared with every row a search looks at.
pub const SEARCH_TESTS_MAX: usize = 100;

/// Orders of which a segment keeps an array: 4 bytes for each of its documents, so 32 MB for a million certificates at most.
pub const ORDER_ARRAYS_MAX: usize = 8;

/// Filters whose count is remembered until the next round of the indexer.
pub const COUNTED_FILTERS_MAX: usize = 256;

/// Rows from which a count is worth remembering: about 50 µs of work.
pub const COUNTED_ROWS_MIN: u64 = 4_096;

/// Rows a page may reach to while matches are still being counted. A deeper page counts first, so that memory stays bounded.
pub const COUNTED_PAGE_ROWS_MAX: usize = 20_000;

/// Rows the indexer takes in one round. Rounds of this size keep the overlay small and the cost of a commit (3 to 5 ms) unseen.
pub const INDEX_ROUND_ROWS_MAX: usize = 16_384;

/// Bytes of the index up to which its files are compared with their checksums before the start is done: some 20 ms. Those of a larger one
/// are compared while reads are served already, and searches wait.
pub const INDEX_CHECKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Rows the overlay may hold before writes are slowed down, then refused with 503. About 128 MB; a row with many terms counts as
/// several, one for each [`OVERLAY_ROW_TERMS`].
pub const OVERLAY_ROWS_MAX: usize = 131_072;

/// Terms of one counted row of the overlay. Most certificates have fewer.
pub const OVERLAY_ROW_TERMS: usize = 32;

/// Bytes of the store that may be held in memory while the disk takes no writes: what redb changes to open a file that was not closed.
/// Beyond it reads wait for the disk as writes do.
pub const STORE_ASIDE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Requests waiting for the writer. Beyond it a write is answered with 503 at once instead of waiting unseen.
pub const WRITE_QUEUE_MAX: usize = 4_096;

/// Requests decided in one transaction. More would delay the first of them without making the rest cheaper.
pub const BATCH_JOBS_MAX: usize = 512;

/// Bytes of compressed bodies in one transaction, so that a batch of the largest bodies stays a short one.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Lines an import stores in one transaction: enough to make the commit cheap, few enough to lose little time when it fails.
pub const IMPORT_BATCH_LINES: usize = 4096;

/// Bytes of lines an import reads before it hands them on, so that few large lines do not fill the memory.
pub const IMPORT_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Threads that read and compress the lines of an import while the writer commits those before. More would take the processor
/// from a server that answers requests beside it.
pub const IMPORT_THREADS: usize = 2;

/// Bytes of a piece of the store that a backup copies at once and a restore commits at once. The largest record may exceed it.
pub const COPY_PIECE_BYTES: usize = 4 * 1024 * 1024;

/// Milliseconds that a backup reads at one moment; while it does, pages that writers gave up are not used again.
pub const COPY_READ_MS: u64 = 50;

/// Bytes that a copied version may expand to: twice the largest `server.body_bytes_max` and its index row. What says more is damaged.
pub const COPY_RECORD_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Bytes of a member of an archive that is held in memory: a piece with the largest record behind it. Files of the audit trail are
/// copied without being held.
pub const BACKUP_MEMBER_BYTES_MAX: usize = COPY_PIECE_BYTES + COPY_RECORD_BYTES_MAX;

/// Bytes of the manifest of an archive. Each piece takes some 130; this is enough for one of two terabytes.
pub const BACKUP_MANIFEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Minutes after which a scheduled backup that failed is tried again; a disk that was full may have room by then.
pub const BACKUP_RETRY_MINUTES: u64 = 10;

/// Minutes between two scheduled backups (default of `backup.every_minutes`): a day, which nobody has to type in again.
pub const BACKUP_EVERY_MINUTES: u64 = 1_440;

/// Every so-manieth scheduled backup is a full one (default of `backup.full_every`): with one a day, one a week.
pub const BACKUP_FULL_EVERY: u64 = 7;

/// Days that scheduled backups are kept (default of `backup.keep_days`).
pub const BACKUP_KEEP_DAYS: u64 = 30;

/// Ids that a restore leaves out (default of `backup.id_gap`). Contract 9.2: what was created behind the last archive had ids too.
pub const RESTORE_ID_GAP: u64 = 1_000_000;

/// Number of the last page that can be asked for. Times the largest count it still fits 64 bits; no store is that large.
pub const PAGE_MAX: u64 = u32::MAX as u64;
/// Certificates of a generated corpus. Five years of working time leave each some hundred milliseconds then, and every patient still
/// gets a personal code of their own.
pub const CORPUS_CERTIFICATES_MAX: u64 = 100_000_000;
/// Connections at once (default of `server.connections_max`). For one more, the connection that has been idle longest makes room.
pub const CONNECTIONS_MAX: usize = 1_024;

/// Connections at once from one address (default of `server.connections_per_address_max`): a quarter of all, so that it takes several
/// to fill the service. A hospital behind one address has fewer people at work at once.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;

/// Connections that wait in the kernel until the service takes them, where the system allows as many (`net.core.somaxconn`). Of the usual
/// 128 a crowd takes all, and whoever comes then tries again a second later.
pub const NEWCOMERS_MAX: u32 = 1_024;

/// Connections at once that are only told that there is no place for them. More are closed without a word.
pub const REFUSALS_MAX: usize = 64;

/// Seconds that telling so may take, a handshake included.
pub const REFUSAL_S: u64 = 2;

/// Milliseconds that a newcomer waits for a connection that has to make room. It only has to notice.
pub const ROOM_WAIT_MS: u64 = 100;

/// Milliseconds of silence after which a connection without request is idle, when room is needed. Clients that send one request after
/// another pause for less.
pub const IDLE_MS: u64 = 1_000;

/// Milliseconds after which a client that takes nothing of its answer loses its connection when room is needed.
pub const UNREAD_MS: u64 = 5_000;

/// Connections that are looked for at once when room is needed, so that the next newcomers find theirs without looking at all.
pub const ROOM_CANDIDATES: usize = 32;

/// Requests worked on at once, reads and writes each (default of `server.requests_max`). A request takes a worker for a fraction of a millisecond, so hundreds at
/// once are waiting for the disk, the registry or a turn; each holds some 100 KB at most on the way.
pub const REQUESTS_MAX: usize = 512;

/// Milliseconds that a request waits when so many are worked on, before it is 503. Longer than a peak, shorter than a caller's patience.
pub const REQUEST_WAIT_MS: u64 = 1_000;

/// Requests under way of one client (default of `server.requests_per_address_max`). An eighth of all; one HTTP/2 connection has no more.
pub const REQUESTS_PER_ADDRESS_MAX: usize = 64;

/// Seconds' worth of requests that a client may send at once under `server.requests_per_second`. A page of a client is a handful of them.
pub const REQUESTS_BURST_S: u32 = 2;

/// Clients that are remembered for the bounds on each. One takes some 50 bytes; those who are forgotten begin anew.
pub const CLIENTS_MAX: usize = 65_536;

/// Seconds that a request which only reads may take in all (default of `server.request_timeout_s`). Every wait on its way is shorter.
pub const REQUEST_TIMEOUT_S: u64 = 60;

/// Bytes a second that a request's body must come at on average (default of `server.body_bytes_per_second_min`). The slowest mobile line
/// is ten times as fast.
pub const BODY_BYTES_PER_SECOND_MIN: u64 = 500;

/// Seconds before a body's speed is asked for. A line may stall as long when a packet is lost twice.
pub const BODY_GRACE_S: u64 = 5;

/// Bytes a second that a client must take of its answers on average, once `server.write_timeout_s` is used up: as slow as a body may be.
pub const ANSWER_BYTES_PER_SECOND_MIN: u64 = 500;

/// Answers of one HTTP/2 connection that may wait for each other: with so many on their way each has so many times its time, and with more no longer.
pub const ANSWERS_IN_TURN_MAX: u32 = 8;

/// Bytes that an HTTP/2 connection must have written while it is idle to count as reading its answers: more than what pings take.
pub const HTTP2_PROGRESS_BYTES: u64 = 1_024;

/// Bytes of bodies that an HTTP/2 client may send on a stream before they are read. A certificate fits whole.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// Bytes of bodies that an HTTP/2 client may send on a connection before they are read.
pub const HTTP2_WINDOW_BYTES: u32 = 256 * 1024;

/// Bytes of answers that an HTTP/2 stream copies ahead of its client.
pub const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;

/// HTTP/2 streams that a client may open and take back before they are looked at, and streams that may end by a fault of the client.
/// Beyond, the connection is closed.
pub const HTTP2_RESETS_MAX: usize = 32;

/// Bytes of the file with the token of the management address.
pub const MANAGEMENT_TOKEN_BYTES_MAX: u64 = 4096;

/// Characters of that token: fewer can be guessed.
pub const MANAGEMENT_TOKEN_CHARACTERS_MIN: usize = 16;

/// Seconds between two looks at the files of TLS, to see whether they changed.
pub const TLS_LOOK_S: u64 = 5;

/// Bytes of a file of revocation lists: 400 000 certificates in a list.
pub const TLS_LIST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a file of TLS. A chain of five certificates has 10 KB, the authorities of a whole country fewer than a megabyte.
pub const TLS_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Days before its end from which a certificate's end is warned of. Whoever renews it by hand needs some.
pub const TLS_WARN_DAYS: i64 = 14;

/// Seconds for which browsers may remember that the service speaks TLS only: a year, as is usual.
pub const HSTS_S: u32 = 31_536_000;

/// The service does not start where the limit of open files leaves fewer connections than this, or than the setting.
pub const CONNECTIONS_FITTING_MIN: usize = 16;

/// Commands at once to a running server. One more is refused.
pub const COMMANDS_MAX: usize = 64;

/// Seconds within which a command has to say what it asks for.
pub const COMMAND_LINE_S: u64 = 5;

/// Bytes of the line that says so. What follows it, such as an import's lines, has bounds of its own.
pub const COMMAND_LINE_BYTES_MAX: usize = 64 * 1024;

/// Threads of a service beside those that serve requests: 16 when it is idle on two processors, and those of its first commands and its
/// first blocking work.
pub const SERVICE_THREADS: usize = 24;

/// Threads for work that blocks, such as large searches, each of which stays once it was started.
pub const BLOCKING_THREADS_MAX: usize = 64;

/// Bytes of stack of the thread that runs a command.
pub const MAIN_STACK_BYTES: usize = 8 * 1024 * 1024;

/// Open files kept for store, index and sockets beside connections. A segment of the index has up to eight; there are some twenty.
/// Connections that are only refused take [`REFUSALS_MAX`] of them, those of the management listener [`MANAGEMENT_CONNECTIONS_MAX`],
/// commands [`COMMANDS_MAX`].
pub const OPEN_FILES_RESERVED: usize = 432;

/// Requests at once on one HTTP/2 connection. Clients open a second connection long before they need more.
pub const STREAMS_MAX: u32 = 64;

/// Bytes of a request's first line and headers. Contract 10.3.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;

/// Headers of a request; hyper's own bound over HTTP/1.1. Contract 10.3.
pub const HEADERS_MAX: usize = 100;

/// Bytes of a request target. Room for the longest query a setting allows and a path before it, and for headers behind it.
pub const TARGET_BYTES_MAX: usize = 28 * 1024;

/// Bytes that an HTTP/1.1 connection reads ahead: the longest head, and as much of what follows it.
pub const HTTP1_BUFFER_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX;

/// Fields of an HTTP/2 header block that are decoded. A block with more ends its connection. The map for 101 headers has room for
/// as many, so those between cost no more memory and are answered with 431.
pub const HTTP2_FIELDS_MAX: u32 = 192;

/// Bytes of an HTTP/2 header block as it is sent. A block with more ends its connection.
pub const HTTP2_BLOCK_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX;

/// SETTINGS_MAX_HEADER_LIST_SIZE: the largest head, where HTTP/2 counts 32 bytes more for each field (RFC 9113, 6.5.2).
pub const HTTP2_HEADER_LIST_BYTES_MAX: u32 = HEADER_BYTES_MAX as u32 + 32 * HTTP2_FIELDS_MAX;

/// Fields of trailers. The service reads none of them.
pub const HTTP2_TRAILER_FIELDS_MAX: u32 = 8;

/// Bytes of trailers, as they are sent.
pub const HTTP2_TRAILER_BYTES_MAX: usize = 1_024;

/// Frames of HTTP/2 that carry neither a head nor data (PING, SETTINGS, WINDOW_UPDATE and others): so many at once, and so many a
/// second. Whoever sends more is cut off. A keep-alive sends one in some seconds.
pub const HTTP2_CONTROL_FRAMES_MAX: u64 = 1_000;

/// What each request of HTTP/2 adds to these, and each of so many bytes of answers: a client takes a large answer back by a frame,
/// and enlarges two windows for each 16 KiB that it was sent.
pub const HTTP2_CONTROL_FRAMES_PER_REQUEST: u64 = 8;

/// Bytes of answers for which an HTTP/2 connection may send one more frame that carries neither head nor body.
pub const HTTP2_BYTES_PER_CONTROL_FRAME: u64 = 1_024;

/// Requests of one HTTP/2 connection that its client may take back (RST_STREAM): so many at once, and so many a second. Beyond, the
/// connection is closed: that is the attack called rapid reset.
pub const HTTP2_CANCELS_MAX: u64 = 256;

/// Bytes that the head of one request takes in memory at most, with what it was read from: 192 entries of a map, the bytes themselves,
/// and the buffer that its target lies in. Each connection has one.
pub const HEAD_MEMORY_BYTES: usize = 96 * 1024;

/// Bytes that each further head of an HTTP/2 connection is counted with beside its headers: its task and the buffer of its target.
pub const HEAD_TASK_BYTES: usize = 24 * 1024;

/// Bytes of the heads of all requests that are under way over HTTP/2, but for one of each connection. Contract 10.3.
pub const HEADS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The same of one address: a quarter, some 250 usual requests.
pub const HEADS_BYTES_PER_ADDRESS_MAX: usize = HEADS_BYTES_MAX / 4;

/// Bytes of memory of the program by itself: its code and tables, threads, and mapped files of the index that are in use.
pub const PROCESS_MEMORY_BYTES: usize = 128 * 1024 * 1024;

/// Bytes of memory of a connection that has not said anything: its task, its timers, what it reads into.
pub const CONNECTION_MEMORY_BYTES: usize = 16 * 1024;

/// Bytes of memory of a request that is worked on, beside its head, body and answer.
pub const REQUEST_MEMORY_BYTES: usize = 100 * 1024;

/// Bytes of memory of a row of the overlay.
pub const OVERLAY_ROW_MEMORY_BYTES: usize = 1_024;

/// Bytes of all request bodies up to [`LARGE_BODY_BYTES`] held at once, with what they become ([`BODY_EXPANSION`]) while they are
/// processed. Beyond it a request is answered with 503 before memory runs out.
pub const SMALL_BODIES_BYTES_MAX: usize = 192 * 1024 * 1024;

/// The same of one client: a quarter, so that 64 certificates of 24 KB may wait for the registry or the disk.
pub const SMALL_BODIES_BYTES_PER_ADDRESS_MAX: usize = SMALL_BODIES_BYTES_MAX / 4;

/// Larger request bodies held at once, while they arrive and while they wait to be processed: memory for so many times
/// `server.body_bytes_max`. It is apart from that of small bodies, so that those that wait for seconds keep no certificate out.
pub const LARGE_BODIES_HELD: usize = 32;

/// The same of one client: a quarter.
pub const LARGE_BODIES_HELD_PER_ADDRESS: usize = LARGE_BODIES_HELD / 4;

/// Bytes of all answers that were made and are not read yet, but for small and for large ones. Beyond it a request is answered with 503
/// before memory runs out.
pub const ANSWERS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The same of one address: a quarter, so that no crowd from one place keeps others from their answers.
pub const ANSWERS_BYTES_PER_ADDRESS_MAX: usize = ANSWERS_BYTES_MAX / 4;

/// One connection may hold this part of what is free of them: an eighth, so that a dozen connections that read nothing leave a fifth of it.
pub const ANSWERS_FREE_SHARE: usize = 8;

/// Where less of them is free than this, connections end that hold answers for longer than [`ANSWERS_SCARCE_MS`].
pub const ANSWERS_BYTES_SCARCE: usize = ANSWERS_BYTES_MAX / 4;

/// Milliseconds that a connection may hold its answers then, on average: a client at work has read a certificate after a few.
pub const ANSWERS_SCARCE_MS: u64 = 1_000;

/// Bytes up to which an answer is a small one: a page as most are. Each connection has one at a time.
pub const SMALL_ANSWER_BYTES: usize = 128 * 1024;

/// The same on HTTP/2, where a connection has [`STREAMS_MAX`] at a time: a certificate.
pub const HTTP2_SMALL_ANSWER_BYTES: usize = 4 * 1024;

/// Bytes of a refused body that are still read and thrown away, so that a client that writes before it reads sees the refusal
/// instead of a reset connection.
pub const LINGER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Seconds for the same.
pub const LINGER_S: u64 = 5;

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

/// Characters of an `X-Request-Id` that is taken over. Longer ones are no ids, and every log line repeats it.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 128;

/// How many times its size an answer with `_pretty` may have. A page of certificates has less than twice; one with long lists deep inside
/// could have thirty times.
pub const INDENTED_EXPANSION: usize = 4;

/// Bytes up to which an answer is indented whatever it grows by.
pub const INDENTED_SMALL_BYTES: usize = 64 * 1024;

/// Bytes from which an answer is compressed. Below, the header and the work cost more than what is saved.
pub const GZIP_BYTES_MIN: usize = 1_024;

/// Seconds in `Retry-After` of a 503 and a 429. What causes one here passes within a second or two.
pub const RETRY_AFTER_S: u32 = 2;

/// Megabytes of redb's page cache (default of `storage.cache_mb`): a million certificates are read out of it.
pub const CACHE_MB: usize = 192;

/// Minutes that a sealed `_query` link of a search stays valid (default of `search.link_minutes`). A working session.
pub const LINK_MINUTES: u32 = 60;

/// Rows from which a search is a heavy one: about a millisecond of work. Heavy ones run in turns, on threads of their own, so that reads
/// keep theirs.
pub const HEAVY_ROWS: u64 = 20_000;

/// Seconds a heavy search waits for its turn before it is answered with 503. A caller who waits longer has mostly gone.
pub const HEAVY_WAIT_S: u64 = 5;

/// Bytes from which an answer is a large one: a hundred times a page as most are. Large ones are made in turns.
pub const LARGE_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Bytes from which an answer is compressed or indented off the threads that serve requests: some 5 ms of work.
pub const LARGE_FORM_BYTES: usize = 256 * 1024;

/// Large answers at once. A turn ends when the answer is sent, so that this bounds their memory too: with the next bound and the
/// copies that compression makes, some 200 MB.
pub const LARGE_ANSWERS: usize = 2;

/// Requests that wait for a turn of one kind. Whoever comes later would wait longer than allowed and is 503 at once.
pub const TURNS_WAITING_MAX: usize = 64;

/// Seconds a large answer waits for its turn before it is 503: the one before it has to cross the network first.
pub const LARGE_WAIT_S: u64 = 10;

/// Bytes of a Bundle. A page of the default count fits, whatever its certificates hold; whoever asks for more of the largest ones is
/// told to ask for fewer.
pub const BUNDLE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a file of code lists. A list of ten thousand codes with two displays each has some 3 MB.
pub const TERMINOLOGY_FILE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of all lists together, as they are served: twice the largest file. Memory holds them once more as codes.
pub const TERMINOLOGY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Codes in all lists together. Estonia's largest list here, that of occupations, has some 10 000; each takes half a kilobyte of memory.
pub const TERMINOLOGY_CONCEPTS_MAX: usize = 100_000;

/// Code systems and value sets. The service knows some thirty; each load looks at all of them.
pub const TERMINOLOGY_LISTS_MAX: usize = 1_000;

/// Value sets that import each other in a row. R5 has no deeper ones than three; a circle is found by this bound too.
pub const TERMINOLOGY_IMPORTS_MAX: usize = 8;

/// Codes of one expansion. More are asked for piece by piece; a list to choose from is shorter.
pub const EXPANSION_CODES_MAX: usize = 1_000;

/// `include`, `exclude` and `valueSet` of a value set that a request brings. Every code that it names is looked for in each of them.
pub const EXPANSION_PARTS_MAX: usize = 100;

/// Codes that the expansion of a value set in a request looks at: the largest list here has some 10 000.
pub const EXPANSION_CANDIDATES_MAX: usize = 20_000;

/// Codes that a message lists. More than twenty nobody reads.
pub const ALLOWED_CODES_MAX: usize = 20;

/// Characters of a header of X-Road that the audit trail keeps, and of a name in a path of X-Road. Contract 1.4.
pub const X_ROAD_CHARACTERS_MAX: usize = 256;

/// Patients that a search of the embedded registry looks at. Each takes 40 bytes while it is answered; all of Estonia has fewer.
pub const PATIENT_RESULTS_MAX: usize = 2_000_000;

/// Patients of one search whose links a remote registry is asked for, one after the other. Nobody asks for more at once by hand.
pub const LINK_LOOKUPS_MAX: usize = 50;

/// Searches for patients at once that look at everybody. More wait.
pub const WIDE_PATIENT_SEARCHES: usize = 2;

/// Patients that one identifier is asked for. One person has it; registers with errors in them have a handful.
pub const PATIENTS_OF_IDENTIFIER_MAX: usize = 100;

/// Codes of a fault. The longest chain there is has three; eight leave room for one that a registry should never send.
pub const FAULT_CODES_MAX: usize = 8;

/// Seconds a fault delays an answer. Every timeout of the settings can be reached, and nothing waits for ever.
pub const FAULT_SLOW_S_MAX: u64 = 60;

/// Rules for faults in the settings. Each call of the registry is compared with all of them.
pub const FAULT_RULES_MAX: usize = 256;

/// Characters of a rule's pattern. The longest identifier with its system is shorter; a pattern costs its length times what it is compared with.
pub const FAULT_PATTERN_CHARACTERS_MAX: usize = 512;

/// Bytes of a token. Those of the national issuers have some 2 KB; more is an attack, and a head holds 32 KiB.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Values of one claim that are looked at: roles, audiences. A token has one to three.
pub const TOKEN_VALUES_MAX: usize = 32;

/// Verified tokens that are remembered. Each takes about half a kilobyte; all doctors of Estonia are fewer.
pub const TOKENS_REMEMBERED_MAX: usize = 10_000;

/// Seconds that the clocks of issuer and service may differ (default of `access.token.leeway_s`).
pub const TOKEN_LEEWAY_S: u32 = 30;

/// Seconds that a token may live (default of `access.token.max_lifetime_s`): a long working day. It cannot be called back before.
pub const TOKEN_LIFETIME_S_MAX: u32 = 86_400;

/// Seconds that a token of the developer's token service lives (default of `access.token.developer_seconds`). Contract 7.1.
pub const DEVELOPER_TOKEN_S: u32 = 300;

/// Bytes of a body of the token service. The largest published one has some 400.
pub const TOKEN_ORDER_BYTES_MAX: usize = 16 * 1024;

/// Characters of a role, an organization or an application in such a body.
pub const TOKEN_ORDER_CHARACTERS_MAX: usize = 64;

/// Seconds after which keys are asked for again (default of `access.token.jwks_refresh_s`).
pub const JWKS_REFRESH_S: u64 = 300;

/// Seconds after which keys that could not be asked for again are not trusted any more (default of `access.token.jwks_age_max_s`): an
/// issuer that takes a key back is believed within a day, and one that is out of order has a night to be put right.
pub const JWKS_AGE_S_MAX: u64 = 86_400;

/// Refreshes that may fail in a row before the age of the keys itself is reported.
pub const JWKS_REFRESHES_LATE: u32 = 3;

/// Bytes of a JWK set. An issuer has two to four keys of half a kilobyte, some with certificates of several.
pub const JWKS_BYTES_MAX: usize = 256 * 1024;

/// Seconds between two times that the store is told the head of the audit trail. One commit each, where events came.
pub const AUDIT_HEAD_S: u64 = 30;

/// Tokens of callers whose exchanged tokens for the registry are kept.
pub const EXCHANGED_TOKENS_MAX: usize = 4096;

/// Bytes of a list of denied tokens and persons: some twenty thousand.
pub const DENIED_BYTES_MAX: usize = 1024 * 1024;

/// Keys of a set that are looked at.
pub const JWKS_KEYS_MAX: usize = 64;

/// Seconds that an address may take to tell its keys.
pub const JWKS_TIMEOUT_S: u64 = 5;

/// Seconds between two askings for keys that tokens with unknown keys cause, so that nobody can make the service ask without end.
pub const JWKS_PAUSE_S: u64 = 5;

/// Seconds between two looks at a file of keys, or of what is denied, to see whether it changed.
pub const JWKS_LOOK_S: u64 = 2;

/// Bits of an RSA key at least. NIST SP 800-57.
pub const RSA_BITS_MIN: usize = 2_048;

/// Bits of an RSA key at most; verifying with a longer one takes long.
pub const RSA_BITS_MAX: usize = 8_192;

/// Milliseconds a patient registry may take for one answer, connecting included (default of `registry.remote.timeout_ms`). A caller of
/// this service waits as long.
pub const REGISTRY_TIMEOUT_MS: u64 = 5_000;

/// Milliseconds for a question to the registry as a whole, with all tries and pauses (default of `registry.remote.deadline_ms`).
pub const REGISTRY_DEADLINE_MS: u64 = 10_000;

/// Times a question is put to the registry at most (default of `registry.remote.tries`). What three do not mend is no hiccup.
pub const REGISTRY_TRIES: u32 = 3;

/// Milliseconds that the first pause between two tries lasts at most; each later one may last twice as long.
pub const REGISTRY_PAUSE_MS: u64 = 50;

/// Milliseconds that any such pause lasts at most.
pub const REGISTRY_PAUSE_MS_MAX: u64 = 1_000;

/// Requests to the registry at once (default of `registry.remote.connections`). More wait, and their waiting counts.
pub const REGISTRY_CONNECTIONS: usize = 64;

/// Seconds that an idle connection to the registry is kept. Servers mostly close theirs after a minute.
pub const REGISTRY_IDLE_S: u64 = 30;

/// Failures in a row after which the registry is left alone (default of `registry.remote.breaker_failures`).
pub const REGISTRY_BREAKER_FAILURES: u32 = 5;

/// Seconds it is left alone before one request tries again (default of `registry.remote.breaker_open_s`).
pub const REGISTRY_BREAKER_OPEN_S: u64 = 10;

/// Seconds that a patient the service looked up is remembered (default of `registry.remote.cache_s`). A clinician at work asks for the
/// same one some times a minute.
pub const REGISTRY_CACHE_S: u64 = 30;

/// Answers of the registry that are remembered at once.
pub const REGISTRY_CACHE_ENTRIES_MAX: u64 = 10_000;

/// Bytes of the answers that are remembered at once. A patient has some 2 KB.
pub const REGISTRY_CACHE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of an answer of the registry. A page of a hundred patients has some 200 KB; reading stops here.
pub const REGISTRY_ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes from which an answer of the registry is a large one. It is read in turns, on a thread of its own.
pub const REGISTRY_LARGE_ANSWER_BYTES: usize = 256 * 1024;

/// Large answers of the registry at once: read as JSON, each may take twenty times its bytes.
pub const REGISTRY_LARGE_ANSWERS: usize = 2;

/// Bytes of an answer's first line and headers.
pub const REGISTRY_HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the file with the service's credential for the registry. A token has up to 4 KB.
pub const REGISTRY_TOKEN_BYTES_MAX: u64 = 16 * 1024;

/// Issues of another system's OperationOutcome that are told on. The longest chain of the specification has three.
pub const REFLECTED_ISSUES_MAX: usize = 100;

/// Codings, and expressions, of one such issue that are told on.
pub const REFLECTED_VALUES_MAX: usize = 20;

/// Characters of a text that comes from another system's issue; what lies behind is cut off.
pub const REFLECTED_TEXT_CHARACTERS_MAX: usize = 8_000;

/// Bytes that must find room beside the store before it is opened again after a failure: a batch of the writer and what redb writes with it.
pub const STORE_ROOM_BYTES: usize = 8 * 1024 * 1024;

/// The longest pause between two tries to open the store again after a failure, in seconds.
pub const STORE_REOPEN_PAUSE_SECONDS: u64 = 5;

/// The same after a commit met damage, when each try reads the whole file.
pub const STORE_DAMAGED_PAUSE_SECONDS: u64 = 300;

/// Parts of the store's file that are remembered as written since the last sync that succeeded, in case the next one fails. A batch of the
/// writer has some hundreds of pages; those of a larger commit grow to windows of the file.
pub const STORE_RANGES_MAX: usize = 4_096;

/// Bytes of the store's file that are read and written again at once after a failed sync: the largest pages in which systems keep a file,
/// so that none of them lies in two such windows.
pub const STORE_AGAIN_BYTES: usize = 2 * 1024 * 1024;

/// Bytes free on the index's disk below which a failure of the index is put down to the disk. A round of the indexer writes less.
pub const INDEX_ROOM_BYTES_MIN: u64 = 1024 * 1024;

/// Changes that a reindex puts into the index beside before it commits them: a quarter of a million, so that its segments are few.
pub const REINDEX_COMMIT_ROWS: usize = 262_144;

/// By how much a thread that builds an index, or carries out a command, gives way to others, in the steps of nice(2), 0 to 19: it has time.
pub const GIVE_WAY_NICE: i32 = 15;

/// Bytes of a search's parameters that its audit event keeps: the longest query and the longest form that a setting allows, and the
/// sign between them. What is longer is refused, and its event has the SHA-256 of all of it.
pub const AUDIT_QUERY_BYTES_MAX: usize = 2 * 24_576 + 1;

/// Subjects, contained resources, parameters or sections in one list of a body that are looked through for whom it names. A certificate
/// has one subject, which alone the registry is asked for, and far fewer of the others.
pub const AUDIT_NAMED_BY_BODY_MAX: usize = 200;

/// Certificates that the event of a search names that names an identifier and only counts what has it. An identifier is that of one
/// certificate, or of one person, who has fewer.
pub const AUDIT_COUNTED_MAX: u32 = 50;

/// Bytes of a header of X-Road in an audit event: all characters that are kept, each of four bytes, and the mark of one that was cut.
pub const AUDIT_CLAIMED_BYTES_MAX: usize = 4 * X_ROAD_CHARACTERS_MAX + 64;

/// Bytes of any other text of an audit event: a name, a code.
pub const AUDIT_TEXT_BYTES_MAX: usize = 512;

/// Connections at once to the management listener. A probe, a scraper and a person or two need few of them. For one more, the
/// connection that has been silent longest is closed.
pub const MANAGEMENT_CONNECTIONS_MAX: usize = 64;

/// Milliseconds for the head of the request of such a connection.
pub const MANAGEMENT_HEAD_MS: u64 = 1_000;

/// Seconds that such a connection may take for its one request and answer.
pub const MANAGEMENT_CONNECTION_S: u64 = 10;

/// Bytes of the head of such a request; hyper allows no fewer.
pub const MANAGEMENT_HEAD_BYTES_MAX: usize = 8 * 1024;

/// Milliseconds that all parts of the service may take together to say how they are. One that waits for a disk is not well.
pub const MANAGEMENT_LOOK_MS: u64 = 2_000;

/// Heartbeats in a row, one a second, that may be missing before `/live` is 503. A scheduler that is only busy brings one back in
/// milliseconds.
pub const LIVE_BEATS_MISSED_MAX: u32 = 4;

/// Seconds that one thread of the request runtime may work without returning to its scheduler before `/live` is 503 although other
/// threads still pass the heartbeat. No single step of a request is meant to take more than milliseconds.
pub const LIVE_THREAD_BUSY_S: u32 = 30;

/// Seconds that all threads of the pool for large resources may work without returning to their scheduler before `/live` is 503. The
/// largest step takes seconds of a processor, and gives way to everything else: a busy machine may take a hundred times as long.
pub const LIVE_POOL_BUSY_S: u32 = 300;

/// Seconds of more time that the service asks systemd for while it opens or closes the data folder.
pub const SYSTEMD_EXTENSION_S: u64 = 30;

/// Seconds for which it asks for more time in all while it closes: a disk that hangs must not keep a stopped service for ever.
pub const SYSTEMD_CLOSING_S_MAX: u64 = 600;

/// Bytes of log lines that wait for the thread that writes them. As many again may be in its hands. At 350 bytes a line, 12 000 lines:
/// more than half a second of reads at full load.
pub const LOG_QUEUE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How much of that the lines of requests may fill. The rest is for warnings and errors, which a flood of requests must not push out.
pub const LOG_QUEUE_ROUTINE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Bytes of one line of the log; a longer one is dropped and counted. journald cuts lines at 48 KiB by default, Docker at 16 KiB.
pub const LOG_QUEUE_LINE_BYTES_MAX: usize = 64 * 1024;

/// How long lines of the log gather behind a write before the next one, unless one of them is urgent (Decision 167).
pub const LOG_GATHER_MS: u64 = 10;

/// Milliseconds before the log is written again after a write failed. Otherwise each line of a full disk would cost a system call.
pub const LOG_RETRY_MS: u64 = 100;

/// Seconds between two lines that report dropped lines.
pub const LOG_DROPS_REPORT_S: u64 = 10;

/// Milliseconds that the end of the process waits for the reader of the log.
pub const LOG_FLUSH_MS: u64 = 1_000;

/// Seconds that one write of the log may take before the part `log` is degraded.
pub const LOG_WRITE_STALLED_S: u64 = 5;

/// Seconds for which the part `log` stays degraded after lines were dropped. A scraper that asks once a minute must see it.
pub const LOG_DROPS_RECENT_S: u64 = 300;

/// Seconds that `hcert health` waits for an answer.
pub const HEALTH_WAIT_S: u64 = 5;

/// Bytes of such an answer. One has some 2 KB.
pub const HEALTH_BYTES_MAX: u64 = 256 * 1024;

/// Megabytes of free disk below which the service is degraded (default of `management.disk_free_mb_min`). A certificate takes some 2 KB
/// with its index: room for hundreds of thousands, and time to act.
pub const DISK_FREE_MB_MIN: u64 = 1_024;

/// Megabytes of a file of the audit trail (default of `audit.file_mb`). The next one lies ready, filled with zeros: some 50 000 events
/// that a full disk cannot keep out.
pub const AUDIT_FILE_MB: u64 = 16;

/// Bytes of a block of a sealed file of the trail before compression. Larger ones hardly become smaller; a damaged one costs its events.
pub const AUDIT_BLOCK_BYTES: usize = 256 * 1024;

/// Milliseconds after which the audit trail makes durable what was written. Contract 7.8 allows 100; the rest is for the disk.
pub const AUDIT_SYNC_MS: u64 = 50;

/// Bytes of events that are not durable yet. A disk that falls further behind refuses requests; memory holds them until then, for a
/// disk that turns out to have lost them.
pub const AUDIT_PENDING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of the events that are written at once, with all that frames them: a thousand changes of one commit have half a megabyte.
pub const AUDIT_WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Milliseconds between two tries to mend an audit trail that cannot be written, or to make room for it.
pub const AUDIT_RETRY_MS: u64 = 1_000;

/// Minutes between two looks for files of the trail that are older than `audit.retention_days`. Days are counted, so an hour is often.
pub const AUDIT_RETENTION_MINUTES: u64 = 60;

/// Keys of events, certificates in them, and their keys, that the index of one file of the audit trail holds: 8 to 32 bytes of memory each
/// while the file is written. A file of the usual size has some 800 000 for reads; one with more than this has no index, and searches read
/// its events.
pub const AUDIT_INDEX_PAIRS_MAX: usize = 4_000_000;

/// Files of the audit trail that have an index in memory: the one that is written, and the one before it until it is sealed.
pub const AUDIT_DRAFTS_MAX: usize = 2;

/// Bytes of a file of the audit trail that are added to its index under one lock: some milliseconds of work. An event is shorter.
pub const AUDIT_DRAFT_PIECE_BYTES: usize = 1024 * 1024;

/// Bytes of memory that these take at most, and one that is made for a sealed file.
pub const AUDIT_INDEX_MEMORY_BYTES: usize = 3 * 64 * 1024 * 1024;

/// Problems of an audit trail that are told one by one. What is more is counted.
pub const AUDIT_PROBLEMS_MAX: usize = 100;

/// Versions whose patient an export of the audit trail remembers, so that each is looked up once. Each takes some 100 bytes.
pub const AUDIT_PATIENTS_CACHED_MAX: usize = 100_000;

/// Rows that one commit of a migration writes: some milliseconds of work, and little to do again after a kill.
pub const MIGRATION_CHUNK_ROWS: usize = 10_000;

/// Bytes that the disk must have beside the copy of the store that a migration makes first: for what its steps add, and for events.
pub const MIGRATION_ROOM_BYTES: u64 = 64 * 1024 * 1024;

/// Rows that a check of a running store reads in one go: some 30 ms where bodies are read, so that no read transaction grows old.
pub const VERIFY_CHUNK_ROWS: usize = 512;

/// Problems that a check tells one by one; of more only the number. Whoever has a hundred wants a backup, not a list.
pub const VERIFY_PROBLEMS_MAX: usize = 100;

/// Seconds that a check or a compaction of a whole file waits for reads under way to end.
pub const STORE_QUIET_SECONDS: u64 = 10;

/// Bytes of the line that a request writes to the log, so that a hundred requests a second are 3 GB a day and no more.
pub const LOG_LINE_BYTES_MAX: usize = 350;

/// Bytes that the cause of a failure may take beside that.
pub const LOG_CAUSE_BYTES_MAX: usize = 300;

/// Characters of an error code in a line of the log. The longest known, of the security server, have some 60.
pub const LOG_CODE_CHARACTERS_MAX: usize = 64;

/// Lines of one call site and code that are written within [`LOG_REPEAT_WINDOW_S`]; more are counted and told in one line.
pub const LOG_REPEATS_MAX: u32 = 100;

/// Seconds after which lines that repeat are written one by one again.
pub const LOG_REPEAT_WINDOW_S: u64 = 10;

/// Call sites and codes whose lines are counted apart. Codes of other systems may be any; what is more is counted together.
pub const LOG_REPEAT_KEYS_MAX: usize = 1_000;

/// Successful answers that share one line, at most.
pub const LOG_SAMPLE_MAX: u32 = 1_000_000;

/// Modules that have a level of their own.
pub const LOG_TARGETS_MAX: usize = 20;
