//! [`Answer`] and [`Outcome`] become HTTP: status, headers and body. Nothing else in the service knows these numbers and names.

use std::io::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, LAST_MODIFIED, LOCATION, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};

use super::answer_form::AnswerForm;
use super::header;
use super::media::MediaTypes;
use super::pretty::indent;
use super::request_id::{REQUEST_ID, uuid};
use super::security::HEADERS_USUAL;
use crate::interaction::{Answer, AnswerFile, BrokenAnswer};
use crate::turns::RequestPermit;
use base::log::{RefusalReason, shown};
use certificate::Version;
use fhir::date_time;
use fhir::outcome::{Hcert, Language, Outcome};

/// The entry of the journal that a document names.
const ENTRY: HeaderName = HeaderName::from_static("x-hcert-entry");

const PLAN: HeaderName = HeaderName::from_static("x-hcert-plan");

/// Bytes from which an answer is compressed. Below, the header and the work cost more than what is saved.
pub(super) const GZIP_BYTES_MIN: usize = 1_024;

/// Seconds in `Retry-After` of a 503 and a 429. What causes one here passes within a second or two.
const RETRY_AFTER_S: u32 = 2;

/// Characters of an error code in a line of the log. The longest known, of the security server, have some 60.
const LOG_CODE_CHARACTERS_MAX: usize = 64;

/// Writes what an interaction answered. Source: Contract 2.2, 2.4.
pub(super) fn answer(mut answer: Answer, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    if let Some(file) = answer.file.take() {
        return document(*file, answer, wanted);
    }
    let mut response = body(status(answer.status), answer.body, answer.turn, wanted);
    let headers = response.headers_mut();
    if let Some((version, modified)) = answer.version {
        headers.insert(ETAG, tag(version));
        if let Some(date) = date_time::http_date(modified) {
            headers.insert(LAST_MODIFIED, header::value(date));
        }
    }
    if let Some(location) = answer.location {
        headers.insert(LOCATION, header::value(location));
    }
    if let Some(plan) = answer.plan {
        headers.insert(PLAN, header::value(plan.as_bytes()));
    }
    if let Some(location) = answer.content_location {
        headers.insert(CONTENT_LOCATION, header::value(location));
    }
    response
}

/// Writes a document: as it is, or inside of a Binary where FHIR is wanted, whose tag is a weak one, since its bytes are others. Contract 8.8.
fn document(file: AnswerFile, mut made: Answer, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    let is_plain = wanted.media == MediaTypes::Pdf;
    let tag = if is_plain { format!("\"{}\"", file.tag) } else { format!("W/\"{}\"", file.tag) };
    let mut wanted = wanted.clone();
    if is_plain {
        // It is compressed already, and no JSON.
        (wanted.gzip, wanted.pretty) = (false, false);
    } else if !made.body.is_empty() {
        let data = BASE64_STANDARD.encode(&made.body);
        let about = r#"{"resourceType":"Binary","contentType":"application/pdf","data":""#;
        made.body = [about, &data, "\"}"].concat().into_bytes();
    }
    let mut response = answer(made, &wanted);
    let headers = response.headers_mut();
    headers.insert(ETAG, header::value(tag));
    headers.insert(ENTRY, header::value(file.entry));
    if is_plain && headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/pdf"));
        headers.insert(CONTENT_DISPOSITION, header::value(format!("inline; filename=\"{}\"", file.name)));
    }
    response
}

/// Writes a refusal as OperationOutcome. What the log shows of it goes along as a [`RefusalReason`].
///
/// Source: specification 7; Contract 5.1, 5.2.
pub(super) fn outcome(outcome: &Outcome, wanted: &AnswerForm, issue_system: &str) -> Response<Full<Bytes>> {
    let status = status(outcome.status());
    let mut id = match outcome.issues() {
        [] => outcome.reflected().first().and_then(|first| first.id.as_deref()).map(logged_id),
        _ => None,
    };
    let json = outcome.to_json(wanted.language, issue_system, || {
        let made = uuid().to_string();
        id.get_or_insert_with(|| made.clone());
        made
    });
    // Another system may have put anything there.
    let code = shown(outcome.leading_code()).chars().take(LOG_CODE_CHARACTERS_MAX).collect();
    let refused = RefusalReason { code, id, cause: outcome.cause().map(str::to_owned) };
    let mut response = body(status, json, None, wanted);
    response.extensions_mut().insert(refused);
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge(outcome));
    }
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    response
}

