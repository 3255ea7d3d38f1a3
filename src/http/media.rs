//! Media types: which one an answer has, and which a body may have. Contract 2.1.

use crate::interaction::BodyContent;
use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};

use super::quality::{HeaderMember, members};
use fhir::outcome::{Hcert, Issue};

const FORM: &str = "application/x-www-form-urlencoded";

/// The media types of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaTypes {
    #[default]
    FhirJson,
    Json,
    /// A document; whatever else is answered in its place is FHIR.
    Pdf,
}

impl MediaTypes {
    const OF_FHIR: [MediaTypes; 2] = [MediaTypes::FhirJson, MediaTypes::Json];

    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            MediaTypes::FhirJson | MediaTypes::Pdf => "application/fhir+json; charset=utf-8",
            MediaTypes::Json => "application/json; charset=utf-8",
        })
    }

    /// What it is called; the old name of FHIR's own type comes last.
    fn names(self) -> &'static [&'static str] {
        match self {
            MediaTypes::FhirJson => &["application/fhir+json", "application/json+fhir"],
            MediaTypes::Json => &["application/json"],
            MediaTypes::Pdf => &["application/pdf"],
        }
    }

    fn is_named(self, name: &str) -> bool {
        self.names().iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The media type of this name, of those that FHIR has.
    fn named(name: &str) -> Option<MediaTypes> {
        MediaTypes::OF_FHIR.into_iter().find(|media| media.is_named(name))
    }

    /// How closely a media range fits: 3 by name, 2 by `application/*`, 1 by `*/*`.
    fn fit(self, range: &HeaderMember) -> Option<u8> {
        let fit = match range.name {
            "*/*" => 1,
            name if name.eq_ignore_ascii_case("application/*") => 2,
            name if self.is_named(name) => 3,
            _ => return None,
        };
        has_our_parameters(range).then_some(fit)
    }
}

/// The media type of the answer. `format` is the value of `_format`, which outweighs `Accept`. Where a document is offered, it is the answer
/// for everybody who does not ask for FHIR.
///
/// # Errors
/// 406 when none of ours is wanted.
pub fn wanted(headers: &HeaderMap, format: Option<&str>, offers_pdf: bool) -> Result<MediaTypes, Issue> {
    if let Some(format) = format {
        let is_pdf = offers_pdf && (format.eq_ignore_ascii_case("pdf") || MediaTypes::Pdf.is_named(format));
        let known = if is_pdf { Some(MediaTypes::Pdf) } else { by_format(format) };
        return known.ok_or_else(|| not_acceptable(format));
    }
    if members(headers, &ACCEPT).next().is_none() {
        return Ok(if offers_pdf { MediaTypes::Pdf } else { MediaTypes::default() });
    }
    // Of equal weights the first of ours wins, so that FHIR's own type is the answer to `*/*`.
    let weight = |media: MediaTypes| {
        let fits = members(headers, &ACCEPT).filter_map(|range| Some((range.weight, media.fit(&range)?)));
        fits.max_by_key(|(_, fit)| *fit).unwrap_or((0, 0))
    };
    let [fhir, json] = MediaTypes::OF_FHIR.map(weight);
    if offers_pdf {
        // By its weight; of two equal ones the one wins that is named more closely.
        let pdf = weight(MediaTypes::Pdf);
        if pdf.0 > 0 && pdf >= fhir.max(json) {
            return Ok(MediaTypes::Pdf);
        }
    }
    match (fhir.0, json.0) {
        (0, 0) => Err(not_acceptable(&shown(headers, &ACCEPT))),
        (fhir, json) if fhir >= json => Ok(MediaTypes::FhirJson),
        _ => Ok(MediaTypes::Json),
    }
}

/// `_format`: `json` or one of the media types. The `+` of a media type that was not encoded arrives as a blank.
fn by_format(format: &str) -> Option<MediaTypes> {
    let member = HeaderMember::parse(format);
    if member.name.eq_ignore_ascii_case("json") {
        return Some(MediaTypes::FhirJson);
    }
    MediaTypes::named(&member.name.replace(' ', "+")).filter(|_| has_our_parameters(&member))
}

