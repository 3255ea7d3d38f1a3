//! TLS over real sockets: which clients get in, which do not, and what a renewed certificate does.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::aws_lc_rs::digest::{SHA256, digest};
use hcert::config::{ClientAuth, Config, MinVersion};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationList, CertificateRevocationListParams, CertifiedIssuer,
    CrlDistributionPoint, CrlIssuingDistributionPoint, IsCa, KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::foreign::Reason::WritesToTheConnection;
use crate::server::{Listening, START, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// An authority, and the files of the service in a folder.
struct Pki {
    folder: TempDir,
    ca: CertifiedIssuer<'static, KeyPair>,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

impl Pki {
    fn new() -> Pki {
        let pki = Pki { folder: tempfile::tempdir().expect("a folder"), ca: authority() };
        fs::write(pki.path("ca.pem"), pki.ca.pem()).expect("written");
        pki.renew();
        pki
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Gives the service another certificate.
    fn renew(&self) {
        let (certificate, key) = signed(&self.ca);
        for (name, text) in [("own.pem", certificate.pem()), ("own-key.pem", key.serialize_pem())] {
            fs::write(self.path("new"), text).expect("written");
            fs::rename(self.path("new"), self.path(name)).expect("renamed");
        }
    }

    fn set(&self, config: &mut Config) {
        WritesToTheConnection.set_default_names(config);
        config.tls.certificate = Some(self.path("own.pem"));
        config.tls.key = Some(self.path("own-key.pem"));
    }

    async fn server(&self, change: impl FnOnce(&mut Config)) -> Listening {
        let server = Server::with(START, |config| {
            self.set(config);
            change(config);
        });
        server.await.listen().await
    }

    fn client(&self) -> Client {
        let mut roots = RootCertStore::empty();
        roots.add(self.ca.der().clone()).expect("an authority");
        Client { roots, versions: vec![&TLS13, &TLS12], alpn: Vec::new(), own: None }
    }
}

fn signed(ca: &CertifiedIssuer<'static, KeyPair>) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    (params.signed_by(&key, ca).expect("signed"), key)
}

struct Client {
    roots: RootCertStore,
    versions: Vec<&'static rustls::SupportedProtocolVersion>,
    alpn: Vec<Vec<u8>>,
    own: Option<(CertificateDer<'static>, KeyPair)>,
}

impl Client {
    async fn connect(self, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        connect(&Arc::new(self.config()), address).await
    }

    fn config(self) -> ClientConfig {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder =
            builder.with_protocol_versions(&self.versions).expect("versions").with_root_certificates(self.roots);
        let mut config = match self.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(vec![certificate], key).expect("a pair")
            }
        };
        config.alpn_protocols = self.alpn;
        config
    }

    /// Status line, headers and body of an answer; nothing where the server lets nobody in.
    async fn get(self, address: SocketAddr) -> io::Result<String> {
        let mut stream = self.connect(address).await?;
        ask(&mut stream, "Connection: close\r\n").await?;
        let mut text = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("the server closes")?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

async fn connect(config: &Arc<ClientConfig>, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(config.clone()).connect(name, stream).await
}

async fn ask(stream: &mut TlsStream<TcpStream>, headers: &str) -> io::Result<()> {
    let request = format!("GET /fhir/Composition/1 HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await
}

#[tokio::test]
async fn answers_come_over_tls_and_tell_browsers_to_stay_there() {
    let pki = Pki::new();
    let server = pki.server(|_| ()).await;
    let text = pki.client().get(server.address).await.expect("a connection");
    assert!(text.starts_with("HTTP/1.1 404 Not Found\r\n") && text.contains("OperationOutcome"), "{text}");
    assert!(text.contains("strict-transport-security: max-age=31536000\r\n"), "{text}");
}

#[tokio::test]
async fn http2_is_chosen_in_the_handshake() {
    let pki = Pki::new();
    let server = pki.server(|_| ()).await;
    let client = Client { alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()], ..pki.client() };
    let stream = client.connect(server.address).await.expect("a connection");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.expect("an HTTP/2 connection");
    tokio::spawn(connection);
    let uri = format!("https://localhost:{}/fhir/metadata", server.address.port());
    let request = hyper::Request::get(uri).body(Empty::<Bytes>::new()).expect("a request");
    let answer = timeout(PATIENCE, sender.send_request(request)).await.expect("an answer").expect("a connection");
    assert_eq!((answer.status().as_u16(), answer.version()), (200, hyper::Version::HTTP_2));
    let old = Client { alpn: vec![b"http/1.1".to_vec()], ..pki.client() };
    let stream = old.connect(server.address).await.expect("a connection");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
}

/// What was seen: a client that had chosen HTTP/2 could speak HTTP/1.1, and the other way round.
#[tokio::test]
async fn the_protocol_chosen_in_the_handshake_is_the_only_one_spoken() {
    const HTTP1: &[u8] = b"GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    // The preface and an empty SETTINGS frame.
    const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    const SETTINGS: u8 = 4;
    let pki = Pki::new();
    let server = pki.server(|_| ()).await;
    for (chosen, sent, is_spoken) in [
        (&["h2"][..], HTTP2, true),
        (&["h2"], HTTP1, false),
        (&["http/1.1"], HTTP1, true),
        (&["http/1.1"], HTTP2, false),
        (&[], HTTP1, true),
        (&[], HTTP2, false),
    ] {
        let alpn = chosen.iter().map(|name| name.as_bytes().to_vec()).collect();
        let mut stream = Client { alpn, ..pki.client() }.connect(server.address).await.expect("a connection");
        stream.write_all(sent).await.expect("sent");
        let mut told = vec![0; 17];
        let read = timeout(PATIENCE, stream.read(&mut told)).await.expect("an answer or an end");
        told.truncate(read.unwrap_or(0));
        let is_http1 = told.starts_with(b"HTTP/1.1 200 ");
        let is_http2 = told.get(3) == Some(&SETTINGS);
        let spoken = if sent == HTTP1 { is_http1 } else { is_http2 };
        assert_eq!(spoken, is_spoken, "{chosen:?} {sent:?}: {told:?}");
        assert!(is_spoken || !is_http1, "{chosen:?} {told:?}");
        if !is_spoken {
            // The connection is over.
            let _ = timeout(PATIENCE, stream.read_to_end(&mut told)).await.expect("the server closes");
        }
    }
}

#[tokio::test]
async fn an_older_version_is_spoken_only_where_it_is_allowed() {
    let pki = Pki::new();
    let old = || Client { versions: vec![&TLS12], ..pki.client() };
    let strict = pki.server(|_| ()).await;
    assert!(old().get(strict.address).await.is_err());
    assert!(pki.client().get(strict.address).await.is_ok());
    let lenient = pki.server(|config| config.tls.min_version = MinVersion::Tls12).await;
    assert!(old().get(lenient.address).await.is_ok());
    assert!(pki.client().get(lenient.address).await.is_ok());
}

#[tokio::test]
async fn whoever_speaks_no_tls_is_closed_and_keeps_nobody_waiting() {
    let pki = Pki::new();
    let server = pki.server(|config| config.server.header_timeout_s = 1).await;
    let mut silent = TcpStream::connect(server.address).await.expect("the server listens");
    for sent in ["GET /fhir/metadata HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut plain = TcpStream::connect(server.address).await.expect("the server listens");
        plain.write_all(sent.as_bytes()).await.expect("sent");
        let mut told = Vec::new();
        let _ = timeout(PATIENCE, plain.read_to_end(&mut told)).await.expect("the server closes");
        assert!(!told.starts_with(b"HTTP/"), "{told:?}");
    }
    assert!(pki.client().get(server.address).await.is_ok());
    let mut told = Vec::new();
    let _ = timeout(PATIENCE, silent.read_to_end(&mut told)).await.expect("a handshake has its time");
    let failed = server.server.http().load().handshakes_failed.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(failed, 3);
}

#[tokio::test]
async fn a_certificate_of_clients_is_asked_for_as_the_settings_say() {
    let pki = Pki::new();
    let (own, stranger) = (signed(&pki.ca), signed(&authority()));
    let with = |(certificate, key): &(rcgen::Certificate, KeyPair)| {
        let key = KeyPair::from_pem(&key.serialize_pem()).expect("the same key");
        Client { own: Some((certificate.der().clone(), key)), ..pki.client() }
    };
    for (client_auth, without) in [(ClientAuth::Required, false), (ClientAuth::Optional, true)] {
        let server = pki.server(|config| {
            config.tls.client_ca = Some(pki.path("ca.pem"));
            config.tls.client_auth = client_auth;
        });
        let server = server.await;
        assert!(with(&own).get(server.address).await.is_ok(), "{client_auth:?}");
        assert!(with(&stranger).get(server.address).await.is_err(), "{client_auth:?}");
        assert_eq!(pki.client().get(server.address).await.is_ok(), without, "{client_auth:?}");
    }
}

/// What was seen: sessions went on for ever after the client's certificate and the authority's list had expired.
#[tokio::test]
async fn who_has_to_show_a_certificate_shows_it_in_each_connection() {
    let pki = Pki::new();
    let (certificate, key) = signed(&pki.ca);
    let own = |key: &KeyPair| KeyPair::from_pem(&key.serialize_pem()).expect("the same key");
    for asks in [false, true] {
        let server = pki.server(|config| {
            if asks {
                config.tls.client_ca = Some(pki.path("ca.pem"));
            }
            config.tls.min_version = MinVersion::Tls12;
        });
        let server = server.await;
        for versions in [vec![&rustls::version::TLS13], vec![&rustls::version::TLS12]] {
            let client = Client { own: Some((certificate.der().clone(), own(&key))), versions, ..pki.client() };
            let config = Arc::new(client.config());
            let mut kinds = Vec::new();
            for _ in 0..2 {
                let mut stream = connect(&config, server.address).await.expect("a connection");
                ask(&mut stream, "Connection: close\r\n").await.expect("sent");
                let mut text = Vec::new();
                timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("the server closes").expect("read");
                kinds.push(stream.get_ref().1.handshake_kind());
            }
            let is_resumed = kinds[1] == Some(rustls::HandshakeKind::Resumed);
            assert_eq!(is_resumed, !asks, "{kinds:?}");
        }
    }
}

/// A list of the authority that revokes these, of 2024, due again in this year.
fn revoking(
    ca: &CertifiedIssuer<'static, KeyPair>,
    revoked: &[SerialNumber],
    next_year: i32,
) -> CertificateRevocationList {
    revoking_in(ca, revoked, 2024, next_year, 1, None)
}

fn revoking_in(
    ca: &CertifiedIssuer<'static, KeyPair>,
    revoked: &[SerialNumber],
    year: i32,
    next_year: i32,
    number: u64,
    point: Option<&str>,
) -> CertificateRevocationList {
    let revoked = revoked.iter().map(|number| RevokedCertParams {
        serial_number: number.clone(),
        revocation_time: date_time_ymd(2024, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(year, 1, 1),
        next_update: date_time_ymd(next_year, 1, 1),
        crl_number: SerialNumber::from(number),
        issuing_distribution_point: point.map(|point| CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint { uris: vec![point.to_owned()] },
            scope: None,
        }),
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(ca).expect("a list")
}

#[tokio::test]
async fn a_client_is_refused_once_its_certificate_is_on_a_list_or_the_list_has_expired() {
    let pki = Pki::new();
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.serial_number = Some(SerialNumber::from(4711));
    let own = params.signed_by(&key, &*pki.ca).expect("signed");
    let client = || {
        let key = KeyPair::from_pem(&key.serialize_pem()).expect("the same key");
        Client { own: Some((own.der().clone(), key)), ..pki.client() }
    };
    let path = pki.path("revoked.crl");
    let list = |revoked: &[SerialNumber], next_year| {
        fs::write(pki.path("new"), revoking(&pki.ca, revoked, next_year).pem().expect("PEM")).expect("written");
        fs::rename(pki.path("new"), &path).expect("renamed");
    };
    list(&[SerialNumber::from(1)], 2100);
    let mut server_certificate = None;
    let set = |config: &mut Config| {
        pki.set(config);
        config.tls.client_ca = Some(pki.path("ca.pem"));
        config.tls.client_auth = ClientAuth::Optional;
        config.tls.client_crl = vec![path.clone()];
    };
    let server = Server::with_http(START, set, |http_settings| server_certificate = http_settings.tls.clone())
        .await
        .listen()
        .await;
    let server_certificate = server_certificate.expect("the settings name files");
    assert!(client().get(server.address).await.is_ok());
    list(&[SerialNumber::from(4711)], 2100);
    server_certificate.look(false);
    assert!(client().get(server.address).await.is_err(), "it was revoked");
    assert!(pki.client().get(server.address).await.is_ok(), "who shows none is not asked about");
    // A list that is half there changes nothing, and health says so.
    fs::write(&path, "half").expect("written");
    server_certificate.look(false);
    let problem = server_certificate.status(0).last_problem.expect("a problem");
    assert!(problem.ends_with("revoked.crl: it holds no revocation list"), "{problem}");
    assert!(client().get(server.address).await.is_err(), "it is still revoked");
    list(&[], 2025);
    server_certificate.look(false);
    assert!(client().get(server.address).await.is_err(), "the list has expired");
    let warnings = server_certificate.status(1_800_000_000).warnings.join(" ");
    assert!(warnings.contains("revoked.crl has expired"), "{warnings}");
    let der = revoking(&pki.ca, &[], 2100);
    fs::write(&path, der.der()).expect("written");
    server_certificate.look(false);
    assert!(client().get(server.address).await.is_ok(), "a list may be DER");
    // What was seen: of two lists of one authority the one that came first counted, and not the newest.
    let revoked = [SerialNumber::from(4711)];
    let pem = |list: CertificateRevocationList| list.pem().expect("PEM");
    let newer = pem(revoking_in(&pki.ca, &revoked, 2024, 2100, 256, None));
    // By its time, and of one time by its number.
    for older in [(2023, 300), (2024, 255), (2024, 2)] {
        let older = pem(revoking_in(&pki.ca, &[], older.0, 2100, older.1, None));
        for lists in [[&older, &newer], [&newer, &older]] {
            fs::write(&path, lists.map(String::as_str).concat()).expect("written");
            server_certificate.look(false);
            assert!(client().get(server.address).await.is_err(), "the newest list counts");
        }
    }
    // What was seen: the list of a distribution point, and one made in the future, hid the list that revokes.
    let partial = pem(revoking_in(&pki.ca, &[], 2025, 2100, 257, Some("http://a.ee/2.crl")));
    let coming = pem(revoking_in(&pki.ca, &[], 2090, 2100, 258, None));
    for (hiding, why) in [(partial, "one distribution point"), (coming, "in the future")] {
        fs::write(&path, [newer.as_str(), &hiding].concat()).expect("written");
        server_certificate.look(false);
        let problem = server_certificate.status(0).last_problem.expect("a problem");
        assert!(problem.contains(why), "{problem}");
        assert!(client().get(server.address).await.is_err(), "the lists before stay in force");
    }
}

#[tokio::test]
async fn a_client_whose_certificate_the_settings_name_may_set_the_headers_of_x_road() {
    let pki = Pki::new();
    let (own, other) = (signed(&pki.ca), signed(&pki.ca));
    let named = digest(&SHA256, own.0.der());
    let named: String = named.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    let server = pki.server(|config| {
        config.tls.client_ca = Some(pki.path("ca.pem"));
        config.tls.client_auth = ClientAuth::Optional;
        config.x_road.from = Some(vec![named.parse().expect("a fingerprint")]);
    });
    let server = server.await;
    for (shown, is_trusted) in [(Some(own), true), (Some(other), false), (None, false)] {
        let shown = shown.map(|(certificate, key)| (certificate.der().clone(), key));
        let mut stream = Client { own: shown, ..pki.client() }.connect(server.address).await.expect("a connection");
        // Of several requests on one connection each.
        ask(&mut stream, "x-road-id: 4711\r\n").await.expect("sent");
        ask(&mut stream, "x-road-id: 4711\r\nConnection: close\r\n").await.expect("sent");
        let mut text = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("the server closes").expect("an answer");
        assert_eq!(text.matches("HTTP/1.1 404 ").count(), 2, "{text}");
        assert_eq!(text.matches("x-road-id: 4711\r\n").count(), if is_trusted { 2 } else { 0 }, "{text}");
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_to_new_connections_and_old_ones_go_on() {
    let pki = Pki::new();
    let mut server_certificate = None;
    let server = Server::with_http(
        START,
        |config| pki.set(config),
        |http_settings| server_certificate = http_settings.tls.clone(),
    );
    let server = server.await.listen().await;
    let server_certificate = server_certificate.expect("the settings name files");
    let shown =
        |stream: &TlsStream<TcpStream>| stream.get_ref().1.peer_certificates().expect("a server shows one")[0].to_vec();
    let mut before = pki.client().connect(server.address).await.expect("a connection");
    // A file that is half there changes nothing.
    fs::write(pki.path("own-key.pem"), "half").expect("written");
    server_certificate.look(false);
    let still = pki.client().connect(server.address).await.expect("a connection");
    assert_eq!(shown(&before), shown(&still));
    pki.renew();
    server_certificate.look(false);
    let after = pki.client().connect(server.address).await.expect("a connection");
    assert_ne!(shown(&before), shown(&after));
    ask(&mut before, "Connection: close\r\n").await.expect("sent");
    let mut text = Vec::new();
    timeout(PATIENCE, before.read_to_end(&mut text)).await.expect("the server closes").expect("an answer");
    assert!(text.starts_with(b"HTTP/1.1 404 "));
}

#[tokio::test]
async fn a_newcomer_without_a_place_is_told_so_over_tls() {
    let pki = Pki::new();
    let server = Server::with_http(
        START,
        |config| {
            pki.set(config);
            config.server.connections_per_address_max = 1;
        },
        |http_settings| http_settings.uncounted.clear(),
    );
    let server = server.await.listen().await;
    let _kept = pki.client().connect(server.address).await.expect("a connection");
    let text = pki.client().get(server.address).await.expect("a connection");
    assert!(text.starts_with("HTTP/1.1 429 ") && text.contains("HCERT-200"), "{text}");
}
