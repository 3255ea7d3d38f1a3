//! A backup: one moment, the logs up to it piece by piece, then the audit trail. Writers go on meanwhile, and no read transaction lasts.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::thread;
use std::time::Instant;

use super::ArchiveProgress;
use super::archive_manifest::{ArchiveManifest, Base};
use super::digest::Digest;
use super::member::ArchiveMember;
use crate::audit::{self, AuditAction, AuditEvent, AuditTrail, TrailFiles};
use certificate::Seq;
use engine::{CopyCheck, CopyOrder, Engine, EntryLog, PieceForm, StoreChain, StoreError, StoreSnapshot, StoredList};

/// Takes the members of an archive, in their order.
pub trait Sink {
    /// One member; `content` has exactly that many bytes.
    ///
    /// # Errors
    /// It cannot be taken; the backup ends.
    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String>;
}

/// How a backup is taken.
#[derive(Clone, Debug)]
pub struct TakeOptions<'b> {
    /// What it goes on from; none makes a full archive.
    pub base: Option<&'b Base>,
    /// As [`Sealing::recipients`](super::Sealing::recipients); none for a plain archive.
    pub recipients: Option<Digest>,
    /// For the audit trail: who takes it, such as `hcert backup`.
    pub command: &'b str,
    /// Milliseconds since 1970 UTC.
    pub at: i64,
    /// Leaves the machine to others for as long as each piece took to read.
    pub is_gentle: bool,
}

