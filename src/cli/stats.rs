//! `hcert stats`: what a data folder holds, in numbers, from the running server where there is one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufRead;

use clap::Args;

use super::{Common, Failure, open, say};
use crate::audit::AuditAction;
use crate::config::Config;
use crate::socket::CommandRequest;
use certificate::Status;
use engine::Stats;

/// Show what the data folder holds: certificates, tables, files
///
/// Certificates by status and kind, bytes by table of the store and by file, what one version takes, and the numbers of the formats.
#[derive(Args, Debug)]
pub(super) struct StatsOf {
    /// Tell it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl StatsOf {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let config = self.common.load(|_| ())?;
        open::for_owner_only();
        let stats = stats(&config).map_err(Failure::Failed)?;
        match self.json {
            true => say(&(serde_json::to_string(&stats).expect("texts and numbers have a JSON form") + "\n"))?,
            false => say(&in_words(&stats))?,
        }
        Ok(())
    }
}

fn stats(config: &Config) -> Result<Stats, String> {
    let Some(server) = open::ask(config, &CommandRequest::Stats)? else {
        let engine = open::look_and_tell(config, AuditAction::StoreStats, "hcert stats")?;
        let stats = engine.stats().map_err(|error| error.to_string());
        engine.close();
        return stats;
    };
    let mut line = String::new();
    server.lines().and_then(|mut lines| lines.read_line(&mut line)).map_err(|error| error.to_string())?;
    let told = serde_json::from_str::<Result<Stats, String>>(&line);
    told.map_err(|error| format!("the server's answer is not understood: {error}"))?
}

/// A status as FHIR has it, with the Estonian name of its state: `final (Lõpetatud)`.
fn in_estonian_too(code: &str) -> String {
    Status::parse(code).map_or_else(|| code.to_owned(), |status| format!("{code} ({})", status.state().name()))
}

fn in_words(stats: &Stats) -> String {
    let mut out = String::new();
    let mut line = |what: &str, number: u64| {
        // Writing to memory does not fail.
        let _ = writeln!(out, "{what:38} {number:>16}");
    };
    line("change", stats.change);
    let heads: String = stats.heads.iter().map(|head| format!("head of {head}\n")).collect();
    line("versions", stats.versions);
    line("changes of consent", stats.consents);
    line("patients", stats.patients);
    line("versions of patients", stats.patient_versions);
    line("certificates", stats.certificates);
    let mut group = |kind: &str, numbers: &BTreeMap<String, u64>| {
        numbers.iter().for_each(|(name, number)| line(&format!("  {kind} {name}"), *number));
    };
    let named = |(code, number): (&String, &u64)| (in_estonian_too(code), *number);
    group("status", &stats.by_status.iter().map(named).collect());
    group("profile", &stats.by_profile);
    group("category", &stats.by_category);
    line("index: segments", stats.index.segments);
    line("index: rows", stats.index.rows);
    line("index: rows deleted", stats.index.rows_deleted);
    line("bytes of a version", stats.version_bytes);
    line("bytes of store and index a version", stats.store_bytes_a_version);
    out.push_str(&heads);
    let _ = writeln!(
        out,
        "\n{:18} {:>9} {:>12} {:>16} {:>14} {:>14}",
        "table", "is", "rows", "bytes", "pages above", "free inside"
    );
    for table in &stats.tables {
        let (rows, stored, above, free) =
            (table.rows, table.stored_bytes, table.metadata_bytes, table.fragmented_bytes);
        let is = if table.is_derived { "derived" } else { "kept" };
        let _ = writeln!(out, "{:18} {is:>9} {rows:>12} {stored:>16} {above:>14} {free:>14}", table.name);
    }
    let _ = writeln!(out, "\n{:24} {:>12} {:>16}", "file or folder", "files", "bytes");
    for file in &stats.files {
        let _ = writeln!(out, "{:24} {:>12} {:>16}", file.name, file.files, file.bytes);
    }
    let _ = writeln!(out, "\n{:24} {:>12}", "format", "number");
    for (what, number) in &stats.formats {
        let _ = writeln!(out, "{what:24} {number:>12}");
    }
    out
}
