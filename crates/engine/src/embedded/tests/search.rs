//! Any filter and any order over any history: the engine finds what asking every current row finds, wherever the rows lie.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use certificate::Stamp;
use certificate::search::class::ClassCoding;
use certificate::search::collation;
use certificate::search::filter::{TimeTest, TitleTest, TokenTest};
use certificate::search::parameter::TimeField;
use fhir::date_time::Span;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// The certificate gets a new version at this time; time does not go back for one certificate.
    Write(u64, i64, Row),
    Delete(u64),
    Consent(u64, Consent),
    /// The indexer takes in all that came before.
    Index,
    Reopen,
    /// As `Index`; the index as it is then is set aside.
    Keep,
    /// What was set aside takes the place of the index, as when the process was killed since.
    Kill,
    /// The index is lost.
    Rebuild,
}

const IDS: u64 = 9;

fn coding() -> impl Strategy<Value = ClassCoding> {
    (select(&[None, Some("s"), Some("t")][..]), select(&[None, Some("a"), Some("b"), Some("õ")][..]))
        .prop_map(|(system, code)| ClassCoding { system: system.map(Into::into), code: code.map(Into::into) })
}

fn class() -> impl Strategy<Value = Class> {
    (select(&State::ALL[..4]), select(&Profile::ALL[..]), vec(coding(), 0..3), vec(coding(), 0..2)).prop_map(
        |(state, profile, category, kind)| Class { state, profile, consent: Consent::default(), category, kind },
    )
}

fn span() -> impl Strategy<Value = Option<Span>> {
    let low = prop_oneof![8 => -3..6i64, 1 => Just(i64::MIN)];
    let length = prop_oneof![8 => 0..4i64, 1 => Just(i64::MAX)];
    option::of((low, length).prop_map(|(low, length)| match length {
        i64::MAX => Span { low, high: i64::MAX },
        length => Span { low, high: low.max(-3) + length },
    }))
}

const TITLES: &[&str] = &["a", "A", "ab", "Äb", "äb", "õ", "", "Z", "š", "xyz", "a b"];

/// Terms of every form, one of them hashed.
fn terms() -> Vec<Term> {
    let mut terms = Term::token(Field::Identifier, Some("s"), Some("1"));
    terms.extend(Term::token(Field::Identifier, None, Some("2")));
    terms.extend([about("Patient/1"), about("Patient/2"), about(&"long".repeat(30))]);
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn row() -> impl Strategy<Value = Row> {
    let title = option::of(select(TITLES));
    let carried = proptest::sample::subsequence(terms(), 0..=5);
    (class(), span(), span(), title, carried).prop_map(|(class, date, period, title, terms)| Row {
        class: Arc::new(class),
        last_updated: 0,
        date,
        period,
        title: title.map(Into::into),
        terms,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        24 => (1..=IDS, 0..6i64, row()).prop_map(|(id, time, row)| Step::Write(id, time, row)),
        4 => (1..=IDS).prop_map(Step::Delete),
        12 => (1..=IDS, select(&Consent::ALL[..])).prop_map(|(id, consent)| Step::Consent(id, consent)),
        3 => Just(Step::Index),
        1 => Just(Step::Reopen),
        1 => Just(Step::Keep),
        1 => Just(Step::Kill),
        1 => Just(Step::Rebuild),
    ]
}

fn token_test() -> impl Strategy<Value = TokenTest> {
    let (system, code) = (select(&["s", "t", "u"][..]), select(&["a", "b", "c"][..]));
    prop_oneof![
        code.clone().prop_map(|code| TokenTest::Code(code.into())),
        code.clone().prop_map(|code| TokenTest::CodeWithoutSystem(code.into())),
        system.clone().prop_map(|system| TokenTest::System(system.into())),
        (system, code).prop_map(|(system, code)| TokenTest::SystemCode(system.into(), code.into())),
        Just(TokenTest::Present),
    ]
}

fn time_test() -> impl Strategy<Value = TimeTest> {
    let moment = -4..8i64;
    prop_oneof![
        Just(TimeTest::Present),
        (moment.clone(), moment.clone()).prop_map(|(low, high)| TimeTest::Within { low, high }),
        (moment.clone(), moment.clone()).prop_map(|(low, high)| TimeTest::Covers { low, high }),
        moment.clone().prop_map(TimeTest::BeginsBefore),
        moment.clone().prop_map(TimeTest::BeginsAfter),
        moment.clone().prop_map(TimeTest::EndsBefore),
        moment.prop_map(TimeTest::EndsAfter),
    ]
}

fn title_test() -> impl Strategy<Value = TitleTest> {
    let part = select(&["a", "ab", "b", "z", ""][..]);
    prop_oneof![
        Just(TitleTest::Present),
        part.clone().prop_map(|folded| TitleTest::BeginsWith { folded: folded.into() }),
        part.prop_map(|folded| TitleTest::Contains { folded: folded.into() }),
        select(TITLES).prop_map(|title| TitleTest::Exact(title.into())),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    let field = select(&[TimeField::LastUpdated, TimeField::Date, TimeField::Period][..]);
    let ids = proptest::collection::btree_set(1..=IDS + 2, 0..5);
    let leaf = prop_oneof![
        4 => select(terms()).prop_map(Filter::Term),
        1 => Just(Filter::Term(about("Patient/nobody"))),
        2 => ids.prop_map(|ids| Filter::Ids(ids.into_iter().filter_map(Id::new).collect())),
        1 => select(&State::ALL[..4]).prop_map(|state| Filter::Class(ClassTest::State(state))),
        1 => Just(Filter::Class(ClassTest::DoctorClosed)),
        1 => Just(Filter::Class(ClassTest::RepresentativeClosed)),
        1 => token_test().prop_map(|test| Filter::Class(ClassTest::Category(test))),
        1 => token_test().prop_map(|test| Filter::Class(ClassTest::Kind(test))),
        2 => (field, time_test()).prop_map(|(field, test)| Filter::Time(field, test)),
        1 => title_test().prop_map(Filter::Title),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 0..4).prop_map(Filter::All),
            3 => vec(inner.clone(), 0..4).prop_map(Filter::Any),
            1 => inner.prop_map(|part| Filter::Not(Box::new(part))),
        ]
    })
}

