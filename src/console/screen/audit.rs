//! The audit trail: events by whom they concern, one of them in words and as it is, and the check of the chain.

use maud::{Markup, html};
use serde_json::Value;

use crate::audit::words;
use crate::console::search_form::{SearchForm, paging};
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

const PATH: &str = "/audit";

/// Fields of the form, with the keys of their labels.
const FIELDS: [(&str, &str); 5] = [
    ("patient", "audit.patient"),
    ("certificate", "audit.certificate"),
    ("agent", "audit.agent"),
    ("from", "audit.from"),
    ("until", "audit.until"),
];

/// Results that are offered.
const OUTCOMES: [&str; 2] = ["success", "refused"];

/// The events, and the form that shortens the list.
pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let (title, form) = (visit.t("audit.title"), SearchForm::of_address(visit));
    let answer = visit.api.ask(asked(&form).request(visit, "AuditEvent", &[]).await).await;
    let bundle = match visit.resource(&answer, title) {
        Ok(bundle) => bundle,
        Err(refused) => return refused,
    };
    let total = bundle["total"].as_u64().unwrap_or_default();
    let events = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|entry| &entry["resource"]);
    let fields = html! {
        div.row {
            @for (name, key) in FIELDS { label { (visit.t(key)) input name=(name) value=(form.value(name)) autocomplete="off"; } }
            label { (visit.t("audit.outcome")) select name="outcome" {
                option value="" { (visit.t("audit.any")) }
                @for outcome in OUTCOMES {
                    option value=(outcome) selected[form.value("outcome") == outcome] { (visit.t(&format!("audit.outcome.{outcome}"))) }
                }
            } }
        }
        p { button.main { (visit.t("audit.find")) } }
    };
    visit.page(
        title,
        &html! {
            h1 { (title) }
            (visit.form(PATH, &fields))
            h2 { (visit.say("audit.total", &[("total", &total.to_string())])) }
            (table(visit, events))
            (paging(visit, form.page, total, &|page| address(visit, &form, page)))
            h2 { (visit.t("audit.check")) }
            (check_form(visit))
            h2 { (visit.t("audit.export")) }
            p { (visit.t("audit.export-text")) }
            pre tabindex="0" { code { "hcert audit export --since 2026-01-01 --out events.ndjson" } }
        },
    )
}

/// The way to what the form asks for.
pub(in crate::console) fn act(visit: &Visit<'_>) -> PageAnswer {
    let fields = FIELDS.iter().map(|(name, _)| *name).chain(["outcome"]);
    let pairs = fields.map(|name| (name.to_owned(), visit.field(name).to_owned()));
    visit.go_to(&address(visit, &SearchForm::of_pairs(pairs), 1))
}

/// Whoever takes part is a person mostly.
fn address(visit: &Visit<'_>, form: &SearchForm, page: u64) -> String {
    form.address(visit, PATH, page, &|name| name == "agent")
}

/// The form in the parameters of the API.
fn asked(form: &SearchForm) -> SearchForm {
    let pairs = form.pairs.iter().map(|(name, value)| {
        let id = value.trim_start_matches('#');
        match name.as_str() {
            "certificate" => ("entity".to_owned(), format!("Composition/{id}")),
            "from" => ("date".to_owned(), format!("ge{value}")),
            "until" => ("date".to_owned(), format!("le{value}")),
            _ => (name.clone(), value.clone()),
        }
    });
    SearchForm { pairs: pairs.collect(), page: form.page }
}

fn table<'e>(visit: &Visit<'_>, events: impl Iterator<Item = &'e Value>) -> Markup {
    html! { div.wide tabindex="0" role="region" aria-label=(visit.t("audit.title")) { table {
        thead { tr { @for key in ["audit.number", "audit.time", "audit.who", "audit.what", "audit.outcome"] { th scope="col" { (visit.t(key)) } } } }
        tbody { @for event in events { (row(visit, event)) } }
    } } }
}

fn row(visit: &Visit<'_>, event: &Value) -> Markup {
    let id = event["id"].as_str().unwrap_or_default();
    let told = words::of(event, visit.language());
    html! { tr {
        th scope="row" { a href=(visit.href(&format!("{PATH}/{id}"))) { (id) } }
        td.day { (told.at) } td { (told.actor) } td { (told.deed) }
        td { (visit.t(if told.is_refused { "audit.outcome.refused" } else { "audit.outcome.success" })) }
    } }
}

/// One event.
pub(in crate::console) async fn show_one(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let title = visit.say("audit.one", &[("id", id)]);
    let answer = visit.get(&format!("/AuditEvent/{id}?_pretty=true")).await;
    let event = match visit.resource(&answer, &title) {
        Ok(event) => event,
        Err(refused) => return refused,
    };
    let told = words::of(&event, visit.language());
    let entities = event["entity"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let references: Vec<&str> = entities.filter_map(|entity| entity["what"]["reference"].as_str()).collect();
    visit.page(&title, &html! {
        h1 { (title) }
        dl.facts { @for (key, value) in [("audit.time", &told.at), ("audit.who", &told.actor), ("audit.what", &told.deed), ("audit.why", &told.reason)] {
            dt { (visit.t(key)) } dd { (value) }
        } }
        ul { @for reference in references { li { (entity(visit, reference)) } } }
        h2 { "AuditEvent" }
        pre tabindex="0" { code { (String::from_utf8_lossy(&answer.body)) } }
    })
}

/// The way to what an event names, where there is a page of it.
fn entity(visit: &Visit<'_>, reference: &str) -> Markup {
    let path = match reference.split('/').collect::<Vec<_>>()[..] {
        ["Composition", id, ..] => format!("/certificates/{id}"),
        ["Patient", id, ..] => format!("/patients/{id}"),
        _ => return html! { (reference) },
    };
    html! { a href=(visit.href(&path)) { (reference) } }
}

fn check_form(visit: &Visit<'_>) -> Markup {
    visit.form(&format!("{PATH}/check"), &html! {
        p { (visit.t("audit.check-text")) }
        p { label { (visit.t("audit.head")) " " input name="head" size="70" autocomplete="off" spellcheck="false" placeholder="17:0123…"; } }
        p { button { (visit.t("audit.check-do")) } }
    })
}

/// Checks the chain now. Whoever may not read the trail is refused as the API refuses.
pub(in crate::console) async fn check(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("audit.check");
    if let Err(refused) = visit.resource(&visit.get("/AuditEvent?_count=0").await, title) {
        return refused;
    }
    let head = Some(visit.field("head").to_owned()).filter(|head| !head.is_empty());
    let checked = (visit.sources.check_trail)(head).await;
    let (status, key, report) = match &checked {
        Ok(check) if check.is_whole => (200, "audit.whole", check.report.as_str()),
        Ok(check) => (200, "audit.broken", check.report.as_str()),
        Err(problem) => (400, "audit.unchecked", problem.as_str()),
    };
    let head = report.lines().find_map(|line| line.strip_prefix("head "));
    visit.page_with_status(
        status,
        title,
        &html! {
            h1 { (title) }
            p role="status" { strong { (visit.t(key)) } }
            @if let Some(head) = head {
                h2 { (visit.t("audit.keep")) }
                p { code.copy { (head) } }
                p { (visit.t("audit.keep-text")) }
            }
            h2 { (visit.t("audit.report")) }
            pre tabindex="0" { code { (report) } }
            (check_form(visit))
            p { a href=(visit.href(PATH)) { (visit.t("audit.back")) } }
        },
    )
}
