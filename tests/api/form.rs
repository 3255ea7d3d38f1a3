//! The form of every answer: media types, languages, methods, compression. Contract 2.1 to 2.4, 2.9, 5.1, 5.3.

use std::io::Read;

use crate::body::{self, Body};
use crate::response::TestResponse;
use crate::server::Server;

/// Every path that GET works on.
const READABLE: [&str; 6] = [
    "metadata",
    "Composition",
    "Composition/1",
    "Composition/1/_history",
    "Composition/1/_history/1",
    "Composition/_history",
];

/// Every path and its methods.
const PATHS: [(&str, &str); 9] = [
    ("metadata", "GET, HEAD, OPTIONS"),
    ("Composition", "GET, HEAD, POST, OPTIONS"),
    ("Composition/_search", "POST, OPTIONS"),
    ("Composition/_history", "GET, HEAD, OPTIONS"),
    ("Composition/1", "GET, HEAD, PUT, DELETE, OPTIONS"),
    ("Composition/1/_history", "GET, HEAD, OPTIONS"),
    ("Composition/1/_history/1", "GET, HEAD, OPTIONS"),
    ("Composition/1/$suspend", "POST, OPTIONS"),
    ("Composition/1/$cancel", "POST, OPTIONS"),
];

async fn one() -> Server {
    let server = Server::start().await;
    server.create(body::text("occupational-final")).await;
    server
}

fn content_type(told: &TestResponse) -> &str {
    told.header("content-type").expect("an answer with a body")
}

const FHIR_JSON: &str = "application/fhir+json; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

#[tokio::test]
async fn answers_are_fhir_json_unless_plain_json_is_preferred() {
    let server = one().await;
    for path in READABLE {
        for (accept, expected) in [
            ("*/*", FHIR_JSON),
            ("application/*", FHIR_JSON),
            ("application/fhir+json", FHIR_JSON),
            ("application/json", JSON),
            ("application/fhir+json;fhirVersion=5.0", FHIR_JSON),
            ("application/fhir+json; fhirVersion=\"5.0.0\"", FHIR_JSON),
            ("application/json+fhir", FHIR_JSON),
            ("application/json, application/fhir+json;q=0.5", JSON),
            ("text/html, application/xhtml+xml, */*;q=0.8", FHIR_JSON),
            ("application/fhir+xml, application/json;q=0.1", JSON),
        ] {
            let told = server.get(path).header("Accept", accept).await.expect(200);
            assert_eq!(content_type(&told), expected, "{path} {accept}");
        }
        for accept in
            ["application/fhir+xml", "text/html", "application/fhir+json;fhirVersion=4.0", "application/fhir+json;q=0"]
        {
            server.get(path).header("Accept", accept).await.refused(406, &["HCERT-131"]);
        }
    }
    insta::assert_snapshot!(
        "not_acceptable",
        server.get("Composition/1").header("Accept", "application/fhir+xml").await
    );
}

#[tokio::test]
async fn the_format_parameter_outweighs_accept() {
    let server = one().await;
    for path in READABLE {
        for (format, expected) in [
            ("json", FHIR_JSON),
            ("application/json", JSON),
            ("application/fhir%2Bjson", FHIR_JSON),
            ("application/fhir+json", FHIR_JSON),
            ("application/json%2Bfhir;fhirVersion=5.0.0", FHIR_JSON),
        ] {
            let told = server.get(&format!("{path}?_format={format}")).header("Accept", "text/html").await.expect(200);
            assert_eq!(content_type(&told), expected, "{path} {format}");
        }
        for format in ["xml", "html", "ttl", "application/fhir%2Bxml", ""] {
            server.get(&format!("{path}?_format={format}")).await.refused(406, &["HCERT-131"]);
        }
    }
}

#[tokio::test]
async fn a_refusal_has_the_form_that_was_asked_for_too() {
    let server = one().await;
    let told = server.get("Composition/9?_format=application/json&_pretty=true").await.refused(404, &["HCERT-127"]);
    assert_eq!(content_type(&told), JSON);
    assert!(told.text().starts_with("{\n"), "{told}");
}

