//! Erasing a certificate: nothing of its content stays in any file, and everything else stays what it was.

use std::path::PathBuf;

use super::*;
use crate::embedded::store::tampered::{edit_version, version_record};
use crate::{
    EntryHead, EntryLog, JOURNAL_FILES, PieceForm, RestoreEnd, RestoreStart, STORE_FILE, StoreChain, VerifyReport,
};

const NI: &str = "https://fhir.ee/sid/pid/est/ni";

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

/// Two certificates of two patients, the first with three versions and a consent between them.
fn filled() -> Fixture {
    let fixture = Fixture::new();
    let first = fixture.create_for("Patient/1", "38001085718");
    fixture.create(State::Completed, "Patient/2");
    fixture.set_consent(first, Consent::ALL[1]).unwrap();
    fixture.update(first, Trigger::Suspend, State::Suspended, "Patient/1").unwrap();
    fixture.update(first, Trigger::Cancel, State::Revoked, "Patient/1").unwrap();
    fixture.indexed();
    fixture
}

impl Fixture {
    /// Creates a certificate of a patient whom the registry knew.
    fn create_for(&self, subject: &str, code: &str) -> Id {
        let mut content = content(Trigger::Create, State::Completed, subject);
        let identifiers = vec![(NI.to_owned(), code.to_owned())];
        content.subject = Some(VersionSubject { id: "1".into(), version: "1".into(), identifiers });
        self.write(Write::Create { content, if_none_exist: None, rows: None }).unwrap().id
    }

    fn erase(&self, certificate: u64) -> ErasedCertificate {
        self.engine.close();
        Engine::erase(&options(&self.folder, &self.now), id(certificate), "the patient asked for it").unwrap()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data").join(STORE_FILE)
    }

    fn verified(&self) -> VerifyReport {
        let engine = Engine::open_read_only(options(&self.folder, &self.now)).unwrap();
        let report = engine.verify(&certificate::Names::default(), &mut |_| ()).unwrap();
        engine.close();
        report
    }

    /// What a check says, but for the rows made by hand, which are not those of their bodies.
    fn problems(&self) -> Vec<String> {
        let problems = self.verified().problems.into_iter().map(|found| format!("{}: {}", found.part, found.text));
        problems.filter(|problem| !problem.contains("its body") && !problem.starts_with("class: ")).collect()
    }

    fn heads(&self) -> [EntryHead; 2] {
        self.engine.ledger().heads().unwrap()
    }
}

#[test]
fn an_erased_certificate_is_as_one_that_was_deleted_and_the_chain_holds() {
    let mut fixture = filled();
    let [changes, register] = fixture.heads();
    assert_eq!(fixture.erase(1).versions, 3);
    assert_eq!(fixture.problems(), Vec::<String>::new());
    assert_eq!(Engine::derive(&options(&fixture.folder, &fixture.now)).unwrap(), Vec::<String>::new());
    fixture.reopen();
    let [changes_now, register_now] = fixture.heads();
    assert_eq!(changes_now, changes, "no change was made");
    assert_eq!(register_now.number, register.number + 1, "the mark is an entry of the register");
    assert_eq!(fixture.find(Filter::All(vec![])), (1, vec![(2, 1)]));
    assert_eq!(fixture.find(Filter::Term(about("Patient/1"))).0, 0);
    for version in [None, Some(1), Some(2), Some(3)] {
        let read = fixture.engine.read(id(1), version.and_then(Version::new), |entry| {
            assert_eq!((entry.subject().unwrap(), entry.patient().unwrap()), (None, None));
            assert_eq!(entry.effective_row().unwrap().row, None);
            entry.stored_with_row()
        });
        let (stored, row) = read.unwrap().unwrap();
        assert_eq!((stored.state, stored.resource.len(), row), (State::Deleted, 0, None));
    }
    let gone = fixture.update(id(1), Trigger::Cancel, State::Revoked, "Patient/1");
    assert!(matches!(gone, Err(RefusedChange::Rules(_))), "{gone:?}");
    // The audit trail is still told what was done, by whom and when, and no longer of whom.
    let told = fixture.engine.ledger().changes_after(Seq(0), 10).unwrap();
    let actions: Vec<_> = told.iter().map(|change| (change.state, change.patient.is_some())).collect();
    let [done, suspended, revoked] = [State::Completed, State::Suspended, State::Revoked];
    assert_eq!(actions, [(done, false), (done, true), (done, false), (suspended, false), (revoked, false)]);
    assert_eq!(fixture.engine.ledger().versions_after(Seq(0), 10).unwrap().len(), 1, "an export leaves it out");
    let query = HistoryQuery { id: None, since: None, at: None, page: 1, count: 10, hidden: None };
    assert_eq!(fixture.engine.history(&query).unwrap().unwrap().total, 4, "its place in the history stays");
}

