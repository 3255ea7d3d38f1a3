//! What is written down of every request in the audit trail: one event each, before its answer leaves. Contract 7.8.
//!
//! A change is told by the writer, between its commit and its answer; everything else, refusals too, is told here.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::named::NameReader;
use super::{Answer, Interaction, Service, ShownVersions};
use crate::audit::{self, AuditAction, AuditEvent, AuditTrail, Entity, Method, NamedCollector, NamedKeys, SET_BACK};
use base::log::event;
use certificate::search::Hit;
use certificate::search::limits::SEARCH_VALUES_MAX;
use certificate::{Id, Seq, Version};
use engine::{self, ClockEvent, CommittedChange, Engine, StoreError, VersionSubject, Witness};
use fhir::json;
use fhir::outcome::{Hcert, Outcome};

/// Names of a kind in the event of a request that came without a token, or was refused for it. What means something names one or two; more of them would
/// make searches by person slow, and cost who sends them nothing.
const AUDIT_NAMED_BY_NOBODY_MAX: usize = 16;

impl Service {
    /// Whether an audit trail is kept.
    pub fn keeps_trail(&self) -> bool {
        self.policy.audit.is_some()
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

    /// Whom the parameters of a request name, those of its sealed links too where they are opened for this person.
    pub fn named(&self, interaction: &Interaction, parameters: &[(String, String)], person: Option<&str>) -> NamedKeys {
        let mut named = NamedKeys::default();
        self.reader().parameters(interaction, parameters, &mut named);
        for (_, token) in parameters.iter().filter(|(name, _)| name == "_query") {
            if let Ok(opened) = self.seal.open(token, person.unwrap_or_default(), (self.clock)()) {
                self.reader().parameters(interaction, &opened, &mut named);
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
            Ok(answer) if answer.witnessed => return Ok(()),
            Ok(answer) => {
                event.status = answer.status;
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
        self.name_by_now(&mut event);
        self.append(event)
    }

    /// A certificate that is named in no version stands for the patient of its first one; a draft may have been moved to another since.
    fn name_by_now(&self, event: &mut AuditEvent) {
        // What names more is refused, and shows none of them. What was refused showed no version, whichever it asked for.
        let is_asked = |(_, version): &&Entity| version.is_none() || event.is_refused();
        let asked = event.entities.iter().filter(is_asked).take(SEARCH_VALUES_MAX);
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
fn patients(body: &[u8]) -> Vec<String> {
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

/// Writes changes into the trail that it does not have: a crash may come between a change and its event. Their number comes back.
///
/// # Errors
/// Why that cannot be done, in words for the person at the terminal.
pub fn complete(engine: &Engine, log: &AuditTrail, now: i64) -> Result<u64, String> {
    let mut after = log.last_change().unwrap_or(Seq(0));
    let mut completed = 0;
    let stored = engine.seq();
    if after == Seq(0) && stored > Seq(0) {
        // A store from before its trail, one whose trail was taken away, or a first import that was killed: the trail says so.
        let mut event = AuditEvent::new(AuditAction::AuditRepaired, now);
        let is_long = stored.0 > REBUILT_MAX;
        let rest = if is_long { "it begins behind them" } else { "their events are rebuilt" };
        event.note = Some(format!("the trail knows none of the {stored} changes of the store: {rest}"));
        event.change = is_long.then_some(stored);
        log.append(&event).map_err(|failing| failing.to_string())?;
        if is_long {
            return Ok(0);
        }
    }
    if after > stored {
        // The store was set back: by a restore that was cut off before it could say so, or by hand.
        let mut event = AuditEvent::new(AuditAction::Restore, now);
        let note = format!("the trail knows {after} changes, the store has {stored}: {SET_BACK}");
        log.doubt(&note);
        event.note = Some(note);
        event.change = Some(stored);
        log.append(&event).and_then(|_| log.sync_now()).map_err(|failing| failing.to_string())?;
        after = stored;
        completed += 1;
    }
    loop {
        let changes = engine.ledger().changes_after(after, CHANGES_AT_ONCE).map_err(|error| error.to_string())?;
        let Some(last) = changes.last() else { return Ok(completed) };
        after = last.seq;
        let mut events: Vec<AuditEvent> = changes.iter().filter_map(event).collect();
        // An import is one event as a whole; one that was cut off left none.
        let mut imported = changes.iter().filter(|change| change.action == engine::ChangeAction::Import);
        if let Some(last) = imported.next_back() {
            let mut event = AuditEvent::of_command(AuditAction::BulkImport, now, "hcert import");
            event.note = Some(format!("{} versions of an import that told no end", imported.count() + 1));
            (event.change, event.entry) = (Some(last.seq), Some(last.hash));
            events.push(event);
        }
        completed += log.complete(events.into_iter()).map_err(|failing| failing.to_string())?;
    }
}

/// Changes that a new trail is given events of. A crash leaves some hundreds at most.
const REBUILT_MAX: u64 = 10_000;

/// Changes read at once when the trail is completed, so that no read transaction grows old.
const CHANGES_AT_ONCE: usize = 1_024;

/// Tells the trail of changes. The engine is opened before the trail, whose folder only the engine's lock makes ours; there are no changes
/// until then.
#[derive(Default)]
pub struct Witnessing {
    log: OnceLock<Arc<AuditTrail>>,
    /// What the trail did not take. It comes before anything newer, so that whatever a stop leaves here is behind the trail's last change,
    /// and the next start writes it from the store.
    waiting: Mutex<Vec<AuditEvent>>,
}

/// Events of changes that are handed over at once; together they stay far below what the trail takes.
const EVENTS_AT_ONCE: usize = 1_024;

impl Witnessing {
    /// From now on changes go there.
    pub fn tell(&self, log: Arc<AuditTrail>) {
        // A second trail would be a fault of whoever opens; the first stays.
        let _ = self.log.set(log);
        self.write(Vec::new());
    }

    /// Hands events over behind those that wait.
    fn write(&self, events: Vec<AuditEvent>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(events);
        let Some(log) = self.log.get() else { return };
        if let Err(failing) = deliver(&mut waiting, |events| log.append_all(events)) {
            // They are durable with the change itself.
            event!(AUDIT_WAITS, cause = %failing, changes = waiting.len());
        }
    }
}

impl Witness for Witnessing {
    fn committed(&self, changes: &[CommittedChange]) {
        self.write(changes.iter().filter_map(event).collect());
    }

    fn clock(&self, event: &ClockEvent) {
        let (action, note) = match event.problem {
            Some(problem) => (AuditAction::ClockWrong, format!("{problem}; changes are refused")),
            None => (AuditAction::ClockRight, "changes are taken again".to_owned()),
        };
        let mut told = AuditEvent::new(action, event.at);
        told.note = Some(note);
        self.write(vec![told]);
    }
}

/// Hands events over in their order until one part is not taken; what was not taken stays.
fn deliver<T, E>(
    waiting: &mut Vec<AuditEvent>,
    mut append: impl FnMut(&[AuditEvent]) -> Result<T, E>,
) -> Result<(), E> {
    while !waiting.is_empty() {
        let part = waiting.len().min(EVENTS_AT_ONCE);
        append(&waiting[..part])?;
        waiting.drain(..part);
    }
    Ok(())
}

/// The event of a change; nothing for those of an import, which is one event as a whole.
pub fn event(change: &CommittedChange) -> Option<AuditEvent> {
    let (action, status) = match change.action {
        engine::ChangeAction::Create => (AuditAction::CompositionCreate, 201),
        engine::ChangeAction::Update => (AuditAction::CompositionUpdate, 200),
        engine::ChangeAction::Suspend => (AuditAction::CompositionSuspend, 200),
        engine::ChangeAction::Cancel => (AuditAction::CompositionCancel, 200),
        engine::ChangeAction::Delete => (AuditAction::CompositionDelete, 204),
        engine::ChangeAction::Consent => (AuditAction::ConsentSet, 200),
        engine::ChangeAction::Import => return None,
    };
    let who = &change.who;
    let more = who.particulars.as_deref().cloned().unwrap_or_default();
    let method = if more.session.is_some() { Method::Token } else { Method::None };
    let caller = audit::EventAgent {
        person: who.person.clone(),
        given_name: more.given_name,
        family_name: more.family_name,
        roles: who.role.iter().flat_map(|roles| roles.split(' ')).map(str::to_owned).collect(),
        organization: who.organization.clone(),
        represented_party: more.represented_party,
        application: more.application,
        session: more.session,
        operator: None,
    };
    let from = audit::From {
        ip: more.address,
        x_road_client: more.x_road_client,
        x_road_id: who.x_road_id.clone(),
        x_road_issue: more.x_road_issue,
        x_road_user: more.x_road_userid,
        x_road_dropped: more.x_road_dropped,
    };
    let facts = audit::ChangeFacts {
        seq: change.seq,
        hash: change.hash,
        action,
        id: change.id,
        version: Some(change.version),
        patient: change.patient.clone(),
        at: change.at,
        status,
    };
    let mut event = AuditEvent::of_change(facts, caller, from, method, who.trace.clone().unwrap_or_default());
    event.query = more.condition;
    if let Some(identifier) = more.condition_identifier {
        let certificates = more.condition_certificates.as_deref().unwrap_or_default().split(' ');
        let certificates = certificates.filter_map(|text| text.split_once('/'));
        let certificates =
            certificates.filter_map(|(id, version)| Some((Id::parse(id)?, Some(Version::parse(version)?))));
        let certificates = certificates.collect();
        event.name(NamedKeys { identifiers: vec![identifier], certificates, ..NamedKeys::default() });
    }
    if let Some(before) = &change.moved_from {
        // The version that the event shows is about somebody else, so their identifiers stand in the event itself.
        let mut named = NamedKeys::default();
        name_subject(&mut named, before);
        event.name(named);
    }
    Some(event)
}

/// Names a patient by the registry's id and by every identifier.
fn name_subject(named: &mut NamedKeys, subject: &VersionSubject) {
    named.patient(&subject.id);
    subject.identifiers.iter().for_each(|(system, value)| named.identifier(Some(system), value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_trail_did_not_take_comes_before_anything_newer() {
        let at = |events: &[AuditEvent]| events.iter().map(|event| event.at).collect::<Vec<_>>();
        let mut waiting: Vec<AuditEvent> =
            (0..3).map(|at| AuditEvent::new(AuditAction::CompositionCreate, at)).collect();
        assert!(deliver(&mut waiting, |_| Err::<(), _>("no room")).is_err());
        assert_eq!(at(&waiting), [0, 1, 2]);
        waiting.extend((3..3_000).map(|at| AuditEvent::new(AuditAction::CompositionCreate, at)));
        let mut taken = Vec::new();
        let mut turns = 0;
        let half = deliver(&mut waiting, |events| {
            turns += 1;
            if turns == 2 {
                return Err("no room");
            }
            taken.extend(at(events));
            Ok(())
        });
        assert!(half.is_err());
        deliver(&mut waiting, |events| {
            taken.extend(at(events));
            Ok::<_, ()>(())
        })
        .unwrap();
        assert!(waiting.is_empty());
        assert_eq!(taken, (0..3_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_trail_that_knows_more_changes_than_the_store_is_told_where_the_store_stands() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(engine::EngineOptions {
            folder: folder.path().to_owned(),
            cache_bytes: 8 << 20,
            quick_repair: engine::QuickRepair::Auto,
            purpose: None,
            names: engine::FolderNames::default(),
            unique_number: false,
            witness: None,
            metrics: base::metrics::Metrics::new(),
            clock: engine::system_clock(),
            elapsed: engine::elapsed_clock(),
        });
        let engine = engine.unwrap();
        let log = AuditTrail::open(audit::TrailOptions {
            folder: folder.path().to_owned(),
            file_bytes: 64 * 1024,
            keep_from: Arc::new(|| None),
            clock: engine::system_clock(),
        });
        let log = log.unwrap();
        let mut later = AuditEvent::new(AuditAction::CompositionCreate, 1);
        later.change = Some(Seq(10));
        log.append(&later).unwrap();
        // Without it, a crash behind the first new change would lose its event: the trail would think that it has it.
        assert_eq!(complete(&engine, &log, 2), Ok(1));
        assert_eq!(log.last_change(), None);
        assert_eq!(complete(&engine, &log, 3), Ok(0));
    }
}
