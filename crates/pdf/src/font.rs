//! The two fonts: which characters they have, and how wide these are.

use std::collections::HashMap;

use krilla::text::{Font, GlyphId};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

// `data/fonts/subset.py` makes them.
const REGULAR: &[u8] = include_bytes!("../../../data/fonts/Roboto-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../../data/fonts/Roboto-Bold.ttf");

/// Stands for a character that the fonts do not have. They have this one.
pub(crate) const BOX: char = '□';

/// The fonts of a document, parsed. Both have the same characters.
#[derive(Clone)]
pub struct Fonts {
    regular: Face,
    bold: Face,
}

/// One font.
#[derive(Clone)]
pub(crate) struct Face {
    pub(crate) font: Font,
    glyphs: HashMap<char, FontGlyph>,
}

/// How a character is drawn.
#[derive(Clone, Copy)]
pub(crate) struct FontGlyph {
    pub(crate) id: GlyphId,
    /// Width at size 1.
    pub(crate) advance: f32,
}

impl Fonts {
    /// Parses the fonts that the program contains.
    pub fn shipped() -> Fonts {
        Fonts { regular: Face::parse(REGULAR), bold: Face::parse(BOLD) }
    }

    pub(crate) fn face(&self, is_bold: bool) -> &Face {
        if is_bold { &self.bold } else { &self.regular }
    }
}

impl Face {
    fn parse(bytes: &'static [u8]) -> Face {
        let font = Font::new(bytes.into(), 0).expect("a test parses the font");
        let parsed = FontRef::new(bytes).expect("a test parses the font");
        let widths = parsed.glyph_metrics(Size::new(1.0), LocationRef::default());
        let glyphs = parsed.charmap().mappings().filter_map(|(code, id)| {
            let advance = widths.advance_width(id)?;
            Some((char::from_u32(code)?, FontGlyph { id: GlyphId::new(id.to_u32()), advance }))
        });
        Face { glyphs: glyphs.collect(), font }
    }

    /// The glyph of a character; none for the characters that the font lacks.
    pub(crate) fn glyph(&self, character: char) -> Option<FontGlyph> {
        self.glyphs.get(&character).copied()
    }

    /// Width of a text at size 1.
    pub(crate) fn width(&self, text: &str) -> f32 {
        text.chars().filter_map(|character| self.glyph(character)).map(|glyph| glyph.advance).sum()
    }

    #[cfg(test)]
    pub(crate) fn characters(&self) -> std::collections::BTreeSet<char> {
        self.glyphs.keys().copied().collect()
    }
}
