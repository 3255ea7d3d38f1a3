//! Where the value of each setting comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml::Table;

use super::Config;
use super::secret::{holds_identity, without_credentials};

/// The setting that is a secret itself. Others name a file that holds one.
pub(super) const SECRET_SETTING: &str = "registry.remote.token";

/// Where the value of a setting comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SettingSource {
    #[default]
    Default,
    /// The settings file and the line, which counts from 1.
    File(PathBuf, usize),
    /// The name of the variable.
    Environment(String),
    /// The flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            SettingSource::Default => formatter.write_str("default"),
            SettingSource::File(path, line) => write!(formatter, "{}:{line}", path.display()),
            SettingSource::Environment(name) => write!(formatter, "environment {name}"),
            SettingSource::Flag(flag) => write!(formatter, "flag {flag}"),
        }
    }
}

/// Settings as they were read, with their sources.
pub struct LoadedConfig {
    pub config: Config,
    /// What can be used, but is most likely not meant.
    pub warnings: Vec<String>,
    /// By the path of a setting; none where it has its default.
    pub(super) sources: BTreeMap<String, SettingSource>,
}

impl LoadedConfig {
    /// Where the value of a setting comes from. The path of one names its sections: `registry.remote.token`.
    pub fn source(&self, path: &str) -> SettingSource {
        self.sources.get(path).cloned().unwrap_or_default()
    }

    /// The value of a setting, written as in a settings file; nothing where it is unset. A secret is shown as `"…"`.
    pub fn shown(&self, path: &str) -> Option<String> {
        let table = Table::try_from(&self.config).expect("settings were read as TOML");
        let mut names = path.split('.');
        let first = table.get(names.next()?)?;
        let value = names.try_fold(first, |value, name| value.get(name))?.to_string();
        let is_secret = path == SECRET_SETTING || holds_identity(&value);
        Some(if is_secret { "\"…\"".to_owned() } else { without_credentials(&value).into_owned() })
    }

    /// Says which flag gave a setting.
    pub fn given_by(&mut self, path: &str, flag: &'static str) {
        self.sources.insert(path.to_owned(), SettingSource::Flag(flag));
    }
}
