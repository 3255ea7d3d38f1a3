//! What was asked and answered lately: a table that grows, each exchange with what is wrong at its line, and again.

use std::cmp::Reverse;

use maud::{Markup, html};
use serde_json::Value;

use crate::console::asset;
use crate::console::json_lines::ElementLines;
use crate::console::snippets;
use crate::console::visit::Visit;
use crate::http::exchanges::{Exchange, KeptBody};
use crate::http::pages::{ApiRequest, PageAnswer};

/// Rows that a page shows.
const ROWS_SHOWN: usize = 200;

/// Headers that a replay leaves to the way it goes.
const OF_CONNECTION: [&str; 7] =
    ["host", "content-length", "connection", "accept-encoding", "x-request-id", "transfer-encoding", "user-agent"];

/// Filters: field and text.
const FILTERS: [(&str, &str); 4] =
    [("status", "traffic.status"), ("code", "traffic.code"), ("route", "traffic.route"), ("role", "traffic.role")];

pub(in crate::console) fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("traffic.title");
    let query: Vec<String> =
        visit.request.query.iter().map(|(name, value)| format!("{name}={}", super::encoded(value))).collect();
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t(if visit.sources.is_developer { "traffic.text" } else { "traffic.text-serve" })) }
        form.row method="get" action=(visit.href("/traffic")) {
            @for (name, key) in FILTERS { label { (visit.t(key)) input name=(name) value=(visit.field(name)) size="12"; } }
            label { input type="checkbox" name="pages" value="yes" checked[visit.field("pages") == "yes"]; " " (visit.t("traffic.pages")) }
            button { (visit.t("traffic.filter")) }
        }
        p { small { (visit.t("traffic.left-out")) } }
        (live(visit, ROWS_SHOWN, &query.join("&")))
    })
}

/// The newest exchanges that a query means, with newer ones as they come.
pub(in crate::console) fn live(visit: &Visit<'_>, max: usize, query: &str) -> Markup {
    let newer = visit.href(&format!("/traffic/rows?{query}"));
    html! {
        (framed(visit, Some((&newer, max)), &rows(visit, 0, max)))
        script type="module" src=(asset::href(visit, "live.js")) {}
    }
}

/// Those that took longest of the ones that are kept, without those that pages asked for.
pub(in crate::console) fn slowest(visit: &Visit<'_>, max: usize) -> Markup {
    let mut found = visit.sources.exchanges.newest(0, usize::MAX);
    found.retain(|exchange| !exchange.is_of_page);
    found.sort_by_key(|exchange| Reverse(exchange.took));
    framed(visit, None, &html! { @for exchange in found.iter().take(max) { (row(visit, exchange)) } })
}

/// `live`: where newer rows come from, and how many rows stay.
fn framed(visit: &Visit<'_>, live: Option<(&str, usize)>, rows: &Markup) -> Markup {
    html! { div.wide tabindex="0" role="region" aria-label=(visit.t("traffic.title")) {
        table data-live=[live.map(|(newer, _)| newer)] data-rows=[live.map(|(_, max)| max)] data-pause=[live.map(|_| visit.t("traffic.pause"))] data-news=[live.map(|_| visit.t("traffic.news"))] {
            thead { tr { @for key in ["traffic.at", "traffic.request", "traffic.status", "traffic.code", "traffic.took", "traffic.who"] {
                th.number[matches!(key, "traffic.status" | "traffic.took")] scope="col" { (visit.t(key)) }
            } } }
            tbody { (rows) }
        }
        p.none { (visit.t("traffic.none")) }
    } }
}

fn rows(visit: &Visit<'_>, after: u64, max: usize) -> Markup {
    let found = visit.sources.exchanges.newest(after, usize::MAX);
    html! { @for exchange in found.iter().filter(|exchange| is_meant(visit, exchange)).take(max) { (row(visit, exchange)) } }
}

fn is_meant(visit: &Visit<'_>, exchange: &Exchange) -> bool {
    let caller = exchange.content.as_ref().and_then(|content| content.caller.as_ref());
    let begins = |text: &str, wanted: &str| text.to_lowercase().starts_with(&wanted.to_lowercase());
    (!exchange.is_of_page || visit.field("pages") == "yes")
        && begins(&exchange.status.to_string(), visit.field("status"))
        && begins(exchange.code.as_deref().unwrap_or_default(), visit.field("code"))
        && exchange.route.to_lowercase().contains(&visit.field("route").to_lowercase())
        && (visit.field("role").is_empty() || caller.is_some_and(|(_, roles)| roles.contains(visit.field("role"))))
}

fn row(visit: &Visit<'_>, exchange: &Exchange) -> Markup {
    let content = exchange.content.as_ref();
    let target = content.map_or(exchange.route, |content| content.target.as_str());
    html! { tr data-number=(exchange.number) {
        td { (moment(exchange.at)) }
        th scope="row" { a href=(visit.href(&format!("/traffic/{}", exchange.number))) { (exchange.method) " " (target) } }
        td.number { span.bad[exchange.status >= 400] { (exchange.status) } }
        td { code { (exchange.code.as_deref().unwrap_or_default()) } }
        td.number { (format!("{:.1} ms", exchange.took.as_secs_f64() * 1_000.0)) }
        td { @if let Some((_, roles)) = content.and_then(|content| content.caller.as_ref()) { (roles) } @else if exchange.is_of_page { (visit.t("traffic.page")) } }
    } }
}

