//! The server's side of the socket: one thread listens, each conversation has its own.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::line::send;
use super::{AuditResult, CommandProgress, CommandRequest, REFUSED, backup};
use crate::audit::{self, AuditAction, AuditTrail, SystemUser};
use crate::backup::{Digest, TakeOptions, expect_sealed_as};
use crate::bulk::{self, BulkEvent, BulkProgress, ImportOptions, ListedPatient};
use crate::interaction::Rulebook;
use crate::interaction::limits::TERMINOLOGY_FILE_BYTES_MAX;
use crate::socket::limits::COMMANDS_MAX;
use base::log::event;
use base::log::{self, LogOrder, LogState};
use base::threads::{self, give_way};
use certificate::{Id, Names, Seq, Version};
use engine::{Engine, FolderPurpose, system_clock};

/// Seconds within which a command has to say what it asks for.
const COMMAND_LINE_S: u64 = 5;

/// Bytes of the line that says so. What follows it, such as an import's lines, has bounds of its own.
const COMMAND_LINE_BYTES_MAX: usize = 64 * 1024;

/// Answers commands until it is dropped.
pub struct SocketServer {
    path: PathBuf,
    /// Device and number of the file there. The system gives the number to no other file while the socket is open.
    file: Option<(u64, u64)>,
    /// The socket that the thread listens on.
    listener: UnixListener,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SocketServer {
    /// Listens in the data folder. The folder is ours already, so a socket that lies there is a left-over. `recipients` are those that the
    /// server's archives are encrypted to, `body_bytes_max` the bytes of its largest body.
    pub fn start(
        folder: &Path,
        engine: Arc<Engine>,
        rulebook: Arc<Rulebook>,
        trail: Arc<AuditTrail>,
        names: Names,
        recipients: Option<Digest>,
        body_bytes_max: usize,
    ) -> io::Result<SocketServer> {
        let names = Arc::new(names);
        let path = super::path(folder);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = super::reach(folder, |path| UnixListener::bind(path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let (stopping, accepting) = (Arc::new(AtomicBool::new(false)), listener.try_clone()?);
        let stop = stopping.clone();
        let thread = thread::Builder::new().name("hcert-socket".into()).spawn(move || {
            // Each command under way has a clone.
            let commands = Arc::new(());
            for stream in accepting.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if Arc::strong_count(&commands) > COMMANDS_MAX {
                    // Few bytes, which always fit into a new connection.
                    drop(refuse(
                        &stream,
                        &format!("{COMMANDS_MAX} commands are under way; try again when one has ended"),
                    ));
                    continue;
                }
                let command = commands.clone();
                let (engine, rulebook) = (engine.clone(), rulebook.clone());
                let (trail, names) = (trail.clone(), names.clone());
                let stream = Arc::new(stream);
                let told = stream.clone();
                let spawned = thread::Builder::new().name("hcert-command".into()).spawn(move || {
                    let talk = || talk(&stream, &engine, &rulebook, &trail, (&names, recipients, body_bytes_max));
                    // Who the kernel says asks is who the events of the command name.
                    if let Err(error) = SystemUser::of_peer(&stream).and_then(|operator| operator.acting(talk)) {
                        event!(COMMAND_BROKE, error = %error);
                    }
                    drop(command);
                });
                if let Err(error) = spawned {
                    event!(COMMAND_NO_THREAD, error = %error);
                    drop(refuse(&told, &threads::refused(&error)));
                }
            }
        })?;
        let file = identity(&path);
        Ok(SocketServer { path, file, listener, stopping, thread: Some(thread) })
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // The thread wakes, whatever lies at the path by now.
        // SAFETY: the call takes nothing but numbers, and the socket is open.
        if unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RD) } != 0 {
            // Not every system shuts down what listens; one more connection, which is not taken, does as well.
            let folder = self.path.parent().unwrap_or(Path::new("."));
            drop(super::reach(folder, |path| UnixStream::connect(path)));
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            event!(THREAD_OF_SOCKET);
        }
        // Where the folder was moved away another server may listen in the one that lies there now.
        if identity(&self.path) == self.file {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// One conversation.
fn talk(
    stream: &UnixStream,
    engine: &Engine,
    rulebook: &Rulebook,
    trail: &AuditTrail,
    (names, own_recipients, body_bytes_max): (&Names, Option<Digest>, usize),
) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
    let time = Duration::from_secs(COMMAND_LINE_S);
    let request = match request(stream, &mut lines, time)? {
        Ok(request) => request,
        Err(problem) => return refuse(stream, &problem),
    };
    let mut out = BufWriter::with_capacity(64 * 1024, stream.try_clone()?);
    // Whoever sends requests comes first. The threads that a command starts are as polite as this one.
    give_way();
    match request {
        CommandRequest::Import { stop_at_bad } => {
            let options = ImportOptions { stop_at_bad, body_bytes_max };
            report(&mut out, |report| {
                // One that is cut off has no end to tell.
                bulk::write_down(trail, AuditAction::BulkImport, "hcert import", Some("begins".to_owned()), None)?;
                let done = bulk::import(engine, rulebook, &mut lines, options, report);
                let note = Some(bulk::note(&done));
                let told = bulk::write_down(trail, AuditAction::BulkImport, "hcert import", note, Some(engine.seq()));
                audit::with_its_end_told(done, told)
            })?;
        }
        CommandRequest::PatientsImport { stop_at_bad } => {
            let options = ImportOptions { stop_at_bad, body_bytes_max };
            report(&mut out, |report| {
                // As an import of certificates.
                let begins = Some("begins".to_owned());
                bulk::write_down(trail, AuditAction::PatientsImport, "hcert patients import", begins, None)?;
                let done = bulk::import_patients(engine, &names.identifiers, &mut lines, options, report);
                let note = Some(bulk::note(&done));
                let told = bulk::write_down(trail, AuditAction::PatientsImport, "hcert patients import", note, None);
                audit::with_its_end_told(done, told)
            })?;
        }
        CommandRequest::PatientsList { identifier } => {
            let written = bulk::write_event_down(trail, &bulk::event_of_list(engine, identifier.as_deref()));
            if let Err(problem) = written {
                send(&mut out, &ListedPatient::Failed { problem })?;
                return out.flush();
            }
            bulk::list_patients(engine, identifier.as_deref(), &mut |listed| {
                serde_json::to_writer(&mut out, &listed)?;
                out.write_all(b"\n")
            })?;
        }
        CommandRequest::Export { after } => {
            let note = Some(format!("behind change {after}"));
            let written = bulk::write_down(trail, AuditAction::BulkExport, "hcert export", note, None);
            let done = written.and_then(|()| bulk::export(engine, Seq(after), &mut out, &mut |_| {}).map(drop));
            send(&mut out, &done)?;
        }
        CommandRequest::Reindex => {
            let told = reindex(engine, trail, &mut out);
            send(
                &mut out,
                &told.map_or_else(
                    |problem| CommandProgress::Failed { problem },
                    |count| CommandProgress::Done { count },
                ),
            )?;
        }
        CommandRequest::Backup { base, recipients } => {
            let taking = TakeOptions {
                base: base.as_deref(),
                recipients,
                command: "hcert backup",
                at: system_clock()(),
                is_gentle: true,
            };
            match expect_sealed_as(own_recipients, recipients) {
                Ok(()) => backup::send(&mut out, engine, trail, &taking)?,
                Err(problem) => backup::refuse(&mut out, problem)?,
            }
        }
        CommandRequest::Verify { heads } => super::verify::answer(&mut out, (engine, trail), &heads, names)?,
        CommandRequest::Heads => send(&mut out, &bulk::heads_of_server(engine, trail))?,
        CommandRequest::Stats => {
            let written = bulk::write_down(trail, AuditAction::StoreStats, "hcert stats", None, None);
            send(&mut out, &written.and_then(|()| engine.stats().map_err(|error| error.to_string())))?;
        }
        CommandRequest::Clock { decision } => send(&mut out, &bulk::clock(engine, trail, decision))?,
        CommandRequest::Log(order) => send(&mut out, &change_log(trail, &order))?,
        CommandRequest::SeqOf { id, version } => {
            let (id, version) = (Id::new(id), Version::new(version));
            let seq = match id.zip(version) {
                Some((id, version)) => {
                    engine.read(id, Some(version), |entry| Ok(entry.seq())).map_err(|error| error.to_string())
                }
                None => Ok(None),
            };
            // A command that only asks whether a server is there does not wait for the answer.
            drop(send(&mut out, &seq.map(|seq| seq.map(|seq| seq.0))).and_then(|()| out.flush()));
            return Ok(());
        }
        CommandRequest::AuditVerify { head } => {
            let told = match bulk::verify_trail(engine, trail, head.as_deref(), "hcert audit verify") {
                Ok(verified) => AuditResult::Done { report: verified.report(), is_whole: verified.is_whole() },
                Err(problem) => AuditResult::Failed { problem },
            };
            send(&mut out, &told)?;
        }
        CommandRequest::AuditAccept => {
            let told = match bulk::accept_trail(engine, trail) {
                Ok(report) => AuditResult::Done { report, is_whole: true },
                Err(problem) => AuditResult::Failed { problem },
            };
            send(&mut out, &told)?;
        }
        CommandRequest::AuditExport(asked) => {
            let told = match bulk::export_audit(engine, trail, &asked, names, &mut |event| {
                out.write_all(event).map_err(|error| format!("writing failed: {error}"))
            }) {
                Ok((report, is_whole)) => AuditResult::Done { report, is_whole },
                Err(problem) => AuditResult::Failed { problem },
            };
            send(&mut out, &told)?;
        }
        CommandRequest::TokenIssued { person, role, organization } => {
            let expected = engine.expect_purpose(FolderPurpose::Developer).map_err(|error| error.to_string());
            send(&mut out, &expected.and_then(|()| bulk::write_token_down(trail, person, role, organization)))?;
        }
        CommandRequest::TerminologyLoad => {
            let mut file = Vec::new();
            // One byte more than is allowed tells that there is more.
            lines.take(TERMINOLOGY_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut file)?;
            let written = bulk::write_down(trail, AuditAction::TerminologyChange, "hcert terminology load", None, None);
            let loaded = written.map_err(|problem| vec![problem]);
            send(&mut out, &loaded.and_then(|()| rulebook.lists().load(&file, system_clock()())))?;
        }
        CommandRequest::TerminologyList => send(&mut out, &rulebook.lists().lines())?,
        CommandRequest::TerminologyRemove { url } => {
            let note = Some(url.clone());
            let written =
                bulk::write_down(trail, AuditAction::TerminologyChange, "hcert terminology remove", note, None);
            let removed = written.map_err(|problem| vec![problem]);
            send(&mut out, &removed.and_then(|()| rulebook.lists().remove(&url)))?;
        }
    }
    out.flush()
}

/// Reads what is asked: one line, of few bytes and within a time. The inner error says why it is refused.
fn request(
    stream: &UnixStream,
    lines: &mut impl BufRead,
    time: Duration,
) -> io::Result<Result<CommandRequest, String>> {
    let begun = Instant::now();
    let mut line = Vec::new();
    loop {
        let late = || Ok(Err(format!("no request came within {} s", time.as_secs_f32())));
        let left = time.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return late();
        }
        stream.set_read_timeout(Some(left))?;
        let read = match lines.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return late(),
            read => read?,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        if line.len() + part.len() > COMMAND_LINE_BYTES_MAX {
            return Ok(Err(format!("the request has more than {COMMAND_LINE_BYTES_MAX} bytes")));
        }
        line.extend_from_slice(part);
        let (count, is_whole) = (part.len() + usize::from(end.is_some()), end.is_some() || read.is_empty());
        lines.consume(count);
        if is_whole {
            stream.set_read_timeout(None)?;
            return Ok(serde_json::from_slice(&line).map_err(|error| format!("the request is not understood: {error}")));
        }
    }
}

/// Answers that a command is not taken, and why.
fn refuse(mut stream: &UnixStream, problem: &str) -> io::Result<()> {
    stream.write_all(format!("{REFUSED}{problem}\n").as_bytes())
}

/// Changes what is written to the log. The audit trail says so before it happens.
fn change_log(trail: &AuditTrail, order: &LogOrder) -> Result<LogState, String> {
    order.check()?;
    if order.changes() {
        let LogOrder { level, target, sample } = order;
        let text = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
        let parts = [
            text("level", level.clone()),
            text("target", target.clone()),
            text("sample", sample.map(|sample| sample.to_string())),
        ];
        let note = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        bulk::write_down(trail, AuditAction::LogLevel, "hcert log level", Some(note), None)?;
    }
    log::change(order)
}

/// Builds the index again, and tells how far it is some times a second. It is done also when nobody listens any more.
fn reindex(engine: &Engine, trail: &AuditTrail, out: &mut (impl Write + Send)) -> Result<u64, String> {
    bulk::write_down(trail, AuditAction::IndexRebuild, "hcert reindex", None, None)?;
    let mut told = Instant::now();
    let mut is_heard = true;
    engine.reindex(&mut |at, of| {
        if is_heard && told.elapsed() >= Duration::from_millis(200) {
            told = Instant::now();
            is_heard = send(out, &CommandProgress::At { at: at.0, of: of.0 }).is_ok();
        }
    })
}

/// Sends what an import tells, and how it ended.
fn report(
    out: &mut impl Write,
    import: impl FnOnce(&mut dyn FnMut(BulkEvent)) -> Result<BulkProgress, String>,
) -> io::Result<()> {
    let mut failed = None;
    let done = import(&mut |event| failed = send(out, &event).err());
    match failed {
        Some(error) => Err(error),
        None => send(out, &done.map_or_else(|problem| BulkEvent::Failed { problem }, BulkEvent::Done)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::CommandConnection;

    /// What a client reads of a server that is sent these bytes, and then nothing.
    fn refusal(sent: &'static [u8], times: usize, time: Duration) -> String {
        let (client, server) = UnixStream::pair().unwrap();
        let writer = client.try_clone().unwrap();
        let writing = thread::spawn(move || drop((0..times).try_for_each(|_| (&writer).write_all(sent))));
        let mut lines = BufReader::with_capacity(64 * 1024, server.try_clone().unwrap());
        let problem = request(&server, &mut lines, time).unwrap().unwrap_err();
        refuse(&server, &problem).unwrap();
        drop((lines, server));
        writing.join().unwrap();
        let mut line = String::new();
        CommandConnection::new(client).lines().unwrap().read_line(&mut line).unwrap_err().to_string()
    }

    /// What was seen: a line of 1 GiB took 2 GB of memory.
    #[test]
    fn a_request_has_an_end_within_few_bytes_and_a_time() {
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(20));
        let large = refusal(&[b'x'; 65_536], 16_384, long);
        assert_eq!(large, "the request has more than 65536 bytes");
        for sent in [&b""[..], b"{\"import\""] {
            assert!(refusal(sent, 1, short).starts_with("no request came within 0.02 s"), "{sent:?}");
        }
        assert!(refusal(b"nonsense\n", 1, long).starts_with("the request is not understood"));
    }

    /// What was seen: a line without an end took all memory of a command.
    #[test]
    fn a_line_of_an_answer_has_an_end() {
        let (client, server) = UnixStream::pair().unwrap();
        let writing = thread::spawn(move || drop((0..4096).try_for_each(|_| (&server).write_all(&[b' '; 65_536]))));
        let connection = CommandConnection::new(client);
        let problem = connection.answer::<String>().unwrap_err();
        assert_eq!(problem, "the server's answer has a line above 134217728 bytes");
        drop(connection);
        writing.join().unwrap();
    }

    #[test]
    fn what_follows_a_request_is_left_and_has_no_deadline() {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"{\"import\":{\"stop_at_bad\":true}}\n{}\n").unwrap();
        drop(client);
        let mut lines = BufReader::new(server.try_clone().unwrap());
        let asked = request(&server, &mut lines, Duration::from_secs(60)).unwrap();
        assert_eq!(asked, Ok(CommandRequest::Import { stop_at_bad: true }));
        assert_eq!(server.read_timeout().unwrap(), None);
        assert_eq!(lines.lines().map(Result::unwrap).collect::<Vec<_>>(), ["{}"]);
    }
}
