//! What an archive is: its first member, `hcert-backup.json`; and its manifest, the last.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use crate::audit::ChainHead;
#[cfg(test)]
use engine::EntryHash;
use engine::limits::COPY_NEXT_ID_MAX;
use engine::{FolderNames, FolderPurpose, PieceForm, StoreChain, StoredTime};

/// Number of the form of archives. One with a higher number is refused.
pub const ARCHIVE_FORMAT: u32 = 5;

/// From this form on, archives hold the store's time.
const FORMAT_WITH_TIME: u32 = 2;

/// From this form on, archives name the hashes of entries.
const FORMAT_WITH_CHAIN: u32 = 5;

/// What an archive holds, and of which store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArchiveManifest {
    pub format: u32,
    /// Of hcert, such as `0.1.0`.
    pub release: String,
    pub store: String,
    pub epoch: String,
    /// What stored data hold: setting and value.
    pub names: BTreeMap<String, String>,
    /// The moment it was taken at, milliseconds since 1970 UTC.
    pub at: i64,
    /// It holds the changes behind this one; 0 for a full archive.
    pub after: u64,
    /// The last change that it holds.
    pub until: u64,
    /// As `after` and `until`, of the register: versions of patients, and from form 5 on code lists and marks.
    pub patients_after: u64,
    pub patients_until: u64,
    /// Ids from these on were free.
    pub next_id: u64,
    pub next_patient_id: u64,
    /// What the store keeps of its time at that moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<StoredTime>,
    /// Which command the data folder belongs to, where one has served it; from form 3 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<FolderPurpose>,
    /// What the store knew of the end of the audit trail, where it knew any; from form 4 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_head: Option<String>,
    /// Which change the last one is; in form 4 alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<String>,
    /// How far the chains went where it begins; from form 5 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_after: Option<StoreChain>,
    /// How far they went where it ends; from form 5 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<StoreChain>,
    /// Digest of the recipients that it is encrypted to, in their order by letters; none for a plain archive. From form 4 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<Digest>,
    /// It holds the files of the audit trail behind this one.
    pub audit_after: u64,
    /// The file of the trail up to which none changes any more.
    pub audit_until: u64,
    /// Digest of the manifest of the archive that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Digest>,
}

/// The archive that an incremental one goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Base {
    pub about: ArchiveManifest,
    /// Of its manifest.
    pub digest: Digest,
}

impl ArchiveManifest {
    /// The form and release that this program writes.
    pub fn written() -> (u32, String) {
        (ARCHIVE_FORMAT, env!("CARGO_PKG_VERSION").to_owned())
    }

    /// Reads the first member.
    ///
    /// # Errors
    /// It was written by a later release, or is not what one writes.
    pub fn read(bytes: &[u8]) -> Result<ArchiveManifest, String> {
        #[derive(Deserialize)]
        struct ArchiveForm {
            format: u32,
            release: String,
        }
        let form: ArchiveForm = serde_json::from_slice(bytes).map_err(|_| "it is no archive of hcert")?;
        if form.format > ARCHIVE_FORMAT {
            let ArchiveForm { format, release } = form;
            return Err(format!(
                "it was written by release {release} in form {format}, and this release knows forms up to {ARCHIVE_FORMAT}"
            ));
        }
        let mut about: ArchiveManifest =
            serde_json::from_slice(bytes).map_err(|error| format!("its head is damaged: {error}"))?;
        for (name, value) in FolderNames::UNRECORDED {
            about.names.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        match about.is_possible() {
            true => Ok(about),
            false => Err("its head makes no sense".to_owned()),
        }
    }

    fn is_possible(&self) -> bool {
        let is_full = self.after == 0 && self.patients_after == 0 && self.audit_after == 0;
        // Whoever counts on from them comes to no end of numbers.
        let numbers = [self.until, self.patients_until, self.next_id, self.next_patient_id, self.audit_until];
        let is_counted = numbers.iter().all(|number| i64::try_from(*number).is_ok());
        // Whatever is restored must have ids to give.
        let has_ids = [self.next_id, self.next_patient_id].iter().all(|next| *next <= COPY_NEXT_ID_MAX);
        // Stores and epochs are told apart by them, and a check of a store wants their form.
        let is_uuid = |text: &str| text.len() == 36 && uuid::Uuid::try_parse(text).is_ok();
        let is_named = is_uuid(&self.store) && is_uuid(&self.epoch);
        let is_ordered = self.after <= self.until && self.patients_after <= self.patients_until;
        let is_bound = self.base.is_some() || is_full;
        let has_time = self.time.is_some() == (self.format >= FORMAT_WITH_TIME);
        let has_chain =
            [self.chain_after, self.chain].iter().all(|chain| chain.is_some() == (self.format >= FORMAT_WITH_CHAIN));
        let has_head = self.audit_head.as_deref().is_none_or(|head| ChainHead::parse(head).is_some());
        let resets = self.time.iter().flat_map(|time| &time.resets).map(|reset| reset.change).chain([self.until]);
        is_counted
            && has_ids
            && is_named
            && is_ordered
            && is_bound
            && has_time
            && has_chain
            && has_head
            && self.at >= 0
            && resets.is_sorted()
    }

    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are JSON")
    }

    /// How the pieces of its logs are laid out.
    pub fn pieces(&self) -> PieceForm {
        if self.format >= FORMAT_WITH_CHAIN { PieceForm::Present } else { PieceForm::Former }
    }

