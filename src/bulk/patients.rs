//! Patients as NDJSON into the embedded registry, and a list of those it has.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::chunk::{Chunk, Chunks, too_long};
use super::import::{refused_words, words};
use super::{BulkEvent, BulkProgress, ImportOptions};
use crate::audit::{AuditAction, AuditEvent};
use crate::bulk::limits::BAD_PATIENTS_TOLD_MAX;
use crate::interaction::active_narratives;
use crate::registry::person;
use certificate::{Id, IdentifierSystems};
use engine::{
    Engine, PatientWrite, PatientWrites, PatientWritten, RefusedChange, StoreError, StoredPatient, system_clock,
};
use fhir::json::{self, Json};

/// Batches handed to the writer and not answered yet: while one is committed the next one is read.
const COMMITS: usize = 2;

/// Reads Patients, one a line, and stores them in batches. One without id is a person not met before, unless somebody has its first
/// identifier. `systems` tells which identifiers are personal codes. Running it again is how it is resumed: what is there already is passed over.
///
/// Only the first [`BAD_PATIENTS_TOLD_MAX`] bad lines are reported; all are counted.
///
/// # Errors
/// What ended the run early, in words. Everything stored before stays.
pub fn import(
    engine: &Engine,
    systems: &IdentifierSystems,
    lines: &mut dyn BufRead,
    options: ImportOptions,
    report: &mut dyn FnMut(BulkEvent),
) -> Result<BulkProgress, String> {
    let mut run = PatientsRun {
        engine,
        systems,
        options,
        report,
        progress: BulkProgress::default(),
        doubts: 0,
        commits: VecDeque::new(),
    };
    let mut chunks = Chunks::new(lines, options.body_bytes_max);
    let mut read = chunks.next();
    while let Ok(Some(chunk)) = &read {
        run.progress.lines = chunks.lines;
        run.progress.bytes = chunks.bytes;
        run.take(chunk)?;
        read = chunks.next();
    }
    run.settle_down_to(0)?;
    if let Some(more) = run.doubts.checked_sub(BAD_PATIENTS_TOLD_MAX + 1) {
        let problem = format!("{} more share an Estonian personal code with another", more + 1);
        (run.report)(BulkEvent::Doubtful { problem });
    }
    read.map(|_| run.progress).map_err(|error| format!("reading failed: {error}"))
}

struct PatientsRun<'r> {
    engine: &'r Engine,
    systems: &'r IdentifierSystems,
    options: ImportOptions,
    report: &'r mut dyn FnMut(BulkEvent),
    progress: BulkProgress,
    /// Patients who share a personal code.
    doubts: u64,
    /// Batches that are being stored.
    commits: VecDeque<oneshot::Receiver<Result<Vec<PatientWritten>, RefusedChange>>>,
}

impl PatientsRun<'_> {
    fn take(&mut self, chunk: &Chunk) -> Result<(), String> {
        let mut writes = Vec::new();
        for (number, line) in chunk.lines() {
            let too_long = || too_long(self.options.body_bytes_max);
            match line.ok_or_else(too_long).and_then(|line| patient(line, self.systems)) {
                Ok(write) => writes.push(write),
                Err(problem) => {
                    if self.options.stop_at_bad {
                        self.hand_over(std::mem::take(&mut writes))?;
                        self.settle_down_to(0)?;
                    }
                    self.bad(number, problem)?;
                }
            }
        }
        self.hand_over(writes)?;
        (self.report)(BulkEvent::Progress(self.progress));
        Ok(())
    }

    fn hand_over(&mut self, writes: Vec<PatientWrite>) -> Result<(), String> {
        if !writes.is_empty() {
            self.commits.push_back(self.engine.append(PatientWrites { writes, waits: true }));
        }
        self.settle_down_to(COMMITS)
    }

    /// Waits until no more than some batches are on their way.
    fn settle_down_to(&mut self, most: usize) -> Result<(), String> {
        while self.commits.len() > most {
            let Some(answer) = self.commits.pop_front() else { return Ok(()) };
            let written = match answer.blocking_recv() {
                Ok(Ok(written)) => written,
                Ok(Err(refused)) => return Err(refused_words(refused)),
                Err(_) => return Err("the engine was closed".into()),
            };
            for written in written {
                match written {
                    PatientWritten::Stored(..) => self.progress.stored += 1,
                    PatientWritten::Shared(id, _, other) => {
                        self.progress.stored += 1;
                        self.doubt(id, other);
                    }
                    PatientWritten::Identical(..) | PatientWritten::ThereAlready(..) => self.progress.identical += 1,
                }
            }
        }
        Ok(())
    }

    fn doubt(&mut self, id: Id, other: Id) {
        self.doubts += 1;
        if self.doubts <= BAD_PATIENTS_TOLD_MAX {
            let problem = format!(
                "Patient/{id} has the Estonian personal code of Patient/{other}: by it, neither can be found alone"
            );
            (self.report)(BulkEvent::Doubtful { problem });
        }
    }

    fn bad(&mut self, line: u64, problem: String) -> Result<(), String> {
        self.progress.bad += 1;
        if self.progress.bad <= BAD_PATIENTS_TOLD_MAX {
            (self.report)(BulkEvent::BadLine { line, problem });
        }
        match self.options.stop_at_bad {
            true => Err(format!("stopped at line {line}, which was not taken; the lines before it are stored")),
            false => Ok(()),
        }
    }
}

