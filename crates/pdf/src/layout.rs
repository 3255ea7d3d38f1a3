//! Puts strips on pages, and notes for each piece of text which tag it belongs to.

use std::iter::Peekable;
use std::vec::IntoIter;

use crate::fault::PdfFault;
use crate::font::Fonts;
use crate::line::TextLine;
use crate::sheet::{PAGES_MAX, Sheet};
use crate::strip::{Cell, DrawnCode, Ornament, Preparation, Section, SectionKind, Strip, TEXT_WIDTH};

/// A4, in points, as all lengths here. The origin is the upper left corner.
pub(crate) const PAGE_WIDTH: f32 = 595.28;
pub(crate) const PAGE_HEIGHT: f32 = 841.89;
pub(crate) const LEFT: f32 = (PAGE_WIDTH - TEXT_WIDTH) / 2.0;
const TOP: f32 = 70.0;
const BOTTOM: f32 = PAGE_HEIGHT - 66.0;
/// The upper edges of the lines at the top and at the bottom of each page.
const HEADER: f32 = 34.0;
const FOOTER: f32 = PAGE_HEIGHT - 46.0;

/// Lines of the texts that have their place reserved on the last page.
const NOTE_LINES_MAX: usize = 4;

/// All pages.
#[derive(Default)]
pub(crate) struct SheetLayout {
    pub(crate) pages: Vec<Vec<PagePiece>>,
    pub(crate) tags: Vec<LaidTag>,
    /// The title and the headings below it.
    pub(crate) outline: Vec<OutlineEntry>,
    /// How many pieces have a tag: their numbers are 0 up to this.
    pub(crate) contents: usize,
}

/// Something on a page.
pub(crate) enum PagePiece {
    /// Lines at `x`, each with its upper edge.
    Text { mark: PieceMark, x: f32, lines: Vec<(f32, TextLine)> },
    /// A fine line across the page.
    Rule { y: f32 },
    /// A frame across the page.
    Frame { top: f32, bottom: f32 },
    /// A QR code at the left margin.
    Code { content: usize, y: f32, code: DrawnCode },
}

/// What a piece of text is to a screen reader.
#[derive(Clone, Copy)]
pub(crate) enum PieceMark {
    /// Content with a number, which is in exactly one tag.
    Content(usize),
    Header,
    Footer,
}

/// A node of the tree of tags.
#[derive(Debug)]
pub(crate) enum LaidTag {
    Group(LaidRole, Vec<LaidTag>),
    Content(usize),
}

/// What a tag says about its content.
#[derive(Debug)]
pub(crate) enum LaidRole {
    Heading { level: u16, text: String },
    Paragraph,
    Table,
    Row,
    RowHeader,
    Value,
    List,
    Item,
    Bullet,
    ItemBody,
    Figure { alternative: String, page: usize, y: f32, side: f32 },
}

/// A target of the outline.
pub(crate) struct OutlineEntry {
    pub(crate) text: String,
    pub(crate) page: usize,
    pub(crate) y: f32,
}

/// The contents of a strip that is on its pages.
#[derive(Default)]
struct PlacedStrip {
    /// For each cell its contents, each with the number of its paragraph.
    cells: Vec<Vec<(usize, usize)>>,
    figure: Option<PlacedFigure>,
}

/// A QR code that is on its page.
struct PlacedFigure {
    content: usize,
    page: usize,
    y: f32,
    side: f32,
}

/// Lays out a sheet, up to [`PAGES_MAX`] pages.
///
/// # Errors
/// The content of a QR code is too long for one.
pub(crate) fn lay_out(sheet: &Sheet, fonts: &Fonts) -> Result<SheetLayout, PdfFault> {
    let mut preparation = Preparation::new(fonts);
    let [no_glyph, left_out] = [sheet.words.no_glyph, sheet.words.left_out].map(|text| {
        let mut note = preparation.note(text)?;
        note.strips[0].cells[0].lines.truncate(NOTE_LINES_MAX);
        Some(note)
    });
    preparation.has_box = false;
    let title = preparation.title(&[&sheet.title, &sheet.running, &sheet.identifier]);
    let notes = [&no_glyph, &left_out].into_iter().flatten().flat_map(|note| &note.strips);
    let mut pages = PageFill::new(notes.map(|strip| strip.gap + strip.height()).sum());
    let mut sections = std::iter::once(Ok(title))
        .chain(sheet.blocks.iter().filter_map(|block| preparation.block(block).transpose()))
        .peekable();
    while !pages.is_full {
        let Some(section) = sections.next() else { break };
        let below = if is_heading(section.as_ref()) { first_part(&mut sections) } else { 0.0 };
        pages.section(section?, below);
    }
    let is_left_out = pages.is_full;
    drop(sections);
    let running = preparation.line(&sheet.running, TEXT_WIDTH);
    pages.release();
    for note in [no_glyph.filter(|_| preparation.has_box), left_out.filter(|_| is_left_out)].into_iter().flatten() {
        pages.section(note, 0.0);
    }
    let mut layout = pages.layout;
    let count = layout.pages.len();
    for (at, page) in layout.pages.iter_mut().enumerate() {
        if let Some(line) = running.clone() {
            page.push(PagePiece::Text { mark: PieceMark::Header, x: LEFT, lines: vec![(HEADER, line)] });
        }
        let number = sheet.words.page.replace("{page}", &(at + 1).to_string()).replace("{pages}", &count.to_string());
        if let Some(line) = preparation.line(&number, TEXT_WIDTH) {
            let x = LEFT + TEXT_WIDTH - line.width;
            page.push(PagePiece::Text { mark: PieceMark::Footer, x, lines: vec![(FOOTER, line)] });
        }
    }
    Ok(layout)
}

