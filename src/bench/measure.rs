//! Runs scenarios against a server that is filled, each in turns with its floor, so that both meet the same neighbours on the machine.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::child::ServerProcess;
use super::figures::{Ratio, Sampled, median};
use super::floor::Commits;
use super::load::{Driver, Expect, Question};
use super::plan::BenchPlan;
use super::question::Questions;
use super::report::{FloorFigure, ScenarioRow};
use super::scenario::{Floor, GROUP, Measure, Scenario};
use super::stop::{Stop, Trouble};

/// A scenario is cut into so many slices.
pub(super) const SLICES: u32 = 5;

/// The indexer takes its round within a second of a write; its work counts for the writes that caused it.
const SETTLING: Duration = Duration::from_millis(1_300);

/// Everything a scenario needs.
pub(super) struct ScenarioContext<'b> {
    pub plan: &'b BenchPlan,
    pub stop: &'b Stop,
    pub driver: &'b Driver,
    pub questions: &'b Questions,
    /// Our own server; none when another one is driven.
    pub server: Option<&'b ServerProcess>,
    pub http_floor: Option<&'b ServerProcess>,
    pub commits: Option<&'b RefCell<Commits>>,
}

impl ScenarioContext<'_> {
    pub(super) fn slices(&self, scenario: &Scenario, clients: usize, row: &mut ScenarioRow) -> Result<(), Trouble> {
        let question = self.questions.of(scenario.asks);
        let slice = self.plan.time / SLICES;
        if !scenario.writes() {
            // Pages of the store come into the cache before anything counts.
            self.ask(clients, slice, &question)?;
        }
        let before = self.cpu();
        let (mut slices, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..SLICES {
            floors.push(self.floor(scenario, clients, slice / 2)?);
            slices.push(self.ask(clients, slice, &question)?);
        }
        self.compare(scenario, row, &slices, &floors);
        let mut all = Sampled::all(slices);
        if scenario.writes() {
            all.cpu = self.settled(before)?;
        }
        row.fill(&all);
        Ok(())
    }

    /// The ratio of each slice to the floor right before it.
    pub(super) fn compare(
        &self,
        scenario: &Scenario,
        row: &mut ScenarioRow,
        slices: &[Sampled],
        floors: &[Option<Sampled>],
    ) {
        let (what, unit) = match scenario.floor {
            Floor::None => return,
            Floor::Http => ("4 KB from memory", "µs CPU"),
            Floor::Commit => ("one durable commit", "µs p50"),
            Floor::Group => ("commits of 32", "rows/s"),
            Floor::Search => ("the same search without a write", "µs p50"),
        };
        let value = |sampled: &Sampled| match scenario.measure {
            Measure::Cpu => sampled.cpu_us(),
            Measure::P50 => sampled.p50_us(),
            Measure::Rate => sampled.rate(),
        };
        let floors: Vec<Option<f64>> = floors.iter().map(|floor| floor.as_ref().and_then(value)).collect();
        row.ratio = Ratio::of(slices.iter().zip(&floors).filter_map(|(slice, floor)| value(slice).zip(*floor)));
        row.floor = median(floors.into_iter().flatten().collect()).map(|value| FloorFigure {
            what: what.to_owned(),
            unit: unit.to_owned(),
            value,
        });
    }

    fn floor(&self, scenario: &Scenario, clients: usize, time: Duration) -> Result<Option<Sampled>, Trouble> {
        match scenario.floor {
            Floor::None | Floor::Search => Ok(None),
            Floor::Http => {
                let Some(floor) = self.http_floor else { return Ok(None) };
                let target = floor.target.clone();
                let question: Rc<Question> = Rc::new(move |random, out| {
                    target.get(out, format_args!("/Composition/{}", random.below(100_000)));
                    Some(Expect::OK)
                });
                let sampled = self.driver.run(&floor.target, clients, time, &question, &|| floor.process.cpu())?;
                match sampled.faults.first {
                    Some(words) => Err(Trouble::failed("the HTTP floor", words)),
                    None => Ok(Some(sampled)),
                }
            }
            Floor::Commit => self.commits.map(|commits| commits.borrow_mut().run(time, 1)).transpose(),
            Floor::Group => self.commits.map(|commits| commits.borrow_mut().run(time, GROUP)).transpose(),
        }
    }

    /// Clients ask for some time.
    pub(super) fn ask(&self, clients: usize, time: Duration, question: &Rc<Question>) -> Result<Sampled, Trouble> {
        self.driver.run(&self.questions.target, clients, time, question, &|| self.cpu())
    }

    /// CPU time of our server so far.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.server.and_then(|server| server.process.cpu())
    }

    /// CPU time since `before`, once what was written is indexed too.
    pub(super) fn settled(&self, before: Option<Duration>) -> Result<Option<Duration>, Trouble> {
        let Some(before) = before else { return Ok(None) };
        self.stop.sleep(SETTLING.min(2 * self.plan.time))?;
        Ok(self.cpu().map(|now| now.saturating_sub(before)))
    }
}
