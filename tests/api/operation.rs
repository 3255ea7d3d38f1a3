//! $suspend and $cancel. Specification 3, 4.7; Contract 3.4, 3.5.

use serde_json::{Value, json};

use crate::body::{self, Body, div};
use crate::server::Server;

#[tokio::test]
async fn a_suspension_answers_the_suspended_certificate() {
    let server = Server::start().await;
    let certificate = server.create(body::text("driver-external-declaration")).await;
    let told = server.post(&format!("{certificate}/$suspend"), body::text("suspend")).await;
    insta::assert_snapshot!(told);
    assert_eq!(told.body, server.get(&certificate).await.body);
}

#[tokio::test]
async fn a_cancellation_keeps_the_reason_of_the_suspension() {
    let server = Server::start().await;
    let certificate = server.create(body::text("driver-external-declaration")).await;
    server.suspend(&certificate).await.expect(200);
    let told = server.post(&format!("{certificate}/$cancel"), body::text("cancel")).await;
    insta::assert_snapshot!(told);
    let sections = told.json()["section"].clone();
    let codes: Vec<&Value> =
        sections.as_array().expect("sections").iter().map(|section| &section["code"]["coding"][0]["code"]).collect();
    assert_eq!(codes, ["decision", "health-declaration", "suspend-reason", "cancel-reason"]);
}

#[tokio::test]
async fn an_operation_answers_the_certificate_whatever_is_preferred() {
    let server = Server::start().await;
    for preference in ["return=minimal", "return=OperationOutcome", "return=representation"] {
        let certificate = server.create(Body::completed()).await;
        let told = server.suspend(&certificate).prefer(preference).await.expect(200);
        assert_eq!(told.json()["status"], "cancelled");
    }
}

#[tokio::test]
async fn an_operation_that_the_state_does_not_allow_is_409() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    insta::assert_snapshot!(server.suspend(&draft).await);
}

#[tokio::test]
async fn nothing_but_the_status_the_reason_and_the_narrative_changes() {
    let server = Server::start().await;
    let certificate = server.create(body::text("occupational-final")).await;
    let mut before = server.get(&certificate).await.json();
    let mut after = server.suspend(&certificate).await.expect(200).json();
    let reason = after["section"].as_array_mut().expect("sections").pop().expect("the reason");
    assert_eq!(
        reason,
        json!({
            "code": {"coding": [{"system": body::SECTIONS, "code": "suspend-reason"}]},
            "text": {
                "status": "additional",
                "div": div("Patsient kaotas ajutiselt teadvuse; juhtimisõigus peatatakse kuni neuroloogi otsuseni.")
            }
        })
    );
    for certificate in [&mut before, &mut after] {
        certificate["meta"]["versionId"].take();
        certificate["meta"]["lastUpdated"].take();
        certificate["status"].take();
        certificate["text"].take();
    }
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_reason_is_text_and_no_markup() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let reason = "<script>alert('õ')</script> & \"tsitaat\" ]]> &amp; \u{7f}\u{fffd}😀";
    let told = server.post(&format!("{certificate}/$suspend"), Body::reason(reason)).await.expect(200);
    let section = told.json()["section"][3].clone();
    let escaped = "&lt;script&gt;alert('õ')&lt;/script&gt; &amp; \"tsitaat\" ]]&gt; &amp;amp; \u{7f}\u{fffd}😀";
    assert_eq!(section["text"]["div"], div(escaped));
    // A search reads the text back as it was given, white space collapsed.
    let asked = "section-code-text=suspend-reason%24%3Cscript%3Ealert%28%27%C3%B5%27%29%3C%2Fscript%3E%20%26%20%22tsitaat%22%20%5D%5D%3E%20%26amp%3B%20%7F%EF%BF%BD%F0%9F%98%80";
    assert_eq!(server.found(asked).await, [1]);
}

#[tokio::test]
async fn white_space_and_lines_of_a_reason_are_kept() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let told = server.post(&format!("{certificate}/$cancel"), Body::reason("  üks\n\tkaks\r\n")).await.expect(200);
    assert_eq!(told.json()["section"][3]["text"]["div"], div("  üks\n\tkaks\r\n"));
}

#[tokio::test]
async fn a_reason_is_at_most_ten_thousand_characters_long() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    // Characters, not bytes.
    for character in ["x", "õ", "😀", "<"] {
        let told = server.post(&format!("{certificate}/$cancel"), Body::reason(&character.repeat(10_001))).await;
        assert_eq!(told.refused(400, &["HCERT-116"]).places(), ["Parameters.parameter[0].value"]);
        let certificate = server.create(Body::completed()).await;
        server.post(&format!("{certificate}/$cancel"), Body::reason(&character.repeat(10_000))).await.expect(200);
        server.get(&certificate).await.expect(200);
    }
}

