//! The lines of the log, as whoever collects them reads them.

use std::path::Path;

use serde_json::Value;

use super::Place;
use super::process::Process;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// Planted wherever a caller can put something.
const CODES: [&str; 3] = ["39406240015", "48001010001", "60001019906"];

fn start(data: &Path, format: &str) -> Process {
    Process::start_with(data, |command| {
        command.env("HCERT__LOG__LEVEL", "trace").env("HCERT__LOG__FORMAT", format);
    })
}

fn lines(log: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    log.lines().map(read).collect()
}

/// Requests of every kind, with something nasty in each.
fn requests(server: &Process) {
    let mut client = server.client();
    let parent = format!("traceparent: {PARENT}");
    let nasty = "x-request-id: a\u{9b}[2Jb";
    let coded = format!("x-request-id: r-{}", CODES[0]);
    let planted = format!("traceparent: 00-{}{}-00f067aa0ba902b7-01", "a".repeat(21), CODES[0]);
    for (method, path, headers, body, status) in [
        ("GET", "/metadata", vec![parent.as_str()], "", 200),
        ("GET", "/Composition/1", vec![parent.as_str()], "", 404),
        ("GET", "/Composition/%0a%1b%5b2J%22%7d", vec![], "", 404),
        ("GET", "/Composition?subject:Patient.identifier=48001010001&x=%0a%e2%80%a8", vec![nasty], "", 400),
        ("GET", "/Patient?identifier=60001019906", vec![coded.as_str()], "", 200),
        ("GET", "/Nothing/48001010001", vec![planted.as_str()], "", 404),
        ("POST", "/Composition", vec![parent.as_str()], "{\"title\": \"39406240015\n\"}", 400),
        ("GET", "/Composition?_count=%7f%c2%80%0d%0a", vec![], "", 400),
    ] {
        let told = client.send(method, path, &headers, body.as_bytes()).expect("an answer");
        assert_eq!(told.status, status, "{method} {path}: {}", told.text());
        let traced = told.header("traceparent").map(|parent| parent.get(3..35).expect("55 characters").to_owned());
        assert_eq!(traced.as_deref(), headers.contains(&parent.as_str()).then_some(TRACE), "{method} {path}");
    }
}

#[test]
fn every_line_is_an_object_with_the_names_of_the_schema() {
    let place = Place::new();
    let server = start(&place.path("data"), "auto");
    requests(&server);
    let log = server.log();
    let lines = lines(&log);
    for line in &lines {
        let text = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("{name} is no text in {line}")).to_owned();
        assert!(text("@timestamp").parse::<jiff::Timestamp>().is_ok() && text("@timestamp").ends_with('Z'), "{line}");
        assert!(["error", "warn", "info", "debug", "trace"].contains(&text("log.level").as_str()), "{line}");
        assert!(!text("message").is_empty() && !text("log.logger").is_empty(), "{line}");
        assert_eq!((text("service.name"), text("ecs.version")), ("hcert".to_owned(), "8.17.0".to_owned()));
        assert_eq!(text("service.version"), env!("CARGO_PKG_VERSION"));
        assert_eq!(line["process.pid"], server.id());
        let known = ["@timestamp", "message"];
        let sets = ["ecs", "error", "event", "hcert", "http", "log", "process", "service", "span", "trace"];
        for name in line.as_object().expect("an object").keys() {
            let set = name.split('.').next().expect("a name");
            assert!(known.contains(&name.as_str()) || sets.contains(&set), "{name} in {line}");
        }
    }
    let answers: Vec<&Value> = lines.iter().filter(|line| line["event.dataset"] == "hcert.answers").collect();
    assert_eq!(answers.len(), 8, "each request has its line: {log}");
    for line in answers {
        assert_eq!(line["message"], "answered");
        for name in ["http.request.method", "http.request.id", "hcert.route", "trace.id", "span.id"] {
            assert!(line[name].is_string(), "{name} in {line}");
        }
        for name in ["http.response.status_code", "event.duration"] {
            assert!(line[name].is_u64(), "{name} in {line}");
        }
    }
    assert!(!log.chars().any(|character| character.is_control() && character != '\n') && !log.contains('\u{2028}'));
}

#[test]
fn each_line_of_a_request_names_its_trace() {
    let place = Place::new();
    let server = start(&place.path("data"), "json");
    requests(&server);
    let lines = lines(&server.log());
    let of_trace = |line: &&Value| line["trace.id"] == TRACE;
    assert_eq!(lines.iter().filter(of_trace).filter(|line| line["message"] == "answered").count(), 3);
    // What is said on the way to an answer comes from the same request.
    let own = |line: &&Value| line["log.logger"].as_str().is_some_and(|logger| logger.starts_with("hcert::http"));
    assert!(lines.iter().filter(own).all(|line| line["trace.id"].is_string()), "{lines:#?}");
    let others: Vec<_> =
        lines.iter().filter(|line| line["message"] == "answered").filter(|line| !of_trace(line)).collect();
    let different: std::collections::BTreeSet<_> = others.iter().map(|line| line["trace.id"].to_string()).collect();
    assert_eq!((others.len(), different.len()), (5, 5), "each request has its own: {others:#?}");
}

#[test]
fn a_request_id_that_is_a_uuid_is_the_trace_too() {
    let place = Place::new();
    let server = start(&place.path("data"), "json");
    let id = "0b7c1f3e-5d0a-4a52-9f38-6d3f5f0f6a01";
    let told = server.client().send("GET", "/metadata", &[&format!("x-request-id: {id}")], b"").unwrap();
    assert_eq!((told.header("x-request-id"), told.header("traceparent")), (Some(id), None));
    let lines = lines(&server.log());
    let line = lines.iter().find(|line| line["message"] == "answered").expect("its line");
    assert_eq!((&line["http.request.id"], &line["trace.id"]), (&id.into(), &id.replace('-', "").into()));
}

#[test]
fn nobody_is_named_in_any_form_of_the_log() {
    let place = Place::new();
    for format in ["json", "text"] {
        let server = start(&place.path(format), format);
        requests(&server);
        let log = server.log();
        assert!(log.contains("answered") && (log.starts_with('{') == (format == "json")), "{log}");
        for code in CODES {
            assert!(!log.contains(code), "{code} in {log}");
        }
        assert!(log.lines().filter(|line| line.contains("answered")).count() == 8, "{log}");
        assert!(!log.chars().any(|character| character.is_control() && character != '\n'), "{log}");
    }
}
