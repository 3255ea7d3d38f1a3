//! Files of TLS: which are taken, and what happens when they change.

use std::os::unix::fs::PermissionsExt;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::*;
use crate::tls::revocation::TLS_LIST_BYTES_MAX;

/// 2025-01-13
const NOW: i64 = 1_736_726_400;
const DAY: i64 = 86_400;

struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Files {
        let files = Files { folder: tempfile::tempdir().unwrap() };
        files.renew();
        files
    }

    fn options(&self) -> TlsOptions {
        let path = |name: &str| self.folder.path().join(name);
        TlsOptions { certificate: path("own.pem"), key: path("own-key.pem"), tls12: false, http2: true, clients: None }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        // A file of its own, as renewing tools do, so that the stamp differs however coarse the clock of the disk is.
        let new = self.folder.path().join("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(new, path).unwrap();
    }

    fn renew(&self) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = date_time_ymd(2026, 1, 1);
        self.write("own.pem", &params.self_signed(&key).unwrap().pem());
        self.write("own-key.pem", &key.serialize_pem());
    }
}

#[test]
fn a_pair_is_taken_and_taken_anew_when_it_changes() {
    let files = Files::new();
    let server_certificate = ServerCertificate::open(files.options()).unwrap();
    let before = server_certificate.settings();
    assert_eq!(server_certificate.look(false), FileCheck::Unchanged);
    assert!(Arc::ptr_eq(&before, &server_certificate.settings()));
    assert_eq!(server_certificate.look(true), FileCheck::Renewed, "it was asked for");
    let asked = server_certificate.settings();
    files.renew();
    assert_eq!(server_certificate.look(false), FileCheck::Renewed);
    assert!(!Arc::ptr_eq(&asked, &server_certificate.settings()));
    assert_eq!(server_certificate.look(false), FileCheck::Unchanged);
}

#[test]
fn a_pipe_in_place_of_a_file_is_told_and_waits_for_nobody() {
    let files = Files::new();
    let server_certificate = ServerCertificate::open(files.options()).unwrap();
    let key = files.options().key;
    fs::remove_file(&key).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&key).status().unwrap();
    assert!(made.success());
    let FileCheck::Failed(problem) = server_certificate.look(false) else { panic!("it is no file") };
    assert!(problem.ends_with("own-key.pem: it is no regular file"), "{problem}");
    assert_eq!(server_certificate.status(NOW).last_problem, Some(problem));
}

#[test]
fn a_broken_new_pair_is_told_once_and_the_old_one_stays() {
    let files = Files::new();
    let server_certificate = ServerCertificate::open(files.options()).unwrap();
    let before = server_certificate.settings();
    files.write("own-key.pem", "half a k");
    let FileCheck::Failed(problem) = server_certificate.look(false) else { panic!("it cannot be used") };
    assert!(problem.contains("own-key.pem"), "{problem}");
    assert_eq!(server_certificate.look(false), FileCheck::Unchanged, "told already");
    assert_eq!(server_certificate.status(NOW).last_problem, Some(problem));
    assert!(Arc::ptr_eq(&before, &server_certificate.settings()));
    // Of a pair that is not renewed at one moment, the first file fits no key.
    files.write("own-key.pem", &KeyPair::generate().unwrap().serialize_pem());
    let FileCheck::Failed(problem) = server_certificate.look(false) else { panic!("it is another key") };
    assert!(problem.contains("cannot be used together"), "{problem}");
    files.renew();
    assert_eq!(server_certificate.look(false), FileCheck::Renewed);
    assert_eq!(server_certificate.status(NOW).last_problem, None);
}

#[test]
fn files_that_cannot_be_used_stop_the_start() {
    let files = Files::new();
    let refusal = |options: TlsOptions| ServerCertificate::open(options).unwrap_err();
    files.write("empty.pem", "");
    let path = |name: &str| files.folder.path().join(name);
    let own = files.options();
    assert!(refusal(TlsOptions { certificate: path("none.pem"), ..own.clone() }).contains("none.pem"));
    assert!(refusal(TlsOptions { certificate: path("empty.pem"), ..own.clone() }).contains("no certificate"));
    assert!(refusal(TlsOptions { key: path("empty.pem"), ..own.clone() }).contains("no private key"));
    let clients = ClientCertificatePolicy { authorities: path("empty.pem"), required: true, revoked: Vec::new() };
    assert!(refusal(TlsOptions { clients: Some(clients), ..own.clone() }).contains("no certificate"));
    fs::File::create(path("large.crl")).and_then(|list| list.set_len(TLS_LIST_BYTES_MAX + 1)).expect("a file");
    let clients = ClientCertificatePolicy {
        authorities: own.certificate.clone(),
        required: true,
        revoked: vec![path("large.crl")],
    };
    let refused = refusal(TlsOptions { clients: Some(clients), ..own.clone() });
    assert!(refused.ends_with("large.crl: it has more than 16777216 bytes"), "{refused}");
    files.write("large.pem", &"x".repeat(TLS_FILE_BYTES_MAX as usize + 1));
    assert!(refusal(TlsOptions { certificate: path("large.pem"), ..own }).contains("it has more than"));
}

#[test]
fn what_an_operator_should_mend_is_told() {
    let files = Files::new();
    let server_certificate = ServerCertificate::open(files.options()).unwrap();
    let status = server_certificate.status(NOW);
    assert_eq!(status.warnings, Vec::<String>::new());
    let not_after = status.not_after.unwrap();
    let told = |now: i64| server_certificate.status(now).warnings.join("\n");
    assert!(told(not_after + 1).contains("has expired"));
    assert!(told(not_after - DAY).contains("expires within 14 days"));
    assert!(told(status.not_before.unwrap() - 1).contains("not valid yet"));
}
