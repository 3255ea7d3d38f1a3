//! The indexer: takes changes in their order into the index, round by round, and gives searches the next view.
//!
//! Three ways lead to a view that is ready: the index is close behind the store (the tail is read into the overlay at the start), it
//! is far behind (the tail is indexed first), or there is none (everything is). Meanwhile searches are told to wait.

mod background;
mod building;
mod disk_space;
mod notifier;
mod publishing;
mod steps;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::EngineShared;
use super::index::{self, IndexWriterHandle, Snapshot};
use super::overlay::Generation;
use super::replacement::{ReplacementIndex, clear_away, exchange, put_in_place};
use super::store::StoreError;
use super::view::IndexView;
use background::BackgroundTask;
use base::log::event;
use base::threads::{self, give_way, is_beyond_limits};
#[cfg(test)]
pub(crate) use building::Building;
use building::build;
pub(super) use building::{CHUNK_ROWS, chunk};
use certificate::Seq;
pub(super) use notifier::Notifier;
pub(super) use steps::look_through;
use steps::{TAIL_ROWS_MAX, balance, checked, put};

/// The shortest and the longest wait before an index that fails soon after its beginning is built again.
const REBUILD_PAUSE_MIN: Duration = Duration::from_millis(250);
const REBUILD_PAUSE_MAX: Duration = Duration::from_secs(60);

/// The indexer before its thread takes it over.
pub(super) struct Indexer {
    pub shared: Arc<EngineShared>,
    pub writer: IndexWriterHandle,
    /// What the index holds.
    pub at: Seq,
}

impl Indexer {
    /// Opens the index. When it is at hand and close behind, searches work on return. Where it is so large that looking through its files would
    /// hold them up, that is done in the background, and nothing is merged before.
    pub(super) fn open(shared: &Arc<EngineShared>) -> Result<Indexer, StoreError> {
        put_in_place(&shared.index_folder, |folder| usable(shared, folder));
        let told = |error: index::IndexError| match is_beyond_limits(&error.0) {
            true => StoreError::Limits(error.0),
            false => StoreError::Io(error.0),
        };
        let (mut writer, mut snapshot) = open(shared).map_err(told)?;
        let looked = match shared.index_medium.is_checked_at_once(writer.bytes()) {
            true => look_through(shared, &writer),
            false => {
                writer.set_merging(false);
                shared.notifier.suspect();
                checked(|| writer.check().run_quick())
            }
        };
        if let Err(problem) = looked {
            event!(INDEX_DAMAGED, problem);
            shared.note_building(problem);
            drop(snapshot);
            writer.close();
            (writer, snapshot) =
                IndexWriterHandle::create_on(&shared.index_medium, &shared.index_folder, &shared.origin)
                    .map_err(told)?;
        }
        let (at, seq) = (snapshot.at, shared.seq());
        if seq.0 - at.0 <= TAIL_ROWS_MAX {
            shared.go_live(snapshot, seq)?;
        } else if at.0 > 0 {
            shared.note_building("the index was far behind the store");
        }
        Ok(Indexer { shared: shared.clone(), writer, at })
    }
}

/// Up to which change a folder holds an index of the store, as far as its list of files says.
fn usable(shared: &EngineShared, folder: &Path) -> Option<Seq> {
    let read = || index::read_up_to(&shared.index_medium, folder, &shared.origin);
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().filter(|at| *at <= shared.seq())
}

/// Starts the indexer's thread.
pub(super) fn start(indexer: Indexer) -> Result<JoinHandle<()>, StoreError> {
    let Indexer { shared, writer, at } = indexer;
    let thread = thread::Builder::new().name("hcert-indexer".into());
    thread.spawn(move || run(&shared, writer, at)).map_err(|error| StoreError::Limits(threads::refused(&error)))
}

/// The index of the folder with all it holds, or an empty one in place of an index that is missing, torn or foreign.
fn open(shared: &EngineShared) -> Result<(IndexWriterHandle, Snapshot), index::IndexError> {
    // A torn file may show as a panic as well as an error.
    let (medium, folder, origin) = (&shared.index_medium, &shared.index_folder, &shared.origin);
    let opened = catch_unwind(AssertUnwindSafe(|| IndexWriterHandle::open_on(medium, folder, origin)));
    match opened {
        // An index ahead of its store is not the store's: the folder was put together from two.
        Ok(Ok((writer, snapshot))) if snapshot.at <= shared.seq() => return Ok((writer, snapshot)),
        Ok(Ok(_)) => {
            event!(INDEX_AHEAD);
            shared.note_building("the index was ahead of the store");
        }
        // It is as good as it was: a start with more threads goes on with it.
        Ok(Err(error)) if is_beyond_limits(&error.0) => return Err(error),
        // A store without a change has no index to miss.
        Ok(Err(error)) if shared.seq() == Seq(0) => event!(INDEX_EMPTY, problem = %error.0),
        Ok(Err(error)) => {
            event!(INDEX_BUILT, problem = %error.0);
            shared.note_building(error.0);
        }
        Err(_) => {
            event!(INDEX_UNREADABLE);
            shared.note_building("the index could not be read");
        }
    }
    IndexWriterHandle::create_on(medium, folder, origin)
}

