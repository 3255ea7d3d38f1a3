//! Certificates that meet conditions: the form that asks, what is found, how it was found, and what others would find.

use maud::{Markup, html};
use serde_json::Value;

use super::builder;
use super::plan;
use super::start::state_name;
use crate::console::reading;
use crate::console::search_form::{SearchForm, paging};
use crate::console::visit::Visit;
use crate::http::pages::{ApiAnswer, PageAnswer};
use certificate::Status;

/// What the address asks for.
pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let form = SearchForm::of_address(visit);
    let mut request = form.request(visit, "Composition", &[]).await;
    // Only `hcert dev` answers it.
    request.headers.push(("x-hcert-explain".to_owned(), "true".to_owned()));
    let answer = visit.api.ask(request).await;
    let roles = match visit.field("compare") {
        "roles" => plan::roles(visit, &form).await,
        _ => html! {},
    };
    page(visit, &builder::form(visit, &form, 0).await, Some((&form, &answer)), &roles)
}

/// The form with one more row, or the way to what it asks for.
pub(in crate::console) async fn act(visit: &Visit<'_>) -> PageAnswer {
    let form = builder::sent(visit);
    match visit.field("do") {
        "add" => page(visit, &builder::form(visit, &form, 1).await, None, &html! {}),
        _ => visit.go_to(&builder::address(visit, &form, 1)),
    }
}

fn page(visit: &Visit<'_>, form: &Markup, found: Option<(&SearchForm, &ApiAnswer)>, roles: &Markup) -> PageAnswer {
    let title = visit.t("certificates.title");
    let status = found.map_or(200, |(_, answer)| answer.status);
    visit.page_with_status(
        status,
        title,
        &html! {
            h1 { (title) }
            (form)
            @if let Some((asked, answer)) = found { (results(visit, asked, answer)) (plan::panel(visit, answer)) }
            (roles)
        },
    )
}

fn results(visit: &Visit<'_>, form: &SearchForm, answer: &ApiAnswer) -> Markup {
    if answer.status != 200 {
        return visit.refusal(answer);
    }
    let bundle: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let warnings = entries.iter().filter(|entry| entry["search"]["mode"] == "outcome");
    let issues = warnings.filter_map(|entry| entry["resource"]["issue"].as_array()).flatten();
    let total = bundle["total"].as_u64().unwrap_or_default();
    html! {
        section aria-labelledby="found" {
            h2 #found { (visit.say("certificates.total", &[("total", &total.to_string())])) }
            ul { @for issue in issues { (visit.issue(issue)) } }
            (table(visit, &bundle))
            (paging(visit, form.page, total, &|page| builder::address(visit, form, page)))
            @if visit.sources.is_developer {
                p { a href=(visit.href(&with_roles(&builder::address(visit, form, form.page)))) { (visit.t("certificates.compare")) } }
            }
        }
    }
}

fn with_roles(address: &str) -> String {
    let mark = if address.contains('?') { '&' } else { '?' };
    format!("{address}{mark}compare=roles")
}

/// How many certificates meet a condition; nothing where the reader may not ask.
pub(in crate::console) async fn total(visit: &Visit<'_>, condition: &str) -> Option<u64> {
    let answer = visit.get(&format!("/Composition?_count=0&{condition}")).await;
    let bundle: Value = serde_json::from_slice(&answer.body).ok()?;
    bundle["total"].as_u64()
}

/// Keys of the columns.
const COLUMNS: [&str; 7] = [
    "certificates.number",
    "certificates.kind",
    "certificates.state",
    "certificates.patient",
    "certificates.date",
    "certificates.validity",
    "certificates.author",
];

/// The certificates of a Bundle.
pub(in crate::console) fn table(visit: &Visit<'_>, bundle: &Value) -> Markup {
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let found =
        entries.iter().map(|entry| &entry["resource"]).filter(|resource| resource["resourceType"] == "Composition");
    html! {
        div.wide tabindex="0" role="region" aria-label=(visit.t("certificates.table")) {
            table {
                thead { tr { @for key in COLUMNS { th scope="col" { (visit.t(key)) } } } }
                tbody { @for certificate in found { (row(visit, certificate)) } }
            }
        }
    }
}

fn row(visit: &Visit<'_>, certificate: &Value) -> Markup {
    let text = |pointer: &str| certificate.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let id = text("/id");
    let state = Status::parse(text("/status")).map(Status::state);
    let (from, until) = (day(text("/event/0/period/start")), day(text("/event/0/period/end")));
    html! { tr {
        th scope="row" { a href=(visit.href(&format!("/certificates/{id}"))) { "#" (id) " " span.day { (text("/identifier/0/value")) } } }
        td { (text("/title")) }
        td { @if let Some(state) = state { span.state.(text("/status")) { (state_name(visit, state)) } } }
        td { (reading::patient(visit, text("/subject/0/reference"))) }
        td.day { (day(text("/date"))) }
        td { @if !from.is_empty() || !until.is_empty() { span.day { (from) } " – " span.day { (until) } } }
        td { (reading::author(certificate)) }
    } }
}

/// The day of a date or a time.
pub(in crate::console) fn day(text: &str) -> &str {
    text.get(..10).unwrap_or(text)
}
