//! The pages of `hcert serve`: an address of their own, and people who sign in at the issuer.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hcert::access::token::SignInClient;
use hcert::config::Config;
use hcert::console::{Console, ConsoleSources, OwnWords, RETURN_PATH, SignIn};
use hcert::http;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::console::sources;
use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{START, Server};
use crate::token::{ISSUER, NOW, claims, encode, keys_file, of_issuer, signed};

const ANNOUNCEMENT: &str = "This is the <test> service.";

/// The code that the issuer exchanges.
const CODE: &str = "good";

/// What came back for one request: names of headers in small letters.
struct Shown {
    status: u16,
    headers: Vec<(String, String)>,
    html: String,
}

impl Shown {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    #[track_caller]
    fn says(&self, words: &str) -> &Shown {
        assert!(self.html.contains(words), "{words:?} is not in {}", self.html);
        self
    }
}

/// `hcert serve` with its two addresses, an issuer, and a browser.
struct Setup {
    server: Server,
    api: SocketAddr,
    pages: SocketAddr,
    /// The nonce that the next ID token has.
    nonce: Arc<Mutex<String>>,
    /// Seconds that the next token lives.
    lives: Arc<Mutex<i64>>,
    cookies: BTreeMap<String, String>,
}

async fn request(to: SocketAddr, head: &str, body: &str) -> Shown {
    let mut stream = TcpStream::connect(to).await.expect("a listener");
    let head = format!("{head}\r\nhost: {to}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).await.expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    let (head, html) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Shown { status, headers, html: html.to_owned() }
}

/// An issuer's token endpoint.
async fn issuer(nonce: Arc<Mutex<String>>, lives: Arc<Mutex<i64>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}/token", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut sent = String::new();
            while !sent.contains("client_id=hcert-console") {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.expect("a request");
                sent += std::str::from_utf8(&bytes[..count]).expect("text");
            }
            let mut told = claims();
            told["exp"] = json!(NOW + *lives.lock().expect("no panic"));
            (told["given_name"], told["family_name"]) = ("Mari".into(), "Kask".into());
            let id_claims = json!({"nonce": *nonce.lock().expect("no panic")}).to_string();
            let access_token = signed(&told).replace("Bearer ", "");
            let body = json!({"access_token": access_token, "token_type": "Bearer", "id_token": format!("h.{}.s", encode(id_claims))});
            let (status, body) = match sent.contains(&format!("code={CODE}&")) {
                true => ("200 OK", body),
                false => ("400 Bad Request", json!({"error": "invalid_grant"})),
            };
            let body = body.to_string();
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.expect("sent");
        }
    });
    address
}

impl Setup {
    async fn start() -> Setup {
        let (nonce, lives): (Arc<Mutex<String>>, _) = (Arc::default(), Arc::new(Mutex::new(3_600)));
        let token_endpoint = issuer(nonce.clone(), lives.clone()).await;
        let folder = tempfile::tempdir().expect("a folder");
        let keys = keys_file(folder.path());
        let pages = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let pages_at = pages.local_addr().expect("an address");
        let mut of_console = Config::default();
        of_console.console.client_id = Some("hcert-console".to_owned());
        of_console.access.token.issuer = Some(ISSUER.to_owned());
        of_console.access.token.authorization_endpoint = Some(format!("{ISSUER}/auth"));
        of_console.access.token.end_session_endpoint = Some(format!("{ISSUER}/logout"));
        of_console.access.token.token_endpoint = Some(token_endpoint);
        let path = format!("/console{RETURN_PATH}");
        let client = SignInClient::open(&of_console, &format!("http://{pages_at}"), &path).expect("settings");
        let server = Server::with_http(
            START,
            |config| {
                WritesToTheConnection.set_default_names(config);
                of_issuer(config, keys);
            },
            |settings| {
                let sources = ConsoleSources {
                    is_developer: false,
                    words: OwnWords { announcement: Some(ANNOUNCEMENT.to_owned()), ..OwnWords::default() },
                    sign_in: Some(SignIn { client, warning_s: 120 }),
                    ..sources(settings)
                };
                settings.pages = Some(Arc::new(Console::new(sources)));
            },
        );
        let server = server.await;
        let api = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let api_at = api.local_addr().expect("an address");
        tokio::spawn(http::serve_with_pages(api, Some(pages), server.http(), std::future::pending()));
        Setup { server, api: api_at, pages: pages_at, nonce, lives, cookies: BTreeMap::new() }
    }

