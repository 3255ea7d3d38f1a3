//! The rows, a file for each matter.

mod format;
mod invariant;
mod structure;

use crate::row::Table;

pub static TABLES: &[Table] = &[
    Table { kind: "structural", rows: structure::ROWS },
    Table { kind: "structural", rows: format::ROWS },
    Table { kind: "service", rows: format::OWN },
    Table { kind: "structural", rows: invariant::ROWS },
];
