//! Clients that ask for some time, each with a connection that is kept, each asking again as soon as it has its answer.
//!
//! All of them run on one thread, so that the clients of a busy server cost as little as they can.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::select;
use tokio::task::LocalSet;

use super::client::{BenchConnection, BenchResponse, BenchTarget};
use super::figures::{Faults, Sampled};
use super::stop::{BenchError, Stop};

/// What an answer must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expect {
    pub status: u16,
    pub total: Option<u64>,
}

impl Expect {
    pub(super) const OK: Expect = Expect { status: 200, total: None };
    pub(super) const CREATED: Expect = Expect { status: 201, total: None };

    pub(super) fn total(total: u64) -> Expect {
        Expect { status: 200, total: Some(total) }
    }

    /// # Errors
    /// What came instead, in words.
    pub(super) fn check(self, answer: &BenchResponse) -> Result<(), String> {
        if answer.status != self.status {
            return Err(format!("{} instead of {}", answer.words(), self.status));
        }
        match self.total {
            Some(expected) if answer.total() != Some(expected) => {
                let found = answer.total().map_or_else(|| "no total".to_owned(), |total| format!("total {total}"));
                Err(format!("{found} instead of {expected}"))
            }
            _ => Ok(()),
        }
    }
}

/// Writes the next request into an empty buffer and says what its answer must be; none when there is nothing left to ask.
pub(super) type Question = dyn Fn(&mut XorShift, &mut Vec<u8>) -> Option<Expect>;

/// Longer than any answer that is worth waiting for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A client that fails so often in a row gives up.
const FAULTS_IN_A_ROW_MAX: u32 = 10;

/// Drives a server.
pub(super) struct Driver {
    runtime: Runtime,
    stop: Stop,
}

impl Driver {
    /// # Errors
    /// No thread or no file for it.
    pub(super) fn new(stop: &Stop) -> Result<Driver, BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| BenchError::failed("no clients can be started", error))?;
        Ok(Driver { runtime, stop: stop.clone() })
    }

    /// Runs work of clients to its end, unless the order to stop comes.
    ///
    /// # Errors
    /// [`BenchError::Stopped`].
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, BenchError> {
        self.stop.check()?;
        let local = LocalSet::new();
        self.runtime.block_on(local.run_until(async {
            select! {
                done = work => Ok(done),
                () = self.stop.ordered() => Err(BenchError::Stopped),
            }
        }))
    }

    /// Asks for some time. `cpu` tells the CPU time of the server so far.
    ///
    /// # Errors
    /// [`BenchError::Stopped`]. Wrong answers are counted as faults.
    pub(super) fn run(
        &self,
        target: &BenchTarget,
        clients: usize,
        time: Duration,
        question: &Rc<Question>,
        cpu: &dyn Fn() -> Option<Duration>,
    ) -> Result<Sampled, BenchError> {
        let asked = Rc::new(RefCell::new(LoadResult::default()));
        let before = cpu();
        let start = Instant::now();
        let work = async {
            let tasks: Vec<_> = (0..clients)
                .map(|number| {
                    let client = LoadClient {
                        connection: BenchConnection::new(target),
                        random: XorShift::new(number as u64 ^ (start.elapsed().as_nanos() as u64) << 20),
                        until: start + time,
                        question: question.clone(),
                        asked: asked.clone(),
                    };
                    tokio::task::spawn_local(client.run())
                })
                .collect();
            for task in tasks {
                // A client does not panic: what goes wrong is a fault.
                drop(task.await);
            }
        };
        let ended = self.wait(in_time(time + PATIENCE, work))?;
        let wall = start.elapsed();
        let cpu = cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        let mut asked = asked.take();
        if !ended {
            asked.faults.add(|| format!("no answer within {} s", PATIENCE.as_secs()));
        }
        Ok(Sampled::new(asked.times, wall, cpu).with(asked.body_bytes, asked.faults))
    }
}

/// Whether work ended in time.
async fn in_time(time: Duration, work: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(time, work).await.is_ok()
}

/// What all clients did.
#[derive(Default)]
struct LoadResult {
    times: Vec<u64>,
    body_bytes: u64,
    faults: Faults,
}

struct LoadClient {
    connection: BenchConnection,
    random: XorShift,
    until: Instant,
    question: Rc<Question>,
    asked: Rc<RefCell<LoadResult>>,
}

impl LoadClient {
    async fn run(mut self) {
        let mut request = Vec::with_capacity(8 * 1024);
        let mut in_a_row = 0;
        loop {
            request.clear();
            let Some(expect) = (self.question)(&mut self.random, &mut request) else { return };
            let sent = Instant::now();
            let answer = self.connection.send(&request).await;
            let took = sent.elapsed();
            let checked = match &answer {
                Ok(answer) => expect.check(answer),
                Err(error) => Err(error.to_string()),
            };
            let mut asked = self.asked.borrow_mut();
            match checked {
                Ok(()) => {
                    in_a_row = 0;
                    asked.times.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                    asked.body_bytes += answer.map_or(0, |answer| answer.body.len() as u64);
                }
                Err(words) => {
                    in_a_row += 1;
                    asked.faults.add(|| format!("{}: {words}", first_line(&request)));
                }
            }
            drop(asked);
            if in_a_row == FAULTS_IN_A_ROW_MAX || Instant::now() >= self.until {
                return;
            }
        }
    }
}

/// Method and address of a request.
pub(super) fn first_line(request: &[u8]) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim_end_matches(" HTTP/1.1").to_owned()
}

/// Numbers that spread well enough (xorshift).
pub(super) struct XorShift(u64);

impl XorShift {
    pub(super) fn new(seed: u64) -> XorShift {
        XorShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which is at least 1.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * bound as u128) >> 64) as usize
    }

    /// In another order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    /// One item; none of an empty list.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_reach_everything_below_their_bound() {
        let mut random = XorShift::new(0);
        let mut seen = [0; 5];
        for _ in 0..5_000 {
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(random.pick::<u8>(&[]), None);
        assert_eq!(random.pick(&[7]), Some(&7));
        let mut items: Vec<usize> = (0..100).collect();
        random.shuffle(&mut items);
        assert!(items[..50].iter().any(|item| *item >= 50));
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_server_that_is_not_there_is_told_and_an_order_to_stop_heard() {
        let stop = Stop::default();
        let driver = Driver::new(&stop).unwrap();
        // Nobody listens on the port of discarded text.
        let target = BenchTarget::parse("http://127.0.0.1:9/fhir").unwrap();
        let question: Rc<Question> = Rc::new(|_, out| {
            out.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
            Some(Expect::OK)
        });
        let sampled = driver.run(&target, 2, PATIENCE, &question, &|| None).unwrap();
        assert_eq!((sampled.count(), sampled.faults.count), (0, 2 * u64::from(FAULTS_IN_A_ROW_MAX)));
        assert!(sampled.faults.first.unwrap().starts_with("GET /: "));
        stop.order();
        assert_eq!(driver.run(&target, 2, PATIENCE, &question, &|| None).unwrap_err(), BenchError::Stopped);
    }
}
