//! Whom and what a request names: in its parameters and its body, whether or not any of it exists. Contract 7.8.
//!
//! It reads what the parser of each interaction reads too, but refuses nothing: the event of a refused request names whom it was about.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use super::InteractionKind;
use super::audit_event;
use crate::audit::{self, AuditEvent, NamedKeys, identifier, of_personal_code};
use certificate::search::narrow::employers;
use certificate::search::parameter::{self, Modifier, Named, PARAMETERS, Parameter, Unknown};
use certificate::search::reference::{comparable, is_id};
use certificate::search::request::base;
use certificate::search::value::{SearchToken, split, unescape};
use certificate::section::EMPLOYER;
use certificate::{Id, Names, Version, personal_code};
use engine::{Engine, StoreError, VersionSubject};
use fhir::json::{self, Json};
use fhir::narrative::plain_text;

/// Subjects, contained resources, parameters or sections in one list of a body that are looked through for whom it names. A certificate
/// has one subject, which alone the registry is asked for, and far fewer of the others.
const AUDIT_NAMED_BY_BODY_MAX: usize = 200;

/// Versions whose patient an export of the audit trail remembers, so that each is looked up once. Each takes some 100 bytes.
const AUDIT_PATIENTS_CACHED_MAX: usize = 100_000;

/// Patients and identifiers, each, that the event of a search of the trail names because events on its page concern them, and certificates
/// that are looked at for it. A page of 20 events has far fewer, also where they showed pages of certificates.
const AUDIT_SHOWN_MAX: usize = 2_000;

/// What reading names needs to know.
#[derive(Clone, Copy)]
pub(super) struct NameReader<'a> {
    pub names: &'a Names,
    /// An identifier of this system is the id of a patient. Contract 4.6.
    pub external_reference_system: &'a str,
}

