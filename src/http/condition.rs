//! Conditional requests: entity tags and dates. Contract 2.5.

use hyper::HeaderMap;
use hyper::header::{HeaderName, IF_MODIFIED_SINCE};
use jiff::civil::DateTime;
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;

use super::header;
use crate::interaction::Precondition;
use fhir::outcome::Issue;

/// Reads `If-Match` or `If-None-Match`: `*`, or tags as `W/"3"`, `"3"` or `3`, separated by commas.
///
/// # Errors
/// Anything else, also a list without a tag and `*` beside tags.
pub fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Precondition>, Issue> {
    if !headers.contains_key(name) {
        return Ok(None);
    }
    let text = header::joined(headers, name)?;
    parse(&text).map(Some).ok_or_else(|| header::wrong(name, &text))
}

fn parse(text: &str) -> Option<Precondition> {
    if text.trim() == "*" {
        return Some(Precondition::Any);
    }
    let mut tags = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        // Empty members of a list are allowed (RFC 9110, 5.6.1).
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
            continue;
        }
        let (tag, after) = match rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => {
                let (bare, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                let bare = bare.trim_end();
                if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                (bare, after)
            }
        };
        tags.push(tag.to_owned());
        rest = after.trim_start();
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
    (!tags.is_empty()).then_some(Precondition::Tags(tags))
}

/// Reads `If-Modified-Since` as seconds since 1970 UTC. A date that cannot be read is as if it were not there (RFC 9110, 13.1.3).
pub fn modified_since(headers: &HeaderMap) -> Option<i64> {
    let text = headers.get(IF_MODIFIED_SINCE)?.to_str().ok()?.trim();
    let moment = if text.ends_with("GMT") && text.contains(", ") && !text.contains('-') {
        rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?
    } else {
        // The two old forms that must still be read (RFC 9110, 5.6.7).
        let old = DateTime::strptime("%A, %d-%b-%y %H:%M:%S GMT", text);
        let local = old.or_else(|_| DateTime::strptime("%a %b %e %H:%M:%S %Y", text)).ok()?;
        local.to_zoned(TimeZone::UTC).ok()?.timestamp()
    };
    Some(moment.as_second())
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderValue, IF_MATCH};

    use super::*;

    fn read(values: &[&[u8]]) -> Result<Option<Precondition>, ()> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IF_MATCH, HeaderValue::from_bytes(value).unwrap());
        }
        tags(&headers, &IF_MATCH).map_err(|_| ())
    }

    fn named(tags: &[&str]) -> Result<Option<Precondition>, ()> {
        Ok(Some(Precondition::Tags(tags.iter().map(|tag| tag.to_string()).collect())))
    }

    #[test]
    fn tags_are_read_in_all_their_forms() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b" * "]), Ok(Some(Precondition::Any)));
        for form in ["W/\"3\"", "\"3\"", "3", " 3 ", ",3,"] {
            assert_eq!(read(&[form.as_bytes()]), named(&["3"]), "{form}");
        }
        assert_eq!(read(&[b"W/\"1\" , \"2\",3"]), named(&["1", "2", "3"]));
        assert_eq!(read(&[b"1", b"\"a,b\""]), named(&["1", "a,b"]));
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for text in [
            "",
            " ",
            ",",
            "\"3",
            "W/3",
            "W/",
            "w/\"3\"",
            "abc",
            "3 4",
            "\"3\"4",
            "*, 3",
            "3, *",
            "'3'",
            "-1",
            "\"3\" \"4\"",
        ] {
            assert_eq!(read(&[text.as_bytes()]), Err(()), "{text}");
        }
        assert_eq!(read(&[b"\"\xff\""]), Err(()));
    }

    #[test]
    fn the_three_forms_of_a_date_are_read_and_others_ignored() {
        let read = |text: &str| {
            modified_since(&HeaderMap::from_iter([(IF_MODIFIED_SINCE, HeaderValue::from_str(text).unwrap())]))
        };
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(read(text), Some(784_111_777), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37 +0200",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
