//! The trail's threads: one makes durable what was written, the other makes files ahead, seals full ones and removes old ones.

use std::fs::{self};
use std::io::{self};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::disk::{SEAL_UNFINISHED, TrailFileName, index_path, write_durable};
use super::head::removed;
use super::limits::AUDIT_FILE_BYTES_MAX;
use super::seal::{self, Seal};
use super::trail::{TrailFile, TrailFiles};
use super::writer::{TrailShared, TrailWriter};
use super::{AuditAction, AuditEvent, opening, verify};
use base::log::event;
use base::regular_file;
use journal::disk::sync_folder;
use journal::record::sha256;

/// Milliseconds after which the audit trail makes durable what was written. Contract 7.8 allows 100; the rest is for the disk.
const AUDIT_SYNC_MS: u64 = 50;

/// Milliseconds between two tries to mend an audit trail that cannot be written, or to make room for it.
const AUDIT_RETRY_MS: u64 = 1_000;

/// Minutes between two looks for files of the trail that are older than `audit.retention_days`. Days are counted, so an hour is often.
const AUDIT_RETENTION_MINUTES: u64 = 60;

const SYNC: Duration = Duration::from_millis(AUDIT_SYNC_MS);
const RETRY: Duration = Duration::from_millis(AUDIT_RETRY_MS);
const RETENTION: Duration = Duration::from_secs(60 * AUDIT_RETENTION_MINUTES);
/// How often it is asked whether the file that is written to is still there.
const LOOK: Duration = Duration::from_secs(1);

/// Makes durable what was written, soon after the first write; mends the trail when that failed.
pub(super) fn keep_durable(shared: &TrailShared) {
    let mut looked = Instant::now();
    loop {
        let mut writer = shared.writer();
        let fails = loop {
            if writer.closing {
                return;
            }
            if looked.elapsed() >= LOOK {
                drop(writer);
                shared.look_for_file();
                // Whoever asked for a change may have gone before its event was taken over. A failure is told there.
                drop(shared.follow_all());
                looked = Instant::now();
                writer = shared.writer();
            }
            if writer.sync_problem.is_some() {
                break true;
            }
            let now = Instant::now();
            let due = writer.dirty_since.map(|since| since + SYNC);
            if due.is_some_and(|due| due <= now) {
                break false;
            }
            let patience = match due {
                Some(due) => due - now,
                None if writer.write_fails() => RETRY,
                None => LOOK,
            };
            let waited = shared.written.wait_timeout(writer, patience).unwrap_or_else(PoisonError::into_inner);
            writer = waited.0;
            if waited.1.timed_out() {
                writer.mend();
            }
        };
        drop(writer);
        if !fails {
            // It tells its failure itself.
            drop(shared.sync_now());
            continue;
        }
        match shared.recover() {
            Ok(()) => event!(AUDIT_NEW_FILE),
            Err(problem) => {
                event!(AUDIT_STILL_FAILING, problem);
                let writer = shared.writer();
                if !writer.closing {
                    drop(shared.written.wait_timeout(writer, RETRY));
                }
            }
        }
    }
}

/// Makes the next file ahead, seals full files, removes old ones.
pub(super) fn keep_files(shared: &TrailShared) {
    let mut told = String::new();
    let mut retention_due = Instant::now();
    loop {
        make_next(shared);
        let mut work = || -> Result<bool, String> {
            shared.expect_folder().map_err(|error| error.to_string())?;
            let is_done = seal_full(shared)?;
            if retention_due <= Instant::now() {
                remove_old(shared)?;
                retention_due = Instant::now() + RETENTION;
            }
            Ok(is_done)
        };
        let worked = work();
        if let Err(problem) = &worked
            && *problem != told
        {
            event!(AUDIT_FILES_KEPT, problem);
            told.clone_from(problem);
        }
        let writer = shared.writer();
        if writer.closing {
            return;
        }
        if writer.ready.is_some() || writer.room_problem.is_some() {
            let is_quiet = writer.room_problem.is_none() && worked == Ok(true);
            drop(shared.taken.wait_timeout(writer, if is_quiet { RETENTION } else { RETRY }));
        }
    }
}

fn make_next(shared: &TrailShared) {
    let file = {
        let mut writer = shared.writer();
        if writer.ready.is_some() || writer.closing {
            return;
        }
        writer.newest_file += 1;
        writer.newest_file
    };
    let make = || opening::make(&shared.folder, file, shared.options.file_bytes, &*shared.disk);
    let made = shared.expect_folder().and_then(|()| make());
    let mut writer = shared.writer();
    match made {
        Ok(ready) if ready.file > writer.current.file => {
            if writer.room_problem.is_some() {
                event!(AUDIT_ROOM);
            }
            writer.make_room(ready);
        }
        // The trail went on in a later file meanwhile.
        Ok(ready) => {
            drop(writer);
            shared.remove(ready.file);
        }
        Err(error) => no_room(&mut writer, error),
    }
}

