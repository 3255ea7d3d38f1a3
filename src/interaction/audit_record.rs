//! What is written down of every request in the audit trail: one event each, before its answer leaves. Contract 7.8.
//!
//! The trail takes changes over from the store; everything else, refusals too, is told here.

use super::named_keys::NameReader;
use super::{Answer, Interaction, InteractionKind, Service, ShownVersions};
use crate::audit::{self, AuditAction, AuditEvent, Entity, NamedCollector, NamedKeys};
use certificate::search::Hit;
use certificate::search::limits::SEARCH_VALUES_MAX;
use certificate::{Id, Version};
use engine::{Engine, StoreError, VersionSubject};
use fhir::json;
use fhir::outcome::{Hcert, Outcome};

/// Names of a kind in the event of a request that came without a token, or was refused for it. What means something names one or two; more of them would
/// make searches by person slow, and cost who sends them nothing.
const AUDIT_NAMED_BY_NOBODY_MAX: usize = 16;

/// Certificates that a refused request named of which the patient is looked up when its event is written, in case that a draft was moved to
/// another patient since its first version. All others are found by the patient of their first version.
const AUDIT_LOOKED_UP_OF_REFUSED_MAX: usize = 64;

impl Service {
    /// Whether an audit trail is kept.
    pub fn keeps_trail(&self) -> bool {
        self.policy.audit.is_some()
    }

    /// Whether so many events wait for the disk that those who make long ones should wait.
    pub fn is_trail_behind(&self) -> bool {
        self.policy.audit.as_ref().is_some_and(|log| log.is_behind())
    }

    /// The event of a request, as its path tells it; nothing where none is kept: without a trail, and of what anyone may know, the
    /// CapabilityStatement. `None` is a request that leads nowhere.
    pub fn event(&self, interaction: Option<&Interaction>) -> Option<AuditEvent> {
        self.policy.audit.as_ref()?;
        let action = interaction.map_or(Some(AuditAction::Unknown), |interaction| interaction.row.action);
        let mut event = AuditEvent::new(action?, 0);
        event.entities = Vec::from_iter(interaction.and_then(Interaction::certificate));
        if let Some(interaction) = interaction.filter(|interaction| interaction.row.asks_registry) {
            event.patients = Vec::from_iter(interaction.id.as_ref().map(ToString::to_string));
        }
        Some(event)
    }

    /// Whom the parameters of a request name, and those that its sealed links hide, also where they do not open for this caller.
    pub fn named(&self, interaction: &Interaction, parameters: &[(String, String)]) -> NamedKeys {
        let mut named = NamedKeys::default();
        self.reader().parameters(interaction.kind(), parameters, &mut named);
        for (_, token) in parameters.iter().filter(|(name, _)| name == "_query") {
            if let Some(sealed) = self.seal.read(token) {
                let kind = match sealed.resource_type.as_str() {
                    "Patient" => InteractionKind::PatientSearch,
                    "AuditEvent" => InteractionKind::AuditSearch,
                    _ => InteractionKind::Search,
                };
                self.reader().parameters(kind, &sealed.parameters, &mut named);
            }
        }
        named
    }

