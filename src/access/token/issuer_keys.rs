//! The issuer's keys: read at the start and again now and then. When that fails they are kept, until they are too old to be trusted.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::{Duration, Instant};

use super::fetch::IssuerAddress;
use super::jwks;
use super::key::VerificationKey;
use super::source_file::SourceFile;
use super::{KeySet, TokenClock};
use crate::access::limits::{JWKS_BYTES_MAX, JWKS_LOOK_S};
use crate::config::AccessToken;
use base::log::event;

/// The issuer's keys of the moment, and where they come from.
pub(super) struct IssuerKeys {
    source: KeySource,
    keys: RwLock<KeySnapshot>,
    /// When they were last asked for. Held while they are, so that many who miss a key ask once.
    asked: tokio::sync::Mutex<Option<Instant>>,
    /// Between two askings that tokens cause, or the lack of any key that is trusted.
    pause: Duration,
    refresh: Duration,
    age_max: Duration,
    clock: TokenClock,
    /// Called with the keys that are trusted, at once and at each change.
    observer: OnceLock<KeysObserver>,
}

/// Takes the fingerprints of the keys that are trusted from now on, in words.
pub type KeysObserver = Box<dyn Fn(&str) + Send + Sync>;

/// All keys of one moment.
#[derive(Debug, Default)]
struct KeySnapshot {
    all: Arc<Vec<VerificationKey>>,
    /// Counts how often keys went away: what was verified before that has to be verified again.
    losses: u64,
    /// When the source last gave them: milliseconds since 1970 UTC, and by the clock that is never set.
    read: Option<(i64, Instant)>,
    /// Why it gave none since.
    problem: Option<String>,
}

#[derive(Debug)]
enum KeySource {
    File(Arc<SourceFile>),
    Address(Box<IssuerAddress>),
}

impl IssuerKeys {
    /// A file is read now; an address is asked by the first who needs a key, or by [`watch`](Self::watch). `pause` lies between
    /// two askings that tokens cause.
    ///
    /// # Errors
    /// The file cannot be used; the address or its authorities cannot.
    pub(super) fn open(
        settings: &AccessToken,
        pause: Duration,
        clock: TokenClock,
    ) -> Result<Option<IssuerKeys>, String> {
        let Some(jwks) = settings.jwks.as_deref() else { return Ok(None) };
        let refuse = |problem: String| format!("access.token.jwks = '{jwks}': {problem}");
        let mut keys = KeySnapshot::default();
        let source = if settings.jwks_is_address() {
            KeySource::Address(Box::new(IssuerAddress::new(jwks, settings.jwks_ca.as_deref()).map_err(refuse)?))
        } else {
            let file = SourceFile::new(PathBuf::from(jwks), JWKS_BYTES_MAX as u64);
            keys.all = Arc::new(file.read().and_then(|bytes| jwks::read(&bytes)).map_err(refuse)?);
            keys.read = Some((clock(), Instant::now()));
            KeySource::File(Arc::new(file))
        };
        Ok(Some(IssuerKeys {
            source,
            keys: RwLock::new(keys),
            asked: tokio::sync::Mutex::default(),
            pause,
            refresh: Duration::from_secs(settings.jwks_refresh_s),
            age_max: Duration::from_secs(settings.jwks_age_max_s),
            clock,
            observer: OnceLock::new(),
        }))
    }

    /// Calls `observer` with the keys that are trusted now, and at each change with those that are trusted from then on.
    pub(super) fn observe(&self, observer: KeysObserver) {
        let keys = self.known().all.clone();
        if self.observer.set(observer).is_ok() && !keys.is_empty() {
            self.report_keys(&keys);
        }
    }

    fn report_keys(&self, keys: &[VerificationKey]) {
        let mut keys: Vec<String> = keys.iter().map(VerificationKey::fingerprint).collect();
        keys.sort_unstable();
        let keys = keys.join(", ");
        event!(TOKEN_KEYS_CHANGED, keys);
        if let Some(observer) = self.observer.get() {
            observer(&keys);
        }
    }

    /// The keys that are trusted now.
    ///
    /// # Errors
    /// There are none: the source never gave any, none the last time, or too long ago. The words are for the log.
    pub(super) fn keys(&self) -> Result<Arc<Vec<VerificationKey>>, String> {
        let keys = self.known();
        if self.are_trusted(&keys) {
            return Ok(Arc::clone(&keys.all));
        }
        Err(match (&keys.problem, keys.read) {
            (Some(problem), _) => problem.clone(),
            (None, Some(_)) if keys.all.is_empty() => {
                "the set has no key for RS256 (2048 bits or more) or ES256".to_owned()
            }
            (None, Some(_)) => "they are too old".to_owned(),
            (None, None) => "they were not asked for yet".to_owned(),
        })
    }