fn sort() -> impl Strategy<Value = Vec<Sort>> {
    use SortKey::{Category, Date, Id, LastUpdated, Period, Status, Title};
    let keys = Just(vec![Date, LastUpdated, Period, Status, Category, Id, Title]).prop_shuffle();
    (keys, 1..5usize, vec(any::<bool>(), 7)).prop_map(|(keys, many, descending)| {
        keys.into_iter().zip(descending).take(many).map(|(key, descending)| Sort { key, descending }).collect()
    })
}

/// All current rows.
type Rows = BTreeMap<u64, (u32, Row)>;

/// Runs a history, on the engine and on a map.
fn play(fixture: &mut Fixture, steps: Vec<Step>) -> Rows {
    let mut rows = Rows::new();
    let mut last: BTreeMap<u64, (u32, i64, bool)> = BTreeMap::new();
    for step in steps {
        let (id, time, row) = match step {
            Step::Index => {
                fixture.indexed();
                continue;
            }
            Step::Reopen => {
                fixture.reopen();
                continue;
            }
            Step::Keep => {
                keep_index(fixture);
                continue;
            }
            Step::Kill => {
                kill(fixture);
                continue;
            }
            Step::Rebuild => {
                fixture.rebuild();
                continue;
            }
            Step::Consent(id, consent) => {
                let told = fixture.set_consent(Id::new(id).unwrap(), consent);
                match rows.get_mut(&id) {
                    Some((_, row)) => {
                        assert_eq!(told.unwrap().changed, row.class.consent != consent);
                        Arc::make_mut(&mut row.class).consent = consent;
                    }
                    None => assert!(told.is_err()),
                }
                continue;
            }
            Step::Write(id, time, row) => (id, time, Some(row)),
            Step::Delete(id) => (id, 0, None),
        };
        let before = last.get(&id).copied().unwrap_or((0, 0, false));
        if before.2 || (row.is_none() && before.0 == 0) {
            continue;
        }
        let (version, time) = (before.0 + 1, before.1.max(time));
        let import = ImportedVersion {
            id: Id::new(id).unwrap(),
            version: Version::new(version).unwrap(),
            stamp: Stamp::at(time),
            state: row.as_ref().map_or(State::Deleted, |row| row.class.state),
            content: row.clone().map(|row| (b"}}".to_vec(), row)),
        };
        let imported =
            fixture.engine.append(fixture.engine.prepare_import(vec![import])).blocking_recv().unwrap().unwrap();
        assert_eq!(imported, [Imported::Stored]);
        last.insert(id, (version, time, row.is_none()));
        match row {
            Some(mut row) => {
                let consent = rows.get(&id).map(|(_, row)| row.class.consent).unwrap_or_default();
                Arc::make_mut(&mut row.class).consent = consent;
                rows.insert(id, (version, Row { last_updated: time, ..row }))
            }
            None => rows.remove(&id),
        };
    }
    rows
}

