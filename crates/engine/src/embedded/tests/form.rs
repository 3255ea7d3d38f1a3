//! Rows whose form this release does not know, or cannot be, in a store of this release's format: damage, whoever reads them.

use std::fs;
use std::path::Path;

use super::store::tampered::{edit_change, edit_consent, edit_dictionary, edit_patient, edit_version, set_meta};
use super::*;
use crate::STORE_FILE;

/// Where the damage is met at the latest.
enum Met {
    /// The store cannot be opened, neither to serve nor to be looked at.
    Opening,
    /// The store can be looked at. A check of it tells the part, and whoever reads it is refused.
    Reading(&'static str, fn(&Engine) -> Result<(), StoreError>),
}

type Tampering = (&'static str, fn(&Path), Met);

#[rustfmt::skip]
const TAMPERINGS: &[Tampering] = &[
    ("format of a version",       |file| edit_version(file, FIRST, Version::FIRST, |record| record[0] = 9),    Met::Reading("version", export)),
    ("state of a version",        |file| edit_version(file, FIRST, Version::FIRST, |record| record[1] = 9),    Met::Reading("version", export)),
    ("dictionary of a version",   |file| edit_version(file, FIRST, Version::FIRST, |record| record[2] = 9),    Met::Reading("version", export)),
    ("no bytes of a version",     |file| edit_version(file, FIRST, Version::FIRST, Vec::clear),                Met::Reading("version", export)),
    ("kind of a change",          |file| edit_change(file, Seq(1), |row| row[0] = 9),                          Met::Reading("change", export)),
    ("kind of the last change",   |file| edit_change(file, LAST, |row| row[0] = 9),                            Met::Opening),
    ("id of a change",            |file| edit_change(file, Seq(1), |row| row[1..9].fill(0)),                   Met::Reading("change", export)),
    ("format of a consent",       |file| edit_consent(file, FIRST, 1, |record| record[0] = 9),                 Met::Reading("consent", consents)),
    ("no bytes of a consent",     |file| edit_consent(file, FIRST, 1, Vec::clear),                             Met::Reading("consent", consents)),
    ("format of a patient",       |file| edit_patient(file, FIRST, Version::FIRST, |record| record[0] = 9),    Met::Reading("patient", patients)),
    ("no bytes of a patient",     |file| edit_patient(file, FIRST, Version::FIRST, Vec::clear),                Met::Reading("patient", patients)),
    ("magic of a dictionary",     |file| edit_dictionary(file, 1, |content| content[0] ^= 1),                  Met::Reading("version", export)),
    ("tables of a dictionary",    |file| edit_dictionary(file, 1, |content| content[8..40].fill(0xFF)),        Met::Opening),
    ("no bytes of a dictionary",  |file| edit_dictionary(file, 1, Vec::clear),                                 Met::Reading("version", export)),
    ("format 0",                  |file| set_meta(file, "format", &[0; 4]),                                    Met::Opening),
    ("format of 3 bytes",         |file| set_meta(file, "format", &[2, 0, 0]),                                 Met::Opening),
    ("seal-key of 3 bytes",       |file| set_meta(file, "seal-key", &[1; 3]),                                  Met::Opening),
    ("store that is no text",     |file| set_meta(file, "store", &[0xFF; 36]),                                 Met::Opening),
    ("next-id of 3 bytes",        |file| set_meta(file, "next-id", &[1; 3]),                                   Met::Opening),
    ("next-patient-id of 3 bytes", |file| set_meta(file, "next-patient-id", &[1; 3]),                          Met::Opening),
    ("latest-stamp of 3 bytes",   |file| set_meta(file, "latest-stamp", &[1; 3]),                              Met::Opening),
    ("clock-resets of 3 bytes",   |file| set_meta(file, "clock-resets", &[1; 3]),                              Met::Opening),
    ("clock-accepted of 3 bytes", |file| set_meta(file, "clock-accepted", &[1; 3]),                            Met::Opening),
];

const FIRST: Id = Id::FIRST;
/// The last change of the store below.
const LAST: Seq = Seq(3);

fn export(engine: &Engine) -> Result<(), StoreError> {
    engine.export(Seq(0), 10).map(drop)
}

fn consents(engine: &Engine) -> Result<(), StoreError> {
    engine.consent_history(FIRST).map(drop)
}

fn patients(engine: &Engine) -> Result<(), StoreError> {
    engine.patient(FIRST).map(drop)
}

/// What a backup reads.
fn backed_up(engine: &Engine) -> Result<(), StoreError> {
    let moment = engine.moment()?;
    let mut check = CopyCheck::new(&moment.dictionaries)?;
    check.changes(Seq(0), &engine.copy_changes(Seq(0), moment.until)?.bytes)?;
    check.patients(0, &engine.copy_patients(0, moment.patients_until)?.bytes).map(drop)
}

#[track_caller]
fn expect_damaged(what: &str, done: Result<(), StoreError>) {
    let error = done.expect_err(what);
    // The exit code 3 and the advice what to do next follow from these words.
    assert!(error.to_string().contains(crate::DAMAGED), "{what}: {error}");
}

#[test]
fn a_row_of_an_unknown_form_is_damage_that_nobody_passes_over() {
    let fixture = Fixture::new();
    let first = fixture.create(State::Draft, "Patient/1").id;
    assert_eq!(first, FIRST);
    fixture.set_consent(first, Consent::ALL[1]).unwrap();
    assert_eq!(fixture.create(State::Draft, "Patient/1").id, first.next());
    assert_eq!(fixture.engine.seq(), LAST);
    fixture.patients([super::patients::patient(1, &[])]);
    fixture.engine.close();
    let whole = fs::read(fixture.folder.path().join("data").join(STORE_FILE)).unwrap();
    for (what, tamper, met) in TAMPERINGS {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let file = data.join(STORE_FILE);
        fs::write(&file, &whole).unwrap();
        tamper(&file);
        for serves in [false, true] {
            let open = if serves { Engine::open } else { Engine::look };
            let (engine, part, read) = match (open(options(&folder, &fixture.now)), met) {
                (Ok(engine), Met::Reading(part, read)) => (engine, part, read),
                (opened, met) => {
                    expect_damaged(what, opened.map(|engine| engine.close()));
                    // Whoever serves needs an index, and there is none: all rows are read.
                    assert!(serves || matches!(met, Met::Opening), "{what}: it cannot be looked at");
                    continue;
                }
            };
            expect_damaged(what, read(&engine));
            expect_damaged(what, backed_up(&engine));
            let verified = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
            let is_told = |problem: &VerifyProblem| {
                problem.part == *part
                    && !problem.text.contains("its body gives no row")
                    && !problem.text.contains("to its end")
            };
            assert!(verified.problems.iter().any(is_told), "{what}: {:?}", verified.problems);
            engine.close();
        }
    }
}

#[test]
fn a_copied_change_of_an_id_that_none_can_have_is_damage() {
    let fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    let moment = fixture.engine.moment().unwrap();
    let mut piece = fixture.engine.copy_changes(Seq(0), Seq(1)).unwrap().bytes;
    piece[9..17].fill(0xFF);
    let mut check = CopyCheck::new(&moment.dictionaries).unwrap();
    expect_damaged("check", check.changes(Seq(0), &piece).map(drop));
    let folder = tempfile::tempdir().unwrap();
    let beginning =
        crate::Beginning { store: moment.store, names: moment.names, dictionaries: moment.dictionaries, to: Seq(1) };
    let mut restore = StoreRestore::begin(folder.path(), 8 << 20, beginning).unwrap();
    expect_damaged("restore", restore.changes(&piece));
}
