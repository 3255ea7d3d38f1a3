//! Writes pages as a file. Only this module draws with krilla.

use std::num::NonZeroU16;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use krilla::Document;
use krilla::SerializeSettings;
use krilla::color::luma;
use krilla::configure::{Accessibility, Archival, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::error::KrillaError;
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::metadata::{DateTime, Metadata, TextDirection};
use krilla::num::NormalizedF32;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::{Fill, FillRule, Stroke};
use krilla::surface::Surface;
use krilla::tagging::{
    Artifact, ArtifactType, BBox, ContentTag, Identifier, ListNumbering, Node, SpanTag, TableHeaderScope, Tag,
    TagGroup, TagKind, TagTree,
};
use krilla::text::KrillaGlyph;

use crate::fault::PdfFault;
use crate::font::Fonts;
use crate::layout::{
    LEFT, LaidRole, LaidTag, OutlineEntry, PAGE_HEIGHT, PAGE_WIDTH, PagePiece, PieceMark, SheetLayout,
};
use crate::line::{TextLine, metadata};
use crate::sheet::{Attachment, Sheet};
use crate::strip::{DrawnCode, TEXT_WIDTH};

/// How far letters go above the baseline, and how far above and below it together, at size 1. Source: the fonts' `hhea`.
const ASCENT: f32 = 0.928;
const EXTENT: f32 = 1.172;

/// Writes the file.
///
/// # Errors
/// As [`crate::make`], except for the QR code.
pub(crate) fn draw(sheet: &Sheet, layout: SheetLayout, fonts: &Fonts) -> Result<Vec<u8>, PdfFault> {
    let written = date_time(sheet.written_ms)?;
    let configuration = ConfigurationBuilder::new()
        .with_archival_validator(Archival::A3_A)
        .with_accessibility_validator(Accessibility::UA1)
        .finish()
        .expect("both standards are of PDF 1.7");
    let mut document = Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
    let title = layout.outline.first().map_or_else(String::new, |entry| entry.text.clone());
    document.set_metadata(
        Metadata::new()
            .title(title)
            .creator(metadata(&sheet.creator))
            .language(sheet.language.to_owned())
            .document_id(sheet.identifier.clone())
            .creation_date(written)
            .text_direction(TextDirection::LeftToRight),
    );
    let mut identifiers = vec![None; layout.contents];
    for pieces in &layout.pages {
        let size = PageSettings::from_wh(PAGE_WIDTH, PAGE_HEIGHT).expect("A4 is a size");
        let mut page = document.start_page_with(size);
        let mut surface = page.surface();
        for piece in pieces {
            draw_piece(&mut surface, piece, fonts, &mut identifiers);
        }
        surface.finish();
        page.finish();
    }
    let nodes: Vec<Node> = layout.tags.into_iter().filter_map(|tag| node(tag, &mut identifiers)).collect();
    document.set_tag_tree(TagTree::from(nodes).with_lang(Some(sheet.language.to_owned())));
    document.set_outline(outline(layout.outline));
    if let Some(attachment) = &sheet.attachment {
        document.embed_file(embedded(attachment, written)?);
    }
    document.finish().map_err(|error| PdfFault::File(reason(&error)))
}

fn draw_piece(surface: &mut Surface, piece: &PagePiece, fonts: &Fonts, identifiers: &mut [Option<Identifier>]) {
    let artifact = |kind| ContentTag::Artifact(Artifact::with_kind(kind));
    match piece {
        PagePiece::Text { mark, x, lines } => {
            let tag = match mark {
                PieceMark::Content(_) => ContentTag::Span(SpanTag::empty()),
                PieceMark::Header => artifact(ArtifactType::Header),
                PieceMark::Footer => artifact(ArtifactType::Footer),
            };
            let identifier = surface.start_tagged(tag);
            for (top, line) in lines {
                draw_line(surface, *x, *top, line, fonts);
            }
            surface.end_tagged();
            if let PieceMark::Content(content) = mark {
                identifiers[*content] = Some(identifier);
            }
        }
        PagePiece::Rule { y } => {
            surface.start_tagged(artifact(ArtifactType::Layout));
            draw_stroke(surface, 0.5, 170, |path| {
                path.move_to(LEFT, *y);
                path.line_to(LEFT + TEXT_WIDTH, *y);
            });
            surface.end_tagged();
        }
        PagePiece::Frame { top, bottom } => {
            surface.start_tagged(artifact(ArtifactType::Layout));
            let frame = Rect::from_ltrb(LEFT, *top, LEFT + TEXT_WIDTH, *bottom);
            draw_stroke(surface, 1.5, 0, |path| path.push_rect(frame.expect("a frame has a height")));
            surface.end_tagged();
        }
        PagePiece::Code { content, y, code } => {
            identifiers[*content] = Some(surface.start_tagged(ContentTag::Other));
            draw_code(surface, *y, code);
            surface.end_tagged();
        }
    }
}

/// Draws one glyph for each character: the fonts have neither kerning nor ligatures.
fn draw_line(surface: &mut Surface, x: f32, top: f32, line: &TextLine, fonts: &Fonts) {
    let (style, face) = (line.style, fonts.face(line.style.is_bold));
    let glyphs: Vec<KrillaGlyph> = line
        .text
        .char_indices()
        .filter_map(|(at, character)| {
            let glyph = face.glyph(character)?;
            let range = at..at + character.len_utf8();
            Some(KrillaGlyph::new(glyph.id, glyph.advance, 0.0, 0.0, 0.0, range, None))
        })
        .collect();
    surface.set_stroke(None);
    surface.set_fill(Some(fill(style.gray)));
    let baseline = top + (style.leading - EXTENT * style.size) / 2.0 + ASCENT * style.size;
    surface.draw_glyphs(Point::from_xy(x, baseline), &glyphs, face.font.clone(), &line.text, style.size, false);
}

fn draw_stroke(surface: &mut Surface, width: f32, gray: u8, path: impl FnOnce(&mut PathBuilder)) {
    let mut builder = PathBuilder::new();
    path(&mut builder);
    surface.set_fill(None);
    surface.set_stroke(Some(Stroke { paint: luma::Color::new(gray).into(), width, ..Stroke::default() }));
    surface.draw_path(&builder.finish().expect("a line has a length"));
}

/// One path, in which dark modules beside each other are one rectangle.
fn draw_code(surface: &mut Surface, y: f32, DrawnCode { code, side }: &DrawnCode) {
    let module = side / code.size() as f32;
    let mut path = PathBuilder::new();
    for row in 0..code.size() {
        let mut column = 0;
        while column < code.size() {
            let first = column;
            while code.get_module(column, row) {
                column += 1;
            }
            let [left, top, right] = [first, row, column].map(|at| at as f32 * module);
            if let Some(dark) =
                Rect::from_ltrb(LEFT + left, y + top, LEFT + right, y + top + module).filter(|_| column > first)
            {
                path.push_rect(dark);
            }
            column += 1;
        }
    }
    surface.set_stroke(None);
    surface.set_fill(Some(fill(0)));
    surface.draw_path(&path.finish().expect("a QR code has dark modules"));
}

fn fill(gray: u8) -> Fill {
    Fill { paint: luma::Color::new(gray).into(), opacity: NormalizedF32::ONE, rule: FillRule::NonZero }
}

/// A tag with what is in it. Each identifier is taken, so none gets into two tags.
fn node(tag: LaidTag, identifiers: &mut [Option<Identifier>]) -> Option<Node> {
    Some(match tag {
        LaidTag::Content(content) => identifiers[content].take()?.into(),
        LaidTag::Group(role, children) => {
            let children = children.into_iter().filter_map(|child| node(child, identifiers)).collect();
            TagGroup::with_children(kind(role), children).into()
        }
    })
}

fn kind(role: LaidRole) -> TagKind {
    match role {
        LaidRole::Heading { level, text } => {
            Tag::Hn(NonZeroU16::new(level).expect("levels count from 1"), Some(text)).into()
        }
        LaidRole::Paragraph => Tag::P.into(),
        LaidRole::Table => Tag::Table.into(),
        LaidRole::Row => Tag::TR.into(),
        LaidRole::RowHeader => Tag::TH(TableHeaderScope::Row).into(),
        LaidRole::Value => Tag::TD.into(),
        LaidRole::List => Tag::L(ListNumbering::Disc).into(),
        LaidRole::Item => Tag::LI.into(),
        LaidRole::Bullet => Tag::Lbl.into(),
        LaidRole::ItemBody => Tag::LBody.into(),
        LaidRole::Figure { alternative, page, y, side } => {
            let bounds = Rect::from_xywh(LEFT, y, side, side).map(|rect| BBox::new(page, rect));
            Tag::Figure(Some(alternative)).with_bbox(bounds).into()
        }
    }
}

/// The title, with the headings below it.
fn outline(entries: Vec<OutlineEntry>) -> Outline {
    let mut nodes = entries.into_iter().map(|OutlineEntry { text, page, y }| {
        OutlineNode::new(text, XyzDestination::new(page, Point::from_xy(LEFT, y)))
    });
    let mut outline = Outline::new();
    if let Some(mut title) = nodes.next() {
        nodes.for_each(|node| title.push_child(node));
        outline.push_child(title.with_open(true));
    }
    outline
}

fn embedded(attachment: &Attachment, written: DateTime) -> Result<EmbeddedFile, PdfFault> {
    let [name, description] = [&attachment.name, &attachment.description].map(|text| metadata(text));
    let media_type = MimeType::new(attachment.media_type).ok_or(PdfFault::MediaType(attachment.media_type))?;
    let name = if name.is_empty() { "source".to_owned() } else { name };
    Ok(EmbeddedFile {
        description: Some(if description.is_empty() { name.clone() } else { description }),
        path: name,
        mime_type: Some(media_type),
        association_kind: AssociationKind::Source,
        data: attachment.bytes.clone().into(),
        modification_date: Some(written),
        compress: Some(true),
        location: None,
    })
}

fn date_time(ms: i64) -> Result<DateTime, PdfFault> {
    let time = Timestamp::from_millisecond(ms).map_err(|_| PdfFault::Time(ms))?.to_zoned(TimeZone::UTC);
    let year = u16::try_from(time.year()).map_err(|_| PdfFault::Time(ms))?;
    let [month, day, hour, minute, second] =
        [time.month(), time.day(), time.hour(), time.minute(), time.second()].map(i8::unsigned_abs);
    let date = DateTime::new(year).month(month).day(day).hour(hour).minute(minute).second(second);
    Ok(date.utc_offset_hour(0).utc_offset_minute(0))
}

fn reason(error: &KrillaError) -> String {
    match error {
        KrillaError::Validation(errors) => format!("{:?}", errors.iter().map(|(error, _)| error).collect::<Vec<_>>()),
        other => other.to_string(),
    }
}
