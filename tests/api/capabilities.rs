//! GET /metadata, and the service held against it: everything that is declared is called, everything that is not is refused.
//! Specification 4.8.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::body::{self, Body};
use crate::response::TestResponse;
use crate::server::{START, Server};

#[tokio::test]
async fn the_service_tells_what_it_can_do() {
    let server = Server::start().await;
    insta::assert_snapshot!(server.get("metadata").await);
}

#[tokio::test]
async fn the_statement_has_no_version_to_compare() {
    let server = Server::start().await;
    let told = server.get("metadata").header("If-None-Match", "*").await.expect(200);
    assert!(told.header("etag").is_none());
}

#[tokio::test]
async fn the_mode_says_which_statement_is_told() {
    let server = Server::start().await;
    let full = server.get("metadata").await.expect(200).json();
    assert_eq!(server.get("metadata?mode=full").await.expect(200).json(), full);
    // Specification 9: version 1.0.0, status trial-use.
    let status = json!({"url": "http://hl7.org/fhir/StructureDefinition/structuredefinition-standards-status", "valueCode": "trial-use"});
    assert_eq!(
        (&full["version"], &full["status"], &full["extension"]),
        (&json!("1.0.0"), &json!("active"), &json!([status]))
    );

    let mut normative = server.get("metadata?mode=normative").await.expect(200).json();
    assert!(normative.get("acceptLanguage").is_none());
    normative["acceptLanguage"] = full["acceptLanguage"].clone();
    assert_eq!(normative, full);

    insta::assert_snapshot!("terminology", server.get("metadata?mode=terminology").await);
    for query in ["mode=all", "mode=", "mode=full&mode=full"] {
        server.get(&format!("metadata?{query}")).await.expect(400);
    }
}

#[tokio::test]
async fn clients_are_told_where_tokens_come_from() {
    let server = Server::start().await;
    let told = server.get("/.well-known/smart-configuration").await.expect(200);
    assert_eq!(told.header("content-type"), Some("application/json; charset=utf-8"));
    let document = told.json();
    let token = document["token_endpoint"].as_str().and_then(|url| url.strip_prefix("http://127.0.0.1:8080"));
    assert_eq!(token, Some("/auth/v2/token"));
    assert_eq!(document["jwks_uri"], "http://127.0.0.1:8080/.well-known/jwks.json");
    assert_eq!(document["capabilities"], json!([]));
    assert_eq!(server.get(".well-known/smart-configuration").await.expect(200).json(), document);
    let x_road =
        server.get("/r1/ee-dev/GOV/70009770/tis/fhir/.well-known/smart-configuration").await.expect(200).json();
    assert_eq!(x_road["token_endpoint"], "http://127.0.0.1:8080/r1/ee-dev/GOV/70009770/tis/auth/v2/token");
    let refused = server.ask("DELETE", ".well-known/smart-configuration").await.expect(405);
    assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));

    let server = Server::with(START, |config| {
        config.access.mode = hcert::config::AccessMode::Jwt;
        let token = &mut config.access.token;
        token.jwks = Some("http://127.0.0.1:1/jwks.json".to_owned());
        token.issuer = Some("https://issuer.example.ee".to_owned());
        token.audience = Some("hcert".to_owned());
        token.token_endpoint = Some("https://issuer.example.ee/token".to_owned());
    })
    .await;
    server.get("Composition/1").await.refused(401, &["HCERT-176"]);
    let told = server.get(".well-known/smart-configuration").await.expect(200).json();
    let expected = json!({"issuer": "https://issuer.example.ee", "jwks_uri": "http://127.0.0.1:1/jwks.json",
        "token_endpoint": "https://issuer.example.ee/token", "capabilities": []});
    assert_eq!(told, expected);
    server.get("/.well-known/jwks.json").await.refused(404, &["HCERT-126"]);
}

/// Every interaction on a resource type that R5 has.
const INTERACTIONS: [&str; 9] =
    ["read", "vread", "update", "patch", "delete", "history-instance", "history-type", "create", "search-type"];

/// Modifiers that R5 has.
const MODIFIERS: [&str; 14] = [
    "missing",
    "exact",
    "contains",
    "text",
    "text-advanced",
    "code-text",
    "in",
    "not-in",
    "below",
    "above",
    "not",
    "identifier",
    "of-type",
    "iterate",
];

/// Filters of R5 for every type, and filters that clients often try.
const FILTERS: [&str; 16] = [
    "_id",
    "_lastUpdated",
    "_has:Patient:link:_id",
    "_filter",
    "_list",
    "_text",
    "_content",
    "_tag",
    "_profile",
    "_security",
    "_source",
    "_in",
    "_language",
    "_type",
    "name",
    "version",
];

