//! Headers that are handed on to the patient registry. Contract 1.4, 6.4.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};

use super::header;
use super::settings::Settings;
use crate::interaction::{HandedOn, XRoad};
use crate::limits::X_ROAD_CHARACTERS_MAX;
use crate::outcome::{Hcert, Issue};

pub const CLIENT: HeaderName = HeaderName::from_static("x-road-client");
pub const ID: HeaderName = HeaderName::from_static("x-road-id");
pub const ISSUE: HeaderName = HeaderName::from_static("x-road-issue");
pub const USERID: HeaderName = HeaderName::from_static("x-road-userid");
const AUTHOR_ID: HeaderName = HeaderName::from_static("x-author-id");
const FAULT: HeaderName = HeaderName::from_static("x-hcert-fault");
const PURPOSE: HeaderName = HeaderName::from_static("x-hcert-purpose");

/// Reads them; nothing when there are none, as with most requests. `by_x_road`: the request came on a path of
/// X-Road, and `x_road_id` was made for it where it had none. `asks_registry`: patients are asked for in the caller's name.
///
/// # Errors
/// One that holds other than visible characters, or more than [`X_ROAD_CHARACTERS_MAX`] of them; one that must be there and is not.
pub fn read(
    settings: &Settings,
    headers: &HeaderMap,
    by_x_road: bool,
    asks_registry: bool,
    x_road_id: Option<&str>,
) -> Result<Option<Box<HandedOn>>, Issue> {
    if by_x_road
        && let Some(missing) = settings.x_road.required_headers.iter().find(|name| !headers.contains_key(name.as_str()))
    {
        let issue = Issue::new(Hcert::HeaderWrong).with("header", missing.clone()).with("value", "");
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
    let x_road = XRoad {
        client: bounded(headers, &CLIENT)?,
        id: bounded(headers, &ID)?.or_else(|| x_road_id.map(str::to_owned)),
        issue: bounded(headers, &ISSUE)?,
        userid: bounded(headers, &USERID)?,
        author_id: bounded(headers, &AUTHOR_ID)?,
    };
    let fault = if settings.faults { bounded(headers, &FAULT)? } else { None };
    let authorization =
        headers.get(AUTHORIZATION).filter(|_| asks_registry).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let only_looks = headers.get(PURPOSE).is_some_and(|value| value == "look");
    Ok(Some(Box::new(HandedOn { x_road, authorization, fault, only_looks })))
}

fn bounded(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Issue> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match visible && text.len() <= X_ROAD_CHARACTERS_MAX && values.next().is_none() {
        true => Ok(Some(text.into_owned())),
        false => Err(header::wrong(name, &text)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hyper::header::HeaderValue;

    use super::*;
    use crate::config::Config;

    fn read_of(pairs: &[(&'static str, &str)], listen: &str) -> Result<Option<Box<HandedOn>>, Issue> {
        let address: SocketAddr = listen.parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        read(&Settings::new(&Config::default(), address).unwrap(), &headers, false, true, None)
    }

    #[test]
    fn headers_of_x_road_are_taken_within_their_bounds() {
        let local = "127.0.0.1:1";
        assert!(read_of(&[("accept", "x"), ("x-request-id", "1")], local).unwrap().is_none());
        let read = read_of(&[("x-road-id", "a-1"), ("x-road-userid", "EE37605030299")], local).unwrap().unwrap();
        assert_eq!((read.x_road.id.as_deref(), read.x_road.userid.as_deref()), (Some("a-1"), Some("EE37605030299")));
        let longest = "x".repeat(X_ROAD_CHARACTERS_MAX);
        assert!(read_of(&[("x-road-issue", &longest)], local).is_ok());
        assert!(read_of(&[("x-road-issue", &format!("{longest}x"))], local).is_err());
        assert!(read_of(&[("x-road-issue", "õ")], local).is_err());
        assert!(read_of(&[("x-road-id", "a"), ("x-road-id", "b")], local).is_err());
    }

    #[test]
    fn faults_are_for_those_on_this_machine() {
        let fault = |listen| read_of(&[("x-hcert-fault", "timeout")], listen).unwrap().unwrap().fault;
        assert_eq!(fault("127.0.0.1:1").as_deref(), Some("timeout"));
        assert_eq!(fault("[::1]:1").as_deref(), Some("timeout"));
    }
}
