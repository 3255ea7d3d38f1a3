//! A change of consent: the same version, found under another class from now on. Contract 7.6.

use std::sync::Arc;

use super::super::known_time::Now;
use super::super::overlay::NewEntry;
use super::super::store::consent::record::Record;
use super::super::store::record::Fields;
use super::super::store::{Batch, Change, Error, What};
use super::decided::{By, Met};
use super::{Newest, Pending, Writer};
use crate::{Action, Committed, Written};
use certificate::{Consent, Id};

/// What is said of a certificate, and by whom.
pub(super) struct Said<'d> {
    pub consent: Consent,
    /// Who said so, in the stored form.
    pub fields: &'d [u8],
    pub by: By,
}

impl Writer {
    /// Stores what holds from now on. The certificate is there and not deleted.
    pub(super) fn store_consent(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        now: Now,
        id: Id,
        met: Met,
        said: Said,
    ) -> Result<Written, Error> {
        let Said { consent, fields, by } = said;
        let Met { standing, made, old } = met;
        let (version, state) = (standing.version, standing.state);
        let mut row = standing.row.expect("what is not deleted has a row");
        Arc::make_mut(&mut row.class).consent = consent;
        let new = self.number(batch, pending, row)?;
        let Now { at, stamp, .. } = now;
        let seq = pending.position.seq.next();
        let what = What::Consent(batch.next_consent(id)?);
        let running = pending.position.running;
        let record = Record { consent, version, seq, stamp, fields: Fields(fields) };
        let change = Change { seq, id, what, milliseconds: stamp.milliseconds, running };
        batch.insert_consent(change, &record)?;
        batch.keep_time(&mut pending.position, change)?;
        pending.position.seq = seq;
        pending.position.milliseconds = stamp.milliseconds;
        pending.newest.insert(id, Newest { version, state, made, row: Some(new.clone()) });
        pending.entries.push(NewEntry { seq, id, version, new: Some(new), old });
        if self.shared.witness.is_some() {
            let By { who, patient, .. } = by;
            let action = Action::Consent;
            let consent = Some(consent);
            pending.told.push(Committed { seq, id, version, state, at, action, consent, who, patient });
        }
        Ok(Written { id, version, stamp, state, changed: true, consent })
    }
}
