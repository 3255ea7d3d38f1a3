//! PUT /Composition/{id}. Specification 4.2; Contract 2.6, 3.2 to 3.6.

use serde_json::{Value, json};

use crate::body::{self, Body, div};
use crate::server::Server;

#[tokio::test]
async fn an_update_answers_where_the_new_version_is() {
    let server = Server::start().await;
    let draft = server.create(body::text("driver-draft")).await;
    insta::assert_snapshot!(server.put(&draft, body::text("driver-final")).await);
}

#[tokio::test]
async fn an_update_answers_the_certificate_when_that_is_preferred() {
    let server = Server::start().await;
    let certificate = server.create(body::text("driver-final")).await;
    let told = server.put(&certificate, body::text("driver-final-changed")).prefer("return=representation").await;
    insta::assert_snapshot!(told);
    assert_eq!(told.body, server.get(&certificate).await.body);
}

#[tokio::test]
async fn an_update_answers_an_outcome_when_that_is_preferred() {
    let server = Server::start().await;
    let draft = server.create(body::text("driver-draft")).await;
    let told = server.put(&draft, body::text("driver-draft")).prefer("return=OperationOutcome").await;
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn ids_are_the_services() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    let told = server.put("Composition/2", Body::draft()).await;
    insta::assert_snapshot!(told);
    for path in ["Composition/2", "Composition/abc", "Composition/01"] {
        server.put(path, Body::draft()).await.refused(405, &["HCERT-130"]);
        // The address is judged before the body.
        server.put(path, "{").await.refused(405, &["HCERT-130"]);
    }
    server.put(&draft, Body::draft().with("/id", json!("1"))).await.expect(200);
    let told = server.put(&draft, Body::draft().with("/id", json!("2"))).await.refused(400, &["HCERT-113"]);
    assert_eq!(told.places(), ["Composition.id"]);
    server.put(&draft, Body::draft().with("/id", json!("01"))).await.refused(400, &["HCERT-113"]);
    assert_eq!(server.seq(), 2);
}

#[tokio::test]
async fn an_identical_update_makes_a_version() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    server.put(&draft, Body::draft()).await.expect(200);
    let first = server.get("Composition/1/_history/1").await.json();
    let second = server.get("Composition/1").await.json();
    assert_eq!(second["meta"]["versionId"], "2");
    assert_eq!(second["meta"]["lastUpdated"], "2025-01-13T08:00:01.000+02:00");
    assert_eq!(first["section"], second["section"]);
}

#[tokio::test]
async fn a_draft_may_change_in_everything() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    server.put(&draft, Body::example("occupational-draft")).await.expect(200);
    server.put(&draft, Body::completed().with("/subject/0/reference", json!("Patient/201"))).await.expect(200);
    assert_eq!(server.found("subject=Patient/201&category=driver-group-I").await, [1]);
    assert!(server.found("category=occupational").await.is_empty());
}

#[tokio::test]
async fn a_completed_certificate_changes_only_with_a_reason() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    insta::assert_snapshot!(server.put(&certificate, Body::completed()).await);

    // A narrative that says nothing is none.
    for blank in ["", " ", "\n\t", "<p></p>", "<p> <br/> </p>", "&#160;", "&nbsp;", "&#x3000;", "<!-- reason -->"] {
        let told = server.put(&certificate, Body::completed().section("change-reason", &div(blank))).await.expect(422);
        let codes = told.codes();
        let (last, others) = codes.split_last().expect("a refusal has issues");
        assert_eq!(
            (last.as_str(), told.places().last().map(String::as_str)),
            ("HCERT-148", Some("Composition.section"))
        );
        assert!(!others.is_empty() && others.iter().all(|code| code == "HCERT-195"), "{blank}: {told}");
    }
    // One that shows something but says nothing gives no reason.
    for blank in
        ["<img alt=\"reason\" src=\"#a\"/>", "<p><img src=\"data:image/png;base64,AA==\" alt=\"reason\"/> </p>"]
    {
        let told = server.put(&certificate, Body::completed().section("change-reason", &div(blank))).await;
        assert_eq!(told.refused(422, &["HCERT-148"]).places(), ["Composition.section"], "{blank}");
    }
    // A reason of another system or of another code is none.
    let coded = |system: &str, code: &str| {
        json!({"code": {"coding": [{"system": system, "code": code}]},
               "text": {"status": "additional", "div": div("Põhjus")}})
    };
    for section in [
        coded("https://example.ee/sections", "change-reason"),
        coded(body::SECTIONS, "Change-Reason"),
        coded(body::SECTIONS, "reject-reason"),
        json!({"code": {"text": "change-reason"}, "text": {"status": "additional", "div": div("Põhjus")}}),
    ] {
        let told = server.put(&certificate, Body::completed().with("/section/3", section)).await;
        told.refused(422, &["HCERT-148"]);
    }
    assert_eq!(server.seq(), 1);

    for reason in ["Põhjus", "<p><b>P</b></p>", "0", "&lt;", "<ul><li>\n<i>.</i></li></ul>"] {
        server.put(&certificate, Body::completed().section("change-reason", &div(reason))).await.expect(200);
    }
    // The same text may come again.
    let again = Body::completed().section("change-reason", &div("Põhjus"));
    server.put(&certificate, again.clone()).await.expect(200);
    server.put(&certificate, again).await.expect(200);
    assert_eq!(server.seq(), 8);
}

