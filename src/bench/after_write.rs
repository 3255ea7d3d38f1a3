//! A search straight after a write: does it find it, and what does it cost beside the same search after a pause as long as the write?

use std::time::{Duration, Instant};

use super::client::{BenchConnection, BenchTarget};
use super::figures::{Faults, Sampled};
use super::load::{Expect, XorShift, first_line};
use super::measure::{SLICES, ScenarioContext};
use super::question::Questions;
use super::report::ScenarioRow;
use super::scenario::{RequestKind, Scenario};
use super::stop::BenchError;

/// Certificates that each patient gets at most, on average, so that the searches stay what they are.
const WRITES_EACH: usize = 2;

/// Searches after a write take turns with searches after a pause, on the same patients, so that both meet answers of the same size, and
/// a processor whose caches are as cold.
///
/// # Errors
/// The order to stop comes.
pub(super) fn run(bench: &ScenarioContext, scenario: &Scenario, row: &mut ScenarioRow) -> Result<(), BenchError> {
    let slice = bench.plan.time / SLICES;
    let most = (bench.questions.sample.subjects.len() * WRITES_EACH / SLICES as usize).max(10);
    bench.ask(1, slice / 2, &bench.questions.of(RequestKind::Subject))?;
    let (mut slices, mut floors) = (Vec::new(), Vec::new());
    for number in 0..SLICES {
        let mut pairs = Pairs::new(bench.questions, number);
        bench.driver.wait(pairs.run(slice, most))?;
        floors.push(Some(bench.driver.wait(pairs.rest(slice / 2))?));
        row.misses += pairs.misses;
        slices.push(pairs.sampled);
    }
    bench.compare(scenario, row, &slices, &floors);
    // The server's CPU time is that of writes and searches together, so it is not told.
    row.fill(&Sampled::all(slices));
    let faults = floors.into_iter().flatten().fold(Faults::default(), |mut all, floor| {
        all.join(floor.faults);
        all
    });
    row.errors += faults.count;
    row.first_error = row.first_error.take().or(faults.first);
    Ok(())
}

/// One client that writes and then searches, on one connection.
struct Pairs {
    connection: BenchConnection,
    target: BenchTarget,
    questions: Questions,
    random: XorShift,
    sampled: Sampled,
    writes: Vec<Duration>,
    misses: u64,
}

impl Pairs {
    fn new(questions: &Questions, number: u32) -> Pairs {
        Pairs {
            connection: BenchConnection::new(&questions.target),
            target: questions.target.clone(),
            questions: questions.clone(),
            random: XorShift::new(u64::from(number) + 77),
            sampled: Sampled::default(),
            writes: Vec::new(),
            misses: 0,
        }
    }

    async fn run(&mut self, time: Duration, most: usize) {
        let start = Instant::now();
        let (mut times, mut faults, mut body_bytes) = (Vec::new(), Faults::default(), 0);
        while start.elapsed() < time && times.len() < most && faults.count < 10 {
            match self.pair().await {
                Ok((took, bytes)) => {
                    times.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                    body_bytes += bytes;
                }
                Err(words) => faults.add(|| words),
            }
        }
        self.sampled = Sampled::new(times, start.elapsed(), None).with(body_bytes, faults);
    }

    /// Writes for a patient, then searches; the time of the search and the bytes it brought.
    async fn pair(&mut self) -> Result<(Duration, u64), String> {
        let sample = self.questions.sample.clone();
        let subject = self.random.pick(&sample.subjects).ok_or("there is no patient")?;
        let mut request = Vec::with_capacity(8 * 1024);
        self.questions.create(Some(subject.number), &mut request).ok_or("there is no body")?;
        let begun = Instant::now();
        let answer = self.connection.send(&request).await.map_err(|error| error.to_string())?;
        self.writes.push(begun.elapsed());
        Expect::CREATED.check(&answer).map_err(|words| format!("{}: {words}", first_line(&request)))?;
        let id = answer.created_id().ok_or("a create does not tell where")?.to_owned();
        subject.hits.set(subject.hits.get() + 1);

        request.clear();
        self.target.get(&mut request, format_args!("/Composition?subject=Patient/{}", subject.number));
        let begun = Instant::now();
        let answer = self.connection.send(&request).await.map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        Expect::OK.check(&answer).map_err(|words| format!("{}: {words}", first_line(&request)))?;
        let found = answer.total() == Some(subject.hits.get()) && answer.holds(&format!("Composition/{id}\""));
        self.misses += u64::from(!found);
        Ok((took, answer.body.len() as u64))
    }

    /// Searches after pauses, each as long as one of the writes.
    async fn rest(&mut self, time: Duration) -> Sampled {
        let start = Instant::now();
        let (mut times, mut faults) = (Vec::new(), Faults::default());
        let mut request = Vec::new();
        for pause in std::mem::take(&mut self.writes).into_iter().cycle() {
            request.clear();
            let asked = self.questions.ask(RequestKind::Subject, &mut self.random, &mut request);
            let Some(expect) = asked.filter(|_| start.elapsed() < time && faults.count < 10) else { break };
            // The runtime's clock is too coarse for pauses of this length, and this client is the only one.
            std::thread::sleep(pause);
            let begun = Instant::now();
            let answer = self.connection.send(&request).await;
            let took = begun.elapsed();
            match answer.map_err(|error| error.to_string()).and_then(|answer| expect.check(&answer)) {
                Ok(()) => times.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
                Err(words) => faults.add(|| format!("{}: {words}", first_line(&request))),
            }
        }
        Sampled::new(times, start.elapsed(), None).with(0, faults)
    }
}
