//! Any bytes as something that the service stored: read without a panic, and what can be read is written again as it was.
//!
//! The first byte says which of them it is, as [`Kind`] numbers them.

use certificate::search::class::{Class, ClassCoding};
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::row_bytes;
use certificate::search::term::{Term, TermForm};
use certificate::{Consent, Id, Names, Seq, Stamp, State, Version};
use engine::embedded::actor;
use engine::embedded::store::change::{CHANGE_BYTES, ChangeKind, ChangeRow};
use engine::embedded::store::crc::crc;
use engine::embedded::store::record::{EntryDraft, EntryKind, FieldTag, RecordFields, VersionRecord};
use engine::embedded::store::{consent, patient};
use engine::{Actor, PatientFacts};
use fhir::json;
use hcert::audit::Hash;
use hcert::audit::encoding;
use hcert::audit::header::{HEADER_BYTES, Header};
use hcert::audit::record::{FRAME_BYTES, FilePiece, RecordWalk, chain, open, sha256};
use hcert::audit::resource::resource;
use hcert::audit::{AuditAction, AuditEvent, Number};

/// What is stored, in the order of its numbers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// One version of a certificate; its checksum is added.
    Version,
    Change,
    Row,
    /// One change of consent; its checksum is added.
    Consent,
    /// One version of a patient; its checksum is added.
    Patient,
    /// One event of the audit trail.
    Event,
    /// The beginning of a file of the audit trail; its checksum is added.
    Header,
    /// A file of the audit trail, damaged in one place: two bytes where, one byte how, then payloads, each behind its length.
    Trail,
}

const KINDS: [Kind; 8] =
    [Kind::Version, Kind::Change, Kind::Row, Kind::Consent, Kind::Patient, Kind::Event, Kind::Header, Kind::Trail];

/// Judges one stored thing.
pub fn judge(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    match KINDS[usize::from(kind) % KINDS.len()] {
        Kind::Version => version(bytes),
        Kind::Change => change(bytes),
        Kind::Row => row(bytes),
        Kind::Consent => consent_change(bytes),
        Kind::Patient => patient_version(bytes),
        Kind::Event => event(bytes),
        Kind::Header => header(bytes),
        Kind::Trail => trail(bytes),
    }
}

fn version(bytes: &[u8]) {
    let bytes = with_checksum(bytes);
    let Ok(record) = VersionRecord::read(&bytes) else { return };
    if let Ok(read) = actor::decode(record.fields) {
        is_kept(&read);
    }
    let draft = EntryDraft {
        dictionary: record.dictionary,
        fields: record.fields.0.to_vec(),
        row: record.row.to_vec(),
        raw_bytes: record.raw_bytes,
        body: record.body.to_vec(),
        ..EntryDraft::bare(EntryKind::Version, record.state as u8)
    };
    let written = draft.write(record.seq.0, record.stamp);
    // Two bytes are zero and are not looked at.
    let mut expected = bytes[..bytes.len() - 4].to_vec();
    expected[22..24].fill(0);
    let is_same = written == with_checksum(&expected) && written.len() == draft.bytes();
    assert!(is_same, "written again, it is the same");
}

/// Who acted comes back from fields.
fn is_kept(read: &Actor) {
    let mut fields = Vec::new();
    actor::encode(read, &mut fields);
    assert!(actor::decode(RecordFields(&fields)).is_ok_and(|again| again == *read), "who acted comes back");
}

fn change(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk::<CHANGE_BYTES>() else { return };
    if let Ok(change) = ChangeRow::read(7, bytes) {
        assert_eq!(change.write(), *bytes, "written again, it is the same");
    }
}

fn row(bytes: &[u8]) {
    let class = row_bytes::decode_class(bytes);
    let Some(row) = row_bytes::decode(bytes) else { return };
    assert_eq!(class.as_ref(), Some(&*row.class), "the class alone is that of the row");
    let written = row_bytes::encode(&row);
    assert_eq!(row_bytes::decode(&written).as_ref(), Some(&row), "written and read, it is the same");
}