    /// How often keys went away so far. `None`: no key is trusted now, so nothing that was verified before counts.
    pub(super) fn losses(&self) -> Option<u64> {
        let keys = self.known();
        self.are_trusted(&keys).then_some(keys.losses)
    }

    /// For health and metrics.
    pub(super) fn key_set(&self) -> KeySet {
        let keys = self.known();
        KeySet {
            keys: keys.all.len(),
            read: keys.read.map(|(moment, _)| moment),
            age: keys.read.map(|read| self.age(read)),
            age_max: self.age_max,
            refresh: self.refresh,
            last_problem: keys.problem.clone(),
        }
    }

    fn are_trusted(&self, keys: &KeySnapshot) -> bool {
        !keys.all.is_empty() && keys.read.is_some_and(|read| self.age(read) <= self.age_max)
    }

    /// The longer of what both clocks say: one may have been set back, the other does not count while the machine sleeps.
    /// Decision 186.
    fn age(&self, (moment, read): (i64, Instant)) -> Duration {
        let by_clock = u64::try_from((self.clock)().saturating_sub(moment)).unwrap_or(0);
        Duration::from_millis(by_clock).max(read.elapsed())
    }

    fn known(&self) -> RwLockReadGuard<'_, KeySnapshot> {
        // Nothing panics while it is held; so below.
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks because a token has a key that is not known; not when somebody did so a moment ago.
    pub(super) async fn ask_again(&self) {
        let mut asked = self.asked.lock().await;
        if asked.is_none_or(|at| at.elapsed() >= self.pause) {
            self.ask().await;
            *asked = Some(Instant::now());
        }
    }

    /// Asks when it is time, and when a file has changed, until nobody has the keys any more.
    pub(super) async fn watch(issuer_keys: Weak<IssuerKeys>) {
        let mut asked: Option<Instant> = None;
        while let Some(issuer_keys) = issuer_keys.upgrade() {
            // Without any key no token can be verified.
            let has_keys = issuer_keys.keys().is_ok();
            let period = if has_keys { issuer_keys.refresh } else { issuer_keys.pause };
            if asked.is_none_or(|at| at.elapsed() >= period) || issuer_keys.source.has_changed() {
                issuer_keys.refreshed().await;
                asked = Some(Instant::now());
            }
            let look = match issuer_keys.source {
                KeySource::File(_) => period.min(Duration::from_secs(JWKS_LOOK_S)),
                KeySource::Address(_) => period.min(issuer_keys.refresh),
            };
            drop(issuer_keys);
            tokio::time::sleep(look).await;
        }
    }

    async fn refreshed(&self) {
        let mut asked = self.asked.lock().await;
        self.ask().await;
        *asked = Some(Instant::now());
    }

    async fn ask(&self) {
        let found = match &self.source {
            KeySource::File(file) => {
                let file = file.clone();
                tokio::task::spawn_blocking(move || file.read()).await.unwrap_or_else(|error| Err(error.to_string()))
            }
            KeySource::Address(address) => address.get(JWKS_BYTES_MAX).await,
        };
        match found.and_then(|bytes| jwks::read(&bytes)) {
            Ok(keys) => self.take(keys),
            Err(problem) => {
                let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                match self.are_trusted(&known) {
                    false => event!(TOKEN_KEYS_NONE, problem = problem.as_str()),
                    true => event!(TOKEN_KEYS_OLD, problem = problem.as_str()),
                }
                known.problem = Some(problem);
            }
        }
    }

    fn take(&self, keys: Vec<VerificationKey>) {
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let lacks = |some: &[VerificationKey], key: &VerificationKey| !some.iter().any(|other| other.is(key));
        let is_lost = known.all.iter().any(|old| lacks(&keys, old));
        let is_new = keys.iter().any(|key| lacks(&known.all, key));
        // Before a token is verified with them.
        if is_lost || is_new {
            self.report_keys(&keys);
        }
        known.losses += u64::from(is_lost);
        known.all = Arc::new(keys);
        known.read = Some(((self.clock)(), Instant::now()));
        known.problem = None;
    }
}

impl KeySource {
    fn has_changed(&self) -> bool {
        match self {
            KeySource::File(file) => file.has_changed(),
            KeySource::Address(_) => false,
        }
    }
}
