//! `/openapi.json`: the API for tools that know OpenAPI and not FHIR, made of the tables that answer the requests.
//!
//! Source: OpenAPI Specification 3.1.1.

mod api_operation;
mod example;
mod parameter;
mod response;
pub mod sample;
mod schema;
mod snippet;

use serde_json::{Map, Value, json};

use super::policy::TokenPolicy;
use super::table::{BodyContent, InteractionKind, StatementEntry};
use api_operation::ApiOperation;
pub use api_operation::ApiSettings;
use api_operation::{FHIR, FORM, operations};
use certificate::Names;
pub use example::example_text;
use sample::SampleRequest;
pub use snippet::{http_text, snippets};

/// The whole description.
pub fn description(settings: &ApiSettings) -> Value {
    let operations = operations();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Health certificate service",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Estonian health certificates as versioned FHIR R5 Compositions",
            "description": ABOUT,
            "license": {"name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE")},
        },
        "servers": [{"url": settings.base_url}],
        "security": security(settings.tokens),
        "tags": tags(&operations),
        "paths": {},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "parameters": parameter::shared(settings),
            "headers": response::headers(),
            "responses": response::shared(),
            "schemas": schema::schemas(settings.names),
            "examples": example::bodies(settings.names),
        },
    });
    for operation in &operations {
        let described = operation.described(settings, &operations);
        document["paths"][&operation.path][operation.method()] = described;
    }
    for operation in &operations {
        let sample = SampleRequest::of(&document, &operation.path, &operation.method());
        document["paths"][&operation.path][operation.method()]["x-codeSamples"] = snippets(&sample);
    }
    document
}

const ABOUT: &str = "\
Certificates of motor vehicle drivers and of occupational health examinations, as FHIR R5. The service says the same of itself in FHIR's \
own form: `GET /metadata`. Refusals are an OperationOutcome whose codes stand in the catalogue of errors.\n\n\
Examples work with `hcert dev` on empty data, one after the other: a draft is created as `Composition/1`, completed, suspended and \
revoked. Files that a snippet reads are those of the folder `examples`.";

/// What a request must bring. Where tokens are not needed, one is taken all the same.
fn security(tokens: &TokenPolicy) -> Value {
    match tokens.is_needed {
        true => json!([{"token": []}]),
        false => json!([{}, {"token": []}]),
    }
}

/// One for each first part of a path, in the order of the table.
fn tags(operations: &[ApiOperation]) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for operation in operations {
        if !names.contains(&operation.tag()) {
            names.push(operation.tag());
        }
    }
    names.into_iter().map(|name| json!({"name": name})).collect()
}

impl ApiOperation {
    fn described(&self, settings: &ApiSettings, all: &[ApiOperation]) -> Value {
        let code = self.code();
        let name = match self.told() {
            Some(StatementEntry::Operation(..)) => format!("${code}"),
            _ => code.to_owned(),
        };
        let documentation = match self.told() {
            Some(StatementEntry::Interaction(_, text) | StatementEntry::Operation(_, _, text)) => *text,
            None => "",
        };
        let mut described = json!({
            "operationId": self.id(all),
            "summary": format!("{name} ({})", self.tag()),
            "tags": [self.tag()],
            "parameters": parameter::of(self, settings),
            "responses": response::of(self),
        });
        if !documentation.is_empty() {
            described["description"] = json!(documentation);
        }
        if let Some(body) = self.body(settings) {
            described["requestBody"] = body;
        }
        if matches!(self.kind(), InteractionKind::Capabilities | InteractionKind::ApiDescription) {
            described["security"] = json!([]);
        }
        described
    }

    /// The body it takes.
    fn body(&self, settings: &ApiSettings) -> Option<Value> {
        Some(match self.row.body? {
            BodyContent::Form => json!({
                "required": true,
                "content": {FORM: {"schema": parameter::form(self, settings), "example": example::form(self.kind())}},
            }),
            BodyContent::Resource => {
                let (schema, examples) = self.taken(settings.names);
                json!({
                    "required": self.kind() != InteractionKind::GetConsent,
                    "content": {FHIR: {"schema": schema, "examples": examples}},
                })
            }
        })
    }

    /// The resource it takes, and examples of it.
    fn taken(&self, names: &Names) -> (Value, Map<String, Value>) {
        let parameters = || schema::of_resource("Parameters");
        match self.kind() {
            InteractionKind::Create | InteractionKind::Update => {
                (json!({"$ref": schema::address(schema::CERTIFICATE)}), example::of(self.kind(), names))
            }
            // Whatever it is, it is judged; what is wrong with it is the answer.
            InteractionKind::Validate => {
                let either = [schema::of_resource("Composition"), parameters()];
                (json!({"anyOf": either}), example::of(self.kind(), names))
            }
            kind => (parameters(), example::of(kind, names)),
        }
    }
}
