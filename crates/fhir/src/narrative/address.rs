//! Values of attributes that may load or run something: addresses, images and styles.

/// Schemes a link may lead to. An address without scheme leads to a place within the narrative or on the same server.
const SCHEMES: &[&str] = &["http", "https", "mailto", "tel"];

/// Images that hold nothing but an image; SVG may hold a script.
const IMAGES: &[&str] = &["data:image/gif;base64,", "data:image/jpeg;base64,", "data:image/png;base64,"];

/// What makes a style load or run something, in the form [`folded`] brings it to.
const ACTIVE: &[&str] = &[
    "-moz-binding",
    "@import",
    "behavior:",
    "expression(",
    "image(",
    "image-set(",
    "javascript:",
    "progid:",
    "src(",
    "url(",
    "vbscript:",
];

/// `scroll-behavior` and `overscroll-behavior` end like an active property and only scroll.
const INACTIVE: &str = "scroll-behavior:";

/// The scheme of an address, with its colon, when a link may not lead there.
///
/// Browsers overlook some white space and control characters in a scheme and its case, so all of them are overlooked here.
pub(super) fn forbidden_scheme(address: &str) -> Option<String> {
    let shown = |character: &char| !character.is_whitespace() && !character.is_control();
    let mut scheme: String = address.chars().filter(shown).take_while(|c| !"/?#".contains(*c)).collect();
    scheme.truncate(scheme.find(':')?);
    scheme.make_ascii_lowercase();
    let is_allowed = SCHEMES.contains(&scheme.as_str());
    (!is_allowed).then(|| scheme + ":")
}

/// Whether an image comes with the resource: `#` and the id of a contained resource or an attachment, or the image itself.
pub(super) fn is_own_image(address: &str) -> bool {
    if let Some(id) = address.strip_prefix('#') {
        return !id.is_empty();
    }
    let data = |prefix: &&str| {
        let (start, data) = address.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then_some(data)
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b' ');
    IMAGES.iter().find_map(data).is_some_and(|data| !data.is_empty() && data.bytes().all(is_base64))
}

/// What a style loads or runs, if it does.
///
/// Old browsers join what a comment parts, others see a comment only where no string holds it: both readings are tried.
pub(super) fn active_style(style: &str) -> Option<&'static str> {
    active(&folded(style)).or_else(|| active(&folded(&without_comments(style)?)))
}

fn active(folded: &str) -> Option<&'static str> {
    let inactive = folded.matches(INACTIVE).count();
    let occurs = |word: &&&str| folded.matches(**word).count() > if INACTIVE.ends_with(**word) { inactive } else { 0 };
    ACTIVE.iter().find(occurs).copied()
}

/// A style with its escapes (`\75`, `\u`) read, in lower case and ASCII where it looks like it, without white space.
fn folded(style: &str) -> String {
    let mut out = String::with_capacity(style.len());
    let mut characters = style.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = if character == '\\' { escaped(&mut characters) } else { Some(character) };
        // Old browsers read full-width letters as plain ones.
        let narrow = |wide: char| char::from_u32(u32::from(wide) - 0xfee0).unwrap_or(wide);
        let meant = meant.map(|meant| if ('\u{ff01}'..='\u{ff5e}').contains(&meant) { narrow(meant) } else { meant });
        out.extend(meant.filter(|meant| !meant.is_whitespace() && !meant.is_control()).map(|c| c.to_ascii_lowercase()));
    }
    out
}

/// The character a backslash stands before: one to six hexadecimal digits and a blank, or itself. Source: CSS 2.1, 4.1.3.
fn escaped(characters: &mut std::iter::Peekable<std::str::Chars>) -> Option<char> {
    let mut number = 0;
    let mut digits = 0;
    while let Some(digit) = characters.peek().and_then(|c| c.to_digit(16)).filter(|_| digits < 6) {
        number = number * 16 + digit;
        digits += 1;
        characters.next();
    }
    if digits == 0 {
        return characters.next();
    }
    characters.next_if(char::is_ascii_whitespace);
    char::from_u32(number)
}

