//! TLS before HTTP: the settings become what is shown, a handshake, and a task that keeps certificate and key current.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::select;
use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::stream::Protocol;
use crate::config::{ClientAuth, ConfigError, MinVersion, TlsSettings};
use crate::http::limits::TLS_LOOK_S;
use crate::tls::{self, ClientCertificatePolicy, FileCheck, ServerCertificate, TlsOptions};
use base::log::event;

/// What the service shows over TLS; nothing where the settings name no certificate.
///
/// # Errors
/// Which file cannot be used, and why.
pub fn present(settings: &TlsSettings) -> Result<Option<Arc<ServerCertificate>>, ConfigError> {
    let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else { return Ok(None) };
    let options = TlsOptions {
        certificate: certificate.clone(),
        key: key.clone(),
        tls12: settings.min_version == MinVersion::Tls12,
        http2: true,
        clients: clients(settings),
    };
    ServerCertificate::open(options).map(Some).map_err(|problem| ConfigError(format!("[tls] {problem}")))
}

/// # Errors
/// Which revocation list of the settings cannot be used, and why.
pub fn check_lists(settings: &TlsSettings) -> Result<(), String> {
    let checked = clients(settings).map_or(Ok(()), |clients| tls::check_lists(&clients));
    checked.map_err(|problem| format!("tls.client_crl: {problem}"))
}

fn clients(settings: &TlsSettings) -> Option<ClientCertificatePolicy> {
    let required = settings.client_auth == ClientAuth::Required;
    let revoked = settings.client_crl.clone();
    settings.client_ca.clone().map(|authorities| ClientCertificatePolicy { authorities, required, revoked })
}

/// What a handshake settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct TlsHandshake {
    /// The one ALPN chose, else HTTP/1.1.
    pub protocol: Protocol,
    /// SHA-256 of the certificate that the client showed, if it showed one.
    pub certificate: Option<[u8; 32]>,
}

/// Does the handshake. The caller sets the time limit.
///
/// # Errors
/// The client speaks no TLS, none of ours, or shows no certificate where one is needed. It was told so as far as TLS has words for it.
pub(super) async fn shake_hands<S>(
    server_certificate: &ServerCertificate,
    stream: S,
) -> io::Result<(TlsHandshake, TlsStream<S>)>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = TlsAcceptor::from(server_certificate.settings()).accept(stream).await?;
    let connection = stream.get_ref().1;
    let protocol = match connection.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let shown = connection.peer_certificates().and_then(|chain| chain.first());
    let certificate = shown.and_then(|own| digest(&SHA256, own).as_ref().try_into().ok());
    Ok((TlsHandshake { protocol, certificate }, stream))
}

/// Reads certificate and key again whenever they change or `asked` comes, and tells in the log what is wrong with them. Never ready.
pub async fn keep_current(server_certificate: Arc<ServerCertificate>, mut asked: Signal) {
    let mut told = Vec::new();
    loop {
        let status = server_certificate.status(now());
        for warning in status.warnings.iter().filter(|warning| !told.contains(*warning)) {
            event!(TLS_WARNING, warning = warning.as_str());
        }
        told = status.warnings;
        let is_asked = select! {
            Some(()) = asked.recv() => true,
            () = sleep(Duration::from_secs(TLS_LOOK_S)) => false,
        };
        let looking = Arc::clone(&server_certificate);
        // A disk of the network may take its time, and then it shall not be that of requests.
        match spawn_blocking(move || looking.look(is_asked)).await {
            Ok(FileCheck::Unchanged) => {}
            Ok(FileCheck::Renewed) => event!(TLS_FILES_READ),
            Ok(FileCheck::Failed(problem)) => {
                let problem = problem.as_str();
                event!(TLS_FILES_BAD, problem);
            }
            Err(error) => event!(TLS_FILES_UNKNOWN, %error),
        }
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
