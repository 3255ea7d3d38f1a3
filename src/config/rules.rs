//! What a value must be beyond its type. All problems are told at once.

use toml::{Table, Value};

use super::access::{self, is_loopback};
use super::console_rules;
use super::within::is_within_by_name;
use super::{AccessMode, CallersToken, Config, ExchangeSettings, FaultRule, RegistryMode, management, tls};
use crate::config::limits::{
    AUDIT_FILE_MB_MAX, FAULT_PATTERN_CHARACTERS_MAX, FAULT_RULES_MAX, NAMESPACE_CHARACTERS_MAX, RECIPIENTS_MAX,
};

/// Why an archive's folder is refused.
pub const BACKUP_WITHIN_DATA: &str = "backup.folder must not lie in storage.data: one disk failure would lose both";

/// What can be used, but is most likely not meant.
pub(super) fn doubts(config: &Config) -> Vec<String> {
    let everybody = config.server.trusted_proxies.iter().filter(|network| network.is_everybody());
    let doubt = |network| {
        format!(
            "server.trusted_proxies has {network}, which is every address: the address that a caller says it has is believed, whoever it is"
        )
    };
    everybody.map(doubt).collect()
}

const X_ROAD_HEADERS: [&str; 4] = ["x-road-client", "x-road-id", "x-road-issue", "x-road-userid"];

/// A number's allowed range.
struct Range {
    key: &'static str,
    low: i64,
    high: i64,
    unit: &'static str,
}

#[rustfmt::skip]
const RANGES: &[Range] = &[
    //    key                        low     high        unit
    range("server.workers",            1,         64, "threads"),
    range("server.connections_max",    1,    100_000, "connections"),
    range("server.connections_per_address_max", 1, 100_000, "connections"),
    range("server.requests_max",       1,    100_000, "requests"),
    range("server.requests_per_address_max", 1, 100_000, "requests"),
    range("server.requests_per_second", 0,   100_000, "requests"),
    range("server.body_bytes_max", 1_024, 67_108_864, "bytes"),
    range("server.query_bytes_max",  256,     24_576, "bytes"),
    range("server.header_timeout_s",   1,      3_600, "seconds"),
    range("server.body_timeout_s",     1,      3_600, "seconds"),
    range("server.body_bytes_per_second_min", 1, 67_108_864, "bytes"),
    range("server.request_timeout_s",  1,      3_600, "seconds"),
    range("server.write_timeout_s",    1,      3_600, "seconds"),
    range("server.drain_timeout_s",    1,      3_600, "seconds"),
    range("storage.cache_mb",          8,  1_048_576, "megabytes"),
    range("search.count_default",      1,     10_000, "entries"),
    range("search.count_max",          1,     10_000, "entries"),
    range("search.link_minutes",       1,     10_080, "minutes"),
    range("audit.file_mb",             1,  AUDIT_FILE_MB_MAX as i64, "megabytes"),
    range("audit.retention_days",      0,     36_500, "days"),
    range("backup.every_minutes",      1,     44_640, "minutes"),
    range("backup.full_every",         1,      1_000, "backups"),
    range("backup.keep_days",          0,     36_500, "days"),
    range("backup.id_gap",             0, 1_000_000_000, "ids"),
    range("registry.remote.timeout_ms",       10,  60_000, "milliseconds"),
    range("registry.remote.deadline_ms",      10, 120_000, "milliseconds"),
    range("registry.remote.tries",             1,       5, "tries"),
    range("registry.remote.connections",       1,   1_024, "connections"),
    range("registry.remote.breaker_failures",  1,   1_000, "failures"),
    range("registry.remote.breaker_open_s",    1,   3_600, "seconds"),
    range("registry.remote.cache_s",           0,   3_600, "seconds"),
    range("access.token.jwks_refresh_s",      10,  86_400, "seconds"),
    range("access.token.jwks_age_max_s",      60, 2_592_000, "seconds"),
    range("access.token.leeway_s",             0,     300, "seconds"),
    range("access.token.max_lifetime_s",      60, 604_800, "seconds"),
    range("access.token.developer_seconds",    1,  86_400, "seconds"),
    range("console.expiry_warning_s",          0,   3_600, "seconds"),
    range("management.drain_notice_s",         0,     300, "seconds"),
    range("management.disk_free_mb_min",       0, 1_048_576, "megabytes"),
    range("log.sample",                        1, 1_000_000, "answers"),
];

