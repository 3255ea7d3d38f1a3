//! `$lookup`: GET or POST /CodeSystem/$lookup and /CodeSystem/{id}/$lookup: what is known of a code.
//!
//! Source: FHIR R5 `codesystem-operation-lookup.html`.

use super::Answer;
use super::context::RequestContext;
use super::operation_parameters::{
    CodingParameter, LOOKUP, OperationParameters, missing, not_at_hand, parameters, told,
};
use super::service::Service;
use certificate::terminology::{CodeSystem, Concept, Terminology};
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue, Outcome};

impl Service {
    /// Tells a code's name, designations and properties.
    pub(super) fn lookup(&self, context: &RequestContext, id: Option<&str>, body: &[u8]) -> Result<Answer, Outcome> {
        let asked = OperationParameters::read(context, body, LOOKUP)?;
        let terminology = self.terminology();
        let coding = coding(&asked)?;
        let list = match (id, coding.system.as_deref()) {
            (Some(id), system) => {
                let list = super::conformance::code_system(&terminology, id)?;
                if system.is_some_and(|system| system != list.about.url) {
                    return Err(not_at_hand("CodeSystem", system.unwrap_or_default()));
                }
                list
            }
            (None, Some(system)) => terminology.code_system(system).ok_or_else(|| not_at_hand("CodeSystem", system))?,
            (None, None) => return Err(missing("system and code, or coding")),
        };
        super::conformance::check_version(&list.about, coding.version.as_deref())?;
        let concept = list.find(&coding.code).ok_or_else(|| {
            let issue = Issue::new(Hcert::CodeNotFound).with("system", list.about.url.clone());
            issue.with("code", coding.code.clone())
        })?;
        let body = parameters(answer(&terminology, list, concept, &asked));
        Ok(Answer { status: 200, body, ..Answer::default() })
    }
}

fn coding(asked: &OperationParameters) -> Result<CodingParameter, Outcome> {
    match (asked.text("code"), asked.codings("coding")) {
        (Some(code), []) => Ok(CodingParameter {
            system: asked.text("system").map(str::to_owned),
            version: asked.text("version").map(str::to_owned),
            code: code.to_owned(),
            display: None,
        }),
        (None, [coding]) => Ok(coding.clone()),
        _ => Err(missing("system and code, or coding")),
    }
}

fn answer<'t>(
    terminology: &'t Terminology,
    list: &'t CodeSystem,
    concept: &'t Concept,
    asked: &OperationParameters,
) -> Vec<Json<'t>> {
    let wants = |name: &str| {
        let mut names = asked.texts("property").peekable();
        names.peek().is_none() || names.any(|wanted| wanted == name || wanted == "*")
    };
    let text = |text: &'t str| Json::string(text);
    let display = terminology.display(&list.about.url, &concept.code, asked.text("displayLanguage"));
    let display = display.unwrap_or(&concept.code);
    let mut answer = vec![told("name", "valueString", text(&list.about.title))];
    answer.extend(list.about.version.as_deref().map(|version| told("version", "valueString", text(version))));
    answer.push(told("display", "valueString", text(display)));
    if wants("definition") {
        answer.extend(concept.definition.as_deref().map(|words| told("definition", "valueString", text(words))));
    }
    if wants("designation") {
        answer.extend(concept.designations.iter().map(designation));
    }
    let parent = concept.parent.map(|at| &list.concepts()[at]);
    if wants("parent") {
        answer.extend(parent.map(|parent| relative("parent", parent)));
    }
    if wants("child") {
        let is_child = |other: &&Concept| other.parent.is_some_and(|at| std::ptr::eq(&list.concepts()[at], concept));
        answer.extend(list.concepts().iter().filter(is_child).map(|child| relative("child", child)));
    }
    let properties = concept.properties.iter();
    answer.extend(properties.filter(|property| property.text("code").is_some_and(&wants)).map(property));
    answer
}

fn relative<'t>(code: &'static str, concept: &'t Concept) -> Json<'t> {
    let part = [
        told("code", "valueCode", Json::string(code)),
        told("value", "valueCode", Json::string(concept.code.as_str())),
    ];
    Json::object([("name", Json::string("property")), ("part", Json::Array(part.into()))])
}

fn designation<'t>(designation: &'t Json<'static>) -> Json<'t> {
    let of = |name: &'static str, value_name| designation.get(name).map(|value| told(name, value_name, value.clone()));
    let parts = [of("language", "valueCode"), of("use", "valueCoding"), of("value", "valueString")];
    let parts = parts.into_iter().flatten().collect();
    Json::object([("name", Json::string("designation")), ("part", Json::Array(parts))])
}

fn property<'t>(property: &'t Json<'static>) -> Json<'t> {
    let mut parts: Vec<Json> = Vec::new();
    parts.extend(property.get("code").map(|code| told("code", "valueCode", code.clone())));
    let value = property.as_object().and_then(|object| object.0.iter().find(|(name, _)| name.starts_with("value")));
    parts.extend(value.map(|(name, value)| {
        let members = vec![("name".into(), Json::string("value")), (name.clone(), value.clone())];
        Json::Object(fhir::json::Object(members))
    }));
    Json::object([("name", Json::string("property")), ("part", Json::Array(parts))])
}
