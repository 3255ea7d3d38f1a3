//! Consent in histories and among readers: what is hidden is left out of every total and page, and every answer is of one moment.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::store::CALLS;
use super::*;
use certificate::search::hidden::HiddenCertificates;
use certificate::{Openness, Stamp};
use fhir::date_time::Span;

const CLOSED: Consent = Consent { doctor: Openness::Closed, representative: Openness::Closed };

fn doctor_closed() -> Filter {
    Filter::Class(ClassTest::DoctorClosed)
}

/// One move of a history. Certificates are named by their place among those made so far.
#[derive(Clone, Debug)]
enum Move {
    Create(u8),
    Update(usize, u8),
    Delete(usize),
    Consent(usize, Consent),
    /// Of another time than now.
    Import(i64, u8),
}

/// A version as the model knows it.
#[derive(Clone, Debug)]
struct Made {
    id: u64,
    version: u32,
    milliseconds: i64,
}

#[derive(Default)]
struct Model {
    versions: Vec<Made>,
    consents: HashMap<u64, Consent>,
    /// Of the newest row.
    authors: HashMap<u64, u8>,
    deleted: Vec<u64>,
}

const START: i64 = 1_736_676_000_000;

/// A certificate of an author's hand.
fn hand_written(author: u8, trigger: Trigger) -> VersionContent {
    let mut content = content(trigger, State::Draft, "Patient/1");
    content.row.terms.push(hand(author));
    content.row.terms.sort();
    content
}

fn hand(author: u8) -> Term {
    Term::new(Field::AuthorPractitioner, TermForm::Code, &format!("Practitioner/{author}"))
}

impl Model {
    fn made(&mut self, written: &AcknowledgedChange) {
        let (id, version) = (written.id.get(), written.version.get());
        self.versions.push(Made { id, version, milliseconds: written.stamp.milliseconds });
    }

    fn play(&mut self, fixture: &Fixture, step: Move) {
        let living: Vec<u64> = self.authors.keys().copied().filter(|id| !self.deleted.contains(id)).collect();
        let pick = |at: usize| -> Option<Id> {
            let mut living = living.clone();
            living.sort_unstable();
            Id::new(*living.get(at % living.len().max(1))?)
        };
        match step {
            Move::Create(by) => {
                let content = hand_written(by, Trigger::Create);
                let written = fixture.write(Write::Create { content, if_none_exist: None, rows: None }).unwrap();
                self.made(&written);
                self.authors.insert(written.id.get(), by);
            }
            Move::Update(at, by) => {
                let Some(id) = pick(at) else { return };
                let content = hand_written(by, Trigger::Update);
                let update = Write::Update { id, content, if_match: None, base: None, rows: None };
                let Ok(written) = fixture.write(update) else { return };
                self.made(&written);
                self.authors.insert(id.get(), by);
            }
            Move::Delete(at) => {
                let Some(id) = pick(at) else { return };
                let Ok(written) = fixture.delete(id) else { return };
                self.made(&written);
                self.deleted.push(id.get());
            }
            Move::Consent(at, consent) => {
                let Some(id) = pick(at) else { return };
                fixture.set_consent(id, consent).unwrap();
                self.consents.insert(id.get(), consent);
            }
            Move::Import(milliseconds, by) => {
                let id = Id::new(self.versions.iter().map(|made| made.id).max().unwrap_or(0) + 1).unwrap();
                let content = hand_written(by, Trigger::Create);
                let stamp = Stamp::at(START + milliseconds);
                let content = Some((content.tail, content.row));
                let import = ImportedVersion { id, version: Version::FIRST, stamp, state: State::Draft, content };
                let batch = fixture.engine.prepare_import(vec![import]);
                fixture.engine.append(batch).blocking_recv().unwrap().unwrap();
                let (version, state, consent) = (Version::FIRST, State::Draft, Consent::default());
                self.made(&AcknowledgedChange { id, version, stamp, state, changed: true, consent });
                self.authors.insert(id.get(), by);
            }
        }
    }

