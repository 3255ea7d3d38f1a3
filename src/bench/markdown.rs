//! The tables of a report as `docs/BENCHMARKS.md` shows them.

use std::fmt::Write;

use super::report::{BenchReport, ScenarioRow, Size, count};
use super::terminal::{memory, number, short};

/// `bench.md`.
pub fn markdown(report: &BenchReport) -> String {
    let mut out = String::new();
    let BenchReport { version, date, machine, seed, clients, seconds, .. } = report;
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to memory does not fail");
    line(format!("## {}\n", date.get(..10).unwrap_or(date)));
    match &report.against {
        Some(url) => line(format!("Another server at {url}, driven from: {}.", machine.line())),
        None => line(format!("hcert {version} on {}.", machine.line())),
    }
    line(format!("Seed {seed}, {clients} clients where the table says nothing else, {seconds} s a scenario."));
    if !report.settings.is_empty() {
        let settings: Vec<String> = report.settings.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
        line(format!("Settings that differ from their defaults: {}.", settings.join(", ")));
    }
    if report.sizes.iter().any(|size| size.import.is_some()) {
        line(String::new());
        filling(report, &mut line);
    }
    if report.sizes.iter().any(|size| size.restart.is_some()) {
        line(String::new());
        starting(report, &mut line);
    }
    for size in &report.sizes {
        line(String::new());
        scenarios(size, &mut line);
    }
    if report.sizes.len() > 1 {
        line(String::new());
        growing(report, &mut line);
    }
    out
}

fn filling(report: &BenchReport, line: &mut dyn FnMut(String)) {
    line("| Certificates | Versions | Import: certificates/s | versions/s | CPU s per 1000 versions | Disk: bytes a version | compressed payload | ratio | goal |".into());
    line("|---:|---:|---:|---:|---:|---:|---:|---:|---|".into());
    for size in &report.sizes {
        let (Some(import), Some(disk)) = (&size.import, &size.disk) else { continue };
        line(format!(
            "| {} | {} | {} | {} | {:.4} | {:.0} | {:.0} | {} | {} |",
            count(size.certificates),
            size.versions,
            number(import.certificates_per_second),
            number(import.versions_per_second),
            import.cpu_seconds_per_1000_versions,
            disk.bytes_per_version,
            disk.payload_per_version,
            bold_unless(disk.goal.is_none_or(|goal| disk.ratio <= goal), &number(disk.ratio)),
            disk.goal.map_or_else(|| "-".to_owned(), |goal| format!("<= {goal}")),
        ));
    }
}

fn starting(report: &BenchReport, line: &mut dyn FnMut(String)) {
    line("| Certificates | Start, clean: read, search | goal | after SIGKILL: read, search | goal | Acknowledged before the kill | lost | Memory idle | goal | most under load | goal |".into());
    line("|---:|---|---|---|---|---:|---:|---|---|---|---|".into());
    for size in &report.sizes {
        let Some(restart) = &size.restart else { continue };
        let start = |read: f64, search: f64, goal: f64| {
            let times = bold_unless(search <= goal, &format!("{read:.0}, {search:.0} ms"));
            format!("{times} | <= {goal:.0} ms")
        };
        let taken = |found, goal: u64| {
            let super::child::ProcessMemory { anonymous, .. } = found;
            format!("{} | <= {} MB", bold_unless(anonymous <= goal, &memory(found)), goal >> 20)
        };
        line(format!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            count(size.certificates),
            start(restart.clean_read_ms, restart.clean_search_ms, restart.clean_goal_ms),
            start(restart.killed_read_ms, restart.killed_search_ms, restart.killed_goal_ms),
            restart.acknowledged,
            restart.lost,
            taken(restart.memory_idle, restart.memory_idle_goal),
            taken(restart.memory_peak, restart.memory_peak_goal),
        ));
    }
}

