//! A place in a resource as FHIRPath sees it: a value, what stands beside it (`_name`), and its type.

use smallvec::SmallVec;

use crate::element::{self, Element, ElementContent, ElementType, TypeDefinition};
use crate::json::{Json, Object};
use crate::primitive::Primitive;

/// Nearly every step of a path leads to a few.
pub(super) type Nodes<'a> = SmallVec<[Node<'a>; 2]>;

/// One element with a value of its own, in an array or alone.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Missing where only an extension says why there is none.
    pub value: Option<&'a Json<'a>>,
    /// Id and extensions of a primitive value.
    pub sibling: Option<&'a Json<'a>>,
    /// The type of the element.
    pub kind: NodeKind,
}

/// What R5 says of the type of a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeKind {
    /// A resource, a datatype or a backbone element.
    Complex(&'static TypeDefinition),
    /// A primitive type, whose value is no object.
    Primitive(Primitive),
    /// Of no type that R5 has.
    Unknown,
}

impl<'a> Node<'a> {
    /// A whole resource.
    pub fn resource(value: &'a Json<'a>) -> Node<'a> {
        let definition = value.text("resourceType").and_then(element::of_resource);
        Node { value: Some(value), sibling: None, kind: definition.map_or(NodeKind::Unknown, NodeKind::Complex) }
    }

    /// A value whose definition is known.
    pub fn complex(value: &'a Json<'a>, definition: &'static TypeDefinition) -> Node<'a> {
        Node { value: Some(value), sibling: None, kind: NodeKind::Complex(definition) }
    }

    /// A value that is no resource, of a type that its element allows.
    pub fn element(value: &'a Json<'a>, sibling: Option<&'a Json<'a>>, of: &'static ElementType) -> Node<'a> {
        match of.content {
            ElementContent::Resource => Node::resource(value),
            ElementContent::Primitive(primitive) => {
                Node { value: Some(value), sibling, kind: NodeKind::Primitive(primitive) }
            }
            ElementContent::Complex => {
                let kind = of.definition().map_or(NodeKind::Unknown, NodeKind::Complex);
                Node { value: Some(value), sibling: None, kind }
            }
        }
    }

    /// The object whose members are its children: that beside a primitive value, else the value itself.
    pub fn object(&self) -> Option<&'a Object<'a>> {
        let object = if matches!(self.kind, NodeKind::Primitive(_)) { self.sibling } else { self.value };
        object.and_then(Json::as_object)
    }

    /// The text of a string or the digits of a number.
    pub fn text(&self) -> Option<&'a str> {
        match self.value? {
            Json::String(text) | Json::Number(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value is of a type or of one that is built on it.
    pub fn is(&self, name: &str) -> bool {
        match self.kind {
            NodeKind::Primitive(primitive) => {
                primitive.name() == name
                    || base_of(primitive) == Some(name)
                    || primitive.name().eq_ignore_ascii_case(name)
            }
            NodeKind::Complex(definition) => {
                let mut open = Some(definition);
                while let Some(definition) = open {
                    if definition.name == name {
                        return true;
                    }
                    open = definition.base.and_then(element::of);
                }
                false
            }
            NodeKind::Unknown => false,
        }
    }

    /// Whether there is a child of a name.
    pub fn has_child(&self, name: &str) -> bool {
        let Some(object) = self.object() else { return false };
        let definition = match self.kind {
            NodeKind::Complex(definition) => definition,
            // Beside a primitive value stands an Element.
            NodeKind::Primitive(_) => return matches!(name, "id" | "extension") && object.get(name).is_some(),
            NodeKind::Unknown => return false,
        };
        object.iter().any(|(key, value)| {
            let key = key.strip_prefix('_').unwrap_or(key);
            // Nearly every key has another beginning; a key that begins so may be that of a choice.
            let is_it = key.starts_with(name) && definition.find(key).is_some_and(|found| found.element.name == name);
            is_it && value.as_array().is_none_or(|items| items.iter().any(|item| !matches!(item, Json::Null)))
        })
    }

    /// The children of a name.
    pub fn children_named(&self, name: &str, out: &mut Nodes<'a>) {
        self.children_of(|element| element.name == name, |key| key.trim_start_matches('_').starts_with(name), out);
    }

    /// All children.
    pub fn children(&self, out: &mut Nodes<'a>) {
        self.children_of(|_| true, |_| true, out);
    }

    /// `may_be` sorts out most keys before they are looked up.
    fn children_of(&self, wanted: impl Fn(&Element) -> bool, may_be: impl Fn(&str) -> bool, out: &mut Nodes<'a>) {
        let Some(object) = self.object() else { return };
        let definition = match self.kind {
            NodeKind::Complex(definition) => Some(definition),
            // Beside a primitive value stands an Element.
            NodeKind::Primitive(_) => element::of("Element"),
            NodeKind::Unknown => None,
        };
        let Some(definition) = definition else { return };
        for (key, value) in object.iter().filter(|(key, _)| may_be(key)) {
            let Some(found) = definition.find(key).filter(|found| wanted(found.element)) else { continue };
            if found.is_sibling {
                // With its value, where there is one.
                if object.get(&key[1..]).is_none() {
                    items(value)
                        .for_each(|item| out.push(Node { value: None, ..Node::element(item, Some(item), found.kind) }));
                }
                continue;
            }
            let sibling = match found.kind.content {
                ElementContent::Primitive(_) => object.iter().find(|(name, _)| name.strip_prefix('_') == Some(key)),
                _ => None,
            };
            let beside: &[Json] =
                sibling.map_or(&[], |(_, sibling)| sibling.as_array().unwrap_or(std::slice::from_ref(sibling)));
            for (at, item) in items(value).enumerate() {
                let sibling = beside.get(at).filter(|sibling| !matches!(sibling, Json::Null));
                let node = Node::element(item, sibling, found.kind);
                match (item, sibling) {
                    (Json::Null, None) => {}
                    (Json::Null, Some(_)) => out.push(Node { value: None, ..node }),
                    _ => out.push(node),
                }
            }
        }
    }
}

fn items<'a>(value: &'a Json<'a>) -> impl Iterator<Item = &'a Json<'a>> {
    value.as_array().unwrap_or(std::slice::from_ref(value)).iter()
}

/// The primitive type that another one narrows.
fn base_of(primitive: Primitive) -> Option<&'static str> {
    Some(match primitive {
        Primitive::Code | Primitive::Id | Primitive::Markdown => "string",
        Primitive::Canonical | Primitive::Oid | Primitive::Url | Primitive::Uuid => "uri",
        Primitive::PositiveInt | Primitive::UnsignedInt => "integer",
        _ => return None,
    })
}
