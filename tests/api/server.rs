//! A server of its own for each test, in a folder of its own.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use certificate::search::limits::COUNT_DEFAULT;
use certificate::search::paging::Counts;
use certificate::{Names, Seq};
use engine::{self, Clock, Engine, MemoryLog, QuickRepair};
use fhir::date_time;
use hcert::access::Tokens;
use hcert::access::rights::{BUILT_IN, Permissions};
use hcert::access::token::{TokenRequest, issue_in};
use hcert::audit::{self, AuditEvent, AuditTrail, EventOrder as Sequence};
use hcert::bulk::{self, ImportOptions};
use hcert::config::{AccessMode, Config};
use hcert::http;
use hcert::interaction::changes;
use hcert::interaction::{self, Lists, Policy, Rulebook, Service, TokenPolicy};
use hcert::registry::Registry;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::http::request::Builder;
use hyper::{HeaderMap, Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::body::Body;
use crate::response::TestResponse;
use crate::{bodies, foreign, log};

/// The moment of the first change, unless a test says another.
pub(crate) const START: &str = "2025-01-13T08:00:00+02:00";

/// Sent with every request, so that answers have no other.
pub(crate) const REQUEST_ID: &str = "request-1";

/// Made once: making one takes as long as a whole test.
static DEVELOPER_KEY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the key");
    let order = TokenRequest { person: "37605030299".to_owned(), role: "doctor".to_owned(), ..TokenRequest::default() };
    issue_in(folder.path(), &Config::default(), &order, 0).expect("a folder can be written");
    std::fs::read(folder.path().join("developer-key.pem")).expect("the key was made")
});

/// A whole service. Every change of the store is made one second after the one before.
pub(crate) struct Server {
    http: Arc<http::HttpServer<Service>>,
    engine: Arc<Engine>,
    rulebook: Arc<Rulebook>,
    clock: Arc<AtomicI64>,
    writer: Arc<Mutex<()>>,
    audit: Arc<AuditTrail>,
    /// What rewrites the names that tests and the server use.
    pub names: foreign::Names,
    _folder: TempDir,
}

/// A server behind a port, for what only a connection can show.
pub(crate) struct Listening {
    pub address: SocketAddr,
    pub server: Server,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// A request that is sent when it is awaited.
pub(crate) struct Asked<'s> {
    server: &'s Server,
    line: String,
    builder: Builder,
    body: Option<Vec<u8>>,
    has_length: bool,
}

impl Server {
    /// The code lists, to remove some.
    pub(crate) fn lists(&self) -> Arc<Lists> {
        self.rulebook.lists().clone()
    }

    /// Takes a code list in as `hcert terminology load` does; the number of lists, or what is wrong.
    pub(crate) async fn load(&self, list: &Value) -> Result<usize, Vec<String>> {
        let (lists, list) = (self.lists(), self.names.sent(list.to_string().as_bytes()));
        let loaded = tokio::task::spawn_blocking(move || lists.load(&list, 1_736_752_800_000));
        loaded.await.expect("no panic").map(|lines| lines.len())
    }

    pub(crate) async fn start() -> Server {
        Server::with(START, |_| ()).await
    }

    /// A server whose first change is made at `moment`.
    pub(crate) async fn start_at(moment: &str) -> Server {
        Server::with(moment, |_| ()).await
    }

    /// A server with other settings.
    pub(crate) async fn with(moment: &str, change: impl FnOnce(&mut Config)) -> Server {
        Server::with_http(moment, change, |_| ()).await
    }

