//! A token as it is sent: three parts, read strictly before anything is believed.
//!
//! Source: RFC 7515 (3.1, 4.1), RFC 8725 (2, 3).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::refused::RefusedToken;
use crate::config::Algorithm;
use fhir::json::{self, Json};
use fhir::outcome::Hcert;

/// A token taken apart. Nothing of it is verified.
#[derive(Debug)]
pub struct UnverifiedToken<'t> {
    pub algorithm: Algorithm,
    pub kid: Option<String>,
    /// What the signature is over.
    pub signed: &'t str,
    pub signature: Vec<u8>,
    /// JSON of an object.
    pub claims: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// Takes a token apart; `accepted` are the algorithms of the settings.
    ///
    /// Keys and addresses of keys that a header names (`jwk`, `jku`, `x5c`, `x5u`) are not looked at: a token does not say who may sign it.
    ///
    /// # Errors
    /// [`RefusedToken::Malformed`], [`RefusedToken::Algorithm`].
    pub fn read(token: &'t str, accepted: &[Algorithm]) -> Result<UnverifiedToken<'t>, RefusedToken> {
        let (signed, signature) = token.rsplit_once('.').ok_or(RefusedToken::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(RefusedToken::Malformed)?;
        if header.is_empty() || claims.is_empty() || claims.contains('.') {
            return Err(RefusedToken::Malformed);
        }
        let header = decode(header)?;
        let header = object(&header)?;
        // Whoever marks a member as critical wants it understood; none is here. RFC 7515, 4.1.11; RFC 7797, 7.
        if header.get("crit").is_some() || header.get("b64").is_some() {
            return Err(RefusedToken::Malformed);
        }
        match header.get("typ").map(|typ| typ.as_str()) {
            None => {}
            Some(Some(typ)) if ["jwt", "at+jwt", "application/at+jwt"].contains(&&*typ.to_ascii_lowercase()) => {}
            Some(_) => return Err(RefusedToken::Malformed),
        }
        let name = header.get("alg").and_then(Json::as_str).ok_or(RefusedToken::Malformed)?;
        let algorithm =
            accepted.iter().copied().find(|accepted| accepted.name() == name).ok_or(RefusedToken::Algorithm)?;
        let kid = match header.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_str().ok_or(RefusedToken::Malformed)?.to_owned()),
        };
        Ok(UnverifiedToken { algorithm, kid, signed, signature: decode(signature)?, claims: decode(claims)? })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, RefusedToken> {
    BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| RefusedToken::Malformed)
}

/// Reads a JSON object without members that are there twice: two readers may take different ones of them. Empty lists and null, which
/// FHIR forbids, are allowed here.
pub fn object(bytes: &[u8]) -> Result<Json<'_>, RefusedToken> {
    let read = json::parse_with_problems(bytes).map_err(|_| RefusedToken::Malformed)?;
    let is_clean = read.problems.into_issues().iter().all(|issue| issue.code() == Hcert::JsonEmptyValue);
    (is_clean && read.value.as_object().is_some()).then_some(read.value).ok_or(RefusedToken::Malformed)
}
