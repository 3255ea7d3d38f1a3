//! X-Road REST paths: a client written for the security server finds the same services below `/r1`, and faults in its words.
//!
//! Source: Contract 1.4; X-Road Message Protocol for REST.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use serde_json::json;

use super::address::without_slash;
use super::answer_form::AnswerForm;
use super::forwarded_headers::{CLIENT, ID};
use super::header;
use super::query::decode;
use super::request_id::{REQUEST_ID, uuid};
use super::settings::HttpSettings;
use crate::config::limits::X_ROAD_CHARACTERS_MAX;
use crate::interaction::HeaderText;
use base::characters::is_control_or_bidi;
use base::log::{RefusalReason, shown};

const ERROR: HeaderName = HeaderName::from_static("x-road-error");

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathTarget<'p> {
    /// Below this base path: the setting's own, or one of X-Road.
    Fhir(&'p str),
    /// The token service, by X-Road.
    Token,
    Fault(XRoadFault),
}

/// What X-Road would say of a path itself, before any service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XRoadFault {
    /// The path is none of X-Road's form.
    BadRequest,
    /// The service is not taken here.
    UnknownService,
}

/// `/r1/{instance}/{memberClass}/{memberCode}/{subsystem}/{service}`
const PARTS: usize = 7;

/// Finds the service that a path names.
pub fn place<'p>(settings: &'p HttpSettings, path: &'p str) -> PathTarget<'p> {
    let Some(rest) = path.strip_prefix("/r1").filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return PathTarget::Fhir(&settings.base_path);
    };
    // The first part is empty, as every path begins with a slash.
    let mut parts = rest.splitn(PARTS, '/').skip(1);
    let mut names = [""; PARTS - 2];
    for name in &mut names {
        let Some(part) = parts.next().filter(|part| is_identifier(part)) else {
            return PathTarget::Fault(XRoadFault::BadRequest);
        };
        *name = part;
    }
    let below = parts.next();
    let [_, _, _, subsystem, service] = names;
    let taken = settings.x_road.subsystems.iter().any(|known| known == subsystem);
    match service {
        _ if !taken => PathTarget::Fault(XRoadFault::UnknownService),
        _ if *service == settings.x_road.fhir_service => {
            PathTarget::Fhir(&path[..path.len() - below.map_or(0, |below| below.len() + 1)])
        }
        _ if *service == settings.x_road.token_service && below.map(without_slash) == Some("v2/token") => {
            PathTarget::Token
        }
        _ => PathTarget::Fault(XRoadFault::UnknownService),
    }
}

/// Path of the token service beside a FHIR service of X-Road, whose base path is `/r1/…/{fhir_service}`.
pub fn token_path(settings: &HttpSettings, base_path: &str) -> String {
    let subsystem = base_path.rsplit_once('/').map_or("", |(subsystem, _)| subsystem);
    format!("{subsystem}/{}/v2/token", settings.x_road.token_service)
}

/// Whether a part of a path can be an identifier of X-Road: not empty, ASCII as it is sent, since links repeat it, and decoded it holds
/// nothing that has a meaning in paths.
fn is_identifier(part: &str) -> bool {
    let plain = |text: &str| {
        let allowed = |character: char| !is_control_or_bidi(character) && !"/\\%:;?#\"<>".contains(character);
        !matches!(text.trim(), "" | "." | "..") && text.len() <= X_ROAD_CHARACTERS_MAX && text.chars().all(allowed)
    };
    match part.contains('%') {
        _ if !part.is_ascii() => false,
        true => decode(part, false).is_some_and(|decoded| plain(&decoded)),
        false => plain(part),
    }
}

impl XRoadFault {
    fn kind(self) -> &'static str {
        match self {
            XRoadFault::BadRequest => "Client.BadRequest",
            XRoadFault::UnknownService => "Server.ServerProxy.UnknownService",
        }
    }

    /// HTTP status of its answer.
    pub fn status(self) -> u16 {
        match self {
            XRoadFault::BadRequest => 400,
            XRoadFault::UnknownService => 500,
        }
    }
}

