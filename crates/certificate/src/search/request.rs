//! What searches of every resource type share: the table of parameters, paging and order, unknown names, and the links of a page.
//!
//! A resource type adds what is its own as [`Filters`]. Source: Contract 4.2, 4.8, 4.9; Decision 157.

use std::borrow::Cow;

use super::paging::{self, Counts, Paging};
use super::parameter::{self, Modifier, Parameter, ParameterTarget, SHAPING, Unknown};
use super::seal::{SealKey, SealedQuery};
use super::value::split;
use super::{issue, link};
use crate::Names;
use crate::search::limits::SEARCH_VALUES_MAX;
use fhir::bundle::Link;
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome};

/// Of these, values that no posting list finds: dates, titles, classes, what is negated or missing, and identifiers that the patient
/// registry is asked about one by one. Each is compared with every row a search looks at.
pub const SEARCH_TESTS_MAX: usize = 100;

/// What reading a search needs to know besides its parameters.
#[derive(Clone, Copy)]
pub struct ReadingLimits<'a> {
    /// `{base_url}` as this caller sees it, without a slash at the end.
    pub base_url: &'a str,
    /// The configured namespaces of certificates.
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
    /// The key that parameters in links are sealed with.
    pub seal: &'a SealKey,
    /// Personal code of the caller, who alone can use the links; empty where there is none.
    pub caller: &'a str,
    /// Whether the caller's view leaves content out; conditions on such content are then kept in both forms.
    pub narrowed: bool,
}

/// The filters and the order of one resource type, while a search is parsed.
pub trait Filters {
    /// What a parameter looks at.
    type RowTarget: ParameterTarget;
    /// What a result is sorted by.
    type Key: Copy + PartialEq + 'static;

    /// The search parameters of the resource type.
    const PARAMETERS: &'static [Parameter<Self::RowTarget>];
    /// What `_sort` takes, each name with its key.
    const SORT_KEYS: &'static [(&'static str, Self::Key)];

    /// Takes a filter of the table. `name` is the name as sent, for messages.
    ///
    /// # Errors
    /// One issue for each value that is wrong.
    fn filter(
        &mut self,
        found: SentParameter<Self::RowTarget>,
        name: &str,
        value: &str,
    ) -> Result<LinkForm, Vec<Issue>>;

    /// Takes the order: keys, each with whether it descends. Never empty.
    fn sort(&mut self, keys: Vec<(Self::Key, bool)>);

    /// Whether the values of a parameter are looked up instead of compared with every row.
    fn is_looked_up(_: SentParameter<Self::RowTarget>) -> bool {
        false
    }
}

/// A parameter of a table as it was sent: with a modifier or without.
pub type SentParameter<L> = (&'static Parameter<L>, Option<Modifier>);

/// How the links of a search by form repeat a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkForm {
    /// With its value; sealed where the table or the value says that it is personal.
    Value,
    /// As the patients that the registry found for the condition with this number; sealed when there are none.
    Patients(usize),
}

/// A search of any type, as far as all types have it in common.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    paging: Paging,
    counts: Counts,
    /// The parameters that links repeat, in their order.
    repeated: Vec<RepeatedParameter>,
    ignored: Vec<String>,
}

#[derive(Clone, Debug)]
struct RepeatedParameter {
    name: String,
    value: String,
    shown: ShownParameters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownParameters {
    AsSent,
    /// Among the sealed ones.
    Sealed,
    Patients(usize),
}

impl SearchRequest {
    /// Reads the parameters of a search, names and values decoded, in their order.
    ///
    /// # Errors
    /// Every problem of every parameter: unknown names and modifiers, empty and wrong values, repetitions of what may stand once,
    /// more than [`SEARCH_VALUES_MAX`] values or [`SEARCH_TESTS_MAX`] of the costly kinds, a `_query` that does not open. All of them
    /// are 400.
    pub fn read<F: Filters>(
        parameters: &[(String, String)],
        settings: &ReadingLimits,
        filters: &mut F,
    ) -> Result<SearchRequest, Outcome> {
        let request = SearchRequest {
            paging: Paging::default(),
            counts: settings.count,
            repeated: Vec::new(),
            ignored: Vec::new(),
        };
        let mut reading = SearchReading { settings, filters, request, issues: Vec::new(), values: 0, tests: 0 };
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
        if reading.issues.is_empty() { Ok(reading.request) } else { Err(reading.issues.into()) }
    }

