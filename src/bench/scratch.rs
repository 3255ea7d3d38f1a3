//! The folder a bench works in: empty before, gone afterwards.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stop::BenchError;

/// Removes what it holds when it is dropped, and itself where it was made here.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    made: bool,
    keep: bool,
}

impl Scratch {
    /// Takes a folder that is not there yet, or empty.
    ///
    /// # Errors
    /// It holds something, is no folder, or cannot be made.
    pub(super) fn take(path: &Path, keep: bool) -> Result<Scratch, BenchError> {
        let shown = path.display();
        let problem = |error: io::Error| BenchError::Plan(format!("{shown}: {error}"));
        let made = match fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
            Ok(true) => {
                return Err(BenchError::Plan(format!(
                    "{shown} holds something already and is left as it is; a bench fills an empty folder and removes what it made. Name \
                     another one with --data, or remove it if a bench that was killed left it"
                )));
            }
            Ok(false) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(path).map_err(problem)?;
                true
            }
            Err(error) => return Err(problem(error)),
        };
        let path = fs::canonicalize(path).map_err(problem)?;
        Ok(Scratch { path, made, keep })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new folder inside.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, BenchError> {
        let path = self.path.join(name);
        fs::create_dir(&path).map_err(|error| BenchError::failed(path.display(), error))?;
        Ok(path)
    }

    /// Removes one of the folders, when nothing is to be kept.
    pub(super) fn remove(&self, folder: &Path) {
        if !self.keep {
            drop(fs::remove_dir_all(folder));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if self.made {
            drop(fs::remove_dir_all(&self.path));
        } else if let Ok(entries) = fs::read_dir(&self.path) {
            for path in entries.flatten().map(|entry| entry.path()) {
                drop(if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) });
            }
        }
    }
}

/// Bytes that files below a folder take on disk, holes not counted.
///
/// # Errors
/// A folder cannot be listed.
pub(super) fn disk_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { disk_bytes(&entry.path())? } else { about.blocks() * 512 };
    }
    Ok(bytes)
}

/// Free bytes of the file system a folder lies on, for this user.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let about = file_system(folder)?;
    // Both are as wide as the platform makes them.
    #[allow(clippy::unnecessary_cast)]
    Some((about.f_bavail as u64).saturating_mul(about.f_bsize as u64))
}

/// What `statfs` says of the file system a folder lies on.
pub(super) fn file_system(folder: &Path) -> Option<libc::statfs> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends with a zero and the structure is our own; both live through the call.
    let done = unsafe { libc::statfs(path.as_ptr(), about.as_mut_ptr()) } == 0;
    // SAFETY: a call that succeeds has filled the structure.
    done.then(|| unsafe { about.assume_init() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_refused_and_left_as_it_is() {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("mine"), "text").unwrap();
        let Err(BenchError::Plan(words)) = Scratch::take(outer.path(), false) else { panic!("it was taken") };
        assert!(words.contains("holds something already"), "{words}");
        assert_eq!(fs::read_to_string(outer.path().join("mine")).unwrap(), "text");
        assert!(matches!(Scratch::take(&outer.path().join("mine"), false), Err(BenchError::Plan(_))));
    }

    #[test]
    fn what_was_made_is_removed_and_what_was_there_stays() {
        let outer = tempfile::tempdir().unwrap();
        for there in [false, true] {
            let path = outer.path().join("scratch");
            if there {
                fs::create_dir(&path).unwrap();
            }
            let scratch = Scratch::take(&path, false).unwrap();
            let folder = scratch.folder("1000").unwrap();
            fs::write(folder.join("store"), [1; 10_000]).unwrap();
            fs::write(scratch.path().join("log"), "text").unwrap();
            assert!(disk_bytes(scratch.path()).unwrap() >= 10_000);
            drop(scratch);
            assert_eq!(path.exists(), there);
            assert!(!there || fs::read_dir(&path).unwrap().next().is_none());
        }
    }

    #[test]
    fn what_is_to_be_kept_is_kept() {
        let outer = tempfile::tempdir().unwrap();
        let scratch = Scratch::take(&outer.path().join("scratch"), true).unwrap();
        let folder = scratch.folder("a").unwrap();
        scratch.remove(&folder);
        drop(scratch);
        assert!(folder.is_dir());
        assert!(free_bytes(outer.path()).unwrap() > 0);
    }
}
