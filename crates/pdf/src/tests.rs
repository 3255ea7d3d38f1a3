//! Each file of these tests has passed krilla's validators of both standards: it writes no other.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::layout::{LaidRole, LaidTag, PAGE_HEIGHT, PAGE_WIDTH, PagePiece, PieceMark, SheetLayout};
use crate::line::{TextLine, drawable};

static FONTS: LazyLock<Fonts> = LazyLock::new(Fonts::shipped);

const NO_GLYPH: &str = "□ on märk, mida kirjatüübis ei ole. Täielik tekst on failile lisatud.";
const LEFT_OUT: &str = "Tekst jätkub: see on tervikuna failile lisatud.";

fn sheet(blocks: Vec<Block>) -> Sheet {
    Sheet {
        language: "et",
        title: "Mootorsõidukijuhi tervisetõend".to_owned(),
        creator: "hcert 0.2.0".to_owned(),
        identifier: "1/et/driver".to_owned(),
        written_ms: 1_767_225_600_000,
        running: "Tõend 123, versioon 4".to_owned(),
        words: Words { page: "Lk {page}/{pages}", no_glyph: NO_GLYPH, left_out: LEFT_OUT },
        blocks,
        attachment: None,
    }
}

fn paragraph(text: &str) -> Block {
    Block::Paragraph(text.to_owned())
}

fn heading(text: &str) -> Block {
    Block::Heading(text.to_owned())
}

fn row(label: &str, values: &[&str]) -> Row {
    let values = values.iter().map(|&value| value.to_owned()).collect();
    Row { label: label.to_owned(), values, is_strong: label.len().is_multiple_of(2) }
}

fn list(items: &[&str]) -> Block {
    Block::List(items.iter().map(|&item| item.to_owned()).collect())
}

fn band(text: &str, lines: &[&str]) -> Block {
    Block::Band { text: text.to_owned(), lines: lines.iter().map(|&line| line.to_owned()).collect() }
}

fn code(content: &str, alternative: &str, lines: &[&str]) -> Block {
    let lines = lines.iter().map(|&line| line.to_owned()).collect();
    Block::Code { content: content.to_owned(), alternative: alternative.to_owned(), lines }
}

