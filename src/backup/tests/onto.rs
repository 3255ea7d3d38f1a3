//! A restore that goes on in a folder that holds the beginning of what archives hold.

use std::fs;

use super::chain::{more, three};
use super::*;
use certificate::Seq;
use engine::EntryLog;

fn look(wanted: &RestoreOptions, archive: &Archive) -> Result<ContinuedFolder, String> {
    ContinuedFolder::look(&wanted.data, wanted.cache_bytes, &wanted.names, archive)
}

impl Place {
    fn filled_onto(&self, chain: &[Archive], name: &str, to: Option<u64>) -> Result<Option<FilledFolder>, String> {
        let wanted = self.wanted(name, to);
        let folder = look(&wanted, &chain[chain.len() - 1])?;
        let beyond = folder.beyond(chain, to)?;
        restore_onto(folder, beyond, &wanted, &mut |_| {})
    }

    fn try_onto(&self, chain: &[Archive], name: &str, to: Option<u64>) -> Result<Restored, String> {
        self.filled_onto(chain, name, to)?.expect("it is behind").finish(|_, _| Ok(()))
    }

    fn refuses(&self, chain: &[Archive], name: &str, words: &str) {
        let before = self.heads(name);
        let told = self.try_onto(chain, name, None).unwrap_err();
        assert!(told.contains(words), "{words}: {told}");
        assert_eq!(self.heads(name), before);
    }

    /// The heads of both logs of a folder, which can be opened.
    fn heads(&self, name: &str) -> [engine::EntryHead; 2] {
        engine(&self.path(name), &self.now).unwrap().ledger().heads().unwrap()
    }
}

/// What a store holds up to the end of an archive, byte for byte, and what it gives next.
fn content(engine: &Engine, end: &ArchiveManifest) -> impl PartialEq + std::fmt::Debug + use<> {
    let ledger = engine.ledger();
    let logs = EntryLog::ALL.map(|log| {
        let until = if log == EntryLog::Changes { end.until } else { end.patients_until };
        let (mut bytes, mut at) = (Vec::new(), 0);
        while at < until {
            let piece = ledger.copy(log, at, until).unwrap();
            bytes.extend(piece.bytes);
            at = piece.last;
        }
        Digest::of(&bytes)
    });
    let moment = ledger.moment().unwrap();
    let chain = ledger.chain_at(Seq(end.until), end.patients_until).unwrap();
    (logs, chain, moment.until, moment.register_until, moment.next_id, moment.next_patient_id, moment.time)
}

fn expect_same(place: &Place, end: &ArchiveManifest, name: &str, whole: &str) {
    let opened = |name: &str| engine(&place.path(name), &place.now).unwrap();
    assert_eq!(content(&opened(name), end), content(&opened(whole), end), "{name}");
    let none: [String; 0] = [];
    assert_eq!(Engine::derive(&options(&place.path(name), &place.now)).unwrap(), none);
    let names = certificate::Names::default();
    // The generated bodies are not valid certificates; a check reports that for both folders alike.
    let problems = |name: &str| format!("{:?}", opened(name).verify(&names, &mut |_| ()).unwrap().problems);
    assert_eq!(problems(name), problems(whole));
}

#[test]
fn a_restore_in_steps_leads_to_the_store_of_one_restore() {
    let (place, [one, two, three]) = three();
    let whole = [one.clone(), two.clone(), three.clone()];
    place.try_restore(&whole, "whole", None).unwrap();
    let end = &three.about;

    let first = place.try_restore(&whole[..1], "steps", None).unwrap();
    // The full archive is not read again, whether it is named or not.
    fs::write(&one.path, "gone").unwrap();
    let second = place.try_onto(&whole[..2], "steps", None).unwrap();
    assert_eq!((second.until, second.archives, &second.epoch), (Seq(two.about.until), 1, &first.epoch));
    place.try_onto(std::slice::from_ref(&three), "steps", None).unwrap();
    expect_same(&place, end, "steps", "whole");
}

#[test]
fn a_folder_that_ends_within_an_archive_is_gone_on_with() {
    let (place, [one, two, three]) = three();
    let whole = [one.clone(), two.clone(), three.clone()];
    place.try_restore(&whole, "whole", None).unwrap();
    place.try_restore(&whole[..1], "steps", Some(5)).unwrap();
    let middle = two.about.until - 3;
    let restored = place.try_onto(&whole[..2], "steps", Some(middle)).unwrap();
    assert_eq!((restored.until, restored.archives), (Seq(middle), 2));
    place.try_onto(&whole, "steps", None).unwrap();
    expect_same(&place, &three.about, "steps", "whole");
}

