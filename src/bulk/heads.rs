//! NewestHeads: number and hash of the last entry of each log and of the last event of the trail. Whoever keeps them elsewhere can ask later
//! whether what they stand for is still there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::audit::{AuditTrail, ChainHead};
use certificate::Seq;
use engine::{Engine, EntryHash, EntryHead, EntryLog};

/// How the head of the audit trail begins, as `changes/` and `register/` do those of the logs.
const TRAIL: &str = "audit/";

/// A head of earlier, of what a data folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownHead {
    /// Of the audit trail.
    Trail(ChainHead),
    /// Of a log of the store.
    Entry(EntryHead),
}

impl fmt::Display for KnownHead {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            KnownHead::Trail(head) => write!(formatter, "{TRAIL}{head}"),
            KnownHead::Entry(head) => head.fmt(formatter),
        }
    }
}

impl KnownHead {
    /// Reads one as `hcert audit head` prints it.
    ///
    /// # Errors
    /// What it should be, in words.
    pub fn parse(text: &str) -> Result<KnownHead, String> {
        let parsed = match text.strip_prefix(TRAIL) {
            Some(head) => ChainHead::parse(head).map(KnownHead::Trail),
            None => EntryHead::parse(text).map(KnownHead::Entry),
        };
        let form = "a head is changes/, register/ or audit/, a number, a colon and 64 hexadecimal digits, as hcert audit head prints it";
        parsed.ok_or_else(|| form.to_owned())
    }
}

/// The newest heads, each as [`KnownHead::parse`] reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewestHeads {
    /// The last change of a certificate.
    pub changes: String,
    /// The last entry of the register: versions of patients, code lists, marks.
    pub register: String,
    /// The last event of the audit trail; none where there is no trail.
    pub audit: Option<String>,
}

/// The newest heads of a store and its trail.
///
/// # Errors
/// The store cannot be read, in words.
pub fn heads(engine: &Engine, trail: Option<ChainHead>) -> Result<NewestHeads, String> {
    let [changes, register] = engine.ledger().heads().map_err(|error| error.to_string())?.map(|head| head.to_string());
    Ok(NewestHeads { changes, register, audit: trail.map(|head| format!("{TRAIL}{head}")) })
}

/// What a running server tells: the trail up to its newest durable event.
///
/// # Errors
/// As [`heads`], or the trail cannot be written.
pub fn heads_of_server(engine: &Engine, trail: &AuditTrail) -> Result<NewestHeads, String> {
    trail.sync_now().map_err(|failing| failing.to_string())?;
    heads(engine, Some(trail.head()).filter(|head| head.number.0 > 0))
}

/// What is wrong with a store by heads of earlier, in words.
pub(super) fn problems_of(engine: &Engine, heads: &[EntryHead]) -> Vec<String> {
    let problem = |head: &EntryHead| {
        let EntryHead { log, number, hash } = *head;
        let what = log.name();
        match engine.ledger().hash(log, number) {
            Ok(Some(stored)) if stored == hash => None,
            Ok(Some(_)) => {
                Some(format!("number {number} of {what} is another than the head says: the history was changed"))
            }
            Ok(None) => Some(format!("there is no number {number} of {what}, which the head has: the history was cut")),
            Err(error) => Some(error.to_string()),
        }
    };
    heads.iter().filter_map(problem).collect()
}

/// The hash that a store has of a change, for the check of its trail.
pub fn hash_of_change(engine: &Engine, change: Seq) -> Option<EntryHash> {
    engine.ledger().hash(EntryLog::Changes, change.0).ok().flatten()
}
