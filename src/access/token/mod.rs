//! Tokens: verified, remembered until they end, and given out to developers.
//!
//! A token is read strictly (`compact`), then its key is looked for (`issuer_keys`, `developer`) and its signature verified (`key`); only
//! then are its claims believed (`claims`).

pub mod claims;
pub mod compact;
mod denied;
mod developer;
mod fetch;
mod issuer_keys;
mod jwks;
mod key;
mod key_set;
mod refused;
mod sign_in;
mod source_file;
#[cfg(test)]
mod tests;
pub mod token_request;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use quick_cache::sync::Cache;

use super::Identity;
use super::rights::Permissions;
use crate::config::limits::TOKEN_BYTES_MAX;
use crate::config::{AccessMode, AccessToken, Config};
use base::hex::Hex;
use claims::ExpectedClaims;
use compact::UnverifiedToken;
use denied::DeniedTokens;
use developer::{Developer, DeveloperKey};
pub use developer::{FILE as DEVELOPER_KEY_FILE, kept_secret};
use issuer_keys::IssuerKeys;
pub use issuer_keys::KeysObserver;
use key::{KeyOwner, VerificationKey};
pub use key_set::{KeySet, TokenClock};
pub use refused::RefusedToken;
pub use sign_in::{SignInAttempt, SignInClient, SignInFailure, SignInReturn, check_secret};
pub use token_request::{InvalidTokenRequest, TokenRequest};

/// Verified tokens that are remembered. Each takes about half a kilobyte; all doctors of Estonia are fewer.
const TOKENS_REMEMBERED_MAX: usize = 10_000;

/// Seconds between two askings for keys that tokens with unknown keys cause, so that nobody can make the service ask without end.
const JWKS_PAUSE_S: u64 = 5;

/// Whom tokens of the developer's key are for.
const DEVELOPER_AUDIENCE: &str = "hcert";

/// Tells who calls.
pub struct Tokens {
    mode: AccessMode,
    settings: AccessToken,
    /// The developer's tokens have the claims of [`TokenRequest::claims`], whatever the settings say of the issuer's.
    developer_settings: AccessToken,
    /// `{base_url}`, the issuer of the developer's tokens.
    base_url: String,
    issuer_keys: Option<Arc<IssuerKeys>>,
    denied: Option<Arc<DeniedTokens>>,
    /// In developer mode alone.
    developer: Option<Developer>,
    /// The roles that a token can have. `None`: none is warned about.
    permissions: Option<Permissions>,
    known: Cache<[u8; 16], VerifiedToken>,
    names: TokenNames,
    /// How often a token was known.
    found: AtomicU64,
    missed: AtomicU64,
    clock: TokenClock,
}

/// What a log would show of the settings it stands in.
impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Tokens").field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// A token that was verified.
#[derive(Clone)]
struct VerifiedToken {
    identity: Arc<Identity>,
    /// How often keys and the right to enter had been taken away by then. `None`: no key of the issuer was trusted, and this token is the
    /// developer's.
    losses: Option<u64>,
}

/// What is remembered of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCache {
    pub tokens: u64,
    pub found: u64,
    pub missed: u64,
}

/// A token of the developer's token service.
pub struct IssuedToken {
    pub token: String,
    /// Seconds.
    pub expires_in: u32,
}

impl Tokens {
    /// Reads the keys. Inside a tokio runtime they are also looked at again now and then.
    ///
    /// # Errors
    /// Keys cannot be read, in words for the person at the terminal. An address that does not answer is no error: it is asked again.
    pub fn open(config: &Config, data: &Path, clock: TokenClock) -> Result<Tokens, String> {
        Tokens::asking(config, data, clock, Duration::from_secs(JWKS_PAUSE_S))
    }

