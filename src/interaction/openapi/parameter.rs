//! The parameters of an operation: of its path, its query, its form and its headers.

use serde_json::{Map, Value, json};

use super::super::capabilities::OF_PATIENTS;
use super::super::operation_parameters::{ParameterDefinition, ParameterKind};
use super::super::{audit_event, definition_search};
use super::api_operation::{ApiOperation, ApiSettings, in_query};
use super::{example, schema};
use crate::interaction::table::InteractionKind;
use certificate::Names;
use certificate::search::parameter::{PARAMETERS, Parameter, ParameterTarget, SORT_KEYS};

/// `components.parameters`: those that several operations take.
pub(super) fn shared(settings: &ApiSettings) -> Value {
    let text = || json!({"type": "string"});
    let (default, max) = (settings.count.default, settings.count.max);
    let all = [
        ("id", "path", "id", "Id of the resource", schema::id()),
        ("version", "path", "version", "Number of the version", schema::id()),
        (
            "count",
            "query",
            "_count",
            "Hits of a page; more than the service allows is cut to that, 0 asks for the number alone",
            json!({"type": "integer", "minimum": 0, "default": default, "x-most": max}),
        ),
        (
            "page",
            "query",
            "_page",
            "Number of the page",
            json!({"type": "integer", "minimum": 1, "maximum": u32::MAX, "default": 1}),
        ),
        ("since", "query", "_since", "Versions from this moment on", json!({"type": "string", "format": "date-time"})),
        ("at", "query", "_at", "Versions that were current at some time within this dateTime", text()),
        (
            "elements",
            "query",
            "_elements",
            "Names of elements, separated by commas; mandatory ones always come",
            text(),
        ),
        (
            "summary",
            "query",
            "_summary",
            "The part of the resource that is shown",
            json!({"enum": ["true", "false", "text", "data", "count"]}),
        ),
        (
            "pretty",
            "query",
            "_pretty",
            "Whether the answer has lines and indents for people",
            json!({"enum": ["true", "false"]}),
        ),
        (
            "language",
            "header",
            "Accept-Language",
            "Language of messages and names of codes: et or en",
            json!({"type": "string", "examples": ["et", "en"]}),
        ),
        (
            "return",
            "header",
            "Prefer",
            "What a write answers with",
            json!({"enum": ["return=minimal", "return=representation", "return=OperationOutcome"]}),
        ),
        (
            "handling",
            "header",
            "Prefer",
            "Whether unknown parameters are refused or ignored",
            json!({"enum": ["handling=strict", "handling=lenient"]}),
        ),
        (
            "ifMatch",
            "header",
            "If-Match",
            "The version that has to be the current one; else 412",
            json!({"type": "string", "pattern": "^W/\"[0-9]+\"$", "examples": ["W/\"1\""]}),
        ),
        (
            "ifNoneMatch",
            "header",
            "If-None-Match",
            "The version that the caller has; 304 where it is the current one",
            json!({"type": "string", "pattern": "^W/\"[0-9]+\"$", "examples": ["W/\"1\""]}),
        ),
        ("ifModifiedSince", "header", "If-Modified-Since", "The time of the version that the caller has", text()),
        (
            "ifNoneExist",
            "header",
            "If-None-Exist",
            "identifier=<system>|<number>: 200 where a certificate has this number, instead of a second one",
            json!({"type": "string", "pattern": "^identifier=.+$"}),
        ),
        (
            "fault",
            "header",
            "x-hcert-fault",
            "In `hcert dev` alone: the patient registry fails with these codes",
            json!({"type": "string", "examples": ["MPI-029", "timeout"]}),
        ),
        (
            "explain",
            "header",
            "x-hcert-explain",
            "In `hcert dev` alone: x-hcert-plan says how the search was run",
            json!({"enum": ["true"]}),
        ),
    ];
    let parameters = all.map(|(key, place, name, about, schema)| {
        let mut parameter = json!({"name": name, "in": place, "description": about, "schema": schema});
        if place == "path" {
            parameter["required"] = json!(true);
            parameter["example"] = json!("1");
        }
        (key.to_owned(), parameter)
    });
    Value::Object(parameters.into_iter().collect())
}

