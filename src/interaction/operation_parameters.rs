//! The parameters of an operation, from the query or from a Parameters resource, each of the kind that its name says.

use std::borrow::Cow;

use super::context::RequestContext;
use super::table::{InteractionKind, ListKind};
use fhir::json::{self, Json};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::shape;

/// A parameter that an operation takes.
#[derive(Clone, Copy, Debug)]
pub struct ParameterDefinition {
    pub name: &'static str,
    pub kind: ParameterKind,
    pub repeats: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Text,
    /// `true` or `false`
    Flag,
    /// A whole number from 0.
    Number,
    /// A Coding: in a body only.
    Coding,
    /// A CodeableConcept: in a body only.
    Concept,
    /// A ValueSet: in a body only.
    ValueSet,
}

impl ParameterKind {
    /// What a value is, for people.
    pub fn words(self) -> &'static str {
        match self {
            ParameterKind::Text => "text",
            ParameterKind::Flag => "true or false",
            ParameterKind::Number => "whole number from 0",
            ParameterKind::Coding => "Coding, in a body only",
            ParameterKind::Concept => "CodeableConcept, in a body only",
            ParameterKind::ValueSet => "ValueSet, in a body only",
        }
    }
}

/// A parameter that may stand once.
pub const fn once(name: &'static str, kind: ParameterKind) -> ParameterDefinition {
    ParameterDefinition { name, kind, repeats: false }
}

/// The parameters of one request, all of them known and of their kinds.
#[derive(Debug, Default)]
pub struct OperationParameters {
    values: Vec<(&'static str, ParameterValue)>,
}

#[derive(Debug)]
enum ParameterValue {
    Text(String),
    Codings(Vec<CodingParameter>),
    Resource(Json<'static>),
    /// A value of a type that no operation accepts; the name of its member.
    Other(String),
}

/// A code as callers name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodingParameter {
    pub system: Option<String>,
    pub version: Option<String>,
    pub code: String,
    pub display: Option<String>,
}

impl OperationParameters {
    /// Reads the parameters of the query and of the body, which is empty for a GET.
    ///
    /// # Errors
    /// The body is no Parameters resource; every parameter that is unknown, wrong, empty or there too often.
    pub fn read(
        context: &RequestContext,
        body: &[u8],
        known: &[ParameterDefinition],
    ) -> Result<OperationParameters, Outcome> {
        let mut asked = OperationParameters::default();
        let mut issues = Vec::new();
        for (name, value) in &context.parameters {
            // What begins so shapes the answer; http reads it.
            if !name.starts_with('_') {
                asked.take(name, Some(ParameterValue::Text(value.clone())), format!("http.{name}"), known, &mut issues);
            }
        }
        if !body.is_empty() {
            let mut json = json::parse(body)?;
            shape::expect(&mut json, "Parameters")?;
            for (at, parameter) in json.items("parameter").iter().enumerate() {
                let name = parameter.text("name").unwrap_or_default();
                asked.take(name, value(parameter), format!("Parameters.parameter[{at}]"), known, &mut issues);
            }
        }
        issues.truncate(BODY_ISSUES_MAX);
        if issues.is_empty() { Ok(asked) } else { Err(issues.into()) }
    }

