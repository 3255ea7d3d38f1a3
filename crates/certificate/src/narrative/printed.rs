//! A certificate for paper: its fields in words, in the order in which people look for them. Contract 8.8.

use super::fields::{INSTITUTION, NarrativeFields, PERSON, agent, estonian_date, section_words, without_version};
use super::page::{NarrativeLine, plain_line};
use super::words::{Words, observation};
use crate::section::{
    CANCEL_REASON, CHANGE_REASON, DECISION, EMPLOYEE_SUGGESTIONS, EMPLOYER, REJECT_REASON, SUSPEND_REASON, has_code,
};
use crate::{DisplayTerms, Names, State};
use fhir::json::{Json, Object};
use fhir::narrative::is_blank;
use fhir::outcome::Language;

/// Characters of one text: more than the pages of a document hold.
const PRINTED_TEXT_CHARACTERS_MAX: usize = 200_000;

/// Sections inside of one another that are still told.
const PRINTED_DEPTH_MAX: usize = 4;

/// Sections by their codes in the order in which they stand on paper; others come behind them.
const SECTIONS: &[&str] = &[
    DECISION,
    REJECT_REASON,
    "shortened-reason",
    "medical-restrictions",
    "work-additional-restrictions",
    "risk-factors",
    EMPLOYER,
    "employer-suggestions",
    EMPLOYEE_SUGGESTIONS,
    CHANGE_REASON,
    SUSPEND_REASON,
    CANCEL_REASON,
    "health-declaration",
];

/// The first of them: the decision, why it is a negative one, and why it does not hold for as long as usual.
const DECIDED: usize = 3;

/// What a certificate says, in words of one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedCertificate {
    /// Its title, else its kind.
    pub title: Option<String>,
    /// Its number in the register of certificates.
    pub number: Option<String>,
    /// Nothing where its status is none of a certificate.
    pub state: Option<State>,
    /// Why it is suspended or revoked, the newest reason first, with the name of each.
    pub reasons: Vec<String>,
    /// The patient as the certificate names them: `Patient/200`, and what else it says.
    pub patient: Vec<String>,
    /// Decision, validity, kind, and when it was written.
    pub facts: Vec<PrintedRow>,
    /// Whether the first of these is the decision.
    pub is_decided: bool,
    /// What it says, in the order of paper.
    pub sections: Vec<PrintedSection>,
    /// Who issued it, and where.
    pub issuer: Vec<PrintedRow>,
}

/// A fact with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedRow {
    /// Its name.
    pub label: String,
    /// A line for each value; at least one.
    pub values: Vec<String>,
}

/// A section in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedSection {
    /// Its name, by the code list.
    pub heading: String,
    /// Its text, a line for each paragraph.
    pub paragraphs: Vec<String>,
    /// What its entries say.
    pub items: Vec<String>,
    /// Facts that have names of their own.
    pub rows: Vec<PrintedRow>,
}

impl PrintedCertificate {
    /// Reads a certificate. A field that is missing or not what R5 says is left out. `terms` has the words of that language.
    pub fn read(
        composition: &Object,
        names: &Names,
        terms: &dyn DisplayTerms,
        language: Language,
    ) -> PrintedCertificate {
        let certificate = NarrativeFields::new(composition, names, terms);
        Printer { certificate, language }.print()
    }
}

struct Printer<'o, 'a> {
    certificate: NarrativeFields<'o, 'a>,
    language: Language,
}

