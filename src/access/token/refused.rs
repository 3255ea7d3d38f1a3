//! Why a token is not taken, in words that help an honest client.

use std::fmt;

/// Why a token is not taken. It says which rule was broken, and never what the token holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedToken {
    /// Another scheme than Bearer, or no token behind it.
    NotBearer,
    /// More than one header `Authorization`.
    Repeated,
    TooLong,
    /// No three parts, no base64url, no JSON object, a duplicate key, a header that asks for what is not done here.
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

impl RefusedToken {
    /// A short name of the rule for the audit trail and the log.
    pub fn code(&self) -> &'static str {
        match self {
            RefusedToken::NotBearer => "scheme",
            RefusedToken::Repeated => "repeated",
            RefusedToken::TooLong => "too-long",
            RefusedToken::Malformed => "malformed",
            RefusedToken::Algorithm => "algorithm",
            RefusedToken::IdToken => "kind",
            RefusedToken::Denied => "denied",
            RefusedToken::KeyUnknown => "key",
            RefusedToken::Signature => "signature",
            RefusedToken::Expired => "expired",
            RefusedToken::NotYetValid => "not-yet-valid",
            RefusedToken::LivesTooLong => "lifetime",
            RefusedToken::Issuer => "issuer",
            RefusedToken::Audience => "audience",
            RefusedToken::ClaimMissing(_) => "claim-missing",
            RefusedToken::ClaimWrong(_) => "claim-wrong",
            RefusedToken::KeysUnavailable(_) => "keys-unavailable",
        }
    }
}

/// The English words; `outcome::words` has the Estonian ones.
impl fmt::Display for RefusedToken {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            RefusedToken::NotBearer => "Authorization must be Bearer and one token",
            RefusedToken::Repeated => "exactly one header Authorization may be there",
            RefusedToken::TooLong => "it is too long",
            RefusedToken::Malformed => "it is not well-formed",
            RefusedToken::Algorithm => "its algorithm is not accepted",
            RefusedToken::IdToken => "it is no access token",
            RefusedToken::Denied => "it was called back",
            RefusedToken::KeyUnknown => "its key is not known",
            RefusedToken::Signature => "its signature does not fit",
            RefusedToken::Expired => "it has expired",
            RefusedToken::NotYetValid => "it is not valid yet",
            RefusedToken::LivesTooLong => "it lives longer than is accepted",
            RefusedToken::Issuer => "its issuer is not accepted",
            RefusedToken::Audience => "it is for another audience",
            RefusedToken::ClaimMissing(name) => return write!(formatter, "it lacks the claim {name}"),
            RefusedToken::ClaimWrong(name) => return write!(formatter, "it has a wrong claim {name}"),
            RefusedToken::KeysUnavailable(_) => "the keys are not known yet",
        })
    }
}
