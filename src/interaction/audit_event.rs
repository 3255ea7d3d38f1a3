//! `/AuditEvent`: who saw and did what. Contract 7.8.
//!
//! A search goes through the trail's indexes on a thread of its own, in a long search's turn; files outside of the time asked for are not
//! opened. Whether the caller may ask at all is judged in `rights` before (hcert.audit.read).

mod filters;

use std::borrow::Cow;
use std::sync::Arc;

use super::Answer;
use super::context::{RequestContext, Subset};
use super::named_keys::{CertificatePatients, names_of_person};
use super::page::within;
use super::read::reduced;
use super::service::{Service, unreadable as unreadable_store};
use crate::audit::{self, AuditEvent, AuditTrail, EventOrder, Number};
use crate::config::limits::AUDIT_PAGE_BYTES_MAX;
use base::pause;
use certificate::search::issue;
use certificate::search::request::SearchRequest;
use fhir::outcome::{Hcert, Issue, Outcome};
use filters::AuditFilters;
pub(super) use filters::PARAMETERS;

impl Service {
    pub(super) async fn audit_read(&self, context: &RequestContext, number: Option<u64>) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("AuditEvent", number.map(|number| number.to_string()).unwrap_or_default());
        let log = self.log()?;
        let number = Number(number.ok_or_else(missing)?);
        if number > log.head().number {
            return Err(missing());
        }
        let trail = log.clone();
        let found = self.long(context.turn_client(), move || find(&log, number)).await??;
        if found.is_none() && trail.should_hold(number).map_err(unreadable)? {
            // What cannot be read is not what never was.
            trail.doubt(&format!("event {} cannot be read", number.0));
            return Err(Hcert::AuditUnavailable.into());
        }
        if context.subset == Subset::Count {
            return Err(issue::wrong("_summary", "count", "true, text, data or false on a read").into());
        }
        let event = found.ok_or_else(missing)?;
        // Whom the event is about is shown with it.
        context.meet(|named| {
            named.patients.clone_from(&event.patients);
            named.identifiers.clone_from(&event.identifiers);
            named.certificates = event.entities.iter().chain(&event.absent).copied().collect();
        });
        let body = audit::resource(number, &event, &self.settings.names);
        Ok(Answer { status: 200, body: reduced(body, &context.subset), ..Answer::default() })
    }

    pub(super) async fn audit_search(&self, context: &RequestContext) -> Result<Answer, Outcome> {
        let settings = self.search_settings(context);
        let mut filters = AuditFilters::new(&settings);
        let request = SearchRequest::read(&context.parameters, &settings, &mut filters)?;
        let AuditFilters { mut wanted, order, .. } = filters;
        let log = self.log()?;
        for any in &mut wanted.patients {
            let known = any.iter().map(|asked| names_of_person(&self.engine, asked, &self.settings.names));
            *any = known.collect::<Result<Vec<_>, _>>().map_err(unreadable_store)?.concat();
        }
        let (count, skipped) = (request.count(), request.skipped());
        let engine = self.engine.clone();
        let worked = self.long(context.turn_client(), move || {
            let mut patients = CertificatePatients::new(&engine);
            let mut patient_of = |id, version| patients.of(id, version);
            let rows = skipped..skipped + u64::from(count);
            let page = log.search(&wanted, order).and_then(|search| search.page(rows, &mut patient_of));
            let page = page.map_err(unreadable)?;
            let shown = patients.of_events(page.events.iter().map(|(_, event)| event));
            Ok::<_, Outcome>((page, shown, patients.damage().map(str::to_owned)))
        });
        let (audit::EventPage { total, events }, shown, unread) = worked.await??;
        context.meet(|named| named.persons(&shown.patients, &shown.identifiers, usize::MAX));
        let names = &self.settings.names;
        let found = events
            .iter()
            .map(|(number, event)| (number.0.to_string(), Cow::Owned(audit::resource(*number, event, names))));
        let damage = self.log()?.damage().or(unread);
        let damage = damage.map(|problem| Issue::new(Hcert::AuditIncomplete).with("problem", problem));
        let body = self.searchset(context, "AuditEvent", &request, total, found, Vec::from_iter(damage))?;
        within(body.len(), AUDIT_PAGE_BYTES_MAX)?;
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    fn log(&self) -> Result<Arc<AuditTrail>, Outcome> {
        self.policy.audit.clone().ok_or_else(|| Outcome::from(Hcert::AuditUnavailable))
    }
}

fn find(log: &AuditTrail, number: Number) -> Result<Option<AuditEvent>, Outcome> {
    let mut trail = log.trail().map_err(unreadable)?;
    // Numbers grow from file to file, so one of them holds it.
    let starts = |part: &audit::TrailFile| part.header.is_some_and(|header| header.before.0 < number);
    let at = trail.parts.iter().rposition(starts).unwrap_or(0);
    trail.parts = trail.parts.into_iter().skip(at).take(1).collect();
    for event in trail.events(EventOrder::OldestFirst, i64::MIN..=i64::MAX) {
        let (found, event) = event.map_err(unreadable)?;
        pause::at(found.0);
        if found == number {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

fn unreadable(error: std::io::Error) -> Outcome {
    Outcome::from(Hcert::AuditUnavailable).because(error)
}
