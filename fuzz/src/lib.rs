//! The pure rooms of hcert that judge what comes from outside, taken in as files. The service as a whole, with its store, its index and
//! its door, would take a quarter of an hour to build with coverage; these take a minute or two.

pub mod browser;
pub mod mutation;

/// They name each other as `crate::…`, so they stand at the root as well.
#[path = "../../src"]
mod rooms {
    pub mod certificate;
    pub mod definitions;
    pub mod fhir;
    pub mod limits;
    pub mod outcome;
    pub mod profile;
    pub mod terminology;
}

pub use rooms::*;
