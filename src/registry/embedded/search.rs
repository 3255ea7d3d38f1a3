//! `GET /Patient?…`, with the parameters and the refusals of the real registry.

use std::sync::Arc;

use super::{EmbeddedRegistry, Refusals, unreadable};
use crate::registry::{Caller, LookupFailure, NoAnswer, RegistryFinding};
use base::trace::Trace;
use certificate::Id;
use certificate::search::limits::SEARCH_VALUES_MAX;
use certificate::search::link;
use certificate::search::paging::{Counts, Paging};
use certificate::search::parameter::SHAPING;
use certificate::search::reference::is_id;
use certificate::search::value::{split, unescape};
use engine::PatientLine;
use fhir::bundle::Bundle;
use fhir::outcome::{Hcert, IssueChain};

/// Patients that a search of the embedded registry looks at. Each takes 40 bytes while it is answered; all of Estonia has fewer.
const PATIENT_RESULTS_MAX: usize = 2_000_000;

/// A search as it was asked.
#[derive(Debug, Default)]
struct RegistrySearch {
    /// System and value of each alternative.
    identifiers: Option<Vec<(Option<String>, String)>>,
    ids: Option<Vec<String>>,
    born: Vec<BirthDateCondition>,
    is_active: Option<bool>,
    is_deceased: Option<bool>,
    sort: Vec<(PatientSortKey, bool)>,
    paging: Paging,
    /// What links repeat.
    sent: Vec<(String, String)>,
}

