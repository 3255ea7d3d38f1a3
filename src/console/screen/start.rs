//! The first page: what runs, how many certificates there are in each state, and where to begin.

use maud::{Markup, html};

use super::certificates::total;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;
use certificate::{State, Status};

/// Requests that are shown.
const LATEST_SHOWN: usize = 10;

/// Certificates of the demo data that the button asks for.
const DEMO_COUNT: u64 = 1_000;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let mut tiles = Vec::new();
    for status in Status::ALL {
        tiles.push((status, total(visit, &format!("status={}", status.code())).await));
    }
    let is_empty = tiles.iter().all(|(_, total)| *total == Some(0));
    visit.page(
        visit.t("start.title"),
        &html! {
            h1 { (visit.t("start.title")) }
            p.lead { (visit.t(if visit.sources.is_developer { "start.developer" } else { "start.serve" })) }
            ul.tiles {
                @for (status, total) in &tiles {
                    li { a href=(visit.href(&format!("/certificates?status={}", status.code()))) {
                        strong { @match total { Some(total) => (total), None => "–" } }
                        " " (state_name(visit, status.state()))
                    } }
                }
            }
            @if is_empty && visit.sources.fill.is_some() {
                section {
                    h2 { (visit.t("start.empty")) }
                    p { (visit.t("start.empty-text")) }
                    (visit.form("/fill", &html! { button.main { (visit.t("start.fill")) } }))
                }
            }
            h2 { (visit.t("start.doors")) }
            ul.doors { @for (path, key) in DOORS.iter().filter(|(path, _)| *path != "/faults" || visit.sources.faults.is_some()) { li { (door(visit, path, key)) } } }
            h2 { (visit.t("start.latest")) }
            (super::traffic::live(visit, LATEST_SHOWN, ""))
        p { (visit.t("start.runs")) " hcert " (env!("CARGO_PKG_VERSION")) ". " (visit.t("start.api")) " " code { (visit.request.base_url) } }
        },
    )
}

/// Where a newcomer can begin: path and key.
const DOORS: &[(&str, &str)] = &[
    ("/certificates/new", "start.door-create"),
    ("/certificates", "start.door-search"),
    ("/access", "start.door-access"),
    ("/faults", "start.door-faults"),
];

fn door(visit: &Visit<'_>, path: &str, key: &str) -> Markup {
    html! { a href=(visit.href(path)) { (visit.t(key)) } }
}

/// The name of a state for readers.
pub(in crate::console) fn state_name<'v>(visit: &'v Visit<'_>, state: State) -> &'v str {
    visit.t(match state {
        State::Draft => "state.draft",
        State::Completed => "state.completed",
        State::Suspended => "state.suspended",
        State::Revoked => "state.revoked",
        State::Deleted => "state.deleted",
    })
}

/// Fills an empty store.
pub(in crate::console) async fn fill(visit: &Visit<'_>) -> PageAnswer {
    let Some(fill) = &visit.sources.fill else { return visit.go_to("/") };
    match fill(DEMO_COUNT).await {
        Ok(_) => visit.go_to("/"),
        Err(problem) => {
            let title = visit.t("start.fill-failed");
            visit.page_with_status(503, title, &html! { h1 { (title) } p { (problem) } })
        }
    }
}
