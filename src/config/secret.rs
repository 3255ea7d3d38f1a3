//! Settings that must not be shown.

use std::borrow::Cow;
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

/// Parts of the names of settings whose values are secret, and the beginning of an identity of age.
const SECRET_WORDS: [&str; 4] = ["token", "secret", "password", "age-secret-key"];

/// Whether a line of the settings names a secret, or is one.
pub(super) fn holds_secret(line: &str) -> bool {
    let line = line.to_lowercase();
    SECRET_WORDS.iter().any(|word| line.contains(word))
}

/// A problem of the library without the value that it quotes, as in `invalid type: string "x", expected a list`.
pub(super) fn without_value(problem: &str) -> Cow<'_, str> {
    match (problem.split_once(": "), problem.rsplit_once(", expected ")) {
        (Some((what, _)), Some((_, expected))) if what.starts_with("invalid") => {
            Cow::Owned(format!("{what}, expected {expected}"))
        }
        _ => Cow::Borrowed(problem),
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
