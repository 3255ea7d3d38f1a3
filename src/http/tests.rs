//! The whole way of a request, without a socket.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Frame;
use hyper::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY};
use hyper::http::request::Builder;

use super::body::BodySize;
use super::request_id::REQUEST_ID;
use super::*;
use crate::config::Config;
use crate::config::limits::{LARGE_BODIES_HELD, SMALL_ANSWER_BYTES, SMALL_BODIES_BYTES_MAX};
use crate::http::answers::ANSWERS_FREE_SHARE;
use crate::http::limits::{INDENTED_EXPANSION, LARGE_BODY_BYTES};
use crate::interaction::InteractionKind;
use crate::turns::ClientKey;

/// A stand-in for the service.
pub(super) type Answers = Box<dyn Fn(&Interaction) -> Result<Answer, Outcome> + Send + Sync>;

pub(super) struct StandIn {
    answers: Answers,
    pub seen: Mutex<Vec<(Interaction, RequestContext, Vec<u8>)>>,
}

impl Interactions for StandIn {
    async fn run(&self, interaction: Interaction, context: RequestContext, body: Vec<u8>) -> Result<Answer, Outcome> {
        let result = (self.answers)(&interaction);
        self.seen.lock().unwrap().push((interaction, context, body));
        result
    }
}

pub(super) fn settings() -> HttpSettings {
    HttpSettings::new(&Config::default(), "127.0.0.1:8080".parse().unwrap()).unwrap()
}

pub(super) fn server_with(settings: HttpSettings, answers: Answers) -> Arc<HttpServer<StandIn>> {
    HttpServer::new(StandIn { answers, seen: Mutex::default() }, settings)
}

pub(super) fn ok(_: &Interaction) -> Result<Answer, Outcome> {
    Ok(Answer { status: 200, body: b"{\"resourceType\":\"Composition\"}".to_vec(), ..Answer::default() })
}

fn server() -> Arc<HttpServer<StandIn>> {
    server_with(settings(), Box::new(ok))
}

/// hyper moves the future of each request several times, and keeps room for one in each connection.
#[tokio::test]
async fn the_future_of_a_request_is_small() {
    let request = Request::get("/fhir/Composition/1").body(Full::<Bytes>::default()).unwrap();
    let bytes = size_of_val(&server().answer(request, None));
    assert!(bytes <= 6 * 1024, "{bytes} bytes");
}

struct Told {
    status: u16,
    headers: hyper::HeaderMap,
    body: String,
}

impl Told {
    fn header(&self, name: &hyper::header::HeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status and the codes of the issues.
    fn codes(&self) -> (u16, Vec<String>) {
        let resource: serde_json::Value = serde_json::from_str(&self.body).expect("an OperationOutcome");
        assert_eq!(resource["resourceType"], "OperationOutcome");
        assert_eq!(resource["text"]["status"], "generated");
        let codes = resource["issue"].as_array().unwrap().iter().map(|issue| {
            assert!(uuid::Uuid::parse_str(issue["id"].as_str().unwrap()).is_ok());
            issue["details"]["coding"][0]["code"].as_str().unwrap().to_owned()
        });
        (self.status, codes.collect())
    }
}

async fn send(server: &Arc<HttpServer<StandIn>>, request: Builder, body: &str) -> Told {
    let body = Full::new(Bytes::from(body.to_owned()));
    let response = Arc::clone(server).answer(request.body(body).unwrap(), None).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Told { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body).unwrap() }
}

async fn get(path: &str) -> Told {
    send(&server(), Request::get(path), "").await
}

fn create() -> Builder {
    Request::post("/fhir/Composition").header(CONTENT_TYPE, "application/fhir+json").header(CONTENT_LENGTH, "2")
}

fn search() -> Builder {
    Request::post("/fhir/Composition/_search?status=final").header(CONTENT_TYPE, "application/x-www-form-urlencoded")
}

fn refused(status: u16, code: Hcert) -> (u16, Vec<String>) {
    (status, vec![code.code().to_owned()])
}

