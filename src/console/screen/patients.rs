//! Patients: a list, one of them with the records that are the same person, and the certificates as that patient sees them.

use maud::{Markup, html};
use serde_json::Value;

use super::{builder, certificates};
use crate::console::reading::estonian_code;
use crate::console::search_form::{SearchForm, paging};
use crate::console::session::{PartPlayed, Session};
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

const PATH: &str = "/patients";

/// What the form asks for: the API's name, and the key of its label.
const FIELDS: [(&str, &str); 3] =
    [("identifier", "patients.code"), ("_id", "patients.id"), ("birthdate", "patients.born")];

/// Records of one tree of links that are read.
const LINKED_MAX: usize = 20;

/// The list, and the form that shortens it.
pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("patients.title");
    let form = SearchForm::of_address(visit);
    // The registry refuses a search that asks for nothing.
    let anybody = form.pairs.is_empty().then_some(("active", "true"));
    let more: Vec<(&str, &str)> = anybody.into_iter().chain([("_sort", "_id")]).collect();
    let answer = visit.api.ask(form.request(visit, "Patient", &more).await).await;
    let found = match answer.status {
        200 => list(visit, &form, &serde_json::from_slice(&answer.body).unwrap_or(Value::Null)),
        _ => visit.refusal(&answer),
    };
    let fields = html! {
        div.row { @for (name, key) in FIELDS {
            label { (visit.t(key)) input name=(name) value=(form.value(name)) autocomplete="off"; }
        }
            label { (visit.t("patients.record")) select name="active" {
                option value="" { (visit.t("patients.any")) }
                @for active in ["true", "false"] {
                    option value=(active) selected[form.value("active") == active] { (visit.t(&format!("patients.active.{active}"))) }
                }
            } }
        }
        p { button.main { (visit.t("patients.find")) } }
    };
    visit.page_with_status(
        answer.status,
        title,
        &html! {
            h1 { (title) }
            (visit.form(PATH, &fields))
            (found)
            h2 { (visit.t("patients.import")) }
            p { (visit.t("patients.import-text")) }
            pre tabindex="0" { code { "hcert patients import patients.ndjson" } }
        },
    )
}

/// The way to what the form asks for.
pub(in crate::console) fn act(visit: &Visit<'_>) -> PageAnswer {
    let names = FIELDS.iter().map(|(name, _)| *name).chain(["active"]);
    let pairs = names.map(|name| (name.to_owned(), visit.field(name).to_owned()));
    visit.go_to(&address(visit, &SearchForm::of_pairs(pairs), 1))
}

/// Any identifier may be a personal code of some state.
fn address(visit: &Visit<'_>, form: &SearchForm, page: u64) -> String {
    form.address(visit, PATH, page, &|name| name == "identifier")
}

fn list(visit: &Visit<'_>, form: &SearchForm, bundle: &Value) -> Markup {
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let found = entries.iter().map(|entry| &entry["resource"]).filter(|found| found["resourceType"] == "Patient");
    let total = bundle["total"].as_u64().unwrap_or_default();
    let columns = ["patients.record", "patients.name", "patients.code", "patients.born", "patients.marks"];
    html! {
        h2 { (visit.say("patients.total", &[("total", &total.to_string())])) }
        div.wide tabindex="0" role="region" aria-label=(visit.t("patients.title")) { table {
            thead { tr { @for key in columns { th scope="col" { (visit.t(key)) } } } }
            tbody { @for patient in found { (row(visit, patient)) } }
        } }
        (paging(visit, form.page, total, &|page| address(visit, form, page)))
    }
}

fn row(visit: &Visit<'_>, patient: &Value) -> Markup {
    let id = patient["id"].as_str().unwrap_or_default();
    html! { tr {
        th scope="row" { a href=(visit.href(&format!("{PATH}/{id}"))) { "Patient/" (id) } }
        td { (name(patient)) }
        td { code.copy { (estonian_code(visit, patient).unwrap_or_default()) } }
        td { (patient["birthDate"].as_str().unwrap_or_default()) }
        td { (marks(visit, patient).join(", ")) }
    } }
}

/// What is special of a record.
fn marks<'v>(visit: &'v Visit<'_>, patient: &Value) -> Vec<&'v str> {
    let is_deceased = patient["deceasedBoolean"] == true || patient["deceasedDateTime"].is_string();
    // The register that is made up gives no profile; the samples have the one of the registry.
    let is_generated = visit.sources.is_developer && patient["meta"]["profile"].is_null();
    let all = [
        (is_generated, "patients.generated"),
        (patient["active"] == false, "patients.inactive"),
        (is_deceased, "patients.deceased"),
        (patient["link"].is_array(), "patients.linked"),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, key)| visit.t(key)).collect()
}

