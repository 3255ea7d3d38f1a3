//! What R5 asks of the values of a type: elements that must be there, codes, invariants. Gathered when the first one is checked.

use super::definition::{Checks, Element, ElementChecks, ElementKind, Invariant, TypeDefinition};
use super::table::of;
use crate::codes;
use crate::invariant;

/// A walk over a whole body asks these where they belong: they are about all of its references, ids and narratives.
const ASKED_BY_WALKS: [&str; 6] = ["dom-2", "dom-3", "ele-1", "ref-1", "txt-1", "txt-2"];

/// The checks of a type.
pub(super) fn gathered(definition: &'static TypeDefinition) -> Checks {
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

fn element_checks(definition: &TypeDefinition, element: &'static Element) -> ElementChecks {
    let path = format!("{}.{}", definition.name, element.name);
    // The invariants of a backbone element are those of its type, which has the same name.
    let is_backbone = element.types[0].definition().is_some_and(|inner| inner.kind == ElementKind::Backbone);
    let own = || asked_at(&path).chain(asked_at(&format!("{path}[x]"))).collect();
    ElementChecks {
        invariants: if is_backbone { Vec::new() } else { own() },
        codes: element.value_set.and_then(codes::of),
    }
}

fn asked_at(path: &str) -> impl Iterator<Item = &'static Invariant> + use<> {
    invariant::at(path).iter().filter(|invariant| !ASKED_BY_WALKS.contains(&invariant.key))
}