/// Checks what the headers say of a body.
///
/// # Errors
/// 415: another media type, none, a `fhirVersion` other than 5.0 and 5.0.0, a charset other than UTF-8, or a Content-Encoding.
pub fn check_body(headers: &HeaderMap, content: BodyContent) -> Result<(), Issue> {
    let expected = match content {
        BodyContent::Resource => {
            "application/fhir+json or application/json, fhirVersion 5.0, in UTF-8, without Content-Encoding"
        }
        BodyContent::Form => "application/x-www-form-urlencoded, in UTF-8, without Content-Encoding",
    };
    let refuse = |header: &'static str, value: String| {
        let issue = Issue::new(Hcert::MediaTypeUnsupported).with("header", header);
        issue.with("value", value).with("expected", expected)
    };
    if !members(headers, &CONTENT_ENCODING).all(|coding| coding.name.eq_ignore_ascii_case("identity")) {
        return Err(refuse("Content-Encoding", shown(headers, &CONTENT_ENCODING)));
    }
    let mut values = headers.get_all(CONTENT_TYPE).into_iter();
    let (Some(Ok(value)), None) = (values.next().map(HeaderValue::to_str), values.next()) else {
        return Err(refuse("Content-Type", shown(headers, &CONTENT_TYPE)));
    };
    let member = HeaderMember::parse(value);
    let is_known = match content {
        BodyContent::Resource => MediaTypes::named(member.name).is_some(),
        BodyContent::Form => member.name.eq_ignore_ascii_case(FORM),
    };
    if is_known && has_our_parameters(&member) { Ok(()) } else { Err(refuse("Content-Type", value.to_owned())) }
}

fn has_our_parameters(member: &HeaderMember) -> bool {
    let version = member.parameter("fhirVersion").is_none_or(|version| matches!(version, "5.0" | "5.0.0"));
    version && member.parameter("charset").is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8"))
}

fn not_acceptable(value: &str) -> Issue {
    Issue::new(Hcert::NotAcceptable).with("value", value.to_owned())
}

