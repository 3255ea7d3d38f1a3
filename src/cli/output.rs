//! Where a command writes its result: standard output, or the file of `--out`. One rule for every command. Decision 205.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failure, disk_space};
use base::{owner, regular_file};
use engine::STORE_FILE;

/// Flags of every command whose result can be a file.
#[derive(Args, Debug, Default)]
pub(super) struct OutputArguments {
    /// Write to this file instead of standard output; - is standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file of --out if it exists; it keeps its content until the new one is complete
    #[arg(long, requires = "out")]
    pub force: bool,
}

impl OutputArguments {
    /// The file, where it is none of standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Opens the output, as [`target`](Self::target) says.
    ///
    /// # Errors
    /// Those of `target`, or the file cannot be made.
    pub(super) fn open(&self) -> Result<OpenOutput, Failure> {
        self.target()?.open()
    }

    /// Where the output will go; nothing is made yet. A new file is written under its own name; one that is replaced gets its content in the
    /// end. Devices and pipes are written to as they are.
    ///
    /// # Errors
    /// There is such a file and `force` is not given, it is a folder, or it belongs to another user.
    pub(super) fn target(&self) -> Result<OutputTarget, Failure> {
        let Some(path) = self.file() else { return Ok(OutputTarget::Stdout) };
        let failed = |problem: String| Failure::Failed(format!("{}: {problem}", path.display()));
        if let Some(folder) = missing_folder(path) {
            return Err(Failure::Failed(no_folder(&folder)));
        }
        if !is_descriptor(path) {
            owner::expect_own(path).map_err(failed)?;
            if is_in_data_folder(path) {
                return Err(Failure::Usage(format!(
                    "{}: this lies in a data folder, whose files are the service's own; name a file elsewhere",
                    path.display()
                )));
            }
        }
        Ok(match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(failed("this is a folder; name a file in it".to_owned())),
            Ok(found) if !found.is_file() || is_descriptor(path) => OutputTarget::AsItIs(path.to_owned()),
            Ok(_) if !self.force => {
                return Err(failed("File exists; name another file, or add --force to replace it".to_owned()));
            }
            // What a link leads to is replaced, not the link.
            Ok(_) => OutputTarget::Replaced(fs::canonicalize(path).map_err(|error| failed(error.to_string()))?),
            Err(_) if path.is_symlink() => {
                return Err(failed("this is a link to nothing; name another file".to_owned()));
            }
            Err(_) => OutputTarget::New(path.to_owned()),
        })
    }
}

/// Whether a file would lie in a folder with a store, or in one that a store has.
fn is_in_data_folder(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = fs::canonicalize(folder) else { return false };
    let is_part = ["audit", "index"].iter().any(|part| folder.ends_with(part));
    let above = folder.parent().filter(|_| is_part);
    [Some(&*folder), above].into_iter().flatten().any(|folder| folder.join(STORE_FILE).exists())
}

/// Where an output will go.
pub(super) enum OutputTarget {
    Stdout,
    /// A device, a pipe, or what is open already.
    AsItIs(PathBuf),
    New(PathBuf),
    /// A file whose content stays until the new one is complete.
    Replaced(PathBuf),
}

impl OutputTarget {
    /// # Errors
    /// The file cannot be made.
    pub(super) fn open(&self) -> Result<OpenOutput, Failure> {
        let create = |path: &Path| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let (path, file, replaced) = match self {
            OutputTarget::Stdout => return Ok(OpenOutput::new(io::stdout(), "standard output".to_owned())),
            OutputTarget::AsItIs(path) => (path, as_it_is(path), None),
            OutputTarget::New(path) => (path, create(path), None),
            OutputTarget::Replaced(path) => {
                let replaced = Replaced::begin(path);
                let file = replaced.as_ref().map_err(again).and_then(|replaced| replaced.file.try_clone());
                (path, file, replaced.ok())
            }
        };
        let name = path.display().to_string();
        let file = file.map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
        let kept = (!matches!(self, OutputTarget::AsItIs(_))).then(|| path.clone());
        Ok(OpenOutput { file: kept, replaced, ..OpenOutput::new(file, name) })
    }
}

/// Opens what is there. Another user may have put something else in its place since it was looked at.
fn as_it_is(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).open(path)?;
    match file.metadata()?.uid() {
        owner if is_descriptor(path) || owner == 0 || owner == owner::own_user() => Ok(file),
        owner => Err(io::Error::other(format!("it belongs to user {owner} of this machine"))),
    }
}

/// A path with more letters behind its name.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// An open output. Its first problem is kept: what is written knows only that writing failed.
pub(super) struct OpenOutput {
    to: BufWriter<Box<dyn Write>>,
    name: String,
    /// Where it is none of standard output, a pipe or a device.
    file: Option<PathBuf>,
    problem: Option<io::Error>,
    replaced: Option<Replaced>,
}

