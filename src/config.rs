//! Settings: the defaults, over them `hcert.toml`, the environment and the flags, in this order; read once and checked as a whole.
//!
//! `hcert.toml` at the root of the project lists every setting with its default, unit and reason; a test holds both together.

mod access;
mod console;
mod console_rules;
mod document;
mod environment;
mod error;
pub mod exposure;
pub mod limits;
mod management;
mod memory;
mod network;
mod rules;
mod secret;
mod sender;
mod settings;
mod sources;
mod tls;
mod within;
mod words;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

use aws_lc_rs::digest;

pub use access::{AccessMode, AccessSettings, AccessToken, Algorithm, ChangeBy};
pub use console::ConsoleSettings;
use document::Document;
pub use error::{ConfigError, suggestion};
pub use management::ManagementSettings;
pub use memory::MemoryBound;
pub use network::Network;
pub use rules::BACKUP_WITHIN_DATA;
pub use secret::Secret;
pub use sender::XRoadSender;
pub use settings::{
    AuditSettings, BackupSettings, CallersToken, CertificateSettings, Config, ExchangeSettings, FaultRule, FullUrl,
    Level, LogFormat, LogSettings, Namespaces, PopulationRegister, QuickRepairSetting, RegistryMode, RegistrySettings,
    RemoteSettings, SearchSettings, ServerSettings, SettingsFile, StorageSettings, Validation, XRoadSettings,
};
pub use sources::{LoadedConfig, SettingSource};
pub use tls::{ClientAuth, MinVersion, TlsSettings};
pub use within::is_within;
pub use words::{FormatWords, OF_JSON, plain};

use base::hex::Hex;
use base::owner;

/// The file that is read when no other is named.
pub const FILE: &str = "hcert.toml";

impl Config {
    /// A name for these settings: equal settings have the same, 16 hexadecimal digits. It tells nothing of the secrets among them.
    pub fn fingerprint(&self) -> String {
        let text = toml::to_string(self).expect("settings were read as TOML");
        let digest = digest::digest(&digest::SHA256, format!("{}\n{text}", self.access.mode.name()).as_bytes());
        Hex(&digest.as_ref()[..8]).to_string()
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
        Config::load_with(file, environment, flags, |_| Vec::new()).map(|loaded| loaded.config)
    }

    /// As [`load`](Self::load), with rules that other modules know, with warnings and with the sources. Each problem of `more` names its
    /// setting by its path.
    ///
    /// # Errors
    /// As [`load`](Self::load). `more` is asked when there is no other problem.
    pub fn load_with(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: impl FnOnce(&mut Config),
        more: impl FnOnce(&Config) -> Vec<String>,
    ) -> Result<LoadedConfig, ConfigError> {
        let path = file.or_else(|| Some(Path::new(FILE)).filter(|path| path.is_file()));
        // The command line does not name this file, so another user could choose the settings by putting one there.
        if file.is_none() {
            let own = path.map_or(Ok(()), owner::expect_own);
            own.map_err(|problem| {
                ConfigError(format!("{FILE} in the working directory: {problem}, or --config {FILE}"))
            })?;
        }
        let mut document = path.map(Document::open).transpose()?;
        let document::ReadDocument { mut config, mut problems, mut wrong, is_unreadable } =
            document.as_mut().map(Document::read).unwrap_or_default();
        let variables = environment::overlay(&mut config, environment);
        problems.extend(variables.problems);
        wrong.extend(variables.wrong);
        flags(&mut config);
        let placed = |problem: String| placed(&problem, document.as_ref(), &variables.taken);
        // What a value that could not be read would have been is not known: rules about it would only mislead.
        let is_known = |problem: &String| !wrong.iter().any(|setting| problem.contains(setting.as_str()));
        let broken = rules::check(&mut config).into_iter().filter(|_| !is_unreadable).filter(is_known);
        problems.extend(broken.map(placed));
        if problems.is_empty() {
            problems.extend(more(&config).into_iter().map(placed));
        }
        let mut warnings = variables.warnings;
        warnings.extend(rules::doubts(&config));
        config.file = document.as_ref().map(|document| SettingsFile {
            path: document.path().to_owned(),
            is_secret: document.sets(sources::SECRET_SETTING),
        });
        if !problems.is_empty() {
            return Err(ConfigError(problems.join("\n")));
        }
        let mut sources = document.as_ref().map(Document::sources).unwrap_or_default();
        sources.extend(variables.taken.into_iter().map(|(path, name)| (path, SettingSource::Environment(name))));
        Ok(LoadedConfig { config, warnings, sources })
    }

    /// `{base_url}` as the settings alone tell it. A server on port 0 knows better.
    pub fn base_url(&self) -> String {
        let (server, scheme) = (&self.server, self.tls.scheme());
        server.base_url.clone().unwrap_or_else(|| format!("{scheme}://{}{}", server.listen, server.base_path))
    }

    /// Where browsers find the console, when it listens at `address`.
    pub fn console_base_url(&self, address: SocketAddr) -> String {
        self.console.base_url.clone().unwrap_or_else(|| format!("{}://{address}", self.tls.scheme()))
    }

    #[cfg(test)]
    fn parse(text: &str) -> Result<Config, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError(error.to_string().trim_end().to_owned()))
    }
}

/// A problem with the place of the first setting it names: the variable, or line and caret in the file.
fn placed(problem: &str, document: Option<&Document>, variables: &[(String, String)]) -> String {
    let problem = &*secret::without_credentials(problem);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use std::path::PathBuf;

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
    fn proxies_that_are_everybody_are_warned_about() {
        let warned = |proxies: &str| {
            let variable = ("HCERT__SERVER__TRUSTED_PROXIES".into(), proxies.into());
            Config::load_with(None, std::iter::once(variable), |_| (), |_| Vec::new()).unwrap().warnings
        };
        assert_eq!(warned("10.0.0.0/8,fd00::/8"), [""; 0]);
        let told = warned("10.0.0.1,0.0.0.0/0,::/0");
        assert!(told.len() == 2 && told[0].contains("trusted_proxies has 0.0.0.0/0, "), "{told:?}");
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
