//! Commands on a folder whose bytes are not what they were, or that is none.

use std::fs;

use super::{Place, lines};

const DATA: [&str; 2] = ["--data", "data"];
/// Bytes of the store that are changed, one at a time, spread over the file.
const PLACES: u64 = 6;

/// A check changes nothing: what could be read before it can be read behind it. And what a backup calls an archive can be restored.
#[test]
fn a_check_makes_nothing_worse_and_a_backup_holds_what_it_says() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(200, 5)).expect(0);
    let whole = place.run(&[&["export"], &DATA[..]].concat()).out;
    let store = fs::read(place.path("data/store.redb")).unwrap();
    let used = store.iter().rposition(|byte| *byte != 0).unwrap() as u64;
    let mut read_in_spite_of_it = 0;
    for number in 0..PLACES {
        let mut damaged = store.clone();
        damaged[usize::try_from(used * (2 * number + 1) / (2 * PLACES)).unwrap()] ^= 0x40;
        drop(fs::remove_dir_all(place.path("data/index")));
        fs::write(place.path("data/store.redb"), damaged).unwrap();
        let export = || {
            let exported = place.run(&[&["export"], &DATA[..]].concat());
            // What cannot be read is counted; the rest is there.
            if let Some((said, _)) = exported.said.split_once(" cannot be read and ") {
                let bad: usize = said.rsplit(' ').nth(1).unwrap().parse().unwrap();
                assert_eq!(lines(&exported.out).len() + bad, lines(&whole).len(), "{}", exported.said);
            }
            (exported.code, exported.out)
        };
        let before = export();
        let checked = place.run(&[&["verify"], &DATA[..]].concat());
        assert!(matches!(checked.code, Some(0 | 1 | 3)), "{:?}: {}", checked.code, checked.said);
        assert!(export() == before, "place {number}: the check changed what can be read");
        if before.0 == Some(0) && before.1 == whole {
            read_in_spite_of_it += 1;
        }
        drop(fs::remove_file(place.path("kept.tar")));
        drop(fs::remove_file(place.path("kept.tar.sha256")));
        if place.run(&[&["backup", "kept.tar"], &DATA[..]].concat()).code == Some(0) {
            place.run(&["restore", "--check", "kept.tar"]).expect(0);
        }
    }
    assert!(read_in_spite_of_it > 0, "some damage hits what is not read");
}

#[test]
fn commands_that_look_at_a_store_make_none() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    for command in [&["verify"][..], &["stats"], &["compact"], &["reindex"], &["backup", "kept.tar"]] {
        place.run(&[command, &DATA].concat()).expect(1).says("no store");
        place.run(&[command, &["--data", "nowhere"]].concat()).expect(1).says("no data folder");
    }
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0, "the folder is as it was");
    assert!(!place.path("nowhere").exists() && !place.path("kept.tar").exists());
}