#[tokio::test]
async fn a_reason_that_xml_forbids_or_that_is_blank_is_refused() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    for forbidden in ["\u{0}", "\u{1}", "\u{8}", "\u{b}", "\u{c}", "\u{e}", "\u{1b}", "\u{1f}", "\u{fffe}", "\u{ffff}"]
    {
        let told = server.post(&format!("{certificate}/$suspend"), Body::reason(&format!("a{forbidden}b"))).await;
        // FHIR's own strings forbid most of them already.
        assert_eq!(told.status, 400, "{forbidden:?}: {told}");
        assert_eq!(told.places(), ["Parameters.parameter[0].value"], "{forbidden:?}: {told}");
    }
    for blank in [" ", "\n", "\t \r\n", "\u{a0}", "\u{3000}"] {
        let told = server.post(&format!("{certificate}/$suspend"), Body::reason(blank)).await.expect(400);
        assert!(["HCERT-115", "HCERT-109"].contains(&told.codes()[0].as_str()), "{blank:?}: {told}");
    }
    assert_eq!(server.seq(), 1);
}

#[tokio::test]
async fn an_operation_takes_one_reason_and_nothing_else() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    let parameters = |parameter: Value| json!({"resourceType": "Parameters", "parameter": parameter}).to_string();
    let reason = json!({"name": "reason", "valueString": "Põhjus"});
    for body in [
        json!({"resourceType": "Parameters"}).to_string(),
        parameters(json!([reason, reason])),
        parameters(json!([reason, {"name": "other", "valueString": "x"}])),
        parameters(json!([{"name": "Reason", "valueString": "x"}])),
        parameters(json!([{"name": "reason"}])),
        parameters(json!([{"name": "reason", "valueCode": "x"}])),
        parameters(json!([{"name": "reason", "valueMarkdown": "x"}])),
        parameters(json!([{"name": "reason", "part": [reason]}])),
        parameters(json!([{"valueString": "x"}])),
    ] {
        let told = server.post(&format!("{certificate}/$suspend"), body.clone()).await;
        assert_eq!(told.refused(400, &["HCERT-114"]).places(), ["Parameters.parameter"], "{body}");
    }
    for (body, code) in [
        (parameters(json!([])), "HCERT-105"),
        (parameters(json!([{"name": "reason", "valueString": 5}])), "HCERT-108"),
        (parameters(json!([{"name": "reason", "valueString": ""}])), "HCERT-109"),
        (parameters(json!({"name": "reason", "valueString": "x"})), "HCERT-108"),
        (parameters(json!([{"name": "reason", "valueString": "x", "value": "y"}])), "HCERT-107"),
        (json!({"resourceType": "Composition"}).to_string(), "HCERT-106"),
        (
            r#"{"resourceType":"Parameters","parameter":[{"name":"reason","valueString":"\ud800"}]}"#.to_owned(),
            "HCERT-102",
        ),
        (String::new(), "HCERT-100"),
        ("reason".to_owned(), "HCERT-102"),
    ] {
        let told = server.post(&format!("{certificate}/$suspend"), body.clone()).await;
        assert_eq!((told.status.as_u16(), told.codes()), (400, vec![code.to_owned()]), "{body}: {told}");
    }
    assert_eq!(server.seq(), 1);
}

#[tokio::test]
async fn the_body_is_judged_before_the_state_and_after_the_address() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    server.post(&format!("{draft}/$suspend"), Body::reason(" ")).await.expect(400);
    server.post("Composition/2/$suspend", Body::reason(" ")).await.refused(404, &["HCERT-127"]);
    server.delete(&draft).await.expect(204);
    server.post(&format!("{draft}/$suspend"), Body::reason(" ")).await.refused(410, &["HCERT-135"]);
}

/// What was seen: a certificate of the largest size was suspended and cancelled, and an import of its export took its first version alone:
/// there it was valid. Of a service that takes larger bodies no large certificate could be imported at all.
#[tokio::test]
async fn the_largest_certificate_with_the_longest_reasons_is_imported_as_it_was_exported() {
    for body_bytes_max in [1024 * 1024, 2 * 1024 * 1024, 4 * 1024 * 1024] {
        let set = |config: &mut hcert::config::Config| config.server.body_bytes_max = body_bytes_max;
        let server = Server::with(crate::server::START, set).await;
        // A text has a mebibyte at most.
        let pieces: Vec<Value> = (0..4)
            .map(|_| json!({"url": "https://example.ee/a", "valueString": "x".repeat(body_bytes_max / 4 - 3_000)}))
            .collect();
        let body = Vec::from(Body::completed().without("/text").with("/extension", json!(pieces)));
        assert!((body_bytes_max - 12_000..=body_bytes_max).contains(&body.len()), "{}", body.len());
        let certificate = server.create(body).await;
        for operation in ["$suspend", "$cancel"] {
            server.post(&format!("{certificate}/{operation}"), Body::reason(&"&".repeat(10_000))).await.expect(200);
        }
        let exported = server.export();
        let other = Server::with(crate::server::START, set).await;
        assert_eq!(other.import_lines(&exported).await, 3);
        assert_eq!(other.get(&certificate).await.expect(200).body, server.get(&certificate).await.expect(200).body);
        assert_eq!(other.export(), exported);
    }
}
