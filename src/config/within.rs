//! Whether a path leads into a folder, by whatever way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Whether `path` is `folder` or lies below it: through links and `..`, and where the folder is mounted a second time. Neither has to be
/// there.
pub fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (real(path), real(folder));
    let number = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let known = number(&folder);
    path.ancestors().any(|above| above == folder || (known.is_some() && number(above) == known))
}

/// As [`is_within`], by names alone: the disk of a path may be one of the network that does not answer, and settings have to be read then too.
pub(super) fn is_within_by_name(path: &Path, folder: &Path) -> bool {
    let whole = |path: &Path| {
        let mut plain = PathBuf::new();
        for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                part => plain.push(part),
            }
        }
        plain
    };
    whole(path).starts_with(whole(folder))
}

/// The path without links and `..`, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
        if let Ok(found) = fs::canonicalize(&real) {
            real = found;
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_way_into_a_folder_is_overlooked() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("data/audit")).unwrap();
        fs::create_dir_all(at("elsewhere/deep")).unwrap();
        symlink(at("data"), at("link")).unwrap();
        symlink("../../data/audit", at("elsewhere/deep/way")).unwrap();
        for inside in [
            "data",
            "data/",
            "data/x.tar",
            "data/not/yet",
            "elsewhere/../data",
            "link",
            "link/x.tar",
            "elsewhere/deep/way/x.tar",
            "not/yet/../../data/x",
            "data/audit/..",
        ] {
            assert!(is_within(&at(inside), &at("data")), "{inside}");
        }
        for outside in [
            "",
            "data2",
            "data.tar",
            "elsewhere",
            "data/../elsewhere",
            "link/../x.tar",
            "elsewhere/deep/way/../../x.tar",
        ] {
            assert!(!is_within(&at(outside), &at("data")), "{outside}");
        }
        // The folder may be the one that is named by a link, or not there yet.
        assert!(is_within(&at("data/x.tar"), &at("link")));
        assert!(is_within(&at("new/x.tar"), &at("new")) && !is_within(&at("newer"), &at("new")));
    }
}
