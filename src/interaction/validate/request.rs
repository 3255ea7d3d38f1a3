//! What a request to `$validate` asks for: from the query, from Parameters, or from a body that is the certificate itself.

use super::super::context::RequestContext;
use super::super::operation_parameters::{members_of, of_another_type, repeated};
use fhir::json::{self, Json, ReadJson};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome, Problems};
use fhir::shape;

/// What a body is to be judged as. FHIR R5 value set `resource-validation-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationMode {
    Create,
    Update,
    Delete,
    /// By its content alone.
    Profile,
}

/// What a request asks to be validated.
pub struct ValidateRequest<'b> {
    pub mode: Option<ValidationMode>,
    pub profile: Option<String>,
    pub resource: Option<Json<'b>>,
    /// What FHIR forbids in the JSON.
    pub problems: Problems,
}

/// Reads the request. The inner error is a body that cannot be read.
pub fn read<'b>(context: &RequestContext, body: &'b [u8]) -> Result<Result<ValidateRequest<'b>, Outcome>, Outcome> {
    let mut request = ValidateRequest { mode: None, profile: None, resource: None, problems: Problems::default() };
    let mut issues = Vec::new();
    for (name, value) in context.parameters.iter().filter(|(name, _)| !name.starts_with('_')) {
        request.take(name, value, format!("http.{name}"), &mut issues);
    }
    issues.truncate(BODY_ISSUES_MAX);
    if !body.is_empty() {
        let ReadJson { value, problems, .. } = match json::parse_with_problems(body) {
            Ok(read) => read,
            Err(unreadable) => return if issues.is_empty() { Ok(Err(unreadable)) } else { Err(issues.into()) },
        };
        request.problems = problems;
        match value.text("resourceType") {
            Some("Parameters") => request.take_parameters(value, &mut issues)?,
            _ => request.resource = Some(value),
        }
    }
    issues.truncate(BODY_ISSUES_MAX);
    if issues.is_empty() { Ok(Ok(request)) } else { Err(issues.into()) }
}

impl<'b> ValidateRequest<'b> {
    fn take(&mut self, name: &str, value: &str, place: String, issues: &mut Vec<Issue>) {
        let wrong = |expected: &'static str| {
            let issue = Issue::new(Hcert::OperationParameterWrong).with("value", value.to_owned());
            issue.with("name", name.to_owned()).with("expected", expected).at(place.clone())
        };
        match name {
            "mode" if self.mode.is_some() => issues.push(repeated(name).at(place)),
            "profile" if self.profile.is_some() => issues.push(repeated(name).at(place)),
            "mode" => match value {
                "create" => self.mode = Some(ValidationMode::Create),
                "update" => self.mode = Some(ValidationMode::Update),
                "delete" => self.mode = Some(ValidationMode::Delete),
                "profile" => self.mode = Some(ValidationMode::Profile),
                _ => issues.push(wrong("one of create, update, delete, profile")),
            },
            "profile" => self.profile = Some(value.to_owned()),
            _ => issues.push(unknown(name, place)),
        }
    }

    /// The parameters of a body. The resource among them is taken out before the others are checked, as it is judged on its own.
    fn take_parameters(&mut self, body: Json<'b>, issues: &mut Vec<Issue>) -> Result<(), Outcome> {
        let mut body = body;
        let mut resources = Vec::new();
        if let Json::Object(object) = &mut body
            && let Some(Json::Array(parameters)) = object.get_mut("parameter")
        {
            for parameter in parameters {
                let Json::Object(parameter) = parameter else { continue };
                let is_resource = parameter.get("name").and_then(Json::as_str) == Some("resource");
                if let Some(place) = parameter.get_mut("resource").filter(|_| is_resource) {
                    let stand_in = Json::object([("resourceType", Json::string("Basic"))]);
                    resources.push(std::mem::replace(place, stand_in));
                }
            }
        }
        shape::expect(&mut body, "Parameters")?;
        for (at, parameter) in body.items("parameter").iter().enumerate() {
            let place = format!("Parameters.parameter[{at}]");
            let name = parameter.text("name").unwrap_or_default();
            let value = ["valueCode", "valueCanonical", "valueUri", "valueUrl", "valueString"];
            match (name, value.into_iter().find_map(|name| parameter.text(name))) {
                ("resource", _) if parameter.get("resource").is_some() => {}
                ("mode" | "profile", Some(value)) => self.take(name, value, place, issues),
                ("mode" | "profile" | "resource", _) => {
                    let expected = "a simple value, or a resource as 'resource'";
                    issues.push(of_another_type(name, members_of(parameter), expected).at(place));
                }
                _ => issues.push(unknown(name, place)),
            }
        }
        if resources.len() > 1 {
            issues.push(repeated("resource").at("Parameters.parameter"));
        }
        self.resource = resources.pop();
        Ok(())
    }
}

fn unknown(name: &str, place: String) -> Issue {
    let issue = Issue::new(Hcert::OperationParameterUnknown).with("name", name.to_owned());
    issue.with("known", "resource, mode, profile").at(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_short_however_many_parameters_are_wrong() {
        let parameters = vec![r#"{"name":"a"}"#; 10 * BODY_ISSUES_MAX].join(",");
        let body = format!(r#"{{"resourceType":"Parameters","parameter":[{parameters}]}}"#);
        let Err(refused) = read(&RequestContext::default(), body.as_bytes()) else { panic!("nobody knows 'a'") };
        assert_eq!(refused.issues().len(), BODY_ISSUES_MAX);
        let parameters = vec![("a".to_owned(), String::new()); 10 * BODY_ISSUES_MAX];
        let Err(refused) = read(&RequestContext { parameters, ..RequestContext::default() }, b"{") else {
            panic!("nobody knows 'a'")
        };
        assert_eq!(refused.issues().len(), BODY_ISSUES_MAX);
    }
}
