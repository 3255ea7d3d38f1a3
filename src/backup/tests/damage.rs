//! Archives that are not as they were written, and folders that are not empty.

use std::fs;

use serde_json::json;

use super::*;
use certificate::transition::Trigger;
use certificate::{Seq, State};
use engine::{PatientFacts, PatientWrite, PatientWrites, Write};

/// A small archive with something of everything.
fn small() -> (Place, Archive, Vec<u8>) {
    let place = Place::with_history(40);
    let archive = place.full("a.tar");
    // Without its digest beside it, which would report everything at once.
    fs::remove_file(place.path("a.tar.sha256")).unwrap();
    let bytes = fs::read(&archive.path).unwrap();
    (place, archive, bytes)
}

/// What a command says that is given this file.
fn told(place: &Place, bytes: &[u8]) -> Option<String> {
    let path = place.path("odd.tar");
    fs::write(&path, bytes).unwrap();
    let looked = Archive::look(&path, &ArchiveKeys::default()).and_then(|archive| check(&[archive], true, &mut |_| {}));
    looked.err()
}

#[test]
fn a_whole_archive_is_whole_and_no_cut_of_it_is() {
    let (place, _, bytes) = small();
    assert_eq!(told(&place, &bytes), None);
    let ends = (0..bytes.len()).step_by(97).chain(bytes.len() - 1_100..bytes.len());
    for end in ends {
        assert!(told(&place, &bytes[..end]).is_some(), "the first {end} bytes of {}", bytes.len());
    }
    assert!(told(&place, &[&bytes[..], b"x"].concat()).unwrap().contains("behind its end"));
    assert!(told(&place, &[&bytes[..], &[0; 512]].concat()).unwrap().contains("behind its end"));
}

#[test]
fn no_byte_of_an_archive_may_be_another() {
    let (place, _, bytes) = small();
    // All of the first and of the last, and samples between.
    let places = (0..1_600).chain((1_600..bytes.len()).step_by(61)).chain(bytes.len() - 2_600..bytes.len());
    for at in places {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(told(&place, &changed).is_some(), "byte {at} of {}", bytes.len());
    }
}

#[test]
fn the_digest_beside_an_archive_must_be_its_own() {
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    let beside = place.path("a.tar.sha256");
    let line = fs::read_to_string(&beside).unwrap();
    assert_eq!(line, format!("{}  a.tar\n", Digest::of(&fs::read(&archive.path).unwrap())));
    let looks = || check(std::slice::from_ref(&archive), false, &mut |_| {});
    looks().unwrap();
    fs::write(&beside, line.replace(&line[..4], "0000")).unwrap();
    assert!(looks().unwrap_err().contains("says another"));
    fs::write(&beside, "nothing").unwrap();
    assert!(looks().unwrap_err().contains("holds no SHA-256"));
}

#[test]
fn what_is_no_archive_is_told_as_such() {
    let place = Place::new();
    for (bytes, says) in [(&b""[..], "cut off"), (b"{}", "cut off"), (&[b'x'; 2_000], "no member of an archive")] {
        assert!(told(&place, bytes).unwrap().contains(says), "{says}");
    }
    assert!(Archive::look(&place.path("data"), &ArchiveKeys::default()).unwrap_err().contains("no file"));
    assert!(Archive::look(&place.path("none.tar"), &ArchiveKeys::default()).is_err());
}

#[test]
fn a_damaged_archive_is_refused_before_anything_is_written() {
    let (place, archive, mut bytes) = small();
    let last = bytes.len() - 6_000;
    bytes[last] ^= 1;
    fs::write(&archive.path, bytes).unwrap();
    place.try_restore(&[archive], "restored", None).unwrap_err();
    assert!(!place.path("restored").exists());
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    fs::create_dir(place.path("restored")).unwrap();
    fs::create_dir(place.path("restored/lost+found")).unwrap();
    fs::write(place.path("restored/letter"), "dear").unwrap();
    let refused = place.try_restore(std::slice::from_ref(&archive), "restored", None).unwrap_err();
    assert!(refused.contains("not empty"), "{refused}");
    assert_eq!(fs::read_dir(place.path("restored")).unwrap().count(), 2);
    fs::remove_file(place.path("restored/letter")).unwrap();
    // Whose folder it is could exchange what is written into it. Only root can give one away.
    if std::os::unix::fs::chown(place.path("restored"), Some(4_242), None).is_ok() {
        let refused = place.try_restore(std::slice::from_ref(&archive), "restored", None).unwrap_err();
        assert!(refused.contains("belongs to user 4242"), "{refused}");
        std::os::unix::fs::chown(place.path("restored"), Some(0), None).unwrap();
    }
    place.try_restore(&[archive], "restored", None).unwrap();
}

