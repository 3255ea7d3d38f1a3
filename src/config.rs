//! Settings: the defaults, over them `hcert.toml`, the environment and the flags, in this order; read once and checked as a whole.
//!
//! `hcert.toml` at the root of the project lists every setting with its default, unit and reason; a test holds both together.

mod access;
mod document;
mod environment;
pub mod exposure;
pub mod limits;
mod management;
mod memory;
mod network;
mod rules;
mod secret;
mod sender;
mod tls;
mod within;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

pub use access::{Access, AccessMode, AccessToken, Algorithm, ChangeBy};
use certificate::search::limits::{COUNT_DEFAULT, COUNT_MAX};
use document::Document;
pub use exposure::SettingsFile;
pub use management::Management;
pub use memory::MemoryBound;
pub use network::Network;
pub use rules::BACKUP_WITHIN_DATA;
pub use secret::Secret;
pub use sender::XRoadSender;
pub use tls::{ClientAuth, MinVersion, Tls};
pub use within::is_within;
use within::is_within_by_name;

/// All settings. Their meaning stands in `hcert.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where these come from, if from a file.
    #[serde(skip)]
    pub file: Option<SettingsFile>,
    pub server: Server,
    pub tls: Tls,
    pub storage: Storage,
    pub search: Search,
    pub certificate: Certificate,
    pub validation: Validation,
    pub audit: Audit,
    pub backup: Backup,
    pub registry: Registry,
    pub access: Access,
    pub x_road: XRoad,
    pub namespaces: Namespaces,
    pub management: Management,
    pub log: Log,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    pub listen: String,
    /// Without a slash at the end; empty for the root.
    pub base_path: String,
    /// `{base_url}`, without a slash at the end. Unset: made from the listen address. Contract 1.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    pub full_url: FullUrl,
    pub trusted_proxies: Vec<Network>,
    pub workers: usize,
    /// A proxy in front does TLS, so this service may listen without it. Contract 1.2.
    pub plain_behind_proxy: bool,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    pub requests_max: usize,
    pub requests_per_address_max: usize,
    /// Of one address; 0: no bound.
    pub requests_per_second: u32,
    pub body_bytes_max: usize,
    pub query_bytes_max: usize,
    pub header_timeout_s: u64,
    pub body_timeout_s: u64,
    pub body_bytes_per_second_min: u64,
    pub request_timeout_s: u64,
    pub write_timeout_s: u64,
    pub drain_timeout_s: u64,
}

/// How `Bundle.entry.fullUrl` is written in a search for certificates. Every other Bundle has absolute addresses. Contract 1.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FullUrl {
    /// Relative, as the specification shows.
    #[default]
    #[serde(alias = "relative")]
    Specification,
    Absolute,
}

/// `[storage]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    pub data: PathBuf,
    pub cache_mb: usize,
    pub quick_repair: QuickRepair,
}

/// Whether commits keep what a quick start after a crash needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuickRepair {
    /// By the size of the file.
    #[default]
    Auto,
    On,
    Off,
}

/// `[search]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    pub count_default: u32,
    pub count_max: u32,
    pub link_minutes: u32,
}

/// `[certificate]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Certificate {
    pub unique_number: bool,
    /// Contract 8.7.
    pub final_must_be_usable: bool,
}

/// `[validation]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// Contract 8.3.
    pub strict: bool,
}

/// `[audit]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// Of each file, one of which lies ready. Contract 7.8.
    pub file_mb: u64,
    /// 0: for ever.
    pub retention_days: u32,
}

/// `[backup]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backup {
    /// Unset: no backups by the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    pub every_minutes: u64,
    /// Every so-manieth is a full one.
    pub full_every: u64,
    /// 0: for ever.
    pub keep_days: u64,
    /// Contract 9.2.
    pub id_gap: u64,
    /// Whom archives are encrypted to: recipients of age.
    pub recipients: Vec<String>,
}

/// `[registry]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    pub mode: RegistryMode,
    pub external_reference_system: String,
    /// Unset: made up by `hcert dev`, off in `hcert serve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub population_register: Option<PopulationRegister>,
    /// Unset: as `population_register`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<bool>,
    pub required_headers: Vec<String>,
    pub fault: Vec<FaultRule>,
    pub remote: Remote,
}

