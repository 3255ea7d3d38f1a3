//! The service as it is watched: on an address of its own, from its start to its end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hcert::socket::limits::COMMANDS_MAX;
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use super::open_metrics::{self, Samples};
use super::process::{Client, Process, Response, eventually};
use super::{Place, hcert};

/// A server that can be watched, with more settings.
fn start(data: &Path, settings: &[(&str, &str)]) -> Process {
    Process::start_with(data, |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0").envs(settings.iter().copied());
    })
}

fn watched_at(server: &Process) -> SocketAddr {
    server.watched_at.expect("the introduction says where it can be watched")
}

/// One request; the listener answers one a connection.
fn ask(at: SocketAddr, method: &str, path: &str) -> Response {
    Client::new(at).send_to(method, path, &[], b"").expect("an answer")
}

fn metrics(at: SocketAddr) -> Samples {
    let told = ask(at, "GET", "/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((told.status, told.header("content-type")), (200, Some(kind)));
    open_metrics::read(told.text()).unwrap_or_else(|problem| panic!("{problem}\n{}", told.text()))
}

fn draft() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")).expect("an example")
}

#[test]
fn one_command_too_many_is_refused_and_one_that_ends_leaves_its_place() {
    let place = Place::new();
    let server = start(&place.path("data"), &[]);
    let connect = || UnixStream::connect(place.path("data").join("hcert.sock")).expect("the server listens");
    // None of them says what it asks for.
    let mut silent: Vec<UnixStream> = (0..COMMANDS_MAX).map(|_| connect()).collect();
    let mut told = String::new();
    connect().read_to_string(&mut told).expect("a refusal");
    assert!(told.contains("64 commands are under way"), "{told}");
    silent.truncate(COMMANDS_MAX - 1);
    let folder = place.path("data");
    let log = |folder: &Path| hcert(&["log", "level", "--data", folder.to_str().expect("text")]).output().expect("run");
    eventually("a place is free", || log(&folder).status.success());
    drop(silent);
    assert!(server.stop().success());
}

/// What was seen: a page of another site whose name led to this machine could read health and metrics.
#[test]
fn a_page_whose_name_leads_here_reads_nothing() {
    let place = Place::new();
    let server = start(&place.path("data"), &[("HCERT__MANAGEMENT__HOSTS", "watch.test")]);
    for path in ["/live", "/ready", "/health", "/metrics"] {
        for (host, is_own) in [("evil.example:8081", false), ("localhost:8081", true), ("watch.test", true)] {
            let mut stream = TcpStream::connect(watched_at(&server)).expect("the server listens");
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("sent");
            let mut told = String::new();
            stream.read_to_string(&mut told).expect("an answer");
            assert_eq!(told.starts_with("HTTP/1.1 421 "), !is_own, "{path} {host}: {told}");
            assert!(is_own || told.ends_with("}") && !told.contains("parts") && !told.contains("hcert_"), "{told}");
        }
    }
    assert!(server.stop().success());
}

#[test]
fn a_token_keeps_out_strangers_but_not_probes_and_health_of_the_command_line_knows_it() {
    let place = Place::new();
    let token = place.path("token");
    std::fs::write(&token, "0123456789abcdef").expect("written");
    let token = token.to_str().expect("text");
    let server = start(&place.path("data"), &[("HCERT__MANAGEMENT__TOKEN_FILE", token)]);
    let at = watched_at(&server);
    for (path, status) in [("/live", 200), ("/ready", 200), ("/health", 401), ("/metrics", 401), ("/other", 401)] {
        let told = ask(at, "GET", path);
        assert_eq!(told.status, status, "{path}");
        let asks = told.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer "));
        assert_eq!(asks, status == 401, "{path}");
    }
    let with = |token: &str| {
        let header = format!("Authorization: Bearer {token}");
        Client::new(at).send_to("GET", "/health", &[&header], b"").expect("an answer").status
    };
    assert_eq!((with("0123456789abcdef"), with("0123456789abcdeg")), (200, 401));
    let health = |token: Option<&str>| {
        let mut command = hcert(&["health", "--at", &at.to_string()]);
        command.envs(token.map(|token| ("HCERT__MANAGEMENT__TOKEN_FILE", token)));
        command.output().expect("run").status.code()
    };
    assert_eq!((health(Some(token)), health(None)), (Some(0), Some(1)));
    std::fs::write(token, "fedcba9876543210").expect("written");
    eventually("the new token is taken", || with("fedcba9876543210") == 200);
    assert_eq!(with("0123456789abcdef"), 401);
    assert!(server.stop().success());
}

