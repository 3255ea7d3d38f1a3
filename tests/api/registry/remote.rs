//! Patients that another service keeps: two services, the second behind a port. Contract 6.2.

use serde_json::json;

use super::{CODE, EMPTY, about, about_identifier, about_patient, answered, asking, fhir};
use crate::body::{Body, div};
use crate::server::{Listening, Server};

const NEW: &str = "37605030299";

async fn two() -> (Listening, Server) {
    let registry = Server::registry(|_| ()).await;
    let server = asking(&registry, |_| ()).await;
    (registry, server)
}

#[tokio::test]
async fn a_certificate_lives_its_whole_life_with_the_patients_of_another_service() {
    let (registry, server) = two().await;
    assert_eq!(server.create(about_patient(201)).await, "Composition/1");
    server.put("Composition/1", about_identifier(CODE, "39406240015")).await.expect(200);
    let reason = Body::completed().section("change-reason", &div("parandus"));
    server.put("Composition/1", reason).await.expect(200);
    server.suspend("Composition/1").await.expect(200);
    server.cancel("Composition/1").await.expect(200);
    let read = server.get("Composition/1").await.expect(200).json();
    assert_eq!(read["subject"][0]["reference"], "Patient/200/_history/1");
    for query in ["subject=Patient/200", "subject:Patient.identifier=39406240015"] {
        assert_eq!(server.found(query).await, [1], "{query}");
    }
    assert!(server.found("subject=Patient/201").await.is_empty());

    server.post("Composition", about_patient(999)).await.refused(400, &["HCERT-008"]);
    let shared = about_identifier("https://fhir.ee/sid/pid/lva/ppn", "LV0047110");
    server.post("Composition", shared).await.refused(400, &["HCERT-008"]);
    // Characters that mean something in an address or in a search.
    for value in [r"a|b,c$d\e", "õ &=?#/%", "+"] {
        let told =
            server.post("Composition", about_identifier("urn:oid:1.2", value)).await.refused(400, &["HCERT-008"]);
        assert_eq!(told.said(), format!("Could not find unique patient by urn:oid:1.2|{value}"));
    }
    // Longer than any address may be, and longer than the other service takes.
    for length in [6_000, 20_000, 200_000] {
        let value = "õ".repeat(length);
        server.post("Composition", about_identifier("urn:oid:1.2", &value)).await.refused(400, &["HCERT-008"]);
    }
    let odd =
        r#"{"resourceType":"Patient","id":"300","identifier":[{"system":"urn:oid:1.2","value":"a|b,c$d\\e õ&"}]}"#;
    registry.server.import_patients(odd).await;
    server.post("Composition", about_identifier("urn:oid:1.2", r"a|b,c$d\e õ&")).await.expect(201);
    assert_eq!(registry.server.seq(), 0);
}

#[tokio::test]
async fn a_person_is_taken_over_by_the_service_that_keeps_the_patients() {
    let (registry, server) = two().await;
    let checked = server.post("Composition/$validate", about_identifier(CODE, NEW)).await.expect(200);
    assert_eq!(checked.codes(), ["HCERT-008"], "{checked}");
    assert_eq!(registry.server.living().await, 18, "a check takes nobody over");
    server.create(about_identifier(CODE, NEW)).await;
    assert_eq!(registry.server.living().await, 19);
    let read = server.get("Composition/1").await.expect(200).json();
    assert_eq!(read["subject"][0]["reference"], "Patient/220/_history/1");
    let told = server.get(&format!("Patient?identifier={CODE}|49403136515")).await.expect(200);
    assert_eq!(told.ids(), [221]);
    server
        .post("Composition", about_identifier(CODE, "37605030298"))
        .await
        .refused(400, &["MPI-029", "XRR200", "10005"]);
    let unborn = server.post("Composition", about_identifier(CODE, "53001010001")).await;
    unborn.refused(400, &["HCERT-008", "MPI-029", "XRR300", "10027"]);
}

#[tokio::test]
async fn headers_of_the_caller_arrive_at_the_registry() {
    let demanded = ["x-road-issue", "x-road-userid", "x-road-id", "x-author-id"];
    let registry =
        Server::registry(|config| config.registry.required_headers = demanded.map(str::to_owned).into()).await;
    let server = asking(&registry, |_| ()).await;
    server.post("Composition", about_patient(200)).await.refused(400, &["MPI-032"]);
    let told = server.get("Patient/200").header("x-road-issue", "12").await;
    told.refused(400, &["MPI-060"]);
    let sent = [
        ("x-road-issue", "12"),
        ("x-road-userid", "EE37605030299"),
        ("x-road-id", "34"),
        ("x-author-id", "37605030299"),
    ];
    let create = sent
        .iter()
        .fold(server.post("Composition", about_patient(200)), |asked, (name, value)| asked.header(name, value));
    create.await.expect(201);
    let read = sent.iter().fold(server.get("Patient/200"), |asked, (name, value)| asked.header(name, value));
    read.await.expect(200);
    let other = sent.iter().take(3).fold(server.get("Patient/200"), |asked, (name, value)| asked.header(name, value));
    other.header("x-author-id", "49403136515").await.refused(400, &["MPI-062"]);
}

