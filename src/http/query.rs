//! Names and values of query strings and forms, and the parameters that every interaction shares.

use crate::interaction::Subset;
use fhir::outcome::{Hcert, Issue};

/// Name and value, decoded.
pub type Pair = (String, String);

/// Reads a query string or a form: pairs in their order, `+` and `%XX` decoded. A name without `=` has an empty value.
///
/// # Errors
/// An escape that is none, or text that is not UTF-8 once decoded.
pub fn pairs(text: &str) -> Result<Vec<Pair>, Issue> {
    let refuse = || Issue::new(Hcert::HttpMalformed).with("problem", "a parameter is not percent-encoded UTF-8");
    let pieces = text.split('&').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            Ok((decode(name, true).ok_or_else(refuse)?, decode(value, true).ok_or_else(refuse)?))
        })
        .collect()
}

/// Undoes percent-encoding; in queries and forms (`plus`) a `+` is a blank. Nothing where a `%` has no two digits behind it, or the bytes
/// are not UTF-8.
pub fn decode(text: &str, plus: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            b'+' if plus => b' ',
            other => *other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: Option<&u8>) -> Option<u8> {
    let value = byte.and_then(|byte| char::from(*byte).to_digit(16))?;
    u8::try_from(value).ok()
}

/// Reads `_pretty`.
///
/// # Errors
/// A value other than `true` and `false`.
pub fn pretty(pairs: &[Pair]) -> Result<bool, Issue> {
    match value(pairs, "_pretty") {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(wrong("_pretty", other, "true or false")),
    }
}

/// The first value of `_format`.
pub fn format(pairs: &[Pair]) -> Option<&str> {
    value(pairs, "_format")
}

/// Reads `_elements` and `_summary`.
///
/// # Errors
/// An unknown value, names that are no elements, `_summary` twice, or both together.
///
/// Source: Contract 4.8; FHIR R5 `search.html#elements`, `search.html#summary`.
pub fn subset(pairs: &[Pair]) -> Result<Subset, Issue> {
    let mut elements: Option<Vec<String>> = None;
    let mut summary = None;
    for (name, value) in pairs {
        match name.as_str() {
            "_elements" => {
                let names = value.split(',').map(str::trim);
                if !names.clone().all(is_element) {
                    return Err(wrong("_elements", value, "names of elements, separated by commas"));
                }
                elements.get_or_insert_default().extend(names.map(str::to_owned));
            }
            "_summary" if summary.is_some() => {
                return Err(Issue::new(Hcert::SearchParameterRepeated).with("name", "_summary").at("http._summary"));
            }
            "_summary" => {
                summary = Some(match value.as_str() {
                    "true" => Subset::Summary,
                    "text" => Subset::Text,
                    "data" => Subset::Data,
                    "count" => Subset::Count,
                    "false" => Subset::All,
                    other => return Err(wrong("_summary", other, "true, false, text, data or count")),
                });
            }
            _ => {}
        }
    }
    match (elements, summary) {
        (Some(names), None | Some(Subset::All)) => Ok(Subset::Elements(names)),
        (Some(names), Some(_)) => Err(wrong("_elements", &names.join(","), "only one of _elements and _summary")),
        (None, summary) => Ok(summary.unwrap_or_default()),
    }
}

fn is_element(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn value<'a>(pairs: &'a [Pair], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

fn wrong(name: &'static str, value: &str, expected: &'static str) -> Issue {
    let issue = Issue::new(Hcert::SearchValueWrong).with("name", name).with("value", value.to_owned());
    issue.with("expected", expected).at(format!("http.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Subset, Hcert> {
        subset(&pairs(text).unwrap()).map_err(|issue| issue.code())
    }

    #[test]
    fn pairs_keep_their_order_and_are_decoded() {
        let found = pairs("b=1&a=%C3%B5+%2B&&a=x=y&c&=d").unwrap();
        let expected = [("b", "1"), ("a", "õ +"), ("a", "x=y"), ("c", ""), ("", "d")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(pairs("").unwrap(), []);
    }

    #[test]
    fn what_is_not_percent_encoded_utf8_is_refused() {
        for text in ["a=%", "a=%4", "a=%4g", "a=%+1", "%zz=1", "a=%ff", "a=%C3", "a=%ED%A0%80"] {
            assert_eq!(pairs(text).map_err(|issue| issue.code()), Err(Hcert::HttpMalformed), "{text}");
        }
    }

    #[test]
    fn a_subset_is_read() {
        assert_eq!(read(""), Ok(Subset::All));
        assert_eq!(read("_summary=false"), Ok(Subset::All));
        assert_eq!(read("_summary=true"), Ok(Subset::Summary));
        assert_eq!(read("_summary=text"), Ok(Subset::Text));
        assert_eq!(read("_summary=data"), Ok(Subset::Data));
        assert_eq!(read("_summary=count"), Ok(Subset::Count));
        let names = ["title", "date", "status"].map(str::to_owned).to_vec();
        assert_eq!(read("_elements=title,%20date&_elements=status&_summary=false"), Ok(Subset::Elements(names)));
    }

    #[test]
    fn a_subset_that_is_none_is_refused() {
        for text in
            ["_summary=", "_summary=yes", "_elements=", "_elements=a,,b", "_elements=a.b", "_elements=a&_summary=true"]
        {
            assert_eq!(read(text), Err(Hcert::SearchValueWrong), "{text}");
        }
        assert_eq!(read("_summary=true&_summary=true"), Err(Hcert::SearchParameterRepeated));
    }

    #[test]
    fn pretty_is_true_or_false() {
        let read = |text| pretty(&pairs(text).unwrap()).ok();
        assert_eq!(read("a=b"), Some(false));
        assert_eq!(read("_pretty=true"), Some(true));
        assert_eq!(read("_pretty=false"), Some(false));
        assert_eq!(read("_pretty=1"), None);
    }
}
