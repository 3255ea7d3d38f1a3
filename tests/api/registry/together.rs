//! The problems of a body and of its patient in one answer. Contract 5.1, 5.2, 6.1.

use serde_json::json;

use super::{CODE, about_identifier, about_patient, asking};
use crate::body::{Body, div};
use crate::server::Server;

const TITLE: (&str, &str) = ("HCERT-147", "Composition.title");
const NOBODY: (&str, &str) = ("HCERT-008", "Composition.subject[0]");

/// Sends a body as create, as update of a draft and to `$validate`: all three tell the same problems.
async fn told(server: &Server, body: &Body, status: u16, expected: &[(&str, &str)]) {
    let pairs = |codes: Vec<String>, places: Vec<String>| codes.into_iter().zip(places).collect::<Vec<_>>();
    let expected: Vec<_> = expected.iter().map(|(code, place)| ((*code).to_owned(), (*place).to_owned())).collect();
    let draft = server.create(Body::draft()).await;
    let (seq, living) = (server.seq(), server.living().await);
    for told in [server.post("Composition", body.clone()).await, server.put(&draft, body.clone()).await] {
        assert_eq!(told.status, status, "{told}");
        assert_eq!(pairs(told.codes(), told.places()), expected, "{told}");
    }
    for path in ["Composition/$validate".to_owned(), format!("{draft}/$validate")] {
        let told = server.post(&path, body.clone()).await.expect(200);
        assert_eq!(pairs(told.codes(), told.places()), expected, "{told}");
    }
    assert_eq!((server.seq(), server.living().await), (seq, living), "nothing may change");
}

/// Observed: a body without title about an unknown patient was told of the title alone, and of the patient at the second try.
#[tokio::test]
async fn a_patient_who_is_not_found_is_told_beside_the_other_problems() {
    let server = Server::start().await;
    told(&server, &about_patient(424_242).without("/title"), 400, &[TITLE, NOBODY]).await;
    told(&server, &about_patient(424_242), 400, &[NOBODY]).await;
    told(&server, &about_patient(200).without("/title"), 422, &[TITLE]).await;
    let elsewhere = Body::draft().without("/title").with("/subject/0", json!({"display": "Mari Maasikas"}));
    told(&server, &elsewhere, 422, &[TITLE, ("HCERT-166", "Composition.subject[0]")]).await;
}

#[tokio::test]
async fn what_the_registry_refuses_is_told_beside_the_other_problems() {
    let server = Server::start().await;
    let body = about_identifier(CODE, "37605030298").without("/title");
    told(&server, &body, 400, &[TITLE, ("MPI-029", ""), ("XRR200", ""), ("10005", "")]).await;
}

#[tokio::test]
async fn a_patient_is_taken_over_by_no_body_that_is_refused() {
    let server = Server::start().await;
    let valid = about_identifier(CODE, "37605030299");
    told(&server, &valid.clone().without("/title"), 422, &[TITLE]).await;
    let living = server.living().await;
    server.create(valid).await;
    assert_eq!(server.living().await, living + 1);
}

#[tokio::test]
async fn a_registry_that_does_not_answer_hides_no_problem_and_adds_none() {
    let server = Server::start().await;
    let body = about_patient(424_242);
    let wrong = body.clone().without("/title");
    for fault in ["refuse", "garbage", "MPI-029"] {
        let refused = server.post("Composition", body.clone()).header("x-hcert-fault", fault).await;
        assert_eq!(refused.status, 503, "{refused}");
        server.post("Composition", wrong.clone()).header("x-hcert-fault", fault).await.refused(422, &["HCERT-147"]);
        let checked = server.post("Composition/$validate", wrong.clone()).header("x-hcert-fault", fault).await;
        checked.refused(200, &["HCERT-147"]);
    }
    server.post("Composition", wrong).header("x-hcert-fault", "MPI-101").await.refused(400, &["HCERT-147", "MPI-101"]);
}

#[tokio::test]
async fn the_registry_is_not_asked_about_what_cannot_be_read() {
    let server = Server::start().await;
    // A fault in the response shows whether the registry was asked.
    let asks = async |body: Vec<u8>| {
        let told = server.post("Composition", body).header("x-hcert-fault", "MPI-101").await;
        assert!(told.status.is_client_error(), "{told}");
        told.codes().contains(&"MPI-101".to_owned())
    };
    assert!(asks(about_patient(200).without("/title").into()).await);
    for body in [
        b"{".to_vec(),
        b"[1]".to_vec(),
        br#"{"resourceType":"Observation","subject":[{"reference":"Patient/200"}]}"#.to_vec(),
        br#"{"subject":[{"reference":"Patient/200"}]}"#.to_vec(),
        Body::draft().without("/subject").into(),
        about_patient(200).with("/subject/1", json!({"reference": "Patient/201"})).into(),
        about_patient(200).with("/subject", json!({"reference": "Patient/200"})).into(),
        about_patient(200).with("/subject/0/reference", json!(200)).into(),
        about_patient(200).with("/subject/0/colour", json!(1)).into(),
        about_patient(200).with("/subject/0/id", json!("a b")).into(),
    ] {
        assert!(!asks(body.clone()).await, "{}", String::from_utf8_lossy(&body));
    }
}

#[tokio::test]
async fn the_same_patient_is_not_asked_for_again() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let body = Body::completed().without("/title").section("change-reason", &div("Trükiviga"));
    let told = server.put(&certificate, body).header("x-hcert-fault", "MPI-101").await;
    told.refused(422, &["HCERT-147"]);
}

/// A remote registry may take a person over for a write whom it does not find for a look; so nothing is said of one known by code.
#[tokio::test]
async fn of_a_remote_registry_only_what_is_certain_is_told() {
    let registry = Server::registry(|_| {}).await;
    let server = asking(&registry, |_| {}).await;
    let refused = async |body: Body, status: u16, codes: &[&str]| {
        server.post("Composition", body.without("/title")).await.refused(status, codes);
    };
    refused(about_patient(424_242), 400, &["HCERT-147", "HCERT-008"]).await;
    refused(about_identifier(CODE, "37605030298"), 400, &["HCERT-147", "MPI-029", "XRR200", "10005"]).await;
    let living = registry.server.living().await;
    refused(about_identifier(CODE, "37605030299"), 422, &["HCERT-147"]).await;
    assert_eq!(registry.server.living().await, living);
    server.create(about_identifier(CODE, "37605030299")).await;
    assert_eq!(registry.server.living().await, living + 1);
}
