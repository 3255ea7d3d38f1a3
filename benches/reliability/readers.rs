//! Clients that read at a steady pace while something else goes on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Client;

/// Clients that read at once.
const READERS: u64 = 4;

/// Pause of a client between two reads: with it the machine has time left, as it has on most days.
const PAUSE: Duration = Duration::from_millis(1);

/// Times of reads, rising.
pub(crate) struct Latency(Vec<Duration>);

impl Latency {
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_default()
    }

    /// p50 and p99; beside another measurement, how many times its p99.
    pub(crate) fn line(&self, quiet: Option<&Latency>) -> String {
        let us = |percent| self.percentile(percent).as_micros();
        let mut line = format!("p50 {:>5} us, p99 {:>6} us of {} reads", us(50), us(99), self.0.len());
        if let Some(quiet) = quiet {
            let times = self.percentile(99).as_secs_f64() / quiet.percentile(99).as_secs_f64();
            line += &format!(", {times:.2} x alone");
        }
        line
    }
}

/// Reads certificates by id, 1 to `count`, until `work` is done.
pub(crate) fn read_while<T>(address: SocketAddr, count: u64, work: impl FnOnce() -> T) -> (Latency, T) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stop = &stop;
        let reader = |number| scope.spawn(move || read(address, count, number, stop));
        let readers: Vec<_> = (0..READERS).map(reader).collect();
        let done = work();
        stop.store(true, Ordering::Release);
        let times = readers.into_iter().flat_map(|reader| reader.join().expect("a reader does not panic"));
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        (Latency(times), done)
    })
}

fn read(address: SocketAddr, count: u64, number: u64, stop: &AtomicBool) -> Vec<Duration> {
    let mut client = Client::new(address);
    let mut state = number + 1;
    let mut times = Vec::new();
    while !stop.load(Ordering::Acquire) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = 1 + (state >> 33) % count;
        let begun = Instant::now();
        let answer = client.send("GET", &format!("/Composition/{id}"), &[], b"").expect("the server runs");
        // One that was deleted in its history is an answer too.
        assert!(matches!(answer.status, 200 | 410), "{}", answer.text());
        times.push(begun.elapsed());
        thread::sleep(PAUSE);
    }
    times
}
