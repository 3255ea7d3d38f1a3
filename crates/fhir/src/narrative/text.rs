//! What a reader sees of a div, and a div out of plain text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use roxmltree::{Document, Error, Node};

use super::XHTML;
use crate::limits::{XHTML_ATTRIBUTES_MAX, XHTML_NAMESPACES_MAX};

/// HTML's named characters (`nbsp` …), which XML does not know by itself, each as a number: `&#160;`.
static ENTITIES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let declarations = include_str!("../../../../data/xhtml-entities.dtd").lines();
    let declaration = |line: &'static str| line.strip_prefix("<!ENTITY ")?.strip_suffix("\">")?.split_once(" \"");
    declarations.filter_map(declaration).collect()
});

/// Bytes of the longest name in [`ENTITIES`].
const ENTITY_BYTES_MAX: usize = 8;

/// Elements that do not break the text around them; all others (`p`, `br`, `li`, `td` …) do.
#[rustfmt::skip]
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins", "kbd", "q", "s",
    "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
];

/// The text of a div: markup stripped, entities decoded, white space collapsed to single spaces and trimmed, case kept. `None`
/// when the div is not well-formed XML or not [bounded](is_bounded). Whether its markup is allowed is a rule of narratives and
/// not looked at here.
///
/// HTML's named characters are read although R5 wants them as numbers: a text made of `&nbsp;` alone is blank.
///
/// Source: Contract 3.3, 4.4; FHIR R5 `narrative.html`.
pub fn plain_text(div: &str) -> Option<String> {
    if let Some(text) = only_text(div) {
        return Some(collapsed(text).into_owned());
    }
    if !is_bounded(div) {
        return None;
    }
    match Document::parse(div) {
        Ok(document) => Some(text(&document)),
        Err(Error::UnknownEntityReference(..)) => {
            Document::parse(&with_numbers(div)).ok().map(|document| text(&document))
        }
        Err(_) => None,
    }
}

/// Whether nothing of a text is seen: white space, control characters, characters that Unicode lets a font leave out
/// (`Default_Ignorable_Code_Point`), and blanks that are no white space to it.
pub fn is_blank(text: &str) -> bool {
    let is_ignorable = |character| {
        matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{fffe}'..='\u{ffff}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
    };
    text.chars().all(|character| character.is_whitespace() || character.is_control() || is_ignorable(character))
}

/// The text of a div as this service and most others write one: no markup, no entity, nothing that needs a look into XML's rules.
pub(super) fn only_text(div: &str) -> Option<&str> {
    let inside = div.strip_prefix("<div xmlns=\"")?.strip_prefix(XHTML)?.strip_prefix("\">")?.strip_suffix("</div>")?;
    // The characters that XML forbids begin with byte 239; `>` may end a CDATA section; `=` counts as an attribute below.
    let is_plain = |byte: u8| byte >= b' ' && !matches!(byte, b'<' | b'>' | b'&' | b'=' | 239);
    // So short that it cannot hold too many namespaces, even as text.
    (inside.len() < XHTML_NAMESPACES_MAX && inside.bytes().all(is_plain)).then_some(inside)
}

/// White space as single blanks, none at the ends.
pub fn collapsed(text: &str) -> Cow<'_, str> {
    // White space beyond ASCII begins with one of these bytes.
    let may_be_space = |byte: u8| byte < b' ' || matches!(byte, 0xc2 | 0xe1..=0xe3);
    let mut before = b' ';
    let is_collapsed = text.bytes().all(|byte| {
        let is_single = byte != b' ' || before != b' ';
        before = byte;
        is_single && !may_be_space(byte)
    });
    if text.is_empty() || is_collapsed && before != b' ' {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    Cow::Owned(out)
}

