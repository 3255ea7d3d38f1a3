//! Backups by the clock.

use std::fs;
use std::time::{Duration, Instant};

use super::super::folder;
use super::*;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn eventually(claim: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "{claim}, but not within 60 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

struct Scheduled {
    place: Place,
    folder: PathBuf,
}

impl Scheduled {
    fn new() -> Scheduled {
        let place = Place::with_history(20);
        place.now.store(NOON, Ordering::SeqCst);
        let folder = place.path("archives");
        fs::create_dir(&folder).unwrap();
        Scheduled { place, folder }
    }

    fn start(&self) -> Schedule {
        let plan = BackupPlan {
            folder: self.folder.clone(),
            every_minutes: 60,
            full_every: 3,
            keep_days: 2,
            recipients: Vec::new(),
            data: self.place.path("data"),
        };
        let Place { engine, log, now, .. } = &self.place;
        Schedule::start(plan, engine.clone(), log.clone(), clock(now)).unwrap()
    }

    /// Lets a server run until it took its backup of this moment.
    fn run_at(&self, at: i64) {
        self.place.now.store(at, Ordering::SeqCst);
        let schedule = self.start();
        eventually("a backup is taken", || schedule.status().last_ok == Some(at));
        eventually("old ones are looked for", || schedule.status().last_problem.is_none());
    }

    fn found(&self) -> Vec<Archive> {
        folder::list(&self.folder, &ArchiveKeys::default()).unwrap().archives
    }

    /// Whether each is a full one, the oldest first.
    fn kinds(&self) -> Vec<bool> {
        self.found().iter().map(|archive| archive.about.is_full()).collect()
    }
}

#[test]
fn every_third_backup_is_a_full_one_and_each_goes_on_from_the_last() {
    let scheduled = Scheduled::new();
    for hour in 0..5 {
        scheduled.run_at(NOON + hour * 60 * MINUTE);
    }
    assert_eq!(scheduled.kinds(), [true, false, false, true, false]);
    let found = scheduled.found();
    assert_eq!(found[1].about.base, Some(found[0].digest));
    assert_eq!(found[2].about.base, Some(found[1].digest));
    check(&found[..3], true, &mut |_| {}).unwrap();
}

#[test]
fn a_server_that_starts_again_waits_until_the_next_one_is_due() {
    let scheduled = Scheduled::new();
    scheduled.run_at(NOON);
    scheduled.place.now.store(NOON + 59 * MINUTE, Ordering::SeqCst);
    let schedule = scheduled.start();
    eventually("the last one is known", || schedule.status().last_ok == Some(NOON));
    drop(schedule);
    assert_eq!(scheduled.kinds(), [true]);
    // A clock that was set back far would put the next one off as far.
    scheduled.run_at(NOON - DAY);
}

#[test]
fn a_failure_is_told_and_mended_by_the_next_try() {
    let scheduled = Scheduled::new();
    fs::remove_dir(&scheduled.folder).unwrap();
    let schedule = scheduled.start();
    eventually("the failure is told", || schedule.status().last_problem.is_some());
    assert_eq!(schedule.status().last_ok, None);
    drop(schedule);
    fs::create_dir(&scheduled.folder).unwrap();
    scheduled.run_at(NOON);
}

#[test]
fn an_archive_that_went_missing_makes_the_next_one_a_full_one() {
    let scheduled = Scheduled::new();
    scheduled.run_at(NOON);
    scheduled.run_at(NOON + DAY / 4);
    fs::remove_file(&scheduled.found()[0].path).unwrap();
    scheduled.run_at(NOON + DAY / 2);
    assert_eq!(scheduled.kinds(), [false, true]);
}

#[test]
fn old_chains_go_as_a_whole_and_the_newest_stays() {
    let scheduled = Scheduled::new();
    let found = |old: i64| {
        let archives = scheduled.found();
        let store = archives[0].about.store.clone();
        folder::too_old(&archives, &store, old).iter().map(|archive| archive.about.at).collect::<Vec<_>>()
    };
    let times: Vec<i64> = (0..5).map(|hour| NOON + hour * 60 * MINUTE).collect();
    times.iter().for_each(|at| scheduled.run_at(*at));
    // The end of the first chain is of the third hour.
    assert_eq!(found(times[2]), Vec::<i64>::new());
    assert_eq!(found(times[2] + 1), [times[2], times[1], times[0]]);
    assert_eq!(found(i64::MAX), [times[2], times[1], times[0]]);
    assert_eq!(folder::too_old(&scheduled.found(), "another store", i64::MAX), Vec::<&Archive>::new());
    scheduled.run_at(NOON + 10 * DAY);
    let kept = || scheduled.found().iter().map(|archive| archive.about.at).collect::<Vec<_>>();
    eventually("the old chain is gone", || kept() == [times[3], times[4], NOON + 10 * DAY]);
    assert!(fs::read_dir(&scheduled.folder).unwrap().count() == 6, "each with its digest");
}
