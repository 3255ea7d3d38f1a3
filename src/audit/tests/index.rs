//! What a search finds by indexes is what reading every event finds.

use std::collections::HashMap;
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::audit::disk::TrailFileName;
use crate::audit::disk::index_path;
use crate::audit::index::AUDIT_DRAFT_PIECE_BYTES;
use crate::audit::limits::AUDIT_TEXT_BYTES_MAX;
use crate::audit::trail::TrailFile;

/// Whether versions are there that were not there before.
static IS_LATER: AtomicBool = AtomicBool::new(false);

/// Certificates 1 to 6: of a version whose patient is known, of another patient in its second version, and one that is not there; the
/// second version of the third one, and the fifth one, come later.
fn subject(id: Id, version: Version) -> Option<(&'static str, &'static str)> {
    match (id.get(), version.get()) {
        (3, 2) | (5, 1) => IS_LATER.load(SeqCst).then_some(("200", "38001085718")),
        (1, _) | (2, 1) => Some(("200", "38001085718")),
        (2, _) | (3, _) => Some(("201", "47101010033")),
        (4, 1) => Some(("202", "60002299924")),
        _ => None,
    }
}

fn identifier_of(code: &str) -> String {
    identifier(Some("urn:ni"), code)
}

fn subjects() -> Subjects {
    Arc::new(|id, version| {
        let (patient, code) = subject(id, version.unwrap_or(Version::FIRST))?;
        Some(vec![identifier_of(code), patient.to_owned()])
    })
}

/// As [`CertificatePatients`](crate::interaction::CertificatePatients) tells it.
fn patient_of(id: Id, version: Option<Version>) -> Option<Arc<Vec<String>>> {
    let (patient, code) = version.and_then(|version| subject(id, version)).or_else(|| subject(id, Version::FIRST))?;
    Some(Arc::new(vec![identifier_of(code), patient.to_owned()]))
}

fn any_event() -> impl Strategy<Value = AuditEvent> {
    let certificates = prop::collection::vec((1..=6u64, 0..=2u32), 0..4);
    let patients = prop::sample::subsequence(vec!["200", "201", "203"], 0..=2);
    let who = (prop::sample::select(vec!["47101010033", "37605030299"]), prop::sample::select(vec!["doctor", "nurse"]));
    let action = prop::sample::select(vec![
        AuditAction::CompositionRead,
        AuditAction::CompositionSearch,
        AuditAction::ConsentSet,
    ]);
    let status = prop::sample::select(vec![(200, None), (403, Some("HCERT-179")), (404, None)]);
    (0..1_000i64, certificates, patients, who, action, status).prop_map(
        |(at, certificates, patients, (person, role), action, (status, code))| {
            let mut event = AuditEvent::new(action, NOON + at);
            event.status = status;
            event.code = code.map(str::to_owned);
            event.who.person = Some(person.into());
            event.who.roles = vec![role.into()];
            event.who.organization = Some("16978044".into());
            event.patients = patients.into_iter().map(str::to_owned).collect();
            if at % 3 == 0 {
                event.identifiers = vec![identifier_of("38001085718"), "60002299924".into()];
            }
            if at % 5 == 0 {
                event.organizations = vec!["10000018".into()];
            }
            let entity = |(id, version)| (Id::new(id).expect("counted from 1"), Version::new(version));
            event.entities = certificates.into_iter().map(entity).collect();
            event
        },
    )
}

fn any_wanted() -> impl Strategy<Value = EventFilter> {
    let names = vec![
        "200".to_owned(),
        "201".into(),
        "202".into(),
        "999".into(),
        identifier_of("38001085718"),
        "60002299924".into(),
    ];
    let patients = prop::collection::vec(prop::sample::subsequence(names, 1..=3), 0..3);
    let entity = prop_oneof![
        (1..=7u64, 0..=2u32).prop_map(|(id, version)| {
            AuditedEntity::Certificate((Id::new(id).expect("counted from 1"), Version::new(version)))
        }),
        Just(AuditedEntity::Patient("200".into())),
        Just(AuditedEntity::Organization("10000018".into())),
    ];
    let entities = prop::collection::vec(prop::collection::vec(entity, 1..3), 0..2);
    let agent = prop_oneof![
        Just(Agent::Person("47101010033".into())),
        Just(Agent::Role("doctor".into())),
        Just(Agent::Organization("16978044".into())),
        Just(Agent::User("root".into())),
    ];
    let agents = prop::collection::vec(prop::collection::vec(agent, 1..3), 0..2);
    let outcome = prop_oneof![
        any::<bool>().prop_map(EventResult::Refused),
        Just(EventResult::Status(400..=404)),
        Just(EventResult::Code("HCERT-179".into())),
    ];
    let outcomes = prop::collection::vec(prop::collection::vec(outcome, 1..2), 0..2);
    let actions = prop::collection::vec(Just(vec![AuditAction::CompositionRead, AuditAction::AuditRepaired]), 0..2);
    let times = prop::collection::vec((0..1_000i64, 0..1_000i64).prop_map(|(from, to)| NOON + from..=NOON + to), 0..2);
    (entities, patients, agents, actions, outcomes, times).prop_map(
        |(entities, patients, agents, actions, outcomes, times)| EventFilter {
            entities,
            patients,
            agents,
            actions,
            outcomes,
            times,
        },
    )
}

