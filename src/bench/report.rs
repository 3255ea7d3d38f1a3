//! The result of a bench: what `bench.json` holds, and what tables and plot are made of.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::child::ProcessMemory;
use super::figures::{Faults, Ratio, Sampled, growth};
use super::machine::BenchMachine;
use super::scenario::{Measure, PerformanceGoal, Scenario};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// Of hcert that ran the bench, and of the server unless it was another one.
    pub version: String,
    /// When it began, UTC.
    pub date: String,
    pub machine: BenchMachine,
    /// Another server that was driven.
    pub against: Option<String>,
    /// Settings that differed from their defaults.
    pub settings: Vec<(String, String)>,
    pub seed: u64,
    pub clients: usize,
    /// Of each scenario.
    pub seconds: f64,
    pub sizes: Vec<Size>,
}

/// All figures of one number of certificates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Size {
    pub certificates: u64,
    pub versions: u64,
    pub import: Option<ImportFigures>,
    pub disk: Option<DiskUse>,
    pub rows: Vec<ScenarioRow>,
    pub restart: Option<Restart>,
    /// How long the import of one certificate took that is older than all others; the process that sends it included.
    pub late_import_seconds: Option<f64>,
    /// What went wrong beside wrong answers. Any of them makes the command fail.
    pub problems: Vec<String>,
}

/// How the data set was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportFigures {
    /// From the first line to the end of the process, index and all.
    pub seconds: f64,
    pub certificates_per_second: f64,
    pub versions_per_second: f64,
    /// Of the importing process.
    pub cpu_seconds_per_1000_versions: f64,
    /// CPU time of generating the lines, in the bench's own process.
    pub generating_cpu_seconds: f64,
    pub memory_peak: ProcessMemory,
}

impl ImportFigures {
    /// CPU time of a version, microseconds.
    pub fn cpu_us(&self) -> f64 {
        self.cpu_seconds_per_1000_versions * 1e3
    }
}

/// Bytes on disk when the import has closed the folder, the audit trail left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DiskUse {
    /// The store with its journal.
    pub store_bytes: u64,
    pub index_bytes: u64,
    /// Compressed bodies and index rows of all versions.
    pub payload_bytes: u64,
    pub bytes_per_version: f64,
    pub payload_per_version: f64,
    pub ratio: f64,
}

/// Starts, the kill, memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Restart {
    /// From the start of the process to the first certificate read, and to the first search answered; middle of several.
    pub clean_read_ms: f64,
    pub clean_search_ms: f64,
    /// The same after SIGKILL under write load.
    pub killed_read_ms: f64,
    pub killed_search_ms: f64,
    /// Writes acknowledged before the kill, and those of them that were not there afterwards.
    pub acknowledged: u64,
    pub lost: u64,
    pub memory_idle: ProcessMemory,
    pub memory_peak: ProcessMemory,
}

/// One scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScenarioRow {
    pub name: String,
    pub title: String,
    pub clients: usize,
    pub requests: u64,
    /// How many different things were asked for.
    pub distinct: u64,
    pub seconds: f64,
    pub per_second: Option<f64>,
    pub p50_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    /// CPU time of the server per request. Where requests write, with what the server did for them afterwards.
    pub cpu_us: Option<f64>,
    /// Of a body, on average.
    pub body_bytes: Option<f64>,
    /// The page that was asked for; another one than the scenario's where there are not so many.
    pub page: Option<u64>,
    pub floor: Option<FloorFigure>,
    pub ratio: Option<Ratio>,
    /// Of creates.
    pub device: Option<DeviceWrites>,
    pub goal: Option<String>,
    pub reached: Option<bool>,
    /// How many times worse than at the smallest size.
    pub growth: Option<f64>,
    pub growth_goal: Option<f64>,
    /// Answers that were not what they must be.
    pub errors: u64,
    pub first_error: Option<String>,
    /// Searches that did not find what was acknowledged before them.
    pub misses: u64,
    pub note: Option<String>,
    /// Why there are no figures.
    pub not_offered: Option<String>,
}

/// A line of the table of goals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GoalRow {
    pub what: String,
    pub goal: String,
    pub reached: String,
    pub is_met: bool,
}

/// What the floor gave in the same minutes; the middle of its slices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FloorFigure {
    pub what: String,
    pub unit: String,
    pub value: f64,
}