#[test]
fn a_restore_that_was_cut_off_is_opened_by_nobody() {
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    let (_, engine) = place.restored(std::slice::from_ref(&archive), "restored", None);
    engine.close();
    // As a kill leaves it at any moment before the last one.
    fs::write(place.path("restored").join(engine::RESTORING), "").unwrap();
    let refused = super::engine(&place.path("restored"), &place.now).map(drop).unwrap_err();
    assert!(refused.to_string().contains("was not finished"), "{refused}");
    let again = place.try_restore(&[archive], "restored", None).unwrap_err();
    assert!(again.contains("was not finished"), "{again}");
}

/// What was seen: the mark went before the trail told of the restore, and a kill in between left a folder that looked whole.
#[test]
fn the_mark_of_a_restore_goes_after_the_last_step_and_stays_if_that_fails() {
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    let is_marked = |name: &str| place.path(name).join(engine::RESTORING).exists();
    let opened = |name: &str| super::engine(&place.path(name), &place.now).map(|engine| engine.close());
    let filled = |name: &str| restore(std::slice::from_ref(&archive), &place.wanted(name, None), &mut |_| {}).unwrap();
    drop(filled("cut"));
    assert!(is_marked("cut") && opened("cut").is_err(), "a kill comes here");
    let failed = filled("failed").finish(|_, _| Err("the trail takes nothing".to_owned())).unwrap_err();
    assert!(failed.starts_with("the trail takes nothing\n") && failed.contains("empty it"), "{failed}");
    assert!(is_marked("failed") && opened("failed").is_err());
    let whole = filled("whole").finish(|restored, store| {
        assert!(is_marked("whole") && opened("whole").is_err(), "nobody else can open it meanwhile");
        let engine = store.open(&super::options(&place.path("whole"), &place.now)).unwrap();
        assert_eq!((engine.seq(), engine.origin().epoch), (restored.until, &*restored.epoch));
        engine.close();
        Ok(())
    });
    whole.unwrap();
    assert!(!is_marked("whole"));
    opened("whole").unwrap();
}

#[test]
fn an_archive_that_was_not_ended_leaves_nothing() {
    let place = Place::with_history(20);
    fs::create_dir(place.path("archives")).unwrap();
    let mut archive = Unfinished::begin(ArchiveTarget::Folder(place.path("archives")), None).unwrap();
    let taking = TakeOptions { base: None, recipients: None, command: "test", at: NOON, is_gentle: false };
    take(&place.engine, &place.log, &taking, &mut archive, &mut |_| {}).unwrap();
    assert_eq!(fs::read_dir(place.path("archives")).unwrap().count(), 1);
    drop(archive);
    assert_eq!(fs::read_dir(place.path("archives")).unwrap().count(), 0);
}

