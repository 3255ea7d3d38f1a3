//! Processes of the bench: this same program as server, as floor, as import. None of them outlives it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::client::BenchTarget;
use super::machine::{field, kibibytes};
use super::stop::{BenchError, LOOK, Stop};

/// Longer than any start or stop of a server takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// How processes of a bench are started.
#[derive(Clone, Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    /// Settings that differ from their defaults, as the environment names them.
    settings: Vec<(String, String)>,
    pub stop: Stop,
}

/// A process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    log: PathBuf,
    stop: Stop,
}

/// A process that listens.
#[derive(Debug)]
pub(super) struct ServerProcess {
    pub process: ChildProcess,
    pub target: BenchTarget,
}

/// Memory of a process, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProcessMemory {
    /// What it took for itself (`RssAnon`).
    pub anonymous: u64,
    /// That and the pages of files it has mapped (`VmRSS`), which the kernel takes back when it needs them.
    pub resident: u64,
}

impl Launcher {
    /// `settings` are pairs such as `storage.quick_repair`, `off`.
    ///
    /// # Errors
    /// This program does not know where its file is.
    pub(super) fn new(settings: &[(String, String)], stop: &Stop) -> Result<Launcher, BenchError> {
        let program = std::env::current_exe().map_err(|error| BenchError::failed("this program's file", error))?;
        let settings = settings.iter().map(|(name, value)| (environment_name(name), value.clone())).collect();
        Ok(Launcher { program, settings, stop: stop.clone() })
    }

    /// Starts `serve` over a data folder and waits until it listens. The log lies beside the folder.
    ///
    /// # Errors
    /// It ends, with its own words, or the order to stop comes.
    pub(super) fn serve(&self, data: &Path) -> Result<ServerProcess, BenchError> {
        let folder = data.as_os_str();
        let arguments = ["dev".as_ref(), "--listen".as_ref(), "127.0.0.1:0".as_ref(), "--data".as_ref(), folder];
        self.listening(&arguments, data, "serve.log")
    }

