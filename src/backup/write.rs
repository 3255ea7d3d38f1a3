//! An archive as it is written: under a name of its own until it is whole and durable, so that a file with the final name is always a
//! whole archive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use age::stream::StreamWriter;

use super::archive_manifest::{ArchiveManifest, Manifest, ManifestLine};
use super::block::{BLOCK_BYTES, END_BYTES, block, padding};
use super::digest::{Digest, Digesting};
use super::file::{self, ENDING, PART, PREFIX, digest_path, with_ending};
use super::member::ArchiveMember;
use super::sealing::{Label, Sealing, Signer};
use super::take::Sink;
use crate::audit::CopiedTrail;

/// Where an archive goes.
#[derive(Clone, Debug)]
pub enum ArchiveTarget {
    /// A file that is not there yet.
    File(PathBuf),
    /// A folder; the name tells time and changes.
    Folder(PathBuf),
}

/// An archive that is not whole yet. Dropping it removes what was written.
pub struct Unfinished {
    target: ArchiveTarget,
    part: PathBuf,
    out: Option<MemberSink>,
    sealing: Option<Sealing>,
    about: Option<ArchiveManifest>,
    listed: Vec<ManifestLine>,
    trail: CopiedTrail,
    has_failed: bool,
}

/// An archive that was written.
#[derive(Clone, Debug)]
pub struct WrittenArchive {
    pub path: PathBuf,
    pub about: ArchiveManifest,
    /// Of the whole file.
    pub bytes: u64,
    pub digest: Digest,
    /// Whose signature it has, if it is encrypted.
    pub signer: Option<Signer>,
    /// What is wrong with the audit trail that it holds. The archive is whole all the same, and restores everything else.
    pub trail: Vec<String>,
}

/// Where the members go.
enum MemberSink {
    Plain(DigestWriter),
    Sealed(Box<StreamWriter<DigestWriter>>),
}

impl MemberSink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            MemberSink::Plain(out) => out.write_all(bytes),
            MemberSink::Sealed(out) => out.write_all(bytes),
        }
    }

    /// Ends it.
    fn finish(self) -> io::Result<DigestWriter> {
        match self {
            MemberSink::Plain(out) => Ok(out),
            MemberSink::Sealed(out) => out.finish(),
        }
    }
}

/// A file, with the digest and the number of its bytes.
struct DigestWriter {
    file: BufWriter<File>,
    digesting: Digesting,
    bytes: u64,
}