    /// All versions that a caller sees, newest first.
    fn history(&self, query: &HistoryQuery) -> Vec<(u64, u32)> {
        let HistoryQuery { since, at, .. } = *query;
        let hidden = |id: u64| {
            let consent = self.consents.get(&id).copied().unwrap_or_default();
            query.hidden.as_ref().is_some_and(|hidden| {
                let is_own = hand(self.authors[&id]) == hidden.hand;
                if is_own { hidden.own.contains(&consent) } else { hidden.of_others.contains(&consent) }
            })
        };
        let replaced = |of: &Made| {
            self.versions
                .iter()
                .find(|made| (made.id, made.version) == (of.id, of.version + 1))
                .map(|made| made.milliseconds)
        };
        let mut shown: Vec<(usize, &Made)> = self.versions.iter().enumerate().collect();
        shown.sort_by_key(|(at, made)| (made.milliseconds, *at));
        let shown = shown.into_iter().rev().map(|(_, made)| made).filter(|made| {
            since.is_none_or(|since| made.milliseconds >= since)
                && at.is_none_or(|at| {
                    made.milliseconds <= at.high && replaced(made).is_none_or(|replaced| replaced > at.low)
                })
                && !hidden(made.id)
        });
        shown.map(|made| (made.id, made.version)).collect()
    }
}

/// A time of the past: some seconds ago, hours or years.
fn past(spread: i64) -> impl Fn(i64) -> i64 + Clone {
    move |milliseconds| if milliseconds < 0 { milliseconds * spread } else { milliseconds }
}

fn step(imports: u32, spread: i64) -> impl Strategy<Value = Move> {
    let past = past(spread);
    prop_oneof![
        6 => (1..3u8).prop_map(Move::Create),
        5 => (0..9usize, 1..3u8).prop_map(|(at, by)| Move::Update(at, by)),
        1 => (0..9usize).prop_map(Move::Delete),
        9 => (0..9usize, select(&Consent::ALL[..])).prop_map(|(at, consent)| Move::Consent(at, consent)),
        imports => (-9_000..9_000i64, 1..3u8).prop_map(move |(milliseconds, by)| Move::Import(past(milliseconds), by)),
    ]
}

fn moment(spread: i64) -> impl Strategy<Value = i64> {
    let past = past(spread);
    (-10_000..60_000i64).prop_map(move |milliseconds| START + past(milliseconds))
}

/// What is hidden, if anything is.
fn hidden() -> impl Strategy<Value = Option<HiddenCertificates>> {
    let consents = || subsequence(&Consent::ALL[1..], 0..=3);
    let hidden = (consents(), consents(), 1..4u8);
    option::of(hidden.prop_map(|(of_others, own, by)| HiddenCertificates { of_others, own, hand: hand(by) }))
}

fn question(spread: i64) -> impl Strategy<Value = HistoryQuery> {
    let at = option::weighted(0.3, (moment(spread), 0..20_000i64));
    let question = (option::of(moment(spread)), at, 1..5u64, 0..7u32, hidden());
    question.prop_map(|(since, at, page, count, hidden)| {
        let at = at.map(|(low, length)| Span { low, high: low + length });
        HistoryQuery { id: None, since, at, page, count, hidden }
    })
}

/// A history, and questions about it.
fn story() -> impl Strategy<Value = (Vec<Move>, Vec<HistoryQuery>)> {
    (select(&[0, 2][..]), select(&[1, 1_000, 60_000_000][..]))
        .prop_flat_map(|(imports, spread)| (vec(step(imports, spread), 1..50), vec(question(spread), 40)))
}

