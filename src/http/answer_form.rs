//! How the caller wants the answer: read before anything can fail, so that refusals come in that form too.

use hyper::Method;
use hyper::header::{ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderMap, HeaderValue};

use super::media::MediaTypes;
use super::quality::members;
use super::request_id::RequestId;
use fhir::outcome::Language;

/// The form of one answer.
#[derive(Clone, Debug)]
pub struct AnswerForm {
    pub request_id: RequestId,
    pub language: Language,
    /// What `Accept-Language` asks for, where it names a language of ours.
    pub asked_language: Option<Language>,
    pub media: MediaTypes,
    /// `_pretty=true`
    pub pretty: bool,
    pub gzip: bool,
    /// HEAD: everything but the body.
    pub head: bool,
    /// `x-road-id` as it is given back.
    pub x_road_id: Option<HeaderValue>,
}

impl AnswerForm {
    /// Reads what never fails; `media` and `pretty` come out of the query and are set by the caller.
    pub fn new(method: &Method, headers: &HeaderMap) -> Self {
        let asked_language = language(headers);
        AnswerForm {
            request_id: RequestId::of(headers),
            language: asked_language.unwrap_or(Language::English),
            asked_language,
            media: MediaTypes::default(),
            pretty: false,
            gzip: gzip(headers),
            head: method == Method::HEAD,
            x_road_id: None,
        }
    }
}

/// Estonian if `Accept-Language` prefers it to English; of equals the first named. Contract 5.3.
fn language(headers: &HeaderMap) -> Option<Language> {
    let mut best = (0, None);
    for member in members(headers, &ACCEPT_LANGUAGE) {
        let language = match member.name.split('-').next() {
            Some(name) if name.eq_ignore_ascii_case("et") => Language::Estonian,
            Some(name) if name.eq_ignore_ascii_case("en") => Language::English,
            _ => continue,
        };
        if member.weight > best.0 {
            best = (member.weight, Some(language));
        }
    }
    best.1
}

/// Whether `Accept-Encoding` allows gzip. RFC 9110, 12.5.3.
fn gzip(headers: &HeaderMap) -> bool {
    let weight = |name: &str| {
        members(headers, &ACCEPT_ENCODING)
            .find(|member| member.name.eq_ignore_ascii_case(name))
            .map(|found| found.weight)
    };
    weight("gzip").or_else(|| weight("*")).is_some_and(|weight| weight > 0)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn wanted(name: HeaderName, value: &str) -> AnswerForm {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())]);
        AnswerForm::new(&Method::GET, &headers)
    }

    #[test]
    fn estonian_is_spoken_to_those_who_prefer_it() {
        for (value, language) in [
            ("et", Language::Estonian),
            ("ET-ee, en;q=0.9", Language::Estonian),
            ("et, en", Language::Estonian),
            ("en, et", Language::English),
            ("en;q=0.5, et;q=0.8", Language::Estonian),
            ("et;q=0", Language::English),
            ("ru, et;q=0.1", Language::Estonian),
            ("eth", Language::English),
            ("*", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(wanted(ACCEPT_LANGUAGE, value).language, language, "{value}");
        }
    }

    #[test]
    fn gzip_is_used_only_where_it_is_allowed() {
        for (value, allowed) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.1", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip;q=0, *", false),
            ("*;q=0", false),
            ("br", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(wanted(ACCEPT_ENCODING, value).gzip, allowed, "{value}");
        }
    }
}
