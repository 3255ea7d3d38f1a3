//! The indexes of a trail: kept up with what is written, made for sealed files that have none, and forgotten with them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::{Draft, Index, Subjects, unknown, write};
use crate::audit::disk::Name;
use crate::audit::header::{HEADER_BYTES, Header};
use crate::audit::keeper::write_durable;
use crate::audit::log::Shared;
use crate::audit::record::{Hash, whole_records};
use crate::audit::seal::Seal;
use crate::audit::trail::{Part, Trail};
use base::log::event;
use base::threads;

/// Files of the audit trail that have an index in memory: the one that is written, and the one before it until it is sealed.
const AUDIT_DRAFTS_MAX: usize = 2;

/// Bytes of a file of the audit trail that are added to its index under one lock: some milliseconds of work. An event is shorter.
pub(crate) const AUDIT_DRAFT_PIECE_BYTES: usize = 1024 * 1024;

/// How often what was written is taken in, so that a search has little left to read.
const ROUND: Duration = Duration::from_secs(1);

/// The longest time until one that could not be written is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(64);

/// What is known of the indexes of a trail.
#[derive(Default)]
pub(crate) struct Indexes {
    /// Without them no index is made, and those that are there are used.
    subjects: OnceLock<Subjects>,
    /// By the number of the file.
    sealed: Mutex<HashMap<u64, Arc<Index>>>,
    drafts: Mutex<HashMap<u64, Arc<Mutex<Draft>>>>,
    /// Sealed files that can have none, by the hash that their header has of them.
    without: Mutex<HashSet<Hash>>,
}

impl Indexes {
    /// From now on indexes are made. Only the first call counts.
    pub(crate) fn begin(&self, subjects: Subjects) -> bool {
        self.subjects.set(subjects).is_ok()
    }

    /// What indexes are made with, once they are.
    pub(crate) fn subjects(&self) -> Option<&Subjects> {
        self.subjects.get()
    }

    /// The index of a sealed file; none where it has to be read.
    pub(crate) fn of_sealed(&self, folder: &Path, file: u64, seal: &Seal) -> Option<Arc<Index>> {
        let known = self.sealed().get(&file).filter(|index| index.is_of(seal)).cloned();
        known.or_else(|| {
            let found = Arc::new(Index::open(&path(folder, file), seal).ok().flatten()?);
            self.sealed().insert(file, found.clone());
            Some(found)
        })
    }

    /// The index is not what it was: it is read again when it is wanted again.
    pub(crate) fn forget(&self, file: u64) {
        self.sealed().remove(&file);
    }

    /// Runs `run` with the index of a file that is still written or waits to be sealed. That index may hold events behind the end of `part`.
    /// Returns nothing where the file has to be read instead, or once `goes_on` returns false.
    ///
    /// An index that lacks events is completed by its caller, with one piece of the file under each lock: no other caller waits longer.
    pub(crate) fn of_plain<T>(
        &self,
        folder: &Path,
        part: &Part,
        goes_on: impl Fn() -> bool,
        run: impl FnOnce(&Draft) -> T,
    ) -> Option<T> {
        let subjects = self.subjects.get()?;
        let (header, bytes) = (part.header?, usize::try_from(part.length?).ok()?);
        let draft = self.draft(part.name.file(), header)?;
        while goes_on() {
            // A draft that a panic left half-way lacks events.
            let mut draft = draft.lock().unwrap_or_else(|poisoned| {
                draft.clear_poison();
                let mut draft = poisoned.into_inner();
                *draft = Draft::new(header);
                draft
            });
            if !draft.is_of(&header) {
                *draft = Draft::new(header);
            }
            if !draft.is_good() {
                return None;
            }
            if draft.walked() >= bytes {
                return Some(run(&draft));
            }
            extend(&mut draft, &part.name.within(folder), bytes, subjects)?;
        }
        None
    }

    /// The draft of a file, a new one if there is room for it.
    fn draft(&self, file: u64, header: Header) -> Option<Arc<Mutex<Draft>>> {
        let mut drafts = self.drafts();
        if drafts.len() >= AUDIT_DRAFTS_MAX && !drafts.contains_key(&file) {
            return None;
        }
        Some(drafts.entry(file).or_insert_with(|| Arc::new(Mutex::new(Draft::new(header)))).clone())
    }