/// A sheet with each kind of block, in which a text stands wherever one can.
fn everywhere(text: &str) -> Sheet {
    let attachment = Attachment {
        name: text.to_owned(),
        media_type: "application/fhir+json",
        description: text.to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let blocks = vec![
        band(text, &[text, "", text]),
        heading(text),
        Block::Rows(vec![row(text, &[text, text]), row(text, &[]), row("", &[text]), row("Nimi", &["", text])]),
        list(&[text, "", text]),
        paragraph(text),
        code("https://hcert.example.ee", text, &[text]),
        heading(text),
    ];
    let (title, creator, identifier) = (text.to_owned(), text.to_owned(), text.to_owned());
    let running = text.to_owned();
    Sheet { title, creator, identifier, running, attachment: Some(attachment), ..sheet(blocks) }
}

/// Makes the file and returns its layout, of which everything is checked that holds for all.
fn laid(sheet: &Sheet) -> SheetLayout {
    let file = make(sheet, &FONTS).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(file.starts_with(b"%PDF-1.7"));
    let layout = layout::lay_out(sheet, &FONTS).expect("the file was made");
    assert!((1..=PAGES_MAX).contains(&layout.pages.len()));
    let mut tagged = Vec::new();
    layout.tags.iter().for_each(|tag| collect(tag, &mut tagged));
    // A label over two pages comes before its value, of which the first part is on the page before.
    tagged.sort_unstable();
    assert!(tagged.into_iter().eq(0..layout.contents), "each content is in one tag");
    for piece in layout.pages.iter().flatten() {
        if let PagePiece::Text { x, lines, .. } = piece {
            for (top, line) in lines {
                assert!(x + line.width < PAGE_WIDTH - 50.0, "{} is wider than the page", line.text);
                assert!(*top > 30.0 && top + line.style.leading < PAGE_HEIGHT - 30.0);
                assert!(line.style.size >= 9.5);
            }
        }
    }
    layout
}

fn collect(tag: &LaidTag, contents: &mut Vec<usize>) {
    match tag {
        LaidTag::Content(content) => contents.push(*content),
        LaidTag::Group(_, children) => children.iter().for_each(|child| collect(child, contents)),
    }
}

/// The lines of a page that have a tag.
fn lines(page: &[PagePiece]) -> Vec<&TextLine> {
    let of_piece = |piece| match piece {
        &PagePiece::Text { mark: PieceMark::Content(_), ref lines, .. } => Some(lines),
        _ => None,
    };
    page.iter().filter_map(of_piece).flatten().map(|(_, line)| line).collect()
}

fn texts(layout: &SheetLayout) -> Vec<&str> {
    layout.pages.iter().flat_map(|page| lines(page)).map(|line| line.text.trim_end()).collect()
}

fn page_of(layout: &SheetLayout, text: &str) -> usize {
    let holds = |page: &Vec<PagePiece>| lines(page).iter().any(|line| line.text.trim_end() == text);
    layout.pages.iter().position(holds).unwrap_or_else(|| panic!("{text} is on no page"))
}

#[test]
fn both_fonts_have_the_same_characters_and_all_that_estonia_needs() {
    let regular = FONTS.face(false).characters();
    assert_eq!(regular, FONTS.face(true).characters());
    let needed = "□•…–—„“”’№€½²³µ°±≤≥ÕÄÖÜŠŽõäöüšžŁłŅņĢģČčĘęЁёЖжЯяЇїЄєΑαΩω\u{301}\u{30c} \u{a0}";
    assert_eq!(needed.chars().filter(|character| !regular.contains(character)).collect::<String>(), "");
    let private = |character: &char| ('\u{e000}'..='\u{f8ff}').contains(character);
    assert!(!regular.iter().any(|character| private(character) || character.is_control()));
}

#[test]
fn every_block_is_on_the_page_in_its_order() {
    let blocks = vec![
        band("TÜHISTATUD", &["Põhjus: viga."]),
        heading("Isik"),
        Block::Rows(vec![row("Nimi", &["Õie Šmidt"]), row("Kategooriad", &["B", "C1"])]),
        heading("Soovitused"),
        list(&["Kanda prille.", "Puhata."]),
        paragraph("Esimene rida.\nTeine rida."),
        code("https://hcert.example.ee/Composition/1", "Ruutkood", &["Kontrollimiseks"]),
    ];
    let layout = laid(&sheet(blocks));
    #[rustfmt::skip]
    assert_eq!(texts(&layout), [
        "Mootorsõidukijuhi tervisetõend", "TÜHISTATUD", "Põhjus: viga.", "Isik", "Nimi", "Õie Šmidt", "Kategooriad", "B", "C1",
        "Soovitused", "•", "Kanda prille.", "•", "Puhata.", "Esimene rida.", "Teine rida.", "Kontrollimiseks",
    ]);
    let outline: Vec<&str> = layout.outline.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(outline, ["Mootorsõidukijuhi tervisetõend", "Isik", "Soovitused"]);
}

/// A revoked certificate with a long title and a long reason had its band on the second page alone, and the first looked valid.
#[test]
fn a_band_begins_on_the_page_of_what_is_above_it() {
    let reason = "Põhjus, mis on pikk. ".repeat(150);
    let layout = laid(&sheet(vec![paragraph(&"Väga pikk pealkiri. ".repeat(50)), band("TÜHISTATUD", &[&reason])]));
    assert_eq!((layout.pages.len(), page_of(&layout, "TÜHISTATUD")), (2, 0));
    let frames = |page: &Vec<PagePiece>| page.iter().filter(|piece| matches!(piece, PagePiece::Frame { .. })).count();
    assert_eq!(layout.pages.iter().map(frames).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn every_page_has_its_number_and_the_running_text() {
    let layout = laid(&sheet(vec![paragraph(&"Sõna ja teine. ".repeat(700))]));
    assert_eq!(layout.pages.len(), 3);
    for (at, page) in layout.pages.iter().enumerate() {
        let artifacts = page.iter().filter_map(|piece| match piece {
            PagePiece::Text { mark: PieceMark::Header | PieceMark::Footer, lines, .. } => Some(lines[0].1.text.clone()),
            _ => None,
        });
        assert_eq!(artifacts.collect::<Vec<_>>(), ["Tõend 123, versioon 4".to_owned(), format!("Lk {}/3", at + 1)]);
    }
}

#[test]
fn the_same_sheet_gives_the_same_bytes() {
    let sheet = everywhere("Õie Šmidt 😀");
    let file = make(&sheet, &FONTS).expect("it is made");
    let elsewhere = thread::spawn({
        let sheet = sheet.clone();
        move || make(&sheet, &Fonts::shipped())
    });
    assert!(elsewhere.join().expect("it does not panic") == Ok(file.clone()));
    let later = Sheet { written_ms: sheet.written_ms + 1_000, ..sheet };
    assert!(make(&later, &FONTS) != Ok(file));
}

#[test]
fn ten_thousand_characters_are_there_in_full() {
    let text: String = "Piirangu põhjendus on pikk. ".repeat(360);
    let layout = laid(&sheet(vec![Block::Rows(vec![row("Põhjendus", &[&text]), row("Lõpp", &["jah"])])]));
    let shown = texts(&layout);
    assert_eq!(shown[2..shown.len() - 2].join(" "), text.trim());
    assert!(layout.pages.len() > 2);
}

#[test]
fn a_word_longer_than_a_line_is_cut() {
    let word = "Sõna".repeat(200);
    let layout = laid(&sheet(vec![paragraph(&word)]));
    assert_eq!(texts(&layout)[1..].concat(), word);
}

#[test]
fn a_character_without_a_glyph_is_a_box_and_a_footnote_says_so() {
    for (text, shown) in [("a 😀 b", "a □ b"), ("\u{645}\u{627}", "□□"), ("漢字", "□□"), ("\u{e000}", "□")]
    {
        let layout = laid(&sheet(vec![paragraph(text)]));
        assert_eq!(texts(&layout)[1..], [shown, NO_GLYPH]);
    }
    assert_eq!(texts(&laid(&sheet(vec![paragraph("a b")])))[1..], ["a b"]);
}

#[test]
fn what_is_invisible_is_left_out_and_marks_are_composed() {
    for (text, shown) in [
        ("a\u{0}\u{7}\u{1b}b", "ab"),
        ("a\u{202e}b\u{2066}c\u{2069}\u{200f}\u{feff}\u{fe0f}\u{200d}\u{ad}d", "abcd"),
        ("o\u{303}s\u{30c}", "õš"),
        ("x\u{303}", "x\u{303}"),
        (" a \t\u{2003} b\u{a0}c\u{202f}d ", "a b\u{a0}c\u{a0}d"),
        (" \r\n\r\na \r\n\n b\u{2028}c\u{85}\n", "a\nb\nc"),
        ("\u{fffe}\u{1ffff}\u{fdd0}\u{e0041}", ""),
    ] {
        let drawn = drawable(text, &FONTS);
        assert_eq!((drawn.text.as_str(), drawn.has_box), (shown, false), "{text:?}");
    }
}

#[test]
fn empty_texts_break_nothing() {
    for text in ["", " ", "\n", "\u{200b}", "\u{a0}", "\u{0}"] {
        let words = Words { page: "", no_glyph: "", left_out: "" };
        let layout = laid(&Sheet { words, ..everywhere(text) });
        assert_eq!(texts(&layout), ["–", "Nimi", ""], "{text:?}");
        assert_eq!(layout.outline.len(), 1);
    }
    let blocks = vec![Block::Rows(vec![]), list(&[]), band("", &[]), code("", "", &[]), code("x", "", &[])];
    let layout = laid(&sheet(blocks));
    assert!(matches!(&layout.tags[1], LaidTag::Group(LaidRole::Figure { alternative, .. }, _) if alternative == "x"));
    assert_eq!((layout.tags.len(), laid(&sheet(vec![])).tags.len()), (2, 1));
}

#[test]
fn more_than_the_pages_hold_ends_with_the_words() {
    let rows = (0..4_000).map(|number| row("Rida", &[&format!("number {number}")]));
    for blocks in [
        vec![paragraph(&"Piirangu põhjendus. ".repeat(20_000)), heading("Lõpp")],
        vec![Block::Rows(rows.collect())],
        vec![list(&["Soovitus."; 4_000])],
        vec![band(&"TÜHISTATUD ".repeat(9_000), &[])],
        vec![heading("Pealkiri"); 4_000],
        vec![Block::Rows(vec![row("Põhjendus", &["Väärtus."; 4_000])])],
    ] {
        let layout = laid(&sheet(blocks));
        assert_eq!(layout.pages.len(), PAGES_MAX);
        let last = lines(&layout.pages[PAGES_MAX - 1]);
        assert_eq!(last.iter().filter(|line| line.text == LEFT_OUT).count(), 1);
        assert_eq!(last[last.len() - 1].text, LEFT_OUT);
        assert!(last.len() > 15, "the last page is used: {}", last.len());
    }
    let layout = laid(&sheet(vec![paragraph("😀 ".repeat(90_000).as_str())]));
    assert!(texts(&layout).ends_with(&[NO_GLYPH, LEFT_OUT]));
}

/// Megabytes of text take no longer than the pages that they fill.
#[test]
fn megabytes_are_laid_out_soon() {
    let start = Instant::now();
    for text in ["Sõna ", "sõna", "😀", "\u{301}", "\n", "\u{a0}", " ", "\u{200b}", "a\n"] {
        let text = text.repeat(2_000_000 / text.len());
        laid(&Sheet { attachment: None, ..everywhere(&text) });
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_row_stays_whole_and_a_heading_stays_with_its_row() {
    let long = "Põhjendus on pikk ja ei mahu enam sellele lehele. ".repeat(9);
    for rows in 1..40 {
        let rows = (0..rows).map(|number| row("Rida", &[&format!("number {number}")])).collect();
        let ending = Block::Rows(vec![row("Algus", &["esimene", &long, "viimane"])]);
        let layout = laid(&sheet(vec![Block::Rows(rows), heading("Otsus"), ending]));
        let pages = ["Otsus", "Algus", "esimene", "viimane"].map(|text| page_of(&layout, text));
        assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
    }
}

#[test]
fn a_row_over_several_pages_is_one_row() {
    let layout = laid(&sheet(vec![Block::Rows(vec![row("Põhjendus", &[&"Sõna ja teine. ".repeat(600)])])]));
    let LaidTag::Group(LaidRole::Table, rows) = &layout.tags[1] else { panic!("{:?}", layout.tags[1]) };
    let [LaidTag::Group(LaidRole::Row, cells)] = &rows[..] else { panic!("{rows:?}") };
    let [LaidTag::Group(LaidRole::RowHeader, _), LaidTag::Group(LaidRole::Value, parts)] = &cells[..] else {
        panic!("{cells:?}")
    };
    assert_eq!(parts.len(), layout.pages.len());
}

#[test]
fn a_qr_code_is_drawn_with_its_text() {
    let content = format!("https://hcert.example.ee/fhir/Composition/{0}/_history/5#{0}{0}", "9f86d081884c7d65");
    let layout = laid(&sheet(vec![code(&content, "Ruutkood tõendi kontrollimiseks", &["Kontrollimiseks"])]));
    let drawn = layout.pages[0].iter().find_map(|piece| match piece {
        PagePiece::Code { code, .. } => Some(code),
        _ => None,
    });
    let drawn = drawn.expect("the code is on the page");
    assert!(drawn.side / drawn.code.size() as f32 >= 1.6, "its modules can be read from paper");
    let LaidTag::Group(LaidRole::Figure { alternative, page, side, .. }, _) = &layout.tags[1] else {
        panic!("{:?}", layout.tags[1])
    };
    assert_eq!((alternative.as_str(), *page, *side), ("Ruutkood tõendi kontrollimiseks", 0, drawn.side));
}

#[test]
fn a_content_that_fits_into_no_qr_code_is_a_fault() {
    laid(&sheet(vec![code(&"õ".repeat(1_165), "Ruutkood", &["Tekst"])]));
    for content in ["õ".repeat(1_166), "1".repeat(10_000_000)] {
        let fault = make(&sheet(vec![code(&content, "Ruutkood", &[])]), &FONTS);
        assert_eq!(fault, Err(PdfFault::CodeTooLong { bytes: content.len() }));
    }
}

#[test]
fn a_time_or_media_type_that_cannot_be_written_is_a_fault() {
    for written_ms in [i64::MIN, i64::MAX, -62_200_000_000_000] {
        assert_eq!(make(&Sheet { written_ms, ..sheet(vec![]) }, &FONTS), Err(PdfFault::Time(written_ms)));
    }
    let mut sheet = everywhere("a");
    sheet.attachment.as_mut().expect("there is one").media_type = "json";
    assert_eq!(make(&sheet, &FONTS), Err(PdfFault::MediaType("json")));
}

#[test]
fn the_fonts_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Fonts>();
}

/// Any characters, among them many that need care: marks, directions, white space, the ends of ranges.
fn any_text() -> impl Strategy<Value = String> {
    let special =
        "\u{0}\n\r\t\u{ad}\u{300}\u{345}\u{202e}\u{2066}\u{200d}\u{fe0f}\u{feff}\u{fffe}\u{e000}\u{10ffff}٣א한가ﬁ😀";
    let special: Vec<char> = special.chars().collect();
    let character = prop_oneof![any::<char>(), prop::sample::select(special), prop::char::range(' ', 'ž')];
    prop_oneof![4 => prop::collection::vec(character.clone(), 0..60), 1 => prop::collection::vec(character, 0..3_000)]
        .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_text_gives_a_file(text in any_text()) {
        laid(&everywhere(&text));
    }
}
