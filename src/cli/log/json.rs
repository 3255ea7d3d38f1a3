//! A line as one JSON object, for whatever collects logs.

use std::fmt::{self, Debug, Write};
use std::thread;

use tracing::Event;
use tracing::field::{Field, Visit};

use super::escape::InJson;
use super::fields::{self, ECS_VERSION, OWN};
use crate::http::ANSWERS;
use crate::trace::{Hex, Trace};

/// Writes lines as JSON.
pub struct Json {
    /// What every line says of this process.
    process: String,
}

impl Json {
    pub fn new() -> Json {
        let (version, id) = (env!("CARGO_PKG_VERSION"), std::process::id());
        let service = format!("\"service.name\":\"hcert\",\"service.version\":\"{version}\"");
        Json { process: format!("\"ecs.version\":\"{ECS_VERSION}\",{service},\"process.pid\":{id}") }
    }

    /// Writes one line with its end.
    pub fn write(&self, out: &mut dyn Write, event: &Event) -> fmt::Result {
        let about = event.metadata();
        let level = match *about.level() {
            tracing::Level::ERROR => "error",
            tracing::Level::WARN => "warn",
            tracing::Level::INFO => "info",
            tracing::Level::DEBUG => "debug",
            tracing::Level::TRACE => "trace",
        };
        write!(out, "{{\"@timestamp\":\"{}\",\"log.level\":\"{level}\",\"message\":\"", super::now())?;
        let mut message = Message { out: &mut *out, written: Ok(()) };
        event.record(&mut message);
        message.written?;
        let dataset = if about.target() == ANSWERS { "hcert.answers" } else { "hcert.service" };
        write!(out, "\",{},\"event.dataset\":\"{dataset}\",\"log.logger\":", self.process)?;
        string(out, about.target())?;
        if let Some(thread) = thread::current().name() {
            out.write_str(",\"process.thread.name\":")?;
            string(out, thread)?;
        }
        if let Some(trace) = Trace::current() {
            write!(out, ",\"trace.id\":\"{}\",\"span.id\":\"{}\"", Hex(&trace.id), Hex(&trace.span))?;
        }
        let mut values = Values { out: &mut *out, named: [false; fields::NAMES.len()], written: Ok(()) };
        event.record(&mut values);
        values.written?;
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

/// Writes all else.
struct Values<'w> {
    out: &'w mut dyn Write,
    /// Which names of the schema were written: an object has none of them twice.
    named: [bool; fields::NAMES.len()],
    written: fmt::Result,
}

impl Values<'_> {
    fn value(&mut self, field: &Field, write: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        if field.name() != "message" && self.written.is_ok() {
            self.written = self.key(field.name()).and_then(|()| write(&mut *self.out));
        }
    }

    fn key(&mut self, own: &str) -> fmt::Result {
        self.out.write_str(",\"")?;
        let known = fields::name(own).and_then(|name| {
            let at = fields::NAMES.iter().position(|(_, other)| *other == name)?;
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
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.value(field, |out| write!(out, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.value(field, |out| write!(out, "{value}"));
    }
}
