//! The bridge between store and index: every change that the index does not hold yet, searchable from the moment it is durable.
//!
//! A [`Generation`] is an append-only log. The writer appends; searches read along, up to the seq of their view; the indexer seals
//! a generation, indexes it as one round, and drops it. Entries of one id are chained, so that the newest one is known at any moment;
//! entries of one term are chained, so that a selective search meets only those it asks for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use certificate::search::row::Row;
use certificate::search::term::Term;
use certificate::{Id, Seq, Version};

/// Terms of one counted row of the overlay. Most certificates have fewer.
const OVERLAY_ROW_TERMS: usize = 32;

/// One change: the row it brought and the row it replaced.
#[derive(Debug)]
pub(super) struct OverlayEntry {
    pub seq: Seq,
    pub id: Id,
    pub version: Version,
    /// None: the certificate was deleted.
    pub new: Option<Arc<NumberedRow>>,
    /// None: the certificate is new.
    pub old: Option<Arc<NumberedRow>>,
    /// Seq of the next change of this id, or [`NEVER`].
    superseded: AtomicU64,
    /// The entry before of this id in the same generation.
    before: u32,
    /// For each term of both rows: its hash and the entry before that has it. Hashes rise.
    links: Box<[(u64, u32)]>,
}

const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

/// A row with the number of its class.
#[derive(Debug)]
pub(super) struct NumberedRow {
    pub row: Row,
    pub class: u32,
}

impl OverlayEntry {
    /// Whether no later change of this id is part of the view.
    pub(super) fn newest_at(&self, seq: Seq) -> bool {
        self.superseded.load(Ordering::Acquire) > seq.0
    }
}

/// A run of changes without gaps.
#[derive(Debug)]
pub(super) struct Generation {
    entries: boxcar::Vec<OverlayEntry>,
    terms: Shards<u32>,
    ids: Shards<IdEntries>,
    /// A bit for each id of the generation, by its low bits: most ids of the index are told apart without a look-up.
    seen: Box<[AtomicU64]>,
    rows: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
struct IdEntries {
    first: Seq,
    newest: u32,
}

const SEEN_WORDS: usize = 2048;

impl Default for Generation {
    fn default() -> Self {
        Generation {
            entries: boxcar::Vec::new(),
            terms: Shards::default(),
            ids: Shards::default(),
            seen: (0..SEEN_WORDS).map(|_| AtomicU64::new(0)).collect(),
            rows: AtomicUsize::new(0),
        }
    }
}

impl Generation {
    /// Appends a change. Only the writer calls this; `earlier` are the older generations that are still alive.
    pub(super) fn push(&self, earlier: &[Arc<Generation>], change: NewEntry) {
        let index = u32::try_from(self.entries.count()).expect("the bound on the overlay is far below 2^32");
        let terms = [&change.new, &change.old].into_iter().flatten().flat_map(|row| &row.row.terms);
        let mut hashes: Vec<u64> = terms.filter(|term| term.is_selective()).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let links = hashes.iter().map(|hash| (*hash, self.terms.get(*hash).unwrap_or(NONE))).collect();
        let NewEntry { seq, id, version, new, old } = change;
        let known = self.ids.get(id.get());
        let before = known.map(|known| &self.entries[known.newest as usize]);
        let before = before.or_else(|| earlier.iter().rev().find_map(|generation| generation.newest(id)));
        if let Some(before) = before {
            before.superseded.store(seq.0, Ordering::Release);
        }
        let before = known.map_or(NONE, |known| known.newest);
        let superseded = AtomicU64::new(NEVER);
        self.entries.push(OverlayEntry { seq, id, version, new, old, superseded, before, links });
        self.rows.fetch_add(1 + hashes.len() / OVERLAY_ROW_TERMS, Ordering::Release);
        hashes.into_iter().for_each(|hash| self.terms.set(hash, index));
        self.ids.set(id.get(), IdEntries { first: known.map_or(seq, |known| known.first), newest: index });
        let bit = id.get() as usize % (SEEN_WORDS * 64);
        self.seen[bit / 64].fetch_or(1 << (bit % 64), Ordering::Release);
    }

    /// How much of [`OVERLAY_ROWS_MAX`](crate::limits::OVERLAY_ROWS_MAX) the entries take.
    pub(super) fn rows(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.count()
    }

