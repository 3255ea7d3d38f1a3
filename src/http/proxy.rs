//! `{base_url}` as a caller sees it. Only proxies that are named in the settings may say where a request was sent to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::Version;
use hyper::header::{HOST, HeaderName};
use hyper::http::request::Parts;

use super::header;
use super::settings::HttpSettings;
use fhir::outcome::{Hcert, Issue};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// The base address for the links of one answer; nothing where that of the settings holds. `base_path` is the way the request came by:
/// the setting's, or one of X-Road.
///
/// Of several values in a header the last counts: it is what the trusted proxy itself saw. Without a scheme from the proxy that of
/// the setting holds.
///
/// # Errors
/// A trusted proxy names a host, scheme or prefix that cannot stand in an address.
///
/// Source: Contract 1.2.
pub(super) fn base_url(
    settings: &HttpSettings,
    parts: &Parts,
    peer: Option<IpAddr>,
    base_path: &str,
) -> Result<Option<Arc<str>>, Issue> {
    let of_setting = || match base_path == settings.base_path {
        true => None,
        false => Some((settings.root() + base_path).into()),
    };
    if !is_trusted(settings, peer) {
        return Ok(of_setting());
    }
    let named = match last(parts, &FORWARDED_HOST, is_host)? {
        Some(host) => Some(host),
        None => match parts.uri.authority() {
            Some(authority) => Some(authority.as_str().to_owned()).filter(|host| is_host(host)),
            None => last(parts, &HOST, is_host)?,
        },
    };
    let Some(host) = named else { return Ok(of_setting()) };
    let scheme = match last(parts, &FORWARDED_PROTO, |text| matches!(text, "http" | "https"))? {
        Some(scheme) => scheme,
        None => settings.base_url.split(':').next().unwrap_or("http").to_owned(),
    };
    let prefix = last(parts, &FORWARDED_PREFIX, is_prefix)?.unwrap_or_default();
    Ok(Some(format!("{scheme}://{host}{}{}", prefix.trim_end_matches('/'), base_path).into()))
}

