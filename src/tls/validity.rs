//! What the service reads of X.509 itself, because the TLS library does not tell it: from when to when a certificate is valid, and which
//! revocation list is the newest.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub not_before: i64,
    pub not_after: i64,
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const LIST_EXTENSIONS: u8 = 0xa0;
const POINT_NAME: u8 = 0xa0;
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;

/// 2.5.29.20. Source: RFC 5280, 5.2.3.
const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 0x14];

/// 2.5.29.28. Source: RFC 5280, 5.2.5.
const DISTRIBUTION_POINT: &[u8] = &[0x55, 0x1d, 0x1c];

/// Of a certificate in DER; nothing if it cannot be read. Source: RFC 5280, 4.1.
pub(super) fn of(certificate: &[u8]) -> Option<Validity> {
    let (certificate, _) = value(certificate, SEQUENCE)?;
    let (mut rest, _) = value(certificate, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = any(rest)?.2;
    }
    // Serial number, algorithm and issuer stand before it.
    for _ in 0..3 {
        rest = any(rest)?.2;
    }
    let (validity, _) = value(rest, SEQUENCE)?;
    let (tag, not_before, rest) = any(validity)?;
    let not_before = seconds(tag, not_before)?;
    let (tag, not_after, _) = any(rest)?;
    Some(Validity { not_before, not_after: seconds(tag, not_after)? })
}

/// What a revocation list says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RevocationListHead {
    /// When it was made, in seconds since 1970.
    pub this_update: i64,
    /// When the next one is due, in seconds since 1970.
    pub next_update: i64,
    /// Which of its authority's lists it is: big-endian, without leading zeros; empty if it does not say.
    pub number: Vec<u8>,
    /// Whether it holds the certificates of one distribution point alone.
    pub is_partial: bool,
}

/// The head of a revocation list in DER; nothing if it does not say when the next one is due. Source: RFC 5280, 5.
pub(super) fn list_head(list: &[u8]) -> Option<RevocationListHead> {
    let (list, _) = value(list, SEQUENCE)?;
    let (mut rest, _) = value(list, SEQUENCE)?;
    if rest.first() == Some(&INTEGER) {
        rest = any(rest)?.2;
    }
    // Algorithm and issuer stand before both.
    for _ in 0..2 {
        rest = any(rest)?.2;
    }
    let (tag, this_update, rest) = any(rest)?;
    let this_update = seconds(tag, this_update)?;
    let (tag, next_update, mut rest) = any(rest)?;
    let next_update = seconds(tag, next_update)?;
    let mut head = RevocationListHead { this_update, next_update, number: Vec::new(), is_partial: false };
    // The revoked certificates.
    if rest.first() == Some(&SEQUENCE) {
        rest = any(rest)?.2;
    }
    let Some((extensions, _)) = value(rest, LIST_EXTENSIONS) else { return Some(head) };
    let (mut extensions, _) = value(extensions, SEQUENCE)?;
    while !extensions.is_empty() {
        let (extension, rest) = value(extensions, SEQUENCE)?;
        extensions = rest;
        let (name, rest) = value(extension, OBJECT_ID)?;
        let rest = if rest.first() == Some(&BOOLEAN) { any(rest)?.2 } else { rest };
        let (contents, _) = value(rest, OCTET_STRING)?;
        match name {
            CRL_NUMBER => {
                let number = value(contents, INTEGER)?.0;
                head.number = number[number.iter().take_while(|byte| **byte == 0).count()..].to_vec();
            }
            DISTRIBUTION_POINT => {
                head.is_partial = value(contents, SEQUENCE)?.0.first() == Some(&POINT_NAME);
            }
            _ => {}
        }
    }
    Some(head)
}

/// Seconds since 1970, as certificates and revocation lists count.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// Contents of the first value, which has this tag, and what follows it.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, contents, rest) = any(bytes)?;
    (found == tag).then_some((contents, rest))
}

/// Tag and contents of the first value, and what follows it.
fn any(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // A certificate of 16 MB is none.
        0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

/// A time as certificates write it: in UTC, to the second, ending in Z.
fn seconds(tag: u8, text: &[u8]) -> Option<i64> {
    let digits = text.strip_suffix(b"Z").filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let number = |at: std::ops::Range<usize>| {
        digits[at].iter().fold(0_i16, |number, digit| number * 10 + i16::from(digit - b'0'))
    };
    let (year, at) = match (tag, digits.len()) {
        (UTC_TIME, 12) if number(0..2) < 50 => (2000 + number(0..2), 2),
        (UTC_TIME, 12) => (1900 + number(0..2), 2),
        (GENERALIZED_TIME, 14) => (number(0..4), 4),
        _ => return None,
    };
    let part = |index: usize| i8::try_from(number(at + 2 * index..at + 2 * index + 2)).ok();
    let moment = DateTime::new(year, part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, 0).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, CrlDistributionPoint,
        CrlIssuingDistributionPoint, IsCa, KeyIdMethod, KeyPair, SerialNumber, date_time_ymd,
    };

    use super::*;

    #[test]
    fn a_certificate_tells_from_when_to_when_it_is_valid() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2025, 1, 13);
        params.not_after = date_time_ymd(2060, 12, 31);
        let made = params.self_signed(&key).unwrap();
        let told = of(made.der()).unwrap();
        assert_eq!(told, Validity { not_before: 1_736_726_400, not_after: 2_871_676_800 });
    }

    #[test]
    fn both_forms_of_time_are_read() {
        assert_eq!(seconds(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(seconds(UTC_TIME, b"491231235959Z"), Some(2_524_607_999));
        assert_eq!(seconds(GENERALIZED_TIME, b"20500101000000Z"), Some(2_524_608_000));
        for text in [&b"700101000000"[..], b"7001010000Z", b"701301000000Z", b"70010100000aZ", b"Z", b""] {
            assert_eq!(seconds(UTC_TIME, text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_cut_or_damaged_tells_nothing_and_breaks_nothing() {
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let der = made.der().to_vec();
        for length in 0..der.len() {
            assert_eq!(of(&der[..length]), None);
        }
        for at in 0..der.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = der.clone();
                damaged[at] ^= change;
                let _ = (of(&damaged), list_head(&damaged));
            }
        }
    }

    #[test]
    fn a_list_tells_its_times_its_number_and_whether_it_is_partial() {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let list = |point: Option<&str>| {
            let list = CertificateRevocationListParams {
                this_update: date_time_ymd(2025, 1, 13),
                next_update: date_time_ymd(2060, 12, 31),
                crl_number: SerialNumber::from(256),
                issuing_distribution_point: point.map(|point| CrlIssuingDistributionPoint {
                    distribution_point: CrlDistributionPoint { uris: vec![point.to_owned()] },
                    scope: None,
                }),
                revoked_certs: Vec::new(),
                key_identifier_method: KeyIdMethod::Sha256,
            };
            list.signed_by(&ca).unwrap().der().to_vec()
        };
        for (point, is_partial) in [(None, false), (Some("http://a.ee/1.crl"), true)] {
            let der = list(point);
            let (this_update, next_update) = (1_736_726_400, 2_871_676_800);
            let head = RevocationListHead { this_update, next_update, number: vec![1, 0], is_partial };
            assert_eq!(list_head(&der), Some(head));
            for at in 0..der.len() {
                let _ = list_head(&der[..at]);
                for change in [1, 0x80, 0xff] {
                    let mut damaged = der.clone();
                    damaged[at] ^= change;
                    let _ = list_head(&damaged);
                }
            }
        }
    }
}
