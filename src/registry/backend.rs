//! The registry that the settings choose, with the faults it is told to have.

use std::sync::Arc;
use std::time::Duration;

use super::embedded::{self, EmbeddedRegistry, Refusals};
use super::fault::{FaultEffect, FaultRules, InjectedFault};
use super::health::RegistryHealth;
use super::patient::{Identifier, Patient};
use super::remote::RemoteRegistry;
use super::request::{Caller, LookupFailure, NoAnswer, RegistryFinding, RegistryRequest};
use crate::config::{Config, RegistryMode};
use crate::registry::limits::IDENTIFIER_CHARACTERS_MAX;
use certificate::search::value::{split, unescape};
use certificate::{IdentifierSystems, Names, PersonalCode};
use engine::limits::LINKED_PATIENTS_MAX;
use engine::{Clock, Engine};
use fhir::json::{self, Json};
use fhir::outcome::reflected;
use fhir::outcome::{IssueChain, IssueSystems, Reflected};

/// Patients of one search whose links a remote registry is asked for, one after the other. Nobody asks for more at once by hand.
const LINK_LOOKUPS_MAX: usize = 50;

/// Patients that one identifier is asked for. One person has it; registers with errors in them have a handful.
const PATIENTS_OF_IDENTIFIER_MAX: usize = 100;

/// A registry of patients: that of this process or another one.
pub struct Registry {
    backend: RegistryBackend,
    rules: Arc<FaultRules>,
    systems: IssueSystems,
    identifiers: IdentifierSystems,
    external_reference_system: String,
    /// How long all questions of one search may take together.
    deadline: Duration,
    /// How long a registry that hangs is waited for, embedded or not.
    timeout: Duration,
}

enum RegistryBackend {
    Embedded(Box<EmbeddedRegistry>),
    Remote(Box<RemoteRegistry>),
}

/// How a registry that is told to fail answers a caller of its own: not at all, or with rubbish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// The connection ends without an answer.
    HangUp,
    /// An answer with status 200 that is no FHIR.
    Garbage,
}

/// What the registry says of an identifier.
#[derive(Debug, Default)]
pub struct IdentifierLookup {
    pub patients: Vec<Patient>,
    /// Why the identifier is impossible, in the registry's own codes.
    pub told: Vec<Reflected>,
}

/// What a caller of the registry itself gets.
pub enum RegistryAnswer {
    Found(RegistryFinding),
    Misbehaves(Misbehaviour),
}

impl Registry {
    /// The registry of the settings. `engine` and `clock` serve the embedded one.
    ///
    /// # Errors
    /// In words for the operator: a fault that is none, or a way to the other registry that cannot be gone.
    pub fn open(config: &Config, engine: Arc<Engine>, clock: Clock) -> Result<Registry, String> {
        let names = Names::new(config.base_url(), &config.namespaces.pairs());
        let backend = match config.registry.mode {
            RegistryMode::Remote => RegistryBackend::Remote(Box::new(RemoteRegistry::new(&config.registry.remote)?)),
            RegistryMode::Embedded => {
                let settings = embedded::EmbeddedSettings::new(config, &names);
                RegistryBackend::Embedded(Box::new(EmbeddedRegistry::new(engine, settings, clock)))
            }
        };
        let external_reference_system = config.registry.external_reference_system.clone();
        let deadline = Duration::from_millis(config.registry.remote.deadline_ms);
        let timeout = Duration::from_millis(config.registry.remote.timeout_ms);
        Ok(Registry {
            backend,
            rules: Arc::new(FaultRules::new(&config.registry.fault)?),
            systems: names.issue_systems,
            identifiers: names.identifiers,
            external_reference_system,
            deadline,
            timeout,
        })
    }

