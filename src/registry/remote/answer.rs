//! What a registry's answer means.

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, LAST_MODIFIED};

use super::chain;
use super::links::BaseRewrite;
use crate::registry::{LookupFailure, NoAnswer, RegistryFinding, RegistryRequest};
use certificate::search::value::{split, unescape};
use fhir::date_time::parse_http_date;
use fhir::json::{self, Json};
use fhir::limits::ID_CHARACTERS_MAX;

/// An answer as it came.
#[derive(Debug)]
pub(super) struct RegistryResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// Nothing when it is of another kind than JSON, which nobody reads.
    pub body: Option<Vec<u8>>,
}

/// What was told, and how many patients it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatientMatches {
    pub told: RegistryFinding,
    pub patients: usize,
}

impl RegistryResponse {
    /// Whether a body of these headers can be read: JSON, not packed.
    pub(super) fn is_json(headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
        let kind = text(CONTENT_TYPE).and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        let json = ["application/fhir+json", "application/json"];
        json.iter().any(|known| kind.eq_ignore_ascii_case(known))
            && text(CONTENT_ENCODING).is_none_or(|packed| packed.eq_ignore_ascii_case("identity"))
    }

    /// What it means as an answer to this question. `links` is given for a Bundle that goes to a caller.
    ///
    /// # Errors
    /// [`LookupFailure::Refused`] when an OperationOutcome says so, also under status 200 (which then counts as 500). [`LookupFailure::NotFound`] when a
    /// plain 404 tells that there is no such patient or version, or that a search finds nobody. [`NoAnswer::Unreadable`] for everything else that is no Patient or Bundle as asked for.
    pub(super) fn judge(
        &self,
        request: &RegistryRequest,
        links: Option<&BaseRewrite>,
    ) -> Result<PatientMatches, LookupFailure> {
        match self.status {
            200 => self.success(request, links),
            400..=599 => Err(self.refusal(request)),
            300..=399 => Err(unreadable(format!("it leads elsewhere with status {}", self.status))),
            other => Err(unreadable(format!("its status is {other}"))),
        }
    }

    fn success(&self, request: &RegistryRequest, links: Option<&BaseRewrite>) -> Result<PatientMatches, LookupFailure> {
        let body = self.body.as_deref().ok_or_else(|| unreadable("its type is not JSON"))?;
        let read = json::parse_with_problems(body).map_err(|_| unreadable("it is not JSON"))?;
        if let Some(chain) = chain::read(&read.value, 500) {
            return Err(if chain.issues.iter().any(chain::is_error) {
                LookupFailure::Refused(chain)
            } else {
                unreadable("it is an OperationOutcome without an error")
            });
        }
        if !read.problems.is_empty() {
            return Err(unreadable("its JSON holds what FHIR forbids"));
        }
        let mut resource = read.value;
        let patients = match request {
            RegistryRequest::Read(id) => patient(&resource, id, None),
            RegistryRequest::Vread(id, version) => patient(&resource, id, Some(version)),
            RegistryRequest::Search(parameters) => bundle(&resource, "searchset").and_then(|patients| {
                let is_asked_for = found(&resource).all(|patient| is_asked_for(patient, parameters));
                is_asked_for.then_some(patients).ok_or("it has a Patient that was not asked for")
            }),
            RegistryRequest::History(id, _) => bundle(&resource, "history").and_then(|patients| {
                let is_asked_for = found(&resource).all(|patient| patient.text("id") == Some(id))
                    && resource.items("entry").iter().all(|entry| is_of_history(entry, id));
                is_asked_for.then_some(patients).ok_or("it has a Patient that was not asked for")
            }),
        }
        .map_err(unreadable)?;
        if let Some(links) = links {
            links.bundle(&mut resource);
        }
        let header = |name| self.headers.get(name)?.to_str().ok();
        let told = RegistryFinding {
            body: resource.to_vec(),
            version: header(ETAG).and_then(version).map(str::to_owned),
            last_modified: header(LAST_MODIFIED)
                .and_then(parse_http_date)
                .and_then(|seconds| seconds.checked_mul(1_000)),
        };
        Ok(PatientMatches { told, patients })
    }

