//! The tables of a report as `docs/BENCHMARKS.md` shows them.

use std::fmt::Write;

use super::goals::goals;
use super::report::{BenchReport, ScenarioRow, Size, count};
use super::terminal::{kibibytes, memory, number, short};

/// `bench.md`.
pub fn markdown(report: &BenchReport) -> String {
    let mut out = String::new();
    let BenchReport { version, date, machine, seed, clients, seconds, .. } = report;
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to memory does not fail");
    line(format!("## Figures of {}\n", date.get(..10).unwrap_or(date)));
    match &report.against {
        Some(url) => line(format!("Another server at {url}, driven from: {}.", machine.line())),
        None => line(format!("hcert {version} on {}.", machine.line())),
    }
    line(format!("Seed {seed}, {clients} clients where the table says nothing else, {seconds} s a scenario."));
    if !report.settings.is_empty() {
        let settings: Vec<String> = report.settings.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
        line(format!("Settings that differ from their defaults: {}.", settings.join(", ")));
    }
    held(report, &mut line);
    if report.sizes.iter().any(|size| size.import.is_some()) {
        line(String::new());
        filling(report, &mut line);
    }
    if report.sizes.iter().any(|size| size.restart.is_some()) {
        line(String::new());
        starting(report, &mut line);
    }
    if report.sizes.iter().flat_map(|size| &size.rows).any(|row| row.device.is_some()) {
        line(String::new());
        writing(report, &mut line);
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

/// The table of goals.
fn held(report: &BenchReport, line: &mut dyn FnMut(String)) {
    let (goals, Some(size)) = (goals(report), report.sizes.last()) else { return };
    if goals.is_empty() {
        return;
    }
    line(format!("\n### Goals, at {} certificates\n", count(size.certificates)));
    line("| What | Goal | Reached |".into());
    line("|---|---|---|".into());
    for row in goals {
        line(format!("| {} | {} | {} |", row.what, row.goal, bold_unless(row.is_met, &row.reached)));
    }
}

fn filling(report: &BenchReport, line: &mut dyn FnMut(String)) {
    line("### Import and disk\n".into());
    line("| Certificates | Versions | Certificates/s | Versions/s | CPU µs a version | Memory | Disk: bytes a version | Compressed body and row | Ratio |".into());
    line("|---:|---:|---:|---:|---:|---|---:|---:|---:|".into());
    for size in &report.sizes {
        let (Some(import), Some(disk)) = (&size.import, &size.disk) else { continue };
        line(format!(
            "| {} | {} | {} | {} | {} | {} | {:.0} | {:.0} | {} |",
            count(size.certificates),
            size.versions,
            number(import.certificates_per_second),
            number(import.versions_per_second),
            number(import.cpu_us()),
            memory(import.memory_peak),
            disk.bytes_per_version,
            disk.payload_per_version,
            number(disk.ratio),
        ));
    }
}

fn starting(report: &BenchReport, line: &mut dyn FnMut(String)) {
    line("### Starts and memory\n".into());
    line("| Certificates | Clean start: first read | First search | After SIGKILL: first read | First search | Acknowledged before it | Lost | Memory idle | Most under load |".into());
    line("|---:|---:|---:|---:|---:|---:|---:|---|---|".into());
    for size in &report.sizes {
        let Some(restart) = &size.restart else { continue };
        line(format!(
            "| {} | {:.0} ms | {:.0} ms | {:.0} ms | {:.0} ms | {} | {} | {} | {} |",
            count(size.certificates),
            restart.clean_read_ms,
            restart.clean_search_ms,
            restart.killed_read_ms,
            restart.killed_search_ms,
            restart.acknowledged,
            bold_unless(restart.lost == 0, &restart.lost.to_string()),
            memory(restart.memory_idle),
            memory(restart.memory_peak),
        ));
    }
}

fn writing(report: &BenchReport, line: &mut dyn FnMut(String)) {
    line("### Bytes to the device per create\n".into());
    line("| Certificates | | Creates | Per create | Of it without them | A record of the floor |".into());
    line("|---:|---|---:|---:|---:|---:|".into());
    for size in &report.sizes {
        for (row, device) in size.rows.iter().filter_map(|row| row.device.as_ref().map(|device| (row, device))) {
            line(format!(
                "| {} | {} | {} | {} | {} | {} |",
                count(size.certificates),
                row.title,
                device.creates,
                kibibytes(device.bytes_per_create),
                kibibytes(device.idle_bytes_per_create),
                device.floor_bytes.map_or_else(|| "-".to_owned(), kibibytes),
            ));
        }
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
    let late = size.late_import_seconds.map(|seconds| {
        format!("late import: a certificate older than all others was imported through the running server, in {seconds:.2} s")
    });
    let notes: Vec<String> = notes.into_iter().chain(late).collect();
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
    let is_of_cpu = row.goal.as_ref().is_some_and(|goal| goal.ends_with("CPU"));
    let ratio = row.ratio.map_or_else(
        || "-".to_owned(),
        |ratio| {
            let missed = row.reached == Some(false) && !is_of_cpu;
            let middle = bold_unless(!missed, &format!("{:.2}", ratio.median));
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
        bold_unless(row.reached != Some(false) || !is_of_cpu, &figure(row.cpu_us)),
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
                let told = grown.and_then(|row| {
                    let growth = row.growth?;
                    Some(bold_unless(row.growth_goal.is_none_or(|goal| growth <= goal), &format!("{growth:.2}")))
                });
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
