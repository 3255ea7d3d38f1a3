//! Whose a file is. What belongs to another user can be read and changed by that user at any moment, whatever is checked before.

use std::ffi::CString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::group;

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

/// Whether a file has a POSIX access control list, which gives rights to single users beside the bits of its mode. `acl(5)`
pub fn has_acl(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let names = [c"system.posix_acl_access", c"system.posix_acl_default"];
    // SAFETY: both texts end with a zero and live through the call, which with a size of zero writes nothing.
    names.iter().any(|name| unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) } > 0)
}

/// The bits of a mode that give rights to other users than its owner. The group of this process counts as others where anybody else is in
/// it. Decision 300.
pub fn rights_of_others(path: &Path, found: &Metadata) -> u32 {
    let open = found.mode() & 0o077;
    // SAFETY: the call has no arguments, returns a number, and cannot fail.
    let is_own_group = || found.gid() == unsafe { libc::getegid() };
    // With an access control list the bits of the group are its mask: the most that anybody on it may do.
    match open & 0o070 != 0 && is_own_group() && !has_acl(path) && group::is_of_one(found.gid(), own_user()) {
        true => open & 0o007,
        false => open,
    }
}

/// Links on the way to one place; the system itself follows no more.
const LINKS_MAX: usize = 40;

/// What decides where a path leads.
#[derive(Debug, Default)]
pub struct ResolvedPath {
    /// Every folder in which a step of the way is looked up, also those that a link leads through, the nearest first. Without the last
    /// place itself; some of them need not be there.
    pub folders: Vec<PathBuf>,
    /// Every link on the way.
    pub links: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Follows a path, which need not lead anywhere.
    pub fn of(path: &Path) -> ResolvedPath {
        let mut way = ResolvedPath::default();
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let steps = |path: &Path| path.components().rev().map(|step| step.as_os_str().to_owned()).collect::<Vec<_>>();
        let (mut left, mut at) = (steps(&whole), PathBuf::new());
        while let Some(step) = left.pop() {
            match Path::new(&step).components().next() {
                Some(Component::RootDir) => at = PathBuf::from("/"),
                Some(Component::ParentDir) => drop(at.pop()),
                Some(Component::Normal(_)) => {
                    if !way.folders.contains(&at) {
                        way.folders.insert(0, at.clone());
                    }
                    let next = at.join(&step);
                    match fs::read_link(&next) {
                        Ok(target) if way.links.len() < LINKS_MAX => {
                            left.extend(steps(&target));
                            way.links.push(next);
                        }
                        _ => at = next,
                    }
                }
                _ => {}
            }
        }
        way
    }
}

/// Whether a folder can be filled with what nobody else may read or change. One that is not there is judged by those above it.
///
/// # Errors
/// It, or a folder above it, belongs to another user than root, or others can write to it: in words. In a folder above, the sticky bit
/// keeps others from exchanging what lies there.
pub fn expect_private(folder: &Path) -> Result<(), String> {
    expect_own(folder)?;
    let way = ResolvedPath::of(folder);
    way.links.iter().try_for_each(|link| expect_own(link))?;
    let itself = fs::canonicalize(folder).ok();
    for (path, is_folder) in itself.iter().map(|path| (path, true)).chain(way.folders.iter().map(|path| (path, false)))
    {
        let Ok(found) = fs::metadata(path) else { continue };
        let mode = found.mode();
        let is_open = rights_of_others(path, &found) & 0o022 != 0 && (is_folder || mode & 0o1000 == 0);
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

/// As [`expect_private`], of names in a folder that is private itself, and of the files in those that are folders, as far as others come to
/// them: they may pass through the folder, or a link leads out of it.
///
/// # Errors
/// As there, with the name.
pub fn expect_private_within(folder: &Path, names: &[&str]) -> Result<(), String> {
    let lets_pass = |folder: &Path| fs::metadata(folder).is_ok_and(|found| found.mode() & 0o011 != 0);
    let passes = lets_pass(folder);
    names.iter().try_for_each(|name| {
        let path = folder.join(name);
        let is_reached = path.exists() && (passes || path.is_symlink());
        let judged = match is_reached {
            true => expect_private(&path).and_then(|()| match lets_pass(&path) {
                true => expect_private_files(&path),
                false => Ok(()),
            }),
            false => expect_own(&path),
        };
        judged.map_err(|problem| format!("{name}: {problem}"))
    })
}

/// # Errors
/// Others can write to a file in the folder. Nothing where it is no folder.
fn expect_private_files(folder: &Path) -> Result<(), String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_open = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| rights_of_others(path, &found) & 0o022 != 0);
    match files.into_iter().find(is_open) {
        None => Ok(()),
        Some(path) => Err(format!(
            "{} in it can be written to by other users of this machine; run: chmod -R go-w {}",
            path.file_name().unwrap_or_default().display(),
            folder.display()
        )),
    }
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
    fn a_file_that_others_can_write_to_is_told_where_they_reach_it() {
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("audit");
        fs::create_dir(&audit).unwrap();
        fs::write(audit.join("1.log"), "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let judged = |of_folder, of_audit, of_file| {
            mode(folder.path(), of_folder);
            mode(&audit, of_audit);
            mode(&audit.join("1.log"), of_file);
            expect_private_within(folder.path(), &["audit", "none"])
        };
        for (modes, is_private) in [
            ((0o711, 0o711, 0o600), true),
            ((0o711, 0o700, 0o666), true),
            ((0o700, 0o711, 0o666), true),
            ((0o711, 0o711, 0o644), true),
            ((0o711, 0o711, 0o602), false),
        ] {
            assert_eq!(judged(modes.0, modes.1, modes.2).is_ok(), is_private, "{modes:?}");
        }
        assert!(judged(0o711, 0o711, 0o666).unwrap_err().contains("audit: 1.log in it"));
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
        // A link is exchanged where it lies.
        let (links, link) = (folder.path().join("links"), folder.path().join("links/link"));
        fs::create_dir(&links).unwrap();
        symlink("../above/data", &link).unwrap();
        for (mode, is_private) in [(0o755, true), (0o777, false), (0o1777, true)] {
            judged(0o755, 0o700);
            fs::set_permissions(&links, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(expect_private(&link).is_ok(), is_private, "{mode:o}");
            assert_eq!(expect_private(&link.join("new")).is_ok(), is_private, "{mode:o}");
        }
        let within = |of_data: u32, of_file: u32| {
            judged(0o755, of_data);
            fs::write(data.join("file"), "").unwrap();
            fs::set_permissions(data.join("file"), fs::Permissions::from_mode(of_file)).unwrap();
            expect_private_within(&data, &["file", "none"]).is_ok()
        };
        assert_eq!(
            [(0o755, 0o644), (0o755, 0o666), (0o711, 0o602), (0o700, 0o666)].map(|(a, b)| within(a, b)),
            [true, false, false, true]
        );
        if own_user() == 0 {
            lchown(&link, Some(4_242), None).unwrap();
            assert!(expect_private(&link.join("new")).unwrap_err().contains("user 4242"));
            judged(0o755, 0o700);
            chown(&above, Some(4_242), None).unwrap();
            assert!(expect_private(&data).unwrap_err().contains("user 4242"));
        }
    }
}
