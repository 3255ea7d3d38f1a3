//! `hcert dev` serves this machine and nobody else: not a page of another site, whether its name resolves to us or not, and not whoever
//! stands before a proxy or at the other end of a tunnel. Where other machines can reach it, the address holds a secret instead.
//!
//! Source: Contract 7.2.

use hyper::header::{HOST, ORIGIN, VIA};
use hyper::http::request::Parts;
use hyper::{Uri, Version};
use std::net::IpAddr;

use super::settings::HttpSettings;
use fhir::outcome::{Hcert, Issue};

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Marks a request whose address held the secret.
#[derive(Clone, Copy)]
struct SecretInAddress;

/// Takes the secret off the front of a request's path, so that nobody behind this sees it.
pub fn enter(settings: &HttpSettings, parts: &mut Parts) {
    let rest = match parts.uri.path_and_query().map(|asked| asked.as_str().strip_prefix(settings.secret.as_str())) {
        Some(Some(rest)) if !settings.secret.is_empty() && rest.starts_with('/') => rest,
        _ => return,
    };
    let mut uri = parts.uri.clone().into_parts();
    uri.path_and_query = rest.parse().ok();
    if let Ok(uri) = Uri::from_parts(uri) {
        parts.uri = uri;
        parts.extensions.insert(SecretInAddress);
    }
}

/// # Errors
/// 403 without the secret where there is one. Else for a `Host` that is neither this machine's nor {base_url}'s, for any sign of a proxy,
/// and for a page of another origin.
pub fn check(settings: &HttpSettings, parts: &Parts) -> Result<(), Issue> {
    if !settings.is_developer {
        return Ok(());
    }
    let stranger = |problem: &str| Err(Issue::new(Hcert::Stranger).with("problem", problem.to_owned()));
    if !settings.secret.is_empty() {
        return match parts.extensions.get::<SecretInAddress>() {
            Some(SecretInAddress) => Ok(()),
            None => stranger("the address lacks the secret that hcert dev printed at its start"),
        };
    }
    let is_forwarding = |name: &str| name == "forwarded" || name.starts_with("x-forwarded") || name == "x-real-ip";
    if parts.headers.keys().any(|name| is_forwarding(name.as_str()) || *name == VIA) {
        return stranger("the request came through a proxy");
    }
    if parts.version < Version::HTTP_11 {
        return stranger("the request came over HTTP/1.0, as those of proxies do");
    }
    let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
    let mut hosts = parts.headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let host = hosts.next();
    let own = settings.base_url.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let is_own = |host: &str| is_loopback(host) || own.is_some_and(|own| own.eq_ignore_ascii_case(host));
    if !named.into_iter().chain(host).chain(hosts).all(is_own) {
        return stranger("Host names another machine");
    }
    let is_same = |origin: &str| {
        let of = origin.split_once("://").map(|(_, host)| host);
        of.zip(named.or(host)).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
    };
    if parts.headers.get_all(ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(is_same)) {
        return stranger("a page of another origin sent the request");
    }
    if parts.headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "same-origin" && site != "none") {
        return stranger("a page of another origin sent the request");
    }
    Ok(())
}

/// Whether a host, with or without port, is this machine by any of its names.
pub fn is_loopback(host: &str) -> bool {
    let name = host_name(host).trim_end_matches('.');
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name.len() > 10 && name.get(name.len() - 10..).is_some_and(|end| end.eq_ignore_ascii_case(".localhost"));
    is_name || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A host without its port and the brackets of IPv6.
pub fn host_name(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::config::Config;

    fn is_let_in(headers: &[(&str, &str)]) -> bool {
        let mut config = Config::default();
        config.server.base_url = Some("http://hcert.test:8080/fhir".to_owned());
        let settings = HttpSettings::new(&config, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let request =
            headers.iter().fold(Request::get("/fhir/metadata"), |request, (name, value)| request.header(*name, *value));
        check(&settings, &request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn this_machine_is_let_in_by_all_its_names() {
        let hosts = [
            "127.0.0.1",
            "127.9.9.9:80",
            "localhost:8080",
            "LOCALHOST",
            "a.localhost:1",
            "[::1]:8080",
            "hcert.test:8080",
        ];
        for host in hosts {
            assert!(is_let_in(&[("host", host)]), "{host}");
        }
    }

    #[test]
    fn strangers_are_kept_out() {
        for host in
            ["evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.nip.io", "hcert.test:81", "xlocalhost"]
        {
            assert!(!is_let_in(&[("host", host)]), "{host}");
        }
        for name in ["x-forwarded-for", "x-forwarded-host", "forwarded", "x-forwarded", "via", "x-real-ip"] {
            assert!(!is_let_in(&[("host", "localhost"), (name, "127.0.0.1")]), "{name}");
        }
    }
    #[test]
    fn pages_of_other_origins_and_old_http_are_kept_out() {
        for (name, value, is_let) in [
            ("origin", "http://localhost:8080", true),
            ("origin", "http://localhost:3000", false),
            ("origin", "https://evil.example", false),
            ("origin", "null", false),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "cross-site", false),
        ] {
            assert_eq!(is_let_in(&[("host", "localhost:8080"), (name, value)]), is_let, "{name}: {value}");
        }
        let page = ("sec-fetch-site", "cross-site");
        assert!(!is_let_in(&[("host", "localhost:8080"), ("sec-fetch-site", "none"), page]));
        assert!(!is_let_in(&[("host", "localhost:8080"), ("host", "evil.example")]));
        let settings = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        let old =
            Request::get("/fhir/metadata").version(Version::HTTP_10).header("host", "localhost").body(()).unwrap();
        assert!(check(&settings, &old.into_parts().0).is_err());
    }

    #[test]
    fn where_others_can_come_the_address_holds_the_secret() {
        let settings =
            HttpSettings::new(&Config::default(), "0.0.0.0:8080".parse().unwrap()).unwrap().with_secret("abc");
        assert_eq!(&*settings.base_url, "http://127.0.0.1:8080/abc/fhir");
        for (path, is_let, rest) in [
            ("/abc/fhir/Composition?_count=0", true, "/fhir/Composition?_count=0"),
            ("/abc/", true, "/"),
            ("/abc", false, "/abc"),
            ("/abcd/fhir", false, "/abcd/fhir"),
            ("/fhir/metadata", false, "/fhir/metadata"),
            ("/fhir/abc/metadata", false, "/fhir/abc/metadata"),
        ] {
            let request = Request::get(path).header("x-forwarded-for", "192.0.2.1").body(()).unwrap();
            let mut parts = request.into_parts().0;
            enter(&settings, &mut parts);
            assert_eq!((check(&settings, &parts).is_ok(), parts.uri.to_string()), (is_let, rest.to_owned()), "{path}");
        }
    }
}
