//! Writing certificates: a new one from an example, and another version of one that is there.

use maud::{Markup, html};

use crate::console::reading::estonian_code;
use crate::console::visit::Visit;
use crate::http::pages::{ApiAnswer, PageAnswer};
use fhir::json::{self, Json};
use serde_json::Value;

/// Examples that a certificate can begin as, in the order in which they are offered.
pub(super) const EXAMPLES: [&str; 4] = ["driver-draft", "driver-final", "occupational-draft", "occupational-final"];

/// Patients that are offered.
const PATIENTS_OFFERED: u32 = 50;

/// Rows of the editor.
const EDITOR_ROWS: u32 = 28;

/// The form for a new certificate. A chosen example or patient shows it again, with the body that they make.
pub(in crate::console) async fn show_new(visit: &Visit<'_>) -> PageAnswer {
    let example = EXAMPLES.into_iter().find(|name| *name == visit.field("example")).unwrap_or(EXAMPLES[0]);
    let (patients, refused) = match patients(visit).await {
        Ok(patients) => (patients, None),
        Err(refused) => (Vec::new(), Some(refused)),
    };
    let patient = visit.field("patient");
    let patient = patients.iter().find(|(id, _)| id == patient).or(patients.first()).map_or("", |(id, _)| id);
    let text = visit.sources.example(example).unwrap_or_default();
    let body = match patient {
        "" => text.into_bytes(),
        patient => with_subject(text.as_bytes(), &format!("Patient/{patient}")),
    };
    let body =
        visit.field("body").to_owned().chars().next().map_or(indented(&body), |_| visit.field("body").to_owned());
    let status = refused.as_ref().map_or(200, |answer| answer.status);
    new_page(visit, status, example, (&patients, patient), &body, refused.as_ref())
}

fn new_page(
    visit: &Visit<'_>,
    status: u16,
    example: &str,
    (patients, patient): (&[(String, String)], &str),
    body: &str,
    refused: Option<&ApiAnswer>,
) -> PageAnswer {
    let title = visit.t("change.new");
    visit.page_with_status(status, title, &html! {
        h1 { (title) }
        @if let Some(answer) = refused { (visit.refusal(answer)) }
        form method="get" action=(visit.href("/certificates/new")) {
            div.row {
                label { (visit.t("change.example")) select name="example" {
                    @for known in EXAMPLES { option value=(known) selected[known == example] { (visit.t(&format!("change.example.{known}"))) } }
                } }
                label { (visit.t("change.patient")) select name="patient" {
                    @for (id, name) in patients { option value=(id) selected[id == patient] { (name) } }
                } }
                button { (visit.t("change.take")) }
            }
        }
        (visit.form("/certificates/new", &html! {
            (editor(visit, body))
            button.main { (visit.t("change.create")) }
        }))
    })
}

/// Stores what the form holds as a new certificate.
pub(in crate::console) async fn create(visit: &Visit<'_>) -> PageAnswer {
    let body = visit.field("body");
    let mut request = visit.api_request("POST", "/Composition", body.as_bytes().to_vec()).await;
    // A form that is sent twice makes one certificate.
    if let Some(condition) = by_number(body) {
        request.headers.push(("if-none-exist".to_owned(), condition));
    }
    let answer = visit.api.ask(request).await;
    let id = answer
        .header("location")
        .or(answer.header("content-location"))
        .and_then(|address| address.split("/Composition/").nth(1)?.split('/').next().map(str::to_owned));
    match (answer.status, id) {
        (200 | 201, Some(id)) => visit.go_to(&format!("/certificates/{id}")),
        _ => {
            let patients = patients(visit).await.unwrap_or_default();
            new_page(visit, answer.status.max(400), EXAMPLES[0], (&patients, ""), body, Some(&answer))
        }
    }
}

/// What names the certificate of a body, if it has a number.
fn by_number(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let identifier = &body["identifier"][0];
    Some(format!("identifier={}|{}", identifier["system"].as_str()?, identifier["value"].as_str()?))
}

/// The newest version, to be changed.
pub(in crate::console) async fn show_edit(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let title = visit.say("change.title", &[("id", id)]);
    let answer = visit.get(&format!("/Composition/{id}?_pretty=true")).await;
    match visit.resource(&answer, &title) {
        Ok(stored) => {
            let version = stored["meta"]["versionId"].as_str().unwrap_or_default();
            edit_page(visit, id, &title, version, &String::from_utf8_lossy(&answer.body), None)
        }
        Err(refused) => refused,
    }
}