impl NameReader<'_> {
    /// Adds whom the parameters of a request name, each a name and a value as they were decoded.
    pub(super) fn parameters(&self, kind: InteractionKind, parameters: &[(String, String)], named: &mut NamedKeys) {
        match kind {
            // A history takes none of these, and says whom it was about all the same when it is refused.
            InteractionKind::Search | InteractionKind::HistoryInstance | InteractionKind::HistoryType => {
                self.of_table(PARAMETERS, parameters, named);
            }
            InteractionKind::AuditSearch => self.of_table(audit_event::PARAMETERS, parameters, named),
            // The registry reads its own parameters. These two name patients in every registry.
            InteractionKind::PatientSearch => {
                for (name, value) in parameters {
                    match base(name) {
                        "identifier" => split(value, b',').for_each(|part| self.token(part, named)),
                        "_id" => split(value, b',').filter_map(patient).for_each(|id| named.patient(id)),
                        _ => {}
                    }
                }
            }
            // Their paths and bodies name whom they are about, or nobody is named.
            _ => {}
        }
    }

    /// Adds whom each parameter of a table names, whatever modifier it was sent with. `:missing` names nobody.
    fn of_table<L>(&self, table: &'static [Parameter<L>], parameters: &[(String, String)], named: &mut NamedKeys) {
        for (name, value) in parameters {
            match parameter::find(table, name) {
                Ok((_, Some(Modifier::Missing))) | Err(Unknown::Parameter) => {}
                Ok((_, Some(Modifier::Identifier))) => split(value, b',').for_each(|part| self.token(part, named)),
                Ok((parameter, _)) | Err(Unknown::Modifier(parameter)) => self.value(parameter.names, value, named),
            }
        }
    }

    fn value(&self, names: Named, value: &str, named: &mut NamedKeys) {
        let parts = split(value, b',');
        match names {
            Named::Nobody => {}
            Named::PatientIdentifier | Named::CertificateNumber => parts.for_each(|part| self.token(part, named)),
            Named::Patient => parts.filter_map(patient).for_each(|id| named.patient(id)),
            Named::Practitioner => {
                let system = Some(self.names.identifiers.estonian_code());
                parts.filter_map(|part| last(part, "Practitioner")).for_each(|code| named.identifier(system, code));
            }
            Named::Organization => {
                parts.filter_map(|part| last(part, "Organization")).for_each(|code| named.organization(code));
            }
            Named::Document => {
                parts.filter(|part| !part.is_empty()).for_each(|part| named.identifier(None, part));
            }
            Named::Certificate => {
                let codes = parts.filter_map(SearchToken::parse).filter_map(SearchToken::into_code);
                codes.filter_map(|code| Id::parse(&code)).for_each(|id| named.certificate(id));
            }
            Named::Employer => employers(value).for_each(|code| named.organization(&code)),
            Named::Entity => parts.for_each(|part| {
                // An id alone may be that of a certificate or of a patient.
                if let Some(id) = last(part, "Composition").and_then(Id::parse) {
                    named.certificate(id);
                }
                if let Some(id) = patient(part) {
                    named.patient(id);
                }
                if let Some(code) = last(part, "Organization").filter(|_| part.contains('/')) {
                    named.organization(code);
                }
            }),
            Named::Agent => parts.for_each(|part| {
                // A number alone may be that of a person or of an institution; any other text alone is a role.
                let is_named = part.contains('/') || part.bytes().all(|byte| byte.is_ascii_digit());
                if let Some(code) = last(part, "Practitioner").filter(|_| is_named) {
                    named.identifier(Some(self.names.identifiers.estonian_code()), code);
                }
                if let Some(code) = last(part, "Organization").filter(|_| is_named) {
                    named.organization(code);
                }
            }),
        }
    }

    /// Adds whom a body names: the subject, the author's person and institution, the employer and the numbers of a certificate, also of one
    /// that is the resource of a Parameters resource. What is no JSON names nobody. The numbers come back, to be looked for:
    /// [`AUDIT_NAMED_BY_BODY_MAX`] at most.
    pub(super) fn body(&self, body: &[u8], named: &mut NamedKeys) -> Vec<SearchToken> {
        let Ok(read) = json::parse_with_problems(body) else { return Vec::new() };
        let resources = several(&read.value, "parameter").filter_map(|parameter| parameter.get("resource"));
        let all = iter::once(&read.value).chain(resources);
        // Whom the later ones name is named however many numbers stand before.
        let mut numbers: Vec<SearchToken> = all.flat_map(|resource| self.certificate(resource, named)).collect();
        numbers.truncate(AUDIT_NAMED_BY_BODY_MAX);
        numbers
    }

    fn certificate(&self, certificate: &Json, named: &mut NamedKeys) -> Vec<SearchToken> {
        several(certificate, "subject").for_each(|subject| self.reference(subject, named));
        for contained in several(certificate, "contained") {
            match contained.text("resourceType") {
                Some("PractitionerRole") => {
                    let parties = [contained.get("practitioner"), contained.get("organization")];
                    parties.into_iter().flatten().for_each(|party| self.reference(party, named));
                }
                // No registry knows one, so a certificate about it is refused.
                Some("Patient") => drop(self.identifiers(contained, named)),
                _ => {}
            }
        }
        self.employers(certificate, named);
        self.identifiers(certificate, named)
    }

    fn identifiers(&self, resource: &Json, named: &mut NamedKeys) -> Vec<SearchToken> {
        let said = several(resource, "identifier");
        let tokens =
            said.filter_map(|said| Some((said.text("system")?, said.text("value")?))).map(|(system, value)| {
                self.identifier(Some(system), value, named);
                SearchToken::SystemCode(system.to_owned(), value.to_owned())
            });
        tokens.collect()
    }

    fn reference(&self, reference: &Json, named: &mut NamedKeys) {
        if let Some(text) = reference.text("reference").filter(|text| text.contains('/')) {
            if let Some(id) = patient(text) {
                named.patient(id);
            }
            if let Some(code) = last(text, "Practitioner") {
                named.identifier(Some(self.names.identifiers.estonian_code()), code);
            }
            if let Some(code) = last(text, "Organization") {
                named.organization(code);
            }
        }
        if let Some(identifier) = reference.get("identifier")
            && let Some(value) = identifier.text("value")
        {
            self.identifier(identifier.text("system"), value, named);
        }
    }

    fn employers(&self, parent: &Json, named: &mut NamedKeys) {
        for section in several(parent, "section") {
            let codings = section.get("code").map_or(&[][..], |code| code.items("coding"));
            if codings.iter().any(|coding| coding.text("code") == Some(EMPLOYER))
                && let Some(code) = section.get("text").and_then(|text| text.text("div")).and_then(plain_text)
            {
                named.organization(&code);
            }
            self.employers(section, named);
        }
    }

    /// Adds the certificate that the pairs of `If-None-Exist` name.
    pub(super) fn condition(&self, pairs: &[(String, String)], named: &mut NamedKeys) {
        pairs.iter().filter(|(name, _)| name == "identifier").for_each(|(_, value)| self.token(value, named));
    }

    fn token(&self, text: &str, named: &mut NamedKeys) {
        match SearchToken::parse(text) {
            Some(SearchToken::SystemCode(system, value)) => self.identifier(Some(&system), &value, named),
            Some(SearchToken::Code(value)) => self.identifier(None, &value, named),
            Some(SearchToken::CodeWithoutSystem(value)) => self.identifier(Some(""), &value, named),
            Some(SearchToken::System(_)) => {}
            None if text.is_empty() => {}
            // More parts than a token has: the text says what was meant.
            None => named.identifier(None, &unescape(text)),
        }
    }

    fn identifier(&self, system: Option<&str>, value: &str, named: &mut NamedKeys) {
        if system == Some(self.external_reference_system) {
            named.patient(value);
        }
        named.identifier(system, value);
    }
}