    /// Checks the files that the settings name for a remote registry. Nobody is asked.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn check(config: &Config) -> Result<(), String> {
        match config.registry.mode {
            RegistryMode::Remote => RemoteRegistry::new(&config.registry.remote).map(drop),
            RegistryMode::Embedded => Ok(()),
        }
    }

    /// Puts the people that ship into an embedded registry that has nobody yet, unless the settings say otherwise.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn add_samples(&self) -> Result<(), String> {
        match &self.backend {
            RegistryBackend::Embedded(embedded) => embedded.add_samples().await,
            RegistryBackend::Remote(_) => Ok(()),
        }
    }

    /// What it is told to do wrong.
    pub fn faults(&self) -> &Arc<FaultRules> {
        &self.rules
    }

    /// How it is, as far as this service knows. Waits for nobody.
    pub fn health(&self) -> RegistryHealth {
        match &self.backend {
            RegistryBackend::Embedded(_) => RegistryHealth::Embedded,
            RegistryBackend::Remote(remote) => remote.health(),
        }
    }

    /// The parameters that a search for patients takes, where that is known: another registry judges them itself.
    pub fn search_parameters(&self) -> Option<&'static [&'static str]> {
        match &self.backend {
            RegistryBackend::Embedded(_) => Some(embedded::KNOWN),
            RegistryBackend::Remote(_) => None,
        }
    }

    /// Answers a caller who asks for patients: what the registry says, with its own status. A fault is simulated in
    /// full, but no longer than the time limit for a registry that does not answer.
    pub async fn answer(&self, request: &RegistryRequest, caller: &Caller) -> Result<RegistryAnswer, LookupFailure> {
        match self.meet(request, caller).await? {
            Some(misbehaviour) => Ok(RegistryAnswer::Misbehaves(misbehaviour)),
            None => self.ask(request, caller).await.map(RegistryAnswer::Found),
        }
    }

    /// The patient with an id; nobody when there is none.
    pub async fn by_id(&self, id: &str, caller: &Caller) -> Result<Option<Patient>, LookupFailure> {
        let request = || RegistryRequest::Search(vec![("_id".to_owned(), id.to_owned())]);
        self.strike(&request, caller).await?;
        match &self.backend {
            RegistryBackend::Embedded(embedded) => embedded.by_id(id, caller),
            RegistryBackend::Remote(remote) => {
                let found = patients(remote, &remote.ask(&request(), caller).await?)?;
                Ok(found.into_iter().find(|patient| patient.id == id))
            }
        }
    }

    /// A patient as the registry had them in a version, else as it has them; nobody when it knows none.
    pub async fn as_of(
        &self,
        id: &str,
        version: &str,
        caller: &Caller,
    ) -> Result<Option<RegistryFinding>, LookupFailure> {
        let request = || RegistryRequest::Vread(id.to_owned(), version.to_owned());
        self.strike(&request, caller).await?;
        let mut found = match version {
            "" => Err(LookupFailure::NotFound),
            _ => self.ask(&request(), caller).await,
        };
        if found.as_ref().is_err_and(LookupFailure::is_nobody) {
            found = self.ask(&RegistryRequest::Read(id.to_owned()), caller).await;
        }
        match found {
            Err(failed) if failed.is_nobody() => Ok(None),
            found => found.map(Some),
        }
    }

    /// The patients with an identifier. `system` is none for a bare value, which is an Estonian personal code.
    pub async fn by_identifier(
        &self,
        system: Option<&str>,
        value: &str,
        caller: &Caller,
    ) -> Result<Vec<Patient>, LookupFailure> {
        let escaped =
            |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace(',', "\\,").replace('$', "\\$");
        // Said in full, so that several with one code are several here and not an error of the registry.
        let system = system.unwrap_or(self.identifiers.estonian_code());
        let token = || format!("{}|{}", escaped(system), escaped(value));
        let request = || {
            let count = PATIENTS_OF_IDENTIFIER_MAX.to_string();
            RegistryRequest::Search(vec![("identifier".to_owned(), token()), ("_count".to_owned(), count)])
        };
        self.strike(&request, caller).await?;
        // Another system may give the same value to somebody else.
        let is_same = |known: &Identifier| known.value == value && (known.system.is_empty() || known.system == system);
        let has = |identifiers: &[Identifier]| identifiers.iter().any(is_same);
        match &self.backend {
            RegistryBackend::Embedded(embedded) => embedded.by_identifier(system, value, caller).await,
            // So long that no address could carry it, and nobody has it.
            RegistryBackend::Remote(_) if is_too_long(system, value) => Ok(Vec::new()),
            RegistryBackend::Remote(remote) => {
                let mut found = patients(remote, &remote.ask(&request(), caller).await?)?;
                found.retain(|patient| !has(&patient.former) || has(&patient.identifiers));
                // The registry's own ids need not stand among the identifiers.
                let is_own = system == self.external_reference_system;
                match is_own || found.iter().all(|patient| has(&patient.identifiers)) {
                    true => Ok(found),
                    false => Err(NoAnswer::Unreadable("a patient without the identifier asked for".into()).into()),
                }
            }
        }
    }

    /// The patients with an identifier, for a search; and, where the registry says so, why the identifier is
    /// impossible.
    ///
    /// No patient is found where the registry answers 404, and where the value is an impossible Estonian personal code.
    /// Contract 4.6; Decision 129.
    ///
    /// # Errors
    /// The registry is silent, answers 404 without an OperationOutcome, or refuses for another reason.
    pub async fn look_up(
        &self,
        system: Option<&str>,
        value: &str,
        caller: &Caller,
    ) -> Result<IdentifierLookup, LookupFailure> {
        let is_estonian = system.is_none_or(|system| system == self.identifiers.estonian_code());
        let is_impossible = is_estonian && PersonalCode::parse(value).is_err();
        match self.by_identifier(system, value, caller).await {
            Ok(patients) if is_impossible && patients.is_empty() => {
                let refusals = Refusals::new(caller.language, self.systems.clone());
                let told = refusals.one("MPI-044", &[("code", value)]).issues;
                Ok(IdentifierLookup { patients, told })
            }
            Ok(patients) => Ok(IdentifierLookup { patients, told: Vec::new() }),
            Err(LookupFailure::Refused(chain)) if chain.status == 404 || (is_impossible && says_impossible(&chain)) => {
                Ok(IdentifierLookup { patients: Vec::new(), told: chain.issues })
            }
            Err(failed) => Err(failed),
        }
    }

    /// Whether somebody not known yet would be taken over for a write by this identifier.
    pub fn would_take_over(&self, system: Option<&str>, value: &str) -> bool {
        match &self.backend {
            RegistryBackend::Embedded(embedded) => {
                embedded.would_take_over(system.unwrap_or(self.identifiers.estonian_code()), value)
            }
            RegistryBackend::Remote(_) => false,
        }
    }

    /// Whether a remote registry may add a person on a write whom it does not find on a read.
    pub fn may_know_more_for_a_write(&self) -> bool {
        matches!(self.backend, RegistryBackend::Remote(_))
    }

    /// Ids of everybody who is the same person as this one, but for itself.
    pub async fn linked(&self, id: &str, caller: &Caller) -> Result<Vec<String>, LookupFailure> {
        match &self.backend {
            RegistryBackend::Embedded(embedded) => Ok(embedded.linked(id).iter().map(ToString::to_string).collect()),
            RegistryBackend::Remote(remote) => linked(remote, id, caller).await,
        }
    }

    /// Whether anybody may be the same person as this one. An embedded registry knows it at once.
    pub fn may_be_linked(&self, id: &str) -> bool {
        match &self.backend {
            RegistryBackend::Embedded(embedded) => !embedded.linked(id).is_empty(),
            RegistryBackend::Remote(_) => true,
        }
    }

    /// How long one search may ask for links.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Patients whose links one search may ask for: a remote registry is asked for each.
    pub fn links_at_once(&self) -> usize {
        match &self.backend {
            RegistryBackend::Embedded(_) => usize::MAX,
            RegistryBackend::Remote(_) => LINK_LOOKUPS_MAX,
        }
    }

    /// What a registry says of a patient who died: met naturally it only warns. Contract 6.4.
    pub fn deceased(&self, patient: &Patient, caller: &Caller) -> Option<Reflected> {
        patient.is_deceased.then(|| {
            let refusals = Refusals::new(caller.language, self.systems.clone());
            refusals.one("MPI-101", &[]).issues.remove(0).as_warning()
        })
    }

    async fn ask(&self, request: &RegistryRequest, caller: &Caller) -> Result<RegistryFinding, LookupFailure> {
        match &self.backend {
            RegistryBackend::Embedded(embedded) => embedded.ask(request, caller).await,
            RegistryBackend::Remote(remote) => remote.ask(request, caller).await,
        }
    }

    /// A fault in the way of a lookup of the service's own, as it arrives there.
    async fn strike(&self, request: &impl Fn() -> RegistryRequest, caller: &Caller) -> Result<(), LookupFailure> {
        // Nothing is put together for the many calls that no fault is meant for.
        if self.rules.is_empty() && caller.fault.is_none() {
            return Ok(());
        }
        match self.meet(&request(), caller).await? {
            None => Ok(()),
            Some(Misbehaviour::HangUp) => Err(NoAnswer::Unreachable("a fault refuses the connection".into()).into()),
            Some(Misbehaviour::Garbage) => Err(NoAnswer::Unreadable("a fault answers with rubbish".into()).into()),
        }
    }

    /// Simulates the fault that a call meets, no longer than the time limit for a registry that does not answer.
    async fn meet(&self, request: &RegistryRequest, caller: &Caller) -> Result<Option<Misbehaviour>, LookupFailure> {
        let Some(InjectedFault { delay, effect }) = self.fault(request, caller)? else { return Ok(None) };
        tokio::time::sleep(delay.min(self.timeout)).await;
        let Some(left) = self.timeout.checked_sub(delay) else { return Err(timeout()) };
        match effect {
            None => Ok(None),
            Some(FaultEffect::Chain(entries)) => Err(self.chain(&entries, caller).into()),
            Some(FaultEffect::Timeout) => {
                tokio::time::sleep(left).await;
                Err(timeout())
            }
            Some(FaultEffect::Refuse) => Ok(Some(Misbehaviour::HangUp)),
            Some(FaultEffect::Garbage) => Ok(Some(Misbehaviour::Garbage)),
        }
    }

    /// The fault that a call meets: that of its header, else that of a rule. A remote registry reads the header itself.
    fn fault(&self, request: &RegistryRequest, caller: &Caller) -> Result<Option<InjectedFault>, LookupFailure> {
        match (&caller.fault, &self.backend) {
            (Some(text), RegistryBackend::Embedded(_)) => {
                InjectedFault::parse(text).map(Some).map_err(LookupFailure::Fault)
            }
            _ if self.rules.is_empty() => Ok(None),
            _ => {
                let (path, identifiers) = described(request);
                let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
                Ok(self.rules.strike(&path, &identifiers))
            }
        }
    }

    fn chain(&self, entries: &[&reflected::ReflectedCode], caller: &Caller) -> IssueChain {
        IssueChain::of(entries, caller.language, &self.systems)
    }
}

