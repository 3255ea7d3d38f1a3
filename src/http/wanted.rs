//! How the caller wants the answer: read before anything can fail, so that refusals come in that form too.

use hyper::Method;
use hyper::header::{ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderMap, HeaderName};
use uuid::Uuid;

use super::media::Media;
use super::quality::members;
use crate::limits::REQUEST_ID_CHARACTERS_MAX;
use crate::outcome::Language;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The form of one answer.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub request_id: String,
    pub language: Language,
    pub media: Media,
    /// `_pretty=true`
    pub pretty: bool,
    pub gzip: bool,
    /// HEAD: everything but the body.
    pub head: bool,
}

impl Wanted {
    /// Reads what never fails; `media` and `pretty` come out of the query and are set by the caller.
    pub fn new(method: &Method, headers: &HeaderMap) -> Self {
        Wanted {
            request_id: request_id(headers),
            language: language(headers),
            media: Media::default(),
            pretty: false,
            gzip: gzip(headers),
            head: method == Method::HEAD,
        }
    }
}

/// `X-Request-Id`, taken over if it is short and visible, else made. Contract 2.4.
fn request_id(headers: &HeaderMap) -> String {
    let visible = |text: &&str| {
        (1..=REQUEST_ID_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(visible);
    given.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// Estonian if `Accept-Language` prefers it to English; of equals the first named. Contract 5.3.
fn language(headers: &HeaderMap) -> Language {
    let mut best = (0, Language::English);
    for member in members(headers, &ACCEPT_LANGUAGE) {
        let language = match member.name.split('-').next() {
            Some(name) if name.eq_ignore_ascii_case("et") => Language::Estonian,
            Some(name) if name.eq_ignore_ascii_case("en") => Language::English,
            _ => continue,
        };
        if member.weight > best.0 {
            best = (member.weight, language);
        }
    }
    best.1
}

/// Whether `Accept-Encoding` allows gzip. RFC 9110, 12.5.3.
fn gzip(headers: &HeaderMap) -> bool {
    let weight = |name: &str| {
        members(headers, &ACCEPT_ENCODING)
            .find(|member| member.name.eq_ignore_ascii_case(name))
            .map(|found| found.weight)
    };
    weight("gzip").or_else(|| weight("*")).is_some_and(|weight| weight > 0)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn wanted(name: HeaderName, value: &str) -> Wanted {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())]);
        Wanted::new(&Method::GET, &headers)
    }

    #[test]
    fn a_usable_request_id_is_taken_over() {
        let long = "x".repeat(128);
        for id in ["1", "a/b:c=", "4c9e6f0e-1", &long] {
            assert_eq!(wanted(REQUEST_ID, id).request_id, id);
        }
        let longer = "x".repeat(129);
        for id in ["", "a b", "õ", &longer] {
            let made = wanted(REQUEST_ID, id).request_id;
            assert_ne!(made, id);
            assert!(Uuid::parse_str(&made).is_ok());
        }
    }

    #[test]
    fn estonian_is_spoken_to_those_who_prefer_it() {
        for (value, language) in [
            ("et", Language::Estonian),
            ("ET-ee, en;q=0.9", Language::Estonian),
            ("et, en", Language::Estonian),
            ("en, et", Language::English),
            ("en;q=0.5, et;q=0.8", Language::Estonian),
            ("et;q=0", Language::English),
            ("ru, et;q=0.1", Language::Estonian),
            ("eth", Language::English),
            ("*", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(wanted(ACCEPT_LANGUAGE, value).language, language, "{value}");
        }
    }

    #[test]
    fn gzip_is_used_only_where_it_is_allowed() {
        for (value, allowed) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.1", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip;q=0, *", false),
            ("*;q=0", false),
            ("br", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(wanted(ACCEPT_ENCODING, value).gzip, allowed, "{value}");
        }
    }
}
