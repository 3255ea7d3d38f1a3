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
struct ShownSetting<'f> {
    key: &'f str,
    value: &'f str,
    is_unset: bool,
}

/// The whole file.
pub(super) fn page() -> String {
    let mut text = ABOUT.to_owned();
    let mut section = "";
    for block in FILE.split("\n\n") {
        let lines: Vec<&str> = block.lines().collect();
        let header = lines.iter().find_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        if let Some(header) = header {
            section = header;
            let _ = write!(text, "\n## {section}\n");
        }
        let settings: Vec<ShownSetting> = lines.iter().filter_map(|line| setting(line)).collect();
        if !settings.is_empty() {
            let names: Vec<String> = settings.iter().map(|setting| format!("`{section}.{}`", setting.key)).collect();
            let _ = writeln!(text, "\n### {}\n", names.join(", "));
            let is_one = settings.len() == 1;
            settings.iter().for_each(|setting| text.push_str(&line(section, setting, is_one)));
        }
        let words = lines.iter().filter(|line| setting(line).is_none());
        let words: Vec<&str> = words.filter_map(|line| line.strip_prefix("# ")).collect();
        if words.iter().any(|line| line.starts_with("  ")) {
            // Text in columns keeps them.
            let _ = writeln!(text, "\n```text\n{}\n```", words.join("\n"));
        } else if !words.is_empty() {
            let _ = writeln!(text, "\n{}", wrapped(&prose(&words.join(" ")), ""));
        }
    }
    text
}

/// The setting of a line of the file; nothing where it is a comment.
fn setting(line: &str) -> Option<ShownSetting<'_>> {
    let (key, value) = line.strip_prefix("# ").unwrap_or(line).split_once(" = ")?;
    let is_key = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_key.then_some(ShownSetting { key, value, is_unset: line.starts_with('#') })
}

/// The line of one setting: default or example, and the name in the environment. `is_one`: it has a heading of its own.
fn line(section: &str, setting: &ShownSetting, is_one: bool) -> String {
    let ShownSetting { key, value, is_unset } = setting;
    let environment = format!("HCERT__{}__{}", section.replace('.', "__"), key).to_uppercase();
    let name = if is_one { "Default".to_owned() } else { format!("`{key}`, default") };
    let default = if *is_unset { format!("unset; for example `{value}`") } else { format!("`{value}`") };
    format!("- {name}: {default}; in the environment `{environment}`\n")
}
