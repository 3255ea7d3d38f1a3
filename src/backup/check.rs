//! Archives looked at without a data folder: whether every byte is there, and whether every row of them could be restored.

use std::io::Read as _;

use super::chain::Archive;
use super::member::ArchiveMember;
use super::{ArchiveProgress, read, take};
use crate::audit::CopiedTrail;
use certificate::Seq;
use engine::CopyCheck;

/// What was found in archives that are whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub archives: usize,
    pub changes: u64,
    pub patients: u64,
    pub bytes: u64,
    /// What is wrong with the audit trail in them, where it was read. Certificates and patients are whole all the same.
    pub trail: Vec<String>,
}

/// Reads all archives of a chain; `rows` also expands every row and reads every event.
///
/// # Errors
/// What is wrong, with the name of the archive.
pub fn check(chain: &[Archive], rows: bool, report: &mut dyn FnMut(ArchiveProgress)) -> Result<Checked, String> {
    let size = |archive: &Archive| std::fs::metadata(&archive.path).map_or(0, |file| file.len());
    let mut progress = ArchiveProgress { bytes_total: chain.iter().map(size).sum(), ..ArchiveProgress::default() };
    let mut trail = CopiedTrail::default();
    for archive in chain {
        trail.begin(archive.about.audit_after, archive.about.known_head());
        let mut looked = ArchiveCheck::default();
        let mut read_so_far = progress.bytes;
        let whole = read::walk(&archive.path, &archive.keys, |about, member, content| {
            // A size that lies is told when the member ends before it.
            read_so_far = read_so_far.saturating_add(content.left());
            if let (true, ArchiveMember::Audit(file)) = (rows, member) {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                trail.file(file, &bytes);
            } else if rows {
                looked.member(about.after, about.patients_after, member, content.whole()?)?;
            }
            report(ArchiveProgress { bytes: read_so_far, ..progress });
            Ok(())
        })?;
        archive.expect_same(&whole)?;
        if rows {
            looked.check_end(&whole.about).map_err(|problem| format!("{}: {problem}", archive.path.display()))?;
        }
        progress.changes += whole.about.until - whole.about.after;
        progress.patients += whole.about.patients_until - whole.about.patients_after;
        progress.bytes += whole.bytes;
        report(progress);
    }
    let ArchiveProgress { changes, patients, bytes, .. } = progress;
    let trail = if rows { trail.finish() } else { Vec::new() };
    Ok(Checked { archives: chain.len(), changes, patients, bytes, trail })
}

/// What was seen of an archive.
#[derive(Default)]
struct ArchiveCheck {
    dictionaries: Vec<(u8, Vec<u8>)>,
    rows: Option<CopyCheck>,
    changes: Option<u64>,
    patients: Option<u64>,
}

impl ArchiveCheck {
    fn member(
        &mut self,
        after: u64,
        patients_after: u64,
        member: &ArchiveMember,
        piece: Vec<u8>,
    ) -> Result<(), String> {
        let words = |problem: String| format!("{member}: {problem}");
        match member {
            ArchiveMember::Dictionary(number) => self.dictionaries.push((*number, piece)),
            ArchiveMember::List(_) => {
                drop(take::read_list(&piece).ok_or_else(|| words("it is no code list".to_owned()))?);
            }
            ArchiveMember::Changes(_) => {
                let last = self.changes.unwrap_or(after);
                let checked = self.rows()?.changes(Seq(last), &piece);
                self.changes = Some(checked.map_err(|error| words(error.to_string()))?.0);
            }
            ArchiveMember::Patients(_) => {
                let last = self.patients.unwrap_or(patients_after);
                let checked = self.rows()?.patients(last, &piece);
                self.patients = Some(checked.map_err(|error| words(error.to_string()))?);
            }
            ArchiveMember::About | ArchiveMember::Audit(_) | ArchiveMember::Manifest => {}
        }
        Ok(())
    }

    fn rows(&mut self) -> Result<&mut CopyCheck, String> {
        if self.rows.is_none() {
            self.rows = Some(CopyCheck::new(&self.dictionaries).map_err(|error| error.to_string())?);
        }
        Ok(self.rows.as_mut().expect("it was made above"))
    }

    fn check_end(&self, about: &super::ArchiveManifest) -> Result<(), String> {
        let ends = |found: Option<u64>, after: u64, until: u64| found.unwrap_or(after) == until;
        let is_whole = ends(self.changes, about.after, about.until)
            && ends(self.patients, about.patients_after, about.patients_until);
        is_whole.then_some(()).ok_or_else(|| "it ends before its last change".to_owned())
    }
}
