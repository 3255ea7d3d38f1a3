//! The goals of the design, and how much of them a run reached. Those of single scenarios stand in their table.
//!
//! Source: DESIGN, section 7.

use super::report::{BenchReport, GoalRow, ScenarioRow, Size, count};
use super::terminal::{kibibytes, number};

pub(super) const IMPORT_PER_SECOND: f64 = 30_000.0;
pub(super) const IMPORT_CPU_US: f64 = 38.0;
/// Store, journal and index, times compressed bodies and index rows.
pub(super) const DISK_RATIO: f64 = 1.6;
pub(super) const DEVICE_BYTES: f64 = 8_192.0;
/// First search after a start.
pub(super) const CLEAN_MS: f64 = 50.0;
pub(super) const KILLED_MS: f64 = 300.0;
pub(super) const IDLE_BYTES: u64 = 60 << 20;
pub(super) const PEAK_BYTES: u64 = 450 << 20;

impl GoalRow {
    fn new(what: &str, goal: &str, reached: String, is_met: bool) -> GoalRow {
        GoalRow { what: what.to_owned(), goal: goal.to_owned(), reached, is_met }
    }

    fn at_most(what: &str, unit: &str, value: f64, most: f64) -> GoalRow {
        GoalRow::new(what, &format!("<= {most}{unit}"), format!("{}{unit}", number(value)), value <= most)
    }
}

/// What the largest size of a run reached of each goal that was measured.
pub(super) fn goals(report: &BenchReport) -> Vec<GoalRow> {
    let Some(size) = report.sizes.last() else { return Vec::new() };
    let from = count(report.sizes[0].certificates);
    let mut rows = Vec::new();
    rows.extend(ratio(size, "read", "read, CPU beside 4 KB from memory"));
    rows.extend(ratio(size, "subject", "search by subject, CPU beside 4 KB from memory"));
    rows.extend(growth(size, &from, "subject", "search by subject, growth"));
    rows.extend(ratio(size, "create-1", "create, 1 client, p50 beside its bytes appended and synced"));
    rows.extend(growth(size, &from, "create-1", "create, 1 client, growth"));
    rows.extend(device(size, "create-1", "bytes to the device per create, 1 client"));
    rows.extend(device(size, "create-64", "bytes to the device per create, 64 clients"));
    rows.extend(cpu(size, "create-64", "creates, 64 clients, CPU of each"));
    rows.extend(after_write(size));
    rows.extend(cpu(size, "dense-page-", "dense search, any page, CPU of the dearest"));
    rows.extend(cpu(size, "dense-date-", "dense search by -date, any page, the same"));
    for (begin, what) in [("history-", "history of all"), ("unordered-", "history of all after an import out of order")]
    {
        rows.extend(cpu(size, begin, &format!("{what}, any page, _since, CPU of the dearest")));
        rows.extend(growth(size, &from, begin, &format!("{what}, growth of the steepest")));
    }
    if let Some(import) = &size.import {
        let rate = import.certificates_per_second;
        let (goal, reached) =
            (format!(">= {IMPORT_PER_SECOND} certificates/s"), format!("{} certificates/s", number(rate)));
        rows.push(GoalRow::new("import, index included", &goal, reached, rate >= IMPORT_PER_SECOND));
        rows.push(GoalRow::at_most("import, CPU per version", " µs", import.cpu_us(), IMPORT_CPU_US));
    }
    if let Some(disk) = &size.disk {
        let what = "disk per version, times its compressed body and row";
        rows.push(GoalRow::at_most(what, " x", disk.ratio, DISK_RATIO));
    }
    if let Some(restart) = &size.restart {
        let megabytes = |what, bytes: u64, most: u64| {
            let words = (format!("<= {} MB", most >> 20), format!("{} MB", bytes >> 20));
            GoalRow::new(what, &words.0, words.1, bytes <= most)
        };
        rows.extend([
            megabytes("memory under load", restart.memory_peak.anonymous, PEAK_BYTES),
            megabytes("memory idle", restart.memory_idle.anonymous, IDLE_BYTES),
            GoalRow::at_most("first search after a clean start", " ms", restart.clean_search_ms, CLEAN_MS),
            GoalRow::at_most("first search after SIGKILL", " ms", restart.killed_search_ms, KILLED_MS),
        ]);
    }
    rows
}

fn named<'s>(size: &'s Size, begin: &'s str) -> impl Iterator<Item = &'s ScenarioRow> {
    size.rows.iter().filter(move |row| row.name.starts_with(begin))
}

fn ratio(size: &Size, name: &str, what: &str) -> Option<GoalRow> {
    let row = named(size, name).next()?;
    let (goal, ratio) = (row.goal.as_ref()?, row.ratio?);
    Some(GoalRow::new(what, goal, format!("{} x", number(ratio.median)), row.reached?))
}

