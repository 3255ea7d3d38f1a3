//! Institutions whose doctors write certificates, and employers whose people need them.

use super::digits::padded;
use super::random::RandomStream;
use certificate::personal_code::check_digit;

/// A registered body: its registry code and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Organisation {
    /// Eight digits, the last one a check digit.
    pub code: u32,
    name: [&'static str; 3],
}

pub(super) const INSTITUTIONS: u64 = 400;
pub(super) const EMPLOYERS: u64 = 6_000;

/// Institution by number, below [`INSTITUTIONS`]. Codes begin with 99, which the business register does not use.
pub(super) fn institution(seed: u64, index: u64) -> Organisation {
    let mut random = RandomStream::new(seed, (index << 8) | 0x20);
    Organisation {
        code: registry_code(9_900_000 + spread(seed, index, 100_000)),
        name: [random.pick(PLACES), " ", random.pick(PRACTICES)],
    }
}

/// Employer by number, below [`EMPLOYERS`]. Codes begin with 18 or 19, which the business register does not use yet.
pub(super) fn employer(seed: u64, index: u64) -> Organisation {
    let mut random = RandomStream::new(seed, (index << 8) | 0x21);
    Organisation {
        code: registry_code(1_800_000 + spread(seed, index, 200_000)),
        name: [random.pick(FORMS), random.pick(FIRSTS), random.pick(TRADES)],
    }
}

impl Organisation {
    pub(super) fn write_name(&self, out: &mut String) {
        self.name.iter().for_each(|part| out.push_str(part));
    }
}

/// Numbers below `end` in another order; different ones stay different. `end` is no multiple of the factor, a prime.
fn spread(seed: u64, index: u64, end: u64) -> u64 {
    const FACTOR: u64 = 15_485_863;
    (index * FACTOR + RandomStream::new(seed, end).below(end)) % end
}

fn registry_code(seven: u64) -> u32 {
    let mut digits = String::new();
    padded(&mut digits, seven, 7);
    10 * seven as u32 + u32::from(check_digit(digits.as_bytes()))
}

#[rustfmt::skip]
const PLACES: &[&str] = &[
    "Tallinna", "Tartu", "Narva", "Pärnu", "Kohtla-Järve", "Viljandi", "Rakvere", "Kuressaare", "Võru", "Valga", "Haapsalu", "Jõhvi",
    "Paide", "Keila", "Põlva", "Türi", "Elva", "Saue", "Tapa", "Kärdla", "Põltsamaa", "Jõgeva", "Rapla", "Maardu", "Sillamäe", "Õismäe",
    "Mustamäe", "Lasnamäe", "Ülejõe", "Annelinna", "Kesklinna", "Põhja-Eesti", "Lõuna-Eesti", "Lääne", "Ida-Viru",
];

#[rustfmt::skip]
const PRACTICES: &[&str] = &[
    "Perearstikeskus OÜ", "Töötervishoiukeskus OÜ", "Polikliinik AS", "Haigla SA", "Tervisekeskus OÜ", "Erakliinik OÜ", "Arstikabinet OÜ",
    "Tervisemaja AS", "Meditsiinikeskus AS", "Perearst OÜ", "Kliinikum SA", "Tervisekontrolli OÜ",
];

const FORMS: &[&str] = &["OÜ ", "AS ", "OÜ ", "SA ", "MTÜ ", "TÜ ", "OÜ ", "Osaühing "];

#[rustfmt::skip]
const FIRSTS: &[&str] = &[
    "Põhjatuule", "Rukkilille", "Pähklimäe", "Kõrvemaa", "Tammsalu", "Õunaaia", "Merekivi", "Kadakase", "Linnulaulu", "Ööviiuli", "Rännu",
    "Sinilille", "Kuldkala", "Raudtee", "Päikese", "Hõbekuuse", "Lumivalge", "Vahtramäe", "Metsise", "Soomaa", "Rabakivi", "Saareotsa",
    "Jõekääru", "Ürgoru", "Äiketormi", "Žürii", "Šokolaadi", "Virmalise", "Talvetee", "Suveöö", "Karulaugu", "Kurekella", "Pärnaõie",
    "Toomingase", "Kaseoja", "Liivaluite", "Nurmenuku", "Pääsulinnu", "Kiigemetsa", "Vikerkaare",
];

#[rustfmt::skip]
const TRADES: &[&str] = &[
    " Ehitus", " Transport", " Mööbel", " Ladu", " Metall", " Puhastus", " Kaubandus", " Kütus", " Energia", " Toit", " Aiandus",
    " Lasteaed", " Hooldus", " Turvateenused", " Logistika", " Puit", " Elekter", " Trükk", " Kalatööstus", " Õmblus", " Farm", " Grupp",
    " Põllumajandus", " Remont", " Teed", " Sadam", " Kaevandus", " Keemia", " Klaas", " Majutus",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn registry_codes_have_eight_digits_with_a_right_check_digit() {
        assert_eq!(registry_code(1_697_804), 16_978_044);
        assert_eq!(registry_code(9_000_639), 90_006_399);
    }

    #[test]
    fn no_two_organisations_share_a_code() {
        let institutions = (0..INSTITUTIONS).map(|index| institution(5, index).code);
        let employers = (0..EMPLOYERS).map(|index| employer(5, index).code);
        let codes: HashSet<u32> = institutions.chain(employers).collect();
        assert_eq!(codes.len() as u64, INSTITUTIONS + EMPLOYERS);
    }
}
