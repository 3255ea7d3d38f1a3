//! The audit trail as NDJSON of AuditEvents.

use std::collections::HashMap;
use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::audit::{self, Action, AuditedEntity, Event, Log, Order, Wanted};
use crate::certificate::{Id, Names, Version};
use crate::engine::Engine;
use crate::fhir::date_time;
use crate::limits::AUDIT_PATIENTS_CACHED_MAX;

/// What is to be written out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditAsked {
    /// Id, or Estonian personal code.
    pub patient: Option<String>,
    pub certificate: Option<u64>,
    /// Milliseconds since 1970 UTC.
    pub since: Option<i64>,
    pub until: Option<i64>,
}

/// Writes the events that are asked for, the oldest first, one a line; their number comes back. The export itself is the first thing
/// that is written into the trail.
///
/// # Errors
/// In words for the person at the terminal.
pub fn export_audit(
    engine: &Engine,
    log: &Log,
    asked: &AuditAsked,
    names: &Names,
    out: &mut dyn Write,
) -> Result<u64, String> {
    let now = crate::engine::system_clock()();
    let mut told = Event::of_command(Action::AuditExport, now, "hcert audit export");
    let estonian = names.identifiers.estonian_code();
    let wanted = wanted(engine, asked, estonian)?;
    told.patients = wanted.patients.concat();
    told.entities = asked.certificate.and_then(Id::new).map(|id| (id, None)).into_iter().collect();
    let end = |time: Option<i64>, open: &str| time.map_or_else(|| open.to_owned(), date_time::instant);
    told.note = Some(format!("from {} to {}", end(asked.since, "the beginning"), end(asked.until, "the end")));
    log.append(&told).and_then(|_| log.sync_now()).map_err(|failing| failing.to_string())?;
    let trail = log.trail().map_err(|error| error.to_string())?;
    let code = asked.patient.clone().filter(|asked| is_code(asked));
    let mut patients = PatientsOf { engine, estonian, code, known: HashMap::new() };
    let mut count = 0;
    for event in trail.events(Order::OldestFirst, wanted.span()) {
        let (number, event) = event.map_err(|error| error.to_string())?;
        if wanted.matches(&event, &mut |id, version| patients.of(id, version)) {
            let mut line = audit::resource(number, &event, names);
            line.push(b'\n');
            out.write_all(&line).map_err(|error| format!("writing failed: {error}"))?;
            count += 1;
        }
    }
    Ok(count)
}

fn wanted(engine: &Engine, asked: &AuditAsked, estonian: &str) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    if let Some(id) = asked.certificate.and_then(Id::new) {
        wanted.entities.push(vec![AuditedEntity::Certificate((id, None))]);
    }
    if let Some(patient) = &asked.patient {
        wanted.patients.push(patients(engine, patient, estonian)?);
    }
    wanted.times.push(asked.since.unwrap_or(i64::MIN)..=asked.until.unwrap_or(i64::MAX));
    Ok(wanted)
}

/// The ids that somebody may have: all of whom the embedded registry knows with the code, and the code itself, for certificates that
/// keep it.
fn patients(engine: &Engine, asked: &str, estonian: &str) -> Result<Vec<String>, String> {
    let mut patients = vec![asked.to_owned()];
    if is_code(asked) {
        let known = engine.patients_with(asked).map_err(|error| error.to_string())?;
        let of_estonia = known.into_iter().filter(|(system, _)| system == estonian);
        patients.extend(of_estonia.map(|(_, id)| id.to_string()));
    }
    Ok(patients)
}

fn is_code(text: &str) -> bool {
    text.len() == 11 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whose versions are, remembered for those that are asked for again and again.
struct PatientsOf<'e> {
    engine: &'e Engine,
    /// System of Estonian personal codes.
    estonian: &'e str,
    /// The personal code that is asked for; who has it is called by it.
    code: Option<String>,
    known: HashMap<(Id, Version), Option<String>>,
}

impl PatientsOf<'_> {
    fn of(&mut self, id: Id, version: Version) -> Option<String> {
        if let Some(known) = self.known.get(&(id, version)) {
            return known.clone();
        }
        let subject = self.engine.subject(id, version).ok().flatten();
        let found = subject.map(|subject| {
            let has = |code: &String| {
                subject.identifiers.iter().any(|(system, value)| system == self.estonian && value == code)
            };
            self.code.clone().filter(has).unwrap_or(subject.id)
        });
        if self.known.len() >= AUDIT_PATIENTS_CACHED_MAX {
            self.known.clear();
        }
        self.known.insert((id, version), found.clone());
        found
    }
}
