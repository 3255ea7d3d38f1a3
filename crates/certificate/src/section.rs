//! Sections the service itself looks for: the reasons of a change, a suspension and a cancellation.

use super::Names;
use fhir::json::{Json, Object};
use fhir::narrative;

/// What was decided. Source: specification 2.5.
pub const DECISION: &str = "decision";

/// Why the decision is a rejection.
pub const REJECT_REASON: &str = "reject-reason";

/// The employer's registry code, by which it finds its certificates. Contract 4.4.
pub const EMPLOYER: &str = "employer";

/// Why a completed certificate was changed; the client's own section. Contract 3.3.
pub const CHANGE_REASON: &str = "change-reason";

/// Why it was suspended; written by `$suspend` alone. Contract 3.4.
pub const SUSPEND_REASON: &str = "suspend-reason";

/// Why it was revoked; written by `$cancel` alone. Contract 3.4.
pub const CANCEL_REASON: &str = "cancel-reason";

/// Advice to the employee, which no employer sees. Contract 7.5.
pub const EMPLOYEE_SUGGESTIONS: &str = "employee-suggestions";

/// Whether a code is that of the advice to the employee, in whatever letters and with whatever between its words: what is taken for it by a
/// reader is shown to no employer.
pub fn is_advice(code: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase())
    }
    letters(code).eq(letters(EMPLOYEE_SUGGESTIONS))
}

/// Whether the certificate brings a reason for its change: a section `change-reason` whose text is not blank once markup is
/// stripped. Contract 3.3.
pub fn has_change_reason(composition: &Object, names: &Names) -> bool {
    has_text(composition, CHANGE_REASON, names)
}

/// Whether a section of a code has a text that is not blank once markup is stripped.
pub(super) fn has_text(composition: &Object, code: &str, names: &Names) -> bool {
    let mut of_code = sections(composition).iter().filter(|section| has_code(section, code, names));
    of_code.any(|section| plain_text_of(section).is_some_and(|text| !narrative::is_blank(&text)))
}

/// What a section says, markup stripped; nothing when it has no text that can be read.
pub(super) fn plain_text_of(section: &Json) -> Option<String> {
    narrative::plain_text(section.get("text")?.text("div")?)
}

/// Takes the sections out that only the service writes, `suspend-reason` and `cancel-reason`, and gives them back in their
/// order. Contract 3.5.
pub fn take_service_sections<'a>(composition: &mut Object<'a>, names: &Names) -> Vec<Json<'a>> {
    let Some(Json::Array(sections)) = composition.get_mut("section") else { return Vec::new() };
    let is_own =
        |section: &mut Json| [SUSPEND_REASON, CANCEL_REASON].into_iter().any(|code| has_code(section, code, names));
    let own = sections.extract_if(.., is_own).collect();
    if sections.is_empty() {
        composition.remove("section");
    }
    own
}

/// Drops the sections that only the service writes from what a client sends, also those within other sections, where a search finds them
/// too; whether there were any. Contract 3.5.
pub fn drop_service_sections(composition: &mut Object, names: &Names) -> bool {
    let mut any = !take_service_sections(composition, names).is_empty();
    if let Some(Json::Array(sections)) = composition.get_mut("section") {
        for section in sections {
            if let Json::Object(section) = section {
                any |= drop_service_sections(section, names);
            }
        }
    }
    any
}

/// Writes a reason into a new section behind the last one: the text escaped, no entry. Contract 3.4.
///
/// `code` is [`SUSPEND_REASON`] or [`CANCEL_REASON`]; `text` holds no character that XML forbids.
pub fn push_reason_section<'a>(composition: &mut Object<'a>, code: &'static str, text: &str, names: &Names) {
    let coding = Json::object([("system", Json::string(names.section_system())), ("code", Json::string(code))]);
    let div = narrative::section_text(text);
    let section = Json::object([
        ("code", Json::object([("coding", Json::Array(vec![coding]))])),
        ("text", Json::object([("status", Json::string("additional")), ("div", Json::string(div))])),
    ]);
    match composition.get_mut("section") {
        Some(Json::Array(sections)) => sections.push(section),
        _ => composition.set("section", Json::Array(vec![section])),
    }
}

fn sections<'o, 'a>(composition: &'o Object<'a>) -> &'o [Json<'a>] {
    composition.get("section").and_then(Json::as_array).unwrap_or(&[])
}

/// Whether a section is of one of the service's codes.
pub(super) fn has_code(section: &Json, code: &str, names: &Names) -> bool {
    let codings = section.get("code").map_or(&[][..], |concept| concept.items("coding"));
    codings.iter().any(|coding| coding.text("code") == Some(code) && in_section_system(coding, names))
}

