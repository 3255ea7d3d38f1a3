//! From a body to a certificate that can be written: read, checked, normalised. Everything wrong with it is told at once.

use std::borrow::Cow;

use super::rulebook::CertificateRules;
use super::subject::{self, Resolved};
use certificate::search::extract::{add_subject, check_terms, extract};
use certificate::search::row::Row;
use certificate::transition::{Need, Trigger, decide};
use certificate::validation::ProfileRules;
use certificate::{Id, Names, State, Status, head, narrative, section, usable};
use fhir::json::{self, Json, JsonSource, Object};
use fhir::narrative::{NarrativeProblem, plain_text};
use fhir::outcome::{Hcert, Issue, Outcome, Problems};
use fhir::shape;

/// Terms of one certificate: references, identifiers and section texts to be found by. One of the largest kind has about 60; 5 000
/// take half a megabyte until they are indexed.
const ROW_TERMS_MAX: usize = 5_000;

/// Terms of the sections that the service writes itself, the reasons of a suspension and a cancellation: two each.
const REASON_TERMS: usize = 4;

/// A certificate as a client sent it, ready for the engine.
#[derive(Debug)]
pub struct PreparedCertificate {
    /// Bytes behind the head.
    pub tail: Vec<u8>,
    pub row: Row,
    pub brings: Need,
}

/// A certificate whose own content was checked. The registry is still to be asked about its patient.
#[derive(Debug)]
pub struct CheckedCertificate<'s> {
    source: Option<JsonSource<'s>>,
    row: Row,
    brings: Need,
    /// Its narrative is to be generated.
    is_narrated: bool,
    /// What is worth a warning.
    pub warnings: Vec<Issue>,
}

impl CheckedCertificate<'_> {
    /// The certificate, its subject as it was sent.
    pub fn certificate(self, json: &mut Json, rules: &CertificateRules) -> PreparedCertificate {
        let Json::Object(object) = json else { unreachable!("only an object is found to be right") };
        if self.is_narrated {
            narrative::set(object, rules.names, &*rules.terminology);
        }
        PreparedCertificate { tail: tail(object, self.source, Some("subject")), row: self.row, brings: self.brings }
    }

    /// The certificate about the patient that was found. `json` is what was found to be right.
    ///
    /// # Errors
    /// 422 when it has as many terms as may be, and the reference that the service adds is one too many.
    pub fn about(
        mut self,
        json: &mut Json,
        resolved: &Resolved,
        rules: &CertificateRules,
    ) -> Result<PreparedCertificate, Outcome> {
        let Json::Object(object) = &mut *json else { unreachable!("only an object is found to be right") };
        if subject::set_reference(object, &resolved.reference) {
            add_subject(&mut self.row, &resolved.reference, rules.names);
            debug_assert_eq!(Ok(&self.row), extract(object, 0, rules.names).as_ref(), "as if extracted with it");
            if let Some(issue) = check_terms(&self.row, ROW_TERMS_MAX) {
                return Err(issue.into());
            }
        }
        Ok(self.certificate(json, rules))
    }
}

/// What an update stands on.
#[derive(Default)]
pub struct UpdateBase<'s> {
    /// The id of the path.
    pub id: Option<Id>,
    /// What the stored version is.
    pub state: Option<State>,
    /// The stored version, as it is served.
    pub resource: &'s [u8],
    /// Its sections that only the service writes; those of the body are dropped (Contract 3.5).
    pub kept: Vec<Json<'static>>,
}

/// Reads a certificate without a history, as an import brings it: as the body of a create.
pub fn new_certificate(
    mut json: Json,
    source: Option<JsonSource>,
    rules: &CertificateRules,
) -> Result<PreparedCertificate, Outcome> {
    let base_url = &rules.names.base_url;
    let checked = check_certificate(&mut json, source, Problems::default(), UpdateBase::default(), rules, base_url)?;
    Ok(checked.certificate(&mut json, rules))
}

