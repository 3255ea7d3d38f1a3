//! What the server answered, and what a test may expect of it.

use std::fmt;

use fhir::outcome::IssueSystems;
use hyper::{HeaderMap, StatusCode};
use serde_json::Value;

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct TestResponse {
    /// Method and target of the request, for messages.
    pub line: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// What every answer tells browsers.
const SECURITY: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
];

impl TestResponse {
    /// What holds for every answer, whatever was asked. Contract 2.4, 5.1.
    pub(crate) fn check(&self) {
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self}");
        assert!(self.header("vary").is_some_and(|vary| vary.starts_with("Authorization, Accept, Prefer")), "{self}");
        assert!(self.header("x-request-id").is_some(), "{self}");
        for (name, value) in SECURITY {
            assert_eq!(self.header(name), Some(value), "{self}");
        }
        assert_eq!(self.header("content-type").is_some(), !self.body.is_empty() || self.is_head(), "{self}");
        // The token service speaks plain JSON.
        let is_plain = self.body.starts_with(b"{\"error\":");
        if self.status.as_u16() >= 400 && !self.is_head() && !is_plain {
            self.check_outcome();
        }
    }

    /// The description of the API names its status.
    pub(crate) fn check_documented(&self) {
        crate::openapi::check(self);
    }

    fn is_head(&self) -> bool {
        self.line.starts_with("HEAD ") && self.headers.contains_key("content-type")
    }

    /// The shape of specification 7.
    fn check_outcome(&self) {
        if self.headers.contains_key("content-encoding") {
            return;
        }
        let outcome = self.json();
        assert_eq!(outcome["resourceType"], "OperationOutcome", "{self}");
        assert_eq!(outcome["text"]["status"], "generated", "{self}");
        let div = outcome["text"]["div"].as_str().expect("a narrative");
        let issues = outcome["issue"].as_array().expect("issues");
        assert!(!issues.is_empty(), "{self}");
        for issue in issues {
            assert!(issue["id"].as_str().is_some_and(|id| uuid::Uuid::parse_str(id).is_ok()), "{self}");
            assert!(["error", "warning", "information"].contains(&issue["severity"].as_str().expect("a severity")));
            let system = issue["details"]["coding"][0]["system"].as_str().expect("a system");
            let code = issue["details"]["coding"][0]["code"].as_str().expect("a code");
            let reflected = fhir::outcome::reflected::find(code);
            let known = reflected.map(|entry| IssueSystems::default().of(entry.system).to_owned());
            assert_eq!(system, known.as_deref().unwrap_or("https://hcert.tehik.ee/issue"), "{self}");
            assert!(div.contains(&format!("<dt>{code}</dt>")), "{self}");
            let text = issue["details"]["text"].as_str().expect("a text");
            assert!(!text.is_empty(), "{self}");
            // Outside of quotes nothing is the caller's.
            let own: String = text.replace("/<id>/", "").split('\'').step_by(2).collect();
            // The problem of a narrative names markup, and the want of a token its place in a header.
            let is_open = own.contains('<') && !["HCERT-176", "HCERT-195"].contains(&code);
            assert!(!is_open, "a place of the text was left open: {self}");
        }
    }

    /// The status, or a failure that shows the whole answer.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> TestResponse {
        assert!(self.status == status, "expected {status}:\n{self}");
        self
    }

    /// A refusal with exactly these codes, in this order.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, codes: &[&str]) -> TestResponse {
        assert!(self.status == status && self.codes() == codes, "expected {status} {codes:?}:\n{self}");
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a visible header"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("answers are UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}:\n{self}"))
    }

    /// The body with one member per line, and without what differs from run to run.
    pub(crate) fn masked_body(&self) -> String {
        masked(&indented(&String::from_utf8_lossy(&self.body)))
    }

    /// Codes of the issues, where the answer is an OperationOutcome.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.issues(|issue| issue["details"]["coding"][0]["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Where the issues are, of each its first expression.
    pub(crate) fn places(&self) -> Vec<String> {
        self.issues(|issue| issue["expression"][0].as_str().unwrap_or_default().to_owned())
    }

    /// Texts of the issues, one per line.
    pub(crate) fn said(&self) -> String {
        self.issues(|issue| issue["details"]["text"].as_str().unwrap_or_default().to_owned()).join("\n")
    }

    fn issues(&self, read: impl Fn(&Value) -> String) -> Vec<String> {
        let Ok(json) = serde_json::from_slice::<Value>(&self.body) else { return Vec::new() };
        json["issue"].as_array().into_iter().flatten().map(read).collect()
    }

    /// Ids of a Bundle's entries, in their order.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.entries(|entry| entry["resource"]["id"].as_str().and_then(|id| id.parse().ok()))
    }

    /// What `read` finds in the entries of a Bundle.
    pub(crate) fn entries<T>(&self, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
        self.json()["entry"].as_array().into_iter().flatten().filter_map(read).collect()
    }

    /// A Bundle's link.
    pub(crate) fn link(&self, relation: &str) -> Option<String> {
        let json = self.json();
        let links = json["link"].as_array().expect("a Bundle has links");
        let found = links.iter().find(|link| link["relation"] == relation)?;
        Some(found["url"].as_str().expect("a link has an address").to_owned())
    }

    /// As [`TestResponse::link`], below the base address, ready to be asked.
    pub(crate) fn next(&self) -> Option<String> {
        let url = self.link("next")?;
        Some(url.strip_prefix("http://127.0.0.1:8080/fhir/").expect("links lead to this server").to_owned())
    }
}

/// Request line, status, headers by name, body indented. What differs from run to run is masked: ids of issues and sealed links.
impl fmt::Display for TestResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        writeln!(formatter, "{}\n\n{}", self.line, self.status)?;
        // Those that are the same everywhere would hide the others.
        let is_usual = |name: &str| SECURITY.iter().any(|(usual, _)| *usual == name);
        let mut headers: Vec<_> = self.headers.iter().filter(|(name, _)| !is_usual(name.as_str())).collect();
        headers.sort_by_key(|(name, _)| name.as_str());
        for (name, value) in headers {
            writeln!(formatter, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        if !self.body.is_empty() {
            write!(formatter, "\n{}", self.masked_body())?;
        }
        Ok(())
    }
}

fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_query=") {
        let value = at + "_query=".len();
        let end = rest[value..].find(['&', '"']).map_or(rest.len(), |end| value + end);
        out.push_str(&rest[..value]);
        out.push_str("[sealed]");
        rest = &rest[end..];
    }
    out.push_str(rest);
    while let Some(at) = out.find(UUID) {
        let end = out[at..].find('"').map_or(out.len(), |end| at + end);
        out.replace_range(at..end, "urn:[uuid]");
    }
    let lines = out.lines().map(|line| match line.split_once("\"id\": \"") {
        Some((before, after)) if uuid::Uuid::parse_str(after.split('"').next().unwrap_or_default()).is_ok() => {
            format!("{before}\"id\": \"[uuid]\",")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How the address of an entry begins that is no resource of the server.
const UUID: &str = "urn:uuid:";

/// JSON with one member per line, in its own order. Text that is indented already stays as it is.
fn indented(json: &str) -> String {
    if json.contains('\n') {
        return json.to_owned();
    }
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        };
        match character {
            '{' | '[' => {
                out.push(character);
                depth += 1;
                if !matches!(characters.peek(), Some('}' | ']')) {
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !out.ends_with(['{', '[']) {
                    line(&mut out, depth);
                }
                out.push(character);
            }
            ',' => {
                out.push(character);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_string = true;
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}
