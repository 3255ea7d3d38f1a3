//! Requests as a collection of Postman, form v2.1.0.

use serde_json::{Value, json};

use crate::interaction::openapi::sample::SampleRequest;

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/// The collection: a folder for each tag.
pub(super) fn collection(requests: &[SampleRequest], base_url: &str) -> Value {
    let folders = requests.chunk_by(|one, other| one.tag == other.tag);
    let folders: Vec<Value> = folders
        .map(|requests| json!({"name": requests[0].tag, "item": requests.iter().map(item).collect::<Vec<_>>()}))
        .collect();
    let mut collection = json!({
        "info": {"name": "hcert", "schema": SCHEMA},
        "item": folders,
        "variable": [{"key": "base", "value": base_url}],
    });
    if requests.iter().any(|request| request.needs_token) {
        collection["auth"] =
            json!({"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]});
        collection["variable"][1] = json!({"key": "token", "value": ""});
    }
    collection
}

fn item(request: &SampleRequest) -> Value {
    let headers: Vec<Value> =
        request.headers.iter().map(|(name, value)| json!({"key": name, "value": value})).collect();
    let mut sent = json!({
        "method": request.method,
        "header": headers,
        "url": format!("{{{{base}}}}{}", request.path),
    });
    if let Some(body) = &request.body {
        sent["body"] = json!({"mode": "raw", "raw": body.indented()});
    }
    json!({"name": request.id, "request": sent})
}
