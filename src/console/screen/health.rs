//! How the service is: what waits, how fast it answers, and every part of `/health` in words.

use std::cmp::Reverse;

use maud::{Markup, html};
use serde_json::Value;

use super::traffic;
use crate::console::sources::ServiceHealth;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;
use base::metrics::DurationSummary;

/// Requests that are shown as the slowest.
const SLOWEST_SHOWN: usize = 20;

/// What waits: a text, and the part of `/health` with the fact that tells it.
const WAITING: [(&str, &str, &str); 4] = [
    ("health.writes", "storage", "write_queue_jobs"),
    ("health.unindexed", "index", "lag_changes"),
    ("health.unaudited", "audit", "lag_events"),
    ("health.unlogged", "log", "queued_bytes"),
];

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("health.title");
    if let Err(refused) = super::for_keepers(visit, title).await {
        return refused;
    }
    let ServiceHealth { parts: health, durations: [mut answers, commits, rounds] } = (visit.sources.health)().await;
    answers.sort_by_key(|route| Reverse(route.count));
    let own = [("health.commits", commits), ("health.rounds", rounds)];
    let own = own
        .into_iter()
        .flat_map(|(key, all)| all.into_iter().map(move |one| DurationSummary { of: visit.t(key).to_owned(), ..one }));
    let mut parts: Vec<(&String, &Value)> = health["parts"].as_object().into_iter().flatten().collect();
    // What needs somebody comes first.
    parts.sort_by_key(|(_, part)| part["status"] == "ok");
    visit.page(title, &html! {
        h1 { (title) }
        p.lead { (visit.t("health.is")) " " (status(visit, &health)) @if health["ready"] == false { " " (visit.t("health.unready")) } }
        h2 { (visit.t("health.waiting")) }
        dl.facts { @for (key, part, fact) in WAITING { dt { (visit.t(key)) } dd { (told(fact, &health["parts"][part]["facts"][fact])) } } }
        h2 { (visit.t("health.speed")) }
        (times(visit, "health.route", answers))
        (times(visit, "health.work", own.collect()))
        h2 { (visit.t("health.slowest")) }
        p { (visit.t("health.slowest-text")) }
        (traffic::slowest(visit, SLOWEST_SHOWN))
        h2 { (visit.t("health.parts")) }
        @for (name, part) in parts { (one(visit, name, part)) }
    })
}

/// How something is, in a word.
fn status(visit: &Visit<'_>, part: &Value) -> Markup {
    let (class, key) = match part["status"].as_str() {
        Some("ok") => ("good", "health.ok"),
        Some("degraded") => ("warn", "health.degraded"),
        _ => ("bad", "health.down"),
    };
    html! { strong.(class) { (visit.t(key)) } }
}

/// A part of the service: how it is, what to do about it, and what that rests on.
fn one(visit: &Visit<'_>, name: &str, part: &Value) -> Markup {
    let find = |key: String| visit.texts.find(&key).map(str::to_owned);
    let facts: Vec<(&String, &Value)> = part["facts"].as_object().into_iter().flatten().collect();
    let advice = find(format!("health.advice.{name}")).filter(|_| part["status"] != "ok");
    html! { section {
        h3 { (find(format!("health.part.{name}")).unwrap_or_else(|| name.to_owned())) ": " (status(visit, part)) }
        p lang="en" { (part["words"].as_str().unwrap_or_default()) }
        @if let Some(advice) = advice { p { strong { (visit.t("health.do")) } " " (advice) } }
        @if !facts.is_empty() { details {
            summary { (visit.t("health.facts")) }
            dl.facts { @for (fact, value) in facts { dt { code { (fact) } } dd { (told(fact, value)) } } }
        } }
    } }
}

/// A value for people: bytes in units that can be read.
fn told(fact: &str, value: &Value) -> String {
    const MIB: u64 = 1 << 20;
    match (value, value.as_u64().filter(|_| fact.contains("bytes"))) {
        (_, Some(bytes)) if bytes >= 1024 * MIB => format!("{} GiB", bytes / (1024 * MIB)),
        (_, Some(bytes)) if bytes >= MIB => format!("{} MiB", bytes / MIB),
        (Value::String(text), _) => text.clone(),
        (Value::Null, _) => "–".to_owned(),
        (value, _) => value.to_string(),
    }
}

/// How long most of them took, one row each.
fn times(visit: &Visit<'_>, of: &'static str, rows: Vec<DurationSummary>) -> Markup {
    html! { @if !rows.is_empty() { div.wide tabindex="0" role="region" aria-label=(visit.t(of)) { table {
        thead { tr {
            th scope="col" { (visit.t(of)) }
            @for key in ["health.count", "health.half", "health.p99"] { th.number scope="col" { (visit.t(key)) } }
        } }
        tbody { @for row in &rows { tr {
            th scope="row" { code { (row.of) } }
            td.number { (row.count) } td.number { (milliseconds(row.half_s)) } td.number { (milliseconds(row.p99_s)) }
        } } }
    } } } }
}

fn milliseconds(seconds: f64) -> String {
    let milliseconds = seconds * 1000.0;
    if milliseconds < 10.0 { format!("{milliseconds:.2} ms") } else { format!("{milliseconds:.0} ms") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_told_in_units_that_people_read() {
        for (fact, value, expected) in [
            ("free_bytes", json!(24_000_000_000_u64), "22 GiB"),
            ("free_bytes", json!(5_000_000), "4 MiB"),
            ("free_bytes", json!(7), "7"),
            ("threads", json!(5_000_000), "5000000"),
            ("why", json!("a<b"), "a<b"),
            ("why", json!(null), "–"),
        ] {
            assert_eq!(told(fact, &value), expected);
        }
        assert_eq!([0.000_12, 0.009_999, 0.25].map(milliseconds), ["0.12 ms", "10.00 ms", "250 ms"]);
    }
}
