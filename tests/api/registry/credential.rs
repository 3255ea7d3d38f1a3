//! A registry that refuses the credential of the service itself. That is never the caller's fault. Contract 6.2; Decision 127.

use std::time::Duration;

use hcert::registry::{CredentialState, RegistryHealth};

use super::{CODE, EMPTY, about_identifier, about_patient, answered, fhir, http, outcome};
use crate::server::Server;

/// Answers only the token `good`.
fn guarded(refusal: &'static str, body: String) -> impl Fn(&str) -> String {
    move |head| match head.contains("Bearer good") {
        true => fhir("200 OK", EMPTY),
        false => fhir(refusal, &body),
    }
}

fn credential(server: &Server) -> CredentialState {
    let RegistryHealth::Remote { credential, .. } = server.http().service().registry().health() else {
        panic!("it is remote")
    };
    credential
}

#[tokio::test]
async fn a_registry_that_refuses_the_services_own_credential_is_503_and_an_alarm() {
    let login = r#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"login"}]}"#;
    for (refusal, body) in [
        ("401 Unauthorized", login.to_owned()),
        ("401 Unauthorized", outcome(&["MPI-052"])),
        ("401 Unauthorized", String::new()),
        ("403 Forbidden", login.to_owned()),
        ("403 Forbidden", outcome(&["HCERT-178"])),
        ("403 Forbidden", outcome(&["MPI-105"])),
        ("403 Forbidden", outcome(&["MPI-403"])),
        ("403 Forbidden", "<html>".to_owned()),
    ] {
        let server = answered(guarded(refusal, body), |_| ()).await;
        assert_eq!(credential(&server), CredentialState::Accepted);
        for body in [about_patient(200), about_identifier(CODE, "39406240015")] {
            let told = server.post("Composition", body).await.refused(503, &["HCERT-214"]);
            assert!(told.header("retry-after").is_some(), "{told}");
        }
        server.get("Composition?subject:Patient.identifier=39406240015").await.refused(503, &["HCERT-214"]);
        assert_eq!(credential(&server), CredentialState::Refused);
        // A search that only learns no links goes on.
        let told = server.get("Composition?subject=Patient/200").await.expect(200);
        assert!(told.text().contains("HCERT-167"), "{told}");
        assert_eq!(server.seq(), 0);
    }
}

#[tokio::test]
async fn a_credential_that_is_renewed_works_by_itself_and_one_that_cannot_be_read_is_an_alarm() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, "old").expect("a file");
    let token_file = file.clone();
    let server = answered(guarded("401 Unauthorized", String::new()), |config| {
        config.registry.remote.token_file = Some(token_file);
    });
    let server = server.await;
    server.post("Composition", about_patient(200)).await.refused(503, &["HCERT-214"]);
    // The file is looked at once a second.
    let later = || tokio::time::sleep(Duration::from_millis(1_100));
    std::fs::write(&file, "good").expect("a file");
    later().await;
    server.post("Composition", about_patient(200)).await.refused(400, &["HCERT-008"]);
    assert_eq!(credential(&server), CredentialState::Accepted);
    std::fs::remove_file(&file).expect("it is there");
    later().await;
    // The last token stays in use.
    server.post("Composition", about_patient(200)).await.refused(400, &["HCERT-008"]);
    assert_eq!(credential(&server), CredentialState::Unreadable);
}

#[tokio::test]
async fn a_refusal_of_what_is_asked_or_of_the_callers_own_token_is_no_alarm() {
    for (codes, expected) in [
        (&["MPI-052"][..], 400),
        (&["MPI-029", "XRR300", "V10580"], 400),
        // A code that the catalogue does not have, for one patient.
        (&["HCERT-179"], 400),
        (&["RESTRICTED-1"], 400),
    ] {
        let body = outcome(codes);
        let server = answered(move |_| fhir("403 Forbidden", &body), |_| ()).await;
        server.post("Composition", about_patient(200)).await.refused(expected, codes);
        assert_eq!(credential(&server), CredentialState::Accepted);
    }
    let body = outcome(&["MPI-403"]);
    let server = answered(move |_| fhir("403 Forbidden", &body), |_| ()).await;
    server.get("Patient/200").await.refused(403, &["MPI-403"]);
    // A fault that was asked for says nothing of the credential.
    server.post("Composition", about_patient(200)).header("x-hcert-fault", "MPI-403").await.refused(400, &["MPI-403"]);
    assert_eq!(credential(&server), CredentialState::Accepted);
    // Neither does a registry that fails.
    let server = answered(|_| http("500 Internal Server Error", "", ""), |_| ()).await;
    server.post("Composition", about_patient(200)).await.refused(503, &["HCERT-165"]);
    assert_eq!(credential(&server), CredentialState::Accepted);
}
