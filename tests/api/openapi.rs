//! GET /openapi.json: what it says of the API holds for whatever these tests ask, and its examples work.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use certificate::Names;
use certificate::search::paging::Counts;
use hcert::interaction::openapi::sample::SampleRequest;
use hcert::interaction::openapi::{ApiSettings, description};
use hcert::interaction::{INTERACTIONS, TokenPolicy};
use serde_json::Value;

use crate::response::TestResponse;
use crate::server::Server;

/// Method, parts of the path, and the statuses with which an operation is said to answer.
type Documented = (String, Vec<String>, BTreeSet<String>);

static OPERATIONS: LazyLock<Vec<Documented>> = LazyLock::new(|| {
    let (names, tokens) = (Names::default(), TokenPolicy::default());
    let settings = ApiSettings { base_url: "", names: &names, count: Counts::default(), tokens: &tokens };
    let document = description(&settings);
    let each = operations(&document).map(|(path, method, operation)| {
        let statuses = operation["responses"].as_object().expect("responses").keys().cloned().collect();
        let segments = path.split('/').skip(1).map(str::to_owned).collect();
        (method.to_uppercase(), segments, statuses)
    });
    each.collect()
});

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods").iter();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

/// Every answer of every test of this folder has a status that the description names.
pub(crate) fn check(told: &TestResponse) {
    let Some((method, target)) = told.line.split_once(' ') else { return };
    let path = target.split('?').next().unwrap_or_default();
    let Some(path) = path.strip_prefix("/fhir/") else { return };
    let segments: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let method = if method == "HEAD" { "GET" } else { method };
    let fits = |(_, template, _): &&Documented| {
        let same = |(part, segment): (&String, &&str)| part.starts_with('{') || part == segment;
        template.len() == segments.len() && template.iter().zip(&segments).all(same)
    };
    // A part that is the same is nearer than a place for any id.
    let places = |(_, template, _): &&Documented| template.iter().filter(|part| part.starts_with('{')).count();
    let Some((_, nearest, _)) = OPERATIONS.iter().filter(fits).min_by_key(places) else { return };
    let mut ways = OPERATIONS.iter().filter(|(_, template, _)| template == nearest);
    let Some((_, _, statuses)) = ways.find(|(known, ..)| known == method) else { return };
    let status = told.status.as_u16();
    let is_named = statuses.contains(&status.to_string()) || statuses.contains(&format!("{}XX", status / 100));
    // A path whose id has another form leads nowhere.
    assert!(
        is_named || told.codes().contains(&"HCERT-126".to_owned()),
        "/openapi.json does not name this status: {told}"
    );
}

async fn document(server: &Server) -> Value {
    server.get("openapi.json").await.expect(200).json()
}

#[tokio::test]
async fn it_is_the_same_at_the_root_and_below_the_base_path_and_needs_no_token() {
    let server = Server::with("2025-01-13T08:00:00+02:00", |config| {
        config.access.mode = hcert::config::AccessMode::Jwt;
    })
    .await;
    let told = server.get("openapi.json").await.expect(200);
    assert_eq!(told.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(server.get("/openapi.json").await.expect(200).json(), told.json());
    server.ask("OPTIONS", "openapi.json").await.expect(204);
}

#[tokio::test]
async fn every_row_of_the_table_is_described_once_and_every_reference_leads_somewhere() {
    let server = Server::start().await;
    let document = document(&server).await;
    assert_eq!(document["openapi"], "3.1.0");
    let described: BTreeSet<(&str, &str)> = operations(&document).map(|(path, method, _)| (path, method)).collect();
    for row in INTERACTIONS {
        let path = row.path.replace("{definition}", "ValueSet");
        let method = row.method.name().to_lowercase();
        assert!(described.contains(&(path.as_str(), method.as_str())), "{method} {path}");
    }
    let ids: BTreeSet<&str> = operations(&document).filter_map(|(_, _, it)| it["operationId"].as_str()).collect();
    assert_eq!(ids.len(), described.len(), "{ids:?}");
    references(&document, &mut |address| {
        assert!(document.pointer(address.trim_start_matches('#')).is_some(), "{address} leads nowhere");
    });
}

fn references(value: &Value, met: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            if let Some(address) = members.get("$ref").and_then(Value::as_str) {
                met(address);
            }
            members.values().for_each(|member| references(member, met));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, met)),
        _ => {}
    }
}

/// The order in which the examples are sent: the life of `Composition/1`, then all that reads it.
const LIFE: [&str; 5] = [
    "Composition-create",
    "Composition-update",
    "Composition-set-consent",
    "Composition-suspend",
    "Composition-cancel",
];

#[tokio::test]
async fn every_example_works() {
    let server = Server::start().await;
    let document = document(&server).await;
    let mut requests = SampleRequest::all(&document);
    let place = |request: &SampleRequest| LIFE.iter().position(|id| *id == request.id).unwrap_or(LIFE.len());
    requests.sort_by_key(place);
    assert_eq!(requests.iter().take(LIFE.len()).map(|request| &*request.id).collect::<Vec<_>>(), LIFE);
    for request in requests {
        let mut asked = server.ask(&request.method, &request.path[1..]);
        for (name, value) in request.headers.iter().filter(|(name, _)| name != "Content-Type") {
            asked = asked.header(name, value);
        }
        let media = request.headers.iter().find(|(name, _)| name == "Content-Type").map(|(_, media)| &**media);
        if let Some(body) = &request.body {
            asked = asked.body_as(media, body.text.clone());
        }
        let told = asked.await;
        // The certificate of the examples is revoked, and only drafts are deleted.
        let wanted = if request.id == "Composition-delete" { 409..410 } else { 200..300 };
        assert!(wanted.contains(&told.status.as_u16()), "{}: {told}", request.id);
    }
}

#[tokio::test]
async fn snippets_are_there_in_five_languages_and_hold_the_request() {
    let server = Server::start().await;
    let document = document(&server).await;
    for (path, method, operation) in operations(&document) {
        let samples = operation["x-codeSamples"].as_array().expect("snippets");
        let labels: Vec<&str> = samples.iter().filter_map(|sample| sample["label"].as_str()).collect();
        assert_eq!(labels, ["curl", "JavaScript", "Python", "Java", "C#"], "{method} {path}");
        let request = SampleRequest::of(&document, path, method);
        for sample in samples {
            let source = sample["source"].as_str().expect("a text");
            assert!(source.contains(&request.url()), "{method} {path}: {source}");
            assert!(!source.contains("{id}") && source.ends_with('\n'), "{source}");
        }
    }
}
