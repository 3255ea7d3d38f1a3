//! What the server acknowledged, and whether it still knows.

use std::collections::{BTreeMap, BTreeSet};

use certificate::{State, Status};
use fhir::date_time;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Random;
use crate::process::Client;

/// A certificate as it was acknowledged, version by version.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub id: u64,
    pub subject: u64,
    /// From version 1.
    pub versions: Vec<Kept>,
}

#[derive(Debug)]
pub(crate) struct Kept {
    pub state: State,
    /// As the server showed it; empty for a tombstone.
    pub bytes: Vec<u8>,
}

impl Certificate {
    pub(crate) fn state(&self) -> State {
        self.versions.last().expect("a certificate has a version").state
    }
}

/// A request whose answer never came: it was done, or it was not.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// None for a create.
    pub id: Option<u64>,
    pub subject: u64,
    pub to: State,
    /// A word that only this request's version holds; a tombstone holds none.
    pub mark: String,
}

/// The certificates of one writer in one round.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub certificates: Vec<Certificate>,
    pub doubt: Option<Doubt>,
    /// Place and version of everything acknowledged in this round.
    pub acknowledged: Vec<(usize, usize)>,
}

/// Everything acknowledged so far.
#[derive(Debug, Default)]
pub(crate) struct Book {
    certificates: BTreeMap<u64, Certificate>,
    /// Id and version of everything acknowledged since the last check.
    fresh: BTreeSet<(u64, usize)>,
    doubts: Vec<Doubt>,
    /// Versions in the store at the last check.
    checked: u64,
}

#[derive(Deserialize)]
struct Bundle<'a> {
    total: u64,
    #[serde(borrow, default)]
    entry: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    full_url: &'a str,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    response: Option<ResponseElement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseElement {
    etag: String,
    last_modified: String,
}

impl Entry<'_> {
    fn id(&self) -> u64 {
        let id = self.full_url.rsplit_once("Composition/").and_then(|(_, id)| id.parse().ok());
        id.expect("fullUrl names a certificate")
    }

    fn response(&self) -> &ResponseElement {
        self.response.as_ref().expect("an entry of a history has a response")
    }

    fn version(&self) -> usize {
        let number = self.response().etag.strip_prefix("W/\"").and_then(|rest| rest.strip_suffix('"'));
        number.and_then(|number| number.parse().ok()).expect("the tag holds a version")
    }

    fn bytes(&self) -> &[u8] {
        self.resource.map_or(b"", |resource| resource.get().as_bytes())
    }
}

fn bundle(body: &[u8]) -> Bundle<'_> {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

/// Certificates of earlier rounds that are looked at again after each.
const SAMPLE: usize = 60;

impl Book {
    pub(crate) fn certificates(&self) -> usize {
        self.certificates.len()
    }

    pub(crate) fn versions(&self) -> u64 {
        self.certificates.values().map(|certificate| certificate.versions.len() as u64).sum()
    }

    /// Hands a writer its share, so that no two change the same certificate.
    pub(crate) fn take_part(&mut self, number: usize, of: usize) -> Part {
        let ids: Vec<u64> = self.certificates.keys().copied().filter(|id| *id as usize % of == number).collect();
        let certificates = ids.iter().map(|id| self.certificates.remove(id).expect("the id is one of the keys"));
        Part { certificates: certificates.collect(), ..Part::default() }
    }

    /// Takes back what a writer has come to.
    pub(crate) fn put_back(&mut self, part: Part) {
        self.doubts.extend(part.doubt);
        let id = |place: usize| part.certificates[place].id;
        self.fresh.extend(part.acknowledged.iter().map(|(place, version)| (id(*place), *version)));
        for certificate in part.certificates {
            let id = certificate.id;
            assert!(self.certificates.insert(id, certificate).is_none(), "id {id} was given twice");
        }
    }

