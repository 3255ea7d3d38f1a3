//! The service: engine, registry and settings, and the one match from interactions to what they do.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use super::capabilities::{capabilities, terminology_capabilities};
use super::context::{RequestContext, Subset};
use super::fixed::{FixedDefinition, fixed};
use super::openapi::{self, ApiSettings};
use super::policy::Policy;
use super::table::{InteractionKind, ReadsStored};
use super::{Answer, Instance, Interaction, Lists, PathId, Rulebook};
use crate::access::rights::PermittedAction;
use crate::config::limits::{LARGE_ANSWERS, LARGE_ANSWERS_OF_ONE};
use crate::registry::{Registry, RegistryRequest};
use crate::turns::Turns;
use certificate::head::{self, HEAD_BYTES_MAX};
use certificate::search::issue;
use certificate::search::paging::Counts;
use certificate::search::seal::SealKey;
use certificate::terminology::Terminology;
use certificate::transition::Trigger;
use certificate::{Id, Names};
use engine::{AcknowledgedChange, Clock, Engine, RefusedChange, SearchError, StoreError, StoredVersion, Write};
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue, Outcome};

/// Rows from which a search is a heavy one: about a millisecond of work. Heavy ones run in turns, on threads of their own, so that reads
/// keep theirs.
const HEAVY_ROWS: u64 = 20_000;

/// Long searches at once, that is histories of a past time and searches of the audit trail. They take seconds where a heavy search takes
/// milliseconds, and leave the other processors to whatever else is asked.
const LONG_AT_ONCE: usize = 1;

/// Seconds a heavy or long search waits for its turn before it is answered with 503. A caller who waits longer has mostly gone.
const HEAVY_WAIT_S: u64 = 5;

/// Seconds a large answer waits for its turn before it is 503: the one before it has to cross the network first.
const LARGE_WAIT_S: u64 = 10;

/// Stands for the base address in the description of the API. No address has it.
const BASE_URL_PLACE: &str = "{base_url}";

/// The settings of the interactions.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    pub names: Names,
    /// `{hcert_issue_system}`
    pub issue_system: String,
    /// Entries of a page when `_count` is absent, and at most.
    pub count: Counts,
    /// How long a link with sealed parameters works, seconds.
    pub link_seconds: i64,
    /// In a search for certificates `fullUrl` is `{base_url}/Composition/1` instead of `Composition/1`. Contract 1.2.
    pub full_url_absolute: bool,
    /// A subject of this identifier system that is not found exactly once is HCERT-008. Contract 4.6.
    pub external_reference_system: String,
}

/// Everything an interaction needs.
pub struct Service {
    pub(super) engine: Arc<Engine>,
    pub(super) registry: Registry,
    pub(super) policy: Policy,
    rulebook: Arc<Rulebook>,
    pub(super) settings: ServiceSettings,
    pub(super) clock: Clock,
    pub(super) seal: SealKey,
    /// For searches that look at many rows.
    pub(super) heavy_turns: Turns,
    /// Rows from which a search is one of them.
    pub(super) heavy_rows: u64,
    /// For what takes longer the longer the service runs: histories of a past time, and the audit trail. Searches do not wait for it, nor
    /// it for searches.
    pub(super) long_turns: Turns,
    pub(super) large_answers: Turns,
    /// For certificates that take a while to expand.
    pub(super) large_reads: Turns,
    /// For certificates in print.
    pub(super) documents: Turns,
    /// Definitions that are no code lists; made when they are asked for first.
    fixed: OnceLock<Vec<FixedDefinition>>,
    /// The CapabilityStatement for callers who come without a proxy.
    capabilities: Vec<u8>,
    /// The description of the API, below [`BASE_URL_PLACE`]; made when it is asked for first.
    api_description: OnceLock<String>,
}