    /// As [`open`](Self::open), with another pause between two askings for keys that tokens cause.
    fn asking(config: &Config, data: &Path, clock: TokenClock, pause: Duration) -> Result<Tokens, String> {
        let settings = config.access.token.clone();
        let issuer_keys = IssuerKeys::open(&settings, pause, clock.clone())?.map(Arc::new);
        if let (Some(issuer_keys), Ok(runtime)) = (&issuer_keys, tokio::runtime::Handle::try_current()) {
            runtime.spawn(IssuerKeys::watch(Arc::downgrade(issuer_keys)));
        }
        let denied = DeniedTokens::open(&settings)?.map(Arc::new);
        if let (Some(denied), Ok(runtime)) = (&denied, tokio::runtime::Handle::try_current()) {
            runtime.spawn(DeniedTokens::watch(Arc::downgrade(denied)));
        }
        let developer = match config.access.mode {
            AccessMode::Developer => Some(Developer::open(data)?),
            AccessMode::Jwt => None,
        };
        let AccessToken { leeway_s, max_lifetime_s, .. } = settings;
        Ok(Tokens {
            mode: config.access.mode,
            developer_settings: AccessToken { leeway_s, max_lifetime_s, ..AccessToken::default() },
            settings,
            base_url: config.base_url(),
            issuer_keys,
            denied,
            developer,
            permissions: None,
            known: Cache::new(TOKENS_REMEMBERED_MAX),
            names: TokenNames::new().ok_or("no random numbers for the memory of tokens")?,
            found: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            clock,
        })
    }

    /// From here on a token for a role that this table does not have is warned about. Decision 208.
    pub fn for_roles_of(self, permissions: Permissions) -> Tokens {
        Tokens { permissions: Some(permissions), ..self }
    }

    /// Calls `observer` with the issuer's keys that are trusted now, and at each change with the new ones.
    pub fn observe_keys(&self, observer: KeysObserver) {
        if let Some(issuer_keys) = &self.issuer_keys {
            issuer_keys.observe(observer);
        }
    }

    /// Why a token for a role would grant nothing.
    pub fn unknown_role(&self, role: &str) -> Option<String> {
        self.permissions.as_ref()?.unknown_role(role)
    }

    /// Whether tokens are given out too: in developer mode alone.
    pub fn are_given_out(&self) -> bool {
        self.developer.is_some()
    }

    /// Who calls, when the token was verified before and counts still. `authorization` is the whole value of the header.
    ///
    /// Asks for no memory: this is the way of nearly every request.
    pub fn known(&self, authorization: &str) -> Option<Arc<Identity>> {
        // A token that breaks a rule of form is known to nobody.
        let token = token_of(authorization).filter(|token| token.len() <= TOKEN_BYTES_MAX)?;
        let is_over = |known: &VerifiedToken| {
            claims::has_expired(known.identity.expires, self.now(), i64::from(self.settings.leeway_s))
        };
        let counts = |known: &VerifiedToken| known.losses.is_some() && known.losses == self.losses() && !is_over(known);
        let known = self.known.get(&self.names.name(token)).filter(counts);
        let counter = if known.is_some() { &self.found } else { &self.missed };
        counter.fetch_add(1, Ordering::Relaxed);
        known.map(|known| known.identity)
    }

    /// Tokens that are remembered, and how often one was known, or not.
    pub fn remembered(&self) -> TokenCache {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TokenCache { tokens: self.known.len() as u64, found: count(&self.found), missed: count(&self.missed) }
    }

    /// Who calls: as [`known`](Self::known), else as [`identify`](Self::identify).
    ///
    /// # Errors
    /// As [`identify`](Self::identify).
    pub async fn who(&self, authorization: &str) -> Result<Arc<Identity>, RefusedToken> {
        match self.known(authorization) {
            Some(identity) => Ok(identity),
            None => self.identify(authorization).await,
        }
    }

