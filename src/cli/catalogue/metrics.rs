//! `docs/reference/metrics.md`, made of the table that metrics are told from.

use std::fmt::Write;

use super::markdown::cell;
use base::metrics::names::ALL;

const ABOUT: &str = "\
<!-- Made by `hcert catalogue --page metrics`; a test compares. -->

# Metrics

For operators: every metric at `/metrics` of the management address. How to scrape it, and which alerts to set, is in
[MONITORING.md](../MONITORING.md).

Counters begin at 0 with the process. The label `route` is a template of a path (`/Composition/{id}`); all other labels
have values from lists of the program too, so their number is bounded and none leads to a person. A value that nobody
knows is left out.

| Name | Type | Labels | Meaning |
|---|---|---|---|
";

/// The whole file.
pub(super) fn page() -> String {
    let mut text = ABOUT.to_owned();
    for metric in ALL {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (kind, labels, help) = (metric.kind.name(), labels.join(", "), cell(metric.help));
        let _ = writeln!(text, "| `{}` | {kind} | {labels} | {help} |", metric.name);
    }
    text
}
