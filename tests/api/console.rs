//! The pages for people: what a reader is shown is what the API shows them, and a form does what its request does.

use std::sync::{Arc, Mutex, OnceLock};

use base::metrics::DurationSummary;
use certificate::Names;
use hcert::access::rights::{BUILT_IN, permissions};
use hcert::config::Config;
use hcert::console::{
    Console, ConsoleSources, FaultSwitch, NoteFault, OwnWords, ServiceHealth, SettingInEffect, TrailCheck,
};
use hcert::documents::Documents;
use hcert::http::HttpSettings;
use hcert::http::exchanges::Exchanges;
use hcert::http::pages::{Api, PageAnswer, PageMaker, PageRequest, Soon};
use hyper::header::HeaderMap;
use serde_json::json;

use crate::body::text;
use crate::foreign;
use crate::server::{START, Server};

static DOCUMENTS: Documents = Documents {
    summary: "# Summary\n\n- [The project](../README.md)\n\n# How to\n\n- [Install](how-to/install.md)\n",
    texts: &[
        ("../README.md", "# hcert\n\n[Install](how-to/install.md#b) <script>alert(1)</script>\n"),
        ("how-to/install.md", "# Install\n"),
    ],
    pictures: &[],
    files: &[],
};

/// Pages that need the server which shows them.
#[derive(Debug, Default)]
struct LatePages(OnceLock<Console>);

impl PageMaker for LatePages {
    fn answer(&self, request: PageRequest, api: Arc<dyn Api>) -> Soon<'_, PageAnswer> {
        self.0.get().expect("the console is there").answer(request, api)
    }
}

/// What a console of `hcert dev` is given, without faults.
pub(crate) fn sources(settings: &HttpSettings) -> ConsoleSources {
    let mut config = Config::default();
    foreign::set(&mut config);
    ConsoleSources {
        key: [7; 32],
        tokens: settings.tokens.clone().expect("keys"),
        is_developer: true,
        roles: permissions::read(BUILT_IN).expect("a table"),
        documents: &DOCUMENTS,
        names: Names::new(settings.base_url.to_string(), &config.namespaces.pairs()),
        check_trail: Box::new(|head| {
            let is_whole = head.is_none();
            let report = "3 events, numbers 1 to 3, in 1 file\nhead 3:0123\n".to_owned();
            Box::pin(async move { Ok(TrailCheck { report, is_whole }) })
        }),
        settings: vec![SettingInEffect {
            key: "server.listen".to_owned(),
            value: Some("\"127.0.0.1:1\"".to_owned()),
            default: Some("\"127.0.0.1:8080\""),
            source: "flag --listen".to_owned(),
            is_default: false,
            about: "Address and port of the API.".to_owned(),
        }],
        health: Box::new(|| {
            let index = json!({"status": "ok", "words": "Searches are answered.", "facts": {"lag_changes": 41}});
            let disk =
                json!({"status": "degraded", "words": "12 GB are free", "facts": {"free_bytes": 12_884_901_888_u64}});
            let parts = json!({"status": "degraded", "ready": true, "parts": {"index": index, "disk": disk}});
            let reads = DurationSummary { of: "/Composition/{id}".to_owned(), count: 7, half_s: 0.000_08, p99_s: 0.25 };
            Box::pin(async { ServiceHealth { parts, durations: [vec![reads], Vec::new(), Vec::new()] } })
        }),
        exchanges: settings.exchanges.clone().unwrap_or_else(|| Arc::new(Exchanges::new(false))),
        words: OwnWords::default(),
        sign_in: None,
        faults: None,
        fill: None,
    }
}

/// A browser before a server of `hcert dev`.
pub(crate) struct Browser {
    pub server: Server,
    cookie: String,
}

/// What a browser was shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub status: u16,
    pub headers: HeaderMap,
    pub html: String,
}

impl Shown {
    pub(crate) fn location(&self) -> &str {
        self.headers.get("location").map_or("", |value| value.to_str().expect("text"))
    }
}

impl Browser {
    pub(crate) async fn open() -> Browser {
        Browser::open_with(|_| ()).await
    }

