//! `hcert export`: every version out of the data folder as NDJSON, through the running server where there is one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::progress::Bar;
use super::{Common, Failure, open};
use crate::audit::Action;
use crate::bulk::entry::{self, Line};
use crate::bulk::{self, Event, Progress};
use crate::certificate::{Id, Seq, Version};
use crate::config::Config;
use crate::engine::Engine;
use crate::fhir::json;
use crate::socket::{self, Request};

/// Write every version of every certificate as NDJSON
///
/// One line for each version, in the order they were made: an entry of a FHIR history Bundle. Deletions have no resource. `hcert
/// import` reads it back with ids, versions and times.
#[derive(Args, Debug)]
pub struct Export {
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Go on where an earlier export to the same file was cut off
    #[arg(long, requires = "out")]
    resume: bool,
    #[command(flatten)]
    common: Common,
}

impl Export {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let Export { out, resume, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        export(out.as_deref(), resume, &config).map_err(Failure::Failed)
    }
}

/// Where versions come from: a running server, or the folder itself.
enum Source {
    Server,
    Folder(Engine),
}

fn export(to: Option<&Path>, resume: bool, config: &Config) -> Result<(), String> {
    open::expect_store(config)?;
    let reached = |request: &Request| open::ask(config, request);
    let probe = Request::SeqOf { id: 0, version: 0 };
    let source = match reached(&probe)? {
        Some(_) => Source::Server,
        None => {
            let engine = open::look(config)?;
            open::tell_of_look(config, &engine, Action::BulkExport, "hcert export")?;
            Source::Folder(engine)
        }
    };
    let (mut out, after) = match to {
        None => (Box::new(BufWriter::new(io::stdout())) as Box<dyn Write>, Seq(0)),
        Some(path) if resume => {
            let (file, last) = reopen(path)?;
            let after = match last {
                None => Seq(0),
                Some((id, version)) => seq_of(&source, config, id, version)?,
            };
            (Box::new(BufWriter::new(file)) as Box<dyn Write>, after)
        }
        Some(path) => {
            let file = File::create_new(path).map_err(|error| format!("{}: {error}", path.display()))?;
            (Box::new(BufWriter::new(file)) as Box<dyn Write>, Seq(0))
        }
    };
    let mut bar = Bar::new(None);
    let done = match source {
        Source::Folder(engine) => bulk::export(&engine, after, &mut *out, &mut |event| bar.show(&event)),
        Source::Server => {
            let gone = || "the server stopped meanwhile; run the export again with --resume".to_owned();
            let connection = reached(&Request::Export { after: after.0 })?.ok_or_else(gone)?;
            copy(&connection, &mut *out, &mut bar)
        }
    };
    bar.finish();
    let progress = match done {
        // Whoever reads our output has seen enough.
        Err(problem) if to.is_none() && problem.contains("Broken pipe") => return Ok(()),
        done => done?,
    };
    eprintln!("{} versions written", progress.lines);
    Ok(())
}

fn copy(connection: &socket::Connection, out: &mut dyn Write, bar: &mut Bar) -> Result<Progress, String> {
    let mut lines = connection.lines().map_err(|error| error.to_string())?;
    let mut progress = Progress::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            lines.read_until(b'\n', &mut line).map_err(|error| format!("the server's answer broke off: {error}"))?;
        if read == 0 {
            break;
        }
        out.write_all(&line).map_err(|error| format!("writing failed: {error}"))?;
        progress.lines += 1;
        progress.bytes += read as u64;
        if progress.lines.is_multiple_of(512) {
            bar.show(&Event::Progress(progress));
        }
    }
    out.flush().map_err(|error| format!("writing failed: {error}"))?;
    Ok(progress)
}

/// Opens an earlier export, cuts a line off that was not finished, and tells the last whole one.
fn reopen(path: &Path) -> Result<(File, Option<(Id, Version)>), String> {
    let problem = |error: io::Error| format!("{}: {error}", path.display());
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(problem)?;
    let mut last = Vec::new();
    let mut end = 0;
    let mut reader = BufReader::new(&file);
    loop {
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line).map_err(problem)?;
        if read == 0 || line.last() != Some(&b'\n') {
            break;
        }
        end += read as u64;
        last = line;
    }
    drop(reader);
    file.set_len(end).map_err(problem)?;
    file.seek(SeekFrom::Start(end)).map_err(problem)?;
    if last.is_empty() {
        return Ok((file, None));
    }
    let read = json::parse(&last).map_err(|_| "no JSON".to_owned()).and_then(entry::read);
    match read {
        Ok(Line::Version { id, version, .. }) => Ok((file, Some((id, version)))),
        _ => Err(format!("{}: its last line was not written by an export", path.display())),
    }
}

fn seq_of(source: &Source, config: &Config, id: Id, version: Version) -> Result<Seq, String> {
    let found = match source {
        Source::Folder(engine) => engine.seq_of(id, version).map_err(|error| error.to_string())?,
        Source::Server => {
            let request = Request::SeqOf { id: id.get(), version: version.get() };
            let connection = socket::connect(&config.storage.data, &request).map_err(|error| error.to_string())?;
            let connection = connection.ok_or("the server stopped meanwhile")?;
            let mut line = String::new();
            connection.lines().and_then(|mut lines| lines.read_line(&mut line)).map_err(|error| error.to_string())?;
            serde_json::from_str::<Option<u64>>(&line).map_err(|error| error.to_string())?.map(Seq)
        }
    };
    found.ok_or_else(|| {
        format!("the file ends with version {version} of Composition/{id}, which this data folder does not have")
    })
}
