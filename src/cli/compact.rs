//! `hcert compact`: free pages of the store given back, segments of the index made one. Only without a running server.

use std::fs;

use clap::Args;
use serde_json::json;

use super::{Common, Failure, disk_space, open, say};
use crate::audit::AuditAction;
use crate::config::Config;
use crate::socket::CommandRequest;
use engine::{Compacted, STORE_FILE};

/// Make the data folder smaller
///
/// Moves what is stored to the front of its file and cuts the file off behind it, in place; the search index becomes one segment. The
/// server must be stopped: it uses free pages again by itself, so this pays after much was taken away, or after a large import.
#[derive(Args, Debug)]
pub(super) struct CompactArguments {
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl CompactArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let CompactArguments { json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let Compacted { store, index } = compact(&config).map_err(|problem| {
            Failure::Failed(disk_space::named(problem, &config.storage.data, || disk_space::of_compact(&config)))
        })?;
        let file = |(before, after)| json!({"before": before, "after": after});
        say(&match json {
            true => json!({"store": file(store), "index": file(index)}).to_string() + "\n",
            false => format!(
                "store.redb: {} bytes before, {} after\nindex: {} bytes before, {} after\n",
                store.0, store.1, index.0, index.1
            ),
        })
    }
}

fn compact(config: &Config) -> Result<Compacted, String> {
    let folder = &config.storage.data;
    let told = |problem: String| format!("{}: {problem}", folder.display());
    if open::server(config, &CommandRequest::SeqOf { id: 0, version: 0 })?.is_some() {
        return Err(told("a server is running; a store is compacted only while it is stopped".to_owned()));
    }
    // Opening a store may already cut free pages off its end.
    let before = fs::metadata(folder.join(STORE_FILE)).map_or(0, |file| file.len());
    let engine = open::existing(config)?;
    open::tell(config, &engine, AuditAction::StoreCompact, "hcert compact", None, None)?;
    let compacted = engine.compact().map_err(|error| told(error.to_string()))?;
    Ok(Compacted { store: (before, compacted.store.1), ..compacted })
}
