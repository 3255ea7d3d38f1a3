//! Requests as the HTTP front end answers them: how many, how long, how many at once, and which codes refused them.
//!
//! A label set is looked up by what it is made of, and made at its first request alone, so that a request asks for no memory.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::names::{ERRORS, HTTP_REQUEST_DURATION, HTTP_REQUESTS, HTTP_REQUESTS_IN_FLIGHT};

/// Seconds: a read takes a tenth of a millisecond, a write some, a heavy search some hundred; ten seconds is when clients give up.
const SECONDS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// What the HTTP front end counts.
#[derive(Debug)]
pub struct Requests {
    answered: Family<ResponseLabels, Counter>,
    seconds: Family<RouteLabel, Histogram>,
    under_way: Gauge,
    errors: Family<StatusCodeLabel, Counter>,
}

/// What is told apart of answers. Texts are those of the program, never of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResponseLabels {
    /// A method of HTTP, or `other`.
    pub method: &'static str,
    /// The route with its places open: `/Composition/{id}`.
    pub route: &'static str,
    /// HTTP status of the answer.
    pub status: u16,
}

/// A route with its places open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabel {
    /// The same as [`ResponseLabels::route`].
    pub route: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusCodeLabel {
    code: &'static str,
}

/// A request that is being answered. Dropped it is none any more, whatever became of it.
#[derive(Debug)]
pub struct RequestInFlight<'a>(&'a Gauge);

impl Requests {
    pub(super) fn new(registry: &mut Registry) -> Requests {
        let requests = Requests {
            answered: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            under_way: Gauge::default(),
            errors: Family::default(),
        };
        HTTP_REQUESTS.register(registry, requests.answered.clone());
        HTTP_REQUEST_DURATION.register(registry, requests.seconds.clone());
        HTTP_REQUESTS_IN_FLIGHT.register(registry, requests.under_way.clone());
        ERRORS.register(registry, requests.errors.clone());
        requests
    }

    /// A request begins.
    pub fn begin(&self) -> RequestInFlight<'_> {
        self.under_way.inc();
        RequestInFlight(&self.under_way)
    }

    /// A request has its answer.
    pub fn answered(&self, answered: &ResponseLabels, took: Duration) {
        self.answered.get_or_create(answered).inc();
        self.seconds.get_or_create(&RouteLabel { route: answered.route }).observe(took.as_secs_f64());
    }

    /// A request was refused with a code of the catalogue.
    pub fn refused(&self, code: &'static str) {
        self.errors.get_or_create(&StatusCodeLabel { code }).inc();
    }

    /// Requests being answered at this moment.
    pub fn under_way(&self) -> i64 {
        self.under_way.get()
    }
}

impl Drop for RequestInFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