impl Printer<'_, '_> {
    fn print(&self) -> PrintedCertificate {
        let certificate = &self.certificate;
        let kinds = certificate.items("category").iter().filter_map(|category| self.words(category));
        let kinds: Vec<String> = kinds.collect();
        let title = certificate.text("title").and_then(|title| self.text(title));
        let mut sections = Vec::new();
        self.add_sections(certificate.items("section"), 0, &mut sections);
        sections.sort_by_key(|(rank, _)| *rank);
        let (decided, sections) = sections.into_iter().partition::<Vec<_>, _>(|(rank, _)| *rank < DECIDED);
        let of_decision = |(_, section): (usize, PrintedSection)| {
            row(&section.heading, section.items.into_iter().chain(section.paragraphs))
        };
        let says = |section: &PrintedSection| !(section.items.is_empty() && section.paragraphs.is_empty());
        let is_decided = matches!(decided.first(), Some((0, decision)) if says(decision));
        let mut facts: Vec<PrintedRow> = decided.into_iter().filter_map(of_decision).collect();
        let told = |text: &String| title.as_ref().is_some_and(|title| title.eq_ignore_ascii_case(text));
        let is_valid = certificate.state() == Some(State::Completed);
        let validity = if is_valid { ("Kehtib", "Valid") } else { ("Märgitud kehtivusaeg", "Stated validity") };
        facts.extend(row(self.own(validity.0, validity.1), self.validity()));
        facts.extend(row(self.own("Liik", "Kind"), kinds.iter().filter(|kind| !told(kind)).cloned()));
        let written = certificate.text("date").and_then(estonian_date);
        facts.extend(row(self.own("Koostatud", "Written"), written));
        let (reasons, sections) = sections.into_iter().partition::<Vec<_>, _>(|(rank, _)| self.stands_on_top(*rank));
        let reason =
            |(_, section): (usize, PrintedSection)| [format!("{}: {}", section.heading, section.paragraphs.join(" "))];
        PrintedCertificate {
            number: certificate.number().and_then(|number| self.text(number)),
            state: certificate.state(),
            reasons: reasons.into_iter().rev().flat_map(reason).collect(),
            patient: certificate.items("subject").iter().filter_map(|subject| self.reference(subject)).collect(),
            facts,
            is_decided,
            sections: sections.into_iter().map(|(_, section)| section).collect(),
            issuer: self.issuer(),
            title: title.or_else(|| kinds.into_iter().next()),
        }
    }

    /// Whether a section belongs to the state of the certificate.
    fn stands_on_top(&self, rank: usize) -> bool {
        let is = |code| SECTIONS.get(rank) == Some(&code);
        match self.certificate.state() {
            Some(State::Suspended) => is(SUSPEND_REASON),
            Some(State::Revoked) => is(SUSPEND_REASON) || is(CANCEL_REASON),
            _ => false,
        }
    }

