//! Every rule of the contract and every decision that is cited exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where citations stand.
const PLACES: &[&str] = &[
    "src",
    "crates",
    "tests",
    "benches",
    "fuzz",
    "docs",
    "data",
    "packaging",
    "examples",
    "hcert.toml",
    "README.md",
    ".ci",
];

#[test]
fn every_cited_rule_of_the_contract_exists() {
    let contract = fs::read_to_string("docs/CONTRACT.md").expect("the contract is in the repository");
    let known: BTreeSet<&str> = contract.lines().filter_map(rule).collect();
    assert!(known.contains("1.1") && known.contains("10") && known.contains("4.10"), "{known:?}");
    check(&["Contract"], &known, 200);
}

#[test]
fn every_cited_decision_exists_and_no_number_is_used_twice() {
    let decisions = fs::read_to_string("docs/DECISIONS.md").expect("the decisions are in the repository");
    let numbers: Vec<&str> = decisions.lines().filter_map(|line| Some(line.split_once(". ")?.0)).collect();
    let numbers: Vec<&str> = numbers.into_iter().filter(|number| is_number(number)).collect();
    let known: BTreeSet<&str> = numbers.iter().copied().collect();
    assert_eq!(known.len(), numbers.len(), "a number is used twice: {numbers:?}");
    check(&["Decision", "Decisions"], &known, 5);
}

#[test]
fn citations_are_read_with_lists_ranges_sections_and_line_breaks() {
    for (text, expected) in [
        ("// Contract 4.2: as", &["4.2"][..]),
        ("Contract 4.2, 4.3 and 5; 6", &["4.2", "4.3", "5"]),
        ("Contract section 10, sections", &["10"]),
        ("Contract 4.2 to 4.10.", &["4.2", "4.10"]),
        ("(Contract 7.3, 7.7)", &["7.3", "7.7"]),
        ("    /// Contract 6.1,\n    /// 6.3. Then", &["6.1", "6.3"]),
        ("# Contract\n# 2.1", &["2.1"]),
        ("Contract 99.1", &["99.1"]),
        ("Contracts 4.2, contract-status 4.1, Contract resource 1", &[]),
    ] {
        assert_eq!(cited(text, &["Contract"]), expected, "{text}");
    }
    assert_eq!(cited("Decision 3, Decisions 43, 44", &["Decision", "Decisions"]), ["3", "43", "44"]);
}

/// The number with which a line begins a rule (`4.2 Search …`) or a section (`## 4. History …`).
fn rule(line: &str) -> Option<&str> {
    let (number, _) = line.strip_prefix("## ").unwrap_or(line).split_once(' ')?;
    let number = number.trim_end_matches('.');
    number.split('.').all(is_number).then_some(number)
}

/// Checks that every number that is cited behind one of the words is known, and that citations are found at all.
fn check(words: &[&str], known: &BTreeSet<&str>, at_least: usize) {
    let mut found = 0;
    let mut wrong = Vec::new();
    for file in PLACES.iter().flat_map(|place| files(Path::new(place))) {
        // Archives of old data folders are no text.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        // This file cites what does not exist, to test how citations are read.
        if file == Path::new("tests/citations.rs") {
            continue;
        }
        for number in cited(&text, words) {
            found += 1;
            if !known.contains(number.as_str()) {
                wrong.push(format!("{}: {} {number} does not exist", file.display(), words[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found >= at_least, "only {found} citations were found");
}

/// The numbers cited behind one of the words: `Contract 4.2, 4.3`, `Contract section 10`, `Decisions 43 to 45`.
fn cited(text: &str, words: &[&str]) -> Vec<String> {
    // A citation goes on behind a line break and the marks that begin a line of a comment.
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '#', '|', '>']));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut numbers = Vec::new();
    let mut parts = text.split_whitespace().peekable();
    while let Some(part) = parts.next() {
        if !words.contains(&part.trim_start_matches(|one: char| !one.is_alphanumeric())) {
            continue;
        }
        parts.next_if(|part| matches!(*part, "section" | "sections"));
        while let Some(part) = parts.next_if(|part| part.starts_with(|one: char| one.is_ascii_digit())) {
            let end = part.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(part.len());
            numbers.push(part[..end].trim_end_matches('.').to_owned());
            let goes_on = part.ends_with(',') || parts.next_if(|part| matches!(*part, "and" | "or" | "to")).is_some();
            if !goes_on {
                break;
            }
        }
    }
    numbers
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn files(place: &Path) -> Vec<PathBuf> {
    if !place.is_dir() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).expect("the tests run in the project's folder");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    // What a build leaves behind is no part of the project.
    let own = paths.filter(|path| !path.ends_with("target") && !path.ends_with("corpus"));
    own.flat_map(|path| files(&path)).collect()
}
