//! Files of archives: what they are called, and how they are opened.

use std::fs::{self, File};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::archive_manifest::ArchiveManifest;
use base::regular_file;

/// How the names of archives begin.
pub(super) const PREFIX: &str = "hcert-";

/// How the name of an archive ends that is not whole yet.
pub(super) const PART: &str = ".part";

/// `hcert-20261122T101512345Z-000000000000-000000123456.tar`: time (UTC), the change behind which it begins, its last change.
pub(super) fn name(about: &ArchiveManifest) -> String {
    let time = jiff::Timestamp::from_millisecond(about.at).unwrap_or_default();
    let time = time.strftime("%Y%m%dT%H%M%S%3fZ");
    format!("{PREFIX}{time}-{:012}-{:012}.tar", about.after, about.until)
}

/// Files of a folder whose names end as those of archives, by their names.
pub(super) fn paths(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(ENDING).unwrap_or(&name).ends_with(".tar")
    });
    paths.sort();
    Ok(paths)
}

/// Whether a file of [`paths`] has a name that archives are given, and not one that a person chose.
pub(super) fn is_given(path: &Path) -> bool {
    path.file_name().unwrap_or_default().to_string_lossy().starts_with(PREFIX)
}

/// How the name of an encrypted archive ends, behind that of a plain one.
pub(super) const ENDING: &str = ".age";

/// Where the digest of an archive stands, as `sha256sum -c` reads it.
pub(super) fn digest_path(archive: &Path) -> PathBuf {
    with_ending(archive, ".sha256")
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// # Errors
/// The file cannot be read, or is none.
pub(super) fn open(path: &Path, buffer_bytes: usize) -> Result<BufReader<File>, String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    regular_file::refuse(path).map_err(told)?;
    let mut file = File::open(path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    file.seek(SeekFrom::Start(0)).map_err(told)?;
    Ok(BufReader::with_capacity(buffer_bytes, file))
}
