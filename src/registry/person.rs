//! A Patient as the embedded registry takes it: checked, and read for what patients are found by.

use std::fmt;

use jiff::civil::Date;

use super::patient::is_valid;
use super::{PersonalCode, PersonalCodeError};
use crate::registry::limits::IDENTIFIER_CHARACTERS_MAX;
use certificate::{Id, IdentifierSystems, head};
use engine::limits::IMPORT_ID_MAX;
use engine::{PatientFacts, PatientWrite};
use fhir::json::Json;
use fhir::outcome::{Language, Outcome};
use fhir::{codes, date_time, shape};

/// Identifiers of one patient. A person has a personal code, a passport or two, and numbers of other registries; each is a row of a table.
pub const PATIENT_IDENTIFIERS_MAX: usize = 100;

/// Links of one patient. One person has two or three records.
pub const PATIENT_LINKS_MAX: usize = 100;

/// Why a resource is not taken.
#[derive(Debug)]
pub enum PersonError {
    /// It is no Patient, or not of R5's form.
    Form(Outcome),
    /// Its id is no decimal number from 1 to [`IMPORT_ID_MAX`].
    Id(String),
    /// No identifier has a value (MPI-016).
    NoIdentifier,
    PersonalCode {
        value: String,
        error: PersonalCodeError,
    },
    /// A code that R5 does not know for its element.
    Code {
        element: &'static str,
        code: String,
    },
    /// A system of an identifier in which a placeholder was not filled.
    Placeholder(String),
    /// An identifier has more than [`IDENTIFIER_CHARACTERS_MAX`] characters.
    LongIdentifier,
    /// More than [`PATIENT_IDENTIFIERS_MAX`] identifiers.
    Identifiers(usize),
    /// More than [`PATIENT_LINKS_MAX`] links.
    Links(usize),
}

/// The write that stores a Patient. `id` is kept; without one it is a person not met before, unless somebody has the first identifier.
/// `meta.versionId` and `meta.lastUpdated` count for nothing. `systems` tells which identifiers are Estonian personal codes.
///
/// # Errors
/// The first reason against it.
pub fn read(resource: &mut Json, systems: &IdentifierSystems) -> Result<PatientWrite, PersonError> {
    shape::expect(resource, "Patient").map_err(PersonError::Form)?;
    check_codes(resource)?;
    let id = resource.text("id").map(|text| {
        let id = Id::parse(text).filter(|id| id.get() <= IMPORT_ID_MAX);
        id.ok_or_else(|| PersonError::Id(text.to_owned()))
    });
    let id = id.transpose()?;
    let facts = facts(resource, systems)?;
    let unless = if id.is_none() { facts.identifiers.first().cloned() } else { None };
    if id.is_none() && unless.is_none() {
        return Err(PersonError::NoIdentifier);
    }
    let tail = head::tail(resource.as_object().expect("a resource of R5's form is an object"));
    let alone = facts.identifiers.iter().find(|(system, _)| system == systems.estonian_code()).cloned();
    Ok(PatientWrite { id, unless, alone, facts, tail })
}

/// First and last day that a FHIR date can mean (`YYYY`, `YYYY-MM` or `YYYY-MM-DD`), in days since 1970-01-01. Nothing for another text.
pub fn days(date: &str) -> Option<(i32, i32)> {
    if !date_time::is_date(date) {
        return None;
    }
    let mut parts = date.split('-').map(|part| part.parse::<i16>().ok());
    let year = parts.next()??;
    let [month, day_of_month] =
        [parts.next().flatten(), parts.next().flatten()].map(|part| part.map(|part| part as i8));
    let first = Date::new(year, month.unwrap_or(1), day_of_month.unwrap_or(1)).ok()?;
    let last = match (month, day_of_month) {
        (None, _) => first.last_of_year(),
        (_, None) => first.last_of_month(),
        _ => first,
    };
    Some((day(first)?, day(last)?))
}

fn day(date: Date) -> Option<i32> {
    date.since(Date::constant(1970, 1, 1)).ok().map(|span| span.get_days())
}

fn facts(patient: &Json, systems: &IdentifierSystems) -> Result<PatientFacts, PersonError> {
    let is = |name: &str| patient.get(name).map(|value| matches!(value, Json::Bool(true)));
    Ok(PatientFacts {
        is_active: is("active").unwrap_or(true),
        is_deceased: is("deceasedBoolean").unwrap_or(false) || patient.text("deceasedDateTime").is_some(),
        born: patient.text("birthDate").and_then(days),
        identifiers: identifiers(patient, systems)?,
        links: links(patient)?,
    })
}

