//! Any bytes as what a client sends on a connection: heads and bodies by hyper, then the way of each request up to its interaction.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use super::told;
use crate::wire;
use certificate::search::link;
use fhir::json;
use fhir::outcome::{Language, Outcome};
use hcert::access::token::claims::{self, ExpectedClaims};
use hcert::access::token::compact::UnverifiedToken;
use hcert::audit::{AuditAction, AuditEvent};
use hcert::config::limits::BODY_BYTES_MAX;
use hcert::config::{AccessMode, AccessToken, Algorithm, Config};
use hcert::http::answer_form::AnswerForm;
use hcert::http::limits::REQUEST_ID_CHARACTERS_MAX;
use hcert::http::media::MediaTypes;
use hcert::http::request_head::{AddressOffer, RequestHead, RequestOrigin};
use hcert::http::route::{self, Route};
use hcert::http::settings::HttpSettings;
use hcert::http::trace::Traced;
use hcert::http::x_road;
use hcert::http::{audit_record, condition, message, query, request};
use hcert::interaction::{BodyContent, Instance};

/// The settings of a server on a developer's machine, and of one behind a trusted proxy.
static SETTINGS: LazyLock<[HttpSettings; 2]> = LazyLock::new(|| {
    let open = Config::default();
    let mut proxied = Config::default();
    proxied.access.mode = AccessMode::Jwt;
    proxied.server.base_url = Some("https://hcert.example.ee/fhir".to_owned());
    proxied.server.trusted_proxies = vec!["127.0.0.1".parse().expect("it is an address")];
    proxied.x_road.required_headers = vec!["x-road-client".to_owned()];
    let address = "127.0.0.1:8080".parse().expect("it is an address");
    [open, proxied].map(|config| HttpSettings::new(&config, address).expect("these are right"))
});

static CLAIMS: LazyLock<AccessToken> = LazyLock::new(|| Config::default().access.token);

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Judges one connection.
pub fn judge(bytes: &[u8]) {
    wire::requests(bytes, |parts, body| {
        let settings = &SETTINGS[bytes.len() % SETTINGS.len()];
        understood(settings, parts, body);
    });
}

fn understood(settings: &HttpSettings, parts: &Parts, body: Option<&[u8]>) {
    let origin = RequestOrigin { peer: Some(PEER), connection: None, offer: AddressOffer::Api };
    let (head, query, mut known) = RequestHead::read(settings, parts.clone(), origin, message::check(parts), true);
    is_routed(head.base_path(settings), parts, &head.route);
    is_answered(parts, &head.route, &known.wanted);
    let mut event = AuditEvent::new(AuditAction::Unknown, 0);
    token(&parts.headers);
    let pairs = match query::pairs(parts.uri.query().unwrap_or_default()) {
        Ok(pairs) => pairs,
        Err(issue) => return told(&[issue], 1),
    };
    comes_back(&pairs);
    // Whether it is refused early; what follows must hold all the same.
    if query.media.is_err() || query.pretty.is_err() {
        return;
    }
    let Route::To(interaction) = &head.route else { return };
    let content = interaction.row.body;
    if let Err(issue) = request::check_body(parts, content, body.is_some_and(|body| !body.is_empty()), BODY_BYTES_MAX) {
        return told(&[issue], 1);
    }
    let mut parameters = pairs;
    let form = body.and_then(|body| std::str::from_utf8(body).ok()).filter(|_| content == Some(BodyContent::Form));
    if let Some(form) = form {
        parameters.extend(query::pairs(form).unwrap_or_default());
    }
    audit_record::note_parameters(&mut event, parts, form.map(str::to_owned));
    match request::context(settings, &head, &known.wanted, parameters.clone(), interaction.row) {
        Ok(mut context) => {
            let base_url = &context.base_url;
            assert!(base_url.starts_with("http://") || base_url.starts_with("https://"), "{base_url:?} is absolute");
            assert!(
                base_url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'),
                "{base_url:?} can stand in a link"
            );
            assert_eq!(context.parameters, parameters, "parameters are handed on as they are");
            assert!(context.if_modified_since.is_none_or(|_| condition::modified_since(&parts.headers).is_some()));
            audit_record::keep(&mut context, &known.from.take().expect("a trail is kept"));
        }
        Err(refusal) => is_refusal(&refusal, known.wanted.language),
    }
}

