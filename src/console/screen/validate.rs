//! A certificate judged as a write would judge it, with every problem at its line; and a form that makes one.

use maud::{Markup, html};
use serde_json::Value;

use super::change::{EXAMPLES, indented};
use crate::console::json_lines::ElementLines;
use crate::console::snippets;
use crate::console::visit::Visit;
use crate::http::pages::{ApiAnswer, ApiRequest, PageAnswer};
use fhir::json::{self, Json};

/// A field of the form: its name and text, and where its value stands. `@decision` is the contained resource of that id.
const TEXTS: [(&str, &str, &[&str]); 6] = [
    ("number", "validate.number", &["identifier", "0", "value"]),
    ("patient", "change.patient", &["subject", "0", "reference"]),
    ("start", "validate.start", &["event", "0", "period", "start"]),
    ("end", "validate.end", &["event", "0", "period", "end"]),
    ("author", "validate.author", &["contained", "@author", "practitioner", "reference"]),
    ("organization", "validate.organization", &["contained", "@author", "organization", "reference"]),
];

/// A field whose values are codes.
struct CodeField {
    name: &'static str,
    key: &'static str,
    /// The place of the coding.
    path: &'static [&'static str],
    /// Value sets: of drivers, and of the others.
    lists: [&'static str; 2],
}

const CODES: [CodeField; 3] = [
    CodeField {
        name: "kind",
        key: "validate.kind",
        path: &["category", "0", "coding", "0"],
        lists: ["mootorsoidukijuhi-labivaatuse-tyyp", "labivaatuse-tyyp"],
    },
    CodeField {
        name: "decision",
        key: "validate.decision",
        path: &["contained", "@decision", "valueCodeableConcept", "coding", "0"],
        lists: ["mootorsoidukijuhi-tervisetoendi-otsus", "tootervishoiu-tervisetoendi-otsus"],
    },
    CodeField {
        name: "restriction",
        key: "validate.restriction",
        path: &["contained", "@restriction-1", "component", "0", "code", "coding", "0"],
        lists: ["mootorsoidukijuhi-medits-piirang", "tootervishoiu-tt-piirangud"],
    },
];

/// The example that the reader chose.
fn chosen(visit: &Visit<'_>) -> &'static str {
    EXAMPLES.into_iter().find(|name| *name == visit.field("example")).unwrap_or(EXAMPLES[1])
}

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let text = visit.sources.example(chosen(visit)).unwrap_or_default();
    page(visit, &text, None).await
}

/// Judges what the form holds, or what its fields make.
pub(in crate::console) async fn judge(visit: &Visit<'_>) -> PageAnswer {
    let text = match visit.field("build") {
        "" => visit.field("body").to_owned(),
        _ => built(visit),
    };
    let request = visit.api_request("POST", "/Composition/$validate", text.clone().into_bytes()).await;
    let answer = visit.api.ask(request.clone()).await;
    page(visit, &text, Some((request, answer))).await
}

async fn page(visit: &Visit<'_>, text: &str, judged: Option<(ApiRequest, ApiAnswer)>) -> PageAnswer {
    let title = visit.t("validate.title");
    let form = fields(visit, text).await;
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t("validate.text")) }
        form.row method="get" action=(visit.href("/validate")) {
            label { (visit.t("change.example")) select name="example" {
                @for known in EXAMPLES { option value=(known) selected[known == chosen(visit)] { (visit.t(&format!("change.example.{known}"))) } }
            } }
            button { (visit.t("change.take")) }
        }
        @if let Some((request, answer)) = &judged { (verdict(visit, text, answer)) (snippets::copied(visit, request)) }
        (visit.form("/validate", &html! {
            input type="hidden" name="example" value=(chosen(visit));
            p { label for="body" { (visit.t("change.body")) }
                textarea #body name="body" rows="18" spellcheck="false" required { "\n" (text) } }
            button.main { (visit.t("validate.judge")) }
        }))
        (form)
        @if let Some((_, answer)) = &judged { (numbered(visit, text, answer)) }
    })
}

fn issues(answer: &ApiAnswer) -> Vec<Value> {
    let read: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    read["issue"].as_array().cloned().unwrap_or_default()
}

