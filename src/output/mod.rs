//! Standard error, written by a thread of its own behind a bounded queue, so that no caller ever waits for its reader (Contract 10.1).
//!
//! The queue is one buffer of bytes: a line costs no allocation, and the bound on bytes is a bound on memory. The thread takes the whole
//! buffer and writes it while the next one fills. A line that does not fit is dropped; lines that cannot be written are dropped too. Both
//! are counted. Decision 167.

pub mod limits;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::output::limits::{LOG_GATHER_MS, LOG_QUEUE_BYTES_MAX};
use base::log::event;

/// Bytes of the queue that the lines of requests may fill. The rest is for warnings and errors, which a flood of requests must not push out.
const LOG_QUEUE_ROUTINE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Bytes of one line of the log; a longer one is dropped and counted. journald cuts lines at 48 KiB by default, Docker at 16 KiB.
pub const LOG_QUEUE_LINE_BYTES_MAX: usize = 64 * 1024;

/// Milliseconds before the log is written again after a write failed. Otherwise each line of a full disk would cost a system call.
const LOG_RETRY_MS: u64 = 100;

/// Seconds between two lines that report dropped lines.
const LOG_DROPS_REPORT_S: u64 = 10;

/// A file that lines are written to without waiting. Clones share the queue and its thread, which runs until the process ends.
#[derive(Clone)]
pub struct QueuedOutput(Arc<OutputShared>);

/// How much of the queue a line may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// One of many, such as the line of each request: a part of the queue stays free of these.
    Routine,
    /// What somebody has to know.
    Urgent,
}

/// Lines that were not written, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedLines {
    /// The queue was full.
    pub queue: u64,
    /// The system refused to write them.
    pub write: u64,
    /// They were longer than [`LOG_QUEUE_LINE_BYTES_MAX`].
    pub long: u64,
}

/// How the output is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputState {
    pub dropped: DroppedLines,
    /// How long ago the last line was dropped; none if no line was.
    pub last_drop: Option<Duration>,
    /// Why the last write failed; none if no write did.
    pub last_problem: Option<String>,
    /// How long the write under way has taken; none if the thread does not write.
    pub writes_for: Option<Duration>,
    /// What is not written yet, with what the thread has in its hands.
    pub queued_bytes: usize,
    /// The file is `/dev/null`: everything is thrown away. What starts the process may close the file too; then the runtime of Rust
    /// opens that one in its place.
    pub is_discarded: bool,
}

struct OutputShared {
    is_discarded: bool,
    queue: Mutex<Queue>,
    /// The thread has work.
    filled: Condvar,
    /// The thread has none.
    emptied: Condvar,
}

/// The lines that wake the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WakeCondition {
    /// None: it is at work.
    #[default]
    None,
    /// Urgent ones: it has just written, and lets routine lines gather.
    Urgent,
    /// All: it has waited for a while, and nothing came.
    All,
}

#[derive(Default)]
struct Queue {
    lines: Vec<u8>,
    /// What the thread took and has not written yet.
    taken_bytes: usize,
    /// The lines for which a caller spends a system call to wake the thread.
    wakes: WakeCondition,
    writes_since: Option<Instant>,
    dropped: DroppedLines,
    /// Dropped lines that no line of the log reports yet.
    unreported: u64,
    last_drop: Option<Instant>,
    last_problem: Option<String>,
}