/// The id in a reference to a patient, on whatever server, or an id alone.
fn patient(text: &str) -> Option<&str> {
    last(text, "Patient").filter(|id| is_id(id))
}

/// What stands behind the last slash of a reference to a type of resource, whatever the version. A text without a slash is it itself.
fn last<'t>(text: &'t str, resource_type: &str) -> Option<&'t str> {
    if text.is_empty() {
        return None;
    }
    let id = match comparable(text, "").rsplit_once('/') {
        None => text,
        Some((before, id)) => (before.rsplit('/').next() == Some(resource_type)).then_some(id)?,
    };
    Some(id).filter(|id| !id.is_empty())
}

/// The items of a member; one that should be a list and is not is taken for its only item.
fn several<'j>(parent: &'j Json<'j>, name: &str) -> impl Iterator<Item = &'j Json<'j>> {
    let found = parent.get(name).map_or(&[][..], |found| match found {
        Json::Array(items) => items,
        single => std::slice::from_ref(single),
    });
    found.iter().take(AUDIT_NAMED_BY_BODY_MAX)
}

/// Everything that names a person in events: ids of patients and identifiers, as far as the store knows them, those of earlier versions and
/// of records that links tie to theirs too. An identifier that another patient has now is that one's.
///
/// `asked` is the id of a patient, an Estonian personal code, or `system|value`.
///
/// # Errors
/// The store cannot be read.
pub fn names_of_person(engine: &Engine, asked: &str, names: &Names) -> Result<Vec<String>, StoreError> {
    let systems = &names.identifiers;
    let asked = personal_code::digits(asked).unwrap_or(asked);
    let mut known = vec![asked.to_owned()];
    let mut ids = Vec::from_iter(Id::parse(asked));
    let code =
        personal_code::digits(asked).map(|code| (systems.estonian_code(), code)).or_else(|| asked.split_once('|'));
    if let Some((system, value)) = code {
        if system == systems.estonian_code() {
            known.extend(of_personal_code(value, systems));
        }
        ids.extend(engine.patients().known_by(system, value)?);
    }
    let linked: Vec<Id> = ids.iter().flat_map(|id| engine.patients().linked(*id).to_vec()).collect();
    ids.extend(linked);
    for id in ids {
        known.push(id.to_string());
        let ended = ended_identifiers(engine, id)?;
        for (system, value) in engine.patients().identifiers(id)?.into_iter().chain(ended) {
            known.push(identifier(Some(&system), &value));
            if system == systems.estonian_code() {
                known.extend(of_personal_code(&value, systems));
            }
        }
    }
    known.sort_unstable();
    known.dedup();
    Ok(known)
}

/// Identifiers in any version of a patient that are no longer theirs (`old`, or ended: Decision 285), unless another patient has or had
/// them: who asks by one means this patient.
fn ended_identifiers(engine: &Engine, id: Id) -> Result<Vec<(String, String)>, StoreError> {
    let mut ended = Vec::new();
    for version in engine.patients().versions(id)? {
        let Ok(resource) = json::parse(&version.resource) else { continue };
        for said in resource.items("identifier") {
            let Some((system, value)) = said.text("system").zip(said.text("value")) else { continue };
            if engine.patients().known_by(system, value)?.is_empty() {
                ended.push((system.to_owned(), value.to_owned()));
            }
        }
    }
    Ok(ended)
}