#[test]
fn an_archive_is_never_written_over_and_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_history(20);
    let archive = place.full("a.tar");
    let again = place.try_backup(ArchiveTarget::File(place.path("a.tar")), None).unwrap_err();
    assert!(again.contains("is there already"), "{again}");
    for name in ["a.tar", "a.tar.sha256"] {
        let mode = fs::metadata(place.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    check(&[archive], true, &mut |_| {}).unwrap();
}

/// A certificate and a patient of the next ids.
fn writes(engine: &Engine) -> Result<(), String> {
    let content = script::content(Trigger::Create, State::Draft, 1, 0, NOON);
    let create = engine.append(Write::Create { content, if_none_exist: None, rows: None }).blocking_recv();
    // Ids may have come to their end.
    drop(create.map_err(|_| "the writer gave up")?);
    let facts =
        PatientFacts { is_active: true, is_deceased: false, born: None, identifiers: Vec::new(), links: Vec::new() };
    let write = PatientWrite { id: None, unless: None, alone: None, facts, tail: b"}}".to_vec() };
    let written = engine.append(PatientWrites { writes: vec![write], waits: true }).blocking_recv();
    written.map(drop).map_err(|_| "the writer gave up".to_owned())
}

/// Whoever wrote the archive kept every digest right. A check refuses what no store can have said; what it lets through can be restored,
/// and changes of the store that comes of it are taken or refused.
#[test]
fn no_number_of_a_first_member_that_lies_is_believed_nor_ends_with_a_panic() {
    let place = Place::with_history(40);
    let huge = [json!(u64::MAX), json!(1_u64 << 63), json!(i64::MAX), json!(i64::MIN), json!(-1), json!(0)];
    let odd = [json!(1e300), json!(0.5), json!(""), json!(null), json!([]), json!({}), json!(true)];
    let numbers = ["at", "after", "until", "patients-after", "patients-until", "audit-after", "audit-until"];
    let others = ["format", "next-id", "next-patient-id", "store", "names", "base", "time"];
    let of_time = ["newest", "accepted", "resets"];
    let reset = |change: serde_json::Value, at: serde_json::Value| json!([{"change": change, "at": at}]);
    let resets = [
        reset(json!(u64::MAX), json!(0)),
        reset(json!(-1), json!(0)),
        reset(json!(0), json!(i64::MAX)),
        reset(json!(0), json!(i64::MIN)),
    ];
    let mut places: Vec<(Vec<&str>, serde_json::Value)> = Vec::new();
    for value in huge.iter().chain(&odd) {
        places.extend(numbers.iter().chain(&others).map(|name| (vec![*name], value.clone())));
        places.extend(of_time.map(|name| (vec!["time", name], value.clone())));
    }
    places.extend(resets.into_iter().map(|value| (vec!["time", "resets"], value)));
    for (number, (path, value)) in places.into_iter().enumerate() {
        let archive = place.edited("odd.tar", &|about| {
            *path.iter().fold(about, |within, name| &mut within[name]) = value.clone();
        });
        let said = Archive::look(&archive, &ArchiveKeys::default()).and_then(|archive| {
            let chain = crate::backup::in_order(vec![archive])?;
            check(&chain, true, &mut |_| {}).map(|_| chain)
        });
        let what = format!("{path:?} is {value}");
        let is_huge = [json!(u64::MAX), json!(1_u64 << 63), json!(i64::MIN)].contains(&value);
        // A clock may say anything.
        assert!(said.is_err() || !is_huge || path[0] == "time", "{what} and is believed");
        if let Ok(chain) = said {
            let name = format!("restored-{number}");
            // A namespace or store of another name is a matter of the settings.
            if let Ok(restored) = place.try_restore(&chain, &name, None) {
                let engine = engine(&place.path(&name), &place.now).expect(&what);
                assert_eq!(writes(&engine), Ok(()), "{what}: {restored:?}");
            }
        }
    }
}

#[test]
fn a_block_that_lies_about_the_bytes_behind_it_is_told() {
    let (place, _, bytes) = small();
    for claimed in [u64::MAX, u64::MAX - 511, 1 << 63, 1 << 40] {
        let first = block::block(&ArchiveMember::About, claimed, NOON as u64 / 1_000);
        assert!(told(&place, &[&first, &bytes[512..]].concat()).is_some(), "{claimed}");
        // Behind the first member.
        let mut later = bytes.clone();
        let at = bytes.windows(9).position(|window| window == b"changes/0").unwrap();
        let (member, _, seconds) = block::read(bytes[at..at + 512].try_into().unwrap()).unwrap();
        later[at..at + 512].copy_from_slice(&block::block(&member, claimed, seconds));
        assert!(told(&place, &later).is_some(), "{claimed}");
    }
}

#[test]
fn a_file_of_the_trail_that_none_can_be_is_no_member() {
    for name in ["zzz.log", "1.log", "00000000.log", "18446744073709551615.log", "00000001.damaged"] {
        assert_eq!(ArchiveMember::parse(&format!("audit/{name}")), None, "{name}");
    }
}

/// Another user who can write to the archive folder cannot choose which file a backup overwrites.
#[test]
fn a_backup_replaces_a_link_beside_its_archive_and_leaves_the_linked_file_alone() {
    let place = Place::with_history(5);
    let (linked, archive) = (place.path("precious"), place.path("x.tar"));
    std::fs::write(&linked, "what must stay").unwrap();
    std::os::unix::fs::symlink(&linked, place.path("x.tar.sha256")).unwrap();
    place.try_backup(ArchiveTarget::File(archive.clone()), None).unwrap();
    assert_eq!(std::fs::read_to_string(&linked).unwrap(), "what must stay");
    let beside = place.path("x.tar.sha256");
    assert!(beside.symlink_metadata().unwrap().is_file());
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&beside.metadata().unwrap().permissions()) & 0o777, 0o600);
    let left = std::fs::read_dir(archive.parent().unwrap()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".part")).count();
    assert_eq!(left, 0, "nothing is left behind");
}

