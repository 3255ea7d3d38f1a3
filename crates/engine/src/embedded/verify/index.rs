//! Whether the index is damaged, before it is compared with the store row by row. It is looked at as it lies there and never mended: a
//! script that asks wants to know.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::super::index::{self, IndexFolderState, Snapshot};
use super::super::panics::caught;
use super::super::{Engine, EngineShared};
use super::findings::{IndexVerdict, VerifyFindings};
use certificate::Seq;

/// Times that a server's files are looked at before it is believed that they only change too fast.
const LOOKS: usize = 4;

/// Between two of them.
const PAUSE: Duration = Duration::from_millis(50);

impl Engine {
    /// The index to compare the store with, unless it is missing or damaged, which is told.
    pub(super) fn index_to_compare(&self, found: &mut VerifyFindings) -> (Option<Arc<Snapshot>>, IndexVerdict) {
        match self.shared.store.is_read_only() {
            true => at_rest(&self.shared, found),
            false => (in_use(&self.shared, found), IndexVerdict::InUse),
        }
    }
}

/// Damage may show as a panic as well as an error.
fn look(shared: &EngineShared) -> IndexFolderState {
    let looked = caught(|| index::inspect(&shared.index_medium, &shared.index_folder, &shared.origin));
    looked.unwrap_or_else(|| IndexFolderState::Damaged(vec!["it cannot be read: reading it panicked".to_owned()]))
}

fn at_rest(shared: &EngineShared, found: &mut VerifyFindings) -> (Option<Arc<Snapshot>>, IndexVerdict) {
    let seq = shared.seq();
    let committed = match look(shared) {
        IndexFolderState::Missing(why) => {
            // A store without a change has no index to miss.
            if seq > Seq(0) {
                found.note(&format!("the search index was not compared: {why}; the next start builds it"));
            }
            return (None, IndexVerdict::Whole);
        }
        IndexFolderState::Foreign(why) => {
            found.note(&format!("the search index was not compared: {why}; the next start builds it again"));
            return (None, IndexVerdict::Whole);
        }
        IndexFolderState::Damaged(problems) => {
            problems.iter().for_each(|problem| found.tell("index", problem));
            return (None, IndexVerdict::Damaged);
        }
        IndexFolderState::Whole(committed) if committed.at > seq => {
            let (at, problem) =
                (committed.at, "one of them was put into the folder from elsewhere, or the store lost changes");
            found
                .tell("index", &format!("it has come to change {at}, and the store ends with change {seq}: {problem}"));
            return (None, IndexVerdict::Damaged);
        }
        IndexFolderState::Whole(committed) => committed,
    };
    let opened = caught(|| committed.snapshot());
    let problem = match opened {
        Some(Ok(snapshot)) => {
            if snapshot.at < seq {
                let (at, behind) = (snapshot.at, seq.0 - snapshot.at.0);
                found.note(&format!(
                    "the search index has come to change {at} and was compared up to there; the next start takes in the other {behind}"
                ));
            }
            return (Some(Arc::new(snapshot)), IndexVerdict::Whole);
        }
        Some(Err(error)) => error.0.chars().take(PROBLEM_LETTERS_MAX).collect(),
        None => "reading them panicked".to_owned(),
    };
    found.tell("index", &format!("its files do not belong together: {problem}"));
    (None, IndexVerdict::Damaged)
}

/// Letters of what tantivy says: it may give the content of a whole file.
const PROBLEM_LETTERS_MAX: usize = 200;

/// The server's own view of it, beside the files that lie in the folder by now.
fn in_use(shared: &EngineShared, found: &mut VerifyFindings) -> Option<Arc<Snapshot>> {
    let Some(view) = shared.view() else {
        let why = shared.why_built().map_or_else(String::new, |why| format!(" ({why})"));
        found.note(&format!("the search index is being built{why} and was not compared with the store"));
        return None;
    };
    let damaged = damage_in_use(shared, view.index.at);
    damaged.iter().for_each(|problem| found.tell("index", problem));
    damaged.is_empty().then(|| view.index.clone())
}

/// Merges take files away and a reindex the whole folder while they are looked at; what is wrong twice in a row is wrong.
fn damage_in_use(shared: &EngineShared, at: Seq) -> Vec<String> {
    let mut before: Vec<String> = Vec::new();
    for _ in 0..LOOKS {
        let problems = match look(shared) {
            IndexFolderState::Whole(_) => Vec::new(),
            // Before the first round nothing was committed.
            IndexFolderState::Missing(_) if at == Seq(0) => Vec::new(),
            IndexFolderState::Missing(why) | IndexFolderState::Foreign(why) => {
                vec![format!("its folder is not the one that the server made: {why}")]
            }
            IndexFolderState::Damaged(problems) => problems,
        };
        let again: Vec<String> = problems.iter().filter(|problem| before.contains(problem)).cloned().collect();
        if problems.is_empty() || !again.is_empty() {
            return again;
        }
        before = problems;
        thread::sleep(PAUSE);
    }
    Vec::new()
}
