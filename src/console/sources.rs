//! What the console is given to work with, beside the API.

use std::fmt;
use std::sync::Arc;

use super::texts::Texts;
use crate::access::Tokens;
use crate::access::rights::permissions::Roles;
use crate::access::token::SignInClient;
use crate::documents::Documents;
use crate::http::exchanges::Exchanges;
use crate::http::pages::Soon;
use crate::interaction::openapi;
use crate::registry::fault::FaultRules;
use base::metrics::DurationSummary;
use certificate::Names;
use serde_json::Value;

/// Fills an empty store with made-up people and so many certificates; tells what was done, or why nothing was.
pub type FillStore = Box<dyn Fn(u64) -> Soon<'static, Result<String, String>> + Send + Sync>;

/// What a check of the audit trail found.
#[derive(Clone, Debug)]
pub struct TrailCheck {
    /// Lines for a person; one begins with `head `.
    pub report: String,
    pub is_whole: bool,
}

/// Checks the audit trail, and whether a head that was kept is part of it; why it could not be checked. Only those may ask who may read
/// the trail.
pub type CheckTrail = Box<dyn Fn(Option<String>) -> Soon<'static, Result<TrailCheck, String>> + Send + Sync>;

/// Writes down what is armed or taken away, so that it lasts; why it could not.
pub type NoteFault = Box<dyn Fn(String) -> Soon<'static, Result<(), String>> + Send + Sync>;

/// Faults that the registry is told to have, in `hcert dev`.
pub struct FaultSwitch {
    pub rules: Arc<FaultRules>,
    pub note: NoteFault,
}

/// How the service is, and how fast.
#[derive(Clone, Debug, Default)]
pub struct ServiceHealth {
    /// As `/health` tells it.
    pub parts: Value,
    /// Answers by route, durable commits, and rounds of the index.
    pub durations: [Vec<DurationSummary>; 3],
}

/// Asks how the service is.
pub type TellHealth = Box<dyn Fn() -> Soon<'static, ServiceHealth> + Send + Sync>;

/// A setting as it is in effect.
#[derive(Clone, Debug)]
pub struct SettingInEffect {
    pub key: String,
    /// As in a settings file; nothing where it is unset. A secret is not shown.
    pub value: Option<String>,
    /// What it is by default, likewise.
    pub default: Option<&'static str>,
    /// File and line, variable, flag, or `default`.
    pub source: String,
    pub is_default: bool,
    /// What it does, in English.
    pub about: String,
}

/// What the console is given.
pub struct ConsoleSources {
    /// Of the store: seals the cookies.
    pub key: [u8; 32],
    /// Gives out developers' tokens, in `hcert dev`.
    pub tokens: Arc<Tokens>,
    /// Whether nothing is real: `hcert dev`.
    pub is_developer: bool,
    /// Who may do what.
    pub roles: Roles,
    /// The documents of the program.
    pub documents: &'static Documents,
    /// The names in use.
    pub names: Names,
    /// What the settings say to readers.
    pub words: OwnWords,
    /// How people sign in, in `hcert serve`.
    pub sign_in: Option<SignIn>,
    /// Checks the audit trail.
    pub check_trail: CheckTrail,
    /// Every setting, in the order of their sections.
    pub settings: Vec<SettingInEffect>,
    pub health: TellHealth,
    /// What was asked and answered lately.
    pub exchanges: Arc<Exchanges>,
    /// In `hcert dev` alone.
    pub faults: Option<FaultSwitch>,
    /// In `hcert dev` alone.
    pub fill: Option<FillStore>,
}

/// What the settings say to readers.
#[derive(Debug, Default)]
pub struct OwnWords {
    /// Stands on every page.
    pub announcement: Option<String>,
    /// Texts of further languages.
    pub texts: Vec<Texts>,
}

/// How people sign in.
#[derive(Debug)]
pub struct SignIn {
    pub client: SignInClient,
    /// Seconds before the end of a sign-in that pages warn of it.
    pub warning_s: i64,
}

impl ConsoleSources {
    /// The text of a file of `examples/`, with the names in use.
    pub(super) fn example(&self, name: &str) -> Option<String> {
        openapi::example_text(name, &self.names)
    }

    /// The code system of the sections.
    pub(super) fn section_system(&self) -> String {
        format!("{}/CodeSystem/tervisetoendi-sektsioon", self.names.code_system_base)
    }
}

impl fmt::Debug for ConsoleSources {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("ConsoleSources").field("is_developer", &self.is_developer).finish_non_exhaustive()
    }
}
