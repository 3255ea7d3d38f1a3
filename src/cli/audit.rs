//! `hcert audit`: the audit trail verified and written out, through the running server where there is one.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{Common, Failure};
use crate::audit::{self, Action, Event, Head, Log, Trail};
use crate::bulk::{self, AuditAsked};
use crate::certificate::Id;
use crate::config::{Config, RegistryMode};
use crate::engine::{Engine, system_clock};
use crate::fhir::date_time;
use crate::socket::{self, AuditTold, Request};

/// Verify the audit trail, or write it out
#[derive(Args, Debug)]
pub struct Audit {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(Verify),
    Export(Export),
}

/// Check that the audit trail is as it was written
///
/// Says what is changed, missing or out of order, and prints the head: number and hash of the newest event. A cut end cannot be seen
/// in the trail itself; keep the head elsewhere and give it the next time. Exit code 1 when something is wrong.
#[derive(Args, Debug)]
struct Verify {
    /// A head that was printed earlier and must still be part of the trail
    #[arg(long, value_name = "NUMBER:HASH", value_parser = head)]
    head: Option<Head>,
    #[command(flatten)]
    common: Common,
}

/// Write events as NDJSON of FHIR R5 AuditEvents, the oldest first
#[derive(Args, Debug)]
struct Export {
    /// Only what concerns this patient: an id, or an Estonian personal code
    #[arg(long, value_name = "ID|CODE")]
    patient: Option<String>,
    /// Only what concerns this certificate
    #[arg(long, value_name = "ID", value_parser = certificate)]
    certificate: Option<Id>,
    /// From this time on: a date or a FHIR dateTime, Estonian time where no offset is given
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Up to this time: a date as a whole
    #[arg(long, value_name = "TIME", value_parser = until)]
    until: Option<i64>,
    /// Write to this new file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

fn head(text: &str) -> Result<Head, String> {
    Head::parse(text).ok_or_else(|| "a head is a number, a colon and 64 hexadecimal digits".to_owned())
}

fn certificate(text: &str) -> Result<Id, String> {
    Id::parse(text).ok_or_else(|| "the id of a certificate is a whole number from 1".to_owned())
}

fn since(text: &str) -> Result<i64, String> {
    span(text).map(|span| span.low)
}

fn until(text: &str) -> Result<i64, String> {
    span(text).map(|span| span.high)
}

fn span(text: &str) -> Result<date_time::Span, String> {
    date_time::search_span(text)
        .map_err(|_| "this is no date or time, such as 2026-11-01 or 2026-11-01T10:00".to_owned())
}

/// What nobody could be called finds nothing, and nothing found reads as if nobody had looked.
fn may_be_patient(text: &str, registry: RegistryMode) -> Result<(), String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Another registry gives its ids as FHIR permits.
    let is_id = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    match registry {
        RegistryMode::Embedded if is_number && text.len() <= 19 => Ok(()),
        RegistryMode::Remote if is_id => Ok(()),
        RegistryMode::Embedded => {
            Err("--patient takes the number of a patient, such as 17 for Patient/17, or an Estonian \
                                       personal code of 11 digits"
                .to_owned())
        }
        RegistryMode::Remote => Err(
            "--patient takes the id of a patient in the registry (letters, digits, - and ., at most 64), such as 17 \
                                     for Patient/17, or an Estonian personal code of 11 digits"
                .to_owned(),
        ),
    }
}

impl Audit {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        super::open::for_owner_only();
        match self.command {
            Command::Verify(Verify { head, common }) => {
                let config = common.load(|_| ())?;
                verify(head, &config).map_err(Failure::Failed)
            }
            Command::Export(Export { patient, certificate, since, until, out, common }) => {
                let config = common.load(|_| ())?;
                if let Some(patient) = &patient {
                    may_be_patient(patient, config.registry.mode).map_err(Failure::Usage)?;
                }
                let asked = AuditAsked { patient, certificate: certificate.map(Id::get), since, until };
                export(asked, out.as_deref(), &config).map_err(Failure::Failed)
            }
        }
    }
}