/// Operations that other servers offer.
const OPERATIONS: [&str; 12] = [
    "everything",
    "meta",
    "meta-add",
    "meta-delete",
    "graphql",
    "document",
    "pdf",
    "translate",
    "subsumes",
    "closure",
    "match",
    "snapshot",
];

/// A server with certificates in several states, patients, and events of a caller with a token; and the statement's resources.
async fn declared() -> (Server, Vec<Value>) {
    let server = Server::start().await;
    for example in ["driver-final", "occupational-final", "driver-draft"] {
        server.create(body::text(example)).await;
    }
    let doctor = server.token("doctor", json!({})).await;
    server.get("Composition/1").header("Authorization", &doctor).await.expect(200);
    let statement = server.get("metadata").await.expect(200).json();
    let resources = statement["rest"][0]["resource"].as_array().expect("resources").clone();
    assert!(statement["rest"][0].get("interaction").is_none(), "nothing of the whole system is declared");
    (server, resources)
}

fn texts<'v>(resource: &'v Value, list: &str, member: &str) -> Vec<&'v str> {
    let items = resource[list].as_array().into_iter().flatten();
    items.map(|item| item[member].as_str().expect("a text")).collect()
}

/// An id that a resource of the type has.
async fn id_of(server: &Server, kind: &str) -> String {
    match kind {
        "Composition" => "3".to_owned(),
        "Patient" => "200".to_owned(),
        "AuditEvent" => "1".to_owned(),
        _ => {
            let all = server.get(&format!("{kind}?_count=1")).await.expect(200).json();
            all["entry"][0]["resource"]["id"].as_str().expect("an id").to_owned()
        }
    }
}

async fn interact(server: &Server, kind: &str, id: &str, interaction: &str) -> Vec<TestResponse> {
    let instance = format!("{kind}/{id}");
    let body = || Vec::from(Body::draft().number("TT-1"));
    match interaction {
        "read" => vec![server.get(&instance).await],
        "vread" => vec![server.get(&format!("{instance}/_history/1")).await],
        "update" => vec![server.put(&instance, body()).await],
        "patch" => {
            let patch = server.ask("PATCH", &instance).body_as(Some("application/json-patch+json"), "[]");
            vec![patch.await]
        }
        "delete" => vec![server.delete(&instance).await],
        "history-instance" => vec![server.get(&format!("{instance}/_history")).await],
        "history-type" => vec![server.get(&format!("{kind}/_history")).await],
        "create" => vec![server.post(kind, body()).await],
        "search-type" => {
            let filter = if kind == "AuditEvent" { "action=C".to_owned() } else { format!("_id={id}") };
            let by_get = server.get(&format!("{kind}?{filter}")).await;
            vec![by_get, server.form(&format!("{kind}/_search"), &filter).await]
        }
        other => panic!("{other} is declared, and this test does not know how to call it"),
    }
}

#[tokio::test]
async fn every_interaction_declared_is_answered_and_every_other_refused() {
    let (server, resources) = declared().await;
    for resource in &resources {
        let kind = resource["type"].as_str().expect("a type");
        let declared = texts(resource, "interaction", "code");
        assert!(declared.iter().all(|code| INTERACTIONS.contains(code)), "{kind}: {declared:?}");
        let id = id_of(&server, kind).await;
        // What deletes comes last, so that all others find something.
        let mut interactions = INTERACTIONS;
        interactions.sort_by_key(|code| *code == "delete");
        for interaction in interactions {
            for told in interact(&server, kind, &id, interaction).await {
                match declared.contains(&interaction) {
                    true => assert!(told.status.is_success(), "{kind} {interaction}: {told}"),
                    false => assert!(matches!(told.status.as_u16(), 404 | 405), "{kind} {interaction}: {told}"),
                }
            }
        }
    }
    for (method, path) in [("POST", ""), ("GET", "?_id=1"), ("GET", "_history"), ("POST", "_search"), ("POST", "$meta")]
    {
        server.ask(method, path).body("{}").await.expect(404);
    }
    for kind in ["Observation", "Practitioner", "Bundle", "composition"] {
        for interaction in INTERACTIONS {
            interact(&server, kind, "1", interaction).await.into_iter().for_each(|told| drop(told.expect(404)));
        }
    }
}

