//! How long things took, read back from a histogram for people who look now and have nothing that keeps and draws metrics.

use std::collections::BTreeMap;

use super::names::MetricDefinition;
use super::{Metrics, Readings};

/// The times of one kind since the service began, such as those of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct DurationSummary {
    /// The values of the labels, with blanks between; empty where the metric has none.
    pub of: String,
    /// How many were measured.
    pub count: u64,
    /// Seconds that half of them took at most. An estimate: where in its bucket a value lies is not known.
    pub half_s: f64,
    /// Seconds that 99 of 100 took at most, as exactly. One beyond the last bucket counts as its bound.
    pub p99_s: f64,
}

/// A bucket: its bound, and how many values lie below.
type Bucket = (f64, u64);

impl Metrics {
    /// The times of a histogram of seconds, by label, without those that nothing was measured of.
    pub fn durations(&self, histogram: &MetricDefinition) -> Vec<DurationSummary> {
        let text = self.text(&Readings::default());
        let start = format!("{}_bucket{{", histogram.name);
        let mut all = BTreeMap::<String, Vec<Bucket>>::new();
        for (labels, count) in text.lines().filter_map(|line| line.strip_prefix(&start)?.rsplit_once("} ")) {
            let label = |name: &str| labels.split_once(&format!("{name}=\""))?.1.split('"').next();
            let bound = label("le").map(|bound| bound.parse().unwrap_or(f64::INFINITY));
            let (Some(bound), Ok(count)) = (bound, count.parse()) else { continue };
            let of: Vec<&str> = histogram.labels.iter().filter_map(|name| label(name)).collect();
            all.entry(of.join(" ")).or_default().push((bound, count));
        }
        let summary = |(of, buckets): (String, Vec<Bucket>)| {
            let count = buckets.last()?.1;
            let (half_s, p99_s) = (quantile(&buckets, 0.5), quantile(&buckets, 0.99));
            (count > 0).then_some(DurationSummary { of, count, half_s, p99_s })
        };
        all.into_iter().filter_map(summary).collect()
    }
}

/// The value that this share of all lies below, taken to lie evenly within its bucket; the buckets are in order, the last one without end.
fn quantile(buckets: &[Bucket], share: f64) -> f64 {
    let wanted = buckets.last().map_or(0, |(_, count)| *count) as f64 * share;
    let (mut lower, mut before) = (0.0, 0);
    for (bound, count) in buckets {
        if *count as f64 >= wanted && bound.is_finite() {
            let within = (wanted - before as f64) / (count - before).max(1) as f64;
            return lower + (bound - lower) * within;
        }
        if bound.is_finite() {
            (lower, before) = (*bound, *count);
        }
    }
    lower
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::ResponseLabels;
    use crate::metrics::names::{COMMIT_DURATION, HTTP_REQUEST_DURATION};

    #[test]
    fn half_and_nearly_all_requests_of_each_route_took_no_longer() {
        let metrics = Metrics::new();
        let answered = |route: &'static str, micros: u64| {
            let labels = ResponseLabels { method: "GET", route, status: 200 };
            metrics.requests.answered(&labels, Duration::from_micros(micros));
        };
        (0..98).for_each(|_| answered("/Composition/{id}", 80));
        answered("/Composition/{id}", 400);
        answered("/Composition/{id}", 60_000_000);
        answered("/Composition", 3_000);
        let told = metrics.durations(&HTTP_REQUEST_DURATION);
        assert_eq!(
            told.iter().map(|one| (&*one.of, one.count)).collect::<Vec<_>>(),
            [("/Composition", 1), ("/Composition/{id}", 100)]
        );
        assert!(told[0].half_s > 0.0025 && told[0].p99_s <= 0.005, "{told:?}");
        assert!(told[1].half_s < 0.0001 && told[1].p99_s > 0.00025 && told[1].p99_s <= 0.0005, "{told:?}");
        assert_eq!(metrics.durations(&COMMIT_DURATION), []);
    }

    #[test]
    fn a_value_beyond_the_last_bucket_counts_as_its_bound() {
        assert_eq!(quantile(&[(1.0, 0), (2.0, 0), (f64::INFINITY, 5)], 0.5), 2.0);
        assert_eq!(quantile(&[(1.0, 2), (2.0, 4), (f64::INFINITY, 4)], 0.5), 1.0);
        assert_eq!(quantile(&[(1.0, 2), (2.0, 4), (f64::INFINITY, 4)], 0.75), 1.5);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
