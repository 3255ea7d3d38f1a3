//! A certificate and an event of the audit trail as people read them.

use maud::{Markup, html};
use serde_json::Value;

use super::visit::Visit;
use certificate::Status;

/// What a certificate says, as a list of terms; free text is shown as text.
pub(super) fn certificate(visit: &Visit<'_>, certificate: &Value) -> Markup {
    if certificate.is_null() {
        return html! { p { (visit.t("reading.deleted")) } };
    }
    let text = |pointer: &str| certificate.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let state = Status::parse(text("/status")).map(Status::state);
    let state = state.map(|state| match visit.texts.language.as_str() {
        "et" => state.name(),
        _ => state.word(),
    });
    let facts = [
        ("reading.state", state.unwrap_or_default()),
        ("reading.number", text("/identifier/0/value")),
        ("reading.kind", text("/title")),
        ("reading.patient", text("/subject/0/reference")),
        ("reading.date", text("/date")),
        ("reading.from", text("/event/0/period/start")),
        ("reading.until", text("/event/0/period/end")),
        ("reading.author", author(certificate)),
    ];
    let narrative = fhir::narrative::plain_text(text("/text/div")).unwrap_or_default();
    let sections = certificate["section"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        dl.facts { @for (key, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            dt { (visit.t(key)) } dd { (value) }
        } }
        @if !narrative.trim().is_empty() {
            h2 { (visit.t("reading.narrative")) }
            p.narrative { (narrative.trim()) }
        }
        @for section in sections { (self::section(visit, section)) }
    }
}

/// Who wrote it: the practitioner of the role that it names.
fn author(certificate: &Value) -> &str {
    let contained = certificate["contained"].as_array().map_or(&[][..], Vec::as_slice);
    let role = contained.iter().find(|contained| contained["resourceType"] == "PractitionerRole");
    role.and_then(|role| role["practitioner"]["reference"].as_str()).unwrap_or_default()
}

fn section(visit: &Visit<'_>, section: &Value) -> Markup {
    let code = section.pointer("/code/coding/0/code").and_then(Value::as_str).unwrap_or_default();
    let key = format!("section.{code}");
    let title = visit.texts.find(&key).or(section["title"].as_str()).unwrap_or(code);
    let text = section.pointer("/text/div").and_then(Value::as_str).and_then(fhir::narrative::plain_text);
    let entries = section["entry"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        h3 { (title) }
        @if let Some(text) = text { p { (text.trim()) } }
        ul { @for entry in entries { li { (entry["reference"].as_str().unwrap_or_default()) } } }
    }
}

/// One event of the audit trail in a line.
pub(super) fn event(visit: &Visit<'_>, event: &Value) -> Markup {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let agents = event["agent"].as_array().map_or(&[][..], Vec::as_slice);
    let who = agents.iter().filter_map(|agent| {
        let who = &agent["who"];
        who["display"]
            .as_str()
            .or(who["reference"].as_str())
            .or(who.pointer("/identifier/value").and_then(Value::as_str))
    });
    let who: Vec<&str> = who.collect();
    html! { li {
        time { (text("/recorded").get(..19).unwrap_or_default().replace('T', " ")) } " "
        code { (text("/code/coding/0/code")) } " " (who.join(", ")) " "
        span.outcome { (text("/outcome/code/code")) } " "
        @if who.is_empty() { (visit.t("reading.nobody")) }
    } }
}

/// The Estonian personal code of a patient.
pub(super) fn estonian_code(visit: &Visit<'_>, patient: &Value) -> Option<String> {
    let system = visit.sources.names.identifiers.estonian_code();
    let found = patient["identifier"].as_array()?.iter().find(|known| known["system"] == *system);
    found?["value"].as_str().map(str::to_owned)
}
