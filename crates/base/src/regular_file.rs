//! Files that have to be regular ones: opening a FIFO waits for its other end, and a device may never end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file to be read. Never waits for a writer, as opening a named pipe does.
///
/// # Errors
/// The system refuses, or it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Whether a path leads to a FIFO or a device, in words: `a FIFO`. Nothing for every other kind of file, and where there is none.
pub fn kind(path: &Path) -> Option<&'static str> {
    let kind = fs::metadata(path).ok()?.file_type();
    match (kind.is_fifo(), kind.is_char_device() || kind.is_block_device()) {
        (true, _) => Some("a FIFO"),
        (_, true) => Some("a device"),
        _ => None,
    }
}

/// A FIFO or a device that lies in a folder, in words: `meta.json is a FIFO and no regular file`. Nothing where the folder cannot be read.
pub fn irregular_in(folder: &Path) -> Option<String> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    entries.find_map(|entry| {
        let kind = kind(&entry.path())?;
        Some(format!("{} is {kind} and no regular file", entry.file_name().display()))
    })
}

/// # Errors
/// It is a FIFO or a device.
pub fn refuse(path: &Path) -> io::Result<()> {
    match kind(path) {
        Some(kind) => Err(io::Error::other(format!("it is {kind} and no regular file"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_waits_for_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, file, link] = ["pipe", "file", "link"].map(|name| folder.path().join(name));
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name lives through the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/null")] {
            assert_eq!(open(path).unwrap_err().to_string(), "it is no regular file", "{}", path.display());
        }
        let mut text = String::new();
        open(&link).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
