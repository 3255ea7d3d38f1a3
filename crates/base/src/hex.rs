//! Bytes as text: two hexadecimal digits each.

use std::fmt;

/// Bytes as they stand in headers, in the log and in heads: two small digits each.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Reads so many bytes; digits may be small or large. None for anything else.
pub fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = text.len() == 2 * N && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(is_hex.then_some(text)?.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// As [`parse`], of what [`Hex`] has written and nothing else.
pub fn parse_shown<const N: usize>(text: &str) -> Option<[u8; N]> {
    parse(text).filter(|bytes| Hex(bytes).to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_shown_and_nothing_else_is() {
        let bytes = [0x0f, 0xA0];
        assert_eq!(Hex(&bytes).to_string(), "0fa0");
        assert_eq!((parse("0fa0"), parse("0FA0"), parse_shown("0fa0")), (Some(bytes), Some(bytes), Some(bytes)));
        for wrong in ["", "0fa", "0fa00", "0fag", "+fa0", "õa0"] {
            assert_eq!(parse::<2>(wrong), None, "{wrong}");
        }
        assert_eq!(parse_shown::<2>("0FA0"), None);
    }
}
