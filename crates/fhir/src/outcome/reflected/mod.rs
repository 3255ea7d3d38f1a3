//! Errors of other systems, told on as they came: the patient registry's own, and those of the services and registers behind it.
//!
//! Source: specification of reflected errors, 7.1 and 7.2; Contract 6.3.

mod catalogue;
mod chain;
mod system;

pub use catalogue::{ISSUE_TYPE, ReflectedCode, all, find};
pub use system::{IssueSystems, System};

/// One issue of another system's OperationOutcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reflected {
    /// The other system's id of the issue, where that is a uuid.
    pub id: Option<String>,
    /// FHIR's code; `error` where the other system gave none.
    pub severity: String,
    /// FHIR issue type.
    pub issue_type: String,
    /// `details.coding`, in its order.
    pub codings: Vec<ReflectedCoding>,
    /// `details.text`; empty when there was none.
    pub text: String,
    /// `diagnostics`, where there were any.
    pub diagnostics: Option<String>,
    /// `expression`, in its order; empty when there was none.
    pub expression: Vec<String>,
}

/// A code of another system, as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReflectedCoding {
    /// `Coding.system`, where there was one.
    pub system: Option<String>,
    /// `Coding.code`, where there was one.
    pub code: Option<String>,
    /// `Coding.display`, where there was one.
    pub display: Option<String>,
}

impl Reflected {
    /// The code of the first coding, for narratives and logs.
    pub fn code(&self) -> &str {
        self.codings.iter().find_map(|coding| coding.code.as_deref()).unwrap_or(&self.issue_type)
    }

    /// The same, which now refuses nothing.
    pub fn as_warning(mut self) -> Reflected {
        "warning".clone_into(&mut self.severity);
        self
    }
}

/// What a registry refused with: its HTTP status and its issues, the registry's own first, the original error last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueChain {
    /// HTTP status of the registry's answer.
    pub status: u16,
    /// The issues of the registry's OperationOutcome, in their order.
    pub issues: Vec<Reflected>,
}
