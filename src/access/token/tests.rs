//! Tokens as attackers and clocks bend them; keys as issuers change them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::Algorithm;

const ISSUER: &str = "https://issuer.example.ee";
const NOW: i64 = 1_736_755_200;

static RSA: LazyLock<RsaKeyPair> = LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
static OTHER_RSA: LazyLock<RsaKeyPair> = LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
static EC: LazyLock<EcdsaKeyPair> = LazyLock::new(|| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap());

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn rsa_jwk(kid: &str, pair: &RsaKeyPair) -> Value {
    let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
    json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": encode(n), "e": encode(e)})
}

fn ec_jwk(kid: &str) -> Value {
    let point = EC.public_key().as_ref();
    json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": encode(&point[1..33]), "y": encode(&point[33..])})
}

fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

fn sign_rsa(pair: &RsaKeyPair, signed: &str) -> Vec<u8> {
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    signature
}

/// A token of parts as they are, signed with the RSA key.
fn raw(header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    format!("{signed}.{}", encode(sign_rsa(&RSA, &signed)))
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": "hcert", "exp": NOW + 300, "iat": NOW, "nbf": NOW,
        "sub": "EE37605030299", "role": "doctor", "organization": "90006399",
    })
}

/// The usual token with other claims; null takes one out.
fn with(changes: Value) -> String {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    raw(r#"{"alg":"RS256","kid":"a"}"#, &claims.to_string())
}

/// The usual claims under another header.
fn under(header: &str) -> String {
    raw(header, &claims().to_string())
}

struct Fixture {
    tokens: Tokens,
    clock: Arc<AtomicI64>,
    folder: TempDir,
}

impl Fixture {
    fn with(keys: &str, change: impl FnOnce(&mut Config)) -> Fixture {
        Fixture::asking(keys, Duration::ZERO, change)
    }

    /// A fixture that asks for keys again after `pause` at the soonest.
    fn asking(keys: &str, pause: Duration, change: impl FnOnce(&mut Config)) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        fs::write(&path, keys).unwrap();
        let mut config = Config::default();
        config.access.mode = AccessMode::Jwt;
        config.access.token.jwks = Some(path.display().to_string());
        config.access.token.issuer = Some(ISSUER.to_owned());
        config.access.token.audience = Some("hcert".to_owned());
        change(&mut config);
        let clock = Arc::new(AtomicI64::new(NOW * 1000));
        let reading = clock.clone();
        let reading: TokenClock = Arc::new(move || reading.load(Ordering::SeqCst));
        Fixture { tokens: Tokens::asking(&config, folder.path(), reading, pause).unwrap(), clock, folder }
    }

    /// Takes tokens of the RSA key "a" and the EC key "e".
    fn new() -> Fixture {
        Fixture::with(&set(&[rsa_jwk("a", &RSA), ec_jwk("e")]), |_| ())
    }

    fn keys(&self) -> PathBuf {
        self.folder.path().join("keys.json")
    }

    fn set_clock(&self, now: i64) {
        self.clock.store(now * 1000, Ordering::SeqCst);
    }

    async fn ask(&self, token: &str) -> Result<Arc<Identity>, RefusedToken> {
        self.tokens.identify(&format!("Bearer {token}")).await
    }

    async fn refusal(&self, token: &str) -> RefusedToken {
        let refused = self.ask(token).await.expect_err("a token that is refused");
        assert!(!refused.to_string().contains(&token[..token.len().min(40)]) || token.is_empty());
        assert_eq!(self.tokens.known(&format!("Bearer {token}")), None);
        refused
    }
}

#[tokio::test]
async fn a_right_token_says_who_calls() {
    let fixture = Fixture::new();
    let more = json!({"given_name": "Mari", "family_name": "Maasikas", "role": ["doctor", "nurse"], "patient": "39406240015",
        "organization": 90006399, "representedParty": "16978044", "application": "clinic", "azp": {"x": [null]}});
    let identity = fixture.ask(&with(more)).await.unwrap();
    assert_eq!((identity.person.as_str(), identity.patient.as_deref()), ("37605030299", Some("39406240015")));
    assert_eq!(identity.roles, ["doctor", "nurse"]);
    assert_eq!(identity.organization.as_deref(), Some("90006399"));
    assert_eq!((identity.given_name.as_deref(), identity.family_name.as_deref()), (Some("Mari"), Some("Maasikas")));
    assert_eq!(identity.represented_party.as_deref(), Some("16978044"));
    assert_eq!((identity.application.as_deref(), identity.expires), (Some("clinic"), NOW + 300));
    assert_eq!(identity.session.len(), 16);
}

