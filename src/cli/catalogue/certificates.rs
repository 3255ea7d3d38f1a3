//! `docs/reference`: what a certificate of each kind contains, made of profiles, R5, code lists and examples.

mod codes;
mod example;
mod source;
mod texts;
mod words;

use std::fmt::Write;

use super::markdown::{cell, wrapped};
use certificate::definitions::{MergedElements, ProfileSource};
use certificate::{Names, Profile};
use codes::CodeLists;
use example::{ExamplePiece, pieces};
use fhir::json::{self, Json};
use fhir::outcome::{Hcert, Language, entry};
use source::{ElementSource, StatedType, need};
use texts::{CONTAINED_ABOUT, LISTS, READING, RULES, SECTIONS_ABOUT, SMALLEST, SMALLEST_COMPLETED, USABLE};
use words::{COMPOSITION, CONTAINED, ContainedWords, ElementWords, SECTION, SECTIONS, SectionWords};

const ELEMENTS: &str = "| Element | Draft | Completed | Type | Meaning |\n|---|---|---|---|---|\n";

/// Certificates that can be stored and cannot be used, and whether the setting refuses them. Contract 8.7.
const UNUSABLE: [(Hcert, bool); 5] = [
    (Hcert::DecisionMissing, true),
    (Hcert::RejectReasonMissing, true),
    (Hcert::EmployerWrong, true),
    (Hcert::AuthorCodeWrong, false),
    (Hcert::AuthorReferenceMissing, false),
];

/// What the page of a kind says beyond its profile.
struct CertificateKind {
    /// As the command names it.
    name: &'static str,
    title: &'static str,
    /// Whom the certificates are about.
    about: &'static str,
    draft: &'static str,
    completed: &'static str,
    example_file: &'static str,
    example: &'static str,
}

const DRIVER: CertificateKind = CertificateKind {
    name: "driver",
    title: "Driver's certificate",
    about: "motor vehicle drivers",
    draft: include_str!("../../../data/smallest/driver-draft.json"),
    completed: include_str!("../../../data/smallest/driver-completed.json"),
    example_file: "examples/driver-final-changed.json",
    example: include_str!("../../../examples/driver-final-changed.json"),
};

const OCCUPATIONAL: CertificateKind = CertificateKind {
    name: "occupational",
    title: "Occupational certificate",
    about: "occupational health examinations",
    draft: include_str!("../../../data/smallest/occupational-draft.json"),
    completed: include_str!("../../../data/smallest/occupational-completed.json"),
    example_file: "examples/occupational-final.json",
    example: include_str!("../../../examples/occupational-final.json"),
};

/// The page of one kind.
pub(super) fn page(profile: Profile) -> String {
    let kind = match profile {
        Profile::Driver => DRIVER,
        Profile::Occupational => OCCUPATIONAL,
    };
    let names = Names::default();
    let profiles = ProfileSource::new(&names);
    let elements = profiles.elements(&format!("{}/StructureDefinition/{}", names.profile_base, profile.name()));
    let mut page = ReferencePage {
        composition: ElementSource::new("Composition", vec![(&elements, "Composition".to_owned())]),
        elements: &elements,
        profiles: &profiles,
        lists: CodeLists::new(&names),
        text: String::new(),
    };
    page.head(&kind, profile);
    page.composition();
    page.sections();
    page.contained();
    page.rules();
    page.code_lists(&names);
    page.example(&kind);
    page.text.truncate(page.text.trim_end().len());
    page.text + "\n"
}

/// A page as it is written.
struct ReferencePage<'p> {
    /// The elements of the certificate.
    composition: ElementSource<'p>,
    elements: &'p MergedElements,
    profiles: &'p ProfileSource,
    lists: CodeLists,
    text: String,
}

impl<'p> ReferencePage<'p> {
    fn head(&mut self, kind: &CertificateKind, profile: Profile) {
        let CertificateKind { name, title, about, draft, completed, .. } = kind;
        let _ = writeln!(self.text, "# {title}\n");
        self.paragraph(&format!(
            "For integrators who send or read certificates of {about}: every element, section and code that the \
             service takes, the smallest bodies, and one complete example."
        ));
        self.paragraph(&format!(
            "This file is written by `hcert catalogue --page {name}-certificate`, with the addresses of the default \
             settings. Profiles and code lists come from `data/`; the service itself serves them as \
             `/StructureDefinition/{}`, `/CodeSystem` and `/ValueSet`.",
            profile.name()
        ));
        self.text.push_str(READING);
        self.text.push_str(SMALLEST);
        let _ = writeln!(self.text, "### Draft\n\n```json\n{draft}```\n");
        let _ = writeln!(self.text, "### Completed certificate\n\n{SMALLEST_COMPLETED}```json\n{completed}```\n");
    }