/// Checks the body of a create or update, and brings it to the form in which it is kept.
///
/// `source` is the text of `json` where it is as we would write it; `problems` are those known already, to be told with all others. On
/// update the body may leave its own id out, but not name another than `before` (Contract 2.6). `base_url` is this server's address as
/// the caller sees it.
///
/// # Errors
/// 400 for what cannot be read, 422 for rules that are broken; both in one outcome.
pub fn check_certificate<'j, 's>(
    json: &mut Json<'j>,
    mut source: Option<JsonSource<'s>>,
    mut problems: Problems,
    before: UpdateBase<'j>,
    rules: &CertificateRules,
    base_url: &str,
) -> Result<CheckedCertificate<'s>, Outcome> {
    let names = rules.names;
    let UpdateBase { id, state, resource, kept } = before;
    let took_any = match &mut *json {
        Json::Object(object) => {
            let took_sections = section::drop_service_sections(object, names);
            take_state(object) || took_sections
        }
        _ => false,
    };
    let shape = shape::check(json, "Composition");
    problems.take_further(shape.problems);
    // The rules of certificates say nothing about another resource.
    let is_other = |issue: &Issue| issue.code() == Hcert::ResourceTypeWrong && issue.expression() == ["Composition"];
    let is_other = || problems.issues().iter().any(is_other);
    // Decision 182.
    if !matches!(json, Json::Object(_)) || problems.is_full() || is_other() {
        return Err(problems.into_issues().into());
    }
    let mut made_relative = false;
    if let Json::Object(object) = &mut *json {
        object.0.iter_mut().for_each(|(_, value)| made_relative |= make_relative(value, [base_url, &names.base_url]));
    }
    let profile = profile_of(json, rules);
    let further = match &*json {
        Json::Object(object) => check_id(object, id).into_iter().chain(check_status(object, id)).collect(),
        _ => Vec::new(),
    };
    problems.take_further(Problems::from(further));
    problems.take_further(rules.validator.check(json, profile, &rules.terminology).problems);
    let unknowable = json.as_object().and_then(subject::check);
    problems.take_further(Problems::from(Vec::from_iter(unknowable)));

    let Json::Object(object) = json else { return Err(problems.into_issues().into()) };
    problems.take_further(Problems::from(usable::check(object, names, rules.final_must_be_usable)));
    let is_narrated = is_narrated(object, resource);
    source = source.filter(|_| !took_any && !shape.rewrote && !made_relative && !is_narrated && kept.is_empty());
    if !kept.is_empty() {
        match object.get_mut("section") {
            Some(Json::Array(list)) => list.extend(kept),
            Some(_) => {}
            None => object.set("section", Json::Array(kept)),
        }
    }
    let row = match extract(object, 0, names) {
        Ok(row) => {
            problems.take_further(Problems::from(Vec::from_iter(check_terms(&row, ROW_TERMS_MAX))));
            Some(row)
        }
        Err(broken) => {
            problems.take_further(Problems::from(broken));
            None
        }
    };
    let has_errors = problems.has_errors();
    let mut issues = problems.into_issues();
    let Some(row) = row.filter(|_| !has_errors) else {
        issues.extend(reason_missing(object, state, names));
        return Err(issues.into());
    };
    let brings = match row.class.state.status() {
        Status::Preliminary => Need::Preliminary,
        _ if section::has_change_reason(object, names) => Need::ChangeReason,
        _ => Need::Final,
    };
    Ok(CheckedCertificate { source, row, brings, is_narrated, warnings: issues })
}

/// What is wrong with the content of a resource, whatever could be done with it; `profile` takes the place of the one it names.
pub(super) fn content_problems(
    json: &mut Json,
    mut problems: Problems,
    profile: Option<&ProfileRules>,
    rules: &CertificateRules,
) -> Vec<Issue> {
    problems.take_further(shape::check(json, "Composition").problems);
    if problems.is_full() {
        return problems.into_issues();
    }
    let profile = profile.or_else(|| profile_of(json, rules));
    problems.take_further(rules.validator.check(json, profile, &rules.terminology).problems);
    let unusable = json.as_object().map(|object| usable::check(object, rules.names, rules.final_must_be_usable));
    problems.take_further(Problems::from(unusable.unwrap_or_default()));
    problems.into_issues()
}

