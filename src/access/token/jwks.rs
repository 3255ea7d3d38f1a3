//! A set of keys as issuers publish it.
//!
//! Source: RFC 7517; RFC 7518, 6.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::compact::object;
use super::key::{KeyOwner, VerificationKey};
use crate::config::Algorithm;
use fhir::json::Json;

/// Keys of a set that are looked at.
pub(super) const JWKS_KEYS_MAX: usize = 64;

/// Reads the keys that can verify a token. Keys of other kinds, uses, algorithms and sizes are passed over; where none is left, the issuer
/// has taken back all that verified tokens before (Decision 308).
///
/// # Errors
/// It is no JWK set, has too many keys, or one `kid` twice.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<VerificationKey>, String> {
    let set = object(bytes).map_err(|_| "it is no JSON object, or has a duplicate key".to_owned())?;
    let listed = set.get("keys").and_then(Json::as_array).ok_or("it is no JWK set: there is no list 'keys'")?;
    if listed.len() > JWKS_KEYS_MAX {
        return Err(format!("it has {} keys; {JWKS_KEYS_MAX} are allowed", listed.len()));
    }
    let keys: Vec<VerificationKey> = listed.iter().filter_map(key).collect();
    for (at, key) in keys.iter().enumerate() {
        if key.kid.is_some() && keys[..at].iter().any(|before| before.kid == key.kid) {
            return Err("two of its keys have the same kid".to_owned());
        }
    }
    Ok(keys)
}

fn key(jwk: &Json) -> Option<VerificationKey> {
    let kid = match jwk.get("kid") {
        None => None,
        Some(kid) => Some(kid.as_str()?.to_owned()),
    };
    let verifies = |operations: &Json| {
        operations.as_array().is_some_and(|named| named.iter().any(|name| name.as_str() == Some("verify")))
    };
    if jwk.get("use").is_some_and(|used| used.as_str() != Some("sig")) || !jwk.get("key_ops").is_none_or(verifies) {
        return None;
    }
    let is_for = |algorithm: Algorithm| jwk.get("alg").is_none_or(|alg| alg.as_str() == Some(algorithm.name()));
    let number = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(jwk.text(name)?.trim_end_matches('=')).ok();
    match jwk.text("kty")? {
        "RSA" if is_for(Algorithm::RS256) => VerificationKey::rsa(kid, KeyOwner::Issuer, &number("n")?, &number("e")?),
        "EC" if is_for(Algorithm::ES256) && jwk.text("crv") == Some("P-256") => {
            VerificationKey::p256(kid, KeyOwner::Issuer, &number("x")?, &number("y")?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_without_keys_that_can_be_used_takes_all_back() {
        for set in [&br#"{"keys":[]}"#[..], br#"{"keys":[{"kty":"oct","k":"AA"}]}"#] {
            assert!(read(set).is_ok_and(|keys| keys.is_empty()));
        }
        assert!(read(b"{}").is_err());
    }
}
