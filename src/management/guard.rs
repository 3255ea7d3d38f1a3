//! Who may ask the management listener: a caller that names this machine in `Host`, and that knows the token where there is one.
//!
//! A page in a browser can let a name of its own lead to this machine (DNS rebinding) and read the answers as its own. Such a request
//! names the page's host. Decision 246.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Digest, SHA256, digest};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::http::request::Parts;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{HealthPart, HealthStatus};
use crate::config;
use crate::http::limits::TLS_LOOK_S;
use crate::http::{host_name, is_loopback};
use crate::tls::{ServerCertificate, TlsOptions};
use base::log::event;
use base::secret_file;

/// Bytes of the file with the token of the management address.
const MANAGEMENT_TOKEN_BYTES_MAX: u64 = 4096;

/// Characters of the token of the management address: fewer can be guessed.
const MANAGEMENT_TOKEN_CHARACTERS_MIN: usize = 16;

/// What the settings ask of callers.
pub struct CallerGuard {
    hosts: Vec<String>,
    token: Option<TokenFile>,
    pub tls: Option<Arc<ServerCertificate>>,
}

/// A token in a file. While the file cannot be used, the token that was in it before stays.
struct TokenFile {
    path: PathBuf,
    /// SHA-256 of the token, so that a comparison says nothing about its length either.
    newest: Mutex<Digest>,
    problem: Mutex<Option<String>>,
}

/// Why a caller gets no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum CallerRefusal {
    /// `Host` is a name that is not ours.
    Host,
    /// There is no token in the request, or another one.
    Token,
}

impl CallerGuard {
    /// # Errors
    /// Which file of the settings cannot be used, and why.
    pub fn open(settings: &config::ManagementSettings) -> Result<Arc<CallerGuard>, String> {
        let token = settings.token_file.as_deref().map(TokenFile::open).transpose()?;
        let tls = settings.certificate.clone().zip(settings.key.clone()).map(|(certificate, key)| {
            let options = TlsOptions { certificate, key, tls12: false, http2: false, clients: None };
            ServerCertificate::open(options).map_err(|problem| format!("[management] {problem}"))
        });
        Ok(Arc::new(CallerGuard { hosts: settings.hosts.clone(), token, tls: tls.transpose()? }))
    }

    /// `own` is the address that the connection came to.
    ///
    /// # Errors
    /// Why the request gets no answer.
    pub fn check(&self, request: &Parts, own: Option<IpAddr>) -> Result<(), CallerRefusal> {
        let named = request.uri.authority().map(hyper::http::uri::Authority::as_str);
        let hosts = request.headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        // Browsers always send Host; probes over HTTP/1.0 send none.
        if !hosts.chain(named).all(|host| self.is_own(host, own)) {
            return Err(CallerRefusal::Host);
        }
        match &self.token {
            Some(token) if !["/live", "/ready"].contains(&request.uri.path()) => {
                let mut all = request.headers.get_all(AUTHORIZATION).iter();
                // With two, a proxy in front may have judged the other one.
                let only = all.next().filter(|_| all.next().is_none());
                let given = only.and_then(|value| value.to_str().ok()).and_then(|value| value.split_once(' '));
                let is_right = given.is_some_and(|(kind, given)| {
                    kind.eq_ignore_ascii_case("bearer") && token.is(given.trim().as_bytes())
                });
                if is_right { Ok(()) } else { Err(CallerRefusal::Token) }
            }
            _ => Ok(()),
        }
    }

    fn is_own(&self, host: &str, own: Option<IpAddr>) -> bool {
        let name = host_name(host);
        let is_address = || name.parse::<IpAddr>().is_ok_and(|ip| own.is_some_and(|own| own == ip.to_canonical()));
        is_loopback(host) || is_address() || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Reads the token again whenever its file changed. Never ready where there is a token.
    pub async fn keep_current(self: Arc<CallerGuard>) {
        while self.token.is_some() {
            sleep(Duration::from_secs(TLS_LOOK_S)).await;
            let guard = Arc::clone(&self);
            // The disk may take its time, and answers do not wait for it.
            if let Err(error) = spawn_blocking(move || guard.token.as_ref().map(TokenFile::look)).await {
                event!(MANAGEMENT_TOKEN_LOST, %error);
            }
        }
    }

    /// How the token is, where there is one.
    pub fn token_part(&self) -> Option<HealthPart> {
        let problem = self.token.as_ref()?.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let part = |status, words| HealthPart::new("management_token", status, words);
        Some(match problem {
            None => part(HealthStatus::Ok, "The token of the management address can be read.".to_owned()),
            Some(problem) => part(HealthStatus::Degraded, format!("{problem}; the last token in it stays in use.")),
        })
    }
}

impl TokenFile {
    fn open(path: &Path) -> Result<TokenFile, String> {
        let newest = Mutex::new(digest(&SHA256, token(path)?.as_bytes()));
        Ok(TokenFile { path: path.to_owned(), newest, problem: Mutex::default() })
    }

