//! A set of keys as issuers publish it.
//!
//! Source: RFC 7517; RFC 7518, 6.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::compact::object;
use super::key::{Owner, VerificationKey};
use crate::config::Algorithm;
use fhir::json::Json;

/// Keys of a set that are looked at.
pub(super) const JWKS_KEYS_MAX: usize = 64;

/// Reads the keys that can verify a token. Keys of other kinds, uses, algorithms and sizes are passed over.
///
/// # Errors
/// It is no JWK set, has too many keys, one `kid` twice, or none that can be used.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<VerificationKey>, String> {
    let set = object(bytes).map_err(|_| "it is no JSON object, or has a member twice".to_owned())?;
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
    // A set without any key is how an issuer takes all of them back; one with keys for others is a mistake.
    if keys.is_empty() && !listed.is_empty() {
        return Err("it has no key to verify RS256 (2048 bits or more) or ES256".to_owned());
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
        "RSA" if is_for(Algorithm::RS256) => VerificationKey::rsa(kid, Owner::Issuer, &number("n")?, &number("e")?),
        "EC" if is_for(Algorithm::ES256) && jwk.text("crv") == Some("P-256") => {
            VerificationKey::p256(kid, Owner::Issuer, &number("x")?, &number("y")?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_without_keys_takes_all_back_and_one_with_other_keys_is_a_mistake() {
        assert!(read(br#"{"keys":[]}"#).is_ok_and(|keys| keys.is_empty()));
        assert!(read(br#"{"keys":[{"kty":"oct","k":"AA"}]}"#).is_err());
        assert!(read(b"{}").is_err());
    }
}
