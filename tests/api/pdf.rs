//! Certificates in print: who gets them, in which form, and what lies in them. Contract 8.8.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hyper::HeaderMap;
use serde_json::{Value, json};

use crate::body::Body;
use crate::server::{Asked, Server};

const PATIENT: &str = "39406240015";
const AUTHOR: &str = "49403136515";

/// All streams of a file, unpacked.
fn streams(file: &[u8]) -> Vec<Vec<u8>> {
    let text = file.windows(9).enumerate().filter(|(_, window)| *window == b"endstream");
    let ends: Vec<usize> = text.map(|(at, _)| at).collect();
    let mut found = Vec::new();
    for end in ends {
        let before = &file[..end];
        let Some(start) = before.windows(7).rposition(|window| window == b"stream\n") else { continue };
        let packed = &before[start + 7..];
        let mut plain = Vec::new();
        match ZlibDecoder::new(packed).read_to_end(&mut plain) {
            Ok(_) => found.push(plain),
            Err(_) => found.push(packed.to_vec()),
        }
    }
    found
}

/// The certificate that lies in a file, with the names of the tests.
fn attached(server: &Server, file: &[u8]) -> Vec<u8> {
    let is_resource = |stream: &Vec<u8>| stream.starts_with(b"{\"resourceType\":\"Composition\"");
    let found = streams(file).into_iter().find(is_resource).expect("a certificate is attached");
    server.names.received(&found, "the attached certificate")
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

async fn file(asked: Asked<'_>) -> (HeaderMap, Vec<u8>) {
    let (status, mut headers, body) = asked.raw().await;
    // They are others each time.
    headers.remove("server-timing");
    headers.remove("x-request-id");
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert_eq!(header(&headers, "content-type"), "application/pdf");
    assert!(body.starts_with(b"%PDF-1.7"));
    (headers, body)
}

fn role(name: &str) -> Vec<u8> {
    let role = json!([{"name": "role", "valueString": name}]);
    json!({"resourceType": "Parameters", "parameter": role}).to_string().into_bytes()
}

#[tokio::test]
async fn a_certificate_comes_as_a_file_or_in_a_binary() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let path = format!("{done}/$pdf?role=doctor");
    let (headers, body) = file(server.get(&path)).await;
    assert_eq!(header(&headers, "content-disposition"), "inline; filename=\"TT-2025-000202.pdf\"");
    assert!(header(&headers, "x-hcert-entry").starts_with("changes/1:"));
    assert!(headers.contains_key("last-modified"));
    assert_eq!(attached(&server, &body), server.raw("GET", &done).await.2);
    // The same by POST, by version, and again; whatever Accept leaves open.
    for asked in [
        server.get(&path).header("Accept", "*/*"),
        server.get(&path).header("Accept", "text/html, */*;q=0.8").header("Accept-Encoding", "gzip"),
        server.get(&format!("{done}/_history/1/$pdf?role=doctor&_pretty=true")),
        server.post(&format!("{done}/$pdf"), role("doctor")).header("Accept", "application/pdf"),
        server.post(&format!("{done}/_history/1/$pdf"), role("doctor")),
    ] {
        assert_eq!(file(asked).await, (headers.clone(), body.clone()));
    }
    let (english, other) = file(server.get(&path).header("Accept-Language", "en")).await;
    assert_ne!(header(&english, "etag"), header(&headers, "etag"));
    assert_ne!(other, body);
    for asked in [
        server.get(&path).header("Accept", "application/fhir+json"),
        server.get(&format!("{path}&_format=json")),
        server.post(&format!("{done}/$pdf"), role("doctor")).header("Accept", "application/json"),
    ] {
        let told = asked.await.expect(200);
        let binary = told.json();
        assert_eq!((&binary["resourceType"], &binary["contentType"]), (&json!("Binary"), &json!("application/pdf")));
        assert_eq!(binary["data"], base64(&body));
        assert_eq!(told.header("etag"), Some(&*format!("W/{}", header(&headers, "etag"))));
        assert_eq!(told.header("content-disposition"), None);
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::prelude::{BASE64_STANDARD, Engine};
    BASE64_STANDARD.encode(bytes)
}

#[tokio::test]
async fn who_has_the_document_is_not_sent_it_again() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let path = format!("{done}/$pdf?role=doctor");
    let (headers, body) = file(server.get(&path)).await;
    let tag = header(&headers, "etag");
    for known in [tag.to_owned(), format!("\"x\", W/{tag}"), "*".to_owned()] {
        let told = server.get(&path).header("If-None-Match", &known).await.expect(304);
        assert_eq!(told.header("etag"), Some(tag));
    }
    let modified = header(&headers, "last-modified");
    server.get(&path).header("If-Modified-Since", modified).await.expect(304);
    // A tag of the version is none of the document, and a role has documents of its own.
    file(server.get(&path).header("If-None-Match", "W/\"1\"")).await;
    file(server.get(&format!("{done}/$pdf?role=patient")).header("If-None-Match", tag)).await;
    file(server.post(&format!("{done}/$pdf"), role("doctor")).header("If-None-Match", tag)).await;
    let (status, of_head, nothing) = server.head(&path).raw().await;
    assert_eq!((status, nothing.len()), (200, 0));
    assert_eq!(header(&of_head, "content-length"), body.len().to_string());
    assert_eq!(header(&of_head, "etag"), tag);
    server.suspend(&done).await.expect(200);
    let (suspended, _) = file(server.get(&path).header("If-None-Match", tag)).await;
    assert_ne!(header(&suspended, "etag"), tag);
    server.get(&format!("{done}/_history/1/$pdf?role=doctor")).header("If-None-Match", tag).await.expect(304);
}

