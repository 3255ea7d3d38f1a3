//! `hcert permissions`: which roles may do what, as the settings say.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ReadError;
use serde_json::{Value, json};

use super::{Failure, open, say, settings};
use crate::access::rights::permissions::{Grant, Roles};
use crate::access::rights::reach::{ReachPart, reach};
use crate::access::rights::{CertificateView, PermittedAction, no_such_role};
use crate::config::{ChangeBy, Config, OF_JSON, plain};

/// Show, check and explain who may do what
///
/// The table is the file that access.permissions names, or the built-in one.
#[derive(Args, Debug)]
pub(super) struct PermissionsArguments {
    #[command(subcommand)]
    what: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
enum PermissionsCommand {
    Print(PermissionsPrintArguments),
    Check(PermissionsCheckArguments),
    Explain(PermissionsExplainArguments),
}

/// Print the table in force; a start for one of your own
#[derive(Args, Debug)]
struct PermissionsPrintArguments {
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Check a table and list what each of its roles may do
#[derive(Args, Debug)]
struct PermissionsCheckArguments {
    /// The file to check [default: the table in force]
    #[arg(value_name = "FILE")]
    table: Option<PathBuf>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Explain what one role may do: with which certificates, and how much of them it is shown
#[derive(Args, Debug)]
struct PermissionsExplainArguments {
    /// What the caller is, such as doctor, patient or gov-official
    #[arg(long)]
    role: String,
    /// Only this action, such as read, search or set-consent
    #[arg(long, value_parser = action)]
    action: Option<PermittedAction>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl PermissionsArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.what {
            PermissionsCommand::Print(print) => {
                say(table(&settings(print.config)?)?.text.trim_end()).and_then(|()| say("\n"))
            }
            PermissionsCommand::Check(check) => check.run(),
            PermissionsCommand::Explain(explain) => explain.run(),
        }
    }
}

/// The table in force.
fn table(config: &Config) -> Result<open::PermissionsTable, Failure> {
    open::permissions_table(config.access.permissions.as_deref()).map_err(Failure::Usage)
}

fn action(text: &str) -> Result<PermittedAction, String> {
    let read: Result<PermittedAction, ReadError> = PermittedAction::deserialize(text.into_deserializer());
    read.map_err(|error| plain(&error.to_string(), &OF_JSON))
}

impl PermissionsCheckArguments {
    fn run(self) -> Result<(), Failure> {
        let config = settings(self.config)?;
        let table = match &self.table {
            Some(file) => open::permissions_table(Some(file)).map_err(Failure::Usage)?,
            None => table(&config)?,
        };
        let roles = table.roles().map_err(Failure::Usage)?;
        let mut text = String::new();
        for (role, grants) in &roles {
            let may = names(&permitted(grants));
            let _ = match self.json {
                true => writeln!(text, "{}", json!({"role": role, "may": may})),
                false => {
                    writeln!(text, "{role}: {}", if may.is_empty() { "nothing".to_owned() } else { may.join(", ") })
                }
            };
        }
        if !self.json {
            let _ = writeln!(text, "{}: can be used; it has {} roles", table.name, roles.len());
        }
        say(&text)
    }
}

/// All that some grants permit, each action once.
fn permitted(grants: &[Grant]) -> Vec<PermittedAction> {
    let all: std::collections::BTreeSet<PermittedAction> =
        grants.iter().flat_map(|grant| grant.may.iter().copied()).collect();
    all.into_iter().collect()
}

fn names(actions: &[PermittedAction]) -> Vec<String> {
    actions.iter().map(|action| action.name()).collect()
}

impl PermissionsExplainArguments {
    fn run(self) -> Result<(), Failure> {
        let config = settings(self.config)?;
        let roles = table(&config)?.roles().map_err(Failure::Usage)?;
        let grants = roles.get(&self.role).ok_or_else(|| unknown(&self.role, &roles))?;
        let actions = self.action.map_or_else(|| permitted(grants), |action| vec![action]);
        let mut text = String::new();
        for action in actions {
            let permitting: Vec<&Grant> = grants.iter().filter(|grant| grant.may.contains(&action)).collect();
            if self.json {
                let ways: Vec<Value> = permitting.iter().map(|grant| json_of(grant)).collect();
                let _ = writeln!(
                    text,
                    "{}",
                    json!({"role": self.role, "action": action.name(), "permitted": !ways.is_empty(), "with": ways})
                );
                continue;
            }
            let may = if permitting.is_empty() { "may not" } else { "may" };
            let _ = writeln!(text, "{} {may} {}", self.role, action.name());
            for grant in &permitting {
                let _ = writeln!(text, "  {}", words(action, grant));
            }
            let of_settings = if permitting.is_empty() { [None, None] } else { narrowed(&config, action) };
            of_settings.into_iter().flatten().for_each(|words| {
                let _ = writeln!(text, "  {words}");
            });
        }
        if text.is_empty() {
            text = format!("{} may do nothing\n", self.role);
        }
        say(&text)
    }
}

fn unknown(role: &str, roles: &Roles) -> Failure {
    Failure::Usage(no_such_role(role, "", roles.keys().map(String::as_str).collect()))
}

/// What settings take from all who may do something.
fn narrowed(config: &Config, action: PermittedAction) -> [Option<&'static str>; 2] {
    let changes = match config.access.change_by {
        ChangeBy::Anyone => None,
        ChangeBy::Institution => Some("only certificates of the caller's institution (setting access.change_by)"),
        ChangeBy::Author => Some("only certificates whose author is the caller (setting access.change_by)"),
    };
    let is_written = matches!(action, PermittedAction::Create | PermittedAction::Update);
    let authors = match config.access.author_must_be_caller {
        Some(true) => Some("only as the author (setting access.author_must_be_caller)"),
        Some(false) => None,
        None => Some("in hcert serve only as the author (setting access.author_must_be_caller)"),
    };
    [changes.filter(|_| action.is_change()), authors.filter(|_| is_written)]
}

/// What a grant reaches, in words.
fn words(action: PermittedAction, grant: &Grant) -> String {
    let word = |part: ReachPart| match part {
        ReachPart::Certificates => "all certificates".to_owned(),
        ReachPart::CertificatesOfKinds(kinds) => format!("certificates of the kind {}", kinds.join(" or ")),
        ReachPart::Patients => "all patients".to_owned(),
        ReachPart::AuditEvents => "all events of the audit trail".to_owned(),
        ReachPart::InStates(states) => {
            let codes: Vec<&str> = states.iter().map(|state| state.status().code()).collect();
            format!(" with the status {}", codes.join(" or "))
        }
        ReachPart::PatientOfToken => ", only of the patient that the token names".to_owned(),
        ReachPart::EmployerOfToken => {
            ", only those whose employer is the institution that the token stands for".to_owned()
        }
        ReachPart::OpenToDoctors => {
            ", but none that its patient has closed to doctors, unless the caller is its author".to_owned()
        }
        ReachPart::OpenToRepresentatives => ", but none that its patient has closed to representatives".to_owned(),
        ReachPart::SeenAsEmployer => "; shown as an employer sees it".to_owned(),
    };
    reach(action, grant).into_iter().map(word).collect()
}

fn json_of(grant: &Grant) -> Value {
    let codes =
        grant.rows.states.as_ref().map(|states| states.iter().map(|state| state.status().code()).collect::<Vec<_>>());
    json!({
        "status": codes,
        "category": grant.rows.categories,
        "patientOfToken": grant.rows.own_patient,
        "employerOfToken": grant.rows.own_employer,
        "closedToDoctorsHidden": grant.bound_as_doctor,
        "closedToRepresentativesHidden": grant.bound_as_representative,
        "view": if grant.view == CertificateView::Employer { "employer" } else { "full" },
    })
}