/// Whose certificates are, for the index of the audit trail, which does not keep the engine open.
pub fn subjects(engine: &Arc<Engine>) -> audit::Subjects {
    let engine = Arc::downgrade(engine);
    Arc::new(move |id, version| {
        // Versions never change, but one that is not there, or could not be read now, may be there later: only a search can tell.
        let version = version.unwrap_or(Version::FIRST);
        let subject = engine.upgrade()?.read(id, Some(version), |entry| entry.patient()).ok()???;
        Some(names_of_subject(&subject))
    })
}

/// Whom a version is about: identifiers, and the id as the last; none where it names nobody, or cannot be read.
type PatientNames = Option<Arc<Vec<String>>>;

/// Whose certificates are, remembered for those that are asked for again and again.
pub struct CertificatePatients<'e> {
    engine: &'e Engine,
    /// None for versions that are not there.
    known: HashMap<(Id, Version), Option<PatientNames>>,
    damage: Option<String>,
}

impl<'e> CertificatePatients<'e> {
    pub fn new(engine: &'e Engine) -> CertificatePatients<'e> {
        CertificatePatients { engine, known: HashMap::new(), damage: None }
    }

    /// Whom events concern that are shown: persons named by them, and those behind the certificates in them.
    pub(super) fn of_events<'a>(&mut self, events: impl Iterator<Item = &'a AuditEvent>) -> NamedKeys {
        let mut shown = NamedKeys::default();
        let mut certificates = HashSet::new();
        for event in events {
            shown.persons(&event.patients, &event.identifiers, AUDIT_SHOWN_MAX);
            for entity @ (id, version) in &event.entities {
                if certificates.len() == AUDIT_SHOWN_MAX || !certificates.insert(*entity) {
                    continue;
                }
                let names = self.of(*id, *version);
                if let Some((patient, identifiers)) = names.as_deref().and_then(|names| names.split_last()) {
                    let patients = std::slice::from_ref(patient);
                    let patients = if patient.is_empty() { &[] } else { patients };
                    shown.persons(patients, identifiers, AUDIT_SHOWN_MAX);
                }
            }
        }
        shown
    }

    /// The first certificate of which it could not be read whose it is, in words: events that concern somebody may not have been found.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Whom a certificate is about in a version: identifiers, and the id as the last. Of one that was only asked for, or in a version that is
    /// not there, its first version says so.
    pub fn of(&mut self, id: Id, version: Option<Version>) -> PatientNames {
        let in_version = version.and_then(|version| self.of_version(id, version).unwrap_or_default());
        if in_version.is_some() {
            return in_version;
        }
        let in_first = self.of_version(id, Version::FIRST);
        // What was shown was there: a store that was set back lacks it, or one whose pages are damaged.
        if in_first.is_none() && version.is_some() {
            self.unread(id, "the store does not have it");
        }
        in_first.flatten()
    }

    /// The same of a version; `None` where there is none.
    fn of_version(&mut self, id: Id, version: Version) -> Option<PatientNames> {
        if let Some(known) = self.known.get(&(id, version)) {
            return known.clone();
        }
        let found = match self.engine.read(id, Some(version), |entry| entry.patient()) {
            Ok(found) => found.map(|subject| subject.map(|subject| Arc::new(names_of_subject(&subject)))),
            Err(error) => {
                self.unread(id, &error.to_string());
                Some(None)
            }
        };
        if self.known.len() >= AUDIT_PATIENTS_CACHED_MAX {
            self.known.clear();
        }
        self.known.insert((id, version), found.clone());
        found
    }

    fn unread(&mut self, id: Id, problem: &str) {
        self.damage.get_or_insert_with(|| format!("whose certificate {id} is cannot be read: {problem}"));
    }
}

