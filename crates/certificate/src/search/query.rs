//! A search from the outside: all parameters of a request, read once, with every problem told together.

use std::collections::HashMap;

use super::condition::{self, PatientIdentifier, SearchCondition};
use super::filter::Filter;
use super::narrow::{self, PositiveValues};
use super::paging::SORT_DEFAULT;
use super::parameter::{Field, PARAMETERS, Parameter, RowTarget, SORT_KEYS};
pub use super::request::ReadingLimits;
use super::request::{Filters, LinkForm, SearchRequest, SentParameter};
use super::term::{Term, TermForm};
use super::{EngineQuery, Sort, SortKey};
use fhir::bundle::Link;
use fhir::outcome::{Issue, Outcome};

/// Ids of the patients the registry found for an identifier (`200`, not `Patient/200`).
pub type PatientIds = HashMap<PatientIdentifier, Vec<String>>;

/// A search for certificates as it was asked.
#[derive(Clone, Debug)]
pub struct CompositionSearch {
    request: SearchRequest,
    asked: Conditions,
}

/// What a search asks of a certificate.
#[derive(Clone, Debug, Default)]
struct Conditions {
    all: Vec<SearchCondition>,
    sort: Vec<Sort>,
    /// Texts of the section `employer` that are asked for.
    employers: Vec<String>,
    /// What conditions become, by their place, for a caller who has the employer's view; only those that change.
    for_employer: Vec<(usize, Filter)>,
}

impl CompositionSearch {
    /// Reads the parameters of a search, names and values decoded, in their order.
    ///
    /// # Errors
    /// As [`SearchRequest::read`].
    ///
    /// Source: specification 4.6; Contract 4.2 to 4.9.
    pub fn parse(parameters: &[(String, String)], settings: &ReadingLimits) -> Result<CompositionSearch, Outcome> {
        let mut reader = QueryReader { settings, asked: Conditions::default() };
        let request = SearchRequest::read(parameters, settings, &mut reader)?;
        Ok(CompositionSearch { request, asked: reader.asked })
    }

    /// The values that the search names by itself, not behind `:not` or `:missing`.
    pub fn asked(&self) -> PositiveValues {
        let mut asked = PositiveValues { employers: self.asked.employers.clone(), ..PositiveValues::default() };
        self.asked.all.iter().for_each(|condition| asked.take(condition));
        asked
    }

    /// What finds the certificates that the search names by an identifier, of theirs or of something in them, whatever else it asks and
    /// whichever page of them it shows: one for each value.
    pub fn named(&self) -> Vec<Filter> {
        let of_one = [Field::Identifier, Field::Entry, Field::EntryIdentifier];
        let filters = self.asked.all.iter().filter_map(|condition| match condition {
            SearchCondition::Filter(filter) => Some(filter),
            SearchCondition::Patients(_) => None,
        });
        let terms = filters.flat_map(Filter::terms).filter(|term| term.names_one(&of_one));
        terms.cloned().map(Filter::Term).collect()
    }

    /// Entries of a page; 0 asks for the total only.
    pub fn count(&self) -> u32 {
        self.request.count()
    }

    /// As [`query`](Self::query), for a caller who has the employer's view. Nothing when it is the same.
    pub fn query_for_employer(&self, found: &PatientIds) -> Option<EngineQuery> {
        if self.asked.for_employer.is_empty() {
            return None;
        }
        let mut query = self.query(found);
        if let Filter::All(parts) = &mut query.filter {
            for (at, filter) in &self.asked.for_employer {
                parts[*at] = filter.clone();
            }
        }
        Some(query)
    }

