//! The command line: one file per command. A command is a struct of its flags with a method `run`.

mod audit;
mod backup;
mod bench;
mod catalogue;
mod clock;
mod common;
mod compact;
mod completions;
mod config;
mod console;
mod crash_message;
mod demo;
mod disk_space;
mod docs;
mod doctor;
mod drill;
mod erase;
mod export;
mod failure;
mod generate;
mod health;
mod import;
mod internal_error;
pub mod limits;
mod log;
mod log_level;
mod messages;
mod open;
mod open_files;
mod openapi;
mod output;
mod patients;
mod permissions;
mod progress;
mod reindex;
mod restore;
mod salvage;
mod serve;
mod stats;
mod terminology;
mod token;
mod verify;
mod writable;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use common::{Common, settings};
pub use failure::{Failure, leave};
use messages::{note, report, say, written};

use crate::cli::limits::LOG_FLUSH_MS;
use crate::documents::Documents;
use crate::{audit as trail, backup as archives};

/// Contract 9.4.
const EXIT_CODES: &str = "Exit codes of every command: 0 done, 1 could not be done, 2 flags, settings or files they name are wrong, \
                          3 the data are corrupt";

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
    Dev(serve::Dev),
    Serve(serve::Serve),
    Demo(demo::DemoArguments),
    Generate(generate::Generate),
    Import(import::ImportArguments),
    Export(export::ExportArguments),
    Reindex(reindex::Reindex),
    Verify(verify::VerifyArguments),
    Compact(compact::CompactArguments),
    Erase(erase::EraseArguments),
    Stats(stats::StatsOf),
    Clock(clock::ClockArguments),
    Backup(backup::BackupArguments),
    Restore(restore::RestoreArguments),
    Drill(drill::DrillArguments),
    Patients(patients::PatientsArguments),
    Terminology(terminology::TerminologyArguments),
    Audit(audit::AuditArguments),
    Health(health::HealthArguments),
    Doctor(doctor::DoctorArguments),
    Config(config::ConfigArguments),
    Permissions(permissions::PermissionsArguments),
    Log(log_level::LogCommand),
    Token(token::TokenArguments),
    Catalogue(catalogue::Catalogue),
    Openapi(openapi::OpenApi),
    Docs(docs::DocsArguments),
    Completions(completions::Completions),
    Man(completions::Man),
    Bench(bench::BenchArguments),
    #[command(hide = true)]
    BenchFloor(bench::BenchFloor),
}

/// Runs the command line of this process, with the documents that the program holds, and the commit that it was made of where its maker told
/// it; the exit code. Whatever is closed, full or damaged,
/// no command ends with a panic or by a signal. Contract 9.4.
pub fn main(documents: &'static Documents, commit: Option<&'static str>) -> u8 {
    internal_error::in_one_line();
    no_core_files();
    small_pages();
    // SAFETY: it changes what one signal does: a file that may not grow is an error of the call that writes to it, as a full disk is.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // The command line keeps texts that live as long as the process.
    let long_version: &'static str = long_version(commit).leak();
    let mut line = with_exit_codes(Cli::command()).long_version(long_version);
    let read = line.try_get_matches_from_mut(std::env::args_os());
    match read.and_then(|matches| Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut line))) {
        Ok(cli) => exit_code(|| cli.run(documents)),
        // Help that was asked for goes to standard output.
        Err(told) if !told.use_stderr() => exit_code(|| written(told.print())),
        Err(told) => {
            print_shortly(told);
            2
        }
    }
}

/// What `--version` prints behind the name.
fn long_version(commit: Option<&str>) -> String {
    format!(
        "{}\ncommit   {}\nformats  store {}, archive {}, audit trail {}",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or("not told: made with cargo build, not with packaging/release"),
        engine::FORMAT,
        archives::ARCHIVE_FORMAT,
        trail::TRAIL_FORMAT
    )
}

/// Bytes of a core file from which on none is made: of 1, none fits into a file, and Linux starts none of the programs that cores are
/// piped to, as it would with 0. Source: `do_coredump` in fs/coredump.c of Linux.
const CORE_BYTES: libc::rlim_t = 1;

