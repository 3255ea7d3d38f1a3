//! Archives that only their operator can read: encrypted with age to recipients whose identities are kept elsewhere, and signed by the
//! server that took them. `docs/BACKUP.md`.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use age::stream::{StreamReader, StreamWriter};
use age::x25519;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::archive_manifest::{ArchiveManifest, Base};
use super::digest::{Digest, Digesting};
use super::{file, signing_key};
use crate::backup::limits::BACKUP_MANIFEST_BYTES_MAX;
use crate::config::limits::RECIPIENTS_MAX;
use base::hex::{self, Hex};
use base::regular_file;

/// How every age file begins.
const MAGIC: &[u8] = b"age-encryption.org/";

/// Bytes of the header of an encrypted archive: some 150 for each recipient, and age reads all of it before it knows whether one of them
/// is meant. Enough for [`RECIPIENTS_MAX`].
const HEADER_BYTES_MAX: u64 = 16 * 1024;

/// What is said of an archive that needs an identity.
pub(super) const NEEDS_IDENTITY: &str =
    "it is encrypted; name the file with the identity that opens it: --identity FILE";

/// What is said of an archive that is for others.
pub(super) const OTHER_IDENTITY: &str =
    "it is encrypted, and none of the identities opens it: it was made for another recipient";

/// What is said of a plain archive where a signature is demanded.
pub(super) const UNSIGNED: &str = "it is neither encrypted nor signed";

/// Who may read an archive: an age recipient, `age1…`.
#[derive(Clone)]
pub(super) struct Recipient(x25519::Recipient);

impl FromStr for Recipient {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Recipient, &'static str> {
        if text.starts_with("AGE-SECRET-KEY-") {
            return Err(
                "it is an identity, which opens archives and must be kept elsewhere; name its recipient (age1…)",
            );
        }
        let read = text.parse().map(Recipient);
        read.map_err(|_| "it is no recipient of age (age1…, as age-keygen prints it)")
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// How archives are encrypted and signed.
#[derive(Clone)]
pub struct Sealing {
    recipients: Vec<Recipient>,
    key: Arc<Ed25519KeyPair>,
}

impl Sealing {
    /// To these recipients, by the signing key of a data folder, which is made when there is none; nothing where there is no recipient.
    ///
    /// # Errors
    /// A recipient is none, or the key cannot be read or made, in words.
    pub fn open(recipients: &[String], data: &Path) -> Result<Option<Sealing>, String> {
        let recipients = parse(recipients)?;
        if recipients.is_empty() {
            return Ok(None);
        }
        let key = signing_key::of(data)?;
        Ok(Some(Sealing { recipients, key: Arc::new(key) }))
    }

    /// Whose signatures these are.
    pub fn signer(&self) -> Signer {
        let key = self.key.public_key().as_ref();
        Signer(key.try_into().expect("a public key of Ed25519 has 32 bytes"))
    }

    /// Of all recipients together: whoever opens an archive opens those that go on from it too.
    pub fn recipients(&self) -> Digest {
        together(&self.recipients)
    }

    /// Encrypts what is written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin<W: Write>(&self, out: W) -> io::Result<StreamWriter<W>> {
        let recipients = self.recipients.iter().map(|recipient| &recipient.0 as &dyn age::Recipient);
        age::Encryptor::with_recipients(recipients).map_err(io::Error::other)?.wrap_output(out)
    }

    /// What is told of an archive without opening it.
    pub fn label(&self, about: &ArchiveManifest, manifest: Digest) -> Label {
        let signed = Signed { about: about.clone(), manifest };
        let signature = Hex(self.key.sign(&signed.bytes()).as_ref()).to_string();
        Label { signed, key: self.signer().to_string(), signature }
    }
}

/// As [`Sealing::recipients`], of a setting; none where it names nobody.
///
/// # Errors
/// A recipient is none, in words.
pub fn recipients(named: &[String]) -> Result<Option<Digest>, String> {
    let recipients = parse(named)?;
    Ok((!recipients.is_empty()).then(|| together(&recipients)))
}

