//! What this room takes from the settings, ready for use.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::body::Patience;
use super::smart::SmartConfiguration;
use crate::access::Tokens;
use crate::config::{AccessMode, Config, ConfigError, Network, XRoad, XRoadSender};
use crate::metrics::Metrics;
use crate::tls::Presented;

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
    /// Where tokens come from, as clients see it. `None`: not published.
    pub smart: Option<SmartConfiguration>,
    /// Whether nobody is let in without a token: mode `jwt`. Contract 7.2.
    pub needs_token: bool,
    /// `{hcert_issue_system}`.
    pub issue_system: String,
    /// Where requests are counted.
    pub metrics: Arc<Metrics>,
    /// What the service shows over TLS. `None`: it speaks in clear.
    pub tls: Option<Arc<Presented>>,
    /// Addresses whose connections and requests are not counted one by one: this machine's own. Proxies are not either.
    pub uncounted: Vec<Network>,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    pub requests_max: usize,
    pub requests_per_address_max: usize,
    /// 0: no bound.
    pub requests_per_second: u32,
    pub body_bytes_max: usize,
    pub query_bytes_max: usize,
    pub header_timeout: Duration,
    pub body_timeout: Duration,
    pub body_bytes_per_second_min: u64,
    pub request_timeout: Duration,
    pub write_timeout: Duration,
    pub drain_timeout: Duration,
}

impl Settings {
    /// `address` is where the listener really listens.
    ///
    /// # Errors
    /// The address stands for all interfaces and no `base_url` is set: answers could not say where they come from. Others than this
    /// machine could come in developer mode, or would have to come without TLS.
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
            None => format!("{}://{address}{}", config.tls.scheme(), server.base_path),
        };
        let is_local = address.ip().to_canonical().is_loopback() && server.trusted_proxies.is_empty();
        if config.access.mode == AccessMode::Developer && !is_local {
            let problem = "in mode developer whoever comes may do everything, so it serves this machine alone";
            let advice = "listen on 127.0.0.1 or [::1] without server.trusted_proxies, or set access.mode = \"jwt\"";
            return Err(ConfigError(format!("{problem}: {advice}")));
        }
        if !address.ip().to_canonical().is_loopback() && !config.tls.is_on() && !server.plain_behind_proxy {
            let problem = format!("at server.listen = {address} others would send health data without TLS");
            let advice = "set tls.certificate and tls.key, listen on 127.0.0.1 or [::1], or set server.plain_behind_proxy \
                          = true where a proxy in front does TLS and nobody else reaches this address";
            return Err(ConfigError(format!("{problem}: {advice}")));
        }
        let this_machine = ["127.0.0.0/8", "::1"].map(|text| text.parse().expect("both are written right"));
        Ok(Settings {
            base_path: server.base_path.clone(),
            base_url: base_url.into(),
            trusted_proxies: server.trusted_proxies.clone(),
            x_road: config.x_road.clone(),
            guarded: config.access.mode == AccessMode::Developer,
            faults: config.access.mode == AccessMode::Developer,
            tokens: None,
            smart: SmartConfiguration::of(config),
            needs_token: config.access.mode == AccessMode::Jwt,
            issue_system: config.namespaces.hcert_issue_system.clone(),
            metrics: Metrics::new(),
            tls: None,
            uncounted: this_machine.to_vec(),
            connections_max: server.connections_max,
            connections_per_address_max: server.connections_per_address_max,
            requests_max: server.requests_max,
            requests_per_address_max: server.requests_per_address_max,
            requests_per_second: server.requests_per_second,
            body_bytes_max: server.body_bytes_max,
            query_bytes_max: server.query_bytes_max,
            header_timeout: Duration::from_secs(server.header_timeout_s),
            body_timeout: Duration::from_secs(server.body_timeout_s),
            body_bytes_per_second_min: server.body_bytes_per_second_min,
            request_timeout: Duration::from_secs(server.request_timeout_s),
            write_timeout: Duration::from_secs(server.write_timeout_s),
            drain_timeout: Duration::from_secs(server.drain_timeout_s),
        })
    }

    /// How long the body of a request may take.
    pub fn patience(&self) -> Patience {
        Patience { whole: self.body_timeout, bytes_per_second_min: self.body_bytes_per_second_min }
    }

    /// Whether connections of an address are bounded for that address alone: not those of an address that stands for many clients of
    /// X-Road.
    pub fn counts_connections(&self, peer: IpAddr) -> bool {
        let named = |sender: &XRoadSender| matches!(sender, XRoadSender::Network(network) if network.contains(peer));
        self.is_counted(peer) && !self.x_road.from.iter().flatten().any(named)
    }

    /// Whether requests of an address are bounded for that address alone.
    pub fn is_counted(&self, peer: IpAddr) -> bool {
        !self.uncounted.iter().chain(&self.trusted_proxies).any(|network| network.contains(peer))
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
        config.tls.certificate = Some("hcert.pem".into());
        assert_eq!(base_url(&config, "0.0.0.0:8080").unwrap(), "https://hcert.example.ee");
        config.server.base_url = None;
        assert_eq!(base_url(&config, "192.0.2.7:443").unwrap(), "https://192.0.2.7:443/fhir");
    }

    #[test]
    fn without_tls_it_serves_this_machine_or_a_proxy() {
        let mut config = Config::default();
        config.access.mode = AccessMode::Jwt;
        for address in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(base_url(&config, address).is_ok(), "{address}");
        }
        let refusal = base_url(&config, "192.0.2.7:1").unwrap_err();
        assert!(refusal.0.contains("plain_behind_proxy") && refusal.0.contains("tls.certificate"), "{refusal}");
        config.server.plain_behind_proxy = true;
        assert_eq!(base_url(&config, "192.0.2.7:1").unwrap(), "http://192.0.2.7:1/fhir");
    }

    #[test]
    fn this_machine_and_trusted_proxies_are_not_counted() {
        let mut config = Config::default();
        config.access.mode = AccessMode::Jwt;
        config.server.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let settings = Settings::new(&config, "127.0.0.1:1".parse().unwrap()).unwrap();
        for (address, is_counted) in [
            ("127.9.9.9", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("10.1.1.1", false),
            ("192.0.2.1", true),
        ] {
            assert_eq!(settings.is_counted(address.parse().unwrap()), is_counted, "{address}");
        }
    }

    #[test]
    fn developer_mode_serves_this_machine_alone() {
        let mut config = Config::default();
        config.server.base_url = Some("https://hcert.example.ee".to_owned());
        assert!(base_url(&config, "192.0.2.7:1").unwrap_err().0.contains("access.mode"));
        config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        assert!(base_url(&config, "127.0.0.1:1").is_err());
        config.access.mode = AccessMode::Jwt;
        config.server.plain_behind_proxy = true;
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
