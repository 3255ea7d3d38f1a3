//! Certificates that the profiles allow but no user can use, and versions of profiles. Contract 8.1, 8.2, 8.7.

use serde_json::{Value, json};

use crate::body::{Body, SECTIONS, div};
use crate::server::{START, Server};

const DRIVER: &str = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver";

/// The bodies of the review's F5, each with its code and element, and whether the setting refuses it.
fn unusable() -> Vec<(Body, &'static str, &'static str, bool)> {
    let occupational = || Body::example("occupational-final");
    let employer = |text: &str| occupational().with("/section/5/text/div", json!(div(text)));
    let author = |element: &str, value: Value| Body::completed().with(&format!("/contained/0/{element}"), value);
    vec![
        (Body::draft().status("final"), "HCERT-204", "Composition.section", true),
        (
            Body::example("occupational-rejected").without("/section/1"),
            "HCERT-205",
            "Composition.contained[1].value",
            true,
        ),
        (employer("Äriregistri kood: 16978044"), "HCERT-206", "Composition.section[5].text.div", true),
        (
            occupational().with("/contained/6/performer/0/identifier/value", json!("99999999")),
            "HCERT-206",
            "Composition.section[5].text.div",
            true,
        ),
        (
            author("practitioner", json!({"reference": "Practitioner/abc"})),
            "HCERT-207",
            "Composition.contained[0].practitioner.reference",
            false,
        ),
        (
            author("organization", json!({"reference": "Organization/foo"})),
            "HCERT-207",
            "Composition.contained[0].organization.reference",
            false,
        ),
        (
            author("practitioner", json!({"identifier": {"value": "49403136515"}})),
            "HCERT-208",
            "Composition.contained[0].practitioner",
            false,
        ),
    ]
}

#[tokio::test]
async fn what_nobody_can_use_is_stored_with_a_warning() {
    let server = Server::start().await;
    for (body, code, place, _) in unusable() {
        let told = server.post("Composition", body.clone()).prefer("return=OperationOutcome").await.expect(201);
        assert_eq!(
            (told.codes(), told.places()),
            (vec!["HCERT-157".into(), code.into()], vec!["".into(), place.into()])
        );
        assert_eq!(told.json()["issue"][1]["severity"], "warning", "{told}");
        let told = server.post("Composition/$validate", body).await.expect(200);
        assert_eq!((told.codes(), told.places()), (vec![code.to_owned()], vec![place.to_owned()]));
    }
    // An update says the same, and so does a look at what is stored.
    let draft = server.create(Body::draft()).await;
    let told = server.put(&draft, Body::draft().status("final")).prefer("return=OperationOutcome").await.expect(200);
    assert_eq!(told.codes(), ["HCERT-157", "HCERT-204"]);
    server.get(&format!("{draft}/$validate")).await.refused(200, &["HCERT-204"]);
}

#[tokio::test]
async fn the_setting_refuses_the_first_three_of_a_final_certificate() {
    let server = Server::with(START, |config| config.certificate.final_must_be_usable = true).await;
    let draft = server.create(Body::draft()).await;
    let before = server.seq();
    for (body, code, place, _) in unusable().into_iter().filter(|(.., refuses)| *refuses) {
        for told in [server.post("Composition", body.clone()).await, server.put(&draft, body.clone()).await] {
            assert_eq!(told.refused(422, &[code]).places(), [place]);
        }
        let told = server.post("Composition/$validate", body.clone()).await.expect(200);
        assert_eq!((told.codes(), &told.json()["issue"][0]["severity"]), (vec![code.to_owned()], &json!("error")));
    }
    assert_eq!(server.seq(), before);
    for (body, code, ..) in unusable().into_iter().filter(|(.., refuses)| !*refuses) {
        let told = server.post("Composition", body).prefer("return=OperationOutcome").await.expect(201);
        assert_eq!(told.codes(), ["HCERT-157", code]);
    }
    // A draft is work in hand.
    for (body, ..) in unusable() {
        server.create(body.status("preliminary")).await;
    }
    for name in ["driver-final", "occupational-final", "occupational-rejected"] {
        server.create(Body::example(name)).await;
    }
}

