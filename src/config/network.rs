//! An address or a block of addresses, as proxies are named.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.1.2.3`, `10.0.0.0/8`, `::1` or `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address lies inside. An IPv4 address that arrives in IPv6 form counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (network, width) = number(self.address);
        let (address, other_width) = number(address.to_canonical());
        let host_bits = width - self.bits;
        width == other_width && network.checked_shr(host_bits) == address.checked_shr(host_bits)
    }

    /// Whether every address lies inside.
    pub fn is_everybody(&self) -> bool {
        self.bits == 0
    }
}

/// The address as a number and its width in bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u32::from(address).into(), 32),
        IpAddr::V6(address) => (address.into(), 128),
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refusal = || format!("'{text}' is neither an IP address nor a block such as 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| refusal())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| refusal())?;
        let width = number(address).1;
        let bits = bits.unwrap_or(width);
        if bits <= width { Ok(Network { address, bits }) } else { Err(refusal()) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        network.parse::<Network>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_block_holds_its_addresses_and_no_other() {
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("192.168.1.7", "192.168.1.7") && !holds("192.168.1.7", "192.168.1.6"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe00::1"));
        assert!(holds("0.0.0.0/0", "8.8.8.8") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("::/0", "2001:db8::1"));
        assert!(holds("127.0.0.1", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::1/129", "10.0.0.0/8/8"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