/// What reached the block device while certificates were created and until all of it was in its place. Other programs' writes are part of
/// it, so as long a time without creates stands beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceWrites {
    pub creates: u64,
    pub bytes_per_create: f64,
    /// Written in as long a time without creates, for as many creates.
    pub idle_bytes_per_create: f64,
    /// For one record of the floor.
    pub floor_bytes: Option<f64>,
}

impl DeviceWrites {
    /// Bytes of a create alone.
    pub fn net(&self) -> f64 {
        (self.bytes_per_create - self.idle_bytes_per_create).max(0.0)
    }
}

impl ScenarioRow {
    pub fn new(scenario: &Scenario, clients: usize) -> ScenarioRow {
        ScenarioRow {
            name: scenario.name.to_owned(),
            title: scenario.title.to_owned(),
            clients,
            ..ScenarioRow::default()
        }
    }

    /// Takes in the figures of all slices.
    pub fn fill(&mut self, sampled: &Sampled) {
        let us = |percent| sampled.percentile_us(percent);
        self.requests = sampled.count() as u64;
        self.seconds = sampled.wall.as_secs_f64();
        self.per_second = sampled.rate();
        (self.p50_us, self.p90_us, self.p99_us, self.p999_us) = (us(50.0), us(90.0), us(99.0), us(99.9));
        self.cpu_us = sampled.cpu_us();
        self.body_bytes = (self.requests > 0).then(|| sampled.body_bytes as f64 / self.requests as f64);
        let Faults { count, first } = sampled.faults.clone();
        (self.errors, self.first_error) = (count, first);
    }

    /// Holds the figures against the goal.
    pub fn judge(&mut self, goal: PerformanceGoal) {
        let ratio = self.ratio.map(|ratio| ratio.median);
        (self.goal, self.reached) = match goal {
            PerformanceGoal::None => (None, None),
            PerformanceGoal::AtMost(most) => (Some(format!("<= {most} x")), ratio.map(|ratio| ratio <= most)),
            PerformanceGoal::CpuUs(most) => (Some(format!("<= {most} µs CPU")), self.cpu_us.map(|us| us <= most)),
        };
    }

    /// The figure that is compared between sizes; CPU time is not known of another server.
    pub fn compared(&self, measure: Measure) -> Option<(f64, bool)> {
        match measure {
            Measure::Rate => self.per_second.map(|rate| (rate, true)),
            Measure::Cpu if self.cpu_us.is_some() => self.cpu_us.map(|us| (us, false)),
            Measure::Cpu | Measure::P50 => self.p50_us.map(|us| (us, false)),
        }
    }

    pub fn failed(&self) -> bool {
        self.errors > 0 || self.misses > 0
    }
}

impl BenchReport {
    /// Compares a size with the smallest, once both are there.
    pub fn grow(&mut self) {
        let Some((smallest, larger)) = self.sizes.split_first_mut() else { return };
        for size in larger {
            for row in &mut size.rows {
                let Some(scenario) = Scenario::named(&row.name) else { continue };
                let before = smallest.rows.iter().find(|before| before.name == row.name);
                // A small size has fewer pages: its last one is not the same search.
                let before = before.filter(|before| before.page == row.page);
                let (before, now) =
                    (before.and_then(|row| row.compared(scenario.measure)), row.compared(scenario.measure));
                let (Some((before, better)), Some((now, _))) = (before, now) else { continue };
                row.growth = growth(now, before, better);
                row.growth_goal = row.growth.and(Some(scenario.growth)).filter(|goal| goal.is_finite());
            }
        }
    }

    /// What makes the command fail, in words.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for size in &self.sizes {
            let at = format!("{} certificates", count(size.certificates));
            for row in size.rows.iter().filter(|row| row.errors > 0) {
                let first = row.first_error.as_deref().unwrap_or("unknown");
                failures.push(format!("{at}, {}: {} wrong answers, the first: {first}", row.name, row.errors));
            }
            // Another server may find new certificates later; that is a result. Ours promises not to.
            if self.against.is_none() {
                let missed = size.rows.iter().filter(|row| row.misses > 0);
                failures
                    .extend(missed.map(|row| format!("{at}, {}: {} searches missed a write", row.name, row.misses)));
            }
            if let Some(restart) = size.restart.as_ref().filter(|restart| restart.lost > 0) {
                failures.push(format!("{at}: {} of {} acknowledged writes lost", restart.lost, restart.acknowledged));
            }
            failures.extend(size.problems.iter().map(|problem| format!("{at}: {problem}")));
        }
        failures
    }
}

