//! From a Composition to its row: what searches and rights will ask of it.

use std::sync::Arc;

use super::class::{Class, ClassCoding};
use super::parameter::Field;
use super::reading::{BodyIssues, ElementPath};
use super::reference::comparable;
use super::row::Row;
use super::section_code_text;
use super::term::{Term, TermForm};
use crate::section;
use crate::{Consent, Names, Profile, State, Status};
use fhir::date_time::{self, Span, TimeError};
use fhir::json::{Json, Object};
use fhir::limits::CODING_CHARACTERS_MAX;
use fhir::narrative;
use fhir::outcome::{Hcert, Issue};

/// Characters of `Composition.title`. Ten times the longest name of an examination; every search by title compares it, every sort
/// keeps it at hand.
const TITLE_CHARACTERS_MAX: usize = 1_000;

/// Codings of one concept that searches look at: category, type, the code of a section. A concept has one to three.
const CODINGS_MAX: usize = 8;

/// Reads the row of one version. `last_updated` is `meta.lastUpdated` in milliseconds since 1970 UTC.
///
/// # Errors
/// All problems that leave the row undecided, each with its element: a profile that is not exactly one of ours, a status that
/// no certificate has, an element that may stand once in a certificate and stands twice, a time that is none, a wrong JSON
/// type. Everything else is left to validation.
///
/// Source: specification 2 and 4.6; Contract 4.2 to 4.5, 8.1.
pub fn extract(composition: &Object, last_updated: i64, names: &Names) -> Result<Row, Vec<Issue>> {
    let place = ElementPath::root("Composition");
    let mut found = Extraction { names, reading: BodyIssues::default(), terms: Vec::new(), advice: Vec::new() };
    let profile = found.profile(composition, &place);
    let state = found.state(composition, &place);
    let category = found.category(composition, &place);
    let kind = found.kind(composition, &place);
    let title = found.title(composition, &place);
    let date = found.reading.text(composition, "date", &place).and_then(|text| found.time(text, &place.member("date")));
    let period = found.period(composition, &place);
    found.identifier(composition, &place);
    found.subject(composition, &place);
    found.author(composition, &place);
    found.sections(composition, &place, false);
    let Extraction { reading: BodyIssues { issues }, mut terms, advice, .. } = found;
    match (profile, state) {
        (Some(profile), Some(state)) if issues.is_empty() => {
            mark_advice(&mut terms, advice);
            terms.sort_unstable();
            terms.dedup();
            let class = Arc::new(Class { state, profile, consent: Consent::default(), category, kind });
            Ok(Row { class, last_updated, date, period, title, terms })
        }
        _ => Err(issues),
    }
}

/// Adds the reference of the subject to a row that was extracted before the service had set it.
pub fn add_subject(row: &mut Row, reference: &str, names: &Names) {
    let term = Term::new(Field::Subject, TermForm::Code, comparable(reference, &names.base_url));
    if let Err(place) = row.terms.binary_search(&term) {
        row.terms.insert(place, term);
    }
}

/// The problem of a row with more than `max` terms. Not part of [`extract`], since the service itself writes sections with terms.
pub fn check_terms(row: &Row, max: usize) -> Option<Issue> {
    (row.terms.len() > max).then(|| too_many(&ElementPath::root("Composition"), max).at("Composition"))
}

/// What was found so far. Every `None` of a required value goes with an issue.
struct Extraction<'n> {
    names: &'n Names,
    reading: BodyIssues,
    terms: Vec<Term>,
    /// Those of the advice to the employee, which is not for everybody.
    advice: Vec<Term>,
}