    /// `change` changes what the console is given.
    pub(crate) async fn open_with(change: impl FnOnce(&mut ConsoleSources)) -> Browser {
        let pages: Arc<LatePages> = Arc::default();
        let of_server = pages.clone();
        let server = Server::with_http(
            START,
            |_| (),
            |settings| {
                settings.pages = Some(of_server);
                settings.exchanges = Some(Arc::new(Exchanges::new(true)));
            },
        )
        .await;
        let http = server.http();
        let note: NoteFault = Box::new(|_| Box::pin(async { Ok(()) }));
        let faults = FaultSwitch { rules: http.service().registry().faults().clone(), note };
        let mut sources = ConsoleSources { faults: Some(faults), ..sources(http.settings()) };
        change(&mut sources);
        pages.0.set(Console::new(sources)).expect("it is set once");
        let mut browser = Browser { server, cookie: String::new() };
        browser.get("/").await;
        browser
    }

    /// A page in English, by its path below `/console`.
    pub(crate) async fn get(&mut self, path: &str) -> Shown {
        let asked = self.server.ask("GET", &format!("/console{path}")).header("cookie", &self.cookie);
        self.shown(asked.header("accept-language", "en").raw().await)
    }

    /// Sends a form that a page of ours would send.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let page = self.get("/").await.html;
        let token = page.split("name=\"form-token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let token = [("form-token", token.expect("a form"))];
        let fields: Vec<String> =
            token.iter().chain(fields).map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let asked = self.server.ask("POST", &format!("/console{path}")).header("cookie", &self.cookie);
        let asked = asked.header("sec-fetch-site", "same-origin").header("accept-language", "en");
        let form = asked.body_as(Some("application/x-www-form-urlencoded"), fields.join("&"));
        self.shown(form.raw().await)
    }

    fn shown(&mut self, (status, headers, body): (u16, HeaderMap, Vec<u8>)) -> Shown {
        if let Some(cookie) = headers.get("set-cookie") {
            let cookie = cookie.to_str().expect("text");
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        }
        Shown { status, headers, html: String::from_utf8(body).expect("text") }
    }
}

/// Percent-encoded but for what names consist of, so that foreign names are put in place of ours.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b":/.-_".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[tokio::test]
async fn a_browser_is_led_to_the_start_and_a_client_is_answered_as_ever() {
    let browser = Browser::open().await;
    let (status, headers, _) = browser.server.ask("GET", "/").header("accept", "text/html").raw().await;
    assert_eq!((status, headers["location"].to_str().unwrap()), (303, "/console/"));
    let (status, headers, _) = browser.server.ask("GET", "/").raw().await;
    assert_eq!((status, headers.get("location")), (404, None));
}

#[tokio::test]
async fn every_page_is_whole_and_runs_nothing_that_is_written_into_it() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    for path in [
        "/",
        "/certificates",
        "/certificates/new",
        "/certificates/1",
        "/certificates/1?tab=changes",
        "/certificates/1?tab=json",
        "/certificates/1?tab=audit",
        "/certificates/1?tab=consent",
        "/certificates/1?tab=print",
        "/certificates/1?tab=patient",
        "/verify",
        "/certificates/1/moves",
        "/certificates/1/edit",
        "/certificates?status=preliminary&_sort=-date",
        "/patients",
        "/patients/205",
        "/terminology",
        "/terminology?q=prill",
        "/terminology/CodeSystem/labivaatuse-tyyp",
        "/terminology/ValueSet/labivaatuse-tyyp",
        "/audit",
        "/audit/1",
        "/access",
        "/access?role=nurse",
        "/api",
        "/validate",
        "/traffic",
        "/faults",
        "/settings",
        "/health",
        "/documents",
        "/documents/README",
    ] {
        let page = browser.get(path).await;
        let html = &page.html;
        assert_eq!(page.status, 200, "{path}: {html}");
        assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{path}");
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        for wrong in [" style=", " onclick=", "<style", "<script>", "javascript:", "class=\"refusal\""] {
            assert!(!html.contains(wrong), "{path} has {wrong}");
        }
        assert_eq!(html.matches("<script").count(), html.matches("<script type=\"module\" src=").count(), "{path}");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self';") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["cache-control"], "no-store");
    }
    assert_eq!(browser.get("/nothing").await.status, 404);
}