/// Of the scenario that costs most.
fn cpu(size: &Size, begin: &str, what: &str) -> Option<GoalRow> {
    let costs = named(size, begin).filter_map(|row| Some((row.cpu_us?, row.goal.as_ref()?, row.reached?)));
    let (us, goal, reached) = costs.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(GoalRow::new(what, goal, format!("{} µs", number(us)), reached))
}

/// Of the scenario that grew most.
fn growth(size: &Size, from: &str, begin: &str, what: &str) -> Option<GoalRow> {
    let grown = named(size, begin).filter_map(|row| row.growth.zip(row.growth_goal));
    let (growth, most) = grown.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let what = format!("{what} from {from} to {}", count(size.certificates));
    Some(GoalRow::at_most(&what, " x", growth, most))
}

fn device(size: &Size, name: &str, what: &str) -> Option<GoalRow> {
    let device = named(size, name).next()?.device.as_ref()?;
    let mut row = GoalRow::at_most(what, " KiB", device.net() / 1024.0, DEVICE_BYTES / 1024.0);
    row.reached.push_str(&format!("; without them {}", kibibytes(device.idle_bytes_per_create)));
    Some(row)
}

fn after_write(size: &Size) -> Option<GoalRow> {
    let row = named(size, "after-write").next()?;
    let mut told = ratio(size, "after-write", "search straight after a write, p50 beside the same after a pause")?;
    told.goal.push_str(", no miss");
    told.reached.push_str(&match row.misses {
        0 => ", no miss".to_owned(),
        misses => format!(", {misses} misses"),
    });
    told.is_met &= row.misses == 0;
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Ratio;
    use super::super::report::tests::report;
    use super::super::report::{DeviceWrites, DiskUse, Restart};
    use super::super::scenario::{PerformanceGoal, Scenario};
    use super::*;

    #[test]
    fn the_dearest_of_a_kind_and_the_largest_size_are_held_against_the_goals() {
        let row = |name: &str, cpu_us: f64| {
            let scenario = Scenario::named(name).unwrap();
            let ratio = Ratio::of([(3.0, 1.0)]);
            let mut row = ScenarioRow { cpu_us: Some(cpu_us), ratio, ..ScenarioRow::new(scenario, 1) };
            row.judge(scenario.goal);
            assert!(row.goal.is_some() || scenario.goal == PerformanceGoal::None);
            row
        };
        let device =
            DeviceWrites { creates: 9, bytes_per_create: 9_216.0, idle_bytes_per_create: 2_048.0, floor_bytes: None };
        let create = ScenarioRow { device: Some(device), ..row("create-1", 1.0) };
        let mut missed = row("after-write", 1.0);
        missed.misses = 2;
        let history = |cpu| vec![row("history-all", 10.0), row("history-recent", cpu), row("dense-page-50", 999.0)];
        let small = Size { certificates: 1_000, rows: history(20.0), ..Size::default() };
        let rows = [history(30.0), vec![row("read", 1.0), create, missed, row("vread", 1.0)]].concat();
        let large = Size { certificates: 1_000_000, rows, restart: Some(Restart::default()), ..Size::default() };
        let mut report = report(vec![small, large]);
        report.grow();
        let told: Vec<String> = goals(&report)
            .into_iter()
            .map(|row| format!("{}: {}: {}: {}", row.what, row.goal, row.reached, row.is_met))
            .collect();
        for line in [
            "read, CPU beside 4 KB from memory: <= 2 x: 3.00 x: false",
            "create, 1 client, p50 beside its bytes appended and synced: <= 3 x: 3.00 x: true",
            "bytes to the device per create, 1 client: <= 8 KiB: 7.00 KiB; without them 2.00 KiB: true",
            "search straight after a write, p50 beside the same after a pause: <= 1.2 x, no miss: 3.00 x, 2 misses: false",
            "dense search, any page, CPU of the dearest: <= 1000 µs CPU: 999 µs: true",
            "history of all, any page, _since, CPU of the dearest: <= 1000 µs CPU: 30.0 µs: true",
            "history of all, growth of the steepest from 1k to 1M: <= 1.4 x: 1.50 x: false",
            "memory idle: <= 60 MB: 0 MB: true",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}\n{told:#?}");
        }
        assert_eq!(told.len(), 11, "what was not measured is left out: {told:#?}");
        report.sizes[1].disk = Some(DiskUse {
            store_bytes: 0,
            index_bytes: 0,
            payload_bytes: 0,
            bytes_per_version: 0.0,
            payload_per_version: 0.0,
            ratio: 1.7,
        });
        assert!(goals(&report).iter().any(|row| row.what.starts_with("disk") && !row.is_met));
    }
}
