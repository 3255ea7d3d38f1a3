//! Headers and query of a request become a [`RequestContext`].

use hyper::header::{CONTENT_LENGTH, EXPECT, HeaderName, IF_MATCH, IF_NONE_MATCH, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};

use super::answer_form::AnswerForm;
use super::message::{length, too_long};
use super::query::Pair;
use super::request_head::RequestHead;
use super::settings::HttpSettings;
use super::{condition, forwarded_headers, header, media, proxy, query, x_road};
use crate::interaction::context::{Actor, IfNoneExist};
use crate::interaction::table::InteractionRow;
use crate::interaction::{BodyContent, Prefer, RequestContext, Return};
use fhir::outcome::{Hcert, Issue, Outcome};

const EXPLAIN: HeaderName = HeaderName::from_static("x-hcert-explain");
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Checks what the headers say of the body before any of it is read: 417, 411, 415, 413, in this order.
///
/// `bytes_max` is the largest body; `has_body` is false when it is known that none follows.
pub fn check_body(parts: &Parts, content: Option<BodyContent>, has_body: bool, bytes_max: usize) -> Result<(), Issue> {
    let headers = &parts.headers;
    for value in headers.get_all(EXPECT) {
        if !value.as_bytes().eq_ignore_ascii_case(b"100-continue") {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            return Err(Issue::new(Hcert::ExpectationUnknown).with("value", value));
        }
    }
    let Some(content) = content else { return Ok(()) };
    let unmeasured = !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING);
    if content == BodyContent::Resource && unmeasured && parts.version <= Version::HTTP_11 {
        return Err(Issue::new(Hcert::LengthRequired));
    }
    if has_body {
        media::check_body(headers, content)?;
    }
    match length(headers)? {
        Some(length) if length > bytes_max as u64 => Err(too_long(bytes_max)),
        _ => Ok(()),
    }
}

/// Reads the context of an interaction of this row. `parameters` are the pairs of the query and of the form.
///
/// # Errors
/// Every header and parameter that is not understood.
pub fn context(
    settings: &HttpSettings,
    head: &RequestHead,
    wanted: &AnswerForm,
    parameters: Vec<Pair>,
    row: &InteractionRow,
) -> Result<RequestContext, Outcome> {
    let RequestHead { parts, origin, .. } = head;
    let headers = &parts.headers;
    let mut issues = Vec::new();
    let base_url = kept(proxy::base_url(settings, parts, origin.peer, head.base_path(settings)), &mut issues);
    let if_match = kept(condition::tags(headers, &IF_MATCH), &mut issues);
    let if_none_match = kept(condition::tags(headers, &IF_NONE_MATCH), &mut issues);
    let if_none_exist = kept(if_none_exist(headers), &mut issues);
    let prefer = kept(prefer(headers), &mut issues);
    let subset = kept(query::subset(&parameters), &mut issues);
    let forwarded = kept(
        forwarded_headers::read(settings, headers, x_road::is_by(parts), row.asks_registry, wanted.x_road_id.as_ref()),
        &mut issues,
    );
    if !issues.is_empty() {
        return Err(issues.into());
    }
    // Only a version keeps who made it.
    let keeps = !matches!(parts.method, Method::GET | Method::HEAD);
    let x_road_id =
        forwarded.as_ref().filter(|_| keeps).and_then(|forwarded| Some(forwarded.x_road.id.as_ref()?.text()));
    let trace = keeps.then(|| wanted.request_id.as_str().to_owned());
    Ok(RequestContext {
        base_url: base_url.unwrap_or_else(|| settings.base_url.clone()),
        language: wanted.language,
        asked_language: wanted.asked_language,
        prefer,
        if_match,
        if_none_match,
        if_modified_since: condition::modified_since(headers),
        if_none_exist,
        subset,
        parameters,
        explains: settings.is_developer && headers.get(EXPLAIN).is_some_and(|value| value == "true"),
        by_form: row.body == Some(BodyContent::Form),
        who: Actor { trace, x_road_id, ..Actor::default() },
        identity: None,
        client: head.counted.map(|counted| counted.client),
        forwarded,
        grants: None,
        met: None,
        names_identifier: false,
    })
}

/// Takes an issue aside, so that all of them are told together.
fn kept<T: Default>(read: Result<T, Issue>, issues: &mut Vec<Issue>) -> T {
    read.unwrap_or_else(|issue| {
        issues.push(issue);
        T::default()
    })
}

fn if_none_exist(headers: &HeaderMap) -> Result<Option<IfNoneExist>, Issue> {
    if headers.get_all(header::IF_NONE_EXIST).iter().count() > 1 {
        return Err(header::wrong(&header::IF_NONE_EXIST, &header::joined(headers, &header::IF_NONE_EXIST)?));
    }
    if !headers.contains_key(header::IF_NONE_EXIST) {
        return Ok(None);
    }
    let text = header::joined(headers, &header::IF_NONE_EXIST)?;
    match query::pairs(text.strip_prefix('?').unwrap_or(&text)) {
        Ok(pairs) => Ok(Some(IfNoneExist { text, pairs })),
        Err(_) => Err(header::wrong(&header::IF_NONE_EXIST, &text)),
    }
}