/// `[[registry.fault]]`: calls that the registry is to fail. Exactly one of `identifier` and `path` is there. Contract 6.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub fault: String,
    /// 0 to 1.
    #[serde(default = "always")]
    pub probability: f64,
    #[serde(default)]
    pub seed: u64,
    /// Strikes; none: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}

fn always() -> f64 {
    1.0
}

/// Which patient registry is asked. Contract 6.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryMode {
    /// The service keeps patients itself.
    #[default]
    Embedded,
    /// Another system does.
    Remote,
}

/// Where an embedded registry looks for people it does not know. Contract 6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PopulationRegister {
    /// A stand-in makes them up.
    Simulate,
    /// Nowhere.
    Off,
}

/// `[registry.remote]`: the way to the registry of another system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remote {
    /// Without a slash at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    pub callers_token: CallersToken,
    pub exchange: Exchange,
    pub timeout_ms: u64,
    pub deadline_ms: u64,
    pub tries: u32,
    pub connections: usize,
    pub breaker_failures: u32,
    pub breaker_open_s: u64,
    pub cache_s: u64,
}

/// What becomes of the caller's own token where the registry is asked in the caller's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallersToken {
    /// The registry never sees it.
    #[default]
    Drop,
    /// It goes to the registry as it came.
    Forward,
    /// The issuer gives another one for it, which is for the registry alone. RFC 8693.
    Exchange,
}

/// `[registry.remote.exchange]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exchange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

/// `[x_road]`: what stands below `/r1`. Contract 1.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct XRoad {
    pub subsystems: Vec<String>,
    pub fhir_service: String,
    pub token_service: String,
    pub required_headers: Vec<String>,
    /// Who may set the headers of X-Road. Unset: everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Vec<XRoadSender>>,
}

/// `[namespaces]`: the placeholders of the specification. Contract 1.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Namespaces {
    pub code_system_base: String,
    pub person_identifier_base: String,
    pub profile_base: String,
    pub hcert_ns: String,
    pub hcert_issue_system: String,
    pub issue_system_mpi: String,
    pub issue_system_xroad_rr: String,
    pub issue_system_xroad_ads: String,
    pub issue_system_xroad_tor: String,
    pub issue_system_xroad_ska: String,
    pub issue_system_xroad_tk: String,
    pub issue_system_population_register: String,
    pub issue_system_unemployment_fund: String,
    pub issue_system_social_insurance: String,
    pub issue_system_address_register: String,
    pub issue_system_tax_customs: String,
}

impl Namespaces {
    /// Name and value of each, by name.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let table = toml::Table::try_from(self).expect("texts by name are a table");
        table.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect()
    }
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub level: Level,
    /// Of successful answers one in so many has a line.
    pub sample: u32,
    pub format: Format,
}

impl Default for Log {
    fn default() -> Self {
        Log { level: Level::default(), sample: 1, format: Format::default() }
    }
}

/// How lines of the log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// In words on a terminal, else as JSON.
    #[default]
    Auto,
    Json,
    Text,
}

/// The least important line that is still written. It holds for the service's own lines; libraries never write below `warn`,
/// since some of them would show headers and addresses of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

impl Level {
    /// As tracing spells it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Server {
            listen: "127.0.0.1:8080".to_owned(),
            base_path: "/fhir".to_owned(),
            base_url: None,
            full_url: FullUrl::Specification,
            trusted_proxies: Vec::new(),
            workers: limits::WORKERS,
            plain_behind_proxy: false,
            connections_max: limits::CONNECTIONS_MAX,
            connections_per_address_max: limits::CONNECTIONS_PER_ADDRESS_MAX,
            requests_max: limits::REQUESTS_MAX,
            requests_per_address_max: limits::REQUESTS_PER_ADDRESS_MAX,
            requests_per_second: 0,
            body_bytes_max: limits::BODY_BYTES_MAX,
            query_bytes_max: limits::QUERY_BYTES_MAX,
            header_timeout_s: limits::HEADER_TIMEOUT_S,
            body_timeout_s: limits::BODY_TIMEOUT_S,
            body_bytes_per_second_min: limits::BODY_BYTES_PER_SECOND_MIN,
            request_timeout_s: limits::REQUEST_TIMEOUT_S,
            write_timeout_s: limits::WRITE_TIMEOUT_S,
            drain_timeout_s: limits::DRAIN_TIMEOUT_S,
        }
    }
}

