//! `docs/reference/settings.md`, made of `hcert.toml`, which tests hold against the settings that the program has.

use std::fmt::Write;

use super::markdown::{prose, wrapped};

/// Every setting with its default and what it means.
const FILE: &str = include_str!("../../../hcert.toml");

const ABOUT: &str = "\
<!-- Made by `hcert catalogue --page settings`; a test compares. -->

# Settings

For operators: every setting with its default. The same texts are in [hcert.toml](../../hcert.toml), which can be copied
and changed.
";

/// One setting: `listen` and `"127.0.0.1:8080"`. The value of one that is unset by default is an example.
pub(in crate::cli) struct ShownSetting {
    pub section: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    pub is_unset: bool,
}

impl ShownSetting {
    /// `server.listen`.
    pub(in crate::cli) fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Its name in the environment.
    pub(in crate::cli) fn variable(&self) -> String {
        format!("HCERT__{}__{}", self.section.replace('.', "__"), self.key).to_uppercase()
    }
}

/// Settings that are explained together.
pub(in crate::cli) struct SettingsBlock {
    pub section: &'static str,
    pub settings: Vec<ShownSetting>,
    /// Lines of what is said of them. Text in columns begins some lines with blanks.
    pub words: Vec<&'static str>,
}

impl SettingsBlock {
    /// What is said of them, as Markdown.
    fn about(&self) -> String {
        if self.words.iter().any(|line| line.starts_with("  ")) {
            // Text in columns keeps them.
            return format!("```text\n{}\n```", self.words.join("\n"));
        }
        wrapped(&prose(&self.words.join(" ")), "")
    }
}

/// All blocks of the file, those without settings too.
pub(in crate::cli) fn blocks() -> Vec<SettingsBlock> {
    let mut section = "";
    let mut blocks = Vec::new();
    for block in FILE.split("\n\n") {
        let lines: Vec<&str> = block.lines().collect();
        section = lines.iter().find_map(|line| line.strip_prefix('[')?.strip_suffix(']')).unwrap_or(section);
        let settings = lines.iter().filter_map(|line| setting(section, line)).collect();
        let words = lines.iter().filter(|line| setting(section, line).is_none());
        let words = words.filter_map(|line| line.strip_prefix("# ")).collect();
        blocks.push(SettingsBlock { section, settings, words });
    }
    blocks
}

/// The whole file.
pub(super) fn page() -> String {
    let mut text = ABOUT.to_owned();
    let mut section = "";
    for block in blocks() {
        if block.section != section {
            section = block.section;
            let _ = write!(text, "\n## {section}\n");
        }
        if !block.settings.is_empty() {
            let names: Vec<String> = block.settings.iter().map(|setting| format!("`{}`", setting.path())).collect();
            let _ = writeln!(text, "\n### {}\n", names.join(", "));
            let is_one = block.settings.len() == 1;
            block.settings.iter().for_each(|setting| text.push_str(&line(setting, is_one)));
        }
        if !block.words.is_empty() {
            let _ = writeln!(text, "\n{}", block.about());
        }
    }
    text
}

/// The setting of a line of the file; nothing where it is a comment.
fn setting(section: &'static str, line: &'static str) -> Option<ShownSetting> {
    let (key, value) = line.strip_prefix("# ").unwrap_or(line).split_once(" = ")?;
    let is_key = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_key.then_some(ShownSetting { section, key, value, is_unset: line.starts_with('#') })
}

/// The line of one setting: default or example, and the name in the environment. `is_one`: it has a heading of its own.
fn line(setting: &ShownSetting, is_one: bool) -> String {
    let ShownSetting { key, value, is_unset, .. } = setting;
    let name = if is_one { "Default".to_owned() } else { format!("`{key}`, default") };
    let default = if *is_unset { format!("unset; for example `{value}`") } else { format!("`{value}`") };
    format!("- {name}: {default}; in the environment `{}`\n", setting.variable())
}