#[tokio::test]
async fn what_cannot_be_printed_says_why() {
    let server = Server::start().await;
    let (done, gone) = (server.create(Body::completed()).await, server.create(Body::draft()).await);
    file(server.get(&format!("{gone}/$pdf?role=doctor"))).await;
    server.delete(&gone).await.expect(204);
    server.get(&format!("{done}/$pdf")).await.refused(400, &["HCERT-171"]);
    server.get(&format!("{done}/$pdf?role=")).await.refused(400, &["HCERT-172"]);
    server.get(&format!("{done}/$pdf?role=doctor&role=nurse")).await.refused(400, &["HCERT-209"]);
    server.post(&format!("{done}/$pdf?role=doctor"), role("doctor")).await.refused(400, &["HCERT-209"]);
    server.get(&format!("{done}/$pdf?role=doctor&roll=nurse")).await.refused(400, &["HCERT-170"]);
    server.post(&format!("{done}/$pdf"), Body::draft()).await.refused(400, &["HCERT-106"]);
    let told = server.get(&format!("{done}/$pdf?role=king")).await.refused(400, &["HCERT-172"]);
    assert!(told.text().contains("clinical-psychologist, consent-representative,"), "{told}");
    server.get(&format!("{done}/$pdf?role=receptionist")).await.refused(403, &["HCERT-178"]);
    server.get("Composition/99/$pdf?role=doctor").await.refused(404, &["HCERT-127"]);
    server.get(&format!("{done}/_history/9/$pdf?role=doctor")).await.refused(404, &["HCERT-128"]);
    server.get(&format!("{gone}/$pdf?role=doctor")).await.refused(410, &["HCERT-135"]);
    file(server.get(&format!("{gone}/_history/1/$pdf?role=doctor"))).await;
    server.get(&format!("{done}/$pdf?role=doctor")).header("Accept", "image/png").await.refused(406, &["HCERT-131"]);
    server.get(&done).header("Accept", "application/pdf").await.refused(406, &["HCERT-131"]);
    let nurse = server.token("nurse", json!({})).await;
    let path = format!("{done}/$pdf?role=doctor");
    server.get(&path).header("Authorization", &nurse).await.refused(403, &["HCERT-178"]);
    let fault = server.get(&path).header("x-hcert-fault", "MPI-001").await;
    assert_eq!(fault.status, 503, "{fault}");
}

