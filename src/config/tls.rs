//! `[tls]`: what the service shows of itself, and whom it asks to show something.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::XRoadSender;

/// `[tls]`. Without a certificate there is no TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// PEM; the service's own certificate first, those between it and its authority behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    pub min_version: MinVersion,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
    pub client_auth: ClientAuth,
    /// PEM or DER; revocation lists of the authorities in `client_ca`.
    pub client_crl: Vec<PathBuf>,
}

/// The oldest version that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MinVersion {
    #[serde(rename = "1.2")]
    Tls12,
    #[default]
    #[serde(rename = "1.3")]
    Tls13,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// They are not asked.
    #[default]
    None,
    /// They are asked; one that is shown must be right.
    Optional,
    /// Without one there is no connection.
    Required,
}

impl TlsSettings {
    pub fn is_on(&self) -> bool {
        self.certificate.is_some()
    }

    /// Of addresses that callers reach the service by.
    pub fn scheme(&self) -> &'static str {
        if self.is_on() { "https" } else { "http" }
    }
}

/// What is wrong with the section as a whole, beside whom X-Road comes from and whether a proxy does TLS.
pub(super) fn problems(tls: &TlsSettings, senders: &[XRoadSender], plain_behind_proxy: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if tls.certificate.is_some() != tls.key.is_some() {
        problems.push("tls.certificate and tls.key are needed together".to_owned());
    }
    if !tls.is_on() && (tls.client_ca.is_some() || tls.client_auth != ClientAuth::None) {
        problems.push("tls.client_ca and tls.client_auth need tls.certificate and tls.key".to_owned());
    }
    if tls.client_ca.is_some() != (tls.client_auth != ClientAuth::None) {
        let advice = "clients are asked for certificates of the authorities in a file, so both are needed";
        problems.push(format!("tls.client_ca and tls.client_auth = 'optional' or 'required': {advice}"));
    }
    if !tls.client_crl.is_empty() && tls.client_ca.is_none() {
        problems
            .push("tls.client_crl revokes certificates of the authorities in tls.client_ca, which is unset".to_owned());
    }
    if tls.client_auth == ClientAuth::None && senders.iter().any(|sender| matches!(sender, XRoadSender::Certificate(_)))
    {
        let problem = "x_road.from names the fingerprint of a client certificate, but clients are not asked for one";
        problems.push(format!("{problem}: set tls.client_ca and tls.client_auth"));
    }
    if tls.is_on() && plain_behind_proxy {
        problems
            .push("server.plain_behind_proxy says that a proxy does TLS, so tls.certificate must be unset".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn told(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        let senders = config.x_road.from.unwrap_or_default();
        problems(&config.tls, &senders, config.server.plain_behind_proxy).join("\n")
    }

    #[test]
    fn settings_that_need_each_other_are_told() {
        let on = |config: &mut Config| {
            config.tls.certificate = Some("a.pem".into());
            config.tls.key = Some("a.key".into());
        };
        assert_eq!(told(|_| ()), "");
        assert_eq!(told(on), "");
        assert!(told(|config| config.tls.key = Some("a.key".into())).contains("together"));
        assert!(told(|config| config.tls.client_auth = ClientAuth::Required).contains("need tls.certificate"));
        for change in [
            |config: &mut Config| config.tls.client_auth = ClientAuth::Optional,
            |config: &mut Config| config.tls.client_ca = Some("ca.pem".into()),
        ] {
            let told = told(|config| {
                on(config);
                change(config);
            });
            assert!(told.contains("both are needed"), "{told}");
        }
        assert!(told(|config| config.tls.client_crl = vec!["a.crl".into()]).contains("tls.client_ca, which is unset"));
        let both = told(|config| {
            on(config);
            config.server.plain_behind_proxy = true;
        });
        assert!(both.contains("plain_behind_proxy"), "{both}");
        let named = |config: &mut Config| config.x_road.from = Some(vec!["ab".repeat(32).parse().unwrap()]);
        assert!(told(named).contains("tls.client_auth"));
        let asked = told(|config| {
            on(config);
            named(config);
            config.tls.client_auth = ClientAuth::Optional;
            config.tls.client_ca = Some("ca.pem".into());
        });
        assert_eq!(asked, "");
    }

    #[test]
    fn the_scheme_is_that_of_tls() {
        let mut config = Config::default();
        assert_eq!(config.base_url(), "http://127.0.0.1:8080/fhir");
        config.tls.certificate = Some("a.pem".into());
        assert_eq!(config.base_url(), "https://127.0.0.1:8080/fhir");
    }
}
