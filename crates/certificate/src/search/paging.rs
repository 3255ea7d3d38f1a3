//! Which page, and in which order.

use super::issue::{repeated, wrong};
use super::{Sort, SortKey};
use crate::search::limits::{COUNT_DEFAULT, COUNT_MAX, PAGE_MAX};
use fhir::outcome::Issue;

/// Entries of a page when `_count` is absent, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Entries of a page when `_count` is absent.
    pub default: u32,
    /// Entries of a page at most, whatever `_count` says.
    pub max: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { default: COUNT_DEFAULT, max: COUNT_MAX }
    }
}

/// `_count`, `_page` and `_summary=count`, as searches and histories take them. Contract 4.1, 4.8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    count: RequestedPage,
    page: RequestedPage,
    total_only: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RequestedPage {
    #[default]
    Nothing,
    Number(u64),
    Wrong,
}

impl Paging {
    /// Takes a parameter in when it is one of paging. `_summary` belongs to others too, so it is looked at and left.
    ///
    /// # Errors
    /// `SearchParameterRepeated`, `SearchValueEmpty`, `SearchValueWrong`.
    pub fn take(&mut self, name: &str, value: &str) -> Result<bool, Issue> {
        let (asked, least, most, expected) = match name {
            "_count" => (&mut self.count, 0, u64::MAX, "a whole number from 0"),
            "_page" => (&mut self.page, 1, PAGE_MAX, "a whole number from 1 to 4294967295"),
            "_summary" => {
                self.total_only |= value == "count";
                return Ok(false);
            }
            _ => return Ok(false),
        };
        if *asked != RequestedPage::Nothing {
            return Err(repeated(name));
        }
        *asked = RequestedPage::Wrong;
        let number = whole(value).filter(|number| (least..=most).contains(number));
        *asked = RequestedPage::Number(number.ok_or_else(|| wrong(name, value, expected))?);
        Ok(true)
    }

    /// Entries of a page; 0 asks for the total only.
    pub fn count(&self, counts: Counts) -> u32 {
        match self.count {
            _ if self.total_only => 0,
            RequestedPage::Number(count) => count.min(u64::from(counts.max)) as u32,
            RequestedPage::Nothing | RequestedPage::Wrong => counts.default.min(counts.max),
        }
    }

    /// Whether more was asked for than a page holds, so that links have to say what was used.
    pub fn is_cut(&self, counts: Counts) -> bool {
        matches!(self.count, RequestedPage::Number(count) if count > u64::from(counts.max))
    }

    /// From 1.
    pub fn page(&self) -> u64 {
        if let RequestedPage::Number(page) = self.page { page } else { 1 }
    }
}

/// Reads `_sort` by the keys of a resource type: each key with whether it descends. A key that comes again cannot change the order any
/// more and is left out. Contract 4.7.
///
/// # Errors
/// `SearchValueEmpty` and `SearchValueWrong` for each part that is no key.
pub fn sort<K: Copy + PartialEq>(value: &str, keys_known: &[(&str, K)]) -> Result<Vec<(K, bool)>, Vec<Issue>> {
    let mut keys: Vec<(K, bool)> = Vec::new();
    let mut issues = Vec::new();
    for part in value.split(',') {
        let (name, descending) = part.strip_prefix('-').map_or((part, false), |name| (name, true));
        match keys_known.iter().find(|(known, _)| *known == name) {
            Some((_, key)) if keys.iter().any(|(other, _)| other == key) => {}
            Some((_, key)) => keys.push((*key, descending)),
            None => {
                let known: Vec<&str> = keys_known.iter().map(|(known, _)| *known).collect();
                issues.push(wrong("_sort", part, &format!("one of {}", known.join(", "))));
            }
        }
    }
    if issues.is_empty() { Ok(keys) } else { Err(issues) }
}

/// The order when none is asked for. Contract 4.7.
pub const SORT_DEFAULT: Sort = Sort { key: SortKey::LastUpdated, descending: true };

/// Digits only. A number too large to count is as large as can be: as a count it is cut anyway, as a page it is refused.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::parameter::SORT_KEYS;
    use super::*;
    use fhir::outcome::Hcert;

    fn read(parameters: &[(&str, &str)]) -> Result<Paging, Hcert> {
        let mut paging = Paging::default();
        for (name, value) in parameters {
            paging.take(name, value).map_err(|issue| issue.code())?;
        }
        Ok(paging)
    }

    #[test]
    fn counts_are_cut_and_never_refused_for_being_large() {
        for (parameters, count, cut) in [
            (&[][..], 20, false),
            (&[("_count", "100")], 100, false),
            (&[("_count", "101")], 100, true),
            (&[("_count", "99999999999999999999999")], 100, true),
            (&[("_count", "0")], 0, false),
            (&[("_summary", "count"), ("_count", "5")], 0, false),
            (&[("_summary", "text")], 20, false),
        ] {
            let paging = read(parameters).unwrap();
            assert_eq!(
                (paging.count(Counts::default()), paging.is_cut(Counts::default())),
                (count, cut),
                "{parameters:?}"
            );
        }
        assert_eq!(read(&[]).unwrap().count(Counts { default: 20, max: 10 }), 10);
    }

    #[test]
    fn pages_count_from_one() {
        assert_eq!(read(&[]).unwrap().page(), 1);
        assert_eq!(read(&[("_page", "7")]).unwrap().page(), 7);
        assert_eq!(read(&[("_page", &PAGE_MAX.to_string())]).unwrap().page(), PAGE_MAX);
    }

    #[test]
    fn wrong_numbers_and_repetitions_are_refused() {
        for (name, value) in [
            ("_count", "-1"),
            ("_count", "+1"),
            ("_count", "1.0"),
            ("_count", "ten"),
            ("_count", " 1"),
            ("_page", "0"),
            ("_page", "-1"),
            ("_page", "x"),
            ("_page", "1,2"),
            // The links show the page that was asked for, so one that cannot be held is none.
            ("_page", "4294967296"),
            ("_page", "99999999999999999999"),
        ] {
            assert_eq!(read(&[(name, value)]), Err(Hcert::SearchValueWrong), "{name}={value}");
        }
        assert_eq!(read(&[("_count", "")]), Err(Hcert::SearchValueEmpty));
        assert_eq!(read(&[("_count", "1"), ("_count", "1")]), Err(Hcert::SearchParameterRepeated));
        assert_eq!(read(&[("_page", "1"), ("_page", "2")]), Err(Hcert::SearchParameterRepeated));
    }

    #[test]
    fn every_sort_key_of_the_table_is_read_in_both_directions() {
        for (name, key) in SORT_KEYS {
            assert_eq!(sort(name, SORT_KEYS), Ok(vec![(*key, false)]));
            assert_eq!(sort(&format!("-{name}"), SORT_KEYS), Ok(vec![(*key, true)]));
        }
        let several = sort("status,-date,-status", SORT_KEYS);
        assert_eq!(several, Ok(vec![(SortKey::Status, false), (SortKey::Date, true)]));
    }

    #[test]
    fn what_is_no_sort_key_is_refused_part_by_part() {
        let codes = |value| sort(value, SORT_KEYS).unwrap_err().iter().map(Issue::code).collect::<Vec<_>>();
        assert_eq!(codes(""), [Hcert::SearchValueEmpty]);
        assert_eq!(codes("date,"), [Hcert::SearchValueEmpty]);
        assert_eq!(codes("subject,--date,date desc"), [Hcert::SearchValueWrong; 3]);
    }
}
