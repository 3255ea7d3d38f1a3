//! What a grant reaches, as parts that each language can put into words.

use super::permissions::{CertificateView, Grant, PermittedAction};
use certificate::State;

/// One thing that a grant says of what it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReachPart {
    Certificates,
    /// Of these kinds alone.
    CertificatesOfKinds(Vec<String>),
    Patients,
    AuditEvents,
    InStates(Vec<State>),
    PatientOfToken,
    EmployerOfToken,
    /// None that is closed to doctors, unless the caller is its author.
    OpenToDoctors,
    OpenToRepresentatives,
    SeenAsEmployer,
}

/// What a grant that permits an action reaches. The first part says of what kind it is.
pub fn reach(action: PermittedAction, grant: &Grant) -> Vec<ReachPart> {
    let rows = &grant.rows;
    let of_what = match (action, &rows.categories) {
        (PermittedAction::AuditRead, _) => ReachPart::AuditEvents,
        (PermittedAction::PatientRead | PermittedAction::PatientSearch, _) => ReachPart::Patients,
        (_, Some(kinds)) => ReachPart::CertificatesOfKinds(kinds.clone()),
        _ => ReachPart::Certificates,
    };
    let of_certificates = matches!(of_what, ReachPart::Certificates | ReachPart::CertificatesOfKinds(_));
    let mut parts = vec![of_what];
    parts.extend(rows.states.clone().map(ReachPart::InStates));
    let said = [
        (rows.own_patient, ReachPart::PatientOfToken),
        (rows.own_employer, ReachPart::EmployerOfToken),
        (of_certificates && grant.bound_as_doctor, ReachPart::OpenToDoctors),
        (of_certificates && grant.bound_as_representative, ReachPart::OpenToRepresentatives),
        (grant.view == CertificateView::Employer, ReachPart::SeenAsEmployer),
    ];
    parts.extend(said.into_iter().filter(|(is_so, _)| *is_so).map(|(_, part)| part));
    parts
}

/// Whether a role with these grants may do something with a certificate in a state: at all, and with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayInState {
    No,
    /// With those that its grants reach.
    Some,
    All,
}

/// A cell of the table of roles, actions and states.
pub fn may_in_state(grants: &[Grant], action: PermittedAction, state: State) -> MayInState {
    let reaches = |grant: &&Grant| {
        grant.may.contains(&action) && grant.rows.states.as_ref().is_none_or(|states| states.contains(&state))
    };
    let is_whole = |grant: &Grant| {
        reach(action, grant).iter().skip(1).all(|part| matches!(part, ReachPart::InStates(_)))
            && grant.rows.categories.is_none()
    };
    let permitting: Vec<&Grant> = grants.iter().filter(reaches).collect();
    match permitting.is_empty() {
        true => MayInState::No,
        false if permitting.into_iter().any(is_whole) => MayInState::All,
        false => MayInState::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rights::{BUILT_IN, permissions};

    #[test]
    fn every_cell_of_the_table_follows_from_a_grant() {
        for (role, grants) in permissions::read(BUILT_IN).unwrap() {
            for action in PermittedAction::ALL {
                for state in State::ALL {
                    let may = may_in_state(&grants, action, state);
                    let permitting = grants.iter().filter(|grant| grant.may.contains(&action));
                    let reached: Vec<Vec<ReachPart>> = permitting.map(|grant| reach(action, grant)).collect();
                    let in_state = |parts: &Vec<ReachPart>| {
                        parts
                            .iter()
                            .all(|part| !matches!(part, ReachPart::InStates(states) if !states.contains(&state)))
                    };
                    assert_eq!(may == MayInState::No, !reached.iter().any(in_state), "{role} {action:?} {state:?}");
                    if may == MayInState::All {
                        let bound = |parts: &Vec<ReachPart>| parts.contains(&ReachPart::PatientOfToken);
                        assert!(!reached.iter().filter(|parts| in_state(parts)).all(bound), "{role} {action:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn doctors_patients_and_employers_reach_what_the_table_gives_them() {
        let roles = permissions::read(BUILT_IN).unwrap();
        let may = |role: &str, action, state| may_in_state(&roles[role], action, state);
        assert_eq!(may("doctor", PermittedAction::Read, State::Completed), MayInState::Some);
        assert_eq!(may("patient", PermittedAction::Create, State::Draft), MayInState::No);
        let of_patient = roles["patient"].iter().find(|grant| grant.may.contains(&PermittedAction::Read)).unwrap();
        assert!(reach(PermittedAction::Read, of_patient).contains(&ReachPart::PatientOfToken));
    }
}