#[tokio::test]
async fn every_refusal_is_an_operation_outcome_with_the_headers_of_every_answer() {
    for (method, path) in
        [("GET", "/"), ("POST", "/fhir/Practitioner"), ("BREW", "/nothing"), ("CONNECT", "localhost:443")]
    {
        let told = send(&server(), Request::builder().method(method).uri(path).header(REQUEST_ID, "r-1"), "").await;
        assert_eq!(told.codes(), refused(404, Hcert::PathUnknown), "{method} {path}");
        assert_eq!(told.header(&CONTENT_TYPE), Some("application/fhir+json; charset=utf-8"));
        assert_eq!(told.header(&hyper::header::CACHE_CONTROL), Some("no-store"));
        assert_eq!(told.header(&VARY), Some("Authorization, Accept, Prefer, Accept-Language"));
        assert_eq!(told.header(&REQUEST_ID), Some("r-1"));
        assert_eq!(told.header(&ALLOW), None);
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_what_is_allowed() {
    let told = send(&server(), Request::patch("/fhir/Composition/7"), "").await;
    assert_eq!(told.codes(), refused(405, Hcert::MethodNotAllowed));
    assert_eq!(told.header(&ALLOW), Some("GET, HEAD, PUT, DELETE, OPTIONS"));
    let told = send(&server(), Request::options("/fhir/Composition/7"), "").await;
    assert_eq!((told.status, told.body.as_str()), (204, ""));
    assert_eq!(told.header(&ALLOW), Some("GET, HEAD, PUT, DELETE, OPTIONS"));
    let told = send(&server(), Request::options("/fhir/Practitioner"), "").await;
    assert_eq!((told.codes(), told.header(&ALLOW)), (refused(404, Hcert::PathUnknown), None));
}

#[tokio::test]
async fn an_id_never_assigned_may_be_anything_but_put() {
    let server = server_with(settings(), Box::new(|_| Err(Hcert::IdNotAssigned.into())));
    let request =
        Request::put("/fhir/Composition/7").header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, "2");
    let told = send(&server, request, "{}").await;
    assert_eq!(told.codes(), refused(405, Hcert::IdNotAssigned));
    assert_eq!(told.header(&ALLOW), Some("GET, HEAD, DELETE, OPTIONS"));
}

/// Each request breaks one rule more than the one after it; the first in the order of Contract 2.9 is told.
#[tokio::test]
async fn checks_come_in_their_order() {
    let long = format!("?a={}", "x".repeat(16 * 1024));
    let request = |path: &str, headers: &[(&str, &str)]| {
        headers.iter().fold(Request::post(path), |request, (name, value)| request.header(*name, *value))
    };
    let (xml, accept) = (("content-type", "application/xml"), ("accept", "text/html"));
    let (json, large, tag) = (("content-type", "application/json"), ("content-length", "2097153"), ("if-match", "abc"));
    let create = "/fhir/Composition";
    for (request, expected) in [
        (request(&format!("/fhir/nothing{long}"), &[accept, xml, large, tag]), refused(404, Hcert::PathUnknown)),
        (
            request(&format!("/fhir/Composition/1{long}"), &[accept, xml, large, tag]),
            refused(405, Hcert::MethodNotAllowed),
        ),
        (request(&format!("{create}{long}"), &[accept, xml, large, tag]), refused(414, Hcert::QueryTooLong)),
        (request("/fhir/Composition?a=%", &[accept, xml, large, tag]), refused(400, Hcert::HttpMalformed)),
        (request(create, &[accept, xml, large, tag]), refused(406, Hcert::NotAcceptable)),
        (request(create, &[xml, large, tag, ("expect", "x")]), refused(417, Hcert::ExpectationUnknown)),
        (request(create, &[xml, tag]), refused(411, Hcert::LengthRequired)),
        (request(create, &[xml, large, tag]), refused(415, Hcert::MediaTypeUnsupported)),
        (request(create, &[json, large, tag]), refused(413, Hcert::BodyTooLong)),
        (request(create, &[json, ("content-length", "2"), tag]), refused(400, Hcert::HeaderWrong)),
    ] {
        assert_eq!(send(&server(), request, "{}").await.codes(), expected);
    }
}

#[tokio::test]
async fn a_query_of_the_largest_size_passes() {
    let path = |bytes: usize| format!("/fhir/Composition?{}", "a".repeat(bytes));
    assert_eq!(get(&path(16 * 1024)).await.status, 200);
    assert_eq!(get(&path(16 * 1024 + 1)).await.codes(), refused(414, Hcert::QueryTooLong));
}

#[tokio::test]
async fn a_body_reaches_the_interaction_as_it_was_sent() {
    let server = server();
    assert_eq!(send(&server, create().header(REQUEST_ID, "r-1"), "{}").await.status, 200);
    let (interaction, context, body) = server.run.seen.lock().unwrap().remove(0);
    assert_eq!((interaction, body), (Interaction::plain(InteractionKind::Create), b"{}".to_vec()));
    assert_eq!(&*context.base_url, "http://127.0.0.1:8080/fhir");
    assert_eq!(context.who.trace.as_deref(), Some("r-1"));
}

/// Contract 10.3. What was seen: 64 bodies of 2 MiB were checked on the threads that serve, and a read beside them waited for 15 s.
#[tokio::test]
async fn a_large_body_is_processed_on_the_pool_whatever_is_asked_for() {
    let served_by = Arc::new(Mutex::new(Vec::new()));
    let seen = served_by.clone();
    let answers = move |interaction: &Interaction| {
        seen.lock().unwrap().push(std::thread::current().name().map(str::to_owned));
        ok(interaction)
    };
    let server = server_with(settings(), Box::new(answers));
    let here = std::thread::current().name().map(str::to_owned);
    for (method, path) in [
        ("POST", "Composition"),
        ("PUT", "Composition/7"),
        ("POST", "Composition/7/$suspend"),
        ("POST", "Composition/7/$cancel"),
        ("POST", "Composition/7/$set-consent"),
        ("POST", "Composition/7/$get-consent"),
        ("POST", "Composition/7/$pdf"),
        ("POST", "Composition/$validate"),
        ("POST", "Composition/7/$validate"),
        ("POST", "ValueSet/$expand"),
        ("POST", "ValueSet/$validate-code"),
        ("POST", "CodeSystem/$validate-code"),
        ("POST", "CodeSystem/$lookup"),
    ] {
        for (bytes, expected) in
            [(LARGE_BODY_BYTES, here.clone()), (LARGE_BODY_BYTES + 1, Some("hcert-pool".to_owned()))]
        {
            let request = Request::builder().method(method).uri(format!("/fhir/{path}"));
            let request = request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, bytes);
            assert_eq!(send(&server, request, &" ".repeat(bytes)).await.status, 200, "{method} {path}");
            assert_eq!(served_by.lock().unwrap().pop(), Some(expected), "{method} {path} {bytes}");
            let (_, _, body) = server.run.seen.lock().unwrap().pop().unwrap();
            assert_eq!(body.len(), bytes);
        }
    }
}

