//! A check of a running server, told while it goes.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::CommandConnection;
use super::line::send;
use crate::audit::{AuditAction, AuditTrail, ChainHead};
use crate::bulk::{self, KnownHead};
use certificate::Names;
use engine::{Engine, VerifyProgress, VerifyReport};

/// What the server sends, one a line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum VerifyMessage {
    At {
        part: String,
        at: u64,
        of: u64,
    },
    /// Nothing follows.
    Done(Box<VerifyReport>),
    Failed {
        problem: String,
    },
}

/// How often it is told how far the check has come.
const TELL: Duration = Duration::from_millis(200);

/// Checks and tells.
///
/// # Errors
/// The command is gone: the check ends with it.
pub(super) fn answer(
    out: &mut impl Write,
    (engine, trail): (&Engine, &AuditTrail),
    heads: &[String],
    names: &Names,
) -> io::Result<()> {
    let (mut told, mut part, mut is_heard) = (Instant::now(), "", true);
    let mut report = |at: &VerifyProgress| {
        if is_heard && (part != at.part || told.elapsed() >= TELL) {
            (told, part) = (Instant::now(), at.part);
            is_heard = send(out, &VerifyMessage::At { part: at.part.to_owned(), at: at.at, of: at.of }).is_ok();
        }
    };
    let events = |known: &[ChainHead]| trail.verify(known, &|change| bulk::hash_of_change(engine, change)).map(Some);
    let heads = heads.iter().map(|head| KnownHead::parse(head)).collect::<Result<Vec<_>, _>>();
    let done = heads.and_then(|heads| {
        bulk::write_down(trail, AuditAction::StoreVerify, "hcert verify", None, None)?;
        bulk::verify(engine, events, (false, &heads), names, &mut report)
    });
    let end = done
        .map_or_else(|problem| VerifyMessage::Failed { problem }, |verified| VerifyMessage::Done(Box::new(verified)));
    send(out, &end)
}

impl CommandConnection {
    /// What a check of the server found; `report` is told part, place and end.
    ///
    /// # Errors
    /// It could not be checked, or the server broke off, in words.
    pub fn receive_verified(&self, report: &mut dyn FnMut(&str, u64, u64)) -> Result<VerifyReport, String> {
        let lines = self.lines().map_err(|error| error.to_string())?;
        for line in lines.lines() {
            let line = line.map_err(|error| format!("the server's answer broke off: {error}"))?;
            let told = serde_json::from_str(&line);
            match told.map_err(|error| format!("the server's answer is not understood: {error}"))? {
                VerifyMessage::At { part, at, of } => report(&part, at, of),
                VerifyMessage::Done(verified) => return Ok(*verified),
                VerifyMessage::Failed { problem } => return Err(problem),
            }
        }
        Err("the server closed the connection before it was done".to_owned())
    }
}
