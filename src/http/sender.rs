//! Who sends a request: whether X-Road's headers are accepted from there, and whom the request is counted for. Contract 1.4.

use std::net::IpAddr;

use aws_lc_rs::digest::{Context, SHA256};
use hyper::header::HeaderName;
use hyper::http::request::Parts;

use super::clients::CountedFor;
use super::forwarded_headers::{AUTHOR_ID, CLIENT, ID, ISSUE, USERID};
use super::proxy;
use super::query::decode;
use super::settings::HttpSettings;
use crate::config::{XRoadSender, XRoadSettings};
use crate::turns::ClientKey;

/// Marks a request of a connection whose client certificate `x_road.from` names.
#[derive(Clone, Copy)]
pub(super) struct HasClientCertificate;

/// Marks a request whose sender is trusted to set the headers of X-Road.
#[derive(Clone, Copy)]
struct TrustedSender;

/// Marks a request whose headers of X-Road were dropped: their names, for the audit trail.
#[derive(Clone)]
pub(super) struct DroppedHeaders(pub String);

/// Whether `x_road.from` names the certificate that a client showed in its handshake, by the SHA-256 of its DER.
pub(super) fn is_certified(x_road: &XRoadSettings, certificate: Option<&[u8; 32]>) -> bool {
    let named = x_road.from.iter().flatten();
    certificate.is_some_and(|shown| named.into_iter().any(|sender| *sender == XRoadSender::Certificate(*shown)))
}

/// Drops the headers of X-Road, unless the sender is trusted to set them. Whatever reads headers comes after this, so none of it
/// sees a claim of another sender. Returns whether there were any. Decision 190.
///
/// Where the setting `x_road.from` is absent, every sender may set them, and none is trusted to name clients. Decision 189.
pub(super) fn drop_claims(settings: &HttpSettings, parts: &mut Parts, peer: Option<IpAddr>) -> bool {
    let Some(trusted) = &settings.x_road.from else { return false };
    let address = proxy::sender(settings, parts, peer);
    let is_named = |sender: &XRoadSender| match sender {
        XRoadSender::Network(network) => address.is_some_and(|address| network.contains(address)),
        XRoadSender::Certificate(_) => parts.extensions.get::<HasClientCertificate>().is_some(),
    };
    if trusted.iter().any(is_named) {
        parts.extensions.insert(TrustedSender);
        return false;
    }
    let claims: Vec<HeaderName> = parts.headers.keys().filter(|name| is_claim(name)).cloned().collect();
    if claims.is_empty() {
        return false;
    }
    for name in &claims {
        parts.headers.remove(name);
    }
    // The names of X-Road's other headers are the sender's choice, so they are not repeated.
    let known = [CLIENT, ID, ISSUE, USERID, AUTHOR_ID].into_iter().filter(|name| claims.contains(name));
    let mut names: Vec<String> = known.map(|name| name.to_string()).collect();
    if names.len() < claims.len() {
        names.push("others".to_owned());
    }
    parts.extensions.insert(DroppedHeaders(names.join(", ")));
    true
}

fn is_claim(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-road-") || *name == AUTHOR_ID
}

/// Whom the bounds on clients count a request for: the client that a trusted sender names, else an address. `None`: the request is
/// not counted, as those of this machine itself.
pub(super) fn counted_for(settings: &HttpSettings, parts: &Parts, peer: Option<IpAddr>) -> Option<CountedFor> {
    if parts.extensions.get::<TrustedSender>().is_some()
        && let Some(client) = x_road_client(parts)
    {
        let sender = proxy::sender(settings, parts, peer).map(ClientKey::sender);
        return Some(CountedFor { client, sender });
    }
    let address = proxy::client(settings, parts, peer)?;
    Some(CountedFor { client: ClientKey::address(address), sender: None })
}