/// A stand-in whose every stored resource has so many bytes.
struct Storing(usize);

impl Interactions for Storing {
    async fn run(&self, _: Interaction, _: RequestContext, _: Vec<u8>) -> Result<Answer, Outcome> {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        Ok(Answer { status: 200, body: name.into_bytes(), ..Answer::default() })
    }

    fn stored_bytes(&self, _: &Interaction, _: &RequestContext) -> usize {
        self.0
    }
}

#[tokio::test]
async fn a_large_stored_resource_is_read_through_on_the_pool() {
    for (bytes, is_on_pool) in [(LARGE_BODY_BYTES, false), (LARGE_BODY_BYTES + 1, true)] {
        let server = HttpServer::new(Storing(bytes), settings());
        let get = Request::get("/fhir/Composition/7?_summary=true").body(Full::<Bytes>::default()).unwrap();
        let post = Request::post("/fhir/Composition/7/$suspend").header(CONTENT_TYPE, "application/json");
        let post = post.header(CONTENT_LENGTH, "2").body(Full::<Bytes>::from("{}")).unwrap();
        for request in [get, post] {
            let answer = Arc::clone(&server).answer(request, None).await;
            let thread = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(thread == "hcert-pool", is_on_pool, "{thread:?}");
        }
    }
}

/// What was seen: each of 512 bodies of 64 KiB may have become 2 MB while the registry was waited for, and no bound counted that.
#[tokio::test]
async fn what_a_body_becomes_is_lent_with_it() {
    let server = server();
    let request = || create().header(hyper::header::TRANSFER_ENCODING, "chunked");
    let body = " ".repeat(LARGE_BODY_BYTES);
    let rest = LARGE_BODY_BYTES * crate::config::limits::BODY_EXPANSION;
    let held = server.bodies.of(BodySize::Small).reserve(SMALL_BODIES_BYTES_MAX - rest + 4_096).unwrap();
    assert_eq!(send(&server, request(), &body).await.status, 503);
    assert!(server.run.seen.lock().unwrap().is_empty());
    assert_eq!(send(&server, request(), "{}").await.status, 200);
    drop(held);
    assert_eq!(send(&server, request(), &body).await.status, 200);
    let all = server.bodies.of(BodySize::Small).reserve(SMALL_BODIES_BYTES_MAX);
    assert_eq!(all.map(drop), Some(()), "its memory came back");
}