    fn take(
        &mut self,
        name: &str,
        value: Option<ParameterValue>,
        place: String,
        known: &[ParameterDefinition],
        issues: &mut Vec<Issue>,
    ) {
        let Some(ParameterDefinition { name, kind, repeats }) = known.iter().find(|known| known.name == name).copied()
        else {
            let known = match known {
                [] => "-".into(),
                known => known.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
            };
            let issue = Issue::new(Hcert::OperationParameterUnknown).with("name", name.to_owned());
            return issues.push(issue.with("known", known).at(place));
        };
        if !repeats && self.values.iter().any(|(other, _)| *other == name) {
            return issues.push(repeated(name).at(place));
        }
        let wrong = |value: &str, expected: &'static str| {
            let issue = Issue::new(Hcert::OperationParameterWrong).with("name", name).with("value", value.to_owned());
            issue.with("expected", expected).at(place.clone())
        };
        match (kind, value) {
            (ParameterKind::Text, Some(ParameterValue::Text(text))) if text.is_empty() => {
                issues.push(wrong("", "a text"));
            }
            (ParameterKind::Flag, Some(ParameterValue::Text(text))) if !matches!(text.as_str(), "true" | "false") => {
                issues.push(wrong(&text, "true or false"));
            }
            (ParameterKind::Number, Some(ParameterValue::Text(text))) if text.parse::<u32>().is_err() => {
                issues.push(wrong(&text, "a whole number from 0"));
            }
            (ParameterKind::Text | ParameterKind::Flag | ParameterKind::Number, Some(ParameterValue::Text(text))) => {
                self.values.push((name, ParameterValue::Text(text)));
            }
            (ParameterKind::Coding, Some(ParameterValue::Codings(codings))) if codings.len() == 1 => {
                self.values.push((name, ParameterValue::Codings(codings)));
            }
            (ParameterKind::Concept, Some(ParameterValue::Codings(codings))) if !codings.is_empty() => {
                self.values.push((name, ParameterValue::Codings(codings)));
            }
            (ParameterKind::ValueSet, Some(ParameterValue::Resource(resource)))
                if resource.text("resourceType") == Some("ValueSet") =>
            {
                self.values.push((name, ParameterValue::Resource(resource)));
            }
            (kind, value) => {
                let found = match value {
                    None => "none".to_owned(),
                    Some(ParameterValue::Text(_)) => "a simple value".to_owned(),
                    Some(ParameterValue::Codings(codings)) => format!("{} codings", codings.len()),
                    Some(ParameterValue::Resource(resource)) => {
                        resource.text("resourceType").unwrap_or("a resource").to_owned()
                    }
                    Some(ParameterValue::Other(name)) => name,
                };
                let expected = match kind {
                    ParameterKind::Text | ParameterKind::Flag | ParameterKind::Number => "a simple value",
                    ParameterKind::Coding => "a Coding with a code, in a Parameters resource by POST",
                    ParameterKind::Concept => "a CodeableConcept with codings, in a Parameters resource by POST",
                    ParameterKind::ValueSet => "a ValueSet as resource, in a Parameters resource by POST",
                };
                issues.push(of_another_type(name, found, expected).at(place));
            }
        }
    }

    /// The text of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).next()
    }

    /// The texts of a parameter that may come again.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.values.iter().filter(move |(known, _)| *known == name);
        values.filter_map(|(_, value)| if let ParameterValue::Text(text) = value { Some(text.as_str()) } else { None })
    }

    /// Takes the resource out of a parameter.
    pub fn take_resource(&mut self, name: &str) -> Option<Json<'static>> {
        let at = self
            .values
            .iter()
            .position(|(known, value)| *known == name && matches!(value, ParameterValue::Resource(_)))?;
        match self.values.swap_remove(at).1 {
            ParameterValue::Resource(resource) => Some(resource),
            ParameterValue::Text(_) | ParameterValue::Codings(_) | ParameterValue::Other(_) => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.text(name)?.parse().ok()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// The codings of a Coding or a CodeableConcept; empty when it is not there.
    pub fn codings(&self, name: &str) -> &[CodingParameter] {
        let found = self.values.iter().find_map(|(known, value)| match value {
            ParameterValue::Codings(codings) if *known == name => Some(codings.as_slice()),
            _ => None,
        });
        found.unwrap_or_default()
    }
}

/// The value of one parameter, or its resource; none when it has neither.
fn value(parameter: &Json) -> Option<ParameterValue> {
    if let Some(resource) = parameter.get("resource") {
        return Some(ParameterValue::Resource(resource.clone().into_owned()));
    }
    let (name, value) = parameter.as_object()?.iter().find(|(name, _)| name.starts_with("value"))?;
    Some(match (name, value) {
        (_, Json::String(text)) => ParameterValue::Text(text.to_string()),
        (_, Json::Number(digits)) => ParameterValue::Text(digits.to_string()),
        (_, Json::Bool(flag)) => ParameterValue::Text(flag.to_string()),
        ("valueCoding", coding) => ParameterValue::Codings(coding_of(coding).into_iter().collect()),
        ("valueCodeableConcept", concept) => {
            ParameterValue::Codings(concept.items("coding").iter().filter_map(coding_of).collect())
        }
        (name, _) => ParameterValue::Other(name.to_owned()),
    })
}

fn coding_of(coding: &Json) -> Option<CodingParameter> {
    let text = |name: &str| coding.text(name).map(str::to_owned);
    Some(CodingParameter {
        system: text("system"),
        version: text("version"),
        code: text("code")?,
        display: text("display"),
    })
}

