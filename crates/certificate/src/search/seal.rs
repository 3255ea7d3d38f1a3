//! Search parameters that must not be read in an address: encrypted, and good for a while.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use fhir::outcome::{Hcert, Issue, Outcome};

/// What is sealed in the token of a link.
#[derive(Debug, PartialEq, Eq)]
pub struct SealedQuery<T = String> {
    /// What the link searches, such as `Composition`.
    pub resource_type: T,
    /// Personal code of the person that the link was made for; empty for nobody.
    pub caller: T,
    /// Until when it opens, milliseconds since 1970 UTC.
    pub expiry: i64,
    /// Name and value pairs, decoded.
    pub parameters: Vec<(T, T)>,
}

/// Seals and opens what stands in `_query`. Contract 4.2.
pub struct SealKey(RandomizedNonceKey);

/// Ties a token to its use, so that nothing else sealed with the same key passes for one.
const USE: &[u8] = b"hcert _query 2";

impl SealKey {
    /// A key of 32 random bytes, kept by the store so that links outlive a restart.
    pub fn new(key: &[u8; 32]) -> SealKey {
        SealKey(RandomizedNonceKey::new(&AES_256_GCM, key).expect("an AES-256 key has 32 bytes"))
    }

    /// Hides a query in a token that opens for its `caller` until its `expiry`. A link that is passed on tells nobody else whom it asked
    /// for; without a token every caller is nobody.
    ///
    /// The token is base64url of nonce, AES-256-GCM ciphertext and tag; inside is JSON,
    /// `[resource type, caller, expiry, [[name, value], …]]`.
    ///
    /// # Errors
    /// `Internal`, when the random generator or the cipher fails.
    pub fn seal(&self, query: &SealedQuery<&str>) -> Result<String, Outcome> {
        let SealedQuery { resource_type, caller, expiry, parameters } = query;
        let query = serde_json::to_vec(&(resource_type, caller, expiry, parameters)).map_err(Outcome::internal)?;
        self.seal_for(USE, query)
    }

    /// The parameters of a token.
    ///
    /// # Errors
    /// `SearchLinkExpired`, also for a token that another server or nobody made, or that was made for another caller.
    pub fn open(&self, token: &str, caller: &str, now: i64) -> Result<Vec<(String, String)>, Issue> {
        let opened = self.read(token).filter(|query| query.caller == caller && now <= query.expiry);
        opened.map(|query| query.parameters).ok_or_else(|| Issue::new(Hcert::SearchLinkExpired).at("http._query"))
    }

    /// The query in a token that this server made, also for another caller and after its expiry: the audit trail records it.
    /// `None`: another server made the token, or nobody did.
    pub fn read(&self, token: &str) -> Option<SealedQuery> {
        let opened = self.open_for(USE, token)?;
        let (resource_type, caller, expiry, parameters) = serde_json::from_slice(&opened).ok()?;
        Some(SealedQuery { resource_type, caller, expiry, parameters })
    }

    /// Hides what is for one use alone: base64url of nonce, AES-256-GCM ciphertext and tag.
    ///
    /// # Errors
    /// `Internal`, when the random generator or the cipher fails.
    pub fn seal_for(&self, use_of_it: &[u8], mut bytes: Vec<u8>) -> Result<String, Outcome> {
        let nonce = self.0.seal_in_place_append_tag(Aad::from(use_of_it), &mut bytes).map_err(Outcome::internal)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce.as_ref()[..], &bytes].concat()))
    }

    /// What was hidden for this use. `None`: another server made it, or for another use, or nobody did.
    pub fn open_for(&self, use_of_it: &[u8], sealed: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        self.0.open_in_place(nonce, Aad::from(use_of_it), sealed).ok().map(|opened| opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn sealed() -> String {
        let query = SealedQuery {
            resource_type: "Composition",
            caller: "me",
            expiry: NOW + 3_600 * 1_000,
            parameters: vec![("subject:Patient.identifier", "est/ni|38001085718")],
        };
        SealKey::new(&[7; 32]).seal(&query).unwrap()
    }

    #[test]
    fn a_token_opens_until_it_expires() {
        let key = SealKey::new(&[7; 32]);
        let parameters = [("subject:Patient.identifier".to_owned(), "est/ni|38001085718".to_owned())];
        let last = NOW + 3_600 * 1_000;
        assert_eq!(key.open(&sealed(), "me", NOW).unwrap(), parameters);
        assert_eq!(key.open(&sealed(), "me", last).unwrap(), parameters);
        assert_eq!(key.open(&sealed(), "me", last + 1).unwrap_err().code(), Hcert::SearchLinkExpired);
    }

    #[test]
    fn a_token_shows_nothing_and_never_looks_the_same_twice() {
        assert!(!sealed().contains("38001085718") && sealed().is_ascii() && !sealed().contains(['+', '/', '=']));
        assert_ne!(sealed(), sealed());
    }

    #[test]
    fn a_changed_a_foreign_and_a_made_up_token_are_refused() {
        let key = SealKey::new(&[7; 32]);
        let token = sealed();
        let mut changed = token.clone().into_bytes();
        changed[30] = if changed[30] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        for token in ["", "AAAA", "not base64!", &token[..token.len() - 4], &changed] {
            assert_eq!(key.open(token, "me", NOW).unwrap_err().code(), Hcert::SearchLinkExpired, "{token}");
        }
        assert!(SealKey::new(&[8; 32]).open(&token, "me", NOW).is_err());
    }

    #[test]
    fn a_token_opens_for_nobody_else() {
        let key = SealKey::new(&[7; 32]);
        for other in ["", "m", "you"] {
            assert_eq!(key.open(&sealed(), other, NOW).unwrap_err().code(), Hcert::SearchLinkExpired);
        }
        // The audit trail is told all the same.
        let read = key.read(&sealed()).unwrap();
        assert_eq!(
            (read.caller.as_str(), read.resource_type.as_str(), read.parameters.len()),
            ("me", "Composition", 1)
        );
    }
}
