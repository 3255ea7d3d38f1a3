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

fn is_answer(line: &&Value) -> bool {
    line["http.response.status_code"].is_u64()
}

#[test]
fn every_line_is_an_object_with_the_names_of_the_schema() {
    let place = Place::new();
    let server = start(&place.path("data"), "auto");
    requests(&server);
    let log = server.log();
    let lines = lines(&log);
    let (answers, others): (Vec<&Value>, Vec<&Value>) = lines.iter().partition(is_answer);
    for line in &lines {
        let text = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("{name} is no text in {line}")).to_owned();
        assert!(text("@timestamp").parse::<jiff::Timestamp>().is_ok() && text("@timestamp").ends_with('Z'), "{line}");
        assert!(["error", "warn", "info", "debug", "trace"].contains(&text("log.level").as_str()), "{line}");
        assert!(!text("message").is_empty(), "{line}");
        assert!(["success", "failure", "unknown"].contains(&text("event.outcome").as_str()), "{line}");
        let known = ["@timestamp", "message"];
        let sets = [
            "client", "ecs", "error", "event", "hcert", "http", "log", "process", "service", "span", "trace", "x_road",
        ];
        for name in line.as_object().expect("an object").keys() {
            let set = name.split('.').next().expect("a name");
            assert!(known.contains(&name.as_str()) || sets.contains(&set), "{name} in {line}");
        }
    }
    for line in others {
        assert!(line["log.logger"].is_string() && line["service.name"] == "hcert", "{line}");
        assert_eq!((&line["ecs.version"], &line["process.pid"]), (&"8.17.0".into(), &server.id().into()));
        assert_eq!(line["service.version"], env!("CARGO_PKG_VERSION"));
    }
    assert_eq!(answers.len(), 8, "each request has its line: {log}");
    for line in answers {
        assert!(line.to_string().len() < 350, "{line}");
        for name in ["trace.id", "client.ip"] {
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
    assert_eq!(lines.iter().filter(of_trace).filter(is_answer).count(), 3);
    // What is said on the way to an answer comes from the same request.
    let own = |line: &&Value| line["log.logger"].as_str().is_some_and(|logger| logger.starts_with("hcert::http"));
    assert!(lines.iter().filter(own).all(|line| line["trace.id"].is_string()), "{lines:#?}");
    let others: Vec<_> = lines.iter().filter(is_answer).filter(|line| !of_trace(line)).collect();
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
    let line = lines.iter().find(is_answer).expect("its line");
    assert_eq!((&line["http.request.id"], &line["trace.id"]), (&id.into(), &id.replace('-', "").into()));
}

#[test]
fn nobody_is_named_in_any_form_of_the_log() {
    let place = Place::new();
    for format in ["json", "text"] {
        let server = start(&place.path(format), format);
        requests(&server);
        let log = server.log();
        assert!(log.contains("GET /metadata") && (log.starts_with('{') == (format == "json")), "{log}");
        for code in CODES {
            assert!(!log.contains(code), "{code} in {log}");
        }
        let answered = log.lines().filter(|line| line.contains("hcert::answers") || line.contains("status_code"));
        assert_eq!(answered.count(), 8, "{log}");
        assert!(!log.chars().any(|character| character.is_control() && character != '\n'), "{log}");
    }
}

/// What was seen: the id that a caller quotes was in no line at the default level, and neither was the code.
#[test]
fn a_refusal_is_found_by_the_id_that_its_caller_received() {
    let place = Place::new();
    let server = Process::start_with(&place.path("data"), |command| {
        command.env_remove("HCERT__LOG__LEVEL");
    });
    let mut client = server.client();
    for (path, headers, status) in [
        ("/fhir/Composition/1", vec!["x-road-id: ee-dev-1/\"17"], 404),
        ("/fhir/Composition?nothing=1", vec![], 400),
        ("/fhir/Composition/1", vec!["authorization: Bearer x"], 401),
        ("/r1/a/b/c/d/e", vec![], 500),
    ] {
        let told = client.send_to("GET", path, &headers, b"").unwrap();
        assert_eq!(told.status, status, "{path}");
        let (told, id) = (told.json(), told.header("x-request-id").expect("every answer has one").to_owned());
        let issue = &told["issue"][0];
        let lines = lines(&server.log());
        let of_request = |line: &&Value| line["trace.id"] == *id;
        let found: Vec<&Value> = lines.iter().filter(of_request).collect();
        assert_eq!(found.len(), 1, "one request, one line: {found:#?}");
        let line = found[0];
        assert_eq!((&line["http.response.status_code"], &line["client.ip"]), (&status.into(), &"127.0.0.1".into()));
        assert_eq!(line["event.outcome"], "failure");
        match issue.is_object() {
            true => {
                assert_eq!(
                    (&line["error.id"], &line["error.code"]),
                    (&issue["id"], &issue["details"]["coding"][0]["code"])
                );
            }
            false => assert_eq!((&line["error.id"], &line["error.code"]), (&told["detail"], &told["type"])),
        }
        // A cause comes on top. Decision 173.
        let cause = line["error.message"].as_str().map_or(0, |cause| r#""error.message":"","#.len() + cause.len());
        assert!(line.to_string().len() - cause < 350, "{line}");
        assert!(status != 401 || line["error.message"] == "malformed", "{line}");
        assert!(status != 404 || line["x_road.id"] == "ee-dev-1/\"17", "{line}");
    }
}

#[test]
fn the_log_says_what_starts_and_that_it_stopped() {
    let place = Place::new();
    let start = |token: &str| {
        let data = place.path("data-48001010001");
        let server = Process::start_with(&data, |command| {
            command.env("HCERT__LOG__LEVEL", "info").env("HCERT__REGISTRY__REMOTE__TOKEN", token);
            command.env("HCERT__SERVER__LISTEN", "127.0.0.1:0");
        });
        let listens = server.address.to_string();
        assert!(server.stop().success());
        let log = std::fs::read_to_string(data.with_extension("log")).unwrap();
        assert!(!log.contains("48001010001") && !log.contains(token), "{log}");
        let lines = lines(&log);
        let of = |action: &str| {
            let mut found = lines.iter().filter(|line| line["event.action"] == action);
            let line = found.next().unwrap_or_else(|| panic!("no {action}: {log}")).clone();
            assert!(found.next().is_none(), "{log}");
            line
        };
        let line = of("service.start");
        assert_eq!(
            (&line["hcert.version"], &line["hcert.access"]),
            (&env!("CARGO_PKG_VERSION").into(), &"developer".into())
        );
        assert_eq!((&line["hcert.listen"], &line["hcert.data"]), (&listens.into(), &"(not shown)".into()));
        assert!(line["hcert.format"].is_u64() && line["hcert.epoch"].is_string(), "{line}");
        of("service.stopping");
        of("service.stop");
        line["hcert.settings"].as_str().expect("a hash").to_owned()
    };
    let first = start("very-secret");
    assert_eq!(first, start("very-secret"));
    assert_ne!(first, start("other-secret"));
}

/// What was seen: with a full audit disk each refused request had its line, 154 MB in six seconds.
#[test]
fn a_flood_of_refusals_is_summarised_and_the_counts_add_up() {
    let place = Place::new();
    let data = place.path("data");
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__LOG__LEVEL", "info");
    });
    let mut client = server.client();
    for _ in 0..1_000 {
        assert_eq!(client.send("GET", "/Composition/1", &[], b"").unwrap().status, 404);
        assert_eq!(client.send("GET", "/Composition/1", &["authorization: Bearer x"], b"").unwrap().status, 401);
    }
    drop(client);
    assert!(server.stop().success());
    let log = std::fs::read_to_string(data.with_extension("log")).unwrap();
    let lines = lines(&log);
    let answers = lines.iter().filter(is_answer).count();
    let repeated: Vec<&Value> = lines.iter().filter(|line| line["event.action"] == "log.repeated").collect();
    let left_out: u64 = repeated.iter().map(|line| line["hcert.count"].as_u64().expect("a number")).sum();
    assert_eq!(answers as u64 + left_out, 2_000, "{repeated:#?}");
    assert!(left_out > 0 && repeated.iter().any(|line| line["message"].as_str().unwrap().contains(" repeated ")));
    let codes: std::collections::BTreeSet<_> = repeated.iter().map(|line| line["error.code"].as_str()).collect();
    assert!(codes.len() == 2 && !codes.contains(&None), "{repeated:#?}");
}

