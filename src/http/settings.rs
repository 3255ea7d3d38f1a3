//! What this room takes from the settings, ready for use.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::access::Tokens;
use crate::config::{AccessMode, Config, ConfigError, Network, XRoad};
use crate::metrics::Metrics;

/// Settings of the HTTP room. `base_path` and `base_url` have no slash at the end.
#[derive(Clone, Debug)]
pub struct Settings {
    pub base_path: String,
    /// `{base_url}` of callers that come without a trusted proxy.
    pub base_url: Arc<str>,
    pub trusted_proxies: Vec<Network>,
    pub x_road: XRoad,
    /// Developer mode: strangers are kept out. Contract 7.2.
    pub guarded: bool,
    /// Whether callers may ask for faults: only where nobody but this machine can call, not even through a proxy. Contract 6.4, 7.2.
    pub faults: bool,
    /// Who tells callers by their tokens. `None`: nobody; then no token is looked at.
    pub tokens: Option<Arc<Tokens>>,
    /// Whether nobody is let in without a token: mode `jwt`. Contract 7.2.
    pub needs_token: bool,
    /// `{hcert_issue_system}`.
    pub issue_system: String,
    /// Where requests are counted.
    pub metrics: Arc<Metrics>,
    pub connections_max: usize,
    pub body_bytes_max: usize,
    pub query_bytes_max: usize,
    pub header_timeout: Duration,
    pub body_timeout: Duration,
    pub write_timeout: Duration,
    pub drain_timeout: Duration,
}

impl Settings {
    /// `address` is where the listener really listens.
    ///
    /// # Errors
    /// The address stands for all interfaces and no `base_url` is set: answers could not say where they come from. Others than this
    /// machine could come in developer mode.
    ///
    /// Source: Contract 1.2, 7.2.
    pub fn new(config: &Config, address: SocketAddr) -> Result<Settings, ConfigError> {
        let server = &config.server;
        let base_url = match &server.base_url {
            Some(base_url) => base_url.clone(),
            None if address.ip().to_canonical().is_unspecified() => {
                let problem = format!("server.listen = {address} means every interface, so server.base_url must say");
                return Err(ConfigError(format!("{problem} how callers reach the service")));
            }
            None => format!("http://{address}{}", server.base_path),
        };
        let is_local = address.ip().to_canonical().is_loopback() && server.trusted_proxies.is_empty();
        if config.access.mode == AccessMode::Developer && !is_local {
            let problem = "in mode developer whoever comes may do everything, so it serves this machine alone";
            let advice = "listen on 127.0.0.1 or [::1] without server.trusted_proxies, or set access.mode = \"jwt\"";
            return Err(ConfigError(format!("{problem}: {advice}")));
        }
        Ok(Settings {
            base_path: server.base_path.clone(),
            base_url: base_url.into(),
            trusted_proxies: server.trusted_proxies.clone(),
            x_road: config.x_road.clone(),
            guarded: config.access.mode == AccessMode::Developer,
            faults: config.access.mode == AccessMode::Developer,
            tokens: None,
            needs_token: config.access.mode == AccessMode::Jwt,
            issue_system: config.namespaces.hcert_issue_system.clone(),
            metrics: Metrics::new(),
            connections_max: server.connections_max,
            body_bytes_max: server.body_bytes_max,
            query_bytes_max: server.query_bytes_max,
            header_timeout: Duration::from_secs(server.header_timeout_s),
            body_timeout: Duration::from_secs(server.body_timeout_s),
            write_timeout: Duration::from_secs(server.write_timeout_s),
            drain_timeout: Duration::from_secs(server.drain_timeout_s),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_url(config: &Config, address: &str) -> Result<String, ConfigError> {
        Settings::new(config, address.parse().unwrap()).map(|settings| settings.base_url.to_string())
    }

    #[test]
    fn the_base_url_is_the_setting_or_where_we_listen() {
        let mut config = Config::default();
        assert_eq!(base_url(&config, "127.0.0.1:8080").unwrap(), "http://127.0.0.1:8080/fhir");
        assert_eq!(base_url(&config, "[::1]:80").unwrap(), "http://[::1]:80/fhir");
        config.server.base_url = Some("https://hcert.example.ee".to_owned());
        config.access.mode = AccessMode::Jwt;
        assert_eq!(base_url(&config, "0.0.0.0:8080").unwrap(), "https://hcert.example.ee");
    }

    #[test]
    fn developer_mode_serves_this_machine_alone() {
        let mut config = Config::default();
        config.server.base_url = Some("https://hcert.example.ee".to_owned());
        assert!(base_url(&config, "192.0.2.7:1").unwrap_err().0.contains("access.mode"));
        config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        assert!(base_url(&config, "127.0.0.1:1").is_err());
        config.access.mode = AccessMode::Jwt;
        assert!(base_url(&config, "192.0.2.7:1").is_ok());
    }

    #[test]
    fn listening_everywhere_needs_a_base_url() {
        for address in ["0.0.0.0:8080", "[::]:8080", "[::ffff:0.0.0.0]:8080"] {
            let refusal = base_url(&Config::default(), address).unwrap_err();
            assert!(refusal.0.contains("base_url"), "{refusal}");
        }
    }
}