#[tokio::test]
async fn a_certificate_lives_its_whole_life_by_forms() {
    let mut browser = Browser::open().await;
    let created = browser.post("/certificates/new", &[("body", &text("driver-draft"))]).await;
    assert_eq!((created.status, created.location()), (303, "/console/certificates/1"), "{}", created.html);
    // The form once more, as by a second click.
    assert_eq!(
        browser.post("/certificates/new", &[("body", &text("driver-draft"))]).await.location(),
        "/console/certificates/1"
    );
    let wrong = browser.post("/certificates/new", &[("body", "{\"resourceType\":\"Composition\"}")]).await;
    assert!(
        wrong.status == 422 && wrong.html.contains("HCERT-") && wrong.html.contains("{&quot;resourceType&quot;"),
        "{}",
        wrong.html
    );
    let completed = browser.post("/certificates/new", &[("body", &text("driver-final"))]).await;
    assert_eq!(completed.location(), "/console/certificates/2");
    let page = browser.get("/certificates/2/moves").await.html;
    assert!(page.contains("HCERT-133"), "the refusal of the moves that are refused");
    let suspended =
        browser.post("/certificates/2/move", &[("move", "suspend"), ("version", "1"), ("reason", "it must be")]).await;
    assert_eq!((suspended.status, suspended.location()), (303, "/console/certificates/2"), "{}", suspended.html);
    // It was shown version 1, and there is another since.
    let late = browser.post("/certificates/2/move", &[("move", "cancel"), ("version", "1"), ("reason", "no")]).await;
    assert_eq!(late.status, 412);
    let revoked = browser.post("/certificates/2/move", &[("move", "cancel"), ("version", "2"), ("reason", "no")]).await;
    assert_eq!(revoked.status, 303);
    assert_eq!(browser.post("/certificates/2/move", &[("move", "delete"), ("version", "3")]).await.status, 409);
    let history = browser.get("/certificates/2?version=2&tab=changes").await.html;
    assert!(history.contains("it must be") && history.contains("cancelled"), "{history}");
}

#[tokio::test]
async fn rights_are_explained_and_a_role_that_is_not_there_is_suggested() {
    let mut browser = Browser::open().await;
    let page = browser.get("/access?role=patient&action=create&state=a%20draft").await;
    assert!(page.status == 200 && page.html.contains("No grant of the role patient permits create"), "{}", page.html);
    let doctor = browser.get("/access?role=doctor&action=read").await.html;
    assert!(doctor.contains("none that its patient has closed to doctors"), "{doctor}");
    let unknown = browser.post("/part", &[("role", "docter"), ("person", "37605030299")]).await;
    assert!(
        unknown.status == 422 && unknown.html.contains("did you mean &#39;doctor&#39;")
            || unknown.html.contains("did you mean 'doctor'"),
        "{}",
        unknown.html
    );
    browser.server.create(text("driver-final")).await;
    let token = browser.server.token("patient", serde_json::json!({})).await;
    let why = browser.post("/access/why", &[("token", &token), ("method", "GET"), ("path", "/AuditEvent")]).await;
    assert!(
        why.status == 200
            && why.html.contains("No grant of the role patient permits audit-read")
            && why.html.contains("403"),
        "{}",
        why.html
    );
    let refused =
        browser.post("/access/why", &[("token", "a.b.c"), ("method", "GET"), ("path", "/Composition/1")]).await;
    assert!(refused.html.contains("The token is refused"), "{}", refused.html);
}

