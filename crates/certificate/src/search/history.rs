//! What a history is asked for. Contract 4.1; FHIR R5 `http.html#history`.

use super::paging::Paging;
use super::parameter::{self, PARAMETERS, SHAPING};
use super::request::ReadingLimits;
use super::{issue, link};
use fhir::bundle::Link;
use fhir::date_time::{self, Span, TimeError};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Issue, Outcome};

/// The parameters of a history, read.
#[derive(Clone, Debug)]
pub struct HistoryParameters {
    /// Versions made at or after this moment, milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// Versions that were current at some moment of this span.
    pub at: Option<Span>,
    /// From 1.
    pub page: u64,
    /// Entries of a page; 0 asks for the total only.
    pub count: u32,
    sent: Vec<(String, String)>,
}

/// All that a history takes, for messages.
const KNOWN: &str = "_count, _page, _since, _at, _format, _pretty, _elements, _summary";
const DATE: &str = "a date such as 2025-03-30 or 2025-03-30T10:00:00+02:00";

impl HistoryParameters {
    /// Reads the parameters of `_history`. Unknown ones as in a search; every filter of a search is unknown here.
    ///
    /// # Errors
    /// Every problem of every parameter, all of them 400.
    pub fn parse(parameters: &[(String, String)], settings: &ReadingLimits) -> Result<HistoryParameters, Outcome> {
        let mut history = HistoryParameters { since: None, at: None, page: 1, count: 0, sent: Vec::new() };
        let mut paging = Paging::default();
        let mut issues = Vec::new();
        for (name, value) in parameters {
            if issues.len() >= BODY_ISSUES_MAX {
                break;
            }
            if let Err(issue) = history.take(name, value, &mut paging, settings) {
                issues.push(issue);
            }
        }
        history.page = paging.page();
        history.count = paging.count(settings.count);
        if issues.is_empty() { Ok(history) } else { Err(issues.into()) }
    }

    fn take(&mut self, name: &str, value: &str, paging: &mut Paging, settings: &ReadingLimits) -> Result<(), Issue> {
        let mut used = value.to_owned();
        match name {
            "_since" | "_at" if self.sent.iter().any(|(sent, _)| sent == name) => return Err(issue::repeated(name)),
            "_since" => self.since = Some(time(name, value)?.low),
            "_at" => self.at = Some(time(name, value)?),
            "_page" => return paging.take(name, value).map(|_| ()),
            "_count" => {
                paging.take(name, value)?;
                if paging.is_cut(settings.count) {
                    used = settings.count.max.to_string();
                }
            }
            _ if SHAPING.contains(&name) => {
                paging.take(name, value)?;
            }
            _ => return Self::unknown(name, settings.lenient),
        }
        self.sent.push((name.to_owned(), used));
        Ok(())
    }

    fn unknown(name: &str, lenient: bool) -> Result<(), Issue> {
        let base = name.split([':', '.']).next().unwrap_or(name);
        let filter = parameter::could_be_filter(base) || parameter::find(PARAMETERS, base).is_ok() || base == "_query";
        let mistyped = ["_since", "_at", "_count", "_page"].iter().any(|known| known.eq_ignore_ascii_case(base));
        // A Bundle of a history has no place for a warning, so only `self` shows that a parameter was dropped.
        if lenient || (base.starts_with('_') && !filter && !mistyped) {
            return Ok(());
        }
        Err(issue::unknown(name, KNOWN.into()))
    }