    fn cookie_line(&self) -> String {
        let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("cookie: {}", pairs.join("; "))
    }

    /// A page as a browser asks for it that keeps its cookies.
    async fn get(&mut self, path: &str) -> Shown {
        let head = format!("GET {path} HTTP/1.1\r\naccept-language: en\r\n{}", self.cookie_line());
        let shown = request(self.pages, &head, "").await;
        self.keep(shown)
    }

    async fn post(&mut self, path: &str) -> Shown {
        let page = self.get("/console/").await.html;
        let token = page.split("name=\"form-token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let form = format!("form-token={}", token.expect("a form"));
        let head = format!(
            "POST {path} HTTP/1.1\r\naccept-language: en\r\nsec-fetch-site: same-origin\r\n\
             content-type: application/x-www-form-urlencoded\r\n{}",
            self.cookie_line()
        );
        let shown = request(self.pages, &head, &form).await;
        self.keep(shown)
    }

    fn keep(&mut self, shown: Shown) -> Shown {
        for (_, cookie) in shown.headers.iter().filter(|(name, _)| name == "set-cookie") {
            assert!(cookie.contains("; HttpOnly; SameSite="), "{cookie}");
            let (name, value) = cookie.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            match value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        shown
    }

    /// Begins to sign in; the path that the issuer leads back to, without a code.
    async fn begin(&mut self, back: &str) -> String {
        let led = self.get(&format!("/console/sign-in?back={back}")).await;
        assert_eq!(led.status, 303);
        let address = led.header("location").to_owned();
        let value =
            |name: &str| address.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)).expect("a parameter");
        assert!(address.starts_with(&format!("{ISSUER}/auth?")) && address.contains("code_challenge_method=S256"));
        *self.nonce.lock().expect("no panic") = value("nonce=").to_owned();
        format!("/console/signed-in?state={}", value("state="))
    }

    async fn sign_in(&mut self) -> Shown {
        let back = self.begin("/certificates").await;
        self.get(&format!("{back}&code={CODE}&iss={ISSUER}")).await
    }
}

#[tokio::test]
async fn pages_and_api_have_an_address_each() {
    let mut setup = Setup::start().await;
    let bearer = format!("authorization: {}", signed(&claims()));
    for path in ["/console", "/console/", "/console/certificates", "/"] {
        let head = format!("GET {path} HTTP/1.1\r\naccept: text/html");
        let shown = request(setup.api, &head, "").await;
        assert_eq!((shown.status, shown.header("location"), shown.header("set-cookie")), (401, "", ""), "{path}");
    }
    assert_eq!(request(setup.api, &format!("GET /fhir/Composition HTTP/1.1\r\n{bearer}"), "").await.status, 200);
    for path in
        ["/fhir/Composition", "/fhir/metadata", "/.well-known/smart-configuration", "/auth/v2/token", "/consoles"]
    {
        let shown = request(setup.pages, &format!("GET {path} HTTP/1.1\r\n{bearer}"), "").await;
        assert_eq!(shown.status, 404, "{path}");
        assert!(!shown.html.contains("Bundle") && !shown.html.contains("CapabilityStatement"), "{path}");
    }
    assert_eq!(setup.get("/").await.header("location"), "/console/");
    for path in ["/console/", "/console/certificates/1?tab=json", "/console/nothing"] {
        let shown = setup.get(path).await;
        assert_eq!(shown.status, 200, "{path}");
        shown.says("<h1>Sign in</h1>").says("This is the &lt;test&gt; service.");
        shown.says(&format!(
            "/console/sign-in?back={}",
            path["/console".len()..].replace('?', "%3F").replace('=', "%3D")
        ));
        assert!(!shown.html.contains("Search"), "no way around for strangers: {path}");
    }
    assert!(
        setup.server.events().iter().all(|event| event.from.ip.is_some()),
        "every event is of a request to the API"
    );
}

