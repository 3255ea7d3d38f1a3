//! Patients by identifier: which systems there are, what an identifier must look like, and who has it.

use jiff::Span;
use jiff::civil::{Date, date};

use super::{EmbeddedRegistry, population, unreadable};
use crate::registry::{Caller, LookupFailure, NoAnswer, PersonalCode};
use certificate::{Id, head};
use engine::{PatientWrite, PatientWrites, PatientWritten, RefusedChange};
use fhir::date_time;
use fhir::outcome::IssueChain;

impl EmbeddedRegistry {
    /// Ids of the patients with an identifier, ascending. `system` may name a whole branch: `…/pid/fin` stands for `…/pid/fin/ni` and
    /// `…/pid/fin/ppn`. Without a system the value is an Estonian personal code. Contract 6.2.
    ///
    /// # Errors
    /// MPI-025, -025.01, -067 for the system; the population register's chain (or MPI-044, without one) for a personal code that cannot
    /// be; MPI-046 when a bare code fits several.
    pub(super) async fn find(
        &self,
        system: Option<&str>,
        value: &str,
        caller: &Caller,
    ) -> Result<Vec<Id>, LookupFailure> {
        let estonian = self.settings.identifiers.estonian_code();
        let wanted = system.unwrap_or(estonian);
        self.check_system(wanted, caller)?;
        let code = match wanted == estonian {
            true => Some(self.personal_code(value, caller)?),
            false => None,
        };
        let mut ids = self.with(wanted, value)?;
        // The registry's own ids are identifiers too.
        if ids.is_empty()
            && wanted == self.settings.external_reference_system
            && let Some(id) = Id::parse(value)
            && self.engine.patients().line(id).map_err(unreadable)?.is_some()
        {
            ids.push(id);
        }
        if ids.is_empty()
            && let Some(code) = code
        {
            ids = self.take_over(code, estonian, caller).await?;
        }
        if system.is_none() && ids.len() > 1 {
            return Err(self.refusals(caller).one("MPI-046", &[("param", "identifier")]).into());
        }
        Ok(ids)
    }

    /// Current patients with an identifier of the system or of a branch below it.
    fn with(&self, system: &str, value: &str) -> Result<Vec<Id>, NoAnswer> {
        let found = self.engine.patients().with(value).map_err(unreadable)?;
        let mut ids: Vec<Id> =
            found.into_iter().filter(|(known, _)| is_within(known, system)).map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn check_system(&self, system: &str, caller: &Caller) -> Result<(), IssueChain> {
        let refuse = |code| Err(self.refusals(caller).one(code, &[("system", system)]));
        if !["urn:oid:", "https:", "http:"].iter().any(|start| system.starts_with(start)) {
            return refuse("MPI-025.01");
        }
        let identifiers = &self.settings.identifiers;
        match system {
            _ if system == self.settings.external_reference_system || system.starts_with("urn:oid:") => Ok(()),
            _ if is_within(system, identifiers.persons()) => Ok(()),
            // Identifiers of institutions, workers and documents belong to other registers.
            _ if is_within(system, identifiers.base()) => refuse("MPI-067"),
            _ => refuse("MPI-025"),
        }
    }

    /// What the population register says of a code that cannot be anybody's.
    fn personal_code(&self, value: &str, caller: &Caller) -> Result<PersonalCode, IssueChain> {
        PersonalCode::parse(value).map_err(|error| match self.settings.simulates_population {
            true => self.refusals(caller).chain(population::refusal(error)),
            false => self.refusals(caller).one("MPI-044", &[("code", value)]),
        })
    }

    /// Makes a patient of somebody whom only the population register knows.
    async fn take_over(&self, code: PersonalCode, system: &str, caller: &Caller) -> Result<Vec<Id>, LookupFailure> {
        if !self.settings.simulates_population || !Self::may_take_over(caller) {
            return Ok(Vec::new());
        }
        let Some((person, facts)) = population::person(code, system, today((self.clock)())) else {
            return Err(self.refusals(caller).chain("10027").into());
        };
        let resource = person.as_object().expect("a Patient is an object");
        // Of two who ask at once one makes the patient, and the other gets that one.
        let unless = Some((system.to_owned(), code.as_str().to_owned()));
        let write = PatientWrite { id: None, unless, alone: None, facts, tail: head::tail(resource) };
        match self.engine.append(PatientWrites { writes: vec![write], waits: false }).await {
            Ok(Ok(written)) => Ok(written.into_iter().map(|written| written_id(&written)).collect()),
            Ok(Err(RefusedChange::Store(error))) => Err(unreadable(error).into()),
            Ok(Err(refused)) => Err(NoAnswer::Unreachable(refused.to_string()).into()),
            Err(_) => Err(NoAnswer::Unreachable("the writer gave no answer".into()).into()),
        }
    }
}

impl EmbeddedRegistry {
    /// See [`Registry::would_take_over`](crate::registry::Registry::would_take_over).
    pub fn would_take_over(&self, system: &str, value: &str) -> bool {
        let is_estonian = system == self.settings.identifiers.estonian_code();
        let is_born = |code: PersonalCode| code.birth_date() <= today((self.clock)());
        self.settings.simulates_population && is_estonian && PersonalCode::parse(value).is_ok_and(is_born)
    }
}

/// Whether a system is a branch of systems, or lies below it.
fn is_within(system: &str, branch: &str) -> bool {
    system.strip_prefix(branch).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The day in Estonia.
fn today(milliseconds: i64) -> Date {
    let local = milliseconds + i64::from(date_time::offset_minutes(milliseconds)) * 60_000;
    let days = Span::new().try_days(local.div_euclid(86_400_000));
    days.and_then(|days| date(1970, 1, 1).checked_add(days)).unwrap_or(Date::MAX)
}

fn written_id(written: &PatientWritten) -> Id {
    match written {
        PatientWritten::Stored(id, _)
        | PatientWritten::Shared(id, ..)
        | PatientWritten::Identical(id, _)
        | PatientWritten::ThereAlready(id, _) => *id,
    }
}