/// The profile a certificate is held against: the one it names, else what all have in common. That it names none, or several, is told
/// with its row. Contract 8.1.
fn profile_of<'r>(json: &Json, rules: &CertificateRules<'r>) -> Option<&'r ProfileRules> {
    let CertificateRules { names, validator, .. } = *rules;
    let named = json.get("meta").map_or(&[][..], |meta| meta.items("profile"));
    let known = match named {
        [Json::String(address)] => names.profile_of(address).and_then(|_| validator.profile_of_any_version(address)),
        _ => None,
    };
    known.or_else(|| validator.profile(&format!("{}/StructureDefinition/ee-health-certificate", names.profile_base)))
}

/// Removes from the narrative the part that only operations write, as [`section::take_service_sections`] does with the
/// sections. Returns whether there was any. Decision 146.
fn take_state(certificate: &mut Object) -> bool {
    let div = certificate.get("text").and_then(|text| text.text("div"));
    // One that the service generated is generated anew as a whole.
    let own = div.filter(|div| !narrative::is_generated(div));
    let Some(rest) = own.and_then(narrative::without_state) else { return false };
    if rest.is_empty() || plain_text(&rest).is_some_and(|text| text.is_empty()) {
        certificate.remove("text");
    } else if let Some(Json::Object(text)) = certificate.get_mut("text") {
        text.set("div", Json::string(rest));
    }
    true
}

/// Whether the service generates the narrative: it is missing, or the service generated it and it is unchanged.
/// `before` is the stored version. Contract 8.5; Decision 144.
fn is_narrated(certificate: &Object, before: &[u8]) -> bool {
    let Some(text) = certificate.get("text") else { return true };
    let Some(div) = text.text("div") else { return false };
    let is_stored = || {
        let Json::Object(stored) = json::parse_stored(before) else { return false };
        stored.get("text").and_then(|text| text.text("div")) == Some(div)
    };
    narrative::is_generated(div) || narrative::is_generated_without_digest(div) && !before.is_empty() && is_stored()
}

