//! What a check finds: problems in words, as many as anybody reads, and the number of the others.

use serde::{Deserialize, Serialize};

use super::super::store::derived::is_derived;
use super::StoreError;
use base::number::counted;
use certificate::Seq;

/// Problems that a check tells one by one; of more only the number. Whoever has a hundred wants a backup, not a list.
const VERIFY_PROBLEMS_MAX: usize = 100;

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyProgress {
    /// What is looked at, by the name of its table.
    pub part: &'static str,
    /// How much was looked at, in rows of the part; 0 for a part that is not counted in rows.
    pub at: u64,
    /// How much there is to look at, in rows; 1 for a part that is not counted in rows.
    pub of: u64,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyProblem {
    /// Table of the store, or `file`, `meta`, `index`, `audit`.
    pub part: String,
    /// What is wrong, with id and version. It names no person.
    pub text: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// The change up to which totals were compared.
    pub change: u64,
    /// Versions of certificates up to `change`, tombstones included.
    pub versions: u64,
    /// Those that are not deleted.
    pub certificates: u64,
    /// Changes of consent.
    pub consents: u64,
    /// The last entry of the register when the check began; 0 when there was none.
    pub register: u64,
    /// Patients that have at least one stored version.
    pub patients: u64,
    /// Certificates that were compared with the index.
    pub indexed: u64,
    /// What is wrong. Empty: all is as it was written.
    pub problems: Vec<VerifyProblem>,
    /// How many more there are.
    pub problems_untold: u64,
    /// What is worth knowing and no problem.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// Adds problems of what is kept beside the store.
    pub fn add(&mut self, part: &str, problems: Vec<String>, untold: u64, notes: Vec<String>) {
        self.problems.extend(problems.into_iter().map(|text| VerifyProblem { part: part.to_owned(), text }));
        self.problems_untold += untold;
        self.notes.extend(notes);
    }

    /// Whether nothing is wrong. Notes do not count.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && self.problems_untold == 0
    }

    /// Whether nothing is wrong but the index, which is made from the rest.
    pub fn is_index_alone(&self) -> bool {
        self.is_alone(|part| part == INDEX)
    }

    /// Whether nothing is wrong but derived tables, and the index, which are made from the rest.
    pub fn is_derived_alone(&self) -> bool {
        self.is_alone(|part| part == INDEX || is_derived(part))
    }

    fn is_alone(&self, is_made_again: impl Fn(&str) -> bool) -> bool {
        self.problems_untold == 0
            && !self.is_whole()
            && self.problems.iter().all(|problem| is_made_again(&problem.part))
    }

    /// For a person at a terminal: problems, notes, then what was looked at.
    pub fn told(&self) -> String {
        let mut out = String::new();
        for VerifyProblem { part, text } in &self.problems {
            out.push_str(&format!("{part}: {text}\n"));
        }
        if self.problems_untold > 0 {
            out.push_str(&format!("and {} more\n", self.problems_untold));
        }
        for note in &self.notes {
            out.push_str(&format!("note: {note}\n"));
        }
        out.push_str(&format!(
            "looked at up to change {}: {}, {}, {}, {}, {} in the index\n",
            self.change,
            counted(self.versions, "version", "versions"),
            counted(self.certificates, "certificate", "certificates"),
            counted(self.consents, "change of consent", "changes of consent"),
            counted(self.patients, "patient", "patients"),
            counted(self.indexed, "certificate", "certificates")
        ));
        out.push_str(match self.is_whole() {
            true => "everything is as it was written\n",
            false => "something is not as it was written\n",
        });
        out
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct VerifyFindings {
    found: VerifyReport,
    /// Problems of the index, and of all the rest.
    of_index: u64,
    of_others: u64,
}

const INDEX: &str = "index";

impl VerifyFindings {
    /// What was read; nothing, and a problem of a part, where it is damaged.
    ///
    /// # Errors
    /// It cannot be read for another reason.
    pub(super) fn readable<T>(&mut self, part: &str, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(StoreError::Damaged(problem)) => {
                self.tell(part, &problem);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Something is wrong.
    pub(super) fn tell(&mut self, part: &str, text: &str) {
        match part == INDEX {
            true => self.of_index += 1,
            false => self.of_others += 1,
        }
        match self.found.problems.len() < VERIFY_PROBLEMS_MAX {
            true => self.found.problems.push(VerifyProblem { part: part.to_owned(), text: text.to_owned() }),
            false => self.found.problems_untold += 1,
        }
    }

    /// Something is worth knowing.
    pub(super) fn note(&mut self, text: &str) {
        self.found.notes.push(text.to_owned());
    }

    /// Says what a damaged index means, and what to do about it.
    pub(super) fn conclude(&mut self, verdict: IndexVerdict) {
        let text = match (self.of_index, self.of_others, verdict) {
            (0, ..) => return,
            (_, 0, IndexVerdict::Damaged) => {
                "the search index is damaged, certificates are not affected: the next start builds it again from the store, and so does hcert \
                 reindex"
            }
            (_, 0, IndexVerdict::Whole) => {
                "the search index is damaged, certificates are not affected: hcert reindex builds it again from the store"
            }
            (_, 0, IndexVerdict::InUse) => {
                "the search index is damaged, certificates are not affected: hcert reindex builds it again from the store while the server \
                 goes on"
            }
            (_, _, IndexVerdict::Damaged) => {
                "the search index is damaged as well; the next start builds it again from the store"
            }
            (..) => {
                "the search index and the store do not agree; the index is built from the store, so see to the store first, then run hcert \
                 reindex"
            }
        };
        self.note(text);
    }

    /// The numbers of what was looked at.
    pub(super) fn counts(&mut self) -> &mut VerifyReport {
        &mut self.found
    }

    pub(super) fn verified(self, change: Seq, register: Seq) -> VerifyReport {
        VerifyReport { change: change.0, register: register.0, ..self.found }
    }
}

/// What is known of the index's files, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexVerdict {
    /// As they were written, as far as each of them says, or not there at all.
    Whole,
    /// The next start will notice, and build the index again.
    Damaged,
    /// As either; a server has it in use.
    InUse,
}