fn names_of_subject(subject: &VersionSubject) -> Vec<String> {
    let identifiers = subject.identifiers.iter().map(|(system, value)| identifier(Some(system), value));
    identifiers.chain([subject.id.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::interaction::Interaction;
    use certificate::search::parameter::OTHER_NAMES;
    use engine::EngineOptions;

    /// What was seen: an export of somebody's events left out those of a certificate whose record was damaged, and ended with 0.
    #[test]
    fn where_it_cannot_be_read_whose_a_certificate_is_that_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(EngineOptions::in_folder(folder.path().to_owned())).unwrap();
        let mut patients = CertificatePatients::new(&engine);
        assert_eq!(patients.of(Id::FIRST, None), None);
        assert_eq!(patients.damage(), None, "who asks for what is not there is about nobody");
        assert_eq!(patients.of(Id::FIRST, Some(Version::FIRST)), None);
        assert_eq!(patients.damage(), Some("whose certificate 1 is cannot be read: the store does not have it"));
        engine.close();
        let mut patients = CertificatePatients::new(&engine);
        assert_eq!(patients.of(Id::FIRST, None), None);
        assert!(patients.damage().is_some_and(|told| told.starts_with("whose certificate 1 is cannot be read: ")));
    }

    /// What a parameter names, in short: p patient, i identifier, o institution, c certificate.
    fn told(interaction: &Interaction, name: &str, value: &str) -> Vec<String> {
        let names = Names::default();
        let reader = NameReader { names: &names, external_reference_system: "urn:external" };
        let mut named = NamedKeys::default();
        reader.parameters(interaction.kind(), &[(name.to_owned(), value.to_owned())], &mut named);
        let NamedKeys { patients, identifiers, organizations, certificates } = named;
        let patients = patients.iter().map(|id| format!("p {id}"));
        let identifiers = identifiers.iter().map(|known| format!("i {known}"));
        let organizations = organizations.iter().map(|code| format!("o {code}"));
        let certificates = certificates.iter().map(|(id, _)| format!("c {id}"));
        patients.chain(identifiers).chain(organizations).chain(certificates).collect()
    }

    /// Every name that a table takes for somebody: with each modifier, and without.
    fn sent<L>(table: &[Parameter<L>]) -> BTreeSet<String> {
        let with = |row: &Parameter<L>| {
            let modified = row.modifiers.iter().map(|modifier| format!("{}:{}", row.name, modifier.name()));
            modified.chain([row.name.to_owned()]).collect::<Vec<_>>()
        };
        table.iter().filter(|row| row.names != Named::Nobody).flat_map(with).collect()
    }

    fn holds(interaction: &Interaction, of_table: BTreeSet<String>, rows: &[(&str, &str, &[&str])]) {
        for (name, value, expected) in rows {
            assert_eq!(told(interaction, name, value), *expected, "{name}={value}");
        }
        let tested: BTreeSet<String> = rows.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let untested: Vec<_> = of_table.difference(&tested).collect();
        assert_eq!(untested, Vec::<&String>::new(), "say here whom each of these names");
    }

    #[test]
    fn every_parameter_of_certificates_names_whom_it_asks_for() {
        const NI: &str = "i https://fhir.ee/sid/pid/est/ni|38001085718";
        let mut names = sent(PARAMETERS);
        names.extend(OTHER_NAMES.iter().map(|(other, _)| (*other).to_owned()));
        holds(
            &Interaction::plain(InteractionKind::Search),
            names,
            &[
                ("subject:Patient.identifier", "s|1,2,|3", &["i s|1", "i 2", "i |3"]),
                ("subject.identifier", "urn:external|200", &["p 200", "i urn:external|200"]),
                ("patient.identifier", "s|1", &["i s|1"]),
                ("patient:Patient.identifier", "s|1", &["i s|1"]),
                (
                    "subject",
                    "Patient/200/_history/3,https://a.ee/fhir/Patient/201,202,Group/7",
                    &["p 200", "p 201", "p 202"],
                ),
                ("subject:not", "Patient/200", &["p 200"]),
                ("subject:missing", "true", &[]),
                ("subject:Patient", "200", &["p 200"]),
                ("subject:identifier", "s|1", &["i s|1"]),
                ("patient", "Patient/200", &["p 200"]),
                ("patient:not", "Patient/200", &["p 200"]),
                ("patient:missing", "false", &[]),
                ("patient:Patient", "200", &["p 200"]),
                ("patient:identifier", "s|1", &["i s|1"]),
                ("author:PractitionerRole.practitioner", "Practitioner/38001085718", &[NI]),
                ("author:PractitionerRole.practitioner:not", "38001085718", &[NI]),
                ("author:PractitionerRole.practitioner:missing", "true", &[]),
                ("author.practitioner", "Practitioner/38001085718", &[NI]),
                ("author:PractitionerRole.organization", "Organization/90006399", &["o 90006399"]),
                ("author:PractitionerRole.organization:not", "90006399", &["o 90006399"]),
                ("author:PractitionerRole.organization:missing", "true", &[]),
                ("author.organization", "Organization/90006399", &["o 90006399"]),
                ("section-code-text", "employer$16978044", &["o 16978044"]),
                ("section-code-text", "decision$16978044", &[]),
                ("entry", "QuestionnaireResponse/7", &["i QuestionnaireResponse/7"]),
                ("entry:not", "QuestionnaireResponse/7", &["i QuestionnaireResponse/7"]),
                ("entry:missing", "true", &[]),
                ("entry:identifier", "s|1", &["i s|1"]),
                ("identifier", "s|1", &["i s|1"]),
                ("identifier:not", "s|1", &["i s|1"]),
                ("identifier:missing", "true", &[]),
                ("_id", "1,2,x", &["c 1", "c 2"]),
                ("_id:not", "1", &["c 1"]),
                ("_id:missing", "true", &[]),
            ],
        );
    }

    #[test]
    fn every_parameter_of_patients_and_events_names_whom_it_asks_for() {
        let known = crate::registry::embedded::KNOWN.iter().map(|name| (*name).to_owned()).collect();
        holds(
            &Interaction::plain(InteractionKind::PatientSearch),
            known,
            &[
                ("identifier", "s|1,2", &["i s|1", "i 2"]),
                ("_id", "200,201", &["p 200", "p 201"]),
                ("birthdate", "1980-01-08", &[]),
                ("active", "true", &[]),
                ("deceased", "true", &[]),
                ("_sort", "_id", &[]),
                ("_count", "0", &[]),
                ("_page", "2", &[]),
            ],
        );
        const NI: &str = "i https://fhir.ee/sid/pid/est/ni|38001085718";
        holds(
            &Interaction::plain(InteractionKind::AuditSearch),
            sent(audit_event::PARAMETERS),
            &[
                ("entity", "Composition/1/_history/2,Patient/200", &["p 200", "c 1"]),
                ("entity", "7", &["p 7", "c 7"]),
                ("entity", "Organization/16978044", &["o 16978044"]),
                ("patient", "Patient/200", &["p 200"]),
                ("patient:identifier", "s|1", &["i s|1"]),
                ("agent", "Practitioner/38001085718", &[NI]),
                ("agent", "Organization/90006399", &["o 90006399"]),
                ("agent", "doctor", &[]),
                ("agent:identifier", "s|1", &["i s|1"]),
            ],
        );
    }

    #[test]
    fn a_body_names_its_people_however_wrong_it_is() {
        let names = Names::default();
        let reader = NameReader { names: &names, external_reference_system: "urn:external" };
        let mut named = NamedKeys::default();
        let body = br##"{"resourceType":"Composition","subject":{"reference":"Patient/200"},"contained":[
            {"resourceType":"PractitionerRole","practitioner":{"reference":"Practitioner/38001085718"},
             "organization":{"reference":"Organization/90006399"}}],
            "section":[{"section":[{"code":{"coding":[{"code":"employer"}]},"text":{"div":"<div> 16978044</div>"}}]}]}"##;
        reader.body(body, &mut named);
        assert_eq!(named.patients, ["200"]);
        assert_eq!(named.identifiers, ["https://fhir.ee/sid/pid/est/ni|38001085718"]);
        assert_eq!(named.organizations, ["90006399", "16978044"]);
        assert!(reader.body(b"{", &mut named).is_empty());
        // However many numbers stand before it.
        let number = r#"{"system":"s","value":"1"}"#;
        let numbered = format!(r#"{{"resource":{{"identifier":[{}]}}}}"#, vec![number; 300].join(","));
        let body = format!(
            r#"{{"parameter":[{numbered},{numbered},{{"resource":{{"subject":{{"reference":"Patient/203"}}}}}}]}}"#
        );
        assert_eq!(reader.body(body.as_bytes(), &mut named).len(), AUDIT_NAMED_BY_BODY_MAX);
        assert_eq!(named.patients, ["200", "203"]);
    }
}
