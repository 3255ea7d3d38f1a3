//! The way there: addresses, headers, credentials and TLS.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::server::{Play, Server, json};
use super::*;
use crate::config::{CallersToken, Secret};
use crate::registry::{HeaderText, XRoadHeaders};
use fhir::outcome::Language;

#[tokio::test]
async fn a_request_says_who_asks_and_in_which_language() {
    let server = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let remote = remote(&server, |settings| {
        settings.token = Some(Secret("own".to_owned()));
        settings.callers_token = CallersToken::Forward;
    });
    let some = |text: &str| Some(text.to_owned());
    let header = |text: &str| Some(HeaderText::new(text));
    let asking = Caller {
        language: Language::Estonian,
        authorization: some("Bearer theirs"),
        x_road: XRoadHeaders {
            client: header("EE/GOV/1"),
            id: header("abc"),
            issue: header("1/2"),
            userid: header("EE38001085718"),
            author_id: header("38001085718"),
        },
        fault: some("slow=1ms"),
        ..caller(LookupPurpose::Callers)
    };
    assert!(remote.ask(&read(), &asking).await.is_ok());
    let seen = server.last();
    assert_eq!(seen.head.lines().next(), Some("GET /fhir/Patient/200 HTTP/1.1"));
    for (name, value) in [
        ("host", format!("localhost:{}", server.socket.port()).as_str()),
        ("accept", "application/fhir+json"),
        ("accept-language", "et"),
        ("user-agent", concat!("hcert/", env!("CARGO_PKG_VERSION"))),
        ("authorization", "Bearer theirs"),
        ("x-road-client", "EE/GOV/1"),
        ("x-road-id", "abc"),
        ("x-road-issue", "1/2"),
        ("x-road-userid", "EE38001085718"),
        ("x-author-id", "38001085718"),
        ("x-hcert-fault", "slow=1ms"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(seen.header("x-hcert-purpose"), None);

    assert!(remote.ask(&read(), &Caller { purpose: LookupPurpose::Look, ..asking }).await.is_ok());
    let seen = server.last();
    assert_eq!((seen.header("authorization"), seen.header("x-hcert-purpose")), (Some("Bearer own"), Some("look")));
}

#[tokio::test]
async fn the_callers_token_stays_here_unless_the_settings_say_otherwise() {
    let server = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let remote = remote(&server, |settings| settings.token = Some(Secret("own".to_owned())));
    let asking = Caller { authorization: Some("Bearer theirs".to_owned()), ..caller(LookupPurpose::Callers) };
    assert!(remote.ask(&read(), &asking).await.is_ok());
    assert_eq!(server.last().header("authorization"), None, "and the service lends its own to nobody");
}

#[tokio::test]
async fn the_callers_token_is_exchanged_once_for_one_that_is_for_the_registry() {
    let registry = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let issuer = Server::start(|seen| match seen.number {
        1 => Play::Send(json(200, r#"{"access_token":"for-the-registry","token_type":"Bearer","expires_in":300}"#)),
        2 => Play::Send(json(400, r#"{"error":"invalid_grant"}"#)),
        3 => Play::Send(json(503, "{}")),
        4 => Play::Send(json(401, r#"{"error":"invalid_client"}"#)),
        5 => Play::Send(json(400, r#"{"error":"invalid_grant"}"#)),
        6 => Play::Send(json(400, r#"{"error":"invalid_target"}"#)),
        7 => Play::Send(json(200, r#"{"access_token":"a b","token_type":"Bearer"}"#)),
        8 => Play::Send(json(200, r#"{"access_token":"mine","token_type":"N_A"}"#)),
        9 => Play::Send(json(200, r#"{"access_token":"mine"}"#)),
        10 => Play::Send(json(
            200,
            r#"{"access_token":"mine","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:refresh_token"}"#,
        )),
        11 => Play::Send(json(200, r#"{"access_token":"theirs","token_type":"Bearer"}"#)),
        _ => Play::Send(json(
            200,
            r#"{"access_token":"mine","token_type":"bearer","issued_token_type":"urn:ietf:params:oauth:token-type:jwt"}"#,
        )),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "s cret\n").unwrap();
    let remote = remote(&registry, |settings| {
        settings.callers_token = CallersToken::Exchange;
        settings.exchange = config::ExchangeSettings {
            endpoint: Some(format!("http://localhost:{}/token", issuer.socket.port())),
            audience: Some("mpi".to_owned()),
            client_id: Some("hcert".to_owned()),
            client_secret_file: Some(secret.display().to_string()),
            ca_file: None,
        };
    });
    let asking =
        |token: &str| Caller { authorization: Some(format!("Bearer {token}")), ..caller(LookupPurpose::Callers) };
    for _ in 0..2 {
        assert!(remote.ask(&read(), &asking("theirs")).await.is_ok());
        assert_eq!(registry.last().header("authorization"), Some("Bearer for-the-registry"));
    }
    assert_eq!(issuer.requests(), 1, "it is remembered");
    let asked = issuer.last();
    assert_eq!(asked.head.lines().next(), Some("POST /token HTTP/1.1"));
    let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&audience=mpi";
    assert!(asked.body.starts_with(form) && asked.body.ends_with("&subject_token=theirs"), "{}", asked.body);
    // "hcert:s%20cret"
    assert_eq!(asked.header("authorization"), Some("Basic aGNlcnQ6cyUyMGNyZXQ="));
    wind(Duration::from_secs(291));
    let seen = registry.requests();
    let told = async |number: usize| {
        let told = no_answer(remote.ask(&read(), &asking("theirs")).await);
        let RegistryHealth::Remote { credential, last_problem, .. } = remote.health() else { panic!("a remote one") };
        assert_eq!(issuer.requests(), number);
        (told, credential, last_problem.is_some())
    };
    let (accepted, refused) = (CredentialState::Accepted, CredentialState::Refused);
    assert!(matches!(told(2).await, (NoAnswer::Unreadable(_), state, false) if state == accepted), "a caller's matter");
    assert!(matches!(told(3).await, (NoAnswer::Unreachable(_), state, true) if state == accepted));
    assert!(matches!(told(4).await, (NoAnswer::Credential(_), state, _) if state == refused), "the operator's");
    assert!(matches!(told(5).await, (NoAnswer::Unreadable(_), state, _) if state == accepted), "a caller's again");
    assert!(matches!(told(6).await, (NoAnswer::Credential(_), state, _) if state == refused), "a setting is wrong");
    for number in 7..=11 {
        assert!(matches!(told(number).await, (NoAnswer::Unreadable(_), state, _) if state == accepted), "{number}");
    }
    assert_eq!(registry.requests(), seen, "the registry is not asked without it");
    assert!(remote.ask(&read(), &asking("theirs")).await.is_ok());
    assert_eq!(registry.last().header("authorization"), Some("Bearer mine"));
    // What comes late on a connection that is kept would be taken for another caller's token.
    assert_eq!(issuer.connections(), issuer.requests());
}

/// A careless registry, or a gateway that debugs, says what it got.
#[tokio::test]
async fn an_issue_that_repeats_the_credential_is_not_told_on() {
    for place in ["text", "diagnostics", "expression", "display"] {
        let server = Server::start(move |seen| {
            let got = seen.header("authorization").unwrap_or_default();
            let issue = match place {
                "diagnostics" => format!(r#""diagnostics":"got {got}!""#),
                "expression" => format!(r#""expression":["{got}"]"#),
                "display" => format!(r#""details":{{"coding":[{{"code":"MPI-021","display":"{got}"}}]}}"#),
                _ => format!(r#""details":{{"text":"{got}"}}"#),
            };
            Play::Send(json(
                422,
                &format!(
                    r#"{{"resourceType":"OperationOutcome","issue":[{{"severity":"error","code":"x",{issue}}}]}}"#
                ),
            ))
        })
        .await;
        let token = |token: Option<&str>| token.map(|token| Secret(token.to_owned()));
        for ours in ["ours", "a-token-of-the-service"] {
            let with = remote(&server, |settings| settings.token = token(Some(ours)));
            let told = with.ask(&read(), &caller(LookupPurpose::Write)).await;
            assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("repeats")), "{place}");
        }
        // Whoever sent it may read it, however short it is.
        let forwards = remote(&server, |settings| settings.callers_token = CallersToken::Forward);
        let theirs = Caller { authorization: Some("Bearer x".to_owned()), ..caller(LookupPurpose::Callers) };
        assert!(matches!(forwards.ask(&read(), &theirs).await, Err(LookupFailure::Refused(_))), "{place}");
        let without = remote(&server, |settings| settings.token = token(None));
        let told = without.ask(&read(), &caller(LookupPurpose::Write)).await;
        assert!(matches!(told, Err(LookupFailure::Refused(_))), "{place}");
    }
}

#[tokio::test]
async fn an_id_that_is_none_is_not_asked_for() {
    let server = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let remote = remote(&server, |_| ());
    for id in ["../Composition/1", "200?x=1", &"a".repeat(65)] {
        let told = remote.ask(&RegistryRequest::Read(id.to_owned()), &caller(LookupPurpose::Write)).await;
        assert!(matches!(told, Err(LookupFailure::NotFound)));
    }
    let told = remote.ask(&search(&"|".repeat(60_000)), &caller(LookupPurpose::Callers)).await;
    assert!(matches!(no_answer(told), NoAnswer::Unreadable(why) if why.contains("too long")));
    assert_eq!(server.requests(), 0);
    let _ = remote.ask(&search("a|b c"), &caller(LookupPurpose::Write)).await;
    assert_eq!(server.last().target(), "/fhir/Patient?identifier=a%7Cb%20c");
}

#[tokio::test]
async fn links_lead_a_caller_to_this_service_and_stay_as_they_are_for_itself() {
    let server = Server::start(|seen| {
        let base = format!("http://{}/fhir", seen.header("host").unwrap());
        let bundle = bundle().replace("\"Patient/200\"", &format!("\"{base}/Patient/200\""));
        let link = format!(r#""link":[{{"relation":"self","url":"{base}/Patient?identifier=1"}}],"entry""#);
        Play::Send(json(200, &bundle.replace("\"entry\"", &link)))
    })
    .await;
    let remote = remote(&server, |settings| settings.address = settings.address.take().map(|address| address + "/"));
    let theirs = text(remote.ask(&search("1"), &caller(LookupPurpose::Callers)).await);
    assert!(theirs.contains(r#""url":"https://hcert.example.ee/fhir/Patient?identifier=1""#), "{theirs}");
    assert!(theirs.contains(r#""fullUrl":"https://hcert.example.ee/fhir/Patient/200""#), "{theirs}");
    let ours = text(remote.ask(&search("1"), &caller(LookupPurpose::Write)).await);
    assert_eq!(ours, theirs.replace("https://hcert.example.ee/fhir", &server.address()));
}

#[test]
fn settings_that_lead_nowhere_are_refused() {
    for address in [
        "",
        "mpi.example.ee",
        "ftp://mpi.example.ee",
        "http://",
        "http://a:b@mpi.example.ee",
        "http://a?b",
        "http://a b",
        "/fhir",
    ] {
        assert!(RemoteRegistry::new(&settings(address.to_owned())).unwrap_err().contains("address"), "{address}");
    }
    assert!(RemoteRegistry::new(&config::RemoteSettings::default()).unwrap_err().contains("address"));
    let mut settings = settings("http://127.0.0.1:1".to_owned());
    settings.token = Some(Secret("very-secret".to_owned()));
    assert!(!format!("{:?}", RemoteRegistry::new(&settings)).contains("very-secret"));
    settings.token_file = Some("token".into());
    assert!(!RemoteRegistry::new(&settings).unwrap_err().contains("very-secret"));
}

/// A server with a certificate for `localhost`, and its authority as PEM.
async fn encrypted() -> (Server, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let server =
        Server::start_with(Some(TlsAcceptor::from(Arc::new(config))), |_| Play::Send(json(200, PATIENT))).await;
    (server, authority.pem())
}

#[tokio::test]
async fn a_registry_is_believed_by_its_own_authority_and_by_no_other() {
    let ((server, pem), (_, other)) = (encrypted().await, encrypted().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let trusting = |pem: &str| {
        std::fs::write(&file, pem).unwrap();
        remote(&server, |settings| settings.ca_file = Some(file.clone()))
    };

    let right = trusting(&format!("{other}{pem}"));
    for _ in 0..2 {
        assert_eq!(text(right.ask(&read(), &caller(LookupPurpose::Write)).await), PATIENT);
    }
    assert_eq!((server.requests(), server.connections()), (2, 1));

    let wrong = trusting(&other);
    let told = no_answer(wrong.ask(&read(), &caller(LookupPurpose::Write)).await);
    assert!(matches!(&told, NoAnswer::Unreachable(why) if why.contains("certificate")), "{told:?}");

    let mut by_number = settings(format!("https://{}/fhir", server.socket));
    std::fs::write(&file, &pem).unwrap();
    by_number.ca_file = Some(file.clone());
    let told = no_answer(RemoteRegistry::new(&by_number).unwrap().ask(&read(), &caller(LookupPurpose::Write)).await);
    assert!(matches!(&told, NoAnswer::Unreachable(why) if why.contains("certificate")), "another name: {told:?}");

    // Machines without authorities of their own refuse at the start, all others at the first request.
    if let Ok(remote) = RemoteRegistry::new(&settings(server.address())) {
        assert!(matches!(
            no_answer(remote.ask(&read(), &caller(LookupPurpose::Write)).await),
            NoAnswer::Unreachable(_)
        ));
    }
    assert_eq!(server.requests(), 2, "nothing was asked of one who is not believed");
}
