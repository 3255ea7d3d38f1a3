//! Every row of the table of interactions does over HTTP what the table says of it: it is reached, permitted, written down, counted and told
//! of, and takes the body that it names.

use base::metrics::Readings;
use hcert::interaction::table::{InteractionRow, StatementEntry};
use hcert::interaction::{BodyContent, DefinitionKind, HttpMethod, INTERACTIONS};
use serde_json::{Value, json};

use crate::body::Body;
use crate::response::TestResponse as Answered;
use crate::server::Server;

/// The paths of a row: with things that are there, and once for each type where it stands for several.
fn paths(row: &InteractionRow) -> Vec<String> {
    let id = match row.resource() {
        "Patient" => "200",
        "Composition" | "AuditEvent" => "1",
        _ => "none",
    };
    let path = row.path[1..].replace("{id}", id).replace("{version}", "1");
    match row.resource() {
        "{definition}" => DefinitionKind::ALL.map(|kind| path.replace("{definition}", kind.name())).to_vec(),
        _ => vec![path],
    }
}

/// Asks with a body that the row takes and that nobody can do anything with.
async fn ask(server: &Server, row: &InteractionRow, path: &str, token: Option<&str>) -> Answered {
    let mut asked = server.ask(row.method.name(), path);
    if let Some(token) = token {
        asked = asked.header("Authorization", token);
    }
    match row.body {
        None => asked.await,
        Some(BodyContent::Resource) => asked.body_as(Some("application/fhir+json"), "{}").await,
        Some(BodyContent::Form) => asked.body_as(Some("application/x-www-form-urlencoded"), "_count=0").await,
    }
}

async fn server() -> Server {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    server
}

#[tokio::test]
async fn every_row_is_reached_allowed_written_down_and_counted() {
    let server = server().await;
    for row in INTERACTIONS {
        for path in paths(row) {
            let shown = format!("{} {path}", row.method.name());
            let allowed = server.ask("OPTIONS", &path).await.expect(204);
            let allowed = allowed.header("allow").expect("what is allowed").to_owned();
            assert!(allowed.split(", ").any(|method| method == row.method.name()), "{shown}: {allowed}");

            let (events, changes) = (server.events().len(), server.seq());
            let told = ask(&server, row, &path, None).await;
            assert!(!matches!(told.status.as_u16(), 405 | 415 | 500..), "{shown}: {told}");
            assert!(!told.codes().contains(&"HCERT-126".to_owned()), "{shown} leads nowhere: {told}");
            let events: Vec<_> = server.events().drain(events..).map(|event| event.action).collect();
            assert_eq!(events, Vec::from_iter(row.action), "{shown}");
            assert!(row.changes || server.seq() == changes, "{shown} changed something");

            let http = server.http();
            let metrics = http.settings().metrics.text(&Readings::default());
            let (label, method) = (format!("route=\"{}\"", row.label), format!("method=\"{}\"", row.method.name()));
            assert!(metrics.lines().any(|line| line.contains(&label) && line.contains(&method)), "{shown}: {label}");
        }
    }
}

#[tokio::test]
async fn every_row_needs_its_permission_and_no_row_more() {
    let server = server().await;
    // Nobody has this role, so it grants nothing.
    let nothing = server.token("nobody", json!({})).await;
    for row in INTERACTIONS {
        for path in paths(row) {
            let told = ask(&server, row, &path, Some(&nothing)).await;
            let is_refused = (told.status.as_u16(), told.codes()) == (403, vec!["HCERT-178".to_owned()]);
            assert_eq!(is_refused, row.permission.is_some(), "{} {path}: {told}", row.method.name());
        }
    }
}

#[tokio::test]
async fn every_row_that_takes_a_body_takes_no_other() {
    let server = server().await;
    for row in INTERACTIONS {
        let other = match row.body {
            None => continue,
            Some(BodyContent::Resource) => "application/x-www-form-urlencoded",
            Some(BodyContent::Form) => "application/fhir+json",
        };
        for path in paths(row) {
            server.ask(row.method.name(), &path).body_as(Some(other), "{}").await.expect(415);
        }
    }
}

#[tokio::test]
async fn the_statement_tells_of_every_row_and_of_nothing_else() {
    let statement = Server::start().await.get("metadata").await.expect(200).json();
    let resources = statement["rest"][0]["resource"].as_array().expect("resources").clone();
    let (mut told, mut rows) = (0, 0);
    for resource in &resources {
        let names = |list: &str, name: &str| -> Vec<Value> {
            resource[list].as_array().into_iter().flatten().map(|item| item[name].clone()).collect()
        };
        let (interactions, operations) = (names("interaction", "code"), names("operation", "name"));
        told += interactions.len() + operations.len();
        let kind = resource["type"].as_str().expect("a type");
        let is_definition = DefinitionKind::ALL.iter().any(|known| known.name() == kind);
        let of = |row: &&InteractionRow| row.resource() == kind || is_definition && row.resource() == "{definition}";
        for row in INTERACTIONS.iter().filter(of) {
            match row.told {
                Some(StatementEntry::Interaction(code, _)) => {
                    assert!(interactions.contains(&json!(code)), "{}", row.path);
                }
                Some(StatementEntry::Operation(name, ..)) => assert!(operations.contains(&json!(name)), "{}", row.path),
                None => continue,
            }
            rows += 1;
        }
    }
    assert_eq!(told, rows);
    // What is told of once is told of by each row of the same kind, but for those that are asked another way.
    for row in INTERACTIONS.iter().filter(|row| !["metadata", "openapi.json"].contains(&row.resource())) {
        let is_told = INTERACTIONS.iter().any(|other| other.kind == row.kind && other.told.is_some());
        assert!(is_told, "{} is not told of", row.path);
    }
    assert!(INTERACTIONS.iter().any(|row| row.method == HttpMethod::Delete));
}