const fn range(key: &'static str, low: i64, high: i64, unit: &'static str) -> Range {
    Range { key, low, high, unit }
}

/// Cuts slashes at the end of addresses, then checks every value. /// What comes back is every setting with a value that is not allowed, by its path and the reason.
pub(super) fn check(config: &mut Config) -> Vec<String> {
    cut_slashes(&mut config.server.base_path);
    config.server.base_url.as_mut().map(cut_slashes);
    config.registry.remote.address.as_mut().map(cut_slashes);
    config.console.base_url.as_mut().map(cut_slashes);

    let mut problems = Vec::new();
    let table = match Table::try_from(&*config) {
        Ok(table) => table,
        // A path of a flag may be no UTF-8.
        Err(error) => return vec![format!("a setting cannot be used: {error}")],
    };
    for Range { key, low, high, unit } in RANGES {
        match number(&table, key) {
            Some(number) if (*low..=*high).contains(&number) => {}
            Some(number) => problems.push(format!("{key} = {number} is out of range: {low} to {high} {unit}")),
            None => problems.push(format!("{key} is no number")),
        }
    }
    if config.search.count_default > config.search.count_max {
        problems.push("search.count_default must not be larger than search.count_max".to_owned());
    }
    if !is_path(&config.server.base_path) {
        problems.push(refusal("server.base_path", &config.server.base_path, "a path such as /fhir, or empty"));
    }
    for (key, text) in addresses(config, &table) {
        if !is_address(text) {
            problems.push(refusal(
                &key,
                text,
                "an absolute address without query, fragment, blanks or a slash at the end",
            ));
        }
    }
    for (key, text) in config.namespaces.pairs() {
        let characters = text.chars().count();
        if characters > NAMESPACE_CHARACTERS_MAX {
            problems
                .push(format!("namespaces.{key} has {characters} characters; {NAMESPACE_CHARACTERS_MAX} are allowed"));
        }
    }
    let remote = &config.registry.remote;
    let token = &config.access.token;
    for (key, text) in [
        ("server.base_url", &config.server.base_url),
        ("registry.remote.address", &remote.address),
        ("access.token.authorization_endpoint", &token.authorization_endpoint),
        ("access.token.token_endpoint", &token.token_endpoint),
        ("access.token.end_session_endpoint", &token.end_session_endpoint),
    ] {
        if let Some(text) = text.as_deref().filter(|text| !text.starts_with("http")) {
            problems.push(refusal(key, text, "an address that begins with http:// or https://"));
        }
    }
    if config.registry.mode == RegistryMode::Remote && remote.address.is_none() {
        problems.push("registry.mode = 'remote' needs registry.remote.address".to_owned());
    }
    if remote.address.as_deref().is_some_and(|text| text.contains('@')) {
        problems.push("registry.remote.address must hold no user and password; the credential is a setting".to_owned());
    }
    let in_clear = remote.address.as_deref().and_then(|text| text.strip_prefix("http://"));
    if config.access.mode == AccessMode::Jwt && in_clear.is_some_and(|rest| !is_loopback(rest)) {
        problems.push(
            "registry.remote.address is not https: personal codes and tokens would go to another machine in clear; `hcert dev` allows it"
                .to_owned(),
        );
    }
    let exchange = remote.exchange.endpoint.as_deref().and_then(|text| text.strip_prefix("http://"));
    if exchange.is_some_and(|rest| !is_loopback(rest)) {
        problems
            .push("registry.remote.exchange.endpoint is not https: the service's secret would go in clear".to_owned());
    }
    if remote.callers_token == CallersToken::Exchange {
        let ExchangeSettings { endpoint, audience, client_id, client_secret_file, .. } = &remote.exchange;
        for (key, value) in [
            ("endpoint", endpoint),
            ("audience", audience),
            ("client_id", client_id),
            ("client_secret_file", client_secret_file),
        ] {
            if value.as_deref().is_none_or(str::is_empty) {
                problems
                    .push(format!("registry.remote.callers_token = 'exchange' needs registry.remote.exchange.{key}"));
            }
        }
    }
    if remote.token.is_some() && remote.token_file.is_some() {
        problems.push("registry.remote.token and registry.remote.token_file exclude each other".to_owned());
    }
    if remote.timeout_ms > remote.deadline_ms {
        problems.push("registry.remote.timeout_ms must not be larger than registry.remote.deadline_ms".to_owned());
    }
    if config.storage.data.as_os_str().is_empty() {
        problems.push("storage.data is empty; it needs the path of a folder".to_owned());
    }
    if config.backup.folder.as_deref().is_some_and(|folder| is_within_by_name(folder, &config.storage.data)) {
        problems.push(BACKUP_WITHIN_DATA.to_owned());
    }
    let recipients = config.backup.recipients.len();
    if recipients > RECIPIENTS_MAX {
        problems.push(format!("backup.recipients has {recipients} recipients; {RECIPIENTS_MAX} are allowed"));
    }
    // Whoever encrypts reads the rest of them.
    let is_recipient =
        |text: &&String| text.starts_with("age1") && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for recipient in config.backup.recipients.iter().filter(|recipient| !is_recipient(recipient)) {
        problems.push(match recipient.to_uppercase().contains("AGE-SECRET-KEY-") {
            // It must not be shown.
            true => "backup.recipients holds an identity, which opens archives and is kept elsewhere; name its recipient (age1…)".to_owned(),
            false => refusal("backup.recipients", recipient, "a recipient of age (age1…, as age-keygen prints it)"),
        });
    }
    const HEADERS: [&str; 4] = ["x-road-issue", "x-road-userid", "x-road-id", "x-author-id"];
    for name in config.x_road.required_headers.iter().filter(|name| !X_ROAD_HEADERS.contains(&name.as_str())) {
        problems.push(refusal("x_road.required_headers", name, &format!("one of {}", X_ROAD_HEADERS.join(", "))));
    }
    let services =
        [("x_road.fhir_service", &config.x_road.fhir_service), ("x_road.token_service", &config.x_road.token_service)];
    let subsystems = config.x_road.subsystems.iter().map(|name| ("x_road.subsystems", name));
    for (key, name) in services.into_iter().chain(subsystems) {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            problems.push(refusal(key, name, "a name of letters, digits, -, _ and ."));
        }
    }
    if config.x_road.fhir_service == config.x_road.token_service {
        problems.push("x_road.fhir_service and x_road.token_service must differ".to_owned());
    }
    for name in config.registry.required_headers.iter().filter(|name| !HEADERS.contains(&name.as_str())) {
        problems.push(refusal("registry.required_headers", name, &format!("one of {}", HEADERS.join(", "))));
    }
    problems.extend(tls::problems(
        &config.tls,
        config.x_road.from.as_deref().unwrap_or_default(),
        config.server.plain_behind_proxy,
    ));
    problems.extend(access::problems(&config.access));
    problems.extend(console_rules::problems(config));
    problems.extend(management::problems(&config.management));
    problems.extend(faults(&config.registry.fault));
    problems
}

