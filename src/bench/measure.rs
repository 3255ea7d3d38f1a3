//! Runs scenarios against a server that is filled, each in turns with its floor, so that both meet the same neighbours on the machine.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::child::ServerProcess;
use super::client::BenchConnection;
use super::device::BlockDevice;
use super::figures::{Ratio, Sampled, median};
use super::floor::AppendFloor;
use super::load::{Driver, Expect, Question, XorShift};
use super::plan::BenchPlan;
use super::question::Questions;
use super::report::{DeviceWrites, FloorFigure, ScenarioRow};
use super::scenario::{Floor, Measure, RequestKind, Scenario};
use super::stop::{BenchError, Stop};

/// A scenario is cut into so many slices.
pub(super) const SLICES: u32 = 5;

/// The indexer takes its round within a second of a write; its work counts for the writes that caused it.
const SETTLING: Duration = Duration::from_millis(1_300);

/// How often a record is looked for in the journal.
const RECORD_TRIES: usize = 5;

/// A store that nobody writes to makes its journal's changes durable in its own file after five seconds.
const REST: Duration = Duration::from_secs(6);

/// Everything a scenario needs.
pub(super) struct ScenarioContext<'b> {
    pub plan: &'b BenchPlan,
    pub stop: &'b Stop,
    pub driver: &'b Driver,
    pub questions: &'b Questions,
    /// Our own server; none when another one is driven.
    pub server: Option<&'b ServerProcess>,
    /// None when another server is driven.
    pub floors: Option<&'b Floors>,
}

/// What figures are held against.
pub(super) struct Floors {
    pub http: Option<ServerProcess>,
    /// Data folder of our own server.
    pub data: PathBuf,
    /// For appends, beside it.
    pub file: PathBuf,
    /// Made when it is needed first, since it repeats what a create wrote.
    pub appends: RefCell<Option<AppendFloor>>,
    /// Or why there is none.
    pub device: Result<BlockDevice, String>,
}

