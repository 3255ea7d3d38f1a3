//! `$validate-code`: GET or POST /CodeSystem/$validate-code and /ValueSet/$validate-code, for a type or an instance.
//!
//! It tells what the lists say of a code, whatever certificates are judged by: a list that is known only in part makes the result
//! true with a message, one that is complete makes it false.
//!
//! Source: FHIR R5 `codesystem-operation-validate-code.html`, `valueset-operation-validate-code.html`.

use super::conformance::{check_version, code_system, value_set};
use super::context::RequestContext;
use super::operation_parameters::{
    CodingParameter, OperationParameters, VALIDATE_CODE_OF_CODE_SYSTEM, VALIDATE_CODE_OF_VALUE_SET, missing,
    not_at_hand, parameters, told,
};
use super::service::Service;
use super::{Answer, ListKind};
use certificate::terminology::{Certainty, CodeSystem, Membership, Terminology, ValueSet};
use fhir::json::Json;
use fhir::outcome::{Language, Outcome};

/// The list that is asked.
#[derive(Clone, Copy)]
enum CodeList<'t> {
    CodeSystem(&'t CodeSystem),
    ValueSet(&'t ValueSet),
}

impl Service {
    /// Tells whether a code, a Coding or one of a CodeableConcept belongs to a list.
    pub(super) fn validate_code(
        &self,
        context: &RequestContext,
        kind: ListKind,
        id: Option<&str>,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let known = match kind {
            ListKind::CodeSystem => VALIDATE_CODE_OF_CODE_SYSTEM,
            ListKind::ValueSet => VALIDATE_CODE_OF_VALUE_SET,
        };
        let asked = OperationParameters::read(context, body, known)?;
        let terminology = self.terminology();
        let list = list(&terminology, kind, id, &asked)?;
        let codings = codings(&asked, list)?;
        let language = asked.text("displayLanguage");
        let judged = codings.iter().map(|coding| CodeVerdict::new(&terminology, list, coding));
        let best = judged.max_by_key(|judged| (judged.membership, judged.right_name));
        let best = best.ok_or_else(|| missing("a code, a coding or a codeableConcept"))?;
        let body = parameters(best.answer(&terminology, list, language, context.language));
        Ok(Answer { status: 200, body, ..Answer::default() })
    }
}

fn list<'t>(
    terminology: &'t Terminology,
    kind: ListKind,
    id: Option<&str>,
    asked: &OperationParameters,
) -> Result<CodeList<'t>, Outcome> {
    let url = asked.text("url");
    let list = match (kind, id, url) {
        (_, None, None) => return Err(missing("url")),
        (ListKind::CodeSystem, Some(id), _) => CodeList::CodeSystem(code_system(terminology, id)?),
        (ListKind::ValueSet, Some(id), _) => CodeList::ValueSet(value_set(terminology, id)?),
        (ListKind::CodeSystem, None, Some(url)) => {
            CodeList::CodeSystem(terminology.code_system(url).ok_or_else(|| not_at_hand("CodeSystem", url))?)
        }
        (ListKind::ValueSet, None, Some(url)) => {
            CodeList::ValueSet(terminology.value_set(url).ok_or_else(|| not_at_hand("ValueSet", url))?)
        }
    };
    let about = match list {
        CodeList::CodeSystem(list) => &list.about,
        CodeList::ValueSet(set) => &set.about,
    };
    if let Some(other) = url.filter(|url| url.split('|').next() != Some(&about.url)) {
        return Err(not_at_hand(about.resource_type, other));
    }
    check_version(about, asked.text("version").or(asked.text("valueSetVersion")))?;
    Ok(list)
}

