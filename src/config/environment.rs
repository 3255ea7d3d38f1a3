//! Variables `HCERT__SECTION__KEY` over what the file said; a section in a section is named `HCERT__SECTION__SECTION__KEY`.

use std::ffi::OsString;

use toml::{Table, Value};

use super::secret::{holds_secret, without_value};
use super::words::{OF_TOML, plain};
use super::{Config, suggestion};

const PREFIX: &str = "HCERT__";

/// What the environment says.
#[derive(Default)]
pub(super) struct Variables {
    /// Path of each setting that was taken over, and the name of its variable.
    pub taken: Vec<(String, String)>,
    /// What could not be used, each with its variable.
    pub problems: Vec<String>,
    /// Paths of settings that could not be used.
    pub wrong: Vec<String>,
    /// Variables that set nothing, but most likely were meant to.
    pub warnings: Vec<String>,
}

/// Takes every variable that begins with `HCERT__` over into the settings.
///
/// A text stands for itself, lists may be written `a,b`; everything else is written as in TOML.
pub(super) fn overlay(config: &mut Config, environment: impl Iterator<Item = (OsString, OsString)>) -> Variables {
    let mut variables = Variables::default();
    for (name, text) in environment {
        let is_meant = |name: &&str| name.to_ascii_uppercase().starts_with("HCERT_");
        let Some(name) = name.to_str().filter(is_meant) else { continue };
        let Some(path) = name.strip_prefix(PREFIX).map(str::to_lowercase) else {
            variables.warnings.extend(meant(name, &text.to_string_lossy()));
            continue;
        };
        let setting = path.replace("__", ".");
        let text = text.to_str().ok_or_else(|| "the value is not UTF-8".to_owned());
        let taken = text.clone().and_then(|text| with(config, &path, text));
        let text = text.unwrap_or_default();
        match taken {
            Ok(changed) => {
                *config = changed;
                variables.taken.push((setting, name.to_owned()));
            }
            Err(problem) => {
                variables.problems.push(format!("environment variable {name}: {}", shown(&setting, text, &problem)));
                variables.wrong.push(setting);
            }
        }
    }
    variables
}

/// A problem, without the value where that is a secret.
fn shown(setting: &str, text: &str, problem: &str) -> String {
    match holds_secret(setting) || holds_secret(text) {
        true => without_value(problem).into_owned(),
        false => problem.to_owned(),
    }
}

/// A warning about a variable that would be a setting with twice the underscores or in capital letters: `HCERT_SERVER_WORKERS`,
/// `hcert__server__workers`.
fn meant(name: &str, text: &str) -> Option<String> {
    let path = name.to_ascii_lowercase().replace("__", "_");
    let path = path.strip_prefix("hcert_")?;
    let table = Table::try_from(Config::default()).ok()?;
    let section = sections("", &table).into_iter().find(|section| {
        let key = path.strip_prefix(&section.replace("__", "_")).and_then(|rest| rest.strip_prefix('_'));
        let told = key.map(|key| with(&Config::default(), &format!("{section}__{key}"), text));
        told.is_some_and(|told| told.err().is_none_or(|problem| !problem.starts_with("there is no setting")))
    })?;
    let key = &path[section.replace("__", "_").len() + 1..];
    let right = format!("{PREFIX}{}__{}", section.to_uppercase(), key.to_uppercase());
    Some(format!(
        "environment variable {name} is ignored: a setting has capital letters, and two underscores between its parts, {right}"
    ))
}

/// Every section below a table, as a variable names it: `registry`, `registry__remote`.
fn sections(above: &str, table: &Table) -> Vec<String> {
    let tables = table.iter().filter_map(|(name, value)| Some((format!("{above}{name}"), value.as_table()?)));
    tables.flat_map(|(name, table)| [vec![name.clone()], sections(&format!("{name}__"), table)].concat()).collect()
}