impl Service {
    pub fn new(
        engine: Arc<Engine>,
        registry: Registry,
        policy: Policy,
        rulebook: Arc<Rulebook>,
        settings: ServiceSettings,
        clock: Clock,
    ) -> Service {
        let seal = SealKey::new(&engine.origin().seal_key);
        let names = &settings.names;
        let capabilities = capabilities(&names.base_url, names, settings.count, &policy.tokens).to_vec();
        // Half of the processors, so that the other half is free for what is answered at once.
        let heavy_at_once = thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2));
        Service {
            engine,
            registry,
            policy,
            rulebook,
            settings,
            clock,
            seal,
            heavy_turns: Turns::new(heavy_at_once, Duration::from_secs(HEAVY_WAIT_S), Hcert::HeavySearchesFull),
            heavy_rows: HEAVY_ROWS,
            long_turns: Turns::new(LONG_AT_ONCE, Duration::from_secs(HEAVY_WAIT_S), Hcert::LongSearchesFull),
            large_answers: Turns::with_share(
                LARGE_ANSWERS,
                LARGE_ANSWERS_OF_ONE,
                Duration::from_secs(LARGE_WAIT_S),
                Hcert::LargeAnswersFull,
            ),
            large_reads: Turns::new(heavy_at_once, Duration::from_secs(LARGE_WAIT_S), Hcert::LargeAnswersFull),
            documents: Turns::new(heavy_at_once, Duration::from_secs(LARGE_WAIT_S), Hcert::LargeResourcesBusy),
            fixed: OnceLock::new(),
            capabilities,
            api_description: OnceLock::new(),
        }
    }

    /// The engine, for commands that work on all certificates.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The registry, whose samples are added before the first request.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Requests that wait for their turn at this moment: heavy searches, long ones, and large answers.
    pub fn waiting(&self) -> [(&'static str, usize); 3] {
        let waiting = [("heavy", &self.heavy_turns), ("long", &self.long_turns), ("large", &self.large_answers)];
        waiting.map(|(name, turns)| (name, turns.waiting()))
    }

    /// The code lists, for commands that change them.
    pub fn lists(&self) -> &Arc<Lists> {
        self.rulebook.lists()
    }

    /// What certificates are judged by.
    pub fn rulebook(&self) -> &Arc<Rulebook> {
        &self.rulebook
    }

    /// Definitions that are no code lists.
    pub(super) fn fixed(&self) -> &[FixedDefinition] {
        self.fixed.get_or_init(|| fixed(&self.settings.names))
    }

    /// The code lists of this moment.
    pub fn terminology(&self) -> Arc<Terminology> {
        self.rulebook.terminology()
    }

    pub fn settings(&self) -> &ServiceSettings {
        &self.settings
    }

    /// Runs one interaction. All that can wait lie on the heap, so that the way of a read, which is moved along with theirs, is short.
    /// `body` is the request's body, empty when it had none.
    pub async fn run(
        &self,
        interaction: Interaction,
        context: RequestContext,
        body: Vec<u8>,
    ) -> Result<Answer, Outcome> {
        // What only reads may be given up on its way; of a change the body is read again only where it made none, since the event of a
        // change names whom it is about.
        let met = context.met.clone().filter(|_| interaction.row.names && !body.is_empty());
        let (may_change, client) = (interaction.may_change(), context.turn_client());
        if let Some(met) = met.as_ref().filter(|_| !may_change) {
            Box::pin(self.meet_body(client, met, &body)).await;
        }
        let done = self.done(interaction, context, &body).await;
        if let Some(met) = met.filter(|_| may_change && !matches!(&done, Ok(answer) if answer.changed)) {
            Box::pin(self.meet_body(client, &met, &body)).await;
        }
        if let Err(outcome) = &done
            && outcome.leading() == Hcert::StoreDamaged
        {
            self.engine.note_damage(outcome.cause().unwrap_or_default());
        }
        done
    }

    async fn done(
        &self,
        interaction: Interaction,
        mut context: RequestContext,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let takes_search = [InteractionKind::Search, InteractionKind::HistoryInstance, InteractionKind::HistoryType];
        if takes_search.contains(&interaction.row.kind) && context.names_identifier {
            Box::pin(self.meet_named(&context)).await;
        }
        if interaction.row.kind == InteractionKind::Create && context.if_none_exist.is_some() {
            Box::pin(self.meet_condition(&mut context)).await;
        }
        // A document is admitted in the one role that it is asked for.
        if context.identity.is_some() && interaction.row.kind != InteractionKind::Pdf {
            Box::pin(self.admit(&interaction, &mut context)).await?;
        }
        if interaction.may_change() {
            self.check_trail()?;
        }
        let Interaction { row, ref id, ref version, definition } = interaction;
        let nothing = Instance::Unknown(String::new());
        let instance = id.as_ref().unwrap_or(&nothing);
        let list = || id.as_ref().map(ToString::to_string);
        match row.kind {
            InteractionKind::Capabilities => self.capabilities(&context),
            InteractionKind::ApiDescription => Ok(self.api_description(&context)),
            InteractionKind::Create => Box::pin(self.create(&context, body)).await,
            InteractionKind::Pdf => Box::pin(self.pdf(&interaction, context, body)).await,
            InteractionKind::Read => self.read(&context, instance).await,
            InteractionKind::Vread => self.vread(&context, instance, version.as_ref().and_then(PathId::known)).await,
            InteractionKind::Update => Box::pin(self.update(&context, instance, body)).await,
            InteractionKind::Delete => Box::pin(self.delete(context, instance)).await,
            InteractionKind::HistoryInstance => Box::pin(self.history_instance(&context, instance)).await,
            InteractionKind::HistoryType => Box::pin(self.history_type(&context)).await,
            InteractionKind::Search => Box::pin(self.search(&context)).await,
            InteractionKind::Suspend => Box::pin(self.operate(&context, instance, Trigger::Suspend, body)).await,
            InteractionKind::Cancel => Box::pin(self.operate(&context, instance, Trigger::Cancel, body)).await,
            InteractionKind::GetConsent => self.get_consent(&context, instance, body),
            InteractionKind::SetConsent => Box::pin(self.set_consent(&context, instance, body)).await,
            InteractionKind::Validate => Box::pin(self.validate(&context, id.as_ref(), body)).await,
            InteractionKind::PatientRead => {
                Box::pin(self.patient(&context, RegistryRequest::Read(instance.to_string()))).await
            }
            InteractionKind::PatientVread => {
                let version = version.as_ref().map(ToString::to_string).unwrap_or_default();
                Box::pin(self.patient(&context, RegistryRequest::Vread(instance.to_string(), version))).await
            }
            InteractionKind::PatientHistory => {
                let ask = RegistryRequest::History(instance.to_string(), context.parameters.clone());
                Box::pin(self.patient(&context, ask)).await
            }
            InteractionKind::PatientSearch => {
                Box::pin(self.patient(&context, RegistryRequest::Search(Vec::new()))).await
            }
            InteractionKind::AuditRead => Box::pin(self.audit_read(&context, instance.known().map(Id::get))).await,
            InteractionKind::AuditSearch => Box::pin(self.audit_search(&context)).await,
            InteractionKind::ReadDefinition => {
                let kind = definition.ok_or(Hcert::PathUnknown)?;
                Box::pin(self.read_definition(&context, kind, &instance.to_string())).await
            }
            InteractionKind::SearchDefinitions => {
                Box::pin(self.search_definitions(&context, definition.ok_or(Hcert::PathUnknown)?)).await
            }
            InteractionKind::Lookup => self.lookup(&context, list().as_deref(), body),
            InteractionKind::ValidateCode(kind) => self.validate_code(&context, kind, list().as_deref(), body),
            InteractionKind::Expand => Box::pin(self.expand(&context, list().as_deref(), body)).await,
        }
    }

    /// Bytes of the stored certificate that an interaction reads through, beside its body; 0 where it is only copied.
    pub fn stored_bytes(&self, interaction: &Interaction, context: &RequestContext) -> usize {
        let reads = match interaction.row.reads_stored {
            ReadsStored::Never => false,
            ReadsStored::Reduced => context.subset != Subset::All || self.is_shortened(interaction, context),
            ReadsStored::Always => true,
        };
        let Some((id, version)) = interaction.certificate().filter(|_| reads) else { return 0 };
        // What is wrong with the store is reported by the interaction.
        self.engine.read(id, version, |entry| Ok(entry.bytes_max())).ok().flatten().unwrap_or(0)
    }

    /// Whether the caller may be shown less than what is stored.
    fn is_shortened(&self, interaction: &Interaction, context: &RequestContext) -> bool {
        let caller = context.identity.as_ref().zip(interaction.row.permission);
        caller.is_some_and(|(identity, may)| self.policy.permissions.rights(identity.clone()).shortens(may))
    }

    /// `mode` says which statement: `full`, `normative` or `terminology`. FHIR R5 `http.html#capabilities`; Decision 162.
    fn capabilities(&self, context: &RequestContext) -> Result<Answer, Outcome> {
        let names = &self.settings.names;
        let statement = || capabilities(&context.base_url, names, self.settings.count, &self.policy.tokens);
        let mut modes = context.parameters.iter().filter(|(name, _)| name == "mode").map(|(_, mode)| mode.as_str());
        let mode = modes.next().unwrap_or("full");
        if modes.next().is_some() {
            return Err(issue::repeated("mode").into());
        }
        let body = match mode {
            "full" if *context.base_url == *names.base_url => self.capabilities.clone(),
            "full" => statement().to_vec(),
            "normative" => {
                let mut statement = statement();
                if let Json::Object(object) = &mut statement {
                    object.remove("acceptLanguage");
                }
                statement.to_vec()
            }
            "terminology" => terminology_capabilities(&context.base_url, &self.terminology()).to_vec(),
            other => return Err(issue::wrong("mode", other, "full, normative or terminology").into()),
        };
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    /// The description of the API, for the address at which the caller sees it.
    fn api_description(&self, context: &RequestContext) -> Answer {
        let described = self.api_description.get_or_init(|| {
            let (names, count, tokens) = (&self.settings.names, self.settings.count, &self.policy.tokens);
            openapi::description(&ApiSettings { base_url: BASE_URL_PLACE, names, count, tokens }).to_string()
        });
        // A path of X-Road may have a quote, which would end that of a shell in a snippet.
        let base_url = context.base_url.replace('\'', "%27");
        let body = described.replace(BASE_URL_PLACE, &base_url).into_bytes();
        Answer { status: 200, body, ..Answer::default() }
    }

    /// Hands a write over and waits until it is durable. `None`: the certificate moved on; prepare again.
    pub(super) async fn write(
        &self,
        context: &RequestContext,
        write: Write,
    ) -> Result<Option<AcknowledgedChange>, Outcome> {
        match self.engine.append(write).await {
            Ok(Ok(written)) => Ok(Some(written)),
            Ok(Err(RefusedChange::Moved)) => Ok(None),
            Ok(Err(refused)) => Err(refused_to(context, refused)),
            Err(_) => Err(Outcome::from(Hcert::StorageUnavailable).because("the writer gave no answer")),
        }
    }

    /// `{base_url}/Composition/<id>/_history/<version>`
    pub(super) fn version_address(context: &RequestContext, written: &AcknowledgedChange) -> String {
        format!("{}/Composition/{}/_history/{}", context.base_url, written.id, written.version)
    }

    /// The certificate a path names, which must have been assigned.
    pub(super) fn current(&self, instance: &Instance) -> Result<StoredVersion, Outcome> {
        let found = match instance.known() {
            Some(id) => self.engine.read(id, None, |entry| entry.stored()).map_err(unreadable)?,
            None => None,
        };
        found.ok_or_else(|| Outcome::not_found("Composition", instance))
    }

    /// As [`representation`](Self::representation), in the view of a permission.
    pub(super) fn shown_change(
        &self,
        context: &RequestContext,
        may: PermittedAction,
        written: &AcknowledgedChange,
        tail: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Outcome> {
        let resource = self.representation(written, tail)?;
        match self.employer_renderer(context, may, written.id)? {
            Some(renderer) => renderer.of_change(written, resource),
            None => Ok(resource),
        }
    }

    /// The version that a write made, for `return=representation`: out of the bytes that were written, else out of the store, where the
    /// certificate was there already.
    pub(super) fn representation(
        &self,
        written: &AcknowledgedChange,
        tail: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Outcome> {
        let AcknowledgedChange { id, version, stamp, .. } = *written;
        if let Some(tail) = tail.filter(|_| written.changed) {
            let mut resource = Vec::with_capacity(HEAD_BYTES_MAX + tail.len());
            head::write(&mut resource, "Composition", id, version, stamp);
            resource.extend_from_slice(&tail);
            return Ok(resource);
        }
        let found = self.engine.read(id, Some(version), |entry| entry.stored()).map_err(unreadable)?;
        let found = found.ok_or_else(|| Outcome::internal("a version that was acknowledged is not there"))?;
        Ok(found.resource)
    }
}

/// 410 for a deleted certificate.
pub(super) fn deleted(id: Id) -> Outcome {
    Issue::new(Hcert::Deleted).with("id", id.to_string()).into()
}

/// The store cannot be read: not now, or a fault of ours.
pub(super) fn unreadable(error: StoreError) -> Outcome {
    match error {
        StoreError::Reopening | StoreError::Gone | StoreError::Moved => {
            Outcome::from(Hcert::StorageReopening).because(error)
        }
        StoreError::Damaged(_) => Outcome::from(Hcert::StoreDamaged).because(error),
        _ => Outcome::internal(error),
    }
}

/// As [`refusal`], for a caller.
pub(super) fn refused_to(context: &RequestContext, refused: RefusedChange) -> Outcome {
    if let RefusedChange::NumberInUse(id, version) = &refused {
        // The refusal reports the certificate that has the number.
        context.meet(|named| named.certificates.push((*id, Some(*version))));
    }
    refusal(refused)
}

pub(super) fn refusal(refused: RefusedChange) -> Outcome {
    match refused {
        RefusedChange::Rules(outcome) => outcome,
        RefusedChange::NumberInUse(..) => Issue::new(Hcert::NumberInUse).at("Composition.identifier").into(),
        RefusedChange::Clock(problem) => Outcome::from(Hcert::ClockWrong).because(problem),
        RefusedChange::Busy => Hcert::WritesFull.into(),
        RefusedChange::Closed => Hcert::StoppingDown.into(),
        RefusedChange::Store(error) => match *error {
            StoreError::CommitUnknown(_) => Outcome::from(Hcert::CommitUnknown).because(error),
            StoreError::Damaged(_) => Outcome::from(Hcert::StoreDamaged).because(error),
            _ => Outcome::from(Hcert::StorageUnavailable).because(error),
        },
        RefusedChange::Moved => Outcome::internal("a bounced write is prepared again by its interaction"),
    }
}

/// Why a search has no answer, for the caller.
pub(super) fn unsearchable(error: SearchError) -> Outcome {
    match error {
        SearchError::Building { percent } => {
            Issue::new(Hcert::IndexNotReady).with("percent", percent.to_string()).into()
        }
        SearchError::Failed(problem) => Outcome::from(Hcert::SearchFailed).because(problem),
    }
}
