//! An archive as it is read: every byte of it must be one that [`Unfinished`](super::Unfinished) writes. What is cut, changed or put
//! in is told in words, and nothing of it leads out of the archive.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::archive_manifest::{ArchiveManifest, Manifest, ManifestLine};
use super::block::{self, BLOCK_BYTES, END_BYTES, padding};
use super::digest::{Digest, Digesting};
use super::file::{digest_path, open};
use super::member::ArchiveMember;
use super::sealing::{self, ArchiveKeys, ArchiveSource, NEEDS_IDENTITY};
use crate::audit::limits::AUDIT_FILE_BYTES_MAX;
use crate::backup::limits::BACKUP_MANIFEST_BYTES_MAX;
use base::regular_file;
use engine::limits::{COPY_PIECE_BYTES, COPY_RECORD_BYTES_MAX};

/// Bytes of a member of an archive that is held in memory: a piece with the largest record behind it. Files of the audit trail are
/// copied without being held.
const BACKUP_MEMBER_BYTES_MAX: usize = COPY_PIECE_BYTES + COPY_RECORD_BYTES_MAX;

/// What a walk found in an archive that is whole.
#[derive(Clone, Debug)]
pub struct ArchiveContent {
    pub about: ArchiveManifest,
    /// Of its manifest.
    pub manifest: Digest,
    /// Of the whole file.
    pub bytes: u64,
}

/// The content of one member, for whoever is shown it.
pub(super) struct MemberContent<'r> {
    inner: &'r mut CountingSource,
    left: u64,
    digesting: Digesting,
}

struct CountingSource {
    source: ArchiveSource,
    bytes: u64,
}

impl CountingSource {
    fn take(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        self.source.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
            _ => error.to_string(),
        })?;
        self.bytes += buffer.len() as u64;
        Ok(())
    }

    fn zeros(&mut self, bytes: usize) -> Result<(), String> {
        let mut buffer = [0; END_BYTES];
        self.take(&mut buffer[..bytes])?;
        match buffer[..bytes].iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err("there is something between its members".to_owned()),
        }
    }

    fn block(&mut self) -> Result<(ArchiveMember, u64, u64), String> {
        let mut buffer = [0; BLOCK_BYTES];
        self.take(&mut buffer)?;
        block::read(&buffer).ok_or_else(|| format!("what stands before byte {} is no member of an archive", self.bytes))
    }
}

impl MemberContent<'_> {
    /// How many are left of it.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// All of it.
    ///
    /// # Errors
    /// It is larger than pieces are, or cannot be read.
    pub(super) fn whole(&mut self) -> Result<Vec<u8>, String> {
        let bytes = usize::try_from(self.left).ok().filter(|bytes| *bytes <= BACKUP_MEMBER_BYTES_MAX);
        let mut content = Vec::new();
        // Grown as it comes: a size that lies takes no memory.
        self.take(bytes.ok_or("it is larger than a member can be")? as u64)
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        Ok(content)
    }

    /// Reads what it holds of a file of the audit trail, as far as those go. One with more is not whole, which the trail reports.
    ///
    /// # Errors
    /// It cannot be read; `bytes` has what came before.
    pub(super) fn trail_file(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.take(AUDIT_FILE_BYTES_MAX + 1).read_to_end(bytes).map(drop)
    }
}

impl Read for MemberContent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if some == 0 {
            return Ok(0);
        }
        let read = self.inner.source.read(&mut buffer[..some])?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off"));
        }
        self.digesting.take(&buffer[..read]);
        self.inner.bytes += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Reads an archive from its first byte to its last and shows the members between the first and the last. Whoever is shown them must
/// not believe them before this returns well.
///
/// # Errors
/// What is wrong with the archive, with its name, in words; or what `each` returned.
pub(super) fn walk(
    path: &Path,
    keys: &ArchiveKeys,
    mut each: impl FnMut(&ArchiveManifest, &ArchiveMember, &mut MemberContent) -> Result<(), String>,
) -> Result<ArchiveContent, String> {
    let file = open(path, 1 << 18)?;
    let opened = ArchiveSource::open(file, keys).map(|source| CountingSource { source, bytes: 0 });
    let walked = opened.and_then(|inner| walk_inner(path, inner, &mut each));
    walked.map_err(|problem| format!("{}: {problem}", path.display()))
}

type MemberCallback<'e> = &'e mut dyn FnMut(&ArchiveManifest, &ArchiveMember, &mut MemberContent) -> Result<(), String>;

