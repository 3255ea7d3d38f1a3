//! The index of a folder as it lies there, judged without changing a byte: each file of the last commit beside its checksum.
//!
//! Opening an index to write mends it or builds it again, so a check looks at it first, in this way. A running server's is looked at
//! in the same way, beside its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tantivy::directory::Directory;
use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::{Index, IndexMeta, ReloadPolicy, Searcher, SegmentReader, TantivyDocument};

use super::columns::SegmentColumns;
use super::schema::{IndexFields, Payload, schema};
use super::{IndexError, IndexMedium, IndexOrigin, Segment, Snapshot};
use base::number::counted;
use base::regular_file;
use certificate::Seq;

/// The list of the files of the last commit, and of all that were ever made.
const LISTS: [&str; 2] = ["meta.json", ".managed.json"];

const UNREADABLE: &str = "its list of files (meta.json or .managed.json) is not what was written";

/// What lies in the folder of an index.
pub(crate) enum IndexFolderState {
    /// Nothing that was ever committed: it is built at the next start.
    Missing(String),
    /// It was made from another store or by other rules: it is built at the next start.
    Foreign(String),
    /// Files that are missing, or not what was written.
    Damaged(Vec<String>),
    /// Every file is as it was written. What they say may be wrong all the same.
    Whole(CommittedIndex),
}

/// An index whose files are whole, at its last commit.
pub(crate) struct CommittedIndex {
    index: Index,
    fields: IndexFields,
    /// The change whose state it holds.
    pub at: Seq,
    rows: u64,
}

/// Looks at the index of a folder and reads all its files. `origin` is what it should have been made from.
pub(crate) fn inspect(medium: &IndexMedium, folder: &Path, origin: &IndexOrigin) -> IndexFolderState {
    match read(medium, folder, origin) {
        IndexFolderState::Whole(committed) => match damage(&committed.index, FilesCompared::All, &|| true) {
            Ok(damaged) if damaged.is_empty() => IndexFolderState::Whole(committed),
            Ok(damaged) => IndexFolderState::Damaged(damaged),
            Err(_) => IndexFolderState::Damaged(vec![UNREADABLE.to_owned()]),
        },
        found => found,
    }
}

/// As [`inspect`], without reading more than what the index says of itself.
pub(crate) fn read(medium: &IndexMedium, folder: &Path, origin: &IndexOrigin) -> IndexFolderState {
    read_where(medium, folder, &|found| found == origin)
}

/// The change up to which a folder holds an index that can be searched as one of `origin`, by what the index says of itself.
pub(crate) fn read_up_to(medium: &IndexMedium, folder: &Path, origin: &IndexOrigin) -> Option<Seq> {
    match read_where(medium, folder, &|found| origin.reads(found)) {
        IndexFolderState::Whole(committed) => Some(committed.at),
        _ => None,
    }
}

fn read_where(medium: &IndexMedium, folder: &Path, fits: &dyn Fn(&IndexOrigin) -> bool) -> IndexFolderState {
    let none = || {
        let is_other = folder.exists() && !folder.is_dir();
        IndexFolderState::Missing(if is_other { "it is no folder" } else { "there is none" }.to_owned())
    };
    if let Some(problem) = regular_file::irregular_in(folder) {
        return IndexFolderState::Damaged(vec![problem]);
    }
    let Ok(directory) = medium.read_only_directory(folder) else { return none() };
    let lacks = |name: &&str| !directory.exists(Path::new(name)).unwrap_or(false);
    let lists: Vec<&str> = LISTS.into_iter().filter(lacks).collect();
    if lists.contains(&LISTS[0]) && holds_no_segment(folder) {
        return none();
    }
    if !lists.is_empty() {
        return IndexFolderState::Damaged(lists.into_iter().map(|name| missing(Path::new(name))).collect());
    }
    let read = || -> Result<(Index, IndexMeta), IndexError> {
        let index = Index::open(directory.clone())?;
        let metas = index.load_metas()?;
        Ok((index, metas))
    };
    let Ok((index, metas)) = read() else { return IndexFolderState::Damaged(vec![UNREADABLE.to_owned()]) };
    let Some(payload) = &metas.payload else { return IndexFolderState::Missing("it was never committed".to_owned()) };
    let payload = match serde_json::from_str::<Payload>(payload) {
        Ok(payload) => payload,
        // An earlier release said less of what it was made from.
        Err(error) if error.is_data() => return IndexFolderState::Foreign("an earlier release made it".to_owned()),
        Err(_) => return IndexFolderState::Damaged(vec![UNREADABLE.to_owned()]),
    };
    let (schema, fields) = schema();
    if !fits(&payload.origin) || index.schema() != schema {
        return IndexFolderState::Foreign("it was made from another store or by other rules".to_owned());
    }
    IndexFolderState::Whole(CommittedIndex { index, fields, at: Seq(payload.seq), rows: payload.rows })
}

