//! Two reports side by side: what became faster, what slower.

use std::fmt::Write;

use super::report::{BenchReport, ScenarioRow, count};
use super::terminal::number;

/// A table of all scenarios that both reports measured, as Markdown.
pub fn compare(before: &BenchReport, now: &BenchReport) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to memory does not fail");
    let name = |report: &BenchReport| match &report.against {
        Some(url) => format!("{url}, {}", report.date),
        None => format!("hcert {}, {}", report.version, report.date),
    };
    line("## Beside an earlier run\n".to_owned());
    line(format!("Before: {} ({}).", name(before), before.machine.line()));
    line(format!("Now: {} ({}).\n", name(now), now.machine.line()));
    line("| Certificates | | p50 µs before | now | times | CPU µs before | now | times |".to_owned());
    line("|---:|---|---:|---:|---:|---:|---:|---:|".to_owned());
    for size in &now.sizes {
        let earlier = before.sizes.iter().find(|earlier| earlier.certificates == size.certificates);
        for (row, earlier) in size.rows.iter().filter_map(|row| Some((row, same(row, &earlier?.rows)?))) {
            let p50 = pair(earlier.p50_us, row.p50_us);
            let cpu = pair(earlier.cpu_us, row.cpu_us);
            line(format!("| {} | {} | {p50} | {cpu} |", count(size.certificates), row.title));
        }
    }
    out
}

/// The row of the same scenario and page.
fn same<'r>(row: &ScenarioRow, rows: &'r [ScenarioRow]) -> Option<&'r ScenarioRow> {
    rows.iter().find(|earlier| earlier.name == row.name && earlier.page == row.page)
}

fn pair(before: Option<f64>, now: Option<f64>) -> String {
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let times = now.zip(before.filter(|before| *before > 0.0)).map(|(now, before)| now / before);
    let times = times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2}"));
    format!("{} | {} | {times}", figure(before), figure(now))
}

#[cfg(test)]
mod tests {
    use super::super::report::Size;
    use super::super::report::tests::report;
    use super::super::scenario::SCENARIOS;
    use super::*;

    #[test]
    fn rows_of_the_same_scenario_size_and_page_stand_side_by_side() {
        let row = |at: usize, p50_us| ScenarioRow { p50_us: Some(p50_us), ..ScenarioRow::new(&SCENARIOS[at], 4) };
        let size = |certificates, rows| Size { certificates, rows, ..Size::default() };
        let paged = ScenarioRow { page: Some(3), ..row(8, 1.0) };
        let before = report(vec![size(1_000, vec![row(0, 200.0), paged])]);
        let now =
            report(vec![size(1_000, vec![row(0, 100.0), row(1, 7.0), row(8, 1.0)]), size(2_000, vec![row(0, 1.0)])]);
        let text = compare(&before, &now);
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(table.len(), 3, "{text}");
        assert_eq!(table[2], "| 1k | read | 200 | 100 | 0.50 | - | - | - |");
    }
}
