//! One parameter of a search, read: from name, modifier and value to a condition on rows.

use super::collation::fold;
use super::filter::{ClassTest, Filter, TimeTest, TitleTest, TokenTest};
use super::issue::{self, wrong};
use super::parameter::{Modifier, Parameter, RowTarget, TimeField};
use super::request::ReadingLimits;
use super::term::{Term, TermForm};
use super::value::{SearchToken, split, unescape};
use super::{reference, section_code_text, time};
use crate::{Id, Status};
use fhir::date_time::TimeError;
use fhir::outcome::Issue;

/// What one parameter asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchCondition {
    /// A condition that the row of a version decides.
    Filter(Filter),
    /// The subject is a patient with one of these identifiers; only the patient registry knows which those are.
    Patients(Vec<PatientIdentifier>),
}

/// An identifier the patient registry is asked about. Contract 4.6.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatientIdentifier {
    /// `Identifier.system`; nothing where the search gives the value alone.
    pub system: Option<String>,
    /// `Identifier.value`, such as a personal code.
    pub value: String,
}

/// System of `Composition.status`, which the element itself does not name.
const STATUS_SYSTEM: &str = "http://hl7.org/fhir/composition-status";
const DATE: &str = "a date such as 2025, 2025-03, 2025-03-30 or 2025-03-30T10:00:00+02:00";
const PREFIXES: &str = "one of the prefixes eq, ne, gt, lt, ge, le, sa, eb, ap before a date";
const PERIOD_PREFIXES: &str = "one of the prefixes eq, gt, lt, ge, le, sa, eb before a date";
const TOKEN: &str = "code, system|code, |code or system|";

/// Whether the values of a parameter are looked up instead of compared with every row.
pub fn is_looked_up((parameter, modifier): (&Parameter, Option<Modifier>)) -> bool {
    let looked_up = matches!(
        parameter.target,
        RowTarget::Id | RowTarget::Token(_) | RowTarget::Reference { .. } | RowTarget::SectionCodeText
    );
    looked_up && !matches!(modifier, Some(Modifier::Not | Modifier::Missing))
}

/// Reads a parameter that [`parameter::find`](super::parameter::find) knows. `name` is the name as sent, for messages.
///
/// # Errors
/// One issue for each value that is empty, not of the parameter's type, or not allowed.
///
/// Source: Contract 4.2 to 4.6; FHIR R5 `search.html`.
pub fn read(
    (parameter, modifier): (&Parameter, Option<Modifier>),
    name: &str,
    value: &str,
    settings: &ReadingLimits,
) -> Result<SearchCondition, Vec<Issue>> {
    if modifier == Some(Modifier::Missing) {
        return missing(parameter.target, name, value).map(SearchCondition::Filter).map_err(|issue| vec![issue]);
    }
    if parameter.target == RowTarget::Registry {
        return each(value, |part| patient(name, part)).map(SearchCondition::Patients);
    }
    let one = |part: &str| match part {
        "" => Err(issue::empty(name)),
        _ => ConditionReader { name, settings }.alternative(parameter.target, modifier, part),
    };
    let filter = any(each(value, one)?);
    Ok(SearchCondition::Filter(if modifier == Some(Modifier::Not) { Filter::Not(Box::new(filter)) } else { filter }))
}

/// Reads all alternatives of a value, and tells the problems of all.
fn each<T>(value: &str, read: impl Fn(&str) -> Result<T, Issue>) -> Result<Vec<T>, Vec<Issue>> {
    let mut found = Vec::new();
    let mut issues = Vec::new();
    for part in split(value, b',') {
        match read(part) {
            Ok(one) => found.push(one),
            Err(issue) => issues.push(issue),
        }
    }
    if issues.is_empty() { Ok(found) } else { Err(issues) }
}

/// One of them holds. Ids are taken together, and so are titles; a single part stands for itself, so that the tree stays flat.
fn any(mut parts: Vec<Filter>) -> Filter {
    let mut ids: Vec<Id> = Vec::new();
    let mut titles: Vec<TitleTest> = Vec::new();
    parts.retain_mut(|part| match part {
        Filter::Ids(more) => {
            ids.append(more);
            false
        }
        Filter::Title(test) => {
            titles.push(std::mem::replace(test, TitleTest::Present));
            false
        }
        _ => true,
    });
    if titles.len() > 1 {
        parts.push(Filter::Title(TitleTest::OneOf(titles)));
    } else {
        parts.extend(titles.pop().map(Filter::Title));
    }
    if !ids.is_empty() {
        ids.sort_unstable();
        ids.dedup();
        parts.push(Filter::Ids(ids));
    }
    if parts.len() == 1 { parts.remove(0) } else { Filter::Any(parts) }
}

/// `:missing=true` and `:missing=false`.
fn missing(target: RowTarget, name: &str, value: &str) -> Result<Filter, Issue> {
    let present = match target {
        RowTarget::Id | RowTarget::State => Filter::All(Vec::new()),
        RowTarget::Category => Filter::Class(ClassTest::Category(TokenTest::Present)),
        RowTarget::Kind => Filter::Class(ClassTest::Kind(TokenTest::Present)),
        RowTarget::Token(field) | RowTarget::Reference { field, .. } => {
            Filter::Term(Term::new(field, TermForm::Present, ""))
        }
        RowTarget::Time(field) => Filter::Time(field, TimeTest::Present),
        RowTarget::Title => Filter::Title(TitleTest::Present),
        // The table offers `:missing` for neither, as R5 has it for no composite and a chain looks at another resource.
        RowTarget::SectionCodeText | RowTarget::Registry => return Err(wrong(name, value, "no modifier")),
    };
    match value {
        "false" => Ok(present),
        "true" => Ok(Filter::Not(Box::new(present))),
        _ => Err(wrong(name, value, "true or false")),
    }
}