fn is_heading(section: Result<&Section, &PdfFault>) -> bool {
    section.is_ok_and(|section| matches!(section.kind, SectionKind::Heading(_)))
}

/// How much of the next section has to be on the page of its heading.
fn first_part(sections: &mut Peekable<impl Iterator<Item = Result<Section, PdfFault>>>) -> f32 {
    let Some(Ok(Section { strips, .. })) = sections.peek() else { return 0.0 };
    strips.first().map_or(0.0, |strip| strip.gap + PageFill::needed(strip))
}

/// The pages while they are filled.
struct PageFill {
    layout: SheetLayout,
    y: f32,
    is_at_top: bool,
    /// Nothing more can be put on the last page.
    is_full: bool,
    /// Height that stays free on the last page.
    reserved: f32,
}

impl PageFill {
    fn new(reserved: f32) -> PageFill {
        let layout = SheetLayout { pages: vec![Vec::new()], ..SheetLayout::default() };
        PageFill { layout, y: TOP, is_at_top: true, is_full: false, reserved }
    }

    /// Gives the reserved place free.
    fn release(&mut self) {
        (self.reserved, self.is_full) = (0.0, false);
    }

    /// The height that a strip needs on the page where it begins.
    fn needed(strip: &Strip) -> f32 {
        let height = strip.height();
        if strip.may_break || height > BOTTOM - TOP { strip.first_part() } else { height }
    }

    fn bottom(&self) -> f32 {
        if self.layout.pages.len() == PAGES_MAX { BOTTOM - self.reserved } else { BOTTOM }
    }

    fn next_page(&mut self) {
        if self.layout.pages.len() == PAGES_MAX {
            self.is_full = true;
        } else {
            self.layout.pages.push(Vec::new());
            (self.y, self.is_at_top) = (TOP, true);
        }
    }

    fn push(&mut self, piece: PagePiece) {
        self.layout.pages.last_mut().expect("there is a first page").push(piece);
    }

    fn content(&mut self) -> usize {
        self.layout.contents += 1;
        self.layout.contents - 1
    }

    /// Puts a section on pages, with its tags. `below` is the height that has to follow on the page where it begins.
    fn section(&mut self, section: Section, below: f32) {
        let Section { kind, strips } = section;
        let mut placed = Vec::new();
        for strip in strips {
            if !self.begin(&strip, below) {
                break;
            }
            if let SectionKind::Title(text) | SectionKind::Heading(text) = &kind {
                let (text, page) = (text.clone(), self.layout.pages.len() - 1);
                self.layout.outline.push(OutlineEntry { text, page, y: self.y });
            }
            placed.push(self.strip(strip));
            if self.is_full {
                break;
            }
        }
        self.layout.tags.extend(tags(&kind, placed));
    }

    /// Goes to where a strip begins. False when the pages are full.
    fn begin(&mut self, strip: &Strip, below: f32) -> bool {
        let gap = if self.is_at_top { 0.0 } else { strip.gap };
        if self.y + gap + Self::needed(strip) + below > self.bottom() && !self.is_at_top {
            self.next_page();
        } else {
            self.y += gap;
        }
        !self.is_full
    }

