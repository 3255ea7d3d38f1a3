//! GET /metadata. Specification 4.8.

use crate::server::Server;

#[tokio::test]
async fn the_service_tells_what_it_can_do() {
    let server = Server::start().await;
    insta::assert_snapshot!(server.get("metadata").await);
}

#[tokio::test]
async fn every_search_parameter_told_is_taken() {
    let server = Server::start().await;
    let statement = server.get("metadata").await.expect(200).json();
    let resource = &statement["rest"][0]["resource"][0];
    let parameters = resource["searchParam"].as_array().expect("parameters");
    assert!(parameters.len() >= 15);
    for parameter in parameters {
        let name = parameter["name"].as_str().expect("a name");
        let value = match (name, parameter["type"].as_str().expect("a type")) {
            ("status", _) => "final",
            ("_id", _) => "1",
            (_, "date") => "2025-01-12",
            (_, "composite") => "employer$16978044",
            (_, "reference") => "1",
            ("subject:Patient.identifier", _) => "39406240015",
            _ => "a",
        };
        server.get(&format!("Composition?{name}={value}")).await.expect(200);
    }
}

#[tokio::test]
async fn the_statement_has_no_version_to_compare() {
    let server = Server::start().await;
    let told = server.get("metadata").header("If-None-Match", "*").await.expect(200);
    assert!(told.header("etag").is_none());
}
