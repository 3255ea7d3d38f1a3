//! Characters that could break a line, or make a terminal show something else than what is there, are written in their names.

use std::borrow::Cow;
use std::fmt::{self, Write};

use base::characters::is_control_or_bidi;

/// Writes what may stand within the quotes of a JSON string.
pub(super) struct InJson<'w>(pub &'w mut dyn Write);

/// Writes what may stand on a line of text.
pub(super) struct InText<'w>(pub &'w mut dyn Write);

impl Write for InJson<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        each_run(
            text,
            |character| is_dangerous(character) || matches!(character, '"' | '\\'),
            |run, character| {
                self.0.write_str(run)?;
                match character {
                    None => Ok(()),
                    Some(quoted @ ('"' | '\\')) => write!(self.0, "\\{quoted}"),
                    Some('\n') => self.0.write_str("\\n"),
                    Some('\r') => self.0.write_str("\\r"),
                    Some('\t') => self.0.write_str("\\t"),
                    // All of them lie in the basic plane.
                    Some(other) => write!(self.0, "\\u{:04x}", u32::from(other)),
                }
            },
        )
    }
}

impl Write for InText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        each_run(text, is_dangerous, |run, character| {
            self.0.write_str(run)?;
            character.map_or(Ok(()), |character| write!(self.0, "{}", character.escape_unicode()))
        })
    }
}

/// A text of several lines, such as a message with names that others chose, as it may be shown; also a JSON text, which stays one.
pub(in crate::cli) fn harmless(text: &str) -> Cow<'_, str> {
    let moves = |character: char| is_dangerous(character) && !matches!(character, '\n' | '\t');
    match text.contains(moves) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
            match moves(character) {
                true => shown.push_str(&format!("\\u{:04x}", u32::from(character))),
                false => shown.push(character),
            }
            shown
        })),
    }
}

/// A text that others may have chosen parts of, on one line.
pub(in crate::cli) fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    InText(&mut shown).write_str(text).expect("a String takes everything");
    shown
}

/// Bytes that [`InJson`] writes for a character.
pub(super) fn json_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        dangerous if is_dangerous(dangerous) => "\\u0000".len(),
        plain => plain.len_utf8(),
    }
}

/// Control characters, ends of lines and paragraphs, and marks that turn the direction of what follows.
fn is_dangerous(character: char) -> bool {
    is_control_or_bidi(character) || character == '\u{feff}'
}

/// Hands out each run of harmless characters with the dangerous one behind it; none behind the last.
fn each_run(
    text: &str,
    is_dangerous: impl Fn(char) -> bool,
    mut each: impl FnMut(&str, Option<char>) -> fmt::Result,
) -> fmt::Result {
    let mut rest = text;
    while let Some((at, character)) = rest.char_indices().find(|(_, character)| is_dangerous(*character)) {
        each(&rest[..at], Some(character))?;
        rest = &rest[at + character.len_utf8()..];
    }
    each(rest, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_others_chose_do_not_move_a_terminal() {
        assert_eq!(harmless("one\n\ttwo õ"), "one\n\ttwo õ");
        assert_eq!(harmless("a\u{1b}[2J\r\u{202e}b"), "a\\u001b[2J\\u000d\\u202eb");
        let json = serde_json::json!({ "name": "a\u{202e}b\u{1b}" }).to_string();
        let shown: serde_json::Value = serde_json::from_str(&harmless(&json)).unwrap();
        assert_eq!(shown["name"], "a\u{202e}b\u{1b}");
    }

    fn in_json(text: &str) -> String {
        let mut written = String::new();
        InJson(&mut written).write_str(text).unwrap();
        written
    }

    #[test]
    fn nothing_that_is_written_ends_a_line_or_a_string() {
        let all: String = (0..=0x2070).chain([0xfeff, 0x1f600]).filter_map(char::from_u32).collect();
        let written = in_json(&all);
        assert!(!written.chars().any(is_dangerous));
        let read: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
        assert_eq!(read, all, "and nothing is lost");
        assert!(
            all.chars().all(|character| in_json(character.encode_utf8(&mut [0; 4])).len() == json_bytes(character))
        );
        let mut text = String::new();
        InText(&mut text).write_str(&all).unwrap();
        assert!(!text.chars().any(is_dangerous));
    }

    #[test]
    fn escapes_are_those_of_json() {
        assert_eq!(in_json("a\"b\\c\nd\u{7f}\u{9b}\u{2028}õ"), r#"a\"b\\c\nd\u007f\u009b\u2028õ"#);
        let mut text = String::new();
        InText(&mut text).write_str("a\nb\u{1b}[2J").unwrap();
        assert_eq!(text, r"a\u{a}b\u{1b}[2J");
    }
}
