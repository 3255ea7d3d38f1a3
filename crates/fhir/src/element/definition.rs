//! What R5 says of a type, and of each of its elements.

use std::sync::OnceLock;

use super::keys::ElementKeys;
use crate::codes::Codes;
use crate::primitive::Primitive;

/// `max` of an element that may repeat without end (`*`).
pub const MANY: u32 = u32::MAX;

/// A resource, a datatype, or the backbone element at a path (`Composition.section`).
#[derive(Debug)]
pub struct TypeDefinition {
    /// `Composition`, `HumanName`, `dateTime`, or the path of a backbone element.
    pub name: &'static str,
    /// Whether it is a resource, a datatype or a backbone element.
    pub kind: ElementKind,
    /// No value is of this type itself, as of `Resource` and `Element`.
    pub is_abstract: bool,
    /// The type it adds to, as far as the table needs it: `DomainResource`, `BackboneElement`, `Quantity` …
    pub base: Option<&'static str>,
    /// Inherited ones first, in R5's order. Empty for a primitive type, whose sibling object is an `Element`.
    pub elements: Vec<Element>,
    /// Every JSON name.
    pub(super) keys: ElementKeys,
    pub(super) checks: OnceLock<Checks>,
}

/// The kinds of types that R5 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// A resource type, such as `Composition`.
    Resource,
    /// A datatype with elements, such as `HumanName`.
    Complex,
    /// A primitive datatype, such as `dateTime`.
    Primitive,
    /// The type of a backbone element, named by its path, such as `Composition.section`.
    Backbone,
}

/// One element of a type.
#[derive(Clone, Debug)]
pub struct Element {
    /// FHIRPath's name: `value` for `value[x]`.
    pub name: &'static str,
    /// One of several types, which JSON puts into the name (`valueQuantity`).
    pub is_choice: bool,
    /// Number of values that must be there at least.
    pub min: u32,
    /// Or [`MANY`].
    pub max: u32,
    /// `isSummary`
    pub summary: bool,
    /// `isModifier`
    pub modifier: bool,
    /// At least one.
    pub types: Vec<ElementType>,
    /// Value set of a required binding, without version.
    pub value_set: Option<&'static str>,
}

/// A type that an element's value may have.
#[derive(Clone, Debug)]
pub struct ElementType {
    /// `Reference`, `string`, or the path of a backbone element.
    pub name: &'static str,
    /// How JSON shows a value of the type.
    pub content: ElementContent,
    /// A value without sibling object: `id`, `Extension.url`, XHTML.
    pub is_plain: bool,
    /// Types that a Reference, canonical or CodeableReference may point to. Empty: any.
    pub targets: Vec<&'static str>,
    /// Profile of the datatype (`SimpleQuantity`), or the one type that a `Resource` may be.
    pub profile: Option<&'static str>,
    pub(super) definition: OnceLock<&'static TypeDefinition>,
}

/// How JSON shows the values of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementContent {
    /// A boolean, a number or a string of this primitive type.
    Primitive(Primitive),
    /// An object of a datatype or backbone element.
    Complex,
    /// Any resource: `contained`, `Bundle.entry.resource`, `Parameters.parameter.resource`.
    Resource,
}

/// What a JSON name means.
#[derive(Clone, Copy, Debug)]
pub struct ElementLookup {
    /// The element that the name belongs to.
    pub element: &'static Element,
    /// Its place among the elements of the type.
    pub at: usize,
    /// The type of its value: of a choice (`valueQuantity`) the one that the name states.
    pub kind: &'static ElementType,
    /// The name begins with `_`: id and extensions of a primitive value.
    pub is_sibling: bool,
}

impl Element {
    /// Whether JSON shows it as an array.
    pub fn repeats(&self) -> bool {
        self.max > 1
    }
}

/// What is asked of every value of a type.
#[derive(Debug)]
pub struct Checks {
    /// Its own invariants and those of the types it is built on, but for those that are asked elsewhere.
    pub invariants: Vec<&'static Invariant>,
    /// Places of the elements that must be there, as bits.
    pub required: u128,
    /// By place.
    pub elements: Vec<ElementChecks>,
}

/// What is asked of every value of an element, beyond what its type asks.
#[derive(Debug)]
pub struct ElementChecks {
    /// Invariants of the element; those of a backbone element are asked of its type.
    pub invariants: Vec<&'static Invariant>,
    /// The value set of a required binding.
    pub codes: Option<&'static Codes>,
}

/// A rule that R5 states for a type or an element.
#[derive(Debug)]
pub struct Invariant {
    /// `per-1`
    pub key: &'static str,
    /// What it says, in English.
    pub human: &'static str,
    /// FHIRPath.
    pub(crate) text: &'static str,
    /// Its place among all.
    pub(crate) number: usize,
}