    fn composition(&mut self) {
        self.text.push_str("## The certificate\n\nA resource of type `Composition`.\n\n");
        let composition = self.composition.clone();
        self.table(&composition, "", COMPOSITION);
        self.rest(&composition, COMPOSITION);
    }

    fn sections(&mut self) {
        self.text.push_str(SECTIONS_ABOUT);
        let composition = self.composition.clone();
        let sections = sections_of(self.elements);
        for SectionWords { slice, need: needed, meaning, .. } in sections.clone() {
            let code = self.section_code(slice);
            let (draft, completed) = words_of(*needed, &composition, &format!("section:{slice}"));
            let (min, max) = composition.count(&format!("section:{slice}.text"));
            let mut text = need(min, max);
            if let Some(status) = composition.fixed(&format!("section:{slice}.text.status")).and_then(Json::as_str) {
                let _ = write!(text, ", status `{status}`");
            }
            let entry = self.entry(slice);
            let _ =
                writeln!(self.text, "| `{code}` | {slice} | {draft} | {completed} | {text} | {entry} | {meaning} |");
        }
        self.text.push_str("\nEvery section has these elements:\n\n");
        self.table(&composition, "", SECTION);
        let inside = SECTION.iter().filter_map(|row| row.path.strip_prefix("section."));
        let others = source::others("Composition.section", inside, &["modifierExtension".to_owned()]);
        self.allowed(others.iter().map(|name| format!("section.{name}")));
        self.text.push('\n');
        for SectionWords { slice, elements, .. } in sections.filter(|section| !section.elements.is_empty()) {
            let code = self.section_code(slice);
            let _ = writeln!(self.text, "Inside the section `{code}`:\n");
            self.table(&composition, &format!("section:{slice}."), elements);
            self.text.push('\n');
        }
    }

    fn contained(&mut self) {
        self.text.push_str(CONTAINED_ABOUT);
        for ContainedWords { slice, meaning, elements } in CONTAINED {
            let Some(kind) = self.slice_type(slice) else { continue };
            let (min, max) = self.composition.count(&format!("contained:{slice}"));
            let _ = writeln!(self.text, "### {slice}\n\n{meaning}\n\n- Resource: `{}`", kind.name);
            let _ = writeln!(self.text, "- Slice `{slice}`: {}", need(min, max));
            if let Some(url) = kind.profiles.first() {
                let _ = writeln!(self.text, "- Profile: `{url}`");
            }
            self.text.push('\n');
            let own = self.own_elements(&kind);
            let source = self.contained_source(slice, &kind, &own);
            self.table(&source, "", elements);
            self.rest(&source, elements);
        }
    }

    /// The elements of the profile of a contained resource; none where it has no profile.
    fn own_elements(&self, kind: &StatedType) -> MergedElements {
        kind.profiles.first().map(|url| self.profiles.elements(url)).unwrap_or_default()
    }

