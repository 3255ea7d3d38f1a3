//! A folder of archives looked through: each of them read, which belong together, and what can be restored of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chain::{Archive, chains, is_part, newest};
use super::check::{CheckedArchives, RowsRead, check, check_chain};
use super::sealing::ArchiveKeys;
use super::{ArchiveProgress, folder};
use certificate::Seq;

/// What was found in a folder.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Archives that go on from each other, as far as they go; those whose last one is newest come last.
    pub chains: Vec<JudgedChain>,
    /// Files that are part of no chain.
    pub apart: Vec<StrayArchive>,
    /// All archives that are whole and part of a chain, each counted once.
    pub whole: CheckedArchives,
}

/// A chain, and how much of it is whole.
#[derive(Clone, Debug)]
pub struct JudgedChain {
    /// The full one first.
    pub archives: Vec<Archive>,
    /// How many of them are whole before the first that is not.
    pub whole: usize,
    /// What is wrong with the first that is not whole, with its name.
    pub problem: Option<String>,
    /// What is wrong with the audit trails in those that are whole, with their names: everything else of them can be restored.
    pub trail: Vec<String>,
}

impl JudgedChain {
    /// The last archive that can be restored.
    pub fn end(&self) -> Option<&Archive> {
        self.archives[..self.whole].last()
    }
}

/// A file that is part of no chain.
#[derive(Clone, Debug)]
pub struct StrayArchive {
    pub path: PathBuf,
    /// With its name.
    pub problem: String,
}

impl Survey {
    /// Whether everything in the folder can be restored, and is as it was written.
    pub fn is_whole(&self) -> bool {
        self.apart.is_empty() && self.chains.iter().all(|chain| chain.problem.is_none() && chain.trail.is_empty())
    }
}

/// Reads every archive of a folder and every row in them.
///
/// # Errors
/// The folder cannot be read, or there is no archive in it. What is wrong with archives is told in the survey.
pub fn survey(path: &Path, keys: &ArchiveKeys, report: &mut dyn FnMut(ArchiveProgress)) -> Result<Survey, String> {
    let folder::FolderListing { archives, problems } = folder::list(path, keys)?;
    if archives.is_empty() && problems.is_empty() {
        return Err(format!("{}: there is no archive", path.display()));
    }
    let mut reading = ArchiveReading::new(&archives, true, report);
    let all = chains(&archives);
    let mut survey = Survey::default();
    for problem in problems {
        survey.apart.push(StrayArchive { path: problem.path, problem: problem.text });
    }
    for archive in archives.iter().filter(|archive| !is_part(archive, &all)) {
        let read = reading.problem(archive).map_or_else(String::new, |problem| format!("; and {problem}"));
        survey
            .apart
            .push(StrayArchive { path: archive.path.clone(), problem: format!("{}{read}", lacks_base(archive)) });
    }
    let is_longest = |chain: &&Vec<&Archive>| {
        let goes_on =
            |other: &Vec<&Archive>| other.len() > chain.len() && other[chain.len() - 1] == chain[chain.len() - 1];
        !all.iter().any(goes_on)
    };
    for chain in all.iter().filter(is_longest) {
        let damaged = chain.iter().enumerate().find_map(|(at, archive)| Some((at, reading.problem(archive)?)));
        let (whole, problem) = match damaged {
            Some((at, problem)) => (at, Some(problem)),
            // Whether its archives follow from each other is seen by none of them alone.
            None if chain.len() > 1 => {
                let archives: Vec<Archive> = chain.iter().copied().cloned().collect();
                let rows = RowsRead::Restored { archives: archives.len(), to: Seq(u64::MAX) };
                let followed = check_chain(&archives, rows, &mut |_| {});
                followed.err().map_or((chain.len(), None), |(at, problem)| (at, Some(problem)))
            }
            None => (1, None),
        };
        // What stands behind a damaged one is read all the same.
        chain.iter().for_each(|archive| drop(reading.problem(archive)));
        let trail = chain.iter().flat_map(|archive| reading.trail(archive)).collect();
        survey.chains.push(JudgedChain { archives: chain.iter().copied().cloned().collect(), whole, problem, trail });
    }
    survey.chains.sort_by_key(|chain| chain.archives.last().map(|end| (end.about.at, end.about.until)));
    let ends = all.iter().filter_map(|chain| chain.last().copied());
    let counted: Vec<&Archive> = ends.filter(|archive| reading.problem(archive).is_none()).collect();
    survey.whole = reading.sum(&counted);
    Ok(survey)
}

