//! Settings that must not be shown.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

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

/// Whether a line of the settings names a secret, or is one, or has an address with a user and password.
pub(super) fn holds_secret(line: &str) -> bool {
    let line = unescaped(line).to_lowercase();
    SECRET_WORDS.iter().any(|word| line.contains(word)) || credentials(&line).is_some()
}

/// Whether a value is, or has, an identity of age, which opens archives: one who takes it for a recipient writes it into the settings.
pub(super) fn holds_identity(value: &str) -> bool {
    value.to_lowercase().contains("age-secret-key")
}

/// A text without what stands before the host in its addresses: user and password.
pub(super) fn without_credentials(text: &str) -> Cow<'_, str> {
    let without = |line: &str| match credentials(line) {
        Some(Range { start, end }) => format!("{}…{}", &line[..start], &line[end..]),
        None => line.to_owned(),
    };
    match text.contains("://") {
        true => Cow::Owned(text.split('\n').map(without).collect::<Vec<_>>().join("\n")),
        false => Cow::Borrowed(text),
    }
}

/// Where user and password stand in a line. A password may have any letter, so that it goes up to the last `@`.
fn credentials(line: &str) -> Option<Range<usize>> {
    let start = line.find("://")? + 3;
    let end = start + line[start..].rfind('@')?;
    Some(start..end)
}

/// A line of TOML in which every letter stands for itself: names may be written with escapes, as `"tok\u0065n"`.
fn unescaped(line: &str) -> String {
    let mut parts = line.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = match part.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let number = part.get(1..=digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match number.and_then(char::from_u32).filter(|_| digits > 0) {
            Some(letter) => {
                out.push(letter);
                out += &part[digits + 1..];
            }
            None => out += part,
        }
    }
    out
}

/// A problem without the value that it quotes, as in `found text "x", expected a list`.
pub(super) fn without_value(problem: &str) -> Cow<'_, str> {
    match problem.rsplit_once(", expected ") {
        Some((found, expected)) if found.starts_with("found ") || found.starts_with("invalid ") => {
            Cow::Owned(format!("found a value of another kind, expected {expected}"))
        }
        _ => Cow::Borrowed(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn a_name_with_escapes_and_an_address_with_a_password_are_secret() {
        for line in [
            r#""tok\u0065n" = ["x"]"#,
            r#""tok\U00000065n" = 1"#,
            r#""\x73ecret" = 1"#,
            r#"address = "https://u:p@host/fhir""#,
            r#"jwks = "https://u:p/a#b@host""#,
        ] {
            assert!(holds_secret(line), "{line}");
        }
        for line in [r#"address = "https://host/fhir""#, r#"owner = "a@b.ee""#, r"a\", r"a\u", r"a\u00zz", r"\uõõõõ"]
        {
            assert!(!holds_secret(line), "{line}");
        }
        assert_eq!(
            without_credentials("a 'https://u:p@q@host' is\nno 'http://h'"),
            "a 'https://…@host' is\nno 'http://h'"
        );
    }

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
