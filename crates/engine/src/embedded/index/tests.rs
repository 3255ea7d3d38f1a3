//! Plans and walks over segments made by hand.

use std::collections::HashSet;

use tempfile::TempDir;

use super::*;
use crate::embedded::classes::Classes;
use crate::embedded::predicate::Predicate;
use certificate::search::class::{Class, ClassCoding};
use certificate::search::filter::{ClassTest, Filter, TimeTest, TitleTest};
use certificate::search::parameter::{Field as About, TimeField};
use certificate::search::row::Row;
use certificate::search::term::{Term as Carried, TermForm};
use certificate::search::{Sort, SortKey};
use certificate::{Consent, Profile, State};
use fhir::date_time::Span;

/// An index whose rounds are its segments.
struct Fixture {
    _folder: TempDir,
    writer: IndexWriterHandle,
    snapshot: Snapshot,
}

impl Fixture {
    /// Rows of a round take the place of those of before that have the same id.
    fn new(rounds: Vec<Vec<(u64, Row)>>) -> Fixture {
        let mut known = HashSet::new();
        let folder = tempfile::tempdir().unwrap();
        let origin = IndexOrigin { store: "test".into(), epoch: "1".into(), schema: "1".into() };
        let (mut writer, mut snapshot) = IndexWriterHandle::create(&folder.path().join("index"), &origin).unwrap();
        for (round, rows) in rounds.into_iter().enumerate() {
            let more = rows.iter().filter(|(id, _)| known.insert(*id)).count() as i64;
            for (id, row) in rows {
                writer.remove(Id::new(id).unwrap());
                let class = u32::from(row.class.state != State::Draft);
                writer.add(Id::new(id).unwrap(), Version::FIRST, &NumberedRow { row, class }).unwrap();
            }
            snapshot = writer.commit(Seq(round as u64 + 1), more, classes().ranks()).unwrap();
        }
        Fixture { _folder: folder, writer, snapshot }
    }

    /// The number of matches and the first of them, in order. Every way to find them is tried.
    fn find(&self, filter: &Filter, sort: &[Sort], first: usize, masked: &[u64]) -> (u64, Vec<u64>) {
        let classes = classes();
        let order = OrderBy { sort, ranks: classes.ranks(), from_end: false };
        let predicate = Predicate::new(filter, &classes);
        let masked: HashSet<u64> = masked.iter().copied().collect();
        let masked = |id: Id| masked.contains(&id.get());
        let driven = |few: bool| {
            let mut count = 0;
            let mut candidates: Vec<Candidate> = Vec::new();
            for segment in &self.snapshot.segments {
                let plan = plan(&predicate, segment, &|_| few).unwrap();
                let found = walk(segment, plan, &predicate, &order, first, &masked).unwrap();
                assert!(found.candidates.len() <= first, "a segment gives no more than the page needs");
                count += found.count;
                candidates.extend(found.candidates);
            }
            candidates.sort_by(|left, right| order.compare(left, right));
            (count, candidates.iter().take(first).map(|candidate| candidate.id.get()).collect::<Vec<_>>())
        };
        let merged_by = |moved: Option<Vec<(Candidate, i64)>>, from_end: bool, span: (u64, usize)| {
            let order = OrderBy { from_end, ..order };
            let segments = &self.snapshot.segments;
            let hits = merge(segments, &predicate, &order, vec![], &masked, moved, span).unwrap();
            hits.iter().map(|hit| hit.id.get()).collect::<Vec<_>>()
        };
        let merged = |from_end: bool, span: (u64, usize)| merged_by(None, from_end, span);
        let found = driven(false);
        assert_eq!(found, driven(true), "{filter:?} by classes");
        let all = merged(false, (0, 10_000));
        assert_eq!(all[..first.min(all.len())], found.1, "{filter:?} in order");
        let mut from_end = merged(true, (0, 10_000));
        from_end.reverse();
        assert_eq!(all, from_end, "{filter:?} from the end");
        let half = all.len() / 2;
        assert_eq!(all[half..], merged(false, (half as u64, 10_000)), "{filter:?} with a skip");
        // What is masked is taken away from what the index counts.
        let mut moved: Vec<(Candidate, i64)> = Vec::new();
        for segment in &self.snapshot.segments {
            let plan = plan(&predicate, segment, &|_| false).unwrap();
            let found = walk(segment, plan, &predicate, &order, 10_000, &|id| !masked(id)).unwrap();
            moved.extend(found.candidates.into_iter().map(|row| (row, -1)));
        }
        for skip in 0..=all.len() {
            let span = (skip as u64, 3);
            assert_eq!(merged_by(Some(moved.clone()), false, span), merged(false, span), "{filter:?} from {skip} on");
            assert_eq!(merged_by(Some(moved.clone()), true, span), merged(true, span), "{filter:?} back from {skip}");
        }
        found
    }