/// Reads `Prefer`. What it does not know is ignored, and of a preference given twice the first counts (RFC 7240, 2).
fn prefer(headers: &HeaderMap) -> Result<Prefer, Issue> {
    if !headers.contains_key(PREFER) {
        return Ok(Prefer::default());
    }
    let text = header::joined(headers, &PREFER)?;
    let (mut answer, mut lenient) = (None, None);
    for preference in text.split(',') {
        let preference = preference.split(';').next().unwrap_or_default();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        match (name.trim().to_ascii_lowercase().as_str(), value.trim().trim_matches('"').to_ascii_lowercase().as_str())
        {
            ("return", "minimal") => answer = answer.or(Some(Return::Minimal)),
            ("return", "representation") => answer = answer.or(Some(Return::Representation)),
            ("return", "operationoutcome") => answer = answer.or(Some(Return::OperationOutcome)),
            ("handling", "strict") => lenient = lenient.or(Some(false)),
            ("handling", "lenient") => lenient = lenient.or(Some(true)),
            _ => {}
        }
    }
    Ok(Prefer { answer: answer.unwrap_or_default(), lenient: lenient.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::http::request_head::{AddressOffer, RequestOrigin};
    use crate::http::route::Route;

    fn parts(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/fhir/Composition");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn preferences_are_read_and_unknown_ones_ignored() {
        let read = |values: &[&str]| {
            let headers: Vec<_> = values.iter().map(|value| ("prefer", *value)).collect();
            let prefer = prefer(&parts("GET", &headers).headers).unwrap();
            (prefer.answer, prefer.lenient)
        };
        assert_eq!(read(&[]), (Return::Minimal, false));
        assert_eq!(read(&["return=representation, handling=lenient"]), (Return::Representation, true));
        assert_eq!(read(&["Return = \"OperationOutcome\"; x=y", "handling=strict"]), (Return::OperationOutcome, false));
        assert_eq!(read(&["return=minimal", "return=representation"]), (Return::Minimal, false));
        assert_eq!(read(&["respond-async, return=everything, wait=10"]), (Return::Minimal, false));
    }

    #[test]
    fn all_headers_that_are_not_understood_are_told_together() {
        let config = crate::config::Config::default();
        let settings = HttpSettings::new(&config, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let parts =
            parts("GET", &[("if-match", "abc"), ("if-none-match", ""), ("if-none-exist", "a"), ("if-none-exist", "b")]);
        let origin = RequestOrigin { peer: None, connection: None, offer: AddressOffer::Api };
        let (head, _, known) = RequestHead::read(&settings, parts, origin, Ok(()), false);
        let Route::To(interaction) = &head.route else { panic!("a search") };
        let parameters = query::pairs("_summary=yes").unwrap();
        let outcome = context(&settings, &head, &known.wanted, parameters, interaction.row).unwrap_err();
        let codes: Vec<_> = outcome.issues().iter().map(Issue::code).collect();
        assert_eq!(codes, [Hcert::HeaderWrong, Hcert::HeaderWrong, Hcert::HeaderWrong, Hcert::SearchValueWrong]);
    }

    #[test]
    fn a_body_is_judged_by_its_headers_before_it_is_read() {
        let check = |headers: &[(&str, &str)], content| {
            check_body(&parts("POST", headers), content, true, 10).map_err(|issue| issue.code())
        };
        let json = ("content-type", "application/json");
        let resource = Some(BodyContent::Resource);
        assert_eq!(check(&[json, ("content-length", "10")], resource), Ok(()));
        assert_eq!(check(&[json, ("transfer-encoding", "chunked")], resource), Ok(()));
        assert_eq!(check(&[json, ("content-length", "10"), ("expect", "100-Continue")], resource), Ok(()));
        assert_eq!(check(&[json, ("content-length", "11")], resource), Err(Hcert::BodyTooLong));
        assert_eq!(check(&[json, ("content-length", "+1")], resource), Err(Hcert::HeaderWrong));
        assert_eq!(check(&[json], resource), Err(Hcert::LengthRequired));
        assert_eq!(check(&[("content-length", "10")], resource), Err(Hcert::MediaTypeUnsupported));
        assert_eq!(check(&[json, ("content-length", "10")], Some(BodyContent::Form)), Err(Hcert::MediaTypeUnsupported));
        assert_eq!(check(&[("expect", "magic")], None), Err(Hcert::ExpectationUnknown));
        assert_eq!(check(&[("content-length", "99")], None), Ok(()));
    }
}
