//! The indexer: takes changes in their order into the index, round by round, and gives searches the next view.
//!
//! Three ways lead to a view that is ready: the index is close behind the store (the tail is read into the overlay at the start), it
//! is far behind (the tail is indexed first), or there is none (everything is). Meanwhile searches are told to wait.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::classes::Classes;
use super::counters::{self, Counters};
use super::index::{self, Snapshot, Writer};
use super::overlay::{Generation, NewEntry, Numbered};
use super::reindex::{Beside, clear_away, exchange};
use super::standing::lay;
use super::store::record::Record;
use super::store::{Change, Error, Reader, Stands, What};
use super::view::{View, numbered};
use super::{Published, Shared, State};
use crate::certificate::{Consent, Id, Seq, Version};
use crate::limits::{INDEX_CHECKED_BYTES_MAX, INDEX_ROUND_ROWS_MAX};

/// A round is taken when this long has passed since its first change.
const ROUND_TIME: Duration = Duration::from_secs(1);

/// Changes that are read into the overlay at once instead of being indexed first; about 50 ms of work.
const TAIL_ROWS_MAX: u64 = 16_384;

/// Changes read from the store in one go, so that no read lasts longer than some milliseconds.
pub const CHUNK_ROWS: usize = 4_096;

/// The index's files are looked through when this long has passed: bytes may change on a disk that nobody writes to.
const LOOK_TIME: Duration = Duration::from_secs(3_600);

/// After a suspicion they are not looked through again within this time: it costs as much as reading them.
const SUSPICION_TIME: Duration = Duration::from_secs(60);

/// The shortest and the longest wait before an index that fails soon after its beginning is built again.
const REBUILD_PAUSE_MIN: Duration = Duration::from_millis(250);
const REBUILD_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Wakes the indexer.
#[derive(Default)]
pub struct Bell {
    state: Mutex<BellState>,
    rang: Condvar,
}

#[derive(Default)]
struct BellState {
    /// When the first change of the next round came.
    since: Option<Instant>,
    /// Do not wait any longer.
    now: bool,
    /// The index is damaged.
    condemned: bool,
    /// The index may be damaged.
    suspected: bool,
    /// When its files were looked through last.
    looked: Option<Instant>,
    /// When that was for a suspicion.
    answered: Option<Instant>,
    /// An index made beside, to take the place of the one in use.
    beside: Option<Beside>,
    closed: bool,
}

impl Bell {
    /// Changes have come; `many` are worth a round at once.
    fn note(&self, many: bool) {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        let first = state.since.is_none();
        state.since.get_or_insert_with(Instant::now);
        state.now |= many;
        if first || many {
            self.rang.notify_all();
        }
    }

    /// A round is wanted at once.
    pub fn ring(&self) {
        self.state.lock().expect("no holder of this lock can panic").now = true;
        self.rang.notify_all();
    }

    /// A search found the index damaged: it is to be given up.
    pub fn condemn(&self) {
        self.state.lock().expect("no holder of this lock can panic").condemned = true;
        self.ring();
    }

    /// A search panicked: the index's files are to be looked through.
    pub fn suspect(&self) {
        self.state.lock().expect("no holder of this lock can panic").suspected = true;
        self.ring();
    }

    /// Whether the index's files are to be looked through now: after a suspicion, though not again and again, and at times without one.
    fn is_time_to_look(&self) -> bool {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        let is_time = state.look_in().is_zero();
        if is_time {
            let now = Some(Instant::now());
            if std::mem::take(&mut state.suspected) {
                state.answered = now;
            }
            state.looked = now;
        }
        is_time
    }

    /// Waits, however often it is rung. False when the engine is closed meanwhile.
    fn pause(&self, time: Duration) -> bool {
        let state = self.state.lock().expect("no holder of this lock can panic");
        let waited = self.rang.wait_timeout_while(state, time, |state| !state.closed);
        !waited.expect("no holder of this lock can panic").0.closed
    }

    /// Whether the index was condemned since this was asked last.
    pub fn was_condemned(&self) -> bool {
        std::mem::take(&mut self.state.lock().expect("no holder of this lock can panic").condemned)
    }

    /// An index was made beside: it is to take the place of the one in use.
    pub fn offer(&self, beside: Beside) {
        self.state.lock().expect("no holder of this lock can panic").beside = Some(beside);
        self.ring();
    }

    /// What was offered.
    fn offered(&self) -> Option<Beside> {
        self.state.lock().expect("no holder of this lock can panic").beside.take()
    }

