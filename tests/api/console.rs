//! The pages for people: what a reader is shown is what the API shows them, and a form does what its request does.

use std::sync::Arc;

use certificate::Names;
use hcert::access::rights::{BUILT_IN, permissions};
use hcert::config::Config;
use hcert::console::{Console, ConsoleSources, OwnWords};
use hcert::documents::Documents;
use hyper::header::HeaderMap;

use crate::body::text;
use crate::foreign;
use crate::server::{START, Server};

pub(crate) static DOCUMENTS: Documents = Documents {
    summary: "# Summary\n\n- [The project](../README.md)\n\n# How to\n\n- [Install](how-to/install.md)\n",
    texts: &[
        ("../README.md", "# hcert\n\n[Install](how-to/install.md#b) <script>alert(1)</script>\n"),
        ("how-to/install.md", "# Install\n"),
    ],
    pictures: &[],
    files: &[],
};

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
        let server = Server::with_http(
            START,
            |_| (),
            |settings| {
                let mut config = Config::default();
                foreign::set(&mut config);
                let sources = ConsoleSources {
                    key: [7; 32],
                    tokens: settings.tokens.clone().expect("keys"),
                    is_developer: true,
                    roles: permissions::read(BUILT_IN).expect("a table"),
                    documents: &DOCUMENTS,
                    names: Names::new(settings.base_url.to_string(), &config.namespaces.pairs()),
                    words: OwnWords::default(),
                    sign_in: None,
                    fill: None,
                };
                settings.pages = Some(Arc::new(Console::new(sources)));
            },
        );
        let mut browser = Browser { server: server.await, cookie: String::new() };
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
        "/certificates/1?tab=patient",
        "/certificates/1/moves",
        "/certificates/1/edit",
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
async fn who_takes_a_part_sees_what_the_api_shows_that_part() {
    let mut browser = Browser::open().await;
    browser.server.create(text("driver-final")).await;
    let part =
        [("role", "employer"), ("person", "37605030299"), ("organization", "16978044"), ("back", "/certificates")];
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
