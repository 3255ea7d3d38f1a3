//! $get-consent and $set-consent. Contract 7.6.

use serde_json::{Value, json};

use crate::body::Body;
use crate::response::TestResponse;
use crate::server::Server;

fn parameters(parameters: Value) -> Vec<u8> {
    json!({"resourceType": "Parameters", "parameter": parameters}).to_string().into_bytes()
}

fn said(name: &str, value: &str) -> Value {
    json!({"name": name, "valueString": value})
}

/// What `$get-consent` tells, in its order.
fn told(told: &TestResponse) -> Vec<(String, String)> {
    let json = told.json();
    assert_eq!(json["resourceType"], "Parameters");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let parameters = json["parameter"].as_array().expect("parameters");
    parameters.iter().map(|parameter| (text(&parameter["name"]), text(&parameter["valueString"]))).collect()
}

async fn consent(server: &Server, certificate: &str) -> (String, String) {
    let answer = server.get(&format!("{certificate}/$get-consent")).await.expect(200);
    assert!(answer.header("etag").is_none() && answer.header("last-modified").is_none(), "consent is no version");
    let [(doctor, open), (representative, too)] = told(&answer).try_into().expect("two parameters");
    assert_eq!((doctor.as_str(), representative.as_str()), ("doctor", "representative"));
    (open, too)
}

#[tokio::test]
async fn consent_is_open_until_it_is_closed_and_what_is_not_named_stays() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let before = server.get(&certificate).await;
    assert_eq!(consent(&server, &certificate).await, ("open".into(), "open".into()));
    let set = format!("{certificate}/$set-consent");
    for (body, expected) in [
        (json!([said("doctor", "closed")]), ("closed", "open")),
        (json!([said("representative", "closed")]), ("closed", "closed")),
        (json!([said("representative", "open"), said("doctor", "closed")]), ("closed", "open")),
        // Nothing changes, and that is no error.
        (json!([said("doctor", "closed")]), ("closed", "open")),
    ] {
        let told = server.post(&set, parameters(body)).await.expect(200);
        assert_eq!((told.codes(), told.header("etag")), (vec!["HCERT-199".to_owned()], None));
        assert!(told.said().contains(&format!("doctor {}, representative {}", expected.0, expected.1)), "{told}");
        assert_eq!(consent(&server, &certificate).await, (expected.0.to_owned(), expected.1.to_owned()));
    }
    assert_eq!(server.seq(), 4, "one create and three changes of consent");
    let after = server.get(&certificate).await;
    assert_eq!((after.body.clone(), after.header("etag")), (before.body.clone(), before.header("etag")));
    let history = server.get(&format!("{certificate}/_history")).await.expect(200);
    assert_eq!(history.json()["total"], 1);
    assert_eq!(server.get("Composition/_history").await.json()["total"], 1);
}

#[tokio::test]
async fn consent_can_be_asked_for_by_post_with_nothing_to_say() {
    let server = Server::start().await;
    let certificate = server.create(Body::draft()).await;
    let get = format!("{certificate}/$get-consent");
    for body in [Vec::new(), br#"{"resourceType":"Parameters"}"#.to_vec()] {
        assert_eq!(told(&server.post(&get, body).await.expect(200)).len(), 2);
    }
    server.post(&get, parameters(json!([said("doctor", "open")]))).await.refused(400, &["HCERT-170"]);
    server.get(&format!("{get}?doctor=open")).await.refused(400, &["HCERT-170"]);
}