    /// The identifiers that have to be looked up in the patient registry before the search can run, each once.
    pub fn patients_wanted(&self) -> Vec<PatientIdentifier> {
        let chains = self.asked.all.iter().filter_map(|condition| match condition {
            SearchCondition::Patients(identifiers) => Some(identifiers),
            SearchCondition::Filter(_) => None,
        });
        let mut wanted: Vec<PatientIdentifier> = chains.flatten().cloned().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// The search as the engine runs it. An identifier that `found` does not name belongs to nobody and matches nothing.
    pub fn query(&self, found: &PatientIds) -> EngineQuery {
        let conditions = self.asked.all.iter().map(|condition| match condition {
            SearchCondition::Filter(filter) => filter.clone(),
            SearchCondition::Patients(identifiers) => {
                let subject =
                    |id: &String| Filter::Term(Term::new(Field::Subject, TermForm::Code, &format!("Patient/{id}")));
                let mut subjects: Vec<Filter> = patients(identifiers, found).map(subject).collect();
                if subjects.len() == 1 { subjects.remove(0) } else { Filter::Any(subjects) }
            }
        });
        EngineQuery {
            filter: Filter::All(conditions.collect()),
            sort: if self.asked.sort.is_empty() { vec![SORT_DEFAULT] } else { self.asked.sort.clone() },
            page: self.request.page(),
            count: self.request.count(),
        }
    }

    /// A warning for each parameter that was dropped, for the entry with `search.mode` = `outcome`. Contract 4.9.
    pub fn warnings(&self) -> Vec<Issue> {
        self.request.warnings()
    }

    /// The links of the page, for `total` matches. `settings` and `found` are those of [`parse`](Self::parse) and
    /// [`query`](Self::query).
    ///
    /// # Errors
    /// `Internal`, when sealing fails.
    ///
    /// Source: Contract 4.2, 4.8, 4.9.
    pub fn links(&self, settings: &ReadingLimits, found: &PatientIds, total: u64) -> Result<Vec<Link>, Outcome> {
        self.request.links("Composition", settings, total, |condition| self.subjects(condition, found))
    }

    /// The patients found for a condition as a value of `subject`.
    fn subjects(&self, condition: usize, found: &PatientIds) -> Option<String> {
        let Some(SearchCondition::Patients(identifiers)) = self.asked.all.get(condition) else { return None };
        let subjects: Vec<String> = patients(identifiers, found).map(|id| format!("Patient/{id}")).collect();
        (!subjects.is_empty()).then(|| subjects.join(","))
    }
}

fn patients<'a>(identifiers: &'a [PatientIdentifier], found: &'a PatientIds) -> impl Iterator<Item = &'a String> {
    identifiers.iter().filter_map(|identifier| found.get(identifier)).flatten()
}

/// A search while it is read.
struct QueryReader<'a> {
    settings: &'a ReadingLimits<'a>,
    asked: Conditions,
}

impl Filters for QueryReader<'_> {
    type RowTarget = RowTarget;
    type Key = SortKey;

    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const SORT_KEYS: &'static [(&'static str, SortKey)] = SORT_KEYS;

    fn filter(&mut self, found: SentParameter<RowTarget>, name: &str, value: &str) -> Result<LinkForm, Vec<Issue>> {
        let target = found.0.target;
        let condition = condition::read(found, name, value, self.settings)?;
        self.note_hidden(target, value, &condition);
        let number = self.asked.all.len();
        self.asked.all.push(condition);
        Ok(if target == RowTarget::Registry { LinkForm::Patients(number) } else { LinkForm::Value })
    }

    fn sort(&mut self, keys: Vec<(SortKey, bool)>) {
        self.asked.sort = keys.into_iter().map(|(key, descending)| Sort { key, descending }).collect();
    }

    fn is_looked_up(found: SentParameter<RowTarget>) -> bool {
        condition::is_looked_up(found)
    }
}

impl QueryReader<'_> {
    /// Notes what of a condition depends on the caller's view. `condition` is about to be pushed.
    fn note_hidden(&mut self, target: RowTarget, value: &str, condition: &SearchCondition) {
        if !self.settings.narrowed {
            return;
        }
        if target == RowTarget::SectionCodeText {
            self.asked.employers.extend(narrow::employers(value));
        }
        if let SearchCondition::Filter(filter) = condition {
            let for_employer = narrow::for_employer(value, filter.clone());
            if for_employer != *filter {
                self.asked.for_employer.push((self.asked.all.len(), for_employer));
            }
        }
    }
}

#[cfg(test)]
mod tests;