#[tokio::test]
async fn pretty_answers_say_the_same() {
    let server = one().await;
    for path in READABLE {
        let plain = server.get(path).await.expect(200);
        let pretty = server.get(&format!("{path}?_pretty=true")).await.expect(200);
        assert!(pretty.text().lines().count() > 50 && plain.text().lines().count() == 1);
        let (mut plain, mut pretty) = (plain.json(), pretty.json());
        if let Some(bundle) = plain.as_object_mut().filter(|bundle| bundle.contains_key("link")) {
            // Links repeat the parameter.
            bundle.remove("link");
            pretty.as_object_mut().expect("a bundle too").remove("link");
        }
        assert_eq!(plain, pretty, "{path}");
        server.get(&format!("{path}?_pretty=false")).await.expect(200);
        server.get(&format!("{path}?_pretty=yes")).await.refused(400, &["HCERT-120"]);
    }
}

#[tokio::test]
async fn head_answers_as_get_without_the_body() {
    let server = one().await;
    let queries = ["", "?_pretty=true", "?nonsense=1", "?_format=xml"];
    let missing = ["Composition/9", "Composition/1/_history/9", "Practitioner"];
    for path in READABLE.iter().chain(&missing) {
        for query in queries {
            let get = server.get(&format!("{path}{query}")).await;
            let head = server.head(&format!("{path}{query}")).await;
            assert_eq!(head.status, get.status, "{head}");
            assert!(head.body.is_empty());
            assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{head}");
            let mut headers = head.headers.clone();
            headers.remove("content-length");
            assert_eq!(headers, get.headers);
        }
    }
}

#[tokio::test]
async fn options_tells_the_methods_of_a_path() {
    let server = one().await;
    for (path, allowed) in PATHS {
        let told = server.ask("OPTIONS", path).await.expect(204);
        assert_eq!(told.header("allow"), Some(allowed), "{path}");
    }
    server.ask("OPTIONS", "*").await.expect(204);
    server.ask("OPTIONS", "Practitioner").await.refused(404, &["HCERT-126"]);
    insta::assert_snapshot!(server.ask("OPTIONS", "Composition/1").await);
}

#[tokio::test]
async fn every_other_method_is_405_with_what_is_allowed() {
    let server = one().await;
    let before = server.seq();
    for (path, allowed) in PATHS {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"] {
            if allowed.split(", ").any(|known| known == method) {
                continue;
            }
            let told = server.ask(method, path).await.expect(405);
            assert_eq!(told.header("allow"), Some(allowed), "{method} {path}");
            if method != "HEAD" {
                told.refused(405, &["HCERT-129"]);
            }
        }
    }
    assert_eq!(server.seq(), before);
    insta::assert_snapshot!("method_not_allowed", server.ask("PATCH", "Composition/1").await);
}

#[tokio::test]
async fn what_is_not_there_is_404_whatever_the_method() {
    let server = one().await;
    for path in [
        "/",
        "/fhir",
        "/fhir/",
        "/metadata",
        "/fhirx/metadata",
        "Practitioner",
        "Composition//",
        "Composition/1//",
        "Composition//1",
        "composition/1",
        "Composition/a_b",
        "Composition/+1",
        "Composition/1/$everything",
        "Composition/1/$document",
        "Composition/1/_history/1/2",
        "Composition/%ff",
        "Composition/%zz",
        "Composition%2F1",
        "../etc/passwd",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            server.ask(method, path).await.refused(404, &["HCERT-126"]);
        }
    }
    insta::assert_snapshot!("nothing_here", server.get("Practitioner/200").await);
}