impl Default for Storage {
    fn default() -> Self {
        Storage { data: PathBuf::from("hcert-data"), cache_mb: limits::CACHE_MB, quick_repair: QuickRepair::Auto }
    }
}

impl Default for Search {
    fn default() -> Self {
        Search { count_default: COUNT_DEFAULT, count_max: COUNT_MAX, link_minutes: limits::LINK_MINUTES }
    }
}

impl Default for Audit {
    fn default() -> Self {
        Audit { file_mb: limits::AUDIT_FILE_MB, retention_days: 0 }
    }
}

impl Default for Backup {
    fn default() -> Self {
        Backup {
            folder: None,
            every_minutes: limits::BACKUP_EVERY_MINUTES,
            full_every: limits::BACKUP_FULL_EVERY,
            recipients: Vec::new(),
            keep_days: limits::BACKUP_KEEP_DAYS,
            id_gap: limits::RESTORE_ID_GAP,
        }
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            mode: RegistryMode::Embedded,
            external_reference_system: "https://tehik.ee/mpi/external-reference".to_owned(),
            population_register: None,
            samples: None,
            required_headers: Vec::new(),
            fault: Vec::new(),
            remote: Remote::default(),
        }
    }
}

impl Default for XRoad {
    fn default() -> Self {
        XRoad {
            subsystems: vec!["tis".to_owned()],
            fhir_service: "fhir".to_owned(),
            token_service: "auth".to_owned(),
            required_headers: Vec::new(),
            from: None,
        }
    }
}

impl Default for Remote {
    fn default() -> Self {
        Remote {
            address: None,
            ca_file: None,
            token: None,
            token_file: None,
            callers_token: CallersToken::default(),
            exchange: Exchange::default(),
            timeout_ms: limits::REGISTRY_TIMEOUT_MS,
            deadline_ms: limits::REGISTRY_DEADLINE_MS,
            tries: limits::REGISTRY_TRIES,
            connections: limits::REGISTRY_CONNECTIONS,
            breaker_failures: limits::REGISTRY_BREAKER_FAILURES,
            breaker_open_s: limits::REGISTRY_BREAKER_OPEN_S,
            cache_s: limits::REGISTRY_CACHE_S,
        }
    }
}

impl Default for Namespaces {
    fn default() -> Self {
        Namespaces {
            code_system_base: "https://fhir.ee".to_owned(),
            person_identifier_base: "https://fhir.ee/sid".to_owned(),
            profile_base: "https://fhir.ee/hcert".to_owned(),
            hcert_ns: "https://fhir.ee/hcert".to_owned(),
            hcert_issue_system: "https://hcert.tehik.ee/issue".to_owned(),
            issue_system_mpi: "https://mpi.tehik.ee".to_owned(),
            issue_system_xroad_rr: "https://xroad-rr.tehik.ee".to_owned(),
            issue_system_xroad_ads: "https://xroad-ads.tehik.ee".to_owned(),
            issue_system_xroad_tor: "https://xroad-tor.tehik.ee".to_owned(),
            issue_system_xroad_ska: "https://xroad-ska.tehik.ee".to_owned(),
            issue_system_xroad_tk: "https://xroad-tk.tehik.ee".to_owned(),
            issue_system_population_register: "https://rahvastikuregister.ee".to_owned(),
            issue_system_unemployment_fund: "https://tootukassa.ee".to_owned(),
            issue_system_social_insurance: "https://sotsiaalkindlustusamet.ee".to_owned(),
            issue_system_address_register: "https://maaamet.ee".to_owned(),
            issue_system_tax_customs: "https://emta.ee".to_owned(),
        }
    }
}

/// Settings that cannot be used; the text is for the person at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The file that is read when no other is named.
pub const FILE: &str = "hcert.toml";