    /// What the certificate says of a contained resource, and then what its own profile says.
    fn contained_source<'m>(&self, slice: &str, kind: &StatedType, own: &'m MergedElements) -> ElementSource<'m>
    where
        'p: 'm,
    {
        let layers = vec![(self.elements, format!("Composition.contained:{slice}")), (own, kind.name.clone())];
        ElementSource::new(&kind.name, layers)
    }

    fn rules(&mut self) {
        self.text.push_str(RULES);
        let composition = self.composition.clone();
        for constraint in composition.constraints() {
            let (key, human) =
                (constraint.text("key").unwrap_or_default(), constraint.text("human").unwrap_or_default());
            let _ = writeln!(self.text, "| `{key}` | {human} | {} |", source::estonian(constraint).unwrap_or("–"));
        }
        self.text.push('\n');
        for constraint in composition.constraints() {
            let expression = constraint.text("expression").unwrap_or_default();
            let decisions = self.lists.codes_in(expression, &self.decisions());
            self.paragraph(&format!("These decisions are positive: {}.", listed(decisions.iter().map(String::as_str))));
        }
        self.text.push_str(USABLE);
        for (code, refuses) in UNUSABLE {
            let text = cell(entry(code).text(Language::English));
            let _ = writeln!(self.text, "| {} | {text} | {} |", code.code(), if refuses { "yes" } else { "no" });
        }
    }

    fn code_lists(&mut self, names: &Names) {
        self.text.push_str(LISTS);
        for url in self.lists.used.clone() {
            self.lists.write_value_set(&url, &mut self.text);
        }
        let codes: Vec<String> = sections_of(self.elements).map(|section| self.section_code(section.slice)).collect();
        let system = names.section_system();
        let title = self.lists.title(&system).to_owned();
        let _ = writeln!(self.text, "### tervisetoendi-sektsioon\n");
        self.paragraph(&format!(
            "{title}. Code system `{system}`; these of its codes belong to this kind of certificate:"
        ));
        self.lists.write_own_order(&system, &codes, &mut self.text);
        self.lists.write_fixed(&mut self.text);
    }

    fn example(&mut self, kind: &CertificateKind) {
        let body = json::parse(kind.example.as_bytes()).expect("tests read every example");
        self.text.push_str("## A complete example\n\n");
        self.paragraph(&format!(
            "`{}`, part by part, in the order of the file. Below each part: what its elements and codes mean.",
            kind.example_file
        ));
        for ExamplePiece { name, at, text } in pieces(kind.example) {
            let value = body.get(&name).expect("a piece is a member of the example");
            let value = at.map_or(value, |at| &body.items(&name)[at]);
            self.paragraph(&self.explained(&name, at, value));
            let _ = writeln!(self.text, "```json\n{text}\n```\n");
            let root = if at.is_some() { "" } else { name.as_str() };
            let coded = example::coded(value, root);
            let codes = coded.iter().filter_map(|coded| self.lists.in_words(&coded.system, &coded.code, &coded.path));
            let lines = self.elements_explained(&name, at, value, &body).into_iter().chain(codes);
            let lines: String = lines.map(|line| wrapped(&line, "  ") + "\n").collect();
            if !lines.is_empty() {
                let _ = writeln!(self.text, "{lines}");
            }
        }
    }

    /// What a piece of the example is.
    fn explained(&self, name: &str, at: Option<usize>, value: &Json) -> String {
        match (name, at) {
            ("section", Some(at)) => {
                let code = source::code_of(value).unwrap_or_default();
                format!("**`section[{at}]`**, `{code}`: {}", self.section_words(value).meaning)
            }
            (_, Some(at)) => {
                let words = self.contained_words(value);
                format!("**`{name}[{at}]`**, {}: {}", words.slice, words.meaning)
            }
            ("resourceType", None) => format!("**`{name}`**: The type of the resource."),
            ("meta", None) => format!("**`{name}`**: What the certificate says of itself."),
            (_, None) => {
                let row = COMPOSITION.iter().find(|row| row.path == name);
                format!("**`{name}`**: {}", row.expect("the table has every element of the example").meaning)
            }
        }
    }

    /// What the elements inside a piece are; `body` is the whole example.
    fn elements_explained(&self, name: &str, at: Option<usize>, value: &Json, body: &Json) -> Vec<String> {
        match (name, at) {
            ("section", Some(_)) => {
                let SectionWords { slice, elements, .. } = self.section_words(value);
                lines_of(&self.composition, &format!("section:{slice}."), elements.iter(), value)
            }
            (_, Some(_)) => {
                let ContainedWords { slice, elements, .. } = self.contained_words(value);
                let kind = self.slice_type(slice).expect("the kind has the slice");
                let own = self.own_elements(&kind);
                lines_of(&self.contained_source(slice, &kind, &own), "", elements.iter(), value)
            }
            (_, None) => {
                let is_inside = |row: &&ElementWords| row.path.split('.').next() == Some(name) && row.path != name;
                lines_of(&self.composition, "", COMPOSITION.iter().filter(is_inside), body)
            }
        }
    }

    fn section_words(&self, section: &Json) -> &'static SectionWords {
        let code = source::code_of(section).unwrap_or_default();
        let mut sections = sections_of(self.elements);
        let words = sections.find(|words| self.section_code(words.slice) == code);
        words.expect("the example has sections of its profile")
    }

    fn contained_words(&self, resource: &Json) -> &'static ContainedWords {
        let claimed = resource.get("meta").and_then(|meta| meta.items("profile").first()?.as_str());
        let is_it = |words: &&ContainedWords| {
            self.slice_type(words.slice).is_some_and(|kind| kind.profiles.first().map(String::as_str) == claimed)
        };
        CONTAINED.iter().find(is_it).expect("the example has resources of its profile")
    }

    /// A table of elements below a place in the profile.
    fn table(&mut self, source: &ElementSource, below: &str, rows: &[ElementWords]) {
        self.text.push_str(ELEMENTS);
        for ElementWords { path, need: needed, meaning } in rows {
            let at = format!("{below}{path}");
            let (draft, completed) = words_of(*needed, source, &at);
            let name = match below.is_empty() {
                true => source.shown(&at),
                // The heading says which section it is.
                false => source.shown(&at).split(" (").next().unwrap_or_default().to_owned(),
            };
            let value = self.lists.value(source, &at);
            let meaning = if value.is_empty() { (*meaning).to_owned() } else { format!("{meaning} {value}") };
            let _ = writeln!(self.text, "| {name} | {draft} | {completed} | {} | {meaning} |", source.types_shown(&at));
        }
    }

    /// What the table of a resource leaves out.
    fn rest(&mut self, source: &ElementSource, rows: &[ElementWords]) {
        let refused = source.refused();
        self.text.push('\n');
        if !refused.is_empty() {
            let shown = refused.iter().map(|path| match path.contains(':') {
                true => source.shown(path),
                false => format!("`{path}`"),
            });
            let line = format!("- Refused: {}.", shown.collect::<Vec<_>>().join(", "));
            let _ = writeln!(self.text, "{}", wrapped(&line, "  "));
        }
        let others = source::others(source.resource_type(), rows.iter().map(|row| row.path), &refused);
        self.allowed(others.into_iter());
        self.text.push('\n');
    }

    fn allowed(&mut self, names: impl Iterator<Item = String>) {
        let names: Vec<String> = names.collect();
        if names.is_empty() {
            return;
        }
        let line = format!(
            "- Allowed, stored and returned, without a meaning here: {}.",
            listed(names.iter().map(String::as_str))
        );
        let _ = writeln!(self.text, "{}", wrapped(&line, "  "));
    }

    fn entry(&self, slice: &str) -> String {
        let at = format!("section:{slice}.entry");
        let (min, max) = self.composition.count(&at);
        if max == 0 {
            return need(min, max);
        }
        let types = self.composition.types(&at);
        let targets = types.iter().flat_map(|kind| &kind.targets);
        let shown = targets.map(|url| {
            let has =
                |words: &&ContainedWords| self.slice_type(words.slice).is_some_and(|kind| kind.profiles.contains(url));
            match CONTAINED.iter().find(has) {
                Some(ContainedWords { slice, .. }) => format!("[{slice}](#{})", slice.to_lowercase()),
                None => source::end_of(url).to_owned(),
            }
        });
        format!("{}: {}", need(min, max), shown.collect::<Vec<_>>().join(" or "))
    }

    /// The type of a contained slice; nothing where this kind has none.
    fn slice_type(&self, slice: &str) -> Option<StatedType> {
        self.composition.stated_types(&format!("contained:{slice}"))?.into_iter().next()
    }

    fn section_code(&self, slice: &str) -> String {
        let code = self.composition.fixed(&format!("section:{slice}.code"));
        let code = code.and_then(|concept| concept.items("coding").first()?.text("code"));
        code.expect("a section is known by its code").to_owned()
    }

    /// The value set of decisions.
    fn decisions(&self) -> String {
        let binding = self.composition.stated("contained:decision.value[x]", "binding");
        let value_set = binding.and_then(|binding| binding.text("valueSet"));
        value_set.expect("each kind has its decisions").to_owned()
    }

    fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}\n", wrapped(text, ""));
    }
}

