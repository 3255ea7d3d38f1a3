//! Lines that repeat are written some times, then counted and told in one line, so that no flood of refusals fills a disk.
//!
//! What repeats is a failure: a warning, an error, or a refused request. Two lines are the same when call site and code are. A line that
//! counts others comes when their window ends, at the latest when the service stops. Decision 174.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt::{self, Debug, Write};
use std::hash::BuildHasher;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::cli::limits::{LOG_REPEAT_WINDOW_S, LOG_REPEATS_MAX};
use base::log::ANSWERS;
use base::log::events::REPEATED;
use base::number::counted;

/// Call sites and codes whose lines are counted apart. Codes of other systems may be any; what is more is counted together.
const LOG_REPEAT_KEYS_MAX: usize = 1_000;

const WINDOW: Duration = Duration::from_secs(LOG_REPEAT_WINDOW_S);

/// Which lines are the same, as a number.
type LineKey = u64;

/// Lines of codes that came too late to have a number of their own.
const OTHERS: LineKey = 0;

/// Decides which lines are written, and counts the others.
#[derive(Clone, Default)]
pub(super) struct Repeats(Arc<RepeatsShared>);

#[derive(Default)]
struct RepeatsShared {
    windows: Mutex<HashMap<LineKey, Window>>,
    /// Something was left out.
    left_out: Condvar,
    hasher: RandomState,
}

/// The lines of one key since a moment.
struct Window {
    begun: Instant,
    written: u32,
    left_out: u64,
    of: RepeatSummary,
}

/// What is said of lines that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RepeatSummary {
    level: Option<Level>,
    /// The message of one of them.
    message: String,
    code: Option<String>,
}

/// Lines that were left out, and for how long.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    of: RepeatSummary,
    count: u64,
    seconds: u64,
}

impl Repeats {
    /// Starts the thread that tells what was left out when its window ends.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn start() -> io::Result<Repeats> {
        let repeats = Repeats::default();
        let of_thread = repeats.clone();
        thread::Builder::new().name("hcert-repeats".to_owned()).spawn(move || of_thread.run())?;
        Ok(repeats)
    }

    fn run(&self) {
        loop {
            let mut windows = self.windows();
            while windows.values().all(|window| window.left_out == 0) {
                windows = self.0.left_out.wait(windows).unwrap_or_else(PoisonError::into_inner);
            }
            drop(windows);
            thread::sleep(WINDOW / 10);
            self.due(Instant::now()).into_iter().for_each(Summary::tell);
        }
    }

    /// Tells all that was left out, whether its window has ended or not.
    pub(super) fn finish(&self) {
        self.due(Instant::now() + WINDOW).into_iter().for_each(Summary::tell);
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<LineKey, Window>> {
        self.0.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a line is written. `of` is called for the first that is not.
    fn admits(&self, key: LineKey, now: Instant, of: impl FnOnce() -> RepeatSummary) -> bool {
        let mut windows = self.windows();
        let is_full = windows.len() >= LOG_REPEAT_KEYS_MAX && !windows.contains_key(&key);
        if is_full {
            windows.retain(|_, window| window.left_out > 0 || now < window.begun + WINDOW);
        }
        let key = if is_full && windows.len() >= LOG_REPEAT_KEYS_MAX { OTHERS } else { key };
        let new = || Window { begun: now, written: 0, left_out: 0, of: RepeatSummary::default() };
        let window = windows.entry(key).or_insert_with(new);
        // What was left out is told before the next window begins.
        if window.left_out == 0 && now >= window.begun + WINDOW {
            *window = new();
        }
        let is_written = window.left_out == 0 && window.written < LOG_REPEATS_MAX;
        match is_written {
            true => window.written += 1,
            false => {
                window.left_out += 1;
                if window.left_out == 1 {
                    window.of = of();
                    self.0.left_out.notify_one();
                }
            }
        }
        is_written
    }

    /// What was left out in windows that have ended; their lines are written again from here on.
    fn due(&self, now: Instant) -> Vec<Summary> {
        let mut summaries = Vec::new();
        self.windows().retain(|_, window| {
            let has_ended = now >= window.begun + WINDOW;
            if has_ended && window.left_out > 0 {
                let seconds =
                    (now - window.begun).as_secs().min(Instant::now().duration_since(window.begun).as_secs()).max(1);
                summaries.push(Summary { of: std::mem::take(&mut window.of), count: window.left_out, seconds });
            }
            !has_ended
        });
        summaries
    }
}

impl Summary {
    fn tell(self) {
        let Summary { of: RepeatSummary { level, message, code }, count, seconds } = self;
        let code = code.as_deref();
        let times = counted(count, "time", "times");
        // The level of a line is part of its call site.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    name: REPEATED.action,
                    $level,
                    { code, count },
                    "{message} … repeated {times} in {seconds} s"
                )
            };
        }
        match level {
            Some(Level::ERROR) => line!(Level::ERROR),
            Some(Level::WARN) => line!(Level::WARN),
            _ => line!(Level::INFO),
        }
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let about = event.metadata();
        let is_answer = about.target() == ANSWERS;
        if (*about.level() > Level::WARN && !is_answer) || about.name() == REPEATED.action {
            return true;
        }
        let mut seen = Seen::default();
        event.record(&mut seen);
        if is_answer && seen.status < 400 {
            return true;
        }
        let key = self.0.hasher.hash_one((about.callsite(), &seen.code, seen.status)).max(OTHERS + 1);
        self.admits(key, Instant::now(), || {
            let mut message = MessageHash::default();
            event.record(&mut message);
            RepeatSummary { level: Some(*about.level()), message: message.0, code: seen.code.owned() }
        })
    }
}

