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
}
