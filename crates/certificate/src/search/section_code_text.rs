//! Code and text of a section as one value, which is how a certificate is found by its employer.
//!
//! Row and query build the value here and nowhere else, so they agree. Specification 4.6; Contract 4.4.

use super::term::{Field, Form, Term};
use super::value::Token;
use fhir::narrative::collapsed;

/// The terms of one coding of a section with this text.
pub fn terms(system: Option<&str>, code: &str, text: &str) -> [Term; 2] {
    let text = &collapsed(text);
    let exact = match system {
        Some(system) => term(Form::SystemCode, &[system, "|", code], text),
        None => term(Form::CodeWithoutSystem, &[code], text),
    };
    [term(Form::Code, &[code], text), exact]
}

/// The term that finds a section by code and text. A system alone names no section: nothing.
pub fn asked(token: &Token, text: &str) -> Option<Term> {
    let text = &collapsed(text);
    Some(match token {
        Token::Code(code) => term(Form::Code, &[code], text),
        Token::SystemCode(system, code) => term(Form::SystemCode, &[system, "|", code], text),
        Token::CodeWithoutSystem(code) => term(Form::CodeWithoutSystem, &[code], text),
        Token::System(_) => return None,
    })
}

/// `code` in its parts, U+001F, `text` with its white space collapsed and trimmed. The separator is a character that XML forbids, so
/// no code can reach over into the text.
fn term(form: Form, code: &[&str], text: &str) -> Term {
    Term::of_parts(Field::SectionCodeText, form, code.iter().copied().chain(["\u{1f}", text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_ask_finds_its_section_and_only_it() {
        let of_row = terms(Some("s"), "employer", "16978044");
        let asked = |token: &Token, text: &str| of_row.contains(&asked(token, text).unwrap());
        assert!(asked(&Token::Code("employer".into()), " 16978044\n"));
        assert!(asked(&Token::SystemCode("s".into(), "employer".into()), "16978044"));
        assert!(!asked(&Token::CodeWithoutSystem("employer".into()), "16978044"));
        assert!(!asked(&Token::SystemCode("t".into(), "employer".into()), "16978044"));
        assert!(!asked(&Token::Code("employer".into()), "1697804"));
        assert!(!asked(&Token::Code("employe".into()), "r16978044"));
        let without = terms(None, "employer", "16978044");
        assert!(without.contains(&super::asked(&Token::CodeWithoutSystem("employer".into()), "16978044").unwrap()));
    }
}
