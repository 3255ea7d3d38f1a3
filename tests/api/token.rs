//! Who is let in: tokens of an issuer, tokens of the developer's service, and none. Contract 7.1, 7.2.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hcert::config::{AccessMode, Config};
use serde_json::{Value, json};

use crate::body::Body;
use crate::response::TestResponse;
use crate::server::{START, Server};

pub(crate) const ISSUER: &str = "https://issuer.example.ee";

/// [`START`] in seconds.
pub(crate) const NOW: i64 = 1_736_748_000;

static KEY: LazyLock<RsaKeyPair> = LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).expect("a key"));

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn claims() -> Value {
    json!({"iss": ISSUER, "aud": "hcert", "iat": NOW, "exp": NOW + 3600, "sub": "EE37605030299", "role": "doctor"})
}

/// A header with a token of the issuer.
pub(crate) fn signed(claims: &Value) -> String {
    let signed = format!("{}.{}", encode(r#"{"alg":"RS256","kid":"k"}"#), encode(claims.to_string()));
    let mut signature = vec![0; KEY.public_modulus_len()];
    KEY.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).expect("a signature");
    format!("Bearer {signed}.{}", encode(signature))
}

/// A server that lets in whoever has a token of the issuer.
async fn strict() -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    let path = keys_file(folder.path());
    Server::with(START, |config| of_issuer(config, path)).await
}

/// Writes the issuer's keys into a folder.
pub(crate) fn keys_file(folder: &Path) -> PathBuf {
    let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(KEY.public_key());
    let set = json!({"keys": [{"kty": "RSA", "kid": "k", "n": encode(n), "e": encode(e)}]});
    let path = folder.join("keys.json");
    std::fs::write(&path, set.to_string()).expect("a file");
    path
}

/// Settings that let in whoever has a token of the issuer.
pub(crate) fn of_issuer(config: &mut Config, keys: PathBuf) {
    config.access.mode = AccessMode::Jwt;
    config.access.author_must_be_caller = Some(false);
    config.registry.samples = Some(true);
    config.access.token.jwks = Some(keys.display().to_string());
    config.access.token.issuer = Some(ISSUER.to_owned());
    config.access.token.audience = Some("hcert".to_owned());
    // Tests set the clock days ahead, and the keys of the file are those of the start.
    config.access.token.jwks_age_max_s = 30 * 86_400;
}

/// 401 with its challenge, which tells why a token is refused.
#[track_caller]
fn unauthorized(told: TestResponse, problem: Option<&str>) {
    let challenge = told.header("www-authenticate").expect("a challenge").to_owned();
    match problem {
        None => {
            assert_eq!(challenge, "Bearer realm=\"hcert\"");
            told.refused(401, &["HCERT-176"]);
        }
        Some(problem) => {
            let words = format!("The access token is refused: {problem}");
            let expected = format!("Bearer realm=\"hcert\", error=\"invalid_token\", error_description=\"{words}\"");
            assert_eq!(challenge, expected);
            assert_eq!(told.said(), words);
            told.refused(401, &["HCERT-177"]);
        }
    }
}

/// A token of the developer's service, as a header.
async fn ordered(server: &Server, body: &str) -> String {
    let told = server.ask("POST", "/auth/v2/token").body_as(Some("application/json"), body).await.expect(200);
    format!("Bearer {}", told.json()["accessToken"].as_str().expect("a token"))
}

#[tokio::test]
async fn nobody_is_let_in_without_a_token_of_the_issuer() {
    let server = strict().await;
    for path in ["Composition", "Composition/1", "Patient", "CodeSystem", "nothing", "/", "/elsewhere"] {
        unauthorized(server.get(path).await, None);
    }
    unauthorized(server.post("Composition", Body::draft()).await, None);
    unauthorized(server.ask("PATCH", "Composition/1").await, None);
    unauthorized(server.search_by_form("status=final").await, None);
    server.get("metadata").await.expect(200);
    server.ask("OPTIONS", "Composition").await.expect(204);
}