    /// Starts the HTTP floor.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub(super) fn floor(&self, data: &Path) -> Result<ServerProcess, BenchError> {
        self.listening(&["bench-floor".as_ref()], data, "floor.log")
    }

    /// Starts an import of certificates from standard input.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(super) fn import(&self, data: &Path) -> Result<(ChildProcess, ChildStdin), BenchError> {
        let arguments = ["import".as_ref(), "-".as_ref(), "--data".as_ref(), data.as_os_str()];
        self.fed(&arguments, data, "import.log")
    }

    /// Starts an import of patients from standard input.
    ///
    /// # Errors
    /// As [`import`](Self::import).
    pub(super) fn import_patients(&self, data: &Path) -> Result<(ChildProcess, ChildStdin), BenchError> {
        let arguments = ["patients".as_ref(), "import".as_ref(), "-".as_ref(), "--data".as_ref(), data.as_os_str()];
        self.fed(&arguments, data, "patients.log")
    }

    fn fed(
        &self,
        arguments: &[&std::ffi::OsStr],
        data: &Path,
        log: &str,
    ) -> Result<(ChildProcess, ChildStdin), BenchError> {
        let mut process = self.start(arguments, data, log, Stdio::piped(), Stdio::null())?;
        let stdin = process.child.stdin.take().expect("standard input was asked for as a pipe");
        Ok((process, stdin))
    }

    fn listening(&self, arguments: &[&std::ffi::OsStr], data: &Path, log: &str) -> Result<ServerProcess, BenchError> {
        let mut process = self.start(arguments, data, log, Stdio::null(), Stdio::piped())?;
        let stdout = process.child.stdout.take().expect("standard output was asked for as a pipe");
        let (told, first_line) = channel();
        // Reading cannot be broken off, so a thread waits and this one looks at the order to stop. The thread ends with the process.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            drop(told.send(read.map(|_| line)));
        });
        let start = Instant::now();
        let line = loop {
            self.stop.check()?;
            match first_line.recv_timeout(LOOK) {
                Ok(Ok(line)) => break line,
                Err(RecvTimeoutError::Timeout) if start.elapsed() < PATIENCE => {}
                Ok(Err(_)) | Err(_) => break String::new(),
            }
        };
        let url = line.find("http://").map(|at| line[at..].trim());
        match url.map(BenchTarget::parse) {
            Some(target) => Ok(ServerProcess { process, target: target? }),
            None => Err(BenchError::Failed(format!("the server did not start: {}", process.last_words()))),
        }
    }

    fn start(
        &self,
        arguments: &[&std::ffi::OsStr],
        data: &Path,
        log: &str,
        stdin: Stdio,
        stdout: Stdio,
    ) -> Result<ChildProcess, BenchError> {
        let beside = data.parent().expect("data lie in a folder of the scratch folder");
        let log = beside.join(log);
        let stderr = fs::File::create(&log).map_err(|error| BenchError::failed(log.display(), error))?;
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(stdin).stdout(stdout).stderr(stderr);
        // Neither an hcert.toml nor an environment changes what is measured, only what was asked for.
        command.current_dir(beside);
        let inherited = std::env::vars_os().map(|(name, _)| name);
        inherited.filter(|name| name.to_string_lossy().starts_with("HCERT__")).for_each(|name| {
            command.env_remove(name);
        });
        command.env("HCERT__LOG__LEVEL", "warn").env("HCERT__LOG__FORMAT", "json");
        // Nobody watches, so that servers beside each other need no second port.
        command.env("HCERT__MANAGEMENT__LISTEN", "").envs(self.settings.iter().map(|(name, value)| (name, value)));
        // Ctrl-C on the terminal is for the bench, which then stops its processes itself.
        command.process_group(0);
        // SAFETY: between fork and exec only one system call is made, which touches no memory.
        unsafe {
            command.pre_exec(|| {
                // Should the bench be killed without a chance to clean up, its processes end with it.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| BenchError::failed(self.program.display(), error))?;
        Ok(ChildProcess { child, log, stop: self.stop.clone() })
    }
}

/// `storage.quick_repair` is `HCERT__STORAGE__QUICK_REPAIR`.
pub fn environment_name(setting: &str) -> String {
    format!("HCERT__{}", setting.replace('.', "__").to_uppercase())
}

impl ChildProcess {
    /// CPU time so far, user and system, of all threads that are and were. Nanoseconds are counted, not ticks.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let id = libc::pid_t::try_from(self.child.id()).ok()?;
        // SAFETY: both pointers lead to values of our own that live through the calls.
        let read = unsafe {
            libc::clock_getcpuclockid(id, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
        };
        let parts = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        read.then(|| Duration::new(parts.0, parts.1))
    }

    pub(super) fn memory(&self) -> Option<ProcessMemory> {
        memory(self.child.id())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and waits for the end.
    pub(super) fn kill(&mut self) {
        // Both fail only when it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Errors
    /// It ends with a failure, or the order to stop comes.
    pub(super) fn stop(mut self) -> Result<(), BenchError> {
        if let Ok(id) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: the child was not waited for, so its id is still its own.
            unsafe { libc::kill(id, libc::SIGTERM) };
        }
        let status = self.wait(|_| ())?;
        let words = self.last_words();
        if status.success() && !complains(&words) {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("the server ended with {status}: {words}")))
        }
    }

    /// Waits for the end; `meanwhile` is called again and again.
    ///
    /// # Errors
    /// The order to stop comes, or it takes too long.
    pub(super) fn wait(&mut self, mut meanwhile: impl FnMut(&ChildProcess)) -> Result<ExitStatus, BenchError> {
        let start = Instant::now();
        loop {
            self.stop.check()?;
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if start.elapsed() < PATIENCE => {}
                Ok(None) => return Err(BenchError::Failed("a process of the bench does not end".into())),
                Err(error) => return Err(BenchError::failed("a process of the bench", error)),
            }
            meanwhile(self);
            std::thread::sleep(LOOK / 4);
        }
    }

    /// What it wrote to standard error, at most the last lines.
    pub(super) fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(5)..];
        if last.is_empty() { "it said nothing".to_owned() } else { last.join("\n") }
    }

    /// A fault of its own that it reported, if there is one.
    pub(super) fn complaint(&self) -> Option<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().find(|line| complains(line)).map(ToOwned::to_owned)
    }
}

fn complains(text: &str) -> bool {
    text.contains("\"log.level\":\"error\"") || text.contains("panicked")
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Memory of a process by its id; none once it has ended.
pub(super) fn memory(id: u32) -> Option<ProcessMemory> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let bytes = |name| field(&status, name).and_then(|value| kibibytes(&value));
    Some(ProcessMemory { anonymous: bytes("RssAnon")?, resident: bytes("VmRSS")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_the_environment_names_them() {
        assert_eq!(environment_name("storage.quick_repair"), "HCERT__STORAGE__QUICK_REPAIR");
    }

    #[test]
    fn memory_and_cpu_time_of_a_process_are_read() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.anonymous > 0 && memory.resident >= memory.anonymous);
        assert_eq!(super::memory(u32::MAX), None);
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut process = ChildProcess { child, log: folder.path().join("log"), stop: Stop::default() };
        assert!(process.cpu().unwrap() < Duration::from_secs(60));
        assert_eq!(process.last_words(), "it said nothing");
        process.kill();
        assert_eq!(process.cpu(), None);
    }
}
