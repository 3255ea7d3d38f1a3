//! A request as programs send it, to be copied.

use maud::{Markup, html};
use serde_json::Value;

use super::visit::Visit;
use crate::http::pages::ApiRequest;
use crate::interaction::openapi::sample::{SampleBody, SampleRequest};
use crate::interaction::openapi::{http_text, snippets};

/// A request of the console in every language. A token is not part of it.
pub(super) fn copied(visit: &Visit<'_>, request: &ApiRequest) -> Markup {
    let has_token = request.headers.iter().any(|(name, _)| name == "authorization");
    let headers = request.headers.iter().filter(|(name, _)| name != "authorization").cloned().collect();
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let sample = SampleRequest {
        id: String::new(),
        summary: String::new(),
        tag: String::new(),
        method: request.method.clone(),
        path: request.target.trim_start_matches(&visit.request.base_path).to_owned(),
        base_url: visit.request.base_url.to_string(),
        headers,
        needs_token: has_token,
        body: (!text.is_empty()).then_some(SampleBody { file: None, text }),
    };
    of_sample(visit, &sample)
}

/// A sample in every language.
pub(super) fn of_sample(visit: &Visit<'_>, sample: &SampleRequest) -> Markup {
    let told = snippets(sample);
    let told = told.as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    html! {
        details.snippets {
            summary { (visit.t("snippets.title")) }
            @for snippet in told { (one(&text(&snippet["label"]), &text(&snippet["source"]))) }
            (one(".http", &http_text(sample)))
        }
    }
}

fn one(label: &str, source: &str) -> Markup {
    html! { h3 { (label) } pre tabindex="0" data-copy="" { code { (source) } } }
}