impl Config {
    /// A name for these settings: equal settings have the same, 16 hexadecimal digits. It tells nothing of the secrets among them.
    pub fn fingerprint(&self) -> String {
        let text = toml::to_string(self).expect("settings were read as TOML");
        let digest = digest::digest(&digest::SHA256, format!("{}\n{text}", self.access.mode.name()).as_bytes());
        digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads all settings. `file` must exist; without it `hcert.toml` in the working directory is read if it is there.
    /// `environment` are the variables of the process, `flags` writes what the command line says.
    ///
    /// # Errors
    /// The file cannot be read or is no TOML; an unknown key, a wrong type, or a value out of its range: all of them at once,
    /// each with line and caret, or with the variable's name.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: impl FnOnce(&mut Config),
    ) -> Result<Config, ConfigError> {
        Config::load_with(file, environment, flags, |_| Vec::new()).map(|(config, _)| config)
    }

    /// As [`load`](Self::load), with rules that other modules know, and with warnings: what can be used, but is most likely not
    /// meant. Each problem of `more` names its setting by its path.
    ///
    /// # Errors
    /// As [`load`](Self::load). `more` is asked when there is no other problem.
    pub fn load_with(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: impl FnOnce(&mut Config),
        more: impl FnOnce(&Config) -> Vec<String>,
    ) -> Result<(Config, Vec<String>), ConfigError> {
        let path = file.or_else(|| Some(Path::new(FILE)).filter(|path| path.is_file()));
        let mut document = path.map(Document::open).transpose()?;
        let document::Read { mut config, mut problems, mut wrong } =
            document.as_mut().map(Document::read).unwrap_or_default();
        let variables = environment::overlay(&mut config, environment);
        problems.extend(variables.problems);
        wrong.extend(variables.wrong);
        flags(&mut config);
        let placed = |problem: String| placed(&problem, document.as_ref(), &variables.taken);
        // What a value that could not be read would have been is not known: rules about it would only mislead.
        let is_known = |problem: &String| !wrong.iter().any(|setting| problem.contains(setting.as_str()));
        problems.extend(rules::check(&mut config).into_iter().filter(is_known).map(placed));
        if problems.is_empty() {
            problems.extend(more(&config).into_iter().map(placed));
        }
        let warnings = variables.warnings;
        config.file = document.as_ref().map(|document| SettingsFile {
            path: document.path().to_owned(),
            is_secret: document.sets("registry.remote.token"),
        });
        if problems.is_empty() { Ok((config, warnings)) } else { Err(ConfigError(problems.join("\n"))) }
    }

    /// `{base_url}` as the settings alone tell it. A server on port 0 knows better.
    pub fn base_url(&self) -> String {
        let (server, scheme) = (&self.server, self.tls.scheme());
        server.base_url.clone().unwrap_or_else(|| format!("{scheme}://{}{}", server.listen, server.base_path))
    }

    #[cfg(test)]
    fn parse(text: &str) -> Result<Config, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError(error.to_string().trim_end().to_owned()))
    }
}

/// A problem with the place of the first setting it names: the variable, or line and caret in the file.
fn placed(problem: &str, document: Option<&Document>, variables: &[(String, String)]) -> String {
    let is_outside = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'));
    let words = problem.split(is_outside).map(|word| word.trim_end_matches('.')).filter(|word| word.contains('.'));
    for setting in words {
        if let Some((_, name)) = variables.iter().find(|(path, _)| path == setting) {
            return format!("environment variable {name}: {problem}");
        }
        if let Some(document) = document.filter(|document| document.sets(setting)) {
            return document.shown_at(setting, problem);
        }
    }
    problem.to_owned()
}

