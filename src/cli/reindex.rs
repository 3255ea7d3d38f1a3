//! `hcert reindex`: builds the search index again, in the running server where there is one.

use std::io::BufRead;

use clap::Args;
use serde_json::json;

use super::progress::Steps;
use super::{Common, Failure, disk_space, open, report};
use crate::audit::AuditAction;
use crate::config::Config;
use crate::socket::{self, CommandProgress, CommandRequest};
use base::number::counted;
use certificate::Seq;

/// Build the search index again from the store
///
/// A running server goes on answering from the index it has until the new one takes its place; the data folder needs room for two. The
/// server mends an index that it finds damaged by itself, so this is for an index that is doubted, or that has grown.
#[derive(Args, Debug)]
pub(super) struct Reindex {
    /// Make everything anew that the store keeps beside its entries (counters, patients by identifier, times …), not the search index
    ///
    /// For a store of which `hcert verify` says that such a table is not as it should be. The server must be stopped. Nothing is changed where an
    /// entry itself is damaged.
    #[arg(long)]
    derived: bool,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl Reindex {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let Reindex { derived, json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        if derived {
            let others = derive(&config).map_err(|problem| {
                Failure::Failed(disk_space::named(problem, &config.storage.data, || disk_space::of_index(&config)))
            })?;
            let words = match others.as_slice() {
                [] => "every derived table was as it should be".to_owned(),
                others => format!("made anew, since they were not as they should be: {}", others.join(", ")),
            };
            return report(json, words, &json!({"madeAnew": others}));
        }
        let certificates = reindex(&config).map_err(|problem| {
            Failure::Failed(disk_space::named(problem, &config.storage.data, || disk_space::of_index(&config)))
        })?;
        let words = format!("the index was built again: {}", counted(certificates, "certificate", "certificates"));
        report(json, words, &json!({"certificates": certificates}))
    }
}

fn derive(config: &Config) -> Result<Vec<String>, String> {
    let others = open::derive(config)?;
    let engine = open::existing(config)?;
    let note = match others.as_slice() {
        [] => "every derived table was as it should be".to_owned(),
        others => format!("derived tables that were not as they should be: {}", others.join(", ")),
    };
    let told = open::tell(config, &engine, AuditAction::IndexRebuild, "hcert reindex --derived", Some(note), None);
    engine.close();
    told.map(|()| others)
}

fn reindex(config: &Config) -> Result<u64, String> {
    let server = open::server(config, &CommandRequest::Reindex)?;
    let mut steps = Steps::new("changes");
    let done = match server {
        Some(server) => followed(&server, &mut steps),
        None => {
            let engine = open::existing(config)?;
            open::tell(config, &engine, AuditAction::IndexRebuild, "hcert reindex", None, None)?;
            let done = engine.reindex(&mut |at: Seq, of: Seq| steps.show(at.0, of.0));
            engine.close();
            done
        }
    };
    steps.finish();
    done
}

/// Shows what the server tells until it is done.
fn followed(server: &socket::CommandConnection, steps: &mut Steps) -> Result<u64, String> {
    let lines = server.lines().map_err(|error| error.to_string())?;
    for line in lines.lines() {
        let line = line.map_err(|error| format!("the server's answer broke off: {error}"))?;
        match serde_json::from_str(&line).map_err(|error| format!("the server's answer is not understood: {error}"))? {
            CommandProgress::At { at, of } => steps.show(at, of),
            CommandProgress::Done { count } => return Ok(count),
            CommandProgress::Failed { problem } => return Err(problem),
        }
    }
    Err("the server closed the connection before it was done".into())
}
