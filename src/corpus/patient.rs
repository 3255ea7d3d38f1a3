//! The patients of a corpus, for the registry that has to know them.

use std::ops::Range;

use super::Corpus;
use super::composition::PATIENT_FIRST;
use super::digits::number;
use crate::registry::Sex;

const PROFILE: &str = "https://fhir.ee/mpi/StructureDefinition/ee-mpi-patient-verified";

impl Corpus {
    /// Subjects that the certificates may refer to, one for five certificates. Less than one in a hundred has none.
    pub fn subjects(&self) -> Range<u64> {
        PATIENT_FIRST..PATIENT_FIRST + self.scale.patients()
    }

    /// Appends a Patient as JSON, minified; nothing for a subject that this corpus has not.
    pub fn write_patient(&self, subject: u64, out: &mut String) {
        let Some((code, given, family)) = self.patient(subject) else { return };
        out.push_str(r#"{"resourceType":"Patient","id":""#);
        number(out, subject);
        out.push_str(r#"","meta":{"profile":[""#);
        out.push_str(PROFILE);
        out.push_str(r#""]},"identifier":[{"system":""#);
        out.push_str("https://fhir.ee/sid/pid/est/ni");
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
    use crate::registry::person;
    use certificate::IdentifierSystems;
    use fhir::json;

    #[test]
    fn every_patient_that_a_certificate_refers_to_is_there_and_hardly_anybody_else() {
        let corpus = Corpus::new(5, 3_000);
        let met: BTreeSet<u64> = corpus.clone().map(|change| change.facts().subject).collect();
        assert!(met.iter().all(|subject| corpus.subjects().contains(subject)));
        assert!(met.len() > 590 && corpus.subjects().count() == 600, "{}", met.len());
    }

    #[test]
    fn a_larger_corpus_has_the_patients_of_a_smaller_one_too() {
        let (small, large) = (Corpus::new(5, 50), Corpus::new(5, 500));
        for subject in small.subjects() {
            assert_eq!(small.patient(subject), large.patient(subject));
        }
        assert_eq!((small.subjects().start, small.subjects().end), (large.subjects().start, 1_010));
    }

    #[test]
    fn a_patient_is_taken_by_the_registry_with_the_id_of_the_subject() {
        let corpus = Corpus::new(5, 300);
        for subject in corpus.subjects() {
            let mut text = String::new();
            corpus.write_patient(subject, &mut text);
            let mut patient = json::parse(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(patient.to_vec()).unwrap(), text, "it is minified");
            let write = person::read(&mut patient, &IdentifierSystems::default())
                .unwrap_or_else(|error| panic!("{error}: {text}"));
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