fn with(config: &Config, path: &str, text: &str) -> Result<Config, String> {
    let mut table = Table::try_from(config).map_err(|error| error.to_string())?;
    let (section, key) = path.rsplit_once("__").ok_or("a setting is named HCERT__SECTION__KEY")?;
    let mut members = &mut table;
    for name in section.split("__") {
        let known: Vec<String> = members.keys().cloned().collect();
        let Some(Value::Table(below)) = members.get_mut(name) else {
            let meant = suggestion(name, known.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("; did you mean [{meant}]?")).unwrap_or_default();
            return Err(format!("there is no section [{}]{meant}", section.replace("__", ".")));
        };
        members = below;
    }
    let old = members.get(key).cloned();
    if let Some(Value::Table(_)) = old {
        return Err(format!("[{}] is a section; a variable sets one setting of it", path.replace("__", ".")));
    }
    members.insert(key.to_owned(), value(old.as_ref(), text));
    let taken = parsed(&table);
    // What an unset setting is, only its type knows.
    if old.is_none() && taken.as_ref().is_err_and(|problem| problem.contains("expected a list")) {
        let list = value(Some(&Value::Array(Vec::new())), text);
        let section = section.split("__").try_fold(&mut table, |table, name| table.get_mut(name)?.as_table_mut());
        section.expect("it was found above").insert(key.to_owned(), list);
        return parsed(&table);
    }
    taken
}

fn parsed(table: &Table) -> Result<Config, String> {
    table.clone().try_into().map_err(|error: toml::de::Error| plain(error.message(), &OF_TOML))
}

