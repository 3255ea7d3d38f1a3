//! The service as its callers meet it, without a socket.

use std::net::SocketAddr;
use std::sync::Arc;

use certificate::search::paging::Counts;
use certificate::{Id, Names};
use engine::{Clock, Engine, PatientFacts, PatientWrite, PatientWrites};
use hcert::config::Config;
use hcert::http;
use hcert::interaction::{self, Policy, Rulebook, Service};
use hcert::registry::Registry;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A server over an engine. Requests may come from many threads at once.
pub(crate) struct TestServer {
    server: Arc<http::HttpServer<Service>>,
    runtime: Runtime,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// Makes patients known, so that certificates can be about them.
pub(crate) fn know_patients(engine: &Engine, ids: impl IntoIterator<Item = u64>) {
    let patient = |id| PatientWrite {
        id: Id::new(id),
        unless: None,
        alone: None,
        facts: PatientFacts { is_active: true, is_deceased: false, born: None, identifiers: vec![], links: vec![] },
        tail: b"},\"active\":true}".to_vec(),
    };
    let written =
        engine.append(PatientWrites { writes: ids.into_iter().map(patient).collect(), waits: true }).blocking_recv();
    written.expect("the writer answers").expect("patients can be stored");
}

impl TestServer {
    pub(crate) fn new(engine: &Arc<Engine>, clock: Clock) -> TestServer {
        let config = Config::default();
        let address: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        let settings = interaction::ServiceSettings {
            names: Names::default(),
            issue_system: config.namespaces.hcert_issue_system.clone(),
            count: Counts::default(),
            link_seconds: 3_600,
            full_url_absolute: false,
            external_reference_system: config.registry.external_reference_system.clone(),
        };
        let rulebook = Rulebook::open(engine.clone(), settings.names.clone(), false);
        let rulebook = Arc::new(rulebook.expect("the profiles and lists that ship can be used"));
        let registry = Registry::open(&config, engine.clone(), clock.clone()).expect("settings of a registry");
        let service = Service::new(engine.clone(), registry, Policy::default(), rulebook, settings, clock);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        TestServer {
            server: http::HttpServer::new(service, http::HttpSettings::new(&config, address).unwrap()),
            runtime,
        }
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let mut request = Request::builder().method(method).uri(format!("/fhir/{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_empty() {
            request = request.header("content-length", body.len());
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let server = Arc::clone(&self.server);
        self.runtime.block_on(async move {
            let (parts, body) = server.answer(request, None).await.into_parts();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            TestResponse { status: parts.status.as_u16(), headers: parts.headers, body }
        })
    }

    pub(crate) fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], "")
    }

    /// Sends a resource.
    pub(crate) fn put(&self, method: &str, path: &str, headers: &[(&str, &str)], resource: &Value) -> TestResponse {
        let headers = [&[("content-type", "application/fhir+json")], headers].concat();
        self.send(method, path, &headers, &resource.to_string())
    }
}

/// A name and value as they stand in an address or a form.
pub(crate) fn encoded(parameters: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| format!("{}={}", percent(name), percent(value));
    parameters.iter().map(pair).collect::<Vec<_>>().join("&")
}

pub(crate) fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