/// `parameters` of an operation.
pub(super) fn of(operation: &ApiOperation, settings: &ApiSettings) -> Value {
    let mut all = Vec::new();
    let mut take = |keys: &[&str]| {
        all.extend(keys.iter().map(|key| json!({"$ref": format!("#/components/parameters/{key}")})));
    };
    let kind = operation.kind();
    let is_form = operation.path.ends_with("/_search");
    if operation.path.contains("{version}") {
        take(&["version"]);
    }
    match kind {
        InteractionKind::Search
        | InteractionKind::PatientSearch
        | InteractionKind::AuditSearch
        | InteractionKind::SearchDefinitions => {
            take(&["handling"]);
            if !is_form {
                take(&["count", "page", "elements", "summary"]);
            }
        }
        InteractionKind::HistoryInstance | InteractionKind::HistoryType | InteractionKind::PatientHistory => {
            take(&["count", "page", "since", "at"]);
        }
        InteractionKind::Read
        | InteractionKind::Vread
        | InteractionKind::PatientRead
        | InteractionKind::PatientVread => {
            take(&["elements", "summary", "ifNoneMatch", "ifModifiedSince"]);
        }
        InteractionKind::AuditRead | InteractionKind::ReadDefinition => take(&["elements", "summary"]),
        InteractionKind::Create => take(&["return", "ifNoneExist"]),
        InteractionKind::Update => take(&["return", "ifMatch"]),
        InteractionKind::Suspend | InteractionKind::Cancel | InteractionKind::Delete | InteractionKind::SetConsent => {
            take(&["ifMatch"]);
        }
        _ => {}
    }
    let asks_registry = operation.row.asks_registry
        || matches!(
            kind,
            InteractionKind::Create | InteractionKind::Update | InteractionKind::Validate | InteractionKind::Pdf
        );
    if asks_registry && !settings.tokens.is_needed {
        take(&["fault"]);
    }
    if kind == InteractionKind::Search && !settings.tokens.is_needed {
        take(&["explain"]);
    }
    if kind != InteractionKind::ApiDescription {
        take(&["language", "pretty"]);
    }
    if operation.is_of_one() {
        all.push(match example::id(operation) {
            Some(id) => {
                let about = "Id of the resource";
                json!({"name": "id", "in": "path", "required": true, "description": about, "schema": schema::id(), "example": id})
            }
            None => json!({"$ref": "#/components/parameters/id"}),
        });
    }
    if !is_form {
        all.extend(
            of_search(operation)
                .into_iter()
                .map(|(name, about, value)| query((kind, settings.names), &name, &about, value)),
        );
        all.extend(
            in_query(operation).iter().filter_map(|parameter| of_operation(operation, parameter, settings.names)),
        );
    }
    all.extend(of_statements(kind, settings.names));
    Value::Array(all)
}

/// What a form may hold: the parameters of the search.
pub(super) fn form(operation: &ApiOperation, settings: &ApiSettings) -> Value {
    let shared = shared(settings);
    let shaping = ["count", "page", "elements", "summary"].map(|key| {
        let parameter = &shared[key];
        let mut value = parameter["schema"].clone();
        value["description"] = parameter["description"].clone();
        (parameter["name"].as_str().unwrap_or_default().to_owned(), value)
    });
    let searched = of_search(operation).into_iter().map(|(name, about, mut value)| {
        value["description"] = json!(about);
        (name, value)
    });
    let properties: Map<String, Value> = shaping.into_iter().chain(searched).collect();
    json!({"type": "object", "properties": properties})
}

