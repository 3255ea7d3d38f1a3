//! How a div begins that the service generated, and how it is told from one that was changed.

use crate::State;

/// `text.status` of a narrative that holds what the fields hold.
pub const GENERATED: &str = "generated";

/// A generated div: `OPENING`, the digest of what follows `CLOSING` as 16 hexadecimal digits, `CLOSING`, lines, `</div>`.
pub(super) const OPENING: &str = r#"<div xmlns="http://www.w3.org/1999/xhtml" class="hcert-"#;

pub(super) const CLOSING: &str = r#"" lang="et" xml:lang="et">"#;

pub(super) const DIGEST_DIGITS: usize = 16;

/// How a generated div began before it had a digest. Decision 144.
pub(super) const OPENING_WITHOUT_DIGEST: &str =
    r#"<div xmlns="http://www.w3.org/1999/xhtml" lang="et" xml:lang="et"><p><b>"#;

/// Whether [`generate`](super::generate) made a div, for any certificate, and the div is unchanged; if so, it may be generated anew.
pub fn is_generated(div: &str) -> bool {
    let rest = div.strip_prefix(OPENING);
    rest.and_then(|rest| rest.split_at_checked(DIGEST_DIGITS)).is_some_and(|(digits, rest)| digits == digest(rest))
}

/// Whether a div looks like those that the service generated before they had a digest. Decision 144.
pub fn is_generated_without_digest(div: &str) -> bool {
    let mut states = State::ALL.into_iter().map(|state| format!("<p>Olek: {}</p>", state.name()));
    div.starts_with(OPENING_WITHOUT_DIGEST) && states.any(|state| div.contains(&state))
}

/// FNV-1a of 64 bits. It detects a change, not a forgery; a forged div would only be generated anew.
pub(super) fn digest(text: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:0DIGEST_DIGITS$x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}
