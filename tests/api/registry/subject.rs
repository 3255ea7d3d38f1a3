//! Whom a certificate is about. Contract 6.1; specification 2.1, 5.

use serde_json::{Value, json};

use super::{CODE, about, about_identifier, about_patient};
use crate::body::Body;
use crate::server::Server;

const SHARED: &str = "https://fhir.ee/sid/pid/lva/ppn";

async fn subject(server: &Server, certificate: &str) -> Value {
    server.get(certificate).await.expect(200).json()["subject"].clone()
}

#[tokio::test]
async fn a_subject_is_kept_with_the_version_that_the_registry_has() {
    let server = Server::start().await;
    let identifier = json!({"system": CODE, "value": "39406240015"});
    let own = "http://127.0.0.1:8080/fhir/Patient/200";
    for (sent, kept) in [
        (json!({"reference": "Patient/200"}), json!({"reference": "Patient/200/_history/1"})),
        // Whatever version the caller knows.
        (json!({"reference": "Patient/200/_history/7"}), json!({"reference": "Patient/200/_history/1"})),
        (json!({"reference": own}), json!({"reference": "Patient/200/_history/1"})),
        (
            json!({"reference": "Patient/200", "display": "Taavi Kask", "identifier": {"value": "mine"}}),
            json!({"reference": "Patient/200/_history/1", "display": "Taavi Kask", "identifier": {"value": "mine"}}),
        ),
        (json!({"identifier": identifier}), json!({"identifier": identifier, "reference": "Patient/200/_history/1"})),
        (
            json!({"identifier": {"value": "39406240015"}}),
            json!({"identifier": {"value": "39406240015"}, "reference": "Patient/200/_history/1"}),
        ),
    ] {
        let certificate = server.create(about(sent)).await;
        assert_eq!(subject(&server, &certificate).await, json!([kept]));
    }
    assert_eq!(server.found("subject=Patient/200").await.len(), 6);

    let moved = r#"{"resourceType":"Patient","id":"200","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"39406240015"}]}"#;
    server.import_patients(moved).await;
    let certificate = server.create(about_patient(200)).await;
    assert_eq!(subject(&server, &certificate).await[0]["reference"], "Patient/200/_history/2");
    assert_eq!(subject(&server, "Composition/1").await[0]["reference"], "Patient/200/_history/1");
}

#[tokio::test]
async fn a_patient_who_is_not_found_is_told_as_the_specification_shows() {
    let server = Server::start().await;
    let told = server.post("Composition", about_patient(1234)).await;
    insta::assert_snapshot!(told);
    insta::assert_snapshot!(
        "in_estonian",
        server.post("Composition", about_patient(1234)).header("Accept-Language", "et").await
    );
    for (subject, identifier) in [
        (json!({"reference": "Patient/abc/_history/2"}), "https://tehik.ee/mpi/external-reference|abc"),
        (json!({"identifier": {"system": SHARED, "value": "LV0047111"}}), "https://fhir.ee/sid/pid/lva/ppn|LV0047111"),
        // Two have it.
        (json!({"identifier": {"system": SHARED, "value": "LV0047110"}}), "https://fhir.ee/sid/pid/lva/ppn|LV0047110"),
        // A pipe in a value is a character as any other.
        (
            json!({"identifier": {"system": SHARED, "value": "LV|0047|110"}}),
            "https://fhir.ee/sid/pid/lva/ppn|LV|0047|110",
        ),
        (json!({"identifier": {"system": "urn:oid:1.2|3", "value": r"4\|5"}}), r"urn:oid:1.2|3|4\|5"),
    ] {
        let told = server.post("Composition", about(subject.clone())).await.refused(400, &["HCERT-008"]);
        assert_eq!(told.said(), format!("Could not find unique patient by {identifier}"));
        assert_eq!(told.json()["issue"][0]["code"], "invalid");
        // A check says the same.
        let checked = server.post("Composition/$validate", about(subject)).await.expect(200);
        assert_eq!((checked.codes(), checked.said()), (told.codes(), told.said()), "{checked}");
    }
    // A long one is cut in the text.
    let told = server.post("Composition", about_identifier(SHARED, &"õ".repeat(200_000))).await;
    assert!(told.refused(400, &["HCERT-008"]).said().len() < 500);
    // A long one is cut in the text.
    let told = server.post("Composition", about_identifier(SHARED, &"õ".repeat(200_000))).await;
    assert!(told.refused(400, &["HCERT-008"]).said().len() < 500);
    assert_eq!(server.seq(), 0);
}

