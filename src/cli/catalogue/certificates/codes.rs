//! Codes in words: values that are fixed, tables of code lists, and the codes of an example.

use std::fmt::Write;

use super::source::{ElementSource, end_of};
use certificate::Names;
use certificate::definitions;
use certificate::terminology::{Concept, ESTONIAN, Terminology};
use fhir::json::Json;

const ENGLISH: &str = "en";

const SNOMED: &str = "http://snomed.info/sct";

/// What stands where a list has no name.
const NO_NAME: &str = "–";

/// The code lists, and what the tables of a page use of them.
pub(super) struct CodeLists {
    terminology: Terminology,
    value_sets: Vec<Json<'static>>,
    /// Addresses of value sets, in the order of their first use.
    pub used: Vec<String>,
    /// Codes of SNOMED CT that profiles fix, in the order of their first use.
    fixed: Vec<String>,
}

impl CodeLists {
    pub(super) fn new(names: &Names) -> CodeLists {
        CodeLists {
            terminology: Terminology::new(names, false, &[]).expect("a test reads every list that ships"),
            value_sets: definitions::of_type("ValueSet").map(|list| list.read(names)).collect(),
            used: Vec::new(),
            fixed: Vec::new(),
        }
    }

    /// What a value is, as sentences: the value that is fixed, and the list that its code is of.
    pub(super) fn value(&mut self, source: &ElementSource, path: &str) -> String {
        let fixed = source.fixed(path).map(|value| match value.as_str() {
            Some(text) => format!("Always `{text}`."),
            None => format!("Always {}.", self.coding(value.items("coding").first().unwrap_or(value))),
        });
        let bound = source.stated(path, "binding").and_then(|binding| binding.text("valueSet")).map(|url| {
            if !self.used.iter().any(|used| used == url) {
                self.used.push(url.to_owned());
            }
            let id = end_of(url);
            format!("A code of [{id}](#{id}).")
        });
        [fixed, bound].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn coding(&mut self, coding: &Json) -> String {
        let text = |name: &str| coding.text(name).unwrap_or_default();
        let (system, code) = (text("system"), text("code"));
        if system == SNOMED && !self.fixed.iter().any(|fixed| fixed == code) {
            self.fixed.push(code.to_owned());
        }
        let display = coding.text("display").map(|display| format!(", `{display}`")).unwrap_or_default();
        format!("`{code}`{display} of `{system}`")
    }

    /// Heading, address and codes of a value set.
    pub(super) fn write_value_set(&self, url: &str, out: &mut String) {
        let set = self.value_set(url);
        let (id, title) = (set.text("id").unwrap_or_default(), set.text("title").unwrap_or_default());
        let about = set.text("description").unwrap_or_default();
        let _ = writeln!(out, "### {id}\n\n{title}. Value set `{url}`. {about}\n");
        for (system, codes) in self.parts(set) {
            let listed = self.listed(set, &system);
            let is_complete = match listed {
                true => set.get("experimental") != Some(&Json::Bool(true)),
                false => self.terminology.code_system(&system).is_some_and(|list| list.about.is_complete),
            };
            let known = if is_complete { "complete" } else { "known in part" };
            let _ = writeln!(out, "System `{system}`, {known}:\n");
            self.write_codes(&system, codes.iter().map(String::as_str), out);
        }
    }

    /// A table of codes, in the order of their code system.
    pub(super) fn write_own_order(&self, system: &str, codes: &[String], out: &mut String) {
        let all = self.terminology.code_system(system).map_or(&[][..], |list| list.concepts());
        let own = all.iter().map(|concept| concept.code.as_str()).filter(|code| codes.iter().any(|own| own == code));
        self.write_codes(system, own, out);
    }

    /// The codes of SNOMED CT that were fixed until now.
    pub(super) fn write_fixed(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "### Fixed codes\n\nSystem `{SNOMED}`. The English name is the `display` that must be sent:\n"
        );
        self.write_codes(SNOMED, self.fixed.iter().map(String::as_str), out);
    }

