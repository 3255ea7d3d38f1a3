//! People sign in at the issuer, and get an access token that they could also have got in another way.
//!
//! Source: RFC 6749, 4.1 (code flow); RFC 7636 (PKCE); RFC 9207 (`iss` of the answer); OpenID Connect Core 1.0, 3.1 (`nonce`); OpenID Connect
//! RP-Initiated Logout 1.0, 2.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use hyper::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::fetch::IssuerAddress;
use crate::config::limits::TOKEN_BYTES_MAX;
use crate::config::{AccessToken, Config, ConsoleSettings};
use base::secret_file;
use certificate::search::link;

/// Random bytes of what nobody shall guess.
const RANDOM_BYTES: usize = 32;

/// Bytes of an answer of the token endpoint: an access token, an ID token and a refresh token, and what stands around them.
const ANSWER_BYTES_MAX: usize = 4 * TOKEN_BYTES_MAX;

/// Bytes of the file with the secret of the client.
const SECRET_BYTES_MAX: u64 = 4 * 1024;

/// Codes that are exchanged at once. Anybody may send one, and each makes the service ask the issuer.
const EXCHANGES_MAX: usize = 16;

/// Characters of an error code of the issuer that are repeated.
const ERROR_CHARACTERS_MAX: usize = 64;

/// A client of the issuer in whose name people sign in.
pub struct SignInClient {
    authorization_endpoint: String,
    token_endpoint: IssuerAddress,
    end_session_endpoint: Option<String>,
    issuer: Option<String>,
    id: String,
    /// Name and secret, where the client has one.
    authorization: Option<HeaderValue>,
    /// Scheme, host and port of the client itself.
    base_url: String,
    /// Where the issuer leads back to.
    redirect_uri: String,
    exchanges: Semaphore,
}

/// One attempt to sign in, kept by the browser until the issuer leads back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInAttempt {
    /// Comes back with the code.
    pub state: String,
    /// Comes back in the ID token.
    pub nonce: String,
    /// Proves that who brings the code began the attempt.
    pub verifier: String,
}

/// What the issuer leads back with.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignInReturn<'r> {
    pub state: &'r str,
    pub code: &'r str,
    /// `error`
    pub error: &'r str,
    /// `iss`, where the issuer tells it.
    pub issuer: &'r str,
}

/// Why nobody is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInFailure {
    /// The issuer leads back to another attempt than this browser began, or not as issuers do.
    Attempt,
    /// The code of an error that the issuer leads back with.
    Refused(String),
    /// The issuer cannot be asked. The cause is for the log.
    Unreachable(String),
    /// The issuer gives no token for the code. The cause is for the log.
    NoToken(String),
    /// Too many sign in at this moment.
    Busy,
}

#[derive(Deserialize)]
struct CodeAnswer {
    access_token: String,
    token_type: String,
    id_token: String,
}

