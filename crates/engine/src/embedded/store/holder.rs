//! Who has the folder: `hcert.pid` in it says which process, for the error of a second process that finds it in use.
//!
//! The lock of the file is what decides; this is only told. What a killed process left behind is not believed: a process counts when one
//! with this number runs that was started at the same moment.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base::{owner, regular_file};

const NAME: &str = "hcert.pid";

/// Bytes that are read of that file: it has one line.
const HOLDER_BYTES_MAX: u64 = 64 * 1024;

/// A process that has a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHolder {
    id: u32,
    /// When it was started, in the kernel's ticks since the machine was.
    started: u64,
    /// Program and first argument: more could name a person.
    command: String,
}

impl FolderHolder {
    /// Who says that it has a folder, and runs.
    pub fn of(folder: &Path) -> Option<FolderHolder> {
        let text = String::from_utf8(regular_file::read_itself(&folder.join(NAME), HOLDER_BYTES_MAX).ok()?).ok()?;
        let mut words = text.trim_end().splitn(3, ' ');
        let holder = FolderHolder {
            id: words.next()?.parse().ok()?,
            started: words.next()?.parse().ok()?,
            command: words.next()?.chars().filter(|letter| !letter.is_control()).take(100).collect(),
        };
        (started(holder.id) == Some(holder.started)).then_some(holder)
    }

    fn this() -> Option<FolderHolder> {
        let mut arguments = std::env::args_os();
        let program = arguments.next().map(PathBuf::from);
        let program = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let command = [program, arguments.next().map(|argument| argument.to_string_lossy().into_owned())];
        let command = command.into_iter().flatten().collect::<Vec<_>>().join(" ");
        Some(FolderHolder { id: std::process::id(), started: started(std::process::id())?, command })
    }
}

impl fmt::Display for FolderHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "process {} ({})", self.id, self.command)
    }
}

/// When a process was started; nothing when none with this number runs, or the system does not tell.
fn started(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in brackets and may hold anything; the start is the twentieth word behind it.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Says that this process has a folder, until it is dropped.
pub(super) struct Holding {
    path: PathBuf,
    /// What lies there.
    file: File,
    /// What lay there, to be put back.
    before: Option<Vec<u8>>,
}

impl Holding {
    /// Writes the file (0600). None when that cannot be done, which hinders nothing.
    pub(super) fn begin(folder: &Path) -> Option<Holding> {
        Self::at(folder.join(NAME), None)
    }

    /// As [`begin`](Self::begin), for whoever leaves the folder as it was: what a killed process left there comes back at the end.
    pub(super) fn beside(folder: &Path) -> Option<Holding> {
        // Nothing is left in a folder of another user, who could exchange it meanwhile.
        if owner::other_owner(folder).is_some() {
            return None;
        }
        let path = folder.join(NAME);
        let before = regular_file::read_itself(&path, HOLDER_BYTES_MAX).ok();
        Self::at(path, before)
    }

    fn at(path: PathBuf, before: Option<Vec<u8>>) -> Option<Holding> {
        let FolderHolder { id, started, command } = FolderHolder::this()?;
        let mut file = regular_file::make_anew(&path).ok()?;
        writeln!(file, "{id} {started} {}", command.replace('\n', " ")).ok()?;
        Some(Holding { path, file, before })
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // Where the folder was moved away another process may have another one by now.
        if !regular_file::is_at(&self.path, &self.file) {
            return;
        }
        drop(fs::remove_file(&self.path));
        if let Some(before) = &self.before {
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path);
            drop(made.and_then(|mut file| file.write_all(before)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_while_it_has_the_folder_and_one_that_is_gone_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(FolderHolder::of(folder.path()), None);
        let holding = Holding::begin(folder.path()).unwrap();
        let told = FolderHolder::of(folder.path()).unwrap();
        assert_eq!(told.id, std::process::id());
        assert!(told.to_string().starts_with(&format!("process {} (engine", std::process::id())), "{told}");
        drop(holding);
        assert_eq!(FolderHolder::of(folder.path()), None);
        let path = folder.path().join(NAME);
        fs::write(&path, "left behind").unwrap();
        let beside = Holding::beside(folder.path()).unwrap();
        assert_eq!(FolderHolder::of(folder.path()).as_ref(), Some(&told));
        drop(beside);
        assert_eq!(fs::read(&path).unwrap(), b"left behind");
        // The folder was moved away, and another process has the one that lies there now.
        let holding = Holding::begin(folder.path()).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::write(&path, "of another process").unwrap();
        drop(holding);
        assert_eq!(fs::read(&path).unwrap(), b"of another process");
        // Its number may be given to another process: when that was started tells them apart.
        let (id, started) = (told.id, told.started);
        for left in [format!("{id} {} hcert serve", started + 1), "1".into(), String::new(), "x y z".into()] {
            fs::write(folder.path().join(NAME), left).unwrap();
            assert_eq!(FolderHolder::of(folder.path()), None);
        }
    }
}