    /// Seconds since 1970 UTC, as the blocks of the archive say them.
    pub fn seconds(&self) -> u64 {
        u64::try_from(self.at).unwrap_or(0) / 1_000
    }

    /// What the store knew of the end of the trail.
    pub(super) fn known_head(&self) -> Option<ChainHead> {
        self.audit_head.as_deref().and_then(ChainHead::parse)
    }

    pub fn is_full(&self) -> bool {
        self.base.is_none()
    }
}

/// The last member: what stands before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Manifest {
    /// In their order.
    pub members: Vec<ManifestLine>,
    /// Of all members before.
    pub bytes: u64,
    pub changes: u64,
    pub patients: u64,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ManifestLine {
    pub name: String,
    pub bytes: u64,
    pub sha256: Digest,
}

impl Manifest {
    pub(super) fn of(about: &ArchiveManifest, members: Vec<ManifestLine>) -> Manifest {
        let bytes = members.iter().map(|member| member.bytes).sum();
        let (changes, patients) = (about.until - about.after, about.patients_until - about.patients_after);
        Manifest { members, bytes, changes, patients }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are JSON")
    }
}

#[cfg(test)]
fn chain(at: u64) -> StoreChain {
    let hash = |number: u64| EntryHash::parse(&format!("{number:064x}")).expect("64 digits");
    StoreChain { origin: hash(0), changes: hash(at), register: hash(at) }
}

#[cfg(test)]
pub(super) fn sample() -> ArchiveManifest {
    let (format, release) = ArchiveManifest::written();
    ArchiveManifest {
        format,
        release,
        store: "0b1f6f0e-5a51-4f1e-9a3e-6c7a2f1d0c01".into(),
        epoch: "0b1f6f0e-5a51-4f1e-9a3e-6c7a2f1d0c02".into(),
        names: [("hcert_ns", "https://fhir.ee/hcert"), ("person_identifier_base", "https://example.ee/sid")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        at: 1_793_000_000_123,
        after: 0,
        until: 7,
        patients_after: 0,
        patients_until: 2,
        next_id: 5,
        next_patient_id: 3,
        time: Some(StoredTime { newest: Some(1_793_000_000_000), accepted: None, resets: vec![] }),
        purpose: Some(FolderPurpose::Service),
        audit_head: Some(format!("7:{}", "0f".repeat(32))),
        last_change: None,
        chain_after: Some(chain(0)),
        chain: Some(chain(7)),
        recipients: Some(Digest::of(b"age1")),
        audit_after: 0,
        audit_until: 0,
        base: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ClockReset;

    #[test]
    fn an_archive_from_before_a_name_was_a_setting_has_its_default() {
        let mut about = sample();
        let [(name, default)] = FolderNames::UNRECORDED;
        assert_ne!(about.names.remove(name).unwrap(), default);
        assert_eq!(ArchiveManifest::read(&about.write()).unwrap().names[name], default);
    }

    #[test]
    fn what_an_archive_is_comes_back_and_a_later_form_is_told_as_such() {
        let about = sample();
        assert_eq!(ArchiveManifest::read(&about.write()), Ok(about.clone()));
        let later = String::from_utf8(about.write()).unwrap().replace("\"format\": 5", "\"format\": 6, \"new\": 1");
        assert!(ArchiveManifest::read(later.as_bytes()).unwrap_err().contains("form 6"));
        let reset = |change| ClockReset { change, at: 0 };
        let odd = [
            ArchiveManifest { after: 8, ..about.clone() },
            ArchiveManifest { after: 1, ..about.clone() },
            ArchiveManifest { patients_after: 3, base: Some(Digest::of(b"")), ..about.clone() },
            ArchiveManifest { audit_after: 1, ..about.clone() },
            ArchiveManifest { next_id: u64::MAX, ..about.clone() },
            ArchiveManifest { next_id: COPY_NEXT_ID_MAX + 1, ..about.clone() },
            ArchiveManifest { next_patient_id: COPY_NEXT_ID_MAX + 1, ..about.clone() },
            ArchiveManifest { store: "../..".into(), ..about.clone() },
            ArchiveManifest { epoch: String::new(), ..about.clone() },
            ArchiveManifest { audit_until: 1 << 63, ..about.clone() },
            ArchiveManifest { time: None, ..about.clone() },
            ArchiveManifest { chain: None, ..about.clone() },
            ArchiveManifest { chain_after: None, ..about.clone() },
            ArchiveManifest { format: 4, ..about.clone() },
            ArchiveManifest { audit_head: Some("7".into()), ..about.clone() },
            ArchiveManifest { format: 1, ..about.clone() },
            ArchiveManifest {
                time: Some(StoredTime { resets: vec![reset(8)], ..StoredTime::default() }),
                ..about.clone()
            },
            ArchiveManifest {
                time: Some(StoredTime { resets: vec![reset(2), reset(1)], ..StoredTime::default() }),
                ..about.clone()
            },
            ArchiveManifest { at: -1, ..about },
        ];
        for odd in odd {
            assert!(ArchiveManifest::read(&odd.write()).unwrap_err().contains("no sense"), "{odd:?}");
        }
        assert!(ArchiveManifest::read(b"{}").unwrap_err().contains("no archive"));
    }
}