/// Takes memory by pages of 4 KiB alone. Where the allocator gets huge ones, a service that does nothing holds twice as much, and reads and
/// searches are no faster. Decision 338.
fn small_pages() {
    // SAFETY: the call takes numbers and changes how the kernel backs memory, not what is in it. Where it is refused, nothing changes.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Keeps the memory of this process, which holds certificates, personal codes and tokens, out of core files. Whoever may stop it with a
/// debugger can still allow one: `prlimit --core=unlimited`.
fn no_core_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to `limit`, which lives through it.
    if unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max.min(CORE_BYTES);
        // SAFETY: the call reads `limit`, which lives through it. A lower limit is refused to nobody.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) };
    }
}

/// Prints what is wrong with the command line. A full pipe that nobody reads keeps the process for a moment only: nothing was written to it
/// before, so it was not this command's output that filled it. Decision 228.
fn print_shortly(told: clap::Error) {
    let (printed, waiting) = mpsc::channel::<()>();
    let printing = thread::Builder::new().name("output".to_owned()).spawn(move || {
        drop(told.print());
        drop(printed);
    });
    if printing.is_ok() {
        // It ends by the other side that is dropped, or by the time.
        let _ = waiting.recv_timeout(Duration::from_millis(LOG_FLUSH_MS));
    }
}

/// Each command's help says what its exit code means.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    command.after_help(EXIT_CODES).mut_subcommands(with_exit_codes)
}

/// Runs some work, says why it failed, and gives the exit code.
fn exit_code(work: impl FnOnce() -> Result<(), Failure>) -> u8 {
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.unwrap_or_else(|_| Err(Failure::Failed(internal_error::REPORT.to_owned())));
    let Err(failure) = done else { return 0 };
    note(format_args!("hcert: {failure}"));
    failure.exit_code()
}

impl Cli {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// What to tell the person at the terminal, with the exit code in it.
    pub fn run(self, documents: &'static Documents) -> Result<(), Failure> {
        match self.command {
            Command::Dev(dev) => dev.run(documents),
            Command::Serve(serve) => serve.run(documents),
            Command::Demo(demo) => demo.run(),
            Command::Generate(generate) => generate.run(),
            Command::Import(import) => import.run(),
            Command::Export(export) => export.run(),
            Command::Reindex(reindex) => reindex.run(),
            Command::Verify(verify) => verify.run(),
            Command::Compact(compact) => compact.run(),
            Command::Erase(erase) => erase.run(),
            Command::Stats(stats) => stats.run(),
            Command::Clock(clock) => clock.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Drill(drill) => drill.run(),
            Command::Patients(patients) => patients.run(),
            Command::Terminology(terminology) => terminology.run(),
            Command::Audit(audit) => audit.run(),
            Command::Health(health) => health.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Config(config) => config.run(),
            Command::Permissions(permissions) => permissions.run(),
            Command::Log(log) => log.run(),
            Command::Token(token) => token.run(),
            Command::Catalogue(catalogue) => catalogue.run(with_exit_codes(Cli::command())),
            Command::Openapi(openapi) => openapi.run(),
            Command::Docs(docs) => docs.run(documents),
            Command::Completions(completions) => completions.run(with_exit_codes(Cli::command())),
            Command::Man(man) => man.run(with_exit_codes(Cli::command())),
            Command::Bench(bench) => bench.run(),
            Command::BenchFloor(floor) => floor.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        with_exit_codes(Cli::command()).debug_assert();
    }

    #[test]
    fn work_that_panics_could_not_be_done() {
        assert_eq!(exit_code(|| Ok(())), 0);
        assert_eq!(exit_code(|| panic!("an error of the program")), 1);
        for (failure, code) in [(Failure::Failed as fn(String) -> _, 1), (Failure::Usage, 2), (Failure::Wrong, 3)] {
            assert_eq!(exit_code(|| Err(failure("why".to_owned()))), code);
        }
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