#[tokio::test]
async fn who_signs_in_sees_what_the_token_permits_until_they_sign_out() {
    let mut setup = Setup::start().await;
    let done = setup.sign_in().await;
    assert_eq!((done.status, setup.cookies.len()), (200, 1), "the cookie of the attempt is gone");
    done.says("You are signed in").says("content=\"0; url=/console/certificates\"");
    setup.get("/console/certificates").await.says("<h1>Certificates</h1>").says("Mari Kask, signed in until 09:00");
    assert!(setup.server.events().iter().any(|event| event.who.person.as_deref() == Some("37605030299")));

    // The cookie is no way into the API.
    let head = format!("GET /fhir/Composition HTTP/1.1\r\n{}", setup.cookie_line());
    assert_eq!(request(setup.api, &head, "").await.status, 401);
    // A page of another site leads here without the cookie, and takes it from nobody.
    let elsewhere = request(setup.pages, "GET /console/certificates HTTP/1.1\r\nsec-fetch-site: cross-site", "").await;
    assert_eq!((elsewhere.status, elsewhere.header("set-cookie")), (200, ""));
    elsewhere.says("content=\"0; url=/console/certificates\"");

    let ended = setup.post("/console/sign-out").await;
    ended.says("You are signed out").says(&format!("url={ISSUER}/logout?client_id=hcert-console&amp;"));
    setup.get("/console/certificates").await.says("<h1>Sign in</h1>");
}

#[tokio::test]
async fn another_state_a_replay_and_a_refusal_sign_nobody_in() {
    let mut setup = Setup::start().await;
    let kept = setup.begin("/").await;
    let cookies = setup.cookies.clone();
    for (back, words) in [
        (format!("{kept}x&code={CODE}"), "This is not the end of a sign-in"),
        (format!("{kept}&code={CODE}&iss=https://elsewhere.example.ee"), "This is not the end of a sign-in"),
        (format!("{kept}&error=access_denied&error_description=%3Cscript%3E"), "The issuer refused: access_denied."),
        (format!("{kept}&code=used"), "The issuer gave no access"),
        (kept.clone(), "This is not the end of a sign-in"),
    ] {
        setup.cookies = cookies.clone();
        let shown = setup.get(&back).await;
        shown.says("<h1>You are not signed in</h1>").says(words);
        assert!(!shown.html.contains("<script>") && !shown.html.contains(CODE), "{}", shown.html);
        // The attempt is over: the same once more is that of nobody.
        setup.get(&format!("{kept}&code={CODE}")).await.says("This is not the end of a sign-in");
    }
    // An ID token of another attempt.
    setup.cookies = cookies.clone();
    *setup.nonce.lock().expect("no panic") = "other".to_owned();
    setup.get(&format!("{kept}&code={CODE}")).await.says("The issuer gave no access");
    // A cookie that nobody sealed.
    setup.cookies = [("hcert-sign-in".to_owned(), "AAAA".to_owned())].into();
    setup.get(&format!("{kept}&code={CODE}")).await.says("This is not the end of a sign-in");
    setup.get("/console/certificates").await.says("<h1>Sign in</h1>");
}

#[tokio::test]
async fn a_sign_in_that_ends_is_warned_of_and_leads_back_afterwards() {
    let mut setup = Setup::start().await;
    setup.sign_in().await;
    let hidden = " data-left=\"3600\" data-warning=\"120\" hidden>";
    assert!(setup.get("/console/").await.html.contains(hidden));
    *setup.lives.lock().expect("no panic") = 60;
    setup.sign_in().await;
    let shown = setup.get("/console/").await;
    shown.says("data-left=\"60\" data-warning=\"120\">Your sign-in ends at 08:01");
    setup.server.set_clock("2025-01-13T09:00:00+02:00");
    let shown = setup.get("/console/certificates?status=final").await;
    shown.says("Your sign-in has ended.").says("/console/sign-in?back=/certificates%3Fstatus%3Dfinal");
    // A token that is refused from the beginning.
    let refused = setup.sign_in().await;
    refused.says("The service does not accept what the issuer gave: expired");
}
