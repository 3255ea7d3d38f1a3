//! Links of a page. Contract 4.8.

use std::fmt::Write;

use fhir::bundle::Link;

/// The links of one page of `total` entries: self, first, last, previous, next, as far as there are such pages. With a `count`
/// of 0 there are no pages: self only.
///
/// `address` is the path asked, absolute (`{base_url}/Composition`); `query` what [`encode`] gave, without `_page`.
pub fn pages(address: &str, query: &str, page: u64, count: u32, total: u64) -> Vec<Link> {
    let separator = if query.is_empty() { "" } else { "&" };
    let link = |relation, page: u64| {
        let mut url = String::with_capacity(address.len() + query.len() + "?&_page=".len() + DIGITS_MAX);
        write!(url, "{address}?{query}{separator}_page={page}").expect("writing to memory does not fail");
        Link { relation, url }
    };
    let mut links = Vec::with_capacity(RELATIONS);
    links.push(link("self", page));
    if count == 0 {
        return links;
    }
    let last = total.div_ceil(u64::from(count)).max(1);
    links.push(link("first", 1));
    links.push(link("last", last));
    if page > 1 {
        // From past the end, back to where there is something.
        links.push(link("previous", (page - 1).min(last)));
    }
    if page < last {
        links.push(link("next", page + 1));
    }
    links
}

/// Links of one page at most.
const RELATIONS: usize = 5;

/// Digits of the largest number of a page.
const DIGITS_MAX: usize = 20;

/// Names and values as a query string. All that could be read as anything else is percent-encoded; `/ : , $` may stand as they
/// are in a query and keep it readable.
///
/// Source: RFC 3986, section 3.4; specification 4.6 (the `|` of a token must be encoded).
pub fn encode<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = String::with_capacity(128);
    for (name, value) in parameters {
        if !query.is_empty() {
            query.push('&');
        }
        push_encoded(&mut query, name);
        query.push('=');
        push_encoded(&mut query, value);
    }
    query
}

fn push_encoded(query: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b',' | b'$' => {
                query.push(char::from(byte));
            }
            _ => write!(query, "%{byte:02X}").expect("writing to memory does not fail"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: u64, count: u32, total: u64) -> String {
        let links = pages("http://a/fhir/Composition", "", page, count, total);
        let shown = |link: &Link| {
            format!("{} {}", link.relation, link.url.strip_prefix("http://a/fhir/Composition?_page=").unwrap())
        };
        links.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_page_has_the_links_it_needs_and_no_other() {
        for (page, count, total, links) in [
            (1, 20, 0, "self 1, first 1, last 1"),
            (1, 20, 20, "self 1, first 1, last 1"),
            (1, 20, 21, "self 1, first 1, last 2, next 2"),
            (2, 20, 41, "self 2, first 1, last 3, previous 1, next 3"),
            (3, 20, 41, "self 3, first 1, last 3, previous 2"),
            (9, 20, 41, "self 9, first 1, last 3, previous 3"),
            (2, 20, 0, "self 2, first 1, last 1, previous 1"),
            (1, 0, 41, "self 1"),
        ] {
            assert_eq!(shown(page, count, total), links);
        }
    }

    #[test]
    fn the_page_stands_last_behind_the_query() {
        let links = pages("http://a/Composition/17/_history", "_count=5", 1, 5, 6);
        assert_eq!(links[3].url, "http://a/Composition/17/_history?_count=5&_page=2");
    }

    #[test]
    fn what_could_be_read_otherwise_is_encoded() {
        for (value, encoded) in [
            ("s|v", "s%7Cv"),
            (r"a\,b,c", r"a%5C,b,c"),
            ("a&b=c#d%e+f g;h", "a%26b%3Dc%23d%25e%2Bf%20g%3Bh"),
            ("Patient/200", "Patient/200"),
            ("employer$16978044", "employer$16978044"),
            ("õ\"<", "%C3%B5%22%3C"),
        ] {
            assert_eq!(encode([("subject:Patient", value)]), format!("subject:Patient={encoded}"));
        }
        assert_eq!(encode([("a", "1"), ("b&", ""), ("a", "2")]), "a=1&b%26=&a=2");
    }
}
