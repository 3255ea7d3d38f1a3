//! Clients that ask for some time, and what it took.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{Client, Process};

/// One slice of a measurement.
pub struct Measured {
    /// Of each request, rising.
    times: Vec<Duration>,
    wall: Duration,
    /// CPU time of the process that answered, all its threads.
    cpu: Duration,
}

impl Measured {
    pub fn new(mut times: Vec<Duration>, wall: Duration, cpu: Duration) -> Measured {
        assert!(!times.is_empty(), "a slice is long enough for a request");
        times.sort_unstable();
        Measured { times, wall, cpu }
    }

    /// Requests in a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.wall.as_secs_f64()
    }

    pub fn p50_us(&self) -> f64 {
        self.part_us(50)
    }

    pub fn p99_us(&self) -> f64 {
        self.part_us(99)
    }

    /// CPU time of a request.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.times.len() as f64
    }

    fn part_us(&self, percent: usize) -> f64 {
        self.times[(self.times.len() - 1) * percent / 100].as_secs_f64() * 1e6
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Several clients, each with a connection that is kept, each asking again as soon as it has its answer.
pub fn run(
    server: &Process,
    clients: usize,
    time: Duration,
    request: &(impl Fn(&mut Client, &mut Random) + Sync),
) -> Measured {
    let cpu = cpu(server.id());
    let start = Instant::now();
    let times = thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                scope.spawn(move || {
                    let mut client = server.client();
                    let mut random = Random(start.elapsed().as_nanos() as u64 ^ (number as u64) << 48);
                    let mut times = Vec::new();
                    while start.elapsed() < time {
                        let sent = Instant::now();
                        request(&mut client, &mut random);
                        times.push(sent.elapsed());
                    }
                    times
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("every request was answered as it must be"))
            .collect()
    });
    Measured::new(times, start.elapsed(), self::cpu(server.id()) - cpu)
}

/// One client that tells itself what counts, for some time and at most so many times.
pub fn alone(time: Duration, most: usize, server: &Process, mut request: impl FnMut() -> Duration) -> Measured {
    let cpu = cpu(server.id());
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed() < time && times.len() < most {
        times.push(request());
    }
    Measured::new(times, start.elapsed(), self::cpu(server.id()) - cpu)
}

/// User and system time of a process so far, from `/proc/<id>/stat`, which counts in hundredths of a second.
pub fn cpu(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("the process runs, on Linux");
    // The second field is a name in parentheses that may hold anything.
    let (_, fields) = stat.rsplit_once(") ").expect("stat has the name of the process");
    let field = |at: usize| fields.split(' ').nth(at).and_then(|field| field.parse::<u64>().ok()).expect("a number");
    Duration::from_millis(10 * (field(11) + field(12)))
}

/// Numbers that spread well enough (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}
