//! Letters that are not seen themselves and change how what stands around them is seen.

/// Whether a letter moves others where text is shown: a control character, the end of a line or a paragraph, and what turns the direction
/// of writing or keeps a part of it apart (Unicode's `Bidi_Control` without the three plain marks).
pub fn moves_text(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
