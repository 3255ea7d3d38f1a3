//! What a browser makes of a div that it reads as HTML, not as XML: which tags it sees, and where it takes an address to lead.
//!
//! Written from HTML's own rules and not from ours, as the yardstick of the narrative's target.
//!
//! Source: HTML Living Standard 13.2.5 (tokenization), URL Standard 4.4.

/// A tag that opens an element, and the names of its attributes, as they are written.
#[derive(Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    pub name: &'a str,
    pub attributes: Vec<&'a str>,
}

/// The tags that open elements, in their order.
///
/// No element that R5 allows makes plain text of what it holds, as `style` or `textarea` would; behind one of those the list is wrong.
pub fn tags(html: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some((_, behind)) = rest.split_once('<') {
        rest = match behind.as_bytes().first() {
            Some(b'!') => behind_declaration(&behind[1..]),
            Some(b'?') => behind_first(behind, ">"),
            Some(b'/') if behind[1..].starts_with(|sign: char| sign.is_ascii_alphabetic()) => tag(&behind[1..]).1,
            Some(b'/') => behind_first(behind, ">"),
            Some(sign) if sign.is_ascii_alphabetic() => {
                let (tag, behind) = tag(behind);
                found.extend(tag);
                behind
            }
            _ => behind,
        };
    }
    found
}

/// The scheme of an address, in lower case, when the browser sees one.
pub fn scheme(address: &str) -> Option<String> {
    let address = address.trim_start_matches(|sign| sign <= ' ');
    let address: String = address.chars().filter(|sign| !matches!(sign, '\t' | '\n' | '\r')).collect();
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// Behind a comment, or behind what a browser takes for one: a CDATA section ends for it at the first `>`.
fn behind_declaration(text: &str) -> &str {
    let Some(comment) = text.strip_prefix("--") else { return behind_first(text, ">") };
    if let Some(behind) = comment.strip_prefix('>').or_else(|| comment.strip_prefix("->")) {
        return behind;
    }
    let ends = ["-->", "--!>"].map(|end| behind_first(comment, end));
    // The shorter the rest, the later the end.
    if ends[0].len() >= ends[1].len() { ends[0] } else { ends[1] }
}

fn behind_first<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, behind)| behind)
}

/// A tag from its name on, and what is behind it. One that does not end is none.
fn tag(text: &str) -> (Option<Tag<'_>>, &str) {
    let (name, mut rest) = split(text, |sign| is_space(sign) || matches!(sign, '/' | '>'));
    let mut tag = Tag { name, attributes: Vec::new() };
    loop {
        rest = rest.trim_start_matches(|sign| is_space(sign) || sign == '/');
        if let Some(behind) = rest.strip_prefix('>') {
            return (Some(tag), behind);
        }
        let Some(first) = rest.chars().next() else { return (None, "") };
        // An equals sign at the beginning belongs to the name.
        let (more, behind) = split(&rest[first.len_utf8()..], |sign| is_space(sign) || matches!(sign, '/' | '>' | '='));
        tag.attributes.push(&rest[..first.len_utf8() + more.len()]);
        rest = match behind.trim_start_matches(is_space).strip_prefix('=') {
            Some(value) => behind_value(value.trim_start_matches(is_space)),
            None => behind,
        };
    }
}

fn behind_value(text: &str) -> &str {
    match text.chars().next() {
        Some('"') => behind_first(&text[1..], "\""),
        Some('\'') => behind_first(&text[1..], "'"),
        _ => split(text, |sign| is_space(sign) || sign == '>').1,
    }
}

fn split(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

fn is_space(sign: char) -> bool {
    matches!(sign, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}
