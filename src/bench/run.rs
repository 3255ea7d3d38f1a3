//! A bench from its plan to its report, size by size.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::against;
use super::child::{Launcher, ServerProcess};
use super::device::BlockDevice;
use super::fill::{self, larger};
use super::goals::goals;
use super::load::Driver;
use super::machine::BenchMachine;
use super::measure::{Floors, ScenarioContext};
use super::plan::{BenchPlan, Watch};
use super::question::Questions;
use super::report::{BenchReport, ScenarioRow, Size, count};
use super::restart::{self, MemoryWatch};
use super::sample::everybody;
use super::scenario::{Floor, RequestKind, Scenario};
use super::scratch::Scratch;
use super::stop::{BenchError, Stop};
use super::terminal;
use crate::config::Config;

/// Carries out a plan with the settings that its own ones lead to. The scratch folder is gone afterwards, however it ends; the report
/// holds the sizes that were measured before a failure.
///
/// The result is [`BenchError::Plan`] when nothing was begun and [`BenchError::Stopped`] by order.
pub fn run(plan: &BenchPlan, config: &Config, stop: &Stop, watch: &dyn Watch) -> (BenchReport, Result<(), BenchError>) {
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
) -> Result<(), BenchError> {
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
    let certificates = report.sizes.last().map_or(0, |size| size.certificates);
    terminal::goal_lines(&goals(report), certificates).iter().for_each(|line| watch.line(line));
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
    fn run(&self, certificates: u64) -> Result<Size, BenchError> {
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
        self.watch.phase(&format!("{told}: starts"), None);
        let nowhere = super::client::BenchTarget::parse("http://127.0.0.1:9").expect("an address in numbers is one");
        let questions = Questions::new(nowhere, Rc::new(filled.sample));
        let restarts = self.plan.scenarios.iter().any(|scenario| scenario.kind == RequestKind::Restart);
        let (server, mut figures) = restart::clean(&launcher, &data, self.driver, &questions, restarts)?;
        let questions = questions.moved(&server.target);
        let memory = MemoryWatch::over(server.process.id(), self.stop);
        let floors = Floors {
            http: self.http_floor(&launcher, &data)?,
            file: folder.join("floor"),
            appends: RefCell::default(),
            device: BlockDevice::below(&folder),
            data: data.clone(),
        };
        let Sizing { plan, stop, driver, .. } = *self;
        let bench =
            ScenarioContext { plan, stop, driver, questions: &questions, server: Some(&server), floors: Some(&floors) };
        size.rows = rows(&bench, &told, |scenario| !scenario.is_unordered(), self.watch)?;
        size.problems.extend(server.process.complaint().map(|line| format!("the server says: {line}")));
        figures.memory_peak = larger(memory.peak(), server.process.memory());
        drop(memory);

        let server = if restarts {
            self.watch.phase(&format!("{told}: kill"), None);
            let load = self.plan.time.clamp(Duration::from_millis(300), Duration::from_secs(2));
            let server = restart::killed(&launcher, &data, self.driver, &questions, server, &mut figures, load)?;
            terminal::restart(&figures).iter().for_each(|line| self.watch.line(line));
            size.restart = Some(figures);
            server
        } else {
            server
        };
        if self.plan.scenarios.iter().any(|scenario| scenario.is_unordered()) {
            let questions = questions.moved(&server.target);
            self.watch.phase(&format!("{told}: late import"), None);
            let in_doubt = if restarts { restart::WRITERS } else { 0 };
            size.problems.extend(self.driver.wait(questions.count_versions(in_doubt as u64))?.err());
            let took = fill::late(&launcher, &data, self.plan, certificates)?.as_secs_f64();
            self.watch.line(&format!("late import of a certificate older than all others: {took:.2} s"));
            size.late_import_seconds = Some(took);
            questions.late.set(1);
            let (server, floors) = (Some(&server), Some(&floors));
            let bench = ScenarioContext { plan, stop, driver, questions: &questions, server, floors };
            size.rows.extend(rows(&bench, &told, Scenario::is_unordered, self.watch)?);
        }
        server.process.stop()?;
        self.scratch.remove(&folder);
        Ok(size)
    }

    fn http_floor(&self, launcher: &Launcher, data: &Path) -> Result<Option<ServerProcess>, BenchError> {
        let wanted = self.plan.scenarios.iter().any(|scenario| scenario.floor == Floor::Http);
        wanted.then(|| launcher.floor(data)).transpose()
    }
}

/// Runs the scenarios that have requests and that are wanted, and shows each as soon as it is done.
fn rows(
    bench: &ScenarioContext,
    told: &str,
    wanted: impl Fn(&Scenario) -> bool,
    watch: &dyn Watch,
) -> Result<Vec<ScenarioRow>, BenchError> {
    watch.line(&terminal::head());
    let scenarios =
        bench.plan.scenarios.iter().filter(|scenario| scenario.kind != RequestKind::Restart && wanted(scenario));
    let scenarios: Vec<_> = scenarios.collect();
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