/// A condition on the day of birth, in days since 1970; a birth date of a year alone is the span of that year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BirthDateCondition {
    On(i32),
    NotOn(i32),
    After(i32),
    Before(i32),
    From(i32),
    Until(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatientSortKey {
    Id,
    LastUpdated,
    Birthdate,
}

/// What a search takes.
pub const KNOWN: &[&str] = &["identifier", "_id", "birthdate", "active", "deceased", "_sort", "_count", "_page"];

const KEYS: [(&str, PatientSortKey); 3] = [
    ("_id", PatientSortKey::Id),
    ("_lastUpdated", PatientSortKey::LastUpdated),
    ("birthdate", PatientSortKey::Birthdate),
];

impl EmbeddedRegistry {
    pub(super) async fn search(
        &self,
        parameters: &[(String, String)],
        caller: &Caller,
    ) -> Result<RegistryFinding, LookupFailure> {
        let search = Arc::new(RegistrySearch::read(parameters, self.settings.count, &self.refusals(caller))?);
        let found = match self.chosen(&search, caller).await? {
            Some(ids) => self.lines(&search, ids)?,
            None => self.lines_of_all(&search, caller).await?,
        };
        let (count, page) = (search.paging.count(self.settings.count), search.paging.page());
        let total = found.len() as u64;
        let address = format!("{}/Patient", caller.base_url);
        let sent = search.sent.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let links = link::pages(&address, &link::encode(sent), page, count, total);
        let skipped = usize::try_from((page - 1).saturating_mul(u64::from(count))).unwrap_or(usize::MAX);
        let mut bundle = Bundle::searchset(total, &links, 1024 * count as usize);
        for line in found.iter().skip(skipped).take(count as usize) {
            // One that changed since shows its newest version, as any read of it would.
            let Some(patient) = self.engine.patients().newest(line.id).map_err(unreadable)? else { continue };
            bundle.found(&format!("{address}/{}", line.id), &patient.resource);
        }
        Ok(RegistryFinding { body: bundle.finish(), ..RegistryFinding::default() })
    }

    /// Those whom the search names by identifier or id; nothing when it names nobody.
    async fn chosen(&self, search: &RegistrySearch, caller: &Caller) -> Result<Option<Vec<Id>>, LookupFailure> {
        let mut chosen: Option<Vec<Id>> = None;
        if let Some(identifiers) = &search.identifiers {
            let mut ids = Vec::new();
            for (system, value) in identifiers {
                ids.extend(self.find(system.as_deref(), value, caller).await?);
            }
            chosen = Some(ids);
        }
        if let Some(ids) = &search.ids {
            let named = ids.iter().filter_map(|id| Id::parse(id));
            chosen = Some(match chosen {
                Some(chosen) => named.filter(|id| chosen.contains(id)).collect(),
                None => named.collect(),
            });
        }
        Ok(chosen)
    }

    /// Those of them who fit, in the order asked for.
    fn lines(&self, search: &RegistrySearch, mut ids: Vec<Id>) -> Result<Vec<PatientLine>, NoAnswer> {
        ids.sort_unstable();
        ids.dedup();
        let lines = ids.into_iter().map(|id| self.engine.patients().line(id).map_err(unreadable));
        let lines = lines.filter_map(Result::transpose).collect::<Result<Vec<_>, NoAnswer>>()?;
        Ok(search.chosen(lines))
    }

    /// Everybody who fits, in the order asked for. It looks at very many, so it waits for its turn and runs on a thread of its own.
    async fn lines_of_all(
        &self,
        search: &Arc<RegistrySearch>,
        caller: &Caller,
    ) -> Result<Vec<PatientLine>, LookupFailure> {
        let turn =
            self.turns.clone().acquire_owned().await.map_err(|error| NoAnswer::Unreachable(error.to_string()))?;
        let (engine, search) = (self.engine.clone(), search.clone());
        let found = tokio::task::spawn_blocking(Trace::carried(move || {
            // The turn ends with the work, which goes on when its client has gone.
            let _turn = turn;
            let (from, to) = search.span();
            let found = match search.born.is_empty() {
                true => engine.patients().all(PATIENT_RESULTS_MAX),
                false => engine.patients().born(from, to, PATIENT_RESULTS_MAX),
            };
            found.map(|found| found.map(|lines| search.chosen(lines)))
        }));
        let found = found.await.map_err(|error| NoAnswer::Unreachable(error.to_string()))?.map_err(unreadable)?;
        Ok(found.ok_or_else(|| self.refusals(caller).one("MPI-027", &[]))?)
    }
}

impl RegistrySearch {
    fn read(parameters: &[(String, String)], count: Counts, refusals: &Refusals) -> Result<RegistrySearch, IssueChain> {
        let mut search = RegistrySearch::default();
        for (name, value) in parameters {
            search.take(name, value, count, refusals)?;
        }
        let asks = search.identifiers.is_some() || search.ids.is_some() || !search.born.is_empty();
        match asks || search.is_active.is_some() || search.is_deceased.is_some() {
            true => Ok(search),
            false if parameters.is_empty() => Err(refusals.one("MPI-015", &[])),
            // Paging and sorting of nobody.
            false => Err(refusals.one("MPI-078", &[("param", "identifier")])),
        }
    }

    fn take(&mut self, name: &str, value: &str, count: Counts, refusals: &Refusals) -> Result<(), IssueChain> {
        let wrong = |problem: &str| refusals.one("MPI-096", &[("message", &format!("{name}={value}: {problem}"))]);
        let only_once = |is_there: bool| match is_there {
            true => Err(refusals.one("MPI-080", &[("param", name)])),
            false => Ok(()),
        };
        let is_empty = value.is_empty();
        let mut used = value.to_owned();
        match name {
            _ if is_empty => return Err(wrong("a value is expected")),
            "identifier" => {
                only_once(self.identifiers.is_some())?;
                let parts = values(value).ok_or_else(|| wrong("too many values"))?;
                let read =
                    parts.into_iter().map(|part| identifier(part).ok_or_else(|| wrong("system|value is expected")));
                self.identifiers = Some(read.collect::<Result<_, _>>()?);
            }
            "_id" => {
                only_once(self.ids.is_some())?;
                let parts = values(value).ok_or_else(|| wrong("too many values"))?;
                let ids: Vec<String> = parts.into_iter().map(|part| unescape(part).into_owned()).collect();
                if !ids.iter().all(|id| is_id(id)) {
                    return Err(wrong("an id is expected"));
                }
                self.ids = Some(ids);
            }
            "birthdate" | "active" | "deceased" if value.contains(',') => {
                return Err(refusals.one("MPI-075", &[("param", name)]));
            }
            // Twice it is a range.
            "birthdate" => {
                only_once(self.born.len() > 1)?;
                self.born.push(born(value).ok_or_else(|| refusals.one("MPI-076", &[]))?);
            }
            "active" | "deceased" => {
                let place = if name == "active" { &mut self.is_active } else { &mut self.is_deceased };
                only_once(place.is_some())?;
                *place = Some(value.parse().map_err(|_| wrong("true or false is expected"))?);
            }
            "_sort" => {
                only_once(!self.sort.is_empty())?;
                for part in value.split(',') {
                    let (key, descending) = part.strip_prefix('-').map_or((part, false), |key| (key, true));
                    let known = KEYS.iter().find(|(known, _)| *known == key);
                    let (_, key) = known.ok_or_else(|| refusals.one("MPI-037", &[("param", part)]))?;
                    self.sort.push((*key, descending));
                }
            }
            "_count" | "_page" => {
                self.paging.take(name, value).map_err(|issue| match issue.code() {
                    Hcert::SearchParameterRepeated => refusals.one("MPI-080", &[("param", name)]),
                    _ => wrong("a whole number is expected"),
                })?;
                if name == "_page" {
                    return Ok(());
                }
                if self.paging.is_cut(count) {
                    used = count.max.to_string();
                }
            }
            _ if SHAPING.contains(&name) => drop(self.paging.take(name, value)),
            _ => return Err(refusals.unknown_parameter(name, KNOWN)),
        }
        self.sent.push((name.to_owned(), used));
        Ok(())
    }

    /// The days of birth that need to be looked at.
    fn span(&self) -> (i32, i32) {
        let mut span = (i32::MIN, i32::MAX);
        for born in &self.born {
            match *born {
                BirthDateCondition::On(day) => span = (span.0.max(day), span.1.min(day)),
                BirthDateCondition::After(day) | BirthDateCondition::From(day) => span.0 = span.0.max(day),
                BirthDateCondition::Before(day) | BirthDateCondition::Until(day) => span.1 = span.1.min(day),
                BirthDateCondition::NotOn(_) => {}
            }
        }
        span
    }

    fn fits(&self, line: &PatientLine) -> bool {
        let born = |condition: &BirthDateCondition| {
            let Some((low, high)) = line.born else { return false };
            match *condition {
                // R5: the span asked for holds the whole span of the date.
                BirthDateCondition::On(day) => low == day && high == day,
                BirthDateCondition::NotOn(day) => low != day || high != day,
                BirthDateCondition::After(day) => high > day,
                BirthDateCondition::Before(day) => low < day,
                BirthDateCondition::From(day) => high >= day,
                BirthDateCondition::Until(day) => low <= day,
            }
        };
        self.born.iter().all(born)
            && self.is_active.is_none_or(|active| active == line.is_active)
            && self.is_deceased.is_none_or(|deceased| deceased == line.is_deceased)
    }

    fn chosen(&self, mut lines: Vec<PatientLine>) -> Vec<PatientLine> {
        lines.retain(|line| self.fits(line));
        self.order(&mut lines);
        lines
    }

    /// By the keys asked for, then by id.
    fn order(&self, found: &mut [PatientLine]) {
        found.sort_by(|one, other| {
            let by_key = self.sort.iter().map(|(key, descending)| {
                let order = match key {
                    PatientSortKey::Id => one.id.cmp(&other.id),
                    PatientSortKey::LastUpdated => one.milliseconds.cmp(&other.milliseconds),
                    PatientSortKey::Birthdate => match (one.born, other.born) {
                        (Some(one), Some(other)) => one.cmp(&other),
                        // Those without come last in both directions.
                        (one, other) => return other.is_some().cmp(&one.is_some()),
                    },
                };
                if *descending { order.reverse() } else { order }
            });
            let by_key = by_key.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then);
            by_key.then(one.id.cmp(&other.id))
        });
    }
}