    /// Entries of a page; 0 asks for the total only.
    pub fn count(&self) -> u32 {
        self.paging.count(self.counts)
    }

    /// From 1.
    pub fn page(&self) -> u64 {
        self.paging.page()
    }

    /// The rows before the page.
    pub fn skipped(&self) -> u64 {
        (self.page() - 1).saturating_mul(u64::from(self.count()))
    }

    /// A warning for each parameter that was dropped, for the entry with `search.mode` = `outcome`. Contract 4.9.
    pub fn warnings(&self) -> Vec<Issue> {
        self.ignored.iter().map(|name| issue::ignored(name)).collect()
    }

    /// The links of the page, for `total` matches. `resource_type` is what was searched; `patients` gives a value of `subject` with the
    /// patients found for a condition.
    ///
    /// # Errors
    /// `Internal`, when sealing fails.
    pub fn links(
        &self,
        resource_type: &str,
        settings: &ReadingLimits,
        total: u64,
        patients: impl Fn(usize) -> Option<String>,
    ) -> Result<Vec<Link>, Outcome> {
        let mut shown: Vec<(&str, Cow<str>)> = Vec::with_capacity(self.repeated.len());
        let mut hidden: Vec<(&str, &str)> = Vec::new();
        for RepeatedParameter { name, value, shown: how } in &self.repeated {
            let found = match how {
                ShownParameters::AsSent => Some((name.as_str(), Cow::Borrowed(value.as_str()))),
                ShownParameters::Sealed => None,
                ShownParameters::Patients(condition) => {
                    patients(*condition).map(|found| ("subject", Cow::Owned(found)))
                }
            };
            match found {
                Some(found) => shown.push(found),
                None => hidden.push((name, value)),
            }
        }
        if !hidden.is_empty() {
            shown.push(("_query", Cow::Owned(settings.sealed(resource_type, hidden)?)));
        }
        let query = link::encode(shown.iter().map(|(name, value)| (*name, &**value)));
        let address = [settings.base_url, "/", resource_type].concat();
        Ok(link::pages(&address, &query, self.page(), self.count(), total))
    }
}

impl ReadingLimits<'_> {
    /// A token for `_query` that hides these parameters of a search for `resource_type`.
    ///
    /// # Errors
    /// `Internal`, when sealing fails.
    pub fn sealed(&self, resource_type: &str, parameters: Vec<(&str, &str)>) -> Result<String, Outcome> {
        let expiry = self.now.saturating_add(self.link_seconds * 1_000);
        self.seal.seal(&SealedQuery { resource_type, caller: self.caller, expiry, parameters })
    }

    /// The parameters behind a `_query`.
    ///
    /// # Errors
    /// `SearchLinkExpired`
    pub fn opened(&self, token: &str) -> Result<Vec<(String, String)>, Issue> {
        self.seal.open(token, self.caller, self.now)
    }
}

/// What becomes of a parameter that a resource type does not know. Contract 4.9.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownParameter {
    /// It only shapes the result, so it is left out.
    Dropped,
    /// It is left out with a warning: `Prefer: handling=lenient`.
    Ignored,
    /// It is refused with an issue.
    Refused,
}

impl UnknownParameter {
    /// Judges a name: a mistyped filter must not widen what is shown; an unknown result parameter cannot.
    pub fn of(name: &str, lenient: bool) -> UnknownParameter {
        let base = base(name);
        match base.starts_with('_') && !parameter::could_be_filter(base) {
            true => UnknownParameter::Dropped,
            false if lenient => UnknownParameter::Ignored,
            false => UnknownParameter::Refused,
        }
    }
}

/// A name without modifier and chain.
pub fn base(name: &str) -> &str {
    name.split([':', '.']).next().unwrap_or(name)
}

/// Whether a value could name a person wherever it stands: Estonian personal codes are 11 digits in a row. Longer runs count
/// too, since it costs nothing to seal one number too many.
pub fn holds_personal_code(value: &str) -> bool {
    value.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() >= 11)
}

/// A search while it is read.
struct SearchReading<'a, F> {
    settings: &'a ReadingLimits<'a>,
    filters: &'a mut F,
    request: SearchRequest,
    issues: Vec<Issue>,
    values: usize,
    /// How many of them are not a look-up.
    tests: usize,
}

