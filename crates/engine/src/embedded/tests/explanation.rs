//! A search is explained as it is run: each way there is, and each source of a total.

use super::*;
use crate::{SearchDriver, SearchExplanation, SearchWay, TotalSource};
use certificate::search::filter::TitleTest;

/// Certificates of the store: enough that a single one is a rare class.
const CERTIFICATES: u64 = 130;

/// One patient each, all completed but a suspended one, and all in the index.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    for number in 1..=CERTIFICATES {
        fixture.create(State::Completed, &format!("Patient/{number}"));
    }
    fixture.update(Id::new(7).unwrap(), Trigger::Suspend, State::Suspended, "Patient/7").unwrap();
    fixture.indexed();
    fixture
}

fn asked(filter: Filter, page: u64, count: u32) -> EngineQuery {
    let sort = vec![Sort { key: SortKey::Id, descending: false }];
    EngineQuery { filter, sort, page, count }
}

fn explained(fixture: &Fixture, filter: &Filter) -> SearchExplanation {
    fixture.engine.explain(&asked(filter.clone(), 1, 20)).unwrap()
}

fn state(state: State) -> Filter {
    Filter::Class(ClassTest::State(state))
}

fn titled(folded: &str) -> Filter {
    Filter::Title(TitleTest::Contains { folded: folded.to_owned() })
}

#[test]
fn each_way_of_a_search_is_told_with_where_its_total_is_from() {
    let fixture = filled();
    let driven = |driver| SearchWay::Driven(vec![driver]);
    let subject = |number: u64| Filter::Term(about(&format!("Patient/{number}")));
    let postings = || driven(SearchDriver::Postings(Field::Subject));
    for (filter, way, total) in [
        (Filter::All(vec![]), SearchWay::Merged { jumps: false }, TotalSource::Counters),
        (state(State::Completed), SearchWay::Merged { jumps: false }, TotalSource::Counters),
        (state(State::Suspended), driven(SearchDriver::Classes), TotalSource::Counters),
        (state(State::Draft), SearchWay::Nothing, TotalSource::Counters),
        (subject(3), postings(), TotalSource::Counted),
        (Filter::All(vec![state(State::Completed), subject(3)]), postings(), TotalSource::Counted),
        (Filter::Any(vec![subject(3), subject(4)]), postings(), TotalSource::Counted),
        (Filter::Ids(vec![Id::new(5).unwrap()]), driven(SearchDriver::Ids), TotalSource::Counted),
        (titled("toend"), driven(SearchDriver::Every), TotalSource::Counted),
        (Filter::Not(Box::new(subject(3))), driven(SearchDriver::Every), TotalSource::Counted),
    ] {
        let told = explained(&fixture, &filter);
        assert_eq!((told.way, told.total), (way, total), "{filter:?}");
        assert_eq!((told.overlay_rows, told.segments > 0), (0, true), "{filter:?}");
    }
    let either = Filter::Any(vec![state(State::Suspended), subject(3)]);
    assert_eq!(explained(&fixture, &either).total, TotalSource::CountersAndRows);
    let both = Filter::Any(vec![subject(3), Filter::Ids(vec![Id::new(5).unwrap()])]);
    let SearchWay::Driven(drivers) = explained(&fixture, &both).way else { panic!("it is driven") };
    assert_eq!(drivers, [SearchDriver::Postings(Field::Subject), SearchDriver::Ids]);
}

#[test]
fn rows_are_those_of_the_plan_and_of_the_overlay() {
    let fixture = filled();
    let by_subject = Filter::Term(about("Patient/3"));
    assert_eq!(explained(&fixture, &by_subject).rows, 1);
    fixture.update(Id::new(3).unwrap(), Trigger::Suspend, State::Suspended, "Patient/3").unwrap();
    assert_eq!(explained(&fixture, &by_subject).overlay_rows, 1);
    assert_eq!(explained(&fixture, &Filter::Term(about("Patient/4"))).overlay_rows, 0);
}

#[test]
fn a_remembered_count_is_told_as_one() {
    let fixture = filled();
    let filter = titled("toend");
    fixture.engine.shared.view().unwrap().index.remember(&filter, CERTIFICATES);
    let told = explained(&fixture, &filter);
    assert_eq!((told.way, told.total), (SearchWay::Merged { jumps: false }, TotalSource::Remembered));
    let total_alone = fixture.engine.explain(&asked(filter, 1, 0)).unwrap();
    assert_eq!((total_alone.way, total_alone.total), (SearchWay::Nothing, TotalSource::Remembered));
}