impl QueuedOutput {
    /// Starts the thread that writes to a file. The file itself stays open for others.
    ///
    /// # Errors
    /// The file cannot be opened a second time, or no thread can be started.
    pub fn start(file: impl AsFd) -> io::Result<QueuedOutput> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        let is_discarded = is_null(&file);
        let shared =
            OutputShared { is_discarded, queue: Mutex::default(), filled: Condvar::new(), emptied: Condvar::new() };
        let output = QueuedOutput(Arc::new(shared));
        let of_thread = output.clone();
        thread::Builder::new().name("log-output".to_owned()).spawn(move || of_thread.0.run(file))?;
        Ok(output)
    }

    /// Queues one or several whole lines; they are written together or dropped together. Never waits for the file.
    pub fn push(&self, lines: &[u8], importance: Importance) {
        let room = match importance {
            Importance::Routine => LOG_QUEUE_ROUTINE_BYTES_MAX,
            Importance::Urgent => LOG_QUEUE_BYTES_MAX,
        };
        let mut queue = self.0.lock();
        if lines.len() > LOG_QUEUE_LINE_BYTES_MAX {
            let dropped = count_lines(lines);
            queue.drop_lines(dropped, |dropped| &mut dropped.long);
        } else if queue.lines.len() + lines.len() > room {
            let dropped = count_lines(lines);
            queue.drop_lines(dropped, |dropped| &mut dropped.queue);
        } else {
            queue.lines.extend_from_slice(lines);
            let is_woken = queue.wakes.take_for(importance);
            drop(queue);
            if is_woken {
                self.0.filled.notify_one();
            }
        }
    }

    /// Waits until everything queued was written or dropped, but no longer than `time`. True if that was reached.
    pub fn flush(&self, time: Duration) -> bool {
        let is_busy = |queue: &mut Queue| !queue.lines.is_empty() || queue.writes_since.is_some();
        let waited = self.0.emptied.wait_timeout_while(self.0.lock(), time, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// How the output is now.
    pub fn state(&self) -> OutputState {
        let queue = self.0.lock();
        OutputState {
            dropped: queue.dropped,
            last_drop: queue.last_drop.map(|at| at.elapsed()),
            last_problem: queue.last_problem.clone(),
            writes_for: queue.writes_since.map(|since| since.elapsed()),
            queued_bytes: queue.lines.len() + queue.taken_bytes,
            is_discarded: self.0.is_discarded,
        }
    }
}

impl DroppedLines {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.queue + self.write + self.long
    }
}

impl WakeCondition {
    /// Whether a line wakes the thread. It is woken once.
    fn take_for(&mut self, importance: Importance) -> bool {
        let is_woken =
            *self == WakeCondition::All || (*self == WakeCondition::Urgent && importance == Importance::Urgent);
        if is_woken {
            *self = WakeCondition::None;
        }
        is_woken
    }
}

impl Queue {
    fn drop_lines(&mut self, lines: u64, reason: impl FnOnce(&mut DroppedLines) -> &mut u64) {
        *reason(&mut self.dropped) += lines;
        self.unreported += lines;
        self.last_drop = Some(Instant::now());
    }
}

