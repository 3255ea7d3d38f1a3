//! `hcert patients`: people into the embedded registry, and who is there, through the running server where there is one.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::import::{as_json, open, through_server};
use super::log::harmless;
use super::output::{OpenOutput, OutputArguments};
use super::progress::ProgressBarLine;
use super::{Common, Failure, disk_space, report};
use crate::audit::{self, AuditAction};
use crate::bulk::limits::BAD_PATIENTS_TOLD_MAX;
use crate::bulk::{self, BulkProgress, ImportOptions, ListedPatient};
use crate::config::Config;
use crate::socket::{self, CommandRequest};
use base::number::counted;
use engine::{Engine, system_clock};

/// Import or list the patients of the embedded registry
#[derive(Args, Debug)]
pub(super) struct PatientsArguments {
    #[command(subcommand)]
    command: PatientsCommand,
}

#[derive(Debug, Subcommand)]
enum PatientsCommand {
    Import(PatientsImportArguments),
    List(PatientsListArguments),
}

/// Read Patients from NDJSON and store them
///
/// Each line is a FHIR R5 Patient. Its id is kept, a decimal number; a known id gets another version, and one that says the same is
/// passed over. A Patient without id gets the next one, unless somebody has its first identifier. A line that cannot be taken is
/// reported with its number, the first twenty of a file, and the rest goes on.
#[derive(Args, Debug)]
struct PatientsImportArguments {
    /// The files to read, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stop at the first line that cannot be taken
    #[arg(long)]
    stop_at_bad: bool,
    /// Tell the result as JSON, of several files one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Show the newest version of every patient, one a line
///
/// Columns are separated by tabs: id, version, identifiers, name, birth date, flags.
#[derive(Args, Debug)]
struct PatientsListArguments {
    /// Only those with this identifier: system|value, or a value of whatever system
    #[arg(long, value_name = "IDENTIFIER")]
    identifier: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl PatientsArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.command {
            PatientsCommand::Import(import) => import.run(),
            PatientsCommand::List(list) => list.run(),
        }
    }
}

impl PatientsImportArguments {
    fn run(self) -> Result<(), Failure> {
        let PatientsImportArguments { files, stop_at_bad, json, common } = self;
        let config = common.load(|_| ())?;
        super::open::for_owner_only();
        let (mut lines, mut bad) = (0, 0);
        for file in &files {
            let of_file = |problem: String| match files.len() {
                1 => Failure::Failed(problem),
                _ => Failure::Failed(format!("{}: {problem}", file.display())),
            };
            let (lines_of_file, bytes) = open(file).map_err(Failure::Failed)?;
            let done = import(lines_of_file, bytes, stop_at_bad, &config).map_err(|problem| {
                of_file(disk_space::named(problem, &config.storage.data, || disk_space::of_import(file)))
            })?;
            let of_file = if files.len() > 1 { format!("{}: ", file.display()) } else { String::new() };
            report(json, summary(&of_file, &done), &as_json(file, &done))?;
            lines += done.lines;
            bad += done.bad;
        }
        super::import::all_taken(bad, lines)
    }
}

fn summary(of_file: &str, done: &BulkProgress) -> String {
    let &BulkProgress { lines, stored, identical, bad, .. } = done;
    let told = match bad > BAD_PATIENTS_TOLD_MAX {
        true => format!(", the first {BAD_PATIENTS_TOLD_MAX} told above"),
        false => String::new(),
    };
    let lines = counted(lines, "line", "lines");
    format!("{of_file}{lines}: {stored} stored, {identical} there already, {bad} not taken{told}")
}

fn import(
    mut lines: Box<dyn BufRead + Send>,
    bytes: Option<u64>,
    stop_at_bad: bool,
    config: &Config,
) -> Result<BulkProgress, String> {
    let mut bar = ProgressBarLine::new(bytes);
    let done = match super::open::server(config, &CommandRequest::PatientsImport { stop_at_bad })? {
        Some(server) => through_server(&server, lines, &mut bar),
        None => {
            let engine = super::open::engine(config, system_clock())?;
            let options = ImportOptions { stop_at_bad, body_bytes_max: config.server.body_bytes_max };
            let names = super::open::names(config, &config.base_url());
            let tell = |note: String| {
                let (action, command) = (AuditAction::PatientsImport, "hcert patients import");
                super::open::tell(config, &engine, action, command, Some(note), None)
            };
            // One that is cut off has no end to tell.
            tell("begins".to_owned())?;
            let report = &mut |event| bar.show(&event);
            let done = bulk::import_patients(&engine, &names.identifiers, &mut lines, options, report);
            let told = tell(bulk::note(&done));
            engine.close();
            audit::with_its_end_told(done, told)
        }
    };
    bar.finish();
    done
}

impl PatientsListArguments {
    fn run(self) -> Result<(), Failure> {
        let PatientsListArguments { identifier, common } = self;
        let config = common.load(|_| ())?;
        super::open::for_owner_only();
        list(identifier, &config)
    }
}

fn list(identifier: Option<String>, config: &Config) -> Result<(), Failure> {
    let mut out = OutputArguments::default().open()?;
    let done = listed(identifier, config, &mut out);
    out.finish(done).map(drop)
}

fn listed(identifier: Option<String>, config: &Config, out: &mut OpenOutput) -> Result<(), String> {
    let done = match super::open::server(config, &CommandRequest::PatientsList { identifier: identifier.clone() })? {
        Some(server) => list_of_server(&server, out),
        None => {
            let engine = super::open::existing(config)?;
            let event = bulk::event_of_list(&engine, identifier.as_deref());
            super::open::tell_event_of_look(config, &engine, "hcert patients list", &event)?;
            list_of_folder(&engine, identifier.as_deref(), out)
        }
    };
    done.map_err(|error| error.to_string())?.map_or(Ok(()), Err)
}

/// Writes the list. What comes back is why it ended early, if it did.
fn list_of_folder(engine: &Engine, identifier: Option<&str>, out: &mut impl Write) -> io::Result<Option<String>> {
    let mut problem = None;
    let done = bulk::list_patients(engine, identifier, &mut |listed| match listed {
        ListedPatient::Patient(line) => writeln!(out, "{}", harmless(&line)),
        ListedPatient::End => Ok(()),
        ListedPatient::Failed { problem: told } => {
            problem = Some(told);
            Ok(())
        }
    });
    engine.close();
    done.map(|()| problem)
}

fn list_of_server(server: &socket::CommandConnection, out: &mut impl Write) -> io::Result<Option<String>> {
    for line in server.lines()?.lines() {
        match serde_json::from_str(&line?) {
            Ok(ListedPatient::Patient(line)) => writeln!(out, "{}", harmless(&line))?,
            Ok(ListedPatient::End) => return Ok(None),
            Ok(ListedPatient::Failed { problem }) => return Ok(Some(problem)),
            Err(error) => return Ok(Some(format!("the server's answer is not understood: {error}"))),
        }
    }
    Ok(Some("the server closed the connection before it was done".into()))
}
