//! The patient registry and what certificates have of it. Contract 6.

mod broken;
mod faults;
mod linked;
mod population;
mod remote;
mod rules;
mod subject;
mod together;
mod walk;

use hcert::config::Config;
use serde_json::json;

use crate::body::Body;
use crate::server::{Listening, START, Server};

/// Identifier system of Estonian personal codes.
const CODE: &str = "https://fhir.ee/sid/pid/est/ni";

/// A draft about this subject: a Reference.
fn about(subject: serde_json::Value) -> Body {
    Body::draft().with("/subject", json!([subject]))
}

/// A draft about `Patient/<id>`.
fn about_patient(id: u64) -> Body {
    about(json!({"reference": format!("Patient/{id}")}))
}

/// A draft about somebody known by an identifier alone.
fn about_identifier(system: &str, value: &str) -> Body {
    about(json!({"identifier": {"system": system, "value": value}}))
}

/// A service whose patients another one keeps. A question is put once and nothing is remembered, unless `change` says otherwise.
async fn asking(registry: &Listening, change: impl FnOnce(&mut Config)) -> Server {
    let address = format!("http://{}/fhir", registry.address);
    let server = Server::with(START, |config| {
        config.registry.mode = hcert::config::RegistryMode::Remote;
        config.registry.remote.address = Some(address);
        config.registry.remote.tries = 1;
        config.registry.remote.cache_s = 0;
        change(config);
    });
    server.await
}
