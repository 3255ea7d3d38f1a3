//! The people of a new embedded registry: invented, and together every kind of patient that a caller can meet.

use super::person;
use certificate::IdentifierSystems;
use engine::PatientWrite;
use fhir::json;

/// One Patient a line. `{person_identifier_base}` stands where the setting comes.
const TEXT: &str = include_str!("../../data/patients.ndjson");

/// Some twenty patients, ids from 200. `Patient/200` is the one of `examples/`.
pub fn samples(systems: &IdentifierSystems) -> Vec<PatientWrite> {
    let read = |line: &str| person::read(&mut json::parse_stored(line.as_bytes()), systems);
    filled(systems).lines().map(|line| read(line).expect("a test reads every line")).collect()
}

/// The base is an absolute address, so nothing of it has to be escaped in JSON.
fn filled(systems: &IdentifierSystems) -> String {
    TEXT.replace("{person_identifier_base}", systems.base())
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::registry::person::days;
    use crate::registry::{PersonalCode, Sex};

    const ESTONIAN: &str = "https://fhir.ee/sid/pid/est/ni";

    fn samples() -> Vec<PatientWrite> {
        super::samples(&IdentifierSystems::default())
    }

    fn text() -> String {
        filled(&IdentifierSystems::default())
    }

    #[test]
    fn every_sample_is_a_patient_that_is_taken() {
        for line in text().lines() {
            let mut patient = json::parse(line.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(patient.to_vec()).unwrap(), line, "it is minified");
            person::read(&mut patient, &IdentifierSystems::default()).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }

    #[test]
    fn ids_count_up_from_two_hundred() {
        let ids: Vec<_> = samples().iter().map(|write| write.id.unwrap().get()).collect();
        assert_eq!(ids, (200..220).collect::<Vec<_>>());
    }

    #[test]
    fn birth_date_and_sex_are_those_of_the_code() {
        for line in text().lines() {
            let patient = json::parse(line.as_bytes()).unwrap();
            let code = patient.items("identifier").iter().find(|found| found.text("system") == Some(ESTONIAN));
            let Some(code) = code.and_then(|code| code.text("value")) else { continue };
            let code = PersonalCode::parse(code).unwrap();
            assert_eq!(patient.text("birthDate"), Some(code.birth_date().to_string().as_str()), "{line}");
            let gender = if code.sex() == Sex::Male { "male" } else { "female" };
            assert_eq!(patient.text("gender"), Some(gender), "{line}");
        }
    }

    /// Digits of the day and the serial number together leave a rest over 31, which the last character names.
    #[test]
    fn finnish_codes_have_their_check_character() {
        let mut met = 0;
        for (_, value) in samples()
            .iter()
            .flat_map(|write| &write.facts.identifiers)
            .filter(|(system, _)| system == "https://fhir.ee/sid/pid/fin/ni")
        {
            let digits: String = value[..10].chars().filter(char::is_ascii_digit).collect();
            let rest = digits.parse::<usize>().unwrap() % 31;
            assert_eq!(value.chars().last(), "0123456789ABCDEFHJKLMNPRSTUVWXY".chars().nth(rest), "{value}");
            met += 1;
        }
        assert_eq!(met, 2);
    }

    #[test]
    fn every_kind_of_patient_is_there() {
        let samples = samples();
        let of = |id: u64| &samples.iter().find(|write| write.id.is_some_and(|own| own.get() == id)).unwrap().facts;
        assert_eq!(of(200).identifiers, [(ESTONIAN.to_owned(), "39406240015".to_owned())]);
        assert!(of(203).is_deceased && of(203).is_active && of(219).is_deceased);
        assert!(!of(204).is_active);
        assert_eq!((of(205).links[0].get(), of(206).links[0].get()), (206, 205));
        assert!(of(209).born.unwrap().0 > days("2010").unwrap().1, "a minor");
        assert_eq!((of(210).born, of(211).born), (None, days("1961")));
        assert!(of(214).identifiers.iter().all(|(system, _)| system == "https://tehik.ee/mpi/external-reference"));

        let mut owners: HashMap<_, HashSet<_>> = HashMap::new();
        for write in &samples {
            for identifier in &write.facts.identifiers {
                owners.entry(identifier).or_default().insert(write.id);
            }
        }
        let shared: Vec<_> = owners.iter().filter(|(_, owners)| owners.len() > 1).collect();
        assert_eq!(shared.len(), 1, "one identifier that several fit");
        assert_eq!((shared[0].0.0.as_str(), shared[0].1.len()), ("https://fhir.ee/sid/pid/lva/ppn", 2));
    }

    #[test]
    fn identifiers_are_of_the_systems_of_the_settings() {
        let own = IdentifierSystems::new("https://example.ee/id");
        let met = super::samples(&own);
        let systems: Vec<&str> =
            met.iter().flat_map(|write| &write.facts.identifiers).map(|(system, _)| system.as_str()).collect();
        let is_own = |system: &&str| system.starts_with(own.persons()) || system.starts_with("https://tehik.ee/mpi/");
        assert!(systems.len() > 20 && systems.iter().all(is_own), "{systems:?}");
        assert_eq!(met[0].alone, Some((own.estonian_code().to_owned(), "39406240015".to_owned())));
    }
}
