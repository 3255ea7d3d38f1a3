//! What this module takes from the settings, ready for use.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::address::origin;
use super::exchanges::Exchanges;
use super::pages::PageMaker;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use crate::access::Tokens;
use crate::config::{AccessMode, Config, ConfigError, Network, XRoadSender, XRoadSettings};
use crate::tls::ServerCertificate;
use base::metrics::Metrics;

/// Settings of the HTTP front end. `base_path` and `base_url` have no slash at the end.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    pub base_path: String,
    /// `{base_url}` of callers that come without a trusted proxy.
    pub base_url: Arc<str>,
    pub trusted_proxies: Vec<Network>,
    pub x_road: XRoadSettings,
    /// `hcert dev`: strangers are kept out, and callers may ask for faults. Contract 6.4, 7.2.
    pub is_developer: bool,
    /// What an address has to begin with, as `/secret`, where other machines can reach `hcert dev`; else empty. Contract 7.2.
    pub secret: String,
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
    /// Where requests and answers are kept for people who watch. `None`: nowhere.
    pub exchanges: Option<Arc<Exchanges>>,
    /// Who makes pages for people. `None`: there are none.
    pub pages: Option<Arc<dyn PageMaker>>,
    /// What the service shows over TLS. `None`: it speaks in clear.
    pub tls: Option<Arc<ServerCertificate>>,
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

impl HttpSettings {
    /// `address` is where the listener really listens.
    ///
    /// # Errors
    /// The address stands for all interfaces and no `base_url` is set: answers could not say where they come from. Others than this
    /// machine would have to come without TLS, or through a proxy to `hcert dev`.
    ///
    /// Source: Contract 1.2, 7.2.
    pub fn new(config: &Config, address: SocketAddr) -> Result<HttpSettings, ConfigError> {
        let (server, is_developer) = (&config.server, config.access.mode == AccessMode::Developer);
        let is_local = address.ip().to_canonical().is_loopback();
        let base_url = match &server.base_url {
            Some(base_url) => base_url.clone(),
            // A container's published port.
            None if is_developer && address.ip().to_canonical().is_unspecified() => {
                format!("{}://127.0.0.1:{}{}", config.tls.scheme(), address.port(), server.base_path)
            }
            None if address.ip().to_canonical().is_unspecified() => {
                let problem = format!("server.listen = {address} means every interface, so server.base_url must say");
                return Err(ConfigError(format!("{problem} how callers reach the service")));
            }
            None => format!("{}://{address}{}", config.tls.scheme(), server.base_path),
        };
        if is_developer && !server.trusted_proxies.is_empty() {
            let problem =
                "`hcert dev` gives every right to every caller, so it takes no requests of server.trusted_proxies";
            return Err(ConfigError(format!("{problem}; leave it away, or run `hcert serve`")));
        }
        if !is_developer && !is_local && !config.tls.is_on() && !server.plain_behind_proxy {
            let problem = format!("at server.listen = {address} others would send health data without TLS");
            let advice = "set tls.certificate and tls.key, listen on 127.0.0.1 or [::1], or set server.plain_behind_proxy \
                          = true where a proxy in front does TLS and nobody else reaches this address";
            return Err(ConfigError(format!("{problem}: {advice}")));
        }
        let this_machine = ["127.0.0.0/8", "::1"].map(|text| text.parse().expect("both are written right"));
        let settings = HttpSettings {
            base_path: server.base_path.clone(),
            base_url: base_url.into(),
            trusted_proxies: server.trusted_proxies.clone(),
            x_road: XRoadSettings {
                // Nobody is believed whom the settings do not name, but where nothing is real.
                from: config.x_road.from.clone().or((!is_developer).then(Vec::new)),
                ..config.x_road.clone()
            },
            is_developer,
            secret: String::new(),
            tokens: None,
            smart: SmartConfiguration::of(config),
            needs_token: !is_developer,
            issue_system: config.namespaces.hcert_issue_system.clone(),
            metrics: Metrics::new(),
            exchanges: None,
            pages: None,
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
        };
        // Never without one, even if whoever calls this has none to keep.
        Ok(if is_developer && !is_local {
            settings.with_secret(&Uuid::new_v4().simple().to_string())
        } else {
            settings
        })
    }

    /// The same behind a secret, in place of the one before.
    pub fn with_secret(mut self, secret: &str) -> HttpSettings {
        let origin = origin(&self.base_url);
        let path = self.base_url[origin.len()..].trim_start_matches(&self.secret);
        self.base_url = format!("{origin}/{secret}{path}").into();
        self.secret = format!("/{secret}");
        self
    }

