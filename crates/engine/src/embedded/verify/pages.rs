//! Pages of the store's file, each compared with its checksum, and what they hold in words.

use std::path::Path;

use super::findings::{VerifyFindings, VerifyReport};
use crate::STORE_FILE;
use crate::embedded::Engine;
use crate::embedded::store::StoreError;
use crate::embedded::store::pages::{Pages, UnreadablePage, WalkEvent};
use certificate::Seq;

impl Engine {
    /// Checks the pages of a store that cannot be opened.
    ///
    /// # Errors
    /// Its file cannot be read, or a server has it.
    pub fn verify_unopened(folder: &Path) -> Result<VerifyReport, StoreError> {
        let mut found = VerifyFindings::default();
        pages(&Pages::open(&folder.join(STORE_FILE))?, &mut found);
        Ok(found.verified(Seq(0), Seq(0)))
    }
}

/// Walks every table of the newest commit. Whether all of its pages are as they were written.
pub(super) fn pages(pages: &Pages, found: &mut VerifyFindings) -> bool {
    let mut is_whole = true;
    for problem in pages.header_problems() {
        is_whole = false;
        found.tell("file", problem);
    }
    if let Some(commit) = pages.commits().next() {
        pages.walk_all(commit, &mut |table, met| {
            if let WalkEvent::Damaged(lost) = met {
                is_whole = false;
                found.tell(table, &format!("{}{}", lost.problem, holds(table, &lost)));
            }
        });
    }
    is_whole
}

/// Which rows a lost page holds.
fn holds(table: &str, lost: &UnreadablePage) -> String {
    let name = |key: &Option<Vec<u8>>| key.as_deref().and_then(|key| name(table, key));
    match (name(&lost.above), name(&lost.up_to)) {
        (Some(above), Some(up_to)) => format!("; it holds what lies behind {above}, up to {up_to}"),
        (Some(above), None) => format!("; it holds what lies behind {above}, up to the end"),
        (None, Some(up_to)) => format!("; it holds everything up to {up_to}"),
        (None, None) if table == "file" => "; it says which pages are free".to_owned(),
        (None, None) => String::new(),
    }
}

/// A key in words, without naming a person.
fn name(table: &str, key: &[u8]) -> Option<String> {
    let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.first_chunk().copied()?));
    let version = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?));
    match table {
        "version" => Some(format!("version {} of Composition/{}", version(key)?, number(key)?)),
        "patient" => Some(format!("version {} of Patient/{}", version(key)?, number(key)?)),
        "consent" => Some(format!("change {} of the consent of Composition/{}", version(key)?, number(key)?)),
        "consent_closed" => Some(format!("Composition/{}", number(key)?)),
        "log" | "register" => Some(format!("change {}", number(key)?)),
        _ => None,
    }
}
