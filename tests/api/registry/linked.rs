//! People whom the registry knows under two ids: `Patient/205` replaces `Patient/206`. Contract 6.2.

use super::{about_identifier, about_patient};
use crate::server::Server;

/// One about each of the two, one about somebody else: 1, 2, 3.
async fn three() -> Server {
    let server = Server::start().await;
    for id in [205, 206, 200] {
        server.create(about_patient(id)).await;
    }
    server
}

#[tokio::test]
async fn linked_patients_find_each_others_certificates() {
    let server = three().await;
    for query in [
        "subject=Patient/205",
        "subject=Patient/206",
        "subject=206",
        "subject:Patient=205",
        "subject=Patient/206/_history/1",
        "subject:Patient.identifier=https://fhir.ee/sid/pid/est/ni|49112049345",
        "subject:Patient.identifier=49112049345",
        "subject:Patient.identifier=https://fhir.ee/sid/pid/lva/ppn|LV0031206",
        "subject=Patient/205,Patient/206",
        "subject=Patient/205&subject=Patient/206",
    ] {
        assert_eq!(server.found(&format!("{query}&_sort=_id")).await, [1, 2], "{query}");
        let told = server.search_by_form(&format!("{query}&_sort=_id")).await.expect(200);
        assert_eq!(told.ids(), [1, 2], "{told}");
    }
    assert_eq!(server.found("subject=Patient/206,Patient/200&_sort=_id").await, [1, 2, 3]);
    assert_eq!(server.found("subject=Patient/200").await, [3]);
}

#[tokio::test]
async fn a_search_that_excludes_one_of_them_excludes_both() {
    let server = three().await;
    assert_eq!(server.found("subject:not=Patient/205").await, [3]);
    assert_eq!(server.found("subject:not=Patient/206").await, [3]);
    assert_eq!(server.found("subject:not=Patient/200&_sort=_id").await, [1, 2]);
    assert_eq!(server.search_by_form("subject:not=Patient/206").await.expect(200).ids(), [3]);
}

#[tokio::test]
async fn links_may_come_after_the_certificates() {
    let server = three().await;
    server.create(about_identifier("https://fhir.ee/sid/pid/fin/ni", "140271-9022")).await;
    assert_eq!(server.found("subject=Patient/212").await, [4]);
    let patient = r#"{"resourceType":"Patient","id":"400","identifier":[{"system":"urn:oid:1","value":"1"}],"link":[{"other":{"reference":"Patient/212"},"type":"replaces"}]}"#;
    server.import_patients(patient).await;
    assert_eq!(server.found("subject=Patient/400").await, [4]);
    // A link of another kind says nothing of who somebody is.
    let patient = patient.replace("replaces", "seealso");
    server.import_patients(&patient).await;
    assert!(server.found("subject=Patient/400").await.is_empty());
}
