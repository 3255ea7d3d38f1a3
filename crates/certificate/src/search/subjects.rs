//! The patients a search asks about, and the same search asking about everybody who is the same person. Contract 7.3.

use std::collections::HashMap;

use super::filter::Filter;
use super::parameter::Field;
use super::term::{Term, TermForm};

const PATIENT: &str = "Patient/";

impl Filter {
    /// Ids of the patients whose certificates are asked for or left out (`200`), each once.
    pub fn patients(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.each_term(&mut |term| {
            if let Some(id) = patient(term)
                && !found.contains(&id)
            {
                found.push(id);
            }
        });
        found
    }

    /// Whether one of the patients is such.
    pub fn has_patient(&self, is_such: &impl Fn(&str) -> bool) -> bool {
        let mut has = false;
        self.each_term(&mut |term| has = has || patient(term).is_some_and(is_such));
        has
    }

    /// Puts in the place of each patient all who are the same person. `linked` tells the others of a patient, by id.
    pub fn with_linked_patients(self, linked: &HashMap<String, Vec<String>>) -> Filter {
        let each = |parts: Vec<Filter>| parts.into_iter().map(|part| part.with_linked_patients(linked)).collect();
        match self {
            Filter::All(parts) => Filter::All(each(parts)),
            Filter::Any(parts) => Filter::Any(each(parts)),
            Filter::Not(part) => Filter::Not(Box::new(part.with_linked_patients(linked))),
            Filter::Term(term) => match patient(&term).and_then(|id| linked.get(id)) {
                Some(others) if !others.is_empty() => {
                    let subject = |id: &String| Term::new(Field::Subject, TermForm::Code, &[PATIENT, id].concat());
                    let others: Vec<Filter> = others.iter().map(|id| Filter::Term(subject(id))).collect();
                    Filter::Any(std::iter::once(Filter::Term(term)).chain(others).collect())
                }
                _ => Filter::Term(term),
            },
            other => other,
        }
    }

    fn each_term<'f>(&'f self, visit: &mut impl FnMut(&'f Term)) {
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().for_each(|part| part.each_term(visit)),
            Filter::Not(part) => part.each_term(visit),
            Filter::Term(term) => visit(term),
            Filter::Ids(_) | Filter::Class(_) | Filter::Time(..) | Filter::Title(_) => {}
        }
    }
}

/// The id of the patient a term names. An id of more than forty characters is kept as a digest and cannot be followed.
fn patient(term: &Term) -> Option<&str> {
    term.verbatim(Field::Subject, TermForm::Code)?.strip_prefix(PATIENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(id: &str) -> Filter {
        Filter::Term(Term::new(Field::Subject, TermForm::Code, &format!("Patient/{id}")))
    }

    #[test]
    fn every_patient_of_a_search_brings_those_who_are_the_same_person() {
        let other = Filter::Term(Term::new(Field::Entry, TermForm::Code, "Patient/7"));
        let filter = Filter::All(vec![
            Filter::Any(vec![subject("1"), subject("2")]),
            Filter::Not(Box::new(subject("1"))),
            other.clone(),
        ]);
        assert_eq!(filter.patients(), ["1", "2"]);
        assert!(filter.has_patient(&|id| id == "2") && !filter.has_patient(&|id| id == "7"));
        let linked = HashMap::from([("1".to_owned(), vec!["3".to_owned(), "4".to_owned()]), ("2".to_owned(), vec![])]);
        let all = || Filter::Any(vec![subject("1"), subject("3"), subject("4")]);
        let expected = Filter::All(vec![Filter::Any(vec![all(), subject("2")]), Filter::Not(Box::new(all())), other]);
        assert_eq!(filter.with_linked_patients(&linked), expected);
    }

    #[test]
    fn an_id_too_long_to_be_kept_is_left_as_it_is() {
        let long = subject(&"1".repeat(64));
        assert!(long.patients().is_empty());
    }
}