/// What of the files of the last commit is missing or not what was written, in words; their checksums lie at their ends. tantivy's own
/// look passes over files that are missing in its list of all it ever made. `goes_on` is asked before each file.
///
/// # Errors
/// What the last commit was cannot be read.
pub(super) fn damage(
    index: &Index,
    compared: FilesCompared,
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<String>, IndexError> {
    let files = committed_files(index, compared)?;
    // Without the list of all files nothing that is given up would ever be removed.
    if !index.directory().exists(Path::new(LISTS[1])).unwrap_or(false) {
        return Ok(vec![missing(Path::new(LISTS[1]))]);
    }
    let judge = |file: &PathBuf| match index.directory().validate_checksum(file) {
        Ok(true) => None,
        Ok(false) => Some(format!("its file {} is not what was written", file.display())),
        Err(OpenReadError::FileDoesNotExist(_)) => Some(missing(file)),
        Err(_) => Some(format!("its file {} cannot be read, or its end is not what was written", file.display())),
    };
    let mut damaged: Vec<(&PathBuf, String)> = Vec::new();
    for file in files.iter().take_while(|_| goes_on()) {
        damaged.extend(judge(file).map(|problem| (file, problem)));
    }
    if !damaged.is_empty() {
        // Merges and commits go on meanwhile, and remove what they have replaced.
        let still = committed_files(index, compared)?;
        damaged.retain(|(file, _)| still.contains(*file));
    }
    Ok(damaged.into_iter().map(|(_, problem)| problem).collect())
}

/// Which files are compared with their checksums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FilesCompared {
    All,
    /// Those of what was deleted, which every commit writes anew from the ones before: a bit for each certificate.
    Deletions,
}

/// The files of the last commit.
fn committed_files(index: &Index, compared: FilesCompared) -> Result<BTreeSet<PathBuf>, IndexError> {
    let metas = index.load_metas()?;
    let deletions = |segment: &tantivy::SegmentMeta| segment.relative_path(SegmentComponent::Delete);
    let mut files = BTreeSet::new();
    if compared == FilesCompared::All {
        files.extend(metas.list_segment_files());
    }
    for segment in &metas.segments {
        // A segment names a file of what was deleted of it also where nothing was.
        match segment.has_deletes() {
            true => files.insert(deletions(segment)),
            false => files.remove(&deletions(segment)),
        };
    }
    Ok(files)
}

/// Compares the files of an index with their checksums, also while another process writes it.
pub(crate) struct IndexFilesCheck {
    index: Index,
    segments: Searcher,
    fields: IndexFields,
}

impl IndexFilesCheck {
    pub(super) fn new(index: &Index, segments: Searcher, fields: IndexFields) -> IndexFilesCheck {
        IndexFilesCheck { index: index.clone(), segments, fields }
    }

    /// Reads all files of the last commit. `goes_on` is asked before each; a check that ends early has found nothing.
    ///
    /// # Errors
    /// A file is missing, not what was written, or of another segment.
    pub(crate) fn run(&self, goes_on: &dyn Fn() -> bool) -> Result<(), IndexError> {
        none_damaged(&damage(&self.index, FilesCompared::All, goes_on)?)?;
        self.segments.segment_readers().iter().try_for_each(|reader| belongs_together(reader, &self.fields))
    }

    /// What is seen without reading all of them: the files of a segment are its own, and what was deleted is what was written. tantivy has
    /// looked at the end of each file when it opened it.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub(crate) fn run_quick(&self) -> Result<(), IndexError> {
        none_damaged(&damage(&self.index, FilesCompared::Deletions, &|| true)?)?;
        self.segments.segment_readers().iter().try_for_each(|reader| belongs_together(reader, &self.fields))
    }
}

fn none_damaged(damaged: &[String]) -> Result<(), IndexError> {
    match damaged {
        [] => Ok(()),
        [one] => Err(IndexError(one.clone())),
        [first, rest @ ..] => Err(IndexError(format!(
            "{first}; {} too",
            counted(rest.len() as u64, "other file is damaged", "other files are damaged")
        ))),
    }
}

fn missing(file: &Path) -> String {
    format!("its file {} is missing", file.display())
}

/// No file of a segment, which are named by the segment's number: locks and lists at most, of an index whose making was killed.
fn holds_no_segment(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_of_segment = |name: &str| name.get(..32).is_some_and(|number| SegmentId::from_uuid_string(number).is_ok());
    !entries.map(|entry| entry.file_name()).any(|name| is_of_segment(&name.to_string_lossy()))
}

impl CommittedIndex {
    /// Opens what was committed, for reading.
    ///
    /// # Errors
    /// Files do not belong together, or hold another number of rows than was committed. It may show as a panic as well.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, IndexError> {
        let reader = self.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let mut segments = Vec::new();
        for reader in searcher.segment_readers() {
            belongs_together(reader, &self.fields)?;
            let columns = Arc::new(SegmentColumns::open(reader)?);
            segments.push(Segment::new(reader, columns, self.fields.term, self.fields.id)?);
        }
        let alive = searcher.num_docs();
        if alive != self.rows {
            let certificates = counted(alive, "certificate", "certificates");
            return Err(IndexError(format!("it holds {certificates}, but {} were committed", self.rows)));
        }
        Ok(Snapshot { segments, at: self.at, alive, counted: Mutex::default() })
    }
}

/// Files of a segment that no search reads must have its number of rows too: merging reads them.
fn belongs_together(reader: &SegmentReader, fields: &IndexFields) -> Result<(), IndexError> {
    let told = |file: &str| {
        IndexError(format!("the {file} of segment {} is of another one", reader.segment_id().uuid_string()))
    };
    let (rows, store) = (reader.max_doc(), reader.get_store_reader(1)?);
    let holds = |row: u32| store.get::<TantivyDocument>(row).is_ok();
    if rows > 0 && (!holds(rows - 1) || holds(rows)) {
        return Err(told("store"));
    }
    let norms = reader.fieldnorms_readers().get_field(fields.id)?;
    match norms.is_none_or(|norms| norms.num_docs() == rows) {
        true => Ok(()),
        false => Err(told("fieldnorm")),
    }
}