fn consent_change(bytes: &[u8]) {
    let bytes = with_checksum(bytes);
    if let Ok(record) = consent::record::StoredConsent::read(Id::FIRST, 1, &bytes) {
        let written = record.write();
        let again = consent::record::StoredConsent::read(Id::FIRST, 1, &written).expect("what we write can be read");
        let said = |record: &consent::record::StoredConsent| (record.consent, record.version, record.seq, record.stamp);
        assert_eq!(
            (said(&again), again.fields.0),
            (said(&record), record.fields.0),
            "written and read, it is the same"
        );
        if let Ok(read) = actor::decode(record.fields) {
            is_kept(&read);
        }
    }
}

fn patient_version(bytes: &[u8]) {
    let bytes = with_checksum(bytes);
    let Ok(record) = patient::record::PatientRecord::read(Id::FIRST, Version::FIRST, &bytes) else { return };
    let Ok(facts) = record.facts() else { return };
    assert_eq!(
        (facts.is_active, facts.is_deceased, facts.born),
        (record.is_active(), record.is_deceased(), record.born())
    );
    let written = patient::record::draft(&facts, record.tail).write(record.number, record.stamp);
    let again =
        patient::record::PatientRecord::read(Id::FIRST, Version::FIRST, &written).expect("what we write can be read");
    assert!(again.facts().is_ok_and(|again| again == facts), "written and read, it is the same");
    assert_eq!((again.stamp, again.tail), (record.stamp, record.tail));
}

fn event(bytes: &[u8]) {
    let summarised = encoding::summary(bytes);
    let Ok(read) = encoding::read(bytes) else { return };
    let summarised = summarised.expect("what can be read can be summarised");
    let change = read.change.unwrap_or_default();
    let last_change = if read.action == AuditAction::Restore { change } else { change.max(Seq(3)) };
    let seen = (summarised.at, summarised.last_change(Seq(3)));
    assert_eq!(seen, (read.at, last_change), "a summary says what reading says");
    // Texts beyond their bound are cut, once.
    let cut = encoding::read(&written(&read)).expect("what we write can be read");
    assert!(encoding::read(&written(&cut)).is_ok_and(|again| again == cut), "written and read, it is the same");
    let shown = resource(Number(7), &cut, &Names::default());
    json::parse_with_problems(&shown).expect("an event is shown as JSON");
}

fn written(event: &AuditEvent) -> Vec<u8> {
    let mut out = Vec::new();
    encoding::write(&mut out, event);
    out
}

fn header(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    bytes.resize(HEADER_BYTES - size_of::<Hash>(), 0);
    bytes.extend_from_slice(&sha256(&bytes));
    if let Some(header) = Header::read(&bytes) {
        assert_eq!(Header::read(&header.write()), Some(header), "written and read, it is the same");
    }
}

fn trail(bytes: &[u8]) {
    let Some((&[low, high, how], mut payloads)) = bytes.split_first_chunk() else { return };
    let mut file = Vec::new();
    let mut count = 0;
    while let Some((&length, rest)) = payloads.split_first() {
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(length)));
        open(&mut file, |out| out.extend_from_slice(payload));
        payloads = rest;
        count += 1;
    }
    let start = (Number(0), [0; 32]);
    let (last, _) = chain(&mut file, start);
    assert_eq!(last, Number(count), "every record has its number");
    let whole = file.clone();
    if let Some(damaged) = file.get_mut(usize::from(u16::from_le_bytes([low, high]))) {
        *damaged ^= how;
    }
    let mut at = 0;
    let (mut met, mut is_told) = (0, false);
    for piece in RecordWalk::whole(&file, 0, Some(start)) {
        let (begin, end) = match &piece {
            FilePiece::Record(record) => {
                met += 1;
                assert_eq!(record.end() - record.at, FRAME_BYTES + record.payload.len());
                assert_eq!(
                    file[record.at..record.end()],
                    whole[record.at..record.end()],
                    "what holds together is as it was"
                );
                (record.at, record.end())
            }
            FilePiece::Damaged(range) => {
                is_told = true;
                (range.start, range.end)
            }
        };
        assert!(begin == at && end >= begin, "pieces lie one behind the other");
        at = end;
    }
    assert_eq!(at, file.len(), "nothing is passed over");
    assert_eq!(is_told, file != whole, "damage is told, and only where there is some");
    // Behind damage a payload may be met that is a record itself.
    assert!(is_told || met == count, "every record is met");
    assert!(
        RecordWalk::open_ended(&file, 0, None).count() <= file.len(),
        "a walk whose beginning is not known ends too"
    );
}

fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc(bytes).to_le_bytes()].concat()
}

/// What the service itself would have written, one of each kind.
pub fn sample(number: u32) -> Vec<u8> {
    let stamp = Stamp { milliseconds: 1_793_491_200_000, offset_minutes: 120 };
    let person = Actor { person: Some("37605030299".to_owned()), role: Some("doctor".to_owned()), ..Actor::default() };
    let mut fields = Vec::new();
    actor::encode(&person, &mut fields);
    let without_checksum = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() - 4);
        bytes
    };
    let kind = number as usize % KINDS.len();
    let bytes = match KINDS[kind] {
        Kind::Version => {
            let (row, body) = (b"row".to_vec(), b"body".to_vec());
            let bare = EntryDraft::bare(EntryKind::Version, State::Completed as u8);
            let mut draft = EntryDraft { dictionary: 1, fields, row, raw_bytes: 77, body, ..bare };
            draft.push(FieldTag::Subject, b"Patient/200");
            without_checksum(draft.write(5, stamp))
        }
        Kind::Change => {
            let what =
                if number.is_multiple_of(2) { ChangeKind::Version(Version::FIRST) } else { ChangeKind::Consent(2) };
            ChangeRow { seq: Seq(7), id: Id::FIRST, what, milliseconds: stamp.milliseconds, running: 9 }
                .write()
                .to_vec()
        }
        Kind::Row => row_bytes::encode(&sample_row()),
        Kind::Consent => {
            let fields = RecordFields(&fields);
            let record = consent::record::StoredConsent {
                consent: Consent::ALL[1],
                version: Version::FIRST,
                seq: Seq(8),
                stamp,
                fields,
            };
            without_checksum(record.write())
        }
        Kind::Patient => {
            let facts = PatientFacts {
                is_active: true,
                is_deceased: false,
                born: Some((-3_653, -3_289)),
                identifiers: vec![("https://fhir.ee/sid/pid/est/ni".into(), "37605030299".into())],
                links: vec![Id::FIRST],
            };
            without_checksum(patient::record::draft(&facts, b"},\"active\":true}").write(1, stamp))
        }
        Kind::Event => {
            let mut event = AuditEvent::new(AuditAction::CompositionRead, stamp.milliseconds);
            event.who.person = person.person;
            event.who.roles = vec!["doctor".to_owned()];
            event.entities = vec![(Id::FIRST, Some(Version::FIRST))];
            event.query = Some("status=final".to_owned());
            event.change = Some(Seq(7));
            written(&event)
        }
        Kind::Header => {
            let (before, continues) = ((Number(3), [5; 32]), (1, 4_096));
            Header { file: 2, before, continues, last_change: Seq(7), after_failure: false }.write().to_vec()
        }
        Kind::Trail => b"\x40\x00\x01\x05first\x06second\x00\x05third".to_vec(),
    };
    [&[kind as u8], &bytes[..]].concat()
}

fn sample_row() -> Row {
    let coding = ClassCoding { system: Some("https://fhir.ee/CodeSystem/a".into()), code: Some("b".into()) };
    let class = Class {
        state: State::Completed,
        profile: certificate::Profile::Driver,
        consent: Consent::default(),
        category: vec![coding.clone()],
        kind: vec![coding],
    };
    let span = fhir::date_time::span("2026-11-01").ok();
    let mut terms = vec![
        Term::new(Field::Subject, TermForm::Code, "Patient/200"),
        Term::new(Field::Entry, TermForm::Code, "Observation/1"),
    ];
    terms.sort_unstable();
    Row { class: class.into(), last_updated: 1, date: span, period: span, title: Some("Tervisetõend".into()), terms }
}
