//! Everything wrong with one body, as it is found: the first hundred are kept to be told, errors before warnings, and the others are
//! counted.

use super::{Hcert, Issue, Severity};
use crate::outcome::limits::BODY_ISSUES_MAX;

/// Problems in the order in which they were found.
#[derive(Debug, Default)]
pub struct Problems {
    issues: Vec<Issue>,
    left_out: usize,
    /// How many of `issues` are errors. Where any was found, one is kept.
    errors: usize,
}

impl Problems {
    /// Adds an error, which is made only when there is room for it.
    pub fn add(&mut self, issue: impl FnOnce() -> Issue) {
        self.put(true, issue);
    }

    /// Adds what is worth to know but refuses nothing.
    pub fn warn(&mut self, issue: impl FnOnce() -> Issue) {
        self.put(false, || issue().severity(Severity::Warning));
    }

    /// Keeps an issue. In a full list an error takes the place of the last issue that is none.
    fn put(&mut self, is_error: bool, issue: impl FnOnce() -> Issue) {
        if self.issues.len() == BODY_ISSUES_MAX {
            self.left_out += 1;
            if !is_error || self.errors == BODY_ISSUES_MAX {
                return;
            }
            if let Some(last) = self.issues.iter().rposition(|issue| !issue.is_error()) {
                self.issues.remove(last);
            }
        }
        self.errors += usize::from(is_error);
        self.issues.push(issue());
    }

    /// Takes those of a later check, but for issues that are known already or about an element of an earlier error: that check would
    /// say the same in other words. What lies below such an element is told.
    pub fn take_further(&mut self, further: Problems) {
        let Problems { mut issues, left_out, .. } = further;
        issues.retain(|issue| {
            let hides =
                |earlier: &Issue| earlier == issue || earlier.is_error() && earlier.expression() == issue.expression();
            !self.issues.iter().any(hides)
        });
        for issue in issues {
            self.put(issue.is_error(), || issue);
        }
        self.left_out += left_out;
    }

    /// The same problems of a body that stands inside an element.
    pub fn within(mut self, element: &str) -> Problems {
        self.issues = self.issues.into_iter().map(|issue| issue.within(element)).collect();
        self
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether no problem was found, not even a warning.
    pub fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// Whether there are more errors than an answer lists, so that nothing found from here on is told.
    pub fn is_full(&self) -> bool {
        self.errors == BODY_ISSUES_MAX && self.left_out > 0
    }

    /// Those kept.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// What an answer tells: those kept, and in a last one how many were left out.
    pub fn into_issues(self) -> Vec<Issue> {
        let Problems { mut issues, left_out, .. } = self;
        if left_out > 0 {
            let last = Issue::new(Hcert::LeftOut).with("count", left_out.to_string());
            issues.push(last.severity(Severity::Information));
        }
        issues
    }
}

impl From<Vec<Issue>> for Problems {
    /// Also of what [`Problems::into_issues`] made, with its count of those left out.
    fn from(issues: Vec<Issue>) -> Self {
        let mut problems = Problems::default();
        for issue in issues {
            match issue.left_out() {
                Some(count) => problems.left_out += count,
                None => problems.put(issue.is_error(), || issue),
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;

    #[test]
    fn a_hundred_are_told_and_the_others_counted() {
        for (found, left_out) in [(99, None), (100, None), (101, Some("1")), (5_000, Some("4900"))] {
            let mut problems = Problems::default();
            (0..found).for_each(|_| problems.add(|| Issue::new(Hcert::JsonEmptyValue)));
            let issues = problems.into_issues();
            let last = issues.last().filter(|issue| issue.code() == Hcert::LeftOut);
            assert_eq!(last.and_then(|issue| issue.value("count")), left_out);
            assert_eq!(issues.len(), found.min(BODY_ISSUES_MAX) + usize::from(last.is_some()));
        }
    }

    #[test]
    fn a_warning_alone_refuses_nothing() {
        let mut problems = Problems::default();
        problems.warn(|| Issue::new(Hcert::CodeUnknown));
        assert!(!problems.has_errors() && problems.issues()[0].severity_code() == "warning");
        problems.add(|| Issue::new(Hcert::CodeUnknown));
        assert!(problems.has_errors());
    }

    fn error(code: Hcert) -> Issue {
        Issue::new(code).at("Composition.date")
    }

    fn warning(code: Hcert) -> Issue {
        error(code).severity(Severity::Warning)
    }

    /// What was seen: behind a hundred warnings an error was only counted, and the refusal had status 200.
    #[test]
    fn an_error_takes_the_place_of_the_last_warning() {
        for (warnings, errors) in [(100, 1), (300, 1), (99, 5), (300, 300)] {
            let mut problems = Problems::default();
            (0..warnings).for_each(|_| problems.warn(|| warning(Hcert::LinkDead)));
            let mut further = Problems::default();
            (0..errors).for_each(|_| further.add(|| error(Hcert::SubjectUnknowable)));
            problems.take_further(further);
            assert!(problems.has_errors());
            let issues = problems.into_issues();
            let kept = issues.iter().filter(|issue| issue.is_error()).count();
            assert_eq!(kept, errors.min(BODY_ISSUES_MAX));
            assert_eq!(issues.len(), BODY_ISSUES_MAX + 1);
            let left_out = (warnings + errors - BODY_ISSUES_MAX).to_string();
            assert_eq!(issues[BODY_ISSUES_MAX].value("count"), Some(&*left_out));
            assert!(Outcome::from(issues).status() >= 400);
        }
    }

    #[test]
    fn those_left_out_stay_counted() {
        let mut problems = Problems::default();
        (0..300).for_each(|_| problems.warn(|| warning(Hcert::LinkDead)));
        let mut issues = problems.into_issues();
        issues.push(error(Hcert::SubjectUnknowable));
        let issues = Problems::from(issues).into_issues();
        assert_eq!((issues.len(), issues[100].value("count")), (101, Some("201")));
    }

    /// What was seen: an error was dropped because an earlier check had warned of the same element.
    #[test]
    fn a_warning_hides_nothing_but_itself() {
        let mut problems = Problems::from(vec![warning(Hcert::LinkDead)]);
        problems.take_further(Problems::from(vec![warning(Hcert::LinkDead), error(Hcert::FormatWrong)]));
        assert_eq!(problems.issues(), [warning(Hcert::LinkDead), error(Hcert::FormatWrong)]);
        problems.take_further(Problems::from(vec![error(Hcert::ElementMissing), warning(Hcert::CodeUnknown)]));
        assert_eq!(problems.issues().len(), 2);
    }

    #[test]
    fn an_element_is_told_of_by_the_first_check_that_finds_something() {
        let mut problems = Problems::from(vec![Issue::new(Hcert::FormatWrong).at("Composition.date")]);
        let further = ["Composition.date", "Composition.date", "Composition.title", "Composition.title"];
        problems.take_further(Problems::from(further.map(|at| Issue::new(Hcert::ElementMissing).at(at)).to_vec()));
        assert_eq!(problems.issues().len(), 3);
        assert!(problems.has_errors());
    }
}
