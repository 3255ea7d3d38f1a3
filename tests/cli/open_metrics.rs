//! A strict reader of OpenMetrics, so that what is served is what every scraper understands.
//!
//! Source: OpenMetrics 1.0, "Text format" and "Metric types", as far as the service uses them: counters, gauges, histograms.

use std::collections::{BTreeMap, BTreeSet};

/// Values by name and labels, as they stand in a line: `hcert_errors_total{code="HCERT-127"}`.
pub(crate) type Samples = BTreeMap<String, f64>;

/// A family of metrics while its lines are read.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    unit: Option<String>,
    has_help: bool,
    samples: usize,
}

/// Reads a whole exposition.
///
/// # Errors
/// The first line that breaks a rule, with the rule.
pub(crate) fn read(text: &str) -> Result<Samples, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end with # EOF")?;
    let (mut samples, mut names, mut family) = (Samples::new(), BTreeSet::new(), Family::default());
    for line in body.lines() {
        let wrong = |rule: &str| format!("{rule}: {line}");
        if let Some(about) = line.strip_prefix("# ") {
            let (keyword, rest) = about.split_once(' ').ok_or_else(|| wrong("a comment"))?;
            let (name, said) = rest.split_once(' ').ok_or_else(|| wrong("nothing is said"))?;
            if !is_name(name) || said.is_empty() {
                return Err(wrong("a name and what is said of it"));
            }
            if name != family.name {
                if !names.insert(name.to_owned()) {
                    return Err(wrong("a family that was told before"));
                }
                family = Family { name: name.to_owned(), ..Family::default() };
            }
            if family.samples > 0 {
                return Err(wrong("what is said of a family stands in front of it"));
            }
            match keyword {
                "HELP" if !family.has_help => family.has_help = true,
                "TYPE" if family.kind.is_empty() && ["counter", "gauge", "histogram"].contains(&said) => {
                    said.clone_into(&mut family.kind);
                }
                "UNIT" if family.unit.is_none() && name.ends_with(&format!("_{said}")) => {
                    family.unit = Some(said.into());
                }
                _ => return Err(wrong("neither HELP, TYPE nor UNIT, or twice")),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').ok_or_else(|| wrong("no value"))?;
        let value: f64 = value.parse().map_err(|_| wrong("no number"))?;
        let (name, labels) = match series.split_once('{') {
            None => (series, String::new()),
            Some((name, labels)) => (name, labels.strip_suffix('}').ok_or_else(|| wrong("an open brace"))?.to_owned()),
        };
        check_labels(&labels).map_err(|rule| wrong(&rule))?;
        let suffix = name.strip_prefix(&family.name).ok_or_else(|| wrong("a sample of no family"))?;
        let allowed: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => return Err(wrong("a family without a type")),
        };
        if !allowed.contains(&suffix) || (suffix == "_bucket") != labels.contains("le=\"") {
            return Err(wrong("a sample that its type does not have"));
        }
        if !value.is_finite() || (family.kind != "gauge" && value < 0.0) {
            return Err(wrong("a value that its type does not have"));
        }
        family.samples += 1;
        if samples.insert(series.to_owned(), value).is_some() {
            return Err(wrong("a sample that was told before"));
        }
    }
    check_histograms(&samples)?;
    Ok(samples)
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_lowercase())
        && characters.all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_')
}

fn check_labels(labels: &str) -> Result<(), String> {
    let (mut rest, mut names) = (labels, BTreeSet::new());
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").ok_or("a label without a value")?;
        if !is_name(name) || !names.insert(name.to_owned()) {
            return Err(format!("the label {name}"));
        }
        // None of ours holds a quotation mark or a backslash.
        let (value, behind) = value.split_once('"').ok_or("a value without an end")?;
        if value.is_empty() || value.contains(['\\', '\n']) {
            return Err(format!("the value of {name}"));
        }
        rest = match behind.strip_prefix(',') {
            Some(more) if !more.is_empty() => more,
            None if behind.is_empty() => behind,
            _ => return Err("what stands behind a label".to_owned()),
        };
    }
    Ok(())
}

/// Buckets grow, the last one is `+Inf`, and it holds as many as `_count` says.
fn check_histograms(samples: &Samples) -> Result<(), String> {
    let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (series, value) in samples.iter().filter(|(series, _)| series.contains("_bucket{")) {
        let (name, labels) = series.split_once("_bucket{").ok_or("a bucket")?;
        let (before, rest) = labels.split_once("le=\"").ok_or("a bound")?;
        let (bound, behind) = rest.split_once('"').ok_or("a bound")?;
        let others = format!("{before}{}", behind.trim_start_matches(',')).trim_end_matches(['}', ',']).to_owned();
        let braces = if others.is_empty() { String::new() } else { format!("{{{others}}}") };
        let bound =
            if bound == "+Inf" { f64::INFINITY } else { bound.parse().map_err(|_| format!("{series}: a bound"))? };
        buckets.entry(format!("{name}_count{braces}")).or_default().push((bound, *value));
    }
    for (count, mut found) in buckets {
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        let grows = found.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let whole = found.last().filter(|(bound, _)| bound.is_infinite()).map(|(_, value)| *value);
        if !grows || whole.is_none() || whole != samples.get(&count).copied() {
            return Err(format!("{count}: its buckets are {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn what_breaks_a_rule_is_found() {
    let good = "# HELP a_seconds A.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\na_seconds_sum 1.0\na_seconds_count 2\n\
                a_seconds_bucket{le=\"1.0\"} 1\na_seconds_bucket{le=\"+Inf\"} 2\n# HELP b B.\n# TYPE b counter\nb_total{c=\"d\"} 1\n# EOF\n";
    assert_eq!(read(good).unwrap().len(), 5);
    for (what, by) in [
        ("# EOF\n", ""),
        ("# TYPE b counter\n", ""),
        ("b_total", "b"),
        ("b_total{c=\"d\"} 1", "b_total{c=\"d\"} 1\nb_total{c=\"d\"} 1"),
        ("{c=\"d\"}", "{c=\"d\""),
        ("{c=\"d\"}", "{c=d}"),
        ("{c=\"d\"}", "{c=\"d\",c=\"e\"}"),
        ("} 1\n# EOF", "} -1\n# EOF"),
        ("} 1\n# EOF", "} x\n# EOF"),
        ("le=\"1.0\"} 1", "le=\"1.0\"} 3"),
        ("a_seconds_count 2", "a_seconds_count 3"),
        ("le=\"+Inf\"} 2", "le=\"2.0\"} 2"),
        ("# UNIT a_seconds seconds", "# UNIT a_seconds bytes"),
        ("# HELP b B.", "# HELP a_seconds B."),
        ("\nb_total", "\nc_total"),
    ] {
        assert!(read(&good.replacen(what, by, 1)).is_err(), "{what} -> {by}");
    }
}