    /// Puts a strip where the page is, and on the next pages as long as there is more of it.
    fn strip(&mut self, strip: Strip) -> PlacedStrip {
        let Strip { cells, mut code, padding, ornament, .. } = strip;
        let mut placed = PlacedStrip { cells: cells.iter().map(|_| Vec::new()).collect(), figure: None };
        let mut cells: Vec<(f32, Peekable<IntoIter<TextLine>>)> =
            cells.into_iter().map(|Cell { x, lines }| (x, lines.into_iter().peekable())).collect();
        loop {
            let (top, bottom) = (self.y, self.bottom() - padding);
            let mut lowest = top + padding;
            if let Some(code) = code.take() {
                let (content, page, y, side) = (self.content(), self.layout.pages.len() - 1, lowest, code.side);
                lowest += side;
                placed.figure = Some(PlacedFigure { content, page, y, side });
                self.push(PagePiece::Code { content, y, code });
            }
            for (contents, (x, lines)) in placed.cells.iter_mut().zip(&mut cells) {
                lowest = lowest.max(self.cell_part(LEFT + *x, top + padding, bottom, lines, contents));
            }
            self.y = lowest + padding;
            self.is_at_top = false;
            match ornament {
                Ornament::None => {}
                Ornament::Rule => self.push(PagePiece::Rule { y: self.y }),
                Ornament::Frame => self.push(PagePiece::Frame { top, bottom: self.y }),
            }
            if cells.iter_mut().all(|(_, lines)| lines.peek().is_none()) {
                return placed;
            }
            self.next_page();
            if self.is_full {
                return placed;
            }
        }
    }

    /// Puts those lines of a cell on the page that go above `bottom`, and returns their lower edge.
    fn cell_part(
        &mut self,
        x: f32,
        top: f32,
        bottom: f32,
        lines: &mut Peekable<IntoIter<TextLine>>,
        contents: &mut Vec<(usize, usize)>,
    ) -> f32 {
        let (mut y, mut paragraph) = (top, None);
        let mut piece = Vec::new();
        while let Some(line) = lines.next_if(|line| y + line.style.leading <= bottom) {
            if paragraph.is_some_and(|paragraph| paragraph != line.paragraph) {
                self.text(x, std::mem::take(&mut piece), contents);
            }
            paragraph = Some(line.paragraph);
            let edge = y;
            y += line.style.leading;
            piece.push((edge, line));
        }
        self.text(x, piece, contents);
        y
    }

    fn text(&mut self, x: f32, lines: Vec<(f32, TextLine)>, contents: &mut Vec<(usize, usize)>) {
        if let Some((_, first)) = lines.first() {
            let content = self.content();
            contents.push((first.paragraph, content));
            self.push(PagePiece::Text { mark: PieceMark::Content(content), x, lines });
        }
    }
}

/// The tags of a section.
fn tags(kind: &SectionKind, placed: Vec<PlacedStrip>) -> Vec<LaidTag> {
    use LaidRole::*;
    let placed = placed.into_iter();
    let all = |placed: PlacedStrip| placed.cells.into_iter().flatten();
    match kind {
        SectionKind::Title(text) => group(Heading { level: 1, text: text.clone() }, contents(placed.flat_map(all))),
        SectionKind::Heading(text) => group(Heading { level: 2, text: text.clone() }, contents(placed.flat_map(all))),
        SectionKind::Text => placed.flat_map(|placed| placed.cells).flat_map(paragraphs).collect(),
        SectionKind::Rows => group(Table, placed.flat_map(|placed| pair(Row, [RowHeader, Value], placed)).collect()),
        SectionKind::List => group(List, placed.flat_map(|placed| pair(Item, [Bullet, ItemBody], placed)).collect()),
        SectionKind::Code(alternative) => placed.flat_map(|placed| figure(alternative, placed)).collect(),
    }
}

/// The tags of two cells that belong together.
fn pair(role: LaidRole, roles: [LaidRole; 2], placed: PlacedStrip) -> Vec<LaidTag> {
    let cells = placed.cells.into_iter().zip(roles).flat_map(|(cell, role)| {
        let is_one = cell.iter().all(|(paragraph, _)| *paragraph == cell[0].0);
        group(role, if is_one { contents(cell.into_iter()) } else { paragraphs(cell) })
    });
    group(role, cells.collect())
}

fn figure(alternative: &str, placed: PlacedStrip) -> Vec<LaidTag> {
    let figure = placed.figure.map(|PlacedFigure { content, page, y, side }| {
        let role = LaidRole::Figure { alternative: alternative.to_owned(), page, y, side };
        LaidTag::Group(role, vec![LaidTag::Content(content)])
    });
    figure.into_iter().chain(placed.cells.into_iter().flat_map(paragraphs)).collect()
}

/// A tag for each paragraph, whose parts may be on several pages.
fn paragraphs(cell: Vec<(usize, usize)>) -> Vec<LaidTag> {
    let parts = cell.chunk_by(|(one, _), (other, _)| one == other);
    parts.flat_map(|parts| group(LaidRole::Paragraph, contents(parts.iter().copied()))).collect()
}

fn contents(parts: impl Iterator<Item = (usize, usize)>) -> Vec<LaidTag> {
    parts.map(|(_, content)| LaidTag::Content(content)).collect()
}

/// A tag; none without anything in it.
fn group(role: LaidRole, children: Vec<LaidTag>) -> Vec<LaidTag> {
    if children.is_empty() { Vec::new() } else { vec![LaidTag::Group(role, children)] }
}