    fn ids(&self, filter: &Filter) -> Vec<u64> {
        self.find(filter, &by(&[(SortKey::Id, false)]), 100, &[]).1
    }
}

/// Number 0 and number 1.
fn classes() -> Classes {
    let mut classes = Classes::default();
    for class in both() {
        classes.add(class.into());
    }
    classes
}

fn both() -> [Class; 2] {
    let category = vec![ClassCoding { system: None, code: Some("c".into()) }];
    [
        Class {
            state: State::Draft,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![],
            kind: vec![],
        },
        Class {
            state: State::Completed,
            profile: Profile::Driver,
            consent: Consent::default(),
            category,
            kind: vec![],
        },
    ]
}

fn row(class: usize, last_updated: i64, values: &[&str]) -> Row {
    let [draft, completed] = both();
    let mut terms: Vec<Carried> =
        values.iter().map(|value| Carried::new(About::Subject, TermForm::Code, value)).collect();
    terms.sort_unstable();
    let class = if class == 0 { draft } else { completed };
    Row { class: class.into(), last_updated, date: None, period: None, title: None, terms }
}

fn term(value: &str) -> Filter {
    Filter::Term(Carried::new(About::Subject, TermForm::Code, value))
}

fn ids(ids: &[u64]) -> Filter {
    Filter::Ids(ids.iter().filter_map(|id| Id::new(*id)).collect())
}

fn all(parts: &[Filter]) -> Filter {
    Filter::All(parts.to_vec())
}

fn any(parts: &[Filter]) -> Filter {
    Filter::Any(parts.to_vec())
}

fn not(part: Filter) -> Filter {
    Filter::Not(Box::new(part))
}

fn draft() -> Filter {
    Filter::Class(ClassTest::State(State::Draft))
}

fn by(keys: &[(SortKey, bool)]) -> Vec<Sort> {
    keys.iter().map(|(key, descending)| Sort { key: *key, descending: *descending }).collect()
}

/// Six certificates: 1 to 3 in the first segment, 4 to 6 in the second; odd ones are drafts.
fn six() -> Fixture {
    let of = |id: u64, values: &[&str]| (id, row((id as usize + 1) % 2, id as i64, values));
    Fixture::new(vec![
        vec![of(1, &["a"]), of(2, &["a", "b"]), of(3, &["b", "c"])],
        vec![of(4, &["a"]), of(5, &["a", "b", "c"]), of(6, &[])],
    ])
}

#[test]
fn every_tree_finds_its_rows_whatever_drives() {
    let index = six();
    assert_eq!(index.snapshot.segments.len(), 2);
    let nobody = term("nobody");
    for (filter, found) in [
        (all(&[]), &[1, 2, 3, 4, 5, 6][..]),
        (any(&[]), &[]),
        (not(all(&[])), &[]),
        (not(any(&[])), &[1, 2, 3, 4, 5, 6]),
        (nobody.clone(), &[]),
        (not(nobody.clone()), &[1, 2, 3, 4, 5, 6]),
        (all(&[term("a"), nobody.clone()]), &[]),
        (any(&[term("c"), nobody.clone()]), &[3, 5]),
        (all(&[term("a"), term("b")]), &[2, 5]),
        (all(&[term("a"), not(term("b"))]), &[1, 4]),
        (any(&[term("a"), term("b")]), &[1, 2, 3, 4, 5]),
        (any(&[term("a"), draft()]), &[1, 2, 3, 4, 5]),
        (all(&[any(&[term("a"), term("c")]), draft()]), &[1, 3, 5]),
        (all(&[any(&[all(&[term("a"), draft()]), all(&[term("b"), not(draft())])])]), &[1, 2, 5]),
        (any(&[all(&[term("a"), any(&[term("b"), term("c")])]), ids(&[6, 99])]), &[2, 5, 6]),
        (all(&[ids(&[1, 2, 6]), any(&[term("b"), ids(&[6])])]), &[2, 6]),
        (all(&[all(&[all(&[term("b")]), draft()]), term("c")]), &[3, 5]),
        (not(any(&[term("a"), ids(&[3])])), &[6]),
        (all(&[ids(&[]), term("a")]), &[]),
        (Filter::Title(TitleTest::Present), &[]),
        (not(Filter::Time(TimeField::Date, TimeTest::Present)), &[1, 2, 3, 4, 5, 6]),
    ] {
        assert_eq!(index.ids(&filter), found, "{filter:?}");
        let (count, _) = index.find(&filter, &by(&[(SortKey::Id, false)]), 0, &[]);
        assert_eq!(count, found.len() as u64, "{filter:?}");
    }
}

