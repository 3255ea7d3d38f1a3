//! `[management]`: where the service is watched from.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::limits;

/// `[management]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Management {
    /// Empty: nowhere. Unset: [`Management::USUAL`], if it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    pub allow_remote: bool,
    pub drain_notice_s: u64,
    pub disk_free_mb_min: u64,
}

impl Default for Management {
    fn default() -> Self {
        Management { listen: None, allow_remote: false, drain_notice_s: 0, disk_free_mb_min: limits::DISK_FREE_MB_MIN }
    }
}

impl Management {
    /// Where it listens unless the settings say otherwise.
    pub const USUAL: &str = "127.0.0.1:8081";

    /// The address to listen on; nothing when it is switched off.
    pub fn address(&self) -> Option<SocketAddr> {
        let listen = self.listen.as_deref().unwrap_or(Self::USUAL);
        (!listen.is_empty()).then(|| listen.parse().expect("the settings were checked when they were read"))
    }
}

/// What is wrong with these settings beyond types and ranges.
pub fn problems(management: &Management) -> Vec<String> {
    let listen = management.listen.as_deref().unwrap_or(Management::USUAL);
    let problem = match listen.parse::<SocketAddr>() {
        _ if listen.is_empty() => return Vec::new(),
        Err(_) => "is not an IP address with a port, such as 127.0.0.1:8081, and not empty",
        Ok(address) if !address.ip().to_canonical().is_loopback() && !management.allow_remote => {
            "can be reached from other machines, and whoever reaches it is told all; management.allow_remote = true allows it"
        }
        Ok(_) => return Vec::new(),
    };
    vec![format!("management.listen = '{listen}' {problem}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: &str, allow_remote: bool) -> Management {
        Management { listen: Some(listen.to_owned()), allow_remote, ..Management::default() }
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
    fn it_can_be_switched_off() {
        assert_eq!((problems(&at("", false)), at("", false).address()), (Vec::new(), None));
        assert_eq!(Management::default().address(), Management::USUAL.parse().ok());
    }
}
