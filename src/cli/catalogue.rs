//! `hcert catalogue`: every error code, our own and those of the registry and the services behind it; and the pages of
//! `docs/` that are made of tables.

mod api;
mod certificates;
mod commands;
mod errors;
mod lines;
mod logging;
mod markdown;
mod metrics;
pub(super) mod settings;
mod ways;

use std::path::PathBuf;

use super::{Failure, note, open, say, settings};
use certificate::{Names, Profile};
use clap::{Args, Command, ValueEnum};
use fhir::outcome::reflected::System;
use lines::{CatalogueLine, OWN, own, reflected};

/// Show every error code the service can answer with, its own and those it reflects
///
/// The status of a reflected code is the registry's own; the service answers 400 for 4xx and 503 for 5xx.
#[derive(Args, Debug)]
pub(super) struct Catalogue {
    /// Only codes of this system: its address, its id or its short name (hcert, mpi, xroad-rr …)
    #[arg(long, value_name = "SYSTEM")]
    system: Option<String>,
    /// One JSON object per line, with the texts in English and Estonian
    #[arg(long)]
    json: bool,
    /// Print a page of docs/ that is made of the program's own tables, with the addresses of the default settings
    #[arg(long, value_enum, value_name = "PAGE", conflicts_with_all = ["json", "system", "config"])]
    page: Option<GeneratedPage>,
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A page that is made of the program's own tables.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum GeneratedPage {
    /// docs/reference/api.md
    Api,
    /// docs/reference/commands.md
    Commands,
    /// docs/reference/driver-certificate.md
    DriverCertificate,
    /// docs/ERRORS.md
    Errors,
    /// docs/LOGGING.md
    Logging,
    /// docs/reference/metrics.md
    Metrics,
    /// docs/reference/occupational-certificate.md
    OccupationalCertificate,
    /// docs/reference/settings.md
    Settings,
}

impl GeneratedPage {
    fn text(self, program: Command) -> String {
        match self {
            GeneratedPage::Api => api::page(),
            GeneratedPage::Commands => commands::page(program),
            GeneratedPage::DriverCertificate => certificates::page(Profile::Driver),
            GeneratedPage::Errors => errors::page(),
            GeneratedPage::Logging => logging::page(),
            GeneratedPage::Metrics => metrics::page(),
            GeneratedPage::OccupationalCertificate => certificates::page(Profile::Occupational),
            GeneratedPage::Settings => settings::page(),
        }
    }
}

impl Catalogue {
    /// Runs the command, a part of the command line of `program`.
    pub(super) fn run(self, program: Command) -> Result<(), Failure> {
        if let Some(page) = self.page {
            return say(&page.text(program));
        }
        let config = settings(self.config)?;
        let names = open::names(&config, &config.base_url());
        let name = self.system.map(|wanted| known(&wanted, &names)).transpose()?;
        let lines = own(&names).chain(reflected(&names));
        let lines: Vec<CatalogueLine> = lines.filter(|line| name.is_none_or(|name| line.name == name)).collect();
        if lines.is_empty() {
            note("the catalogue lists no codes for this system");
        }
        say(&if self.json { json(&lines) } else { columns(&lines) })
    }
}

/// The short name of the system that an address, an id or a short name means.
fn known(wanted: &str, names: &Names) -> Result<&'static str, Failure> {
    let reflected = System::ALL.into_iter().map(|system| (system.name(), names.issue_systems.of(system)));
    let mut systems = std::iter::once((OWN, names.hcert_issue_system.as_str())).chain(reflected);
    let is = |name: &str, address: &str| {
        wanted == name || wanted == address || wanted.strip_suffix("-issue").is_some_and(|short| short == name)
    };
    let found = systems.find(|(name, address)| is(name, address)).map(|(name, _)| name);
    found.ok_or_else(|| {
        let short: Vec<&str> = std::iter::once(OWN).chain(System::ALL.map(System::name)).collect();
        Failure::Usage(format!("there is no system '{wanted}'; known are: {}", short.join(", ")))
    })
}

fn json(lines: &[CatalogueLine]) -> String {
    let line = |line: &CatalogueLine| serde_json::to_string(line).expect("texts and numbers always have a JSON") + "\n";
    lines.iter().map(line).collect()
}

/// The text last, since it is the longest.
fn columns(lines: &[CatalogueLine]) -> String {
    let width = |of: fn(&CatalogueLine) -> usize| lines.iter().map(of).max().unwrap_or_default();
    let (name, code) = (width(|line| line.name.len()), width(|line| line.code.len()));
    let issue_type = width(|line| line.issue_type.len());
    let line = |line: &CatalogueLine| {
        let CatalogueLine { name: system, code: own, issue_type: kind, status, english, .. } = line;
        format!("{system:name$}  {own:code$}  {status}  {kind:issue_type$}  {english}\n")
    };
    lines.iter().map(line).collect()
}