/// Codes with which a registry says that a personal code cannot be valid: its own, and those of the population register.
const IMPOSSIBLE: [&str; 7] = ["MPI-044", "MPI-090", "10001", "10002", "10003", "10004", "10005"];

/// Whether a refusal may be due to an impossible personal code: its original error is one of these, or no code of the catalogue.
fn says_impossible(chain: &IssueChain) -> bool {
    let code = chain.issues.last().map(Reflected::code).unwrap_or_default();
    chain.status < 500 && (IMPOSSIBLE.contains(&code) || reflected::find(code).is_none())
}

/// Follows links from patient to patient, nearest first, at most [`LINKED_PATIENTS_MAX`] of them.
async fn linked(remote: &RemoteRegistry, id: &str, caller: &Caller) -> Result<Vec<String>, LookupFailure> {
    let mut met = vec![id.to_owned()];
    let mut at = 0;
    while let Some(id) = met.get(at).cloned() {
        let request = RegistryRequest::Search(vec![("_id".to_owned(), id.clone())]);
        let found = match remote.ask(&request, caller).await {
            Ok(told) => patients(remote, &told)?,
            Err(failed) if failed.is_nobody() => Vec::new(),
            Err(failed) => return Err(failed),
        };
        let links = found.into_iter().filter(|patient| patient.id == id).flat_map(|patient| patient.links);
        for link in links {
            if met.len() <= LINKED_PATIENTS_MAX && !met.contains(&link) {
                met.push(link);
            }
        }
        at += 1;
    }
    met.remove(0);
    Ok(met)
}