#[tokio::test]
async fn a_consent_that_is_not_said_in_full_is_refused_with_all_that_is_wrong() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let set = format!("{certificate}/$set-consent");
    for (body, codes) in [
        (json!([said("doctor", "OPEN")]), &["HCERT-172"][..]),
        (json!([said("doctor", " open")]), &["HCERT-172"]),
        (json!([{"name": "doctor", "valueCode": "open"}]), &["HCERT-210"]),
        (json!([{"name": "doctor", "valueBoolean": true}]), &["HCERT-210"]),
        (json!([{"name": "doctor"}]), &["HCERT-210"]),
        (json!([said("patient", "open")]), &["HCERT-170"]),
        (json!([said("doctor", "open"), said("doctor", "open")]), &["HCERT-209"]),
        (json!([said("doctor", "open"), said("doctor", "closed")]), &["HCERT-209"]),
        (json!([said("doctor", "closed"), said("reason", "x")]), &["HCERT-170"]),
        (json!([said("Doctor", "open"), said("doctor", "shut")]), &["HCERT-170", "HCERT-172"]),
        (json!([{"name": "doctor", "valueString": "open", "valueCode": "open"}]), &["HCERT-108"]),
        (json!([{"name": "doctor", "valueString": "open", "part": [said("a", "b")]}]), &["HCERT-210"]),
    ] {
        let told = server.post(&set, parameters(body.clone())).await;
        assert_eq!(told.status, 400, "{body}: {told}");
        assert_eq!(told.codes(), codes, "{body}");
    }
    // Observed: "'' is not a value of the operation's parameter 'doctor'", which names nothing that was sent.
    let coded = server.post(&set, parameters(json!([{"name": "doctor", "valueCode": "open"}]))).await;
    assert_eq!(
        coded.said(),
        "The operation's parameter 'doctor' is given as valueCode; expected open or closed, as valueString"
    );
    let twice = server.post(&set, parameters(json!([said("doctor", "open"), said("doctor", "open")]))).await;
    assert_eq!(twice.said(), "The operation's parameter 'doctor' is given more than once");
    assert_eq!(twice.places(), ["Parameters.parameter[1]"]);
    server.post(&set, br#"{"resourceType":"Parameters"}"#.to_vec()).await.refused(400, &["HCERT-171"]);
    server.post(&set, Body::draft()).await.refused(400, &["HCERT-106"]);
    server.post(&set, b"{".to_vec()).await.refused(400, &["HCERT-102"]);
    server.post(&format!("{set}?doctor=closed"), parameters(json!([said("doctor", "open")]))).await.expect(400);
    assert_eq!((consent(&server, &certificate).await, server.seq()), (("open".into(), "open".into()), 1));
}

#[tokio::test]
async fn consent_of_what_is_not_there_is_404_and_of_a_deleted_one_410() {
    let server = Server::start().await;
    let body = || parameters(json!([said("doctor", "closed")]));
    for certificate in ["Composition/1", "Composition/abc"] {
        server.get(&format!("{certificate}/$get-consent")).await.expect(404);
        server.post(&format!("{certificate}/$set-consent"), body()).await.expect(404);
    }
    let draft = server.create(Body::draft()).await;
    server.post(&format!("{draft}/$set-consent"), body()).await.expect(200);
    server.delete(&draft).await.expect(204);
    server.get(&format!("{draft}/$get-consent")).await.expect(410);
    server.post(&format!("{draft}/$set-consent"), body()).await.expect(410);
    // Before what is wrong with the body.
    server.post(&format!("{draft}/$set-consent"), parameters(json!([]))).await.expect(410);
}

#[tokio::test]
async fn a_consent_is_open_to_every_state_but_deleted_and_outlives_the_moves() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let set = format!("{certificate}/$set-consent");
    server.post(&set, parameters(json!([said("doctor", "closed")]))).await.expect(200);
    server.suspend(&certificate).await.expect(200);
    assert_eq!(consent(&server, &certificate).await.0, "closed");
    server.post(&set, parameters(json!([said("representative", "closed")]))).await.expect(200);
    server.cancel(&certificate).await.expect(200);
    assert_eq!(consent(&server, &certificate).await, ("closed".into(), "closed".into()));
    assert_eq!(server.get(&certificate).await.expect(200).header("etag"), Some("W/\"3\""));
}
