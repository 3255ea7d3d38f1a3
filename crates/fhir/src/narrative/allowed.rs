//! Whether a narrative is allowed: formatting, links and images, and nothing that runs, loads or hides.
//!
//! A div is read as XML here, but shown by browsers that may read it as HTML; so what is hidden from one and markup to the other
//! is not allowed either.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use roxmltree::{Document, Error, Node, TextPos};

use super::address::{active_style, forbidden_scheme, is_own_image};
use super::elements::{self, EXCLUSIONS, may_have};
use super::problem::{NarrativeProblem, ProblemKind};
use super::text::{is_bounded, named, only_text};
use super::{XHTML, collapsed};

/// Problems told of one narrative; who has more learns of them when these are gone. An answer reports 100 in all.
pub(super) const NARRATIVE_PROBLEMS_MAX: usize = 20;

/// Every reason why a `Narrative.div` is not allowed, in the order found, each once and at its first place. A right div has none,
/// and [`plain_text`](super::plain_text) reads it.
///
/// Source: FHIR R5 `narrative.html`, `txt-1`, `txt-2`; Contract 8.2.
pub fn problems(div: &str) -> Vec<NarrativeProblem> {
    if only_text(div).is_some_and(|text| !collapsed(text).is_empty()) {
        return Vec::new();
    }
    if !is_bounded(div) {
        return vec![NarrativeProblem::too_much()];
    }
    let mut found = AttributeVerdict::default();
    match Document::parse(div) {
        Ok(document) => found.check(&document),
        Err(Error::UnknownEntityReference(..)) => {
            let filled = found.named_characters(div);
            match Document::parse(&filled) {
                Ok(document) => found.check(&document),
                Err(error) => found.problems.push(error.into()),
            }
        }
        Err(Error::DtdDetected) => {
            let at = div.find("<!DOCTYPE").unwrap_or_default();
            found.push(ProblemKind::Doctype, "", || place(div, at));
        }
        Err(error) => found.problems.push(error.into()),
    }
    // What made the XML unreadable may stand behind as many named characters as are told.
    found.problems.truncate(NARRATIVE_PROBLEMS_MAX);
    found.problems
}

#[derive(Default)]
struct AttributeVerdict {
    problems: Vec<NarrativeProblem>,
    /// Where the element ends that an exclusion is about and that was entered last; 0 before the first.
    excluded_until: [usize; EXCLUSIONS.len()],
}

impl AttributeVerdict {
    /// Reports a problem, unless it is known. `at` reads the div from its beginning, so nobody asks it twice for one problem.
    fn push(&mut self, kind: ProblemKind, detail: &str, at: impl FnOnce() -> TextPos) {
        let mut problem = NarrativeProblem::new(kind, detail);
        if !self.is_full() && !self.problems.iter().any(|known| known.is_like(&problem)) {
            problem.at = Some(at());
            self.problems.push(problem);
        }
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= NARRATIVE_PROBLEMS_MAX
    }

    fn check(&mut self, document: &Document) {
        if document.input_text().starts_with("<?xml") {
            self.push(ProblemKind::Instruction, "<?xml", || TextPos::new(1, 1));
        }
        self.hidden(document);
        let root = document.root_element();
        if !root.has_tag_name((XHTML, "div")) {
            self.push(ProblemKind::Root, &tag(root), || at(root));
        }
        // Goes along the nodes as they lie in memory: a div may nest as deep as it is long.
        for node in document.descendants() {
            if self.is_full() {
                return;
            }
            if let Some(instruction) = node.pi() {
                self.push(ProblemKind::Instruction, &format!("<?{}", instruction.target), || at(node));
            }
            if node.is_element() {
                self.element(node, root);
            } else if node.is_text() && !is_blank(node.text().unwrap_or_default()) {
                self.text(node);
            }
        }
        if !document.descendants().any(is_content) {
            self.push(ProblemKind::Empty, "", || at(root));
        }
    }

    fn element(&mut self, element: Node, root: Node) {
        let namespace = element.tag_name().namespace();
        // One in the namespace of a wrong root is told of with the root.
        if namespace != Some(XHTML) && namespace != root.tag_name().namespace() {
            return self.push(ProblemKind::Namespace, &tag(element), || at(element));
        }
        let Some(definition) = elements::of(element.tag_name().name()) else {
            return self.push(ProblemKind::Element, &tag(element), || at(element));
        };
        self.nesting(element, definition);
        let document = element.document();
        // The XML reader passes over an empty prefix; to an HTML reader `<:b/>` is a text.
        if document.input_text()[element.range().start + 1..].starts_with(':') {
            return self.push(ProblemKind::Prefix, ":", || at(element));
        }
        // It takes `a:xmlns="…"` for `xmlns="…"`, whatever the prefix; to an HTML reader the tag has no namespace then.
        if let Some(prefix) = prefixed_xmlns(&document.input_text()[element.range().start..]) {
            return self.push(ProblemKind::Prefix, prefix, || at(element));
        }
        for attribute in element.attributes() {
            let name = &document.input_text()[attribute.range_qname()];
            let problem = if may_have(definition.attributes, name) {
                of_value(name, attribute.value())
            } else {
                Some((ProblemKind::Attribute, Cow::Borrowed(name)))
            };
            if let Some((kind, detail)) = problem {
                self.push(kind, &detail, || document.text_pos_at(attribute.range().start));
            }
        }
    }

