//! Whom a certificate is about: the patient that its subject names, asked of the registry and named with the version the registry has.
//!
//! Source: Contract 6.1, 6.3; specification 2.1 and 5.

use super::context::RequestContext;
use super::service::{Service, unreadable};
use crate::registry::{LookupFailure, LookupPurpose, NoAnswer, Patient};
use certificate::search::reference::{comparable, is_id};
use engine::{StoredVersion, VersionSubject};
use fhir::json::{self, Json, Object};
use fhir::outcome::{Hcert, Issue, Outcome, Reflected};

/// How a subject names its patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubjectReference<'a> {
    /// `Patient/<id>`, whatever the version.
    Id(&'a str),
    /// By an identifier alone.
    Identifier { system: Option<&'a str>, value: &'a str },
}

/// The answer to whom a certificate is about.
#[derive(Debug, Default)]
pub struct Resolved {
    /// What `subject.reference` becomes.
    pub reference: String,
    /// What is kept with the version; nothing where it was never asked.
    pub patient: Option<VersionSubject>,
    /// What the registry would have the caller know.
    pub warning: Option<Reflected>,
}

/// What is wrong with a subject that is a Reference of R5 and yet names nobody whom a registry could know.
pub(super) fn check(certificate: &Object) -> Option<Issue> {
    let [subject] = certificate.get("subject")?.as_array()? else { return None };
    if named(subject).is_some() {
        return None;
    }
    let found = match (subject.get("reference"), subject.get("display")) {
        (Some(Json::String(reference)), _) => reference.to_string(),
        (Some(_), _) => return None,
        (None, Some(_)) => "display".to_owned(),
        (None, None) => "neither".to_owned(),
    };
    // That a reference leads to another type of resource is told as such.
    let other_type = found.split_once('/').is_some_and(|(kind, _)| kind != "Patient" && !kind.contains(':'));
    let issue = || Issue::new(Hcert::SubjectUnknowable).with("found", found.clone()).at("Composition.subject[0]");
    (!other_type).then(issue)
}

/// The first subject; whether there are more is the profile's matter.
fn named<'a>(subject: &'a Json<'a>) -> Option<SubjectReference<'a>> {
    match subject.text("reference") {
        Some(reference) => {
            // Addresses under our own were made relative before.
            let id = comparable(reference, "").strip_prefix("Patient/")?;
            let version = reference.split_once("/_history/").map(|(_, version)| version);
            (is_id(id) && version.is_none_or(is_id)).then_some(SubjectReference::Id(id))
        }
        None => {
            let identifier = subject.get("identifier")?;
            let value = identifier.text("value").filter(|value| !value.is_empty())?;
            Some(SubjectReference::Identifier { system: identifier.text("system"), value })
        }
    }
}

/// System and value of the identifier that stands beside a reference.
fn beside<'a>(subject: &'a Json<'a>) -> Option<(Option<&'a str>, &'a str)> {
    let identifier = subject.get("reference").and(subject.get("identifier"))?;
    Some((identifier.text("system"), identifier.text("value")?))
}

/// System and value of each identifier.
fn pairs(patient: &Patient) -> impl Iterator<Item = (&str, &str)> + Clone {
    patient.identifiers.iter().map(|known| (known.system.as_str(), known.value.as_str()))
}

/// Whether an identifier may be one of a patient's: of a system that the patient has identifiers in, it must be one of these. A caller's
/// own numbers are the caller's affair.
fn may_be_theirs<'a>(
    (system, value): (Option<&str>, &str),
    known: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> bool {
    let Some(system) = system else { return true };
    let mut of_system = known.filter(|(known, _)| *known == system).peekable();
    of_system.peek().is_none() || of_system.any(|(_, known)| known == value)
}