    /// Nothing more will come.
    pub fn close(&self) {
        self.state.lock().expect("no holder of this lock can panic").closed = true;
        self.rang.notify_all();
    }

    /// Waits for the next round; false when it is the last one.
    fn wait(&self) -> bool {
        let mut state = self.state.lock().expect("no holder of this lock can panic");
        loop {
            if state.closed {
                return false;
            }
            let left = state.since.map(|since| ROUND_TIME.saturating_sub(since.elapsed()));
            let look_in = state.look_in();
            if state.now || left == Some(Duration::ZERO) || look_in.is_zero() {
                state.now = false;
                state.since = None;
                return true;
            }
            let left = left.map_or(look_in, |left| left.min(look_in));
            state = self.rang.wait_timeout(state, left).expect("no holder of this lock can panic").0;
        }
    }

    pub fn is_closed(&self) -> bool {
        self.state.lock().expect("no holder of this lock can panic").closed
    }
}

impl BellState {
    /// How long until the index's files are to be looked through.
    fn look_in(&self) -> Duration {
        let left = |time: Duration, since: Option<Instant>| since.map(|since| time.saturating_sub(since.elapsed()));
        let by_itself = left(LOOK_TIME, self.looked).unwrap_or(LOOK_TIME);
        match self.suspected {
            true => by_itself.min(left(SUSPICION_TIME, self.answered).unwrap_or_default()),
            false => by_itself,
        }
    }
}

/// The indexer before its thread takes it over.
pub struct Indexer {
    pub shared: Arc<Shared>,
    pub writer: Writer,
    /// What the index holds.
    pub at: Seq,
}

impl Indexer {
    /// Opens the index. When it is at hand and close behind, searches work on return, unless it is so large that looking through its
    /// files would hold up the start: then they work as soon as that is done.
    pub fn open(shared: &Arc<Shared>) -> Result<Indexer, Error> {
        clear_away(&shared.index_folder);
        let told = |error: index::Error| Error::Io(error.0);
        let (mut writer, mut snapshot) = open(shared).map_err(told)?;
        let is_small = writer.bytes() <= INDEX_CHECKED_BYTES_MAX;
        if is_small && let Err(problem) = look_through(shared, &writer) {
            tracing::warn!(problem, "the index is damaged and is built again");
            shared.note_building(problem);
            drop(snapshot);
            writer.close();
            (writer, snapshot) =
                Writer::create_on(&shared.index_medium, &shared.index_folder, &shared.origin).map_err(told)?;
        }
        let (at, seq) = (snapshot.at, shared.seq());
        if is_small && seq.0 - at.0 <= TAIL_ROWS_MAX {
            shared.go_live(snapshot, seq)?;
        } else if at.0 > 0 {
            shared.note_building(if is_small {
                "the index was far behind the store"
            } else {
                "its files are being looked through"
            });
        }
        Ok(Indexer { shared: shared.clone(), writer, at })
    }
}

/// Starts the indexer's thread.
pub fn start(indexer: Indexer) -> Result<JoinHandle<()>, Error> {
    let Indexer { shared, writer, at } = indexer;
    let thread = thread::Builder::new().name("hcert-indexer".into());
    thread
        .spawn(move || run(&shared, writer, at))
        .map_err(|error| Error::Io(format!("no thread for the indexer: {error}")))
}

/// Reads the index's files and compares them with their checksums: damage in the middle of one would give wrong answers, not errors.
pub fn look_through(shared: &Shared, writer: &Writer) -> Result<(), String> {
    shared.bell.state.lock().expect("no holder of this lock can panic").looked = Some(Instant::now());
    let looked = catch_unwind(AssertUnwindSafe(|| writer.verify()));
    looked.unwrap_or_else(|_| Err(index::Error("reading it panicked".into()))).map_err(|error| error.0)
}

