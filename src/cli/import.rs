//! `hcert import`: versions out of NDJSON into the data folder, through the running server where there is one.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::Args;
use serde_json::{Value, json};

use super::progress::ProgressBarLine;
use super::{Common, Failure, disk_space, report};
use crate::audit::{self, AuditAction};
use crate::bulk::{self, BulkEvent, BulkProgress, ImportOptions};
use crate::config::Config;
use crate::socket::{self, CommandRequest};
use base::number::counted;
use engine::system_clock;

/// Read certificates from NDJSON and store them with their whole history
///
/// Each line is one version: an entry of a FHIR history Bundle, as `hcert export` and `hcert generate` write it, or a bare
/// Composition. Ids, version numbers and times are kept; a Composition without id or version is created anew. A version that is
/// there already is passed over, so an import that was cut off is resumed by running it again. A line that cannot be taken is
/// reported with its number, and the rest goes on.
#[derive(Args, Debug)]
pub(super) struct ImportArguments {
    /// The file to read, or - for standard input
    file: PathBuf,
    /// Stop at the first line that cannot be taken
    #[arg(long)]
    stop_at_bad: bool,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl ImportArguments {
    /// Runs the command. Lines that were not taken make it fail in the end.
    pub(super) fn run(self) -> Result<(), Failure> {
        let ImportArguments { file, stop_at_bad, json, common } = self;
        let config = common.load(|_| ())?;
        super::open::for_owner_only();
        let done = import(&file, stop_at_bad, &config).map_err(|problem| {
            Failure::Failed(disk_space::named(problem, &config.storage.data, || disk_space::of_import(&file)))
        })?;
        let BulkProgress { lines, stored, identical, bad, .. } = done;
        let read = counted(lines, "line", "lines");
        let words = format_args!("{read}: {stored} stored, {identical} there already, {bad} not taken");
        report(json, words, &as_json(&file, &done))?;
        all_taken(bad, lines)
    }
}

/// What became of the lines of a file.
pub(super) fn as_json(file: &Path, done: &BulkProgress) -> Value {
    let BulkProgress { lines, stored, identical, bad, .. } = done;
    json!({"file": file, "lines": lines, "stored": stored, "identical": identical, "bad": bad})
}

/// # Errors
/// Some lines were not taken.
pub(super) fn all_taken(bad: u64, lines: u64) -> Result<(), Failure> {
    let of_lines = counted(lines, "line was", "lines were");
    if bad == 0 { Ok(()) } else { Err(Failure::Failed(format!("{bad} of {of_lines} not taken"))) }
}

fn import(file: &Path, stop_at_bad: bool, config: &Config) -> Result<BulkProgress, String> {
    let (mut lines, bytes) = open(file)?;
    let mut bar = ProgressBarLine::new(bytes);
    let request = CommandRequest::Import { stop_at_bad };
    let done = match super::open::server(config, &request)? {
        Some(server) => through_server(&server, lines, &mut bar),
        None => {
            let engine = Arc::new(super::open::engine(config, system_clock())?);
            let rulebook = super::open::rulebook(config, engine.clone())?;
            let begins = Some("begins".to_owned());
            super::open::tell(config, &engine, AuditAction::BulkImport, "hcert import", begins, None)?;
            let options = ImportOptions { stop_at_bad, body_bytes_max: config.server.body_bytes_max };
            let done = bulk::import(&engine, &rulebook, &mut lines, options, &mut |event| bar.show(&event));
            let note = Some(bulk::note(&done));
            let change = Some(engine.seq());
            let told = super::open::tell(config, &engine, AuditAction::BulkImport, "hcert import", note, change);
            engine.close();
            audit::with_its_end_told(done, told)
        }
    };
    bar.finish();
    done
}

/// The lines of a file, or of standard input for `-`, and their bytes where they are known.
pub(super) fn open(file: &Path) -> Result<(Box<dyn BufRead + Send>, Option<u64>), String> {
    if file.as_os_str() == "-" {
        return Ok((Box::new(BufReader::with_capacity(1 << 16, io::stdin())), None));
    }
    let problem = |error: io::Error| format!("{}: {error}", file.display());
    let opened = File::open(file).map_err(problem)?;
    if file.is_dir() {
        return Err(problem(io::ErrorKind::IsADirectory.into()));
    }
    let bytes = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok((Box::new(BufReader::with_capacity(1 << 16, opened)), bytes))
}

/// Sends the lines on one thread and shows what comes back on this one.
pub(super) fn through_server(
    server: &socket::CommandConnection,
    mut lines: Box<dyn BufRead + Send>,
    bar: &mut ProgressBarLine,
) -> Result<BulkProgress, String> {
    let events = server.lines().map_err(|error| error.to_string())?;
    thread::scope(|scope| {
        // When the server has given up it closes its side, and sending ends with an error that its last event explains better.
        let sender = thread::Builder::new().spawn_scoped(scope, move || server.send_all(&mut *lines));
        let sender = sender.map_err(|error| format!("no thread can be started: {error}"))?;
        for line in events.lines() {
            let line = line.map_err(|error| format!("the server's answer broke off: {error}"))?;
            match serde_json::from_str(&line)
                .map_err(|error| format!("the server's answer is not understood: {error}"))?
            {
                BulkEvent::Done(progress) => return Ok(progress),
                BulkEvent::Failed { problem } => return Err(problem),
                event => bar.show(&event),
            }
        }
        match sender.join() {
            Ok(Err(error)) => Err(format!("the server closed the connection: {error}")),
            _ => Err("the server closed the connection before it was done; run the import again to resume".into()),
        }
    })
}