#[tokio::test]
async fn a_body_of_another_kind_is_415() {
    let server = one().await;
    let before = server.seq();
    for media_type in [
        Some("application/fhir+xml"),
        Some("text/plain"),
        Some("application/json; charset=iso-8859-15"),
        Some("application/fhir+json; fhirVersion=4.0"),
        Some("application/x-www-form-urlencoded"),
        Some("json"),
        Some(""),
        None,
    ] {
        for (method, path) in [
            ("POST", "Composition"),
            ("PUT", "Composition/1"),
            ("POST", "Composition/1/$suspend"),
            ("POST", "Composition/1/$cancel"),
        ] {
            let told = server.ask(method, path).body_as(media_type, body::text("driver-final")).await;
            told.refused(415, &["HCERT-141"]);
        }
        if media_type != Some("application/x-www-form-urlencoded") {
            let told = server.ask("POST", "Composition/_search").body_as(media_type, "status=final").await;
            told.refused(415, &["HCERT-141"]);
        }
    }
    let told = server.post("Composition", Body::draft()).header("Content-Encoding", "gzip").await;
    let told = told.refused(415, &["HCERT-141"]);
    assert!(told.said().starts_with("The Content-Encoding 'gzip' of the body is not supported"), "{told}");
    assert_eq!(server.seq(), before);
    let told = server.ask("POST", "Composition").body_as(Some("application/fhir+xml"), "<Composition/>").await;
    insta::assert_snapshot!("media_type_unsupported", told);

    for media_type in [
        "application/json",
        "application/fhir+json; charset=UTF-8",
        "APPLICATION/FHIR+JSON;fhirVersion=5.0",
        "application/json+fhir",
        "application/fhir+json; fhirVersion=\"5.0.0\"",
    ] {
        server.ask("POST", "Composition").body_as(Some(media_type), Body::draft()).await.expect(201);
    }
}

