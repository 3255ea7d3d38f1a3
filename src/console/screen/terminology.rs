//! The code lists: what there is, how complete, the codes in both languages, and which elements take them.

use maud::{Markup, html};
use serde_json::Value;

use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

const PATH: &str = "/terminology";

/// The two kinds of lists, with the keys of their headings.
const KINDS: [(&str, &str); 2] = [("CodeSystem", "terminology.systems"), ("ValueSet", "terminology.sets")];

/// Codes of a page, and of what a search finds.
const CODES_SHOWN_MAX: usize = 100;

/// A code as it is shown.
struct ListedCode {
    code: String,
    estonian: String,
    english: String,
}

/// All lists; with `q` the codes that hold the text.
pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let (title, asked) = (visit.t("terminology.title"), visit.field("q"));
    let mut lists = Vec::new();
    for (kind, heading) in KINDS {
        lists.push((heading, kind, all(visit, kind, "&_elements=url,title,content").await));
    }
    let found = if asked.is_empty() {
        html! {}
    } else {
        found(visit, asked).await
    };
    visit.page(title, &html! {
        h1 { (title) }
        form method="get" action=(visit.href(PATH)) role="search" {
            p.row { label { (visit.t("terminology.find")) input type="search" name="q" value=(asked); } button { (visit.t("terminology.do")) } }
        }
        (found)
        @for (heading, kind, lists) in &lists {
            h2 { (visit.t(heading)) }
            div.wide tabindex="0" role="region" aria-label=(visit.t(heading)) { table {
                thead { tr { @for key in ["terminology.list", "terminology.address", "terminology.content"] { th scope="col" { (visit.t(key)) } } } }
                tbody { @for list in lists { tr {
                    th scope="row" { (way(visit, kind, list)) }
                    td { code { (text(list, "url")) } }
                    td { (badge(visit, list)) }
                } } }
            } }
        }
    })
}

