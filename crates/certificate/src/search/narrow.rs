//! A search seen by who may not see all: which values it names, and what becomes of conditions on content that a view leaves out.
//!
//! Source: Contract 7.4, 7.5.

use std::collections::HashSet;

use super::condition::{PatientIdentifier, SearchCondition};
use super::filter::{ClassTest, Filter, TokenTest};
use super::parameter::Field;
use super::term::{Term, TermForm};
use super::value::{SearchToken, split, unescape};
use crate::State;
use crate::section::is_advice;
use fhir::narrative::collapsed;

/// The values that a search names by itself, not behind `:not` or `:missing`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositiveValues {
    /// States, as `status` asks for them.
    pub states: Vec<State>,
    /// Values of `category`.
    pub categories: Vec<TokenTest>,
    /// Terms of patients.
    pub subjects: Vec<Term>,
    /// Identifiers that the patient registry is asked about.
    pub identifiers: Vec<PatientIdentifier>,
    /// Texts of the section `employer`.
    pub employers: Vec<String>,
}

impl PositiveValues {
    /// Adds the values that a condition names.
    pub fn take(&mut self, condition: &SearchCondition) {
        match condition {
            SearchCondition::Patients(identifiers) => self.identifiers.extend(identifiers.iter().cloned()),
            SearchCondition::Filter(filter) => self.take_filter(filter),
        }
    }

    fn take_filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Any(parts) => parts.iter().for_each(|part| self.take_filter(part)),
            Filter::Class(ClassTest::State(state)) => self.states.push(*state),
            Filter::Class(ClassTest::Category(TokenTest::Present)) => {}
            Filter::Class(ClassTest::Category(test)) => self.categories.push(test.clone()),
            Filter::Term(term) if term.is_about(Field::Subject) && term.is_form(TermForm::Code) => {
                self.subjects.push(term.clone());
            }
            _ => {}
        }
    }
}

/// The employers that values of `section-code-text` name.
pub fn employers(value: &str) -> impl Iterator<Item = String> {
    split(value, b',').filter_map(|part| {
        let (token, text) = code_and_text(part)?;
        (code(&token) == Some("employer")).then(|| collapsed(&text).into_owned())
    })
}

/// The same condition for a caller who has the employer's view: what the view leaves out is not found. That is what stands only in the advice
/// to the employee, and the stored `subject.identifier`, in whose place the view shows the patient's personal code.
pub fn for_employer(value: &str, filter: Filter) -> Filter {
    without(&advice_terms(value), filter)
}

fn without(advice: &HashSet<Term>, filter: Filter) -> Filter {
    match filter {
        Filter::Not(part) => Filter::Not(Box::new(without(advice, *part))),
        Filter::Any(parts) => Filter::Any(parts.into_iter().map(|part| without(advice, part)).collect()),
        Filter::All(parts) => Filter::All(parts.into_iter().map(|part| without(advice, part)).collect()),
        Filter::Term(term) if term.is_about(Field::SubjectIdentifier) => Filter::Any(Vec::new()),
        Filter::Term(term) => match term.hidden() {
            _ if advice.contains(&term) => Filter::Any(Vec::new()),
            Some(hidden) => Filter::All(vec![Filter::Term(term), Filter::Not(Box::new(Filter::Term(hidden)))]),
            None => Filter::Term(term),
        },
        other => other,
    }
}

/// Terms of the values that name the section of advice to the employee. They are made once: a thousand values of a query, each compared with
/// a thousand, would take half a second.
fn advice_terms(value: &str) -> HashSet<Term> {
    let advice = split(value, b',').filter_map(code_and_text).filter(|(token, _)| code(token).is_some_and(is_advice));
    advice.filter_map(|(token, text)| super::section_code_text::asked(&token, &text)).collect()
}

fn code_and_text(part: &str) -> Option<(SearchToken, String)> {
    let mut parts = split(part, b'$');
    let (code, text) = (parts.next()?, parts.next()?);
    Some((SearchToken::parse(code)?, unescape(text).into_owned()))
}

fn code(token: &SearchToken) -> Option<&str> {
    match token {
        SearchToken::Code(code) | SearchToken::SystemCode(_, code) | SearchToken::CodeWithoutSystem(code) => Some(code),
        SearchToken::System(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::section_code_text;

    #[test]
    fn employers_are_told_whatever_the_system() {
        let told = |value: &str| employers(value).collect::<Vec<_>>();
        assert_eq!(told("employer$123,s|employer$ 4  5 ,decision$6"), ["123", "4 5"]);
        assert!(told("employer").is_empty());
    }

    #[test]
    fn what_only_the_advice_holds_is_not_found() {
        let value = "employee-suggestions$rest,employer$1";
        let term = |code: &str, text| section_code_text::asked(&SearchToken::Code(code.into()), text).unwrap();
        let (advice, employer) =
            (Filter::Term(term("employee-suggestions", "rest")), Filter::Term(term("employer", "1")));
        let found = for_employer(value, Filter::Any(vec![advice, employer]));
        let Filter::Any(parts) = found else { unreachable!("it stays an alternative") };
        assert_eq!(parts[0], Filter::Any(vec![]));
        assert!(matches!(&parts[1], Filter::All(_)));
        let entry = Term::new(Field::Entry, TermForm::Code, "QuestionnaireResponse/1");
        let hidden = Term::new(Field::AdviceEntry, TermForm::Code, "QuestionnaireResponse/1");
        let expected = Filter::All(vec![Filter::Term(entry.clone()), Filter::Not(Box::new(Filter::Term(hidden)))]);
        assert_eq!(for_employer("x", Filter::Term(entry)), expected);
        let of_subject = Filter::Term(Term::new(Field::SubjectIdentifier, TermForm::Code, "131052-308T"));
        let asked = Filter::All(vec![Filter::Not(Box::new(of_subject.clone())), of_subject]);
        let never = Filter::Any(vec![]);
        assert_eq!(for_employer("x", asked), Filter::All(vec![Filter::Not(Box::new(never.clone())), never]));
    }
}