impl Extraction<'_> {
    fn profile(&mut self, composition: &Object, place: &ElementPath) -> Option<Profile> {
        let meta_place = place.member("meta");
        let meta = composition.get("meta").and_then(|meta| self.reading.object(meta, &meta_place));
        let profiles = meta.map_or(&[][..], |meta| self.reading.list(meta, "profile", &meta_place));
        let found = match profiles {
            [Json::String(address)] => self.names.profile_of(address),
            _ => None,
        };
        if found.is_none() {
            let supported = self.names.supported_profiles();
            let place = meta_place.member("profile");
            self.reading.tell(&place, || Issue::new(Hcert::ProfileWrong).with("supported", supported));
        }
        found
    }

    fn state(&mut self, composition: &Object, place: &ElementPath) -> Option<State> {
        let place_here = place.member("status");
        let Some(code) = composition.get("status") else {
            let missing = || Issue::new(Hcert::ElementMissing).with("element", place_here.to_string());
            self.reading.tell(&place_here, missing);
            return None;
        };
        let code = self.reading.string(code, &place_here)?;
        let status = Status::parse(code);
        if status.is_none() {
            self.reading.tell(&place_here, || Issue::new(Hcert::StatusUnknown).with("status", code.to_owned()));
        }
        status.map(Status::state)
    }

    fn category(&mut self, composition: &Object, place: &ElementPath) -> Vec<ClassCoding> {
        let concept = self.reading.once(composition, "category", place);
        let place = place.item("category", 0);
        concept.map_or(Vec::new(), |concept| self.codings(concept, &place))
    }

    fn kind(&mut self, composition: &Object, place: &ElementPath) -> Vec<ClassCoding> {
        let concept = composition.get("type").and_then(|concept| self.reading.object(concept, &place.member("type")));
        concept.map_or(Vec::new(), |concept| self.codings(concept, &place.member("type")))
    }

    fn title(&mut self, composition: &Object, place: &ElementPath) -> Option<Box<str>> {
        let title = self.reading.text(composition, "title", place)?;
        self.is_within(title, TITLE_CHARACTERS_MAX, &place.member("title")).then(|| title.into())
    }

    /// Whether a text is short enough; an issue when it is not.
    fn is_within(&mut self, text: &str, max: usize, place: &ElementPath) -> bool {
        let within = text.len() <= max || text.chars().count() <= max;
        if !within {
            self.reading.tell(place, || Issue::new(Hcert::TextTooLong).with("max", max.to_string()));
        }
        within
    }

    /// Validity. An end that is not given is open; a period that starts after its end, or has neither, covers no day.
    fn period(&mut self, composition: &Object, place: &ElementPath) -> Option<Span> {
        let event = self.reading.once(composition, "event", place)?;
        let place = place.item("event", 0);
        let place = place.member("period");
        let period = self.reading.object(event.get("period")?, &place)?;
        let mut end =
            |name| self.reading.text(period, name, &place).and_then(|text| self.time(text, &place.member(name)));
        let (start, end) = (end("start"), end("end"));
        let span = Span { low: start.map_or(i64::MIN, |span| span.low), high: end.map_or(i64::MAX, |span| span.high) };
        (span.low <= span.high && (start.is_some() || end.is_some())).then_some(span)
    }

    fn identifier(&mut self, composition: &Object, place: &ElementPath) {
        if let Some(identifier) = self.reading.once(composition, "identifier", place) {
            self.token(Field::Identifier, identifier, &place.item("identifier", 0));
        }
    }

    fn subject(&mut self, composition: &Object, place: &ElementPath) {
        if let Some(subject) = self.reading.once(composition, "subject", place) {
            self.reference(Field::Subject, Some(Field::SubjectIdentifier), subject, &place.item("subject", 0));
        }
    }

    /// Person and institution stand in the PractitionerRole that the author points to. Contract 4.5.
    fn author(&mut self, composition: &Object, place: &ElementPath) {
        let Some(author) = self.reading.once(composition, "author", place) else { return };
        let author = self.reading.text(author, "reference", &place.item("author", 0));
        let contained = self.reading.list(composition, "contained", place);
        let Some(id) = author.and_then(|reference| reference.strip_prefix('#')) else { return };
        let role = contained.iter().enumerate().find(|(_, resource)| {
            resource.text("id") == Some(id) && resource.text("resourceType") == Some("PractitionerRole")
        });
        let Some((at, Json::Object(role))) = role else { return };
        let place = place.item("contained", at);
        for (name, field) in [("practitioner", Field::AuthorPractitioner), ("organization", Field::AuthorOrganization)]
        {
            let place = place.member(name);
            if let Some(reference) = role.get(name).and_then(|reference| self.reading.object(reference, &place)) {
                self.reference(field, None, reference, &place);
            }
        }
    }

    /// Sections at any depth; the JSON reader has bounded it. `advice`: they stand in a section of advice to the employee.
    fn sections(&mut self, parent: &Object, place: &ElementPath, advice: bool) {
        for (at, section) in self.reading.list(parent, "section", place).iter().enumerate() {
            let place = place.item("section", at);
            let Some(section) = self.reading.object(section, &place) else { continue };
            let own = section.get("code").map_or(&[][..], |concept| concept.items("coding"));
            let is_advice = advice || own.iter().any(|coding| coding.text("code").is_some_and(section::is_advice));
            let before = self.terms.len();
            self.section_text(section, &place);
            // Whoever asks for the text of the advice under this code alone says so, and it needs no mark.
            let before = if is_advice && own.len() == 1 && !advice { self.terms.len() } else { before };
            for (at, entry) in self.reading.list(section, "entry", &place).iter().enumerate() {
                let place = place.item("entry", at);
                if let Some(entry) = self.reading.object(entry, &place) {
                    self.reference(Field::Entry, Some(Field::EntryIdentifier), entry, &place);
                }
            }
            if is_advice {
                let terms = self.terms.split_off(before);
                self.advice.extend(terms);
            }
            self.sections(section, &place, is_advice);
        }
    }

    fn section_text(&mut self, section: &Object, place: &ElementPath) {
        let code_place = place.member("code");
        let code = section.get("code").and_then(|code| self.reading.object(code, &code_place));
        let codings = code.map_or(Vec::new(), |code| self.codings(code, &code_place));
        let text_place = place.member("text");
        let text = section.get("text").and_then(|text| self.reading.object(text, &text_place));
        let div = text.and_then(|text| self.reading.text(text, "div", &text_place));
        let mut codes = codings.iter().filter_map(|coding| Some((coding, coding.code.as_deref()?))).peekable();
        // Markup is read only where a code makes it something to search for.
        let Some(text) = div.filter(|_| codes.peek().is_some()).and_then(narrative::plain_text) else { return };
        for (coding, code) in codes {
            self.terms.extend(section_code_text::terms(coding.system.as_deref(), code, &text));
        }
    }

    /// Terms of a reference. What is contained is found through its own fields, not by its local name.
    fn reference(&mut self, field: Field, identifier: Option<Field>, value: &Object, place: &ElementPath) {
        self.terms.push(Term::new(field, TermForm::Present, ""));
        let reference = self.reading.text(value, "reference", place).filter(|reference| !reference.starts_with('#'));
        if let Some(reference) = reference {
            self.terms.push(Term::new(field, TermForm::Code, comparable(reference, &self.names.base_url)));
        }
        if let (Some(field), Some(value)) = (identifier, value.get("identifier")) {
            let place = place.member("identifier");
            if let Some(value) = self.reading.object(value, &place) {
                self.token(field, value, &place);
            }
        }
    }

    fn token(&mut self, field: Field, identifier: &Object, place: &ElementPath) {
        let system = self.reading.text(identifier, "system", place);
        let value = self.reading.text(identifier, "value", place);
        self.terms.extend(Term::token(field, system, value));
    }

    /// Codings with a system or a code; one with only a display cannot be asked for.
    fn codings(&mut self, concept: &Object, place: &ElementPath) -> Vec<ClassCoding> {
        let mut codings = Vec::new();
        let list = self.reading.list(concept, "coding", place);
        if list.len() > CODINGS_MAX {
            let place = place.member("coding");
            self.reading.tell(&place, || too_many(&place, CODINGS_MAX));
            return codings;
        }
        for (at, coding) in list.iter().enumerate() {
            let place = place.item("coding", at);
            let Some(coding) = self.reading.object(coding, &place) else { continue };
            let mut part = |name| {
                let text = self.reading.text(coding, name, &place)?;
                self.is_within(text, CODING_CHARACTERS_MAX, &place.member(name)).then(|| text.into())
            };
            let (system, code) = (part("system"), part("code"));
            if system.is_some() || code.is_some() {
                codings.push(ClassCoding { system, code });
            }
        }
        codings
    }

    fn time(&mut self, text: &str, place: &ElementPath) -> Option<Span> {
        let issue = match date_time::span(text) {
            Ok(span) => return Some(span),
            Err(TimeError::Malformed) => Issue::new(Hcert::FormatWrong).with("type", "dateTime"),
            Err(TimeError::NotInLocalTime) => Issue::new(Hcert::LocalTimeMissing),
        };
        self.reading.tell(place, || issue.with("value", text.to_owned()));
        None
    }
}