/// What reading all events finds.
fn read(log: &AuditTrail, wanted: &EventFilter, order: EventOrder) -> Vec<u64> {
    let events = log.trail().expect("the folder is there").events(order, wanted.span());
    let events = events.map(|event| event.expect("the files can be read"));
    events.filter(|(_, event)| wanted.matches(event, &mut patient_of)).map(|(number, _)| number.0).collect()
}

#[track_caller]
fn agrees(log: &AuditTrail, wanted: &EventFilter) {
    for order in [EventOrder::NewestFirst, EventOrder::OldestFirst] {
        let expected = read(log, wanted, order);
        let search = log.search(wanted, order).unwrap();
        for rows in [0..3u64, 2..40, 1_000..1_010] {
            let page = search.page(rows.clone(), &mut patient_of).unwrap();
            let row = |row: u64| (row as usize).min(expected.len());
            let found: Vec<u64> = page.events.iter().map(|(number, _)| number.0).collect();
            assert_eq!(
                (page.total, found.as_slice()),
                (expected.len() as u64, &expected[row(rows.start)..row(rows.end)])
            );
        }
        let mut all = Vec::new();
        let each = |number: Number, _| {
            all.push(number.0);
            Ok(())
        };
        search.each(&mut patient_of, each).unwrap();
        assert_eq!(all, expected);
    }
}

/// Where the indexes of sealed files are to be.
fn indexes_to_be(data: &Path) -> Vec<std::path::PathBuf> {
    let sealed = listed(data).parts.into_iter().filter(|part| part.seal.is_some());
    sealed.map(|part| index_path(&folder(data), part.name.file())).collect()
}

/// The indexes of a folder, by the number of their file.
fn indexes(data: &Path) -> HashMap<u64, std::path::PathBuf> {
    let sealed = listed(data).parts.into_iter().filter(|part| part.seal.is_some()).map(|part| part.name.file());
    sealed.map(|file| (file, index_path(&folder(data), file))).filter(|(_, path)| path.exists()).collect()
}

fn indexed(data: &Path, file_bytes: u64) -> AuditTrail {
    let mut log = AuditTrail::open(TrailOptions { file_bytes, ..options(data) }).expect("the trail opens");
    log.index(subjects()).expect("a thread");
    log
}