/// The newest chain of a folder that is whole to the last byte and reaches a change; what is newer and had to be passed over is told.
///
/// # Errors
/// There is none, or there are archives of several stores.
pub fn newest_whole(
    path: &Path,
    to: Option<u64>,
    keys: &ArchiveKeys,
    told: &mut dyn FnMut(String),
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<Vec<Archive>, String> {
    let shown = path.display();
    let folder::FolderListing { archives, problems } = folder::list(path, keys)?;
    let Some(first) = archives.first() else {
        problems.into_iter().for_each(|problem| told(problem.text));
        return Err(format!("{shown}: there is no archive"));
    };
    if archives.iter().any(|archive| archive.about.store != first.about.store) {
        return Err(format!("{shown}: there are archives of several stores; name those that are meant"));
    }
    let mut reading = ArchiveReading::new(&archives, false, report);
    let all = chains(&archives);
    let reaches = |chain: &&Vec<&Archive>| chain.last().is_some_and(|end| end.about.until >= to.unwrap_or(0));
    let mut left: Vec<&Vec<&Archive>> = all.iter().filter(reaches).collect();
    let mut damaged = Vec::new();
    let chain = loop {
        let Some(chain) = newest(left.iter().copied()) else {
            damaged.into_iter().chain(problems.into_iter().map(|problem| problem.text)).for_each(told);
            return Err(match to {
                Some(to) => format!("{shown}: no whole chain of archives reaches change {to}"),
                None => format!("{shown}: there is no whole chain of archives"),
            });
        };
        let Some((broken, problem)) = chain.iter().find_map(|archive| Some((*archive, reading.problem(archive)?)))
        else {
            break chain;
        };
        damaged.push(problem);
        left.retain(|chain| !chain.contains(&broken));
    };
    let end = chain.last().expect("a chain has a full archive");
    // The names of archives tell when they were taken, also those of files that tell nothing else.
    let passed = problems.into_iter().filter(|problem| problem.path.file_name() > end.path.file_name());
    let strays = archives.iter().filter(|archive| !is_part(archive, &all));
    let strays = strays.filter(|archive| (archive.about.at, archive.about.until) > (end.about.at, end.about.until));
    let passed: Vec<String> =
        damaged.into_iter().chain(strays.map(lacks_base)).chain(passed.map(|problem| problem.text)).collect();
    if !passed.is_empty() {
        passed.into_iter().for_each(&mut *told);
        told(format!(
            "what is newer was passed over: the newest whole chain ends with {}, at change {}",
            end.path.display(),
            end.about.until
        ));
    }
    Ok(chain.iter().copied().cloned().collect())
}

fn lacks_base(archive: &Archive) -> String {
    format!("{}: it belongs to no chain: the archive that it goes on from is not there", archive.path.display())
}

/// Archives that are read, each once however many chains it is part of.
struct ArchiveReading<'r> {
    rows: bool,
    report: &'r mut dyn FnMut(ArchiveProgress),
    known: BTreeMap<PathBuf, Result<CheckedArchives, String>>,
    bytes: u64,
    bytes_total: u64,
}

impl<'r> ArchiveReading<'r> {
    fn new(archives: &[Archive], rows: bool, report: &'r mut dyn FnMut(ArchiveProgress)) -> ArchiveReading<'r> {
        let size = |archive: &Archive| std::fs::metadata(&archive.path).map_or(0, |file| file.len());
        let bytes_total = archives.iter().map(size).sum();
        ArchiveReading { rows, report, known: BTreeMap::new(), bytes: 0, bytes_total }
    }

    /// What is wrong with an archive, with its name.
    fn problem(&mut self, archive: &Archive) -> Option<String> {
        if let Some(known) = self.known.get(&archive.path) {
            return known.clone().err();
        }
        let (before, total, report) = (self.bytes, self.bytes_total, &mut *self.report);
        let mut at = 0;
        let read = check(std::slice::from_ref(archive), self.rows, &mut |progress| {
            at = progress.bytes;
            report(ArchiveProgress { bytes: before + progress.bytes, bytes_total: total, ..progress });
        });
        self.bytes += at;
        self.known.insert(archive.path.clone(), read.clone());
        read.err()
    }

    /// What is wrong with the trail in an archive that was read, with its name.
    fn trail(&self, archive: &Archive) -> Vec<String> {
        let read = self.known.get(&archive.path).and_then(|read| read.as_ref().ok());
        let name = archive.path.display();
        read.map_or_else(Vec::new, |read| read.trail.iter().map(|problem| format!("{name}: {problem}")).collect())
    }

    fn sum(&self, archives: &[&Archive]) -> CheckedArchives {
        let read = archives.iter().filter_map(|archive| self.known.get(&archive.path)?.as_ref().ok());
        read.fold(CheckedArchives::default(), |sum, read| CheckedArchives {
            archives: sum.archives + read.archives,
            changes: sum.changes + read.changes,
            patients: sum.patients + read.patients,
            bytes: sum.bytes + read.bytes,
            trail: Vec::new(),
        })
    }
}
