//! `hcert erase`: takes the content of a certificate out of the data folder for good. Only without a running server.

use clap::Args;
use serde_json::json;

use super::progress::Steps;
use super::{Common, Failure, disk_space, open, report};
use crate::audit::{AuditAction, AuditEvent};
use crate::config::Config;
use crate::socket::CommandRequest;
use base::number::counted;
use certificate::{Id, Seq};
use engine::{ErasedCertificate, system_clock};
use fhir::date_time;

/// Erase a certificate for good
///
/// The content of all its versions is overwritten in the store and its journal, and the search index
/// is made anew without it. Its id, its times and who wrote it stay, with a mark in the chain of
/// entries and an event in the audit trail. To callers it is deleted. Archives and exports from before
/// still hold it. The server must be stopped.
///
/// Nothing brings it back:  hcert erase 42 --reason "decision 7-3/2026" --yes
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct EraseArguments {
    /// The certificate, by its id: 42, or Composition/42
    #[arg(value_name = "ID", value_parser = certificate_id)]
    certificate: Id,
    /// Why, for the mark and the audit trail, which keep it: no names and no personal codes
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,
    /// Do it; without this flag the command only says what there is
    #[arg(long)]
    yes: bool,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Bytes of a reason: a sentence, and no certificate.
const REASON_BYTES_MAX: usize = 500;

fn certificate_id(text: &str) -> Result<Id, String> {
    let id = text.strip_prefix("Composition/").unwrap_or(text);
    Id::parse(id).ok_or_else(|| "not the id of a certificate, which is a number such as 42".to_owned())
}

fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a reason has to be given".to_owned()),
        text if text.len() > REASON_BYTES_MAX => Err(format!("a reason has at most {REASON_BYTES_MAX} bytes")),
        text => Ok(text.to_owned()),
    }
}

impl EraseArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let EraseArguments { certificate, reason, yes, json, common } = self;
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let erased = erase(&config, certificate, &reason, yes).map_err(|problem| {
            Failure::Failed(disk_space::named(problem, &config.storage.data, || disk_space::of_index(&config)))
        })?;
        let ErasedCertificate { versions, overwritten } = erased;
        let done = match versions {
            0 => "was erased before".to_owned(),
            _ => format!("was erased: {}", counted(versions, "version has", "versions have") + " no content any more"),
        };
        let words = format!(
            "Composition/{certificate} {done}; {} of the store's files were overwritten, and the search index was made anew\n\
             Archives and exports from before still hold it: remove them, or make them unreadable (docs: data-protection)",
            counted(overwritten, "byte", "bytes")
        );
        let told = json!({"certificate": certificate.get(), "versions": versions, "overwrittenBytes": overwritten});
        report(json, words, &told)
    }
}

fn erase(config: &Config, id: Id, reason: &str, yes: bool) -> Result<ErasedCertificate, String> {
    let folder = &config.storage.data;
    let told = |problem: String| format!("{}: {problem}", folder.display());
    if open::server(config, &CommandRequest::SeqOf { id: 0, version: 0 })?.is_some() {
        return Err(told("a server is running; a certificate is erased only while it is stopped".to_owned()));
    }
    let engine = open::existing(config)?;
    let found = engine.read(id, None, |entry| Ok((entry.version(), entry.stamp(), entry.state())));
    let found = found.map_err(|error| told(error.to_string()))?;
    let (version, stamp, state) = found.ok_or_else(|| told(format!("there is no Composition/{id}")))?;
    if !yes {
        return Err(told(format!(
            "nothing was erased. Composition/{id} has {}, the newest of {}: {}. What is erased cannot be brought back; --yes does it",
            counted(version.get().into(), "version", "versions"),
            date_time::instant(stamp.milliseconds),
            state.word()
        )));
    }
    let event = AuditEvent {
        entities: vec![(id, None)],
        note: Some(reason.to_owned()),
        ..AuditEvent::of_command(AuditAction::StoreErase, system_clock()(), "hcert erase")
    };
    let recorded = open::tell_event(config, &engine, &event);
    engine.close();
    recorded?;
    let erased = open::erase(config, id, reason)?;
    let engine = open::existing(config)?;
    let mut steps = Steps::new("changes");
    let searchable = engine.wait_until_searchable(&mut |at: Seq, of: Seq| steps.show(at.0, of.0));
    engine.close();
    searchable.map_err(|problem| {
        told(format!(
            "Composition/{id} was erased, and the search index could not be built: {problem}; the next start does it"
        ))
    })?;
    Ok(erased)
}
