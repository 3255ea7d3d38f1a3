//! The narrative of a certificate that came without one: short, Estonian, out of its own fields.
//!
//! A field that is missing or not what R5 says is left out, as the certificate may not have been judged yet. Who it is about and
//! who wrote it is not told: both are personal codes. Source: Contract 8.5.

use super::section::{CANCEL_REASON, SUSPEND_REASON, has_code};
use super::{Names, Status};
use crate::fhir::date_time::normalise;
use crate::fhir::json::{Json, Object};
use crate::fhir::narrative::{XHTML, escape, plain_text};
use crate::limits::{GENERATED_CHARACTERS_MAX, GENERATED_LINES_MAX, GENERATED_TEXT_CHARACTERS_MAX};

/// `text.status` of a narrative that holds what the fields hold.
pub const GENERATED: &str = "generated";

/// What follows the namespace in the opening tag.
const LANGUAGE: &str = r#"" lang="et" xml:lang="et">"#;

/// Characters that the marks of what was left out and the ends of lists take at most.
const ENDING_CHARACTERS: usize = 100;

/// Sections whose entries are told as lists, under their headings. Source: specification 2.5.
#[rustfmt::skip]
const LISTS: &[(&str, &str)] = &[
    ("medical-restrictions",         "Meditsiinilised piirangud:"),
    ("work-additional-restrictions", "Töötamiseks vajalikud lisatingimused:"),
    ("risk-factors",                 "Töölaadi ja töökeskkonnaga seotud ohutegurid:"),
];

/// Elements of a resource that stand before its `text`.
const BEFORE_TEXT: &[&str] =
    &["resourceType", "id", "_id", "meta", "implicitRules", "_implicitRules", "language", "_language"];

/// The div of a certificate, the same whenever the fields are the same; whatever they hold, it is right XHTML of at most 50 lines
/// and 10 000 characters.
pub fn generate(composition: &Object, names: &Names) -> String {
    let certificate = Certificate { composition, names };
    let mut page = Page::new();
    page.line("<p><b>", &certificate.title(), "</b></p>");
    page.line_if("<p>Tervisetõend nr ", certificate.number(names), "</p>");
    let status = composition.get("status").and_then(Json::as_str).and_then(Status::parse);
    page.line_if("<p>Olek: ", status.map(|status| status.state().name().to_owned()), "</p>");
    for (code, start) in [(SUSPEND_REASON, "<p>Peatamise põhjus: "), (CANCEL_REASON, "<p>Tühistamise põhjus: ")] {
        page.line_if(start, certificate.reason(code), "</p>");
    }
    page.line_if("<p>Otsus: ", certificate.entries("decision").find_map(value), "</p>");
    page.line_if("<p>Kehtib ", certificate.validity(), "</p>");
    for (code, heading) in LISTS {
        page.list(heading, certificate.entries(code).filter_map(restriction_or_value));
    }
    page.end()
}

/// Whether the narrative is what [`generate`] makes of the other fields, so that it may be made anew when they change.
pub fn is_generated(composition: &Object, names: &Names) -> bool {
    let div = composition.get("text").and_then(|text| text.text("div"));
    div.is_some_and(|div| may_be_generated(div) && div == generate(composition, names))
}

/// Whether a div begins as those of [`generate`] do, which hardly any other does.
pub fn may_be_generated(div: &str) -> bool {
    let opening = || div.strip_prefix("<div xmlns=\"")?.strip_prefix(XHTML)?.strip_prefix(LANGUAGE);
    opening().is_some()
}

/// Gives the certificate the narrative of its fields, in the place of the one it has, or where R5 has its place.
pub fn set(composition: &mut Object, names: &Names) {
    let div = generate(composition, names);
    let text = Json::object([("status", Json::string(GENERATED)), ("div", Json::string(div))]);
    composition.remove("text");
    let at = composition.iter().take_while(|(name, _)| BEFORE_TEXT.contains(name)).count();
    composition.0.insert(at, ("text".into(), text));
}

/// A Composition, asked for what the narrative tells.
struct Certificate<'o, 'a> {
    composition: &'o Object<'a>,
    names: &'o Names,
}