#[tokio::test]
async fn after_completion_subject_category_profile_and_number_stay() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let changed = || Body::completed().section("change-reason", &div("Põhjus"));
    let occupational = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational";
    let fixed: &[(&str, Value, &str)] = &[
        ("/subject/0/reference", json!("Patient/201"), "Composition.subject"),
        ("/category/0/coding/0/code", json!("driver-group-II"), "Composition.category"),
        ("/identifier/0/value", json!("TT-2025-000999"), "Composition.identifier"),
    ];
    for (pointer, value, element) in fixed {
        let told = server.put(&certificate, changed().with(pointer, value.clone())).await;
        assert_eq!(told.refused(422, &["HCERT-149"]).places(), [*element], "{pointer} {value}");
    }
    // What no certificate may be is told before it is held against the stored one.
    for gone in ["/subject", "/category", "/identifier"] {
        server.put(&certificate, changed().without(gone)).await.refused(422, &["HCERT-180"]);
    }
    server.put(&certificate, changed().with("/meta/profile/0", json!(occupational))).await.expect(422);
    for unknowable in [json!({"display": "Mari"}), json!({"reference": "https://example.ee/fhir/Patient/200"})] {
        server.put(&certificate, changed().with("/subject/0", unknowable)).await.refused(422, &["HCERT-166"]);
    }
    // Nobody is both of two.
    let contradiction = json!({"reference": "Patient/200", "identifier": {"system": "https://fhir.ee/sid/pid/est/ni", "value": "49403136526"}});
    server.put(&certificate, changed().with("/subject/0", contradiction)).await.refused(400, &["HCERT-008"]);
    // All of them are told together.
    let all = changed().number("other").with("/subject/0/reference", json!("Patient/201"));
    let told = server.put(&certificate, all).await.refused(422, &["HCERT-149", "HCERT-149"]);
    assert_eq!(told.places(), ["Composition.subject", "Composition.identifier"]);
    // The missing reason is told first.
    server.put(&certificate, Body::completed().number("other")).await.refused(422, &["HCERT-148"]);
    assert_eq!(server.seq(), 1);

    let profile = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0";
    for (pointer, value) in [
        ("/subject/0/reference", json!("Patient/200/_history/3")),
        ("/subject/0/reference", json!("http://127.0.0.1:8080/fhir/Patient/200")),
        ("/subject/0/display", json!("Mari Maasikas")),
        ("/category/0/coding/0/display", json!("B")),
        ("/meta/profile/0", json!(profile)),
        ("/title", json!("Teine pealkiri")),
        ("/date", json!("2025-01-14T10:00:00+02:00")),
        ("/author/0/display", json!("Arst")),
    ] {
        server.put(&certificate, changed().with(pointer, value)).await.expect(200);
    }
}

#[tokio::test]
async fn a_clients_reason_of_a_suspension_is_dropped_and_the_stored_one_stays() {
    let server = Server::start().await;
    // An import may bring a certificate that was suspended once.
    let stored = Body::completed().section("suspend-reason", &div("Vana põhjus"));
    server.import(stored, 5).await;

    let sent = Body::completed()
        .section("change-reason", &div("Põhjus"))
        .section("suspend-reason", &div("Võlts"))
        .section("cancel-reason", &div("Võlts"));
    let told = server.put("Composition/5", sent).prefer("return=representation").await.expect(200);
    assert!(told.text().contains("Vana põhjus") && !told.text().contains("Võlts"), "{told}");
    assert_eq!(told.text().matches("suspend-reason").count(), 1);

    // It stands behind those of a body.
    let draft = Body::draft().section("suspend-reason", &div("Vana põhjus"));
    server.import(draft, 6).await;
    let told = server.put("Composition/6", Body::draft()).prefer("return=representation").await.expect(200);
    let sections = told.json()["section"].as_array().cloned().unwrap_or_default();
    assert_eq!(sections.last().expect("there are some")["text"]["div"], div("Vana põhjus"));
}

#[tokio::test]
async fn of_two_updates_the_later_is_judged_by_what_the_earlier_left() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    let completing = Body::completed().number("TT-2025-000201");
    let (first, second, third) =
        tokio::join!(server.put(&draft, completing.clone()), server.put(&draft, completing), server.delete(&draft));
    let mut statuses = [first.status.as_u16(), second.status.as_u16(), third.status.as_u16()];
    statuses.sort_unstable();
    // Either one of the two completes it, the other lacks its reason and the delete comes too late, or the delete was first.
    assert!(statuses == [200, 409, 422] || statuses == [204, 410, 410], "{first}\n{second}\n{third}");
}
