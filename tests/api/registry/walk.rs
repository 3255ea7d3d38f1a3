//! Every code of the catalogue, raised on the registry's side and told through a certificate's create. Contract 6.3, 6.4.

use std::collections::HashMap;

use fhir::outcome::reflected::{self, ReflectedCode, System};
use hcert::config::Config;
use serde_json::Value;

use super::{about_patient, asking};
use crate::server::Server;

/// What a caller is to see of one issue.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Issue {
    system: String,
    code: String,
    issue_type: String,
    text: String,
}

/// The concepts of the code systems as they lie in `data/`, by code, with the address of their system.
struct Catalogue(HashMap<String, (String, Value)>);

impl Catalogue {
    fn read() -> Catalogue {
        let namespaces = Config::default().namespaces.pairs();
        let mut concepts = HashMap::new();
        for system in System::ALL {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/code-systems");
            let text =
                std::fs::read_to_string(format!("{folder}/{}-issue.json", system.name())).expect("a code system");
            let json: Value = serde_json::from_str(&text).expect("JSON");
            let placeholder = json["url"].as_str().expect("an address").trim_matches(['{', '}']);
            let (_, address) = namespaces.iter().find(|(name, _)| name == placeholder).expect("a setting for each");
            for concept in json["concept"].as_array().into_iter().flatten() {
                let code = concept["code"].as_str().expect("a code").to_owned();
                assert!(concepts.insert(code, (address.clone(), concept.clone())).is_none(), "{concept}");
            }
        }
        Catalogue(concepts)
    }

    fn property(&self, code: &str, name: &str) -> impl Iterator<Item = &Value> {
        let properties = self.0[code].1["property"].as_array().into_iter().flatten();
        properties.filter(move |property| property["code"] == name)
    }

    fn status(&self, code: &str) -> u64 {
        self.property(code, "http-status").next().expect("a status")["valueInteger"].as_u64().expect("a number")
    }

    /// The issues of a chain in a language, places filled: a service that quotes tells the code and text of the next.
    fn issues(&self, codes: &[&str], language: &str) -> Vec<Issue> {
        let mut issues: Vec<Issue> = Vec::new();
        for code in codes.iter().rev() {
            let (system, concept) = &self.0[*code];
            let text = if language == "et" { &concept["designation"][0]["value"] } else { &concept["display"] };
            let mut text = text.as_str().expect("a text").to_owned();
            if let Some(next) = issues.last().filter(|_| matches!(*code, "XR_ADS-100" | "XR_TOR-100")) {
                text = text.replace("<code>", &next.code).replace("<text>", &next.text);
            }
            for example in self.property(code, "example") {
                let (name, value) =
                    example["valueString"].as_str().and_then(|text| text.split_once('=')).expect("name=value");
                text = text.replace(&format!("<{name}>"), value);
            }
            let issue_type = "exception".to_owned();
            issues.push(Issue { system: system.clone(), code: (*code).to_owned(), issue_type, text });
        }
        issues.reverse();
        issues
    }
}

/// The chain in which a code reaches a caller.
fn chain(entry: &'static ReflectedCode) -> Vec<&'static str> {
    entry.chain().iter().map(|entry| entry.code.as_str()).collect()
}

/// Stages a fault and compares what a create answers with the chain that is expected.
async fn stage(server: &Server, catalogue: &Catalogue, fault: &str, codes: &[&str], language: &str) {
    let create = server.post("Composition", about_patient(200)).header("Accept-Language", language);
    let told = create.header("x-hcert-fault", fault).await;
    let raised = catalogue.status(codes.last().expect("a chain has a code"));
    let mut expected = catalogue.issues(codes, language);
    if raised == 404 {
        let text = match language {
            "et" => "Ei leitud ühte kindlat patsienti identifikaatoriga https://tehik.ee/mpi/external-reference|200",
            _ => "Could not find unique patient by https://tehik.ee/mpi/external-reference|200",
        };
        let [system, code, issue_type, text] =
            ["https://hcert.tehik.ee/issue", "HCERT-008", "invalid", text].map(str::to_owned);
        expected.insert(0, Issue { system, code, issue_type, text });
    }
    let outcome = told.json();
    let issues = outcome["issue"].as_array().expect("issues").iter().map(|issue| {
        assert_eq!(issue["severity"], "error", "{told}");
        let text = |pointer: &str| issue.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Issue {
            system: text("/details/coding/0/system"),
            code: text("/details/coding/0/code"),
            issue_type: text("/code"),
            text: text("/details/text"),
        }
    });
    assert_eq!(issues.collect::<Vec<_>>(), expected, "{told}");
    assert_eq!(told.status.as_u16(), if raised < 500 { 400 } else { 503 }, "{told}");
    assert_eq!(told.header("retry-after").is_some(), raised >= 500, "{told}");
    assert!(told.header("location").is_none(), "{told}");
}

/// Every code, named with the chain that leads to it and alone: the answer holds the whole chain either way.
async fn walk(server: &Server) {
    let catalogue = Catalogue::read();
    assert_eq!(catalogue.0.len(), reflected::all().len());
    for entry in reflected::all() {
        let codes = chain(entry);
        assert!(codes[0].starts_with("MPI-") && codes.last() == Some(&entry.code.as_str()), "{codes:?}");
        stage(server, &catalogue, &codes.join("/"), &codes, "en").await;
        stage(server, &catalogue, &entry.code, &codes, "et").await;
    }
    assert_eq!(server.seq(), 0, "nothing was stored");
    server.create(about_patient(200)).await;
}

#[tokio::test]
async fn every_code_of_the_catalogue_comes_back_from_the_embedded_registry() {
    walk(&Server::start().await).await;
}

#[tokio::test]
async fn every_code_of_the_catalogue_comes_back_from_another_service() {
    let registry = Server::registry(|_| ()).await;
    walk(&asking(&registry, |_| ()).await).await;
    assert_eq!(registry.server.seq(), 0);
}

#[tokio::test]
async fn a_chain_looks_the_same_to_a_caller_wherever_it_was_raised() {
    let embedded = Server::start().await;
    let registry = Server::registry(|_| ()).await;
    let remote = asking(&registry, |_| ()).await;
    let mut shown = Vec::new();
    for server in [&embedded, &remote] {
        let create = server.post("Composition", about_patient(200));
        shown.push(create.header("x-hcert-fault", "MPI-040/XR_TOR-100/70").await.to_string());
    }
    insta::assert_snapshot!(shown[0]);
    assert_eq!(shown[0], shown[1]);
}
