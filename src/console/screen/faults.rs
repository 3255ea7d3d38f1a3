//! Faults on demand: what the registry and the systems behind it are to do wrong, in `hcert dev`.

use std::time::Instant;

use maud::{Markup, html};
use serde_json::Value;

use crate::config::FaultRule;
use crate::console::snippets;
use crate::console::sources::FaultSwitch;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;
use crate::registry::fault::ArmedFault;
use fhir::outcome::reflected::{self, ReflectedCode};

/// Faults that are offered by a word: a text, and the fault.
const PRESETS: [(&str, &str); 4] = [
    ("faults.down", "refuse"),
    ("faults.slow", "slow=2s"),
    ("faults.garbage", "garbage"),
    ("faults.timeout", "timeout"),
];

/// How often an armed fault strikes. For the second and third a number says how many calls, or how many of a hundred.
const OFTEN: [&str; 4] = ["once", "calls", "percent", "always"];

/// Where an id does not matter: any call meets the fault.
const ANY_PATH: &str = "*";

/// What the preview asks: who reads a patient, and who writes a certificate. `$validate` tells the problems that a write meets, and
/// stores nothing.
const PREVIEWED: [(&str, &str, &str); 2] =
    [("faults.of-patient", "GET", "/Patient/200"), ("faults.of-certificate", "POST", "/Composition/$validate")];

pub(in crate::console) async fn show(visit: &Visit<'_>, switch: &FaultSwitch) -> PageAnswer {
    let title = visit.t("faults.title");
    let wanted = visit.field("find").to_lowercase();
    let is_meant = |entry: &&'static ReflectedCode| {
        let text = [entry.code.as_str(), entry.text(visit.language())].join(" ").to_lowercase();
        text.contains(&wanted)
    };
    let mut systems: Vec<(&str, Vec<&'static ReflectedCode>)> = Vec::new();
    for entry in reflected::all().iter().filter(is_meant) {
        match systems.iter_mut().find(|(system, _)| *system == entry.system.name()) {
            Some((_, entries)) => entries.push(entry),
            None => systems.push((entry.system.name(), vec![entry])),
        }
    }
    let preview = preview(visit).await;
    visit.page(
        title,
        &html! {
            h1 { (title) }
            p { (visit.t("faults.text")) }
            (armed(visit, switch))
            h2 { (visit.t("faults.presets")) }
            div.row { @for (key, fault) in PRESETS { (arm_form(visit, fault, html! { button { (visit.t(key)) } })) } }
            (preview)
            h2 { (visit.t("faults.any")) }
            form.row method="get" action=(visit.href("/faults")) {
                label { (visit.t("faults.any-form")) input name="preview" required value=(visit.field("preview")) placeholder="slow=2s,MPI-021"; }
                button { (visit.t("faults.preview")) }
            }
            h2 { (visit.t("faults.codes")) }
            form.row method="get" action=(visit.href("/faults")) {
                label { (visit.t("faults.find")) input name="find" value=(visit.field("find")); }
                button { (visit.t("faults.search")) }
            }
            @for (system, entries) in &systems {
                details open[!wanted.is_empty()] {
                    summary { (visit.t(&format!("faults.system.{system}"))) " (" (entries.len()) ")" }
                    ul { @for entry in entries { (code(visit, entry)) } }
                }
            }
        },
    )
}

/// What is armed, with the way to take it away.
fn armed(visit: &Visit<'_>, switch: &FaultSwitch) -> Markup {
    let list = switch.rules.list();
    if list.is_empty() {
        return html! { p.good { (visit.t("faults.none")) } };
    }
    html! {
        h2 { (visit.t("faults.armed")) }
        div.wide tabindex="0" role="region" aria-label=(visit.t("faults.armed")) { table {
            thead { tr { @for key in ["faults.fault", "faults.for", "faults.struck", "faults.left", "faults.off"] { th.number[key == "faults.struck"] scope="col" { (visit.t(key)) } } } }
            tbody { @for one in &list { tr {
                th scope="row" { code { (one.rule.fault) } }
                td { (pattern(&one.rule)) }
                td.number { (one.struck) }
                td { (left(visit, one)) }
                td { (visit.form("/faults", &html! { button.small name="disarm" value=(one.number) { (visit.t("faults.take-away")) } })) }
            } } }
        } }
        (visit.form("/faults", &html! { button name="disarm" value="all" { (visit.t("faults.all-off")) } }))
    }
}

fn pattern(rule: &FaultRule) -> &str {
    rule.identifier.as_deref().or(rule.path.as_deref()).unwrap_or_default()
}

fn left(visit: &Visit<'_>, one: &ArmedFault) -> String {
    match (one.left, one.rule.probability < 1.0) {
        (Some(left), _) => left.to_string(),
        (None, true) => visit.say("faults.likely", &[("percent", &format!("{:.0}", one.rule.probability * 100.0))]),
        (None, false) => visit.t("faults.always").to_owned(),
    }
}

