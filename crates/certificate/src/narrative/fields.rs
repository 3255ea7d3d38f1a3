//! The fields of a certificate as its narrative tells them.

use super::page::{NarrativeLine, NarrativePage};
use super::words::Words;
use crate::section::has_code;
use crate::{DisplayTerms, Names, State, Status};
use fhir::contained::ContainedResources;
use fhir::date_time::normalise;
use fhir::json::{Json, Object};
use fhir::narrative::is_blank;
use fhir::narrative::plain_text;

/// A Composition, asked for what the narrative tells.
pub(super) struct NarrativeFields<'o, 'a> {
    pub(super) composition: &'o Object<'a>,
    pub(super) contained: ContainedResources<'o, 'a>,
    pub(super) names: &'o Names,
    pub(super) terms: &'o dyn DisplayTerms,
}

impl<'o, 'a> NarrativeFields<'o, 'a> {
    pub(super) fn new(composition: &'o Object<'a>, names: &'o Names, terms: &'o dyn DisplayTerms) -> Self {
        NarrativeFields { composition, contained: ContainedResources::of(composition), names, terms }
    }

    /// Kind, number, state, patient, and who wrote it when.
    pub(super) fn write_head(&self, page: &mut NarrativePage) {
        let kind = self.items("category").iter().find_map(|category| Words::of(category, self.terms));
        let title = self.text("title").filter(|title| !is_blank(title));
        page.heading(|line| match (title, &kind) {
            (Some(title), _) => line.text(title),
            (None, Some(kind)) => kind.write(line),
            (None, None) => {
                line.words("Tervisetõend");
                true
            }
        });
        if let Some(kind) = kind.filter(|kind| title.is_some_and(|title| !kind.is(title))) {
            page.line(|line| {
                line.words("Liik: ");
                kind.write(line)
            });
        }
        page.line(|line| self.number().is_some_and(|number| line.part("Tervisetõend nr ", number)));
        let state = match self.state() {
            Some(State::Draft) => Some("Olek: Mustand. Tervisetõend veel ei kehti."),
            Some(State::Completed) => Some("Olek: Lõpetatud. Tervisetõend on välja antud."),
            // The others stand at the top.
            _ => None,
        };
        page.line(|line| state.map(|state| line.words(state)).is_some());
        let subject = self.items("subject").iter().find_map(|subject| subject.text("reference"));
        page.line(|line| subject.is_some_and(|subject| line.part("Patsient: ", without_version(subject))));
        page.line(|line| self.author(line));
        page.line(|line| {
            let day = self.text("date").and_then(estonian_date);
            day.is_some_and(|day| line.part("Koostatud: ", &day))
        });
    }

    /// The decision, why it is a rejection, how long it holds, and why not longer.
    pub(super) fn write_decision(&self, page: &mut NarrativePage) {
        let decision = self.entries("decision").find_map(|decision| {
            let value = decision.get("valueCodeableConcept")?;
            Words::of(value, self.terms)
        });
        page.line(|line| {
            line.words("Otsus: ");
            match &decision {
                Some(decision) => decision.write(line),
                None => {
                    line.words("puudub");
                    self.state().is_some()
                }
            }
        });
        page.line(|line| self.section_text(line, "reject-reason"));
        page.line(|line| self.validity(line));
        page.line(|line| self.section_text(line, "shortened-reason"));
    }

    /// A section with a text, a list of observations, or both.
    pub(super) fn write_observations(&self, page: &mut NarrativePage, code: &str) {
        let Some(section) = self.section(code) else { return };
        let mut observations = self.entries(code).peekable();
        let text = section_words(section);
        if observations.peek().is_none() && text.is_none() {
            return;
        }
        page.line(|line| {
            let is_told = self.heading(line, section);
            text.is_some_and(|text| line.part(" ", &text)) || is_told
        });
        page.list(observations, |line, observation| super::words::observation(line, observation, self.terms));
    }

    /// The employer by name and registry code, and what is known of the work. Contract 4.4.
    pub(super) fn write_employment(&self, page: &mut NarrativePage) {
        let Some(section) = self.section("employer") else { return };
        let employment = self.entries("employer").next();
        let employer = employment.and_then(|employment| employment.items("performer").first());
        let name = employer.and_then(|employer| employer.text("display")).filter(|name| !is_blank(name));
        let code = employer.and_then(|employer| employer.get("identifier")?.text("value"));
        let text = section_words(section);
        let text = text.as_deref().filter(|text| Some(*text) != code);
        page.line(|line| {
            self.heading(line, section);
            match (name, code, text) {
                (Some(name), code, text) => {
                    line.part(" ", name);
                    let is_open = code.is_some_and(|code| line.part(" (registrikood ", code));
                    let is_open =
                        text.is_some_and(|text| line.part(if is_open { "; " } else { " (" }, text)) || is_open;
                    line.words(if is_open { ")" } else { "" });
                    true
                }
                (None, Some(code), text) => {
                    let is_told = line.part(" registrikood ", code);
                    line.in_brackets(text.into_iter());
                    is_told
                }
                (None, None, text) => text.is_some_and(|text| line.part(" ", text)),
            }
        });
        for component in employment.map_or(&[][..], |employment| employment.items("component")) {
            page.line(|line| {
                let value = component.get("valueCodeableConcept").and_then(|value| Words::of(value, self.terms));
                match (value, component.get("valueQuantity")) {
                    (Some(job), _) => {
                        line.words("Amet: ");
                        job.write(line)
                    }
                    (None, Some(rate)) => line.quantity("Töökoormus: ", rate, None),
                    (None, None) => false,
                }
            });
        }
        for note in employment.map_or(&[][..], |employment| employment.items("note")) {
            page.line(|line| note.text("text").is_some_and(|text| line.part("Lisainfo töö kohta: ", text)));
        }
    }

