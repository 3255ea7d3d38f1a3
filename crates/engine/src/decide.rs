//! Judges a write by the version it meets. Pure: the writer calls it inside the transaction, before its first insert.

use super::EffectiveRow;
use super::write::{RefusedChange, Write};
use certificate::search::filter::Filter;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::term::{Term, TermForm};
use certificate::transition::{Need, Trigger, decide};
use certificate::{Consent, Id, Precondition, State, Version};
use fhir::outcome::{Hcert, Issue, Outcome};

impl EffectiveRow {
    /// What holds for the certificate.
    pub fn consent(&self) -> Consent {
        self.row.as_ref().map_or(Consent::default(), |row| row.class.consent)
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionDecision {
    /// Store the next version, in this state.
    Store(State),
    /// Nothing: it is deleted already (Contract 3.7), or the consent is so already.
    Nothing,
    /// This consent holds from now on.
    Consent(Consent),
}

/// Judges a write. The order is 404 or 405, 410, 403, 412, 409, 422 (Contract 2.9).
pub(crate) fn judge(write: &Write, current: Option<&EffectiveRow>) -> Result<VersionDecision, RefusedChange> {
    match write {
        Write::Create { content, .. } => Ok(VersionDecision::Store(decide(None, Trigger::Create, content.brings)?)),
        Write::Update { id, content, if_match, base, rows } => {
            let current = current.ok_or_else(|| never_assigned(*id, content.trigger))?;
            if current.state == State::Deleted {
                return Err(deleted(*id).into());
            }
            check_rows(rows.as_deref(), *id, current)?;
            check_condition(if_match.as_ref(), current.version)?;
            if base.is_some_and(|base| base != current.version) {
                return Err(RefusedChange::Moved);
            }
            let to = decide(Some(current.state), content.trigger, content.brings)?;
            if current.state == State::Completed && content.trigger == Trigger::Update {
                check_fixed(current.row.as_ref(), &content.row)?;
            }
            Ok(VersionDecision::Store(to))
        }
        Write::Delete { id, if_match, rows, .. } => {
            let current = current.ok_or_else(|| Outcome::not_found("Composition", id))?;
            check_rows(rows.as_deref(), *id, current)?;
            if current.state == State::Deleted {
                return Ok(VersionDecision::Nothing);
            }
            check_condition(if_match.as_ref(), current.version)?;
            Ok(VersionDecision::Store(decide(Some(current.state), Trigger::Delete, Need::Nothing)?))
        }
        Write::Consent { id, doctor, representative, if_match, rows, .. } => {
            let current = current.ok_or_else(|| Outcome::not_found("Composition", id))?;
            if current.state == State::Deleted {
                return Err(deleted(*id).into());
            }
            check_rows(rows.as_deref(), *id, current)?;
            check_condition(if_match.as_ref(), current.version)?;
            let before = current.consent();
            let after = before.with(*doctor, *representative);
            Ok(if after == before { VersionDecision::Nothing } else { VersionDecision::Consent(after) })
        }
    }
}

/// The answer to anything but a read of a deleted certificate's history.
pub(crate) fn deleted(id: Id) -> Outcome {
    Issue::new(Hcert::Deleted).with("id", id.to_string()).into()
}

/// Contract 2.6: ids are the service's, so a PUT cannot make one.
fn never_assigned(id: Id, trigger: Trigger) -> Outcome {
    match trigger {
        Trigger::Update => Issue::new(Hcert::IdNotAssigned).with("id", id.to_string()).into(),
        _ => Outcome::not_found("Composition", id),
    }
}

/// Contract 7.4. What has no row at all is nobody's.
fn check_rows(rows: Option<&Filter>, id: Id, current: &EffectiveRow) -> Result<(), Outcome> {
    let Some(rows) = rows else { return Ok(()) };
    match current.row.as_ref().is_some_and(|row| rows.matches(id, row)) {
        true => Ok(()),
        false => Err(Issue::new(Hcert::OutsideRights).with("what", format!("Composition/{id}")).into()),
    }
}

fn check_condition(condition: Option<&Precondition>, current: Version) -> Result<(), Outcome> {
    match condition {
        Some(condition) if !condition.names(current) => {
            Err(Issue::new(Hcert::VersionConflict).with("current", format!("W/\"{current}\"")).into())
        }
        _ => Ok(()),
    }
}

/// Contract 3.6: after completion the subject (without version), category, profile and certificate number stay.
fn check_fixed(stored: Option<&Row>, sent: &Row) -> Result<(), Outcome> {
    let Some(stored) = stored else { return Ok(()) };
    let same = |fields: &[Field]| {
        let of = |row: &Row| -> Vec<Term> { row.terms_of(fields).collect() };
        of(stored) == of(sent)
    };
    // A reference says whom; before the registry was asked, an identifier alone may have done so.
    let same_subject = match stored.terms_of(&[Field::Subject]).any(|term| term.is_form(TermForm::Code)) {
        true => same(&[Field::Subject]),
        false => stored.terms_of(&[Field::SubjectIdentifier]).all(|term| sent.has(&term)),
    };
    let changed = [
        ("Composition.subject", !same_subject),
        ("Composition.category", stored.class.category != sent.class.category),
        ("Composition.meta.profile", stored.class.profile != sent.class.profile),
        ("Composition.identifier", !same(&[Field::Identifier])),
    ];
    let issues: Vec<Issue> = changed
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(element, _)| Issue::new(Hcert::ElementFixed).with("element", element).at(element))
        .collect();
    if issues.is_empty() { Ok(()) } else { Err(issues.into()) }
}
