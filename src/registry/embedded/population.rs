//! A stand-in for the population register: it knows everybody who could have a personal code, and makes them up from its digits.
//!
//! Source: Contract 6.2.

use jiff::civil::{Date, date};

use crate::registry::names::{FAMILY, FEMALE, MALE};
use crate::registry::{PersonalCode, PersonalCodeError, Sex};
use engine::PatientFacts;
use fhir::json::{Json, Object};

/// Why the register knows nobody: its own code.
pub(super) fn refusal(error: PersonalCodeError) -> &'static str {
    match error {
        PersonalCodeError::Length { .. } => "10001",
        PersonalCodeError::NotADigit { .. } => "10002",
        PersonalCodeError::Century { .. } => "10003",
        PersonalCodeError::BirthDate => "10004",
        PersonalCodeError::CheckDigit { .. } => "10005",
    }
}

/// The person with a code, as a Patient without id and version: the same every time. Nobody when the day of birth lies after `today`.
///
/// `system` is the identifier system of Estonian personal codes.
pub(super) fn person(code: PersonalCode, system: &str, today: Date) -> Option<(Json<'static>, PatientFacts)> {
    let birth = code.birth_date();
    if birth > today {
        return None;
    }
    let (gender, given) = match code.sex() {
        Sex::Male => ("male", MALE),
        Sex::Female => ("female", FEMALE),
    };
    let number: u64 = code.as_str().parse().expect("a personal code is eleven digits");
    // Codes of neighbours differ in their last digits only, so the number is spread over the names by a factor without a divisor in common.
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17;
    let pick = |list: &[&'static str], number: u64| Json::string(list[(number % list.len() as u64) as usize]);
    let text = |text: &str| Json::string(text.to_owned());
    let identifier = Json::object([("system", text(system)), ("value", text(code.as_str()))]);
    let name = Json::object([
        ("use", Json::string("official")),
        ("family", pick(FAMILY, spread)),
        ("given", Json::Array(vec![pick(given, spread >> 20)])),
    ]);
    let day = (birth - date(1970, 1, 1)).get_days();
    let facts = PatientFacts {
        is_active: true,
        is_deceased: false,
        born: Some((day, day)),
        identifiers: vec![(system.to_owned(), code.to_string())],
        links: Vec::new(),
    };
    let person = Json::Object(Object(vec![
        ("resourceType".into(), Json::string("Patient")),
        ("identifier".into(), Json::Array(vec![identifier])),
        ("active".into(), Json::Bool(true)),
        ("name".into(), Json::Array(vec![name])),
        ("gender".into(), Json::string(gender)),
        ("birthDate".into(), text(&birth.to_string())),
    ]));
    Some((person, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::shape;

    const SYSTEM: &str = "https://fhir.ee/sid/pid/est/ni";

    #[test]
    fn a_person_is_made_of_the_digits_and_the_same_every_time() {
        let code = PersonalCode::parse("49403136515").unwrap();
        let made = |code: PersonalCode| person(code, SYSTEM, date(2026, 1, 1)).unwrap();
        let (mut patient, facts) = made(code);
        assert_eq!(facts.born, Some((8_837, 8_837)));
        assert!(shape::expect(&mut patient, "Patient").is_ok());
        assert_eq!((patient.text("gender"), patient.text("birthDate")), (Some("female"), Some("1994-03-13")));
        assert_eq!(patient, made(code).0);
        assert_ne!(patient.get("name"), made(PersonalCode::parse("37605030299").unwrap()).0.get("name"));
    }

    #[test]
    fn nobody_is_born_tomorrow() {
        let code = PersonalCode::new(Sex::Male, date(2026, 1, 2), 1).unwrap();
        assert!(person(code, SYSTEM, date(2026, 1, 1)).is_none());
        assert!(person(code, SYSTEM, date(2026, 1, 2)).is_some());
    }
}