/// What was seen: an old version of a closed certificate was shown, which one role reached, because the other one reached the current version.
#[tokio::test]
async fn two_roles_in_a_token_show_no_version_that_neither_of_them_shows() {
    let server = strict().await;
    let of = |person: &str, role: Value| {
        let mut claims = claims();
        (claims["sub"], claims["role"]) = (person.into(), role);
        signed(&claims)
    };
    let author = of("EE49403136515", json!("doctor"));
    server.post("Composition", Body::draft()).header("Authorization", &author).await.expect(201);
    server.put("Composition/1", Body::completed()).header("Authorization", &author).await.expect(200);
    let closed = json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]});
    let patient = signed(&{
        let mut claims = claims();
        (claims["sub"], claims["role"], claims["patient"]) =
            ("EE39406240015".into(), "patient".into(), "39406240015".into());
        claims
    });
    let set = server.post("Composition/1/$set-consent", closed.to_string().into_bytes());
    set.header("Authorization", &patient).await.expect(200);
    let draft = "Composition/1/_history/1";
    server.get(draft).header("Authorization", &author).await.expect(200);
    for (roles, current) in [
        (json!("nurse"), 403),
        (json!("gov-official"), 200),
        (json!(["nurse", "gov-official"]), 200),
        (json!(["gov-official", "nurse"]), 200),
    ] {
        let token = of("EE37605030299", roles);
        server.get("Composition/1").header("Authorization", &token).await.expect(current);
        server.get("Composition/1/_history/2").header("Authorization", &token).await.expect(current);
        server.get(draft).header("Authorization", &token).await.refused(403, &["HCERT-179"]);
    }
}

/// What was seen: a create with a condition did not meet the certificate that the caller may read as its patient, and made it twice.
#[tokio::test]
async fn a_conditional_create_meets_what_any_role_of_its_caller_reads() {
    let server = strict().await;
    let of = |roles: Value| {
        let mut claims = claims();
        (claims["sub"], claims["patient"], claims["role"]) = ("EE39406240015".into(), "39406240015".into(), roles);
        signed(&claims)
    };
    let certificate = Body::completed().number("N-1");
    server.post("Composition", certificate.clone()).header("Authorization", signed(&claims())).await.expect(201);
    let closed = json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]});
    let set = server.post("Composition/1/$set-consent", closed.to_string().into_bytes());
    set.header("Authorization", of(json!("patient"))).await.expect(200);
    let system = certificate.json()["identifier"][0]["system"].as_str().expect("a system").to_owned();
    for (roles, status) in [(json!(["doctor", "patient"]), 200), (json!("doctor"), 201)] {
        let asked =
            server.post("Composition", certificate.clone()).header("If-None-Exist", format!("identifier={system}|N-1"));
        asked.header("Authorization", of(roles)).await.expect(status);
    }
}

/// What was seen: requests without a token that named a thousand certificates each made searches of the trail slow for good.
#[tokio::test]
async fn who_has_no_token_adds_few_names_to_the_trail() {
    let server = strict().await;
    let ids: Vec<String> = (1..=1_000).map(|id| id.to_string()).collect();
    let asked = || server.get(&format!("Composition?_id={}", ids.join(",")));
    for asked in [asked(), asked().header("Authorization", "Bearer x.y.z")] {
        asked.await.expect(401);
        let event = server.events().pop().expect("an event");
        assert!((1..=16).contains(&event.absent.len()) && event.entities.is_empty(), "{}", event.absent.len());
    }
}

#[tokio::test]
async fn whoever_has_a_token_is_let_in_until_it_ends() {
    let server = strict().await;
    let token = signed(&claims());
    let created = server.post("Composition", Body::draft()).header("Authorization", &token).await.expect(201);
    assert!(created.header("location").is_some());
    for _ in 0..3 {
        server.get("Composition/1").header("Authorization", &token).await.expect(200);
    }
    server.get("nothing").header("Authorization", &token).await.refused(404, &["HCERT-126"]);
    server.set_clock("2025-01-13T09:00:31+02:00");
    unauthorized(server.get("Composition/1").header("Authorization", &token).await, Some("it has expired"));
}

