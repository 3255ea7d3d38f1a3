//! Searches as text, laid beside the rows they find.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::*;
use crate::search::SortKey;
use crate::search::extract::extract;
use crate::search::limits::SEARCH_VALUES_MAX;
use crate::search::paging::Counts;
use crate::search::request::SEARCH_TESTS_MAX;
use crate::search::row::Row;
use crate::search::seal::SealKey;
use crate::{Id, Names, Profile};
use fhir::json;
use fhir::outcome::Hcert;
use fhir::outcome::limits::BODY_ISSUES_MAX;

static NAMES: LazyLock<Names> = LazyLock::new(Names::default);
static KEY: LazyLock<SealKey> = LazyLock::new(|| SealKey::new(&[7; 32]));
const BASE: &str = "http://127.0.0.1:8080/fhir";
const NOW: i64 = 1_767_225_600_000; // 2026-01-01

fn settings() -> ReadingLimits<'static> {
    ReadingLimits {
        base_url: BASE,
        names: &NAMES,
        count: Counts::default(),
        link_seconds: 3600,
        lenient: false,
        by_form: false,
        now: NOW,
        seal: &KEY,
        caller: "",
        narrowed: false,
    }
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.split('&').filter(|part| !part.is_empty()).map(|part| pair(part).unwrap()).collect()
}

fn search(text: &str) -> CompositionSearch {
    CompositionSearch::parse(&pairs(text), &settings()).unwrap_or_else(|outcome| panic!("{text}: {outcome:?}"))
}

fn refused(text: &str) -> Vec<(Hcert, String)> {
    let outcome = CompositionSearch::parse(&pairs(text), &settings()).expect_err(text);
    outcome.issues().iter().map(|issue| (issue.code(), issue.expression().join(" "))).collect()
}

fn codes(text: &str) -> Vec<Hcert> {
    refused(text).into_iter().map(|(code, _)| code).collect()
}

fn row(text: &str) -> Row {
    let json = json::parse(text.as_bytes()).unwrap();
    let updated = fhir::date_time::span("2025-06-01T12:00:00+03:00").unwrap().low;
    extract(json.as_object().unwrap(), updated, &NAMES).unwrap()
}

/// 1: a driver's, complete. 2: an occupational one with an employer. 3: a draft that says as little as possible.
static ROWS: LazyLock<BTreeMap<Id, Row>> = LazyLock::new(|| {
    let sections = NAMES.section_system();
    let profile = |profile| NAMES.profile(profile);
    let driver = format!(
        r##"{{"meta":{{"profile":["{}"]}},"status":"final","title":"Mootorsõidukijuhi tervisetõend",
        "contained":[{{"resourceType":"PractitionerRole","id":"r","practitioner":{{"reference":"Practitioner/36109255737"}},
            "organization":{{"reference":"Organization/90006399"}}}}],
        "identifier":[{{"system":"https://fhir.ee/hcert/health-certificate-number","value":"T-1"}}],
        "type":{{"coding":[{{"system":"http://snomed.info/sct","code":"772786005"}}]}},
        "category":[{{"coding":[{{"system":"https://fhir.ee/CodeSystem/labivaatuse-tyyp","code":"driver-group-I"}}]}}],
        "subject":[{{"reference":"Patient/200/_history/3","identifier":{{"system":"est/ni","value":"38001085718"}}}}],
        "date":"2025-01-12T10:00:00+02:00","author":[{{"reference":"#r"}}],
        "event":[{{"period":{{"start":"2025-01-12","end":"2030-01-11"}}}}],
        "section":[{{"entry":[{{"reference":"QuestionnaireResponse/300"}}]}}]}}"##,
        profile(Profile::Driver)
    );
    let occupational = format!(
        r#"{{"meta":{{"profile":["{}"]}},"status":"cancelled","title":"Tervisekontrolli otsus, koopia",
        "category":[{{"coding":[{{"code":"occupational"}}]}}],"subject":[{{"reference":"Patient/201"}}],
        "date":"2025-03",
        "section":[{{"section":[{{"code":{{"coding":[{{"system":"{sections}","code":"employer"}}]}},
            "text":{{"div":"<div>16978044</div>"}},"entry":[{{"identifier":{{"system":"doc","value":"D,1"}}}}]}}]}}]}}"#,
        profile(Profile::Occupational)
    );
    let bare = format!(r#"{{"meta":{{"profile":["{}"]}},"status":"preliminary"}}"#, profile(Profile::Driver));
    let rows = [driver, occupational, bare];
    (1..).zip(rows).map(|(id, text)| (Id::new(id).unwrap(), row(&text))).collect()
});

