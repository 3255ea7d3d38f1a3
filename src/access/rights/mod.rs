//! What a caller may do: the grants of their roles, and the certificates these reach as one filter, which becomes part of the search
//! itself and judges every read.
//!
//! Source: Contract 7.3 to 7.7.

pub mod permissions;
pub mod reach;
mod scope;
mod search_values;

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use smallvec::SmallVec;

use crate::access::identity::Identity;
use crate::config::{ChangeBy, suggestion};
use base::hex::Hex;
use certificate::Names;
pub use permissions::{CertificateView, PermittedAction};
use permissions::{Grant, RowRestriction};
pub use scope::Scope;

/// The table that comes with the service.
pub const BUILT_IN: &str = include_str!("../../../data/permissions.json");

/// Systems that searches name and rights look at.
#[derive(Debug)]
struct Systems {
    /// Code system of the use case.
    category: String,
    /// Identifier system of Estonian personal codes.
    estonian_code: String,
}

/// What every role may do.
#[derive(Clone, Debug)]
pub struct Permissions {
    roles: HashMap<String, Arc<[Grant]>>,
    change_by: ChangeBy,
    systems: Arc<Systems>,
    fingerprint: String,
}

impl Permissions {
    /// Reads a table; [`BUILT_IN`] is one.
    ///
    /// # Errors
    /// What is wrong with it, in words for whoever wrote it.
    pub fn read(text: &str, names: &Names) -> Result<Permissions, String> {
        Ok(Permissions::of(text, permissions::read(text)?, names))
    }

    /// As [`read`](Self::read), of a table that was read from a text.
    pub fn of(text: &str, roles: permissions::Roles, names: &Names) -> Permissions {
        Permissions {
            roles: roles.into_iter().map(|(role, grants)| (role, grants.into())).collect(),
            change_by: ChangeBy::Anyone,
            systems: Arc::new(Systems {
                category: format!("{}/CodeSystem/labivaatuse-tyyp", names.code_system_base),
                estonian_code: names.identifiers.estonian_code().to_owned(),
            }),
            fingerprint: Hex(&digest(&SHA256, text.as_bytes()).as_ref()[..8]).to_string(),
        }
    }

    /// The same table, where not everybody whose role may change certificates changes those of others.
    pub fn with_changes_by(self, change_by: ChangeBy) -> Permissions {
        Permissions { change_by, ..self }
    }

    /// A name for the text of the table, 16 hexadecimal digits: equal tables have the same.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Why a role grants nothing, with the roles there are; none when the table knows it.
    pub fn unknown_role(&self, role: &str) -> Option<String> {
        if self.roles.contains_key(role) {
            return None;
        }
        let known = self.roles.keys().map(String::as_str).collect();
        Some(no_such_role(role, ", so a token with it grants nothing", known))
    }

    /// The roles of the table, in the order of their names.
    pub fn role_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.roles.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// What a role may do with certificates of whatever persons: the states and kinds of the table count, and not whose they are and whom
    /// they are closed to, since nobody is named.
    pub fn rights_of_nobody(&self, role: &str) -> Rights {
        let lift = |grant: &Grant| {
            let rows = RowRestriction { own_patient: false, own_employer: false, ..grant.rows.clone() };
            Grant { rows, bound_as_doctor: false, bound_as_representative: false, ..grant.clone() }
        };
        let lifted = |grants: &Arc<[Grant]>| grants.iter().map(lift).collect::<Arc<[Grant]>>();
        let rights = self.rights(Arc::default());
        Rights { grants: self.roles.get(role).map(lifted).into_iter().collect(), ..rights }
    }

    /// What a caller may do. A role that the table does not know gives nothing.
    pub fn rights(&self, identity: Arc<Identity>) -> Rights {
        let grants = identity.roles.iter().filter_map(|role| self.roles.get(role).cloned()).collect();
        Rights { identity, grants, change_by: self.change_by, systems: self.systems.clone() }
    }
}

