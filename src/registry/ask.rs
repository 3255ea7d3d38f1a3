//! What the patient registry is asked, on whose behalf, and what it answers, whichever registry it is.

use std::sync::Arc;

use crate::outcome::{Chain, Language};

/// A call of FHIR's own REST API. Parameters are name and value, decoded, in the order sent; ids and versions as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `GET /Patient?…`
    Search(Vec<(String, String)>),
    /// `GET /Patient/{id}`
    Read(String),
    /// `GET /Patient/{id}/_history/{version}`
    Vread(String, String),
    /// `GET /Patient/{id}/_history?…`
    History(String, Vec<(String, String)>),
}

impl Ask {
    /// Id of the one patient it is about.
    pub fn id(&self) -> Option<&str> {
        match self {
            Ask::Search(_) => None,
            Ask::Read(id) | Ask::Vread(id, _) | Ask::History(id, _) => Some(id),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub language: Language,
    /// `{base_url}` as the caller sees it, for links of an answer that goes to the caller.
    pub base_url: Arc<str>,
    pub purpose: Purpose,
    /// The caller's `Authorization`, handed on when the registry is asked in the caller's name.
    pub authorization: Option<String>,
    pub x_road: XRoad,
    /// `x-hcert-fault`, where it counts: in developer mode. Contract 6.4.
    pub fault: Option<String>,
}

/// Why the registry is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// The caller asked for patients: the registry judges by the caller's own credential.
    Callers,
    /// To decide something of the service's own, with the service's credential. Nobody is taken over from the population register.
    Look,
    /// As `Look`, for a write: a person not known yet is taken over.
    #[default]
    Write,
}

/// Headers of the X-Road message, handed on as they came. They grant nothing. Contract 1.4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XRoad {
    /// `x-road-client`
    pub client: Option<String>,
    /// `x-road-id`
    pub id: Option<String>,
    /// `x-road-issue`
    pub issue: Option<String>,
    /// `x-road-userid`: `EE` and a personal code.
    pub userid: Option<String>,
    /// `x-author-id`: personal code of the author.
    pub author_id: Option<String>,
}

/// What the registry told: a Patient, or a Bundle of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// FHIR JSON, minified, as it may be served to the caller.
    pub body: Vec<u8>,
    /// `ETag` without `W/` and quotes.
    pub version: Option<String>,
    /// `Last-Modified`, milliseconds since 1970 UTC.
    pub last_modified: Option<i64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The registry says what is wrong.
    Refused(Chain),
    /// It answers 404 and says no more.
    NotFound,
    /// It says nothing that could be told on.
    Silent(Silent),
    /// The fault that the caller asked for is none; the text says what is wrong and what is allowed.
    Fault(String),
}

/// What became of a call that has no readable answer. The text is for the log; it holds no personal data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silent {
    /// Not within its time.
    Timeout(String),
    /// No connection, or it broke off; or so many calls failed lately that none is tried for a while.
    Unreachable(String),
    /// An answer that is not what FHIR says: HTML, too large, another type, an error without a readable OperationOutcome.
    Unreadable(String),
    /// It refuses the service's own credential, which is no fault of the caller.
    Credential(String),
}

impl From<Chain> for Failed {
    fn from(chain: Chain) -> Self {
        Failed::Refused(chain)
    }
}

impl From<Silent> for Failed {
    fn from(silent: Silent) -> Self {
        Failed::Silent(silent)
    }
}
