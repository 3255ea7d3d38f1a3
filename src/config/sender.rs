//! Who may set the headers of X-Road: an address, a block of addresses, or the certificate that a client shows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Network;
use base::hex::{self, Hex};

/// `10.1.2.3`, `10.0.0.0/8`, or the SHA-256 fingerprint of a client certificate: 64 hexadecimal digits, with or without colons between pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum XRoadSender {
    Network(Network),
    Certificate([u8; 32]),
}

impl FromStr for XRoadSender {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match fingerprint(text) {
            Some(digest) => Ok(XRoadSender::Certificate(digest)),
            None => text.parse().map(XRoadSender::Network).map_err(|_| {
                let blocks = "an IP address, a block such as 10.0.0.0/8";
                format!(
                    "'{text}' is neither {blocks} nor the SHA-256 fingerprint of a certificate (64 hexadecimal digits)"
                )
            }),
        }
    }
}

fn fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits = match text.len() {
        64 => text.to_owned(),
        95 if text.split(':').all(|pair| pair.len() == 2) => text.replace(':', ""),
        _ => return None,
    };
    hex::parse(&digits)
}

impl fmt::Display for XRoadSender {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            XRoadSender::Network(network) => network.fmt(formatter),
            XRoadSender::Certificate(digest) => Hex(digest).fmt(formatter),
        }
    }
}

impl TryFrom<String> for XRoadSender {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<XRoadSender> for String {
    fn from(sender: XRoadSender) -> String {
        sender.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_an_address_a_block_or_a_fingerprint_however_it_is_written() {
        let digits = "0123456789abcdef".repeat(4);
        let pairs: Vec<&str> = (0..32).map(|at| &digits[2 * at..2 * at + 2]).collect();
        for text in [digits.clone(), digits.to_uppercase(), pairs.join(":"), pairs.join(":").to_uppercase()] {
            let sender: XRoadSender = text.parse().unwrap();
            assert!(matches!(sender, XRoadSender::Certificate(_)), "{text}");
            assert_eq!(sender.to_string(), digits);
        }
        for (text, written) in [("10.1.2.3", "10.1.2.3/32"), ("10.0.0.0/8", "10.0.0.0/8"), ("fd00::/8", "fd00::/8")] {
            assert_eq!(text.parse::<XRoadSender>().unwrap().to_string(), written);
        }
    }

    #[test]
    fn anything_else_is_refused_in_words() {
        let digits = "0123456789abcdef".repeat(4);
        let odd = format!("{}:{}", &digits[..31], &digits[..63]);
        for text in
            ["", "localhost", &digits[1..], &format!("{digits}0"), &digits.replace('a', "g"), &odd, &"õ".repeat(32)]
        {
            let refusal = text.parse::<XRoadSender>().unwrap_err();
            assert!(refusal.contains("SHA-256 fingerprint"), "{refusal}");
        }
    }
}
