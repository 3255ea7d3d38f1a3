//! Lines of the table on the terminal, each as soon as its figures are there.

use super::child::ProcessMemory;
use super::report::{DeviceWrites, GoalRow, Restart, ScenarioRow, Size, count};

/// The head of the table of scenarios.
pub(super) fn head() -> String {
    format!(
        "{:<41}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}  {:<19} {:<20} goal",
        "", "1/s", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "CPU µs", "floor", "ratio (spread)"
    )
}

/// A scenario, with what there is to say about it below.
pub(super) fn row(row: &ScenarioRow) -> Vec<String> {
    if let Some(why) = &row.not_offered {
        return vec![format!("{:<41}not offered: {}", row.title, short(why))];
    }
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let floor = row.floor.as_ref().map_or_else(String::new, |floor| format!("{} {}", number(floor.value), floor.unit));
    let ratio =
        row.ratio.map_or_else(String::new, |ratio| format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high));
    let missed = if row.reached == Some(false) { "  not reached" } else { "" };
    let goal = row.goal.as_deref().unwrap_or("-");
    let line = format!(
        "{:<41}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}  {floor:<19} {ratio:<20} {goal}{missed}",
        row.title,
        figure(row.per_second),
        figure(row.p50_us),
        figure(row.p90_us),
        figure(row.p99_us),
        figure(row.p999_us),
        figure(row.cpu_us),
    );
    let mut lines = vec![line.trim_end().to_owned()];
    lines.extend(row.note.iter().map(|note| format!("    {note}")));
    lines.extend(row.device.as_ref().map(|device| format!("    {}", written(device))));
    if row.errors > 0 {
        let first = short(row.first_error.as_deref().unwrap_or("unknown"));
        lines.push(format!("    {} wrong answers, the first: {first}", row.errors));
    }
    if row.misses > 0 {
        lines.push(format!("    {} searches did not find what was written before them", row.misses));
    }
    lines
}

/// What reached the block device.
fn written(device: &DeviceWrites) -> String {
    let floor =
        device.floor_bytes.map_or_else(String::new, |bytes| format!("; a record of the floor {}", kibibytes(bytes)));
    format!(
        "to the device per create {}, of which {} would have been written without it{floor}",
        kibibytes(device.bytes_per_create),
        kibibytes(device.idle_bytes_per_create),
    )
}

/// What was filled, and how.
pub(super) fn filled(size: &Size) -> Vec<String> {
    let mut lines =
        vec![String::new(), format!("{} certificates, {} versions", count(size.certificates), size.versions)];
    if let Some(import) = &size.import {
        lines.push(format!(
            "import {:.1} s: {} certificates/s, {} versions/s; {} µs CPU per version; generating took {:.1} s CPU; memory {}",
            import.seconds,
            number(import.certificates_per_second),
            number(import.versions_per_second),
            number(import.cpu_us()),
            import.generating_cpu_seconds,
            memory(import.memory_peak),
        ));
    }
    if let Some(disk) = &size.disk {
        lines.push(format!(
            "disk {:.0} bytes per version (store {} MB, index {} MB), compressed payload {:.0}: ratio {:.2}",
            disk.bytes_per_version,
            disk.store_bytes >> 20,
            disk.index_bytes >> 20,
            disk.payload_per_version,
            disk.ratio,
        ));
    }
    lines
}

/// Starts and memory.
pub(super) fn restart(restart: &Restart) -> Vec<String> {
    let start = |what: &str, read: f64, search: f64| {
        format!("{what}: first read after {read:.0} ms, first search after {search:.0} ms")
    };
    let Restart { acknowledged, lost, .. } = restart;
    vec![
        start("start, clean", restart.clean_read_ms, restart.clean_search_ms),
        start("start after SIGKILL", restart.killed_read_ms, restart.killed_search_ms),
        format!("killed while {acknowledged} creates were acknowledged: {lost} lost"),
        format!("memory, idle: {}", memory(restart.memory_idle)),
        format!("memory, most under load: {}", memory(restart.memory_peak)),
    ]
}

/// The table of goals, once all sizes are measured.
pub(super) fn goal_lines(goals: &[GoalRow], certificates: u64) -> Vec<String> {
    if goals.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        format!("{:<84}{:<28}reached", format!("goals, at {} certificates", count(certificates)), "goal"),
    ];
    lines.extend(goals.iter().map(|GoalRow { what, goal, reached, is_met }| {
        format!("{what:<84}{goal:<28}{reached}{}", if *is_met { "" } else { "  not reached" })
    }));
    lines
}

/// How much worse than at the smallest size, one line for all scenarios.
pub(super) fn growth(size: &Size) -> Vec<String> {
    let grown: Vec<String> = size
        .rows
        .iter()
        .filter_map(|row| {
            let growth = row.growth?;
            let above = row.growth_goal.is_some_and(|goal| growth > goal);
            Some(format!("{} {growth:.2}{}", row.name, if above { "!" } else { "" }))
        })
        .collect();
    if grown.is_empty() {
        return Vec::new();
    }
    vec![format!("times the smallest size (! above the goal): {}", grown.join(", "))]
}

pub(super) fn memory(memory: ProcessMemory) -> String {
    format!("{} MB of its own, {} MB with mapped files", memory.anonymous >> 20, memory.resident >> 20)
}

/// In the unit of pages.
pub(super) fn kibibytes(bytes: f64) -> String {
    format!("{} KiB", number(bytes / 1024.0))
}

/// Three digits that mean something.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.2}"),
        medium if medium < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Enough of a long text to know what it is about.
pub(super) fn short(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(160).collect();
    if characters.next().is_some() { format!("{begin}…") } else { begin }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Ratio;
    use super::super::report::FloorFigure;
    use super::super::scenario::{PerformanceGoal, SCENARIOS};
    use super::*;

    #[test]
    fn a_row_stands_below_its_head_and_says_what_went_wrong() {
        let mut one = ScenarioRow::new(&SCENARIOS[0], 4);
        one.p50_us = Some(123.4);
        one.per_second = Some(33_820.4);
        one.ratio = Ratio::of([(3.0, 1.0)]);
        one.floor = Some(FloorFigure { what: "4 KB from memory".into(), unit: "µs CPU".into(), value: 22.22 });
        (one.errors, one.first_error) = (3, Some("status 500".into()));
        one.judge(PerformanceGoal::AtMost(2.5));
        let lines = row(&one);
        let position = |line: &str, part: &str| line.find(part).map(|at| line[..at + part.len()].chars().count());
        assert_eq!(position(&lines[0], "33820"), position(&head(), "1/s"));
        assert_eq!(position(&lines[0], " 123"), position(&head(), "p50 µs"));
        assert!(lines[0].ends_with("22.2 µs CPU         3.00 (3.00-3.00)     <= 2.5 x  not reached"), "{}", lines[0]);
        assert!(lines[1].contains("3 wrong answers, the first: status 500"));
    }

    #[test]
    fn numbers_show_three_digits_and_long_texts_their_beginning() {
        assert_eq!([1.234, 12.34, 123.4, 12_345.6].map(number), ["1.23", "12.3", "123", "12346"]);
        assert_eq!(short(&"õ".repeat(200)).chars().count(), 161);
        assert_eq!(short("brief"), "brief");
    }
}
