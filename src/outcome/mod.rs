//! What went wrong, as FHIR tells it: an [`Outcome`] holds issues for the caller and, for the log alone, a private cause.
//!
//! The domain says *what* is wrong; which HTTP status that is stands in the catalogue and is read by `http::respond`.

mod catalogue;
mod operation_outcome;
mod problems;
mod words;

use std::borrow::Cow;

pub use catalogue::{Entry, Hcert, IssueType, Language, entry};
pub use problems::Problems;

/// One or more problems of one request, told together.
#[derive(Debug)]
pub struct Outcome {
    issues: Vec<Issue>,
    cause: Option<String>,
}

/// One problem: a code of the catalogue, the values of its text, and the elements it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    severity: Severity,
    code: Hcert,
    values: Vec<(&'static str, Cow<'static, str>)>,
    expression: Vec<String>,
}

/// `OperationOutcome.issue.severity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Information,
}

impl Severity {
    pub fn code(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Information => "information",
        }
    }
}

impl Issue {
    /// An error without values.
    pub fn new(code: Hcert) -> Self {
        Issue { severity: Severity::Error, code, values: Vec::new(), expression: Vec::new() }
    }

    /// Fills `<name>` of the catalogue's text. What came from outside is shortened to 200 characters.
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        let value = match value.char_indices().nth(200) {
            Some((end, _)) if name != "known" && name != "supported" => Cow::Owned(format!("{}…", &value[..end])),
            _ => value,
        };
        self.values.push((name, value));
        self
    }

    /// Names the element the issue is about, as FHIRPath (`Composition.section[2].entry[0]`) or as an HTTP name (`http.status`).
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        let expression = expression.into();
        if !expression.is_empty() {
            self.expression.push(expression);
        }
        self
    }

    /// Puts an element in front of what the issue is about: `status` within `Composition` is `Composition.status`.
    pub fn within(mut self, element: &str) -> Self {
        self.expression.iter_mut().for_each(|expression| *expression = format!("{element}.{expression}"));
        self
    }

    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Whether it refuses something.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub fn severity_code(&self) -> &'static str {
        self.severity.code()
    }

    /// Our own code, when it is one of ours.
    pub fn own_code(&self) -> Option<Hcert> {
        Some(self.code)
    }

    pub fn code(&self) -> Hcert {
        self.code
    }

    pub fn expression(&self) -> &[String] {
        &self.expression
    }

    /// The text for the caller in the language asked for, values filled in.
    pub fn text(&self, language: Language) -> String {
        let mut open = entry(self.code).text(language);
        let mut text = String::with_capacity(open.len() + 64);
        // From left to right and once only: a value that looks like a place is a value.
        while let Some((before, behind)) = open.split_once('<') {
            let value = |name| match language {
                Language::English => self.value(name).map(Cow::Borrowed),
                Language::Estonian => self.value(name).map(|value| words::estonian(name, value)),
            };
            let place = behind.split_once('>').and_then(|(name, behind)| Some((value(name)?, behind)));
            let (filled, behind) = place.unwrap_or((Cow::Borrowed("<"), behind));
            text.push_str(before);
            text.push_str(&filled);
            open = behind;
        }
        text.push_str(open);
        text
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}

impl Outcome {
    /// A fault of ours. The caller learns nothing of `cause`; it goes to the log.
    pub fn internal(cause: impl ToString) -> Self {
        Outcome::from(Issue::new(Hcert::Internal)).because(cause)
    }

    /// `Composition/<id>` does not exist.
    pub fn not_found(kind: &'static str, id: impl ToString) -> Self {
        Issue::new(Hcert::NotFound).with("type", kind).with("id", id.to_string()).into()
    }

    /// Adds the reason that only the log may show.
    pub fn because(mut self, cause: impl ToString) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// The code that decides the status: the first in the order of the catalogue, so that a body which cannot be read (400)
    /// weighs more than a rule that it breaks (422). Contract 5.2.
    pub fn leading(&self) -> Hcert {
        self.issues.iter().map(Issue::code).min().unwrap_or(Hcert::Internal)
    }

    /// Takes the issues of another outcome in.
    pub fn merge(&mut self, other: Outcome) {
        self.issues.extend(other.issues);
        self.cause = self.cause.take().or(other.cause);
    }
}

impl From<Issue> for Outcome {
    fn from(issue: Issue) -> Self {
        Outcome { issues: vec![issue], cause: None }
    }
}

impl From<Vec<Issue>> for Outcome {
    /// `issues` must not be empty: an outcome without an issue says nothing.
    fn from(issues: Vec<Issue>) -> Self {
        debug_assert!(!issues.is_empty(), "an outcome holds at least one issue");
        Outcome { issues, cause: None }
    }
}

impl From<Hcert> for Outcome {
    fn from(code: Hcert) -> Self {
        Issue::new(code).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_like_a_place_is_a_value() {
        let issue = Issue::new(Hcert::FormatWrong).with("value", "<type> <value> <").with("type", "<value>");
        assert_eq!(issue.text(Language::English), "'<type> <value> <' is not a valid <value>");
    }

    #[test]
    fn a_place_without_a_value_stays_open() {
        let issue = Issue::new(Hcert::FormatWrong).with("value", "x");
        assert_eq!(issue.text(Language::English), "'x' is not a valid <type>");
    }
}
