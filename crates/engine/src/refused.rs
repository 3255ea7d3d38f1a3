//! Why a change was not made, in words.

use std::fmt;

use super::RefusedChange;
use fhir::outcome::Language;

impl fmt::Display for RefusedChange {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RefusedChange::Rules(outcome) => {
                let texts: Vec<_> = outcome.issues().iter().map(|issue| issue.text(Language::English)).collect();
                formatter.write_str(&texts.join("; "))
            }
            RefusedChange::NumberInUse(id, _) => write!(formatter, "Composition/{id} has this number"),
            RefusedChange::Store(error) => error.fmt(formatter),
            RefusedChange::Clock(problem) => {
                write!(formatter, "{problem}; nothing is stored until hcert clock accept or reset")
            }
            RefusedChange::Busy => formatter.write_str("the engine is busy"),
            RefusedChange::Closed => formatter.write_str("the engine was closed"),
            RefusedChange::Moved => formatter.write_str("the certificate changed meanwhile"),
        }
    }
}
