//! A search from the outside: all parameters of a request, read once, with every problem told together.

use std::collections::HashMap;

use super::condition::{self, Condition, PatientIdentifier};
use super::filter::Filter;
use super::narrow::{self, Asked};
use super::paging::SORT_DEFAULT;
use super::parameter::{Looks, PARAMETERS, Parameter, SORT_KEYS};
pub use super::request::Settings;
use super::request::{Filters, Repeated, Request, Sent};
use super::term::{Field, Form, Term};
use super::{Query, Sort, SortKey};
use fhir::bundle::Link;
use fhir::outcome::{Issue, Outcome};

/// Ids of the patients the registry found for an identifier (`200`, not `Patient/200`).
pub type Found = HashMap<PatientIdentifier, Vec<String>>;

/// A search for certificates as it was asked.
#[derive(Clone, Debug)]
pub struct Search {
    request: Request,
    asked: Conditions,
}

/// What a search asks of a certificate.
#[derive(Clone, Debug, Default)]
struct Conditions {
    all: Vec<Condition>,
    sort: Vec<Sort>,
    /// Texts of the section `employer` that are asked for.
    employers: Vec<String>,
    /// What conditions become, by their place, for a caller who is not shown the advice to the employee; only those that change.
    without_advice: Vec<(usize, Filter)>,
}

impl Search {
    /// Reads the parameters of a search, names and values decoded, in their order.
    ///
    /// # Errors
    /// As [`Request::read`].
    ///
    /// Source: specification 4.6; Contract 4.2 to 4.9.
    pub fn parse(parameters: &[(String, String)], settings: &Settings) -> Result<Search, Outcome> {
        let mut reader = Reader { settings, asked: Conditions::default() };
        let request = Request::read(parameters, settings, &mut reader)?;
        Ok(Search { request, asked: reader.asked })
    }

    /// The values that the search names by itself, not behind `:not` or `:missing`.
    pub fn asked(&self) -> Asked {
        let mut asked = Asked { employers: self.asked.employers.clone(), ..Asked::default() };
        self.asked.all.iter().for_each(|condition| asked.take(condition));
        asked
    }

    /// What finds the certificates that the search names by an identifier, of theirs or of something in them, whatever else it asks and
    /// whichever page of them it shows. Nothing where it names none.
    pub fn named(&self) -> Option<Filter> {
        let of_one = [Field::Identifier, Field::Entry, Field::EntryIdentifier];
        let filters = self.asked.all.iter().filter_map(|condition| match condition {
            Condition::Filter(filter) => Some(filter),
            Condition::Patients(_) => None,
        });
        let terms = filters.flat_map(Filter::terms).filter(|term| term.names_one(&of_one));
        let terms: Vec<Filter> = terms.cloned().map(Filter::Term).collect();
        (!terms.is_empty()).then_some(Filter::Any(terms))
    }

    /// Entries of a page; 0 asks for the total only.
    pub fn count(&self) -> u32 {
        self.request.count()
    }

    /// As [`query`](Self::query), for a caller who is not shown the advice to the employee. Nothing when it is the same.
    pub fn query_without_advice(&self, found: &Found) -> Option<Query> {
        if self.asked.without_advice.is_empty() {
            return None;
        }
        let mut query = self.query(found);
        if let Filter::All(parts) = &mut query.filter {
            for (at, filter) in &self.asked.without_advice {
                parts[*at] = filter.clone();
            }
        }
        Some(query)
    }

    /// The identifiers that have to be looked up in the patient registry before the search can run, each once.
    pub fn patients_wanted(&self) -> Vec<PatientIdentifier> {
        let chains = self.asked.all.iter().filter_map(|condition| match condition {
            Condition::Patients(identifiers) => Some(identifiers),
            Condition::Filter(_) => None,
        });
        let mut wanted: Vec<PatientIdentifier> = chains.flatten().cloned().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// The search as the engine runs it. An identifier that `found` does not name belongs to nobody and matches nothing.
    pub fn query(&self, found: &Found) -> Query {
        let conditions = self.asked.all.iter().map(|condition| match condition {
            Condition::Filter(filter) => filter.clone(),
            Condition::Patients(identifiers) => {
                let subject =
                    |id: &String| Filter::Term(Term::new(Field::Subject, Form::Code, &format!("Patient/{id}")));
                let mut subjects: Vec<Filter> = patients(identifiers, found).map(subject).collect();
                if subjects.len() == 1 { subjects.remove(0) } else { Filter::Any(subjects) }
            }
        });
        Query {
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
    pub fn links(&self, settings: &Settings, found: &Found, total: u64) -> Result<Vec<Link>, Outcome> {
        self.request.links("Composition", settings, total, |condition| self.subjects(condition, found))
    }

    /// The patients found for a condition as a value of `subject`.
    fn subjects(&self, condition: usize, found: &Found) -> Option<String> {
        let Some(Condition::Patients(identifiers)) = self.asked.all.get(condition) else { return None };
        let subjects: Vec<String> = patients(identifiers, found).map(|id| format!("Patient/{id}")).collect();
        (!subjects.is_empty()).then(|| subjects.join(","))
    }
}

fn patients<'a>(identifiers: &'a [PatientIdentifier], found: &'a Found) -> impl Iterator<Item = &'a String> {
    identifiers.iter().filter_map(|identifier| found.get(identifier)).flatten()
}

/// A search while it is read.
struct Reader<'a> {
    settings: &'a Settings<'a>,
    asked: Conditions,
}

impl Filters for Reader<'_> {
    type Looks = Looks;
    type Key = SortKey;

    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const SORT_KEYS: &'static [(&'static str, SortKey)] = SORT_KEYS;

    fn filter(&mut self, found: Sent<Looks>, name: &str, value: &str) -> Result<Repeated, Vec<Issue>> {
        let looks = found.0.looks;
        let condition = condition::read(found, name, value, self.settings)?;
        self.note_hidden(looks, value, &condition);
        let number = self.asked.all.len();
        self.asked.all.push(condition);
        Ok(if looks == Looks::Registry { Repeated::Patients(number) } else { Repeated::Value })
    }

    fn sort(&mut self, keys: Vec<(SortKey, bool)>) {
        self.asked.sort = keys.into_iter().map(|(key, descending)| Sort { key, descending }).collect();
    }

    fn is_looked_up(found: Sent<Looks>) -> bool {
        condition::is_looked_up(found)
    }
}

impl Reader<'_> {
    /// Notes what of a condition depends on whether the advice to the employee is shown. `condition` is about to be pushed.
    fn note_hidden(&mut self, looks: Looks, value: &str, condition: &Condition) {
        if !self.settings.narrowed {
            return;
        }
        if looks == Looks::SectionCodeText {
            self.asked.employers.extend(narrow::employers(value));
        }
        let concerns = matches!(looks, Looks::SectionCodeText | Looks::Reference { field: Field::Entry, .. });
        if let (true, Condition::Filter(filter)) = (concerns, condition) {
            let without = narrow::without_advice(value, filter.clone());
            self.asked.without_advice.push((self.asked.all.len(), without));
        }
    }
}

#[cfg(test)]
mod tests;