    fn refusal(&self, request: &RegistryRequest) -> LookupFailure {
        // An OperationOutcome may hold what FHIR forbids; as much of it is told on as can be read.
        let read = self.body.as_deref().and_then(|body| json::parse_with_problems(body).ok());
        let resource = read.as_ref().map(|read| &read.value);
        if let Some(chain) = resource.and_then(|resource| chain::read(resource, self.status)) {
            return LookupFailure::Refused(chain);
        }
        let is_patient = resource.and_then(|resource| resource.text("resourceType")) == Some("Patient");
        if self.status == 404 && !matches!(request, RegistryRequest::History(..)) && !is_patient {
            return LookupFailure::NotFound;
        }
        unreadable(format!("its status is {}, without an OperationOutcome", self.status))
    }
}

fn unreadable(why: impl Into<String>) -> LookupFailure {
    LookupFailure::NoAnswer(NoAnswer::Unreadable(why.into()))
}

/// One Patient with the id asked for.
fn patient(resource: &Json, id: &str, version: Option<&str>) -> Result<usize, &'static str> {
    if resource.text("resourceType") != Some("Patient") {
        return Err("it is no Patient");
    }
    if resource.text("id") != Some(id) {
        return Err("it is another Patient than the one asked for");
    }
    let told = resource.get("meta").and_then(|meta| meta.text("versionId"));
    match (version, told) {
        (Some(version), Some(told)) if version != told => Err("it is another version than the one asked for"),
        _ => Ok(1),
    }
}

/// The Patients of a Bundle, counted; its `total` is the registry's affair.
fn bundle(resource: &Json, kind: &str) -> Result<usize, &'static str> {
    if resource.text("resourceType") != Some("Bundle") || resource.text("type") != Some(kind) {
        return Err("it is no Bundle of the kind asked for");
    }
    let entries = match resource.get("entry") {
        None => &[],
        Some(entries) => entries.as_array().ok_or("its entries are no list")?,
    };
    let mut patients = 0;
    for entry in entries {
        if entry.as_object().is_none() {
            return Err("an entry of its Bundle is no object");
        }
        match entry.get("resource").map(|resource| resource.text("resourceType")) {
            // A history reports a deletion by its request alone.
            None => {}
            Some(Some("Patient")) => patients += 1,
            // Warnings of a search, and what was included.
            Some(Some(_)) => {}
            Some(None) => return Err("an entry of its Bundle holds no resource"),
        }
    }
    Ok(patients)
}

/// Whether an entry of a history is of this Patient. A deletion has no resource, and its request alone says of whom it was.
fn is_of_history(entry: &Json, id: &str) -> bool {
    let url = entry.get("request").and_then(|request| request.text("url"));
    let named = url.and_then(|url| url.rsplit_once("Patient/")).map(|(_, behind)| behind);
    named.is_none_or(|named| named.split(['/', '?']).next() == Some(id))
}

/// Whether an answer to another question is told from the right one: by the id or the identifier that was asked for.
pub(super) fn is_told_apart(request: &RegistryRequest) -> bool {
    match request {
        RegistryRequest::Read(_) | RegistryRequest::Vread(..) | RegistryRequest::History(..) => true,
        RegistryRequest::Search(parameters) => parameters.iter().any(|(name, _)| name == "_id" || name == "identifier"),
    }
}

/// The Patients of a Bundle, without those that a search included.
fn found<'r>(bundle: &'r Json<'r>) -> impl Iterator<Item = &'r Json<'r>> {
    let is_match = |entry: &&Json| {
        let mode = entry.get("search").and_then(|search| search.text("mode"));
        mode.is_none_or(|mode| mode == "match")
    };
    let resources = bundle.items("entry").iter().filter(is_match).filter_map(|entry| entry.get("resource"));
    resources.filter(|resource| resource.text("resourceType") == Some("Patient"))
}