    /// Entries in their order, up to and with a seq.
    pub(super) fn until(&self, seq: Seq) -> impl Iterator<Item = &OverlayEntry> {
        self.entries.iter().map(|(_, entry)| entry).take_while(move |entry| entry.seq <= seq)
    }

    /// Entries whose new or replaced row has the term, up to and with a seq, newest first. The hash may bring others too.
    pub(super) fn with_term(&self, term: &Term, seq: Seq) -> impl Iterator<Item = &OverlayEntry> {
        let hash = hash(term);
        let mut next = self.terms.get(hash).unwrap_or(NONE);
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize).filter(|_| next != NONE)?;
            let link = entry.links.binary_search_by_key(&hash, |(known, _)| *known);
            next = link.map_or(NONE, |at| entry.links[at].1);
            Some(entry)
        })
        .filter(move |entry| entry.seq <= seq)
    }

    /// Entries of an id, up to and with a seq, newest first.
    pub(super) fn with_id(&self, id: Id, seq: Seq) -> impl Iterator<Item = &OverlayEntry> {
        let mut next =
            if self.touches(id, seq) { self.ids.get(id.get()).map_or(NONE, |known| known.newest) } else { NONE };
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize).filter(|_| next != NONE)?;
            next = entry.before;
            Some(entry)
        })
        .filter(move |entry| entry.seq <= seq)
    }

    /// Whether a change of this id is part of the view, so that the index's row of it is out of date.
    pub(super) fn touches(&self, id: Id, seq: Seq) -> bool {
        let bit = id.get() as usize % (SEEN_WORDS * 64);
        self.seen[bit / 64].load(Ordering::Acquire) & (1 << (bit % 64)) != 0
            && self.ids.get(id.get()).is_some_and(|known| known.first <= seq)
    }

    fn newest(&self, id: Id) -> Option<&OverlayEntry> {
        self.ids.get(id.get()).map(|known| &self.entries[known.newest as usize])
    }
}

/// A change to append.
pub(super) struct NewEntry {
    pub seq: Seq,
    pub id: Id,
    pub version: Version,
    pub new: Option<Arc<NumberedRow>>,
    pub old: Option<Arc<NumberedRow>>,
}

fn hash(term: &Term) -> u64 {
    // FNV-1a with a final mix: terms are short, and a meeting of two hashes costs a comparison, never a wrong answer.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

/// A map that one thread writes and many read, in parts with a lock each; no lock is held for longer than a look-up.
#[derive(Debug)]
struct Shards<V>([Mutex<HashMap<u64, V, BuildHasherDefault<SpreadHasher>>>; SHARDS]);

const SHARDS: usize = 32;

impl<V> Default for Shards<V> {
    fn default() -> Self {
        Shards(std::array::from_fn(|_| Mutex::default()))
    }
}

impl<V: Copy> Shards<V> {
    fn shard(&self, key: u64) -> std::sync::MutexGuard<'_, HashMap<u64, V, BuildHasherDefault<SpreadHasher>>> {
        self.0[(key as usize) % SHARDS].lock().expect("no holder of this lock can panic")
    }

    fn get(&self, key: u64) -> Option<V> {
        self.shard(key).get(&key).copied()
    }

    fn set(&self, key: u64, value: V) {
        self.shard(key).insert(key, value);
    }
}