/// A style with its comments taken out; nothing when it has none.
fn without_comments(style: &str) -> Option<String> {
    let (mut out, mut rest) = style.split_once("/*").map(|(before, rest)| (before.to_owned(), rest))?;
    while let Some((_, behind)) = rest.split_once("*/") {
        let (before, next) = behind.split_once("/*").unwrap_or((behind, ""));
        out.push_str(before);
        rest = next;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_people_and_places_nearby() {
        for address in [
            "#a",
            "",
            "a/b:c",
            "/a",
            "//a.ee",
            "?a=b:c",
            "http://a.ee",
            "HTTPS://a.ee:1/",
            "mailto:a@b.ee",
            "tel:+372 1",
        ] {
            assert_eq!(forbidden_scheme(address), None, "{address}");
        }
    }

    #[test]
    fn a_scheme_is_seen_through_what_browsers_overlook() {
        for address in ["javascript:a", "JavaScript:a", " \t\njava\u{1}\r\nscript\u{a0} :a//", "\u{85}javascript:#?/"] {
            assert_eq!(forbidden_scheme(address).as_deref(), Some("javascript:"), "{address}");
        }
        assert_eq!(forbidden_scheme("java%73cript:a").as_deref(), Some("java%73cript:"));
        assert_eq!(forbidden_scheme("data:text/html,a").as_deref(), Some("data:"));
        assert_eq!(forbidden_scheme(":a").as_deref(), Some(":"));
    }

    #[test]
    fn an_image_is_contained_or_plain_data() {
        for image in [
            "#a",
            "data:image/png;base64,iVBORw0KGgo=",
            "DATA:image/JPEG;base64,/9j/ 4A+",
            "data:image/gif;base64,R0lGOD",
        ] {
            assert!(is_own_image(image), "{image}");
        }
        for image in [
            "",
            "#",
            "a.png",
            "õ",
            "//a.ee/b.png",
            "http://a.ee/b.png",
            " data:image/png;base64,a",
            "data:image/png;base64,",
            "data:image/png,a",
            "data:image/png;base64,<",
            "data:image/svg+xml;base64,PHN2Zz4=",
            "data:text/html;base64,PHN2Zz4=",
        ] {
            assert!(!is_own_image(image), "{image}");
        }
    }

    #[test]
    fn a_style_that_only_looks_passes() {
        for style in [
            "",
            "color: red; font-family: \"Noto Sans\", 'Arial' /* plain */",
            "scroll-behavior: smooth; Overscroll-Behavior: none",
            "width: calc(100% - 2em); content: '\\201C'; transform: rotate(3deg)",
            "/* never closed",
            "\\",
        ] {
            assert_eq!(active_style(style), None, "{style}");
        }
    }

    #[test]
    fn a_style_is_seen_through_escapes_comments_case_and_width() {
        for (style, found) in [
            ("background: URL (a)", "url("),
            ("background: \\75rl(a)", "url("),
            ("background: \\000075 r\\6C\t(a)", "url("),
            ("background: \\u\\r\\l(a)", "url("),
            ("background: u/* */r/**/l(a)", "url("),
            ("content: '/*'; background: url(a); content: '*/'", "url("),
            ("content: '\\2f*'; background: url(a)", "url("),
            ("width: exp/*\n*/ression(a)", "expression("),
            ("width: ｅｘｐｒｅｓｓｉｏｎ(a)", "expression("),
            ("scroll-behavior: auto; behavior: x", "behavior:"),
            ("-ms-behavior: x", "behavior:"),
            ("filter: progid:DXImageTransform", "progid:"),
            ("background: -webkit-image-set('a' 1x)", "image-set("),
            ("a: java\\\nscript:b", "javascript:"),
        ] {
            assert_eq!(active_style(style), Some(found), "{style}");
        }
    }
}
