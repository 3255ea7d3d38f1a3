//! The form of a search for certificates: rows of parameter, modifier and value, out of the table that the search itself reads.

use maud::{Markup, html};
use serde_json::Value;

use super::start::state_name;
use crate::console::asset;
use crate::console::search_form::SearchForm;
use crate::console::visit::Visit;
use certificate::Status;
use certificate::search::link;
use certificate::search::parameter::{self, Modifier, PARAMETERS, RowTarget, SORT_KEYS};

/// The page of the search.
pub(super) const PATH: &str = "/certificates";

/// Rows of a form that asks for nothing yet.
const ROWS_OFFERED: [&str; 3] = ["status", "category", "subject"];

/// Rows of a form; more conditions than that are written into the address.
const ROWS_MAX: usize = 20;

/// Every modifier, as sent.
const MODIFIERS: [Modifier; 6] =
    [Modifier::Not, Modifier::Missing, Modifier::Identifier, Modifier::Exact, Modifier::Contains, Modifier::Patient];

/// What the form sent: a parameter, modifier and value per row. Rows without a value ask for nothing.
pub(super) fn sent(visit: &Visit<'_>) -> SearchForm {
    let fields = |name: &'static str| {
        visit.request.form.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    let rows = fields("parameter").zip(fields("modifier")).zip(fields("value"));
    let rows = rows.map(|((parameter, modifier), value)| {
        let name = if modifier.is_empty() { parameter.to_owned() } else { format!("{parameter}:{modifier}") };
        (name, value.to_owned())
    });
    let sort = fields("sort").map(|sort| ("_sort".to_owned(), sort.to_owned()));
    SearchForm::of_pairs(rows.take(ROWS_MAX).chain(sort))
}

/// The address of a page of what the form asks for.
pub(super) fn address(visit: &Visit<'_>, form: &SearchForm, page: u64) -> String {
    form.address(visit, PATH, page, &is_personal)
}

/// Whether the values of a parameter may name a person.
fn is_personal(name: &str) -> bool {
    parameter::find(PARAMETERS, name).is_ok_and(|(parameter, modifier)| parameter.is_personal(modifier))
}

/// The form with what it asks for, and with more empty rows.
pub(super) async fn form(visit: &Visit<'_>, form: &SearchForm, more: usize) -> Markup {
    let mut rows: Vec<(&str, Option<&str>, &str)> = Vec::new();
    for (name, value) in form.pairs.iter().filter(|(name, _)| name != "_sort") {
        let found = parameter::find(PARAMETERS, name);
        let (parameter, modifier) =
            found.map_or((name.as_str(), None), |(row, modifier)| (row.name, modifier.map(Modifier::name)));
        rows.push((parameter, modifier, value));
    }
    if rows.is_empty() {
        rows = ROWS_OFFERED.map(|name| (name, None, "")).into();
    }
    rows.extend((0..more).map(|_| ("identifier", None, "")));
    rows.truncate(ROWS_MAX);
    let content = html! {
        @for (at, row) in rows.iter().enumerate() { (condition(visit, at, *row)) }
        p { label { (visit.t("search.sort")) " " select name="sort" { (orders(visit, form.value("_sort"))) } } }
        p.row {
            button.main name="do" value="search" { (visit.t("search.do")) }
            button name="do" value="add" { (visit.t("search.add")) }
        }
        p { small { (visit.t("search.personal")) } }
        (status_codes(visit))
        (category_codes(visit).await)
    };
    html! {
        div data-search=(format!("{}/Composition", visit.request.base_path)) { (visit.form(PATH, &content)) }
        h2 { (visit.t("search.request")) }
        pre tabindex="0" { code #request { (request_text(visit, form)) } }
        script type="module" src=(asset::href(visit, "search.js")) {}
    }
}

/// One row of the form.
fn condition(visit: &Visit<'_>, at: usize, (name, modifier, value): (&str, Option<&str>, &str)) -> Markup {
    let is_known = PARAMETERS.iter().any(|known| known.name == name);
    html! {
        fieldset.condition {
            legend { (visit.say("search.row", &[("number", &(at + 1).to_string())])) }
            div.row {
                label { (visit.t("search.parameter")) select name="parameter" {
                    @if !is_known { option value=(name) selected { (name) } }
                    @for known in PARAMETERS {
                        option value=(known.name) selected[known.name == name] title=(known.documentation) data-list=[list(known.target)]
                            data-personal[known.is_personal(None)]
                            data-modifiers=(known.modifiers.iter().map(|modifier| modifier.name()).collect::<Vec<_>>().join(" ")) {
                            (known.name)
                        }
                    }
                } }
                label { (visit.t("search.modifier")) select name="modifier" {
                    option value="" { (visit.t("search.none")) }
                    @for known in MODIFIERS.map(Modifier::name) {
                        option value=(known) selected[modifier == Some(known)] { ":" (known) }
                    }
                } }
                label { (visit.t("search.value"))
                    input name="value" value=(value) autocomplete="off" spellcheck="false"
                        list=[PARAMETERS.iter().find(|known| known.name == name).and_then(|known| list(known.target))];
                }
            }
        }
    }
}

/// The list of codes that the values of a parameter come from.
fn list(target: RowTarget) -> Option<&'static str> {
    match target {
        RowTarget::State => Some("codes-status"),
        RowTarget::Category => Some("codes-category"),
        _ => None,
    }
}

fn status_codes(visit: &Visit<'_>) -> Markup {
    html! { datalist #codes-status {
        @for status in Status::ALL { option value=(status.code()) { (state_name(visit, status.state())) } }
    } }
}

async fn category_codes(visit: &Visit<'_>) -> Markup {
    let answer = visit.get("/ValueSet/labivaatuse-tyyp/$expand").await;
    let expanded: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let codes = expanded["expansion"]["contains"].as_array().map_or(&[][..], Vec::as_slice);
    html! { datalist #codes-category {
        @for code in codes { option value=(code["code"].as_str().unwrap_or_default()) { (code["display"].as_str().unwrap_or_default()) } }
    } }
}

fn orders(visit: &Visit<'_>, chosen: &str) -> Markup {
    let both = SORT_KEYS.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("-{name}")]);
    html! {
        option value="" { (visit.t("search.newest")) }
        @for order in both { option value=(order) selected[order == chosen] { (order) } }
    }
}

/// The request as a client would send it.
fn request_text(visit: &Visit<'_>, form: &SearchForm) -> String {
    let query = link::encode(form.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let at = format!("{}/Composition", visit.request.base_path);
    match form.is_hidden(&is_personal) {
        true => format!("POST {at}/_search\ncontent-type: application/x-www-form-urlencoded\n\n{query}"),
        false if query.is_empty() => format!("GET {at}"),
        false => format!("GET {at}?{query}"),
    }
}
