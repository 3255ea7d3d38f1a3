//! From many times to few figures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Requests of one scenario, or of one slice of it.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Of each request, rising, nanoseconds.
    times: Vec<u64>,
    pub wall: Duration,
    /// CPU time of the process that answered, all its threads; none for a server that is not ours.
    pub cpu: Option<Duration>,
    /// Bytes of all bodies that came.
    pub body_bytes: u64,
    pub faults: Faults,
}

/// Answers that were not what they must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub count: u64,
    /// The first of them, in words.
    pub first: Option<String>,
}

impl Faults {
    pub fn add(&mut self, words: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(words);
    }

    pub fn join(&mut self, other: Faults) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }
}

impl Sampled {
    pub fn new(mut times: Vec<u64>, wall: Duration, cpu: Option<Duration>) -> Sampled {
        times.sort_unstable();
        Sampled { times, wall, cpu, body_bytes: 0, faults: Faults::default() }
    }

    /// With what the answers held and what was wrong with them.
    pub fn with(self, body_bytes: u64, faults: Faults) -> Sampled {
        Sampled { body_bytes, faults, ..self }
    }

    /// Several slices as one.
    pub fn all(slices: Vec<Sampled>) -> Sampled {
        let wall = slices.iter().map(|slice| slice.wall).sum();
        let cpu = slices.iter().map(|slice| slice.cpu).sum();
        let body_bytes = slices.iter().map(|slice| slice.body_bytes).sum();
        let mut faults = Faults::default();
        let mut times = Vec::with_capacity(slices.iter().map(|slice| slice.times.len()).sum());
        for slice in slices {
            times.extend(slice.times);
            faults.join(slice.faults);
        }
        Sampled { body_bytes, faults, ..Sampled::new(times, wall, cpu) }
    }

    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// Requests in a second.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.wall.as_secs_f64();
        (seconds > 0.0 && !self.times.is_empty()).then(|| self.times.len() as f64 / seconds)
    }

    /// CPU time of a request, microseconds.
    pub fn cpu_us(&self) -> Option<f64> {
        let cpu = self.cpu?;
        (!self.times.is_empty()).then(|| cpu.as_secs_f64() * 1e6 / self.times.len() as f64)
    }

    pub fn p50_us(&self) -> Option<f64> {
        self.percentile_us(50.0)
    }

    /// The time that so many of a hundred requests did not exceed, microseconds.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        percentile(&self.times, percent).map(|nanoseconds| nanoseconds as f64 / 1e3)
    }
}

/// The smallest value that at least `percent` of a hundred do not exceed; values rise.
pub(super) fn percentile(rising: &[u64], percent: f64) -> Option<u64> {
    let rank = (rising.len() as f64 * percent / 100.0).ceil() as usize;
    rising.get(rank.clamp(1, rising.len().max(1)) - 1).copied()
}

/// The middle one.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// How many times as much as the floor, slice by slice: the middle, the least, the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// Of pairs (measured, floor); none without a pair whose floor is above zero.
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Ratio> {
        let ratios: Vec<f64> =
            pairs.into_iter().filter(|(_, floor)| *floor > 0.0).map(|(value, floor)| value / floor).collect();
        let low = ratios.iter().copied().fold(f64::MAX, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        median(ratios).map(|median| Ratio { median, low, high })
    }
}

/// How many times worse it is than at the smallest size. For a rate, less is worse.
pub(super) fn growth(now: f64, smallest: f64, more_is_better: bool) -> Option<f64> {
    let (above, below) = if more_is_better { (smallest, now) } else { (now, smallest) };
    (above > 0.0 && below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_came() {
        let rising: Vec<u64> = (1..=1000).collect();
        for (percent, expected) in [(0.0, 1), (50.0, 500), (90.0, 900), (99.0, 990), (99.9, 999), (100.0, 1000)] {
            assert_eq!(percentile(&rising, percent), Some(expected), "{percent}");
        }
        assert_eq!(percentile(&[7], 50.0), Some(7));
        assert_eq!(percentile(&[7], 99.9), Some(7));
        assert_eq!(percentile(&[3, 9], 50.0), Some(3));
        assert_eq!(percentile(&[3, 9], 99.0), Some(9));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn slices_together_are_one_measurement() {
        let slice = |times: Vec<u64>| Sampled::new(times, Duration::from_secs(1), Some(Duration::from_millis(30)));
        let mut bad = slice(vec![4_000]);
        bad.faults.add(|| "first".into());
        bad.faults.add(|| "second".into());
        let all = Sampled::all(vec![slice(vec![3_000, 1_000]), bad, slice(vec![])]);
        assert_eq!((all.count(), all.rate()), (3, Some(1.0)));
        assert_eq!((all.p50_us(), all.percentile_us(100.0)), (Some(3.0), Some(4.0)));
        assert_eq!(all.cpu_us(), Some(30_000.0));
        assert_eq!(all.faults, Faults { count: 2, first: Some("first".into()) });
        assert_eq!(Sampled::default().p50_us(), None);
        assert_eq!(Sampled::default().rate(), None);
        assert_eq!(Sampled::new(vec![1], Duration::ZERO, None).cpu_us(), None);
    }

    #[test]
    fn a_ratio_is_the_middle_of_its_slices_with_their_spread() {
        let ratio = Ratio::of([(2.0, 1.0), (9.0, 3.0), (1.0, 1.0)]).unwrap();
        assert_eq!(ratio, Ratio { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Ratio::of([(2.0, 1.0), (4.0, 1.0), (5.0, 0.0)]).unwrap().median, 3.0);
        assert_eq!(Ratio::of([(1.0, 0.0)]), None);
        assert_eq!(Ratio::of([]), None);
    }

    #[test]
    fn growth_says_how_much_worse_it_became() {
        assert_eq!(growth(30.0, 20.0, false), Some(1.5));
        assert_eq!(growth(2_000.0, 4_000.0, true), Some(2.0));
        assert_eq!(growth(1.0, 0.0, false), None);
    }
}
