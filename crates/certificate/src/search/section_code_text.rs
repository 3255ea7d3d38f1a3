//! Code and text of a section as one value, which is how a certificate is found by its employer.
//!
//! Row and query build the value here and nowhere else, so they agree. Specification 4.6; Contract 4.4.

use super::parameter::Field;
use super::term::{Term, TermForm};
use super::value::SearchToken;
use fhir::narrative::collapsed;

/// The terms of one coding of a section with this text.
pub fn terms(system: Option<&str>, code: &str, text: &str) -> [Term; 2] {
    let text = &collapsed(text);
    let exact = match system {
        Some(system) => term(TermForm::SystemCode, &[system, "|", code], text),
        None => term(TermForm::CodeWithoutSystem, &[code], text),
    };
    [term(TermForm::Code, &[code], text), exact]
}

/// The term that finds a section by code and text. A system alone names no section: nothing.
pub fn asked(token: &SearchToken, text: &str) -> Option<Term> {
    let text = &collapsed(text);
    Some(match token {
        SearchToken::Code(code) => term(TermForm::Code, &[code], text),
        SearchToken::SystemCode(system, code) => term(TermForm::SystemCode, &[system, "|", code], text),
        SearchToken::CodeWithoutSystem(code) => term(TermForm::CodeWithoutSystem, &[code], text),
        SearchToken::System(_) => return None,
    })
}

/// `code` in its parts, U+001F, `text` with its white space collapsed and trimmed. The separator is a character that XML forbids, so
/// no code can reach over into the text.
fn term(form: TermForm, code: &[&str], text: &str) -> Term {
    Term::of_parts(Field::SectionCodeText, form, code.iter().copied().chain(["\u{1f}", text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_ask_finds_its_section_and_only_it() {
        let of_row = terms(Some("s"), "employer", "16978044");
        let asked = |token: &SearchToken, text: &str| of_row.contains(&asked(token, text).unwrap());
        assert!(asked(&SearchToken::Code("employer".into()), " 16978044\n"));
        assert!(asked(&SearchToken::SystemCode("s".into(), "employer".into()), "16978044"));
        assert!(!asked(&SearchToken::CodeWithoutSystem("employer".into()), "16978044"));
        assert!(!asked(&SearchToken::SystemCode("t".into(), "employer".into()), "16978044"));
        assert!(!asked(&SearchToken::Code("employer".into()), "1697804"));
        assert!(!asked(&SearchToken::Code("employe".into()), "r16978044"));
        let without = terms(None, "employer", "16978044");
        assert!(
            without.contains(&super::asked(&SearchToken::CodeWithoutSystem("employer".into()), "16978044").unwrap())
        );
    }
}
