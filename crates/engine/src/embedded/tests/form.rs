//! Rows whose form this release does not know, or cannot be, in a store of this release's format: damage, whoever reads them.

use std::fs;
use std::path::Path;

use super::store::tampered::{edit_change, edit_consent, edit_dictionary, edit_patient, edit_version, set_meta};
use super::*;
use crate::{EntryLog, PieceForm, STORE_FILE};

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
    ("kind of a change",          |file| edit_change(file, Seq(1), |row| row[0] = 9),                          Met::Reading("log", export)),
    ("kind of the last change",   |file| edit_change(file, LAST, |row| row[0] = 9),                            Met::Opening),
    ("id of a change",            |file| edit_change(file, Seq(1), |row| row[1..9].fill(0)),                   Met::Reading("log", export)),
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
    ("clock-accepted of 3 bytes", |file| set_meta(file, "clock-accepted", &[1; 3]),                            Met::Opening),
];

const FIRST: Id = Id::FIRST;
/// The last change of the store below.
const LAST: Seq = Seq(3);

fn export(engine: &Engine) -> Result<(), StoreError> {
    engine.ledger().versions_after(Seq(0), 10).map(drop)
}

fn consents(engine: &Engine) -> Result<(), StoreError> {
    engine.consent_history(FIRST).map(drop)
}

fn patients(engine: &Engine) -> Result<(), StoreError> {
    engine.patients().newest(FIRST).map(drop)
}

/// What a backup reads.
fn backed_up(engine: &Engine) -> Result<(), StoreError> {
    let moment = engine.ledger().moment()?;
    let mut check = CopyCheck::new(&moment.dictionaries, CopyOrder::behind(Seq(0), 0, None), moment.until)?;
    for (log, until) in [(EntryLog::Changes, moment.until.0), (EntryLog::Register, moment.register_until)] {
        check.piece(log, PieceForm::Present, &engine.ledger().copy(log, 0, until)?.bytes)?;
    }
    Ok(())
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
            let open = if serves { Engine::open } else { Engine::open_read_only };
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

/// What was seen: archives with such rows, every digest right, were whole for a check. A restore refused some of them halfway, and took
/// others, whose store then panicked at the next patient or at a read.
#[test]
fn a_copied_row_that_no_store_can_have_written_is_damage_for_a_check_and_for_a_restore() {
    type Edit = fn(&mut Vec<u8>);
    const HEAD: usize = 41;
    // Where the second row stands: behind number, row and record of the first.
    fn second(piece: &[u8]) -> usize {
        HEAD + u32::from_le_bytes(piece[HEAD - 4..HEAD].try_into().unwrap()) as usize
    }
    fn with_record(piece: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut record = piece.split_off(HEAD);
        let end = second(&[&piece[..], &record[..]].concat()) - HEAD;
        let rest = record.split_off(end);
        record.truncate(end - 4);
        edit(&mut record);
        let sum = store::crc::crc(&record);
        record.extend(sum.to_le_bytes());
        let length = record.len() as u32;
        piece.truncate(HEAD - 4);
        piece.extend(length.to_le_bytes());
        piece.extend([record, rest].concat());
    }
    let changes: [(&str, Edit); 4] = [
        ("id", |piece| piece[9..17].fill(0xFF)),
        ("number of a version", |piece| piece[17] = 9),
        ("running count", |piece| piece[29] = 9),
        ("the version of another", |piece| {
            let at = second(piece);
            piece[at + 9] = 1;
        }),
    ];
    let patients: [(&str, Edit); 5] = [
        ("id of a patient", |piece| piece[9..17].fill(0xFF)),
        ("version of a patient", |piece| piece[17] = 9),
        ("id of the one before", |piece| {
            let at = second(piece);
            piece[at + 9] = 1;
        }),
        ("a resource that is no JSON", |piece| with_record(piece, |record| record.extend(*b"x"))),
        ("a resource that is no UTF-8", |piece| {
            with_record(piece, |record| {
                let end = record.len() - 3;
                record[end..].fill(0xFF);
            });
        }),
    ];
    let fixture = Fixture::new();
    fixture.create(State::Draft, "Patient/1");
    fixture.create(State::Draft, "Patient/1");
    fixture.patients([super::patients::patient(1, &[]), super::patients::patient(2, &[])]);
    let moment = fixture.engine.ledger().moment().unwrap();
    let [whole, whole_patients] = EntryLog::ALL.map(|log| fixture.engine.ledger().copy(log, 0, 2).unwrap().bytes);
    let expect = |what: &str, changes: &[u8], patients: &[u8], is_whole: bool| {
        let mut check = CopyCheck::new(&moment.dictionaries, CopyOrder::behind(Seq(0), 0, None), Seq(2)).unwrap();
        let pieces = [(EntryLog::Changes, changes), (EntryLog::Register, patients)];
        let form = PieceForm::Present;
        let checked = pieces.iter().try_for_each(|(log, piece)| check.piece(*log, form, piece));
        let folder = tempfile::tempdir().unwrap();
        let (store, names, dictionaries) = (moment.store.clone(), moment.names.clone(), moment.dictionaries.clone());
        let beginning = crate::RestoreStart {
            store,
            names,
            origin: moment.chain.origin,
            dictionaries,
            form,
            to: Seq(2),
            onto: None,
        };
        let mut restore = StoreRestore::begin(folder.path(), 8 << 20, beginning).unwrap();
        let restored = pieces.iter().try_for_each(|(log, piece)| restore.piece(*log, piece));
        if is_whole {
            checked.expect(what);
            restored.expect(what);
        } else {
            expect_damaged(what, checked);
            expect_damaged(what, restored);
        }
    };
    expect("nothing", &whole, &whole_patients, true);
    for (what, edit) in changes {
        let mut piece = whole.clone();
        edit(&mut piece);
        expect(what, &piece, &whole_patients, false);
    }
    for (what, edit) in patients {
        let mut piece = whole_patients.clone();
        edit(&mut piece);
        expect(what, &whole, &piece, false);
    }
}

/// What was seen: a patient whose body was no JSON was told by no check, and whoever read it ended with a panic; so did the writer when
/// the largest id there is was taken.
#[test]
fn a_patient_that_cannot_be_read_and_an_id_that_none_can_have_are_damage_and_no_panic() {
    let fixture = Fixture::new();
    fixture.patients([super::patients::patient(1, &[])]);
    fixture.engine.close();
    let file = fixture.folder.path().join("data").join(STORE_FILE);
    edit_patient(&file, FIRST, Version::FIRST, |record| {
        record.truncate(record.len() - 4);
        record.extend(*b"x\xFF");
        let sum = store::crc::crc(record);
        record.extend(sum.to_le_bytes());
    });
    set_meta(&file, "next-patient-id", &u64::MAX.to_le_bytes());
    let engine = Engine::open(options(&fixture.folder, &fixture.now)).unwrap();
    expect_damaged("read", engine.patients().newest(FIRST).map(drop));
    let verified = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
    assert!(verified.problems.iter().any(|problem| problem.part == "patient"), "{:?}", verified.problems);
    let write = super::patients::patient(None, &[]);
    assert!(engine.append(PatientWrites { writes: vec![write], waits: true }).blocking_recv().unwrap().is_err());
    engine.close();
}
