//! The indexes of a trail: kept up with what is written, made for sealed files that have none, and forgotten with them.

use std::fs::{self};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Index, IndexDraft, Subjects, unknown, write};
use crate::audit::disk::{INDEX_UNFINISHED, TrailFileName, index_path, write_durable};
use crate::audit::header::HEADER_BYTES;
use crate::audit::limits::AUDIT_FILE_BYTES_MAX;
use crate::audit::seal::Seal;
use crate::audit::trail::{TrailFile, TrailFiles};
use crate::audit::writer::TrailShared;
use base::log::event;
use base::{regular_file, threads};

/// How often what was written is taken in, so that a search has little left to read.
const ROUND: Duration = Duration::from_secs(1);

/// The longest time until one that could not be written is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(64);

/// Keeps the indexes until the trail is closed. Whatever else the machine has to do comes first.
pub(crate) fn keep(shared: &TrailShared) {
    threads::give_way();
    let (mut told, mut known, mut has_more, mut pause) = (String::new(), None, true, ROUND);
    loop {
        let (closing, bound) = {
            let writer = shared.writer();
            (writer.closing, (writer.current.file, writer.current.position))
        };
        if closing {
            return;
        }
        if known != Some(bound) || has_more {
            has_more |= known.is_none_or(|(file, _)| file != bound.0);
            known = Some(bound);
            let kept = shared.expect_folder().and_then(|()| take_in(shared, bound)).and_then(|()| match has_more {
                true => make_missing(shared),
                false => Ok(false),
            });
            match kept {
                Ok(more) => (has_more, pause) = (more, ROUND),
                Err(error) => {
                    pause = (pause * 2).min(PAUSE_MAX);
                    let problem = error.to_string();
                    if problem != told {
                        event!(AUDIT_INDEX_FAILED, problem);
                        told.clone_from(&problem);
                    }
                }
            }
        }
        let writer = shared.writer();
        if !writer.closing {
            drop(shared.taken.wait_timeout(writer, pause));
        }
    }
}

/// Takes in what was written to the newest file.
fn take_in(shared: &TrailShared, (file, position): (u64, u64)) -> io::Result<()> {
    let Some(part) = TrailFile::look(&shared.folder, TrailFileName::Plain(file))? else { return Ok(()) };
    let part = TrailFile { length: Some(position), ..part };
    shared.indexes.of_plain(&shared.folder, &part, || !shared.writer().closing, |_| ());
    Ok(())
}

/// Makes the indexes that sealed files lack; true when some file waits to be sealed.
fn make_missing(shared: &TrailShared) -> io::Result<bool> {
    let trail = TrailFiles::list(&shared.folder)?;
    let newest = shared.writer().current.file;
    let (mut waits, mut failed) = (false, Ok(()));
    for part in &trail.parts {
        if shared.writer().closing {
            return Ok(false);
        }
        let file = part.name.file();
        match part.seal {
            // Those behind one that cannot be written get theirs.
            Some(seal) if shared.indexes.of_sealed(&trail.folder, file, &seal).is_none() => {
                failed = failed.and(make(shared, part, &seal));
            }
            Some(_) => drop(shared.indexes.drafts().remove(&file)),
            // One that is damaged waits for ever.
            None => waits |= file < newest && part.header.is_some(),
        }
    }
    let is_there = |file: &u64| trail.parts.iter().any(|part| part.name.file() == *file);
    shared.indexes.sealed().retain(|file, _| is_there(file));
    shared.indexes.drafts().retain(|file, _| is_there(file) || *file >= newest);
    remove_left(&trail)?;
    failed.map(|()| waits)
}