/// Each role in each state and each consent: the document is there where a read is, and has attached what the read shows.
#[tokio::test]
async fn a_document_shows_what_a_read_in_its_role_shows() {
    let server = Server::start().await;
    let roles: Value = serde_json::from_str(include_str!("../../data/permissions.json")).unwrap();
    let groups = roles["groups"].as_object().unwrap().values();
    let mut roles: Vec<&str> = groups.flat_map(|group| group.as_array().unwrap()).filter_map(Value::as_str).collect();
    roles.dedup();
    assert_eq!(roles.len(), 16);
    let mut certificates = Vec::new();
    let occupational = || Body::example("occupational-final").with("/status", json!("final"));
    for (at, body) in [Body::draft(), Body::completed(), Body::completed(), Body::completed()].into_iter().enumerate() {
        let id = server.create(body).await;
        if at == 2 {
            server.suspend(&id).await.expect(200);
        }
        if at == 3 {
            server.cancel(&id).await.expect(200);
        }
        certificates.push(id);
    }
    certificates.push(server.create(occupational()).await);
    let (mut shown, mut refused) = (0, 0);
    for closed in [None, Some("doctor"), Some("representative")] {
        for id in &certificates {
            if let Some(name) = closed {
                for (of, access) in [("doctor", "open"), ("representative", "open"), (name, "closed")] {
                    let said =
                        json!({"resourceType": "Parameters", "parameter": [{"name": of, "valueString": access}]});
                    server.post(&format!("{id}/$set-consent"), said.to_string()).await.expect(200);
                }
            }
        }
        for role in &roles {
            let person = if role.starts_with("patient") { PATIENT } else { "37605030299" };
            let more = json!({"patient": {"personalCode": PATIENT}, "representedParty": "16978044"});
            let token = server.token_of(person, role, more).await;
            for id in &certificates {
                let read = server.get(id).header("Authorization", &token).raw().await;
                let path = format!("{id}/$pdf?role={role}");
                let printed = server.get(&path).header("Authorization", &token).raw().await;
                assert_eq!(printed.0, read.0, "{path} {closed:?}");
                if read.0 == 200 {
                    shown += 1;
                    assert_eq!(attached(&server, &printed.2), read.2, "{path} {closed:?}");
                } else {
                    refused += 1;
                    let code = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["issue"][0]["code"].clone();
                    assert_eq!(code(&printed.2), code(&read.2), "{path} {closed:?}");
                }
            }
        }
    }
    assert!(shown > 60 && refused > 60, "{shown} shown, {refused} refused");
}

#[tokio::test]
async fn of_several_roles_of_a_token_the_one_that_is_asked_for_counts() {
    let server = Server::start().await;
    let certificate = server.create(Body::example("occupational-final")).await;
    let both = json!({"roles": ["doctor", "gov-official"]});
    let token = server.token_of(AUTHOR, "doctor", both).await;
    let advice = b"employee-suggestions";
    let holds = |file: &[u8]| streams(file).iter().any(|stream| stream.windows(advice.len()).any(|at| at == advice));
    let as_doctor = server.get(&format!("{certificate}/$pdf?role=doctor")).header("Authorization", &token);
    assert!(holds(&file(as_doctor).await.1));
    for (role, is_shown) in [("doctor", true), ("gov-official", false), ("org-legal-representative", false)] {
        // Without a token each role shows as much as with one.
        assert_eq!(holds(&file(server.get(&format!("{certificate}/$pdf?role={role}"))).await.1), is_shown, "{role}");
    }
}

#[tokio::test]
async fn the_trail_tells_who_had_what_printed_in_which_role() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let doctor = server.token_of(AUTHOR, "doctor", json!({})).await;
    let printed = server.post(&format!("{done}/$pdf"), role("doctor")).header("Authorization", &doctor);
    let tag = header(&file(printed).await.0, "etag").to_owned();
    let again = server.get(&format!("{done}/$pdf?role=doctor")).header("Authorization", &doctor);
    again.header("If-None-Match", &tag).await.expect(304);
    server.get(&format!("{done}/$pdf?role=nurse")).header("Authorization", &doctor).await.refused(403, &["HCERT-178"]);
    let events: Vec<_> = server.events().into_iter().filter(|event| event.action.name() == "composition.pdf").collect();
    assert_eq!(events.iter().map(|event| event.status).collect::<Vec<_>>(), [200, 304, 403]);
    for event in &events[..2] {
        assert_eq!(event.who.roles, ["doctor"]);
        assert_eq!(
            event.entities.iter().map(|(id, version)| (id.get(), version.map(|it| it.get()))).collect::<Vec<_>>(),
            [(1, Some(1))]
        );
        assert!(server.concerns(event, PATIENT), "{event:?}");
    }
}

/// What nobody would write, and somebody may: none of it may cost a certificate its document.
#[tokio::test]
async fn any_text_that_a_certificate_may_hold_is_printed() {
    let server = Server::start().await;
    let long = "väga pikk põhjendus ".repeat(500);
    for text in [
        "😀 漢字 שלום عربي",
        "e\u{301}o\u{303} z\u{30c} a\u{310}\u{323}\u{301}",
        "\u{202e}tagurpidi\u{2066} \u{200f}x\u{200b}y",
        "sõna".repeat(2_500).as_str(),
        long.as_str(),
        "Жаннa Бычкова, № 7 – „jutumärgid” €",
    ] {
        let body = Body::completed().with("/title", json!(text.chars().take(200).collect::<String>()));
        let id = server.create(body).await;
        server.post(&format!("{id}/$suspend"), Body::reason(text)).await.expect(200);
        for language in ["et", "en"] {
            let printed = server.get(&format!("{id}/$pdf?role=doctor")).header("Accept-Language", language);
            file(printed).await;
        }
    }
}