fn patient(name: &str, part: &str) -> Result<PatientIdentifier, Issue> {
    match SearchToken::parse(part) {
        Some(SearchToken::Code(value)) => Ok(PatientIdentifier { system: None, value }),
        Some(SearchToken::SystemCode(system, value)) => Ok(PatientIdentifier { system: Some(system), value }),
        _ => Err(wrong(name, part, "system|value")),
    }
}

struct ConditionReader<'a> {
    name: &'a str,
    settings: &'a ReadingLimits<'a>,
}

impl ConditionReader<'_> {
    fn alternative(&self, target: RowTarget, modifier: Option<Modifier>, part: &str) -> Result<Filter, Issue> {
        Ok(match target {
            RowTarget::Id => self.id(part)?,
            RowTarget::State => self.status(part)?,
            RowTarget::Category => Filter::Class(ClassTest::Category(self.token(part)?.test())),
            RowTarget::Kind => Filter::Class(ClassTest::Kind(self.token(part)?.test())),
            RowTarget::Token(field) => Filter::Term(self.token(part)?.term(field)),
            RowTarget::Reference { identifier: Some(field), .. } if modifier == Some(Modifier::Identifier) => {
                Filter::Term(self.token(part)?.term(field))
            }
            RowTarget::Reference { field, target, .. } => {
                let base_urls = [self.settings.base_url, self.settings.names.base_url.as_str()];
                let asked = reference::asked(&unescape(part), target, base_urls)
                    .ok_or_else(|| issue::no_reference(self.name, part, target))?;
                Filter::Term(Term::new(field, TermForm::Code, &asked))
            }
            RowTarget::Time(field) => time::filter(field, part, self.settings.now)
                .map_err(|problem| self.wrong_time(problem, part, target))?,
            RowTarget::Title => self.title(modifier, part)?,
            RowTarget::SectionCodeText => self.section_code_text(part)?,
            RowTarget::Registry => return Err(self.wrong(part, "system|value")),
        })
    }

    /// A well-formed id that no certificate can have finds nothing; that is no error.
    fn id(&self, part: &str) -> Result<Filter, Issue> {
        let text = unescape(part);
        if !reference::is_id(&text) {
            return Err(self.wrong(part, "an id"));
        }
        Ok(Id::parse(&text).map_or(Filter::Any(Vec::new()), |id| Filter::Ids(vec![id])))
    }

    fn status(&self, part: &str) -> Result<Filter, Issue> {
        let code = match self.token(part)? {
            SearchToken::System(system) if system == STATUS_SYSTEM => return Ok(Filter::All(Vec::new())),
            SearchToken::Code(code) | SearchToken::CodeWithoutSystem(code) => Some(code),
            SearchToken::SystemCode(system, code) => (system == STATUS_SYSTEM).then_some(code),
            SearchToken::System(_) => None,
        };
        let status = code.and_then(|code| Status::parse(&code)).ok_or_else(|| {
            let known = Status::ALL.map(Status::code).join(", ");
            self.wrong(part, &format!("one of {known}"))
        })?;
        Ok(Filter::Class(ClassTest::State(status.state())))
    }

    fn title(&self, modifier: Option<Modifier>, part: &str) -> Result<Filter, Issue> {
        let text = unescape(part);
        if modifier == Some(Modifier::Exact) {
            return Ok(Filter::Title(TitleTest::Exact(text.into_owned())));
        }
        let folded = fold(&text);
        // Blanks or accents alone would find every title there is.
        if folded.is_empty() {
            return Err(issue::empty(self.name));
        }
        Ok(Filter::Title(match modifier {
            Some(Modifier::Contains) => TitleTest::Contains { folded },
            _ => TitleTest::BeginsWith { folded },
        }))
    }

    fn section_code_text(&self, part: &str) -> Result<Filter, Issue> {
        let parts: Vec<&str> = split(part, b'$').collect();
        let term = match parts[..] {
            [code, text] if !text.trim().is_empty() => {
                SearchToken::parse(code).and_then(|code| section_code_text::asked(&code, &unescape(text)))
            }
            _ => None,
        };
        term.map(Filter::Term).ok_or_else(|| self.wrong(part, "code$text or system|code$text"))
    }

    fn token(&self, part: &str) -> Result<SearchToken, Issue> {
        SearchToken::parse(part).ok_or_else(|| self.wrong(part, TOKEN))
    }

    fn wrong_time(&self, problem: time::SearchDateError, part: &str, target: RowTarget) -> Issue {
        match problem {
            time::SearchDateError::Prefix if target == RowTarget::Time(TimeField::Period) => {
                self.wrong(part, PERIOD_PREFIXES)
            }
            time::SearchDateError::Prefix => self.wrong(part, PREFIXES),
            time::SearchDateError::Time(TimeError::Malformed) => self.wrong(part, DATE),
            time::SearchDateError::Time(TimeError::NotInLocalTime) => issue::not_in_local_time(self.name, part),
        }
    }

    fn wrong(&self, part: &str, expected: &str) -> Issue {
        wrong(self.name, part, expected)
    }
}
