//! The command line: one file per command. A command is a struct of its flags with a method `run`.

mod audit;
mod backup;
mod bench;
mod catalogue;
mod compact;
mod export;
mod generate;
mod health;
mod import;
mod last_word;
mod log;
mod open;
mod open_files;
mod patients;
mod progress;
mod reindex;
mod restore;
mod serve;
mod stats;
mod terminology;
mod token;
mod verify;
mod writable;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::{Config, ConfigError};

/// A health certificate service in one program: FHIR R5 Compositions, versioned, searchable, durable.
///
/// It needs nothing else to run. Start it with `hcert serve`; everything it keeps lies in one folder.
#[derive(Debug, Parser)]
#[command(name = "hcert", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Generate(generate::Generate),
    Import(import::Import),
    Export(export::Export),
    Reindex(reindex::Reindex),
    Verify(verify::Verify),
    Compact(compact::Compact),
    Stats(stats::StatsOf),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Patients(patients::Patients),
    Terminology(terminology::Terminology),
    Audit(audit::Audit),
    Health(health::Health),
    Token(token::Token),
    Catalogue(catalogue::Catalogue),
    Bench(bench::Bench),
    #[command(hide = true)]
    BenchFloor(bench::BenchFloor),
}

impl Cli {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// What to tell the person at the terminal, with the exit code in it.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Serve(serve) => serve.run(),
            Command::Generate(generate) => generate.run(),
            Command::Import(import) => import.run(),
            Command::Export(export) => export.run(),
            Command::Reindex(reindex) => reindex.run(),
            Command::Verify(verify) => verify.run(),
            Command::Compact(compact) => compact.run(),
            Command::Stats(stats) => stats.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Patients(patients) => patients.run(),
            Command::Terminology(terminology) => terminology.run(),
            Command::Audit(audit) => audit.run(),
            Command::Health(health) => health.run(),
            Command::Token(token) => token.run(),
            Command::Catalogue(catalogue) => catalogue.run(),
            Command::Bench(bench) => bench.run(),
            Command::BenchFloor(floor) => floor.run(),
        }
    }
}

/// Flags of every command that needs the settings.
#[derive(Debug, Default, Args)]
struct Common {
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder that holds everything [setting: storage.data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Common {
    /// The settings: defaults, file, environment, these flags, then `flags`.
    fn load(self, flags: impl FnOnce(&mut Config)) -> Result<Config, ConfigError> {
        Config::load(self.config.as_deref(), std::env::vars_os(), |config| {
            if let Some(data) = self.data {
                config.storage.data = data;
            }
            flags(config);
        })
    }
}

/// Writes what a command tells to standard output. Whoever closes the pipe has read enough.
///
/// # Errors
/// It cannot be written.
fn say(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Flags or settings cannot be used. Exit code 2, as clap's own.
    Usage(String),
    /// Anything else. Exit code 1.
    Failed(String),
    /// What was to be checked is not as it should be. Exit code 3.
    Wrong(String),
}

impl Failure {
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Wrong(_) => 3,
        }
    }
}

/// Ends the process at once, with what was written to standard output let out. Threads that are still at work, such as the one
/// that makes a key, are not met by libraries that tidy up at the end: aws-lc ends a process with SIGABRT when one asks it for
/// random numbers then.
pub fn leave(code: u8) -> ! {
    // Nobody is left to tell that there is no place for it.
    drop(io::stdout().flush());
    // SAFETY: it does not come back, and everything that has to last was written before.
    unsafe { libc::_exit(code.into()) }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (Failure::Usage(text) | Failure::Failed(text) | Failure::Wrong(text)) = self;
        formatter.write_str(text)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Usage(error.0)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_win_over_settings() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.toml");
        std::fs::write(&file, "[storage]\ndata = \"from-file\"\n[search]\ncount_max = 50\n").unwrap();
        let common = |data: Option<&str>| Common { config: Some(file.clone()), data: data.map(PathBuf::from) };
        assert_eq!(common(None).load(|_| ()).unwrap().storage.data, PathBuf::from("from-file"));
        let config = common(Some("from-flag")).load(|config| config.server.listen = "flag".to_owned()).unwrap();
        assert_eq!(config.storage.data, PathBuf::from("from-flag"));
        assert_eq!((config.server.listen.as_str(), config.search.count_max), ("flag", 50));
    }
}