/// Whether a proxy that is believed says that it was spoken to over TLS.
pub(super) fn is_secure(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> bool {
    parts.headers.contains_key(FORWARDED_PROTO)
        && is_trusted(settings, peer)
        && last(parts, &FORWARDED_PROTO, |_| true).is_ok_and(|scheme| scheme.as_deref() == Some("https"))
}

/// The address that bounds on clients count: the peer's, or that which a trusted proxy forwards for. Nothing for this machine itself, and
/// for a proxy that does not say.
pub(super) fn client(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> Option<IpAddr> {
    match is_trusted(settings, peer) {
        true => forwarded(parts),
        false => peer.filter(|peer| settings.is_counted(*peer)),
    }
}

/// The address that a request was sent from, whether or not it is counted: the peer's, or that which a trusted proxy forwards for.
/// Nothing where that proxy names one that cannot be read.
pub(super) fn sender(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> Option<IpAddr> {
    match is_trusted(settings, peer) && parts.headers.contains_key(FORWARDED_FOR) {
        true => forwarded(parts),
        false => peer,
    }
}

/// The address that the log shows: the sender's, else the peer's.
pub(super) fn logged(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> Option<IpAddr> {
    sender(settings, parts, peer).or(peer).map(|address| address.to_canonical())
}

fn forwarded(parts: &Parts) -> Option<IpAddr> {
    let forwarded = last(parts, &FORWARDED_FOR, |_| true).ok().flatten()?;
    // Some write the port too: 192.0.2.1:4711, [2001:db8::1]:4711.
    let address = forwarded.parse().ok();
    address.or_else(|| forwarded.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn is_trusted(settings: &HttpSettings, peer: Option<IpAddr>) -> bool {
    peer.is_some_and(|peer| settings.trusted_proxies.iter().any(|proxy| proxy.contains(peer)))
}

/// HTTP/1.1 asks for exactly one Host, and a server that is not asked so must refuse (RFC 9112, 3.2): two of them are how requests
/// are smuggled past a proxy that looks at the other one.
pub(super) fn check_host(parts: &Parts) -> Result<(), Issue> {
    let mut hosts = parts.headers.get_all(HOST).into_iter();
    let right = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.is_empty() || host.to_str().is_ok_and(is_host),
        (None, _) => parts.version != Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    let issue = || Issue::new(Hcert::HttpMalformed).with("problem", "exactly one header Host must name this server");
    right.then_some(()).ok_or_else(issue)
}

fn last(parts: &Parts, name: &HeaderName, allowed: impl Fn(&str) -> bool) -> Result<Option<String>, Issue> {
    if !parts.headers.contains_key(name) {
        return Ok(None);
    }
    let text = header::joined(&parts.headers, name)?;
    let value = text.rsplit(',').next().unwrap_or_default().trim();
    if allowed(value) { Ok(Some(value.to_owned())) } else { Err(header::wrong(name, &text)) }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

fn is_prefix(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    text.is_empty() || (text.starts_with('/') && !text.starts_with("//") && text.bytes().all(plain))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::config::Config;

    fn seen(peer: &str, headers: &[(&str, &str)]) -> Result<String, Issue> {
        let mut settings = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let mut request = Request::get("/fhir/metadata");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        let named = base_url(&settings, &parts, Some(peer.parse().unwrap()), "/fhir")?;
        Ok(named.unwrap_or(settings.base_url).to_string())
    }

    #[test]
    fn one_host_must_be_named_and_no_more() {
        let check = |version: Version, hosts: &[&str]| {
            let request = Request::get("/fhir/metadata").version(version);
            let request = hosts.iter().fold(request, |request, host| request.header(HOST, *host));
            check_host(&request.body(()).unwrap().into_parts().0).is_ok()
        };
        for host in ["hcert.example.ee", "127.0.0.1:8080", "[::1]:8080", ""] {
            assert!(check(Version::HTTP_11, &[host]), "{host}");
        }
        for hosts in [&[][..], &["a", "a"], &["a", "b"], &["a/b"], &["a, b"], &["a@b"]] {
            assert!(!check(Version::HTTP_11, hosts), "{hosts:?}");
        }
        assert!(check(Version::HTTP_10, &[]) && check(Version::HTTP_2, &[]));
        assert!(!check(Version::HTTP_10, &["a", "b"]) && !check(Version::HTTP_2, &["a", "b"]));
    }

    #[test]
    fn bounds_and_log_name_the_client_that_the_trusted_proxy_forwards_for() {
        let mut settings = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        for (peer, forwarded, counted, shown) in [
            ("192.0.2.1", None, Some("192.0.2.1"), "192.0.2.1"),
            // Anybody may claim that.
            ("192.0.2.1", Some("192.0.2.9"), Some("192.0.2.1"), "192.0.2.1"),
            ("127.0.0.1", None, None, "127.0.0.1"),
            ("10.0.0.1", None, None, "10.0.0.1"),
            ("10.0.0.1", Some("198.51.100.1, 192.0.2.9"), Some("192.0.2.9"), "192.0.2.9"),
            ("10.0.0.1", Some("192.0.2.9:4711"), Some("192.0.2.9"), "192.0.2.9"),
            ("10.0.0.1", Some("[2001:db8::1]:4711"), Some("2001:db8::1"), "2001:db8::1"),
            ("10.0.0.1", Some("unknown"), None, "10.0.0.1"),
            ("::ffff:192.0.2.1", None, Some("::ffff:192.0.2.1"), "192.0.2.1"),
        ] {
            let request = Request::get("/fhir/metadata");
            let request = forwarded.into_iter().fold(request, |request, value| request.header(FORWARDED_FOR, value));
            let parts = request.body(()).unwrap().into_parts().0;
            let peer = Some(peer.parse().unwrap());
            let text = |address: Option<IpAddr>| address.map(|address| address.to_string());
            assert_eq!(text(client(&settings, &parts, peer)).as_deref(), counted, "{peer:?} {forwarded:?}");
            assert_eq!(text(logged(&settings, &parts, peer)).as_deref(), Some(shown), "{peer:?} {forwarded:?}");
        }
    }

    #[test]
    fn a_stranger_cannot_say_where_we_are() {
        let headers = [("host", "evil.example"), ("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "https")];
        assert_eq!(seen("127.0.0.1", &headers).unwrap(), "http://127.0.0.1:8080/fhir");
    }

    #[test]
    fn a_trusted_proxy_says_where_the_request_was_sent() {
        let full = [
            ("host", "inner:8080"),
            ("x-forwarded-host", "spoofed.example, hcert.example.ee"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-prefix", "/tervis/"),
        ];
        assert_eq!(seen("10.1.1.1", &full).unwrap(), "https://hcert.example.ee/tervis/fhir");
        assert_eq!(seen("10.1.1.1", &full[..1]).unwrap(), "http://inner:8080/fhir");
        assert_eq!(seen("10.1.1.1", &[]).unwrap(), "http://127.0.0.1:8080/fhir");
    }

    #[test]
    fn what_cannot_stand_in_an_address_is_refused_even_from_a_trusted_proxy() {
        for (name, value) in [
            ("x-forwarded-host", "a/b"),
            ("x-forwarded-host", ""),
            ("x-forwarded-host", "user@host"),
            ("host", "a\"b"),
            ("x-forwarded-proto", "ftp"),
            ("x-forwarded-prefix", "tervis"),
            ("x-forwarded-prefix", "//evil.example"),
            ("x-forwarded-prefix", "/a?b"),
        ] {
            assert!(seen("10.1.1.1", &[("host", "inner"), (name, value)]).is_err(), "{name}: {value}");
        }
    }
}
