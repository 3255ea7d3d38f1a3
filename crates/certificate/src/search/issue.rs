//! What can be wrong with a search parameter, each told with its name.
//!
//! The place is `http.` and the name: FHIR R5 `operationoutcome-definitions.html#OperationOutcome.issue.expression`.

use fhir::outcome::{Hcert, Issue, Severity};

/// `SearchValueWrong`, or `SearchValueEmpty` when there is nothing at all. `expected` says what would be right.
pub fn wrong(name: &str, value: &str, expected: &str) -> Issue {
    if value.is_empty() {
        return empty(name);
    }
    let issue = of(Hcert::SearchValueWrong, name).with("value", value.to_owned());
    issue.with("expected", expected.to_owned())
}

/// `SearchValueEmpty`
pub fn empty(name: &str) -> Issue {
    of(Hcert::SearchValueEmpty, name)
}

/// `SearchParameterRepeated`
pub fn repeated(name: &str) -> Issue {
    of(Hcert::SearchParameterRepeated, name)
}

/// `SearchParameterUnknown`; `known` lists the parameters there are.
pub fn unknown(name: &str, known: String) -> Issue {
    of(Hcert::SearchParameterUnknown, name).with("known", known)
}

/// The warning for a parameter that was dropped. Contract 4.9.
pub fn ignored(name: &str) -> Issue {
    of(Hcert::ParameterIgnored, name).severity(Severity::Warning)
}

/// `SearchModifierUnknown` for the parameter `name`, sent as `sent`; `known` lists its modifiers.
pub fn modifier_unknown(name: &str, sent: &str, known: String) -> Issue {
    let modifier = sent.rsplit_once(':').map_or("", |(_, modifier)| modifier);
    let issue = Issue::new(Hcert::SearchModifierUnknown).with("name", name.to_owned());
    issue.with("modifier", modifier.to_owned()).with("known", known).at(place(sent))
}

/// `ReferenceWrong`; `target` is the type that may be referred to.
pub fn no_reference(name: &str, value: &str, target: &'static str) -> Issue {
    let issue = Issue::new(Hcert::ReferenceWrong).with("value", value.to_owned());
    issue.with("expected", target).at(place(name))
}

/// `LocalTimeMissing`
pub fn not_in_local_time(name: &str, value: &str) -> Issue {
    Issue::new(Hcert::LocalTimeMissing).with("value", value.to_owned()).at(place(name))
}

fn of(code: Hcert, name: &str) -> Issue {
    Issue::new(code).with("name", name.to_owned()).at(place(name))
}

fn place(name: &str) -> String {
    format!("http.{name}")
}