#[test]
fn health_is_asked_over_tls_and_only_of_the_certificate_in_the_settings() {
    let place = Place::new();
    let pair = |name: &str| {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["watch.test".to_owned()]).expect("a name");
        let paths = [place.path(&format!("{name}.pem")), place.path(&format!("{name}-key.pem"))];
        std::fs::write(&paths[0], params.self_signed(&key).expect("signed").pem()).expect("written");
        std::fs::write(&paths[1], key.serialize_pem()).expect("written");
        paths.map(|path| path.to_str().expect("text").to_owned())
    };
    let names = ["HCERT__MANAGEMENT__CERTIFICATE", "HCERT__MANAGEMENT__KEY"];
    let (own, other) = (pair("own"), pair("other"));
    let server = start(&place.path("data"), &[(names[0], &own[0]), (names[1], &own[1])]);
    let at = watched_at(&server).to_string();
    let health = |files: Option<&[String; 2]>| {
        let mut command = hcert(&["health", "--at", &at]);
        command.envs(files.into_iter().flat_map(|files| names.into_iter().zip(files)));
        let output = command.output().expect("run");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, told) = health(Some(&own));
    assert!(code == Some(0) && told.contains("management_tls"), "{told}");
    assert_eq!((health(Some(&other)).0, health(None).0), (Some(1), Some(1)));
    assert!(server.stop().success());
}

#[test]
fn files_of_the_settings_that_hold_no_token_or_no_list_end_the_start_with_2() {
    let place = Place::new();
    let file = place.path("file");
    std::fs::write(&file, "short").expect("written");
    let file = file.to_str().expect("text");
    let tls = ["CERTIFICATE", "KEY", "CLIENT_CA"].map(|name| (format!("HCERT__TLS__{name}"), file));
    for (settings, problem) in [
        (vec![("HCERT__MANAGEMENT__TOKEN_FILE", file)], "management.token_file"),
        (vec![("HCERT__TLS__CLIENT_CRL", file), ("HCERT__TLS__CLIENT_AUTH", "required")], "tls.client_crl"),
    ] {
        let mut command = hcert(&["dev", "--data", place.path("data").to_str().expect("text")]);
        if problem == "tls.client_crl" {
            command.envs(tls.iter().map(|(name, file)| (name, file)));
        }
        let output = command.env("HCERT__SERVER__LISTEN", "127.0.0.1:0").envs(settings).output().expect("run");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(problem), "{:?} {told}", output.status);
    }
}

