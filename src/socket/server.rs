//! The server's side of the socket: one thread listens, each conversation has its own.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{AuditTold, Request, Step, backup};
use crate::audit::{self, Action, Head, Log};
use crate::bulk::{self, Event, ImportOptions, Listed, Progress};
use crate::certificate::{Id, Names, Seq, Version};
use crate::engine::{Engine, give_way, system_clock};
use crate::interaction::Rulebook;
use crate::limits::TERMINOLOGY_FILE_BYTES_MAX;

/// Answers commands until it is dropped.
pub struct Server {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens in the data folder. The folder is ours already, so a socket that lies there is a left-over.
    pub fn start(
        folder: &Path,
        engine: Arc<Engine>,
        rulebook: Arc<Rulebook>,
        trail: Arc<Log>,
        names: Names,
    ) -> io::Result<Server> {
        let names = Arc::new(names);
        let path = super::path(folder);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        let thread = thread::Builder::new().name("hcert-socket".into()).spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (engine, rulebook) = (engine.clone(), rulebook.clone());
                let (trail, names) = (trail.clone(), names.clone());
                let spawned = thread::Builder::new().name("hcert-command".into()).spawn(move || {
                    if let Err(error) = talk(&stream, &engine, &rulebook, &trail, &names) {
                        tracing::warn!(error = %error, "a command's connection broke");
                    }
                });
                if let Err(error) = spawned {
                    tracing::error!(error = %error, "no thread for a command");
                }
            }
        })?;
        Ok(Server { path, stopping, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // The listener wakes by one more connection, which it does not take.
        drop(UnixStream::connect(&self.path));
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the socket's thread panicked");
        }
        drop(fs::remove_file(&self.path));
    }
}

/// One conversation.
fn talk(stream: &UnixStream, engine: &Engine, rulebook: &Rulebook, trail: &Log, names: &Names) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let mut out = BufWriter::with_capacity(64 * 1024, stream.try_clone()?);
    // Whoever sends requests comes first. The threads that a command starts are as polite as this one.
    give_way();
    match serde_json::from_str(&first) {
        Ok(Request::Import { stop_at_bad }) => {
            let options = ImportOptions { stop_at_bad };
            report(&mut out, |report| {
                // One that is cut off has no end to tell.
                bulk::write_down(trail, Action::BulkImport, "hcert import", Some("begins".to_owned()), None)?;
                let done = bulk::import(engine, rulebook, &mut lines, options, report);
                let note = Some(bulk::note(&done));
                bulk::write_down(trail, Action::BulkImport, "hcert import", note, Some(engine.seq())).and(done)
            })?;
        }
        Ok(Request::PatientsImport { stop_at_bad }) => {
            let options = ImportOptions { stop_at_bad };
            report(&mut out, |report| {
                let done = bulk::import_patients(engine, &names.identifiers, &mut lines, options, report);
                let note = Some(bulk::note(&done));
                bulk::write_down(trail, Action::PatientsImport, "hcert patients import", note, None).and(done)
            })?;
        }
        Ok(Request::PatientsList { identifier }) => {
            let written = bulk::write_down(trail, Action::PatientsList, "hcert patients list", None, None);
            if let Err(problem) = written {
                send(&mut out, &Listed::Failed { problem })?;
                return out.flush();
            }
            bulk::list_patients(engine, identifier.as_deref(), &mut |listed| {
                serde_json::to_writer(&mut out, &listed)?;
                out.write_all(b"\n")
            })?;
        }
        Ok(Request::Export { after }) => {
            let note = Some(format!("behind change {after}"));
            let written = bulk::write_down(trail, Action::BulkExport, "hcert export", note, None);
            written.map_err(io::Error::other)?;
            bulk::export(engine, Seq(after), &mut out, &mut |_| {}).map_err(io::Error::other)?;
        }
        Ok(Request::Reindex) => {
            let told = reindex(engine, trail, &mut out);
            send(&mut out, &told.map_or_else(|problem| Step::Failed { problem }, |count| Step::Done { count }))?;
        }
        Ok(Request::Backup { base }) => backup::send(&mut out, engine, trail, base.as_deref())?,
        Ok(Request::Verify) => super::verify::answer(&mut out, engine, trail, names)?,
        Ok(Request::Stats) => {
            let written = bulk::write_down(trail, Action::StoreStats, "hcert stats", None, None);
            send(&mut out, &written.and_then(|()| engine.stats().map_err(|error| error.to_string())))?;
        }
        Ok(Request::SeqOf { id, version }) => {
            let (id, version) = (Id::new(id), Version::new(version));
            let seq = match id.zip(version) {
                Some((id, version)) => engine.seq_of(id, version).map_err(io::Error::other)?,
                None => None,
            };
            send(&mut out, &seq.map(|seq| seq.0))?;
        }
        Ok(Request::AuditVerify { head }) => {
            let told = verify(trail, head.as_deref());
            send(&mut out, &told.unwrap_or_else(|problem| AuditTold::Failed { problem }))?;
        }
        Ok(Request::AuditExport(asked)) => {
            let told = match bulk::export_audit(engine, trail, &asked, names, &mut out) {
                Ok(count) => AuditTold::Done { report: format!("{count} events written"), is_whole: true },
                Err(problem) => AuditTold::Failed { problem },
            };
            send(&mut out, &told)?;
        }
        Ok(Request::TokenIssued { person, role, organization }) => {
            send(&mut out, &bulk::write_token_down(trail, person, role, organization))?;
        }
        Ok(Request::TerminologyLoad) => {
            let mut file = Vec::new();
            // One byte more than is allowed tells that there is more.
            lines.take(TERMINOLOGY_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut file)?;
            let written = bulk::write_down(trail, Action::TerminologyChange, "hcert terminology load", None, None);
            let loaded = written.map_err(|problem| vec![problem]);
            send(&mut out, &loaded.and_then(|()| rulebook.lists().load(&file, system_clock()())))?;
        }
        Ok(Request::TerminologyList) => send(&mut out, &rulebook.lists().lines())?,
        Ok(Request::TerminologyRemove { url }) => {
            let note = Some(url.clone());
            let written = bulk::write_down(trail, Action::TerminologyChange, "hcert terminology remove", note, None);
            let removed = written.map_err(|problem| vec![problem]);
            send(&mut out, &removed.and_then(|()| rulebook.lists().remove(&url)))?;
        }
        Err(error) => send(&mut out, &Event::Failed { problem: format!("the request is not understood: {error}") })?,
    }
    out.flush()
}

