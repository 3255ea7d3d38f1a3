//! `hcert config`: the settings that hold, where each comes from, and whether they can be used.

use std::fmt::Write;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::catalogue::settings::{SettingsBlock, ShownSetting, blocks};
use super::{Common, Failure, note, say, serve};
use crate::config::{AccessMode, Config, LoadedConfig, SettingSource, exposure, suggestion};

/// Show, check and explain the settings
///
/// Settings are read once, when a command starts: the defaults, over them the settings file, over it the environment (HCERT__SECTION__KEY),
/// over that the flags. docs/reference/settings.md lists them all.
#[derive(Args, Debug)]
pub(super) struct ConfigArguments {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Print(ConfigPrintArguments),
    Check(ConfigCheckArguments),
    Explain(ConfigExplainArguments),
}

/// Print every setting as it holds, as a settings file that says where each value comes from
///
/// Secrets are printed as "…".
#[derive(Args, Debug)]
struct ConfigPrintArguments {
    /// Only what is not as by default
    #[arg(long)]
    changed: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Check the settings, and the files that they name, without starting anything
///
/// All problems are told at once, with their lines. What can be used but is most likely not meant is a warning.
#[derive(Args, Debug)]
struct ConfigCheckArguments {
    /// The command that they are for
    #[arg(long = "for", value_enum, value_name = "COMMAND", default_value = "serve")]
    command: ServingCommand,
    #[command(flatten)]
    common: Common,
}

/// A command that serves.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ServingCommand {
    Serve,
    Dev,
}

impl ServingCommand {
    pub(super) fn mode(self) -> AccessMode {
        match self {
            ServingCommand::Serve => AccessMode::Jwt,
            ServingCommand::Dev => AccessMode::Developer,
        }
    }
}

/// Explain a setting: what it does, its value, where that comes from, and its default
#[derive(Args, Debug)]
struct ConfigExplainArguments {
    /// A setting, such as server.listen, or a section, such as server
    key: String,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl ConfigArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.what {
            ConfigCommand::Print(print) => print.run(),
            ConfigCommand::Check(check) => check.run(),
            ConfigCommand::Explain(explain) => explain.run(),
        }
    }
}

/// The settings as every command reads them.
fn loaded(common: Common) -> Result<LoadedConfig, Failure> {
    let loaded = common.load_with(|_| (), |_| Vec::new())?;
    loaded.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    Ok(loaded)
}

impl ConfigPrintArguments {
    fn run(self) -> Result<(), Failure> {
        let loaded = loaded(self.common)?;
        let blocks = blocks();
        let settings = blocks.iter().flat_map(|block| block.settings.iter().map(move |setting| (block, setting)));
        let wanted =
            settings.filter(|(_, setting)| !self.changed || loaded.source(&setting.path()) != SettingSource::Default);
        if self.json {
            return say(&wanted
                .map(|(block, setting)| format!("{}\n", json_of(&loaded, block, setting)))
                .collect::<String>());
        }
        let mut text = String::new();
        let mut section = "";
        for (_, setting) in wanted {
            if setting.section != section {
                let blank = if section.is_empty() { "" } else { "\n" };
                section = setting.section;
                let _ = writeln!(text, "{blank}[{section}]");
            }
            let source = loaded.source(&setting.path());
            let _ = match loaded.shown(&setting.path()) {
                Some(value) => writeln!(text, "{} = {value} # {source}", setting.key),
                None => writeln!(text, "# {} is unset", setting.key),
            };
        }
        if text.is_empty() {
            note("every setting has its default");
        }
        say(&text)
    }
}

impl ConfigCheckArguments {
    fn run(self) -> Result<(), Failure> {
        let mode = self.command.mode();
        let loaded = self.common.load_with(|config: &mut Config| config.access.mode = mode, serve::named_files)?;
        let exposed = exposure::all(&loaded.config);
        loaded.warnings.iter().chain(&exposed).for_each(|warning| note(format_args!("warning: {warning}")));
        let from = loaded.config.file.as_ref();
        let from = from.map_or_else(|| "the settings".to_owned(), |file| file.path.display().to_string());
        say(&format!("{from}: can be used by {}\n", mode.command()))
    }
}

impl ConfigExplainArguments {
    fn run(self) -> Result<(), Failure> {
        let blocks = blocks();
        let key = self.key.trim_matches(['[', ']']);
        let is_meant =
            |setting: &ShownSetting| setting.path() == key || setting.section == key || setting.variable() == key;
        let found: Vec<(&SettingsBlock, Vec<&ShownSetting>)> = blocks
            .iter()
            .map(|block| (block, block.settings.iter().filter(|setting| is_meant(setting)).collect::<Vec<_>>()))
            .filter(|(_, settings)| !settings.is_empty())
            .collect();
        if found.is_empty() {
            let paths: Vec<String> = blocks.iter().flat_map(|block| &block.settings).map(ShownSetting::path).collect();
            let last = |path: &&String| path.rsplit('.').next() == Some(key);
            let meant = paths.iter().find(last).map(String::as_str);
            let meant = meant.or_else(|| suggestion(key, paths.iter().map(String::as_str)));
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            return Err(Failure::Usage(format!(
                "there is no setting '{key}'{meant} `hcert config print` lists them all"
            )));
        }
        let loaded = loaded(self.common)?;
        let mut text = String::new();
        for (block, settings) in found {
            for setting in &settings {
                if self.json {
                    let _ = writeln!(text, "{}", json_of(&loaded, block, setting));
                    continue;
                }
                let path = setting.path();
                let value = loaded.shown(&path).unwrap_or_else(|| "unset".to_owned());
                let _ = writeln!(text, "{path} = {value}");
                let _ = writeln!(text, "  from         {}", loaded.source(&path));
                let _ = writeln!(text, "  default      {}", default(setting));
                let _ = writeln!(text, "  environment  {}", setting.variable());
            }
            if !self.json {
                let _ = writeln!(text, "\n{}\n", block.words.join("\n"));
            }
        }
        say(text.trim_end_matches('\n')).and_then(|()| say("\n"))
    }
}

/// The default of a setting, or an example of a value where it is unset by default.
fn default(setting: &ShownSetting) -> String {
    match setting.is_unset {
        true => format!("unset; for example {}", setting.value),
        false => setting.value.to_owned(),
    }
}

fn json_of(loaded: &LoadedConfig, block: &SettingsBlock, setting: &ShownSetting) -> Value {
    let path = setting.path();
    let source = match loaded.source(&path) {
        SettingSource::Default => json!({"kind": "default"}),
        SettingSource::File(file, line) => json!({"kind": "file", "file": file, "line": line}),
        SettingSource::Environment(name) => json!({"kind": "environment", "name": name}),
        SettingSource::Flag(flag) => json!({"kind": "flag", "name": flag}),
    };
    json!({
        "setting": path,
        // As TOML writes it.
        "value": loaded.shown(&path),
        "source": source,
        "default": (!setting.is_unset).then_some(setting.value),
        "environment": setting.variable(),
        "about": block.words.join(" "),
    })
}
