//! A bench from its plan to its report, size by size.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::against;
use super::child::{Launcher, ServerProcess};
use super::fill::{self, larger};
use super::floor::Commits;
use super::load::Driver;
use super::machine::BenchMachine;
use super::measure::ScenarioContext;
use super::plan::{BenchPlan, Watch};
use super::question::Questions;
use super::report::{BenchReport, ScenarioRow, Size, count};
use super::restart::{self, MemoryWatch};
use super::sample::everybody;
use super::scenario::{Asks, Floor};
use super::scratch::Scratch;
use super::stop::{Stop, Trouble};
use super::terminal;
use crate::config::Config;

/// Carries out a plan with the settings that its own ones lead to. The scratch folder is gone afterwards, however it ends; the report
/// holds the sizes that were measured before a failure.
///
/// The result is [`Trouble::Plan`] when nothing was begun and [`Trouble::Stopped`] by order.
pub fn run(plan: &BenchPlan, config: &Config, stop: &Stop, watch: &dyn Watch) -> (BenchReport, Result<(), Trouble>) {
    let mut report = report(plan);
    let ended = match &plan.against {
        Some((_, target)) => Driver::new(stop)
            .and_then(|driver| against::run(plan, target, &driver, stop, watch))
            .map(|size| report.sizes.push(size)),
        None => sizes(plan, config, stop, watch, &mut report),
    };
    (report, ended)
}

fn sizes(
    plan: &BenchPlan,
    config: &Config,
    stop: &Stop,
    watch: &dyn Watch,
    report: &mut BenchReport,
) -> Result<(), Trouble> {
    let scratch = Scratch::take(&plan.data, plan.keep)?;
    report.machine = BenchMachine::here(scratch.path());
    watch.line(&report.machine.line());
    let driver = Driver::new(stop)?;
    for certificates in &plan.counts {
        let one = Sizing { plan, config, stop, watch, driver: &driver, scratch: &scratch };
        report.sizes.push(one.run(*certificates)?);
        report.grow();
        report.sizes.last().into_iter().flat_map(terminal::growth).for_each(|line| watch.line(&line));
    }
    Ok(())
}

fn report(plan: &BenchPlan) -> BenchReport {
    BenchReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: BenchMachine::here(Path::new(".")),
        against: plan.against.as_ref().map(|(url, _)| url.clone()),
        settings: plan.settings.clone(),
        seed: plan.seed,
        clients: plan.clients,
        seconds: plan.time.as_secs_f64(),
        sizes: Vec::new(),
    }
}

/// The work on one size.
struct Sizing<'s> {
    plan: &'s BenchPlan,
    config: &'s Config,
    stop: &'s Stop,
    watch: &'s dyn Watch,
    driver: &'s Driver,
    scratch: &'s Scratch,
}

impl Sizing<'_> {
    fn run(&self, certificates: u64) -> Result<Size, Trouble> {
        fill::check_room(self.scratch.path(), certificates)?;
        let folder = self.scratch.folder(&count(certificates))?;
        let data = folder.join("data");
        let launcher = Launcher::new(&self.plan.settings, self.stop)?;
        let told = count(certificates);
        self.watch.phase(&format!("{told}: import"), Some(certificates));
        let filled = fill::fill(&launcher, &data, self.plan, certificates, self.watch)?;
        self.watch.phase(&format!("{told}: looking at the disk"), None);
        let disk = fill::disk(&data, filled.versions, self.config, self.stop)?;
        let mut size = Size {
            certificates,
            versions: filled.versions,
            import: Some(filled.import),
            disk: Some(disk),
            ..Size::default()
        };
        terminal::filled(&size).iter().for_each(|line| self.watch.line(line));

        let patients = everybody(self.plan.seed, certificates).subjects().count();
        self.watch.phase(&format!("{told}: patients"), Some(patients as u64));
        fill::patients(&launcher, &data, self.plan, certificates, self.watch)?;
        let commits = self.commits(&data, &folder)?;
        self.watch.phase(&format!("{told}: starts"), None);
        let nowhere = super::client::BenchTarget::parse("http://127.0.0.1:9").expect("an address in numbers is one");
        let questions = Questions::new(nowhere, Rc::new(filled.sample));
        let restarts = self.plan.scenarios.iter().any(|scenario| scenario.asks == Asks::Restart);
        let (server, mut figures) = restart::clean(&launcher, &data, self.driver, &questions, restarts)?;
        let questions = questions.moved(&server.target);
        let memory = MemoryWatch::over(server.process.id(), self.stop);
        let http_floor = self.http_floor(&launcher, &data)?;
        let bench = ScenarioContext {
            plan: self.plan,
            stop: self.stop,
            driver: self.driver,
            questions: &questions,
            server: Some(&server),
            http_floor: http_floor.as_ref(),
            commits: commits.as_ref(),
        };
        size.rows = rows(&bench, &told, self.watch)?;
        size.problems.extend(server.process.complaint().map(|line| format!("the server says: {line}")));
        figures.memory_peak = larger(memory.peak(), server.process.memory());
        drop((memory, http_floor, commits));

        if restarts {
            self.watch.phase(&format!("{told}: kill"), None);
            let load = self.plan.time.clamp(Duration::from_millis(300), Duration::from_secs(2));
            let server = restart::killed(&launcher, &data, self.driver, &questions, server, &mut figures, load)?;
            server.process.stop()?;
            terminal::restart(&figures).iter().for_each(|line| self.watch.line(line));
            size.restart = Some(figures);
        } else {
            server.process.stop()?;
        }
        self.scratch.remove(&folder);
        Ok(size)
    }

    /// The floor of writes, where one is wanted.
    fn commits(&self, data: &Path, folder: &Path) -> Result<Option<RefCell<Commits>>, Trouble> {
        if !self.wants(&[Floor::Commit, Floor::Group]) {
            return Ok(None);
        }
        self.watch.phase("copying the store for the floor of writes", None);
        let commits = Commits::over_copy(data, &folder.join("floor"), self.config, self.stop)?;
        Ok(Some(RefCell::new(commits)))
    }

    fn http_floor(&self, launcher: &Launcher, data: &Path) -> Result<Option<ServerProcess>, Trouble> {
        self.wants(&[Floor::Http]).then(|| launcher.floor(data)).transpose()
    }

    fn wants(&self, floors: &[Floor]) -> bool {
        self.plan.scenarios.iter().any(|scenario| floors.contains(&scenario.floor))
    }
}

/// Runs all scenarios that have requests, and shows each as soon as it is done.
pub(super) fn rows(bench: &ScenarioContext, told: &str, watch: &dyn Watch) -> Result<Vec<ScenarioRow>, Trouble> {
    watch.line(&terminal::head());
    let scenarios: Vec<_> = bench.plan.scenarios.iter().filter(|scenario| scenario.asks != Asks::Restart).collect();
    let mut rows = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        watch.phase(&format!("{told}: {}", scenario.title), Some(scenarios.len() as u64));
        watch.at(at as u64);
        let row = bench.run(scenario)?;
        terminal::row(&row).iter().for_each(|line| watch.line(line));
        rows.push(row);
    }
    Ok(rows)
}