/// Name, documentation and schema of each parameter that a search looks for.
fn of_search(operation: &ApiOperation) -> Vec<(String, String, Value)> {
    match operation.kind() {
        InteractionKind::Search => {
            let keys = SORT_KEYS.iter().map(|(name, _)| *name);
            PARAMETERS.iter().map(searched).chain([sort(keys)]).collect()
        }
        InteractionKind::AuditSearch => {
            audit_event::PARAMETERS.iter().map(searched).chain([sort(["date"].into_iter())]).collect()
        }
        InteractionKind::SearchDefinitions => {
            definition_search::PARAMETERS.iter().map(searched).chain([sort(["_id", "url"].into_iter())]).collect()
        }
        InteractionKind::PatientSearch => {
            let keys = ["_id", "_lastUpdated", "birthdate"].into_iter();
            let of_row = |&(name, _, kind, about): &(&str, &str, &str, &str)| {
                (name.to_owned(), about.to_owned(), value_of(kind))
            };
            OF_PATIENTS.iter().map(of_row).chain([sort(keys)]).collect()
        }
        _ => Vec::new(),
    }
}

fn searched<L: ParameterTarget>(parameter: &Parameter<L>) -> (String, String, Value) {
    let about = match parameter.modifiers {
        [] => parameter.documentation.to_owned(),
        _ => format!("{}. Modifiers: {}", parameter.documentation, parameter.modifier_names()),
    };
    (parameter.name.to_owned(), about, value_of(parameter.target.kind()))
}

/// A time may be asked for twice, which makes a range.
fn value_of(kind: &str) -> Value {
    match kind {
        "date" => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        _ => json!({"type": "string", "minLength": 1}),
    }
}

fn sort<'k>(keys: impl Iterator<Item = &'k str>) -> (String, String, Value) {
    let keys: Vec<&str> = keys.collect();
    let about = format!("The order, by {}; - in front turns it round", keys.join(", "));
    let one = format!("-?({})", keys.join("|"));
    ("_sort".to_owned(), about, json!({"type": "string", "pattern": format!("^{one}(,{one})*$")}))
}

fn query((kind, names): (InteractionKind, &Names), name: &str, about: &str, schema: Value) -> Value {
    let mut parameter = json!({"name": name, "in": "query", "description": about, "schema": schema});
    if let Some(example) = example::parameter(kind, name, names) {
        parameter["example"] = example;
    }
    parameter
}

/// A parameter of an operation, where a query can hold it.
fn of_operation(operation: &ApiOperation, parameter: &ParameterDefinition, names: &Names) -> Option<Value> {
    let mut schema = match parameter.kind {
        ParameterKind::Text => json!({"type": "string", "minLength": 1}),
        ParameterKind::Flag => json!({"enum": ["true", "false"]}),
        ParameterKind::Number => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        ParameterKind::Coding | ParameterKind::Concept | ParameterKind::ValueSet => return None,
    };
    if parameter.repeats {
        schema = json!({"type": "array", "items": schema});
    }
    // On one resource the path says which.
    let is_named = operation.is_of_one()
        && matches!((operation.kind(), parameter.name), (_, "url") | (InteractionKind::Lookup, "system"));
    let mut query = query((operation.kind(), names), parameter.name, parameter.kind.words(), schema);
    if is_named && let Some(query) = query.as_object_mut() {
        query.remove("example");
    }
    Some(query)
}

/// Parameters that one interaction alone takes.
fn of_statements(kind: InteractionKind, names: &Names) -> Vec<Value> {
    let query = |name, about: &str, schema| query((kind, names), name, about, schema);
    match kind {
        InteractionKind::Capabilities => {
            let modes = json!({"enum": ["full", "normative", "terminology"]});
            vec![query("mode", "Which statement", modes)]
        }
        InteractionKind::Pdf => {
            let about = "The ETag of the document that the caller has; 304 where it is still the same";
            let tag = json!({"type": "string", "examples": ["\"0123456789abcdef0123456789abcdef\""]});
            vec![json!({"name": "If-None-Match", "in": "header", "description": about, "schema": tag})]
        }
        InteractionKind::Validate => {
            let modes = json!({"enum": ["create", "update", "delete", "profile"]});
            let profile = json!({"type": "string", "minLength": 1});
            vec![
                query("mode", "What the resource is judged as", modes),
                query("profile", "The profile to judge by, in place of that in meta.profile", profile),
            ]
        }
        _ => Vec::new(),
    }
}
