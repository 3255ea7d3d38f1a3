//! `/AuditEvent`: who saw and did what. Contract 7.8.
//!
//! A search reads the trail from its end on a thread of its own, in a heavy search's turn; files outside of the time asked for are not
//! opened. Whether the caller may ask at all is judged in `rights` before (hcert.audit.read).

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::Answer;
use super::context::{Context, Subset};
use super::page::within;
use super::read::reduced;
use super::service::Service;
use crate::audit::{self, Action, Entity, Event, Log, Number, Order, Wanted};
use crate::certificate::{Id, Version};
use crate::fhir::bundle::Bundle;
use crate::fhir::date_time;
use crate::limits::{AUDIT_PATIENTS_CACHED_MAX, BODY_ISSUES_MAX};
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::paging::Paging;
use crate::search::parameter::SHAPING;
use crate::search::{issue, link};

const PARAMETERS: [&str; 6] = ["entity", "patient", "agent", "action", "outcome", "date"];

/// What a page needs: how many events there are, and those of the page.
struct Found {
    total: u64,
    events: Vec<(Number, Event)>,
}

impl Service {
    pub(super) async fn audit_read(&self, context: &Context, number: Option<u64>) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("AuditEvent", number.map(|number| number.to_string()).unwrap_or_default());
        let log = self.log()?;
        let number = Number(number.ok_or_else(missing)?);
        if number > log.head().number {
            return Err(missing());
        }
        let found = self.heavy(move || find(&log, number)).await??;
        if context.subset == Subset::Count {
            return Err(issue::wrong("_summary", "count", "true, text, data or false on a read").into());
        }
        let event = found.ok_or_else(missing)?;
        let body = audit::resource(number, &event, &self.settings.names);
        Ok(Answer { status: 200, body: reduced(body, &context.subset), ..Answer::default() })
    }

    pub(super) async fn audit_search(&self, context: &Context) -> Result<Answer, Outcome> {
        let search = Search::read(context)?;
        let log = self.log()?;
        let count = if context.subset == Subset::Count { 0 } else { search.paging.count(self.settings.count) };
        let page = search.paging.page();
        let skipped = (page - 1).saturating_mul(u64::from(count));
        let (wanted, order) = (search.wanted, search.order);
        let engine = self.engine.clone();
        let worked = self.heavy(move || {
            let mut known = HashMap::new();
            let mut patient_of = |id: Id, version: Version| -> Option<String> {
                if known.len() >= AUDIT_PATIENTS_CACHED_MAX {
                    known.clear();
                }
                let found = || engine.subject(id, version).ok().flatten().map(|subject| subject.id);
                known.entry((id, version)).or_insert_with(found).clone()
            };
            collect(&log, &wanted, order, skipped..=skipped + u64::from(count), &mut patient_of)
        });
        let Found { total, events } = worked.await??;
        let address = format!("{}/AuditEvent", context.base_url);
        let used = count.to_string();
        let sent = search.sent.iter().map(|(name, value)| match name.as_str() {
            "_count" if search.paging.is_cut(self.settings.count) => (name.as_str(), used.as_str()),
            _ => (name.as_str(), value.as_str()),
        });
        let links = link::pages(&address, &link::encode(sent), page, count, total);
        let mut bundle = Bundle::searchset(total, &links, events.len() * 2_048);
        for (number, event) in &events {
            let relative = format!("AuditEvent/{}", number.0);
            let full_url = match self.settings.full_url_absolute {
                true => format!("{}/{relative}", context.base_url),
                false => relative,
            };
            let resource = audit::resource(*number, event, &self.settings.names);
            bundle.found(&full_url, &reduced(resource, &context.subset));
            within(bundle.bytes())?;
        }
        if !search.ignored.is_empty() {
            let warnings = search.ignored.iter().map(|name| issue::ignored(name)).collect();
            bundle.outcome(&self.warning(context, warnings, Vec::new()));
        }
        Ok(Answer { status: 200, body: bundle.finish(), ..Answer::default() })
    }

    fn log(&self) -> Result<Arc<Log>, Outcome> {
        self.policy.audit.clone().ok_or_else(|| Outcome::from(Hcert::AuditUnavailable))
    }
}

