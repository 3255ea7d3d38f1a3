//! A setting that must not be shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A credential. `Debug` shows that there is one, and no more.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn a_secret_is_not_shown_with_the_settings() {
        let mut config = Config::default();
        config.registry.remote.token = Some(Secret("very-secret".to_owned()));
        let shown = format!("{config:?} {config:#?}");
        assert!(shown.contains("Secret(…)") && !shown.contains("very-secret"), "{shown}");
    }

    #[test]
    fn equal_settings_have_the_same_fingerprint_and_a_secret_counts() {
        let mut config = Config::default();
        let before = config.fingerprint();
        assert_eq!((before.len(), Config::default().fingerprint()), (16, before.clone()));
        config.registry.remote.token = Some(Secret("very-secret".to_owned()));
        let with = config.fingerprint();
        config.registry.remote.token = Some(Secret("other-secret".to_owned()));
        assert!(with != before && with != config.fingerprint() && with.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}