#[tokio::test]
async fn a_subject_that_can_name_nobody_is_refused_before_the_registry_is_asked() {
    let server = Server::start().await;
    let long = format!("Patient/{}", "1".repeat(65));
    for (subjects, code) in [
        (json!([{"display": "Mari Maasikas"}]), "HCERT-166"),
        (json!([{"reference": "https://elsewhere.ee/fhir/Patient/200"}]), "HCERT-166"),
        (json!([{"reference": "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"}]), "HCERT-166"),
        (json!([{"reference": long}]), "HCERT-166"),
        (json!([{"reference": "Patient/õ"}]), "HCERT-166"),
        (json!([{"identifier": {"system": CODE}}]), "HCERT-166"),
        (json!([{"reference": "Group/200"}]), "HCERT-190"),
    ] {
        let body = Body::draft().with("/subject", subjects.clone());
        // A registry that would fail shows that it was not asked.
        let create = server.post("Composition", body.clone()).header("x-hcert-fault", "refuse");
        let told = create.await.refused(422, &[code]);
        assert_eq!(told.places(), ["Composition.subject[0]"], "{told}");
        let checked = server.post("Composition/$validate", body).header("x-hcert-fault", "refuse").await.expect(200);
        assert_eq!((checked.codes(), checked.said()), (told.codes(), told.said()), "{checked}");
    }
    let two = Body::draft().with("/subject", json!([{"reference": "Patient/200"}, {"reference": "Patient/201"}]));
    let told = server.post("Composition", two).header("x-hcert-fault", "refuse").await.expect(422);
    assert_eq!(told.places(), ["Composition.subject"], "{told}");
    let none = Body::draft().without("/subject");
    server.post("Composition", none).header("x-hcert-fault", "refuse").await.expect(422);
    assert_eq!(server.seq(), 0);
}

#[tokio::test]
async fn an_identifier_that_the_registry_refuses_is_told_in_its_words() {
    let server = Server::start().await;
    for (identifier, codes) in [
        (json!({"value": "LV0047110"}), &["MPI-029", "XRR200", "10002"][..]),
        (json!({"value": "37605030298"}), &["MPI-029", "XRR200", "10005"]),
        (json!({"system": CODE, "value": "376|05"}), &["MPI-029", "XRR200", "10002"]),
        (json!({"system": "https://example.ee/sid", "value": "1"}), &["MPI-025"]),
        (json!({"system": "pid", "value": "1"}), &["MPI-025.01"]),
        (json!({"system": "https://fhir.ee/sid/org/est/br", "value": "70000349"}), &["MPI-067"]),
    ] {
        let body = || about(json!({"identifier": identifier}));
        let told = server.post("Composition", body()).await.refused(400, codes);
        let checked = server.post("Composition/$validate", body()).await.expect(200);
        assert_eq!((checked.codes(), checked.said()), (told.codes(), told.said()), "{checked}");
    }
    assert_eq!((server.seq(), server.living().await), (0, 18));
}

#[tokio::test]
async fn a_patient_who_died_is_only_warned_of() {
    let server = Server::start().await;
    let told = server.post("Composition", about_patient(203)).prefer("return=OperationOutcome").await;
    insta::assert_snapshot!(told);
    told.expect(201);
    let checked = server.post("Composition/$validate", about_patient(219)).await.expect(200);
    assert_eq!(checked.codes(), ["MPI-101"], "{checked}");
    assert_eq!(checked.json()["issue"][0]["severity"], "warning");
    // Staged, the same code refuses.
    let staged = server.post("Composition", about_patient(200)).header("x-hcert-fault", "MPI-101").await;
    staged.refused(400, &["MPI-101"]);
}

