//! What an employer is shown of a certificate: everything but the advice to the employee.
//!
//! Source: Contract 7.5.

use std::collections::HashSet;

use super::section::is_advice;
use super::{DisplayTerms, Names, narrative};
use fhir::contained;
use fhir::json::{Json, Object};

/// Makes a certificate what its employer is shown: the advice and the contained resources that only it used go, `meta.profile` names
/// the employer's profile, `text` is written anew, and `subject.identifier` is the patient's Estonian personal code, where it is known.
///
/// `identifier` is system and value.
pub fn show<'a>(
    composition: &mut Object<'a>,
    identifier: Option<(&'a str, &'a str)>,
    names: &Names,
    terms: &dyn DisplayTerms,
) {
    let before: Vec<String> = contained::in_use(composition).into_iter().map(str::to_owned).collect();
    without_advice(composition);
    if let Some(Json::Array(contained)) = composition.get_mut("contained") {
        for resource in contained {
            if let Json::Object(resource) = resource
                && resource.get("section").is_some()
            {
                without_advice(resource);
                // It may repeat the advice.
                resource.remove("text");
            }
        }
    }
    let after = contained::in_use(composition);
    let gone: HashSet<String> = before.into_iter().filter(|id| !after.contains(id.as_str())).collect();
    if let Some(Json::Array(contained)) = composition.get_mut("contained") {
        contained.retain(|resource| !gone.contains(resource.text("id").unwrap_or_default()));
        if contained.is_empty() {
            composition.remove("contained");
        }
    }
    let profile = Json::Array(vec![Json::string(names.employer_profile())]);
    match composition.get_mut("meta") {
        Some(Json::Object(meta)) => meta.set("profile", profile),
        _ => composition.set("meta", Json::object([("profile", profile)])),
    }
    if let Some(Json::Array(subjects)) = composition.get_mut("subject") {
        for subject in subjects {
            let Json::Object(subject) = subject else { continue };
            match identifier {
                Some((system, value)) => {
                    let pair = [("system", Json::string(system)), ("value", Json::string(value))];
                    subject.set("identifier", Json::object(pair));
                }
                None => drop(subject.remove("identifier")),
            }
        }
    }
    narrative::set(composition, names, terms);
}

/// Takes the sections of advice out, at any depth. Their code alone says what they are, whatever its system.
fn without_advice(parent: &mut Object) {
    let Some(Json::Array(sections)) = parent.get_mut("section") else { return };
    sections.retain(|section| {
        let codings = section.get("code").map_or(&[][..], |concept| concept.items("coding"));
        codings.iter().all(|coding| !coding.text("code").is_some_and(is_advice))
    });
    for section in sections.iter_mut() {
        if let Json::Object(section) = section {
            without_advice(section);
        }
    }
    if sections.is_empty() {
        parent.remove("section");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    const SHARED: &str = r##"{"resourceType":"Composition","id":"1","meta":{"versionId":"2","profile":["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational"]},
        "text":{"status":"generated","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">rest a lot</div>"},
        "contained":[{"resourceType":"PractitionerRole","id":"role"},{"resourceType":"Observation","id":"both"},
            {"resourceType":"Observation","id":"advice","hasMember":[{"reference":"#deep"}]},{"resourceType":"Observation","id":"deep"},
            {"resourceType":"Observation","id":"named"}],
        "subject":[{"reference":"Patient/200","identifier":{"value":"x"}}],"author":[{"reference":"#role"}],"title":"T",
        "section":[{"code":{"coding":[{"code":"decision"}]},"entry":[{"reference":"#both"}],"section":[{"code":{"coding":[{"code":"employee-suggestions"}]},"text":{"div":"<div>deep rest</div>"}}]},
            {"code":{"coding":[{"code":"employee-suggestions"}]},"text":{"div":"<div>rest</div>"},"entry":[{"reference":"#advice"},{"reference":"#both"}],"extension":[{"url":"http://x","valueUri":"#named"}]}]}"##;

    fn shown(identifier: Option<(&'static str, &'static str)>) -> String {
        let Json::Object(mut composition) = json::parse(SHARED.as_bytes()).unwrap().into_owned() else {
            unreachable!()
        };
        show(&mut composition, identifier, &Names::default(), &narrative::tests::Few);
        String::from_utf8(Json::Object(composition).to_vec()).unwrap()
    }

    #[test]
    fn the_advice_and_what_only_it_used_are_gone() {
        let shown = shown(Some(("https://fhir.ee/sid/pid/est/ni", "37605030299")));
        for gone in
            ["rest", "employee-suggestions", r#""id":"advice""#, r#""id":"deep""#, r#""id":"named""#, r#""value":"x""#]
        {
            assert!(!shown.contains(gone), "{gone} in {shown}");
        }
        for stays in [r#""id":"role""#, r#""id":"both""#, "decision", r#""versionId":"2""#, "37605030299"] {
            assert!(shown.contains(stays), "{stays} not in {shown}");
        }
        assert!(shown.contains("StructureDefinition/ee-health-certificate-occupational-employer\""));
    }

    /// What was seen: a certificate inside a certificate was shown with its advice.
    #[test]
    fn advice_goes_from_contained_certificates_too() {
        let text = SHARED.replace(
            r#"{"resourceType":"Observation","id":"both"}"#,
            r#"{"resourceType":"Composition","id":"both","text":{"div":"<div>rest</div>"},"section":[{"code":{"coding":[{"code":"employee-suggestions"}]},"title":"rest"}]}"#,
        );
        assert_ne!(text, SHARED);
        let Json::Object(mut composition) = json::parse(text.as_bytes()).unwrap().into_owned() else { unreachable!() };
        show(&mut composition, None, &Names::default(), &narrative::tests::Few);
        let shown = String::from_utf8(Json::Object(composition).to_vec()).unwrap();
        assert!(shown.contains(r#""id":"both""#) && !shown.contains("rest"), "{shown}");
    }

    #[test]
    fn an_unknown_personal_code_is_left_out() {
        assert!(!shown(None).contains("identifier"));
    }
}