fn found_with(text: &str, found: &PatientIds) -> String {
    let filter = search(text).query(found).filter;
    ROWS.iter().filter(|(id, row)| filter.matches(**id, row)).map(|(id, _)| id.to_string()).collect()
}

/// What was seen: 8 000 unknown names in a query of 16 KiB were answered with 7 MB.
#[test]
fn problems_and_warnings_are_told_up_to_a_bound() {
    let parameters: Vec<(String, String)> = (0..1000).map(|at| (format!("x{at}"), "1".to_owned())).collect();
    let refused = CompositionSearch::parse(&parameters, &settings()).unwrap_err();
    assert_eq!(refused.issues().len(), BODY_ISSUES_MAX);
    let lenient = CompositionSearch::parse(&parameters, &ReadingLimits { lenient: true, ..settings() }).unwrap();
    assert_eq!(lenient.warnings().len(), BODY_ISSUES_MAX);
}

#[test]
fn a_filter_with_wrong_case_is_not_dropped() {
    for name in ["_ID", "_lastupdated", "_LastUpdated:missing", "_HAS:Patient"] {
        assert_eq!(codes(&format!("{name}=2025")), [Hcert::SearchParameterUnknown], "{name}");
    }
    assert!(CompositionSearch::parse(&pairs("_total=none&_TOTAL=none"), &settings()).is_ok());
}

#[test]
fn every_parameter_finds_what_it_should_and_nothing_else() {
    for (text, expected) in [
        ("", "123"),
        ("_id=1", "1"),
        ("_id=3,1,99,abc", "13"),
        ("_id=abc", ""),
        ("_id=01", ""),
        ("_id:not=1,3", "2"),
        ("_id:missing=true", ""),
        ("_id:missing=false", "123"),
        ("_lastUpdated=2025-06-01", "123"),
        ("_lastUpdated=gt2025-06-01", ""),
        ("_lastUpdated=ge2025&_lastUpdated=lt2026", "123"),
        ("identifier=T-1", "1"),
        ("identifier=https://fhir.ee/hcert/health-certificate-number|T-1", "1"),
        ("identifier=https://fhir.ee/hcert/health-certificate-number|", "1"),
        ("identifier=|T-1", ""),
        ("identifier=T-2", ""),
        ("identifier:missing=true", "23"),
        ("identifier:not=T-1", "23"),
        ("date=2025-01-12", "1"),
        ("date=ge2025-01-12,le2024", "12"),
        ("date:missing=true", "3"),
        ("type=772786005", "1"),
        ("type=http://snomed.info/sct|", "1"),
        ("type:missing=true", "23"),
        ("title=mootorSOIDUKI", "1"),
        ("title=tervise", "2"),
        ("title:contains=tervise", "12"),
        ("title:exact=Mootorsõidukijuhi tervisetõend", "1"),
        ("title:exact=mootorsõidukijuhi tervisetõend", ""),
        (r"title:exact=Tervisekontrolli otsus\, koopia", "2"),
        ("title:missing=true", "3"),
        ("status=final", "1"),
        ("status=final,cancelled", "12"),
        ("status=final&status=cancelled", ""),
        ("status:not=final", "23"),
        ("status:not=final,preliminary", "2"),
        ("status=http://hl7.org/fhir/composition-status|preliminary", "3"),
        ("status=http://hl7.org/fhir/composition-status|", "123"),
        ("status:missing=true", ""),
        ("category=driver-group-I", "1"),
        ("category=https://fhir.ee/CodeSystem/labivaatuse-tyyp|driver-group-I", "1"),
        ("category=|occupational", "2"),
        ("category=unheard-of", ""),
        ("category:not=driver-group-I", "23"),
        ("category:missing=true", "3"),
        ("subject=Patient/200", "1"),
        ("subject=200", "1"),
        ("subject=Patient/200/_history/9", "1"),
        ("subject=http://127.0.0.1:8080/fhir/Patient/200", "1"),
        ("subject=https://mpi.ee/Patient/200", ""),
        ("subject:Patient=200", "1"),
        ("subject=200,201", "12"),
        ("subject=20", ""),
        ("subject:not=200", "23"),
        ("subject:missing=true", "3"),
        ("subject:identifier=est/ni|38001085718", "1"),
        ("subject:identifier=38001085718", "1"),
        ("section-code-text=employer$16978044", "2"),
        ("section-code-text=https://fhir.ee/CodeSystem/tervisetoendi-sektsioon|employer$16978044", "2"),
        ("section-code-text=employer$1697804", ""),
        ("section-code-text=decision$16978044", ""),
        ("author:PractitionerRole.practitioner=Practitioner/36109255737", "1"),
        ("author:PractitionerRole.practitioner=36109255737", "1"),
        ("author.practitioner=36109255737", "1"),
        ("author:PractitionerRole.practitioner:missing=true", "23"),
        ("author:PractitionerRole.organization=Organization/90006399", "1"),
        ("author:PractitionerRole.organization:not=90006399", "23"),
        ("entry=QuestionnaireResponse/300", "1"),
        ("entry:missing=true", "3"),
        (r"entry:identifier=doc|D\,1", "2"),
        ("entry:identifier=D,1", ""),
        ("period=2025-01-12", "1"),
        ("period=2030-01-11", "1"),
        ("period=2030-01-12", ""),
        ("period:missing=true", "23"),
        ("status=final,cancelled&period=2026-01-01&subject=200", "1"),
    ] {
        assert_eq!(found_with(text, &PatientIds::new()), expected, "{text}");
    }
}

