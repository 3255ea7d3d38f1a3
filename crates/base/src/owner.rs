//! Whose a file is. What belongs to another user can be read and changed by that user at any moment, whatever is checked before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The user that this process acts as.
pub fn own_user() -> u32 {
    // SAFETY: the call has no arguments, returns a number, and cannot fail.
    unsafe { libc::geteuid() }
}

/// The other user that owns a file, a folder, or the link that leads to it. None for this process's own, for what belongs to root, and
/// where there is nothing.
pub fn other_owner(path: &Path) -> Option<u32> {
    // A link to nothing has an owner too.
    let found = [fs::symlink_metadata(path).ok(), fs::metadata(path).ok()];
    let own = own_user();
    found.iter().flatten().map(MetadataExt::uid).find(|owner| *owner != 0 && *owner != own)
}

/// # Errors
/// What lies there, or the link that leads there, belongs to another user than root: in words that name both users and the way out.
pub fn expect_own(path: &Path) -> Result<(), String> {
    match other_owner(path) {
        None => Ok(()),
        Some(owner) => Err(format!(
            "it belongs to user {owner} of this machine, who could read and change what is written there; this command runs as user {own}: \
             run it as user {owner}, or name another place",
            own = own_user()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown, symlink};

    use super::*;

    #[test]
    fn what_another_user_owns_is_refused_and_so_is_a_link_of_that_user() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, none] = ["file", "link", "none"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!([&file, &link, &none].map(|path| other_owner(path)), [None, None, None]);
        assert_eq!(expect_own(Path::new("/dev/null")), Ok(()));
        // Only root can give a file away.
        if own_user() != 0 {
            return;
        }
        lchown(&link, Some(4_242), None).unwrap();
        symlink("/nowhere", &none).unwrap();
        lchown(&none, Some(4_244), None).unwrap();
        assert_eq!(other_owner(&none), Some(4_244));
        assert_eq!([&file, &link].map(|path| other_owner(path)), [None, Some(4_242)]);
        chown(&file, Some(4_243), None).unwrap();
        assert!(expect_own(&file).unwrap_err().contains("user 4243"));
    }
}
