//! The head of a served resource, a certificate or a patient: id, version and time, which only the writer knows. The store keeps the
//! bytes behind it.
//!
//! ```text
//! {"resourceType":"Composition","id":"17","meta":{"versionId":"2","lastUpdated":"2025-01-12T10:00:00.123+02:00"   <- head
//! ,"profile":["…"]},"text":{…},…}                                                                                <- tail
//! ```

use super::{Id, Version};
use fhir::date_time;
use fhir::json::{self, Json, JsonSource, Object};

/// When a version was made: milliseconds since 1970 UTC and the offset of Estonian local time then, in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds since 1970 UTC.
    pub milliseconds: i64,
    /// Minutes that Estonian local time is ahead of UTC at that time.
    pub offset_minutes: i16,
}

impl Stamp {
    /// The stamp of a time in milliseconds since 1970 UTC; looks up the offset.
    pub fn at(milliseconds: i64) -> Stamp {
        Stamp { milliseconds, offset_minutes: date_time::offset_minutes(milliseconds) }
    }
}

/// Members of `meta` that the service writes itself, and what a client may have said beside them.
const OWN_META: [&str; 4] = ["versionId", "_versionId", "lastUpdated", "_lastUpdated"];

/// Bytes a head never exceeds.
pub const HEAD_BYTES_MAX: usize = 160;

/// Writes the head of a Composition or Patient.
pub fn write(out: &mut Vec<u8>, resource_type: &str, id: Id, version: Version, stamp: Stamp) {
    out.extend_from_slice(b"{\"resourceType\":\"");
    out.extend_from_slice(resource_type.as_bytes());
    out.extend_from_slice(b"\",\"id\":\"");
    write_number(out, id.get());
    out.extend_from_slice(b"\",\"meta\":{\"versionId\":\"");
    write_number(out, u64::from(version.get()));
    out.extend_from_slice(b"\",\"lastUpdated\":\"");
    date_time::write_instant(out, stamp.milliseconds, stamp.offset_minutes);
    out.push(b'"');
}

/// The bytes behind the head, for a certificate as a client sent it: its own `id`, `meta.versionId` and `meta.lastUpdated` count
/// for nothing; the rest of `meta` and all other elements stay as they are, in their order (Contract 1.3, 2.7).
pub fn tail(certificate: &Object) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    if let Some(Json::Object(meta)) = certificate.get("meta") {
        let kept = meta.iter().filter(|(name, _)| !OWN_META.contains(name));
        kept.for_each(|(name, value)| write_member(&mut out, name, value));
    }
    out.push(b'}');
    let kept = certificate.iter().filter(|(name, _)| !matches!(*name, "resourceType" | "id" | "meta"));
    kept.for_each(|(name, value)| write_member(&mut out, name, value));
    out.push(b'}');
    out
}

/// As [`tail`], copied out of the text that the certificate was read from; only the member `changed`, which was set since, is written.
/// Nothing when the rest was not read from there as it is now.
pub fn tail_of_source(certificate: &Object, source: JsonSource, changed: Option<&str>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(source.bytes());
    if let Some(Json::Object(meta)) = certificate.get("meta") {
        let inside = source.value(certificate, "meta")?;
        copy_members(&mut out, meta, inside, None, |name| !OWN_META.contains(&name))?;
    }
    out.push(b'}');
    let is_kept = |name: &str| !matches!(name, "resourceType" | "id" | "meta");
    copy_members(&mut out, certificate, source, changed, is_kept)?;
    out.push(b'}');
    debug_assert_eq!(out, tail(certificate), "what is copied is what would be written");
    Some(out)
}

fn copy_members(
    out: &mut Vec<u8>,
    object: &Object,
    source: JsonSource,
    changed: Option<&str>,
    is_kept: impl Fn(&str) -> bool,
) -> Option<()> {
    for (at, (name, value)) in object.iter().enumerate().filter(|(_, (name, _))| is_kept(name)) {
        if changed == Some(name) {
            write_member(out, name, value);
            continue;
        }
        out.push(b',');
        out.extend_from_slice(source.member(object, at)?.as_bytes());
    }
    Some(())
}

fn write_member(out: &mut Vec<u8>, name: &str, value: &Json) {
    out.push(b',');
    json::write_member(out, name, value);
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_make_the_certificate_again() {
        let sent = br#"{"title":"T","resourceType":"Composition","meta":{"versionId":"9","profile":["p"],"lastUpdated":"x","_versionId":{"id":"a"}},"id":"5","n":1.10}"#;
        let tail = tail(json::parse(sent).unwrap().as_object().unwrap());
        let mut whole = Vec::new();
        write(
            &mut whole,
            "Composition",
            Id::new(10).unwrap(),
            Version::FIRST,
            Stamp { milliseconds: 0, offset_minutes: 120 },
        );
        whole.extend_from_slice(&tail);
        let whole = String::from_utf8(whole).unwrap();
        assert!(
            whole.starts_with(r#"{"resourceType":"Composition","id":"10","meta":{"versionId":"1","lastUpdated":""#),
            "{whole}"
        );
        assert!(whole.ends_with(r#"","profile":["p"]},"title":"T","n":1.10}"#), "{whole}");
    }

    #[test]
    fn a_tail_is_copied_where_nothing_would_be_written_otherwise() {
        for text in [
            r#"{"title":"\"T","resourceType":"Composition","meta":{"versionId":"9","profile":["p"],"lastUpdated":"x"},"id":"5","n":1.10}"#,
            r#"{"resourceType":"Composition","id":"5","meta":{"versionId":"9","lastUpdated":"x"}}"#,
            r#"{"resourceType":"Composition","section":[{"title":"a"},{"title":"b"}]}"#,
        ] {
            let (value, source) = json::parse_entry(text.as_bytes()).unwrap();
            let certificate = value.as_object().unwrap();
            assert_eq!(tail_of_source(certificate, source.unwrap(), None), Some(tail(certificate)));
            let mut changed = certificate.clone();
            changed.set("section", Json::string("other"));
            let copied = tail_of_source(&changed, source.unwrap(), Some("section"));
            assert!(copied.is_none_or(|copied| copied == tail(&changed)));
        }
    }

    #[test]
    fn a_certificate_without_other_meta_closes_it() {
        let sent = br#"{"resourceType":"Composition","title":"T"}"#;
        assert_eq!(tail(json::parse(sent).unwrap().as_object().unwrap()), br#"},"title":"T"}"#);
    }
}