/// Spreads keys that are hashes or counted numbers already.
#[derive(Default)]
struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn write_u64(&mut self, key: u64) {
        self.0 = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::State;
    use certificate::search::class::Class;
    use certificate::search::parameter::Field;
    use certificate::search::term::TermForm;
    use certificate::{Consent, Profile};

    fn term(value: &str) -> Term {
        Term::new(Field::Subject, TermForm::Code, value)
    }

    fn row(values: &[&str]) -> Arc<NumberedRow> {
        let class = Class {
            state: State::Draft,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![],
            kind: vec![],
        };
        let mut terms: Vec<Term> = values.iter().map(|value| term(value)).collect();
        terms.push(Term::new(Field::Subject, TermForm::Present, ""));
        terms.sort_unstable();
        let row = Row { class: class.into(), last_updated: 0, date: None, period: None, title: None, terms };
        Arc::new(NumberedRow { row, class: 0 })
    }

    fn id(id: u64) -> Id {
        Id::new(id).unwrap()
    }

    fn change(seq: u64, of: u64, old: Option<&Arc<NumberedRow>>, new: Option<&Arc<NumberedRow>>) -> NewEntry {
        NewEntry { seq: Seq(seq), id: id(of), version: Version::FIRST, new: new.cloned(), old: old.cloned() }
    }

    fn seqs<'g>(entries: impl Iterator<Item = &'g OverlayEntry>) -> Vec<u64> {
        entries.map(|entry| entry.seq.0).collect()
    }

    fn newest(generation: &Generation, seq: u64) -> Vec<u64> {
        seqs(generation.until(Seq(seq)).filter(|entry| entry.newest_at(Seq(seq))))
    }

    #[test]
    fn every_moment_has_its_own_newest_entries() {
        let (a, b) = (row(&["a"]), row(&["b"]));
        let generation = Generation::default();
        generation.push(&[], change(11, 7, None, Some(&a)));
        generation.push(&[], change(12, 8, None, Some(&a)));
        generation.push(&[], change(13, 7, Some(&a), Some(&b)));
        generation.push(&[], change(14, 7, Some(&b), None));
        assert_eq!(generation.len(), 4);
        for (seq, entries) in
            [(10, &[][..]), (11, &[11]), (12, &[11, 12]), (13, &[12, 13]), (14, &[12, 14]), (99, &[12, 14])]
        {
            assert_eq!(newest(&generation, seq), entries, "at {seq}");
        }
        assert_eq!(seqs(generation.with_id(id(7), Seq(13))), [13, 11]);
        assert!(seqs(generation.with_id(id(7), Seq(10))).is_empty());
        assert!(seqs(generation.with_id(id(9), Seq(99))).is_empty());
        assert!(generation.touches(id(8), Seq(12)) && !generation.touches(id(8), Seq(11)));
    }

    #[test]
    fn a_term_leads_to_rows_that_have_it_and_to_rows_that_had_it() {
        let (a, ab, b) = (row(&["a"]), row(&["a", "b"]), row(&["b"]));
        let generation = Generation::default();
        generation.push(&[], change(1, 1, None, Some(&a)));
        generation.push(&[], change(2, 2, None, Some(&b)));
        generation.push(&[], change(3, 1, Some(&a), Some(&ab)));
        generation.push(&[], change(4, 1, Some(&ab), Some(&b)));
        generation.push(&[], change(5, 1, Some(&b), None));
        assert_eq!(seqs(generation.with_term(&term("a"), Seq(99))), [4, 3, 1]);
        assert_eq!(seqs(generation.with_term(&term("b"), Seq(99))), [5, 4, 3, 2]);
        assert_eq!(seqs(generation.with_term(&term("b"), Seq(3))), [3, 2]);
        assert!(seqs(generation.with_term(&term("c"), Seq(99))).is_empty());
    }

    #[test]
    fn a_later_generation_replaces_entries_of_all_before_it() {
        let a = row(&["a"]);
        let generations: Vec<Arc<Generation>> = (0..3).map(|_| Arc::default()).collect();
        generations[0].push(&[], change(1, 1, None, Some(&a)));
        generations[0].push(&[], change(2, 2, None, Some(&a)));
        generations[1].push(&generations[..1], change(3, 2, Some(&a), Some(&a)));
        // The second generation does not know the first certificate.
        generations[2].push(&generations[..2], change(4, 1, Some(&a), None));
        generations[2].push(&generations[..2], change(5, 2, Some(&a), None));
        let at = |seq| generations.iter().flat_map(|generation| newest(generation, seq)).collect::<Vec<_>>();
        assert_eq!((at(2), at(3), at(4), at(5)), (vec![1, 2], vec![1, 3], vec![3, 4], vec![4, 5]));
    }

    #[test]
    fn ids_that_share_a_bit_are_told_apart() {
        let a = row(&["a"]);
        let generation = Generation::default();
        let bits = SEEN_WORDS as u64 * 64;
        generation.push(&[], change(1, 5, None, Some(&a)));
        assert!(generation.touches(id(5), Seq(1)) && !generation.touches(id(5 + bits), Seq(1)));
        assert!(seqs(generation.with_id(id(5 + bits), Seq(1))).is_empty());
        generation.push(&[], change(2, 5 + bits, None, Some(&a)));
        assert_eq!(seqs(generation.with_id(id(5 + bits), Seq(2))), [2]);
        assert_eq!(seqs(generation.with_id(id(5), Seq(2))), [1]);
    }
}