    /// A server with other settings, and with changes to the settings of the HTTP front end.
    pub(crate) async fn with_http(
        moment: &str,
        change: impl FnOnce(&mut Config),
        change_http: impl FnOnce(&mut http::HttpSettings),
    ) -> Server {
        let mut config = Config::default();
        foreign::set(&mut config);
        change(&mut config);
        let names = foreign::Names::of(&config);
        for identifier in config.registry.fault.iter_mut().filter_map(|rule| rule.identifier.as_mut()) {
            *identifier = names.sent_text(identifier);
        }
        let folder = tempfile::tempdir().expect("a folder for the data");
        // The patients that ship come a day before the story begins.
        let clock = Arc::new(AtomicI64::new(milliseconds(moment) - 86_400_000));
        let ticking = Arc::clone(&clock);
        let standing = Arc::clone(&clock);
        // Only the writer's readings move the clock: a search between two changes does not shift the second.
        let writer: Arc<Mutex<()>> = Arc::default();
        let held = Arc::clone(&writer);
        let ticking: Clock = Arc::new(move || {
            let _held = held.lock().expect("no test panics with it");
            ticking.fetch_add(1000, Ordering::SeqCst)
        });
        let standing: Clock = Arc::new(move || standing.load(Ordering::SeqCst));
        let options = engine::EngineOptions {
            folder: folder.path().join("data"),
            cache_bytes: 8 * 1024 * 1024,
            quick_repair: QuickRepair::Off,
            purpose: None,
            names: engine::FolderNames(config.namespaces.pairs()),
            unique_number: config.certificate.unique_number,
            metrics: base::metrics::Metrics::new(),
            clock: ticking,
            elapsed: standing.clone(),
        };
        let engine = Arc::new(log::open(options, &MemoryLog::default()));
        let audit = Arc::new(AuditTrail::open(trail(folder.path(), standing.clone())).expect("a trail can be begun"));
        changes::follow(&engine, &audit);
        let mut http_settings =
            http::HttpSettings::new(&config, "127.0.0.1:8080".parse().expect("an address")).expect("settings");
        let data = folder.path().join("data");
        std::fs::write(data.join("developer-key.pem"), &*DEVELOPER_KEY).expect("the folder is there");
        http_settings.tokens = Some(Arc::new(Tokens::open(&config, &data, standing.clone()).expect("keys")));
        http_settings.tls = http::present(&config.tls).expect("files of TLS");
        change_http(&mut http_settings);
        let settings = interaction::ServiceSettings {
            names: Names::new(http_settings.base_url.to_string(), &config.namespaces.pairs()),
            issue_system: config.namespaces.hcert_issue_system.clone(),
            count: Counts { default: COUNT_DEFAULT, max: config.search.count_max },
            link_seconds: i64::from(config.search.link_minutes) * 60,
            full_url_absolute: config.server.full_url == hcert::config::FullUrl::Absolute,
            external_reference_system: config.registry.external_reference_system.clone(),
        };
        let rulebook = Rulebook::open(engine.clone(), settings.names.clone(), config.validation.strict);
        let rulebook = rulebook.expect("the profiles and lists that ship can be used");
        let rulebook = Arc::new(rulebook.final_must_be_usable(config.certificate.final_must_be_usable));
        let registry = Registry::open(&config, engine.clone(), standing.clone()).expect("settings of a registry");
        registry.add_samples().await.expect("the patients that ship can be stored");
        set_clock(&clock, &engine, milliseconds(moment));
        let by_mode = config.access.mode == AccessMode::Jwt;
        let author_must_be_caller = config.access.author_must_be_caller.unwrap_or(by_mode);
        let table = config.access.permissions.as_ref().map(|path| std::fs::read_to_string(path).expect("a table"));
        let permissions = Permissions::read(table.as_deref().unwrap_or(BUILT_IN), &settings.names);
        let permissions = permissions.expect("the table can be read");
        let permissions = permissions.with_changes_by(config.access.change_by);
        let policy =
            Policy { permissions, tokens: TokenPolicy::default(), author_must_be_caller, audit: Some(audit.clone()) };
        let service = Service::new(Arc::clone(&engine), registry, policy, rulebook.clone(), settings, standing);
        let http = http::HttpServer::new(service, http_settings);
        Server { http, engine, rulebook, clock, writer, audit, names, _folder: folder }
    }

