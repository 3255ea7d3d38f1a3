//! `hcert export`: every version out of the data folder as NDJSON, through the running server where there is one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use clap::Args;

use super::output::{OpenOutput, OutputArguments};
use super::progress::ProgressBarLine;
use super::{Common, Failure, note, open, salvage};
use crate::audit::AuditAction;
use crate::bulk::entry::{self, ImportLine};
use crate::bulk::{self, BulkEvent, BulkProgress};
use crate::config::Config;
use crate::socket::{self, CommandRequest};
use base::number::counted;
use base::owner;
use certificate::{Id, Seq, Version};
use engine::Engine;
use fhir::json;

/// Write every version of every certificate as NDJSON
///
/// One line for each version, in the order they were made: an entry of a FHIR history Bundle. Deletions have no resource. `hcert
/// import` reads it back with ids, versions and times.
#[derive(Args, Debug)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    out: OutputArguments,
    /// Go on where an earlier export to the same file was cut off
    #[arg(long, requires = "out", conflicts_with = "force")]
    resume: bool,
    /// Write what can still be read of a damaged store; the server must be stopped
    #[arg(long, requires = "out", conflicts_with = "resume", long_help = salvage::HELP)]
    salvage: bool,
    #[command(flatten)]
    common: Common,
}

impl ExportArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let ExportArguments { out, resume, salvage, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        if salvage {
            let file =
                out.file().ok_or_else(|| Failure::Usage("--salvage writes three files: name one with --out".into()))?;
            return salvage::salvage(file, out.force, &config);
        }
        export(&out, resume, &config)
    }
}

/// Where versions come from: a running server, or the folder itself.
enum ExportSource {
    Server,
    Folder(Engine),
}

fn export(out: &OutputArguments, resume: bool, config: &Config) -> Result<(), Failure> {
    // A store that cannot be opened leaves no empty file: the name is free for what is salvaged.
    let source = source(config).map_err(Failure::Failed)?;
    let (mut out, last) = match (resume, out.file()) {
        (false, _) => (out.open()?, None),
        (true, None) => {
            return Err(Failure::Usage("--resume needs a file: standard output has no earlier lines".into()));
        }
        (true, Some(path)) => {
            let (file, last) = reopen(path).map_err(Failure::Failed)?;
            (OpenOutput::resumed(file, path), last)
        }
    };
    let mut bar = ProgressBarLine::new(None);
    let done = versions(source, last, config, &mut out, &mut bar);
    bar.finish();
    if let Some(progress) = out.finish(done)? {
        note(format_args!("{} written", counted(progress.lines, "version", "versions")));
    }
    Ok(())
}

fn source(config: &Config) -> Result<ExportSource, String> {
    let probe = CommandRequest::SeqOf { id: 0, version: 0 };
    match open::ask(config, &probe)? {
        Some(_) => Ok(ExportSource::Server),
        None => Ok(ExportSource::Folder(open::look_and_tell(config, AuditAction::BulkExport, "hcert export")?)),
    }
}

/// Writes every version behind the last one that is there.
fn versions(
    source: ExportSource,
    last: Option<(Id, Version)>,
    config: &Config,
    out: &mut OpenOutput,
    bar: &mut ProgressBarLine,
) -> Result<BulkProgress, String> {
    let after = match last {
        None => Seq(0),
        Some((id, version)) => seq_of(&source, config, id, version)?,
    };
    match source {
        ExportSource::Folder(engine) => bulk::export(&engine, after, out, &mut |event| bar.show(&event)),
        ExportSource::Server => {
            let gone = || "the server stopped meanwhile; run the export again with --resume".to_owned();
            let connection = open::ask(config, &CommandRequest::Export { after: after.0 })?.ok_or_else(gone)?;
            copy(&connection, out, bar)
        }
    }
}

/// Copies the versions that a server sends.
fn copy(
    connection: &socket::CommandConnection,
    out: &mut dyn Write,
    bar: &mut ProgressBarLine,
) -> Result<BulkProgress, String> {
    let mut progress = BulkProgress::default();
    let mut write = |line: &[u8]| {
        out.write_all(line).map_err(|error| format!("writing failed: {error}"))?;
        progress.lines += 1;
        progress.bytes += line.len() as u64;
        if progress.lines.is_multiple_of(512) {
            bar.show(&BulkEvent::Progress(progress));
        }
        Ok(())
    };
    let end: Result<(), String> = connection.until_end("{\"fullUrl\"", &mut write)?;
    end.map(|()| progress)
}

/// Opens an earlier export, cuts a line off that was not finished, and tells the last whole one.
fn reopen(path: &Path) -> Result<(File, Option<(Id, Version)>), String> {
    let problem = |error: io::Error| format!("{}: {error}", path.display());
    // Another user could have put a file or a link there, to read the certificates or to have a file of ours overwritten.
    if path.is_symlink() {
        return Err(format!("{}: this is a symbolic link; name the file that the export began", path.display()));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(path).map_err(problem)?;
    if file.metadata().map_err(problem)?.uid() != owner::own_user() {
        return Err(format!(
            "{}: this file belongs to another user; only the user who began an export can resume it",
            path.display()
        ));
    }
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
        Ok(ImportLine::Version { id, version, .. }) => Ok((file, Some((id, version)))),
        _ => Err(format!("{}: its last line was not written by an export", path.display())),
    }
}

fn seq_of(source: &ExportSource, config: &Config, id: Id, version: Version) -> Result<Seq, String> {
    let found = match source {
        ExportSource::Folder(engine) => {
            engine.read(id, Some(version), |entry| Ok(entry.seq())).map_err(|error| error.to_string())?
        }
        ExportSource::Server => {
            let request = CommandRequest::SeqOf { id: id.get(), version: version.get() };
            let connection = open::server(config, &request)?;
            let connection = connection.ok_or("the server stopped meanwhile")?;
            let seq: Result<Option<u64>, String> = connection.answer()?;
            seq?.map(Seq)
        }
    };
    found.ok_or_else(|| {
        format!("the file ends with version {version} of Composition/{id}, which this data folder does not have")
    })
}
