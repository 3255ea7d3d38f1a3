//! Why a change was not made, in words.

use std::fmt;

use super::Refused;
use fhir::outcome::Language;

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refused::Rules(outcome) => {
                let texts: Vec<_> = outcome.issues().iter().map(|issue| issue.text(Language::English)).collect();
                formatter.write_str(&texts.join("; "))
            }
            Refused::Store(error) => error.fmt(formatter),
            Refused::Clock(problem) => {
                write!(formatter, "{problem}; nothing is stored until hcert clock accept or reset")
            }
            Refused::Busy => formatter.write_str("the engine is busy"),
            Refused::Closed => formatter.write_str("the engine was closed"),
            Refused::Moved => formatter.write_str("the certificate changed meanwhile"),
        }
    }
}
