//! Changes of the store as events of the audit trail, which follows them: each is durable with who made it. Contract 7.8.

use std::sync::{Arc, Weak};

use super::audit_record::name_subject;
use crate::audit::{
    self, AuditAction, AuditEvent, AuditTrail, AuthenticationMethod, EventBatch, EventSource, FollowPosition, NamedKeys,
};
use base::number::counted;
use certificate::{Id, Seq, Version};
use engine::{self, ClockEvent, CommittedChange, DAMAGED, Engine, StoreHealth};

/// Changes of a store from before its trail that the trail is given events of. A crash leaves some hundreds at most.
const FOLLOWED_AT_FIRST_MAX: u64 = 10_000;

/// Changes read at once, so that no read transaction grows old.
const CHANGES_AT_ONCE: usize = 1_024;

/// Takes over what the trail lacks: changes that were committed and not followed before a crash. The number of events comes back.
///
/// # Errors
/// The trail knows changes that the store lacks; or why it cannot be done. In words for the person at the terminal.
pub fn catch_up(engine: &Engine, log: &AuditTrail, now: i64) -> Result<u64, String> {
    let (after, stored) = (log.last_change().unwrap_or(Seq(0)), engine.seq());
    if after == Seq(0) && stored > Seq(0) {
        // A store from before its trail, one whose trail was taken away, or a first import that was killed: the trail says so.
        let mut event = AuditEvent::new(AuditAction::AuditRepaired, now);
        let is_long = stored.0 > FOLLOWED_AT_FIRST_MAX;
        let rest = if is_long { "it begins behind them" } else { "their events are written now" };
        event.note = Some(format!("the trail knows no change of the store, which has {stored}: {rest}"));
        event.change = is_long.then_some(stored);
        log.append(&event).map_err(|failing| failing.to_string())?;
    }
    expect_changes(engine, after)?;
    log.catch_up(&StoreEvents { engine, tells_imports: true })
}

/// Whether a store has every change up to the last that its trail names.
///
/// # Errors
/// It lacks some, in words for the person at the terminal.
pub fn expect_changes(engine: &Engine, named: Seq) -> Result<(), String> {
    let stored = engine.seq();
    match named > stored {
        true => Err(format!(
            "{DAMAGED}: the audit trail names change {named}, and the store ends with change {stored}: what was acknowledged is missing, \
             since the end of its journal is damaged or an older store was put back. Put the files back as they were, or `hcert restore`; \
             `hcert audit accept` goes on without these changes"
        )),
        false => Ok(()),
    }
}

/// Makes the trail follow an engine, which it does not keep open.
pub fn follow(engine: &Arc<Engine>, log: &AuditTrail) {
    log.follow_from_now_on(Arc::new(OpenStoreEvents(Arc::downgrade(engine))));
}

/// What a store tells the trail.
struct StoreEvents<'e> {
    engine: &'e Engine,
    /// An import is one event as a whole, which its command writes. One that was cut off left none.
    tells_imports: bool,
}

/// As [`StoreEvents`], while an engine is open; nothing after that.
struct OpenStoreEvents(Weak<Engine>);

impl EventSource for StoreEvents<'_> {
    fn last_change(&self) -> Seq {
        self.engine.seq()
    }

    fn events_after(&self, place: FollowPosition) -> Result<Option<EventBatch>, String> {
        let clock = self.engine.clock_events_after(place.clock);
        let changes =
            self.engine.ledger().changes_after(place.change, CHANGES_AT_ONCE).map_err(|error| error.to_string())?;
        let until = FollowPosition {
            change: changes.last().map_or(place.change, |last| last.seq),
            clock: clock.last().map_or(place.clock, |last| last.number),
        };
        if until == place {
            return Ok(None);
        }
        let mut events: Vec<AuditEvent> = changes.iter().filter_map(event).chain(clock.iter().map(of_clock)).collect();
        let mut imported = changes.iter().filter(|change| change.action == engine::ChangeAction::Import);
        if let Some(last) = imported.next_back().filter(|_| self.tells_imports) {
            let mut event = AuditEvent::of_command(AuditAction::BulkImport, last.at, "hcert import");
            event.note = Some(format!(
                "{} of an import that told no end",
                counted(imported.count() as u64 + 1, "version", "versions")
            ));
            (event.change, event.entry) = (Some(last.seq), Some(last.hash));
            events.push(event);
        }
        Ok(Some(EventBatch { events, until }))
    }
}

impl EventSource for OpenStoreEvents {
    fn last_change(&self) -> Seq {
        self.0.upgrade().map_or(Seq(0), |engine| engine.seq())
    }

    fn events_after(&self, place: FollowPosition) -> Result<Option<EventBatch>, String> {
        let Some(engine) = self.0.upgrade() else { return Ok(None) };
        match (StoreEvents { engine: &engine, tells_imports: false }).events_after(place) {
            // A change that was stored while the service stopped is told at the next start.
            Err(_) if engine.health().store == StoreHealth::Closed => Ok(None),
            told => told,
        }
    }
}

/// The event of a clock that is not believed any more, or is again.
fn of_clock(event: &ClockEvent) -> AuditEvent {
    let (action, note) = match event.problem {
        Some(problem) => (AuditAction::ClockWrong, format!("{problem}; changes are refused")),
        None => (AuditAction::ClockRight, "changes are taken again".to_owned()),
    };
    AuditEvent { note: Some(note), ..AuditEvent::new(action, event.at) }
}

/// The event of a change; nothing for those of an import, which is one event as a whole.
fn event(change: &CommittedChange) -> Option<AuditEvent> {
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
    let method = if more.session.is_some() { AuthenticationMethod::Token } else { AuthenticationMethod::None };
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
    let from = audit::RequestSource {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_lacks_changes_of_its_trail_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(engine::EngineOptions::in_folder(folder.path().to_owned()));
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
        let refused = catch_up(&engine, &log, 2).unwrap_err();
        assert!(refused.contains("names change 10, and the store ends with change 0"), "{refused}");
    }
}