/// Compares without building the address, as this runs for every section of every write.
fn in_section_system(coding: &Json, names: &Names) -> bool {
    let path = coding.text("system").and_then(|system| system.strip_prefix(names.code_system_base.as_str()));
    path == Some("/CodeSystem/tervisetoendi-sektsioon")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    const SYSTEM: &str = "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon";

    fn composition(sections: &[(&str, &str, &str)]) -> Json<'static> {
        let sections: Vec<String> = sections
            .iter()
            .map(|(system, code, div)| {
                format!(
                    r#"{{"code":{{"coding":[{{"system":"{system}","code":"{code}"}}]}},"text":{{"status":"additional","div":"{div}"}}}}"#
                )
            })
            .collect();
        let text = format!(r#"{{"resourceType":"Composition","section":[{}],"title":"T"}}"#, sections.join(","));
        json::parse(text.as_bytes()).unwrap().into_owned()
    }

    fn brings(system: &str, code: &str, div: &str) -> bool {
        has_change_reason(composition(&[(system, code, div)]).as_object().unwrap(), &Names::default())
    }

    #[test]
    fn a_change_reason_says_something_under_the_right_code() {
        assert!(brings(SYSTEM, "change-reason", "<div>Kuupäev oli vale</div>"));
        for unseen in ['\u{200b}', '\u{feff}', '\u{2060}', '\u{ad}', '\u{202e}', '\u{3164}', '\u{2800}', '\u{a0}'] {
            assert!(!brings(SYSTEM, "change-reason", &format!("<div>{unseen}</div>")), "{unseen:?}");
        }
        assert!(!brings(SYSTEM, "change-reason", "<div> <br/>&#160;</div>"));
        assert!(!brings(SYSTEM, "reject-reason", "<div>Kuupäev oli vale</div>"));
        assert!(!brings("https://other.ee/CodeSystem/tervisetoendi-sektsioon", "change-reason", "<div>x</div>"));
        assert!(!has_change_reason(&Object::default(), &Names::default()));
        let odd = json::parse(br#"{"section":{"code":1}}"#).unwrap();
        assert!(!has_change_reason(odd.as_object().unwrap(), &Names::default()));
    }

    #[test]
    fn the_services_own_sections_are_taken_and_all_others_stay() {
        let div = "<div>x</div>";
        let given = [
            (SYSTEM, "decision", div),
            (SYSTEM, "suspend-reason", div),
            ("https://other.ee", "cancel-reason", div),
            (SYSTEM, "cancel-reason", div),
        ];
        let Json::Object(mut changed) = composition(&given) else { unreachable!() };
        let taken = take_service_sections(&mut changed, &Names::default());
        assert_eq!(taken, sections(composition(&[given[1], given[3]]).as_object().unwrap()));
        assert_eq!(Json::Object(changed), composition(&[given[0], given[2]]));
    }

    #[test]
    fn a_client_hides_none_of_the_services_sections_in_another() {
        let (decision, reason) = ((SYSTEM, "decision", "<div>x</div>"), (SYSTEM, "cancel-reason", "<div>FAKE</div>"));
        let within = |outer: Json<'static>, inner: Json<'static>| {
            let Json::Object(mut outer) = outer else { unreachable!() };
            let Some(Json::Array(sections)) = outer.get_mut("section") else { unreachable!() };
            let [Json::Object(first)] = &mut sections[..] else { unreachable!() };
            first.set("section", inner.get("section").unwrap().clone());
            outer
        };
        let mut sent = within(composition(&[decision]), composition(&[decision, reason]));
        assert!(drop_service_sections(&mut sent, &Names::default()));
        assert_eq!(sent, within(composition(&[decision]), composition(&[decision])));
        assert!(!drop_service_sections(&mut sent, &Names::default()));
    }

    #[test]
    fn no_empty_list_of_sections_is_left() {
        let Json::Object(mut changed) = composition(&[(SYSTEM, "suspend-reason", "<div>x</div>")]) else {
            unreachable!()
        };
        take_service_sections(&mut changed, &Names::default());
        assert_eq!(changed.get("section"), None);
    }

    #[test]
    fn a_reason_is_written_last_and_cannot_smuggle_markup() {
        let Json::Object(mut changed) = composition(&[(SYSTEM, "decision", "<div>x</div>")]) else { unreachable!() };
        push_reason_section(&mut changed, SUSPEND_REASON, "a < b & <script>", &Names::default());
        let last = sections(&changed).last().unwrap();
        assert!(has_code(last, SUSPEND_REASON, &Names::default()));
        assert_eq!(last.get("entry"), None);
        let text = last.get("text").unwrap();
        assert_eq!(text.text("status"), Some("additional"));
        assert_eq!(
            text.text("div"),
            Some(r#"<div xmlns="http://www.w3.org/1999/xhtml">a &lt; b &amp; &lt;script&gt;</div>"#)
        );
        assert_eq!(narrative::plain_text(text.text("div").unwrap()).as_deref(), Some("a < b & <script>"));
        assert_eq!(sections(&changed).len(), 2);
    }

    #[test]
    fn a_certificate_without_sections_gets_its_first_one() {
        let mut composition = Object::default();
        push_reason_section(&mut composition, CANCEL_REASON, "Viga", &Names::default());
        assert_eq!(sections(&composition).len(), 1);
    }
}
