//! The rows, a file for each matter.
//!
//! Structure, formats, invariants and R5's codes are what any R5 implementation must see as well; the others are rules of the profiles
//! and of this service.

mod body;
mod certificate;
mod code;
mod format;
mod invariant;
mod narrative;
mod observation;
mod reference;
mod right;
mod section;
mod structure;

use crate::row::Table;

pub(crate) static TABLES: &[Table] = &[
    Table { kind: "body", rows: body::ROWS },
    Table { kind: "structural", rows: structure::ROWS },
    Table { kind: "structural", rows: format::ROWS },
    Table { kind: "structural", rows: invariant::ROWS },
    Table { kind: "structural", rows: code::R5 },
    Table { kind: "service", rows: format::OWN },
    Table { kind: "service", rows: certificate::OWN },
    Table { kind: "profile", rows: certificate::ROWS },
    Table { kind: "profile", rows: section::ROWS },
    Table { kind: "profile", rows: observation::ROWS },
    Table { kind: "profile", rows: code::ROWS },
    Table { kind: "profile", rows: reference::ROWS },
    Table { kind: "narrative", rows: narrative::ROWS },
    Table { kind: "right", rows: right::ROWS },
    Table { kind: "service", rows: right::OWN },
];
