//! A certificate over time: its versions, what each of them says and changed, who saw it, who may see it, and what can become of it.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::diagram::diagram;
use super::start::state_name;
use crate::console::diff::differences;
use crate::console::reading;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;
use certificate::transition::{Need, TRANSITIONS, Trigger, decide};
use certificate::{State, Status};
use fhir::outcome::{Hcert, Language, Outcome};

/// The views of a version.
const TABS: [&str; 7] = ["reading", "changes", "json", "audit", "consent", "print", "patient"];

/// What can be asked for: a name, the request, and what it brings.
const MOVES: [(&str, Trigger, Need); 6] = [
    ("draft", Trigger::Update, Need::Preliminary),
    ("complete", Trigger::Update, Need::Final),
    ("change", Trigger::Update, Need::ChangeReason),
    ("suspend", Trigger::Suspend, Need::Reason),
    ("cancel", Trigger::Cancel, Need::Reason),
    ("delete", Trigger::Delete, Need::Nothing),
];

/// Versions that a page shows.
const VERSIONS_SHOWN: u32 = 100;

/// A certificate as its history tells it.
struct Lifetime {
    /// The newest first.
    versions: Vec<Moment>,
}

/// A version, or the deletion.
struct Moment {
    version: String,
    at: String,
    state: State,
    /// `null` for a deletion.
    resource: Value,
}

impl Lifetime {
    fn newest(&self) -> &Moment {
        &self.versions[0]
    }
}

/// Reads the history, or the certificate alone where the reader may not see its history.
async fn lifetime(visit: &Visit<'_>, id: &str) -> Result<Lifetime, PageAnswer> {
    let title = visit.say("certificate.title", &[("id", id)]);
    let answer = visit.get(&format!("/Composition/{id}/_history?_count={VERSIONS_SHOWN}")).await;
    let entries = if answer.status == 403 {
        let answer = visit.get(&format!("/Composition/{id}")).await;
        vec![json!({"resource": visit.resource(&answer, &title)?})]
    } else {
        let bundle = visit.resource(&answer, &title)?;
        bundle["entry"].as_array().cloned().unwrap_or_default()
    };
    let versions = entries.iter().map(moment).collect::<Vec<_>>();
    if versions.is_empty() { Err(visit.refused(&answer, &title)) } else { Ok(Lifetime { versions }) }
}