fn keep_index(fixture: &mut Fixture) {
    fixture.indexed();
    fixture.engine.close();
    let (index, kept) = (fixture.folder.path().join("data/index"), fixture.folder.path().join("kept"));
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir(&kept).unwrap();
    copy(&index, &kept);
    fixture.reopen();
}

fn kill(fixture: &mut Fixture) {
    let (index, kept) = (fixture.folder.path().join("data/index"), fixture.folder.path().join("kept"));
    if kept.exists() {
        fixture.engine.close();
        std::fs::remove_dir_all(&index).unwrap();
        std::fs::create_dir(&index).unwrap();
        copy(&kept, &index);
        fixture.reopen();
        assert!(fixture.engine.shared.view().is_some(), "the index is close behind the store");
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn compare(sort: &[Sort], left: (u64, &Row), right: (u64, &Row)) -> Ordering {
    for Sort { key, descending } in sort {
        let ordered = |left: Option<Vec<u8>>, right: Option<Vec<u8>>| match (left, right) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (left, right) if *descending => right.cmp(&left),
            (left, right) => left.cmp(&right),
        };
        let found = ordered(sort_key(*key, left.0, left.1), sort_key(*key, right.0, right.1));
        if found != Ordering::Equal {
            return found;
        }
    }
    if sort[0].descending { right.0.cmp(&left.0) } else { left.0.cmp(&right.0) }
}

fn sort_key(key: SortKey, id: u64, row: &Row) -> Option<Vec<u8>> {
    let number = |number: i64| number.wrapping_sub(i64::MIN).to_be_bytes().to_vec();
    let begins = |span: Option<Span>| span.filter(|span| span.low != i64::MIN).map(|span| number(span.low));
    match key {
        SortKey::Date => begins(row.date),
        SortKey::Period => begins(row.period),
        SortKey::LastUpdated => Some(number(row.last_updated)),
        SortKey::Status => Some(row.class.state.status().code().into()),
        SortKey::Category => row.class.category.first()?.code.as_deref().map(Into::into),
        SortKey::Id => Some(id.to_be_bytes().to_vec()),
        SortKey::Title => row.title.as_deref().map(collation::key),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_search_finds_what_asking_every_row_finds(
        steps in vec(step(), 1..40),
        searches in vec((filter(), sort(), 1..4u64, select(&[0, 1, 2, 5, 100][..])), 60),
    ) {
        let mut fixture = Fixture::new();
        let rows = play(&mut fixture, steps);
        for (filter, sort, page, count) in searches {
            let mut found: Vec<(u64, &(u32, Row))> = rows
                .iter()
                .filter(|(id, (_, row))| filter.matches(Id::new(**id).unwrap(), row))
                .map(|(id, row)| (*id, row))
                .collect();
            found.sort_by(|left, right| compare(&sort, (left.0, &left.1.1), (right.0, &right.1.1)));
            let skip = (page - 1) as usize * count as usize;
            let expected: Vec<(u64, u32)> =
                found.iter().skip(skip).take(count as usize).map(|(id, (version, _))| (*id, *version)).collect();
            let query = EngineQuery { filter, sort, page, count };
            let _ = fixture.find(Filter::All(vec![]));
            let view = fixture.engine.shared.view().unwrap();
            for (way, planned) in view.every_plan(&query).into_iter().enumerate() {
                let page = view.run(&query, planned).unwrap();
                let hits: Vec<(u64, u32)> = page.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect();
                prop_assert_eq!((page.total, &hits), (found.len() as u64, &expected), "way {} of {:?}", way, query);
            }
            let page = fixture.engine.plan(query).and_then(|planned| planned.run()).unwrap();
            prop_assert_eq!(page.total, found.len() as u64);
        }
    }
}
