//! The table as cases for `tests/outside/run`, which asks other implementations the same (`docs/VALIDATION.md`).

use std::fmt::Write;
use std::{env, fs};

use hcert::fhir::json::{Json, Object};
use hcert::outcome::{self, Issue};

use crate::judge::{self, Judged};
use crate::rows::TABLES;

/// Bytes of a body from which a case is left out: it asks about a bound of ours, not about a rule.
const CASE_BYTES_MAX: usize = 100_000;

/// Writes a case a line to the file that `HCERT_OUTSIDE_CASES` names; does nothing without it.
#[test]
fn outside() {
    let Some(path) = env::var_os("HCERT_OUTSIDE_CASES") else { return };
    let mut lines = String::new();
    for table in TABLES {
        for row in table.rows.iter().filter(|row| row.judged == Judged::Create) {
            let body = row.body();
            // What is no UTF-8 or too large says nothing about rules.
            let Some(body) = String::from_utf8(body).ok().filter(|body| body.len() < CASE_BYTES_MAX) else { continue };
            let issues = judge::issues(body.as_bytes(), row.judged);
            let errors = issues.iter().filter(|issue| issue.is_error());
            let case = Json::object([
                ("name", Json::string(row.name)),
                ("kind", Json::string(table.kind)),
                ("accepted", Json::Bool(!issues.iter().any(Issue::is_error))),
                ("issues", Json::Array(errors.map(told).collect())),
                ("body", Json::string(body)),
            ]);
            writeln!(lines, "{}", String::from_utf8_lossy(&case.to_vec())).expect("a String takes everything");
        }
    }
    fs::write(path, lines).expect("HCERT_OUTSIDE_CASES names a file that can be written");
}

fn told(issue: &Issue) -> Json<'static> {
    let mut members = vec![
        ("code".into(), Json::string(issue.code().code())),
        ("type".into(), Json::string(outcome::entry(issue.code()).issue_type.clone())),
    ];
    if let [expression, ..] = issue.expression() {
        members.push(("expression".into(), Json::string(expression.clone())));
    }
    Json::Object(Object(members))
}
