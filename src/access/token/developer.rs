//! The developer's own key, made at the first start: it stands in for the national token service. Contract 7.1.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::key::{KeyOwner, VerificationKey};
use base::log::event;
use base::{regular_file, threads};

/// The key's file in the data folder: PKCS#8 in PEM, for its owner only.
pub const FILE: &str = "developer-key.pem";

/// The secret that addresses of `hcert dev` hold where other machines can reach it: 32 hexadecimal digits, for the folder's owner only.
const SECRET_FILE: &str = "developer-secret";

/// The secret of a data folder; one is made where there is none.
///
/// # Errors
/// The file cannot be read or made, or holds something else.
pub fn kept_secret(folder: &Path) -> Result<String, String> {
    let path = folder.join(SECRET_FILE);
    let refuse = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| refuse(&error))?;
    let made = uuid::Uuid::new_v4().simple().to_string();
    match write(&path, &made) {
        Ok(()) => return Ok(made),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refuse(&error)),
    }
    let text = regular_file::text(&path, FILE_BYTES_MAX).map_err(|error| refuse(&error))?;
    let is_secret = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_secret { Ok(text) } else { Err(refuse(&"it holds no secret; remove it, and another one is made")) }
}

/// Bytes of the file at most; an RSA key of 8192 bits has some 6 KB.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// Signs tokens for whoever tries the service out.
#[derive(Debug)]
pub(super) struct DeveloperKey {
    pair: RsaKeyPair,
    /// RFC 7638.
    kid: String,
    public: VerificationKey,
    /// The set with the public key alone.
    pub jwks: String,
}

/// A key that may still be in the making.
#[derive(Clone, Debug)]
pub(super) struct Developer(watch::Receiver<Option<Result<Arc<DeveloperKey>, String>>>);

impl Developer {
    /// Reads the key of a data folder. When there is none it is made on a thread of its own, since that takes up to a second.
    ///
    /// # Errors
    /// The file cannot be read or holds no such key.
    pub(super) fn open(folder: &Path) -> Result<Developer, String> {
        let (told, made) = watch::channel(None);
        if let Some(key) = DeveloperKey::read(folder)? {
            told.send_replace(Some(Ok(Arc::new(key))));
            return Ok(Developer(made));
        }
        let folder = folder.to_owned();
        let making = std::thread::Builder::new().name("hcert-key".to_owned()).spawn(move || {
            let key = DeveloperKey::make(&folder).map(Arc::new);
            if let Err(problem) = &key {
                event!(KEY_FAILED, problem = problem.as_str());
            }
            told.send_replace(Some(key));
        });
        making.map_err(|error| threads::refused(&error))?;
        Ok(Developer(made))
    }

    /// The key, as soon as there is one.
    ///
    /// # Errors
    /// It could not be made.
    pub(super) async fn key(&self) -> Result<Arc<DeveloperKey>, String> {
        let gone = || "the making of the developer's key broke off".to_owned();
        let made = self.0.clone().wait_for(Option::is_some).await.map_err(|_| gone())?.clone();
        made.ok_or_else(gone)?
    }
}