impl OutputShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs while the lock is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: takes what is queued and writes it, for as long as the process lives.
    fn run(&self, mut file: File) {
        let mut lines = Vec::new();
        let mut is_inside_line = false;
        // Dropped lines are reported once the file takes lines again, and not more often than every few seconds.
        let mut report_at = Some(Instant::now());
        loop {
            let dropped = self.take(&mut lines, report_at);
            if let Some(lines) = dropped {
                event!(LOG_LINES_DROPPED, lines);
                report_at = Some(Instant::now() + Duration::from_secs(LOG_DROPS_REPORT_S));
            }
            if is_inside_line && !lines.is_empty() {
                is_inside_line = write(&mut file, b"\n").is_err();
            }
            let written = write(&mut file, &lines);
            let mut queue = self.lock();
            (queue.writes_since, queue.taken_bytes) = (None, 0);
            match written {
                Ok(()) => {
                    is_inside_line = false;
                    report_at = report_at.or(Some(Instant::now()));
                }
                Err((bytes, ref problem)) => {
                    let (before, lost) = lines.split_at(bytes);
                    is_inside_line = before.last().map_or(is_inside_line, |last| *last != b'\n');
                    queue.drop_lines(count_lines(lost), |dropped| &mut dropped.write);
                    queue.last_problem = Some(problem.to_string());
                    report_at = None;
                }
            }
            if queue.lines.is_empty() {
                self.emptied.notify_all();
            }
            drop(queue);
            // One long queue does not make the buffer large for ever.
            lines.clear();
            lines.shrink_to(LOG_QUEUE_LINE_BYTES_MAX);
            if written.is_err() {
                thread::sleep(Duration::from_millis(LOG_RETRY_MS));
            }
            self.gather();
        }
    }

    /// Lets lines gather for a moment, unless an urgent one comes: a wake-up and a write for each would cost as much as a small request.
    fn gather(&self) {
        let mut queue = self.lock();
        queue.wakes = WakeCondition::Urgent;
        let time = Duration::from_millis(LOG_GATHER_MS);
        drop(self.filled.wait_timeout_while(queue, time, |queue| queue.wakes == WakeCondition::Urgent));
    }

    /// Waits for lines, or for the moment at which dropped lines can be reported. Fills `lines` with what is queued and returns how many
    /// dropped lines to report; none without `report_at`.
    fn take(&self, lines: &mut Vec<u8>, report_at: Option<Instant>) -> Option<u64> {
        let mut queue = self.lock();
        loop {
            let report_in = report_at.filter(|_| queue.unreported > 0).map(|at| at.duration_since(Instant::now()));
            let is_due = report_in.is_some_and(|time| time.is_zero());
            if is_due || !queue.lines.is_empty() {
                mem::swap(lines, &mut queue.lines);
                (queue.wakes, queue.taken_bytes) = (WakeCondition::None, lines.len());
                queue.writes_since = Some(Instant::now());
                return is_due.then(|| mem::take(&mut queue.unreported));
            }
            queue.wakes = WakeCondition::All;
            queue = match report_in {
                Some(time) => self.filled.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner).0,
                None => self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Writes a text once, from a thread of its own: whoever does not read it holds up nobody.
pub fn write_aside(file: impl AsFd, text: String) -> io::Result<()> {
    let mut file = File::from(file.as_fd().try_clone_to_owned()?);
    thread::Builder::new().name("output".to_owned()).spawn(move || drop(write(&mut file, text.as_bytes()))).map(drop)
}

fn is_null(file: &File) -> bool {
    let devices =
        [file.metadata(), std::fs::metadata("/dev/null")].map(|of| of.ok().map(|of| (of.file_type(), of.rdev())));
    devices[0].is_some() && devices[0] == devices[1]
}

/// Writes all bytes, also where the file does not block (another process that shares it may have asked for that). A pipe gets each piece
/// whole or not at all, so that an end of the process while nobody reads cuts no line.
///
/// # Errors
/// How many bytes were written, and why no more.
fn write(file: &mut File, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut at = 0;
    while at < bytes.len() {
        match file.write(piece(&bytes[at..])) {
            Ok(0) => return Err((at, ErrorKind::WriteZero.into())),
            Ok(count) => at += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => drop(wait_until_writable(file, None)),
            Err(error) => return Err((at, error)),
        }
    }
    Ok(())
}

/// As many whole lines as a pipe takes at once, or as much of one that is longer.
fn piece(bytes: &[u8]) -> &[u8] {
    let most = &bytes[..bytes.len().min(libc::PIPE_BUF)];
    let end = most.iter().rposition(|byte| *byte == b'\n').map_or(most.len(), |at| at + 1);
    &most[..end]
}

/// Waits until a file takes bytes or failed; without a time, for as long as that takes. It allocates nothing and takes no lock.
pub fn wait_until_writable(file: &impl AsRawFd, time: Option<Duration>) -> bool {
    let mut waits = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let ms = time.map_or(-1, |time| i32::try_from(time.as_millis()).unwrap_or(i32::MAX));
    // SAFETY: the call reads and writes one value of our own, which lives through it.
    let ready = unsafe { libc::poll(&raw mut waits, 1, ms) };
    ready == 1 && waits.revents & libc::POLLOUT != 0
}

/// Every line ends with its only line feed.
fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}
