//! Bundles, written as bytes: stored resources are laid end to end and never read again on the way out.

use std::fmt::Display;
use std::io::Write;

use super::date_time;
use super::json;

/// `Bundle.link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `Bundle.link.relation`, such as `self` or `next`.
    pub relation: &'static str,
    /// `Bundle.link.url`
    pub url: String,
}

/// A Bundle on its way out: `resourceType`, `type`, `total`, `link`, then one entry after the other.
///
/// Source: specification 4.6; Contract 4.1, 4.8; FHIR R5 `bundle.html`.
pub struct Bundle {
    bytes: Vec<u8>,
    empty: bool,
}

/// What a version of a history came from, for `Bundle.entry.request` and `.response`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryChange {
    /// The interaction `create` (POST, 201).
    Create,
    /// Also `$suspend` and `$cancel`. Contract 4.1.
    Update,
    /// The interaction `delete` (DELETE, 204).
    Delete,
}

/// The resource an entry is about.
#[derive(Clone, Copy, Debug)]
pub struct EntryResource<'a> {
    /// `Composition`
    pub kind: &'static str,
    /// Id of the resource, as a number.
    pub id: u64,
    /// In front of `fullUrl`; nothing for one relative to the server. Contract 1.2.
    pub base_url: Option<&'a str>,
}

/// One version in a history.
#[derive(Clone, Copy, Debug)]
pub struct VersionEntry {
    /// The interaction that made the version.
    pub change: HistoryChange,
    /// Number of the version.
    pub version: u32,
    /// `meta.lastUpdated`, milliseconds since 1970 UTC.
    pub last_updated: i64,
}

impl Bundle {
    /// Begins the answer of a search. `capacity` is a guess of the bytes of its entries, so that it grows once.
    pub fn searchset(total: u64, links: &[Link], capacity: usize) -> Bundle {
        Bundle::begin("searchset", total, links, capacity)
    }

    /// Begins the answer of a history.
    pub fn history(total: u64, links: &[Link], capacity: usize) -> Bundle {
        Bundle::begin("history", total, links, capacity)
    }