/// The codes of all code systems that hold a text, by code or name.
async fn found(visit: &Visit<'_>, asked: &str) -> Markup {
    let wanted = asked.to_lowercase();
    let mut hits = Vec::new();
    for list in all(visit, "CodeSystem", "").await {
        let holds = |code: &ListedCode| {
            [&code.code, &code.estonian, &code.english].into_iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        hits.extend(concepts(&list).into_iter().filter(holds).map(|code| (way(visit, "CodeSystem", &list), code)));
    }
    html! {
        h2 { (visit.say("terminology.found", &[("count", &hits.len().to_string())])) }
        (table(visit, hits.into_iter().take(CODES_SHOWN_MAX).map(|(way, code)| (Some(way), code)).collect()))
    }
}

/// One list, with its codes and where it is used.
pub(in crate::console) async fn show_list(visit: &Visit<'_>, kind: &str, id: &str) -> PageAnswer {
    let list = match visit.resource(&visit.get(&format!("/{kind}/{id}")).await, visit.t("terminology.title")) {
        Ok(list) => list,
        Err(refused) => return refused,
    };
    let page = visit.field("page").parse().unwrap_or(1_usize).max(1);
    let (is_open, codes) = match kind {
        "ValueSet" => expanded(visit, id).await,
        _ => (false, concepts(&list)),
    };
    let pages = codes.len().div_ceil(CODES_SHOWN_MAX).max(1);
    let total = codes.len().to_string();
    let shown = codes.into_iter().skip((page - 1) * CODES_SHOWN_MAX).take(CODES_SHOWN_MAX);
    let title = text(&list, "title");
    let at = |page: usize| visit.href(&format!("{PATH}/{kind}/{id}?page={page}"));
    visit.page(title, &html! {
        h1 { (title) " " (badge(visit, &list)) @if is_open { span.badge.warn { (visit.t("terminology.fragment")) } } }
        p { code { (text(&list, "url")) } }
        @if let Some(description) = list["description"].as_str() { p { (description) } }
        h2 { (visit.say("terminology.codes", &[("count", &total)])) }
        (table(visit, shown.map(|code| (None, code)).collect()))
        @if pages > 1 { nav aria-label=(visit.t("paging.nav")) { p {
            @if page > 1 { a.button href=(at(page - 1)) { (visit.t("paging.previous")) } " " }
            (visit.say("paging.at", &[("page", &page.to_string()), ("pages", &pages.to_string())])) " "
            @if page < pages { a.button href=(at(page + 1)) { (visit.t("paging.next")) } }
        } } }
        h2 { (visit.t("terminology.used")) }
        (used(visit, kind, text(&list, "url")).await)
    })
}

/// What takes the codes of a list: elements of profiles, and value sets.
async fn used(visit: &Visit<'_>, kind: &str, url: &str) -> Markup {
    let mut uses = Vec::new();
    if kind == "ValueSet" {
        for profile in all(visit, "StructureDefinition", "").await {
            for element in items(&profile["differential"], "element") {
                let set = element["binding"]["valueSet"].as_str().unwrap_or_default();
                if set.split('|').next() == Some(url) {
                    let strength = element["binding"]["strength"].as_str().unwrap_or_default();
                    uses.push(
                        html! { code { (text(element, "id")) } " · " (text(&profile, "title")) " · " (strength) },
                    );
                }
            }
        }
    } else {
        for set in all(visit, "ValueSet", "").await {
            if items(&set["compose"], "include").iter().any(|include| include["system"] == url) {
                uses.push(way(visit, "ValueSet", &set));
            }
        }
    }
    html! {
        @if uses.is_empty() { p { (visit.t("terminology.unused")) } }
        ul { @for one in &uses { li { (one) } } }
    }
}

/// All definitions of a type.
async fn all(visit: &Visit<'_>, kind: &str, more: &str) -> Vec<Value> {
    let answer = visit.get(&format!("/{kind}?_count=100&_sort=url{more}")).await;
    let bundle: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    items(&bundle, "entry")
        .iter()
        .map(|entry| entry["resource"].clone())
        .filter(|found| found["resourceType"] == kind)
        .collect()
}

/// The codes of a value set, and whether it may have more than are known.
async fn expanded(visit: &Visit<'_>, id: &str) -> (bool, Vec<ListedCode>) {
    let mut both = Vec::new();
    for language in ["et", "en"] {
        let answer = visit.get(&format!("/ValueSet/{id}/$expand?displayLanguage={language}")).await;
        both.push(serde_json::from_slice::<Value>(&answer.body).unwrap_or(Value::Null));
    }
    let codes = items(&both[0]["expansion"], "contains").iter().zip(items(&both[1]["expansion"], "contains"));
    let codes = codes.map(|(estonian, english)| ListedCode {
        code: text(estonian, "code").to_owned(),
        estonian: text(estonian, "display").to_owned(),
        english: text(english, "display").to_owned(),
    });
    (both[0]["expansion"]["extension"].is_array(), codes.collect())
}

/// The codes of a code system, those below others behind them.
fn concepts(list: &Value) -> Vec<ListedCode> {
    let own = list["language"].as_str().unwrap_or("en");
    let (mut codes, mut open) = (Vec::new(), vec![items(list, "concept").iter()]);
    while let Some(level) = open.last_mut() {
        let Some(concept) = level.next() else {
            open.pop();
            continue;
        };
        let of = |language: &str| {
            let designations = items(concept, "designation").iter();
            let mut named = designations.filter(|designation| designation["language"] == language);
            let display = concept["display"].as_str().filter(|_| own == language);
            named.next().and_then(|named| named["value"].as_str()).or(display).unwrap_or_default().to_owned()
        };
        codes.push(ListedCode { code: text(concept, "code").to_owned(), estonian: of("et"), english: of("en") });
        open.push(items(concept, "concept").iter());
    }
    codes
}

/// Codes, each with its list where they are of several.
fn table(visit: &Visit<'_>, codes: Vec<(Option<Markup>, ListedCode)>) -> Markup {
    let has_lists = codes.iter().any(|(list, _)| list.is_some());
    html! { div.wide tabindex="0" role="region" aria-label=(visit.t("terminology.title")) { table {
        thead { tr {
            th scope="col" { (visit.t("terminology.code")) } th scope="col" { "Eesti" } th scope="col" { "English" }
            @if has_lists { th scope="col" { (visit.t("terminology.list")) } }
        } }
        tbody { @for (list, code) in &codes { tr {
            th scope="row" { code { (code.code) } } td lang="et" { (code.estonian) } td lang="en" { (code.english) }
            @if let Some(list) = list { td { (list) } }
        } } }
    } } }
}

/// How much of a list is known.
fn badge(visit: &Visit<'_>, list: &Value) -> Markup {
    let content = text(list, "content");
    html! { @if !content.is_empty() {
        span.badge.(if content == "complete" { "good" } else { "warn" }) { (visit.t(&format!("terminology.{content}"))) }
    } }
}

fn way(visit: &Visit<'_>, kind: &str, list: &Value) -> Markup {
    html! { a href=(visit.href(&format!("{PATH}/{kind}/{}", text(list, "id")))) { (text(list, "title")) } }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[][..], Vec::as_slice)
}
