//! The patients of a corpus, for the registry that has to know them.

use super::Corpus;
use super::certificate::PATIENT_FIRST;
use super::digits::number;
use crate::registry::Sex;
use crate::registry::person::ESTONIAN_CODE;

const PROFILE: &str = "https://fhir.ee/mpi/StructureDefinition/ee-mpi-patient-verified";

impl Corpus {
    /// Subjects that the certificates refer to, each once, in the order of their numbers.
    pub fn subjects(&self) -> impl Iterator<Item = u64> + use<> {
        let mut is_met = vec![false; self.scale.patients() as usize];
        for number in 1..=self.scale.count {
            is_met[self.scale.certificate(number).patient as usize] = true;
        }
        is_met.into_iter().enumerate().filter(|(_, is_met)| *is_met).map(|(index, _)| PATIENT_FIRST + index as u64)
    }

    /// Appends a Patient as JSON, minified; nothing for a subject that this corpus has not.
    pub fn write_patient(&self, subject: u64, out: &mut String) {
        let Some((code, given, family)) = self.patient(subject) else { return };
        out.push_str(r#"{"resourceType":"Patient","id":""#);
        number(out, subject);
        out.push_str(r#"","meta":{"profile":[""#);
        out.push_str(PROFILE);
        out.push_str(r#""]},"identifier":[{"system":""#);
        out.push_str(ESTONIAN_CODE);
        out.push_str(r#"","value":""#);
        out.push_str(code.as_str());
        out.push_str(r#""}],"active":true,"name":[{"use":"official","family":""#);
        out.push_str(family);
        out.push_str(r#"","given":[""#);
        out.push_str(given);
        out.push_str(r#""]}],"gender":""#);
        out.push_str(if code.sex() == Sex::Male { "male" } else { "female" });
        out.push_str(r#"","birthDate":""#);
        out.push_str(&code.birth_date().to_string());
        out.push_str("\"}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fhir::json;
    use crate::registry::person;

    #[test]
    fn every_patient_that_a_certificate_refers_to_is_there_once() {
        let corpus = Corpus::new(5, 300);
        let subjects: Vec<u64> = corpus.subjects().collect();
        let met: BTreeSet<u64> = corpus.clone().map(|change| change.facts().subject).collect();
        assert_eq!(subjects, met.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_patient_is_taken_by_the_registry_with_the_id_of_the_subject() {
        let corpus = Corpus::new(5, 300);
        for subject in corpus.subjects() {
            let mut text = String::new();
            corpus.write_patient(subject, &mut text);
            let mut patient = json::parse(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(patient.to_vec()).unwrap(), text, "it is minified");
            let write = person::read(&mut patient).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(write.id.map(|id| id.get()), Some(subject));
        }
    }

    #[test]
    fn nobody_else_is_written() {
        let mut out = String::new();
        Corpus::new(5, 10).write_patient(PATIENT_FIRST + 2, &mut out);
        Corpus::new(5, 10).write_patient(1, &mut out);
        assert_eq!(out, "");
    }
}
