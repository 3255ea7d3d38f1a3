//! The index of a file that grows.

use std::collections::{HashMap, HashSet};

use super::{KeyHash, Subjects, certificate, keys_of, person, unknown};
use crate::audit::encoding;
use crate::audit::event::Entity;
use crate::audit::head::Hash;
use crate::audit::header::{HEADER_BYTES, Header};
use crate::audit::{Number, header};
use journal::record::{FilePiece, RecordWalk};

/// Keys of events, certificates in them, and their keys, that the index of one file of the audit trail holds: 8 to 32 bytes of memory each
/// while the file is written. A file of the usual size has some 800 000 for reads; one with more than this has no index, and searches read
/// its events.
const AUDIT_INDEX_PAIRS_MAX: usize = 4_000_000;

/// What is known of the events of a file, up to a byte of it. Events are counted from 0.
pub(crate) struct IndexDraft {
    /// Of the file: another one with its number has another.
    header: Header,
    walked: usize,
    before: (Number, Hash),
    /// Milliseconds since 1970 UTC.
    times: Vec<i64>,
    /// Bytes of the file up to the end of each event.
    ends: Vec<u32>,
    keys: Vec<(KeyHash, u32)>,
    certificates: HashMap<Entity, u32>,
    /// What they are found by, one behind the other.
    names: Vec<KeyHash>,
    /// Where those of each end.
    name_ends: Vec<u32>,
    /// Certificates and the events they stand in.
    shown: Vec<(u32, u32)>,
    /// Damaged, or larger than an index can be: the events have to be read.
    is_without: bool,
}

impl IndexDraft {
    pub(crate) fn new(header: Header) -> IndexDraft {
        IndexDraft {
            header,
            walked: HEADER_BYTES,
            before: header.before,
            times: Vec::new(),
            ends: Vec::new(),
            keys: Vec::new(),
            certificates: HashMap::new(),
            names: Vec::new(),
            name_ends: Vec::new(),
            shown: Vec::new(),
            is_without: false,
        }
    }

    /// Whether it is one of the file with this header.
    pub(crate) fn is_of(&self, header: &Header) -> bool {
        self.header == *header
    }

    /// Whether the file can have an index.
    pub(crate) fn is_good(&self) -> bool {
        !self.is_without
    }

    /// Bytes of the file that it knows.
    pub(crate) fn walked(&self) -> usize {
        self.walked
    }

    /// Takes in what follows behind [`walked`](Self::walked).
    pub(crate) fn extend(&mut self, bytes: &[u8], subjects: &Subjects) {
        if self.is_without {
            return;
        }
        let begin = self.walked;
        for piece in RecordWalk::open_ended(bytes, 0, Some(self.before)) {
            let read = match piece {
                FilePiece::Record(record) => encoding::read(record.payload).map(|event| (record, event)).ok(),
                FilePiece::Damaged(_) => None,
            };
            let (Some((record, event)), true) = (read, self.pairs() < AUDIT_INDEX_PAIRS_MAX) else {
                *self = IndexDraft { is_without: true, ..IndexDraft::new(self.header) };
                return;
            };
            let ordinal = self.times.len() as u32;
            self.before = (record.number, *record.hash);
            self.walked = begin + record.end();
            let Ok(end) = u32::try_from(self.walked) else {
                self.is_without = true;
                return;
            };
            self.times.push(event.at);
            self.ends.push(end);
            keys_of(&event, |key| self.keys.push((key, ordinal)));
            self.keys.extend(event.absent.iter().map(|(id, _)| (certificate(*id), ordinal)));
            for entity in &event.entities {
                let known = self.certificates.len() as u32;
                let certificate_at = *self.certificates.entry(*entity).or_insert(known);
                if certificate_at == known {
                    names_of(*entity, subjects, &mut self.names);
                    self.name_ends.push(self.names.len() as u32);
                }
                self.shown.push((certificate_at, ordinal));
            }
        }
    }

    /// What it holds, counted.
    fn pairs(&self) -> usize {
        self.keys.len() + self.shown.len() + self.names.len() + self.name_ends.len()
    }

    /// What a certificate is found by.
    fn names(&self, certificate: usize) -> &[KeyHash] {
        let start = certificate.checked_sub(1).map_or(0, |before| self.name_ends[before] as usize);
        &self.names[start..self.name_ends[certificate] as usize]
    }

    pub(crate) fn events(&self) -> u32 {
        self.times.len() as u32
    }

    /// Number of the first event.
    pub(crate) fn first(&self) -> Number {
        Number(self.header.before.0.0 + 1)
    }

    pub(crate) fn time(&self, ordinal: u32) -> i64 {
        self.times[ordinal as usize]
    }

    /// The bytes of an event's record.
    pub(crate) fn place(&self, ordinal: u32) -> std::ops::Range<usize> {
        let start = match ordinal {
            0 => header::HEADER_BYTES,
            _ => self.ends[ordinal as usize - 1] as usize,
        };
        start..self.ends[ordinal as usize] as usize
    }

    /// The first event that ends behind a byte.
    pub(crate) fn first_behind(&self, byte: usize) -> u32 {
        self.ends.partition_point(|end| *end as usize <= byte) as u32
    }

    /// The events with one of the keys, in their order.
    pub(crate) fn with(&self, wanted: &[KeyHash]) -> Vec<u32> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let wanted: HashSet<KeyHash> = wanted.iter().copied().collect();
        let named = self.keys.iter().filter(|(key, _)| wanted.contains(key)).map(|(_, ordinal)| *ordinal);
        let is_wanted: Vec<bool> =
            (0..self.name_ends.len()).map(|at| self.names(at).iter().any(|name| wanted.contains(name))).collect();
        let shown = self.shown.iter().filter(|(at, _)| is_wanted[*at as usize]).map(|(_, ordinal)| *ordinal);
        let mut found: Vec<u32> = named.chain(shown).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Hands over each key with the events that have it, by the number of the key.
    pub(crate) fn each(&self, mut each: impl FnMut(KeyHash, &[u32])) {
        let mut shown = self.shown.clone();
        shown.sort_unstable();
        let mut keys: Vec<(KeyHash, KeyOccurrence)> =
            self.keys.iter().map(|(key, at)| (*key, KeyOccurrence::Event(*at))).collect();
        for at in 0..self.name_ends.len() {
            keys.extend(self.names(at).iter().map(|name| (*name, KeyOccurrence::Certificate(at as u32))));
        }
        keys.sort_unstable_by_key(|(key, _)| *key);
        let mut found = Vec::new();
        for of_key in keys.chunk_by(|(one, _), (other, _)| one == other) {
            found.clear();
            for (_, place) in of_key {
                match place {
                    KeyOccurrence::Event(ordinal) => found.push(*ordinal),
                    KeyOccurrence::Certificate(at) => {
                        let from = shown.partition_point(|(certificate, _)| certificate < at);
                        let its = shown[from..].iter().take_while(|(certificate, _)| certificate == at);
                        found.extend(its.map(|(_, ordinal)| *ordinal));
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            each(of_key[0].0, &found);
        }
    }
}

/// Where a key was met.
enum KeyOccurrence {
    Event(u32),
    Certificate(u32),
}

fn names_of((id, version): Entity, subjects: &Subjects, names: &mut Vec<KeyHash>) {
    match subjects(id, version) {
        Some(of_subject) => names.extend(of_subject.iter().map(|name| person(name))),
        None => names.push(unknown()),
    }
    names.push(certificate(id));
}
