//! A change of consent: the same version, found under another class from now on. Contract 7.6.

use std::sync::Arc;

use super::super::known_time::ChangeTime;
use super::super::overlay::NewEntry;
use super::super::store::consent::record::StoredConsent;
use super::super::store::record::RecordFields;
use super::super::store::{Batch, ChangeKind, ChangeRow, StoreError};
use super::outcome::NewestVersion;
use super::{BatchNewest, Pending, SteppedWriter};
use crate::AcknowledgedChange;
use certificate::{Consent, Id};

/// What is said of a certificate, and by whom.
pub(super) struct ConsentChange<'d> {
    pub consent: Consent,
    /// Who said so, in the stored form.
    pub fields: &'d [u8],
}

impl SteppedWriter {
    /// Stores what holds from now on. The certificate is there and not deleted.
    pub(super) fn store_consent(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        now: ChangeTime,
        id: Id,
        met: NewestVersion,
        said: ConsentChange,
    ) -> Result<AcknowledgedChange, StoreError> {
        let ConsentChange { consent, fields } = said;
        let NewestVersion { effective_row, made, old } = met;
        let (version, state) = (effective_row.version, effective_row.state);
        let mut row = effective_row.row.expect("what is not deleted has a row");
        Arc::make_mut(&mut row.class).consent = consent;
        let new = self.number(batch, pending, row)?;
        let stamp = now.stamp;
        let seq = pending.position.seq.next();
        let what = ChangeKind::Consent(batch.next_consent(id)?);
        let running = pending.position.running;
        let record = StoredConsent { consent, version, seq, stamp, fields: RecordFields(fields) };
        let change = ChangeRow { seq, id, what, milliseconds: stamp.milliseconds, running };
        batch.insert_consent(change, &record)?;
        batch.keep_time(&mut pending.position, change)?;
        pending.position.seq = seq;
        pending.position.milliseconds = stamp.milliseconds;
        pending.newest.insert(id, BatchNewest { version, state, made, row: Some(new.clone()) });
        pending.entries.push(NewEntry { seq, id, version, new: Some(new), old });
        Ok(AcknowledgedChange { id, version, stamp, state, changed: true, consent })
    }
}
