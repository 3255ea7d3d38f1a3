//! Language tags: whether a text is a well-formed tag of BCP 47.
//!
//! A tag must be well-formed, as RFC 5646 section 2.2.9 defines it. Whether it is registered is not checked, because
//! IANA's registry changes between releases.

/// The system of language tags in a Coding. Source: FHIR R5 value set `all-languages`.
pub const SYSTEM: &str = "urn:ietf:bcp:47";

/// Tags that were registered before the grammar and do not follow it. Source: RFC 5646 section 2.1, `irregular`.
#[rustfmt::skip]
const IRREGULAR: [&str; 17] = [
    "en-GB-oed", "i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux", "i-mingo", "i-navajo", "i-pwn", "i-tao",
    "i-tay", "i-tsu", "sgn-BE-FR", "sgn-BE-NL", "sgn-CH-DE",
];

/// Whether a text is a well-formed language tag: `et`, `et-EE`, `zh-Hant-TW`, `x-private`. Case does not count.
///
/// Source: RFC 5646 sections 2.1 and 2.2.9.
pub fn is_well_formed(tag: &str) -> bool {
    if IRREGULAR.iter().any(|known| known.eq_ignore_ascii_case(tag)) {
        return true;
    }
    let subtags: Vec<&str> = tag.split('-').collect();
    if !subtags
        .iter()
        .all(|subtag| (1..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphanumeric()))
    {
        return false;
    }
    let mut rest = subtags.as_slice();
    if is_private_use(rest) {
        return true;
    }
    if !take(&mut rest, |subtag| is_letters(subtag, 2..=8)) {
        return false;
    }
    // Only a language of two or three letters has extended ones.
    if subtags[0].len() <= 3 {
        for _ in 0..3 {
            take(&mut rest, |subtag| is_letters(subtag, 3..=3));
        }
    }
    take(&mut rest, |subtag| is_letters(subtag, 4..=4));
    take(&mut rest, is_region);
    while take(&mut rest, is_variant) {}
    while take(&mut rest, |subtag| subtag.len() == 1 && !subtag.eq_ignore_ascii_case("x")) {
        let mut has_value = false;
        while take(&mut rest, |subtag| subtag.len() >= 2) {
            has_value = true;
        }
        if !has_value {
            return false;
        }
    }
    rest.is_empty() || is_private_use(rest)
}

/// Takes the next subtag when it is of a kind. Returns whether it is.
fn take(rest: &mut &[&str], is_kind: impl Fn(&str) -> bool) -> bool {
    match rest.split_first() {
        Some((subtag, behind)) if is_kind(subtag) => {
            *rest = behind;
            true
        }
        _ => false,
    }
}

fn is_private_use(subtags: &[&str]) -> bool {
    matches!(subtags, [first, _, ..] if first.eq_ignore_ascii_case("x"))
}

fn is_letters(subtag: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_region(subtag: &str) -> bool {
    is_letters(subtag, 2..=2) || subtag.len() == 3 && subtag.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_variant(subtag: &str) -> bool {
    subtag.len() >= 5 || subtag.len() == 4 && subtag.as_bytes()[0].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 5646, appendix A, and the regular grandfathered tags.
    #[rustfmt::skip]
    const RIGHT: &[&str] = &[
        "et", "et-EE", "en", "ET-ee", "zh-Hant", "zh-Hant-TW", "zh-cmn-Hans-CN", "cmn-Hans-CN", "yue-HK", "sr-Latn-RS", "sl-rozaj",
        "sl-rozaj-biske", "sl-nedis", "de-CH-1901", "sl-IT-nedis", "hy-Latn-IT-arevela", "de-DE", "en-US", "es-419", "de-CH-x-phonebk",
        "az-Arab-x-AZE-derbend", "x-whatever", "x-private", "qaa-Qaaa-QM-x-southern", "de-Qaaa", "en-US-u-islamcal",
        "zh-CN-a-myext-x-private", "en-a-myext-b-another", "i-klingon", "I-KLINGON", "en-GB-oed", "sgn-BE-FR", "art-lojban", "zh-min-nan",
        "no-bok", "abcd", "abcdefgh", "ast", "x-a-b-c",
    ];

    #[rustfmt::skip]
    const WRONG: &[&str] = &[
        "", "-", "e", "et-", "-et", "et--EE", "et_EE", "zzzzz_12", "et EE", " et", "et ", "õ", "et-õõ", "abcdefghi", "et-abcdefghi", "x",
        "x-", "i", "i-nothing", "en-a", "en-a-x", "en-x", "en-a-b", "12", "e2", "et-1", "abcde-abc", "de-419-DE", "a-DE", "et-EE-Latn",
        "en-u-x-a", "ar-aao-aao-aao-aao",
    ];

    #[test]
    fn a_tag_is_well_formed_as_the_grammar_says() {
        RIGHT.iter().for_each(|tag| assert!(is_well_formed(tag), "{tag}"));
        WRONG.iter().for_each(|tag| assert!(!is_well_formed(tag), "{tag}"));
        IRREGULAR.iter().for_each(|tag| assert!(is_well_formed(tag), "{tag}"));
    }
}
