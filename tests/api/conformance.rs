//! What defines the service, as resources: by id and by `url`.

use serde_json::Value;

use crate::server::Server;

const KINDS: [&str; 5] = ["StructureDefinition", "CodeSystem", "ValueSet", "OperationDefinition", "SearchParameter"];

#[tokio::test]
async fn every_definition_is_found_by_its_id_and_by_its_url() {
    let server = Server::start().await;
    for kind in KINDS {
        let all = server.get(&format!("{kind}?_count=100")).await.expect(200).json();
        let entries = all["entry"].as_array().expect("entries").clone();
        assert_eq!(all["total"], entries.len());
        assert!(!entries.is_empty(), "{kind}");
        for entry in entries {
            let (id, url) = (text(&entry["resource"]["id"]), text(&entry["resource"]["url"]));
            assert_eq!(entry["fullUrl"], format!("http://127.0.0.1:8080/fhir/{kind}/{id}"));
            assert!(!url.contains('{'), "{url}");
            let read = server.get(&format!("{kind}/{id}")).await.expect(200);
            assert_eq!(read.json(), entry["resource"], "{kind}/{id}");
            let found = server.get(&format!("{kind}?url={url}")).await.expect(200).json();
            assert_eq!((&found["total"], &found["entry"][0]["resource"]["id"]), (&1.into(), &entry["resource"]["id"]));
        }
    }
}

#[tokio::test]
async fn every_address_the_statement_names_here_is_served() {
    let server = Server::start().await;
    let statement = server.get("metadata").await.expect(200).json();
    let resources = statement["rest"][0]["resource"].as_array().expect("resources").clone();
    let composition = &resources[0];
    let profiles = composition["supportedProfile"].as_array().expect("profiles");
    for profile in profiles.iter().chain([&composition["profile"]]) {
        let found = server.get(&format!("StructureDefinition?url={}", text(profile))).await.expect(200).json();
        assert_eq!(found["total"], 1, "{profile}");
    }
    for operation in composition["operation"].as_array().expect("operations") {
        let url = text(&operation["definition"]);
        if url.starts_with("https://fhir.ee/") {
            let found = server.get(&format!("OperationDefinition?url={url}")).await.expect(200).json();
            assert_eq!(found["total"], 1, "{url}");
        }
    }
    assert_eq!((&resources[1]["type"], &resources[2]["type"]), (&"Patient".into(), &"AuditEvent".into()));
    let types: Vec<&str> = resources.iter().skip(3).map(|resource| text(&resource["type"])).collect();
    assert_eq!(types, KINDS);
}

#[tokio::test]
async fn a_search_is_paged_and_takes_nothing_else() {
    let server = Server::start().await;
    let told = server.get("CodeSystem?_count=2&_page=2").await.expect(200);
    let page = told.json();
    assert_eq!(page["entry"].as_array().expect("entries").len(), 2);
    let own = "http://127.0.0.1:8080/fhir/CodeSystem?_count=2&_page=2";
    assert_eq!(told.link("self").as_deref(), Some(own));
    assert!(told.link("next").is_some() && told.link("previous").is_some());
    let all = server.get("CodeSystem").await.expect(200).json();
    assert_eq!((page["total"].clone(), &page["entry"][0]), (all["total"].clone(), &all["entry"][2]));

    let none = server.get("ValueSet?url=https://fhir.ee/ValueSet/none").await.expect(200).json();
    assert_eq!((&none["total"], none.get("entry")), (&0.into(), None));
    let two = server.get("ValueSet?_id=labivaatuse-tyyp,tervisetoendi-staatus-fhir").await.expect(200).json();
    assert_eq!(two["total"], 2);
    let both = server.get("ValueSet?_id=labivaatuse-tyyp&_id=tervisetoendi-staatus-fhir").await.expect(200).json();
    assert_eq!(both["total"], 0);
    assert_eq!(server.get("ValueSet?_count=0").await.expect(200).json().get("entry"), None);

    for (query, code) in [
        ("name=x", "HCERT-118"),
        ("_profile=x", "HCERT-118"),
        ("url=", "HCERT-121"),
        ("_count=x", "HCERT-120"),
        ("_page=0", "HCERT-120"),
        ("_page=1&_page=2", "HCERT-122"),
    ] {
        server.get(&format!("ValueSet?{query}")).await.refused(400, &[code]);
    }
    let dropped = server.get("ValueSet?_total=accurate&_id=labivaatuse-tyyp").await.expect(200).json();
    assert_eq!(text(&dropped["link"][0]["url"]), "http://127.0.0.1:8080/fhir/ValueSet?_id=labivaatuse-tyyp&_page=1");
    let lenient = server.get("ValueSet?name=x&_count=1").header("Prefer", "handling=lenient").await.expect(200).json();
    let last = lenient["entry"].as_array().and_then(|entries| entries.last()).expect("entries");
    assert_eq!(last["search"]["mode"], "outcome");
}

#[tokio::test]
async fn a_definition_can_be_cut_down_and_looked_at_without_its_body() {
    let server = Server::start().await;
    let summary = server.get("StructureDefinition/ee-health-certificate?_summary=true").await.expect(200).json();
    assert!(summary.get("differential").is_none() && summary.get("url").is_some());
    let head = server.head("StructureDefinition/ee-health-certificate").await.expect(200);
    assert!(head.body.is_empty() && head.header("content-type").is_some());
}

#[tokio::test]
async fn what_is_not_there_is_404_and_other_methods_are_405() {
    let server = Server::start().await;
    for path in ["StructureDefinition/none", "CodeSystem/1", "SearchParameter/a", "OperationDefinition/x"] {
        server.get(path).await.refused(404, &["HCERT-127"]);
    }
    let refused = server.ask("DELETE", "ValueSet/labivaatuse-tyyp").await.expect(405);
    assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
    let refused = server.ask("PUT", "ValueSet/$expand").await.expect(405);
    assert_eq!(refused.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