#[test]
fn what_is_refused_says_why_and_where() {
    for (text, code) in [
        ("colour=red", Hcert::SearchParameterUnknown),
        ("=x", Hcert::SearchParameterUnknown),
        ("author=Practitioner/1", Hcert::SearchParameterUnknown),
        ("Status=final", Hcert::SearchParameterUnknown),
        ("_profile=x", Hcert::SearchParameterUnknown),
        ("_has:Provenance:target:agent=1", Hcert::SearchParameterUnknown),
        ("_text=x", Hcert::SearchParameterUnknown),
        ("_language=et", Hcert::SearchParameterUnknown),
        ("_lastUpdated.x=2025", Hcert::SearchParameterUnknown),
        ("status:exact=final", Hcert::SearchModifierUnknown),
        ("subject:Group=1", Hcert::SearchModifierUnknown),
        ("period:not=2025", Hcert::SearchModifierUnknown),
        ("section-code-text:missing=true", Hcert::SearchModifierUnknown),
        ("subject.identifier:not=1", Hcert::SearchModifierUnknown),
        ("_count:x=1", Hcert::SearchModifierUnknown),
        ("_sort:asc=date", Hcert::SearchModifierUnknown),
        ("status=", Hcert::SearchValueEmpty),
        ("status=final,", Hcert::SearchValueEmpty),
        ("_id=", Hcert::SearchValueEmpty),
        ("title=%20".replace("%20", " ").as_str(), Hcert::SearchValueEmpty),
        ("subject:missing=", Hcert::SearchValueEmpty),
        ("subject:Patient.identifier=", Hcert::SearchValueEmpty),
        ("_sort=", Hcert::SearchValueEmpty),
        ("_count=", Hcert::SearchValueEmpty),
        ("status=open", Hcert::SearchValueWrong),
        ("status=amended", Hcert::SearchValueWrong),
        ("status=other|final", Hcert::SearchValueWrong),
        ("status=other|", Hcert::SearchValueWrong),
        ("status=|", Hcert::SearchValueWrong),
        ("status:missing=yes", Hcert::SearchValueWrong),
        ("status:missing=true,false", Hcert::SearchValueWrong),
        ("category=a|b|c", Hcert::SearchValueWrong),
        ("_id=a b", Hcert::SearchValueWrong),
        ("date=yesterday", Hcert::SearchValueWrong),
        ("date=2025-02-30", Hcert::SearchValueWrong),
        ("period=ne2025-01-12", Hcert::SearchValueWrong),
        ("period=ap2025-01-12", Hcert::SearchValueWrong),
        ("date=2025-03-30T03:30:00", Hcert::LocalTimeMissing),
        ("section-code-text=employer", Hcert::SearchValueWrong),
        ("section-code-text=employer$", Hcert::SearchValueWrong),
        ("section-code-text=$16978044", Hcert::SearchValueWrong),
        ("section-code-text=a$b$c", Hcert::SearchValueWrong),
        ("section-code-text=system|$16978044", Hcert::SearchValueWrong),
        ("subject:Patient.identifier=est/ni|", Hcert::SearchValueWrong),
        ("subject:Patient.identifier=|38001085718", Hcert::SearchValueWrong),
        ("subject=Group/1", Hcert::ReferenceWrong),
        ("subject:Patient=Group/1", Hcert::ReferenceWrong),
        ("subject=http://127.0.0.1:8080/fhir/Group/1", Hcert::ReferenceWrong),
        ("entry=Observation/1", Hcert::ReferenceWrong),
        ("author:PractitionerRole.practitioner=PractitionerRole/1", Hcert::ReferenceWrong),
        ("_sort=subject", Hcert::SearchValueWrong),
        ("_count=-1", Hcert::SearchValueWrong),
        ("_page=0", Hcert::SearchValueWrong),
        ("_count=1&_count=1", Hcert::SearchParameterRepeated),
        ("_page=1&_page=1", Hcert::SearchParameterRepeated),
        ("_sort=date&_sort=title", Hcert::SearchParameterRepeated),
        ("_query=made-up", Hcert::SearchLinkExpired),
    ] {
        let issues = refused(text);
        let sent = text.rsplit('&').next().unwrap().split('=').next().unwrap();
        assert_eq!(issues, [(code, format!("http.{sent}"))], "{text}");
    }
}

