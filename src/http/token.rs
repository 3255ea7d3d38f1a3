//! The developer's token service and its public key: plain JSON beside the FHIR API. Contract 7.1.

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response};
use serde_json::json;

use super::answer_form::AnswerForm;
use super::body::{BodyAllocator, linger, receive};
use super::quality::members;
use super::settings::HttpSettings;
use super::{message, respond};
use crate::access::Tokens;
use crate::access::token::TokenRequest;
use base::log::RefusalReason;
use base::log::event;
use fhir::outcome::{Hcert, Language, Outcome};

/// Bytes of a body of the token service. The largest published one has some 400.
const TOKEN_ORDER_BYTES_MAX: usize = 16 * 1024;

/// What refuses a request: status, and RFC 6749's code and words.
#[derive(Clone)]
struct TokenRefusal {
    status: u16,
    error: &'static str,
    description: String,
}

impl TokenRefusal {
    fn new(status: u16, error: &'static str, description: impl Into<String>) -> TokenRefusal {
        TokenRefusal { status, error, description: description.into() }
    }
}

/// What the token service answers, and the order that it could read.
pub(super) struct TokenAnswer {
    pub response: Response<Full<Bytes>>,
    pub request: Option<TokenRequest>,
}

/// Gives out a token.
pub(super) async fn issue<B>(
    tokens: &Tokens,
    settings: &HttpSettings,
    allocator: BodyAllocator<'_>,
    parts: &Parts,
    body: B,
    wanted: &AnswerForm,
) -> TokenAnswer
where
    B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
{
    if parts.method != Method::POST {
        return TokenAnswer { response: other_method(parts, "POST, OPTIONS", wanted), request: None };
    }
    let request = ordered(settings, allocator, &parts.headers, body).await;
    let issued = match &request {
        Ok(request) => issued(tokens, request).await,
        Err(refusal) => Err(refusal.clone()),
    };
    let response = match issued {
        Ok(answer) => respond::json(200, answer, wanted),
        Err(TokenRefusal { status, error, description }) => {
            let told = json!({"error": error, "error_description": description}).to_string();
            let mut response = respond::json(status, told, wanted);
            response.extensions_mut().insert(RefusalReason { code: error.to_owned(), id: None, cause: None });
            response
        }
    };
    TokenAnswer { response, request: request.ok() }
}

/// A JSON document that is only read.
pub(super) fn document(json: String, parts: &Parts, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    match parts.method {
        Method::GET | Method::HEAD => respond::json(200, json, wanted),
        _ => other_method(parts, "GET, HEAD, OPTIONS", wanted),
    }
}

/// The public key as a JWK set.
pub(super) async fn keys(tokens: &Tokens, parts: &Parts, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return other_method(parts, "GET, HEAD, OPTIONS", wanted);
    }
    match tokens.jwks().await {
        Ok(Some(jwks)) => respond::json(200, jwks, wanted),
        // Nobody comes here where no tokens are given out.
        Ok(None) => respond::json(404, json!({"error": "invalid_request"}).to_string(), wanted),
        Err(cause) => {
            let cause = cause.as_str();
            event!(KEY_UNAVAILABLE, cause);
            respond::json(500, json!({"error": "server_error"}).to_string(), wanted)
        }
    }
}

/// Reads what is ordered.
async fn ordered<B>(
    settings: &HttpSettings,
    allocator: BodyAllocator<'_>,
    headers: &HeaderMap,
    mut body: B,
) -> Result<TokenRequest, TokenRefusal>
where
    B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
{
    if !is_json(headers) {
        tokio::spawn(linger(body));
        return Err(TokenRefusal::new(
            415,
            "invalid_request",
            "the body must be application/json, without Content-Encoding",
        ));
    }
    let length = message::length(headers).map_err(|issue| refused(&issue.into()))?;
    let received = match receive(&mut body, length, TOKEN_ORDER_BYTES_MAX, settings.body_timeout(), &allocator).await {
        Ok(received) => received,
        Err(outcome) => {
            if outcome.leading() != Hcert::BodyTimeout {
                tokio::spawn(linger(body));
            }
            return Err(refused(&outcome));
        }
    };
    TokenRequest::read(&received.bytes).map_err(|wrong| TokenRefusal::new(400, "invalid_request", wrong.0))
}

async fn issued(tokens: &Tokens, request: &TokenRequest) -> Result<String, TokenRefusal> {
    match tokens.issue(request).await {
        Ok(Some(issued)) => {
            let mut told = json!({"accessToken": issued.token, "expiresIn": issued.expires_in, "tokenType": "Bearer"});
            // Decision 208. The log names no role: it is a text of the caller's.
            if let Some(warning) = tokens.unknown_role(&request.role) {
                event!(TOKEN_ROLE_UNKNOWN);
                told["warning"] = warning.into();
            }
            Ok(told.to_string())
        }
        Ok(None) => Err(TokenRefusal::new(404, "invalid_request", "tokens are given out in developer mode alone")),
        Err(cause) => {
            let cause = cause.as_str();
            event!(TOKEN_NOT_ISSUED, cause);
            Err(TokenRefusal::new(500, "server_error", "the developer's key could not be made"))
        }
    }
}

/// What every request's body may be refused for.
fn refused(outcome: &Outcome) -> TokenRefusal {
    let words: Vec<String> = outcome.issues().iter().map(|issue| issue.text(Language::English)).collect();
    let error = if outcome.status() < 500 { "invalid_request" } else { "temporarily_unavailable" };
    TokenRefusal::new(outcome.status(), error, words.join("; "))
}

/// 204 for OPTIONS, 405 for the rest.
fn other_method(parts: &Parts, allowed: &'static str, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    let mut response = match parts.method == Method::OPTIONS {
        true => respond::json(204, String::new(), wanted),
        false => {
            let description = format!("allowed are {allowed}");
            let told = json!({"error": "invalid_request", "error_description": description}).to_string();
            respond::json(405, told, wanted)
        }
    };
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Whether the body is said to be JSON in UTF-8, or nothing is said of it.
fn is_json(headers: &HeaderMap) -> bool {
    if !members(headers, &CONTENT_ENCODING).all(|coding| coding.name.eq_ignore_ascii_case("identity")) {
        return false;
    }
    let mut values = headers.get_all(CONTENT_TYPE).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else { return !headers.contains_key(CONTENT_TYPE) };
    let Ok(text) = value.to_str() else { return false };
    let (name, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_utf8 = |parameter: &str| match parameter.trim().split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    name.trim().eq_ignore_ascii_case("application/json") && parameters.split(';').all(is_utf8)
}
