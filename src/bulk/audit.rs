//! The audit trail as NDJSON of AuditEvents.

use serde::{Deserialize, Serialize};

use crate::audit::{self, AuditAction, AuditEvent, AuditTrail, AuditedEntity, EventFilter, EventOrder};
use crate::interaction::{CertificatePatients, names_of_person};
use base::number::counted;
use certificate::{Id, Names};
use engine::Engine;
use fhir::date_time;

/// What is to be written out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditAsked {
    /// Id, Estonian personal code, or `system|value`.
    pub patient: Option<String>,
    pub certificate: Option<u64>,
    /// Milliseconds since 1970 UTC.
    pub since: Option<i64>,
    pub until: Option<i64>,
    #[serde(default)]
    pub by: AuditReader,
}

/// The command that reads events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditReader {
    /// `hcert audit export`: oldest first.
    #[default]
    Export,
    /// `hcert audit who`: newest first.
    Who,
}

impl AuditReader {
    fn command(self) -> (&'static str, EventOrder) {
        match self {
            AuditReader::Export => ("hcert audit export", EventOrder::OldestFirst),
            AuditReader::Who => ("hcert audit who", EventOrder::NewestFirst),
        }
    }
}

/// Hands over the events that are asked for, in their order, one a line; their number comes back. The export itself is the first thing
/// that is written into the trail.
///
/// # Errors
/// In words for the person at the terminal.
pub fn export_audit(
    engine: &Engine,
    log: &AuditTrail,
    asked: &AuditAsked,
    names: &Names,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(String, bool), String> {
    let now = engine::system_clock()();
    let (command, order) = asked.by.command();
    let mut told = AuditEvent::of_command(AuditAction::AuditExport, now, command);
    let wanted = wanted(engine, asked, names)?;
    // Only identifiers have a sign between system and value.
    (told.identifiers, told.patients) = wanted.patients.concat().into_iter().partition(|known| known.contains('|'));
    told.entities = asked.certificate.and_then(Id::new).map(|id| (id, None)).into_iter().collect();
    let end = |time: Option<i64>, open: &str| time.map_or_else(|| open.to_owned(), date_time::instant);
    told.note = Some(format!("from {} to {}", end(asked.since, "the beginning"), end(asked.until, "the end")));
    log.append(&told).and_then(|_| log.sync_now()).map_err(|failing| failing.to_string())?;
    let mut patients = CertificatePatients::new(engine);
    let mut count = 0;
    let search = log.search(&wanted, order).map_err(|error| error.to_string())?;
    search.each(&mut |id, version| patients.of(id, version), |number, event| {
        let mut line = audit::resource(number, &event, names);
        line.push(b'\n');
        count += 1;
        each(&line)
    })?;
    let written = counted(count, "event", "events");
    // Whoever reads them shall not take what could not be read for what never was.
    Ok(match log.damage().or_else(|| patients.damage().map(str::to_owned)) {
        None => (format!("{written} written"), true),
        Some(problem) => (format!("{written} written, and more there may have been: {problem}"), false),
    })
}

fn wanted(engine: &Engine, asked: &AuditAsked, names: &Names) -> Result<EventFilter, String> {
    let mut wanted = EventFilter::default();
    if let Some(id) = asked.certificate.and_then(Id::new) {
        wanted.entities.push(vec![AuditedEntity::Certificate((id, None))]);
    }
    if let Some(patient) = &asked.patient {
        wanted.patients.push(names_of_person(engine, patient, names).map_err(|error| error.to_string())?);
    }
    wanted.times.push(asked.since.unwrap_or(i64::MIN)..=asked.until.unwrap_or(i64::MAX));
    Ok(wanted)
}
