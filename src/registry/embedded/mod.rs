//! The embedded registry: patients in the same store, answered as the real registry answers.
//!
//! It is the registry itself, with its own rules and codes; nothing of it knows of certificates. Source: Contract 6.2.

mod find;
mod headers;
mod history;
mod population;
mod refusals;
mod search;

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    Caller, Identifier, LookupFailure, LookupPurpose, NoAnswer, Patient, RegistryFinding, RegistryRequest, samples,
};
use crate::config::{AccessMode, Config, PopulationRegister, RegistrySettings};
use base::log::event;
use certificate::search::paging::Counts;
use certificate::{Id, IdentifierSystems, Names, Version};
use engine::{Clock, Engine, PatientFacts, PatientWrites, RefusedChange, StoredPatient};
use fhir::outcome::{IssueChain, IssueSystems};
pub use headers::DEMANDABLE;
pub use refusals::Refusals;
use refusals::unreadable;
pub use search::KNOWN;

/// Searches for patients at once that look at everybody. More wait.
const WIDE_PATIENT_SEARCHES: usize = 2;

/// The settings of the registry.
#[derive(Clone, Debug)]
pub struct EmbeddedSettings {
    /// Identifier systems of persons and institutions.
    pub identifiers: IdentifierSystems,
    /// Identifier system of the registry's own ids.
    pub external_reference_system: String,
    pub systems: IssueSystems,
    pub count: Counts,
    /// Headers that every request must bring, out of [`DEMANDABLE`].
    pub headers: Vec<String>,
    /// Whether a stand-in for the population register makes up people who are not known yet.
    pub simulates_population: bool,
    /// Whether people that do not exist are there from the first start on.
    pub samples: bool,
}

impl EmbeddedSettings {
    pub fn new(config: &Config, names: &Names) -> EmbeddedSettings {
        let RegistrySettings { external_reference_system, required_headers, population_register, samples, .. } =
            &config.registry;
        let invents = config.access.mode == AccessMode::Developer;
        EmbeddedSettings {
            identifiers: names.identifiers.clone(),
            external_reference_system: external_reference_system.clone(),
            systems: names.issue_systems.clone(),
            count: Counts { default: config.search.count_default, max: config.search.count_max },
            headers: required_headers.clone(),
            simulates_population: population_register.map_or(invents, |asked| asked == PopulationRegister::Simulate),
            samples: samples.unwrap_or(invents),
        }
    }
}

/// The registry of this process.
pub struct EmbeddedRegistry {
    engine: Arc<Engine>,
    settings: EmbeddedSettings,
    /// Those of the settings, shared with every call.
    systems: Arc<IssueSystems>,
    clock: Clock,
    /// For searches that look at everybody.
    turns: Arc<Semaphore>,
}

impl EmbeddedRegistry {
    pub fn new(engine: Arc<Engine>, settings: EmbeddedSettings, clock: Clock) -> EmbeddedRegistry {
        let systems = Arc::new(settings.systems.clone());
        let turns = Arc::new(Semaphore::new(WIDE_PATIENT_SEARCHES));
        EmbeddedRegistry { engine, settings, systems, clock, turns }
    }

    /// See [`Registry::add_samples`](crate::registry::Registry::add_samples).
    pub async fn add_samples(&self) -> Result<(), String> {
        let is_empty = self.engine.patients().count().map_err(|error| error.to_string())? == 0;
        if !self.settings.samples || !is_empty {
            return Ok(());
        }
        match self.engine.append(PatientWrites { writes: samples(&self.settings.identifiers), waits: true }).await {
            Ok(Ok(_)) => Ok(()),
            // Reads are worth a start. The next one stores them.
            Ok(Err(RefusedChange::Clock(problem))) => {
                event!(SAMPLES_NOT_STORED, problem = %problem);
                Ok(())
            }
            Ok(Err(refused)) => Err(format!("the patients that ship were not stored: {refused}")),
            Err(_) => Err("the writer gave no answer".to_owned()),
        }
    }

