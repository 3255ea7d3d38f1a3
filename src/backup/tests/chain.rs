//! Archives that go on from each other, and those that do not.

use std::fs;

use super::*;
use certificate::Seq;

pub(super) fn more(place: &Place, seed: u64) {
    play(&place.engine, &place.now, &Script::new(seed, 30), u64::MAX, u64::MAX);
}

/// A store with a full archive and two that go on from it.
pub(super) fn three() -> (Place, [Archive; 3]) {
    let place = Place::with_history(40);
    let one = place.full("1.tar");
    more(&place, 11);
    let two = place.behind("2.tar", &one);
    more(&place, 12);
    let three = place.behind("3.tar", &two);
    (place, [one, two, three])
}

fn paths(chain: &[Archive]) -> Vec<&Path> {
    chain.iter().map(|archive| archive.path.as_path()).collect()
}

#[test]
fn archives_are_put_in_order_however_they_are_named() {
    let (place, [one, two, three]) = three();
    let whole = [one.clone(), two.clone(), three.clone()];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let named = order.map(|at| whole[at].clone()).to_vec();
        assert_eq!(in_order(named).unwrap(), whole);
    }
    let until = three.about.until;
    let (restored, _) = place.restored(&whole, "restored", None);
    assert_eq!((restored.until, restored.archives), (Seq(until), 3));
    // Ids that only later archives know were given all the same.
    let (restored, _) = place.restored(&whole, "earlier", Some(one.about.until));
    assert_eq!((restored.archives, restored.next_id), (1, three.about.next_id + 1_000));
}

#[test]
fn what_does_not_belong_together_is_told() {
    let (place, [one, two, three]) = three();
    let refused = |archives: &[&Archive]| in_order(archives.iter().map(|archive| (*archive).clone()).collect());
    let says = |archives: &[&Archive], words: &str| {
        let told = refused(archives).unwrap_err();
        assert!(told.contains(words), "{words}: {told}");
    };
    says(&[], "no full archive");
    says(&[&two, &three], "no full archive");
    says(&[&one, &three], "between them is missing");
    says(&[&one, &two, &two], "between them is missing");
    let again = place.full("again.tar");
    says(&[&one, &again], "second full archive");
    let (other, [_, foreign, _]) = self::three();
    says(&[&one, &foreign], "another store");
    drop(other);
    let forged = |change: fn(&mut ArchiveManifest)| {
        let mut archive = two.clone();
        change(&mut archive.about);
        archive
    };
    says(&[&one, &forged(|about| about.epoch = "other".into())], "another epoch");
    says(&[&one, &forged(|about| about.names.clear())], "other namespaces");
    says(&[&one, &forged(|about| about.after -= 1)], "another change");
    let past_the_end = place.try_restore(&[one, two], "restored", Some(three.about.until)).unwrap_err();
    assert!(past_the_end.contains("is in none of the archives"), "{past_the_end}");
    assert!(!place.path("restored").exists());
}

#[test]
fn a_store_goes_on_only_from_an_archive_of_its_own_epoch() {
    let (place, [one, two, _]) = three();
    let refused = |engine: &Engine, base: &Archive| {
        let mut archive = Unfinished::begin(ArchiveTarget::File(place.path("x.tar")), None).unwrap();
        let (base, log) = (base.base(), &place.log);
        let taking = TakeOptions { base: Some(&base), recipients: None, command: "test", at: NOON, is_gentle: false };
        take(engine, log, &taking, &mut archive, &mut |_| {}).map(drop).unwrap_err()
    };
    let other = Place::with_history(40);
    assert!(refused(&other.engine, &one).contains("another store"));
    let (_, restored) = place.restored(&[one.clone(), two.clone()], "restored", None);
    assert!(refused(&restored, &two).contains("another epoch"));
    let mut later = one.clone();
    later.about.until = 1_000_000;
    // The same number of changes, and others: a store that was set back by copying its files went on.
    let mut other = one.clone();
    let chain = other.about.chain.as_mut().unwrap();
    chain.changes = chain.register;
    assert!(refused(&place.engine, &other).contains("other changes"));
    let mut earlier = one.clone();
    earlier.about.chain = None;
    assert!(refused(&place.engine, &earlier).contains("an earlier form"));
    let mut other = one.clone();
    other.about.audit_head = Some(format!("1:{}", "0f".repeat(32)));
    assert!(refused(&place.engine, &other).contains("the audit trail is another"));
    let mut other = one.clone();
    other.about.recipients = Some(Digest::of(b"age1"));
    assert!(refused(&place.engine, &other).contains("encrypted to others"));
    assert!(refused(&place.engine, &later).contains("later changes"));
    assert!(!place.path("x.tar").exists());
}

#[test]
fn other_namespaces_are_refused_before_anything_is_written() {
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    let mut wanted = place.wanted("restored", None);
    wanted.names[0].1 = "https://example.ee".to_owned();
    let refused = restore(&[archive], &wanted, &mut |_| {}).map(drop).unwrap_err();
    assert!(refused.contains("https://example.ee"), "{refused}");
    assert!(!place.path("restored").exists());
}

