//! Into the store: versions keep ids, numbers and times. A bad line is told with its number and does not stop the rest.
//!
//! One thread reads lines, some make versions of them, the writer commits: each a few pieces ahead of the next, in the order of
//! the lines.

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::chunk::{Chunk, Chunks, too_long};
use super::entry::{self, ImportLine};
use super::{BulkEvent, BulkProgress};
use crate::config::limits::BODY_BYTES_MAX;
use crate::interaction::{Rulebook, certificate_of_import, new_certificate};
use certificate::State;
use certificate::transition::Trigger;
use engine::{Actor, Engine, ImportBatch, Imported, ImportedVersion, RefusedChange, VersionContent, Write};
use fhir::json;
use fhir::outcome::{Issue, Language, Outcome};

/// Threads that read and compress the lines of an import while the writer commits those before. More would take the processor
/// from a server that answers requests beside it.
const IMPORT_THREADS: usize = 2;

/// How to import.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// The first bad line ends the run.
    pub stop_at_bad: bool,
    /// `server.body_bytes_max`: longer lines than it leads to are not taken.
    pub body_bytes_max: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        ImportOptions { stop_at_bad: false, body_bytes_max: BODY_BYTES_MAX }
    }
}

/// Pieces that are prepared while the one before them is stored.
const AHEAD: usize = 2 * IMPORT_THREADS;

/// Batches handed to the writer and not answered yet: while one is committed the next one waits there.
const COMMITS: usize = 2;

/// Reads lines and stores what they hold, in batches. Running it again is how it is resumed: what is there already is passed over.
///
/// # Errors
/// What ended the run early, in words. Everything stored before stays.
pub fn import(
    engine: &Engine,
    rulebook: &Rulebook,
    lines: &mut dyn BufRead,
    options: ImportOptions,
    report: &mut dyn FnMut(BulkEvent),
) -> Result<BulkProgress, String> {
    let (hand_out, waiting) = sync_channel::<ImportWork>(AHEAD);
    let waiting = Mutex::new(waiting);
    let preparer = Preparer { engine, rulebook, options };
    thread::scope(|scope| {
        let preparing = |_| thread::Builder::new().spawn_scoped(scope, || preparer.run(&waiting)).map(drop);
        // One of them does, if more slowly.
        let begun = (0..IMPORT_THREADS).map(preparing).reduce(Result::or).unwrap_or(Ok(()));
        begun.map_err(|error| format!("no thread can be started: {error}"))?;
        let (ahead, commits) = (VecDeque::new(), VecDeque::new());
        let mut run = ImportRun { engine, options, report, progress: BulkProgress::default(), ahead, commits };
        let outcome = run.all(&mut Chunks::new(lines, options.body_bytes_max), &hand_out);
        // The preparers end when nothing more can come.
        drop(hand_out);
        outcome.map(|()| run.progress)
    })
}

/// A piece to be prepared, and where it is waited for.
type ImportWork = (Chunk, SyncSender<Vec<ImportStep>>);

/// What lines ask for, in their order.
enum ImportStep {
    /// Versions of these lines.
    Store(Vec<u64>, ImportBatch),
    Create(u64, Box<VersionContent>),
    Bad(u64, String),
}

/// Makes steps of lines; several threads share it.
struct Preparer<'r> {
    engine: &'r Engine,
    rulebook: &'r Rulebook,
    options: ImportOptions,
}

impl Preparer<'_> {
    fn run(&self, waiting: &Mutex<Receiver<ImportWork>>) {
        loop {
            let next = waiting.lock().expect("no holder of this lock can panic").recv();
            let Ok((chunk, done)) = next else { return };
            // A run that was given up waits for nothing.
            let _ = done.send(self.steps(&chunk));
        }
    }

    fn steps(&self, chunk: &Chunk) -> Vec<ImportStep> {
        let mut steps = Vec::new();
        let (mut numbers, mut versions) = (Vec::new(), Vec::new());
        for (number, line) in chunk.lines() {
            let too_long = || too_long(self.options.body_bytes_max);
            let step = match line.ok_or_else(too_long).and_then(|line| self.line(line)) {
                Ok(ReadyPiece::Version(version)) => {
                    numbers.push(number);
                    versions.push(version);
                    continue;
                }
                Ok(ReadyPiece::New(content)) => ImportStep::Create(number, content),
                Err(problem) => ImportStep::Bad(number, problem),
            };
            // What is created takes the next id, so everything before it must have taken its own; and a run that stops at a bad line
            // has stored all lines before.
            if !versions.is_empty() && (self.options.stop_at_bad || matches!(step, ImportStep::Create(..))) {
                let versions = self.engine.prepare_import(std::mem::take(&mut versions));
                steps.push(ImportStep::Store(std::mem::take(&mut numbers), versions));
            }
            steps.push(step);
        }
        if !versions.is_empty() {
            steps.push(ImportStep::Store(numbers, self.engine.prepare_import(versions)));
        }
        steps
    }

    fn line(&self, line: &[u8]) -> Result<ReadyPiece, String> {
        let (json, source) = json::parse_entry(line).map_err(words)?;
        let source = source.and_then(|source| match json.get("resource") {
            Some(_) => source.value_in(&json, "resource"),
            None => Some(source),
        });
        match entry::read(json)? {
            ImportLine::New(certificate) => {
                let certificate = new_certificate(certificate, source, &self.rulebook.now()).map_err(words)?;
                Ok(ReadyPiece::New(Box::new(VersionContent {
                    trigger: Trigger::Create,
                    brings: certificate.brings,
                    tail: certificate.tail,
                    row: certificate.row,
                    who: Actor::default(),
                    // Whom an import is about was settled where it comes from.
                    subject: None,
                })))
            }
            ImportLine::Version { id, version, stamp, resource } => {
                let content = match resource {
                    None => None,
                    Some(mut resource) => {
                        Some(certificate_of_import(&mut resource, source, self.rulebook.names()).map_err(words)?)
                    }
                };
                let state = content.as_ref().map_or(State::Deleted, |certificate| certificate.row.class.state);
                let content = content.map(|certificate| (certificate.tail, certificate.row));
                Ok(ReadyPiece::Version(ImportedVersion { id, version, stamp, state, content }))
            }
        }
    }
}