/// Whether a command encrypts what it asks a server for as the server's own archives are. More than the server asks for is given to it.
/// Decision 279.
///
/// # Errors
/// It does not, in words for the person at the terminal.
pub fn expect_sealed_as(servers: Option<Digest>, commands: Option<Digest>) -> Result<(), String> {
    let has = match (servers, commands) {
        (Some(_), None) => "none, so that it would not be encrypted",
        (Some(servers), Some(commands)) if servers != commands => "others, who could read it",
        _ => return Ok(()),
    };
    Err(format!(
        "no archive is taken: the settings of the running server name recipients (backup.recipients), and those of this command {has}; \
         name the settings of the server with --config"
    ))
}

fn parse(recipients: &[String]) -> Result<Vec<Recipient>, String> {
    if recipients.len() > RECIPIENTS_MAX {
        return Err(format!("{} recipients; {RECIPIENTS_MAX} are allowed", recipients.len()));
    }
    let read = |text: &String| text.parse().map_err(|problem| format!("{text:?}: {problem}"));
    recipients.iter().map(read).collect()
}

fn together(recipients: &[Recipient]) -> Digest {
    let mut texts: Vec<String> = recipients.iter().map(|recipient| recipient.0.to_string()).collect();
    texts.sort();
    Digest::of(texts.join("\n").as_bytes())
}

/// The public key that signatures of archives are checked with; shown as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signer([u8; 32]);

impl FromStr for Signer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Signer, &'static str> {
        hex::parse(text).map(Signer).ok_or("it is no key: 64 hexadecimal digits, as hcert backup prints it")
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        Hex(&self.0).fmt(formatter)
    }
}

/// What lies beside an encrypted archive, readable by anybody: what it is, for the next archive that goes on from it, and the signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Label {
    signed: Signed,
    key: String,
    signature: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Signed {
    about: ArchiveManifest,
    /// Of the manifest, which has that of every member.
    manifest: Digest,
}

impl Signed {
    fn bytes(&self) -> Vec<u8> {
        [b"hcert backup\n".as_slice(), &serde_json::to_vec(self).expect("texts and numbers are JSON")].concat()
    }
}

impl Label {
    /// Where the label of an archive lies.
    pub fn path(archive: &Path) -> PathBuf {
        let mut name = archive.as_os_str().to_owned();
        name.push(".json");
        name.into()
    }

    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are JSON")
    }

    /// The label of an archive; none where it has none.
    ///
    /// # Errors
    /// It is damaged, or its signature is not of its key, in words.
    fn read(archive: &Path) -> Result<Option<Label>, String> {
        let path = Label::path(archive);
        let told = |problem: &str| format!("its label {}: {problem}", path.display());
        let file = match regular_file::refuse(&path).and_then(|()| File::open(&path)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(told(&error.to_string())),
        };
        let mut bytes = Vec::new();
        file.take(BACKUP_MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| told(&error.to_string()))?;
        let label: Label = serde_json::from_slice(&bytes).map_err(|_| told("it is damaged"))?;
        // Read once more as an archive's own head is.
        ArchiveManifest::read(&label.signed.about.write()).map_err(|problem| told(&problem))?;
        let key = label.signer().map_err(told)?;
        let signature = hex::parse::<64>(&label.signature).ok_or_else(|| told("its signature is damaged"))?;
        let public = UnparsedPublicKey::new(&ED25519, key.0);
        public.verify(&label.signed.bytes(), &signature).map_err(|_| told("its signature does not fit"))?;
        Ok(Some(label))
    }

    fn signer(&self) -> Result<Signer, &'static str> {
        self.key.parse()
    }
}

/// What opens archives: identities, and whose signature they must have.
#[derive(Clone, Default)]
pub struct ArchiveKeys {
    identities: Arc<Vec<x25519::Identity>>,
    signed_by: Option<Signer>,
}

/// It holds secrets, and says nothing of the archive.
impl fmt::Debug for ArchiveKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("ArchiveKeys")
    }
}

/// Two ways to open an archive make it no other one.
impl PartialEq for ArchiveKeys {
    fn eq(&self, _: &ArchiveKeys) -> bool {
        true
    }
}

