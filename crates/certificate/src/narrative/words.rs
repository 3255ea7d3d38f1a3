//! A coded value in words. Contract 8.5.

use super::page::NarrativeLine;
use crate::DisplayTerms;
use fhir::json::Json;
use fhir::narrative::is_blank;

/// A CodeableConcept in words.
pub(super) struct Words<'c> {
    /// The term of a code, else the client's own words, else the code.
    name: &'c str,
    /// The title of the code system, where `name` is a code.
    system: Option<&'c str>,
    /// The client's own words, where they say more than the term.
    detail: Option<&'c str>,
}

impl<'c> Words<'c> {
    /// `None` for an empty concept.
    pub(super) fn of(concept: &'c Json, terms: &'c dyn DisplayTerms) -> Option<Words<'c>> {
        let of_coding = |look: &dyn Fn(&'c str, &'c str) -> Option<&'c str>| {
            let codings = concept.items("coding").iter();
            let mut codings = codings.filter_map(|coding| Some((coding.text("system")?, coding.text("code")?)));
            codings.find_map(|(system, code)| look(system, code).filter(|words| !is_blank(words)))
        };
        let first = |name| concept.items("coding").iter().filter_map(|c| c.text(name)).find(|text| !is_blank(text));
        let text = concept.text("text").filter(|text| !is_blank(text));
        let words = |name| Words { name, system: None, detail: None };
        match (of_coding(&|system, code| terms.term(system, code)), text) {
            (Some(term), Some(text)) if !begins_with(text, term) => Some(Words { detail: Some(text), ..words(term) }),
            (Some(term), text) => Some(words(text.filter(|text| text.trim().len() > term.len()).unwrap_or(term))),
            (None, Some(text)) => Some(words(text)),
            (None, None) => {
                let known = || of_coding(&|system, code| terms.other_words(system, code));
                let code = || {
                    let system = of_coding(&|system, _| terms.title(system));
                    Some(Words { system, ..words(first("code")?) })
                };
                first("display").or_else(known).map(words).or_else(code)
            }
        }
    }

    /// Whether a text says the same.
    pub(super) fn is(&self, text: &str) -> bool {
        text.trim().eq_ignore_ascii_case(self.name.trim())
    }

    /// The name alone.
    pub(super) fn write_name(&self, line: &mut NarrativeLine) -> bool {
        line.text(self.name)
    }

    /// All its words.
    pub(super) fn write(&self, line: &mut NarrativeLine) -> bool {
        let is_told = self.write_name(line);
        line.in_brackets(self.details());
        is_told
    }

    /// What stands in brackets behind the name.
    fn details(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        [self.system, self.detail].into_iter().flatten()
    }
}

/// Whether a text begins with another one; capitals do not count.
fn begins_with(text: &str, beginning: &str) -> bool {
    let mut characters = text.trim_start().chars().flat_map(char::to_lowercase);
    beginning.trim().chars().flat_map(char::to_lowercase).all(|character| characters.next() == Some(character))
}

/// What an Observation says: a restriction in its component with amount and notes (Contract 8.4), any other one in its value.
pub(super) fn observation(line: &mut NarrativeLine, observation: &Json, terms: &dyn DisplayTerms) -> bool {
    let component = observation.items("component").first();
    let concept = component.map_or_else(|| observation.get("valueCodeableConcept"), |component| component.get("code"));
    let Some(concept) = concept else { return false };
    let Some(words) = Words::of(concept, terms) else { return false };
    let is_told = words.write_name(line);
    let value = component.and_then(|component| component.get("valueCodeableConcept"));
    let value = value.and_then(|value| Words::of(value, terms));
    if let Some(value) = &value {
        line.words(": ");
        value.write_name(line);
    }
    let mut codings = concept.items("coding").iter();
    let unit = codings.find_map(|coding| terms.unit(coding.text("system")?, coding.text("code")?));
    let quantity = component.and_then(|component| component.get("valueQuantity"));
    let has_amount = quantity.is_some_and(|quantity| line.quantity(" ", quantity, unit));
    let missing = (unit.is_some() && !has_amount).then(|| line.own("kogus on märkimata", "the amount is not stated"));
    let details = words.details().chain(value.iter().flat_map(Words::details));
    let notes = observation.items("note").iter().filter_map(|note| note.text("text"));
    line.in_brackets(missing.into_iter().chain(details).chain(notes));
    is_told
}
