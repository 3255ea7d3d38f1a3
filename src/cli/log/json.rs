//! A line as one JSON object, for whatever collects logs.

use std::fmt::{self, Debug, Write};
use std::thread;

use tracing::Event;
use tracing::field::{Field, Visit};

use super::answer;
use super::escape::InJson;
use super::fields::{self, ECS_VERSION, OWN};
use base::log::ANSWERS;
use base::trace::{Hex, Trace};

/// Bytes that stand before the level's name and behind it.
const MOMENT_AND_LEVEL_BYTES: usize = "{\"@timestamp\":\"2026-11-22T08:00:00.000Z\",\"log.level\":\"\"".len();

/// Writes lines as JSON.
pub(super) struct Json {
    /// What every line but those of answers says of this process.
    process: String,
}

impl Json {
    pub(super) fn new() -> Json {
        let (version, id) = (env!("CARGO_PKG_VERSION"), std::process::id());
        let service = format!("\"service.name\":\"hcert\",\"service.version\":\"{version}\"");
        Json { process: format!("\"ecs.version\":\"{ECS_VERSION}\",{service},\"process.pid\":{id}") }
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
        write!(out, "{{\"@timestamp\":\"{}\",\"log.level\":\"{level}\"", super::now())?;
        if about.target() == ANSWERS {
            return answer::write(out, MOMENT_AND_LEVEL_BYTES + level.len(), event);
        }
        out.write_str(",\"message\":\"")?;
        let mut message = Message { out: &mut *out, written: Ok(()) };
        event.record(&mut message);
        message.written?;
        // What fails is an error; what else is said tells of no attempt that could succeed.
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
        let mut values = Values::new(&mut *out, |_| true);
        event.record(&mut values);
        values.finish()?;
        out.write_str("}\n")
    }
}

fn string(out: &mut dyn Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    InJson(&mut *out).write_str(text)?;
    out.write_char('"')
}

/// Writes what the line says, and nothing else of it.
struct Message<'w> {
    out: &'w mut dyn Write,
    written: fmt::Result,
}

impl Visit for Message<'_> {
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

/// Writes all else, or some of it.
pub(super) struct Values<'w> {
    out: &'w mut dyn Write,
    is_wanted: fn(&str) -> bool,
    /// Which names of the schema were written: an object has none of them twice.
    named: [bool; fields::NAMES.len()],
    written: fmt::Result,
}

impl<'w> Values<'w> {
    /// Writes the values whose own names are wanted.
    pub(super) fn new(out: &'w mut dyn Write, is_wanted: fn(&str) -> bool) -> Values<'w> {
        Values { out, is_wanted, named: [false; fields::NAMES.len()], written: Ok(()) }
    }

    /// Whether all of them could be written.
    pub(super) fn finish(self) -> fmt::Result {
        self.written
    }

    fn value(&mut self, field: &Field, write: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        let name = field.name();
        if name != "message" && (self.is_wanted)(name) && self.written.is_ok() {
            self.written = self.key(field.name()).and_then(|()| write(&mut *self.out));
        }
    }

    fn key(&mut self, own: &str) -> fmt::Result {
        self.out.write_str(",\"")?;
        let known = fields::name(own).and_then(|name| {
            let at = fields::NAMES.iter().position(|(_, other, _)| *other == name)?;
            (!std::mem::replace(&mut self.named[at], true)).then_some(name)
        });
        match known {
            Some(name) => self.out.write_str(name)?,
            None => {
                self.out.write_str(OWN)?;
                InJson(&mut *self.out).write_str(own)?;
            }
        }
        self.out.write_str("\":")
    }
}

impl Visit for Values<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.value(field, |out| {
            out.write_char('"')?;
            write!(InJson(&mut *out), "{value:?}")?;
            out.write_char('"')
        });
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.value(field, |out| string(out, value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_u128(field, value.into());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        let value = value.saturating_mul(fields::factor(field.name()));
        self.value(field, |out| write!(out, "{value}"));
        if field.name() == "status" && self.written.is_ok() {
            let outcome = if value < 400 { "success" } else { "failure" };
            self.written = write!(self.out, ",\"event.outcome\":\"{outcome}\"");
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.value(field, |out| write!(out, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.value(field, |out| write!(out, "{value}"));
    }
}
