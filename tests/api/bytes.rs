//! What was sent comes back byte by byte, wherever it is shown. Contract 2.7.

use serde_json::json;

use crate::body::{self, Body};
use crate::server::Server;

/// Decimals of every form that R5 has.
const DECIMALS: [&str; 13] = [
    "1.10",
    "1E2",
    "123e65",
    "20E+1",
    "20e1",
    "100.0e-2",
    "0",
    "-0",
    "-0.0",
    "0E0",
    "1.5e-7",
    "-999999999999999999",
    "123456789012345678.12345678901234567",
];

/// A member of every certificate of these tests, as the service writes JSON.
fn extensions() -> String {
    let decimals =
        DECIMALS.map(|decimal| format!(r#"{{"url":"https://example.ee/decimal","valueDecimal":{decimal}}}"#));
    format!(r#""extension":[{}]"#, decimals.join(","))
}

/// An example with [`extensions`], and with `null` beside an exponent.
fn with_extensions(example: &str) -> String {
    let text = body::text(example);
    let names = r#""_title":{"extension":[{"url":"https://example.ee/t","valueHumanName":{"given":[null,"Õ😀"],"_given":[{"extension":[{"url":"https://example.ee/g","valueString":"x"}]},null]}}]}"#;
    format!("{},{},{names}}}", text.trim_end().trim_end_matches('}').trim_end(), extensions())
}

/// What was seen: `1E2` came back as `1e+2`.
#[tokio::test]
async fn a_decimal_comes_back_as_it_was_sent_wherever_it_is_shown() {
    let server = Server::start().await;
    let whole = extensions();
    let draft = with_extensions("occupational-draft");
    let created = server.post("Composition", draft.clone()).prefer("return=representation").await.expect(201);
    assert!(created.text().contains(&whole), "{created}");
    let last = with_extensions("occupational-final");
    let updated = server.put("Composition/1", last.clone()).prefer("return=representation").await.expect(200);
    assert!(updated.text().contains(&whole), "{updated}");
    for path in [
        "Composition/1",
        "Composition/1?_elements=title,extension",
        "Composition/1?_summary=data",
        "Composition/1/_history/1",
        "Composition/1/_history",
        "Composition/_history",
        "Composition?_id=1",
        "Composition?_elements=extension",
    ] {
        let told = server.get(path).await.expect(200);
        assert!(told.text().contains(&whole), "{told}");
    }
    let pretty = server.get("Composition/1?_pretty=true").await.expect(200);
    for decimal in DECIMALS {
        assert!(pretty.text().contains(&format!("\"valueDecimal\": {decimal}\n")), "{pretty}");
    }
    let official = server.token("gov-official", json!({})).await;
    let shown = server.get("Composition/1").header("Authorization", &official).await.expect(200);
    assert!(shown.text().contains("ee-health-certificate-occupational-employer") && shown.text().contains(&whole));
    for (operation, version) in [("suspend", 3), ("cancel", 4)] {
        let path = format!("Composition/1/${operation}");
        let told = server.post(&path, Body::example(operation)).await.expect(200);
        assert!(told.text().contains(&whole), "{told}");
        let told = server.get(&format!("Composition/1/_history/{version}")).await.expect(200);
        assert!(told.text().contains(&whole), "{told}");
    }
    let exported = server.export();
    assert_eq!(exported.matches(&whole).count(), 4, "{exported}");
    let other = Server::start().await;
    assert_eq!(other.import_lines(&exported).await, 4);
    assert_eq!(other.export(), exported);
}

/// Decision 132: a string is its characters; how they were spelled is no part of it.
#[tokio::test]
async fn a_string_keeps_its_characters_however_they_were_spelled() {
    let server = Server::start().await;
    let of = |title: &str| format!(r#""extension":[{{"url":"https://example.ee/s","valueString":"{title}"}}]"#);
    let spelled = of(r"a\u00f5\/\u005c\ud83d\ude00\u0022\t\u000a\u0041\u030a\u2028e\u0301");
    let sent = body::text("driver-draft");
    let sent = format!("{},{spelled}}}", sent.trim_end().trim_end_matches('}').trim_end());
    let certificate = server.create(sent).await;
    let read = server.get(&certificate).await.expect(200);
    // Letters and their accents stay apart.
    assert!(read.text().contains(&of("aõ/\\\\😀\\\"\\t\\nA\u{30a}\u{2028}e\u{301}")), "{read}");
}

/// A write answers with the bytes that every later read finds, though it does not read them back.
#[tokio::test]
async fn what_a_write_answers_is_what_is_read_afterwards() {
    let server = Server::start().await;
    let by_code = json!({"identifier": {"system": "https://fhir.ee/sid/pid/est/ni", "value": "48703129419"}});
    let draft = Body::draft().with("/subject/0", by_code.clone());
    let done = Body::completed().with("/subject/0", by_code);
    for asked in [
        server.post("Composition", draft),
        server.put("Composition/1", done),
        server.suspend("Composition/1"),
        server.cancel("Composition/1"),
    ] {
        let told = asked.prefer("return=representation").await;
        assert!(told.status.is_success(), "{told}");
        assert_eq!(told.body, server.get("Composition/1").await.expect(200).body);
    }
    let found = server.get("Composition?subject=Patient/201").await.expect(200);
    assert_eq!(found.ids(), [1]);
}
