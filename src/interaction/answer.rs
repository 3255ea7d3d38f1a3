//! What an interaction answers.

use crate::turns::RequestPermit;
use certificate::Version;
use certificate::search::Hit;

/// What an interaction answers; `http` writes status, headers and body from it.
#[derive(Debug, Default)]
pub struct Answer {
    /// 200, 201, 204 or 304.
    pub status: u16,
    /// FHIR JSON, minified. Empty: no body.
    pub body: Vec<u8>,
    /// `ETag` and `Last-Modified` (milliseconds since 1970 UTC).
    pub version: Option<(Version, i64)>,
    /// Absolute address.
    pub location: Option<String>,
    /// Absolute address.
    pub content_location: Option<String>,
    /// Held until the body is sent.
    pub turn: Option<RequestPermit>,
    /// What happens in place of an answer: a registry that is told to fail.
    pub broken: Option<BrokenAnswer>,
    /// What of it the audit trail must know.
    pub shown: ShownVersions,
    /// How a search was run, where that was asked.
    pub plan: Option<Box<str>>,
    /// Where the body is a document, and not FHIR JSON.
    pub file: Option<Box<AnswerFile>>,
    /// The audit trail knows of it already, from the writer.
    pub changed: bool,
}

/// A document in PDF. A caller who wants FHIR gets it inside of a Binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFile {
    /// Entity tag, hexadecimal digits: of these bytes alone.
    pub tag: String,
    /// Name of the file, for a client that saves it.
    pub name: String,
    /// The role that it was made for.
    pub role: String,
    /// The entry of the journal that it names: `changes/120:` and a hash.
    pub entry: String,
}

/// How a server misbehaves that is told to. Contract 6.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenAnswer {
    /// The connection ends.
    HangUp,
    /// The body is no FHIR.
    Garbage,
}

/// What an answer shows, for the trail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShownVersions {
    #[default]
    Nothing,
    One(Hit),
    Many(Vec<Hit>),
    /// Of the registry, as their FHIR JSON stands in the body.
    Patients,
}
