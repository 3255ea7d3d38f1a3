//! What R5 asks of the values of a type: elements that must be there, codes, invariants. Gathered when the first one is checked.

use super::{Element, Kind, TypeDefinition, of};
use crate::codes::{self, Codes};
use crate::invariant::{self, Invariant};

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
    pub invariants: Vec<&'static Invariant>,
    /// The value set of a required binding.
    pub codes: Option<&'static Codes>,
}

/// A walk over a whole body asks these where they belong: they are about all of its references, ids and narratives.
const ASKED_BY_WALKS: [&str; 6] = ["dom-2", "dom-3", "ele-1", "ref-1", "txt-1", "txt-2"];

impl Checks {
    pub(super) fn of(definition: &'static TypeDefinition) -> Checks {
        let mut invariants = Vec::new();
        let mut open = Some(definition);
        while let Some(of_type) = open {
            invariants.extend(asked_at(of_type.name));
            open = of_type.base.and_then(of);
        }
        let required = definition.elements.iter().enumerate().filter(|(_, element)| element.min > 0);
        Checks {
            invariants,
            required: required.fold(0, |bits, (at, _)| bits | 1 << (at & 127)),
            elements: definition.elements.iter().map(|element| element_checks(definition, element)).collect(),
        }
    }
}

fn element_checks(definition: &TypeDefinition, element: &'static Element) -> ElementChecks {
    let path = format!("{}.{}", definition.name, element.name);
    // The invariants of a backbone element are those of its type, which has the same name.
    let is_backbone = element.types[0].definition().is_some_and(|inner| inner.kind == Kind::Backbone);
    let own = || asked_at(&path).chain(asked_at(&format!("{path}[x]"))).collect();
    ElementChecks {
        invariants: if is_backbone { Vec::new() } else { own() },
        codes: element.value_set.and_then(codes::of),
    }
}

fn asked_at(path: &str) -> impl Iterator<Item = &'static Invariant> + use<> {
    invariant::at(path).iter().filter(|invariant| !ASKED_BY_WALKS.contains(&invariant.key))
}
