//! Searches of the trail: file by file, by the [index](super::index) of each where it has a good one, else by all its events.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::event_filter::{EventFilter, PatientOf};
use super::header::HEADER_BYTES;
use super::index::{AnyOfKeys, Index, IndexDraft, KeyHash, conditions};
use super::seal;
use super::trail::{TrailFile, TrailFiles};
use super::writer::TrailShared;
use super::{AuditEvent, EventOrder, Number, encoding};
use base::{pause, regular_file};
use journal::record::{FilePiece, RecordWalk, payload_of};

/// A page of a search.
#[derive(Debug, Default)]
pub struct EventPage {
    /// Of the whole search, exact.
    pub total: u64,
    pub events: Vec<(Number, AuditEvent)>,
}

/// Events that are read at once where all are handed over.
const CHUNK: u64 = 256;

/// A search over the files of a trail as they were at one moment.
pub struct EventSearch<'s> {
    pub(super) shared: &'s TrailShared,
    pub(super) trail: TrailFiles,
    pub(super) wanted: &'s EventFilter,
    pub(super) order: EventOrder,
}

impl EventSearch<'_> {
    /// Some rows of what is wanted, the first of which is row 0.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn page(&self, rows: Range<u64>, patient_of: PatientOf) -> io::Result<EventPage> {
        let mut page = EventPage::default();
        for part in self.parts() {
            pause::here();
            let mut hits = self.hits(part, patient_of)?;
            let of_page = |hits: &Hits| {
                let row = |row: u64| row.saturating_sub(page.total).min(hits.len());
                row(rows.start)..row(rows.end)
            };
            let found = match hits.events(of_page(&hits), self.wanted, patient_of)? {
                Some(found) => found,
                None => {
                    hits = self.whole(part, patient_of)?;
                    hits.events(of_page(&hits), self.wanted, patient_of)?.unwrap_or_default()
                }
            };
            page.total += hits.len();
            page.events.extend(found);
        }
        Ok(page)
    }

    /// Hands over all that is wanted.
    ///
    /// # Errors
    /// A file cannot be read, in words, or what `each` returned.
    pub fn each(
        &self,
        patient_of: PatientOf,
        mut each: impl FnMut(Number, AuditEvent) -> Result<(), String>,
    ) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        for part in self.parts() {
            let mut hits = self.hits(part, patient_of).map_err(told)?;
            let (mut row, mut last) = (0, None);
            while row < hits.len() {
                let rows = row..(row + CHUNK).min(hits.len());
                let Some(found) = hits.events(rows, self.wanted, patient_of).map_err(told)? else {
                    // Begins anew with the events themselves, behind those that were handed over.
                    hits = self.whole(part, patient_of).map_err(told)?;
                    row = 0;
                    continue;
                };
                row += CHUNK;
                for (number, event) in found {
                    let is_new = last.is_none_or(|last| match self.order {
                        EventOrder::OldestFirst => number > last,
                        EventOrder::NewestFirst => number < last,
                    });
                    if is_new {
                        each(number, event)?;
                        last = Some(number);
                    }
                }
            }
        }
        Ok(())
    }

    /// The files that have a part in it, in its order.
    fn parts(&self) -> Vec<&TrailFile> {
        let times = self.wanted.span();
        let touches = |part: &&TrailFile| {
            part.seal.is_none_or(|seal| seal.earliest <= *times.end() && seal.latest >= *times.start())
        };
        let parts = self.trail.parts.iter().filter(touches);
        match self.order {
            EventOrder::OldestFirst => parts.collect(),
            EventOrder::NewestFirst => parts.rev().collect(),
        }
    }

    /// What a file has of it.
    fn hits(&self, part: &TrailFile, patient_of: PatientOf) -> io::Result<Hits> {
        let found = match part.seal {
            Some(seal) => self.of_sealed(part, &seal)?,
            None => self.of_plain(part),
        };
        let Some((mut hits, perhaps)) = found else { return self.whole(part, patient_of) };
        if !perhaps.is_empty() && !hits.resolve(&perhaps, self.wanted, patient_of)? {
            return self.whole(part, patient_of);
        }
        if self.order == EventOrder::NewestFirst {
            hits.events.reverse();
        }
        Ok(hits)
    }

    /// The hits by the index, and those among them that have to be looked at.
    fn of_sealed(&self, part: &TrailFile, seal: &seal::Seal) -> io::Result<Option<(Hits, Vec<bool>)>> {
        let (indexes, file) = (&self.shared.indexes, part.name.file());
        let Some(index) = indexes.of_sealed(&self.trail.folder, file, seal) else { return Ok(None) };
        let conditions = conditions(self.wanted);
        let lists = conditions.iter().flat_map(|condition| [condition.keys.as_slice(), &condition.perhaps]);
        // Whatever is wrong with it, the events are there.
        let Ok(Some(lists)) = index.with(&lists.collect::<Vec<_>>()) else {
            indexes.forget(file);
            return Ok(None);
        };
        let times = self.wanted.span();
        let is_all = times.contains(&seal.earliest) && times.contains(&seal.latest);
        let (events, perhaps) = chosen(index.events(), lists, |event| match is_all {
            true => Some(true),
            false => index.within(event, &times),
        });
        // Retention was faster: what it removed has nothing to tell.
        let Ok(stored) = regular_file::open_itself(&self.trail.path(part)) else { return Ok(None) };
        Ok(Some((Hits { events, bytes: EventBytes::Sealed { file: stored, index, block: None } }, perhaps)))
    }

    fn of_plain(&self, part: &TrailFile) -> Option<(Hits, Vec<bool>)> {
        let (times, bytes) = (self.wanted.span(), usize::try_from(part.length?).ok()?);
        let chosen = |draft: &IndexDraft| {
            let conditions = conditions(self.wanted);
            let lists = conditions.iter().flat_map(|AnyOfKeys { keys, perhaps }| [keys, perhaps]);
            let lists = lists.map(|keys: &Vec<KeyHash>| draft.with(keys)).collect();
            // Later events are those of a later search.
            let count = draft.first_behind(bytes);
            let is_in_time = |event| event < count && times.contains(&draft.time(event));
            let (events, perhaps) = chosen(count, lists, |event| Some(is_in_time(event)));
            let first = draft.first().0;
            let places = events.iter().map(|event| (Number(first + u64::from(*event)), draft.place(*event))).collect();
            (events, places, perhaps)
        };
        let file = regular_file::open_itself(&self.trail.path(part)).ok()?;
        let (events, places, perhaps) = self.shared.indexes.of_plain(&self.trail.folder, part, || true, chosen)?;
        let events = (0..events.len() as u32).collect();
        Some((Hits { events, bytes: EventBytes::Plain { file, places } }, perhaps))
    }

    /// What a file has of it, by all its events. What is damaged is passed over, and the health tells so.
    fn whole(&self, part: &TrailFile, patient_of: PatientOf) -> io::Result<Hits> {
        // One that retention removed meanwhile has nothing to tell.
        let Some(content) = part.content(&self.trail.folder)? else {
            return Ok(Hits {
                events: Vec::new(),
                bytes: EventBytes::Read { content: Vec::new(), places: Vec::new() },
            });
        };
        let before = part.header.map(|header| header.before);
        let (times, mut places) = (self.wanted.span(), Vec::new());
        let (mut last, mut is_damaged) = (None, false);
        // A file that is being written, or was when the server was killed, ends in zeros.
        for piece in RecordWalk::open_ended(&content, HEADER_BYTES, before) {
            let FilePiece::Record(record) = piece else {
                is_damaged = true;
                continue;
            };
            last = Some((record.number, *record.hash));
            pause::at(record.number.0);
            let is_wanted = encoding::summary(record.payload).is_ok_and(|summary| times.contains(&summary.at))
                && encoding::read(record.payload).is_ok_and(|event| self.wanted.matches(&event, patient_of));
            if is_wanted {
                let end = record.end() - 32;
                places.push((record.number, end - record.payload.len()..end));
            }
        }
        // The last blocks of a sealed file may be gone, as an end that was never written would be.
        if is_damaged || part.seal.is_some_and(|seal| last != Some(seal.last)) {
            self.shared.doubt(&format!("{}: events in it cannot be read", part.name));
        }
        let mut events: Vec<u32> = (0..places.len() as u32).collect();
        if self.order == EventOrder::NewestFirst {
            events.reverse();
        }
        Ok(Hits { events, bytes: EventBytes::Read { content, places } })
    }
}