/// The value of a variable, in the type of the setting it replaces. An unset setting is a text, or else a list.
fn value(old: Option<&Value>, text: &str) -> Value {
    match old {
        None | Some(Value::String(_)) => Value::String(text.to_owned()),
        Some(Value::Array(_)) if !text.trim_start().starts_with('[') => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        Some(_) => toml(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn toml(text: &str) -> Option<Value> {
    let mut table = format!("value = {text}").parse::<Table>().ok().filter(|table| table.len() == 1)?;
    table.remove("value")
}

#[cfg(test)]
mod tests {
    use super::super::{RegistryMode, Secret};
    use super::*;

    fn load(variables: &[(&str, &str)]) -> Result<Config, String> {
        let mut config = Config::default();
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let Variables { problems, .. } = overlay(&mut config, variables);
        if problems.is_empty() { Ok(config) } else { Err(problems.join("\n")) }
    }

    #[test]
    fn every_kind_of_value_can_be_set() {
        let config = load(&[
            ("HCERT__SERVER__LISTEN", "127.0.0.1:9"),
            ("HCERT__SERVER__BASE_URL", "https://hcert.example.ee/fhir"),
            ("HCERT__SERVER__CONNECTIONS_MAX", "7"),
            ("HCERT__SERVER__TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
            ("HCERT__CERTIFICATE__UNIQUE_NUMBER", "true"),
            ("HCERT__REGISTRY__MODE", "remote"),
            ("HCERT__REGISTRY__REMOTE__ADDRESS", "https://mpi.example.ee/fhir"),
            ("HCERT__REGISTRY__REMOTE__TRIES", "5"),
            ("HCERT__REGISTRY__REMOTE__TOKEN", "12"),
            ("PATH", "/bin"),
        ])
        .unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:9");
        assert_eq!(config.server.base_url.as_deref(), Some("https://hcert.example.ee/fhir"));
        assert_eq!(config.server.connections_max, 7);
        assert_eq!(config.server.trusted_proxies.len(), 2);
        assert!(config.certificate.unique_number);
        assert_eq!(config.registry.mode, RegistryMode::Remote);
        assert_eq!(config.registry.remote.address.as_deref(), Some("https://mpi.example.ee/fhir"));
        assert_eq!(config.registry.remote.tries, 5);
        assert_eq!(config.registry.remote.token, Some(Secret("12".to_owned())));
        let list = load(&[("HCERT__SERVER__TRUSTED_PROXIES", "[\"10.0.0.0/8\"]")]).unwrap();
        assert_eq!(list.server.trusted_proxies.len(), 1);
        // A list that is unset otherwise.
        for (text, count) in [("10.0.0.1, 10.0.0.2", 2), ("[\"10.0.0.1\"]", 1), ("10.0.0.1", 1), ("", 0)] {
            let config = load(&[("HCERT__X_ROAD__FROM", text)]).unwrap();
            assert_eq!(config.x_road.from.map(|from| from.len()), Some(count), "{text}");
        }
        let refusal = load(&[("HCERT__X_ROAD__FROM", "10.0.0.1, nobody")]).unwrap_err();
        assert!(refusal.contains("HCERT__X_ROAD__FROM") && refusal.contains("fingerprint"), "{refusal}");
    }

    #[test]
    fn a_refused_variable_is_named() {
        for (name, value) in [
            ("HCERT__SERVER__LISTN", "x"),
            ("HCERT__SERVR__LISTEN", "x"),
            ("HCERT__LISTEN", "x"),
            ("HCERT__REGISTRY__REMOTE", "x"),
            ("HCERT__REGISTRY__REMOTE__ADRESS", "x"),
            ("HCERT__REGISTRY__REMOTE__TRIES", "many"),
            ("HCERT__REGISTRY__FAR__ADDRESS", "x"),
            ("HCERT__REGISTRY__MODE__ADDRESS", "x"),
            ("HCERT__SERVER__CONNECTIONS_MAX", "many"),
            ("HCERT__SERVER__CONNECTIONS_MAX", "1\nlisten = 2"),
            ("HCERT__CERTIFICATE__UNIQUE_NUMBER", "1"),
            ("HCERT__STORAGE__QUICK_REPAIR", "maybe"),
        ] {
            let refusal = load(&[(name, value)]).unwrap_err();
            assert!(refusal.contains(name), "{refusal}");
        }
    }

    #[test]
    fn the_value_of_a_refused_variable_is_not_shown_where_it_may_be_a_secret() {
        for (name, value) in [
            ("HCERT__REGISTRY__REMOTE", "sekret"),
            ("HCERT__REGISTRY__REMOTE__TRIES", "https://u:sekret@host"),
            ("HCERT__ACCESS__TOKEN__JWKS_REFRESH_S", "sekret"),
        ] {
            let refusal = load(&[(name, value)]).unwrap_err();
            assert!(refusal.contains(name) && !refusal.contains("sekret"), "{refusal}");
        }
    }

    #[test]
    fn a_variable_with_too_few_underscores_is_told_and_others_are_not() {
        let warnings = |name: &str| {
            let variables = [(OsString::from(name), OsString::from("8"))];
            let mut config = Config::default();
            let variables = overlay(&mut config, variables.into_iter());
            assert_eq!((config, variables.problems.len()), (Config::default(), 0));
            variables.warnings.join("\n")
        };
        for (name, right) in [
            ("HCERT_SERVER_WORKERS", "HCERT__SERVER__WORKERS"),
            ("HCERT_SERVER__WORKERS", "HCERT__SERVER__WORKERS"),
            ("HCERT_SERVER_BASE_URL", "HCERT__SERVER__BASE_URL"),
            ("HCERT_REGISTRY_REMOTE_TOKEN", "HCERT__REGISTRY__REMOTE__TOKEN"),
            ("HCERT_ACCESS_TOKEN_JWKS", "HCERT__ACCESS__TOKEN__JWKS"),
        ] {
            let told = warnings(name);
            assert!(told.contains(name) && told.ends_with(right), "{told}");
        }
        for other in ["HCERT_TEST_SEED", "HCERT_BODIES", "HCERT_SERVER", "HCERT_SERVER_", "HCERT_", "HCERT_SERVER_HOST"]
        {
            assert_eq!(warnings(other), "", "{other}");
        }
    }
}