/// What was seen: an earlier warning about the same element hid the error, and the certificate was stored.
#[tokio::test]
async fn a_dead_link_does_not_hide_what_the_setting_refuses() {
    let server = Server::with(START, |config| config.certificate.final_must_be_usable = true).await;
    let text = div(r##"Registrikood <a href="#x">16978044</a>"##);
    let body = Body::example("occupational-final").with("/section/5/text/div", json!(text));
    server.post("Composition", body.clone()).await.refused(422, &["HCERT-203", "HCERT-206"]);
    server.post("Composition/$validate", body).await.refused(200, &["HCERT-203", "HCERT-206"]);
    assert_eq!(server.found("").await, [0; 0]);
}

/// What was seen: a hundred warnings left no place for the error; nothing was stored, and the answer was 200.
#[tokio::test]
async fn a_hundred_warnings_do_not_hide_an_error() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    let seq = server.seq();
    let links: String = (0..300).map(|at| format!("<a href='#x{at}'>a</a>")).collect();
    let text = json!({"status": "additional", "div": div(&format!("<p>{links}</p>"))});
    let body = Body::draft().with("/text", text);
    let body = body.with("/subject/0", json!({"reference": "https://elsewhere/fhir/Patient/1"}));
    let mut codes = vec!["HCERT-203"; 99];
    codes.extend(["HCERT-166", "HCERT-197"]);
    for told in [server.post("Composition", body.clone()).await, server.put(&draft, body.clone()).await] {
        told.refused(422, &codes);
    }
    let told = server.post("Composition/$validate", body).await.refused(200, &codes);
    assert!(told.said().contains("at least 201"), "{told}");
    assert_eq!(server.seq(), seq);
}

#[tokio::test]
async fn a_warning_decides_no_status() {
    let server = Server::start().await;
    let body = || Body::draft().status("final");
    // Of a registry that does not answer, 503; the warning of the certificate would be 422.
    server.post("Composition", body()).header("x-hcert-fault", "refuse").await.refused(503, &["HCERT-164"]);
    let told = server.post("Composition", body().with("/colour", json!(1))).await;
    told.refused(400, &["HCERT-107", "HCERT-204"]);
}

#[tokio::test]
async fn only_the_served_version_of_a_profile_is_taken() {
    let server = Server::start().await;
    let named = |profile: &str| Body::completed().with("/meta/profile/0", json!(profile));
    let kept = server.create(named(&format!("{DRIVER}|1.0.0"))).await;
    assert_eq!(server.get(&kept).await.json()["meta"]["profile"][0], format!("{DRIVER}|1.0.0"));
    let seq = server.seq();
    for version in ["9.9.9", "1.0", ""] {
        let told = server.post("Composition", named(&format!("{DRIVER}|{version}"))).await;
        assert_eq!(told.refused(422, &["HCERT-202"]).places(), ["Composition.meta.profile[0]"]);
    }
    // What else is wrong by the profile is told as well.
    let told = server.post("Composition", named(&format!("{DRIVER}|9.9.9")).without("/category")).await;
    told.refused(422, &["HCERT-202", "HCERT-180"]);
    assert_eq!(server.seq(), seq);
    // What was stored before stays readable, and can be found and brought back.
    server.import(named(&format!("{DRIVER}|9.9.9")), 77).await;
    let stored = server.get("Composition/77").await.expect(200);
    assert_eq!(stored.json()["meta"]["profile"][0], format!("{DRIVER}|9.9.9"));
    assert!(server.found("category=driver-group-I").await.contains(&77));
    server.suspend("Composition/77").await.expect(200);
}

#[tokio::test]
async fn what_was_stored_before_a_rule_came_can_still_be_imported_and_read() {
    let server = Server::start().await;
    let old = Body::completed()
        .with("/subject/0/id", json!("a b"))
        .with("/language", json!("zzzzz_12"))
        .with("/text/div", json!(div("<p>a<p>b</p></p>")));
    server.post("Composition", old.clone()).await.expect(400);
    server.import(old, 5).await;
    let stored = server.get("Composition/5").await.expect(200).json();
    assert_eq!((&stored["subject"][0]["id"], &stored["language"]), (&json!("a b"), &json!("zzzzz_12")));
    server.cancel("Composition/5").await.expect(200);
}

#[tokio::test]
async fn a_blank_reason_and_what_else_is_wrong_come_together() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let blank = Body::completed().section("change-reason", &div(" "));
    let told = server.put(&certificate, blank.clone()).await.refused(422, &["HCERT-195", "HCERT-148"]);
    assert_eq!(told.places(), ["Composition.section[3].text.div", "Composition.section"]);
    server.put(&certificate, Body::completed().without("/title")).await.refused(422, &["HCERT-147", "HCERT-148"]);
    // Who completes or creates needs no reason.
    server.post("Composition", blank.clone()).await.refused(422, &["HCERT-195"]);
    let draft = server.create(Body::draft()).await;
    server.put(&draft, blank).await.refused(422, &["HCERT-195"]);
    let section = json!({"code": {"coding": [{"system": SECTIONS, "code": "x"}]}});
    server.put(&draft, Body::draft().with("/section/1", section)).await.refused(422, &["HCERT-191"]);
}
