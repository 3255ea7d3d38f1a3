//! The elements and attributes that R5 allows in a narrative.
//!
//! Source: R5 `narrative.html`, `txt-1`: chapters 7 to 11 (without 9.4, `ins` and `del`) and 15 of HTML 4.0, `a`, images and
//! `style` attributes; elements and their attributes as in R5's schema `fhir-xhtml.xsd`, which knows image maps too. Deprecated
//! elements (`center`, `font`, `u` …) are out. Deprecated attributes of these chapters (`align`, `bgcolor`, `start` …) are not
//! named there as out, concern looks alone, and stay.

use XhtmlKind::{Block, Inline, Part};

/// Attributes of every element; `xml:lang` is the one beside them.
const COMMON: &[&str] = &["class", "dir", "id", "lang", "style", "title"];

/// An element that R5 allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct XhtmlElement {
    pub name: &'static str,
    kind: XhtmlKind,
    content: ContentModel,
    /// Attributes beside the common ones, in alphabetical order.
    pub attributes: &'static [&'static str],
}

/// Where an element may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XhtmlKind {
    /// Where blocks may.
    Block,
    /// Where text may.
    Inline,
    /// Only in the elements that name it.
    Part,
}

/// What may stand directly inside an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContentModel {
    /// Text and inline elements.
    inline: bool,
    block: bool,
    /// Further elements, by name.
    named: &'static [&'static str],
}

const EMPTY: ContentModel = only(&[]);
const INLINE: ContentModel = ContentModel { inline: true, block: false, named: &[] };
const FLOW: ContentModel = ContentModel { inline: true, block: true, named: &[] };
const ADDRESS: ContentModel = ContentModel { inline: true, block: false, named: &["p"] };

const fn only(named: &'static [&'static str]) -> ContentModel {
    ContentModel { inline: false, block: false, named }
}

const fn element(
    name: &'static str,
    kind: XhtmlKind,
    content: ContentModel,
    attributes: &'static [&'static str],
) -> XhtmlElement {
    XhtmlElement { name, kind, content, attributes }
}

/// Elements and what may stand nowhere inside them, at no depth. Source: XHTML 1.0, appendix B.
pub(super) const EXCLUSIONS: [(&str, &[&str]); 2] = [("a", &["a"]), ("pre", &["big", "img", "small", "sub", "sup"])];

/// Each element, in alphabetical order: what it is, what may stand in it, and its attributes.
///
/// Content models are those of XHTML 1.0 Transitional, since R5 refers to HTML 4.0 as a whole; a `map` may contain only
/// areas, as the HL7 validator requires. Only nesting is checked: neither the order of a table's parts nor that a list
/// has an item. Decision 149.
#[rustfmt::skip]
pub(super) const ELEMENTS: &[XhtmlElement] = &[
    element("a", Inline, INLINE, &["accesskey", "charset", "coords", "href", "hreflang", "name", "rel", "rev", "shape", "tabindex", "type"]),
    element("abbr", Inline, INLINE, &[]),
    element("acronym", Inline, INLINE, &[]),
    element("address", Block, ADDRESS, &[]),
    element("area", Part, EMPTY, &["accesskey", "alt", "coords", "href", "nohref", "shape", "tabindex"]),
    element("b", Inline, INLINE, &[]),
    element("bdo", Inline, INLINE, &[]),
    element("big", Inline, INLINE, &[]),
    element("blockquote", Block, FLOW, &["cite"]),
    element("br", Inline, EMPTY, &["clear"]),
    element("caption", Part, INLINE, &["align"]),
    element("cite", Inline, INLINE, &[]),
    element("code", Inline, INLINE, &[]),
    element("col", Part, EMPTY, &["align", "char", "charoff", "span", "valign", "width"]),
    element("colgroup", Part, only(&["col"]), &["align", "char", "charoff", "span", "valign", "width"]),
    element("dd", Part, FLOW, &[]),
    element("dfn", Inline, INLINE, &[]),
    element("div", Block, FLOW, &["align"]),
    element("dl", Block, only(&["dd", "dt"]), &["compact"]),
    element("dt", Part, INLINE, &[]),
    element("em", Inline, INLINE, &[]),
    element("h1", Block, INLINE, &["align"]),
    element("h2", Block, INLINE, &["align"]),
    element("h3", Block, INLINE, &["align"]),
    element("h4", Block, INLINE, &["align"]),
    element("h5", Block, INLINE, &["align"]),
    element("h6", Block, INLINE, &["align"]),
    element("hr", Block, EMPTY, &["align", "noshade", "size", "width"]),
    element("i", Inline, INLINE, &[]),
    element("img", Inline, EMPTY, &["align", "alt", "border", "height", "ismap", "longdesc", "src", "usemap", "width"]),
    element("kbd", Inline, INLINE, &[]),
    element("li", Part, FLOW, &["type", "value"]),
    element("map", Inline, only(&["area"]), &["name"]),
    element("ol", Block, only(&["li"]), &["compact", "start", "type"]),
    element("p", Block, INLINE, &["align"]),
    element("pre", Block, INLINE, &["width", "xml:space"]),
    element("q", Inline, INLINE, &["cite"]),
    element("samp", Inline, INLINE, &[]),
    element("small", Inline, INLINE, &[]),
    element("span", Inline, INLINE, &[]),
    element("strong", Inline, INLINE, &[]),
    element("sub", Inline, INLINE, &[]),
    element("sup", Inline, INLINE, &[]),
    element("table", Block, only(&["caption", "col", "colgroup", "tbody", "tfoot", "thead", "tr"]), &["align", "bgcolor", "border", "cellpadding", "cellspacing", "frame", "rules", "summary", "width"]),
    element("tbody", Part, only(&["tr"]), &["align", "char", "charoff", "valign"]),
    element("td", Part, FLOW, TABLE_CELL),
    element("tfoot", Part, only(&["tr"]), &["align", "char", "charoff", "valign"]),
    element("th", Part, FLOW, TABLE_CELL),
    element("thead", Part, only(&["tr"]), &["align", "char", "charoff", "valign"]),
    element("tr", Part, only(&["td", "th"]), &["align", "bgcolor", "char", "charoff", "valign"]),
    element("tt", Inline, INLINE, &[]),
    element("ul", Block, only(&["li"]), &["compact", "type"]),
    element("var", Inline, INLINE, &[]),
];