    /// Puts this server behind a free port.
    pub(crate) async fn listen(self) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        self.listen_on(listener)
    }

    /// A service behind a free port that other services can ask for patients: its links name that port.
    pub(crate) async fn registry(change: impl FnOnce(&mut Config)) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let server = Server::with(START, |config| {
            config.server.base_url = Some(format!("http://{address}{}", config.server.base_path));
            change(config);
        });
        server.await.listen_on(listener)
    }

    fn listen_on(self, listener: TcpListener) -> Listening {
        let address = listener.local_addr().expect("it has an address");
        let (stop, stopped) = oneshot::channel();
        let serving = http::serve(listener, Arc::clone(&self.http), async {
            let _ = stopped.await;
        });
        Listening { address, server: self, stop, serving: tokio::spawn(serving) }
    }

    /// Takes a certificate in as `hcert import` does, as version 1 under this id.
    pub(crate) async fn import(&self, body: Body, id: u64) {
        let meta = |name, value: &str| (format!("/meta/{name}"), json!(value));
        let moments = [meta("versionId", "1"), meta("lastUpdated", "2025-01-12T10:00:00.000+02:00")];
        let body = moments.into_iter().fold(body, |body, (pointer, value)| body.with(&pointer, value));
        let line = String::from_utf8(body.with("/id", json!(id.to_string())).into()).expect("JSON");
        assert_eq!(self.import_lines(&line).await, 1);
    }

    /// Takes versions in as `hcert import` does, one a line, and tells how many were stored.
    pub(crate) async fn import_lines(&self, lines: &str) -> u64 {
        let (engine, rulebook) = (Arc::clone(&self.engine), Arc::clone(&self.rulebook));
        let (lines, body_bytes_max) = (self.names.sent_text(lines), self.http.settings().body_bytes_max);
        let done = tokio::task::spawn_blocking(move || {
            let options = ImportOptions { stop_at_bad: true, body_bytes_max };
            bulk::import(&engine, &rulebook, &mut lines.as_bytes(), options, &mut |event| drop(event))
        });
        done.await.expect("no panic").expect("an import that works").stored
    }

    /// All versions as `hcert export` writes them.
    pub(crate) fn export(&self) -> String {
        let mut lines = Vec::new();
        let mut report = |event| drop(event);
        bulk::export(&self.engine, Seq(0), &mut lines, &mut report).expect("an export that works");
        self.names.received_text(&String::from_utf8(lines).expect("JSON"))
    }

    /// Takes Patients in as `hcert patients import` does, one a line.
    pub(crate) async fn import_patients(&self, lines: &str) {
        let (engine, rulebook, lines) =
            (Arc::clone(&self.engine), Arc::clone(&self.rulebook), self.names.sent_text(lines));
        let done = tokio::task::spawn_blocking(move || {
            let options = ImportOptions { stop_at_bad: true, ..ImportOptions::default() };
            let systems = &rulebook.names().identifiers;
            bulk::import_patients(&engine, systems, &mut lines.as_bytes(), options, &mut |event| drop(event))
        });
        done.await.expect("no panic").expect("an import that works");
    }

    /// How many patients there are that live.
    pub(crate) async fn living(&self) -> u64 {
        let told = self.get("Patient?deceased=false&_count=0").await.expect(200);
        told.json()["total"].as_u64().expect("a number")
    }

    /// A header with a developer's token: the person `37605030299` in a role. `more` are further members of the order.
    pub(crate) async fn token(&self, role: &str, more: Value) -> String {
        self.token_of("37605030299", role, more).await
    }

    pub(crate) async fn token_of(&self, person: &str, role: &str, more: Value) -> String {
        let mut order = json!({"user": {"personalCode": person}, "organization": "90006399", "role": role});
        for (name, value) in more.as_object().into_iter().flatten() {
            order[name] = value.clone();
        }
        let asked = self.ask("POST", "/auth/v2/token").body_as(Some("application/json"), order.to_string());
        format!("Bearer {}", asked.await.expect(200).json()["accessToken"].as_str().expect("a token"))
    }

    /// Every event of the audit trail, the oldest first.
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        let events = self.audit.trail().expect("a trail").events(Sequence::OldestFirst, i64::MIN..=i64::MAX);
        events.map(|event| event.expect("a readable trail").1).collect()
    }

    /// As where something of the trail cannot be read.
    pub(crate) fn doubt_trail(&self, problem: &str) {
        self.audit.doubt(problem);
    }

    /// Whether an event concerns somebody, by id or by personal code: what an export and a search for audit events ask.
    pub(crate) fn concerns(&self, event: &AuditEvent, asked: &str) -> bool {
        let names = &self.http.service().settings().names;
        let known = interaction::names_of_person(&self.engine, asked, names).expect("the store can be read");
        let mut patients = interaction::CertificatePatients::new(&self.engine);
        let wanted = hcert::audit::EventFilter { patients: vec![known], ..hcert::audit::EventFilter::default() };
        wanted.matches(event, &mut |id, version| patients.of(id, version))
    }

    /// The writer gets no further as long as this is kept.
    pub(crate) fn hold_writer(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().expect("no test panics with it")
    }

    /// The HTTP front end itself, for requests that run beside each other.
    pub(crate) fn http(&self) -> Arc<http::HttpServer<Service>> {
        Arc::clone(&self.http)
    }

    /// Number of the last change in the store.
    pub(crate) fn seq(&self) -> u64 {
        self.engine.seq().0
    }

    /// Sets the moment of the next change.
    pub(crate) fn set_clock(&self, moment: &str) {
        set_clock(&self.clock, &self.engine, milliseconds(moment));
    }

    /// `path` is below the base path: `Composition/1`. One that begins with a slash is taken as it is.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Asked<'_> {
        let target = if path.starts_with(['/', '*']) { path.to_owned() } else { format!("/fhir/{path}") };
        let line = format!("{method} {target}");
        let target = self.names.sent_target(&target);
        let builder = Request::builder().method(method).uri(target).header("X-Request-Id", REQUEST_ID);
        Asked { server: self, line, builder, body: None, has_length: false }
    }

    /// As [`get`](Self::get), for answers that are not FHIR.
    pub(crate) async fn raw(&self, method: &str, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        self.ask(method, path).raw().await
    }

    pub(crate) fn get(&self, path: &str) -> Asked<'_> {
        self.ask("GET", path)
    }

    pub(crate) fn head(&self, path: &str) -> Asked<'_> {
        self.ask("HEAD", path)
    }

    pub(crate) fn delete(&self, path: &str) -> Asked<'_> {
        self.ask("DELETE", path)
    }

    pub(crate) fn put(&self, path: &str, body: impl Into<Vec<u8>>) -> Asked<'_> {
        self.ask("PUT", path).body(body)
    }

    pub(crate) fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Asked<'_> {
        self.ask("POST", path).body(body)
    }

    /// POST to `_search` of certificates with a form.
    pub(crate) fn search_by_form(&self, form: &str) -> Asked<'_> {
        self.form("Composition/_search", form)
    }

    /// POST with a form.
    pub(crate) fn form(&self, path: &str, form: &str) -> Asked<'_> {
        let mut asked = self.ask("POST", path);
        asked.body = Some(form.as_bytes().to_vec());
        asked.header("Content-Type", "application/x-www-form-urlencoded")
    }

    pub(crate) fn suspend(&self, certificate: &str) -> Asked<'_> {
        self.post(&format!("{certificate}/$suspend"), Body::example("suspend"))
    }

    pub(crate) fn cancel(&self, certificate: &str) -> Asked<'_> {
        self.post(&format!("{certificate}/$cancel"), Body::example("cancel"))
    }

    /// Creates a certificate and tells its path: `Composition/1`.
    pub(crate) async fn create(&self, body: impl Into<Vec<u8>>) -> String {
        let told = self.post("Composition", body).await.expect(201);
        let location = told.header("location").expect("a create says where").to_owned();
        let (certificate, version) = location.split_once("/_history/").expect("with a version");
        assert_eq!(version, "1");
        certificate.strip_prefix("http://127.0.0.1:8080/fhir/").expect("below the base address").to_owned()
    }

    /// Ids of the certificates a search finds, in its order; `total` must count the same.
    pub(crate) async fn found(&self, query: &str) -> Vec<u64> {
        let told = self.get(&format!("Composition?{query}")).await.expect(200);
        let ids = told.ids();
        assert_eq!(told.json()["total"], ids.len(), "{told}");
        ids
    }
}