/// The index of the folder with all it holds, or an empty one in place of an index that is missing, torn or foreign.
fn open(shared: &Shared) -> Result<(Writer, Snapshot), index::Error> {
    // A torn file may show as a panic as well as an error.
    let (medium, folder, origin) = (&shared.index_medium, &shared.index_folder, &shared.origin);
    let opened = catch_unwind(AssertUnwindSafe(|| Writer::open_on(medium, folder, origin)));
    match opened {
        // An index ahead of its store is not the store's: the folder was put together from two.
        Ok(Ok((writer, snapshot))) if snapshot.at <= shared.seq() => return Ok((writer, snapshot)),
        Ok(Ok(_)) => {
            tracing::warn!("the index is ahead of the store and is built again");
            shared.note_building("the index was ahead of the store");
        }
        // A store without a change has no index to miss.
        Ok(Err(error)) if shared.seq() == Seq(0) => tracing::debug!(problem = %error.0, "an empty index is made"),
        Ok(Err(error)) => {
            tracing::info!(problem = %error.0, "the index is built from the store");
            shared.note_building(error.0);
        }
        Err(_) => {
            tracing::warn!("the index could not be read and is built again");
            shared.note_building("the index could not be read");
        }
    }
    Writer::create_on(medium, folder, origin)
}

fn run(shared: &Arc<Shared>, mut writer: Writer, mut at: Seq) {
    let mut back_off = BackOff::default();
    loop {
        // A panic in the index is a damaged index: it must not leave searches at an old moment.
        let outcome = catch_unwind(AssertUnwindSafe(|| rounds(shared, &mut writer, at)));
        match outcome.unwrap_or_else(|_| Err("it panicked".into())) {
            Ok(End::Closed) => return writer.close(),
            Ok(End::Beside(beside)) => match replace(shared, writer, *beside) {
                Ok(next) => {
                    writer = next;
                    continue;
                }
                Err(problem) => give_up(shared, &problem),
            },
            Err(problem) => {
                give_up(shared, &problem);
                // Before the new one, so that merges it still runs do not write into its folder.
                writer.close();
            }
        }
        if !shared.bell.pause(back_off.next(Instant::now())) {
            return;
        }
        // Whatever was wrong with the index, the store has it all.
        let Some(fresh) = anew(shared) else { return };
        (writer, at) = (fresh, Seq(0));
    }
}

/// Searches wait from now on.
pub fn give_up(shared: &Shared, problem: &str) {
    tracing::error!(problem, "the index is given up and built again");
    shared.metrics.work.rebuilt();
    shared.note_building(problem);
    // In turn, or what the writer publishes at this moment would bring the damaged view back.
    let _turn = shared.publishing();
    shared.set_view(None);
}

/// An empty index, as soon as the file system gives one; none when the engine is closed meanwhile.
fn anew(shared: &Shared) -> Option<Writer> {
    while !shared.bell.is_closed() {
        match Writer::create_on(&shared.index_medium, &shared.index_folder, &shared.origin) {
            Ok((fresh, _)) => return Some(fresh),
            Err(error) => {
                tracing::error!(problem = %error.0, "no new index can be made yet");
                shared.note_building(format!("no new index can be made yet: {}", error.0));
            }
        }
        shared.bell.pause(REBUILD_PAUSE_MIN * 4);
    }
    None
}

/// How long to wait before an index that failed is built again: not at all, unless the one before it failed a moment ago. One that
/// cannot hold would otherwise be built without end, at the cost of everything else.
#[derive(Default)]
struct BackOff {
    last: Option<Instant>,
    pause: Duration,
}

impl BackOff {
    fn next(&mut self, now: Instant) -> Duration {
        let is_calm = self.last.is_none_or(|last| now.duration_since(last) > REBUILD_PAUSE_MAX + self.pause);
        self.pause = match is_calm {
            true => Duration::ZERO,
            false => (self.pause * 2).clamp(REBUILD_PAUSE_MIN, REBUILD_PAUSE_MAX),
        };
        self.last = Some(now);
        self.pause
    }
}

/// Why rounds come to an end.
enum End {
    Closed,
    /// An index made beside has come to the checkpoint of the one in use.
    Beside(Box<Beside>),
}

fn rounds(shared: &Shared, writer: &mut Writer, at: Seq) -> Result<End, String> {
    if shared.view().is_none() {
        if at > Seq(0) {
            look_through(shared, writer)?;
        }
        if !build(shared, writer, at)? {
            return Ok(End::Closed);
        }
    }
    if let Some(view) = shared.view() {
        view.index.warm(view.classes.ranks()).map_err(|error| error.0)?;
    }
    // The view that was opened with may hold a tail.
    let mut more = true;
    while more {
        if shared.bell.was_condemned() {
            return Err("a search could not read it".into());
        }
        if shared.view().is_none() {
            return Err("its view was given up".into());
        }
        if shared.bell.is_time_to_look() {
            look_through(shared, writer)?;
        }
        round(shared, writer)?;
        if let Some(mut beside) = shared.bell.offered() {
            match shared.catch_up_beside(&mut beside) {
                Ok(()) => return Ok(End::Beside(Box::new(beside))),
                Err(problem) => beside.refuse(problem),
            }
        }
        more = shared.bell.wait();
    }
    round(shared, writer)?;
    Ok(End::Closed)
}