fn verify(head: Option<Head>, config: &Config) -> Result<(), String> {
    let request = Request::AuditVerify { head: head.map(|head| head.to_string()) };
    let (report, is_whole) = match connect(config, &request)? {
        Some(server) => told(&server, &mut io::sink())?,
        None => {
            // Opening may repair the end, so the trail is looked at before.
            let engine = engine(config)?;
            let trail = Trail::list(&audit::folder(&config.storage.data)).map_err(|error| error.to_string())?;
            let verified = audit::verify(&trail, head)?;
            let log = Log::open(super::open::audit_options(config, system_clock()))?;
            let known = log.last_change().map_or(0, |seq| seq.0);
            tell(&log)?;
            let stored = engine.seq().0;
            engine.close();
            let (told, is_possible) = beside_store(stored, known);
            (verified.report() + &told, verified.is_whole() && is_possible)
        }
    };
    print!("{report}");
    if is_whole { Ok(()) } else { Err("the audit trail is not as it was written".to_owned()) }
}

/// Changes whose events a crash can keep out of the trail: those of the last moments.
const LOST_MAX: u64 = 1_000;

/// What the store says of the end of the trail, and whether that can be: changes are durable before their events are.
fn beside_store(stored: u64, known: u64) -> (String, bool) {
    match stored.saturating_sub(known) {
        0 => (String::new(), true),
        missing if missing <= LOST_MAX && known > 0 => (
            format!(
                "note: {missing} changes of the store have no event yet; the next start of the server writes them\n"
            ),
            true,
        ),
        missing => (
            format!("{missing} changes of the store have no event, more than a crash can take: the trail was cut\n"),
            false,
        ),
    }
}

fn export(asked: AuditAsked, to: Option<&Path>, config: &Config) -> Result<(), String> {
    let mut out: Box<dyn Write> = match to {
        None => Box::new(BufWriter::new(io::stdout().lock())),
        Some(path) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            Box::new(BufWriter::new(file.map_err(|error| format!("{}: {error}", path.display()))?))
        }
    };
    let report = match connect(config, &Request::AuditExport(asked.clone()))? {
        Some(server) => told(&server, &mut out)?.0,
        None => {
            let engine = engine(config)?;
            let log = Log::open(super::open::audit_options(config, system_clock()))?;
            let names = super::open::names(config, &config.base_url());
            let done = bulk::export_audit(&engine, &log, &asked, &names, &mut out);
            drop(log);
            engine.close();
            format!("{} events written", done?)
        }
    };
    out.flush().map_err(|error| format!("writing failed: {error}"))?;
    eprintln!("{report}");
    Ok(())
}

/// Copies the events that a server sends; its last line says how it ended.
fn told(server: &socket::Connection, out: &mut dyn Write) -> Result<(String, bool), String> {
    let lines = server.lines().map_err(|error| error.to_string())?;
    for line in lines.lines() {
        let line = line.map_err(|error| format!("the server's answer broke off: {error}"))?;
        if line.starts_with("{\"resourceType\"") {
            writeln!(out, "{line}").map_err(|error| format!("writing failed: {error}"))?;
            continue;
        }
        return match serde_json::from_str(&line) {
            Ok(AuditTold::Done { report, is_whole }) => Ok((report, is_whole)),
            Ok(AuditTold::Failed { problem }) => Err(problem),
            Err(error) => Err(format!("the server's answer is not understood: {error}")),
        };
    }
    Err("the server closed the connection before it was done".to_owned())
}

/// The data folder. Its lock keeps another process from the trail.
fn engine(config: &Config) -> Result<Engine, String> {
    let folder = &config.storage.data;
    if !audit::folder(folder).is_dir() {
        return Err(format!("{}: there is no audit trail", folder.display()));
    }
    super::open::engine(config, system_clock())
}

fn tell(log: &Log) -> Result<(), String> {
    let event = Event::of_command(Action::AuditVerify, system_clock()(), "hcert audit verify");
    log.append(&event).and_then(|_| log.sync_now()).map_err(|failing| failing.to_string())
}

fn connect(config: &Config, request: &Request) -> Result<Option<socket::Connection>, String> {
    let folder = &config.storage.data;
    socket::connect(folder, request).map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_takes_the_last_events_and_whoever_cuts_takes_more() {
        for (stored, known, is_possible) in [
            (0, 0, true),
            (10, 10, true),
            (5_000, 4_200, true),
            (5_000, 3_000, false),
            // A trail without any change beside a store that has some was taken away.
            (3, 0, false),
        ] {
            assert_eq!(beside_store(stored, known).1, is_possible, "{stored} {known}");
        }
    }
}