/// Removes the indexes of files that are gone: they hold hashes of personal codes, which are kept no longer than the events.
fn remove_left(trail: &TrailFiles) -> io::Result<()> {
    for entry in fs::read_dir(&trail.folder)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))?;
        let file = name.strip_suffix(".idx").and_then(|file| TrailFileName::parse(&format!("{file}.zst")));
        let is_left = file.is_some_and(|file| trail.parts.iter().all(|part| part.name.file() != file.file()));
        if is_left {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn make(shared: &TrailShared, part: &TrailFile, seal: &Seal) -> io::Result<()> {
    let file = part.name.file();
    let without = || shared.indexes.without.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(subjects) = shared.indexes.subjects.get().filter(|_| !without().contains(&seal.stored)) else {
        return Ok(());
    };
    let sealed = match regular_file::read_itself(&part.name.within(&shared.folder), AUDIT_FILE_BYTES_MAX) {
        Ok(sealed) => sealed,
        // Retention was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // A search may still hold it; then the file is read once more.
    let known = shared.indexes.drafts().remove(&file).and_then(Arc::into_inner);
    let known = known.and_then(|draft| draft.into_inner().ok());
    let known = known.filter(|draft| draft.is_of(&seal.header) && draft.walked() as u64 == seal.content.0);
    let draft = known.map_or_else(|| of_content(part, seal, &shared.folder, subjects), |draft| Ok(Some(draft)))?;
    let Some(bytes) = draft.filter(IndexDraft::is_good).and_then(|draft| write(&draft, seal, &sealed)) else {
        without().insert(seal.stored);
        return Ok(());
    };
    let path = index_path(&shared.folder, file);
    let unfinished = path.with_extension(INDEX_UNFINISHED);
    let written = write_durable(&unfinished, &bytes).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        drop(fs::remove_file(&unfinished));
    } else if !part.name.within(&shared.folder).exists() {
        // Retention was faster.
        return fs::remove_file(path);
    }
    written
}

/// What is wrong with the index of a sealed file; nothing where it has none.
///
/// # Errors
/// It cannot be read.
pub(crate) fn omits(
    path: &Path,
    (content, sealed): (&[u8], &[u8]),
    seal: &Seal,
    subjects: Option<&Subjects>,
) -> io::Result<Option<&'static str>> {
    if !path.try_exists()? {
        return Ok(None);
    }
    let Some(index) = Index::open(path, seal)? else {
        // Unless retention removed it meanwhile.
        return Ok(path.try_exists()?.then_some("it is damaged, or the index of another file"));
    };
    let lacks = |subjects: &Subjects, may_be_unknown: bool| -> io::Result<bool> {
        let mut draft = IndexDraft::new(seal.header);
        draft.extend(content.get(HEADER_BYTES..).unwrap_or_default(), subjects);
        if !draft.is_good() {
            return Ok(false);
        }
        let not_known = match may_be_unknown {
            true => index.with(&[&[unknown()]])?.unwrap_or_default().concat(),
            false => Vec::new(),
        };
        let is_another = index.events() != draft.events() || !index.has_blocks_of(&draft, sealed);
        let (mut lacks, mut failed) = (is_another, Ok(()));
        draft.each(|key, events| {
            // Without the store every certificate is one of which nobody knows.
            if lacks || failed.is_err() || key == unknown() && !may_be_unknown {
                return;
            }
            match index.with(&[&[key]]) {
                Ok(Some(lists)) => {
                    let may_be = key != unknown() && may_be_unknown;
                    let is_not_known = |event: &u32| may_be && not_known.binary_search(event).is_ok();
                    let has = |event: &u32| lists[0].binary_search(event).is_ok() || is_not_known(event);
                    lacks = !events.iter().all(has);
                }
                Ok(None) => {}
                Err(error) => failed = Err(error),
            }
        });
        failed.map(|()| lacks)
    };
    // What the events say themselves is there. Whose a certificate is may have become known since the index was made: those of which
    // nobody knew it then are looked at by every search for a person.
    let nobody: Subjects = Arc::new(|_, _| None);
    let lacks = lacks(&nobody, false)
        .and_then(|lacking| Ok(lacking || subjects.map_or(Ok(false), |subjects| lacks(subjects, true))?));
    match lacks {
        Ok(lacks) => Ok(lacks.then_some("it lacks events of its file")),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
            Ok(Some("a list of events in it is damaged"))
        }
        Err(error) => Err(error),
    }
}

/// What a sealed file holds, read once more.
fn of_content(part: &TrailFile, seal: &Seal, folder: &Path, subjects: &Subjects) -> io::Result<Option<IndexDraft>> {
    let Some(content) = part.content(folder)? else { return Ok(None) };
    let mut draft = IndexDraft::new(seal.header);
    draft.extend(content.get(HEADER_BYTES..).unwrap_or_default(), subjects);
    Ok(Some(draft))
}
