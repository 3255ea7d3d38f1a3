//! One write: judged by what is stored, stamped, and put into the batch.

use std::cmp::Ordering;
use std::sync::Arc;

use super::consent::ConsentChange;
use super::outcome::{NewVersion, NewestVersion, NextVersionTime, WriteOutcome};
use super::{BatchNewest, Pending, SteppedWriter, VersionTime};
use crate::EffectiveRow;
use crate::decide::{VersionDecision, judge};
use crate::embedded::classes::{self, Classes};
use crate::embedded::known_time::ChangeTime;
use crate::embedded::overlay::{NewEntry, NumberedRow};
use crate::embedded::store::record::{EntryDraft, VersionRecord};
use crate::embedded::store::row::lay;
use crate::embedded::store::{Batch, ChangeKind, ChangeRow, StoreError};
use crate::embedded::view::numbered;
use crate::limits::{CLASSES_MAX, ID_MAX};
use crate::{AcknowledgedChange, RefusedChange, Write};
use certificate::search::filter::Filter;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::{Id, Stamp, State, Version};
use fhir::outcome::{Hcert, Issue, Outcome};

impl SteppedWriter {
    /// Judges and stores one write. The error is a failure of the store.
    pub(super) fn one(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        write: Write,
        draft: &EntryDraft,
        has_waited: bool,
    ) -> Result<WriteOutcome, StoreError> {
        let (id, met) = match &write {
            Write::Create { .. } => (pending.position.next_id, None),
            Write::Update { id, .. } | Write::Delete { id, .. } | Write::Consent { id, .. } => {
                (*id, self.current(batch, pending, *id)?)
            }
        };
        let decision = match judge(&write, met.as_ref().map(|met| &met.effective_row)) {
            Ok(decision) => decision,
            Err(refused) => return Ok(WriteOutcome::Now(Err(refused))),
        };
        let mut now = None;
        if let (VersionDecision::Store(_), Some(NewestVersion { made, .. })) = (decision, &met) {
            now = match self.after(pending, *made, has_waited) {
                NextVersionTime::At(now) => Some(now),
                NextVersionTime::Wait => return Ok(WriteOutcome::Later(Box::new(write))),
                NextVersionTime::Never(refused) => return Ok(WriteOutcome::Now(Err(refused))),
            };
        }
        self.store_decided(batch, pending, now, (id, met, decision), write, draft).map(WriteOutcome::Now)
    }

    /// When the next version of a certificate can be made: strictly later than the one before it. Contract 2.8.
    fn after(&self, pending: &Pending, made: VersionTime, has_waited: bool) -> NextVersionTime {
        let now = match self.shared.now(pending.position.milliseconds) {
            Ok(now) => now,
            Err(problem) => return NextVersionTime::Never(RefusedChange::Clock(problem)),
        };
        let stamp = now.stamp.milliseconds;
        let is_before_reset = pending.position.reset.is_some_and(|reset| made.seq.0 <= reset.change);
        match made.milliseconds.cmp(&stamp) {
            _ if is_before_reset => NextVersionTime::At(now),
            Ordering::Less => NextVersionTime::At(now),
            // A clock that goes on has left this millisecond when the next batch begins. Where it stands, or is behind the newest time
            // stamp, time goes on by a millisecond a batch, which is slower than a clock. Decision 193.
            Ordering::Equal if has_waited && made.seq <= self.position.seq => {
                NextVersionTime::At(ChangeTime { stamp: Stamp::at(stamp.saturating_add(1)), ..now })
            }
            Ordering::Equal => NextVersionTime::Wait,
            // It was imported.
            Ordering::Greater => {
                let seconds = made.milliseconds.saturating_sub(stamp).saturating_add(999) / 1_000;
                NextVersionTime::Never(
                    Outcome::from(Issue::new(Hcert::VersionAhead).with("seconds", seconds.to_string())).into(),
                )
            }
        }
    }