#[test]
fn a_running_service_is_live_ready_well_and_measured() {
    let place = Place::new();
    let server = start(&place.path("data"), &[]);
    let at = watched_at(&server);
    assert_ne!(at, server.address);
    assert_eq!(ask(at, "GET", "/live").json()["live"], true);
    eventually("it is ready", || ask(at, "GET", "/ready").status == 200);
    let mut client = server.client();
    assert_eq!(client.send("POST", "/Composition", &[], &draft()).unwrap().status, 201);
    for _ in 0..3 {
        assert_eq!(client.send("GET", "/Composition/1", &[], b"").unwrap().status, 200);
    }
    assert_eq!(client.send("GET", "/Composition/39406240015", &[], b"").unwrap().status, 404);

    let health = ask(at, "GET", "/health");
    assert_eq!((health.status, health.header("cache-control")), (200, Some("no-store")));
    let health = health.json();
    assert_eq!((&health["ready"], &health["mode"]), (&Value::from(true), &Value::from("developer")));
    let parts = health["parts"].as_object().expect("parts");
    for part in ["storage", "index", "audit", "registry"] {
        assert_eq!(parts[part]["status"], "ok", "{health}");
    }
    assert_eq!(parts["storage"]["facts"]["last_change"], 1);

    let told = metrics(at);
    let value = |series: &str| *told.get(series).unwrap_or_else(|| panic!("{series} is not in {told:#?}"));
    assert_eq!(value(r#"hcert_http_requests_total{method="POST",route="/Composition",status="201"}"#), 1.0);
    assert_eq!(value(r#"hcert_http_requests_total{method="GET",route="/Composition/{id}",status="200"}"#), 3.0);
    assert_eq!(value(r#"hcert_http_requests_total{method="GET",route="/Composition/{id}",status="404"}"#), 1.0);
    assert_eq!(value(r#"hcert_http_request_duration_seconds_count{route="/Composition/{id}"}"#), 4.0);
    assert_eq!(value(r#"hcert_errors_total{code="HCERT-127"}"#), 1.0);
    assert_eq!(value("hcert_http_requests_in_flight"), 0.0);
    assert!(value("hcert_commit_duration_seconds_count") >= 1.0 && value("hcert_write_batch_jobs_count") >= 1.0);
    assert_eq!((value("hcert_last_change"), value("hcert_write_queue_jobs")), (1.0, 0.0));
    assert!(value("hcert_disk_free_bytes") > 0.0 && value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 3.0 && value("hcert_audit_last_event") >= 5.0);
    assert_eq!(value(&format!("hcert_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
    assert!(told.keys().all(|series| !series.contains("39406240015")), "{told:#?}");
    drop(client);
    assert!(server.stop().success());
}

/// Documents, alerts among them, name only metrics that there are.
#[test]
fn every_metric_that_a_document_names_is_in_the_table() {
    let reference = include_str!("../../docs/reference/metrics.md");
    let documents = [include_str!("../../docs/MONITORING.md"), include_str!("../../docs/OPERATIONS.md")].concat();
    let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
    let words = documents.split(|character| !is_part(character)).filter(|word| word.starts_with("hcert_"));
    let mut named = 0;
    for word in words {
        let family = word.trim_end_matches("_bucket").trim_end_matches("_count").trim_end_matches("_sum");
        assert!(reference.contains(&format!("`{family}`")), "{word} is no metric");
        named += 1;
    }
    assert!(named > 8, "the documents name metrics");
}

#[test]
fn a_registry_that_refuses_the_services_own_credential_is_an_alarm_in_log_health_and_metrics() {
    let registry = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}/fhir", registry.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in registry.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
        }
    });
    let place = Place::new();
    let settings = [
        ("HCERT__REGISTRY__MODE", "remote"),
        ("HCERT__REGISTRY__REMOTE__ADDRESS", address.as_str()),
        ("HCERT__REGISTRY__REMOTE__TOKEN", "expired"),
    ];
    let server = start(&place.path("data"), &settings);
    let at = watched_at(&server);
    let state =
        |state: &str| metrics(at)[&format!("hcert_registry_credential{{registry=\"remote\",state=\"{state}\"}}")];
    assert_eq!((state("accepted"), state("refused")), (1.0, 0.0));
    for _ in 0..2 {
        let told = server.client().send("POST", "/Composition", &[], &draft()).unwrap();
        assert!(told.status == 503 && told.text().contains("HCERT-214"), "{}", told.text());
        assert!(told.header("retry-after").is_some());
    }
    assert_eq!((state("accepted"), state("refused")), (0.0, 1.0));
    let health = ask(at, "GET", "/health").json();
    assert_eq!(health["parts"]["registry"]["status"], "degraded", "{health}");
    assert_eq!(health["parts"]["registry"]["facts"]["credential"], "refused", "{health}");
    let log = server.log();
    let alarms: Vec<&str> = log.lines().filter(|line| line.contains("refuses this service's own credential")).collect();
    assert!(alarms.len() == 1 && alarms[0].contains("401") && alarms[0].contains("\"log.level\":\"error\""), "{log}");
}

/// An issuer that answers 500, and with a key once it is told so.
fn issuer() -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}/jwks", listener.local_addr().expect("an address"));
    let answers = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&answers);
    std::thread::spawn(move || {
        // The public key of RFC 7517, appendix A.1.
        let key = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4096]);
            let (status, body) = match asked.load(Ordering::SeqCst) {
                true => ("200 OK", format!("{{\"keys\":[{key}]}}")),
                false => ("500 Internal Server Error", String::new()),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    (address, answers)
}

#[test]
fn a_service_without_the_issuers_keys_is_not_ready_until_it_has_them() {
    let (address, answers) = issuer();
    let place = Place::new();
    let settings = [
        ("HCERT__ACCESS__TOKEN__JWKS", address.as_str()),
        ("HCERT__ACCESS__TOKEN__ISSUER", "https://issuer.example.ee"),
        ("HCERT__ACCESS__TOKEN__AUDIENCE", "hcert"),
    ];
    let server = Process::serve_with(&place.path("data"), |command| {
        command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0").envs(settings);
    });
    let at = watched_at(&server);
    // Well-formed, with the algorithm ES256 and a signature of 64 bytes.
    let token = format!("authorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.{}", "A".repeat(86));
    let read = || server.client().send("GET", "/Composition/1", &[&token], b"").expect("an answer");

    let part = || ask(at, "GET", "/health").json()["parts"]["tokens"].clone();
    eventually("the issuer was asked", || part()["facts"]["last_problem"].is_string());
    let told = read();
    assert!(told.status == 503 && told.text().contains("HCERT-230"), "{}", told.text());
    assert!(told.header("retry-after").is_some());
    let ready = ask(at, "GET", "/ready");
    let why_not = ready.json()["why_not"].to_string();
    assert!(ready.status == 503 && why_not.contains("tokens: ") && why_not.contains("status 500"), "{why_not}");
    assert_eq!((&part()["status"], metrics(at)["hcert_token_keys"]), (&Value::from("down"), 0.0));
    assert!(!metrics(at).contains_key("hcert_token_keys_age_seconds"));

    answers.store(true, Ordering::SeqCst);
    eventually("it has the keys", || ask(at, "GET", "/ready").status == 200);
    assert_eq!((&part()["status"], metrics(at)["hcert_token_keys"]), (&Value::from("ok"), 1.0));
    assert!(metrics(at)["hcert_token_keys_age_seconds"] < 3600.0);
    let told = read();
    assert!(told.status == 401 && told.text().contains("HCERT-177"), "{}", told.text());
}

#[test]
fn a_registry_that_fails_once_is_degraded_at_once_and_the_service_ready() {
    // The listener is closed again.
    let address = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let place = Place::new();
    let settings = [
        ("HCERT__REGISTRY__MODE", "remote"),
        ("HCERT__REGISTRY__REMOTE__ADDRESS", &*format!("http://{address}/fhir")),
        ("HCERT__REGISTRY__REMOTE__TRIES", "1"),
    ];
    let server = start(&place.path("data"), &settings);
    let at = watched_at(&server);
    eventually("it is ready", || ask(at, "GET", "/ready").status == 200);
    assert_eq!(server.client().send("POST", "/Composition", &[], &draft()).unwrap().status, 503);
    let part = &ask(at, "GET", "/health").json()["parts"]["registry"];
    assert_eq!((&part["status"], &part["facts"]["breaker"]), (&"degraded".into(), &"closed".into()), "{part}");
    assert!(part["facts"]["last_problem"].is_string(), "{part}");
    assert_eq!(ask(at, "GET", "/ready").status, 200);
}

#[test]
fn graphs_say_the_same_as_the_health_page() {
    let place = Place::new();
    // More room than any disk has.
    let server = start(&place.path("data"), &[("HCERT__MANAGEMENT__DISK_FREE_MB_MIN", "1048576")]);
    let at = watched_at(&server);
    eventually("it is ready", || ask(at, "GET", "/ready").status == 200);
    let (health, told) = (ask(at, "GET", "/health"), metrics(at));
    assert_eq!(health.status, 200, "a service that is degraded works");
    let health = health.json();
    let parts = health["parts"].as_object().expect("parts").iter();
    let states = parts.map(|(part, is)| (part.as_str(), &is["status"])).chain([("service", &health["status"])]);
    for (part, is) in states {
        for state in ["ok", "degraded", "down"] {
            let series = format!("hcert_part_state{{part=\"{part}\",state=\"{state}\"}}");
            assert_eq!(told.get(&series), Some(&f64::from(u8::from(is == state))), "{series}");
        }
    }
    assert_eq!((&health["status"], &health["parts"]["disk"]["status"]), (&"degraded".into(), &"degraded".into()));
    let memory = &health["parts"]["memory"]["facts"];
    assert!(memory["bytes_max"].as_u64() > Some(1 << 30) && memory["limit_bytes"].as_u64() > Some(0), "{memory}");
}

#[test]
fn other_paths_and_methods_are_refused_and_head_has_no_body() {
    let place = Place::new();
    let server = start(&place.path("data"), &[]);
    let at = watched_at(&server);
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/fhir/metadata", 404),
        ("GET", "/fhir/Composition/1", 404),
        ("POST", "/health", 405),
        ("DELETE", "/metrics", 405),
        ("HEAD", "/live", 200),
        ("HEAD", "/metrics", 200),
    ] {
        let told = ask(at, method, path);
        assert_eq!((told.status, told.header("connection")), (status, Some("close")), "{method} {path}");
    }
    assert_eq!(
        server.client().send_to("GET", "/health", &[], b"").unwrap().status,
        404,
        "and the service has no such page"
    );
}

#[test]
fn it_says_that_it_is_not_ready_before_it_takes_no_more_connections() {
    let place = Place::new();
    let server = start(&place.path("data"), &[("HCERT__MANAGEMENT__DRAIN_NOTICE_S", "300")]);
    let at = watched_at(&server);
    eventually("it is ready", || ask(at, "GET", "/ready").status == 200);
    server.terminate();
    eventually("it is not ready", || ask(at, "GET", "/ready").status == 503);
    let told = ask(at, "GET", "/ready").json();
    assert_eq!(told["why_not"][0], "the service is stopping");
    // A new connection, as whoever did not ask yet makes it.
    assert_eq!(server.client().send("GET", "/metadata", &[], b"").unwrap().status, 200);
    assert_eq!((ask(at, "GET", "/live").status, ask(at, "GET", "/health").status), (200, 200));
    server.kill();
}

#[test]
fn an_address_that_was_asked_for_must_be_free_and_the_usual_one_may_be_taken() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut command = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
    let ran = command.env("HCERT__MANAGEMENT__LISTEN", &address).output().expect("the program runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(1) && said.contains(&address) && said.contains("management.listen"), "{said}");
    // Whoever holds it, this test or another program.
    let _usual = TcpListener::bind("127.0.0.1:8081");
    let server = Process::start_with(&place.path("data"), |command| {
        command.env_remove("HCERT__MANAGEMENT__LISTEN");
    });
    assert_eq!(server.watched_at, None);
    assert!(server.log().contains("management.listen names another address"), "{}", server.log());
    assert_eq!(server.client().send("GET", "/metadata", &[], b"").unwrap().status, 200);
    assert!(server.stop().success());
}

#[test]
fn other_machines_may_only_ask_where_that_is_allowed() {
    let place = Place::new();
    let mut command = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
    let ran = command.env("HCERT__MANAGEMENT__LISTEN", "0.0.0.0:0").output().expect("the program runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(2) && said.contains("management.allow_remote"), "{said}");
    let settings = [("HCERT__MANAGEMENT__LISTEN", "0.0.0.0:0"), ("HCERT__MANAGEMENT__ALLOW_REMOTE", "true")];
    let server = start(&place.path("data"), &settings);
    let port = watched_at(&server).port();
    assert_eq!(ask(SocketAddr::from(([127, 0, 0, 1], port)), "GET", "/live").status, 200);
}

#[test]
fn the_command_asks_and_its_exit_code_answers() {
    let place = Place::new();
    let server = start(&place.path("data"), &[]);
    let at = watched_at(&server).to_string();
    eventually("it is ready", || ask(watched_at(&server), "GET", "/ready").status == 200);
    let ran = place.run(&["health", "--ready", "--at", &at]);
    let told = ran.expect(0).text();
    assert!(told.contains("(ready), hcert") && told.contains("storage     ok"), "{told}");
    let ran = place.run(&["health", "--json", "--at", &at]);
    let told = ran.expect(0).text();
    assert_eq!(serde_json::from_str::<Value>(told).expect("JSON")["ready"], true);
    // By the settings, as in a container.
    let mut command = hcert(&["health"]);
    let ran = command.current_dir(place.0.path()).env("HCERT__MANAGEMENT__LISTEN", &at).output().expect("it runs");
    assert!(ran.status.success());
    assert!(server.stop().success());
    let ran = place.command(&["health", "--at", &at]).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1), "nobody answers");
}

#[test]
fn clients_that_say_nothing_leave_room_for_others_in_the_end() {
    let place = Place::new();
    let server = start(&place.path("data"), &[]);
    let at = watched_at(&server);
    let silent: Vec<_> = (0..40).map(|_| std::net::TcpStream::connect(at).expect("a connection")).collect();
    assert_eq!(ask(at, "GET", "/live").status, 200);
    drop(silent);
    assert_eq!(server.client().send("GET", "/metadata", &[], b"").unwrap().status, 200);
}
