//! How the engine tells how it is.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::{EngineHealth, IndexHealth, STORE_FILE, StoreHealth};

fn lag(health: &EngineHealth) -> Option<u64> {
    match health.index {
        IndexHealth::Live { lag } => Some(lag),
        IndexHealth::Building { .. } => None,
    }
}

#[test]
fn an_engine_that_works_says_so_and_what_it_has_still_to_index() {
    let fixture = Fixture::new();
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), health.seq, health.queue), (StoreHealth::Good, Seq(0), 0));
    assert!(health.disk.is_some_and(|disk| disk.total_bytes > 0), "{health:?}");
    fixture.create(State::Draft, "a");
    fixture.create(State::Draft, "b");
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), health.seq, health.queue), (StoreHealth::Good, Seq(2), 0));
    assert!(lag(&health).is_some_and(|lag| lag <= 2), "{health:?}");
    fixture.indexed();
    let health = fixture.engine.health();
    assert_eq!((lag(&health), health.overlay_rows), (Some(0), 0));
}

#[test]
fn an_engine_that_is_closed_says_so_and_answers_still() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "a");
    fixture.engine.close();
    let health = fixture.engine.health();
    assert_eq!((health.store.clone(), lag(&health)), (StoreHealth::Closed, None));
}

#[test]
fn what_is_handed_over_and_refused_leaves_nothing_in_the_queue() {
    let fixture = Fixture::new();
    fixture.engine.close();
    let content = content(Trigger::Create, State::Draft, "a");
    let refused = fixture.write(Write::Create { content, if_none_exist: None, rows: None });
    assert!(matches!(refused, Err(RefusedChange::Closed)));
    assert_eq!(fixture.engine.health().queue, 0);
}

#[test]
fn batches_and_commits_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_736_676_000_000));
    let metrics = base::metrics::Metrics::new();
    let engine = Engine::open(EngineOptions { metrics: metrics.clone(), ..options(&folder, &now) }).unwrap();
    let fixture = Fixture { folder, now, engine };
    fixture.create(State::Draft, "a");
    fixture.create(State::Draft, "b");
    fixture.indexed();
    fixture.engine.close();
    let text = metrics.text(&base::metrics::Readings::default());
    for line in
        ["hcert_write_batch_jobs_count 2", "hcert_commit_duration_seconds_count 2", "hcert_commits_failed_total 0"]
    {
        assert!(text.lines().any(|told| told == line), "{line}\n{text}");
    }
    assert!(!text.contains("hcert_index_round_duration_seconds_count 0"), "{text}");
}

/// What was seen: the store of an idle server was cut to nothing, and opening it again ended in an empty one, since redb writes what it
/// has in memory when it closes a file.
#[test]
fn a_store_that_is_cut_to_nothing_is_told_and_stays_as_it_is() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "a");
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let cut = |bytes| fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
    cut(0);
    let deadline = Instant::now() + Duration::from_secs(30);
    while fixture.engine.health().store != StoreHealth::Gone {
        assert!(Instant::now() < deadline, "{:?}", fixture.engine.health());
        fixture.engine.shared.store.distrust();
        thread::sleep(Duration::from_millis(10));
    }
    assert!(
        fixture.engine.read(Id::FIRST, None, |entry| entry.stored()).is_err()
            || fixture.engine.read(Id::FIRST, None, |entry| entry.stored()).unwrap().is_some()
    );
    fixture.engine.close();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "nothing is written into it");
    let again = Engine::open(options(&fixture.folder, &fixture.now)).map(drop);
    assert!(matches!(&again, Err(StoreError::Damaged(problem)) if problem.contains("empty")), "{again:?}");
}

/// Whatever was acknowledged after that would be gone with the file.
#[test]
fn nothing_is_written_into_a_file_that_was_removed_moved_or_replaced() {
    type Takes = fn(&Path);
    let takes: [(&str, Takes); 6] = [
        ("cut", |path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }),
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("removed", |path| fs::remove_file(path).unwrap()),
        ("moved", |path| fs::rename(path, path.with_extension("moved")).unwrap()),
        ("replaced", |path| {
            fs::copy(path, path.with_extension("copied")).unwrap();
            fs::rename(path.with_extension("copied"), path).unwrap();
        }),
        ("its folder moved", |path| {
            let folder = path.parent().unwrap();
            fs::rename(folder, folder.with_extension("moved")).unwrap();
        }),
    ];
    for (name, take) in takes {
        let fixture = Fixture::new();
        fixture.create(State::Draft, "a");
        let path = fixture.folder.path().join("data").join(STORE_FILE);
        take(&path);
        let write =
            Write::Create { content: content(Trigger::Create, State::Draft, "b"), if_none_exist: None, rows: None };
        let Err(RefusedChange::Store(error)) = fixture.write(write) else { panic!("{name}: it was written") };
        assert!(matches!(*error, StoreError::Gone), "{name}: {error}");
        assert_eq!(fixture.engine.health().store, StoreHealth::Gone, "{name}");
        assert!(
            fixture.engine.read(Id::FIRST, None, |entry| entry.stored()).unwrap().is_some(),
            "{name}: what can be read is read"
        );
        let gone = StoreError::Gone.to_string();
        let verified = fixture.engine.verify(&certificate::Names::default(), &mut |_| ());
        let told =
            verified.map(|verified| verified.problems.into_iter().map(|problem| problem.text).collect::<String>());
        let told = told.unwrap_or_else(|error| error.to_string());
        assert!(told.contains(&gone), "{name}: {told}");
        if let Err(error) = fixture.engine.stats() {
            assert_eq!(error.to_string(), gone, "{name}");
        }
    }
}

#[test]
fn an_idle_engine_sees_that_its_file_is_gone_and_does_not_take_it_back() {
    let mut fixture = Fixture::new();
    fixture.create(State::Draft, "a");
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    let aside = path.with_extension("moved");
    fs::rename(&path, &aside).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while fixture.engine.health().store != StoreHealth::Gone {
        assert!(Instant::now() < deadline, "{:?}", fixture.engine.health());
        thread::sleep(Duration::from_millis(10));
    }
    fs::rename(&aside, &path).unwrap();
    assert!(matches!(fixture.delete(Id::FIRST), Err(RefusedChange::Store(_))));
    fixture.reopen();
    assert_eq!(fixture.engine.health().store, StoreHealth::Good);
    fixture.delete(Id::FIRST).unwrap();
}

/// The lock of the file goes with the file; the lock of the folder stays.
#[test]
fn a_folder_has_one_engine_though_its_store_is_replaced() {
    let mut fixture = Fixture::new();
    fixture.create(State::Draft, "a");
    let path = fixture.folder.path().join("data").join(STORE_FILE);
    fs::copy(&path, path.with_extension("copied")).unwrap();
    fs::rename(path.with_extension("copied"), &path).unwrap();
    let second = || options(&fixture.folder, &fixture.now);
    assert!(matches!(Engine::open(second()).map(drop), Err(StoreError::InUse(Some(_)))));
    assert!(matches!(Engine::open_read_only(second()).map(drop), Err(StoreError::InUse(Some(_)))));
    fixture.engine.close();
    let looks = Engine::open_read_only(second()).unwrap();
    assert!(matches!(Engine::open(second()).map(drop), Err(StoreError::InUse(Some(_)))));
    looks.close();
    fixture.reopen();
}