impl DeveloperKey {
    /// The key of a data folder, if there is one.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub(super) fn read(folder: &Path) -> Result<Option<DeveloperKey>, String> {
        let path = folder.join(FILE);
        let refuse = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let mut pem = Vec::new();
        let read = regular_file::open(&path).and_then(|file| {
            (&file).take(FILE_BYTES_MAX).read_to_end(&mut pem)?;
            Ok(file)
        });
        let file = match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| refuse(&error))?,
        };
        let foreign = "it holds no RSA key in PKCS#8; remove it, and another one is made";
        let der = PrivatePkcs8KeyDer::from_pem_slice(&pem).map_err(|_| refuse(&foreign))?;
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| refuse(&foreign))?;
        // Only of a key: the file may be a link to something else.
        let mode = file.metadata().map_err(|error| refuse(&error))?.permissions().mode();
        if mode & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| refuse(&error))?;
        }
        DeveloperKey::of(pair).map(Some).ok_or_else(|| refuse(&foreign))
    }

    /// The key of a data folder; one is made where there is none. Of several who make one at once, the first one's counts.
    ///
    /// # Errors
    /// The folder cannot be written to, or what is there cannot be read.
    pub(super) fn make(folder: &Path) -> Result<DeveloperKey, String> {
        if let Some(key) = DeveloperKey::read(folder)? {
            return Ok(key);
        }
        let path = folder.join(FILE);
        let refuse = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let pair = RsaKeyPair::generate(KeySize::Rsa3072).map_err(|_| refuse(&"no key could be made"))?;
        let der: Pkcs8V1Der = pair.as_der().map_err(|_| refuse(&"no key could be made"))?;
        let temporary = folder.join(format!(".{FILE}.{}", uuid::Uuid::new_v4()));
        let linked = write(&temporary, &pem(der.as_ref())).and_then(|()| {
            // Unlike a renaming, a link never takes the place of a file that came first.
            fs::hard_link(&temporary, &path)
        });
        // It may not be there, when it could not be written.
        let _ = fs::remove_file(&temporary);
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(refuse(&error)),
            _ => {}
        }
        DeveloperKey::read(folder)?.ok_or_else(|| refuse(&"it went away just after it was made"))
    }

    fn of(pair: RsaKeyPair) -> Option<DeveloperKey> {
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
        let [n_text, e_text] = [&n, &e].map(|number| BASE64_URL_SAFE_NO_PAD.encode(number));
        // RFC 7638, 3: these members, in this order, without blanks.
        let canonical = format!(r#"{{"e":"{e_text}","kty":"RSA","n":"{n_text}"}}"#);
        let kid = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, canonical.as_bytes()));
        let public = VerificationKey::rsa(Some(kid.clone()), KeyOwner::Developer, &n, &e)?;
        let jwk = json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n_text, "e": e_text});
        Some(DeveloperKey { pair, kid, public, jwks: json!({ "keys": [jwk] }).to_string() })
    }

    pub(super) fn public(&self) -> &VerificationKey {
        &self.public
    }

    /// A signed token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": self.kid});
        let [header, claims] = [&header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .expect("a key that was read, and a buffer of its length, can sign");
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn write(path: &PathBuf, pem: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(pem.as_bytes())?;
    file.sync_all()
}

/// RFC 7468.
fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned());
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let first = DeveloperKey::make(folder.path()).unwrap();
        let again = DeveloperKey::read(folder.path()).unwrap().unwrap();
        assert_eq!(first.jwks, again.jwks);
        let path = folder.path().join(FILE);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        DeveloperKey::make(folder.path()).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn of_two_who_make_a_key_at_once_the_first_ones_counts() {
        let folder = tempfile::tempdir().unwrap();
        let made: Vec<_> = std::thread::scope(|scope| {
            let making: Vec<_> = (0..2).map(|_| scope.spawn(|| DeveloperKey::make(folder.path()).unwrap())).collect();
            making.into_iter().map(|making| making.join().unwrap().jwks).collect()
        });
        assert_eq!(made[0], made[1]);
    }

    #[test]
    fn a_file_that_holds_something_else_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for text in ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            let problem = DeveloperKey::make(folder.path()).unwrap_err();
            assert!(problem.contains(FILE) && problem.contains("no RSA key"), "{problem}");
            assert!(Developer::open(folder.path()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o644,
                "it may be a link to a file of others"
            );
        }
        assert!(DeveloperKey::make(&folder.path().join("none")).is_err());
    }

    #[tokio::test]
    async fn whoever_asks_before_the_key_is_made_waits() {
        let folder = tempfile::tempdir().unwrap();
        let developer = Developer::open(folder.path()).unwrap();
        let key = developer.key().await.unwrap();
        assert_eq!(key.jwks, DeveloperKey::read(folder.path()).unwrap().unwrap().jwks);
    }
}