/// What rules for faults must be.
fn faults(rules: &[FaultRule]) -> Vec<String> {
    let mut problems = Vec::new();
    if rules.len() > FAULT_RULES_MAX {
        problems.push(format!("registry.fault has {} rules; {FAULT_RULES_MAX} are allowed", rules.len()));
    }
    for (number, rule) in rules.iter().enumerate() {
        problems.extend(rule.problems().into_iter().map(|problem| format!("registry.fault[{number}]{problem}")));
    }
    problems
}

impl FaultRule {
    /// What is wrong with it, to be read behind its name. The fault itself is read by the registry, which knows the codes.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let ((Some(pattern), None) | (None, Some(pattern))) = (&self.identifier, &self.path) else {
            return vec![" needs either an identifier or a path".to_owned()];
        };
        if pattern.is_empty() || pattern.chars().count() > FAULT_PATTERN_CHARACTERS_MAX {
            problems.push(format!(": its pattern needs 1 to {FAULT_PATTERN_CHARACTERS_MAX} characters"));
        }
        if self.path.as_deref().is_some_and(|path| !path.starts_with(['/', '*'])) {
            problems.push(format!(".path = '{pattern}' is not a path such as /Patient/2*"));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            problems.push(format!(".probability = {} is out of range: 0 to 1", self.probability));
        }
        if self.times == Some(0) {
            problems.push(".times = 0 is out of range: at least 1".to_owned());
        }
        problems
    }
}