/// Verifies the trail up to the event that says so.
fn verify(trail: &Log, head: Option<&str>) -> Result<AuditTold, String> {
    let head = match head {
        Some(text) => Some(Head::parse(text).ok_or("the head is not understood")?),
        None => None,
    };
    let event = audit::Event::of_command(Action::AuditVerify, system_clock()(), "hcert audit verify");
    trail.append(&event).and_then(|_| trail.sync_now()).map_err(|failing| failing.to_string())?;
    let verified = audit::verify(&trail.trail().map_err(|error| error.to_string())?, head)?;
    Ok(AuditTold::Done { report: verified.report(), is_whole: verified.is_whole() })
}

/// Builds the index again, and tells how far it is some times a second. It is done also when nobody listens any more.
fn reindex(engine: &Engine, trail: &Log, out: &mut (impl Write + Send)) -> Result<u64, String> {
    bulk::write_down(trail, Action::IndexRebuild, "hcert reindex", None, None)?;
    let mut told = Instant::now();
    let mut is_heard = true;
    engine.reindex(&mut |at, of| {
        if is_heard && told.elapsed() >= Duration::from_millis(200) {
            told = Instant::now();
            is_heard = send(out, &Step::At { at: at.0, of: of.0 }).is_ok();
        }
    })
}

/// Sends what an import tells, and how it ended.
fn report(
    out: &mut impl Write,
    import: impl FnOnce(&mut dyn FnMut(Event)) -> Result<Progress, String>,
) -> io::Result<()> {
    let mut failed = None;
    let done = import(&mut |event| failed = send(out, &event).err());
    match failed {
        Some(error) => Err(error),
        None => send(out, &done.map_or_else(|problem| Event::Failed { problem }, Event::Done)),
    }
}

pub(super) fn send(out: &mut impl Write, told: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, told)?;
    out.write_all(b"\n")?;
    out.flush()
}
