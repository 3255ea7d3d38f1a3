use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::http::ANSWERS;
use crate::trace::Trace;

/// Keeps what is written, and in how many goes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Kept;

    fn make_writer(&'a self) -> Kept {
        self.clone()
    }
}

/// The lines that are written while something is done.
fn lines(format: Format, said: impl FnOnce()) -> Vec<String> {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(kept.clone());
    tracing::subscriber::with_default(subscriber.event_format(format).finish(), said);
    let written = kept.0.lock().unwrap();
    written.iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
}

fn json_of(said: impl FnOnce()) -> Vec<Value> {
    let lines = lines(Format::Json(Json::new()), said);
    lines.iter().map(|line| serde_json::from_str(line.strip_suffix('\n').unwrap()).unwrap()).collect()
}

#[test]
fn an_answer_is_told_under_the_names_of_the_schema() {
    let trace = Trace { id: [0xab; 16], span: [0xcd; 8], is_sampled: false };
    let told = json_of(|| {
        let _entered = trace.enter();
        let (method, status, us, request) = ("GET", 200_u16, 1_234_u128, "r-1");
        tracing::info!(target: ANSWERS, method, route = "/Composition/{id}", status, us, request, "answered");
    });
    let line = &told[0];
    for (name, value) in [
        ("log.level", json!("info")),
        ("message", json!("answered")),
        ("ecs.version", json!("8.17.0")),
        ("service.name", json!("hcert")),
        ("service.version", json!(env!("CARGO_PKG_VERSION"))),
        ("event.dataset", json!("hcert.answers")),
        ("process.pid", json!(std::process::id())),
        ("log.logger", json!("hcert::answers")),
        ("trace.id", json!("ab".repeat(16))),
        ("span.id", json!("cd".repeat(8))),
        ("http.request.method", json!("GET")),
        ("http.request.id", json!("r-1")),
        ("http.response.status_code", json!(200)),
        ("event.duration", json!(1_234_000)),
        ("hcert.route", json!("/Composition/{id}")),
    ] {
        assert_eq!(line[name], value, "{name} in {line}");
    }
    let at = line["@timestamp"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok(), "{at}");
}

#[test]
fn a_line_outside_of_requests_names_no_trace() {
    let told = json_of(|| tracing::error!(cause = "no room", "a batch was not stored"));
    assert_eq!(told[0]["error.message"], "no room");
    assert_eq!((&told[0]["log.level"], &told[0]["event.dataset"]), (&json!("error"), &json!("hcert.service")));
    assert!(told[0].get("trace.id").is_none());
}

#[test]
fn no_name_stands_twice_in_a_line() {
    let lines = lines(Format::Json(Json::new()), || tracing::warn!(cause = "a", problem = "b", error = %"c", "three"));
    assert_eq!(lines[0].matches("\"error.message\"").count(), 1, "{}", lines[0]);
    let read: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&read["hcert.problem"], &read["hcert.error"]), (&json!("b"), &json!("c")));
}

#[test]
fn whatever_is_said_stays_on_one_line_that_is_written_in_one_go() {
    let nasty = "a\r\nb\u{0}\u{1b}[2J\u{85}\u{2028}\"}\\";
    let say = || tracing::warn!(cause = nasty, problem = ?nasty, other = %nasty, "{nasty}");
    let written = lines(Format::Json(Json::new()), say);
    assert_eq!(written.len(), 1, "a line is one write");
    let read: Value = serde_json::from_str(&written[0]).unwrap();
    let whole = json!(nasty);
    for name in ["message", "error.message", "hcert.other"] {
        assert_eq!(read[name], whole, "{name}");
    }
    for format in [Format::Json(Json::new()), Format::Text(Text { has_colours: false })] {
        let written = lines(format, say);
        let (line, end) = written[0].split_at(written[0].len() - 1);
        assert!(end == "\n" && !line.chars().any(char::is_control) && !line.contains('\u{2028}'), "{line:?}");
    }
}

#[test]
fn a_terminal_is_told_in_words() {
    let trace = Trace { id: [0xab; 16], span: [0xcd; 8], is_sampled: false };
    let written = lines(Format::Text(Text { has_colours: false }), || {
        let _entered = trace.enter();
        tracing::warn!(problem = "no room left", count = 2, at = "here", "it fails");
    });
    let (_, rest) = written[0].split_once("Z ").unwrap();
    let expected = "it fails problem=\"no room left\" count=2 at=here trace=abababababababababababababababab\n";
    let (before, after) = rest.split_once(": ").unwrap();
    assert_eq!((before, after), (" WARN hcert::cli::log::tests", expected));
}