/// The sections that a kind has.
fn sections_of(elements: &MergedElements) -> impl Iterator<Item = &'static SectionWords> + Clone {
    SECTIONS.iter().filter(move |words| elements.contains_key(&format!("Composition.section:{}", words.slice)))
}

fn words_of(needed: Option<(&str, &str)>, source: &ElementSource, path: &str) -> (String, String) {
    match needed {
        Some((draft, completed)) => (draft.to_owned(), completed.to_owned()),
        None => {
            let (min, max) = source.count(path);
            (need(min, max), need(min, max))
        }
    }
}

/// A line on each row whose element is in a value. Paths lead from the value on, but for those of sections, which the
/// value is one of.
fn lines_of<'r>(
    source: &ElementSource,
    below: &str,
    rows: impl Iterator<Item = &'r ElementWords>,
    value: &Json,
) -> Vec<String> {
    let line = |row: &ElementWords| {
        let at = format!("{below}{}", row.path);
        let shown = source.shown(&at);
        let (path, slice) = shown.trim_start_matches('`').split_once('`')?;
        let (path, slice) = match path.strip_prefix("section.") {
            Some(path) if !below.is_empty() => (path, ""),
            _ => (path, slice),
        };
        // Of a list in slices only the items of this one count.
        let of_slice = row.path.split('.').find(|step| step.starts_with("component:"));
        let code =
            of_slice.and_then(|step| source.fixed(&format!("{step}.code"))?.items("coding").first()?.text("code"));
        example::has(value, path, code).then(|| format!("- `{path}`{slice}: {}", row.meaning))
    };
    rows.filter_map(line).collect()
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are written by hand, so a new element of a profile must not be forgotten.
    #[test]
    fn every_element_of_the_profiles_has_words_or_is_refused() {
        let names = Names::default();
        let profiles = ProfileSource::new(&names);
        for profile in Profile::ALL {
            let url = format!("{}/StructureDefinition/{}", names.profile_base, profile.name());
            let elements = profiles.elements(&url);
            for (id, members) in &elements {
                let path = id.strip_prefix("Composition").unwrap().trim_start_matches('.');
                let is_refused = members.get("max").and_then(Json::as_str) == Some("0");
                assert!(is_refused || path.is_empty() || has_words(path), "{id} has no words");
            }
            for words in CONTAINED {
                let slice = elements.get(&format!("Composition.contained:{}", words.slice));
                let own = slice.and_then(|slice| slice["type"].as_array()?.first()?.items("profile").first()?.as_str());
                for (id, members) in own.map(|url| profiles.elements(url)).unwrap_or_default() {
                    let path = id.strip_prefix("Observation").unwrap().trim_start_matches('.');
                    let is_refused = members.get("max").and_then(Json::as_str) == Some("0");
                    // A choice whose types have a row each.
                    let has = |row: &ElementWords| row.path == path || row.path.starts_with(&format!("{path}:"));
                    let is_told = path.is_empty() || is_refused || words.elements.iter().any(has);
                    assert!(is_told, "{id} of {} has no words", words.slice);
                }
            }
        }
    }

    fn has_words(path: &str) -> bool {
        if let Some(inside) = path.strip_prefix("section:") {
            let (slice, element) = inside.split_once('.').unwrap_or((inside, ""));
            let words = SECTIONS.iter().find(|words| words.slice == slice);
            // These have a column.
            let has_column = ["", "code", "text", "text.status", "entry"].contains(&element);
            return words.is_some_and(|words| has_column || words.elements.iter().any(|row| row.path == element));
        }
        if let Some(inside) = path.strip_prefix("contained:") {
            let (slice, element) = inside.split_once('.').unwrap_or((inside, ""));
            let words = CONTAINED.iter().find(|words| words.slice == slice);
            return words
                .is_some_and(|words| element.is_empty() || words.elements.iter().any(|row| row.path == element));
        }
        COMPOSITION.iter().any(|row| row.path == path)
    }

    #[test]
    fn lines_are_broken_between_words() {
        let text = ["õ".repeat(60), "b".repeat(59), "c".to_owned(), "d".repeat(130), "e".to_owned()].join(" ");
        let lines = wrapped(&text, "  ");
        let lengths: Vec<usize> = lines.lines().map(|line| line.chars().count()).collect();
        assert_eq!(lengths, [120, 3, 132, 3]);
    }
}