    /// Reads whom requests name.
    pub(super) fn reader(&self) -> NameReader<'_> {
        let external_reference_system = &self.settings.external_reference_system;
        NameReader { names: &self.settings.names, external_reference_system }
    }

    /// Writes the event of a request down, with what became of it and whom the interaction named. What was changed is in the trail already.
    ///
    /// # Errors
    /// 503: the trail takes nothing, so nothing may be shown.
    pub fn end(
        &self,
        mut event: AuditEvent,
        met: Option<NamedCollector>,
        result: &Result<Answer, Outcome>,
    ) -> Result<(), Outcome> {
        match result {
            Ok(answer) if answer.changed => {
                // Its event is durable with the change, and in the trail before whoever was answered can ask for it.
                drop(self.policy.audit.as_ref().map(|log| log.follow()));
                return Ok(());
            }
            Ok(answer) => {
                event.status = answer.status;
                // What was there already was shown, and not made.
                if event.action == AuditAction::CompositionCreate {
                    event.action = AuditAction::CompositionRead;
                }
                if let Some(file) = answer.file.as_ref().filter(|_| event.who.person.is_some()) {
                    event.who.roles = vec![file.role.clone()];
                }
                match &answer.shown {
                    ShownVersions::Nothing => {}
                    ShownVersions::One(hit) => show(&mut event, vec![entity(*hit)]),
                    ShownVersions::Many(hits) => show(&mut event, hits.iter().copied().map(entity).collect()),
                    ShownVersions::Patients => {
                        event.name(NamedKeys { patients: patients(&answer.body), ..NamedKeys::default() });
                    }
                }
            }
            Err(outcome) => {
                event.status = outcome.status();
                event.code = Some(outcome.leading_code().to_owned());
                if outcome.leading() == Hcert::TokenRefused {
                    // Whoever looks for break-ins looks for these; what was asked for stands in the event as far as its path told.
                    event.action = AuditAction::TokenRefused;
                    event.reason = outcome.cause().map(str::to_owned);
                }
            }
        }
        if let Some(met) = met {
            event.name(met.take());
        }
        // Nobody was told anything, and whoever likes can ask so.
        if event.status == 401 {
            event.cut(AUDIT_NAMED_BY_NOBODY_MAX);
        }
        self.set_aside_absent(&mut event);
        self.name_by_now(&mut event);
        self.append(event)
    }

    /// What was asked for and is not there is about nobody, also when a certificate gets that id later; each search by patient would look for
    /// it again.
    fn set_aside_absent(&self, event: &mut AuditEvent) {
        let is_refused = event.is_refused();
        // A read error leaves it where it is: whose it is may be known later.
        let is_absent = |(id, version): &Entity| {
            (version.is_none() || is_refused) && matches!(self.engine.read(*id, None, |_| Ok(())), Ok(None))
        };
        (event.absent, event.entities) = std::mem::take(&mut event.entities).into_iter().partition(is_absent);
    }

    /// A certificate that is named in no version stands for the patient of its first one; a draft may have been moved to another since.
    fn name_by_now(&self, event: &mut AuditEvent) {
        // What names more is refused, and shows none of them. What was refused showed no version, whichever it asked for.
        let is_asked = |(_, version): &&Entity| version.is_none() || event.is_refused();
        let max = if event.is_refused() { AUDIT_LOOKED_UP_OF_REFUSED_MAX } else { SEARCH_VALUES_MAX };
        let asked = event.entities.iter().filter(is_asked).take(max);
        let mut named = NamedKeys::default();
        for (id, _) in asked {
            // A read error is reported by the request that needs the version.
            if let Ok(Some(subject)) = moved_to(&self.engine, *id) {
                name_subject(&mut named, &subject);
            }
        }
        event.name(named);
    }

    fn append(&self, mut event: AuditEvent) -> Result<(), Outcome> {
        let Some(log) = &self.policy.audit else { return Ok(()) };
        event.at = (self.clock)();
        log.append(&event).map(drop).map_err(|failing| Outcome::from(Hcert::AuditUnavailable).because(failing))
    }

    /// Whether a change can be written down; asked before it is made.
    ///
    /// # Errors
    /// 503
    pub(super) fn check_trail(&self) -> Result<(), Outcome> {
        match self.policy.audit.as_ref().map(|log| log.state()) {
            Some(audit::TrailState::Failing(cause)) => Err(Outcome::from(Hcert::AuditUnavailable).because(cause)),
            _ => Ok(()),
        }
    }
}

/// The patient that a certificate is about now, where its first version was about another one: a draft was moved.
fn moved_to(engine: &Engine, id: Id) -> Result<Option<VersionSubject>, StoreError> {
    let moved = engine.read(id, None, |newest| {
        if newest.version() == Version::FIRST {
            return Ok(None);
        }
        let first = newest.read(Some(Version::FIRST), |first| first.patient())?.flatten();
        Ok(newest.patient()?.filter(|now| first.is_none_or(|first| first.id != now.id)))
    });
    Ok(moved?.flatten())
}

/// Puts what was shown before what was only asked for.
fn show(event: &mut AuditEvent, shown: Vec<Entity>) {
    let asked = std::mem::replace(&mut event.entities, shown);
    event.name(NamedKeys { certificates: asked, ..NamedKeys::default() });
}

fn entity(hit: Hit) -> Entity {
    (hit.id, Some(hit.version))
}

/// Ids of the patients in an answer of the registry: a Patient, or a Bundle of them.
pub(super) fn patients(body: &[u8]) -> Vec<String> {
    if body.is_empty() {
        return Vec::new();
    }
    let told = json::parse_stored(body);
    let single = told.text("id").filter(|_| told.text("resourceType") == Some("Patient"));
    let entries = told.items("entry").iter().filter_map(|entry| entry.get("resource")?.text("id"));
    let mut ids: Vec<String> = single.into_iter().chain(entries).map(str::to_owned).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Names a patient by the registry's id and by every identifier.
pub(super) fn name_subject(named: &mut NamedKeys, subject: &VersionSubject) {
    named.patient(&subject.id);
    subject.identifiers.iter().for_each(|(system, value)| named.identifier(Some(system), value));
}