/// The answer of a security server that cannot pass a request on. The path is not repeated: it may hold anything.
pub fn fault(fault: XRoadFault, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    let message = match fault {
        XRoadFault::BadRequest => "The path must be /r1/{instance}/{memberClass}/{memberCode}/{subsystem}/{service}/…",
        XRoadFault::UnknownService => "Unknown service; settings x_road.* say which are taken",
    };
    let id = uuid().to_string();
    let body = json!({"type": fault.kind(), "message": message, "detail": id});
    let mut response = Response::new(Full::from(body.to_string()));
    response.extensions_mut().insert(RefusalReason { code: fault.kind().to_owned(), id: Some(id), cause: None });
    *response.status_mut() = hyper::StatusCode::from_u16(fault.status()).expect("both are statuses of HTTP");
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ERROR, HeaderValue::from_static(fault.kind()));
    headers.insert(REQUEST_ID, wanted.request_id.header());
    if wanted.head {
        *response.body_mut() = Full::default();
    }
    response
}

/// Whether a request came on a path of X-Road.
pub fn is_by(parts: &Parts) -> bool {
    parts.uri.path().starts_with("/r1/")
}

/// `x-road-id` of a request as it was received, made where X-Road would have made it.
pub fn id(parts: &Parts) -> Option<HeaderValue> {
    let made = || is_by(parts).then(|| header::value(uuid().to_string()));
    parts.headers.get(ID).cloned().or_else(made)
}

/// `x-road-id` as the log may show it; one that is refused is left out.
pub fn logged_id(wanted: &AnswerForm) -> Option<String> {
    let text = HeaderText::new(wanted.x_road_id.as_ref()?.as_bytes());
    (!text.has_control()).then(|| shown(&text.text()).to_owned())
}

/// Gives back whose request it was, as X-Road does.
pub fn give_back(response: &mut Response<Full<Bytes>>, parts: &Parts, wanted: &AnswerForm) {
    if let Some(id) = &wanted.x_road_id {
        response.headers_mut().insert(ID, id.clone());
    }
    if let Some(client) = parts.headers.get(CLIENT).filter(|_| is_by(parts)) {
        response.headers_mut().insert(CLIENT, client.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn found(path: &str) -> String {
        let settings = HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        match place(&settings, path) {
            PathTarget::Fhir(base) => base.to_owned(),
            PathTarget::Token => "token".to_owned(),
            PathTarget::Fault(fault) => fault.kind().to_owned(),
        }
    }

    #[test]
    fn the_services_of_the_real_system_are_found() {
        assert_eq!(found("/fhir/Composition"), "/fhir");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/fhir/Composition/1"), "/r1/ee-dev/GOV/70009770/tis/fhir");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/fhir"), "/r1/ee-dev/GOV/70009770/tis/fhir");
        assert_eq!(found("/r1/EE/COM/1%C3%B5/tis/fhir/metadata"), "/r1/EE/COM/1%C3%B5/tis/fhir");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/fhir/Composition/"), "/r1/ee-dev/GOV/70009770/tis/fhir");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/fhir/"), "/r1/ee-dev/GOV/70009770/tis/fhir");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/auth/v2/token"), "token");
        assert_eq!(found("/r1/ee-dev/GOV/70009770/tis/auth/v2/token/"), "token");
        // Not a path of X-Road at all.
        assert_eq!(found("/r12/a"), "/fhir");
    }

    #[test]
    fn other_services_and_odd_paths_are_faults() {
        for path in [
            "/r1/ee-dev/GOV/70009770/other/fhir/Composition",
            "/r1/ee-dev/GOV/70009770/tis/soap",
            "/r1/ee-dev/GOV/70009770/tis/auth",
            "/r1/ee-dev/GOV/70009770/tis/auth/v1/token",
            "/r1/ee-dev/GOV/70009770/tis/auth/v2/token//",
        ] {
            assert_eq!(found(path), "Server.ServerProxy.UnknownService", "{path}");
        }
        for path in [
            "/r1",
            "/r1/",
            "/r1/ee-dev/GOV/70009770/tis",
            "/r1//GOV/70009770/tis/fhir/metadata",
            "/r1/ee-dev/GOV/../tis/fhir/metadata",
            "/r1/ee-dev/GOV/%2e%2e/tis/fhir/metadata",
            "/r1/ee-dev/GOV/7000%2F9770/tis/fhir/metadata",
            "/r1/ee-dev/GOV/7%zz/tis/fhir/metadata",
            "/r1/ee-dev/GOV/7%00/tis/fhir/metadata",
            // As bytes, not as %C3%B5: it would stand so in links.
            "/r1/ee-dev/GOV/7õ/tis/fhir/metadata",
        ] {
            assert_eq!(found(path), "Client.BadRequest", "{path}");
        }
    }
}
