//! Consent as it is read: what holds, and everything that ever held. Contract 7.6.

use super::store::StoreError;
use super::store::consent::record::StoredConsent;
use super::{Engine, actor};
use crate::ConsentRecord;
use certificate::Id;

impl Engine {
    /// Every change of a certificate's consent, newest first.
    pub fn consent_history(&self, id: Id) -> Result<Vec<ConsentRecord>, StoreError> {
        let mut changes = Vec::new();
        self.shared.store.reader()?.consent_changes(id, |number, record| {
            changes.push(read(number, &record)?);
            Ok(true)
        })?;
        Ok(changes)
    }
}

fn read(number: u32, record: &StoredConsent) -> Result<ConsentRecord, StoreError> {
    let StoredConsent { consent, version, seq, stamp, fields } = *record;
    Ok(ConsentRecord { number, seq, version, consent, stamp, who: actor::decode(fields)? })
}