/// The alternatives of a value; nothing when there are more than are looked up.
fn values(value: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = split(value, b',').collect();
    (parts.len() <= SEARCH_VALUES_MAX).then_some(parts)
}

/// `system|value` or a value alone.
fn identifier(part: &str) -> Option<(Option<String>, String)> {
    let parts: Vec<&str> = split(part, b'|').collect();
    let (system, value) = match parts[..] {
        [value] => (None, value),
        [system, value] if !system.is_empty() => (Some(unescape(system).into_owned()), value),
        _ => return None,
    };
    (!value.is_empty()).then(|| (system, unescape(value).into_owned()))
}

/// `YYYY-MM-DD` with or without a prefix.
fn born(value: &str) -> Option<BirthDateCondition> {
    let (prefix, date) = match value.char_indices().find(|(_, character)| character.is_ascii_digit()) {
        Some((at, _)) => value.split_at(at),
        None => return None,
    };
    let shape = |byte: (usize, u8)| if matches!(byte.0, 4 | 7) { byte.1 == b'-' } else { byte.1.is_ascii_digit() };
    if date.len() != 10 || !date.bytes().enumerate().all(shape) {
        return None;
    }
    let date: jiff::civil::Date = date.parse().ok()?;
    let day = (date - jiff::civil::date(1970, 1, 1)).get_days();
    Some(match prefix {
        "" | "eq" => BirthDateCondition::On(day),
        "ne" => BirthDateCondition::NotOn(day),
        "gt" | "sa" => BirthDateCondition::After(day),
        "lt" | "eb" => BirthDateCondition::Before(day),
        "ge" => BirthDateCondition::From(day),
        "le" => BirthDateCondition::Until(day),
        _ => return None,
    })
}
