//! A line as one JSON object, for whatever collects logs.

use std::fmt::{self, Debug, Write};
use std::thread;

use tracing::Event;
use tracing::field::{Field, Visit};

use super::answer;
use super::escape::InJson;
use super::fields::ECS_VERSION;
use super::time::now;
use super::values::{JsonValues, string};
use base::hex::Hex;
use base::log::ANSWERS;
use base::trace::Trace;

/// Bytes that stand before the level's name and behind it.
const MOMENT_AND_LEVEL_BYTES: usize = "{\"@timestamp\":\"2026-11-22T08:00:00.000Z\",\"log.level\":\"\"".len();

/// Writes lines as JSON.
pub(super) struct JsonLines {
    /// What every line but those of answers says of this process.
    process: String,
}

impl JsonLines {
    pub(super) fn new() -> JsonLines {
        let (version, id) = (env!("CARGO_PKG_VERSION"), std::process::id());
        let service = format!("\"service.name\":\"hcert\",\"service.version\":\"{version}\"");
        JsonLines { process: format!("\"ecs.version\":\"{ECS_VERSION}\",{service},\"process.pid\":{id}") }
    }

    /// Writes one line with its end.
    pub(super) fn write(&self, out: &mut dyn Write, event: &Event) -> fmt::Result {
        let about = event.metadata();
        let level = match *about.level() {
            tracing::Level::ERROR => "error",
            tracing::Level::WARN => "warn",
            tracing::Level::INFO => "info",
            tracing::Level::DEBUG => "debug",
            tracing::Level::TRACE => "trace",
        };
        write!(out, "{{\"@timestamp\":\"{}\",\"log.level\":\"{level}\"", now())?;
        if about.target() == ANSWERS {
            return answer::write(out, MOMENT_AND_LEVEL_BYTES + level.len(), event);
        }
        out.write_str(",\"message\":\"")?;
        let mut message = MessageVisitor { out: &mut *out, written: Ok(()) };
        event.record(&mut message);
        message.written?;
        // What fails is an error; what else is said reports no attempt that could succeed.
        let outcome = if level == "error" { "failure" } else { "unknown" };
        write!(out, "\",{},\"event.outcome\":\"{outcome}\",\"log.logger\":", self.process)?;
        string(out, about.target())?;
        // Events outside of the table are named after their place.
        if !about.name().starts_with("event ") {
            write!(out, ",\"event.action\":\"{}\"", about.name())?;
        }
        if let Some(thread) = thread::current().name() {
            out.write_str(",\"process.thread.name\":")?;
            string(out, thread)?;
        }
        if let Some(trace) = Trace::current() {
            write!(out, ",\"trace.id\":\"{}\",\"span.id\":\"{}\"", Hex(&trace.id), Hex(&trace.span))?;
        }
        let mut values = JsonValues::new(&mut *out, |_| true);
        event.record(&mut values);
        values.finish()?;
        out.write_str("}\n")
    }
}

/// Writes what the line says, and nothing else of it.
struct MessageVisitor<'w> {
    out: &'w mut dyn Write,
    written: fmt::Result,
}

impl Visit for MessageVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" && self.written.is_ok() {
            self.written = write!(InJson(&mut *self.out), "{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" && self.written.is_ok() {
            self.written = InJson(&mut *self.out).write_str(value);
        }
    }
}
