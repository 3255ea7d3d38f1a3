//! The service's own credential for the registry.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;

use crate::registry::CredentialState;
use base::log::event;
use base::secret_file;

/// Bytes of the file with the service's credential for the registry. A token has up to 4 KB.
const REGISTRY_TOKEN_BYTES_MAX: u64 = 16 * 1024;

/// How long a token of a file is used before the file is looked at again.
const FRESH: Duration = Duration::from_secs(1);

/// The header `Authorization` of requests that the service makes for itself, and whether the registry accepts it.
#[derive(Debug)]
pub(super) struct Credential {
    source: CredentialSource,
    pub(super) acceptance: Acceptance,
    /// Its file could not be read last.
    is_unreadable: AtomicBool,
}

/// Whether the other side refused a credential of the service last.
#[derive(Debug, Default)]
pub(super) struct Acceptance {
    is_refused: AtomicBool,
}

impl Acceptance {
    pub(super) fn accepted(&self) {
        if self.is_refused.swap(false, Ordering::Relaxed) {
            event!(REGISTRY_ACCEPTS);
        }
    }

    /// `why` holds no personal data.
    pub(super) fn refused(&self, why: &str) {
        if !self.is_refused.swap(true, Ordering::Relaxed) {
            event!(REGISTRY_REFUSES, problem = why);
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
enum CredentialSource {
    None,
    Text(HeaderValue),
    File(RotatedToken),
}

/// A token that somebody else replaces now and then.
#[derive(Debug)]
struct RotatedToken {
    path: PathBuf,
    newest: Mutex<NewestCredential>,
}

#[derive(Clone, Debug)]
struct NewestCredential {
    header: HeaderValue,
    read: Instant,
}

impl Credential {
    /// A bearer token as text or in a file, not both.
    ///
    /// # Errors
    /// Both are given; the file cannot be read; the token is empty or cannot stand in a header. The text never repeats it.
    pub(super) fn new(token: Option<&str>, file: Option<&Path>, now: Instant) -> Result<Credential, String> {
        let source = match (token, file) {
            (None, None) => CredentialSource::None,
            (Some(token), None) => {
                CredentialSource::Text(header(token).map_err(|problem| format!("registry.remote.token: {problem}"))?)
            }
            (None, Some(path)) => {
                let read = read(path).map_err(|problem| format!("registry.remote.token_file: {problem}"));
                let newest = NewestCredential { header: read?, read: now };
                CredentialSource::File(RotatedToken { path: path.to_owned(), newest: Mutex::new(newest) })
            }
            (Some(_), Some(_)) => return Err("the token is given twice, as text and in a file".to_owned()),
        };
        Ok(Credential { source, acceptance: Acceptance::default(), is_unreadable: AtomicBool::new(false) })
    }

    /// The header. When the file becomes unreadable, its last token stays in use and the file is reported. Decision
    /// 128.
    pub(super) async fn header(&self, now: Instant) -> Option<HeaderValue> {
        match &self.source {
            CredentialSource::None => None,
            CredentialSource::Text(header) => Some(header.clone()),
            CredentialSource::File(rotated) => {
                let (header, read) = rotated.header(now).await;
                if let Some(read) = read {
                    let was_unreadable = self.is_unreadable.swap(read.is_err(), Ordering::Relaxed);
                    match (was_unreadable, read) {
                        (true, Ok(())) => event!(REGISTRY_TOKEN_BACK),
                        (false, Err(problem)) => {
                            event!(REGISTRY_TOKEN_LOST, problem = problem.as_str());
                        }
                        (false, Ok(())) | (true, Err(_)) => {}
                    }
                }
                Some(header)
            }
        }
    }

    /// Its current state.
    pub(super) fn state(&self) -> CredentialState {
        match (self.acceptance.is_refused(), self.is_unreadable.load(Ordering::Relaxed)) {
            (true, _) => CredentialState::Refused,
            (false, true) => CredentialState::Unreadable,
            (false, false) => CredentialState::Accepted,
        }
    }
}

impl RotatedToken {
    /// The newest token, and the result of reading the file where it was read.
    async fn header(&self, now: Instant) -> (HeaderValue, Option<Result<(), String>>) {
        let newest = {
            let mut newest = self.newest();
            if now.saturating_duration_since(newest.read) < FRESH {
                return (newest.header.clone(), None);
            }
            // Others take the old one meanwhile, so that the file is read once.
            newest.read = now;
            newest.header.clone()
        };
        let path = self.path.clone();
        let found = tokio::task::spawn_blocking(move || read(&path)).await;
        match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(header) => {
                self.newest().header = header.clone();
                (header, Some(Ok(())))
            }
            Err(problem) => (newest, Some(Err(problem))),
        }
    }

    fn newest(&self) -> MutexGuard<'_, NewestCredential> {
        // Nothing panics while it is held.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As [`secret_file::read`], of a secret for the registry.
pub(super) fn text(path: &Path) -> Result<String, String> {
    secret_file::read(path, REGISTRY_TOKEN_BYTES_MAX)
}

fn read(path: &Path) -> Result<HeaderValue, String> {
    header(&text(path)?).map_err(|problem| format!("{}: {problem}", path.display()))
}

/// The header of a bearer token.
///
/// # Errors
/// It is empty or cannot stand in a header. The text never repeats it.
pub(super) fn header(token: &str) -> Result<HeaderValue, String> {
    let token = token.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a bearer token has letters, digits and signs, without blanks".to_owned());
    }
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).expect("visible ASCII may stand in a header");
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(credential: &Credential, now: Instant) -> Option<String> {
        credential.header(now).await.map(|header| header.to_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn a_token_of_a_file_is_read_again_once_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let (file, start) = (folder.path().join("token"), Instant::now());
        std::fs::write(&file, "one\n").unwrap();
        let credential = Credential::new(None, Some(&file), start).unwrap();
        std::fs::write(&file, "two").unwrap();
        assert_eq!(told(&credential, start + FRESH - Duration::from_nanos(1)).await.unwrap(), "Bearer one");
        assert_eq!(told(&credential, start + FRESH).await.unwrap(), "Bearer two");
        std::fs::write(&file, "a b").unwrap();
        assert_eq!(told(&credential, start + FRESH * 2).await.unwrap(), "Bearer two");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(told(&credential, start + FRESH * 3).await.unwrap(), "Bearer two");
        assert_eq!(credential.state(), CredentialState::Unreadable);
        credential.acceptance.refused("401");
        assert_eq!(credential.state(), CredentialState::Refused);
        std::fs::write(&file, "three").unwrap();
        assert_eq!(told(&credential, start + FRESH * 4).await.unwrap(), "Bearer three");
        assert_eq!(credential.state(), CredentialState::Refused, "nobody asked the registry yet");
        credential.acceptance.accepted();
        assert_eq!(credential.state(), CredentialState::Accepted);
    }

    #[tokio::test]
    async fn a_token_of_the_settings_is_sent_and_never_shown() {
        let credential = Credential::new(Some("very-secret"), None, Instant::now()).unwrap();
        assert_eq!(told(&credential, Instant::now()).await.unwrap(), "Bearer very-secret");
        assert!(!format!("{credential:?}").contains("very-secret"), "{credential:?}");
        assert_eq!(told(&Credential::new(None, None, Instant::now()).unwrap(), Instant::now()).await, None);
    }

    #[test]
    fn what_is_no_token_is_refused_without_repeating_it() {
        let now = Instant::now();
        for token in ["", " ", "very secret", "very\r\nsecret", "vérysecret"] {
            let refusal = Credential::new(Some(token), None, now).unwrap_err();
            assert!(!refusal.contains("secret"), "{refusal}");
        }
        assert!(Credential::new(Some("a"), Some(Path::new("b")), now).is_err());
        assert!(Credential::new(None, Some(Path::new("no-such-file")), now).unwrap_err().contains("no such file"));
    }
}