/// How often another process may come in between.
const TRIES: u32 = 1_000;

/// A file that gets its content in the end. Dropping it removes what was written.
struct Replaced {
    part: PathBuf,
    path: PathBuf,
    /// What lies at `part`. Its lock says that a process writes it.
    file: File,
}

impl Replaced {
    /// Makes the file that the content goes into, under one name for every process, so that a killed one leaves no more than one file. What
    /// is there without a lock is such a left-over. Decision 217.
    fn begin(path: &Path) -> io::Result<Replaced> {
        let part = suffixed(path, ".hcert.part");
        for _ in 0..TRIES {
            let (file, is_new) = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => (regular_file::open(&part), false),
                made => (made, true),
            };
            let file = match file {
                // It was removed meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound && !is_new => continue,
                file => file?,
            };
            match file.try_lock() {
                // Whoever looks at a new one takes it for a left-over for a moment.
                Err(TryLockError::WouldBlock) if is_new => continue,
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other(format!("another process is writing {}", part.display())));
                }
                // A file system without locks has nobody to be kept out by one.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            match (regular_file::is_at(&part, &file), is_new) {
                (true, true) => return Ok(Replaced { part, path: path.to_owned(), file }),
                (true, false) => fs::remove_file(&part)?,
                (false, _) => {}
            }
        }
        Err(io::Error::other(format!("{} cannot be made", part.display())))
    }

    /// Puts the new content in the place of the old. A power cut leaves either, never a part of one.
    fn finish(&self) -> io::Result<()> {
        self.file.sync_all().and_then(|()| fs::rename(&self.part, &self.path))
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        // In the end it lies under its own name, and the next process may have made another one under this.
        if regular_file::is_at(&self.part, &self.file) {
            drop(fs::remove_file(&self.part));
        }
    }
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

impl OpenOutput {
    fn new(to: impl Write + 'static, name: String) -> OpenOutput {
        OpenOutput {
            to: BufWriter::with_capacity(256 * 1024, Box::new(to)),
            name,
            file: None,
            problem: None,
            replaced: None,
        }
    }

    /// An earlier file, at the place where it goes on.
    pub(super) fn resumed(file: File, path: &Path) -> OpenOutput {
        OpenOutput { file: Some(path.to_owned()), ..OpenOutput::new(file, path.display().to_string()) }
    }

    /// Ends the output after the work. What comes back is what the work gave; nothing when the reader of a pipe has closed it:
    /// it has read enough, and that is no error. Decision 204.
    ///
    /// # Errors
    /// The work failed, or the output cannot be written.
    pub(super) fn finish<T>(mut self, done: Result<T, String>) -> Result<Option<T>, Failure> {
        if done.is_ok() {
            // What it returns is kept as the problem.
            drop(self.flush());
        }
        if let Some(problem) = self.problem() {
            let is_closed = self.problem.as_ref().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe);
            return if is_closed { Ok(None) } else { Err(Failure::Failed(self.with_room(problem))) };
        }
        let done = done.map_err(Failure::Failed)?;
        if let Some(replaced) = &self.replaced {
            replaced.finish().map_err(|error| Failure::Failed(format!("{} cannot be replaced: {error}", self.name)))?;
        }
        Ok(Some(done))
    }

    /// Names the disk where it has no room, and what is left of a new file.
    fn with_room(&self, problem: String) -> String {
        match &self.file {
            None => problem,
            Some(path) => disk_space::named(problem, path, || match &self.replaced {
                Some(_) => "the old content is kept".to_owned(),
                None => format!("{} holds what was written so far: add --force to replace it", self.name),
            }),
        }
    }

    /// Why it cannot be written, where it could not.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.as_ref().map(|error| format!("{} cannot be written: {error}", self.name))
    }

    fn kept<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            self.problem.get_or_insert_with(|| again(error));
        })
    }
}

impl Write for OpenOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.to.write(bytes);
        self.kept(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.to.flush();
        self.kept(done)
    }
}

/// Whether a path names what is open already: /dev/stdout, /dev/fd/N and the like. It is written to, whatever it leads to.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let is_in_list = |path: &Path| {
        path.parent()
            .and_then(|folder| fs::canonicalize(folder).ok())
            .is_some_and(|folder| folder.starts_with("/proc") && folder.file_name().is_some_and(|name| name == "fd"))
    };
    let link = fs::read_link(path).ok().zip(folder).map(|(to, folder)| folder.join(to));
    is_in_list(path) || link.is_some_and(|link| is_in_list(&link))
}

/// The folder that a new file would be made in, where there is none.
pub(super) fn missing_folder(path: &Path) -> Option<PathBuf> {
    let folder = match path.as_os_str().as_bytes().ends_with(b"/") {
        true => path,
        false => path.parent().filter(|folder| !folder.as_os_str().is_empty())?,
    };
    (!folder.is_dir()).then(|| folder.to_owned())
}

