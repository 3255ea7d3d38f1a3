//! This process as the kernel sees it: memory, files, time of the processor.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Readings;
use super::names::{
    PROCESS_CPU, PROCESS_MAX_FDS, PROCESS_OPEN_FDS, PROCESS_RESIDENT_MEMORY, PROCESS_START_TIME, PROCESS_THREADS,
};

/// When the service began, by both clocks: one that people read, one that never jumps.
#[derive(Clone, Copy, Debug)]
pub struct StartTimes {
    at: SystemTime,
    instant: Instant,
}

impl StartTimes {
    /// Reads both clocks.
    pub fn now() -> StartTimes {
        StartTimes { at: SystemTime::now(), instant: Instant::now() }
    }

    /// How long ago that was.
    pub fn ago(&self) -> Duration {
        self.instant.elapsed()
    }

    /// Seconds since 1970 UTC.
    pub fn seconds(&self) -> f64 {
        self.at.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
    }
}

/// What the kernel says of this process. What it does not say is missing: `/proc` belongs to Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessFigures {
    /// Memory that is really there, with mapped pages of files.
    pub resident_bytes: Option<u64>,
    /// Number of open files and sockets.
    pub open_files: Option<u64>,
    /// Number of open files and sockets that the system allows (the soft limit `RLIMIT_NOFILE`).
    pub open_files_max: Option<u64>,
    /// Number of threads of the process.
    pub threads: Option<u64>,
    /// Of the processor, in the program and in the kernel for it.
    pub cpu_seconds: Option<f64>,
}

impl ProcessFigures {
    /// Asks the kernel. Reads files of `/proc`, which never wait for a disk.
    pub fn read() -> ProcessFigures {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        ProcessFigures {
            resident_bytes: field("VmRSS").map(|kibibytes| kibibytes * 1024),
            // The folder that is being read is open too.
            open_files: fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1) as u64),
            open_files_max: open_files_max(),
            threads: field("Threads"),
            cpu_seconds: cpu_seconds(),
        }
    }

    /// Under the names that every process of a Prometheus has.
    pub fn tell(&self, started: StartTimes, readings: &mut Readings) {
        readings.gauge(&PROCESS_START_TIME, started.seconds());
        let gauges = [
            (PROCESS_RESIDENT_MEMORY, self.resident_bytes),
            (PROCESS_OPEN_FDS, self.open_files),
            (PROCESS_MAX_FDS, self.open_files_max),
            (PROCESS_THREADS, self.threads),
        ];
        for (metric, value) in gauges {
            if let Some(value) = value {
                readings.gauge(&metric, value as f64);
            }
        }
        if let Some(seconds) = self.cpu_seconds {
            readings.counter(&PROCESS_CPU, seconds);
        }
    }
}

fn open_files_max() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours and outlives the call.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (asked == 0).then_some(limit.rlim_cur)
}

fn cpu_seconds() -> Option<f64> {
    // SAFETY: all bytes zero are a valid value of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours and outlives the call.
    let asked = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (asked == 0).then(|| seconds(usage.ru_utime) + seconds(usage.ru_stime))
}
