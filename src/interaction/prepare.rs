//! From a body to a certificate that can be written: read, checked, normalised. Everything wrong with it is told at once.

use std::borrow::Cow;

use crate::certificate::transition::Need;
use crate::certificate::{Id, Names, Status, head, section};
use crate::fhir::json::{self, Json, Object, Read, Source};
use crate::fhir::shape;
use crate::limits::{BODY_ISSUES_MAX, REASON_TERMS, ROW_TERMS_MAX};
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::extract::{check_terms, extract};
use crate::search::row::Row;

/// A certificate as a client sent it, ready for the engine.
#[derive(Debug)]
pub struct Certificate {
    /// Bytes behind the head.
    pub tail: Vec<u8>,
    pub row: Row,
    pub brings: Need,
}

/// Reads the body of a create or update.
///
/// `id` is the path's id on update: the body may leave its own out, but not name another (Contract 2.6). `kept` are sections of the
/// stored version that only the service writes; those of the body are dropped (Contract 3.5). `base_url` is this server's address as
/// the caller sees it.
///
/// # Errors
/// 400 for what cannot be read, 422 for rules that are broken; both in one outcome.
pub fn certificate(
    body: &[u8],
    id: Option<Id>,
    kept: Vec<Json<'static>>,
    names: &Names,
    base_url: &str,
) -> Result<Certificate, Outcome> {
    let Read { mut value, problems, source } = json::parse_with_problems(body)?;
    checked(&mut value, source, problems, id, kept, names, base_url)
}

/// Reads a certificate without a history, as an import brings it: as the body of a create.
pub fn new_certificate(mut json: Json, source: Option<Source>, names: &Names) -> Result<Certificate, Outcome> {
    checked(&mut json, source, Vec::new(), None, Vec::new(), names, &names.base_url)
}