/// The name of some that a misspelt one most likely means.
pub fn suggestion<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), known));
    let best = near.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 >= 0.85).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const FILE_OF_THE_PROJECT: &str = include_str!("../hcert.toml");

    fn load(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hcert.toml");
        std::fs::write(&file, text).unwrap();
        let loaded = Config::load(Some(&file), std::iter::empty(), |_| ());
        loaded.map(|config| Config { file: None, ..config }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_file_of_the_project_holds_the_defaults() {
        assert_eq!(load(FILE_OF_THE_PROJECT).unwrap(), Config::default());
    }

    #[test]
    fn the_old_name_of_a_relative_full_url_is_still_read() {
        for (name, expected) in [
            ("relative", FullUrl::Specification),
            ("specification", FullUrl::Specification),
            ("absolute", FullUrl::Absolute),
        ] {
            let read = load(&format!("[server]\nfull_url = \"{name}\"")).unwrap();
            assert_eq!(read.server.full_url, expected, "{name}");
        }
        assert!(load("[server]\nfull_url = \"nonsense\"").is_err());
    }

    #[test]
    fn the_file_of_the_project_names_every_setting() {
        let defaults = toml::Table::try_from(Config::default()).unwrap();
        assert_eq!(defaults.keys().collect::<BTreeSet<_>>(), keys("").iter().collect(), "every section is walked");
        for (section, members) in sections("", &defaults) {
            let (_, after) =
                FILE_OF_THE_PROJECT.split_once(&format!("\n[{section}]\n")).expect("every section is there");
            let lines = after.split("\n[").next().unwrap().lines();
            let named: Vec<&str> = lines
                .filter_map(|line| line.strip_prefix("# ").unwrap_or(line).split_once(" = "))
                .map(|(name, _)| name)
                .filter(|name| !name.contains(' '))
                .collect();
            let mut keys = keys(&section);
            keys.retain(|key| !members.get(key).is_some_and(toml::Value::is_table));
            assert_eq!(named, keys, "[{section}]");
        }
    }

    /// Every table below one, by its whole name: `registry`, `registry.remote`.
    fn sections<'a>(above: &str, table: &'a toml::Table) -> Vec<(String, &'a toml::Table)> {
        let tables = table.iter().filter_map(|(name, value)| Some((format!("{above}{name}"), value.as_table()?)));
        tables
            .flat_map(|(name, table)| {
                let below = sections(&format!("{name}."), table);
                std::iter::once((name, table)).chain(below)
            })
            .collect()
    }

    /// The keys of a section (of the file for ""), unset ones included, as serde lists them when it refuses another.
    fn keys(section: &str) -> Vec<String> {
        let header = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
        let refusal = Config::parse(&format!("{header}no_such_key = 1")).unwrap_err().0;
        let listed = refusal.rsplit_once("expected").unwrap().1;
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_key_is_shown_with_its_line_and_a_caret() {
        let refusal = load("[server]\nlisten = \"127.0.0.1:1\"\nlistn = 1\n").unwrap_err();
        assert!(refusal.contains("line 3") && refusal.contains('^') && refusal.contains("`listn`"), "{refusal}");
    }

    #[test]
    fn a_wrong_type_is_shown_with_its_line_and_a_caret() {
        let refusal = load("[search]\ncount_max = \"many\"\n").unwrap_err();
        assert!(
            refusal.contains("line 2") && refusal.contains('^') && refusal.contains("a whole number from 0"),
            "{refusal}"
        );
        assert!(load("[log]\nlevel = \"loud\"\n").unwrap_err().contains("`loud`"));
        assert!(load("[server]\ntrusted_proxies = [\"10.0.0.0/99\"]\n").unwrap_err().contains("10.0.0.0/99"));
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let refusal = Config::load(Some(Path::new("no-such.toml")), std::iter::empty(), |_| ()).unwrap_err();
        assert!(refusal.0.contains("no-such.toml"), "{refusal}");
    }

    #[test]
    fn flags_win_over_the_environment_and_the_environment_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hcert.toml");
        std::fs::write(&file, "[search]\ncount_max = 50\nlink_minutes = 5\n[storage]\ndata = \"file\"\n").unwrap();
        let environment = [("HCERT__SEARCH__COUNT_MAX", "60"), ("HCERT__STORAGE__DATA", "environment")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let config =
            Config::load(Some(&file), environment.into_iter(), |config| config.storage.data = "flag".into()).unwrap();
        assert_eq!((config.search.link_minutes, config.search.count_max), (5, 60));
        assert_eq!(config.storage.data, PathBuf::from("flag"));
    }
}
