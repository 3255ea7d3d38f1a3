//! `$validate`: what a write would say, without writing. Contract 8.6; FHIR R5 `resource-operation-validate.html`.

use serde_json::{Value, json};

use crate::body::{Body, div};
use crate::server::{START, Server};

const DRIVER: &str = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver";
const EMPLOYER: &str = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer";

fn asking(parameters: &[(&str, &str, Value)]) -> Vec<u8> {
    let all: Vec<Value> = parameters.iter().map(|(name, kind, value)| json!({"name": name, *kind: value})).collect();
    json!({"resourceType": "Parameters", "parameter": all}).to_string().into_bytes()
}

#[tokio::test]
async fn a_right_certificate_is_said_to_be_right_and_nothing_is_written() {
    let server = Server::start().await;
    for body in [Body::draft(), Body::completed(), Body::example("occupational-final")] {
        let told = server.post("Composition/$validate", body).await.expect(200);
        assert_eq!(told.codes(), ["HCERT-198"], "{told}");
    }
    let told = server.post("Composition/$validate", Body::draft()).header("Accept-Language", "et").await;
    insta::assert_snapshot!(told);
    assert_eq!(server.seq(), 0);
}

#[tokio::test]
async fn what_a_create_refuses_is_said_with_the_same_issues() {
    let server = Server::start().await;
    let bodies: Vec<Vec<u8>> = vec![
        Body::draft().without("/meta").into(),
        Body::draft().status("cancelled").into(),
        Body::draft().date("2025-02-30").with("/colour", json!(1)).without("/subject").into(),
        Body::completed().without("/event").into(),
        b"{\"resourceType\":\"Composition\",\"status\":\"final\",\"status\":\"final\"}".to_vec(),
        b"{\"resourceType\":\"Patient\"}".to_vec(),
        b"{\"resourceType\"".to_vec(),
        b"[1]".to_vec(),
    ];
    for body in bodies {
        let refused = server.post("Composition", body.clone()).await;
        assert!(refused.status.as_u16() >= 400, "{refused}");
        let told = server.post("Composition/$validate", body).await.expect(200);
        assert_eq!((told.codes(), told.places()), (refused.codes(), refused.places()), "{told}");
    }
    assert_eq!(server.seq(), 0);
}

#[tokio::test]
async fn on_an_instance_it_says_what_an_update_would() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let validate = format!("{certificate}/$validate");
    for body in [
        Body::completed(),
        Body::changed().number("other"),
        Body::draft(),
        Body::changed().with("/id", json!("77")),
        Body::changed().without("/author"),
    ] {
        let refused = server.put(&certificate, body.clone()).await;
        assert!(refused.status.as_u16() >= 400, "{refused}");
        let told = server.post(&validate, body).await.expect(200);
        assert_eq!((told.codes(), told.places()), (refused.codes(), refused.places()), "{told}");
    }
    let changed = Body::completed().section("change-reason", &div("Põhjus"));
    server.post(&validate, changed.clone()).await.refused(200, &["HCERT-198"]);
    server.post(&validate, changed).header("If-Match", "W/\"9\"").await.refused(200, &["HCERT-137"]);
    assert_eq!(server.seq(), 1);
    server.post("Composition/9/$validate", Body::draft()).await.refused(404, &["HCERT-127"]);
    let gone = server.create(Body::draft()).await;
    server.delete(&gone).await.expect(204);
    server.post(&format!("{gone}/$validate"), Body::draft()).await.refused(410, &["HCERT-135"]);
}

