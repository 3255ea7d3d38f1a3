//! Versions of closed certificates in memory, by consent and author, so that a history leaves them out without looking at each.

use std::collections::{BTreeSet, HashMap};

use super::store::version_keys::{HiddenVersions, VersionKey, VersionKeys};
use certificate::search::hidden::HiddenCertificates;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::{Consent, Seq};

/// Every version of each certificate that is closed to someone, as of one change.
pub(super) struct ClosedVersions {
    pub(super) at: Seq,
    /// By consent: all of them, and those whose newest row carries the term of an author. A version takes 16 to 32 bytes in each list, so
    /// some 50 where the certificate has one author.
    lists: HashMap<(Consent, Option<Term>), VersionKeys>,
}

impl ClosedVersions {
    /// Without any version yet, as of a change.
    pub(super) fn new(at: Seq) -> ClosedVersions {
        ClosedVersions { at, lists: HashMap::new() }
    }

    /// Adds the versions of a certificate with this row, where its consent closes it.
    pub(super) fn add(&mut self, row: &Row, keys: &[VersionKey]) {
        let consent = row.class.consent;
        if consent == Consent::default() {
            return;
        }
        for list in std::iter::once(None).chain(hands(row).map(Some)) {
            let list = self.lists.entry((consent, list)).or_default();
            keys.iter().for_each(|key| list.insert(*key));
        }
    }

    /// Takes versions of a certificate out of every list that they can be in: under any consent, and any author that it ever had.
    pub(super) fn remove(&mut self, versions: &[(VersionKey, Option<Row>)]) {
        let authors: BTreeSet<Term> = versions.iter().flat_map(|(_, row)| row.iter().flat_map(hands)).collect();
        for list in std::iter::once(None).chain(authors.into_iter().map(Some)) {
            for consent in Consent::ALL {
                let at = (consent, list.clone());
                let Some(keys) = self.lists.get_mut(&at) else { continue };
                versions.iter().for_each(|(key, _)| keys.remove(*key));
                if keys.is_empty() {
                    self.lists.remove(&at);
                }
            }
        }
    }

    /// The versions that are hidden from a caller.
    pub(super) fn hidden(&self, hidden: &HiddenCertificates) -> HiddenVersions<'_> {
        let mut versions = HiddenVersions::default();
        for consent in Consent::ALL {
            let (all, own) = (self.lists.get(&(consent, None)), self.lists.get(&(consent, Some(hidden.hand.clone()))));
            match (hidden.of_others.contains(&consent), hidden.own.contains(&consent)) {
                (true, true) => versions.of.extend(all),
                (true, false) => {
                    versions.of.extend(all);
                    versions.but.extend(own);
                }
                (false, true) => versions.of.extend(own),
                (false, false) => {}
            }
        }
        versions
    }
}

/// Terms of the authors of a row.
fn hands(row: &Row) -> impl Iterator<Item = Term> {
    let is_author = |term: &&Term| term.is_about(Field::AuthorPractitioner) && term.is_form(TermForm::Code);
    row.terms.iter().filter(is_author).cloned()
}
