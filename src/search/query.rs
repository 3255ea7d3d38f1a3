//! A search from the outside: all parameters of a request, read once, with every problem told together.

use std::borrow::Cow;
use std::collections::HashMap;

use super::condition::{self, Condition, PatientIdentifier};
use super::filter::Filter;
use super::issue;
use super::narrow::{self, Asked};
use super::paging::{self, Counts, Paging, SORT_DEFAULT};
use super::parameter::{self, SHAPING, Unknown};
use super::seal::SealKey;
use super::term::{Field, Form, Term};
use super::{Query, Sort, link};
use crate::certificate::Names;
use crate::fhir::bundle::Link;
use crate::limits::{BODY_ISSUES_MAX, SEARCH_TESTS_MAX, SEARCH_VALUES_MAX};
use crate::outcome::{Hcert, Issue, Outcome};

/// What reading a search needs to know besides its parameters.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// `{base_url}` as this caller sees it, without a slash at the end.
    pub base_url: &'a str,
    pub names: &'a Names,
    /// Entries of a page when `_count` is absent, and at most.
    pub count: Counts,
    /// Seconds that a link with sealed parameters works.
    pub link_seconds: i64,
    /// `Prefer: handling=lenient`: unknown parameters are dropped with a warning. Contract 4.9.
    pub lenient: bool,
    /// The parameters came in the body of a POST, so their values stay out of links. Contract 4.2.
    pub by_form: bool,
    /// Milliseconds since 1970 UTC.
    pub now: i64,
    pub seal: &'a SealKey,
    /// Personal code of the caller, whose links open for nobody else; empty for nobody.
    pub caller: &'a str,
    /// Whether the caller may not see all, so that conditions on what is not shown to everybody are kept in both forms.
    pub narrowed: bool,
}

/// Ids of the patients the registry found for an identifier (`200`, not `Patient/200`).
pub type Found = HashMap<PatientIdentifier, Vec<String>>;

/// A search as it was asked.
#[derive(Clone, Debug)]
pub struct Search {
    conditions: Vec<Condition>,
    sort: Vec<Sort>,
    paging: Paging,
    count: Counts,
    /// The parameters that links repeat, in their order.
    sent: Vec<Sent>,
    ignored: Vec<String>,
    /// Texts of the section `employer` that are asked for.
    employers: Vec<String>,
    /// What conditions become, by their place, for a caller who is not shown the advice to the employee; only those that change.
    without_advice: Vec<(usize, Filter)>,
}

/// One parameter as links repeat it.
#[derive(Clone, Debug)]
struct Sent {
    name: String,
    value: String,
    shown: Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    AsSent,
    /// Among the sealed ones.
    Sealed,
    /// As the patients found for the condition of this number; sealed when there are none.
    Patients(usize),
}

impl Search {
    /// Reads the parameters of a search, names and values decoded, in their order.
    ///
    /// # Errors
    /// Every problem of every parameter: unknown names and modifiers, empty and wrong values, repetitions of what may stand once,
    /// more than [`SEARCH_VALUES_MAX`] values or [`SEARCH_TESTS_MAX`] of the costly kinds, a `_query` that does not open. All of them are 400.
    ///
    /// Source: specification 4.6; Contract 4.2 to 4.9.
    pub fn parse(parameters: &[(String, String)], settings: &Settings) -> Result<Search, Outcome> {
        let mut reading =
            Reading { settings, search: Search::empty(settings.count), issues: Vec::new(), values: 0, tests: 0 };
        for (name, value) in parameters {
            if reading.issues.len() >= BODY_ISSUES_MAX {
                break;
            }
            reading.parameter(name, value);
        }
        reading.issues.truncate(BODY_ISSUES_MAX);
        let counts = [(reading.values, SEARCH_VALUES_MAX), (reading.tests, SEARCH_TESTS_MAX)];
        if let Some((_, max)) = counts.into_iter().find(|(count, max)| count > max) {
            reading.issues.push(Issue::new(Hcert::SearchTooLong).with("max", max.to_string()));
        }
        if reading.issues.is_empty() { Ok(reading.search) } else { Err(reading.issues.into()) }
    }

    fn empty(count: Counts) -> Search {
        Search {
            conditions: Vec::new(),
            sort: Vec::new(),
            paging: Paging::default(),
            count,
            sent: Vec::new(),
            ignored: Vec::new(),
            employers: Vec::new(),
            without_advice: Vec::new(),
        }
    }