impl fmt::Debug for SignInClient {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("SignInClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SignInClient {
    /// The client of the settings; its own address is `base_url`, and the issuer leads back to `path` below it.
    ///
    /// # Errors
    /// A setting is missing, or one of its files cannot be used; in words.
    pub fn open(config: &Config, base_url: &str, path: &str) -> Result<SignInClient, String> {
        let (token, console) = (&config.access.token, &config.console);
        let AccessToken { authorization_endpoint, token_endpoint, end_session_endpoint, issuer, .. } = token;
        let needed = |name: &str, value: &Option<String>| value.clone().ok_or_else(|| format!("{name} is unset"));
        let id = needed("console.client_id", &console.client_id)?;
        let endpoint = needed("access.token.token_endpoint", token_endpoint)?;
        let token_endpoint = IssuerAddress::new(&endpoint, token.jwks_ca.as_deref());
        Ok(SignInClient {
            authorization_endpoint: needed("access.token.authorization_endpoint", authorization_endpoint)?,
            token_endpoint: token_endpoint.map_err(|problem| format!("access.token.token_endpoint: {problem}"))?,
            end_session_endpoint: end_session_endpoint.clone(),
            issuer: issuer.clone(),
            authorization: secret(console)?.map(|secret| basic(&id, &secret)),
            id,
            base_url: base_url.to_owned(),
            redirect_uri: format!("{base_url}{path}"),
            exchanges: Semaphore::new(EXCHANGES_MAX),
        })
    }

    /// Whether browsers reach the client over TLS.
    pub fn is_secure(&self) -> bool {
        self.base_url.starts_with("https://")
    }

    /// Where a person signs in. `language`: one that they read.
    pub fn address(&self, attempt: &SignInAttempt, language: &str) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, attempt.verifier.as_bytes()));
        let query = link::encode([
            ("response_type", "code"),
            ("scope", "openid"),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect_uri),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("ui_locales", language),
        ]);
        format!("{}?{query}", self.authorization_endpoint)
    }

    /// The access token of whoever signed in. It is not verified yet.
    ///
    /// # Errors
    /// The issuer says no, or this is not the end of that attempt.
    pub async fn complete(
        &self,
        attempt: Option<&SignInAttempt>,
        back: SignInReturn<'_>,
    ) -> Result<String, SignInFailure> {
        let attempt = attempt.filter(|attempt| !back.state.is_empty() && attempt.state == back.state);
        let attempt = attempt.ok_or(SignInFailure::Attempt)?;
        if !back.issuer.is_empty() && self.issuer.as_deref() != Some(back.issuer) {
            return Err(SignInFailure::Attempt);
        }
        if !back.error.is_empty() {
            return Err(SignInFailure::Refused(error_code(back.error)));
        }
        if back.code.is_empty() {
            return Err(SignInFailure::Attempt);
        }
        let _permit = self.exchanges.try_acquire().map_err(|_| SignInFailure::Busy)?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", back.code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &attempt.verifier),
        ];
        if self.authorization.is_none() {
            form.push(("client_id", &self.id));
        }
        let asked = self.token_endpoint.post(link::encode(form), self.authorization.as_ref(), ANSWER_BYTES_MAX).await;
        let (status, body) = asked.map_err(SignInFailure::Unreachable)?;
        if status != 200 {
            let told: Value = serde_json::from_slice(&body).unwrap_or_default();
            let code = error_code(told["error"].as_str().unwrap_or_default());
            let why = format!("the token endpoint answers with status {status} {code}");
            return Err(if status >= 500 { SignInFailure::Unreachable(why) } else { SignInFailure::NoToken(why) });
        }
        let no_token = |why: &str| SignInFailure::NoToken(why.to_owned());
        let answer: CodeAnswer = serde_json::from_slice(&body)
            .map_err(|_| no_token("the token endpoint's answer lacks access_token, token_type or id_token"))?;
        if !answer.token_type.eq_ignore_ascii_case("bearer") {
            return Err(no_token("the token endpoint's token is no bearer token"));
        }
        // It comes from the issuer itself, over a connection that is its own. OpenID Connect Core 1.0, 3.1.3.7, number 6.
        if nonce(&answer.id_token).as_deref() != Some(&attempt.nonce) {
            return Err(no_token("the ID token is of another attempt"));
        }
        Ok(answer.access_token)
    }

    /// Where a person's session at the issuer ends; nothing where the settings do not say. `path`: where the issuer may lead back to.
    pub fn end_session_address(&self, path: &str) -> Option<String> {
        let back = format!("{}{path}", self.base_url);
        let query = link::encode([("client_id", self.id.as_str()), ("post_logout_redirect_uri", &back)]);
        self.end_session_endpoint.as_ref().map(|endpoint| format!("{endpoint}?{query}"))
    }
}

impl SignInAttempt {
    /// A new one. `None`: the system gives no random numbers.
    pub fn begin() -> Option<SignInAttempt> {
        Some(SignInAttempt { state: random()?, nonce: random()?, verifier: random()? })
    }
}

/// # Errors
/// The file of the client's secret cannot be used, in words that do not repeat it.
pub fn check_secret(console: &ConsoleSettings) -> Result<(), String> {
    secret(console).map(drop)
}

fn secret(console: &ConsoleSettings) -> Result<Option<String>, String> {
    let Some(file) = &console.client_secret_file else { return Ok(None) };
    match secret_file::read(file, SECRET_BYTES_MAX) {
        Ok(secret) if secret.is_empty() => Err("it is empty".to_owned()),
        read => read.map(Some),
    }
    .map_err(|problem| format!("console.client_secret_file: {problem}"))
}

/// RFC 6749, 2.3.1: both are encoded as in a form.
fn basic(id: &str, secret: &str) -> HeaderValue {
    let encoded = |text: &str| link::encode([("", text)])[1..].replace(':', "%3A");
    let pair = [encoded(id), encoded(secret)].join(":");
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair)))
        .expect("base64 has letters, digits and signs");
    value.set_sensitive(true);
    value
}

fn random() -> Option<String> {
    let mut bytes = [0; RANDOM_BYTES];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The claim `nonce` of an ID token.
fn nonce(id_token: &str) -> Option<String> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["nonce"].as_str().map(str::to_owned)
}