/// The index made beside takes the place of the one in use, which goes on where that fails.
///
/// # Errors
/// Neither of them can be used any more.
fn replace(shared: &Shared, writer: Writer, beside: Beside) -> Result<Writer, String> {
    let Beside { writer: made, answer, .. } = beside;
    // Both, or a merge that still runs would write into a folder that has changed its name.
    writer.close();
    made.close();
    let exchanged = exchange(&shared.index_folder).map_err(|error| error.to_string());
    let (writer, snapshot) = open(shared).map_err(|error| error.0)?;
    if let Err(problem) = shared.adopt(snapshot) {
        writer.close();
        return Err(problem);
    }
    // Who went away needs no answer.
    drop(answer.send(exchanged));
    Ok(writer)
}

/// One round: seals what has come, indexes it, and replaces the view.
fn round(shared: &Shared, writer: &mut Writer) -> Result<(), String> {
    let Some(sealed) = shared.seal() else { return Ok(()) };
    let started = Instant::now();
    let snapshot = index_sealed(shared, writer, &sealed)?;
    shared.drop_generations(snapshot, &sealed);
    shared.metrics.work.round(started.elapsed());
    Ok(())
}

/// What a round takes in.
pub struct Sealed {
    generations: Vec<Arc<Generation>>,
    /// The last change that counts.
    seq: Seq,
}

/// Puts what was sealed into the index and commits.
pub fn index_sealed(shared: &Shared, writer: &mut Writer, sealed: &Sealed) -> Result<Snapshot, String> {
    let Sealed { generations, seq } = sealed;
    let mut more = 0;
    for entry in generations.iter().flat_map(|generation| generation.until(*seq)) {
        more += balance(entry.new.is_some(), entry.old.is_some());
        if entry.newest_at(*seq) {
            let row = entry.new.as_deref();
            put(writer, entry.id, entry.version, row, entry.old.is_some()).map_err(|error| error.0)?;
        }
    }
    writer.commit(*seq, more, shared.classes().ranks()).map_err(|error| error.0)
}

/// How many more certificates there are after a change.
fn balance(new: bool, old: bool) -> i64 {
    i64::from(new) - i64::from(old)
}

/// The newest row of a certificate takes the place of the one before, where there is one.
fn put(writer: &Writer, id: Id, version: Version, row: Option<&Numbered>, replaces: bool) -> Result<(), index::Error> {
    if replaces {
        writer.remove(id);
    }
    match row {
        Some(row) => writer.add(id, version, row),
        None => Ok(()),
    }
}