/// The values of a line that decide whether it is the same as another.
#[derive(Default)]
struct Seen {
    code: ShortCode,
    status: u64,
}

/// Bytes of an error code that tell it from others.
const CODE_BYTES_MAX: usize = 64;

/// An error code, which is short; the begin of one that is not. It is on the path of every refusal, so it takes no memory of its own.
#[derive(Default, Hash)]
struct ShortCode {
    text: smallvec::SmallVec<[u8; CODE_BYTES_MAX]>,
}

impl ShortCode {
    fn owned(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| String::from_utf8_lossy(&self.text).into_owned())
    }
}

impl Seen {
    fn take_code(&mut self, code: &str) {
        self.code.text = smallvec::SmallVec::from_slice(&code.as_bytes()[..code.floor_char_boundary(CODE_BYTES_MAX)]);
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "code" {
            self.take_code(value);
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "status" {
            self.status = value;
        }
    }
}

#[derive(Default)]
struct MessageHash(String);

impl Visit for MessageHash {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to memory does not fail.
            let _: fmt::Result = write!(self.0, "{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> RepeatSummary {
        RepeatSummary { level: Some(Level::INFO), message: "GET /".to_owned(), code: Some(code.to_owned()) }
    }

    /// What was seen: a full audit disk wrote 259315 lines, 154 MB, in six seconds.
    #[test]
    fn a_flood_writes_few_lines_and_every_line_is_counted() {
        let (repeats, start) = (Repeats::default(), Instant::now());
        let (mut written, mut summaries) = (0, Vec::new());
        // 50000 in 25 seconds.
        for number in 0..50_000_u32 {
            let now = start + number * Duration::from_micros(500);
            written += u64::from(repeats.admits(1, now, || of("HCERT-151")));
            if number % 2_000 == 0 {
                summaries.extend(repeats.due(now));
            }
        }
        assert!(written <= 3 * u64::from(LOG_REPEATS_MAX) && summaries.len() == 2, "{written}, {summaries:?}");
        summaries.extend(repeats.due(start + Duration::from_secs(25) + WINDOW));
        assert!(summaries.iter().all(|summary| summary.of == of("HCERT-151")), "{summaries:?}");
        assert_eq!(written + summaries.iter().map(|summary| summary.count).sum::<u64>(), 50_000);
        assert!(repeats.due(start + 10 * WINDOW).is_empty(), "nothing is told twice");
        assert!(repeats.admits(1, start + 10 * WINDOW, || of("HCERT-151")), "after the flood lines are written again");
    }

    #[test]
    fn what_comes_seldom_is_written_and_codes_do_not_hide_each_other() {
        let (repeats, start) = (Repeats::default(), Instant::now());
        for second in 0..1_000 {
            assert!(repeats.admits(1, start + Duration::from_secs(second), || of("HCERT-104")));
        }
        for _ in 0..=LOG_REPEATS_MAX {
            repeats.admits(2, start, || of("HCERT-140"));
        }
        assert!(!repeats.admits(2, start, || of("HCERT-140")) && repeats.admits(3, start, || of("HCERT-141")));
    }

    #[test]
    fn a_code_is_whole_up_to_64_bytes() {
        let code_of = |code: &str| {
            let mut seen = Seen::default();
            seen.take_code(code);
            seen.code.owned()
        };
        let long = "a".repeat(CODE_BYTES_MAX);
        assert_eq!(code_of(&long).as_deref(), Some(long.as_str()));
        assert_eq!(code_of(&format!("{long}b")), Some(long));
    }

    #[test]
    fn codes_without_end_take_bounded_memory_and_are_counted() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        let written = (1..=20_000).filter(|key| repeats.admits(*key, now, || of("any"))).count();
        assert!(repeats.windows().len() <= LOG_REPEAT_KEYS_MAX + 1);
        let left_out: u64 = repeats.due(now + WINDOW).iter().map(|summary| summary.count).sum();
        assert_eq!(written as u64 + left_out, 20_000);
        assert!(repeats.windows().is_empty(), "what has ended is forgotten");
    }
}