    /// Compares with a server that was started after a crash: the newest changes one by one, and a sample of the rest.
    pub(crate) fn check(&mut self, client: &mut Client, random: &mut Random) {
        let mut ids = self.check_changes(client);
        let all: Vec<u64> = self.certificates.keys().copied().collect();
        ids.extend((0..SAMPLE.min(all.len())).map(|_| all[random.below(all.len() as u64) as usize]));
        self.check_certificates(client, &ids);
        self.check_totals(client);
    }

    /// Compares everything.
    pub(crate) fn check_all(&self, client: &mut Client) {
        let ids: BTreeSet<u64> = self.certificates.keys().copied().collect();
        self.check_certificates(client, &ids);
        self.check_totals(client);
        self.check_walk(client);
        let mut seen = 0;
        let mut page = 1;
        while seen < self.versions() {
            let answer = client.get(&format!("/Composition/_history?_count=100&_page={page}"));
            let history = bundle(&answer.body);
            assert_eq!(history.total, self.versions());
            for entry in &history.entry {
                let kept = &self.certificates[&entry.id()].versions[entry.version() - 1];
                assert_eq!(text(entry.bytes()), text(&kept.bytes));
            }
            assert!(!history.entry.is_empty(), "page {page} of the history is empty");
            seen += history.entry.len() as u64;
            page += 1;
        }
    }