#[test]
fn all_problems_come_in_one_answer() {
    let found = codes("colour=red&status=open,shut&_count=x&subject=Group/1&period=&_sort=size&_page=1");
    assert_eq!(
        found,
        [
            Hcert::SearchParameterUnknown,
            Hcert::SearchValueWrong,
            Hcert::SearchValueWrong,
            Hcert::SearchValueWrong,
            Hcert::ReferenceWrong,
            Hcert::SearchValueEmpty,
            Hcert::SearchValueWrong,
        ]
    );
}

#[test]
fn a_search_has_a_bounded_number_of_values() {
    let ids = |count: usize| (1..=count).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let most = SEARCH_VALUES_MAX;
    assert_eq!(found_with(&format!("_id={}", ids(most)), &PatientIds::new()), "123");
    assert_eq!(codes(&format!("_id={}", ids(most + 1))), [Hcert::SearchTooLong]);
    assert_eq!(codes(&format!("_id={}&status=final", ids(most))), [Hcert::SearchTooLong]);
    let repeated = "status=final&".repeat(most + 1);
    assert_eq!(codes(&repeated), [Hcert::SearchTooLong]);
}

/// What was seen: a thousand dates, titles or categories held a thread for seconds, as each was compared with every row.
#[test]
fn values_that_are_compared_with_every_row_are_fewer() {
    let most = SEARCH_TESTS_MAX;
    let values = |one: &str, count: usize| vec![one; count].join(",");
    for (name, one) in [
        ("date", "2025"),
        ("period", "ge2025"),
        ("_lastUpdated", "2025"),
        ("title:contains", "a"),
        ("category", "a"),
        ("type:not", "a"),
        ("status", "final"),
        ("subject:not", "200"),
        ("_id:not", "1"),
        ("subject:Patient.identifier", "a|b"),
    ] {
        assert!(
            CompositionSearch::parse(&pairs(&format!("{name}={}", values(one, most))), &settings()).is_ok(),
            "{name}"
        );
        assert_eq!(codes(&format!("{name}={}", values(one, most + 1))), [Hcert::SearchTooLong], "{name}");
    }
    let repeated = vec!["entry:missing=false"; most + 1].join("&");
    assert_eq!(codes(&repeated), [Hcert::SearchTooLong]);
    assert_eq!(codes(&format!("date={}&title={}", values("2025", most), values("a", 1))), [Hcert::SearchTooLong]);
    assert!(CompositionSearch::parse(&pairs(&format!("subject={}", values("200", most + 1))), &settings()).is_ok());
}

#[test]
fn pages_and_order_are_those_asked_for() {
    let query = |text| search(text).query(&PatientIds::new());
    let plain = query("");
    assert_eq!((plain.page, plain.count), (1, 20));
    assert_eq!(plain.sort, [Sort { key: SortKey::LastUpdated, descending: true }]);
    let asked = query("_sort=-date,title&_count=1000&_page=3");
    assert_eq!((asked.page, asked.count), (3, 100));
    assert_eq!(
        asked.sort,
        [Sort { key: SortKey::Date, descending: true }, Sort { key: SortKey::Title, descending: false }]
    );
    assert_eq!(query("_summary=count&_count=5").count, 0);
}

