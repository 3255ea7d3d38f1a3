//! Why a token is not taken, in words that help an honest client.

use std::fmt;

/// Why a token is not taken. It says which rule was broken, and never what the token holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Another scheme than Bearer, or no token behind it.
    NotBearer,
    /// More than one header `Authorization`.
    Repeated,
    TooLong,
    /// No three parts, no base64url, no JSON object, a member twice, a header that asks for what is not done here.
    Malformed,
    Algorithm,
    KeyUnknown,
    /// An ID token, or another kind that is not for calling a service.
    IdToken,
    /// The settings name it, or its person, as one that is let in no more.
    Denied,
    Signature,
    Expired,
    NotYetValid,
    LivesTooLong,
    Issuer,
    Audience,
    /// By the name that the settings give it.
    ClaimMissing(String),
    ClaimWrong(String),
    /// Not the token's fault: the keys are not known yet. The cause is for the log.
    KeysUnavailable(String),
}

impl Refused {
    /// A short name of the rule for the audit trail and the log.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::NotBearer => "scheme",
            Refused::Repeated => "repeated",
            Refused::TooLong => "too-long",
            Refused::Malformed => "malformed",
            Refused::Algorithm => "algorithm",
            Refused::IdToken => "kind",
            Refused::Denied => "denied",
            Refused::KeyUnknown => "key",
            Refused::Signature => "signature",
            Refused::Expired => "expired",
            Refused::NotYetValid => "not-yet-valid",
            Refused::LivesTooLong => "lifetime",
            Refused::Issuer => "issuer",
            Refused::Audience => "audience",
            Refused::ClaimMissing(_) => "claim-missing",
            Refused::ClaimWrong(_) => "claim-wrong",
            Refused::KeysUnavailable(_) => "keys-unavailable",
        }
    }
}

/// The English words; `outcome::words` has the Estonian ones.
impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Refused::NotBearer => "Authorization must be Bearer and one token",
            Refused::Repeated => "exactly one header Authorization may be there",
            Refused::TooLong => "it is too long",
            Refused::Malformed => "it is not well-formed",
            Refused::Algorithm => "its algorithm is not accepted",
            Refused::IdToken => "it is no access token",
            Refused::Denied => "it was called back",
            Refused::KeyUnknown => "its key is not known",
            Refused::Signature => "its signature does not fit",
            Refused::Expired => "it has expired",
            Refused::NotYetValid => "it is not valid yet",
            Refused::LivesTooLong => "it lives longer than is accepted",
            Refused::Issuer => "its issuer is not accepted",
            Refused::Audience => "it is for another audience",
            Refused::ClaimMissing(name) => return write!(formatter, "it lacks the claim {name}"),
            Refused::ClaimWrong(name) => return write!(formatter, "it has a wrong claim {name}"),
            Refused::KeysUnavailable(_) => "the keys are not known yet",
        })
    }
}
