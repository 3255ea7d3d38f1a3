use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::time::moment;
use super::*;
use crate::cli::limits::{LOG_CAUSE_BYTES_MAX, LOG_LINE_BYTES_MAX};
use base::log::{self, AnsweredRequest, RefusalReason};
use base::trace::Trace;

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
fn lines(format: LineFormat, said: impl FnOnce()) -> Vec<String> {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(kept.clone());
    tracing::subscriber::with_default(subscriber.event_format(format).finish(), said);
    let written = kept.0.lock().unwrap();
    written.iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
}

fn json_of(said: impl FnOnce()) -> Vec<Value> {
    let lines = lines(LineFormat::Json(JsonLines::new()), said);
    lines.iter().map(|line| serde_json::from_str(line.strip_suffix('\n').unwrap()).unwrap()).collect()
}

const TRACE: Trace = Trace { id: [0xab; 16], span: [0xcd; 8], is_sampled: false };

/// The line of an answer, in bytes and read.
fn answer(about: &AnsweredRequest) -> (usize, Value) {
    let lines = lines(LineFormat::Json(JsonLines::new()), || {
        let _entered = TRACE.enter();
        log::answered(about);
    });
    assert_eq!(lines.len(), 1, "one request, one line");
    (lines[0].len(), serde_json::from_str(&lines[0]).unwrap())
}

#[test]
fn an_answer_is_told_under_the_names_of_the_schema() {
    let (bytes, line) = answer(&AnsweredRequest {
        method: "GET",
        route: "/Composition/{id}",
        action: Some("composition.read"),
        status: 200,
        took: Duration::from_micros(1_234),
        client: Some("192.0.2.17".parse().unwrap()),
        request_id: Some("r-1"),
        ..AnsweredRequest::default()
    });
    assert!(bytes <= LOG_LINE_BYTES_MAX, "{line}");
    let expected = json!({
        "@timestamp": line["@timestamp"],
        "log.level": "info",
        "message": "GET /Composition/{id}",
        "http.response.status_code": 200,
        "event.outcome": "success",
        "event.duration": 1_234_000,
        "event.action": "composition.read",
        "client.ip": "192.0.2.17",
        "trace.id": "ab".repeat(16),
        "http.request.id": "r-1",
    });
    assert_eq!(line, expected);
    let at = line["@timestamp"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok(), "{at}");
}

/// What was seen: 516 bytes a request, and no way from the id that a caller quotes to the line.
#[test]
fn the_line_of_an_answer_is_short_whatever_is_in_it() {
    let id = "0b7c1f3e-5d0a-4a52-9f38-6d3f5f0f6a01";
    let refused = RefusalReason { code: "HCERT-104".to_owned(), id: Some(id.to_owned()), cause: None };
    let failed = RefusalReason { cause: Some("no \"room\" ".repeat(100)), ..refused.clone() };
    let longest = "x".repeat(128);
    let nasty = "\u{1b}\"õ€\u{2028}".repeat(20);
    let addresses = ["192.0.2.17", "2001:db8:1111:2222:3333:4444:5555:6666"].map(|text| text.parse().unwrap());
    for (client, text) in
        addresses.iter().flat_map(|client| ["ee-dev-1", &longest[..64], &longest, &nasty].map(|text| (client, text)))
    {
        for (status, refused) in [(200, None), (404, Some(&refused)), (503, Some(&failed))] {
            let (bytes, line) = answer(&AnsweredRequest {
                method: "OPTIONS",
                route: "/Composition/{id}/_history/{version}",
                action: Some("composition.history-type"),
                status,
                took: Duration::from_secs(30),
                client: Some(*client),
                request_id: Some(text),
                x_road_id: Some(text),
                refused,
            });
            let cause = line["error.message"].as_str().map_or(0, |cause| cause.replace('"', "\\\"").len());
            assert_eq!(cause > 200, status == 503, "{line}");
            let allowed = if status == 503 { LOG_LINE_BYTES_MAX + LOG_CAUSE_BYTES_MAX } else { LOG_LINE_BYTES_MAX };
            assert!(bytes <= allowed, "{bytes} bytes: {line}");
            assert_eq!((&line["trace.id"], &line["client.ip"]), (&json!("ab".repeat(16)), &json!(client)), "{line}");
            assert_eq!(line["event.outcome"], if status < 400 { "success" } else { "failure" });
            assert_eq!(line["error.code"], refused.map_or(Value::Null, |refused| json!(refused.code)), "{line}");
            assert_eq!(line["error.id"], refused.map_or(Value::Null, |_| json!(id)), "{line}");
            assert!(line["message"].as_str().unwrap().starts_with("OPTIONS"), "{line}");
            let known = line["x_road.id"].as_str().map(|known| known.trim_end_matches('…'));
            assert!(known.is_none_or(|known| text.starts_with(known)), "{line}");
            // A success has room for a usual id, and a failure at a usual address for most of one.
            assert!(
                status != 200 || known.is_some_and(|known| known.len() >= 36.min(text.len()) || text == nasty),
                "{line}"
            );
            assert!(status != 404 || client.is_ipv6() || known.is_some(), "{line}");
        }
    }
}

