//! A caller's token exchanged for one that is for the registry alone, so that whoever reads it there cannot use it here.
//!
//! Source: RFC 8693; the service names itself as RFC 6749, 2.3.1 says.

use std::path::Path;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use quick_cache::sync::Cache;
use serde::Deserialize;
use tokio::time::timeout_at;

use super::credential::{self, Acceptance};
use super::request::encode;
use crate::config;
use crate::config::limits::TOKEN_BYTES_MAX;
use crate::registry::{LookupFailure, NoAnswer};

/// Tokens of callers whose exchanged tokens for the registry are kept.
const EXCHANGED_TOKENS_MAX: usize = 4096;

/// Bytes of an answer of the token endpoint, a token and what stands around it.
const ANSWER_BYTES_MAX: usize = 2 * TOKEN_BYTES_MAX;

/// How long before its end a token is no longer used: it has a way to go.
const SPARE: Duration = Duration::from_secs(10);

const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// The issuer's token endpoint, and the tokens it gave.
#[derive(Debug)]
pub(super) struct TokenExchange {
    endpoint: Uri,
    audience: String,
    /// The service's own name and secret there.
    authorization: HeaderValue,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    exchanged: Cache<[u8; 32], ExchangedToken>,
    /// Of the service's own name and secret.
    pub acceptance: Acceptance,
}

#[derive(Clone, Debug)]
struct ExchangedToken {
    header: HeaderValue,
    until: Instant,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    issued_token_type: Option<String>,
    #[serde(default)]
    expires_in: u64,
}

#[derive(Deserialize)]
struct TokenError {
    error: String,
}

/// Codes of a 400 that concern the service, or its settings, and not the caller's token. RFC 6749, 5.2; RFC 8693, 2.2.2.
const ABOUT_SERVICE: [&str; 4] = ["invalid_client", "invalid_target", "unauthorized_client", "unsupported_grant_type"];

impl TokenResponse {
    /// Whether it may be sent to the registry: it is a bearer token, and no refresh token, which only the issuer may get.
    fn is_bearer_access_token(&self) -> bool {
        let issued = self.issued_token_type.as_deref();
        self.token_type.eq_ignore_ascii_case("bearer")
            && issued.is_none_or(|issued| [ACCESS_TOKEN, JWT].contains(&issued))
    }
}

impl TokenExchange {
    /// Opens no connection yet.
    ///
    /// # Errors
    /// A setting is missing or wrong, or the file of the secret or of the authorities cannot be used; in words.
    pub(super) fn new(settings: &config::ExchangeSettings, tls: rustls::ClientConfig) -> Result<TokenExchange, String> {
        let needed = |name: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| {
                format!("registry.remote.callers_token = 'exchange' needs registry.remote.exchange.{name}")
            })
        };
        let [endpoint, audience, id] =
            [("endpoint", &settings.endpoint), ("audience", &settings.audience), ("client_id", &settings.client_id)]
                .map(|(name, value)| needed(name, value));
        let secret = needed("client_secret_file", &settings.client_secret_file)?;
        let secret = credential::text(Path::new(&secret))
            .map_err(|problem| format!("registry.remote.exchange.client_secret_file: {problem}"))?;
        let endpoint = endpoint?;
        let uri =
            endpoint.parse().map_err(|_| format!("registry.remote.exchange.endpoint = '{endpoint}' is no address"))?;
        let mut pair = String::new();
        encode(&mut pair, &id?);
        pair.push(':');
        encode(&mut pair, &secret);
        let mut authorization = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair)))
            .expect("base64 has letters, digits and signs");
        authorization.set_sensitive(true);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        Ok(TokenExchange {
            endpoint: uri,
            audience: audience?,
            authorization,
            // A connection for each question, of which there is one in a token's life. On a kept one, an answer that comes too late, or
            // twice, would give a caller the token of another.
            client: Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector),
            exchanged: Cache::new(EXCHANGED_TOKENS_MAX),
            acceptance: Acceptance::default(),
        })
    }

    /// The header for the registry in place of the caller's.
    ///
    /// # Errors
    /// The issuer gives none. The text holds no token.
    pub(super) async fn header(
        &self,
        callers: &str,
        now: Instant,
        deadline: tokio::time::Instant,
    ) -> Result<HeaderValue, LookupFailure> {
        // Who has no token at all is let in by the settings, and asks in nobody's name.
        let (_, token) = callers.trim().split_once(' ').ok_or_else(|| unusable("the caller's header is no token"))?;
        let key = digest(&SHA256, token.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes");
        if let Some(exchanged) = self.exchanged.get(&key).filter(|exchanged| exchanged.until > now) {
            return Ok(exchanged.header);
        }
        let asked = timeout_at(deadline, self.ask(token.trim())).await;
        let answer =
            asked.map_err(|_| NoAnswer::Timeout("the issuer exchanged no token within the time".to_owned()))??;
        if answer.access_token == token.trim() {
            return Err(unusable("the issuer gave the caller's own token back, which is not for the registry alone"));
        }
        let header = credential::header(&answer.access_token)
            .map_err(|_| unusable("what the issuer gave for the caller's token is none"))?;
        let life = Duration::from_secs(answer.expires_in).saturating_sub(SPARE);
        if !life.is_zero() {
            self.exchanged.insert(key, ExchangedToken { header: header.clone(), until: now + life.min(LIFE_MAX) });
        }
        Ok(header)
    }

    async fn ask(&self, token: &str) -> Result<TokenResponse, LookupFailure> {
        let mut form = String::new();
        for (name, value) in [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", &self.audience),
            ("subject_token_type", ACCESS_TOKEN),
            ("requested_token_type", ACCESS_TOKEN),
            ("subject_token", token),
        ] {
            form.push_str(if form.is_empty() { "" } else { "&" });
            encode(&mut form, name);
            form.push('=');
            encode(&mut form, value);
        }
        let request = Request::post(self.endpoint.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, self.authorization.clone())
            .body(Full::from(form))
            .expect("its parts are right by themselves");
        let unreachable =
            |error: &dyn std::error::Error| NoAnswer::Unreachable(format!("the issuer cannot be reached: {error}"));
        let response = self.client.request(request).await.map_err(|error| unreachable(&error))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| unreachable(&*error))?.to_bytes();
        let code = serde_json::from_slice::<TokenError>(&body).map(|refusal| refusal.error).unwrap_or_default();
        if matches!(status, 401 | 403) || status == 400 && ABOUT_SERVICE.contains(&code.as_str()) {
            let why = format!("the issuer exchanges no token: status {status}");
            self.acceptance.refused(&why);
            return Err(NoAnswer::Credential(why).into());
        }
        if status < 500 {
            self.acceptance.accepted();
        }
        match status {
            200 => serde_json::from_slice(&body)
                .ok()
                .filter(TokenResponse::is_bearer_access_token)
                .ok_or_else(|| unusable("the issuer's answer is no exchanged bearer token")),
            500.. => Err(NoAnswer::Unreachable(format!("the issuer exchanges no token: status {status}")).into()),
            _ => Err(unusable(&format!("the issuer exchanges no token: status {status}"))),
        }
    }
}

/// Longest time for which an exchanged token is kept.
const LIFE_MAX: Duration = Duration::from_secs(3600);

fn unusable(why: &str) -> LookupFailure {
    NoAnswer::Unreadable(why.to_owned()).into()
}