#[tokio::test]
async fn headers_of_x_road_arrive_at_the_registry_as_they_were_received() {
    let registry = Server::registry(|_| ()).await;
    let server = asking(&registry, |_| ()).await;
    let longest = "õ".repeat(1_000);
    let cut = format!("{}… (cut, 1000 characters)", "õ".repeat(256));
    for (sent, recorded) in [(&b"T\xf6\xf6"[..], "Töö"), ("Töö".as_bytes(), "Töö"), (longest.as_bytes(), &cut)] {
        server.get("Patient/200").header("x-road-issue", sent).await.expect(200);
        for events in [registry.server.events(), server.events()] {
            let read = events.iter().rfind(|event| event.action.name() == "patient.read").expect("an event");
            assert_eq!(read.from.x_road_issue.as_deref(), Some(recorded));
        }
    }
}

#[tokio::test]
async fn patients_are_forwarded_with_links_of_this_service() {
    let (registry, server) = two().await;
    let path = "Patient?active=true&_count=5&_page=2&_sort=birthdate";
    let (through, direct) = (server.get(path).await.expect(200), registry.server.get(path).await.expect(200));
    let there = format!("http://{}/fhir", registry.address);
    let own = through.json()["entry"].to_string();
    assert_eq!(own.replace("http://127.0.0.1:8080/fhir", &there), direct.json()["entry"].to_string());
    for relation in ["self", "first", "last", "previous", "next"] {
        let own = through.link(relation).expect("a page in the middle has all");
        assert!(own.starts_with("http://127.0.0.1:8080/fhir/Patient?"), "{own}");
        assert_eq!(own.replace("http://127.0.0.1:8080/fhir", &there), direct.link(relation).expect("the same"));
    }
    let mut seen = Vec::new();
    let mut page = Some("Patient?active=true&_count=5".to_owned());
    while let Some(path) = page {
        let told = server.get(&path).await.expect(200);
        seen.extend(told.ids());
        page = told.next();
    }
    assert_eq!(seen.len(), 17);

    for path in ["Patient/200", "Patient/200/_history/1"] {
        let (through, direct) = (server.get(path).await.expect(200), registry.server.get(path).await.expect(200));
        assert_eq!(through.body, direct.body, "{through}");
        for name in ["etag", "last-modified", "content-type"] {
            assert_eq!(through.header(name), direct.header(name), "{name}");
        }
        let told = server.get(path).header("If-None-Match", "W/\"1\"").await.expect(304);
        assert!(told.body.is_empty());
    }
    let history = server.get("Patient/200/_history").await.expect(200);
    let link = "http://127.0.0.1:8080/fhir/Patient/200/_history?_page=1";
    assert_eq!(history.link("self").as_deref(), Some(link), "{history}");
    assert_eq!(
        server.get("Patient/201?_elements=name").await.expect(200).json()["meta"]["tag"][0]["code"],
        "SUBSETTED"
    );
    for (path, status, code) in [
        ("Patient", 400, "MPI-015"),
        ("Patient/999", 404, "MPI-072"),
        ("Patient/200/_history/9", 404, "MPI-079"),
        ("Patient/999/_history", 404, "MPI-021"),
    ] {
        server.get(path).await.refused(status, &[code]);
    }
}

#[tokio::test]
async fn full_addresses_are_those_of_this_service_too() {
    let registry = Server::registry(|_| ()).await;
    let server = asking(&registry, |_| ()).await;
    let told = server.get("Patient?_id=200").await.expect(200).json();
    assert_eq!(told["entry"][0]["fullUrl"], "http://127.0.0.1:8080/fhir/Patient/200");
}

#[tokio::test]
async fn a_search_by_form_for_patients_of_another_service_shows_no_code_in_its_links() {
    let registry = Server::registry(|_| ()).await;
    let server = asking(&registry, |_| ()).await;
    let told = server.form("Patient/_search", "identifier=39406240015").await.expect(200);
    assert_eq!(told.ids(), [200]);
    assert!(!told.json()["link"].to_string().contains("39406240015"), "{told}");
    let link = told.link("first").expect("a first page");
    let path = link.strip_prefix("http://127.0.0.1:8080/fhir/").expect("links lead to this server");
    assert_eq!(server.get(path).await.expect(200).ids(), [200]);
}

#[tokio::test]
async fn linked_patients_of_another_service_find_each_others_certificates() {
    let (_registry, server) = two().await;
    for id in [205, 206, 200] {
        server.create(about_patient(id)).await;
    }
    for query in ["subject=Patient/205", "subject=Patient/206", "subject:Patient.identifier=49112049345"] {
        assert_eq!(server.found(&format!("{query}&_sort=_id")).await, [1, 2], "{query}");
    }
    assert_eq!(server.found("subject:not=Patient/206").await, [3]);
    assert_eq!(server.found("subject=Patient/200").await, [3]);
}