#[tokio::test]
async fn a_certificate_is_judged_with_every_problem_at_its_line() {
    let mut browser = Browser::open().await;
    let right = browser.post("/validate", &[("example", "driver-final"), ("body", &text("driver-final"))]).await;
    assert!(right.status == 200 && right.html.contains("0 errors"), "{}", right.html);
    let wrong = text("driver-final").replace("\"driver-group-I\"", "\"driver-group-IX\"");
    let page = browser.post("/validate", &[("example", "driver-final"), ("body", &wrong)]).await;
    let line = wrong.lines().position(|line| line.contains("driver-group-IX")).expect("it is there") + 1;
    let named = (line - 4..=line).any(|line| page.html.contains(&format!("href=\"#line-{line}\"")));
    assert!(named && page.html.contains("HCERT-"), "{line}: {}", page.html);
    let built =
        browser.post("/validate", &[("example", "driver-draft"), ("build", "yes"), ("number", "TT-2026-000001")]).await;
    assert!(built.html.contains("TT-2026-000001"), "{}", built.html);
    assert_eq!(browser.server.seq(), 0, "nothing is stored");
}

#[tokio::test]
async fn every_request_of_the_api_is_described_and_can_be_tried() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    let list = browser.get("/api").await;
    let ids: Vec<String> = list
        .html
        .split("href=\"/console/api/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert!(ids.len() > 30, "{}", list.html);
    for id in ids {
        let page = browser.get(&format!("/api/{id}")).await;
        assert!(page.status == 200 && page.html.contains("curl -s"), "{id}: {}", page.html);
    }
    let tried =
        browser.post("/api/try", &[("method", "GET"), ("path", "/Composition/1"), ("headers", ""), ("body", "")]).await;
    assert!(tried.status == 200 && tried.html.contains("<strong>200</strong>"), "{}", tried.html);
    let refused = browser
        .post(
            "/api/try",
            &[("method", "DELETE"), ("path", "/Composition/1"), ("headers", "If-Match: W/\"1\""), ("body", "")],
        )
        .await;
    assert!(refused.html.contains("<strong>409</strong>") && refused.html.contains("HCERT-133"), "{}", refused.html);
}

#[tokio::test]
async fn a_fault_is_armed_met_and_taken_away() {
    let mut browser = Browser::open().await;
    let page = browser.get("/faults").await.html;
    assert!(page.contains("MPI-029 → XRR200 → 10001") && !page.contains("banner"), "{page}");
    // What somebody gets who reads a patient, and who writes a certificate: whatever part the reader plays.
    browser.post("/part", &[("role", "receptionist"), ("person", "37605030299")]).await;
    let preview = browser.get("/faults?preview=slow%3D1ms,MPI-021").await.html;
    assert!(
        preview.contains("answers 404") && preview.contains("answers 200") && preview.contains("HCERT-008"),
        "{preview}"
    );
    assert!(preview.contains("MPI-021") && preview.contains("OperationOutcome"), "{preview}");
    browser.post("/part", &[("role", "")]).await;
    let armed = browser.post("/faults", &[("fault", "10001"), ("often", "once")]).await;
    assert_eq!((armed.status, armed.location()), (303, "/console/faults"), "{}", armed.html);
    assert!(browser.get("/documents").await.html.contains("Faults armed: 1"));
    let met = browser.post("/certificates/new", &[("body", &text("driver-draft"))]).await;
    assert!(met.status >= 400 && met.html.contains("MPI-029"), "{}", met.html);
    let created = browser.post("/certificates/new", &[("body", &text("driver-draft"))]).await;
    assert_eq!(created.status, 303, "it struck once: {}", created.html);
    assert!(!browser.get("/").await.html.contains("Faults armed"), "what is used up warns nobody");
    assert_eq!(browser.post("/faults", &[("disarm", "all")]).await.status, 303);
    assert!(!browser.get("/").await.html.contains("Faults armed"));
    for (fields, told) in [
        (&[("fault", "MPI-999"), ("often", "always")][..], "is no fault"),
        (&[("fault", "refuse"), ("path", "Patient")], "is not a path"),
        (&[("fault", "refuse"), ("path", "*"), ("identifier", "1")], "either an identifier or a path"),
        (&[("fault", "refuse"), ("often", "percent"), ("number", "101")], "out of range: 0 to 1"),
        (&[("fault", "refuse"), ("often", "calls"), ("number", "0")], "out of range: at least 1"),
        (&[("fault", "refuse"), ("often", "calls"), ("number", "many")], "no whole number"),
    ] {
        let wrong = browser.post("/faults", fields).await;
        assert!(wrong.status == 422 && wrong.html.contains(told), "{told}: {}", wrong.html);
    }
    assert!(!browser.get("/").await.html.contains("Faults armed"));
}

