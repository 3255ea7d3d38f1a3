//! JSON as FHIR uses it: element order and the digits of decimals are kept, and what FHIR forbids is found while reading.
//!
//! `Json` borrows from the text it was read from.

mod lexer;
mod reader;
mod source;
mod text;
mod value;

use crate::limits::JSON_DEPTH_MAX;
use crate::outcome::{Hcert, Issue, Outcome};
pub use reader::{ReadJson, syntax_problem};
pub use source::JsonSource;
pub use text::{write_member, write_string};
pub use value::{Json, Object};

/// Reads a request body.
///
/// # Errors
/// One `Outcome` with every problem found: not UTF-8, not JSON (with line and column), deeper than
/// [`JSON_DEPTH_MAX`], duplicate keys, empty arrays or objects, `null` outside a primitive array.
///
/// Source: Contract 2.1, 2.7, 5.4; FHIR R5 `json.html`.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, Outcome> {
    let ReadJson { value, problems, .. } = read(bytes, JSON_DEPTH_MAX)?;
    if problems.is_empty() { Ok(value) } else { Err(problems.into_issues().into()) }
}

/// As [`parse`], for a resource inside an entry: one level more. The text comes along where it is as we would write it.
pub fn parse_entry(bytes: &[u8]) -> Result<(Json<'_>, Option<JsonSource<'_>>), Outcome> {
    let ReadJson { value, problems, source } = read(bytes, JSON_DEPTH_MAX + 1)?;
    if problems.is_empty() { Ok((value, source)) } else { Err(problems.into_issues().into()) }
}

/// As [`parse`], but what FHIR forbids in well-formed JSON is given beside the value, so that the other problems of a body can be
/// told with it (Contract 5.1). Of a duplicate key the first value counts.
pub fn parse_with_problems(bytes: &[u8]) -> Result<ReadJson<'_>, Outcome> {
    read(bytes, JSON_DEPTH_MAX)
}

fn read(bytes: &[u8], depth_max: usize) -> Result<ReadJson<'_>, Outcome> {
    let text = text_of(bytes)?;
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return Err(Issue::new(Hcert::BodyEmpty).into());
    }
    reader::read(text, depth_max)
}

/// A body as text, behind its byte order mark if it has one. Contract 2.1.
///
/// # Errors
/// 400: it is not UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str, Issue> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Issue::new(Hcert::BodyNotUtf8).with("position", error.valid_up_to().to_string()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Reads text this service wrote itself.
pub fn parse_stored(bytes: &[u8]) -> Json<'_> {
    parse(bytes).expect("the store holds only JSON that was read and checked before it was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<Hcert> {
        parse(text.as_bytes()).expect_err("refused").issues().iter().filter_map(Issue::own_code).collect()
    }

    #[test]
    fn digits_and_order_come_back_as_they_were() {
        let text = r#"{"z":1.10,"a":[1e-7,-0.0,12345678901234567890123],"s":"õ\n\"<","t":true}"#;
        assert_eq!(String::from_utf8(parse(text.as_bytes()).unwrap().to_vec()).unwrap(), text);
    }

    #[test]
    fn what_fhir_forbids_is_found_with_its_place() {
        assert_eq!(codes(r#"{"a":1,"a":2}"#), [Hcert::JsonDuplicateKey]);
        assert_eq!(codes(r#"{"a":[]}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes(r#"{"a":{}}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes(r#"{"a":null}"#), [Hcert::JsonEmptyValue]);
        assert_eq!(codes("  "), [Hcert::BodyEmpty]);
        assert_eq!(codes("{\"a\":"), [Hcert::JsonSyntax]);
        assert_eq!(codes(&"[".repeat(1000)), [Hcert::JsonTooDeep]);
        let outcome = parse(br#"{"a":{"b":[{"c":[]}]}}"#).unwrap_err();
        assert_eq!(outcome.issues()[0].expression(), ["a.b[0].c"]);
        let outcome = parse(br#"{"a":{"b":[{"c":[]}]},"resourceType":"Basic"}"#).unwrap_err();
        assert_eq!(outcome.issues()[0].expression(), ["Basic.a.b[0].c"]);
    }

    /// What was seen: exponents came back in lower case and with a sign (`1E2` as `1e+2`), since serde_json handed numbers over. It
    /// reserves a name for that, which was refused as a member.
    #[test]
    fn numbers_and_names_are_read_without_serde_json() {
        let text = r#"{"a":[1E2,123e65,20E+1,20e1,-0,1.50e-07],"$serde_json::private::Number":"1,2"}"#;
        assert_eq!(String::from_utf8(parse(text.as_bytes()).unwrap().to_vec()).unwrap(), text);
    }

    /// What was seen: a member's name went into the place of every problem below it, however long and whatever it held, so that a body
    /// of the allowed size was answered with a hundred times as much, and with places that are no FHIRPath.
    #[test]
    fn a_name_that_is_none_of_fhirpath_stands_in_no_place() {
        let places = |text: &str| -> Vec<String> {
            let refused = parse(text.as_bytes()).expect_err(text);
            refused.issues().iter().map(|issue| issue.expression().join(" ")).collect()
        };
        let long = "a".repeat(65);
        for name in ["a b", "", "7", "õ", "a.b", "a[0]", "`a`", &long] {
            let text = format!(r#"{{"resourceType":"Basic","b":[{{"{name}":{{"c":[null],"d":{{}}}}}}]}}"#);
            assert_eq!(places(&text), ["Basic.b[0]", "Basic.b[0]"], "{name}");
            assert_eq!(places(&format!(r#"{{"{name}":[]}}"#)), [""], "{name}");
        }
        assert_eq!(places(r#"{"_a":{}}"#), ["_a"]);
        assert_eq!(places(r#"[{"a":[]},{}]"#), ["", ""]);
    }

    #[test]
    fn a_resource_of_the_largest_depth_fits_into_an_entry() {
        let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert!(parse(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(codes(&nested(JSON_DEPTH_MAX + 1)), [Hcert::JsonTooDeep]);
        assert!(parse_entry(nested(JSON_DEPTH_MAX + 1).as_bytes()).is_ok());
        assert!(parse_entry(nested(JSON_DEPTH_MAX + 2).as_bytes()).is_err());
    }

    #[test]
    fn null_may_stand_in_an_array_beside_a_value() {
        assert!(parse(br#"{"given":[null,"Mari"],"_given":[{"id":"a"},null]}"#).is_ok());
    }

    #[test]
    fn many_members_are_checked_for_duplicates_too() {
        let members: Vec<String> = (0..100).map(|n| format!("\"k{n}\":{n}")).collect();
        let text = format!("{{{},\"k77\":1}}", members.join(","));
        assert_eq!(codes(&text), [Hcert::JsonDuplicateKey]);
    }
}