    pub(super) fn items(&self, name: &str) -> &'o [Json<'a>] {
        self.composition.get(name).and_then(Json::as_array).unwrap_or(&[])
    }

    pub(super) fn text(&self, name: &str) -> Option<&'o str> {
        self.composition.get(name).and_then(Json::as_str)
    }

    pub(super) fn state(&self) -> Option<State> {
        self.text("status").and_then(Status::parse).map(Status::state)
    }

    pub(super) fn number(&self) -> Option<&'o str> {
        let is_number = |identifier: &&Json| {
            let path = identifier.text("system").and_then(|system| system.strip_prefix(self.names.hcert_ns.as_str()));
            path == Some("/health-certificate-number")
        };
        self.items("identifier").iter().find(is_number)?.text("value")
    }

    /// The newest section of a code.
    fn section(&self, code: &str) -> Option<&'o Json<'a>> {
        self.items("section").iter().rfind(|section| has_code(section, code, self.names))
    }

    /// What a section is called, by the code list.
    fn heading(&self, line: &mut NarrativeLine, section: &Json) -> bool {
        let words = section.get("code").and_then(|code| Words::of(code, self.terms));
        let is_told = words.is_some_and(|words| words.write_name(line));
        line.words(":");
        is_told
    }

    /// A section's name and text.
    pub(super) fn section_text(&self, line: &mut NarrativeLine, code: &str) -> bool {
        let Some(section) = self.section(code) else { return false };
        let Some(text) = section_words(section) else { return false };
        self.heading(line, section);
        line.part(" ", &text)
    }

    /// The contained resources that the section of a code refers to.
    fn entries(&self, code: &str) -> impl Iterator<Item = &'o Json<'a>> {
        let entries = self.section(code).map_or(&[][..], |section| section.items("entry"));
        entries.iter().filter_map(|entry| self.contained.find(entry)).map(|(_, resource)| resource)
    }

    /// `Koostaja: isikukood 49403136515, asutuse registrikood 90006399`. Source: specification 2.2.
    fn author(&self, line: &mut NarrativeLine) -> bool {
        let Some(author) = self.items("author").first() else { return false };
        line.words("Koostaja: ");
        let Some((_, role)) = self.contained.find(author) else { return agent(line, author, "", ("", "")) };
        let has_person = role.get("practitioner").is_some_and(|person| agent(line, person, "", PERSON));
        let before = if has_person { ", " } else { "" };
        role.get("organization").is_some_and(|place| agent(line, place, before, INSTITUTION)) || has_person
    }

    /// `Kehtib 12.01.2025 kuni 11.01.2035`. Only a completed certificate is said to be valid.
    fn validity(&self, line: &mut NarrativeLine) -> bool {
        let Some(period) = self.items("event").iter().find_map(|event| event.get("period")) else { return false };
        let day = |name| period.text(name).and_then(estonian_date);
        line.words(match self.state() {
            Some(State::Completed) => "Kehtib ",
            _ => "Märgitud kehtivusaeg: ",
        });
        match (day("start"), day("end")) {
            (Some(start), Some(end)) => line.text(&start) && line.part(" kuni ", &end),
            (Some(start), None) => line.part("alates ", &start),
            (None, Some(end)) => line.part("kuni ", &end),
            (None, None) => false,
        }
    }

    /// The declaration by its reference, or by its number outside this service. Source: specification 1, 2.5.
    pub(super) fn health_declaration(&self, line: &mut NarrativeLine) -> bool {
        let Some(section) = self.section("health-declaration") else { return false };
        let Some(entry) = section.items("entry").first() else { return false };
        self.heading(line, section);
        match (entry.text("reference"), entry.get("identifier").and_then(|identifier| identifier.text("value"))) {
            (Some(reference), _) => line.part(" ", reference),
            (None, Some(number)) => line.part(" dokument nr ", number),
            (None, None) => false,
        }
    }
}

/// How a reference to the author begins, and what the rest of it is.
pub(super) const PERSON: (&str, &str) = ("Practitioner/", "isikukood ");

pub(super) const INSTITUTION: (&str, &str) = ("Organization/", "asutuse registrikood ");

/// A reference by its display, and by its address or identifier.
pub(super) fn agent(
    line: &mut NarrativeLine,
    reference: &Json,
    before: &str,
    (beginning, words): (&str, &str),
) -> bool {
    let address = reference.text("reference").map(without_version);
    let identifier = || reference.get("identifier").and_then(|identifier| identifier.text("value"));
    let (words, value) = match address {
        Some(address) => address.strip_prefix(beginning).map_or(("", address), |value| (words, value)),
        None => (words, identifier().unwrap_or_default()),
    };
    let Some(display) = reference.text("display").filter(|display| !is_blank(display)) else {
        return line.part(&[before, words].concat(), value);
    };
    let is_told = line.part(before, display);
    if line.part(&[" (", words].concat(), value) {
        line.words(")");
    }
    is_told
}

/// A reference without `/_history/<version>`, which the registry's newest version may change.
pub(super) fn without_version(reference: &str) -> &str {
    reference.split_once("/_history/").map_or(reference, |(reference, _)| reference)
}

/// What the text of a section says; nothing when it is blank.
pub(super) fn section_words(section: &Json) -> Option<String> {
    plain_text(section.get("text")?.text("div")?).filter(|text| !is_blank(text))
}

/// `12.01.2025`, or less where the field says less; the day in Tallinn.
pub(super) fn estonian_date(text: &str) -> Option<String> {
    let local = normalise(text).ok()?;
    let date = local.split_once('T').map_or(&*local, |(date, _)| date);
    Some(date.rsplit('-').collect::<Vec<_>>().join("."))
}