/// The time of day in UTC, as the log has it.
fn moment(at: i64) -> String {
    let seconds = at.div_euclid(1_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Rows behind a number, for a page that is open.
pub(in crate::console) fn newest(visit: &Visit<'_>) -> PageAnswer {
    let after = visit.field("after").parse().unwrap_or(0);
    PageAnswer::html(200, rows(visit, after, ROWS_SHOWN).into_string())
}

/// One exchange; nothing where it is gone.
pub(in crate::console) fn show_one(visit: &Visit<'_>, number: &str) -> Option<PageAnswer> {
    let exchange = visit.sources.exchanges.get(number.parse().ok()?)?;
    let title = visit.say("traffic.one", &[("number", number)]);
    let content = exchange.content.clone().unwrap_or_default();
    let request = resent(&exchange);
    let sent = indented(&content.request_body);
    let answered = indented(&content.answer_body);
    let outcome: Value = serde_json::from_str(&content.answer_body.text).unwrap_or(Value::Null);
    let issues = outcome["issue"].as_array().map_or(&[][..], Vec::as_slice);
    let lines = ElementLines::of(&sent);
    let line_of = |issue: &Value| {
        let expressions = issue["expression"].as_array()?.iter();
        expressions.filter_map(Value::as_str).find_map(|expression| lines.line(expression))
    };
    let milliseconds = |took: std::time::Duration| format!("{:.2}", took.as_secs_f64() * 1_000.0);
    Some(visit.page(&title, &html! {
        h1 { (title) }
        p { code { (exchange.method) " " (if content.target.is_empty() { exchange.route } else { &content.target }) } " " strong.bad[exchange.status >= 400] { (exchange.status) } }
        p { (visit.say("traffic.split", &[("total", &milliseconds(exchange.took)), ("body", &milliseconds(exchange.received)), ("run", &milliseconds(exchange.ran))])) " "
            (visit.t("traffic.id")) " " code { (exchange.request_id) } }
        @if !issues.is_empty() { section.refusal { h2 { (visit.t("traffic.issues")) } ul { @for (at, issue) in issues.iter().enumerate() {
            @let more = html! { @if let Some(line) = line_of(issue) { " " a href={ "#line-" (line) } { (visit.say("validate.line", &[("line", &line.to_string())])) } } };
            (visit.issue_with(issue, Some(&format!("issue-{at}")), &more))
        } } } }
        @if exchange.content.is_some() {
            div.pair {
                section { h2 { (visit.t("traffic.sent")) } (headers(visit, &content.request_headers)) (numbered(visit, &sent, |line| issues.iter().position(|issue| line_of(issue) == Some(line)))) @if content.request_body.is_cut { p { (visit.t("traffic.cut")) } } }
                section { h2 { (visit.t("traffic.answered")) } (headers(visit, &content.answer_headers)) @if !answered.is_empty() { pre.json tabindex="0" { code { (answered) } } } @if content.answer_body.is_cut { p { (visit.t("traffic.cut")) } } }
            }
            (visit.form(&format!("/traffic/{number}"), &html! { button { (visit.t("traffic.replay")) } }))
            h2 { (visit.t("traffic.edit")) }
            (super::api::try_form(visit, &request.method, request.target.trim_start_matches(&visit.request.base_path), &request.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect::<String>(), &sent))
            (snippets::copied(visit, &request))
        }
    }))
}

fn headers(visit: &Visit<'_>, headers: &[(String, String)]) -> Markup {
    html! { details { summary { (visit.t("api.headers")) } pre tabindex="0" { code { @for (name, value) in headers { (name) ": " (value) "\n" } } } } }
}

/// Lines of a body; those with an issue lead back to it.
fn numbered(visit: &Visit<'_>, text: &str, issue_at: impl Fn(usize) -> Option<usize>) -> Markup {
    html! { @if !text.is_empty() { ol.lines tabindex="0" { @for (at, line) in text.lines().enumerate() {
        @let issue = issue_at(at + 1);
        li #{ "line-" (at + 1) } .wrong[issue.is_some()] { code { (line) } @if let Some(issue) = issue { " " a href={ "#issue-" (issue) } { (visit.t("severity.error")) } } }
    } } } }
}

fn indented(body: &KeptBody) -> String {
    let bytes = body.text.as_bytes();
    let is_json = serde_json::from_slice::<Value>(bytes).is_ok() && !body.text.contains('\n');
    let indented = is_json.then(|| crate::http::indent(bytes)).flatten();
    indented.map_or_else(|| body.text.clone(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The request as it would be sent again.
fn resent(exchange: &Exchange) -> ApiRequest {
    let content = exchange.content.clone().unwrap_or_default();
    let is_own = |name: &str| OF_CONNECTION.contains(&name) || name.starts_with("sec-");
    let headers = content.request_headers.into_iter().filter(|(name, _)| !is_own(name)).collect();
    ApiRequest {
        method: exchange.method.clone(),
        target: content.target,
        headers,
        body: content.request_body.text.into_bytes(),
    }
}

/// Asks the same again, as the part that the reader plays; nothing where the exchange is gone or its body was cut.
pub(in crate::console) async fn replay(visit: &Visit<'_>, number: &str) -> Option<PageAnswer> {
    let exchange = visit.sources.exchanges.get(number.parse().ok()?)?;
    exchange.content.as_ref().filter(|content| !content.request_body.is_cut)?;
    let request = resent(&exchange);
    let request = match visit.token().await {
        Some(token) => request.bearing(token),
        None => request,
    };
    visit.api.ask(request).await;
    let newest = visit.sources.exchanges.newest(exchange.number, 1);
    let number = newest.first().map_or(exchange.number, |newest| newest.number);
    Some(visit.go_to(&format!("/traffic/{number}")))
}
