//! A certificate in print, and whether what is printed is what the service has.

use maud::{Markup, html};
use serde_json::Value;

use super::start::state_name;
use crate::access::rights::PermittedAction;
use crate::console::visit::Visit;
use crate::http::pages::{ApiAnswer, PageAnswer};
use certificate::{State, Status};

/// What the QR code of a print holds: the address of a version, and its entry in the journal.
struct PrintedCode {
    id: String,
    version: String,
    /// `changes/120:` and a hash.
    entry: String,
}

impl PrintedCode {
    /// Reads it as a reader of codes gives it, or as it was typed from the paper: address and entry with a `#` or space between.
    fn parse(text: &str) -> Option<PrintedCode> {
        let (address, entry) = text.trim().split_once(|letter: char| letter == '#' || letter.is_whitespace())?;
        let (before, version) = address.trim_end_matches('/').rsplit_once("/_history/")?;
        let id = before.rsplit_once("Composition/")?.1;
        let is_number =
            |text: &str| !text.is_empty() && text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit());
        let (id, version, entry) =
            (id.to_owned(), version.to_owned(), entry.split_whitespace().collect::<String>().to_ascii_lowercase());
        (is_number(&id) && is_number(&version) && !entry.is_empty()).then_some(PrintedCode { id, version, entry })
    }
}

/// Roles in which the reader may print.
fn roles<'v>(visit: &'v Visit<'_>) -> Vec<&'v str> {
    match (&visit.session.part, &visit.identity) {
        (Some(part), _) => vec![&part.role],
        (None, Some(identity)) => identity.roles.iter().map(String::as_str).collect(),
        (None, None) => {
            let may_read = visit
                .sources
                .roles
                .iter()
                .filter(|(_, grants)| grants.iter().any(|grant| grant.may.contains(&PermittedAction::Read)));
            let mut names: Vec<&str> = may_read.map(|(role, _)| role.as_str()).collect();
            // The role that sees the most is offered first.
            names.sort_unstable_by_key(|name| (*name != "doctor", *name));
            names
        }
    }
}

/// The form that asks for a print of a version.
pub(super) fn form(visit: &Visit<'_>, id: &str, version: &str) -> Markup {
    html! {
        p { (visit.t("print.text")) }
        form method="get" action=(visit.href(&format!("/certificates/{id}/pdf/certificate-{id}-v{version}.pdf"))) {
            input type="hidden" name="version" value=(version);
            p { label { (visit.t("print.role")) " "
                select name="role" { @for role in roles(visit) { option value=(role) { (role) } } }
            } }
            p { button.main { (visit.t("print.open")) } }
        }
        p { (visit.linked("print.verify", "/verify")) }
    }
}

/// The document, as the API makes it.
pub(in crate::console) async fn file(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let answer = printed(visit, id, visit.field("version"), visit.field("role")).await;
    match answer.status {
        200 => {
            PageAnswer { content_type: "application/pdf", body: answer.body, ..PageAnswer::html(200, String::new()) }
        }
        _ => visit.refused(&answer, visit.t("certificate.tab.print")),
    }
}

async fn printed(visit: &Visit<'_>, id: &str, version: &str, role: &str) -> ApiAnswer {
    let role = certificate::search::link::encode([("role", role)]);
    let mut request =
        visit.api_request("GET", &format!("/Composition/{id}/_history/{version}/$pdf?{role}"), Vec::new()).await;
    request.headers.push(("accept".to_owned(), "application/pdf".to_owned()));
    visit.api.ask(request).await
}

/// The page that compares what is printed with the journal.
pub(in crate::console) fn show(visit: &Visit<'_>) -> PageAnswer {
    page(visit, 200, "", &html! {})
}

fn page(visit: &Visit<'_>, status: u16, code: &str, found: &Markup) -> PageAnswer {
    let title = visit.t("verify.title");
    visit.page_with_status(
        status,
        title,
        &html! {
            h1 { (title) }
            p { (visit.t("verify.text")) }
            (visit.form("/verify", &html! {
                p { label { (visit.t("verify.code")) textarea name="code" rows="3" required spellcheck="false" { (code) } } }
                p { button.main { (visit.t("verify.compare")) } }
            }))
            (found)
        },
    )
}

/// Compares. The reader is told no more than they may read.
pub(in crate::console) async fn verify(visit: &Visit<'_>) -> PageAnswer {
    let text = visit.field("code");
    let Some(code) = PrintedCode::parse(text) else {
        return page(visit, 400, text, &html! { section.refusal role="status" { p { (visit.t("verify.no-code")) } } });
    };
    let mut roles = roles(visit).into_iter();
    // A reader without a role is refused by the API.
    let mut answer = printed(visit, &code.id, &code.version, roles.next().unwrap_or_default()).await;
    while let Some(role) = roles.next().filter(|_| answer.status != 200) {
        answer = printed(visit, &code.id, &code.version, role).await;
    }
    if answer.status != 200 {
        return page(visit, answer.status, text, &visit.refusal(&answer));
    }
    let entry = answer.headers.iter().find(|(name, _)| name == "x-hcert-entry").map_or("", |(_, entry)| entry);
    let is_same = entry == code.entry;
    let newest = visit.get(&format!("/Composition/{}", code.id)).await;
    let newest: Value = serde_json::from_slice(&newest.body).unwrap_or(Value::Null);
    let state = newest["status"].as_str().and_then(Status::parse).map_or(State::Deleted, Status::state);
    let version = newest["meta"]["versionId"].as_str().unwrap_or_default();
    let values = [("id", code.id.as_str()), ("version", code.version.as_str())];
    page(
        visit,
        200,
        text,
        &html! {
            section.verdict.is-same[is_same] role="status" {
                h2 { (visit.t(if is_same { "verify.same" } else { "verify.other" })) }
                p { (visit.say(if is_same { "verify.same-text" } else { "verify.other-text" }, &values)) }
                @if is_same {
                    p { (visit.t("verify.now")) " " span.state.(state.status().code()) { (state_name(visit, state)) } }
                    @if version != code.version { p { strong { (visit.say("verify.newer", &[("version", version)])) } } }
                }
                p { a href=(visit.href(&format!("/certificates/{}", code.id))) { (visit.say("certificate.title", &[("id", &code.id)])) } }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_scanned_and_as_typed() {
        for text in [
            "http://localhost/fhir/Composition/7/_history/3#changes/12:0AF1",
            " https://a.example/r1/x/Composition/7/_history/3 changes/12:0af1\n",
            "Composition/7/_history/3\nchanges/12:\n0af1",
        ] {
            let code = PrintedCode::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((&*code.id, &*code.version, &*code.entry), ("7", "3", "changes/12:0af1"), "{text}");
        }
        for text in ["", "#", "Composition/7/_history/3", "Composition/7#changes/1:0", "Composition/../_history/3#x"] {
            assert!(PrintedCode::parse(text).is_none(), "{text}");
        }
    }
}
