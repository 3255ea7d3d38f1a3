//! Certificates that the profiles allow but that do not serve their purpose. They produce warnings; a setting refuses
//! some of them. Contract 8.7.
//!
//! Elements that do not have R5's form are skipped here, because earlier checks report them.

use super::Names;
use super::personal_code::{PersonalCode, is_registry_code};
use super::section::{self, has_code, plain_text_of};
use fhir::contained::ContainedResources;
use fhir::json::{Json, Object};
use fhir::outcome::{Hcert, Issue, Severity};

/// One way in which a certificate cannot be used.
struct UsabilityRule {
    /// Whether the setting `final_must_be_usable` makes it an error of a final certificate.
    refuses: bool,
    find: fn(&CheckedComposition) -> Vec<Issue>,
}

/// The rules, in the order of Contract 8.7. Each reports its own code and the element concerned.
#[rustfmt::skip]
const RULES: [UsabilityRule; 5] = [
    UsabilityRule { refuses: true,  find: decision_missing },         // HCERT-204
    UsabilityRule { refuses: true,  find: reject_reason_missing },    // HCERT-205
    UsabilityRule { refuses: true,  find: employer_wrong },           // HCERT-206
    UsabilityRule { refuses: false, find: author_code_wrong },        // HCERT-207
    UsabilityRule { refuses: false, find: author_reference_missing }, // HCERT-208
];

/// Decisions that are rejections, as far as the public guide names them; it names no negative decision for drivers.
const REJECTIONS: [(&str, &str); 1] = [("http://snomed.info/sct", "160910001")];

/// The end of the identifier system of registry codes.
const REGISTRY_CODES: &str = "/org/est/br";

/// The problems that keep others from using a certificate. They are warnings; `final_must_be_usable` turns those of a
/// final certificate into errors, as far as their rule says so.
///
/// Source: Contract 8.7.
pub fn check(composition: &Object, names: &Names, final_must_be_usable: bool) -> Vec<Issue> {
    let certificate = CheckedComposition { composition, contained: ContainedResources::of(composition), names };
    let is_strict = final_must_be_usable && certificate.is_final();
    let found = RULES.iter().flat_map(|rule| {
        let severity = if rule.refuses && is_strict { Severity::Error } else { Severity::Warning };
        (rule.find)(&certificate).into_iter().map(move |issue| issue.severity(severity))
    });
    found.collect()
}

/// A Composition and the parts of it that others need.
struct CheckedComposition<'o, 'a> {
    composition: &'o Object<'a>,
    contained: ContainedResources<'o, 'a>,
    names: &'o Names,
}

impl<'o, 'a> CheckedComposition<'o, 'a> {
    fn is_final(&self) -> bool {
        self.composition.get("status").and_then(Json::as_str) == Some("final")
    }

    fn items(&self, name: &str) -> &'o [Json<'a>] {
        self.composition.get(name).and_then(Json::as_array).unwrap_or(&[])
    }

    /// The sections of a code, each with its place.
    fn sections(&self, code: &'static str) -> impl Iterator<Item = (usize, &'o Json<'a>)> {
        let names = self.names;
        self.items("section").iter().enumerate().filter(move |(_, section)| has_code(section, code, names))
    }

    /// The contained resources that the sections of a code refer to, with their places.
    fn entries(&self, code: &'static str) -> impl Iterator<Item = (usize, &'o Json<'a>)> {
        self.sections(code)
            .flat_map(|(_, section)| section.items("entry"))
            .filter_map(|entry| self.contained.find(entry))
    }
}

fn decision_missing(certificate: &CheckedComposition) -> Vec<Issue> {
    let is_missing = certificate.is_final() && certificate.sections(section::DECISION).next().is_none();
    is_missing.then(|| Issue::new(Hcert::DecisionMissing).at("Composition.section")).into_iter().collect()
}

fn reject_reason_missing(certificate: &CheckedComposition) -> Vec<Issue> {
    if section::has_text(certificate.composition, section::REJECT_REASON, certificate.names) {
        return Vec::new();
    }
    let decisions = certificate.entries(section::DECISION).flat_map(|(at, decision)| {
        let codings = decision.get("valueCodeableConcept").map_or(&[][..], |concept| concept.items("coding"));
        codings.iter().map(move |coding| (at, coding))
    });
    let rejections = decisions.filter_map(|(at, coding)| {
        let (system, code) = (coding.text("system")?, coding.text("code")?);
        REJECTIONS.contains(&(system, code)).then(|| {
            let issue = Issue::new(Hcert::RejectReasonMissing).with("code", code.to_owned());
            issue.at(format!("Composition.contained[{at}].value"))
        })
    });
    rejections.collect()
}

