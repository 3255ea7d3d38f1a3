//! The patient registry and what certificates have of it. Contract 6.

mod broken;
mod credential;
mod faults;
mod linked;
mod nobody;
mod population;
mod relayed;
mod remote;
mod rules;
mod subject;
mod together;
mod walk;

use fhir::outcome::{IssueSystems, reflected};
use hcert::config::Config;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::body::Body;
use crate::server::{Listening, START, Server};

/// Identifier system of Estonian personal codes.
const CODE: &str = "https://fhir.ee/sid/pid/est/ni";

/// A draft about this subject: a Reference.
fn about(subject: serde_json::Value) -> Body {
    Body::draft().with("/subject", json!([subject]))
}

/// A draft about `Patient/<id>`.
fn about_patient(id: u64) -> Body {
    about(json!({"reference": format!("Patient/{id}")}))
}

/// A draft about somebody known by an identifier alone.
fn about_identifier(system: &str, value: &str) -> Body {
    about(json!({"identifier": {"system": system, "value": value}}))
}

/// A service whose patients another one keeps. A question is put once and nothing is remembered, unless `change` says otherwise.
async fn asking(registry: &Listening, change: impl FnOnce(&mut Config)) -> Server {
    let server = Server::with(START, |config| {
        config.registry.mode = hcert::config::RegistryMode::Remote;
        config.registry.remote.address = Some(format!("http://{}{}", registry.address, config.server.base_path));
        config.registry.remote.tries = 1;
        config.registry.remote.cache_s = 0;
        change(config);
    });
    server.await
}

/// A service whose registry answers the head of each request with these bytes and hangs up.
async fn answered(answer: impl Fn(&str) -> String + Send + 'static, change: impl FnOnce(&mut Config)) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}/fhir", listener.local_addr().expect("it has an address"));
    let server = Server::with(START, |config| {
        config.registry.mode = hcert::config::RegistryMode::Remote;
        config.registry.remote.address = Some(address);
        config.registry.remote.tries = 1;
        config.registry.remote.cache_s = 0;
        change(config);
    });
    let server = server.await;
    let names = server.names;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // The question is in the first packet; an answer to half of it would be as good.
            let mut head = [0; 4096];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let answer = names.sent_text(&answer(&String::from_utf8_lossy(&head[..read])));
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    server
}

/// An answer of HTTP/1.1, after which the connection ends.
fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n{body}")
}

/// The same of FHIR.
fn fhir(status: &str, body: &str) -> String {
    http(status, "Content-Type: application/fhir+json\r\n", body)
}

/// An OperationOutcome with one issue for each code.
fn outcome(codes: &[&str]) -> String {
    let issue = |code: &&str| {
        let system = reflected::find(code).map(|entry| IssueSystems::default().of(entry.system).to_owned());
        let system = system.unwrap_or_else(|| "https://hcert.tehik.ee/issue".to_owned());
        json!({"severity": "error", "code": "exception",
               "details": {"coding": [{"system": system, "code": code}], "text": format!("Viga {code}")}})
    };
    json!({"resourceType": "OperationOutcome", "issue": codes.iter().map(issue).collect::<Vec<_>>()}).to_string()
}

/// A searchset without an entry.
const EMPTY: &str = r#"{"resourceType":"Bundle","type":"searchset","total":0,"link":[{"relation":"self","url":"https://example.ee/fhir/Patient"}]}"#;