fn edit_page(
    visit: &Visit<'_>,
    id: &str,
    title: &str,
    version: &str,
    body: &str,
    refused: Option<&ApiAnswer>,
) -> PageAnswer {
    visit.page_with_status(refused.map_or(200, |answer| answer.status), title, &html! {
        h1 { (title) }
        @if let Some(answer) = refused { (visit.refusal(answer)) }
        (visit.form(&format!("/certificates/{id}/edit"), &html! {
            input type="hidden" name="version" value=(version);
            p { label { (visit.t("change.reason")) " " input name="reason" maxlength="1000" value=(visit.field("reason").trim_matches('1')); } }
            (editor(visit, body))
            button.main { (visit.t("change.store")) }
            " " a href=(visit.href(&format!("/certificates/{id}"))) { (visit.t("change.leave")) }
        }))
    })
}

/// Stores what the form holds as another version.
pub(in crate::console) async fn update(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let (body, version) = (visit.field("body"), visit.field("version"));
    let sent = match visit.field("reason") {
        "" => body.as_bytes().to_vec(),
        reason => with_reason(body.as_bytes(), reason, &visit.sources.section_system()),
    };
    let request = visit.api_request("PUT", &format!("/Composition/{id}"), sent).await;
    let answer = visit.ask_about_version(request, version).await;
    match answer.status {
        200 | 201 => visit.go_to(&format!("/certificates/{id}?tab=changes")),
        _ => edit_page(visit, id, &visit.say("change.title", &[("id", id)]), version, body, Some(&answer)),
    }
}

fn editor(visit: &Visit<'_>, body: &str) -> Markup {
    html! { p { label for="body" { (visit.t("change.body")) }
    textarea #body name="body" rows=(EDITOR_ROWS) spellcheck="false" required { "\n" (body) } } }
}

/// Ids and names of patients that a certificate can be about, or why nobody is offered.
async fn patients(visit: &Visit<'_>) -> Result<Vec<(String, String)>, ApiAnswer> {
    let answer = visit.get(&format!("/Patient?active=true&_count={PATIENTS_OFFERED}&_sort=_id")).await;
    if answer.status != 200 {
        return Err(answer);
    }
    let bundle: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let named = entries.iter().map(|entry| &entry["resource"]).filter(|found| found["resourceType"] == "Patient");
    let offered = named
        .map(|patient| {
            let id = patient["id"].as_str().unwrap_or_default().to_owned();
            let name = &patient["name"][0];
            let given = name["given"][0].as_str().unwrap_or_default();
            let label = [
                given,
                name["family"].as_str().unwrap_or_default(),
                &estonian_code(visit, patient).unwrap_or_default(),
            ]
            .join(" ");
            (id, label)
        })
        .collect();
    Ok(offered)
}

/// A body with another status.
pub(super) fn with_status(body: &[u8], status: &'static str) -> Vec<u8> {
    changed(body, |members| members.set("status", Json::string(status)))
}

fn with_subject(body: &[u8], reference: &str) -> Vec<u8> {
    let subject = Json::Array(vec![Json::object([("reference", Json::string(reference.to_owned()))])]);
    changed(body, |members| members.set("subject", subject.into_owned()))
}

/// A body with a section that says why it is changed, in place of the one it had.
fn with_reason(body: &[u8], reason: &str, system: &str) -> Vec<u8> {
    let code = [("system", Json::string(system.to_owned())), ("code", Json::string("change-reason"))];
    let text = [("status", Json::string("additional")), ("div", Json::string(fhir::narrative::section_text(reason)))];
    let coding = Json::object([("coding", Json::Array(vec![Json::object(code)]))]);
    let section = Json::object([("code", coding), ("text", Json::object(text))]).into_owned();
    changed(body, |members| {
        if let Some(Json::Array(sections)) = members.get_mut("section") {
            let is_reason = |section: &Json| {
                let coding = section.get("code").map_or(&[][..], |code| code.items("coding"));
                coding.iter().any(|coding| coding.text("code") == Some("change-reason"))
            };
            sections.retain(|section| !is_reason(section));
            sections.push(section);
        }
    })
}

/// A body after a change; one that cannot be read stays as it is, since the API says what is wrong with it.
fn changed(body: &[u8], change: impl FnOnce(&mut fhir::json::Object)) -> Vec<u8> {
    match json::parse(body) {
        Ok(Json::Object(mut members)) => {
            change(&mut members);
            Json::Object(members).to_vec()
        }
        _ => body.to_vec(),
    }
}

pub(super) fn indented(body: &[u8]) -> String {
    let indented = crate::http::indent(body).unwrap_or_else(|| body.to_vec());
    String::from_utf8_lossy(&indented).into_owned()
}