    /// The values that the search names by itself, not behind `:not` or `:missing`.
    pub fn asked(&self) -> Asked {
        let mut asked = Asked { employers: self.employers.clone(), ..Asked::default() };
        self.conditions.iter().for_each(|condition| asked.take(condition));
        asked
    }

    /// Entries of a page; 0 asks for the total only.
    pub fn count(&self) -> u32 {
        self.paging.count(self.count)
    }

    /// As [`query`](Self::query), for a caller who is not shown the advice to the employee. Nothing when it is the same.
    pub fn query_without_advice(&self, found: &Found) -> Option<Query> {
        if self.without_advice.is_empty() {
            return None;
        }
        let mut query = self.query(found);
        if let Filter::All(parts) = &mut query.filter {
            for (at, filter) in &self.without_advice {
                parts[*at] = filter.clone();
            }
        }
        Some(query)
    }

    /// The identifiers that have to be looked up in the patient registry before the search can run, each once.
    pub fn patients_wanted(&self) -> Vec<PatientIdentifier> {
        let chains = self.conditions.iter().filter_map(|condition| match condition {
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
        let conditions = self.conditions.iter().map(|condition| match condition {
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
            sort: if self.sort.is_empty() { vec![SORT_DEFAULT] } else { self.sort.clone() },
            page: self.paging.page(),
            count: self.paging.count(self.count),
        }
    }

    /// A warning for each parameter that was dropped, for the entry with `search.mode` = `outcome`. Contract 4.9.
    pub fn warnings(&self) -> Vec<Issue> {
        self.ignored.iter().map(|name| issue::ignored(name)).collect()
    }

    /// The links of the page, for `total` matches. `settings` and `found` are those of [`parse`](Self::parse) and
    /// [`query`](Self::query).
    ///
    /// # Errors
    /// `Internal`, when sealing fails.
    ///
    /// Source: Contract 4.2, 4.8, 4.9.
    pub fn links(&self, settings: &Settings, found: &Found, total: u64) -> Result<Vec<Link>, Outcome> {
        let mut shown: Vec<(&str, Cow<str>)> = Vec::with_capacity(self.sent.len());
        let mut hidden: Vec<(&str, &str)> = Vec::new();
        for sent in &self.sent {
            match sent.shown {
                Shown::AsSent => shown.push((&sent.name, Cow::Borrowed(sent.value.as_str()))),
                Shown::Sealed => hidden.push((&sent.name, &sent.value)),
                Shown::Patients(at) => match self.subjects(at, found) {
                    Some(subjects) => shown.push(("subject", Cow::Owned(subjects))),
                    None => hidden.push((&sent.name, &sent.value)),
                },
            }
        }
        if !hidden.is_empty() {
            shown.push((
                "_query",
                Cow::Owned(settings.seal.seal(&hidden, settings.caller, settings.now, settings.link_seconds)?),
            ));
        }
        let query = link::encode(shown.iter().map(|(name, value)| (*name, &**value)));
        let address = [settings.base_url, "/Composition"].concat();
        Ok(link::pages(&address, &query, self.paging.page(), self.paging.count(self.count), total))
    }

    /// The patients found for a condition as a value of `subject`.
    fn subjects(&self, condition: usize, found: &Found) -> Option<String> {
        let Some(Condition::Patients(identifiers)) = self.conditions.get(condition) else { return None };
        let subjects: Vec<String> = patients(identifiers, found).map(|id| format!("Patient/{id}")).collect();
        (!subjects.is_empty()).then(|| subjects.join(","))
    }
}

fn patients<'a>(identifiers: &'a [PatientIdentifier], found: &'a Found) -> impl Iterator<Item = &'a String> {
    identifiers.iter().filter_map(|identifier| found.get(identifier)).flatten()
}

/// A search while it is read.
struct Reading<'a> {
    settings: &'a Settings<'a>,
    search: Search,
    issues: Vec<Issue>,
    values: usize,
    /// Those of them that are no look-up.
    tests: usize,
}

impl Reading<'_> {
    fn parameter(&mut self, name: &str, value: &str) {
        match self.search.paging.take(name, value) {
            Ok(false) => {}
            Ok(true) if name == "_page" => return,
            Ok(true) if self.search.paging.is_cut(self.settings.count) => {
                return self.sent(name, &self.settings.count.max.to_string(), Shown::AsSent);
            }
            Ok(true) => return self.sent(name, value, Shown::AsSent),
            Err(issue) => return self.issues.push(issue),
        }
        match name {
            "_sort" => self.sort(value),
            "_query" => self.sealed(value),
            _ if SHAPING.contains(&name) => self.sent(name, value, Shown::AsSent),
            _ => self.filter(name, value, false),
        }
    }

    fn sort(&mut self, value: &str) {
        if self.search.sent.iter().any(|sent| sent.name == "_sort") {
            return self.issues.push(issue::repeated("_sort"));
        }
        self.sent("_sort", value, Shown::AsSent);
        match paging::sort(value) {
            Ok(sort) => self.search.sort = sort,
            Err(issues) => self.issues.extend(issues),
        }
    }

    /// Takes the parameters of a link we made. The token itself stays in further links; a form seals them anew with its own.
    fn sealed(&mut self, token: &str) {
        if self.search.sent.iter().any(|sent| sent.name == "_query") {
            return self.issues.push(issue::repeated("_query"));
        }
        match self.settings.seal.open(token, self.settings.caller, self.settings.now) {
            Ok(parameters) => parameters.iter().for_each(|(name, value)| self.filter(name, value, true)),
            Err(issue) => self.issues.push(issue),
        }
        if !self.settings.by_form {
            self.sent("_query", token, Shown::AsSent);
        }
    }

    fn filter(&mut self, name: &str, value: &str, from_token: bool) {
        let found = match parameter::find(name) {
            Ok(found) => found,
            Err(Unknown::Modifier(parameter)) => {
                let known = parameter.modifier_names();
                return self.issues.push(issue::modifier_unknown(parameter.name, name, known));
            }

            Err(Unknown::Parameter) => return self.unknown(name),
        };
        let values = condition::values(value);
        self.values += values;
        if !condition::is_looked_up(found) {
            self.tests += values;
        }
        if self.values > SEARCH_VALUES_MAX || self.tests > SEARCH_TESTS_MAX {
            return;
        }
        let shown = match found.0.looks {
            _ if from_token && !self.settings.by_form => None,
            _ if !self.settings.by_form => Some(Shown::AsSent),
            parameter::Looks::Registry => Some(Shown::Patients(self.search.conditions.len())),
            _ if from_token || found.0.is_personal(found.1) || holds_personal_code(value) => Some(Shown::Sealed),
            _ => Some(Shown::AsSent),
        };
        if let Some(shown) = shown {
            self.sent(name, value, shown);
        }
        match condition::read(found, name, value, self.settings) {
            Ok(condition) => {
                self.note_hidden(found.0.looks, value, &condition);
                self.search.conditions.push(condition);
            }
            Err(issues) => self.issues.extend(issues),
        }
    }

    /// Notes what of a condition depends on whether the advice to the employee is shown. `condition` is about to be pushed.
    fn note_hidden(&mut self, looks: parameter::Looks, value: &str, condition: &Condition) {
        if !self.settings.narrowed {
            return;
        }
        if looks == parameter::Looks::SectionCodeText {
            self.search.employers.extend(narrow::employers(value));
        }
        let concerns = matches!(
            looks,
            parameter::Looks::SectionCodeText | parameter::Looks::Reference { field: Field::Entry, .. }
        );
        if let (true, Condition::Filter(filter)) = (concerns, condition) {
            let without = narrow::without_advice(value, filter.clone());
            self.search.without_advice.push((self.search.conditions.len(), without));
        }
    }

    /// Contract 4.9: a mistyped filter must not widen what is shown; an unknown result parameter cannot.
    fn unknown(&mut self, name: &str) {
        let base = name.split([':', '.']).next().unwrap_or(name);
        if ["_count", "_page", "_sort", "_query"].contains(&base) || SHAPING.contains(&base) {
            return self.issues.push(issue::modifier_unknown(base, name, "none".into()));
        }
        if base.starts_with('_') && !parameter::could_be_filter(base) {
            return;
        }
        if !self.settings.lenient {
            self.issues.push(issue::unknown(name, parameter::known_names()));
        } else if self.search.ignored.len() < BODY_ISSUES_MAX && !self.search.ignored.iter().any(|known| known == name)
        {
            self.search.ignored.push(name.to_owned());
        }
    }

    fn sent(&mut self, name: &str, value: &str, shown: Shown) {
        self.search.sent.push(Sent { name: name.to_owned(), value: value.to_owned(), shown });
    }
}

/// Whether a value could name a person wherever it stands: Estonian personal codes are 11 digits in a row. Longer runs count
/// too, since it costs nothing to seal one number too many.
fn holds_personal_code(value: &str) -> bool {
    value.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() >= 11)
}

#[cfg(test)]
mod tests;