fn find(log: &Log, number: Number) -> Result<Option<Event>, Outcome> {
    let mut trail = log.trail().map_err(unreadable)?;
    // Numbers grow from file to file, so one of them holds it.
    let starts = |part: &audit::Part| part.header.is_some_and(|header| header.before.0 < number);
    let at = trail.parts.iter().rposition(starts).unwrap_or(0);
    trail.parts = trail.parts.into_iter().skip(at).take(1).collect();
    for event in trail.events(Order::OldestFirst, i64::MIN..=i64::MAX) {
        let (found, event) = event.map_err(unreadable)?;
        if found == number {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// `rows` are the first row of the page and the one behind its last.
fn collect(
    log: &Log,
    wanted: &Wanted,
    order: Order,
    rows: RangeInclusive<u64>,
    patient_of: audit::PatientOf,
) -> Result<Found, Outcome> {
    let mut found = Found { total: 0, events: Vec::new() };
    for event in log.trail().map_err(unreadable)?.events(order, wanted.span()) {
        let (number, event) = event.map_err(unreadable)?;
        if wanted.matches(&event, patient_of) {
            if (*rows.start()..*rows.end()).contains(&found.total) {
                found.events.push((number, event));
            }
            found.total += 1;
        }
    }
    Ok(found)
}

fn unreadable(error: std::io::Error) -> Outcome {
    Outcome::from(Hcert::AuditUnavailable).because(error)
}

/// A search as it was asked.
struct Search {
    wanted: Wanted,
    order: Order,
    paging: Paging,
    /// What links repeat.
    sent: Vec<(String, String)>,
    ignored: Vec<String>,
}

impl Search {
    fn read(context: &Context) -> Result<Search, Outcome> {
        let mut search = Search {
            wanted: Wanted::default(),
            order: Order::NewestFirst,
            paging: Paging::default(),
            sent: Vec::new(),
            ignored: Vec::new(),
        };
        let mut issues = Vec::new();
        for (name, value) in &context.parameters {
            match search.take(name, value) {
                Ok(true) if name != "_page" => search.sent.push((name.clone(), value.clone())),
                Ok(true) => {}
                Ok(false) if SHAPING.contains(&name.as_str()) => search.sent.push((name.clone(), value.clone())),
                Ok(false) if context.prefer.lenient => search.ignored.push(name.clone()),
                Ok(false) => issues.push(issue::unknown(name, known_names())),
                Err(issue) => issues.push(issue),
            }
        }
        issues.truncate(BODY_ISSUES_MAX);
        if issues.is_empty() { Ok(search) } else { Err(issues.into()) }
    }

    /// False for a parameter that is none of ours.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, Issue> {
        let wanted = &mut self.wanted;
        match name {
            "entity" => wanted.entities.push(each(name, value, "Composition/1", entity)?),
            "patient" => wanted.patients.push(each(name, value, "Patient/200", patient)?),
            "agent" => {
                wanted.agents.push(each(name, value, "a personal code or a role", |text| Some(text.to_owned()))?);
            }
            "action" => wanted.actions.push(each(name, value, "an action such as composition.read", Action::parse)?),
            "outcome" => wanted.outcomes.push(each(name, value, "success, refused, a status or a code", result)?),
            "date" => wanted.times.push(times(name, value)?),
            "_sort" => {
                self.order = match value {
                    "date" => Order::OldestFirst,
                    "-date" => Order::NewestFirst,
                    _ => return Err(issue::wrong(name, value, "date or -date")),
                };
            }
            _ => return self.paging.take(name, value),
        }
        Ok(true)
    }
}

/// The values of a parameter, one of which an event has to have.
fn each<T>(name: &str, value: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Issue> {
    let wrong = |part: &str| issue::wrong(name, part, expected);
    value.split(',').map(|part| read(part).filter(|_| !part.is_empty()).ok_or_else(|| wrong(part))).collect()
}

/// `Composition/1`, `Composition/1/_history/2`
fn entity(text: &str) -> Option<Entity> {
    let rest = text.strip_prefix("Composition/")?;
    Some(match rest.split_once("/_history/") {
        Some((id, version)) => (Id::parse(id)?, Some(Version::parse(version)?)),
        None => (Id::parse(rest)?, None),
    })
}

/// `Patient/200`, or the id alone.
fn patient(text: &str) -> Option<String> {
    let id = text.strip_prefix("Patient/").unwrap_or(text);
    (!id.is_empty() && !id.contains('/')).then(|| id.to_owned())
}

fn result(text: &str) -> Option<audit::Result> {
    Some(match text {
        "success" => audit::Result::Status(0..=399),
        "refused" => audit::Result::Status(400..=599),
        _ if text.starts_with("HCERT-") => audit::Result::Code(text.to_owned()),
        _ => {
            let status = text.parse().ok().filter(|status| (100..=599).contains(status))?;
            audit::Result::Status(status..=status)
        }
    })
}

/// A date with a prefix, as a span of time.
fn times(name: &str, text: &str) -> Result<RangeInclusive<i64>, Issue> {
    let wrong = || issue::wrong(name, text, "a date with eq, gt, ge, lt, le, sa or eb");
    let has_prefix = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let (prefix, value) = if has_prefix { text.split_at_checked(2).ok_or_else(wrong)? } else { ("eq", text) };
    // A `+` that was not escaped in an address arrives as a blank.
    let value = value.replacen(' ', "+", 1);
    let span = date_time::search_span(&value).map_err(|_| wrong())?;
    Ok(match prefix {
        "eq" => span.low..=span.high,
        "ge" => span.low..=i64::MAX,
        "gt" | "sa" => span.high.saturating_add(1)..=i64::MAX,
        "le" => i64::MIN..=span.high,
        "lt" | "eb" => i64::MIN..=span.low.saturating_sub(1),
        _ => return Err(wrong()),
    })
}

fn known_names() -> String {
    let paging = ["_sort", "_count", "_page"];
    PARAMETERS.iter().chain(&paging).chain(SHAPING).copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(parameters: &[(&str, &str)]) -> Result<Search, Hcert> {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Search::read(&Context { parameters, ..Context::default() }).map_err(|outcome| outcome.leading())
    }

    #[test]
    fn every_parameter_becomes_a_condition() {
        let read = search(&[
            ("entity", "Composition/1,Composition/2/_history/3"),
            ("patient", "Patient/200"),
            ("agent", "doctor"),
            ("action", "composition.read,consent.set"),
            ("outcome", "refused,HCERT-179"),
            ("date", "ge2026-11-01"),
            ("_sort", "date"),
            ("_count", "5"),
        ]);
        let Search { wanted, order, sent, .. } = read.unwrap();
        assert_eq!(wanted.entities, [vec![(Id::FIRST, None), (Id::FIRST.next(), Version::new(3))]]);
        assert_eq!(wanted.actions, [vec![Action::CompositionRead, Action::ConsentSet]]);
        assert_eq!(wanted.outcomes[0].len(), 2);
        assert_eq!(wanted.span(), date_time::search_span("2026-11-01").unwrap().low..=i64::MAX);
        assert_eq!((order, sent.len()), (Order::OldestFirst, 8));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (name, value) in [
            ("entity", "Patient/1"),
            ("entity", "Composition/007"),
            ("patient", "Group/7"),
            ("action", "composition.steal"),
            ("outcome", "99"),
            ("date", "yesterday"),
            ("date", "ne2026"),
            ("_sort", "agent"),
        ] {
            assert_eq!(search(&[(name, value)]).map(|_| ()), Err(Hcert::SearchValueWrong), "{name}={value}");
        }
        assert_eq!(search(&[("agent", "")]).map(|_| ()), Err(Hcert::SearchValueEmpty));
        assert_eq!(search(&[("entry", "1")]).map(|_| ()), Err(Hcert::SearchParameterUnknown));
    }
}
