//! The files of a trail as a backup copies them and a restore puts them back: byte for byte, so that the chain goes on.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::disk::{Name, sync_folder};
use super::trail::Trail;

/// One file of a trail.
#[derive(Clone, Debug)]
pub struct FileOf {
    name: Name,
    folder: PathBuf,
    /// How many bytes of a plain file count.
    length: Option<u64>,
}

impl FileOf {
    /// Those of a trail that count, the oldest first.
    pub(super) fn all(trail: Trail) -> Vec<FileOf> {
        let Trail { folder, parts, .. } = trail;
        let file = |part: super::Part| {
            let length = part.length.filter(|_| matches!(part.name, Name::Plain(_)));
            FileOf { name: part.name, folder: folder.clone(), length }
        };
        parts.into_iter().map(file).collect()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.name.file()
    }

    /// Whether it never changes any more.
    pub fn is_sealed(&self) -> bool {
        matches!(self.name, Name::Sealed(_))
    }

    /// Its name, its bytes and what they are; a plain file that was sealed since it was listed is told as the sealed one. None: retention
    /// removed it meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(&self) -> io::Result<Option<(String, u64, impl Read + use<>)>> {
        let found = match File::open(self.name.within(&self.folder)) {
            Ok(file) => Some((self.name, self.length, file)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let name = Name::Sealed(self.name.file());
                match File::open(name.within(&self.folder)) {
                    Ok(file) => Some((name, None, file)),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        let Some((name, length, file)) = found else { return Ok(None) };
        let bytes = file.metadata()?.len();
        let bytes = length.map_or(bytes, |length| length.min(bytes));
        Ok(Some((name.to_string(), bytes, file.take(bytes))))
    }
}

/// The files of the trail of a data folder that nobody writes, as they lie there; none where there is no trail.
///
/// # Errors
/// It cannot be read.
pub fn files_at_rest(data: &Path) -> Result<Vec<FileOf>, String> {
    let told = |error: io::Error| format!("the audit trail cannot be read: {error}");
    let mut files = match Trail::list(&super::folder(data)) {
        Ok(trail) => FileOf::all(trail),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(told(error)),
    };
    if let Some(last) = files.last_mut().filter(|last| matches!(last.name, Name::Plain(_)) && last.length.is_none()) {
        let content = fs::read(last.name.within(&last.folder)).map_err(told)?;
        let written = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        last.length = Some((written + ZEROS_OF_EVENTS) as u64);
    }
    Ok(files)
}

/// Zeros that may be the end of the last event of a file, which is made ahead and full of them; far more than a hash has.
const ZEROS_OF_EVENTS: usize = 4_096;

/// Whether a file of a trail can be called so.
pub fn is_file_name(name: &str) -> bool {
    Name::parse(name).is_some()
}

/// The number up to which all files are sealed; 0 where the first is not.
pub fn sealed_until(files: &[FileOf]) -> u64 {
    files.iter().take_while(|file| file.is_sealed()).last().map_or(0, FileOf::number)
}

/// Puts a file back into the trail of a data folder, in the place of an earlier state of it, and makes it durable.
///
/// # Errors
/// The name is none of a trail's file, or the file cannot be written.
pub fn put_back(data: &Path, name: &str, content: &mut dyn Read) -> io::Result<()> {
    let name = Name::parse(name).ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "no name of a trail's file"))?;
    let folder = super::folder(data);
    if !folder.is_dir() {
        DirBuilder::new().mode(0o700).create(&folder)?;
    }
    let path = name.within(&folder);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    io::copy(content, &mut file)?;
    file.sync_all()?;
    if let Name::Sealed(number) = name {
        match fs::remove_file(Name::Plain(number).within(&folder)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    sync_folder(&path)
}