#[test]
fn one_id_and_one_term_stay_flat_for_the_engine() {
    let query = search("_id=3,1,3&subject=200").query(&PatientIds::new());
    let ids = [1, 3].map(|id| Id::new(id).unwrap()).to_vec();
    let subject = Filter::Term(Term::new(Field::Subject, TermForm::Code, "Patient/200"));
    assert_eq!(query.filter, Filter::All(vec![Filter::Ids(ids), subject]));
}

fn patient(system: Option<&str>, value: &str) -> PatientIdentifier {
    PatientIdentifier { system: system.map(str::to_owned), value: value.to_owned() }
}

#[test]
fn an_identifier_chain_asks_the_registry_and_finds_its_patients() {
    let text = "subject:Patient.identifier=est/ni|38001085718,49001010000&subject.identifier=est/ni|38001085718";
    let (known, bare) = (patient(Some("est/ni"), "38001085718"), patient(None, "49001010000"));
    assert_eq!(search(text).patients_wanted(), [bare.clone(), known.clone()]);
    assert!(search("subject=200&status=final").patients_wanted().is_empty());
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    for (found, expected) in [
        (PatientIds::new(), ""),
        (PatientIds::from([(known.clone(), ids(&["200"]))]), "1"),
        (PatientIds::from([(known.clone(), ids(&["200", "201"]))]), "12"),
        (PatientIds::from([(known.clone(), ids(&[])), (bare.clone(), ids(&["201"]))]), ""),
        (PatientIds::from([(bare, ids(&["201"]))]), ""),
    ] {
        assert_eq!(found_with(text, &found), expected, "{found:?}");
    }
}

fn urls(
    search: &CompositionSearch,
    settings: &ReadingLimits,
    found: &PatientIds,
    total: u64,
) -> Vec<(&'static str, String)> {
    let links = search.links(settings, found, total).unwrap();
    links
        .into_iter()
        .map(|link| {
            (link.relation, link.url.strip_prefix("http://127.0.0.1:8080/fhir/Composition?").unwrap().to_owned())
        })
        .collect()
}

fn own_url(text: &str) -> String {
    urls(&search(text), &settings(), &PatientIds::new(), 0).remove(0).1
}

#[test]
fn links_repeat_the_query_with_the_page_last() {
    let text = "subject:Patient.identifier=est/ni|1&_page=2&status=final,cancelled&_count=1";
    let query = "subject:Patient.identifier=est/ni%7C1&status=final,cancelled&_count=1";
    let expected = [("self", 2), ("first", 1), ("last", 3), ("previous", 1), ("next", 3)];
    let expected = expected.map(|(relation, page)| (relation, format!("{query}&_page={page}")));
    assert_eq!(urls(&search(text), &settings(), &PatientIds::new(), 3), expected);
    for (text, own) in [
        ("", "_page=1"),
        ("_page=9", "_page=9"),
        ("_count=1000&title=a b", "_count=100&title=a%20b&_page=1"),
        ("_count=0&status=final", "_count=0&status=final&_page=1"),
        (
            "_format=json&_pretty=true&_elements=id&_summary=true",
            "_format=json&_pretty=true&_elements=id&_summary=true&_page=1",
        ),
        ("_total=accurate&_include=x&_include:iterate=y&_totalMethod=z&status=final", "status=final&_page=1"),
        (r"title=a\,b&title=c+d&&category=x", r"title=a%5C,b&title=c%2Bd&category=x&_page=1"),
        ("_sort=-date", "_sort=-date&_page=1"),
    ] {
        assert_eq!(own_url(text), own, "{text}");
    }
    assert_eq!(urls(&search("_count=0"), &settings(), &PatientIds::new(), 99).len(), 1);
    assert_eq!(urls(&search("_summary=count"), &settings(), &PatientIds::new(), 99).len(), 1);
}

