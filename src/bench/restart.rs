//! Starting: clean, and after a kill under write load, with a look at whether anything acknowledged was lost.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::child::{self, Launcher, ProcessMemory, ServerProcess};
use super::client::BenchConnection;
use super::figures::median;
use super::load::{Driver, Expect, XorShift};
use super::question::Questions;
use super::report::{Restart, ms};
use super::scenario::RequestKind;
use super::stop::{BenchError, Stop};

/// Starts of which the middle one counts.
const STARTS: usize = 5;

/// Clients that write when the server is killed.
pub(super) const WRITERS: usize = 16;

/// From the start of the process to its first answers.
struct StartFigures {
    read: Duration,
    search: Duration,
}

/// Starts the server and asks until it answers.
fn start(
    launcher: &Launcher,
    data: &Path,
    driver: &Driver,
    questions: &Questions,
) -> Result<(ServerProcess, StartFigures), BenchError> {
    let begun = Instant::now();
    let server = launcher.serve(data)?;
    let questions = questions.moved(&server.target);
    let read = first_answer(driver, &questions, RequestKind::Read, begun)?;
    let search = first_answer(driver, &questions, RequestKind::Subject, begun)?;
    Ok((server, StartFigures { read, search }))
}

fn first_answer(
    driver: &Driver,
    questions: &Questions,
    kind: RequestKind,
    begun: Instant,
) -> Result<Duration, BenchError> {
    /// A search waits for the index at most so long.
    const PATIENCE: Duration = Duration::from_secs(600);
    driver.wait(async {
        let mut connection = BenchConnection::new(&questions.target);
        let mut random = XorShift::new(5);
        let mut request = Vec::new();
        loop {
            request.clear();
            if questions.ask(kind, &mut random, &mut request).is_none() {
                return Ok(begun.elapsed());
            }
            match connection.send(&request).await {
                Ok(answer) if answer.status == 200 => return Ok(begun.elapsed()),
                Ok(answer) if answer.status != 503 => return Err(BenchError::Failed(answer.words())),
                _ if begun.elapsed() > PATIENCE => {
                    return Err(BenchError::Failed("the server does not answer after its start".into()));
                }
                _ => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    })?
}

/// Starts a server several times, cleanly stopped in between; it runs afterwards, and its memory was read when it was idle.
///
/// # Errors
/// It does not start, does not stop, or the order to stop comes.
pub(super) fn clean(
    launcher: &Launcher,
    data: &Path,
    driver: &Driver,
    questions: &Questions,
    several: bool,
) -> Result<(ServerProcess, Restart), BenchError> {
    let (mut reads, mut searches) = (Vec::new(), Vec::new());
    for _ in 1..if several { STARTS } else { 1 } {
        let (server, started) = start(launcher, data, driver, questions)?;
        server.process.stop()?;
        reads.push(ms(started.read));
        searches.push(ms(started.search));
    }
    let (server, started) = start(launcher, data, driver, questions)?;
    reads.push(ms(started.read));
    searches.push(ms(started.search));
    if several {
        launcher.stop.sleep(Duration::from_millis(500))?;
    }
    let restart = Restart {
        clean_read_ms: median(reads).unwrap_or_default(),
        clean_search_ms: median(searches).unwrap_or_default(),
        memory_idle: server.process.memory().unwrap_or_default(),
        ..Restart::default()
    };
    Ok((server, restart))
}

/// Kills the server while clients create certificates, starts it again, and reads everything that was acknowledged.
///
/// # Errors
/// It does not start again, or the order to stop comes.
pub(super) fn killed(
    launcher: &Launcher,
    data: &Path,
    driver: &Driver,
    questions: &Questions,
    mut server: ServerProcess,
    restart: &mut Restart,
    load: Duration,
) -> Result<ServerProcess, BenchError> {
    let acknowledged = Rc::new(RefCell::new(Vec::new()));
    let refused = Rc::new(Cell::new(0_u64));
    let under = questions.moved(&server.target);
    driver.wait(async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (questions, acknowledged, refused) = (under.clone(), acknowledged.clone(), refused.clone());
                tokio::task::spawn_local(async move {
                    let mut connection = BenchConnection::new(&questions.target);
                    let mut request = Vec::new();
                    loop {
                        request.clear();
                        if questions.create(None, &mut request).is_none() {
                            return;
                        }
                        // The kill breaks the connection; what was under way is neither promised nor refused.
                        let Ok(answer) = connection.send(&request).await else { return };
                        match answer.created_id().filter(|_| answer.status == 201) {
                            Some(id) => acknowledged.borrow_mut().push(id.to_owned()),
                            None => refused.set(refused.get() + 1),
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(load).await;
        server.process.kill();
        for writer in writers {
            drop(writer.await);
        }
    })?;
    if refused.get() > 0 {
        return Err(BenchError::Failed(format!("{} creates were refused before the kill", refused.get())));
    }
    let (server, started) = start(launcher, data, driver, questions)?;
    (restart.killed_read_ms, restart.killed_search_ms) = (ms(started.read), ms(started.search));
    let acknowledged = acknowledged.take();
    restart.acknowledged = acknowledged.len() as u64;
    let questions = questions.moved(&server.target);
    restart.lost = driver.wait(lost(&questions, &acknowledged))?;
    Ok(server)
}

/// How many of the certificates are not there.
async fn lost(questions: &Questions, ids: &[String]) -> u64 {
    let mut connection = BenchConnection::new(&questions.target);
    let mut request = Vec::new();
    let mut lost = 0;
    for id in ids {
        request.clear();
        questions.target.get(&mut request, format_args!("/Composition/{id}"));
        let found = match connection.send(&request).await {
            Ok(answer) => Expect::OK.check(&answer).is_ok(),
            Err(_) => false,
        };
        lost += u64::from(!found);
    }
    lost
}

/// Looks at the memory of a process again and again, on a thread of its own.
pub(super) struct MemoryWatch {
    anonymous: Arc<AtomicU64>,
    resident: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MemoryWatch {
    pub(super) fn over(process: u32, stop: &Stop) -> MemoryWatch {
        let (anonymous, resident, over) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let (a, r, o, stop) = (anonymous.clone(), resident.clone(), over.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            while !o.load(Ordering::Acquire) && stop.sleep(Duration::from_millis(100)).is_ok() {
                let Some(memory) = child::memory(process) else { return };
                a.fetch_max(memory.anonymous, Ordering::AcqRel);
                r.fetch_max(memory.resident, Ordering::AcqRel);
            }
        });
        MemoryWatch { anonymous, resident, over, thread: Some(thread) }
    }

    /// The most that was seen.
    pub(super) fn peak(&self) -> ProcessMemory {
        ProcessMemory {
            anonymous: self.anonymous.load(Ordering::Acquire),
            resident: self.resident.load(Ordering::Acquire),
        }
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // A thread that only reads numbers does not panic.
        drop(self.thread.take().map(JoinHandle::join));
    }
}