#[tokio::test]
async fn a_panic_on_the_pool_is_answered() {
    let server = server_with(settings(), Box::new(|_| panic!("secret")));
    let large = " ".repeat(LARGE_BODY_BYTES + 1);
    let request = create().header(hyper::header::TRANSFER_ENCODING, "chunked");
    let told = send(&server, request, &large).await;
    assert_eq!(told.codes(), refused(500, Hcert::Internal));
    assert!(!told.body.contains("secret"));
    let bytes_max = server.settings.body_bytes_max;
    let all = server.bodies.of(BodySize::Large).reserve(LARGE_BODIES_HELD * bytes_max);
    assert_eq!(all.map(drop), Some(()), "its memory came back");
}

#[tokio::test]
async fn a_body_without_length_is_refused_only_where_http_needs_one() {
    let bare = || Request::post("/fhir/Composition").header(CONTENT_TYPE, "application/json");
    assert_eq!(send(&server(), bare(), "").await.codes(), refused(411, Hcert::LengthRequired));
    assert_eq!(send(&server(), bare().version(hyper::Version::HTTP_2), "").await.status, 200);
    let chunked = bare().header(hyper::header::TRANSFER_ENCODING, "chunked");
    assert_eq!(send(&server(), chunked, "{}").await.status, 200);
}

#[tokio::test]
async fn a_search_by_form_adds_the_form_to_the_query() {
    let server = server();
    assert_eq!(send(&server, search(), "category=a+b&_pretty=true").await.body.lines().count(), 3);
    let (interaction, context, body) = server.run.seen.lock().unwrap().remove(0);
    assert_eq!((interaction.kind(), context.by_form, body.len()), (InteractionKind::Search, true, 0));
    let expected = [("status", "final"), ("category", "a b"), ("_pretty", "true")];
    assert_eq!(context.parameters, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));

    let bare = Request::post("/fhir/Composition/_search?status=final");
    assert_eq!(send(&server, bare, "").await.status, 200);
    let (_, context, _) = server.run.seen.lock().unwrap().remove(0);
    assert_eq!((context.by_form, context.parameters.len()), (true, 1));
}

#[tokio::test]
async fn a_form_that_is_none_is_refused() {
    for (form, expected) in [
        ("a=%ff", refused(400, Hcert::HttpMalformed)),
        ("_format=xml", refused(406, Hcert::NotAcceptable)),
        ("_summary=maybe", refused(400, Hcert::SearchValueWrong)),
        ("_pretty=maybe", refused(400, Hcert::SearchValueWrong)),
        (&"a".repeat(16 * 1024 + 1), refused(413, Hcert::BodyTooLong)),
    ] {
        assert_eq!(send(&server(), search(), form).await.codes(), expected);
    }
    let body = Full::new(Bytes::from_static(b"a=\xff"));
    assert_eq!(server().answer(search().body(body).unwrap(), None).await.status(), 400);
    let json = Request::post("/fhir/Composition/_search").header(CONTENT_TYPE, "application/json");
    assert_eq!(send(&server(), json, "{}").await.codes(), refused(415, Hcert::MediaTypeUnsupported));
}

