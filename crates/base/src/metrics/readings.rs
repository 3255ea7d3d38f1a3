//! What is so at the moment somebody asks: gauges, and counters that others keep.

use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::names::{BUILD_INFO, MetricDefinition};

/// Values read for one scrape. A value that nobody knows is left out, so that no graph shows a nought for it.
#[derive(Debug, Default)]
pub struct Readings {
    registry: Registry,
}

impl Readings {
    /// A value that goes up and down.
    pub fn gauge(&mut self, metric: &MetricDefinition, value: f64) {
        metric.register(&mut self.registry, ConstGauge::new(value));
    }

    /// A value that only grows while the process runs.
    pub fn counter(&mut self, metric: &MetricDefinition, value: f64) {
        metric.register(&mut self.registry, ConstCounter::new(value));
    }

    /// One gauge for each value of the metric's label.
    pub fn gauges(&mut self, metric: &MetricDefinition, values: &[(&'static str, f64)]) {
        let family = Family::<[(&'static str, &'static str); 1], Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for (of, value) in values {
            family.get_or_create(&[(metric.labels[0], of)]).set(*value);
        }
        metric.register(&mut self.registry, family);
    }

    /// One counter for each value of the metric's label.
    pub fn counters(&mut self, metric: &MetricDefinition, values: &[(&'static str, u64)]) {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        for (of, value) in values {
            family.get_or_create(&[(metric.labels[0], of)]).inc_by(*value);
        }
        metric.register(&mut self.registry, family);
    }

    /// Which of its states each of several things is in: 1 for that one, 0 for the others. The metric's labels are the thing and
    /// the state.
    pub fn states(&mut self, metric: &MetricDefinition, states: &[&'static str], of: &[(&'static str, &'static str)]) {
        let family = Family::<[(&'static str, &'static str); 2], Gauge>::default();
        for (thing, is) in of {
            for state in states {
                let labels = [(metric.labels[0], *thing), (metric.labels[1], *state)];
                family.get_or_create(&labels).set(i64::from(state == is));
            }
        }
        metric.register(&mut self.registry, family);
    }

    /// The version of this program; nobody learns from outside which libraries it is made of.
    pub fn build(&mut self, version: &'static str) {
        self.gauges(&BUILD_INFO, &[(version, 1.0)]);
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }
}