fn patient(line: &[u8], systems: &IdentifierSystems) -> Result<PatientWrite, String> {
    let mut patient = json::parse(line).map_err(words)?;
    let write = person::read(&mut patient, systems).map_err(|error| error.to_string())?;
    match active_narratives(&patient) {
        active if active.is_empty() => Ok(write),
        active => Err(words(active.into())),
    }
}

/// What a list tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListedPatient {
    /// One patient: id, version, identifiers, name, birth date, flags, separated by tabs.
    Patient(String),
    /// All were told.
    End,
    /// The list ends early.
    Failed { problem: String },
}

/// The event of a list: of all it names nobody, with an identifier whom it asks for and whom it shows.
pub fn event_of_list(engine: &Engine, identifier: Option<&str>) -> AuditEvent {
    let mut event = AuditEvent::of_command(AuditAction::PatientsList, system_clock()(), "hcert patients list");
    if let Some(identifier) = identifier.filter(|identifier| !identifier.is_empty()) {
        event.identifiers.push(identifier.to_owned());
        // The list reports a failure of the store.
        event.patients = ids(engine, Some(identifier)).unwrap_or_default().iter().map(ToString::to_string).collect();
    }
    event
}

/// Tells the newest version of every patient, by id; only those with an identifier where one is asked for, as `system|value` or `value`.
///
/// # Errors
/// What `tell` says. A failure of the store is told.
pub fn list(
    engine: &Engine,
    identifier: Option<&str>,
    tell: &mut dyn FnMut(ListedPatient) -> io::Result<()>,
) -> io::Result<()> {
    let ids = match ids(engine, identifier) {
        Ok(ids) => ids,
        Err(error) => return tell(ListedPatient::Failed { problem: error.to_string() }),
    };
    for id in ids {
        match engine.patients().newest(id) {
            Ok(Some(patient)) => tell(ListedPatient::Patient(line(&patient)))?,
            Ok(None) => {}
            Err(error) => return tell(ListedPatient::Failed { problem: error.to_string() }),
        }
    }
    tell(ListedPatient::End)
}

fn ids(engine: &Engine, identifier: Option<&str>) -> Result<Vec<certificate::Id>, StoreError> {
    let mut ids: Vec<_> = match identifier {
        None => {
            let all = engine.patients().all(usize::MAX)?.expect("nothing is more than the largest number");
            all.into_iter().map(|line| line.id).collect()
        }
        Some(identifier) => {
            let (system, value) = match identifier.split_once('|') {
                Some((system, value)) => (Some(system), value),
                None => (None, identifier),
            };
            let found = engine.patients().with(value)?;
            let fits = found.into_iter().filter(|(met, _)| system.is_none_or(|system| system == met));
            fits.map(|(_, id)| id).collect()
        }
    };
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn line(patient: &StoredPatient) -> String {
    let resource = json::parse_stored(&patient.resource);
    let identifiers: Vec<String> = patient
        .facts
        .identifiers
        .iter()
        .map(|(system, value)| match system.as_str() {
            "" => value.clone(),
            system => format!("{system}|{value}"),
        })
        .collect();
    let mut flags = vec![if patient.facts.is_active { "active" } else { "inactive" }];
    if patient.facts.is_deceased {
        flags.push("deceased");
    }
    let columns = [
        patient.id.to_string(),
        patient.version.to_string(),
        identifiers.join(" "),
        name(&resource),
        resource.text("birthDate").unwrap_or("-").to_owned(),
        flags.join(","),
    ];
    // A tab or a line's end in a name would make another column or line.
    columns.map(|column| column.replace(char::is_control, " ")).join("\t")
}

fn name(resource: &Json) -> String {
    let Some(name) = resource.items("name").first() else { return "-".into() };
    let given = name.items("given").iter().filter_map(Json::as_str);
    let parts: Vec<&str> = given.chain(name.text("family")).collect();
    match (parts.is_empty(), name.text("text")) {
        (true, text) => text.unwrap_or("-").to_owned(),
        (false, _) => parts.join(" "),
    }
}