/// The id of another system's issue for the log: as much of it as a uuid has.
fn logged_id(id: &str) -> String {
    let shown = shown(id);
    shown[..shown.floor_char_boundary(36)].to_owned()
}

/// JSON that is no FHIR. Contract 5.1.
pub(super) fn json(number: u16, json: String, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    let wanted = AnswerForm { media: MediaTypes::Json, ..wanted.clone() };
    body(status(number), json.into_bytes(), None, &wanted)
}

/// What `WWW-Authenticate` asks for, and why what came is refused. RFC 6750, 3.
fn challenge(outcome: &Outcome) -> HeaderValue {
    let realm = "Bearer realm=\"hcert\"";
    let refused = outcome.issues().iter().find(|issue| issue.code() == Hcert::TokenRefused);
    let Some(refused) = refused else { return HeaderValue::from_static("Bearer realm=\"hcert\"") };
    // Names of claims come from the settings and may hold anything; RFC 6750, 3 says what may stand here.
    let plain = |character: char| match character {
        ' '..='~' if !matches!(character, '"' | '\\') => character,
        _ => '?',
    };
    let words: String = refused.text(Language::English).chars().map(plain).collect();
    header::value(format!("{realm}, error=\"invalid_token\", error_description=\"{words}\""))
}

/// What a registry that is told to fail sends. Contract 6.4.
pub(super) fn broken(broken: BrokenAnswer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from("<!DOCTYPE html><html><body><h1>It works!</h1></body></html>"));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response.extensions_mut().insert(broken);
    response
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A body that holds its turn until it is sent.
struct BodyWithPermit {
    bytes: Vec<u8>,
    _turn: RequestPermit,
}

impl AsRef<[u8]> for BodyWithPermit {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Status, body and the headers that every answer has.
fn body(
    status: StatusCode,
    mut bytes: Vec<u8>,
    turn: Option<RequestPermit>,
    wanted: &AnswerForm,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // At once, since growing would allocate again.
    headers.reserve(HEADERS_USUAL);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("Authorization, Accept, Prefer, Accept-Language"));
    headers.insert(REQUEST_ID, wanted.request_id.header());
    if !bytes.is_empty() {
        headers.insert(CONTENT_TYPE, wanted.media.content_type());
        if wanted.pretty
            && let Some(indented) = indent(&bytes)
        {
            bytes = indented;
        }
        if wanted.gzip && bytes.len() > GZIP_BYTES_MIN {
            bytes = gzip(&bytes);
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            let vary = "Authorization, Accept, Prefer, Accept-Language, Accept-Encoding";
            headers.insert(VARY, HeaderValue::from_static(vary));
        }
    }
    if wanted.head {
        if !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        }
    } else {
        *response.body_mut() = match turn {
            Some(turn) => Full::new(Bytes::from_owner(BodyWithPermit { bytes, _turn: turn })),
            None => Full::from(bytes),
        };
    }
    response
}

/// Level 1: a Bundle of certificates shrinks to a tenth already, at a fifth of the time of the default.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

