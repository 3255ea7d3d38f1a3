//! POST /Composition. Specification 4.1; Contract 1.3, 2.2 to 2.7, 3.9.

use serde_json::json;

use crate::body::{self, Body, div};
use crate::server::{START, Server};

#[tokio::test]
async fn a_create_answers_where_the_certificate_is() {
    let server = Server::start().await;
    let told = server.post("Composition", body::text("driver-draft")).await;
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn a_create_answers_the_certificate_when_that_is_preferred() {
    let server = Server::start().await;
    let told = server.post("Composition", body::text("driver-final")).prefer("return=representation").await;
    insta::assert_snapshot!(told);
    assert_eq!(told.json(), server.get("Composition/1").await.json());
}

#[tokio::test]
async fn a_create_answers_an_outcome_when_that_is_preferred() {
    let server = Server::start().await;
    let told = server.post("Composition", body::text("occupational-draft")).prefer("return=OperationOutcome").await;
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn a_preference_that_is_unknown_or_minimal_answers_no_body() {
    let server = Server::start().await;
    for preference in ["return=minimal", "return=everything", "respond-async", "handling=strict"] {
        let told = server.post("Composition", Body::draft()).prefer(preference).await.expect(201);
        assert!(told.body.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn every_example_can_be_created_and_comes_back_as_it_was_sent() {
    let server = Server::start().await;
    for name in [
        "driver-draft",
        "driver-final",
        "driver-final-changed",
        "driver-external-declaration",
        "occupational-draft",
        "occupational-final",
        "occupational-rejected",
    ] {
        let certificate = server.create(body::text(name)).await;
        let mut read = server.get(&certificate).await.expect(200).json();
        let mut sent = Body::example(name).json().clone();
        for meta in [&mut read["meta"], &mut sent["meta"]] {
            let meta = meta.as_object_mut().expect("meta is an object");
            meta.remove("versionId");
            meta.remove("lastUpdated");
        }
        assert_eq!(read.as_object_mut().expect("a resource").remove("id"), Some(json!(certificate[12..])));
        // Contract 6.1: the patient is named with the version that the registry has.
        let subject = sent["subject"][0]["reference"].as_str().expect("a reference");
        sent["subject"][0]["reference"] = json!(format!("{}/_history/1", subject.split("/_history").next().unwrap()));
        if sent.get("text").is_none() {
            // Contract 8.5: a narrative that is missing is made.
            let made = read.as_object_mut().expect("a resource").remove("text").expect("a narrative");
            assert_eq!(made["status"], "generated", "{name}");
        }
        assert_eq!(read, sent, "{name}");
    }
}

#[tokio::test]
async fn ids_count_up_and_are_never_used_again() {
    let server = Server::start().await;
    assert_eq!(server.create(Body::draft()).await, "Composition/1");
    server.delete("Composition/1").await.expect(204);
    assert_eq!(server.create(Body::draft()).await, "Composition/2");
    server.post("Composition", Body::draft().status("cancelled")).await.expect(422);
    assert_eq!(server.create(Body::draft()).await, "Composition/3");
}

#[tokio::test]
async fn a_clients_own_id_and_version_count_for_nothing_but_other_meta_stays() {
    let server = Server::start().await;
    let meta = json!({
        "versionId": "77",
        "lastUpdated": "1999-01-01T00:00:00Z",
        "source": "urn:uuid:5b8e6f0e-4c9e-4b52-9c59-0a4d4e1c0001",
        "profile": ["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0"],
        "tag": [{"system": "https://example.ee/tags", "code": "test"}]
    });
    let body = Body::draft().with("/id", json!("my-own-id")).with("/meta", meta);
    let certificate = server.create(body).await;
    assert_eq!(certificate, "Composition/1");
    let read = server.get(&certificate).await.expect(200).json();
    assert_eq!(read["id"], "1");
    assert_eq!(read["meta"]["versionId"], "1");
    assert_eq!(read["meta"]["lastUpdated"], "2025-01-13T08:00:00.000+02:00");
    assert_eq!(read["meta"]["source"], "urn:uuid:5b8e6f0e-4c9e-4b52-9c59-0a4d4e1c0001");
    let profile = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0";
    assert_eq!(read["meta"]["profile"], json!([profile]));
    assert_eq!(read["meta"]["tag"][0]["code"], "test");
}

#[tokio::test]
async fn what_fhir_allows_and_we_do_not_know_comes_back_untouched() {
    let server = Server::start().await;
    // The order of members, the digits of decimals and primitives with extensions, beside each other.
    let unknown = r#","extension":[{"url":"https://example.ee/b","valueDecimal":1.10},{"url":"https://example.ee/a","valueDecimal":100.0e-2}],"_title":{"extension":[{"url":"https://example.ee/t","valueString":"õ\u00f5😀"}]},"version":"1.0"}"#;
    let text = body::text("driver-draft");
    let sent = format!("{}{unknown}", text.trim_end().trim_end_matches('}').trim_end());
    let certificate = server.create(sent).await;
    let read = server.get(&certificate).await.expect(200);
    let untouched = unknown.replace("\\u00f5", "õ");
    assert!(read.text().ends_with(&untouched), "{read}");
}

#[tokio::test]
async fn sections_that_only_the_service_writes_are_dropped() {
    let server = Server::start().await;
    let body = Body::draft().section("suspend-reason", &div("minu oma")).section("cancel-reason", &div("minu oma"));
    let certificate = server.create(body.section("change-reason", &div("jääb"))).await;
    let read = server.get(&certificate).await.expect(200);
    assert!(!read.text().contains("minu oma") && read.text().contains("jääb"), "{read}");
    assert_eq!(read.json()["section"].as_array().map(Vec::len), Some(2));

    // Before anything is checked: what is in them cannot be wrong.
    let broken = Body::draft().with(
        "/section/1",
        json!({
            "code": {"coding": [{"system": body::SECTIONS, "code": "cancel-reason"}]},
            "nonsense": true
        }),
    );
    server.post("Composition", broken).await.expect(201);

    // The same code of another system is the client's own.
    let own = Body::draft().with(
        "/section/1",
        json!({
            "code": {"coding": [{"system": "https://example.ee/sections", "code": "cancel-reason"}]},
            "text": {"status": "additional", "div": div("võõras")}
        }),
    );
    let certificate = server.create(own).await;
    assert!(server.get(&certificate).await.text().contains("võõras"));
}

#[tokio::test]
async fn a_certificate_number_may_be_used_again_unless_it_has_to_be_unique() {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    server.create(Body::draft()).await;

    let server = Server::with(START, |config| config.certificate.unique_number = true).await;
    let first = server.create(Body::draft()).await;
    let before = server.seq();
    let told = server.post("Composition", Body::draft()).await.refused(409, &["HCERT-134"]);
    assert_eq!(told.json()["issue"][0]["code"], "duplicate");
    assert!(!told.text().contains(&first), "the certificate that has it is not named");
    let told = server.post("Composition/$validate", Body::draft()).await;
    assert!(told.text().contains("HCERT-134"), "{told}");
    let second = server.create(Body::draft().number("TT-2")).await;
    server.put(&second, Body::draft()).await.refused(409, &["HCERT-134"]);
    assert_eq!(server.seq(), before + 1);
    // Its own number is no other's, and that of a deleted one is free again.
    server.put(&first, Body::draft()).await.expect(200);
    let told = server.post(&format!("{first}/$validate"), Body::draft()).await;
    assert!(!told.text().contains("HCERT-134"), "{told}");
    server.delete(&first).await.expect(204);
    server.put(&second, Body::draft()).await.expect(200);
}
