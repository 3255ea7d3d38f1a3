//! What is asked, as an HTTP request says it.

use std::fmt::Write;

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ACCEPT_LANGUAGE, AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};

use crate::registry::{Caller, HeaderText, LookupPurpose, RegistryRequest};
use base::trace::Trace;
use fhir::limits::ID_CHARACTERS_MAX;
use fhir::outcome::Language;

/// Path and query behind the base address: `/Patient?identifier=https%3A%2F%2Ffhir.ee%2Fsid%7C38001085718`. It names what is asked, and
/// nothing else does. Nothing when an id or version is none of FHIR's, which is never sent.
pub(super) fn target(request: &RegistryRequest) -> Option<String> {
    Some(match request {
        RegistryRequest::Search(parameters) => with_query("/Patient".to_owned(), parameters),
        RegistryRequest::Read(id) => format!("/Patient/{}", checked(id)?),
        RegistryRequest::Vread(id, version) => format!("/Patient/{}/_history/{}", checked(id)?, checked(version)?),
        RegistryRequest::History(id, parameters) => {
            with_query(format!("/Patient/{}/_history", checked(id)?), parameters)
        }
    })
}

fn checked(id: &str) -> Option<&str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    // A path of one or two points would lead elsewhere.
    let leads = !matches!(id, "." | "..");
    (leads && (1..=ID_CHARACTERS_MAX).contains(&id.len()) && id.bytes().all(allowed)).then_some(id)
}

fn with_query(mut path: String, parameters: &[(String, String)]) -> String {
    for (at, (name, value)) in parameters.iter().enumerate() {
        path.push(if at == 0 { '?' } else { '&' });
        encode(&mut path, name);
        path.push('=');
        encode(&mut path, value);
    }
    path
}

/// Escapes everything that is not unreserved. Source: RFC 3986, 2.3.
pub(super) fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to memory does not fail");
        }
    }
}

/// Headers of a question of the service's own.
pub(super) fn own_headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(ACCEPT, HeaderValue::from_static("application/fhir+json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("hcert/", env!("CARGO_PKG_VERSION"))));
    headers
}

/// All headers but `Host`, with the credential that belongs to the question.
pub(super) fn headers(caller: &Caller, authorization: Option<HeaderValue>) -> HeaderMap {
    let mut headers = own_headers();
    let language = match caller.language {
        Language::English => "en",
        Language::Estonian => "et",
    };
    headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(language));
    if let Some(mut authorization) = authorization {
        authorization.set_sensitive(true);
        headers.insert(AUTHORIZATION, authorization);
    }
    if caller.purpose == LookupPurpose::Look {
        headers.insert("x-hcert-purpose", HeaderValue::from_static("look"));
    }
    if let Some(trace) = Trace::current() {
        let parent = HeaderValue::from_str(&trace.parent()).expect("it is made of digits and hyphens");
        headers.insert("traceparent", parent);
    }
    let x_road = &caller.x_road;
    let received = |text: &Option<HeaderText>| text.as_ref().map(|text| text.as_bytes().to_vec());
    for (name, value) in [
        ("x-road-client", received(&x_road.client)),
        ("x-road-id", received(&x_road.id)),
        ("x-road-issue", received(&x_road.issue)),
        ("x-road-userid", received(&x_road.userid)),
        ("x-author-id", received(&x_road.author_id)),
        ("x-hcert-fault", caller.fault.clone().map(String::into_bytes)),
    ] {
        // They came as headers, so they can stand in one; what could not is left out.
        if let Some(value) = value.and_then(|value| HeaderValue::from_maybe_shared(Bytes::from(value)).ok()) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_question_has_its_address() {
        let parameters = pairs(&[("identifier", "https://fhir.ee/sid/pid/est/ni|38001085718"), ("a b&", "õ+~._-")]);
        let search =
            "/Patient?identifier=https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Fest%2Fni%7C38001085718&a%20b%26=%C3%B5%2B~._-";
        assert_eq!(target(&RegistryRequest::Search(parameters)).unwrap(), search);
        assert_eq!(target(&RegistryRequest::Search(Vec::new())).unwrap(), "/Patient");
        assert_eq!(target(&RegistryRequest::Read("a-1.B".to_owned())).unwrap(), "/Patient/a-1.B");
        assert_eq!(target(&RegistryRequest::Vread("1".to_owned(), "2".to_owned())).unwrap(), "/Patient/1/_history/2");
        let history = RegistryRequest::History("1".to_owned(), pairs(&[("_count", "2")]));
        assert_eq!(target(&history).unwrap(), "/Patient/1/_history?_count=2");
    }

    #[test]
    fn what_is_no_id_is_never_sent() {
        let largest = "a".repeat(ID_CHARACTERS_MAX);
        assert!(target(&RegistryRequest::Read(largest.clone())).is_some());
        for id in ["", ".", "..", "a/b", "a%2f", "õ", "a b", "a?b", "a\r\nb", &format!("{largest}a")] {
            assert_eq!(target(&RegistryRequest::Read(id.to_owned())), None, "{id}");
            assert_eq!(target(&RegistryRequest::Vread("1".to_owned(), id.to_owned())), None, "{id}");
            assert_eq!(target(&RegistryRequest::History(id.to_owned(), Vec::new())), None, "{id}");
        }
    }

    #[test]
    fn no_credential_goes_along_but_the_one_that_is_given_and_it_is_sensitive() {
        for (purpose, look) in
            [(LookupPurpose::Callers, None), (LookupPurpose::Look, Some("look")), (LookupPurpose::Write, None)]
        {
            let caller = Caller { purpose, authorization: Some("Bearer theirs".to_owned()), ..Caller::default() };
            let given = headers(&caller, Some(HeaderValue::from_static("Bearer given")));
            assert_eq!(given["authorization"], "Bearer given");
            assert!(given["authorization"].is_sensitive());
            assert_eq!(given.get("x-hcert-purpose").map(|value| value.to_str().unwrap()), look);
            assert!(headers(&caller, None).get("authorization").is_none());
        }
    }

    #[test]
    fn the_trace_of_the_request_goes_on() {
        assert!(headers(&Caller::default(), None).get("traceparent").is_none());
        let trace = Trace { id: [0xab; 16], span: [1; 8], is_sampled: true };
        let _entered = trace.enter();
        assert_eq!(headers(&Caller::default(), None)["traceparent"], trace.parent());
    }

    #[test]
    fn a_value_that_can_stand_in_no_header_is_left_out() {
        let caller = Caller { fault: Some("a\r\nb: c".to_owned()), ..Caller::default() };
        let headers = headers(&caller, None);
        assert!(headers.get("x-hcert-fault").is_none() && headers.get("b").is_none());
    }

    #[test]
    fn headers_of_x_road_go_on_byte_for_byte() {
        let longer = "x".repeat(1_000);
        for received in ["EE/GOV/õ".as_bytes(), b"EE/GOV/\xf5", longer.as_bytes()] {
            let mut caller = Caller::default();
            caller.x_road.client = Some(HeaderText::new(received));
            assert_eq!(headers(&caller, None)["x-road-client"].as_bytes(), received);
        }
    }
}