/// Takes a backup. The audit trail records its beginning and its end.
///
/// # Errors
/// The trail takes nothing, the base is none of this store, the store cannot be read, or what `sink` returned.
pub fn take(
    engine: &Engine,
    log: &AuditTrail,
    taking: &TakeOptions,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<ArchiveManifest, String> {
    let behind = match taking.base {
        Some(Base { about, .. }) => format!("begins behind change {}", about.until),
        None => "begins".to_owned(),
    };
    write_down(log, taking, behind)?;
    let done = copy(engine, (&|| log.files(), &|| log.trail().map(Some)), taking, sink, report);
    let note = match &done {
        Ok(about) => format!("holds changes {} to {}", about.after + 1, about.until),
        Err(_) => "ended early".to_owned(),
    };
    audit::with_its_end_told(done, write_down(log, taking, note))
}

/// As [`take`], of a data folder that nobody can write to: its trail is copied as it lies there, and not told.
///
/// # Errors
/// As [`take`].
pub fn take_at_rest(
    engine: &Engine,
    data: &Path,
    taking: &TakeOptions,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<ArchiveManifest, String> {
    let trail = || match TrailFiles::list(&audit::folder(data)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        trail => trail.map(Some),
    };
    let files = || engine.expect_folder().map_err(words).and_then(|()| audit::files_at_rest(data));
    copy(engine, (&files, &trail), taking, sink, report)
}

fn write_down(log: &AuditTrail, taking: &TakeOptions, note: String) -> Result<(), String> {
    let mut event = AuditEvent::of_command(AuditAction::Backup, taking.at, taking.command);
    event.note = Some(note);
    let written = log.append(&event).and_then(|_| log.sync_now());
    written.map(drop).map_err(|failing| format!("the audit trail cannot be written: {failing}"))
}

fn copy(
    engine: &Engine,
    (files, trail): (TrailFilesSource, TrailSource),
    taking: &TakeOptions,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<ArchiveManifest, String> {
    let moment = engine.ledger().moment().map_err(words)?;
    if let Some(base) = taking.base {
        fits(&base.about, engine, &moment, trail, taking.recipients)?;
    }
    let from = taking.base.map_or((Seq(0), 0), |base| (Seq(base.about.until), base.about.patients_until));
    let chain_after = engine.ledger().chain_at(from.0, from.1).map_err(words)?;
    let about = about(&moment, &files()?, taking, chain_after);
    let StoreSnapshot { dictionaries, until, .. } = moment;
    let progress = ArchiveProgress {
        changes_total: about.until - about.after,
        patients_total: about.patients_until - about.patients_after,
        ..ArchiveProgress::default()
    };
    let order = CopyOrder::behind(Seq(about.after), about.patients_after, about.chain_after);
    let check = CopyCheck::new(&dictionaries, order, until).map_err(words)?;
    let mut copying = ArchiveCopy { sink, report, progress, is_gentle: taking.is_gentle, check };
    copying.bytes(ArchiveMember::About, &about.write())?;
    for (number, dictionary) in dictionaries {
        copying.bytes(ArchiveMember::Dictionary(number), &dictionary)?;
    }
    let changes = (EntryLog::Changes, about.after, about.until);
    copying.pieces(engine, changes, ArchiveMember::Changes, |progress| &mut progress.changes)?;
    let register = (EntryLog::Register, about.patients_after, about.patients_until);
    copying.pieces(engine, register, ArchiveMember::Patients, |progress| &mut progress.patients)?;
    copying.ends_as(about.chain)?;
    for file in files()?.into_iter().filter(|file| file.number() > about.audit_after) {
        let opened = file.open().map_err(|error| format!("the audit trail cannot be read: {error}"))?;
        // What retention removed meanwhile is no part of the trail any more.
        let Some((name, bytes, mut content)) = opened else { continue };
        copying.member(&ArchiveMember::Audit(name), bytes, &mut content)?;
    }
    Ok(about)
}

/// What the archive of a moment is.
fn about(
    moment: &StoreSnapshot,
    files: &[audit::CopiedTrailFile],
    taking: &TakeOptions,
    chain_after: Option<StoreChain>,
) -> ArchiveManifest {
    let (format, release) = ArchiveManifest::written();
    let names: BTreeMap<_, _> = moment.names.iter().cloned().collect();
    let base = taking.base.map(|base| &base.about);
    let from = |number: fn(&ArchiveManifest) -> u64| base.map_or(0, number);
    ArchiveManifest {
        format,
        release,
        store: moment.store.clone(),
        epoch: moment.epoch.clone(),
        names,
        at: taking.at.max(0),
        after: from(|base| base.until),
        until: moment.until.0,
        patients_after: from(|base| base.patients_until),
        patients_until: moment.register_until,
        next_id: moment.next_id,
        next_patient_id: moment.next_patient_id,
        time: Some(moment.time.clone()),
        purpose: moment.purpose,
        audit_head: moment.audit_head.clone(),
        last_change: None,
        chain_after,
        chain: Some(moment.chain),
        recipients: taking.recipients,
        audit_after: from(|base| base.audit_until),
        audit_until: audit::sealed_until(files),
        base: taking.base.map(|base| base.digest),
    }
}

/// The trail of the store that is copied, where it has one.
pub(super) type TrailSource<'t> = &'t dyn Fn() -> io::Result<Option<TrailFiles>>;

/// The files of that trail that count.
type TrailFilesSource<'t> = &'t dyn Fn() -> Result<Vec<audit::CopiedTrailFile>, String>;

/// Whether a store can go on from an archive.
///
/// # Errors
/// It cannot, in words: it is another store, or has become one.
pub(super) fn fits(
    base: &ArchiveManifest,
    engine: &Engine,
    moment: &StoreSnapshot,
    trail: TrailSource,
    recipients: Option<Digest>,
) -> Result<(), String> {
    if base.store != moment.store {
        return Err("the archive to go on from is of another store".to_owned());
    }
    if base.epoch != moment.epoch {
        let words =
            "the archive to go on from is of another epoch: the store was restored between; a full backup is needed";
        return Err(words.to_owned());
    }
    if base.until > moment.until.0 || base.patients_until > moment.register_until {
        return Err("the archive to go on from knows later changes than the store".to_owned());
    }
    if base.recipients != recipients {
        let words = "the archive to go on from is encrypted to others than backup.recipients names now; a full backup is needed";
        return Err(words.to_owned());
    }
    // Where only the store was set back its trail tells so; where all of the folder was, the trail lacks what it told before.
    let goes_on = match (base.known_head(), trail().map_err(|error| error.to_string())?) {
        (Some(head), Some(trail)) => trail.goes_on_from(head).map_err(|error| error.to_string())?,
        (head, _) => head.is_none(),
    };
    if !goes_on {
        let words = "the archive to go on from is of another timeline: the audit trail is another than it was then, or tells that the \
                     store was set back; a full backup is needed";
        return Err(words.to_owned());
    }
    let Some(chain) = base.chain else {
        return Err("the archive to go on from is of an earlier form; a full backup is needed".to_owned());
    };
    if engine.ledger().chain_at(Seq(base.until), base.patients_until).map_err(words)? != Some(chain) {
        let words = "the archive to go on from is of another timeline: it holds other changes than the store, which was set back by \
                     copying files; a full backup is needed";
        return Err(words.to_owned());
    }
    Ok(())
}

struct ArchiveCopy<'c> {
    sink: &'c mut dyn Sink,
    report: &'c mut dyn FnMut(ArchiveProgress),
    progress: ArchiveProgress,
    is_gentle: bool,
    check: CopyCheck,
}

impl ArchiveCopy<'_> {
    /// What was copied is the history that the store has.
    fn ends_as(&self, chain: Option<StoreChain>) -> Result<(), String> {
        match self.check.chain() == chain {
            true => Ok(()),
            false => Err("the store's changes are not as they were written: hcert verify says which".to_owned()),
        }
    }

    fn bytes(&mut self, member: ArchiveMember, bytes: &[u8]) -> Result<(), String> {
        self.member(&member, bytes.len() as u64, &mut &*bytes)
    }

    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        self.sink.member(member, bytes, content)?;
        self.progress.bytes += bytes;
        (self.report)(self.progress);
        Ok(())
    }

    /// Copies a log from one number to another. Each piece is read as a restore will read it: an archive that cannot be restored is worth
    /// nothing, and whoever takes it can still do something about what is damaged.
    fn pieces(
        &mut self,
        engine: &Engine,
        (log, mut after, until): (EntryLog, u64, u64),
        member: fn(u64) -> ArchiveMember,
        counter: fn(&mut ArchiveProgress) -> &mut u64,
    ) -> Result<(), String> {
        for number in 1.. {
            if after >= until {
                break;
            }
            let started = Instant::now();
            let piece = engine.ledger().copy(log, after, until).map_err(words)?;
            self.check.piece(log, PieceForm::Present, &piece.bytes).map_err(words)?;
            let took = started.elapsed();
            after = piece.last;
            *counter(&mut self.progress) += piece.rows;
            self.bytes(member(number), &piece.bytes)?;
            if self.is_gentle {
                thread::sleep(took);
            }
        }
        Ok(())
    }
}

