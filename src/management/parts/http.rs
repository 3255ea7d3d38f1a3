//! The queues and caches of the HTTP front end. It is no health part of its own: a queue is no fault.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::http::{HttpServer, LoadCounters};
use crate::interaction::Service;
use crate::management::{PartReports, WatchedPart};
use crate::registry::{RegistryHealth, RememberedAnswers};
use base::metrics::Readings;
use base::metrics::names::{
    CACHE_ENTRIES, CACHE_HITS, CACHE_MISSES, CONNECTIONS, CONNECTIONS_ACCEPTED, CONNECTIONS_CLOSED,
    HTTP_REQUESTS_REFUSED, HTTP_REQUESTS_WAITING, HTTP_REQUESTS_WORKING, TURNS_WAITING, X_ROAD_HEADERS_DROPPED,
};

/// Watches the HTTP front end of a service.
pub struct HttpPart(pub Arc<HttpServer<Service>>);

impl WatchedPart for HttpPart {
    fn check(&self, told: &mut PartReports) {
        let readings = &mut told.readings;
        let waiting = self.0.service().waiting().map(|(turn, waiting)| (turn, waiting as f64));
        readings.gauges(&TURNS_WAITING, &waiting);
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
        readings.gauges(&CACHE_ENTRIES, &entries);
        readings.counters(&CACHE_HITS, &found);
        readings.counters(&CACHE_MISSES, &missed);
    }
}

/// Connections, and what was refused or cut because there was too much of it.
fn load(load: &LoadCounters, readings: &mut Readings) {
    let gauges = [
        (CONNECTIONS, &load.connections),
        (HTTP_REQUESTS_WORKING, &load.requests),
        (HTTP_REQUESTS_WAITING, &load.requests_waiting),
    ];
    for (metric, value) in gauges {
        readings.gauge(&metric, value.load(Ordering::Relaxed) as f64);
    }
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    readings.counter(&CONNECTIONS_ACCEPTED, count(&load.connections_accepted) as f64);
    let connections = [
        ("made-room", count(&load.connections_made_room)),
        ("refused", count(&load.connections_refused)),
        ("handshake-failed", count(&load.handshakes_failed)),
        ("answer-unread", count(&load.answers_unread)),
        ("http2-excess", count(&load.connections_excessive)),
    ];
    readings.counters(&CONNECTIONS_CLOSED, &connections);
    readings.counter(&X_ROAD_HEADERS_DROPPED, count(&load.x_road_dropped) as f64);
    let requests = [
        ("full", count(&load.requests_refused)),
        ("throttled", count(&load.requests_throttled)),
        ("given-up", count(&load.requests_given_up)),
        ("body-late", count(&load.bodies_late)),
    ];
    readings.counters(&HTTP_REQUESTS_REFUSED, &requests);
}