    /// Stores a write that the rules allow. The time is there where it had to be looked at before.
    fn store_decided(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        now: Option<ChangeTime>,
        (id, met, decision): (Id, Option<NewestVersion>, VersionDecision),
        write: Write,
        draft: &EntryDraft,
    ) -> Result<Result<AcknowledgedChange, RefusedChange>, StoreError> {
        let (current, made, old) = match met {
            Some(NewestVersion { effective_row, made, old }) => (Some(effective_row), Some(made), old),
            None => (None, None, None),
        };
        let state = match decision {
            VersionDecision::Store(state) => state,
            VersionDecision::Nothing => {
                let current = current.expect("only a stored certificate can be as it should be already");
                return Ok(Ok(self.unchanged(batch, id, current.version)?));
            }
            VersionDecision::Consent(consent) => {
                let current = current.expect("only a stored certificate has a consent to change");
                let said = ConsentChange { consent, fields: &draft.fields };
                let now = match self.shared.now(pending.position.milliseconds) {
                    Ok(now) => now,
                    Err(problem) => return Ok(Err(RefusedChange::Clock(problem))),
                };
                let made = made.expect("what is stored was made");
                let met = NewestVersion { effective_row: current, made, old };
                let written = self.store_consent(batch, pending, now, id, met, said)?;
                return Ok(Ok(written));
            }
        };
        if let Write::Create { if_none_exist: Some(term), rows, .. } = &write {
            match self.with_term(pending, term, rows.as_deref()) {
                Err(refused) => return Ok(Err(refused)),
                Ok(found) => match found.as_slice() {
                    [] => {}
                    [(id, version)] => {
                        return Ok(Ok(self.unchanged(batch, *id, *version)?));
                    }
                    _ => return Ok(Err(Outcome::from(Hcert::MultipleMatches).into())),
                },
            }
        }
        let row = match write {
            Write::Create { content, .. } | Write::Update { content, .. } => Some(content.row),
            Write::Delete { .. } | Write::Consent { .. } => None,
        };
        if let Some(row) = &row
            && self.shared.unique_number
            && let Err(refused) = check_number(Some(id), row, |number| self.with_term(pending, number, None))
        {
            return Ok(Err(refused));
        }
        if row.as_ref().is_some_and(|row| !self.has_room_for(pending, row)) {
            return Ok(Err(Outcome::from(classes_full()).into()));
        }
        if id.get() > ID_MAX {
            return Ok(Err(Outcome::from(Hcert::IdsUsedUp).into()));
        }
        let version = current.map_or(Version::FIRST, |current| current.version.next());
        let ChangeTime { at, stamp, is_accepted } =
            match now.map_or_else(|| self.shared.now(pending.position.milliseconds), Ok) {
                Ok(now) => now,
                Err(problem) => return Ok(Err(RefusedChange::Clock(problem))),
            };
        // The newest time stamp goes on, though the clock is behind it.
        if is_accepted && stamp.milliseconds > pending.position.milliseconds {
            pending.accepted = Some(stamp.milliseconds);
        }
        let consent = old.as_ref().map(|old| old.row.class.consent).unwrap_or_default();
        self.store(batch, pending, NewVersion { id, version, at, stamp, state, row, old, is_imported: false }, draft)?;
        Ok(Ok(AcknowledgedChange { id, version, stamp, state, changed: true, consent }))
    }

    /// Inserts a version and moves the pending position on.
    pub(super) fn store(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        step: NewVersion,
        draft: &EntryDraft,
    ) -> Result<(), StoreError> {
        let NewVersion { id, version, at, stamp, state, row, old, is_imported } = step;
        let new = match row {
            Some(mut row) => {
                row.last_updated = stamp.milliseconds;
                // A new version leaves the consent as it is.
                lay(&mut row, old.as_ref().map(|old| old.row.class.consent).unwrap_or_default());
                Some(self.number(batch, pending, row)?)
            }
            None => None,
        };
        let seq = pending.position.seq.next();
        let running = pending.position.running + 1;
        let change =
            ChangeRow { seq, id, what: ChangeKind::Version(version), milliseconds: stamp.milliseconds, running };
        batch.insert(change, draft, stamp);
        let position = &mut pending.position;
        batch.keep_time(position, change)?;
        position.seq = seq;
        position.running = running;
        // An imported version may be ahead of the clock; no change of this store gets such a time because of it.
        if !is_imported || stamp.milliseconds <= at {
            position.milliseconds = position.milliseconds.max(stamp.milliseconds);
        }
        position.next_id = position.next_id.max(id.next());
        let made = VersionTime { seq, milliseconds: stamp.milliseconds };
        pending.newest.insert(id, BatchNewest { version, state, made, row: new.clone().or_else(|| old.clone()) });
        pending.entries.push(NewEntry { seq, id, version, new, old });
        Ok(())
    }

