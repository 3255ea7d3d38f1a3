//! Any text as the div of a narrative, as it is and as the content of a right div.

use roxmltree::Document;

use super::is_one_in;
use crate::browser::{self, Tag};
use fhir::narrative::{XHTML, is_bounded, plain_text, problems, section_text};

/// Elements that run, load or hide something, whatever a table of ours says.
const ACTIVE: &[&str] = &[
    "audio", "base", "button", "embed", "form", "frame", "iframe", "input", "link", "math", "meta", "noscript",
    "object", "script", "select", "style", "svg", "template", "textarea", "title", "video", "xmp",
];

/// Attributes that lead somewhere.
const ADDRESSES: &[&str] = &["cite", "href", "longdesc", "src", "usemap"];

/// Judges one text, as it is and as the content of a right div.
pub fn judge(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        judge_div(text);
        judge_div(&format!("<div xmlns=\"{XHTML}\">{text}</div>"));
    }
}

fn judge_div(div: &str) {
    let found = problems(div);
    assert!(found.len() <= 20, "an answer stays short");
    assert!(found.iter().all(|problem| problem.to_string().chars().count() < 250), "a message stays short");
    let plain = plain_text(div);
    if is_one_in(8, div.as_bytes()) {
        assert_eq!(found, problems(div), "judged twice, it is the same");
        assert_eq!(plain, plain_text(div), "read twice, it is the same");
    }
    if found.is_empty() {
        assert!(plain.is_some(), "what is right can be read");
        both_readers_agree(div);
    }
    if let Some(plain) = plain.filter(|plain| !plain.is_empty()) {
        comes_back(&plain);
    }
}

/// A right div is the same to a browser that reads it as HTML, and nothing in it runs.
fn both_readers_agree(div: &str) {
    let document = Document::parse(div).expect("a right div is XML");
    let elements = || document.descendants().filter(|node| node.is_element());
    let seen = browser::tags(div);
    let local = |tag: &Tag| tag.name.rsplit(':').next().unwrap_or_default().to_owned();
    let names: Vec<String> = seen.iter().map(local).collect();
    assert!(elements().map(|element| element.tag_name().name()).eq(&names), "XML and HTML have the same tags");
    for (element, tag) in elements().zip(&seen) {
        assert!(!ACTIVE.contains(&tag.name.to_ascii_lowercase().as_str()), "{tag:?} is active");
        let attributes = element.attributes().map(|attribute| &div[attribute.range_qname()]);
        let given = tag.attributes.iter().copied().filter(|name| *name != "xmlns" && !name.starts_with("xmlns:"));
        assert!(attributes.eq(given.clone()), "XML and HTML have the same attributes in {tag:?}");
        assert!(given.clone().all(|name| !name.to_ascii_lowercase().starts_with("on")), "{tag:?} has an event");
        for attribute in element.attributes().filter(|attribute| ADDRESSES.contains(&attribute.name())) {
            let scheme = browser::scheme(attribute.value());
            let is_harmless = match scheme.as_deref() {
                None | Some("http" | "https" | "mailto" | "tel") => true,
                Some("data") => attribute.name() == "src" && is_image(attribute.value()),
                Some(_) => false,
            };
            assert!(is_harmless, "{scheme:?} in {tag:?}");
        }
    }
}

fn is_image(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["gif", "jpeg", "png"].iter().any(|kind| address.starts_with(&format!("data:image/{kind};")))
}

/// A plain text made a div is right and holds the same text.
fn comes_back(plain: &str) {
    let div = section_text(plain);
    // The bound counts in the text too, as a `=` there may look like an attribute.
    if is_bounded(&div) {
        assert_eq!(problems(&div), [], "plain text is right");
        assert_eq!(plain_text(&div).as_deref(), Some(plain), "plain text stays as it is");
    }
}