/// `OperationParameterMissing`
pub fn missing(expected: &'static str) -> Outcome {
    Issue::new(Hcert::OperationParameterMissing).with("expected", expected).into()
}

/// `OperationParameterRepeated`
pub fn repeated(name: &str) -> Issue {
    Issue::new(Hcert::OperationParameterRepeated).with("name", name.to_owned())
}

/// `OperationParameterType`
pub fn of_another_type(name: &str, found: impl Into<Cow<'static, str>>, expected: &'static str) -> Issue {
    let issue = Issue::new(Hcert::OperationParameterType).with("name", name.to_owned());
    issue.with("found", found).with("expected", expected)
}

/// The members of a parameter beside its name, for messages.
pub fn members_of(parameter: &Json) -> String {
    let members = parameter.as_object().into_iter().flat_map(fhir::json::Object::iter).map(|(name, _)| name);
    let others: Vec<&str> = members.filter(|name| *name != "name").collect();
    if others.is_empty() { "none".to_owned() } else { others.join(", ") }
}

/// `ListNotFound`
pub fn not_at_hand(resource_type: &'static str, url: &str) -> Outcome {
    Issue::new(Hcert::ListNotFound).with("type", resource_type).with("url", url.to_owned()).into()
}

/// One `Parameters.parameter` of an answer.
pub fn told<'a>(name: &'static str, value_name: &'static str, value: Json<'a>) -> Json<'a> {
    Json::object([("name", Json::string(name)), (value_name, value)])
}

/// A Parameters resource.
pub fn parameters(told: Vec<Json>) -> Vec<u8> {
    let parameters = [("resourceType", Json::string("Parameters")), ("parameter", Json::Array(told))];
    Json::object(parameters).to_vec()
}

/// What `$expand` takes.
pub(super) const EXPAND: &[ParameterDefinition] = &[
    once("url", ParameterKind::Text),
    once("valueSet", ParameterKind::ValueSet),
    once("valueSetVersion", ParameterKind::Text),
    once("filter", ParameterKind::Text),
    once("offset", ParameterKind::Number),
    once("count", ParameterKind::Number),
    once("includeDesignations", ParameterKind::Flag),
    once("displayLanguage", ParameterKind::Text),
];

/// What `$pdf` takes.
pub(super) const PDF: &[ParameterDefinition] = &[once("role", ParameterKind::Text)];

/// What `$lookup` takes.
pub(super) const LOOKUP: &[ParameterDefinition] = &[
    once("code", ParameterKind::Text),
    once("system", ParameterKind::Text),
    once("version", ParameterKind::Text),
    once("coding", ParameterKind::Coding),
    once("displayLanguage", ParameterKind::Text),
    ParameterDefinition { name: "property", kind: ParameterKind::Text, repeats: true },
];

/// What `$validate-code` of a CodeSystem takes.
pub(super) const VALIDATE_CODE_OF_CODE_SYSTEM: &[ParameterDefinition] = &[
    once("url", ParameterKind::Text),
    once("code", ParameterKind::Text),
    once("version", ParameterKind::Text),
    once("display", ParameterKind::Text),
    once("coding", ParameterKind::Coding),
    once("codeableConcept", ParameterKind::Concept),
    once("displayLanguage", ParameterKind::Text),
];

/// What `$validate-code` of a ValueSet takes.
pub(super) const VALIDATE_CODE_OF_VALUE_SET: &[ParameterDefinition] = &[
    once("url", ParameterKind::Text),
    once("valueSetVersion", ParameterKind::Text),
    once("code", ParameterKind::Text),
    once("system", ParameterKind::Text),
    once("systemVersion", ParameterKind::Text),
    once("display", ParameterKind::Text),
    once("coding", ParameterKind::Coding),
    once("codeableConcept", ParameterKind::Concept),
    once("displayLanguage", ParameterKind::Text),
];

/// What an operation takes by name; nothing where it takes a resource as it is.
pub fn of(operation: InteractionKind) -> &'static [ParameterDefinition] {
    match operation {
        InteractionKind::Expand => EXPAND,
        InteractionKind::Lookup => LOOKUP,
        InteractionKind::Pdf => PDF,
        InteractionKind::ValidateCode(ListKind::CodeSystem) => VALIDATE_CODE_OF_CODE_SYSTEM,
        InteractionKind::ValidateCode(ListKind::ValueSet) => VALIDATE_CODE_OF_VALUE_SET,
        _ => &[],
    }
}