fn name(patient: &Value) -> String {
    let name = &patient["name"][0];
    let given = name["given"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
    given.chain(name["family"].as_str()).collect::<Vec<_>>().join(" ")
}

/// One patient.
pub(in crate::console) async fn show_one(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let title = visit.say("patients.one", &[("id", id)]);
    let answer = visit.get(&format!("/Patient/{id}?_pretty=true")).await;
    let patient = match visit.resource(&answer, &title) {
        Ok(patient) => patient,
        Err(refused) => return refused,
    };
    let of_patient = SearchForm::of_pairs([("subject".to_owned(), format!("Patient/{id}"))]);
    let found = visit.api.ask(of_patient.request(visit, "Composition", &[]).await).await;
    let certificates = match found.status {
        200 => certificates::table(visit, &serde_json::from_slice(&found.body).unwrap_or(Value::Null)),
        _ => visit.refusal(&found),
    };
    let code = estonian_code(visit, &patient);
    let facts = [
        ("patients.name", name(&patient)),
        ("patients.code", code.clone().unwrap_or_default()),
        ("patients.born", patient["birthDate"].as_str().unwrap_or_default().to_owned()),
        ("patients.marks", marks(visit, &patient).join(", ")),
    ];
    visit.page(
        &title,
        &html! {
            h1 { (title) }
            dl.facts { @for (key, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
                dt { (visit.t(key)) } dd { span.copy { (value) } }
            } }
            (linked(visit, &patient).await)
            h2 { (visit.t("patients.certificates")) }
            (certificates)
            @if visit.sources.is_developer && code.is_some() {
                (visit.form(&format!("{PATH}/{id}/see"), &html! { button { (visit.t("patients.see")) } }))
            }
            h2 { "JSON" }
            pre tabindex="0" { code { (String::from_utf8_lossy(&answer.body)) } }
        },
    )
}

/// Plays the part of the patient, and goes to the certificates.
pub(in crate::console) async fn see(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let answer = visit.get(&format!("/Patient/{id}")).await;
    let patient = match visit.resource(&answer, visit.t("patients.title")) {
        Ok(patient) => patient,
        Err(refused) => return refused,
    };
    let Some(person) = estonian_code(visit, &patient) else { return visit.go_to(&format!("{PATH}/{id}")) };
    let part = PartPlayed { role: "patient".to_owned(), person, ..PartPlayed::default() };
    visit.go_with(&Session { part: Some(part), ..visit.session.clone() }, builder::PATH)
}

/// A record that a link leads to.
struct LinkedRecord {
    id: String,
    /// Whose link it is.
    of: String,
    /// `replaces`, `replaced-by`, `refer` or `seealso`.
    kind: String,
    name: String,
}

/// The records that are linked with a patient, as a tree.
async fn linked(visit: &Visit<'_>, patient: &Value) -> Markup {
    let root = patient["id"].as_str().unwrap_or_default().to_owned();
    let (mut records, mut open) = (Vec::<LinkedRecord>::new(), vec![patient.clone()]);
    while let Some(from) = open.pop() {
        let of = from["id"].as_str().unwrap_or_default();
        for link in from["link"].as_array().map_or(&[][..], Vec::as_slice) {
            let reference = link["other"]["reference"].as_str().unwrap_or_default();
            let id = reference.rsplit('/').next().unwrap_or_default();
            if id == root || records.iter().any(|known| known.id == id) || records.len() >= LINKED_MAX {
                continue;
            }
            let other: Value =
                serde_json::from_slice(&visit.get(&format!("/Patient/{id}")).await.body).unwrap_or(Value::Null);
            let kind = link["type"].as_str().unwrap_or_default().to_owned();
            records.push(LinkedRecord { id: id.to_owned(), of: of.to_owned(), kind, name: name(&other) });
            open.push(other);
        }
    }
    html! { @if !records.is_empty() { h2 { (visit.t("patients.links")) } (branch(visit, &records, &root)) } }
}

fn branch(visit: &Visit<'_>, records: &[LinkedRecord], of: &str) -> Markup {
    html! { ul { @for record in records.iter().filter(|record| record.of == of) {
        li {
            (visit.texts.find(&format!("patients.link.{}", record.kind)).unwrap_or(&record.kind)) " "
            a href=(visit.href(&format!("{PATH}/{}", record.id))) { "Patient/" (record.id) } " " (record.name)
            @if records.iter().any(|other| other.of == record.id) { (branch(visit, records, &record.id)) }
        }
    } } }
}