#[tokio::test]
async fn modes_are_taken_from_the_query_and_from_parameters() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    let completed = server.create(Body::completed()).await;
    // Delete needs no resource.
    server
        .post(&format!("{draft}/$validate"), asking(&[("mode", "valueCode", json!("delete"))]))
        .await
        .refused(200, &["HCERT-198"]);
    server.get(&format!("{completed}/$validate?mode=delete")).await.refused(200, &["HCERT-133"]);
    server.post("Composition/$validate?mode=delete", Body::draft()).await.refused(400, &["HCERT-171"]);
    // Create on an instance does not look at it.
    let resource = Body::completed().json().clone();
    let body = asking(&[("resource", "resource", resource.clone()), ("mode", "valueCode", json!("create"))]);
    server.post(&format!("{completed}/$validate"), body).await.refused(200, &["HCERT-198"]);
    let body = asking(&[("mode", "valueCode", json!("update")), ("resource", "resource", resource.clone())]);
    server.post(&format!("{completed}/$validate"), body.clone()).await.refused(200, &["HCERT-148"]);
    // Update on the type looks at the one that the body names.
    server.post("Composition/$validate", body).await.refused(400, &["HCERT-171"]);
    let named = Body::completed().with("/id", json!("2"));
    server.post("Composition/$validate?mode=update", named).await.refused(200, &["HCERT-148"]);
    let unknown = Body::completed().with("/id", json!("99"));
    server.post("Composition/$validate?mode=update", unknown).await.refused(405, &["HCERT-130"]);
    assert_eq!(server.seq(), 2);
}

#[tokio::test]
async fn a_profile_may_be_nominated_and_what_is_stored_may_be_held_against_it() {
    let server = Server::start().await;
    let completed = server.create(Body::completed()).await;
    let occupational = server.create(Body::example("occupational-final")).await;
    server.get(&format!("{completed}/$validate")).await.refused(200, &["HCERT-198"]);
    server.get(&format!("{completed}/$validate?profile={DRIVER}")).await.refused(200, &["HCERT-198"]);
    let told = server.get(&format!("{occupational}/$validate?mode=profile&profile={DRIVER}")).await.expect(200);
    assert!(told.codes().contains(&"HCERT-188".to_owned()), "{told}");
    // Employers are not shown suggestions for the employee.
    let told = server.get(&format!("{occupational}/$validate?profile={EMPLOYER}")).await.expect(200);
    assert!(told.said().contains("employeeSuggestions"), "{told}");
    // A suspended certificate is right as it is, though nobody may write it so.
    server.suspend(&completed).await.expect(200);
    server.get(&format!("{completed}/$validate")).await.refused(200, &["HCERT-198"]);
    let body =
        asking(&[("resource", "resource", Body::draft().json().clone()), ("profile", "valueCanonical", json!(DRIVER))]);
    server.post("Composition/$validate", body).await.refused(200, &["HCERT-198"]);
}

#[tokio::test]
async fn a_wrong_question_is_400() {
    let server = Server::start().await;
    server.post("Composition/$validate?mode=patch", Body::draft()).await.refused(400, &["HCERT-172"]);
    server.post("Composition/$validate?mode=create&mode=create", Body::draft()).await.refused(400, &["HCERT-209"]);
    let unserved = format!("Composition/$validate?profile={DRIVER}|9.9.9");
    server.post(&unserved, Body::draft()).await.refused(400, &["HCERT-172"]);
    server.post("Composition/$validate?profile=https://other", Body::draft()).await.refused(400, &["HCERT-172"]);
    server.post("Composition/$validate?colour=blue", Body::draft()).await.refused(400, &["HCERT-170"]);
    server.post("Composition/$validate", Vec::new()).await.refused(400, &["HCERT-171"]);
    server
        .post("Composition/$validate", asking(&[("mode", "valueCode", json!("create"))]))
        .await
        .refused(400, &["HCERT-171"]);
    let twice = json!(Body::draft().json());
    let body = asking(&[("resource", "resource", twice.clone()), ("resource", "resource", twice)]);
    server.post("Composition/$validate", body).await.refused(400, &["HCERT-209"]);
    let told = server.post("Composition/$validate", asking(&[("mode", "valueInteger", json!(1))])).await;
    assert!(told.refused(400, &["HCERT-210"]).said().contains("valueInteger"));
    server.post("Composition/$validate", asking(&[("mode", "colour", json!(1))])).await.refused(400, &["HCERT-107"]);
    server.get("Composition/$validate").await.expect(405);
}