fn no_room(writer: &mut TrailWriter, error: io::Error) {
    let problem = format!("the next file cannot be made: {error}");
    if writer.room_problem.as_ref() != Some(&problem) {
        event!(AUDIT_FULL, problem);
    }
    writer.room_problem = Some(problem);
}

/// Seals what is full and durable. False: some file has to wait.
fn seal_full(shared: &TrailShared) -> Result<bool, String> {
    let trail = TrailFiles::list(&shared.folder).map_err(|error| error.to_string())?;
    for double in &trail.doubles {
        let sealed = TrailFileName::Sealed(double.file()).within(&trail.folder);
        let bytes = regular_file::read_itself(&sealed, AUDIT_FILE_BYTES_MAX).map_err(|error| error.to_string())?;
        // One that is damaged stays beside the other, which verifying tells.
        if Seal::read(&bytes).is_some_and(|seal| holds(&bytes, &seal)) {
            fs::remove_file(double.within(&trail.folder)).map_err(|error| error.to_string())?;
        }
    }
    let durable = shared.writer().durable.file;
    let mut is_done = true;
    for part in trail.parts.iter().filter(|part| part.header.is_some() && part.length.is_some()) {
        let TrailFileName::Plain(file) = part.name else { continue };
        if file >= durable {
            is_done = false;
            continue;
        }
        if shared.writer().closing {
            return Ok(true);
        }
        let sealed = seal_one(&trail, part);
        sealed.map_err(|problem| format!("{} cannot be sealed: {problem}", part.name))?;
    }
    Ok(is_done)
}

/// Until the last step the plain file counts, so that a crash in between costs nothing.
fn seal_one(trail: &TrailFiles, part: &TrailFile) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let Some(content) = part.content(&trail.folder).map_err(text)? else { return Ok(()) };
    let sealed = seal::seal(&content)?;
    let seal = Seal::read(&sealed).filter(|seal| holds(&sealed, seal));
    seal.ok_or("what was compressed is not what comes out")?;
    let path = TrailFileName::Sealed(part.name.file()).within(&trail.folder);
    let unfinished = path.with_extension(SEAL_UNFINISHED);
    let written = write_durable(&unfinished, &sealed).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        drop(fs::remove_file(&unfinished));
    }
    written.and_then(|()| sync_folder(&path)).map_err(text)?;
    fs::remove_file(part.name.within(&trail.folder)).map_err(text)
}

/// Whether a sealed file holds what its header says.
fn holds(sealed: &[u8], seal: &Seal) -> bool {
    let content = seal::expand(sealed, seal.content.0);
    content.len() as u64 == seal.content.0 && sha256(&content) == seal.content.1
}

/// Removes sealed files whose last event is older than events are kept, the oldest first. The trail reports each before it goes. One that
/// is not what its header says stays, whatever times that says.
fn remove_old(shared: &TrailShared) -> Result<(), String> {
    let Some(keep_from) = (shared.options.keep_from)() else { return Ok(()) };
    let trail = TrailFiles::list(&shared.folder).map_err(|error| error.to_string())?;
    let old = trail.parts.iter().enumerate().map_while(|(at, part)| {
        let seal = part.seal?;
        (seal.latest < keep_from).then_some((at, part.name, seal))
    });
    for (at, name, seal) in old {
        if let Some(problem) = verify::problems_of(&trail, at)?.first() {
            shared.doubt(problem);
            return Err(format!("{name} is old enough to be removed and is not as it was written: {problem}"));
        }
        let first = seal.header.before.0.0 + 1;
        let note = format!("{name} with the numbers from {first} {} was removed", removed(seal.last));
        let event =
            AuditEvent { note: Some(note), ..AuditEvent::new(AuditAction::AuditRetention, (shared.options.clock)()) };
        let told = shared.append_all(&[event]).and_then(|_| shared.sync_now());
        told.map_err(|failing| failing.0)?;
        // The index first, which a crash in between would leave without its events.
        match fs::remove_file(index_path(&trail.folder, name.file())) {
            // A folder of that name is nobody's index.
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {
                return Err(error.to_string());
            }
            _ => {}
        }
        fs::remove_file(name.within(&trail.folder)).map_err(|error| error.to_string())?;
    }
    Ok(())
}
