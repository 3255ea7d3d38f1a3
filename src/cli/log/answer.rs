//! The line of an answered request as JSON: at most [`LOG_LINE_BYTES_MAX`] bytes, and behind it the cause of a failure.
//!
//! What an operator searches for is written whole: the moment, status, code and ids. Of what remains the id of the X-Road message takes
//! as much as it needs, then the message, and both are cut to fit; what does not fit behind them is left out. Decision 173.

use std::fmt::{self, Debug, Write};

use tracing::Event;
use tracing::field::{Field, Visit};

use super::escape::{InJson, json_bytes};
use super::fields;
use super::values::JsonValues;
use crate::cli::limits::{LOG_CAUSE_BYTES_MAX, LOG_LINE_BYTES_MAX};
use base::hex::Hex;
use base::trace::Trace;

/// The end of every line.
const END: &str = "}\n";
/// What stands where a value was cut.
const CUT: &str = "…";
/// Bytes that are kept for the message where an id would take them: its name, the method and the begin of the route.
const MESSAGE_BYTES: usize = 24;
/// Bytes of a code of our own with its name, which is never cut.
const CODE_BYTES: usize = ",\"error.code\":\"HCERT-100\"".len();
/// An id that has less room than this is left out.
const ID_BYTES_MIN: usize = 8;

/// Writes the line, of which the moment and the level are written already.
pub(super) fn write(out: &mut dyn Write, written: usize, event: &Event) -> fmt::Result {
    let mut line = BoundedLine { out, left: LOG_LINE_BYTES_MAX.saturating_sub(written + END.len()), written: Ok(()) };
    let mut values =
        JsonValues::new(&mut line, |name| !matches!(name, "code" | "x_road_id" | "action" | "request" | "cause"));
    event.record(&mut values);
    values.finish()?;
    if let Some(trace) = Trace::current() {
        write!(line, ",\"trace.id\":\"{}\"", Hex(&trace.id))?;
    }
    event.record(&mut CodeAndXRoadId(&mut line));
    event.record(&mut LineTail(&mut line));
    line.written?;
    line.out.write_str(END)
}

/// A line and the bytes that it may still take.
struct BoundedLine<'w> {
    out: &'w mut dyn Write,
    left: usize,
    written: fmt::Result,
}

impl Write for BoundedLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.saturating_sub(text.len());
        self.out.write_str(text)
    }
}

impl BoundedLine<'_> {
    /// Writes a value in the room that is there, cut where it is longer; nothing where it would have less than `bytes_min`.
    fn text(&mut self, own: &str, value: fmt::Arguments, room: usize, bytes_min: usize) {
        let name = fields::name(own).unwrap_or(own);
        let room = room.saturating_sub(",\"\":\"\"".len() + name.len());
        let mut length = ValueLength(0);
        if self.written.is_err() || length.write_fmt(value).is_err() || room < length.0.min(bytes_min) {
            return;
        }
        let max = if length.0 <= room { room } else { room.saturating_sub(CUT.len()) };
        self.written = (|| {
            write!(self, ",\"{name}\":\"")?;
            Within { line: self, left: max, is_full: false }.write_fmt(value)?;
            self.write_str(if length.0 <= room { "\"" } else { concat!("…", "\"") })
        })();
    }
}

/// How many bytes a value takes.
struct ValueLength(usize);

impl Write for ValueLength {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().map(json_bytes).sum::<usize>();
        Ok(())
    }
}

/// Writes as many characters of a value as fit.
struct Within<'l, 'w> {
    line: &'l mut BoundedLine<'w>,
    left: usize,
    is_full: bool,
}

impl Write for Within<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut end = 0;
        for character in text.chars() {
            self.is_full |= json_bytes(character) > self.left;
            if self.is_full {
                break;
            }
            self.left -= json_bytes(character);
            end += character.len_utf8();
        }
        InJson(self.line).write_str(&text[..end])
    }
}

/// Codes of other systems may be of any length.
struct CodeAndXRoadId<'l, 'w>(&'l mut BoundedLine<'w>);

impl Visit for CodeAndXRoadId<'_, '_> {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        let room = self.0.left.saturating_sub(MESSAGE_BYTES);
        match field.name() {
            "code" => self.0.text("code", format_args!("{value}"), room.max(CODE_BYTES), 0),
            "x_road_id" => self.0.text("x_road_id", format_args!("{value}"), room, ID_BYTES_MIN),
            _ => {}
        }
    }
}

/// Message, action and request id, in this order; behind them the cause, which has room of its own.
struct LineTail<'l, 'w>(&'l mut BoundedLine<'w>);

impl Visit for LineTail<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.text("message", format_args!("{value:?}"), self.0.left, 0);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let value = format_args!("{value}");
        match field.name() {
            // A part of a name would be another name.
            "action" => self.0.text("action", value, self.0.left, usize::MAX),
            "request" => self.0.text("request", value, self.0.left, ID_BYTES_MIN),
            "cause" => self.0.text("cause", value, LOG_CAUSE_BYTES_MAX, 0),
            _ => {}
        }
    }
}