fn refusal(key: &str, text: &str, expected: &str) -> String {
    format!("{key} = '{text}' is not {expected}")
}

fn number(table: &Table, key: &str) -> Option<i64> {
    let (section, key) = key.rsplit_once('.')?;
    let section = section.split('.').try_fold(table, |table, name| table.get(name)?.as_table())?;
    section.get(key)?.as_integer()
}

/// Every setting that must be an absolute address.
fn addresses<'a>(config: &'a Config, table: &'a Table) -> Vec<(String, &'a str)> {
    let namespaces = table.get("namespaces").and_then(Value::as_table).into_iter().flatten();
    let namespaces = namespaces.filter_map(|(key, value)| Some((format!("namespaces.{key}"), value.as_str()?)));
    let external = &config.registry.external_reference_system;
    let base_url = config.server.base_url.iter().map(|text| ("server.base_url".to_owned(), text.as_str()));
    let remote =
        config.registry.remote.address.iter().map(|text| ("registry.remote.address".to_owned(), text.as_str()));
    let token = &config.access.token;
    let endpoints = [
        ("console.base_url", &config.console.base_url),
        ("access.token.authorization_endpoint", &token.authorization_endpoint),
        ("access.token.token_endpoint", &token.token_endpoint),
        ("access.token.end_session_endpoint", &token.end_session_endpoint),
    ];
    let endpoints = endpoints.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?)));
    let external = [("registry.external_reference_system".to_owned(), external.as_str())];
    namespaces.chain(external).chain(base_url).chain(remote).chain(endpoints).collect()
}

fn cut_slashes(text: &mut String) {
    text.truncate(text.trim_end_matches('/').len());
}