    /// Who calls. `authorization` is the whole value of the header.
    ///
    /// A token whose key is not known makes the service ask for the issuer's keys again, so it may take as long as that.
    ///
    /// # Errors
    /// The first rule the token breaks.
    pub async fn identify(&self, authorization: &str) -> Result<Arc<Identity>, RefusedToken> {
        let token = bearer(authorization)?;
        let compact = UnverifiedToken::read(token, &self.settings.algorithms)?;
        // Before the keys are looked at: what is lost from then on is noticed.
        let losses = self.losses();
        let owner = self.verify(&compact).await?;
        let (issuer, audience, settings) = match owner {
            // Only this service has the key, so that the issuer is proven; its address depends on how the service was started.
            KeyOwner::Developer => (None, DEVELOPER_AUDIENCE, &self.developer_settings),
            KeyOwner::Issuer => {
                let [issuer, audience] = [&self.settings.issuer, &self.settings.audience].map(Option::as_deref);
                (Some(issuer.ok_or(RefusedToken::Issuer)?), audience.ok_or(RefusedToken::Audience)?, &self.settings)
            }
        };
        // Not the signature: from one valid ES256 signature anybody can make a second one, which would be another session.
        let hash = digest(&SHA256, compact.signed.as_bytes());
        let session = Hex(&hash.as_ref()[..8]).to_string();
        let is_denied = |name: &str| self.denied.as_ref().is_some_and(|denied| denied.holds(name));
        let expected = ExpectedClaims { issuer, audience, settings, now: self.now() };
        let identity = Arc::new(claims::read(&compact.claims, &expected, session, &is_denied)?);
        self.known.insert(self.names.name(token), VerifiedToken { identity: identity.clone(), losses });
        Ok(identity)
    }

    /// Verifies the signature, and tells whose key made it.
    async fn verify(&self, compact: &UnverifiedToken<'_>) -> Result<KeyOwner, RefusedToken> {
        let developer = match &self.developer {
            Some(developer) => Some(developer.key().await.map_err(RefusedToken::KeysUnavailable)?),
            None => None,
        };
        let own = developer.as_deref().map(DeveloperKey::public);
        let mut found = self.verify_with(own, compact);
        if let (Err(RefusedToken::KeyUnknown), Some(issuer_keys)) = (&found, &self.issuer_keys) {
            issuer_keys.ask_again().await;
            found = self.verify_with(own, compact);
            if let (Err(RefusedToken::KeyUnknown), Err(problem)) = (&found, issuer_keys.keys()) {
                return Err(RefusedToken::KeysUnavailable(problem));
            }
        }
        found
    }

    fn verify_with(&self, own: Option<&VerificationKey>, compact: &UnverifiedToken) -> Result<KeyOwner, RefusedToken> {
        let issuers = self.issuer_keys.as_ref().and_then(|issuer_keys| issuer_keys.keys().ok()).unwrap_or_default();
        let keys = own.into_iter().chain(issuers.iter());
        let key = key::find(keys, compact.kid.as_deref(), compact.algorithm).ok_or(RefusedToken::KeyUnknown)?;
        let key = key.map_err(|()| RefusedToken::Algorithm)?;
        match key.verifies(compact.signed.as_bytes(), &compact.signature) {
            true => Ok(key.owner),
            false => Err(RefusedToken::Signature),
        }
    }

    /// Gives out a token of the developer's key; nothing in mode `jwt`.
    ///
    /// # Errors
    /// The key could not be made.
    pub async fn issue(&self, request: &TokenRequest) -> Result<Option<IssuedToken>, String> {
        let Some(developer) = &self.developer else { return Ok(None) };
        let key = developer.key().await?;
        Ok(Some(issue(&key, request, &self.settings, &self.base_url, self.now())))
    }

    /// The public part of the developer's key as a JWK set; nothing in mode `jwt`.
    ///
    /// # Errors
    /// The key could not be made.
    pub async fn jwks(&self) -> Result<Option<String>, String> {
        let Some(developer) = &self.developer else { return Ok(None) };
        Ok(Some(developer.key().await?.jwks.clone()))
    }

