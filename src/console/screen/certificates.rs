//! Certificates that meet a condition.

use maud::{Markup, html};
use serde_json::Value;

use super::start::state_name;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;
use certificate::Status;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("certificates.title");
    let status = visit.field("status");
    let condition = Status::parse(status).map_or_else(String::new, |status| format!("&status={}", status.code()));
    let answer = visit.get(&format!("/Composition?_count=50&_sort=-_lastUpdated{condition}")).await;
    let bundle = match visit.resource(&answer, title) {
        Ok(bundle) => bundle,
        Err(refused) => return refused,
    };
    visit.page(
        title,
        &html! {
            h1 { (title) }
            p { (visit.say("certificates.total", &[("total", &bundle["total"].to_string())])) }
            (table(visit, &bundle))
        },
    )
}

/// How many certificates meet a condition; nothing where the reader may not ask.
pub(in crate::console) async fn total(visit: &Visit<'_>, condition: &str) -> Option<u64> {
    let answer = visit.get(&format!("/Composition?_count=0&{condition}")).await;
    let bundle: Value = serde_json::from_slice(&answer.body).ok()?;
    bundle["total"].as_u64()
}

/// The certificates of a Bundle.
pub(in crate::console) fn table(visit: &Visit<'_>, bundle: &Value) -> Markup {
    let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
    let found =
        entries.iter().map(|entry| &entry["resource"]).filter(|resource| resource["resourceType"] == "Composition");
    html! {
        div.wide tabindex="0" role="region" aria-label=(visit.t("certificates.table")) {
            table {
                thead { tr {
                    @for key in ["certificates.number", "certificates.kind", "certificates.state", "certificates.patient", "certificates.date"] {
                        th scope="col" { (visit.t(key)) }
                    }
                } }
                tbody { @for certificate in found { (row(visit, certificate)) } }
            }
        }
    }
}

fn row(visit: &Visit<'_>, certificate: &Value) -> Markup {
    let text = |pointer: &str| certificate.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let id = text("/id");
    let patient = text("/subject/0/reference");
    let state = Status::parse(text("/status")).map(Status::state);
    html! { tr {
        th scope="row" { a href=(visit.href(&format!("/certificates/{id}"))) { "#" (id) " " (text("/identifier/0/value")) } }
        td { (text("/title")) }
        td { @if let Some(state) = state { span.state.(text("/status")) { (state_name(visit, state)) } } }
        td { (patient) }
        td { (day(text("/date"))) }
    } }
}

/// The day of a date or a time.
pub(in crate::console) fn day(text: &str) -> &str {
    text.get(..10).unwrap_or(text)
}