#[test]
fn the_fewest_documents_drive() {
    let index = six();
    let segment = &index.snapshot.segments.iter().find(|segment| segment.max_doc() == 3).unwrap();
    let first = segment.term(&Carried::new(About::Subject, TermForm::Code, "a")).unwrap().map(|known| known.doc_freq);
    let ready = |filter: &Filter| Predicate::new(filter, &classes());
    let driven = |filter: &Filter| plan(&ready(filter), segment, &|_| false).unwrap().drive.count();
    assert_eq!(first, Some(2));
    assert_eq!(driven(&all(&[term("a"), term("nobody")])), 0);
    assert_eq!(driven(&all(&[term("a"), draft()])), 2);
    // An OR with a part that cannot drive cannot drive either, and `Every` is walked by the caller.
    assert_eq!(driven(&any(&[term("a"), draft()])), 0);
    for (filter, expected) in [
        (all(&[]), 3),
        (any(&[]), 0),
        (term("a"), 2),
        (ids(&[1, 2, 99]), 3),
        (not(term("a")), 3),
        (any(&[term("a"), term("a")]), 4),
        (any(&[term("a"), draft()]), 3),
        (all(&[term("a"), draft()]), 2),
        (any(&[all(&[draft(), term("a")]), ids(&[1])]), 3),
    ] {
        assert_eq!(plan(&ready(&filter), segment, &|_| false).unwrap().rows, expected, "{filter:?}");
    }
}

#[test]
fn masked_rows_are_counted_and_take_no_place() {
    let index = six();
    let newest = by(&[(SortKey::LastUpdated, true)]);
    assert_eq!(index.find(&all(&[]), &newest, 3, &[]), (6, vec![6, 5, 4]));
    assert_eq!(index.find(&all(&[]), &newest, 3, &[6, 4, 3]), (6, vec![5, 2, 1]));
    assert_eq!(index.find(&all(&[]), &by(&[(SortKey::Id, false)]), 2, &[1]), (6, vec![2, 3]));
    assert_eq!(index.find(&term("a"), &newest, 9, &[1, 2, 4, 5]), (4, vec![]));
}

#[test]
fn a_replaced_row_is_gone_from_its_segment() {
    let mut index = six();
    index.writer.remove(Id::new(5).unwrap());
    index
        .writer
        .add(Id::new(5).unwrap(), Version::FIRST.next(), &NumberedRow { row: row(0, 9, &["d"]), class: 0 })
        .unwrap();
    index.writer.remove(Id::new(1).unwrap());
    index.snapshot = index.writer.commit(Seq(9), -1, classes().ranks()).unwrap();
    assert_eq!(index.ids(&term("a")), [2, 4]);
    assert_eq!(index.ids(&term("d")), [5]);
    assert_eq!(index.ids(&ids(&[1, 5])), [5]);
    assert_eq!(index.find(&all(&[]), &by(&[(SortKey::LastUpdated, true)]), 2, &[]), (5, vec![5, 6]));
}

#[test]
fn a_page_is_jumped_to_whatever_was_deleted_or_is_masked() {
    let mut next = 7_u64;
    let mut roll = |below: u64| {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (next >> 33) % below
    };
    let mut rounds: Vec<Vec<(u64, Row)>> = Vec::new();
    for round in 0..4 {
        // Later rounds replace some of the rows of the ones before.
        let ids: HashSet<u64> = (0..60 - round * 10).map(|_| 1 + roll(150)).collect();
        let mut rows = Vec::new();
        for id in ids {
            let date = (roll(5) > 0).then(|| roll(6) as i64).map(|low| Span { low, high: low + 1 });
            let title = (roll(4) > 0).then(|| ["b", "a", "ä", "õ"][roll(4) as usize].into());
            rows.push((id, Row { date, title, ..row(roll(2) as usize, roll(20) as i64, &[]) }));
        }
        rounds.push(rows);
    }
    let index = Fixture::new(rounds);
    assert!(index.snapshot.segments.iter().any(|segment| segment.deletions.is_some()), "some are deleted");
    let masked: Vec<u64> = (1..150).filter(|id| id % 7 == 0).collect();
    let draft = Filter::Class(ClassTest::State(State::Draft));
    for filter in [all(&[]), draft.clone(), Filter::Not(Box::new(draft))] {
        for key in [SortKey::LastUpdated, SortKey::Date, SortKey::Title, SortKey::Status, SortKey::Id] {
            for descending in [false, true] {
                index.find(&filter, &by(&[(key, descending)]), 5, &masked);
                index.find(&filter, &by(&[(key, descending), (SortKey::Date, true)]), 5, &[]);
            }
        }
    }
}

