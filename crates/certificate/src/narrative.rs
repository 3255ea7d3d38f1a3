//! The narrative of a certificate in its own fields: short, Estonian, in terms instead of codes, for the person it is about.
//!
//! A field that is missing or not what R5 says is left out, as the certificate may not have been judged yet. The patient is named by
//! the reference alone. Source: Contract 8.5; Decisions 142 to 146.

mod fields;
mod generated;
mod on_top;
mod page;
mod printed;
mod state;
#[cfg(test)]
pub(super) mod tests;
mod words;

use super::section::{CHANGE_REASON, EMPLOYEE_SUGGESTIONS};
use super::{DisplayTerms, Names};
use fhir::json::{Json, Object};
use fields::NarrativeFields;
use generated::{CLOSING, DIGEST_DIGITS, OPENING, digest};
pub use generated::{GENERATED, is_generated, is_generated_without_digest};
use on_top::on_top;
use page::NarrativePage;
pub use printed::{PrintedCertificate, PrintedRow, PrintedSection};
pub use state::{set_state, without_state};

/// Elements of a resource that stand before its `text`.
const BEFORE_TEXT: &[&str] =
    &["resourceType", "id", "_id", "meta", "implicitRules", "_implicitRules", "language", "_language"];

/// The div of a certificate. The same fields and code lists give the same div. Whatever they contain, it is valid XHTML
/// of at most 50 lines and 10 000 characters.
pub fn generate(composition: &Object, names: &Names, terms: &dyn DisplayTerms) -> String {
    let certificate = NarrativeFields::new(composition, names, terms);
    let mut start = String::with_capacity(4096);
    start.extend([OPENING, "0000000000000000", CLOSING]);
    let on_top = on_top(&certificate);
    start.push_str(on_top.as_deref().unwrap_or_default());
    let mut page = NarrativePage::new(start);
    certificate.write_head(&mut page);
    certificate.write_decision(&mut page);
    for code in ["medical-restrictions", "work-additional-restrictions", "risk-factors"] {
        certificate.write_observations(&mut page, code);
    }
    certificate.write_employment(&mut page);
    for code in ["employer-suggestions", EMPLOYEE_SUGGESTIONS, CHANGE_REASON] {
        page.line(|line| certificate.section_text(line, code));
    }
    page.line(|line| certificate.health_declaration(line));
    let mut div = page.end();
    let digest = digest(&div[OPENING.len() + DIGEST_DIGITS..]);
    div.replace_range(OPENING.len()..OPENING.len() + DIGEST_DIGITS, &digest);
    div
}

/// Gives the certificate the narrative of its fields, in the place of the one it has, or where R5 has its place.
pub fn set(composition: &mut Object, names: &Names, terms: &dyn DisplayTerms) {
    let div = generate(composition, names, terms);
    let text = Json::object([("status", Json::string(GENERATED)), ("div", Json::string(div))]);
    composition.remove("text");
    let at = composition.iter().take_while(|(name, _)| BEFORE_TEXT.contains(name)).count();
    composition.0.insert(at, ("text".into(), text));
}