    /// The time that tokens are measured by: seconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        (self.clock)().div_euclid(1000)
    }

    fn losses(&self) -> Option<u64> {
        let denials = self.denied.as_ref().map_or(0, |denied| denied.reads());
        self.issuer_keys.as_ref().map_or(Some(0), |issuer_keys| issuer_keys.losses()).map(|losses| losses + denials)
    }

    /// Why the list of those that are denied could not be read again.
    pub fn denied_problem(&self) -> Option<String> {
        self.denied.as_ref().and_then(|denied| denied.problem())
    }

    /// State of the issuer's keys, for health and metrics; `None` where the settings name no issuer.
    pub fn key_set(&self) -> Option<KeySet> {
        self.issuer_keys.as_ref().map(|issuer_keys| issuer_keys.key_set())
    }
}

/// Checks the files of keys and of what is denied that the settings name. An address is not asked.
///
/// # Errors
/// One of the files, or that of `jwks_ca`, cannot be used.
pub fn check(config: &Config) -> Result<(), String> {
    DeniedTokens::open(&config.access.token)?;
    // No key is looked at, so no clock is needed.
    IssuerKeys::open(&config.access.token, Duration::from_secs(JWKS_PAUSE_S), Arc::new(|| 0)).map(drop)
}

/// Gives out a token by the key of a data folder, which is made where there is none. No server is needed. `now` in seconds.
///
/// # Errors
/// The key cannot be read or made.
pub fn issue_in(data: &Path, config: &Config, request: &TokenRequest, now: i64) -> Result<IssuedToken, String> {
    let key = DeveloperKey::make(data)?;
    Ok(issue(&key, request, &config.access.token, &config.base_url(), now))
}

fn issue(key: &DeveloperKey, request: &TokenRequest, settings: &AccessToken, base_url: &str, now: i64) -> IssuedToken {
    let expires_in = settings.developer_seconds.min(settings.max_lifetime_s);
    let claims = request.claims(base_url, DEVELOPER_AUDIENCE, now, now + i64::from(expires_in));
    IssuedToken { token: key.sign(&claims), expires_in }
}

/// What a header `Authorization` has behind the scheme. RFC 6750, 2.1; the scheme's case does not matter (RFC 9110, 11.1).
fn token_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

/// The token of a header `Authorization`.
fn bearer(authorization: &str) -> Result<&str, RefusedToken> {
    let token = token_of(authorization).ok_or(RefusedToken::NotBearer)?;
    match !token.is_empty() && !token.contains([' ', ',']) {
        true if token.len() > TOKEN_BYTES_MAX => Err(RefusedToken::TooLong),
        true => Ok(token),
        false => Err(RefusedToken::NotBearer),
    }
}

/// Gives tokens the names under which they are remembered, so that none is kept in memory.
///
/// GMAC under a key and a nonce that no one learns and names that never leave the process: whoever can guess neither makes no token that
/// has the name of another one (a token of 8 KiB does with a chance of 2 to the power of -119). It costs a quarter of SHA-256.
struct TokenNames(LessSafeKey);

impl TokenNames {
    /// None when the system gives no random numbers.
    fn new() -> Option<TokenNames> {
        let mut key = [0; 16];
        aws_lc_rs::rand::fill(&mut key).ok()?;
        UnboundKey::new(&AES_128_GCM, &key).ok().map(|key| TokenNames(LessSafeKey::new(key)))
    }

    fn name(&self, token: &str) -> [u8; 16] {
        // One nonce is enough: what hides the key from whoever sees names is not needed where nobody does.
        let nonce = Nonce::assume_unique_for_key([0; NONCE_LEN]);
        let name = self.0.seal_in_place_separate_tag(nonce, Aad::from(token), &mut []);
        name.expect("no content is too long").as_ref().try_into().expect("a tag has 16 bytes")
    }
}