fn identifiers(patient: &Json, systems: &IdentifierSystems) -> Result<Vec<(String, String)>, PersonError> {
    let with_value = patient.items("identifier").iter().filter_map(|identifier| {
        let system = identifier.text("system").unwrap_or_default();
        Some(((system.to_owned(), identifier.text("value")?.to_owned()), is_valid(identifier)))
    });
    let (found, are_valid): (Vec<_>, Vec<bool>) = with_value.unzip();
    match found.len() {
        0 => return Err(PersonError::NoIdentifier),
        many if many > PATIENT_IDENTIFIERS_MAX => return Err(PersonError::Identifiers(many)),
        _ => {}
    }
    for (system, value) in &found {
        if system.chars().count() + value.chars().count() > IDENTIFIER_CHARACTERS_MAX {
            return Err(PersonError::LongIdentifier);
        }
        if system.contains(['{', '}']) {
            return Err(PersonError::Placeholder(system.clone()));
        }
        if system == systems.estonian_code() {
            let wrong = |error| PersonError::PersonalCode { value: value.clone(), error };
            PersonalCode::parse(value).map_err(wrong)?;
        }
    }
    let valid = found.into_iter().zip(are_valid).filter(|(_, is_valid)| *is_valid);
    Ok(valid.map(|(identifier, _)| identifier).collect())
}

/// Patients here that are said to be the same person. A patient elsewhere is another registry's matter.
fn links(patient: &Json) -> Result<Vec<Id>, PersonError> {
    let items = patient.items("link");
    if items.len() > PATIENT_LINKS_MAX {
        return Err(PersonError::Links(items.len()));
    }
    let same = items.iter().filter(|link| matches!(link.text("type"), Some("replaces" | "replaced-by")));
    let other = |link: &Json| {
        let id = link.get("other")?.text("reference")?.strip_prefix("Patient/")?;
        Id::parse(id.split_once("/_history/").map_or(id, |(id, _)| id))
    };
    Ok(same.filter_map(other).collect())
}

/// Codes that a reader of a Patient rests on.
fn check_codes(patient: &Json) -> Result<(), PersonError> {
    const GENDER: &str = "http://hl7.org/fhir/ValueSet/administrative-gender";
    const LINK_TYPE: &str = "http://hl7.org/fhir/ValueSet/link-type";
    let check = |element: &'static str, code: Option<&str>, value_set: &str| match code {
        Some(code) if codes::of(value_set).is_some_and(|known| !known.has_code(code)) => {
            Err(PersonError::Code { element, code: code.to_owned() })
        }
        _ => Ok(()),
    };
    check("Patient.gender", patient.text("gender"), GENDER)?;
    patient.items("link").iter().try_for_each(|link| check("Patient.link.type", link.text("type"), LINK_TYPE))
}

impl fmt::Display for PersonError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            PersonError::Form(outcome) => {
                for (at, issue) in outcome.issues().iter().enumerate() {
                    let before = if at == 0 { "" } else { "; " };
                    write!(formatter, "{before}{}", issue.text(Language::English))?;
                    if let Some(expression) = issue.expression().first() {
                        write!(formatter, " ({expression})")?;
                    }
                }
                Ok(())
            }
            PersonError::Id(id) => {
                write!(formatter, "'{id}' is not an id of a patient here (a decimal number from 1 to {IMPORT_ID_MAX})")
            }
            PersonError::NoIdentifier => formatter.write_str("a patient needs at least one identifier with a value"),
            PersonError::PersonalCode { value, error } => {
                write!(formatter, "'{value}' is not an Estonian personal code: {error}")
            }
            PersonError::Code { element, code } => {
                write!(formatter, "'{code}' is not a code that FHIR R5 knows for {element}")
            }
            PersonError::LongIdentifier => {
                write!(formatter, "an identifier has more than {IDENTIFIER_CHARACTERS_MAX} characters")
            }
            PersonError::Identifiers(number) => {
                write!(formatter, "{number} identifiers, but a patient has at most {PATIENT_IDENTIFIERS_MAX}")
            }
            PersonError::Placeholder(system) => {
                write!(formatter, "the identifier system '{system}' has a placeholder that nobody filled")
            }
            PersonError::Links(number) => {
                write!(formatter, "{number} links, but a patient has at most {PATIENT_LINKS_MAX}")
            }
        }
    }
}

