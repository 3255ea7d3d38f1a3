//! The one line that each request writes.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tracing::Level;
use tracing::field::display;

/// The target of these lines.
pub const ANSWERS: &str = "hcert::answers";

/// A request and how it was answered. None of it is personal: what a caller chose was checked before.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnsweredRequest<'a> {
    /// A method of HTTP, or `other`.
    pub method: &'static str,
    /// The route with its placeholders, such as `/Composition/{id}`.
    pub route: &'static str,
    /// The audit trail's name of what was asked for.
    pub action: Option<&'static str>,
    /// HTTP status of the answer.
    pub status: u16,
    /// From the head of the request to its finished answer; sending is left out.
    pub took: Duration,
    /// Who sent it; behind a trusted proxy, who sent it there.
    pub client: Option<IpAddr>,
    /// `X-Request-Id`, where it is not the trace id.
    pub request_id: Option<&'a str>,
    /// `x-road-id` of the request, or the one made for it; missing where there is none, or the log may not show it.
    pub x_road_id: Option<&'a str>,
    /// Why the request was refused; missing where it succeeded.
    pub refused: Option<&'a RefusalReason>,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalReason {
    /// The code that decides the status.
    pub code: String,
    /// `OperationOutcome.issue[0].id`, as the caller received it.
    pub id: Option<String>,
    /// What only the log may show; no personal data.
    pub cause: Option<String>,
}

/// Of successful answers one in so many has a line.
struct LogSampling {
    every: AtomicU32,
    seen: AtomicU32,
}

static SAMPLE: LogSampling = LogSampling::new();

impl LogSampling {
    const fn new() -> LogSampling {
        LogSampling { every: AtomicU32::new(1), seen: AtomicU32::new(0) }
    }

    /// Whether the next answer has a line. A failure always has one.
    fn takes(&self, status: u16) -> bool {
        let every = self.every.load(Ordering::Relaxed);
        status >= 400 || every == 1 || self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
    }

    fn set(&self, every: u32) {
        self.every.store(every.max(1), Ordering::Relaxed);
    }
}

/// How many successful answers share one line: 1 or more.
pub fn sample() -> u32 {
    SAMPLE.every.load(Ordering::Relaxed)
}

/// From now on of `every` successful answers one has a line. 0 is taken for 1.
pub fn set_sample(every: u32) {
    SAMPLE.set(every);
}

/// Writes the line of a request: a failure of the service's own, which is a 500 with a cause, as error, any other 5xx as warning, all
/// else as information.
/// Failures always have one. The cause of a 4xx is the caller's doing, and stands there at level debug only; that of a 401 is the rule
/// that a token broke, which whoever looks for break-ins has to know.
pub fn answered(about: &AnsweredRequest) {
    let AnsweredRequest { method, route, status, .. } = *about;
    if !SAMPLE.takes(status) {
        return;
    }
    let us = about.took.as_micros();
    let (ip, x_road_id) = (about.client.map(display), about.x_road_id);
    let (action, request) = (about.action, about.request_id);
    let code = about.refused.map(|refused| refused.code.as_str());
    let issue = about.refused.and_then(|refused| refused.id.as_deref());
    let shows_cause = status >= 500 || status == 401 || tracing::enabled!(target: ANSWERS, Level::DEBUG);
    let cause = about.refused.and_then(|refused| refused.cause.as_deref()).filter(|_| shows_cause);
    // The level of a line is part of its call site.
    macro_rules! line {
        ($level:expr) => {
            tracing::event!(
                target: ANSWERS,
                $level,
                { status, us, ip, code, issue, x_road_id, action, request, cause },
                "{method} {route}"
            )
        };
    }
    match status {
        500 if cause.is_some() => line!(Level::ERROR),
        500.. => line!(Level::WARN),
        _ => line!(Level::INFO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_always_have_a_line_and_successes_as_many_as_are_wanted() {
        let sample = LogSampling::new();
        let count = |status| (0..40).filter(|_| sample.takes(status)).count();
        assert_eq!((count(200), count(304), count(404)), (40, 40, 40));
        sample.set(10);
        assert_eq!((count(200), count(304), count(404), count(500)), (4, 4, 40, 40));
        sample.set(0);
        assert_eq!(count(200), 40);
    }
}