#[rustfmt::skip]
const TABLE_CELL: &[&str] = &[
    "abbr", "align", "axis", "bgcolor", "char", "charoff", "colspan", "headers", "height", "nowrap", "rowspan", "scope", "valign",
    "width",
];

/// The element with a name; `None` for one that is not allowed. XML is case-sensitive, so `B` is not allowed.
pub(super) fn of(name: &str) -> Option<&'static XhtmlElement> {
    let at = ELEMENTS.binary_search_by_key(&name, |element| element.name).ok()?;
    Some(&ELEMENTS[at])
}

impl XhtmlElement {
    /// Whether another element may stand directly inside this one.
    pub(super) fn may_hold(&self, inner: &XhtmlElement) -> bool {
        let by_kind = match inner.kind {
            XhtmlKind::Block => self.content.block,
            XhtmlKind::Inline => self.content.inline,
            XhtmlKind::Part => false,
        };
        by_kind || self.content.named.contains(&inner.name)
    }

    /// Whether text may stand directly inside it.
    pub(super) fn may_hold_text(&self) -> bool {
        self.content.inline
    }
}

/// Whether an element with these attributes of its own may have this one; `name` as it is written, with its prefix.
pub(super) fn may_have(own: &[&str], name: &str) -> bool {
    name == "xml:lang" || COMMON.contains(&name) || own.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_alphabetical_order_so_that_a_name_is_found() {
        assert!(ELEMENTS.is_sorted_by(|before, after| before.name < after.name));
        assert!(COMMON.is_sorted());
        for element in ELEMENTS {
            assert!(element.attributes.is_sorted(), "{}", element.name);
            assert_eq!(of(element.name), Some(element));
        }
    }

    #[test]
    fn what_an_element_names_is_in_the_table() {
        let named = ELEMENTS.iter().flat_map(|element| element.content.named);
        let excluded = EXCLUSIONS.iter().flat_map(|(outer, inner)| inner.iter().chain([outer]));
        named.chain(excluded).for_each(|name| assert!(of(name).is_some(), "{name}"));
        let parts = ELEMENTS.iter().filter(|element| element.kind == Part);
        parts.for_each(|part| assert!(ELEMENTS.iter().any(|outer| outer.may_hold(part)), "{}", part.name));
    }

    #[test]
    fn no_attribute_of_the_table_is_an_event() {
        let all = ELEMENTS.iter().flat_map(|element| element.attributes).chain(COMMON);
        assert!(all.into_iter().all(|name| !name.starts_with("on")));
    }

    #[test]
    fn elements_are_told_apart_by_case() {
        assert_eq!(of("B"), None);
        assert_eq!(of("script"), None);
        assert!(may_have(&[], "xml:lang") && !may_have(&[], "xml:base") && !may_have(&[], "href"));
    }
}