impl std::error::Error for PersonError {}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    fn taken(members: &str) -> Result<PatientWrite, String> {
        let text = format!(r#"{{"resourceType":"Patient"{members}}}"#);
        read(&mut json::parse(text.as_bytes()).unwrap(), &IdentifierSystems::default())
            .map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(members: &str, words: &str) {
        let problem = taken(members).unwrap_err();
        assert!(problem.contains(words), "{words:?} in {problem:?}");
    }

    fn estonian_code() -> String {
        IdentifierSystems::default().estonian_code().to_owned()
    }

    const ONE: &str = r#","identifier":[{"system":"s","value":"v"}]"#;

    /// What was seen: the sample patients of the sources, imported as they are, were found by nothing.
    #[test]
    fn a_system_with_a_placeholder_is_refused() {
        refused(r#","identifier":[{"system":"{person_identifier_base}/pid/est/ni","value":"v"}]"#, "has a placeholder");
    }

    #[test]
    fn what_a_patient_is_found_by_is_read() {
        let write = taken(
            r#","id":"17","meta":{"versionId":"3","profile":["p"]},"identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"37605030299"},
               {"value":"w"},{"system":"x"}],"active":false,"birthDate":"1976-05-03","deceasedDateTime":"2024","link":[
               {"type":"replaces","other":{"reference":"Patient/7/_history/1"}},{"type":"seealso","other":{"reference":"Patient/8"}},
               {"type":"replaced-by","other":{"reference":"Patient/9"}},{"type":"replaces","other":{"reference":"https://r.ee/Patient/5"}},
               {"type":"replaces","other":{"reference":"Patient/abc"}}]"#,
        );
        let PatientWrite { id, unless, facts, tail, .. } = write.unwrap();
        assert_eq!((id, unless), (Id::new(17), None));
        assert_eq!((facts.is_active, facts.is_deceased, facts.born), (false, true, Some((2314, 2314))));
        assert_eq!(facts.identifiers, [(estonian_code(), "37605030299".into()), (String::new(), "w".into())]);
        assert_eq!(facts.links, [7, 9].map(|id| Id::new(id).unwrap()));
        let tail = String::from_utf8(tail).unwrap();
        assert!(tail.starts_with(r#","profile":["p"]},"identifier":[{"system":"#), "{tail}");
        assert!(!tail.contains("versionId") && !tail.contains("\"id\""), "{tail}");
    }

    #[test]
    fn who_says_nothing_is_active_and_alive_and_whoever_has_no_id_is_known_by_the_first_identifier() {
        let write = taken(ONE).unwrap();
        let PatientFacts { is_active, is_deceased, born, .. } = write.facts;
        assert_eq!((is_active, is_deceased, born), (true, false, None));
        assert_eq!((write.id, write.unless), (None, Some(("s".into(), "v".into()))));
        let alive = taken(&format!(r#"{ONE},"deceasedBoolean":false"#)).unwrap();
        assert!(!alive.facts.is_deceased);
        assert!(taken(&format!(r#"{ONE},"deceasedBoolean":true"#)).unwrap().facts.is_deceased);
    }

    #[test]
    fn a_date_means_all_its_days() {
        for (date, expected) in [
            ("1970-01-01", Some((0, 0))),
            ("1969-12-31", Some((-1, -1))),
            ("1972", Some((730, 1095))),
            ("1972-02", Some((761, 789))),
            ("2000-02-29", Some((11_016, 11_016))),
            ("0001", Some((-719_162, -718_798))),
            ("9999-12-31", Some((2_932_896, 2_932_896))),
            ("1970-13", None),
            ("1970-02-30", None),
            ("1970-00", None),
            ("+1970", None),
            ("1970-+1", None),
            ("0000", None),
            ("1970-01-01T00:00:00Z", None),
            ("19700101", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(days(date), expected, "{date}");
        }
    }

    #[test]
    fn what_is_no_patient_here_is_refused_in_clear_words() {
        refused("", "at least one identifier");
        refused(r#","identifier":[{"system":"s"}]"#, "at least one identifier");
        for id in ["0", "007", "-1", "a", "9007199254740992"] {
            refused(&format!(r#"{ONE},"id":"{id}""#), &format!("'{id}' is not an id"));
        }
        let code = |value: &str| format!(r#","identifier":[{{"system":"{}","value":"{value}"}}]"#, estonian_code());
        refused(&code("39406240016"), "the check digit is 6, but should be 5");
        refused(&code("3760503029"), "11 digits, not 10");
        refused(&format!(r#"{ONE},"gender":"mees""#), "'mees' is not a code that FHIR R5 knows for Patient.gender");
        refused(&format!(r#"{ONE},"link":[{{"type":"x","other":{{"reference":"Patient/1"}}}}]"#), "Patient.link.type");
        refused(&format!(r#"{ONE},"birthDate":"1.2.1990""#), "(Patient.birthDate)");
        refused(&format!(r#"{ONE},"namme":1"#), "namme");
        let mut other = json::parse(br#"{"resourceType":"Person","id":"1"}"#).unwrap();
        assert!(matches!(read(&mut other, &IdentifierSystems::default()), Err(PersonError::Form(_))));
    }

    #[test]
    fn a_patient_has_its_bounds() {
        let many = |name: &str, item: &str, number: usize| format!(r#","{name}":[{}]"#, vec![item; number].join(","));
        let identifier = r#"{"system":"s","value":"v"}"#;
        assert!(taken(&many("identifier", identifier, PATIENT_IDENTIFIERS_MAX)).is_ok());
        refused(&many("identifier", identifier, PATIENT_IDENTIFIERS_MAX + 1), "at most 100");
        let link = r#"{"type":"replaces","other":{"reference":"Patient/5"}}"#;
        assert!(taken(&[ONE, &many("link", link, PATIENT_LINKS_MAX)].concat()).is_ok());
        refused(&[ONE, &many("link", link, PATIENT_LINKS_MAX + 1)].concat(), "at most 100");
        let long = |bytes: usize| format!(r#","identifier":[{{"value":"{}"}}]"#, "õ".repeat(bytes));
        assert!(taken(&long(IDENTIFIER_CHARACTERS_MAX)).is_ok());
        refused(&long(IDENTIFIER_CHARACTERS_MAX + 1), "more than 1000 characters");
    }
}
