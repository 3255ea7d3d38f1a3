//! One request of a reader, with everything that a screen needs to answer it.

use std::sync::Arc;

use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::session::{PartPlayed, Session};
use super::sources::ConsoleSources;
use super::texts::Texts;
use crate::access::Identity;
use crate::access::token::TokenRequest;
use crate::http::pages::{Api, ApiAnswer, ApiRequest, PAGES_PATH, PageAnswer, PageRequest};
use crate::interaction::BrokenAnswer;
use certificate::search::link;
use certificate::search::seal::SealKey;
use fhir::outcome::Language;

/// One request of a reader.
pub(super) struct Visit<'c> {
    pub sources: &'c ConsoleSources,
    pub key: &'c SealKey,
    pub texts: &'c Texts,
    /// Codes of all languages there are.
    pub languages: Vec<&'c str>,
    pub request: PageRequest,
    pub session: Session,
    /// Who is signed in, in `hcert serve`.
    pub identity: Option<Arc<Identity>>,
    pub api: Arc<dyn Api>,
    /// The token that goes with requests to the API; nothing where none does.
    pub token: OnceCell<Option<String>>,
}

impl Visit<'_> {
    /// A text in the reader's language.
    pub(super) fn t<'t>(&'t self, key: &'t str) -> &'t str {
        self.texts.get(key)
    }

    /// A text with values in its places.
    pub(super) fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.texts.with(key, values)
    }

    /// The nearer of the two languages of the API.
    pub(super) fn language(&self) -> Language {
        if self.texts.language == "et" { Language::Estonian } else { Language::English }
    }

    /// The address of a page, such as `/certificates`.
    pub(super) fn href(&self, path: &str) -> String {
        format!("{}{PAGES_PATH}{path}", self.request.root)
    }

    /// The first value of a field of the form, or of the query where there is none.
    pub(super) fn field(&self, name: &str) -> &str {
        let pairs = self.request.form.iter().chain(&self.request.query);
        pairs.into_iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// A request to the API as this reader sends it. `path` is below the base path: `/Composition/1`.
    pub(super) async fn api_request(&self, method: &str, path: &str, body: Vec<u8>) -> ApiRequest {
        let mut headers = vec![("accept-language".to_owned(), self.language_code().to_owned())];
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/fhir+json".to_owned()));
        }
        let target = [self.request.base_path.as_str(), path].concat();
        let request = ApiRequest { method: method.to_owned(), target, headers, body };
        match self.token().await {
            Some(token) => request.bearing(token),
            None => request,
        }
    }

    /// Asks the API.
    pub(super) async fn ask(&self, method: &str, path: &str, body: Vec<u8>) -> ApiAnswer {
        self.api.ask(self.api_request(method, path, body).await).await
    }

    /// Reads from the API.
    pub(super) async fn get(&self, path: &str) -> ApiAnswer {
        self.ask("GET", path, Vec::new()).await
    }

    /// Asks about a version that the reader was shown: where another came since, the answer is 412.
    pub(super) async fn ask_about_version(&self, mut request: ApiRequest, version: &str) -> ApiAnswer {
        if !version.is_empty() {
            request.headers.push(("if-match".to_owned(), format!("W/\"{version}\"")));
        }
        self.api.ask(request).await
    }

    /// Asks as somebody else, in `hcert dev`.
    pub(super) async fn ask_as(&self, mut request: ApiRequest, role: &str, person: &str) -> ApiAnswer {
        let part = PartPlayed { role: role.to_owned(), person: person.to_owned(), ..PartPlayed::default() };
        request.headers.retain(|(name, _)| name != "authorization");
        match self.token_of(&part).await {
            Some(token) => self.api.ask(request.bearing(&token)).await,
            None => ApiAnswer { status: 400, ..ApiAnswer::default() },
        }
    }

    fn language_code(&self) -> &'static str {
        match self.language() {
            Language::Estonian => "et",
            Language::English => "en",
        }
    }

    /// The token of the reader: that of their sign-in, or that of the part they play.
    pub(super) async fn token(&self) -> Option<&str> {
        let token = self.token.get_or_init(|| async {
            match &self.session.part {
                Some(part) => self.token_of(part).await,
                None => self.session.token.clone(),
            }
        });
        token.await.as_deref()
    }

    /// A developer's token for a part; nothing for a part that cannot be played.
    pub(super) async fn token_of(&self, part: &PartPlayed) -> Option<String> {
        let part = part.clone();
        let request = TokenRequest {
            person: part.person,
            role: part.role,
            organization: part.organization,
            patient: part.patient,
            represented_party: part.represented_party,
            ..TokenRequest::default()
        };
        let issued = self.sources.tokens.issue(&request.checked().ok()?).await.ok()??;
        Some(issued.token)
    }

    /// The way to another page of the console, after a form.
    pub(super) fn go_to(&self, path: &str) -> PageAnswer {
        PageAnswer::go_on(self.href(path))
    }

    /// The way to another page, with the session as it is now.
    pub(super) fn go_with(&self, session: &Session, path: &str) -> PageAnswer {
        PageAnswer { cookies: self.cookie(session).into_iter().collect(), ..self.go_to(path) }
    }

    /// The header `Set-Cookie` of a session.
    pub(super) fn cookie(&self, session: &Session) -> Option<String> {
        session.cookie(&self.request.root, self.request.is_secure, self.key)
    }

    /// Whether the reader has to sign in first.
    pub(super) fn is_stranger(&self) -> bool {
        self.sources.sign_in.is_some() && self.identity.is_none()
    }

    /// The address where the reader signs in and comes back to a page.
    pub(super) fn sign_in_href(&self, back: &str) -> String {
        self.href(&format!("/sign-in?{}", link::encode([("back", back)])))
    }

    /// Path and query of this page, below the pages.
    pub(super) fn here(&self) -> String {
        let query = link::encode(self.request.query.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let path = &link::encode([("", self.request.path.as_str())])[1..];
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// A form that is sent to a page of the console.
    pub(super) fn form(&self, path: &str, content: &Markup) -> Markup {
        html! {
            form method="post" action=(self.href(path)) {
                input type="hidden" name="form-token" value=(self.session.form_token(self.key));
                (content)
            }
        }
    }

    /// A resource that the API answered, or the page that shows why it did not.
    pub(super) fn resource(&self, answer: &ApiAnswer, title: &str) -> Result<Value, PageAnswer> {
        let read = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        if (200..300).contains(&answer.status) { Ok(read) } else { Err(self.refused(answer, title)) }
    }

    /// A page that shows what the API refused.
    pub(super) fn refused(&self, answer: &ApiAnswer, title: &str) -> PageAnswer {
        let content = html! { h1 { (title) } (self.refusal(answer)) };
        self.page_with_status(answer.status, title, &content)
    }

    /// The refusal of the API: each issue with its code, its words, and where it is.
    pub(super) fn refusal(&self, answer: &ApiAnswer) -> Markup {
        let read: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let issues = read["issue"].as_array().map_or(&[][..], Vec::as_slice);
        let title = match answer.broken {
            Some(BrokenAnswer::HangUp) => self.t("refusal.hang-up").to_owned(),
            Some(BrokenAnswer::Garbage) => self.t("refusal.garbage").to_owned(),
            None => self.say("refusal.title", &[("status", &answer.status.to_string())]),
        };
        html! {
            section.refusal role="status" {
                h2 { (title) }
                @match answer.broken {
                    Some(BrokenAnswer::HangUp) => {}
                    Some(BrokenAnswer::Garbage) => { pre tabindex="0" { code { (String::from_utf8_lossy(&answer.body)) } } }
                    None => { @if issues.is_empty() { p { (self.t("refusal.empty")) } } },
                }
                ul { @for issue in issues { (self.issue(issue)) } }
                @if answer.status == 403 { p { a href=(self.href("/access")) { (self.t("refusal.rights")) } } }
            }
        }
    }

    /// One issue of an OperationOutcome.
    pub(super) fn issue(&self, issue: &Value) -> Markup {
        self.issue_with(issue, None, &html! {})
    }

    /// One issue under an id, with more behind it.
    pub(super) fn issue_with(&self, issue: &Value, id: Option<&str>, more: &Markup) -> Markup {
        let text = |name: &str| issue[name].as_str().unwrap_or_default();
        let code = issue["details"]["coding"][0]["code"].as_str().unwrap_or_default();
        let words = issue["details"]["text"].as_str().unwrap_or_else(|| text("diagnostics"));
        let expressions = issue["expression"].as_array().map_or(&[][..], Vec::as_slice);
        html! {
            li.issue.(text("severity")) id=[id] {
                span.severity { (self.texts.find(&format!("severity.{}", text("severity"))).unwrap_or_else(|| text("severity"))) }
                " " code { (code) } " " (words)
                @if !text("diagnostics").is_empty() && text("diagnostics") != words { br; small { (text("diagnostics")) } }
                @for expression in expressions { " " code.expression { (expression.as_str().unwrap_or_default()) } }
                (more)
            }
        }
    }

    /// A text of the files that has an address in it, written as a link: `{a}words{/a}`.
    pub(super) fn linked(&self, key: &str, path: &str) -> Markup {
        let escaped = html! { (self.t(key)) }.into_string();
        let start = html! { a href=(self.href(path)) {} }.into_string().replace("</a>", "");
        PreEscaped(escaped.replace("{a}", &start).replace("{/a}", "</a>"))
    }
}

/// A path of the console that a form or an address brought along; `/` in place of anything else.
pub(super) fn own_path(path: &str) -> &str {
    let is_own = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    if is_own && path.bytes().all(|byte| byte.is_ascii_graphic()) { path } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_out_of_the_console() {
        for path in ["/", "/certificates?status=final&_page=2", "/certificates/1"] {
            assert_eq!(own_path(path), path);
        }
        for path in ["", "//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nb", "/õ", "/a b"] {
            assert_eq!(own_path(path), "/", "{path}");
        }
    }
}