enum ReadyPiece {
    Version(ImportedVersion),
    New(Box<VersionContent>),
}

type Commit = (Vec<u64>, oneshot::Receiver<Result<Vec<Imported>, RefusedChange>>);

struct ImportRun<'r> {
    engine: &'r Engine,
    options: ImportOptions,
    report: &'r mut dyn FnMut(BulkEvent),
    progress: BulkProgress,
    /// Pieces that are being prepared, in the order of their lines.
    ahead: VecDeque<Receiver<Vec<ImportStep>>>,
    /// Batches that are being stored, with the numbers of their lines.
    commits: VecDeque<Commit>,
}

impl ImportRun<'_> {
    fn all(&mut self, chunks: &mut Chunks, hand_out: &SyncSender<ImportWork>) -> Result<(), String> {
        let mut read = chunks.next();
        while let Ok(Some(chunk)) = read {
            let (done, prepared) = sync_channel(1);
            hand_out.send((chunk, done)).map_err(|_| "no thread prepares lines any more")?;
            self.ahead.push_back(prepared);
            self.progress.lines = chunks.lines;
            self.progress.bytes = chunks.bytes;
            if self.ahead.len() > AHEAD {
                self.take_prepared()?;
            }
            read = chunks.next();
        }
        while !self.ahead.is_empty() {
            self.take_prepared()?;
        }
        self.settle_down_to(0)?;
        read.map(drop).map_err(|error| format!("reading failed: {error}"))
    }

    /// Hands the next prepared piece to the writer.
    fn take_prepared(&mut self) -> Result<(), String> {
        let Some(prepared) = self.ahead.pop_front() else { return Ok(()) };
        let steps = prepared.recv().map_err(|_| "a thread that prepares lines ended before its time")?;
        for step in steps {
            match step {
                ImportStep::Store(numbers, versions) => {
                    self.commits.push_back((numbers, self.engine.append(versions)));
                    self.settle_down_to(COMMITS)?;
                }
                ImportStep::Create(number, content) => {
                    self.settle_down_to(0)?;
                    match self.create(&content) {
                        Ok(()) => self.progress.stored += 1,
                        Err(problem) => self.bad(number, problem)?,
                    }
                }
                ImportStep::Bad(number, problem) => {
                    if self.options.stop_at_bad {
                        self.settle_down_to(0)?;
                    }
                    self.bad(number, problem)?;
                }
            }
        }
        (self.report)(BulkEvent::Progress(self.progress));
        Ok(())
    }

    /// Waits until no more than some batches are on their way.
    fn settle_down_to(&mut self, most: usize) -> Result<(), String> {
        while self.commits.len() > most {
            let Some((numbers, answer)) = self.commits.pop_front() else { return Ok(()) };
            let imported = match answer.blocking_recv() {
                Ok(Ok(imported)) => imported,
                Ok(Err(refused)) => return Err(refused_words(refused)),
                Err(_) => return Err("the engine was closed".into()),
            };
            for (number, imported) in numbers.into_iter().zip(imported) {
                match imported {
                    Imported::Stored => self.progress.stored += 1,
                    Imported::Identical => self.progress.identical += 1,
                    Imported::Bad(problem) => self.bad(number, problem)?,
                }
            }
        }
        Ok(())
    }

    fn create(&self, content: &VersionContent) -> Result<(), String> {
        loop {
            let write = Write::Create { content: content.clone(), if_none_exist: None, rows: None };
            match self.engine.append(write).blocking_recv() {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(RefusedChange::Busy)) => thread::sleep(Duration::from_millis(10)),
                Ok(Err(refused)) => return Err(refused_words(refused)),
                Err(_) => return Err("the engine was closed".into()),
            }
        }
    }

    fn bad(&mut self, line: u64, problem: String) -> Result<(), String> {
        self.progress.bad += 1;
        (self.report)(BulkEvent::BadLine { line, problem });
        match self.options.stop_at_bad {
            true => Err(format!("stopped at line {line}, which was not taken; the lines before it are stored")),
            false => Ok(()),
        }
    }
}

/// Every issue, one behind the other.
pub(super) fn words(outcome: Outcome) -> String {
    let text = |issue: &Issue| match issue.expression().first() {
        Some(expression) => format!("{} ({expression})", issue.text(Language::English)),
        None => issue.text(Language::English),
    };
    outcome.issues().iter().map(text).collect::<Vec<_>>().join("; ")
}

pub(super) fn refused_words(refused: RefusedChange) -> String {
    match refused {
        RefusedChange::Rules(outcome) => words(outcome),
        refused => refused.to_string(),
    }
}
