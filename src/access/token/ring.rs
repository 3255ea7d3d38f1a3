//! The issuer's keys: read at the start, looked at again now and then, and kept when that fails.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::fetch::Address;
use super::jwks;
use super::key::Key;
use crate::config::AccessToken;
use crate::limits::{JWKS_BYTES_MAX, JWKS_LOOK_S};

/// The issuer's keys of the moment, and where they come from.
#[derive(Debug)]
pub struct Ring {
    source: Source,
    keys: RwLock<Keys>,
    /// When they were last asked for. Held while they are, so that many who miss a key ask once.
    asked: tokio::sync::Mutex<Option<Instant>>,
    /// Between two askings that tokens cause, or the lack of any key.
    pause: Duration,
    refresh: Duration,
}

/// All keys of one moment.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub all: Arc<Vec<Key>>,
    /// Counts how often keys went away: what was verified before that has to be verified again.
    pub losses: u64,
    /// Why there are none.
    pub problem: Option<String>,
}

#[derive(Debug)]
enum Source {
    File { path: PathBuf, seen: Mutex<Option<Stamp>> },
    Address(Address),
}

/// What tells one state of a file from another.
type Stamp = (SystemTime, u64);

impl Ring {
    /// A file is read now; an address is asked by the first who needs a key, or by [`watch`](Self::watch). `pause` lies between
    /// two askings that tokens cause.
    ///
    /// # Errors
    /// The file cannot be used; the address or its authorities cannot.
    pub fn open(settings: &AccessToken, pause: Duration) -> Result<Option<Ring>, String> {
        let Some(jwks) = settings.jwks.as_deref() else { return Ok(None) };
        let refuse = |problem: String| format!("access.token.jwks = '{jwks}': {problem}");
        let mut keys = Keys::default();
        let source = if settings.jwks_is_address() {
            keys.problem = Some("they were not asked for yet".to_owned());
            Source::Address(Address::new(jwks, settings.jwks_ca.as_deref()).map_err(refuse)?)
        } else {
            let path = PathBuf::from(jwks);
            let stamp = stamp(&path);
            keys.all = Arc::new(read(&path).and_then(|bytes| jwks::read(&bytes)).map_err(refuse)?);
            Source::File { path, seen: Mutex::new(stamp) }
        };
        Ok(Some(Ring {
            source,
            keys: RwLock::new(keys),
            asked: tokio::sync::Mutex::default(),
            pause,
            refresh: Duration::from_secs(settings.jwks_refresh_s),
        }))
    }

    pub fn keys(&self) -> Keys {
        // Nothing panics while it is held; so below.
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn losses(&self) -> u64 {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).losses
    }

    /// Asks because a token has a key that is not known; not when somebody did so a moment ago.
    pub async fn ask_again(&self) {
        let mut asked = self.asked.lock().await;
        if asked.is_none_or(|at| at.elapsed() >= self.pause) {
            self.ask().await;
            *asked = Some(Instant::now());
        }
    }

    /// Asks when it is time, and when a file has changed, until nobody has the keys any more.
    pub async fn watch(ring: Weak<Ring>) {
        let mut asked: Option<Instant> = None;
        while let Some(ring) = ring.upgrade() {
            // Without any key nobody can come in.
            let period = if ring.keys().all.is_empty() { ring.pause } else { ring.refresh };
            if asked.is_none_or(|at| at.elapsed() >= period) || ring.source.has_changed() {
                ring.refreshed().await;
                asked = Some(Instant::now());
            }
            let look = match ring.source {
                Source::File { .. } => period.min(Duration::from_secs(JWKS_LOOK_S)),
                Source::Address(_) => period.min(ring.refresh),
            };
            drop(ring);
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
            Source::File { path, seen } => {
                let stamp = stamp(path);
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
                let path = path.clone();
                tokio::task::spawn_blocking(move || read(&path)).await.unwrap_or_else(|error| Err(error.to_string()))
            }
            Source::Address(address) => address.get().await,
        };
        match found.and_then(|bytes| jwks::read(&bytes)) {
            Ok(keys) => self.take(keys),
            Err(problem) => {
                let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                match known.all.is_empty() {
                    true => tracing::warn!("there are no keys of tokens: {problem}"),
                    false => tracing::warn!("the keys of tokens known last stay in use: {problem}"),
                }
                known.problem = Some(problem);
            }
        }
    }

    fn take(&self, keys: Vec<Key>) {
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let is_lost = |old: &Key| !keys.iter().any(|key| key.is(old));
        if known.all.iter().any(is_lost) {
            known.losses += 1;
        }
        known.all = Arc::new(keys);
        known.problem = None;
    }
}

impl Source {
    fn has_changed(&self) -> bool {
        match self {
            Source::File { path, seen } => *seen.lock().unwrap_or_else(PoisonError::into_inner) != stamp(path),
            Source::Address(_) => false,
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let read = file.take(JWKS_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    match bytes.len() > JWKS_BYTES_MAX {
        true => Err(format!("it has more than {JWKS_BYTES_MAX} bytes")),
        false => Ok(bytes),
    }
}