/// `source` is the text of `json` where it is as we would write it; `issues` are the problems known already, to be told with all others.
fn checked<'j>(
    json: &mut Json<'j>,
    mut source: Option<Source>,
    mut issues: Vec<Issue>,
    id: Option<Id>,
    kept: Vec<Json<'j>>,
    names: &Names,
    base_url: &str,
) -> Result<Certificate, Outcome> {
    let took_any = match &mut *json {
        Json::Object(object) => !section::take_service_sections(object, names).is_empty(),
        _ => false,
    };
    let rewrote = match shape::check(json, "Composition") {
        Ok(rewrote) => rewrote,
        Err(broken) => {
            tell(&mut issues, broken);
            true
        }
    };
    let Json::Object(object) = json else { return Err(issues.into()) };
    // The rules of certificates say nothing about another resource.
    if issues.iter().any(|issue| issue.code() == Hcert::ResourceTypeWrong && issue.expression() == ["Composition"]) {
        return Err(issues.into());
    }
    let mut made_relative = false;
    object.0.iter_mut().for_each(|(_, value)| made_relative |= make_relative(value, [base_url, &names.base_url]));
    source = source.filter(|_| !took_any && !rewrote && !made_relative && kept.is_empty());
    tell(&mut issues, check_id(object, id).into_iter().chain(check_status(object, id)).collect());
    if !kept.is_empty() {
        match object.get_mut("section") {
            Some(Json::Array(list)) => list.extend(kept),
            Some(_) => {}
            None => object.set("section", Json::Array(kept)),
        }
    }
    let row = match extract(object, 0, names) {
        Ok(row) => {
            issues.extend(check_terms(&row, ROW_TERMS_MAX));
            Some(row)
        }
        Err(broken) => {
            tell(&mut issues, broken);
            None
        }
    };
    let Some(row) = row.filter(|_| issues.is_empty()) else { return Err(issues.into()) };
    let brings = match row.class.state.status() {
        Status::Preliminary => Need::Preliminary,
        _ if section::has_change_reason(object, names) => Need::ChangeReason,
        _ => Need::Final,
    };
    Ok(Certificate { tail: tail(object, source), row, brings })
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
fn tail(certificate: &Object, source: Option<Source>) -> Vec<u8> {
    source.and_then(|source| head::tail_of_source(certificate, source)).unwrap_or_else(|| head::tail(certificate))
}

/// Adds the issues of one more check, but none about an element of which an earlier one told: it would say the same in other words.
fn tell(issues: &mut Vec<Issue>, mut more: Vec<Issue>) {
    more.retain(|issue| issues.iter().all(|told| told.expression() != issue.expression()));
    issues.extend(more);
    issues.truncate(BODY_ISSUES_MAX);
}

/// Reads a version of an import: any status is right, and the service's own sections stay.
pub fn certificate_of_import(json: &mut Json, source: Option<Source>, names: &Names) -> Result<Certificate, Outcome> {
    let rewrote = shape::check(json, "Composition").map_err(Outcome::from)?;
    let Json::Object(object) = json else { return Err(Hcert::ElementTypeWrong.into()) };
    let row = extract(object, 0, names).map_err(Outcome::from)?;
    if let Some(issue) = check_terms(&row, ROW_TERMS_MAX + REASON_TERMS) {
        return Err(issue.into());
    }
    Ok(Certificate { tail: tail(object, source.filter(|_| !rewrote)), row, brings: Need::Nothing })
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
    use super::*;

    const BASE: &str = "https://proxy.example.ee/fhir";
    const META: &str =
        r#""meta":{"profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver"]}"#;

    fn told(members: &str) -> Vec<(Hcert, String)> {
        let body = format!(r#"{{"resourceType":"Composition",{members}}}"#);
        let refused = certificate(body.as_bytes(), Id::new(7), Vec::new(), &Names::default(), BASE).expect_err(members);
        refused.issues().iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect()
    }

    #[test]
    fn all_problems_of_a_body_come_together_each_once() {
        let wrong =
            r#""id":"8","status":"cancelled","status":"final","section":[],"meta":{},"title":null,"date":"x","foo":1"#;
        let expected = [
            (Hcert::JsonDuplicateKey, "Composition.status"),
            (Hcert::JsonEmptyValue, "Composition.section"),
            (Hcert::JsonEmptyValue, "Composition.meta"),
            (Hcert::JsonEmptyValue, "Composition.title"),
            (Hcert::FormatWrong, "Composition.date"),
            (Hcert::ElementUnknown, "Composition.foo"),
            (Hcert::IdMismatch, "Composition.id"),
            (Hcert::ProfileWrong, "Composition.meta.profile"),
        ];
        assert_eq!(told(wrong), expected.map(|(code, place)| (code, place.to_owned())));
        assert_eq!(told(META), [(Hcert::ElementMissing, "Composition.status".to_owned())]);
        let code = format!(r#"{META},"status":" final""#);
        assert_eq!(told(&code), [(Hcert::FormatWrong, "Composition.status".to_owned())]);
        let names = format!(r#"{META},"status":"final","a-b":1,"c-d":1"#);
        assert_eq!(told(&names).len(), 2);
    }

    #[test]
    fn of_another_resource_only_that_is_told() {
        for body in [r#"{"resourceType":"Basic","status":1}"#, r#"{"status":1}"#, r#"{"resourceType":7}"#] {
            let refused = certificate(body.as_bytes(), None, Vec::new(), &Names::default(), BASE).unwrap_err();
            assert_eq!(refused.issues().iter().map(Issue::code).collect::<Vec<_>>(), [Hcert::ResourceTypeWrong]);
        }
    }

    #[test]
    fn problems_are_listed_up_to_a_bound() {
        let nulls = vec![r#"{"a":null}"#; BODY_ISSUES_MAX + 1].join(",");
        assert_eq!(told(&format!(r#""extension":[{nulls}]"#)).len(), BODY_ISSUES_MAX);
    }

    #[test]
    fn terms_are_bounded_where_a_client_writes_and_leave_room_for_the_reasons() {
        let names = Names::default();
        let body = |terms: usize| {
            let entries: Vec<String> = (1..terms).map(|at| format!(r#"{{"reference":"A/{at}"}}"#)).collect();
            format!(
                r#"{{"resourceType":"Composition",{META},"status":"final","section":[{{"entry":[{}]}}]}}"#,
                entries.join(",")
            )
        };
        let create = |terms| certificate(body(terms).as_bytes(), None, Vec::new(), &names, BASE);
        assert_eq!(create(ROW_TERMS_MAX).unwrap().row.terms.len(), ROW_TERMS_MAX);
        assert_eq!(create(ROW_TERMS_MAX + 1).unwrap_err().leading(), Hcert::TooMany);
        let import =
            |terms| certificate_of_import(&mut json::parse(body(terms).as_bytes()).unwrap(), None, &names).is_ok();
        assert!(import(ROW_TERMS_MAX + REASON_TERMS) && !import(ROW_TERMS_MAX + REASON_TERMS + 1));
    }

    #[test]
    fn kept_sections_stay_where_the_body_has_none() {
        let kept = vec![Json::object([("title", Json::string("kept"))])];
        let body = format!(r#"{{"resourceType":"Composition",{META},"status":"final"}}"#);
        let certificate = certificate(body.as_bytes(), None, kept, &Names::default(), BASE).unwrap();
        assert!(String::from_utf8(certificate.tail).unwrap().ends_with(r#""section":[{"title":"kept"}]}"#));
    }

    #[test]
    fn references_under_our_own_addresses_are_stored_as_relative_ones() {
        let stored = |reference: &str| {
            let members = format!(
                r#"{META},"status":"final","subject":[{{"reference":"{reference}"}}],"contained":[{{"resourceType":"Basic","id":"b",
                "subject":{{"reference":"{reference}"}},"extension":[{{"url":"{reference}"}}]}}]"#
            );
            let body = format!(r#"{{"resourceType":"Composition",{members}}}"#);
            let Certificate { tail, row, .. } =
                certificate(body.as_bytes(), None, Vec::new(), &Names::default(), BASE).unwrap();
            let text = String::from_utf8(tail).unwrap();
            // What is no reference stays.
            assert!(text.contains(&format!(r#""url":"{}""#, reference.replace("\\/", "/"))));
            let found: Vec<&str> =
                text.split(r#""reference":""#).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
            assert_eq!(found[0], found[1]);
            (found[0].to_owned(), row)
        };
        for own in [BASE, "http://127.0.0.1:8080/fhir", r"https:\/\/proxy.example.ee\/fhir"] {
            let (reference, row) = stored(&format!("{own}/Patient/200/_history/3"));
            assert_eq!(reference, "Patient/200/_history/3");
            assert_eq!(row, stored("Patient/200/_history/3").1);
        }
        for other in
            ["https://proxy.example.ee/fhirx/Patient/200", "https://proxy.example.ee/fhir/", "Patient/200", "#b"]
        {
            assert_eq!(stored(other).0, other);
        }
    }
}