/// HTML's named characters as numbers, which XML knows by itself; inside CDATA an `&` is only an `&`.
fn with_numbers(div: &str) -> String {
    let mut out = String::with_capacity(div.len() + div.len() / 4);
    let mut rest = div;
    while let Some(at) = rest.find(['&', '<']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.strip_prefix("<![CDATA[") {
            Some(data) => rest.len() - data.split_once("]]>").map_or(0, |(_, behind)| behind.len()),
            None => match named(rest) {
                Some((length, number)) => {
                    out.push_str(number);
                    rest = &rest[length..];
                    continue;
                }
                None => 1,
            },
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// The bytes of the named character a text begins with, and its number.
pub(super) fn named(text: &str) -> Option<(usize, &'static str)> {
    let name = text.strip_prefix('&')?;
    let end = name.bytes().take(ENTITY_BYTES_MAX + 1).position(|byte| byte == b';')?;
    ENTITIES.get(&name[..end]).map(|number| (end + 2, *number))
}

/// Whether roxmltree reads this in a time that grows with its length alone. The time it takes grows with the square of the
/// attributes of an element and with the cube of the namespaces in force, so a body of the allowed size could hold it for minutes.
pub fn is_bounded(xml: &str) -> bool {
    // No tag holds a `<`, so each lies in one piece; an attribute is a `=` before a quotation mark, wherever it stands.
    let attributes = |piece: &str| {
        let values = piece.split('=').skip(1);
        values.filter(|value| value.trim_ascii_start().starts_with(['"', '\''])).count()
    };
    xml.matches("xmlns").count() <= XHTML_NAMESPACES_MAX
        && xml.split('<').all(|piece| attributes(piece) <= XHTML_ATTRIBUTES_MAX)
}

/// Walks along children, siblings and parents without recursion: a div may nest as deep as it is long.
fn text(document: &Document) -> String {
    let mut out = NarrativeText::default();
    let mut open = Some(document.root());
    while let Some(node) = open {
        out.enter(node);
        open = node.first_child().or_else(|| out.leave(node));
    }
    out.text
}

#[derive(Default)]
struct NarrativeText {
    text: String,
    /// White space was seen behind the last word.
    gap: bool,
}

impl NarrativeText {
    fn enter(&mut self, node: Node) {
        self.gap |= breaks(node);
        if let Some(text) = node.text().filter(|_| node.is_text()) {
            text.chars().for_each(|character| self.push(character));
        }
    }

    /// Ends a node and all that end with it; what comes then.
    fn leave<'a, 'i>(&mut self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let mut ended = node;
        loop {
            self.gap |= breaks(ended);
            match ended.next_sibling() {
                Some(next) => return Some(next),
                None => ended = ended.parent()?,
            }
        }
    }

    fn push(&mut self, character: char) {
        if character.is_whitespace() {
            self.gap = true;
            return;
        }
        if self.gap && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.gap = false;
        self.text.push(character);
    }
}

fn breaks(node: Node) -> bool {
    node.is_element() && !INLINE.contains(&node.tag_name().name())
}

/// A div whose content begins with an element, before what it has. `element` is XHTML that begins with `<div ` and declares no namespace.
/// Nothing when the div is not well-formed XML, not [bounded](is_bounded), or has no content.
pub fn begin_with(div: &str, element: &str) -> Option<String> {
    if !is_bounded(div) {
        return None;
    }
    let document = Document::parse(div).ok()?;
    let root = document.root_element();
    root.first_child()?;
    let start = root.range().start;
    let at = start + tag_bytes(&div[start..])?;
    let (before, rest) = div.split_at(at);
    // Where the root has a prefix, elements without one are not XHTML.
    let namespace = match div[start..].starts_with("<div") {
        true => String::new(),
        false => format!(" xmlns=\"{XHTML}\""),
    };
    let element = element.strip_prefix("<div")?;
    Some([before, "<div", &namespace, element, rest].concat())
}

/// A div without the `style` of any element, so that nothing in it hides or covers what stands beside it. As it is when it is not well-formed
/// XML, or not [bounded](is_bounded).
pub fn without_styles(div: &str) -> Cow<'_, str> {
    let may_have = div.contains("style") && is_bounded(div);
    let Some(document) = may_have.then(|| Document::parse(div).ok()).flatten() else { return div.into() };
    let mut plain = div.to_owned();
    let attributes = document.descendants().flat_map(|node| node.attributes());
    let styles = attributes.filter(|attribute| attribute.namespace().is_none() && attribute.name() == "style");
    let mut ranges: Vec<_> = styles.map(|style| style.range()).collect();
    ranges.sort_by_key(|range| range.start);
    for range in ranges.into_iter().rev() {
        let before = div[..range.start].trim_end().len();
        plain.replace_range(before..range.end, "");
    }
    plain.into()
}

/// The bytes of the tag that a text begins with; a value may hold `>`.
fn tag_bytes(text: &str) -> Option<usize> {
    let mut quotation = None;
    let end = text.bytes().position(|byte| match (quotation, byte) {
        (Some(mark), byte) => {
            quotation = (mark != byte).then_some(mark);
            false
        }
        (None, b'"' | b'\'') => {
            quotation = Some(byte);
            false
        }
        (None, byte) => byte == b'>',
    })?;
    Some(end + 1)
}

/// Text as it stands inside XHTML.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// The div of a Narrative that shows a plain text, escaped.
pub fn section_text(text: &str) -> String {
    format!("<div xmlns=\"{XHTML}\">{}</div>", escape(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inside(content: &str) -> Option<String> {
        plain_text(&format!("<div xmlns=\"{XHTML}\">{content}</div>"))
    }

    fn reads(content: &str, expected: &str) {
        assert_eq!(inside(content).as_deref(), Some(expected), "{content}");
    }

    #[test]
    fn markup_goes_and_text_stays() {
        reads("Prillid", "Prillid");
        reads("<b>Pri</b>llid <i>alati</i>", "Prillid alati");
        reads("<a href=\"x>y\">siin</a><!-- nothing --><img src=\"a\" alt=\"b\"/>", "siin");
        reads("<![CDATA[a < b]]>", "a < b");
        reads("<?target nothing?>a", "a");
    }

    #[test]
    fn the_end_of_a_block_is_white_space() {
        reads("<p>a</p><p>b</p>", "a b");
        reads("a<br/>b", "a b");
        reads("<ul><li>a</li><li>b</li></ul>c", "a b c");
        reads("<table><tr><td>a</td><td>b</td></tr></table>", "a b");
        reads("a<p>b</p>c", "a b c");
        reads("<dl><dt>a</dt><dd>b</dd></dl>", "a b");
    }

    #[test]
    fn white_space_collapses_and_case_stays() {
        reads(" \n A\t\r\n b&#160;&#8195; C ", "A b C");
        reads("<p> </p><p>&#160;</p>", "");
        reads("", "");
        assert_eq!(plain_text(" <div>a</div>\n").as_deref(), Some("a"));
    }

    #[test]
    fn entities_of_xml_and_html_are_decoded() {
        reads("&lt;b&gt; &amp;amp; &quot;&apos;", "<b> &amp; \"'");
        reads("&#213;un &#xF5;un", "Õun õun");
        reads("a&nbsp;b&ouml;&Auml;&ndash;&scaron;&euro;", "a böÄ–š€");
        reads("&nbsp;<p>&nbsp;</p>", "");
        reads("&nbsp;<![CDATA[&nbsp;]]>&lt;&thetasym;", "&nbsp;<ϑ");
        reads("<a title='&auml;'>&ouml;</a>", "ö");
    }

    #[test]
    fn every_named_character_of_html_is_known() {
        let declared = include_str!("../../../../data/xhtml-entities.dtd").matches("<!ENTITY").count();
        assert_eq!(ENTITIES.len(), declared);
        for (name, number) in ENTITIES.iter() {
            assert!(
                name.len() <= ENTITY_BYTES_MAX && number.starts_with("&#") && number.ends_with(';'),
                "{name} {number}"
            );
        }
        assert_eq!(inside("&nbsp;&nothingatall;"), None);
        assert_eq!(inside("&nbsp;&amp"), None);
        assert_eq!(inside("&nbsp;<![CDATA[ &nbsp;"), None);
    }

    #[test]
    fn what_is_not_well_formed_has_no_text() {
        for content in [
            "<p>",
            "</p>",
            "<p></b>",
            "&",
            "&nothing;",
            "a < b",
            "<p a=1/>",
            "<p a='1' a='2'/>",
            "<p a='<'/>",
            "\u{1}",
            "&#1;",
        ] {
            assert_eq!(inside(content), None, "{content}");
        }
        for div in ["", " ", "text", "<div/><div/>", "<div/>text", "<x:div/>"] {
            assert_eq!(plain_text(div), None, "{div}");
        }
    }

    #[test]
    fn a_div_declares_no_entities_of_its_own() {
        for name in ["a", "nbsp"] {
            let div = format!("<!DOCTYPE div [<!ENTITY a \"b\">]><div>&{name};</div>");
            assert_eq!(plain_text(&div), None);
        }
        assert_eq!(plain_text("<!ENTITY a \"b\"><div>&a;&nbsp;</div>"), None);
        assert_eq!(plain_text("]><div>&nbsp;</div>"), None);
    }

    #[test]
    fn depth_and_length_cost_no_stack() {
        let depth = 50_000;
        let div = format!("{}a{}", "<b>".repeat(depth), "</b>".repeat(depth));
        assert_eq!(plain_text(&div).as_deref(), Some("a"));
        let long = "<br/>a &nbsp;".repeat(depth);
        assert_eq!(inside(&long).map(|text| text.len()), Some(2 * depth - 1));
    }

    #[test]
    fn the_last_allowed_attribute_and_namespace_pass_and_the_next_do_not() {
        let with = |count: usize, attribute: &dyn Fn(usize) -> String| {
            let attributes: Vec<String> = (0..count).map(attribute).collect();
            plain_text(&format!("<div>x=y '<b {}>a</b></div>", attributes.join(" ")))
        };
        assert!(with(XHTML_ATTRIBUTES_MAX, &|n| format!("a{n} = '{n}=x'")).is_some());
        assert!(with(XHTML_ATTRIBUTES_MAX + 1, &|n| format!("a{n} =\n\"{n}\"")).is_none());
        let nested = |count: usize| {
            let open: String = (0..count).map(|n| format!("<b xmlns:a{n}='{n}'>")).collect();
            plain_text(&format!("{open}a{}", "</b>".repeat(count)))
        };
        assert!(nested(XHTML_NAMESPACES_MAX).is_some());
        assert!(nested(XHTML_NAMESPACES_MAX + 1).is_none());
    }

    #[test]
    fn escaped_text_needs_nothing_when_nothing_is_special() {
        assert!(matches!(escape("Õun 'ja' \"pirn\""), Cow::Borrowed(_)));
        assert_eq!(escape("<a & b>"), "&lt;a &amp; b&gt;");
        assert_eq!(section_text("a<b"), "<div xmlns=\"http://www.w3.org/1999/xhtml\">a&lt;b</div>");
    }

    #[test]
    fn an_element_is_put_before_all_that_a_div_has() {
        let put = |div: &str| begin_with(div, "<div class=\"a\">N</div>");
        for (div, expected) in [
            ("<div>a</div>", "<div><div class=\"a\">N</div>a</div>"),
            (" <!-- <div> --><div\n><p>a</p></div> ", " <!-- <div> --><div\n><div class=\"a\">N</div><p>a</p></div> "),
            (
                "<div title='>\"/>'><![CDATA[a]]></div>",
                "<div title='>\"/>'><div class=\"a\">N</div><![CDATA[a]]></div>",
            ),
            ("<div><!-- a -->b</div>", "<div><div class=\"a\">N</div><!-- a -->b</div>"),
            ("<div>&#228;<div>b</div></div>", "<div><div class=\"a\">N</div>&#228;<div>b</div></div>"),
        ] {
            assert_eq!(put(div).as_deref(), Some(expected));
        }
        let prefixed = format!("<h:div xmlns:h=\"{XHTML}\"><h:p>a</h:p></h:div>");
        let put_in = put(&prefixed).unwrap();
        assert!(put_in.contains("<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"a\">N</div><h:p>"), "{put_in}");
        assert_eq!(crate::narrative::problems(&put_in), []);
        for div in ["<div/>", "<div>", "", "a", "<div>&nbsp;</div>"] {
            assert_eq!(put(div), None, "{div}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_text_comes_back_out_of_its_div(text in "\\PC*") {
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(plain_text(&section_text(&text)), Some(words.join(" ")));
        }

        #[test]
        fn a_div_without_markup_says_what_the_xml_reader_says(text in "([ -~]|\\PC|[\u{a0}\u{fffe}\u{ffff}\u{2028}\t ]){0,60}") {
            let div = format!("<div xmlns=\"{XHTML}\">{text}</div>");
            if only_text(&div).is_some() {
                let document = Document::parse(&div).expect("there is no markup in it");
                prop_assert_eq!(plain_text(&div), Some(super::text(&document)));
            }
        }

        #[test]
        fn white_space_collapses_to_single_blanks(text in "[ a\tõ\u{a0}\u{1680}\u{2003}\u{3000}\u{85}]{0,8}") {
            prop_assert_eq!(collapsed(&text), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }

        #[test]
        fn no_div_panics(div in "(<[a-z/!?]*>?|&[a-z#0-9]*;?|\\PC){0,20}") {
            let _ = plain_text(&div);
        }
    }
}
