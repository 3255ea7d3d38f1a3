//! Headers that keep browsers from doing with an answer what nobody asked for. Every answer has them; they cost no memory of their own.

use std::net::IpAddr;

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;

use super::proxy;
use super::settings::HttpSettings;

/// Seconds for which browsers may remember that the service speaks TLS only: a year, as is usual.
const HSTS_S: u32 = 31_536_000;

/// Name and value of each. Nothing of an answer is a page: it loads nothing, runs nothing, and stands in no frame.
const ALWAYS: [(HeaderName, HeaderValue); 4] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

/// Headers of an answer as most have them: those of FHIR, ours, and room for two more.
pub(super) const HEADERS_USUAL: usize = 12;

/// Adds what is missing. `secure`: the caller speaks TLS, with us or with a proxy in front.
pub(super) fn protect(headers: &mut HeaderMap, secure: bool) {
    for (name, value) in ALWAYS {
        headers.insert(name, value);
    }
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if secure {
        const { assert!(HSTS_S == 31_536_000, "the text below says the same") };
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

/// Whether the caller speaks TLS.
pub(super) fn is_secure(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> bool {
    settings.tls.is_some() || proxy::is_secure(settings, parts, peer)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::http::tests::settings;

    #[test]
    fn an_answer_without_headers_gets_all_of_them() {
        let mut headers = HeaderMap::new();
        protect(&mut headers, false);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(headers[name], value);
        }
        assert_eq!(headers.len(), 5);
        protect(&mut headers, true);
        assert_eq!(headers["strict-transport-security"], "max-age=31536000");
    }

    #[test]
    fn only_a_trusted_proxy_says_that_tls_is_spoken() {
        let mut settings = settings();
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let is_secure = |peer: &str, proto: &str| {
            let request = Request::get("/fhir/metadata").header("x-forwarded-proto", proto).body(()).unwrap();
            super::is_secure(&settings, &request.into_parts().0, Some(peer.parse().unwrap()))
        };
        assert!(is_secure("10.0.0.1", "https") && is_secure("10.0.0.1", "http, https"));
        assert!(!is_secure("10.0.0.1", "http") && !is_secure("10.0.0.1", "https, http"));
        assert!(!is_secure("192.0.2.1", "https"));
    }
}
