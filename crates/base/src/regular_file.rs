//! Files that have to be regular ones: opening a FIFO waits for its other end, and a device may never end.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::owner;

/// Opens a file to be read. Never waits for a writer, as opening a named pipe does.
///
/// # Errors
/// The system refuses, or it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    expect_regular(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// What a file holds that a person named.
///
/// # Errors
/// As [`open`], or it cannot be read, or has more bytes.
pub fn contents(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(io::Error::new(ErrorKind::InvalidData, format!("it has more than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// As [`contents`], as text.
///
/// # Errors
/// As there, or it is no UTF-8.
pub fn text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(contents(path, bytes_max)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// As [`open`], of a file that lies where its path says: whoever can write to the folder may have put a link to a file of somebody else in
/// its place.
///
/// # Errors
/// As there, or it is a link.
pub fn open_itself(path: &Path) -> io::Result<File> {
    expect_regular(open_no_link(path, OpenOptions::new().read(true))?)
}

/// The first bytes of such a file, as many at most: one that somebody else made as large as a disk takes no more memory than one of ours.
///
/// # Errors
/// As [`open_itself`], or it cannot be read.
pub fn read_itself(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open_itself(path)?;
    // At once, since growing would copy.
    let length = file.metadata()?.len().min(bytes_max);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`read_itself`], of a file that was made ahead and full of zeros: without those at its end but for some, and the bytes of the whole
/// file. It takes as much memory as was written.
///
/// # Errors
/// As there.
pub fn read_written(path: &Path, bytes_max: u64) -> io::Result<(Vec<u8>, u64)> {
    let (mut bytes, mut zeros) = (Vec::new(), 0);
    each_block(path, bytes_max, |block| {
        if is_zero(block) {
            zeros += block.len();
        } else {
            bytes.resize(bytes.len() + zeros, 0);
            bytes.extend_from_slice(block);
            zeros = 0;
        }
        true
    })?;
    let whole = (bytes.len() + zeros) as u64;
    bytes.resize(bytes.len() + zeros.min(BLOCK_BYTES), 0);
    Ok((bytes, whole))
}

/// Whether such a file holds nothing but zeros.
///
/// # Errors
/// As [`read_itself`].
pub fn is_unwritten(path: &Path, bytes_max: u64) -> io::Result<bool> {
    let mut is_unwritten = true;
    each_block(path, bytes_max, |block| {
        is_unwritten = is_zero(block);
        is_unwritten
    })?;
    Ok(is_unwritten)
}

/// Reads a file block by block, for as long as `goes_on` says so.
fn each_block(path: &Path, bytes_max: u64, mut goes_on: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut file = open_itself(path)?.take(bytes_max);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(count) if !goes_on(&block[..count]) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// Bytes that are read at once of a file that was made ahead.
const BLOCK_BYTES: usize = 64 * 1024;

/// Whether all of these bytes are zero. No byte ends it early, so that many are looked at with one instruction.
pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

/// As [`open_itself`], to be read and written.
///
/// # Errors
/// As there.
pub fn open_itself_to_write(path: &Path) -> io::Result<File> {
    expect_regular(open_no_link(path, OpenOptions::new().read(true).write(true))?)
}

/// How a file is opened that an operator may have put elsewhere by a link. In a folder of another user that user may have laid one to a
/// file of somebody else, so there no link is followed. Decision 293.
pub fn following(path: &Path) -> OpenOptions {
    let mut options = OpenOptions::new();
    if path.parent().is_some_and(|folder| owner::other_owner(folder).is_some()) {
        options.custom_flags(libc::O_NOFOLLOW);
    }
    options
}

/// Makes an empty file for its owner only (0600), to be read and written. What a run that was cut off, or somebody else, left under its
/// name is removed and never written through.
///
/// # Errors
/// What lies there cannot be removed, somebody else was faster, or the system refuses.
pub fn make_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // With O_EXCL the system follows no link either.
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Empties a file, or makes it as [`make_anew`] does where there is none. It works on a disk that takes no new file in place of an old one.
///
/// # Errors
/// It is a link, or no regular file, or the system refuses.
pub fn make_empty(path: &Path) -> io::Result<File> {
    let file = expect_regular(open_no_link(path, OpenOptions::new().write(true).create(true).truncate(false))?)?;
    file.set_len(0)?;
    Ok(file)
}

fn open_no_link(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::new(ErrorKind::InvalidInput, LINK),
            _ => error,
        }
    })
}

/// What is said of a link where a file of our own should be.
const LINK: &str = "it is a link and no regular file; remove it";

fn expect_regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Whether an open file is what lies at a path, which is no link to it.
pub fn is_at(path: &Path, file: &File) -> bool {
    let id = |found: Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(id);
    there.is_ok_and(|there| file.metadata().map(id).is_ok_and(|own| own == there))
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
    fn of_a_file_made_ahead_what_was_written_is_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let size = 3 * BLOCK_BYTES + 5;
        let all = size as u64;
        for ends in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 7, size] {
            let mut content = vec![0; size];
            // Zeros before the last byte are part of what was written.
            if let Some(last) = ends.checked_sub(1) {
                content[last] = 7;
            }
            fs::write(&path, &content).unwrap();
            let (read, whole) = read_written(&path, u64::MAX).unwrap();
            assert_eq!((whole, is_unwritten(&path, u64::MAX).unwrap()), (all, ends == 0));
            assert!(read.len() >= ends && read.len() <= (ends + 2 * BLOCK_BYTES).min(size), "{ends}: {}", read.len());
            assert!(read == content[..read.len()] && (read.len() > ends || ends == size), "{ends}");
            assert_eq!(read_written(&path, 10).unwrap(), (content[..10].to_vec(), 10));
        }
        assert!(is_unwritten(&path, 10).unwrap() && !is_unwritten(&path, all).unwrap());
        assert!(read_written(&place.path().join("none"), 10).is_err());
    }

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
        for refused in [open_itself(&link), open_itself_to_write(&link), make_empty(&link)] {
            assert_eq!(refused.unwrap_err().to_string(), LINK);
        }
        assert_eq!(super::text(&file, 4).unwrap(), "text");
        assert_eq!(super::text(&file, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        assert_eq!(
            (read_itself(&file, 4).unwrap(), read_itself(&file, 2).unwrap()),
            (b"text".to_vec(), b"te".to_vec())
        );
    }

    #[test]
    fn a_link_is_followed_in_ones_own_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let opened = |path: &Path| following(path).read(true).open(path).is_ok();
        assert!(opened(&link) && opened(&file));
        // Only root can give a folder away.
        if std::os::unix::fs::chown(folder.path(), Some(4_242), None).is_ok() {
            assert!(!opened(&link) && opened(&file));
        }
    }

    /// A link that another user had put under the name of a temporary file emptied the file that it led to.
    #[test]
    fn what_is_made_anew_is_written_through_no_link_and_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [precious, new] = ["precious", "new"].map(|name| folder.path().join(name));
        std::fs::write(&precious, "text").unwrap();
        std::os::unix::fs::symlink(&precious, &new).unwrap();
        drop(make_anew(&new).unwrap());
        assert!(!new.is_symlink());
        // One that others can read is not taken over.
        std::fs::write(&new, "left").unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o666)).unwrap();
        let made = make_anew(&new).unwrap().metadata().unwrap();
        assert_eq!((made.len(), made.permissions().mode() & 0o777), (0, 0o600));
        std::fs::write(&new, "left").unwrap();
        assert_eq!(make_empty(&new).unwrap().metadata().unwrap().len(), 0);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "text");
    }
}
