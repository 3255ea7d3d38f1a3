//! Reading `data/r5-elements.txt`.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::definition::{Element, ElementContent, ElementKind, ElementType, MANY, TypeDefinition};
use super::keys::{ElementKey, ElementKeys};
use crate::primitive::Primitive;

const TEXT: &str = include_str!("../../../../data/r5-elements.txt");

/// A type in the text, and what was read of it: the type itself and its backbone elements.
struct TypeSlot {
    /// Name, kind, base.
    head: [&'static str; 3],
    elements: &'static str,
    definitions: OnceLock<Vec<TypeDefinition>>,
}

static SLOTS: LazyLock<Vec<TypeSlot>> = LazyLock::new(|| {
    let mut slots = Vec::with_capacity(256);
    let mut rest = TEXT;
    while !rest.is_empty() {
        let (head, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        // The next line at the margin begins the next type.
        let end = margin(behind);
        if !head.starts_with('#') {
            slots.push(TypeSlot { head: words(head), elements: &behind[..end], definitions: OnceLock::new() });
        }
        rest = &behind[end..];
    }
    slots
});

/// Where each type stands among the slots.
static PLACES: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| SLOTS.iter().enumerate().map(|(at, slot)| (slot.head[0], at)).collect());

fn margin(text: &str) -> usize {
    let mut at = 0;
    while text[at..].starts_with(' ') {
        at += text[at..].find('\n').map_or(text.len() - at, |newline| newline + 1);
    }
    at
}

/// The definition of a resource type, a datatype or a backbone element (`Composition.section`).
pub fn of(name: &str) -> Option<&'static TypeDefinition> {
    let root = name.split('.').next()?;
    let at = *PLACES.get(root)?;
    let definitions = SLOTS[at].definitions.get_or_init(|| read(&SLOTS[at]));
    // The type itself stands behind its backbone elements.
    definitions.iter().rev().find(|definition| definition.name == name)
}

/// Names of all types.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SLOTS.iter().map(|slot| slot.head[0])
}

fn read(slot: &TypeSlot) -> Vec<TypeDefinition> {
    let [name, kind, base] = slot.head;
    let (is_abstract, kind) = match kind.strip_prefix("abstract-") {
        Some(kind) => (true, kind),
        None => (false, kind),
    };
    let kind = match kind {
        "resource" => ElementKind::Resource,
        "primitive" => ElementKind::Primitive,
        _ => ElementKind::Complex,
    };
    let lines: Vec<&'static str> = slot.elements.lines().collect();
    let mut definitions = Vec::new();
    define(TypeHead { name, kind, is_abstract, base: (base != "-").then_some(base) }, &lines, 1, &mut definitions);
    definitions
}

struct TypeHead {
    name: &'static str,
    kind: ElementKind,
    is_abstract: bool,
    base: Option<&'static str>,
}

/// Reads the lines of one type, its backbone elements before itself.
fn define(head: TypeHead, lines: &[&'static str], depth: usize, definitions: &mut Vec<TypeDefinition>) {
    let inherited = head.base.filter(|_| head.kind != ElementKind::Primitive).and_then(of);
    let mut elements = inherited.map(|base| base.elements.clone()).unwrap_or_default();
    let mut at = 0;
    while at < lines.len() {
        let inner = lines[at + 1..].iter().take_while(|line| indent(line) > depth).count();
        let mut element = element(lines[at]);
        if inner > 0 {
            // Read once and kept as long as the process, like the text itself.
            let path: &'static str = format!("{}.{}", head.name, element.name).leak();
            let base = Some(element.types[0].name);
            let inner_head = TypeHead { name: path, kind: ElementKind::Backbone, is_abstract: false, base };
            define(inner_head, &lines[at + 1..=at + inner], depth + 1, definitions);
            element.types[0].name = path;
        }
        elements.push(element);
        at += 1 + inner;
    }
    let keys = keys(&elements);
    let TypeHead { name, kind, is_abstract, base } = head;
    definitions.push(TypeDefinition { name, kind, is_abstract, base, elements, keys, checks: OnceLock::new() });
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// ` author 1..* s Reference(Practitioner|Patient)`
fn element(line: &'static str) -> Element {
    let [name, cardinality, flags, types] = words(line);
    let (min, max) = cardinality.split_once("..").expect(WRITTEN);
    let number = |digits: &str| digits.parse().expect(WRITTEN);
    Element {
        name: name.trim_end_matches("[x]"),
        is_choice: name.ends_with("[x]"),
        min: number(min),
        max: if max == "*" { MANY } else { number(max) },
        summary: flags.contains('s'),
        modifier: flags.contains('m'),
        types: types.split(',').map(element_type).collect(),
        value_set: line.split_once(" =").map(|(_, value_set)| value_set),
    }
}

/// `Reference(A|B)`, `Quantity<SimpleQuantity>`, `@string`, `#Composition.section`
fn element_type(text: &'static str) -> ElementType {
    let (text, targets) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((text, targets)) => (text, targets.split('|').collect()),
        None => (text, Vec::new()),
    };
    let (text, profile) = match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((text, profile)) => (text, Some(profile)),
        None => (text, None),
    };
    let name = text.trim_start_matches(['@', '#']);
    let content = match Primitive::of(name) {
        Some(primitive) => ElementContent::Primitive(primitive),
        None if name == "Resource" => ElementContent::Resource,
        None => ElementContent::Complex,
    };
    let is_plain = text.starts_with('@') || content == ElementContent::Primitive(Primitive::Xhtml);
    ElementType { name, content, is_plain, targets, profile, definition: OnceLock::new() }
}

/// Every name that JSON gives the elements.
fn keys(elements: &[Element]) -> ElementKeys {
    let mut keys = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        for (kind, of) in element.types.iter().enumerate() {
            let json = if element.is_choice {
                let (first, rest) = of.name.split_at(1);
                format!("{}{}{rest}", element.name, first.to_ascii_uppercase())
            } else {
                element.name.to_owned()
            };
            keys.push(ElementKey { json: json.into(), element: at, kind });
        }
    }
    ElementKeys::new(keys)
}

/// The first words of a line.
fn words<const N: usize>(line: &'static str) -> [&'static str; N] {
    let mut words = line.split_ascii_whitespace();
    std::array::from_fn(|_| words.next().expect(WRITTEN))
}

const WRITTEN: &str = "the table was written by its script, and a test reads all of it";

/// The definition of a resource type that a resource can be of, which an abstract one is not.
pub fn of_resource(name: &str) -> Option<&'static TypeDefinition> {
    // A path names a backbone element, never a resource.
    of(name).filter(|definition| definition.kind == ElementKind::Resource && !definition.is_abstract)
}