/// `W/"3"`. It is written without the machinery of formatting, which takes longer than all the rest of a header.
fn tag(version: Version) -> HeaderValue {
    const LONGEST: usize = "W/\"4294967295\"".len();
    let mut text = [b'"'; LONGEST];
    let (mut at, mut number) = (LONGEST - 1, version.get());
    while number > 0 {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    at -= 3;
    text[at..at + 3].copy_from_slice(b"W/\"");
    header::value(&text[at..])
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http_body_util::BodyExt;
    use hyper::header::{HeaderMap, HeaderName};
    use hyper::{Method, body::Body};

    use super::*;
    use fhir::outcome::{Hcert, Issue};

    fn wanted() -> AnswerForm {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static("r-1"));
        AnswerForm::new(&Method::GET, &headers)
    }

    fn read(body: Vec<u8>) -> Answer {
        let version = Version::new(3).map(|version| (version, 784_111_777_999));
        Answer { status: 200, body, version, ..Answer::default() }
    }

    fn text(response: &Response<Full<Bytes>>, name: HeaderName) -> Option<&str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    async fn bytes(response: Response<Full<Bytes>>) -> Vec<u8> {
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    #[tokio::test]
    async fn an_answer_has_all_its_headers() {
        let response = answer(read(b"{\"a\":1.10}".to_vec()), &wanted());
        assert_eq!(response.status(), 200);
        assert_eq!(text(&response, ETAG), Some("W/\"3\""));
        assert_eq!(text(&response, LAST_MODIFIED), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert_eq!(text(&response, CONTENT_TYPE), Some("application/fhir+json; charset=utf-8"));
        assert_eq!(text(&response, CACHE_CONTROL), Some("no-store"));
        assert_eq!(text(&response, VARY), Some("Authorization, Accept, Prefer, Accept-Language"));
        assert_eq!(text(&response, REQUEST_ID), Some("r-1"));
        assert_eq!(bytes(response).await, b"{\"a\":1.10}");
    }

    #[test]
    fn tags_of_all_lengths_are_weak_and_quoted() {
        for number in [1, 9, 10, 4_294_967_295] {
            assert_eq!(tag(Version::new(number).unwrap()), format!("W/\"{number}\""));
        }
    }

    #[tokio::test]
    async fn an_answer_without_body_has_no_content_type() {
        let created = Answer {
            status: 201,
            location: Some("http://x/fhir/Composition/1/_history/1".to_owned()),
            ..Answer::default()
        };
        let response = answer(created, &wanted());
        assert_eq!(text(&response, LOCATION), Some("http://x/fhir/Composition/1/_history/1"));
        assert_eq!(text(&response, CONTENT_TYPE), None);
        assert!(response.body().is_end_stream());
    }

    #[tokio::test]
    async fn only_bodies_above_the_bound_are_compressed() {
        let gzip = AnswerForm { gzip: true, ..wanted() };
        let small = answer(read(vec![b'1'; GZIP_BYTES_MIN]), &gzip);
        assert_eq!(text(&small, CONTENT_ENCODING), None);
        let large = answer(read(vec![b'1'; GZIP_BYTES_MIN + 1]), &gzip);
        assert_eq!(text(&large, CONTENT_ENCODING), Some("gzip"));
        assert_eq!(text(&large, VARY), Some("Authorization, Accept, Prefer, Accept-Language, Accept-Encoding"));
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(bytes(large).await.as_slice()).read_to_end(&mut back).unwrap();
        assert_eq!(back, vec![b'1'; GZIP_BYTES_MIN + 1]);
        let refused = answer(read(vec![b'1'; GZIP_BYTES_MIN + 1]), &wanted());
        assert_eq!(text(&refused, CONTENT_ENCODING), None);
    }

    #[test]
    fn head_answers_what_get_would_without_the_body() {
        for gzip in [false, true] {
            let get = answer(read(vec![b'1'; 5000]), &AnswerForm { gzip, ..wanted() });
            let length = get.body().size_hint().exact().unwrap().to_string();
            let mut head = answer(read(vec![b'1'; 5000]), &AnswerForm { gzip, head: true, ..wanted() });
            assert_eq!(text(&head, CONTENT_LENGTH), Some(length.as_str()));
            assert!(head.body().is_end_stream());
            head.headers_mut().remove(CONTENT_LENGTH);
            assert_eq!(head.headers(), get.headers());
        }
    }

    #[tokio::test]
    async fn the_leading_issue_decides_the_status_and_503_says_when_to_come_back() {
        let issues = vec![Issue::new(Hcert::ProfileWrong), Issue::new(Hcert::JsonSyntax)];
        assert_eq!(outcome(&issues.into(), &wanted(), "s").status(), 400);
        let busy = outcome(&Hcert::RequestsFull.into(), &wanted(), "s");
        assert_eq!((busy.status().as_u16(), text(&busy, RETRY_AFTER)), (503, Some("2")));
        let throttled = outcome(&Hcert::TooManyRequests.into(), &wanted(), "s");
        assert_eq!((throttled.status().as_u16(), text(&throttled, RETRY_AFTER)), (429, Some("2")));
        assert_eq!(text(&outcome(&Hcert::CommitUnknown.into(), &wanted(), "s"), RETRY_AFTER), None);
    }

    #[tokio::test]
    async fn a_private_cause_is_for_the_log_which_knows_the_id_that_the_caller_got() {
        let response = outcome(&Outcome::internal("disk /secret is full"), &wanted(), "s");
        assert_eq!(response.status(), 500);
        let RefusalReason { code, id, cause } = response.extensions().get().cloned().unwrap();
        assert_eq!((code.as_str(), cause.as_deref()), (Hcert::Internal.code(), Some("disk /secret is full")));
        let text = String::from_utf8(bytes(response).await).unwrap();
        assert!(!text.contains("secret"));
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["issue"][0]["id"].as_str(), id.as_deref());
    }
}
