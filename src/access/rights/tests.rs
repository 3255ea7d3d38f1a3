//! Every role, every permission, every certificate: judged by the rights and by a table written by hand beside them.

use super::*;
use certificate::search::class::{Class, ClassCoding};
use certificate::search::filter::TokenTest;
use certificate::search::narrow::PositiveValues;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::section_code_text;
use certificate::search::term::{Term, TermForm};
use certificate::{Consent, Id, Openness, Profile, State};

const ME: &str = "37605030299";
const PARTY: &str = "16978044";

/// What a role may do, as Contract 7.3 and 7.7 say it, in other words than the data.
struct Line {
    role: &'static str,
    /// create, update, delete, `$suspend`, `$cancel`, `$validate`, read, history, search
    manages: bool,
    /// Reads certificates of their own patient.
    own: bool,
    /// Reads certificates of drivers.
    drivers: bool,
    /// Sees the employer's view of occupational certificates: of all (true), or of those who work for the represented party.
    employer: Option<bool>,
    /// Whether a closed certificate is hidden: closed to doctors (but for the author), closed to representatives.
    closed: (bool, bool),
    /// `$get-consent`, `$set-consent`
    consent: (bool, bool),
    /// search and read of Patient; the latter of all (true) or the own patient.
    patient: (bool, Option<bool>),
}