#[tokio::test]
async fn answers_and_refusals_come_in_the_form_that_was_asked_for() {
    let told = get("/fhir/Composition/7?_pretty=true&_format=application/json").await;
    assert_eq!(told.body, "{\n  \"resourceType\": \"Composition\"\n}\n");
    assert_eq!(told.header(&CONTENT_TYPE), Some("application/json; charset=utf-8"));
    let request =
        Request::get("/nothing?_pretty=true").header(ACCEPT, "application/json").header(ACCEPT_LANGUAGE, "et");
    let told = send(&server(), request, "").await;
    assert_eq!(told.header(&CONTENT_TYPE), Some("application/json; charset=utf-8"));
    assert!(told.body.starts_with("{\n  \"resourceType\""));
    let estonian = entry_text(fhir::outcome::Language::Estonian);
    assert!(told.body.contains(&estonian), "{}", told.body);
    assert_eq!(get("/fhir/Composition?_format=xml").await.codes(), refused(406, Hcert::NotAcceptable));
    assert_eq!(get("/fhir/Composition?_pretty=1").await.codes(), refused(400, Hcert::SearchValueWrong));
}

fn entry_text(language: fhir::outcome::Language) -> String {
    Issue::new(Hcert::PathUnknown).text(language)
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    for path in ["/fhir/Composition/7", "/nothing"] {
        let given = get(path).await;
        let told = send(&server(), Request::head(path), "").await;
        assert_eq!((told.status, told.body.as_str()), (given.status, ""));
        assert_eq!(told.header(&CONTENT_LENGTH), Some(given.body.len().to_string().as_str()));
    }
}

#[tokio::test]
async fn a_panic_is_answered_and_the_next_request_served() {
    let first = AtomicBool::new(true);
    let answers: Answers = Box::new(move |interaction| {
        assert!(!first.swap(false, Ordering::SeqCst), "secret");
        ok(interaction)
    });
    let server = server_with(settings(), answers);
    let told = send(&server, Request::get("/fhir/metadata"), "").await;
    assert_eq!(told.codes(), refused(500, Hcert::Internal));
    assert!(!told.body.contains("secret"));
    assert_eq!(send(&server, Request::get("/fhir/metadata"), "").await.status, 200);
}

