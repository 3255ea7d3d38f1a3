//! The four pages.

use std::collections::BTreeMap;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::ManagementService;
use super::guard::CallerRefusal;
use super::report::{HealthPart, HealthReport, HealthStatus};
use base::metrics::CONTENT_TYPE as OPEN_METRICS;

const JSON: &str = "application/json";

/// `/health`.
#[derive(Serialize)]
struct HealthResponse<'r> {
    status: HealthStatus,
    /// Whether requests are welcome.
    ready: bool,
    version: &'static str,
    mode: &'static str,
    uptime_s: u64,
    parts: BTreeMap<&'static str, &'r HealthPart>,
}

impl ManagementService {
    /// Answers a request; HEAD is GET without its body, which hyper leaves out.
    pub async fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !["/live", "/ready", "/health", "/metrics"].contains(&path) {
            let told = json!({"error": "there are /live, /ready, /health and /metrics"});
            return page(StatusCode::NOT_FOUND, JSON, told.to_string());
        }
        if method != Method::GET && method != Method::HEAD {
            let told = json!({"error": "this can only be read"});
            let mut refusal = page(StatusCode::METHOD_NOT_ALLOWED, JSON, told.to_string());
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        // Contract 10.2. Only the last heartbeat is looked at: that cannot hang.
        if path == "/live" {
            return match self.liveness().problem() {
                None => page(StatusCode::OK, JSON, json!({"live": true}).to_string()),
                Some(problem) => {
                    let told = json!({"live": false, "why_not": [problem]});
                    page(StatusCode::SERVICE_UNAVAILABLE, JSON, told.to_string())
                }
            };
        }
        let report = self.report().await;
        match path {
            "/ready" => {
                let reasons = report.reasons();
                let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                page(status, JSON, json!({"ready": reasons.is_empty(), "why_not": reasons}).to_string())
            }
            "/health" => self.health(&report),
            _ => page(StatusCode::OK, OPEN_METRICS, self.metrics.text(&report.told.readings)),
        }
    }

    fn health(&self, report: &HealthReport) -> Response<Full<Bytes>> {
        let health = HealthResponse {
            status: report.status(),
            ready: report.reasons().is_empty(),
            version: env!("CARGO_PKG_VERSION"),
            mode: self.mode,
            uptime_s: self.metrics.started.ago().as_secs(),
            parts: report.told.parts.iter().map(|part| (part.name, part)).collect(),
        };
        let status = if health.status == HealthStatus::Down { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        let text = serde_json::to_string_pretty(&health).expect("texts and numbers can be written as JSON");
        page(status, JSON, text + "\n")
    }
}

/// The answer to a caller that gets none of the pages.
pub(super) fn refused(refusal: &CallerRefusal) -> Response<Full<Bytes>> {
    let told = |status, words| page(status, JSON, json!({"error": words}).to_string());
    match refusal {
        CallerRefusal::Host => told(
            StatusCode::MISDIRECTED_REQUEST,
            "Host names another machine; management.hosts lists the names that this service is asked by",
        ),
        CallerRefusal::Token => {
            let words = "this page needs the token of management.token_file: Authorization: Bearer ...";
            let mut response = told(StatusCode::UNAUTHORIZED, words);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"management\""));
            response
        }
    }
}

fn page(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