/// Parameters of a result, which every type of resource takes.
const RESULT: [&str; 4] = ["_count", "_page", "_sort", "_query"];

impl<F: Filters> SearchReading<'_, F> {
    fn parameter(&mut self, name: &str, value: &str) {
        match self.request.paging.take(name, value) {
            Ok(false) => {}
            Ok(true) if name == "_page" => return,
            Ok(true) if self.request.paging.is_cut(self.settings.count) => {
                return self.repeat(name, &self.settings.count.max.to_string(), ShownParameters::AsSent);
            }
            Ok(true) => return self.repeat(name, value, ShownParameters::AsSent),
            Err(issue) => return self.issues.push(issue),
        }
        match name {
            "_sort" => self.sort(value),
            "_query" => self.sealed(value),
            _ if SHAPING.contains(&name) => self.repeat(name, value, ShownParameters::AsSent),
            _ => self.filter(name, value, false),
        }
    }

    fn sort(&mut self, value: &str) {
        if self.is_repeated("_sort") {
            return self.issues.push(issue::repeated("_sort"));
        }
        self.repeat("_sort", value, ShownParameters::AsSent);
        match paging::sort(value, F::SORT_KEYS) {
            Ok(keys) => self.filters.sort(keys),
            Err(issues) => self.issues.extend(issues),
        }
    }

    /// Takes the parameters of a link we made. The token itself stays in further links; a form seals them anew with its own.
    fn sealed(&mut self, token: &str) {
        if self.is_repeated("_query") {
            return self.issues.push(issue::repeated("_query"));
        }
        match self.settings.opened(token) {
            Ok(parameters) => parameters.iter().for_each(|(name, value)| self.filter(name, value, true)),
            Err(issue) => self.issues.push(issue),
        }
        if !self.settings.by_form {
            self.repeat("_query", token, ShownParameters::AsSent);
        }
    }

    fn filter(&mut self, name: &str, value: &str, from_token: bool) {
        let found = match parameter::find(F::PARAMETERS, name) {
            Ok(found) => found,
            Err(Unknown::Modifier(parameter)) => {
                let known = parameter.modifier_names();
                return self.issues.push(issue::modifier_unknown(parameter.name, name, known));
            }
            Err(Unknown::Parameter) => return self.unknown(name),
        };
        let values = split(value, b',').count();
        self.values += values;
        if !F::is_looked_up(found) {
            self.tests += values;
        }
        if self.values > SEARCH_VALUES_MAX || self.tests > SEARCH_TESTS_MAX {
            return;
        }
        let is_personal = from_token || found.0.is_personal(found.1) || holds_personal_code(value);
        match self.filters.filter(found, name, value) {
            // The token stays in the link and says it already.
            Ok(_) if from_token && !self.settings.by_form => {}
            Ok(_) if !self.settings.by_form => self.repeat(name, value, ShownParameters::AsSent),
            Ok(LinkForm::Patients(condition)) => self.repeat(name, value, ShownParameters::Patients(condition)),
            Ok(LinkForm::Value) => {
                self.repeat(name, value, if is_personal { ShownParameters::Sealed } else { ShownParameters::AsSent });
            }
            Err(issues) => self.issues.extend(issues),
        }
    }

    fn unknown(&mut self, name: &str) {
        let known = base(name);
        if RESULT.contains(&known) || SHAPING.contains(&known) {
            return self.issues.push(issue::modifier_unknown(known, name, "none".into()));
        }
        let ignored = &mut self.request.ignored;
        match UnknownParameter::of(name, self.settings.lenient) {
            UnknownParameter::Dropped => {}
            UnknownParameter::Refused => {
                self.issues.push(issue::unknown(name, parameter::known_names(F::PARAMETERS)));
            }
            UnknownParameter::Ignored
                if ignored.len() >= BODY_ISSUES_MAX || ignored.iter().any(|known| known == name) => {}
            UnknownParameter::Ignored => ignored.push(name.to_owned()),
        }
    }

    fn is_repeated(&self, name: &str) -> bool {
        self.request.repeated.iter().any(|known| known.name == name)
    }

    fn repeat(&mut self, name: &str, value: &str, shown: ShownParameters) {
        self.request.repeated.push(RepeatedParameter { name: name.to_owned(), value: value.to_owned(), shown });
    }
}
