//! Pages for people: what a browser asks for below [`PAGES_PATH`] goes to whoever makes pages, who asks the API as every client does, by the
//! whole way of a request. So rights, consent, rules, audit trail and log are those of the API (Decision 350).

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use super::query::Pair;
use crate::interaction::BrokenAnswer;

/// Where pages begin; `/` leads there.
pub const PAGES_PATH: &str = "/console";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a boxed future gives.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes pages.
pub trait PageMaker: Debug + Send + Sync + 'static {
    /// Answers one request of a browser. `api` asks the API in its name.
    fn answer(&self, request: PageRequest, api: Arc<dyn Api>) -> Soon<'_, PageAnswer>;
}

/// Asks the API as a client does.
pub trait Api: Send + Sync {
    fn ask(&self, request: ApiRequest) -> Soon<'_, ApiAnswer>;
}

/// What a browser asks for.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// Whether it may change something: POST.
    pub is_form: bool,
    /// Below [`PAGES_PATH`], decoded, with its slash.
    pub path: String,
    pub query: Vec<Pair>,
    pub form: Vec<Pair>,
    /// `Cookie`
    pub cookies: String,
    /// `Accept-Language`
    pub languages: String,
    /// What stands before every path of this server: the secret of `hcert dev` with its slash, or nothing.
    pub root: String,
    /// Where FHIR begins, such as `/fhir`.
    pub base_path: String,
    /// `{base_url}` for those who ask from outside.
    pub base_url: Arc<str>,
    /// Over TLS.
    pub is_secure: bool,
    /// Whether a page of another site led here, so that the browser kept cookies back that are for this one alone.
    pub is_from_elsewhere: bool,
}

/// A page, a file that it loads, or the way to another page.
#[derive(Clone, Debug)]
pub struct PageAnswer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Bytes,
    /// Where to go on: after a form, 303.
    pub location: Option<String>,
    /// `Set-Cookie`, each
    pub cookies: Vec<String>,
    /// Whether its address names its content, so that browsers may keep it.
    pub is_lasting: bool,
}

/// A request to the API.
#[derive(Clone, Debug, Default)]
pub struct ApiRequest {
    pub method: String,
    /// Path from the root of the server, and the query: `/fhir/Composition/1`.
    pub target: String,
    /// `Authorization` too.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What the API answers.
#[derive(Clone, Debug, Default)]
pub struct ApiAnswer {
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// A fault spoiled the answer; `status` is that of a gateway that gets such a one.
    pub broken: Option<BrokenAnswer>,
}

/// Whether a request is one of a person before a browser: of a page or its files, or of the root where a browser begins.
pub(super) fn is_for_person(parts: &Parts) -> bool {
    let path = parts.uri.path();
    let below = path.strip_prefix(PAGES_PATH);
    let is_page = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let accepts = || parts.headers.get(ACCEPT).is_some_and(|accept| contains(accept.as_bytes(), b"text/html"));
    is_page || path == "/" && matches!(parts.method, Method::GET | Method::HEAD) && accepts()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether a form was sent by a page of this origin, as the browser says. One that says nothing names its origin at least.
pub(super) fn is_of_own_page(parts: &Parts) -> bool {
    let text = |name: &HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match (text(&SEC_FETCH_SITE), text(&ORIGIN)) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => {
            let host = parts.uri.authority().map(hyper::http::uri::Authority::as_str).or_else(|| text(&HOST));
            origin.split_once("://").map(|(_, origin)| origin).zip(host).is_some_and(|(one, other)| one == other)
        }
        (None, None) => false,
    }
}

/// Whether a page of another site led here, as the browser says.
pub(super) fn is_from_elsewhere(parts: &Parts) -> bool {
    parts.headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site" || site == "same-site")
}

impl PageAnswer {
    pub fn html(status: u16, html: String) -> PageAnswer {
        PageAnswer {
            status,
            content_type: "text/html; charset=utf-8",
            body: html.into(),
            location: None,
            cookies: Vec::new(),
            is_lasting: false,
        }
    }

    /// The way to another page.
    pub fn go_on(location: String) -> PageAnswer {
        PageAnswer { location: Some(location), ..PageAnswer::html(StatusCode::SEE_OTHER.as_u16(), String::new()) }
    }
}

impl ApiAnswer {
    /// A header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl ApiRequest {
    /// As the bearer of a token.
    #[must_use]
    pub fn bearing(mut self, token: &str) -> ApiRequest {
        self.headers.push((AUTHORIZATION.as_str().to_owned(), format!("Bearer {token}")));
        self
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
        let built = headers
            .iter()
            .fold(Request::builder().method(method).uri(path), |built, (name, value)| built.header(*name, *value));
        built.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_browsers_are_shown_pages_at_the_root() {
        let html = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        for (method, path, headers, is_page) in [
            ("GET", "/", &html[..], true),
            ("GET", "/", &[("accept", "*/*")], false),
            ("GET", "/", &[], false),
            ("POST", "/", &html, false),
            ("GET", "/fhir/Composition/1", &html, false),
            ("GET", "/console", &[], true),
            ("POST", "/console/certificates", &[], true),
            ("GET", "/consoles", &html, false),
        ] {
            assert_eq!(is_for_person(&parts(method, path, headers)), is_page, "{method} {path}");
        }
    }

    #[test]
    fn a_form_is_taken_from_pages_of_this_origin_alone() {
        for (headers, is_own) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "http://a:1"), ("host", "a:1")], false),
            (&[("origin", "http://a:1"), ("host", "a:1")], true),
            (&[("origin", "http://b:1"), ("host", "a:1")], false),
            (&[("origin", "null"), ("host", "a:1")], false),
            (&[], false),
        ] {
            assert_eq!(is_of_own_page(&parts("POST", "/console/x", headers)), is_own, "{headers:?}");
        }
    }
}