    /// The history of the store since the last check must hold what was acknowledged, besides it only what is in doubt, and
    /// nothing twice. Tells whose certificates it is.
    fn check_changes(&mut self, client: &mut Client) -> BTreeSet<u64> {
        let mut fresh = std::mem::take(&mut self.fresh);
        let mut doubts = std::mem::take(&mut self.doubts);
        let mut ids: BTreeSet<u64> = fresh.iter().map(|(id, _)| *id).collect();
        let mut adopted = Vec::new();
        let mut newer = i64::MAX;
        let (mut left, mut page, mut total) = (u64::MAX, 1, 0);
        while left > 0 {
            let answer = client.get(&format!("/Composition/_history?_count=100&_page={page}"));
            assert_eq!(answer.status, 200, "{}", answer.text());
            let history = bundle(&answer.body);
            if page == 1 {
                total = history.total;
                left = total.checked_sub(self.checked).expect("no version disappears");
            }
            assert_eq!(history.total, total, "nobody writes while the book is checked");
            assert!(left == 0 || !history.entry.is_empty(), "page {page} is empty, {left} of {total} are missing");
            for entry in history.entry.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                let (id, version) = (entry.id(), entry.version());
                let time = date_time::span(&entry.response().last_modified).expect("lastModified is an instant").low;
                assert!(newer >= time, "times of the history fall at version {version} of {id}");
                newer = time;
                left -= 1;
                if !fresh.remove(&(id, version)) {
                    let place = doubts.iter().position(|doubt| doubt.explains(id, entry.bytes()));
                    let place = place.unwrap_or_else(|| panic!("nobody asked for version {version} of {id}"));
                    adopted.push((id, version, doubts.swap_remove(place), entry.bytes().to_vec()));
                }
            }
            page += 1;
        }
        assert!(fresh.is_empty(), "acknowledged and lost: {}, the first {:?}", fresh.len(), fresh.first());
        for (id, version, doubt, bytes) in adopted {
            let new = || Certificate { id, subject: doubt.subject, versions: Vec::new() };
            let certificate = self.certificates.entry(id).or_insert_with(new);
            assert_eq!(version, certificate.versions.len() + 1, "a version of {id} without the one before it");
            certificate.versions.push(Kept { state: doubt.to, bytes });
            ids.insert(id);
        }
        self.checked = total;
        assert_eq!(total, self.versions(), "versions in the store and in the book");
        ids
    }

    /// Each certificate by its history, by a read of its newest version and of one of all its versions; and each patient's
    /// certificates by a search.
    fn check_certificates(&self, client: &mut Client, ids: &BTreeSet<u64>) {
        let mut subjects = BTreeSet::new();
        for certificate in ids.iter().map(|id| &self.certificates[id]) {
            let Certificate { id, subject, versions } = certificate;
            subjects.insert(*subject);
            let answer = client.get(&format!("/Composition/{id}/_history?_count=100"));
            let history = bundle(&answer.body);
            assert_eq!(history.total, versions.len() as u64, "versions of {id}");
            let numbers: Vec<usize> = history.entry.iter().map(Entry::version).collect();
            assert_eq!(numbers, (1..=versions.len()).rev().collect::<Vec<_>>(), "history of {id}");
            for (entry, kept) in history.entry.iter().zip(versions.iter().rev()) {
                assert_eq!(text(entry.bytes()), text(&kept.bytes));
            }
            let version = 1 + *id as usize % versions.len();
            check_read(client, &format!("/Composition/{id}/_history/{version}"), &versions[version - 1]);
            check_read(client, &format!("/Composition/{id}"), &versions[versions.len() - 1]);
        }
        for subject in subjects {
            self.check_subject(client, subject);
        }
    }

    fn check_subject(&self, client: &mut Client, subject: u64) {
        let expected: Vec<&Certificate> = self.alive().filter(|certificate| certificate.subject == subject).collect();
        let answer = client.get(&format!("/Composition?subject=Patient/{subject}&_sort=_id&_count=100"));
        let found = bundle(&answer.body);
        assert_eq!(found.total, expected.len() as u64, "certificates of Patient/{subject}");
        let ids = |found: &[u64]| found.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let found_ids: Vec<u64> = found.entry.iter().map(Entry::id).collect();
        let expected_ids: Vec<u64> = expected.iter().map(|certificate| certificate.id).take(100).collect();
        assert_eq!(ids(&found_ids), ids(&expected_ids), "certificates of Patient/{subject}");
        for (entry, certificate) in found.entry.iter().zip(expected) {
            let newest = certificate.versions.last().expect("a certificate has a version");
            assert_eq!(text(entry.bytes()), text(&newest.bytes));
        }
    }

    fn check_totals(&self, client: &mut Client) {
        let total =
            |client: &mut Client, query: &str| bundle(&client.get(&format!("/Composition?{query}_count=0")).body).total;
        for status in Status::ALL {
            let expected = self.alive().filter(|certificate| certificate.state().status() == status).count();
            assert_eq!(total(client, &format!("status={}&", status.code())), expected as u64, "{}", status.code());
        }
        assert_eq!(total(client, ""), self.alive().count() as u64);
    }

    /// All pages of a search for everything.
    fn check_walk(&self, client: &mut Client) {
        let mut found = Vec::new();
        loop {
            let page = found.len() / 100 + 1;
            let answer = client.get(&format!("/Composition?_sort=_id&_count=100&_page={page}"));
            let part = bundle(&answer.body);
            found.extend(part.entry.iter().map(Entry::id));
            if part.entry.is_empty() || !found.len().is_multiple_of(100) {
                break;
            }
        }
        let expected: Vec<u64> = self.alive().map(|certificate| certificate.id).collect();
        assert!(found == expected, "{} certificates found, {} expected", found.len(), expected.len());
    }

    fn alive(&self) -> impl Iterator<Item = &Certificate> {
        self.certificates.values().filter(|certificate| certificate.state() != State::Deleted)
    }
}

fn check_read(client: &mut Client, path: &str, kept: &Kept) {
    let answer = client.get(path);
    if kept.state == State::Deleted {
        assert_eq!(answer.status, 410, "{path}");
    } else {
        assert_eq!((answer.status, answer.text()), (200, text(&kept.bytes)), "{path}");
    }
}

impl Doubt {
    /// Whether a version may be what this request asked for.
    fn explains(&self, id: u64, bytes: &[u8]) -> bool {
        let same_id = self.id.is_none_or(|own| own == id);
        same_id && bytes.is_empty() == (self.to == State::Deleted) && text(bytes).contains(&self.mark)
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("certificates are UTF-8")
}
