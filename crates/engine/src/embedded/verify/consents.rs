//! Every change of consent, and what holds beside the newest of them.

use super::super::store::consent::record::StoredConsent;
use super::super::store::{ChangeKind, ChangeRow, Records, StoreError, StoreReader};
use super::StoreCheck;
use certificate::{Consent, Id};

impl StoreCheck<'_> {
    /// Walks over all changes of consent, then over what holds.
    pub(super) fn consents(&mut self) -> Result<(), StoreError> {
        let of = self.reader()?.record_count(Records::Consent)?;
        let (mut last, mut done) = ((0, 0), 0);
        self.records(Records::Consent, "consent", of, |check, reader, key, bytes| {
            done += 1;
            let before = std::mem::replace(&mut last, key);
            if key.0 != before.0 && before.0 != 0 {
                check.holds(reader, before.0)?;
            }
            let expected = if key.0 == before.0 { before.1 + 1 } else { 1 };
            check.consent(reader, key, expected, bytes)
        })?;
        let reader = self.reader()?;
        if last.0 != 0 {
            self.holds(&reader, last.0)?;
        }
        self.found.counts().consents = done;
        for (id, _) in reader.bare_closed()? {
            let has_history = Id::new(id).map_or(Ok(false), |id| has_history(&reader, id))?;
            if !has_history {
                self.found.tell("consent_closed", &format!("Composition/{id} is closed, and nobody said so"));
            }
        }
        Ok(())
    }

    fn consent(
        &mut self,
        reader: &StoreReader,
        key: (u64, u32),
        expected: u32,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let (number, what) = (key.1, format!("change {} of the consent of Composition/{}", key.1, key.0));
        let Some(id) = Id::new(key.0) else {
            self.found.tell("consent", "a certificate has id 0");
            return Ok(());
        };
        if number != expected {
            self.found.tell("consent", &format!("{what} stands where change {expected} belongs"));
        }
        let record = match StoredConsent::read(id, number, bytes) {
            Ok(record) => record,
            Err(error) => {
                self.found.tell("consent", &error.to_string());
                return Ok(());
            }
        };
        let (seq, milliseconds) = (record.seq, record.stamp.milliseconds);
        let row = ChangeRow { seq, id, what: ChangeKind::Consent(number), milliseconds, running: 0 };
        if !self.is_logged(reader, row)? {
            self.found.tell("consent", &format!("{what} has change {seq}, which is not its own"));
        }
        if reader.version(id, record.version, |_| ())?.is_none() {
            self.found.tell("consent", &format!("{what} names version {}, which is missing", record.version));
        }
        Ok(())
    }

    /// What holds for a certificate is what was said last.
    fn holds(&mut self, reader: &StoreReader, id: u64) -> Result<(), StoreError> {
        let Some(id) = Id::new(id) else { return Ok(()) };
        let mut said = None;
        let read = reader.consent_changes(id, |_, record| {
            said = Some(record.consent);
            Ok(false)
        });
        if read.is_err() {
            // It was told where the record itself was looked at.
            return Ok(());
        }
        let holds: Result<Consent, StoreError> = reader.consent(id);
        match (said, holds) {
            (Some(said), Ok(holds)) if said == holds => {}
            (_, Err(error)) => self.found.tell("consent_closed", &error.to_string()),
            (_, Ok(_)) => {
                self.found.tell("consent_closed", &format!("Composition/{id} has another consent than was said last"));
            }
        }
        Ok(())
    }
}

fn has_history(reader: &StoreReader, id: Id) -> Result<bool, StoreError> {
    let mut has_one = false;
    match reader.consent_changes(id, |_, _| {
        has_one = true;
        Ok(false)
    }) {
        // One that is not readable is one all the same.
        Ok(()) => Ok(has_one),
        Err(StoreError::Damaged(_)) => Ok(true),
        Err(error) => Err(error),
    }
}