    /// Reports an element that is not allowed in the elements around it. An unknown element is reported itself, without
    /// its content.
    fn nesting(&mut self, element: Node, definition: &elements::XhtmlElement) {
        let Range { start, end } = element.range();
        let mut outer = element.parent_element().and_then(|parent| elements::of(parent.tag_name().name()));
        outer = outer.filter(|outer| !outer.may_hold(definition));
        let mut outer = outer.map(|outer| outer.name);
        for ((name, inner), until) in EXCLUSIONS.iter().zip(&mut self.excluded_until) {
            if start < *until && inner.contains(&definition.name) {
                outer = outer.or(Some(name));
            }
            // The walk enters elements in the order of the text, so one that begins before the end of another lies inside it.
            if definition.name == *name && start >= *until {
                *until = end;
            }
        }
        if let Some(outer) = outer {
            self.push(ProblemKind::Nesting, &format!("<{outer}> {}", tag(element)), || at(element));
        }
    }

    fn text(&mut self, text: Node) {
        let outer = text.parent_element().filter(|parent| {
            elements::of(parent.tag_name().name()).is_some_and(|definition| !definition.may_hold_text())
        });
        if let Some(outer) = outer {
            self.push(ProblemKind::Text, &tag(outer), || at(text));
        }
    }

    /// Comments and CDATA sections that an HTML reader ends earlier than XML does, which makes markup of their rest.
    fn hidden(&mut self, document: &Document) {
        let div = document.input_text();
        let mut from = 0;
        // Well-formed XML has `<!` nowhere else, except in comments, CDATA sections and instructions.
        while let Some(start) = div[from..].find("<!").map(|at| from + at) {
            let piece = &div[start..start + piece_bytes(&div[start..])];
            let data = piece.strip_prefix("<![CDATA[").and_then(|data| data.strip_suffix("]]>"));
            if data.is_some_and(|data| data.contains('>')) {
                self.push(ProblemKind::Data, "", || document.text_pos_at(start));
            }
            if piece.starts_with("<!-->") || piece.starts_with("<!--->") {
                self.push(ProblemKind::Comment, "", || document.text_pos_at(start));
            }
            from = start + piece.len();
        }
    }

    /// Reports HTML's named characters, which XML does not know, and puts as many bytes in their places.
    fn named_characters(&mut self, div: &str) -> String {
        let mut filled = String::with_capacity(div.len());
        while let Some(start) = div[filled.len()..].find(['&', '<']).map(|at| filled.len() + at) {
            filled.push_str(&div[filled.len()..start]);
            let rest = &div[start..];
            let Some(name) = unknown_name(rest) else {
                filled.push_str(&rest[..piece_bytes(rest)]);
                continue;
            };
            let number = named(rest).map(|(_, number)| number);
            let detail = number.map_or(Cow::Borrowed(name), |number| Cow::Owned(format!("{name} = {number}")));
            self.push(ProblemKind::Named, &detail, || place(div, start));
            let filling = if number == Some("&#160;") { " " } else { "_" };
            filled.extend(iter::repeat_n(filling, name.len()));
        }
        filled.push_str(&div[filled.len()..]);
        filled
    }
}

/// The name of an attribute `prefix:xmlns` in the tag that a text begins with.
fn prefixed_xmlns(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let (at, found) = rest.char_indices().find(|(_, character)| matches!(character, '>' | '"' | '\''))?;
        let names = &rest[..at];
        let mut words = names.split(|c: char| c.is_ascii_whitespace() || c == '=');
        if let Some(name) = words.find(|name| name.ends_with(":xmlns")) {
            return Some(name);
        }
        if found == '>' {
            return None;
        }
        // A value ends with the quotation mark that it began with.
        let value = &rest[at + 1..];
        rest = &value[value.find(found)? + 1..];
    }
}

/// Whether a node is a text that is not blank, or an image.
fn is_content(node: Node) -> bool {
    match node.is_text() {
        true => !node.text().is_none_or(is_blank),
        false => node.has_tag_name("img") && node.has_attribute("src"),
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// What is wrong with the value of an allowed attribute, and how to tell it.
fn of_value<'v>(name: &str, value: &'v str) -> Option<(ProblemKind, Cow<'v, str>)> {
    match name {
        "cite" | "href" | "longdesc" | "usemap" => Some((ProblemKind::Address, forbidden_scheme(value)?.into())),
        "src" => (!is_own_image(value)).then(|| (ProblemKind::Image, value.into())),
        "style" => Some((ProblemKind::Style, active_style(value)?.into())),
        _ => None,
    }
}

/// The bytes of the comment or CDATA section a text begins with, all of it when it does not end; one byte for anything else.
fn piece_bytes(text: &str) -> usize {
    let ended_by = |start: &str, end: &str| {
        let inside = text.strip_prefix(start)?;
        Some(inside.find(end).map_or(text.len(), |at| start.len() + at + end.len()))
    };
    ended_by("<!--", "-->").or_else(|| ended_by("<![CDATA[", "]]>")).unwrap_or(1)
}

/// The reference to a named character that a text begins with, when the name is none of XML's five.
fn unknown_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('&')?;
    let end =
        name.find(|c: char| !c.is_ascii_alphanumeric()).filter(|end| *end > 0 && name[*end..].starts_with(';'))?;
    let is_known = matches!(&name[..end], "amp" | "apos" | "gt" | "lt" | "quot");
    (!is_known).then(|| &text[..end + 2])
}

fn tag(element: Node) -> String {
    format!("<{}>", element.tag_name().name())
}

fn at(node: Node) -> TextPos {
    node.document().text_pos_at(node.range().start)
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> TextPos {
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or(before);
    TextPos::new(1 + before.matches('\n').count() as u32, 1 + line.chars().count() as u32)
}