    /// The links of the page, for `total` versions. `address` is the path asked, absolute:
    /// `{base_url}/Composition/17/_history`.
    pub fn links(&self, address: &str, total: u64) -> Vec<Link> {
        let query = link::encode(self.sent.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        link::pages(address, &query, self.page, self.count, total)
    }
}

fn time(name: &str, value: &str) -> Result<Span, Issue> {
    // As in a search: a `+` that was not escaped arrives as a blank.
    date_time::search_span(&value.replacen(' ', "+", 1)).map_err(|problem| match problem {
        TimeError::Malformed => issue::wrong(name, value, DATE),
        TimeError::NotInLocalTime => issue::not_in_local_time(name, value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;
    use crate::search::paging::Counts;
    use crate::search::seal::SealKey;
    use fhir::outcome::Hcert;

    fn parse(parameters: &[(&str, &str)], lenient: bool) -> Result<HistoryParameters, Outcome> {
        let (names, seal) = (Names::default(), SealKey::new(&[7; 32]));
        let base_url = names.base_url.as_str();
        let settings = ReadingLimits {
            base_url,
            names: &names,
            count: Counts::default(),
            link_seconds: 3600,
            lenient,
            by_form: false,
            now: 0,
            seal: &seal,
            caller: "",
            narrowed: false,
        };
        let owned: Vec<_> = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        HistoryParameters::parse(&owned, &settings)
    }

    fn read(parameters: &[(&str, &str)]) -> HistoryParameters {
        parse(parameters, false).unwrap()
    }

    #[test]
    fn times_and_pages_are_read() {
        let all = read(&[]);
        assert_eq!((all.since, all.at, all.page, all.count), (None, None, 1, 20));
        let some =
            read(&[("_since", "2025-03-30T10:00:00 03:00"), ("_at", "2025-03"), ("_page", "2"), ("_count", "500")]);
        assert_eq!(some.since, Some(date_time::span("2025-03-30T10:00:00+03:00").unwrap().low));
        assert_eq!(some.at, date_time::span("2025-03").ok());
        assert_eq!((some.page, some.count), (2, 100));
        assert_eq!(read(&[("_since", "2025-03-30")]).since, Some(date_time::span("2025-03-30").unwrap().low));
    }

    #[test]
    fn links_lead_to_the_other_pages() {
        let history =
            read(&[("_since", "2025-03-30"), ("_page", "2"), ("_count", "500"), ("_sort", "x"), ("_total", "y")]);
        let links = history.links("http://a/Composition/17/_history", 201);
        let query = "http://a/Composition/17/_history?_since=2025-03-30&_count=100";
        let expected = [("self", 2), ("first", 1), ("last", 3), ("previous", 1), ("next", 3)];
        assert_eq!(links, expected.map(|(relation, page)| Link { relation, url: format!("{query}&_page={page}") }));
        assert_eq!(read(&[("_summary", "count")]).links("http://a", 3).len(), 1);
    }

    #[test]
    fn filters_of_a_search_and_wrong_values_are_refused() {
        for (parameters, code) in [
            (&[("status", "final")][..], Hcert::SearchParameterUnknown),
            (&[("_id", "1")], Hcert::SearchParameterUnknown),
            (&[("_lastUpdated", "2025")], Hcert::SearchParameterUnknown),
            (&[("_list", "1")], Hcert::SearchParameterUnknown),
            (&[("_query", "x")], Hcert::SearchParameterUnknown),
            (&[("_since:not", "2025")], Hcert::SearchParameterUnknown),
            (&[("_since", "")], Hcert::SearchValueEmpty),
            (&[("_since", "gt2025")], Hcert::SearchValueWrong),
            (&[("_at", "noon")], Hcert::SearchValueWrong),
            (&[("_at", "2025-03-30T03:30:00")], Hcert::LocalTimeMissing),
            (&[("_at", "2025"), ("_at", "2026")], Hcert::SearchParameterRepeated),
            (&[("_count", "1"), ("_count", "1")], Hcert::SearchParameterRepeated),
            (&[("_page", "0")], Hcert::SearchValueWrong),
        ] {
            assert_eq!(parse(parameters, false).unwrap_err().leading(), code, "{parameters:?}");
        }
        assert_eq!(parse(&[("status", "final"), ("_at", "x")], false).unwrap_err().issues().len(), 2);
    }

    #[test]
    fn lenient_handling_drops_what_is_unknown() {
        let history = parse(&[("status", "final"), ("status", "x"), ("_count", "5")], true).unwrap();
        assert_eq!(history.links("http://a", 0)[0].url, "http://a?_count=5&_page=1");
        assert!(parse(&[("_at", "x")], true).is_err());
    }

    #[test]
    fn a_mistyped_moment_is_not_dropped() {
        for name in ["_Since", "_AT", "_lastupdated", "_since:x", "_Count"] {
            assert_eq!(parse(&[(name, "2025")], false).unwrap_err().leading(), Hcert::SearchParameterUnknown, "{name}");
        }
        assert!(parse(&[("_total", "none")], false).is_ok());
    }
}
