//! Blocks as strips: lines in cells side by side, which stay on one page where they can.

use qrcodegen::{QrCode, QrCodeEcc};

use crate::fault::PdfFault;
use crate::font::Fonts;
use crate::line::{CELL_LINES_MAX, TextLine, TextStyle, break_lines, drawable, is_blank, metadata};
use crate::sheet::{Block, SheetRow};

/// Width between the margins of A4, in points, as all lengths here.
pub(crate) const TEXT_WIDTH: f32 = 481.0;

/// Distance of text from the frame around it.
const FRAME_PADDING: f32 = 11.0;

/// Where the values of a table begin.
const VALUE_X: f32 = 158.0;

/// Where the text of a list begins.
const ITEM_X: f32 = 14.0;

/// Distance of text from a QR code, more than the four modules that have to stay white.
const CODE_GAP: f32 = 22.0;

/// Side of a QR code, and the least side of one of its modules: 0.55 mm can be read from paper.
const CODE_SIDE: f32 = 104.0;
const MODULE_SIDE: f32 = 1.6;

/// No QR code holds more: 7,089 digits at the lowest level of correction.
const CODE_BYTES_MAX: usize = 7_089;

const TITLE: TextStyle = TextStyle { is_bold: true, size: 22.0, leading: 27.0, gray: 0 };
const STATE: TextStyle = TextStyle { is_bold: true, size: 16.0, leading: 24.0, gray: 0 };
const HEADING: TextStyle = TextStyle { is_bold: true, size: 13.0, leading: 17.0, gray: 0 };
const TEXT: TextStyle = TextStyle { is_bold: false, size: 10.5, leading: 14.5, gray: 0 };
const STRONG: TextStyle = TextStyle { is_bold: true, ..TEXT };
/// The leading is that of the values beside it.
const LABEL: TextStyle = TextStyle { is_bold: false, size: 10.5, leading: 14.5, gray: 80 };
/// Beside a QR code: the 64 digits of a SHA-256 are one line.
const CAPTION: TextStyle = TextStyle { is_bold: false, size: 9.5, leading: 13.5, gray: 0 };
/// Small print, the smallest there is.
const NOTE: TextStyle = TextStyle { is_bold: false, size: 9.5, leading: 13.0, gray: 80 };

/// What the strips of a section are, for the tags.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SectionKind {
    /// The title of the document, with its text.
    Title(String),
    /// A heading, with its text.
    Heading(String),
    /// Paragraphs.
    Text,
    /// A table.
    Rows,
    /// A list.
    List,
    /// A figure, with the text that stands for it, and paragraphs.
    Code(String),
}

/// A block of a sheet, ready to be put on pages.
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    pub(crate) strips: Vec<Strip>,
}

/// Cells side by side.
#[derive(Default)]
pub(crate) struct Strip {
    pub(crate) cells: Vec<Cell>,
    pub(crate) code: Option<DrawnCode>,
    /// Distance from what is above it, but not at the top of a page.
    pub(crate) gap: f32,
    /// Distance of its lines from its upper and its lower edge.
    pub(crate) padding: f32,
    pub(crate) ornament: Ornament,
    /// Whether it may be divided between pages even where one page can hold it.
    pub(crate) may_break: bool,
}

/// Lines one below the other.
pub(crate) struct Cell {
    pub(crate) x: f32,
    pub(crate) lines: Vec<TextLine>,
}

/// A QR code with the length of its side.
pub(crate) struct DrawnCode {
    pub(crate) code: QrCode,
    pub(crate) side: f32,
}

/// What is drawn around a strip.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Ornament {
    #[default]
    None,
    /// A fine line below it.
    Rule,
    /// A frame around it.
    Frame,
}

impl Strip {
    pub(crate) fn height(&self) -> f32 {
        let lines = |cell: &Cell| cell.lines.iter().map(|line| line.style.leading).sum::<f32>();
        let highest = self.cells.iter().map(lines).fold(0.0, f32::max);
        highest.max(self.code.as_ref().map_or(0.0, |code| code.side)) + 2.0 * self.padding
    }

