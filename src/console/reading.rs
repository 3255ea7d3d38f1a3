//! A certificate and an event of the audit trail as people read them.

use maud::{Markup, html};
use serde_json::Value;

use super::visit::Visit;

/// What a certificate says, as a list of terms; free text is shown as text.
pub(super) fn certificate(visit: &Visit<'_>, certificate: &Value) -> Markup {
    if certificate.is_null() {
        return html! { p { (visit.t("reading.deleted")) } };
    }
    let text = |pointer: &str| certificate.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let facts = [
        ("reading.number", text("/identifier/0/value").to_owned()),
        ("reading.kind", text("/title").to_owned()),
        ("reading.date", moment(text("/date"))),
        ("reading.from", moment(text("/event/0/period/start"))),
        ("reading.until", moment(text("/event/0/period/end"))),
        ("reading.author", author(certificate).to_owned()),
    ];
    let (narrative, patient) = (lines(text("/text/div")), text("/subject/0/reference"));
    let contained = certificate["contained"].as_array().map_or(&[][..], Vec::as_slice);
    let sections = certificate["section"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        dl.facts { @for (key, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            dt { (visit.t(key)) } dd { (value) }
        }
            @if !patient.is_empty() { dt { (visit.t("reading.patient")) } dd { (self::patient(visit, patient)) } }
        }
        @for section in sections { (self::section(visit, section, contained)) }
        @if !narrative.is_empty() {
            h3 { (visit.t("reading.narrative")) }
            ul { @for line in &narrative { li { (line) } } }
        }
    }
}

/// Who wrote it: the practitioner of the role that it names.
pub(super) fn author(certificate: &Value) -> &str {
    let contained = certificate["contained"].as_array().map_or(&[][..], Vec::as_slice);
    let role = contained.iter().find(|contained| contained["resourceType"] == "PractitionerRole");
    role.and_then(|role| role["practitioner"]["reference"].as_str()).unwrap_or_default()
}

fn section(visit: &Visit<'_>, section: &Value, contained: &[Value]) -> Markup {
    let code = section.pointer("/code/coding/0/code").and_then(Value::as_str).unwrap_or_default();
    let key = format!("section.{code}");
    let title = visit.texts.find(&key).or(section["title"].as_str()).unwrap_or(code);
    let text = section.pointer("/text/div").and_then(Value::as_str).and_then(fhir::narrative::plain_text);
    let entries = section["entry"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        h3 { (title) }
        @if let Some(text) = text { p { (text.trim()) } }
        ul { @for entry in entries { li { (entry_of(visit, entry["reference"].as_str().unwrap_or_default(), contained)) } } }
    }
}

/// What an entry of a section says: what the contained resource holds, or the reference itself.
fn entry_of(visit: &Visit<'_>, reference: &str, contained: &[Value]) -> Markup {
    let named = reference.strip_prefix('#');
    let Some(found) = named.and_then(|id| contained.iter().find(|resource| resource["id"] == id)) else {
        return html! { (reference) };
    };
    let coded = |concept: &Value| {
        let coding = &concept["coding"][0];
        let text = concept["text"].as_str().or(coding["display"].as_str()).or(coding["code"].as_str());
        text.map(str::to_owned)
    };
    let components = found["component"].as_array().map_or(&[][..], Vec::as_slice);
    let notes = found["note"].as_array().map_or(&[][..], Vec::as_slice);
    let said = [&found["valueCodeableConcept"], &found["type"][0], &found["code"]].into_iter().find_map(coded);
    let name = found["name"].as_str().map(str::to_owned).or(said).unwrap_or_else(|| reference.to_owned());
    html! {
        (name)
        @if !components.is_empty() { ul { @for component in components { li { (coded(&component["code"]).unwrap_or_default()) } } } }
        @for note in notes { p { (visit.t("reading.note")) ": " (note["text"].as_str().unwrap_or_default()) } }
    }
}

/// A narrative as lines of text: one per paragraph, item or row.
fn lines(div: &str) -> Vec<String> {
    // A character that no text has, so that the ends of blocks outlive the tags.
    const END: char = '\u{e000}';
    let marked = ["</p>", "</li>", "</tr>", "</h1>", "</h2>", "</h3>"]
        .into_iter()
        .fold(div.replace(END, ""), |div, tag| div.replace(tag, &format!("{END}{tag}")));
    let text = fhir::narrative::plain_text(&marked).unwrap_or_default();
    text.split(END).map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A moment without its seconds and its zone, which are those of Estonia.
fn moment(text: &str) -> String {
    text.get(..16).unwrap_or(text).replace('T', " ")
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
        time { (text("/recorded").get(..19).unwrap_or_default().replace('T', " ")) } " · "
        code { (text("/code/coding/0/code")) } " · "
        @if who.is_empty() { (visit.t("reading.nobody")) } @else { (who.join(", ")) } " · "
        span.outcome { (text("/outcome/code/code")) }
    } }
}

/// The way to the patient of a reference. Which version of them it was does not matter here.
pub(super) fn patient(visit: &Visit<'_>, reference: &str) -> Markup {
    let patient = reference.split("/_history/").next().unwrap_or_default();
    match patient.strip_prefix("Patient/") {
        Some(id) => html! { a href=(visit.href(&format!("/patients/{id}"))) { (patient) } },
        None => html! { (patient) },
    }
}

/// The Estonian personal code of a patient.
pub(super) fn estonian_code(visit: &Visit<'_>, patient: &Value) -> Option<String> {
    let system = visit.sources.names.identifiers.estonian_code();
    let found = patient["identifier"].as_array()?.iter().find(|known| known["system"] == *system);
    found?["value"].as_str().map(str::to_owned)
}
