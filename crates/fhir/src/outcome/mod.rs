//! What went wrong, as FHIR tells it: an [`Outcome`] holds issues for the caller and, for the log alone, a private cause.
//!
//! The domain says *what* is wrong; which HTTP status that is stands in the catalogue and is read by `http::respond`.

mod catalogue;
mod concept;
pub mod limits;
mod operation_outcome;
mod problems;
pub mod reflected;
mod template;
mod words;

use std::borrow::Cow;

pub use catalogue::{CatalogueEntry, Hcert, IssueType, Language, entry};
pub use problems::Problems;
pub use reflected::{IssueChain, IssueSystems, Reflected};

/// One or more problems of one request, told together: our own, and behind them those of other systems.
#[derive(Debug)]
pub struct Outcome {
    issues: Vec<Issue>,
    reflected: Vec<Reflected>,
    /// Status that the reflected issues lead to where none is our own.
    reflected_status: u16,
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
    /// FHIR code `error`: it refuses something.
    Error,
    /// FHIR code `warning`: it is worth knowing, but refuses nothing.
    Warning,
    /// FHIR code `information`: it tells what was done, or left out of an answer.
    Information,
}

impl Severity {
    /// The FHIR code.
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

    /// Fills `<name>` of the catalogue's text. A value from outside is shortened to 200 characters, and its control characters are
    /// named (`U+0008`).
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        let value = match value.char_indices().nth(200) {
            Some((end, _)) if name != "known" && name != "supported" => Cow::Owned(format!("{}…", &value[..end])),
            _ => value,
        };
        self.values.push((name, printable(value)));
        self
    }

    /// Names the element the issue is about, as FHIRPath (`Composition.section[2].entry[0]`) or as an HTTP name (`http.status`).
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        let expression = printable(Cow::Owned(expression.into())).into_owned();
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

    /// The same issue with this severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Whether it refuses something.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `OperationOutcome.issue.severity` as a FHIR code.
    pub fn severity_code(&self) -> &'static str {
        self.severity.code()
    }

    /// Our own code, when it is one of ours.
    pub fn own_code(&self) -> Option<Hcert> {
        Some(self.code)
    }

    /// Its code in the catalogue.
    pub fn code(&self) -> Hcert {
        self.code
    }

    /// `OperationOutcome.issue.expression`: FHIRPath of the elements it is about; empty when it is about none.
    pub fn expression(&self) -> &[String] {
        &self.expression
    }

    /// The text for the caller in the language asked for, values filled in.
    pub fn text(&self, language: Language) -> String {
        template::fill(entry(self.code).text(language), |name| match language {
            Language::English => self.value(name).map(Cow::Borrowed),
            Language::Estonian => self.value(name).map(|value| words::estonian(name, value)),
        })
    }

    /// How many others were left out, where the issue says so.
    pub fn left_out(&self) -> Option<usize> {
        self.value("count").filter(|_| self.code == Hcert::LeftOut)?.parse().ok()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}