    fn begin(kind: &'static str, total: u64, links: &[Link], capacity: usize) -> Bundle {
        let links_bytes: usize = links.iter().map(|link| link.url.len() + 64).sum();
        let mut bundle = Bundle { bytes: Vec::with_capacity(128 + links_bytes + capacity), empty: true };
        bundle.raw(br#"{"resourceType":"Bundle","type":""#);
        bundle.raw(kind.as_bytes());
        bundle.raw(br#"","total":"#);
        bundle.text(total);
        for (at, link) in links.iter().enumerate() {
            bundle.raw(if at == 0 { br#","link":[{"relation":""# } else { br#",{"relation":""# });
            bundle.raw(link.relation.as_bytes());
            bundle.raw(br#"","url":"#);
            bundle.string(&link.url);
            bundle.raw(b"}");
        }
        if !links.is_empty() {
            bundle.raw(b"]");
        }
        bundle
    }

    /// Adds a found certificate. `resource` appends its JSON.
    ///
    /// # Errors
    /// Those of `resource`; the Bundle is of no use then.
    pub fn matched<E>(
        &mut self,
        about: EntryResource,
        resource: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open_entry();
        self.full_url(about);
        self.raw(br#","resource":"#);
        resource(&mut self.bytes)?;
        self.raw(br#","search":{"mode":"match"}}"#);
        Ok(())
    }

    /// Adds a found resource under its address.
    pub fn found(&mut self, full_url: &str, resource: &[u8]) {
        self.open_entry();
        self.raw(br#""fullUrl":"#);
        self.string(full_url);
        self.raw(br#","resource":"#);
        self.raw(resource);
        self.raw(br#","search":{"mode":"match"}}"#);
    }

    /// Adds an OperationOutcome with warnings about the search itself, under an address of its own. Contract 4.9.
    pub fn outcome(&mut self, full_url: &str, outcome: &[u8]) {
        self.open_entry();
        self.raw(br#""fullUrl":"#);
        self.string(full_url);
        self.raw(br#","resource":"#);
        self.raw(outcome);
        self.raw(br#","search":{"mode":"outcome"}}"#);
    }

    /// Adds a version to a history. `resource` as in [`matched`](Self::matched); it is not asked for a deletion, which has none.
    ///
    /// # Errors
    /// Those of `resource`; the Bundle is of no use then.
    pub fn version<E>(
        &mut self,
        about: EntryResource,
        entry: VersionEntry,
        resource: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open_entry();
        self.full_url(about);
        if entry.change != HistoryChange::Delete {
            self.raw(br#","resource":"#);
            resource(&mut self.bytes)?;
        }
        let (method, status) = entry.change.method_and_status();
        self.raw(br#","request":{"method":""#);
        self.raw(method.as_bytes());
        self.raw(br#"","url":""#);
        self.raw(about.kind.as_bytes());
        if entry.change != HistoryChange::Create {
            self.raw(b"/");
            self.text(about.id);
        }
        self.raw(br#""},"response":{"status":""#);
        self.raw(status.as_bytes());
        self.raw(br#"","etag":"W/\""#);
        self.text(entry.version);
        self.raw(br#"\"","lastModified":""#);
        let offset = date_time::offset_minutes(entry.last_updated);
        date_time::write_instant(&mut self.bytes, entry.last_updated, offset);
        self.raw(br#""}}"#);
        Ok(())
    }

    /// Bytes written by now.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The whole Bundle. Without entries there is no `entry` at all, as FHIR knows no empty arrays.
    pub fn finish(mut self) -> Vec<u8> {
        self.raw(if self.empty { b"}" } else { b"]}" });
        self.bytes
    }

    fn open_entry(&mut self) {
        self.raw(if self.empty { br#","entry":[{"# } else { b",{" });
        self.empty = false;
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn full_url(&mut self, about: EntryResource) {
        self.raw(br#""fullUrl":"#);
        match about.base_url {
            Some(base_url) => {
                self.string(base_url);
                // The address goes on where the text of its base ends.
                self.bytes.pop();
                self.raw(b"/");
            }
            None => self.raw(b"\""),
        }
        self.raw(about.kind.as_bytes());
        self.raw(b"/");
        self.text(about.id);
        self.raw(br#"""#);
    }

    /// Numbers: texts that need no escapes.
    fn text(&mut self, value: impl Display) {
        write!(self.bytes, "{value}").expect("writing to memory does not fail");
    }

    fn string(&mut self, text: &str) {
        json::write_string(&mut self.bytes, text);
    }
}

impl HistoryChange {
    fn method_and_status(self) -> (&'static str, &'static str) {
        match self {
            HistoryChange::Create => ("POST", "201"),
            HistoryChange::Update => ("PUT", "200"),
            HistoryChange::Delete => ("DELETE", "204"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN: EntryResource = EntryResource { kind: "Composition", id: 7, base_url: None };

    fn writes(text: &'static str) -> impl FnOnce(&mut Vec<u8>) -> Result<(), ()> {
        move |out| {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }

    fn text(bundle: Bundle) -> String {
        let bytes = bundle.finish();
        super::super::json::parse(&bytes).expect("a bundle is FHIR's JSON");
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_empty_page_has_no_entry_at_all() {
        let links = [Link { relation: "self", url: "http://a/Composition?title=%22&_page=1".into() }];
        assert_eq!(
            text(Bundle::searchset(0, &links, 0)),
            r#"{"resourceType":"Bundle","type":"searchset","total":0,"link":[{"relation":"self","url":"http://a/Composition?title=%22&_page=1"}]}"#
        );
    }

    #[test]
    fn stored_bytes_are_laid_in_untouched() {
        let mut bundle = Bundle::searchset(2, &[], 0);
        bundle.matched(SEVEN, writes(r#"{"id":"7","x":1.10}"#)).unwrap();
        bundle.outcome("urn:uuid:1", br#"{"resourceType":"OperationOutcome"}"#);
        assert_eq!(
            text(bundle),
            concat!(
                r#"{"resourceType":"Bundle","type":"searchset","total":2,"entry":["#,
                r#"{"fullUrl":"Composition/7","resource":{"id":"7","x":1.10},"search":{"mode":"match"}},"#,
                r#"{"fullUrl":"urn:uuid:1","resource":{"resourceType":"OperationOutcome"},"search":{"mode":"outcome"}}]}"#
            )
        );
    }

    #[test]
    fn a_full_url_stands_behind_the_address_of_the_server() {
        let mut bundle = Bundle::searchset(1, &[], 0);
        bundle
            .matched(EntryResource { base_url: Some("https://a\"b/fhir"), ..SEVEN }, writes("{\"id\":\"7\"}"))
            .unwrap();
        assert!(text(bundle).contains(r#"{"fullUrl":"https://a\"b/fhir/Composition/7","resource""#));
    }

    #[test]
    fn what_stops_a_resource_stops_the_bundle() {
        assert_eq!(Bundle::searchset(1, &[], 0).matched(SEVEN, |_| Err("damaged")), Err("damaged"));
    }

    #[test]
    fn a_history_names_request_and_response_and_a_deletion_has_no_resource() {
        let entry = |change, version| VersionEntry { change, version, last_updated: 0 };
        let mut bundle = Bundle::history(3, &[], 0);
        bundle.version(SEVEN, entry(HistoryChange::Delete, 3), |_| Err(())).unwrap();
        bundle.version(SEVEN, entry(HistoryChange::Update, 2), writes(r#"{"id":"7"}"#)).unwrap();
        bundle.version(SEVEN, entry(HistoryChange::Create, 1), writes(r#"{"id":"7"}"#)).unwrap();
        let instant = date_time::instant(0);
        assert_eq!(
            text(bundle),
            [
                r#"{"resourceType":"Bundle","type":"history","total":3,"entry":[{"fullUrl":"Composition/7","#,
                r#""request":{"method":"DELETE","url":"Composition/7"},"response":{"status":"204","etag":"W/\"3\"","lastModified":"@"}},"#,
                r#"{"fullUrl":"Composition/7","resource":{"id":"7"},"request":{"method":"PUT","url":"Composition/7"},"#,
                r#""response":{"status":"200","etag":"W/\"2\"","lastModified":"@"}},"#,
                r#"{"fullUrl":"Composition/7","resource":{"id":"7"},"request":{"method":"POST","url":"Composition"},"#,
                r#""response":{"status":"201","etag":"W/\"1\"","lastModified":"@"}}]}"#,
            ]
            .concat()
            .replace('@', &instant)
        );
    }
}