impl ScenarioContext<'_> {
    pub(super) fn slices(&self, scenario: &Scenario, clients: usize, row: &mut ScenarioRow) -> Result<(), BenchError> {
        let question = self.questions.of(scenario.kind);
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
        if let Some(floors) = self.floors.filter(|_| scenario.kind == RequestKind::Create) {
            match &floors.device {
                Ok(device) => row.device = Some(self.device_writes(scenario, clients, device, row)?),
                Err(why) => row.note = Some(format!("bytes to the device are not known: {why}")),
            }
        }
        Ok(())
    }

    /// What reaches the device while clients write and until everything of it is in its place, beside as long a time without them.
    fn device_writes(
        &self,
        scenario: &Scenario,
        clients: usize,
        device: &BlockDevice,
        row: &mut ScenarioRow,
    ) -> Result<DeviceWrites, BenchError> {
        let time = self.plan.time;
        let rest = if time < Duration::from_secs(1) { 2 * time } else { REST };
        let bytes = |from: u64, to: u64| to.saturating_sub(from) as f64;
        // What was written before comes to its place first.
        self.stop.sleep(rest)?;
        let idle_from = device.synced()?;
        self.stop.sleep(time + rest)?;
        let from = device.synced()?;
        let asked = self.ask(clients, time, &self.questions.of(scenario.kind))?;
        self.stop.sleep(rest)?;
        let to = device.synced()?;
        let appended = self.floor(scenario, clients, time / SLICES)?;
        let floor_to = device.synced()?;
        let requests = asked.count().max(1) as f64;
        row.errors += asked.faults.count;
        row.first_error = row.first_error.take().or(asked.faults.first.clone());
        Ok(DeviceWrites {
            creates: asked.count() as u64,
            bytes_per_create: bytes(from, to) / requests,
            idle_bytes_per_create: bytes(idle_from, from) / requests,
            floor_bytes: appended.map(|appended| bytes(to, floor_to) / appended.count().max(1) as f64),
        })
    }

    /// The ratio of each slice to the floor right before it.
    pub(super) fn compare(
        &self,
        scenario: &Scenario,
        row: &mut ScenarioRow,
        slices: &[Sampled],
        floors: &[Option<Sampled>],
    ) {
        let bytes =
            self.floors.and_then(|floors| floors.appends.borrow().as_ref().map(AppendFloor::bytes)).unwrap_or(0);
        let (what, unit) = match scenario.floor {
            Floor::None => return,
            Floor::Http => ("4 KB from memory".to_owned(), "µs CPU"),
            Floor::Append(1) => (format!("{bytes} bytes appended and synced"), "µs p50"),
            Floor::Append(records) => (format!("{records} times {bytes} bytes appended and synced"), "records/s"),
            Floor::Pause => ("the same search after a pause".to_owned(), "µs p50"),
        };
        let value = |sampled: &Sampled| match scenario.measure {
            Measure::Cpu => sampled.cpu_us(),
            Measure::P50 => sampled.p50_us(),
            Measure::Rate => sampled.rate(),
        };
        let floors: Vec<Option<f64>> = floors.iter().map(|floor| floor.as_ref().and_then(value)).collect();
        row.ratio = Ratio::of(slices.iter().zip(&floors).filter_map(|(slice, floor)| value(slice).zip(*floor)));
        row.floor = median(floors.into_iter().flatten().collect()).map(|value| FloorFigure {
            what: what.clone(),
            unit: unit.to_owned(),
            value,
        });
    }

    fn floor(&self, scenario: &Scenario, clients: usize, time: Duration) -> Result<Option<Sampled>, BenchError> {
        let Some(floors) = self.floors else { return Ok(None) };
        match scenario.floor {
            Floor::None | Floor::Pause => Ok(None),
            Floor::Http => {
                let Some(floor) = &floors.http else { return Ok(None) };
                let target = floor.target.clone();
                let question: Rc<Question> = Rc::new(move |random, out| {
                    target.get(out, format_args!("/Composition/{}", random.below(100_000)));
                    Some(Expect::OK)
                });
                let sampled = self.driver.run(&floor.target, clients, time, &question, &|| floor.process.cpu())?;
                match sampled.faults.first {
                    Some(words) => Err(BenchError::failed("the HTTP floor", words)),
                    None => Ok(Some(sampled)),
                }
            }
            Floor::Append(records) => {
                let mut appends = floors.appends.borrow_mut();
                // A checkpoint right behind the create empties the journal.
                for left in (0..RECORD_TRIES).rev() {
                    if appends.is_none() {
                        self.create_one()?;
                        match AppendFloor::new(&floors.file, &floors.data) {
                            Err(_) if left > 0 => {}
                            made => *appends = Some(made?),
                        }
                    }
                }
                appends.as_mut().map(|appends| appends.run(time, records, self.stop)).transpose()
            }
        }
    }

    /// A create that nobody disturbs, so that the newest record of the journal is its own.
    fn create_one(&self) -> Result<(), BenchError> {
        let mut request = Vec::new();
        let create = self.questions.ask(RequestKind::Create, &mut XorShift::new(1), &mut request);
        let Some(expect) = create else { return Ok(()) };
        let answered = self.driver.wait(async {
            let mut connection = BenchConnection::new(&self.questions.target);
            let answer = connection.send(&request).await.map_err(|error| error.to_string())?;
            expect.check(&answer)
        })?;
        answered.map_err(|words| BenchError::failed("a create", words))
    }

    /// Clients ask for some time.
    pub(super) fn ask(&self, clients: usize, time: Duration, question: &Rc<Question>) -> Result<Sampled, BenchError> {
        self.driver.run(&self.questions.target, clients, time, question, &|| self.cpu())
    }

    /// CPU time of our server so far.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.server.and_then(|server| server.process.cpu())
    }

    /// CPU time since `before`, once what was written is indexed too.
    pub(super) fn settled(&self, before: Option<Duration>) -> Result<Option<Duration>, BenchError> {
        let Some(before) = before else { return Ok(None) };
        self.stop.sleep(SETTLING.min(2 * self.plan.time))?;
        Ok(self.cpu().map(|now| now.saturating_sub(before)))
    }
}