fn codings(asked: &OperationParameters, list: CodeList) -> Result<Vec<CodingParameter>, Outcome> {
    let text = |name: &str| asked.text(name).map(str::to_owned);
    let mut codings = match (asked.text("code"), asked.codings("coding"), asked.codings("codeableConcept")) {
        (Some(code), [], []) => vec![CodingParameter {
            system: text("system"),
            version: text("systemVersion"),
            code: code.to_owned(),
            display: text("display"),
        }],
        (None, [coding], []) => vec![coding.clone()],
        (None, [], concept @ [_, ..]) => concept.to_vec(),
        _ => return Err(missing("one of: code, coding, codeableConcept")),
    };
    if let CodeList::CodeSystem(list) = list {
        // A code alone is one of the code system that is asked.
        for coding in &mut codings {
            coding.system.get_or_insert_with(|| list.about.url.clone());
        }
    } else if codings.iter().any(|coding| coding.system.is_none()) {
        return Err(missing("the system of each code"));
    }
    Ok(codings)
}

/// What the lists say of one coding.
struct CodeVerdict<'c> {
    coding: &'c CodingParameter,
    system: &'c str,
    membership: Membership,
    /// Its display is one of the code's names, or it has none.
    right_name: bool,
}

impl<'c> CodeVerdict<'c> {
    fn new(terminology: &Terminology, list: CodeList, coding: &'c CodingParameter) -> CodeVerdict<'c> {
        let system = coding.system.as_deref().unwrap_or_default();
        let (membership, set) = match list {
            CodeList::CodeSystem(list) if list.about.url != system => (Membership::NotMember, None),
            CodeList::CodeSystem(_) => (terminology.member_of_system(system, &coding.code, Certainty::Claim), None),
            CodeList::ValueSet(set) => {
                (terminology.member(set, Some(system), &coding.code, Certainty::Claim), Some(set))
            }
        };
        let coded = terminology.coded(set, system, &coding.code);
        let right_name = coding
            .display
            .as_deref()
            .is_none_or(|display| coded.is_none_or(|coded| coded.display(None).is_none() || coded.is_called(display)));
        CodeVerdict { coding, system, membership, right_name }
    }

    fn answer<'t>(
        &self,
        terminology: &'t Terminology,
        list: CodeList<'t>,
        language: Option<&str>,
        speaks: Language,
    ) -> Vec<Json<'t>> {
        let (about, set) = match list {
            CodeList::CodeSystem(list) => (&list.about, None),
            CodeList::ValueSet(set) => (&set.about, Some(set)),
        };
        let known = terminology.coded(set, self.system, &self.coding.code);
        let display = known.and_then(|coded| coded.display(language));
        let result = self.membership != Membership::NotMember && self.right_name;
        let mut answer = vec![told("result", "valueBoolean", Json::Bool(result))];
        let (code, system) = (&self.coding.code, self.system);
        let message = match (self.membership, self.right_name, speaks) {
            (Membership::NotMember, _, Language::English) => format!("{system} {code} is not in {}", about.url),
            (Membership::NotMember, _, Language::Estonian) => {
                format!("{system} {code} ei kuulu loendisse {}", about.url)
            }
            (_, false, Language::English) => format!("{code} is called '{}'", display.unwrap_or_default()),
            (_, false, Language::Estonian) => format!("{code} nimetus on '{}'", display.unwrap_or_default()),
            (Membership::Unknown, true, Language::English) => {
                format!(
                    "{system} {code} is not among the codes of {} that this server has; it does not have all of them",
                    about.url
                )
            }
            (Membership::Unknown, true, Language::Estonian) => {
                format!(
                    "{system} {code} ei ole teadaolevate koodide seas, kuid loend {} on teada ainult osaliselt",
                    about.url
                )
            }
            (Membership::Member, true, _) => String::new(),
        };
        if !message.is_empty() {
            answer.push(told("message", "valueString", Json::string(message)));
        }
        answer.extend(display.map(|display| told("display", "valueString", Json::string(display))));
        answer.push(told("code", "valueCode", Json::string(code.clone())));
        answer.push(told("system", "valueUri", Json::string(system.to_owned())));
        let version = terminology.code_system(system).and_then(|list| list.about.version.as_deref());
        answer.extend(version.map(|version| told("version", "valueString", Json::string(version))));
        answer
    }
}