/// The events that are in every list, and of each whether it has to be looked at. The lists come in pairs: those that meet a condition, and
/// those that may. `is_in_time` is nothing where the event has to tell.
fn chosen(all: u32, lists: Vec<Vec<u32>>, is_in_time: impl Fn(u32) -> Option<bool>) -> (Vec<u32>, Vec<bool>) {
    let mut found: Option<Vec<(u32, bool)>> = None;
    for pair in lists.chunks(2) {
        let mut of_condition: Vec<(u32, bool)> = pair[0].iter().map(|event| (*event, false)).collect();
        if !pair[1].is_empty() {
            of_condition.extend(pair[1].iter().map(|event| (*event, true)));
            of_condition.sort_unstable();
            of_condition.dedup_by_key(|(event, _)| *event);
        }
        found = Some(match found {
            None => of_condition,
            Some(before) => both(&before, &of_condition),
        });
    }
    let found = found.unwrap_or_else(|| (0..all).map(|event| (event, false)).collect());
    let in_time = found.into_iter().filter_map(|(event, perhaps)| match is_in_time(event) {
        Some(false) => None,
        Some(true) => Some((event, perhaps)),
        None => Some((event, true)),
    });
    let (events, perhaps): (Vec<u32>, Vec<bool>) = in_time.unzip();
    let is_sure = !perhaps.contains(&true);
    (events, if is_sure { Vec::new() } else { perhaps })
}

