//! Consent: versions of its own beside those of the certificate, found by searches like any other change, and the rights of a write.

use super::*;
use crate::{ChangeAction, Particulars};
use certificate::{Openness, Stamp};
use fhir::outcome::Hcert;

const CLOSED: Consent = Consent { doctor: Openness::Closed, representative: Openness::Open };

fn doctor_closed() -> Filter {
    Filter::Class(ClassTest::DoctorClosed)
}

fn open_to_doctors() -> Option<Arc<Filter>> {
    Some(Arc::new(Filter::Not(Box::new(doctor_closed()))))
}

fn code(refused: Result<AcknowledgedChange, RefusedChange>) -> Hcert {
    match refused {
        Err(RefusedChange::Rules(outcome)) => outcome.leading(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_of_consent_is_found_at_once_and_makes_no_version() {
    let mut fixture = Fixture::new();
    let one = fixture.create(State::Completed, "Patient/1");
    fixture.create(State::Completed, "Patient/2");
    assert_eq!(fixture.engine.consent_history(one.id).unwrap(), []);
    fixture.indexed();
    let resource = fixture.engine.read(one.id, None, |entry| entry.stored()).unwrap().unwrap().resource;
    let told = fixture.set_consent(one.id, CLOSED).unwrap();
    assert_eq!((told.version, told.consent, told.changed), (one.version, CLOSED, true));
    assert!(told.stamp.milliseconds > one.stamp.milliseconds);
    let again = fixture.set_consent(one.id, CLOSED).unwrap();
    assert_eq!((again.changed, again.consent, fixture.engine.seq()), (false, CLOSED, Seq(3)));
    let check = |fixture: &Fixture| {
        assert_eq!(fixture.find(doctor_closed()), (1, vec![(1, 1)]));
        assert_eq!(fixture.find(Filter::Not(Box::new(doctor_closed()))), (1, vec![(2, 1)]));
        assert_eq!(fixture.find(Filter::All(vec![doctor_closed(), Filter::Term(about("Patient/1"))])).0, 1);
        assert_eq!(fixture.find(Filter::Class(ClassTest::RepresentativeClosed)).0, 0);
        let (stored, consent) =
            fixture.engine.read(one.id, None, |entry| Ok((entry.stored()?, entry.consent()?))).unwrap().unwrap();
        assert_eq!((stored.stamp, &stored.resource, consent), (one.stamp, &resource, CLOSED));
    };
    check(&fixture);
    fixture.indexed();
    check(&fixture);
    fixture.reopen();
    check(&fixture);
    fixture.rebuild();
    check(&fixture);
    fixture.indexed();
    check(&fixture);
}

#[test]
fn new_versions_keep_the_consent_and_its_history_tells_who_and_when() {
    let mut fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    let first = fixture.set_consent(id, CLOSED).unwrap();
    let updated = fixture.update(id, Trigger::Update, State::Completed, "Patient/1").unwrap();
    assert_eq!((updated.version.get(), updated.consent), (2, CLOSED));
    assert_eq!(fixture.find(doctor_closed()), (1, vec![(1, 2)]));
    let both = Consent { representative: Openness::Closed, ..CLOSED };
    let write = |doctor, representative| {
        let who = Actor { role: Some("patient".into()), ..Actor::default() };
        fixture.write(Write::Consent { id, doctor, representative, if_match: None, who, rows: None }).unwrap().consent
    };
    assert_eq!(write(None, Some(Openness::Closed)), both);
    assert_eq!(write(Some(Openness::Open), None), Consent { doctor: Openness::Open, ..both });
    fixture.reopen();
    let history = fixture.engine.consent_history(id).unwrap();
    let shown: Vec<_> = history.iter().map(|record| (record.number, record.seq.0, record.version.get())).collect();
    assert_eq!(shown, [(3, 5, 2), (2, 4, 2), (1, 2, 1)]);
    assert_eq!((history[2].consent, history[2].stamp), (CLOSED, first.stamp));
    assert_eq!(history[2].who.person.as_deref(), Some("47101010033"));
    assert_eq!(history[0].who.role.as_deref(), Some("patient"));
    assert!(fixture.engine.consent_history(id.next()).unwrap().is_empty());
}

#[test]
fn consent_of_what_was_never_there_or_is_deleted_is_refused_and_a_deleted_one_keeps_its_own() {
    let fixture = Fixture::new();
    assert_eq!(code(fixture.set_consent(Id::FIRST, CLOSED)), Hcert::NotFound);
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.set_consent(id, CLOSED).unwrap();
    assert_eq!(fixture.delete(id).unwrap().consent, CLOSED);
    assert_eq!(code(fixture.set_consent(id, Consent::default())), Hcert::Deleted);
    assert_eq!(fixture.find(Filter::All(vec![])).0, 0);
    let effective_row = fixture.engine.read(id, None, |entry| entry.effective_row()).unwrap().unwrap();
    assert_eq!(
        (effective_row.version.get(), effective_row.state, effective_row.consent()),
        (2, State::Deleted, CLOSED)
    );
    assert!(effective_row.row.is_some_and(|row| row.has(&about("Patient/1"))));
    let (stored, row) = fixture.engine.read(id, None, |entry| entry.stored_with_row()).unwrap().unwrap();
    assert_eq!((stored.resource, row), (vec![], None));
    let first = |entry: &Entry| Ok((entry.stored()?, entry.stored_with_row()?, entry.row()?, entry.effective_row()?));
    let (stored, (again, row), same, effective_row) =
        fixture.engine.read(id, Some(Version::FIRST), first).unwrap().unwrap();
    assert_eq!((stored.resource, row.as_ref()), (again.resource, same.as_ref()));
    assert_eq!(
        (row, effective_row.state, effective_row.consent()),
        (effective_row.row.clone(), State::Deleted, CLOSED)
    );
}

#[test]
fn rights_are_judged_behind_404_and_410_and_before_the_rest() {
    let fixture = Fixture::new();
    let draft = fixture.create(State::Draft, "Patient/1").id;
    let seq = fixture.engine.seq();
    let nobody = || Some(Arc::new(Filter::Any(vec![])));
    let if_match = || Some(certificate::Precondition::Any);
    let update = |id, rows| {
        let content = content(Trigger::Update, State::Draft, "Patient/1");
        fixture.write(Write::Update { id, content, if_match: None, base: Version::new(9), rows })
    };
    let delete = |id, rows| fixture.write(Write::Delete { id, if_match: if_match(), who: Actor::default(), rows });
    let consent = |id, rows| {
        let (doctor, representative) = (Some(Openness::Closed), None);
        fixture.write(Write::Consent { id, doctor, representative, if_match: None, who: Actor::default(), rows })
    };
    let unknown = draft.next();
    assert_eq!(code(update(unknown, nobody())), Hcert::IdNotAssigned);
    assert_eq!(code(delete(unknown, nobody())), Hcert::NotFound);
    assert_eq!(code(consent(unknown, nobody())), Hcert::NotFound);
    for refused in [update(draft, nobody()), delete(draft, nobody()), consent(draft, nobody())] {
        assert_eq!(code(refused), Hcert::OutsideRights);
    }
    assert_eq!(fixture.engine.seq(), seq);
    assert!(matches!(update(draft, open_to_doctors()), Err(RefusedChange::Moved)));
    consent(draft, open_to_doctors()).unwrap();
    // It is closed from now on, so the same rights lead nowhere.
    for refused in [update(draft, open_to_doctors()), delete(draft, open_to_doctors())] {
        assert_eq!(code(refused), Hcert::OutsideRights);
    }
    assert_eq!(code(consent(draft, open_to_doctors())), Hcert::OutsideRights);
    fixture.delete(draft).unwrap();
    assert_eq!(code(update(draft, nobody())), Hcert::Deleted);
    assert_eq!(code(consent(draft, nobody())), Hcert::Deleted);
    // What was deleted decides, not its absence.
    assert_eq!(code(delete(draft, open_to_doctors())), Hcert::OutsideRights);
    assert!(!delete(draft, Some(Arc::new(doctor_closed()))).unwrap().changed);
}

#[test]
fn a_conditional_create_does_not_learn_of_what_is_hidden() {
    let fixture = Fixture::new();
    let create = |rows: Option<Arc<Filter>>| {
        let content = content(Trigger::Create, State::Draft, "Patient/1");
        let if_none_exist = Some(about("Patient/1"));
        fixture.write(Write::Create { content, if_none_exist, rows })
    };
    let hidden = create(None).unwrap().id;
    fixture.set_consent(hidden, CLOSED).unwrap();
    for indexed in [false, true] {
        if indexed {
            fixture.indexed();
        }
        assert_eq!(create(None).unwrap().id, hidden);
    }
    let own = create(open_to_doctors()).unwrap();
    assert!(own.changed && own.id != hidden);
    // Both are there, but only one of them counts.
    let again = create(open_to_doctors()).unwrap();
    assert_eq!((again.id, again.changed, again.consent), (own.id, false, Consent::default()));
    assert_eq!(code(create(None)), Hcert::MultipleMatches);
}

#[test]
fn judging_without_writing_asks_the_same() {
    let fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    let write = |rows| Write::Delete { id, if_match: None, who: Actor::default(), rows };
    let judge = |rows| fixture.engine.judge(&write(rows)).unwrap();
    assert!(judge(open_to_doctors()).is_ok());
    fixture.set_consent(id, CLOSED).unwrap();
    assert!(
        matches!(judge(open_to_doctors()), Err(RefusedChange::Rules(outcome)) if outcome.leading() == Hcert::OutsideRights)
    );
    fixture.delete(id).unwrap();
    assert!(judge(open_to_doctors()).is_err() && judge(None).is_ok());
}

#[test]
fn exports_pass_over_consent_however_long_it_goes_on() {
    let fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    for consent in Consent::ALL.iter().cycle().skip(1).take(9) {
        fixture.set_consent(id, *consent).unwrap();
    }
    fixture.create(State::Draft, "Patient/2");
    fixture.set_consent(id, CLOSED).unwrap();
    for max in [1, 2, 3, 100] {
        let mut at = Seq(0);
        let mut seqs = Vec::new();
        loop {
            let chunk = fixture.engine.ledger().versions_after(at, max).unwrap();
            let Some((seq, _)) = chunk.last() else { break };
            at = *seq;
            seqs.extend(chunk.iter().map(|(seq, _)| seq.0));
        }
        assert_eq!(seqs, [1, 11], "{max} at once");
    }
}

#[test]
fn an_import_out_of_order_keeps_consent_out_of_the_table_of_times() {
    let fixture = Fixture::new();
    let id = fixture.create(State::Draft, "Patient/1").id;
    fixture.set_consent(id, CLOSED).unwrap();
    let content = content(Trigger::Create, State::Completed, "Patient/5");
    let (stamp, content) = (Stamp::at(1_600_000_000_000), Some((content.tail, content.row)));
    let import = ImportedVersion { id: id.next(), version: Version::FIRST, stamp, state: State::Completed, content };
    fixture.engine.append(fixture.engine.prepare_import(vec![import])).blocking_recv().unwrap().unwrap();
    fixture.set_consent(id.next(), CLOSED).unwrap();
    let query = HistoryQuery { id: None, since: None, at: None, page: 1, count: 10, hidden: None };
    let page = fixture.engine.history(&query).unwrap().unwrap();
    assert_eq!((page.total, page.hits.len(), page.hits[0].id), (2, 2, id));
}

#[test]
fn the_ledger_tells_of_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_736_676_000_000));
    let engine = Engine::open(options(&folder, &now)).unwrap();
    let fixture = Fixture { folder, now, engine };
    let particulars =
        Particulars { given_name: Some("Mari".into()), family_name: Some("Õun".into()), ..Particulars::default() };
    let who = Actor { person: Some("1".into()), particulars: Some(Box::new(particulars)), ..Actor::default() };
    let subject = VersionSubject { id: "200".into(), version: "3".into(), identifiers: vec![] };
    let content = |trigger, state| {
        let (who, subject) = (who.clone(), Some(subject.clone()));
        VersionContent { who, subject, ..content(trigger, state, "Patient/200") }
    };
    let create = |state| {
        let content = content(Trigger::Create, state);
        fixture.write(Write::Create { content, if_none_exist: None, rows: None }).unwrap().id
    };
    let update = |id, trigger, state| {
        let content = content(trigger, state);
        fixture.write(Write::Update { id, content, if_match: None, base: None, rows: None }).unwrap();
    };
    let (one, two) = (create(State::Draft), create(State::Draft));
    update(one, Trigger::Update, State::Completed);
    fixture.set_consent(one, CLOSED).unwrap();
    update(one, Trigger::Suspend, State::Suspended);
    update(one, Trigger::Cancel, State::Revoked);
    fixture.delete(two).unwrap();
    // Neither changes anything.
    fixture.delete(two).unwrap();
    fixture.set_consent(one, CLOSED).unwrap();
    let imported = super::content(Trigger::Create, State::Completed, "Patient/5");
    let (stamp, content) = (Stamp::at(1_600_000_000_000), Some((imported.tail, imported.row)));
    let import = ImportedVersion { id: two.next(), version: Version::FIRST, stamp, state: State::Completed, content };
    fixture.engine.append(fixture.engine.prepare_import(vec![import])).blocking_recv().unwrap().unwrap();
    let told = fixture.engine.ledger().changes_after(Seq(0), usize::MAX).unwrap();
    const EXPECTED: [ChangeAction; 8] = {
        use ChangeAction::*;
        [Create, Create, Update, Consent, Suspend, Cancel, Delete, Import]
    };
    let actions: Vec<ChangeAction> = told.iter().map(|change| change.action).collect();
    assert_eq!(actions, EXPECTED);
    assert!(told.iter().enumerate().all(|(at, change)| change.seq.0 == at as u64 + 1));
    assert!(told[..7].iter().all(|change| change.patient.as_deref() == Some("200") && change.moved_from.is_none()));
    assert_eq!((told[0].who.clone(), told[3].consent, told[3].version.get()), (who, Some(CLOSED), 2));
    assert_eq!(fixture.engine.ledger().changes_after(Seq(2), 3).unwrap(), told[2..5]);
}