fn walk_inner(path: &Path, mut inner: CountingSource, each: MemberCallback) -> Result<ArchiveContent, String> {
    let mut listed = Vec::new();
    let mut before = None;
    let mut about: Option<ArchiveManifest> = None;
    let told = loop {
        let (member, bytes, seconds) = inner.block()?;
        if !member.may_follow(before.as_ref()) {
            return Err(format!("{member} is out of its place"));
        }
        if about.as_ref().is_some_and(|about| about.seconds() != seconds) {
            return Err(format!("{member} is of another archive"));
        }
        let mut content = MemberContent { inner: &mut inner, left: bytes, digesting: Digesting::new() };
        let mut last = None;
        match (&member, &about) {
            (ArchiveMember::About, _) => {
                let read = ArchiveManifest::read(&content.whole()?)?;
                if read.seconds() != seconds {
                    return Err(format!("{member} is of another archive"));
                }
                about = Some(read);
            }
            (ArchiveMember::Manifest, _) if bytes > BACKUP_MANIFEST_BYTES_MAX => {
                return Err("its manifest is larger than any can be".to_owned());
            }
            (ArchiveMember::Manifest, _) => {
                let mut read = Vec::new();
                content.read_to_end(&mut read).map_err(|error| error.to_string())?;
                last = Some(read);
            }
            (_, Some(about)) => each(about, &member, &mut content)?,
            (_, None) => return Err("it does not begin with what it is".to_owned()),
        }
        io::copy(&mut content, &mut io::sink()).map_err(|error| error.to_string())?;
        let sha256 = content.digesting.done();
        inner.zeros(padding(bytes))?;
        if let Some(told) = last {
            break told;
        }
        listed.push(ManifestLine { name: member.to_string(), bytes, sha256 });
        before = Some(member);
    };
    let about = about.ok_or("it does not begin with what it is")?;
    check_manifest(&about, &told, listed)?;
    inner.zeros(END_BYTES)?;
    if inner.source.read(&mut [0]).map_err(|error| error.to_string())? > 0 {
        return Err("there is something behind its end".to_owned());
    }
    check_digest(path, inner.source.digest())?;
    Ok(ArchiveContent { about, manifest: Digest::of(&told), bytes: inner.bytes })
}

/// The manifest is the one that the members before it make.
fn check_manifest(about: &ArchiveManifest, told: &[u8], found: Vec<ManifestLine>) -> Result<(), String> {
    let manifest = Manifest::of(about, found);
    if manifest.write() == told {
        return Ok(());
    }
    let listed: Manifest = serde_json::from_slice(told).map_err(|_| "its manifest is not readable")?;
    let differs = manifest.members.iter().zip(&listed.members).find(|(found, listed)| found != listed);
    Err(match differs {
        Some((found, listed)) if found.name == listed.name => format!("{} is not what its manifest says", found.name),
        _ => "its members are not those of its manifest".to_owned(),
    })
}

/// The file beside an archive says its digest. An archive that was copied alone is none the worse.
fn check_digest(path: &Path, found: Digest) -> Result<(), String> {
    let beside = digest_path(path);
    let told = match regular_file::refuse(&beside).and_then(|()| File::open(&beside)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("its digest {}: {error}", beside.display())),
    };
    let mut text = String::new();
    let read = told.take(4_096).read_to_string(&mut text);
    let digest = read.ok().and_then(|_| Digest::parse(text.split_whitespace().next()?));
    match digest {
        Some(digest) if digest == found => Ok(()),
        Some(_) => Err(format!("its SHA-256 is {found}, but {} says another", beside.display())),
        None => Err(format!("{} holds no SHA-256", beside.display())),
    }
}

/// What an archive is and the digest of its manifest, without reading what lies between: enough to put archives in order. Whether the
/// archive is whole is not known by it. Of an encrypted one that is not opened, its label tells.
///
/// # Errors
/// It is no archive, cut off, of a later release, not to be opened with these keys, or not signed as they demand.
pub(super) fn look(path: &Path, keys: &ArchiveKeys) -> Result<(ArchiveManifest, Digest), String> {
    // Between two members megabytes are passed over, and what was read ahead with them.
    let mut file = open(path, BLOCK_BYTES * 8)?;
    let looked = || {
        let is_sealed = sealing::is_sealed(&mut file).map_err(|error| error.to_string())?;
        let label = if is_sealed { keys.label(path)?.map(|base| (base.about, base.digest)) } else { None };
        if is_sealed && !keys.open_archives() {
            return label.ok_or_else(|| NEEDS_IDENTITY.to_owned());
        }
        let mut inner = CountingSource { source: ArchiveSource::open(file, keys)?, bytes: 0 };
        let found = look_inner(&mut inner)?;
        match label.is_none_or(|label| label == found) {
            true => Ok(found),
            false => Err("its label is that of another archive".to_owned()),
        }
    };
    looked().map_err(|problem| format!("{}: {problem}", path.display()))
}

fn look_inner(inner: &mut CountingSource) -> Result<(ArchiveManifest, Digest), String> {
    let mut about = None;
    loop {
        let (member, bytes, _) = inner.block()?;
        if !matches!(member, ArchiveMember::About | ArchiveMember::Manifest) {
            let behind = bytes.checked_add(padding(bytes) as u64).and_then(|bytes| i64::try_from(bytes).ok());
            let behind = behind.ok_or("a member is larger than any can be")?;
            inner.source.skip(behind).map_err(|error| error.to_string())?;
            continue;
        }
        if bytes > BACKUP_MANIFEST_BYTES_MAX {
            return Err(format!("{member} is larger than it can be"));
        }
        let mut content = MemberContent { inner: &mut *inner, left: bytes, digesting: Digesting::new() };
        let mut read = Vec::new();
        content.read_to_end(&mut read).map_err(|error| error.to_string())?;
        inner.zeros(padding(bytes))?;
        match (member, about.take()) {
            (ArchiveMember::About, None) => about = Some(ArchiveManifest::read(&read)?),
            (ArchiveMember::Manifest, Some(about)) => return Ok((about, Digest::of(&read))),
            (member, _) => return Err(format!("{member} is out of its place")),
        }
    }
}