    /// A table of codes.
    fn write_codes<'c>(&self, system: &str, codes: impl Iterator<Item = &'c str>, out: &mut String) {
        out.push_str("| Code | English | Estonian | Note |\n|---|---|---|---|\n");
        for code in codes {
            let english = self.terminology.term(system, code, ENGLISH).unwrap_or(NO_NAME);
            let estonian = self.terminology.term(system, code, ESTONIAN).unwrap_or(NO_NAME);
            let note = self.concept(system, code).map(note).unwrap_or_default();
            let _ = writeln!(out, "| `{code}` | {english} | {estonian} | {note} |");
        }
        out.push('\n');
    }

    /// A line on a code of an example; nothing when no list knows the code.
    pub(super) fn in_words(&self, system: &str, code: &str, path: &str) -> Option<String> {
        let names =
            [ENGLISH, ESTONIAN].into_iter().filter_map(|language| self.terminology.term(system, code, language));
        let names: Vec<&str> = names.collect();
        let is = match names.is_empty() {
            true => format!(": {}", self.concept(system, code)?.definition.as_deref()?),
            false => format!(" is {}", names.join(" / ")),
        };
        Some(format!("- `{path}`: `{code}`{is}"))
    }

    /// Codes of a value set that an expression names.
    pub(super) fn codes_in(&self, expression: &str, value_set: &str) -> Vec<String> {
        let codes = self.parts(self.value_set(value_set)).into_iter().flat_map(|(_, codes)| codes);
        codes.filter(|code| expression.contains(&format!("'{code}'"))).collect()
    }

    /// Title of a code system.
    pub(super) fn title<'s>(&'s self, system: &'s str) -> &'s str {
        self.terminology.code_system(system).map_or(system, |list| &list.about.title)
    }

    fn value_set(&self, url: &str) -> &Json<'static> {
        let found = self.value_sets.iter().find(|set| set.text("url") == Some(url));
        found.expect("the profiles are bound to value sets that ship")
    }

    /// Each system of a value set, with its codes.
    fn parts(&self, set: &Json) -> Vec<(String, Vec<String>)> {
        let include = set.get("compose").map_or(&[][..], |compose| compose.items("include"));
        let parts = include.iter().map(|part| {
            let system = part.text("system").unwrap_or_default();
            let listed = part.items("concept").iter().filter_map(|concept| concept.text("code").map(str::to_owned));
            let listed: Vec<String> = listed.collect();
            let all = || {
                let concepts = self.terminology.code_system(system).map_or(&[][..], |list| list.concepts());
                concepts.iter().map(|concept| concept.code.clone()).collect()
            };
            (system.to_owned(), if listed.is_empty() { all() } else { listed })
        });
        parts.collect()
    }

    /// Whether a value set lists codes of a system one by one.
    fn listed(&self, set: &Json, system: &str) -> bool {
        let include = set.get("compose").map_or(&[][..], |compose| compose.items("include"));
        include.iter().any(|part| part.text("system") == Some(system) && !part.items("concept").is_empty())
    }

    fn concept(&self, system: &str, code: &str) -> Option<&Concept> {
        self.terminology.code_system(system)?.find(code)
    }
}

/// What a list says of a code besides its name.
fn note(concept: &Concept) -> String {
    let property = |name: &str, value: &str| {
        let found = concept.properties.iter().find(|property| property.text("code") == Some(name));
        found.and_then(|property| property.text(value)).map(str::to_owned)
    };
    let is_retired = property("status", "valueCode").is_some_and(|status| status == "retired");
    let retired = property("retirementDate", "valueDateTime").filter(|_| is_retired);
    let notes = [
        concept.definition.clone(),
        retired.map(|day| format!("Retired; its last day of use was {day}.")),
        property("unit", "valueString").map(|unit| format!("Unit: `{unit}`.")),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
