//! Codes and the value sets they must belong to. Contract 8.3.

use std::borrow::Cow;

use super::walk::ProfileWalk;
use crate::terminology::Membership;
use fhir::codes::Codes;
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue};

/// Codes that a message lists.
const LISTED_MAX: usize = 20;

impl<'a> ProfileWalk<'a> {
    /// A required binding of R5 itself: to a value set whose codes the table of codes has.
    pub(super) fn r5_codes(&mut self, value: &Json, type_name: &str, codes: &'static Codes, value_set: &'static str) {
        let fits = match type_name {
            "code" | "string" | "uri" => value.as_str().is_none_or(|code| codes.has_code(code)),
            _ => {
                let codings = codings(value, type_name);
                let mut pairs = codings.iter().filter_map(|coding| Some((coding.text("system"), coding.text("code")?)));
                pairs.any(|(system, code)| codes.has(system, code))
            }
        };
        if fits {
            return;
        }
        self.not_a_code(value, type_name, value_set, codes.words(LISTED_MAX));
    }

    /// A required binding of a profile.
    ///
    /// `r5` is what R5 itself allows here: it tells which system a value of type `code` is of.
    pub(super) fn value_set(
        &mut self,
        value: &Json,
        type_name: &str,
        r5: Option<&'static Codes>,
        value_set: &str,
        rule: u16,
    ) {
        let membership = match (type_name, value.as_str()) {
            ("code" | "string" | "uri", Some(code)) => {
                let system = r5.and_then(|codes| codes.system_of(code));
                self.terminology.judge(value_set, system, code)
            }
            ("code" | "string" | "uri", None) => return,
            _ => {
                let codings = codings(value, type_name);
                // A coding without system names no code of any list.
                let pairs = codings.iter().filter_map(|coding| Some((coding.text("system")?, coding.text("code")?)));
                let judged = pairs.map(|(system, code)| self.terminology.judge(value_set, Some(system), code));
                judged.max().unwrap_or(Membership::NotMember)
            }
        };
        match membership {
            Membership::Member => {}
            Membership::Unknown => {
                let path = &self.path;
                self.problems.warn(|| {
                    let issue = Issue::new(Hcert::CodeUnknown).with("code", code_words(value, type_name));
                    issue.with("value_set", value_set.to_owned()).at(path.expression())
                });
            }
            Membership::NotMember => {
                self.broken.push(rule);
                let allowed = self.terminology.allowed(value_set);
                self.not_a_code(value, type_name, value_set, allowed.into());
            }
        }
    }

    fn not_a_code(&mut self, value: &Json, type_name: &str, value_set: &str, known: Cow<'static, str>) {
        let code = code_words(value, type_name);
        let path = &self.path;
        self.problems.add(|| {
            let issue = match code.is_empty() {
                true => Issue::new(Hcert::CodeMissing).with("element", path.name()),
                false => Issue::new(Hcert::CodeNotAllowed).with("code", code),
            };
            issue.with("value_set", value_set.to_owned()).with("known", known).at(path.expression())
        });
    }
}

/// The codings a coded value brings.
fn codings<'j>(value: &'j Json<'j>, type_name: &str) -> &'j [Json<'j>] {
    match type_name {
        "CodeableConcept" => value.items("coding"),
        "CodeableReference" => value.get("concept").map_or(&[], |concept| concept.items("coding")),
        // Coding and Quantity have system and code themselves.
        _ => std::slice::from_ref(value),
    }
}

/// `system|code, system|code`, empty when there is no code; `|code` is one without system.
fn code_words(value: &Json, type_name: &str) -> String {
    if let Some(code) = value.as_str() {
        return code.to_owned();
    }
    let shown = codings(value, type_name).iter().filter_map(|coding| {
        let code = coding.text("code")?;
        Some(format!("{}|{code}", coding.text("system").unwrap_or_default()))
    });
    shown.collect::<Vec<_>>().join(", ")
}
