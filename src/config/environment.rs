//! Variables `HCERT__SECTION__KEY` over what the file said; a section in a section is named `HCERT__SECTION__SECTION__KEY`.

use std::ffi::OsString;

use toml::{Table, Value};

use super::{Config, ConfigError};

const PREFIX: &str = "HCERT__";

/// Takes every variable that begins with `HCERT__` over into the settings.
///
/// A text stands for itself, lists may be written `a,b`; everything else is written as in TOML.
///
/// # Errors
/// An unknown key or a wrong type, naming the variable.
pub fn overlay(
    config: &mut Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), ConfigError> {
    for (name, text) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let refuse = |problem: String| ConfigError(format!("environment variable {name}: {problem}"));
        let text = text.to_str().ok_or_else(|| refuse("the value is not UTF-8".to_owned()))?;
        *config = with(config, &name[PREFIX.len()..].to_lowercase(), text).map_err(refuse)?;
    }
    Ok(())
}

fn with(config: &Config, path: &str, text: &str) -> Result<Config, String> {
    let mut table = Table::try_from(config).map_err(|error| error.to_string())?;
    let (section, key) = path.rsplit_once("__").ok_or("a setting is named HCERT__SECTION__KEY")?;
    let mut members = &mut table;
    for name in section.split("__") {
        let Some(Value::Table(below)) = members.get_mut(name) else {
            return Err(format!("there is no section [{}]", section.replace("__", ".")));
        };
        members = below;
    }
    let value = value(members.get(key), text);
    members.insert(key.to_owned(), value);
    table.try_into().map_err(|error: toml::de::Error| error.to_string().trim_end().to_owned())
}

/// The value of a variable, in the type of the setting it replaces. An unset setting is a text.
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
        overlay(&mut config, variables).map(|()| config).map_err(|error| error.0)
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
}
