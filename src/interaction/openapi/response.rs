//! What an operation answers: each status with its body.

use serde_json::{Map, Value, json};

use super::api_operation::{ApiOperation, FHIR};
use super::schema;
use crate::interaction::table::{BodyContent, InteractionKind};

const PDF: &str = "application/pdf";

/// Statuses of refusals, and what each means here.
const REFUSALS: &[(u16, &str)] = &[
    (400, "The request cannot be understood: a body that is no FHIR, an unknown parameter, a wrong value"),
    (401, "A token is needed, or the one sent is refused"),
    (403, "The caller may not do this, or not to this certificate"),
    (404, "There is no such resource, version or code list"),
    (405, "The service assigns ids, so nothing is updated that was not created"),
    (406, "None of the accepted media types is supported"),
    (408, "The body did not arrive in time"),
    (409, "The state of the certificate does not allow it, or its number is in use"),
    (410, "The certificate was deleted; its history stays readable"),
    (411, "A body needs a length, or has to come in chunks"),
    (412, "A precondition does not hold"),
    (413, "The body is too large"),
    (414, "The address is too long"),
    (415, "The media type of the body is not supported"),
    (417, "What the header Expect asks for is not supported"),
    (422, "The resource breaks a rule of FHIR, of its profile, or of the service"),
    (429, "Too many requests from this address or person"),
    (431, "The headers are too long"),
    (500, "A fault of the service; its log has the cause"),
    (501, "The transfer coding is not supported"),
    (503, "Not possible now: try again after the seconds of Retry-After"),
    (507, "All ids are used up"),
];

/// `components.responses`: refusals, by status, and what the patient registry answers of its own.
pub(super) fn shared() -> Value {
    let outcome = |about: &str| {
        json!({
            "description": about,
            "headers": {"X-Request-Id": header("requestId")},
            "content": {FHIR: {"schema": schema::of_resource("OperationOutcome")}},
        })
    };
    let mut responses: Map<String, Value> =
        REFUSALS.iter().map(|(status, about)| (format!("refused-{status}"), outcome(about))).collect();
    for status in [429, 503] {
        responses[&format!("refused-{status}")]["headers"]["Retry-After"] = header("retryAfter");
    }
    responses[&"refused-401".to_owned()]["headers"]["WWW-Authenticate"] = header("challenge");
    let registry = "The status with which the patient registry, or a system behind it, refuses";
    responses.insert("refused-registry".to_owned(), outcome(registry));
    Value::Object(responses)
}

/// `components.headers`
pub(super) fn headers() -> Value {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    json!({
        "etag": text("The version: W/\"3\""),
        "fileTag": text("The digest of the document; weak for a Binary"),
        "entry": text("The entry of the journal that the document names, and its hash: changes/120:…"),
        "lastModified": text("When the version was made"),
        "location": text("Address of the version that was made"),
        "requestId": text("What the log and the audit trail know the request by"),
        "challenge": text("Which token is asked for, and why the one sent is refused"),
        "retryAfter": json!({"description": "Seconds", "schema": {"type": "integer"}}),
    })
}

fn header(name: &str) -> Value {
    json!({"$ref": format!("#/components/headers/{name}")})
}

/// `responses` of an operation.
pub(super) fn of(operation: &ApiOperation) -> Value {
    let mut responses = succeeded(operation);
    for status in refusals(operation) {
        responses.insert(status.to_string(), json!({"$ref": format!("#/components/responses/refused-{status}")}));
    }
    if operation.row.asks_registry {
        for range in ["4XX", "5XX"] {
            responses.insert(range.to_owned(), json!({"$ref": "#/components/responses/refused-registry"}));
        }
    }
    Value::Object(responses)
}

