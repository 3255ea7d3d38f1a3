//! Keeps what the service answered, for a check from outside: `HCERT_BODIES=FILE` names where.
//!
//! The file begins anew with each run. It holds one line for each distinct FHIR body:
//! `{"line": "GET /fhir/metadata", "status": 200, "body": "{…}"}`. Bodies that differ only in what differs from run to run
//! (ids of issues, sealed links) count as the same. A body of more than [`BYTES_MAX`] is not kept.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex};

use serde_json::json;

use crate::response::TestResponse;

/// Larger ones are pages of many resources, which other tests ask for in smaller ones.
const BYTES_MAX: usize = 8 << 20;

struct Kept {
    file: File,
    known: HashSet<String>,
}

static KEPT: LazyLock<Option<Mutex<Kept>>> = LazyLock::new(|| {
    let path = std::env::var_os("HCERT_BODIES")?;
    let file = File::create(&path).unwrap_or_else(|error| panic!("HCERT_BODIES={}: {error}", path.display()));
    Some(Mutex::new(Kept { file, known: HashSet::new() }))
});

/// Keeps a body, if it is one of FHIR and was asked for.
pub(crate) fn keep(told: &TestResponse) {
    let Some(kept) = KEPT.as_ref() else { return };
    let is_fhir = told.header("content-type").is_some_and(|media_type| media_type.starts_with("application/fhir+json"));
    if !is_fhir || told.body.is_empty() || told.body.len() > BYTES_MAX || told.headers.contains_key("content-encoding")
    {
        return;
    }
    let mut kept = kept.lock().expect("no test panics with it");
    if kept.known.insert(told.masked_body()) {
        let line = json!({"line": told.line, "status": told.status.as_u16(), "body": told.text()});
        writeln!(kept.file, "{line}").expect("the file of HCERT_BODIES can be written");
    }
}
