//! The body of `$suspend` and `$cancel`: a Parameters resource with the one parameter `reason`. Contract 3.4.

use crate::interaction::limits::REASON_CHARACTERS_MAX;
use fhir::json;
use fhir::narrative;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::shape;

/// Reads the one parameter `reason`.
///
/// # Errors
/// The body is no Parameters resource or holds anything else; the reason is blank, too long, or holds what XML has no place for.
pub fn reason(body: &[u8]) -> Result<String, Outcome> {
    let mut json = json::parse(body)?;
    shape::expect(&mut json, "Parameters")?;
    let wrong = || Outcome::from(Issue::new(Hcert::ParametersWrong).at("Parameters.parameter"));
    let [parameter] = json.items("parameter") else { return Err(wrong()) };
    let (Some("reason"), Some(reason)) = (parameter.text("name"), parameter.text("valueString")) else {
        return Err(wrong());
    };
    let at = "Parameters.parameter[0].value";
    if narrative::is_blank(reason) {
        return Err(Issue::new(Hcert::ReasonBlank).at(at).into());
    }
    if reason.chars().count() > REASON_CHARACTERS_MAX || !reason.chars().all(is_xml) {
        return Err(Issue::new(Hcert::ReasonWrong).with("max", REASON_CHARACTERS_MAX.to_string()).at(at).into());
    }
    Ok(reason.to_owned())
}

/// XML 1.0, production `Char`.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}
