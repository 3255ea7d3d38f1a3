//! `[management]`: where the service is watched from.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::limits;

/// `[management]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ManagementSettings {
    /// Empty: nowhere. Unset: [`ManagementSettings::USUAL`], if it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    pub allow_remote: bool,
    /// Names that callers may ask by, besides those of this machine.
    pub hosts: Vec<String>,
    /// A file that holds the bearer token for all pages but `/live` and `/ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// PEM; without it and its key there is no TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    pub drain_notice_s: u64,
    pub disk_free_mb_min: u64,
}

impl Default for ManagementSettings {
    fn default() -> Self {
        ManagementSettings {
            listen: None,
            allow_remote: false,
            hosts: Vec::new(),
            token_file: None,
            certificate: None,
            key: None,
            drain_notice_s: 0,
            disk_free_mb_min: limits::DISK_FREE_MB_MIN,
        }
    }
}

impl ManagementSettings {
    /// Where it listens unless the settings say otherwise.
    pub const USUAL: &str = "127.0.0.1:8081";

    /// Of addresses that it is asked by.
    pub fn scheme(&self) -> &'static str {
        if self.certificate.is_some() { "https" } else { "http" }
    }

    /// The address to listen on; nothing when it is switched off.
    pub fn address(&self) -> Option<SocketAddr> {
        let listen = self.listen.as_deref().unwrap_or(Self::USUAL);
        (!listen.is_empty()).then(|| listen.parse().expect("the settings were checked when they were read"))
    }
}

/// What is wrong with these settings beyond types and ranges.
pub(super) fn problems(management: &ManagementSettings) -> Vec<String> {
    let mut problems: Vec<String> = address_problem(management).into_iter().collect();
    if management.certificate.is_some() != management.key.is_some() {
        problems.push("management.certificate and management.key are needed together".to_owned());
    }
    let is_name = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    for host in management.hosts.iter().filter(|host| !is_name(host)) {
        problems.push(format!(
            "management.hosts = '{host}' is not a name such as watch.example.ee, without scheme and port"
        ));
    }
    problems
}

fn address_problem(management: &ManagementSettings) -> Option<String> {
    let listen = management.listen.as_deref().unwrap_or(ManagementSettings::USUAL);
    let problem = match listen.parse::<SocketAddr>() {
        _ if listen.is_empty() => return None,
        Err(_) => "is not an IP address with a port, such as 127.0.0.1:8081, and not empty",
        Ok(address) if !address.ip().to_canonical().is_loopback() && !management.allow_remote => {
            "can be reached from other machines, and whoever reaches it is told all; management.allow_remote = true allows it"
        }
        Ok(_) => return None,
    };
    Some(format!("management.listen = '{listen}' {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: &str, allow_remote: bool) -> ManagementSettings {
        ManagementSettings { listen: Some(listen.to_owned()), allow_remote, ..ManagementSettings::default() }
    }

    #[test]
    fn it_listens_on_this_machine_unless_more_is_allowed() {
        for listen in ["127.0.0.1:0", "[::1]:9", "127.1.2.3:8081", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(problems(&at(listen, false)), Vec::<String>::new(), "{listen}");
            assert_eq!(at(listen, false).address(), listen.parse().ok());
        }
        for listen in ["0.0.0.0:8081", "[::]:8081", "192.0.2.7:8081", "[::ffff:192.0.2.7]:1"] {
            assert!(problems(&at(listen, false))[0].contains("allow_remote"), "{listen}");
            assert_eq!(problems(&at(listen, true)), Vec::<String>::new(), "{listen}");
        }
        for listen in ["127.0.0.1", "localhost:8081", "8081", " "] {
            assert!(problems(&at(listen, true))[0].contains("not an IP address"), "{listen}");
        }
    }

    #[test]
    fn certificate_and_key_go_together_and_hosts_are_names() {
        let told = |management: ManagementSettings| problems(&management).join("\n");
        let half = ManagementSettings { key: Some("a.key".into()), ..ManagementSettings::default() };
        assert!(told(half).contains("needed together"));
        for (host, is_name) in
            [("watch.example.ee", true), ("", false), ("a:1", false), ("http://a", false), ("a b", false)]
        {
            let named = ManagementSettings { hosts: vec![host.to_owned()], ..ManagementSettings::default() };
            assert_eq!(told(named).is_empty(), is_name, "{host}");
        }
    }

    #[test]
    fn it_can_be_switched_off() {
        assert_eq!((problems(&at("", false)), at("", false).address()), (Vec::new(), None));
        assert_eq!(ManagementSettings::default().address(), ManagementSettings::USUAL.parse().ok());
    }
}
