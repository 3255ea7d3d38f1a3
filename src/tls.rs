//! TLS: whom the service believes that they are who it asks (the patient registry, an issuer of tokens), and what it shows of itself.

mod file;
pub(crate) mod limits;
mod pinned;
mod revocation;
mod server;
mod validity;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::tls::limits::TLS_FILE_BYTES_MAX;

pub(crate) use pinned::pinned;
pub(crate) use revocation::ClientCertificatePolicy;
pub(crate) use server::{FileCheck, ServerCertificate, TlsOptions, TlsStatus, check_lists};
pub(crate) use validity::now;

/// TLS 1.2 or 1.3, with the other side's certificate always verified: against the authorities of a PEM file, and without one those that the
/// machine trusts.
///
/// # Errors
/// The file cannot be read, or no authority can be used.
pub(crate) fn settings(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            let unusable = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
            let pem = file::contents(path, TLS_FILE_BYTES_MAX)?;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| unusable(&error))?;
                roots.add(certificate).map_err(|error| unusable(&error))?;
            }
            if roots.is_empty() {
                return Err(unusable(&"it holds no certificate"));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let problems: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
                return Err(format!("this machine trusts no authority; name a file of them. {}", problems.join("; ")));
            }
        }
    }
    let settings = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(roots).with_no_client_auth())
}

/// For an address without TLS: nobody is trusted.
pub(crate) fn none() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows both versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_usable_certificate_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let refusal = |text: &str| {
            std::fs::write(&file, text).unwrap();
            settings(Some(&file)).unwrap_err()
        };
        assert!(refusal("").contains("no certificate"));
        assert!(refusal("nonsense").contains("no certificate"));
        for text in [
            "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(refusal(text).contains("ca.pem"), "{}", refusal(text));
        }
        assert!(settings(Some(&folder.path().join("other.pem"))).unwrap_err().contains("other.pem"));
    }
}