fn both(one: &[(u32, bool)], other: &[(u32, bool)]) -> Vec<(u32, bool)> {
    let (mut at, mut found) = (0, Vec::new());
    for (event, perhaps) in one {
        at += other[at..].partition_point(|(its, _)| its < event);
        if let Some((its, its_perhaps)) = other.get(at)
            && its == event
        {
            found.push((*event, *perhaps || *its_perhaps));
        }
    }
    found
}

/// What a file has of a search.
struct Hits {
    /// In the order of the search: counted from the first of the file, or places in a list.
    events: Vec<u32>,
    bytes: EventBytes,
}

/// Where events are read from.
enum EventBytes {
    Read {
        content: Vec<u8>,
        places: Vec<(Number, Range<usize>)>,
    },
    /// The places are those of whole records.
    Plain {
        file: File,
        places: Vec<(Number, Range<usize>)>,
    },
    /// The block that was expanded last, by its place.
    Sealed {
        file: File,
        index: Arc<Index>,
        block: Option<(u32, Vec<u8>)>,
    },
}

impl Hits {
    fn len(&self) -> u64 {
        self.events.len() as u64
    }

    /// Some of the events. None: the index does not fit the events.
    fn events(
        &mut self,
        rows: Range<u64>,
        wanted: &EventFilter,
        patient_of: PatientOf,
    ) -> io::Result<Option<Vec<(Number, AuditEvent)>>> {
        let mut found = Vec::new();
        for row in rows.start as usize..rows.end as usize {
            match self.bytes.event(self.events[row])? {
                Some((number, event)) if wanted.matches(&event, patient_of) => found.push((number, event)),
                _ => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// Leaves out what is not wanted. False: the index does not fit the events.
    fn resolve(&mut self, perhaps: &[bool], wanted: &EventFilter, patient_of: PatientOf) -> io::Result<bool> {
        let mut kept = Vec::with_capacity(self.events.len());
        for (event, perhaps) in self.events.iter().zip(perhaps) {
            let is_wanted = match perhaps {
                false => true,
                true => match self.bytes.event(*event)? {
                    Some((_, event)) => wanted.matches(&event, patient_of),
                    None => return Ok(false),
                },
            };
            if is_wanted {
                kept.push(*event);
            }
        }
        self.events = kept;
        Ok(true)
    }
}

impl EventBytes {
    /// None: there is no such event.
    fn event(&mut self, event: u32) -> io::Result<Option<(Number, AuditEvent)>> {
        match self {
            EventBytes::Read { content, places } => {
                let (number, place) = &places[event as usize];
                Ok(encoding::read(&content[place.clone()]).ok().map(|event| (*number, event)))
            }
            EventBytes::Plain { file, places } => {
                let (number, place) = &places[event as usize];
                // With the hash before it, which for the first event of a file is not there.
                let from = place.start.saturating_sub(32).max(HEADER_BYTES);
                let mut bytes = vec![0; place.end - from];
                if !seal::is_there(file.read_exact_at(&mut bytes, from as u64))? {
                    return Ok(None);
                }
                Ok(payload_of(&bytes, place.start - from, *number).and_then(decoded(*number)))
            }
            EventBytes::Sealed { file, index, block } => {
                let Some(place) = index.place(event) else { return Ok(None) };
                if block.as_ref().is_none_or(|(at, _)| *at != place.stored_at) {
                    pause::here();
                    let Some(expanded) = seal::block_at(file, place.stored_at)? else { return Ok(None) };
                    *block = Some((place.stored_at, expanded));
                }
                let bytes = block.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
                // The header of the plain file stands before the first event of all.
                let start = if place.stored_at as usize == seal::SEAL_BYTES { HEADER_BYTES } else { 0 };
                Ok(payload_of(bytes, start, place.number).and_then(decoded(place.number)))
            }
        }
    }
}

fn decoded(number: Number) -> impl Fn(&[u8]) -> Option<(Number, AuditEvent)> {
    move |payload| encoding::read(payload).ok().map(|event| (number, event))
}