/// That a table has no such role, what follows, the one that is probably meant, and those that there are.
pub fn no_such_role(role: &str, consequence: &str, mut known: Vec<&str>) -> String {
    known.sort_unstable();
    let meant = suggestion(role, known.iter().copied());
    let meant = meant.map_or_else(|| ".".to_owned(), |meant| format!("; did you mean '{meant}'?"));
    let known = known.join(", ");
    format!("the table of permissions has no role '{role}'{consequence}{meant} Its roles are: {known}")
}

/// What one caller may do.
#[derive(Clone, Debug)]
pub struct Rights {
    identity: Arc<Identity>,
    grants: SmallVec<[Arc<[Grant]>; 1]>,
    change_by: ChangeBy,
    systems: Arc<Systems>,
}

/// The patient a token is about, as the registry knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPatient {
    /// Ids of the patient and of those who are the same person (`200`).
    pub ids: Vec<String>,
    /// System and value of each.
    pub identifiers: Vec<(String, String)>,
}

impl Rights {
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    pub fn may(&self, what: PermittedAction) -> bool {
        self.granting(what).next().is_some()
    }

    /// Whether the rows of a permission are those of the patient the token is about, who has to be asked for first.
    pub fn asks_for_own_patient(&self, what: PermittedAction) -> bool {
        self.granting(what).any(|grant| grant.rows.own_patient)
    }

    /// Whether a permission reaches all certificates but those closed to doctors, which is so for whoever may manage them.
    pub fn is_bound_by_consent_only(&self, what: PermittedAction) -> bool {
        let is_of_anyone = self.change_by == ChangeBy::Anyone || !what.is_change();
        is_of_anyone
            && self
                .granting(what)
                .any(|grant| grant.rows == RowRestriction::default() && !grant.bound_as_representative)
    }

    /// How every certificate is shown that is not closed to doctors, where no permission shows any of them otherwise; nothing where rows
    /// decide.
    pub fn view_of_all(&self, what: PermittedAction) -> Option<CertificateView> {
        let most = self.granting(what).map(|grant| grant.view).max()?;
        let of_all = |grant: &Grant| grant.rows == RowRestriction::default() && !grant.bound_as_representative;
        self.granting(what).any(|grant| of_all(grant) && grant.view == most).then_some(most)
    }

    /// Whether a permission shows certificates only as their employers are shown them.
    pub fn shortens(&self, what: PermittedAction) -> bool {
        self.granting(what).any(|grant| grant.view != CertificateView::Full)
    }

    /// Whether every patient may be read, not only the caller's own.
    pub fn reaches_all_patients(&self) -> bool {
        self.granting(PermittedAction::PatientRead).any(|grant| !grant.rows.own_patient)
    }

    /// What each permission for something asks of a certificate, by names that say no value: a certificate is reached that meets all of
    /// one permission.
    pub fn conditions(&self, what: PermittedAction) -> Vec<Vec<&'static str>> {
        let of = |grant: &Grant| {
            let rows = &grant.rows;
            let all = [
                (rows.states.is_some(), "state"),
                (rows.categories.is_some(), "category"),
                (rows.own_patient, "own-patient"),
                (rows.own_employer, "own-employer"),
                (grant.bound_as_doctor, "open-to-doctors-or-own-hand"),
                (grant.bound_as_representative, "open-to-representatives"),
                (grant.view == CertificateView::Employer, "view-of-employer"),
            ];
            all.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect()
        };
        self.granting(what).map(of).collect()
    }

    fn granting(&self, what: PermittedAction) -> impl Iterator<Item = &Grant> {
        // Whoever may search may ask for the number alone.
        let also = if what == PermittedAction::Count { PermittedAction::Search } else { what };
        let grants = self.grants.iter().flat_map(|grants| grants.iter());
        grants.filter(move |grant| grant.may.contains(&what) || grant.may.contains(&also))
    }
}

#[cfg(test)]
mod tests;