#[test]
fn a_change_that_moves_a_draft_tells_of_both_patients() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_736_676_000_000));
    let engine = Engine::open(options(&folder, &now)).unwrap();
    let fixture = Fixture { folder, now, engine };
    let subject = |id: &str| {
        let identifiers = vec![("ni".to_owned(), format!("code of {id}"))];
        Some(VersionSubject { id: id.to_owned(), version: "1".into(), identifiers })
    };
    let content = |trigger, patient: &str| {
        let subject = subject(patient);
        VersionContent { subject, ..content(trigger, State::Draft, &format!("Patient/{patient}")) }
    };
    let create = Write::Create { content: content(Trigger::Create, "200"), if_none_exist: None, rows: None };
    let id = fixture.write(create).unwrap().id;
    for patient in ["201", "201", "200"] {
        let content = content(Trigger::Update, patient);
        fixture.write(Write::Update { id, content, if_match: None, base: None, rows: None }).unwrap();
    }
    fixture.delete(id).unwrap();
    let told = fixture.engine.ledger().changes_after(Seq(0), usize::MAX).unwrap();
    let patients: Vec<_> = told.iter().map(|told| (told.patient.clone().unwrap(), told.moved_from.clone())).collect();
    let (one, other) = ("200".to_owned(), "201".to_owned());
    let expected = [
        (one.clone(), None),
        (other.clone(), subject("200")),
        (other, None),
        (one.clone(), subject("201")),
        (one, None),
    ];
    assert_eq!(patients, expected);
}