impl Eq for ArchiveKeys {}

/// Bytes of a file with identities of age, each of which has some 200 with its comments.
const IDENTITY_FILE_BYTES_MAX: u64 = 1024 * 1024;

impl ArchiveKeys {
    /// The identities of files as `age-keygen` writes them: one a line, with comments.
    ///
    /// # Errors
    /// A file cannot be read, or holds none, in words.
    pub fn read(files: &[PathBuf], signed_by: Option<Signer>) -> Result<ArchiveKeys, String> {
        let mut identities = Vec::new();
        for path in files {
            // Other users see the arguments of a process; a log need not have it too.
            if path.to_string_lossy().to_uppercase().contains("AGE-SECRET-KEY-") {
                return Err("an identity was given in the place of a file that holds it; other users of this machine may have seen it".to_owned());
            }
            let told = |problem: String| format!("{}: {problem}", path.display());
            let text = match path.as_os_str() == "-" {
                true => io::read_to_string(io::stdin().take(IDENTITY_FILE_BYTES_MAX)),
                false => regular_file::text(path, IDENTITY_FILE_BYTES_MAX),
            };
            let text = text.map_err(|error| told(error.to_string()))?;
            let before = identities.len();
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
                let identity = line.parse();
                identities.push(identity.map_err(|_| {
                    told("it holds no identity of age (AGE-SECRET-KEY-1…, as age-keygen writes it)".to_owned())
                })?);
            }
            if identities.len() == before {
                return Err(told("it holds no identity".to_owned()));
            }
        }
        Ok(ArchiveKeys { identities: Arc::new(identities), signed_by })
    }

    /// Without identities: archives are known by their labels, which have to be of this signer.
    pub fn of_signer(signer: Option<Signer>) -> ArchiveKeys {
        ArchiveKeys { identities: Arc::default(), signed_by: signer }
    }

    /// Whether archives are opened; if not, only their labels are read.
    pub fn open_archives(&self) -> bool {
        !self.identities.is_empty()
    }

    /// What the label of an encrypted archive says, where it has one.
    ///
    /// # Errors
    /// It is wrong, by somebody else than these keys demand, or missing where they demand one.
    pub fn label(&self, archive: &Path) -> Result<Option<Base>, String> {
        let label = Label::read(archive)?;
        let signer = label.as_ref().map(Label::signer).transpose()?;
        match (self.signed_by, signer) {
            (Some(wanted), Some(found)) if wanted != found => {
                return Err(format!("it is signed by {found}, and not by {wanted}"));
            }
            (Some(_), None) => return Err("it is not signed: its label is missing".to_owned()),
            _ => {}
        }
        Ok(label.map(|Label { signed: Signed { about, manifest }, .. }| Base { about, digest: manifest }))
    }

    /// Whether a plain archive will do.
    ///
    /// # Errors
    /// It must be signed.
    pub fn expect_plain(&self) -> Result<(), String> {
        match self.signed_by {
            Some(_) => Err(UNSIGNED.to_owned()),
            None => Ok(()),
        }
    }
}

/// An archive as it lies on the disk, its digest growing as it is read.
pub(super) struct StoredArchive {
    file: BufReader<File>,
    digesting: Rc<RefCell<Digesting>>,
}

impl Read for StoredArchive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.digesting.borrow_mut().take(&buffer[..read]);
        Ok(read)
    }
}

impl Seek for StoredArchive {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(by) => {
                self.file.seek_relative(by)?;
                self.file.stream_position()
            }
            to => self.file.seek(to),
        }
    }
}

/// Reads what an archive holds, encrypted or not.
pub(super) struct ArchiveSource {
    kind: SealingKind,
    digesting: Rc<RefCell<Digesting>>,
}

enum SealingKind {
    Plain(StoredArchive),
    Sealed(Box<StreamReader<StoredArchive>>),
}

