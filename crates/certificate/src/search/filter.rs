//! What a search asks, as a tree that is true or false of one row. Rights are part of it: a rule on rows is one more branch.

use super::class::Class;
use super::parameter::TimeField;
use super::row::Row;
use super::term::Term;
use crate::{Id, Openness, State};
use fhir::date_time::Span;

/// A condition on one version of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Every one holds; true when empty.
    All(Vec<Filter>),
    /// At least one holds; false when empty.
    Any(Vec<Filter>),
    /// The inner condition does not hold.
    Not(Box<Filter>),
    /// The id is one of these (sorted).
    Ids(Vec<Id>),
    /// The row carries the term.
    Term(Term),
    /// A condition on the fields with few values.
    Class(ClassTest),
    /// A condition on a time.
    Time(TimeField, TimeTest),
    /// A condition on the title.
    Title(TitleTest),
}

/// Condition on status, category, type or consent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClassTest {
    /// The certificate is in this state.
    State(State),
    /// A coding of `Composition.category` meets the test.
    Category(TokenTest),
    /// Each coding of `Composition.category` that is of a system has one of these codes.
    OnlyCategories(String, Vec<String>),
    /// A coding of `Composition.type` meets the test.
    Kind(TokenTest),
    /// Closed to those who treat. Contract 7.7.
    DoctorClosed,
    /// Closed to the patient's representatives.
    RepresentativeClosed,
}

/// The four ways to ask for a token, and whether there is one at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenTest {
    /// `code`
    Code(String),
    /// `system|code`
    SystemCode(String, String),
    /// `|code`
    CodeWithoutSystem(String),
    /// `system|`
    System(String),
    /// `:missing=false`
    Present,
}

/// Condition on a span of time, in milliseconds since 1970 UTC; `low` and `high` of a span are both part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeTest {
    /// There is a time at all.
    Present,
    /// The span lies within `low..=high`.
    Within {
        /// Earliest begin of the span.
        low: i64,
        /// Latest end of the span.
        high: i64,
    },
    /// The span begins no later than `low` and ends no earlier than `high`.
    Covers {
        /// Latest begin of the span.
        low: i64,
        /// Earliest end of the span.
        high: i64,
    },
    /// The span begins before.
    BeginsBefore(i64),
    /// The span begins after.
    BeginsAfter(i64),
    /// The span ends before.
    EndsBefore(i64),
    /// The span ends after.
    EndsAfter(i64),
}

/// Condition on the title. `folded` texts are lower case without accents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TitleTest {
    /// There is a title.
    Present,
    /// The title begins with the text, case and accents ignored.
    BeginsWith {
        /// The text, as `collation::fold` gives it.
        folded: String,
    },
    /// `:contains`: the title contains the text, case and accents ignored.
    Contains {
        /// The text, as `collation::fold` gives it.
        folded: String,
    },
    /// `:exact`: the title is this text.
    Exact(String),
    /// At least one of them.
    OneOf(Vec<TitleTest>),
}

impl Filter {
    /// Its terms, negated ones too.
    pub fn terms(&self) -> Vec<&Term> {
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().flat_map(Filter::terms).collect(),
            Filter::Not(part) => part.terms(),
            Filter::Term(term) => vec![term],
            Filter::Ids(_) | Filter::Class(_) | Filter::Time(..) | Filter::Title(_) => Vec::new(),
        }
    }

    /// Whether the version `row` of certificate `id` meets the condition.
    pub fn matches(&self, id: Id, row: &Row) -> bool {
        match self {
            Filter::All(parts) => parts.iter().all(|part| part.matches(id, row)),
            Filter::Any(parts) => parts.iter().any(|part| part.matches(id, row)),
            Filter::Not(part) => !part.matches(id, row),
            Filter::Ids(ids) => ids.binary_search(&id).is_ok(),
            Filter::Term(term) => row.has(term),
            Filter::Class(test) => test.matches(&row.class),
            Filter::Time(field, test) => row.time(*field).is_some_and(|span| test.matches(span)),
            Filter::Title(test) => row.title.as_deref().is_some_and(|title| test.matches(title)),
        }
    }
}

impl ClassTest {
    /// Whether versions of this class meet the condition.
    pub fn matches(&self, class: &Class) -> bool {
        match self {
            ClassTest::State(state) => class.state == *state,
            ClassTest::Category(test) => test.matches(&class.category),
            ClassTest::OnlyCategories(system, codes) => {
                let mut of_system = class.category.iter().filter(|coding| coding.system.as_deref() == Some(system));
                of_system.all(|coding| codes.iter().any(|code| coding.code.as_deref() == Some(code)))
            }
            ClassTest::Kind(test) => test.matches(&class.kind),
            ClassTest::DoctorClosed => class.consent.doctor == Openness::Closed,
            ClassTest::RepresentativeClosed => class.consent.representative == Openness::Closed,
        }
    }
}

impl TokenTest {
    fn matches(&self, codings: &[super::class::ClassCoding]) -> bool {
        codings.iter().any(|coding| {
            let (system, code) = (coding.system.as_deref(), coding.code.as_deref());
            match self {
                TokenTest::Code(wanted) => code == Some(wanted),
                TokenTest::SystemCode(wanted, wanted_code) => system == Some(wanted) && code == Some(wanted_code),
                TokenTest::CodeWithoutSystem(wanted) => system.is_none() && code == Some(wanted),
                TokenTest::System(wanted) => system == Some(wanted),
                TokenTest::Present => true,
            }
        })
    }
}

impl TimeTest {
    /// Whether a span of a row meets the condition.
    pub fn matches(&self, span: Span) -> bool {
        match *self {
            TimeTest::Present => true,
            TimeTest::Within { low, high } => low <= span.low && span.high <= high,
            TimeTest::Covers { low, high } => span.low <= low && high <= span.high,
            TimeTest::BeginsBefore(time) => span.low < time,
            TimeTest::BeginsAfter(time) => span.low > time,
            TimeTest::EndsBefore(time) => span.high < time,
            TimeTest::EndsAfter(time) => span.high > time,
        }
    }
}

impl TitleTest {
    /// Whether a title, as the certificate has it, meets the condition.
    pub fn matches(&self, title: &str) -> bool {
        match self {
            TitleTest::Present => true,
            TitleTest::Exact(text) => title == text,
            _ => self.matches_folded(title, &super::collation::fold(title)),
        }
    }

    /// Folding costs more than all the rest, so several tests share it.
    fn matches_folded(&self, title: &str, title_folded: &str) -> bool {
        match self {
            TitleTest::Present => true,
            TitleTest::BeginsWith { folded } => title_folded.starts_with(folded.as_str()),
            TitleTest::Contains { folded } => title_folded.contains(folded.as_str()),
            TitleTest::Exact(text) => title == text,
            TitleTest::OneOf(tests) => tests.iter().any(|test| test.matches_folded(title, title_folded)),
        }
    }
}