fn expressions(issue: &Value) -> impl Iterator<Item = &str> {
    issue["expression"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The problems, each with a way to its line.
fn verdict(visit: &Visit<'_>, text: &str, answer: &ApiAnswer) -> Markup {
    let (lines, issues) = (ElementLines::of(text), issues(answer));
    let of = |severities: &[&str]| {
        issues.iter().filter(|issue| severities.iter().any(|known| issue["severity"] == *known)).count().to_string()
    };
    let (errors, warnings) = (of(&["fatal", "error"]), of(&["warning"]));
    html! {
        section.refusal role="status" {
            h2 { (visit.say("validate.problems", &[("errors", &errors), ("warnings", &warnings)])) }
            @if errors == "0" && warnings == "0" { p.good { (visit.t("validate.right")) } }
            ul { @for (at, issue) in issues.iter().enumerate().filter(|(_, issue)| issue["severity"] != "information") {
                @let line = expressions(issue).find_map(|expression| lines.line(expression));
                @let more = html! { @if let Some(line) = line { " " a href={ "#line-" (line) } { (visit.say("validate.line", &[("line", &line.to_string())])) } } };
                (visit.issue_with(issue, Some(&format!("issue-{at}")), &more))
            } }
        }
    }
}

/// The text with its lines numbered; those with a problem lead back to it.
fn numbered(visit: &Visit<'_>, text: &str, answer: &ApiAnswer) -> Markup {
    let (lines, issues) = (ElementLines::of(text), issues(answer));
    let wrong: Vec<(usize, usize)> = issues
        .iter()
        .enumerate()
        .filter(|(_, issue)| issue["severity"] != "information")
        .filter_map(|(at, issue)| Some((expressions(issue).find_map(|expression| lines.line(expression))?, at)))
        .collect();
    html! {
        h2 { (visit.t("validate.numbered")) }
        ol.lines { @for (at, line) in text.lines().enumerate() {
            @let problem = wrong.iter().find(|(of, _)| *of == at + 1);
            li #{ "line-" (at + 1) } .wrong[problem.is_some()] {
                code { (line) }
                @if let Some((_, issue)) = problem { " " a href={ "#issue-" (issue) } { (visit.t("severity.error")) } }
            }
        } }
    }
}

/// The form, with the values that the text has.
async fn fields(visit: &Visit<'_>, text: &str) -> Markup {
    let read = json::parse(text.as_bytes()).unwrap_or(Json::Null);
    let example = chosen(visit);
    let mut pickers = Vec::new();
    for CodeField { name, key, path, lists } in CODES {
        let list = lists[usize::from(!example.starts_with("driver"))];
        let answer = visit.get(&format!("/ValueSet/{list}/$expand")).await;
        let expanded: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let codes = expanded["expansion"]["contains"].as_array().cloned().unwrap_or_default();
        let now = find(&read, path).and_then(|coding| coding.text("code")).unwrap_or_default().to_owned();
        pickers.push((name, key, codes, now));
    }
    html! {
        h2 { (visit.t("validate.fields")) }
        (visit.form("/validate", &html! {
            input type="hidden" name="example" value=(example);
            input type="hidden" name="build" value="yes";
            div.row {
                @for (name, key, path) in TEXTS {
                    label { (visit.t(key)) input name=(name) value=(find(&read, path).and_then(Json::as_str).unwrap_or_default()); }
                }
                @for (name, key, codes, now) in &pickers {
                    label { (visit.t(key)) select name=(name) {
                        @for coding in codes {
                            @let code = coding["code"].as_str().unwrap_or_default();
                            option value={ (coding["system"].as_str().unwrap_or_default()) "|" (code) } selected[code == now] { (coding["display"].as_str().unwrap_or(code)) }
                        }
                    } }
                }
            }
            p { button { (visit.t("validate.build")) } }
        }))
    }
}

/// The example with the values of the form in their places.
fn built(visit: &Visit<'_>) -> String {
    let text = visit.sources.example(chosen(visit)).unwrap_or_default();
    let Ok(mut made) = json::parse(text.as_bytes()).map(Json::into_owned) else { return text };
    for (name, _, path) in TEXTS {
        set(&mut made, path, visit.field(name));
    }
    for CodeField { name, path, .. } in CODES {
        let (system, code) = visit.field(name).rsplit_once('|').unwrap_or_default();
        let coding =
            Json::object([("system", Json::string(system.to_owned())), ("code", Json::string(code.to_owned()))]);
        if let Some(place) = find_mut(&mut made, path).filter(|_| !code.is_empty()) {
            *place = coding.into_owned();
        }
    }
    indented(&made.to_vec())
}

fn set(made: &mut Json<'static>, path: &[&str], value: &str) {
    if let Some(place) = find_mut(made, path).filter(|_| !value.is_empty()) {
        *place = Json::string(value.to_owned());
    }
}

/// Whether an item of an array is the one of a step: by its number, or by `@` and its id.
fn is_meant(item: &Json, at: usize, step: &str) -> bool {
    match step.strip_prefix('@') {
        Some(id) => item.text("id") == Some(id),
        None => step == at.to_string(),
    }
}

fn find<'j, 'a>(json: &'j Json<'a>, path: &[&str]) -> Option<&'j Json<'a>> {
    let Some((step, rest)) = path.split_first() else { return Some(json) };
    let next = match json {
        Json::Array(items) => {
            items.iter().enumerate().find(|(at, item)| is_meant(item, *at, step)).map(|(_, item)| item)
        }
        json => json.get(step),
    };
    find(next?, rest)
}

fn find_mut<'j>(json: &'j mut Json<'static>, path: &[&str]) -> Option<&'j mut Json<'static>> {
    let Some((step, rest)) = path.split_first() else { return Some(json) };
    let next = match json {
        Json::Array(items) => {
            let at = items.iter().enumerate().position(|(at, item)| is_meant(item, at, step))?;
            items.get_mut(at)
        }
        Json::Object(members) => members.get_mut(step),
        _ => None,
    };
    find_mut(next?, rest)
}