    fn is(&self, given: &[u8]) -> bool {
        let newest = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        verify_slices_are_equal(newest.as_ref(), digest(&SHA256, given).as_ref()).is_ok()
    }

    fn look(&self) {
        let problem = match token(&self.path) {
            Ok(token) => {
                *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = digest(&SHA256, token.as_bytes());
                None
            }
            Err(problem) => Some(problem),
        };
        let mut told = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = problem.as_ref().filter(|problem| told.as_ref() != Some(*problem)) {
            event!(MANAGEMENT_TOKEN_LOST, error = error.as_str());
        }
        *told = problem;
    }
}

/// The token in a file: visible ASCII, without what surrounds it.
///
/// # Errors
/// The file cannot be read, or holds no token.
pub fn token(path: &Path) -> Result<String, String> {
    let named = |problem: &str| format!("management.token_file: {problem}");
    let token = secret_file::read(path, MANAGEMENT_TOKEN_BYTES_MAX).map_err(|problem| named(&problem))?;
    if token.len() < MANAGEMENT_TOKEN_CHARACTERS_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let expected =
            format!("a token has at least {MANAGEMENT_TOKEN_CHARACTERS_MIN} letters, digits and signs, without blanks");
        return Err(named(&format!("{}: {expected}", path.display())));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn told(guard: &CallerGuard, path: &str, headers: &[(&str, &str)]) -> Result<(), CallerRefusal> {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        guard.check(&request.body(()).unwrap().into_parts().0, "192.0.2.7".parse().ok())
    }

    #[test]
    fn only_names_of_this_machine_and_of_the_settings_are_answered() {
        let settings = config::ManagementSettings {
            hosts: vec!["watch.test".to_owned()],
            ..config::ManagementSettings::default()
        };
        let guard = CallerGuard::open(&settings).unwrap();
        for own in ["localhost", "127.0.0.1:8081", "[::1]:1", "192.0.2.7:8081", "WATCH.test:1"] {
            assert_eq!(told(&guard, "/health", &[("host", own)]), Ok(()), "{own}");
        }
        assert_eq!(told(&guard, "/health", &[]), Ok(()));
        for other in ["evil.example", "192.0.2.8", "localhost.evil.example", "watch.test.evil.example", ""] {
            assert_eq!(told(&guard, "/live", &[("host", other)]), Err(CallerRefusal::Host), "{other}");
        }
        assert_eq!(told(&guard, "/live", &[("host", "localhost"), ("host", "evil.example")]), Err(CallerRefusal::Host));
        assert_eq!(told(&guard, "http://evil.example/live", &[("host", "localhost")]), Err(CallerRefusal::Host));
    }

    #[test]
    fn a_token_is_needed_for_all_but_probes_and_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let settings =
            config::ManagementSettings { token_file: Some(path.clone()), ..config::ManagementSettings::default() };
        let guard = CallerGuard::open(&settings).unwrap();
        let with = |path: &str, value: &str| told(&guard, path, &[("authorization", value)]);
        for (path, value, expected) in [
            ("/health", "Bearer 0123456789abcdef", Ok(())),
            ("/metrics", "bearer 0123456789abcdef", Ok(())),
            ("/health", "Bearer 0123456789abcdeg", Err(CallerRefusal::Token)),
            ("/health", "Bearer 0123456789abcde", Err(CallerRefusal::Token)),
            ("/health", "Basic 0123456789abcdef", Err(CallerRefusal::Token)),
            ("/nothing", "", Err(CallerRefusal::Token)),
            ("/live", "", Ok(())),
            ("/ready", "", Ok(())),
        ] {
            assert_eq!(with(path, value), expected, "{path} {value}");
        }
        let right = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(told(&guard, "/health", &[right, ("authorization", "Bearer x")]), Err(CallerRefusal::Token));
        let token = guard.token.as_ref().unwrap();
        std::fs::write(&path, "fedcba9876543210").unwrap();
        token.look();
        assert_eq!(with("/health", "Bearer fedcba9876543210"), Ok(()));
        assert_eq!(with("/health", "Bearer 0123456789abcdef"), Err(CallerRefusal::Token));
        std::fs::write(&path, "short").unwrap();
        token.look();
        assert_eq!(with("/health", "Bearer fedcba9876543210"), Ok(()), "the last one stays");
        assert_eq!(guard.token_part().unwrap().status, HealthStatus::Degraded);
    }

    #[test]
    fn a_token_that_is_guessed_soon_or_none_at_all_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(token(&path).unwrap_err().contains("no such file"));
        for (text, is_token) in [
            ("a".repeat(15), false),
            ("a".repeat(16), true),
            (format!("{} {}", "a".repeat(9), "a".repeat(9)), false),
            ("a".repeat(4096), true),
            ("a".repeat(4097), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(token(&path).is_ok(), is_token, "{}", text.len());
        }
    }
}
