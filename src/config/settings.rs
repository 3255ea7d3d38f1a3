//! All settings and their defaults.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{AccessSettings, ConsoleSettings, ManagementSettings, Network, Secret, TlsSettings, XRoadSender, limits};
use certificate::search::limits::{COUNT_DEFAULT, COUNT_MAX};

/// All settings. Their meaning stands in `hcert.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where these come from, if from a file.
    #[serde(skip)]
    pub file: Option<SettingsFile>,
    pub server: ServerSettings,
    pub tls: TlsSettings,
    pub storage: StorageSettings,
    pub search: SearchSettings,
    pub certificate: CertificateSettings,
    pub validation: Validation,
    pub audit: AuditSettings,
    pub backup: BackupSettings,
    pub registry: RegistrySettings,
    pub access: AccessSettings,
    pub console: ConsoleSettings,
    pub x_road: XRoadSettings,
    pub namespaces: Namespaces,
    pub management: ManagementSettings,
    pub log: LogSettings,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
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
pub struct StorageSettings {
    pub data: PathBuf,
    pub cache_mb: usize,
    pub quick_repair: QuickRepairSetting,
}

/// Whether commits keep what a quick start after a crash needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuickRepairSetting {
    /// By the size of the file.
    #[default]
    Auto,
    On,
    Off,
}

/// `[search]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    pub count_default: u32,
    pub count_max: u32,
    pub link_minutes: u32,
}

/// `[certificate]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CertificateSettings {
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
pub struct AuditSettings {
    /// Of each file, one of which lies ready. Contract 7.8.
    pub file_mb: u64,
    /// 0: for ever.
    pub retention_days: u32,
}

/// `[backup]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupSettings {
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
pub struct RegistrySettings {
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
    pub remote: RemoteSettings,
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
pub struct RemoteSettings {
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
    pub exchange: ExchangeSettings,
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
pub struct ExchangeSettings {
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
pub struct XRoadSettings {
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
pub struct LogSettings {
    pub level: Level,
    /// Of successful answers one in so many has a line.
    pub sample: u32,
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        LogSettings { level: Level::default(), sample: 1, format: LogFormat::default() }
    }
}

/// How lines of the log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
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

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
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

impl Default for StorageSettings {
    fn default() -> Self {
        StorageSettings {
            data: PathBuf::from("hcert-data"),
            cache_mb: limits::CACHE_MB,
            quick_repair: QuickRepairSetting::Auto,
        }
    }
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings { count_default: COUNT_DEFAULT, count_max: COUNT_MAX, link_minutes: limits::LINK_MINUTES }
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        AuditSettings { file_mb: limits::AUDIT_FILE_MB, retention_days: 0 }
    }
}

impl Default for BackupSettings {
    fn default() -> Self {
        BackupSettings {
            folder: None,
            every_minutes: limits::BACKUP_EVERY_MINUTES,
            full_every: limits::BACKUP_FULL_EVERY,
            recipients: Vec::new(),
            keep_days: limits::BACKUP_KEEP_DAYS,
            id_gap: limits::RESTORE_ID_GAP,
        }
    }
}

impl Default for RegistrySettings {
    fn default() -> Self {
        RegistrySettings {
            mode: RegistryMode::Embedded,
            external_reference_system: "https://tehik.ee/mpi/external-reference".to_owned(),
            population_register: None,
            samples: None,
            required_headers: Vec::new(),
            fault: Vec::new(),
            remote: RemoteSettings::default(),
        }
    }
}

impl Default for XRoadSettings {
    fn default() -> Self {
        XRoadSettings {
            subsystems: vec!["tis".to_owned()],
            fhir_service: "fhir".to_owned(),
            token_service: "auth".to_owned(),
            required_headers: Vec::new(),
            from: None,
        }
    }
}

impl Default for RemoteSettings {
    fn default() -> Self {
        RemoteSettings {
            address: None,
            ca_file: None,
            token: None,
            token_file: None,
            callers_token: CallersToken::default(),
            exchange: ExchangeSettings::default(),
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

/// The file that the settings came from.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    pub path: PathBuf,
    /// It holds a credential.
    pub is_secret: bool,
}
