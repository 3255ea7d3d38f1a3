//! Characters that are not seen themselves and change how the text around them is shown.

/// Whether a character is a control character, ends a line or a paragraph (U+2028, U+2029), or embeds, overrides or isolates the direction
/// of writing. Of Unicode's `Bidi_Control` only the three plain marks are left out, which names may hold.
#[inline]
pub fn is_control_or_bidi(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