fn is_path(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.is_empty() || (text.starts_with('/') && !text.contains("//") && text.bytes().all(plain))
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or(text.strip_prefix("http://")).or(text.strip_prefix("urn:"));
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}?#".contains(&byte);
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !text.ends_with('/')
        && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::super::{RemoteSettings, Secret};
    use super::*;

    fn problems(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        check(&mut config).join("\n")
    }

    #[test]
    fn every_number_is_refused_one_below_and_one_above_its_range() {
        for Range { key, low, high, unit } in RANGES {
            let (section, name) = key.rsplit_once('.').unwrap();
            for (number, allowed) in [(low - 1, false), (*low, true), (*high, true), (high + 1, false)] {
                let mut table = Table::try_from(Config::default()).unwrap();
                let section = section.split('.').fold(&mut table, |table, name| table[name].as_table_mut().unwrap());
                section[name] = Value::Integer(number);
                // A negative number is none of the setting's type, which is refused before.
                let Ok(mut config) = table.try_into::<Config>() else {
                    assert!(number < 0, "{key} = {number}");
                    continue;
                };
                if name == "count_default" {
                    config.search.count_max = 10_000;
                } else if name == "count_max" {
                    config.search.count_default = 1;
                } else if name == "timeout_ms" {
                    config.registry.remote.deadline_ms = 120_000;
                } else if name == "jwks_age_max_s" {
                    config.access.token.jwks_refresh_s = 10;
                } else if name == "deadline_ms" {
                    config.registry.remote.timeout_ms = 10;
                }
                let refusal = check(&mut config).join("\n");
                assert_eq!(refusal.is_empty(), allowed, "{key} = {number}: {refusal}");
                let names = |words: &str| allowed || refusal.contains(words);
                assert!(names(&format!("{key} = {number}")) && names(unit), "{refusal}");
            }
        }
    }

    #[test]
    fn every_number_of_the_settings_has_a_range() {
        fn walk(above: &str, table: &Table) {
            for (name, value) in table {
                let key = format!("{above}{name}");
                match value {
                    Value::Table(below) => walk(&format!("{key}."), below),
                    _ => assert_eq!(value.is_integer(), RANGES.iter().any(|range| range.key == key), "{key}"),
                }
            }
        }
        walk("", &Table::try_from(Config::default()).unwrap());
    }

    #[test]
    fn a_remote_registry_needs_an_address_and_one_credential_at_most() {
        let remote = |change: fn(&mut RemoteSettings)| {
            problems(|config| {
                config.registry.mode = RegistryMode::Remote;
                config.registry.remote.address = Some("https://mpi.example.ee/fhir/".to_owned());
                change(&mut config.registry.remote);
            })
        };
        assert_eq!(remote(|_| ()), "");
        assert!(remote(|remote| remote.address = None).contains("needs registry.remote.address"));
        let told = remote(|remote| remote.callers_token = CallersToken::Exchange);
        assert!(told.contains("exchange.endpoint") && told.contains("exchange.client_secret_file"), "{told}");
        let told = remote(|remote| remote.exchange.endpoint = Some("http://issuer.example.ee/token".to_owned()));
        assert!(told.contains("in clear"), "{told}");
        for (mode, address, is_refused) in [
            (AccessMode::Developer, "http://10.1.2.3/fhir", false),
            (AccessMode::Jwt, "http://10.1.2.3/fhir", true),
            (AccessMode::Jwt, "http://127.0.0.1:8090/fhir", false),
        ] {
            let told = problems(|config| {
                config.access.mode = mode;
                config.registry.mode = RegistryMode::Remote;
                config.registry.remote.address = Some(address.to_owned());
            });
            assert_eq!(told.contains("registry.remote.address is not https"), is_refused, "{mode:?} {address}: {told}");
        }
        for address in ["urn:x", "mpi.example.ee", "https://mpi.example.ee?a=b", "https://user:word@mpi.example.ee"] {
            let told = problems(|config| config.registry.remote.address = Some(address.to_owned()));
            assert!(told.contains("registry.remote.address"), "{address}: {told}");
        }
        let both = remote(|remote| {
            remote.token = Some(Secret("very-secret".to_owned()));
            remote.token_file = Some("token".into());
        });
        assert!(both.contains("exclude each other") && !both.contains("very-secret"), "{both}");
        assert!(remote(|remote| remote.deadline_ms = 100).contains("timeout_ms"));
    }

    #[test]
    fn slashes_at_the_end_are_cut() {
        let mut config = Config::default();
        config.server.base_url = Some("https://hcert.example.ee/fhir/".to_owned());
        config.server.base_path = "/".to_owned();
        assert!(check(&mut config).is_empty());
        assert_eq!(config.server.base_url.as_deref(), Some("https://hcert.example.ee/fhir"));
        assert_eq!(config.server.base_path, "");
    }

    #[test]
    fn addresses_that_cannot_stand_in_an_answer_are_refused() {
        for text in [
            "",
            " ",
            "hcert.example.ee",
            "https://",
            "https://a b",
            "https://a?b",
            "https://a#b",
            "https://a\nb",
            "ftp://a",
            "https:///",
        ] {
            assert!(problems(|config| config.server.base_url = Some(text.to_owned())).contains("base_url"), "{text}");
            assert!(problems(|config| config.namespaces.hcert_ns = text.to_owned()).contains("hcert_ns"), "{text}");
            let problem = problems(|config| config.namespaces.person_identifier_base = text.to_owned());
            assert!(problem.contains("namespaces.person_identifier_base = '"), "{text}: {problem}");
        }
        let (fits, long) = ("x".repeat(NAMESPACE_CHARACTERS_MAX - 8), "x".repeat(NAMESPACE_CHARACTERS_MAX - 7));
        assert_eq!(problems(|config| config.namespaces.hcert_ns = format!("https://{fits}")), "");
        let told = problems(|config| config.namespaces.hcert_ns = format!("https://{long}"));
        assert_eq!(told, "namespaces.hcert_ns has 161 characters; 160 are allowed");
        let slash = problems(|config| config.namespaces.person_identifier_base = "https://fhir.ee/sid/".to_owned());
        assert!(slash.contains("person_identifier_base") && slash.contains("a slash at the end"), "{slash}");
        assert!(problems(|config| config.server.base_url = Some("urn:x".to_owned())).contains("http://"));
        for text in ["fhir", "/a b", "/a?b", "/%20", "//a"] {
            assert!(problems(|config| config.server.base_path = text.to_owned()).contains("base_path"), "{text}");
        }
    }

    #[test]
    fn a_rule_for_faults_needs_one_pattern_a_probability_and_a_number_of_strikes() {
        let told = |rule: &str| {
            let text = format!("[[registry.fault]]\nfault = \"timeout\"\n{rule}");
            let mut config = Config::parse(&text).unwrap();
            check(&mut config).join("\n")
        };
        let longest = "a".repeat(FAULT_PATTERN_CHARACTERS_MAX);
        for right in [
            "path = \"*\"",
            "path = \"/Patient/2*\"\nprobability = 0.0\nseed = 7\ntimes = 1",
            "identifier = \"s|376*\"\nprobability = 1.0",
            &format!("identifier = \"{longest}\""),
        ] {
            assert_eq!(told(right), "", "{right}");
        }
        for (wrong, problem) in [
            ("", "registry.fault[0] needs either an identifier or a path"),
            ("path = \"*\"\nidentifier = \"a\"", "either an identifier or a path"),
            ("identifier = \"\"", "1 to 512 characters"),
            (&format!("identifier = \"{longest}a\""), "1 to 512 characters"),
            ("path = \"Patient/2\"", "registry.fault[0].path = 'Patient/2'"),
            ("path = \"*\"\nprobability = 1.1", "probability = 1.1 is out of range: 0 to 1"),
            ("path = \"*\"\nprobability = -0.1", "probability = -0.1"),
            ("path = \"*\"\nprobability = nan", "probability = NaN"),
            ("path = \"*\"\ntimes = 0", "times = 0 is out of range"),
        ] {
            assert!(told(wrong).contains(problem), "{wrong}: {}", told(wrong));
        }
        assert!(Config::parse("[[registry.fault]]\npath = \"*\"").unwrap_err().0.contains("missing field `fault`"));
        assert!(Config::parse("[[registry.fault]]\nfalt = \"*\"").unwrap_err().0.contains("`falt`"));
    }

    #[test]
    fn rules_for_faults_are_bounded() {
        let rule = FaultRule {
            identifier: None,
            path: Some("*".to_owned()),
            fault: "timeout".to_owned(),
            probability: 1.0,
            seed: 0,
            times: None,
        };
        let with = |count| problems(|config| config.registry.fault = vec![rule.clone(); count]);
        assert_eq!(with(FAULT_RULES_MAX), "");
        assert!(with(FAULT_RULES_MAX + 1).contains("has 257 rules; 256 are allowed"));
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let told = problems(|config| {
            config.server.workers = 0;
            config.search.count_default = 101;
        });
        assert_eq!(told.lines().count(), 2, "{told}");
    }
}