/// What was seen: an archive of a trail that had been changed was taken and restored without a word, and the copy was whole for every check.
#[test]
fn what_is_wrong_with_the_trail_is_told_by_whoever_takes_or_restores_it_and_the_rest_comes_back() {
    type Take = fn(&Path);
    let takes: [(&str, Take); 2] = [
        ("00000002", |audit| {
            let path = audit.join("00000002.zst");
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
        }),
        ("retention", |audit| fs::remove_file(audit.join("00000001.zst")).unwrap()),
    ];
    for (told, take) in takes {
        let place = Place::with_history(20);
        for change in 1..120 {
            let mut event = audit::AuditEvent::new(audit::AuditAction::CompositionCreate, NOON);
            (event.trace, event.change) = ("x".repeat(300), Some(Seq(change)));
            while place.log.append(&event).is_err() {
                std::thread::yield_now();
            }
        }
        let audit = audit::folder(&place.path("data"));
        let is_sealed = || ["00000001.zst", "00000002.zst"].iter().all(|name| audit.join(name).exists());
        while !is_sealed() {
            std::thread::yield_now();
        }
        let whole = place.try_backup(ArchiveTarget::File(place.path("0.tar")), None).unwrap();
        assert_eq!(whole.trail, Vec::<String>::new());
        take(&audit);
        let written = place.try_backup(ArchiveTarget::File(place.path("1.tar")), None).unwrap();
        assert!(written.trail.len() == 1 && written.trail[0].contains(told), "{:?}", written.trail);
        let archive = Archive::look(&written.path, &ArchiveKeys::default()).unwrap();
        let checked = check(std::slice::from_ref(&archive), true, &mut |_| {}).unwrap();
        assert_eq!(checked.trail, written.trail);
        let (restored, engine) = place.restored(&[archive], "restored", None);
        assert_eq!((restored.trail, engine.seq()), (written.trail, place.engine.seq()));
    }
}

/// What was seen: an archive whose newest file of the trail was called as a sealed one left a folder that nothing opens.
#[test]
fn a_file_of_the_trail_that_is_not_what_its_name_says_is_kept_beside_it() {
    let data = tempfile::tempdir().unwrap();
    let audit = audit::folder(data.path());
    for name in ["00000008.zst", "99999999.zst", "00000009.log"] {
        audit::put_back(data.path(), name, b"no trail").unwrap();
    }
    let mut left: Vec<_> = fs::read_dir(&audit).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["00000008.damaged", "00000009.damaged", "99999999.damaged"]);
}

/// What was seen: one list that imports itself came in by an archive, and the service never started again.
#[test]
fn an_archive_with_code_lists_that_cannot_be_used_together_is_refused_before_anything_is_written() {
    let place = Place::with_history(20);
    let url = "https://fhir.ee/ValueSet/z0";
    let text = format!(
        r#"{{"resourceType":"ValueSet","url":"{url}","status":"active","compose":{{"include":[{{"valueSet":["{url}"]}}]}}}}"#
    );
    let key = engine::ListKey { resource_type: "ValueSet".into(), url: url.into() };
    let list = engine::StoredList { key, at: NOON, text: text.into_bytes() };
    place.engine.append(vec![engine::ListChange::Put(list)]).blocking_recv().unwrap().unwrap();
    let archive = place.full("a.tar");
    let told = check(std::slice::from_ref(&archive), true, &mut |_| {}).unwrap_err();
    assert!(told.contains("cannot be used together") && told.contains(url), "{told}");
    let refused = place.try_restore(&[archive], "restored", None).unwrap_err();
    assert!(refused.contains(url) && !place.path("restored").exists(), "{refused}");
}

/// What was seen: archives whose head said such things were whole; a store made of one gave no id to anybody, or was damaged for `verify`.
#[test]
fn a_head_that_leaves_no_ids_or_names_no_store_is_refused() {
    let place = Place::with_history(20);
    let edits = [
        ("next-id", json!((1_u64 << 53) - 5)),
        ("next-patient-id", json!(i64::MAX)),
        ("store", json!("../..")),
        ("epoch", json!("x")),
    ];
    for (name, value) in edits {
        let path = place.edited("odd.tar", &|about| about[name] = value.clone());
        assert!(Archive::look(&path, &ArchiveKeys::default()).unwrap_err().contains("no sense"), "{name}");
    }
}