#[tokio::test]
async fn a_fault_strikes_whom_it_is_armed_for_and_is_taken_away_alone() {
    let mut browser = Browser::open().await;
    let one = [("fault", "MPI-052"), ("often", "calls"), ("number", "2"), ("path", "/Patient/201")];
    let other = [("fault", "slow=1ms"), ("often", "percent"), ("number", "30"), ("identifier", "4940*")];
    for fields in [one, other] {
        assert_eq!(browser.post("/faults", &fields).await.status, 303);
    }
    let list = browser.get("/faults").await.html;
    assert!(list.contains("/Patient/201") && list.contains("30 % of the calls"), "{list}");
    browser.server.get("Patient/200").await.expect(200);
    browser.server.get("Patient/201").await.refused(403, &["MPI-052"]);
    assert_eq!(browser.post("/faults", &[("disarm", "nonsense")]).await.status, 303);
    assert!(browser.get("/").await.html.contains("Faults armed: 2"));
    assert_eq!(browser.post("/faults", &[("disarm", "0")]).await.status, 303);
    assert!(browser.get("/").await.html.contains("Faults armed: 1"));
    browser.server.get("Patient/201").await.expect(200);
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_armed_and_where_people_are_real_there_are_no_faults() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = told.clone();
    let mut browser = Browser::open_with(move |sources| {
        let switch = sources.faults.as_mut().expect("it is there");
        switch.note = Box::new(move |note| {
            notes.lock().expect("nobody panics").push(note);
            Box::pin(async { Err("the trail is full".to_owned()) })
        });
    })
    .await;
    let refused = browser.post("/faults", &[("fault", "refuse"), ("identifier", "49403136515")]).await;
    assert!(refused.status == 422 && refused.html.contains("the trail is full"), "{}", refused.html);
    assert!(browser.get("/faults").await.html.contains("No fault is armed"));
    assert_eq!(*told.lock().expect("nobody panics"), ["fault 0 on: refuse"], "it names nobody");
    let mut real = Browser::open_with(|sources| {
        sources.is_developer = false;
        sources.faults = None;
    })
    .await;
    assert!(!real.get("/").await.html.contains("/console/faults"));
    assert_eq!(
        (real.get("/faults").await.status, real.post("/faults", &[("fault", "refuse")]).await.status),
        (404, 404)
    );
}

#[tokio::test]
async fn whoever_keeps_the_service_sees_its_settings_and_how_it_is() {
    let mut browser = Browser::open().await;
    let settings = browser.get("/settings?changed=yes").await.html;
    for told in ["flag --listen", "127.0.0.1:1", "127.0.0.1:8080", "Address and port of the API."] {
        assert!(settings.contains(told), "{settings}");
    }
    assert!(browser.get("/settings?find=address").await.html.contains("flag --listen"));
    assert!(!browser.get("/settings?find=tls").await.html.contains("flag --listen"));
    browser.server.get("Composition/7").await.expect(404);
    let health = browser.get("/health").await.html;
    for told in ["12 GB are free", "Make room", "12 GiB", "<dd>41</dd>", "0.08 ms", "250 ms", "/fhir/Composition/7"] {
        assert!(health.contains(told), "{told}: {health}");
    }
    assert!(health.find("12 GB are free") < health.find("Searches are answered"), "what needs somebody comes first");
    browser.post("/part", &[("role", "patient"), ("person", "37605030299")]).await;
    for path in ["/settings", "/health"] {
        let page = browser.get(path).await;
        assert!(page.status == 403 && page.html.contains("HCERT-178") | page.html.contains("HCERT-"), "{}", page.html);
        assert!(!page.html.contains("12 GB") && !page.html.contains("flag --listen"));
    }
}