    fn sealed(&self) -> MutexGuard<'_, HashMap<u64, Arc<Index>>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drafts(&self) -> MutexGuard<'_, HashMap<u64, Arc<Mutex<Draft>>>> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the events of the next piece of a file, which counts up to `bytes`, to its draft. Returns nothing where no event could be added.
fn extend(draft: &mut Draft, path: &Path, bytes: usize, subjects: &Subjects) -> Option<()> {
    let before = draft.walked();
    let mut piece = vec![0; (bytes - before).min(AUDIT_DRAFT_PIECE_BYTES)];
    File::open(path).and_then(|file| file.read_exact_at(&mut piece, before as u64)).ok()?;
    let whole = match whole_records(&piece) {
        // A record is shorter than a piece, so this one is damaged: the draft finds that.
        0 => piece.len(),
        whole => whole,
    };
    draft.extend(&piece[..whole], subjects);
    (draft.walked() > before).then_some(())
}

/// The path of a sealed file's index.
pub(crate) fn path(folder: &Path, file: u64) -> PathBuf {
    Name::Sealed(file).within(folder).with_extension(ENDING)
}

const ENDING: &str = "idx";
const UNFINISHED: &str = "idx.part";

/// Whether a name is that of an index, whole or unfinished.
pub(crate) fn is_name(name: &str) -> bool {
    name.split_once('.').is_some_and(|(file, ending)| {
        let is_file = Name::parse(&format!("{file}.zst")).is_some();
        is_file && (ending == ENDING || ending == UNFINISHED)
    })
}

/// Keeps the indexes until the trail is closed. Whatever else the machine has to do comes first.
pub(crate) fn keep(shared: &Shared) {
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
            let kept = take_in(shared, bound).and_then(|()| match has_more {
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
fn take_in(shared: &Shared, (file, position): (u64, u64)) -> io::Result<()> {
    let Some(part) = Part::look(&shared.folder, Name::Plain(file))? else { return Ok(()) };
    let part = Part { length: Some(position), ..part };
    shared.indexes.of_plain(&shared.folder, &part, || !shared.writer().closing, |_| ());
    Ok(())
}

/// Makes the indexes that sealed files lack; true when some file waits to be sealed.
fn make_missing(shared: &Shared) -> io::Result<bool> {
    let trail = Trail::list(&shared.folder)?;
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
fn remove_left(trail: &Trail) -> io::Result<()> {
    for entry in fs::read_dir(&trail.folder)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))?;
        let file = name.strip_suffix(".idx").and_then(|file| Name::parse(&format!("{file}.zst")));
        let is_left = file.is_some_and(|file| trail.parts.iter().all(|part| part.name.file() != file.file()));
        if is_left {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn make(shared: &Shared, part: &Part, seal: &Seal) -> io::Result<()> {
    let file = part.name.file();
    let without = || shared.indexes.without.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(subjects) = shared.indexes.subjects.get().filter(|_| !without().contains(&seal.stored)) else {
        return Ok(());
    };
    let sealed = match fs::read(part.name.within(&shared.folder)) {
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
    let Some(bytes) = draft.filter(Draft::is_good).and_then(|draft| write(&draft, seal, &sealed)) else {
        without().insert(seal.stored);
        return Ok(());
    };
    let path = path(&shared.folder, file);
    let unfinished = path.with_extension(UNFINISHED);
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
    content: &[u8],
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
    let nobody: Subjects = Arc::new(|_, _| None);
    let mut draft = Draft::new(seal.header);
    draft.extend(content.get(HEADER_BYTES..).unwrap_or_default(), subjects.unwrap_or(&nobody));
    if !draft.is_good() {
        return Ok(None);
    }
    let mut is_whole = index.events() == draft.events();
    let mut failed = Ok(());
    let not_known = index.with(&[&[unknown()]])?.unwrap_or_default().concat();
    draft.each(|key, events| {
        if !is_whole || failed.is_err() || key == unknown() {
            return;
        }
        match index.with(&[&[key]]) {
            // Whose a certificate is may have become known since the index was made.
            Ok(Some(lists)) => {
                let has = |event: &u32| lists[0].binary_search(event).is_ok() || not_known.binary_search(event).is_ok();
                is_whole = events.iter().all(has);
            }
            Ok(None) => {}
            Err(error) => failed = Err(error),
        }
    });
    failed.map(|()| (!is_whole).then_some("it lacks events of its file"))
}

/// What a sealed file holds, read once more.
fn of_content(part: &Part, seal: &Seal, folder: &Path, subjects: &Subjects) -> io::Result<Option<Draft>> {
    let Some(content) = part.content(folder)? else { return Ok(None) };
    let mut draft = Draft::new(seal.header);
    draft.extend(content.get(HEADER_BYTES..).unwrap_or_default(), subjects);
    Ok(Some(draft))
}
