//! Histories from the store: pages are jumped to, not counted off.

use std::collections::HashSet;

use super::Engine;
use super::store::record::VersionRecord;
use super::store::{ChangeKind, ChangeRow, StoreError, StoreReader};
use crate::{HistoryPage, HistoryQuery};
use certificate::search::Hit;
use certificate::search::filter::Filter;
use certificate::{Id, Seq, Version};
use fhir::date_time::Span;

/// Changes looked at in one read, so that no read transaction grows old.
const CHUNK_ROWS: usize = 4_096;

impl Engine {
    /// A page of versions, newest first. None when the id was never assigned.
    pub fn history(&self, query: &HistoryQuery) -> Result<Option<HistoryPage>, StoreError> {
        match query.id {
            Some(id) => self.history_of_one(id, query),
            None => self.history_of_all(query).map(Some),
        }
    }

    fn history_of_one(&self, id: Id, query: &HistoryQuery) -> Result<Option<HistoryPage>, StoreError> {
        let reader = self.shared.store.reader()?;
        let Some(newest) = reader.newest(id, |version, _| version)? else { return Ok(None) };
        let at = reader.last_change()?.map_or(Seq(0), |change| change.seq);
        if query.since.is_none() && query.at.is_none() {
            let total = u64::from(newest.get());
            let first = total.saturating_sub(skip(query));
            let numbers = (0..first.min(u64::from(query.count))).map(|back| first - back);
            let versions = numbers.filter_map(|number| Version::new(u32::try_from(number).ok()?));
            return Ok(Some(HistoryPage { total, hits: versions.map(|version| Hit { id, version }).collect(), at }));
        }
        let mut fitting = Vec::new();
        let mut next = None;
        let mut failed = None;
        reader.versions(id, |version, bytes| match VersionRecord::read(bytes) {
            Ok(record) => {
                let made = record.stamp.milliseconds;
                if fits(query, made, next) {
                    fitting.push(version);
                }
                next = Some(made);
                true
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let total = fitting.len() as u64;
        let page =
            fitting.into_iter().skip(usize::try_from(skip(query)).unwrap_or(usize::MAX)).take(query.count as usize);
        Ok(Some(HistoryPage { total, hits: page.map(|version| Hit { id, version }).collect(), at }))
    }

    fn history_of_all(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        let reader = self.shared.store.reader()?;
        let Some(last) = reader.last_change()? else {
            return Ok(HistoryPage { total: 0, hits: Vec::new(), at: Seq(0) });
        };
        let hidden = match &query.hidden {
            Some(hidden) => self.hidden(&reader, hidden)?,
            None => HashSet::new(),
        };
        if query.at.is_some() {
            return self.history_at(query, last, &hidden);
        }
        let gone = Gone::of(&reader, &hidden)?;
        let (total, hits) = match reader.is_unordered()? {
            true => by_time(&reader, query, last, &gone)?,
            false => by_seq(&reader, query, last, &gone)?,
        };
        Ok(HistoryPage { total, hits, at: last.seq })
    }

    /// Certificates that are closed to someone and whose newest row meets a filter.
    fn hidden(&self, reader: &StoreReader, filter: &Filter) -> Result<HashSet<Id>, StoreError> {
        let mut hidden = HashSet::new();
        for (id, _) in reader.closed()? {
            let row = self.shared.read(reader, id, None, |entry| entry.standing())?.and_then(|standing| standing.row);
            if row.is_some_and(|row| filter.matches(id, &row)) {
                hidden.insert(id);
            }
        }
        Ok(hidden)
    }

    /// What was current at a moment: every change up to then is asked whether it was replaced before.
    fn history_at(
        &self,
        query: &HistoryQuery,
        last: ChangeRow,
        hidden: &HashSet<Id>,
    ) -> Result<HistoryPage, StoreError> {
        let skip = skip(query);
        let mut total = 0;
        let mut shown = Vec::new();
        let mut backwards = Backwards::new(&*self.shared.store.reader()?, last)?;
        loop {
            let reader = self.shared.store.reader()?;
            let changes = backwards.step(&reader)?;
            if changes.is_empty() {
                break;
            }
            for change in changes.into_iter().filter(|change| change.seq <= last.seq && !hidden.contains(&change.id)) {
                let Some(version) = change.version() else { continue };
                // What came after `last` is not part of the moment that is told.
                let next = reader.version(change.id, version.next(), made)?.transpose()?;
                let replaced = next.filter(|(seq, _)| *seq <= last.seq).map(|(_, milliseconds)| milliseconds);
                if fits(query, change.milliseconds, replaced) {
                    total += 1;
                    if total > skip && shown.len() < query.count as usize {
                        shown.push(Hit { id: change.id, version });
                    }
                }
            }
        }
        Ok(HistoryPage { total, hits: shown, at: last.seq })
    }
}

/// Versions that are left out, newest first by their changes.
struct Gone(Vec<ChangeRow>);

impl Gone {
    /// All versions of some certificates.
    fn of(reader: &StoreReader, hidden: &HashSet<Id>) -> Result<Gone, StoreError> {
        let mut seqs = Vec::new();
        for id in hidden {
            reader.versions(*id, |_, bytes| {
                seqs.push(VersionRecord::read(bytes).map(|record| record.seq));
                true
            })?;
        }
        let mut gone = seqs.into_iter().map(|seq| change(reader, seq?)).collect::<Result<Vec<_>, _>>()?;
        gone.sort_unstable_by_key(|change| std::cmp::Reverse(change.seq));
        Ok(Gone(gone))
    }

    fn has(&self, seq: Seq) -> bool {
        self.0.binary_search_by(|change| seq.cmp(&change.seq)).is_ok()
    }

    /// How many of them were made at or after a moment.
    fn since(&self, since: i64) -> u64 {
        self.0.iter().filter(|change| change.milliseconds >= since).count() as u64
    }
}

/// All changes from the newest back, in short steps: by their numbers, or by their times where those do not rise with them.
enum Backwards {
    /// Up to and with this one.
    BySeq(u64),
    /// Before this time and number.
    ByTime(i64, u64),
}

impl Backwards {
    fn new(reader: &StoreReader, last: ChangeRow) -> Result<Backwards, StoreError> {
        let unordered = reader.is_unordered()?;
        Ok(if unordered { Backwards::ByTime(i64::MAX, u64::MAX) } else { Backwards::BySeq(last.seq.0) })
    }

    /// The next changes; none when there are no more.
    fn step(&mut self, reader: &StoreReader) -> Result<Vec<ChangeRow>, StoreError> {
        match self {
            Backwards::BySeq(until) => {
                let after = until.saturating_sub(CHUNK_ROWS as u64);
                let mut changes = reader.changes_after(Seq(after), usize::try_from(*until - after).unwrap_or(0))?;
                changes.reverse();
                *until = after;
                Ok(changes)
            }
            Backwards::ByTime(time, seq) => {
                let mut changes = Vec::new();
                for found in reader.times_before((*time, *seq), CHUNK_ROWS)? {
                    (*time, *seq) = found;
                    changes.push(change(reader, Seq(found.1))?);
                }
                Ok(changes)
            }
        }
    }
}

/// Seq and time of a stored version.
fn made(bytes: &[u8]) -> Result<(Seq, i64), StoreError> {
    VersionRecord::read(bytes).map(|record| (record.seq, record.stamp.milliseconds))
}

fn change(reader: &StoreReader, seq: Seq) -> Result<ChangeRow, StoreError> {
    reader.change(seq)?.ok_or_else(|| StoreError::Damaged(format!("change {seq} is missing")))
}

fn skip(query: &HistoryQuery) -> u64 {
    query.page.saturating_sub(1).saturating_mul(u64::from(query.count))
}

/// Whether a version belongs to the history asked for; `replaced` is when the next one was made.
fn fits(query: &HistoryQuery, made: i64, replaced: Option<i64>) -> bool {
    let since = query.since.is_none_or(|since| made >= since);
    let current_then = |span: Span| made <= span.high && replaced.is_none_or(|replaced| replaced > span.low);
    since && query.at.is_none_or(current_then)
}

/// Times rise with the changes, so both ends are found by halving.
fn by_seq(
    reader: &StoreReader,
    query: &HistoryQuery,
    last: ChangeRow,
    gone: &Gone,
) -> Result<(u64, Vec<Hit>), StoreError> {
    let before = match query.since {
        Some(since) => last_where(reader, last.seq, |change| change.milliseconds < since)?,
        None => None,
    };
    let all = last.running - before.map_or(0, |change| change.running);
    let total = all - gone.since(query.since.unwrap_or(i64::MIN));
    let skip = skip(query);
    if skip >= total || query.count == 0 {
        return Ok((total, Vec::new()));
    }
    // Counted as if nothing were left out, each version that is left out behind the place moves it on by one.
    let mut wanted = last.running - skip;
    for left_out in &gone.0 {
        if left_out.running < wanted {
            break;
        }
        wanted -= 1;
    }
    let shown = usize::try_from((total - skip).min(u64::from(query.count))).unwrap_or(usize::MAX);
    let mut hits = Vec::with_capacity(shown.min(CHUNK_ROWS));
    let mut seq = nth_version(reader, last.seq, wanted)?;
    while hits.len() < shown && seq.0 > 0 {
        let change = change(reader, seq)?;
        seq = match change.what {
            ChangeKind::Version(version) => {
                if !gone.has(seq) {
                    hits.push(Hit { id: change.id, version });
                }
                Seq(seq.0 - 1)
            }
            // However many changes of consent follow each other, they are passed in one jump.
            _ => nth_version(reader, seq, change.running)?,
        };
    }
    Ok((total, hits))
}

/// The change that made the how-manieth version of the store; 0 for none.
fn nth_version(reader: &StoreReader, last: Seq, running: u64) -> Result<Seq, StoreError> {
    if running == 0 {
        return Ok(Seq(0));
    }
    Ok(last_where(reader, last, |change| change.running < running)?.map_or(Seq(0), |change| change.seq).next())
}

/// The last change for which something holds that holds for a beginning of all changes.
fn last_where(
    reader: &StoreReader,
    last: Seq,
    holds: impl Fn(&ChangeRow) -> bool,
) -> Result<Option<ChangeRow>, StoreError> {
    let (mut low, mut high) = (0, last.0);
    let mut found = None;
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let change = change(reader, Seq(middle))?;
        if holds(&change) {
            low = middle;
            found = Some(change);
        } else {
            high = middle - 1;
        }
    }
    Ok(found)
}

fn by_time(
    reader: &StoreReader,
    query: &HistoryQuery,
    last: ChangeRow,
    gone: &Gone,
) -> Result<(u64, Vec<Hit>), StoreError> {
    let since = query.since.unwrap_or(i64::MIN);
    let all = if query.since.is_none() { last.running } else { reader.count_by_time(since)? };
    let total = all - gone.since(since);
    // What is left out is passed one by one, with what stands between.
    let (passed, mut skip) = if gone.0.is_empty() { (skip(query), 0) } else { (0, skip(query)) };
    let mut seqs = Vec::new();
    if query.count > 0 && passed + skip < total {
        reader.changes_by_time(since, passed, |seq| {
            if gone.has(seq) {
                return true;
            }
            if skip > 0 {
                skip -= 1;
            } else {
                seqs.push(seq);
            }
            seqs.len() < query.count as usize
        })?;
    }
    let hit = |seq| -> Result<Hit, StoreError> {
        let change = change(reader, seq)?;
        let version =
            change.version().ok_or_else(|| StoreError::Damaged(format!("change {seq} has a time and no version")))?;
        Ok(Hit { id: change.id, version })
    };
    Ok((total, seqs.into_iter().map(hit).collect::<Result<_, _>>()?))
}
