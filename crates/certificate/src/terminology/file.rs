//! A file of code lists: one resource, a Bundle of them, or one or the other on each line.

use fhir::json::{self, Json};
use fhir::limits::CODING_CHARACTERS_MAX;
use fhir::outcome::{Issue, Language};
use fhir::shape;

/// Reads a file into CodeSystem and ValueSet resources whose form is right and whose addresses differ. What they hold is looked at by
/// [`Terminology::new`](super::Terminology::new).
///
/// # Errors
/// Everything that is wrong, in words for the operator.
pub fn read(bytes: &[u8]) -> Result<Vec<Json<'static>>, Vec<String>> {
    let mut problems = Vec::new();
    let mut lists = Vec::new();
    for (place, text) in pieces(bytes) {
        match json::parse(text) {
            Ok(resource) => take(resource.into_owned(), &place, &mut lists, &mut problems),
            Err(outcome) => problems.extend(words(&place, outcome.issues())),
        }
    }
    for (at, list) in lists.iter().enumerate() {
        let same = |other: &Json| key(other) == key(list);
        if lists[..at].iter().any(same) {
            problems.push(format!("{}: it stands twice", name(list)));
        }
    }
    if problems.is_empty() { Ok(lists) } else { Err(problems) }
}

/// The whole file, or its lines where the first of them is a resource of its own and others follow.
fn pieces(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let mut filled = lines.by_ref().filter(|(_, line)| !line.trim_ascii().is_empty());
    let first = filled.next();
    match (first, filled.next()) {
        (Some((at, line)), Some(second)) if json::parse(line).is_ok() => {
            let all = [(at, line), second].into_iter().chain(filled);
            all.map(|(at, line)| (format!("line {}", at + 1), line)).collect()
        }
        _ => vec![(String::new(), bytes)],
    }
}

/// Checks a resource and adds the lists in it.
fn take(mut resource: Json<'static>, place: &str, lists: &mut Vec<Json<'static>>, problems: &mut Vec<String>) {
    let expected = match resource.text("resourceType") {
        Some("CodeSystem") => "CodeSystem",
        Some("ValueSet") => "ValueSet",
        Some("Bundle") => "Bundle",
        other => {
            let found = other.unwrap_or("nothing that says its resourceType").to_owned();
            return problems
                .push(at(place, &format!("expected a CodeSystem, a ValueSet or a Bundle of them, found {found}")));
        }
    };
    if let Err(outcome) = shape::expect(&mut resource, expected) {
        return problems.extend(words(&at(place, &name(&resource)), outcome.issues()));
    }
    if expected != "Bundle" {
        return lists.push(resource);
    }
    for (number, entry) in resource.items("entry").iter().enumerate() {
        let place = at(place, &format!("Bundle.entry[{number}]"));
        match entry.get("resource") {
            Some(resource) if matches!(resource.text("resourceType"), Some("CodeSystem" | "ValueSet")) => {
                lists.push(resource.clone());
            }
            other => {
                let found = other.and_then(|resource| resource.text("resourceType")).unwrap_or("no resource");
                problems.push(at(&place, &format!("expected a CodeSystem or a ValueSet, found {found}")));
            }
        }
    }
    if resource.items("entry").is_empty() {
        problems.push(at(place, "the Bundle is empty"));
    }
}

/// What is wrong with the address a list is known by, and with what every list needs beside it.
pub(super) fn address_problems(resource: &Json) -> Vec<String> {
    let mut problems = Vec::new();
    match resource.text("url") {
        None => problems.push("it has no url, by which lists are known".to_owned()),
        Some(url) if url.contains('|') || !url.contains(':') => {
            problems.push(format!("the url '{url}' is no absolute address without version"));
        }
        Some(url) if url.chars().count() > CODING_CHARACTERS_MAX => {
            problems.push(format!("its url has more than {CODING_CHARACTERS_MAX} characters"));
        }
        Some(_) => {}
    }
    if resource.get("status").is_none() {
        problems.push("it has no status".to_owned());
    }
    problems
}

/// Type and address of a list.
pub(super) fn key(resource: &Json) -> (String, String) {
    let text = |name: &str| resource.text(name).unwrap_or_default().to_owned();
    (text("resourceType"), text("url"))
}

/// Problems with the name of their list in front.
pub(super) fn named(resource: &Json, problems: Vec<String>) -> Vec<String> {
    let name = name(resource);
    problems.into_iter().map(|problem| format!("{name}: {problem}")).collect()
}

fn name(resource: &Json) -> String {
    let (resource_type, url) = key(resource);
    let known = if url.is_empty() { resource.text("id").unwrap_or_default() } else { &url };
    format!("{resource_type} {known}").trim_end().to_owned()
}

fn words(place: &str, issues: &[Issue]) -> Vec<String> {
    let text = |issue: &Issue| match issue.expression().first() {
        Some(expression) => at(place, &format!("{} ({expression})", issue.text(Language::English))),
        None => at(place, &issue.text(Language::English)),
    };
    issues.iter().map(text).collect()
}

fn at(place: &str, problem: &str) -> String {
    if place.is_empty() { problem.to_owned() } else { format!("{place}: {problem}") }
}
