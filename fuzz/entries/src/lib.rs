//! What is asked of the rooms of hcert whatever comes from outside: one file of `entry` for each kind of input. Fuzzing feeds it with
//! coverage (`fuzz/targets`), and the property tests with a plain compiler (`tests/property.rs`).
//!
//! The rooms are taken in as files. The service as a whole, with its store and its index, would take a quarter of an hour to build with
//! coverage; these take a few minutes. What they name of the rest has a stand-in of a line or two.

#![expect(dead_code, reason = "nobody here uses all of a room")]

pub mod browser;
pub mod dice;
pub mod entry;
pub mod mutation;
pub mod wire;

/// They name each other as `crate::…`, so they stand at the root as well.
#[path = "../../../src"]
mod rooms {
    pub mod certificate;
    pub mod config;
    pub mod definitions;
    pub mod fhir;
    pub mod limits;
    pub mod outcome;
    pub mod profile;
    pub mod regular_file;
    pub mod search;
    pub mod terminology;
    pub mod trace;

    pub mod log {
        mod shown;

        pub use shown::shown;

        /// Stands in for what the log shows of a refusal.
        #[derive(Clone, Debug)]
        pub struct Refused {
            pub code: String,
            pub id: Option<String>,
            pub cause: Option<String>,
        }
    }

    pub mod metrics {
        /// Stands in for what is counted.
        #[derive(Debug)]
        pub struct Metrics;

        impl Metrics {
            pub fn new() -> std::sync::Arc<Metrics> {
                std::sync::Arc::new(Metrics)
            }
        }
    }

    pub mod access {
        pub mod identity;

        pub use identity::Identity;

        /// Stands in for whoever verifies tokens; nobody here does.
        #[derive(Debug)]
        pub struct Tokens;

        pub mod token {
            pub mod claims;
            pub mod compact;
            pub mod order;
            pub mod refused;
        }
    }

    pub mod audit {
        pub mod encoding;
        pub mod event;
        pub mod header;
        pub mod key;
        pub mod operator;
        pub mod record;
        pub mod resource;

        pub use event::{Action, Entity, Event, From, Method, Who};
        pub use key::{Met, Named};
        pub use operator::Operator;

        /// Stands in for the number of an event, which the room's log defines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct Number(pub u64);
    }

    pub mod engine {
        pub mod patient;
        pub mod write;

        /// What the writer refuses for is not read here.
        #[derive(Debug)]
        pub struct ClockProblem;

        pub use patient::PatientFacts;
        pub use write::{Particulars, Who};

        pub mod embedded {
            pub mod who;

            pub use store::Error;

            pub mod store {
                pub mod change;
                pub mod crc;
                pub mod record;

                pub mod consent {
                    pub mod record;
                }

                pub mod patient {
                    pub mod record;
                }

                /// Stands in for the errors of the store: those that reading bytes can give.
                #[derive(Debug)]
                pub enum Error {
                    Damaged(String),
                    Newer(String),
                }
            }
        }
    }

    pub mod registry {
        pub mod ask;

        pub use ask::{Ask, Caller, HeaderText, Purpose, XRoad};
    }

    pub mod interaction {
        pub mod asked;
        pub mod context;
        pub mod request;

        pub use crate::registry::Ask;
        pub use context::{
            Condition, Context, HandedOn, HeaderText, Identity, Language, Prefer, Return, Subset, Tag, XRoad,
        };
        pub use request::{DefinitionKind, Instance, Interaction, ListKind};

        pub mod consent {
            pub mod said;
        }

        pub mod operation {
            pub mod reason;
        }

        pub mod rights {
            /// Stands in for what a caller may do.
            #[derive(Debug)]
            pub struct Held;
        }

        pub mod validate {
            pub mod asked;
        }
    }

    pub mod tls {
        /// Stands in for the service's certificate.
        #[derive(Debug)]
        pub struct Presented;
    }

    pub mod http {
        pub mod account;
        pub mod condition;
        pub mod guard;
        pub mod handed_on;
        pub mod header;
        pub mod media;
        pub mod message;
        pub mod proxy;
        pub mod quality;
        pub mod query;
        pub mod request;
        pub mod request_id;
        pub mod route;
        pub mod settings;
        pub mod smart;
        pub mod trace;
        pub mod wanted;
        pub mod x_road;

        pub mod body {
            /// Stands in for how long a body may take.
            pub struct Patience {
                pub whole: std::time::Duration,
                pub bytes_per_second_min: u64,
            }
        }

        pub mod sender {
            /// Stands in for the mark of a request whose headers were dropped.
            #[derive(Clone)]
            pub struct Dropped(pub String);
        }

        pub mod token {
            pub const TOKEN_PATH: &str = "/auth/v2/token";
            pub const KEYS_PATH: &str = "/.well-known/jwks.json";
        }
    }
}

pub use rooms::*;