    fn own(&self, estonian: &'static str, english: &'static str) -> &'static str {
        match self.language {
            Language::Estonian => estonian,
            Language::English => english,
        }
    }

    fn line(&self, write: impl FnOnce(&mut NarrativeLine) -> bool) -> Option<String> {
        plain_line(self.language, PRINTED_TEXT_CHARACTERS_MAX, write)
    }

    fn text(&self, text: &str) -> Option<String> {
        self.line(|line| line.text(text))
    }

    fn words(&self, concept: &Json) -> Option<String> {
        let words = Words::of(concept, self.certificate.terms)?;
        self.line(|line| words.write(line))
    }

    /// `12.01.2025 – 11.01.2035`
    fn validity(&self) -> Option<String> {
        let period = self.certificate.items("event").iter().find_map(|event| event.get("period"))?;
        let day = |name| period.text(name).and_then(estonian_date);
        match (day("start"), day("end")) {
            (Some(start), Some(end)) => Some(format!("{start} – {end}")),
            (Some(start), None) => Some(format!("{} {start}", self.own("alates", "from"))),
            (None, Some(end)) => Some(format!("{} {end}", self.own("kuni", "until"))),
            (None, None) => None,
        }
    }

    fn add_sections(&self, sections: &[Json], depth: usize, told: &mut Vec<(usize, PrintedSection)>) {
        for section in sections {
            let is_of = |code: &&str| has_code(section, code, self.certificate.names);
            let rank = SECTIONS.iter().position(is_of).unwrap_or(SECTIONS.len());
            if let Some(section) = self.section(section, rank) {
                told.push((rank, section));
            }
            if depth < PRINTED_DEPTH_MAX {
                self.add_sections(section.items("section"), depth + 1, told);
            }
        }
    }

    /// Nothing for one that says nothing.
    fn section(&self, section: &Json, rank: usize) -> Option<PrintedSection> {
        let code = section.get("code").and_then(|code| Words::of(code, self.certificate.terms));
        let heading = code.and_then(|code| self.line(|line| code.write_name(line)));
        let heading = heading.or_else(|| self.text(section.text("title")?));
        let mut told = PrintedSection {
            heading: heading.unwrap_or_else(|| self.own("Muu", "Other").to_owned()),
            ..PrintedSection::default()
        };
        let text = section_words(section).unwrap_or_default();
        told.paragraphs.extend(text.lines().filter_map(|line| self.text(line)));
        for entry in section.items("entry") {
            match self.certificate.contained.find(entry) {
                Some((_, employment)) if SECTIONS.get(rank) == Some(&EMPLOYER) => {
                    self.add_employment(employment, &mut told);
                }
                Some((_, entry)) => {
                    told.items.extend(self.line(|line| observation(line, entry, self.certificate.terms)));
                }
                None => told.items.extend(self.reference(entry)),
            }
        }
        let is_empty = told.paragraphs.is_empty() && told.items.is_empty() && told.rows.is_empty();
        (!is_empty).then_some(told)
    }

    /// The employer by name and registry code, and what is known of the work. Contract 4.4.
    fn add_employment(&self, employment: &Json, section: &mut PrintedSection) {
        let mut rows = Vec::new();
        for employer in employment.items("performer") {
            let name = employer.text("display").and_then(|name| self.text(name));
            rows.extend(row(self.own("Nimi", "Name"), name));
            let code = employer.get("identifier").and_then(|identifier| self.text(identifier.text("value")?));
            // The text of the section is the code by which the employer finds the certificate.
            section.paragraphs.retain(|text| Some(text) != code.as_ref());
            rows.extend(row(self.own("Registrikood", "Registry code"), code));
        }
        for component in employment.items("component") {
            let job = component.get("valueCodeableConcept").and_then(|job| self.words(job));
            rows.extend(row(self.own("Amet", "Occupation"), job));
            let rate = component.get("valueQuantity");
            let rate = rate.and_then(|rate| self.line(|line| line.quantity("", rate, None)));
            rows.extend(row(self.own("Töökoormus", "Workload"), rate));
        }
        let notes = employment.items("note").iter().filter_map(|note| self.text(note.text("text")?));
        rows.extend(row(self.own("Lisainfo töö kohta", "About the work"), notes));
        section.rows.extend(rows);
    }

    /// Who issued it, and where. Source: specification 2.2.
    fn issuer(&self) -> Vec<PrintedRow> {
        let mut rows = Vec::new();
        for author in self.certificate.items("author") {
            let role = self.certificate.contained.find(author).map(|(_, role)| role);
            let person = role.map_or(Some(author), |role| role.get("practitioner"));
            let place = role.and_then(|role| role.get("organization"));
            let named = |reference: &Json, (beginning, _), words| {
                self.line(|line| agent(line, reference, "", (beginning, words)))
            };
            let (code, registry_code) = match self.language {
                Language::Estonian => (PERSON.1, INSTITUTION.1),
                Language::English => ("personal code ", "registry code "),
            };
            let person = person.and_then(|person| named(person, PERSON, code));
            rows.extend(row(self.own("Koostaja", "Author"), person));
            let place = place.and_then(|place| named(place, INSTITUTION, registry_code));
            rows.extend(row(self.own("Asutus", "Institution"), place));
        }
        rows
    }

    /// A reference as it names what it leads to: display, address, identifier.
    fn reference(&self, reference: &Json) -> Option<String> {
        let identifier = reference.get("identifier").and_then(|identifier| identifier.text("value"));
        let parts = [reference.text("display"), reference.text("reference").map(without_version), identifier];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !is_blank(part)).collect();
        self.text(&parts.join(", "))
    }
}

/// Nothing where there are no values.
fn row(label: &str, values: impl IntoIterator<Item = String>) -> Option<PrintedRow> {
    let values: Vec<String> = values.into_iter().collect();
    (!values.is_empty()).then(|| PrintedRow { label: label.to_owned(), values })
}
