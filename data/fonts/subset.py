#!/usr/bin/env python3
"""Writes Roboto-Regular.ttf and Roboto-Bold.ttf beside itself: Roboto as far as certificates need it.

    data/fonts/subset.py /usr/share/fonts/truetype/roboto/unhinted/RobotoTTF

The argument is the folder with the two fonts of Debian's package `fonts-roboto-unhinted` (2:0~20170802-3, licence Apache-2.0, see
LICENSE). It needs `python3-fonttools`, and the same fonts give the same bytes.

Kept are the letters of the languages that are written in Latin, Greek or Cyrillic script, punctuation, currencies and the signs of
arithmetic. Left out are hints, kerning and ligatures: the layout sets one glyph for one character. Added is U+25A1, the box that
stands for a character without a glyph.
"""

import pathlib
import sys

from fontTools import subset
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

RANGES = [
    (0x0020, 0x007E),  # Basic Latin
    (0x00A0, 0x00AC),  # Latin-1 without the soft hyphen
    (0x00AE, 0x024F),  # Latin-1, Latin Extended-A and -B
    (0x02C6, 0x02C7),  # spacing circumflex and caron
    (0x02D8, 0x02DD),  # spacing breve to double acute
    (0x0300, 0x0331),  # combining marks
    (0x0386, 0x03CE),  # Greek
    (0x0400, 0x045F),  # Cyrillic
    (0x0490, 0x0493),  # Cyrillic: Ukrainian, Kazakh
    (0x1E00, 0x1EFF),  # Latin Extended Additional
    (0x2010, 0x2027),  # general punctuation without what is invisible
    (0x2030, 0x205E),
    (0x2070, 0x208E),  # superscripts and subscripts
    (0x20A0, 0x20BF),  # currencies
    (0x2103, 0x2103),  # degree Celsius
    (0x2116, 0x2116),  # numero
    (0x2122, 0x2122),  # trade mark
    (0x2126, 0x2126),  # ohm
    (0x2150, 0x215E),  # fractions
    (0x2160, 0x217F),  # Roman numerals
    (0x2202, 0x2265),  # arithmetic
    (0xFB01, 0xFB02),  # fi, fl
]
BOX = 0x25A1


def box(font):
    """Adds a box as high as a capital letter, with the stroke of the letter I."""
    glyphs, capital = font["glyf"], font["OS/2"].sCapHeight
    stem = glyphs["I"].xMax - glyphs["I"].xMin
    side, bearing, stroke = capital * 4 // 5, capital // 8, stem // 2
    pen = TTGlyphPen(None)
    for points in (
        [(0, 0), (0, side), (side, side), (side, 0)],
        [(stroke, stroke), (side - stroke, stroke), (side - stroke, side - stroke), (stroke, side - stroke)],
    ):
        points = [(x + bearing, y) for x, y in points]
        pen.moveTo(points[0])
        for point in points[1:]:
            pen.lineTo(point)
        pen.closePath()
    glyphs["box"] = pen.glyph()
    font["hmtx"]["box"] = (side + 2 * bearing, bearing)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[BOX] = "box"


def main(folder):
    options = subset.Options()
    options.drop_tables += ["GDEF", "GPOS", "GSUB"]
    options.hinting = False
    options.layout_features = []
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.recalc_timestamp = False
    options.glyph_names = False
    for style in ("Regular", "Bold"):
        font = TTFont(folder / f"Roboto-{style}.ttf", recalcTimestamp=False)
        box(font)
        subsetter = subset.Subsetter(options)
        characters = [code for first, last in RANGES for code in range(first, last + 1)]
        subsetter.populate(unicodes=[*characters, BOX])
        subsetter.subset(font)
        font.save(pathlib.Path(__file__).with_name(f"Roboto-{style}.ttf"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