#[tokio::test]
async fn an_exchange_is_shown_with_what_is_wrong_at_its_line_and_sent_again() {
    let mut browser = Browser::open().await;
    let wrong = text("driver-final").replace("\"driver-group-I\"", "\"driver-group-IX\"");
    browser.server.post("Composition", wrong).await.expect(422);
    let token = browser.server.token("patient", json!({})).await;
    browser.server.get("Composition/7").header("authorization", &token).await;
    let rows = browser.get("/traffic").await.html;
    assert!(rows.contains("POST /fhir/Composition") && rows.contains("422") && rows.contains("HCERT-"), "{rows}");
    assert!(!browser.get("/traffic?status=2").await.html.contains("POST /fhir/Composition"));
    assert!(browser.get("/traffic?role=patient").await.html.contains("/fhir/Composition/7"));
    let number =
        |html: &str| html.rsplit("data-number=\"").next().and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let oldest = number(&rows);
    let page = browser.get(&format!("/traffic/{oldest}")).await.html;
    assert!(
        page.contains("href=\"#line-") && page.contains("id=\"line-") && page.contains("href=\"#issue-0\""),
        "{page}"
    );
    assert!(!page.contains("Bearer ey") && page.contains("driver-group-IX"), "{page}");
    let again = browser.post(&format!("/traffic/{oldest}"), &[]).await;
    assert!(again.status == 303 && !again.location().ends_with(&format!("/{oldest}")), "{}", again.location());
    let more = browser.get(&format!("/traffic/rows?after={oldest}&pages=yes")).await.html;
    assert!(more.starts_with("<tr") && !more.contains("<html"), "{more}");
    assert_eq!(browser.get("/traffic/99999999").await.status, 404);
}

#[tokio::test]
async fn who_takes_a_part_sees_what_the_api_shows_that_part() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    let part = [
        ("role", "org-legal-representative"),
        ("represented-party", "16978044"),
        ("person", "37605030299"),
        ("organization", "16978044"),
        ("back", "/certificates"),
    ];
    assert_eq!(browser.post("/part", &part).await.location(), "/console/certificates");
    assert_eq!(browser.get("/certificates/1").await.status, 403);
    assert_eq!(browser.post("/part", &[("role", "")]).await.status, 303);
    assert_eq!(browser.get("/certificates/1").await.status, 200);
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_act() {
    let mut browser = Browser::open().await;
    let form = format!("body={}", encoded(&text("driver-draft")));
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
        ("x", "y"),
    ] {
        let asked = browser
            .server
            .ask("POST", "/console/certificates/new")
            .header("cookie", &browser.cookie)
            .header(name, value);
        let (status, _, _) = asked.body_as(Some("application/x-www-form-urlencoded"), form.clone()).raw().await;
        assert_eq!(status, 403, "{name}: {value}");
    }
    // From the right origin without a form that was given to this browser.
    let asked = browser.server.ask("POST", "/console/certificates/new").header("cookie", &browser.cookie);
    let asked = asked.header("sec-fetch-site", "same-origin");
    let (status, _, _) = asked.body_as(Some("application/x-www-form-urlencoded"), form).raw().await;
    assert_eq!(status, 403);
    assert_eq!(browser.server.seq(), 0, "no certificate is stored");
    assert!(
        browser.post("/language", &[("language", "et"), ("back", "//evil.example")]).await.location() == "/console/"
    );
    assert!(browser.get("/").await.html.contains("lang=\"et\""));
}

#[tokio::test]
async fn what_people_wrote_is_shown_as_text_everywhere() {
    let mut browser = Browser::open().await;
    let markup = "\\\"'><img src=x onerror=alert(1)><script>alert(2)</script>";
    let body = text("driver-final").replace("Prille või läätsi tuleb kanda kogu sõidu ajal.", markup);
    assert!(body.contains(markup));
    browser.server.create(body).await;
    for path in [
        "/certificates",
        "/certificates/1",
        "/certificates/1?tab=changes",
        "/certificates/1?tab=json",
        "/certificates/1/edit",
        "/certificates/1?tab=patient",
        "/documents/README",
        "/certificates/new?body=%3Cimg%20onerror%3E",
    ] {
        let html = browser.get(path).await.html;
        assert!(!html.contains("<img") && !html.contains("<script>"), "{path}");
    }
}