#[test]
fn a_code_of_another_system_is_cut_where_it_would_make_a_line_long() {
    let refused = RefusalReason { code: "õ".repeat(200), id: Some("x".repeat(36)), cause: None };
    let client = Some("2001:db8:1111:2222:3333:4444:5555:6666".parse().unwrap());
    let (bytes, line) = answer(&AnsweredRequest {
        method: "OPTIONS",
        route: "/Composition",
        status: 400,
        took: Duration::from_secs(30),
        client,
        refused: Some(&refused),
        ..AnsweredRequest::default()
    });
    assert!(bytes <= LOG_LINE_BYTES_MAX, "{bytes} bytes: {line}");
    assert!(
        line["error.code"].as_str().unwrap().ends_with('…') && line["message"].as_str().unwrap().starts_with("OPTIONS")
    );
}

#[test]
fn the_level_of_an_answer_says_whose_fault_it_is() {
    let refused = RefusalReason { code: "HCERT-150".to_owned(), id: None, cause: Some("why".to_owned()) };
    let fault = RefusalReason { cause: None, ..refused.clone() };
    let (_, line) = answer(&AnsweredRequest { status: 500, refused: Some(&fault), ..AnsweredRequest::default() });
    assert_eq!(line["log.level"], "warn", "X-Road says so of a path that leads nowhere");
    for (status, level) in [(200, "info"), (404, "info"), (500, "error"), (503, "warn"), (504, "warn")] {
        let (_, line) = answer(&AnsweredRequest { status, refused: Some(&refused), ..AnsweredRequest::default() });
        assert_eq!(line["log.level"], level, "{line}");
    }
}

#[test]
fn a_line_outside_of_requests_names_no_trace() {
    let told = json_of(|| tracing::error!(cause = "no room", "a batch was not stored"));
    assert_eq!(told[0]["error.message"], "no room");
    assert_eq!((&told[0]["log.level"], &told[0]["event.outcome"]), (&json!("error"), &json!("failure")));
    for (name, value) in [
        ("ecs.version", json!("8.17.0")),
        ("service.name", json!("hcert")),
        ("service.version", json!(env!("CARGO_PKG_VERSION"))),
        ("process.pid", json!(std::process::id())),
        ("log.logger", json!("hcert::cli::log::tests")),
    ] {
        assert_eq!(told[0][name], value, "{name}");
    }
    assert!(told[0].get("trace.id").is_none());
}

#[test]
fn no_name_stands_twice_in_a_line() {
    let lines =
        lines(LineFormat::Json(JsonLines::new()), || tracing::warn!(cause = "a", problem = "b", error = %"c", "three"));
    assert_eq!(lines[0].matches("\"error.message\"").count(), 1, "{}", lines[0]);
    let read: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&read["hcert.problem"], &read["hcert.error"]), (&json!("b"), &json!("c")));
}

#[test]
fn whatever_is_said_stays_on_one_line_that_is_written_in_one_go() {
    let nasty = "a\r\nb\u{0}\u{1b}[2J\u{85}\u{2028}\"}\\";
    let say = || tracing::warn!(cause = nasty, problem = ?nasty, other = %nasty, "{nasty}");
    let written = lines(LineFormat::Json(JsonLines::new()), say);
    assert_eq!(written.len(), 1, "a line is one write");
    let read: Value = serde_json::from_str(&written[0]).unwrap();
    let whole = json!(nasty);
    for name in ["message", "error.message", "hcert.other"] {
        assert_eq!(read[name], whole, "{name}");
    }
    for format in [LineFormat::Json(JsonLines::new()), LineFormat::Text(TextLines { has_colours: false })] {
        let written = lines(format, say);
        let (line, end) = written[0].split_at(written[0].len() - 1);
        assert!(end == "\n" && !line.chars().any(char::is_control) && !line.contains('\u{2028}'), "{line:?}");
    }
}

#[test]
fn a_terminal_is_told_in_words() {
    let written = lines(LineFormat::Text(TextLines { has_colours: false }), || {
        let _entered = TRACE.enter();
        tracing::warn!(problem = "no room left", count = 2, at = "here", "it fails");
    });
    let (_, rest) = written[0].split_once("Z ").unwrap();
    let expected = "it fails problem=\"no room left\" count=2 at=here trace=abababababababababababababababab\n";
    let (before, after) = rest.split_once(": ").unwrap();
    assert_eq!((before, after), (" WARN hcert::cli::log::tests", expected));
}

#[test]
fn a_clock_outside_of_the_years_that_a_line_can_show_does_not_stop_the_log() {
    let written = |at: Option<SystemTime>| format!("{:.3}", moment(at.unwrap()));
    let seconds = |years: u64| Duration::from_secs(years * 366 * 86_400);
    assert_eq!(written(Some(SystemTime::UNIX_EPOCH)), "1970-01-01T00:00:00.000Z");
    assert_eq!(written(SystemTime::UNIX_EPOCH.checked_add(seconds(9_000))), "9999-12-30T22:00:00.999Z");
    for years in [3_000, 20_000] {
        assert_eq!(written(SystemTime::UNIX_EPOCH.checked_sub(seconds(years))), "0000-01-01T00:00:00.000Z");
    }
}
