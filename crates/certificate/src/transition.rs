//! The moves a certificate can make, as the specification's own table.

use super::state::State::{self, *};
use fhir::outcome::{Hcert, Issue, Outcome};

/// What a request wants of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// FHIR `create` (POST).
    Create,
    /// FHIR `update` (PUT).
    Update,
    /// FHIR `delete` (DELETE).
    Delete,
    /// Operation `$suspend`.
    Suspend,
    /// Operation `$cancel`.
    Cancel,
}

impl Trigger {
    /// The request in words, for messages in Estonian.
    pub fn name(self, need: Need) -> &'static str {
        match (self, need) {
            (Trigger::Create, _) => "loomine (POST)",
            (Trigger::Update, Need::Preliminary) => "muutmine mustandiks (PUT)",
            (Trigger::Update, _) => "muutmine (PUT)",
            (Trigger::Delete, _) => "kustutamine (DELETE)",
            (Trigger::Suspend, _) => "$suspend",
            (Trigger::Cancel, _) => "$cancel",
        }
    }

    /// The request in words, for messages in English.
    pub fn word(self, need: Need) -> &'static str {
        match (self, need) {
            (Trigger::Create, _) => "create (POST)",
            (Trigger::Update, Need::Preliminary) => "update (PUT) to preliminary",
            (Trigger::Update, _) => "update (PUT)",
            (Trigger::Delete, _) => "delete (DELETE)",
            (Trigger::Suspend, _) => "$suspend",
            (Trigger::Cancel, _) => "$cancel",
        }
    }
}

/// What the request has to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// A body whose status is `preliminary`.
    Preliminary,
    /// A body whose status is `final`.
    Final,
    /// A body whose status is `final`, with a section `change-reason`.
    ChangeReason,
    /// A parameter `reason`.
    Reason,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    /// The state before; none when the certificate does not exist.
    pub from: Option<State>,
    /// The request that makes the move.
    pub on: Trigger,
    /// What the request has to bring for this move.
    pub need: Need,
    /// The state after.
    pub to: State,
}

const fn row(from: Option<State>, on: Trigger, need: Need, to: State) -> Transition {
    Transition { from, on, need, to }
}

/// Every move a certificate can make. A move not listed is refused and changes nothing (Contract 3.1).
///
/// Source: specification, section 3, rows in its order.
#[rustfmt::skip]
pub const TRANSITIONS: &[Transition] = &[
    //  from             on                need                to
    row(None,            Trigger::Create,  Need::Preliminary,  Draft),
    row(None,            Trigger::Create,  Need::Final,        Completed),
    row(Some(Draft),     Trigger::Update,  Need::Preliminary,  Draft),
    row(Some(Draft),     Trigger::Update,  Need::Final,        Completed),
    row(Some(Draft),     Trigger::Delete,  Need::Nothing,      Deleted),
    row(Some(Completed), Trigger::Update,  Need::ChangeReason, Completed),
    row(Some(Completed), Trigger::Suspend, Need::Reason,       Suspended),
    row(Some(Completed), Trigger::Cancel,  Need::Reason,       Revoked),
    row(Some(Suspended), Trigger::Cancel,  Need::Reason,       Revoked),
];

/// Decides a request by the table: the state it leads to.
///
/// `brings` is what the request carries; a change reason may be there without being needed (Contract 3.3).
///
/// # Errors
/// `ChangeReasonMissing` (422) when only that is missing; `StateConflict` (409) for every other move that is not listed.
/// A deleted certificate is `Deleted` (410) to everything; that is decided before this table.
pub fn decide(from: Option<State>, on: Trigger, brings: Need) -> Result<State, Outcome> {
    let mut rows = TRANSITIONS.iter().filter(|row| row.from == from && row.on == on).peekable();
    let satisfied = |need: Need| need == brings || (need == Need::Final && brings == Need::ChangeReason);
    if let Some(row) = rows.clone().find(|row| satisfied(row.need)) {
        return Ok(row.to);
    }
    if brings == Need::Final && rows.any(|row| row.need == Need::ChangeReason) {
        return Err(Issue::new(Hcert::ChangeReasonMissing).at("Composition.section").into());
    }
    let issue = Issue::new(Hcert::StateConflict).with("state", from.map_or("not there", State::word));
    let issue = issue.with("request", on.word(brings)).with("state_name", from.map_or("puudub", State::name));
    Err(issue.with("request_name", on.name(brings)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIGGERS: [Trigger; 5] =
        [Trigger::Create, Trigger::Update, Trigger::Delete, Trigger::Suspend, Trigger::Cancel];
    const NEEDS: [Need; 5] = [Need::Nothing, Need::Preliminary, Need::Final, Need::ChangeReason, Need::Reason];

    #[test]
    fn every_listed_move_leads_where_the_table_says() {
        for row in TRANSITIONS {
            assert_eq!(decide(row.from, row.on, row.need).ok(), Some(row.to), "{row:?}");
        }
    }

    #[test]
    fn nine_rows_and_no_exit_from_revoked_and_deleted() {
        assert_eq!(TRANSITIONS.len(), 9);
        for on in TRIGGERS {
            for brings in NEEDS {
                assert!(decide(Some(Revoked), on, brings).is_err());
                assert!(decide(Some(Deleted), on, brings).is_err());
            }
        }
    }

    #[test]
    fn a_completed_certificate_changes_only_with_a_reason() {
        let refused = decide(Some(Completed), Trigger::Update, Need::Final).unwrap_err();
        assert_eq!(refused.leading(), Hcert::ChangeReasonMissing);
        let back = decide(Some(Completed), Trigger::Update, Need::Preliminary).unwrap_err();
        assert_eq!(back.leading(), Hcert::StateConflict);
    }

    #[test]
    fn states_and_requests_are_told_in_estonian_too() {
        for state in State::ALL {
            for trigger in [Trigger::Create, Trigger::Update, Trigger::Delete] {
                for need in [Need::Preliminary, Need::Final] {
                    let issue = Issue::new(Hcert::StateConflict).with("state", state.word());
                    let text = issue.with("request", trigger.word(need)).text(fhir::outcome::Language::Estonian);
                    assert!(!text.contains(state.word()) && !text.contains(trigger.word(need)), "{text}");
                }
            }
        }
    }
}