#[test]
fn the_newest_whole_chain_of_a_folder_is_found() {
    let place = Place::with_history(40);
    let folder = place.path("archives");
    fs::create_dir(&folder).unwrap();
    let find = |to| {
        let mut told = Vec::new();
        newest_in(&folder, to, &ArchiveKeys::default(), &mut |problem| told.push(problem)).map(|chain| (chain, told))
    };
    assert!(find(None).unwrap_err().contains("no archive"));
    let take = |base: Option<&Archive>| {
        let base = base.map(Archive::base);
        let written = place.try_backup(ArchiveTarget::Folder(folder.clone()), base.as_ref()).unwrap();
        Archive::look(&written.path, &ArchiveKeys::default()).unwrap()
    };
    let one = take(None);
    more(&place, 1);
    let two = take(Some(&one));
    more(&place, 2);
    let three = take(None);
    more(&place, 3);
    let four = take(Some(&three));
    let (chain, told) = find(None).unwrap();
    assert_eq!((paths(&chain), told), (vec![three.path.as_path(), &four.path], vec![]));
    assert_eq!(paths(&find(Some(four.about.until)).unwrap().0), [&three.path, &four.path]);
    assert!(find(Some(1_000_000)).unwrap_err().contains("reaches change 1000000"));
    // One that was taken later and knows less is of a store that was set back: it is not taken, which is said.
    let less = place.edited("archives/hcert-less.tar", &|about| {
        (about["at"], about["until"]) = ((four.about.at + 1).into(), (four.about.until - 1).into());
    });
    let (chain, told) = find(None).unwrap();
    assert_eq!(paths(&chain), [&three.path, &four.path]);
    assert!(told.len() == 1 && told[0].contains("knows fewer changes"), "{told:?}");
    fs::remove_file(less).unwrap();
    // One that a person gave a name counts, and is nothing that the schedule removes or goes on from.
    let (given, renamed) = (four.path.clone(), folder.join("later.tar"));
    fs::rename(&given, &renamed).unwrap();
    fs::write(folder.join("photos.tar"), "of somebody's holiday").unwrap();
    let (chain, told) = find(None).unwrap();
    assert_eq!((paths(&chain), told), (vec![three.path.as_path(), &renamed], vec![]));
    let listed = folder::list_given(&folder, &ArchiveKeys::default()).unwrap();
    assert!(listed.problems.is_empty() && listed.archives.len() == 3, "{listed:?}");
    fs::rename(&renamed, &given).unwrap();
    // A name of two lines would make a message look like two.
    fs::write(folder.join("hcert-\nwhole.tar"), "x").unwrap();
    let (_, told) = find(None).unwrap();
    assert!(told.len() == 1 && told[0].contains("hcert-\\nwhole.tar"), "{told:?}");
    fs::remove_file(folder.join("hcert-\nwhole.tar")).unwrap();
    // Without the one it goes on from, an archive is of no use, and those before it are taken.
    fs::remove_file(&three.path).unwrap();
    fs::write(folder.join("hcert-x.tar"), "x").unwrap();
    let (chain, told) = find(None).unwrap();
    assert_eq!(paths(&chain), [&one.path, &two.path]);
    assert_eq!(told.len(), 2, "{told:?}");
    let other = Place::with_history(10);
    other.try_backup(ArchiveTarget::Folder(folder.clone()), None).unwrap();
    assert!(find(None).unwrap_err().contains("several stores"));
}

#[test]
fn the_trail_comes_back_as_it_was_and_says_where_the_store_stands() {
    let place = Place::with_history(30);
    let fill = |from: u64, to: u64| {
        for change in from..to {
            let mut event = audit::AuditEvent::new(audit::AuditAction::CompositionCreate, NOON);
            (event.trace, event.change) = ("x".repeat(300), Some(Seq(change)));
            while place.log.append(&event).is_err() {
                std::thread::yield_now();
            }
        }
    };
    fill(1, 60);
    let one = place.full("1.tar");
    fill(60, 120);
    let two = place.behind("2.tar", &one);
    let head = place.log.head();
    let (restored, engine) = place.restored(&[one, two], "restored", Some(5));
    engine.close();
    let data = place.path("restored");
    let verify = || {
        let trail = audit::TrailFiles::list(&audit::folder(&data)).unwrap();
        let verified = audit::verify(&trail, &[]).unwrap();
        assert!(verified.is_whole(), "{}", verified.report());
        verified
    };
    // The head of the last archive is of the moment before its own last event.
    assert_eq!(verify().head.number.0 + 1, head.number.0);
    let log = super::log(&data, &place.now);
    assert_eq!(log.last_change(), Some(Seq(119)));
    let mut event = audit::AuditEvent::of_command(audit::AuditAction::Restore, NOON, "hcert restore");
    event.change = Some(restored.until);
    log.append(&event).unwrap();
    assert_eq!(log.last_change(), Some(Seq(5)));
    drop(log);
    // What comes next has numbers that were given before, over several files.
    for change in 6..60 {
        let log = super::log(&data, &place.now);
        assert_eq!(log.last_change(), Some(Seq(change - 1)));
        let mut event = audit::AuditEvent::new(audit::AuditAction::CompositionCreate, NOON);
        (event.trace, event.change) = ("x".repeat(300), Some(Seq(change)));
        log.append(&event).unwrap();
    }
    verify();
}
