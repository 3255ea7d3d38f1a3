//! A patient as far as certificates look at one.

use std::time::{SystemTime, UNIX_EPOCH};

use certificate::search::reference::is_id;
use fhir::date_time;
use fhir::json::Json;

/// What a registry says of one patient.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patient {
    /// `200`
    pub id: String,
    /// `meta.versionId`
    pub version: String,
    /// Those that are valid.
    pub identifiers: Vec<Identifier>,
    /// Those that the registry says are no longer valid: `use` `old`, or a period that has ended. They name nobody.
    pub former: Vec<Identifier>,
    pub is_deceased: bool,
    /// Ids of patients that are the same person: `link.type` `replaces` or `replaced-by`.
    pub links: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identifier {
    pub system: String,
    pub value: String,
}

impl Patient {
    /// Reads a Patient of R5 or R4; other elements count for nothing. Nothing when it is another resource, or without id or version.
    /// `base` is the address of the registry, where it has one.
    pub fn read(resource: &Json, base: Option<&str>) -> Option<Patient> {
        if resource.text("resourceType") != Some("Patient") {
            return None;
        }
        let (valid, former): (Vec<&Json>, Vec<&Json>) =
            resource.items("identifier").iter().partition(|identifier| is_valid(identifier));
        let read = |identifiers: Vec<&Json>| {
            let read = |identifier: &Json| {
                let value = identifier.text("value")?.to_owned();
                Some(Identifier { system: identifier.text("system").unwrap_or_default().to_owned(), value })
            };
            identifiers.into_iter().filter_map(read).collect()
        };
        let links = resource.items("link").iter().filter_map(|link| {
            let same = matches!(link.text("type"), Some("replaces" | "replaced-by"));
            let other = link.get("other")?.text("reference")?;
            same.then(|| local_id(other, base)).flatten().map(str::to_owned)
        });
        // Both become part of a reference.
        let id = |text: Option<&str>| text.filter(|text| is_id(text)).map(str::to_owned);
        Some(Patient {
            id: id(resource.text("id"))?,
            version: id(resource.get("meta")?.text("versionId"))?,
            identifiers: read(valid),
            former: read(former),
            is_deceased: matches!(resource.get("deceasedBoolean"), Some(Json::Bool(true)))
                || resource.get("deceasedDateTime").is_some(),
            links: links.collect(),
        })
    }
}

/// Whether an identifier names its patient today: its `use` is not `old`, and its period has not ended. FHIR R5, Identifier.
pub(super) fn is_valid(identifier: &Json) -> bool {
    let end = identifier.get("period").and_then(|period| period.text("end"));
    let end = end.and_then(|end| date_time::search_span(end).ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    identifier.text("use") != Some("old") && end.is_none_or(|end| end.high >= now)
}

/// The id of `Patient/200` or `Patient/200/_history/3`, relative or under the registry's own address. Patients of other servers may have
/// the same ids, and are somebody else.
fn local_id<'r>(reference: &'r str, base: Option<&str>) -> Option<&'r str> {
    let below = |base: &str| reference.strip_prefix(base)?.strip_prefix('/');
    let local = base.and_then(below).unwrap_or(reference);
    let id = local.strip_prefix("Patient/")?;
    let id = id.split_once("/_history/").map_or(id, |(id, _)| id);
    is_id(id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    #[test]
    fn an_identifier_that_is_no_longer_valid_is_told_apart() {
        let text = r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"3"},"identifier":[{"value":"a","use":"official"},{"value":"b","use":"old"},
            {"value":"c","period":{"end":"2020"}},{"value":"d","period":{"start":"2020","end":"2999-01-01"}},{"value":"e","period":{"end":"never"}}]}"#;
        let patient = Patient::read(&json::parse(text.as_bytes()).unwrap(), None).unwrap();
        let values =
            |identifiers: &[Identifier]| identifiers.iter().map(|known| known.value.clone()).collect::<String>();
        assert_eq!((values(&patient.identifiers), values(&patient.former)), ("ade".to_owned(), "bc".to_owned()));
    }

    #[test]
    fn a_patient_is_read_as_far_as_certificates_need_it() {
        let read = |text: &str| Patient::read(&json::parse(text.as_bytes()).unwrap(), Some("https://r.ee/fhir"));
        let patient = read(
            r##"{"resourceType":"Patient","id":"200","meta":{"versionId":"3"},"identifier":[{"system":"s","value":"v"},{"value":"w"},{"system":"x"}],
               "deceasedDateTime":"2024-01-01","link":[{"type":"replaces","other":{"reference":"Patient/7/_history/1"}},
               {"type":"seealso","other":{"reference":"Patient/8"}},{"type":"replaced-by","other":{"reference":"https://r.ee/fhir/Patient/9"}},
               {"type":"replaces","other":{"reference":"Patient/"}},{"type":"replaces","other":{"reference":"https://r.ee/other/Patient/10"}},
               {"type":"replaces","other":{"reference":"https://s.ee/fhir/Patient/11"}},{"type":"replaces","other":{"reference":"#Patient/12"}},
               {"type":"replaces","other":{"reference":"https://r.ee/fhir?x=/Patient/13"}},{"type":"replaces","other":{"reference":"urn:oid:Patient/14"}},
               {"type":"replaces","other":{"reference":"Patient/15/name"}}]}"##,
        );
        let patient = patient.unwrap();
        assert_eq!((patient.id.as_str(), patient.version.as_str(), patient.is_deceased), ("200", "3", true));
        assert_eq!(patient.links, ["7", "9"]);
        let values: Vec<_> =
            patient.identifiers.iter().map(|found| (found.system.as_str(), found.value.as_str())).collect();
        assert_eq!(values, [("s", "v"), ("", "w")]);
        assert_eq!(read(r#"{"resourceType":"Patient","id":"200"}"#), None);
        assert_eq!(read(r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"../x"}}"#), None);
        assert_eq!(read(r#"{"resourceType":"Patient","id":"a/b","meta":{"versionId":"1"}}"#), None);
        assert_eq!(read(r#"{"resourceType":"Person","id":"200","meta":{"versionId":"3"}}"#), None);
    }
}