fn expect_history(fixture: &Fixture, model: &Model, query: &HistoryQuery) -> Result<(), TestCaseError> {
    let expected = model.history(query);
    let found = fixture.engine.history(query).unwrap().unwrap();
    let skip = (query.page - 1) as usize * query.count as usize;
    let shown: Vec<(u64, u32)> = expected.iter().copied().skip(skip).take(query.count as usize).collect();
    let hits: Vec<(u64, u32)> = found.hits.iter().map(|hit| (hit.id.get(), hit.version.get())).collect();
    prop_assert_eq!((found.total, hits), (expected.len() as u64, shown), "{:?}", query);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_history_is_that_of_all_versions_less_the_hidden_ones((steps, questions) in story()) {
        let mut fixture = Fixture::new();
        let mut model = Model::default();
        for (step, query) in steps.into_iter().zip(questions.iter().cycle()) {
            model.play(&fixture, step);
            expect_history(&fixture, &model, query)?;
        }
        for query in &questions {
            expect_history(&fixture, &model, query)?;
        }
        fixture.reopen();
        for query in &questions {
            expect_history(&fixture, &model, query)?;
        }
    }
}

/// What was seen: the page was empty, since the halving among the ordered versions asked about one before those that it looks among.
#[test]
fn a_version_of_a_later_time_is_shown_where_all_before_it_are_hidden() {
    let fixture = Fixture::new();
    let mut model = Model::default();
    let closed = Consent { doctor: Openness::Closed, representative: Openness::Open };
    for step in [Move::Create(1), Move::Import(3_001, 1), Move::Update(2, 1), Move::Consent(6, closed)] {
        model.play(&fixture, step);
    }
    let hidden = Some(HiddenCertificates { of_others: vec![closed], own: vec![], hand: hand(2) });
    let query = HistoryQuery { id: None, since: None, at: None, page: 1, count: 6, hidden };
    expect_history(&fixture, &model, &query).unwrap();
}

/// Calls that a page costs the store.
fn calls(fixture: &Fixture, query: &HistoryQuery) -> u64 {
    let before = CALLS.get();
    fixture.engine.history(query).unwrap();
    CALLS.get() - before
}

/// Imports certificates, one in a time, from a moment on.
fn import(fixture: &Fixture, ids: std::ops::Range<u64>, from: i64, apart: i64) {
    let versions = ids.clone().map(|id| {
        let stamp = Stamp::at(from + (id - ids.start) as i64 * apart);
        let VersionContent { tail, row, .. } = hand_written(1, Trigger::Create);
        let (id, version, state) = (Id::new(id).unwrap(), Version::FIRST, State::Draft);
        ImportedVersion { id, version, stamp, state, content: Some((tail, row)) }
    });
    let batch = fixture.engine.prepare_import(versions.collect());
    fixture.engine.append(batch).blocking_recv().unwrap().unwrap();
}

/// What was seen: a page of a doctor read every closed certificate and all its versions, 149 ms where 20 000 were closed.
#[test]
fn a_page_costs_no_more_where_many_certificates_are_closed() {
    const HOUR: i64 = 3_600_000;
    let (old, closed, new) = (START - 100 * HOUR, START - 90 * HOUR, START - 70 * HOUR);
    for is_unordered in [false, true] {
        let fixture = Fixture::new();
        if !is_unordered {
            import(&fixture, 501..531, old, 60_000);
        }
        import(&fixture, 1..401, closed, 90_000);
        import(&fixture, 401..431, new, 60_000);
        if is_unordered {
            import(&fixture, 501..531, old, 60_000);
        }
        for id in (1..401).filter_map(Id::new) {
            fixture.set_consent(id, CLOSED).unwrap();
        }
        let hidden = Some(HiddenCertificates { of_others: vec![CLOSED], own: vec![], hand: hand(2) });
        let query = |since, page, hidden| HistoryQuery { id: None, since, at: None, page, count: 20, hidden };
        assert!(fixture.engine.is_long(&query(None, 1, hidden.clone())));
        fixture.engine.history(&query(None, 1, hidden.clone())).unwrap();
        for (since, page) in [(None, 1), (None, 2), (None, 3), (None, 4), (Some(closed + HOUR), 2), (Some(old), 2)] {
            let query = |hidden| query(since, page, hidden);
            assert!(!fixture.engine.is_long(&query(hidden.clone())));
            let [open, hidden] = [None, hidden.clone()].map(|hidden| calls(&fixture, &query(hidden)));
            assert!(hidden <= 2 * open + 60, "{is_unordered} {since:?} {page}: {hidden} calls and not {open}");
        }
    }
}

