//! `hcert verify`: everything stored checked, in the running server where there is one.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::progress::Parts;
use super::{Common, Failure, open, say};
use crate::audit::{self, AuditAction, ChainHead, StoreBeside, TrailFiles};
use crate::bulk::{self, KnownHead};
use crate::config::Config;
use crate::interaction::subjects;
use crate::socket::CommandRequest;
use engine::{DAMAGED, Engine, StoreError, VerifyReport};

/// Check that everything stored is as it was written
///
/// Every version with its body and its row, the log of changes, consents, counters, patients, the search index beside the store, and the
/// audit trail. Without a running server the file of the store is checked page by page as well; a running one goes on meanwhile, and is
/// checked up to the change at which the check began. Nothing is mended, and the folder may be one that cannot be written to. Exit codes: 0 all is whole, 1 it could not be checked, 2 the flags or settings
/// cannot be used, 3 something is not as it was written.
#[derive(Args, Debug)]
pub(super) struct VerifyArguments {
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    /// What hcert audit head printed earlier and must still be there; can be given several times
    #[arg(long = "head", value_name = "HEAD", value_parser = KnownHead::parse)]
    heads: Vec<KnownHead>,
    #[command(flatten)]
    common: Common,
}

impl VerifyArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let config = self.common.load(|_| ())?;
        open::for_owner_only();
        checked(&config, self.json, &self.heads)
    }
}

/// Checks the data folder and tells what was found.
pub(super) fn checked(config: &Config, json: bool, heads: &[KnownHead]) -> Result<(), Failure> {
    let (verified, is_running) = verify(config, heads).map_err(Failure::Failed)?;
    if json {
        say(&(serde_json::to_string(&verified).expect("texts and numbers have a JSON form") + "\n"))?;
    } else {
        say(&verified.told().clone())?;
        if is_running {
            say("the server is running: the pages of the file are checked only when it is stopped\n")?;
        }
    }
    match verified.is_whole() {
        true => Ok(()),
        false if verified.is_index_alone() => {
            let text =
                "the search index is not as it was written; certificates are\nnext: `hcert reindex` builds it again";
            Err(Failure::Wrong(text.to_owned()))
        }
        false if verified.is_derived_alone() => {
            let text = "tables that are derived from the entries are not as they should be; the entries are\nnext: stop the server, \
                        and `hcert reindex --derived` makes these tables again";
            Err(Failure::Wrong(text.to_owned()))
        }
        false if verified.problems.iter().any(|problem| problem.text == StoreError::Gone.to_string()) => {
            Err(Failure::Wrong(format!("the running server has lost its store{NEXT_OF_GONE}")))
        }
        false => Err(Failure::Wrong(format!("the data folder is not as it was written{NEXT}"))),
    }
}

/// What is next where the store or the trail is damaged.
const NEXT: &str = "\nnext: keep a copy of the data folder as it is; `hcert restore` makes a new one of the newest backup; `hcert export \
                    --salvage --out FILE` writes what can still be read, for what no backup has";

/// What is next where the store was taken away from under a server.
const NEXT_OF_GONE: &str = "\nnext: before that server is stopped, `hcert backup FILE` and `hcert export --out FILE` take what it still \
                            has of it; then put the file back, or `hcert restore` the newest backup";

/// What was found of a store that cannot be opened: the pages of its file, and the audit trail.
fn unopened(folder: &Path, problem: String) -> Result<VerifyReport, String> {
    let mut verified = Engine::verify_unopened(folder).map_err(|error| error.to_string())?;
    verified.add("file", vec![problem], 0, Vec::new());
    let trail = TrailFiles::list(&audit::folder(folder)).map_err(|error| error.to_string());
    match trail.and_then(|trail| audit::verify(&trail, &[])) {
        Ok(events) => verified.add("audit", events.problems, events.problems_untold as u64, events.remarks),
        Err(problem) => {
            verified.add("audit", Vec::new(), 0, vec![format!("the audit trail cannot be read: {problem}")]);
        }
    }
    Ok(verified)
}

/// What was found, and whether a server runs.
pub(super) fn verify(config: &Config, heads: &[KnownHead]) -> Result<(VerifyReport, bool), String> {
    let folder = &config.storage.data;
    let mut parts = Parts::new();
    let request = CommandRequest::Verify { heads: heads.iter().map(ToString::to_string).collect() };
    let server = open::ask(config, &request)?;
    let is_running = server.is_some();
    let done = match server {
        Some(server) => server.receive_verified(&mut |part, at, of| parts.show(part, at, of)),
        None => {
            // What is no file is not read, as what cannot be opened is below.
            open::expect_store(config)?;
            let events = audit::folder(folder);
            let engine = match open::look(config) {
                Ok(engine) => Arc::new(engine),
                Err(problem) if problem.contains(DAMAGED) => {
                    return unopened(folder, problem).map(|found| (found, false));
                }
                Err(problem) => return Err(problem),
            };
            let has_trail = events.is_dir();
            let verified = |known: &[ChainHead]| {
                let trail = TrailFiles::list(&events).map_err(|error| format!("{}: {error}", events.display()))?;
                let known: Vec<ChainHead> = known.iter().copied().chain(open::kept_head(&engine)).collect();
                let (subjects, hashes) = (subjects(&engine), |change| bulk::hash_of_change(&engine, change));
                let beside = StoreBeside { subjects: Some(&subjects), hashes: Some(&hashes) };
                audit::verify_with(&trail, &known, beside)
            };
            let names = open::names(config, &config.base_url());
            let trail = |known: &[ChainHead]| has_trail.then(|| verified(known)).transpose();
            let done = bulk::verify(&engine, trail, (true, heads), &names, &mut |at| parts.show(at.part, at.at, at.of));
            // Opened to be written, the trail mends its end, and one that is gone is made: a damaged one is left as it is, and a damaged store may not let it be completed.
            let told = match &done {
                Ok(verified) if has_trail && (verified.is_whole() || verified.is_index_alone()) => {
                    open::tell_of_look(config, &engine, AuditAction::StoreVerify, "hcert verify")
                }
                _ => Ok(()),
            };
            done.and_then(|verified| told.map(|()| verified))
        }
    };
    parts.finish();
    done.map(|verified| (verified, is_running))
}
