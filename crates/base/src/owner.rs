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

/// Whether a folder can be filled with what nobody else may read or change. One that is not there is judged by those above it.
///
/// # Errors
/// It, or a folder above it, belongs to another user than root, or others can write to it: in words. In a folder above, the sticky bit
/// keeps others from exchanging what lies there.
pub fn expect_private(folder: &Path) -> Result<(), String> {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = whole.ancestors().find_map(|path| fs::canonicalize(path).ok()).unwrap_or_default();
    let is_there = folder.exists();
    expect_own(folder)?;
    for (above, path) in there.ancestors().enumerate() {
        let Ok(found) = fs::metadata(path) else { continue };
        let mode = found.mode();
        // SAFETY: the call has no arguments, returns a number, and cannot fail.
        let is_own_group = found.gid() == unsafe { libc::getegid() };
        let others = if is_own_group { 0o002 } else { 0o022 };
        let is_folder = is_there && above == 0;
        let is_open = mode & others != 0 && (is_folder || mode & 0o1000 == 0);
        let name = || if is_folder { "it".to_owned() } else { format!("the folder above it, {},", path.display()) };
        if is_open {
            return Err(format!(
                "{} can be written to by other users of this machine (mode {:04o}), who could put files of theirs there; run: chmod go-w {}",
                name(),
                mode & 0o7777,
                path.display()
            ));
        }
        if !is_folder && let Some(owner) = other_owner(path) {
            return Err(format!(
                "{} belongs to user {owner} of this machine, who could put another folder in its place; name another place",
                name()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

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

    #[test]
    fn a_folder_that_others_can_write_to_or_exchange_is_not_private() {
        let folder = tempfile::tempdir().unwrap();
        let (above, data) = (folder.path().join("above"), folder.path().join("above/data"));
        fs::create_dir_all(&data).unwrap();
        let judged = |of_above: u32, of_data: u32| {
            fs::set_permissions(&above, fs::Permissions::from_mode(of_above)).unwrap();
            fs::set_permissions(&data, fs::Permissions::from_mode(of_data)).unwrap();
            (expect_private(&data).is_ok(), expect_private(&data.join("new/deep")).is_ok())
        };
        assert_eq!(judged(0o755, 0o700), (true, true));
        assert_eq!(judged(0o755, 0o777), (false, false));
        assert_eq!(judged(0o755, 0o1777), (false, true), "what is made in it is ours");
        assert_eq!(judged(0o777, 0o700), (false, false));
        assert_eq!(judged(0o1777, 0o700), (true, true));
        if own_user() == 0 {
            judged(0o755, 0o700);
            chown(&above, Some(4_242), None).unwrap();
            assert!(expect_private(&data).unwrap_err().contains("user 4242"));
        }
    }
}