/// An employer finds its certificates by the text of the section, which must be its registry code alone. Contract 4.4, 7.3.
fn employer_wrong(certificate: &CheckedComposition) -> Vec<Issue> {
    let wrong = certificate.sections(section::EMPLOYER).filter_map(|(at, section)| {
        let text = plain_text_of(section)?;
        let problem = match is_registry_code(&text) {
            false => "it is not a valid registry code".to_owned(),
            true => format!("the employment names {}", certificate.other_employer(section, &text)?),
        };
        let issue = Issue::new(Hcert::EmployerWrong).with("value", text).with("problem", problem);
        Some(issue.at(format!("Composition.section[{at}].text.div")))
    });
    wrong.collect()
}

impl CheckedComposition<'_, '_> {
    /// A registry code that the employment of a section names beside this one. A number of another register says nothing.
    fn other_employer(&self, section: &Json, code: &str) -> Option<String> {
        let employments = section.items("entry").iter().filter_map(|entry| self.contained.find(entry));
        let performers = employments.flat_map(|(_, employment)| employment.items("performer"));
        let mut codes = performers.filter_map(|performer| {
            let identifier = performer.get("identifier")?;
            let is_registry = identifier.text("system").is_none_or(|system| system.ends_with(REGISTRY_CODES));
            identifier.text("value").filter(|_| is_registry)
        });
        codes.find(|other| *other != code).map(str::to_owned)
    }

    /// Person and institution of the author, as the contained role has them: expression and reference.
    fn author(&self) -> Vec<(&'static AuthorPart, String, Option<&str>)> {
        let role = self.items("author").first().and_then(|author| self.contained.find(author));
        let Some((at, role)) = role else { return Vec::new() };
        let parts = AUTHOR_PARTS.iter().filter_map(|part| {
            let expression = format!("Composition.contained[{at}].{}", part.element);
            Some((part, expression, role.get(part.element)?.text("reference")))
        });
        parts.collect()
    }
}

/// What the author's role names.
struct AuthorPart {
    element: &'static str,
    /// What the reference begins with.
    start: &'static str,
    is_code: fn(&str) -> bool,
    /// In words for messages.
    expected: &'static str,
}

/// Source: specification 2.2.
const AUTHOR_PARTS: [AuthorPart; 2] = [
    AuthorPart {
        element: "practitioner",
        start: "Practitioner/",
        is_code: |code| PersonalCode::parse(code).is_ok(),
        expected: "Practitioner/ followed by a valid personal code",
    },
    AuthorPart {
        element: "organization",
        start: "Organization/",
        is_code: is_registry_code,
        expected: "Organization/ followed by a valid registry code",
    },
];

fn author_code_wrong(certificate: &CheckedComposition) -> Vec<Issue> {
    let wrong = certificate.author().into_iter().filter_map(|(part, expression, reference)| {
        let reference = reference?;
        let unversioned = reference.split_once("/_history/").map_or(reference, |(reference, _)| reference);
        let is_code = unversioned.strip_prefix(part.start).is_some_and(part.is_code);
        let issue = || Issue::new(Hcert::AuthorCodeWrong).with("value", reference.to_owned());
        (!is_code).then(|| issue().with("expected", part.expected).at(format!("{expression}.reference")))
    });
    wrong.collect()
}

