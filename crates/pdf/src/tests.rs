//! Each file of these tests has passed krilla's validators of both standards: it writes no other.

use std::sync::LazyLock;

use super::*;

static FONTS: LazyLock<Fonts> = LazyLock::new(Fonts::shipped);

fn sheet(blocks: Vec<Block>) -> Sheet {
    Sheet {
        language: "et",
        title: "Tervisetõend".to_owned(),
        creator: "hcert 0.2.0".to_owned(),
        identifier: "1/et/driver".to_owned(),
        written_ms: 1_767_225_600_000,
        running: "Tervisetõend HC-2026-000123, versioon 4".to_owned(),
        words: Words {
            page: "Lk {page}/{pages}",
            no_glyph: "□ on märk, mida kirjatüübis ei ole. Täielik tekst on failile lisatud.",
            left_out: "Tekst jätkub: see on tervikuna failile lisatud.",
        },
        blocks,
        attachment: None,
    }
}

fn made(sheet: &Sheet) -> Vec<u8> {
    make(sheet, &FONTS).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn a_sheet_becomes_a_file() {
    let row = Row { label: "Nimi".to_owned(), values: vec!["Õie Šmidt".to_owned()] };
    let file = made(&sheet(vec![Block::Heading("Isik".to_owned()), Block::Rows(vec![row])]));
    assert!(file.starts_with(b"%PDF-1.7"));
}
