//! `hcert bench`: what the service costs beside what it could cost at least.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use crate::bench::{self, BenchError, BenchPlan, BenchReport, BenchTarget, SCENARIOS, Scenario, Stop, Watch};
use crate::config::Config;
use base::{owner, regular_file};
use certificate::Renaming;

/// Measure how fast the server is on this machine, at several sizes
///
/// For each size, a scratch folder is filled with generated certificates, the server is started over it as a process of its own and
/// driven over loopback, and every scenario takes turns with its floor: what it could cost at least. Nothing else is needed, nothing
/// is left behind, and no other data are touched. Results go to the terminal and to bench.json, bench.md and latency.svg.
///
/// A wrong answer, a write that a later search misses, or a lost write makes the command fail; a goal that is missed is only shown.
#[derive(Args, Debug)]
pub(super) struct BenchArguments {
    /// Numbers of certificates, each a run of its own: 1000, 10k, 1M. A million takes about 2 GB of disk
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1k,10k,100k", value_parser = bench::parse_count)]
    count: Vec<u64>,

    /// Any number; another one gives other certificates
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Scratch folder; must be empty or not there, and is removed afterwards. It should lie on the kind of disk that you want to know
    /// about
    #[arg(long, value_name = "DIR", default_value = "hcert-bench-data")]
    data: PathBuf,

    /// Leave the scratch folder as it is in the end
    #[arg(long)]
    keep: bool,

    /// Connections that ask at once, where a scenario does not say another number; 1 to 512
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=512))]
    clients: u16,

    /// Seconds of each scenario, its floor not counted; 0.05 to 3600
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    seconds: Duration,

    /// Only these scenarios, by name; an unknown name lists them
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = bench::parse_scenario)]
    only: Vec<&'static Scenario>,

    /// Folder for bench.json, bench.md and latency.svg, which are replaced if they are there
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// bench.json of an earlier run, of hcert or of another server; its figures stand beside these in bench.md and on the terminal
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// Drive another FHIR server instead, such as http://127.0.0.1:8081/fhir. The certificates are created there over HTTP and stay;
    /// scenarios it does not offer are shown so. Only its answers are measured: no CPU time, no floors
    #[arg(long, value_name = "URL")]
    against: Option<String>,

    /// A setting of the server that differs from its default, such as storage.quick_repair=off; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

/// The HTTP floor of a bench, in a process of its own.
#[derive(Args, Debug)]
pub(super) struct BenchFloor {}

impl BenchArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let out = self.out.clone();
        check_out(&out)?;
        let before = self.compare.as_deref().map(read).transpose()?;
        let settings = self.settings.iter().map(|(name, value)| (bench::environment_name(name).into(), value.into()));
        let config = Config::load(Some(Path::new("/dev/null")), settings, |_| ())?;
        let plan = self.plan(Renaming::new(&super::open::names(&config, &config.base_url())))?;
        let stopped = match (&plan.against, plan.keep) {
            (Some(_), _) => "stopped; what was created on the other server is still there".to_owned(),
            (None, true) => format!("stopped; {} was kept", plan.data.display()),
            (None, false) => "stopped; nothing is left behind".to_owned(),
        };
        let stop = Stop::default();
        listen_for_signals(&stop)?;
        let bar = BenchProgressBar::new();
        let (report, ended) = bench::run(&plan, &config, &stop, &bar);
        bar.finish();
        if plan.keep && plan.against.is_none() && !matches!(ended, Err(BenchError::Plan(_))) {
            drop(writeln!(io::stdout(), "\nkept: {}", plan.data.display()));
        }
        if !report.sizes.is_empty() && ended != Err(BenchError::Stopped) {
            let beside = before.map(|before| bench::compare(&before, &report));
            if let Some(beside) = &beside {
                drop(writeln!(io::stdout(), "\n{beside}"));
            }
            let written = write(&out, &report, beside.as_deref());
            written.map_err(|error| Failure::Failed(format!("{}: {error}", out.display())))?;
        }
        let failures = report.failures();
        match ended {
            Err(BenchError::Plan(words)) => Err(Failure::Usage(words)),
            Err(BenchError::Stopped) => Err(Failure::Failed(stopped)),
            Err(BenchError::Failed(words)) => Err(Failure::Failed(words)),
            Ok(()) if failures.is_empty() => Ok(()),
            Ok(()) => Err(Failure::Failed(failures.join("\n       "))),
        }
    }

    fn plan(self, renaming: Renaming) -> Result<BenchPlan, Failure> {
        let mut counts = self.count;
        counts.sort_unstable();
        counts.dedup();
        let against = match self.against {
            Some(_) if counts.len() > 1 => {
                let words = "another server is driven with one number of certificates: name it with --count";
                return Err(Failure::Usage(words.to_owned()));
            }
            Some(url) => match BenchTarget::parse(&url) {
                Ok(target) => Some((url, target)),
                Err(BenchError::Plan(words) | BenchError::Failed(words)) => return Err(Failure::Usage(words)),
                Err(BenchError::Stopped) => return Err(Failure::Failed("stopped".to_owned())),
            },
            None => None,
        };
        let chosen =
            |scenario: &&Scenario| self.only.is_empty() || self.only.iter().any(|only| only.name == scenario.name);
        Ok(BenchPlan {
            counts,
            seed: self.seed,
            data: self.data,
            keep: self.keep,
            clients: self.clients.into(),
            time: self.seconds,
            scenarios: SCENARIOS.iter().filter(chosen).collect(),
            against,
            settings: self.settings,
            renaming,
        })
    }
}