#[test]
fn a_link_leads_to_the_same_search() {
    for text in ["title=a\\,b,c%", "identifier=s|v&status:not=final", "title:exact=õ & = #+;\"'"] {
        let decoded = percent_decoded(&own_url(&text.replace('&', "\u{1}")).replace("&_page=1", ""));
        assert_eq!(decoded.replace('\u{1}', "&"), text);
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, tail) = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                (u8::from_str_radix(std::str::from_utf8(&[*high, *low]).unwrap(), 16).unwrap(), tail)
            }
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn lenient_handling_drops_unknown_parameters_with_a_warning() {
    let lenient = ReadingLimits { lenient: true, ..settings() };
    let text = "colour=red&status=final&_profile=x&colour=blue&_total=none";
    let search = CompositionSearch::parse(&pairs(text), &lenient).unwrap();
    let warned: Vec<_> = search.warnings().iter().map(|issue| (issue.code(), issue.expression()[0].clone())).collect();
    assert_eq!(
        warned,
        [(Hcert::ParameterIgnored, "http.colour".to_owned()), (Hcert::ParameterIgnored, "http._profile".to_owned())]
    );
    assert!(search.warnings().iter().all(|issue| issue.severity_code() == "warning"));
    assert_eq!(urls(&search, &lenient, &PatientIds::new(), 0)[0].1, "status=final&_page=1");
    for text in ["status=open", "status:exact=final", "period=", "_page=0"] {
        assert!(CompositionSearch::parse(&pairs(text), &lenient).is_err(), "{text}");
    }
}

fn by_form() -> ReadingLimits<'static> {
    ReadingLimits { by_form: true, ..settings() }
}

fn form_url(text: &str, found: &PatientIds) -> String {
    let search = CompositionSearch::parse(&pairs(text), &by_form()).unwrap();
    urls(&search, &by_form(), found, 0).remove(0).1
}

#[test]
fn links_of_a_form_show_the_patients_found_instead_of_their_codes() {
    let found = PatientIds::from([(patient(Some("est/ni"), "38001085718"), vec!["200".to_owned(), "201".to_owned()])]);
    let text = "subject:Patient.identifier=est/ni|38001085718&status=final";
    assert_eq!(form_url(text, &found), "subject=Patient/200,Patient/201&status=final&_page=1");
}

#[test]
fn links_of_a_form_seal_every_other_personal_value() {
    for text in [
        "subject:Patient.identifier=est/ni|38001085718",
        "author:PractitionerRole.practitioner=Practitioner/36109255737",
        "author.practitioner:not=36109255737",
        "subject:identifier=est/ni|x",
        "identifier=38001085718",
        "title=Tõend 38001085718",
        "entry=QuestionnaireResponse/38001085718",
        "author:PractitionerRole.practitioner=36109255737&identifier=38001085718",
    ] {
        let url = form_url(&format!("{text}&status=final&_count=5"), &PatientIds::new());
        let token = url.strip_prefix("status=final&_count=5&_query=").and_then(|rest| rest.strip_suffix("&_page=1"));
        let opened = KEY.open(token.unwrap_or_else(|| panic!("{url}")), "", NOW).unwrap();
        assert_eq!(opened, pairs(text));
    }
    assert_eq!(
        form_url("subject=Patient/200&identifier=T-1", &PatientIds::new()),
        "subject=Patient/200&identifier=T-1&_page=1"
    );
}

#[test]
fn a_sealed_link_finds_the_same_and_stays_sealed() {
    let url = form_url("author.practitioner=36109255737&status=final", &PatientIds::new());
    let followed = url.replace("_page=1", "_page=2");
    assert_eq!(found_with(&url, &PatientIds::new()), "1");
    assert_eq!(own_url(&followed), followed);
    assert_eq!(
        search(&url).query(&PatientIds::new()).filter,
        search("status=final&author.practitioner=36109255737").query(&PatientIds::new()).filter
    );
    let token = &url["status=final&_query=".len()..url.len() - "&_page=1".len()];
    assert_eq!(codes(&format!("_query={token}&_query={token}")), [Hcert::SearchParameterRepeated]);
    let late = ReadingLimits { now: NOW + 3_600 * 1_000 + 1, ..settings() };
    assert_eq!(CompositionSearch::parse(&pairs(&url), &late).unwrap_err().leading(), Hcert::SearchLinkExpired);
}

#[test]
fn a_sealed_chain_still_asks_the_registry() {
    let url = form_url("subject:Patient.identifier=est/ni|38001085718", &PatientIds::new());
    assert_eq!(search(&url).patients_wanted(), [patient(Some("est/ni"), "38001085718")]);
    let again = CompositionSearch::parse(&pairs(&url), &by_form()).unwrap();
    let found = PatientIds::from([(patient(Some("est/ni"), "38001085718"), vec!["200".to_owned()])]);
    assert_eq!(urls(&again, &by_form(), &found, 0)[0].1, "subject=Patient/200&_page=1");
}
