//! A bench from its plan to its report, size by size.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::against;
use super::child::{Launcher, Server};
use super::fill::{self, larger};
use super::floor::Commits;
use super::load::Driver;
use super::machine::Machine;
use super::measure::Bench;
use super::plan::{Plan, Watch};
use super::question::Questions;
use super::report::{Report, Row, Size, count};
use super::restart::{self, MemoryWatch};
use super::scenario::{Asks, Floor};
use super::scratch::Scratch;
use super::stop::{Stop, Trouble};
use super::terminal;
use crate::config::Config;

/// Carries out a plan. The scratch folder is gone afterwards, however it ends; sizes that were measured before a failure are kept.
///
/// # Errors
/// `config` are the settings the plan's own ones lead to. [`Trouble::Plan`] when nothing was begun, [`Trouble::Stopped`] by order; a
/// failure comes with the report of the sizes before it.
pub fn run(plan: &Plan, config: &Config, stop: &Stop, watch: &dyn Watch) -> Result<Report, (Trouble, Option<Report>)> {
    let driver = Driver::new(stop).map_err(|trouble| (trouble, None))?;
    if let Some((url, target)) = &plan.against {
        let mut report = report(plan, Path::new("."), Some(url.clone()));
        let size = against::run(plan, target, &driver, stop, watch).map_err(|trouble| (trouble, None))?;
        report.sizes.push(size);
        return Ok(report);
    }
    let scratch = Scratch::take(&plan.data, plan.keep).map_err(|trouble| (trouble, None))?;
    let mut report = report(plan, scratch.path(), None);
    watch.line(&report.machine.line());
    for certificates in &plan.counts {
        let one = Sizing { plan, config, stop, watch, driver: &driver, scratch: &scratch };
        match one.run(*certificates) {
            Ok(size) => report.sizes.push(size),
            Err(trouble) => {
                report.grow();
                let kept = (!report.sizes.is_empty() && trouble != Trouble::Stopped).then_some(report);
                return Err((trouble, kept));
            }
        }
        report.grow();
        report.sizes.last().into_iter().flat_map(terminal::growth).for_each(|line| watch.line(&line));
    }
    Ok(report)
}

fn report(plan: &Plan, folder: &Path, against: Option<String>) -> Report {
    Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: Machine::here(folder),
        against,
        settings: plan.settings.clone(),
        seed: plan.seed,
        clients: plan.clients,
        seconds: plan.time.as_secs_f64(),
        sizes: Vec::new(),
    }
}

/// The work on one size.
struct Sizing<'s> {
    plan: &'s Plan,
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
        let filled = fill::fill(&launcher, &data, self.plan.seed, certificates, self.watch)?;
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

        let commits = self.commits(&data, &folder)?;
        self.watch.phase(&format!("{told}: starts"), None);
        let nowhere = super::client::Target::parse("http://127.0.0.1:9").expect("an address in numbers is one");
        let questions = Questions::new(nowhere, Rc::new(filled.sample));
        let restarts = self.plan.scenarios.iter().any(|scenario| scenario.asks == Asks::Restart);
        let (server, mut figures) = restart::clean(&launcher, &data, self.driver, &questions, restarts)?;
        let questions = questions.moved(&server.target);
        let memory = MemoryWatch::over(server.process.id(), self.stop);
        let http_floor = self.http_floor(&launcher, &data)?;
        let bench = Bench {
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

    fn http_floor(&self, launcher: &Launcher, data: &Path) -> Result<Option<Server>, Trouble> {
        self.wants(&[Floor::Http]).then(|| launcher.floor(data)).transpose()
    }

    fn wants(&self, floors: &[Floor]) -> bool {
        self.plan.scenarios.iter().any(|scenario| floors.contains(&scenario.floor))
    }
}

/// Runs all scenarios that have requests, and shows each as soon as it is done.
pub fn rows(bench: &Bench, told: &str, watch: &dyn Watch) -> Result<Vec<Row>, Trouble> {
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
