//! Flags that commands have in common.

use std::path::PathBuf;

use clap::Args;

use super::messages::note;
use crate::config::{Config, ConfigError, LoadedConfig, SettingsFile};
use crate::registry::fault::FaultRules;

/// Flags of every command that needs the settings.
#[derive(Debug, Default, Args)]
pub(super) struct Common {
    /// File with settings [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Folder that holds everything [setting: storage.data]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

impl Common {
    /// The settings: defaults, file, environment, these flags, then `flags`. Warnings about them go to standard error.
    pub(super) fn load(self, flags: impl FnOnce(&mut Config)) -> Result<Config, ConfigError> {
        let LoadedConfig { config, warnings, .. } = self.load_with(flags, |_| Vec::new())?;
        let exposed = config.file.as_ref().and_then(SettingsFile::exposed);
        warnings.iter().chain(&exposed).for_each(|warning| note(format_args!("warning: {warning}")));
        Ok(config)
    }

    /// As [`load`](Self::load), with more rules, with the warnings and the sources.
    pub(super) fn load_with(
        self,
        flags: impl FnOnce(&mut Config),
        more: impl FnOnce(&Config) -> Vec<String>,
    ) -> Result<LoadedConfig, ConfigError> {
        let names_data = self.data.is_some();
        let flags = |config: &mut Config| {
            if let Some(data) = self.data {
                config.storage.data = data;
            }
            flags(config);
        };
        // The registry knows the codes that a fault may name.
        let faults = |config: &Config| match FaultRules::new(&config.registry.fault) {
            Ok(_) => more(config),
            Err(problems) => problems.lines().map(str::to_owned).collect(),
        };
        let mut loaded = Config::load_with(self.config.as_deref(), std::env::vars_os(), flags, faults)?;
        if names_data {
            loaded.given_by("storage.data", "--data");
        }
        Ok(loaded)
    }
}

/// The settings of a command that opens no data folder.
pub(super) fn settings(file: Option<PathBuf>) -> Result<Config, ConfigError> {
    Common { config: file, data: None }.load(|_| ())
}