#[tokio::test]
async fn both_algorithms_are_taken_and_a_token_without_kid_fits_the_only_key() {
    let fixture = Fixture::new();
    let signed = format!("{}.{}", encode(r#"{"alg":"ES256","typ":"at+jwt"}"#), encode(claims().to_string()));
    let signature = EC.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    let session = fixture.ask(&format!("{signed}.{}", encode(signature))).await.unwrap().session.clone();
    // Each signature by ES256 is another one, and from one that is known a second can be made.
    let again = EC.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    assert_ne!(again.as_ref(), signature.as_ref());
    assert_eq!(fixture.ask(&format!("{signed}.{}", encode(again))).await.unwrap().session, session);
    assert!(fixture.ask(&under(r#"{"alg":"RS256"}"#)).await.is_ok());
    let two = Fixture::with(&set(&[rsa_jwk("a", &RSA), rsa_jwk("b", &OTHER_RSA)]), |_| ());
    assert_eq!(two.refusal(&under(r#"{"alg":"RS256"}"#)).await, RefusedToken::KeyUnknown);
    assert_eq!(two.refusal(&under(r#"{"alg":"RS256","kid":"b"}"#)).await, RefusedToken::Signature);
}

#[tokio::test]
async fn a_token_that_is_no_token_is_refused() {
    let fixture = Fixture::new();
    let right = with(json!({}));
    let [header, body, signature] = right.split('.').collect::<Vec<_>>().try_into().unwrap();
    for token in [
        "x".to_owned(),
        ".".to_owned(),
        "..".to_owned(),
        format!("{header}.{body}"),
        format!("{header}.{body}."),
        format!(".{body}.{signature}"),
        format!("{header}..{signature}"),
        format!("{right}.{signature}"),
        format!("{header}.{body}.{signature}.a.b"),
        format!("{right}="),
        format!("{header}=.{body}.{signature}"),
        format!("{header}.{body}.{}", "+/".repeat(10)),
        format!("{header}.{}.{signature}", encode("{}x")),
        format!("{}.{body}.{signature}", encode("[1]")),
        format!("{}.{body}.{signature}", encode(b"\xff")),
        format!("{}.{body}.{signature}", encode("[".repeat(10_000))),
    ] {
        let refused = fixture.ask(&token).await.unwrap_err();
        assert!(matches!(refused, RefusedToken::Malformed | RefusedToken::Signature), "{token}: {refused}");
    }
    assert!(matches!(fixture.refusal(&format!("{header}.{body}.")).await, RefusedToken::Signature));
}

#[tokio::test]
async fn a_header_other_than_bearer_with_one_token_is_refused() {
    let fixture = Fixture::new();
    let right = with(json!({}));
    for header in ["", "Bearer", "Bearer ", "Basic YTpi", "Token x", "Bearer a b", "Bearer a,Bearer b", &right] {
        assert_eq!(fixture.tokens.identify(header).await, Err(RefusedToken::NotBearer), "{header}");
    }
    for header in [format!("bearer {right}"), format!("BEARER  {right} ")] {
        assert!(fixture.tokens.identify(&header).await.is_ok());
    }
}

#[tokio::test]
async fn a_token_may_have_16_kib_and_no_more() {
    let fixture = Fixture::new();
    let of_length = |length: usize| {
        let token = |fill: usize| with(json!({"x": "x".repeat(fill)}));
        let mut fill = length * 3 / 4 - 600;
        while token(fill).len() < length {
            fill += 1;
        }
        token(fill)
    };
    let longest = of_length(TOKEN_BYTES_MAX);
    if longest.len() == TOKEN_BYTES_MAX {
        assert!(fixture.ask(&longest).await.is_ok());
    }
    assert_eq!(fixture.refusal(&of_length(TOKEN_BYTES_MAX + 1)).await, RefusedToken::TooLong);
    assert_eq!(fixture.refusal(&"a".repeat(1 << 20)).await, RefusedToken::TooLong);
}

#[tokio::test]
async fn no_token_chooses_how_it_is_verified() {
    let fixture = Fixture::new();
    let body = claims().to_string();
    // No signature at all.
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let signed = format!("{}.{}", encode(format!(r#"{{"alg":"{alg}"}}"#)), encode(&body));
        assert_eq!(fixture.refusal(&format!("{signed}.")).await, RefusedToken::Algorithm, "{alg}");
    }
    // The public key as the secret of an HMAC, in each form an attacker has it.
    let jwk = rsa_jwk("a", &RSA).to_string();
    for secret in [jwk.as_bytes(), RSA.public_key().as_ref()] {
        let signed = format!("{}.{}", encode(r#"{"alg":"HS256","kid":"a"}"#), encode(&body));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        assert_eq!(fixture.refusal(&format!("{signed}.{}", encode(tag))).await, RefusedToken::Algorithm);
    }
    // A key of the other kind.
    assert_eq!(fixture.refusal(&under(r#"{"alg":"ES256","kid":"a"}"#)).await, RefusedToken::Algorithm);
    assert_eq!(fixture.refusal(&under(r#"{"alg":"RS256","kid":"e"}"#)).await, RefusedToken::Algorithm);
    // Other algorithms of the same key.
    for alg in ["RS384", "RS512", "PS256", "EdDSA", "rs256"] {
        assert_eq!(fixture.refusal(&under(&format!(r#"{{"alg":"{alg}","kid":"a"}}"#))).await, RefusedToken::Algorithm);
    }
    let signed = format!("{}.{}", encode(r#"{"alg":"RS256","kid":"a"}"#), encode(&body));
    let mut signature = vec![0; 256];
    RSA.sign(&RSA_PSS_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    assert_eq!(fixture.refusal(&format!("{signed}.{}", encode(signature))).await, RefusedToken::Signature);
    let narrow = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| {
        config.access.token.algorithms = vec![Algorithm::ES256];
    });
    assert_eq!(narrow.refusal(&with(json!({}))).await, RefusedToken::Algorithm);
}

#[tokio::test]
async fn keys_that_a_token_brings_along_do_not_count() {
    let fixture = Fixture::new();
    let jwk = rsa_jwk("b", &OTHER_RSA);
    for header in [
        json!({"alg": "RS256", "kid": "a", "jwk": jwk}),
        json!({"alg": "RS256", "kid": "a", "jku": "http://127.0.0.1:1/jwks"}),
        json!({"alg": "RS256", "kid": "a", "x5u": "http://127.0.0.1:1/x", "x5c": ["AAAA"]}),
    ] {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims().to_string()));
        let token = format!("{signed}.{}", encode(sign_rsa(&OTHER_RSA, &signed)));
        assert_eq!(fixture.refusal(&token).await, RefusedToken::Signature);
    }
    assert_eq!(fixture.refusal(&under(r#"{"alg":"RS256","kid":"../../etc/passwd"}"#)).await, RefusedToken::KeyUnknown);
}

#[tokio::test]
async fn headers_that_ask_for_more_are_refused() {
    let fixture = Fixture::new();
    for header in [
        r#"{"alg":"RS256","kid":"a","crit":["exp"],"exp":1}"#,
        r#"{"alg":"RS256","kid":"a","crit":[]}"#,
        r#"{"alg":"RS256","kid":"a","b64":false}"#,
        r#"{"alg":"RS256","kid":"a","b64":true}"#,
        r#"{"alg":"RS256","kid":"a","typ":"JWE"}"#,
        r#"{"alg":"RS256","kid":"a","typ":1}"#,
        r#"{"alg":"RS256","kid":1}"#,
        r#"{"alg":"RS256","kid":"a","kid":"a"}"#,
        r#"{"alg":"none","alg":"RS256","kid":"a"}"#,
        r#"{"alg":["RS256"],"kid":"a"}"#,
        r#"{"kid":"a"}"#,
        r#"{}"#,
    ] {
        assert_eq!(fixture.refusal(&under(header)).await, RefusedToken::Malformed, "{header}");
    }
    assert!(fixture.ask(&under(r#"{"alg":"RS256","kid":"a","typ":"JWT","cty":"x"}"#)).await.is_ok());
}

#[tokio::test]
async fn a_token_that_was_changed_is_refused() {
    let fixture = Fixture::new();
    let right = with(json!({}));
    let [header, _, signature] = right.split('.').collect::<Vec<_>>().try_into().unwrap();
    let other = claims().to_string().replace("doctor", "gov-official");
    assert_eq!(fixture.refusal(&format!("{header}.{}.{signature}", encode(other))).await, RefusedToken::Signature);
    for at in [right.len() - 100, header.len() + 20] {
        let mut bytes = right.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let token = String::from_utf8(bytes).unwrap();
        let refused = fixture.refusal(&token).await;
        assert!(matches!(refused, RefusedToken::Signature | RefusedToken::Malformed), "{refused}");
    }
    let signed = right.rsplit_once('.').unwrap().0;
    let foreign = format!("{signed}.{}", encode(sign_rsa(&OTHER_RSA, signed)));
    assert_eq!(fixture.refusal(&foreign).await, RefusedToken::Signature);
    assert_eq!(
        fixture.refusal(&format!("{signed}.{}", encode(&sign_rsa(&RSA, signed)[1..]))).await,
        RefusedToken::Signature
    );
}

#[tokio::test]
async fn claims_that_are_there_twice_are_refused() {
    let fixture = Fixture::new();
    let body = claims().to_string();
    for twice in [r#""role":"gov-official","#, r#""sub":"39406240015","#, r#""\u0073ub":"39406240015","#] {
        let body = body.replacen('{', &format!("{{{twice}"), 1);
        assert_eq!(
            fixture.refusal(&raw(r#"{"alg":"RS256","kid":"a"}"#, &body)).await,
            RefusedToken::Malformed,
            "{twice}"
        );
    }
    let nested = body.replacen('{', r#"{"x":{"y":1,"y":2},"#, 1);
    assert_eq!(fixture.refusal(&raw(r#"{"alg":"RS256","kid":"a"}"#, &nested)).await, RefusedToken::Malformed);
}

#[tokio::test]
async fn times_are_held_to_the_second_with_the_leeway() {
    let fixture = Fixture::new();
    let (leeway, life) = (30, 86_400);
    for (changes, refused) in [
        (json!({"exp": NOW - leeway, "iat": NOW - 60}), Some(RefusedToken::Expired)),
        (json!({"exp": NOW - leeway + 1}), None),
        (json!({"exp": 0}), Some(RefusedToken::Expired)),
        (json!({"nbf": NOW + leeway}), None),
        (json!({"nbf": NOW + leeway + 1}), Some(RefusedToken::NotYetValid)),
        (json!({"iat": NOW + leeway + 1}), Some(RefusedToken::NotYetValid)),
        (json!({"exp": NOW + life}), None),
        (json!({"exp": NOW + life + 1}), Some(RefusedToken::LivesTooLong)),
        (json!({"exp": NOW + life, "iat": NOW - 1}), Some(RefusedToken::LivesTooLong)),
        (json!({"exp": NOW + life + leeway + 1, "iat": null}), Some(RefusedToken::LivesTooLong)),
        (json!({"exp": 253_402_300_799_i64}), Some(RefusedToken::LivesTooLong)),
        (json!({"iat": null, "nbf": null}), None),
        (json!({"exp": NOW as f64 + 0.5}), None),
    ] {
        assert_eq!(fixture.ask(&with(changes.clone())).await.err(), refused, "{changes}");
    }
    for exp in [json!("1736755500"), json!(-1), json!(1e300), json!([]), json!(true), json!(253_402_300_800_i64)] {
        assert_eq!(fixture.refusal(&with(json!({ "exp": exp }))).await, RefusedToken::ClaimWrong("exp".to_owned()));
    }
    for name in ["nbf", "iat"] {
        assert_eq!(fixture.refusal(&with(json!({ name: "soon" }))).await, RefusedToken::ClaimWrong(name.to_owned()));
    }
    assert_eq!(fixture.refusal(&with(json!({"exp": null}))).await, RefusedToken::ClaimMissing("exp".to_owned()));
}

#[tokio::test]
async fn issuer_and_audience_have_to_be_ours() {
    let fixture = Fixture::new();
    for (changes, refused) in [
        (json!({"iss": "https://issuer.example.ee/"}), RefusedToken::Issuer),
        (json!({"iss": ""}), RefusedToken::Issuer),
        (json!({"iss": null}), RefusedToken::ClaimMissing("iss".to_owned())),
        (json!({"iss": [ISSUER]}), RefusedToken::ClaimWrong("iss".to_owned())),
        (json!({"aud": "other"}), RefusedToken::Audience),
        (json!({"aud": "hcert2"}), RefusedToken::Audience),
        (json!({"aud": []}), RefusedToken::Audience),
        (json!({"aud": ["other"]}), RefusedToken::Audience),
        (json!({"aud": null}), RefusedToken::ClaimMissing("aud".to_owned())),
        (json!({"aud": {"hcert": 1}}), RefusedToken::ClaimWrong("aud".to_owned())),
        (json!({"aud": [["hcert"]]}), RefusedToken::ClaimWrong("aud".to_owned())),
    ] {
        assert_eq!(fixture.refusal(&with(changes.clone())).await, refused, "{changes}");
    }
    assert!(fixture.ask(&with(json!({"aud": ["other", "hcert"]}))).await.is_ok());
}

#[tokio::test]
async fn a_token_has_to_name_a_person() {
    let fixture = Fixture::new();
    assert_eq!(fixture.refusal(&with(json!({"sub": null}))).await, RefusedToken::ClaimMissing("sub".to_owned()));
    for sub in
        [json!("Mari"), json!("EE"), json!("LV37605030299"), json!("3760503029"), json!({}), json!(["37605030299"])]
    {
        assert_eq!(fixture.refusal(&with(json!({ "sub": sub }))).await, RefusedToken::ClaimWrong("sub".to_owned()));
    }
    assert_eq!(fixture.refusal(&with(json!({"role": 1}))).await, RefusedToken::ClaimWrong("role".to_owned()));
    let roles = vec!["doctor"; crate::access::token::claims::TOKEN_VALUES_MAX + 1];
    assert_eq!(fixture.refusal(&with(json!({ "role": roles }))).await, RefusedToken::ClaimWrong("role".to_owned()));
    assert!(fixture.ask(&with(json!({"role": null}))).await.unwrap().roles.is_empty());
}

#[tokio::test]
async fn a_token_of_another_kind_lets_nobody_in() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |_| ());
    for claims in [
        json!({"nonce": "n"}),
        json!({"at_hash": "x"}),
        json!({"c_hash": "x"}),
        json!({"typ": "ID"}),
        json!({"typ": "id"}),
        json!({"typ": "Refresh"}),
        json!({"typ": ["ID"]}),
    ] {
        assert_eq!(fixture.ask(&with(claims.clone())).await.unwrap_err(), RefusedToken::IdToken, "{claims}");
    }
    fixture.ask(&with(json!({"typ": "Bearer", "nonce": null}))).await.unwrap();
}

#[tokio::test]
async fn the_list_of_denied_names_accepts_each_way_to_write_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("denied");
    for (written, sub) in [
        ("EE37605030299\r\n", "37605030299"),
        ("37605030299", "EE37605030299"),
        ("\u{feff}37605030299\n", "37605030299"),
        ("user#7\n", "37605030299"),
        ("\tuser#7 # left", "37605030299"),
    ] {
        fs::write(&list, written).unwrap();
        let fixture =
            Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| config.access.token.denied = Some(list.clone()));
        let token = with(json!({"jti": "user#7", "sub": sub}));
        assert_eq!(fixture.ask(&token).await.unwrap_err(), RefusedToken::Denied, "{written:?}");
    }
}

#[tokio::test]
async fn a_name_that_no_list_can_hold_and_a_claim_that_forges_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("denied");
    fs::write(&list, "5551212\n").unwrap();
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| config.access.token.denied = Some(list.clone()));
    assert_eq!(fixture.ask(&with(json!({"jti": 5_551_212}))).await.unwrap_err(), RefusedToken::Denied);
    for (name, value) in [
        ("jti", json!(true)),
        ("sub", json!(["37605030299"])),
        ("given_name", json!("Mal\u{1b}[2J")),
        ("role", json!("doctor\n2026-11-23 14:31:05")),
        ("application", json!("clinic\u{7}")),
    ] {
        let told = fixture.ask(&with(json!({ name: value }))).await.unwrap_err();
        assert_eq!(told, RefusedToken::ClaimWrong(name.to_owned()));
    }
}

/// What was seen: a code with a comma behind it was taken for an entry, and its token went on working.
#[tokio::test]
async fn a_line_of_the_denied_that_can_match_nothing_is_refused_and_lets_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("denied");
    let mut config = Config::default();
    config.access.token.denied = Some(list.clone());
    let wrong = [
        "ee37605030299",
        "eE37605030299",
        "\"37605030299\"",
        "'EE37605030299'",
        "37605030299,",
        "37605030299#left",
        "38001085718,37605030299",
        "37605030299, x",
        "37605030299 gone",
        "\"38001085718\",\"x\"",
        "\u{0}37605030299",
        "37605030299\r38001085718",
    ];
    for line in wrong {
        fs::write(&list, format!("# who left\n\n{line}\nother\n")).unwrap();
        let told = check(&config).unwrap_err();
        assert!(told.contains("line 3 ") && !told.contains("605030299"), "{line:?}: {told}");
    }
    fs::write(&list, "37605030299\n").unwrap();
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| config.access.token.denied = Some(list.clone()));
    fs::write(&list, "37605030299,\n38001085718\nsession#37605030299\n").unwrap();
    let denied = fixture.tokens.denied.clone().unwrap();
    denied.look();
    assert!(fixture.tokens.denied_problem().is_some_and(|told| told.contains("line 1 ")));
    for sub in ["37605030299", "38001085718"] {
        assert_eq!(fixture.ask(&with(json!({"sub": sub}))).await.unwrap_err(), RefusedToken::Denied, "{sub}");
    }
    fs::write(&list, "38001085718 # the comma is gone, and so is the line\n").unwrap();
    denied.look();
    assert_eq!(fixture.tokens.denied_problem(), None);
    fixture.ask(&with(json!({"sub": "37605030299"}))).await.unwrap();
}

#[tokio::test]
async fn whoever_is_denied_is_let_in_no_more_and_the_list_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("denied");
    fs::write(&list, "# nobody yet\n\n").unwrap();
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| config.access.token.denied = Some(list.clone()));
    let token = with(json!({"jti": "t-1"}));
    let known = |token: &str| fixture.tokens.known(&format!("Bearer {token}")).is_some();
    let session = fixture.ask(&token).await.unwrap().session.clone();
    for (number, name) in ["t-1", "EE37605030299", "37605030299", &session].into_iter().enumerate() {
        fixture.ask(&token).await.unwrap();
        assert!(known(&token));
        fs::write(&list, format!("other\n {name} # {}\n", "left".repeat(number + 1))).unwrap();
        let denied = fixture.tokens.denied.clone().unwrap();
        denied.look();
        assert!(!known(&token), "{name}: it is remembered");
        assert_eq!(fixture.ask(&token).await.unwrap_err(), RefusedToken::Denied, "{name}");
        fixture.ask(&with(json!({"jti": "t-2", "sub": "38001085718"}))).await.unwrap();
        fs::remove_file(&list).unwrap();
        denied.look();
        assert!(fixture.tokens.denied_problem().is_some());
        assert_eq!(fixture.ask(&token).await.unwrap_err(), RefusedToken::Denied, "{name}: the list known last counts");
        fs::write(&list, "other\n").unwrap();
        denied.look();
        assert_eq!(fixture.tokens.denied_problem(), None);
    }
    fs::remove_file(&list).unwrap();
    let mut config = Config::default();
    config.access.token.denied = Some(list);
    assert!(check(&config).unwrap_err().contains("access.token.denied"));
}

#[tokio::test]
async fn claims_are_found_by_the_names_of_the_settings() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| {
        config.access.token.claim_person = "user.personalCode".to_owned();
        config.access.token.claim_role = "realm_access.roles".to_owned();
        config.access.token.claim_organization = "https://example.ee/org".to_owned();
    });
    let identity = fixture
        .ask(&with(json!({"sub": "x", "user": {"personalCode": "37605030299"}, "realm_access": {"roles": ["nurse"]},
            "https://example.ee/org": "70009770"})))
        .await
        .unwrap();
    assert_eq!((identity.person.as_str(), identity.roles.as_slice()), ("37605030299", &["nurse".to_owned()][..]));
    assert_eq!(identity.organization.as_deref(), Some("70009770"));
    assert_eq!(fixture.refusal(&with(json!({}))).await, RefusedToken::ClaimMissing("user.personalCode".to_owned()));
}

#[tokio::test]
async fn a_verified_token_is_remembered_until_it_ends() {
    let fixture = Fixture::new();
    let token = with(json!({}));
    let header = format!("Bearer {token}");
    assert_eq!(fixture.tokens.known(&header), None);
    let identity = fixture.ask(&token).await.unwrap();
    assert!(Arc::ptr_eq(&fixture.tokens.known(&header).unwrap(), &identity));
    fixture.set_clock(NOW + 329);
    assert!(fixture.tokens.known(&header).is_some(), "within the leeway");
    fixture.set_clock(NOW + 330);
    assert_eq!(fixture.refusal(&token).await, RefusedToken::Expired);
}

#[tokio::test]
async fn new_keys_of_a_file_are_picked_up_and_tokens_of_old_ones_forgotten() {
    let fixture = Fixture::new();
    // What was seen: keys could be exchanged and put back, and nothing said so.
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let observed = told.clone();
    fixture.tokens.observe_keys(Box::new(move |keys| observed.lock().unwrap().push(keys.to_owned())));
    let old = with(json!({}));
    fixture.ask(&old).await.unwrap();
    let signed = format!("{}.{}", encode(r#"{"alg":"RS256","kid":"b"}"#), encode(claims().to_string()));
    let new = format!("{signed}.{}", encode(sign_rsa(&OTHER_RSA, &signed)));
    assert_eq!(fixture.refusal(&new).await, RefusedToken::KeyUnknown);
    // Half written: what is known stays.
    fs::write(fixture.keys(), "{\"keys\": [").unwrap();
    assert_eq!(fixture.refusal(&new).await, RefusedToken::KeyUnknown);
    assert!(fixture.tokens.known(&format!("Bearer {old}")).is_some());
    // Both at once, as an issuer changes them.
    fs::write(fixture.keys(), set(&[rsa_jwk("a", &RSA), rsa_jwk("b", &OTHER_RSA), ec_jwk("e")])).unwrap();
    fixture.ask(&new).await.unwrap();
    assert!(fixture.tokens.known(&format!("Bearer {old}")).is_some());
    // Then the old one alone goes away.
    fs::write(fixture.keys(), set(&[rsa_jwk("b", &OTHER_RSA), ec_jwk("e")])).unwrap();
    fixture.tokens.issuer_keys.as_ref().unwrap().ask_again().await;
    assert_eq!(fixture.tokens.known(&format!("Bearer {old}")), None);
    assert_eq!(fixture.refusal(&old).await, RefusedToken::KeyUnknown);
    assert!(fixture.ask(&new).await.is_ok());
    let told: Vec<usize> = told.lock().unwrap().iter().map(|keys| keys.split(", ").count()).collect();
    assert_eq!(told, [2, 3, 2], "those of the start, both, and without the old one");
}

/// Contract of `access.token.jwks`: without a key it is no fault of the token.
///
/// What was seen: an issuer that answered a stolen key with a set of Ed25519 keys alone was not believed for a day.
#[tokio::test]
async fn a_set_without_usable_keys_is_none_and_a_token_that_was_verified_before_counts_no_more() {
    let other = json!({"kty": "OKP", "crv": "Ed25519", "kid": "b", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    for keys in [&[][..], &[other]] {
        let fixture = Fixture::new();
        let token = with(json!({}));
        fixture.ask(&token).await.unwrap();
        fs::write(fixture.keys(), set(keys)).unwrap();
        fixture.tokens.issuer_keys.as_ref().unwrap().ask_again().await;
        assert_eq!(fixture.tokens.known(&format!("Bearer {token}")), None);
        let none = "the set has no key for RS256 (2048 bits or more) or ES256";
        assert!(matches!(fixture.refusal(&token).await, RefusedToken::KeysUnavailable(problem) if problem == none));
        fs::write(fixture.keys(), set(&[rsa_jwk("a", &RSA)])).unwrap();
        fixture.ask(&token).await.unwrap();
    }
}

#[tokio::test]
async fn a_file_that_changes_is_read_again_without_a_token_that_asks() {
    let fixture = Fixture::new();
    let keys = || fixture.tokens.key_set().unwrap().keys;
    assert_eq!(keys(), 2);
    fs::write(fixture.keys(), set(&[rsa_jwk("a", &RSA)])).unwrap();
    for _ in 0..100 {
        if keys() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the file was not read again");
}

/// An issuer that answers what a test tells it to, and counts how often.
struct Issuer {
    address: String,
    answer: Arc<Mutex<(u16, String)>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    async fn start(keys: &[Value]) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/jwks", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new((200, set(keys))));
        let asked = Arc::new(AtomicUsize::new(0));
        let (told, count) = (answer.clone(), asked.clone());
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let _ = connection.read(&mut [0; 4096]).await;
                let (status, body) = told.lock().unwrap().clone();
                count.fetch_add(1, Ordering::SeqCst);
                let head =
                    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = connection.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        Issuer { address, answer, asked }
    }

    fn tell(&self, status: u16, body: String) {
        *self.answer.lock().unwrap() = (status, body);
    }

    fn fixture(&self, pause: Duration) -> Fixture {
        Fixture::asking("", pause, |config| config.access.token.jwks = Some(self.address.clone()))
    }
}

#[tokio::test]
async fn keys_of_an_address_are_kept_when_it_fails_and_new_ones_picked_up() {
    let issuer = Issuer::start(&[rsa_jwk("a", &RSA)]).await;
    let fixture = issuer.fixture(Duration::ZERO);
    fixture.ask(&with(json!({}))).await.unwrap();
    let signed = format!("{}.{}", encode(r#"{"alg":"RS256","kid":"b"}"#), encode(claims().to_string()));
    let new = format!("{signed}.{}", encode(sign_rsa(&OTHER_RSA, &signed)));
    let both = set(&[rsa_jwk("a", &RSA), rsa_jwk("b", &OTHER_RSA)]);
    for (status, body) in [
        (500, String::new()),
        (200, "<html>".to_owned()),
        (200, "x".repeat(crate::access::limits::JWKS_BYTES_MAX + 1)),
        (404, both.clone()),
        (302, both.clone()),
    ] {
        issuer.tell(status, body);
        assert_eq!(fixture.refusal(&new).await, RefusedToken::KeyUnknown);
        assert!(fixture.ask(&with(json!({"x": status}))).await.is_ok(), "the old key stays in use");
    }
    issuer.tell(200, both);
    assert!(fixture.ask(&new).await.is_ok());
}

#[tokio::test]
async fn tokens_with_unknown_keys_make_the_service_ask_once() {
    let issuer = Issuer::start(&[rsa_jwk("a", &RSA)]).await;
    let fixture = Arc::new(issuer.fixture(Duration::from_secs(60)));
    let asking = (0..20).map(|_| {
        let fixture = fixture.clone();
        tokio::spawn(async move { fixture.refusal(&under(r#"{"alg":"RS256","kid":"b"}"#)).await })
    });
    for asked in asking.collect::<Vec<_>>() {
        assert_eq!(asked.await.unwrap(), RefusedToken::KeyUnknown);
    }
    // One of the tokens, and the look at the start.
    assert!((1..=2).contains(&issuer.asked.load(Ordering::SeqCst)));
}

#[tokio::test]
async fn an_issuer_that_never_answered_is_no_fault_of_the_token() {
    let fixture = Fixture::with("", |config| config.access.token.jwks = Some("http://127.0.0.1:1/jwks".to_owned()));
    let refused = fixture.refusal(&with(json!({}))).await;
    assert!(matches!(refused, RefusedToken::KeysUnavailable(_)), "{refused}");
}

#[tokio::test]
async fn keys_that_cannot_be_read_again_are_trusted_until_they_are_too_old() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| {
        config.access.token.jwks_refresh_s = 60;
        config.access.token.jwks_age_max_s = 200;
    });
    let (token, header) = (with(json!({})), format!("Bearer {}", with(json!({}))));
    fs::remove_file(fixture.keys()).unwrap();
    fixture.tokens.issuer_keys.as_ref().unwrap().ask_again().await;
    fixture.set_clock(NOW + 200);
    fixture.ask(&token).await.unwrap();
    assert!(fixture.tokens.known(&header).is_some());
    let told = fixture.tokens.key_set().unwrap();
    assert_eq!((told.keys, told.read, told.age), (1, Some(NOW * 1000), Some(Duration::from_secs(200))));
    assert!(told.last_problem.as_deref().is_some_and(|problem| problem.contains("cannot be read")), "{told:?}");

    fixture.set_clock(NOW + 201);
    // Also one that was verified before, and one with a key that was never known.
    for token in [&token, &under(r#"{"alg":"RS256","kid":"other"}"#)] {
        assert!(matches!(fixture.refusal(token).await, RefusedToken::KeysUnavailable(_)));
    }
    fs::write(fixture.keys(), set(&[rsa_jwk("a", &RSA)])).unwrap();
    fixture.ask(&token).await.unwrap();
    let told = fixture.tokens.key_set().unwrap();
    assert_eq!((told.read, told.last_problem), (Some((NOW + 201) * 1000), None));
    assert!(told.age.unwrap() < Duration::from_secs(200), "{:?}", told.age);
}

#[tokio::test]
async fn the_developers_tokens_count_while_the_issuers_keys_are_too_old() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| {
        config.access.mode = AccessMode::Developer;
        config.access.token.jwks_age_max_s = 100;
    });
    fs::remove_file(fixture.keys()).unwrap();
    fixture.set_clock(NOW + 101);
    let issued = fixture.tokens.issue(&order("doctor")).await.unwrap().unwrap();
    for _ in 0..2 {
        fixture.ask(&issued.token).await.unwrap();
    }
    assert!(matches!(fixture.refusal(&with(json!({}))).await, RefusedToken::KeysUnavailable(_)));
}

#[test]
fn a_set_of_keys_is_read_with_care() {
    let read = |keys: &[Value]| jwks::read(set(keys).as_bytes()).map(|keys| keys.len());
    let right = rsa_jwk("a", &RSA);
    let changed = |name: &str, value: Value| {
        let mut jwk = rsa_jwk("b", &OTHER_RSA);
        jwk[name] = value;
        jwk
    };
    assert_eq!(read(&[right.clone(), ec_jwk("e")]), Ok(2));
    let small = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let PublicKeyComponents { n, .. } = PublicKeyComponents::<Vec<u8>>::from(small.public_key());
    for skipped in [
        changed("use", json!("enc")),
        changed("alg", json!("RS512")),
        changed("alg", json!("ES256")),
        changed("kty", json!("oct")),
        changed("key_ops", json!(["sign"])),
        changed("kid", json!(1)),
        changed("n", json!(encode(&n[..255]))),
        changed("n", json!(encode(&n[..128]))),
        changed("n", json!(encode(vec![255; 2000]))),
        changed("n", json!("!")),
        changed("n", json!("")),
        changed("e", json!(encode([1]))),
        changed("e", json!(encode([2]))),
        changed("e", json!("")),
        json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "P-256", "x": encode([1; 32]), "y": encode([1; 32])}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": "AA"}),
        json!("key"),
    ] {
        assert_eq!(read(&[skipped.clone(), right.clone()]), Ok(1), "{skipped}");
        assert_eq!(read(std::slice::from_ref(&skipped)), Ok(0), "{skipped}");
    }
    assert_eq!(read(&[right.clone(), changed("key_ops", json!(["verify"]))]), Ok(2));
    assert!(read(&[right.clone(), right.clone()]).unwrap_err().contains("same kid"));
    assert!(read(&vec![right; crate::access::token::jwks::JWKS_KEYS_MAX + 1]).unwrap_err().contains("64 are allowed"));
    for text in ["", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[],\"keys\":[]}"] {
        assert!(jwks::read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn keys_that_cannot_be_used_stop_the_start() {
    let open = |jwks: &str, ca: Option<PathBuf>| {
        let mut config = Config::default();
        config.access.token.jwks = Some(jwks.to_owned());
        config.access.token.jwks_ca = ca;
        config.access.mode = AccessMode::Jwt;
        Tokens::open(&config, std::path::Path::new("."), Arc::new(|| 0)).err().unwrap_or_default()
    };
    assert!(open("no-such-file.json", None).contains("no-such-file.json"));
    assert!(open("https://issuer.example.ee/", Some("no-such-ca.pem".into())).contains("no-such-ca.pem"));
}

fn order(role: &str) -> TokenRequest {
    TokenRequest { person: "37605030299".to_owned(), role: role.to_owned(), ..TokenRequest::default() }
}

#[tokio::test]
async fn the_developers_tokens_count_in_developer_mode_beside_the_issuers() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| {
        config.access.mode = AccessMode::Developer;
        config.access.token.claim_person = "user.personalCode".to_owned();
    });
    let issued = fixture.tokens.issue(&order("doctor")).await.unwrap().unwrap();
    assert_eq!(issued.expires_in, 300);
    let identity = fixture.ask(&issued.token).await.unwrap();
    assert_eq!((identity.person.as_str(), identity.expires), ("37605030299", NOW + 300));
    assert!(fixture.ask(&with(json!({"user": {"personalCode": "37605030299"}}))).await.is_ok());
    // The issuer's key does not make tokens of the developer's.
    let disguised = with(json!({"aud": "hcert", "iss": "http://127.0.0.1:8080/fhir"}));
    assert_eq!(fixture.refusal(&disguised).await, RefusedToken::Issuer);
    let config = Config::default();
    let by_folder = issue_in(fixture.folder.path(), &config, &order("nurse"), NOW).unwrap();
    assert_eq!(fixture.ask(&by_folder.token).await.unwrap().roles, ["nurse"]);
}

#[tokio::test]
async fn the_developers_key_counts_for_nothing_where_an_issuer_is_asked_for() {
    let fixture = Fixture::new();
    let issued = issue_in(fixture.folder.path(), &Config::default(), &order("doctor"), NOW).unwrap();
    assert_eq!(fixture.refusal(&issued.token).await, RefusedToken::KeyUnknown);
    assert!(fixture.tokens.issue(&order("doctor")).await.unwrap().is_none());
    assert_eq!(fixture.tokens.jwks().await, Ok(None));
    let fresh = Fixture::new();
    assert!(!fresh.folder.path().join(developer::FILE).exists(), "none is made");
}

#[tokio::test]
async fn the_published_set_verifies_what_was_given_out() {
    let fixture = Fixture::with(&set(&[rsa_jwk("a", &RSA)]), |config| config.access.mode = AccessMode::Developer);
    let published = fixture.tokens.jwks().await.unwrap().unwrap();
    for secret in ["\"d\"", "\"p\"", "\"q\""] {
        assert!(!published.contains(secret));
    }
    let issued = fixture.tokens.issue(&order("doctor")).await.unwrap().unwrap();
    let compact = UnverifiedToken::read(&issued.token, &[Algorithm::RS256]).unwrap();
    let keys = jwks::read(published.as_bytes()).unwrap();
    assert_eq!(keys[0].kid, compact.kid);
    assert!(keys[0].verifies(compact.signed.as_bytes(), &compact.signature));
}