impl Service {
    /// Finds the patient a certificate is about. `before` is the version that an update stands on: a subject that stays the same is not
    /// asked for again.
    ///
    /// # Errors
    /// HCERT-008 when none or several fit; what the registry says; 503 when it says nothing.
    pub(super) async fn resolve(
        &self,
        context: &RequestContext,
        certificate: &Json<'_>,
        before: Option<&StoredVersion>,
        purpose: LookupPurpose,
    ) -> Result<Resolved, Outcome> {
        let subject = certificate.items("subject").first();
        let named = subject.and_then(named);
        let named = named.ok_or_else(|| Outcome::internal("a certificate was accepted without a subject"))?;
        let beside = subject.and_then(beside);
        if let Some(stored) = before
            && let Some(same) = self.same(named, beside, stored)?
        {
            return Ok(same);
        }
        let caller = context.caller(purpose);
        let asked = match named {
            SubjectReference::Id(id) => self.registry.by_id(id, &caller).await,
            SubjectReference::Identifier { system, value } => {
                let found = self.registry.by_identifier(system, value, &caller).await;
                if purpose == LookupPurpose::Look
                    && matches!(&found, Ok(patients) if patients.is_empty())
                    && self.registry.would_take_over(system, value)
                {
                    // A write would bring this one over; what is only judged goes no further than that.
                    return Ok(Resolved { reference: "Patient/new".to_owned(), ..Resolved::default() });
                }
                if let Ok(patients) = &found {
                    context.meet(|named| patients.iter().for_each(|patient| named.patient(&patient.id)));
                }
                found.map(|mut patients| patients.pop().filter(|_| patients.is_empty()))
            }
        };
        match asked {
            Ok(Some(patient)) => {
                context.meet(|named| named.patient(&patient.id));
                // Reference and identifier must mean the same person: there is nobody who is both.
                if let Some((system, value)) = beside.filter(|beside| !may_be_theirs(*beside, pairs(&patient))) {
                    return Err(self.not_unique(SubjectReference::Identifier { system, value }).into());
                }
                let warning = self.registry.deceased(&patient, &caller);
                let reference = format!("Patient/{}/_history/{}", patient.id, patient.version);
                let Patient { id, version, identifiers, .. } = patient;
                let identifiers = identifiers.into_iter().map(|found| (found.system, found.value)).collect();
                Ok(Resolved { reference, patient: Some(VersionSubject { id, version, identifiers }), warning })
            }
            Ok(None) | Err(LookupFailure::NotFound) => Err(self.not_unique(named).into()),
            // Contract 6.1: a registry that says "not found" found nobody.
            Err(LookupFailure::Refused(chain)) if chain.status == 404 => {
                Err(Outcome::from(self.not_unique(named)).reflecting(400, chain.issues))
            }
            Err(failed) => Err(unanswered(failed)),
        }
    }

    /// Adds the problems of the patient to those of a refused body, so that one response has all (Contract 5.1). The
    /// registry is asked only where the subject itself has no problem, and as for a read, so that it adds no person. A
    /// registry that does not answer changes nothing, because the body is wrong all the same. Decision 151.
    pub(super) async fn with_problems_of_patient(
        &self,
        context: &RequestContext,
        certificate: &Json<'_>,
        before: Option<&StoredVersion>,
        mut refused: Outcome,
    ) -> Outcome {
        let [subject] = certificate.items("subject") else { return refused };
        let Some(named) = named(subject) else { return refused };
        let is_of_subject = |expression: &String| expression.starts_with("Composition.subject");
        let mut expressions = refused.issues().iter().flat_map(Issue::expression);
        if certificate.text("resourceType") != Some("Composition") || expressions.any(is_of_subject) {
            return refused;
        }
        // Who may not write it anyway does not learn from it who exists. Contract 7.7.
        if self.check_author(context, certificate).is_err() {
            return refused;
        }
        let Err(further) = self.resolve(context, certificate, before, LookupPurpose::Look).await else {
            return refused;
        };
        let is_unsure =
            matches!(named, SubjectReference::Identifier { .. }) && self.registry.may_know_more_for_a_write();
        let is_told = further.status() < 500 && !(is_unsure && further.issues().iter().any(is_not_unique));
        if is_told {
            refused.merge(further);
        }
        refused
    }

    /// The patient of the version before, when the body names the same. Contract 6.1.
    fn same(
        &self,
        named: SubjectReference,
        beside: Option<(Option<&str>, &str)>,
        stored: &StoredVersion,
    ) -> Result<Option<Resolved>, Outcome> {
        let kept = self.engine.read(stored.id, Some(stored.version), |entry| entry.subject());
        let kept = kept.map_err(unreadable)?.flatten();
        let is_same = |kept: &VersionSubject| match named {
            SubjectReference::Id(id) => {
                let known = kept.identifiers.iter().map(|(system, value)| (system.as_str(), value.as_str()));
                kept.id == id && beside.is_none_or(|beside| may_be_theirs(beside, known))
            }
            SubjectReference::Identifier { system, value } => {
                let fits = |(known, own): &(String, String)| own == value && system == Some(known.as_str());
                kept.identifiers.iter().any(fits)
            }
        };
        if let Some(kept) = kept {
            let reference = format!("Patient/{}/_history/{}", kept.id, kept.version);
            return Ok(is_same(&kept).then_some(Resolved { reference, patient: Some(kept), warning: None }));
        }
        // Imported versions carry no more than their reference.
        let resource = json::parse_stored(&stored.resource);
        let reference = resource.items("subject").first().and_then(|subject| subject.text("reference"));
        let (SubjectReference::Id(id), Some(reference)) = (named, reference) else { return Ok(None) };
        let is_same = comparable(reference, &self.settings.names.base_url).strip_prefix("Patient/") == Some(id);
        let resolved = || Resolved { reference: reference.to_owned(), ..Resolved::default() };
        Ok(is_same.then(resolved))
    }