/// One row of the form of a search, and the button that sends it.
fn condition<'f>(parameter: &'f str, value: &'f str) -> [(&'f str, &'f str); 4] {
    [("parameter", parameter), ("modifier", ""), ("value", value), ("do", "search")]
}

#[tokio::test]
async fn a_search_is_a_form_whose_address_can_be_handed_on_where_it_names_nobody() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-draft")).await;
    browser.server.create(text("driver-final")).await;
    let sent = browser.post("/certificates", &condition("status", "final")).await;
    assert_eq!((sent.status, sent.location()), (303, "/console/certificates?status=final"));
    let found = browser.get("/certificates?status=final").await.html;
    assert!(found.contains("1 found") && found.contains("/console/certificates/2"), "{found}");
    assert!(found.contains("GET /fhir/Composition?status=final"), "the request as it goes");
    assert!(found.contains("How the search was run") && found.contains("all certificates"), "{found}");
    let rows = browser.get("/certificates").await.html.matches("<fieldset").count();
    let more = browser
        .post("/certificates", &[("parameter", "status"), ("modifier", ""), ("value", "final"), ("do", "add")])
        .await;
    assert_eq!((rows, more.status, more.html.matches("<fieldset").count()), (3, 200, 2));
    let wrong = browser.get("/certificates?status=nonsense").await;
    assert!(wrong.status == 400 && wrong.html.contains("HCERT-") && wrong.html.contains("nonsense"), "{}", wrong.html);
}

#[tokio::test]
async fn a_search_that_names_a_person_stands_sealed_in_its_address() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    for (path, fields) in [
        ("/certificates", condition("subject:Patient.identifier", "39406240015")),
        ("/patients", [("identifier", "39406240015"), ("_id", ""), ("birthdate", ""), ("x", "")]),
        ("/audit", [("patient", "39406240015"), ("certificate", ""), ("from", ""), ("outcome", "")]),
        ("/audit", [("agent", "37605030299"), ("certificate", ""), ("from", ""), ("outcome", "")]),
    ] {
        let sent = browser.post(path, &fields).await;
        assert_eq!(sent.status, 303, "{path}");
        let address = sent.location().strip_prefix("/console").unwrap().to_owned();
        assert!(address.contains("sealed=") && !address.contains("39406240015"), "{address}");
        let shown = browser.get(&address).await;
        assert_eq!(shown.status, 200, "{path}: {}", shown.html);
        assert!(!shown.html.contains("=39406240015\""), "no link holds the code");
        let own = std::mem::take(&mut browser.cookie);
        browser.get("/").await;
        let foreign = browser.get(&address).await;
        assert!(foreign.status >= 400 && !foreign.html.contains("value=\"39406240015\""), "{path} {}", foreign.status);
        browser.cookie = own;
    }
}

#[tokio::test]
async fn the_same_search_tells_each_role_what_the_api_tells_it() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    browser.server.create(text("driver-draft")).await;
    let page = browser.get("/certificates?subject=Patient/200&compare=roles").await.html;
    for (role, told) in [("doctor", "2"), ("patient", "1"), ("receptionist", "403 HCERT-"), ("gov-official", "1")] {
        let row = page.split(&format!("<th scope=\"row\">{role}</th>")).nth(1).expect(role);
        assert!(row.starts_with(&format!("<td class=\"number\">{told}")), "{role}: {}", &row[..60]);
    }
}

#[tokio::test]
async fn a_patient_is_shown_with_linked_records_and_as_they_see_their_certificates() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    browser.server.create(text("driver-draft")).await;
    let list = browser.get("/patients").await.html;
    assert!(list.contains("<code class=\"copy\">39406240015</code>") && list.contains(" found"), "{list}");
    assert!(browser.get("/patients/205").await.html.contains("/console/patients/206"));
    let one = browser.get("/patients/200").await.html;
    assert!(one.contains("/console/certificates/1") && one.contains("/console/certificates/2"), "{one}");
    let seen = browser.post("/patients/200/see", &[]).await;
    assert_eq!((seen.status, seen.location()), (303, "/console/certificates"));
    let own = browser.get("/certificates").await.html;
    assert!(own.contains("/console/certificates/1") && !own.contains("/console/certificates/2\""), "{own}");
    assert_eq!(browser.get("/patients").await.status, 403);
}