#[test]
fn a_restore_that_was_cut_is_gone_on_with() {
    let (place, whole) = three();
    place.try_restore(&whole, "whole", None).unwrap();
    place.try_restore(&whole[..1], "steps", None).unwrap();
    drop(place.filled_onto(&whole[..2], "steps", None).unwrap());
    let opened = |name: &str| engine(&place.path(name), &place.now);
    assert!(opened("steps").is_err_and(|error| error.to_string().contains("--onto")));
    place.try_onto(&whole[..2], "steps", None).unwrap();
    drop(opened("steps").unwrap());
    place.try_onto(&whole, "steps", None).unwrap();
    expect_same(&place, &whole[2].about, "steps", "whole");

    // So is one into an empty folder.
    drop(restore(&whole[..2], &place.wanted("cut", None), &mut |_| {}).unwrap());
    place.try_onto(&whole, "cut", None).unwrap();
    expect_same(&place, &whole[2].about, "cut", "whole");

    // One that was cut before its store was made says what to do.
    fs::create_dir(place.path("early")).unwrap();
    fs::write(place.path("early").join(engine::RESTORING), "").unwrap();
    let told = look(&place.wanted("early", None), &whole[0]).map(drop).unwrap_err();
    assert!(told.contains("run the restore without --onto"), "{told}");
    // So does one that was cut before its store got the name of the archive's.
    drop(engine(&place.path("unnamed"), &place.now).unwrap());
    fs::write(place.path("unnamed").join(engine::RESTORING), "").unwrap();
    let told = look(&place.wanted("unnamed", None), &whole[0]).map(drop).unwrap_err();
    assert!(told.contains("run the restore without --onto"), "{told}");
}

#[test]
fn what_does_not_go_on_from_a_folder_is_refused_and_nothing_is_changed() {
    let (place, [one, two, three]) = three();
    let whole = [one.clone(), two.clone(), three.clone()];
    place.try_restore(&whole[..1], "one", None).unwrap();
    place.try_restore(&whole[..2], "two", None).unwrap();
    place.refuses(std::slice::from_ref(&three), "one", "archives between them are missing");
    place.refuses(&whole[..1], "two", "it has come further");
    let refused = place.try_onto(&whole, "two", Some(3)).unwrap_err();
    assert!(refused.contains("it has come further"), "{refused}");
    assert!(place.filled_onto(&whole[..2], "two", None).unwrap().is_none());
    assert!(place.filled_onto(&whole, "two", Some(two.about.until)).unwrap().is_none());
    let (other, [foreign, ..]) = self::three();
    place.refuses(std::slice::from_ref(&foreign), "one", "another store");
    drop(other);
    let mut names = place.wanted("one", None);
    names.names[0].1 = "https://example.ee".to_owned();
    assert!(look(&names, &two).map(drop).unwrap_err().contains("https://example.ee"));
    let held = engine(&place.path("one"), &place.now).unwrap();
    assert!(look(&place.wanted("one", None), &two).map(drop).unwrap_err().contains("in use"));
    drop(held);

    // It was written to since: the first change of its own is named.
    let served = Place { engine: Arc::new(engine(&place.path("one"), &place.now).unwrap()), ..Place::new() };
    more(&served, 99);
    drop(served);
    place.refuses(&whole, "one", &format!("number {} of", one.about.until + 1));

    // It was read from since: what the trail reports of that stays.
    let log = super::log(&place.path("two"), &place.now);
    log.append(&audit::AuditEvent::of_command(audit::AuditAction::Restore, NOON, "hcert restore")).unwrap();
    log.append(&audit::AuditEvent::new(audit::AuditAction::CompositionRead, NOON)).unwrap();
    drop(log);
    place.refuses(&whole, "two", "composition.read");
}