fn run(shared: &Arc<EngineShared>, mut writer: IndexWriterHandle, mut at: Seq) {
    let mut back_off = BackOff::default();
    loop {
        // A panic in the index is a damaged index: it must not leave searches at an old moment.
        let outcome = catch_unwind(AssertUnwindSafe(|| rounds(shared, &mut writer, at)));
        let (mut problem, view) = match outcome.unwrap_or_else(|_| Err("it panicked".into())) {
            Ok(RoundsEnd::Closed) => return writer.close(),
            Ok(RoundsEnd::Replacement(replacement)) => match replace(shared, writer, *replacement) {
                Ok(next) => {
                    writer = next;
                    continue;
                }
                Err(problem) => (problem.clone(), stuck(shared, &problem)),
            },
            Err(problem) => {
                let view = stuck(shared, &problem);
                if view.is_none() {
                    give_up(shared, &problem);
                }
                // Before the next one, so that merges it still runs do not write into its folder.
                writer.close();
                (problem, view)
            }
        };
        if let Some(view) = view {
            event!(INDEX_NO_ROOM, problem);
            shared.note_index_waits(Some(problem));
            match disk_space::wait(shared, view.index.at) {
                None => return,
                Some(Ok(next)) => {
                    writer = next;
                    continue;
                }
                Some(Err(other)) => problem = other,
            }
        }
        if shared.view().is_some() {
            give_up(shared, &problem);
        }
        if !shared.notifier.pause(back_off.next(Instant::now())) {
            return;
        }
        // Whatever was wrong with the index, the store has it all.
        let Some(fresh) = anew(shared) else { return };
        (writer, at) = (fresh, Seq(0));
    }
}

/// What searches go on with while the system gives the index no room or no thread.
fn stuck(shared: &EngineShared, problem: &str) -> Option<Arc<IndexView>> {
    shared.view().filter(|_| disk_space::is_missing(shared, problem))
}

/// Searches wait from now on.
pub(super) fn give_up(shared: &EngineShared, problem: &str) {
    event!(INDEX_GIVEN_UP, problem);
    shared.metrics.work.rebuilt();
    shared.note_building(problem);
    shared.notifier.note_given_up();
    // In turn, or what the writer publishes at this moment would bring the damaged view back.
    let _turn = shared.publishing();
    shared.set_view(None);
}

