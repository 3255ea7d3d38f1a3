//! Headers that are forwarded to the patient registry. Contract 1.4, 6.4.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::header;
use super::settings::HttpSettings;
use crate::interaction::{ForwardedHeaders, HeaderText, XRoadHeaders};
use fhir::outcome::{Hcert, Issue};

pub(super) const CLIENT: HeaderName = HeaderName::from_static("x-road-client");
pub(super) const ID: HeaderName = HeaderName::from_static("x-road-id");
pub(super) const ISSUE: HeaderName = HeaderName::from_static("x-road-issue");
pub(super) const USERID: HeaderName = HeaderName::from_static("x-road-userid");
pub(super) const AUTHOR_ID: HeaderName = HeaderName::from_static("x-author-id");
const FAULT: HeaderName = HeaderName::from_static("x-hcert-fault");
const PURPOSE: HeaderName = HeaderName::from_static("x-hcert-purpose");

/// Reads them; nothing when there are none, as with most requests. `by_x_road`: the request came on a path of
/// X-Road, and `x_road_id` was made for it where it had none. `asks_registry`: patients are asked for in the caller's name.
///
/// # Errors
/// A header that contains control characters or occurs twice; a required header that is missing or blank.
pub(super) fn read(
    settings: &HttpSettings,
    headers: &HeaderMap,
    by_x_road: bool,
    asks_registry: bool,
    x_road_id: Option<&HeaderValue>,
) -> Result<Option<Box<ForwardedHeaders>>, Issue> {
    let is_blank = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().is_empty();
    let is_missing = |name: &&String| headers.get(name.as_str()).is_none_or(is_blank);
    if by_x_road && let Some(missing) = settings.x_road.required_headers.iter().find(is_missing) {
        let issue = Issue::new(Hcert::HeaderMissing).with("header", missing.clone());
        return Err(issue.at(format!("http.{missing}")));
    }
    let any = by_x_road
        || headers.keys().any(|name| {
            let name = name.as_str();
            name.starts_with("x-")
                && (name.starts_with("x-road-") || name.starts_with("x-hcert-") || *name == AUTHOR_ID)
                || asks_registry && *name == AUTHORIZATION
        });
    if !any {
        return Ok(None);
    }
    let x_road = XRoadHeaders {
        client: text(headers, &CLIENT)?,
        id: text(headers, &ID)?.or_else(|| x_road_id.map(|id| HeaderText::new(id.as_bytes()))),
        issue: text(headers, &ISSUE)?,
        userid: text(headers, &USERID)?,
        author_id: text(headers, &AUTHOR_ID)?,
    };
    let fault = if settings.is_developer { text(headers, &FAULT)?.map(|fault| fault.text()) } else { None };
    let authorization =
        headers.get(AUTHORIZATION).filter(|_| asks_registry).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let only_looks = headers.get(PURPOSE).is_some_and(|value| value == "look");
    Ok(Some(Box::new(ForwardedHeaders { x_road, authorization, fault, only_looks })))
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<HeaderText>, Issue> {
    let mut values = headers.get_all(name).iter();
    let Some(text) = values.next().map(|value| HeaderText::new(value.as_bytes())) else { return Ok(None) };
    match text.has_control() || values.next().is_some() {
        false => Ok(Some(text)),
        true => Err(header::wrong(name, &text.text())),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::config::Config;

    fn read_of(pairs: &[(&'static str, &[u8])], listen: &str) -> Result<Option<Box<ForwardedHeaders>>, Issue> {
        let address: SocketAddr = listen.parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        read(&HttpSettings::new(&Config::default(), address).unwrap(), &headers, false, true, None)
    }

    #[test]
    fn headers_of_x_road_are_texts_of_any_length_without_control_characters() {
        let local = "127.0.0.1:1";
        assert!(read_of(&[("accept", b"x"), ("x-request-id", b"1")], local).unwrap().is_none());
        let read = read_of(&[("x-road-id", b"a-1"), ("x-road-userid", b"EE37605030299")], local).unwrap().unwrap();
        let told = |text: &str| Some(HeaderText::new(text));
        assert_eq!((read.x_road.id, read.x_road.userid), (told("a-1"), told("EE37605030299")));
        let long = "x".repeat(64 * 1024);
        for value in ["õ".as_bytes(), b"\xf5", long.as_bytes()] {
            let read = read_of(&[("x-road-issue", value)], local).unwrap().unwrap();
            assert_eq!(read.x_road.issue, Some(HeaderText::new(value)));
        }
        let code = |pairs| read_of(pairs, local).unwrap_err().code();
        assert_eq!(code(&[("x-road-issue", b"a\tb")]), Hcert::HeaderWrong);
        assert_eq!(code(&[("x-road-id", b"a"), ("x-road-id", b"b")]), Hcert::HeaderWrong);
    }

    #[test]
    fn faults_are_for_those_on_this_machine() {
        let fault = |listen| read_of(&[("x-hcert-fault", b"timeout")], listen).unwrap().unwrap().fault;
        assert_eq!(fault("127.0.0.1:1").as_deref(), Some("timeout"));
        assert_eq!(fault("[::1]:1").as_deref(), Some("timeout"));
    }
}
