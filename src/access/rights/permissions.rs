//! The table of permissions, read from data: which roles there are, what each may do, and with which certificates.
//!
//! Source: Contract 7.3, 7.7.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;

use certificate::{State, Status};
use fhir::json;
use fhir::outcome::{Hcert, Language};

use crate::config::{OF_JSON, plain};

/// What a permission permits. Reading takes old versions in, and searching by POST is searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermittedAction {
    Create,
    Update,
    Delete,
    Suspend,
    Cancel,
    Validate,
    Read,
    /// Of one certificate and of all.
    History,
    Search,
    /// A search that asks for the number only.
    Count,
    GetConsent,
    SetConsent,
    /// Of a patient, also old versions and the history.
    PatientRead,
    PatientSearch,
    AuditRead,
}

impl PermittedAction {
    pub const ALL: [PermittedAction; 15] = [
        PermittedAction::Create,
        PermittedAction::Update,
        PermittedAction::Delete,
        PermittedAction::Suspend,
        PermittedAction::Cancel,
        PermittedAction::Validate,
        PermittedAction::Read,
        PermittedAction::History,
        PermittedAction::Search,
        PermittedAction::Count,
        PermittedAction::GetConsent,
        PermittedAction::SetConsent,
        PermittedAction::PatientRead,
        PermittedAction::PatientSearch,
        PermittedAction::AuditRead,
    ];

    /// As the table writes it, such as `set-consent`.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => unreachable!("an action is written as its name"),
        }
    }

    /// Whether it makes or changes a certificate.
    pub fn is_write(self) -> bool {
        self == PermittedAction::Create || self.is_change()
    }

    /// Whether it changes a certificate that is there.
    pub fn is_change(self) -> bool {
        matches!(
            self,
            PermittedAction::Update | PermittedAction::Delete | PermittedAction::Suspend | PermittedAction::Cancel
        )
    }
}

/// How much of a certificate is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateView {
    /// What an employer needs to know. Contract 7.5.
    Employer,
    #[default]
    Full,
}

/// Which certificates a permission reaches; what is not named is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowRestriction {
    pub states: Option<Vec<State>>,
    /// Codes of the use case.
    pub categories: Option<Vec<String>>,
    /// Those of the patient the token is about.
    pub own_patient: bool,
    /// Those whose employer is the institution the caller stands for.
    pub own_employer: bool,
}

/// A permission as one role has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub may: BTreeSet<PermittedAction>,
    pub rows: RowRestriction,
    pub view: CertificateView,
    /// Certificates closed to doctors are hidden from the role, those of the caller's own hand excepted.
    pub bound_as_doctor: bool,
    /// Certificates closed to representatives are hidden from the role.
    pub bound_as_representative: bool,
}

/// What the roles may do, by name.
pub type Roles = BTreeMap<String, Vec<Grant>>;

/// Reads the table.
///
/// # Errors
/// What is wrong with it, in words for whoever wrote it.
pub fn read(text: &str) -> Result<Roles, String> {
    let file: PermissionsFile = serde_json::from_str(text).map_err(|error| placed(&error))?;
    // The last one of two groups with one name would hold, and whoever reads the table may look at the first.
    let problems = json::parse_with_problems(text.as_bytes()).map(|read| read.problems.into_issues());
    if let Some(twice) = problems.iter().flatten().find(|issue| issue.code() == Hcert::JsonDuplicateKey) {
        return Err(format!("{}: {}", twice.expression().join(", "), twice.text(Language::English)));
    }
    let known: BTreeSet<&String> = file.groups.values().flatten().collect();
    let bound = [&file.consent.doctor, &file.consent.representative];
    if let Some(unknown) = bound.into_iter().flatten().find(|role| !known.contains(role)) {
        return Err(format!("consent names the role '{unknown}', which is in no group"));
    }
    let mut roles: Roles = known.iter().map(|role| ((*role).clone(), Vec::new())).collect();
    for permission in &file.permissions {
        let rows = rows(permission)?;
        if permission.may.contains(&PermittedAction::History)
            && (rows != RowRestriction::default() || permission.view != CertificateView::Full)
        {
            return Err(format!(
                "{}: 'history' shows every state of a certificate, so it takes no rows",
                permission.name
            ));
        }
        // A row is a certificate; what the registry says about a patient is restricted by the patient alone, and no event by anything.
        let of_certificates = rows.states.is_some() || rows.categories.is_some() || rows.own_employer;
        let unknown = [
            (PermittedAction::AuditRead, "audit-read", rows != RowRestriction::default()),
            (PermittedAction::PatientSearch, "patient-search", rows != RowRestriction::default()),
            (PermittedAction::PatientRead, "patient-read", of_certificates),
        ];
        if let Some((_, name, _)) = unknown.iter().find(|(may, _, takes)| *takes && permission.may.contains(may)) {
            return Err(format!(
                "{}: '{name}' is not restricted by these rows, so they would promise what they do not keep; give it in a permission of its own",
                permission.name
            ));
        }
        for group in &permission.given_to {
            let members = file.groups.get(group);
            let members = members.ok_or_else(|| format!("{}: there is no group '{group}'", permission.name))?;
            for role in members {
                let grant = Grant {
                    may: permission.may.clone(),
                    rows: rows.clone(),
                    view: permission.view,
                    bound_as_doctor: file.consent.doctor.contains(role),
                    bound_as_representative: file.consent.representative.contains(role),
                };
                roles.entry(role.clone()).or_default().push(grant);
            }
        }
    }
    Ok(roles)
}

