//! What is so at the moment somebody asks: gauges, and counters that others keep.

use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Metric, Registry, Unit};

/// Values read for one scrape. A value that nobody knows is left out, so that no graph shows a nought for it.
#[derive(Debug, Default)]
pub struct Readings {
    registry: Registry,
}

impl Readings {
    /// A value that goes up and down. A name that ends in `_seconds` or `_bytes` says its unit.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.register(name, help, ConstGauge::new(value));
    }

    /// A value that only grows while the process runs. `_total` is added to its name.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.register(name, help, ConstCounter::new(value));
    }

    /// One gauge for each value of a label.
    pub fn gauges(&mut self, name: &str, help: &str, label: &'static str, values: &[(&'static str, f64)]) {
        let family = Family::<[(&'static str, &'static str); 1], Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for (of, value) in values {
            family.get_or_create(&[(label, of)]).set(*value);
        }
        self.register(name, help, family);
    }

    /// One counter for each value of a label.
    pub fn counters(&mut self, name: &str, help: &str, label: &'static str, values: &[(&'static str, u64)]) {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        for (of, value) in values {
            family.get_or_create(&[(label, of)]).inc_by(*value);
        }
        self.register(name, help, family);
    }

    /// Which of its states each of several things is in: 1 for that one, 0 for the others.
    pub fn states(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        states: &[&'static str],
        of: &[(&'static str, &'static str)],
    ) {
        let family = Family::<[(&'static str, &'static str); 2], Gauge>::default();
        for (thing, is) in of {
            for state in states {
                family.get_or_create(&[(label, thing), ("state", state)]).set(i64::from(state == is));
            }
        }
        self.register(name, help, family);
    }

    /// The version of this program; nobody learns from outside which libraries it is made of.
    pub fn build(&mut self, version: &'static str) {
        self.gauges("hcert_build_info", "This program, always 1", "version", &[(version, 1.0)]);
    }

    fn register(&mut self, name: &str, help: &str, metric: impl Metric) {
        let unit = [("_seconds", Unit::Seconds), ("_bytes", Unit::Bytes)];
        match unit.into_iter().find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, unit))) {
            Some((name, unit)) => self.registry.register_with_unit(name, help, unit, metric),
            None => self.registry.register(name, help, metric),
        }
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }
}
