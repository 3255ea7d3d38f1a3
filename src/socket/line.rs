//! What is told to a command: a line of JSON each.

use std::io::{self, Write};

use serde::Serialize;

pub(super) fn send(out: &mut impl Write, told: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, told)?;
    out.write_all(b"\n")?;
    out.flush()
}
