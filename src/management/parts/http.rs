//! The queues and caches of the HTTP front end. It is no health part of its own: a queue is no fault.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::http::{HttpServer, LoadCounters};
use crate::interaction::Service;
use crate::management::{PartReports, WatchedPart};
use crate::registry::{RegistryHealth, RememberedAnswers};
use base::metrics::Readings;

/// Watches the HTTP front end of a service.
pub struct HttpPart(pub Arc<HttpServer<Service>>);

impl WatchedPart for HttpPart {
    fn check(&self, told: &mut PartReports) {
        let readings = &mut told.readings;
        let waiting = self.0.service().waiting().map(|(turn, waiting)| (turn, waiting as f64));
        let help = "Requests that wait for their turn: heavy searches, long ones, and large answers";
        readings.gauges("hcert_turns_waiting", help, "turn", &waiting);
        load(self.0.load(), readings);
        let mut caches = Vec::new();
        if let Some(tokens) = &self.0.settings().tokens {
            let tokens = tokens.remembered();
            caches.push(("token", tokens.tokens, tokens.found, tokens.missed));
        }
        if let RegistryHealth::Remote { remembered: RememberedAnswers { entries, found, missed }, .. } =
            self.0.service().registry().health()
        {
            caches.push(("registry", entries, found, missed));
        }
        let entries: Vec<_> = caches.iter().map(|(cache, entries, ..)| (*cache, *entries as f64)).collect();
        let found: Vec<_> = caches.iter().map(|(cache, _, found, _)| (*cache, *found)).collect();
        let missed: Vec<_> = caches.iter().map(|(cache, .., missed)| (*cache, *missed)).collect();
        let help = "What is remembered: verified tokens, patients of another system's registry";
        readings.gauges("hcert_cache_entries", help, "cache", &entries);
        readings.counters("hcert_cache_hits", "How often it was looked for and found", "cache", &found);
        readings.counters("hcert_cache_misses", "How often it was looked for and not found", "cache", &missed);
    }
}

/// Connections, and what was refused or cut because there was too much of it.
fn load(load: &LoadCounters, readings: &mut Readings) {
    let gauges = [
        ("hcert_connections", "Connections that have a place", &load.connections),
        ("hcert_http_requests_working", "Requests that are worked on", &load.requests),
        ("hcert_http_requests_waiting", "Requests that wait to be worked on", &load.requests_waiting),
    ];
    for (name, help, value) in gauges {
        readings.gauge(name, help, value.load(Ordering::Relaxed) as f64);
    }
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    readings.counter("hcert_connections_accepted", "Connections taken", count(&load.connections_accepted) as f64);
    let connections = [
        ("made-room", count(&load.connections_made_room)),
        ("refused", count(&load.connections_refused)),
        ("handshake-failed", count(&load.handshakes_failed)),
        ("answer-unread", count(&load.answers_unread)),
        ("http2-excess", count(&load.connections_excessive)),
    ];
    let help = "Connections closed by the service, by why: a newcomer needed the place, there was none, TLS, an unread answer, HTTP/2 beyond bounds";
    readings.counters("hcert_connections_closed", help, "why", &connections);
    let help = "Requests whose X-Road headers were dropped, because x_road.from does not name their sender";
    readings.counter("hcert_x_road_headers_dropped", help, count(&load.x_road_dropped) as f64);
    let requests = [
        ("full", count(&load.requests_refused)),
        ("throttled", count(&load.requests_throttled)),
        ("given-up", count(&load.requests_given_up)),
        ("body-late", count(&load.bodies_late)),
    ];
    let help =
        "Requests refused for the load they are, by why: too many at once, too many of one caller, too long, too slow";
    readings.counters("hcert_http_requests_refused", help, "why", &requests);
}
