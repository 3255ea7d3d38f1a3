//! The plot: how long half of the requests take at most, against the number of certificates, both in powers of ten.

use std::fmt::Write;

use super::report::{BenchReport, count};

const WIDTH: f64 = 1_180.0;
const HEIGHT: f64 = 920.0;
/// Of the plot itself; the legend stands to the right of it.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 800.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 840.0;

/// Told apart by people who see colours differently, too (after Okabe and Ito); dashes and marks tell the rest apart.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080"];
const DASHES: [&str; 3] = ["", "7 4", "2 3"];
/// The colours of the lines stand out on both grounds.
const STYLE: &str = "<style>
.paper { fill: #ffffff }
.grid { stroke: #d8d8d8 }
text { fill: #16202c }
@media (prefers-color-scheme: dark) {
.paper { fill: #10161d }
.grid { stroke: #2c3947 }
text { fill: #edf2f7 }
}
</style>";

struct PlotLine<'r> {
    title: &'r str,
    /// Certificates and microseconds.
    points: Vec<(f64, f64)>,
}

/// `latency.svg`.
pub fn svg(report: &BenchReport) -> String {
    let lines = lines(report);
    let all = || lines.iter().flat_map(|line| &line.points);
    let across = LogScale::over(all().map(|point| point.0), LEFT, RIGHT);
    let up = LogScale::over(all().map(|point| point.1), BOTTOM, TOP);
    let mut out = String::new();
    let mut put = |text: std::fmt::Arguments| writeln!(out, "{text}").expect("writing to memory does not fail");
    put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title\" font-family=\"sans-serif\" font-size=\"14\">"
    ));
    let subject = report.against.as_deref().map_or_else(|| format!("hcert {}", report.version), escaped);
    let title =
        format!("{subject}: latency (p50) against size, {}", escaped(report.date.get(..10).unwrap_or_default()));
    put(format_args!("<title id=\"title\">{title}</title>"));
    put(format_args!("{STYLE}"));
    put(format_args!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
    put(format_args!("<text x=\"{LEFT}\" y=\"32\" font-size=\"18\">{title}</text>"));
    for power in up.powers() {
        let (y, text_x) = (up.place(power), LEFT - 8.0);
        put(format_args!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"));
        put(format_args!("<text x=\"{text_x}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", y + 5.0, time(power)));
    }
    for power in across.powers() {
        let (x, text_y) = (across.place(power), BOTTOM + 22.0);
        put(format_args!("<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"));
        put(format_args!("<text x=\"{x:.1}\" y=\"{text_y}\" text-anchor=\"middle\">{}</text>", count(power as u64)));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    put(format_args!("<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">certificates</text>", BOTTOM + 50.0));
    for (number, line) in lines.iter().enumerate() {
        let (colour, dash) = (COLOURS[number % COLOURS.len()], DASHES[number / COLOURS.len() % DASHES.len()]);
        let points: Vec<String> =
            line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", across.place(*x), up.place(*y))).collect();
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"");
        put(format_args!("<polyline points=\"{}\" {style}/>", points.join(" ")));
        for point in &points {
            let (x, y) = point.split_once(',').expect("written so above");
            put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" fill=\"{colour}\"/>"));
        }
        let (x, y) = (RIGHT + 24.0, TOP + 14.0 + 25.0 * number as f64);
        put(format_args!("<line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" {style}/>", x + 36.0));
        put(format_args!("<circle cx=\"{}\" cy=\"{y}\" r=\"3.5\" fill=\"{colour}\"/>", x + 18.0));
        put(format_args!("<text x=\"{}\" y=\"{}\">{}</text>", x + 46.0, y + 5.0, escaped(line.title)));
    }
    put(format_args!("</svg>"));
    out
}

/// One for each scenario that was measured at all, the slowest at the largest size first, as the lines end.
fn lines(report: &BenchReport) -> Vec<PlotLine<'_>> {
    let mut lines: Vec<PlotLine> = Vec::new();
    for size in &report.sizes {
        for row in &size.rows {
            let Some(p50) = row.p50_us.filter(|us| *us > 0.0) else { continue };
            let point = (size.certificates as f64, p50);
            match lines.iter_mut().find(|line| line.title == row.title) {
                Some(line) => line.points.push(point),
                None => lines.push(PlotLine { title: &row.title, points: vec![point] }),
            }
        }
    }
    let last = |line: &PlotLine| line.points.last().map_or(0.0, |point| point.1);
    lines.sort_by(|one, other| last(other).total_cmp(&last(one)));
    lines
}

/// Powers of ten on a stretch of the picture.
struct LogScale {
    /// Exponents at both ends.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> LogScale {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for exponent in values.map(f64::log10) {
            (low, high) = (low.min(exponent.floor()), high.max(exponent.ceil()));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        LogScale { low, high: high.max(low + 1.0), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value.log10() - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|exponent| 10_f64.powi(exponent))
    }
}

/// Microseconds, in the unit people use for so many.
fn time(us: f64) -> String {
    match us {
        short if short < 1e3 => format!("{short} µs"),
        medium if medium < 1e6 => format!("{} ms", medium / 1e3),
        long => format!("{} s", long / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::super::report::{ScenarioRow, Size};
    use super::super::scenario::SCENARIOS;
    use super::*;

    #[test]
    fn the_plot_is_well_formed_and_every_scenario_is_in_it_and_in_the_legend() {
        let mut sizes = Vec::new();
        for (at, certificates) in [1_000, 10_000, 1_000_000].into_iter().enumerate() {
            let rows = SCENARIOS.iter().enumerate();
            let rows = rows.map(|(number, scenario)| ScenarioRow {
                p50_us: Some(20.0 * (number + 1) as f64 * (at + 1) as f64),
                ..ScenarioRow::new(scenario, 4)
            });
            sizes.push(Size { certificates, rows: rows.collect(), ..Size::default() });
        }
        let mut report = report(sizes);
        report.against = Some("http://a/<b>&c".into());
        let text = svg(&report);
        let document = roxmltree::Document::parse(&text).unwrap();
        let named = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).collect::<Vec<_>>();
        assert_eq!(named("polyline").len(), SCENARIOS.len());
        for scenario in SCENARIOS {
            assert!(named("text").iter().any(|text| text.text() == Some(scenario.title)), "{}", scenario.title);
        }
        for circle in named("circle") {
            let at = |name| circle.attribute(name).unwrap().parse::<f64>().unwrap();
            assert!((TOP..=BOTTOM).contains(&at("cy")) && (LEFT..=WIDTH).contains(&at("cx")));
        }
    }

    #[test]
    fn nothing_measured_makes_an_empty_plot() {
        assert!(roxmltree::Document::parse(&svg(&report(Vec::new()))).is_ok());
        assert_eq!([50.0, 1e3, 1e7].map(time), ["50 µs", "1 ms", "10 s"]);
    }
}