/// All values of a header, for the caller's eyes.
fn shown(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).into_iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    values.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::outcome::Language;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn the_answer_has_the_type_that_was_asked_for() {
        for (accept, media) in [
            ("", MediaTypes::FhirJson),
            ("*/*", MediaTypes::FhirJson),
            ("application/*", MediaTypes::FhirJson),
            ("application/json", MediaTypes::Json),
            ("Application/FHIR+JSON", MediaTypes::FhirJson),
            ("application/fhir+json; fhirVersion=5.0; charset=UTF-8", MediaTypes::FhirJson),
            ("application/fhir+json; fhirVersion=\"5.0.0\"", MediaTypes::FhirJson),
            ("application/json+fhir", MediaTypes::FhirJson),
            ("application/json+fhir, application/json;q=0.9", MediaTypes::FhirJson),
            ("application/json+fhir;fhirVersion=3.0, application/json", MediaTypes::Json),
            ("application/json, application/fhir+json", MediaTypes::FhirJson),
            ("application/json, application/fhir+json;q=0.9", MediaTypes::Json),
            ("application/fhir+json;q=0, */*", MediaTypes::Json),
            ("application/fhir+json;fhirVersion=4.0, application/json;q=0.1", MediaTypes::Json),
            ("application/fhir+xml, */*;q=0.1", MediaTypes::FhirJson),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", MediaTypes::FhirJson),
        ] {
            assert_eq!(wanted(&headers(ACCEPT, accept), None, false), Ok(media), "{accept}");
        }
        assert_eq!(wanted(&HeaderMap::new(), None, false), Ok(MediaTypes::FhirJson));
    }

    #[test]
    fn a_document_is_for_everybody_who_does_not_ask_for_fhir() {
        for (accept, media) in [
            ("", MediaTypes::Pdf),
            ("*/*", MediaTypes::Pdf),
            ("application/*", MediaTypes::Pdf),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", MediaTypes::Pdf),
            ("application/pdf", MediaTypes::Pdf),
            ("application/pdf, application/fhir+json", MediaTypes::Pdf),
            ("application/fhir+json", MediaTypes::FhirJson),
            ("application/fhir+json, */*", MediaTypes::FhirJson),
            ("application/json, */*;q=0.5", MediaTypes::Json),
            ("application/pdf;q=0.5, application/fhir+json", MediaTypes::FhirJson),
            ("application/pdf;q=0, */*", MediaTypes::FhirJson),
        ] {
            assert_eq!(wanted(&headers(ACCEPT, accept), None, true), Ok(media), "{accept}");
        }
        for format in ["pdf", "application/pdf"] {
            assert_eq!(wanted(&HeaderMap::new(), Some(format), true), Ok(MediaTypes::Pdf));
            assert!(wanted(&HeaderMap::new(), Some(format), false).is_err());
        }
        assert_eq!(wanted(&HeaderMap::new(), Some("json"), true), Ok(MediaTypes::FhirJson));
        assert!(wanted(&headers(ACCEPT, "application/pdf"), None, false).is_err());
    }

    #[test]
    fn types_we_do_not_have_are_refused() {
        for accept in [
            "application/fhir+xml",
            "application/xml, text/html",
            "text/*",
            "text/json",
            "*/*;q=0",
            "application/fhir+json;q=0, application/json;q=0, */*",
            "application/fhir+json; fhirVersion=4.0",
            "application/fhir+json; fhirVersion=5",
            "application/json+fhir; fhirVersion=5.0.1",
            "application/fhir+json; charset=latin1",
        ] {
            let refusal = wanted(&headers(ACCEPT, accept), None, false).unwrap_err();
            assert_eq!(refusal.code(), Hcert::NotAcceptable, "{accept}");
        }
    }

    #[test]
    fn format_outweighs_accept() {
        let xml = headers(ACCEPT, "application/fhir+xml");
        for (format, media) in [
            ("json", MediaTypes::FhirJson),
            ("application/json", MediaTypes::Json),
            ("application/fhir+json", MediaTypes::FhirJson),
            ("application/fhir json", MediaTypes::FhirJson),
            ("application/fhir+json;fhirVersion=5.0", MediaTypes::FhirJson),
            ("application/json fhir;fhirVersion=5.0.0", MediaTypes::FhirJson),
        ] {
            assert_eq!(wanted(&xml, Some(format), false), Ok(media), "{format}");
        }
        for format in
            ["", "xml", "application/fhir+xml", "text/xml", "ttl", "html", "application/fhir+json;fhirVersion=4.0"]
        {
            assert!(wanted(&HeaderMap::new(), Some(format), false).is_err(), "{format}");
        }
    }

    #[test]
    fn a_body_has_one_of_our_types() {
        for value in [
            "application/fhir+json",
            "application/json",
            "Application/Json;Charset=UTF-8",
            "application/fhir+json; fhirVersion=5.0; charset=\"utf-8\"",
            "application/json+fhir; fhirVersion=\"5.0.0\"",
        ] {
            assert_eq!(check_body(&headers(CONTENT_TYPE, value), BodyContent::Resource), Ok(()), "{value}");
        }
        assert_eq!(check_body(&headers(CONTENT_TYPE, FORM), BodyContent::Form), Ok(()));
        let mut identity = headers(CONTENT_TYPE, "application/json");
        identity.insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
        assert_eq!(check_body(&identity, BodyContent::Resource), Ok(()));
    }

    #[test]
    fn other_bodies_are_refused() {
        let refused = |headers: &HeaderMap, content| {
            assert_eq!(check_body(headers, content).unwrap_err().code(), Hcert::MediaTypeUnsupported, "{headers:?}");
        };
        for value in [
            "",
            "application/fhir+xml",
            "text/json",
            "text/plain",
            "*/*",
            FORM,
            "application/json; charset=iso-8859-1",
            "application/fhir+json; fhirVersion=4.0",
            "application/json, application/json",
        ] {
            refused(&headers(CONTENT_TYPE, value), BodyContent::Resource);
        }
        refused(&HeaderMap::new(), BodyContent::Resource);
        refused(&headers(CONTENT_TYPE, "application/json"), BodyContent::Form);
        let mut twice = headers(CONTENT_TYPE, "application/json");
        twice.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        refused(&twice, BodyContent::Resource);
        let mut packed = headers(CONTENT_TYPE, "application/json");
        packed.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let refusal = check_body(&packed, BodyContent::Resource).unwrap_err();
        assert_eq!(refusal.code(), Hcert::MediaTypeUnsupported);
        assert!(
            refusal.text(Language::English).starts_with("The Content-Encoding 'gzip' of the body is not supported")
        );
    }
}
