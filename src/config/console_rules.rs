//! What `[console]` must be beyond its types.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::access::is_loopback;
use super::{AccessMode, Config, ConsoleSettings};
use crate::config::limits::{ANNOUNCEMENT_CHARACTERS_MAX, CONSOLE_LANGUAGES_MAX};

/// What is wrong with the section, beside TLS and the issuer's addresses.
pub(super) fn problems(config: &Config) -> Vec<String> {
    let console = &config.console;
    let mut problems = Vec::new();
    if let Some(base_url) = &console.base_url {
        let rest = base_url.split_once("://").map_or("", |(_, rest)| rest);
        if rest.is_empty() || rest.contains(['/', '@']) || !base_url.starts_with("http") {
            problems.push(format!(
                "console.base_url = '{base_url}' is not scheme, host and port, such as https://console.example.ee"
            ));
        }
    }
    if let Some(text) = &console.announcement
        && (text.trim().is_empty()
            || text.chars().count() > ANNOUNCEMENT_CHARACTERS_MAX
            || text.contains(char::is_control))
    {
        problems.push(format!(
            "console.announcement needs 1 to {ANNOUNCEMENT_CHARACTERS_MAX} characters in one line, and no control characters"
        ));
    }
    problems.extend(texts(&console.texts));
    problems.extend(console.listen.iter().flat_map(|listen| of_listener(config, listen)));
    problems
}

/// What is wrong with the names of files of texts. What is in them the console reads.
fn texts(files: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    if files.len() > CONSOLE_LANGUAGES_MAX {
        problems.push(format!("console.texts has {} files; {CONSOLE_LANGUAGES_MAX} are allowed", files.len()));
    }
    for (at, file) in files.iter().enumerate() {
        let why = match ConsoleSettings::language(file) {
            None => "its name must be the code of its language, such as ru.json",
            Some("et" | "en") => "the program has this language itself",
            Some(language) if files[..at].iter().any(|other| ConsoleSettings::language(other) == Some(language)) => {
                "another file has the same language"
            }
            Some(_) => continue,
        };
        problems.push(format!("console.texts: {}: {why}", file.display()));
    }
    problems
}