/// That a folder is missing, and what to do.
pub(super) fn no_folder(folder: &Path) -> String {
    let folder = folder.display();
    format!("the folder {folder} does not exist; make it first: mkdir -p {folder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(path: &Path, force: bool) -> OutputArguments {
        OutputArguments { out: Some(path.to_owned()), force }
    }

    fn written(out: &OutputArguments, text: &str) -> Result<Option<()>, String> {
        let mut output = out.open().map_err(|failure| failure.to_string())?;
        let done = output.write_all(text.as_bytes()).map_err(|error| format!("lost: {error}"));
        output.finish(done).map_err(|failure| failure.to_string())
    }

    /// A pipe that another user had made under the name read all certificates.
    #[test]
    fn what_belongs_to_another_user_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.ndjson");
        let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name lives through the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        // Only root can give a file away.
        if std::os::unix::fs::chown(&path, Some(4_242), None).is_err() {
            return;
        }
        let refused = |force| written(&out(&path, force), "text").unwrap_err();
        for told in [refused(false), refused(true)] {
            assert!(told.contains("belongs to user 4242"), "{told}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        std::os::unix::fs::lchown(&path, Some(4_242), None).unwrap();
        assert!(refused(true).contains("belongs to user 4242"));
    }

    #[test]
    fn a_file_is_replaced_only_on_demand_and_only_by_a_complete_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        assert_eq!(written(&out(&path, false), "one"), Ok(Some(())));
        assert!(
            written(&out(&path, false), "two").unwrap_err().contains("File exists; name another file, or add --force")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        let mut output = out(&path, true).open().unwrap();
        output.write_all(b"half").unwrap();
        assert!(output.finish::<()>(Err("the rest cannot be read".to_owned())).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(written(&out(&path, true), "two"), Ok(Some(())));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(written(&out(&folder.path().join("new"), true), "x"), Ok(Some(())));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("out", &link).unwrap();
        assert_eq!(written(&out(&link, true), "three"), Ok(Some(())));
        assert_eq!((link.is_symlink(), fs::read_to_string(&path).unwrap().as_str()), (true, "three"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left behind");
        fs::remove_file(&path).unwrap();
        assert!(written(&out(&link, true), "four").unwrap_err().contains("a link to nothing"));
    }

    #[test]
    fn one_process_at_a_time_replaces_a_file_and_what_a_killed_one_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("out"), folder.path().join("out.hcert.part"));
        fs::write(&path, "old").unwrap();
        fs::write(&part, "what a killed process left, which is longer").unwrap();
        let mut first = out(&path, true).open().unwrap();
        let told = written(&out(&path, true), "second").unwrap_err();
        assert!(told.contains("another process is writing"), "{told}");
        first.write_all(b"first").unwrap();
        assert!(first.finish(Ok(())).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        let third = out(&path, true).open().unwrap();
        assert!(part.exists());
        drop(third);
        assert_eq!(written(&out(&path, true), "fourth"), Ok(Some(())));
        assert_eq!(fs::read_to_string(&path).unwrap(), "fourth");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn folders_missing_folders_and_full_devices_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(written(&out(folder.path(), true), "").unwrap_err().contains("this is a folder"));
        for missing in ["missing/out", "missing/"] {
            let told = written(&out(&folder.path().join(missing), false), "").unwrap_err();
            assert!(
                told.contains("missing does not exist; make it first") || told.contains("missing/ does not exist"),
                "{told}"
            );
        }
        let told = written(&out(Path::new("/dev/full"), false), "x").unwrap_err();
        assert_eq!(told, "/dev/full cannot be written: No space left on device (os error 28)");
        assert_eq!(written(&out(Path::new("/dev/null"), false), "x"), Ok(Some(())));
    }

    #[test]
    fn what_is_open_already_is_written_to_as_it_is() {
        use std::os::fd::AsRawFd;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let open = File::create(&path).unwrap();
        let link = folder.path().join("link");
        for name in [format!("/dev/fd/{}", open.as_raw_fd()), format!("/proc/self/fd/{}", open.as_raw_fd())] {
            for force in [false, true] {
                let before = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
                assert_eq!(written(&out(Path::new(&name), force), "x"), Ok(Some(())), "{name}");
                assert_eq!(std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap()), before, "{name}");
            }
            std::os::unix::fs::symlink(&name, &link).unwrap();
            assert!(is_descriptor(&link), "as /dev/stdout is one");
            fs::remove_file(&link).unwrap();
        }
        assert!(is_descriptor(Path::new("/dev/stdout")) && !is_descriptor(&path));
    }

    #[test]
    fn a_reader_that_has_closed_its_pipe_is_no_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = OpenOutput::new(writer, "a pipe".to_owned());
        let done = output.write_all(b"x").map_err(|error| error.to_string());
        assert!(matches!(output.finish(done), Ok(None)));
    }
}
