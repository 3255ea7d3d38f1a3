//! Whether a data folder can be written to, and if not, why, in words that name the mount or the owner: "Permission denied" names neither.

use std::ffi::CString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::audit;
use base::owner;
use engine::STORE_FILE;

/// Why nothing can be written into a data folder; none when it can be, or when nobody can tell. A folder that is not there yet is judged
/// by the one it would be made in.
pub(super) fn hindrance(folder: &Path) -> Option<String> {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = whole.ancestors().find(|path| path.exists())?;
    if !there.is_dir() {
        return Some(format!("{} is a file and not a folder", there.display()));
    }
    // Root may write anywhere, and a group wherever it has the right. Whoever owns the folder has prepared what would be written through.
    if let Some(other) = owner::other_owner(folder) {
        return Some(format!("the folder {}", foreign(other)));
    }
    let store = folder.join(STORE_FILE);
    let audit = Some(audit::folder(folder)).filter(|audit| audit.is_dir());
    let to_make = libc::W_OK | libc::X_OK;
    let parts = [(there, to_make), (store.as_path(), libc::W_OK)].into_iter();
    let mut parts = parts.chain(audit.as_deref().map(|audit| (audit, to_make)));
    let (path, error) = parts.find_map(|(path, mode)| Some((path, refused(path, mode)?)))?;
    in_words(path, &error)
}

/// Why a file or folder cannot be read, where the system refuses it to this user.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> String {
    let owner = path.ancestors().find_map(|path| fs::metadata(path).ok());
    match owner {
        Some(found) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("it cannot be read: it {}", owned(&found))
        }
        _ => error.to_string(),
    }
}

/// What the system says to this process that wants to write; nothing is written to learn it. It answers for the real user, who is the
/// effective one as well: the call that tells them apart is younger, and sandboxes refuse what they do not know.
fn refused(path: &Path, mode: libc::c_int) -> Option<io::Error> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name is a text that ends with a zero and lives through the call, which only reads it.
    let answer = unsafe { libc::access(name.as_ptr(), mode) };
    (answer != 0).then(io::Error::last_os_error)
}

fn in_words(path: &Path, error: &io::Error) -> Option<String> {
    match error.raw_os_error()? {
        libc::EROFS => {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            Some(match mount_of(&mounts, &whole) {
                Some(Mount { at, kind, source }) => {
                    format!("{} ({kind}, {source}) is mounted read-only", at.display())
                }
                None => "its file system is mounted read-only".to_owned(),
            })
        }
        libc::EACCES | libc::EPERM => {
            let found = fs::metadata(path).ok()?;
            Some(format!("{} {}", named(path), owned(&found)))
        }
        // Whoever writes meets it.
        _ => None,
    }
}

/// Which of the three that a command writes to; the message before names the folder.
fn named(path: &Path) -> &'static str {
    match path {
        path if path.ends_with(STORE_FILE) => STORE_FILE,
        path if path.ends_with("audit") => "audit/",
        _ => "the folder",
    }
}

/// Who owns it, and who is asking, as the end of a sentence that begins with its name.
fn owned(found: &fs::Metadata) -> String {
    match found.uid() == owner::own_user() {
        true => format!("has the mode {:04o}", found.mode() & 0o7777),
        false => foreign(found.uid()),
    }
}

fn foreign(owner: u32) -> String {
    format!("belongs to {} and this command runs as {}", user(owner), user(owner::own_user()))
}

/// `hcert (999)`, or the number alone.
fn user(number: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(&users, number).map_or_else(|| format!("user {number}"), |name| format!("{name} ({number})"))
}

fn name_of(users: &str, number: u32) -> Option<String> {
    let of = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    };
    users.lines().find_map(of)
}

/// A mounted file system.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    at: PathBuf,
    kind: String,
    source: String,
}

/// The mount that a path lies on, in words.
pub(super) fn mount_at(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let whole = fs::canonicalize(path).ok()?;
    mount_of(&mounts, &whole).map(|mount| mount.to_string())
}

impl fmt::Display for Mount {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}, {} of {}", self.at.display(), self.kind, self.source)
    }
}

/// The mount that a path lies on, of those in `/proc/self/mountinfo`: the last of the longest.
fn mount_of(mounts: &str, path: &Path) -> Option<Mount> {
    let read = |line: &str| {
        let (before, behind) = line.split_once(" - ")?;
        let mut behind = behind.split(' ');
        let at = PathBuf::from(unescaped(before.split(' ').nth(4)?));
        let (kind, source) = (behind.next()?.to_owned(), unescaped(behind.next()?));
        path.starts_with(&at).then_some(Mount { at, kind, source })
    };
    mounts.lines().filter_map(read).max_by_key(|mount| mount.at.components().count())
}

/// Blanks stand as `\\040` there, and a few others likewise.
fn unescaped(text: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(text.to_owned(), |text, (escaped, letter)| text.replace(escaped, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 22 0:35 / /mnt rw - tmpfs tmpfs rw\n\
        41 40 8:17 /day /mnt/of\\040monday ro,relatime shared:9 master:2 - xfs /dev/sdb1 rw\n";

    #[test]
    fn a_path_lies_on_the_innermost_mount() {
        let at = |path: &str| mount_of(MOUNTS, Path::new(path)).map(|mount| (mount.at, mount.kind, mount.source));
        let told = |at: &str, kind: &str, source: &str| Some((PathBuf::from(at), kind.to_owned(), source.to_owned()));
        assert_eq!(at("/srv/hcert"), told("/", "ext4", "/dev/sda1"));
        assert_eq!(at("/mnt/hcert"), told("/mnt", "tmpfs", "tmpfs"));
        assert_eq!(at("/mnt/of monday/hcert"), told("/mnt/of monday", "xfs", "/dev/sdb1"));
        assert_eq!(at("/mnt/of mondays"), told("/mnt", "tmpfs", "tmpfs"));
        assert_eq!(mount_of("nonsense\n", Path::new("/srv")), None);
    }

    #[test]
    fn a_read_only_mount_and_a_foreign_owner_are_named() {
        let told = in_words(Path::new("/"), &io::Error::from_raw_os_error(libc::EROFS)).unwrap();
        assert!(told.starts_with("/ (") && told.ends_with("is mounted read-only"), "{told}");
        let told = in_words(Path::new("/"), &io::Error::from_raw_os_error(libc::EACCES)).unwrap();
        assert!(told.contains("belongs to") || told.contains("has the mode"), "{told}");
        assert_eq!(in_words(Path::new("/"), &io::Error::from_raw_os_error(libc::EIO)), None);
        assert_eq!(
            name_of("root:x:0:0:root:/root:/bin/sh\nhcert:x:999:998::/:/bin/false\n", 999).as_deref(),
            Some("hcert")
        );
        assert_eq!(name_of("root:x:0:0\nbroken\n", 7), None);
    }

    #[test]
    fn a_folder_of_ours_can_be_written_to_and_so_can_one_that_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(hindrance(folder.path()), None);
        assert_eq!(hindrance(&folder.path().join("not/yet")), None);
    }
}
