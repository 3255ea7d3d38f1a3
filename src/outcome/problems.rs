//! Everything wrong with one body, as it is found: the first hundred are kept to be told, the others are counted.

use super::{Hcert, Issue, Severity};
use crate::limits::BODY_ISSUES_MAX;

/// Problems in the order in which they were found.
#[derive(Debug, Default)]
pub struct Problems {
    issues: Vec<Issue>,
    left_out: usize,
    errors: usize,
}

impl Problems {
    /// Adds an error, which is made only when there is room for it.
    pub fn add(&mut self, issue: impl FnOnce() -> Issue) {
        self.errors += 1;
        self.put(issue);
    }

    /// Adds what is worth to know but refuses nothing.
    pub fn warn(&mut self, issue: impl FnOnce() -> Issue) {
        self.put(|| issue().severity(Severity::Warning));
    }

    fn put(&mut self, issue: impl FnOnce() -> Issue) {
        if self.issues.len() < BODY_ISSUES_MAX {
            self.issues.push(issue());
        } else {
            self.left_out += 1;
        }
    }

    /// Takes those of a later check, but for issues about an element that an earlier check told of: it would say the same in other
    /// words. What lies below such an element is told.
    pub fn take_further(&mut self, further: Problems) {
        let told = self.issues.len();
        let Problems { issues, left_out, errors } = further;
        let errors_kept = issues.iter().filter(|issue| issue.is_error()).count();
        self.errors += errors - errors_kept;
        for issue in issues {
            if self.issues[..told].iter().all(|earlier| earlier.expression() != issue.expression()) {
                self.errors += usize::from(issue.is_error());
                self.put(|| issue);
            }
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

    pub fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// Those kept.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// What an answer tells: the first hundred, and in a last one how many were left out.
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
    fn from(issues: Vec<Issue>) -> Self {
        let mut problems = Problems::default();
        for issue in issues {
            problems.errors += usize::from(issue.is_error());
            problems.put(|| issue);
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn an_element_is_told_of_by_the_first_check_that_finds_something() {
        let mut problems = Problems::from(vec![Issue::new(Hcert::FormatWrong).at("Composition.date")]);
        let further = ["Composition.date", "Composition.date", "Composition.title", "Composition.title"];
        problems.take_further(Problems::from(further.map(|at| Issue::new(Hcert::ElementMissing).at(at)).to_vec()));
        assert_eq!(problems.issues().len(), 3);
        assert!(problems.has_errors());
    }
}
