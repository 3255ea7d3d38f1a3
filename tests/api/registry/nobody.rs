//! Searches for certificates of patients who cannot exist find nothing and say why. Contract 4.6; Decision 129.

use hcert::config::PopulationRegister;
use serde_json::{Value, json};

use super::{CODE, EMPTY, about_identifier, about_patient, answered, asking, fhir, http, outcome};
use crate::response::TestResponse;
use crate::server::{START, Server};

/// Codes that cannot be valid, and what the population register says of each.
const IMPOSSIBLE: [(&str, &str); 7] = [
    ("3760503029", "10001"),
    ("376050302990", "10001"),
    ("3760503O299", "10002"),
    ("07605030299", "10003"),
    ("37602300299", "10004"),
    ("37412251234", "10005"),
    ("37605030298", "10005"),
];

/// The one warning of a Bundle: an entry with an address of its own behind the matches.
fn warned(told: &TestResponse) -> Vec<String> {
    let json = told.json();
    let entries = json["entry"].as_array().cloned().unwrap_or_default();
    let outcomes: Vec<&Value> = entries.iter().filter(|entry| entry["search"]["mode"] == "outcome").collect();
    let Some(entry) = outcomes.first() else { return Vec::new() };
    assert_eq!((outcomes.len(), entry), (1, &&entries[entries.len() - 1]), "{told}");
    assert!(entry["fullUrl"].as_str().is_some_and(|url| url.starts_with("urn:uuid:") && url.len() == 45), "{told}");
    assert_eq!(entry["resource"]["resourceType"], "OperationOutcome");
    let issues = entry["resource"]["issue"].as_array().expect("issues");
    assert!(issues.iter().all(|issue| issue["severity"] == "warning"), "{told}");
    issues.iter().map(|issue| issue["details"]["coding"][0]["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Nothing is found, the links are those of the query, and the warning holds these codes.
fn nothing(told: TestResponse, codes: &[&str]) {
    let told = told.expect(200);
    assert_eq!((told.ids(), &told.json()["total"]), (Vec::new(), &json!(0)), "{told}");
    assert!(told.link("self").is_some_and(|link| link.contains("subject")), "{told}");
    assert!(told.next().is_none(), "{told}");
    assert_eq!(warned(&told), codes, "{told}");
}

#[tokio::test]
async fn an_impossible_personal_code_finds_nothing_and_warns_with_the_registrys_own_codes() {
    let embedded = Server::start().await;
    let registry = Server::registry(|_| ()).await;
    let remote = asking(&registry, |_| ()).await;
    for server in [&embedded, &remote] {
        server.create(about_patient(200)).await;
        for (code, leaf) in IMPOSSIBLE {
            let codes = ["MPI-029", "XRR200", leaf];
            for identifier in [format!("{CODE}%7C{code}"), code.to_owned()] {
                let query = format!("subject:Patient.identifier={identifier}");
                nothing(server.get(&format!("Composition?{query}")).await, &codes);
                nothing(server.get(&format!("Composition?{query}&status=preliminary&_sort=date")).await, &codes);
                nothing(server.get(&format!("Composition?{query}&_count=0")).await, &codes);
                let told = server.search_by_form(&query).await.expect(200);
                assert!(!told.text().contains(&format!("7C{code}")), "{told}");
                assert_eq!((told.ids(), warned(&told)), (Vec::new(), codes.map(str::to_owned).to_vec()), "{told}");
                let again = told.link("self").expect("a link");
                let (_, path) = again.split_once("/fhir/").expect("an address of the service");
                assert_eq!(warned(&server.get(path).await.expect(200)), codes);
            }
            // Here the registry is what is asked, and a certificate about nobody is refused.
            server.get(&format!("Patient?identifier={code}")).await.refused(400, &codes);
            server.post("Composition", about_identifier(CODE, code)).await.refused(400, &codes);
        }
        let query = format!("Composition?subject:Patient.identifier={CODE}%7C37412251234,{CODE}%7C39406240015");
        let told = server.get(&query).await.expect(200);
        assert_eq!((told.ids(), &told.json()["total"]), (vec![1], &json!(1)), "{told}");
        assert_eq!(warned(&told), ["MPI-029", "XRR200", "10005"]);
        // A code of another country, and one that is possible, have no such warning.
        for identifier in [format!("{CODE}%7C37605030299"), "https://fhir.ee/sid/pid/lva/ni%7C1".to_owned()] {
            let told = server.get(&format!("Composition?subject:Patient.identifier={identifier}")).await.expect(200);
            assert_eq!((told.ids(), warned(&told)), (Vec::new(), Vec::new()), "{told}");
        }
    }
}

#[tokio::test]
async fn without_a_population_register_the_registry_warns_with_its_own_code() {
    let server =
        Server::with(START, |config| config.registry.population_register = Some(PopulationRegister::Off)).await;
    nothing(server.get("Composition?subject:Patient.identifier=37412251234").await, &["MPI-044"]);
    // So it does where a registry of another system only says that it found nobody.
    let server = answered(|_| fhir("200 OK", EMPTY), |_| ()).await;
    let told = server.get("Composition?subject:Patient.identifier=37412251234").await;
    assert!(told.text().contains("Invalid Estonian personal code 37412251234"), "{told}");
    nothing(told, &["MPI-044"]);
    let told = server.get("Composition?subject:Patient.identifier=39406240015").await.expect(200);
    assert_eq!(warned(&told), Vec::<String>::new());
}

#[tokio::test]
async fn other_refusals_of_an_impossible_code_stay_errors() {
    let search = "Composition?subject:Patient.identifier=37412251234";
    let server = Server::with(START, |config| config.registry.required_headers = vec!["x-road-issue".to_owned()]).await;
    server.get(search).await.refused(400, &["MPI-032"]);
    for (fault, status, codes) in [
        ("MPI-001", 503, &["MPI-001"][..]),
        ("XRR100", 503, &["MPI-029", "XRR100"]),
        ("timeout", 503, &["HCERT-163"]),
        ("MPI-052", 400, &["MPI-052"]),
    ] {
        let server = Server::with(START, |config| config.registry.remote.timeout_ms = 100).await;
        server.get(search).header("x-hcert-fault", fault).await.refused(status, codes);
    }
    // A code that is possible is not made impossible by a fault.
    let server = Server::start().await;
    let told = server.get("Composition?subject:Patient.identifier=39406240015").header("x-hcert-fault", "10005").await;
    told.refused(400, &["MPI-029", "XRR200", "10005"]);
}

#[tokio::test]
async fn a_registry_that_answers_404_to_a_search_found_nobody() {
    let search = "Composition?subject:Patient.identifier=39406240015";
    for (answer, codes) in [
        (fhir("404 Not Found", &outcome(&["MPI-072"])), &["MPI-072"][..]),
        (fhir("404 Not Found", &outcome(&["MPI-029", "XRR300", "10027"])), &["MPI-029", "XRR300", "10027"]),
        (http("404 Not Found", "Content-Type: text/html\r\n", "<html>"), &["HCERT-215"]),
        (http("404 Not Found", "", ""), &["HCERT-215"]),
    ] {
        let server = answered(move |_| answer.clone(), |_| ()).await;
        nothing(server.get(search).await, codes);
        // A certificate is about nobody then, with what the registry said behind.
        let said = codes.iter().filter(|code| **code != "HCERT-215");
        let said: Vec<&str> = ["HCERT-008"].iter().chain(said).copied().collect();
        for body in [about_patient(200), about_identifier(CODE, "39406240015")] {
            server.post("Composition", body).await.refused(400, &said);
        }
        let external = "Composition?subject:Patient.identifier=https://tehik.ee/mpi/external-reference%7C34";
        assert_eq!(server.get(external).await.expect(400).codes()[0], "HCERT-008");
        assert_eq!(server.seq(), 0);
    }
    let server = Server::start().await;
    nothing(server.get(search).header("x-hcert-fault", "MPI-072").await, &["MPI-072"]);
    // To who asks for patients a 404 without a code is no answer of a FHIR server.
    let without_code = r#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"not-found"}]}"#;
    for answer in [http("404 Not Found", "", ""), fhir("404 Not Found", without_code)] {
        let server = answered(move |_| answer.clone(), |_| ()).await;
        server.get("Patient?identifier=39406240015").await.refused(503, &["HCERT-165"]);
        server.get("Patient/200").await.refused(404, &["HCERT-127"]);
    }
}

#[tokio::test]
async fn a_patient_whom_the_registry_does_not_find_is_refused_nothing_but_what_is_not_their_own() {
    const KNOWN: &str = r#"{"resourceType":"Bundle","type":"searchset","entry":[{"resource":{"resourceType":"Patient",
        "id":"200","meta":{"versionId":"1"},"identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"39406240015"}]}}]}"#;
    for answer in [fhir("404 Not Found", &outcome(&["MPI-072"])), http("404 Not Found", "", "")] {
        // Found by nothing, or by the personal code but not with links.
        for by_code in [answer.clone(), fhir("200 OK", KNOWN)] {
            let answer = answer.clone();
            let ask = move |head: &str| if head.contains("identifier=") { by_code.clone() } else { answer.clone() };
            let server = answered(ask, |_| ()).await;
            let token = server.token("patient", json!({"patient": {"personalCode": "39406240015"}})).await;
            let found = server.get("Composition?status=final").header("Authorization", &token).await.expect(200);
            assert_eq!(found.json()["total"], 0, "{found}");
        }
    }
}

#[tokio::test]
async fn rights_are_judged_before_the_registry_is_asked_about_an_impossible_code() {
    let server = Server::start().await;
    server.create(about_patient(200)).await;
    let token = server.token("patient", json!({"patient": {"personalCode": "39406240015"}})).await;
    let asked = |query: &str| {
        let path = format!("Composition?{query}");
        let (server, token) = (&server, token.clone());
        async move { server.get(&path).header("Authorization", &token).await }
    };
    asked("subject:Patient.identifier=37412251234").await.refused(403, &["HCERT-179"]);
    asked("subject:Patient.identifier=37412251234&status=preliminary").await.refused(403, &["HCERT-179"]);
    let doctor = server.token("doctor", json!({})).await;
    let told = server.get("Composition?subject:Patient.identifier=37412251234");
    nothing(told.header("Authorization", &doctor).await, &["MPI-029", "XRR200", "10005"]);
}
