//! hcert keeps Estonian health certificates as versioned FHIR R5 Compositions in one process: redb stores them, tantivy finds them,
//! hyper serves them. The map, one paragraph per room, from the door inwards; an arrow leads from a room to those below it, never back.
//!
//! - [`cli`]: the commands. Each opens what it needs, does its work, and says what happened.
//! - [`bench`](mod@bench): what `hcert bench` measures, and the floors beside it.
//! - [`management`]: how the service is, told to whoever watches it, on an address of its own.
//! - [`http`]: the door, and the only room that knows hyper. A request becomes an `Interaction` and a `Context`; an `Answer` or an
//!   `Outcome` becomes status, headers and body.
//! - [`socket`]: the way of commands to a running server, through the data folder. [`bulk`]: all versions as NDJSON, out and in.
//! - [`backup`]: archives of the store and its trail while the server goes on, and a data folder made of them again.
//! - [`interaction`]: one file per FHIR interaction or operation. The last room that awaits.
//! - [`engine`]: what keeps and finds certificates. One writer decides, stamps and commits in batches; one indexer follows; searches
//!   see one moment.
//! - [`audit`]: the audit trail: who saw and did what, in files that are only ever appended to.
//! - [`registry`]: the way to the patient registry, and personal codes.
//! - [`search`]: the query language, pure: the table of parameters, what a query asks, what a row says, how pages are linked.
//! - [`validation`]: the validator, pure: profiles read into rules, one walk that asks R5 and them.
//! - [`terminology`]: code systems and value sets at hand, and whether a code is one of theirs.
//! - [`definitions`]: profiles, code lists and operations that ship with the binary, as FHIR resources.
//! - [`certificate`]: the domain, pure: ids, states, the nine transitions, sections with reasons, head and tail of the stored bytes.
//! - [`fhir`]: R5's own words: JSON, the element table, the walk over it, times, narratives, subsets, Bundles.
//! - [`outcome`]: what went wrong, and the catalogue of our codes.
//! - [`access`]: who calls, as a verified token says. `tls`: whom the service itself believes.
//! - [`metrics`]: what is counted while the service runs, as OpenMetrics. [`trace`]: which request the present work is for.
//! - [`log`]: what the system log says; `cli` writes its lines.
//! - [`output`]: standard error behind a bounded queue, so that nobody waits for its reader.
//! - `regular_file`: files that settings name, opened without waiting.
//! - [`config`]: settings. [`corpus`]: synthetic certificates for trying, testing and measuring.

// Both panic when nobody reads any more. Commands have `cli::say` and `cli::note`; the service has its log.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod access;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod bulk;
pub mod cli;
pub mod config;
pub mod corpus;
pub mod http;
pub mod interaction;
pub mod management;
pub mod output;
pub mod registry;
pub mod socket;
mod tls;
