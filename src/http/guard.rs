//! Developer mode serves this machine and nobody else: not a page of another site that has its name resolve to us, and not whoever
//! stands before a proxy.
//!
//! Source: Contract 7.2.

use std::net::IpAddr;

use hyper::header::HOST;
use hyper::http::request::Parts;

use super::settings::Settings;
use crate::outcome::{Hcert, Issue};

/// # Errors
/// 403 for a `Host` that is neither this machine's nor {base_url}'s, and for any sign of a proxy.
pub fn check(settings: &Settings, parts: &Parts) -> Result<(), Issue> {
    if !settings.guarded {
        return Ok(());
    }
    let stranger = |problem: &str| Err(Issue::new(Hcert::Stranger).with("problem", problem.to_owned()));
    let is_forwarding = |name: &str| name == "forwarded" || name.starts_with("x-forwarded-");
    if parts.headers.keys().any(|name| is_forwarding(name.as_str())) {
        return stranger("the request came through a proxy");
    }
    let named = parts.uri.authority().map(|authority| authority.as_str());
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let own = settings.base_url.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let is_own = |host: &str| is_loopback(host) || own.is_some_and(|own| own.eq_ignore_ascii_case(host));
    match [named, host].into_iter().flatten().all(is_own) {
        true => Ok(()),
        false => stranger("Host names another machine"),
    }
}

/// Whether a host, with or without port, is this machine by any of its names.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.');
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name.len() > 10 && name.get(name.len() - 10..).is_some_and(|end| end.eq_ignore_ascii_case(".localhost"));
    is_name || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::config::Config;

    fn is_let_in(headers: &[(&str, &str)]) -> bool {
        let mut config = Config::default();
        config.server.base_url = Some("http://hcert.test:8080/fhir".to_owned());
        let settings = Settings::new(&config, "127.0.0.1:8080".parse().unwrap()).unwrap();
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
        for name in ["x-forwarded-for", "x-forwarded-host", "forwarded"] {
            assert!(!is_let_in(&[("host", "localhost"), (name, "127.0.0.1")]), "{name}");
        }
    }
}