impl ArchiveSource {
    /// # Errors
    /// It cannot be opened: a wrong identity, or damage, in words.
    pub(super) fn open(mut file: BufReader<File>, keys: &ArchiveKeys) -> Result<ArchiveSource, String> {
        let is_sealed = is_sealed(&mut file).map_err(|error| error.to_string())?;
        if is_sealed && !has_header(&mut file).map_err(|error| error.to_string())? {
            return Err(format!(
                "what it is encrypted with is damaged: its header has no end within {HEADER_BYTES_MAX} bytes"
            ));
        }
        let digesting = Rc::new(RefCell::new(Digesting::new()));
        let stored = StoredArchive { file, digesting: digesting.clone() };
        if !is_sealed {
            return keys.expect_plain().map(|()| ArchiveSource { kind: SealingKind::Plain(stored), digesting });
        }
        if !keys.open_archives() {
            return Err(NEEDS_IDENTITY.to_owned());
        }
        let identities = keys.identities.iter().map(|identity| identity as &dyn age::Identity);
        let opened = age::Decryptor::new(stored).and_then(|decryptor| decryptor.decrypt(identities));
        let opened = opened.map_err(|error| match error {
            age::DecryptError::NoMatchingKeys => OTHER_IDENTITY.to_owned(),
            age::DecryptError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
            error => format!("what it is encrypted with is damaged: {error}"),
        })?;
        Ok(ArchiveSource { kind: SealingKind::Sealed(Box::new(opened)), digesting })
    }

    /// Of the bytes that were read from the disk so far.
    pub(super) fn digest(&self) -> Digest {
        self.digesting.borrow().clone().done()
    }

    /// Passes over some bytes.
    pub(super) fn skip(&mut self, bytes: i64) -> io::Result<()> {
        match &mut self.kind {
            SealingKind::Plain(stored) => stored.seek(SeekFrom::Current(bytes)).map(drop),
            SealingKind::Sealed(reader) => reader.seek(SeekFrom::Current(bytes)).map(drop).map_err(undecipherable),
        }
    }
}

impl Read for ArchiveSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kind {
            SealingKind::Plain(stored) => stored.read(buffer),
            SealingKind::Sealed(reader) => reader.read(buffer).map_err(undecipherable),
        }
    }
}

/// What age says of a changed or missing byte is "decryption error" alone.
fn undecipherable(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => io::Error::new(error.kind(), format!("the archive is damaged: {error}")),
        _ => error,
    }
}

/// Why archives that are named, or lie in a named folder, cannot be opened with these keys, with the name of the first. In a folder it is
/// enough when identities open some of those that are encrypted. What else is wrong with archives is told when they are read.
pub fn closed(named: &[PathBuf], keys: &ArchiveKeys) -> Option<String> {
    let problem = |path: &Path| {
        let file = file::open(path, 1 << 12).ok()?;
        let problem = ArchiveSource::open(file, keys).err()?;
        let is_closed = [NEEDS_IDENTITY, OTHER_IDENTITY].contains(&problem.as_str());
        is_closed.then(|| format!("{}: {problem}", path.display()))
    };
    named.iter().find_map(|path| match file::paths(path) {
        Ok(paths) => {
            let sealed: Vec<_> = paths.iter().filter(|path| has_magic(path)).collect();
            let mut closed = sealed.iter().filter_map(|path| problem(path)).peekable();
            let first = closed.peek().cloned();
            first.filter(|_| !keys.open_archives() || closed.count() == sealed.len())
        }
        Err(_) => problem(path),
    })
}

fn has_magic(path: &Path) -> bool {
    file::open(path, 1 << 12).is_ok_and(|mut file| is_sealed(&mut file).unwrap_or(false))
}

/// Whether a file is encrypted; it is read from its beginning afterwards.
pub(super) fn is_sealed(file: &mut BufReader<File>) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(begin == MAGIC)
}

/// Whether the header of an encrypted file ends where one can end; the file is read from its beginning afterwards.
fn has_header(file: &mut BufReader<File>) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.by_ref().take(HEADER_BYTES_MAX).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    // A file that is cut off is told as such.
    Ok(begin.len() < HEADER_BYTES_MAX as usize || begin.windows(5).any(|bytes| bytes == b"\n--- "))
}
