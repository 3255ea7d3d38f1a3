//! What is shown over TLS, where it is spoken.

use std::sync::Arc;

use crate::http::HttpServer;
use crate::interaction::Service;
use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use crate::tls;
use base::metrics::names::TLS_CERTIFICATE_END;

/// Watches the certificate of a service.
pub struct TlsPart(pub Arc<HttpServer<Service>>);

impl WatchedPart for TlsPart {
    fn check(&self, told: &mut PartReports) {
        let now = tls::now();
        let Some(status) = self.0.tls_status(now) else { return };
        if let Some(end) = status.not_after {
            told.readings.gauge(&TLS_CERTIFICATE_END, end as f64);
        }
        told.add(part("tls", &status, now));
    }
}

/// Clients refuse a certificate that is over, so it takes the service down for all of them.
pub(crate) fn part(name: &'static str, status: &tls::TlsStatus, now: i64) -> HealthPart {
    let is_over = status.not_after.is_some_and(|end| end <= now);
    let problems: Vec<&str> = status
        .last_problem
        .iter()
        .chain(&status.warnings)
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    let part = match (is_over, problems.is_empty()) {
        (true, _) => HealthPart::new(name, HealthStatus::Down, "The certificate has expired; clients refuse it."),
        (false, true) => HealthPart::new(name, HealthStatus::Ok, "Certificate and key are in order."),
        (false, false) => HealthPart::new(name, HealthStatus::Degraded, problems.join(" ")),
    };
    match status.not_after.map(|end| end.saturating_mul(1000)).map(date) {
        Some(end) => part.with_text("certificate_end", end),
        None => part,
    }
}

fn date(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds).map_or_else(|_| "?".to_owned(), |moment| moment.to_string())
}