    /// HCERT-008, as the specification shows it.
    fn not_unique(&self, named: SubjectReference) -> Issue {
        let identifier = match named {
            SubjectReference::Id(id) => format!("{}|{id}", self.settings.external_reference_system),
            SubjectReference::Identifier { system: Some(system), value } => format!("{system}|{value}"),
            SubjectReference::Identifier { system: None, value } => value.to_owned(),
        };
        Issue::new(Hcert::PatientNotUnique).with("identifier", identifier).at("Composition.subject[0]")
    }
}

fn is_not_unique(issue: &Issue) -> bool {
    issue.code() == Hcert::PatientNotUnique
}

/// Writes whom the registry found into a certificate. True when the subject had no reference before.
pub(super) fn set_reference(certificate: &mut Object, reference: &str) -> bool {
    let Some(Json::Array(subjects)) = certificate.get_mut("subject") else { return false };
    let Some(Json::Object(subject)) = subjects.first_mut() else { return false };
    let is_new = subject.get("reference").is_none();
    subject.set("reference", Json::string(reference.to_owned()));
    is_new
}

/// What a caller learns of a registry that did not answer the question of the service. Contract 6.3.
pub(super) fn unanswered(failed: LookupFailure) -> Outcome {
    match failed {
        LookupFailure::Refused(mut chain) => {
            chain.status = if chain.status < 500 { 400 } else { 503 };
            chain.into()
        }
        failed => no_answer(failed),
    }
}

/// What a caller learns of a registry that says nothing.
pub(super) fn no_answer(failed: LookupFailure) -> Outcome {
    let (code, cause) = match failed {
        LookupFailure::Refused(chain) => return chain.into(),
        LookupFailure::Fault(problem) => {
            let issue = Issue::new(Hcert::HeaderWrong).with("header", "x-hcert-fault").with("value", problem);
            return issue.at("http.x-hcert-fault").into();
        }
        // Where a person may be missing, this 404 means "nobody found" and does not get here. Elsewhere no FHIR server
        // sends it.
        LookupFailure::NotFound => {
            (Hcert::RegistryUnreadable, "its status is 404, without a code that says why".to_owned())
        }
        LookupFailure::NoAnswer(NoAnswer::Timeout(cause)) => (Hcert::RegistryTimeout, cause),
        LookupFailure::NoAnswer(NoAnswer::Unreachable(cause)) => (Hcert::RegistryUnreachable, cause),
        LookupFailure::NoAnswer(NoAnswer::Unreadable(cause)) => (Hcert::RegistryUnreadable, cause),
        LookupFailure::NoAnswer(NoAnswer::Credential(cause)) => (Hcert::RegistryCredential, cause),
        LookupFailure::NoAnswer(NoAnswer::Damaged(cause)) => (Hcert::StoreDamaged, cause),
    };
    Outcome::from(code).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(subject: &str) -> Option<String> {
        let text = format!(r#"{{"subject":{subject}}}"#);
        let json = json::parse(text.as_bytes()).unwrap();
        check(json.as_object().unwrap()).map(|issue| issue.text(fhir::outcome::Language::English))
    }

    #[test]
    fn a_subject_names_a_patient_by_id_or_by_identifier() {
        for right in [
            r#"[{"reference":"Patient/200"}]"#,
            r#"[{"reference":"Patient/200/_history/3","display":"x"}]"#,
            r#"[{"identifier":{"system":"s","value":"v"}}]"#,
            r#"[{"identifier":{"value":"37605030299"}}]"#,
            // Told by the profile.
            r#"[{"reference":"Group/1"}]"#,
            r#"[{"reference":"Patient/1"},{"display":"x"}]"#,
        ] {
            assert_eq!(told(right), None, "{right}");
        }
        for wrong in [
            r#"[{"display":"Mari Maasikas"}]"#,
            r#"[{"reference":"https://elsewhere.ee/fhir/Patient/200"}]"#,
            r#"[{"reference":"urn:uuid:0f6a-1"}]"#,
            r##"[{"reference":"#p"}]"##,
            r#"[{"reference":"Patient/"}]"#,
            r#"[{"identifier":{"system":"s"}}]"#,
        ] {
            assert!(told(wrong).is_some(), "{wrong}");
        }
        let long = format!(r#"[{{"reference":"Patient/{}"}}]"#, "1".repeat(65));
        assert!(told(&long).is_some());
    }
}