/// A number as `--count` takes it: `1k`, `2500`, `10M`.
pub(super) fn count(number: u64) -> String {
    match number {
        0 => "0".to_owned(),
        _ if number.is_multiple_of(1_000_000) => format!("{}M", number / 1_000_000),
        _ if number.is_multiple_of(1_000) => format!("{}k", number / 1_000),
        _ => number.to_string(),
    }
}

/// Milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::scenario::SCENARIOS;

    fn row(name: &str, cpu_us: f64) -> ScenarioRow {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
        ScenarioRow {
            cpu_us: Some(cpu_us),
            p50_us: Some(1.0),
            per_second: Some(100.0),
            ..ScenarioRow::new(scenario, 1)
        }
    }

    pub(crate) fn report(sizes: Vec<Size>) -> BenchReport {
        BenchReport {
            version: "0".into(),
            date: "2026-11-21".into(),
            machine: BenchMachine::here(std::path::Path::new(".")),
            against: None,
            settings: Vec::new(),
            seed: 1,
            clients: 4,
            seconds: 5.0,
            sizes,
        }
    }

    #[test]
    fn goals_are_held_against_ratio_and_cpu_time() {
        let mut row = row("read", 600.0);
        for (goal, ratio, reached) in [
            (PerformanceGoal::AtMost(2.5), 2.5, Some(true)),
            (PerformanceGoal::AtMost(2.5), 2.6, Some(false)),
            (PerformanceGoal::CpuUs(500.0), 1.0, Some(false)),
            (PerformanceGoal::CpuUs(600.0), 1.0, Some(true)),
            (PerformanceGoal::None, 1.0, None),
        ] {
            row.ratio = Ratio::of([(ratio, 1.0)]);
            row.judge(goal);
            assert_eq!(row.reached, reached, "{goal:?}");
        }
    }

    #[test]
    fn growth_compares_with_the_smallest_size_unless_something_else_was_measured_there() {
        let size = |certificates, rows| Size { certificates, rows, ..Size::default() };
        let mut other_page = row("dense-page-1000", 10.0);
        other_page.page = Some(3);
        let small = size(1_000, vec![row("subject", 20.0), other_page, row("read", 10.0)]);
        let rows = vec![row("subject", 30.0), row("dense-page-1000", 90.0), row("vread", 1.0), row("read", 20.0)];
        let large = size(10_000_000, rows);
        let mut report = report(vec![small, large]);
        report.grow();
        let rows = &report.sizes[1].rows;
        assert_eq!((rows[0].growth, rows[0].growth_goal), (Some(1.5), Some(1.4)));
        assert_eq!((rows[3].growth, rows[3].growth_goal), (Some(2.0), None));
        assert_eq!((rows[1].growth, rows[2].growth), (None, None));
        assert_eq!(report.sizes[0].rows[0].growth, None);
    }

    #[test]
    fn wrong_answers_misses_and_lost_writes_are_failures() {
        let mut wrong = row("read", 1.0);
        (wrong.errors, wrong.first_error) = (2, Some("status 500".into()));
        let mut missed = row("after-write", 1.0);
        missed.misses = 1;
        let restart = Some(Restart { acknowledged: 9, lost: 1, ..Restart::default() });
        let problems = vec!["the server ended".into()];
        let mut report =
            report(vec![Size { certificates: 1_000, rows: vec![wrong, missed], restart, problems, ..Size::default() }]);
        let failures = report.failures();
        assert_eq!(failures.len(), 4);
        assert_eq!(failures[0], "1k certificates, read: 2 wrong answers, the first: status 500");
        report.against = Some("http://other".into());
        assert_eq!(report.failures().len(), 3, "what another server finds late is no failure of ours");
    }

    #[test]
    fn numbers_are_told_as_they_are_asked_for() {
        for (number, told) in
            [(1_000, "1k"), (2_500, "2500"), (1_000_000, "1M"), (10_000_000, "10M"), (7, "7"), (0, "0")]
        {
            assert_eq!(count(number), told);
        }
    }
}