#[tokio::test]
async fn a_refused_token_is_told_why_in_words_that_help_its_owner() {
    let server = strict().await;
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        signed(&claims)
    };
    let right = signed(&claims());
    let tampered = right.replacen("eyJ", "eyI", 2);
    for (header, problem, reason) in [
        (with("exp", json!(NOW - 60)), "it has expired", "expired"),
        (with("nbf", json!(NOW + 60)), "it is not valid yet", "not-yet-valid"),
        (with("exp", json!(NOW + 1_000_000)), "it lives longer than is accepted", "lifetime"),
        (with("iss", json!("https://other.example.ee")), "its issuer is not accepted", "issuer"),
        (with("aud", json!("other")), "it is for another audience", "audience"),
        (with("sub", json!(null)), "it lacks the claim sub", "claim-missing"),
        (with("sub", json!("x")), "it has a wrong claim sub", "claim-wrong"),
        (with("given_name", json!("Mari\u{202e}iraM")), "it has a wrong claim given_name", "claim-wrong"),
        (
            format!("Bearer {}.{}.", encode(r#"{"alg":"none"}"#), encode("{}")),
            "its algorithm is not accepted",
            "algorithm",
        ),
        (tampered, "it is not well-formed", "malformed"),
        (format!("{right}AA"), "its signature does not fit", "signature"),
        ("Bearer x".to_owned(), "it is not well-formed", "malformed"),
        ("Bearer a.b.c.d.e".to_owned(), "it is not well-formed", "malformed"),
        (format!("Bearer {}", "a".repeat(20_000)), "it is too long", "too-long"),
        ("Bearer".to_owned(), "Authorization must be Bearer and one token", "scheme"),
        ("Basic YTpi".to_owned(), "Authorization must be Bearer and one token", "scheme"),
    ] {
        unauthorized(server.get("Composition/1").header("Authorization", &header).await, Some(problem));
        let event = server.events().pop().expect("an event");
        assert_eq!((event.action.name(), event.reason.as_deref()), ("token.refused", Some(reason)));
    }
    let twice = server.get("Composition/1").header("Authorization", &right).header("Authorization", &right).await;
    unauthorized(twice, Some("exactly one header Authorization may be there"));
    let estonian =
        server.get("Composition/1").header("Authorization", "Bearer x").header("Accept-Language", "et").await;
    assert_eq!(estonian.said(), "Juurdepääsutõend lükati tagasi: see ei ole korrektse kujuga");
}

#[tokio::test]
async fn a_token_of_the_developers_service_says_who_calls() {
    let server = Server::start().await;
    let body = "{ // who\r\n\"user\": {\"personalCode\": \"37605030299\"}, // a doctor\r\n\
        \"organization\": \"90006399\", \"role\": \"doctor\", \"application\": \"clinic\" }";
    let told = server.ask("POST", "/auth/v2/token").body_as(Some("application/json; charset=UTF-8"), body).await;
    let told = told.expect(200);
    assert_eq!(told.header("content-type"), Some("application/json; charset=utf-8"));
    let answer = told.json();
    assert_eq!((&answer["expiresIn"], &answer["tokenType"]), (&json!(300), &json!("Bearer")));
    assert_eq!(answer.as_object().expect("an object").len(), 3);
    let token = format!("Bearer {}", answer["accessToken"].as_str().expect("a token"));
    server.post("Composition", Body::draft()).header("Authorization", &token).await.expect(201);
    server.get("Composition/1").header("Authorization", &token).await.expect(200);
    server.get("Composition/1").await.expect(200);
    server.set_clock("2025-01-13T08:06:00+02:00");
    unauthorized(server.get("Composition/1").header("Authorization", &token).await, Some("it has expired"));
    unauthorized(server.get("nothing").header("Authorization", "Bearer x").await, Some("it is not well-formed"));
    server.get("nothing").await.expect(404);
}

#[tokio::test]
async fn the_key_of_the_developers_service_is_published() {
    let server = Server::start().await;
    let token = ordered(&server, r#"{"user": {"personalCode": "37605030299"}, "role": "patient"}"#).await;
    let set = server.get("/.well-known/jwks.json").await.expect(200).json();
    let key = set["keys"][0].as_object().expect("a key");
    assert_eq!(key.keys().map(String::as_str).collect::<Vec<_>>(), ["alg", "e", "kid", "kty", "n", "use"]);
    let part = |at: usize| -> Value {
        let part = token["Bearer ".len()..].split('.').nth(at).expect("three parts");
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64url")).expect("JSON")
    };
    assert_eq!((&part(0)["kid"], &part(0)["alg"]), (&key["kid"], &json!("RS256")));
    let claims = part(1);
    assert_eq!((&claims["sub"], &claims["patient"]), (&json!("EE37605030299"), &json!("37605030299")));
    let issuer = server.names.received_text(claims["iss"].as_str().expect("an issuer"));
    assert_eq!((issuer.as_str(), &claims["aud"]), ("http://127.0.0.1:8080/fhir", &json!("hcert")));
    server.head("/.well-known/jwks.json").await.expect(200);
}

#[tokio::test]
async fn a_wrong_order_is_told_what_is_wrong_in_plain_json() {
    let server = Server::start().await;
    let json = Some("application/json");
    let order = |media_type, body: String| server.ask("POST", "/auth/v2/token").body_as(media_type, body);
    let right = r#"{"user": {"personalCode": "37605030299"}, "role": "doctor"}"#;
    for (told, status, words) in [
        (order(json, String::new()).await, 400, "JSON object"),
        (order(json, right.replace("299", "298")).await, 400, "user.personalCode must be"),
        (order(json, right.replace("doctor", "")).await, 400, "role must be"),
        (order(json, right.replace("doctor", "legal-representative")).await, 400, "patient.personalCode must be"),
        (order(json, right.replace("doctor", "org-legal-representative")).await, 400, "representedParty must be"),
        (order(json, " ".repeat(16 * 1024 + 1)).await, 413, "16384"),
        (order(Some("text/plain"), right.to_owned()).await, 415, "application/json"),
        (order(Some("application/json; charset=latin1"), right.to_owned()).await, 415, "application/json"),
        (order(json, right.to_owned()).header("Content-Encoding", "gzip").await, 415, "Content-Encoding"),
        (server.get("/auth/v2/token").await, 405, "POST, OPTIONS"),
    ] {
        let answer = told.json();
        assert_eq!((told.status.as_u16(), &answer["error"]), (status, &json!("invalid_request")), "{told}");
        assert!(answer["error_description"].as_str().expect("words").contains(words), "{told}");
        assert!(!told.text().contains("37605030"), "{told}");
    }
    assert_eq!(server.get("/auth/v2/token").await.header("allow"), Some("POST, OPTIONS"));
    assert_eq!(server.ask("OPTIONS", "/auth/v2/token").await.expect(204).header("allow"), Some("POST, OPTIONS"));
    assert_eq!(server.delete("/.well-known/jwks.json").await.expect(405).header("allow"), Some("GET, HEAD, OPTIONS"));
    order(None, right.to_owned()).await.expect(200);
}

#[tokio::test]
async fn where_an_issuer_is_asked_for_the_developers_service_is_not_there() {
    let server = strict().await;
    let right = r#"{"user": {"personalCode": "37605030299"}, "role": "doctor"}"#;
    let told = server.ask("POST", "/auth/v2/token").body_as(Some("application/json"), right).await;
    told.refused(404, &["HCERT-126"]);
    server.get("/.well-known/jwks.json").await.refused(404, &["HCERT-126"]);
    let developer = Server::start().await;
    let token = ordered(&developer, right).await;
    unauthorized(server.get("Composition/1").header("Authorization", &token).await, Some("its key is not known"));
}