fn scenarios(size: &Size, line: &mut dyn FnMut(String)) {
    line(format!("### {} certificates\n", count(size.certificates)));
    line("| | Clients | 1/s | p50 µs | p90 µs | p99 µs | p99.9 µs | CPU µs | KB | Asked for | Floor | Ratio (spread) | Goal |".into());
    line("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|---|".into());
    for row in &size.rows {
        line(scenario(row));
    }
    let notes: Vec<String> =
        size.rows.iter().filter_map(|row| Some(format!("{}: {}", row.title, row.note.as_ref()?))).collect();
    if !notes.is_empty() {
        line(String::new());
        notes.into_iter().for_each(|note| line(format!("- {note}.")));
    }
}

fn scenario(row: &ScenarioRow) -> String {
    if let Some(why) = &row.not_offered {
        return format!("| {} | {} | not offered: {} | | | | | | | | | | |", row.title, row.clients, cell(&short(why)));
    }
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let floor = row
        .floor
        .as_ref()
        .map_or_else(|| "-".to_owned(), |floor| format!("{} {}, {}", number(floor.value), floor.unit, floor.what));
    let ratio = row.ratio.map_or_else(
        || "-".to_owned(),
        |ratio| {
            let middle = bold_unless(row.reached != Some(false), &format!("{:.2}", ratio.median));
            format!("{middle} ({:.2}-{:.2})", ratio.low, ratio.high)
        },
    );
    let wrong = match (row.errors, row.misses) {
        (0, 0) => String::new(),
        (0, misses) => format!(", **{misses} misses**"),
        (errors, _) => format!(", **{errors} wrong answers**"),
    };
    let goal = match (&row.goal, row.reached) {
        (None, _) => "-".to_owned(),
        (Some(goal), Some(false)) => format!("{goal}, **not reached**"),
        (Some(goal), _) => goal.clone(),
    };
    format!(
        "| {}{wrong} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {floor} | {ratio} | {goal} |",
        row.title,
        row.clients,
        figure(row.per_second),
        figure(row.p50_us),
        figure(row.p90_us),
        figure(row.p99_us),
        figure(row.p999_us),
        figure(row.cpu_us),
        figure(row.body_bytes.map(|bytes| bytes / 1e3)),
        row.distinct,
    )
}

/// How many times worse than at the smallest size.
fn growing(report: &BenchReport, line: &mut dyn FnMut(String)) {
    let Some((smallest, larger)) = report.sizes.split_first() else { return };
    let sizes: Vec<String> = larger.iter().map(|size| format!(" {} |", count(size.certificates))).collect();
    line(format!("### Times the cost at {} certificates\n", count(smallest.certificates)));
    line(format!("| |{}", sizes.concat()));
    line(format!("|---|{}", "---:|".repeat(sizes.len())));
    for row in &smallest.rows {
        let cells: Vec<String> = larger
            .iter()
            .map(|size| {
                let grown = size.rows.iter().find(|grown| grown.name == row.name);
                let grown = grown.and_then(|row| row.growth.zip(row.growth_goal));
                let told = grown.map(|(growth, goal)| bold_unless(growth <= goal, &format!("{growth:.2}")));
                format!(" {} |", told.unwrap_or_else(|| "-".to_owned()))
            })
            .collect();
        line(format!("| {} |{}", row.title, cells.concat()));
    }
}

fn bold_unless(reached: bool, text: &str) -> String {
    if reached { text.to_owned() } else { format!("**{text}**") }
}

/// A text that stays inside its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::super::scenario::SCENARIOS;
    use super::*;

    #[test]
    fn every_line_of_a_table_has_as_many_cells_as_its_head() {
        let rows = || SCENARIOS.iter().map(|scenario| ScenarioRow::new(scenario, 4)).collect::<Vec<_>>();
        let mut other = ScenarioRow::new(&SCENARIOS[0], 1);
        other.not_offered = Some("status 400 a|b\nc".into());
        let size =
            |certificates| Size { certificates, rows: [rows(), vec![other.clone()]].concat(), ..Size::default() };
        let text = markdown(&report(vec![size(1_000), size(10_000)]));
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut expected = None;
        for line in text.lines() {
            if line.starts_with('|') {
                assert_eq!(*expected.get_or_insert(cells(line)), cells(line), "{line}");
            } else {
                expected = None;
            }
        }
        assert!(text.contains("### 10k certificates") && text.contains("### Times the cost at 1k certificates"));
    }
}
