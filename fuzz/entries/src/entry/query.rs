//! Any text as the query of a search or a history: read, run over rows, and written into the links of a page.
//!
//! The first byte says how it came: leniently (1), by a form (2), from a caller who is not shown everything (4).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{is_one_in, told};
use certificate::search::EngineQuery;
use certificate::search::extract::extract;
use certificate::search::filter::Filter;
use certificate::search::history::HistoryParameters;
use certificate::search::limits::{COUNT_MAX, PAGE_MAX};
use certificate::search::paging::Counts;
use certificate::search::parameter::SHAPING;
use certificate::search::query::{CompositionSearch, PatientIds, ReadingLimits};
use certificate::search::row::Row;
use certificate::search::seal::SealKey;
use certificate::{Id, Names};
use fhir::bundle::Link;
use fhir::json::{self, Json};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use hcert::http::query::{Pair, pairs};

const LENIENT: u8 = 1;
const BY_FORM: u8 = 2;
const NARROWED: u8 = 4;

/// 2026-11-01, in milliseconds since 1970 UTC.
const NOW: i64 = 1_793_491_200_000;

const BASE_URL: &str = "https://hcert.example.ee/fhir";

/// All that reading needs, and rows to look at.
struct Known {
    names: Names,
    seal: SealKey,
    rows: Vec<Row>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let names = Names::default();
    let bodies = [
        &include_bytes!("../../../../examples/driver-final.json")[..],
        include_bytes!("../../../../examples/occupational-final.json"),
    ];
    let row = |body: &&[u8]| match json::parse(body) {
        Ok(Json::Object(certificate)) => extract(&certificate, NOW, &names).expect("the examples have rows"),
        _ => panic!("the examples are certificates"),
    };
    let rows = bodies.iter().map(row).collect();
    Known { seal: SealKey::new(&[7; 32]), rows, names }
});

/// Judges one query.
pub fn judge(bytes: &[u8]) {
    let Some((&how, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let parameters = match pairs(text) {
        Ok(parameters) => parameters,
        Err(issue) => return told(&[issue], 1),
    };
    let settings = ReadingLimits {
        base_url: BASE_URL,
        names: &KNOWN.names,
        count: Counts::default(),
        link_seconds: 3_600,
        lenient: how & LENIENT != 0,
        by_form: how & BY_FORM != 0,
        now: NOW,
        seal: &KNOWN.seal,
        caller: "37605030299",
        narrowed: how & NARROWED != 0,
    };
    search(&parameters, &settings, is_one_in(8, bytes));
    history(&parameters, &settings);
}

fn search(parameters: &[Pair], settings: &ReadingLimits, twice: bool) {
    let search = match CompositionSearch::parse(parameters, settings) {
        Ok(search) => search,
        // A hundred, and that there were too many values.
        Err(refusal) => return told(refusal.issues(), BODY_ISSUES_MAX + 1),
    };
    told(&search.warnings(), BODY_ISSUES_MAX);
    let found: PatientIds =
        search.patients_wanted().into_iter().zip(1_u64..).map(|(who, id)| (who, vec![id.to_string()])).collect();
    let query = search.query(&found);
    is_bounded(&query);
    let asked = search.asked();
    if twice {
        let again = CompositionSearch::parse(parameters, settings).expect("read twice, it is the same");
        assert_eq!(again.query(&found).filter, query.filter, "read twice, it is the same");
        assert_eq!(again.asked(), asked, "read twice, it is the same");
    }
    for row in &KNOWN.rows {
        let matches = query.filter.matches(Id::FIRST, row);
        assert_ne!(Filter::Not(Box::new(query.filter.clone())).matches(Id::FIRST, row), matches);
    }
    if let Some(for_employer) = search.query_for_employer(&found) {
        assert!(settings.narrowed, "who is shown everything asks once");
        is_bounded(&for_employer);
    }
    let patients: Vec<String> = query.filter.patients().into_iter().map(str::to_owned).collect();
    assert!(query.filter.has_patient(&|id| patients.iter().any(|patient| patient == id)) || patients.is_empty());
    let linked: HashMap<_, _> = patients.into_iter().map(|id| (id, vec!["4711".to_owned()])).collect();
    drop(query.filter.clone().with_linked_patients(&linked));
    let links = search.links(settings, &found, 1_000).expect("sealing does not fail");
    lead_on(&links, "/Composition");
    lead_back(&links[0], &query, &found, settings);
}

fn history(parameters: &[Pair], settings: &ReadingLimits) {
    match HistoryParameters::parse(parameters, settings) {
        Ok(history) => {
            assert!(history.count <= COUNT_MAX && (1..=PAGE_MAX).contains(&history.page));
            assert!(history.at.is_none_or(|at| at.low <= at.high));
            let links = history.links(&[BASE_URL, "/Composition/_history"].concat(), 1_000);
            lead_on(&links, "/Composition/_history");
            let again =
                HistoryParameters::parse(&parameters_of(&links[0]), settings).expect("a link of ours can be followed");
            assert_eq!((again.since, again.at, again.count), (history.since, history.at, history.count));
        }
        Err(refusal) => told(refusal.issues(), BODY_ISSUES_MAX),
    }
}

fn is_bounded(query: &EngineQuery) {
    assert!(query.count <= COUNT_MAX && (1..=PAGE_MAX).contains(&query.page) && !query.sort.is_empty());
}

/// Links are absolute addresses that differ in their page alone.
fn lead_on(links: &[Link], path: &str) {
    let without_page = |link: &Link| link.url[..link.url.rfind("_page=").expect("each has a page")].to_owned();
    let first = without_page(&links[0]);
    for link in links {
        let behind = link.url.strip_prefix(BASE_URL).and_then(|rest| rest.strip_prefix(path));
        assert!(behind.is_some_and(|query| query.starts_with('?')), "{:?} leads here", link.url);
        assert!(link.url.bytes().all(|byte| byte.is_ascii_graphic()), "{:?} is an address", link.url);
        assert_eq!(without_page(link), first, "only the page differs");
    }
}

/// The link of the page itself asks the same again, and one that came of a form names nobody.
fn lead_back(link: &Link, query: &EngineQuery, found: &PatientIds, settings: &ReadingLimits) {
    let parameters = parameters_of(link);
    let again = CompositionSearch::parse(&parameters, &ReadingLimits { by_form: false, ..*settings });
    let again = again.unwrap_or_else(|refusal| panic!("{} cannot be followed: {:?}", link.url, refusal.issues()));
    let again = again.query(found);
    assert_eq!((again.count, &again.sort), (query.count, &query.sort), "{}", link.url);
    if settings.by_form {
        // What is sealed looks like anything, and what shapes the answer names nobody.
        let open = parameters.iter().filter(|(name, _)| name != "_query" && !SHAPING.contains(&name.as_str()));
        let is_long = |run: &str| run.len() >= 11;
        let names_somebody = |text: &str| text.split(|character: char| !character.is_ascii_digit()).any(is_long);
        assert!(!open.into_iter().any(|(_, value)| names_somebody(value)), "{} names somebody", link.url);
    } else {
        assert_eq!(again.filter, query.filter, "{} asks the same", link.url);
    }
}

fn parameters_of(link: &Link) -> Vec<Pair> {
    let (_, query) = link.url.split_once('?').expect("a link has a query");
    pairs(query).expect("a link of ours can be read")
}