/// A damaged event, or one that was cut off, was taken for none: the restore put a trail that fits in its place, and with it went what the
/// folder knew of who had used it.
#[test]
fn a_folder_whose_trail_is_damaged_or_was_cut_is_refused_and_its_trail_stays() {
    let (place, whole) = three();
    place.try_restore(&whole[..1], "kept", None).unwrap();
    let data = place.path("kept");
    {
        let log = super::log(&data, &place.now);
        log.append(&audit::AuditEvent::of_command(audit::AuditAction::Restore, NOON, "hcert restore")).unwrap();
    }
    let newest = audit::TrailFiles::list(&audit::folder(&data)).unwrap().parts.pop().unwrap();
    let path = newest.name.within(&audit::folder(&data));
    let before = fs::read(&path).unwrap();
    {
        let log = super::log(&data, &place.now);
        for action in [audit::AuditAction::BulkExport, audit::AuditAction::StoreVerify] {
            log.append(&audit::AuditEvent::of_command(action, NOON, "hcert export")).unwrap();
        }
        drop(log);
        let head = super::log(&data, &place.now).head();
        let engine = engine(&data, &place.now).unwrap();
        engine.append(engine::AuditHead(head.to_string())).blocking_recv().unwrap().unwrap();
    }
    place.refuses(&whole, "kept", "(bulk.export)");

    let bytes = fs::read(&path).unwrap();
    let end = journal::record::written(&before);
    let written = journal::record::written(&bytes);
    let damages: [(&str, Vec<u8>); 5] = [
        ("the event of the export", [&bytes[..end + 30], &[bytes[end + 30] ^ 1], &bytes[end + 31..]].concat()),
        ("an event that the archive has too", [&bytes[..200], &[bytes[200] ^ 1], &bytes[201..]].concat()),
        ("the last event", [&bytes[..written - 9], &[bytes[written - 9] ^ 1], &bytes[written - 8..]].concat()),
        ("zeros behind the restore", [&bytes[..end], &vec![0; bytes.len() - end]].concat()),
        ("an earlier state of the trail", before),
    ];
    for (damage, content) in damages {
        fs::write(&path, &content).unwrap();
        let told = place.try_onto(&whole, "kept", None).unwrap_err();
        assert!(told.contains("the audit trail is damaged: "), "{damage}: {told}");
        assert!(fs::read(&path).unwrap() == content, "{damage}: it stays as it is");
    }
    fs::rename(audit::folder(&data), place.path("elsewhere")).unwrap();
    let told = place.try_onto(&whole, "kept", None).unwrap_err();
    assert!(told.contains("which the store knows"), "{told}");
    // A mark of a restore that nobody began is no reason to believe the trail.
    fs::write(data.join(engine::RESTORING), "").unwrap();
    assert_eq!(place.try_onto(&whole, "kept", None).unwrap_err(), told);
    fs::remove_file(data.join(engine::RESTORING)).unwrap();

    // What is put back as it was is refused for what it says.
    fs::rename(place.path("elsewhere"), audit::folder(&data)).unwrap();
    fs::write(&path, bytes).unwrap();
    place.refuses(&whole, "kept", "(bulk.export)");
}

/// A killed command leaves half an event behind what its store knows.
#[test]
fn half_an_event_at_the_end_of_the_trail_keeps_nobody_from_going_on() {
    let (place, whole) = three();
    place.try_restore(&whole[..1], "half", None).unwrap();
    let data = place.path("half");
    drop(super::log(&data, &place.now));
    let newest = audit::TrailFiles::list(&audit::folder(&data)).unwrap().parts.pop().unwrap();
    let path = newest.name.within(&audit::folder(&data));
    let mut bytes = fs::read(&path).unwrap();
    let end = journal::record::written(&bytes);
    bytes.resize(bytes.len().max(end + 40), 0);
    bytes[end + 40 - 8..end + 40].fill(7);
    fs::write(&path, bytes).unwrap();
    place.try_onto(&whole, "half", None).unwrap();
}

#[test]
fn a_copy_of_the_folder_is_gone_on_with_and_gets_an_epoch_of_its_own() {
    let mut place = Place::with_history(40);
    let one = place.full("1.tar");
    place.engine.close();
    for folder in ["data", "data/audit"] {
        let copy = place.path(&folder.replace("data", "copy"));
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(place.path(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_file() {
                fs::copy(&entry, copy.join(entry.file_name().unwrap())).unwrap();
            }
        }
    }
    place.engine = Arc::new(engine(&place.path("data"), &place.now).unwrap());
    more(&place, 11);
    let two = place.behind("2.tar", &one);
    let chain = [one, two];
    place.try_restore(&chain, "whole", None).unwrap();
    drop(place.filled_onto(&chain, "copy", None).unwrap());
    // Also when it was cut.
    let restored = place.try_onto(&chain, "copy", None).unwrap();
    assert_eq!(restored.archives, 1);
    assert_ne!(restored.epoch, chain[1].about.epoch);
    expect_same(&place, &chain[1].about, "copy", "whole");
}

#[test]
fn an_archive_whose_audit_trail_the_folder_does_not_reach_is_refused() {
    let place = Place::with_history(20);
    let one = place.full("1.tar");
    place.try_restore(std::slice::from_ref(&one), "behind", None).unwrap();
    let sealed = || audit::sealed_until(&audit::files_at_rest(&place.path("data")).unwrap());
    while sealed() < 2 {
        let mut event = audit::AuditEvent::new(audit::AuditAction::CompositionRead, NOON);
        event.trace = "x".repeat(300);
        drop(place.log.append(&event));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let two = place.behind("2.tar", &one);
    more(&place, 11);
    let three = place.behind("3.tar", &two);
    // By its changes alone it would do.
    assert_eq!((three.about.after, three.about.patients_after), (one.about.until, one.about.patients_until));
    place.refuses(std::slice::from_ref(&three), "behind", "its audit trail goes on behind file");
    place.try_onto(&[two, three], "behind", None).unwrap();
    let trail = audit::TrailFiles::list(&audit::folder(&place.path("behind"))).unwrap();
    assert!(audit::verify(&trail, &[]).unwrap().is_whole());
}