#[tokio::test]
async fn the_registry_is_asked_only_where_it_has_to_be() {
    let server = Server::start().await;
    let down = ("x-hcert-fault", "refuse");
    server.create(about_patient(200)).await;
    server.create(about_identifier(CODE, "48703129419")).await;
    let reason = |body: Body| body.section("change-reason", &crate::body::div("parandus"));

    // The same subject, whichever way it is named.
    for body in [
        about_patient(200),
        about(json!({"reference": "Patient/200/_history/1"})),
        about_identifier(CODE, "39406240015"),
    ] {
        server.put("Composition/1", body).header(down.0, down.1).await.expect(200);
        assert_eq!(subject(&server, "Composition/1").await[0]["reference"], "Patient/200/_history/1");
    }
    server.put("Composition/2", about_patient(201)).header(down.0, down.1).await.expect(200);
    // Another one.
    let before = server.seq();
    for body in [
        about_patient(202),
        about_identifier(CODE, "48703129419"),
        about(json!({"identifier": {"value": "39406240015"}})),
    ] {
        server.put("Composition/1", body).header(down.0, down.1).await.refused(503, &["HCERT-164"]);
    }
    server.post("Composition", about_patient(200)).header(down.0, down.1).await.refused(503, &["HCERT-164"]);
    server
        .get("Composition?subject:Patient.identifier=39406240015")
        .header(down.0, down.1)
        .await
        .refused(503, &["HCERT-164"]);
    assert_eq!(server.seq(), before);
    server.put("Composition/1", about_patient(202)).await.expect(200);
    assert_eq!(subject(&server, "Composition/1").await[0]["reference"], "Patient/202/_history/1");

    server
        .put("Composition/1", reason(Body::completed().with("/subject/0/reference", json!("Patient/202"))))
        .header(down.0, down.1)
        .await
        .expect(200);
    server.suspend("Composition/1").header(down.0, down.1).await.expect(200);
    server.cancel("Composition/1").header(down.0, down.1).await.expect(200);
    for path in ["Composition/1", "Composition/1/_history", "Composition/_history", "Composition", "metadata"] {
        server.get(path).header(down.0, down.1).await.expect(200);
    }
    let told = server.get("Composition?subject=Patient/202").header(down.0, down.1).await.expect(200);
    assert_eq!(told.ids(), [1], "{told}");
    server.delete("Composition/2").header(down.0, down.1).await.expect(204);
}

#[tokio::test]
async fn reference_and_identifier_must_mean_the_same_person() {
    let server = Server::start().await;
    let both = |value: &str| json!({"reference": "Patient/200", "identifier": {"system": CODE, "value": value}});
    server.post("Composition", about(both("48703129419"))).await.refused(400, &["HCERT-008"]);
    let checked = server.post("Composition/$validate", about(both("48703129419"))).await.expect(200);
    assert_eq!(checked.codes(), ["HCERT-008"]);
    let completed = |subject: Value| Body::completed().with("/subject/0", subject);
    let certificate = server.create(completed(both("39406240015"))).await;
    // The same person, named otherwise, stays the same after completion.
    let changed = |subject: Value| {
        completed(subject).section("change-reason", "<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>")
    };
    for same in [
        json!({"identifier": {"system": CODE, "value": "39406240015"}}),
        json!({"reference": "Patient/200"}),
        both("39406240015"),
    ] {
        server.put(&certificate, changed(same)).await.expect(200);
    }
    let other = json!({"identifier": {"system": CODE, "value": "48703129419"}});
    server.put(&certificate, changed(other)).await.refused(422, &["HCERT-149"]);
    server.post("Composition", about(json!({"reference": "Patient/200/_history/"}))).await.refused(422, &["HCERT-166"]);
}