    /// How much of it at least begins on a page.
    pub(crate) fn first_part(&self) -> f32 {
        let lines = |cell: &Cell| cell.lines.iter().take(2).map(|line| line.style.leading).sum::<f32>();
        let highest = self.cells.iter().map(lines).fold(0.0, f32::max);
        highest.max(self.code.as_ref().map_or(0.0, |code| code.side)) + 2.0 * self.padding
    }
}

/// Makes strips of blocks.
pub(crate) struct Preparation<'f> {
    fonts: &'f Fonts,
    /// Whether a box stands for a character in any of them.
    pub(crate) has_box: bool,
}

impl Preparation<'_> {
    pub(crate) fn new(fonts: &Fonts) -> Preparation<'_> {
        Preparation { fonts, has_box: false }
    }

    /// The title, or the first of what stands in for it that has any text: a document without a title breaks the standard.
    pub(crate) fn title(&mut self, texts: &[&str]) -> Section {
        let title = texts.iter().map(|text| metadata(text)).find(|text| !text.is_empty());
        let title = title.unwrap_or_else(|| "–".to_owned());
        let cell = self.cell(0.0, TEXT_WIDTH, &[(&one_line(&title), TITLE)]);
        let strip = Strip { cells: vec![cell], ..Strip::default() };
        Section { kind: SectionKind::Title(title), strips: vec![strip] }
    }

    /// Small print across the page; none without text.
    pub(crate) fn note(&mut self, text: &str) -> Option<Section> {
        let cell = self.cell(0.0, TEXT_WIDTH, &[(text, NOTE)]);
        Some(text_section(cell, 14.0)).filter(|section| !section.strips[0].cells[0].lines.is_empty())
    }

    /// A line in a width, cut with an ellipsis; none without text.
    pub(crate) fn line(&mut self, text: &str, width: f32) -> Option<TextLine> {
        let ellipsis = self.fonts.face(NOTE.is_bold).width("…") * NOTE.size;
        let mut lines = self.cell(0.0, width - ellipsis, &[(&one_line(text), NOTE)]).lines.into_iter();
        let mut first = lines.next()?;
        first.text.truncate(first.text.trim_end().len());
        if lines.next().is_some() {
            first.text.push('…');
            first.width += ellipsis;
        }
        Some(first)
    }

    /// The strips of a block; none when there is no text in it.
    ///
    /// # Errors
    /// The content of a QR code is too long for one.
    pub(crate) fn block(&mut self, block: &Block) -> Result<Option<Section>, PdfFault> {
        let section = match block {
            Block::Heading(text) => self.heading(text),
            Block::Paragraph(text) => text_section(self.cell(0.0, TEXT_WIDTH, &[(text, TEXT)]), 7.0),
            Block::Band { text, lines } => self.band(text, lines),
            Block::Rows(rows) => {
                let rows =
                    rows.iter().filter(|row| !(is_blank(&row.label) && row.values.iter().all(|value| is_blank(value))));
                Section {
                    kind: SectionKind::Rows,
                    strips: bounded(rows.enumerate().map(|(at, row)| self.row(at, row))),
                }
            }
            Block::List(items) => {
                let items = items.iter().filter(|item| !is_blank(item));
                Section { kind: SectionKind::List, strips: bounded(items.map(|item| self.item(item))) }
            }
            Block::Code { content, alternative, lines } => self.code(content, alternative, lines)?,
        };
        let is_empty = |strip: &Strip| strip.code.is_none() && strip.cells.iter().all(|cell| cell.lines.is_empty());
        Ok(Some(section).filter(|section| !section.strips.iter().all(is_empty)))
    }

    fn heading(&mut self, text: &str) -> Section {
        let cell = self.cell(0.0, TEXT_WIDTH, &[(&one_line(text), HEADING)]);
        let strip = Strip { cells: vec![cell], gap: 16.0, ..Strip::default() };
        Section { kind: SectionKind::Heading(metadata(text)), strips: vec![strip] }
    }

    fn band(&mut self, text: &str, lines: &[String]) -> Section {
        let lines = lines.iter().map(|line| (line.as_str(), TEXT));
        let texts: Vec<_> = std::iter::once((text, STATE)).chain(lines).collect();
        let cell = self.cell(FRAME_PADDING, TEXT_WIDTH - 2.0 * FRAME_PADDING, &texts);
        let strip = Strip {
            cells: vec![cell],
            gap: 12.0,
            padding: FRAME_PADDING - 2.0,
            ornament: Ornament::Frame,
            // Below a long title it begins on the first page, where people look for it.
            may_break: true,
            ..Strip::default()
        };
        Section { kind: SectionKind::Text, strips: vec![strip] }
    }

    fn row(&mut self, at: usize, row: &SheetRow) -> Strip {
        let values: Vec<_> =
            row.values.iter().map(|value| (value.as_str(), if row.is_strong { STRONG } else { TEXT })).collect();
        let mut cells = vec![
            self.cell(0.0, VALUE_X - 12.0, &[(&one_line(&row.label), LABEL)]),
            self.cell(VALUE_X, TEXT_WIDTH - VALUE_X, &values),
        ];
        // A cell without content would not become a tag, and the rows would have different numbers of cells.
        for cell in cells.iter_mut().filter(|cell| cell.lines.is_empty()) {
            cell.lines.push(TextLine { text: " ".to_owned(), style: TEXT, width: 0.0, paragraph: 0 });
        }
        Strip {
            cells,
            gap: if at == 0 { 7.0 } else { 0.0 },
            padding: 4.0,
            ornament: Ornament::Rule,
            ..Strip::default()
        }
    }

    fn item(&mut self, text: &str) -> Strip {
        let body = self.cell(ITEM_X, TEXT_WIDTH - ITEM_X, &[(text, TEXT)]);
        let bullet = self.cell(2.0, ITEM_X, &[("•", TEXT)]);
        Strip { cells: vec![bullet, body], gap: 4.0, ..Strip::default() }
    }

    fn code(&mut self, content: &str, alternative: &str, lines: &[String]) -> Result<Section, PdfFault> {
        let code = if content.is_empty() { None } else { Some(DrawnCode::encode(content)?) };
        let x = code.as_ref().map_or(0.0, |code| code.side + CODE_GAP);
        let texts: Vec<_> = lines.iter().map(|line| (line.as_str(), CAPTION)).collect();
        let cell = self.cell(x, TEXT_WIDTH - x, &texts);
        let alternative = [alternative, content].map(metadata).into_iter().find(|text| !text.is_empty());
        let strip = Strip { cells: vec![cell], code, gap: 8.0, ..Strip::default() };
        Ok(Section { kind: SectionKind::Code(alternative.unwrap_or_else(|| "QR".to_owned())), strips: vec![strip] })
    }

    fn cell(&mut self, x: f32, width: f32, texts: &[(&str, TextStyle)]) -> Cell {
        let mut lines = Vec::new();
        for (paragraph, (text, style)) in texts.iter().enumerate() {
            if is_blank(text) {
                continue;
            }
            if lines.len() >= CELL_LINES_MAX {
                break;
            }
            let drawn = drawable(text, self.fonts);
            self.has_box |= drawn.has_box;
            break_lines(&drawn.text, *style, width, paragraph, self.fonts, &mut lines);
        }
        Cell { x, lines }
    }
}

impl DrawnCode {
    fn encode(content: &str) -> Result<DrawnCode, PdfFault> {
        let too_long = PdfFault::CodeTooLong { bytes: content.len() };
        if content.len() > CODE_BYTES_MAX {
            return Err(too_long);
        }
        let code = QrCode::encode_text(content, QrCodeEcc::Medium).map_err(|_| too_long)?;
        let side = (code.size() as f32 * MODULE_SIDE).max(CODE_SIDE);
        Ok(DrawnCode { code, side })
    }
}

fn text_section(cell: Cell, gap: f32) -> Section {
    let strip = Strip { cells: vec![cell], gap, may_break: true, ..Strip::default() };
    Section { kind: SectionKind::Text, strips: vec![strip] }
}

/// No more strips than the pages hold.
fn bounded(strips: impl Iterator<Item = Strip>) -> Vec<Strip> {
    let (mut kept, mut lines) = (Vec::new(), 0);
    for strip in strips {
        lines += strip.cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(0);
        kept.push(strip);
        if lines > CELL_LINES_MAX {
            break;
        }
    }
    kept
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}', '\u{85}'], " ")
}
