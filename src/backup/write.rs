//! An archive as it is written: under a name of its own until it is whole and durable, so that a file with the final name is always a
//! whole archive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::about::{About, Listed, Manifest};
use super::block::{BLOCK_BYTES, END_BYTES, block, padding};
use super::digest::{Digest, Digesting};
use super::folder;
use super::member::Member;
use super::take::Sink;

/// Where an archive goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file that is not there yet.
    File(PathBuf),
    /// A folder; the name tells time and changes.
    Folder(PathBuf),
}

/// An archive that is not whole yet. Dropping it removes what was written.
pub struct Unfinished {
    target: Target,
    part: PathBuf,
    out: Option<BufWriter<File>>,
    digesting: Digesting,
    bytes: u64,
    about: Option<About>,
    listed: Vec<Listed>,
}

/// An archive that was written.
#[derive(Clone, Debug)]
pub struct Written {
    pub path: PathBuf,
    pub about: About,
    /// Of the whole file.
    pub bytes: u64,
    pub digest: Digest,
}

/// Where the digest of an archive stands, as `sha256sum -c` reads it.
pub fn digest_path(archive: &Path) -> PathBuf {
    with_ending(archive, ".sha256")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl Unfinished {
    /// Begins an archive.
    ///
    /// # Errors
    /// The file is there already, or cannot be made.
    pub fn begin(target: Target) -> Result<Unfinished, String> {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        let unique = format!("{}-{}", std::process::id(), BEGUN.fetch_add(1, Ordering::Relaxed));
        let part = match &target {
            Target::File(path) => {
                absent(path)?;
                with_ending(path, &format!(".{unique}{}", folder::PART))
            }
            Target::Folder(folder) => folder.join(format!("{}{unique}{}", folder::PREFIX, folder::PART)),
        };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = file.map_err(|error| told(&part, error))?;
        let out = Some(BufWriter::with_capacity(1 << 18, file));
        let digesting = Digesting::new();
        Ok(Unfinished { target, part, out, digesting, bytes: 0, about: None, listed: Vec::new() })
    }

    /// Ends the archive: manifest, end, digest beside it, then the name, all durable.
    ///
    /// # Errors
    /// It cannot be written, or there is a file of its name by now. Nothing is left of it then.
    pub fn finish(mut self) -> Result<Written, String> {
        let about = self.about.clone().ok_or("nothing was written into the archive")?;
        let manifest = Manifest::of(&about, std::mem::take(&mut self.listed)).write();
        self.append(&Member::Manifest, manifest.len() as u64, &mut manifest.as_slice(), &about)?;
        self.put(&[0; END_BYTES]).map_err(|error| self.cannot(error))?;
        let out = self.out.take().expect("it is there until here");
        let synced = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(|error| self.cannot(error))?;
        let path = match &self.target {
            Target::File(path) => path.clone(),
            Target::Folder(folder) => folder.join(folder::name(&about)),
        };
        absent(&path)?;
        let digest = self.digesting.clone().done();
        write_digest(&path, digest).map_err(|error| told(&path, error))?;
        let named = fs::rename(&self.part, &path).and_then(|()| sync_folder(&path));
        named.map_err(|error| told(&path, error))?;
        Ok(Written { path, about, bytes: self.bytes, digest })
    }

    fn append(&mut self, member: &Member, bytes: u64, content: &mut dyn Read, about: &About) -> Result<Digest, String> {
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
        let (Target::File(path) | Target::Folder(path)) = &self.target;
        format!("{} cannot be written: {error}", path.display())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.as_mut().expect("it is there until the end").write_all(bytes)?;
        self.digesting.take(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Bytes of a member that are held at once.
const COPY_BYTES: usize = 1 << 18;

impl Sink for Unfinished {
    fn member(&mut self, member: &Member, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        let digest = match (&self.about, member) {
            (None, Member::About) => {
                let mut read = Vec::new();
                content.take(bytes).read_to_end(&mut read).map_err(|error| error.to_string())?;
                let about = About::read(&read)?;
                let digest = self.append(member, read.len() as u64, &mut read.as_slice(), &about)?;
                self.about = Some(about);
                digest
            }
            (None, _) => return Err("an archive begins with what it is".to_owned()),
            (Some(about), _) => {
                let about = about.clone();
                self.append(member, bytes, content, &about)?
            }
        };
        self.listed.push(Listed { name: member.to_string(), bytes, sha256: digest });
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

/// Before the archive has its name: one that has it has its digest.
fn write_digest(archive: &Path, digest: Digest) -> io::Result<()> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let path = digest_path(archive);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{digest}  {name}")?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn told(path: &Path, error: io::Error) -> String {
    format!("{}: {error}", path.display())
}