/// The error in plain words, after its line and column.
fn placed(error: &serde_json::Error) -> String {
    let (line, column, told) = (error.line(), error.column(), error.to_string());
    let problem = match error.classify() {
        Category::Data => plain(told.rsplit_once(" at line ").map_or(&*told, |(before, _)| before), &OF_JSON),
        Category::Io | Category::Syntax | Category::Eof => json::syntax_problem(error),
    };
    format!("line {line}, column {column}: {problem}")
}

fn rows(permission: &Permission) -> Result<RowRestriction, String> {
    let said = &permission.rows;
    let state = |code: &String| {
        let status = Status::parse(code).map(Status::state);
        status.ok_or_else(|| format!("{}: '{code}' is no status of a certificate", permission.name))
    };
    let states = said.status.as_ref().map(|codes| codes.iter().map(state).collect()).transpose()?;
    Ok(RowRestriction {
        states,
        categories: said.category.clone(),
        own_patient: said.patient.is_some(),
        own_employer: said.employer.is_some(),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PermissionsFile {
    groups: BTreeMap<String, Vec<String>>,
    consent: ClosedTo,
    permissions: Vec<Permission>,
}

/// The roles that a closed certificate is hidden from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosedTo {
    doctor: BTreeSet<String>,
    representative: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Permission {
    name: String,
    given_to: Vec<String>,
    may: BTreeSet<PermittedAction>,
    #[serde(default)]
    rows: PermissionEntry,
    #[serde(default)]
    view: CertificateView,
}

/// `null` is no restriction to anything, so it is refused.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PermissionEntry {
    #[serde(deserialize_with = "restriction")]
    status: Option<Vec<String>>,
    #[serde(deserialize_with = "restriction")]
    category: Option<Vec<String>>,
    #[serde(deserialize_with = "restriction")]
    patient: Option<OfToken>,
    #[serde(deserialize_with = "restriction")]
    employer: Option<OfToken>,
}

fn restriction<'d, T: Deserialize<'d>, D: Deserializer<'d>>(value: D) -> Result<Option<T>, D::Error> {
    let said = Option::deserialize(value)?;
    said.map(Some).ok_or_else(|| D::Error::custom("null is no restriction; remove the member"))
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OfToken {
    OfToken,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_comes_with_the_service_is_readable() {
        let roles = read(super::super::BUILT_IN).unwrap();
        assert_eq!(roles.len(), 16);
        assert_eq!(roles["gov-official"].len(), 2);
        let doctor = &roles["doctor"];
        assert!(doctor.iter().all(|grant| grant.bound_as_doctor && !grant.bound_as_representative));
        assert!(roles["receptionist"].iter().all(|grant| !grant.may.contains(&PermittedAction::Read)));
    }

    #[test]
    fn a_table_that_makes_no_sense_says_why() {
        let table = |groups: &str, doctor: &str, permission: &str| {
            format!(
                r#"{{"groups":{groups},"consent":{{"doctor":{doctor},"representative":[]}},"permissions":[{permission}]}}"#
            )
        };
        for (text, told) in [
            ("{".to_owned(), "line 1, column 1: it ends inside an object"),
            ("{}".to_owned(), "line 1, column 2: the member `groups` is missing"),
            (table("[]", "[]", ""), "found a list, expected an object"),
            (table("{}", "{}", ""), "found an object, expected a list"),
            (table("{}", r#"["x"]"#, ""), "role 'x'"),
            (table("{}", "[]", r#"{"name":"n","given-to":["g"],"may":[]}"#), "no group 'g'"),
            (
                table("{}", "[]", r#"{"name":"n","given-to":[],"may":["reed"]}"#),
                "`reed` is not allowed here; did you mean `read`?",
            ),
            (table("{}", "[]", r#"{"name":"n","given-to":[],"may":[],"rows":{"status":["done"]}}"#), "'done'"),
            (
                table("{}", "[]", r#"{"name":"n","given-to":[],"may":[],"rows":{"state":[]}}"#),
                "there is no member `state`; did you mean `status`?",
            ),
            (table("{}", "[]", r#"{"name":"n","given-to":[],"may":[],"rows":{"patient":"any"}}"#), "any"),
            (table("{}", "[]", r#"{"name":"n","given-to":[],"may":[],"rows":{"category":null}}"#), "null"),
            (table("{}", "[]", r#"{"name":"n","given-to":[],"may":[],"rows":{"patient":null}}"#), "null"),
            (table(r#"{"g":["a"],"g":["b"]}"#, "[]", ""), "groups.g"),
        ] {
            let problem = read(&text).unwrap_err();
            assert!(problem.contains(told), "{problem}");
        }
    }
}