/// An empty index, as soon as the file system gives one; none when the engine is closed meanwhile.
fn anew(shared: &EngineShared) -> Option<IndexWriterHandle> {
    while !shared.notifier.is_closed() {
        match IndexWriterHandle::create_on(&shared.index_medium, &shared.index_folder, &shared.origin) {
            Ok((fresh, _)) => return Some(fresh),
            Err(error) => {
                event!(INDEX_NONE_YET, problem = %error.0);
                shared.note_building(format!("no new index can be made yet: {}", error.0));
                shared.notifier.note_given_up();
            }
        }
        shared.notifier.pause(REBUILD_PAUSE_MIN * 4);
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
enum RoundsEnd {
    Closed,
    /// An index made beside has come to the checkpoint of the one in use.
    Replacement(Box<ReplacementIndex>),
}

fn rounds(shared: &Arc<EngineShared>, writer: &mut IndexWriterHandle, at: Seq) -> Result<RoundsEnd, String> {
    if shared.view().is_none() && !build(shared, writer, at)? {
        return Ok(RoundsEnd::Closed);
    }
    if let Some(view) = shared.view() {
        view.index.want_usual();
    }
    let (mut look, mut orders) = (BackgroundTask::default(), BackgroundTask::default());
    if writer.is_outdated() {
        event!(INDEX_OUTDATED);
        let outdated = shared.clone();
        BackgroundTask::default().start(shared, "hcert-index-renewal", move |_| outdated.renew())?;
    }
    // The view that was opened with may hold a tail.
    let mut more = true;
    while more {
        if shared.notifier.was_condemned() {
            return Err("a search could not read it".into());
        }
        if shared.view().is_none() {
            return Err("its view was given up".into());
        }
        if shared.notifier.is_time_to_look() {
            match shared.index_medium.is_checked_at_once(writer.bytes()) {
                true => look_through(shared, writer)?,
                false if look.is_running() => {}
                false => {
                    let check = writer.check();
                    let work = move |goes_on: &dyn Fn() -> bool| {
                        give_way();
                        checked(|| check.run(goes_on))
                    };
                    look.start(shared, "hcert-index-check", work)?;
                }
            }
        }
        if let Some(looked) = look.ended() {
            looked?;
            writer.set_merging(true);
        }
        round(shared, writer)?;
        make_orders(shared, &mut orders)?;
        shared.note_index_waits(None);
        if let Some(mut replacement) = shared.notifier.offered() {
            match shared.catch_up_replacement(&mut replacement) {
                Ok(()) => return Ok(RoundsEnd::Replacement(Box::new(replacement))),
                Err(problem) => replacement.refuse(problem),
            }
        }
        more = shared.notifier.wait();
    }
    round(shared, writer)?;
    Ok(RoundsEnd::Closed)
}

/// Has the order arrays that searches want and large segments lack made in the background: to sort ten million documents takes seconds. A search
/// that comes before makes its own, or waits for it where it is under way.
fn make_orders(shared: &Arc<EngineShared>, orders: &mut BackgroundTask) -> Result<(), String> {
    orders.ended().transpose()?;
    match shared.view() {
        Some(view) if !orders.is_running() && view.index.lacks_arrays() => {
            let (index, classes) = (view.index.clone(), view.classes.clone());
            let work = move |goes_on: &dyn Fn() -> bool| checked(|| index.make_arrays(classes.ranks(), goes_on));
            orders.start(shared, "hcert-index-orders", work)
        }
        _ => Ok(()),
    }
}

/// The index made beside takes the place of the one in use, which goes on where that fails. Searches go on with the view of before until it
/// is replaced, and both folders stay until then.
///
/// # Errors
/// Neither of them can be used at this moment.
fn replace(
    shared: &EngineShared,
    writer: IndexWriterHandle,
    replacement: ReplacementIndex,
) -> Result<IndexWriterHandle, String> {
    let ReplacementIndex { writer: made, answer, .. } = replacement;
    // Both, or a merge that still runs would write into a folder that has changed its name.
    writer.close();
    made.close();
    let folder = &shared.index_folder;
    let exchanged = exchange(folder).map_err(|error| error.to_string());
    let replaced = exchanged.and_then(|()| {
        let taken = take_over(shared);
        if taken.is_err() {
            exchange(folder).map_err(|error| error.to_string())?;
        }
        taken
    });
    clear_away(folder);
    let (next, answered) = match replaced {
        Ok(next) => (Ok(next), Ok(())),
        // The one of before, or what cannot be read twice is built.
        Err(problem) => (take_over(shared), Err(problem)),
    };
    // Who went away needs no answer.
    drop(answer.send(answered));
    next
}

/// Opens the index in its place, for writing and for searches.
///
/// # Errors
/// It cannot be opened, or is not at the change of the one in use.
fn take_over(shared: &EngineShared) -> Result<IndexWriterHandle, String> {
    let (medium, folder, origin) = (&shared.index_medium, &shared.index_folder, &shared.origin);
    // A torn file may show as a panic as well as an error.
    let opened = catch_unwind(AssertUnwindSafe(|| IndexWriterHandle::open_on(medium, folder, origin)));
    let (writer, snapshot) = opened.map_err(|_| "opening it panicked".to_owned())?.map_err(|error| error.0)?;
    match shared.adopt(snapshot) {
        Ok(()) => Ok(writer),
        Err(problem) => {
            writer.close();
            Err(problem)
        }
    }
}

/// One round: seals what has come, indexes it, and replaces the view. Where the data folder was moved away, the index that lies at its path
/// is another one's.
fn round(shared: &EngineShared, writer: &mut IndexWriterHandle) -> Result<(), String> {
    if shared.store.expect_folder().is_err() {
        return Ok(());
    }
    let Some(sealed) = shared.seal() else { return Ok(()) };
    let started = Instant::now();
    let snapshot = index_sealed(shared, writer, &sealed)?;
    shared.drop_generations(snapshot, &sealed);
    shared.metrics.work.round(started.elapsed());
    Ok(())
}

/// What a round takes in.
pub(super) struct RoundInput {
    generations: Vec<Arc<Generation>>,
    /// The last change that counts.
    seq: Seq,
}

/// Puts what was sealed into the index and commits.
pub(super) fn index_sealed(
    shared: &EngineShared,
    writer: &mut IndexWriterHandle,
    sealed: &RoundInput,
) -> Result<Snapshot, String> {
    let RoundInput { generations, seq } = sealed;
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
}