#[rustfmt::skip]
const TABLE: &[Line] = &[
    //   role                              manages own    drivers employer     closed          consent         patient
    line("doctor",                         true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("midwife",                        true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("nurse",                          true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("clinical-psychologist",          true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("speech-therapist",               true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("physiotherapist",                true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("student",                        true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("specialist",                     true,  false, false,  None,        (true, false),  (false, false), (true,  Some(true))),
    line("receptionist",                   false, false, false,  None,        (false, false), (false, false), (true,  Some(true))),
    line("patient",                        false, true,  false,  None,        (false, false), (true,  true),  (false, Some(false))),
    line("legal-representative",           false, true,  false,  None,        (false, true),  (true,  true),  (false, Some(false))),
    line("consent-representative",         false, true,  false,  None,        (false, true),  (true,  true),  (false, Some(false))),
    line("patient-limited",                false, true,  false,  None,        (false, false), (true,  false), (false, Some(false))),
    line("consent-representative-limited", false, true,  false,  None,        (false, true),  (true,  false), (false, Some(false))),
    line("gov-official",                   false, false, true,   Some(true),  (false, false), (false, false), (false, None)),
    line("org-legal-representative",       false, false, false,  Some(false), (false, false), (false, false), (false, None)),
    line("astronaut",                      false, false, false,  None,        (false, false), (false, false), (false, None)),
];

#[expect(clippy::too_many_arguments, reason = "a table is read by its columns")]
const fn line(
    role: &'static str,
    manages: bool,
    own: bool,
    drivers: bool,
    employer: Option<bool>,
    closed: (bool, bool),
    consent: (bool, bool),
    patient: (bool, Option<bool>),
) -> Line {
    Line { role, manages, own, drivers, employer, closed, consent, patient }
}

/// A certificate, by all that rights ask of it.
#[derive(Clone, Copy, Debug)]
struct Sample {
    state: State,
    category: &'static str,
    own_patient: bool,
    own_employer: bool,
    own_hand: bool,
    consent: Consent,
}

impl Line {
    fn reads(&self, sample: &Sample) -> Option<CertificateView> {
        let doctor_closed = sample.consent.doctor == Openness::Closed && !sample.own_hand;
        let representative_closed = sample.consent.representative == Openness::Closed;
        if self.closed.0 && doctor_closed || self.closed.1 && representative_closed {
            return None;
        }
        let is_done = matches!(sample.state, State::Completed | State::Suspended);
        if self.manages || self.own && is_done && sample.own_patient {
            return Some(CertificateView::Full);
        }
        if self.drivers && is_done && sample.category.starts_with("driver") {
            return Some(CertificateView::Full);
        }
        let employs = match self.employer {
            Some(all) => all || sample.own_employer,
            None => false,
        };
        (employs && is_done && sample.category == "occupational").then_some(CertificateView::Employer)
    }
}

fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    for state in [State::Draft, State::Completed, State::Suspended, State::Revoked] {
        for category in ["driver-group-I", "driver-group-II", "occupational", "military-service"] {
            for consent in Consent::ALL {
                for bits in 0..8 {
                    let (own_patient, own_employer, own_hand) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
                    all.push(Sample { state, category, own_patient, own_employer, own_hand, consent });
                }
            }
        }
    }
    all
}

fn row(sample: &Sample) -> Row {
    let system = "https://fhir.ee/CodeSystem/labivaatuse-tyyp";
    let category = vec![ClassCoding { system: Some(system.into()), code: Some(sample.category.into()) }];
    let profile = if sample.category == "occupational" { Profile::Occupational } else { Profile::Driver };
    let class = Class { state: sample.state, profile, consent: sample.consent, category, kind: vec![] };
    let patient = if sample.own_patient { "Patient/205" } else { "Patient/999" };
    let author = if sample.own_hand { ME } else { "48001010001" };
    let employer = if sample.own_employer { PARTY } else { "10000000" };
    let mut terms = vec![
        Term::new(Field::Subject, TermForm::Code, patient),
        Term::new(Field::AuthorPractitioner, TermForm::Code, &format!("Practitioner/{author}")),
    ];
    terms.extend(section_code_text::terms(Some("s"), "employer", employer));
    terms.sort_unstable();
    Row { class: class.into(), last_updated: 0, date: None, period: None, title: None, terms }
}

/// What was seen: an employer named within the advice to the employee, which no employer is shown, read the certificate.
#[test]
fn whom_only_the_advice_names_is_no_employer() {
    let rights = rights_of(&["org-legal-representative"]);
    let sample = Sample {
        state: State::Completed,
        category: "occupational",
        own_patient: false,
        own_employer: true,
        own_hand: false,
        consent: Consent::default(),
    };
    let mut row = row(&sample);
    let sees = |row: &Row| rights.scope(PermittedAction::Read, &own()).view(ID, row).is_some();
    assert!(sees(&row));
    row.terms.extend(row.terms.iter().filter_map(Term::hidden).collect::<Vec<_>>());
    row.terms.sort_unstable();
    assert!(!sees(&row));
}

fn rights_of(roles: &[&str]) -> Rights {
    let permissions = Permissions::read(BUILT_IN, &Names::default()).unwrap();
    permissions.rights(Arc::new(Identity {
        person: ME.into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        patient: Some("39406240015".into()),
        represented_party: Some(PARTY.into()),
        ..Identity::default()
    }))
}

fn own() -> OwnPatient {
    let identifiers = vec![("https://fhir.ee/sid/pid/lva/ppn".to_owned(), "LV1".to_owned())];
    OwnPatient { ids: vec!["200".into(), "205".into()], identifiers }
}

const ID: Id = Id::FIRST;

#[test]
fn every_role_sees_what_the_table_says_and_nothing_else() {
    for line in TABLE {
        let rights = rights_of(&[line.role]);
        let (read, search) =
            (rights.scope(PermittedAction::Read, &own()), rights.scope(PermittedAction::Search, &own()));
        let found = search.filter();
        for sample in samples() {
            let row = row(&sample);
            let expected = line.reads(&sample);
            assert_eq!(read.view(ID, &row), expected, "{} {sample:?}", line.role);
            assert_eq!(found.matches(ID, &row), expected.is_some(), "search of {} {sample:?}", line.role);
            for may in [
                PermittedAction::Create,
                PermittedAction::Update,
                PermittedAction::Delete,
                PermittedAction::Suspend,
                PermittedAction::Cancel,
                PermittedAction::Validate,
                PermittedAction::History,
            ] {
                assert_eq!(rights.may(may), line.manages, "{} {may:?}", line.role);
                let reached = rights.scope(may, &own()).view(ID, &row).is_some();
                assert_eq!(reached, line.manages && expected.is_some(), "{} {may:?} {sample:?}", line.role);
            }
        }
    }
}

/// What was seen: of a certificate closed to doctors, one role of a token reached the current version and the other one the draft before it,
/// and the draft was shown, which neither role may see.
#[test]
fn two_roles_show_of_an_old_version_what_one_of_them_shows() {
    let open = Consent::default();
    for one in TABLE {
        for other in TABLE.iter().filter(|other| one.role <= other.role) {
            let rights = rights_of(&[one.role, other.role]);
            for current in samples().into_iter().filter(|sample| sample.category != "driver-group-II") {
                for (state, own_hand) in [(State::Draft, false), (State::Completed, true)] {
                    // Consent and author count as they are now.
                    let version = Sample { state, own_hand, consent: open, ..current };
                    let shows = |line: &Line| line.reads(&current).and(line.reads(&version));
                    assert_eq!(
                        rights.view_of_version(&own(), ID, (&row(&current), current.state), &row(&version)),
                        shows(one).max(shows(other)),
                        "{} and {}: {current:?} {version:?}",
                        one.role,
                        other.role
                    );
                }
            }
        }
    }
}

/// Histories leave out what is hidden, so that is the complement of what is reached.
#[test]
fn what_is_hidden_is_what_the_rows_of_histories_do_not_reach() {
    let roles = [&["doctor"][..], &["reader"], &["agent"], &["doctor", "agent"], &["doctor", "reader"], &["twice"]];
    let permission = r#"{"name":"p","given-to":["all"],"may":["history"]}"#;
    let groups = r#""groups":{"all":["doctor","reader","agent","twice"]}"#;
    let consent = r#""consent":{"doctor":["doctor","twice"],"representative":["agent","twice"]}"#;
    let permissions =
        Permissions::read(&format!(r#"{{{groups},{consent},"permissions":[{permission}]}}"#), &Names::default());
    let permissions = permissions.unwrap();
    for roles in roles {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let rights = permissions.rights(Arc::new(Identity { person: ME.into(), roles, ..Identity::default() }));
        let hidden = rights.hidden(PermittedAction::History);
        let reached = rights.scope(PermittedAction::History, &own()).filter();
        for sample in samples() {
            let row = row(&sample);
            let consents = if row.has(&hidden.hand) { &hidden.own } else { &hidden.of_others };
            assert_eq!(consents.contains(&sample.consent), !reached.matches(ID, &row), "{rights:?} {sample:?}");
        }
    }
}

#[test]
fn every_role_may_do_what_the_table_says_and_nothing_else() {
    for line in TABLE {
        let rights = rights_of(&[line.role]);
        let reads = line.manages || line.own || line.drivers || line.employer.is_some();
        for (may, expected) in [
            (PermittedAction::Read, reads),
            (PermittedAction::Search, reads),
            (PermittedAction::Count, reads),
            (PermittedAction::GetConsent, line.consent.0),
            (PermittedAction::SetConsent, line.consent.1),
            (PermittedAction::PatientSearch, line.patient.0),
            (PermittedAction::PatientRead, line.patient.1.is_some()),
            (PermittedAction::AuditRead, false),
        ] {
            assert_eq!(rights.may(may), expected, "{} {may:?}", line.role);
        }
        assert_eq!(rights.reaches_all_patients(), line.patient.1 == Some(true), "{}", line.role);
        assert_eq!(rights.is_bound_by_consent_only(PermittedAction::Read), line.manages, "{}", line.role);
    }
    assert_eq!(
        TABLE.len(),
        Permissions::read(BUILT_IN, &Names::default()).unwrap().roles.len() + 1,
        "and one role that nobody knows"
    );
}

#[test]
fn several_roles_are_a_union() {
    let both = rights_of(&["doctor", "patient"]);
    for sample in samples() {
        let row = row(&sample);
        let alone =
            ["doctor", "patient"].map(|role| rights_of(&[role]).scope(PermittedAction::Read, &own()).view(ID, &row));
        assert_eq!(
            both.scope(PermittedAction::Read, &own()).view(ID, &row),
            alone.into_iter().max().flatten(),
            "{sample:?}"
        );
    }
}

#[test]
fn without_a_patient_or_a_party_nothing_is_ones_own() {
    let identity =
        Identity { person: ME.into(), roles: vec!["org-legal-representative".into()], ..Identity::default() };
    let permissions = Permissions::read(BUILT_IN, &Names::default()).unwrap();
    let org = permissions.rights(Arc::new(identity)).scope(PermittedAction::Read, &own());
    let nobody = rights_of(&["patient"]).scope(PermittedAction::Read, &OwnPatient::default());
    for sample in samples() {
        assert_eq!((org.view(ID, &row(&sample)), nobody.view(ID, &row(&sample))), (None, None), "{sample:?}");
    }
}

#[test]
fn values_outside_of_the_rights_are_refused() {
    let state = |state| PositiveValues { states: vec![state], ..PositiveValues::default() };
    let category = |test| PositiveValues { categories: vec![test], ..PositiveValues::default() };
    let code = |code: &str| category(TokenTest::Code(code.into()));
    let employer = |code: &str| PositiveValues { employers: vec![code.into()], ..PositiveValues::default() };
    let mixed = PositiveValues { states: vec![State::Completed, State::Draft], ..PositiveValues::default() };
    for (role, asked, expected) in [
        ("patient", state(State::Completed), None),
        ("patient", state(State::Draft), Some("status")),
        ("patient", mixed, Some("status")),
        ("doctor", state(State::Draft), None),
        ("patient", code("occupational"), None),
        ("gov-official", code("driver-group-I"), None),
        ("gov-official", code("occupational"), None),
        ("gov-official", code("military-service"), Some("category")),
        ("gov-official", category(TokenTest::CodeWithoutSystem("occupational".into())), Some("category")),
        ("gov-official", category(TokenTest::SystemCode("x".into(), "occupational".into())), Some("category")),
        ("org-legal-representative", employer(PARTY), None),
        ("org-legal-representative", employer("10000000"), Some("section-code-text")),
        ("gov-official", employer("10000000"), None),
    ] {
        assert_eq!(rights_of(&[role]).outside(PermittedAction::Search, &asked), expected, "{role} {asked:?}");
    }
}

#[test]
fn another_persons_certificates_are_not_to_be_asked_for() {
    use certificate::search::condition::PatientIdentifier;
    let identifier = |system: Option<&str>, value: &str| PositiveValues {
        identifiers: vec![PatientIdentifier { system: system.map(str::to_owned), value: value.to_owned() }],
        ..PositiveValues::default()
    };
    let subject = |id: &str| PositiveValues {
        subjects: vec![Term::new(Field::Subject, TermForm::Code, &format!("Patient/{id}"))],
        ..PositiveValues::default()
    };
    let estonian = Some("https://fhir.ee/sid/pid/est/ni");
    let latvian = Some("https://fhir.ee/sid/pid/lva/ppn");
    let identified = Some("subject:Patient.identifier");
    let rights = rights_of(&["patient"]);
    for (asked, before, after) in [
        (subject("205"), None, None),
        (subject("206"), None, Some("subject")),
        (identifier(estonian, "39406240015"), None, None),
        (identifier(None, "39406240015"), None, None),
        // Known to be somebody else's before the registry is asked.
        (identifier(estonian, ME), identified, identified),
        (identifier(None, ME), identified, identified),
        (identifier(latvian, "LV1"), None, None),
        (identifier(latvian, "LV2"), None, identified),
    ] {
        assert_eq!(rights.outside(PermittedAction::Search, &asked), before, "{asked:?}");
        assert_eq!(rights.outside_own(PermittedAction::Search, &asked, &own()), after, "{asked:?}");
        assert_eq!(rights_of(&["doctor"]).outside_own(PermittedAction::Search, &asked, &OwnPatient::default()), None);
    }
}

/// What was seen: whoever had a second role in the token said consent for everybody whose certificates that role reaches.
#[test]
fn a_second_role_gives_nobody_a_say_in_the_consent_of_others() {
    let consumers = ["patient", "legal-representative", "consent-representative", "patient-limited"];
    for (consumer, second) in consumers.into_iter().flat_map(|first| TABLE.iter().map(move |line| (first, line.role))) {
        let both = rights_of(&[consumer, second]);
        for sample in samples() {
            let is_done = !matches!(sample.state, State::Draft);
            for may in
                [PermittedAction::GetConsent, PermittedAction::SetConsent].into_iter().filter(|may| both.may(*may))
            {
                let reaches = both.scope(may, &own()).view(ID, &row(&sample)).is_some();
                assert!(!reaches || sample.own_patient && is_done, "{consumer} and {second}: {may:?} {sample:?}");
            }
        }
    }
}

/// What was seen: rows that a permission had and nobody asked for. A role that may write occupational certificates wrote others.
#[test]
fn rows_hold_for_what_a_change_leads_to_as_well() {
    let table = |may: &str, rows: &str| {
        let permission = format!(r#"{{"name":"p","given-to":["all"],"may":[{may}],"rows":{rows}}}"#);
        let groups = r#"{"all":["clerk"]},"consent":{"doctor":[],"representative":[]}"#;
        Permissions::read(&format!(r#"{{"groups":{groups},"permissions":[{permission}]}}"#), &Names::default())
    };
    let clerk = |rows: &str| {
        let permissions = table(r#""create","update""#, rows).unwrap();
        permissions.rights(Arc::new(Identity { roles: vec!["clerk".into()], ..Identity::default() }))
    };
    for sample in samples() {
        let row = row(&sample);
        for (rows, reaches) in [
            ("{}", true),
            (r#"{"category":["occupational"]}"#, sample.category == "occupational"),
            (r#"{"patient":"of-token"}"#, sample.own_patient),
            (r#"{"status":["preliminary"]}"#, sample.state == State::Draft),
        ] {
            for may in [PermittedAction::Create, PermittedAction::Update] {
                assert_eq!(clerk(rows).may_lead_to(may, &own(), &row), reaches, "{rows}");
            }
            assert!(!clerk(rows).may_lead_to(PermittedAction::Delete, &own(), &row));
        }
    }
    // One that is of another category too is not a certificate of theirs.
    let sample = samples().into_iter().find(|sample| sample.category == "occupational").unwrap();
    let mut row = row(&sample);
    let mut class = (*row.class).clone();
    class.category.push(ClassCoding { code: Some("driver-group-I".into()), ..class.category[0].clone() });
    row.class = class.into();
    let occupational = clerk(r#"{"category":["occupational"]}"#);
    assert!(!occupational.may_lead_to(PermittedAction::Create, &own(), &row));
    assert_eq!(occupational.scope(PermittedAction::Update, &own()).view(Id::FIRST, &row), None);
    assert!(clerk(r#"{"category":["occupational","driver-group-I"]}"#).may_lead_to(
        PermittedAction::Create,
        &own(),
        &row
    ));
    for (may, rows, is_kept) in [
        (r#""audit-read""#, "{}", true),
        (r#""audit-read""#, r#"{"patient":"of-token"}"#, false),
        (r#""read","patient-search""#, r#"{"patient":"of-token"}"#, false),
        (r#""patient-read""#, r#"{"patient":"of-token"}"#, true),
        (r#""patient-read""#, r#"{"status":["final"]}"#, false),
    ] {
        let told = table(may, rows);
        assert_eq!(told.is_ok(), is_kept, "{may} {rows}");
    }
}
