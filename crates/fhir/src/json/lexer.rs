//! Strings, numbers and literals (`true`, `false`, `null`) of JSON: where each ends and what it means.
//!
//! Source: RFC 8259.

use std::borrow::Cow;

use crate::scan::special;

/// Reads a text from its beginning. Each method returns `None` where the text is not JSON.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Buffer for the characters of a string with escapes.
    unescaped: String,
    /// Whether the text, up to here, is as we would write it.
    pub as_written: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, unescaped: String::new(), as_written: true }
    }

    /// What was read so far.
    pub(super) fn read(&self) -> &'a str {
        &self.text[..self.at]
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// The next byte that is not white space.
    #[inline(always)]
    pub(super) fn sign(&mut self) -> Option<u8> {
        let mut sign = *self.text.as_bytes().get(self.at)?;
        if sign <= b' ' {
            self.as_written = false;
            self.skip_space();
            sign = *self.text.as_bytes().get(self.at)?;
        }
        self.at += 1;
        Some(sign)
    }

    /// The rest of a string whose quotation mark was read.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        let end = special(self.text.as_bytes(), start)?;
        match self.text.as_bytes()[end] {
            b'"' => {
                self.at = end + 1;
                Some(Cow::Borrowed(&self.text[start..end]))
            }
            b'\\' => self.escaped(start, end),
            _ => None,
        }
    }

    /// The rest of a number whose first byte was read, as it is written.
    pub(super) fn number(&mut self) -> Option<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let start = self.at - 1;
        let whole = start + usize::from(bytes[start] == b'-');
        let mut end = digits_end(bytes, whole)?;
        if bytes[whole] == b'0' && end > whole + 1 {
            return None;
        }
        if bytes.get(end) == Some(&b'.') {
            end = digits_end(bytes, end + 1)?;
        }
        if let Some(b'e' | b'E') = bytes.get(end) {
            let has_sign = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
            end = digits_end(bytes, end + 1 + usize::from(has_sign))?;
        }
        self.at = end;
        Some(Cow::Borrowed(&self.text[start..end]))
    }

    /// The rest of a literal whose first letter was read.
    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        let start = self.at - 1;
        self.at = start + word.len();
        (self.text.as_bytes().get(start..self.at)? == word.as_bytes()).then_some(())
    }

    /// A string with an escape at `end`.
    #[inline(never)]
    fn escaped(&mut self, mut start: usize, mut end: usize) -> Option<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        self.unescaped.clear();
        loop {
            self.unescaped.push_str(&self.text[start..end]);
            start = end + 1;
            match bytes[end] {
                b'"' => {
                    self.at = start;
                    return Some(Cow::Owned(self.unescaped.as_str().to_owned()));
                }
                b'\\' => {}
                _ => return None,
            }
            let character = match *bytes.get(start)? {
                sign @ (b'"' | b'\\') => char::from(sign),
                b'/' => {
                    self.as_written = false;
                    '/'
                }
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.as_written = false;
                    let (character, last) = self.by_number(start)?;
                    start = last;
                    character
                }
                _ => return None,
            };
            self.unescaped.push(character);
            start += 1;
            end = special(bytes, start)?;
        }
    }

    /// The character of an escape whose `u` stands at `start`, and where the escape has its last digit. A character beyond 16 bits is
    /// a surrogate pair, thus two escapes.
    fn by_number(&self, start: usize) -> Option<(char, usize)> {
        let unit = |start: usize| {
            let digits =
                self.text.get(start..start + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            u16::from_str_radix(digits?, 16).ok()
        };
        let first = unit(start + 1)?;
        if let Some(character) = char::from_u32(u32::from(first)) {
            return Some((character, start + 4));
        }
        let second =
            self.text.get(start + 5..start + 7).filter(|escape| *escape == r"\u").and_then(|_| unit(start + 7))?;
        let character = char::decode_utf16([first, second]).next()?.ok()?;
        Some((character, start + 10))
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }
}

/// Where the digits that begin here end; there must be one.
fn digits_end(bytes: &[u8], start: usize) -> Option<usize> {
    let count = bytes.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(start + count)
}
