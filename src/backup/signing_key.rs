//! The key that archives are signed with, in the data folder: how it is found, and made where there is none.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

use aws_lc_rs::signature::Ed25519KeyPair;

use base::held_folder::HeldFolder;
use base::{owner, regular_file};
use engine::STORE_FILE;

/// Name of the file in the data folder that archives are signed with.
pub const SIGNING_KEY_FILE: &str = "backup-signing-key";

/// A key that is being made has this name.
const UNFINISHED: &str = "backup-signing-key.new";

/// The key of a data folder, which is made where there is none.
///
/// # Errors
/// It cannot be read or made, or others could have put it there, in words.
pub(super) fn of(data: &Path) -> Result<Ed25519KeyPair, String> {
    let folder = HeldFolder::open(data).map_err(|error| format!("{}: {error}", data.display()))?;
    in_folder(&folder).map_err(|problem| format!("{}: {problem}", data.join(SIGNING_KEY_FILE).display()))
}

fn in_folder(folder: &HeldFolder) -> Result<Ed25519KeyPair, String> {
    let bytes = match read(folder)? {
        Some(bytes) => bytes,
        None => {
            make(folder)?;
            read(folder)?.ok_or("it was removed while it was made")?
        }
    };
    Ed25519KeyPair::from_pkcs8(&bytes).map_err(|_| {
        "it is no signing key; put it back from a copy, or remove it: the next backup makes another one".to_owned()
    })
}

/// Bytes that are read of the file, which has some hundred.
const SIGNING_KEY_BYTES_MAX: u64 = 16 * 1024;

/// What the file holds; nothing where there is none.
fn read(folder: &HeldFolder) -> Result<Option<Vec<u8>>, String> {
    let file = match regular_file::open_itself(&folder.within(SIGNING_KEY_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    expect_own(folder, &file)?;
    let mut bytes = Vec::new();
    file.take(SIGNING_KEY_BYTES_MAX).read_to_end(&mut bytes).map_err(told)?;
    Ok(Some(bytes))
}

/// Whoever can read the key can sign for the service, and whoever can write to it can lay another one there. Decision 290.
///
/// # Errors
/// The file belongs to another user than the folder and root, or others can read or change it.
fn expect_own(folder: &HeldFolder, file: &File) -> Result<(), String> {
    let (of_folder, found) = (folder.metadata().map_err(told)?.uid(), file.metadata().map_err(told)?);
    if found.uid() != of_folder && found.uid() != 0 {
        return Err(format!(
            "it belongs to user {} and the data folder to user {of_folder}; remove it, or run: chown {of_folder}",
            found.uid()
        ));
    }
    match owner::rights_of_others(&folder.within(SIGNING_KEY_FILE), &found) {
        0 => Ok(()),
        _ => Err(format!(
            "it can be read or changed by other users of this machine (mode {:04o}); run: chmod 600, and make another one (remove it) \
             if somebody may have read it",
            found.mode() & 0o7777
        )),
    }
}

/// Under its name it is whole; of two that are made at once one counts.
fn make(folder: &HeldFolder) -> Result<(), String> {
    let made = Ed25519KeyPair::generate().map_err(|_| "no key can be made: no random numbers")?;
    let bytes = made.to_pkcs8v1().map_err(|_| "no key can be made")?;
    if !folder.within(STORE_FILE).exists() {
        return Err("there is no store in this folder to sign for".to_owned());
    }
    let unfinished = folder.within(UNFINISHED);
    let mut file = regular_file::make_anew(&unfinished).map_err(told)?;
    // Before anything is in it. Made by root, it is for the service's user all the same.
    let of = folder.metadata().map_err(told)?;
    if owner::own_user() == 0 && of.uid() != 0 {
        fchown(&file, Some(of.uid()), Some(of.gid())).map_err(told)?;
    }
    file.write_all(bytes.as_ref()).and_then(|()| file.sync_all()).map_err(told)?;
    let named = fs::hard_link(&unfinished, folder.within(SIGNING_KEY_FILE));
    drop(fs::remove_file(&unfinished));
    match named {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(told(error)),
        _ => folder.file().sync_all().map_err(told),
    }
}

fn told(error: io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn data_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(STORE_FILE), "").unwrap();
        folder
    }

    /// What was seen: root took a backup of another user's folder, and a file of root's was emptied and given to that user.
    #[test]
    fn a_key_is_made_through_no_link_and_touches_nothing_else() {
        let (folder, precious) = (data_folder(), tempfile::NamedTempFile::new().unwrap());
        fs::write(precious.path(), "text").unwrap();
        symlink(precious.path(), folder.path().join(UNFINISHED)).unwrap();
        // Who is not root gives nothing away.
        let is_given = chown(folder.path(), Some(4_242), Some(4_242)).is_ok();
        of(folder.path()).unwrap();
        let found = fs::metadata(precious.path()).unwrap();
        assert_eq!((fs::read_to_string(precious.path()).unwrap().as_str(), found.uid()), ("text", owner::own_user()));
        let key = fs::symlink_metadata(folder.path().join(SIGNING_KEY_FILE)).unwrap();
        assert_eq!((key.is_file(), key.mode() & 0o777, key.uid() == 4_242), (true, 0o600, is_given));
        assert!(!folder.path().join(UNFINISHED).exists());
        // One of that user's own that is held open, or that others can read, is not taken over.
        fs::remove_file(folder.path().join(SIGNING_KEY_FILE)).unwrap();
        fs::write(folder.path().join(UNFINISHED), "theirs").unwrap();
        fs::set_permissions(folder.path().join(UNFINISHED), fs::Permissions::from_mode(0o666)).unwrap();
        let theirs = File::open(folder.path().join(UNFINISHED)).unwrap();
        of(folder.path()).unwrap();
        assert_eq!(theirs.metadata().unwrap().len(), 6);
    }

    #[test]
    fn a_key_that_others_could_have_put_there_signs_nothing() {
        let (folder, other) = (data_folder(), data_folder());
        of(folder.path()).unwrap();
        of(other.path()).unwrap();
        let path = folder.path().join(SIGNING_KEY_FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(of(folder.path()).unwrap_err().contains("(mode 0604)"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if chown(&path, Some(4_242), None).is_ok() {
            assert!(of(folder.path()).unwrap_err().contains("it belongs to user 4242"));
        }
        fs::remove_file(&path).unwrap();
        symlink(other.path().join(SIGNING_KEY_FILE), &path).unwrap();
        assert!(of(folder.path()).unwrap_err().ends_with("it is a link and no regular file; remove it"));
    }
}