fn author_reference_missing(certificate: &CheckedComposition) -> Vec<Issue> {
    let missing = |expected| Issue::new(Hcert::AuthorReferenceMissing).with("expected", expected);
    let parts = certificate.author().into_iter().filter(|(_, _, reference)| reference.is_none());
    let mut found: Vec<Issue> = parts.map(|(part, expression, _)| missing(part.expected).at(expression)).collect();
    if certificate.items("author").first().is_some_and(|author| author.text("reference").is_none()) {
        found.push(missing("a reference to a contained PractitionerRole").at("Composition.author[0]"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;
    use fhir::outcome::Language;

    fn example(name: &str) -> String {
        std::fs::read_to_string(format!("../../examples/{name}.json")).unwrap()
    }

    /// Code, severity and expression of what is found in an example after a change.
    fn told(name: &str, changes: &[(&str, &str)], strict: bool) -> Vec<String> {
        let text = changes.iter().fold(example(name), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let json = json::parse(text.as_bytes()).unwrap();
        let issues = check(json.as_object().unwrap(), &Names::default(), strict);
        let line = |issue: &Issue| {
            format!("{} {} {}", issue.severity_code(), issue.code().code(), issue.expression().join(" "))
        };
        issues.iter().map(line).collect()
    }

    #[test]
    fn right_certificates_can_be_used() {
        for name in ["driver-draft", "driver-final", "driver-final-changed", "driver-external-declaration"] {
            assert_eq!(told(name, &[], true), [""; 0], "{name}");
        }
        for name in ["occupational-draft", "occupational-final", "occupational-rejected"] {
            assert_eq!(told(name, &[], true), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_final_certificate_needs_a_decision_and_a_draft_does_not() {
        let made_final = [(r#""status": "preliminary""#, r#""status": "final""#)];
        assert_eq!(told("driver-draft", &made_final, false), ["warning HCERT-204 Composition.section"]);
        assert_eq!(told("driver-draft", &made_final, true), ["error HCERT-204 Composition.section"]);
        assert_eq!(told("driver-draft", &[], true), [""; 0]);
    }

    #[test]
    fn a_rejection_needs_its_reason() {
        let at = "HCERT-205 Composition.contained[1].value";
        for change in [
            (r#""reject-reason""#, r#""shortened-reason""#),
            ("Krooniline hingamisteede haigus: töö puidutolmus on vastunäidustatud ka kaitsevahenditega.", " &#160; "),
        ] {
            assert_eq!(told("occupational-rejected", &[change], false), [format!("warning {at}")]);
            assert_eq!(told("occupational-rejected", &[change], true), [format!("error {at}")]);
            // What is not completed yet is never refused for it.
            let draft = (
                r#""status": "final",
  "type""#,
                r#""status": "preliminary",
  "type""#,
            );
            assert_eq!(told("occupational-rejected", &[change, draft], true), [format!("warning {at}")]);
        }
        assert_eq!(
            told("occupational-rejected", &[(r#""reject-reason""#, r#""x""#), ("160910001", "160926000")], true),
            [""; 0]
        );
    }

    #[test]
    fn the_employers_text_is_the_registry_code_that_the_employment_names() {
        let div = |text: &str| (r#"xhtml\">16978044<"#, format!(r#"xhtml\">{text}<"#));
        let at = "HCERT-206 Composition.section[5].text.div";
        for text in ["Äriregistri kood: 16978044", "16978045", "1697804", "OÜ Põhjatuule Ladu", "19990011"] {
            let (from, to) = div(text);
            assert_eq!(told("occupational-final", &[(from, &to)], false), [format!("warning {at}")], "{text}");
            assert_eq!(told("occupational-final", &[(from, &to)], true), [format!("error {at}")], "{text}");
        }
        let (from, to) = div(r" <b>1697</b>8044\n");
        assert_eq!(told("occupational-final", &[(from, &to)], true), [""; 0]);
        // An employer of another country's register.
        let other = [(
            r#""https://fhir.ee/sid/org/est/br",
            "value": "16978044""#,
            r#""https://example.lv/org","value": "LV1""#,
        )];
        assert_eq!(told("occupational-final", &other, true), [""; 0]);
    }

    #[test]
    fn the_author_is_known_by_codes_and_never_refused() {
        let person = "Practitioner/49403136515";
        let at = "warning HCERT-207 Composition.contained[0].practitioner.reference";
        for wrong in
            ["Practitioner/abc", "Practitioner/49403136516", "https://a.ee/Practitioner/49403136515", "#author"]
        {
            assert_eq!(told("driver-final", &[(person, wrong)], true), [at], "{wrong}");
        }
        assert_eq!(told("driver-final", &[(person, "Practitioner/49403136515/_history/2")], true), [""; 0]);
        let at = "warning HCERT-207 Composition.contained[0].organization.reference";
        for wrong in ["Organization/foo", "Organization/90006390", "Organization/9000639", "Organization/"] {
            assert_eq!(told("driver-final", &[("Organization/90006399", wrong)], true), [at], "{wrong}");
        }
    }

    #[test]
    fn an_author_without_reference_cannot_be_searched_for() {
        let identifier = (r#""reference": "Practitioner/49403136515""#, r#""identifier": {"value": "49403136515"}"#);
        let at = "warning HCERT-208 Composition.contained[0].practitioner";
        assert_eq!(told("driver-final", &[identifier], true), [at]);
        let display = (r##""reference": "#author""##, r#""display": "Mari Maasikas""#);
        assert_eq!(told("driver-final", &[display], true), ["warning HCERT-208 Composition.author[0]"]);
    }

    #[test]
    fn what_is_no_certificate_is_passed_over() {
        for odd in [r#"{"status":"preliminary"}"#, r#"{"section":1,"contained":{"id":"x"},"author":["x"]}"#] {
            let json = json::parse(odd.as_bytes()).unwrap();
            check(json.as_object().unwrap(), &Names::default(), true);
        }
    }

    #[test]
    fn messages_say_what_follows_in_both_languages() {
        let text = example("occupational-final").replace(r#"xhtml\">16978044<"#, r#"xhtml\">19990011<"#);
        let json = json::parse(text.as_bytes()).unwrap();
        let issues = check(json.as_object().unwrap(), &Names::default(), false);
        assert!(issues[0].text(Language::English).contains("is '19990011', but the employment names 16978044; "));
        assert!(issues[0].text(Language::Estonian).contains("on '19990011', kuid töösuhtes on 16978044; "));
    }
}