/// Contract 1.2, 4.5: a reference under this server's own address, as the caller or the setting says it, is stored as a relative one,
/// so that it means the same under every address the server will ever have. True when there was one.
fn make_relative(value: &mut Json, base_urls: [&str; 2]) -> bool {
    let mut changed = false;
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| changed |= make_relative(item, base_urls)),
        Json::Object(object) => {
            for (name, value) in &mut object.0 {
                match value {
                    // No other text of R5 is called so: `Reference.reference` it is.
                    Json::String(text) if name == "reference" => {
                        let below = |base_url: &str| text.strip_prefix(base_url)?.strip_prefix('/').map(str::len);
                        let length = base_urls.into_iter().find_map(below).filter(|length| *length > 0);
                        if let Some(length) = length {
                            changed = true;
                            *text = match std::mem::take(text) {
                                Cow::Borrowed(text) => Cow::Borrowed(&text[text.len() - length..]),
                                Cow::Owned(text) => Cow::Owned(text[text.len() - length..].to_owned()),
                            };
                        }
                    }
                    value => changed |= make_relative(value, base_urls),
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    changed
}

/// The bytes behind the head: copied where the source is still what would be written.
fn tail(certificate: &Object, source: Option<JsonSource>, changed: Option<&str>) -> Vec<u8> {
    let copied = source.and_then(|source| head::tail_of_source(certificate, source, changed));
    copied.unwrap_or_else(|| head::tail(certificate))
}

/// What is wrong with the narratives of a resource, with those of its sections and of what it contains. Whatever is stored is served as it
/// is, so that nothing else of an import is judged, but this is. Contract 8.2; Decision 272.
pub fn active_narratives(resource: &Json) -> Vec<Issue> {
    // The path of an element is formatted only where a problem is reported: an import has millions of elements.
    fn collect(json: &Json, at: &dyn Fn() -> String, found: &mut Vec<Issue>) {
        match json {
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(n, item)| collect(item, &|| format!("{}[{n}]", at()), found));
            }
            Json::Object(object) => {
                for (name, value) in &object.0 {
                    let place = || format!("{}.{name}", at());
                    match value {
                        // No other text of R5 is called so: `Narrative.div` it is.
                        Json::String(div) if name == "div" => {
                            let problems = fhir::narrative::problems(div).into_iter().filter(NarrativeProblem::may_run);
                            found.extend(problems.map(|problem| {
                                Issue::new(Hcert::NarrativeWrong).with("problem", problem.to_string()).at(place())
                            }));
                        }
                        value => collect(value, &place, found),
                    }
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    let mut found = Vec::new();
    collect(resource, &|| resource.text("resourceType").unwrap_or_default().to_owned(), &mut found);
    found
}

/// Reads a version of an import: any status is right, and the service's own sections stay.
pub fn certificate_of_import(
    json: &mut Json,
    source: Option<JsonSource>,
    names: &Names,
) -> Result<PreparedCertificate, Outcome> {
    let shape = shape::check(json, "Composition");
    if !shape.problems.is_empty() {
        return Err(shape.problems.into_issues().into());
    }
    let Json::Object(object) = json else { return Err(Hcert::ElementTypeWrong.into()) };
    let row = extract(object, 0, names).map_err(Outcome::from)?;
    if let Some(issue) = check_terms(&row, ROW_TERMS_MAX + REASON_TERMS) {
        return Err(issue.into());
    }
    let active = active_narratives(json);
    if !active.is_empty() {
        return Err(active.into());
    }
    let Json::Object(object) = json else { return Err(Hcert::ElementTypeWrong.into()) };
    Ok(PreparedCertificate { tail: tail(object, source.filter(|_| !shape.rewrote), None), row, brings: Need::Nothing })
}

/// Reports a missing change reason for a body that is refused anyway. For a valid body the writer reports it, because
/// only the writer knows the newest version. Contract 3.3, 5.1.
fn reason_missing(certificate: &Object, before: Option<State>, names: &Names) -> Option<Issue> {
    let is_final = certificate.get("status").and_then(Json::as_str) == Some(Status::Final.code());
    if !is_final || section::has_change_reason(certificate, names) {
        return None;
    }
    let refused = decide(Some(before?), Trigger::Update, Need::Final).err()?;
    refused.issues().iter().find(|issue| issue.code() == Hcert::ChangeReasonMissing).cloned()
}

fn check_id(certificate: &Object, id: Option<Id>) -> Option<Issue> {
    let id = id?.to_string();
    let found = certificate.get("id")?.as_str()?;
    let mismatch = || Issue::new(Hcert::IdMismatch).with("found", found.to_owned()).with("expected", id.clone());
    (found != id).then(|| mismatch().at("Composition.id"))
}

/// Contract 3.2: a body says `preliminary` or `final`; the other states are reached by operations.
fn check_status(certificate: &Object, id: Option<Id>) -> Option<Issue> {
    let Some(status) = certificate.get("status") else {
        return Some(Issue::new(Hcert::ElementMissing).with("element", "Composition.status").at("Composition.status"));
    };
    let code = status.as_str()?;
    let operation = match Status::parse(code) {
        Some(Status::Preliminary | Status::Final) => return None,
        Some(Status::Cancelled) => "$suspend",
        Some(Status::EnteredInError) => "$cancel",
        None => {
            return Some(Issue::new(Hcert::StatusUnknown).with("status", code.to_owned()).at("Composition.status"));
        }
    };
    let id = id.map_or("<id>".into(), |id| id.to_string());
    let issue = Issue::new(Hcert::StatusNotAllowed).with("status", code.to_owned()).with("id", id);
    Some(issue.with("operation", operation).at("Composition.status"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use super::*;
    use certificate::terminology::Terminology;
    use certificate::validation::Validator;
    use fhir::json::ReadJson;
    use fhir::outcome::limits::BODY_ISSUES_MAX;

    const BASE: &str = "https://proxy.example.ee/fhir";
    static NAMES: LazyLock<Names> = LazyLock::new(Names::default);
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| Validator::new(&NAMES).unwrap());

    fn rules() -> CertificateRules<'static> {
        let terminology = Arc::new(Terminology::new(&NAMES, false, &[]).unwrap());
        CertificateRules { names: &NAMES, validator: &VALIDATOR, terminology, final_must_be_usable: false }
    }

    /// A right certificate with one piece of its text replaced.
    fn example(change: (&str, &str)) -> String {
        let text = std::fs::read_to_string("examples/driver-final.json").unwrap();
        assert!(text.contains(change.0), "{}", change.0);
        text.replacen(change.0, change.1, 1)
    }

    fn certificate(body: &str, before: UpdateBase<'_>) -> Result<PreparedCertificate, Outcome> {
        let ReadJson { mut value, problems, source } = json::parse_with_problems(body.as_bytes())?;
        let rules = rules();
        let checked = check_certificate(&mut value, source, problems, before, &rules, BASE)?;
        Ok(checked.certificate(&mut value, &rules))
    }

    fn create(body: &str) -> Result<PreparedCertificate, Outcome> {
        certificate(body, UpdateBase::default())
    }

    fn told(body: &str) -> Vec<(Hcert, String)> {
        let before = UpdateBase { id: Id::new(7), ..UpdateBase::default() };
        let refused = certificate(body, before).expect_err(body);
        refused.issues().iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect()
    }

    #[test]
    fn all_problems_of_a_body_come_together_each_once() {
        let wrong = r#"{"id":"8","status":"cancelled","status":"final","note":[],"title":null,"foo":1,"#;
        let date = r#""date": "x""#;
        let body = example(("{", wrong)).replacen(r#""date": "2025-01-12T10:05:00+02:00""#, date, 1);
        let body = body
            .replacen(
                r#"  "status": "final",
  "type""#,
                r#"  "type""#,
                1,
            )
            .replacen(r#"  "title": "L"#, r#"  "publisher": "L"#, 1);
        let expected = [
            (Hcert::JsonDuplicateKey, "Composition.status"),
            (Hcert::JsonEmptyValue, "Composition.note"),
            (Hcert::JsonEmptyValue, "Composition.title"),
            (Hcert::ElementUnknown, "Composition.foo"),
            (Hcert::FormatWrong, "Composition.date"),
            (Hcert::ElementUnknown, "Composition.publisher"),
            (Hcert::IdMismatch, "Composition.id"),
        ];
        assert_eq!(told(&body), expected.map(|(code, place)| (code, place.to_owned())));
    }

    #[test]
    fn of_another_resource_only_that_is_told() {
        for body in [r#"{"resourceType":"Basic","status":1}"#, r#"{"status":1}"#, r#"{"resourceType":7}"#, "7"] {
            assert_eq!(told(body).len(), 1, "{body}");
        }
    }

    #[test]
    fn problems_are_listed_up_to_a_bound_and_the_rest_counted() {
        let nulls = vec![r#"{"a":null}"#; BODY_ISSUES_MAX + 1].join(",");
        let told = told(&example(("{", &format!(r#"{{"extension":[{nulls}],"#))));
        assert_eq!(told.len(), BODY_ISSUES_MAX + 1);
        assert_eq!(told.last().unwrap().0, Hcert::LeftOut);
    }

    /// What was seen: 2 MiB of empty sections cost 0.4 s, since each was held against every rule after a hundred problems were known.
    #[test]
    fn checking_stops_when_no_further_problem_can_be_listed() {
        let counted = |section: &str| {
            let sections = vec![section; 5_000].join(",");
            let body = example((r#""section": ["#, &format!(r#""section": [{sections},"#)));
            let refused = create(&body).expect_err(section);
            let found = refused.issues().iter().filter(|issue| issue.code() != Hcert::LeftOut).count();
            let left_out: usize = refused.issues().iter().filter_map(Issue::left_out).sum();
            (found, left_out)
        };
        // Those that the walk over the profile finds.
        let (found, left_out) = counted(r#"{"id":"a"}"#);
        assert!(found == BODY_ISSUES_MAX && (1..100).contains(&left_out), "{found} {left_out}");
        // Those of the JSON or its form alone: that is checked as a whole, and then no more.
        for section in ["{}", "0"] {
            assert_eq!(counted(section), (BODY_ISSUES_MAX, 5_000 - BODY_ISSUES_MAX), "{section}");
        }
    }

    #[test]
    fn terms_are_bounded_where_a_client_writes_and_leave_room_for_the_reasons() {
        let base = create(&example(("{", "{"))).unwrap().row.terms.len();
        let body = |terms: usize| {
            let entries: Vec<String> = (base..terms).map(|at| format!(r#"{{"reference":"Basic/{at}"}}"#)).collect();
            example((r#""section": ["#, &format!(r#""section": [{{"entry":[{}]}},"#, entries.join(","))))
        };
        assert_eq!(create(&body(ROW_TERMS_MAX)).unwrap().row.terms.len(), ROW_TERMS_MAX);
        assert_eq!(create(&body(ROW_TERMS_MAX + 1)).unwrap_err().leading(), Hcert::TooMany);
        let import =
            |terms| certificate_of_import(&mut json::parse(body(terms).as_bytes()).unwrap(), None, &NAMES).is_ok();
        assert!(import(ROW_TERMS_MAX + REASON_TERMS) && !import(ROW_TERMS_MAX + REASON_TERMS + 1));
    }

    #[test]
    fn kept_sections_stay_behind_those_of_the_body() {
        let kept = vec![Json::object([("title", Json::string("kept"))])];
        let before = UpdateBase { kept, ..UpdateBase::default() };
        let body = example(("{", "{"));
        let certificate = certificate(&body, before).unwrap();
        assert!(String::from_utf8(certificate.tail).unwrap().ends_with(r#",{"title":"kept"}]}"#));
    }

    #[test]
    fn references_under_our_own_addresses_are_stored_as_relative_ones() {
        let stored = |reference: &str| {
            let body = example((r#""reference": "Patient/200""#, &format!(r#""reference": "{reference}""#)));
            let extension = format!(r#"{{"extension":[{{"url":"u","valueUrl":"{reference}"}}],"#);
            let PreparedCertificate { tail, row, .. } = create(&body.replacen('{', &extension, 1)).unwrap();
            let text = String::from_utf8(tail).unwrap();
            // What is no reference stays.
            assert!(text.contains(&format!(r#""valueUrl":"{}""#, reference.replace(r"\/", "/"))));
            let subject = text.split(r#""subject":[{"reference":""#).nth(1).unwrap().split('"').next().unwrap();
            (subject.to_owned(), row)
        };
        for own in [BASE, "http://127.0.0.1:8080/fhir", r"https:\/\/proxy.example.ee\/fhir"] {
            let (reference, row) = stored(&format!("{own}/Patient/200/_history/3"));
            assert_eq!(reference, "Patient/200/_history/3");
            assert_eq!(row, stored("Patient/200/_history/3").1);
        }
        assert_eq!(stored("Patient/200").0, "Patient/200");
        // What lies elsewhere stays as it is, and no registry could know it. Contract 6.1.
        for other in ["https://proxy.example.ee/fhirx/Patient/200", "https://proxy.example.ee/fhir/"] {
            let body = example((r#""reference": "Patient/200""#, &format!(r#""reference": "{other}""#)));
            assert_eq!(told(&body), [(Hcert::SubjectUnknowable, "Composition.subject[0]".to_owned())]);
        }
    }

    /// What was seen: an import stored scripts that a POST refuses, and they were served as they were.
    #[test]
    fn an_import_takes_no_narrative_that_runs_and_judges_nothing_else_of_it() {
        let certificate = |div: &str| {
            let text = String::from_utf8(include_bytes!("../../examples/driver-final.json").to_vec()).unwrap();
            let mut json = json::parse(text.as_bytes()).unwrap().into_owned();
            let div = format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{div}</div>");
            let narrative = Json::object([("status", Json::string("generated")), ("div", Json::string(div))]);
            let Json::Object(object) = &mut json else { panic!("an example is an object") };
            object.set("text", narrative);
            certificate_of_import(&mut json, None, &NAMES).map(drop)
        };
        assert!(certificate("<p>Sobib</p>").is_ok());
        for active in ["<script>alert(1)</script>", "<p onclick=\"x\">a</p>", "<a href=\"javascript:x\">a</a>"] {
            let refused = certificate(active).unwrap_err();
            assert_eq!(refused.leading(), Hcert::NarrativeWrong, "{active}");
            assert_eq!(refused.issues()[0].expression(), ["Composition.text.div"]);
        }
    }
}