/// An error code as OAuth has them; what else stands there is not repeated. RFC 6749, 4.1.2.1.
fn error_code(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_lowercase() || *c == '_').take(ERROR_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn client(token_endpoint: &str) -> SignInClient {
        let mut config = Config::default();
        config.console.client_id = Some("hcert-console".to_owned());
        config.access.token.issuer = Some("https://issuer.example.ee".to_owned());
        config.access.token.authorization_endpoint = Some("https://issuer.example.ee/auth".to_owned());
        config.access.token.token_endpoint = Some(token_endpoint.to_owned());
        config.access.token.end_session_endpoint = Some("https://issuer.example.ee/logout".to_owned());
        SignInClient::open(&config, "https://console.example.ee", "/console/signed-in").unwrap()
    }

    fn attempt() -> SignInAttempt {
        SignInAttempt { state: "s".to_owned(), nonce: "n".to_owned(), verifier: "v".to_owned() }
    }

    const BACK: SignInReturn<'_> = SignInReturn { state: "s", code: "c", error: "", issuer: "" };

    /// An issuer that answers one request with a status and a body; gives back its address and what it was sent.
    async fn issuer(status: &str, body: &str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/token", listener.local_addr().unwrap());
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let sent = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut sent = String::new();
            while !sent.contains("\r\n\r\n") || !sent.contains("code_verifier=v") {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.unwrap();
                sent += std::str::from_utf8(&bytes[..count]).unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            sent
        });
        (address, sent)
    }

    fn tokens(nonce: &str) -> String {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(format!("{{\"nonce\":\"{nonce}\"}}"));
        format!("{{\"access_token\":\"a.b.c\",\"token_type\":\"Bearer\",\"id_token\":\"h.{claims}.s\"}}")
    }

    #[test]
    fn a_person_is_led_to_the_issuer_with_a_challenge_and_without_the_verifier() {
        let attempt = SignInAttempt {
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            ..SignInAttempt::begin().unwrap()
        };
        assert_ne!(attempt.state, SignInAttempt::begin().unwrap().state);
        let address = client("http://127.0.0.1:1/").address(&attempt, "et");
        // RFC 7636, appendix B.
        assert!(
            address.contains("code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256")
        );
        assert!(
            address
                .starts_with("https://issuer.example.ee/auth?response_type=code&scope=openid&client_id=hcert-console&")
        );
        assert!(address.contains(&format!("&state={}&nonce={}&", attempt.state, attempt.nonce)), "{address}");
        assert!(!address.contains(&attempt.verifier));
    }

    #[tokio::test]
    async fn the_code_is_exchanged_with_the_verifier_for_the_access_token() {
        let (address, sent) = issuer("200 OK", &tokens("n")).await;
        assert_eq!(client(&address).complete(Some(&attempt()), BACK).await.as_deref(), Ok("a.b.c"));
        let sent = sent.await.unwrap();
        for part in ["grant_type=authorization_code&code=c&", "code_verifier=v", "client_id=hcert-console"] {
            assert!(sent.contains(part), "{sent}");
        }
        assert!(!sent.to_lowercase().contains("authorization: "), "a public client has no secret");
    }

    #[tokio::test]
    async fn what_is_not_the_end_of_this_attempt_asks_the_issuer_nothing() {
        let client = client("http://127.0.0.1:1/token");
        for back in [
            SignInReturn { state: "other", ..BACK },
            SignInReturn { state: "", ..BACK },
            SignInReturn { code: "", ..BACK },
            SignInReturn { issuer: "https://elsewhere.example.ee", ..BACK },
        ] {
            assert_eq!(client.complete(Some(&attempt()), back).await, Err(SignInFailure::Attempt), "{back:?}");
        }
        assert_eq!(client.complete(None, BACK).await, Err(SignInFailure::Attempt));
        let denied = SignInReturn { error: "access_denied<b>", ..BACK };
        assert_eq!(
            client.complete(Some(&attempt()), denied).await,
            Err(SignInFailure::Refused("access_deniedb".to_owned()))
        );
        let unreachable = client.complete(Some(&attempt()), BACK).await;
        assert!(matches!(unreachable, Err(SignInFailure::Unreachable(_))), "{unreachable:?}");
    }

    #[tokio::test]
    async fn without_a_token_of_this_attempt_nobody_is_signed_in() {
        for (status, body, words) in [
            ("200 OK", tokens("other"), "another attempt"),
            ("200 OK", "{}".to_owned(), "lacks access_token"),
            ("200 OK", tokens("n").replace("Bearer", "mac"), "no bearer token"),
            ("400 Bad Request", "{\"error\":\"invalid_grant\"}".to_owned(), "status 400 invalid_grant"),
        ] {
            let (address, _) = issuer(status, &body).await;
            let told = client(&address).complete(Some(&attempt()), BACK).await;
            assert!(matches!(&told, Err(SignInFailure::NoToken(why)) if why.contains(words)), "{told:?}");
        }
        let (address, _) = issuer("503 Service Unavailable", "").await;
        let told = client(&address).complete(Some(&attempt()), BACK).await;
        assert!(matches!(told, Err(SignInFailure::Unreachable(_))), "{told:?}");
    }

    #[test]
    fn the_issuer_ends_the_session_where_the_settings_say() {
        let address = client("http://127.0.0.1:1/").end_session_address("/console/").unwrap();
        let back = "https://console.example.ee/console/";
        assert_eq!(
            address,
            format!("https://issuer.example.ee/logout?client_id=hcert-console&post_logout_redirect_uri={back}")
        );
    }

    #[test]
    fn a_secret_is_sent_as_a_form_would_have_it() {
        let value = basic("a b", "c:d=é");
        assert_eq!(value.to_str().unwrap(), format!("Basic {}", BASE64_STANDARD.encode("a%20b:c%3Ad%3D%C3%A9")));
        assert!(value.is_sensitive());
    }
}