fn words(error: StoreError) -> String {
    error.to_string()
}

/// Reads a code list that archives of earlier forms have as a member: when it was loaded, bytes of its type and of its address (u32), both,
/// then its JSON.
pub(super) fn read_list(bytes: &[u8]) -> Option<StoredList> {
    let (at, rest) = bytes.split_first_chunk()?;
    let (type_bytes, rest) = rest.split_first_chunk()?;
    let (url_bytes, rest) = rest.split_first_chunk()?;
    let (resource_type, rest) = rest.split_at_checked(u32::from_le_bytes(*type_bytes) as usize)?;
    let (url, text) = rest.split_at_checked(u32::from_le_bytes(*url_bytes) as usize)?;
    let own = |text: &[u8]| String::from_utf8(text.to_vec()).ok();
    let key = engine::ListKey { resource_type: own(resource_type)?, url: own(url)? };
    Some(StoredList { key, at: i64::from_le_bytes(*at), text: text.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_list_of_an_earlier_form_is_read_and_a_cut_one_is_told() {
        let bytes = [&(-1i64).to_le_bytes()[..], &[8, 0, 0, 0, 4, 0, 0, 0], b"ValueSeturn:", b"{}"].concat();
        let list = read_list(&bytes).unwrap();
        assert_eq!(
            (list.key.resource_type.as_str(), list.at, list.text.as_slice()),
            ("ValueSet", -1, b"{}".as_slice())
        );
        assert!((0..bytes.len() - 2).all(|end| read_list(&bytes[..end]).is_none()));
    }
}
