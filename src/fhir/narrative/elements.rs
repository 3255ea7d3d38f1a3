//! The elements and attributes that R5 allows in a narrative.
//!
//! Source: R5 `narrative.html`, `txt-1`: chapters 7 to 11 (without 9.4, `ins` and `del`) and 15 of HTML 4.0, `a`, images and
//! `style` attributes; elements and their attributes as in R5's schema `fhir-xhtml.xsd`, which knows image maps too. Deprecated
//! elements (`center`, `font`, `u` …) are out. Deprecated attributes of these chapters (`align`, `bgcolor`, `start` …) are not
//! named there as out, tell of looks alone, and stay.

/// Attributes of every element; `xml:lang` is the one beside them.
const COMMON: &[&str] = &["class", "dir", "id", "lang", "style", "title"];

/// Each element and the attributes it may have beside the common ones, in alphabetical order.
#[rustfmt::skip]
pub(super) const ELEMENTS: &[(&str, &[&str])] = &[
    ("a", &["accesskey", "charset", "coords", "href", "hreflang", "name", "rel", "rev", "shape", "tabindex", "type"]),
    ("abbr", &[]),
    ("acronym", &[]),
    ("address", &[]),
    ("area", &["accesskey", "alt", "coords", "href", "nohref", "shape", "tabindex"]),
    ("b", &[]),
    ("bdo", &[]),
    ("big", &[]),
    ("blockquote", &["cite"]),
    ("br", &["clear"]),
    ("caption", &["align"]),
    ("cite", &[]),
    ("code", &[]),
    ("col", &["align", "char", "charoff", "span", "valign", "width"]),
    ("colgroup", &["align", "char", "charoff", "span", "valign", "width"]),
    ("dd", &[]),
    ("dfn", &[]),
    ("div", &["align"]),
    ("dl", &["compact"]),
    ("dt", &[]),
    ("em", &[]),
    ("h1", &["align"]),
    ("h2", &["align"]),
    ("h3", &["align"]),
    ("h4", &["align"]),
    ("h5", &["align"]),
    ("h6", &["align"]),
    ("hr", &["align", "noshade", "size", "width"]),
    ("i", &[]),
    ("img", &["align", "alt", "border", "height", "ismap", "longdesc", "src", "usemap", "width"]),
    ("kbd", &[]),
    ("li", &["type", "value"]),
    ("map", &["name"]),
    ("ol", &["compact", "start", "type"]),
    ("p", &["align"]),
    ("pre", &["width", "xml:space"]),
    ("q", &["cite"]),
    ("samp", &[]),
    ("small", &[]),
    ("span", &[]),
    ("strong", &[]),
    ("sub", &[]),
    ("sup", &[]),
    ("table", &["align", "bgcolor", "border", "cellpadding", "cellspacing", "frame", "rules", "summary", "width"]),
    ("tbody", &["align", "char", "charoff", "valign"]),
    ("td", TABLE_CELL),
    ("tfoot", &["align", "char", "charoff", "valign"]),
    ("th", TABLE_CELL),
    ("thead", &["align", "char", "charoff", "valign"]),
    ("tr", &["align", "bgcolor", "char", "charoff", "valign"]),
    ("tt", &[]),
    ("ul", &["compact", "type"]),
    ("var", &[]),
];

#[rustfmt::skip]
const TABLE_CELL: &[&str] = &[
    "abbr", "align", "axis", "bgcolor", "char", "charoff", "colspan", "headers", "height", "nowrap", "rowspan", "scope", "valign",
    "width",
];

/// The attributes of an element beside the common ones; nothing for an element that is not allowed. XML tells upper case from
/// lower, so `B` is none.
pub(super) fn attributes_of(element: &str) -> Option<&'static [&'static str]> {
    let at = ELEMENTS.binary_search_by_key(&element, |(name, _)| name).ok()?;
    Some(ELEMENTS[at].1)
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
        assert!(ELEMENTS.is_sorted_by(|(before, _), (after, _)| before < after));
        assert!(COMMON.is_sorted());
        for (name, attributes) in ELEMENTS {
            assert!(attributes.is_sorted(), "{name}");
            assert_eq!(attributes_of(name), Some(*attributes));
        }
    }

    #[test]
    fn no_attribute_of_the_table_is_an_event() {
        let all = ELEMENTS.iter().flat_map(|(_, own)| own.iter()).chain(COMMON);
        assert!(all.into_iter().all(|name| !name.starts_with("on")));
    }

    #[test]
    fn elements_are_told_apart_by_case() {
        assert_eq!(attributes_of("B"), None);
        assert_eq!(attributes_of("script"), None);
        assert!(may_have(&[], "xml:lang") && !may_have(&[], "xml:base") && !may_have(&[], "href"));
    }
}
