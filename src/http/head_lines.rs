//! The lines of a head of HTTP/1.1 as they are read: what tells why hyper refuses it, and hyper does not say.

use crate::http::limits::TARGET_BYTES_MAX;

const CONTENT_LENGTH: &[u8] = b"content-length";

/// The longest body that hyper can tell from none: it keeps the two largest numbers for bodies without a length.
const LENGTH_MAX: u64 = u64::MAX - 2;

/// What was seen of a head so far. It holds none of its bytes.
#[derive(Debug, Default)]
pub(super) struct HeadLines {
    request_line: usize,
    at: HeadPart,
    has_endless_body: bool,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default)]
enum HeadPart {
    #[default]
    RequestLine,
    /// The name of a header, which so far is so many bytes of `Content-Length`.
    Name(usize),
    /// The value of `Content-Length`, and its digits so far.
    Length(u64),
    /// The rest of another header.
    Other,
    Body,
}

impl HeadLines {
    /// Sees the next bytes. What follows the head is not looked at.
    pub(super) fn see(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            let mut next = rest;
            self.at = match (self.at, *byte) {
                (HeadPart::RequestLine | HeadPart::Other, _) => {
                    let line = bytes.iter().position(|byte| *byte == b'\n');
                    let count = line.unwrap_or(bytes.len());
                    if matches!(self.at, HeadPart::RequestLine) {
                        self.request_line += count;
                    }
                    next = bytes.get(count + 1..).unwrap_or_default();
                    if line.is_some() { HeadPart::Name(0) } else { self.at }
                }
                (HeadPart::Name(_), b'\r') => HeadPart::Name(0),
                (HeadPart::Name(0), b'\n') | (HeadPart::Body, _) => return self.at = HeadPart::Body,
                (HeadPart::Name(count), b':') if count == CONTENT_LENGTH.len() => HeadPart::Length(0),
                (HeadPart::Name(count), byte) if CONTENT_LENGTH.get(count) == Some(&byte.to_ascii_lowercase()) => {
                    HeadPart::Name(count + 1)
                }
                (HeadPart::Length(number), b'0'..=b'9') => {
                    HeadPart::Length(number.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
                }
                (HeadPart::Length(number), b' ' | b'\t' | b'\r') => HeadPart::Length(number),
                (HeadPart::Length(number), b'\n') => {
                    self.has_endless_body |= number > LENGTH_MAX;
                    HeadPart::Name(0)
                }
                (HeadPart::Name(_), b'\n') => HeadPart::Name(0),
                (HeadPart::Name(_) | HeadPart::Length(_), _) => HeadPart::Other,
            };
            bytes = next;
        }
    }

    /// Whether the request line, ended or not, is longer than a target may be.
    pub(super) fn has_long_target(&self) -> bool {
        self.request_line > TARGET_BYTES_MAX
    }

    /// Whether a `Content-Length` is a number that hyper cannot hold.
    pub(super) fn has_endless_body(&self) -> bool {
        self.has_endless_body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str, piece: usize) -> HeadLines {
        let mut lines = HeadLines::default();
        text.as_bytes().chunks(piece).for_each(|piece| lines.see(piece));
        lines
    }

    #[test]
    fn a_length_beyond_what_hyper_holds_is_seen_however_the_head_arrives() {
        for (headers, is_endless) in [
            ("content-length: 18446744073709551613", false),
            ("content-length: 18446744073709551614", true),
            ("CONTENT-LENGTH:99999999999999999999999\t ", true),
            ("a: b\r\nContent-Length: 99999999999999999999999\r\nb: c", true),
            ("content-length: 99999999999999999999999a", false),
            ("content-length: -99999999999999999999999", false),
            ("content-lengths: 99999999999999999999999", false),
            ("x-content-length: 99999999999999999999999", false),
            ("content-length : 99999999999999999999999", false),
            ("a: content-length: 99999999999999999999999", false),
            ("content-length\r\n: 99999999999999999999999", false),
            ("a: b\r\n\r\ncontent-length: 99999999999999999999999", false),
        ] {
            let text = format!("POST / HTTP/1.1\r\n{headers}\r\n\r\n");
            for (text, piece) in [(text.clone(), 1), (text.clone(), 1_000), (text.replace('\r', ""), 7)] {
                assert_eq!(seen(&text, piece).has_endless_body(), is_endless, "{text:?}");
            }
        }
    }

    #[test]
    fn a_target_is_too_long_before_its_line_has_ended() {
        for (text, is_long) in [
            ("x".repeat(TARGET_BYTES_MAX), false),
            ("x".repeat(TARGET_BYTES_MAX + 1), true),
            (format!("GET / HTTP/1.1\r\na: {}", "x".repeat(TARGET_BYTES_MAX)), false),
        ] {
            assert_eq!(seen(&text, 1_000).has_long_target(), is_long);
        }
    }
}