    /// Answers a call as the registry's own REST interface does.
    pub async fn ask(&self, request: &RegistryRequest, caller: &Caller) -> Result<RegistryFinding, LookupFailure> {
        self.check_headers(caller)?;
        match request {
            RegistryRequest::Search(parameters) => self.search(parameters, caller).await,
            RegistryRequest::Read(id) => {
                let found = match Id::parse(id) {
                    Some(id) => self.engine.patients().newest(id).map_err(unreadable)?,
                    None => None,
                };
                let missing = || self.refusals(caller).one("MPI-072", &[("id", id)]);
                Ok(told(found.ok_or_else(missing)?))
            }
            RegistryRequest::Vread(id, version) => {
                let found = match Id::parse(id).zip(Version::parse(version)) {
                    Some((id, version)) => self.engine.patients().version(id, version).map_err(unreadable)?,
                    None => None,
                };
                match found {
                    Some(found) => Ok(told(found)),
                    None => Err(self.no_version(id, caller)?.into()),
                }
            }
            RegistryRequest::History(id, parameters) => self.history(id, parameters, caller),
        }
    }

    /// The patient with an id, for the service's own decisions: no resource is read for it.
    pub fn by_id(&self, id: &str, caller: &Caller) -> Result<Option<Patient>, LookupFailure> {
        self.check_headers(caller)?;
        Ok(match Id::parse(id) {
            Some(id) => self.patient(id)?,
            None => None,
        })
    }

    /// The patients with an identifier, by id; a person not known yet is taken over where `caller` may cause it.
    pub async fn by_identifier(
        &self,
        system: &str,
        value: &str,
        caller: &Caller,
    ) -> Result<Vec<Patient>, LookupFailure> {
        self.check_headers(caller)?;
        let ids = self.find(Some(system), value, caller).await?;
        let patients = ids.into_iter().map(|id| self.patient(id).map_err(LookupFailure::from));
        patients.filter_map(Result::transpose).collect()
    }

    /// Everybody who is the same person as this one, but for itself.
    pub fn linked(&self, id: &str) -> Arc<[Id]> {
        Id::parse(id).map_or_else(Arc::default, |id| self.engine.patients().linked(id))
    }

    fn patient(&self, id: Id) -> Result<Option<Patient>, NoAnswer> {
        let found = self.engine.patients().facts(id).map_err(unreadable)?;
        Ok(found.map(|(version, facts)| {
            let PatientFacts { identifiers, links, is_deceased, .. } = facts;
            let identifiers = identifiers.into_iter().map(|(system, value)| Identifier { system, value }).collect();
            let links = links.iter().map(Id::to_string).collect();
            // What is no longer valid was left out by the import.
            let former = Vec::new();
            Patient { id: id.to_string(), version: version.to_string(), identifiers, former, is_deceased, links }
        }))
    }

    fn check_headers(&self, caller: &Caller) -> Result<(), IssueChain> {
        headers::check(&caller.x_road, &self.settings.headers, &self.refusals(caller))
    }

    fn refusals(&self, caller: &Caller) -> Refusals {
        Refusals::new(caller.language, self.systems.clone())
    }

    /// Why a version is not there: MPI-072 where its patient is not either.
    fn no_version(&self, id: &str, caller: &Caller) -> Result<IssueChain, NoAnswer> {
        let is_known = match Id::parse(id) {
            Some(id) => self.engine.patients().facts(id).map_err(unreadable)?.is_some(),
            None => false,
        };
        let refusals = self.refusals(caller);
        Ok(if is_known { refusals.one("MPI-079", &[]) } else { refusals.one("MPI-072", &[("id", id)]) })
    }

    /// Whether a call may bring people over from the population register.
    fn may_take_over(caller: &Caller) -> bool {
        caller.purpose != LookupPurpose::Look
    }
}

fn told(found: StoredPatient) -> RegistryFinding {
    let StoredPatient { version, stamp, resource, .. } = found;
    RegistryFinding { body: resource, version: Some(version.to_string()), last_modified: Some(stamp.milliseconds) }
}