/// The way back from a route to its path, and what `Allow` says of it.
fn is_routed(base_path: &str, parts: &Parts, route: &Route) {
    let path = parts.uri.path();
    assert!(route::label(route).bytes().all(|byte| !byte.is_ascii_digit() || byte == b'2' || byte == b'1'));
    let allowed = route::allow(base_path, path, None);
    let is_allowed = |method: &Method| allowed.split(", ").any(|allowed| method == allowed);
    match route {
        Route::To(interaction) => {
            assert!(
                is_allowed(&parts.method),
                "{} of {path:?} leads somewhere and is not in {allowed:?}",
                parts.method
            );
            let Some(instance) = &interaction.id else { return };
            let sent = instance.to_string();
            assert!((1..=64).contains(&sent.len()), "an id is short");
            if let Instance::Known(id) = instance {
                assert_eq!(sent.parse(), Ok(id.get()), "an id that is known is canonical");
            }
        }
        Route::WrongMethod => assert!(!is_allowed(&parts.method), "{} is not allowed", parts.method),
        _ => {}
    }
}

/// What goes back with every answer can stand in a head, whatever was sent.
fn is_answered(parts: &Parts, route: &Route, wanted: &AnswerForm) {
    let id = wanted.request_id.as_str();
    assert!((1..=REQUEST_ID_CHARACTERS_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()));
    let is_given = parts.headers.get("x-request-id").is_some_and(|given| given.as_bytes() == id.as_bytes());
    let names_somebody =
        |text: &str| text.split(|character: char| !character.is_ascii_digit()).any(|run| run.len() >= 11);
    assert!(!is_given || !names_somebody(wanted.request_id.logged()), "a log names nobody");
    assert_eq!(wanted.request_id.header().as_bytes(), id.as_bytes());
    let fault = if let Route::Fault(fault) = route { *fault } else { x_road::XRoadFault::BadRequest };
    let mut response = x_road::fault(fault, wanted);
    x_road::give_back(&mut response, parts, wanted);
    let traced = Traced::of(&parts.headers, &wanted.request_id);
    let parent = traced.trace.parent();
    assert!(parent.len() == 55 && traced.trace.id != [0; 16], "{parent:?} is a trace");
    traced.give_back(&mut response);
    if let Some(told) = response.headers().get("traceparent") {
        let (given, told) = (parts.headers["traceparent"].as_bytes(), told.as_bytes());
        assert_eq!(told[3..35], given[3..35], "the trace stays the caller's");
    }
    assert!(!MediaTypes::default().content_type().is_empty());
}

/// A query is written into links as it was read.
fn comes_back(pairs: &[query::Pair]) {
    let written = link::encode(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    assert!(written.bytes().all(|byte| byte.is_ascii_graphic()), "it can stand in an address");
    let read = query::pairs(&written).expect("what we write can be read");
    assert_eq!(read, pairs, "written and read, it is the same");
}

/// A token is taken apart, and its claims are read, before or after anything is verified.
fn token(headers: &HeaderMap) {
    let value = headers.get("authorization").and_then(|value| value.to_str().ok());
    let Some(token) = value
        .and_then(|value| value.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer ")).map(|_| &value[7..]))
    else {
        return;
    };
    let Ok(compact) = UnverifiedToken::read(token, &[Algorithm::RS256, Algorithm::ES256]) else { return };
    assert!(token.starts_with(compact.signed), "the signature is over what was sent");
    let expected = ExpectedClaims { issuer: None, audience: "hcert", settings: &CLAIMS, now: 1_790_000_000 };
    match claims::read(&compact.claims, &expected, "0123456789abcdef".to_owned(), &|_| false) {
        Ok(identity) => {
            assert!(identity.person.len() == 11 && identity.person.bytes().all(|byte| byte.is_ascii_digit()));
            assert!(!format!("{identity:?}").contains(&identity.person), "a log names nobody");
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

/// A refusal is an OperationOutcome that can be read.
fn is_refusal(refusal: &Outcome, language: Language) {
    told(refusal.issues(), 8);
    assert!((400..600).contains(&refusal.status()), "a refusal has a status of one");
    let body = refusal.to_json(language, "https://hcert.tehik.ee/issue", String::new);
    let read = json::parse_with_problems(&body).expect("what we write is JSON");
    assert_eq!(read.value.text("resourceType"), Some("OperationOutcome"));
}