/// What was seen: bodies as .NET and PowerShell 5 write them were 400.
#[tokio::test]
async fn a_byte_order_mark_before_a_body_is_skipped() {
    let server = Server::start().await;
    let marked = |body: Vec<u8>| [&b"\xef\xbb\xbf"[..], &body].concat();
    let certificate = server.create(marked(Body::completed().into())).await;
    let read = server.get(&certificate).await.expect(200);
    assert!(read.text().starts_with("{\"resourceType\":"), "{read}");
    server.put(&certificate, marked(Body::changed().into())).await.expect(200);
    server.post("Composition/$validate", marked(Body::completed().into())).await.expect(200);
    let suspend = marked(Body::example("suspend").into());
    server.post(&format!("{certificate}/$suspend"), suspend).await.expect(200);
    let form = Some("application/x-www-form-urlencoded");
    let found = server.ask("POST", "Composition/_search").body_as(form, marked(b"status=cancelled".to_vec())).await;
    assert_eq!(found.expect(200).ids(), [1]);
    let order = marked(br#"{"user": {"personalCode": "37605030299"}, "role": "doctor"}"#.to_vec());
    server.ask("POST", "/auth/v2/token").body_as(Some("application/json"), order).await.expect(200);
    let line = server.export().lines().next().expect("a version").to_owned();
    assert_eq!(Server::start().await.import_lines(&format!("\u{feff}{line}\n")).await, 1);
}

/// Contract 2.1: on every GET, whatever it asks for.
#[tokio::test]
async fn format_and_pretty_work_on_every_get() {
    let server = one().await;
    let more = [
        "Composition/1/$get-consent",
        "Composition/1/$validate",
        "Patient?identifier=39406240015",
        "Patient/200",
        "Patient/200/_history",
        "Patient/200/_history/1",
        "AuditEvent",
        "AuditEvent/1",
        "CodeSystem",
        "CodeSystem/tervisetoendi-sektsioon",
        "ValueSet",
        "StructureDefinition",
        "OperationDefinition",
        "SearchParameter",
        "CodeSystem/$lookup?system=https://fhir.ee/CodeSystem/tervisetoendi-sektsioon&code=employer",
        "CodeSystem/tervisetoendi-sektsioon/$validate-code?code=employer",
    ];
    for path in READABLE.iter().chain(&more) {
        let and = if path.contains('?') { '&' } else { '?' };
        let told = server.get(&format!("{path}{and}_format=application/json&_pretty=true")).await.expect(200);
        assert_eq!(content_type(&told), JSON, "{path}");
        assert!(told.text().starts_with("{\n  \""), "{told}");
        server.get(&format!("{path}{and}_format=xml")).await.refused(406, &["HCERT-131"]);
        server.get(&format!("{path}{and}_pretty=yes")).await.refused(400, &["HCERT-120"]);
    }
}

#[tokio::test]
async fn a_slash_at_the_end_of_a_path_is_ignored() {
    let server = Server::start().await;
    let created = server.post("Composition/", Body::completed()).await.expect(201);
    assert_eq!(created.header("location"), Some("http://127.0.0.1:8080/fhir/Composition/1/_history/1"));
    for path in READABLE.iter().chain(&["Patient/200", "CodeSystem", "Composition/1/$get-consent"]) {
        let plain = server.get(path).await.expect(200);
        let slashed = server.get(&format!("{path}/")).await.expect(200);
        assert_eq!(slashed.text(), plain.text());
        assert_eq!(
            server.get(&format!("{path}/?_pretty=true")).await.expect(200).json(),
            server.get(&format!("{path}?_pretty=true")).await.json()
        );
    }
    let found = server.get("Composition/?status=final").await.expect(200).json();
    assert_eq!(found["link"][0]["url"], "http://127.0.0.1:8080/fhir/Composition?status=final&_page=1");
    server.post("Composition/1/$suspend/", Body::example("suspend")).await.expect(200);
    let form = Some("application/x-www-form-urlencoded");
    let found = server.ask("POST", "Composition/_search/").body_as(form, "status=cancelled").await.expect(200);
    assert_eq!(found.ids(), [1]);
    let told = server.ask("PATCH", "Composition/1/").await.refused(405, &["HCERT-129"]);
    assert_eq!(told.header("allow"), Some("GET, HEAD, PUT, DELETE, OPTIONS"));
    server.get("/fhir/").await.refused(404, &["HCERT-126"]);
    server.raw("GET", "/.well-known/jwks.json/").await;
}

#[tokio::test]
async fn the_address_is_judged_before_the_form_and_the_form_before_the_content() {
    let server = one().await;
    let xml = Some("application/fhir+xml");
    server
        .ask("POST", "Practitioner")
        .body_as(xml, "")
        .header("Accept", "text/html")
        .await
        .refused(404, &["HCERT-126"]);
    server.ask("PATCH", "Composition/1").header("Accept", "text/html").await.refused(405, &["HCERT-129"]);
    let told = server.ask("POST", "Composition").body_as(xml, "{").header("Accept", "text/html").await;
    told.refused(406, &["HCERT-131"]);
    server.ask("POST", "Composition").body_as(xml, "{").await.refused(415, &["HCERT-141"]);
    server.ask("PUT", "Composition/9").body_as(xml, "{").await.refused(415, &["HCERT-141"]);
    server.get("Composition/9").header("Accept", "text/html").await.refused(406, &["HCERT-131"]);
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_ask() {
    let server = one().await;
    for path in READABLE {
        let plain = server.get(path).await.expect(200);
        assert!(plain.header("content-encoding").is_none());
        let gzip = server.get(path).header("Accept-Encoding", "br, gzip").await.expect(200);
        assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{path}");
        assert!(gzip.header("vary").is_some_and(|vary| vary.ends_with("Accept-Encoding")));
        assert!(gzip.body.len() < plain.body.len() / 2);
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(gzip.body.as_slice()).read_to_end(&mut back).expect("gzip");
        assert_eq!(server.names.received(&back, path), plain.body, "{path}");
    }
    let small = server.get("Composition/9").header("Accept-Encoding", "gzip").await.expect(404);
    assert!(small.header("content-encoding").is_none());
}

#[tokio::test]
async fn estonian_is_spoken_to_those_who_prefer_it() {
    let server = one().await;
    let told = server.delete("Composition/1").header("Accept-Language", "et-EE, en;q=0.8").await;
    insta::assert_snapshot!(told);
    let told = server.get("Composition/9").header("Accept-Language", "en, et;q=0.8").await;
    assert_eq!(told.said(), "Composition/9 does not exist");
    let told = server.get("Composition/9").header("Accept-Language", "et").await;
    assert_eq!(told.said(), "Ressurssi Composition/9 ei ole olemas");
}

#[tokio::test]
async fn every_answer_carries_an_id_of_its_request() {
    let server = one().await;
    let told = server.get("Composition/1").await;
    assert_eq!(told.header("x-request-id"), Some("request-1"));
    for unusable in ["with blank", &"x".repeat(129), ""] {
        let told = server.get("Composition/1").request_id(unusable).await.expect(200);
        let made = told.header("x-request-id").expect("one was made");
        assert!(uuid::Uuid::parse_str(made).is_ok(), "{made}");
    }
}