    /// Where addresses of this service begin for callers that come without a trusted proxy.
    pub fn root(&self) -> String {
        [origin(&self.base_url), &self.secret].concat()
    }

    /// How long the body of a request may take.
    pub fn body_timeout(&self) -> BodyTimeout {
        BodyTimeout { whole: self.body_timeout, bytes_per_second_min: self.body_bytes_per_second_min }
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

/// How long the body of a request may take to arrive.
#[derive(Clone, Copy, Debug)]
pub struct BodyTimeout {
    pub whole: Duration,
    pub bytes_per_second_min: u64,
}

impl BodyTimeout {
    /// When more than `bytes` must have arrived of a body that began to be read at `start`.
    pub(super) fn end(self, start: Instant, bytes: usize) -> Instant {
        let at_slowest = Duration::from_millis(bytes as u64 * 1_000 / self.bytes_per_second_min.max(1));
        start + self.whole.min(Duration::from_secs(BODY_GRACE_S) + at_slowest)
    }
}

/// Seconds before a body's speed is asked for. A line may stall as long when a packet is lost twice.
pub(super) const BODY_GRACE_S: u64 = 5;

/// What the settings say about tokens.
#[derive(Clone, Debug)]
pub enum SmartConfiguration {
    /// The developer's token service issues them.
    Developer,
    /// Another system issues them; this is the document as it is served.
    Issuer(String),
}

impl SmartConfiguration {
    /// `None` where no issuer is set.
    pub fn of(config: &Config) -> Option<SmartConfiguration> {
        let token = &config.access.token;
        if config.access.mode == AccessMode::Developer {
            return Some(SmartConfiguration::Developer);
        }
        let jwks = token.jwks.as_ref().filter(|_| token.jwks_is_address());
        let told = [
            ("issuer", Some(token.issuer.as_ref()?)),
            ("jwks_uri", jwks),
            ("authorization_endpoint", token.authorization_endpoint.as_ref()),
            ("token_endpoint", token.token_endpoint.as_ref()),
        ];
        let mut document: Map<String, Value> =
            told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect();
        document.insert("capabilities".to_owned(), json!([]));
        Some(SmartConfiguration::Issuer(Value::Object(document).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_url(config: &Config, address: &str) -> Result<String, ConfigError> {
        HttpSettings::new(config, address.parse().unwrap()).map(|settings| settings.base_url.to_string())
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
        let settings = HttpSettings::new(&config, "127.0.0.1:1".parse().unwrap()).unwrap();
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
    fn developer_mode_serves_this_machine_or_who_knows_the_secret() {
        let mut config = Config::default();
        let made = |config: &Config, address: &str| HttpSettings::new(config, address.parse().unwrap());
        assert_eq!(made(&config, "127.0.0.1:1").unwrap().secret, "");
        let first = made(&config, "192.0.2.7:1").unwrap();
        let second = made(&config, "192.0.2.7:1").unwrap();
        assert!(first.secret.len() > 32 && first.secret != second.secret);
        assert_eq!(*first.base_url, format!("http://192.0.2.7:1{}/fhir", first.secret));
        assert_eq!(&*first.with_secret("kept").base_url, "http://192.0.2.7:1/kept/fhir");
        config.server.base_url = Some("https://hcert.example.ee/fhir".to_owned());
        let named = made(&config, "0.0.0.0:8080").unwrap().with_secret("kept");
        assert_eq!(
            (&*named.base_url, named.root().as_str()),
            ("https://hcert.example.ee/kept/fhir", "https://hcert.example.ee/kept")
        );
        config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        assert!(made(&config, "127.0.0.1:1").unwrap_err().0.contains("hcert serve"));
        config.access.mode = AccessMode::Jwt;
        config.server.plain_behind_proxy = true;
        assert_eq!(made(&config, "192.0.2.7:1").unwrap().secret, "");
    }

    #[test]
    fn listening_everywhere_needs_a_base_url() {
        for address in ["0.0.0.0:8080", "[::]:8080", "[::ffff:0.0.0.0]:8080"] {
            let mut config = Config::default();
            let port = address.rsplit(':').next().unwrap();
            let published = base_url(&config, address).unwrap();
            assert!(published.starts_with(&format!("http://127.0.0.1:{port}/")), "{published}");
            config.access.mode = AccessMode::Jwt;
            let refusal = base_url(&config, address).unwrap_err();
            assert!(refusal.0.contains("base_url"), "{refusal}");
        }
    }
}