#[tokio::test]
async fn a_code_list_says_how_complete_it_is_and_what_takes_its_codes() {
    let mut browser = Browser::open().await;
    let all = browser.get("/terminology").await.html;
    assert!(all.contains("complete") && all.contains("known in part"), "{all}");
    let set = browser.get("/terminology/ValueSet/labivaatuse-tyyp").await.html;
    assert!(set.contains("Composition.category") && set.contains("driver-group-I"), "{set}");
    assert!(set.contains("Examination for obtaining") && set.contains("Läbivaatus juhiloa"), "both languages");
    let list = browser.get("/terminology/CodeSystem/labivaatuse-tyyp").await.html;
    assert!(list.contains("/console/terminology/ValueSet/labivaatuse-tyyp"), "{list}");
    let found = browser.get("/terminology?q=glasses").await.html;
    assert!(found.contains("01.06"), "{found}");
}

#[tokio::test]
async fn the_audit_trail_is_told_in_words_to_whoever_may_read_it() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    let list = browser.get("/audit").await.html;
    assert!(list.contains("made a health certificate: 1"), "{list}");
    let sent = browser.post("/audit", &[("certificate", "1"), ("outcome", "success")]).await;
    assert_eq!(sent.location(), "/console/audit?certificate=1&outcome=success");
    assert_eq!(browser.get("/audit?certificate=1&outcome=success").await.status, 200);
    let checked = browser.post("/audit/check", &[("head", "")]).await.html;
    assert!(checked.contains("as it was written") && checked.contains(">3:0123<"), "{checked}");
    assert!(browser.post("/audit/check", &[("head", "9:ff")]).await.html.contains("is not as it was written"));
    browser.post("/part", &[("role", "doctor"), ("person", "37605030299")]).await;
    assert_eq!((browser.get("/audit").await.status, browser.post("/audit/check", &[]).await.status), (403, 403));
}

#[tokio::test]
async fn a_print_is_opened_and_compared_with_the_journal() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    let print = browser.get("/certificates/1?tab=print").await.html;
    assert!(print.contains("certificate-1-v1.pdf") && print.contains("<option value=\"doctor\">"), "{print}");
    let path = "/console/certificates/1/pdf/certificate-1-v1.pdf?version=1&role=doctor";
    let asked = browser.server.ask("GET", path).header("cookie", &browser.cookie);
    let (status, headers, file) = asked.raw().await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "application/pdf"));
    let printed = browser.server.get("Composition/1/_history/1/$pdf?role=doctor").header("accept-language", "et");
    let (_, headers, body) = printed.raw().await;
    assert_eq!(file, body);
    let code = format!("http://a/fhir/Composition/1/_history/1#{}", headers["x-hcert-entry"].to_str().unwrap());
    let same = browser.post("/verify", &[("code", &code)]).await;
    assert!(same.status == 200 && same.html.contains("The journal has this entry"), "{}", same.html);
    assert!(same.html.contains(">Completed<") && !same.html.contains("a newer version"), "{}", same.html);
    let other = browser.post("/verify", &[("code", &code[..code.len() - 1])]).await;
    assert!(other.status == 200 && other.html.contains("The journal has another entry"), "{}", other.html);
    browser.server.suspend("Composition/1").await.expect(200);
    let newer = browser.post("/verify", &[("code", &code)]).await.html;
    assert!(newer.contains("There is a newer version: 2.") && newer.contains(">Suspended<"), "{newer}");
    let gone = code.replace("Composition/1/", "Composition/9/");
    for (code, status) in [("nonsense", 400), (gone.as_str(), 404)] {
        assert_eq!(browser.post("/verify", &[("code", code)]).await.status, status, "{code}");
    }
    // A reader who may not see the certificate learns nothing of its journal.
    browser.post("/part", &[("role", "patient"), ("person", "37605030299"), ("back", "/")]).await;
    let hidden = browser.post("/verify", &[("code", &code)]).await;
    assert!(hidden.status == 403 && hidden.html.contains("HCERT-179"), "{}", hidden.html);
}
