//! `hcert bench`: what the service costs beside what it could cost at least, at any size, in one run.
//!
//! For each size a scratch folder is filled through the import, the server started as a process of its own and driven over loopback
//! from this one. Every scenario takes turns with its floor, so that the ratio holds on any machine, busy or not. `docs/BENCHMARKS.md`
//! explains the figures.

mod after_write;
mod against;
mod child;
mod client;
mod compare;
mod device;
mod figures;
mod fill;
pub mod floor;
mod goals;
mod load;
mod machine;
mod markdown;
mod measure;
mod plan;
mod question;
mod report;
mod restart;
mod run;
mod sample;
mod scenario;
mod scratch;
mod stop;
mod svg;
mod terminal;
mod turn;

pub use child::environment_name;
pub use client::BenchTarget;
pub use compare::compare;
pub use markdown::markdown;
pub use plan::{BenchPlan, Watch, parse_count, parse_scenario};
pub use report::BenchReport;
pub use run::run;
pub use scenario::{SCENARIOS, Scenario};
pub use stop::{BenchError, Stop};
pub use svg::svg;
