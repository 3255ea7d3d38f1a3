//! Archives looked at without a data folder: whether every byte is there, and whether every row of them could be restored.

use super::chain::Archive;
use super::member::ArchiveMember;
use super::{ArchiveManifest, ArchiveProgress, read, take};
use crate::audit::CopiedTrail;
use crate::config::Config;
use certificate::terminology::{LoadedList, Terminology};
use certificate::{Names, Seq};
use engine::{CopyCheck, CopyOrder, EntryLog, PieceForm, StoreError, StoredList};
use fhir::json;

/// What was found in archives that are whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedArchives {
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
pub fn check(
    chain: &[Archive],
    rows: bool,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<CheckedArchives, String> {
    let rows = if rows { RowsRead::All } else { RowsRead::None };
    check_chain(chain, rows, report).map_err(|(_, problem)| problem)
}

/// Which rows are read.
#[derive(Clone, Copy)]
pub(super) enum RowsRead {
    None,
    /// Those of the first archives, up to a change: what a restore takes. It reads the audit trail itself.
    Restored {
        archives: usize,
        to: Seq,
    },
    /// All, and the audit trail.
    All,
}

/// As [`check`]; an error tells how many archives stand before the one that it is about. Rows are compared over the whole chain.
pub(super) fn check_chain(
    chain: &[Archive],
    rows: RowsRead,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<CheckedArchives, (usize, String)> {
    let behind = |about: &ArchiveManifest| CopyOrder::behind(Seq(about.after), about.patients_after, about.chain_after);
    let order = chain.first().map(|archive| behind(&archive.about)).unwrap_or_default();
    check_behind(order, chain, rows, report)
}

/// As [`check_chain`], behind entries that were read or are held already.
pub(super) fn check_behind(
    mut order: CopyOrder,
    chain: &[Archive],
    rows: RowsRead,
    report: &mut dyn FnMut(ArchiveProgress),
) -> Result<CheckedArchives, (usize, String)> {
    let size = |archive: &Archive| std::fs::metadata(&archive.path).map_or(0, |file| file.len());
    let mut progress = ArchiveProgress { bytes_total: chain.iter().map(size).sum(), ..ArchiveProgress::default() };
    let (read_to, to) = match rows {
        RowsRead::None => (0, Seq(0)),
        RowsRead::Restored { archives, to } => (archives, to),
        RowsRead::All => (chain.len(), Seq(u64::MAX)),
    };
    let reads_trail = matches!(rows, RowsRead::All);
    let mut trail = CopiedTrail::with_known(chain.iter().filter_map(|archive| archive.about.known_head()));
    for (at, archive) in chain.iter().enumerate() {
        let rows = at < read_to;
        if let Some(after) = archive.about.chain_after.filter(|_| rows) {
            order
                .go_on_with(Seq(archive.about.after), archive.about.patients_after, after)
                .map_err(|problem| (at, format!("{}: {}", archive.path.display(), in_archive(problem))))?;
        }
        trail.begin(archive.about.audit_after);
        let mut looked = ArchiveCheck::new(std::mem::take(&mut order), to, archive.about.pieces());
        let mut read_so_far = progress.bytes;
        let whole = read::walk(&archive.path, &archive.keys, |_, member, content| {
            // A size that lies is told when the member ends before it.
            read_so_far = read_so_far.saturating_add(content.left());
            match member {
                ArchiveMember::Audit(file) if reads_trail => {
                    let mut bytes = Vec::new();
                    content.trail_file(&mut bytes).map_err(|error| error.to_string())?;
                    trail.file(file, &bytes);
                }
                ArchiveMember::Audit(_) => {}
                _ if rows => looked.member(member, content.whole()?)?,
                _ => {}
            }
            report(ArchiveProgress { bytes: read_so_far, ..progress });
            Ok(())
        });
        let whole =
            whole.and_then(|whole| archive.expect_same(&whole).map(|()| whole)).map_err(|problem| (at, problem))?;
        if rows {
            let ended = looked.end(&whole.about);
            order = ended.map_err(|problem| (at, format!("{}: {problem}", archive.path.display())))?;
        }
        progress.changes += whole.about.until - whole.about.after;
        progress.patients += whole.about.patients_until - whole.about.patients_after;
        progress.bytes += whole.bytes;
        report(progress);
    }
    let ArchiveProgress { changes, patients, bytes, .. } = progress;
    let trail = if reads_trail { trail.finish() } else { Vec::new() };
    Ok(CheckedArchives { archives: chain.len(), changes, patients, bytes, trail })
}

/// What was seen of an archive.
struct ArchiveCheck {
    dictionaries: Vec<(u8, Vec<u8>)>,
    /// Code lists of an archive of an earlier form.
    lists: Vec<LoadedList>,
    form: PieceForm,
    to: Seq,
    /// Where the archive before it ended, until its own rows come.
    before: CopyOrder,
    rows: Option<CopyCheck>,
}

impl ArchiveCheck {
    fn new(before: CopyOrder, to: Seq, form: PieceForm) -> ArchiveCheck {
        ArchiveCheck { dictionaries: Vec::new(), lists: Vec::new(), form, to, before, rows: None }
    }

    fn member(&mut self, member: &ArchiveMember, piece: Vec<u8>) -> Result<(), String> {
        let words = |problem: StoreError| format!("{member}: {}", in_archive(problem));
        let form = self.form;
        match member {
            ArchiveMember::Dictionary(number) => self.dictionaries.push((*number, piece)),
            ArchiveMember::List(_) => {
                let list = take::read_list(&piece)
                    .as_ref()
                    .and_then(loaded)
                    .ok_or_else(|| format!("{member}: it is no code list"))?;
                self.lists.push(list);
            }
            ArchiveMember::Changes(_) => self.rows()?.piece(EntryLog::Changes, form, &piece).map_err(words)?,
            ArchiveMember::Patients(_) => self.rows()?.piece(EntryLog::Register, form, &piece).map_err(words)?,
            ArchiveMember::About | ArchiveMember::Audit(_) | ArchiveMember::Manifest => {}
        }
        Ok(())
    }

    fn rows(&mut self) -> Result<&mut CopyCheck, String> {
        if self.rows.is_none() {
            let check = CopyCheck::new(&self.dictionaries, std::mem::take(&mut self.before), self.to);
            self.rows = Some(check.map_err(|error| error.to_string())?);
        }
        Ok(self.rows.as_mut().expect("it was made above"))
    }

    /// Where the next archive goes on.
    fn end(self, about: &ArchiveManifest) -> Result<CopyOrder, String> {
        let names = Config::default().namespaces.pairs();
        let names = names.into_iter().map(|(name, value)| (about.names.get(&name).cloned().unwrap_or(value), name));
        let names: Vec<_> = names.map(|(value, name)| (name, value)).collect();
        let order = match self.rows {
            Some(rows) => rows.into_order(),
            None => self.before,
        };
        let of_register = order.lists().map(|list| loaded(list).ok_or("a code list of it is none"));
        let lists = self.lists.into_iter().map(Ok).chain(of_register).collect::<Result<Vec<_>, _>>()?;
        // A start with lists that cannot be used together ends at once. Decision 271.
        if let Err(problems) = Terminology::new(&Names::new(String::new(), &names), false, &lists) {
            return Err(format!("its code lists cannot be used together: {}", problems.join("; ")));
        }
        let last = [EntryLog::Changes, EntryLog::Register].map(|log| order.last(log));
        let is_whole = last == [Seq(about.until).min(self.to), Seq(about.patients_until)];
        if !is_whole {
            return Err("it ends before its last change".to_owned());
        }
        let is_cut = last[0] != Seq(about.until);
        match about.chain {
            Some(_) if is_cut => Ok(order),
            Some(chain) if order.chain() != Some(chain) => {
                Err("its changes are not those whose hash its head has: one of them is not as it was written"
                    .to_owned())
            }
            _ => Ok(order),
        }
    }
}

/// What is wrong with rows of an archive, in words: it is no store that is damaged.
pub(super) fn in_archive(problem: StoreError) -> String {
    match problem {
        StoreError::Damaged(problem) => problem,
        other => other.to_string(),
    }
}

/// A code list that says the type and address it is kept under.
fn loaded(StoredList { key, at, text }: &StoredList) -> Option<LoadedList> {
    let resource = json::parse(text).ok()?.into_owned();
    let says = |name: &str, value: &str| resource.text(name) == Some(value);
    (says("resourceType", &key.resource_type) && says("url", &key.url)).then_some(LoadedList { resource, at: *at })
}