impl Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.digesting.take(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Unfinished {
    /// Begins an archive, encrypted and signed where it is said how.
    ///
    /// # Errors
    /// The file is there already, or cannot be made.
    pub fn begin(target: ArchiveTarget, sealing: Option<Sealing>) -> Result<Unfinished, String> {
        // Not by the number of the process, which in a container is always the same.
        let unique = uuid::Uuid::new_v4();
        let part = match &target {
            ArchiveTarget::File(path) => {
                absent(path)?;
                with_ending(path, &format!(".{unique}{}", PART))
            }
            ArchiveTarget::Folder(folder) => folder.join(format!("{}{unique}{}", PREFIX, PART)),
        };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = file.map_err(|error| told(&part, error))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        let out = DigestWriter { file, digesting: Digesting::new(), bytes: 0 };
        let out = match &sealing {
            None => MemberSink::Plain(out),
            Some(sealing) => MemberSink::Sealed(Box::new(sealing.begin(out).map_err(|error| told(&part, error))?)),
        };
        Ok(Unfinished {
            target,
            part,
            out: Some(out),
            sealing,
            about: None,
            listed: Vec::new(),
            trail: CopiedTrail::default(),
            has_failed: false,
        })
    }

    /// Whether a member could not be written: the rest fails where it comes from.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Ends the archive: manifest, end, digest beside it, then the name, all durable.
    ///
    /// # Errors
    /// It cannot be written, or there is a file of its name by now. Nothing is left of it then.
    pub fn finish(mut self) -> Result<WrittenArchive, String> {
        let about = self.about.clone().ok_or("nothing was written into the archive")?;
        let manifest = Manifest::of(&about, std::mem::take(&mut self.listed)).write();
        self.append(&ArchiveMember::Manifest, manifest.len() as u64, &mut manifest.as_slice(), &about)?;
        self.put(&[0; END_BYTES]).map_err(|error| self.cannot(error))?;
        let out = self.out.take().expect("it is there until here");
        let DigestWriter { file, digesting, bytes } = out.finish().map_err(|error| self.cannot(error))?;
        let synced = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(|error| self.cannot(error))?;
        let path = match &self.target {
            ArchiveTarget::File(path) => path.clone(),
            ArchiveTarget::Folder(folder) => {
                let ending = if self.sealing.is_some() { ENDING } else { "" };
                folder.join(file::name(&about) + ending)
            }
        };
        absent(&path)?;
        let digest = digesting.done();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut beside = vec![(digest_path(&path), format!("{digest}  {name}\n").into_bytes())];
        if let Some(sealing) = &self.sealing {
            beside.push((Label::path(&path), sealing.label(&about, Digest::of(&manifest)).write()));
        }
        // Before the archive has its name: one that has it has them.
        beside.iter().try_for_each(|(path, bytes)| write_beside(path, bytes)).map_err(|error| told(&path, error))?;
        let named = fs::rename(&self.part, &path).and_then(|()| sync_folder(&path));
        named.map_err(|error| told(&path, error))?;
        let signer = self.sealing.as_ref().map(Sealing::signer);
        let trail = std::mem::take(&mut self.trail).finish();
        Ok(WrittenArchive { path, about, bytes, digest, signer, trail })
    }

    fn append(
        &mut self,
        member: &ArchiveMember,
        bytes: u64,
        content: &mut dyn Read,
        about: &ArchiveManifest,
    ) -> Result<Digest, String> {
        let mut digesting = Digesting::new();
        let mut left = bytes;
        let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(bytes).unwrap_or(COPY_BYTES))];
        self.put(&block(member, bytes, about.seconds())).map_err(|error| self.cannot(error))?;
        while left > 0 {
            let some = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            content.read_exact(&mut buffer[..some]).map_err(|error| format!("{member} cannot be read: {error}"))?;
            digesting.take(&buffer[..some]);
            self.put(&buffer[..some]).map_err(|error| self.cannot(error))?;
            left -= some as u64;
        }
        self.put(&[0; BLOCK_BYTES][..padding(bytes)]).map_err(|error| self.cannot(error))?;
        Ok(digesting.done())
    }

    /// Names the archive: its name until it is complete means nothing to anybody.
    fn cannot(&self, error: io::Error) -> String {
        let (ArchiveTarget::File(path) | ArchiveTarget::Folder(path)) = &self.target;
        format!("{} cannot be written: {error}", path.display())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.out.as_mut().expect("it is there until the end").write_all(bytes);
        self.has_failed |= written.is_err();
        written
    }
}

/// Bytes of a member that are held at once.
const COPY_BYTES: usize = 1 << 18;

impl Sink for Unfinished {
    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        let digest = match (&self.about, member) {
            (None, ArchiveMember::About) => {
                let mut read = Vec::new();
                content.take(bytes).read_to_end(&mut read).map_err(|error| error.to_string())?;
                let about = ArchiveManifest::read(&read)?;
                let digest = self.append(member, read.len() as u64, &mut read.as_slice(), &about)?;
                self.trail = CopiedTrail::with_known(about.known_head());
                self.trail.begin(about.audit_after);
                self.about = Some(about);
                digest
            }
            (None, _) => return Err("an archive begins with what it is".to_owned()),
            (Some(about), ArchiveMember::Audit(file)) => {
                let about = about.clone();
                let mut read = Vec::new();
                content
                    .take(bytes)
                    .read_to_end(&mut read)
                    .map_err(|error| format!("{member} cannot be read: {error}"))?;
                // Certificates are worth more than their trail: what is wrong with it ends no backup, and is told.
                self.trail.file(file, &read);
                self.append(member, bytes, &mut read.as_slice(), &about)?
            }
            (Some(about), _) => {
                let about = about.clone();
                self.append(member, bytes, content, &about)?
            }
        };
        self.listed.push(ManifestLine { name: member.to_string(), bytes, sha256: digest });
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the last step there is nothing under this name any more.
        drop(fs::remove_file(&self.part));
    }
}

fn absent(path: &Path) -> Result<(), String> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(told(path, error)),
        Ok(_) => Err(format!(
            "{} is there already, and an archive is never replaced; name another file, or a folder",
            path.display()
        )),
    }
}

/// Writes a file under a temporary name, then renames it. A file or link that already has the name is replaced and never written to: in a
/// folder that other users can write to, it may be their link to a file of ours.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = with_ending(path, &format!(".{}{}", uuid::Uuid::new_v4(), PART));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        drop(fs::remove_file(&part));
    }
    written
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn told(path: &Path, error: io::Error) -> String {
    format!("{}: {error}", path.display())
}