    /// The newest version of a certificate, earlier jobs of the batch included, and its row for the overlay.
    pub(super) fn current(
        &self,
        batch: &mut Batch,
        pending: &Pending,
        id: Id,
    ) -> Result<Option<NewestVersion>, StoreError> {
        if let Some(BatchNewest { version, state, made, row }) = pending.newest.get(&id) {
            let (version, state, made) = (*version, *state, *made);
            let effective_row = EffectiveRow { version, state, row: row.as_ref().map(|numbered| numbered.row.clone()) };
            return Ok(Some(NewestVersion {
                effective_row,
                made,
                old: row.clone().filter(|_| state != State::Deleted),
            }));
        }
        let found = batch.newest(id, |version, bytes| -> Result<_, StoreError> {
            let record = VersionRecord::read(bytes)?;
            let made = VersionTime { seq: record.seq, milliseconds: record.stamp.milliseconds };
            Ok((version, record.state, made, self.shared.row(&record)?))
        })?;
        let Some((version, state, made, mut row)) = found.transpose()? else { return Ok(None) };
        if state == State::Deleted
            && let Some(before) = version.before()
        {
            let deleted = batch.version(id, before, |bytes| self.shared.row(&VersionRecord::read(bytes)?))?;
            row = deleted.transpose()?.flatten();
        }
        if let Some(row) = &mut row {
            lay(row, batch.consent(id)?);
        }
        let old = match &row {
            Some(row) if state != State::Deleted => {
                let classes = self.shared.publishing().classes.clone();
                Some(numbered(&classes, row.clone()).ok_or_else(unknown_class)?)
            }
            _ => None,
        };
        Ok(Some(NewestVersion { effective_row: EffectiveRow { version, state, row }, made, old }))
    }

    /// Whether the row's class is known or may become so.
    pub(super) fn has_room_for(&self, pending: &Pending, row: &Row) -> bool {
        match &pending.classes {
            Some(classes) => classes.has_room_for(&row.class),
            None => self.shared.publishing().classes.has_room_for(&row.class),
        }
    }

    /// Gives the row's class its number, a new one where it has none.
    pub(super) fn number(
        &self,
        batch: &mut Batch,
        pending: &mut Pending,
        mut row: Row,
    ) -> Result<Arc<NumberedRow>, StoreError> {
        let known = match &pending.classes {
            Some(classes) => classes.find(&row.class),
            None => self.shared.publishing().classes.find(&row.class),
        };
        if let Some((class, shared)) = known {
            row.class = shared;
            return Ok(Arc::new(NumberedRow { row, class }));
        }
        let classes = pending.classes.get_or_insert_with(|| Classes::clone(&self.shared.publishing().classes));
        let class = classes.add(row.class.clone());
        batch.insert_class(class, &classes::write(&row.class))?;
        Ok(Arc::new(NumberedRow { row, class }))
    }

    /// Current certificates within `rows` that carry a term: those of the view the batch did not change, and those of the batch.
    pub(super) fn with_term(
        &self,
        pending: &Pending,
        term: &Term,
        rows: Option<&Filter>,
    ) -> Result<Vec<(Id, Version)>, RefusedChange> {
        // More than the batch can have changed are asked for, so that two of the rest are seen when there are two.
        let max = u32::try_from(pending.newest.len() + 2).unwrap_or(u32::MAX);
        let hits = self.shared.with_term(term, rows, max)?;
        let unchanged =
            hits.into_iter().filter(|hit| !pending.newest.contains_key(&hit.id)).map(|hit| (hit.id, hit.version));
        let counts = |id: Id, row: &Row| row.has(term) && rows.is_none_or(|rows| rows.matches(id, row));
        let changed = pending.newest.iter().filter(|(id, newest)| {
            newest.state != State::Deleted && newest.row.as_ref().is_some_and(|numbered| counts(**id, &numbered.row))
        });
        Ok(unchanged.chain(changed.map(|(id, newest)| (*id, newest.version))).collect())
    }

    /// What a stored version answers with that is left as it is.
    pub(super) fn unchanged(
        &self,
        batch: &mut Batch,
        id: Id,
        version: Version,
    ) -> Result<AcknowledgedChange, StoreError> {
        let found = batch
            .version(id, version, |bytes| VersionRecord::read(bytes).map(|record| (record.stamp, record.state)))?;
        let (stamp, state) =
            found.ok_or_else(|| StoreError::Damaged(format!("version {version} of {id} is missing")))??;
        Ok(AcknowledgedChange { id, version, stamp, state, changed: false, consent: batch.consent(id)? })
    }
}

/// Contract 3.9: no other certificate may have the number of a row. `with_term` finds those that carry a term.
pub(in crate::embedded) fn check_number(
    id: Option<Id>,
    row: &Row,
    with_term: impl Fn(&Term) -> Result<Vec<(Id, Version)>, RefusedChange>,
) -> Result<(), RefusedChange> {
    for number in row.terms_of(&[Field::Identifier]).filter(|term| term.is_form(TermForm::SystemCode)) {
        if let Some((other, version)) = with_term(&number)?.into_iter().find(|(other, _)| Some(*other) != id) {
            return Err(RefusedChange::NumberInUse(other, version));
        }
    }
    Ok(())
}

pub(super) fn classes_full() -> Issue {
    Issue::new(Hcert::ClassesFull).with("max", CLASSES_MAX.to_string()).at("Composition.category")
}

pub(super) fn unknown_class() -> StoreError {
    StoreError::Damaged("a stored row has a class that the table of classes does not know".into())
}