impl<'o, 'a> Certificate<'o, 'a> {
    fn items(&self, name: &str) -> &'o [Json<'a>] {
        self.composition.get(name).and_then(Json::as_array).unwrap_or(&[])
    }

    /// The title, else the category's name.
    fn title(&self) -> String {
        let title = self.composition.get("title").and_then(Json::as_str).and_then(one_line);
        let category = || self.items("category").iter().find_map(name);
        title.or_else(category).unwrap_or_else(|| "Tervisetõend".to_owned())
    }

    fn number(&self, names: &Names) -> Option<String> {
        let is_number = |identifier: &&Json| {
            let path = identifier.text("system").and_then(|system| system.strip_prefix(names.hcert_ns.as_str()));
            path == Some("/health-certificate-number")
        };
        one_line(self.items("identifier").iter().find(is_number)?.text("value")?)
    }

    /// The newest reason of this kind.
    fn reason(&self, code: &str) -> Option<String> {
        one_line(&plain_text(self.sections(code).next_back()?.get("text")?.text("div")?)?)
    }

    /// `12.01.2025 kuni 11.01.2035`
    fn validity(&self) -> Option<String> {
        let period = self.items("event").iter().find_map(|event| event.get("period"))?;
        let day = |name| period.text(name).and_then(estonian_date);
        match (day("start"), day("end")) {
            (Some(start), Some(end)) => Some(format!("{start} kuni {end}")),
            (Some(start), None) => Some(format!("alates {start}")),
            (None, Some(end)) => Some(format!("kuni {end}")),
            (None, None) => None,
        }
    }

    fn sections(&self, code: &str) -> impl DoubleEndedIterator<Item = &'o Json<'a>> {
        self.items("section").iter().filter(move |section| has_code(section, code, self.names))
    }

    /// The contained resources that the first section of a code refers to, no more than there are lines.
    fn entries(&self, code: &str) -> impl Iterator<Item = &'o Json<'a>> {
        let entries = self.sections(code).next().map_or(&[][..], |section| section.items("entry"));
        let contained = |entry: &Json| {
            let id = entry.text("reference")?.strip_prefix('#')?;
            self.items("contained").iter().find(|resource| resource.text("id") == Some(id))
        };
        entries.iter().take(GENERATED_LINES_MAX).filter_map(contained)
    }
}

fn value(observation: &Json) -> Option<String> {
    name(observation.get("valueCodeableConcept")?)
}

/// What a restriction says in its component, with amount and note, and any other observation in its value. Contract 8.4.
fn restriction_or_value(observation: &Json) -> Option<String> {
    let Some(component) = observation.items("component").first() else { return value(observation) };
    let mut text = name(component.get("code")?)?;
    let quantity = component.get("valueQuantity");
    if let Some(Json::Number(amount)) = quantity.and_then(|quantity| quantity.get("value")) {
        let unit = quantity.and_then(|quantity| quantity.text("unit")).unwrap_or_default();
        text = format!("{text} {amount} {unit}");
    }
    if let Some(note) = observation.items("note").iter().find_map(|note| one_line(note.text("text")?)) {
        text = format!("{} ({note})", text.trim_end());
    }
    one_line(&text)
}

/// A concept in words: its text, else the display of a coding, else its code.
fn name(concept: &Json) -> Option<String> {
    let first = |field| concept.items("coding").iter().find_map(|coding| one_line(coding.text(field)?));
    concept.text("text").and_then(one_line).or_else(|| first("display")).or_else(|| first("code"))
}

/// `12.01.2025`, or less where the field says less; the day in Tallinn.
fn estonian_date(text: &str) -> Option<String> {
    let local = normalise(text).ok()?;
    let date = local.split_once('T').map_or(&*local, |(date, _)| date);
    Some(date.rsplit('-').collect::<Vec<_>>().join("."))
}

/// A text on one line, cut where it is too long, without the characters that XML forbids; nothing for a blank one.
fn one_line(text: &str) -> Option<String> {
    let is_shown = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let words = text.split_whitespace().map(|word| word.chars().filter(is_shown));
    let mut line = String::new();
    let mut length = 0;
    for word in words {
        let mut gap = !line.is_empty();
        for character in word {
            if length >= GENERATED_TEXT_CHARACTERS_MAX - 2 {
                line.push('…');
                return Some(line);
            }
            if std::mem::take(&mut gap) {
                line.push(' ');
                length += 1;
            }
            line.push(character);
            length += 1;
        }
    }
    (!line.is_empty()).then_some(line)
}

/// A div under way.
struct Page {
    div: String,
    lines: usize,
    characters: usize,
    /// Something was left out; nothing comes after it.
    is_full: bool,
}

impl Page {
    fn new() -> Page {
        let div = format!(r#"<div xmlns="{XHTML}{LANGUAGE}"#);
        Page { lines: 0, characters: div.len(), is_full: false, div }
    }

    /// `start` and `end` are markup, `text` is not.
    fn line(&mut self, start: &str, text: &str, end: &str) {
        if self.is_full {
            return;
        }
        let text = escape(text);
        self.lines += 1;
        self.characters += [start, &text, end].map(|part| part.chars().count()).iter().sum::<usize>();
        self.is_full =
            self.lines >= GENERATED_LINES_MAX || self.characters > GENERATED_CHARACTERS_MAX - ENDING_CHARACTERS;
        let parts = match self.is_full {
            false => [start, &text, end],
            true if end == "</li>" => ["<li>", "…", end],
            true => ["<p>", "…", "</p>"],
        };
        self.div.extend(parts);
    }

    fn line_if(&mut self, start: &str, text: Option<String>, end: &str) {
        if let Some(text) = text {
            self.line(start, &text, end);
        }
    }

    fn list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let mut items = items.peekable();
        if self.is_full || items.peek().is_none() {
            return;
        }
        self.line("<p>", heading, "</p>");
        if self.is_full {
            return;
        }
        self.div.push_str("<ul>");
        items.for_each(|item| self.line("<li>", &item, "</li>"));
        self.div.push_str("</ul>");
    }

    fn end(mut self) -> String {
        self.div.push_str("</div>");
        self.div
    }
}

#[cfg(test)]
mod tests;
