//! Histories from the store: pages are jumped to, not counted off.

use std::collections::HashSet;

use super::Engine;
use super::store::record::VersionRecord;
use super::store::version_keys::HiddenVersions;
use super::store::{ChangeRow, StoreError, StoreReader, VersionsByTime};
use crate::{HistoryPage, HistoryQuery};
use base::pause;
use certificate::search::Hit;
use certificate::{Id, Seq, Version};
use fhir::date_time::Span;

/// Changes looked at in one read, so that no read transaction grows old.
const CHUNK_ROWS: usize = 4_096;

/// Of an empty store.
const EMPTY: HistoryPage = HistoryPage { total: 0, hits: Vec::new(), at: Seq(0) };

impl Engine {
    /// A page of versions, newest first. None when the id was never assigned.
    pub fn history(&self, query: &HistoryQuery) -> Result<Option<HistoryPage>, StoreError> {
        match query.id {
            Some(id) => self.history_of_one(id, query),
            None => self.history_of_all(query).map(Some),
        }
    }

    /// Whether a history looks at more changes than those of its page: one for a moment of the past at every change up to it. Where
    /// certificates are hidden, the first one looks at all closed ones, and a later one at every change since the one before.
    pub fn is_long(&self, query: &HistoryQuery) -> bool {
        let follows = query.hidden.is_some() && !self.shared.has_closed_versions();
        query.id.is_none() && (query.at.is_some() || follows)
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
        match (&query.hidden, query.at) {
            (None, None) => page(&*self.shared.store.reader()?, query, &HiddenVersions::default()),
            (None, Some(_)) => self.history_at(query, self.shared.store.reader()?.last_change()?, &HashSet::new()),
            (Some(hidden), None) => {
                self.shared.closed_versions(|reader, closed| page(reader, query, &closed.hidden(hidden)))
            }
            (Some(hidden), Some(_)) => {
                let (last, hidden) = self.shared.closed_versions(|reader, closed| {
                    Ok((reader.last_change()?, closed.hidden(hidden).iter().map(|(_, seq)| Seq(seq)).collect()))
                })?;
                self.history_at(query, last, &hidden)
            }
        }
    }

    /// What was current at a moment: every change up to then is asked whether it was replaced before.
    fn history_at(
        &self,
        query: &HistoryQuery,
        last: Option<ChangeRow>,
        hidden: &HashSet<Seq>,
    ) -> Result<HistoryPage, StoreError> {
        let Some(last) = last else { return Ok(EMPTY) };
        let skip = skip(query);
        let mut total = 0;
        let mut shown = Vec::new();
        let mut backwards = Backwards::new(&*self.shared.store.reader()?, last)?;
        loop {
            // Between two read transactions, so that none of them grows old meanwhile.
            pause::here();
            let reader = self.shared.store.reader()?;
            let changes = backwards.step(&reader)?;
            if changes.is_empty() {
                break;
            }
            for change in changes.into_iter().filter(|change| change.seq <= last.seq && !hidden.contains(&change.seq)) {
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

/// All changes from the newest back, in short steps: by their numbers, or by their times where those do not rise with them.
enum Backwards {
    /// Up to and with this one.
    BySeq(u64),
    /// Before this time and number.
    ByTime(i64, u64),
}

impl Backwards {
    fn new(reader: &StoreReader, last: ChangeRow) -> Result<Backwards, StoreError> {
        Ok(match reader.by_time()? {
            Some(_) => Backwards::ByTime(i64::MAX, u64::MAX),
            None => Backwards::BySeq(last.seq.0),
        })
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
                let Some(versions) = reader.by_time()? else { return Ok(changes) };
                for found in versions.before((*time, *seq))?.take(CHUNK_ROWS) {
                    (*time, *seq) = found?;
                    changes.push(reader.change_at(*seq)?);
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

fn skip(query: &HistoryQuery) -> u64 {
    query.page.saturating_sub(1).saturating_mul(u64::from(query.count))
}

/// Whether a version belongs to the history asked for; `replaced` is when the next one was made.
fn fits(query: &HistoryQuery, made: i64, replaced: Option<i64>) -> bool {
    let since = query.since.is_none_or(|since| made >= since);
    let current_then = |span: Span| made <= span.high && replaced.is_none_or(|replaced| replaced > span.low);
    since && query.at.is_none_or(current_then)
}

/// A page of all versions but the hidden ones.
fn page(reader: &StoreReader, query: &HistoryQuery, hidden: &HiddenVersions) -> Result<HistoryPage, StoreError> {
    let Some(last) = reader.last_change()? else { return Ok(EMPTY) };
    let (total, hits) = match reader.by_time()? {
        Some(versions) => by_time(reader, &versions, query, last, hidden)?,
        None => by_seq(reader, query, last, hidden)?,
    };
    Ok(HistoryPage { total, hits, at: last.seq })
}

/// Times rise with the changes, so both ends are found by halving.
fn by_seq(
    reader: &StoreReader,
    query: &HistoryQuery,
    last: ChangeRow,
    hidden: &HiddenVersions,
) -> Result<(u64, Vec<Hit>), StoreError> {
    // Versions up to and with a change that are shown.
    let shown = |change: &ChangeRow| change.running - hidden.before((change.milliseconds, change.seq.0 + 1));
    let before = match query.since {
        Some(since) => match reader.last_where(0, last.seq.0, |change| change.milliseconds < since)? {
            0 => 0,
            seq => shown(&reader.change_at(seq)?),
        },
        None => 0,
    };
    let total = shown(&last) - before;
    let skip = skip(query);
    if skip >= total || query.count == 0 {
        return Ok((total, Vec::new()));
    }
    let count = usize::try_from((total - skip).min(u64::from(query.count))).unwrap_or(usize::MAX);
    let mut hits = Vec::with_capacity(count.min(CHUNK_ROWS));
    let mut wanted = shown(&last) - skip;
    let mut seq = reader.last_where(0, last.seq.0, |change| shown(change) < wanted)? + 1;
    while hits.len() < count {
        let change = reader.change_at(seq)?;
        match change.version() {
            Some(version) if !hidden.has((change.milliseconds, seq)) => {
                hits.push(Hit { id: change.id, version });
                (seq, wanted) = (seq - 1, wanted - 1);
            }
            // However many changes of consent and hidden versions follow each other, they are passed in one jump.
            _ => seq = reader.last_near(seq - 1, |change| shown(change) < wanted)? + 1,
        }
    }
    Ok((total, hits))
}

fn by_time(
    reader: &StoreReader,
    versions: &VersionsByTime,
    query: &HistoryQuery,
    last: ChangeRow,
    hidden: &HiddenVersions,
) -> Result<(u64, Vec<Hit>), StoreError> {
    let since = query.since.unwrap_or(i64::MIN);
    let all = if query.since.is_none() { last.running } else { versions.since(since)? };
    let total = all - hidden.from((since, 0));
    let skip = skip(query);
    let count = total.saturating_sub(skip).min(query.count.into()) as usize;
    let mut seqs = Vec::with_capacity(count.min(CHUNK_ROWS));
    if count > 0 {
        versions.walk(skip, hidden, |seq| {
            seqs.push(seq);
            seqs.len() < count
        })?;
    }
    let hit = |seq: Seq| -> Result<Hit, StoreError> {
        let change = reader.change_at(seq.0)?;
        let version =
            change.version().ok_or_else(|| StoreError::Damaged(format!("change {seq} has a time and no version")))?;
        Ok(Hit { id: change.id, version })
    };
    Ok((total, seqs.into_iter().map(hit).collect::<Result<_, _>>()?))
}