fn succeeded(operation: &ApiOperation) -> Map<String, Value> {
    let answer = |about: &str, body: Value, headers: &[(&str, &str)]| {
        let headers: Map<String, Value> =
            headers.iter().map(|(name, shared)| ((*name).to_owned(), header(shared))).collect();
        json!({"description": about, "headers": headers, "content": {FHIR: {"schema": body}}})
    };
    let resource = |name: &str| schema::of_resource(name);
    let version = [("ETag", "etag"), ("Last-Modified", "lastModified")];
    let made = [version[0], version[1], ("Location", "location")];
    let unchanged = || ("304".to_owned(), json!({"description": "The caller has the current version"}));
    let ok = |answer: Value| ("200".to_owned(), answer);
    let written = || {
        let either = json!({"anyOf": [resource("Composition"), resource("OperationOutcome")]});
        answer("Stored; what the body is, Prefer says", either, &made)
    };
    let answers = match operation.kind() {
        InteractionKind::Read | InteractionKind::Vread => {
            vec![
                ok(answer("The certificate, as the caller may see it", resource("Composition"), &version)),
                unchanged(),
            ]
        }
        InteractionKind::PatientRead | InteractionKind::PatientVread => {
            vec![ok(answer("The patient", resource("Patient"), &version)), unchanged()]
        }
        InteractionKind::Create => {
            let known =
                ok(answer("A certificate has this number already (If-None-Exist)", resource("Composition"), &made));
            vec![("201".to_owned(), written()), known]
        }
        InteractionKind::Update => vec![ok(written())],
        InteractionKind::Suspend | InteractionKind::Cancel => {
            vec![ok(answer("The certificate in its new state", resource("Composition"), &made))]
        }
        InteractionKind::Delete => vec![("204".to_owned(), json!({"description": "Deleted"}))],
        InteractionKind::HistoryInstance
        | InteractionKind::HistoryType
        | InteractionKind::PatientHistory
        | InteractionKind::Search
        | InteractionKind::PatientSearch
        | InteractionKind::AuditSearch
        | InteractionKind::SearchDefinitions => vec![ok(answer("A page of what was found", resource("Bundle"), &[]))],
        InteractionKind::GetConsent => {
            vec![ok(answer("Whom the patient lets see the certificate", resource("Parameters"), &[]))]
        }
        InteractionKind::Pdf => {
            let of_file = [("ETag", "fileTag"), version[1], ("X-Hcert-Entry", "entry")];
            let mut file = answer("The document; a Binary where FHIR is accepted", resource("Binary"), &of_file);
            file["content"][PDF] = json!({"schema": {"type": "string", "contentMediaType": PDF}});
            vec![ok(file), unchanged()]
        }
        InteractionKind::SetConsent => vec![ok(answer("What holds now", resource("OperationOutcome"), &[]))],
        InteractionKind::Validate => {
            vec![ok(answer("What was found, also where it would be refused", resource("OperationOutcome"), &[]))]
        }
        InteractionKind::AuditRead => vec![ok(answer("The event", resource("AuditEvent"), &[]))],
        InteractionKind::ReadDefinition => vec![ok(answer("The definition", resource(operation.resource), &[]))],
        InteractionKind::Lookup => vec![ok(answer("What is known of the code", resource("Parameters"), &[]))],
        InteractionKind::ValidateCode(_) => {
            vec![ok(answer("Whether the code is one, and why not", resource("Parameters"), &[]))]
        }
        InteractionKind::Expand => vec![ok(answer("The value set with its codes", resource("ValueSet"), &[]))],
        InteractionKind::Capabilities => {
            let statements = ["CapabilityStatement", "TerminologyCapabilities"].map(resource);
            vec![ok(answer("What the service can do", json!({"anyOf": statements}), &[]))]
        }
        InteractionKind::ApiDescription => {
            let content = json!({"application/json": {"schema": {"type": "object"}}});
            vec![ok(json!({"description": "This document", "content": content}))]
        }
    };
    answers.into_iter().collect()
}

/// Statuses with which it may be refused.
fn refusals(operation: &ApiOperation) -> Vec<u16> {
    let kind = operation.kind();
    let is_public = matches!(kind, InteractionKind::Capabilities | InteractionKind::ApiDescription);
    let mut statuses = vec![400, 403, 406, 414, 417, 429, 431, 500, 503];
    if !is_public {
        statuses.push(401);
    }
    let of_lists = matches!(kind, InteractionKind::Lookup | InteractionKind::ValidateCode(_) | InteractionKind::Expand);
    if operation.is_of_one() || of_lists {
        statuses.push(404);
    }
    if operation.row.body.is_some() {
        statuses.extend([408, 411, 413, 415, 501]);
    }
    if operation.row.body == Some(BodyContent::Resource) || of_lists {
        statuses.push(422);
    }
    if operation.resource == "Composition" && operation.is_of_one() && kind != InteractionKind::HistoryInstance {
        statuses.push(410);
    }
    if operation.row.changes {
        statuses.extend([409, 412]);
    }
    match kind {
        InteractionKind::Create => statuses.extend([404, 507]),
        InteractionKind::Update => statuses.push(405),
        // The certificate that a body would update may be named in it.
        InteractionKind::Validate => statuses.extend([404, 405, 409, 410, 412]),
        _ => {}
    }
    statuses
}
