//! hcert keeps Estonian health certificates as versioned FHIR R5 Compositions in one process: redb stores them, tantivy finds them,
//! hyper serves them. This is the service and its commands; what need not know them is in `crates/`: [`certificate`] (the domain, its
//! search language, profiles and terminology), [`engine`] (what keeps and finds certificates), [`fhir`] (R5's own words) and [`base`]
//! (log, metrics, threads). The map, one line per module, from the HTTP front end inwards; a module uses those below it, never those above.
//!
//! - [`cli`]: the commands. Each opens what it needs, does its work, and says what happened.
//! - [`bench`](mod@bench): what `hcert bench` measures, and the floors beside it.
//! - [`management`]: how the service is, told to whoever watches it, on an address of its own.
//! - [`console`]: pages for people, which ask the API as every client does.
//! - [`http`]: the HTTP front end, and the only module that uses hyper. A request becomes an `Interaction` and a `Context`; an `Answer` or an
//!   `Outcome` becomes status, headers and body.
//! - [`socket`]: the control socket, through which commands reach a running server. [`bulk`]: all versions as NDJSON, out and in.
//! - [`interaction`]: one file per FHIR interaction or operation, and the table of all of them. The last module that awaits.
//! - [`backup`]: archives of the store and its trail while the server goes on, and a data folder made of them again.
//! - [`registry`]: the way to the patient registry, and personal codes.
//! - [`access`]: who calls, as a verified token says. `tls`: whom the service itself believes.
//! - [`audit`]: the audit trail: who saw and did what, in files that are only ever appended to.
//! - [`config`]: settings. [`corpus`]: synthetic certificates for trying, testing and measuring. [`documents`]: the pages of `docs/`.
//! - [`turns`]: whom requests are counted for, and work that only few may do at once. [`output`]: standard error behind a bounded queue, so that nobody waits for its reader.

// Both panic when nobody reads any more. Commands have `cli::say` and `cli::note`; the service has its log.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod access;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod bulk;
pub mod cli;
pub mod config;
pub mod console;
pub mod corpus;
pub mod documents;
pub mod http;
pub mod interaction;
pub mod management;
pub mod output;
pub mod registry;
pub mod socket;
mod tls;
pub mod turns;