/// For a parameter: a query that finds something and one that finds nothing. A parameter that is declared and not told here fails.
fn queries(kind: &str, name: &str, all: &[Value]) -> (String, String) {
    let of = |found: &str, missed: &str| (format!("{name}={found}"), format!("{name}={missed}"));
    match (kind, name) {
        ("Composition", "subject:Patient.identifier") => of("39406240015", "48703129419"),
        ("Composition", "subject" | "patient") => of("Patient/200", "Patient/201"),
        ("Composition", "status") => of("final", "cancelled"),
        ("Composition", "category") => of("occupational", "none"),
        ("Composition", "section-code-text") => of("employer$16978044", "employer$1"),
        ("Composition", "author:PractitionerRole.practitioner") => of("Practitioner/49403136515", "Practitioner/1"),
        ("Composition", "author:PractitionerRole.organization") => of("Organization/90006399", "Organization/1"),
        ("Composition", "entry") => of("QuestionnaireResponse/301", "QuestionnaireResponse/1"),
        ("Composition", "period") => of("2025-06-01", "1999-01-01"),
        ("Composition", "_id") => of("1", "99"),
        ("Composition", "_lastUpdated") => of("2025-01-13", "2024"),
        ("Composition", "identifier") => of("TT-2025-000202", "TT-1"),
        ("Composition", "date") => of("2025-01-12", "2024"),
        ("Composition", "type") => of("772786005", "1"),
        ("Composition", "title") => of("läbivaatus", "nonsense"),
        ("Patient", "identifier") => of("39406240015", "https://fhir.ee/sid/pid/fin/ni|none"),
        ("Patient", "_id") => of("200", "999"),
        ("Patient", "birthdate") => of("1994-06-24", "1799-01-01"),
        ("Patient", "active") => of("true", "false&_id=200"),
        ("Patient", "deceased") => of("true", "true&_id=200"),
        ("AuditEvent", "entity") => of("Composition/1", "Observation/1"),
        // Who asks for a patient names them, and is found from then on.
        ("AuditEvent", "patient") => of("Patient/200", "Patient/999&code=consent.set"),
        ("AuditEvent", "agent") => of("Practitioner/37605030299", "Practitioner/1"),
        ("AuditEvent", "action") => of("C", "D"),
        ("AuditEvent", "code") => of("create", "delete"),
        ("AuditEvent", "outcome") => of("success", "fatal"),
        ("AuditEvent", "date") => of("2025-01-13", "2024"),
        // Of any other parameter, the element that it is named after.
        _ => {
            let element = all.iter().find_map(|resource| resource[name.trim_start_matches('_')].as_str());
            of(element.unwrap_or_else(|| panic!("this test knows nothing that {name} of {kind} finds")), "none")
        }
    }
}

/// The modifiers that the documentation of a parameter tells.
fn modifiers(parameter: &Value) -> Vec<&str> {
    let told = parameter["documentation"].as_str().and_then(|told| told.split_once("Modifiers: "));
    told.map(|(_, names)| names.split(", ").map(|name| name.trim_start_matches(':')).collect()).unwrap_or_default()
}

#[tokio::test]
async fn every_parameter_declared_finds_and_misses_and_every_other_is_refused() {
    let (server, resources) = declared().await;
    let all = resources.iter().flat_map(|resource| texts(resource, "searchParam", "name"));
    let all: BTreeSet<&str> = all.chain(FILTERS).collect();
    for resource in &resources {
        let kind = resource["type"].as_str().expect("a type");
        let examples = match kind {
            "Patient" | "AuditEvent" => Vec::new(),
            _ => {
                let found = server.get(kind).await.expect(200).json();
                let entries = found["entry"].as_array().into_iter().flatten();
                entries.map(|entry| entry["resource"].clone()).collect::<Vec<_>>()
            }
        };
        let parameters = resource["searchParam"].as_array().expect("parameters");
        for parameter in parameters {
            let name = parameter["name"].as_str().expect("a name");
            assert!(
                parameter["definition"]
                    .as_str()
                    .is_some_and(|url| url.starts_with("http://hl7.org/fhir/SearchParameter/"))
            );
            let (finds, misses) = queries(kind, name, &examples);
            for (query, is_found) in [(&finds, true), (&misses, false)] {
                let by_get = server.get(&format!("{kind}?{query}")).await.expect(200);
                let by_form = server.form(&format!("{kind}/_search"), query).await.expect(200);
                for told in [by_get, by_form] {
                    assert_eq!(told.json()["total"].as_u64() > Some(0), is_found, "{kind}?{query}: {told}");
                }
            }
            let declared = modifiers(parameter);
            let value = finds.split_once('=').expect("a query").1;
            for modifier in MODIFIERS.iter().chain(&declared).collect::<BTreeSet<_>>() {
                let value = if *modifier == "missing" { "true" } else { value };
                let told = server.get(&format!("{kind}?{name}:{modifier}={value}")).await;
                let expected = if declared.contains(modifier) { 200 } else { 400 };
                told.expect(expected);
            }
        }
        let declared = texts(resource, "searchParam", "name");
        for name in all.iter().filter(|name| !declared.contains(name)) {
            server.get(&format!("{kind}?{name}=1")).await.expect(400);
            server.form(&format!("{kind}/_search"), &format!("{name}=1")).await.expect(400);
        }
    }
}