/// Contract 8.3: only strict mode, and a whole list that an operator loaded, refuse a code of a list that ships in part.
#[tokio::test]
async fn strict_mode_refuses_unknown_codes_once_the_whole_list_is_loaded() {
    const RISKS: &str = "https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
    let list = json!({
        "resourceType": "CodeSystem", "url": RISKS, "status": "active", "content": "complete",
        "concept": [{"code": "114"}, {"code": "558"}]
    });
    for strict in [false, true] {
        let server = Server::with(START, |config| config.validation.strict = strict).await;
        let at = Body::example("occupational-final").json()["contained"]
            .as_array()
            .and_then(|all| all.iter().position(|one| one["id"] == "risk-1"))
            .expect("the example has a risk factor");
        let code = format!("/contained/{at}/valueCodeableConcept/coding/0/code");
        let unknown = Body::example("occupational-final").with(&code, json!("999"));
        let told = server.post("Composition", unknown.clone()).prefer("return=OperationOutcome").await.expect(201);
        assert_eq!(told.codes(), ["HCERT-157", "HCERT-196"], "{told}");
        server.load(&list).await.expect("a list that can be used");
        let told = server.post("Composition", unknown).await;
        if strict {
            assert_eq!(told.refused(422, &["HCERT-188"]).places(), [format!("Composition.contained[{at}].value")]);
        } else {
            told.expect(201);
        }
    }
}

/// Contract 8.5.
#[tokio::test]
async fn a_missing_narrative_is_made_and_made_anew_until_somebody_writes_one() {
    let server = Server::start().await;
    let draft = server.create(Body::draft().without("/text")).await;
    let server = &server;
    let read = async |certificate: &str| server.get(certificate).await.expect(200).json();
    let first = read(&draft).await;
    assert_eq!(first["text"]["status"], "generated");
    assert!(first["text"]["div"].as_str().is_some_and(|div| div.contains("Olek: Mustand")), "{first}");
    // The client sends back what it read, completed.
    let completed = Body::completed().number("TT-1").with("/text", first["text"].clone());
    server.put(&draft, completed).await.expect(200);
    let second = read(&draft).await;
    assert!(second["text"]["div"].as_str().is_some_and(|div| div.contains("Olek: Lõpetatud")), "{second}");
    // Operations too.
    server.suspend(&draft).await.expect(200);
    let third = read(&draft).await;
    let told = third["text"]["div"].as_str().expect("a narrative").to_owned();
    assert!(told.contains("Olek: Peatatud") && !told.contains("Lõpetatud"), "{third}");
    insta::assert_snapshot!(told);
    // One that somebody wrote stays below the state.
    let own = server.create(Body::completed()).await;
    let written = read(&own).await["text"]["div"].as_str().expect("a narrative").to_owned();
    server.suspend(&own).await.expect(200);
    let told = read(&own).await["text"]["div"].as_str().expect("a narrative").to_owned();
    let (opening, rest) = written.split_at(written.find('>').expect("a tag ends") + 1);
    assert!(told.starts_with(opening) && told.ends_with(rest) && told.contains("Olek: Peatatud"), "{told}");
}

#[tokio::test]
async fn a_narrative_that_could_do_harm_is_refused_and_never_mended() {
    let server = Server::start().await;
    for hostile in [
        "<script>alert(1)</script>",
        "<p onclick=\"x()\">a</p>",
        "<a href=\"javascript:x()\">a</a>",
        "<img src=\"https://example.ee/a.png\" alt=\"a\"/>",
        "<form><input/></form>a",
        "<p style=\"background:url(https://example.ee/a)\">a</p>",
        "a&nbsp;b",
        "<p>a",
    ] {
        let body = Body::draft().with("/text/div", json!(div(hostile)));
        let told = server.post("Composition", body).await.expect(422);
        assert!(told.codes().iter().all(|code| code == "HCERT-195"), "{told}");
        assert_eq!(told.places()[0], "Composition.text.div", "{told}");
    }
    assert_eq!(server.seq(), 0);
}