#[test]
fn the_level_and_the_sampling_change_while_the_service_runs() {
    let place = Place::new();
    let data = place.path("data");
    let level = |arguments: &[&str]| {
        let arguments: Vec<&str> =
            ["log", "level"].iter().chain(arguments).chain(&["--data", "data"]).copied().collect();
        place.run(&arguments)
    };
    level(&["debug"]).expect(1).says("there is no data folder");
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__LOG__LEVEL", "warn");
    });
    let mut client = server.client();
    let mut answers = |path: &str, count: usize| {
        let before = lines(&server.log()).iter().filter(is_answer).count();
        for _ in 0..count {
            client.send("GET", path, &[], b"").unwrap();
        }
        lines(&server.log()).iter().filter(is_answer).count() - before
    };
    assert_eq!(answers("/metadata", 5), 0);
    assert!(level(&[]).expect(0).text().contains("warn"));
    assert!(level(&["info", "--sample", "5"]).expect(0).text().contains('5'));
    assert_eq!((answers("/metadata", 20), answers("/Composition/1", 7)), (4, 7));
    assert!(level(&["warn", "--target", "hcert::answers"]).expect(0).text().contains("hcert::answers"));
    assert_eq!(answers("/Composition/1", 7), 0);
    level(&["info", "--sample", "1"]).expect(0);
    assert_eq!(answers("/metadata", 5), 5);
    for wrong in [&["loud"][..], &["trace", "--target", "hyper"], &["--sample", "0"], &["--target", "hcert::http"]] {
        level(wrong).expect(2);
    }
    let changed = lines(&server.log()).iter().filter(|line| line["event.action"] == "log.level").count();
    assert_eq!(changed, 3);
    assert!(server.stop().success());
    let exported = place.run(&["audit", "export", "--data", "data"]);
    assert!(exported.expect(0).text().contains("log.level"), "the trail says who changes what is seen");
}

/// What is wrong with the order itself is said first: a script learns of its mistake also where no service runs.
#[test]
fn an_order_that_makes_no_sense_is_refused_before_anything_is_opened_or_asked() {
    let place = Place::new();
    let log_level =
        |arguments: &[&str], data: &str| place.run(&[&["log", "level"], arguments, &["--data", data]].concat());
    let wrong: [(&[&str], &str); 4] = [
        (&["loud"], "there is no level 'loud'; known are: "),
        (&["off"], "there is no level 'off'"),
        (&["info", "--sample", "0"], "--sample 0 is out of range"),
        (&["--target", "hcert::http"], "<LEVEL>"),
    ];
    for (arguments, told) in wrong {
        log_level(arguments, "none").expect(2).says(told);
    }
    log_level(&["info"], "none").expect(1).says("none: there is no data folder");
    assert!(!place.path("none").exists());
    place.run(&["import", "-", "--data", "data"]).expect(0);
    for (arguments, told) in wrong {
        log_level(arguments, "data").expect(2).says(told);
    }
    log_level(&["info"], "data").expect(1).says("no service runs on data");
}
