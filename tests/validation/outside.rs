//! What `tests/outside/run` asks other implementations, too: the table, systematic changes of the examples, and the definitions that
//! both are judged by (`docs/VALIDATION.md`).

use std::collections::HashSet;
use std::env;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use certificate::definitions;
use fhir::json::{Json, Object};
use fhir::outcome::{self, Issue};

use crate::judge::{self, Judged, NAMES};
use crate::rows::TABLES;
use crate::systematic;

/// Bytes of a body from which a case is left out: it asks about a bound of ours, not about a rule.
const CASE_BYTES_MAX: usize = 100_000;

/// Changes of the examples that are compared at least.
const CHANGES_MIN: usize = 3_000;

/// Writes `rows.ndjson`, `changes.ndjson` and `definitions.ndjson` into the folder that `HCERT_OUTSIDE` names; without it, the cases
/// are judged all the same and written nowhere.
#[test]
fn outside() {
    let mut rows = Lines::create("rows");
    for table in TABLES {
        for row in table.rows.iter().filter(|row| row.judged == Judged::Create) {
            rows.case(row.name, table.kind, row.body());
        }
    }
    let mut changes = Lines::create("changes");
    let (mut names, mut bodies) = (HashSet::new(), HashSet::new());
    for change in systematic::changes() {
        assert!(names.insert(change.name.clone()), "two changes are called {}", change.name);
        if bodies.insert(change.body.clone()) {
            changes.case(&change.name, "change", change.body);
        }
    }
    assert!(bodies.len() >= CHANGES_MIN, "{} changes", bodies.len());
    let mut lines = Lines::create("definitions");
    for resource_type in ["CodeSystem", "ValueSet", "StructureDefinition", "OperationDefinition"] {
        definitions::of_type(resource_type).for_each(|definition| lines.write(&definition.read(&NAMES)));
    }
}

/// A file of a JSON value a line, or nothing where no folder is named.
struct Lines(Option<BufWriter<File>>);

impl Lines {
    fn create(name: &str) -> Lines {
        let folder = env::var_os("HCERT_OUTSIDE").map(PathBuf::from);
        Lines(folder.map(|folder| {
            fs::create_dir_all(&folder).expect("HCERT_OUTSIDE names a folder that can be made");
            BufWriter::new(File::create(folder.join(format!("{name}.ndjson"))).expect("a file in HCERT_OUTSIDE"))
        }))
    }

    fn write(&mut self, line: &Json) {
        if let Some(file) = &mut self.0 {
            writeln!(file, "{}", String::from_utf8_lossy(&line.to_vec())).expect("a file that can be written");
        }
    }

    /// A body and what we say of it. What is no UTF-8 or too large says nothing about rules and is left out.
    fn case(&mut self, name: &str, kind: &'static str, body: Vec<u8>) {
        let Some(body) = String::from_utf8(body).ok().filter(|body| body.len() < CASE_BYTES_MAX) else { return };
        let issues = judge::issues(body.as_bytes(), Judged::Create);
        let errors = issues.iter().filter(|issue| issue.is_error());
        self.write(&Json::object([
            ("name", Json::string(name)),
            ("kind", Json::string(kind)),
            ("accepted", Json::Bool(!issues.iter().any(Issue::is_error))),
            ("issues", Json::Array(errors.map(told).collect())),
            ("body", Json::string(body)),
        ]));
    }
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