/// A merge made the arrays of its segment within the round that brought it: ten million documents held the indexer up for seconds.
#[test]
fn a_large_new_segment_is_given_its_order_arrays_afterwards() {
    let rounds =
        [0, 1].map(|round| (1..=50).map(|id| (id + round * 50, row(id as usize % 2, id as i64, &[]))).collect());
    let mut index = Fixture::new(rounds.to_vec());
    let sort = by(&[(SortKey::Date, false)]);
    let first = index.find(&all(&[]), &sort, 3, &[]).1;
    index.writer.merge().unwrap();
    index.snapshot = index.writer.commit(Seq(3), 0, classes().ranks()).unwrap();
    assert_eq!(index.snapshot.segments.len(), 1);
    assert!(index.snapshot.lacks_arrays(), "it is only noted");
    index.snapshot.make_arrays(classes().ranks(), &|| false).unwrap();
    assert!(index.snapshot.lacks_arrays(), "a turn that is over makes none");
    index.snapshot.make_arrays(classes().ranks(), &|| true).unwrap();
    let [merged] = index.snapshot.segments.as_slice() else { panic!("one segment is left") };
    assert!(!index.snapshot.lacks_arrays() && merged.columns.arrays.has(&sort));
    assert_eq!(index.find(&all(&[]), &sort, 3, &[]).1, first);
}

#[test]
fn rows_of_the_same_time_are_ordered_by_what_comes_next() {
    let rows = (1..=40).map(|id| (id, Row { last_updated: 7, ..row(id as usize % 2, 7, &[]) })).collect();
    let index = Fixture::new(vec![rows]);
    let find = |keys: &[(SortKey, bool)], first| index.find(&all(&[]), &by(keys), first, &[]).1;
    assert_eq!(find(&[(SortKey::LastUpdated, true)], 3), [40, 39, 38]);
    assert_eq!(find(&[(SortKey::LastUpdated, true), (SortKey::Id, false)], 3), [1, 2, 3]);
    assert_eq!(find(&[(SortKey::LastUpdated, true), (SortKey::Status, true)], 3), [40, 38, 36]);
    assert_eq!(find(&[(SortKey::LastUpdated, false)], 3), [1, 2, 3]);
}

#[test]
fn the_first_of_many_are_kept_and_the_missing_come_last() {
    let dated = |id: u64| {
        let time = (id as i64 * 7_919) % 5_000;
        let date = (!id.is_multiple_of(10)).then_some(Span { low: time, high: time });
        (id, Row { date, ..row(0, id as i64, &[]) })
    };
    let index = Fixture::new(vec![(1..=2_000).map(dated).collect(), (2_001..=4_000).map(dated).collect()]);
    for descending in [false, true] {
        let mut expected: Vec<(Option<i64>, u64)> =
            (1..=4_000).map(|id| (dated(id).1.date.map(|date| date.low), id)).collect();
        expected.sort_by(|(left, one), (right, other)| match (left, right) {
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(_), None) => std::cmp::Ordering::Less,
            _ if descending => (right, other).cmp(&(left, one)),
            _ => (left, one).cmp(&(right, other)),
        });
        for first in [1, 600, 3_999, 4_000, usize::MAX] {
            let (count, found) = index.find(&all(&[]), &by(&[(SortKey::Date, descending)]), first, &[]);
            let expected: Vec<u64> = expected.iter().take(first).map(|(_, id)| *id).collect();
            assert!(count == 4_000 && found == expected, "the first {first}, descending {descending}");
        }
    }
}