fn wait_for_indexes(data: &Path) {
    eventually("every full file is sealed and has its index", || {
        let trail = listed(data);
        (trail.parts.len() - 1 == sealed(data) && indexes(data).len() == sealed(data)).then_some(())
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_search_finds_by_indexes_what_reading_finds(
        events in prop::collection::vec(any_event(), 1..150),
        wanted in prop::collection::vec(any_wanted(), 6),
        harm in 0..6usize,
    ) {
        let data = tempfile::tempdir().unwrap();
        IS_LATER.store(false, SeqCst);
        let log = indexed(data.path(), FILE_BYTES);
        let (before, after) = events.split_at(events.len() / 2);
        before.iter().for_each(|event| assert!(append(&log, event).0 > 0));
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
        after.iter().for_each(|event| assert!(append(&log, event).0 > 0));
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
        wait_for_indexes(data.path());
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
        IS_LATER.store(true, SeqCst);
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
        prop_assert_eq!(log.verify(&[], &|_| None).unwrap().problems, Vec::<String>::new());
        drop(log);
        // By a process that makes none, and indexes that are missing, damaged, or of another file.
        let paths: Vec<_> = indexes(data.path()).into_values().collect();
        match (harm, paths.as_slice()) {
            (0, [one, ..]) => fs::remove_file(one).unwrap(),
            (1, [one, other, ..]) => drop(fs::copy(one, other).unwrap()),
            (2.., [one, ..]) => {
                let mut bytes = fs::read(one).unwrap();
                let at = bytes.len() * harm / 7;
                bytes[at] ^= 1;
                fs::write(one, bytes).unwrap();
            }
            _ => {}
        }
        let log = open(data.path());
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
        drop(log);
        let log = indexed(data.path(), FILE_BYTES);
        wait_for_indexes(data.path());
        wanted.iter().for_each(|wanted| agrees(&log, wanted));
    }
}

#[test]
fn a_file_of_many_blocks_is_expanded_only_where_events_are_wanted() {
    let data = tempfile::tempdir().unwrap();
    let log = indexed(data.path(), 1 << 20);
    let many = |at: i64| {
        let patient = if at % 500 == 7 { "300" } else { "301" };
        AuditEvent { patients: vec![patient.into()], note: Some("-".repeat(120)), ..event(at) }
    };
    (0..9_000).for_each(|at| assert!(append(&log, &many(at)).0 > 0));
    wait_for_indexes(data.path());
    assert!(sealed(data.path()) >= 2);
    let wanted = |times| EventFilter { patients: vec![vec!["300".into()]], times, ..EventFilter::default() };
    for times in [vec![], vec![NOON + 1_000..=NOON + 4_600], vec![NOON + 507..=NOON + 507], vec![NOON + 8..=NOON + 9]] {
        agrees(&log, &wanted(times.clone()));
        agrees(&log, &EventFilter { times, ..EventFilter::default() });
    }
    // A block that no event is wanted of may be damaged; one that has some makes the search read what is left.
    let part = listed(data.path()).parts[0].clone();
    let path = part.name.within(&folder(data.path()));
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let of_first = wanted(vec![NOON..=NOON + 20]);
    agrees(&log, &of_first);
    let count = |wanted: &EventFilter| {
        let search = log.search(wanted, EventOrder::OldestFirst).unwrap();
        search.page(0..10_000, &mut |_, _| None).unwrap()
    };
    let found = count(&wanted(Vec::new()));
    assert_eq!(found.events.len() as u64, found.total, "what is damaged is passed over and not counted");
    assert!(found.total < 18, "{}", found.total);
}

/// Two searches that began at different times each made the index anew for its own end of the file.
#[test]
fn a_search_leaves_out_later_events_and_keeps_them_in_the_index() {
    let data = tempfile::tempdir().unwrap();
    let log = indexed(data.path(), FILE_BYTES);
    let wanted = EventFilter::default();
    let three = |at: i64| (at..at + 3).for_each(|at| assert!(append(&log, &event(at)).0 > 0));
    let total = |search: &EventSearch| search.page(0..10, &mut |_, _| None).unwrap().total;
    three(0);
    let early = log.search(&wanted, EventOrder::NewestFirst).unwrap();
    three(3);
    let late = log.search(&wanted, EventOrder::NewestFirst).unwrap();
    assert_eq!([total(&late), total(&early), total(&late)], [6, 3, 6]);
    let part = &early.trail.parts[0];
    let known = early.shared.indexes.of_plain(&early.trail.folder, part, || true, |draft| draft.events());
    assert_eq!(known, Some(6));
}

#[test]
fn a_file_of_several_pieces_is_indexed_piece_by_piece() {
    let data = tempfile::tempdir().unwrap();
    let file_bytes = 4 * AUDIT_DRAFT_PIECE_BYTES as u64;
    let log = AuditTrail::open(TrailOptions { file_bytes, ..options(data.path()) }).expect("the trail opens");
    let long = |at: i64| AuditEvent { note: Some("-".repeat(AUDIT_TEXT_BYTES_MAX)), ..event(at) };
    let count = 5 * AUDIT_DRAFT_PIECE_BYTES / 2 / AUDIT_TEXT_BYTES_MAX;
    (0..count as i64).for_each(|at| assert!(append(&log, &long(at)).0 > 0));
    drop(log);
    let log = indexed(data.path(), file_bytes);
    let wanted = EventFilter { times: vec![NOON + 1..=i64::MAX], ..EventFilter::default() };
    agrees(&log, &wanted);
    let search = log.search(&wanted, EventOrder::NewestFirst).unwrap();
    let known =
        |part: &TrailFile| search.shared.indexes.of_plain(&search.trail.folder, part, || true, |draft| draft.events());
    let part =
        search.trail.parts.iter().find(|part| part.name == TrailFileName::Plain(1)).expect("the file is not full");
    assert!(known(part) >= Some(count as u32), "the search read the file instead");
}

#[test]
fn an_index_that_hides_events_is_told_by_a_check() {
    let data = tempfile::tempdir().unwrap();
    let log = indexed(data.path(), FILE_BYTES);
    fill(&log, 0..60);
    wait_for_indexes(data.path());
    assert_eq!(log.verify(&[], &|_| None).unwrap().problems, Vec::<String>::new());
    let path = indexes(data.path()).into_values().next().unwrap();
    let whole = fs::read(&path).unwrap();
    // The last list of events is one shorter.
    let mut forged = whole[..whole.len() - 17].to_vec();
    forged.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(&forged).to_le_bytes());
    let with_checksum = |mut bytes: Vec<u8>| {
        let checksum = xxhash_rust::xxh3::xxh3_128(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    };
    let count = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let keys = 60 + count(52) * 24;
    // Each key in turn is another one: also those of certificates, of which nobody may know whose they are.
    let renamed = (0..count(56)).map(|key| {
        let mut bytes = whole[..whole.len() - 16].to_vec();
        bytes[keys + 12 * key] ^= 1;
        with_checksum(bytes)
    });
    // A list that is no list.
    let mut endless = whole[..whole.len() - 16].to_vec();
    let lists = keys + 12 * count(56);
    endless[lists..].fill(0xff);
    let unreadable = with_checksum(endless);
    // Times of a block by which a search passes it over.
    let mut early = whole[..whole.len() - 16].to_vec();
    early[60 + 8..60 + 24].fill(0);
    let of_times = with_checksum(early);
    for bytes in [forged, whole[..100].to_vec(), Vec::new(), unreadable, of_times].into_iter().chain(renamed) {
        fs::write(&path, bytes).unwrap();
        let problems = log.verify(&[], &|_| None).unwrap().problems;
        assert!(
            matches!(problems.as_slice(), [one] if one.contains(".idx: ") && one.contains("delete it")),
            "{problems:?}"
        );
    }
    // One that lies of its numbers, which are no size of anything, is none.
    for at in [47, 51] {
        let mut lying = whole[..whole.len() - 16].to_vec();
        lying[at] = 0xff;
        lying.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(&lying).to_le_bytes());
        fs::write(&path, lying).unwrap();
        agrees(&open(data.path()), &EventFilter::default());
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(log.verify(&[], &|_| None).unwrap().problems, Vec::<String>::new());
}

#[test]
fn an_index_goes_with_its_file_and_is_no_stranger_in_the_folder() {
    let data = tempfile::tempdir().unwrap();
    let log = indexed(data.path(), FILE_BYTES);
    fill(&log, 0..150);
    wait_for_indexes(data.path());
    let count = indexes(data.path()).len();
    assert!(count >= 3);
    drop(log);
    assert_eq!(listed(data.path()).strangers, Vec::<String>::new());
    let kept =
        TrailOptions { keep_from: Arc::new(|| Some(NOON + 100)), file_bytes: FILE_BYTES, ..options(data.path()) };
    let log = AuditTrail::open(kept).unwrap();
    eventually("old files are removed with their indexes", || (indexes(data.path()).len() < count).then_some(()));
    drop(log);
    // What a crash between the two left goes at the next start; one that cannot be written keeps no other from being made.
    let (left, last) = (index_path(&folder(data.path()), 1), indexes(data.path()).into_iter().max().unwrap());
    fs::write(&left, "").unwrap();
    for path in indexes(data.path()).into_values() {
        fs::remove_file(path).unwrap();
    }
    let first = indexes_to_be(data.path()).into_iter().min().unwrap();
    fs::create_dir(&first).unwrap();
    let log = indexed(data.path(), FILE_BYTES);
    eventually("it is removed, and others are made", || (!left.exists() && last.1.is_file()).then_some(()));
    agrees(&log, &EventFilter { patients: vec![vec!["200".into()]], ..EventFilter::default() });
    drop(log);
    fs::remove_dir(first).unwrap();
    let names =
        fs::read_dir(folder(data.path())).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    for name in names.iter().filter(|name| name.ends_with(".idx")) {
        assert!(names.contains(&name.replace("idx", "zst")), "{name} is left over of {names:?}");
    }
}
