//! Tokens and persons that are let in no more, though their tokens would still count: a list in a file, which is read again when it changes.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use super::source_file::SourceFile;
use crate::access::limits::JWKS_LOOK_S;
use crate::config::AccessToken;
use base::log::event;
use certificate::personal_code;

/// Bytes of a list of denied tokens and persons: some twenty thousand.
const DENIED_BYTES_MAX: usize = 1024 * 1024;

/// The list of `access.token.denied`.
#[derive(Debug)]
pub(super) struct DeniedTokens {
    file: SourceFile,
    names: RwLock<HashSet<String>>,
    /// Counts how often the list was read: what was verified before that has to be verified again.
    reads: AtomicU64,
    /// Why it could not be read since.
    problem: Mutex<Option<String>>,
}

impl DeniedTokens {
    /// Reads the list; none where the settings name none.
    ///
    /// # Errors
    /// It cannot be read, or a line of it can match nothing, in words.
    pub(super) fn open(settings: &AccessToken) -> Result<Option<DeniedTokens>, String> {
        let Some(path) = &settings.denied else { return Ok(None) };
        let refuse = |problem: String| format!("access.token.denied = '{}': {problem}", path.display());
        let denied = DeniedTokens {
            file: SourceFile::new(PathBuf::from(path), DENIED_BYTES_MAX as u64),
            names: RwLock::default(),
            reads: AtomicU64::new(0),
            problem: Mutex::default(),
        };
        denied.read().map_err(refuse)?;
        Ok(Some(denied))
    }

    /// Whether a name of a token is on the list.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.names.read().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// How often the list was read so far.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Acquire)
    }

    /// Why the list could not be read again; the last one counts meanwhile.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// [Looks](Self::look) at the file now and then, until nobody has the list any more.
    pub(super) async fn watch(denied: Weak<DeniedTokens>) {
        while let Some(denied) = denied.upgrade() {
            // Nothing panics there, and a runtime that ends needs no list.
            drop(tokio::task::spawn_blocking(move || denied.look()).await);
            tokio::time::sleep(Duration::from_secs(JWKS_LOOK_S)).await;
        }
    }

    /// Reads the list where its file has changed.
    pub(super) fn look(&self) {
        if !self.file.has_changed() {
            return;
        }
        let problem = self.read().err();
        match &problem {
            None => event!(TOKENS_DENIED, entries = self.names.read().unwrap_or_else(PoisonError::into_inner).len()),
            Some(problem) => event!(TOKENS_DENIED_OLD, problem = problem.as_str()),
        }
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn read(&self) -> Result<(), String> {
        let text = String::from_utf8(self.file.read()?).map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = || (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, name(line)?)));
        let wrong: Option<(usize, &str)> = lines().find_map(|(number, name)| Some((number, mistake(name)?)));
        let names =
            lines().flat_map(|(_, name)| [Some(name), personal_code::digits(name)]).flatten().map(str::to_owned);
        {
            let mut known = self.names.write().unwrap_or_else(PoisonError::into_inner);
            if wrong.is_none() {
                known.clear();
            }
            // Nobody comes in because of a mistake: the list known last stays, and who else is on this one is on it too.
            known.extend(names);
        }
        self.reads.fetch_add(1, Ordering::Release);
        match wrong {
            None => Ok(()),
            // Without the line, which may be a personal code.
            Some((number, mistake)) => Err(format!("line {number} {mistake}, so no token is refused by it")),
        }
    }
}

/// The name in a line of the list, without the comment after it. A `#` inside a name is part of the name.
fn name(line: &str) -> Option<&str> {
    let starts_comment = |at: &usize| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let end = line.match_indices('#').map(|(at, _)| at).find(starts_comment).unwrap_or(line.len());
    Some(line[..end].trim()).filter(|name| !name.is_empty())
}

/// Why a name can be that of no token: claims hold no control characters, and a personal code stands in them by itself.
fn mistake(name: &str) -> Option<&'static str> {
    if name.contains(char::is_control) {
        return Some("has a control character in it (each name stands in a line of its own, ended by LF)");
    }
    let is_code = |text: &str| {
        let bare = text.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        personal_code::digits(&bare.to_ascii_uppercase()).is_some()
    };
    let before = name.split('#').next().unwrap_or(name);
    let mut parts = before.split(|c: char| c.is_whitespace() || ",;\"'".contains(c));
    (parts.any(is_code) && personal_code::digits(name).is_none()).then_some(
        "is no personal code as tokens have it (EE in capitals or nothing before it, no quotes or commas, and a blank before a comment)",
    )
}