/// A trail of small files.
/// Sets the clock, and lets the engine read it once: it looks at its clocks when time has passed, and each look moves this one by a
/// second.
fn set_clock(clock: &AtomicI64, engine: &Engine, moment: i64) {
    while clock.load(Ordering::SeqCst) != moment {
        clock.store(moment - 1_000, Ordering::SeqCst);
        engine.clock();
    }
}

fn trail(folder: &Path, clock: Clock) -> audit::TrailOptions {
    audit::TrailOptions { folder: folder.join("data"), file_bytes: 256 * 1024, keep_from: Arc::new(|| None), clock }
}

impl Listening {
    /// Nobody listens at the address any more.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.serving.await.expect("a server that ends");
    }
}

impl Asked<'_> {
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.builder = self.builder.header(name, self.server.names.sent(value.as_ref()));
        self
    }

    pub(crate) fn prefer(self, value: &str) -> Self {
        self.header("Prefer", value)
    }

    /// Sends this `X-Request-Id` in place of the usual one.
    pub(crate) fn request_id(mut self, id: &str) -> Self {
        let headers = self.builder.headers_mut().expect("nothing of the request is wrong yet");
        headers.insert("x-request-id", id.parse().expect("a header value"));
        self
    }

    /// A FHIR body.
    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        let mut asked = self.header("Content-Type", "application/fhir+json");
        asked.body = Some(body.into());
        asked
    }

    /// A body of another media type, or without one.
    pub(crate) fn body_as(mut self, media_type: Option<&str>, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        match media_type {
            Some(media_type) => self.header("Content-Type", media_type),
            None => self,
        }
    }

    /// Says another length than the body's.
    pub(crate) fn length(mut self, length: &str) -> Self {
        self.has_length = true;
        self.header("Content-Length", length)
    }

    /// Status, headers and body of an answer that is none of FHIR's.
    pub(crate) async fn raw(self) -> (u16, HeaderMap, Vec<u8>) {
        let told = self.told().await;
        (told.status.as_u16(), told.headers, told.body)
    }

    async fn send(self) -> TestResponse {
        let names = self.server.names;
        let mut told = self.told().await;
        // It is another one each time.
        told.headers.remove("server-timing");
        told.check();
        if names.are_default() {
            bodies::keep(&told);
        }
        told.check_documented();
        told
    }

    async fn told(self) -> TestResponse {
        let Asked { server, line, mut builder, body, has_length } = self;
        let body = body.map(|body| server.names.sent(&body));
        if let Some(body) = body.as_ref().filter(|_| !has_length) {
            builder = builder.header("Content-Length", body.len());
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        let request = builder.body(body).expect("a test sends what HTTP can carry");
        let response = Arc::clone(&server.http).answer(request, None).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body in memory").to_bytes();
        let body = server.names.received(&body, &line);
        let received = |value: &HeaderValue| server.names.received(value.as_bytes(), &line).try_into();
        let mut headers = parts.headers;
        headers.iter_mut().for_each(|(_, value)| *value = received(value).expect("names are visible"));
        TestResponse { line, status: parts.status, headers, body }
    }
}

impl<'s> IntoFuture for Asked<'s> {
    type Output = TestResponse;
    type IntoFuture = Pin<Box<dyn Future<Output = TestResponse> + Send + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

fn milliseconds(moment: &str) -> i64 {
    date_time::span(moment).expect("a FHIR dateTime").low
}
