//! From any text to lines of characters that can be drawn.

use unicode_linebreak::{BreakOpportunity, linebreaks};
use unicode_normalization::UnicodeNormalization;

use crate::font::{BOX, Face, Fonts};
use crate::sheet::PAGES_MAX;

/// Characters of a line. Combining marks have no width; of the narrowest character, the apostrophe, 290 fill a line.
const LINE_CHARACTERS_MAX: usize = 300;

/// Lines of a cell. More than the pages hold: a page has at most 60 lines of the smallest size.
pub(crate) const CELL_LINES_MAX: usize = 60 * PAGES_MAX;

/// Characters of a text that are laid out: more than so many lines hold.
const TEXT_CHARACTERS_MAX: usize = CELL_LINES_MAX * LINE_CHARACTERS_MAX;

/// Characters of a text in the metadata. A string of a PDF has at most 32,767 bytes.
const METADATA_CHARACTERS_MAX: usize = 1_000;

/// How a text looks. Lengths are in points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub(crate) is_bold: bool,
    pub(crate) size: f32,
    /// Height of a line.
    pub(crate) leading: f32,
    /// 0 is black.
    pub(crate) gray: u8,
}

/// A line of text.
#[derive(Clone, Debug)]
pub(crate) struct TextLine {
    pub(crate) text: String,
    pub(crate) style: TextStyle,
    /// Without the space at its end, which only says that a word ends here.
    pub(crate) width: f32,
    /// Which paragraph of its cell it belongs to.
    pub(crate) paragraph: usize,
}

/// A text of which every character has a glyph. Spaces are single, and `\n` ends a line.
#[derive(Debug, PartialEq)]
pub(crate) struct Drawable {
    pub(crate) text: String,
    /// Whether a box stands for a character.
    pub(crate) has_box: bool,
}

/// Composes letters and marks, leaves out what is invisible, and puts boxes in place of characters without a glyph.
pub(crate) fn drawable(text: &str, fonts: &Fonts) -> Drawable {
    let face = fonts.face(false);
    let (mut drawn, mut has_box, mut characters) = (String::new(), false, 0);
    for character in text.chars().map(spaced).filter(|character| !is_left_out(*character)).nfc() {
        let has_space = drawn.ends_with([' ', '\n']) || drawn.is_empty();
        match character {
            ' ' | '\n' if drawn.is_empty() || drawn.ends_with('\n') => continue,
            ' ' if has_space => continue,
            '\n' if has_space => drop(drawn.pop()),
            _ => {}
        }
        characters += 1;
        if characters > TEXT_CHARACTERS_MAX {
            break;
        }
        let has_glyph = character == '\n' || face.glyph(character).is_some();
        has_box |= !has_glyph;
        drawn.push(if has_glyph { character } else { BOX });
    }
    drawn.truncate(drawn.trim_end_matches([' ', '\n']).len());
    Drawable { text: drawn, has_box }
}

/// A text for the metadata: on one line, of any script, without what XML forbids.
pub(crate) fn metadata(text: &str) -> String {
    let one_line = text.chars().map(spaced).map(|character| if character == '\n' { ' ' } else { character });
    let kept = one_line.filter(|character| !is_left_out(*character)).skip_while(|character| character.is_whitespace());
    kept.take(METADATA_CHARACTERS_MAX).collect::<String>().trim_end().to_owned()
}

/// Whether there is nothing to see in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_left_out(character))
}

/// Appends the lines of a paragraph, up to [`CELL_LINES_MAX`]. A word that is longer than a line is cut.
pub(crate) fn break_lines(
    text: &str,
    style: TextStyle,
    width: f32,
    paragraph: usize,
    fonts: &Fonts,
    lines: &mut Vec<TextLine>,
) {
    let face = fonts.face(style.is_bold);
    let mut line = OpenLine { face, room: width / style.size, text: String::new(), width: 0.0, characters: 0 };
    let mut close = |line: &mut OpenLine| {
        let text = std::mem::take(&mut line.text);
        let width = face.width(text.trim_end_matches(' ')) * style.size;
        (line.width, line.characters) = (0.0, 0);
        lines.push(TextLine { text, style, width, paragraph });
        lines.len() < CELL_LINES_MAX
    };
    let mut start = 0;
    for (end, opportunity) in linebreaks(text) {
        let piece = &text[start..end];
        let word = piece.trim_end_matches([' ', '\n']);
        start = end;
        if !line.text.is_empty() && !line.has_room(word) && !close(&mut line) {
            return;
        }
        let is_cut = !line.has_room(word);
        for character in word.chars() {
            let is_full = is_cut && !line.text.is_empty() && !line.has_room(character.encode_utf8(&mut [0; 4]));
            if is_full && !close(&mut line) {
                return;
            }
            line.push(character);
        }
        if piece.len() > word.len() && opportunity == BreakOpportunity::Allowed {
            line.push(' ');
        }
        if opportunity == BreakOpportunity::Mandatory && !line.text.is_empty() && !close(&mut line) {
            return;
        }
    }
}

/// A line that more can be added to. Widths are those at size 1.
struct OpenLine<'f> {
    face: &'f Face,
    room: f32,
    text: String,
    width: f32,
    characters: usize,
}

impl OpenLine<'_> {
    fn has_room(&self, word: &str) -> bool {
        let characters = self.characters + word.chars().count();
        characters <= LINE_CHARACTERS_MAX && self.width + self.face.width(word) <= self.room
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
        self.characters += 1;
        self.width += self.face.glyph(character).map_or(0.0, |glyph| glyph.advance);
    }
}

/// White space is a space, a no-break space or the end of a line.
fn spaced(character: char) -> char {
    match character {
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        '\u{a0}' | '\u{2007}' | '\u{202f}' => '\u{a0}',
        other if other.is_whitespace() => ' ',
        other => other,
    }
}

/// Whether a character has no look of its own: controls, what Unicode calls ignorable, directions, and noncharacters.
///
/// Source: Unicode 17, `Default_Ignorable_Code_Point`, `Bidi_Control`, `Noncharacter_Code_Point`.
fn is_left_out(character: char) -> bool {
    match character {
        '\n' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control() || u32::from(other) & 0xfffe == 0xfffe,
    }
}