#[test]
fn no_file_holds_what_was_erased() {
    let fixture = filled();
    fixture.engine.close();
    let bodies = [1, 2, 3].map(|version| {
        let record = version_record(&fixture.path(), id(1), Version::new(version).unwrap());
        record[record.len() - 60..].to_vec()
    });
    let holds = |bytes: &[u8], piece: &[u8]| bytes.windows(piece.len()).any(|window| window == piece);
    let whole = std::fs::read(fixture.path()).unwrap();
    assert!(bodies.iter().all(|body| holds(&whole, body)));
    assert!(holds(&whole, b"38001085718"));
    let overwritten = fixture.erase(1).overwritten;
    let mut files = vec![fixture.path()];
    files.extend(JOURNAL_FILES.iter().map(|name| fixture.path().with_file_name(name)));
    for bytes in files.iter().filter_map(|path| std::fs::read(path).ok()) {
        assert!(bodies.iter().all(|body| !holds(&bytes, body)));
        assert!(!holds(&bytes, b"38001085718"));
    }
    assert!(overwritten > 0);
    // Again: it was done, and nothing happens.
    let again = Engine::erase(&options(&fixture.folder, &fixture.now), id(1), "again").unwrap();
    assert_eq!(again.versions, 0);
    assert_eq!(fixture.problems(), Vec::<String>::new());
}

#[test]
fn a_version_without_content_that_no_mark_names_is_a_forgery() {
    let fixture = filled();
    fixture.engine.close();
    let whole = version_record(&fixture.path(), id(1), Version::FIRST);
    fixture.erase(1);
    let erased = version_record(&fixture.path(), id(1), Version::FIRST);
    // What was erased is put back.
    edit_version(&fixture.path(), id(1), Version::FIRST, |record| record.clone_from(&whole));
    let told = fixture.problems();
    assert!(told.iter().any(|problem| problem.contains("has its content, and a mark says")), "{told:?}");
    edit_version(&fixture.path(), id(1), Version::FIRST, |record| record.clone_from(&erased));
    assert_eq!(fixture.problems(), Vec::<String>::new());

    let other = filled();
    other.engine.close();
    edit_version(&other.path(), id(1), Version::FIRST, |record| record.clone_from(&erased));
    let told = other.problems();
    assert!(told.iter().any(|problem| problem.contains("no mark says that it was erased")), "{told:?}");
}

/// A backup from before an erasure still holds the certificate. A restore of it together with one from after the erasure erases it again.
#[test]
fn a_restore_erases_what_a_later_archive_marks_and_keeps_the_chain() {
    let mut fixture = filled();
    let ledger = fixture.engine.ledger();
    let before = [ledger.copy(EntryLog::Changes, 0, 5), ledger.copy(EntryLog::Register, 0, 0)];
    let [changes, register] = before.map(|piece| piece.unwrap().bytes);
    fixture.erase(1);
    fixture.reopen();
    let ledger = fixture.engine.ledger();
    let moment = ledger.moment().unwrap();
    let mark = ledger.copy(EntryLog::Register, 0, 1).unwrap().bytes;
    let erased = ledger.copy(EntryLog::Changes, 0, 5).unwrap().bytes;
    assert!(register.is_empty() && erased.len() < changes.len());
    for (what, changes) in [("from before", changes), ("from behind", erased)] {
        let folder = tempfile::tempdir().unwrap();
        let options = options(&folder, &fixture.now);
        std::fs::create_dir(&options.folder).unwrap();
        let beginning = RestoreStart {
            store: moment.store.clone(),
            names: moment.names.clone(),
            origin: moment.chain.origin,
            dictionaries: moment.dictionaries.clone(),
            form: PieceForm::Present,
            to: Seq(5),
            onto: None,
        };
        let mut check = CopyCheck::new(
            &moment.dictionaries,
            CopyOrder::behind(
                Seq(0),
                0,
                Some(StoreChain { changes: moment.chain.origin, register: moment.chain.origin, ..moment.chain }),
            ),
            Seq(5),
        )
        .unwrap();
        let mut restore = StoreRestore::begin(&options.folder, 8 << 20, beginning).unwrap();
        for (log, piece) in [(EntryLog::Changes, &changes), (EntryLog::Register, &mark)] {
            check.piece(log, PieceForm::Present, piece).expect(what);
            restore.piece(log, piece).expect(what);
        }
        assert_eq!(check.chain(), Some(moment.chain), "{what}");
        let end =
            RestoreEnd { next_id: 3, next_patient_id: 1, lists: vec![], time: None, purpose: None, audit_head: None };
        let engine = restore.finish(end).unwrap().open(&options).unwrap();
        let [head, _] = engine.ledger().heads().unwrap();
        assert_eq!(head.hash, moment.chain.changes, "{what}");
        for version in 1..=3 {
            let state = engine.read(id(1), Version::new(version), |entry| Ok(entry.state())).unwrap();
            assert_eq!(state, Some(State::Deleted), "{what}: version {version}");
        }
        let counted = engine.shared.publishing().counters.all();
        assert_eq!(counted, 1, "{what}");
        engine.close();
        let file = std::fs::read(options.folder.join(STORE_FILE)).unwrap();
        assert!(!file.windows(11).any(|window| window == b"38001085718"), "{what}: nothing lies in unused pages");
        assert_eq!(Engine::derive(&options).unwrap(), Vec::<String>::new(), "{what}");
    }
}
