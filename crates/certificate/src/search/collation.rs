//! How texts are compared: folded for searching, by the Estonian alphabet for sorting.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Lower case without accents, runs of white space as one blank, none at the ends. Two texts that a reader takes for the same
/// fold to the same text.
///
/// Source: FHIR R5 `search.html#string`.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.nfd().filter(|character| !is_combining_mark(*character)) {
        if character.is_whitespace() {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
            continue;
        }
        for lower in character.to_lowercase().filter(|lower| !is_combining_mark(*lower)) {
            match plain(lower) {
                Some(letters) => folded.push_str(letters),
                None => folded.push(lower),
            }
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// A key whose bytes sort as an Estonian reader expects: white space, signs, digits, the letters of [`ALPHABET`], other scripts.
/// Case is ignored; a foreign accent counts only between texts that are otherwise the same.
pub fn key(text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 1);
    let mut accents = Accents::default();
    let mut characters = text.nfd().flat_map(char::to_lowercase).peekable();
    while let Some(character) = characters.next() {
        let own = characters.peek().and_then(|mark| estonian(character, *mark));
        if own.is_some() {
            characters.next();
        }
        match (own.unwrap_or(character), plain(character)) {
            (mark, _) if is_combining_mark(mark) => accents.mark(mark),
            (letter, None) => {
                primary(letter, &mut key);
                accents.letter();
            }
            (letter, Some(letters)) => {
                for part in letters.chars() {
                    primary(part, &mut key);
                    accents.letter();
                }
                accents.mark(letter);
            }
        }
    }
    // Every weight is larger, so the shorter of two texts that begin alike comes first.
    key.push(0);
    key.extend_from_slice(&accents.bytes);
    key
}

/// The Estonian alphabet, with foreign letters where Estonian dictionaries put them.
pub const ALPHABET: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 'š', 'z', 'ž', 't',
    'u', 'v', 'w', 'õ', 'ä', 'ö', 'ü', 'x', 'y',
];

const WHITE_SPACE: u8 = 0x02;
const SIGN: u8 = 0x03;
const DIGIT: u8 = 0x10;
const LETTER: u8 = 0x20;
const OTHER: u8 = 0x60;

fn primary(character: char, key: &mut Vec<u8>) {
    match character {
        '0'..='9' => key.push(DIGIT + (character as u8 - b'0')),
        _ if character.is_whitespace() => key.push(WHITE_SPACE),
        _ => match ALPHABET.iter().position(|letter| *letter == character) {
            Some(at) => key.push(LETTER + at as u8),
            None => {
                key.push(if character.is_alphanumeric() { OTHER } else { SIGN });
                key.extend_from_slice(&u32::from(character).to_be_bytes()[1..]);
            }
        },
    }
}

/// Accents in the order of the letters they stand on; a letter without one weighs least.
#[derive(Default)]
struct Accents {
    bytes: Vec<u8>,
    /// Letters since the last accent. They are written only when another accent follows.
    bare: usize,
}

impl Accents {
    fn letter(&mut self) {
        self.bare += 1;
    }

    fn mark(&mut self, mark: char) {
        self.bytes.resize(self.bytes.len() + self.bare, 1);
        self.bare = 0;
        self.bytes.push(2);
        self.bytes.extend_from_slice(&u32::from(mark).to_be_bytes()[1..]);
    }
}

/// The Estonian letter a base and the accent behind it make.
fn estonian(base: char, mark: char) -> Option<char> {
    Some(match (base, mark) {
        ('s', '\u{30c}') => 'š',
        ('z', '\u{30c}') => 'ž',
        ('o', '\u{303}') => 'õ',
        ('a', '\u{308}') => 'ä',
        ('o', '\u{308}') => 'ö',
        ('u', '\u{308}') => 'ü',
        _ => return None,
    })
}

/// The plain spelling of lower case letters that do not decompose into a letter and an accent.
fn plain(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'ŧ' => "t",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn rises(texts: &[&str]) {
        for pair in texts.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn a_reader_types_neither_case_nor_accents() {
        for (text, folded) in [
            ("Mootorsõiduki JUHI tervisetõend", "mootorsoiduki juhi tervisetoend"),
            ("Žürii šokk", "zurii sokk"),
            ("  two \t\n words\u{a0}", "two words"),
            ("Straße", "strasse"),
            ("Łódź Ærø", "lodz aero"),
            ("İstanbul ΟΔΟΣ", "istanbul οδοσ"),
            ("o\u{303}", "o"),
            ("\u{301}", ""),
            ("Здоровье", "здоровье"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn the_estonian_alphabet_decides_the_order() {
        rises(&["s", "š", "z", "ž", "t", "u", "v", "w", "õ", "ä", "ö", "ü", "x", "y"]);
        rises(&["", " a", "-a", "0", "9", "a", "b", "y", "я"]);
        rises(&["sa", "sära", "šokk", "zooloog", "žürii", "taat"]);
        rises(&["Aed", "aeda", "AEDNIK"]);
    }

    #[test]
    fn case_is_ignored_and_a_foreign_accent_counts_last() {
        assert_eq!(key("ÕUN"), key("õun"));
        assert_eq!(key("o\u{303}un"), key("õun"));
        rises(&["resume", "resumé", "résume", "résumé", "resumf"]);
        rises(&["strasse", "straße", "strassf"]);
        rises(&["ä", "ǟ", "äa"]);
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "\\PC{0,20}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }

        #[test]
        fn a_text_sorts_before_every_longer_one_that_begins_with_it(text in "\\PC{0,10}", more in "\\PC{1,10}") {
            let (with_letter, longer) = (text.clone() + "a", text.clone() + "a" + &more);
            prop_assert!(key(&text) < key(&with_letter));
            prop_assert!(key(&with_letter) <= key(&longer));
        }
    }
}
