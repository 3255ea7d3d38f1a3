//! Derived tables: made again from the entries, whatever became of them.

use super::patients::patient;
use super::*;
use crate::embedded::store::tampered::{TAKE_OUT_LAST, edit_version, miscount, take_out_derived};
use crate::{ListKey, StoredList, VerifyReport};
use certificate::search::extract::extract;
use certificate::{Stamp, head};
use fhir::json::{self, Json};

const NI: &str = "https://fhir.ee/sid/pid/est/ni";

/// Certificates of all states and an imported one, consents, patients with links and with identifiers of before, and a code list.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    for number in 0..9 {
        let id = fixture.create(State::ALL[number % 2], &format!("Patient/{}", number % 4)).id;
        match number {
            2 => drop(fixture.delete(id).unwrap()),
            3 => drop(fixture.update(id, Trigger::Suspend, State::Suspended, "Patient/3").unwrap()),
            4..7 => drop(fixture.set_consent(id, Consent::ALL[number - 3]).unwrap()),
            _ => {}
        }
        let mut linked = patient(None, &[(NI, &number.to_string())]);
        linked.facts.links = vec![Id::new(77).unwrap()];
        fixture.patients([linked, patient(1, &[(NI, &format!("1{number}"))])]);
    }
    let key = ListKey { resource_type: "CodeSystem".into(), url: "https://example.ee/one".into() };
    let list = StoredList { key, at: 5, text: b"{}".to_vec() };
    fixture.engine.append(vec![ListChange::Put(list)]).blocking_recv().unwrap().unwrap();
    fixture
}

fn verified(fixture: &Fixture) -> VerifyReport {
    let engine = Engine::open_read_only(options(&fixture.folder, &fixture.now)).unwrap();
    let report = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
    engine.close();
    report
}

fn problems(fixture: &Fixture) -> Vec<String> {
    let report = verified(fixture);
    // Rows that these tests make by hand are not those of their bodies.
    let of_tables = |part: &str| !matches!(part, "version" | "index");
    let problems = report.problems.into_iter().filter(|problem| of_tables(&problem.part));
    problems.map(|problem| format!("{}: {}", problem.part, problem.text)).collect()
}

/// What was seen: a class that had lost its last certificate, and a clock that was reset, were told as tables that were not as they should be.
#[test]
fn what_a_deletion_or_a_reset_of_the_clock_left_is_as_it_should_be() {
    let fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.delete(id).unwrap();
    fixture.now.fetch_sub(3_600_000, Ordering::SeqCst);
    fixture.engine.append(crate::ClockDecision::Reset).blocking_recv().unwrap().unwrap();
    fixture.engine.close();
    let derived = || Engine::derive(&options(&fixture.folder, &fixture.now)).unwrap();
    assert_eq!([derived(), derived()], [const { Vec::<String>::new() }; 2]);
}

/// Takes the last row out of each of these tables in turn: a check tells the table.
fn expect_told(fixture: &Fixture, is_asked: impl Fn(&str) -> bool) {
    fixture.engine.close();
    let path = fixture.folder.path().join("data").join(crate::STORE_FILE);
    assert_eq!(problems(fixture), Vec::<String>::new());
    for (table, take_out) in TAKE_OUT_LAST.into_iter().filter(|(table, _)| is_asked(table)) {
        let whole = std::fs::read(&path).unwrap();
        take_out(&path);
        let told = problems(fixture);
        assert!(told.iter().any(|problem| problem.starts_with(&format!("{table}: "))), "{table}: {told:?}");
        std::fs::write(&path, whole).unwrap();
    }
}

fn import(fixture: &Fixture, content: (Vec<u8>, Row)) {
    let (id, stamp, content) = (Id::new(50).unwrap(), Stamp::at(1_600_000_000_000), Some(content));
    let import = ImportedVersion { id, version: Version::FIRST, stamp, state: State::Completed, content };
    fixture.engine.append(fixture.engine.prepare_import(vec![import])).blocking_recv().unwrap().unwrap();
}

/// What was seen: a code list that its table had lost was told by no check, and the next load would have made it a second time.
#[test]
fn a_check_tells_every_derived_table_that_lacks_a_row() {
    let fixture = filled();
    let content = content(Trigger::Create, State::Completed, "Patient/5");
    import(&fixture, (content.tail, content.row));
    let is_of_rows = |table: &str| matches!(table, "class" | "counter");
    expect_told(&fixture, |table| !is_of_rows(table));
    // Classes are counted where bodies give rows, which those above do not.
    let fixture = Fixture::new();
    let names = certificate::Names::default();
    let profile = names.profile(Profile::Driver);
    let text = format!(r#"{{"resourceType":"Composition","meta":{{"profile":["{profile}"]}},"status":"final"}}"#);
    let Json::Object(certificate) = json::parse(text.as_bytes()).unwrap() else { panic!("{text}") };
    import(&fixture, (head::tail(&certificate), extract(&certificate, 1_600_000_000_000, &names).unwrap()));
    expect_told(&fixture, is_of_rows);
    miscount(&fixture.folder.path().join("data").join(crate::STORE_FILE));
    assert!(verified(&fixture).is_derived_alone());
}

#[test]
fn derived_tables_are_made_again_as_they_were_and_told_where_they_were_not() {
    let mut fixture = filled();
    let found = fixture.find(Filter::Term(about("Patient/3")));
    fixture.engine.close();
    let options = options(&fixture.folder, &fixture.now);
    let path = fixture.folder.path().join("data").join(crate::STORE_FILE);
    assert_eq!(problems(&fixture), Vec::<String>::new());
    assert_eq!(Engine::derive(&options).unwrap(), Vec::<String>::new());
    miscount(&path);
    assert_eq!(Engine::derive(&options).unwrap(), ["counter"]);
    assert_eq!(Engine::derive(&options).unwrap(), Vec::<String>::new());
    take_out_derived(&path);
    let all = [
        "class",
        "counter",
        "consent_closed",
        "patient_identifier",
        "patient_former",
        "patient_born",
        "patient_link",
        "list_id",
    ];
    assert_eq!(Engine::derive(&options).unwrap(), all);
    assert_eq!(problems(&fixture), Vec::<String>::new());
    fixture.reopen();
    fixture.indexed();
    assert_eq!(fixture.find(Filter::Term(about("Patient/3"))), found);
    assert_eq!(fixture.engine.lists().unwrap().len(), 1);
    fixture.engine.close();
    // Nothing is derived from what is damaged.
    miscount(&path);
    let flip = || edit_version(&path, Id::FIRST, Version::FIRST, |record| record[50] ^= 1);
    flip();
    assert!(matches!(Engine::derive(&options), Err(StoreError::Damaged(_))));
    flip();
    assert_eq!(Engine::derive(&options).unwrap(), ["counter"]);
}