/// For an operation: where it is called, and with which body by POST. One that is declared and not told here fails.
fn calls(kind: &str, name: &str) -> Vec<(&'static str, &'static str, Option<Vec<u8>>)> {
    let parameters =
        |list: Value| Some(json!({"resourceType": "Parameters", "parameter": list}).to_string().into_bytes());
    let text = |name: &str, value: &str| json!({"name": name, "valueString": value});
    let reason = || Some(Vec::from(Body::reason("põhjus")));
    const LISTS: &str = "https://fhir.ee/ValueSet/labivaatuse-tyyp";
    match (kind, name) {
        ("Composition", "suspend") => vec![("POST", "Composition/1/$suspend", reason())],
        ("Composition", "cancel") => vec![("POST", "Composition/2/$cancel", reason())],
        ("Composition", "get-consent") => {
            vec![
                ("GET", "Composition/1/$get-consent", None),
                ("POST", "Composition/1/$get-consent", Some(br#"{"resourceType":"Parameters"}"#.to_vec())),
            ]
        }
        ("Composition", "pdf") => {
            let role = parameters(json!([text("role", "doctor")]));
            vec![("GET", "Composition/1/$pdf?role=doctor", None), ("POST", "Composition/1/$pdf", role)]
        }
        ("Composition", "set-consent") => {
            vec![("POST", "Composition/1/$set-consent", parameters(json!([text("doctor", "open")])))]
        }
        ("Composition", "validate") => vec![
            ("POST", "Composition/$validate", Some(Vec::from(Body::draft()))),
            ("POST", "Composition/3/$validate", Some(Vec::from(Body::draft()))),
            ("GET", "Composition/3/$validate", None),
        ],
        ("CodeSystem", "lookup") => vec![
            ("GET", "CodeSystem/$lookup?system=https://fhir.ee/CodeSystem/labivaatuse-tyyp&code=occupational", None),
            ("GET", "CodeSystem/labivaatuse-tyyp/$lookup?code=occupational", None),
            (
                "POST",
                "CodeSystem/labivaatuse-tyyp/$lookup",
                parameters(json!([{"name": "code", "valueCode": "occupational"}])),
            ),
        ],
        ("CodeSystem", "validate-code") => vec![
            (
                "GET",
                "CodeSystem/$validate-code?url=https://fhir.ee/CodeSystem/labivaatuse-tyyp&code=occupational",
                None,
            ),
            ("GET", "CodeSystem/labivaatuse-tyyp/$validate-code?code=occupational", None),
        ],
        ("ValueSet", "expand") => vec![
            ("GET", "ValueSet/$expand?url=https://fhir.ee/ValueSet/labivaatuse-tyyp", None),
            ("GET", "ValueSet/labivaatuse-tyyp/$expand", None),
            ("POST", "ValueSet/$expand", parameters(json!([{"name": "url", "valueUri": LISTS}]))),
            (
                "POST",
                "ValueSet/$expand",
                parameters(json!([{"name": "valueSet", "resource": {
                "resourceType": "ValueSet", "status": "draft", "compose": {"include": [{"valueSet": [LISTS]}]}}}])),
            ),
        ],
        ("ValueSet", "validate-code") => vec![(
            "GET",
            "ValueSet/labivaatuse-tyyp/$validate-code?system=https://fhir.ee/CodeSystem/labivaatuse-tyyp&code=occupational",
            None,
        )],
        _ => panic!("{kind} declares ${name}, and this test does not know how to call it"),
    }
}

#[tokio::test]
async fn every_operation_declared_is_answered_and_every_other_refused() {
    let (server, resources) = declared().await;
    let all = resources.iter().flat_map(|resource| texts(resource, "operation", "name"));
    let all: BTreeSet<&str> = all.chain(OPERATIONS).collect();
    for resource in &resources {
        let kind = resource["type"].as_str().expect("a type");
        let declared = texts(resource, "operation", "name");
        for name in &declared {
            for (method, path, body) in calls(kind, name) {
                let asked = server.ask(method, path);
                let told = match body {
                    Some(body) => asked.body(body).await,
                    None => asked.await,
                };
                told.expect(200);
            }
        }
        let id = id_of(&server, kind).await;
        for name in all.iter().filter(|name| !declared.contains(name)) {
            for path in [format!("{kind}/${name}"), format!("{kind}/{id}/${name}")] {
                server.get(&path).await.expect(404);
                server.post(&path, "{}").await.expect(404);
            }
        }
    }
}
