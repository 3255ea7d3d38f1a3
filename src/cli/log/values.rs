//! The values of an event as members of a JSON object.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};

use super::escape::InJson;
use super::fields::{self, OWN};

/// Writes all else, or some of it.
pub(super) struct JsonValues<'w> {
    out: &'w mut dyn Write,
    is_wanted: fn(&str) -> bool,
    /// Which names of the schema were written: an object has none of them twice.
    named: [bool; fields::NAMES.len()],
    written: fmt::Result,
}

impl<'w> JsonValues<'w> {
    /// Writes the values whose own names are wanted.
    pub(super) fn new(out: &'w mut dyn Write, is_wanted: fn(&str) -> bool) -> JsonValues<'w> {
        JsonValues { out, is_wanted, named: [false; fields::NAMES.len()], written: Ok(()) }
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

impl Visit for JsonValues<'_> {
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

pub(super) fn string(out: &mut dyn Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    InJson(&mut *out).write_str(text)?;
    out.write_char('"')
}
