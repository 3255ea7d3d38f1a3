//! The table of rows, held against the validator.

use std::collections::{BTreeSet, HashSet};

use certificate::definitions;
use fhir::json::Json;
use fhir::outcome::Issue;

use crate::base;
use crate::judge::{self, Judged, NAMES, VALIDATOR};
use crate::mutation::Mutation;
use crate::rows::TABLES;

/// Rows that the table has at least.
const ROWS_MIN: usize = 250;

#[test]
fn every_row_tells_exactly_what_is_expected() {
    let mut wrong = Vec::new();
    for row in TABLES.iter().flat_map(|table| table.rows) {
        let told = judge::told(&judge::issues(&row.body(), row.judged));
        let mut expected: Vec<String> = row.told.iter().map(|line| (*line).to_owned()).collect();
        expected.sort_unstable();
        if told != expected {
            let lines = |sign: &str, these: &[String], those: &[String]| -> String {
                let only = these.iter().filter(|line| !those.contains(line));
                only.map(|line| format!("    {sign} {line}\n")).collect()
            };
            let missing = lines("-", &expected, &told);
            let further = lines("+", &told, &expected);
            let times = if missing.is_empty() && further.is_empty() { "    the same, but not as often\n" } else { "" };
            wrong.push(format!("{} ({:?})\n{missing}{further}{times}", row.name, row.mutation));
        }
    }
    assert!(wrong.is_empty(), "{} rows; - expected, + told:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_has_rows_enough_and_each_says_something_of_its_own() {
    let rows: Vec<_> = TABLES.iter().flat_map(|table| table.rows).collect();
    let refused = rows.iter().filter(|row| row.told.iter().any(|line| !line.starts_with("warning"))).count();
    assert!(refused >= ROWS_MIN, "{refused} rows of broken certificates");
    let mut names = HashSet::new();
    let mut bodies = HashSet::new();
    for row in rows {
        assert!(names.insert(row.name), "two rows are called {}", row.name);
        assert!(bodies.insert((row.body(), format!("{:?}", row.judged))), "another row has the body of {}", row.name);
    }
}

#[test]
fn the_certificates_that_are_changed_are_right() {
    for base in base::ALL {
        let is_stored = ["cancelled", "entered-in-error"].contains(&base.json().text("status").unwrap_or_default());
        let judged = if is_stored { Judged::Under("ee-health-certificate-driver") } else { Judged::Create };
        let issues = judge::issues(&base.with(Mutation::Nothing), judged);
        assert!(!issues.iter().any(Issue::is_error), "{base:?}: {:?}", judge::told(&issues));
    }
    let employer = Judged::Under("ee-health-certificate-occupational-employer");
    let issues = judge::issues(&base::EMPLOYER.with(Mutation::Nothing), employer);
    assert!(!issues.iter().any(Issue::is_error), "{:?}", judge::told(&issues));
}

#[test]
fn every_rule_of_every_profile_is_broken_by_a_row() {
    let mut unbroken: BTreeSet<&str> = VALIDATOR.rules().iter().map(String::as_str).collect();
    assert!(unbroken.iter().any(|rule| never_broken(rule).is_some()));
    for row in TABLES.iter().flat_map(|table| table.rows) {
        for rule in judge::broken(&row.body(), row.judged) {
            unbroken.remove(rule);
            let reason = never_broken(rule);
            assert!(reason.is_none(), "{rule} is broken by {}, though {}", row.name, reason.unwrap_or_default());
        }
    }
    let unbroken: Vec<&str> = unbroken.into_iter().filter(|rule| never_broken(rule).is_none()).collect();
    assert!(unbroken.is_empty(), "{} rules are broken by no row:\n{}", unbroken.len(), unbroken.join("\n"));
}

/// Why no certificate can break a rule, if none can.
fn never_broken(rule: &str) -> Option<&'static str> {
    let (place, kind) = rule.rsplit_once(' ')?;
    let (profile, id) = place.split_once('#')?;
    let definition = definitions::of_type("StructureDefinition").map(|definition| definition.read(&NAMES));
    let definition = definition.into_iter().find(|definition| definition.text("id") == Some(profile))?;
    let element =
        definition.get("differential")?.items("element").iter().find(|element| element.text("id") == Some(id))?;
    let is_code_of_slice = id.contains(':') && id.ends_with(".code");
    match kind {
        "min" if element.get("min") == Some(&Json::Number("0".into())) => Some("nothing is fewer than none"),
        "max" if element.text("max") == Some("*") => Some("any number may stand"),
        "min" | "pattern" if is_code_of_slice => Some("an item without this code belongs to no slice that asks for it"),
        "max" if id.contains("value[x]:") => {
            Some("R5 itself takes one value, and two of one type are one member twice")
        }
        _ => None,
    }
}
