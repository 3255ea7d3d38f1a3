//! A disk of a test's own, small enough to fill and to be made read-only under a running server: a file system in memory, in name spaces
//! that no other process sees.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::process::{Process, hcert};

/// Bytes of the disk.
const BYTES: usize = 48 * 1024 * 1024;

/// The disk, until it is dropped.
pub(crate) struct SmallDisk {
    /// Keeps the name spaces.
    holder: Child,
    mounted_on: PathBuf,
}

impl SmallDisk {
    /// Mounts one on an empty folder. Where the system lets nobody do so, the reason is printed and there is none.
    pub(crate) fn mount(on: &Path) -> Option<SmallDisk> {
        let script = "mount -t tmpfs -o size=$2,mode=700 tmpfs \"$1\" && echo mounted && exec cat";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(on).arg(BYTES.to_string());
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut holder = match spawned {
            Ok(holder) => holder,
            Err(error) => {
                println!("skipped: unshare cannot be run: {error}");
                return None;
            }
        };
        let mut first = String::new();
        let stdout = holder.stdout.take().expect("standard output is a pipe");
        BufReader::new(stdout).read_line(&mut first).expect("a shell writes text");
        if first != "mounted\n" {
            let mut reason = String::new();
            let mut stderr = holder.stderr.take().expect("standard error is a pipe");
            stderr.read_to_string(&mut reason).expect("a shell writes text");
            holder.wait().expect("a child can be waited for");
            println!("skipped: no disk can be mounted here: {}", reason.trim());
            return None;
        }
        Some(SmallDisk { holder, mounted_on: on.to_owned() })
    }

    /// A command that sees the disk.
    fn entered(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--user", "--mount", "--preserve-credentials", "--target"]).arg(self.holder.id().to_string());
        command.arg("--");
        command
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.mounted_on.join("data")
    }

    /// Starts a server on it, with small files of the audit trail and an address to watch it at.
    pub(crate) fn serve(&self) -> Process {
        Process::start_with(&self.data(), |command| {
            command.env("HCERT__AUDIT__FILE_MB", "1").env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
            // Nothing but what the disk really lacks is to make a part unwell.
            command.env("HCERT__MANAGEMENT__DISK_FREE_MB_MIN", "0");
            let mut entered = self.entered();
            entered.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => entered.env(name, value),
                    None => entered.env_remove(name),
                };
            }
            *command = entered;
        })
    }

    /// Runs a command that sees the disk to its end.
    pub(crate) fn run_hcert(&self, arguments: &[&str]) -> Output {
        let command = hcert(arguments);
        let mut entered = self.entered();
        entered.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        entered.env("HCERT__AUDIT__FILE_MB", "1").output().expect("nsenter runs")
    }

    /// The disk as the tests see it, who are outside of its name space.
    pub(crate) fn root(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.mounted_on.strip_prefix("/").expect("folders of tests have whole paths"))
    }

    fn ballast(&self) -> PathBuf {
        self.root().join("ballast")
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) {
        let mut file: File =
            OpenOptions::new().append(true).create(true).open(self.ballast()).expect("it can be written");
        for piece in [1 << 20, 1 << 12] {
            while file.write_all(&vec![7; piece]).is_ok() {}
        }
    }

    /// Leaves some bytes of room on the disk that was filled.
    pub(crate) fn leave(&self, bytes: u64) {
        let file = OpenOptions::new().write(true).open(self.ballast()).expect("it was filled");
        let length = file.metadata().expect("it is open").len();
        file.set_len(length - bytes).expect("a file can be cut");
    }

    pub(crate) fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("it was filled");
    }

    /// Has the data folder take no new files. What is open stays open, and what is written to it is kept, as under a remount by the kernel
    /// no process could ask for.
    pub(crate) fn make_read_only(&self) {
        self.run("mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && ! touch \"$1/new\" 2>/dev/null");
    }

    pub(crate) fn make_writable(&self) {
        self.run("umount \"$1\"");
    }

    fn run(&self, script: &str) {
        let ended = self.entered().args(["sh", "-c", script, "sh"]).arg(self.data()).status().expect("nsenter runs");
        assert!(ended.success(), "{script}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
