//! The API, as its own description has it: every request, with a form to try it.

use maud::{Markup, html};
use serde_json::Value;

use crate::console::snippets;
use crate::console::visit::Visit;
use crate::http::indent;
use crate::http::pages::{ApiAnswer, ApiRequest, PageAnswer};
use crate::interaction::openapi::sample::SampleRequest;

/// Methods that can be tried.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "HEAD"];

/// All requests by what they are about.
pub(in crate::console) async fn list(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("api.title");
    let described = match described(visit, title).await {
        Ok(described) => described,
        Err(refused) => return refused,
    };
    let samples = SampleRequest::all(&described);
    let mut tags: Vec<&str> = samples.iter().map(|sample| sample.tag.as_str()).collect();
    tags.dedup();
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t("api.text")) " " code { (visit.request.base_url) "/openapi.json" } }
        @for tag in tags {
            h2 { (tag) }
            ul { @for sample in samples.iter().filter(|sample| sample.tag == tag) {
                li { a href=(visit.href(&format!("/api/{}", sample.id))) { (sample.summary) } " " code { (sample.method) " " (sample.path.split('?').next().unwrap_or_default()) } }
            } }
        }
        h2 { (visit.t("api.try")) }
        (try_form(visit, "GET", "/metadata", "", ""))
    })
}

async fn described(visit: &Visit<'_>, title: &str) -> Result<Value, PageAnswer> {
    let answer = visit.get("/openapi.json").await;
    visit.resource(&answer, title)
}

/// One request.
pub(in crate::console) async fn show(visit: &Visit<'_>, id: &str) -> PageAnswer {
    let described = match described(visit, visit.t("api.title")).await {
        Ok(described) => described,
        Err(refused) => return refused,
    };
    let Some(sample) = SampleRequest::all(&described).into_iter().find(|sample| sample.id == id) else {
        return list(visit).await;
    };
    let Some((path, operation)) = operation(&described, id) else { return list(visit).await };
    let statuses: Vec<&str> =
        operation["responses"].as_object().into_iter().flatten().map(|(status, _)| status.as_str()).collect();
    let headers: String = sample.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let body = sample.body.as_ref().map(crate::interaction::openapi::sample::SampleBody::indented).unwrap_or_default();
    visit.page(
        &sample.summary,
        &html! {
            p { a href=(visit.href("/api")) { (visit.t("api.title")) } }
            h1 lang="en" { (sample.summary) }
            p { code { (sample.method) " " (visit.request.base_path) (path) } }
            p lang="en" { (operation["description"].as_str().unwrap_or_default()) }
            (parameters(visit, &described, &operation["parameters"]))
            p { (visit.t("api.statuses")) " " (statuses.join(", ")) }
            h2 { (visit.t("api.try")) }
            (try_form(visit, &sample.method, &sample.path, &headers, &body))
            (snippets::of_sample(visit, &sample))
        },
    )
}

/// The path and the description of an operation.
fn operation<'d>(described: &'d Value, id: &str) -> Option<(&'d str, &'d Value)> {
    let paths = described["paths"].as_object()?.iter();
    let mut all = paths.flat_map(|(path, methods)| {
        methods.as_object().into_iter().flatten().map(move |(_, found)| (path.as_str(), found))
    });
    all.find(|(_, found)| found["operationId"] == id)
}

fn parameters(visit: &Visit<'_>, described: &Value, parameters: &Value) -> Markup {
    let parameters = parameters.as_array().map_or(&[][..], Vec::as_slice);
    let resolved = |parameter: &Value| match parameter["$ref"].as_str() {
        Some(address) => described.pointer(address.trim_start_matches('#')).unwrap_or(parameter).clone(),
        None => parameter.clone(),
    };
    if parameters.is_empty() {
        return html! {};
    }
    html! {
        div.wide tabindex="0" role="region" aria-label=(visit.t("api.parameters")) { table {
            thead { tr { @for key in ["api.parameter", "api.in", "api.meaning"] { th scope="col" { (visit.t(key)) } } } }
            tbody { @for parameter in parameters.iter().map(resolved) { tr {
                th scope="row" { code { (parameter["name"].as_str().unwrap_or_default()) } }
                td { (parameter["in"].as_str().unwrap_or_default()) }
                td lang="en" { (parameter["description"].as_str().unwrap_or_default()) }
            } } }
        } }
    }
}

pub(super) fn try_form(visit: &Visit<'_>, method: &str, path: &str, headers: &str, body: &str) -> Markup {
    visit.form("/api/try", &html! {
        div.row {
            label { (visit.t("access.method")) select name="method" { @for known in METHODS { option selected[known == method] { (known) } } } }
            label.grow { (visit.say("access.path", &[("base", &visit.request.base_path)])) input name="path" required value=(path); }
        }
        p { label { (visit.t("api.headers")) textarea name="headers" rows="3" spellcheck="false" { "\n" (headers) } } }
        p { label { (visit.t("api.body")) textarea name="body" rows="12" spellcheck="false" { "\n" (body) } } }
        button.main { (visit.t("api.send")) }
    })
}

/// Sends what the form says, in the reader's name, and shows the answer.
pub(in crate::console) async fn send(visit: &Visit<'_>) -> PageAnswer {
    let (method, path, headers) = (visit.field("method"), visit.field("path"), visit.field("headers"));
    let body = visit.field("body");
    let mut request = visit.api_request(method, path, Vec::new()).await;
    for (name, value) in headers.lines().filter_map(|line| line.split_once(':')) {
        let name = name.trim().to_lowercase();
        request.headers.retain(|(known, _)| *known != name);
        request.headers.push((name, value.trim().to_owned()));
    }
    request.body = body.as_bytes().to_vec();
    let answer = visit.api.ask(request.clone()).await;
    let title = visit.t("api.answer");
    visit.page(
        title,
        &html! {
            h1 { (title) }
            (shown(visit, &request, &answer))
            h2 { (visit.t("api.again")) }
            (try_form(visit, method, path, headers, body))
        },
    )
}

/// A request and what was answered.
fn shown(visit: &Visit<'_>, request: &ApiRequest, answer: &ApiAnswer) -> Markup {
    let text = indent(&answer.body).unwrap_or_else(|| answer.body.to_vec());
    html! {
        p { code { (request.method) " " (request.target) } " " strong { (answer.status) } }
        @if answer.status >= 400 { (visit.refusal(answer)) }
        details { summary { (visit.t("api.headers")) } pre tabindex="0" { code { @for (name, value) in &answer.headers { (name) ": " (value) "\n" } } } }
        @if answer.body.starts_with(b"%PDF-") { p { code { "application/pdf" } " " (answer.body.len()) " B" } }
        @else if !answer.body.is_empty() { pre.json tabindex="0" { code { (String::from_utf8_lossy(&text)) } } }
        (snippets::copied(visit, request))
    }
}
