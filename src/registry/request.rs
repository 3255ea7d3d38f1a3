//! What the patient registry is asked, on whose behalf, and what it answers, whichever registry it is.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::config::limits::X_ROAD_CHARACTERS_MAX;
use crate::turns::ClientKey;
use fhir::outcome::{IssueChain, Language};

/// A call of FHIR's own REST API. Parameters are name and value, decoded, in the order sent; ids and versions as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryRequest {
    /// `GET /Patient?…`
    Search(Vec<(String, String)>),
    /// `GET /Patient/{id}`
    Read(String),
    /// `GET /Patient/{id}/_history/{version}`
    Vread(String, String),
    /// `GET /Patient/{id}/_history?…`
    History(String, Vec<(String, String)>),
}

impl RegistryRequest {
    /// Id of the one patient it is about.
    pub fn id(&self) -> Option<&str> {
        match self {
            RegistryRequest::Search(_) => None,
            RegistryRequest::Read(id) | RegistryRequest::Vread(id, _) | RegistryRequest::History(id, _) => Some(id),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub language: Language,
    /// Whom the question is counted for; this machine itself where it is nothing.
    pub client: Option<ClientKey>,
    /// `{base_url}` as the caller sees it, for links of an answer that goes to the caller.
    pub base_url: Arc<str>,
    pub purpose: LookupPurpose,
    /// The caller's `Authorization`, forwarded when the registry is asked in the caller's name.
    pub authorization: Option<String>,
    pub x_road: XRoadHeaders,
    /// `x-hcert-fault`, where it counts: in developer mode. Contract 6.4.
    pub fault: Option<String>,
}

/// Why the registry is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupPurpose {
    /// The caller asked for patients: the registry judges by the caller's own credential.
    Callers,
    /// To decide something of the service's own, with the service's credential. Nobody is taken over from the population register.
    Look,
    /// As `Look`, for a write: a person not known yet is taken over.
    #[default]
    Write,
}

/// Headers of the X-Road message, forwarded as they came. They grant nothing. Contract 1.4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XRoadHeaders {
    /// `x-road-client`
    pub client: Option<HeaderText>,
    /// `x-road-id`
    pub id: Option<HeaderText>,
    /// `x-road-issue`
    pub issue: Option<HeaderText>,
    /// `x-road-userid`: `EE` and a personal code.
    pub userid: Option<HeaderText>,
    /// `x-author-id`: personal code of the author.
    pub author_id: Option<HeaderText>,
}

/// The value of a header that is text, as it was received: UTF-8, or Latin-1 where it is not UTF-8. Contract 1.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderText(Vec<u8>);

impl HeaderText {
    pub fn new(received: impl Into<Vec<u8>>) -> HeaderText {
        HeaderText(received.into())
    }

    /// The bytes as they were received, to be forwarded.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it contains a control character, which no text header may.
    pub fn has_control(&self) -> bool {
        self.decoded().chars().any(char::is_control)
    }

    /// The text as it is recorded and judged. A text of more than [`X_ROAD_CHARACTERS_MAX`] characters is cut there,
    /// and a mark is appended. Only a cut text is longer than that, so the mark cannot be forged.
    pub fn text(&self) -> String {
        let text = self.decoded();
        match text.char_indices().nth(X_ROAD_CHARACTERS_MAX) {
            Some((end, _)) => format!("{}… (cut, {} characters)", &text[..end], text.chars().count()),
            None => text.into_owned(),
        }
    }

    fn decoded(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.0.iter().copied().map(char::from).collect()),
        }
    }
}

/// What the registry told: a Patient, or a Bundle of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryFinding {
    /// FHIR JSON, minified, as it may be served to the caller.
    pub body: Vec<u8>,
    /// `ETag` without `W/` and quotes.
    pub version: Option<String>,
    /// `Last-Modified`, milliseconds since 1970 UTC.
    pub last_modified: Option<i64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupFailure {
    /// The registry says what is wrong.
    Refused(IssueChain),
    /// It answers 404 without an OperationOutcome.
    NotFound,
    /// It gives no readable answer.
    NoAnswer(NoAnswer),
    /// The fault that the caller asked for is none; the text says what is wrong and what is allowed.
    Fault(String),
}

/// What became of a call that has no readable answer. The text is for the log; it holds no personal data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Not within its time.
    Timeout(String),
    /// No connection, or it broke off; or so many calls failed lately that none is tried for a while.
    Unreachable(String),
    /// An answer that is not what FHIR says: HTML, too large, another type, an error without a readable OperationOutcome.
    Unreadable(String),
    /// It refuses the service's own credential, which is no fault of the caller.
    Credential(String),
    /// It is the embedded one, and what was asked of it is damaged in the store.
    Damaged(String),
}

/// The words for the log.
impl fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (NoAnswer::Timeout(why)
        | NoAnswer::Unreachable(why)
        | NoAnswer::Unreadable(why)
        | NoAnswer::Credential(why)
        | NoAnswer::Damaged(why)) = self;
        formatter.write_str(why)
    }
}

impl LookupFailure {
    /// Whether a search that fails so found nobody: the registry answers 404. Contract 4.6, 6.1.
    pub fn is_nobody(&self) -> bool {
        match self {
            LookupFailure::NotFound => true,
            LookupFailure::Refused(chain) => chain.status == 404,
            LookupFailure::NoAnswer(_) | LookupFailure::Fault(_) => false,
        }
    }
}

impl From<IssueChain> for LookupFailure {
    fn from(chain: IssueChain) -> Self {
        LookupFailure::Refused(chain)
    }
}

impl From<NoAnswer> for LookupFailure {
    fn from(no_answer: NoAnswer) -> Self {
        LookupFailure::NoAnswer(no_answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_utf_8_or_else_latin_1() {
        for (received, text) in [
            (&b"EE/GOV/1"[..], "EE/GOV/1"),
            ("Töötervishoiu kontroll, š 😀".as_bytes(), "Töötervishoiu kontroll, š 😀"),
            (b"T\xf6\xf6tervishoiu kontroll", "Töötervishoiu kontroll"),
            (b"", ""),
        ] {
            let header = HeaderText::new(received);
            assert_eq!((header.text().as_str(), header.as_bytes(), header.has_control()), (text, received, false));
        }
        for received in [&b"a\tb"[..], "a\u{85}".as_bytes(), b"\x85", b"\x7f"] {
            assert!(HeaderText::new(received).has_control(), "{received:?}");
        }
    }

    #[test]
    fn a_header_that_is_too_long_is_cut_and_says_so() {
        for letter in ["x", "õ", "😀"] {
            let longest = letter.repeat(X_ROAD_CHARACTERS_MAX);
            assert_eq!(HeaderText::new(longest.as_str()).text(), longest);
            let longer = HeaderText::new(format!("{longest}{letter}"));
            assert_eq!(longer.text(), format!("{longest}… (cut, 257 characters)"));
            assert_eq!(longer.as_bytes().len(), letter.len() * (X_ROAD_CHARACTERS_MAX + 1));
        }
    }
}
