//! What the service shows of itself over TLS: certificate and key out of files, read again when they change.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

use super::file::{contents, unusable};
use super::revocation::{self, ClientCertificatePolicy};
use super::validity::{self, Validity};
use crate::tls::limits::TLS_FILE_BYTES_MAX;

/// Days before its end from which a certificate's end is warned of. Whoever renews it by hand needs some.
const TLS_WARN_DAYS: i64 = 14;

/// Which files, and what is asked of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// PEM; the service's own certificate first.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Whether TLS 1.2 is spoken beside 1.3.
    pub tls12: bool,
    /// Whether HTTP/2 is offered beside HTTP/1.1.
    pub http2: bool,
    /// `None`: clients are not asked for certificates.
    pub clients: Option<ClientCertificatePolicy>,
}

/// Certificate and key that connections are offered now.
pub struct ServerCertificate {
    options: TlsOptions,
    current: Mutex<CurrentTls>,
}

struct CurrentTls {
    settings: Arc<ServerConfig>,
    validity: Option<Validity>,
    /// Revocation lists: the file, and when its next one is due in seconds since 1970.
    lists: Vec<(PathBuf, i64)>,
    /// Of the files when they were last read.
    stamps: Vec<TlsFileState>,
    problem: Option<String>,
}

/// What tells that a file changed.
type TlsFileState = Option<(i64, i64, u64, u64)>;

/// What health reports about it. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsStatus {
    pub not_before: Option<i64>,
    pub not_after: Option<i64>,
    /// Why the files as they are now cannot be used; connections are offered those read before.
    pub last_problem: Option<String>,
    /// What an operator should mend soon, in words.
    pub warnings: Vec<String>,
}

/// What a look at the files found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileCheck {
    Unchanged,
    Renewed,
    /// They cannot be used; why.
    Failed(String),
}

impl ServerCertificate {
    /// Reads the files.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub fn open(options: TlsOptions) -> Result<Arc<ServerCertificate>, String> {
        let current = read(&options)?;
        Ok(Arc::new(ServerCertificate { options, current: Mutex::new(current) }))
    }

    /// For the next connection.
    pub fn settings(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current().settings)
    }

    /// Reads the files again if they changed, if they could not be used the last time, or if it is `asked` for.
    pub fn look(&self, asked: bool) -> FileCheck {
        {
            let current = self.current();
            if !asked && current.problem.is_none() && current.stamps == stamps(&self.options) {
                return FileCheck::Unchanged;
            }
        }
        match read(&self.options) {
            Ok(read) => {
                *self.current() = read;
                FileCheck::Renewed
            }
            Err(problem) => {
                let before = self.current().problem.replace(problem.clone());
                if before.as_ref() == Some(&problem) { FileCheck::Unchanged } else { FileCheck::Failed(problem) }
            }
        }
    }

    /// `now` in seconds since 1970.
    pub fn status(&self, now: i64) -> TlsStatus {
        let current = self.current();
        let mut warnings = Vec::new();
        let certificate = self.options.certificate.display();
        match current.validity {
            Some(Validity { not_after, .. }) if not_after < now => {
                warnings.push(format!("the certificate in {certificate} has expired"));
            }
            Some(Validity { not_before, .. }) if now < not_before => {
                warnings.push(format!("the certificate in {certificate} is not valid yet"));
            }
            Some(Validity { not_after, .. }) if not_after - now < TLS_WARN_DAYS * 86_400 => {
                warnings.push(format!("the certificate in {certificate} expires within {TLS_WARN_DAYS} days"));
            }
            Some(_) => {}
            None => warnings.push(format!("the certificate in {certificate} does not say how long it is valid")),
        }
        for (path, _) in current.lists.iter().filter(|(_, next_update)| *next_update < now) {
            let path = path.display();
            warnings.push(format!("the revocation list in {path} has expired; clients of its authority are refused"));
        }
        TlsStatus {
            not_before: current.validity.map(|validity| validity.not_before),
            not_after: current.validity.map(|validity| validity.not_after),
            last_problem: current.problem.clone(),
            warnings,
        }
    }

    fn current(&self) -> MutexGuard<'_, CurrentTls> {
        self.current.lock().expect("no holder of this lock can panic")
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("ServerCertificate").field("options", &self.options).finish_non_exhaustive()
    }
}

fn read(options: &TlsOptions) -> Result<CurrentTls, String> {
    // Before the contents: a file that is written meanwhile is read once more.
    let stamps = stamps(options);
    let chain = certificates(&options.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&contents(&options.key, TLS_FILE_BYTES_MAX)?)
        .map_err(|error| unusable(&options.key, &format!("it holds no private key: {error}")))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions: &[_] = if options.tls12 { &[&TLS13, &TLS12] } else { &[&TLS13] };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let builder = builder.map_err(|error| error.to_string())?;
    let mut lists = Vec::new();
    let builder = match &options.clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            lists = revocation::lists(&clients.revoked)?;
            builder.with_client_cert_verifier(clients.verifier(authorities(&clients.authorities)?, &lists)?)
        }
    };
    let validity = chain.first().and_then(|own| validity::of(own));
    let mut settings = builder.with_single_cert(chain, key).map_err(|error| {
        let (certificate, key) = (options.certificate.display(), options.key.display());
        format!("{certificate} and {key} cannot be used together: {error}")
    })?;
    if options.clients.is_some() {
        // A session that is taken up again is not asked for its certificate, whatever became of that or of the lists meanwhile.
        settings.session_storage = Arc::new(NoServerSessionStorage {});
        settings.send_tls13_tickets = 0;
    }
    let protocols: &[&[u8]] = if options.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    settings.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let lists = lists.into_iter().map(|list| (list.path, list.next_update)).collect();
    Ok(CurrentTls { settings: Arc::new(settings), validity, lists, stamps, problem: None })
}

/// Reads the revocation lists of clients' certificates, if there are any, as the start of the service does.
///
/// # Errors
/// Which list cannot be used, and why. Files of authorities are not judged here.
pub(crate) fn check_lists(clients: &ClientCertificatePolicy) -> Result<(), String> {
    let lists = revocation::lists(&clients.revoked)?;
    match authorities(&clients.authorities) {
        Ok(authorities) => clients.verifier(authorities, &lists).map(drop),
        Err(_) => Ok(()),
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(path)? {
        authorities.add(certificate).map_err(|error| unusable(path, &error))?;
    }
    Ok(authorities)
}

pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = contents(path, TLS_FILE_BYTES_MAX)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let read = read.map_err(|error| unusable(path, &error))?;
    if read.is_empty() { Err(unusable(path, &"it holds no certificate")) } else { Ok(read) }
}

fn stamps(options: &TlsOptions) -> Vec<TlsFileState> {
    let clients =
        options.clients.iter().flat_map(|clients| std::iter::once(&clients.authorities).chain(&clients.revoked));
    let paths = [&options.certificate, &options.key].into_iter().chain(clients);
    let stamp = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some((found.mtime(), found.mtime_nsec(), found.len(), found.ino()))
    };
    paths.map(stamp).collect()
}

#[cfg(test)]
mod tests;