/// A value without the control characters that a FHIR string must not hold; each is named instead. Decision 156.
///
/// Source: FHIR R5 `datatypes.html#string`.
fn printable(value: Cow<'static, str>) -> Cow<'static, str> {
    let is_refused = |character: char| character < ' ' && !matches!(character, '\t' | '\n' | '\r');
    if !value.contains(is_refused) {
        return value;
    }
    let mut text = String::with_capacity(value.len() + 16);
    for character in value.chars() {
        match is_refused(character) {
            true => text.push_str(&format!("U+{:04X}", u32::from(character))),
            false => text.push(character),
        }
    }
    Cow::Owned(text)
}

impl Outcome {
    fn from_issues(issues: Vec<Issue>) -> Self {
        Outcome { issues, reflected: Vec::new(), reflected_status: 0, cause: None }
    }

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

    /// The reason that only the log may show, where one was added.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Our own issues.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Issues of other systems, in their order.
    pub fn reflected(&self) -> &[Reflected] {
        &self.reflected
    }

    /// Our own issues and behind them those of other systems, where either may be empty, but not both.
    pub fn telling(issues: Vec<Issue>, reflected: Vec<Reflected>) -> Self {
        debug_assert!(!issues.is_empty() || !reflected.is_empty(), "an outcome holds at least one issue");
        Outcome::from_issues(issues).reflecting(200, reflected)
    }

    /// Tells issues of other systems behind our own. `status` counts when there are none of our own.
    pub fn reflecting(mut self, status: u16, issues: Vec<Reflected>) -> Self {
        self.reflected_status = status;
        self.reflected.extend(issues);
        self
    }

    /// HTTP status of a refusal that is nothing but this, from 400. What another system refuses with 400 weighs as much as our own 400.
    /// Issues that refuse nothing are no refusal: that we refuse with them is a fault of ours.
    pub fn status(&self) -> u16 {
        let status = match (entry(self.leading()).status, self.reflected_status) {
            (_, reflected) if self.issues.is_empty() && !self.reflected.is_empty() => reflected,
            (422, 400) => 400,
            (status, _) => status,
        };
        if status < 400 { entry(Hcert::Internal).status } else { status }
    }

    /// The code that decides the status, for the log.
    pub fn leading_code(&self) -> &str {
        match self.reflected.first() {
            Some(first) if self.issues.is_empty() => first.code(),
            _ => self.leading().code(),
        }
    }

    /// The code of our own that decides the status: the first error in the order of the catalogue, so that a body which cannot be read
    /// (400) weighs more than a rule that it breaks (422). Without an error, the first issue. Contract 5.2.
    pub fn leading(&self) -> Hcert {
        let errors = self.issues.iter().filter(|issue| issue.is_error()).map(Issue::code).min();
        errors.or_else(|| self.issues.iter().map(Issue::code).min()).unwrap_or(Hcert::Internal)
    }

    /// Takes the issues of another outcome in.
    pub fn merge(&mut self, other: Outcome) {
        self.issues.extend(other.issues);
        self.reflected.extend(other.reflected);
        self.reflected_status = self.reflected_status.max(other.reflected_status);
        self.cause = self.cause.take().or(other.cause);
    }
}

impl From<IssueChain> for Outcome {
    /// The chain alone, under its own status. It must not be empty.
    fn from(chain: IssueChain) -> Self {
        debug_assert!(!chain.issues.is_empty(), "a chain holds at least one issue");
        Outcome::from_issues(Vec::new()).reflecting(chain.status, chain.issues)
    }
}

impl From<Issue> for Outcome {
    fn from(issue: Issue) -> Self {
        Outcome::from_issues(vec![issue])
    }
}

impl From<Vec<Issue>> for Outcome {
    /// `issues` must not be empty: an outcome without an issue says nothing.
    fn from(issues: Vec<Issue>) -> Self {
        debug_assert!(!issues.is_empty(), "an outcome holds at least one issue");
        Outcome::from_issues(issues)
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

    /// What was seen: a message repeated the control characters of a request, so that the OperationOutcome was no valid FHIR.
    #[test]
    fn control_characters_of_a_value_are_named() {
        let text =
            |value| Issue::new(Hcert::FormatWrong).with("value", value).with("type", "code").text(Language::English);
        assert_eq!(text("a\u{8}\u{c}\0b\t\n"), "'aU+0008U+000CU+0000b\t\n' is not a valid code");
        assert_eq!(text("õ €"), "'õ €' is not a valid code");
        assert_eq!(Issue::new(Hcert::FormatWrong).at("http.a\u{8}b").expression(), ["http.aU+0008b"]);
    }

    #[test]
    fn no_refusal_has_the_status_of_a_success() {
        for code in [Hcert::LinkDead, Hcert::LeftOut, Hcert::AllRight] {
            assert_eq!(Outcome::from(Issue::new(code).severity(Severity::Warning)).status(), 500);
        }
    }

    #[test]
    fn a_place_without_a_value_stays_open() {
        let issue = Issue::new(Hcert::FormatWrong).with("value", "x");
        assert_eq!(issue.text(Language::English), "'x' is not a valid <type>");
    }
}
