//! Reading a trail, file by file: memory holds one file at a time, however long the trail is.

use std::io;
use std::ops::RangeInclusive;

use super::header::HEADER_BYTES;
use super::trail::{TrailFile, TrailFiles};
use super::{AuditEvent, Number, encoding};
use journal::record::{FilePiece, RecordWalk};

/// In which order events are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOrder {
    OldestFirst,
    NewestFirst,
}

/// The events of a trail. What is damaged is passed over; [`verify`](super::verify) reports it.
pub struct Events {
    trail: TrailFiles,
    order: EventOrder,
    /// Milliseconds since 1970 UTC.
    times: RangeInclusive<i64>,
    /// Of the trail, still to be read.
    parts: Vec<TrailFile>,
    content: Vec<u8>,
    /// Numbers and places of the payloads in it that are still to be told, the next one last.
    waiting: Vec<(Number, std::ops::Range<usize>)>,
}

impl TrailFiles {
    /// The events of a span of time. Sealed files outside it are not opened.
    pub fn events(self, order: EventOrder, times: RangeInclusive<i64>) -> Events {
        let touches = |part: &TrailFile| {
            part.seal.is_none_or(|seal| seal.earliest <= *times.end() && seal.latest >= *times.start())
        };
        let mut parts: Vec<TrailFile> = self.parts.iter().filter(|part| touches(part)).cloned().collect();
        if order == EventOrder::OldestFirst {
            parts.reverse();
        }
        Events { trail: self, order, times, parts, content: Vec::new(), waiting: Vec::new() }
    }
}

impl Events {
    /// Goes to the next file; false after the last.
    fn load(&mut self) -> io::Result<bool> {
        let Some(part) = self.parts.pop() else { return Ok(false) };
        // One that retention removed meanwhile has nothing to tell.
        self.content = part.content(&self.trail.folder)?.unwrap_or_default();
        let before = part.header.map(|header| header.before);
        // A file that is being written, or was when the server was killed, ends in zeros.
        let records = RecordWalk::open_ended(&self.content, HEADER_BYTES, before).filter_map(|piece| match piece {
            FilePiece::Record(record) => {
                let start = record.end() - 32 - record.payload.len();
                Some((record.number, start..start + record.payload.len()))
            }
            FilePiece::Damaged(_) => None,
        });
        self.waiting = records.collect();
        if self.order == EventOrder::OldestFirst {
            self.waiting.reverse();
        }
        Ok(true)
    }
}

impl Iterator for Events {
    type Item = io::Result<(Number, AuditEvent)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some((number, place)) = self.waiting.pop() {
                let payload = &self.content[place];
                let Ok(encoding::EventSummary { at, .. }) = encoding::summary(payload) else { continue };
                if self.times.contains(&at)
                    && let Ok(event) = encoding::read(payload)
                {
                    return Some(Ok((number, event)));
                }
            }
            match self.load() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.parts.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}
