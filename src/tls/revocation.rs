//! Lists of client certificates that were revoked, and the verifier that follows them. Decision 247.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme, crypto,
};

use super::file::{contents, unusable};
use super::validity;
use base::hex::Hex;
use base::log::event;

/// Bytes of a file of revocation lists: 400 000 certificates in a list.
pub(super) const TLS_LIST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is asked of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificatePolicy {
    /// PEM; authorities that their certificates may come from.
    pub authorities: PathBuf,
    /// Whether every client must show a certificate.
    pub required: bool,
    /// Revocation lists, PEM or DER. Where there are any, each authority needs one.
    pub revoked: Vec<PathBuf>,
}

/// Seconds that a list may have been made ahead of this machine's clock.
const LIST_AHEAD_S: i64 = 300;

/// A revocation list, and when its next one is due: seconds since 1970.
pub struct RevocationList {
    pub path: PathBuf,
    pub next_update: i64,
    list: CertificateRevocationListDer<'static>,
}

/// Reads revocation lists, the newest first: of several lists of one authority the first one counts. A file of PEM may hold several.
/// The list of one distribution point, and one that was made in the future, are refused: they would hide lists that revoke more.
///
/// # Errors
/// Which file cannot be used, and why.
pub(super) fn lists(paths: &[PathBuf]) -> Result<Vec<RevocationList>, String> {
    let (mut lists, now) = (Vec::new(), validity::now());
    for path in paths {
        let found = in_file(path)?;
        if found.is_empty() {
            return Err(unusable(path, &"it holds no revocation list"));
        }
        for list in found {
            let head = validity::list_head(&list)
                .ok_or_else(|| unusable(path, &"it holds no revocation list that says when the next one is due"))?;
            if head.is_partial {
                let why = "it is the list of one distribution point; the complete list of the authority is needed";
                return Err(unusable(path, &why));
            }
            if head.this_update > now.saturating_add(LIST_AHEAD_S) {
                return Err(unusable(path, &"its list was made in the future; is the clock of this machine right?"));
            }
            let age = Reverse((head.this_update, head.number.len(), head.number));
            lists.push((age, RevocationList { path: path.clone(), next_update: head.next_update, list }));
        }
    }
    lists.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(lists.into_iter().map(|(_, list)| list).collect())
}

fn in_file(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    const SEQUENCE: u8 = 0x30;
    let bytes = contents(path, TLS_LIST_BYTES_MAX)?;
    if bytes.first() == Some(&SEQUENCE) {
        return Ok(vec![bytes.into()]);
    }
    CertificateRevocationListDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(path, &error))
}

impl ClientCertificatePolicy {
    /// Verifies certificates of these authorities that no list names. A list past its next update refuses every certificate it is asked
    /// about.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub fn verifier(
        &self,
        authorities: RootCertStore,
        lists: &[RevocationList],
    ) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider)
            .with_crls(lists.iter().map(|list| list.list.clone()))
            .enforce_revocation_expiration();
        let verifier = if self.required { verifier } else { verifier.allow_unauthenticated() };
        let files = || std::iter::once(&self.authorities).chain(&self.revoked).map(|path| path.display().to_string());
        let verifier =
            verifier.build().map_err(|error| format!("{}: {error}", files().collect::<Vec<_>>().join(", ")))?;
        Ok(Arc::new(LoggingVerifier(verifier)))
    }
}

/// Names in the log the certificates that are refused because of the lists.
#[derive(Debug)]
struct LoggingVerifier(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for LoggingVerifier {
    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.0.verify_client_cert(own, between, now);
        if let Err(Error::InvalidCertificate(refusal)) = &verified {
            let why = match refusal {
                CertificateError::Revoked => "it was revoked",
                CertificateError::UnknownRevocationStatus => "its authority has no list in tls.client_crl",
                CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
                    "the list of its authority has expired"
                }
                _ => return verified,
            };
            let number = digest(&SHA256, own);
            let number = Hex(number.as_ref());
            let problem = format!("client certificate with the SHA-256 {number}: {why}");
            event!(TLS_CLIENT_REVOKED, problem = problem.as_str());
        }
        verified
    }

    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
