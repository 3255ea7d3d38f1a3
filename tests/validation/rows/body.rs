//! Bodies that are no certificate at all: nothing else is told of them.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("nothing", &DRIVER, Body(""), &["HCERT-100 structure"]),
    row("blanks", &DRIVER, Body(" \n\t"), &["HCERT-100 structure"]),
    row("half of an object", &DRIVER, Body(r#"{"resourceType":"Composition","#), &["HCERT-102 structure"]),
    row("XML", &DRIVER, Body(r#"<Composition xmlns="http://hl7.org/fhir"/>"#), &["HCERT-102 structure"]),
    row("two objects", &DRIVER, Body("{}{}"), &["HCERT-102 structure"]),
    row("a comma too many", &DRIVER, Text(r#"{"resourceType":"#, r#"{,"resourceType":"#), &["HCERT-102 structure"]),
    row("a comment", &DRIVER, Text(r#"{"resourceType":"#, r#"{/* x */"resourceType":"#), &["HCERT-102 structure"]),
    row("a number that is none", &DRIVER, Text(r#""status":"final""#, r#""status":NaN"#), &["HCERT-102 structure"]),
    row("a number with a leading zero", &DRIVER, Text(r#""status":"final""#, r#""status":01"#), &["HCERT-102 structure"]),
    row("a high surrogate alone", &DRIVER, Text("TT-2025", r"\ud800"), &["HCERT-102 structure"]),
    row("a low surrogate alone", &DRIVER, Text("TT-2025", r"\udc00"), &["HCERT-102 structure"]),
    row("a control character that is not escaped", &DRIVER, Text("TT-2025", "\u{1}"), &["HCERT-102 structure"]),
    row("a list", &DRIVER, Body("[1]"), &["HCERT-108 structure Composition"]),
    row("a number", &DRIVER, Body("7"), &["HCERT-108 structure Composition"]),
    row("a text", &DRIVER, Body(r#""Composition""#), &["HCERT-108 structure Composition"]),
    row("null", &DRIVER, Body("null"), &["HCERT-105 structure", "HCERT-108 structure Composition"]),
    row("an object without a resource type", &DRIVER, Remove("/resourceType"), &["HCERT-106 structure Composition"]),
    row("another resource", &DRIVER, Set("/resourceType", r#""Observation""#), &["HCERT-106 structure Composition"]),
    row("a resource type that R5 does not know", &DRIVER, Set("/resourceType", r#""Certificate""#), &["HCERT-106 structure Composition"]),
    row("a resource type that is no text", &DRIVER, Set("/resourceType", "1"), &["HCERT-106 structure Composition"]),
    row("a resource type in a list", &DRIVER, Set("/resourceType", r#"["Composition"]"#), &["HCERT-106 structure Composition"]),
];
