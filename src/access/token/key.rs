//! A public key, and whether it signed something.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
};

use crate::config::Algorithm;
use base::hex::Hex;

/// Bits of an RSA key at least. NIST SP 800-57.
const RSA_BITS_MIN: usize = 2_048;

/// Bits of an RSA key at most; verifying with a longer one takes long.
const RSA_BITS_MAX: usize = 8_192;

/// Whose tokens a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOwner {
    /// Those of `access.token.issuer`.
    Issuer,
    /// Those of the developer's token service.
    Developer,
}

/// A public key. It verifies by its own algorithm and no other, whatever a token asks for.
#[derive(Debug)]
pub(super) struct VerificationKey {
    pub kid: Option<String>,
    pub algorithm: Algorithm,
    pub owner: KeyOwner,
    parsed: ParsedPublicKey,
    /// What it was made of, to tell keys apart.
    material: Vec<u8>,
}

impl VerificationKey {
    /// Modulus and exponent, big-endian. Nothing when they are no key that is accepted.
    pub(super) fn rsa(kid: Option<String>, owner: KeyOwner, n: &[u8], e: &[u8]) -> Option<VerificationKey> {
        let (n, e) = (without_zeros(n), without_zeros(e));
        let bits = 8 * n.len() - n.first()?.leading_zeros() as usize;
        let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
        if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) || e.len() > 4 || e == [1] || !is_odd(n) || !is_odd(e) {
            return None;
        }
        let parsed = RsaPublicKeyComponents { n, e }.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256).ok()?;
        Some(VerificationKey { kid, algorithm: Algorithm::RS256, owner, parsed, material: [n, e].concat() })
    }

    /// Coordinates of a point of the curve P-256, 32 bytes each. Nothing when they are none.
    pub(super) fn p256(kid: Option<String>, owner: KeyOwner, x: &[u8], y: &[u8]) -> Option<VerificationKey> {
        if x.len() != 32 || y.len() != 32 {
            return None;
        }
        // RFC 5480, 2.2: 4 says that both coordinates follow.
        let material = [&[4], x, y].concat();
        let parsed = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &material).ok()?;
        Some(VerificationKey { kid, algorithm: Algorithm::ES256, owner, parsed, material })
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.parsed.verify_sig(message, signature).is_ok()
    }

    /// 16 digits of a SHA-256 over the key itself.
    pub(super) fn fingerprint(&self) -> String {
        Hex(&digest(&SHA256, &self.material).as_ref()[..8]).to_string()
    }

    /// Whether it is the same key under the same name.
    pub(super) fn is(&self, other: &VerificationKey) -> bool {
        self.kid == other.kid && self.algorithm == other.algorithm && self.material == other.material
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// The key among `keys` that a token was signed with, by its `kid`; without one the only key of its algorithm.
///
/// `Some(Err(()))`: the key is there, and is none for this algorithm.
pub(super) fn find<'k>(
    keys: impl Iterator<Item = &'k VerificationKey>,
    kid: Option<&str>,
    algorithm: Algorithm,
) -> Option<Result<&'k VerificationKey, ()>> {
    match kid {
        Some(kid) => {
            let mut named = keys.filter(|key| key.kid.as_deref() == Some(kid)).peekable();
            named.peek()?;
            Some(named.find(|key| key.algorithm == algorithm).ok_or(()))
        }
        None => {
            let mut fitting = keys.filter(|key| key.algorithm == algorithm);
            let key = fitting.next()?;
            fitting.next().is_none().then_some(Ok(key))
        }
    }
}