/// What a console that people sign in to needs.
fn of_listener(config: &Config, listen: &str) -> Vec<String> {
    let (console, token) = (&config.console, &config.access.token);
    let mut problems = Vec::new();
    for (key, value) in [
        ("console.client_id", &console.client_id),
        ("access.token.authorization_endpoint", &token.authorization_endpoint),
        ("access.token.token_endpoint", &token.token_endpoint),
    ] {
        if value.as_deref().is_none_or(str::is_empty) {
            problems.push(format!("console.listen needs {key}: people sign in at the issuer of tokens"));
        }
    }
    for (key, value) in [
        ("console.base_url", &console.base_url),
        ("access.token.authorization_endpoint", &token.authorization_endpoint),
        ("access.token.token_endpoint", &token.token_endpoint),
        ("access.token.end_session_endpoint", &token.end_session_endpoint),
    ] {
        let in_clear = value.as_deref().and_then(|address| address.strip_prefix("http://"));
        if in_clear.is_some_and(|rest| !is_loopback(rest)) {
            problems.push(format!("{key} is not https: who signs in to the console would be read by others"));
        }
    }
    let Ok(address) = listen.parse::<SocketAddr>() else {
        problems.push(format!("console.listen = '{listen}' is not an IP address with a port, such as 127.0.0.1:8090"));
        return problems;
    };
    let address = address.ip().to_canonical();
    if address.is_unspecified() && console.base_url.is_none() {
        problems.push(format!(
            "console.listen = '{listen}' means every interface, so console.base_url must say how browsers reach it"
        ));
    }
    let has_tls = config.tls.is_on() || config.server.plain_behind_proxy;
    if config.access.mode == AccessMode::Jwt && !address.is_loopback() && !has_tls {
        problems.push(format!(
            "at console.listen = '{listen}' others would read health data without TLS: set tls.certificate and tls.key, or listen on 127.0.0.1"
        ));
    }
    if config.server.plain_behind_proxy && !address.is_loopback() && console.base_url.is_none() {
        problems
            .push("console.listen behind a proxy needs console.base_url, the https:// address of the proxy".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AccessSettings;

    fn told(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        config.access.mode = AccessMode::Jwt;
        config.access.token.authorization_endpoint = Some("https://issuer.example.ee/auth".to_owned());
        config.access.token.token_endpoint = Some("https://issuer.example.ee/token".to_owned());
        config.console.listen = Some("127.0.0.1:8090".to_owned());
        config.console.client_id = Some("hcert-console".to_owned());
        change(&mut config);
        problems(&config).join("\n")
    }

    #[test]
    fn a_console_needs_an_issuer_that_signs_people_in() {
        assert_eq!(told(|_| ()), "");
        assert_eq!(told(|config| config.console = ConsoleSettings::default()), "");
        assert!(told(|config| config.console.client_id = None).contains("needs console.client_id"));
        let none = told(|config| config.access = AccessSettings::default());
        assert!(none.contains("authorization_endpoint") && none.contains("token_endpoint"), "{none}");
        let clear =
            told(|config| config.access.token.token_endpoint = Some("http://issuer.example.ee/token".to_owned()));
        assert!(clear.contains("access.token.token_endpoint is not https"), "{clear}");
        assert_eq!(told(|config| config.access.token.token_endpoint = Some("http://127.0.0.1:1/token".to_owned())), "");
    }

    #[test]
    fn other_machines_reach_it_over_tls_alone_and_by_a_known_address() {
        let at = |listen: &str, change: fn(&mut Config)| {
            told(|config| {
                config.console.listen = Some(listen.to_owned());
                change(config);
            })
        };
        let tls: fn(&mut Config) = |config| config.tls.certificate = Some("a.pem".into());
        let named: fn(&mut Config) = |config| config.console.base_url = Some("https://console.example.ee".to_owned());
        assert!(at("192.0.2.1:1", |_| ()).contains("without TLS"));
        assert_eq!(at("192.0.2.1:1", tls), "");
        assert!(at("0.0.0.0:1", tls).contains("every interface"));
        assert!(at("0.0.0.0:1", named).contains("without TLS"));
        assert!(at("localhost:1", |_| ()).contains("is not an IP address"));
        let proxy: fn(&mut Config) = |config| config.server.plain_behind_proxy = true;
        assert!(at("192.0.2.1:1", proxy).contains("needs console.base_url"));
    }

    #[test]
    fn the_address_of_browsers_is_an_origin() {
        let of = |base_url: &str| told(|config| config.console.base_url = Some(base_url.to_owned()));
        for right in ["https://console.example.ee", "https://console.example.ee:8443", "http://localhost:8090"] {
            assert_eq!(of(right), "", "{right}");
        }
        for wrong in ["https://a.ee/console", "https://user@a.ee", "ftp://a.ee", "https://", "a.ee"] {
            assert!(of(wrong).contains("is not scheme, host and port"), "{wrong}");
        }
        assert!(of("http://console.example.ee").contains("not https"));
    }

    #[test]
    fn files_of_texts_are_named_by_further_languages() {
        let of = |files: &[&str]| told(|config| config.console.texts = files.iter().map(PathBuf::from).collect());
        assert_eq!(of(&["texts/ru.json", "fi.json"]), "");
        for wrong in ["texts.json", "RU.json", "et.json", "r.json", "/"] {
            assert!(of(&[wrong]).contains("console.texts: "), "{wrong}");
        }
        assert!(of(&["ru.json", "old/ru.json"]).contains("same language"));
        assert!(of(&["ru.json"; CONSOLE_LANGUAGES_MAX + 1]).contains("are allowed"));
    }

    #[test]
    fn an_announcement_is_one_line() {
        let of = |text: String| told(|config| config.console.announcement = Some(text));
        assert_eq!(of("õ".repeat(ANNOUNCEMENT_CHARACTERS_MAX)), "");
        for wrong in ["õ".repeat(ANNOUNCEMENT_CHARACTERS_MAX + 1), " ".to_owned(), "a\nb".to_owned()] {
            assert!(of(wrong).contains("console.announcement"));
        }
    }
}
