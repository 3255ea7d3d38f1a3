//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

use crate::config::limits::{ANSWERS_BYTES_MAX, LARGE_BODIES};

/// Bytes above which a body is a large one: read, checked and stored on threads of its own, beside those that serve requests. A certificate
/// has about 4 KB; one of this size takes a thread for some milliseconds at most. Contract 10.3.
pub const LARGE_BODY_BYTES: usize = 64 * 1024;

/// Bytes of a query or a form above which it is a long one: whom it names is read, and its event written, in turn. That takes up to a few milliseconds of
/// a thread that serves requests, also where the request is refused. One of a person at a screen is far shorter.
pub const LONG_QUERY_BYTES: usize = 2 * 1024;

/// Large bodies of one client that are processed at once. Others of it wait in its own line, so that its crowd keeps no other client waiting for long.
pub const LARGE_BODIES_PER_ADDRESS: usize = LARGE_BODIES / 2;

/// Connections that wait in the kernel until the service takes them, where the system allows as many (`net.core.somaxconn`). Of the usual
/// 128 a crowd takes all, and a client that comes then tries again a second later.
pub const NEWCOMERS_MAX: u32 = 1_024;

/// Connections at once that are only told that there is no place for them. More are closed without a word.
pub const REFUSALS_MAX: usize = 64;

/// Milliseconds of silence after which a connection without request is idle, when room is needed. Clients that send one request after
/// another pause for less.
pub const IDLE_MS: u64 = 1_000;

/// Clients that are remembered for the bounds on each. One takes some 50 bytes; those who are forgotten begin anew.
pub const CLIENTS_MAX: usize = 65_536;

/// Bytes a second that a client must take of its answers on average, once `server.write_timeout_s` is used up: as slow as a body may be.
pub const ANSWER_BYTES_PER_SECOND_MIN: u64 = 500;

/// Bytes of answers that an HTTP/2 stream copies ahead of its client.
pub const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;

/// Seconds between two looks at the files of TLS, to see whether they changed.
pub const TLS_LOOK_S: u64 = 5;

/// Bytes of a request's first line and headers. Contract 10.3.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;

/// Headers of a request; hyper's own bound over HTTP/1.1. Contract 10.3.
pub const HEADERS_MAX: usize = 100;

/// Bytes of a request target. Room for the longest query a setting allows and a path before it, and for headers behind it.
pub const TARGET_BYTES_MAX: usize = 28 * 1024;

/// Fields of an HTTP/2 header block that are decoded. A block with more ends its connection. The map for 101 headers has room for
/// as many, so those between cost no more memory and are answered with 431.
pub const HTTP2_FIELDS_MAX: u32 = 192;

/// Bytes of unread answers of one address: a quarter of all, so that no crowd from one place keeps others from their answers.
pub const ANSWERS_BYTES_PER_ADDRESS_MAX: usize = ANSWERS_BYTES_MAX / 4;

/// Characters of an `X-Request-Id` that is taken over. Longer ones are no ids, and every log line repeats it.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 128;

/// How many times its size an answer with `_pretty` may have. A page of certificates has less than twice; one with long lists deep inside
/// could have thirty times.
pub const INDENTED_EXPANSION: usize = 4;

/// Exchanges that are kept for people who watch.
pub const EXCHANGES_MAX: usize = 2_000;

/// Bytes of all of them together.
pub const EXCHANGES_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of each body of an exchange that is kept; the rest of a larger one is left out.
pub const EXCHANGE_BODY_BYTES_MAX: usize = 64 * 1024;