#[test]
fn titles_of_different_segments_and_of_the_overlay_share_one_order() {
    let titled = |id: u64, title: Option<&str>| (id, Row { title: title.map(Into::into), ..row(0, 1, &[]) });
    let index = Fixture::new(vec![
        vec![titled(1, Some("Õun")), titled(2, None), titled(3, Some("banaan")), titled(4, Some("BANAAN"))],
        vec![titled(5, Some("õUN")), titled(6, Some("arbuus")), titled(7, Some("šokolaad")), titled(8, Some(""))],
        vec![titled(9, None)],
    ]);
    let find = |descending| index.find(&all(&[]), &by(&[(SortKey::Title, descending)]), 9, &[]).1;
    assert_eq!(find(false), [8, 6, 3, 4, 7, 1, 5, 2, 9]);
    assert_eq!(find(true), [5, 1, 7, 4, 3, 6, 8, 9, 2]);
    let sort = by(&[(SortKey::Title, false)]);
    let ranks = Ranks::default();
    let order = OrderBy { sort: &sort, ranks: &ranks, from_end: false };
    let candidate = |id, title| order.candidate(Id::new(id).unwrap(), Version::FIRST, 0, &titled(id, title).1);
    let (apple, none) = (candidate(4, Some("BANAAN")), candidate(2, None));
    assert!(order.compare(&candidate(3, Some("banaan")), &apple).is_lt() && order.compare(&apple, &none).is_lt());
    assert!(index.ids(&Filter::Title(TitleTest::Contains { folded: "ban".into() })) == [3, 4]);
    assert!(index.ids(&Filter::Title(TitleTest::Exact("õUN".into()))) == [5]);
    assert!(index.ids(&not(Filter::Title(TitleTest::Present))) == [2, 9]);
}

#[test]
fn an_open_validity_has_no_beginning_to_sort_by() {
    let valid = |id: u64, low: i64| (id, Row { period: Some(Span { low, high: i64::MAX }), ..row(0, 1, &[]) });
    let index = Fixture::new(vec![vec![valid(1, i64::MIN), valid(2, 5), valid(3, -5), (4, row(0, 1, &[]))]]);
    assert_eq!(index.find(&all(&[]), &by(&[(SortKey::Period, false)]), 9, &[]).1, [3, 2, 1, 4]);
    assert_eq!(index.find(&all(&[]), &by(&[(SortKey::Period, true)]), 9, &[]).1, [2, 3, 4, 1]);
    assert_eq!(index.ids(&Filter::Time(TimeField::Period, TimeTest::BeginsBefore(-4_000))), [1]);
    assert_eq!(index.ids(&Filter::Time(TimeField::Period, TimeTest::EndsAfter(4_000))), [1, 2, 3]);
}

#[test]
fn only_the_own_index_is_opened() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let folder = tempfile::tempdir().unwrap();
    assert!(IndexWriterHandle::open(folder.path(), &origin).is_err());
    let (mut writer, _) = IndexWriterHandle::create(folder.path(), &origin).unwrap();
    writer.add(Id::FIRST, Version::FIRST, &NumberedRow { row: row(0, 1, &["a"]), class: 0 }).unwrap();
    drop(writer.commit(Seq(4), 1, &Ranks::default()).unwrap());
    drop(writer);
    let (_, snapshot) = IndexWriterHandle::open(folder.path(), &origin).unwrap();
    assert_eq!((snapshot.at, snapshot.segments.len()), (Seq(4), 1));
    let others = [
        IndexOrigin { store: "other".into(), ..origin.clone() },
        IndexOrigin { epoch: "2".into(), ..origin.clone() },
        IndexOrigin { schema: "2".into(), ..origin.clone() },
    ];
    for other in others {
        assert!(IndexWriterHandle::open(folder.path(), &other).is_err(), "{other:?}");
    }
}

#[test]
fn an_index_with_another_number_of_rows_than_it_was_given_is_given_up() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let folder = tempfile::tempdir().unwrap();
    let (mut writer, _) = IndexWriterHandle::create(folder.path(), &origin).unwrap();
    let numbered = |id: i64| NumberedRow { row: row(0, id, &["a"]), class: 0 };
    writer.add(Id::FIRST, Version::FIRST, &numbered(1)).unwrap();
    assert!(writer.commit(Seq(1), 1, &Ranks::default()).is_ok());
    // The version before was not taken out.
    writer.add(Id::FIRST, Version::FIRST.next(), &numbered(2)).unwrap();
    assert!(writer.commit(Seq(2), 0, &Ranks::default()).is_err());
    writer.close();
    assert!(IndexWriterHandle::open(folder.path(), &origin).is_err());
}