/// A code of another system, with what leads to it.
fn code(visit: &Visit<'_>, entry: &'static ReflectedCode) -> Markup {
    let chain: Vec<&str> = entry.chain().iter().map(|entry| entry.code.as_str()).collect();
    let find = visit.field("find");
    html! { li {
        code { (chain.join(" → ")) } " " (entry.text(visit.language())) " "
        a href=(visit.href(&format!("/faults?preview={}&find={}#preview", entry.code, super::encoded(find)))) { (visit.t("faults.preview")) }
    } }
}

/// What callers get of the fault that the reader chose: the API is asked with it, as by somebody without a token, whose rights hide nothing.
async fn preview(visit: &Visit<'_>) -> Markup {
    let fault = visit.field("preview");
    if fault.is_empty() {
        return html! {};
    }
    let mut shown = Vec::new();
    for (key, method, path) in PREVIEWED {
        let body = visit.sources.example("driver-draft").filter(|_| method == "POST").unwrap_or_default();
        let mut request = visit.api_request(method, path, body.into_bytes()).await;
        request.headers.retain(|(name, _)| name != "authorization");
        request.headers.push(("x-hcert-fault".to_owned(), fault.to_owned()));
        let start = Instant::now();
        let answer = visit.api.ask(request.clone()).await;
        let took = start.elapsed().as_millis().to_string();
        let text = crate::http::indent(&answer.body).unwrap_or_else(|| answer.body.to_vec());
        let read: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let values = [("status", answer.status.to_string()), ("ms", took)];
        let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
        shown.push(html! {
            h3 { (visit.t(key)) }
            @if answer.broken.is_some() { (visit.refusal(&answer)) } @else {
                p { (visit.say("faults.answer", &values)) }
                ul { @for issue in read["issue"].as_array().into_iter().flatten() { (visit.issue(issue)) } }
                details { summary { "JSON" } pre.json tabindex="0" { code { (String::from_utf8_lossy(&text)) } } }
            }
            (snippets::copied(visit, &request))
        });
    }
    html! { section #preview {
        h2 { (visit.say("faults.what", &[("fault", fault)])) }
        (arm_form(visit, fault, html! {
            div.row {
                label { (visit.t("faults.often")) select name="often" { @for name in OFTEN { option value=(name) { (visit.t(&format!("faults.often.{name}"))) } } } }
                label { (visit.t("faults.number")) input name="number" type="number" min="1" value="10"; }
                label { (visit.t("faults.identifier")) input name="identifier" autocomplete="off"; }
                label { (visit.t("faults.path")) input name="path" placeholder="/Patient/2*"; }
                button.main { (visit.t("faults.arm")) }
            }
        }))
        @for caller in &shown { (caller) }
    } }
}

fn arm_form(visit: &Visit<'_>, fault: &str, content: Markup) -> Markup {
    visit.form("/faults", &html! { input type="hidden" name="fault" value=(fault); (content) })
}

/// Arms a fault, or takes some away. Both are written into the audit trail.
pub(in crate::console) async fn act(visit: &Visit<'_>, switch: &FaultSwitch) -> PageAnswer {
    let done = match (visit.field("disarm"), visit.field("disarm").parse()) {
        ("", _) => arm(visit, switch).await,
        ("all", _) => disarm(switch, None).await,
        (_, Ok(number)) => disarm(switch, Some(number)).await,
        _ => Ok(()),
    };
    match done {
        Ok(()) => visit.go_to("/faults"),
        Err(problem) => {
            let title = visit.t("faults.refused");
            visit.page_with_status(422, title, &html! { h1 { (title) } p lang="en" { (problem) } })
        }
    }
}

async fn disarm(switch: &FaultSwitch, number: Option<u64>) -> Result<(), String> {
    let which = number.map_or_else(|| "all faults".to_owned(), |number| format!("fault {number}"));
    (switch.note)(format!("{which} off")).await?;
    switch.rules.disarm(number);
    Ok(())
}

async fn arm(visit: &Visit<'_>, switch: &FaultSwitch) -> Result<(), String> {
    let some = |name: &str| Some(visit.field(name).to_owned()).filter(|text| !text.is_empty());
    let number =
        || visit.field("number").parse::<u32>().map_err(|_| "the number of calls is no whole number".to_owned());
    let (times, probability) = match visit.field("often") {
        "once" => (Some(1), 1.0),
        "calls" => (Some(number()?.into()), 1.0),
        "percent" => (None, f64::from(number()?) / 100.0),
        _ => (None, 1.0),
    };
    let (identifier, path) = match (some("identifier"), some("path")) {
        (None, None) => (None, Some(ANY_PATH.to_owned())),
        given => given,
    };
    let rule = FaultRule { identifier, path, fault: visit.field("fault").to_owned(), probability, seed: 0, times };
    let number = switch.rules.arm(&rule)?;
    // Whom an identifier names belongs into no note.
    let noted = (switch.note)(format!("fault {number} on: {}", rule.fault)).await;
    noted.inspect_err(|_| switch.rules.disarm(Some(number)))
}