/// A body of which nothing more comes.
struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for_forever() {
    let impatient = HttpSettings { body_timeout: Duration::from_millis(20), ..settings() };
    let server = server_with(impatient, Box::new(ok));
    let request = create().body(Silent).unwrap();
    let response = tokio::time::timeout(Duration::from_secs(5), Arc::clone(&server).answer(request, None)).await;
    assert_eq!(response.expect("in time").status(), 408);
    assert!(server.run.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_body_that_is_refused_by_its_length_is_not_waited_for() {
    let mut request = create().body(Silent).unwrap();
    request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("2097153"));
    let response = tokio::time::timeout(Duration::from_secs(1), server().answer(request, None)).await;
    assert_eq!(response.expect("at once").status(), 413);
}

struct Slow(Arc<AtomicBool>);

impl Interactions for Slow {
    async fn run(&self, _: Interaction, _: RequestContext, _: Vec<u8>) -> Result<Answer, Outcome> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.0.store(true, Ordering::SeqCst);
        ok(&Interaction::plain(InteractionKind::Capabilities))
    }
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_work() {
    let done = Arc::new(AtomicBool::new(false));
    let server = HttpServer::new(Slow(Arc::clone(&done)), settings());
    let request = Request::delete("/fhir/Composition/7").body(Full::<Bytes>::default()).unwrap();
    let gone = tokio::time::timeout(Duration::from_millis(10), server.answer(request, None)).await;
    assert!(gone.is_err() && !done.load(Ordering::SeqCst));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(done.load(Ordering::SeqCst));
}

#[tokio::test]
async fn links_follow_a_trusted_proxy() {
    let trusting =
        HttpSettings { trusted_proxies: vec!["10.0.0.1".parse().unwrap()], is_developer: false, ..settings() };
    let server = server_with(trusting, Box::new(ok));
    let request = Request::get("/fhir/metadata").header("x-forwarded-host", "hcert.example.ee");
    let request = request.header("x-forwarded-proto", "https").body(Full::<Bytes>::default()).unwrap();
    Arc::clone(&server).answer(request, Some("10.0.0.1".parse().unwrap())).await;
    let (_, context, _) = server.run.seen.lock().unwrap().remove(0);
    assert_eq!(&*context.base_url, "https://hcert.example.ee/fhir");
}

#[tokio::test]
async fn a_request_is_counted_for_the_address_that_it_came_from() {
    let server = server();
    for (peer, client) in [("192.0.2.1", Some(ClientKey::address("192.0.2.1".parse().unwrap()))), ("127.0.0.1", None)] {
        let request = Request::get("/fhir/metadata").body(Full::<Bytes>::default()).unwrap();
        Arc::clone(&server).answer(request, Some(peer.parse().unwrap())).await;
        let (_, context, _) = server.run.seen.lock().unwrap().remove(0);
        assert_eq!(context.client, client, "{peer}");
    }
}

/// Polls a request once: its status, where it has its answer by then.
async fn at_once(request: &mut (impl Future<Output = Response<Full<Bytes>>> + Unpin)) -> Option<u16> {
    std::future::poll_fn(|context| match Pin::new(&mut *request).poll(context) {
        Poll::Ready(response) => Poll::Ready(Some(response.status().as_u16())),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Compressing or indenting takes a thread for as long as an answer is large, and no thread that serves may be kept so.
#[expect(clippy::await_holding_lock, reason = "those that wait for it are threads of the pool")]
#[tokio::test]
async fn large_answers_are_compressed_and_indented_on_the_pool() {
    let body = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)).into_bytes();
    for (bytes, is_large) in [(LARGE_FORM_BYTES, false), (LARGE_FORM_BYTES + 1, true)] {
        let answers = move |_: &Interaction| Ok(Answer { status: 200, body: body(bytes), ..Answer::default() });
        let server = server_with(settings(), Box::new(answers));
        // Every thread of the pool waits until the lock is free.
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        let (begin, begun) = std::sync::mpsc::channel();
        let threads = server.pool().metrics().num_workers();
        for _ in 0..threads {
            let (lock, begin) = (Arc::clone(&lock), begin.clone());
            server.pool().spawn(async move {
                begin.send(()).unwrap();
                drop(lock.lock());
            });
        }
        (0..threads).for_each(|_| begun.recv().unwrap());
        let mut waiting = Vec::new();
        for (path, encoding, is_formed) in
            [("metadata", "identity", false), ("metadata", "gzip", true), ("metadata?_pretty=true", "identity", true)]
        {
            let request = Request::get(format!("/fhir/{path}")).header(hyper::header::ACCEPT_ENCODING, encoding);
            let request = request.body(Full::<Bytes>::default()).unwrap();
            let mut answer = Box::pin(Arc::clone(&server).answer(request, None));
            let expected = (!(is_large && is_formed)).then_some(200);
            assert_eq!(at_once(&mut answer).await, expected, "{path} {encoding} {bytes}");
            if expected.is_none() {
                waiting.push(answer);
            }
        }
        drop(held);
        for answer in waiting {
            assert_eq!(answer.await.status(), 200);
        }
    }
}

#[tokio::test]
async fn memory_is_lent_for_what_an_indented_answer_may_become() {
    let bytes = SMALL_ANSWER_BYTES;
    let answers = move |_: &Interaction| Ok(Answer { status: 200, body: vec![b'1'; bytes], ..Answer::default() });
    let server = server_with(settings(), Box::new(answers));
    // Others hold so much that the share of one connection is less than that.
    let others: Vec<_> = std::iter::from_fn(|| {
        let share = (ANSWERS_BYTES_MAX - server.answers.bytes()) / ANSWERS_FREE_SHARE;
        (share >= bytes * INDENTED_EXPANSION).then(|| server.answers.reserve(None, share).unwrap())
    })
    .collect();
    assert_eq!(send(&server, Request::get("/fhir/metadata"), "").await.status, 200);
    let told = send(&server, Request::get("/fhir/metadata?_pretty=true"), "").await;
    assert_eq!(told.codes(), refused(503, Hcert::AnswersFull));
    drop(others);
    let request = Request::get("/fhir/metadata?_pretty=true").body(Full::<Bytes>::default()).unwrap();
    let response = Arc::clone(&server).answer(request, None).await;
    assert_eq!((response.status().as_u16(), server.answers.bytes()), (200, bytes * INDENTED_EXPANSION));
    drop(response);
    assert_eq!(server.answers.bytes(), 0, "it came back");
}