fn moment(entry: &Value) -> Moment {
    let (resource, response) = (entry["resource"].clone(), &entry["response"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_tag = |tag: String| tag.trim_start_matches("W/").trim_matches('"').to_owned();
    let version = match &resource["meta"]["versionId"] {
        Value::String(version) => version.clone(),
        _ => of_tag(text(&response["etag"])),
    };
    let at = Some(text(&resource["meta"]["lastUpdated"])).filter(|at| !at.is_empty());
    let at = at.unwrap_or_else(|| text(&response["lastModified"]));
    let state = resource["status"].as_str().and_then(Status::parse).map_or(State::Deleted, Status::state);
    Moment { version, at, state, resource }
}

pub(in crate::console) async fn show(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let lifetime = match lifetime(visit, id).await {
        Ok(lifetime) => lifetime,
        Err(refused) => return refused,
    };
    let wanted = visit.field("version");
    let at = lifetime.versions.iter().position(|moment| moment.version == wanted).unwrap_or(0);
    let tab = TABS.into_iter().find(|tab| *tab == visit.field("tab")).unwrap_or(TABS[0]);
    let (moment, before) = (&lifetime.versions[at], lifetime.versions.get(at + 1));
    let number = moment.resource["identifier"][0]["value"].as_str().unwrap_or_default();
    let title = visit.say("certificate.title", &[("id", id)]);
    let shown = match tab {
        "changes" => changes(visit, before, moment),
        "json" => as_json(visit, id, moment).await,
        "audit" => audit(visit, id).await,
        "consent" => consent(visit, id).await,
        "print" => super::print::form(visit, id, &moment.version),
        "patient" => as_patient(visit, id, moment).await,
        _ => reading::certificate(visit, &moment.resource),
    };
    let is_shown = |tab: &str| tab != "patient" || visit.sources.is_developer;
    let address = |version: &str, tab: &str| visit.href(&format!("/certificates/{id}?version={version}&tab={tab}"));
    visit.page(&title, &html! {
        h1 { (title) " " small { (number) } }
        p.actions { span.state.(lifetime.newest().state.status().code()) { (state_name(visit, lifetime.newest().state)) } " "
            a.button href=(visit.href(&format!("/certificates/{id}/moves"))) { (visit.t("certificate.moves")) } " "
            a.button href=(visit.href(&format!("/certificates/{id}/edit"))) { (visit.t("certificate.edit")) } }
        ol.timeline reversed data-slider=(visit.t("certificate.slider")) aria-label=(visit.t("certificate.versions")) {
            @for known in &lifetime.versions {
                li { a href=(address(&known.version, tab)) aria-current=[(known.version == moment.version).then_some("true")] {
                    "v" (known.version) " · " (state_name(visit, known.state)) " · " time { (known.at.get(..16).unwrap_or(&known.at).replace('T', " ")) }
                } }
            }
        }
        nav.tabs aria-label=(visit.t("certificate.views")) { ul {
            @for known in TABS.into_iter().filter(|known| is_shown(known)) {
                li { a href=(address(&moment.version, known)) aria-current=[(known == tab).then_some("page")] { (visit.t(&format!("certificate.tab.{known}"))) } }
            }
        } }
        section aria-label=(visit.t(&format!("certificate.tab.{tab}"))) { (shown) }
    })
}

fn changes(visit: &Visit<'_>, before: Option<&Moment>, after: &Moment) -> Markup {
    let Some(before) = before else { return html! { p { (visit.t("certificate.first")) } } };
    let found = differences(&before.resource, &after.resource);
    html! {
        p { (visit.say("certificate.between", &[("before", &before.version), ("after", &after.version)])) }
        @if found.is_empty() { p { (visit.t("certificate.same")) } }
        div.wide tabindex="0" role="region" aria-label=(visit.t("certificate.tab.changes")) { table {
            thead { tr { @for key in ["certificate.where", "certificate.what", "certificate.before", "certificate.after"] { th scope="col" { (visit.t(key)) } } } }
            tbody { @for one in &found { tr {
                th scope="row" { code { (one.path) } }
                td { (visit.t(match (&one.before, &one.after) {
                    (None, _) => "certificate.added",
                    (_, None) => "certificate.removed",
                    _ => "certificate.changed",
                })) }
                td { @if let Some(text) = &one.before { del { (text) } } }
                td { @if let Some(text) = &one.after { ins { (text) } } }
            } } }
        } }
    }
}

async fn as_json(visit: &Visit<'_>, id: &str, moment: &Moment) -> Markup {
    let answer = visit.get(&format!("/Composition/{id}/_history/{}?_pretty=true", moment.version)).await;
    match answer.status {
        200 => html! { pre.json tabindex="0" { code { (String::from_utf8_lossy(&answer.body)) } } },
        _ => visit.refusal(&answer),
    }
}

async fn audit(visit: &Visit<'_>, id: &str) -> Markup {
    let answer = visit.get(&format!("/AuditEvent?entity=Composition/{id}&_count=50")).await;
    if answer.status != 200 {
        return visit.refusal(&answer);
    }
    let bundle: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let events = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    html! { ul.events { @for event in events { (reading::event(visit, &event["resource"])) } } }
}

async fn consent(visit: &Visit<'_>, id: &str) -> Markup {
    let answer = visit.get(&format!("/Composition/{id}/$get-consent")).await;
    if answer.status != 200 {
        return visit.refusal(&answer);
    }
    let parameters: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let said = |name: &str| {
        let all = parameters["parameter"].as_array().map_or(&[][..], Vec::as_slice);
        let found = all.iter().find(|parameter| parameter["name"] == name);
        found.and_then(|parameter| parameter["valueString"].as_str()).unwrap_or_default().to_owned()
    };
    let choice = |name: &str| {
        let now = said(name);
        html! { label { (visit.t(&format!("consent.{name}")))
            select name=(name) { @for value in ["open", "closed"] {
                option value=(value) selected[now == value] { (visit.t(&format!("consent.{value}"))) }
            } }
        } }
    };
    html! {
        p { (visit.t("consent.text")) }
        (visit.form(&format!("/certificates/{id}/consent"), &html! {
            div.row { (choice("doctor")) (choice("representative")) button { (visit.t("consent.set")) } }
        }))
    }
}

/// Sets the consent, as the reader.
pub(in crate::console) async fn set_consent(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let parameter = |name: &str| json!({"name": name, "valueString": visit.field(name)});
    let body = json!({"resourceType": "Parameters", "parameter": [parameter("doctor"), parameter("representative")]});
    let answer = visit.ask("POST", &format!("/Composition/{id}/$set-consent"), body.to_string().into_bytes()).await;
    match visit.resource(&answer, visit.t("consent.set")) {
        Ok(_) => visit.go_to(&format!("/certificates/{id}?tab=consent")),
        Err(refused) => refused,
    }
}

/// What the patient is shown, in `hcert dev`.
async fn as_patient(visit: &Visit<'_>, id: &str, moment: &Moment) -> Markup {
    let reference = moment.resource["subject"][0]["reference"].as_str().unwrap_or_default();
    let patient = visit.get(&format!("/{reference}")).await;
    if patient.status != 200 {
        return visit.refusal(&patient);
    }
    let patient: Value = serde_json::from_slice(&patient.body).unwrap_or(Value::Null);
    let Some(code) = reading::estonian_code(visit, &patient) else {
        return html! { p { (visit.t("certificate.no-code")) } };
    };
    let request = visit.api_request("GET", &format!("/Composition/{id}"), Vec::new()).await;
    let answer = visit.ask_as(request, "patient", &code).await;
    match answer.status {
        200 => reading::certificate(visit, &serde_json::from_slice(&answer.body).unwrap_or(Value::Null)),
        _ => visit.refusal(&answer),
    }
}

/// The states, the moves that lead on from here, and why the others do not.
pub(in crate::console) async fn moves(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let lifetime = match lifetime(visit, id).await {
        Ok(lifetime) => lifetime,
        Err(refused) => return refused,
    };
    let (state, version) = (lifetime.newest().state, lifetime.newest().version.clone());
    let title = visit.say("moves.title", &[("id", id)]);
    visit.page(&title, &html! {
        h1 { (title) }
        p { (visit.t("moves.now")) " " strong { (state_name(visit, state)) } " · "
            a href=(visit.href(&format!("/certificates/{id}"))) { (visit.t("moves.back")) } }
        (diagram(visit, Some(state)))
        h2 { (visit.t("moves.possible")) }
        @if MOVES.into_iter().all(|(_, on, need)| leads_to(state, on, need).is_err()) { p { (visit.t("moves.none")) } }
        ul.moves { @for (name, on, need) in MOVES { @if let Ok(to) = leads_to(state, on, need) {
            li { h3 { (visit.t(&format!("moves.{name}"))) " → " (state_name(visit, to)) } (button(visit, id, &version, name, need)) }
        } } }
        h2 { (visit.t("moves.impossible")) }
        p { (visit.t("moves.impossible-text")) }
        ul.moves { @for (name, on, need) in MOVES { @if let Err(refusal) = leads_to(state, on, need) {
            li {
                h3 { (visit.t(&format!("moves.{name}"))) }
                @for issue in refusal.issues() { p { code { (issue.code().code()) } " " (issue.text(visit.language())) } }
                (button(visit, id, &version, name, need))
            }
        } } }
        h2 { (visit.t("moves.table")) }
        div.wide tabindex="0" role="region" aria-label=(visit.t("moves.table")) { table {
            thead { tr { @for key in ["moves.from", "moves.request", "moves.to"] { th scope="col" { (visit.t(key)) } } } }
            tbody { @for row in TRANSITIONS { tr {
                th scope="row" { @match row.from { Some(from) => (state_name(visit, from)), None => (visit.t("moves.absent")) } }
                td { (match visit.language() { Language::Estonian => row.on.name(row.need), Language::English => row.on.word(row.need) }) }
                td { (state_name(visit, row.to)) }
            } } }
        } }
    })
}

/// Where a move leads, or why it is refused. What is deleted may be deleted again.
fn leads_to(state: State, on: Trigger, need: Need) -> Result<State, Outcome> {
    match (state, on) {
        (State::Deleted, Trigger::Delete) => Ok(State::Deleted),
        (State::Deleted, _) => Err(Hcert::Deleted.into()),
        _ => decide(Some(state), on, need),
    }
}

/// The button of a move, with what the move needs. A legal one does it; an illegal one is sent all the same and refused.
fn button(visit: &Visit<'_>, id: &str, version: &str, name: &str, need: Need) -> Markup {
    if name == "change" {
        return html! { a.button href=(visit.href(&format!("/certificates/{id}/edit?reason=1"))) { (visit.t("moves.change-how")) } };
    }
    visit.form(
        &format!("/certificates/{id}/move"),
        &html! {
            input type="hidden" name="move" value=(name);
            input type="hidden" name="version" value=(version);
            @if need == Need::Reason {
                label { (visit.t("moves.reason")) " " input name="reason" required maxlength="1000"; } " "
            }
            button { (visit.t(&format!("moves.{name}"))) }
        },
    )
}

/// Makes a move.
pub(in crate::console) async fn do_move(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let path = format!("/Composition/{id}");
    let reason =
        json!({"resourceType": "Parameters", "parameter": [{"name": "reason", "valueString": visit.field("reason")}]});
    let reason = reason.to_string().into_bytes();
    let name = visit.field("move");
    let request = match name {
        "suspend" | "cancel" => visit.api_request("POST", &format!("{path}/${name}"), reason).await,
        "delete" => visit.api_request("DELETE", &path, Vec::new()).await,
        "draft" | "complete" => {
            let stored = visit.get(&path).await;
            let body = super::change::with_status(&stored.body, if name == "draft" { "preliminary" } else { "final" });
            visit.api_request("PUT", &path, body).await
        }
        _ => return visit.go_to(&format!("/certificates/{id}/moves")),
    };
    let answer = visit.ask_about_version(request, visit.field("version")).await;
    match answer.status {
        200..300 => visit.go_to(&format!("/certificates/{id}")),
        _ => {
            let key = format!("moves.{name}");
            let title = visit.t(&key);
            let back = visit.href(&format!("/certificates/{id}"));
            let content = html! { h1 { (title) } (visit.refusal(&answer)) p { a.button href=(back) { (visit.t("moves.back")) } } };
            visit.page_with_status(answer.status, title, &content)
        }
    }
}