/// The client that `x-road-client` names: instance, member class, member code and mostly subsystem. All spellings of one identity
/// are one client, so that no client gets several shares by writing `%45E` or `ee` for `EE`. Only a digest is kept, so that long
/// names cost nothing. Decision 191.
fn x_road_client(parts: &Parts) -> Option<ClientKey> {
    let mut values = parts.headers.get_all(CLIENT).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let text = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    let mut identity = Context::new(&SHA256);
    let mut count = 0;
    for part in text.split('/') {
        let name = decode(part, false)?.trim().to_lowercase();
        if name.is_empty() {
            return None;
        }
        identity.update(&(name.len() as u64).to_le_bytes());
        identity.update(name.as_bytes());
        count += 1;
    }
    (3..=4).contains(&count).then(|| ClientKey::x_road(identity.finish().as_ref()))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::config::Config;

    const SERVER: &str = "10.1.1.1";

    fn settings(from: &[&str]) -> HttpSettings {
        let mut config = Config::default();
        config.x_road.from = Some(from.iter().map(|sender| sender.parse().unwrap()).collect());
        HttpSettings::new(&config, "127.0.0.1:8080".parse().unwrap()).unwrap()
    }

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let request =
            headers.iter().fold(Request::get("/fhir/metadata"), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    const CLAIMS: [(&str, &str); 4] =
        [("x-road-client", "ee/COM/1/a"), ("x-road-service", "s"), ("x-author-id", "EE1"), ("accept", "x")];

    /// Headers that stay of all claims, and the names of those that were dropped.
    fn left(settings: &HttpSettings, mut parts: Parts, peer: &str) -> (usize, Option<String>) {
        let dropped = drop_claims(settings, &mut parts, Some(peer.parse().unwrap()));
        let names = parts.extensions.get::<DroppedHeaders>().map(|dropped| dropped.0.clone());
        assert_eq!(dropped, names.is_some());
        (parts.headers.len(), names)
    }

    #[test]
    fn claims_of_a_trusted_sender_stay_and_all_others_are_dropped() {
        let names = Some("x-road-client, x-author-id, others".to_owned());
        let by_address = settings(&["10.1.1.0/24"]);
        assert_eq!(left(&by_address, parts(&CLAIMS), SERVER), (4, None));
        assert_eq!(left(&by_address, parts(&CLAIMS), "::ffff:10.1.1.7"), (4, None));
        for other in ["10.1.2.1", "127.0.0.1", "::1"] {
            assert_eq!(left(&by_address, parts(&CLAIMS), other), (1, names.clone()));
            assert_eq!(left(&by_address, parts(&CLAIMS[3..]), other), (1, None));
        }
        assert_eq!(left(&settings(&[]), parts(&CLAIMS), SERVER), (1, names.clone()), "an empty list trusts nobody");
        let by_certificate = settings(&[&"ab".repeat(32)]);
        assert_eq!(left(&by_certificate, parts(&CLAIMS), SERVER), (1, names));
        let mut certified = parts(&CLAIMS);
        certified.extensions.insert(HasClientCertificate);
        assert_eq!(left(&by_certificate, certified, SERVER), (4, None));
        let unset = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        assert_eq!(left(&unset, parts(&CLAIMS), SERVER), (4, None), "without the setting every sender may");
    }

    #[test]
    fn a_certificate_is_named_by_its_digest() {
        let named = settings(&["10.1.1.1", &"ab".repeat(32)]).x_road;
        assert!(is_certified(&named, Some(&[0xab; 32])));
        assert!(!is_certified(&named, Some(&[0xac; 32])) && !is_certified(&named, None));
        assert!(!is_certified(&XRoadSettings::default(), Some(&[0xab; 32])));
    }

    #[test]
    fn behind_a_proxy_the_address_that_it_names_is_the_sender() {
        let mut settings = settings(&[SERVER, "10.9.9.9"]);
        settings.trusted_proxies = vec!["10.9.9.9".parse().unwrap()];
        let from = |forwarded: &str| left(&settings, parts(&[CLAIMS[0], ("x-forwarded-for", forwarded)]), "10.9.9.9").0;
        assert_eq!((from("10.2.2.2, 10.1.1.1"), from("10.1.1.1, 10.2.2.2"), from("unknown")), (2, 1, 1));
        assert_eq!(left(&settings, parts(&CLAIMS), "10.9.9.9"), (4, None), "the proxy itself is named");
    }

    #[test]
    fn a_request_counts_for_the_client_that_a_trusted_sender_names() {
        let settings = settings(&[SERVER]);
        let counted = |peer: &str, client: &[&str]| {
            let headers: Vec<_> = client.iter().map(|client| ("x-road-client", *client)).collect();
            let (mut parts, peer) = (parts(&headers), Some(peer.parse().unwrap()));
            drop_claims(&settings, &mut parts, peer);
            counted_for(&settings, &parts, peer).unwrap()
        };
        let address = |text: &str| CountedFor { client: ClientKey::address(text.parse().unwrap()), sender: None };
        let one = counted(SERVER, &["EE/COM/12345678/clinic"]);
        assert_eq!(one.sender, Some(ClientKey::sender(SERVER.parse().unwrap())));
        for spelling in ["ee/COM/12345678/clinic", " EE/COM/12345678/CLINIC", "%45E/COM/12345678/clinic"] {
            assert_eq!(counted(SERVER, &[spelling]), one, "{spelling}");
        }
        for other in
            ["EE/COM/12345678/clinic2", "EE/COM/12345678", "EE/COM/1234567/8clinic", "EE/COM/12345678%2Fclinic/a"]
        {
            assert_ne!(counted(SERVER, &[other]), one, "{other}");
        }
        // Without a well-formed identity the sender's address counts.
        for wrong in
            [&[][..], &[""], &["EE/COM"], &["EE//1/a"], &["a/b/c/d/e"], &["EE/COM/1/%zz"], &["a/b/c/d", "a/b/c/d"]]
        {
            assert_eq!(counted(SERVER, wrong), address(SERVER), "{wrong:?}");
        }
        assert_eq!(counted("10.2.2.2", &["EE/COM/12345678/clinic"]), address("10.2.2.2"));
    }
}