#[test]
fn an_index_whose_making_was_killed_is_none() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let folder = tempfile::tempdir().unwrap();
    IndexWriterHandle::create(folder.path(), &origin).unwrap().0.close();
    std::fs::write(folder.path().join(".tmp8Xz1aQ"), "{").unwrap();
    for name in ["meta.json", ".managed.json"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
        let found = inspect(&IndexMedium::default(), folder.path(), &origin);
        assert!(matches!(found, IndexFolderState::Missing(_)), "without {name}");
    }
}

/// What was seen: a name that led out of the folder was deleted at the next start, whatever it named.
#[test]
fn a_list_of_files_that_names_one_elsewhere_is_not_opened() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    std::fs::create_dir(&index).unwrap();
    IndexWriterHandle::create(&index, &origin).unwrap().0.close();
    let list = index.join(".managed.json");
    let whole = std::fs::read_to_string(&list).unwrap();
    for name in ["../precious", "/precious", "a/b", "..", "."] {
        std::fs::write(&list, whole.replacen('[', &format!("[\"{name}\","), 1)).unwrap();
        let refused = IndexWriterHandle::open(&index, &origin).err().map(|error| error.0);
        assert!(refused.is_some_and(|told| told.contains("outside of its folder")), "{name}");
    }
}

/// tantivy names a file of deletes by the commit it belongs to: one of a round that was never committed is in the way of the next.
#[test]
fn files_that_no_commit_knows_are_not_in_the_way() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let folder = tempfile::tempdir().unwrap();
    let (mut writer, _) = IndexWriterHandle::create(folder.path(), &origin).unwrap();
    let numbered = |id: i64| NumberedRow { row: row(0, id, &["a"]), class: 0 };
    for id in 1..=20 {
        writer.add(Id::new(id).unwrap(), Version::FIRST, &numbered(id as i64)).unwrap();
    }
    drop(writer.commit(Seq(1), 20, &Ranks::default()).unwrap());
    writer.close();
    // A round that deletes, killed before its commit.
    let copy = |from: &Path, to: &Path| {
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    };
    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    let deletes = |writer: &mut IndexWriterHandle| {
        writer.remove(Id::FIRST);
        writer.commit(Seq(2), -1, &Ranks::default()).map(drop)
    };
    let (mut writer, _) = IndexWriterHandle::open(folder.path(), &origin).unwrap();
    deletes(&mut writer).unwrap();
    writer.close();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let left = left.iter().find(|path| path.extension().is_some_and(|kind| kind == "del")).unwrap();
    // Its name is entered in the list of files before it is written.
    for name in [left.file_name().unwrap(), ".managed.json".as_ref()] {
        std::fs::copy(folder.path().join(name), killed.path().join(name)).unwrap();
    }
    let (mut writer, _) = IndexWriterHandle::open(killed.path(), &origin).unwrap();
    deletes(&mut writer).unwrap();
    writer.close();
}

/// What was seen: one of five hundred kills left an index that held a certificate twice. tantivy gives the first change after it was opened
/// the stamp of the commit it was opened at, and a merge that begins before the next commit takes it for a part of that commit.
#[test]
fn a_merge_before_the_first_commit_loses_no_change() {
    let origin = IndexOrigin { store: "mine".into(), epoch: "1".into(), schema: "1".into() };
    let numbered = |id: u64| NumberedRow { row: row(0, id as i64, &["a"]), class: 0 };
    let folder = tempfile::tempdir().unwrap();
    let (mut writer, _) = IndexWriterHandle::create(folder.path(), &origin).unwrap();
    // The larger segment is the first of a merge. The last commit before the end deletes in the smaller one.
    for (round, ids) in [1..=30, 101..=110].into_iter().enumerate() {
        let count = ids.clone().count() as i64;
        for id in ids {
            writer.add(Id::new(id).unwrap(), Version::FIRST, &numbered(id)).unwrap();
        }
        drop(writer.commit(Seq(round as u64 + 1), count, &Ranks::default()).unwrap());
    }
    writer.remove(Id::new(101).unwrap());
    drop(writer.commit(Seq(3), -1, &Ranks::default()).unwrap());
    writer.close();
    let (mut writer, _) = IndexWriterHandle::open(folder.path(), &origin).unwrap();
    writer.remove(Id::new(102).unwrap());
    writer.add(Id::new(102).unwrap(), Version::FIRST.next(), &numbered(102)).unwrap();
    writer.merge().unwrap();
    assert_eq!(writer.commit(Seq(4), 0, &Ranks::default()).unwrap().alive, 39);
    writer.close();
}