/// Whether an identifier is longer than that of any patient.
fn is_too_long(system: &str, value: &str) -> bool {
    system.chars().count() + value.chars().count() > IDENTIFIER_CHARACTERS_MAX
}

fn timeout() -> LookupFailure {
    NoAnswer::Timeout("a fault holds the answer back".into()).into()
}

/// Path and identifiers of a call, for the rules.
fn described(request: &RegistryRequest) -> (String, Vec<String>) {
    match request {
        RegistryRequest::Search(parameters) => {
            let of = |wanted: &'static str| {
                parameters.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value)
            };
            let ids: Vec<&String> = of("_id").collect();
            // A search for one patient by id is a way to read that one.
            let path = match ids[..] {
                [id] => format!("/Patient/{id}"),
                _ => "/Patient".to_owned(),
            };
            (
                path,
                of("identifier").flat_map(|value| split(value, b',')).map(|part| unescape(part).into_owned()).collect(),
            )
        }
        RegistryRequest::Read(id) => (format!("/Patient/{id}"), Vec::new()),
        RegistryRequest::Vread(id, version) => (format!("/Patient/{id}/_history/{version}"), Vec::new()),
        RegistryRequest::History(id, _) => (format!("/Patient/{id}/_history"), Vec::new()),
    }
}

/// The patients of a Bundle. What it says of their number counts for nothing.
fn patients(remote: &RemoteRegistry, told: &RegistryFinding) -> Result<Vec<Patient>, LookupFailure> {
    let unreadable = |what: &str| LookupFailure::from(NoAnswer::Unreadable(what.to_owned()));
    let bundle = json::parse(&told.body).map_err(|_| unreadable("the Bundle is not JSON"))?;
    if bundle.text("resourceType") != Some("Bundle") {
        return Err(unreadable("not a Bundle"));
    }
    let resources = bundle.items("entry").iter().filter_map(|entry| {
        let is_match = entry.get("search").and_then(|search| search.text("mode")).is_none_or(|mode| mode == "match");
        entry.get("resource").filter(|_| is_match)
    });
    let resources: Vec<&Json> = resources.collect();
    if resources.len() > PATIENTS_OF_IDENTIFIER_MAX {
        return Err(unreadable("more patients than were asked for"));
    }
    let read = resources.iter().map(|resource| Patient::read(resource, Some(remote.address())));
    read.collect::<Option<Vec<_>>>().ok_or_else(|| unreadable("an entry that is no Patient with id and version"))
}