#[tokio::test]
async fn a_patient_who_died_is_only_warned_of_by_another_service_too() {
    let (_registry, server) = two().await;
    let told = server.post("Composition", about_patient(203)).prefer("return=OperationOutcome").await.expect(201);
    assert_eq!(told.codes(), ["HCERT-157", "MPI-101"], "{told}");
}

#[tokio::test]
async fn certificates_go_on_while_the_registry_is_down() {
    let (registry, server) = two().await;
    server.create(about_patient(200)).await;
    registry.stop().await;

    let told = server.post("Composition", about_patient(200)).await.refused(503, &["HCERT-164"]);
    assert!(told.header("retry-after").is_some(), "{told}");
    server.post("Composition", about_identifier(CODE, "39406240015")).await.refused(503, &["HCERT-164"]);
    server.get("Patient/200").await.refused(503, &["HCERT-164"]);
    server.get("Composition?subject:Patient.identifier=39406240015").await.refused(503, &["HCERT-164"]);
    let checked = server.post("Composition/$validate", about_patient(200)).await.expect(200);
    assert_eq!(checked.codes(), ["HCERT-164"], "{checked}");

    for path in ["Composition/1", "Composition/1/_history", "Composition/1/_history/1", "Composition", "metadata"] {
        server.get(path).await.expect(200);
    }
    assert_eq!(server.found("status=preliminary").await, [1]);
    server.put("Composition/1", about(json!({"reference": "Patient/200"}))).await.expect(200);
    // Whom the registry would know as the same person cannot be told, so the search says so.
    let told = server.get("Composition?subject=Patient/200").await.expect(200);
    assert_eq!((told.ids(), told.json()["total"].as_u64()), (vec![1], Some(1)), "{told}");
    let entry = told.json()["entry"][1].clone();
    assert_eq!(entry["search"]["mode"], "outcome", "{told}");
    assert_eq!(entry["resource"]["issue"][0]["details"]["coding"][0]["code"], "HCERT-167", "{told}");
    assert_eq!(entry["resource"]["issue"][0]["severity"], "warning", "{told}");
}

#[tokio::test]
async fn a_search_that_cannot_learn_of_links_says_so() {
    let (_registry, server) = two().await;
    server.create(about_patient(205)).await;
    for fault in ["refuse", "garbage", "MPI-001", "MPI-052"] {
        let told = server.get("Composition?subject=Patient/205").header("x-hcert-fault", fault).await.expect(200);
        assert_eq!((told.ids(), told.json()["total"].as_u64()), (vec![1], Some(1)), "{told}");
        assert!(told.text().contains("HCERT-167"), "{told}");
        let told = server.get("Composition?status=preliminary").header("x-hcert-fault", fault).await.expect(200);
        assert!(!told.text().contains("HCERT-167"), "{told}");
    }
    // A registry that answers 404 to a search found nobody, who is linked to nobody.
    let told = server.get("Composition?subject=Patient/205").header("x-hcert-fault", "MPI-021").await.expect(200);
    assert!(told.ids() == [1] && !told.text().contains("HCERT-167"), "{told}");
}

#[tokio::test]
async fn filters_of_every_type_that_are_not_offered_are_refused_before_the_registry_is_asked() {
    let server = answered(|_| fhir("200 OK", EMPTY), |_| ()).await;
    for unknown in ["_has:Observation:subject:code=x", "_filter=x", "_list=x", "_text=x", "_content=x", "_tag=x"]
        .into_iter()
        .chain(["_profile:below=x", "_security=x", "_source=x"])
    {
        server.get(&format!("Patient?active=true&{unknown}")).await.refused(400, &["HCERT-118"]);
        server.form("Patient/_search", &format!("active=true&{unknown}")).await.refused(400, &["HCERT-118"]);
        let told = server.get(&format!("Patient?active=true&{unknown}")).prefer("handling=lenient").await.expect(200);
        assert!(told.text().contains("HCERT-158"), "{told}");
    }
    for other in ["_id=200", "_lastUpdated=gt2020", "name=x", "_total=none", "_count=1"] {
        server.get(&format!("Patient?{other}")).await.expect(200);
    }
}

#[tokio::test]
async fn what_was_looked_up_is_remembered_for_a_while() {
    let registry = Server::registry(|_| ()).await;
    let server = asking(&registry, |config| config.registry.remote.cache_s = 60).await;
    server.create(about_patient(200)).await;
    server.create(about_identifier(CODE, NEW)).await;
    registry.stop().await;
    server.create(about_patient(200)).await;
    server.create(about_identifier(CODE, NEW)).await;
    server.post("Composition", about_patient(201)).await.refused(503, &["HCERT-164"]);
    // Who asks for patients is answered by the registry alone.
    server.get("Patient/200").await.refused(503, &["HCERT-164"]);
}
