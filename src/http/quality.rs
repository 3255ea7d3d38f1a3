//! Header lists whose members carry a weight: `Accept`, `Accept-Language`, `Accept-Encoding` (RFC 9110, 12.4.2).

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// One member: `application/json` with the parameters `; charset=utf-8` and a weight in thousandths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeaderMember<'a> {
    pub name: &'a str,
    parameters: &'a str,
    pub weight: u16,
}

impl<'a> HeaderMember<'a> {
    /// Reads one member. A weight that cannot be read counts as 1.
    pub(super) fn parse(text: &'a str) -> Self {
        let (name, parameters) = text.split_once(';').unwrap_or((text, ""));
        let mut member = HeaderMember { name: name.trim(), parameters, weight: 1000 };
        member.weight = member.parameter("q").and_then(thousandths).unwrap_or(1000);
        member
    }

    /// The value of a parameter, without quotes.
    pub(super) fn parameter(&self, name: &str) -> Option<&'a str> {
        let pairs = self.parameters.split(';').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(other, _)| other.trim().eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().trim_matches('"'))
    }
}

/// The members of all headers of that name, in their order. Headers that are not ASCII are passed over.
pub(super) fn members<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = HeaderMember<'a>> + use<'a> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|text| !text.is_empty()).map(HeaderMember::parse)
}

/// `0.75` as 750.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u16 = format!("{whole}{fraction:0<3}").parse().ok()?;
    Some(number.min(1000))
}

#[cfg(test)]
mod tests {
    use hyper::header::{ACCEPT, HeaderValue};

    use super::*;

    #[test]
    fn weights_are_thousandths_and_default_to_one() {
        for (text, weight) in [
            ("a", 1000),
            ("a;q=1", 1000),
            ("a;q=1.000", 1000),
            ("a; Q = 0.5", 500),
            ("a;q=0.05", 50),
            ("a;q=0", 0),
            ("a;q=0.", 0),
            ("a;q=0.000", 0),
            ("a;q=\"0.3\"", 300),
            ("a;q=high", 1000),
            ("a;q=-1", 1000),
            ("a;q=1.9", 1000),
            ("a;q=0.0001", 1000),
        ] {
            assert_eq!(HeaderMember::parse(text).weight, weight, "{text}");
        }
    }

    #[test]
    fn members_come_from_all_lines_in_order() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT, HeaderValue::from_static("a/b;q=0.1, ,c/d"));
        headers.append(ACCEPT, HeaderValue::from_bytes(b"\xff").unwrap());
        headers.append(ACCEPT, HeaderValue::from_static("e/f; x=\"y\""));
        let names: Vec<_> = members(&headers, &ACCEPT).map(|member| member.name).collect();
        assert_eq!(names, ["a/b", "c/d", "e/f"]);
        assert_eq!(members(&headers, &ACCEPT).last().unwrap().parameter("X"), Some("y"));
    }
}