impl BenchFloor {
    /// Runs until it is killed.
    pub(super) fn run(self) -> Result<(), Failure> {
        let config = Config::load(Some(Path::new("/dev/null")), std::env::vars_os(), |_| ())?;
        let output = super::log::open().map_err(|error| Failure::Failed(format!("the log: {error}")))?;
        super::log::start(&config.log, &output);
        bench::floor::serve(&config).map_err(Failure::Failed)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a number from 0.05 to 3600 is wanted".to_owned()),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let words = "KEY=VALUE is wanted, such as storage.quick_repair=off";
    let (name, value) = text.split_once('=').ok_or(words)?;
    if name.split('.').count() == 2 { Ok((name.to_owned(), value.to_owned())) } else { Err(words.to_owned()) }
}

/// Told before an hour of measuring rather than after it.
fn check_out(out: &Path) -> Result<(), Failure> {
    let wrong = |error: String| Failure::Usage(format!("--out {}: {error}", out.display()));
    match fs::metadata(out) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(wrong("is no folder".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if parent.is_dir() { Ok(()) } else { Err(wrong(format!("{} is not there", parent.display()))) }
        }
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Bytes of the report of an earlier run, which has some 100 KB.
const BENCH_REPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// An earlier report.
fn read(file: &Path) -> Result<BenchReport, Failure> {
    let wrong = |error: String| Failure::Usage(format!("--compare {}: {error}", file.display()));
    let bytes = regular_file::contents(file, BENCH_REPORT_BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(format!("is no bench.json of this release: {error}")))
}

fn write(out: &Path, report: &BenchReport, beside: Option<&str>) -> io::Result<()> {
    if !out.is_dir() {
        fs::create_dir(out)?;
    }
    let beside = beside.map(|beside| format!("\n{beside}")).unwrap_or_default();
    let files = [
        ("bench.json", serde_json::to_vec_pretty(report)?),
        ("bench.md", (bench::markdown(report) + &beside).into_bytes()),
        ("latency.svg", bench::svg(report).into_bytes()),
    ];
    for (name, content) in files {
        let path = out.join(name);
        owner::expect_own(&path).map_err(|problem| io::Error::other(format!("{name}: {problem}")))?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Ctrl-C, SIGTERM and a closed terminal stop the bench, which then cleans up.
fn listen_for_signals(stop: &Stop) -> Result<(), Failure> {
    let stop = stop.clone();
    let (ready, wait) = channel();
    let listen = async move {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let signals: io::Result<Vec<_>> = kinds.into_iter().map(signal).collect();
        let mut signals = match signals {
            Ok(signals) => signals,
            Err(error) => return drop(ready.send(Err(error))),
        };
        drop(ready.send(Ok(())));
        let [interrupt, terminate, hangup] = &mut signals[..] else { return };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        stop.order();
    };
    let failed = |error: io::Error| Failure::Failed(format!("signals cannot be caught: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    std::thread::spawn(move || runtime.block_on(listen));
    wait.recv().unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)
}

/// The progress bar: on a terminal only. Lines of the table go to standard output.
struct BenchProgressBar(RefCell<ProgressBar>);

impl BenchProgressBar {
    fn new() -> BenchProgressBar {
        BenchProgressBar(RefCell::new(ProgressBar::hidden()))
    }

    fn finish(&self) {
        self.0.borrow().finish_and_clear();
    }
}

impl Watch for BenchProgressBar {
    fn phase(&self, words: &str, steps: Option<u64>) {
        self.finish();
        let (bar, template) = match steps {
            Some(steps) => (ProgressBar::new(steps), "{bar:32} {percent:>3} % {msg} {elapsed}"),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
        };
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        bar.set_style(ProgressStyle::with_template(template).expect("the templates above are well-formed"));
        bar.set_message(words.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        *self.0.borrow_mut() = bar;
    }

    fn at(&self, steps: u64) {
        self.0.borrow().set_position(steps);
    }

    fn line(&self, line: &str) {
        // Nobody may be reading any more; the files are written all the same.
        self.0.borrow().suspend(|| drop(writeln!(io::stdout(), "{line}")));
    }
}