/// Adds the terms of the advice, and beside each that stands nowhere else in the certificate one that says so.
fn mark_advice(terms: &mut Vec<Term>, advice: Vec<Term>) {
    let hidden = advice.iter().filter(|term| !terms.contains(term)).filter_map(Term::hidden);
    let hidden: Vec<Term> = hidden.collect();
    terms.extend(advice);
    terms.extend(hidden);
}

fn too_many(place: &ElementPath, max: usize) -> Issue {
    Issue::new(Hcert::TooMany).with("element", place.to_string()).with("max", max.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    const SECTIONS: &str = "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon";

    fn full() -> String {
        format!(
            r##"{{
            "resourceType":"Composition",
            "meta":{{"profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0"]}},
            "contained":[
                {{"resourceType":"Observation","id":"role"}},
                {{"resourceType":"PractitionerRole","id":"role",
                  "practitioner":{{"reference":"Practitioner/36109255737"}},
                  "organization":{{"reference":"Organization/90006399/_history/2"}}}}],
            "identifier":[{{"system":"https://fhir.ee/hcert/health-certificate-number","value":"T-1"}}],
            "status":"final",
            "type":{{"coding":[{{"system":"http://snomed.info/sct","code":"772786005"}},{{"display":"only"}}]}},
            "category":[{{"coding":[{{"system":"https://fhir.ee/CodeSystem/labivaatuse-tyyp","code":"driver-group-I"}}]}}],
            "subject":[{{"reference":"http://127.0.0.1:8080/fhir/Patient/200/_history/3","identifier":{{"system":"est/ni","value":"1"}}}}],
            "date":"2025-01-12T10:00:00+02:00",
            "author":[{{"reference":"#role"}}],
            "title":"Mootorsõidukijuhi tervisetõend",
            "event":[{{"period":{{"start":"2025-01-12","end":"2030-01-11"}}}}],
            "section":[
                {{"code":{{"coding":[{{"system":"{SECTIONS}","code":"decision"}}]}},"entry":[{{"reference":"#obs"}}]}},
                {{"title":"outer","section":[
                    {{"code":{{"coding":[{{"system":"{SECTIONS}","code":"employer"}},{{"code":"own"}}]}},
                      "text":{{"status":"additional","div":"<div> <b>1697</b>8044\n</div>"}},
                      "entry":[{{"reference":"QuestionnaireResponse/300/_history/1"}},
                               {{"identifier":{{"system":"doc","value":"D-1"}}}}]}}]}}]
        }}"##
        )
    }

    fn read(text: &str) -> Result<Row, Vec<Issue>> {
        let json = json::parse(text.as_bytes()).unwrap();
        extract(json.as_object().unwrap(), 42, &Names::default())
    }

    fn refused(from: &str, to: &str) -> Vec<(Hcert, String)> {
        let text = full();
        assert!(text.contains(from), "{from}");
        let issues = read(&text.replacen(from, to, 1)).expect_err(to);
        issues.iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect()
    }

    #[test]
    fn every_field_is_found() {
        let row = read(&full()).unwrap();
        assert_eq!((row.class.state, row.class.profile), (State::Completed, Profile::Driver));
        let coding = |system: &str, code: &str| ClassCoding { system: Some(system.into()), code: Some(code.into()) };
        assert_eq!(row.class.category, [coding("https://fhir.ee/CodeSystem/labivaatuse-tyyp", "driver-group-I")]);
        assert_eq!(row.class.kind, [coding("http://snomed.info/sct", "772786005")]);
        assert_eq!(row.last_updated, 42);
        assert_eq!(row.date, date_time::span("2025-01-12T10:00:00+02:00").ok());
        let (start, end) = (date_time::span("2025-01-12").unwrap(), date_time::span("2030-01-11").unwrap());
        assert_eq!(row.period, Some(Span { low: start.low, high: end.high }));
        assert_eq!(row.title.as_deref(), Some("Mootorsõidukijuhi tervisetõend"));
        for (field, form, value) in [
            (Field::Subject, TermForm::Code, "Patient/200"),
            (Field::Subject, TermForm::Present, ""),
            (Field::SubjectIdentifier, TermForm::SystemCode, "est/ni|1"),
            (Field::AuthorPractitioner, TermForm::Code, "Practitioner/36109255737"),
            (Field::AuthorPractitioner, TermForm::Present, ""),
            (Field::AuthorOrganization, TermForm::Code, "Organization/90006399"),
            (Field::Identifier, TermForm::Code, "T-1"),
            (Field::Identifier, TermForm::SystemCode, "https://fhir.ee/hcert/health-certificate-number|T-1"),
            (Field::Identifier, TermForm::System, "https://fhir.ee/hcert/health-certificate-number"),
            (Field::Identifier, TermForm::Present, ""),
            (Field::Entry, TermForm::Code, "QuestionnaireResponse/300"),
            (Field::Entry, TermForm::Present, ""),
            (Field::EntryIdentifier, TermForm::SystemCode, "doc|D-1"),
        ] {
            assert!(row.has(&Term::new(field, form, value)), "{field:?} {form:?} {value}");
        }
        for term in section_code_text::terms(Some(SECTIONS), "employer", "16978044")
            .into_iter()
            .chain(section_code_text::terms(None, "own", "16978044"))
        {
            assert!(row.has(&term));
        }
        assert!(!row.has(&Term::new(Field::Entry, TermForm::Code, "#obs")));
        assert!(row.terms.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn the_profile_must_be_exactly_one_of_ours() {
        let ours = r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0""#;
        let wrong = [(Hcert::ProfileWrong, "Composition.meta.profile".to_owned())];
        for profiles in [
            r#""https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer""#.to_owned(),
            format!("{ours},{ours}"),
            format!(r#"{ours},"https://other.ee/x""#),
            "1".to_owned(),
        ] {
            assert_eq!(refused(ours, &profiles), wrong, "{profiles}");
        }
        assert_eq!(refused(&format!(r#""profile":[{ours}]"#), r#""versionId":"1""#), wrong);
    }

    #[test]
    fn a_status_no_certificate_has_is_refused() {
        let at = |code| [(code, "Composition.status".to_owned())];
        assert_eq!(refused(r#""status":"final""#, r#""status":"amended""#), at(Hcert::StatusUnknown));
        assert_eq!(refused(r#""status":"final""#, r#""x":"final""#), at(Hcert::ElementMissing));
        assert_eq!(refused(r#""status":"final""#, r#""status":1"#), at(Hcert::ElementTypeWrong));
    }

    #[test]
    fn what_may_stand_once_is_refused_twice() {
        for (element, item) in [
            ("subject", r#"{"reference":"Patient/1"}"#),
            ("category", r#"{"text":"x"}"#),
            ("author", r##"{"reference":"#x"}"##),
            ("event", r#"{"id":"x"}"#),
            ("identifier", r#"{"value":"x"}"#),
        ] {
            let found = refused(&format!(r#""{element}":["#), &format!(r#""{element}":[{item},"#));
            assert_eq!(found, [(Hcert::ElementRepeated, format!("Composition.{element}"))]);
        }
        let twice = r#""title":["a","b"],"x":"#;
        assert_eq!(refused(r#""title":"#, twice), [(Hcert::ElementRepeated, "Composition.title".to_owned())]);
    }

    #[test]
    fn times_that_are_none_are_named_with_their_place() {
        assert_eq!(
            refused("2025-01-12T10:00:00+02:00", "2025-13-12"),
            [(Hcert::FormatWrong, "Composition.date".to_owned())]
        );
        assert_eq!(
            refused("2025-01-12T10:00:00+02:00", "2025-03-30T03:30:00"),
            [(Hcert::LocalTimeMissing, "Composition.date".to_owned())]
        );
        assert_eq!(
            refused(r#""end":"2030-01-11""#, r#""end":"soon""#),
            [(Hcert::FormatWrong, "Composition.event[0].period.end".to_owned())]
        );
    }

    #[test]
    fn wrong_types_are_told_all_together_and_never_a_panic() {
        let text = r#"{"meta":1,"status":[],"identifier":1,"contained":{"a":1},"type":"x","category":[1],
            "subject":[{"reference":1,"identifier":"x"}],"date":1,"author":[{"reference":{"a":1}}],"title":true,
            "event":[{"period":[1]}],"section":[1,{"code":1,"text":[1],"entry":[1],"section":"x"},{"text":{"div":1}}]}"#;
        let text = text.replace(r#""status":[]"#, r#""status":[1]"#);
        let issues = read(&text).unwrap_err();
        let expressions: Vec<&str> =
            issues.iter().filter(|i| i.code() == Hcert::ElementTypeWrong).map(|i| i.expression()[0].as_str()).collect();
        for expression in [
            "Composition.meta",
            "Composition.status",
            "Composition.identifier",
            "Composition.contained",
            "Composition.type",
            "Composition.category[0]",
            "Composition.subject[0].reference",
            "Composition.subject[0].identifier",
            "Composition.date",
            "Composition.author[0].reference",
            "Composition.title",
            "Composition.event[0].period",
            "Composition.section[0]",
            "Composition.section[1].code",
            "Composition.section[1].text",
            "Composition.section[1].entry[0]",
            "Composition.section[1].section",
            "Composition.section[2].text.div",
        ] {
            assert!(expressions.contains(&expression), "{expression} in {expressions:?}");
        }
    }

    /// What was seen: a section with 80 000 codings and a text of a megabyte took minutes, as each coding is searched for with the
    /// whole text; 100 000 entries held up every other write. Both are refused now, and one less is taken.
    #[test]
    fn what_can_be_searched_for_is_bounded() {
        let codings = |count: usize| (0..count).map(|at| format!(r#"{{"code":"{at}"}}"#)).collect::<Vec<_>>().join(",");
        let entries =
            |count: usize| (0..count).map(|at| format!(r#"{{"reference":"A/{at}"}}"#)).collect::<Vec<_>>().join(",");
        let with = |inner: &str| {
            read(&format!(
                r#"{{"meta":{{"profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver"]}},
                "status":"final",{inner}}}"#
            ))
            .map_err(|issues| {
                issues.iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect::<Vec<_>>()
            })
        };
        let text = |max: usize| format!(r#""title":"{}""#, "õ".repeat(max));
        let code = |max: usize| format!(r#""type":{{"coding":[{{"code":"{}"}}]}}"#, "õ".repeat(max));
        let category = |count| format!(r#""category":[{{"coding":[{}]}}]"#, codings(count));
        let section = |count| format!(r#""section":[{{"section":[{{"code":{{"coding":[{}]}}}}]}}]"#, codings(count));
        for (right, wrong, code, place) in [
            (text(TITLE_CHARACTERS_MAX), text(TITLE_CHARACTERS_MAX + 1), Hcert::TextTooLong, "Composition.title"),
            (
                code(CODING_CHARACTERS_MAX),
                code(CODING_CHARACTERS_MAX + 1),
                Hcert::TextTooLong,
                "Composition.type.coding[0].code",
            ),
            (category(CODINGS_MAX), category(CODINGS_MAX + 1), Hcert::TooMany, "Composition.category[0].coding"),
            (
                section(CODINGS_MAX),
                section(CODINGS_MAX + 1),
                Hcert::TooMany,
                "Composition.section[0].section[0].code.coding",
            ),
        ] {
            assert!(with(&right).is_ok(), "{place}");
            assert_eq!(with(&wrong).unwrap_err(), [(code, place.to_owned())]);
        }
        // One term says that there is an entry at all.
        let row = with(&format!(r#""section":[{{"entry":[{}]}}]"#, entries(9))).unwrap();
        assert_eq!(check_terms(&row, 10), None);
        assert_eq!(check_terms(&row, 9).map(|issue| issue.code()), Some(Hcert::TooMany));
    }

    #[test]
    fn open_and_impossible_periods_stay_sane() {
        let with =
            |period: &str| read(&full().replace(r#"{"start":"2025-01-12","end":"2030-01-11"}"#, period)).unwrap();
        let day = date_time::span("2025-01-12").unwrap();
        assert_eq!(with(r#"{"start":"2025-01-12"}"#).period, Some(Span { low: day.low, high: i64::MAX }));
        assert_eq!(with(r#"{"end":"2025-01-12"}"#).period, Some(Span { low: i64::MIN, high: day.high }));
        assert_eq!(with(r#"{"start":"2025-01-13","end":"2025-01-12"}"#).period, None);
        assert_eq!(with(r#"{"id":"x"}"#).period, None);
    }

    #[test]
    fn what_is_missing_leaves_no_term() {
        let bare = r##"{"meta":{"profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational"]},
            "status":"preliminary","author":[{"reference":"#gone"}]}"##;
        let row = read(bare).unwrap();
        assert_eq!((row.class.state, row.class.profile), (State::Draft, Profile::Occupational));
        assert_eq!((row.terms, row.title, row.date, row.period), (vec![], None, None, None));
    }
}
