//! A line as people read it on a terminal.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use super::escape::InText;
use super::time::now;
use base::hex::Hex;
use base::trace::Trace;

/// Writes lines in words.
pub(super) struct TextLines {
    pub has_colours: bool,
}

impl TextLines {
    /// Writes one line with its end: moment, level, what is said, its values, the trace.
    pub(super) fn write(&self, out: &mut dyn Write, event: &Event) -> fmt::Result {
        let about = event.metadata();
        let (level, colour) = match *about.level() {
            Level::ERROR => ("ERROR", "31"),
            Level::WARN => (" WARN", "33"),
            Level::INFO => (" INFO", "32"),
            Level::DEBUG => ("DEBUG", "34"),
            Level::TRACE => ("TRACE", "35"),
        };
        write!(out, "{} ", now())?;
        match self.has_colours {
            true => write!(out, "\x1b[{colour}m{level}\x1b[0m ")?,
            false => write!(out, "{level} ")?,
        }
        InText(&mut *out).write_str(about.target())?;
        out.write_str(": ")?;
        for is_message in [true, false] {
            let mut values = TextValues { out: &mut *out, is_message, written: Ok(()) };
            event.record(&mut values);
            values.written?;
        }
        if let Some(trace) = Trace::current() {
            write!(out, " trace={}", Hex(&trace.id))?;
        }
        out.write_char('\n')
    }
}

/// Writes what is said, or the values behind it.
struct TextValues<'w> {
    out: &'w mut dyn Write,
    is_message: bool,
    written: fmt::Result,
}

impl TextValues<'_> {
    fn value(&mut self, field: &Field, text: &str) -> fmt::Result {
        if self.is_message {
            return InText(&mut *self.out).write_str(text);
        }
        self.out.write_char(' ')?;
        InText(&mut *self.out).write_str(field.name())?;
        self.out.write_char('=')?;
        // What holds blanks is quoted, so that one sees where it ends.
        let is_plain = !text.is_empty() && !text.contains([' ', '"', '=']);
        match is_plain {
            true => InText(&mut *self.out).write_str(text),
            false => {
                self.out.write_char('"')?;
                InText(&mut *self.out).write_str(&text.replace('\\', "\\\\").replace('"', "\\\""))?;
                self.out.write_char('"')
            }
        }
    }
}

impl Visit for TextValues<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if (field.name() == "message") == self.is_message && self.written.is_ok() {
            self.written = self.value(field, &format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if (field.name() == "message") == self.is_message && self.written.is_ok() {
            self.written = self.value(field, value);
        }
    }
}