/// Brings an index that is missing or far behind close to the store, then goes live. False when the engine is closed meanwhile.
fn build(shared: &Shared, writer: &mut Writer, at: Seq) -> Result<bool, String> {
    let mut building = Building::from(at);
    while !shared.bell.is_closed() {
        if building.step(shared, writer)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An index on its way to the store's last change.
pub struct Building {
    at: Seq,
    /// What is put in and not committed.
    uncommitted: usize,
    more: i64,
}

impl Building {
    /// From an index that holds the state at a change.
    pub fn from(at: Seq) -> Building {
        Building { at, uncommitted: 0, more: 0 }
    }

    /// Takes a chunk of changes in; close behind the store, goes live. True when it has.
    pub fn step(&mut self, shared: &Shared, writer: &mut Writer) -> Result<bool, String> {
        let target = shared.seq();
        if self.at < target {
            shared.built_percent.store(self.at.0 * 100 / target.0, Ordering::Release);
            if let Some(done) = chunk(shared, writer, self.at, target)? {
                self.at = done.at;
                self.more += done.more;
                self.uncommitted += done.changes;
            }
        }
        let is_near = shared.seq().0 - self.at.0 <= TAIL_ROWS_MAX;
        if !is_near && self.uncommitted < 64 * CHUNK_ROWS {
            return Ok(false);
        }
        let more = std::mem::take(&mut self.more);
        let snapshot = writer.commit(self.at, more, shared.classes().ranks()).map_err(|error| error.0)?;
        self.uncommitted = 0;
        if !is_near {
            return Ok(false);
        }
        // Nothing is published while the tail is read, so the view is complete from its first moment.
        let published = shared.publishing();
        let seq = shared.seq();
        shared.go_live_locked(snapshot, seq, &published).map_err(|error| error.to_string())?;
        Ok(true)
    }
}

/// How far a chunk of changes brought an index.
pub struct Done {
    pub at: Seq,
    /// Certificates it has more than before.
    pub more: i64,
    pub changes: usize,
}

/// Puts the next changes behind `at` into an index, none behind `until`. None when there are no more.
pub fn chunk(shared: &Shared, writer: &Writer, at: Seq, until: Seq) -> Result<Option<Done>, String> {
    let rows = shared.read_rows(at, until, CHUNK_ROWS).map_err(|error| error.to_string())?;
    let Some(last) = rows.last().map(|row| row.seq) else { return Ok(None) };
    let mut done = HashSet::new();
    for row in rows.iter().rev().filter(|row| done.insert(row.id)) {
        put(writer, row.id, row.version, row.new.as_deref(), row.old.is_some()).map_err(|error| error.0)?;
    }
    let more = rows.iter().map(|row| balance(row.new.is_some(), row.old.is_some())).sum();
    Ok(Some(Done { at: last, more, changes: rows.len() }))
}

impl Shared {
    pub fn classes(&self) -> Arc<Classes> {
        self.publishing().classes.clone()
    }

    /// Makes what a commit brought visible.
    pub fn publish(&self, entries: Vec<NewEntry>, classes: Option<Arc<Classes>>, seq: Seq) {
        let mut published = self.publishing();
        let mut counters = published.counters.clone();
        Arc::make_mut(&mut counters).apply(&counters::deltas(&entries));
        let classes = classes.unwrap_or_else(|| published.classes.clone());
        self.publish_locked(entries, Published { classes, counters }, seq, &mut published);
    }

    /// Whatever can panic comes first: then what is published is of one moment at any time, and the overlay alone may hold more.
    fn publish_locked(&self, entries: Vec<NewEntry>, next: Published, seq: Seq, published: &mut Published) {
        let view = self.view().map(|view| {
            let (open, earlier) = view.generations.split_last().expect("a view has an open generation");
            entries.into_iter().for_each(|entry| open.push(earlier, entry));
            let many = open.rows() >= INDEX_ROUND_ROWS_MAX;
            let Published { classes, counters } = next.clone();
            (View { classes, counters, seq, ..View::clone(&view) }, many)
        });
        *published = next;
        let Some((view, many)) = view else {
            self.seq.store(seq.0, Ordering::Release);
            return;
        };
        self.set_view(Some(view));
        self.seq.store(seq.0, Ordering::Release);
        self.bell.note(many);
    }

    /// Takes in what the store holds now that it was opened again: a commit that failed may have been stored after all.
    pub fn catch_up(&self, stands: Stands) -> Result<(), Error> {
        let Stands { position, classes, counters } = stands;
        let next =
            Published { classes: Arc::new(Classes::read(&classes)?), counters: Arc::new(Counters::new(counters)) };
        let mut published = self.publishing();
        let from = self.seq();
        if position.seq < from {
            // Nothing but another file in its place does that, or a disk that forgets what it has synced. Whoever went on would lose more.
            return Err(Error::Damaged(format!("it is at change {}, but {from} was acknowledged", position.seq)));
        }
        let rows = match self.view() {
            Some(_) => self.read_rows_with(&next.classes, from, position.seq, usize::MAX)?,
            None => Vec::new(),
        };
        self.publish_locked(rows, next, position.seq, &mut published);
        Ok(())
    }

    /// Searches work from now on: the index at its checkpoint, and the tail up to `seq` from the store.
    fn go_live(&self, snapshot: Snapshot, seq: Seq) -> Result<(), Error> {
        let published = self.publishing();
        self.go_live_locked(snapshot, seq, &published)
    }

    fn go_live_locked(&self, snapshot: Snapshot, seq: Seq, published: &Published) -> Result<(), Error> {
        let open = Generation::default();
        let rows = self.read_rows_with(&published.classes, snapshot.at, seq, usize::MAX)?;
        let tail = !rows.is_empty();
        rows.into_iter().for_each(|row| open.push(&[], row));
        let view = View {
            index: Arc::new(snapshot),
            generations: vec![Arc::new(open)],
            classes: published.classes.clone(),
            counters: published.counters.clone(),
            seq,
        };
        self.set_view(Some(view));
        if tail {
            self.bell.note(false);
        }
        Ok(())
    }

    /// Starts a new generation and hands out those before. None when nothing has come.
    pub fn seal(&self) -> Option<Sealed> {
        let _turn = self.publishing();
        let view = self.view()?;
        if view.generations.iter().all(|generation| generation.len() == 0) {
            return None;
        }
        let generations = view.generations.clone();
        let mut next = View::clone(&view);
        next.generations.push(Arc::new(Generation::default()));
        let seq = next.seq;
        self.set_view(Some(next));
        Some(Sealed { generations, seq })
    }

    /// The index holds the oldest generations now.
    pub fn drop_generations(&self, snapshot: Snapshot, sealed: &Sealed) {
        let _turn = self.publishing();
        if let Some(view) = self.view() {
            let mut next = View::clone(&view);
            next.generations.drain(..sealed.generations.len());
            next.index = Arc::new(snapshot);
            self.set_view(Some(next));
        }
    }

    /// [`read_rows_with`](Self::read_rows_with) the classes of this moment.
    pub fn read_rows(&self, after: Seq, until: Seq, max: usize) -> Result<Vec<NewEntry>, Error> {
        let classes = self.classes();
        self.read_rows_with(&classes, after, until, max)
    }

    /// Changes after one and up to another as the overlay holds them, read from the store; at most `max`.
    ///
    /// The store is ahead of what is published while the writer is between its commit and the publishing of it. What lies behind
    /// `until` is left to the writer, or it would be counted twice.
    fn read_rows_with(&self, classes: &Classes, after: Seq, until: Seq, max: usize) -> Result<Vec<NewEntry>, Error> {
        let max = max.min(usize::try_from(until.0.saturating_sub(after.0)).unwrap_or(usize::MAX));
        let reader = self.store.reader()?;
        let entry = |change: Change| -> Result<NewEntry, Error> {
            let Change { seq, id, .. } = change;
            let row = |version, consent| self.numbered_row(&reader, classes, id, version, consent);
            match change.what {
                What::Version(version) => {
                    let consent = reader.consent_at(id, seq)?;
                    let old = version.before().map(|before| row(before, consent)).transpose()?.flatten();
                    Ok(NewEntry { seq, id, version, new: row(version, consent)?, old })
                }
                What::Consent(number) => {
                    let read =
                        |number| reader.consent_change(id, number, |record| Ok((record.version, record.consent)));
                    let (version, consent) = read(number)?;
                    let before = if number > 1 { read(number - 1)?.1 } else { Consent::default() };
                    Ok(NewEntry { seq, id, version, new: row(version, consent)?, old: row(version, before)? })
                }
            }
        };
        reader.changes_after(after, max)?.into_iter().map(entry).collect()
    }

    fn numbered_row(
        &self,
        reader: &Reader,
        classes: &Classes,
        id: Id,
        version: Version,
        consent: Consent,
    ) -> Result<Option<Arc<Numbered>>, Error> {
        let row = reader.version(id, version, |bytes| -> Result<_, Error> {
            let record = Record::read(bytes)?;
            if record.state == State::Deleted { Ok(None) } else { self.row(&record) }
        })?;
        let row = row.ok_or_else(|| Error::Damaged(format!("version {version} of Composition/{id} is missing")))??;
        let Some(mut row) = row else { return Ok(None) };
        lay(&mut row, consent);
        let found = numbered(classes, row);
        found
            .map(Some)
            .ok_or_else(|| Error::Damaged("a stored row has a class that the table of classes does not know".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_fails_again_and_again_is_built_with_longer_and_longer_pauses() {
        let (mut back_off, mut now) = (BackOff::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let pause = back_off.next(now);
            pauses.push(pause.as_millis());
            now += pause + Duration::from_secs(1);
        }
        assert_eq!(pauses[..4], [0, 250, 500, 1_000]);
        assert_eq!(pauses[10..], [60_000, 60_000]);
        // One that held for a while is built at once.
        assert_eq!(back_off.next(now + REBUILD_PAUSE_MAX * 3), Duration::ZERO);
    }

    #[test]
    fn a_suspicion_is_answered_at_once_and_the_next_one_waits() {
        let bell = Bell::default();
        assert!(!bell.is_time_to_look());
        bell.suspect();
        assert!(bell.is_time_to_look());
        bell.suspect();
        assert!(!bell.is_time_to_look());
        let left = bell.state.lock().unwrap().look_in();
        assert!(left > Duration::ZERO && left <= SUSPICION_TIME, "{left:?}");
    }
}