const CERTIFICATES: u64 = 24;
const READERS: usize = 16;
const TOGGLES: u64 = 150;

/// How many certificates are closed when so many were toggled, one after another, round and round.
fn closed_after(toggles: u64) -> u64 {
    let turn = toggles % (2 * CERTIFICATES);
    if turn <= CERTIFICATES { turn } else { 2 * CERTIFICATES - turn }
}

#[test]
fn every_reader_sees_one_moment_while_consent_changes() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    let ids: Vec<Id> = (0..CERTIFICATES)
        .map(|number| {
            let id = fixture.create(State::Draft, &format!("Patient/{}", number % 3)).id;
            fixture.update(id, Trigger::Update, State::Completed, &format!("Patient/{}", number % 3)).unwrap();
            id
        })
        .collect();
    let before = engine.seq().0;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let (ids, stop) = (&ids, &stop);
            scope.spawn(move || {
                let search = |filter| {
                    let sort = vec![Sort { key: SortKey::LastUpdated, descending: true }];
                    engine
                        .plan(EngineQuery { filter, sort, page: 1, count: 100 })
                        .and_then(|planned| planned.run())
                        .unwrap()
                };
                let mut seen = Seq(0);
                while !stop.load(Ordering::Acquire) {
                    let page = search(doctor_closed());
                    assert_eq!(page.total, closed_after(page.at.0 - before), "at {}", page.at);
                    assert_eq!(page.hits.len() as u64, page.total);
                    assert!(page.at >= seen, "no reader goes back");
                    seen = page.at;
                    // Both are closed and opened at once, so nobody ever is between.
                    let half = Filter::Not(Box::new(Filter::Class(ClassTest::RepresentativeClosed)));
                    assert_eq!(search(Filter::All(vec![doctor_closed(), half])).total, 0);
                    let of_patient = |open: bool| {
                        let own = Filter::Term(about("Patient/1"));
                        let closed = if open { Filter::Not(Box::new(doctor_closed())) } else { doctor_closed() };
                        let page = search(Filter::All(vec![own, closed]));
                        assert_eq!(page.hits.len() as u64, page.total);
                        page.total
                    };
                    assert!(of_patient(true) <= CERTIFICATES / 3 && of_patient(false) <= CERTIFICATES / 3);
                    let id = ids[(reader + seen.0 as usize) % ids.len()];
                    let (stored, consent) =
                        engine.read(id, None, |entry| Ok((entry.stored()?, entry.consent()?))).unwrap().unwrap();
                    assert!(stored.version.get() == 2 && [CLOSED, Consent::default()].contains(&consent));
                    let of_others = vec![Consent::ALL[1], Consent::ALL[3]];
                    let hidden = Some(HiddenCertificates { of_others, own: vec![], hand: hand(1) });
                    let query = HistoryQuery { id: None, since: None, at: None, page: 1, count: 100, hidden };
                    let history = engine.history(&query).unwrap().unwrap();
                    let open = CERTIFICATES - closed_after(history.at.0 - before);
                    assert_eq!((history.total, history.hits.len() as u64), (2 * open, 2 * open));
                }
            });
        }
        let _stop = Stop(&stop);
        for toggle in 0..TOGGLES {
            let id = ids[(toggle % CERTIFICATES) as usize];
            let closes = (toggle / CERTIFICATES).is_multiple_of(2);
            let consent = if closes { CLOSED } else { Consent::default() };
            let told = fixture.set_consent(id, consent).unwrap();
            assert!(told.changed);
            // Acknowledged, so every reader that comes now sees it.
            assert_eq!(
                engine.read(id, None, |entry| Ok((entry.stored()?, entry.consent()?))).unwrap().unwrap().1,
                consent
            );
            assert_eq!(fixture.find(doctor_closed()).0, closed_after(toggle + 1));
            if toggle % 40 == 20 {
                engine.index_now();
            }
        }
    });
}