/// Whether a Patient has the id and the identifier of a search. An answer that was meant for somebody else's question, as a proxy that
/// confuses its connections gives, differs in it. Letter case and signs between letters and digits do not count; a registry's own id need
/// not stand among the identifiers.
fn is_asked_for(patient: &Json, parameters: &[(String, String)]) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let id = plain(patient.text("id").unwrap_or_default());
    let has = |system: Option<&str>, value: &str| {
        patient.items("identifier").iter().any(|known| {
            let is_of = |system: &str| known.text("system").is_none_or(|known| known == system);
            known.text("value").is_some_and(|known| plain(known) == value) && system.is_none_or(is_of)
        })
    };
    let is_identifier = |token: &str| {
        let parts: Vec<_> = split(token, b'|').map(unescape).collect();
        let (system, value) = match &parts[..] {
            [value] => (None, plain(value)),
            [system, value] => (Some(&**system), plain(value)),
            _ => return true,
        };
        // Of a system alone any value is one.
        value.is_empty() || value == id || has(system, &value)
    };
    parameters.iter().all(|(name, value)| match name.as_str() {
        "_id" => split(value, b',').any(|value| plain(&unescape(value)) == id),
        "identifier" => split(value, b',').any(is_identifier),
        _ => true,
    })
}

/// `3` of `W/"3"`.
fn version(tag: &str) -> Option<&str> {
    let tag = tag.trim();
    let version = tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?;
    ((1..=ID_CHARACTERS_MAX).contains(&version.len()) && !version.contains('"')).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: &str = r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"3"}}"#;
    const REFUSAL: &str = r#"{"resourceType":"OperationOutcome","issue":[{"code":"invalid","details":{"text":"No"}}]}"#;

    fn judge(request: &RegistryRequest, status: u16, body: &str) -> Result<PatientMatches, LookupFailure> {
        RegistryResponse { status, headers: HeaderMap::new(), body: Some(body.as_bytes().to_vec()) }
            .judge(request, None)
    }

    fn read() -> RegistryRequest {
        RegistryRequest::Read("200".to_owned())
    }

    fn vread() -> RegistryRequest {
        RegistryRequest::Vread("200".to_owned(), "3".to_owned())
    }

    fn search() -> RegistryRequest {
        RegistryRequest::Search(Vec::new())
    }

    fn is_unreadable(told: Result<PatientMatches, LookupFailure>) -> bool {
        matches!(told, Err(LookupFailure::NoAnswer(NoAnswer::Unreadable(_))))
    }

    #[test]
    fn json_is_what_its_type_says() {
        let is_json = |kind: &str, packed: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            packed.map(|packed| headers.insert(CONTENT_ENCODING, packed.parse().unwrap()));
            RegistryResponse::is_json(&headers)
        };
        for kind in
            ["application/fhir+json", "application/json", "Application/FHIR+JSON ; fhirVersion=4.0; charset=utf-8"]
        {
            assert!(is_json(kind, None), "{kind}");
        }
        for kind in [
            "text/html",
            "text/json",
            "application/fhir+json2",
            "",
            ";",
            "application/fhir+xml",
            "\"application/json\"",
        ] {
            assert!(!is_json(kind, None), "{kind}");
        }
        assert!(is_json("application/json", Some("identity")) && !is_json("application/json", Some("gzip")));
        assert!(!RegistryResponse::is_json(&HeaderMap::new()));
    }

    #[test]
    fn a_patient_must_be_the_one_asked_for() {
        let told = judge(&read(), 200, PATIENT).unwrap();
        assert_eq!((String::from_utf8(told.told.body).unwrap().as_str(), told.patients), (PATIENT, 1));
        assert!(judge(&vread(), 200, PATIENT).is_ok());
        assert!(judge(&vread(), 200, r#"{"resourceType":"Patient","id":"200"}"#).is_ok());
        assert!(is_unreadable(judge(&RegistryRequest::Vread("200".to_owned(), "4".to_owned()), 200, PATIENT)));
        assert!(is_unreadable(judge(&RegistryRequest::Read("201".to_owned()), 200, PATIENT)));
        for other in [
            r#"{"resourceType":"Person","id":"200"}"#,
            r#"{"resourceType":"Patient"}"#,
            r#"{"resourceType":"Patient","id":200}"#,
            r#"{"resourceType":"Patient","id":"200","id":"200"}"#,
            r#"{"resourceType":"Patient","id":"200","name":[]}"#,
            "[]",
            "1",
            "",
            "<html>",
            "{",
        ] {
            assert!(is_unreadable(judge(&read(), 200, other)), "{other}");
        }
        let deep =
            format!(r#"{{"resourceType":"Patient","id":"200","extension":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(is_unreadable(judge(&read(), 200, &deep)));
    }

    #[test]
    fn a_bundle_must_be_of_its_kind_and_hold_patients() {
        let bundle = |kind: &str, rest: &str| format!(r#"{{"resourceType":"Bundle","type":"{kind}"{rest}}}"#);
        let patients = |request: &RegistryRequest, body: &str| judge(request, 200, body).map(|found| found.patients);
        let history = RegistryRequest::History("200".to_owned(), Vec::new());
        let of_another = RegistryRequest::History("201".to_owned(), Vec::new());
        let entries = format!(
            r#","total":7,"entry":[{{"resource":{PATIENT}}},{{"resource":{REFUSAL}}},{{"request":{{"method":"DELETE"}}}}]"#
        );
        assert_eq!(patients(&search(), &bundle("searchset", "")), Ok(0));
        assert_eq!(patients(&search(), &bundle("searchset", &entries)), Ok(1));
        assert_eq!(patients(&history, &bundle("history", &entries)), Ok(1));
        assert!(is_unreadable(judge(&of_another, 200, &bundle("history", &entries))));
        let deleted = |id: &str| format!(r#","entry":[{{"request":{{"method":"DELETE","url":"Patient/{id}"}}}}]"#);
        assert_eq!(patients(&history, &bundle("history", &deleted("200"))), Ok(0));
        assert!(is_unreadable(judge(&history, 200, &bundle("history", &deleted("201")))));
        assert!(is_unreadable(judge(&search(), 200, &bundle("history", ""))));
        assert!(is_unreadable(judge(&history, 200, &bundle("searchset", ""))));
        assert!(is_unreadable(judge(&search(), 200, PATIENT)));
        for rest in [
            r#","entry":{"a":1}"#,
            r#","entry":"x""#,
            r#","entry":[1]"#,
            r#","entry":[{"resource":1}]"#,
            r#","entry":[{"resource":{"resourceType":1}}]"#,
            r#","entry":[]"#,
        ] {
            assert!(is_unreadable(judge(&search(), 200, &bundle("searchset", rest))), "{rest}");
        }
    }

    /// What was seen: a proxy that answered one question twice on a kept connection, so that somebody else was shown the second answer.
    #[test]
    fn a_search_by_id_or_identifier_finds_nobody_else() {
        let patient =
            r#"{"resourceType":"Patient","id":"200","identifier":[{"system":"urn:s","value":"AB-1"},{"value":"x,y"}]}"#;
        let mode = |mode: &str| {
            format!(
                r#"{{"resourceType":"Bundle","type":"searchset","entry":[{{"resource":{patient},"search":{{"mode":"{mode}"}}}}]}}"#
            )
        };
        for (name, value, is_found) in [
            ("_id", "200", true),
            ("_id", "201,200", true),
            ("_id", "201", false),
            ("identifier", "AB-1", true),
            ("identifier", "urn:s|ab1", true),
            ("identifier", "urn:s|", true),
            ("identifier", "urn:s|C,urn:s|AB-1", true),
            ("identifier", "|x\\,y", true),
            ("identifier", "urn:own|200", true),
            ("identifier", "urn:s|AB", false),
            ("identifier", "urn:t|AB-1", false),
            ("identifier", "urn:t|x\\,y", true),
            ("identifier", "|AB-1", false),
            ("identifier", "x", false),
            ("identifier:of-type", "a|b|c", true),
            ("name", "Mari", true),
        ] {
            let asked = RegistryRequest::Search(vec![(name.to_owned(), value.to_owned())]);
            assert_eq!(judge(&asked, 200, &mode("match")).is_ok(), is_found, "{name}={value}");
            assert!(judge(&asked, 200, &mode("include")).is_ok(), "{name}={value}");
        }
    }

    #[test]
    fn an_outcome_refuses_whatever_the_status() {
        for (status, expected) in [(200, 500), (400, 400), (404, 404), (500, 500), (503, 503)] {
            let Err(LookupFailure::Refused(chain)) = judge(&search(), status, REFUSAL) else { panic!("{status}") };
            assert_eq!((chain.status, chain.issues[0].severity.as_str()), (expected, "error"));
        }
        let warning = REFUSAL.replace(r#"{"code""#, r#"{"severity":"warning","code""#);
        assert!(is_unreadable(judge(&search(), 200, &warning)));
        assert!(matches!(judge(&search(), 400, &warning), Err(LookupFailure::Refused(_))));
        // What FHIR forbids does not hide what an outcome tells.
        let lax = REFUSAL.replace(r#"{"code""#, r#"{"expression":[],"diagnostics":null,"code""#);
        assert!(matches!(judge(&search(), 400, &lax), Err(LookupFailure::Refused(_))));
    }

    #[test]
    fn a_plain_404_tells_that_there_is_no_such_patient() {
        for request in [read(), vread(), search()] {
            for body in ["", "<html>", "{}", r#"{"error":"not found"}"#] {
                assert_eq!(judge(&request, 404, body), Err(LookupFailure::NotFound), "{body}");
            }
            assert!(is_unreadable(judge(&request, 404, PATIENT)), "a Patient cannot be missing");
            assert!(is_unreadable(judge(&request, 410, "")));
        }
        assert!(is_unreadable(judge(&RegistryRequest::History("200".to_owned(), Vec::new()), 404, "")));
        let no_json = RegistryResponse { status: 404, headers: HeaderMap::new(), body: None };
        assert_eq!(no_json.judge(&read(), None), Err(LookupFailure::NotFound));
    }

    #[test]
    fn other_statuses_are_no_answer() {
        for status in [201, 204, 206, 301, 302, 304, 307, 401, 403, 500, 502, 599, 600, 999] {
            assert!(is_unreadable(judge(&read(), status, PATIENT)), "{status}");
        }
    }

    #[test]
    fn version_and_time_come_from_the_headers() {
        let told = |tag: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ETAG, tag.parse().unwrap());
            headers.insert(LAST_MODIFIED, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
            let answer = RegistryResponse { status: 200, headers, body: Some(PATIENT.as_bytes().to_vec()) };
            answer.judge(&read(), None).unwrap().told
        };
        assert_eq!(told(r#"W/"3""#).version.as_deref(), Some("3"));
        assert_eq!(told(r#""3""#).version.as_deref(), Some("3"));
        for tag in ["3", "W/3", "\"", "\"\"", r#""a"b""#, "*", &format!("\"{}\"", "1".repeat(65))] {
            assert_eq!(told(tag).version, None, "{tag}");
        }
        assert_eq!(told("").last_modified, Some(784_111_777_000));
    }
}
